// The loops over columns: against plain sums in long double, and with the same bits at every set of instructions.

#include "tenon/lapack/internal/columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tenon/isa/isa.h"
#include "tenon/lapack/padded.h"

namespace tenon::lapack::internal {
namespace {

using Wide = std::complex<long double>;

template <class S>
std::vector<Columns<S>> Levels() {
  std::vector<Columns<S>> levels = {ColumnsBaseline<S>()};
  const isa::IsaLevel here = isa::ActiveIsa();
  if (here >= isa::IsaLevel::kAvx2) levels.push_back(ColumnsAvx2<S>());
  if (here >= isa::IsaLevel::kAvx512) levels.push_back(ColumnsAvx512<S>());
  return levels;
}

/// Random numbers of parts below a half.
template <class S>
Padded<S> Some(int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 bits(static_cast<uint32_t>(rows * 100 + columns) + seed * 7919);
  const auto some = [&] { return static_cast<RealOf<S>>(static_cast<double>(bits()) / 4294967296.0 - 0.5); };
  Padded<S> a(rows, columns);
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      const RealOf<S> re = some();
      if constexpr (kIsComplex<S>)
        a.block().Set(i, j, S(re, some()));
      else
        a.block().Set(i, j, re);
    }
  }
  return a;
}

template <class S>
Padded<S> Copy(const Padded<S>& a) {
  Padded<S> copy(a.block().rows, a.block().columns);
  for (int64_t j = 0; j < a.block().columns; ++j) {
    for (int64_t i = 0; i < a.block().rows; ++i) copy.block().Set(i, j, a.block().Get(i, j));
  }
  return copy;
}

template <class S>
std::vector<S> Values(const Block<S>& a) {
  std::vector<S> values;
  for (int64_t j = 0; j < a.columns; ++j) {
    for (int64_t i = 0; i < a.rows; ++i) values.push_back(a.Get(i, j));
  }
  return values;
}

template <class S>
Wide At(const Block<S>& a, int64_t i, int64_t j) {
  return Wide(a.Get(i, j));
}

/// Of sums of so many products of numbers below one, each of four real ones at most.
template <class S>
long double Bound(int64_t terms) {
  return 4 * static_cast<long double>(terms + 4) * std::numeric_limits<RealOf<S>>::epsilon();
}

/// Wants the same bits of all levels.
template <class S>
class SameBits {
 public:
  void Want(const Block<S>& got, const char* what) {
    const std::vector<S> values = Values(got);
    auto& first = first_[what];
    if (first.empty()) first = values;
    EXPECT_EQ(values, first) << what;
  }

 private:
  std::map<std::string, std::vector<S>> first_;
};

template <class S>
class ColumnsTest : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(ColumnsTest, Types);

constexpr int64_t kRows[] = {1, 7, 16, 17, 63, 64, 65, 130};

TYPED_TEST(ColumnsTest, ReflectsAndMultiplies) {
  using S = TypeParam;
  for (const int64_t m : kRows) {
    for (const int64_t n : {int64_t{1}, int64_t{3}, int64_t{4}, int64_t{9}, m}) {
      SCOPED_TRACE(testing::Message() << m << "x" << n);
      const Padded<S> a = Some<S>(m, n, 1), v = Some<S>(m, 1, 2), x = Some<S>(n, 1, 3);
      const S f = Some<S>(1, 1, 4).block().Get(0, 0);
      SameBits<S> same;
      for (const Columns<S>& level : Levels<S>()) {
        const Padded<S> reflected = Copy(a), product = Some<S>(m, 1, 9);
        level.reflect(v.block(), f, reflected.block());
        level.multiply(a.block(), x.block(), product.block());
        for (int64_t j = 0; j < n; ++j) {
          Wide dot = 0;
          for (int64_t i = 0; i < m; ++i) dot += std::conj(At(v.block(), i, 0)) * At(a.block(), i, j);
          for (int64_t i = 0; i < m; ++i) {
            const Wide want = At(a.block(), i, j) - Wide(f) * dot * At(v.block(), i, 0);
            EXPECT_LE(std::abs(At(reflected.block(), i, j) - want), Bound<S>(m));
          }
        }
        for (int64_t i = 0; i < m; ++i) {
          Wide sum = 0;
          for (int64_t j = 0; j < n; ++j) sum += At(a.block(), i, j) * At(x.block(), j, 0);
          EXPECT_LE(std::abs(At(product.block(), i, 0) - sum), Bound<S>(n));
        }
        same.Want(reflected.block(), "reflected");
        same.Want(product.block(), "product");
        EXPECT_EQ(level.dot(v.block(), v.block()), Levels<S>()[0].dot(v.block(), v.block()));
      }
    }
  }
}

