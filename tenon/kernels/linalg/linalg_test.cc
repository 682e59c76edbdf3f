#include "tenon/kernels/linalg/linalg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace tenon::kernels {
namespace {

template <class T>
constexpr DType kType = sizeof(T) == 4 ? DType::kF32 : DType::kF64;

// A [batch, rows, cols] array whose matrices lie by rows, by columns, or padded and backwards.
enum class Layout { kRows, kCols, kOdd };

template <class T>
struct Stack {
  Stack(int64_t b, int64_t m, int64_t n, Layout layout) : batch(b), rows(m), cols(n) {
    const int64_t matrix = (m + 3) * (n + 3);
    data.assign(static_cast<size_t>(b * matrix + 16), std::numeric_limits<T>::quiet_NaN());
    form = {m, n, layout == Layout::kCols ? 1 : n + 2, layout == Layout::kCols ? m + 1 : 1, {matrix}};
    if (layout == Layout::kOdd && m > 0 && n > 0) {
      form.row_stride = -(n + 2);
      start = (m - 1) * (n + 2);
    }
  }
  T& at(int64_t b, int64_t i, int64_t j) {
    return data[static_cast<size_t>(start + b * form.batch_strides[0] + i * form.row_stride + j * form.col_stride)];
  }
  T* begin() { return data.data() + start; }
  int64_t batch, rows, cols, start = 0;
  LinalgMatrix form;
  std::vector<T> data;
};

template <class T>
Status Run(const LinalgSignature& s, Stack<T>* a, Stack<T>& x, std::vector<int32_t>* pivots,
           std::vector<int32_t>& info) {
  TENON_RETURN_IF_ERROR(Verify(s));
  auto pool = std::move(threads::ThreadPool::Create(3)).value();
  const auto bytes = static_cast<size_t>(LinalgScratchBytes(s));
  std::unique_ptr<std::byte, void (*)(std::byte*)> scratch(
      static_cast<std::byte*>(::operator new(bytes + 64, std::align_val_t(64))),
      [](std::byte* p) { ::operator delete(p, std::align_val_t(64)); });
  std::fill_n(scratch.get() + bytes, 64, std::byte{0x5a});
  info.assign(static_cast<size_t>(x.batch), -7);
  if (pivots != nullptr) pivots->assign(static_cast<size_t>(x.batch * std::min(x.rows, x.cols)), -7);
  const Status status = Linalg(s, a == nullptr ? nullptr : a->begin(), x.begin(),
                               pivots == nullptr ? nullptr : pivots->data(), info.data(), scratch.get(), *pool);
  EXPECT_EQ(std::count(scratch.get() + bytes, scratch.get() + bytes + 64, std::byte{0x5a}), 64) << "behind the scratch";
  return status;
}

template <class T>
LinalgSignature Signature(LinalgOp op, const Stack<T>& x) {
  LinalgSignature s;
  s.op = op;
  s.type = kType<T>;
  s.batch = {x.batch};
  s.x = x.form;
  return s;
}

double Random(std::mt19937& bits) { return std::uniform_real_distribution<double>(-1, 1)(bits); }

// Residuals of backward stable methods: |error| <= c n eps |A| |B|, with c small; 4 covers the blocked order.
template <class T>
double Bound(int64_t n, double magnitude) {
  return 4 * static_cast<double>(n + 1) * std::numeric_limits<T>::epsilon() * (magnitude + 1e-30);
}

constexpr int64_t kOrders[] = {0, 1, 5, 31, 32, 33, 64, 100, 201};

// Batches of small matrices run in lanes: some groups of them, the last one not full.
constexpr int64_t kBatches[] = {2, 4, 37};

template <class T>
void TestCholesky(int64_t batch) {
  std::mt19937 bits(1);
  for (int64_t n : kOrders) {
    if (batch > 2 && n > 33) continue;
    for (Layout layout : {Layout::kRows, Layout::kCols, Layout::kOdd}) {
      for (bool lower : {true, false}) {
        Stack<T> x(batch, n, n, layout);
        std::vector<double> want(static_cast<size_t>(batch * n * n));
        for (int64_t b = 0; b < batch; ++b) {
          for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j <= i; ++j) {
              const double v = i == j ? static_cast<double>(n) + 1 : Random(bits);
              // Only the named triangle holds the matrix.
              (lower ? x.at(b, i, j) : x.at(b, j, i)) = static_cast<T>(v);
              if (i != j) (lower ? x.at(b, j, i) : x.at(b, i, j)) = T(77);
              want[static_cast<size_t>((b * n + i) * n + j)] = static_cast<T>(v);
            }
          }
        }
        LinalgSignature s = Signature(LinalgOp::kCholesky, x);
        s.lower = lower;
        std::vector<int32_t> info;
        ASSERT_TRUE(Run<T>(s, nullptr, x, nullptr, info).ok());
        for (int64_t b = 0; b < batch; ++b) {
          EXPECT_EQ(info[static_cast<size_t>(b)], 0);
          const auto factor = [&](int64_t i, int64_t j) {
            return static_cast<double>(lower ? x.at(b, i, j) : x.at(b, j, i));
          };
          for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j <= i; ++j) {
              double sum = 0, magnitude = 0;
              for (int64_t k = 0; k <= j; ++k) {
                sum += factor(i, k) * factor(j, k);
                magnitude += std::abs(factor(i, k) * factor(j, k));
              }
              ASSERT_NEAR(sum, want[static_cast<size_t>((b * n + i) * n + j)], Bound<T>(n, magnitude))
                  << n << " " << i << " " << j;
              if (i != j) ASSERT_EQ(lower ? x.at(b, j, i) : x.at(b, i, j), T(77));
            }
          }
        }
      }
    }
  }
}
TEST(Linalg, Cholesky) {
  for (int64_t batch : kBatches) {
    TestCholesky<float>(batch);
    TestCholesky<double>(batch);
  }
}

