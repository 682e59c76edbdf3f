// What a kernel moves, against what memory brings along.
#include "tenon/compiler/fuse/kernel_work.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tenon/kir/builder.h"

namespace tenon::compiler {
namespace {

using kir::DimId;
using kir::Size;
using kir::Val;

constexpr int64_t kPoints = 1000, kLine = 64, kFloat = 4;

/// Sums of elements that lie at these offsets, from one point to the next so many elements on.
kir::Kernel Strided(int64_t stride, const std::vector<int64_t>& offsets) {
  kir::KernelBuilder b;
  const DimId i = b.AddDim(Size::Of(kPoints));
  const kir::Buf in = b.AddDense(kir::BufKind::kArg, DType::kF32, {(kPoints + 1) * std::abs(stride)}),
                 out = b.AddDense(kir::BufKind::kOut, DType::kF32, {kPoints});
  Val sum = kir::kNone;
  for (const int64_t offset : offsets) {
    const Val read = b.Read(in, {kir::At(i, Size::Of(stride), Size::Of(offset))});
    sum = sum == kir::kNone ? read : b.Add(sum, read);
  }
  kir::Stage stage;
  stage.dims = {i};
  stage.stores.push_back({.buf = out, .at = {kir::At(i)}, .guard = {}, .value = sum});
  b.AddStage(stage);
  return b.Finish();
}

double BytesRead(const kir::Kernel& k) {
  const std::shared_ptr<const target::Target> target = target::StandardTarget();
  EXPECT_EQ(target->caches[0].line_bytes, kLine);
  const target::Work work = KernelWork(k, *target);
  EXPECT_EQ(work.bytes_written, kPoints * kFloat);
  return work.bytes_read;
}

TEST(KernelWork, StridedReadsBringWhatLiesBetweenThemAtMostALine) {
  EXPECT_EQ(BytesRead(Strided(1, {0})), kPoints * kFloat);
  EXPECT_EQ(BytesRead(Strided(3, {0})), kPoints * 3 * kFloat);
  EXPECT_EQ(BytesRead(Strided(-3, {3 * kPoints})), kPoints * 3 * kFloat);
  EXPECT_EQ(BytesRead(Strided(16, {0})), kPoints * kLine);
  EXPECT_EQ(BytesRead(Strided(100, {0})), kPoints * kLine);
}

TEST(KernelWork, ReadsOfOneLineShareIt) {
  EXPECT_EQ(BytesRead(Strided(100, {0, 1})), kPoints * (kLine + kFloat));
  EXPECT_EQ(BytesRead(Strided(100, {0, 50})), kPoints * 2 * kLine);
  // Never more than there is.
  EXPECT_EQ(BytesRead(Strided(4, {0, 1, 2, 3, 1, 2})), (kPoints + 1) * 4 * kFloat);
}

}  // namespace
}  // namespace tenon::compiler