TYPED_TEST(ColumnsTest, UpdatesAndMultipliesOrSums) {
  using S = TypeParam;
  for (const int64_t m : kRows) {
    for (const int64_t n : {int64_t{1}, int64_t{5}, int64_t{18}}) {
      SCOPED_TRACE(testing::Message() << m << "x" << n);
      const Padded<S> a = Some<S>(m, n, 1), v = Some<S>(m, 1, 2), w = Some<S>(m, 1, 3), z = Some<S>(n, 1, 4),
                      u = Some<S>(n, 1, 5), across = Some<S>(n, 1, 6), down = Some<S>(m, 1, 7);
      SameBits<S> same;
      for (const Columns<S>& level : Levels<S>()) {
        const Padded<S> updated = Copy(a), again = Copy(a), product = Some<S>(m, 1, 8), dots = Some<S>(n, 1, 8);
        level.update_multiply(updated.block(), v.block(), z.block(), w.block(), u.block(), across.block(),
                              product.block());
        level.update_dot(again.block(), v.block(), z.block(), w.block(), u.block(), down.block(), dots.block());
        EXPECT_EQ(Values(updated.block()), Values(again.block()));
        std::vector<Wide> sums(static_cast<size_t>(m));
        for (int64_t j = 0; j < n; ++j) {
          Wide dot = 0;
          for (int64_t i = 0; i < m; ++i) {
            const Wide want = At(a.block(), i, j) - At(v.block(), i, 0) * At(z.block(), j, 0) -
                              At(w.block(), i, 0) * At(u.block(), j, 0);
            EXPECT_LE(std::abs(At(updated.block(), i, j) - want), Bound<S>(2));
            dot += std::conj(At(down.block(), i, 0)) * want;
            sums[static_cast<size_t>(i)] += want * At(across.block(), j, 0);
          }
          EXPECT_LE(std::abs(At(dots.block(), j, 0) - dot), 2 * Bound<S>(m));
        }
        for (int64_t i = 0; i < m; ++i)
          EXPECT_LE(std::abs(At(product.block(), i, 0) - sums[static_cast<size_t>(i)]), 2 * Bound<S>(n));
        same.Want(updated.block(), "updated");
        same.Want(product.block(), "product");
        same.Want(dots.block(), "dots");
      }
    }
  }
}

TYPED_TEST(ColumnsTest, SubtractsProducts) {
  using S = TypeParam;
  for (const int64_t m : kRows) {
    for (const int64_t n : {1, 3, 4, 11}) {
      for (const int64_t k : {0, 1, 19}) {
        SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k);
        const Padded<S> c = Some<S>(m, n, 1), a = Some<S>(m, k, 2), b = Some<S>(k, n, 3), bh = Some<S>(n, k, 4);
        SameBits<S> same;
        for (const Columns<S>& level : Levels<S>()) {
          const Padded<S> plain = Copy(c), adjoint = Copy(c);
          level.subtract(plain.block(), a.block(), Factors<S>::Of(b.block()));
          level.subtract(adjoint.block(), a.block(), Factors<S>::AdjointOf(bh.block()));
          for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i < m; ++i) {
              Wide want = At(c.block(), i, j), other = want;
              for (int64_t p = 0; p < k; ++p) {
                want -= At(a.block(), i, p) * At(b.block(), p, j);
                other -= At(a.block(), i, p) * std::conj(At(bh.block(), j, p));
              }
              EXPECT_LE(std::abs(At(plain.block(), i, j) - want), Bound<S>(k));
              EXPECT_LE(std::abs(At(adjoint.block(), i, j) - other), Bound<S>(k));
            }
          }
          same.Want(plain.block(), "plain");
          same.Want(adjoint.block(), "adjoint");
        }
      }
    }
  }
}

