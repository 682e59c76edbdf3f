#include "tools/tenon-check/compare.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <limits>

#include "tools/tenon-check/program.h"
#include "tools/tenon-check/workers.h"

namespace tenon::check_tool {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

reference::Value F32(std::vector<float> values) {
  return *reference::Value::Copy({DType::kF32, {static_cast<int64_t>(values.size())}},
                                 std::as_bytes(std::span(values)));
}

bool Passes(std::vector<float> actual, std::vector<float> expected, const Criterion& criterion) {
  return !Compare(F32(std::move(actual)), F32(std::move(expected)), criterion).has_value();
}

TEST(CompareTest, EqualMeansEqualByValue) {
  EXPECT_TRUE(Passes({0.0f, kInf}, {-0.0f, kInf}, {Rule::kEqual}));
  EXPECT_FALSE(Passes({kNan}, {kNan}, {Rule::kEqual}));
  EXPECT_FALSE(Passes({1.0f}, {1.0000001f}, {Rule::kEqual}));
}

TEST(CompareTest, UlpsAddAcrossZero) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(Passes({0.0f}, {-0.0f}, {Rule::kUlp, 0}));
  EXPECT_TRUE(Passes({tiny}, {-tiny}, {Rule::kUlp, 2}));
  EXPECT_FALSE(Passes({tiny}, {-tiny}, {Rule::kUlp, 1}));
  EXPECT_TRUE(Passes({kNan}, {kNan}, {Rule::kUlp, 0}));
  EXPECT_FALSE(Passes({kInf}, {std::numeric_limits<float>::max()}, {Rule::kUlp, 3}));
  EXPECT_TRUE(Passes({1.0f}, {1.0000001f}, {Rule::kUlp, 1, 1}));
  EXPECT_FALSE(Passes({1.0f}, {1.0f}, {Rule::kUlp, 1, 1}));
}

TEST(CompareTest, AlmostIsAbsolute) {
  const Criterion criterion{Rule::kAlmost, 0, 0, 1e-3};
  EXPECT_TRUE(Passes({1.0f, kInf, kNan}, {1.0009f, kInf, kNan}, criterion));
  EXPECT_FALSE(Passes({1.0f}, {1.0011f}, criterion));
  EXPECT_FALSE(Passes({kInf}, {-kInf}, criterion));
  EXPECT_FALSE(Passes({kNan}, {1.0f}, criterion));
}

TEST(CompareTest, ShapesMustAgree) { EXPECT_FALSE(Passes({1.0f}, {1.0f, 1.0f}, {Rule::kEqual})); }

TEST(ProgramTest, ChunksAreSplitAtTheirLine) {
  EXPECT_EQ(SplitChunks("// only a comment\n\n// -----\nfunc.func @a() {\n}\n// -----\n// nothing\n").size(), 1u);
  EXPECT_EQ(SplitChunks("a\n// -----\nb\n").size(), 2u);
}

TEST(ProgramTest, ChecksBecomeResults) {
  auto program = LoadProgram(R"(func.func public @main() -> tensor<2xi32> {
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %b = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
    stablehlo.custom_call @check.expect_eq(%a, %b) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
    check.expect_eq_const %a, dense<7> : tensor<2xi32>
    return %a : tensor<2xi32>
  })");
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  EXPECT_EQ((*program)->results.size(), 3u);
  ASSERT_EQ((*program)->checks.size(), 2u);
  EXPECT_EQ((*program)->checks[0].expected_result, 1u);
  EXPECT_TRUE((*program)->checks[1].expected.is_array());
  EXPECT_TRUE(dialect::Verify((*program)->module.op()).ok());
}

TEST(WorkersTest, ACrashOrAHangCostsOneFile) {
  int passed = 0, failed = 0;
  RunFiles(
      {"good", "crash", "good", "hang", "good"}, 2, 2,
      [] {
        return [](const std::string& file) {
          if (file == "crash") std::raise(SIGKILL);
          if (file == "hang") {
            for (;;) pause();
          }
          FileReport report;
          report.passed = 1;
          return report;
        };
      },
      [&](const std::string&, const FileReport& report) {
        passed += report.passed;
        failed += report.failed;
      });
  EXPECT_EQ(passed, 3);
  EXPECT_EQ(failed, 2);
}

}  // namespace
}  // namespace tenon::check_tool
