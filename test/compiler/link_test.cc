// Loops of small steps become one kernel, whatever they do.

#include <gtest/gtest.h>

#include <string>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using compiler::Compile;
using compiler::CompiledProgram;

/// Compiles, compares with the reference, and wants so many loops, branches and kernels left.
void Check(std::string_view program, int64_t loops, int64_t kernels) {
  Result<CompiledProgram> compiled = Compile(program, CpuOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const plan::Statistics count = plan::Count(compiled->plan);
  EXPECT_EQ(count.loops, loops) << plan::Print(compiled->plan);
  EXPECT_EQ(count.cases, 0) << plan::Print(compiled->plan);
  EXPECT_EQ(count.kernel_steps, kernels) << plan::Print(compiled->plan);
  const Status same = CompareWithReference(program, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString() << plan::Print(compiled->plan);
}

TEST(Link, ArraysReadAndWrittenAtComputedPlaces) {
  Check(R"(func.func @main(%x: tensor<20xf32>, %n: tensor<i32>) -> (tensor<20xf32>, tensor<i32>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %seven = stablehlo.constant dense<7> : tensor<i32>
    %len = stablehlo.constant dense<20> : tensor<i32>
    %trips = stablehlo.constant dense<30> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %r:3 = stablehlo.while(%i = %i0, %a = %x, %m = %n) : tensor<i32>, tensor<20xf32>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.multiply %i, %seven : tensor<i32>
      %k = stablehlo.remainder %j, %len : tensor<i32>
      %l = stablehlo.remainder %i, %len : tensor<i32>
      %e = stablehlo.dynamic_slice %a, %k, sizes = [1] : (tensor<20xf32>, tensor<i32>) -> tensor<1xf32>
      %h = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<1xf32>
      %f = stablehlo.multiply %e, %h : tensor<1xf32>
      %b = stablehlo.dynamic_update_slice %a, %f, %l : (tensor<20xf32>, tensor<1xf32>, tensor<i32>) -> tensor<20xf32>
      %t = stablehlo.add %i, %one : tensor<i32>
      %u = stablehlo.add %m, %k : tensor<i32>
      stablehlo.return %t, %b, %u : tensor<i32>, tensor<20xf32>, tensor<i32>
    }
    return %r#1, %r#2 : tensor<20xf32>, tensor<i32>
  })",
        0, 1);
}

TEST(Link, LoopsInLoopsUntilASumIsSmall) {
  Check(R"(func.func @main(%x: tensor<40xf32>) -> (tensor<40xf32>, tensor<i32>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %trips = stablehlo.constant dense<9> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %limit = stablehlo.constant dense<1.0> : tensor<f32>
    %three = stablehlo.constant dense<3.0> : tensor<40xf32>
    %half = stablehlo.constant dense<0.5> : tensor<40xf32>
    %r:3 = stablehlo.while(%i = %i0, %a = %x, %c = %i0) : tensor<i32>, tensor<40xf32>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %b = stablehlo.add %a, %three : tensor<40xf32>
      %s:2 = stablehlo.while(%y = %b, %d = %c) : tensor<40xf32>, tensor<i32>
      cond {
        %q = stablehlo.multiply %y, %y : tensor<40xf32>
        %m = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<40xf32>, tensor<f32>) -> tensor<f32>
        %p = stablehlo.compare GT, %m, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %z = stablehlo.multiply %y, %half : tensor<40xf32>
        %e = stablehlo.add %d, %one : tensor<i32>
        stablehlo.return %z, %e : tensor<40xf32>, tensor<i32>
      }
      %t = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %t, %s#0, %s#1 : tensor<i32>, tensor<40xf32>, tensor<i32>
    }
    return %r#1, %r#2 : tensor<40xf32>, tensor<i32>
  })",
        0, 1);
}

