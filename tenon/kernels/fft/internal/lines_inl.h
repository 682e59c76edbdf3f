// The transforms themselves, written with 32-byte vectors; included by one source per instruction set. Products and
// sums round apart, so all give the same bits.

#include <cstring>

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
struct Complex {
  using V = typename VectorOf<T>::type;
  V re, im;
  friend Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(const Complex& a, const Root<T>& r) {
    return {a.re * r.re - a.im * r.im, a.re * r.im + a.im * r.re};
  }
  Complex Scaled(T s) const { return {re * s, im * s}; }
  /// Times i * sign.
  Complex Turned(T sign) const { return {im * -sign, re * sign}; }
};

template <class T>
void OnePass(const typename Passes<T>::Pass& pass, T sign, const Complex<T>* x, Complex<T>* y) {
  using C = Complex<T>;
  const int64_t m = pass.parts, s = pass.stride, r = pass.radix;
  for (int64_t p = 0; p < m; ++p) {
    const Root<T>* turn = pass.turns.data() + p * (r - 1);
    for (int64_t q = 0; q < s; ++q) {
      const C* from = x + q + s * p;
      C* to = y + q + s * r * p;
      const int64_t step = s * m;
      if (r == 4) {
        const C a = from[0] + from[2 * step], b = from[0] - from[2 * step], c = from[step] + from[3 * step];
        const C d = (from[step] - from[3 * step]).Turned(sign);
        to[0] = a + c;
        to[s] = (b + d) * turn[0];
        to[2 * s] = (a - c) * turn[1];
        to[3 * s] = (b - d) * turn[2];
      } else if (r == 2) {
        const C a = from[0], b = from[step];
        to[0] = a + b;
        to[s] = (a - b) * turn[0];
      } else if (r == 3) {
        const T half = static_cast<T>(-0.5), sine = sign * static_cast<T>(0.866025403784438646763723170752936183);
        const C sum = from[step] + from[2 * step], difference = (from[step] - from[2 * step]).Scaled(sine).Turned(1);
        const C middle = from[0] + sum.Scaled(half);
        to[0] = from[0] + sum;
        to[s] = (middle + difference) * turn[0];
        to[2 * s] = (middle - difference) * turn[1];
      } else {
        for (int64_t j = 0; j < r; ++j) {
          C sum = from[0];
          for (int64_t k = 1; k < r; ++k) sum = sum + from[k * step] * pass.roots[static_cast<size_t>(j * r + k)];
          to[j * s] = j == 0 ? sum : sum * turn[j - 1];
        }
      }
    }
  }
}

/// Transforms x; y is scratch of the same size. Where the result is.
template <class T>
Complex<T>* RunPasses(const Passes<T>& passes, T sign, Complex<T>* x, Complex<T>* y) {
  for (const auto& pass : passes.passes) {
    OnePass<T>(pass, sign, x, y);
    Complex<T>* other = x;
    x = y;
    y = other;
  }
  return x;
}

template <class T>
bool Adjacent(const int64_t* offset, int count) {
  for (int l = 1; l < count; ++l) {
    if (offset[l] != offset[0] + l) return false;
  }
  return count == kLanes<T>;
}

/// Element j of line l.
template <class T>
Root<T> At(const Lines<T>& lines, int64_t n, int l, int64_t j) {
  const int64_t offset = lines.in_offset[l];
  if (lines.in_form == LineForm::kReal) return {lines.in[offset + j * lines.in_stride], 0};
  if (lines.in_form == LineForm::kHalf && j > n / 2) {
    const T* at = lines.in + 2 * (offset + (n - j) * lines.in_stride);
    return {at[0], -at[1]};
  }
  const T* at = lines.in + 2 * (offset + j * lines.in_stride);
  return {at[0], at[1]};
}
template <class T>
void Put(const Lines<T>& lines, int64_t n, int l, int64_t j, T re, T im) {
  const int64_t offset = lines.out_offset[l] + j * lines.out_stride;
  if (lines.out_form == LineForm::kReal) {
    lines.out[offset] = re;
  } else if (lines.out_form == LineForm::kComplex || j <= n / 2) {
    lines.out[2 * offset] = re;
    lines.out[2 * offset + 1] = im;
  }
}

