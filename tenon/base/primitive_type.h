#pragma once

#include <cstdint>

#include "tenon/base/dtype.h"

namespace tenon {

namespace internal {
/// Numbers of xla.PrimitiveType, indexed by DType.
inline constexpr int kPrimitiveTypes[kNumDTypes] = {
    /*invalid*/ 0,
    /*pred*/ 1,
    /*s8..s64*/ 2,
    3,
    4,
    5,
    /*u8..u64*/ 6,
    7,
    8,
    9,
    /*f16 f32 f64*/ 10,
    11,
    12,
    /*bf16*/ 16,
    /*c64 c128*/ 15,
    18,
    /*f8e5m2*/ 19,
    /*f8e4m3fn*/ 20,
    /*f8e4m3b11fnuz*/ 23,
    /*f8e5m2fnuz*/ 24,
    /*f8e4m3fnuz*/ 25,
    /*s4 u4*/ 21,
    22,
    /*token*/ 17,
    /*s2 u2*/ 26,
    27,
    /*f8e4m3*/ 28,
    /*f8e3m4*/ 29,
    /*f8e8m0fnu*/ 33,
    /*f4e2m1fn*/ 32,
    /*s1 u1*/ 30,
    31,
    /*f6: no number known*/ 0,
    0};
}  // namespace internal

/// The element type of a number of xla.PrimitiveType, which counts differently from PJRT; kInvalid when it is no array
/// type.
constexpr DType DTypeFromPrimitiveType(int64_t primitive_type) {
  if (primitive_type == 0) return DType::kInvalid;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (internal::kPrimitiveTypes[i] == primitive_type) return static_cast<DType>(i);
  }
  return DType::kInvalid;
}

/// The opposite; 0 for kInvalid and for types that XLA's protos lack.
constexpr int PrimitiveTypeFromDType(DType type) {
  const int i = static_cast<int>(type);
  return i < kNumDTypes ? internal::kPrimitiveTypes[i] : 0;
}

}  // namespace tenon
