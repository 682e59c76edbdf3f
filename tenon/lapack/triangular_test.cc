// Cholesky and LU factorisations and triangular systems.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/lapack/testing/routines.h"

namespace tenon::lapack {
namespace {

template <class T>
class Triangular : public testing::Test {};
TYPED_TEST_SUITE(Triangular, Types);

TYPED_TEST(Triangular, PotrfFactorsEitherTriangle) {
  using T = TypeParam;
  for (const char uplo : {'L', 'U'}) {
    for (const auto& [batch, n] : {std::pair<int64_t, int64_t>{1, 0}, {3, 1}, {20, 8}, {2, 9}, {1, 70}}) {
      SCOPED_TRACE(testing::Message() << batch << "x" << n << uplo);
      const auto counts = [&](int64_t row, int64_t col) { return uplo == 'L' ? row >= col : row <= col; };
      Array a = Array::Of<T>({batch, n, n}), factor = a, info = Array::Of<int32_t>({batch});
      Fill<T>(a, 17);
      std::vector<Exact> wanted;
      for (int64_t i = 0; i < batch; ++i) {
        Exact x(a.as<T>() + i * n * n, n, n);
        x = Times(x, Adjoint(x));
        for (int64_t j = 0; j < n; ++j) x(j, j) += 1;
        for (int64_t row = 0; row < n; ++row) {
          for (int64_t col = 0; col < n; ++col) {
            T& entry = a.as<T>()[i * n * n + col * n + row];
            if constexpr (std::is_floating_point_v<T>)
              entry = static_cast<T>(x(row, col).real());
            else
              entry = T(x(row, col));
            if (!counts(row, col)) entry = T(std::numeric_limits<typename Traits<T>::Real>::quiet_NaN());
          }
        }
        wanted.push_back(std::move(x));
      }
      const Status s = CallRoutine(Target(Traits<T>::kLetter, "potrf"), {&a}, {&factor, &info}, {Letter("uplo", uplo)});
      ASSERT_TRUE(s.ok()) << s.ToString();
      for (int64_t i = 0; i < batch; ++i) {
        EXPECT_EQ(info.as<int32_t>()[i], 0);
        Exact f(factor.as<T>() + i * n * n, n, n);
        for (int64_t row = 0; row < n; ++row) {
          for (int64_t col = 0; col < n; ++col) {
            if (!counts(row, col)) f(row, col) = 0;
          }
        }
        const Exact product = uplo == 'L' ? Times(f, Adjoint(f)) : Times(Adjoint(f), f);
        EXPECT_LE(Distance(product, wanted[static_cast<size_t>(i)]), Bound<T>(n, n) * Norm(product));
      }
    }
  }
}

TYPED_TEST(Triangular, PotrfNamesTheMinorThatIsNotPositive) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  constexpr int64_t n = 20, kAt[] = {0, 5, 13, 19};
  for (const Real bad : {Real(-1), Real(0), std::numeric_limits<Real>::quiet_NaN()}) {
    Array a = Array::Of<T>({5, n, n}), factor = a, info = Array::Of<int32_t>({5});
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = 0; j < n; ++j) a.as<T>()[i * n * n + j * n + j] = T(i < 4 && kAt[i] == j ? bad : Real(4));
    }
    const Status s = CallRoutine(Target(Traits<T>::kLetter, "potrf"), {&a}, {&factor, &info}, {Letter("uplo", 'L')});
    ASSERT_TRUE(s.ok()) << s.ToString();
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(info.as<int32_t>()[i], kAt[i] + 1);
    EXPECT_EQ(info.as<int32_t>()[4], 0);
    EXPECT_EQ(factor.as<T>()[4 * n * n], T(2));
  }
}

TYPED_TEST(Triangular, GetrfFactorsWithRowsExchanged) {
  using T = TypeParam;
  for (const auto& [batch, m, n] : kSizes) {
    SCOPED_TRACE(testing::Message() << batch << "x" << m << "x" << n);
    const int64_t k = std::min(m, n);
    Array a = Array::Of<T>({batch, m, n}), lu = a, pivots = Array::Of<int32_t>({batch, k}),
          info = Array::Of<int32_t>({batch});
    Fill<T>(a, 19);
    const Status s = CallRoutine(Target(Traits<T>::kLetter, "getrf"), {&a}, {&lu, &pivots, &info});
    ASSERT_TRUE(s.ok()) << s.ToString();
    for (int64_t i = 0; i < std::min<int64_t>(batch, 5); ++i) {
      EXPECT_EQ(info.as<int32_t>()[i], 0);
      Exact x(a.as<T>() + i * m * n, m, n), packed(lu.as<T>() + i * m * n, m, n), lower(m, k), upper(k, n);
      for (int64_t j = 0; j < k; ++j) {
        const int64_t row = pivots.as<int32_t>()[i * k + j] - 1;
        ASSERT_TRUE(j <= row && row < m) << row;
        for (int64_t col = 0; col < n; ++col) std::swap(x(j, col), x(row, col));
        lower(j, j) = 1;
        for (int64_t below = j + 1; below < m; ++below) {
          lower(below, j) = packed(below, j);
          // The pivot is the largest by the sum of its parts' sizes.
          EXPECT_LE(std::abs(lower(below, j)), 1.4143L);
        }
        for (int64_t col = j; col < n; ++col) upper(j, col) = packed(j, col);
      }
      EXPECT_LE(Distance(Times(lower, upper), x), Bound<T>(m, n) * Norm(lower) * Norm(upper));
    }
  }
}

