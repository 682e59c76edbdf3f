#include <chrono>
#include <thread>

#include "fuzz/backend.h"
#include "fuzz/live_objects.h"

extern "C" const PJRT_Api* GetPjrtApi();

namespace tenon::fuzz {

const PJRT_Api* Api() { return GetPjrtApi(); }

void ResetBackend(uint8_t) {}

void Settle() {}

bool NothingLives() {
  // Device queues and pools let go of their last references a little after the caller has seen the result.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!CountersAreZero(/*report=*/false)) {
    if (std::chrono::steady_clock::now() > deadline) return CountersAreZero(/*report=*/true);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

std::span<const std::string_view> Programs() {
  static constexpr std::string_view kPrograms[] = {
      "func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}",
      "func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.exponential %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}",
      "func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
      "  %0 = stablehlo.negate %a : tensor<4xf32>\n  return %a, %0 : tensor<4xf32>, tensor<4xf32>\n}",
      "func.func @main() -> (tensor<4xf32>, tensor<i32>) {\n"
      "  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>\n  %1 = stablehlo.constant dense<7> : tensor<i32>\n"
      "  return %0, %1 : tensor<4xf32>, tensor<i32>\n}",
      "func.func @main(%a: tensor<4xf32>) -> tensor<f32> {\n  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, "
      "tensor<f32>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n}",
      "func.func @main(%a: tensor<32x33xf32>, %b: tensor<33x32xf32>) -> tensor<32x32xf32> {\n"
      "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<32x33xf32>, tensor<33x32xf32>) -> "
      "tensor<32x32xf32>\n"
      "  return %0 : tensor<32x32xf32>\n}",
      "func.func @main(%n: tensor<i32>) -> tensor<i32> {\n  %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "  %lim = stablehlo.constant dense<100> : tensor<i32>\n"
      "  %0 = stablehlo.while(%i = %n) : tensor<i32>\n  cond {\n"
      "    %c = stablehlo.compare LT, %i, %lim : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %c : "
      "tensor<i1>\n"
      "  } do {\n    %j = stablehlo.add %i, %one : tensor<i32>\n    stablehlo.return %j : tensor<i32>\n  }\n  return "
      "%0 : tensor<i32>\n}",
      "func.func @main(%a: tensor<32x33xf32> {mhlo.layout_mode = \"{0,1}\"}) -> tensor<33x32xf32> {\n"
      "  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<32x33xf32>) -> tensor<33x32xf32>\n  return %0 : "
      "tensor<33x32xf32>\n}",
      "func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<3xf32> {\n  return %a : tensor<4xf32>\n}"};
  return kPrograms;
}

std::string_view TopologyName() { return "cpu"; }

std::span<const std::string_view> OptionNames() {
  // num_devices is left out: thousands of devices take their time.
  static constexpr std::string_view kNames[] = {"memory_limit_bytes", "node_id", "num_nodes", "partition_index"};
  return kNames;
}

}  // namespace tenon::fuzz
