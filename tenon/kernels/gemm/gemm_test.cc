#include "tenon/kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "tenon/kernels/gemm/gemm_test_util.h"
#include "tenon/kernels/gemm/internal/kernel.h"

namespace tenon::kernels {
namespace {

using isa::IsaLevel;
using testing_util::Case;
using testing_util::Expected;
using testing_util::kAllLayouts;
using testing_util::Layout;
using testing_util::Levels;
using testing_util::Operands;
using testing_util::PoolOf;

bool SameBits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

// Runs `t` at `level` and compares with the oracle: bits, or for the level without FMA the stated bound with |a|, |b|,
// |c| <= 1.
void Check(const Case& t, IsaLevel level, int threads) {
  Operands o(t);
  const std::vector<float> expected = Expected(o);
  const Status status = Gemm(o.s, {o.a.data(), o.b.data(), o.c.data()}, {}, PoolOf(threads), level);
  ASSERT_TRUE(status.ok()) << status.ToString();
  const std::vector<float>& got = o.c.storage();
  ASSERT_EQ(got.size(), expected.size());
  const float bound =
      2 * static_cast<float>(t.k + 2) * std::numeric_limits<float>::epsilon() * static_cast<float>(t.k + 1);
  for (size_t i = 0; i < got.size(); ++i) {
    const bool good =
        level >= IsaLevel::kAvx2 ? SameBits(got[i], expected[i]) : std::abs(got[i] - expected[i]) <= bound;
    ASSERT_TRUE(good) << testing_util::ToText(t) << " " << isa::IsaLevelName(level) << " threads=" << threads << " at "
                      << i << ": got " << got[i] << ", wanted " << expected[i];
  }
}

class GemmTest : public testing::TestWithParam<IsaLevel> {};
INSTANTIATE_TEST_SUITE_P(Isa, GemmTest, testing::ValuesIn(Levels()),
                         [](const auto& param) { return std::string(isa::IsaLevelName(param.param)); });

TEST_P(GemmTest, TileEdges) {
  const auto* kernel = internal::FindKernel(DType::kF32, DType::kF32, GetParam());
  const int64_t mr = kernel->mr, nr = kernel->nr;
  for (int64_t m : {int64_t{0}, int64_t{1}, int64_t{2}, mr - 1, mr, mr + 1, 3 * mr + 2}) {
    for (int64_t n :
         {int64_t{0}, int64_t{1}, int64_t{2}, nr / 2 - 1, nr / 2, nr / 2 + 1, nr - 1, nr, nr + 1, 3 * nr + 5}) {
      for (int64_t k : {0, 1, 2, 17, 70}) Check({.m = m, .n = n, .k = k}, GetParam(), 1);
    }
  }
}

TEST_P(GemmTest, EveryTileSize) {
  const auto* kernel = internal::FindKernel(DType::kF32, DType::kF32, GetParam());
  for (int m = 2; m <= kernel->mr; ++m) {
    for (int n = 2; n <= kernel->nr; ++n) Check({.m = m, .n = n, .k = 5}, GetParam(), 1);
  }
}

TEST_P(GemmTest, AllLayouts) {
  for (Layout a : kAllLayouts) {
    for (Layout b : kAllLayouts) {
      for (Layout c : kAllLayouts) {
        Check({.m = 31, .n = 45, .k = 37, .a = a, .b = b, .c = c}, GetParam(), 1);
        Check({.m = 19, .n = 33, .k = 21, .a = a, .b = b, .c = c, .batch = 3, .accumulate = true}, GetParam(), 1);
        Check({.m = 1, .n = 71, .k = 131, .a = a, .b = b, .c = c, .batch = 2}, GetParam(), 1);
        Check({.m = 67, .n = 1, .k = 195, .a = a, .b = b, .c = c, .accumulate = true}, GetParam(), 1);
        Check({.m = 1, .n = 1, .k = 100, .a = a, .b = b, .c = c}, GetParam(), 1);
        Check({.m = 75, .n = 1, .k = 3, .a = a, .b = b, .c = c, .accumulate = true}, GetParam(), 1);
        Check({.m = 1, .n = 75, .k = 63, .a = a, .b = b, .c = c, .batch = 2}, GetParam(), 1);
        Check({.m = 1, .n = 75, .k = 64, .a = a, .b = b, .c = c}, GetParam(), 1);
      }
    }
  }
}

// Beyond the blocks of k, of columns and of rows, with A copied and B packed.
TEST_P(GemmTest, Blocks) {
  Check({.m = 20, .n = 600, .k = 1100}, GetParam(), 2);
  Check({.m = 133, .n = 170, .k = 530, .a = Layout::kPaddedRows}, GetParam(), 2);
  Check({.m = 133, .n = 170, .k = 530, .a = Layout::kCols, .b = Layout::kCols, .c = Layout::kCols}, GetParam(), 2);
  Check({.m = 100,
         .n = 150,
         .k = 700,
         .a = Layout::kRows,
         .b = Layout::kCols,
         .c = Layout::kScattered,
         .accumulate = true},
        GetParam(), 2);
  Check({.m = 70, .n = 1100, .k = 420, .b = Layout::kCols}, GetParam(), 2);
  Check({.m = 700, .n = 7, .k = 900}, GetParam(), 2);
  Check({.m = 3, .n = 1100, .k = 800}, GetParam(), 2);
  Check({.m = 2, .n = 1101, .k = 900}, GetParam(), 2);
  Check({.m = 33, .n = 15001, .k = 20}, GetParam(), 2);
}

TEST_P(GemmTest, Batches) {
  Check({.m = 33, .n = 65, .k = 20, .batch = 40}, GetParam(), 2);
  Check({.m = 64, .n = 64, .k = 64, .b = Layout::kCols, .batch = 17}, GetParam(), 2);
  Check({.m = 150, .n = 130, .k = 120, .b = Layout::kCols, .batch = 2}, GetParam(), 2);
  Check({.m = 50, .n = 1, .k = 300, .batch = 70}, GetParam(), 2);
  Check({.m = 3, .n = 3, .k = 3, .batch = 0}, GetParam(), 1);
}

// Matrices in every cache and in none, whose rows begin with lines and do not; a row's products are many lanes each.
TEST_P(GemmTest, VectorTimesMatrixNearAndFar) {
  for (const Case& t :
       {Case{.m = 1, .n = 300, .k = 300}, Case{.m = 1, .n = 784, .k = 515}, Case{.m = 1, .n = 1055, .k = 700},
        Case{.m = 1, .n = 1040, .k = 4100}, Case{.m = 1, .n = 1557, .k = 2900, .accumulate = true},
        Case{.m = 1, .n = 8230, .k = 520, .b = Layout::kPaddedRows, .accumulate = true},
        Case{.m = 1, .n = 515, .k = 1030, .c = Layout::kScattered, .batch = 8}, Case{.m = 1, .n = 11000, .k = 470},
        Case{.m = 1600, .n = 1, .k = 2620, .a = Layout::kCols, .c = Layout::kReversed},
        Case{.m = 16397, .n = 1, .k = 257}, Case{.m = 55, .n = 1, .k = 18}, Case{.m = 55, .n = 1, .k = 35},
        Case{.m = 55, .n = 1, .k = 61}}) {
    Check(t, GetParam(), 2);
  }
}

// A matrix as it lies and a few vectors, on either side and in any layout; its rows and their elements are not whole
// squares.
TEST_P(GemmTest, MatrixTimesFewVectors) {
  for (int64_t count = 2; count <= 9; ++count) {
    for (const auto& [rows, depth] :
         {std::pair<int64_t, int64_t>{16, 48}, {17, 257}, {53, 71}, {100, 262}, {700, 300}}) {
      for (Layout c : {Layout::kRows, Layout::kCols, Layout::kScattered}) {
        const bool add = rows == 53;
        Check({.m = rows, .n = count, .k = depth, .b = c, .c = c, .accumulate = add}, GetParam(), 2);
        Check({.m = rows, .n = count, .k = depth, .a = Layout::kReversed, .c = c, .batch = 3}, GetParam(), 2);
        Check({.m = count, .n = rows, .k = depth, .b = Layout::kCols, .c = c, .batch = 2, .accumulate = add},
              GetParam(), 2);
      }
    }
  }
  // One after the other for all of a batch.
  Check({.m = 16, .n = 8, .k = 300, .b = Layout::kCols, .batch = 3600}, GetParam(), 2);
  for (const int64_t count : {3, 9, 13, 16, 17})
    Check({.m = 1100, .n = count, .k = 2060, .accumulate = count == 9}, GetParam(), 2);
}

TEST_P(GemmTest, BitsDoNotDependOnThreads) {
  for (const Case& t : {Case{.m = 190, .n = 700, .k = 400}, Case{.m = 5000, .n = 12, .k = 33},
                        Case{.m = 900, .n = 1, .k = 1000}, Case{.m = 1, .n = 3000, .k = 500},
                        Case{.m = 1, .n = 3000, .k = 1500}, Case{.m = 90, .n = 80, .k = 70, .batch = 9}}) {
    Operands one(t);
    ASSERT_TRUE(Gemm(one.s, {one.a.data(), one.b.data(), one.c.data()}, {}, PoolOf(1), GetParam()).ok());
    for (int threads : {2, 3, 8}) {
      Operands many(t);
      ASSERT_TRUE(Gemm(many.s, {many.a.data(), many.b.data(), many.c.data()}, {}, PoolOf(threads), GetParam()).ok());
      EXPECT_EQ(std::memcmp(one.c.storage().data(), many.c.storage().data(), one.c.storage().size() * sizeof(float)), 0)
          << testing_util::ToText(t) << " threads=" << threads;
    }
  }
}

TEST_P(GemmTest, SharedOperandsAndSeveralBatchDimensions) {
  // out[b, h, i, j] = sum over p of q[b, i, h, p] * w[h, p, j]: a transposed view, and a B without b.
  constexpr int64_t kB = 3, kH = 4, kM = 20, kK = 16, kN = 18;
  std::vector<float> q(kB * kM * kH * kK), w(kH * kK * kN), out(kB * kH * kM * kN, -1.0f);
  for (size_t i = 0; i < q.size(); ++i) q[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::cos(static_cast<float>(i));
  GemmSignature s = DenseGemm(DType::kF32, DType::kF32, DType::kF32, kM, kN, kK);
  s.a_row_stride = kH * kK;
  s.batch[0] = {kB, kM * kH * kK, 0, kH * kM * kN};
  s.batch[1] = {kH, kK, kK * kN, kM * kN};
  ASSERT_TRUE(Gemm(s, {q.data(), w.data(), out.data()}, {}, PoolOf(2), GetParam()).ok());
  for (int64_t b = 0; b < kB; ++b)
    for (int64_t h = 0; h < kH; ++h)
      for (int64_t i = 0; i < kM; ++i)
        for (int64_t j = 0; j < kN; ++j) {
          float acc = 0;
          for (int64_t p = 0; p < kK; ++p) {
            acc = std::fma(q[static_cast<size_t>(((b * kM + i) * kH + h) * kK + p)],
                           w[static_cast<size_t>((h * kK + p) * kN + j)], acc);
          }
          const float got = out[static_cast<size_t>(((b * kH + h) * kM + i) * kN + j)];
          if (GetParam() >= IsaLevel::kAvx2) {
            ASSERT_EQ(got, acc);
          } else {
            ASSERT_NEAR(got, acc, 18 * 1.2e-7 * 16);
          }
        }
}

TEST_P(GemmTest, NanAndInfinitySpreadOnlyWhereTheyBelong) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{20, 40}, {50, 1}}) {
    Operands o({.m = m, .n = n, .k = 70});
    o.a.at(0, 3, 66) = 0.0f;
    o.b.at(0, 66, 0) = inf;  // 0 * inf is NaN; the other rows get an infinity.
    ASSERT_TRUE(Gemm(o.s, {o.a.data(), o.b.data(), o.c.data()}, {}, PoolOf(1), GetParam()).ok());
    for (int64_t i = 0; i < m; ++i) {
      EXPECT_EQ(std::isnan(o.c.at(0, i, 0)), i == 3);
      if (i != 3) EXPECT_TRUE(std::isinf(o.c.at(0, i, 0)));
      for (int64_t j = 1; j < n; ++j) EXPECT_TRUE(std::isfinite(o.c.at(0, i, j)));
    }
  }
}

