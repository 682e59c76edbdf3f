#pragma once

// Eigen as the families here use it: on arrays of its own, which lie aligned, so that a result is a function of values
// and extents alone.

#define EIGEN_MPL2_ONLY
#define EIGEN_DONT_PARALLELIZE

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/lapack/call.h"
#include "tenon/lapack/padded.h"

namespace tenon::lapack {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using Real = typename Eigen::NumTraits<T>::Real;

/// The i-th matrix of a stack, to be copied from or to.
template <class T>
Eigen::Map<const Matrix<T>> In(const Stack<const T>& stack, int64_t i) {
  return {stack.at(i), stack.rows, stack.cols};
}
template <class T>
Eigen::Map<Matrix<T>> Out(const Stack<T>& stack, int64_t i) {
  return {stack.at(i), stack.rows, stack.cols};
}

/// Size of an entry as LAPACK chooses pivots by it.
template <class T>
Real<T> Size(const T& x) {
  return std::abs(Eigen::numext::real(x)) + std::abs(Eigen::numext::imag(x));
}

/// A power of two that brings the largest entry of `a` near 1, so that squares of entries neither overflow nor vanish;
/// 1 for zero and for what is not finite.
template <class M>
Real<typename M::Scalar> ScaleOf(const Eigen::MatrixBase<M>& a) {
  using R = Real<typename M::Scalar>;
  R largest = 0;
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    for (Eigen::Index i = 0; i < a.rows(); ++i) {
      const typename M::Scalar x = a(i, j);
      largest = std::max({largest, std::abs(Eigen::numext::real(x)), std::abs(Eigen::numext::imag(x))});
    }
  }
  return PowerNear(largest);
}

}  // namespace tenon::lapack
