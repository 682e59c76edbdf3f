// What becomes one kernel, where that is easily got wrong: compared with the reference, with every check on.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using compiler::Compile;
using compiler::CompiledProgram;

/// Compiles and compares with the reference.
plan::Statistics Check(const std::string& program) {
  compiler::CompileOptions options = CpuOptions();
  options.verify = true;
  Result<CompiledProgram> compiled = Compile(program, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  if (!compiled.ok()) return {};
  const Status same = CompareWithReference(program, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString() << plan::Print(compiled->plan);
  return plan::Count(compiled->plan);
}

TEST(Fusion, SeamsAtOtherPlacesAreOtherGuards) {
  // One operand at two places of one index, each under guards of its own.
  Check(
      R"(func.func @main(%a: tensor<10xf32>, %b: tensor<9xf32>, %c: tensor<962xf32>, %v: tensor<1001xf32>) -> tensor<1010xf32> {
    %v1 = stablehlo.slice %v [1:1001] : (tensor<1001xf32>) -> tensor<1000xf32>
    %v2 = stablehlo.slice %v [0:39] : (tensor<1001xf32>) -> tensor<39xf32>
    %x = stablehlo.concatenate %a, %v1, dim = 0 : (tensor<10xf32>, tensor<1000xf32>) -> tensor<1010xf32>
    %y = stablehlo.concatenate %b, %v2, %c, dim = 0 : (tensor<9xf32>, tensor<39xf32>, tensor<962xf32>) -> tensor<1010xf32>
    %s = stablehlo.add %x, %y : tensor<1010xf32>
    return %s : tensor<1010xf32>
  })");
}

/// The number of dims that the program's loop runs its points along. `counter`: what it counts is a result, too.
int DimsOfLoop(bool counter) {
  const std::string program = fmt::format(R"(func.func @main(%x: tensor<6x5x3xf32>) -> (tensor<6x5x3xf32>{0}) {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %most = stablehlo.constant dense<20> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<6x5x3xf32>
    cond {{
      %c = stablehlo.compare LT, %i, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %half = stablehlo.constant dense<0.5> : tensor<6x5x3xf32>
      %a = stablehlo.multiply %s, %half : tensor<6x5x3xf32>
      %b = stablehlo.sine %a : tensor<6x5x3xf32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %b : tensor<i32>, tensor<6x5x3xf32>
    }}
    return %r#1{1} : tensor<6x5x3xf32>{0}
  }})",
                                          counter ? ", tensor<i32>" : "", counter ? ", %r#0" : "");
  compiler::CompileOptions options = CpuOptions();
  options.verify = true;
  Result<CompiledProgram> compiled = Compile(program, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  if (!compiled.ok()) return -1;
  const Status same = CompareWithReference(program, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString() << plan::Print(compiled->plan);
  for (const kir::Kernel& kernel : compiled->plan.kernels) {
    for (const kir::Step& step : kernel.seq) {
      if (std::holds_alternative<kir::Loop>(step.is)) return kernel.outer;
    }
  }
  return 0;
}

TEST(Fusion, PointsOfALoopLieInOneRow) {
  EXPECT_EQ(DimsOfLoop(false), 1);
  EXPECT_EQ(DimsOfLoop(true), 1);
}

TEST(Fusion, NodesAddedLateAreInNoOrder) {
  // u is multiplied in one kernel with what the product of it feeds: only topology says which of them comes first.
  Check(
      R"(func.func @main(%h0: tensor<8x16xf32>, %w: tensor<16x16xf32>, %u: tensor<16x16xf32>, %x: tensor<5x8x16xf32>) -> (tensor<8x16xf32>, tensor<5x8x16xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %f = stablehlo.constant dense<0.0> : tensor<f32>
    %ys0 = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<5x8x16xf32>
    %r:3 = stablehlo.while(%i = %zero, %h = %h0, %ys = %ys0) : tensor<i32>, tensor<8x16xf32>, tensor<5x8x16xf32>
    cond {
      %c = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %two = stablehlo.constant dense<2.0> : tensor<8x16xf32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %a = stablehlo.multiply %h, %two : tensor<8x16xf32>
      %xs = stablehlo.dynamic_slice %x, %i, %z, %z, sizes = [1, 8, 16] : (tensor<5x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
      %xi = stablehlo.reshape %xs : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
      %y = stablehlo.dot_general %xi, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %d = stablehlo.dot_general %a, %u, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %yd = stablehlo.add %y, %d : tensor<8x16xf32>
      %yda = stablehlo.add %yd, %a : tensor<8x16xf32>
      %n = stablehlo.tanh %yda : tensor<8x16xf32>
      %nb = stablehlo.reshape %n : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
      %yn = stablehlo.dynamic_update_slice %ys, %nb, %i, %z, %z : (tensor<5x8x16xf32>, tensor<1x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x8x16xf32>
      %in = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %in, %n, %yn : tensor<i32>, tensor<8x16xf32>, tensor<5x8x16xf32>
    }
    return %r#1, %r#2 : tensor<8x16xf32>, tensor<5x8x16xf32>
  })");
}

/// The sum over `count` arrays of sums over their rows, row i as long as `length(i)`.
template <class Length>
std::string SumOfRowSums(int count, Length length) {
  std::string arguments, body, sum;
  for (int i = 0; i < count; ++i) {
    arguments += fmt::format("{}%x{}: tensor<12x{}xf32>", i ? ", " : "", i, length(i));
    body += fmt::format(
        "    %r{0} = stablehlo.reduce(%x{0} init: %zero) applies stablehlo.add across dimensions = [1] : "
        "(tensor<12x{1}xf32>, tensor<f32>) -> tensor<12xf32>\n",
        i, length(i));
    if (i > 0) body += fmt::format("    %s{} = stablehlo.add {}, %r{} : tensor<12xf32>\n", i, sum, i);
    sum = i > 0 ? fmt::format("%s{}", i) : "%r0";
  }
  return fmt::format(
      "func.func @main({}) -> tensor<12xf32> {{\n    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n{}    return "
      "{} : tensor<12xf32>\n  }}\n",
      arguments, body, sum);
}

TEST(Fusion, KernelsHaveOnlySoManyDims) {
  Check(SumOfRowSums(40, [](int i) { return 20 + i; }));
  Check(SumOfRowSums(31, [](int i) { return 20 + i; }));
  Check(SumOfRowSums(32, [](int i) { return 20 + i; }));
  // Equal lengths share a dim.
  EXPECT_EQ(Check(SumOfRowSums(40, [](int) { return 20; })).kernel_steps, 1);
}

TEST(Fusion, WideConcatenationsAreCopies) {
  // Too many parts for one kernel, and different extents that cannot share loops.
  const auto concatenation = [](int count, auto length) {
    std::string arguments, body, parts, types;
    int total = 0;
    for (int i = 0; i < count; ++i) {
      const std::string type = fmt::format("tensor<{}xf32>", length(i));
      arguments += fmt::format("{}%x{}: {}", i ? ", " : "", i, type);
      body += fmt::format("    %y{0} = stablehlo.abs %x{0} : {1}\n", i, type);
      parts += fmt::format("{}%y{}", i ? ", " : "", i);
      types += (i ? ", " : "") + type;
      total += length(i);
    }
    return fmt::format(
        "func.func @main({0}) -> tensor<{1}xf32> {{\n{2}    %c = stablehlo.concatenate {3}, dim = 0 : ({4}) -> "
        "tensor<{1}xf32>\n    %r = stablehlo.sqrt %c : tensor<{1}xf32>\n    return %r : tensor<{1}xf32>\n  }}\n",
        arguments, total, body, parts, types);
  };
  EXPECT_EQ(Check(concatenation(40, [](int i) { return 2 + i; })).evaluate_steps, 0);
  EXPECT_EQ(Check(concatenation(600, [](int) { return 1; })).evaluate_steps, 0);
  EXPECT_EQ(Check(concatenation(100, [](int i) { return 2 + i % 3; })).copy_steps, 0);
}

TEST(Fusion, ReversedArraysAreKernelsWhereTheyAreLarge) {
  const auto reversed = [](const std::string& type, const std::string& dims) {
    return fmt::format(R"(func.func @main(%x: {0}) -> {0} {{
      %y = stablehlo.reverse %x, dims = [{1}] : {0}
      return %y : {0}
    }})",
                       type, dims);
  };
  EXPECT_EQ(Check(reversed("tensor<100x80x3xui8>", "2")).copy_steps, 0);
  EXPECT_EQ(Check(reversed("tensor<100x80x4xui8>", "0, 2")).copy_steps, 0);
  EXPECT_EQ(Check(reversed("tensor<50x2x40x5xi16>", "1, 3")).copy_steps, 0);
  EXPECT_EQ(Check(reversed("tensor<60x70x2xf64>", "0, 1, 2")).copy_steps, 0);
  EXPECT_EQ(Check(reversed("tensor<20000xf32>", "0")).copy_steps, 0);
  Check(reversed("tensor<7x3xui8>", "1"));
  EXPECT_EQ(Check(reversed("tensor<100x80x3xf16>", "2")).copy_steps, 0);
  EXPECT_EQ(Check(reversed("tensor<100x80x3xcomplex<f32>>", "1, 2")).copy_steps, 0);
}