// ---- Hooks

struct Source {
  Operands* o;
  bool is_a;
};
void PackDoubled(void* context, const GemmTile& tile) {
  const Source& source = *static_cast<Source*>(context);
  EXPECT_EQ(tile.col_stride, 1);
  float* const data = static_cast<float*>(tile.data);
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t c = 0; c < tile.cols; ++c) {
      testing_util::Matrix& m = source.is_a ? source.o->a : source.o->b;
      data[r * tile.row_stride + c] = 2 * m.at(tile.batch, tile.row0 + r, tile.col0 + c);
    }
  }
}

struct Visits {
  std::mutex mutex;
  std::set<std::tuple<int64_t, int64_t, int64_t>> seen;
  int64_t twice = 0, too_large = 0;
};
void AddPosition(void* context, const GemmTile& tile) {
  Visits& visits = *static_cast<Visits*>(context);
  const std::lock_guard<std::mutex> lock(visits.mutex);
  if (tile.rows * tile.cols * 4 > (64 << 10)) ++visits.too_large;
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t c = 0; c < tile.cols; ++c) {
      if (!visits.seen.insert({tile.batch, tile.row0 + r, tile.col0 + c}).second) ++visits.twice;
      static_cast<float*>(tile.data)[r * tile.row_stride + c * tile.col_stride] +=
          static_cast<float>(tile.row0 + r) * 1000 + static_cast<float>(tile.col0 + c);
    }
  }
}

