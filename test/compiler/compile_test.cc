#include "tenon/compiler/compile.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/kir/walk.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using compiler::Compile;
using compiler::CompiledProgram;

/// Compiles, compares with the reference, and wants so many kernels, products and evaluate steps.
CompiledProgram Check(std::string_view program, int64_t kernels, int64_t products = 0, int64_t evaluates = 0) {
  Result<CompiledProgram> compiled = Compile(program, CpuOptions());
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  if (!compiled.ok()) return {};
  const plan::Statistics count = plan::Count(compiled->plan);
  EXPECT_EQ(count.kernel_steps, kernels) << plan::Print(compiled->plan);
  EXPECT_EQ(count.driver_steps, products);
  EXPECT_EQ(count.evaluate_steps, evaluates);
  const Status same = CompareWithReference(program, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString() << plan::Print(compiled->plan);
  return std::move(*compiled);
}

/// "exp f.py:3, ..." of every kernel or driver step, loops' steps too, in their order.
void CollectOrigins(const plan::Plan& plan, const plan::Seq& seq, std::vector<std::string>& to) {
  for (const plan::Step& step : seq) {
    if (std::holds_alternative<plan::KernelStep>(step.is) || std::holds_alternative<plan::DriverStep>(step.is)) {
      std::string text;
      for (const uint32_t o : step.origins)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", plan.origins[o].op, plan.origins[o].place);
      to.push_back(std::move(text));
    }
    if (const auto* loop = std::get_if<plan::WhileStep>(&step.is)) CollectOrigins(plan, loop->body, to);
  }
}
std::vector<std::string> Origins(const plan::Plan& plan) {
  std::vector<std::string> texts;
  CollectOrigins(plan, plan.steps, texts);
  return texts;
}

/// The program with `type` for every $T.
std::string Typed(std::string program, std::string_view type) {
  for (size_t at; (at = program.find("$T")) != std::string::npos;) program.replace(at, 2, type);
  return program;
}

TEST(Compile, StepsKnowWhereTheyWereWritten) {
  const CompiledProgram compiled = Check(R"(
#f3 = loc("f.py":3:1)
#f4 = loc("f.py":4:1)
#g9 = loc("g.py":9:1)
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  %0 = stablehlo.exponential %x : tensor<64x64xf32> loc("jit(f)/exp"(callsite("f"(#f3) at #g9)))
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("jit(f)/dot"(#f4))
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %1, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32> loc(#f4)
  %2 = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32> loc("jit(f)/sum"(#g9))
  return %1, %2 : tensor<64x64xf32>, tensor<64xf32>
})",
                                         2, 1);
  EXPECT_THAT(Origins(compiled.plan),
              testing::ElementsAre("exponential f.py:3", "dot_general f.py:4", "reduce g.py:9"));
  ASSERT_FALSE(compiled.plan.origins.empty());
  EXPECT_EQ(compiled.plan.origins[0].scope, "jit(f)/exp");
}

// What is made of an op was written where it was; a loop that is one kernel is all that is inside.
TEST(Compile, WhatRulesAndLinkingMakeKeepsItsPlace) {
  Result<CompiledProgram> compiled = Compile(R"(
func.func @main(%x: tensor<8xf32>, %m: tensor<8x8xf32>) -> tensor<8xf32> {
  %n = stablehlo.constant dense<100> : tensor<i32>
  %0:2 = stablehlo.while(%i = %n, %a = %x) : tensor<i32>, tensor<8xf32>
  cond {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %c = stablehlo.compare GT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }
  do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.subtract %i, %one : tensor<i32>
    %d = stablehlo.dot_general %m, %a, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32> loc("f.py":7:1)
    %t = stablehlo.tanh %d : tensor<8xf32> loc("f.py":8:1)
    stablehlo.return %j, %t : tensor<i32>, tensor<8xf32>
  } loc("f.py":9:1)
  return %0#1 : tensor<8xf32>
})",
                                             CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  // The step that is the loop is all that is inside of it; what moves its result is not.
  const std::vector<std::string> origins = Origins(compiled->plan);
  const auto inside = std::find_if(origins.begin(), origins.end(), [](const std::string& text) {
    return text.find("dot_general f.py:7") != std::string::npos && text.find("tanh f.py:8") != std::string::npos;
  });
  ASSERT_NE(inside, origins.end()) << plan::Print(compiled->plan, true);
  for (const std::string& text : origins) {
    if (&text != &*inside) EXPECT_THAT(text, testing::Not(testing::HasSubstr("f.py:7")));
  }
}

TEST(Compile, ChainsBecomeOneKernel) {
  Check(R"(func.func @main(%x: tensor<40x33xf32>, %b: tensor<33xf32>) -> tensor<40x33xf32> {
    %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<33xf32>) -> tensor<40x33xf32>
    %1 = stablehlo.add %x, %0 : tensor<40x33xf32>
    %2 = stablehlo.tanh %1 : tensor<40x33xf32>
    %3 = stablehlo.multiply %2, %x : tensor<40x33xf32>
    return %3 : tensor<40x33xf32>
  })",
        1);
}

TEST(Compile, SortsByWhatComparatorsCompute) {
  // One key that is an expression, downwards; the positions are neither made nor read; only the first three are asked
  // for.
  Check(R"(func.func @main(%x: tensor<4x50xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
    %i = stablehlo.iota dim = 1 : tensor<4x50xi32>
    %s:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %fa = stablehlo.abs %a : tensor<f32>
      %fb = stablehlo.abs %b : tensor<f32>
      %p = stablehlo.compare GT, %fa, %fb, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) : (tensor<4x50xf32>, tensor<4x50xi32>) -> (tensor<4x50xf32>, tensor<4x50xi32>)
    %v = stablehlo.slice %s#0 [0:4, 0:3] : (tensor<4x50xf32>) -> tensor<4x3xf32>
    %w = stablehlo.slice %s#1 [0:4, 0:2] : (tensor<4x50xi32>) -> tensor<4x2xi32>
    %z = stablehlo.constant dense<7> : tensor<i32>
    %q = stablehlo.pad %w, %z, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<4x2xi32>, tensor<i32>) -> tensor<4x3xi32>
    return %v, %q : tensor<4x3xf32>, tensor<4x3xi32>
  })",
        2, 1);
}

TEST(Compile, SortsByKeysOfNarrowFloats) {
  for (const char* type : {"f8E5M2", "f8E4M3FN"}) {
    Check(Typed(R"(func.func @main(%x: tensor<3x50xf32>, %n: tensor<3x50xi16>) -> (tensor<3x50x$T>, tensor<3x50xi16>) {
      %y = stablehlo.convert %x : (tensor<3x50xf32>) -> tensor<3x50x$T>
      %s:2 = "stablehlo.sort"(%y, %n) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<$T>, %b: tensor<$T>, %c: tensor<i16>, %d: tensor<i16>):
        %p = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<$T>, tensor<$T>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }) : (tensor<3x50x$T>, tensor<3x50xi16>) -> (tensor<3x50x$T>, tensor<3x50xi16>)
      return %s#0, %s#1 : tensor<3x50x$T>, tensor<3x50xi16>
    })",
                type),
          1, 1);
  }
}

TEST(Compile, SortsBySeveralKeys) {
  Check(
      R"(func.func @main(%x: tensor<30x5xi8>, %y: tensor<30x5xf32>, %z: tensor<30x5xf64>) -> (tensor<30x5xi8>, tensor<30x5xf32>, tensor<30x5xf64>) {
    %s:3 = "stablehlo.sort"(%x, %y, %z) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i8>, %b: tensor<i8>, %c: tensor<f32>, %d: tensor<f32>, %e: tensor<f64>, %f: tensor<f64>):
      %l1 = stablehlo.compare GT, %d, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %l0 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
      %e0 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
      %and = stablehlo.and %e0, %l1 : tensor<i1>
      %or = stablehlo.or %l0, %and : tensor<i1>
      stablehlo.return %or : tensor<i1>
    }) : (tensor<30x5xi8>, tensor<30x5xf32>, tensor<30x5xf64>) -> (tensor<30x5xi8>, tensor<30x5xf32>, tensor<30x5xf64>)
    return %s#0, %s#1, %s#2 : tensor<30x5xi8>, tensor<30x5xf32>, tensor<30x5xf64>
  })",
      0, 1);
}

TEST(Compile, ComparatorsThatAreNoKeysAreEvaluated) {
  Check(R"(func.func @main(%x: tensor<30xi32>, %y: tensor<30xi32>) -> tensor<30xi32> {
    %s:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
      %p = stablehlo.compare LT, %a, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) : (tensor<30xi32>, tensor<30xi32>) -> (tensor<30xi32>, tensor<30xi32>)
    return %s#0 : tensor<30xi32>
  })",
        0, 0, 1);
}

TEST(Compile, ComparatorsMayShareWhatTheyCompute) {
  // 2^60 * x, by 60 sums of a value and itself: as a tree, 2^60 places.
  std::string sums;
  for (const char* side : {"a", "b"}) {
    for (int i = 0; i < 60; ++i)
      sums += fmt::format("%{0}{1} = stablehlo.add %{0}{2}, %{0}{2} : tensor<f64>\n", side, i + 1, i);
  }
  Check(R"(func.func @main(%x: tensor<40xf64>) -> tensor<40xf64> {
    %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a0: tensor<f64>, %b0: tensor<f64>):
)" + sums + R"(
      %p = stablehlo.compare LT, %a60, %b60, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) : (tensor<40xf64>) -> tensor<40xf64>
    return %s : tensor<40xf64>
  })",
        1, 1);
}

