#pragma once

// Between Eigen's matrices and those whose columns are whole vectors long.

#include "tenon/lapack/matrix.h"
#include "tenon/lapack/reflectors.h"

namespace tenon::lapack {

/// The matrix that lies there, for as long as it does.
template <class T>
auto View(Padded<T>& p) {
  return Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>(p.at(0, 0), p.rows(), p.columns(),
                                                        Eigen::OuterStride<>(p.stride()));
}

/// A copy of what Eigen has or makes.
template <class M>
Padded<typename M::Scalar> ToPadded(const M& a) {
  Padded<typename M::Scalar> p(a.rows(), a.cols());
  View(p) = a;
  return p;
}

}  // namespace tenon::lapack