TEST_P(GemmTest, FinishSeesEveryElementOnceWhenItIsComplete) {
  for (Case t : {Case{.m = 33, .n = 70, .k = 20}, Case{.m = 200, .n = 420, .k = 600}, Case{.m = 90, .n = 1, .k = 100},
                 Case{.m = 1, .n = 90, .k = 100}, Case{.m = 1, .n = 8200, .k = 520}, Case{.m = 1300, .n = 4, .k = 100},
                 Case{.m = 5, .n = 90, .k = 100, .b = Layout::kCols, .batch = 2}, Case{.m = 12, .n = 13, .k = 0},
                 Case{.m = 40, .n = 41, .k = 42, .batch = 5}}) {
    for (Layout c : {Layout::kRows, Layout::kCols, Layout::kScattered}) {
      t.c = c;
      Operands plain(t), finished(t);
      ASSERT_TRUE(Gemm(plain.s, {plain.a.data(), plain.b.data(), plain.c.data()}, {}, PoolOf(2), GetParam()).ok());
      Visits visits;
      GemmHooks hooks;
      hooks.finish = {AddPosition, &visits};
      ASSERT_TRUE(
          Gemm(finished.s, {finished.a.data(), finished.b.data(), finished.c.data()}, hooks, PoolOf(2), GetParam())
              .ok());
      EXPECT_EQ(visits.twice, 0);
      EXPECT_EQ(visits.too_large, 0);
      EXPECT_EQ(visits.seen.size(), static_cast<size_t>(t.batch * t.m * t.n));
      for (int64_t b = 0; b < t.batch; ++b)
        for (int64_t i = 0; i < t.m; ++i)
          for (int64_t j = 0; j < t.n; ++j) {
            ASSERT_EQ(finished.c.at(b, i, j),
                      plain.c.at(b, i, j) + (static_cast<float>(i) * 1000 + static_cast<float>(j)))
                << testing_util::ToText(t);
          }
    }
  }
}

