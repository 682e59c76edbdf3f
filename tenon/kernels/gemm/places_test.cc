// Operands that lie apart give the bits of the matrices that they stand for.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tenon/kernels/gemm/gemm.h"

namespace tenon::kernels {
namespace {

struct Random {
  std::mt19937 bits;
  int64_t operator()(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(bits); }
};

void Put(DType type, float v, std::byte* to) {
  const auto f16 = static_cast<_Float16>(v);
  const double f64 = v;
  uint32_t word;
  std::memcpy(&word, &v, sizeof(word));
  const auto half = static_cast<uint16_t>(word >> 16);
  const void* const from = type == DType::kBF16  ? static_cast<const void*>(&half)
                           : type == DType::kF16 ? static_cast<const void*>(&f16)
                           : type == DType::kF64 ? static_cast<const void*>(&f64)
                                                 : static_cast<const void*>(&v);
  std::memcpy(to, from, static_cast<size_t>(ByteWidth(type)));
}

void CheckPlaces(DType type, bool of_a, uint32_t seed) {
  Random random{std::mt19937(seed)};
  GemmPlaces places;
  const int64_t depths[] = {1, 2, 3, 7, 29, 30, 31, 32, 33, 62, 63, 64, 65, 95, 200, 1100};
  const int64_t k = depths[random(0, 15)];
  if (of_a) {
    for (int64_t axes = random(1, 3); axes > 0; --axes) places.axes.push_back({random(2, 7), random(0, 9)});
  } else {
    places.axes.push_back({random(2, 400), 1});
  }
  int64_t rows = 1, reach = 1;
  for (const GemmPlaces::Axis& axis : places.axes) {
    rows *= axis.extent;
    reach += (axis.extent - 1) * axis.stride;
  }
  int64_t deepest = 0;
  for (int64_t p = 0; p < k; ++p) {
    places.depth.push_back(random(0, 50));
    deepest = std::max(deepest, places.depth.back());
  }
  const int64_t other = random(0, 3) == 0 ? 1 : random(2, 40), batch = random(1, 2), width = ByteWidth(type);
  const int64_t m = of_a ? rows : other, n = of_a ? other : rows, part = reach + deepest;
  const auto make = [&](int64_t count) {
    std::vector<std::byte> data(static_cast<size_t>(count * width));
    for (int64_t i = 0; i < count; ++i) {
      const float v = random(0, 6) == 0 ? -0.0f : static_cast<float>(random(-1000, 1000)) / 512;
      Put(type, v, data.data() + i * width);
    }
    return data;
  };
  const std::vector<std::byte> apart = make(batch * part), matrix = make(batch * other * k);
  // The matrix that the places stand for.
  std::vector<std::byte> gathered(static_cast<size_t>(batch * rows * k * width));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t x = 0; x < rows; ++x) {
      int64_t at = 0, rest = x;
      for (size_t i = places.axes.size(); i-- > 0; rest /= places.axes[i].extent)
        at += rest % places.axes[i].extent * places.axes[i].stride;
      for (int64_t p = 0; p < k; ++p) {
        const int64_t to = b * rows * k + (of_a ? x * k + p : p * rows + x);
        std::memcpy(gathered.data() + to * width,
                    apart.data() + (b * part + at + places.depth[static_cast<size_t>(p)]) * width,
                    static_cast<size_t>(width));
      }
    }
  }
  GemmSignature s = DenseGemm(type, type, type, m, n, k);
  s.accumulate = random(0, 1) == 0;
  s.batch[0] = {batch, m * k, k * n, m * n};
  const std::vector<std::byte> before = make(batch * m * n);
  std::vector<std::byte> expected = before, got = before;
  static const auto pool = *threads::ThreadPool::Create(2);
  const void* const dense = gathered.data();
  const void* const beside = matrix.data();
  const auto matrices = BoundGemm::Create(s, {.in_chains = true});
  ASSERT_TRUE(matrices.ok()) << matrices.status().ToString();
  ASSERT_TRUE(matrices->Run({of_a ? dense : beside, of_a ? beside : dense, expected.data()}, {}, *pool).ok());

  std::vector<std::byte> words(static_cast<size_t>(batch * part * PlacedBytes(type)));
  ToPlacedElements(type, apart.data(), 1, batch * part, words.data());
  (of_a ? s.batch[0].a_stride : s.batch[0].b_stride) = part;
  GemmHookSet hooked{.in_chains = true};
  (of_a ? hooked.a_places : hooked.b_places) = std::make_shared<const GemmPlaces>(places);
  const auto bound = BoundGemm::Create(s, hooked);
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  const void* const placed = words.data();
  ASSERT_TRUE(bound->Run({of_a ? placed : beside, of_a ? beside : placed, got.data()}, {}, *pool).ok());
  ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size()), 0)
      << ToString(s) << (of_a ? " a" : " b") << " seed " << seed;
}

TEST(GemmPlaces, GiveTheBitsOfMatrices) {
  int checked = 0;
  for (DType type : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    for (bool of_a : {true, false}) {
      const GemmTakesPlaces takes = TakesPlaces(type);
      if (!(of_a ? takes.a : takes.b)) continue;
      for (uint32_t seed = 0; seed < 120 && !HasFatalFailure(); ++seed, ++checked) CheckPlaces(type, of_a, seed);
    }
  }
  if (checked == 0) GTEST_SKIP() << "no kernel of this level takes places";
}

TEST(GemmPlaces, ThoseThatDoNotBelongToTheProductAreRefused) {
  if (!TakesPlaces(DType::kF32).a) GTEST_SKIP() << "no kernel of this level takes places";
  const GemmSignature s = DenseGemm(DType::kF32, DType::kF32, DType::kF32, 6, 5, 2);
  const auto create = [&](const GemmPlaces& places, bool of_a, bool packs) {
    GemmHookSet hooked;
    (of_a ? hooked.a_places : hooked.b_places) = std::make_shared<const GemmPlaces>(places);
    hooked.pack_a = packs;
    return BoundGemm::Create(s, hooked).status().code();
  };
  EXPECT_EQ(create({{{2, 9}, {3, 1}}, {0, 4}}, true, false), Code::kOk);
  EXPECT_EQ(create({{{2, 9}, {3, 1}}, {0, 4}}, true, true), Code::kInvalidArgument);
  EXPECT_EQ(create({{{2, 9}, {2, 1}}, {0, 4}}, true, false), Code::kInvalidArgument);
  EXPECT_EQ(create({{{6, 9}}, {0, 4, 5}}, true, false), Code::kInvalidArgument);
  EXPECT_EQ(create({{{5, 1}}, {0, 4}}, false, false), Code::kOk);
  EXPECT_EQ(create({{{5, 2}}, {0, 4}}, false, false), Code::kInvalidArgument);
  GemmHookSet vector;
  vector.b_places = std::make_shared<const GemmPlaces>(GemmPlaces{{{5, 1}}, {0, 4}});
  const GemmSignature row = DenseGemm(DType::kF32, DType::kF32, DType::kF32, 1, 5, 2);
  EXPECT_EQ(BoundGemm::Create(row, vector).status().code(), Code::kInvalidArgument);
  vector.in_chains = true;
  EXPECT_TRUE(BoundGemm::Create(row, vector).ok());
}

}  // namespace
}  // namespace tenon::kernels
