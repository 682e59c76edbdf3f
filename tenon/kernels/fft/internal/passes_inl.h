// Stockham passes over lines in lanes. Included by one source per instruction set.

#include "tenon/kernels/fft/internal/vectors_inl.h"

namespace tenon::kernels::internal {
namespace {

/// What all butterflies of a pass share.
template <class T>
struct Butterfly {
  const Root<T>* roots;  ///< Of an odd radix: root^(j * k).
  int64_t radix;
  int64_t from_step, to_step;
};

template <class T, bool kTurn>
void PutTurned(Complex<T>& to, const Complex<T>& value, const Root<T>& turn) {
  to = kTurn ? value * turn : value;
}

template <class T, bool kInverse, bool kTurn>
void Radix2(const Butterfly<T>& b, const Complex<T>* x, Complex<T>* y, const Root<T>* turn) {
  const Complex<T> x0 = x[0], x1 = x[b.from_step];
  y[0] = x0 + x1;
  PutTurned<T, kTurn>(y[b.to_step], x0 - x1, turn[0]);
}

/// The four sums of a radix of 4.
template <class T, bool kInverse>
struct Four {
  Complex<T> y0, y1, y2, y3;
  Four(const Complex<T>& x0, const Complex<T>& x1, const Complex<T>& x2, const Complex<T>& x3) {
    const Complex<T> a = x0 + x2, b = x0 - x2, c = x1 + x3, d = (x1 - x3).template Quarter<kInverse>();
    y0 = a + c;
    y1 = b + d;
    y2 = a - c;
    y3 = b - d;
  }
};

template <class T, bool kInverse, bool kTurn>
void Radix4(const Butterfly<T>& b, const Complex<T>* x, Complex<T>* y, const Root<T>* turn) {
  const int64_t f = b.from_step, t = b.to_step;
  const Four<T, kInverse> four(x[0], x[f], x[2 * f], x[3 * f]);
  y[0] = four.y0;
  PutTurned<T, kTurn>(y[t], four.y1, turn[0]);
  PutTurned<T, kTurn>(y[2 * t], four.y2, turn[1]);
  PutTurned<T, kTurn>(y[3 * t], four.y3, turn[2]);
}

template <class T, bool kInverse, bool kTurn>
void Radix8(const Butterfly<T>& b, const Complex<T>* x, Complex<T>* y, const Root<T>* turn) {
  const int64_t f = b.from_step, t = b.to_step;
  const T half = static_cast<T>(0.707106781186547524400844362104849039);
  const Four<T, kInverse> odd(x[f], x[3 * f], x[5 * f], x[7 * f]);
  const Complex<T> o1 = (odd.y1 + odd.y1.template Quarter<kInverse>()).Scaled(half);
  const Complex<T> o2 = odd.y2.template Quarter<kInverse>();
  const Complex<T> o3 = (odd.y3.template Quarter<kInverse>() - odd.y3).Scaled(half);
  const Four<T, kInverse> even(x[0], x[2 * f], x[4 * f], x[6 * f]);
  y[0] = even.y0 + odd.y0;
  PutTurned<T, kTurn>(y[4 * t], even.y0 - odd.y0, turn[3]);
  PutTurned<T, kTurn>(y[t], even.y1 + o1, turn[0]);
  PutTurned<T, kTurn>(y[5 * t], even.y1 - o1, turn[4]);
  PutTurned<T, kTurn>(y[2 * t], even.y2 + o2, turn[1]);
  PutTurned<T, kTurn>(y[6 * t], even.y2 - o2, turn[5]);
  PutTurned<T, kTurn>(y[3 * t], even.y3 + o3, turn[2]);
  PutTurned<T, kTurn>(y[7 * t], even.y3 - o3, turn[6]);
}

/// An odd radix, kRadix or, if that is 0, the butterfly's: places k and r - k share their cosine and, but for the sign,
/// their sine.
template <class T, int kRadix, bool kTurn>
void RadixOdd(const Butterfly<T>& b, const Complex<T>* x, Complex<T>* y, const Root<T>* turn) {
  const int r = kRadix != 0 ? kRadix : static_cast<int>(b.radix);
  constexpr int kMostPairs = kRadix != 0 ? kRadix / 2 : static_cast<int>(kMaxRadix / 2);
  const Complex<T> first = x[0];
  Complex<T> sum[kMostPairs], difference[kMostPairs];
  Complex<T> all = first;
  for (int k = 1; k <= r / 2; ++k) {
    const Complex<T> low = x[k * b.from_step], high = x[(r - k) * b.from_step];
    sum[k - 1] = low + high;
    difference[k - 1] = low - high;
    all = all + sum[k - 1];
  }
  y[0] = all;
  for (int j = 1; j <= r / 2; ++j) {
    const Root<T>* root = b.roots + j * r;
    Complex<T> cosines = first, sines{};
    for (int k = 1; k <= r / 2; ++k) {
      cosines = cosines + sum[k - 1].Scaled(root[k].re);
      sines = sines + difference[k - 1].Scaled(root[k].im);
    }
    PutTurned<T, kTurn>(y[j * b.to_step], cosines + sines.Turned(), turn[j - 1]);
    PutTurned<T, kTurn>(y[(r - j) * b.to_step], cosines - sines.Turned(), turn[r - j - 1]);
  }
}

template <class T>
using ButterflyFn = void (*)(const Butterfly<T>&, const Complex<T>*, Complex<T>*, const Root<T>*);

/// All butterflies of a pass; those of part 0 turn by nothing.
template <class T, ButterflyFn<T> kPlain, ButterflyFn<T> kTurned>
void EachButterfly(const typename Passes<T>::Pass& pass, const Complex<T>* x, Complex<T>* y) {
  const int64_t s = pass.stride, r = pass.radix;
  const Butterfly<T> b{pass.roots.data(), r, s * pass.parts, s};
  for (int64_t q = 0; q < s; ++q) kPlain(b, x + q, y + q, pass.turns.data());
  for (int64_t p = 1; p < pass.parts; ++p) {
    const Root<T>* turn = pass.turns.data() + p * (r - 1);
    for (int64_t q = 0; q < s; ++q) kTurned(b, x + q + s * p, y + q + s * r * p, turn);
  }
}

template <class T, bool kInverse>
void OnePass(const typename Passes<T>::Pass& pass, const Complex<T>* x, Complex<T>* y) {
  switch (pass.radix) {
    case 2:
      return EachButterfly<T, Radix2<T, kInverse, false>, Radix2<T, kInverse, true>>(pass, x, y);
    case 3:
      return EachButterfly<T, RadixOdd<T, 3, false>, RadixOdd<T, 3, true>>(pass, x, y);
    case 4:
      return EachButterfly<T, Radix4<T, kInverse, false>, Radix4<T, kInverse, true>>(pass, x, y);
    case 5:
      return EachButterfly<T, RadixOdd<T, 5, false>, RadixOdd<T, 5, true>>(pass, x, y);
    case 8:
      return EachButterfly<T, Radix8<T, kInverse, false>, Radix8<T, kInverse, true>>(pass, x, y);
    default:
      return EachButterfly<T, RadixOdd<T, 0, false>, RadixOdd<T, 0, true>>(pass, x, y);
  }
}

/// Transforms x; y is scratch of the same size. Where the result is.
template <class T, bool kInverse>
Complex<T>* RunPasses(const Passes<T>& passes, Complex<T>* x, Complex<T>* y) {
  for (const auto& pass : passes.passes) {
    OnePass<T, kInverse>(pass, x, y);
    std::swap(x, y);
  }
  return x;
}

}  // namespace
}  // namespace tenon::kernels::internal
