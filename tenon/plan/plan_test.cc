#include "tenon/plan/plan.h"

#include <gtest/gtest.h>

namespace tenon::plan {
namespace {

Constant MakeConstant(std::string bytes, uint64_t hash) {
  return {std::make_shared<const std::string>(std::move(bytes)), Hash128{hash, hash + 1}};
}

// Every kind of step but those that need kernels.
Plan Example() {
  Plan p;
  p.name = "jit \"f\"\n";
  const Shape vec{DType::kF32, {4}};
  p.inputs = {{vec, {1}, ""}, {{DType::kPred, {}}, {}, "pinned_host"}};
  p.outputs = {{vec, {1}, "", 0, true}, {vec, {1}, "", -1, false}};
  p.constants = {MakeConstant(std::string(16, '\1'), 7), MakeConstant(std::string(400, 'x'), 9)};
  p.slots = {
      {SlotKind::kArg, 0, 0, DType::kF32, {4}, {1}},    {SlotKind::kOut, 0, 0, DType::kF32, {4}, {1}},
      {SlotKind::kTemp, 0, 64, DType::kF32, {4}, {-1}}, {SlotKind::kConst, 0, 0, DType::kF32, {4}, {1}},
      {SlotKind::kTemp, 0, 128, DType::kPred, {}, {}},  {SlotKind::kOut, 1, 0, DType::kF32, {4}, {1}},
      {SlotKind::kConst, 1, 0, DType::kF32, {4}, {1}},  {SlotKind::kArg, 1, 0, DType::kPred, {}, {}},
  };
  p.slots[1].value = 1;
  p.slots[5].value = 2;
  p.slots[2].value = 3;
  p.slots[2].offset_bytes = 64 + 12;
  p.arena_bytes = 192;
  WhileStep loop;
  loop.condition = {{CopyStep{3, 2}}, {CopyStep{7, 4}}};
  loop.predicate = 4;
  loop.body = {{CopyStep{3, 5}}};
  loop.carry = {{2, 1}};
  CaseStep choose;
  choose.index = 4;
  choose.branches = {{}, {{CopyStep{3, 1}}}};
  CustomCallStep call;
  call.target = "lapack_spotrf_ffi";
  call.api_version = 4;
  call.operands = {3, kNoSlot};
  call.results = {1};
  call.opaque = "{}";
  call.aliases = {{0, 0}};
  call.attributes = {{"uplo", Attribute::Kind::kScalar, DType::kU8, "L", {}},
                     {"d",
                      Attribute::Kind::kDictionary,
                      DType::kInvalid,
                      "",
                      {{"s", Attribute::Kind::kString, DType::kInvalid, "t", {}}}}};
  EvaluateStep evaluate{"sort", std::make_shared<const std::string>("ML\xefR"), {3}, {5}};
  DriverStep driver{"gemm",
                    {{{"lhs_contracting", {1, -2, 3}}, {"empty", {}}, {"accumulate", {1}}}},
                    {3, 6, kNoSlot},
                    {5},
                    2,
                    {},
                    {.flops = 700, .bytes_read = 12.5, .launches = 1}};
  // The first one moves nothing: output 0 starts as argument 0.
  p.steps = {{CopyStep{0, 1}}, {loop}, {choose}, {call}, {evaluate}, {driver}};
  return p;
}

TEST(Plan, TextRoundTrips) {
  const Plan p = Example();
  ASSERT_TRUE(Verify(p).ok()) << Verify(p).ToString();
  const std::string text = Print(p);
  Result<Plan> back = Parse(text, p.constants);
  ASSERT_TRUE(back.ok()) << back.status().ToString() << "\n" << text;
  EXPECT_EQ(Print(*back), text);
  EXPECT_TRUE(*back == p);
}

TEST(Plan, BytesRoundTripAndDamageIsNoticed) {
  const Plan p = Example();
  const std::string bytes = Serialize(p);
  Result<Plan> back = Deserialize(bytes);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_TRUE(*back == p);
  for (size_t n = 0; n < bytes.size(); n += 7) {
    EXPECT_EQ(Deserialize(std::string_view(bytes).substr(0, n)).status().code(), Code::kDataLoss) << n;
  }
}

TEST(Plan, WhereStepsCameFromIsSavedAndNotCompared) {
  const Plan without = Example();
  Plan p = Example();
  p.origins = {{"add", "jit(f)/\"a\"", "f.py:3"}, {"tanh", "", ""}};
  p.steps[1].origins = {0, 1};
  std::get<WhileStep>(p.steps[1].is).body[0].origins = {1};
  EXPECT_TRUE(p == without);
  EXPECT_EQ(Print(p), Print(without));
  const Result<Plan> back = Deserialize(Serialize(p));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->origins, p.origins);
  EXPECT_TRUE(back->steps[1].origins == p.steps[1].origins);
  EXPECT_TRUE(std::get<WhileStep>(back->steps[1].is).body[0].origins ==
              std::get<WhileStep>(p.steps[1].is).body[0].origins);
  EXPECT_TRUE(back->steps[0].origins.empty());
}

TEST(Plan, ParseNamesTheLine) {
  const Status s = Parse("plan \"x\" {\n  arena zero\n}").status();
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_NE(s.message().find("line 2"), std::string_view::npos) << s.message();
  EXPECT_FALSE(Parse("").ok());
  EXPECT_FALSE(Parse("plan \"x\" { steps {" + std::string(100000, '{')).ok());
  std::string deep = "plan \"x\" { steps {";
  for (int i = 0; i < 10000; ++i) deep += " while predicate %0 trip 1 { condition { } body {";
  EXPECT_FALSE(Parse(deep).ok());
}

TEST(Verify, FindsWhatIsWrong) {
  const auto fails = [](void (*damage)(Plan&), std::string_view wanted) {
    Plan p = Example();
    damage(p);
    const Status s = Verify(p);
    EXPECT_NE(s.message().find(wanted), std::string_view::npos) << s.ToString();
  };
  fails([](Plan& p) { p.slots[0].index = 9; }, "no argument 9");
  fails([](Plan& p) { p.slots[0].offset_bytes = 1; }, "touches bytes [1, 17) of 16");
  fails([](Plan& p) { p.slots[2].offset_bytes = 0; }, "touches bytes [-12");
  fails(
      [](Plan& p) {
        p.slots[0].dims = {int64_t{1} << 62};
        p.slots[0].stride_elems = {int64_t{1} << 62};
      },
      "exceeds 2^63");
  fails([](Plan& p) { p.steps[0] = {CopyStep{1, 0}}; }, "views an argument");
  fails([](Plan& p) { p.steps[0] = {CopyStep{1, 3}}; }, "views a constant");
  fails([](Plan& p) { p.steps[0] = {CopyStep{0, 4}}; }, "copies f32[4] to pred[]");
  fails([](Plan& p) { p.steps[0] = {CopyStep{0, 99}}; }, "no slot %99");
  fails([](Plan& p) { p.steps[0].origins = {0}; }, "no origin 0 among 0");
  fails([](Plan& p) { p.outputs[0].alias_input = 1; }, "of another size");
  fails([](Plan& p) { std::get<WhileStep>(p.steps[1].is).predicate = 0; }, "the predicate is f32[4]");
  fails(
      [](Plan& p) {
        std::get<DriverStep>(p.steps[5].is).outputs = {1};
        std::get<DriverStep>(p.steps[5].is).inputs = {1};
      },
      "overlaps");
}

TEST(Plan, CountsNestedSteps) {
  const Statistics n = Count(Example());
  EXPECT_EQ(n.copy_steps, 4);
  EXPECT_EQ(n.loops, 1);
  EXPECT_EQ(n.evaluate_steps, 1);
  EXPECT_EQ(n.driver_steps, 1);
}

TEST(Plan, TargetsMakeTimeOfItsWork) {
  const Result<target::Target> t = target::CpuTarget("avx512", 1);
  ASSERT_TRUE(t.ok());
  DriverStep driver;
  driver.work.serial = 3500;  // 1000 ns at 3.5 GHz
  Plan p;
  EXPECT_EQ(EstimateNs(p, *t), 0);
  p.steps = {{driver}, {CopyStep{0, 1}}};
  EXPECT_DOUBLE_EQ(EstimateNs(p, *t), 2000);
  WhileStep loop;
  loop.trip_count = 10;
  loop.body = {{driver}};
  CaseStep choose;
  choose.branches = {{}, {{driver}, {driver}}, {{driver}}};
  p.steps = {{loop}, {choose}};
  EXPECT_DOUBLE_EQ(EstimateNs(p, *t), 10 * (1000 + 100) + 2000);
  std::get<WhileStep>(p.steps[0].is).trip_count = -1;
  EXPECT_GT(EstimateNs(p, *t), 100'000);
  target::Target slow = *t;
  slow.clock_ghz /= 2;
  EXPECT_DOUBLE_EQ(EstimateNs(p, slow), 2 * EstimateNs(p, *t));
}

TEST(Plan, WorkThatIsNoneIsRefused) {
  const Plan p = Example();
  std::string text = Print(p);
  const size_t at = text.find("flops 700");
  ASSERT_NE(at, std::string::npos);
  for (const char* bad : {"flops -700", "flops inf", "sweat 700", "flops 7 flops 7", "flops"}) {
    std::string changed = text;
    changed.replace(at, 9, bad);
    EXPECT_EQ(Parse(changed, p.constants).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST(Plan, DrawsItself) {
  const std::string svg = ToSvg(Example());
  EXPECT_NE(svg.find("evaluate sort"), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

TEST(Layout, MinorToMajor) {
  EXPECT_EQ(StridesOfLayout({2, 3}, {1, 0}), (Dims{3, 1}));
  EXPECT_EQ(StridesOfLayout({2, 3}, {0, 1}), (Dims{1, 2}));
}

}  // namespace
}  // namespace tenon::plan
