// What OptimizedProgram gives compiles again, and computes what the program computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tenon/cpu/client.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/executable.h"
#include "tenon/dialect/parse.h"

namespace tenon::cpu {
namespace {

struct Case {
  const char* name;
  const char* program;
  /// What the optimized program's text must have, and must not have.
  std::vector<const char*> has = {}, lacks = {};
};

const Case kCases[] = {
    {"fusion",
     R"(func.func @main(%x: tensor<64x70xf32>) -> (tensor<64x70xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<64x70xf32>
  %e = stablehlo.exponential %x : tensor<64x70xf32>
  %m = stablehlo.multiply %e, %two : tensor<64x70xf32>
  %s = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x70xf32>, tensor<f32>) -> tensor<64xf32>
  return %m, %s : tensor<64x70xf32>, tensor<64xf32>
})",
     {"func.func private @fusion_0", "call @fusion_0", "stablehlo.exponential"}},
    {"simplified",
     R"(func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = stablehlo.tanh %x : tensor<8xf32>
  %b = stablehlo.tanh %x : tensor<8xf32>
  %n = stablehlo.negate %a : tensor<8xf32>
  %m = stablehlo.negate %n : tensor<8xf32>
  %dead = stablehlo.cosine %x : tensor<8xf32>
  %s = stablehlo.multiply %m, %b : tensor<8xf32>
  return %s : tensor<8xf32>
})",
     {"stablehlo.tanh"},
     {"stablehlo.negate", "stablehlo.cosine"}},
    {"product",
     R"(func.func @main(%x: tensor<33x70xf32>, %w: tensor<70x19xf32>, %b: tensor<19xf32>) -> tensor<33x19xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<33x70xf32>, tensor<70x19xf32>) -> tensor<33x19xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<19xf32>) -> tensor<33x19xf32>
  %s = stablehlo.add %p, %c : tensor<33x19xf32>
  %t = stablehlo.tanh %s : tensor<33x19xf32>
  return %t : tensor<33x19xf32>
})",
     {"stablehlo.dot_general"}},
    {"loop",
     R"(func.func @main(%x: tensor<40x40xf32>, %n: tensor<i32>) -> tensor<40x40xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<40x40xf32>
  cond {
    %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %p = stablehlo.dot_general %v, %x, contracting_dims = [1] x [0] : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
    %t = stablehlo.tanh %p : tensor<40x40xf32>
    %s = stablehlo.sine %t : tensor<40x40xf32>
    %k = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %k, %s : tensor<i32>, tensor<40x40xf32>
  }
  return %r#1 : tensor<40x40xf32>
})",
     {"stablehlo.while"}},
    {"branches", R"(func.func @main(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  %p = stablehlo.compare GT, %s, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %i = stablehlo.convert %p : (tensor<i1>) -> tensor<i32>
  %r = "stablehlo.if"(%p) ({
    %a = stablehlo.tan %x : tensor<5xf32>
    stablehlo.return %a : tensor<5xf32>
  }, {
    %b = stablehlo.cbrt %y : tensor<5xf32>
    stablehlo.return %b : tensor<5xf32>
  }) : (tensor<i1>) -> tensor<5xf32>
  %q = "stablehlo.case"(%i) ({
    %a = stablehlo.sine %r : tensor<5xf32>
    stablehlo.return %a : tensor<5xf32>
  }, {
    %b = stablehlo.cosine %r : tensor<5xf32>
    stablehlo.return %b : tensor<5xf32>
  }) : (tensor<i32>) -> tensor<5xf32>
  return %q : tensor<5xf32>
})"},
    {"moves",
     R"(func.func @main(%x: tensor<4x6xf32>, %i: tensor<i32>) -> (tensor<6x4xf32>, tensor<9x6xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<3x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %p = stablehlo.pad %x, %zero, low = [1, 0], high = [1, 0], interior = [1, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<9x6xf32>
  %d = stablehlo.dynamic_slice %x, %i, %z, sizes = [2, 6] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  %e = stablehlo.sine %d : tensor<2x6xf32>
  %u = stablehlo.dynamic_update_slice %x, %e, %i, %z : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  %rows = stablehlo.constant dense<[[2], [0], [3]]> : tensor<3x1xi32>
  %g = "stablehlo.gather"(%x, %rows) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>} : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
  return %t, %p, %d, %u, %g : tensor<6x4xf32>, tensor<9x6xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<3x6xf32>
})"},
    {"sort",
     R"(func.func @main(%x: tensor<300xf32>, %y: tensor<300xf32>) -> (tensor<300xf32>, tensor<300xf32>) {
  %r:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %p = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<300xf32>, tensor<300xf32>) -> (tensor<300xf32>, tensor<300xf32>)
  return %r#0, %r#1 : tensor<300xf32>, tensor<300xf32>
})",
     {"stablehlo.sort"}},
    {"windows",
     R"(func.func @main(%x: tensor<1x12x12x3xf32>, %k: tensor<3x3x3x8xf32>) -> (tensor<1x12x12x8xf32>, tensor<1x6x6x3xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x12x12x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x12x12x8xf32>
  %m = "stablehlo.reduce_window"(%x, %low) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<1x12x12x3xf32>, tensor<f32>) -> tensor<1x6x6x3xf32>
  return %c, %m : tensor<1x12x12x8xf32>, tensor<1x6x6x3xf32>
})"},
    {"scatter",
     R"(func.func @main(%x: tensor<10x4xf32>, %u: tensor<3x4xf32>) -> tensor<10x4xf32> {
  %at = stablehlo.constant dense<[[7], [1], [7]]> : tensor<3x1xi32>
  %r = "stablehlo.scatter"(%x, %at, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  return %r : tensor<10x4xf32>
})",
     {"stablehlo.scatter"}},
    {"fourier", R"(func.func @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %f = stablehlo.fft %x, type = RFFT, length = [32] : (tensor<4x32xf32>) -> tensor<4x17xcomplex<f32>>
  %i = stablehlo.fft %f, type = IRFFT, length = [32] : (tensor<4x17xcomplex<f32>>) -> tensor<4x32xf32>
  return %i : tensor<4x32xf32>
})"},
    // A factorisation has no form in StableHLO once it is Tenon's: then the program is what it was.
    {"factors",
     R"(func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %s = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %e = stablehlo.constant dense<[[1., 0., 0.], [0., 1., 0.], [0., 0., 1.]]> : tensor<3x3xf32>
  %d = stablehlo.add %s, %e : tensor<3x3xf32>
  %c = stablehlo.cholesky %d, lower = true : tensor<3x3xf32>
  return %c : tensor<3x3xf32>
})",
     {"stablehlo.cholesky"}},
};