TEST(Compile, CombinersMayShareWhatTheyCompute) {
  std::string sums;
  for (int i = 0; i < 60; ++i) sums += fmt::format("%s{} = stablehlo.multiply %s{}, %s{} : tensor<f32>\n", i + 1, i, i);
  const std::string combiner = R"(({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s0 = stablehlo.add %p, %q : tensor<f32>
)" + sums + R"(
      stablehlo.return %s60 : tensor<f32>
    }))";
  EXPECT_TRUE(Compile(R"(func.func @main(%x: tensor<40x50xf32>) -> (tensor<40xf32>, tensor<40x50xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> )" +
                          combiner + R"( : (tensor<40x50xf32>, tensor<f32>) -> tensor<40xf32>
    %w = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 3>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> )" +
                          combiner +
                          R"( : (tensor<40x50xf32>, tensor<f32>) -> tensor<40x50xf32>
    return %r, %w : tensor<40xf32>, tensor<40x50xf32>
  })",
                      {})
                  .ok());
}

TEST(Compile, LongCombinersAreNotWrittenOutForEachElement) {
  const auto nodes_with = [](int length) {
    std::string chain;
    for (int i = 0; i < length; ++i) chain += fmt::format("%s{} = stablehlo.tanh %s{} : tensor<f32>\n", i + 1, i);
    const CompiledProgram compiled = Check(fmt::format(R"(func.func @main(%x: tensor<6x16xf32>) -> tensor<6xf32> {{
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.reduce"(%x, %z) <{{dimensions = array<i64: 1>}}> ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s0 = stablehlo.add %p, %q : tensor<f32>
      {}
      stablehlo.return %s{} : tensor<f32>
    }}) : (tensor<6x16xf32>, tensor<f32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }})",
                                                       chain, length),
                                           1);
    size_t nodes = 0;
    for (const kir::Kernel& kernel : compiled.plan.kernels) nodes += kernel.nodes.size();
    return nodes;
  };
  EXPECT_GT(nodes_with(3), size_t{3 * 16});
  EXPECT_LT(nodes_with(400), size_t{400});
}

TEST(Compile, LongChainsOfViewsAndOfInvariantValues) {
  // Slices through concatenations one behind the other; a loop whose body is one long chain that no trip changes.
  constexpr int kLength = 20000;
  std::string grown, chain;
  for (int i = 0; i < kLength; ++i) {
    grown += fmt::format(
        "%c{} = stablehlo.concatenate %c{}, %x, dim = 0 : (tensor<{}xf32>, tensor<1xf32>) -> tensor<{}xf32>\n", i + 1,
        i, i + 1, i + 2);
  }
  for (int i = 0; i < kLength; ++i)
    chain +=
        fmt::format("%h{} = stablehlo.negate %h{} : tensor<300xf32>\n%h{} = stablehlo.abs %n{} : tensor<300xf32>\n", i,
                    i, i + 1, i);
  for (size_t at = 0; (at = chain.find("%h", at)) != std::string::npos; ++at) {
    if (chain.compare(chain.find(' ', at), 19, " = stablehlo.negate") == 0) chain[at + 1] = 'n';
  }
  const Result<CompiledProgram> views = Compile(
      "func.func @main(%c0: tensor<1xf32>, %x: tensor<1xf32>) -> tensor<1xf32> {\n" + grown +
          fmt::format(
              "%r = stablehlo.slice %c{0} [0:1] : (tensor<{1}xf32>) -> tensor<1xf32>\nreturn %r : tensor<1xf32>\n}}",
              kLength, kLength + 1),
      {});
  ASSERT_TRUE(views.ok()) << views.status().ToString();
  EXPECT_EQ(views->statistics.ops_simplified, 0);
  const Result<CompiledProgram> loop =
      Compile(R"(func.func @main(%h0: tensor<300xf32>, %n: tensor<i32>) -> tensor<300xf32> {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %z, %c = %h0) : tensor<i32>, tensor<300xf32>
     cond {
      %t = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
)" + chain +
                  fmt::format(R"(
      %e = stablehlo.exponential %h{} : tensor<300xf32>
      %d = stablehlo.add %c, %e : tensor<300xf32>
      stablehlo.return %j, %d : tensor<i32>, tensor<300xf32>
    }}
    return %r#1 : tensor<300xf32>
  }})",
                              kLength),
              {});
  EXPECT_TRUE(loop.ok()) << loop.status().ToString();
}

TEST(Compile, LongChainsBeforeProducts) {
  // What an operand costs to compute again is asked of all that it is made of.
  constexpr int kLength = 100000;
  std::string chain;
  for (int i = 0; i < kLength; ++i) chain += fmt::format("%v{} = stablehlo.add %v{}, %b : tensor<8x8xf32>\n", i + 1, i);
  const Result<CompiledProgram> product =
      Compile("func.func @main(%v0: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {\n" + chain +
                  fmt::format("%r = stablehlo.dot_general %v{}, %b, contracting_dims = [1] x [0] : (tensor<8x8xf32>, "
                              "tensor<8x8xf32>) -> tensor<8x8xf32>\nreturn %r : tensor<8x8xf32>\n}}",
                              kLength),
              {});
  EXPECT_TRUE(product.ok()) << product.status().ToString();
}

TEST(Compile, FactorsAndSolves) {
  // x is made definite by its diagonal; the evaluator's factor has zeros above it.
  Check(R"(func.func @main(%x: tensor<3x6x6xf32>, %b: tensor<3x6x4xf32>) -> (tensor<3x6x6xf32>, tensor<3x6x4xf32>) {
    %i = stablehlo.iota dim = 1 : tensor<3x6x6xi32>
    %j = stablehlo.iota dim = 2 : tensor<3x6x6xi32>
    %d = stablehlo.compare EQ, %i, %j, SIGNED : (tensor<3x6x6xi32>, tensor<3x6x6xi32>) -> tensor<3x6x6xi1>
    %low = stablehlo.compare GE, %i, %j, SIGNED : (tensor<3x6x6xi32>, tensor<3x6x6xi32>) -> tensor<3x6x6xi1>
    %zero = stablehlo.constant dense<0.0> : tensor<3x6x6xf32>
    %one = stablehlo.constant dense<1.0> : tensor<3x6x6xf32>
    %ten = stablehlo.constant dense<10.0> : tensor<3x6x6xf32>
    %c = stablehlo.clamp %zero, %x, %one : tensor<3x6x6xf32>
    %m = stablehlo.select %d, %ten, %c : tensor<3x6x6xi1>, tensor<3x6x6xf32>
    %l = stablehlo.cholesky %m, lower = true : tensor<3x6x6xf32>
    %t = stablehlo.select %low, %l, %zero : tensor<3x6x6xi1>, tensor<3x6x6xf32>
    %s = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}>
       : (tensor<3x6x6xf32>, tensor<3x6x4xf32>) -> tensor<3x6x4xf32>
    return %t, %s : tensor<3x6x6xf32>, tensor<3x6x4xf32>
  })",
        2, 2);
}

TEST(Compile, EqualKernelsOfOtherExtentsAreShared) {
  const CompiledProgram p =
      Check(R"(func.func @main(%x: tensor<40x33xf32>, %y: tensor<1000xf32>) -> (tensor<40x33xf32>, tensor<1000xf32>) {
    %0 = stablehlo.add %x, %x : tensor<40x33xf32>
    %1 = stablehlo.add %y, %y : tensor<1000xf32>
    return %0, %1 : tensor<40x33xf32>, tensor<1000xf32>
  })",
            2);
  EXPECT_EQ(p.plan.kernels.size(), 1u);
}

TEST(Compile, ReshapesOfBroadcastsKeepTheirBroadcastDims) {
  // The innermost stride is 0 in memory; it is no start of a run.
  Check(R"(func.func @main(%x: tensor<33x20xf32>) -> tensor<33xf32> {
    %low = stablehlo.constant dense<-3.0> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<33x20xf32>, tensor<f32>) -> tensor<33xf32>
    %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<33xf32>) -> tensor<33x2xf32>
    %r = stablehlo.reshape %b : (tensor<33x2xf32>) -> tensor<2x33xf32>
    %v = stablehlo.reverse %r, dims = [1] : tensor<2x33xf32>
    %s = stablehlo.reduce(%v init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x33xf32>, tensor<f32>) -> tensor<33xf32>
    return %s : tensor<33xf32>
  })",
        2);
}

TEST(Compile, CropsOfPadsWithHoles) {
  Check(R"(func.func @main(%x: tensor<3x5xf32>, %p: tensor<f32>) -> tensor<3x9xf32> {
    %0 = stablehlo.pad %x, %p, low = [-1, 1], high = [-1, -3], interior = [1, 2] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x11xf32>
    %1 = stablehlo.pad %0, %p, low = [0, -1], high = [0, -1], interior = [0, 0] : (tensor<3x11xf32>, tensor<f32>) -> tensor<3x9xf32>
    return %1 : tensor<3x9xf32>
  })",
        1);
}

TEST(Compile, PlacesThatAreNothingButPadding) {
  // The sum is written out; half of its terms lie in the padding, where the parts below have no elements.
  Check(R"(func.func @main(%x: tensor<2x9xf32>, %y: tensor<1x9xf32>) -> tensor<9xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %c = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x9xf32>, tensor<1x9xf32>) -> tensor<3x9xf32>
    %p = stablehlo.pad %c, %one, low = [2, 0], high = [1, 0], interior = [0, 0] : (tensor<3x9xf32>, tensor<f32>) -> tensor<6x9xf32>
    %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6x9xf32>, tensor<f32>) -> tensor<9xf32>
    return %r : tensor<9xf32>
  })",
        1);
}

