#include "tenon/kernels/families.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tenon/drivers/testing/family_checks.h"
#include "tenon/threads/flush_denormals.h"
#include "tenon/threads/pool.h"

namespace tenon::kernels {
namespace {

using drivers::testing::Accepted;
using drivers::testing::Dense;

constexpr DType f32 = DType::kF32, s32 = DType::kS32, c64 = DType::kC64;

/// One or more problems for every family.
std::vector<drivers::Problem> Problems() {
  using drivers::Factorisation;
  using drivers::ProblemOf;
  drivers::Convolution conv;
  conv.in_feature = conv.out_feature = 2;
  conv.in_spatial = conv.out_spatial = {1};
  conv.weight_in = 1;
  conv.weight_out = 2;
  conv.weight_spatial = {0};
  conv.strides = {2};
  conv.low = {1};
  conv.in_dilation = {1};
  conv.window_dilation = {2};
  conv.reversed = {1};
  Factorisation cholesky, solve, lu;
  solve.kind = Factorisation::Kind::kTriangularSolve;
  solve.lower = false;
  lu.kind = Factorisation::Kind::kLu;
  lu.has_info = true;
  return {
      ProblemOf(drivers::Contraction{{0}, {1}, {2}, {0}}, {Dense(f32, {2, 3, 4}), Dense(f32, {4, 2, 5})},
                {Dense(f32, {2, 3, 5})}),
      ProblemOf(drivers::Contraction{{}, {}, {0}, {0}}, {Dense(DType::kS8, {70}), Dense(DType::kS8, {70, 3})},
                {Dense(s32, {3})}),
      ProblemOf(conv, {Dense(f32, {2, 9, 3}), Dense(f32, {3, 3, 4})}, {Dense(f32, {2, 4, 4})}),
      ProblemOf(drivers::FourierTransform{drivers::FourierTransform::Kind::kForward, {4, 6}}, {Dense(c64, {2, 4, 6})},
                {Dense(c64, {2, 4, 6})}),
      ProblemOf(cholesky, {Dense(f32, {2, 5, 5})}, {Dense(f32, {2, 5, 5})}),
      ProblemOf(solve, {Dense(f32, {2, 5, 3}), Dense(f32, {2, 5, 5})}, {Dense(f32, {2, 5, 3})}),
      ProblemOf(lu, {Dense(f32, {2, 5, 4})}, {Dense(f32, {2, 5, 4}), Dense(s32, {2, 4}), Dense(s32, {2})}),
      ProblemOf(drivers::Ordering{1, {1, 0}, {0, 1}, {0, 1}},
                {Dense(f32, {3, 9}), Dense(s32, {3, 9}), Dense(s32, {3, 9})}, {Dense(s32, {3, 5}), Dense(s32, {3, 5})}),
  };
}

/// Memory that an array spans and not a byte more, with a rim that shows writes beside it.
class Spanned {
 public:
  explicit Spanned(const StridedArray& a, std::mt19937_64& random) {
    int64_t low = 0, high = 0;
    bool empty = false;
    for (size_t d = 0; d < a.dims.size(); ++d) {
      empty |= a.dims[d] == 0;
      const int64_t by = (a.dims[d] - 1) * a.strides[d];
      (by < 0 ? low : high) += by;
    }
    const int64_t width = ByteWidth(a.type);
    const int64_t size = empty ? 0 : (high - low + 1) * width;
    bytes_.assign(static_cast<size_t>(size + 2 * kRim), kFill);
    for (int64_t i = 0; i < size; ++i) bytes_[static_cast<size_t>(kRim + i)] = static_cast<char>(random() % 3);
    first_ = bytes_.data() + kRim - (empty ? 0 : low * width);
  }
  void* first() { return first_; }
  bool RimIsWhole() const {
    for (int64_t i = 0; i < kRim; ++i) {
      if (bytes_[static_cast<size_t>(i)] != kFill || bytes_[bytes_.size() - 1 - static_cast<size_t>(i)] != kFill)
        return false;
    }
    return true;
  }

