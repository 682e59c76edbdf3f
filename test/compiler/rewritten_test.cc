// Convolutions of many dims and extremes of narrow floats, which rules write in other forms, against the reference.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

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

/// Largest and smallest of hashed bits behind `mask`, as bits, of NaN zero: NaN may be others, zeros must not.
std::string Extremes(std::string_view type, int factor, int mask, std::string_view low, std::string_view high) {
  std::string program = R"(func.func @main() -> (tensor<60xi16>, tensor<60xi16>, tensor<100xi16>, tensor<i16>) {
    %i = stablehlo.iota dim = 0 : tensor<6000xi32>
    %f = stablehlo.constant dense<$F> : tensor<6000xi32>
    %m = stablehlo.multiply %i, %f : tensor<6000xi32>
    %e = stablehlo.constant dense<13> : tensor<6000xi32>
    %s = stablehlo.shift_right_logical %m, %e : tensor<6000xi32>
    %k = stablehlo.constant dense<$M> : tensor<6000xi32>
    %a = stablehlo.and %s, %k : tensor<6000xi32>
    %h = stablehlo.convert %a : (tensor<6000xi32>) -> tensor<6000xui16>
    %n = stablehlo.bitcast_convert %h : (tensor<6000xui16>) -> tensor<6000x$T>
    %r = stablehlo.reshape %n : (tensor<6000x$T>) -> tensor<60x100x$T>
    %y = stablehlo.optimization_barrier %r : tensor<60x100x$T>
    %low = stablehlo.constant dense<$L> : tensor<$T>
    %high = stablehlo.constant dense<$H> : tensor<$T>
    %0 = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<60x100x$T>, tensor<$T>) -> tensor<60x$T>
    %1 = stablehlo.reduce(%y init: %high) applies stablehlo.minimum across dimensions = [1] : (tensor<60x100x$T>, tensor<$T>) -> tensor<60x$T>
    %2 = stablehlo.reduce(%y init: %high) applies stablehlo.minimum across dimensions = [0] : (tensor<60x100x$T>, tensor<$T>) -> tensor<100x$T>
    %3 = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<60x100x$T>, tensor<$T>) -> tensor<$T>
)";
  constexpr std::string_view kDims[] = {"60x", "60x", "100x", ""};
  for (int i = 0; i < 4; ++i) {
    std::string bits =
        R"(    %c#N = stablehlo.compare EQ, %#N, %#N, FLOAT : (tensor<#D$T>, tensor<#D$T>) -> tensor<#Di1>
    %b#N = stablehlo.bitcast_convert %#N : (tensor<#D$T>) -> tensor<#Di16>
    %z#N = stablehlo.constant dense<0> : tensor<#Di16>
    %o#N = stablehlo.select %c#N, %b#N, %z#N : tensor<#Di1>, tensor<#Di16>
)";
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>{"#N", std::to_string(i)}, {"#D", std::string(kDims[i])}})
      for (size_t at; (at = bits.find(from)) != std::string::npos;) bits.replace(at, from.size(), to);
    program += bits;
  }
  program += "    return %o0, %o1, %o2, %o3 : tensor<60xi16>, tensor<60xi16>, tensor<100xi16>, tensor<i16>\n  }";
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"$T", std::string(type)},
                                 {"$F", std::to_string(factor)},
                                 {"$M", std::to_string(mask)},
                                 {"$L", std::string(low)},
                                 {"$H", std::string(high)}})
    for (size_t at; (at = program.find(from)) != std::string::npos;) program.replace(at, from.size(), to);
  return program;
}

TEST(Rewritten, ExtremesOfNarrowArguments) {
  // Read as bits for the extremes, as numbers for the rest.
  for (const std::string_view type : {"bf16", "f16"}) {
    std::string program = R"(func.func @main(%x: tensor<60x100x$T>) -> (tensor<60x100x$T>, tensor<100x$T>) {
    %low = stablehlo.constant dense<-3.0> : tensor<$T>
    %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<60x100x$T>, tensor<$T>) -> tensor<60x$T>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<60x$T>) -> tensor<60x100x$T>
    %2 = stablehlo.subtract %x, %1 : tensor<60x100x$T>
    %3 = stablehlo.exponential %2 : tensor<60x100x$T>
    %4 = stablehlo.slice %x [0:60:1, 0:100:1] : (tensor<60x100x$T>) -> tensor<60x100x$T>
    %5 = stablehlo.pad %4, %low, low = [3, 0], high = [7, 0], interior = [0, 0] : (tensor<60x100x$T>, tensor<$T>) -> tensor<70x100x$T>
    %8 = stablehlo.reduce(%5 init: %low) applies stablehlo.minimum across dimensions = [0] : (tensor<70x100x$T>, tensor<$T>) -> tensor<100x$T>
    return %3, %8 : tensor<60x100x$T>, tensor<100x$T>
  })";
    for (size_t at; (at = program.find("$T")) != std::string::npos;) program.replace(at, 2, type);
    EXPECT_EQ(Compared(program).evaluate_steps, 0);
  }
}

TEST(Rewritten, ExtremesOfNarrowFloats) {
  // All bits; finite ones; infinities and NaN; subnormals and zeros; zeros.
  for (const int mask : {0xffff, 0xf3ff, 0xff83, 0x807f, 0x8000, 0x83ff}) {
    for (const int factor : {-1640531527, 668265263}) {
      EXPECT_EQ(Compared(Extremes("bf16", factor, mask, "0xFF80", "0x7F80")).evaluate_steps, 0);
      EXPECT_EQ(Compared(Extremes("f16", factor, mask, "0xFC00", "0x7C00")).evaluate_steps, 0);
    }
  }
}

}  // namespace
}  // namespace tenon::test