TEST(Compile, ConvolutionsTakeAnyLayout) {
  // Channels last, as they lie; then channels first with window, strides and dilations; the weights' order does not
  // suit the third.
  Check(R"(func.func @main(%x: tensor<2x9x8x5xf32>, %w: tensor<3x3x5x6xf32>) -> tensor<2x9x8x6xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x8x5xf32>, tensor<3x3x5x6xf32>) -> tensor<2x9x8x6xf32>
    return %0 : tensor<2x9x8x6xf32>
  })",
        0, 1);
  Check(R"(func.func @main(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x2xf32>) -> tensor<2x6x6x8xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 1], pad = [[2, 2], [-1, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, false]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x4x9x8xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x6x8xf32>
    return %0 : tensor<2x6x6x8xf32>
  })",
        0, 1);
  Check(R"(func.func @main(%x: tensor<4x7x5xf32>, %w: tensor<6x5x3xf32>) -> tensor<2x13x6xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[o, i, 0]->[b, 0, f], window = {pad = [[1, 1]], lhs_dilate = [2]}
      {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x7x5xf32>, tensor<6x5x3xf32>) -> tensor<2x13x6xf32>
    return %0 : tensor<2x13x6xf32>
  })",
        0, 1);
}

TEST(Compile, ConvolutionsThatNoDriverTakesAreWiderOnesOrKernels) {
  // Integers wrap; groups of batches, holes in the operand, a window that runs backwards.
  struct Case {
    const char* type;
    int64_t kernels, products;
  };
  for (const auto& [type, kernels, products] : {Case{"i8", 1, 1}, Case{"ui16", 3, 1}, Case{"i64", 1, 0}}) {
    Check(Typed(R"(func.func @main(%x: tensor<4x7x9x$T>, %w: tensor<6x9x3x$T>) -> tensor<2x13x6x$T> {
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[o, i, 0]->[b, 0, f], window = {pad = [[1, 1]], lhs_dilate = [2], reverse = [true]}
        {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x7x9x$T>, tensor<6x9x3x$T>) -> tensor<2x13x6x$T>
      return %0 : tensor<2x13x6x$T>
    })",
                type),
          kernels, products);
  }
}

TEST(Compile, FourierTransformsAreDriven) {
  Check(
      R"(func.func @main(%x: tensor<3x6x10xf32>) -> (tensor<3x6x6xcomplex<f32>>, tensor<3x6x10xf32>, tensor<3x6x6xcomplex<f32>>) {
    %0 = stablehlo.fft %x, type = RFFT, length = [6, 10] : (tensor<3x6x10xf32>) -> tensor<3x6x6xcomplex<f32>>
    %1 = stablehlo.fft %0, type = IRFFT, length = [6, 10] : (tensor<3x6x6xcomplex<f32>>) -> tensor<3x6x10xf32>
    %2 = stablehlo.fft %0, type = IFFT, length = [6] : (tensor<3x6x6xcomplex<f32>>) -> tensor<3x6x6xcomplex<f32>>
    return %0, %1, %2 : tensor<3x6x6xcomplex<f32>>, tensor<3x6x10xf32>, tensor<3x6x6xcomplex<f32>>
  })",
      0, 3);
}

TEST(Compile, DepthwiseConvolutionsAndWindowsBecomeOneKernel) {
  Check(R"(func.func @main(%x: tensor<2x9x8x5xf32>, %w: tensor<3x2x1x5xf32>) -> tensor<2x5x5x8xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 1], [0, 1]], reverse = [false, true]}
      {batch_group_count = 1 : i64, feature_group_count = 5 : i64} : (tensor<2x9x8x5xf32>, tensor<3x2x1x5xf32>) -> tensor<2x5x5x8xf32>
    return %0 : tensor<2x5x5x8xf32>
  })",
        1);
  // One channel: a stencil, and a long filter with an edge on either side.
  Check(
      R"(func.func @main(%x: tensor<2x1x40x30xf32>, %w: tensor<1x1x5x4xf32>, %s: tensor<1x900x1xf32>, %k: tensor<30x1x1xf32>) -> (tensor<2x1x20x27xf32>, tensor<1x891x1xf32>) {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[2, 1], [0, 0]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x1x40x30xf32>, tensor<1x1x5x4xf32>) -> tensor<2x1x20x27xf32>
    %1 = stablehlo.convolution(%s, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[10, 10]], reverse = [true]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x900x1xf32>, tensor<30x1x1xf32>) -> tensor<1x891x1xf32>
    return %0, %1 : tensor<2x1x20x27xf32>, tensor<1x891x1xf32>
  })",
      2);
  Check(R"(func.func @main(%x: tensor<2x9x8x5xf32>) -> (tensor<2x5x4x5xf32>, tensor<2x8x6x5xf32>) {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>,
      padding = dense<[[0, 0], [1, 1], [1, 0], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<2x9x8x5xf32>, tensor<f32>) -> tensor<2x5x4x5xf32>
    %1 = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_dilations = array<i64: 1, 1, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<2x9x8x5xf32>, tensor<f32>) -> tensor<2x8x6x5xf32>
    return %0, %1 : tensor<2x5x4x5xf32>, tensor<2x8x6x5xf32>
  })",
        2);
}

TEST(Compile, SelectAndScatterNeedsNoEvaluator) {
  // Windows that overlap and reach into the padding; equal values; then windows side by side, and some of many
  // elements.
  for (const auto& [form, source] :
       {std::pair<std::string, std::string>(
            "window_dimensions = array<i64: 1, 3, 2>, window_strides = array<i64: 1, 2, 2>, padding = "
            "dense<[[0, 0], [1, 1], [1, 0]]> : tensor<3x2xi64>",
            "tensor<2x4x4x$T>"),
        {"window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 2, 2>", "tensor<2x4x3x$T>"},
        {"window_dimensions = array<i64: 2, 6, 7>, window_strides = array<i64: 1, 2, 3>, padding = "
         "dense<[[1, 0], [9, -1], [3, 2]]> : tensor<3x2xi64>",
         "tensor<2x6x2x$T>"}}) {
    const std::string program = "func.func @main(%x: tensor<2x8x7x$T>, %s: " + source + R"() -> tensor<2x8x7x$T> {
      %zero = stablehlo.constant dense<5> : tensor<i8>
      %init = stablehlo.convert %zero : (tensor<i8>) -> tensor<$T>
      %n = stablehlo.convert %x : (tensor<2x8x7x$T>) -> tensor<2x8x7xi8>
      %y = stablehlo.convert %n : (tensor<2x8x7xi8>) -> tensor<2x8x7x$T>
      %0 = "stablehlo.select_and_scatter"(%y, %s, %init) <{)" +
                                form + R"(}> ({
      ^bb0(%a: tensor<$T>, %b: tensor<$T>):
        %c = stablehlo.compare GE, %a, %b : (tensor<$T>, tensor<$T>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }, {
      ^bb0(%a: tensor<$T>, %b: tensor<$T>):
        %c = stablehlo.add %a, %b : tensor<$T>
        stablehlo.return %c : tensor<$T>
      }) : (tensor<2x8x7x$T>, )" +
                                source + R"(, tensor<$T>) -> tensor<2x8x7x$T>
      return %0 : tensor<2x8x7x$T>
    })";
    for (const char* type : {"f32", "i16"}) {
      const std::string typed = Typed(program, type);
      const Result<CompiledProgram> compiled = Compile(typed, CpuOptions());
      ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
      EXPECT_EQ(plan::Count(compiled->plan).evaluate_steps, 0);
      const Status same = CompareWithReference(typed, *compiled, 7, {});
      EXPECT_TRUE(same.ok()) << same.ToString();
    }
  }
}

TEST(Compile, WindowsOfManyElementsNeedNoEvaluator) {
  // What meets in a window depends on the order; holes and padding on both sides.
  Check(R"(func.func @main(%x: tensor<20x30xf32>) -> tensor<15x14xf32> {
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %two) <{window_dimensions = array<i64: 9, 10>, window_strides = array<i64: 1, 2>,
      window_dilations = array<i64: 2, 1>, padding = dense<[[5, 6], [7, -1]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %half = stablehlo.constant dense<0.5> : tensor<f32>
      %h = stablehlo.multiply %a, %half : tensor<f32>
      %m = stablehlo.subtract %b, %h : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<20x30xf32>, tensor<f32>) -> tensor<15x14xf32>
    return %0 : tensor<15x14xf32>
  })",
        2);
  // Few elements, which are written out.
  Check(R"(func.func @main(%x: tensor<20x30xf32>) -> tensor<20x30xf32> {
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %two) <{window_dimensions = array<i64: 3, 3>, padding = dense<[[1, 1], [3, -1]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %half = stablehlo.constant dense<0.5> : tensor<f32>
      %h = stablehlo.multiply %a, %half : tensor<f32>
      %m = stablehlo.subtract %b, %h : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<20x30xf32>, tensor<f32>) -> tensor<20x30xf32>
    return %0 : tensor<20x30xf32>
  })",
        1);
}

TEST(Compile, ScansRunAlongTheirDim) {
  Check(R"(func.func @main(%x: tensor<3x40x5xf32>) -> tensor<3x40x5xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 40, 1>, padding = dense<[[0, 0], [0, 39], [0, 0]]> : tensor<3x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<3x40x5xf32>, tensor<f32>) -> tensor<3x40x5xf32>
    return %0 : tensor<3x40x5xf32>
  })",
        1);
  // Blocks, what comes before each, both together.
  Check(R"(func.func @main(%x: tensor<4099xf32>) -> tensor<4099xf32> {
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %three) <{window_dimensions = array<i64: 4099>, padding = dense<[[4098, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<4099xf32>, tensor<f32>) -> tensor<4099xf32>
    return %0 : tensor<4099xf32>
  })",
        5);
}

