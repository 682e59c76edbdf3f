// Cholesky and LU factorisations and triangular systems.
//
// Both factorisations halve the columns: what is left of the work are products.

#include <Eigen/Dense>

#include "tenon/lapack/matrix.h"

namespace tenon::lapack {
namespace {

template <class T>
using Part = Eigen::Ref<Matrix<T>, 0, Eigen::OuterStride<>>;

/// Columns that are factored one by one.
constexpr Eigen::Index kFewColumns = 8;

/// The lower factor in the lower triangle of `a`. Returns 0, or the order of the leading minor that is not positive.
template <class T>
int32_t CholeskyInPlace(Part<T> a) {
  const Eigen::Index n = a.rows();
  if (n <= kFewColumns) {
    for (Eigen::Index j = 0; j < n; ++j) {
      Real<T> pivot = Eigen::numext::real(a(j, j));
      for (Eigen::Index k = 0; k < j; ++k) pivot -= Eigen::numext::abs2(a(j, k));
      if (!(pivot > 0)) {
        a(j, j) = pivot;
        return static_cast<int32_t>(j + 1);
      }
      const Real<T> root = std::sqrt(pivot);
      a(j, j) = root;
      for (Eigen::Index i = j + 1; i < n; ++i) {
        T sum = a(i, j);
        for (Eigen::Index k = 0; k < j; ++k) sum -= a(i, k) * Eigen::numext::conj(a(j, k));
        a(i, j) = sum / root;
      }
    }
    return 0;
  }
  const Eigen::Index first = n / 2, rest = n - first;
  if (const int32_t bad = CholeskyInPlace<T>(a.topLeftCorner(first, first)); bad != 0) return bad;
  auto below = a.bottomLeftCorner(rest, first);
  a.topLeftCorner(first, first)
      .adjoint()
      .template triangularView<Eigen::Upper>()
      .template solveInPlace<Eigen::OnTheRight>(below);
  a.bottomRightCorner(rest, rest).template selfadjointView<Eigen::Lower>().rankUpdate(below, Real<T>(-1));
  const int32_t bad = CholeskyInPlace<T>(a.bottomRightCorner(rest, rest));
  return bad == 0 ? 0 : static_cast<int32_t>(first) + bad;
}

template <class T>
Status Potrf(Call& call) {
  const auto [rows, n] = call.Matrices(1, 2);
  const char uplo = call.Letter("uplo", "LU");
  const auto a = call.MatrixIn<T>(0, n, n);
  const auto out = call.MatrixOut<T>(0, n, n);
  int32_t* info = call.InfoOut(1);
  return call.ForEach([&](int64_t i) {
    Matrix<T> x = In(a, i);
    if (uplo == 'U') x = x.adjoint().eval();
    info[i] = CholeskyInPlace<T>(x);
    if (uplo == 'U') x = x.adjoint().eval();
    Out(out, i) = x;
  });
}

/// P a = L U in place. `pivots` gets, for each column, the row, from 0, that it was exchanged with. Returns 0, or the
/// column, from 1, of the first pivot that is zero.
template <class T>
int32_t LuInPlace(Part<T> a, int32_t* pivots) {
  const Eigen::Index m = a.rows(), n = a.cols();
  int32_t zero = 0;
  if (std::min(m, n) <= kFewColumns) {
    for (Eigen::Index j = 0; j < std::min(m, n); ++j) {
      Eigen::Index pivot = j;
      for (Eigen::Index i = j + 1; i < m; ++i) {
        if (Size<T>(a(i, j)) > Size<T>(a(pivot, j))) pivot = i;
      }
      pivots[j] = static_cast<int32_t>(pivot);
      if (a(pivot, j) == T(0)) {
        if (zero == 0) zero = static_cast<int32_t>(j + 1);
        continue;
      }
      if (pivot != j) a.row(j).swap(a.row(pivot));
      for (Eigen::Index i = j + 1; i < m; ++i) a(i, j) /= a(j, j);
      for (Eigen::Index k = j + 1; k < n; ++k) a.col(k).tail(m - j - 1) -= a(j, k) * a.col(j).tail(m - j - 1);
    }
    return zero;
  }
  const Eigen::Index first = std::min(m, n) / 2, rest = n - first;
  zero = LuInPlace<T>(a.leftCols(first), pivots);
  auto right = a.rightCols(rest);
  for (Eigen::Index j = 0; j < first; ++j) {
    if (pivots[j] != j) right.row(j).swap(right.row(pivots[j]));
  }
  auto above = right.topRows(first);
  a.topLeftCorner(first, first).template triangularView<Eigen::UnitLower>().solveInPlace(above);
  auto below = right.bottomRows(m - first);
  below.noalias() -= a.bottomLeftCorner(m - first, first) * above;
  const int32_t later = LuInPlace<T>(below, pivots + first);
  auto left = a.leftCols(first);
  for (Eigen::Index j = first; j < std::min(m, n); ++j) {
    pivots[j] += static_cast<int32_t>(first);
    if (pivots[j] != j) left.row(j).swap(left.row(pivots[j]));
  }
  return zero != 0 || later == 0 ? zero : static_cast<int32_t>(first) + later;
}

template <class T>
Status Getrf(Call& call) {
  const auto [m, n] = call.Matrices(1, 3);
  const int64_t k = std::min(m, n);
  const auto a = call.MatrixIn<T>(0, m, n);
  const auto out = call.MatrixOut<T>(0, m, n);
  const auto pivots = call.VectorOut<int32_t>(1, k);
  int32_t* info = call.InfoOut(2);
  return call.ForEach([&](int64_t i) {
    Matrix<T> x = In(a, i);
    info[i] = LuInPlace<T>(x, pivots.at(i));
    for (int64_t j = 0; j < k; ++j) ++pivots.at(i)[j];
    Out(out, i) = x;
  });
}

/// op(a) x = b, or x op(a) = b.
template <class T>
Status Trsm(Call& call) {
  const auto [m, n] = call.Matrices(2, 1, 1);
  const char side = call.Letter("side", "LR"), uplo = call.Letter("uplo", "LU");
  const char trans = call.Letter("trans_x", "NTC"), diag = call.Letter("diag", "NU");
  const bool left = side == 'L';
  const int64_t order = left ? m : n;
  const auto a = call.MatrixIn<T>(0, order, order);
  const auto b = call.MatrixIn<T>(1, m, n);
  const auto out = call.MatrixOut<T>(0, m, n);
  return call.ForEach([&](int64_t i) {
    if (In(b, i).size() == 0) return;
    // x op(a) = b is op(a)^T x^T = b^T; so the matrix is transposed or not, and conjugated or not.
    const bool transposed = (trans != 'N') == left;
    Matrix<T> t = In(a, i);
    if (trans == 'C') t = t.conjugate().eval();
    if (transposed) t.transposeInPlace();
    if (diag == 'U') t.diagonal().setOnes();
    Matrix<T> x = left ? Matrix<T>(In(b, i)) : Matrix<T>(In(b, i).transpose());
    if ((uplo == 'L') != transposed)
      t.template triangularView<Eigen::Lower>().solveInPlace(x);
    else
      t.template triangularView<Eigen::Upper>().solveInPlace(x);
    if (left)
      Out(out, i) = x;
    else
      Out(out, i) = x.transpose();
  });
}

constexpr Entry kEntries[] = {
    TENON_LAPACK_REAL("potrf", Potrf),    TENON_LAPACK_COMPLEX("potrf", Potrf), TENON_LAPACK_REAL("getrf", Getrf),
    TENON_LAPACK_COMPLEX("getrf", Getrf), TENON_LAPACK_REAL("trsm", Trsm),      TENON_LAPACK_COMPLEX("trsm", Trsm),
};

}  // namespace

std::span<const Entry> TriangularEntries() { return kEntries; }

}  // namespace tenon::lapack
