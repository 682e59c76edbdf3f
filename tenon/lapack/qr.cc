// QR factorisations, and the products of Householder reflectors that they leave behind.
//
// LAPACK's reflectors are I - tau v v^H, and those of Eigen's factorisations I - conj(tau) v v^H.

#include <Eigen/QR>

#include "tenon/lapack/matrix.h"
#include "tenon/lapack/reflectors.h"

namespace tenon::lapack {
namespace {

/// Brings the largest entry of each column near 1: what is small beside another column must not vanish when its entries
/// are squared. Reflectors are the same ones for it.
template <class T>
Vector<Real<T>> ScaleColumns(Matrix<T>& a) {
  Vector<Real<T>> scales(a.cols());
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    scales[j] = ScaleOf(a.col(j));
    a.col(j) *= scales[j];
  }
  return scales;
}

/// Divides what lies on and above the diagonal by a number for each column.
template <class M>
void UnscaleUpper(M& a, const Vector<Real<typename M::Scalar>>& by) {
  for (Eigen::Index j = 0; j < a.cols(); ++j) a.col(j).head(std::min(j + 1, a.rows())) *= 1 / by[j];
}

/// Whether columns' sizes are so far apart that squares of small ones vanish when the largest is near 1.
template <class T>
bool IsGraded(const Matrix<T>& a) {
  const Real<T> least = std::sqrt(std::numeric_limits<Real<T>>::min()) / std::numeric_limits<Real<T>>::epsilon();
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    const Real<T> largest = a.col(j).cwiseAbs().maxCoeff();
    if (largest > 0 && largest < least) return true;
  }
  return false;
}

template <class T>
Status Geqrf(Call& call) {
  const auto [m, n] = call.Matrices(1, 2);
  const auto a = call.MatrixIn<T>(0, m, n);
  const auto r = call.MatrixOut<T>(0, m, n);
  const auto taus = call.VectorOut<T>(1, std::min(m, n));
  Padded<T> memory(m, n);
  std::vector<Real<T>> scales(static_cast<size_t>(n));
  return call.ForEach([&, m = m, n = n](int64_t i) {
    if (m == 0 || n == 0) return;
    const Block<T>& x = memory.block();
    Load(Entries<const T>::Of(a, i), x);
    // What is small beside another column must not vanish when its entries are squared. Reflectors stay the same ones.
    for (int64_t j = 0; j < n; ++j) {
      Real<T>& scale = scales[static_cast<size_t>(j)];
      scale = PowerNear(LargestOf(x, j, m));
      if (scale != 1) ScaleColumn(x, j, m, scale);
    }
    FactorQr(x, taus.at(i));
    for (int64_t j = 0; j < n; ++j) {
      if (const Real<T> scale = scales[static_cast<size_t>(j)]; scale != 1)
        ScaleColumn(x, j, std::min(j + 1, m), 1 / scale);
    }
    Store(x, Entries<T>::Of(r, i));
  });
}

/// Columns with a nonzero entry in `jpvt` come first and in their order, the others by what is left of their norms.
template <class T>
Status Geqp3(Call& call) {
  const auto [m, n] = call.Matrices(2, 3);
  const int64_t k = std::min(m, n);
  const auto a = call.MatrixIn<T>(0, m, n);
  const auto fixed = call.VectorIn<int32_t>(1, n);
  const auto r = call.MatrixOut<T>(0, m, n);
  const auto pivots = call.VectorOut<int32_t>(1, n);
  const auto taus = call.VectorOut<T>(2, k);
  return call.ForEach([&](int64_t i) {
    // The call may have its operand as its result.
    Vector<int32_t> order(n);
    int64_t first = 0, at = 0;
    for (const bool leads : {true, false}) {
      for (int64_t j = 0; j < n; ++j) {
        if ((fixed.at(i)[j] != 0) == leads) order[at++] = static_cast<int32_t>(j);
      }
      if (leads) first = at;
    }
    Matrix<T> x(m, n);
    for (int64_t j = 0; j < n; ++j) x.col(j) = In(a, i).col(order[j]);
    if (m == 0 || n == 0) {
      Out(pivots, i) = order.array() + 1;
      return;
    }
    const Real<T> scale = ScaleOf(x);
    x *= scale;
    const bool graded = IsGraded(x);
    Vector<T> tau = Vector<T>::Zero(k);
    first = std::min(first, k);
    if (first > 0) {
      Matrix<T> leading = x.leftCols(first);
      const Vector<Real<T>> scales = ScaleColumns(leading);
      const Eigen::HouseholderQR<Matrix<T>> lead(leading);
      Matrix<T> rest = x.rightCols(n - first);
      if (rest.cols() > 0) rest.applyOnTheLeft(lead.householderQ().adjoint());
      leading = lead.matrixQR();
      UnscaleUpper(leading, scales);
      x.leftCols(first) = leading;
      x.rightCols(n - first) = rest;
      tau.head(first) = lead.hCoeffs().conjugate();
    }
    if (first < k) {
      const Matrix<T> corner = x.bottomRightCorner(m - first, n - first);
      Eigen::ColPivHouseholderQR<Matrix<T>> qr(corner);
      const Matrix<T> above = x.topRightCorner(first, n - first);
      const Vector<int32_t> before = order;
      x.bottomRightCorner(m - first, n - first) = qr.matrixQR();
      tau.tail(k - first) = qr.hCoeffs().conjugate();
      if (graded) {
        Matrix<T> ordered = corner * qr.colsPermutation();
        const Vector<Real<T>> scales = ScaleColumns(ordered);
        Eigen::HouseholderQR<Eigen::Ref<Matrix<T>>> by_columns(ordered);
        UnscaleUpper(ordered, scales);
        x.bottomRightCorner(m - first, n - first) = ordered;
        tau.tail(k - first) = by_columns.hCoeffs().conjugate();
      }
      for (int64_t j = 0; j < n - first; ++j) {
        const int64_t from = qr.colsPermutation().indices()[j];
        x.col(first + j).head(first) = above.col(from);
        order[first + j] = before[first + from];
      }
    }
    UnscaleUpper(x, Vector<Real<T>>(Vector<Real<T>>::Constant(n, scale)));
    Out(r, i) = x;
    Out(pivots, i) = order.array() + 1;
    Out(taus, i) = tau;
  });
}

