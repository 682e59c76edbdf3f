// Programs of complex numbers: no op of theirs is left to the evaluator, and all agree with it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using compiler::Compile;
using compiler::CompiledProgram;

/// No evaluate steps, so many kernels (any number when negative) and products; within `tolerance` of the reference.
void Check(const std::string& program, int64_t kernels, int64_t products = 0, const Tolerance& tolerance = {}) {
  Result<CompiledProgram> compiled = Compile(program, CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString() << program;
  const plan::Statistics count = plan::Count(compiled->plan);
  EXPECT_EQ(count.evaluate_steps, 0) << program << plan::Print(compiled->plan);
  if (kernels >= 0) EXPECT_EQ(count.kernel_steps, kernels) << plan::Print(compiled->plan);
  EXPECT_EQ(count.driver_steps, products) << plan::Print(compiled->plan);
  const Status same = CompareWithReference(program, *compiled, 7, tolerance);
  EXPECT_TRUE(same.ok()) << same.ToString() << program << plan::Print(compiled->plan);
}

std::string Unary(std::string_view op, std::string_view part) {
  return fmt::format(R"(func.func @main(%x: tensor<300xcomplex<{1}>>) -> tensor<300xcomplex<{1}>> {{
    %0 = stablehlo.{0} %x : tensor<300xcomplex<{1}>>
    return %0 : tensor<300xcomplex<{1}>>
  }})",
                     op, part);
}

// Each part within eight units of its last place.
TEST(Complex, FunctionsAreExactInBothParts) {
  const Tolerance ulps{.absolute = 0, .relative = 8 * 0x1p-23};
  for (const char* part : {"f32", "f64"}) {
    for (const char* op :
         {"sign", "sqrt", "rsqrt", "exponential", "log", "log_plus_one", "sine", "cosine", "tan", "tanh", "cbrt"}) {
      Check(Unary(op, part), 1, 0, ulps);
    }
    const std::string type = fmt::format("tensor<300xcomplex<{}>>", part);
    const std::string real = fmt::format("tensor<300x{}>", part);
    Check(fmt::format(R"(func.func @main(%x: {0}, %y: {0}) -> ({0}, {1}) {{
      %0 = stablehlo.divide %x, %y : {0}
      %1 = stablehlo.abs %x : ({0}) -> {1}
      return %0, %1 : {0}, {1}
    }})",
                      type, real),
          2, 0, ulps);
  }
}

// Where parts cancel, errors are relative to the magnitude and grow with the function's condition.
TEST(Complex, FunctionsThatCancel) {
  for (const char* part : {"f32", "f64"}) {
    for (const char* op : {"exponential_minus_one", "logistic"}) Check(Unary(op, part), 1);
    const std::string type = fmt::format("tensor<300xcomplex<{}>>", part);
    Check(fmt::format(R"(func.func @main(%x: {0}, %y: {0}) -> {0} {{
      %0 = stablehlo.power %x, %y : {0}
      return %0 : {0}
    }})",
                      type),
          1);
  }
}

