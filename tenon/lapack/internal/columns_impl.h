// The loops of columns.h; included once per instruction set, with TENON_COLUMNS naming its function.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

#include "tenon/lapack/internal/columns.h"

namespace tenon::lapack::internal {
namespace {

/// What sums of a column go through: rounding must not depend on the registers.
constexpr int64_t kSumBytes = 64;
/// Where each entry has sums of its own, a vector may be a register.
#if defined(__AVX512F__)
constexpr int64_t kRegisterBytes = 64, kRegisters = 32;
#elif defined(__AVX__)
constexpr int64_t kRegisterBytes = 32, kRegisters = 16;
#else
constexpr int64_t kRegisterBytes = 16, kRegisters = 16;
#endif
/// So many columns, or vectors of one, are worked on at once: their sums wait for one another less.
constexpr int64_t kTogether = 4;

template <class S>
struct Scalar {
  RealOf<S> re = 0, im = 0;
  Scalar() = default;
  explicit Scalar(S x) {
    if constexpr (kIsComplex<S>)
      re = x.real(), im = x.imag();
    else
      re = x;
  }
  static Scalar At(const RealOf<S>* p, int64_t half) {
    Scalar s;
    s.re = *p;
    if constexpr (kIsComplex<S>) s.im = p[half];
    return s;
  }
  S Value() const {
    if constexpr (kIsComplex<S>)
      return S(re, im);
    else
      return re;
  }
  Scalar Times(const Scalar& y) const {
    Scalar s;
    if constexpr (kIsComplex<S>) {
      s.re = re * y.re - im * y.im;
      s.im = re * y.im + im * y.re;
    } else {
      s.re = re * y.re;
    }
    return s;
  }
  RealOf<S> Size() const { return std::abs(re) + std::abs(im); }
};

/// Real and imaginary parts of a few entries of a column; real ones have no second part.
template <class S, int64_t kBytes>
struct Pack {
  using R = RealOf<S>;
  static constexpr int64_t kCount = kBytes / static_cast<int64_t>(sizeof(R));
  using Lanes __attribute__((vector_size(kBytes))) = R;
  Lanes re{}, im{};

  static Pack Load(const R* p, int64_t half) {
    Pack x;
    std::memcpy(&x.re, p, sizeof(Lanes));
    if constexpr (kIsComplex<S>) std::memcpy(&x.im, p + half, sizeof(Lanes));
    return x;
  }
  void Store(R* p, int64_t half) const {
    std::memcpy(p, &re, sizeof(Lanes));
    if constexpr (kIsComplex<S>) std::memcpy(p + half, &im, sizeof(Lanes));
  }
  void Add(const Pack& x, const Scalar<S>& f) {
    if constexpr (kIsComplex<S>) {
      re = re + x.re * f.re - x.im * f.im;
      im = im + x.re * f.im + x.im * f.re;
    } else {
      re += x.re * f.re;
    }
  }
  void Subtract(const Pack& x, const Scalar<S>& f) {
    if constexpr (kIsComplex<S>) {
      re = re - x.re * f.re + x.im * f.im;
      im = im - x.re * f.im - x.im * f.re;
    } else {
      re -= x.re * f.re;
    }
  }
  /// Adds conj(x) y.
  void AddDot(const Pack& x, const Pack& y) {
    if constexpr (kIsComplex<S>) {
      re = re + x.re * y.re + x.im * y.im;
      im = im + x.re * y.im - x.im * y.re;
    } else {
      re += x.re * y.re;
    }
  }
  static R SumOf(const Lanes& v) {
    R lane[kCount];
    std::memcpy(lane, &v, sizeof(v));
    for (int64_t half = kCount / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    }
    return lane[0];
  }
  Scalar<S> Sum() const {
    Scalar<S> s;
    s.re = SumOf(re);
    if constexpr (kIsComplex<S>) s.im = SumOf(im);
    return s;
  }
};

/// Something to divide by: numbers are multiplied by an inverse where they are complex, which is scaled where it or
/// what leads to it would overflow or vanish.
template <class S>
struct Divisor {
  using R = RealOf<S>;
  Scalar<S> inverse;
  R scale = 1, by = 1;