/// Columns of the product of the reflectors, as many as `a` has; there may be fewer reflectors. More columns than rows
/// are zero.
template <class T>
Status Orgqr(Call& call) {
  const Extents extents = call.Matrices(2, 1);
  const int64_t m = extents.rows, n = extents.cols, k = call.InnerExtent(1);
  const auto a = call.MatrixIn<T>(0, m, n);
  const auto taus = call.VectorIn<T>(1, k);
  const auto q = call.MatrixOut<T>(0, m, n);
  if (k > std::min(m, n)) call.Refuse(InvalidArgument("more reflectors than rows or columns"));
  Padded<T> v(m, n), x(m, n);
  return call.ForEach([&](int64_t i) {
    if (m == 0 || n == 0) return;
    Load(Entries<const T>::Of(a, i), v.block());
    x.SetIdentity();
    MultiplyReflectors(v.block(), 0, taus.at(i), k, Product::kOfIdentity, x.block());
    Store(x.block(), Entries<T>::Of(q, i));
  });
}

/// Q c, Q^H c, c Q or c Q^H.
template <class T>
Status Ormqr(Call& call) {
  const auto [m, n] = call.Matrices(3, 1, 2);
  const bool left = call.Scalar<bool>("left"), adjoint = call.Scalar<bool>("transpose");
  const int64_t order = left ? m : n;
  const int64_t k = call.InnerExtent(1);
  const auto a = call.MatrixIn<T>(0, order, k);
  const auto taus = call.VectorIn<T>(1, k);
  const auto c = call.MatrixIn<T>(2, m, n);
  const auto out = call.MatrixOut<T>(0, m, n);
  if (k > order) call.Refuse(InvalidArgument("more reflectors than they have entries"));
  // c Q is the adjoint of Q^H c^H.
  Padded<T> v(order, k), x(order, left ? n : m);
  return call.ForEach([&, m = m, n = n](int64_t i) {
    if (m == 0 || n == 0) return;
    const auto from = Entries<const T>::Of(c, i);
    const auto to = Entries<T>::Of(out, i);
    Load(Entries<const T>::Of(a, i), v.block());
    Load(left ? from : from.Adjoint(), x.block());
    MultiplyReflectors(v.block(), 0, taus.at(i), k, adjoint == left ? Product::kAdjoint : Product::kPlain, x.block());
    Store(x.block(), left ? to : to.Adjoint());
  });
}

constexpr Entry kEntries[] = {
    TENON_LAPACK_REAL("geqrf", Geqrf),    TENON_LAPACK_COMPLEX("geqrf", Geqrf), TENON_LAPACK_REAL("geqp3", Geqp3),
    TENON_LAPACK_COMPLEX("geqp3", Geqp3), TENON_LAPACK_REAL("orgqr", Orgqr),    TENON_LAPACK_COMPLEX("ungqr", Orgqr),
    TENON_LAPACK_REAL("ormqr", Ormqr),    TENON_LAPACK_COMPLEX("unmqr", Ormqr),
};

}  // namespace

std::span<const Entry> QrEntries() { return kEntries; }

}  // namespace tenon::lapack
