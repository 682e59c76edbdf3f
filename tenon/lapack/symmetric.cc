// Eigenvalues of symmetric and Hermitian matrices, and their tridiagonal forms.

#include <Eigen/Eigenvalues>

#include "tenon/lapack/matrix.h"
#include "tenon/lapack/padded.h"

namespace tenon::lapack {
namespace {

/// The matrix with what counts of it in its lower triangle.
template <class T>
Matrix<T> Lower(const Stack<const T>& a, int64_t i, char uplo) {
  if (uplo == 'L') return In(a, i);
  return In(a, i).adjoint();
}

template <class T>
bool LowerIsFinite(const Matrix<T>& a) {
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    if (!a.col(j).tail(a.rows() - j).allFinite()) return false;
  }
  return true;
}

/// Eigenvalues in ascending order of the real matrix with this lower triangle and, with `vectors`, its eigenvectors in
/// `v`, which gets the triangle otherwise. False when the iteration does not end.
template <class T>
bool EigenInVectors(const Matrix<T>& lower, bool vectors, Eigen::Map<Matrix<T>> v, T* values) {
  const T scale = ScaleOf(lower);
  Padded<T> a(lower.rows(), lower.cols());
  View(a) = lower.template selfadjointView<Eigen::Lower>();
  View(a) *= scale;
  if (!SymmetricEigen(a, values, vectors)) return false;
  for (int64_t j = 0; j < a.columns(); ++j) values[j] /= scale;
  if (vectors)
    v = View(a);
  else
    v = lower;
  return true;
}

/// Eigenvalues in ascending order and, with mode V, vectors. What is not finite has NaN for both, and an info above 0.
template <class T>
Status Syevd(Call& call) {
  const auto [rows, n] = call.Matrices(1, 3);
  const char mode = call.Letter("mode", "NV"), uplo = call.Letter("uplo", "LU");
  const auto a = call.MatrixIn<T>(0, n, n);
  const auto v = call.MatrixOut<T>(0, n, n);
  const auto w = call.VectorOut<Real<T>>(1, n);
  int32_t* info = call.InfoOut(2);
  return call.ForEach([&, n = n](int64_t i) {
    info[i] = 0;
    if (n == 0) return;
    const Matrix<T> x = Lower(a, i, uplo);
    if (LowerIsFinite(x)) {
      if constexpr (std::is_floating_point_v<T>) {
        if (EigenInVectors(x, mode == 'V', Out(v, i), w.at(i))) return;
      }
      const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(
          x, mode == 'V' ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
      if (solver.info() == Eigen::Success) {
        Out(w, i) = solver.eigenvalues();
        if (mode == 'V')
          Out(v, i) = solver.eigenvectors();
        else
          Out(v, i) = x;
        return;
      }
    }
    info[i] = static_cast<int32_t>(n);
    FillNan(v, i);
    FillNan(w, i);
  });
}

/// Q T Q^H with the reflectors of Q in the triangle that counts, beyond T's diagonal and its neighbour.
template <class T>
Status Sytrd(Call& call) {
  const auto [rows, n] = call.Matrices(1, 5);
  const char uplo = call.Letter("uplo", "LU");
  const int64_t k = std::max<int64_t>(n - 1, 0);
  const auto a = call.MatrixIn<T>(0, n, n);
  const auto out = call.MatrixOut<T>(0, n, n);
  const auto d = call.VectorOut<Real<T>>(1, n);
  const auto e = call.VectorOut<Real<T>>(2, k);
  const auto taus = call.VectorOut<T>(3, k);
  int32_t* info = call.InfoOut(4);
  return call.ForEach([&, n = n](int64_t i) {
    info[i] = 0;
    if (n == 0) return;
    // In reverse order of rows and columns the upper triangle is the lower one, and the reflectors LAPACK's.
    const bool lower = uplo == 'L';
    Matrix<T> x = In(a, i);
    if (!lower) x = Matrix<T>(x.reverse());
    const Real<T> scale = ScaleOf(x);
    x *= scale;
    x.diagonal() = x.diagonal().real().template cast<T>();
    Vector<T> tau(k);
    if (k > 0) Eigen::internal::tridiagonalization_inplace(x, tau);
    Vector<Real<T>> diagonal = x.diagonal().real() / scale;
    Vector<Real<T>> beside = x.diagonal(-1).real() / scale;
    x.diagonal() = diagonal.template cast<T>();
    x.diagonal(-1) = beside.template cast<T>();
    x.template triangularView<Eigen::StrictlyUpper>() =
        lower ? Matrix<T>(In(a, i)) : Matrix<T>(Matrix<T>(In(a, i)).reverse());
    tau = tau.conjugate().eval();
    if (!lower) {
      x = Matrix<T>(x.reverse());
      diagonal.reverseInPlace();
      beside.reverseInPlace();
      tau.reverseInPlace();
    }
    Out(out, i) = x;
    Out(d, i) = diagonal;
    Out(e, i) = beside;
    Out(taus, i) = tau;
  });
}

constexpr Entry kEntries[] = {
    TENON_LAPACK_REAL("syevd", Syevd),
    TENON_LAPACK_COMPLEX("heevd", Syevd),
    TENON_LAPACK_REAL("sytrd", Sytrd),
    TENON_LAPACK_COMPLEX("hetrd", Sytrd),
};

}  // namespace

std::span<const Entry> SymmetricEntries() { return kEntries; }

}  // namespace tenon::lapack
