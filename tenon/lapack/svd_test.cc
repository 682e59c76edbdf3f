// Singular values and vectors.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenon/lapack/testing/routines.h"

namespace tenon::lapack {
namespace {

template <class T>
class Svd : public testing::Test {};
TYPED_TEST_SUITE(Svd, Types);

/// Wants a = u s v^H for matrix i, with unit vectors at right angles and s descending.
template <class T>
void ExpectSvd(const Exact& a, Array& s, Array& u, Array& vt, int64_t i) {
  const int64_t m = a.rows, n = a.cols, k = std::min(m, n), left = u.slot.dims[2], right = vt.slot.dims[1];
  const auto* values = s.as<typename Traits<T>::Real>() + i * k;
  for (int64_t j = 0; j < k; ++j) {
    EXPECT_GE(values[j], 0);
    if (j > 0) EXPECT_LE(values[j], values[j - 1]);
  }
  const Exact x(u.as<T>() + i * m * left, m, left), y(vt.as<T>() + i * right * n, right, n);
  Exact sized(m, right);
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t j = 0; j < k; ++j) sized(row, j) = x(row, j) * static_cast<long double>(values[j]);
  }
  EXPECT_LE(Distance(Times(sized, y), a), Bound<T>(m, n) * Norm(a));
  EXPECT_LE(Distance(Times(Adjoint(x), x), Unit(left)), Bound<T>(m, n) * std::sqrt(static_cast<long double>(left)));
  EXPECT_LE(Distance(Times(y, Adjoint(y)), Unit(right)), Bound<T>(m, n) * std::sqrt(static_cast<long double>(right)));
}

TYPED_TEST(Svd, GesddAndGesvdFindSingularValuesAndVectors) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  const Real large = std::sqrt(std::numeric_limits<Real>::max()) * 8;
  for (const auto& [routine, by] : {std::pair("gesdd", Real(1)), {"gesvd", large}, {"gesdd", 1 / large}}) {
    for (const auto& [batch, m, n] : kSizes) {
      const int64_t k = std::min(m, n);
      Array a = Array::Of<T>({batch, m, n});
      Fill<T>(a, 13, by);
      Array s = Array::Of<Real>({batch, k});
      // Without vectors their arrays may be square or not.
      for (const auto& [mode, square] : {std::pair('A', true), {'S', false}, {'N', true}, {'N', false}}) {
        SCOPED_TRACE(testing::Message() << routine << mode << square << " " << batch << "x" << m << "x" << n << " by "
                                        << by);
        Array copy = a, u = Array::Of<T>({batch, m, square ? m : k}), vt = Array::Of<T>({batch, square ? n : k, n}),
              again = s, info = Array::Of<int32_t>({batch});
        const Status status = CallRoutine(Target(Traits<T>::kLetter, routine), {&a},
                                          {&copy, mode == 'A' ? &s : &again, &u, &vt, &info}, {Letter("mode", mode)});
        ASSERT_TRUE(status.ok()) << status.ToString();
        for (int64_t i = 0; i < std::min<int64_t>(batch, 5); ++i) {
          EXPECT_EQ(info.as<int32_t>()[i], 0);
          const Exact x(a.as<T>() + i * m * n, m, n);
          if (mode != 'N') ExpectSvd<T>(x, mode == 'A' ? s : again, u, vt, i);
          if (mode == 'A') continue;
          EXPECT_LE(Distance(Exact(again.as<Real>() + i * k, k, 1), Exact(s.as<Real>() + i * k, k, 1)),
                    Bound<T>(m, n) * Norm(x));
        }
      }
    }
  }
}

TYPED_TEST(Svd, SingularValuesOfMatricesWithoutFullRank) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  constexpr int64_t m = 40, n = 30, rank = 3;
  // Zero; equal entries; a sum of few products.
  Array a = Array::Of<T>({3, m, n}), copy = a, s = Array::Of<Real>({3, n}), u = Array::Of<T>({3, m, m}),
        vt = Array::Of<T>({3, n, n}), info = Array::Of<int32_t>({3}), x = Array::Of<T>({m, rank}),
        y = Array::Of<T>({rank, n});
  Fill<T>(x, 1);
  Fill<T>(y, 2);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      a.as<T>()[(n + j) * m + i] = T(1);
      T& entry = a.as<T>()[(2 * n + j) * m + i];
      for (int64_t k = 0; k < rank; ++k) entry += x.as<T>()[k * m + i] * y.as<T>()[j * rank + k];
    }
  }
  const Status status =
      CallRoutine(Target(Traits<T>::kLetter, "gesdd"), {&a}, {&copy, &s, &u, &vt, &info}, {Letter("mode", 'A')});
  ASSERT_TRUE(status.ok()) << status.ToString();
  constexpr int64_t kRanks[] = {0, 1, rank};
  for (int64_t i = 0; i < 3; ++i) {
    const Exact exact(a.as<T>() + i * m * n, m, n);
    ExpectSvd<T>(exact, s, u, vt, i);
    for (int64_t j = kRanks[i]; j < n; ++j) EXPECT_LE(s.as<Real>()[i * n + j], Bound<T>(m, n) * Norm(exact));
  }
}

TYPED_TEST(Svd, MatricesOfAlikeRowsHaveVectorsAtRightAngles) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  for (const int64_t n : {16, 33, 50, 64, 100}) {
    for (int kind = 0; kind < kKinds; ++kind) {
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", n " << n);
      Array a = Array::Of<T>({1, n, n});
      FillWithKind<T>(a, kind, n);
      Array copy = a, s = Array::Of<Real>({1, n}), again = s, u = a, vt = a, info = Array::Of<int32_t>({1});
      const auto routine = [&](Array& values, char mode) {
        return CallRoutine(Target(Traits<T>::kLetter, "gesdd"), {&a}, {&copy, &values, &u, &vt, &info},
                           {Letter("mode", mode)});
      };
      ASSERT_TRUE(routine(again, 'N').ok());
      ASSERT_TRUE(routine(s, 'A').ok());
      EXPECT_EQ(info.as<int32_t>()[0], 0);
      const Exact exact(a.as<T>(), n, n);
      ExpectSvd<T>(exact, s, u, vt, 0);
      EXPECT_LE(Distance(Exact(again.as<Real>(), n, 1), Exact(s.as<Real>(), n, 1)), Bound<T>(n, n) * Norm(exact));
    }
  }
}

TYPED_TEST(Svd, WhatIsNotFiniteEnds) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  constexpr int64_t n = 40;
  for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    // The second of two matrices is as it should be.
    Array a = Array::Of<T>({2, n, n}), copy = a, u = a, vt = a, s = Array::Of<Real>({2, n}),
          info = Array::Of<int32_t>({2});
    Fill<T>(a, 3);
    a.as<T>()[5] = T(bad);
    for (const char* routine : {"gesdd", "gesvd"}) {
      const Status status =
          CallRoutine(Target(Traits<T>::kLetter, routine), {&a}, {&copy, &s, &u, &vt, &info}, {Letter("mode", 'S')});
      ASSERT_TRUE(status.ok()) << status.ToString();
      EXPECT_NE(info.as<int32_t>()[0], 0);
      EXPECT_EQ(info.as<int32_t>()[1], 0);
      EXPECT_TRUE(std::isnan(s.as<Real>()[0]));
      EXPECT_TRUE(std::isnan(std::real(u.as<T>()[0])));
      EXPECT_TRUE(std::isfinite(s.as<Real>()[n]));
    }
  }
}

}  // namespace
}  // namespace tenon::lapack
