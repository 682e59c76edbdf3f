#pragma once

// The storage types of elements, and the few types that arithmetic is done in. An operation loads its operands into the
// arithmetic type, computes, and stores, which rounds or wraps: so every operation's result is rounded to its element
// type, and nothing is kept wider.

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/base/dtype.h"
#include "tenon/base/status.h"

namespace tenon::reference {

struct Pred {
  uint8_t value;
};
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
/// An 8-, 6- or 4-bit float in one byte.
template <DType kType>
struct TinyFloat {
  uint8_t bits;
};
/// A 2- or 4-bit integer in one byte: sign-extended when signed.
template <int kBits, bool kSigned>
struct TinyInt {
  std::conditional_t<kSigned, int8_t, uint8_t> value;
};

float DecodeF16(uint16_t bits);
/// Nearest even; overflow to infinity.
uint16_t EncodeF16(float value);
float DecodeBF16(uint16_t bits);
uint16_t EncodeBF16(float value);
/// The value of a byte of `type`, one of the floats of 8 bits or less.
float DecodeTiny(DType type, uint8_t bits);
/// Nearest even, then what the format does with overflow, infinities and NaN.
uint8_t EncodeTiny(DType type, float value);

/// f8E8M0FNU's values as doubles, which floats have with the loss of what is below their normal numbers.
double DecodePowerOfTwo(uint8_t bits);
uint8_t EncodePowerOfTwo(double value);

/// For each storage type: its DType, the type of its arithmetic, and the way there and back.
template <class T>
struct Element;

template <>
struct Element<Pred> {
  static constexpr DType kType = DType::kPred;
  static constexpr int kBits = 1;
  using Compute = bool;
  static bool Load(Pred p) { return p.value != 0; }
  static Pred Store(bool b) { return {static_cast<uint8_t>(b)}; }
};

template <class T, DType kDType, class C>
struct IntElement {
  static constexpr DType kType = kDType;
  static constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  using Compute = C;
  static C Load(T v) { return v; }
  static T Store(C v) { return static_cast<T>(v); }
};
template <>
struct Element<int8_t> : IntElement<int8_t, DType::kS8, int64_t> {};
template <>
struct Element<int16_t> : IntElement<int16_t, DType::kS16, int64_t> {};
template <>
struct Element<int32_t> : IntElement<int32_t, DType::kS32, int64_t> {};
template <>
struct Element<int64_t> : IntElement<int64_t, DType::kS64, int64_t> {};
template <>
struct Element<uint8_t> : IntElement<uint8_t, DType::kU8, uint64_t> {};
template <>
struct Element<uint16_t> : IntElement<uint16_t, DType::kU16, uint64_t> {};
template <>
struct Element<uint32_t> : IntElement<uint32_t, DType::kU32, uint64_t> {};
template <>
struct Element<uint64_t> : IntElement<uint64_t, DType::kU64, uint64_t> {};

template <int kWidth, bool kSigned>
struct Element<TinyInt<kWidth, kSigned>> {
  using T = TinyInt<kWidth, kSigned>;
  static constexpr DType kType =
      kWidth == 4 ? (kSigned ? DType::kS4 : DType::kU4) : (kSigned ? DType::kS2 : DType::kU2);
  static constexpr int kBits = kWidth;
  using Compute = std::conditional_t<kSigned, int64_t, uint64_t>;
  static Compute Load(T v) { return v.value; }
  static T Store(Compute v) {
    const int low = static_cast<int>(static_cast<uint64_t>(v) & ((1u << kWidth) - 1));
    const bool negative = kSigned && (low >> (kWidth - 1)) != 0;
    return {static_cast<decltype(T::value)>(negative ? low - (1 << kWidth) : low)};
  }
};

template <>
struct Element<float> {
  static constexpr DType kType = DType::kF32;
  static constexpr int kBits = 32;
  using Compute = float;
  static float Load(float v) { return v; }
  static float Store(float v) { return v; }
};
template <>
struct Element<double> {
  static constexpr DType kType = DType::kF64;
  static constexpr int kBits = 64;
  using Compute = double;
  static double Load(double v) { return v; }
  static double Store(double v) { return v; }
};
template <>
struct Element<F16> {
  static constexpr DType kType = DType::kF16;
  static constexpr int kBits = 16;
  using Compute = float;
  static float Load(F16 v) { return DecodeF16(v.bits); }
  static F16 Store(float v) { return {EncodeF16(v)}; }
};
template <>
struct Element<BF16> {
  static constexpr DType kType = DType::kBF16;
  static constexpr int kBits = 16;
  using Compute = float;
  static float Load(BF16 v) { return DecodeBF16(v.bits); }
  static BF16 Store(float v) { return {EncodeBF16(v)}; }
};
template <DType kDType>
struct Element<TinyFloat<kDType>> {
  static constexpr DType kType = kDType;
  static constexpr int kBits = 8;
  using Compute = float;
  static float Load(TinyFloat<kDType> v) { return DecodeTiny(kDType, v.bits); }
  static TinyFloat<kDType> Store(float v) { return {EncodeTiny(kDType, v)}; }
};
template <>
struct Element<std::complex<float>> {
  static constexpr DType kType = DType::kC64;
  static constexpr int kBits = 64;
  using Compute = std::complex<float>;
  static Compute Load(Compute v) { return v; }
  static Compute Store(Compute v) { return v; }
};
template <>
struct Element<std::complex<double>> {
  static constexpr DType kType = DType::kC128;
  static constexpr int kBits = 128;
  using Compute = std::complex<double>;
  static Compute Load(Compute v) { return v; }
  static Compute Store(Compute v) { return v; }
};

template <class T>
using ComputeOf = typename Element<T>::Compute;
template <class T>
ComputeOf<T> Load(T v) {
  return Element<T>::Load(v);
}
template <class T>
T Store(ComputeOf<T> v) {
  return Element<T>::Store(v);
}

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls f(TypeTag<Storage>{}) for the storage type of `type`; f's result, or a default-constructed one for types
/// without elements.
template <class F>
auto VisitType(DType type, F&& f) -> decltype(f(TypeTag<float>{})) {
  switch (type) {
    case DType::kPred:
      return f(TypeTag<Pred>{});
    case DType::kS2:
      return f(TypeTag<TinyInt<2, true>>{});
    case DType::kS4:
      return f(TypeTag<TinyInt<4, true>>{});
    case DType::kS8:
      return f(TypeTag<int8_t>{});
    case DType::kS16:
      return f(TypeTag<int16_t>{});
    case DType::kS32:
      return f(TypeTag<int32_t>{});
    case DType::kS64:
      return f(TypeTag<int64_t>{});
    case DType::kU2:
      return f(TypeTag<TinyInt<2, false>>{});
    case DType::kU4:
      return f(TypeTag<TinyInt<4, false>>{});
    case DType::kU8:
      return f(TypeTag<uint8_t>{});
    case DType::kU16:
      return f(TypeTag<uint16_t>{});
    case DType::kU32:
      return f(TypeTag<uint32_t>{});
    case DType::kU64:
      return f(TypeTag<uint64_t>{});
    case DType::kF16:
      return f(TypeTag<F16>{});
    case DType::kBF16:
      return f(TypeTag<BF16>{});
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF64:
      return f(TypeTag<double>{});
    case DType::kC64:
      return f(TypeTag<std::complex<float>>{});
    case DType::kC128:
      return f(TypeTag<std::complex<double>>{});
    case DType::kF8E5M2:
      return f(TypeTag<TinyFloat<DType::kF8E5M2>>{});
    case DType::kF8E4M3FN:
      return f(TypeTag<TinyFloat<DType::kF8E4M3FN>>{});
    case DType::kF8E4M3B11FNUZ:
      return f(TypeTag<TinyFloat<DType::kF8E4M3B11FNUZ>>{});
    case DType::kF8E5M2FNUZ:
      return f(TypeTag<TinyFloat<DType::kF8E5M2FNUZ>>{});
    case DType::kF8E4M3FNUZ:
      return f(TypeTag<TinyFloat<DType::kF8E4M3FNUZ>>{});
    case DType::kF8E4M3:
      return f(TypeTag<TinyFloat<DType::kF8E4M3>>{});
    case DType::kF8E3M4:
      return f(TypeTag<TinyFloat<DType::kF8E3M4>>{});
    case DType::kF8E8M0FNU:
      return f(TypeTag<TinyFloat<DType::kF8E8M0FNU>>{});
    case DType::kF4E2M1FN:
      return f(TypeTag<TinyFloat<DType::kF4E2M1FN>>{});
    case DType::kF6E2M3FN:
      return f(TypeTag<TinyFloat<DType::kF6E2M3FN>>{});
    case DType::kF6E3M2FN:
      return f(TypeTag<TinyFloat<DType::kF6E3M2FN>>{});
    default:
      return {};
  }
}

/// Calls f with a value whose static type is an unsigned integer of `bytes` bytes (1, 2, 4, 8) or a 16-byte struct: for
/// moving elements.
struct Bits128 {
  uint64_t low, high;
};
template <class F>
void VisitWidth(int bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    case 16:
      return f(Bits128{});
    default:
      TENON_CHECK(false);
  }
}