// B from far away, of rows that all begin `into` floats after a line's start: blocks of columns begin with lines where
// B is deep beside C's rows, and nothing shows in C.
TEST_P(GemmTest, StreamedColumnsBeginWithLines) {
  constexpr int64_t kLine = 16;
  for (const Case& t : {Case{.m = 2, .n = 1040, .k = 1100}, Case{.m = 7, .n = 8016, .k = 160, .batch = 2},
                        Case{.m = 11, .n = 2080, .k = 530, .accumulate = true}, Case{.m = 1, .n = 1040, .k = 400},
                        Case{.m = 12, .n = 20000, .k = 24}}) {
    const bool deep = t.k > 3 * t.m, whole_lines = GetParam() >= IsaLevel::kAvx2;
    for (const int64_t into : {int64_t{0}, int64_t{4}, kLine - 1}) {
      Operands o(t);
      std::vector<float> storage(static_cast<size_t>(t.batch * t.k * t.n + 2 * kLine));
      float* b = storage.data();
      while (reinterpret_cast<uintptr_t>(b) % 64 != 0) ++b;
      b += into;
      for (int64_t i = 0; i < t.batch; ++i)
        std::memcpy(b + i * t.k * t.n, &o.b.at(i, 0, 0), static_cast<size_t>(t.k * t.n) * sizeof(float));
      o.s.batch[1].b_stride = t.k * t.n;
      const std::vector<float> expected = Expected(o);
      std::mutex mutex;
      std::set<int64_t> begins;
      const auto note = [&](const GemmTile& tile) {
        const std::lock_guard<std::mutex> lock(mutex);
        begins.insert(tile.col0);
      };
      GemmHooks hooks;
      hooks.finish = {[](void* context, const GemmTile& tile) { (*static_cast<decltype(&note)>(context))(tile); },
                      const_cast<void*>(static_cast<const void*>(&note))};
      ASSERT_TRUE(Gemm(o.s, {o.a.data(), b, o.c.data()}, hooks, PoolOf(2), GetParam()).ok());
      EXPECT_GT(begins.size(), 1u);
      for (const int64_t j : begins) {
        EXPECT_TRUE(j == 0 || !whole_lines || (j + (deep ? into : 0)) % kLine == 0)
            << testing_util::ToText(t) << " at " << j;
      }
      if (GetParam() < IsaLevel::kAvx2) continue;
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_TRUE(SameBits(o.c.storage()[i], expected[i])) << testing_util::ToText(t) << " at " << i;
    }
  }
}

