#include "tenon/runtime/internal/bounds.h"

#include <gtest/gtest.h>

#include "tenon/kir/builder.h"

namespace tenon::runtime::internal {
namespace {

using kir::Size;

/// in[n] -> out[n], the read and store as the test wants them.
struct Case {
  kir::KernelBuilder b;
  kir::DimId i = b.AddDim(Size::Of(8));
  kir::Buf in = b.AddDense(kir::BufKind::kArg, DType::kF32, {8});
  kir::Buf out = b.AddDense(kir::BufKind::kOut, DType::kF32, {8});
  kir::Stage stage;
  Case() { stage.dims = {i}; }

  Status Check(int64_t in_bytes = 32, int64_t out_bytes = 32, std::vector<int64_t> params = {}) {
    b.AddStage(stage);
    const kir::Kernel k = b.Finish();
    EXPECT_TRUE(kir::Verify(k).ok()) << kir::Verify(k).ToString();
    const Reach reach[] = {{0, in_bytes}, {0, out_bytes}};
    return CheckBounds(k, params, reach, std::nullopt);
  }
};

kir::Axis Shifted(kir::DimId d, int64_t offset, int64_t coef = 1) {
  kir::Axis a;
  a.terms.push_back({d, Size::Of(coef)});
  a.offset = Size::Of(offset);
  return a;
}

TEST(Bounds, WholeArraysFitExactly) {
  Case good;
  good.stage.stores.push_back({good.out, {kir::At(good.i)}, {}, good.b.Read(good.in, {kir::At(good.i)})});
  EXPECT_TRUE(good.Check().ok());
  Case small_in;
  small_in.stage.stores.push_back(
      {small_in.out, {kir::At(small_in.i)}, {}, small_in.b.Read(small_in.in, {kir::At(small_in.i)})});
  EXPECT_EQ(small_in.Check(31).code(), Code::kInvalidArgument);
  Case small_out;
  small_out.stage.stores.push_back(
      {small_out.out, {kir::At(small_out.i)}, {}, small_out.b.Read(small_out.in, {kir::At(small_out.i)})});
  EXPECT_EQ(small_out.Check(32, 28).code(), Code::kInvalidArgument);
}

TEST(Bounds, OffsetsAndBackwardReads) {
  Case before;
  before.stage.stores.push_back(
      {before.out, {kir::At(before.i)}, {}, before.b.Read(before.in, {Shifted(before.i, -1)})});
  EXPECT_EQ(before.Check().code(), Code::kInvalidArgument);
  Case backward;
  backward.stage.stores.push_back(
      {backward.out, {kir::At(backward.i)}, {}, backward.b.Read(backward.in, {Shifted(backward.i, 7, -1)})});
  EXPECT_TRUE(backward.Check().ok());
}

TEST(Bounds, GuardsLimitWhatTheyGuard) {
  const auto guarded = [](int64_t lo, int64_t hi, int64_t guard_offset) {
    Case c;
    kir::Read read;
    read.buf = c.in;
    read.at = {Shifted(c.i, -3)};
    read.guard.push_back({Shifted(c.i, guard_offset), Size::Of(lo), Size::Of(hi)});
    read.otherwise = c.b.Const(DType::kF32, 0.0);
    c.stage.stores.push_back({c.out, {kir::At(c.i)}, {}, c.b.Read(read, 0)});
    return c.Check().code();
  };
  EXPECT_EQ(guarded(0, 8, -3), Code::kOk);
  EXPECT_EQ(guarded(3, 8, 0), Code::kOk);
  EXPECT_EQ(guarded(2, 8, 0), Code::kInvalidArgument);
  EXPECT_EQ(guarded(-1, 8, -3), Code::kInvalidArgument);
  EXPECT_EQ(guarded(100, 101, 0), Code::kOk);  // Never read.
}

TEST(Bounds, StartsFromDataMustBeClamped) {
  const auto start = [](bool low, bool high, int64_t limit) {
    Case c;
    const kir::Val data = c.b.Convert(DType::kS64, c.b.Convert(DType::kS32, c.b.Read(c.in, {kir::At(c.i)})));
    kir::Val v = data;
    if (low) v = c.b.Max(v, c.b.Const(DType::kS64, int64_t{0}));
    if (high) v = c.b.Min(v, c.b.Const(DType::kS64, limit));
    kir::Axis at;
    at.start = v;
    c.stage.stores.push_back({c.out, {kir::At(c.i)}, {}, c.b.Read(c.in, {at})});
    return c.Check().code();
  };
  EXPECT_EQ(start(true, true, 7), Code::kOk);
  EXPECT_EQ(start(true, true, 8), Code::kInvalidArgument);
  EXPECT_EQ(start(true, false, 7), Code::kInvalidArgument);
  EXPECT_EQ(start(false, true, 7), Code::kInvalidArgument);
}

// Code that keeps short rows in registers reads all of them, as far as extents and what bounds the keys say; a
// parameter, which the code does not know, is no such bound.
TEST(Bounds, RowsThatAreReadByKeysAreThereToTheirEnd) {
  const auto read = [](int64_t row, int64_t memory) {
    Case c;
    const kir::Buf table = c.b.AddDense(kir::BufKind::kArg, DType::kF32, {row});
    const kir::Val bits =
        c.b.And(c.b.Convert(DType::kS64, c.b.Read(c.in, {kir::At(c.i)})), c.b.Const(DType::kS64, int64_t{255}));
    c.b.kernel().num_params = 1;
    kir::Axis at;
    const kir::Val bounded = c.b.Min(bits, c.b.Emit(kir::Op::kParam, DType::kS64, {}));
    at.start = c.b.Max(bounded, c.b.Const(DType::kS64, int64_t{0}));
    c.stage.stores.push_back({c.out, {kir::At(c.i)}, {}, c.b.Read(table, {at})});
    c.b.AddStage(c.stage);
    const kir::Kernel k = c.b.Finish();
    EXPECT_TRUE(kir::Verify(k).ok()) << kir::Verify(k).ToString();
    const Reach reach[] = {{0, 32}, {0, 32}, {0, 4 * memory}};
    const int64_t params[] = {9};
    return CheckBounds(k, params, reach, std::nullopt).code();
  };
  EXPECT_EQ(read(10, 10), Code::kOk);
  EXPECT_EQ(read(300, 256), Code::kOk);
  EXPECT_EQ(read(300, 255), Code::kInvalidArgument);
  EXPECT_EQ(read(10, 9), Code::kInvalidArgument);
}

TEST(Bounds, GuardsOfAValueHoldForSumsAndMultiplesOfIt) {
  // in[7 - 2x] where 0 <= x < limit, x read from memory: as a reversed view of a dynamic slice reads.
  const auto reversed = [](int64_t limit, bool wraps) {
    Case c;
    const kir::Val data =
        c.b.Convert(DType::kS64, c.b.Convert(wraps ? DType::kS64 : DType::kS32, c.b.Read(c.in, {kir::At(c.i)})));
    kir::Axis x;
    x.start = data;
    kir::Read read;
    read.buf = c.in;
    read.at.resize(1);
    const kir::Val twice = c.b.Mul(data, c.b.Const(DType::kS64, int64_t{-2}));
    read.at[0].start = c.b.Add(twice, c.b.Const(DType::kS64, int64_t{7}));
    read.guard.push_back({x, Size::Of(0), Size::Of(limit)});
    read.otherwise = c.b.Const(DType::kF32, 0.0);
    c.stage.stores.push_back({c.out, {kir::At(c.i)}, {}, c.b.Read(read, 0)});
    return c.Check().code();
  };
  EXPECT_EQ(reversed(4, false), Code::kOk);
  EXPECT_EQ(reversed(5, false), Code::kInvalidArgument);
  // The product may wrap, but not where the guard holds.
  EXPECT_EQ(reversed(4, true), Code::kOk);
  EXPECT_EQ(reversed(5, true), Code::kInvalidArgument);
}

TEST(Bounds, AddressesMayBeSumsOfGuardedParts) {
  // in[x + y] where 0 <= x < limit and 0 <= y < 4, both read from memory and as wide as the address.
  const auto sum = [](int64_t limit) {
    Case c;
    const auto part = [&] { return c.b.Convert(DType::kS64, c.b.Read(c.in, {kir::At(c.i)})); };
    kir::Axis x, y;
    x.start = part();
    y.start = c.b.Neg(part());
    kir::Read read;
    read.buf = c.in;
    read.at.resize(1);
    read.at[0].start = c.b.Add(x.start, y.start);
    read.guard.push_back({x, Size::Of(0), Size::Of(limit)});
    read.guard.push_back({y, Size::Of(0), Size::Of(4)});
    read.otherwise = c.b.Const(DType::kF32, 0.0);
    c.stage.stores.push_back({c.out, {kir::At(c.i)}, {}, c.b.Read(read, 0)});
    return c.Check().code();
  };
  EXPECT_EQ(sum(5), Code::kOk);
  EXPECT_EQ(sum(6), Code::kInvalidArgument);
}

TEST(Bounds, GuardsOfWhatMayWrapSayNothingOfItsParts) {
  // in[x] where 0 <= 2x < 16: x = 2^63 wraps to 0.
  const auto doubled = [](DType narrow) {
    Case c;
    const kir::Val data = c.b.Convert(DType::kS64, c.b.Convert(narrow, c.b.Read(c.in, {kir::At(c.i)})));
    kir::Axis twice;
    twice.start = c.b.Mul(data, c.b.Const(DType::kS64, int64_t{2}));
    kir::Read read;
    read.buf = c.in;
    read.at.resize(1);
    read.at[0].start = data;
    read.guard.push_back({twice, Size::Of(0), Size::Of(16)});
    read.otherwise = c.b.Const(DType::kF32, 0.0);
    c.stage.stores.push_back({c.out, {kir::At(c.i)}, {}, c.b.Read(read, 0)});
    return c.Check().code();
  };
  EXPECT_EQ(doubled(DType::kS64), Code::kInvalidArgument);
}

TEST(Bounds, ParametersAreLookedUp) {
  const auto with = [](std::vector<int64_t> params) {
    kir::KernelBuilder b;
    const kir::DimId i = b.AddDim(Size::Param(0));
    const SmallVector<Size, 4> extent{Size::Param(0)}, stride{Size::Of(1)};
    const kir::Buf in = b.AddBuffer(kir::BufKind::kArg, DType::kF32, extent, stride);
    const kir::Buf out = b.AddBuffer(kir::BufKind::kOut, DType::kF32, extent, stride);
    kir::Stage stage;
    stage.dims = {i};
    stage.stores.push_back({out, {kir::At(i)}, {}, b.Read(in, {kir::At(i)})});
    b.AddStage(stage);
    kir::Kernel k = b.Finish();
    k.num_params = 1;
    const Reach reach[] = {{0, 32}, {0, 32}};
    return CheckBounds(k, params, reach, std::nullopt).code();
  };
  EXPECT_EQ(with({8}), Code::kOk);
  EXPECT_EQ(with({0}), Code::kOk);
  EXPECT_EQ(with({9}), Code::kInvalidArgument);
  EXPECT_EQ(with({-1}), Code::kInvalidArgument);
  EXPECT_EQ(with({INT64_MAX}), Code::kInvalidArgument);
  EXPECT_EQ(with({}), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tenon::runtime::internal