 private:
  static constexpr int64_t kRim = 256;
  static constexpr char kFill = 0x5a;
  std::vector<char> bytes_;
  char* first_;
};

/// Small enough to be run: in elements, also where the memory is shared, and in memory.
bool IsSmall(const Accepted& a) {
  for (const auto* list : {&a.inputs, &a.outputs}) {
    for (const StridedArray& array : *list) {
      int64_t count = 1, reach = 1;
      for (size_t d = 0; d < array.dims.size(); ++d) {
        if (array.dims[d] > 256 || std::abs(array.strides[d]) > 4096) return false;
        count *= std::max<int64_t>(array.dims[d], 1);
        reach += array.dims[d] * std::abs(array.strides[d]);
      }
      if (count > 4096 || reach > 65536) return false;
    }
  }
  return a.facts.scratch_bytes < 1 << 20;
}

/// As plan::Verify wants outputs: no two elements at one place.
bool IsApart(const StridedArray& array) {
  std::set<int64_t> seen;
  Dims at(array.dims.size(), 0);
  for (int64_t i = 0, n = NumElements(array.dims); i < n; ++i) {
    int64_t rest = i, place = 0;
    for (size_t d = at.size(); d-- > 0; rest /= array.dims[d]) place += rest % array.dims[d] * array.strides[d];
    if (!seen.insert(place).second) return false;
  }
  return true;
}

/// Some number that is often wrong.
int64_t Odd(int64_t number, std::mt19937_64& random) {
  const auto was = static_cast<uint64_t>(number);  // It may wrap around.
  switch (random() % 8) {
    case 0:
      return static_cast<int64_t>(was + 1);
    case 1:
      return static_cast<int64_t>(was - 1);
    case 2:
      return 0;
    case 3:
      return static_cast<int64_t>(0 - was);
    case 4:
      return static_cast<int64_t>(was * 2);
    case 5:
      return static_cast<int64_t>(random());
    case 6:
      return int64_t{1} << (random() % 63);
    default:
      return static_cast<int64_t>(random() % 12);
  }
}

void Spoil(Accepted& a, std::mt19937_64& random) {
  auto& arrays = random() % 2 == 0 ? a.inputs : a.outputs;
  StridedArray& array = arrays[random() % arrays.size()];
  const auto one_of = [&](auto& list) { list[random() % list.size()] = Odd(list[random() % list.size()], random); };
  switch (random() % 8) {
    case 0:
      if (!array.dims.empty()) one_of(array.dims);
      break;
    case 1:
      if (!array.strides.empty()) one_of(array.strides);
      break;
    case 2:
      array.type = static_cast<DType>(random() % kNumDTypes);
      break;
    case 3: {  // In all alike, so that it may well be legal.
      const size_t d = random() % 3;
      const auto to = static_cast<int64_t>(random() % 20);
      for (auto* list : {&a.inputs, &a.outputs}) {
        for (StridedArray& x : *list) {
          if (d < x.dims.size()) x.dims[d] = to;
        }
      }
      break;
    }
    case 4:
      if (random() % 4 == 0) arrays.push_back(array);
      break;
    case 5:
      if (!a.config.fields.empty())
        a.config.fields.erase(a.config.fields.begin() + static_cast<int64_t>(random() % a.config.fields.size()));
      break;
    default:
      if (!a.config.fields.empty()) {
        drivers::Numbers& values = a.config.fields[random() % a.config.fields.size()].values;
        if (values.empty() || random() % 8 == 0) {
          values.push_back(Odd(1, random));
        } else {
          one_of(values);
        }
      }
  }
}

TEST(CpuFamilies, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const auto& family : CpuFamilies().families()) {
    EXPECT_TRUE(names.insert(family->name()).second) << family->name();
    EXPECT_EQ(*CpuFamilies().Find(family->name()), family.get());
  }
  size_t rows = 0;
#define TENON_DRIVER_FAMILY(name) \
  ++rows;                         \
  EXPECT_TRUE(names.contains(#name)) << #name;
#include "tenon/kernels/families.def"
#undef TENON_DRIVER_FAMILY
  EXPECT_EQ(rows, names.size());
}

TEST(CpuFamilies, EachHasAProblemHereAndWorkForIt) {
  std::set<std::string_view> taken;
  for (const drivers::Problem& p : Problems()) {
    const auto choice = CpuFamilies().Match(p);
    ASSERT_TRUE(choice.ok()) << choice.status().ToString();
    taken.insert(choice->family->name());
    const Accepted a = drivers::testing::ExpectTaken(*choice->family, p);
    EXPECT_GT(a.facts.work.launches, 0) << choice->family->name();
    EXPECT_GT(a.facts.work.bytes_read + a.facts.work.bytes_written + a.facts.work.bytes_cached, 0);
  }
  EXPECT_EQ(taken.size(), CpuFamilies().families().size());
}

// Whatever a file says: refused, or it touches nothing but its operands.
TEST(CpuFamilies, SpoiltStepsAreRefusedOrStayInTheirOperands) {
  std::mt19937_64 random(7);
  const auto pool = threads::ThreadPool::Create(1);
  const threads::ScopedFlushDenormals compute_state;
  int refused = 0, ran = 0;
  for (const drivers::Problem& p : Problems()) {
    const auto choice = CpuFamilies().Match(p);
    ASSERT_TRUE(choice.ok());
    const drivers::Family& family = *choice->family;
    const Accepted good = drivers::testing::ExpectTaken(family, p);
    for (int i = 0; i < 3000; ++i) {
      Accepted a = good;
      for (uint64_t n = random() % 4; n-- > 0;) Spoil(a, random);
      Result<drivers::Facts> facts = CpuFamilies().Describe(family.name(), a.config, a.operands());
      if (!facts.ok()) {
        ++refused;
        continue;
      }
      a.facts = *std::move(facts);
      bool apart = IsSmall(a);
      for (size_t o = 0; apart && o < a.outputs.size(); ++o) apart = IsApart(a.outputs[o]);
      if (!apart) continue;
      const auto call = family.Bind(a.config, a.operands(), {});
      ASSERT_TRUE(call.ok()) << ToString(a.config) << call.status().ToString();
      std::vector<Spanned> inputs, outputs;
      std::vector<const void*> in;
      std::vector<void*> out;
      for (const StridedArray& x : a.inputs) inputs.emplace_back(x, random);
      for (const StridedArray& x : a.outputs) outputs.emplace_back(x, random);
      for (Spanned& x : inputs) in.push_back(x.first());
      for (Spanned& x : outputs) out.push_back(x.first());
      void* const scratch = std::aligned_alloc(64, static_cast<size_t>(a.facts.scratch_bytes / 64 * 64 + 64));
      EXPECT_TRUE((*call)->Run({in.data(), out.data(), scratch, nullptr}, **pool).ok());
      std::free(scratch);
      ++ran;
      for (const Spanned& x : inputs) ASSERT_TRUE(x.RimIsWhole()) << family.name() << ToString(a.config);
      for (const Spanned& x : outputs) ASSERT_TRUE(x.RimIsWhole()) << family.name() << ToString(a.config);
    }
  }
  EXPECT_GT(refused, 5000);
  EXPECT_GT(ran, 3000);
}

}  // namespace
}  // namespace tenon::kernels