TYPED_TEST(ColumnsTest, SolvesTriangles) {
  using S = TypeParam;
  for (const bool unit : {false, true}) {
    for (const int64_t order : {1, 3, 5, 8}) {
      for (const int64_t sides : {1, 4, 7, 33}) {
        SCOPED_TRACE(testing::Message() << order << " for " << sides << (unit ? ", unit" : ""));
        // Diagonals that divide well, and what is beside the triangle is nobody's.
        const Padded<S> t = Some<S>(order, order, 1);
        for (int64_t i = 0; i < order; ++i) {
          t.block().Set(i, i, t.block().Get(i, i) + S(2));
          for (int64_t j = i + 1; j < order; ++j) t.block().Set(i, j, S(std::numeric_limits<RealOf<S>>::quiet_NaN()));
        }
        const Padded<S> b = Some<S>(order, sides, 2), rows = Some<S>(sides, order, 3);
        SameBits<S> same;
        for (const Columns<S>& level : Levels<S>()) {
          const Padded<S> left = Copy(b), right = Copy(rows);
          level.solve_left(t.block(), left.block(), unit);
          // The transpose of a lower triangle is an upper one.
          const Factors<S> upper{t.block().data, t.block().stride, 1, t.block().half(), false};
          level.solve_right(right.block(), upper, unit);
          const auto entry = [&](int64_t i, int64_t p) { return i == p && unit ? Wide(1) : At(t.block(), i, p); };
          for (int64_t s = 0; s < sides; ++s) {
            for (int64_t i = 0; i < order; ++i) {
              Wide of_left = At(b.block(), i, s), of_right = At(rows.block(), s, i);
              long double size = 0;
              for (int64_t p = 0; p <= i; ++p) {
                of_left -= entry(i, p) * At(left.block(), p, s);
                of_right -= entry(i, p) * At(right.block(), s, p);
                size += std::abs(entry(i, p)) * (std::abs(At(left.block(), p, s)) + std::abs(At(right.block(), s, p)));
              }
              EXPECT_LE(std::abs(of_left), Bound<S>(order) * size);
              EXPECT_LE(std::abs(of_right), Bound<S>(order) * size);
            }
          }
          same.Want(left.block(), "left");
          same.Want(right.block(), "right");
        }
      }
    }
  }
}

TYPED_TEST(ColumnsTest, FactorsWithTheSameBits) {
  using S = TypeParam;
  // That factors are right is for the routines' tests.
  for (const int64_t m : kRows) {
    const int64_t n = std::min<int64_t>(m, 8);
    const Padded<S> a = Some<S>(m, n, 1);
    for (int64_t i = 0; i < n; ++i) a.block().Set(i, i, S(3));
    SameBits<S> same;
    for (const Columns<S>& level : Levels<S>()) {
      const Padded<S> lu = Copy(a), lower = Copy(a), column = Copy(a), v(m, 1), tau(1, 1);
      int32_t pivots[8];
      EXPECT_EQ(level.lu(lu.block(), pivots), 0);
      EXPECT_EQ(level.cholesky(lower.block()), 0);
      tau.block().Set(0, 0, level.reflector(column.block().Part(0, 0, m, 1), v.block()));
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < j; ++i) lower.block().Set(i, j, S(0));
      }
      same.Want(lu.block(), "lu");
      same.Want(lower.block(), "cholesky");
      same.Want(column.block(), "reflected");
      same.Want(v.block(), "reflector");
      same.Want(tau.block(), "tau");
    }
  }
}

