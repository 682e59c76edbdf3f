// Products of all types but f32 against oracles of their own, bit for bit on every level with FMA.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "tenon/isa/amx.h"
#include "tenon/kernels/gemm/gemm.h"
#include "tenon/kernels/gemm/gemm_test_util.h"
#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/problem.h"
#include "tenon/threads/flush_denormals.h"

namespace tenon::kernels {
namespace {

using isa::IsaLevel;
using testing_util::Levels;
using testing_util::PoolOf;

struct Bf16 {
  uint16_t bits;
};
float ToFloat(Bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

// Nearest bf16, ties to even, by comparing distances: shares nothing with the kernels' bit tricks. Finite values.
Bf16 ToBf16(float x) {
  const uint16_t down = static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);  // Towards zero.
  const Bf16 low{down}, high{static_cast<uint16_t>(down + 1)};
  const double to_low = std::abs(static_cast<double>(x) - ToFloat(low)),
               to_high = std::abs(static_cast<double>(x) - ToFloat(high));
  if (to_low != to_high) return to_low < to_high ? low : high;
  return down % 2 == 0 ? low : high;
}

struct Case {
  int64_t m, n, k;
  bool a_turned = false, b_turned = false, c_turned = false, padded = false;
  int64_t batch = 1;
  bool accumulate = false;
  bool hooks = false;
};

// Elements of one operand with its strides; what is not part of it is `filler`.
template <class T>
struct Operand {
  Operand(int64_t batch, int64_t rows, int64_t cols, bool turned, bool padded, T filler) {
    const int64_t pad = padded ? 3 : 0;
    row_stride = turned ? 1 : cols + pad;
    col_stride = turned ? rows + pad : 1;
    batch_stride = (turned ? cols * (rows + pad) : rows * (cols + pad)) + pad;
    data.assign(static_cast<size_t>(batch * batch_stride), filler);
  }
  T& at(int64_t b, int64_t r, int64_t c) {
    return data[static_cast<size_t>(b * batch_stride + r * row_stride + c * col_stride)];
  }
  int64_t row_stride, col_stride, batch_stride;
  std::vector<T> data;
};

template <class T>
struct HookSource {
  Operand<T>* from;
  std::vector<T> hidden;  // What the operand held.
  static void Pack(void* context, const GemmTile& tile) {
    auto& self = *static_cast<HookSource*>(context);
    EXPECT_EQ(tile.col_stride, 1);
    for (int64_t r = 0; r < tile.rows; ++r) {
      for (int64_t c = 0; c < tile.cols; ++c) {
        static_cast<T*>(tile.data)[r * tile.row_stride + c] = self.hidden[static_cast<size_t>(
            tile.batch * self.from->batch_stride + (tile.row0 + r) * self.from->row_stride +
            (tile.col0 + c) * self.from->col_stride)];
      }
    }
  }
};

// Fills, runs, and compares with `expect(batch, i, j, before)`.
template <class T, class C, class Fill, class Expect, class Same>
void Run(const Case& t, DType operand, DType sum, T poison, C filler, IsaLevel level, int threads, Fill fill,
         Expect expect, Same same) {
  Operand<T> a(t.batch, t.m, t.k, t.a_turned, t.padded, poison), b(t.batch, t.k, t.n, t.b_turned, t.padded, poison);
  Operand<C> c(t.batch, t.m, t.n, t.c_turned, t.padded, filler);
  uint32_t seed = 7;
  const auto next = [&] { return seed = seed * 1664525u + 1013904223u; };
  for (int64_t x = 0; x < t.batch; ++x) {
    for (int64_t p = 0; p < t.k; ++p) {
      for (int64_t i = 0; i < t.m; ++i) a.at(x, i, p) = fill(next());
      for (int64_t j = 0; j < t.n; ++j) b.at(x, p, j) = fill(next());
    }
  }
  Operand<C> expected = c;
  for (int64_t x = 0; x < t.batch; ++x)
    for (int64_t i = 0; i < t.m; ++i)
      for (int64_t j = 0; j < t.n; ++j) expected.at(x, i, j) = expect(a, b, x, i, j, c.at(x, i, j));

  GemmSignature s = DenseGemm(operand, operand, sum, t.m, t.n, t.k);
  s.a_row_stride = a.row_stride;
  s.a_col_stride = a.col_stride;
  s.b_row_stride = b.row_stride;
  s.b_col_stride = b.col_stride;
  s.c_row_stride = c.row_stride;
  s.c_col_stride = c.col_stride;
  s.batch[0] = {t.batch, a.batch_stride, b.batch_stride, c.batch_stride};
  s.accumulate = t.accumulate;
  HookSource<T> from_a{&a, a.data}, from_b{&b, b.data};
  GemmHooks hooks;
  if (t.hooks) {
    hooks.pack_a = {HookSource<T>::Pack, &from_a};
    hooks.pack_b = {HookSource<T>::Pack, &from_b};
    a.data.assign(a.data.size(), poison);
    b.data.assign(b.data.size(), poison);
  }
  const Status status = Gemm(s, {a.data.data(), b.data.data(), c.data.data()}, hooks, PoolOf(threads), level);
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (size_t i = 0; i < c.data.size(); ++i) {
    ASSERT_TRUE(same(c.data[i], expected.data[i]))
        << ToString(s) << " " << isa::IsaLevelName(level) << " hooks=" << t.hooks << " at " << i;
  }
}

template <class T>
T TopBits(uint32_t r) {
  return static_cast<T>(r >> (32 - 8 * sizeof(T)));
}

// Operands of type T, sums of s32 modulo 2^32.
template <class T>
void CheckNarrow(const Case& t, DType type, IsaLevel level, int threads) {
  Run<T, int32_t>(
      t, type, DType::kS32, T{77}, 1000000007, level, threads, TopBits<T>,
      [&](auto& a, auto& b, int64_t x, int64_t i, int64_t j, int32_t before) {
        int64_t sum = t.accumulate ? before : 0;
        for (int64_t p = 0; p < t.k; ++p) sum += int64_t{a.at(x, i, p)} * b.at(x, p, j);
        return static_cast<int32_t>(static_cast<uint32_t>(sum));
      },
      [](int32_t x, int32_t y) { return x == y; });
}
void CheckS8(const Case& t, IsaLevel level, int threads) { CheckNarrow<int8_t>(t, DType::kS8, level, threads); }

float HalvesSum(Operand<Bf16>& a, Operand<Bf16>& b, int64_t k, int64_t x, int64_t i, int64_t j, float acc) {
  for (int64_t block = 0; block < k; block += 32) {
    float half[2] = {0, 0};  // Even, odd.
    for (int64_t p = block; p < block + 32; ++p) {
      const float u = p < k ? ToFloat(a.at(x, i, p)) : 0, v = p < k ? ToFloat(b.at(x, p, j)) : 0;
      half[p % 2] = std::fma(u, v, half[p % 2]);
    }
    acc = acc + (half[0] + half[1]);
  }
  return acc;
}

Bf16 SomeBf16(uint32_t r) {
  // Exponents 2^-8 ... 2^7.
  return {static_cast<uint16_t>(((r >> 16) & 0x807f) | ((119 + ((r >> 8) & 15)) << 7))};
}

// |a b| < 2^16 here; the level without FMA rounds twice per product.
double SseBound(const Case& t) {
  return 2.0 * static_cast<double>(t.k + 2) * 1.2e-7 * static_cast<double>(t.k + 1) * 65536.0;
}

void CheckBf16(const Case& t, IsaLevel level, int threads) {
  const threads::ScopedFlushDenormals flush;
  Run<Bf16, float>(
      t, DType::kBF16, DType::kF32, Bf16{0x7fc0}, 3.5f, level, threads, SomeBf16,
      [&](auto& a, auto& b, int64_t x, int64_t i, int64_t j, float before) {
        return HalvesSum(a, b, t.k, x, i, j, t.accumulate ? before : 0.0f);
      },
      [&](float x, float y) {
        return level >= IsaLevel::kAvx2 ? std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y)
                                        : std::abs(x - y) <= SseBound(t);
      });
  Run<Bf16, Bf16>(
      t, DType::kBF16, DType::kBF16, Bf16{0x7fc0}, Bf16{0x4060}, level, threads, SomeBf16,
      [&](auto& a, auto& b, int64_t x, int64_t i, int64_t j, Bf16 before) {
        return ToBf16(HalvesSum(a, b, t.k, x, i, j, t.accumulate ? ToFloat(before) : 0.0f));
      },
      [&](Bf16 x, Bf16 y) {
        return level >= IsaLevel::kAvx2
                   ? x.bits == y.bits
                   : std::abs(ToFloat(x) - ToFloat(y)) <= SseBound(t) + std::abs(ToFloat(y)) * 0x1p-7;
      });
}

void CheckF64(const Case& t, IsaLevel level, int threads) {
  Run<double, double>(
      t, DType::kF64, DType::kF64, std::nan(""), 3.5, level, threads,
      [](uint32_t r) { return static_cast<int32_t>(r) * 0x1p-31; },
      [&](auto& a, auto& b, int64_t x, int64_t i, int64_t j, double before) {
        double acc = t.accumulate ? before : 0;
        for (int64_t p = 0; p < t.k; ++p) acc = std::fma(a.at(x, i, p), b.at(x, p, j), acc);
        return acc;
      },
      [&](double x, double y) {
        const double bound = 2 * static_cast<double>(t.k + 2) * 2.3e-16 * static_cast<double>(t.k + 4);
        return level >= IsaLevel::kAvx2 ? std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y)
                                        : std::abs(x - y) <= bound;
      });
}

