#include "tenon/base/float_bits.h"

#include <bit>

#include "tenon/base/element.h"

namespace tenon {
namespace {

// Calls `f` with a number of `type`, where that is a float type that C++ lacks.
template <class F>
void WithSmallFloat(DType type, const F& f) {
  switch (type) {
#define TENON_SMALL(T) \
  case DType::k##T:    \
    return f(T());
    TENON_SMALL(F16)
    TENON_SMALL(BF16)
    TENON_SMALL(F8E5M2)
    TENON_SMALL(F8E4M3)
    TENON_SMALL(F8E3M4)
    TENON_SMALL(F8E4M3FN)
    TENON_SMALL(F8E4M3B11FNUZ)
    TENON_SMALL(F8E5M2FNUZ)
    TENON_SMALL(F8E4M3FNUZ)
    TENON_SMALL(F4E2M1FN)
    TENON_SMALL(F6E2M3FN)
    TENON_SMALL(F6E3M2FN)
    TENON_SMALL(F8E8M0FNU)
#undef TENON_SMALL
    default:
      return;
  }
}

}  // namespace

uint64_t FloatBits(DType type, double value) {
  if (type == DType::kF64) return std::bit_cast<uint64_t>(value);
  if (type == DType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  uint64_t bits = 0;
  WithSmallFloat(type, [&]<class T>(T) { bits = T(value).bits; });
  return bits;
}

double FloatFromBits(DType type, uint64_t bits) {
  if (type == DType::kF64) return std::bit_cast<double>(bits);
  if (type == DType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  double value = 0;
  WithSmallFloat(type, [&]<class T>(T number) {
    number.bits = static_cast<decltype(number.bits)>(bits);
    value = static_cast<double>(number);
  });
  return value;
}

}  // namespace tenon