TEST(Fusion, WindowsThatHoldOneElementRepeatIt) {
  // x: 3 x 5 elements, some steps apart, in windows as long as the steps; padding moves where they begin.
  const auto pooled = [](int low, int high, const std::string& zero, const std::string& init) {
    const int rows = low + 2 * 3 + 1 + high - 2, columns = 4 * 3 + 1 + low;
    return fmt::format(R"(func.func @main(%x: tensor<2x3x5xf32>) -> tensor<2x{0}x{1}xf32> {{
      %zero = stablehlo.constant dense<{2}> : tensor<f32>
      %init = stablehlo.constant dense<{3}> : tensor<f32>
      %p = stablehlo.pad %x, %zero, low = [0, {4}, 0], high = [0, {5}, 0], interior = [0, 2, 2] : (tensor<2x3x5xf32>, tensor<f32>) -> tensor<2x{6}x13xf32>
      %y = "stablehlo.reduce_window"(%p, %init) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }}) {{window_dimensions = array<i64: 1, 3, 3>, window_strides = array<i64: 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [{4}, 2]]> : tensor<3x2xi64>}} : (tensor<2x{6}x13xf32>, tensor<f32>) -> tensor<2x{0}x{1}xf32>
      return %y : tensor<2x{0}x{1}xf32>
    }})",
                       rows, columns, zero, init, low, high, low + 7 + high);
  };
  for (const int low : {0, 1, 2, 3, 5}) {
    for (const int high : {0, 2, 4}) {
      if (low + high < 2) continue;
      Check(pooled(low, high, "0.0", "0.0"));
      Check(pooled(low, high, "1.0", "0.0"));
      Check(pooled(low, high, "0.0", "2.0"));
    }
  }
  Check(R"(func.func @main(%x: tensor<3x5xf32>) -> tensor<8x9xf32> {
    %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 3, 2>, padding = dense<[[2, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<3x5xf32>, tensor<f32>) -> tensor<8x9xf32>
    return %y : tensor<8x9xf32>
  })");
}