void CheckWrapping(const Case& t, IsaLevel level, int threads) {
  Run<uint32_t, uint32_t>(
      t, DType::kU32, DType::kU32, 0xdeadbeefu, 17u, level, threads, [](uint32_t r) { return r; },
      [&](auto& a, auto& b, int64_t x, int64_t i, int64_t j, uint32_t before) {
        uint64_t acc = t.accumulate ? before : 0;
        for (int64_t p = 0; p < t.k; ++p) acc += uint64_t{a.at(x, i, p)} * b.at(x, p, j);
        return static_cast<uint32_t>(acc);
      },
      [](uint32_t x, uint32_t y) { return x == y; });
  Run<int32_t, int32_t>(
      t, DType::kS32, DType::kS32, -559038737, 17, level, threads, [](uint32_t r) { return static_cast<int32_t>(r); },
      [&](auto& a, auto& b, int64_t x, int64_t i, int64_t j, int32_t before) {
        uint64_t acc = t.accumulate ? static_cast<uint64_t>(int64_t{before}) : 0;
        for (int64_t p = 0; p < t.k; ++p) acc += static_cast<uint64_t>(int64_t{a.at(x, i, p)} * b.at(x, p, j));
        return static_cast<int32_t>(static_cast<uint32_t>(acc));
      },
      [](int32_t x, int32_t y) { return x == y; });
}

