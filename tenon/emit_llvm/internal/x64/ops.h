#pragma once

// Encodings by name. Vector ones are EVEX at any length; for AVX2 the assembler takes the VEX form (encodings.def).

#include "tenon/emit_llvm/internal/x64/lir.h"

namespace tenon::emit_llvm::x64::op {

constexpr Op Evex(uint8_t map, uint8_t prefix, uint8_t w, uint8_t opcode) {
  return {Space::kEvex, map, prefix, w, opcode};
}
constexpr Op Vex(uint8_t map, uint8_t prefix, uint8_t w, uint8_t opcode) {
  return {Space::kVex, map, prefix, w, opcode};
}
constexpr Op Legacy(uint8_t map, uint8_t prefix, uint8_t w, uint8_t opcode) {
  return {Space::kLegacy, map, prefix, w, opcode};
}

// Floating point in all four forms: packed and scalar, single and double.
constexpr Op Float(uint8_t opcode, bool scalar, bool wide) {
  return Evex(1, static_cast<uint8_t>(scalar ? (wide ? 3 : 2) : (wide ? 1 : 0)), wide, opcode);
}
constexpr uint8_t kFSqrt = 0x51, kFAdd = 0x58, kFMul = 0x59, kFSub = 0x5c, kFDiv = 0x5e;
constexpr uint8_t kFCompare = 0xc2;
/// `form`: 0x90 for 132, 0xa0 for 213, 0xb0 for 231; `kind`: 8 madd, 10 msub, 12 nmadd, 14 nmsub.
constexpr Op Fma(uint8_t form, uint8_t kind, bool scalar, bool wide) {
  return Evex(2, 1, wide, static_cast<uint8_t>(form + kind + (scalar ? 1 : 0)));
}
constexpr Op Round(bool scalar, bool wide) {
  return Evex(3, 1, wide, static_cast<uint8_t>(0x08 + (scalar ? 2 : 0) + (wide ? 1 : 0)));
}
constexpr Op RangeOp(bool scalar, bool wide) { return Evex(3, 1, wide, scalar ? 0x51 : 0x50); }

constexpr Op LoadVector(unsigned element) {
  return element >= 4 ? Evex(1, element == 8 ? 1 : 0, element == 8, 0x10) : Evex(1, 3, element == 2, 0x6f);
}
constexpr Op StoreVector(unsigned element) {
  return element >= 4 ? Evex(1, element == 8 ? 1 : 0, element == 8, 0x11) : Evex(1, 3, element == 2, 0x7f);
}
constexpr Op MoveScalar(bool wide, bool store) { return Evex(1, wide ? 3 : 2, wide, store ? 0x11 : 0x10); }
constexpr Op kStreamVector = Evex(1, 0, 0, 0x2b);
constexpr Op kMoveVector = Evex(1, 0, 0, 0x28);
constexpr Op kMoveToMask = Vex(1, 0, 1, 0x90);     // kmovq k, k/m64
constexpr Op kMoveMaskTo = Vex(1, 0, 1, 0x91);     // kmovq m64, k
constexpr Op kMaskFromGpr = Vex(1, 3, 1, 0x92);    // kmovq k, r64
constexpr Op kGprFromMask64 = Vex(1, 3, 1, 0x93);  // kmovq r64, k
constexpr Op kGprFromMask32 = Vex(1, 3, 0, 0x93);  // kmovd r32, k
constexpr Op kGprFromMask16 = Vex(1, 0, 0, 0x93);  // kmovw r32, k
constexpr Op kGprFromMask8 = Vex(1, 1, 0, 0x93);   // kmovb r32, k
// The length bit of these is set by `len`.
constexpr Op kMaskAnd = Vex(1, 0, 1, 0x41), kMaskOr = Vex(1, 0, 1, 0x45), kMaskXor = Vex(1, 0, 1, 0x47),
             kMaskNot = Vex(1, 0, 1, 0x44), kMaskEqual = Vex(1, 0, 1, 0x46);
constexpr Op kMaskAndNot = Vex(1, 0, 1, 0x42), kMaskShiftRight64 = Vex(3, 1, 1, 0x31),
             kMaskShiftLeft64 = Vex(3, 1, 1, 0x33);
constexpr Op kMaskUnpack8 = Vex(1, 1, 0, 0x4b);
constexpr Op kMaskShiftRight16 = Vex(3, 1, 1, 0x30);
constexpr Op MaskTest(unsigned lanes) {  // kortest
  return lanes == 8    ? Vex(1, 1, 0, 0x98)
         : lanes == 16 ? Vex(1, 0, 0, 0x98)
         : lanes == 32 ? Vex(1, 1, 1, 0x98)
                       : Vex(1, 0, 1, 0x98);
}
constexpr Op kVmovdToVec = Evex(1, 1, 0, 0x6e), kVmovqToVec = Evex(1, 1, 1, 0x6e);
constexpr Op kVmovdFromVec = Evex(1, 1, 0, 0x7e), kVmovqFromVec = Evex(1, 1, 1, 0x7e);
constexpr Op kMulx = Vex(2, 3, 1, 0xf6);
constexpr Op kShlx = Vex(2, 1, 1, 0xf7), kShrx = Vex(2, 3, 1, 0xf7), kSarx = Vex(2, 2, 1, 0xf7);

constexpr Op kFromHalf = Evex(2, 1, 0, 0x13), kToHalf = Evex(3, 1, 0, 0x1d), kToBf16 = Evex(2, 2, 0, 0x72);

constexpr Op kMov = Legacy(0, 0, 1, 0x8b), kMovStore = Legacy(0, 0, 1, 0x89), kMov32 = Legacy(0, 0, 0, 0x8b),
             kMovStore32 = Legacy(0, 0, 0, 0x89);
constexpr Op kMovStore16 = Legacy(0, 1, 0, 0x89), kMovStore8 = Legacy(0, 0, 0, 0x88);
constexpr Op kMovzx8 = Legacy(1, 0, 0, 0xb6), kMovzx16 = Legacy(1, 0, 0, 0xb7), kMovsx8 = Legacy(1, 0, 1, 0xbe),
             kMovsx16 = Legacy(1, 0, 1, 0xbf);
constexpr Op kMovsxd = Legacy(0, 0, 1, 0x63);
constexpr Op kLea = Legacy(0, 0, 1, 0x8d), kTest = Legacy(0, 0, 1, 0x85), kTest32 = Legacy(0, 0, 0, 0x85);
constexpr Op kSfence = Legacy(1, 0, 0, 0xae);
constexpr Op kPrefetch = Legacy(1, 0, 0, 0x18);

// Condition codes.
constexpr uint8_t kBelow = 2, kAboveEqual = 3, kEqual = 4, kNotEqual = 5, kBelowEqual = 6, kAbove = 7, kLess = 12,
                  kGreaterEqual = 13, kLessEqual = 14, kGreater = 15;

}  // namespace tenon::emit_llvm::x64::op