TEST(Link, BranchesByAnIndexThatMayBeOutOfRange) {
  Check(R"(func.func @main(%x: tensor<6xf32>, %s0: tensor<f32>) -> (tensor<6xf32>, tensor<f32>, tensor<6xf32>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %trips = stablehlo.constant dense<40> : tensor<i32>
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %r:4 = stablehlo.while(%i = %i0, %a = %x, %s = %s0, %u = %x) : tensor<i32>, tensor<6xf32>, tensor<f32>, tensor<6xf32>
    cond {
      %p = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %rest = stablehlo.remainder %i, %five : tensor<i32>
      %index = stablehlo.subtract %rest, %one : tensor<i32>
      %c:3 = "stablehlo.case"(%index) ({
        %n = stablehlo.add %s, %two : tensor<f32>
        stablehlo.return %a, %n, %u : tensor<6xf32>, tensor<f32>, tensor<6xf32>
      }, {
        %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<6xf32>
        %m = stablehlo.add %a, %b : tensor<6xf32>
        stablehlo.return %m, %s, %a : tensor<6xf32>, tensor<f32>, tensor<6xf32>
      }, {
        %m = stablehlo.tanh %u : tensor<6xf32>
        %n = stablehlo.negate %s : tensor<f32>
        stablehlo.return %u, %n, %m : tensor<6xf32>, tensor<f32>, tensor<6xf32>
      }) : (tensor<i32>) -> (tensor<6xf32>, tensor<f32>, tensor<6xf32>)
      %t = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %t, %c#0, %c#1, %c#2 : tensor<i32>, tensor<6xf32>, tensor<f32>, tensor<6xf32>
    }
    return %r#1, %r#2, %r#3 : tensor<6xf32>, tensor<f32>, tensor<6xf32>
  })",
        0, 1);
}

TEST(Link, CarriesThatMoveOn) {
  // The arrays go round with one change, the scalars trade places, and rows of what is left behind are kept.
  Check(
      R"(func.func @main(%x: tensor<20xf32>, %y: tensor<20xf32>, %z: tensor<20xf32>, %p0: tensor<f32>, %q0: tensor<f32>) -> (tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<f32>, tensor<f32>, tensor<50x20xf32>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %trips = stablehlo.constant dense<50> : tensor<i32>
    %k0 = stablehlo.constant dense<0.0> : tensor<50x20xf32>
    %r:7 = stablehlo.while(%i = %i0, %a = %x, %b = %y, %c = %z, %p = %p0, %q = %q0, %k = %k0) : tensor<i32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<f32>, tensor<f32>, tensor<50x20xf32>
    cond {
      %w = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %w : tensor<i1>
    } do {
      %s = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<f32>) -> tensor<20xf32>
      %t = stablehlo.multiply %b, %s : tensor<20xf32>
      %d = stablehlo.add %a, %t : tensor<20xf32>
      %row = stablehlo.reshape %d : (tensor<20xf32>) -> tensor<1x20xf32>
      %l = stablehlo.dynamic_update_slice %k, %row, %i, %i0 : (tensor<50x20xf32>, tensor<1x20xf32>, tensor<i32>, tensor<i32>) -> tensor<50x20xf32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %b, %c, %d, %q, %p, %l : tensor<i32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<f32>, tensor<f32>, tensor<50x20xf32>
    }
    return %r#1, %r#2, %r#3, %r#4, %r#5, %r#6 : tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<f32>, tensor<f32>, tensor<50x20xf32>
  })",
      0, 1);
}

TEST(Link, CarriesThatTradePlaces) {
  Check(
      R"(func.func @main(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>, %z: tensor<6xcomplex<f32>>, %w: tensor<6xcomplex<f32>>, %n: tensor<i32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>, tensor<i32>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %trips = stablehlo.constant dense<33> : tensor<i32>
    %r:6 = stablehlo.while(%i = %i0, %a = %x, %b = %y, %c = %z, %d = %w, %m = %n) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %t = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %t, %b, %a, %d, %c, %i : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>, tensor<i32>
    }
    return %r#1, %r#2, %r#3, %r#4, %r#5 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>, tensor<i32>
  })",
      0, 1);
}

