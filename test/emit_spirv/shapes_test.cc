// Kernels larger than random ones: several points of an invocation, rows of many workgroups, more workgroups than one
// direction takes, rows in scratch memory.
#include <gtest/gtest.h>

#include <cstring>

#include "test/emit_spirv/run.h"

namespace tenon::emit_spirv {
namespace {

class ShapesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto device = testing::TestedDevice();
    if (!device.ok()) GTEST_SKIP() << device.status().ToString();
    device_ = *device;
  }
  kir::Kernel Parse(std::string_view text, const std::vector<int64_t>& params) {
    const Result<kir::Kernel> kernel = kir::Parse(text);
    EXPECT_TRUE(kernel.ok()) << kernel.status().ToString();
    return Bake(*kernel, params);
  }
  std::shared_ptr<vulkan::Device> device_;
};

constexpr std::string_view kBias = R"(kernel v1 params 2 outer 0 {
  dim d0 parallel p0
  dim d1 parallel p1
  buffer b0 out s32 [p0, p1] stride [p1, 1]
  buffer b1 arg s32 [p0, p1] stride [p1, 1]
  buffer b2 arg s32 [p1] stride [1]
  read r0 = b1[d0, d1]
  %0 = s32 read r0
  read r1 = b2[d1]
  %1 = s32 read r1
  %2 = s32 add %0, %1
  stage (d0, d1) {
    store b0[d0, d1] = %2
  }
}
)";

TEST_F(ShapesTest, SeveralPointsOfAnInvocation) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{512, 512}, {601, 503}}) {
    const kir::Kernel kernel = Parse(kBias, {rows, columns});
    const auto module = Emit(kernel, testing::JudgedTarget());
    ASSERT_TRUE(module.ok()) << module.status().ToString();
    EXPECT_GT(module->dispatches[0].points_per_group, module->dispatches[0].group_size);
    const auto difference = testing::Judge(*device_, kernel, {}, int64_t{1} << 30);
    ASSERT_TRUE(difference.ok()) << difference.status().ToString();
    EXPECT_EQ(*difference, "") << rows << " x " << columns;
  }
}

// Rows of `TYPE` beside one of f32, a comparison, and what does not lie side by side.
constexpr std::string_view kWideRows = R"(kernel v1 params 2 outer 0 {
  dim d0 parallel p0
  dim d1 parallel p1
  buffer b0 out TYPE [p0, p1] stride [p1, 1]
  buffer b1 out pred [p0, p1] stride [p1, 1]
  buffer b2 out TYPE [p1, p0] stride [p0, 1]
  buffer b3 arg TYPE [p0, p1] stride [p1, 1]
  buffer b4 arg TYPE [p0] stride [1]
  buffer b5 arg f32 [p1] stride [1]
  read r0 = b3[d0, d1]
  %0 = TYPE read r0
  read r1 = b4[d0]
  %1 = TYPE read r1
  read r2 = b5[d1]
  %2 = f32 read r2
  %3 = TYPE convert %2
  %4 = TYPE ADD %0, %1
  %5 = TYPE ADD %4, %3
  %6 = pred cmp lt %0, %3
  stage (d0, d1) DOMAIN{
    store b0[d0, d1] = %5
    store b1[d0, d1] = %6
    store b2[d1, d0] = %4
  }
}
)";

