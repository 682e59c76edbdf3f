#include "tenon/lapack/reflectors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tenon/lapack/internal/columns.h"

namespace tenon::lapack {
namespace {

/// A column with zeros up to the end of a vector.
template <class T>
std::vector<T> Column(int64_t rows) {
  return std::vector<T>(static_cast<size_t>(rows + internal::kLanes<T> - 1), T(0));
}

/// The reflector that leaves of x its first element alone: v goes to `v`, with its one, and `x` becomes (beta, v's
/// rest). The result is tau. `v`: a Column.
template <class T>
T MakeReflector(const internal::Columns<T>& columns, T* x, int64_t rows, T* v) {
  const T alpha = x[0];
  std::copy_n(x, rows, v);
  std::fill_n(v + rows, internal::kLanes<T> - 1, T(0));
  v[0] = 0;
  const T rest = columns.dot(v, v, rows);
  T tau = 0;
  // NaN must not pass for a rest of zero.
  if (!(rest <= std::numeric_limits<T>::min())) {
    const T beta = -std::copysign(std::sqrt(alpha * alpha + rest), alpha);
    for (int64_t i = 1; i < rows; ++i) v[i] /= alpha - beta;
    tau = (beta - alpha) / beta;
    x[0] = beta;
  } else {
    std::fill_n(v, rows, T(0));
  }
  std::copy_n(v + 1, rows - 1, x + 1);
  v[0] = 1;
  return tau;
}

/// a = q t q^T with t tridiagonal: its diagonal, what is beside it, and the reflectors of q below that in `a`.
template <class T>
void Tridiagonalise(const internal::Columns<T>& columns, Padded<T>& a, T* diagonal, T* beside, T* taus) {
  const int64_t n = a.rows();
  std::vector<T> v = Column<T>(n), p = Column<T>(n);
  for (int64_t k = 0; k + 1 < n; ++k) {
    const int64_t rows = n - k - 1;
    diagonal[k] = *a.at(k, k);
    T* x = a.at(k + 1, k);
    const T tau = MakeReflector(columns, x, rows, v.data());
    taus[k] = tau;
    beside[k] = x[0];
    if (tau == 0) continue;
    // h a h = a - v w^T - w v^T with w = tau a v - (tau / 2) (tau a v . v) v.
    T* rest = a.at(k + 1, k + 1);
    columns.multiply(rest, rows, rows, a.stride(), v.data(), p.data());
    for (int64_t i = 0; i < rows; ++i) p[static_cast<size_t>(i)] *= tau;
    const T half = tau / 2 * columns.dot(p.data(), v.data(), rows);
    for (int64_t i = 0; i < rows; ++i) p[static_cast<size_t>(i)] -= half * v[static_cast<size_t>(i)];
    std::fill(p.begin() + rows, p.end(), T(0));
    columns.update(rest, rows, a.stride(), v.data(), p.data());
  }
  diagonal[n - 1] = *a.at(n - 1, n - 1);
}

/// Rotations that one sweep of the implicit QR iteration makes, for the eigenvectors.
template <class T>
struct Sweep {
  std::vector<T> c, s;
};

/// One sweep over t's rows first ... last, with the shift that its last two rows suggest.
template <class T>
void QrSweep(T* diagonal, T* beside, int64_t first, int64_t last, Sweep<T>& sweep) {
  const T half = (diagonal[last - 1] - diagonal[last]) / 2, e = beside[last - 1];
  T shift = diagonal[last];
  if (half == 0) {
    shift -= std::abs(e);
  } else if (e != 0) {
    const T root = half + std::copysign(std::hypot(half, e), half);
    // The square may vanish where the quotient does not.
    shift -= e * e == 0 ? e / (root / e) : e * e / root;
  }
  constexpr T kLeastSquares = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  T x = diagonal[first] - shift, z = beside[first];
  for (int64_t k = first; k < last; ++k) {
    // Squares of most entries are numbers, and faster than what takes care of the others.
    const T squares = x * x + z * z;
    T r = std::sqrt(squares), c = 1, s = 0;
    if (squares > kLeastSquares) {
      const T inverse = 1 / r;
      c = x * inverse;
      s = -z * inverse;
    } else if ((r = std::hypot(x, z)) != 0) {
      c = x / r;
      s = -z / r;
    }
    if (k > first) beside[k - 1] = r;
    const T a = diagonal[k], b = beside[k], d = diagonal[k + 1];
    const T upper = c * a - s * b, middle = c * b - s * d, lower = s * b + c * d;
    diagonal[k] = c * upper - s * middle;
    beside[k] = s * upper + c * middle;
    diagonal[k + 1] = s * (s * a + c * b) + c * lower;
    x = beside[k];
    if (k + 1 < last) {
      z = -s * beside[k + 1];
      beside[k + 1] *= c;
    }
    sweep.c[static_cast<size_t>(k)] = c;
    sweep.s[static_cast<size_t>(k)] = s;
  }
}

}  // namespace

template <class T>
Padded<T>::Padded(int64_t rows, int64_t columns)
    : rows_(rows),
      columns_(columns),
      stride_((rows + 2 * internal::kLanes<T> - 2) / internal::kLanes<T> * internal::kLanes<T>),
      data_(static_cast<size_t>(stride_ * columns), T(0)) {}

template <class T>
void FactorQr(Padded<T>& a, T* taus) {
  const internal::Columns<T> columns = internal::ColumnsHere<T>();
  const int64_t m = a.rows(), n = a.columns();
  std::vector<T> v = Column<T>(m);
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    taus[k] = MakeReflector(columns, a.at(k, k), m - k, v.data());
    if (taus[k] != 0 && k + 1 < n) columns.reflect(v.data(), taus[k], m - k, a.at(k, k + 1), n - k - 1, a.stride());
  }
}

