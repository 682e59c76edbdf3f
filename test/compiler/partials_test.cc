// Arrays of partial values that combine by sum, maximum or minimum: what each device holds of them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"
#include "test/compiler/plan_interpreter.h"

namespace tenon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
using Arrays = std::vector<std::vector<T>>;

Result<compiler::CompiledProgram> CompileForTwo(const std::string& functions) {
  compiler::CompileOptions options = CpuOptions();
  options.num_partitions = 2;
  return compiler::Compile("sdy.mesh @mesh = <[\"x\"=2]>\n" + functions, options);
}

/// The results over two devices; those that are partial have the devices' values one after the other, as arguments do.
template <class T = float>
Arrays<T> ResultsOf(const std::string& functions, const Arrays<T>& arguments) {
  const Result<compiler::CompiledProgram> compiled = CompileForTwo(functions);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString() << functions;
  if (!compiled.ok()) return {};
  std::vector<std::string> bytes;
  for (const std::vector<T>& a : arguments)
    bytes.emplace_back(reinterpret_cast<const char*>(a.data()), a.size() * sizeof(T));
  const Result<std::vector<std::string>> outputs = RunPlan(compiled->plan, bytes);
  EXPECT_TRUE(outputs.ok()) << outputs.status().ToString() << functions;
  if (!outputs.ok()) return {};
  Arrays<T> results;
  for (const std::string& out : *outputs) {
    results.emplace_back(out.size() / sizeof(T));
    std::memcpy(results.back().data(), out.data(), out.size());
  }
  return results;
}

std::string Sharding(const std::string& text) {
  return fmt::format("{{sdy.sharding = #sdy.sharding<@mesh, {}>}}", text);
}

/// Of a 4x2 array that is cut by rows, over them.
std::string Reduction(const std::string& op, const std::string& kind, const std::string& start,
                      const std::string& type) {
  return fmt::format(R"(func.func @main(%x: tensor<4x2x{3}> {4}) -> (tensor<2x{3}> {5}) {{
    %z = stablehlo.constant dense<{2}> : tensor<{3}>
    %r = stablehlo.reduce(%x init: %z) applies stablehlo.{0} across dimensions = [0] : (tensor<4x2x{3}>, tensor<{3}>) -> tensor<2x{3}>
    %c = sdy.sharding_constraint %r <@mesh, [{{}}], unreduced={1}{{"x"}}> : tensor<2x{3}>
    return %c : tensor<2x{3}>
  }})",
                     op, kind, start, type, Sharding("[{\"x\"}, {}]"),
                     Sharding(fmt::format("[{{}}], unreduced={}{{\"x\"}}", kind)));
}

TEST(Partials, ReductionsOverACutDim) {
  const Arrays<float> x = {{0, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_THAT(ResultsOf(Reduction("maximum", "max", "0xFF800000", "f32"), x), ElementsAre(ElementsAre(2, 3, 6, 7)));
  EXPECT_THAT(ResultsOf(Reduction("minimum", "min", "0x7F800000", "f32"), x), ElementsAre(ElementsAre(0, 1, 4, 5)));
  EXPECT_THAT(ResultsOf(Reduction("add", "", "0.0", "f32"), x), ElementsAre(ElementsAre(2, 4, 10, 12)));
  EXPECT_THAT(ResultsOf<int32_t>(Reduction("maximum", "max", "-2147483648", "i32"), {{0, 1, -2, -3, -4, -5, -6, -7}}),
              ElementsAre(ElementsAre(0, 1, -4, -5)));
}

TEST(Partials, NoNumberStaysNoNumber) {
  const Arrays<float> got =
      ResultsOf(Reduction("maximum", "max", "0xFF800000", "f32"), {{0, std::nanf(""), 2, 3, 4, 5, 6, 7}});
  ASSERT_THAT(got, ElementsAre(testing::SizeIs(4)));
  EXPECT_TRUE(std::isnan(got[0][1]));
  EXPECT_THAT((std::vector<float>{got[0][0], got[0][2], got[0][3]}), ElementsAre(2, 6, 7));
}

TEST(Partials, OfAnotherCombinationAreNotMixedUp) {
  // A maximum is not the sum of the devices' maxima.
  EXPECT_THAT(ResultsOf(Reduction("maximum", "", "0xFF800000", "f32"), {{0, 1, 2, 3, 4, 5, 6, 7}}),
              ElementsAre(ElementsAre(6, 7, 0, 0)));
  EXPECT_THAT(ResultsOf(Reduction("add", "max", "0.0", "f32"), {{0, 1, 2, 3, 4, 5, 6, 7}}),
              ElementsAre(ElementsAre(12, 16, 12, 16)));
  // The same value, once as each.
  const std::string both = fmt::format(
      R"(func.func @main(%x: tensor<2xf32> {0}) -> (tensor<2xf32> {1}, tensor<2xf32> {2}, tensor<2xf32> {3}) {{
        return %x, %x, %x : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
      }})",
      Sharding("[{\"x\"}]"), Sharding("[{}], unreduced={\"x\"}"), Sharding("[{}], unreduced=max{\"x\"}"),
      Sharding("[{}], unreduced=min{\"x\"}"));
  EXPECT_THAT(ResultsOf(both, {{3, 4}}),
              ElementsAre(ElementsAre(3, 0, 0, 4), ElementsAre(3, -kInf, -kInf, 4), ElementsAre(3, kInf, kInf, 4)));
}

