// Ops that import writes in other ops: none of them is left to the evaluator, and all agree with it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

void Check(const std::string& program, const Tolerance& tolerance = {.absolute = 0, .relative = 0}) {
  Result<compiler::CompiledProgram> compiled = compiler::Compile(program, CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString() << program;
  EXPECT_EQ(plan::Count(compiled->plan).evaluate_steps, 0) << program << plan::Print(compiled->plan);
  const Status same = CompareWithReference(program, *compiled, 7, tolerance);
  EXPECT_TRUE(same.ok()) << same.ToString() << program << plan::Print(compiled->plan);
}

TEST(Expand, BatchNorms) {
  for (const char* type : {"f32", "f64", "bf16"}) {
    for (const int feature : {0, 1, 3}) {
      const int features[] = {5, 6, 0, 7};
      const std::string x = fmt::format("tensor<5x6x4x7x{}>", type);
      const std::string c = fmt::format("tensor<{}x{}>", features[feature], type);
      const std::string how = fmt::format("{{epsilon = 0.01 : f32, feature_index = {} : i64}}", feature);
      Check(fmt::format(R"(func.func @main(%x: {0}, %s: {1}, %o: {1}) -> ({0}, {1}, {1}) {{
        %r:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {2} : ({0}, {1}, {1}) -> ({0}, {1}, {1})
        return %r#0, %r#1, %r#2 : {0}, {1}, {1}
      }})",
                        x, c, how),
            {});
      Check(fmt::format(R"(func.func @main(%x: {0}, %s: {1}, %o: {1}, %m: {1}, %d: {1}) -> {0} {{
        %v = stablehlo.multiply %d, %d : {1}
        %r = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {2} : ({0}, {1}, {1}, {1}, {1}) -> {0}
        return %r : {0}
      }})",
                        x, c, how),
            {});
      Check(fmt::format(R"(func.func @main(%x: {0}, %s: {1}, %m: {1}, %d: {1}, %g: {0}) -> ({0}, {1}, {1}) {{
        %v = stablehlo.multiply %d, %d : {1}
        %r:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {2} : ({0}, {1}, {1}, {1}, {0}) -> ({0}, {1}, {1})
        return %r#0, %r#1, %r#2 : {0}, {1}, {1}
      }})",
                        x, c, how),
            {.absolute = 2e-3, .relative = 2e-3});
    }
  }
}

TEST(Expand, RandomBits) {
  for (const char* algorithm : {"THREE_FRY", "PHILOX", "DEFAULT"}) {
    for (const char* out :
         {"ui32", "3x5xui32", "4x6xi32", "5x8x3xui8", "7xui16", "33xui64", "9xi64", "6xf32", "0x4xui32"}) {
      Check(fmt::format(R"(func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<{1}>) {{
        %r:2 = stablehlo.rng_bit_generator %s, algorithm = {0} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<{1}>)
        return %r#0, %r#1 : tensor<2xui64>, tensor<{1}>
      }})",
                        algorithm, out));
    }
  }
  // The counter's lower half runs over.
  Check(R"(func.func @main() -> (tensor<3xui64>, tensor<50xui32>) {
    %s = stablehlo.constant dense<[17, 18446744073709551613, 4]> : tensor<3xui64>
    %r:2 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<50xui32>)
    return %r#0, %r#1 : tensor<3xui64>, tensor<50xui32>
  })");
}

