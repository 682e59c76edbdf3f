// Singular values and vectors: a = q b p^H by reflectors with b real and bidiagonal, which is then made diagonal.

#include <Eigen/SVD>

#include "tenon/lapack/bidiagonal.h"
#include "tenon/lapack/matrix.h"
#include "tenon/lapack/padded.h"

namespace tenon::lapack {
namespace {

template <class T>
struct SingularValues {
  Vector<Real<T>> values;
  Matrix<T> u, v;  ///< Of as many columns as were asked for.
};

/// `a` is finite and has no fewer rows than columns, of which there are some. Columns of u and v, 0 for neither: of v
/// all. False when the iteration does not end.
template <class T>
bool Decompose(Matrix<T> a, int64_t columns, SingularValues<T>& svd) {
  using R = Real<T>;
  const int64_t n = a.cols();
  const R scale = ScaleOf(a);
  a *= scale;
  Eigen::internal::UpperBidiagonalization<Matrix<T>> form(a);
  svd.values = form.bidiagonal().diagonal();
  Vector<R> beside(n);
  if (n > 1) beside.head(n - 1) = form.bidiagonal().diagonal(1);
  const int64_t order = columns > 0 ? n : 0;
  Padded<R> u(n, order), v(n, order);
  for (int64_t i = 0; i < order; ++i) *u.at(i, i) = *v.at(i, i) = 1;
  if (!BidiagonalSvd<R>(n, svd.values.data(), beside.data(), columns > 0 ? &u : nullptr, columns > 0 ? &v : nullptr))
    return false;
  svd.values *= 1 / scale;
  if (columns == 0) return true;
  svd.u.setIdentity(a.rows(), columns);
  svd.u.topLeftCorner(n, n) = View(u).template cast<T>();
  svd.v = View(v).template cast<T>();
  form.householderU().applyThisOnTheLeft(svd.u);
  form.householderV().applyThisOnTheLeft(svd.v);
  return true;
}

/// u s v^H with s in descending order. Mode A: u and v are square; S: as many vectors as there are singular values;
/// N: values alone, and zeros for the rest. What is not finite has NaN for all, and info -4.
template <class T>
Status Gesdd(Call& call) {
  const auto [m, n] = call.Matrices(1, 5);
  const char mode = call.Letter("mode", "ASN");
  const int64_t k = std::min(m, n);
  const auto a = call.MatrixIn<T>(0, m, n);
  const auto copy = call.MatrixOut<T>(0, m, n);
  const auto s = call.VectorOut<Real<T>>(1, k);
  // Without vectors their arrays are of either size.
  const auto are_square = [&, m = m, n = n] {
    Call probe = call;
    probe.MatrixOut<T>(2, m, m);
    probe.MatrixOut<T>(3, n, n);
    return probe.ForEach([](int64_t) {}).ok();
  };
  const bool square = mode == 'A' || (mode == 'N' && are_square());
  const auto u = call.MatrixOut<T>(2, m, square ? m : k);
  const auto vt = call.MatrixOut<T>(3, square ? n : k, n);
  int32_t* info = call.InfoOut(4);
  return call.ForEach([&, m = m, n = n](int64_t i) {
    const Matrix<T> x = In(a, i);
    Out(copy, i) = x;
    info[i] = 0;
    if (k == 0) {
      Out(u, i).setIdentity();
      Out(vt, i).setIdentity();
      return;
    }
    const bool is_wide = m < n;
    SingularValues<T> svd;
    const int64_t columns = mode == 'N' ? 0 : square ? std::max(m, n) : k;
    if (x.allFinite() && Decompose<T>(is_wide ? Matrix<T>(x.adjoint()) : x, columns, svd)) {
      Out(s, i) = svd.values;
      if (mode == 'N') {
        Out(u, i).setZero();
        Out(vt, i).setZero();
      } else {
        Out(u, i) = is_wide ? svd.v : svd.u;
        Out(vt, i) = is_wide ? svd.u.adjoint() : svd.v.adjoint();
      }
      return;
    }
    info[i] = x.allFinite() ? 1 : -4;
    FillNan(s, i);
    FillNan(u, i);
    FillNan(vt, i);
  });
}

}  // namespace

std::span<const Entry> SvdEntries() {
  static constexpr Entry kEntries[] = {TENON_LAPACK_REAL("gesdd", Gesdd), TENON_LAPACK_COMPLEX("gesdd", Gesdd),
                                       TENON_LAPACK_REAL("gesvd", Gesdd), TENON_LAPACK_COMPLEX("gesvd", Gesdd)};
  return kEntries;
}

}  // namespace tenon::lapack
