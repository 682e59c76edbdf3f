// Plugins whose devices are not here: they load, say what they are, compile for a topology where they can, and refuse
// to make a client with a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tenon/client/abi_version.h"
#include "tenon/client/client.h"
#include "tenon/client/log_suppression.h"
#include "tenon/client/phase_compile.h"

namespace tenon::client {
namespace {

constexpr const char* kAdd = R"(
func.func @main(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %0 = stablehlo.add %x, %x : tensor<8x128xf32>
  return %0 : tensor<8x128xf32>
})";

// What plugins tell of themselves through extensions without a client. Those that lack one must say so.
void CheckExtensions(const Plugin& plugin) {
  const bool has_phases = plugin.api().FindExtension(PJRT_Extension_Type_PhaseCompile) != nullptr;
  const auto compiler = PhaseCompiler::Create(plugin);
  EXPECT_EQ(compiler.status().code() == Code::kUnimplemented, !has_phases) << compiler.status().ToString();
  if (compiler.ok()) {
    const auto phases = compiler->PhaseNames();
    ASSERT_TRUE(phases.ok()) << phases.status().ToString();
    EXPECT_THAT(*phases, ::testing::Not(::testing::IsEmpty()));
    EXPECT_THAT(*phases, ::testing::Each(::testing::Not(::testing::IsEmpty())));
  }
  const auto version = RuntimeAbiVersion::FromProto(plugin, "\xff\xff");
  EXPECT_FALSE(version.ok());
  if (plugin.api().FindExtension(PJRT_Extension_Type_AbiVersion) == nullptr) {
    EXPECT_EQ(version.status().code(), Code::kUnimplemented);
  }
}

// The ABI version of an executable survives its proto, where the plugin knows one.
void CheckAbiVersion(const Plugin& plugin, const Executable& executable) {
  const auto version = ExecutableAbiVersion::Of(executable);
  if (version.status().code() == Code::kUnimplemented) return;
  ASSERT_TRUE(version.ok()) << version.status().ToString();
  const auto bytes = version->ToProto();
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  EXPECT_FALSE(bytes->empty());
  const auto again = ExecutableAbiVersion::FromProto(plugin, *bytes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->PlatformId().value(), version->PlatformId().value());
}

void CheckPlugin(const char* variable, const char* topology_name) {
  const char* const path = std::getenv(variable);
  if (path == nullptr || *path == '\0') GTEST_SKIP() << variable << " is not set";
  const LiveObjects before = CountLiveObjects();
  const SuppressAbseilLogging quiet;
  auto plugin = Plugin::LoadFile(path);
  ASSERT_TRUE(plugin.ok()) << plugin.status().ToString();
  EXPECT_GE(plugin->minor_version(), Api::kOldestMinor);
  auto attributes = plugin->Attributes();
  ASSERT_TRUE(attributes.ok()) << attributes.status().ToString();
  EXPECT_NE(Find(*attributes, "stablehlo_current_version"), nullptr);
  EXPECT_FALSE(plugin->api().Extensions().empty());
  CheckExtensions(*plugin);
  if (topology_name != nullptr) {
    auto topology = plugin->CreateTopology(topology_name);
    ASSERT_TRUE(topology.ok()) << topology.status().ToString();
    EXPECT_FALSE(topology->PlatformName()->empty());
    auto devices = topology->Devices();
    ASSERT_TRUE(devices.ok()) << devices.status().ToString();
    ASSERT_FALSE(devices->empty());
    EXPECT_FALSE(devices->front().kind()->empty());
    auto bytes = topology->Serialize();
    ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
    EXPECT_FALSE(bytes->empty());
    auto compiled = topology->Compile(Program::Mlir(kAdd));
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    EXPECT_EQ(compiled->OutputShapes().value(), (std::vector<Shape>{{DType::kF32, {8, 128}}}));
    EXPECT_FALSE(compiled->Serialize()->empty());
    CheckAbiVersion(*plugin, *compiled);
  } else {
    auto client = plugin->CreateClient();
    if (client.ok()) GTEST_SKIP() << "the devices of " << path << " are here";
    EXPECT_FALSE(client.status().message().empty());
  }
  EXPECT_EQ(ToString(CountLiveObjects()), ToString(before));
}

TEST(External, Libtpu) { CheckPlugin("TENON_LIBTPU_PLUGIN", "v5e:2x2"); }
TEST(External, Cuda) { CheckPlugin("TENON_CUDA_PLUGIN", nullptr); }

}  // namespace
}  // namespace tenon::client
