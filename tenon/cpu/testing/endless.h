#pragma once

#include <string_view>

namespace tenon::cpu::testing {

/// An endless loop while %go is true, of which a step is too much for one kernel.
inline constexpr std::string_view kEndless =
    R"(func.func @main(%go: tensor<i1>, %x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0:2 = stablehlo.while(%a = %go, %b = %x) : tensor<i1>, tensor<64x64xf32>
  cond { stablehlo.return %a : tensor<i1> }
  do {
    %1 = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    stablehlo.return %a, %1 : tensor<i1>, tensor<64x64xf32>
  }
  return %0#1 : tensor<64x64xf32> })";

}  // namespace tenon::cpu::testing
