// Whole lines: loaded into lanes, transformed, folded, stored. Included by one source per instruction set.

#include "tenon/kernels/fft/internal/passes_inl.h"

namespace tenon::kernels::internal {
namespace {

/// Where each lane's line begins; lanes without a line repeat the first.
template <class T>
struct LanePointers {
  T* at[kLanes<T>];
  bool side_by_side = true;  ///< Complex lines that lie element beside element, one per lane.

  LanePointers(T* base, const int64_t* offset, int count, LineForm form) {
    const int64_t numbers = form == LineForm::kReal ? 1 : 2;
    for (int l = 0; l < kLanes<T>; ++l) at[l] = base + numbers * offset[l < count ? l : 0];
    for (int l = 1; l < kLanes<T>; ++l) side_by_side = side_by_side && at[l] == at[0] + 2 * l;
    side_by_side = side_by_side && form != LineForm::kReal;
  }
};

/// n complex numbers of each lane's line, `stride` complex numbers apart.
template <class T>
void LoadLanes(const LanePointers<const T>& from, int64_t stride, int64_t n, Complex<T>* x) {
  constexpr int kN = kLanes<T>;
  if (from.side_by_side) {
    for (int64_t j = 0; j < n; ++j) x[j] = LoadComplex(from.at[0] + 2 * j * stride);
    return;
  }
  int64_t j = 0;
  for (; stride == 1 && j + kN / 2 <= n; j += kN / 2) {
    Vector<T> rows[kN];
    for (int l = 0; l < kN; ++l) rows[l] = LoadVector(from.at[l] + 2 * j);
    Transpose<T>(rows);
    for (int i = 0; i < kN / 2; ++i) x[j + i] = {rows[2 * i], rows[2 * i + 1]};
  }
  for (; j < n; ++j) {
    for (int l = 0; l < kN; ++l) {
      x[j].re[l] = from.at[l][2 * j * stride];
      x[j].im[l] = from.at[l][2 * j * stride + 1];
    }
  }
}

template <class T>
void StoreLanes(const LanePointers<T>& to, int64_t stride, int64_t n, int count, T scale, const Complex<T>* x) {
  constexpr int kN = kLanes<T>;
  if (to.side_by_side && count == kN) {
    for (int64_t j = 0; j < n; ++j) StoreComplex(to.at[0] + 2 * j * stride, x[j].Scaled(scale));
    return;
  }
  int64_t j = 0;
  for (; stride == 1 && j + kN / 2 <= n; j += kN / 2) {
    Vector<T> rows[kN];
    for (int i = 0; i < kN / 2; ++i) {
      rows[2 * i] = x[j + i].re * scale;
      rows[2 * i + 1] = x[j + i].im * scale;
    }
    Transpose<T>(rows);
    for (int l = 0; l < count; ++l) StoreVector<T>(to.at[l] + 2 * j, rows[l]);
  }
  for (; j < n; ++j) {
    for (int l = 0; l < count; ++l) {
      to.at[l][2 * j * stride] = x[j].re[l] * scale;
      to.at[l][2 * j * stride + 1] = x[j].im[l] * scale;
    }
  }
}

/// Place j of a real or Hermitian line of n.
template <class T>
Root<T> PlaceOf(const T* line, LineForm form, int64_t n, int64_t j) {
  if (form == LineForm::kReal) return {line[j], 0};
  if (j <= n / 2) return {line[2 * j], line[2 * j + 1]};
  return {line[2 * (n - j)], -line[2 * (n - j) + 1]};
}
template <class T>
void Narrow(const Root<T>* line, LineForm form, int64_t n, T* to) {
  for (int64_t j = 0; j < (form == LineForm::kHalf ? n / 2 + 1 : n); ++j) {
    if (form == LineForm::kReal) {
      to[j] = line[j].re;
    } else {
      to[2 * j] = line[j].re;
      to[2 * j + 1] = line[j].im;
    }
  }
}

template <class T>
void ExpandLanes(const LanePointers<const T>& from, LineForm form, int64_t n, Complex<T>* x) {
  for (int64_t j = 0; j < n; ++j) {
    for (int l = 0; l < kLanes<T>; ++l) {
      const Root<T> place = PlaceOf(from.at[l], form, n, j);
      x[j].re[l] = place.re;
      x[j].im[l] = place.im;
    }
  }
}
template <class T>
void NarrowLanes(const LanePointers<T>& to, int64_t n, int count, T scale, const Complex<T>* x) {
  for (int64_t j = 0; j < n; ++j) {
    for (int l = 0; l < count; ++l) to.at[l][j] = x[j].re[l] * scale;
  }
}

template <class T>
Root<T> operator*(const Root<T>& a, const Root<T>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// The folds take lines in lanes (C = Complex<T>) and one line in memory (C = Root<T>).

/// n places of the transform of (even + i odd) to n + 1 of the real line's: place k and the conjugate of place n - k
/// give both halves' transforms.
template <class T, class C>
void FoldForward(const LineTables<T>& tables, const C* z, C* x) {
  const int64_t n = tables.n;
  const T half = static_cast<T>(0.5);
  for (int64_t k = 0; k <= n; ++k) {
    const C low = z[k == n ? 0 : k], high = z[k == 0 ? 0 : n - k];
    const C turned = C{low.re - high.re, low.im + high.im} * tables.fold[static_cast<size_t>(k)];
    x[k] = {(low.re + high.re) * half + turned.re, (low.im - high.im) * half + turned.im};
  }
}

/// Back, times 2. The imaginary parts of the first and last place say nothing of a real line and count as 0.
template <class T, class C>
void FoldBack(const LineTables<T>& tables, const C* x, C* z) {
  const int64_t n = tables.n;
  for (int64_t k = 0; k < n; ++k) {
    C low = x[k], high = x[n - k];
    if (k == 0) low.im = high.im = decltype(low.im){};
    const C turned = C{low.re - high.re, low.im + high.im} * tables.fold[static_cast<size_t>(k)];
    z[k] = {low.re + high.re + turned.re, low.im - high.im + turned.im};
  }
}

/// One long line as n1 rows of n2: columns, a twist, rows. Strides in complex numbers.
template <class T, bool kInverse>
void SplitLine(const LineTables<T>& tables, const T* in, int64_t in_stride, T* out, int64_t out_stride, T scale,
               Complex<T>* scratch) {
  constexpr int kN = kLanes<T>;
  using C = Complex<T>;
  const int64_t n1 = tables.first.n, n2 = tables.second.n, longest = n1 > n2 ? n1 : n2;
  const int64_t row_length = (n2 + kN - 1) / kN * kN;
  C* const x = scratch;
  C* const middle = scratch + 2 * longest;  // kN rows beside each other, a row per lane.
  for (int64_t j2 = 0; j2 < n2; j2 += kN) {
    const int width = static_cast<int>(n2 - j2 < kN ? n2 - j2 : kN);
    for (int64_t j1 = 0; j1 < n1; ++j1) {
      const T* at = in + 2 * (j1 * n2 + j2) * in_stride;
      if (in_stride == 1 && width == kN) {
        x[j1] = LoadComplex(at);
        continue;
      }
      x[j1] = {};
      for (int i = 0; i < width; ++i) {
        x[j1].re[i] = at[2 * i * in_stride];
        x[j1].im[i] = at[2 * i * in_stride + 1];
      }
    }
    const C* done = RunPasses<T, kInverse>(tables.first, x, x + longest);
    for (int64_t k1 = 0; k1 < n1; k1 += kN) {
      Vector<T> re[kN], im[kN];
      for (int i = 0; i < kN; ++i) {
        const int64_t k = k1 + i < n1 ? k1 + i : n1 - 1;
        const auto twist = static_cast<size_t>(k * n2 + j2);
        const C twisted = done[k] * C{LoadVector(&tables.twist_re[twist]), LoadVector(&tables.twist_im[twist])};
        re[i] = twisted.re;
        im[i] = twisted.im;
      }
      Transpose<T>(re);
      Transpose<T>(im);
      C* to = middle + k1 / kN * row_length + j2;
      for (int i = 0; i < kN; ++i) to[i] = {re[i], im[i]};
    }
  }
  for (int64_t k1 = 0; k1 < n1; k1 += kN) {
    const int width = static_cast<int>(n1 - k1 < kN ? n1 - k1 : kN);
    const C* done = RunPasses<T, kInverse>(tables.second, middle + k1 / kN * row_length, x);
    for (int64_t k2 = 0; k2 < n2; ++k2) {
      T* at = out + 2 * (k1 + n1 * k2) * out_stride;
      const C c = done[k2].Scaled(scale);
      if (width == kN && out_stride == 1) {
        StoreComplex(at, c);
        continue;
      }
      for (int i = 0; i < width; ++i) {
        at[2 * i * out_stride] = c.re[i];
        at[2 * i * out_stride + 1] = c.im[i];
      }
    }
  }
}

/// One long line as a convolution with a chirp, whose transforms are cut; `line` is memory of the convolution's length.
template <class T>
void ChirpLine(const LineTables<T>& tables, const T* in, int64_t in_stride, T* out, int64_t out_stride, T scale,
               Root<T>* line, Complex<T>* scratch) {
  const int64_t n = tables.n, m = tables.cut[0].n;
  const Root<T>* const chirps = tables.chirps.data();
  const Root<T>* const kernel = tables.kernel.data();
  for (int64_t j = 0; j < n; ++j) line[j] = Root<T>{in[2 * j * in_stride], in[2 * j * in_stride + 1]} * chirps[j];
  std::memset(static_cast<void*>(line + n), 0, static_cast<size_t>(m - n) * sizeof(Root<T>));
  // All of a line is read before any of it is written.
  T* const flat = reinterpret_cast<T*>(line);
  SplitLine<T, false>(tables.cut[0], flat, 1, flat, 1, 1, scratch);
  for (int64_t k = 0; k < m; ++k) line[k] = line[k] * kernel[k];
  SplitLine<T, true>(tables.cut[1], flat, 1, flat, 1, 1, scratch);
  for (int64_t k = 0; k < n; ++k) {
    const Root<T> place = line[k] * chirps[k];
    out[2 * k * out_stride] = place.re * scale;
    out[2 * k * out_stride + 1] = place.im * scale;
  }
}

/// Lines one by one: forms other than complex by way of a copy.
template <class T, bool kInverse>
void LinesApart(const LineTables<T>& tables, const Lines<T>& lines, Complex<T>* scratch) {
  const LineTables<T>& matrix = tables.split ? tables : tables.cut[0];
  const int64_t n1 = matrix.first.n, n2 = matrix.second.n, longest = n1 > n2 ? n1 : n2;
  const auto round_up = [](int64_t n) { return (n + kLanes<T> - 1) / kLanes<T> * kLanes<T>; };
  auto* const copy = reinterpret_cast<Root<T>*>(scratch + 2 * longest + round_up(n1) / kLanes<T> * round_up(n2));
  Root<T>* const convolved = copy + tables.line;
  T* const flat = reinterpret_cast<T*>(copy);
  const bool folded = !tables.fold.empty();
  for (int l = 0; l < lines.count; ++l) {
    const T* in = lines.in + (lines.in_form == LineForm::kReal ? 1 : 2) * lines.in_offset[l];
    T* out = lines.out + (lines.out_form == LineForm::kReal ? 1 : 2) * lines.out_offset[l];
    const T* from = in;
    if (lines.in_form == LineForm::kHalf && folded) {
      FoldBack(tables, reinterpret_cast<const Root<T>*>(in), copy);
      from = flat;
    } else if (lines.in_form != LineForm::kComplex && !folded) {
      for (int64_t j = 0; j < tables.n; ++j) copy[j] = PlaceOf(in, lines.in_form, tables.n, j);
      from = flat;
    }
    const bool narrows = lines.out_form == LineForm::kHalf || (lines.out_form == LineForm::kReal && !folded);
    T* const to = narrows ? flat : out;
    const int64_t to_stride = narrows ? 1 : lines.out_stride;
    if (tables.split) {
      SplitLine<T, kInverse>(tables, from, lines.in_stride, to, to_stride, lines.scale, scratch);
    } else {
      ChirpLine<T>(tables, from, lines.in_stride, to, to_stride, lines.scale, convolved, scratch);
    }
    if (!narrows) continue;
    if (folded) {
      FoldForward(tables, copy, reinterpret_cast<Root<T>*>(out));
    } else {
      Narrow(copy, lines.out_form, tables.n, out);
    }
  }
}

/// A transform of lines in lanes; y is scratch of the same size. Where the result is. A length with large prime factors
/// goes as a convolution with a chirp.
template <class T, bool kInverse>
Complex<T>* TransformLanes(const LineTables<T>& tables, Complex<T>* x, Complex<T>* y) {
  if (!tables.chirp) return RunPasses<T, kInverse>(tables.direct, x, y);
  const int64_t n = tables.n, m = tables.direct.n;
  for (int64_t j = 0; j < n; ++j) x[j] = x[j] * tables.chirps[static_cast<size_t>(j)];
  std::memset(static_cast<void*>(x + n), 0, static_cast<size_t>(m - n) * sizeof(Complex<T>));
  Complex<T>* there = RunPasses<T, false>(tables.direct, x, y);
  for (int64_t k = 0; k < m; ++k) there[k] = there[k] * tables.kernel[static_cast<size_t>(k)];
  Complex<T>* back = RunPasses<T, true>(tables.back, there, there == x ? y : x);
  for (int64_t k = 0; k < n; ++k) back[k] = back[k] * tables.chirps[static_cast<size_t>(k)];
  return back;
}

template <class T, bool kInverse>
void LinesInLanes(const LineTables<T>& tables, const Lines<T>& lines, Complex<T>* x) {
  const int64_t n = tables.n, room = tables.direct.n > n + 1 ? tables.direct.n : n + 1;
  Complex<T>* y = x + room;
  const LanePointers<const T> from(lines.in, lines.in_offset, lines.count, lines.in_form);
  const LanePointers<T> to(lines.out, lines.out_offset, lines.count, lines.out_form);
  const bool folded = !tables.fold.empty();
  if (lines.in_form == LineForm::kComplex || (lines.in_form == LineForm::kReal && folded)) {
    LoadLanes(from, lines.in_stride, n, x);
  } else if (lines.in_form == LineForm::kHalf && folded) {
    LoadLanes(from, 1, n + 1, y);
    FoldBack(tables, y, x);
  } else {
    ExpandLanes(from, lines.in_form, n, x);
  }
  const Complex<T>* done = TransformLanes<T, kInverse>(tables, x, y);
  if (lines.out_form == LineForm::kHalf) {
    if (folded) {
      Complex<T>* other = done == x ? y : x;
      FoldForward(tables, done, other);
      done = other;
    }
    StoreLanes(to, 1, tables.line / 2 + 1, lines.count, lines.scale, done);
  } else if (lines.out_form == LineForm::kReal && !folded) {
    NarrowLanes(to, n, lines.count, lines.scale, done);
  } else {
    StoreLanes(to, lines.out_stride, n, lines.count, lines.scale, done);
  }
}

template <class T>
void TransformLines(const LineTables<T>& tables, const Lines<T>& lines, void* scratch) {
  auto* const x = static_cast<Complex<T>*>(scratch);
  if (tables.one_by_one()) {
    tables.inverse ? LinesApart<T, true>(tables, lines, x) : LinesApart<T, false>(tables, lines, x);
  } else {
    tables.inverse ? LinesInLanes<T, true>(tables, lines, x) : LinesInLanes<T, false>(tables, lines, x);
  }
}

}  // namespace
}  // namespace tenon::kernels::internal
