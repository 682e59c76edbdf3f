// 32-byte vectors of complex numbers, real and imaginary parts apart, and how they come from memory and go back.
// Included by one source per instruction set. Products and sums round apart, so all give the same bits.

#include <cstring>
#include <utility>

#include "tenon/kernels/fft/internal/lines.h"

namespace tenon::kernels::internal {
namespace {

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(32)));
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(32)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
struct Complex {
  Vector<T> re, im;
  friend Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(const Complex& a, const Complex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend Complex operator*(const Complex& a, const Root<T>& r) {
    return {a.re * r.re - a.im * r.im, a.re * r.im + a.im * r.re};
  }
  Complex Scaled(T s) const { return {re * s, im * s}; }
  /// Times i.
  Complex Turned() const { return {-im, re}; }
  /// Times i for inverse transforms, times -i for forward ones.
  template <bool kInverse>
  Complex Quarter() const {
    return kInverse ? Complex{-im, re} : Complex{im, -re};
  }
};

template <class T>
Vector<T> LoadVector(const T* from) {
  Vector<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T>
void StoreVector(T* to, const Vector<T>& v) {
  std::memcpy(to, &v, sizeof v);
}

/// Lane i of the result is lane kIndex(i) of a followed by b.
template <auto kIndex, class V, size_t... kI>
V ShuffleLanes(const V& a, const V& b, std::index_sequence<kI...>) {
  return __builtin_shufflevector(a, b, kIndex(static_cast<int>(kI))...);
}
template <class T, auto kIndex>
Vector<T> Shuffle(const Vector<T>& a, const Vector<T>& b) {
  return ShuffleLanes<kIndex>(a, b, std::make_index_sequence<static_cast<size_t>(kLanes<T>)>());
}

/// Lanes in 16 bytes, the blocks within which most shuffles are cheap.
template <class T>
inline constexpr int kBlock = kLanes<T> / 2;

/// Units of kUnit lanes of a and b in turns, from the first (kHigh: second) half of each block.
template <class T, int kUnit, bool kHigh>
Vector<T> Unpack(const Vector<T>& a, const Vector<T>& b) {
  constexpr auto kIndex = [](int i) {
    const int block = i / kBlock<T> * kBlock<T>, unit = i % kBlock<T> / kUnit, half = kHigh ? kBlock<T> / 2 : 0;
    return (unit % 2) * kLanes<T> + block + half + unit / 2 * kUnit + i % kUnit;
  };
  return Shuffle<T, kIndex>(a, b);
}

/// Rows to columns, kLanes x kLanes.
template <class T>
void Transpose(Vector<T>* rows) {
  constexpr int kN = kLanes<T>, kB = kBlock<T>;
  for (int i = 0; i < kN; i += 2) {
    const Vector<T> a = rows[i], b = rows[i + 1];
    rows[i] = Unpack<T, 1, false>(a, b);
    rows[i + 1] = Unpack<T, 1, true>(a, b);
  }
  if constexpr (kB == 4) {
    for (int i = 0; i < kN; i += 4) {
      const Vector<T> a = rows[i], b = rows[i + 1], c = rows[i + 2], d = rows[i + 3];
      rows[i] = Unpack<T, 2, false>(a, c);
      rows[i + 1] = Unpack<T, 2, true>(a, c);
      rows[i + 2] = Unpack<T, 2, false>(b, d);
      rows[i + 3] = Unpack<T, 2, true>(b, d);
    }
  }
  for (int i = 0; i < kB; ++i) {
    const Vector<T> a = rows[i], b = rows[i + kB];
    rows[i] = Shuffle<T, [](int l) { return l < kB ? l : kN + l - kB; }>(a, b);
    rows[i + kB] = Shuffle<T, [](int l) { return l < kB ? kB + l : kN + l; }>(a, b);
  }
}

/// kLanes complex numbers that lie one after the other.
template <class T>
Complex<T> LoadComplex(const T* from) {
  const Vector<T> a = LoadVector(from), b = LoadVector(from + kLanes<T>);
  return {Shuffle<T, [](int i) { return 2 * i; }>(a, b), Shuffle<T, [](int i) { return 2 * i + 1; }>(a, b)};
}
template <class T>
void StoreComplex(T* to, const Complex<T>& c) {
  constexpr int kN = kLanes<T>;
  StoreVector<T>(to, Shuffle<T, [](int i) { return i / 2 + i % 2 * kN; }>(c.re, c.im));
  StoreVector<T>(to + kN, Shuffle<T, [](int i) { return (i + kN) / 2 + i % 2 * kN; }>(c.re, c.im));
}

}  // namespace
}  // namespace tenon::kernels::internal
