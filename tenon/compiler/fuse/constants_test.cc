#include "tenon/compiler/fuse/constants.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/evaluate.h"

namespace tenon::compiler {
namespace {

using kir::Op;

/// Bits of the types that are folded: zeros, ones, extremes, subnormals, what rounds to them, NaNs.
const std::vector<uint64_t>& Samples(DType type) {
  static const std::vector<uint64_t> pred = {0, 1};
  static const std::vector<uint64_t> whole = {0, 1, 2, 7, 0xffffffff, 0xfffffffe, 0x7fff, 0x8000, 1u << 24, 0x80000000};
  static const std::vector<uint64_t> wide = {0, 1, 5, ~uint64_t{0}, ~uint64_t{0} - 3, 1u << 30, uint64_t{1} << 63};
  static const std::vector<uint64_t> f32 = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x00800000, 0x00800001,
                                            0x00000001, 0x007fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f7fffff,
                                            0x20000000, 0x1fffffff, 0x7f7fffff, 0x3eaaaaab, 0x1f800000, 0x40490fdb};
  return type == DType::kPred ? pred : type == DType::kS32 ? whole : type == DType::kS64 ? wide : f32;
}

TEST(Constants, AreWhatTheEvaluatorSays) {
  int folded = 0;
  const auto check = [&](Op op, uint8_t imm, DType type, DType in, size_t inputs) {
    for (uint64_t x : Samples(in)) {
      for (uint64_t y : Samples(in)) {
        kir::KernelBuilder b;
        kir::Node node{op, type, imm, 0, {}};
        SmallVector<KnownConstant, 3> known;
        for (size_t i = 0; i < inputs; ++i) {
          known.push_back({in, i == 0 ? x : y});
          node.in.push_back(b.ConstBits(in, i == 0 ? x : y));
        }
        const std::optional<uint64_t> bits = ValueOf(node, known);
        if (!bits) continue;
        ++folded;
        kir::Stage stage;
        kir::Store store;
        store.buf = b.AddBuffer(kir::BufKind::kOut, type, {kir::Size::Of(1)}, {kir::Size::Of(1)});
        store.at = {kir::AtOffset(kir::Size::Of(0))};
        store.value = b.Emit(node);
        stage.stores.push_back(store);
        b.AddStage(stage);
        uint64_t result = 0;
        const kir::BufferRef ref{&result, &result, sizeof(result)};
        ASSERT_TRUE(kir::Evaluate(b.Finish(), {&ref, 1}, {}).ok());
        EXPECT_EQ(result, *bits) << static_cast<int>(op) << " of " << x << " and " << y;
      }
    }
  };
  for (DType type : {DType::kPred, DType::kS32, DType::kS64, DType::kF32}) {
    for (uint8_t cmp : {kir::kEq, kir::kNe, kir::kLt, kir::kLe, kir::kGt, kir::kGe})
      check(Op::kCompare, cmp, DType::kPred, type, 2);
    if (type == DType::kPred) continue;
    for (Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin}) check(op, 0, type, type, 2);
    for (DType from : {DType::kS32, DType::kS64, DType::kPred}) check(Op::kConvert, 0, type, from, 1);
  }
  EXPECT_GT(folded, 1000);
}

TEST(Constants, SettleWhatDependsOnThem) {
  // The larger of the reduction's start and an element, of NaNs the first one, as argmax is written.
  kir::KernelBuilder b;
  const kir::DimId d = b.AddDim(kir::Size::Of(100));
  const kir::Buf in = b.AddBuffer(kir::BufKind::kArg, DType::kF32, {kir::Size::Of(100)}, {kir::Size::Of(1)});
  const kir::Buf out = b.AddBuffer(kir::BufKind::kOut, DType::kS32, {kir::Size::Of(100)}, {kir::Size::Of(1)});
  const kir::Val start = b.ConstF32(1), zero = b.ConstS32(0), x = b.Read(in, {kir::At(d)});
  const kir::Val nan = b.Compare(kir::kNe, start, start);
  const kir::Val greater = b.Emit(Op::kOr, DType::kPred, {b.Compare(kir::kGt, start, x), nan});
  kir::Stage stage;
  stage.dims = {d};
  kir::Store store;
  store.buf = out;
  store.at = {kir::At(d)};
  store.value = b.Select(greater, zero, zero);
  stage.stores.push_back(store);
  b.AddStage(stage);
  kir::Kernel k = b.Finish();
  FoldConstants(k);
  DropDead(k);
  EXPECT_EQ(k.nodes.size(), 1u) << kir::Print(k);
}

}  // namespace
}  // namespace tenon::compiler