TEST_F(ShapesTest, SeveralElementsAtOnce) {
  const auto replaced = [](std::string text, std::string_view what, std::string_view by) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
    return text;
  };
  for (const char* type : {"f32", "s32", "bf16", "f16", "s16", "u8", "s8", "s4", "f8e4m3fn", "pred", "f64", "u64"}) {
    std::string text = replaced(std::string(kWideRows), "TYPE", type);
    text = replaced(text, "ADD", "add");
    for (const char* domain : {"", "domain d1 [8, 120) "}) {
      const kir::Kernel kernel = Parse(replaced(text, "DOMAIN", domain), {160, 128});
      const auto any = Emit(kernel, testing::JudgedTarget());
      const auto module = Emit(kernel, testing::JudgedTarget(), Places::kAligned);
      ASSERT_TRUE(any.ok() && module.ok()) << any.status().ToString() << module.status().ToString();
      EXPECT_FALSE(any->needs_alignment);
      EXPECT_TRUE(module->needs_alignment) << type;
      EXPECT_LT(module->dispatches[0].Groups(nullptr), any->dispatches[0].Groups(nullptr));
      const auto difference = testing::Judge(*device_, kernel, {}, int64_t{1} << 30);
      ASSERT_TRUE(difference.ok()) << difference.status().ToString();
      EXPECT_EQ(*difference, "") << type << " " << domain;
    }
  }
  // Rows that begin at no multiple of the group do not.
  const kir::Kernel odd = Parse(
      replaced(replaced(replaced(std::string(kWideRows), "TYPE", "f32"), "ADD", "add"), "DOMAIN", ""), {160, 127});
  const auto module = Emit(odd, testing::JudgedTarget(), Places::kAligned);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_FALSE(module->needs_alignment);
}

// Each point sums four neighbours of each row: reads that lie side by side.
constexpr std::string_view kNeighbours = R"(kernel v1 params 2 outer 0 {
  dim d0 parallel p1
  dim d1 reduce p0
  buffer b0 out f32 [p1] stride [1]
  buffer b1 arg f32 [p0, p1, 4] stride [p1*4, 4, 1]
  graph g0 (f32, f32) {
    %0 = f32 arg 0
    %1 = f32 arg 1
    %2 = f32 add %0, %1
    return %2
  }
  read r0 = b1[d1, d0, 0]
  read r1 = b1[d1, d0, 1]
  read r2 = b1[d1, d0, 2]
  read r3 = b1[d1, d0, 3]
  %0 = f32 read r0
  %1 = f32 read r1
  %2 = f32 read r2
  %3 = f32 read r3
  %4 = f32 mul %0, %3
  %5 = f32 sub %4, %1
  %6 = f32 mul %5, %2
  %7 = f32 const 0.0
  %8 = f32 reduced #0.0
  stage (d0, d1) {
    reduce #0 over (d1) sequential g0 in (%6) init (%7)
    store b0[d0] = %8
  }
}
)";

TEST_F(ShapesTest, NeighboursAreReadAtOnce) {
  std::string text(kNeighbours);
  text.replace(text.find("p1*4"), 4, "280");
  const kir::Kernel kernel = Parse(text, {30, 70});
  const auto module = Emit(kernel, testing::JudgedTarget(), Places::kAligned);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_TRUE(module->needs_alignment);
  const auto difference = testing::Judge(*device_, kernel, {}, int64_t{1} << 30);
  ASSERT_TRUE(difference.ok()) << difference.status().ToString();
  EXPECT_EQ(*difference, "");
}

constexpr std::string_view kRowSums = R"(kernel v1 params 2 outer 0 {
  dim d0 parallel p0
  dim d1 reduce p1
  buffer b0 out f32 [p0] stride [1]
  buffer b1 arg f32 [p0, p1] stride [p1, 1]
  graph g0 (f32, f32) {
    %0 = f32 arg 0
    %1 = f32 arg 1
    %2 = f32 add %0, %1
    return %2
  }
  read r0 = b1[d0, d1]
  %0 = f32 read r0
  %1 = f32 const -0.0
  %2 = f32 reduced #0.0
  stage (d0, d1) {
    reduce #0 over (d1) lanes g0 in (%0) init (%1) identity (%1)
    store b0[d0] = %2
  }
}
)";

TEST_F(ShapesTest, MoreWorkgroupsThanOneDirectionTakes) {
  constexpr int64_t kRows = 70001, kColumns = 130;
  const kir::Kernel kernel = Parse(kRowSums, {kRows, kColumns});
  const auto module = Emit(kernel, testing::JudgedTarget());
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  ASSERT_GT(module->dispatches[0].GroupsByDirection(nullptr)[1], 1u);
  kir::testing::Memory memory = testing::SmallNumbers(kernel, {});
  auto& bytes = memory.blocks[1].bytes;
  const float one = 1;
  for (size_t at = 0; at + 4 <= bytes.size(); at += 4) std::memcpy(bytes.data() + at, &one, 4);
  ASSERT_TRUE(testing::Run(*device_, *module, {}, memory).ok());
  for (int64_t row = 0; row < kRows; ++row) {
    float sum = 0;
    std::memcpy(&sum, memory.blocks[0].bytes.data() + row * 4, 4);
    ASSERT_EQ(sum, float{kColumns}) << row;
  }
}