template <class T>
void MultiplyReflectors(const Padded<T>& v, int64_t first, const T* taus, int64_t count, Padded<T>& q) {
  const internal::Columns<T> columns = internal::ColumnsHere<T>();
  std::vector<T> x = Column<T>(q.rows());
  for (int64_t k = count; k-- > 0;) {
    if (taus[k] == 0) continue;
    const int64_t at = k + first, rows = q.rows() - at;
    std::copy_n(v.at(at, k), rows, x.data());
    x[0] = 1;
    // Columns before it are those of the identity from there on, still.
    columns.reflect(x.data(), taus[k], rows, q.at(at, at), q.columns() - at, q.stride());
  }
}

template <class T>
bool SymmetricEigen(Padded<T>& a, T* values, bool vectors) {
  const internal::Columns<T> columns = internal::ColumnsHere<T>();
  const int64_t n = a.rows();
  std::vector<T> beside(static_cast<size_t>(n)), taus(beside.size());
  Tridiagonalise(columns, a, values, beside.data(), taus.data());
  Padded<T> q(n, vectors ? n : 0);
  if (vectors) {
    for (int64_t i = 0; i < n; ++i) *q.at(i, i) = 1;
    MultiplyReflectors(a, 1, taus.data(), n - 1, q);
  }
  constexpr T kEpsilon = std::numeric_limits<T>::epsilon(), kLeast = std::numeric_limits<T>::min();
  constexpr int64_t kSweepsPerValue = 30;
  Sweep<T> sweep{std::vector<T>(static_cast<size_t>(n)), std::vector<T>(static_cast<size_t>(n))};
  int64_t sweeps = 0;
  for (int64_t last = n - 1; last > 0;) {
    for (int64_t k = 0; k < last; ++k) {
      const T e = std::abs(beside[static_cast<size_t>(k)]);
      if (e < kLeast || e <= kEpsilon * (std::abs(values[k]) + std::abs(values[k + 1])))
        beside[static_cast<size_t>(k)] = 0;
    }
    while (last > 0 && beside[static_cast<size_t>(last - 1)] == 0) --last;
    if (last == 0) break;
    if (++sweeps > kSweepsPerValue * n) return false;
    int64_t first = last - 1;
    while (first > 0 && beside[static_cast<size_t>(first - 1)] != 0) --first;
    QrSweep(values, beside.data(), first, last, sweep);
    if (vectors) {
      columns.rotate(q.at(0, first), n, q.stride(), last - first, sweep.c.data() + first, sweep.s.data() + first);
    }
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(),
            [&](int64_t x, int64_t y) { return values[x] < values[y] || (values[x] == values[y] && x < y); });
  const std::vector<T> found(values, values + n);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values[j] = found[static_cast<size_t>(from)];
    if (vectors) std::copy_n(q.at(0, from), n, a.at(0, j));
  }
  return true;
}

#define TENON_INSTANTIATE(T)                                                                     \
  template class Padded<T>;                                                                      \
  template void FactorQr<T>(Padded<T>&, T*);                                                     \
  template void MultiplyReflectors<T>(const Padded<T>&, int64_t, const T*, int64_t, Padded<T>&); \
  template bool SymmetricEigen<T>(Padded<T>&, T*, bool)
TENON_INSTANTIATE(float);
TENON_INSTANTIATE(double);
#undef TENON_INSTANTIATE

}  // namespace tenon::lapack