// Zeros, infinities, NaN, and magnitudes whose squares are out of range, each with each.
TEST(Complex, Edges) {
  const std::vector<std::string> values = {"0.0",     "-0.0", "1.0",    "-2.0",       "3.0e+38",    "-1.0e+30",
                                           "1.0e-30", "90.0", "-100.0", "0x7F800000", "0xFF800000", "0x7FC00000"};
  std::string list;
  for (const std::string& re : values) {
    for (const std::string& im : values) list += fmt::format("{}({}, {})", list.empty() ? "" : ", ", re, im);
  }
  const size_t n = values.size() * values.size();
  const std::string all = fmt::format("tensor<{}xcomplex<f32>>", n);
  const std::string real = fmt::format("tensor<{}xf32>", n);
  const std::string pairs = fmt::format("tensor<{0}x{0}xcomplex<f32>>", n);
  const std::string bits = fmt::format("tensor<{0}x{0}xi1>", n);
  // Subnormal parts are flushed, and so is the quotient's share of divisor parts some 2^-126 below the other one.
  const Tolerance ulps{.absolute = 1e-36, .relative = 8 * 0x1p-23};
  const std::string constant = fmt::format("%c = stablehlo.constant dense<[{}]> : {}\n", list, all);
  for (const char* op : {"sign", "sqrt", "rsqrt", "exponential", "log", "log_plus_one", "logistic", "tanh", "tan"}) {
    Check(fmt::format("func.func @main() -> {0} {{\n {1} %0 = stablehlo.{2} %c : {0}\n return %0 : {0}\n}}", all,
                      constant, op),
          1, 0, ulps);
  }
  Check(fmt::format("func.func @main() -> {3} {{\n {1} %0 = stablehlo.{2} %c : ({0}) -> {3}\n return %0 : {3}\n}}", all,
                    constant, "abs", real),
        1, 0, ulps);
  const std::string both = fmt::format(R"({0} %a = stablehlo.broadcast_in_dim %c, dims = [0] : ({1}) -> {2}
      %b = stablehlo.broadcast_in_dim %c, dims = [1] : ({1}) -> {2}
)",
                                       constant, all, pairs);
  for (const char* op : {"divide", "maximum", "minimum"}) {
    Check(fmt::format("func.func @main() -> {0} {{\n {1} %0 = stablehlo.{2} %a, %b : {0}\n return %0 : {0}\n}}", pairs,
                      both, op),
          1, 0, ulps);
  }
  for (const char* how : {"EQ", "NE", "LT", "LE", "GT", "GE"}) {
    Check(fmt::format("func.func @main() -> {3} {{\n {1} %0 = stablehlo.compare {2}, %a, %b, FLOAT : ({0}, {0}) -> "
                      "{3}\n return %0 : {3}\n}}",
                      pairs, both, how, bits),
          1);
  }
}

TEST(Complex, Reductions) {
  for (const char* part : {"f32", "f64"}) {
    for (const char* op : {"add", "multiply", "maximum"}) {
      for (const auto& [operand, dim, result] : {std::tuple("40x33", 0, "33"), {"40x33", 1, "40"}, {"40x5", 1, "40"}}) {
        Check(
            fmt::format(
                R"(func.func @main(%x: tensor<{1}xcomplex<{0}>>, %i: tensor<complex<{0}>>) -> tensor<{3}xcomplex<{0}>> {{
          %0 = stablehlo.reduce(%x init: %i) applies stablehlo.{4} across dimensions = [{2}] : (tensor<{1}xcomplex<{0}>>, tensor<complex<{0}>>) -> tensor<{3}xcomplex<{0}>>
          return %0 : tensor<{3}xcomplex<{0}>>
        }})",
                part, operand, dim, result, op),
            1);
      }
    }
  }
}

TEST(Complex, Scans) {
  for (const char* part : {"f32", "f64"}) {
    for (const auto& [op, start] : {std::pair("add", "0.0"), {"multiply", "1.0"}}) {
      Check(fmt::format(R"(func.func @main(%x: tensor<30x20xcomplex<{0}>>) -> tensor<30x20xcomplex<{0}>> {{
        %i = stablehlo.constant dense<({2}, 0.0)> : tensor<complex<{0}>>
        %0 = "stablehlo.reduce_window"(%x, %i) <{{padding = dense<[[0, 0], [19, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 20>}}> ({{
        ^bb0(%a: tensor<complex<{0}>>, %b: tensor<complex<{0}>>):
          %s = stablehlo.{1} %a, %b : tensor<complex<{0}>>
          stablehlo.return %s : tensor<complex<{0}>>
        }}) : (tensor<30x20xcomplex<{0}>>, tensor<complex<{0}>>) -> tensor<30x20xcomplex<{0}>>
        return %0 : tensor<30x20xcomplex<{0}>>
      }})",
                        part, op, start),
            -1);
    }
  }
}

