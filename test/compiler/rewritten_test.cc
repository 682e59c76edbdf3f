// Convolutions of many dims, which rules write in other forms, against the reference.
#include <gtest/gtest.h>

#include <string>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

plan::Statistics Compared(const std::string& program) {
  const Result<compiler::CompiledProgram> compiled = compiler::Compile(program, CpuOptions());
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  if (!compiled.ok()) return {};
  const Status same = CompareWithReference(program, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString() << plan::Print(compiled->plan);
  return plan::Count(compiled->plan);
}

TEST(Rewritten, ConvolutionsOfManyDimsHaveDrivers) {
  // Groups, holes, borders that are cut, windows that are turned around; other dims first; groups of the batch.
  for (const std::string_view program :
       {R"(func.func @main(%x: tensor<2x6x5x6x4x7xf32>, %w: tensor<8x3x3x2x3x3xf32>) -> tensor<2x8x3x5x7x4xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1, 2, 3]x[o, i, 0, 1, 2, 3]->[b, f, 0, 1, 2, 3],
      window = {stride = [2, 1, 1, 1], pad = [[1, 2], [0, 0], [1, 1], [-1, 0]], lhs_dilate = [1, 1, 2, 1], reverse = [true, false, false, true]}
      {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x5x6x4x7xf32>, tensor<8x3x3x2x3x3xf32>) -> tensor<2x8x3x5x7x4xf32>
    return %0 : tensor<2x8x3x5x7x4xf32>
  })",
        R"(func.func @main(%x: tensor<5x6x4x3x7x6xf32>, %w: tensor<2x3x1x3x7x4xf32>) -> tensor<4x4x4x1x6x4xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [0, b, 1, 2, f, 3]x[0, 1, 2, 3, i, o]->[0, f, 1, 2, b, 3],
      window = {pad = [[0, 0], [1, 1], [-1, -1], [0, 0]], reverse = [false, true, false, false]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<5x6x4x3x7x6xf32>, tensor<2x3x1x3x7x4xf32>) -> tensor<4x4x4x1x6x4xf32>
    return %0 : tensor<4x4x4x1x6x4xf32>
  })",
        R"(func.func @main(%x: tensor<6x3x3x5x3x3xf32>, %w: tensor<4x3x2x2x1x2xf32>) -> tensor<3x4x2x3x3x2xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1, 2, 3]x[o, i, 0, 1, 2, 3]->[b, f, 0, 1, 2, 3], window = {rhs_dilate = [1, 2, 1, 1]}
      {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<6x3x3x5x3x3xf32>, tensor<4x3x2x2x1x2xf32>) -> tensor<3x4x2x3x3x2xf32>
    return %0 : tensor<3x4x2x3x3x2xf32>
  })"}) {
    EXPECT_EQ(Compared(std::string(program)).driver_steps, 1) << program;
  }
}

}  // namespace
}  // namespace tenon::test