TEST_P(GemmTest, PackHooksReplaceTheOperands) {
  for (Case t : {Case{.m = 33, .n = 70, .k = 20}, Case{.m = 150, .n = 400, .k = 600}, Case{.m = 90, .n = 1, .k = 1100},
                 Case{.m = 1, .n = 90, .k = 1100}, Case{.m = 30, .n = 31, .k = 32, .batch = 3},
                 Case{.m = 90, .n = 1, .k = 9}, Case{.m = 1, .n = 90, .k = 9}}) {
    for (Layout c : {Layout::kRows, Layout::kCols}) {
      t.c = c;
      // Doubling is exact, so products of doubled operands are four times the plain ones, bit for bit.
      Operands plain(t), hooked(t);
      ASSERT_TRUE(Gemm(plain.s, {plain.a.data(), plain.b.data(), plain.c.data()}, {}, PoolOf(2), GetParam()).ok());
      Source a{&hooked, true}, b{&hooked, false};
      GemmHooks hooks;
      hooks.pack_a = {PackDoubled, &a};
      hooks.pack_b = {PackDoubled, &b};
      ASSERT_TRUE(Gemm(hooked.s, {nullptr, nullptr, hooked.c.data()}, hooks, PoolOf(2), GetParam()).ok());
      for (int64_t batch = 0; batch < t.batch; ++batch)
        for (int64_t i = 0; i < t.m; ++i)
          for (int64_t j = 0; j < t.n; ++j) {
            ASSERT_EQ(hooked.c.at(batch, i, j), 4 * plain.c.at(batch, i, j)) << testing_util::ToText(t);
          }
    }
  }
}

// ---- The table