TEST(Compile, ScattersRunInOrder) {
  // Indices repeat and leave the operand on both sides; rows of 20; the last one overwrites.
  for (const char* combine : {"%m = stablehlo.add %a, %b : tensor<f32>", "%m = stablehlo.maximum %b, %a : tensor<f32>",
                              "%m = stablehlo.reshape %b : (tensor<f32>) -> tensor<f32>"}) {
    Check(std::string(
              R"(func.func @main(%t: tensor<7x20xf32>, %s: tensor<30xf32>, %u: tensor<30x20xf32>) -> tensor<7x20xf32> {
      %four = stablehlo.constant dense<4.0> : tensor<30xf32>
      %0 = stablehlo.multiply %s, %four : tensor<30xf32>
      %i = stablehlo.convert %0 : (tensor<30xf32>) -> tensor<30xi32>
      %j = stablehlo.reshape %i : (tensor<30xi32>) -> tensor<30x1xi32>
      %r = "stablehlo.scatter"(%t, %j, %u) <{indices_are_sorted = false, unique_indices = false,
        scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        )") + combine +
              R"(
        stablehlo.return %m : tensor<f32>
      }) : (tensor<7x20xf32>, tensor<30x1xi32>, tensor<30x20xf32>) -> tensor<7x20xf32>
      return %r : tensor<7x20xf32>
    })",
          2);
  }
  // Rows long enough for each core to take those of its part.
  Check(
      R"(func.func @main(%t: tensor<7x600xf32>, %s: tensor<90xf32>, %u: tensor<90x600xf32>) -> tensor<7x600xf32> {
    %four = stablehlo.constant dense<4.0> : tensor<90xf32>
    %0 = stablehlo.multiply %s, %four : tensor<90xf32>
    %i = stablehlo.convert %0 : (tensor<90xf32>) -> tensor<90xi32>
    %j = stablehlo.reshape %i : (tensor<90xi32>) -> tensor<90x1xi32>
    %r = "stablehlo.scatter"(%t, %j, %u) <{indices_are_sorted = false, unique_indices = false,
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.subtract %b, %a : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<7x600xf32>, tensor<90x1xi32>, tensor<90x600xf32>) -> tensor<7x600xf32>
    return %r : tensor<7x600xf32>
  })",
      2);
  // Batches, and windows that reach over the edge.
  Check(
      R"(func.func @main(%t: tensor<3x9x10xf32>, %s: tensor<3x5x2xf32>, %u: tensor<3x5x3x4xf32>) -> tensor<3x9x10xf32> {
    %four = stablehlo.constant dense<4.0> : tensor<3x5x2xf32>
    %0 = stablehlo.multiply %s, %four : tensor<3x5x2xf32>
    %i = stablehlo.convert %0 : (tensor<3x5x2xf32>) -> tensor<3x5x2xi64>
    %r = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, unique_indices = false,
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], input_batching_dims = [0], scatter_indices_batching_dims = [0],
        scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<3x9x10xf32>, tensor<3x5x2xi64>, tensor<3x5x3x4xf32>) -> tensor<3x9x10xf32>
    return %r : tensor<3x9x10xf32>
  })",
      2);
}

TEST(Compile, ScattersUpdateSeveralArraysTogether) {
  // Indices repeat: each update sees in both arrays what those before it left there. The first array's element is
  // complex, the second's new value depends on the first one's.
  Check(
      R"(func.func @main(%t: tensor<7xcomplex<f32>>, %n: tensor<7xf32>, %s: tensor<30xf32>, %u: tensor<30xcomplex<f32>>, %v: tensor<30xf32>) -> (tensor<7xcomplex<f32>>, tensor<7xf32>) {
    %four = stablehlo.constant dense<4.0> : tensor<30xf32>
    %0 = stablehlo.multiply %s, %four : tensor<30xf32>
    %i = stablehlo.convert %0 : (tensor<30xf32>) -> tensor<30xi32>
    %j = stablehlo.reshape %i : (tensor<30xi32>) -> tensor<30x1xi32>
    %r:2 = "stablehlo.scatter"(%t, %n, %j, %u, %v) <{indices_are_sorted = false, unique_indices = false,
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<complex<f32>>, %b: tensor<f32>, %c: tensor<complex<f32>>, %d: tensor<f32>):
      %e = stablehlo.subtract %c, %a : tensor<complex<f32>>
      %f = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
      %g = stablehlo.maximum %b, %f : tensor<f32>
      %h = stablehlo.subtract %d, %g : tensor<f32>
      stablehlo.return %e, %h : tensor<complex<f32>>, tensor<f32>
    }) : (tensor<7xcomplex<f32>>, tensor<7xf32>, tensor<30x1xi32>, tensor<30xcomplex<f32>>, tensor<30xf32>) -> (tensor<7xcomplex<f32>>, tensor<7xf32>)
    return %r#0, %r#1 : tensor<7xcomplex<f32>>, tensor<7xf32>
  })",
      2);
}

TEST(Compile, FirstPlacesOfExtremesNeedNoOrder) {
  for (const char* direction : {"GT", "LT"}) {
    const std::string program = std::string(R"(func.func @main(%x: tensor<6x50xf32>) -> (tensor<6xf32>, tensor<6xi32>) {
      %low = stablehlo.constant dense<)") +
                                (direction[0] == 'G' ? "0xFF800000" : "0x7F800000") + R"(> : tensor<f32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %half = stablehlo.floor %x : tensor<6x50xf32>
      %nan = stablehlo.sqrt %half : tensor<6x50xf32>
      %i = stablehlo.iota dim = 1 : tensor<6x50xi32>
      %r:2 = stablehlo.reduce(%nan init: %low), (%i init: %zero) across dimensions = [1] : (tensor<6x50xf32>, tensor<6x50xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)
        reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
          %0 = stablehlo.compare )" +
                                direction + R"(, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %1 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %2 = stablehlo.or %0, %1 : tensor<i1>
          %3 = stablehlo.compare EQ, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %4 = stablehlo.compare LT, %b, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %5 = stablehlo.and %3, %4 : tensor<i1>
          %6 = stablehlo.or %2, %5 : tensor<i1>
          %7 = stablehlo.select %2, %a, %c : tensor<i1>, tensor<f32>
          %8 = stablehlo.select %6, %b, %d : tensor<i1>, tensor<i32>
          stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
        }
      return %r#0, %r#1 : tensor<6xf32>, tensor<6xi32>
    })";
    const CompiledProgram compiled = Check(program, 1);
    for (const kir::Kernel& kernel : compiled.plan.kernels) {
      for (const kir::Graph& graph : kernel.graphs) EXPECT_EQ(graph.results.size(), 1u) << direction;
    }
  }
}

TEST(Compile, ReversedViewsIntoLoops) {
  Check(R"(func.func @main(%x: tensor<3x5xf32>, %n: tensor<i32>) -> tensor<3x5xf32> {
    %r = stablehlo.reverse %x, dims = [0, 1] : tensor<3x5xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %c = %r) : tensor<i32>, tensor<3x5xf32>
     cond {
      %m = stablehlo.constant dense<2> : tensor<i32>
      %t = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %d = stablehlo.tanh %c : tensor<3x5xf32>
      stablehlo.return %j, %d : tensor<i32>, tensor<3x5xf32>
    }
    return %0#1 : tensor<3x5xf32>
  })",
        1);
}

TEST(Compile, EmptyArraysOfSeveralResults) {
  Check(
      R"(func.func @main(%x: tensor<4x0xf32>, %k: tensor<4x0xi32>, %a: tensor<f32>, %b: tensor<i32>) -> (tensor<0xf32>, tensor<0xi32>, tensor<4xf32>, tensor<4xi32>) {
    %0:2 = "stablehlo.reduce"(%x, %k, %a, %b) ({
    ^bb0(%p: tensor<f32>, %q: tensor<i32>, %r: tensor<f32>, %s: tensor<i32>):
      stablehlo.return %r, %s : tensor<f32>, tensor<i32>
    }) {dimensions = array<i64: 0>} : (tensor<4x0xf32>, tensor<4x0xi32>, tensor<f32>, tensor<i32>) -> (tensor<0xf32>, tensor<0xi32>)
    %1:2 = "stablehlo.reduce"(%x, %k, %a, %b) ({
    ^bb0(%p: tensor<f32>, %q: tensor<i32>, %r: tensor<f32>, %s: tensor<i32>):
      stablehlo.return %r, %s : tensor<f32>, tensor<i32>
    }) {dimensions = array<i64: 1>} : (tensor<4x0xf32>, tensor<4x0xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    return %0#0, %0#1, %1#0, %1#1 : tensor<0xf32>, tensor<0xi32>, tensor<4xf32>, tensor<4xi32>
  })",
      0);
}

TEST(Compile, ApproxTopKIsExact) {
  const auto compile = [](std::string_view call) {
    return Compile(std::string(R"(func.func @main(%x: tensor<4x128xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
      %i = stablehlo.iota dim = 1 : tensor<4x128xi32>
      %a = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %b = stablehlo.constant dense<-1> : tensor<i32>
      )") + std::string(call) +
                       R"(
      return %r#0, %r#1 : tensor<4x3xf32>, tensor<4x3xi32>
    }
    func.func private @top_k_gt(%p: tensor<f32>, %q: tensor<f32>, %j: tensor<i32>, %k: tensor<i32>) -> tensor<i1> {
      %0 = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      return %0 : tensor<i1>
    })",
                   CpuOptions());
  };
  Result<CompiledProgram> compiled =
      compile(R"(%r:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %a, %b) {called_computations = [@top_k_gt],
      mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64,
      reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<4x128xf32>, tensor<4x128xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>))");
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const Status same =
      CompareWithReference(R"(func.func @main(%x: tensor<4x128xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
    %i = stablehlo.iota dim = 1 : tensor<4x128xi32>
    %s:2 = "stablehlo.sort"(%x, %i) ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>, %j: tensor<i32>, %k: tensor<i32>):
      %0 = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    }) {dimension = 1 : i64, is_stable = true} : (tensor<4x128xf32>, tensor<4x128xi32>) -> (tensor<4x128xf32>, tensor<4x128xi32>)
    %u = stablehlo.slice %s#0 [0:4, 0:3] : (tensor<4x128xf32>) -> tensor<4x3xf32>
    %v = stablehlo.slice %s#1 [0:4, 0:3] : (tensor<4x128xi32>) -> tensor<4x3xi32>
    return %u, %v : tensor<4x3xf32>, tensor<4x3xi32>
  })",
                           *compiled, 3, {});
  EXPECT_TRUE(same.ok()) << same.ToString();
  EXPECT_EQ(compile(R"(%r:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %a, %b) {called_computations = [@top_k_gt],
      mhlo.backend_config = {reduction_dim = 2 : i64}} : (tensor<4x128xf32>, tensor<4x128xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>))")
                .status()
                .code(),
            Code::kInvalidArgument);
}