TEST(Linalg, CholeskySaysWhichMinorIsNotPositive) {
  for (int64_t n : {3, 40, 130}) {
    for (int64_t bad : {int64_t{0}, n / 2, n - 1}) {
      Stack<float> x(1, n, n, Layout::kRows);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) x.at(0, i, j) = i == j ? 1.0f : 0.0f;
      }
      x.at(0, bad, bad) = n == 40 ? std::numeric_limits<float>::quiet_NaN() : -1.0f;
      std::vector<int32_t> info;
      ASSERT_TRUE(Run<float>(Signature(LinalgOp::kCholesky, x), nullptr, x, nullptr, info).ok());
      EXPECT_EQ(info[0], bad + 1);
    }
  }
}

template <class T>
void TestTriangular(int64_t batch, int64_t n, int64_t other, int flags, Layout layout) {
  std::mt19937 bits(static_cast<uint32_t>(n + flags));
  const bool left = flags & 1, lower = flags & 2, transpose = flags & 4, unit = flags & 8;
  Stack<T> a(batch, n, n, layout);
  Stack<T> x(batch, left ? n : other, left ? other : n, layout == Layout::kRows ? Layout::kCols : Layout::kRows);
  const auto element = [&](int64_t b, int64_t i, int64_t j) -> double {
    if (transpose) std::swap(i, j);
    if (i == j && unit) return 1;
    if (i != j && (i > j) != lower) return 0;
    return static_cast<double>(a.at(b, i, j));
  };
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        // What must not be read stays NaN.
        if ((i == j && !unit) || (i != j && (i > j) == lower)) {
          a.at(b, i, j) = static_cast<T>(i == j ? 1.5 + Random(bits) * 0.5 : Random(bits) / static_cast<double>(n));
        }
      }
    }
    for (int64_t i = 0; i < x.rows; ++i) {
      for (int64_t j = 0; j < x.cols; ++j) x.at(b, i, j) = static_cast<T>(Random(bits));
    }
  }
  Stack<T> right_side = x;
  LinalgSignature s = Signature(LinalgOp::kTriangularSolve, x);
  s.a = a.form;
  s.left = left;
  s.lower = lower;
  s.transpose = transpose;
  s.unit_diagonal = unit;
  std::vector<int32_t> info;
  ASSERT_TRUE(Run<T>(s, &a, x, nullptr, info).ok());
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < x.rows; ++i) {
      for (int64_t j = 0; j < x.cols; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < n; ++k) {
          const double term = left ? element(b, i, k) * static_cast<double>(x.at(b, k, j))
                                   : static_cast<double>(x.at(b, i, k)) * element(b, k, j);
          sum += term;
          magnitude += std::abs(term);
        }
        ASSERT_NEAR(sum, static_cast<double>(right_side.at(b, i, j)), Bound<T>(n, magnitude))
            << n << " flags " << flags << " at " << i << " " << j;
      }
    }
  }
}
TEST(Linalg, TriangularSolve) {
  for (int flags = 0; flags < 16; ++flags) {
    for (int64_t n : kOrders) {
      TestTriangular<float>(2, n, n == 100 ? 150 : 3, flags, Layout::kRows);
      TestTriangular<double>(2, n, 65, flags, flags % 2 ? Layout::kOdd : Layout::kCols);
    }
  }
}

