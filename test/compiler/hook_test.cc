// Kernels that finish what drivers compute, tile by tile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using compiler::Compile;
using compiler::CompiledProgram;

/// Compiles, compares with the reference, and wants so many drivers, so many of them with a hook, and kernel steps.
void Check(std::string_view program, int64_t products, size_t hooks, int64_t kernels) {
  Result<CompiledProgram> compiled = Compile(program, CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const plan::Statistics count = plan::Count(compiled->plan);
  size_t hooked = 0;
  for (const plan::Step& step : compiled->plan.steps) {
    if (const auto* d = std::get_if<plan::DriverStep>(&step.is)) hooked += d->hooks.size();
  }
  EXPECT_EQ(count.driver_steps, products) << plan::Print(compiled->plan);
  EXPECT_EQ(hooked, hooks) << plan::Print(compiled->plan);
  EXPECT_EQ(count.kernel_steps, kernels) << plan::Print(compiled->plan);
  const Status same = CompareWithReference(program, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString() << plan::Print(compiled->plan);
}

TEST(Hooks, BiasAndActivation) {
  Check(R"(func.func @main(%x: tensor<40x64xf32>, %w: tensor<64x96xf32>, %b: tensor<96xf32>) -> tensor<40x96xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<96xf32>) -> tensor<40x96xf32>
    %2 = stablehlo.add %0, %1 : tensor<40x96xf32>
    %z = stablehlo.constant dense<0.0> : tensor<40x96xf32>
    %3 = stablehlo.maximum %2, %z : tensor<40x96xf32>
    return %3 : tensor<40x96xf32>
  })",
        1, 1, 0);
}

// A value per matrix, one per row, one per column, and one per element; the matrices lie in two dims.
TEST(Hooks, WhatIsReadAlongsideFollowsTheTile) {
  Check(
      R"(func.func @main(%x: tensor<3x2x40x64xf32>, %y: tensor<3x2x64x96xf32>, %m: tensor<3x2xf32>, %r: tensor<40xf32>, %c: tensor<96xf32>, %e: tensor<3x2x40x96xf32>)
      -> tensor<3x2x40x96xf32> {
    %0 = stablehlo.dot_general %x, %y, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<3x2x40x64xf32>, tensor<3x2x64x96xf32>) -> tensor<3x2x40x96xf32>
    %1 = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<3x2xf32>) -> tensor<3x2x40x96xf32>
    %2 = stablehlo.broadcast_in_dim %r, dims = [2] : (tensor<40xf32>) -> tensor<3x2x40x96xf32>
    %3 = stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<96xf32>) -> tensor<3x2x40x96xf32>
    %4 = stablehlo.multiply %0, %1 : tensor<3x2x40x96xf32>
    %5 = stablehlo.add %4, %2 : tensor<3x2x40x96xf32>
    %6 = stablehlo.multiply %5, %3 : tensor<3x2x40x96xf32>
    %7 = stablehlo.subtract %6, %e : tensor<3x2x40x96xf32>
    return %7 : tensor<3x2x40x96xf32>
  })",
      1, 1, 0);
}

// The result is looked at as another shape, of the same rows.
TEST(Hooks, ThroughReshapes) {
  Check(
      R"(func.func @main(%x: tensor<5x8x64xf32>, %w: tensor<64x96xf32>, %b: tensor<96xf32>, %s: tensor<5x8xf32>) -> tensor<5x8x96xf32> {
    %0 = stablehlo.reshape %x : (tensor<5x8x64xf32>) -> tensor<40x64xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
    %2 = stablehlo.reshape %1 : (tensor<40x96xf32>) -> tensor<5x8x96xf32>
    %3 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<96xf32>) -> tensor<5x8x96xf32>
    %4 = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<5x8xf32>) -> tensor<5x8x96xf32>
    %5 = stablehlo.add %2, %3 : tensor<5x8x96xf32>
    %6 = stablehlo.multiply %5, %4 : tensor<5x8x96xf32>
    return %6 : tensor<5x8x96xf32>
  })",
      1, 1, 0);
}

