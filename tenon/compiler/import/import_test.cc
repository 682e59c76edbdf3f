#include "tenon/compiler/import/import.h"

#include <gtest/gtest.h>

#include <set>

namespace tenon::compiler {
namespace {

TEST(Import, CallsShareLiterals) {
  const Result<Imported> imported = Import(R"(
    func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %d = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %0 = stablehlo.add %a, %c : tensor<4xf32>
      %1 = stablehlo.multiply %0, %d : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = call @f(%1) : (tensor<4xf32>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    })",
                                           1, 1);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  std::set<const std::string*> literals;
  size_t constants = 0;
  for (const NodeId id : imported->program.main.nodes) {
    const GraphNode& node = imported->program[id];
    if (node.op != OpCode::kConstant) continue;
    ++constants;
    literals.insert(node.literal.bytes.get());
  }
  EXPECT_EQ(constants, 6);
  EXPECT_EQ(literals.size(), 1);
}

}  // namespace
}  // namespace tenon::compiler