TYPED_TEST(Triangular, GetrfNamesTheFirstPivotThatIsZero) {
  using T = TypeParam;
  constexpr int64_t n = 20, kAt[] = {0, 5, 13, 19};
  Array a = Array::Of<T>({5, n, n}), lu = a, pivots = Array::Of<int32_t>({5, n}), info = Array::Of<int32_t>({5});
  Fill<T>(a, 23);
  for (int64_t i = 0; i < 4; ++i) std::fill_n(a.as<T>() + i * n * n + kAt[i] * n, n, T(0));
  a.as<T>()[4 * n * n + 7] = T(std::numeric_limits<typename Traits<T>::Real>::quiet_NaN());
  const Status s = CallRoutine(Target(Traits<T>::kLetter, "getrf"), {&a}, {&lu, &pivots, &info});
  ASSERT_TRUE(s.ok()) << s.ToString();
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(info.as<int32_t>()[i], kAt[i] + 1);
  EXPECT_TRUE(std::isnan(std::real(lu.as<T>()[5 * n * n - 1])));
}

TYPED_TEST(Triangular, GetrfMovesNoRowForNaN) {
  using T = TypeParam;
  for (const int64_t n : {2, 40}) {
    Array a = Array::Of<T>({n, n}), lu = a, pivots = Array::Of<int32_t>({n}), info = Array::Of<int32_t>({});
    Fill<T>(a, 27);
    for (int64_t col = 0; col < n; ++col) std::fill_n(a.as<T>() + col * n + col + 1, n - col - 1, T(0));
    a.as<T>()[(n / 8) * (n + 1)] = T(std::numeric_limits<typename Traits<T>::Real>::quiet_NaN());
    const Status s = CallRoutine(Target(Traits<T>::kLetter, "getrf"), {&a}, {&lu, &pivots, &info});
    ASSERT_TRUE(s.ok()) << s.ToString();
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(pivots.as<int32_t>()[i], i + 1) << n;
  }
}

TYPED_TEST(Triangular, TrsmSolvesFromEitherSide) {
  using T = TypeParam;
  const T nan(std::numeric_limits<typename Traits<T>::Real>::quiet_NaN());
  for (const auto& [batch, m, n] : {Sizes{1, 0, 3}, {1, 3, 0}, {2, 1, 1}, {2, 5, 37}, {1, 40, 6}}) {
    for (int which = 0; which < 24; ++which) {
      const char side = "LR"[which % 2], uplo = "LU"[which / 2 % 2], diag = "NU"[which / 4 % 2],
                 trans = "NTC"[which / 8];
      SCOPED_TRACE(testing::Message() << batch << "x" << m << "x" << n << side << uplo << trans << diag);
      const int64_t order = side == 'L' ? m : n;
      Array a = Array::Of<T>({batch, order, order}), b = Array::Of<T>({batch, m, n}), x = b;
      Fill<T>(a, 29);
      Fill<T>(b, 31);
      std::vector<Exact> matrices;
      for (int64_t i = 0; i < batch; ++i) {
        Exact op(order, order);
        for (int64_t row = 0; row < order; ++row) {
          for (int64_t col = 0; col < order; ++col) {
            // What does not count is not read.
            T& entry = a.as<T>()[(i * order + col) * order + row];
            if (row == col) entry = diag == 'U' ? nan : entry + T(4);
            if (row != col && (row > col) != (uplo == 'L')) entry = nan;
            const Wide counts = row == col && diag == 'U'      ? Wide(1)
                                : std::isnan(std::real(entry)) ? Wide(0)
                                                               : Wide(entry);
            (trans == 'N' ? op(row, col) : op(col, row)) = trans == 'C' ? std::conj(counts) : counts;
          }
        }
        matrices.push_back(std::move(op));
      }
      const Status s =
          CallRoutine(Target(Traits<T>::kLetter, "trsm"), {&a, &b}, {&x},
                      {Letter("side", side), Letter("uplo", uplo), Letter("trans_x", trans), Letter("diag", diag)});
      ASSERT_TRUE(s.ok()) << s.ToString();
      for (int64_t i = 0; i < batch; ++i) {
        const Exact& op = matrices[static_cast<size_t>(i)];
        const Exact solution(x.as<T>() + i * m * n, m, n), wanted(b.as<T>() + i * m * n, m, n);
        EXPECT_LE(Distance(side == 'L' ? Times(op, solution) : Times(solution, op), wanted),
                  Bound<T>(m, n) * Norm(op) * Norm(solution));
      }
    }
  }
}

}  // namespace
}  // namespace tenon::lapack