constexpr std::string_view kSoftmax = R"(kernel v1 params 2 outer 1 {
  dim d0 parallel p0
  dim d1 reduce p1
  dim d2 parallel p1
  buffer b0 out f32 [p0, p1] stride [p1, 1]
  buffer b1 arg f32 [p0, p1] stride [p1, 1]
  buffer b2 local f32 [p1] stride [1]
  graph g0 (f32, f32) {
    %0 = f32 arg 0
    %1 = f32 arg 1
    %2 = f32 add %0, %1
    return %2
  }
  graph g1 (f32, f32) {
    %0 = f32 arg 0
    %1 = f32 arg 1
    %2 = f32 max %0, %1
    return %2
  }
  read r0 = b1[d0, d1]
  %0 = f32 read r0
  %1 = f32 const -0.0
  %2 = f32 const -inf
  %3 = f32 reduced #0.0
  %4 = f32 sub %0, %3
  %5 = f32 math exp.f32.v1 %4
  %6 = f32 reduced #1.0
  read r1 = b2[d2]
  %7 = f32 read r1
  %8 = f32 div %7, %6
  stage (d1) {
    reduce #0 over (d1) lanes g1 in (%0) init (%2) identity (%2)
  }
  stage (d1) {
    reduce #1 over (d1) lanes g0 in (%5) init (%1) identity (%1)
    store b2[d1] = %5
  }
  stage (d2) {
    store b0[d0, d2] = %8
  }
  split (d0) grain 1
}
)";

// Short rows are one invocation's, middling ones lie in workgroup memory, long ones in scratch memory.
TEST_F(ShapesTest, ChainsOfRows) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1500, 9}, {7, 1000}, {3, 9000}}) {
    const kir::Kernel kernel = Parse(kSoftmax, {rows, columns});
    const auto module = Emit(kernel, testing::JudgedTarget());
    ASSERT_TRUE(module.ok()) << module.status().ToString();
    EXPECT_EQ(module->ScratchBytes(nullptr) == 0, columns == 1000);
    const auto aligned = Emit(kernel, testing::JudgedTarget(), Places::kAligned);
    ASSERT_TRUE(aligned.ok()) << aligned.status().ToString();
    EXPECT_EQ(aligned->needs_alignment, columns != 9);
    const auto difference = testing::Judge(*device_, kernel, {}, int64_t{1} << 30);
    ASSERT_TRUE(difference.ok()) << difference.status().ToString();
    EXPECT_EQ(*difference, "") << rows << " x " << columns;
  }
}

// What one launch leaves for the next: a sum of many, by one workgroup, that all of them use.
TEST_F(ShapesTest, LaunchesLeaveResultsForLaterOnes) {
  constexpr std::string_view kText = R"(kernel v1 params 1 outer 0 {
  dim d0 reduce p0
  dim d1 parallel p0
  buffer b0 out f32 [p0] stride [1]
  buffer b1 arg f32 [p0] stride [1]
  graph g0 (f32, f32) {
    %0 = f32 arg 0
    %1 = f32 arg 1
    %2 = f32 add %0, %1
    return %2
  }
  read r0 = b1[d0]
  %0 = f32 read r0
  %1 = f32 const -0.0
  %2 = f32 reduced #0.0
  read r1 = b1[d1]
  %3 = f32 read r1
  %4 = f32 mul %3, %2
  stage (d0) {
    reduce #0 over (d0) lanes g0 in (%0) init (%1) identity (%1)
  }
  stage (d1) {
    store b0[d1] = %4
  }
}
)";
  const auto difference = testing::Judge(*device_, Parse(kText, {20000}), {}, int64_t{1} << 30);
  ASSERT_TRUE(difference.ok()) << difference.status().ToString();
  EXPECT_EQ(*difference, "");
}

}  // namespace
}  // namespace tenon::emit_spirv