// However many there are beside it, a right-hand side has the same solution, bit for bit.
TEST(Linalg, FewRightHandSidesAsMany) {
  for (const int64_t n : {1, 7, 20, 32}) {
    std::mt19937 bits(static_cast<unsigned>(n));
    Stack<float> t(1, n, n, Layout::kRows), many(1, n, 40, Layout::kRows);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) t.at(0, i, j) = static_cast<float>(i == j ? 2 + Random(bits) : Random(bits));
      for (int64_t j = 0; j < 40; ++j) many.at(0, i, j) = static_cast<float>(Random(bits));
    }
    for (const int64_t few : {1, 3, 8}) {
      Stack<float> some(1, n, few, Layout::kCols), all = many;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < few; ++j) some.at(0, i, j) = many.at(0, i, j);
      }
      for (Stack<float>* x : {&some, &all}) {
        LinalgSignature s = Signature(LinalgOp::kTriangularSolve, *x);
        s.a = t.form;
        s.left = s.lower = true;
        std::vector<int32_t> info;
        ASSERT_TRUE(Run<float>(s, &t, *x, nullptr, info).ok());
      }
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < few; ++j) ASSERT_EQ(some.at(0, i, j), all.at(0, i, j)) << n << " " << i << " " << j;
      }
    }
  }
}

TEST(Linalg, TriangularSolveInLanes) {
  for (int flags = 0; flags < 16; ++flags) {
    for (int64_t n : {1, 2, 7, 24}) {
      TestTriangular<float>(37, n, 3, flags, flags % 2 ? Layout::kRows : Layout::kOdd);
      TestTriangular<double>(4, n, 24, flags, Layout::kCols);
    }
  }
}

template <class T>
void TestLu(int64_t batch, int64_t m, int64_t n, Layout layout) {
  std::mt19937 bits(static_cast<uint32_t>(m * 1000 + n));
  Stack<T> x(batch, m, n, layout);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) x.at(b, i, j) = static_cast<T>(Random(bits));
    }
  }
  Stack<T> before = x;
  std::vector<int32_t> pivots, info;
  ASSERT_TRUE(Run<T>(Signature(LinalgOp::kLu, x), nullptr, x, &pivots, info).ok());
  const int64_t rank = std::min(m, n);
  for (int64_t b = 0; b < batch; ++b) {
    EXPECT_EQ(info[static_cast<size_t>(b)], 0);
    std::vector<int64_t> row(static_cast<size_t>(m));
    for (int64_t i = 0; i < m; ++i) row[static_cast<size_t>(i)] = i;
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t p = pivots[static_cast<size_t>(b * rank + i)] - 1;
      ASSERT_GE(p, i);
      ASSERT_LT(p, m);
      std::swap(row[static_cast<size_t>(i)], row[static_cast<size_t>(p)]);
    }
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k <= std::min({i, j, rank - 1}); ++k) {
          const double l = k == i ? 1.0 : static_cast<double>(x.at(b, i, k));
          if (k < i) ASSERT_LE(std::abs(l), 1.0);
          sum += l * static_cast<double>(x.at(b, k, j));
          magnitude += std::abs(l * static_cast<double>(x.at(b, k, j)));
        }
        ASSERT_NEAR(sum, static_cast<double>(before.at(b, row[static_cast<size_t>(i)], j)), Bound<T>(rank, magnitude))
            << m << " x " << n;
      }
    }
  }
}
TEST(Linalg, Lu) {
  for (int64_t m : {1, 7, 8, 9, 64, 130, 600}) {
    for (int64_t n : {1, 4, 8, 9, 33, 130, 140, 500}) {
      TestLu<float>(2, m, n, Layout::kCols);
      TestLu<double>(2, m, n, n % 2 ? Layout::kOdd : Layout::kRows);
    }
  }
}