TEST(Fusion, EffectsKeepTheirOrder) {
  // A kernel that needs the second call's result does not bring it before the first.
  const std::string program = R"(func.func @main(%x: tensor<100xf32>) -> (tensor<100xf32>, tensor<100xf32>) {
    %t = stablehlo.tanh %x : tensor<100xf32>
    %a = stablehlo.custom_call @first(%x) {has_side_effect = true} : (tensor<100xf32>) -> tensor<100xf32>
    %b = stablehlo.custom_call @second(%x) {has_side_effect = true} : (tensor<100xf32>) -> tensor<100xf32>
    %r = stablehlo.add %t, %b : tensor<100xf32>
    return %t, %r : tensor<100xf32>, tensor<100xf32>
  })";
  Result<CompiledProgram> compiled = Compile(program, CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  std::vector<std::string> calls;
  for (const plan::Step& step : compiled->plan.steps) {
    if (const auto* call = std::get_if<plan::CustomCallStep>(&step.is)) calls.push_back(call->target);
  }
  EXPECT_EQ(calls, (std::vector<std::string>{"first", "second"}));
}

TEST(Fusion, WhatIsDealtOutAnewLeavesTheRestAlone) {
  // Every roll doubles the places at which the first values are needed, so that the sum cannot be one kernel; the
  // product before it, and the loop after it, are made once.
  std::string body =
      "    %x0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, "
      "tensor<8x500xf32>) -> tensor<4x500xf32>\n";
  for (int i = 0; i < 24; ++i) {
    body += fmt::format(
        "    %l{0} = stablehlo.slice %x{0} [0:4, {2}:500] : (tensor<4x500xf32>) -> tensor<4x{3}xf32>\n"
        "    %h{0} = stablehlo.slice %x{0} [0:4, 0:{2}] : (tensor<4x500xf32>) -> tensor<4x{2}xf32>\n"
        "    %c{0} = stablehlo.concatenate %l{0}, %h{0}, dim = 1 : (tensor<4x{3}xf32>, tensor<4x{2}xf32>) -> "
        "tensor<4x500xf32>\n"
        "    %m{0} = stablehlo.maximum %x{0}, %c{0} : tensor<4x500xf32>\n"
        "    %x{1} = stablehlo.negate %m{0} : tensor<4x500xf32>\n",
        i, i + 1, 1 + 17 * i, 499 - 17 * i);
  }
  const std::string program =
      "func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x500xf32>, %w: tensor<500x500xf32>) -> tensor<4x500xf32> {\n" +
      body + R"(    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %h = %x24) : tensor<i32>, tensor<4x500xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %y = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<4x500xf32>, tensor<500x500xf32>) -> tensor<4x500xf32>
      %t = stablehlo.tanh %y : tensor<4x500xf32>
      %in = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %in, %t : tensor<i32>, tensor<4x500xf32>
    }
    return %r#1 : tensor<4x500xf32>
  }
)";
  const plan::Statistics count = Check(program);
  EXPECT_EQ(count.driver_steps, 2);
  Result<CompiledProgram> compiled = Compile(program, CpuOptions());
  ASSERT_TRUE(compiled.ok());
  // Two products, 24 times maximum and negate, the loop's counter and its comparison.
  EXPECT_EQ(compiled->flops, 2.0 * 4 * 8 * 500 + 2.0 * 4 * 500 * 500 + 24 * 2 * 4 * 500 + 2);
  EXPECT_EQ(compiled->transcendentals, 4 * 500);
}