// Added, multiplied and overwritten in order; index 2 twice, and once outside.
TEST(Complex, Scatters) {
  for (const std::string body :
       {"%s = stablehlo.add %a, %b : tensor<complex<f32>>\n stablehlo.return %s",
        "%s = stablehlo.multiply %a, %b : tensor<complex<f32>>\n stablehlo.return %s", "stablehlo.return %b"}) {
    Check(R"(func.func @main(%x: tensor<9x7xcomplex<f32>>, %u: tensor<5x7xcomplex<f32>>) -> tensor<9x7xcomplex<f32>> {
      %i = stablehlo.constant dense<[[2], [4], [2], [9], [0]]> : tensor<5x1xi32>
      %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
        )" + body +
              R"( : tensor<complex<f32>>
      }) : (tensor<9x7xcomplex<f32>>, tensor<5x1xi32>, tensor<5x7xcomplex<f32>>) -> tensor<9x7xcomplex<f32>>
      return %0 : tensor<9x7xcomplex<f32>>
    })",
          1);
  }
}

// Without a dim to choose a place in, every window is inside.
TEST(Complex, ScattersOfTheWhole) {
  Check(
      R"(func.func @main(%x: tensor<3x4xcomplex<f32>>, %i: tensor<0xi32>, %u: tensor<3x4xcomplex<f32>>) -> tensor<3x4xcomplex<f32>> {
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1]>}> ({
    ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
      %s = stablehlo.add %a, %b : tensor<complex<f32>>
      stablehlo.return %s : tensor<complex<f32>>
    }) : (tensor<3x4xcomplex<f32>>, tensor<0xi32>, tensor<3x4xcomplex<f32>>) -> tensor<3x4xcomplex<f32>>
    return %0 : tensor<3x4xcomplex<f32>>
  })",
      1);
}

TEST(Complex, ProductsAreFourRealOnes) {
  Check(
      R"(func.func @main(%x: tensor<3x20x30xcomplex<f32>>, %y: tensor<3x12x30xcomplex<f32>>) -> tensor<3x20x12xcomplex<f32>> {
    %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x20x30xcomplex<f32>>, tensor<3x12x30xcomplex<f32>>) -> tensor<3x20x12xcomplex<f32>>
    return %0 : tensor<3x20x12xcomplex<f32>>
  })",
      -1, 4);
  // One operand is real.
  Check(R"(func.func @main(%x: tensor<20x30xf64>, %y: tensor<30x12xcomplex<f64>>) -> tensor<20x12xcomplex<f64>> {
    %c = stablehlo.convert %x : (tensor<20x30xf64>) -> tensor<20x30xcomplex<f64>>
    %0 = stablehlo.dot %c, %y : (tensor<20x30xcomplex<f64>>, tensor<30x12xcomplex<f64>>) -> tensor<20x12xcomplex<f64>>
    return %0 : tensor<20x12xcomplex<f64>>
  })",
        -1, 2);
  // Rows times a vector are read once.
  Check(R"(func.func @main(%x: tensor<20x300xcomplex<f32>>, %y: tensor<300xcomplex<f32>>) -> tensor<20xcomplex<f32>> {
    %0 = stablehlo.dot %x, %y : (tensor<20x300xcomplex<f32>>, tensor<300xcomplex<f32>>) -> tensor<20xcomplex<f32>>
    return %0 : tensor<20xcomplex<f32>>
  })",
        1);
  // So few that no driver is called.
  Check(R"(func.func @main(%x: tensor<4x3xcomplex<f32>>, %y: tensor<3x5xcomplex<f32>>) -> tensor<4x5xcomplex<f32>> {
    %0 = stablehlo.dot %x, %y : (tensor<4x3xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> tensor<4x5xcomplex<f32>>
    return %0 : tensor<4x5xcomplex<f32>>
  })",
        1);
  Check(
      R"(func.func @main(%x: tensor<2x9x9x3xcomplex<f32>>, %w: tensor<3x3x3x4xcomplex<f32>>) -> tensor<2x7x7x4xcomplex<f32>> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
       : (tensor<2x9x9x3xcomplex<f32>>, tensor<3x3x3x4xcomplex<f32>>) -> tensor<2x7x7x4xcomplex<f32>>
    return %0 : tensor<2x7x7x4xcomplex<f32>>
  })",
      -1, 4);
}

