#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "tenon/base/dtype.h"

namespace tenon {

/// How a small floating-point format ends its range.
enum class FloatEnds {
  kIeee,    // the top exponent holds infinities and NaNs
  kFn,      // no infinity; only the top code of either sign is NaN
  kFnuz,    // no infinity, no negative zero, whose code is the one NaN
  kFinite,  // neither infinity nor NaN
};

namespace internal {
/// Rounds to nearest, ties to even. Overflow gives infinity, else NaN, else the largest value.
uint16_t EncodeSmallFloat(double value, int exponent_bits, int mantissa_bits, int bias, FloatEnds ends);
double DecodeSmallFloat(uint16_t bits, int exponent_bits, int mantissa_bits, int bias, FloatEnds ends);
/// Eight bits of exponent, nothing else: 2^(bits - 127), 255 is NaN. Halves go up. As in ml_dtypes, what a float has no
/// other number for than zero becomes NaN, as zero and negative values do; what lies between the two smallest powers
/// becomes the greater.
uint8_t EncodeE8M0(double value);
double DecodeE8M0(uint8_t bits);
}  // namespace internal

/// A floating-point element that C++ has no type for; converts from and to float and double. Its size is that of an
/// element in a host array.
template <DType kType, int kExponentBits, int kMantissaBits, int kBias, FloatEnds kEnds>
struct SmallFloat {
  using Bits = std::conditional_t<kExponentBits + kMantissaBits >= 8, uint16_t, uint8_t>;
  static constexpr DType kDType = kType;
  Bits bits = 0;

  SmallFloat() = default;
  explicit SmallFloat(double value)
      : bits(static_cast<Bits>(internal::EncodeSmallFloat(value, kExponentBits, kMantissaBits, kBias, kEnds))) {}
  static SmallFloat FromBits(Bits bits) {
    SmallFloat f;
    f.bits = bits;
    return f;
  }
  explicit operator double() const {
    return internal::DecodeSmallFloat(bits, kExponentBits, kMantissaBits, kBias, kEnds);
  }
  explicit operator float() const { return static_cast<float>(static_cast<double>(*this)); }
  /// Of values: NaN differs from itself, zeros are equal.
  friend bool operator==(SmallFloat a, SmallFloat b) { return static_cast<double>(a) == static_cast<double>(b); }
};

using F16 = SmallFloat<DType::kF16, 5, 10, 15, FloatEnds::kIeee>;
using BF16 = SmallFloat<DType::kBF16, 8, 7, 127, FloatEnds::kIeee>;
using F8E5M2 = SmallFloat<DType::kF8E5M2, 5, 2, 15, FloatEnds::kIeee>;
using F8E4M3 = SmallFloat<DType::kF8E4M3, 4, 3, 7, FloatEnds::kIeee>;
using F8E3M4 = SmallFloat<DType::kF8E3M4, 3, 4, 3, FloatEnds::kIeee>;
using F8E4M3FN = SmallFloat<DType::kF8E4M3FN, 4, 3, 7, FloatEnds::kFn>;
using F8E4M3B11FNUZ = SmallFloat<DType::kF8E4M3B11FNUZ, 4, 3, 11, FloatEnds::kFnuz>;
using F8E5M2FNUZ = SmallFloat<DType::kF8E5M2FNUZ, 5, 2, 16, FloatEnds::kFnuz>;
using F8E4M3FNUZ = SmallFloat<DType::kF8E4M3FNUZ, 4, 3, 8, FloatEnds::kFnuz>;
using F4E2M1FN = SmallFloat<DType::kF4E2M1FN, 2, 1, 1, FloatEnds::kFinite>;
using F6E2M3FN = SmallFloat<DType::kF6E2M3FN, 2, 3, 1, FloatEnds::kFinite>;
using F6E3M2FN = SmallFloat<DType::kF6E3M2FN, 3, 2, 3, FloatEnds::kFinite>;

struct F8E8M0FNU {
  static constexpr DType kDType = DType::kF8E8M0FNU;
  uint8_t bits = 0;
  F8E8M0FNU() = default;
  explicit F8E8M0FNU(double value) : bits(internal::EncodeE8M0(value)) {}
  explicit operator double() const { return internal::DecodeE8M0(bits); }
  explicit operator float() const { return static_cast<float>(internal::DecodeE8M0(bits)); }
  friend bool operator==(F8E8M0FNU a, F8E8M0FNU b) { return static_cast<double>(a) == static_cast<double>(b); }
};

/// An integer narrower than a byte, one per byte in host arrays. Only the low bits count: some plugins extend the sign
/// when a value is read back, others do not.
template <DType kType, int kBits, bool kSigned>
struct SmallInt {
  static constexpr DType kDType = kType;
  uint8_t byte = 0;
  SmallInt() = default;
  explicit SmallInt(int value) : byte(static_cast<uint8_t>(value)) {}
  explicit operator int() const {
    const int low = byte & ((1 << kBits) - 1);
    return kSigned && (low >> (kBits - 1)) != 0 ? low - (1 << kBits) : low;
  }
  friend bool operator==(SmallInt a, SmallInt b) { return static_cast<int>(a) == static_cast<int>(b); }
};
using S1 = SmallInt<DType::kS1, 1, true>;
using S2 = SmallInt<DType::kS2, 2, true>;
using S4 = SmallInt<DType::kS4, 4, true>;
using U1 = SmallInt<DType::kU1, 1, false>;
using U2 = SmallInt<DType::kU2, 2, false>;
using U4 = SmallInt<DType::kU4, 4, false>;

namespace internal {
template <class T>
constexpr DType DTypeOfImpl() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::kPred;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::kF32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DType::kF64;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return DType::kC64;
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return DType::kC128;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr DType kSigned[] = {DType::kS8, DType::kS16, DType::kS32, DType::kS64};
    constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
    constexpr int i = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? kSigned[i] : kUnsigned[i];
  } else if constexpr (requires { T::kDType; }) {
    return T::kDType;
  } else {
    return DType::kInvalid;
  }
}
}  // namespace internal

/// The element type of arrays of T; kInvalid for types that are no elements. A class is an element when its member
/// kDType says which, and its size is ByteWidth of that.
template <class T>
inline constexpr DType kDTypeOf = internal::DTypeOfImpl<std::remove_cv_t<T>>();
template <class T>
concept Element = kDTypeOf<T> != DType::kInvalid;

}  // namespace tenon