template <class T>
void LoadLines(const Lines<T>& lines, int64_t n, Complex<T>* x) {
  constexpr int kN = kLanes<T>;
  if (lines.in_form == LineForm::kComplex && Adjacent<T>(lines.in_offset, lines.count)) {
    for (int64_t j = 0; j < n; ++j) {
      const T* at = lines.in + 2 * (lines.in_offset[0] + j * lines.in_stride);
      Complex<T> c;
      for (int l = 0; l < kN; ++l) {
        c.re[l] = at[2 * l];
        c.im[l] = at[2 * l + 1];
      }
      x[j] = c;
    }
    return;
  }
  if (lines.count < kN) std::memset(static_cast<void*>(x), 0, static_cast<size_t>(n) * sizeof(Complex<T>));
  for (int l = 0; l < lines.count; ++l) {
    T* to = reinterpret_cast<T*>(x) + l;
    for (int64_t j = 0; j < n; ++j) {
      const Root<T> c = At(lines, n, l, j);
      to[j * 2 * kN] = c.re;
      to[j * 2 * kN + kN] = c.im;
    }
  }
}

template <class T>
void StoreLines(const Lines<T>& lines, int64_t n, const Complex<T>* x) {
  constexpr int kN = kLanes<T>;
  if (lines.out_form == LineForm::kComplex && Adjacent<T>(lines.out_offset, lines.count)) {
    for (int64_t j = 0; j < n; ++j) {
      T* at = lines.out + 2 * (lines.out_offset[0] + j * lines.out_stride);
      const Complex<T> c = x[j].Scaled(lines.scale);
      for (int l = 0; l < kN; ++l) {
        at[2 * l] = c.re[l];
        at[2 * l + 1] = c.im[l];
      }
    }
    return;
  }
  const int64_t last = lines.out_form == LineForm::kHalf ? n / 2 + 1 : n;
  for (int l = 0; l < lines.count; ++l) {
    const T* from = reinterpret_cast<const T*>(x) + l;
    for (int64_t j = 0; j < last; ++j)
      Put(lines, n, l, j, from[j * 2 * kN] * lines.scale, from[j * 2 * kN + kN] * lines.scale);
  }
}

