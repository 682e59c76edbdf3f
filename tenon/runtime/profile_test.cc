#include "tenon/runtime/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tenon/kernels/families.h"
#include "tenon/runtime/program.h"

namespace tenon::runtime {
namespace {

plan::Slot Array(plan::SlotKind kind, int64_t n) { return {kind, 0, 0, DType::kF32, {n}, {1}}; }

/// in -> out, copied ten times over in a loop of five trips.
plan::Plan Loop() {
  plan::Plan p;
  p.name = "a\tname\nof lines";
  p.inputs = {{{DType::kF32, {16}}, {1}, ""}};
  p.outputs = {{{DType::kF32, {16}}, {1}, ""}};
  p.slots = {Array(plan::SlotKind::kArg, 16), Array(plan::SlotKind::kOut, 16), Array(plan::SlotKind::kTemp, 16)};
  p.arena_bytes = 64;
  plan::WhileStep loop;
  loop.trip_count = 5;
  loop.body = {{plan::CopyStep{1, 2}}};
  loop.carry = {{2, 1}};
  p.steps = {{plan::CopyStep{0, 1}}, {loop}};
  return p;
}

TEST(Profile, CountsEveryStepThatRuns) {
  auto profile = std::make_shared<Profile>("f");
  auto program = Program::Create(Loop(), {}, {}, kernels::CpuFamilies(), *target::StandardTarget(), profile);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  auto pool = *threads::ThreadPool::Create(1);
  MemoryPool memory(1 << 20);
  const std::vector<float> in(16, 3);
  std::vector<float> out(16);
  const void* inputs[] = {in.data()};
  void* outputs[] = {out.data()};
  for (int run = 0; run < 2; ++run) ASSERT_TRUE((*program)->Run({inputs, outputs}, *pool, memory).ok());
  EXPECT_EQ(out, in);
  ASSERT_EQ(profile->steps().size(), 3u);  // The copy, the loop, and the copy inside it.
  const StepProfile &first = profile->steps()[0], &loop = profile->steps()[1], &inside = profile->steps()[2];
  EXPECT_EQ(first.kind, "copy");
  EXPECT_EQ(first.what, "f32[16] -> f32[16]");
  EXPECT_EQ(first.runs, 2);
  EXPECT_EQ(loop.kind, "loop");
  EXPECT_EQ(loop.runs, 2);
  EXPECT_EQ(inside.depth, 1);
  EXPECT_EQ(inside.runs, 10);
  EXPECT_LE(inside.total_ns, loop.total_ns);
  EXPECT_LE(loop.total_ns, profile->whole().total_ns);
  EXPECT_EQ(profile->whole().runs, 2);
  EXPECT_EQ(first.work.bytes_read, 64);
}

TEST(Profile, StepsNameTheOpsAndPlacesTheyCameFrom) {
  plan::Plan plan = Loop();
  EXPECT_EQ(OriginsText(plan, plan.steps[0]), "");
  EXPECT_EQ(LabelOf(plan, plan.steps[0]).texts.size(), 2u);
  plan.origins = {{"add", "jit(f)/add", "f.py:3"},
                  {"tanh", "jit(f)/tanh", "f.py:4"},
                  {"add", "jit(f)/add", "f.py:3"},
                  {"exponential", "", "f.py:3"},
                  {"iota", "", ""}};
  plan.steps[0].origins = {4, 0, 1, 2, 3};
  EXPECT_EQ(OriginsText(plan, plan.steps[0]), "iota, f.py:4 tanh, f.py:3 add exponential");
  plan.steps[0].origins = {0, 3, 1};
  const activity::Label label = LabelOf(plan, plan.steps[0]);
  using Text = std::pair<std::string, std::string>;
  EXPECT_EQ(std::count(label.texts.begin(), label.texts.end(), Text("tf_op", "jit(f)/tanh")), 1);
  EXPECT_EQ(std::count(label.texts.begin(), label.texts.end(), Text("source", "f.py:4")), 1);
  EXPECT_EQ(
      std::count(label.texts.begin(), label.texts.end(), Text("stablehlo_ops", "f.py:3 add exponential, f.py:4 tanh")),
      1);
  for (int line = 0; line < 20; ++line) {
    plan.origins.push_back({"add", "", "g.py:" + std::to_string(line)});
    plan.steps[0].origins.push_back(static_cast<uint32_t>(plan.origins.size() - 1));
  }
  const std::string text = OriginsText(plan, plan.steps[0]);
  EXPECT_EQ(text.substr(0, 10), "16 places,");
  EXPECT_EQ(text.substr(text.size() - 11), "g.py:19 add");
}

TEST(Profile, LinesHaveAllColumnsWhateverNamesHold) {
  Profile profile("a\tname\nof lines");
  plan::Plan plan = Loop();
  plan.origins = {{"a\tdd", "x\ny", "f\t.py\n:3"}};
  plan.steps[0].origins = {0};
  Describe(plan, plan.steps[0], *target::StandardTarget(), profile.steps().emplace_back());
  const auto count = [](std::string_view text, char c) { return std::count(text.begin(), text.end(), c); };
  const std::string lines = profile.Lines();
  EXPECT_EQ(count(lines, '\n'), 2);
  EXPECT_EQ(count(lines, '\t'), 2 * count(Profile::Columns(), '\t'));
}

}  // namespace
}  // namespace tenon::runtime