TEST(Compile, PaddingOfWindowsTakesNoPart) {
  Result<CompiledProgram> compiled =
      Compile(R"(func.func @main(%x: tensor<5xi32>, %y: tensor<i32>) -> (tensor<5xi32>, tensor<6xi32>) {
    %init = stablehlo.constant dense<100> : tensor<i32>
    %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) {window_dimensions = array<i64: 3>, padding = dense<1> : tensor<1x2xi64>} : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
    %1 = "stablehlo.reduce_window"(%x, %y) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.xor %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) {window_dimensions = array<i64: 4>, padding = dense<2> : tensor<1x2xi64>} : (tensor<5xi32>, tensor<i32>) -> tensor<6xi32>
    return %0, %1 : tensor<5xi32>, tensor<6xi32>
  })",
              {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const Status same =
      CompareWithReference(R"(func.func @main(%x: tensor<5xi32>, %y: tensor<i32>) -> (tensor<5xi32>, tensor<6xi32>) {
    %init = stablehlo.constant dense<100> : tensor<i32>
    %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) {window_dimensions = array<i64: 3>, padding = dense<1> : tensor<1x2xi64>} : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
    %1 = "stablehlo.reduce_window"(%x, %y) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.xor %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) {window_dimensions = array<i64: 4>, padding = dense<2> : tensor<1x2xi64>} : (tensor<5xi32>, tensor<i32>) -> tensor<6xi32>
    return %0, %1 : tensor<5xi32>, tensor<6xi32>
  })",
                           *compiled, 5, {});
  EXPECT_TRUE(same.ok()) << same.ToString();
}

TEST(Compile, PartsShareLoopsWhereAKernelHasTooFew) {
  // A loop nest of its own for every part would be more dims than a kernel holds.
  const std::string small = "tensor<1x2x2x2x2x2x2x2xf32>";
  const std::string big = "tensor<5x2x2x2x2x2x2x2xf32>";
  Check("func.func @main(%x: " + small + ", %y: " + small + ") -> " + big +
            " {\n"
            "%a = stablehlo.tanh %x : " +
            small + "\n%b = stablehlo.exponential %y : " + small + "\n%c = stablehlo.add %a, %b : " + small +
            "\n"
            "%d = stablehlo.concatenate %x, %a, %b, %c, %y, dim = 0 : (" +
            small + ", " + small + ", " + small + ", " + small + ", " + small + ") -> " + big +
            "\n%e = stablehlo.negate %d : " + big + "\nreturn %e : " + big + "\n}",
        2);
}

TEST(Compile, CombinersThatUseOuterValuesAreEvaluated) {
  Check(R"(func.func @main(%x: tensor<4x40xf32>, %y: tensor<f32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %t = stablehlo.abs %y : tensor<f32>
    %r = "stablehlo.reduce"(%x, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      %m = stablehlo.minimum %s, %t : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) {dimensions = array<i64: 1>} : (tensor<4x40xf32>, tensor<f32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  })",
        1, 0, 1);
}

TEST(Compile, SoftmaxIsOneKernelOfRows) {
  Check(R"(func.func @main(%x: tensor<24x80xf32>) -> tensor<24x80xf32> {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<24x80xf32>, tensor<f32>) -> tensor<24xf32>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<24xf32>) -> tensor<24x80xf32>
    %s = stablehlo.subtract %x, %mb : tensor<24x80xf32>
    %e = stablehlo.exponential %s : tensor<24x80xf32>
    %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<24x80xf32>, tensor<f32>) -> tensor<24xf32>
    %sb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<24xf32>) -> tensor<24x80xf32>
    %r = stablehlo.divide %e, %sb : tensor<24x80xf32>
    return %r : tensor<24x80xf32>
  })",
        1);
}

TEST(Compile, LongSumsBecomeTwoKernels) {
  Check(R"(func.func @main(%x: tensor<131072xf32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<131072xf32>, tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  })",
        2);
  Check(R"(func.func @main(%x: tensor<100003xf32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<2.0> : tensor<f32>
    %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<100003xf32>, tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  })",
        2);
}

TEST(Compile, ReducedDimsStandInAnyOrder) {
  Check(R"(func.func @main(%x: tensor<7x3x4x50xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4x50xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.multiply %x, %x : tensor<7x3x4x50xf32>
    %0 = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [3, 0] : (tensor<7x3x4x50xf32>, tensor<f32>) -> tensor<3x4xf32>
    %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 3] : (tensor<7x3x4x50xf32>, tensor<f32>) -> tensor<3x4xf32>
    %2 = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [1, 0] : (tensor<7x3x4x50xf32>, tensor<f32>) -> tensor<4x50xf32>
    return %0, %1, %2 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<4x50xf32>
  })",
        3);
}

TEST(Compile, TallColumnsAreSummedInBlocksOfRows) {
  const CompiledProgram compiled = Check(R"(func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    return %0 : tensor<1024xf32>
  })",
                                         2);
  ASSERT_FALSE(compiled.plan.kernels.empty());
  // Rows of several dims, none of which is enough by itself.
  Check(R"(func.func @main(%x: tensor<8x70x20x96xf32>) -> tensor<96xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0, 1, 2] : (tensor<8x70x20x96xf32>, tensor<f32>) -> tensor<96xf32>
    return %0 : tensor<96xf32>
  })",
        2);
}

TEST(Compile, ProductsTakeTransposesAsStrides) {
  Check(R"(func.func @main(%a: tensor<5x12x8xf32>, %b: tensor<5x16x12xf32>) -> tensor<5x8x16xf32> {
    %t = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<5x12x8xf32>) -> tensor<5x8x12xf32>
    %r = stablehlo.dot_general %t, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<5x8x12xf32>, tensor<5x16x12xf32>) -> tensor<5x8x16xf32>
    return %r : tensor<5x8x16xf32>
  })",
        0, 1);
}

TEST(Compile, LargeRearrangementsAreKernels) {
  Check(
      R"(func.func @main(%x: tensor<300x260xf32>, %y: tensor<20x70x30xi64>) -> (tensor<260x300xf32>, tensor<300x780xf32>, tensor<70x20x30xi64>, tensor<300x130xf32>) {
    %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<300x260xf32>) -> tensor<260x300xf32>
    %b = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<300x260xf32>) -> tensor<300x260x3xf32>
    %r = stablehlo.reshape %b : (tensor<300x260x3xf32>) -> tensor<300x780xf32>
    %u = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<20x70x30xi64>) -> tensor<70x20x30xi64>
    %s = stablehlo.slice %x [0:300, 1:260:2] : (tensor<300x260xf32>) -> tensor<300x130xf32>
    return %t, %r, %u, %s : tensor<260x300xf32>, tensor<300x780xf32>, tensor<70x20x30xi64>, tensor<300x130xf32>
  })",
      4);
  // What runs backwards, and what kernels would hold as other types: only bits move.
  Check(
      R"(func.func @main(%x: tensor<300x260xf32>, %y: tensor<300x260xf16>) -> (tensor<300x260xf32>, tensor<260x300xf16>) {
    %r = stablehlo.reverse %x, dims = [1] : tensor<300x260xf32>
    %t = stablehlo.transpose %y, dims = [1, 0] : (tensor<300x260xf16>) -> tensor<260x300xf16>
    return %r, %t : tensor<300x260xf32>, tensor<260x300xf16>
  })",
      2);
}

TEST(Compile, StagesOfEqualRowsAreCutTogether) {
  const CompiledProgram p = Check(
      R"(func.func @main(%x: tensor<50x40xf32>, %y: tensor<50x30xf32>, %z: tensor<50x40xf32>, %w: tensor<50x7xf32>, %v: tensor<50x9xf32>) -> tensor<50x126xf32> {
    %n = stablehlo.negate %y : tensor<50x30xf32>
    %c = stablehlo.concatenate %x, %n, %z, %w, %v, dim = 1 : (tensor<50x40xf32>, tensor<50x30xf32>, tensor<50x40xf32>, tensor<50x7xf32>, tensor<50x9xf32>) -> tensor<50x126xf32>
    return %c : tensor<50x126xf32>
  })",
      1);
  ASSERT_EQ(p.plan.kernels.size(), 1u);
  EXPECT_EQ(p.plan.kernels[0].seq.size(), 5u);
  EXPECT_EQ(p.plan.kernels[0].split.dims, 1u);
}

// A second stage that writes over the first elsewhere than in its own place of d0 must run after all of it.
TEST(Compile, StagesThatOverwriteOtherRowsAreNotCut) {
  for (const auto& [to, split] : {std::pair("d0*2", 0u), {"d0 + 1", 0u}, {"d0", 1u}, {"d0 + 100", 1u}}) {
    Result<kir::Kernel> kernel = kir::Parse(std::string(R"(kernel v1 params 0 outer 0 {
  dim d0 parallel 100
  buffer b0 out f32 [201] stride [1]
  %0 = f32 const 0.0
  %1 = f32 const 2.0
  stage (d0) {
    store b0[d0] = %0
  }
  stage (d0) {
    store b0[)") + to + R"(] = %1
  }
})");
    ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
    compiler::DecideSplit(*kernel, *target::StandardTarget());
    EXPECT_EQ(kernel->split.dims, split) << to;
  }
}