TEST(Link, RowsOfSeveralStagesAndUpdatesInOrder) {
  // A softmax of two rows, and a scatter whose updates collide.
  Check(
      R"(func.func @main(%x: tensor<2x20xf32>, %h0: tensor<8xf32>, %at: tensor<5x1xi32>, %u: tensor<5xf32>) -> (tensor<2x20xf32>, tensor<8xf32>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %trips = stablehlo.constant dense<21> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r:3 = stablehlo.while(%i = %i0, %a = %x, %h = %h0) : tensor<i32>, tensor<2x20xf32>, tensor<8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %m = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2x20xf32>, tensor<f32>) -> tensor<2xf32>
      %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<2xf32>) -> tensor<2x20xf32>
      %d = stablehlo.subtract %a, %mb : tensor<2x20xf32>
      %e = stablehlo.exponential %d : tensor<2x20xf32>
      %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x20xf32>, tensor<f32>) -> tensor<2xf32>
      %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<2xf32>) -> tensor<2x20xf32>
      %q = stablehlo.divide %e, %sb : tensor<2x20xf32>
      %g = "stablehlo.scatter"(%h, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%p: tensor<f32>, %v: tensor<f32>):
        %w = stablehlo.add %p, %v : tensor<f32>
        stablehlo.return %w : tensor<f32>
      }) : (tensor<8xf32>, tensor<5x1xi32>, tensor<5xf32>) -> tensor<8xf32>
      %t = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %t, %q, %g : tensor<i32>, tensor<2x20xf32>, tensor<8xf32>
    }
    return %r#1, %r#2 : tensor<2x20xf32>, tensor<8xf32>
  })",
      0, 1);
}

TEST(Link, ConstantsOfTwoTypesWithTheSameBytes) {
  // What the inner loop starts with is zero twice, as a counter and as an array that is updated at computed places.
  Check(R"(func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<6xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %six = stablehlo.constant dense<6> : tensor<i32>
    %trips = stablehlo.constant dense<30> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<1xf32>
    %r:2 = stablehlo.while(%i = %i0, %a = %x) : tensor<i32>, tensor<6xf32>
    cond {
      %p = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s:2 = stablehlo.while(%j = %i0, %b = %z) : tensor<i32>, tensor<6xf32>
      cond {
        %q = stablehlo.compare LT, %j, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %q : tensor<i1>
      } do {
        %m = stablehlo.remainder %j, %six : tensor<i32>
        %c = stablehlo.dynamic_slice %b, %m, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
        %d = stablehlo.dynamic_slice %a, %m, sizes = [1] : (tensor<6xf32>, tensor<i32>) -> tensor<1xf32>
        %e = stablehlo.multiply %c, %half : tensor<1xf32>
        %f = stablehlo.add %d, %e : tensor<1xf32>
        %g = stablehlo.dynamic_update_slice %b, %f, %m : (tensor<6xf32>, tensor<1xf32>, tensor<i32>) -> tensor<6xf32>
        %k = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %k, %g : tensor<i32>, tensor<6xf32>
      }
      %t = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %t, %s#1 : tensor<i32>, tensor<6xf32>
    }
    return %r#1 : tensor<6xf32>
  })",
        0, 1);
}

TEST(Link, ProductsOfAVectorWithAMatrix) {
  Check(R"(func.func @main(%x: tensor<28xf32>, %w: tensor<28x28xf32>) -> tensor<28xf32> {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %trips = stablehlo.constant dense<40> : tensor<i32>
    %r:2 = stablehlo.while(%i = %i0, %a = %x) : tensor<i32>, tensor<28xf32>
    cond {
      %q = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %d = stablehlo.dot_general %a, %w, contracting_dims = [0] x [0] : (tensor<28xf32>, tensor<28x28xf32>) -> tensor<28xf32>
      %h = stablehlo.logistic %d : tensor<28xf32>
      %t = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %t, %h : tensor<i32>, tensor<28xf32>
    }
    return %r#1 : tensor<28xf32>
  })",
        0, 1);
}

TEST(Link, LargeStepsStayApart) {
  Check(R"(func.func @main(%x: tensor<200x200xf32>) -> (tensor<i32>, tensor<200x200xf32>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %trips = stablehlo.constant dense<40> : tensor<i32>
    %r:2 = stablehlo.while(%i = %i0, %a = %x) : tensor<i32>, tensor<200x200xf32>
    cond {
      %p = stablehlo.compare LT, %i, %trips : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %b = stablehlo.transpose %a, dims = [1, 0] : (tensor<200x200xf32>) -> tensor<200x200xf32>
      %c = stablehlo.negate %b : tensor<200x200xf32>
      %t = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %t, %c : tensor<i32>, tensor<200x200xf32>
    }
    return %r#0, %r#1 : tensor<i32>, tensor<200x200xf32>
  })",
        1, 2);
}

}  // namespace
}  // namespace tenon::test
