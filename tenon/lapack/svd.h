#pragma once

#include <Eigen/SVD>

#include "tenon/lapack/matrix.h"

namespace tenon::lapack {

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
  const unsigned vectors = mode == 'A'   ? Eigen::ComputeFullU | Eigen::ComputeFullV
                           : mode == 'S' ? Eigen::ComputeThinU | Eigen::ComputeThinV
                                         : 0;
  return call.ForEach([&](int64_t i) {
    const Matrix<T> x = In(a, i);
    Out(copy, i) = x;
    info[i] = 0;
    const auto fill = [&](const auto& svd) {
      Out(s, i) = svd.singularValues();
      if (vectors == 0) {
        Out(u, i).setZero();
        Out(vt, i).setZero();
      } else {
        Out(u, i) = svd.matrixU();
        Out(vt, i) = svd.matrixV().adjoint();
      }
    };
    if (k == 0) {
      Out(u, i).setIdentity();
      Out(vt, i).setIdentity();
      return;
    }
    if (x.allFinite()) {
      const Eigen::BDCSVD<Matrix<T>> svd(x, vectors);
      if (svd.info() == Eigen::Success) return fill(svd);
      const Eigen::JacobiSVD<Matrix<T>> slow(x, vectors);
      if (slow.info() == Eigen::Success) return fill(slow);
    }
    info[i] = x.allFinite() ? 1 : -4;
    FillNan(s, i);
    FillNan(u, i);
    FillNan(vt, i);
  });
}

}  // namespace tenon::lapack