template <class C>
inline constexpr bool kIsComplex = false;
template <class R>
inline constexpr bool kIsComplex<std::complex<R>> = true;
template <class C>
concept FloatCompute = std::is_same_v<C, float> || std::is_same_v<C, double>;
template <class C>
concept IntCompute = std::is_same_v<C, int64_t> || std::is_same_v<C, uint64_t>;
template <class C>
concept BoolCompute = std::is_same_v<C, bool>;
template <class C>
concept ComplexCompute = kIsComplex<C>;

/// The smallest and the largest value of an integer type of `bits` bits.
constexpr int64_t MinSigned(int bits) { return std::numeric_limits<int64_t>::min() >> (64 - bits); }
constexpr int64_t MaxSigned(int bits) { return std::numeric_limits<int64_t>::max() >> (64 - bits); }
constexpr uint64_t MaxUnsigned(int bits) { return std::numeric_limits<uint64_t>::max() >> (64 - bits); }

/// While it lives, subnormals of f32 and f64 are (or are not) flushed to zero on this thread, whatever the caller had
/// set; rounding is to nearest even. Restores the caller's environment.
class FloatEnvironment {
 public:
  explicit FloatEnvironment(bool flush_denormals);
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;
  /// The environment of the thread as it was before this object.
  uint64_t saved() const { return saved_; }
  static uint64_t Read();
  static void Write(uint64_t environment);

 private:
  uint64_t saved_;
};

}  // namespace tenon::reference