// All outputs, one after the other, for arguments that depend on nothing but their shapes.
Result<std::vector<float>> Outputs(CpuClient& client, plugin::LoadedExecutable& executable) {
  std::mt19937 random(7);
  std::vector<plugin::Argument> arguments;
  for (const plugin::ValueSpec& spec : executable.info().parameters) {
    const auto size = static_cast<size_t>(SizeBytes(spec.array.shape));
    TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Storage> storage, AllocateFrom(client.memory_pool(), size));
    if (spec.array.shape.dtype == DType::kF32) {
      auto* values = static_cast<float*>(storage->data());
      for (size_t i = 0; i < size / sizeof(float); ++i)
        values[i] = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
    } else {
      std::memset(storage->data(), 0, size);
      *static_cast<char*>(storage->data()) = 1;
    }
    arguments.push_back({.storage = std::move(storage)});
  }
  std::vector<plugin::Ref<plugin::Buffer>> outputs(executable.info().outputs.size());
  plugin::DeviceExecution device{.device = client.devices()[0], .arguments = arguments, .outputs = outputs};
  plugin::ExecuteRequest request{.devices = {&device, 1}};
  TENON_RETURN_IF_ERROR(executable.Execute(request));
  TENON_RETURN_IF_ERROR(device.done.Wait());
  std::vector<float> values;
  for (const auto& out : outputs) {
    TENON_ASSIGN_OR_RETURN(void* const data, out->DataPointer());
    const auto* floats = static_cast<const float*>(data);
    values.insert(values.end(), floats, floats + out->size_bytes() / sizeof(float));
  }
  return values;
}