TEST(Complex, LoopsOfPointsRunInOneKernel) {
  Check(R"(func.func @main(%c: tensor<40x10xcomplex<f32>>) -> (tensor<40x10xcomplex<f32>>, tensor<40x10xi32>) {
    %z0 = stablehlo.constant dense<(0.0, 0.0)> : tensor<40x10xcomplex<f32>>
    %n0 = stablehlo.constant dense<0> : tensor<40x10xi32>
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %r:3 = stablehlo.while(%i = %i0, %z = %z0, %n = %n0) : tensor<i32>, tensor<40x10xcomplex<f32>>, tensor<40x10xi32>
    cond {
      %last = stablehlo.constant dense<30> : tensor<i32>
      %p = stablehlo.compare LT, %i, %last, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %two = stablehlo.constant dense<2.0> : tensor<40x10xf32>
      %zz = stablehlo.multiply %z, %z : tensor<40x10xcomplex<f32>>
      %next = stablehlo.add %zz, %c : tensor<40x10xcomplex<f32>>
      %abs = stablehlo.abs %z : (tensor<40x10xcomplex<f32>>) -> tensor<40x10xf32>
      %in = stablehlo.compare LT, %abs, %two, FLOAT : (tensor<40x10xf32>, tensor<40x10xf32>) -> tensor<40x10xi1>
      %z1 = stablehlo.select %in, %next, %z : tensor<40x10xi1>, tensor<40x10xcomplex<f32>>
      %k = stablehlo.convert %in : (tensor<40x10xi1>) -> tensor<40x10xi32>
      %n1 = stablehlo.add %n, %k : tensor<40x10xi32>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %z1, %n1 : tensor<i32>, tensor<40x10xcomplex<f32>>, tensor<40x10xi32>
    }
    return %r#1, %r#2 : tensor<40x10xcomplex<f32>>, tensor<40x10xi32>
  })",
        1, 0, {.absolute = 1e-2, .relative = 1e-2});  // Chaos makes much of roundings.
}

// A row per trip, and a state of two elements written out.
TEST(Complex, LoopsStackRows) {
  Check(
      R"(func.func @main(%x: tensor<20xcomplex<f32>>, %s: tensor<2xcomplex<f32>>) -> (tensor<20xcomplex<f32>>, tensor<2xcomplex<f32>>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %y0 = stablehlo.constant dense<(0.0, 0.0)> : tensor<20xcomplex<f32>>
    %r:3 = stablehlo.while(%i = %i0, %y = %y0, %t = %s) : tensor<i32>, tensor<20xcomplex<f32>>, tensor<2xcomplex<f32>>
    cond {
      %last = stablehlo.constant dense<20> : tensor<i32>
      %p = stablehlo.compare LT, %i, %last, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %half = stablehlo.constant dense<(0.25, 0.5)> : tensor<2xcomplex<f32>>
      %e = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<20xcomplex<f32>>, tensor<i32>) -> tensor<1xcomplex<f32>>
      %ee = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<1xcomplex<f32>>) -> tensor<2xcomplex<f32>>
      %back = stablehlo.reverse %t, dims = [0] : tensor<2xcomplex<f32>>
      %m = stablehlo.multiply %back, %half : tensor<2xcomplex<f32>>
      %u = stablehlo.add %m, %ee : tensor<2xcomplex<f32>>
      %first = stablehlo.slice %u [0:1] : (tensor<2xcomplex<f32>>) -> tensor<1xcomplex<f32>>
      %y1 = stablehlo.dynamic_update_slice %y, %first, %i : (tensor<20xcomplex<f32>>, tensor<1xcomplex<f32>>, tensor<i32>) -> tensor<20xcomplex<f32>>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %y1, %u : tensor<i32>, tensor<20xcomplex<f32>>, tensor<2xcomplex<f32>>
    }
    return %r#1, %r#2 : tensor<20xcomplex<f32>>, tensor<2xcomplex<f32>>
  })",
      1);
}

}  // namespace
}  // namespace tenon::test
