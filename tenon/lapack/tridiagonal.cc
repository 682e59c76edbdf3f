// Tridiagonal systems, by elimination with exchanges of neighbouring rows.

#include "tenon/lapack/matrix.h"

namespace tenon::lapack {
namespace {

/// A tridiagonal matrix of order n, and what elimination makes of it. In: `below[k]` stands in row k + 1, `above[k]` in
/// row k. Out: the diagonal and the two diagonals above it of the upper factor.
template <class T>
struct Tridiagonal {
  Vector<T> below, diagonal, above, second;
};

/// Eliminates in `t` and in the columns of `b`, and solves for these. Pivots smaller than `least` become that (a zero
/// of it: none). Returns 0, or the row, from 1, of the first pivot that is zero; then `b` is no solution.
template <class T>
int32_t Solve(Tridiagonal<T>& t, Matrix<T>& b, Real<T> least) {
  const Eigen::Index n = t.diagonal.size();
  if (b.cols() == 0) {  // No memory, of which there are no rows; elimination goes the same way for any column.
    Matrix<T> column = Matrix<T>::Zero(n, 1);
    return n == 0 ? 0 : Solve(t, column, least);
  }
  t.second = Vector<T>::Zero(n);
  const auto mend = [&](T& pivot) {
    if (least > 0 && Size(pivot) < least) pivot = Eigen::numext::real(pivot) < 0 ? T(-least) : T(least);
    return pivot != T(0);
  };
  for (Eigen::Index k = 0; k + 1 < n; ++k) {
    if (Size(t.diagonal[k]) < Size(t.below[k])) {
      std::swap(t.diagonal[k], t.below[k]);
      std::swap(t.above[k], t.diagonal[k + 1]);
      if (k + 2 < n) std::swap(t.second[k], t.above[k + 1]);
      b.row(k).swap(b.row(k + 1));
    }
    if (!mend(t.diagonal[k])) return static_cast<int32_t>(k + 1);
    const T factor = t.below[k] / t.diagonal[k];
    t.diagonal[k + 1] -= factor * t.above[k];
    if (k + 2 < n) t.above[k + 1] -= factor * t.second[k];
    b.row(k + 1) -= factor * b.row(k);
  }
  if (n > 0 && !mend(t.diagonal[n - 1])) return static_cast<int32_t>(n);
  for (Eigen::Index k = n; k-- > 0;) {
    if (k + 1 < n) b.row(k) -= t.above[k] * b.row(k + 1);
    if (k + 2 < n) b.row(k) -= t.second[k] * b.row(k + 2);
    b.row(k) /= t.diagonal[k];
  }
  return 0;
}

template <class T>
struct System {
  System(Call& call, int64_t results) {
    const Extents extents = call.Matrices(4, results, 3);
    n = extents.rows, columns = extents.cols;
    below = call.VectorIn<T>(0, n), diagonal = call.VectorIn<T>(1, n), above = call.VectorIn<T>(2, n);
    b = call.MatrixIn<T>(3, n, columns);
  }

  /// The first entry below and the last above stand outside of the matrix.
  Tridiagonal<T> at(int64_t i) const {
    if (n == 0) return {};
    return {In(below, i).col(0).tail(n - 1), In(diagonal, i).col(0), In(above, i).col(0).head(n - 1), {}};
  }

  int64_t n, columns;
  Stack<const T> below, diagonal, above, b;
};

/// Besides the solution: what elimination leaves on the diagonals.
template <class T>
Status Gtsv(Call& call) {
  const System<T> system(call, 5);
  const int64_t n = system.n;
  const auto dl = call.VectorOut<T>(0, n), d = call.VectorOut<T>(1, n), du = call.VectorOut<T>(2, n);
  const auto out = call.MatrixOut<T>(3, n, system.columns);
  int32_t* info = call.InfoOut(4);
  return call.ForEach([&](int64_t i) {
    info[i] = 0;
    if (n == 0) return;
    const T outside_below = system.below.at(i)[0], outside_above = system.above.at(i)[n - 1];
    Tridiagonal<T> t = system.at(i);
    Matrix<T> x = In(system.b, i);
    info[i] = Solve<T>(t, x, 0);
    dl.at(i)[0] = outside_below;
    for (int64_t k = 1; k < n; ++k) dl.at(i)[k] = t.second[k - 1];
    Out(d, i) = t.diagonal;
    for (int64_t k = 0; k + 1 < n; ++k) du.at(i)[k] = t.above[k];
    du.at(i)[n - 1] = outside_above;
    Out(out, i) = x;
  });
}

/// A solution also of singular systems: pivots near zero become eps times the largest entry.
template <class T>
Status Perturbed(Call& call) {
  const System<T> system(call, 1);
  const auto out = call.MatrixOut<T>(0, system.n, system.columns);
  return call.ForEach([&](int64_t i) {
    Tridiagonal<T> t = system.at(i);
    Real<T> largest = 0;
    for (const Vector<T>* v : {&t.below, &t.diagonal, &t.above}) {
      for (Eigen::Index k = 0; k < v->size(); ++k) largest = std::max(largest, Size((*v)[k]));
    }
    Matrix<T> x = In(system.b, i);
    constexpr Real<T> kEps = std::numeric_limits<Real<T>>::epsilon();
    Solve<T>(t, x, std::max(largest * kEps, std::numeric_limits<Real<T>>::min()));
    Out(out, i) = x;
  });
}

/// One name for all types.
Status PerturbedOfAnyType(Call& call) {
  switch (call.data_type(3)) {
    case XLA_FFI_DataType_F64:
      return Perturbed<double>(call);
    case XLA_FFI_DataType_C64:
      return Perturbed<std::complex<float>>(call);
    case XLA_FFI_DataType_C128:
      return Perturbed<std::complex<double>>(call);
    default:
      return Perturbed<float>(call);
  }
}

constexpr Entry kEntries[] = {
    TENON_LAPACK_REAL("gtsv", Gtsv),
    TENON_LAPACK_COMPLEX("gtsv", Gtsv),
    {"tridiagonal_solve_perturbed_ffi", &Handler<&PerturbedOfAnyType>},
};

}  // namespace

std::span<const Entry> TridiagonalEntries() { return kEntries; }

}  // namespace tenon::lapack
