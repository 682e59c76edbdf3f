// Results in the memory of what a kernel reads: the evaluator finds the same numbers there as apart from it.
#include "tenon/compiler/fuse/in_place.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/kir/evaluate.h"

namespace tenon::compiler {
namespace {

constexpr kir::Buf kIn = 0, kOut = 1;
constexpr size_t kElements = 12;

/// A kernel over f32[12], rows of 4, that reads b0 and writes b1. `reads`: where; `seq`: what is stored and where.
kir::Kernel KernelOf(const std::string& outer, const std::string& reads, const std::string& seq) {
  Result<kir::Kernel> kernel = kir::Parse("kernel v1 params 0 outer " + outer + R"( {
  dim d0 parallel 3
  dim d1 parallel 4
  dim d2 reduce 4
  buffer b0 arg f32 [12] stride [1]
  buffer b1 out f32 [12] stride [1]
  graph g0 (f32, f32) {
    %0 = f32 arg 0
    %1 = f32 arg 1
    %2 = f32 add %0, %1
    return %2
  }
)" + reads + seq + "}\n");
  EXPECT_TRUE(kernel.ok()) << kernel.status().ToString();
  const Status verified = kernel.ok() ? kir::Verify(*kernel) : kernel.status();
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  return *std::move(kernel);
}

/// What the kernel leaves in b1, which lies in b0's memory or apart.
std::vector<float> ResultOf(const kir::Kernel& k, bool in_place) {
  std::vector<float> in(kElements), out(kElements, -77);
  std::iota(in.begin(), in.end(), 1.0f);
  const auto ref = [](std::vector<float>& v) {
    return kir::BufferRef{v.data(), v.data(), static_cast<int64_t>(v.size() * sizeof(float))};
  };
  const kir::BufferRef refs[] = {ref(in), ref(in_place ? in : out)};
  const Status run = kir::Evaluate(k, refs, {});
  EXPECT_TRUE(run.ok()) << run.ToString();
  return in_place ? in : out;
}

void TakesOver(kir::Kernel k) {
  ASSERT_TRUE(MayTakeOver(k, kOut, kIn)) << kir::Print(k);
  const std::vector<float> apart = ResultOf(k, false);
  k.buffers[kOut].in_place_of = kIn;
  EXPECT_EQ(ResultOf(k, true), apart);
  DropKept(k);
  DropDead(k);
  const Status verified = kir::Verify(k);
  ASSERT_TRUE(verified.ok()) << verified.ToString() << kir::Print(k);
  EXPECT_EQ(ResultOf(k, true), apart);
}
void StaysApart(const kir::Kernel& k) { EXPECT_FALSE(MayTakeOver(k, kOut, kIn)) << kir::Print(k); }

const std::string kHere = "  read r0 = b0[d0*4 + d1]\n  %0 = f32 read r0\n  %1 = f32 add %0, %0\n";
std::string StageOf(const std::string& domain, const std::string& value, const std::string& at = "d0*4 + d1") {
  return "  stage (d0, d1) " + domain + "{\n    store b1[" + at + "] = " + value + "\n  }\n";
}

TEST(InPlace, StagesOfDifferentPoints) {
  TakesOver(KernelOf("0", kHere, StageOf("", "%1")));
  TakesOver(KernelOf("0", kHere, StageOf("domain d0 [0, 1) ", "%1") + StageOf("domain d0 [1, 3) ", "%0")));
  TakesOver(KernelOf("0", kHere,
                     StageOf("domain d0 [0, 2), d1 [0, 3) ", "%1") + StageOf("domain d0 [0, 2), d1 [3, 4) ", "%0") +
                         StageOf("domain d0 [2, 3) ", "%1")));
  // A point that two stages write has been written when the second reads it.
  StaysApart(KernelOf("0", kHere, StageOf("domain d0 [0, 2) ", "%1") + StageOf("domain d0 [1, 3) ", "%1")));
  StaysApart(KernelOf("0", kHere, StageOf("domain d0 [0, 1) ", "%1") + StageOf("domain d1 [1, 4) ", "%1")));
  // Others' elements are written.
  StaysApart(
      KernelOf("0", kHere, StageOf("domain d0 [0, 1) ", "%1") + StageOf("domain d0 [1, 3) ", "%1", "d0*-4 + d1 + 12")));
}

TEST(InPlace, ReadsOfOtherPoints) {
  const std::string next = "  read r0 = b0[d0*4 + d1 + 1]\n  %0 = f32 read r0\n";
  StaysApart(KernelOf("0", next, StageOf("domain d0 [0, 2) ", "%0")));
  const std::string guarded =
      "  %0 = f32 const 0.0\n  read r0 = b0[d0*4 + d1] if 0 <= d1 < 3 else %0\n  %1 = f32 read r0\n";
  StaysApart(KernelOf("0", guarded, StageOf("", "%1")));
}

const std::string kSums =
    "  read r0 = b0[d0*4 + d2]\n  %0 = f32 read r0\n  %1 = f32 const 0.0\n  %2 = f32 reduced #0.0\n"
    "  read r1 = b0[d0*4 + d1]\n  %3 = f32 read r1\n  %4 = f32 div %3, %2\n";
const std::string kSum = "  stage (d2) {\n    reduce #0 over (d2) sequential g0 in (%0) init (%1)\n  }\n";

TEST(InPlace, SumsOfOtherMemoryBefore) {
  const auto sum_of = [](const std::string& read) {
    return "  %1 = f32 const 0.5\n  %2 = f32 reduced #0.0\n  read " + read + " = b0[d0*4 + d1]\n  %3 = f32 read " +
           read + "\n  %4 = f32 add %3, %2\n";
  };
  const std::string here = "  stage (d0, d1) {\n    store b1[d0*4 + d1] = %4\n  }\n";
  TakesOver(KernelOf("0", "  %0 = f32 const 2.0\n" + sum_of("r0"), kSum + here));
  // What is summed is overwritten, by other threads perhaps before the sum is there.
  StaysApart(KernelOf("0", "  read r0 = b0[d2]\n  %0 = f32 read r0\n" + sum_of("r1"), kSum + here));
}

TEST(InPlace, RowsThatAreReadBefore) {
  TakesOver(KernelOf("1", kSums, kSum + "  stage (d1) {\n    store b1[d0*4 + d1] = %4\n  }\n"));
  // The row is another's.
  const std::string above =
      "  read r0 = b0[d2]\n  %0 = f32 read r0\n  %1 = f32 const 0.0\n  %2 = f32 reduced #0.0\n"
      "  read r1 = b0[d0*4 + d1]\n  %3 = f32 read r1\n  %4 = f32 div %3, %2\n";
  StaysApart(KernelOf("1", above, kSum + "  stage (d1) {\n    store b1[d0*4 + d1] = %4\n  }\n"));
  // Every point reads the row, which points before it have written.
  const std::string row =
      "  read r0 = b0[d0*4 + d2]\n  %0 = f32 read r0\n  %1 = f32 const 0.0\n  %2 = f32 reduced #0.0\n";
  StaysApart(KernelOf("1", row,
                      "  stage (d1, d2) {\n    reduce #0 over (d2) sequential g0 in (%0) init (%1)\n"
                      "    store b1[d0*4 + d1] = %2\n  }\n"));
}

}  // namespace
}  // namespace tenon::compiler