// The value of an f16, from its fields.
double F16Value(uint16_t h) {
  const int exponent = (h >> 10) & 31, fraction = h & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return h >> 15 ? -magnitude : magnitude;
}
// Nearest f16, ties to even, by search. |x| < 2^15.
uint16_t NearestF16(float x) {
  uint16_t low = 0, high = 0x7800;
  const double magnitude = std::abs(static_cast<double>(x));
  while (high - low > 1) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (F16Value(middle) <= magnitude ? low : high) = middle;
  }
  const double down = magnitude - F16Value(low), up = F16Value(high) - magnitude;
  const uint16_t nearest = down != up ? (down < up ? low : high) : (low % 2 == 0 ? low : high);
  return static_cast<uint16_t>(nearest | (std::signbit(x) ? 0x8000 : 0));
}

void CheckF16(const Case& t, IsaLevel level, int threads) {
  const auto fill = [](uint32_t r) {
    return static_cast<uint16_t>(((r >> 16) & 0x83ff) | ((10 + ((r >> 8) & 3)) << 10));
  };
  const auto sum = [&](auto& a, auto& b, int64_t x, int64_t i, int64_t j, float acc) {
    for (int64_t p = 0; p < t.k; ++p) {
      acc = std::fma(static_cast<float>(F16Value(a.at(x, i, p))), static_cast<float>(F16Value(b.at(x, p, j))), acc);
    }
    return acc;
  };
  const double bound = 2 * static_cast<double>(t.k + 2) * 1.2e-7 * static_cast<double>(t.k + 4);
  Run<uint16_t, float>(
      t, DType::kF16, DType::kF32, 0x7e00, 3.5f, level, threads, fill,
      [&](auto& a, auto& b, int64_t x, int64_t i, int64_t j, float before) {
        return sum(a, b, x, i, j, t.accumulate ? before : 0.0f);
      },
      [&](float x, float y) {
        return level >= IsaLevel::kAvx2 ? std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y)
                                        : std::abs(x - y) <= bound;
      });
  Run<uint16_t, uint16_t>(
      t, DType::kF16, DType::kF16, 0x7e00, 0x4100, level, threads, fill,
      [&](auto& a, auto& b, int64_t x, int64_t i, int64_t j, uint16_t before) {
        return NearestF16(sum(a, b, x, i, j, t.accumulate ? static_cast<float>(F16Value(before)) : 0.0f));
      },
      [&](uint16_t x, uint16_t y) {
        return level >= IsaLevel::kAvx2
                   ? x == y
                   : std::abs(F16Value(x) - F16Value(y)) <= bound + std::abs(F16Value(y)) * 0x1p-10 + 0x1p-24;
      });
}