/// One long line as n1 rows of n2: columns, a twist, rows.
template <class T>
void SplitLine(const LineTables<T>& tables, const Lines<T>& lines, int l, Complex<T>* x, Complex<T>* y,
               Root<T>* middle) {
  constexpr int kN = kLanes<T>;
  using C = Complex<T>;
  const T sign = tables.inverse ? 1 : -1;
  const int64_t n = tables.n, n1 = tables.first.n, n2 = tables.second.n;
  const bool plain = lines.in_form == LineForm::kComplex && lines.in_stride == 1;
  for (int64_t j2 = 0; j2 < n2; j2 += kN) {
    const int width = static_cast<int>(n2 - j2 < kN ? n2 - j2 : kN);
    for (int64_t j1 = 0; j1 < n1; ++j1) {
      C c{};
      if (plain && width == kN) {
        const T* at = lines.in + 2 * (lines.in_offset[l] + j1 * n2 + j2);
        for (int i = 0; i < kN; ++i) {
          c.re[i] = at[2 * i];
          c.im[i] = at[2 * i + 1];
        }
      } else {
        for (int i = 0; i < width; ++i) {
          const Root<T> one = At(lines, n, l, j1 * n2 + j2 + i);
          c.re[i] = one.re;
          c.im[i] = one.im;
        }
      }
      x[j1] = c;
    }
    const C* done = RunPasses(tables.first, sign, x, y);
    for (int64_t k1 = 0; k1 < n1; ++k1) {
      Root<T>* to = middle + k1 * n2 + j2;
      const Root<T>* twist = tables.twist.data() + k1 * n2 + j2;
      for (int i = 0; i < width; ++i) {
        to[i] = {done[k1].re[i] * twist[i].re - done[k1].im[i] * twist[i].im,
                 done[k1].re[i] * twist[i].im + done[k1].im[i] * twist[i].re};
      }
    }
  }
  const int64_t last = lines.out_form == LineForm::kHalf ? n / 2 + 1 : n;
  for (int64_t k1 = 0; k1 < n1; k1 += kN) {
    const int width = static_cast<int>(n1 - k1 < kN ? n1 - k1 : kN);
    if (width < kN) std::memset(static_cast<void*>(x), 0, static_cast<size_t>(n2) * sizeof(C));
    for (int i = 0; i < width; ++i) {
      const Root<T>* from = middle + (k1 + i) * n2;
      T* to = reinterpret_cast<T*>(x) + i;
      for (int64_t j2 = 0; j2 < n2; ++j2) {
        to[j2 * 2 * kN] = from[j2].re;
        to[j2 * 2 * kN + kN] = from[j2].im;
      }
    }
    const C* done = RunPasses(tables.second, sign, x, y);
    for (int64_t k2 = 0; k2 < n2; ++k2) {
      const int64_t k = k1 + n1 * k2;
      const C c = done[k2].Scaled(lines.scale);
      if (width == kN && lines.out_form == LineForm::kComplex && lines.out_stride == 1) {
        T* at = lines.out + 2 * (lines.out_offset[l] + k);
        for (int i = 0; i < kN; ++i) {
          at[2 * i] = c.re[i];
          at[2 * i + 1] = c.im[i];
        }
      } else {
        for (int i = 0; i < width && k + i < last; ++i)
          Put(lines, n, l, k + i, static_cast<T>(c.re[i]), static_cast<T>(c.im[i]));
      }
    }
  }
}

/// Any length as a convolution with a chirp.
template <class T>
void ChirpLines(const LineTables<T>& tables, const Lines<T>& lines, Complex<T>* x, Complex<T>* y) {
  const int64_t n = tables.n, m = tables.direct.n;
  LoadLines(lines, n, x);
  for (int64_t j = 0; j < n; ++j) x[j] = x[j] * tables.chirps[static_cast<size_t>(j)];
  std::memset(static_cast<void*>(x + n), 0, static_cast<size_t>(m - n) * sizeof(Complex<T>));
  Complex<T>* there = RunPasses<T>(tables.direct, -1, x, y);
  Complex<T>* other = there == x ? y : x;
  for (int64_t k = 0; k < m; ++k) there[k] = there[k] * tables.kernel[static_cast<size_t>(k)];
  Complex<T>* back = RunPasses<T>(tables.back, 1, there, other);
  for (int64_t k = 0; k < n; ++k) back[k] = back[k] * tables.chirps[static_cast<size_t>(k)];
  StoreLines(lines, n, back);
}

template <class T>
void TransformLines(const LineTables<T>& tables, const Lines<T>& lines, void* scratch) {
  auto* x = static_cast<Complex<T>*>(scratch);
  if (tables.split) {
    const int64_t longest = tables.first.n > tables.second.n ? tables.first.n : tables.second.n;
    auto* middle = reinterpret_cast<Root<T>*>(x + 2 * longest);
    for (int l = 0; l < lines.count; ++l) SplitLine(tables, lines, l, x, x + longest, middle);
    return;
  }
  Complex<T>* y = x + tables.direct.n;
  if (tables.chirp) return ChirpLines(tables, lines, x, y);
  LoadLines(lines, tables.n, x);
  StoreLines(lines, tables.n, RunPasses<T>(tables.direct, tables.inverse ? 1 : -1, x, y));
}

}  // namespace
}  // namespace tenon::kernels::internal