TEST(Expand, MapsAndClientOps) {
  Check(R"(func.func @main(%x: tensor<3x17xf32>, %y: tensor<3x17xf32>) -> tensor<3x17xf32> {
    %r = "stablehlo.map"(%x, %y) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %two = stablehlo.constant dense<2.0> : tensor<f32>
      %p = stablehlo.compare LT, %a, %two : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %s = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {dimensions = array<i64: 0, 1>} : (tensor<3x17xf32>, tensor<3x17xf32>) -> tensor<3x17xf32>
    return %r : tensor<3x17xf32>
  })");
  Check(
      R"(func.func @main(%x: tensor<5x4xf32>, %y: tensor<4xf32>, %z: tensor<5xf32>) -> (tensor<5x4xf32>, tensor<5x4xi1>) {
    %0 = chlo.broadcast_subtract %x, %y : (tensor<5x4xf32>, tensor<4xf32>) -> tensor<5x4xf32>
    %1 = chlo.broadcast_maximum %z, %0 {broadcast_dimensions = array<i64: 0>} : (tensor<5xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    %2 = chlo.broadcast_compare %y, %x {comparison_direction = #chlo<comparison_direction GE>} : (tensor<4xf32>, tensor<5x4xf32>) -> tensor<5x4xi1>
    return %1, %2 : tensor<5x4xf32>, tensor<5x4xi1>
  })");
  Check(R"(func.func @main(%x: tensor<3x40xf32>) -> (tensor<3x6xf32>, tensor<3x6xi32>) {
    %0:2 = chlo.top_k(%x, k = 6) : tensor<3x40xf32> -> (tensor<3x6xf32>, tensor<3x6xi32>)
    return %0#0, %0#1 : tensor<3x6xf32>, tensor<3x6xi32>
  })");
  for (const char* type : {"i8", "ui16", "i32", "ui32", "i64", "ui64"}) {
    Check(fmt::format(R"(func.func @main(%x: tensor<200x{0}>, %y: tensor<200x{0}>) -> tensor<200x{0}> {{
      %c = stablehlo.constant dense<113> : tensor<200x{0}>
      %a = stablehlo.multiply %x, %c : tensor<200x{0}>
      %a2 = stablehlo.multiply %a, %a : tensor<200x{0}>
      %b = stablehlo.not %y : tensor<200x{0}>
      %0 = chlo.mulhi %a2, %b : tensor<200x{0}>, tensor<200x{0}> -> tensor<200x{0}>
      return %0 : tensor<200x{0}>
    }})",
                      type));
  }
}

TEST(Expand, KnownShapes) {
  Check(
      R"(func.func @main(%x: tensor<4x6xf32>, %p: tensor<f32>) -> (tensor<3x2xf32>, tensor<6x7xf32>, tensor<2x4x6xf32>) {
    %s = stablehlo.constant dense<[1, 1]> : tensor<2xi64>
    %l = stablehlo.constant dense<[4, 5]> : tensor<2xi64>
    %t = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %0 = stablehlo.real_dynamic_slice %x, %s, %l, %t : (tensor<4x6xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x2xf32>
    %low = stablehlo.constant dense<[1, -2]> : tensor<2xi64>
    %high = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
    %none = stablehlo.constant dense<0> : tensor<2xi64>
    %1 = stablehlo.dynamic_pad %x, %p, %low, %high, %none : (tensor<4x6xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<6x7xf32>
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<4x6xf32>) -> tensor<i32>
    %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %two = stablehlo.constant dense<2> : tensor<1xi32>
    %six = stablehlo.constant dense<6> : tensor<1xi32>
    %shape = stablehlo.concatenate %two, %n1, %six, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %2 = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [1, 2] : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<2x4x6xf32>
    return %0, %1, %2 : tensor<3x2xf32>, tensor<6x7xf32>, tensor<2x4x6xf32>
  })");
}

TEST(Expand, SizesThatDoNotFitTheTypesAreSaid) {
  const auto refused = [](const std::string& program, const char* why) {
    const Status status = compiler::Compile(program, CpuOptions()).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    EXPECT_NE(status.ToString().find(why), std::string::npos) << status.ToString();
  };
  refused(R"(func.func @main(%x: tensor<3xf32>, %p: tensor<f32>) -> tensor<7xf32> {
    %low = stablehlo.constant dense<2> : tensor<1xi32>
    %none = stablehlo.constant dense<0> : tensor<1xi32>
    %r = stablehlo.dynamic_pad %x, %p, %low, %none, %none : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<7xf32>
    return %r : tensor<7xf32>
  })",
          "stablehlo.dynamic_pad");
  refused(R"(func.func @main(%x: tensor<3x4xf32>, %i: tensor<2x2xi32>) -> tensor<2x2x2xf32> {
    %sizes = stablehlo.constant dense<9> : tensor<2xi32>
    %r = "stablehlo.dynamic_gather"(%x, %i, %sizes) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>} : (tensor<3x4xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2x2xf32>
    return %r : tensor<2x2x2xf32>
  })",
          "stablehlo.dynamic_gather");
}