TEST(Linalg, LuOfFewRows) {
  for (int64_t m : {15, 16, 17, 32, 47, 48, 49}) {
    for (int64_t n : {12, 17, 31, 32, 33, 48}) {
      TestLu<float>(1, m, n, Layout::kRows);
      TestLu<double>(1, m, n, Layout::kCols);
    }
  }
}

// Column by column, as the definition says: the first of the largest sizes is the pivot.
template <class T>
std::vector<int32_t> PlainLu(Stack<T>& x) {
  std::vector<int32_t> pivots;
  for (int64_t j = 0; j < std::min(x.rows, x.cols); ++j) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < x.rows; ++i) {
      if (std::abs(x.at(0, i, j)) > std::abs(x.at(0, pivot, j))) pivot = i;
    }
    pivots.push_back(static_cast<int32_t>(pivot + 1));
    if (x.at(0, pivot, j) == T(0)) continue;
    for (int64_t k = 0; k < x.cols; ++k) std::swap(x.at(0, j, k), x.at(0, pivot, k));
    for (int64_t i = j + 1; i < x.rows; ++i) {
      x.at(0, i, j) /= x.at(0, j, j);
      for (int64_t k = j + 1; k < x.cols; ++k) {
        const volatile T product = x.at(0, i, j) * x.at(0, j, k);
        x.at(0, i, k) -= product;
      }
    }
  }
  return pivots;
}

template <class T>
void TestPivots(int64_t m, int64_t n) {
  std::mt19937 bits(static_cast<uint32_t>(m * 100 + n));
  Stack<T> x(1, m, n, Layout::kRows);
  for (int64_t i = 0; i < m; ++i) {
    // Few different numbers: sizes are often the same, of either sign, and columns run out.
    for (int64_t j = 0; j < n; ++j) x.at(0, i, j) = static_cast<T>(static_cast<int64_t>(bits() % 5) - 2);
  }
  Stack<T> want = x;
  std::vector<int32_t> pivots, info;
  ASSERT_TRUE(Run<T>(Signature(LinalgOp::kLu, x), nullptr, x, &pivots, info).ok());
  EXPECT_EQ(pivots, PlainLu(want)) << m << " x " << n;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) ASSERT_EQ(x.at(0, i, j), want.at(0, i, j)) << m << " x " << n;
  }
}
TEST(Linalg, LuTakesTheFirstOfTheLargest) {
  for (int64_t m : {1, 5, 16, 17, 33, 48}) {
    for (int64_t n : {1, 3, 8, 16, 20, 32}) {
      TestPivots<float>(m, n);
      TestPivots<double>(m, n);
    }
  }
}

TEST(Linalg, LuKeepsAwayFromNan) {
  for (bool first : {false, true}) {
    Stack<float> x(1, 40, 9, Layout::kCols);
    for (int64_t i = 0; i < 40; ++i) {
      for (int64_t j = 0; j < 9; ++j) x.at(0, i, j) = static_cast<float>((i * 7 + j * 3) % 11);
    }
    x.at(0, first ? 0 : 20, 0) = std::numeric_limits<float>::quiet_NaN();
    x.at(0, 30, 0) = -std::numeric_limits<float>::infinity();
    std::vector<int32_t> pivots, info;
    ASSERT_TRUE(Run<float>(Signature(LinalgOp::kLu, x), nullptr, x, &pivots, info).ok());
    EXPECT_EQ(pivots[0], first ? 1 : 31);
  }
}

TEST(Linalg, LongMatricesTakeScratchOfTheirSize) {
  const auto elements = [](LinalgOp op, int64_t rows, int64_t cols, int64_t order, bool left) {
    LinalgSignature s;
    s.op = op;
    s.type = DType::kF32;
    s.x = {rows, cols, cols, 1, {}};
    s.a = {order, order, order, 1, {}};
    s.left = left;
    return LinalgScratchBytes(s) / 4;
  };
  constexpr int64_t kLong = 1'000'000, kFixed = 10'000;
  EXPECT_LE(elements(LinalgOp::kLu, kLong, 4, 0, true), 4 * kLong + kFixed);
  EXPECT_LE(elements(LinalgOp::kLu, 4, kLong, 0, true), 4 * (kLong + 64) + kFixed);
  EXPECT_LE(elements(LinalgOp::kLu, kLong, 100, 0, true), 32 * kLong + 100 * 100 + kFixed);
  EXPECT_LE(elements(LinalgOp::kTriangularSolve, 2, kLong, 2, true), 2 * (kLong + 64) + kFixed);
  EXPECT_LE(elements(LinalgOp::kTriangularSolve, kLong, 2, 2, false), 2 * (kLong + 64) + kFixed);
}