TEST(Compile, SeamsAndEdgesAreCutOut) {
  // Rolled along both dims, padded, and asked for its place.
  const CompiledProgram p = Check(
      R"(func.func @main(%x: tensor<40x300xf32>) -> tensor<40x300xf32> {
    %a = stablehlo.slice %x [3:40, 0:300] : (tensor<40x300xf32>) -> tensor<37x300xf32>
    %b = stablehlo.slice %x [0:3, 0:300] : (tensor<40x300xf32>) -> tensor<3x300xf32>
    %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<37x300xf32>, tensor<3x300xf32>) -> tensor<40x300xf32>
    %d = stablehlo.slice %c [0:40, 250:300] : (tensor<40x300xf32>) -> tensor<40x50xf32>
    %e = stablehlo.slice %c [0:40, 0:250] : (tensor<40x300xf32>) -> tensor<40x250xf32>
    %f = stablehlo.concatenate %d, %e, dim = 1 : (tensor<40x50xf32>, tensor<40x250xf32>) -> tensor<40x300xf32>
    %v = stablehlo.constant dense<2.5> : tensor<f32>
    %s = stablehlo.slice %x [0:39, 1:300] : (tensor<40x300xf32>) -> tensor<39x299xf32>
    %r = stablehlo.reverse %s, dims = [1] : tensor<39x299xf32>
    %q = stablehlo.pad %r, %v, low = [1, -2], high = [0, 3], interior = [0, 0] : (tensor<39x299xf32>, tensor<f32>) -> tensor<40x300xf32>
    %i = stablehlo.iota dim = 1 : tensor<40x300xi32>
    %five = stablehlo.constant dense<250> : tensor<40x300xi32>
    %ge = stablehlo.compare GE, %i, %five, SIGNED : (tensor<40x300xi32>, tensor<40x300xi32>) -> tensor<40x300xi1>
    %m = stablehlo.multiply %f, %x : tensor<40x300xf32>
    %n = stablehlo.add %m, %q : tensor<40x300xf32>
    %o = stablehlo.select %ge, %x, %n : tensor<40x300xi1>, tensor<40x300xf32>
    return %o : tensor<40x300xf32>
  })",
      1);
  ASSERT_EQ(p.plan.kernels.size(), 1u);
  const kir::Kernel& kernel = p.plan.kernels[0];
  EXPECT_GT(kernel.seq.size(), 4u);
  EXPECT_EQ(kernel.split.dims, 1u);
  // Nothing is left to ask but at narrow edges.
  const auto& params = std::get<plan::KernelStep>(p.plan.steps[0].is).params;
  const auto value = [&](const kir::Size& s) { return s.Value(params.data()); };
  int64_t all = 0, asking = 0;
  for (const kir::Step& step : kernel.seq) {
    const auto& stage = std::get<kir::Stage>(step.is);
    int64_t points = 1;
    for (kir::DimId d : stage.dims) {
      int64_t extent = value(kernel.dims[d].extent);
      for (const kir::Range& r : stage.domain) {
        if (r.dim == d) extent = value(r.hi) - value(r.lo);
      }
      points *= extent;
    }
    std::vector<bool> needed(kernel.nodes.size(), false);
    for (const kir::Store& s : stage.stores) needed[s.value] = true;
    bool asks = false;
    for (size_t v = needed.size(); v-- > 0;) {
      if (!needed[v]) continue;
      const kir::Node& node = kernel.nodes[v];
      kir::ForEachInput(kernel, node, [&](kir::Val in) { needed[in] = true; });
      asks |= node.op == kir::Op::kSelect || (node.op == kir::Op::kRead && !kernel.reads[node.attr].guard.empty());
    }
    all += points;
    asking += asks ? points : 0;
  }
  EXPECT_EQ(all, 40 * 300);
  EXPECT_LT(asking, all / 4) << kir::Print(kernel);
}

TEST(Compile, ResultsAreStoredAsTheyAreLookedAt) {
  const CompiledProgram p = Check(
      R"(func.func @main(%x: tensor<72x186xf32>, %y: tensor<6x40x7xf32>) -> (tensor<186x9x8xf32>, tensor<40x6xf32>) {
    %a = stablehlo.exponential %x : tensor<72x186xf32>
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<72x186xf32>) -> tensor<186x72xf32>
    %r = stablehlo.reshape %t : (tensor<186x72xf32>) -> tensor<186x9x8xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [2] : (tensor<6x40x7xf32>, tensor<f32>) -> tensor<6x40xf32>
    %u = stablehlo.transpose %s, dims = [1, 0] : (tensor<6x40xf32>) -> tensor<40x6xf32>
    return %r, %u : tensor<186x9x8xf32>, tensor<40x6xf32>
  })",
      2);
  for (const plan::Step& step : p.plan.steps)
    EXPECT_FALSE(
        std::holds_alternative<plan::CopyStep>(step.is) &&
        !plan::SamePlace(p.plan, std::get<plan::CopyStep>(step.is).from, std::get<plan::CopyStep>(step.is).to));
  // Where something else reads it, it lies row after row.
  Check(
      R"(func.func @main(%x: tensor<30x50xf32>) -> (tensor<50x30xf32>, tensor<30xf32>) {
    %a = stablehlo.exponential %x : tensor<30x50xf32>
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<30x50xf32>) -> tensor<50x30xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<30x50xf32>, tensor<f32>) -> tensor<30xf32>
    return %t, %s : tensor<50x30xf32>, tensor<30xf32>
  })",
      2);
}

TEST(Compile, ResultsThatNothingUsesAreNotStored) {
  const CompiledProgram p = Check(
      R"(func.func @main(%x: tensor<20x33xf32>) -> tensor<20xi32> {
    %i = stablehlo.iota dim = 1 : tensor<20x33xi32>
    %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.reduce(%x init: %z), (%i init: %c) across dimensions = [1] : (tensor<20x33xf32>, tensor<20x33xi32>, tensor<f32>, tensor<i32>) -> (tensor<20xf32>, tensor<20xi32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>)  {
      %g = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %m = stablehlo.select %g, %a, %b : tensor<i1>, tensor<f32>
      %n = stablehlo.select %g, %j, %k : tensor<i1>, tensor<i32>
      stablehlo.return %m, %n : tensor<f32>, tensor<i32>
    }
    return %r#1 : tensor<20xi32>
  })",
      1);
  ASSERT_EQ(p.plan.kernels.size(), 1u);
  int written = 0;
  for (const kir::Buffer& b : p.plan.kernels[0].buffers) written += b.kind == kir::BufKind::kOut;
  EXPECT_EQ(written, 1) << kir::Print(p.plan.kernels[0]);
}

TEST(Compile, LargeRollsAreNotMoved) {
  // One kernel, whatever the size: what is rolled is looked at where it is.
  Check(
      R"(func.func @main(%x: tensor<300x260xf32>) -> tensor<300x260xf32> {
    %a = stablehlo.slice %x [7:300, 0:260] : (tensor<300x260xf32>) -> tensor<293x260xf32>
    %b = stablehlo.slice %x [0:7, 0:260] : (tensor<300x260xf32>) -> tensor<7x260xf32>
    %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<293x260xf32>, tensor<7x260xf32>) -> tensor<300x260xf32>
    %d = stablehlo.slice %x [0:300, 259:260] : (tensor<300x260xf32>) -> tensor<300x1xf32>
    %e = stablehlo.slice %x [0:300, 0:259] : (tensor<300x260xf32>) -> tensor<300x259xf32>
    %f = stablehlo.concatenate %d, %e, dim = 1 : (tensor<300x1xf32>, tensor<300x259xf32>) -> tensor<300x260xf32>
    %m = stablehlo.multiply %c, %f : tensor<300x260xf32>
    %n = stablehlo.subtract %m, %x : tensor<300x260xf32>
    return %n : tensor<300x260xf32>
  })",
      1);
}

TEST(Compile, ProductsOfFewElementsAreWrittenOut) {
  Check(
      R"(func.func @main(%a: tensor<2x3x4xbf16>, %b: tensor<4x2x5xbf16>, %c: tensor<3x3xi8>) -> (tensor<2x3x5xbf16>, tensor<3x3xi32>) {
    %p = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x3x4xbf16>, tensor<4x2x5xbf16>) -> tensor<2x3x5xbf16>
    %q = stablehlo.dot_general %c, %c, contracting_dims = [0] x [1] : (tensor<3x3xi8>, tensor<3x3xi8>) -> tensor<3x3xi32>
    return %p, %q : tensor<2x3x5xbf16>, tensor<3x3xi32>
  })",
      2);
  // In a loop they are part of its one kernel.
  Check(R"(func.func @main(%x: tensor<2x2xf32>, %i: tensor<i32>) -> tensor<2x2xf32> {
    %r:2 = stablehlo.while(%a = %x, %k = %i) : tensor<2x2xf32>, tensor<i32>
     cond {
      %n = stablehlo.constant dense<9> : tensor<i32>
      %p = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %k, %one : tensor<i32>
      %m = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      %t = stablehlo.tanh %m : tensor<2x2xf32>
      stablehlo.return %t, %j : tensor<2x2xf32>, tensor<i32>
    }
    return %r#0 : tensor<2x2xf32>
  })",
        1);
}

TEST(Compile, LoopsOfScalarsRunInOneKernel) {
  Check(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%a = %x, %k = %i) : tensor<f32>, tensor<i32>
      cond { %n = stablehlo.constant dense<50> : tensor<i32>
             %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1> }
      do { %h = stablehlo.constant dense<0.5> : tensor<f32>
           %one = stablehlo.constant dense<1> : tensor<i32>
           %s = stablehlo.sine %a : tensor<f32>
           %m = stablehlo.multiply %s, %h : tensor<f32>
           %next = stablehlo.add %k, %one : tensor<i32>
           stablehlo.return %m, %next : tensor<f32>, tensor<i32> }
    return %r#0 : tensor<f32>
  })",
        1);
}

