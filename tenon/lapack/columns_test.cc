// The loops over columns: against plain sums in long double, and with the same bits at every set of instructions.

#include "tenon/lapack/internal/columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tenon/isa/isa.h"

namespace tenon::lapack::internal {
namespace {

template <class T>
std::vector<Columns<T>> Levels() {
  std::vector<Columns<T>> levels = {ColumnsBaseline<T>()};
  const isa::IsaLevel here = isa::ActiveIsa();
  if (here >= isa::IsaLevel::kAvx2) levels.push_back(ColumnsAvx2<T>());
  if (here >= isa::IsaLevel::kAvx512) levels.push_back(ColumnsAvx512<T>());
  return levels;
}

/// Columns of random numbers with zeros between them.
template <class T>
struct Case {
  int64_t rows, columns, stride;
  std::vector<T> a, v, w;

  Case(int64_t m, int64_t n) : rows(m), columns(n), stride(m + kLanes<T> + 2) {
    std::mt19937 bits(static_cast<uint32_t>(m * 100 + n));
    const auto some = [&] { return static_cast<T>(static_cast<double>(bits()) / 4294967296.0 - 0.5); };
    a.assign(static_cast<size_t>(stride * n), 0);
    v.assign(static_cast<size_t>(std::max(m, n) + kLanes<T>), 0);
    w = v;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) a[static_cast<size_t>(j * stride + i)] = some();
    }
    for (int64_t i = 0; i < m; ++i) v[static_cast<size_t>(i)] = some(), w[static_cast<size_t>(i)] = some();
  }
  long double at(int64_t i, int64_t j) const { return a[static_cast<size_t>(j * stride + i)]; }
};

template <class T>
class ColumnsTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ColumnsTest, Types);

constexpr int64_t kRows[] = {1, 7, 16, 17, 63, 64, 65, 130};

/// Of sums of so many products of numbers below one.
template <class T>
long double Bound(int64_t terms) {
  return static_cast<long double>(terms + 4) * std::numeric_limits<T>::epsilon();
}

TYPED_TEST(ColumnsTest, ReflectsMultipliesAndUpdates) {
  using T = TypeParam;
  for (int64_t m : kRows) {
    for (int64_t n : {int64_t{1}, int64_t{3}, int64_t{4}, int64_t{9}, m}) {
      const Case<T> c(m, n);
      std::vector<T> first_reflected, first_product, first_updated;
      for (const Columns<T>& level : Levels<T>()) {
        const T tau = static_cast<T>(1.25);
        std::vector<T> reflected = c.a, product(c.v.size()), updated = c.a;
        level.reflect(c.v.data(), tau, m, reflected.data(), n, c.stride);
        level.multiply(c.a.data(), m, n, c.stride, c.w.data(), product.data());
        for (int64_t j = 0; j < n; ++j) {
          long double dot = 0;
          for (int64_t i = 0; i < m; ++i) dot += c.v[static_cast<size_t>(i)] * c.at(i, j);
          for (int64_t i = 0; i < m; ++i)
            EXPECT_NEAR(reflected[static_cast<size_t>(j * c.stride + i)],
                        static_cast<double>(c.at(i, j) - tau * dot * c.v[static_cast<size_t>(i)]), Bound<T>(m));
        }
        for (int64_t i = 0; i < m; ++i) {
          long double sum = 0;
          for (int64_t j = 0; j < n; ++j) sum += c.at(i, j) * c.w[static_cast<size_t>(j)];
          EXPECT_NEAR(product[static_cast<size_t>(i)], static_cast<double>(sum), Bound<T>(n));
        }
        if (m == n) {
          level.update(updated.data(), n, c.stride, c.v.data(), c.w.data());
          for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i < n; ++i) {
              const auto x = static_cast<size_t>(i), y = static_cast<size_t>(j);
              const long double want =
                  c.at(i, j) - static_cast<long double>(c.v[x]) * c.w[y] - static_cast<long double>(c.w[x]) * c.v[y];
              EXPECT_NEAR(updated[static_cast<size_t>(j * c.stride + i)], static_cast<double>(want), Bound<T>(2));
            }
          }
        }
        if (first_reflected.empty()) {
          first_reflected = reflected;
          first_product = product;
          first_updated = updated;
        }
        EXPECT_EQ(reflected, first_reflected);
        EXPECT_EQ(product, first_product);
        EXPECT_EQ(updated, first_updated);
        const T dot = level.dot(c.v.data(), c.w.data(), m);
        EXPECT_EQ(dot, Levels<T>()[0].dot(c.v.data(), c.w.data(), m));
      }
    }
  }
}

TYPED_TEST(ColumnsTest, RotatesOneAfterTheOther) {
  using T = TypeParam;
  for (int64_t m : kRows) {
    constexpr int64_t kCount = 11;
    const Case<T> at(m, kCount + 1);
    std::vector<T> cosines, sines, first;
    for (int64_t i = 0; i < kCount; ++i) {
      cosines.push_back(static_cast<T>(std::cos(0.3 * static_cast<double>(i))));
      sines.push_back(static_cast<T>(std::sin(0.3 * static_cast<double>(i))));
    }
    for (const Columns<T>& level : Levels<T>()) {
      std::vector<T> got = at.a;
      level.rotate(got.data(), m, at.stride, kCount, cosines.data(), sines.data());
      for (int64_t row = 0; row < m; ++row) {
        long double x = at.at(row, 0);
        for (int64_t i = 0; i <= kCount; ++i) {
          const auto k = static_cast<size_t>(i);
          const long double y = i < kCount ? at.at(row, i + 1) : 0;
          const long double want = i < kCount ? cosines[k] * x - sines[k] * y : x;
          EXPECT_NEAR(got[static_cast<size_t>(i * at.stride + row)], static_cast<double>(want), Bound<T>(3 * kCount));
          if (i < kCount) x = sines[k] * x + cosines[k] * y;
        }
      }
      if (first.empty()) first = got;
      EXPECT_EQ(got, first);
    }
  }
}

}  // namespace
}  // namespace tenon::lapack::internal