TEST(Fusion, KernelsOfManyOffsetsKeepThem) {
  // A sum of rows, written out: each is at a place of its own.
  constexpr int kRows = 12;
  std::string program = "func.func @main(%x: tensor<12x50xf32>) -> tensor<1x50xf32> {\n";
  for (int i = 0; i < kRows; ++i) {
    const std::string n = std::to_string(i);
    program += "  %r" + n + " = stablehlo.slice %x [" + n + ":" + std::to_string(i + 1) +
               ":1, 0:50:1] : (tensor<12x50xf32>) -> tensor<1x50xf32>\n";
    program += "  %s" + n + " = stablehlo." + (i == 0 ? "negate %r0" : "add %s" + std::to_string(i - 1) + ", %r" + n) +
               " : tensor<1x50xf32>\n";
  }
  program += "  return %s11 : tensor<1x50xf32>\n}\n";
  Check(program);
  const Result<CompiledProgram> compiled = Compile(program, CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  ASSERT_EQ(plan::Count(compiled->plan).kernel_steps, 1);
  EXPECT_LT(compiled->plan.kernels.at(0).num_params, 6) << plan::Print(compiled->plan);
}

TEST(Fusion, QuestionsAlongEveryDimAreNotCutIntoAllPoints) {
  // Gates on qubits: each asks which half of one dim a point is in. All the cuts together make a region of each point.
  constexpr int kQubits = 22;
  std::string dims, body;
  for (int i = 0; i < kQubits; ++i) dims += "2x";
  for (int i = 0; i < kQubits; ++i) {
    body += fmt::format(
        "    %i{0} = stablehlo.iota dim = {0} : tensor<{2}i32>\n"
        "    %c{0} = stablehlo.compare EQ, %i{0}, %one, SIGNED : (tensor<{2}i32>, tensor<{2}i32>) -> tensor<{2}i1>\n"
        "    %k{0} = stablehlo.constant dense<1.{0:02}> : tensor<{2}f32>\n"
        "    %p{0} = stablehlo.multiply %x{0}, %k{0} : tensor<{2}f32>\n"
        "    %x{1} = stablehlo.select %c{0}, %p{0}, %x{0} : tensor<{2}i1>, tensor<{2}f32>\n",
        i, i + 1, dims);
  }
  const std::clock_t start = std::clock();
  const Result<CompiledProgram> compiled = Compile(
      fmt::format("func.func @main(%x0: tensor<{0}f32>) -> tensor<{0}f32> {{\n"
                  "    %one = stablehlo.constant dense<1> : tensor<{0}i32>\n{1}    return %x{2} : tensor<{0}f32>\n}}\n",
                  dims, body, kQubits),
      CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_LT(std::clock() - start, 8 * CLOCKS_PER_SEC);
  EXPECT_EQ(plan::Count(compiled->plan).kernel_steps, 1);
}

}  // namespace
}  // namespace tenon::test
