// The order of a stage's points: as they are stored, but for what is read along rows or shared by them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/kir/evaluate.h"
#include "tenon/target/target.h"

namespace tenon::compiler {
namespace {

constexpr int64_t kRows = 3, kColumns = 5;

/// A kernel over 3 rows of 5 points that reads b0 (a number per row), b1 (one per column) and b2 (one per point), and
/// writes the node `stored` to b3 at `place`.
kir::Kernel KernelOf(const std::string& nodes, const std::string& place, int stored = 2) {
  Result<kir::Kernel> kernel = kir::Parse(R"(kernel v1 params 0 outer 0 {
  dim d0 parallel 3
  dim d1 parallel 5
  buffer b0 arg f32 [3] stride [1]
  buffer b1 arg f32 [5] stride [1]
  buffer b2 arg f32 [15] stride [1]
  buffer b3 out f32 [15] stride [1]
)" + nodes + fmt::format("  stage (d0, d1) {{\n    store b3[{}] = %{}\n  }}\n}}\n", place, stored));
  EXPECT_TRUE(kernel.ok()) << kernel.status().ToString();
  const Status verified = kernel.ok() ? kir::Verify(*kernel) : kernel.status();
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  return *std::move(kernel);
}

std::vector<float> ResultOf(const kir::Kernel& k) {
  std::vector<float> rows(kRows), columns(kColumns), points(kRows * kColumns), out(kRows * kColumns, -77);
  std::iota(rows.begin(), rows.end(), 2.0f);
  std::iota(columns.begin(), columns.end(), 7.0f);
  std::iota(points.begin(), points.end(), 100.0f);
  const auto ref = [](std::vector<float>& v) {
    return kir::BufferRef{v.data(), v.data(), static_cast<int64_t>(v.size() * sizeof(float))};
  };
  const kir::BufferRef refs[] = {ref(rows), ref(columns), ref(points), ref(out)};
  const Status run = kir::Evaluate(k, refs, {});
  EXPECT_TRUE(run.ok()) << run.ToString();
  return out;
}

/// Whether rows and columns change places; what is stored stays the same.
bool Turns(kir::Kernel k) {
  const std::vector<float> before = ResultOf(k);
  FollowStores(k, *target::StandardTarget());
  const Status verified = kir::Verify(k);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  EXPECT_EQ(ResultOf(k), before) << kir::Print(k);
  return k.dims[0].extent == kir::Size::Of(kColumns);
}

const std::string kTurned = "d0 + d1*3", kInOrder = "d0*5 + d1";
const std::string kOuter =
    "  read r0 = b0[d0]\n  %0 = f32 read r0\n  read r1 = b1[d1]\n  %1 = f32 read r1\n  %2 = f32 mul %0, %1\n";

TEST(FollowStores, OfAnOuterProduct) {
  EXPECT_TRUE(Turns(KernelOf(kOuter, kTurned)));
  EXPECT_FALSE(Turns(KernelOf(kOuter, kInOrder)));
}

TEST(FollowStores, NotOfWhatIsReadAlongRows) {
  const auto read = [](const std::string& at) {
    return "  read r0 = b0[d0]\n  %0 = f32 read r0\n  read r1 = b2[" + at +
           "]\n  %1 = f32 read r1\n  %2 = f32 mul %0, %1\n";
  };
  EXPECT_FALSE(Turns(KernelOf(read(kInOrder), kTurned)));
  EXPECT_TRUE(Turns(KernelOf(read(kTurned), kTurned)));
}

TEST(FollowStores, NotOfWhatRowsShare) {
  // So many quotients for each row, which those of the other order would compute for each of their points.
  const auto shared = [](int quotients) {
    std::string text = "  read r0 = b0[d0]\n  %0 = f32 read r0\n";
    for (int i = 1; i <= quotients; ++i) text += fmt::format("  %{} = f32 div %{}, %0\n", i, i - 1);
    return text + fmt::format("  read r1 = b1[d1]\n  %{0} = f32 read r1\n  %{1} = f32 mul %{2}, %{0}\n", quotients + 1,
                              quotients + 2, quotients);
  };
  EXPECT_TRUE(Turns(KernelOf(shared(0), kTurned, 2)));
  EXPECT_FALSE(Turns(KernelOf(shared(20), kTurned, 22)));
}

}  // namespace
}  // namespace tenon::compiler
