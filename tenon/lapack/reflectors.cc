#include "tenon/lapack/reflectors.h"

#include <optional>

namespace tenon::lapack {
namespace {

using internal::Columns;
using internal::ColumnsHere;
using internal::Factors;
using internal::kIsComplex;
using internal::kLanes;
using internal::RealOf;

/// Reflectors that work together: their products fill tiles of registers, and are a small part of the work themselves.
template <class S>
constexpr int64_t kTogether = kIsComplex<S> ? 16 : 32;

template <class S>
S Multiply(S x, S y) {
  if constexpr (kIsComplex<S>)
    return S(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  else
    return x * y;
}

/// A column, with zeros after its last row for a vector that begins anywhere in it.
template <class S>
class Column {
 public:
  explicit Column(int64_t rows) : memory_(rows + 2 * kLanes<RealOf<S>>, 1) {}
  /// Its first rows.
  Block<S> Of(int64_t rows) const { return memory_.block().Part(0, 0, rows, 1); }
  /// So many rows after the first.
  Block<S> After(int64_t rows) const { return memory_.block().Part(1, 0, rows, 1); }
  /// Clears what lies after the first ones.
  void End(int64_t rows) const {
    ForEachPart(memory_.block(), 0, [&](RealOf<S>* x) { std::fill_n(x + rows, 2 * kLanes<RealOf<S>>, RealOf<S>(0)); });
  }
  void SetZero() { memory_.SetZero(); }

 private:
  Padded<S> memory_;
};

/// to <- f from.
template <class S>
void Scale(const Block<S>& from, S f, const Block<S>& to) {
  const RealOf<S>* x = from.data;
  RealOf<S>* y = to.data;
  if constexpr (kIsComplex<S>) {
    const RealOf<S>*xi = x + from.half(), re = f.real(), im = f.imag();
    RealOf<S>* yi = y + to.half();
    for (int64_t i = 0; i < from.rows; ++i) {
      const RealOf<S> a = x[i], b = xi[i];
      y[i] = re * a - im * b;
      yi[i] = re * b + im * a;
    }
  } else {
    for (int64_t i = 0; i < from.rows; ++i) y[i] = f * x[i];
  }
}

template <class S>
void Conjugate(const Block<S>& from, const Block<S>& to) {
  for (int64_t i = 0; i < from.rows; ++i) to.data[i] = from.data[i];
  if constexpr (kIsComplex<S>) {
    for (int64_t i = 0; i < from.rows; ++i) to.data[to.half() + i] = -from.data[from.half() + i];
  }
}

/// Reflectors one after another as one matrix, I - v t v^H (Schreiber and Van Loan, 1989).
template <class S>
class Reflectors {
 public:
  Reflectors(int64_t rows, int64_t columns)
      : v_(rows, kTogether<S>),
        adjoint_(kTogether<S>, rows),
        t_(kTogether<S>, kTogether<S>),
        gram_(kTogether<S>, kTogether<S>),
        w_(kTogether<S>, columns),
        tw_(kTogether<S>, columns) {}

  /// Those in columns of `packed`, each from one row further on.
  void Set(const Block<S>& packed, const S* taus, bool adjoint) {
    const int64_t m = packed.rows, k = packed.columns;
    v_.SetZero();
    adjoint_.SetZero();
    t_.SetZero();
    gram_.SetZero();
    rows_ = m, count_ = k;
    const Block<S> v = v_.block().Part(0, 0, m, k), vh = adjoint_.block().Part(0, 0, k, m);
    for (int64_t j = 0; j < k; ++j) {
      v.Set(j, j, S(1));
      for (int64_t i = j + 1; i < m; ++i) v.Set(i, j, packed.Get(i, j));
      for (int64_t i = j; i < m; ++i) vh.Set(j, i, ConjugateIf(true, v.Get(i, j)));
    }
    const Block<S> gram = gram_.block().Part(0, 0, k, k), t = t_.block();
    ColumnsHere<S>().subtract(gram, vh, Factors<S>::Of(v));
    // Column j of t is tau_j times (what is left of it times -v^H v_j, 1).
    S column[kTogether<S>], all[kTogether<S>][kTogether<S>] = {};
    for (int64_t j = 0; j < k; ++j) {
      for (int64_t i = 0; i < j; ++i) {
        S sum(0);
        for (int64_t p = i; p < j; ++p) sum += Multiply(all[p][i], gram.Get(p, j));
        column[i] = Multiply(taus[j], sum);
      }
      column[j] = taus[j];
      for (int64_t i = 0; i <= j; ++i) {
        all[j][i] = column[i];
        if (adjoint)
          t.Set(j, i, ConjugateIf(true, column[i]));
        else
          t.Set(i, j, column[i]);
      }
    }
  }

  /// a <- (I - v t v^H) a, or the adjoint of that.
  void Apply(const Block<S>& a) {
    const int64_t n = a.columns;
    w_.SetZero();
    tw_.SetZero();
    const Block<S> w = w_.block().Part(0, 0, count_, n), tw = tw_.block().Part(0, 0, count_, n);
    const Columns<S>& columns = ColumnsHere<S>();
    columns.subtract(w, adjoint_.block().Part(0, 0, count_, rows_), Factors<S>::Of(a));
    columns.subtract(tw, t_.block().Part(0, 0, count_, count_), Factors<S>::Of(w));
    columns.subtract(a, v_.block().Part(0, 0, rows_, count_), Factors<S>::Of(tw));
  }

 private:
  int64_t rows_ = 0, count_ = 0;
  Padded<S> v_, adjoint_, t_, gram_, w_, tw_;
};

}  // namespace

template <class S>
void FactorQr(const Block<S>& a, S* taus) {
  const Columns<S>& columns = ColumnsHere<S>();
  const int64_t m = a.rows, n = a.columns, k = std::min(m, n);
  const Column<S> v(m);
  std::optional<Reflectors<S>> together;
  for (int64_t first = 0; first < k; first += kTogether<S>) {
    // The last ones work alone: few columns are left.
    const int64_t count = std::min(kTogether<S>, k - first);
    const bool is_last = n - first <= 2 * kTogether<S>;
    const int64_t last = is_last ? n : first + count;
    for (int64_t j = first; j < (is_last ? k : last); ++j) {
      const Block<S> x = v.Of(m - j);
      taus[j] = columns.reflector(a.Part(j, j, m - j, 1), x);
      if (taus[j] != S(0) && j + 1 < last)
        columns.reflect(x, ConjugateIf(true, taus[j]), a.Part(j, j + 1, m - j, last - j - 1));
    }
    if (is_last) return;
    if (!together) together.emplace(m, n);
    together->Set(a.Part(first, first, m - first, count), taus + first, /*adjoint=*/true);
    together->Apply(a.From(first, last));
  }
}

template <class S>
void MultiplyReflectors(const Block<S>& v, int64_t first, const S* taus, int64_t count, Product product,
                        const Block<S>& q) {
  const Columns<S>& columns = ColumnsHere<S>();
  const bool adjoint = product == Product::kAdjoint;
  // Columns of the identity before it are those of the identity from there on, still.
  const auto part = [&](int64_t k) { return q.From(k + first, product == Product::kOfIdentity ? k + first : 0); };
  const bool is_small = std::min(count, q.columns) <= kTogether<S>;
  std::optional<Column<S>> alone;
  std::optional<Reflectors<S>> together;
  const int64_t step = is_small ? 1 : kTogether<S>, steps = (count + step - 1) / step;
  if (is_small)
    alone.emplace(q.rows);
  else
    together.emplace(q.rows, q.columns);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t k = (adjoint ? i : steps - 1 - i) * step;
    const Block<S> to = part(k);
    if (!is_small) {
      const int64_t some = std::min(step, count - k);
      together->Set(v.Part(k + first, k, to.rows, some), taus + k, adjoint);
      together->Apply(to);
      continue;
    }
    if (taus[k] == S(0) || to.columns <= 0) continue;
    const Block<S> x = alone->Of(to.rows), from = v.Part(k + first, k, to.rows, 1);
    Scale(from, S(1), x);
    x.Set(0, 0, S(1));
    alone->End(to.rows);
    columns.reflect(x, ConjugateIf(adjoint, taus[k]), to);
  }
}

template <class S>
void ReduceToHessenberg(const Block<S>& a, int64_t first, int64_t last, S* taus) {
  const Columns<S>& columns = ColumnsHere<S>();
  const int64_t n = a.rows;
  Column<S> v(n), product(n);
  std::fill_n(taus, std::max<int64_t>(n - 1, 0), S(0));
  for (int64_t k = first; k + 1 < last; ++k) {
    const int64_t rows = last - k - 1;
    const Block<S> x = v.Of(rows), y = product.Of(last);
    taus[k] = columns.reflector(a.Part(k + 1, k, rows, 1), x);
    // Zeros leave rows alone that share a vector with the last one.
    v.End(rows);
    columns.reflect(x, ConjugateIf(true, taus[k]), a.Part(k + 1, k + 1, rows, n - k - 1));
    const Block<S> right = a.Part(0, k + 1, last, rows);
    columns.multiply(right, x, y);
    Scale(y, taus[k], y);
    product.End(last);
    columns.subtract(right, y, Factors<S>::AdjointOf(x));
  }
}

template <class S>
void Tridiagonalise(const Block<S>& a, RealOf<S>* diagonal, RealOf<S>* beside, S* taus) {
  using R = RealOf<S>;
  const Columns<S>& columns = ColumnsHere<S>();
  const int64_t n = a.rows;
  // What is still to be taken from what is left of a: v w^H + w v^H.
  Column<S> v(n), w(n), next(n), p(n), conjugate_v(n), conjugate_w(n);
  for (int64_t k = 0; k < n; ++k) {
    const int64_t rows = n - k;
    columns.update_multiply(a.Part(k, k, rows, 1), v.Of(rows), conjugate_w.Of(1), w.Of(rows), conjugate_v.Of(1),
                            conjugate_v.Of(1), p.Of(rows));
    diagonal[k] = *a.at(k, k);
    if (k + 1 == n) break;
    const int64_t rest = rows - 1;
    const Block<S> x = next.Of(rest), product = p.Of(rest);
    taus[k] = columns.reflector(a.Part(k + 1, k, rest, 1), x);
    next.End(rest);
    beside[k] = *a.at(k + 1, k);
    columns.update_multiply(a.From(k + 1, k + 1), v.After(rest), conjugate_w.After(rest), w.After(rest),
                            conjugate_v.After(rest), x, product);
    // h^H a h = a - v w^H - w v^H with w = tau a v - (|tau|^2 / 2) (v^H a v) v.
    Scale(product, taus[k], product);
    const R half = std::real(Multiply(taus[k], columns.dot(product, x))) / 2;
    for (int64_t i = 0; i < rest; ++i) product.Set(i, 0, product.Get(i, 0) - half * x.Get(i, 0));
    p.End(rest);
    std::swap(v, next);
    std::swap(w, p);
    Conjugate(v.Of(rest), conjugate_v.Of(rest));
    Conjugate(w.Of(rest), conjugate_w.Of(rest));
  }
}

template <class S>
void Bidiagonalise(const Block<S>& a, RealOf<S>* diagonal, RealOf<S>* beside, S* q_taus, const Block<S>& right,
                   S* p_taus) {
  const Columns<S>& columns = ColumnsHere<S>();
  const int64_t m = a.rows, n = a.columns;
  // What is still to be taken from what is left of a: v z^T + w u^T.
  Column<S> v(m), z(n), w(m), u(n), next(m), dots(n), row(n), x(n);
  for (int64_t k = 0; k < n; ++k) {
    const int64_t rows = m - k, rest = n - k - 1;
    columns.update_dot(a.Part(k, k, rows, 1), v.Of(rows), z.Of(1), w.Of(rows), u.Of(1), v.Of(rows), dots.Of(1));
    const Block<S> reflector = next.Of(rows);
    q_taus[k] = columns.reflector(a.Part(k, k, rows, 1), reflector);
    next.End(rows);
    diagonal[k] = *a.at(k, k);
    p_taus[k] = S(0);
    if (rest == 0) break;
    const Block<S> left = a.Part(k, k + 1, rows, rest);
    columns.update_dot(left, v.Of(rows), z.After(rest), w.Of(rows), u.After(rest), reflector, dots.Of(rest));
    // h^H a = a - v z^T with z = conj(tau) (v^H a)^T.
    std::swap(v, next);
    Scale(dots.Of(rest), ConjugateIf(true, q_taus[k]), z.Of(rest));
    // The adjoint of row k of that.
    const Block<S> adjoint = row.Of(rest), turned = x.Of(rest);
    for (int64_t j = 0; j < rest; ++j) adjoint.Set(j, 0, ConjugateIf(true, left.Get(0, j) - z.Of(rest).Get(j, 0)));
    p_taus[k] = columns.reflector(adjoint, turned);
    x.End(rest);
    beside[k] = *adjoint.at(0, 0);
    Scale(adjoint, S(1), right.Part(k + 1, k, rest, 1));
    // a h = a - w u^T with w = tau a x and u = conj(x).
    Conjugate(turned, u.Of(rest));
    u.End(rest);
    z.End(rest);
    const Block<S> below = left.From(1, 0), product = w.Of(rows - 1);
    S sum(0);
    for (int64_t j = 0; j < rest; ++j) sum += Multiply(z.Of(rest).Get(j, 0), turned.Get(j, 0));
    columns.multiply(below, turned, product);
    const Block<S> v_below = v.After(rows - 1);
    for (int64_t i = 0; i < rows - 1; ++i)
      product.Set(i, 0, Multiply(p_taus[k], product.Get(i, 0) - Multiply(sum, v_below.Get(i, 0))));
    w.End(rows - 1);
    // v begins one row before w.
    Scale(v_below, S(1), v.Of(rows - 1));
    v.End(rows - 1);
  }
}

#define TENON_INSTANTIATE(S)                                                                                  \
  template void FactorQr<S>(const Block<S>&, S*);                                                             \
  template void MultiplyReflectors<S>(const Block<S>&, int64_t, const S*, int64_t, Product, const Block<S>&); \
  template void ReduceToHessenberg<S>(const Block<S>&, int64_t, int64_t, S*);                                 \
  template void Tridiagonalise<S>(const Block<S>&, RealOf<S>*, RealOf<S>*, S*);                               \
  template void Bidiagonalise<S>(const Block<S>&, RealOf<S>*, RealOf<S>*, S*, const Block<S>&, S*)
TENON_INSTANTIATE(float);
TENON_INSTANTIATE(double);
TENON_INSTANTIATE(std::complex<float>);
TENON_INSTANTIATE(std::complex<double>);
#undef TENON_INSTANTIATE

}  // namespace tenon::lapack