TYPED_TEST(ColumnsTest, RotatesOneAfterTheOther) {
  using S = TypeParam;
  using R = RealOf<S>;
  for (const int64_t m : kRows) {
    constexpr int64_t kCount = 11;
    const Padded<R> a = Some<R>(m, kCount + 1, 1);
    std::vector<R> cosines, sines;
    for (int64_t i = 0; i < kCount; ++i) {
      cosines.push_back(static_cast<R>(std::cos(0.3 * static_cast<double>(i))));
      sines.push_back(static_cast<R>(std::sin(0.3 * static_cast<double>(i))));
    }
    SameBits<R> same;
    for (const Columns<S>& level : Levels<S>()) {
      const Padded<R> got = Copy(a);
      level.rotate(got.block().data, m, got.block().stride, kCount, cosines.data(), sines.data());
      for (int64_t row = 0; row < m; ++row) {
        long double x = a.block().Get(row, 0);
        for (int64_t i = 0; i <= kCount; ++i) {
          const auto k = static_cast<size_t>(i);
          const long double y = i < kCount ? a.block().Get(row, i + 1) : 0;
          const long double want = i < kCount ? cosines[k] * x - sines[k] * y : x;
          EXPECT_NEAR(got.block().Get(row, i), static_cast<double>(want), Bound<R>(3 * kCount));
          if (i < kCount) x = sines[k] * x + cosines[k] * y;
        }
      }
      same.Want(got.block(), "rotated");
    }
  }
}

TYPED_TEST(ColumnsTest, TurnsTwoOrThree) {
  using S = TypeParam;
  using R = RealOf<S>;
  for (const int64_t m : kRows) {
    for (const int64_t count : {2, 3}) {
      const Padded<R> a = Some<R>(m, count, 1);
      const R f = R(1.5), y = R(0.25), z = count == 3 ? R(-0.75) : R(0);
      SameBits<R> same;
      for (const Columns<S>& level : Levels<S>()) {
        const Padded<R> got = Copy(a);
        level.turn(got.block(), f, y, z);
        for (int64_t i = 0; i < m; ++i) {
          const long double by[] = {1, y, z};
          long double sum = 0;
          for (int64_t j = 0; j < count; ++j) sum += by[j] * a.block().Get(i, j);
          for (int64_t j = 0; j < count; ++j)
            EXPECT_NEAR(got.block().Get(i, j), static_cast<double>(a.block().Get(i, j) - f * by[j] * sum), Bound<R>(3));
        }
        same.Want(got.block(), "turned");
      }
    }
  }
}

TYPED_TEST(ColumnsTest, TurnsAPair) {
  using S = TypeParam;
  for (const int64_t m : kRows) {
    const Padded<S> a = Some<S>(m, 2, 1);
    const S s = Some<S>(1, 1, 2).block().Get(0, 0);
    const RealOf<S> c = RealOf<S>(0.75);
    SameBits<S> same;
    for (const Columns<S>& level : Levels<S>()) {
      const Padded<S> got = Copy(a);
      level.turn_pair(got.block(), c, s);
      for (int64_t i = 0; i < m; ++i) {
        const Wide x = At(a.block(), i, 0), y = At(a.block(), i, 1), by(s);
        EXPECT_LE(std::abs(At(got.block(), i, 0) - (static_cast<long double>(c) * x + std::conj(by) * y)), Bound<S>(2));
        EXPECT_LE(std::abs(At(got.block(), i, 1) - (static_cast<long double>(c) * y - by * x)), Bound<S>(2));
      }
      same.Want(got.block(), "turned");
    }
  }
}

/// Quotients of complex numbers are numbers wherever these are, near the ends of the range as well.
TYPED_TEST(ColumnsTest, DividesNearTheEndsOfTheRange) {
  using S = TypeParam;
  using R = RealOf<S>;
  if constexpr (kIsComplex<S>) {
    constexpr R kMost = std::numeric_limits<R>::max() / 2, kLeast = std::numeric_limits<R>::min();
    for (const S d : {S(kMost, kMost), S(kLeast, kLeast), S(kLeast, 0), S(0, kMost), S(kLeast / 64, kLeast / 16)}) {
      const Padded<S> t(1, 1), x(1, 1);
      t.block().Set(0, 0, d);
      x.block().Set(0, 0, S(d.imag(), d.real()));
      const Wide want = Wide(x.block().Get(0, 0)) / Wide(d);
      ColumnsHere<S>().solve_left(t.block(), x.block(), false);
      EXPECT_LE(std::abs(At(x.block(), 0, 0) - want), Bound<S>(1)) << d.real() << " " << d.imag();
    }
  }
}

}  // namespace
}  // namespace tenon::lapack::internal