// The second product is what the first one's hook reads, and is there before; a donated residual is not written over
// before it is read.
TEST(Hooks, OtherProductsAndDonatedResiduals) {
  Check(
      R"(func.func @main(%x: tensor<40x64xf32>, %w: tensor<64x96xf32>, %v: tensor<64x96xf32>, %e: tensor<40x96xf32> {tf.aliasing_output = 0 : i32}) -> tensor<40x96xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
    %1 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
    %2 = stablehlo.add %0, %1 : tensor<40x96xf32>
    %3 = stablehlo.subtract %e, %2 : tensor<40x96xf32>
    return %3 : tensor<40x96xf32>
  })",
      2, 1, 0);
}

TEST(Hooks, WhatIsNeededInMemoryIsNotChanged) {
  // By the caller; by a kernel that transposes; by two kernels of different shapes, through a view.
  Check(R"(func.func @main(%x: tensor<40x64xf32>, %w: tensor<64x96xf32>) -> (tensor<40x96xf32>, tensor<40x96xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
    %1 = stablehlo.negate %0 : tensor<40x96xf32>
    return %0, %1 : tensor<40x96xf32>, tensor<40x96xf32>
  })",
        1, 0, 1);
  Check(R"(func.func @main(%x: tensor<40x64xf32>, %w: tensor<64x96xf32>, %b: tensor<96x40xf32>) -> tensor<96x40xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<40x96xf32>) -> tensor<96x40xf32>
    %2 = stablehlo.add %1, %b : tensor<96x40xf32>
    return %2 : tensor<96x40xf32>
  })",
        1, 0, 1);
  Check(
      R"(func.func @main(%x: tensor<40x64xf32>, %w: tensor<64x96xf32>, %y: tensor<96x40xf32>) -> (tensor<40x96xf32>, tensor<40x40xf32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
    %1 = stablehlo.reshape %0 : (tensor<40x96xf32>) -> tensor<40x2x48xf32>
    %2 = stablehlo.reshape %1 : (tensor<40x2x48xf32>) -> tensor<40x96xf32>
    %3 = stablehlo.negate %2 : tensor<40x96xf32>
    %4 = stablehlo.dot_general %2, %y, contracting_dims = [1] x [0] : (tensor<40x96xf32>, tensor<96x40xf32>) -> tensor<40x40xf32>
    return %3, %4 : tensor<40x96xf32>, tensor<40x40xf32>
  })",
      2, 0, 1);
}

// In a loop: the kernel of one trip, with what the loop carries.
TEST(Hooks, InLoops) {
  const std::string_view program =
      R"(func.func @main(%h: tensor<40x96xf32>, %w: tensor<96x96xf32>, %b: tensor<96xf32>) -> tensor<40x96xf32> {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %i0, %c = %h) : tensor<i32>, tensor<40x96xf32>
     cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %p = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<40x96xf32>, tensor<96x96xf32>) -> tensor<40x96xf32>
      %q = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<96xf32>) -> tensor<40x96xf32>
      %s = stablehlo.add %p, %q : tensor<40x96xf32>
      %m = stablehlo.constant dense<0.125> : tensor<40x96xf32>
      %u = stablehlo.multiply %s, %m : tensor<40x96xf32>
      %v = stablehlo.add %u, %c : tensor<40x96xf32>
      stablehlo.return %j, %v : tensor<i32>, tensor<40x96xf32>
    }
    return %r#1 : tensor<40x96xf32>
  })";
  Result<CompiledProgram> compiled = Compile(program, CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_THAT(plan::Print(compiled->plan), testing::HasSubstr("hook \"finish\""));
  const Status same = CompareWithReference(program, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString();
}

}  // namespace
}  // namespace tenon::test