class GemmTypesTest : public testing::TestWithParam<IsaLevel> {
 protected:
  static void CheckAll(const Case& t, int threads = 1) {
    CheckS8(t, GetParam(), threads);
    CheckNarrow<uint8_t>(t, DType::kU8, GetParam(), threads);
    CheckNarrow<int16_t>(t, DType::kS16, GetParam(), threads);
    CheckBf16(t, GetParam(), threads);
    CheckF16(t, GetParam(), threads);
    CheckF64(t, GetParam(), threads);
    CheckWrapping(t, GetParam(), threads);
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, GemmTypesTest, testing::ValuesIn(Levels()),
                         [](const auto& param) { return std::string(isa::IsaLevelName(param.param)); });

TEST_P(GemmTypesTest, TileEdges) {
  const auto* kernel = internal::FindKernel(DType::kS8, DType::kS8, GetParam());
  const int64_t mr = kernel->mr, nr = kernel->nr;
  for (int64_t m : {int64_t{0}, int64_t{1}, int64_t{2}, mr - 1, mr, mr + 1}) {
    for (int64_t n : {int64_t{0}, int64_t{1}, nr / 2, nr / 2 + 1, nr, nr + 1}) {
      for (int64_t k : {0, 1, 2, 3, 4, 5, 67}) CheckAll({.m = m, .n = n, .k = k});
    }
  }
}

TEST_P(GemmTypesTest, Layouts) {
  for (int bits = 0; bits < 64; ++bits) {
    CheckAll({.m = 15,
              .n = 37,
              .k = 21,
              .a_turned = (bits & 1) != 0,
              .b_turned = (bits & 2) != 0,
              .c_turned = (bits & 4) != 0,
              .padded = (bits & 8) != 0,
              .batch = 2,
              .accumulate = (bits & 16) != 0,
              .hooks = (bits & 32) != 0});
  }
}

// Beyond the blocks of k, which differ by type, of columns and of rows.
TEST_P(GemmTypesTest, Blocks) {
  CheckAll({.m = 20, .n = 70, .k = 530, .b_turned = true, .c_turned = true, .accumulate = true}, 2);
  CheckAll({.m = 300, .n = 66, .k = 41}, 2);
  // Whole panels of columns along which k runs, aligned to no more than elements.
  CheckAll({.m = 24, .n = 70, .k = 23, .b_turned = true});
  CheckAll({.m = 2, .n = 70, .k = 23, .b_turned = true});
  CheckAll({.m = 300, .n = 1, .k = 77}, 2);
  CheckAll({.m = 1, .n = 300, .k = 99}, 2);
  const Case deep{.m = 16, .n = 50, .k = 1703};
  CheckS8(deep, GetParam(), 1);
  CheckBf16(deep, GetParam(), 1);
  Case hooked = deep;
  hooked.hooks = true;
  CheckS8(hooked, GetParam(), 1);
  CheckF64(hooked, GetParam(), 1);
}

TEST_P(GemmTypesTest, VectorsByColumns) {
  // Up to two blocks of vectors of every width with something left over, and several tasks.
  for (int64_t columns : {2, 3, 7, 8, 9, 15, 16, 17, 24, 33, 47, 63, 64, 65, 71, 100, 127, 129, 143, 200}) {
    for (int bits = 0; bits < 8; ++bits) {
      const bool accumulate = (bits & 1) != 0, hooks = (bits & 2) != 0, in_c = (bits & 4) != 0;
      for (const Case& t :
           {Case{.m = 1, .n = columns, .k = 5, .c_turned = in_c, .batch = 2, .accumulate = accumulate, .hooks = hooks},
            Case{.m = columns,
                 .n = 1,
                 .k = 9,
                 .a_turned = true,
                 .c_turned = in_c,
                 .batch = 2,
                 .accumulate = accumulate,
                 .hooks = hooks}}) {
        CheckF64(t, GetParam(), 1);
        CheckWrapping(t, GetParam(), 1);
      }
    }
  }
  for (int threads : {1, 2}) CheckF64({.m = 1, .n = 1000, .k = 60, .batch = 3}, GetParam(), threads);
  CheckF64({.m = 1, .n = 9000, .k = 3, .hooks = true}, GetParam(), 2);
}

TEST_P(GemmTypesTest, BitsDoNotDependOnThreads) {
  for (int threads : {1, 2, 8}) CheckAll({.m = 100, .n = 130, .k = 100}, threads);
}

TEST_P(GemmTypesTest, ExtremeBytesAreExact) {
  constexpr int64_t kM = 17, kN = 35, kK = 1000;
  for (const auto& [x, y] : {std::pair<int, int>{-128, -128}, {-128, 127}, {127, 127}}) {
    std::vector<int8_t> a(kM * kK, static_cast<int8_t>(x)), b(kK * kN, static_cast<int8_t>(y));
    std::vector<int32_t> c(kM * kN);
    const GemmSignature s = DenseGemm(DType::kS8, DType::kS8, DType::kS32, kM, kN, kK);
    ASSERT_TRUE(Gemm(s, {a.data(), b.data(), c.data()}, {}, PoolOf(1), GetParam()).ok());
    for (int32_t v : c) ASSERT_EQ(v, x * y * kK);
  }
  constexpr int64_t kOdd = 1001;  // 2^30 times it is not 0 modulo 2^32.
  for (const DType type : {DType::kU8, DType::kS16}) {
    const bool bytes = type == DType::kU8;
    std::vector<uint8_t> a(2 * kM * kOdd), b(2 * kOdd * kN);
    for (std::vector<uint8_t>* v : {&a, &b}) {
      for (size_t i = 0; i < v->size(); ++i) (*v)[i] = bytes ? 255 : i % 2 == 0 ? 0x00 : 0x80;
    }
    std::vector<uint32_t> c(kM * kN);
    const GemmSignature s = DenseGemm(type, type, DType::kS32, kM, kN, kOdd);
    ASSERT_TRUE(Gemm(s, {a.data(), b.data(), c.data()}, {}, PoolOf(1), GetParam()).ok());
    // Squares of 255 and of -2^15.
    for (uint32_t v : c) ASSERT_EQ(v, static_cast<uint32_t>((bytes ? 255 * 255 : 1 << 30) * kOdd));
  }
}

TEST_P(GemmTypesTest, Bf16RoundsOnceAndKeepsNans) {
  const threads::ScopedFlushDenormals flush;
  // 256 + 1 + 1 is 258 when summed in f32; rounding every step would give 256.
  std::vector<Bf16> a = {ToBf16(256), ToBf16(1), ToBf16(1)}, b(3, ToBf16(1)), c(1);
  GemmSignature s = DenseGemm(DType::kBF16, DType::kBF16, DType::kBF16, 1, 1, 3);
  ASSERT_TRUE(Gemm(s, {a.data(), b.data(), c.data()}, {}, PoolOf(1), GetParam()).ok());
  EXPECT_EQ(ToFloat(c[0]), 258);
  a[1] = {0xffff};  // A NaN whose upper half alone would round to something else.
  ASSERT_TRUE(Gemm(s, {a.data(), b.data(), c.data()}, {}, PoolOf(1), GetParam()).ok());
  EXPECT_TRUE(std::isnan(ToFloat(c[0])));
}

TEST(GemmTypesKernels, EveryRowIsConsistentWithTheOracle) {
  // Rows that this CPU has but would not choose are run as well.
  int ran = 0;
  const auto check = [&](const internal::GemmKernel& kernel) {
    if (!internal::IsAvailable(kernel) || kernel.operand_type != DType::kS8) return;
    constexpr int64_t kK = 13;
    const int64_t words = internal::StepsOf(kernel, kK);
    std::vector<int8_t> a(static_cast<size_t>(kernel.mr) * kK), b(static_cast<size_t>(kernel.nr) * kK);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int8_t>(i * 37);
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int8_t>(i * 91);
    std::vector<internal::Word> pa(static_cast<size_t>(kernel.mr * words)), pb(static_cast<size_t>(kernel.nr * words)),
        start(static_cast<size_t>(kernel.nr)), c(static_cast<size_t>(kernel.mr * kernel.nr));
    kernel.pack_a(a.data(), kK, 1, kernel.mr, kK, pa.data(), words);
    kernel.pack_b({.src = b.data(),
                   .k_stride = kernel.nr,
                   .col_stride = 1,
                   .k = kK,
                   .cols = kernel.nr,
                   .dst = pb.data(),
                   .panel_stride = 0,
                   .start = kernel.has_start ? start.data() : nullptr,
                   .first = true});
    if (kernel.enter != nullptr) kernel.enter();
    kernel.micro({.a = pa.data(),
                  .a_row_stride = words,
                  .a_k_stride = 1,
                  .b = pb.data(),
                  .b_k_stride = kernel.nr,
                  .start = kernel.has_start ? start.data() : nullptr,
                  .c = c.data(),
                  .c_row_stride = kernel.nr,
                  .steps = words,
                  .load_c = false,
                  .soon = nullptr,
                  .ahead = false,
                  .depth = nullptr,
                  .elements = 0,
                  .rows = nullptr},
                 kernel.mr, kernel.nr);
    if (kernel.leave != nullptr) kernel.leave();
    for (int64_t i = 0; i < kernel.mr; ++i) {
      for (int64_t j = 0; j < kernel.nr; ++j) {
        int32_t sum = 0;
        for (int64_t p = 0; p < kK; ++p)
          sum += a[static_cast<size_t>(i * kK + p)] * b[static_cast<size_t>(p * kernel.nr + j)];
        ASSERT_EQ(static_cast<int32_t>(c[static_cast<size_t>(i * kernel.nr + j)]), sum) << kernel.name;
      }
    }
    ++ran;
  };
#define TENON_GEMM(level, extra, name, operand, sum, mr, nr, consistent) check(internal::name);
#include "tenon/kernels/gemm/kernels.inc"
#undef TENON_GEMM
  EXPECT_GT(ran, 0);
}

std::vector<const internal::GemmKernel*> AvailableRows(DType type) {
  std::vector<const internal::GemmKernel*> rows;
  const auto add = [&](const internal::GemmKernel& kernel) {
    if (kernel.operand_type == type && kernel.consistent && internal::IsAvailable(kernel)) rows.push_back(&kernel);
  };
#define TENON_GEMM(level, extra, name, operand, sum, mr, nr, consistent) add(internal::name);
#include "tenon/kernels/gemm/kernels.inc"
#undef TENON_GEMM
  return rows;
}

// Values of all kinds: what overflows, products around the least normal number, zeros of both signs, subnormals,
// infinities and NaNs, a few at a time.
Bf16 SpecialBf16(uint32_t r, int kind) {
  const uint32_t sign_and_fraction = (r >> 16) & 0x807f, e = (r >> 8) & 0xff;
  const auto with = [&](uint32_t exponent) { return Bf16{static_cast<uint16_t>(sign_and_fraction | exponent << 7)}; };
  switch (kind) {
    case 0:
      return with(57 + e % 12);
    case 1:
      return e < 24 ? Bf16{static_cast<uint16_t>((r >> 16) & 0x8000)} : with(e < 32 ? 0 : e < 40 ? 1 : 50 + e % 20);
    case 2:
      return with(e < 2 ? 255 : 120 + e % 8);
    case 3:
      return with(185 + e % 7);
    default:
      return Bf16{static_cast<uint16_t>(r >> 16)};
  }
}

// Every row that this CPU has, also those that it would not choose, against the first, in whole products.
template <class T, class C, class Fill>
void CompareRows(DType operand, DType sum, bool accumulate, int64_t m, int64_t n, int64_t k, Fill fill, C before) {
  const threads::ScopedFlushDenormals flush;
  const std::vector<const internal::GemmKernel*> rows = AvailableRows(operand);
  std::vector<T> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
  uint32_t seed = static_cast<uint32_t>(m * 31 + n * 7 + k);
  for (T& x : a) x = fill(seed = seed * 1664525u + 1013904223u);
  for (T& x : b) x = fill(seed = seed * 1664525u + 1013904223u);
  GemmSignature s = DenseGemm(operand, operand, sum, m, n, k);
  s.accumulate = accumulate;
  std::vector<C> first;
  for (const internal::GemmKernel* row : rows) {
    std::vector<C> c(static_cast<size_t>(m * n), before);
    ASSERT_TRUE(internal::GemmWith(*row, s, {a.data(), b.data(), c.data()}, {}, PoolOf(1)).ok());
    if (first.empty()) first = c;
    for (size_t i = 0; i < c.size(); ++i) {
      if constexpr (std::is_same_v<C, float>) {
        if (std::isnan(c[i]) && std::isnan(first[i])) continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(c[i]), std::bit_cast<uint32_t>(first[i]))
            << row->name << " against " << rows[0]->name << " " << ToString(s) << " at " << i << ": " << c[i]
            << " against " << first[i];
      } else {
        ASSERT_EQ(c[i], first[i]) << row->name << " " << ToString(s) << " at " << i;
      }
    }
  }
}

