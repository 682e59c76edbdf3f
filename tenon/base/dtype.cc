#include "tenon/base/dtype.h"

#include <array>
#include <string>

namespace tenon {
namespace {

struct Row {
  std::string_view name;
  int bits;
  DTypeKind kind;
};

constexpr Row kRows[] = {
#define TENON_DTYPE(enumerator, name, bits, kind) {#name, bits, DTypeKind::kind},
#include "tenon/base/dtype.def"
#undef TENON_DTYPE
};
static_assert(std::size(kRows) == kNumDTypes);

const Row& RowOf(DType type) {
  const auto i = static_cast<size_t>(type);
  return kRows[i < kNumDTypes ? i : 0];
}

}  // namespace

std::string_view DTypeName(DType type) { return RowOf(type).name; }
int DTypeBits(DType type) { return RowOf(type).bits; }
DTypeKind KindOf(DType type) { return RowOf(type).kind; }
int ByteWidth(DType type) { return (RowOf(type).bits + 7) / 8; }

Result<DType> ParseDType(std::string_view name) {
  for (int i = 1; i < kNumDTypes; ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return InvalidArgument("'" + std::string(name) + "' is not an element type");
}

DType RealPartOf(DType type) {
  if (type == DType::kC64) return DType::kF32;
  if (type == DType::kC128) return DType::kF64;
  return DType::kInvalid;
}

}  // namespace tenon
