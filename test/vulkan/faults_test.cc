// The GPU plugin when its driver fails: every failure is a Status, and the client is usable afterwards or clearly dead.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "tenon/client/client.h"
#include "tenon/client/plugin.h"

namespace tenon::client {
namespace {

// Results as in vulkan_core.h.
constexpr int kTimeout = 2, kOutOfHostMemory = -1, kOutOfDeviceMemory = -2, kDeviceLost = -4;
constexpr int kAlways = 1 << 30;

constexpr int64_t kLarge = 16 << 20;  // elements: more than pieces of memory that are shared
constexpr const char* kProgram = R"(func.func @main(%x: tensor<f32>) -> tensor<16777216xf32> {
  %y = stablehlo.add %x, %x : tensor<f32>
  %z = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<f32>) -> tensor<16777216xf32>
  return %z : tensor<16777216xf32>
})";

class FaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<Plugin> plugin = Plugin::LoadFile(std::getenv("TENON_TEST_PLUGIN"));
    ASSERT_TRUE(plugin.ok()) << plugin.status().ToString();
    plugin_ = *plugin;
    void* loader = dlopen(std::getenv("TENON_VULKAN_LOADER"), RTLD_NOW);
    ASSERT_NE(loader, nullptr) << dlerror();
    inject_ = reinterpret_cast<decltype(inject_)>(dlsym(loader, "TenonInjectFault"));
    ASSERT_NE(inject_, nullptr);
    const Result<Client> client = plugin_->CreateClient();
    if (!client.ok()) GTEST_SKIP() << "no Vulkan device: " << client.status().ToString();
  }
  void TearDown() override {
    if (inject_ != nullptr) Heal();
  }

  void Inject(const char* function, int before, int times, int result) {
    ASSERT_TRUE(inject_(function, before, times, result)) << function;
  }
  void Heal() {
    for (const char* f : {"vkQueueSubmit", "vkWaitSemaphores", "vkAllocateMemory", "vkCreateBuffer",
                          "vkCreateComputePipelines", "vkAllocateCommandBuffers"})
      Inject(f, 0, 0, 0);
  }
  /// Runs it on 3 and looks at the result.
  static Status RunOnce(const Client& client, const LoadedExecutable& executable) {
    TENON_ASSIGN_OR_RETURN(const Buffer x, client.ScalarToDevice(3.0f));
    TENON_ASSIGN_OR_RETURN(const std::vector<Buffer> out, executable.Execute({&x}));
    TENON_RETURN_IF_ERROR(out[0].Await());
    TENON_ASSIGN_OR_RETURN(const std::vector<float> values, out[0].ToHost<float>());
    EXPECT_EQ(values.size(), static_cast<size_t>(kLarge));
    EXPECT_EQ(values[0], 6);
    EXPECT_EQ(values[kLarge - 1], 6);
    return OkStatus();
  }
  Status Whole() const {
    TENON_ASSIGN_OR_RETURN(const Client client, plugin_->CreateClient());
    TENON_ASSIGN_OR_RETURN(const LoadedExecutable executable, client.Compile(kProgram));
    return RunOnce(client, executable);
  }
  /// What lasts: the same error again although the driver works, and another client that works.
  void ExpectDead(const Client& client, const LoadedExecutable& executable, Code code) {
    const Status first = RunOnce(client, executable);
    EXPECT_EQ(first.code(), code) << first.ToString();
    Heal();
    const Status second = RunOnce(client, executable);
    EXPECT_EQ(second.code(), code) << second.ToString();
    EXPECT_EQ(Whole().ToString(), OkStatus().ToString());
  }

  std::optional<Plugin> plugin_;
  bool (*inject_)(const char*, int, int, int) = nullptr;
};

TEST_F(FaultsTest, OutOfMemoryPasses) {
  for (const char* function : {"vkAllocateMemory", "vkCreateBuffer"}) {
    Result<Client> client = plugin_->CreateClient();
    ASSERT_TRUE(client.ok()) << client.status().ToString();
    Result<LoadedExecutable> executable = client->Compile(kProgram);
    ASSERT_TRUE(executable.ok()) << executable.status().ToString();
    Inject(function, 0, kAlways, kOutOfDeviceMemory);
    const Status status = RunOnce(*client, *executable);
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("67108864"));
    Heal();
    EXPECT_EQ(RunOnce(*client, *executable).ToString(), OkStatus().ToString());
  }
}

TEST_F(FaultsTest, LostDeviceIsDead) {
  for (const char* function : {"vkQueueSubmit", "vkWaitSemaphores"}) {
    Result<Client> client = plugin_->CreateClient();
    ASSERT_TRUE(client.ok()) << client.status().ToString();
    Result<LoadedExecutable> executable = client->Compile(kProgram);
    ASSERT_TRUE(executable.ok()) << executable.status().ToString();
    Inject(function, 0, kAlways, kDeviceLost);
    ExpectDead(*client, *executable, Code::kUnavailable);
  }
}

TEST_F(FaultsTest, DeviceThatDoesNotAnswerIsDead) {
  Result<Client> client = plugin_->CreateClient();
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  Result<LoadedExecutable> executable = client->Compile(kProgram);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  Inject("vkWaitSemaphores", 0, 1, kTimeout);
  ExpectDead(*client, *executable, Code::kDeadlineExceeded);
}

// Whatever is refused first: from the making of the client to the result, an error of that kind or the right numbers.
TEST_F(FaultsTest, AnyCallMayFail) {
  for (const char* function : {"vkQueueSubmit", "vkAllocateMemory", "vkCreateBuffer", "vkCreateComputePipelines",
                               "vkAllocateCommandBuffers"}) {
    for (int before = 0; before < 6; ++before) {
      Inject(function, before, 1, before % 2 == 0 ? kOutOfHostMemory : kOutOfDeviceMemory);
      const Status status = Whole();
      EXPECT_TRUE(status.ok() || status.code() == Code::kResourceExhausted) << function << ": " << status.ToString();
      Heal();
    }
  }
  EXPECT_EQ(Whole().ToString(), OkStatus().ToString());
}

}  // namespace
}  // namespace tenon::client