TEST(Expand, Einsums) {
  Check(R"(func.func @main(%a: tensor<3x5x4xf32>, %b: tensor<4x3xf32>) -> (tensor<5x3xf32>, tensor<4x5x3xf32>) {
    %0 = stablehlo.einsum %a, %b, config = "abc,ca->ba" : (tensor<3x5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
    %1 = stablehlo.einsum %a, %b, config = "a...c,ca->c...a" : (tensor<3x5x4xf32>, tensor<4x3xf32>) -> tensor<4x5x3xf32>
    return %0, %1 : tensor<5x3xf32>, tensor<4x5x3xf32>
  })",
        {});
}

TEST(Expand, RandomNumbersLeaveTheirKey) {
  const Result<compiler::CompiledProgram> compiled = compiler::Compile(R"(func.func @main() -> tensor<1000xf32> {
    %a = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<1000> : tensor<1xi64>
    %r = stablehlo.rng %a, %a, %n, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<1000xf32>
    return %r : tensor<1000xf32>
  })",
                                                                       CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_EQ(plan::Count(compiled->plan).evaluate_steps, 1);
  EXPECT_GE(plan::Count(compiled->plan).kernel_steps, 1);
}

TEST(Expand, QuantizedTypes) {
  Check(R"(func.func @main(%x: tensor<6x20xf32>, %w: tensor<20x3xf32>) -> (tensor<6x3xf32>, tensor<6x20xi8>) {
    %q = stablehlo.uniform_quantize %x : (tensor<6x20xf32>) -> tensor<6x20x!quant.uniform<i8:f32, 0.03:-5>>
    %k = stablehlo.uniform_quantize %w : (tensor<20x3xf32>) -> tensor<20x3x!quant.uniform<i8:f32:1, {0.02, 0.05, 0.01}>>
    %s = stablehlo.add %q, %q : (tensor<6x20x!quant.uniform<i8:f32, 0.03:-5>>, tensor<6x20x!quant.uniform<i8:f32, 0.03:-5>>) -> tensor<6x20x!quant.uniform<i8:f32, 0.07:3>>
    %t = stablehlo.tanh %s : tensor<6x20x!quant.uniform<i8:f32, 0.07:3>>
    %raw = stablehlo.bitcast_convert %t : (tensor<6x20x!quant.uniform<i8:f32, 0.07:3>>) -> tensor<6x20xi8>
    %d = stablehlo.uniform_dequantize %k : (tensor<20x3x!quant.uniform<i8:f32:1, {0.02, 0.05, 0.01}>>) -> tensor<20x3xf32>
    %f = stablehlo.uniform_dequantize %q : (tensor<6x20x!quant.uniform<i8:f32, 0.03:-5>>) -> tensor<6x20xf32>
    %r = stablehlo.dot_general %f, %d, contracting_dims = [1] x [0] : (tensor<6x20xf32>, tensor<20x3xf32>) -> tensor<6x3xf32>
    return %r, %raw : tensor<6x3xf32>, tensor<6x20xi8>
  })",
        {});
}