// Trips beyond the arrays' ends take their last or first element, and so must the elements of the products.
TEST(Compile, LoopsCountInTheirOwnType) {
  // Limits beyond the signed numbers, and counting down: three trips each.
  Check(R"(func.func @main(%x: tensor<ui64>, %y: tensor<i8>) -> (tensor<ui64>, tensor<i8>) {
    %i0 = stablehlo.constant dense<0> : tensor<ui64>
    %r:2 = stablehlo.while(%i = %i0, %c = %x) : tensor<ui64>, tensor<ui64>
     cond {
      %n = stablehlo.constant dense<0xC000000000000000> : tensor<ui64>
      %t = stablehlo.compare LT, %i, %n, UNSIGNED : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %s = stablehlo.constant dense<0x4000000000000000> : tensor<ui64>
      %j = stablehlo.add %i, %s : tensor<ui64>
      %d = stablehlo.multiply %c, %c : tensor<ui64>
      %e = stablehlo.add %d, %i : tensor<ui64>
      stablehlo.return %j, %e : tensor<ui64>, tensor<ui64>
    }
    %k0 = stablehlo.constant dense<100> : tensor<i8>
    %q:2 = stablehlo.while(%i = %k0, %c = %y) : tensor<i8>, tensor<i8>
     cond {
      %n = stablehlo.constant dense<-120> : tensor<i8>
      %t = stablehlo.compare GE, %i, %n, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %s = stablehlo.constant dense<75> : tensor<i8>
      %j = stablehlo.subtract %i, %s : tensor<i8>
      %d = stablehlo.multiply %c, %i : tensor<i8>
      stablehlo.return %j, %d : tensor<i8>, tensor<i8>
    }
    return %r#1, %q#1 : tensor<ui64>, tensor<i8>
  })",
        2);
}

TEST(Compile, ProductsOfWhatLoopsWalkAlongLeaveThem) {
  Check(
      R"(func.func @main(%x: tensor<6x24x14xf32>, %w: tensor<14x15xf32>, %y: tensor<15x6x12xf32>, %z: tensor<2x6x24x14xf32>, %v: tensor<2x14x15xf32>,
                  %e: tensor<16x16xf32>) -> (tensor<24x24xf32>, tensor<14x12xf32>, tensor<2x24x15xf32>, tensor<16x16xf32>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %c0 = stablehlo.constant dense<0.1> : tensor<24x24xf32>
    %d0 = stablehlo.constant dense<0.0> : tensor<14x12xf32>
    %b0 = stablehlo.constant dense<0.0> : tensor<2x24x15xf32>
    %e0 = stablehlo.constant dense<0.0> : tensor<16x16xf32>
    %r:5 = stablehlo.while(%i = %i0, %c = %c0, %d = %d0, %b = %b0, %f = %e0) : tensor<i32>, tensor<24x24xf32>, tensor<14x12xf32>, tensor<2x24x15xf32>, tensor<16x16xf32>
     cond {
      %m = stablehlo.constant dense<12> : tensor<i32>
      %t = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %four = stablehlo.constant dense<4> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %back = stablehlo.subtract %four, %i : tensor<i32>
      %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 24, 14] : (tensor<6x24x14xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x24x14xf32>
      %xi = stablehlo.reshape %xs : (tensor<1x24x14xf32>) -> tensor<24x14xf32>
      %p = stablehlo.dot_general %xi, %w, contracting_dims = [1] x [0] : (tensor<24x14xf32>, tensor<14x15xf32>) -> tensor<24x15xf32>
      %wt = stablehlo.transpose %w, dims = [1, 0] : (tensor<14x15xf32>) -> tensor<15x14xf32>
      %w2 = stablehlo.transpose %wt, dims = [1, 0] : (tensor<15x14xf32>) -> tensor<14x15xf32>
      %ys = stablehlo.dynamic_slice %y, %zero, %back, %zero, sizes = [15, 1, 12] : (tensor<15x6x12xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<15x1x12xf32>
      %yi = stablehlo.reshape %ys : (tensor<15x1x12xf32>) -> tensor<15x12xf32>
      %q = stablehlo.dot_general %w2, %yi, contracting_dims = [1] x [0] : (tensor<14x15xf32>, tensor<15x12xf32>) -> tensor<14x12xf32>
      %zs = stablehlo.dynamic_slice %z, %zero, %i, %zero, %zero, sizes = [2, 1, 24, 14] : (tensor<2x6x24x14xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x24x14xf32>
      %zi = stablehlo.reshape %zs : (tensor<2x1x24x14xf32>) -> tensor<2x24x14xf32>
      %s = stablehlo.dot_general %zi, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x24x14xf32>, tensor<2x14x15xf32>) -> tensor<2x24x15xf32>
      %u = stablehlo.dot_general %p, %p, contracting_dims = [1] x [1] : (tensor<24x15xf32>, tensor<24x15xf32>) -> tensor<24x24xf32>
      %u2 = stablehlo.dot_general %u, %c, contracting_dims = [1] x [0] : (tensor<24x24xf32>, tensor<24x24xf32>) -> tensor<24x24xf32>
      %c1 = stablehlo.tanh %u2 : tensor<24x24xf32>
      %d1 = stablehlo.add %d, %q : tensor<14x12xf32>
      %b1 = stablehlo.add %b, %s : tensor<2x24x15xf32>
      %n = stablehlo.negate %e : tensor<16x16xf32>
      %ex = stablehlo.exponential %n : tensor<16x16xf32>
      %f1 = stablehlo.maximum %f, %ex : tensor<16x16xf32>
      stablehlo.return %j, %c1, %d1, %b1, %f1 : tensor<i32>, tensor<24x24xf32>, tensor<14x12xf32>, tensor<2x24x15xf32>, tensor<16x16xf32>
    }
    return %r#1, %r#2, %r#3, %r#4 : tensor<24x24xf32>, tensor<14x12xf32>, tensor<2x24x15xf32>, tensor<16x16xf32>
  })",
      7, 5);
}

TEST(Compile, StackedResultsAreStoredTripByTrip) {
  const CompiledProgram p = Check(R"(func.func @main(%x: tensor<3xf32>) -> tensor<20x3xf32> {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<20x3xf32>
    %r:3 = stablehlo.while(%a = %x, %k = %i, %o = %z) : tensor<3xf32>, tensor<i32>, tensor<20x3xf32>
      cond { %n = stablehlo.constant dense<20> : tensor<i32>
             %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1> }
      do { %one = stablehlo.constant dense<1> : tensor<i32>
           %zero = stablehlo.constant dense<0> : tensor<i32>
           %v = stablehlo.reverse %a, dims = [0] : tensor<3xf32>
           %s = stablehlo.subtract %v, %x : tensor<3xf32>
           %row = stablehlo.reshape %s : (tensor<3xf32>) -> tensor<1x3xf32>
           %u = stablehlo.dynamic_update_slice %o, %row, %k, %zero : (tensor<20x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<20x3xf32>
           %next = stablehlo.add %k, %one : tensor<i32>
           stablehlo.return %s, %next, %u : tensor<3xf32>, tensor<i32>, tensor<20x3xf32> }
    return %r#2 : tensor<20x3xf32>
  })",
                                  1);
  EXPECT_EQ(plan::Count(p.plan).loops, 0);
}

TEST(Compile, DonatedArgumentsAreUpdatedInPlace) {
  const CompiledProgram p = Check(
      R"(func.func @main(%x: tensor<50x4xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<1x4xf32>, %i: tensor<i32>) -> tensor<50x4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r = stablehlo.dynamic_update_slice %x, %u, %i, %zero : (tensor<50x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<50x4xf32>
    return %r : tensor<50x4xf32>
  })",
      1);
  EXPECT_EQ(p.plan.outputs[0].alias_input, 0);
  EXPECT_TRUE(p.plan.outputs[0].alias_contents);
  EXPECT_EQ(plan::Count(p.plan).copy_steps, 0);
}

TEST(Compile, AnArgumentThatIsReadLaterIsNotTakenOver) {
  // The first output overwrites %x while the second still needs it.
  const CompiledProgram p = Check(
      R"(func.func @main(%x: tensor<40x24xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<40x24xf32>, tensor<24x24xf32>) {
    %r = stablehlo.reverse %x, dims = [0] : tensor<40x24xf32>
    %n = stablehlo.negate %r : tensor<40x24xf32>
    %d = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<40x24xf32>, tensor<40x24xf32>) -> tensor<24x24xf32>
    return %n, %d : tensor<40x24xf32>, tensor<24x24xf32>
  })",
      1, 1);
  EXPECT_EQ(p.plan.outputs[0].alias_input, -1);
}

TEST(Compile, AwaitedWorkRunsWhereItIsStarted) {
  Check(R"(func.func @main(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %f = "stablehlo.async_start"(%x) ({
    ^bb0(%a: tensor<8xf32>):
      %n = stablehlo.slice %a [2:6] : (tensor<8xf32>) -> tensor<4xf32>
      stablehlo.return %n : tensor<4xf32>
    }) : (tensor<8xf32>) -> !stablehlo.future<tensor<4xf32>>
    %m = stablehlo.multiply %y, %y : tensor<4xf32>
    stablehlo.custom_call @control_dep(%f, %m) {has_side_effect = true} : (!stablehlo.future<tensor<4xf32>>, tensor<4xf32>) -> ()
    %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
    %s = stablehlo.add %r, %m : tensor<4xf32>
    return %s : tensor<4xf32>
  })",
        1);
}

TEST(Compile, ErrorsNameTheTrouble) {
  const Result<CompiledProgram> broken = Compile("func.func @main(", CpuOptions());
  EXPECT_EQ(broken.status().code(), Code::kInvalidArgument);
  const Result<CompiledProgram> dynamic =
      Compile("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }", CpuOptions());
  EXPECT_EQ(dynamic.status().code(), Code::kUnimplemented);
  EXPECT_THAT(std::string(dynamic.status().message()), testing::HasSubstr("dynamic"));
}