  explicit Divisor(Scalar<S> d) : by(d.re) {
    if constexpr (kIsComplex<S>) {
      constexpr R kSmall = std::numeric_limits<R>::min() * 4, kLarge = std::numeric_limits<R>::max() / 4;
      constexpr R kFar = std::numeric_limits<R>::epsilon();
      const R size = std::max(std::abs(d.re), std::abs(d.im));
      if (size < kSmall) scale = 1 / kFar;
      if (size > kLarge) scale = kFar;
      d.re *= scale, d.im *= scale;
      if (std::abs(d.re) >= std::abs(d.im)) {
        const R ratio = d.im / d.re, whole = d.re + d.im * ratio;
        inverse.re = 1 / whole, inverse.im = -ratio / whole;
      } else {
        const R ratio = d.re / d.im, whole = d.im + d.re * ratio;
        inverse.re = ratio / whole, inverse.im = -1 / whole;
      }
    }
  }
  template <class X>
  X Divide(const X& x) const {
    X y = x;
    if constexpr (kIsComplex<S>) {
      y.re = (x.re * inverse.re - x.im * inverse.im) * scale;
      y.im = (x.re * inverse.im + x.im * inverse.re) * scale;
    } else {
      y.re = x.re / by;
    }
    return y;
  }
};

template <class S>
Scalar<S> FactorAt(const Factors<S>& f, int64_t i, int64_t j) {
  Scalar<S> s = Scalar<S>::At(f.data + i * f.row_step + j * f.column_step, f.half);
  if (f.conjugate) s.im = -s.im;
  return s;
}

template <class S>
S Dot(const Block<S>& x, const Block<S>& y) {
  using P = Pack<S, kSumBytes>;
  P sum;
  for (int64_t i = 0; i < x.rows; i += P::kCount)
    sum.AddDot(P::Load(x.data + i, x.half()), P::Load(y.data + i, y.half()));
  return sum.Sum().Value();
}

template <class S>
S Reflector(const Block<S>& x, const Block<S>& v) {
  using R = RealOf<S>;
  using P = Pack<S, kRegisterBytes>;
  // The rest of the last vector of x may be another block's.
  const int64_t whole = (x.rows + kLanes<R> - 1) / kLanes<R> * kLanes<R>;
  for (int64_t part = 0; part < (kIsComplex<S> ? 2 : 1); ++part) {
    R* to = v.data + part * v.half();
    std::memcpy(to, x.data + part * x.half(), static_cast<size_t>(x.rows) * sizeof(R));
    for (int64_t i = x.rows; i < whole; ++i) to[i] = 0;
    to[0] = 0;
  }
  const Scalar<S> alpha = Scalar<S>::At(x.data, x.half());
  const R rest = Scalar<S>(Dot(Block<S>{v.data, x.rows, 1, v.stride}, v)).re;
  const R squares = kIsComplex<S> ? alpha.re * alpha.re + alpha.im * alpha.im + rest : alpha.re * alpha.re + rest;
  Scalar<S> tau, beta = alpha;
  // NaN must not pass for a rest of zero.
  const bool is_real = !kIsComplex<S> || alpha.im == 0 || squares <= std::numeric_limits<R>::min();
  if (!(rest <= std::numeric_limits<R>::min()) || !is_real) {
    beta.re = -std::copysign(std::sqrt(squares), alpha.re);
    Scalar<S> by = alpha;
    by.re -= beta.re;
    const Divisor<S> divisor(by);
    for (int64_t i = 0; i < whole; i += P::kCount)
      divisor.Divide(P::Load(v.data + i, v.half())).Store(v.data + i, v.half());
    tau.re = (beta.re - alpha.re) / beta.re;
    if constexpr (kIsComplex<S>) tau.im = -alpha.im / beta.re;
  } else {
    for (int64_t i = 0; i < whole; i += P::kCount) P{}.Store(v.data + i, v.half());
  }
  beta.im = 0;
  for (int64_t part = 0; part < (kIsComplex<S> ? 2 : 1); ++part) {
    std::memcpy(x.data + part * x.half() + 1, v.data + part * v.half() + 1,
                static_cast<size_t>(x.rows - 1) * sizeof(R));
  }
  x.Set(0, 0, beta.Value());
  v.Set(0, 0, S(1));
  return tau.Value();
}

template <class S, int64_t kColumns>
void ReflectColumns(const Block<S>& v, const Scalar<S>& f, const Block<S>& a, int64_t j) {
  using P = Pack<S, kSumBytes>;
  using N = Pack<S, kRegisterBytes>;
  P sum[kColumns];
  for (int64_t i = 0; i < v.rows; i += P::kCount) {
    const P x = P::Load(v.data + i, v.half());
    for (int64_t c = 0; c < kColumns; ++c) sum[c].AddDot(x, P::Load(a.at(i, j + c), a.half()));
  }
  Scalar<S> by[kColumns];
  for (int64_t c = 0; c < kColumns; ++c) by[c] = f.Times(sum[c].Sum());
  for (int64_t i = 0; i < v.rows; i += N::kCount) {
    const N x = N::Load(v.data + i, v.half());
    for (int64_t c = 0; c < kColumns; ++c) {
      N y = N::Load(a.at(i, j + c), a.half());
      y.Subtract(x, by[c]);
      y.Store(a.at(i, j + c), a.half());
    }
  }
}

template <class S>
void Reflect(const Block<S>& v, S f, const Block<S>& a) {
  const Scalar<S> by(f);
  int64_t j = 0;
  for (; j + kTogether <= a.columns; j += kTogether) ReflectColumns<S, kTogether>(v, by, a, j);
  for (; j < a.columns; ++j) ReflectColumns<S, 1>(v, by, a, j);
}

template <class S, int64_t kVectors>
void MultiplyRows(const Block<S>& a, int64_t i, const Block<S>& x, const Block<S>& y) {
  using N = Pack<S, kRegisterBytes>;
  N sum[kVectors];
  for (int64_t j = 0; j < a.columns; ++j) {
    const Scalar<S> f = Scalar<S>::At(x.data + j, x.half());
    for (int64_t k = 0; k < kVectors; ++k) sum[k].Add(N::Load(a.at(i + k * N::kCount, j), a.half()), f);
  }
  for (int64_t k = 0; k < kVectors; ++k) sum[k].Store(y.data + i + k * N::kCount, y.half());
}

template <class S>
void Multiply(const Block<S>& a, const Block<S>& x, const Block<S>& y) {
  constexpr int64_t kCount = Pack<S, kRegisterBytes>::kCount;
  int64_t i = 0;
  for (; i + (kTogether - 1) * kCount < a.rows; i += kTogether * kCount) MultiplyRows<S, kTogether>(a, i, x, y);
  for (; i < a.rows; i += kCount) MultiplyRows<S, 1>(a, i, x, y);
}

/// Columns j ... of a, updated by two products, with what is made of them meanwhile.
template <class S, int64_t kColumns, bool kDot>
void UpdateColumns(const Block<S>& a, int64_t j, const Block<S>& v, const Block<S>& z, const Block<S>& w,
                   const Block<S>& u, const Block<S>& x, const Block<S>& y) {
  using P = Pack<S, kDot ? kSumBytes : kRegisterBytes>;
  Scalar<S> by_v[kColumns], by_w[kColumns], by_x[kColumns];
  for (int64_t c = 0; c < kColumns; ++c) {
    by_v[c] = Scalar<S>::At(z.data + j + c, z.half());
    by_w[c] = Scalar<S>::At(u.data + j + c, u.half());
    if (!kDot) by_x[c] = Scalar<S>::At(x.data + j + c, x.half());
  }
  P sum[kColumns];
  for (int64_t i = 0; i < a.rows; i += P::kCount) {
    const P pv = P::Load(v.data + i, v.half()), pw = P::Load(w.data + i, w.half());
    P other = P::Load((kDot ? x.data : y.data) + i, kDot ? x.half() : y.half());
    for (int64_t c = 0; c < kColumns; ++c) {
      P column = P::Load(a.at(i, j + c), a.half());
      column.Subtract(pv, by_v[c]);
      column.Subtract(pw, by_w[c]);
      column.Store(a.at(i, j + c), a.half());
      if (kDot)
        sum[c].AddDot(other, column);
      else
        other.Add(column, by_x[c]);
    }
    if (!kDot) other.Store(y.data + i, y.half());
  }
  if (!kDot) return;
  for (int64_t c = 0; c < kColumns; ++c) y.Set(j + c, 0, sum[c].Sum().Value());
}

template <class S>
void UpdateMultiply(const Block<S>& a, const Block<S>& v, const Block<S>& z, const Block<S>& w, const Block<S>& u,
                    const Block<S>& x, const Block<S>& y) {
  using N = Pack<S, kRegisterBytes>;
  for (int64_t i = 0; i < a.rows; i += N::kCount) N{}.Store(y.data + i, y.half());
  int64_t j = 0;
  for (; j + kTogether <= a.columns; j += kTogether) UpdateColumns<S, kTogether, false>(a, j, v, z, w, u, x, y);
  for (; j < a.columns; ++j) UpdateColumns<S, 1, false>(a, j, v, z, w, u, x, y);
}

template <class S>
void UpdateDot(const Block<S>& a, const Block<S>& v, const Block<S>& z, const Block<S>& w, const Block<S>& u,
               const Block<S>& x, const Block<S>& y) {
  int64_t j = 0;
  for (; j + kTogether <= a.columns; j += kTogether) UpdateColumns<S, kTogether, true>(a, j, v, z, w, u, x, y);
  for (; j < a.columns; ++j) UpdateColumns<S, 1, true>(a, j, v, z, w, u, x, y);
}

/// Vectors of rows and columns of c that stay in registers.
template <class S>
constexpr int64_t kTileVectors = kRegisters / 16 * (kIsComplex<S> ? 1 : 2);
constexpr int64_t kTileColumns = 4;

template <class S, int64_t kVectors, int64_t kColumns, bool kConjugate>
void SubtractTile(const Block<S>& c, int64_t i, int64_t j, const Block<S>& a, const Factors<S>& b) {
  using N = Pack<S, kRegisterBytes>;
  N tile[kColumns][kVectors];
  for (int64_t q = 0; q < kColumns; ++q) {
    for (int64_t k = 0; k < kVectors; ++k) tile[q][k] = N::Load(c.at(i + k * N::kCount, j + q), c.half());
  }
  const RealOf<S>* from = a.at(i, 0);
  const RealOf<S>* factor = b.data + j * b.column_step;
  for (int64_t p = 0; p < a.columns; ++p, from += a.stride, factor += b.row_step) {
    N column[kVectors];
    for (int64_t k = 0; k < kVectors; ++k) column[k] = N::Load(from + k * N::kCount, a.half());
    for (int64_t q = 0; q < kColumns; ++q) {
      Scalar<S> f = Scalar<S>::At(factor + q * b.column_step, b.half);
      if (kConjugate) f.im = -f.im;
      for (int64_t k = 0; k < kVectors; ++k) tile[q][k].Subtract(column[k], f);
    }
  }
  for (int64_t q = 0; q < kColumns; ++q) {
    for (int64_t k = 0; k < kVectors; ++k) tile[q][k].Store(c.at(i + k * N::kCount, j + q), c.half());
  }
}

template <class S, int64_t kColumns, bool kConjugate>
void SubtractColumns(const Block<S>& c, int64_t j, const Block<S>& a, const Factors<S>& b) {
  constexpr int64_t kCount = Pack<S, kRegisterBytes>::kCount, kVectors = kTileVectors<S>;
  int64_t i = 0;
  for (; i + (kVectors - 1) * kCount < c.rows; i += kVectors * kCount)
    SubtractTile<S, kVectors, kColumns, kConjugate>(c, i, j, a, b);
  for (; i < c.rows; i += kCount) SubtractTile<S, 1, kColumns, kConjugate>(c, i, j, a, b);
}

template <class S, bool kConjugate>
void SubtractAll(const Block<S>& c, const Block<S>& a, const Factors<S>& b) {
  int64_t j = 0;
  for (; j + kTileColumns <= c.columns; j += kTileColumns) SubtractColumns<S, kTileColumns, kConjugate>(c, j, a, b);
  for (; j < c.columns; ++j) SubtractColumns<S, 1, kConjugate>(c, j, a, b);
}

template <class S>
void Subtract(const Block<S>& c, const Block<S>& a, const Factors<S>& b) {
  if (a.columns == 0) return;
  if (kIsComplex<S> && b.conjugate)
    SubtractAll<S, true>(c, a, b);
  else
    SubtractAll<S, false>(c, a, b);
}

/// The numbers of rows that lanes hold.
template <class R>
struct Numbers {
  using Integer = std::conditional_t<sizeof(R) == 4, int32_t, int64_t>;
  using Lanes __attribute__((vector_size(kSumBytes))) = Integer;
  static void Count(Lanes& n) {
    for (int64_t i = 0; i < kLanes<R>; ++i) n[i] = static_cast<Integer>(i);
  }
};

template <class S, int64_t kColumns>
void SolveLeftColumns(const Block<S>& t, const Block<S>& x, int64_t j, const Divisor<S>* divisors) {
  using R = RealOf<S>;
  using P = Pack<S, kSumBytes>;
  using N = Numbers<R>;
  typename N::Lanes row;
  N::Count(row);
  P side[kColumns];
  for (int64_t c = 0; c < kColumns; ++c) side[c] = P::Load(x.at(0, j + c), x.half());
  // Lanes are read out of memory: which one is known late.
  R lanes[kColumns][2][kLanes<R>];
  for (int64_t p = 0; p < t.rows; ++p) {
    const P column = P::Load(t.at(0, p), t.half());
    const auto at = typename N::Lanes{} + static_cast<typename N::Integer>(p);
    for (int64_t c = 0; c < kColumns; ++c) {
      side[c].Store(lanes[c][0], kLanes<R>);
      Scalar<S> f = Scalar<S>::At(&lanes[c][0][p], kLanes<R>);
      if (divisors != nullptr) {
        f = divisors[p].Divide(f);
        side[c].re = row == at ? typename P::Lanes{} + f.re : side[c].re;
        if (kIsComplex<S>) side[c].im = row == at ? typename P::Lanes{} + f.im : side[c].im;
      }
      P rest = side[c];
      rest.Subtract(column, f);
      // Entries above the diagonal are others'.
      side[c].re = row > at ? rest.re : side[c].re;
      if (kIsComplex<S>) side[c].im = row > at ? rest.im : side[c].im;
    }
  }
  for (int64_t c = 0; c < kColumns; ++c) side[c].Store(x.at(0, j + c), x.half());
}

template <class S>
void SolveLeft(const Block<S>& t, const Block<S>& x, bool unit) {
  using R = RealOf<S>;
  alignas(Divisor<S>) std::byte memory[sizeof(Divisor<S>) * static_cast<size_t>(kLanes<R>)];
  auto* divisors = reinterpret_cast<Divisor<S>*>(memory);
  for (int64_t p = 0; !unit && p < t.rows; ++p) new (divisors + p) Divisor<S>(Scalar<S>::At(t.at(p, p), t.half()));
  const Divisor<S>* by = unit ? nullptr : divisors;
  int64_t j = 0;
  for (; j + kTogether <= x.columns; j += kTogether) SolveLeftColumns<S, kTogether>(t, x, j, by);
  for (; j < x.columns; ++j) SolveLeftColumns<S, 1>(t, x, j, by);
}

template <class S>
void SolveRight(const Block<S>& x, const Factors<S>& t, bool unit) {
  using N = Pack<S, kRegisterBytes>;
  for (int64_t j = 0; j < x.columns; j += kTileColumns) {
    const int64_t count = std::min(kTileColumns, x.columns - j);
    const Factors<S> above{t.data + j * t.column_step, t.row_step, t.column_step, t.half, t.conjugate};
    if (j > 0) Subtract(x.Part(0, j, x.rows, count), x.Part(0, 0, x.rows, j), above);
    for (int64_t q = j; q < j + count; ++q) {
      const Divisor<S> divisor(FactorAt(t, q, q));
      Scalar<S> factor[kTileColumns];
      for (int64_t r = q + 1; r < j + count; ++r) factor[r - j] = FactorAt(t, q, r);
      for (int64_t i = 0; i < x.rows; i += N::kCount) {
        N column = N::Load(x.at(i, q), x.half());
        if (!unit) column = divisor.Divide(column);
        column.Store(x.at(i, q), x.half());
        for (int64_t r = q + 1; r < j + count; ++r) {
          N other = N::Load(x.at(i, r), x.half());
          other.Subtract(column, factor[r - j]);
          other.Store(x.at(i, r), x.half());
        }
      }
    }
  }
}

/// Columns j + 1 ... of a lose column j, below its diagonal, times their factors.
template <class S, int64_t kColumns>
void EliminateColumns(const Block<S>& a, int64_t j, int64_t k, const Scalar<S>* factors) {
  using N = Pack<S, kRegisterBytes>;
  for (int64_t i = j + 1; i < a.rows; i += N::kCount) {
    const N column = N::Load(a.at(i, j), a.half());
    for (int64_t c = 0; c < kColumns; ++c) {
      N other = N::Load(a.at(i, k + c), a.half());
      other.Subtract(column, factors[c]);
      other.Store(a.at(i, k + c), a.half());
    }
  }
}
template <class S, class F>
void Eliminate(const Block<S>& a, int64_t j, const F& factor) {
  int64_t k = j + 1;
  Scalar<S> factors[kTogether];
  for (; k + kTogether <= a.columns; k += kTogether) {
    for (int64_t c = 0; c < kTogether; ++c) factors[c] = factor(k + c);
    EliminateColumns<S, kTogether>(a, j, k, factors);
  }
  for (; k < a.columns; ++k) {
    factors[0] = factor(k);
    EliminateColumns<S, 1>(a, j, k, factors);
  }
}

/// The first row, from j on, of the largest number in column j; j where there is NaN. NaN elsewhere is none.
template <class S>
int64_t PivotOf(const Block<S>& a, int64_t j) {
  using R = RealOf<S>;
  using N = Pack<S, kRegisterBytes>;
  typename N::Lanes largest{};
  for (int64_t i = j; i < a.rows; i += N::kCount) {
    N x = N::Load(a.at(i, j), a.half());
    x.re = x.re < 0 ? -x.re : x.re;
    if constexpr (kIsComplex<S>) x.re += x.im < 0 ? -x.im : x.im;
    largest = x.re > largest ? x.re : largest;
  }
  R most = 0;
  for (int64_t i = 0; i < N::kCount; ++i) most = std::max(most, static_cast<R>(largest[i]));
  int64_t pivot = j;
  if (!(Scalar<S>::At(a.at(j, j), a.half()).Size() <= most)) return j;
  while (pivot < a.rows && Scalar<S>::At(a.at(pivot, j), a.half()).Size() != most) ++pivot;
  return pivot == a.rows ? j : pivot;
}

template <class S>
int64_t Lu(const Block<S>& a, int32_t* pivots) {
  using N = Pack<S, kRegisterBytes>;
  int64_t zero = 0;
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    const int64_t pivot = PivotOf(a, j);
    pivots[j] = static_cast<int32_t>(pivot);
    const Scalar<S> largest = Scalar<S>::At(a.at(pivot, j), a.half());
    if (largest.re == 0 && largest.im == 0) {
      if (zero == 0) zero = j + 1;
      continue;
    }
    if (pivot != j) {
      for (int64_t k = 0; k < a.columns; ++k) {
        const S x = a.Get(j, k);
        a.Set(j, k, a.Get(pivot, k));
        a.Set(pivot, k, x);
      }
    }
    const Divisor<S> divisor(largest);
    for (int64_t i = j + 1; i < a.rows; i += N::kCount)
      divisor.Divide(N::Load(a.at(i, j), a.half())).Store(a.at(i, j), a.half());
    Eliminate(a, j, [&](int64_t k) { return Scalar<S>::At(a.at(j, k), a.half()); });
  }
  return zero;
}

template <class S>
int64_t Cholesky(const Block<S>& a) {
  using R = RealOf<S>;
  using N = Pack<S, kRegisterBytes>;
  for (int64_t j = 0; j < a.columns; ++j) {
    const R square = *a.at(j, j);
    if (!(square > 0)) {
      a.Set(j, j, S(square));
      return j + 1;
    }
    const R root = std::sqrt(square);
    a.Set(j, j, S(root));
    for (int64_t i = j + 1; i < a.rows; i += N::kCount) {
      N x = N::Load(a.at(i, j), a.half());
      x.re /= root;
      if constexpr (kIsComplex<S>) x.im /= root;
      x.Store(a.at(i, j), a.half());
    }
    // Entries above the diagonal take part; nobody reads them.
    Eliminate(a, j, [&](int64_t k) {
      Scalar<S> f = Scalar<S>::At(a.at(k, j), a.half());
      f.im = -f.im;
      return f;
    });
  }
  return 0;
}

template <class R, int64_t kVectors>
void RotateRows(R* a, int64_t stride, int64_t count, const R* c, const R* s) {
  using N = Pack<R, kRegisterBytes>;
  typename N::Lanes x[kVectors];
  for (int64_t k = 0; k < kVectors; ++k) x[k] = N::Load(a + k * N::kCount, 0).re;
  for (int64_t i = 0; i < count; ++i, a += stride) {
    for (int64_t k = 0; k < kVectors; ++k) {
      const auto y = N::Load(a + stride + k * N::kCount, 0).re;
      N out;
      out.re = c[i] * x[k] - s[i] * y;
      out.Store(a + k * N::kCount, 0);
      x[k] = s[i] * x[k] + c[i] * y;
    }
  }
  for (int64_t k = 0; k < kVectors; ++k) std::memcpy(a + k * N::kCount, &x[k], sizeof(x[k]));
}

template <class R>
void Rotate(R* a, int64_t rows, int64_t stride, int64_t count, const R* c, const R* s) {
  constexpr int64_t kCount = Pack<R, kRegisterBytes>::kCount;
  int64_t i = 0;
  for (; i + (kTogether - 1) * kCount < rows; i += kTogether * kCount)
    RotateRows<R, kTogether>(a + i, stride, count, c, s);
  for (; i < rows; i += kCount) RotateRows<R, 1>(a + i, stride, count, c, s);
}

template <class S>
void TurnPair(const Block<S>& a, RealOf<S> c, S s) {
  using N = Pack<S, kRegisterBytes>;
  const Scalar<S> by(s);
  Scalar<S> conjugate = by;
  conjugate.im = -by.im;
  for (int64_t i = 0; i < a.rows; i += N::kCount) {
    const N first = N::Load(a.at(i, 0), a.half()), second = N::Load(a.at(i, 1), a.half());
    N x = first, y = second;
    x.re *= c, y.re *= c;
    if constexpr (kIsComplex<S>) x.im *= c, y.im *= c;
    x.Add(second, conjugate);
    y.Subtract(first, by);
    x.Store(a.at(i, 0), a.half());
    y.Store(a.at(i, 1), a.half());
  }
}

template <class R>
void Turn(const Block<R>& a, R f, R y, R z) {
  using N = Pack<R, kRegisterBytes>;
  const R fy = f * y, fz = f * z;
  const bool three = a.columns == 3;
  for (int64_t i = 0; i < a.rows; i += N::kCount) {
    N first = N::Load(a.at(i, 0), 0), second = N::Load(a.at(i, 1), 0);
    const N third = three ? N::Load(a.at(i, 2), 0) : N{};
    const auto sum = first.re + second.re * y + third.re * z;
    first.re -= sum * f;
    second.re -= sum * fy;
    first.Store(a.at(i, 0), 0);
    second.Store(a.at(i, 1), 0);
    if (!three) continue;
    N last = third;
    last.re -= sum * fz;
    last.Store(a.at(i, 2), 0);
  }
}

}  // namespace

template <class S>
Columns<S> TENON_COLUMNS() {
  return {Reflector<S>, Reflect<S>,    Multiply<S>, UpdateMultiply<S>, UpdateDot<S>,      Dot<S>,      Subtract<S>,
          SolveLeft<S>, SolveRight<S>, Lu<S>,       Cholesky<S>,       Rotate<RealOf<S>>, TurnPair<S>, Turn<RealOf<S>>};
}
template Columns<float> TENON_COLUMNS();
template Columns<double> TENON_COLUMNS();
template Columns<std::complex<float>> TENON_COLUMNS();
template Columns<std::complex<double>> TENON_COLUMNS();

}  // namespace tenon::lapack::internal
