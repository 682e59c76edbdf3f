// Tridiagonal systems.

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/lapack/testing/routines.h"

namespace tenon::lapack {
namespace {

template <class T>
class Tridiagonal : public testing::Test {};
TYPED_TEST_SUITE(Tridiagonal, Types);

/// A tridiagonal matrix from the i-th of its diagonals, which are `n` long.
template <class T>
Exact TridiagonalOf(Array& below, Array& diagonal, Array& above, int64_t n, int64_t i) {
  Exact x(n, n);
  for (int64_t k = 0; k < n; ++k) {
    if (k > 0) x(k, k - 1) = Wide(below.as<T>()[i * n + k]);
    x(k, k) = Wide(diagonal.as<T>()[i * n + k]);
    if (k + 1 < n) x(k, k + 1) = Wide(above.as<T>()[i * n + k]);
  }
  return x;
}

TYPED_TEST(Tridiagonal, TridiagonalSystems) {
  using T = TypeParam;
  for (const bool perturbed : {false, true}) {
    for (const auto& [batch, n, columns] : {Sizes{1, 0, 2}, {1, 3, 0}, {3, 1, 2}, {2, 2, 1}, {4, 3, 2}, {2, 50, 3}}) {
      SCOPED_TRACE(testing::Message() << perturbed << " " << batch << "x" << n << "x" << columns);
      Array dl = Array::Of<T>({batch, n}), d = dl, du = dl, b = Array::Of<T>({batch, n, columns}), x = b;
      Fill<T>(dl, 37);
      Fill<T>(d, 41);
      Fill<T>(du, 43);
      Fill<T>(b, 47);
      // The ends stand outside of the matrix.
      for (int64_t i = 0; n > 0 && i < batch; ++i) dl.as<T>()[i * n] = du.as<T>()[i * n + n - 1] = T(1e30);
      Array out_dl = dl, out_d = d, out_du = du, info = Array::Of<int32_t>({batch});
      std::fill_n(info.as<int32_t>(), batch, -1);
      const Status s = perturbed ? CallRoutine("tridiagonal_solve_perturbed_ffi", {&dl, &d, &du, &b}, {&x})
                                 : CallRoutine(Target(Traits<T>::kLetter, "gtsv"), {&dl, &d, &du, &b},
                                               {&out_dl, &out_d, &out_du, &x, &info});
      ASSERT_TRUE(s.ok()) << s.ToString();
      for (int64_t i = 0; i < batch; ++i) {
        EXPECT_EQ(info.as<int32_t>()[i], perturbed ? -1 : 0);  // The one that mends pivots has none to give.
        const Exact matrix = TridiagonalOf<T>(dl, d, du, n, i);
        const Exact solution(x.as<T>() + i * n * columns, n, columns), wanted(b.as<T>() + i * n * columns, n, columns);
        EXPECT_LE(Distance(Times(matrix, solution), wanted), Bound<T>(n, n) * Norm(matrix) * Norm(solution));
      }
    }
  }
}

TYPED_TEST(Tridiagonal, SingularTridiagonalSystems) {
  using T = TypeParam;
  constexpr int64_t n = 6;
  // Row 4 is zero in the first, there is a NaN in the second, and the third is the unit matrix.
  Array dl = Array::Of<T>({3, n}), d = dl, du = dl, b = Array::Of<T>({3, n, 1}), x = b;
  Array out_dl = dl, out_d = d, out_du = du, info = Array::Of<int32_t>({3});
  std::fill_n(d.as<T>(), 3 * n, T(1));
  std::fill_n(b.as<T>(), 3 * n, T(1));
  d.as<T>()[3] = T(0);
  d.as<T>()[n + 3] = T(std::numeric_limits<typename Traits<T>::Real>::quiet_NaN());
  Status s = CallRoutine(Target(Traits<T>::kLetter, "gtsv"), {&dl, &d, &du, &b}, {&out_dl, &out_d, &out_du, &x, &info});
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(info.as<int32_t>()[0], 4);
  EXPECT_TRUE(std::isnan(std::real(x.as<T>()[n + 3])));
  EXPECT_EQ(info.as<int32_t>()[2], 0);
  EXPECT_EQ(x.as<T>()[3 * n - 1], T(1));
  s = CallRoutine("tridiagonal_solve_perturbed_ffi", {&dl, &d, &du, &b}, {&x});
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_TRUE(std::isfinite(std::real(x.as<T>()[3])));
  EXPECT_GT(std::abs(x.as<T>()[3]), 1 / std::sqrt(std::numeric_limits<typename Traits<T>::Real>::epsilon()));
  EXPECT_EQ(x.as<T>()[2], T(1));
}

}  // namespace
}  // namespace tenon::lapack