class OptimizedProgram : public ::testing::TestWithParam<Case> {};

TEST_P(OptimizedProgram, ComputesTheSame) {
  auto client = *CpuClient::Create({1, int64_t{1} << 30});
  auto& cpu = static_cast<CpuClient&>(*client);
  const plugin::CompileOptions options;
  const auto assignment = *client->ResolveAssignment(options);
  auto compiled = client->Compile({GetParam().program, "mlir"}, options, assignment);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const auto optimized = (*compiled)->executable()->OptimizedProgram();
  ASSERT_TRUE(optimized.ok()) << optimized.status().ToString();
  EXPECT_EQ(optimized->format, "mlir");
  dialect::Context context;
  const auto module = dialect::Parse(context, optimized->code);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const std::string text = dialect::ToText(module->op());
  EXPECT_TRUE(text.starts_with("module @main")) << text;  // These programs have no name.
  for (const char* wanted : GetParam().has) EXPECT_NE(text.find(wanted), std::string::npos) << wanted << "\n" << text;
  for (const char* gone : GetParam().lacks) EXPECT_EQ(text.find(gone), std::string::npos) << gone << "\n" << text;

  auto again = client->Compile({optimized->code, "mlir"}, options, assignment);
  ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << text;
  const auto wanted = Outputs(cpu, **compiled), got = Outputs(cpu, **again);
  ASSERT_TRUE(wanted.ok() && got.ok());
  ASSERT_EQ(got->size(), wanted->size());
  for (size_t i = 0; i < got->size(); ++i)
    ASSERT_NEAR((*got)[i], (*wanted)[i], 1e-5f * (1 + std::abs((*wanted)[i]))) << "element " << i << "\n" << text;
}

TEST(OptimizedProgramOfDevices, SaysHowValuesLie) {
  auto client = *CpuClient::Create({2, int64_t{1} << 30});
  // executable_build_options (3): num_replicas (4) 1, num_partitions (5) 2, use_spmd_partitioning (6).
  const plugin::CompileOptions options = *plugin::DecodeCompileOptions("\x1a\x06\x20\x01\x28\x02\x30\x01");
  const auto assignment = *client->ResolveAssignment(options);
  auto compiled = client->Compile(
      {R"(func.func @main(%x: tensor<4x6xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> (tensor<4x6xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}, tensor<4x6xf32> {mhlo.sharding = "{replicated}"}) {
  %a = stablehlo.tanh %x : tensor<4x6xf32>
  %b = stablehlo.negate %x : tensor<4x6xf32>
  return %a, %b : tensor<4x6xf32>, tensor<4x6xf32>
})",
       "mlir"},
      options, assignment);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const auto optimized = (*compiled)->executable()->OptimizedProgram();
  ASSERT_TRUE(optimized.ok()) << optimized.status().ToString();
  dialect::Context context;
  const auto module = dialect::Parse(context, optimized->code);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const std::string text = dialect::ToText(module->op());
  // xla.OpSharding: type (field 1) OTHER (3), tile_assignment_dimensions (3) 2 and 1, tile_assignment_devices (4) 0 and
  // 1; a tuple (2) has its parts in field 5, and REPLICATED is 0.
  const std::string halves = R"(\08\03\1A\02\02\01\22\02\00\01)";
  EXPECT_NE(text.find("mhlo.spmd_parameters_shardings = [\"" + halves + "\"]"), std::string::npos) << text;
  EXPECT_NE(text.find("mhlo.spmd_output_sharding = \"\\08\\02*\\0A" + halves + "*\\02\\08\\00\""), std::string::npos)
      << text;
}

INSTANTIATE_TEST_SUITE_P(Programs, OptimizedProgram, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tenon::cpu
