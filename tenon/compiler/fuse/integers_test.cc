// What ranges decide changes no bit, by the evaluator's word.
#include "tenon/compiler/fuse/integers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/testing/random_kernel.h"

namespace tenon::compiler {
namespace {

using kir::Op;
using kir::Size;
using kir::Val;
constexpr DType s32 = DType::kS32;
constexpr int32_t kLowest = std::numeric_limits<int32_t>::min(), kHighest = std::numeric_limits<int32_t>::max();

bool Has(const kir::Kernel& k, Op op) {
  return std::any_of(k.nodes.begin(), k.nodes.end(), [&](const kir::Node& n) { return n.op == op; });
}

std::vector<int32_t> Results(const kir::Kernel& k, std::vector<int32_t> in, size_t results) {
  const Status verified = kir::Verify(k);
  EXPECT_TRUE(verified.ok()) << verified.ToString() << kir::Print(k);
  std::vector<int32_t> out(results, -77);
  const auto ref = [](std::vector<int32_t>& v) {
    return kir::BufferRef{v.data(), v.data(), static_cast<int64_t>(v.size() * sizeof(int32_t))};
  };
  const kir::BufferRef refs[] = {ref(in), ref(out)};
  const Status run = kir::Evaluate(k, refs, {});
  EXPECT_TRUE(run.ok()) << run.ToString() << kir::Print(k);
  return out;
}

void Simplify(kir::Kernel& k) {
  SimplifyIntegers(k);
  ShortenNumbers(k);
  ShortenPlaces(k);
  DropDead(k);
}

TEST(Integers, RandomKernelsKeepTheirBits) {
  kir::testing::RandomKernelOptions options;
  options.params = false;
  int changed = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    options.scatters = options.loops = seed % 2 == 0;
    const kir::testing::Sample s = kir::testing::RandomKernel(seed, options);
    kir::Kernel k = s.kernel, plain = s.kernel;
    DropDead(plain);
    Simplify(k);
    changed += !(k == plain);
    const Status verified = kir::Verify(k);
    ASSERT_TRUE(verified.ok()) << "seed " << seed << ": " << verified.ToString() << "\n"
                               << kir::Print(s.kernel) << kir::Print(k);
    kir::testing::Memory before = s.memory, after = s.memory;
    ASSERT_TRUE(kir::Evaluate(s.kernel, before.Refs(), s.params).ok());
    const Status run = kir::Evaluate(k, after.Refs(), s.params);
    ASSERT_TRUE(run.ok()) << "seed " << seed << ": " << run.ToString() << "\n" << kir::Print(s.kernel) << kir::Print(k);
    ASSERT_EQ(kir::testing::FirstDifference(s.kernel, s.params, after, before), "")
        << "seed " << seed << "\n"
        << kir::Print(s.kernel) << kir::Print(k);
  }
  EXPECT_GT(changed, 2);
}

/// Remainder and quotient that round down, as jnp.remainder and jnp.floor_divide write them, and a place counted from
/// the end, for every element of the argument.
kir::Kernel Floors(int64_t n, int32_t by) {
  kir::KernelBuilder b;
  const kir::DimId i = b.AddDim(Size::Of(n));
  const kir::Buf x = b.AddDense(kir::BufKind::kArg, s32, {n});
  const kir::Buf out = b.AddDense(kir::BufKind::kOut, s32, {3, n});
  const Val v = b.Read(x, {kir::At(i)}), c = b.ConstS32(by), zero = b.ConstS32(0), no = b.ConstPred(false);
  const Val r = b.Rem(v, c), below = b.Compare(kir::kLt, r, zero), other = b.Compare(kir::kLt, c, zero);
  const Val apart = b.And(b.Compare(kir::kNe, below, by > 0 ? no : other), b.Compare(kir::kNe, r, zero));
  const Val mod = b.Select(apart, b.Add(r, c), r);
  const Val q = b.Div(v, c), signs = b.Compare(kir::kNe, b.Sign(v), b.Sign(c));
  const Val div = b.Select(b.And(signs, b.Compare(kir::kNe, r, zero)), b.Sub(q, b.ConstS32(1)), q);
  const Val place = b.Select(b.Compare(kir::kLt, mod, zero), b.Add(mod, c), mod);
  kir::Stage stage;
  stage.dims = {i};
  int64_t row = 0;
  for (Val value : {mod, div, place})
    stage.stores.push_back(
        {.buf = out, .at = {kir::AtOffset(Size::Of(row++)), kir::At(i)}, .guard = {}, .value = value});
  b.AddStage(stage);
  return b.Finish();
}

// What a byte asks for is asked for by the byte, where a clamp cannot change it; by the clamped number where it can.
TEST(Integers, PlacesAreAskedForByTheNarrowestNumber) {
  for (const int64_t last : {254, 255, 300}) {
    kir::KernelBuilder b;
    const kir::DimId i = b.AddDim(Size::Of(9));
    const kir::Buf keys = b.AddDense(kir::BufKind::kArg, DType::kU8, {9}),
                   table = b.AddDense(kir::BufKind::kArg, s32, {last + 1}),
                   out = b.AddDense(kir::BufKind::kOut, s32, {9});
    const Val key = b.Convert(DType::kS64, b.Convert(s32, b.Read(keys, {kir::At(i)})));
    const Val place = b.Min(b.Max(key, b.ConstS64(0)), b.ConstS64(last));
    kir::Stage stage;
    stage.dims = {i};
    stage.stores.push_back(
        {.buf = out, .at = {kir::At(i)}, .guard = {}, .value = b.Read(table, {kir::AtStart(place)})});
    b.AddStage(stage);
    kir::Kernel k = b.Finish();
    Simplify(k);
    EXPECT_TRUE(kir::Verify(k).ok()) << kir::Verify(k).ToString();
    EXPECT_EQ(Has(k, Op::kConvert), last < 255) << kir::Print(k);
    EXPECT_EQ(Has(k, Op::kMin), last < 255) << kir::Print(k);
  }
}

TEST(Integers, RemaindersThatRoundDown) {
  std::vector<int32_t> in{kLowest, kLowest + 1, kHighest, kHighest - 1, 0};
  for (int32_t v = -70; v <= 70; ++v) in.push_back(v);
  const auto n = static_cast<int64_t>(in.size());
  for (int32_t by : {1, 2, 3, 8, 24, 32, 1 << 30, kHighest, -1, -4, -7, kLowest}) {
    kir::Kernel k = Floors(n, by);
    const std::vector<int32_t> before = Results(k, in, 3 * in.size());
    Simplify(k);
    EXPECT_EQ(Results(k, in, 3 * in.size()), before) << by << kir::Print(k);
    const bool power = by > 0 && (by & (by - 1)) == 0;
    if (power) {
      EXPECT_FALSE(Has(k, Op::kRem)) << by << kir::Print(k);
      EXPECT_FALSE(Has(k, Op::kDiv)) << by << kir::Print(k);
    }
  }
}

/// out[i] = what a counter from `first` by `step` gives in trip i, modulo 3 and compared with 5: for so many trips, or
/// while it is below `below`.
kir::Kernel Counted(int32_t first, int32_t step, int64_t trips, std::optional<int32_t> below) {
  kir::KernelBuilder b;
  b.AddDense(kir::BufKind::kArg, s32, {1});
  const kir::Buf out = b.AddDense(kir::BufKind::kOut, s32, {trips, 3});
  kir::Loop loop;
  loop.id = b.NewId();
  loop.types = {s32, DType::kS64};
  loop.init = {b.ConstS32(first), b.ConstS64(0)};
  const Val i = b.Carried(loop.id, 0, s32), trip = b.Carried(loop.id, 1, DType::kS64);
  loop.next = {b.Add(i, b.ConstS32(step)), b.Add(trip, b.ConstS64(1))};
  if (below) {
    loop.condition = b.And(b.Compare(kir::kLt, i, b.ConstS32(*below)), b.Compare(kir::kLt, trip, b.ConstS64(trips)));
  } else {
    loop.trip_count = Size::Of(trips);
  }
  const Val at = b.Min(trip, b.ConstS64(trips - 1));
  kir::Stage stage;
  const Val values[] = {b.Rem(i, b.ConstS32(3)), b.Convert(s32, b.Compare(kir::kGe, i, b.ConstS32(5))),
                        b.Div(i, b.ConstS32(4))};
  for (int64_t v = 0; v < 3; ++v) {
    stage.stores.push_back(
        {.buf = out, .at = {kir::AtStart(at), kir::AtOffset(Size::Of(v))}, .guard = {}, .value = values[v]});
  }
  loop.body.push_back(kir::Step{stage});
  b.AddLoop(std::move(loop));
  return b.Finish();
}

// Counters that wrap around, begin below zero, or stop by a condition.
TEST(Integers, CountersOfLoops) {
  for (int32_t first : {0, 5, 7, -3, kHighest - 2, kLowest}) {
    for (int32_t step : {1, 2, -1, 1 << 30}) {
      for (std::optional<int32_t> below :
           {std::optional<int32_t>(), std::optional<int32_t>(9), std::optional<int32_t>(kHighest)}) {
        kir::Kernel k = Counted(first, step, 8, below);
        const std::vector<int32_t> before = Results(k, {0}, 24);
        Simplify(k);
        EXPECT_EQ(Results(k, {0}, 24), before) << first << " " << step << kir::Print(k);
      }
    }
  }
  kir::Kernel k = Counted(5, 1, 8, std::nullopt);
  Simplify(k);
  EXPECT_FALSE(Has(k, Op::kDiv)) << kir::Print(k);
  EXPECT_FALSE(Has(k, Op::kCompare)) << kir::Print(k);
}

/// out[i, j] = x[min(max(rows * i - j * convert(scale) + shift, 0), 99)], the place computed as s32.
kir::Kernel Windows(int32_t rows, int32_t scale, int32_t shift) {
  kir::KernelBuilder b;
  const kir::DimId i = b.AddDim(Size::Of(8)), j = b.AddDim(Size::Of(5));
  const kir::Buf x = b.AddDense(kir::BufKind::kArg, s32, {100});
  const kir::Buf out = b.AddDense(kir::BufKind::kOut, s32, {8, 5});
  const auto index = [&](kir::DimId d) { return b.Convert(s32, b.Index(d)); };
  const Val place =
      b.Add(b.Sub(b.Mul(index(i), b.ConstS32(rows)), b.Mul(index(j), b.ConstS32(scale))), b.ConstS32(shift));
  const Val inside = b.Min(b.Max(b.Convert(DType::kS64, place), b.ConstS64(0)), b.ConstS64(99));
  kir::Stage stage;
  stage.dims = {i, j};
  stage.stores.push_back(
      {.buf = out, .at = {kir::At(i), kir::At(j)}, .guard = {}, .value = b.Read(x, {kir::AtStart(inside)})});
  b.AddStage(stage);
  return b.Finish();
}

// Places made of indices become terms, unless a clamp or a wrap changes some of them.
TEST(Integers, PlacesThatAreAffine) {
  std::vector<int32_t> in(100);
  for (int32_t v = 0; v < 100; ++v) in[static_cast<size_t>(v)] = 7 * v;
  struct Case {
    int32_t rows, scale, shift;
    bool affine;
  };
  for (const Case& c :
       {Case{1, -1, 0, true}, Case{10, 2, 20, true}, Case{-12, 3, 96, true}, Case{13, 1, 4, true},
        Case{13, 1, 3, false}, Case{13, -2, 1, false}, Case{1 << 30, 1, 50, false}, Case{0, 0, 42, true}}) {
    kir::Kernel k = Windows(c.rows, c.scale, c.shift);
    const std::vector<int32_t> before = Results(k, in, 40);
    Simplify(k);
    EXPECT_EQ(Results(k, in, 40), before) << kir::Print(k);
    EXPECT_EQ(k.reads[0].at[0].start == kir::kNone, c.affine) << kir::Print(k);
  }
}

/// out[i] = the place, counted from the end where it is below 0, that rounding down x[i] / (x[i] - 3), clamped as a
/// float to [least, most], gives.
kir::Kernel ClampedFloats(int64_t n, float least, float most) {
  kir::KernelBuilder b;
  const kir::DimId i = b.AddDim(Size::Of(n));
  const kir::Buf x = b.AddDense(kir::BufKind::kArg, s32, {n});
  const kir::Buf out = b.AddDense(kir::BufKind::kOut, s32, {n});
  const Val v = b.Convert(DType::kF32, b.Read(x, {kir::At(i)}));
  const Val place = b.Floor(b.Div(v, b.Sub(v, b.ConstF32(3))));
  const Val clamped = b.Convert(s32, b.Min(b.ConstF32(most), b.Max(b.ConstF32(least), place)));
  const Val from_end = b.Add(clamped, b.ConstS32(100));
  kir::Stage stage;
  stage.dims = {i};
  stage.stores.push_back({.buf = out,
                          .at = {kir::At(i)},
                          .guard = {},
                          .value = b.Select(b.Compare(kir::kLt, clamped, b.ConstS32(0)), from_end, clamped)});
  b.AddStage(stage);
  return b.Finish();
}

TEST(Integers, FloatsThatAreClamped) {
  std::vector<int32_t> in{kLowest, kHighest, 0, 3};
  for (int32_t v = -200; v <= 200; ++v) in.push_back(v);
  const auto n = static_cast<int64_t>(in.size());
  struct Case {
    float least, most;
    bool below_zero;
  };
  for (const Case& c : {Case{0, 50, false}, Case{0.5F, 3e9F, false}, Case{-0.5F, 7, false}, Case{-1, 50, true},
                        Case{-3e9F, 5, true}, Case{NAN, 50, true}, Case{7, 5, false}}) {
    kir::Kernel k = ClampedFloats(n, c.least, c.most);
    const std::vector<int32_t> before = Results(k, in, in.size());
    Simplify(k);
    EXPECT_EQ(Results(k, in, in.size()), before) << kir::Print(k);
    EXPECT_EQ(Has(k, Op::kSelect), c.below_zero) << kir::Print(k);
  }
}

/// Which places, moved by a number of the argument that lies in [0, most], lie before `end`: places are of 64 bits.
kir::Kernel BeforeEnd(int64_t n, int64_t most, int64_t end) {
  kir::KernelBuilder b;
  const kir::DimId i = b.AddDim(Size::Of(n));
  const kir::Buf x = b.AddDense(kir::BufKind::kArg, s32, {n}), out = b.AddDense(kir::BufKind::kOut, s32, {n});
  const Val by = b.Convert(DType::kS64, b.Read(x, {kir::AtOffset(Size::Of(0))}));
  const Val place = b.Add(b.Index(i), b.Min(b.Max(by, b.ConstS64(0)), b.ConstS64(most)));
  kir::Stage stage;
  stage.dims = {i};
  stage.stores.push_back(
      {.buf = out,
       .at = {kir::At(i)},
       .guard = {},
       .value = b.Select(b.Compare(kir::kLt, place, b.ConstS64(end)), b.ConstS32(7), b.ConstS32(-7))});
  b.AddStage(stage);
  return b.Finish();
}

// Where all of it fits. Places alone stay numbers of 64 bits.
TEST(Integers, PlacesAreComparedInThirtyTwoBits) {
  const auto is_wide = [](const kir::Kernel& k) {
    return std::any_of(k.nodes.begin(), k.nodes.end(),
                       [](const kir::Node& n) { return n.type == DType::kS64 && n.op != Op::kIndex; });
  };
  constexpr int64_t kPlaces = 40;
  for (const int64_t most : {int64_t{30}, int64_t{kHighest} - kPlaces, int64_t{kHighest}}) {
    for (const int32_t by : {-3, 0, 12, 25, kHighest}) {
      std::vector<int32_t> in(kPlaces, by);
      kir::Kernel k = BeforeEnd(kPlaces, most, 50);
      const std::vector<int32_t> before = Results(k, in, kPlaces);
      Simplify(k);
      EXPECT_EQ(Results(k, in, kPlaces), before) << kir::Print(k);
      EXPECT_EQ(is_wide(k), most == kHighest) << kir::Print(k);
    }
  }
}

/// Bytes made of all pairs of bytes by arithmetic in s32.
kir::Kernel OfBytes(const std::function<Val(kir::KernelBuilder&, Val, Val)>& make, DType out_type = DType::kU8) {
  constexpr int64_t kBytes = 256;
  kir::KernelBuilder b;
  const kir::DimId i = b.AddDim(Size::Of(kBytes)), j = b.AddDim(Size::Of(kBytes));
  const kir::Buf x = b.AddDense(kir::BufKind::kArg, DType::kU8, {kBytes}),
                 y = b.AddDense(kir::BufKind::kArg, DType::kS8, {kBytes}),
                 out = b.AddDense(kir::BufKind::kOut, out_type, {kBytes, kBytes});
  const Val v = make(b, b.Convert(s32, b.Read(x, {kir::At(i)})), b.Convert(s32, b.Read(y, {kir::At(j)})));
  kir::Stage stage;
  stage.dims = {i, j};
  stage.stores.push_back({.buf = out, .at = {kir::At(i), kir::At(j)}, .guard = {}, .value = b.Convert(out_type, v)});
  b.AddStage(stage);
  return b.Finish();
}

std::vector<uint8_t> OfAllBytes(const kir::Kernel& k) {
  const Status verified = kir::Verify(k);
  EXPECT_TRUE(verified.ok()) << verified.ToString() << kir::Print(k);
  std::vector<uint8_t> x(256), y(256), out(size_t{256} * 256 * static_cast<size_t>(ByteWidth(k.buffers[2].type)));
  for (size_t i = 0; i < x.size(); ++i) x[i] = y[i] = static_cast<uint8_t>(i);
  const auto ref = [](std::vector<uint8_t>& v) {
    return kir::BufferRef{v.data(), v.data(), static_cast<int64_t>(v.size())};
  };
  const kir::BufferRef refs[] = {ref(x), ref(y), ref(out)};
  const Status run = kir::Evaluate(k, refs, {});
  EXPECT_TRUE(run.ok()) << run.ToString() << kir::Print(k);
  return out;
}

// Sums, products, shifts, choices and comparisons of bytes, some of them below zero, are numbers of 16 bits where these
// hold all of them; what they do not hold, and what is wanted longer, stays as it is.
TEST(Integers, ArithmeticOnBytesIsShort) {
  using B = kir::KernelBuilder;
  struct Case {
    const char* name;
    bool is_short;
    std::function<Val(B&, Val, Val)> make;
  };
  const auto c = [](B& b, int32_t v) { return b.ConstS32(v); };
  const Case cases[] = {
      {"sum of weighted bytes", true,
       [&](B& b, Val x, Val y) {
         const Val positive = b.And(y, c(b, 127));
         return b.ShrArith(b.Add(b.Add(b.Mul(x, c(b, 77)), b.Mul(positive, c(b, 300))), c(b, 128)), c(b, 8));
       }},
      {"below zero", true, [&](B& b, Val x, Val y) { return b.ShrArith(b.Sub(b.Mul(y, c(b, 100)), x), c(b, 3)); }},
      {"clamped", true,
       [&](B& b, Val x, Val y) { return b.Min(b.Max(b.Add(b.Mul(y, c(b, 3)), x), c(b, 0)), c(b, 255)); }},
      {"chosen", true,
       [&](B& b, Val x, Val y) {
         return b.Select(b.Compare(kir::kLt, b.Mul(x, c(b, 2)), y), b.Mul(x, x), b.Mul(x, c(b, 5)));
       }},
      {"low bits of products", true, [&](B& b, Val x, Val y) { return b.And(b.Mul(x, x), b.And(y, c(b, 31))); }},
      {"one bit too long", false,
       [&](B& b, Val x, Val) { return b.ShrArith(b.Add(b.Mul(x, c(b, 258)), c(b, 0)), c(b, 8)); }},
      {"compared with what no type holds as well", false,
       [&](B& b, Val x, Val y) { return b.Select(b.Compare(kir::kLt, b.Mul(x, x), y), x, y); }},
      {"divided", false, [&](B& b, Val x, Val y) { return b.Div(x, b.Max(y, c(b, 1))); }},
  };
  const auto is_short = [](const kir::Kernel& k) {
    return std::ranges::none_of(k.nodes, [](const kir::Node& n) { return n.type == s32; });
  };
  for (const Case& test : cases) {
    for (const DType type : {DType::kU8, DType::kS16, s32}) {
      kir::Kernel k = OfBytes(test.make, type);
      const std::vector<uint8_t> before = OfAllBytes(k);
      ShortenNumbers(k);
      DropDead(k);
      EXPECT_EQ(OfAllBytes(k), before) << test.name << kir::Print(k);
      EXPECT_EQ(is_short(k), test.is_short && type != s32) << test.name << kir::Print(k);
    }
  }
}

}  // namespace
}  // namespace tenon::compiler