TEST(Partials, PiecesOfACutArrayLieAmongTheLeastValues) {
  const auto program = [](const std::string& type, const std::string& kind) {
    return fmt::format("func.func @main(%x: tensor<2x{0}> {1}) -> (tensor<2x{0}> {2}) {{ return %x : tensor<2x{0}> }}",
                       type, Sharding("[{\"x\"}]"), Sharding(fmt::format("[{{}}], unreduced={}{{\"x\"}}", kind)));
  };
  EXPECT_THAT(ResultsOf<int8_t>(program("i8", "max"), {{3, 4}}), ElementsAre(ElementsAre(3, -128, -128, 4)));
  EXPECT_THAT(ResultsOf<int8_t>(program("i8", "min"), {{3, 4}}), ElementsAre(ElementsAre(3, 127, 127, 4)));
  EXPECT_THAT(ResultsOf<uint8_t>(program("ui8", "max"), {{3, 4}}), ElementsAre(ElementsAre(3, 0, 0, 4)));
  EXPECT_THAT(ResultsOf<uint8_t>(program("ui8", "min"), {{3, 4}}), ElementsAre(ElementsAre(3, 255, 255, 4)));
  EXPECT_THAT(ResultsOf<uint8_t>(program("i1", "max"), {{1, 1}}), ElementsAre(ElementsAre(1, 0, 0, 1)));
  EXPECT_THAT(ResultsOf<uint8_t>(program("i1", "min"), {{0, 0}}), ElementsAre(ElementsAre(0, 1, 1, 0)));
}

TEST(Partials, SumsKeepTheSignsOfZeros) {
  const auto program = [](const std::string& type) {
    return fmt::format("func.func @main(%x: tensor<2x{0}> {1}) -> (tensor<2x{0}> {2}) {{ return %x : tensor<2x{0}> }}",
                       type, Sharding("[{\"x\"}]"), Sharding("[{}], unreduced={\"x\"}"));
  };
  // The first element is the first device's 3 and what the second one adds to it, and so on.
  const Arrays<float> got = ResultsOf(program("f32"), {{3, 4}});
  EXPECT_THAT(got, ElementsAre(ElementsAre(3, 0, 0, 4)));
  EXPECT_TRUE(std::signbit(got[0][1]) && std::signbit(got[0][2]));
  const Arrays<float> parts = ResultsOf(program("complex<f32>"), {{3, -3, 4, -4}});
  EXPECT_THAT(parts, ElementsAre(ElementsAre(3, -3, 0, 0, 0, 0, 4, -4)));
  for (size_t i = 2; i < 6; ++i) EXPECT_TRUE(std::signbit(parts[0][i])) << i;
  EXPECT_THAT(ResultsOf<int8_t>(program("i8"), {{3, 4}}), ElementsAre(ElementsAre(3, 0, 0, 4)));
}

/// `body` makes %r of %x and %y, maxima of the devices' values.
std::string OfMaxima(const std::string& body, const std::string& result = "[{}], unreduced=max{\"x\"}") {
  return fmt::format(R"(func.func @main(%x: tensor<2xf32> {0}, %y: tensor<2xf32> {0}) -> (tensor<2xf32> {1}) {{
    {2}
    return %r : tensor<2xf32>
  }})",
                     Sharding("[{}], unreduced=max{\"x\"}"), Sharding(result), body);
}

TEST(Partials, ArgumentsAreTheMaximaOfTheirParts) {
  const Arrays<float> given = {{1, 8, 3, 2}, {0, 0, 9, 0}};
  EXPECT_THAT(ResultsOf(OfMaxima("%r = stablehlo.add %x, %y : tensor<2xf32>", "[{}]"), given),
              ElementsAre(ElementsAre(12, 8)));
  EXPECT_THAT(ResultsOf(OfMaxima("%r = stablehlo.reverse %x, dims = [0] : tensor<2xf32>"), given),
              ElementsAre(ElementsAre(8, 1, 2, 3)));
  EXPECT_THAT(ResultsOf(OfMaxima("%r = stablehlo.maximum %x, %y : tensor<2xf32>"), given),
              ElementsAre(ElementsAre(1, 8, 9, 2)));
}