// The program computes what another one does, which says it in ops that the reference has for quantized types.
void CheckLike(const std::string& program, const std::string& other) {
  Result<compiler::CompiledProgram> compiled = compiler::Compile(program, CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString() << program;
  EXPECT_EQ(plan::Count(compiled->plan).evaluate_steps, 0) << program << plan::Print(compiled->plan);
  const Status same = CompareWithReference(other, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString() << program << plan::Print(compiled->plan);
}

/// `text` with %Q, %R and %S, quantized element types that differ, written out.
std::string Quantized(std::string text) {
  for (const auto& [name, type] : {std::pair("%Q", "!quant.uniform<i8:f32, 0.5:7>"),
                                   {"%R", "!quant.uniform<i8:f32, 0.25:3>"},
                                   {"%S", "!quant.uniform<i8:f32, 0.125:-2>"}}) {
    for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, 2, type);
  }
  return text;
}

TEST(Expand, BroadcastsOfQuantizedTypes) {
  for (const char* op : {"add", "subtract", "multiply", "maximum"}) {
    CheckLike(Quantized(fmt::format(R"(func.func @main(%x: tensor<6x20xf32>, %y: tensor<20xf32>) -> tensor<6x20xf32> {{
      %a = stablehlo.uniform_quantize %x : (tensor<6x20xf32>) -> tensor<6x20x%Q>
      %b = stablehlo.uniform_quantize %y : (tensor<20xf32>) -> tensor<20x%R>
      %c = chlo.broadcast_{} %a, %b : (tensor<6x20x%Q>, tensor<20x%R>) -> tensor<6x20x%S>
      %r = stablehlo.uniform_dequantize %c : (tensor<6x20x%S>) -> tensor<6x20xf32>
      return %r : tensor<6x20xf32>
    }})",
                                    op)),
              Quantized(fmt::format(R"(func.func @main(%x: tensor<6x20xf32>, %y: tensor<20xf32>) -> tensor<6x20xf32> {{
      %a = stablehlo.uniform_quantize %x : (tensor<6x20xf32>) -> tensor<6x20x%Q>
      %w = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<20xf32>) -> tensor<6x20xf32>
      %b = stablehlo.uniform_quantize %w : (tensor<6x20xf32>) -> tensor<6x20x%R>
      %c = "stablehlo.{}"(%a, %b) : (tensor<6x20x%Q>, tensor<6x20x%R>) -> tensor<6x20x%S>
      %r = stablehlo.uniform_dequantize %c : (tensor<6x20x%S>) -> tensor<6x20xf32>
      return %r : tensor<6x20xf32>
    }})",
                                    op)));
  }
  // Scales go where their dim goes, and one for a dim that grows is that of all.
  for (const char* scales :
       {"1x3x!quant.uniform<i8:f32:1, {0.5:7, 0.25, 1.0:-3}>", "1x3x!quant.uniform<i8:f32:0, {0.5:7}>"}) {
    const bool one = std::string(scales).find(":0,") != std::string::npos;
    const char* out = one ? "2x4x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 0.5, 0.125}>"
                          : "2x4x3x!quant.uniform<i8:f32:2, {0.5, 0.25, 0.5:1}>";
    const char* spread = one ? "2x4x3x!quant.uniform<i8:f32:1, {0.5:7, 0.5:7, 0.5:7, 0.5:7}>"
                             : "2x4x3x!quant.uniform<i8:f32:2, {0.5:7, 0.25, 1.0:-3}>";
    CheckLike(
        Quantized(fmt::format(R"(func.func @main(%x: tensor<1x3xf32>, %y: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {{
      %a = stablehlo.uniform_quantize %x : (tensor<1x3xf32>) -> tensor<{0}>
      %b = stablehlo.uniform_quantize %y : (tensor<2x4x3xf32>) -> tensor<2x4x3x%R>
      %c = chlo.broadcast_add %a, %b : (tensor<{0}>, tensor<2x4x3x%R>) -> tensor<{1}>
      %r = stablehlo.uniform_dequantize %c : (tensor<{1}>) -> tensor<2x4x3xf32>
      return %r : tensor<2x4x3xf32>
    }})",
                              scales, out)),
        Quantized(fmt::format(R"(func.func @main(%x: tensor<1x3xf32>, %y: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {{
      %w = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<1x3xf32>) -> tensor<2x4x3xf32>
      %a = stablehlo.uniform_quantize %w : (tensor<2x4x3xf32>) -> tensor<{0}>
      %b = stablehlo.uniform_quantize %y : (tensor<2x4x3xf32>) -> tensor<2x4x3x%R>
      %c = "stablehlo.add"(%a, %b) : (tensor<{0}>, tensor<2x4x3x%R>) -> tensor<{1}>
      %r = stablehlo.uniform_dequantize %c : (tensor<{1}>) -> tensor<2x4x3xf32>
      return %r : tensor<2x4x3xf32>
    }})",
                              spread, out)));
  }
}

