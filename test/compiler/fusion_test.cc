// What becomes one kernel, where that is easily got wrong: compared with the reference, with every check on.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using compiler::Compile;
using compiler::CompiledProgram;

/// Compiles and compares with the reference.
plan::Statistics Check(const std::string& program) {
  Result<CompiledProgram> compiled = Compile(program, {});
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

}  // namespace
}  // namespace tenon::test