TEST(GemmKernels, ConsistentOnesAgreeWithEachOther) {
  for (const Case& t :
       {Case{.m = 100, .n = 90, .k = 500}, Case{.m = 70, .n = 1, .k = 999}, Case{.m = 1, .n = 70, .k = 999}}) {
    std::vector<std::vector<float>> results;
    for (IsaLevel level : Levels()) {
      if (!internal::FindKernel(DType::kF32, DType::kF32, level)->consistent) continue;
      Operands o(t);
      ASSERT_TRUE(Gemm(o.s, {o.a.data(), o.b.data(), o.c.data()}, {}, PoolOf(1), level).ok());
      results.push_back(o.c.storage());
    }
    if (results.size() < 2) GTEST_SKIP() << "this CPU has fewer than two consistent levels";
    for (const auto& result : results)
      EXPECT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * sizeof(float)), 0);
  }
}

TEST(GemmKernels, TheChosenNames) {
  const GemmSignature s = DenseGemm(DType::kF32, DType::kF32, DType::kF32, 100, 100, 100);
  const std::map<IsaLevel, const char*> names = {{IsaLevel::kSse4, "gemm_f32_6x8_sse4"},
                                                 {IsaLevel::kAvx2, "gemm_f32_6x16_avx2"},
                                                 {IsaLevel::kAvx512, "gemm_f32_14x32_avx512"}};
  // A level that this CPU lacks falls to the best that it has.
  for (const auto& [level, name] : names)
    EXPECT_STREQ(GemmKernelName(s, level), names.at(std::min(level, isa::DetectedIsa())));
}

// ---- Signatures

TEST(GemmSignature, ComparesHashesAndPrints) {
  const GemmSignature s = DenseGemm(DType::kF32, DType::kF32, DType::kF32, 2, 3, 4);
  EXPECT_EQ(ToString(s), "gemm f32 f32 -> f32 m=2 n=3 k=4 a=[4,1] b=[3,1] c=[3,1]");
  GemmSignature t = s;
  EXPECT_EQ(s, t);
  EXPECT_EQ(HashOf(s), HashOf(t));
  t.batch[0] = {5, 8, 0, 6};
  t.accumulate = true;
  EXPECT_NE(s, t);
  EXPECT_NE(HashOf(s), HashOf(t));
  EXPECT_EQ(t.batch_count(), 5);
  EXPECT_EQ(ToString(t), "gemm f32 f32 -> f32 m=2 n=3 k=4 a=[4,1] b=[3,1] c=[3,1] batch=[5:8,0,6] accumulate");
}

TEST(GemmSignature, BadOnesAreRefused) {
  GemmSignature s = DenseGemm(DType::kF32, DType::kF32, DType::kF32, 2, -3, 4);
  EXPECT_EQ(Verify(s).code(), Code::kInvalidArgument);
  EXPECT_NE(Verify(s).message().find("n is -3"), std::string_view::npos);
  s = DenseGemm(DType::kF32, DType::kF32, DType::kF32, int64_t{1} << 40, int64_t{1} << 40, 1);
  EXPECT_EQ(Verify(s).code(), Code::kInvalidArgument);
  s = DenseGemm(DType::kC64, DType::kC64, DType::kC64, 2, 3, 4);
  EXPECT_EQ(Verify(s).code(), Code::kUnimplemented);
  EXPECT_NE(Verify(s).message().find("c64 c64 -> c64"), std::string_view::npos);
  s = DenseGemm(DType::kF32, DType::kBF16, DType::kF32, 2, 3, 4);
  EXPECT_EQ(Verify(s).code(), Code::kUnimplemented);
  float c[6];
  EXPECT_EQ(Gemm(s, {nullptr, nullptr, c}, {}, PoolOf(1)).code(), Code::kUnimplemented);
}

TEST(GemmSignature, CostGrowsWithWork) {
  const auto ns = [](int64_t n) {
    return EstimateCost(DenseGemm(DType::kF32, DType::kF32, DType::kF32, n, n, n)).time_ns;
  };
  EXPECT_LT(ns(64), 40e3);
  EXPECT_GT(ns(512), 40e3);
  EXPECT_EQ(EstimateCost(DenseGemm(DType::kF32, DType::kF32, DType::kF32, 8, 16, 4)).flops, 1024);
}

}  // namespace
}  // namespace tenon::kernels