TEST(Linalg, LuInLanes) {
  for (int64_t m : {1, 3, 7, 10, 24}) {
    for (int64_t n : {1, 4, 9, 24}) {
      TestLu<float>(37, m, n, n % 2 ? Layout::kOdd : Layout::kRows);
      TestLu<double>(4, m, n, Layout::kCols);
    }
  }
}

// A lane that fails says so, and the others go on.
TEST(Linalg, LanesFailAlone) {
  constexpr int64_t kCount = 21, kOrder = 5;
  Stack<float> x(kCount, kOrder, kOrder, Layout::kRows);
  Stack<double> y(kCount, kOrder, kOrder, Layout::kCols);
  for (int64_t b = 0; b < kCount; ++b) {
    for (int64_t i = 0; i < kOrder; ++i) {
      for (int64_t j = 0; j < kOrder; ++j) {
        x.at(b, i, j) = i == j ? 4.0f : 0.5f;
        y.at(b, i, j) = i == j ? 2.0 : static_cast<double>(j) * 0.25;
      }
    }
  }
  x.at(3, 2, 2) = -1.0f;
  x.at(17, 0, 0) = std::numeric_limits<float>::quiet_NaN();
  for (int64_t j = 0; j < kOrder; ++j) y.at(6, 4, j) = y.at(6, 3, j);  // Two rows alike: the last pivot is zero.
  for (int64_t i = 0; i < kOrder; ++i) y.at(20, i, 1) = 0;
  std::vector<int32_t> info, pivots;
  ASSERT_TRUE(Run<float>(Signature(LinalgOp::kCholesky, x), nullptr, x, nullptr, info).ok());
  for (int64_t b = 0; b < kCount; ++b) {
    EXPECT_EQ(info[static_cast<size_t>(b)], b == 3 ? 3 : b == 17 ? 1 : 0);
    if (b != 3 && b != 17) EXPECT_EQ(x.at(b, 4, 4), x.at(0, 4, 4));
  }
  EXPECT_TRUE(std::isfinite(x.at(0, 4, 4)));
  ASSERT_TRUE(Run<double>(Signature(LinalgOp::kLu, y), nullptr, y, &pivots, info).ok());
  for (int64_t b = 0; b < kCount; ++b) {
    EXPECT_EQ(info[static_cast<size_t>(b)], b == 6 ? 5 : b == 20 ? 2 : 0);
    for (int64_t i = 0; i < kOrder; ++i) {
      for (int64_t j = 0; j < kOrder; ++j) EXPECT_TRUE(std::isfinite(y.at(b, i, j)));
    }
    if (b != 6 && b != 20) EXPECT_EQ(y.at(b, 4, 4), y.at(0, 4, 4));
  }
}

TEST(Linalg, LuSaysWhereTheDiagonalIsZero) {
  Stack<double> x(1, 20, 20, Layout::kCols);
  for (int64_t i = 0; i < 20; ++i) {
    for (int64_t j = 0; j < 20; ++j) x.at(0, i, j) = i == j && i != 12 && i != 15 ? 2.0 : 0.0;
  }
  std::vector<int32_t> pivots, info;
  ASSERT_TRUE(Run<double>(Signature(LinalgOp::kLu, x), nullptr, x, &pivots, info).ok());
  EXPECT_EQ(info[0], 13);
}

TEST(Linalg, VerifyNamesWhatIsWrong) {
  Stack<float> x(1, 4, 5, Layout::kRows);
  EXPECT_FALSE(Verify(Signature(LinalgOp::kCholesky, x)).ok());
  LinalgSignature s = Signature(LinalgOp::kTriangularSolve, x);
  s.a = x.form;
  EXPECT_FALSE(Verify(s).ok());
  s = Signature(LinalgOp::kLu, x);
  EXPECT_TRUE(Verify(s).ok());
  s.type = DType::kC64;
  EXPECT_EQ(Verify(s).code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace tenon::kernels