std::string Manual(std::string_view operand, std::string_view sharding, std::string_view part) {
  return std::string("sdy.mesh @mesh = <[\"x\"=2]>\nfunc.func @main(%x: ") + std::string(operand) + ") -> " +
         std::string(operand) + R"( {
    %token = stablehlo.create_token : !stablehlo.token
    %r:2 = sdy.manual_computation(%x, %token) in_shardings=[<@mesh, )" +
         std::string(sharding) + R"(>, <@mesh, []>] out_shardings=[<@mesh, )" + std::string(sharding) +
         R"(>, <@mesh, []>] manual_axes={"x"} (%a: )" + std::string(part) + R"(, %t: !stablehlo.token) {
      %n = stablehlo.negate %a : )" +
         std::string(part) + R"(
      %after = stablehlo.after_all %t, %t : !stablehlo.token
      sdy.return %n, %after : )" +
         std::string(part) + R"(, !stablehlo.token
    } : ()" +
         std::string(operand) + ", !stablehlo.token) -> (" + std::string(operand) + R"(, !stablehlo.token)
    return %r#0 : )" +
         std::string(operand) + "\n}";
}

TEST(Compile, ManualComputationsTakeTokensAndPartsThatFit) {
  compiler::CompileOptions two = CpuOptions();
  two.num_partitions = 2;
  const auto compiled = Compile(Manual("tensor<4xf32>", "[{\"x\"}]", "tensor<2xf32>"), two);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  const auto odd = Compile(Manual("tensor<5xf32>", "[{\"x\"}]", "tensor<2xf32>"), two);
  EXPECT_THAT(odd.status().ToString(), testing::HasSubstr("does not divide into 2 parts"));
  const auto sums = Compile(Manual("tensor<4xf32>", "[{}], unreduced={\"x\"}", "tensor<4xf32>"), two);
  EXPECT_TRUE(sums.ok()) << sums.status().ToString();
  const auto largest = Compile(Manual("tensor<4xf32>", "[{}], unreduced=max{\"x\"}", "tensor<4xf32>"), two);
  EXPECT_TRUE(largest.ok()) << largest.status().ToString();
  const auto other = Compile(Manual("tensor<4xf32>", "[{\"x\"}]", "tensor<3xf32>"), two);
  EXPECT_THAT(other.status().ToString(), testing::HasSubstr("the body has tensor<3xf32>"));
}

// Loops in loops, each with carries of its own, along which `value`, a tensor<4xi32>, comes from inside round by round;
// `result` gets the outermost's last carry.
std::string LoopsInLoops(int levels, const std::string& value, const std::string& result) {
  const std::string t = "tensor<4xi32>";
  std::string open, close, last = value;
  for (int k = 0; k < levels; ++k) {
    open += fmt::format(R"(
    %z{0} = stablehlo.constant dense<0> : tensor<i32>
    %a{0} = stablehlo.constant dense<0> : {1}
    %w{0}:4 = stablehlo.while(%i{0} = %z{0}, %b{0} = %a{0}, %c{0} = %a{0}, %d{0} = %a{0}) : tensor<i32>, {1}, {1}, {1}
    cond {{
      %l{0} = stablehlo.constant dense<4> : tensor<i32>
      %p{0} = stablehlo.compare LT, %i{0}, %l{0}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p{0} : tensor<i1>
    }} do {{
      %o{0} = stablehlo.constant dense<1> : tensor<i32>
      %n{0} = stablehlo.add %i{0}, %o{0} : tensor<i32>)",
                        levels - 1 - k, t);
  }
  for (int k = 0; k < levels; ++k) {
    close += fmt::format(R"(
      %s{0} = stablehlo.add %b{0}, {2} : {1}
      stablehlo.return %n{0}, %s{0}, %b{0}, %c{0} : tensor<i32>, {1}, {1}, {1}
    }})",
                         k, t, last);
    last = fmt::format("%w{}#3", k);
  }
  return fmt::format("{}{}\n    {} = stablehlo.negate {} : {}\n", open, close, result, last, t);
}

// To find which carries differ between devices, or lie cut over processes, loops are looked at several times: those in
// them must not be as often for each time.
TEST(Compile, LoopsInLoopsOverSeveralDevicesTakeLittleTime) {
  constexpr int kLevels = 24;
  compiler::CompileOptions two = CpuOptions();
  two.num_partitions = 2;
  const std::string shift = R"(%q = "stablehlo.collective_permute"(%x) {
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xi32>) -> tensor<4xi32>)";
  std::string loops = LoopsInLoops(kLevels, "%q", "%r");
  loops.insert(loops.find("\n      %s0"), "\n      " + shift);
  const std::string apart = R"(sdy.mesh @mesh = <["x"=2]>
  func.func @main(%v: tensor<8xi32>) -> tensor<8xi32> {
    %m = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"}
        (%x: tensor<4xi32>) {)" +
                            loops + R"(
      sdy.return %r : tensor<4xi32>
    } : (tensor<8xi32>) -> tensor<8xi32>
    return %m : tensor<8xi32>
  })";
  const auto compiled = Compile(apart, two);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  const std::string together = R"(sdy.mesh @mesh = <["x"=2]>
  func.func @main(%v: tensor<4xi32>) -> tensor<4xi32> {
    %x = sdy.sharding_constraint %v <@mesh, [{"x"}]> : tensor<4xi32>)" +
                               LoopsInLoops(kLevels, "%x", "%r") + R"(
    return %r : tensor<4xi32>
  })";
  two.processes = {.of_device = {0, 1}, .self = 0};
  const auto part = Compile(together, two);
  EXPECT_TRUE(part.ok()) << part.status().ToString();
}

TEST(Compile, PermutationsNameDevicesThatAreNot) {
  const std::string program = R"(sdy.mesh @mesh = <["x"=2]>
  func.func @main(%v: tensor<8xi32>) -> tensor<8xi32> {
    %m = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"}
        (%x: tensor<4xi32>) {
      %q = "stablehlo.collective_permute"(%x) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          source_target_pairs = dense<[[0, 5]]> : tensor<1x2xi64>} : (tensor<4xi32>) -> tensor<4xi32>
      sdy.return %q : tensor<4xi32>
    } : (tensor<8xi32>) -> tensor<8xi32>
    return %m : tensor<8xi32>
  })";
  compiler::CompileOptions two = CpuOptions();
  two.num_partitions = 2;
  for (const bool apart : {false, true}) {
    if (apart) two.processes = {.of_device = {0, 1}, .self = 1};
    const Status status = Compile(program, two).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.ToString(), testing::HasSubstr("from device 0 to device 5, of 1 replicas and 2 partitions"));
  }
}

TEST(Compile, ReadsShardingsOfBeforeShardy) {
  const auto program = [](std::string_view first) {
    return R"(func.func @main(%x: tensor<4x6xf32> {mhlo.sharding = ")" + std::string(first) + R"("})
        -> (tensor<4x6xf32>, tensor<4x6xf32> {mhlo.sharding = "{replicated}"}, tensor<4x6xf32>, tensor<4x6xf32>) {
      %0 = stablehlo.negate %x : tensor<4x6xf32>
      %1 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[1,2]<=[2]}"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %2 = stablehlo.custom_call @Sharding(%x) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{replicated}"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
      return %0, %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
    })";
  };
  compiler::CompileOptions two = CpuOptions();
  two.num_partitions = 2;
  const Result<CompiledProgram> compiled = Compile(program("{devices=[2,1]<=[2]}"), two);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_EQ(compiled->parameter_tilings[0].tiles, (Dims{2, 1}));
  ASSERT_EQ(compiled->result_tilings.size(), 4u);
  EXPECT_EQ(compiled->result_tilings[0].tiles, (Dims{2, 1}));
  EXPECT_EQ(compiled->result_tilings[1].tiles, (Dims{1, 1}));
  EXPECT_EQ(compiled->result_tilings[2].tiles, (Dims{1, 2}));
  EXPECT_EQ(compiled->result_tilings[3].tiles, (Dims{2, 1}));
  EXPECT_EQ(Compile(program("{devices=[2,1]<=[3]}"), two).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Compile(program("{manual}"), two).status().code(), Code::kUnimplemented);
  EXPECT_TRUE(Compile(program("what one device does not read"), CpuOptions()).ok());
}

TEST(Compile, BranchesChosenByOneNumberAreToldApartByWhatTheyRead) {
  constexpr int kCases = 16000;
  std::string body;
  for (int i = 0; i < kCases; ++i) {
    body += fmt::format(R"(%x{1} = "stablehlo.case"(%i) ({{
      %t = stablehlo.tanh %x{0} : tensor<16xf32>
      stablehlo.return %t : tensor<16xf32>
    }}, {{
      %t = stablehlo.sine %x{0} : tensor<16xf32>
      stablehlo.return %t : tensor<16xf32>
    }}) : (tensor<i32>) -> tensor<16xf32>
    )",
                        i, i + 1);
  }
  const std::clock_t start = std::clock();
  const Result<CompiledProgram> compiled = Compile(
      fmt::format("func.func @main(%x0: tensor<16xf32>, %i: tensor<i32>) -> tensor<16xf32> {{\n{} return %x{} : "
                  "tensor<16xf32> }}",
                  body, kCases),
      CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_LT(std::clock() - start, 15 * CLOCKS_PER_SEC);
}

// Programs recorded from clients, where they are at hand.
TEST(Compile, RecordedProgramsCompile) {
  const char* shared = std::getenv("TENON_SHARED");
  const std::filesystem::path folder = std::filesystem::path(shared != nullptr ? shared : TENON_SHARED_DEFAULT) /
                                       "clients/captures/jax_generic_shlo1.9.0";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".mlir") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    Result<CompiledProgram> compiled = Compile(bytes, CpuOptions());
    if (!compiled.ok() && std::string(compiled.status().message()).find("4 devices") != std::string::npos) {
      compiler::CompileOptions four = CpuOptions();  // Some were made for four devices.
      four.num_partitions = 4;
      compiled = Compile(bytes, four);
    }
    ++programs;
    EXPECT_TRUE(compiled.ok()) << entry.path() << ": " << compiled.status().ToString();
  }
  EXPECT_GT(programs, 100);
}

}  // namespace
}  // namespace tenon::test