TEST(GemmTypesKernels, Bf16RowsAgreeBitForBit) {
  for (int64_t k = 1; k <= 66; ++k) {
    for (int kind = 0; kind < 5; ++kind) {
      const auto fill = [&](uint32_t r) { return SpecialBf16(r, kind); };
      CompareRows<Bf16, float>(DType::kBF16, DType::kF32, k % 2 == 0, 19, 21, k, fill, -0.0f);
    }
  }
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{40, 50, 501}, {33, 65, 1203}, {1, 64, 700}, {70, 1, 95}}) {
    for (int kind = 0; kind < 5; ++kind) {
      const auto fill = [&](uint32_t r) { return SpecialBf16(r, kind); };
      CompareRows<Bf16, float>(DType::kBF16, DType::kF32, kind % 2 == 0, m, n, k, fill, 0x1p-126f);
    }
    CompareRows<Bf16, float>(DType::kBF16, DType::kF32, false, m, n, k, SomeBf16, 1.5f);
  }
}

#if defined(__x86_64__)
// A thread that keeps tiles configured pays for them at every switch.
[[gnu::target("amx-tile")]] void StoreTileConfig(void* config) { __builtin_ia32_tile_storeconfig(config); }

TEST(GemmTypesKernels, NoTilesAreLeftConfigured) {
  if (!isa::AmxUsable()) GTEST_SKIP() << "no AMX here";
  std::vector<Bf16> a(100 * 100, ToBf16(1));
  std::vector<float> c(100 * 100);
  const GemmSignature s = DenseGemm(DType::kBF16, DType::kBF16, DType::kF32, 100, 100, 100);
  ASSERT_TRUE(Gemm(s, {a.data(), a.data(), c.data()}, {}, PoolOf(1), isa::DetectedIsa()).ok());
  ASSERT_EQ(c[0], 100);
  alignas(64) uint8_t config[64];
  StoreTileConfig(config);
  for (uint8_t byte : config) EXPECT_EQ(byte, 0);
}
#endif

TEST(GemmTypesKernels, IntegerRowsAgreeBitForBit) {
  for (const auto& [m, n, k] :
       {std::array<int64_t, 3>{40, 50, 501}, {33, 65, 2203}, {1, 64, 700}, {70, 1, 95}, {16, 16, 63}, {32, 48, 64}}) {
    CompareRows<int8_t, int32_t>(DType::kS8, DType::kS32, true, m, n, k, TopBits<int8_t>, -77);
    CompareRows<uint8_t, int32_t>(DType::kU8, DType::kS32, true, m, n, k, TopBits<uint8_t>, -77);
    CompareRows<int16_t, int32_t>(DType::kS16, DType::kS32, true, m, n, k, TopBits<int16_t>, -77);
  }
}

}  // namespace
}  // namespace tenon::kernels
