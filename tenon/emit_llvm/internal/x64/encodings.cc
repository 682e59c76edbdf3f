#include "tenon/emit_llvm/internal/x64/encodings.h"

#include <array>

namespace tenon::emit_llvm::x64 {
namespace {

using enum Form;

constexpr Encoding kTable[] = {
#define ENCODING(evex, vex, map, prefix, w, opcode, vex_w, form, digit, imm) \
  {evex, vex, map, prefix, w, opcode, vex_w, form, digit, imm},
#include "tenon/emit_llvm/internal/x64/encodings.def"
#undef ENCODING
};

constexpr uint8_t kEvex = 1, kVex = 2, kVexW = 4, kEvexAlone = 8;
constexpr size_t Index(uint8_t map, uint8_t prefix, uint8_t w, uint8_t opcode) {
  return ((map * size_t{4} + prefix) * 2 + w) * 256 + opcode;
}

/// What there is of each operation.
const std::array<uint8_t, 4 * 4 * 2 * 256>& Known() {
  static const auto known = [] {
    std::array<uint8_t, 4 * 4 * 2 * 256> made{};
    for (const Encoding& e : kTable) {
      uint8_t& of = made[Index(e.map, e.prefix, e.w, e.opcode)];
      if (e.evex != nullptr) of |= kEvex;
      if (e.vex != nullptr) of |= static_cast<uint8_t>(kVex | (e.vex_w != 0 ? kVexW : 0));
      if (e.vex == nullptr) of |= kEvexAlone;
    }
    return made;
  }();
  return known;
}

}  // namespace

std::span<const Encoding> Encodings() { return kTable; }

bool HasEvex(const Op& op) { return (Known()[Index(op.map, op.prefix, op.w, op.opcode)] & kEvex) != 0; }

bool ShorterAsVex(const Op& op) {
  const uint8_t known = Known()[Index(op.map, op.prefix, op.w, op.opcode)];
  return (known & kVex) != 0 && (known & kEvexAlone) == 0;
}

bool VexTakesMemory(const Op& op) { return !(op.map == 1 && op.prefix == 1 && op.opcode >= 0x71 && op.opcode <= 0x73); }

bool VexOf(const Op& op, Op* vex) {
  const uint8_t known = Known()[Index(op.map, op.prefix, op.w, op.opcode)];
  if ((known & kVex) == 0) return false;
  *vex = {Space::kVex, op.map, op.prefix, static_cast<uint8_t>((known & kVexW) != 0), op.opcode};
  return true;
}

}  // namespace tenon::emit_llvm::x64
