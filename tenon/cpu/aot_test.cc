// Programs compiled for one level and loaded on another. Run with every TENON_MAX_ISA that the machine has.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tenon/cpu/client.h"
#include "tenon/cpu/code.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/executable.h"
#include "tenon/isa/isa.h"
#include "tenon/target/host/host_target.h"

namespace tenon::cpu {
namespace {

// Sums in lanes, sums of columns, products that contract, math functions, a matrix product, a loop.
constexpr std::string_view kProgram =
    R"(func.func @main(%x: tensor<33x70xf32>, %w: tensor<70x19xf32>) -> (tensor<33x19xf32>, tensor<33xf32>, tensor<70xf32>, tensor<33x70xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<33x70xf32>, tensor<70x19xf32>) -> tensor<33x19xf32>
  %t = stablehlo.tanh %p : tensor<33x19xf32>
  %e = stablehlo.exponential %x : tensor<33x70xf32>
  %rows = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<33x70xf32>, tensor<f32>) -> tensor<33xf32>
  %cols = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<33x70xf32>, tensor<f32>) -> tensor<70xf32>
  %s = stablehlo.multiply %x, %e : tensor<33x70xf32>
  %f = stablehlo.add %s, %x : tensor<33x70xf32>
  return %t, %rows, %cols, %f : tensor<33x19xf32>, tensor<33xf32>, tensor<70xf32>, tensor<33x70xf32>
})";

std::shared_ptr<const target::Target> Named(std::string_view name) {
  Result<target::Target> t = target::TargetByName(name);
  EXPECT_TRUE(t.ok());
  return std::make_shared<const target::Target>(*std::move(t));
}

std::string CompileFor(std::string_view name, std::string_view program = kProgram) {
  auto code = CompileCode(program, {}, Named(name));
  EXPECT_TRUE(code.ok()) << code.status().ToString();
  return code.ok() ? SaveCode(**code, {}) : "";
}

/// All outputs, one after the other, for arguments that depend on nothing but their shapes.
Result<std::string> Outputs(CpuClient& client, plugin::LoadedExecutable& executable) {
  std::mt19937 random(7);
  std::vector<plugin::Argument> arguments;
  for (const plugin::ValueSpec& spec : executable.info().parameters) {
    const auto size = static_cast<size_t>(SizeBytes(spec.array.shape));
    TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Storage> storage, AllocateFrom(client.memory_pool(), size));
    auto* values = static_cast<float*>(storage->data());
    for (size_t i = 0; i < size / sizeof(float); ++i)
      values[i] = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-30f;
    arguments.push_back({.storage = std::move(storage)});
  }
  std::vector<plugin::Ref<plugin::Buffer>> outputs(executable.info().outputs.size());
  plugin::DeviceExecution device{.device = client.devices()[0], .arguments = arguments, .outputs = outputs};
  plugin::ExecuteRequest request{.devices = {&device, 1}};
  TENON_RETURN_IF_ERROR(executable.Execute(request));
  TENON_RETURN_IF_ERROR(device.done.Wait());
  std::string bytes;
  for (const auto& out : outputs) {
    TENON_ASSIGN_OR_RETURN(void* const data, out->DataPointer());
    bytes.append(static_cast<const char*>(data), out->size_bytes());
  }
  return bytes;
}

TEST(AheadOfTime, BitsAreKeptOrTheProgramIsRefused) {
  auto client = *CpuClient::Create({1, int64_t{1} << 30});
  auto& cpu = static_cast<CpuClient&>(*client);
  plugin::CompileOptions options;
  auto here = client->Compile({kProgram, "mlir"}, options, *client->ResolveAssignment(options));
  ASSERT_TRUE(here.ok()) << here.status().ToString();
  const Result<std::string> wanted = Outputs(cpu, **here);
  ASSERT_TRUE(wanted.ok()) << wanted.status().ToString();
  const isa::IsaLevel host = isa::ActiveIsa();
  for (const isa::IsaLevel level : isa::kAllIsaLevels) {
    const std::string name = "cpu:" + std::string(isa::IsaLevelName(level)) + ":cores=3";
    SCOPED_TRACE(name);
    const std::string bytes = CompileFor(name);
    auto loaded = client->Deserialize(bytes, nullptr);
    // Whoever asks for the versions hears beforehand what loading says.
    const plugin::AbiVersion offered{"cpu", client->executable_versions()};
    EXPECT_EQ(offered.CheckOffers({"cpu", {VersionFor(*Named(name))}}).ok(), loaded.ok());
    if (level > host && host == isa::IsaLevel::kSse4) {
      ASSERT_FALSE(loaded.ok());
      EXPECT_EQ(loaded.status().code(), tenon::Code::kFailedPrecondition);
      const std::string text = loaded.status().ToString();
      EXPECT_NE(text.find("the program was compiled for " + name), std::string::npos) << text;
      EXPECT_NE(text.find("it lacks"), std::string::npos) << text;
      EXPECT_NE(text.find("fma"), std::string::npos) << text;
      EXPECT_NE(text.find(target::HostTarget().name), std::string::npos) << text;
      continue;
    }
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    EXPECT_NE((*loaded)->info().fingerprint.find(name), std::string::npos);
    EXPECT_EQ((*loaded)->info().abi_version, VersionFor(*Named(name)));
    const Result<std::string> got = Outputs(cpu, **loaded);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(got->size(), wanted->size());
    // What fuses a product with its sum keeps the bits; what does not keeps its own.
    if ((level == isa::IsaLevel::kSse4) == (host == isa::IsaLevel::kSse4)) EXPECT_TRUE(*got == *wanted);
    const std::string again = *(*loaded)->executable()->Serialize();
    EXPECT_EQ(again, bytes) << "what is loaded remembers what it was compiled for";
  }
}

TEST(AheadOfTime, CodeIsOfTheHostsLevelWhereBitsAllow) {
  const auto host = SharedHostTarget();
  for (const char* name : {"cpu:sse4", "cpu:avx2", "cpu:avx512"}) {
    const auto wanted = Named(name);
    const auto at_load = TargetAtLoad(wanted, host);
    if (target::SameBits(*wanted, *host)) {
      ASSERT_TRUE(at_load.ok());
      EXPECT_EQ(*at_load, host);
    } else if (wanted->isa == "sse4") {
      ASSERT_TRUE(at_load.ok());
      EXPECT_EQ((*at_load)->isa, "sse4");
    } else {
      EXPECT_EQ(at_load.status().code(), tenon::Code::kFailedPrecondition);
    }
  }
}

TEST(AheadOfTime, WhatATargetClaimsIsNotBelieved) {
  const auto host = Named("cpu:avx2");
  target::Target liar = *Named("cpu:avx512");
  liar.features.clear();
  liar.limits.members = 7;
  EXPECT_EQ(TargetAtLoad(std::make_shared<const target::Target>(liar), host).status().code(),
            tenon::Code::kFailedPrecondition);
  liar.isa = "avx1024";
  EXPECT_EQ(TargetAtLoad(std::make_shared<const target::Target>(liar), host).status().code(),
            tenon::Code::kInvalidArgument);
  EXPECT_EQ(TargetAtLoad(Named("cpu:avx512"), host)->get(), host.get());
}

}  // namespace
}  // namespace tenon::cpu