TEST(Expand, OpsBetweenQuantizedTypes) {
  Check(Quantized(R"(func.func @main(%p: tensor<40xi1>, %x: tensor<40xf32>, %y: tensor<40xf32>) -> tensor<40xf32> {
    %a = stablehlo.uniform_quantize %x : (tensor<40xf32>) -> tensor<40x%Q>
    %b = stablehlo.uniform_quantize %y : (tensor<40xf32>) -> tensor<40x%R>
    %c = "stablehlo.select"(%p, %a, %b) : (tensor<40xi1>, tensor<40x%Q>, tensor<40x%R>) -> tensor<40x%S>
    %r = stablehlo.uniform_dequantize %c : (tensor<40x%S>) -> tensor<40xf32>
    return %r : tensor<40xf32>
  })"),
        {});
  constexpr const char* kReduce = R"(
    %s = "stablehlo.reduce"({}, {}) ({{
    ^bb0(%u: tensor<%R>, %v: tensor<%R>):
      %w = stablehlo.add %u, %v : tensor<%R>
      stablehlo.return %w : tensor<%R>
    }}) {{dimensions = array<i64: 0>}} : (tensor<4x3x{}>, tensor<{}>) -> tensor<3x%R>
    %r = stablehlo.uniform_dequantize %s : (tensor<3x%R>) -> tensor<3xf32>
    return %r : tensor<3xf32>
  }})";
  constexpr const char* kFirst = R"(func.func @main(%x: tensor<4x3xf32>, %y: tensor<f32>) -> tensor<3xf32> {
    %a = stablehlo.uniform_quantize %x : (tensor<4x3xf32>) -> tensor<4x3x%Q>
    %z = stablehlo.uniform_quantize %y : (tensor<f32>) -> tensor<%Q>)";
  CheckLike(Quantized(kFirst + fmt::format(fmt::runtime(kReduce), "%a", "%z", "%Q", "%Q")),
            Quantized(std::string(kFirst) + R"(
    %b = stablehlo.uniform_quantize %a : (tensor<4x3x%Q>) -> tensor<4x3x%R>
    %c = stablehlo.uniform_quantize %z : (tensor<%Q>) -> tensor<%R>)" +
                      fmt::format(fmt::runtime(kReduce), "%b", "%c", "%R", "%R")));
  CheckLike(Quantized(R"(func.func @main() -> tensor<2x5xf32> {
    %a = stablehlo.iota dim = 1 : tensor<2x5x%Q>
    %r = stablehlo.uniform_dequantize %a : (tensor<2x5x%Q>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  })"),
            R"(func.func @main() -> tensor<2x5xf32> {
    %r = stablehlo.iota dim = 1 : tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  })");
  // Whoever is sent nothing has 0.
  CheckLike(Quantized(R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %a = stablehlo.uniform_quantize %x : (tensor<3xf32>) -> tensor<3x%Q>
    %b = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<3x%Q>) -> tensor<3x%Q>
    %r = stablehlo.uniform_dequantize %b : (tensor<3x%Q>) -> tensor<3xf32>
    return %r : tensor<3xf32>
  })"),
            R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %r = stablehlo.constant dense<0.0> : tensor<3xf32>
    return %r : tensor<3xf32>
  })");
  CheckLike(Quantized(R"(func.func @main(%x: tensor<6x4xf32>, %y: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<6x4xf32> {
    %d = stablehlo.multiply %v, %v : tensor<4xf32>
    %a = stablehlo.uniform_quantize %x : (tensor<6x4xf32>) -> tensor<6x4x%Q>
    %b = stablehlo.uniform_quantize %y : (tensor<4xf32>) -> tensor<4x%Q>
    %c = stablehlo.uniform_quantize %d : (tensor<4xf32>) -> tensor<4x%Q>
    %n = "stablehlo.batch_norm_inference"(%a, %b, %b, %b, %c) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<6x4x%Q>, tensor<4x%Q>, tensor<4x%Q>, tensor<4x%Q>, tensor<4x%Q>) -> tensor<6x4x%S>
    %r = stablehlo.uniform_dequantize %n : (tensor<6x4x%S>) -> tensor<6x4xf32>
    return %r : tensor<6x4xf32>
  })"),
            Quantized(R"(func.func @main(%x: tensor<6x4xf32>, %y: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<6x4xf32> {
    %d = stablehlo.multiply %v, %v : tensor<4xf32>
    %qa = stablehlo.uniform_quantize %x : (tensor<6x4xf32>) -> tensor<6x4x%Q>
    %qb = stablehlo.uniform_quantize %y : (tensor<4xf32>) -> tensor<4x%Q>
    %qc = stablehlo.uniform_quantize %d : (tensor<4xf32>) -> tensor<4x%Q>
    %a = stablehlo.uniform_dequantize %qa : (tensor<6x4x%Q>) -> tensor<6x4xf32>
    %b = stablehlo.uniform_dequantize %qb : (tensor<4x%Q>) -> tensor<4xf32>
    %c = stablehlo.uniform_dequantize %qc : (tensor<4x%Q>) -> tensor<4xf32>
    %n = "stablehlo.batch_norm_inference"(%a, %b, %b, %b, %c) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
    %q = stablehlo.uniform_quantize %n : (tensor<6x4xf32>) -> tensor<6x4x%S>
    %r = stablehlo.uniform_dequantize %q : (tensor<6x4x%S>) -> tensor<6x4xf32>
    return %r : tensor<6x4xf32>
  })"));
  // One scale per column of the right side, and of the result one for all.
  CheckLike(Quantized(R"(func.func @main(%x: tensor<6x4xf32>, %y: tensor<4x2xf32>) -> tensor<6x2xf32> {
    %a = stablehlo.uniform_quantize %x : (tensor<6x4xf32>) -> tensor<6x4x%Q>
    %b = stablehlo.uniform_quantize %y : (tensor<4x2xf32>) -> tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x4x%Q>, tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<6x2x%R>
    %r = stablehlo.uniform_dequantize %d : (tensor<6x2x%R>) -> tensor<6x2xf32>
    return %r : tensor<6x2xf32>
  })"),
            Quantized(R"(func.func @main(%x: tensor<6x4xf32>, %y: tensor<4x2xf32>) -> tensor<6x2xf32> {
    %qa = stablehlo.uniform_quantize %x : (tensor<6x4xf32>) -> tensor<6x4x%Q>
    %qb = stablehlo.uniform_quantize %y : (tensor<4x2xf32>) -> tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
    %a = stablehlo.uniform_dequantize %qa : (tensor<6x4x%Q>) -> tensor<6x4xf32>
    %b = stablehlo.uniform_dequantize %qb : (tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<4x2xf32>
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
    %q = stablehlo.uniform_quantize %d : (tensor<6x2xf32>) -> tensor<6x2x%R>
    %r = stablehlo.uniform_dequantize %q : (tensor<6x2x%R>) -> tensor<6x2xf32>
    return %r : tensor<6x2xf32>
  })"));
}

}  // namespace
}  // namespace tenon::test