TEST(Partials, EverybodyHasAllOfAMaximumThatNobodyKnowsPartsOf) {
  const Arrays<float> given = {{1, 8, 3, 2}, {0, 0, 9, 0}};
  for (const char* op : {"negate %x", "add %x, %y", "minimum %x, %y", "multiply %x, %y"}) {
    const std::string body = fmt::format("%r = stablehlo.{} : tensor<2xf32>", op);
    const Arrays<float> whole = ResultsOf(OfMaxima(body, "[{}]"), given), held = ResultsOf(OfMaxima(body), given);
    ASSERT_THAT(whole, ElementsAre(testing::SizeIs(2)));
    EXPECT_THAT(held, ElementsAre(ElementsAre(whole[0][0], whole[0][1], whole[0][0], whole[0][1]))) << op;
  }
}

std::string ManualBody(const std::string& in, const std::string& out, const std::string& body,
                       const std::string& of = "%x") {
  return fmt::format(R"(%r = sdy.manual_computation({3}) in_shardings=[<@mesh, {0}>] out_shardings=[<@mesh, {1}>]
      manual_axes={{"x"}} (%a: tensor<2xf32>) {{
      {2}
      sdy.return %n : tensor<2xf32>
    }} : (tensor<2xf32>) -> tensor<2xf32>)",
                     in, out, body, of);
}

TEST(Partials, ManualComputationsTakeAndGiveMaxima) {
  const Arrays<float> given = {{1, 8, 3, 2}, {0, 0, 0, 0}};
  const std::string partial = "[{}], unreduced=max{\"x\"}";
  const std::string negate = "%n = stablehlo.negate %a : tensor<2xf32>";
  const std::string largest = R"(%n = "stablehlo.all_reduce"(%a) ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>):
          %m = stablehlo.maximum %p, %q : tensor<f32>
          stablehlo.return %m : tensor<f32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        use_global_device_ids} : (tensor<2xf32>) -> tensor<2xf32>)";
  EXPECT_THAT(ResultsOf(OfMaxima(ManualBody(partial, "[{}]", largest), "[{}]"), given), ElementsAre(ElementsAre(3, 8)));
  EXPECT_THAT(ResultsOf(OfMaxima(ManualBody(partial, partial, negate)), given),
              ElementsAre(ElementsAre(-1, -8, -3, -2)));
  EXPECT_THAT(ResultsOf(OfMaxima(ManualBody(partial, partial, negate), "[{}]"), given),
              ElementsAre(ElementsAre(-1, -2)));
  // Of what has no parts, each takes all.
  EXPECT_THAT(
      ResultsOf(OfMaxima("%s = stablehlo.negate %x : tensor<2xf32>\n" + ManualBody(partial, partial, negate, "%s")),
                given),
      ElementsAre(ElementsAre(3, 8, 3, 8)));
}

TEST(Partials, FactorsThatShareTheirFactorsAreAskedOnce) {
  // Of %x**(2**40) nobody knows parts: each square is a product of two factors of which parts would do.
  std::string body = "%s0 = stablehlo.abs %x : tensor<2xf32>\n";
  for (int i = 0; i < 40; ++i)
    body += fmt::format("%s{} = stablehlo.multiply %s{}, %s{} : tensor<2xf32>\n", i + 1, i, i);
  const std::string partial = Sharding("[{}], unreduced={\"x\"}");
  EXPECT_THAT(ResultsOf(fmt::format("func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32> {}) {{ {} return %s40 : "
                                    "tensor<2xf32> }}",
                                    partial, body),
                        {{-1, 0}}),
              ElementsAre(ElementsAre(1, 0, 0, 0)));
}

TEST(Partials, ClientsHearHowTheyCombine) {
  for (const auto& [kind, name] : {std::pair("max", "MAX"), std::pair("min", "MIN")}) {
    const auto compiled = CompileForTwo(Reduction("maximum", kind, "0xFF800000", "f32"));
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    // xla.OpSharding: metadata (field 7), of which op_type (1) and op_name (2).
    EXPECT_THAT(compiled->output_shardings,
                ElementsAre(HasSubstr(std::string("\x3a\x18\x0a\x11") + "sdy::reduction_op\x12\x03" + name)));
  }
}

}  // namespace
}  // namespace tenon::test
