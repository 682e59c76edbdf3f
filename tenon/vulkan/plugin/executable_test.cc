#include "tenon/vulkan/plugin/executable.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/abi/xla_ffi.h"
#include "tenon/base/activity.h"
#include "tenon/ffi_host/registry.h"
#include "tenon/plugin/transfers.h"
#include "tenon/vulkan/plugin/client.h"

namespace tenon::vulkan {
namespace {

using Floats = std::vector<float>;

// Three times its argument, after a while.
XLA_FFI_Error* Triple(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) {
    auto* m = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
    m->api_version.major_version = 0;
    m->api_version.minor_version = 5;
    m->traits = 0;
    return nullptr;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto* in = static_cast<XLA_FFI_Buffer*>(frame->args.args[0]);
  const auto* out = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0]);
  for (int64_t i = 0; i < in->dims[0]; ++i)
    static_cast<float*>(out->data)[i] = 3 * static_cast<const float*>(in->data)[i];
  return nullptr;
}

class ExecutableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<plugin::Ref<plugin::Client>> client = VulkanClient::Create({});
    if (!client.ok()) GTEST_SKIP() << client.status().ToString();
    client_ = *std::move(client);
  }

  plugin::Ref<plugin::LoadedExecutable> Compile(const std::string& program) {
    const plugin::CompileOptions options;
    auto executable = client_->Compile({program, "mlir"}, options, *client_->ResolveAssignment(options));
    EXPECT_TRUE(executable.ok()) << executable.status().ToString();
    return executable.ok() ? *std::move(executable) : nullptr;
  }

  plugin::Ref<plugin::Buffer> Upload(const Floats& values) {
    plugin::Device* device = client_->devices()[0];
    const plugin::HostArray array{
        .data = values.data(), .shape = {DType::kF32, {static_cast<int64_t>(values.size())}}, .byte_strides = {}};
    auto upload =
        plugin::UploadArray(device, device->default_memory(), array, {}, plugin::HostSemantics::kOnlyDuringCall);
    EXPECT_TRUE(upload.ok()) << upload.status().ToString();
    return upload.ok() ? upload->buffer : nullptr;
  }

  plugin::Ref<plugin::Buffer> Run(plugin::LoadedExecutable& executable, plugin::Buffer& input, bool donate = false) {
    plugin::BufferUse use = donate ? *input.Donate() : *input.Use();
    plugin::Argument argument{.storage = std::move(use.storage),
                              .ready = std::move(use.ready),
                              .memory = input.memory(),
                              .donated = donate,
                              .exclusive = use.exclusive};
    plugin::Ref<plugin::Buffer> output;
    plugin::DeviceExecution device{
        .device = client_->devices()[0], .arguments = {&argument, 1}, .outputs = {&output, 1}};
    plugin::ExecuteRequest request{.devices = {&device, 1}};
    const Status status = executable.Execute(request);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return output;
  }

  Result<Floats> Download(plugin::Buffer& buffer) {
    Floats values(buffer.size_bytes() / sizeof(float));
    TENON_RETURN_IF_ERROR(plugin::Download(buffer, {}, values.data()).Wait());
    return values;
  }

  plugin::Ref<plugin::Client> client_;
};

std::string Plus(const std::string& number) {
  return "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %c = stablehlo.constant dense<" + number +
         "> : tensor<4xf32>\n  %r = stablehlo.add %x, %c : tensor<4xf32>\n  return %r : tensor<4xf32> }";
}

// The memory of an array that the device made becomes that of one which the host makes later: what reads the latter
// must not run on the word of the former.
TEST_F(ExecutableTest, WhatReadsMemoryThatTheHostIsStillToFillWaits) {
  ASSERT_TRUE(ffi_host::RegisterHandler("vulkan_test_triple", {nullptr, nullptr, nullptr, Triple, nullptr}, 0).ok());
  const auto plus_one = Compile(Plus("1.0")), plus_ten = Compile(Plus("10.0"));
  const auto four_times = Compile(
      R"(func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %t = stablehlo.custom_call @vulkan_test_triple(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<4xf32>) -> tensor<4xf32>
  %r = stablehlo.add %t, %x : tensor<4xf32>
  return %r : tensor<4xf32> })");
  ASSERT_TRUE(plus_one && plus_ten && four_times);
  const auto input = Upload({1, 2, 3, 4});
  auto made = Run(*plus_one, *input);
  ASSERT_TRUE(made->ready().Wait().ok());
  const auto product = Run(*four_times, *made, /*donate=*/true);
  made = nullptr;
  const auto sum = Run(*plus_ten, *product);
  const Result<Floats> values = Download(*sum);
  ASSERT_TRUE(values.ok()) << values.status().ToString();
  EXPECT_EQ(*values, (Floats{18, 22, 26, 30}));
}

// A chain of kernels that depend on each other, and a loop of known trips around some.
constexpr char kLoop[] = R"(func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4096xf32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sine %v : tensor<4096xf32>
      %t = stablehlo.reverse %s, dims = [0] : tensor<4096xf32>
      %c:2 = "stablehlo.sort"(%t, %s) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>):
          %l = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %l : tensor<i1>
      }) {dimension = 0 : i64} : (tensor<4096xf32>, tensor<4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>)
      stablehlo.return %next, %c#1 : tensor<i32>, tensor<4096xf32>
    }
  return %r#1 : tensor<4096xf32> })";

// While the first element is below the second: by turns that it counts, one of three branches, the last of which holds
// a choice of its own.
constexpr char kDataLoop[] = R"(func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %a = stablehlo.slice %v [0:1] : (tensor<4xf32>) -> tensor<1xf32>
      %b = stablehlo.slice %v [1:2] : (tensor<4xf32>) -> tensor<1xf32>
      %l = stablehlo.compare LT, %a, %b : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
      %p = stablehlo.reshape %l : (tensor<1xi1>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %four = stablehlo.constant dense<4> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %turn = stablehlo.remainder %i, %four : tensor<i32>
      %steps = stablehlo.constant dense<[1.0, 0.0, 0.25, 0.5]> : tensor<4xf32>
      %n = "stablehlo.case"(%turn) ({
        %s = stablehlo.add %v, %steps : tensor<4xf32>
        stablehlo.return %s : tensor<4xf32>
      }, {
        %t = stablehlo.reverse %steps, dims = [0] : tensor<4xf32>
        %s = stablehlo.subtract %v, %t : tensor<4xf32>
        stablehlo.return %s : tensor<4xf32>
      }, {
        %late = stablehlo.constant dense<9> : tensor<i32>
        %p = stablehlo.compare GT, %i, %late : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %s = "stablehlo.if"(%p) ({
          %d = stablehlo.add %v, %v : tensor<4xf32>
          stablehlo.return %d : tensor<4xf32>
        }, {
          %d = stablehlo.maximum %v, %steps : tensor<4xf32>
          stablehlo.return %d : tensor<4xf32>
        }) : (tensor<i1>) -> tensor<4xf32>
        stablehlo.return %s : tensor<4xf32>
      }) : (tensor<i32>) -> tensor<4xf32>
      stablehlo.return %next, %n : tensor<i32>, tensor<4xf32>
    }
  %count = stablehlo.convert %r#0 : (tensor<i32>) -> tensor<f32>
  %counts = stablehlo.broadcast_in_dim %count, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %sum = stablehlo.add %r#1, %counts : tensor<4xf32>
  return %sum : tensor<4xf32> })";

Floats AfterDataLoop(Floats v) {
  const Floats steps = {1, 0, 0.25F, 0.5F};
  int i = 0;
  for (; v[0] < v[1]; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      v[j] = i % 4 == 0   ? v[j] + steps[j]
             : i % 4 == 1 ? v[j] - steps[3 - j]
             : i > 9      ? v[j] + v[j]
                          : std::max(v[j], steps[j]);
    }
  }
  for (float& f : v) f += static_cast<float>(i);
  return v;
}

// The device decides how loops and branches go on: trip after trip, run after run, from whatever was left before.
TEST_F(ExecutableTest, DataDecideOnTheDevice) {
  const auto executable = Compile(kDataLoop);
  ASSERT_TRUE(executable);
  for (const float goal : {30.0F, -1.0F, 0.75F, 2000.0F, 3.0F}) {
    const Floats start = {0, goal, 0.5F, 0.125F};
    const auto input = Upload(start);
    const auto output = Run(*executable, *input);
    const Result<Floats> values = Download(*output);
    ASSERT_TRUE(values.ok()) << values.status().ToString();
    EXPECT_EQ(*values, AfterDataLoop(start)) << goal;
  }
}

TEST_F(ExecutableTest, ProfilesSayWhenTheDeviceDidWhat) {
  const auto executable = Compile(kLoop);
  ASSERT_TRUE(executable);
  const auto input = Upload(Floats(4096, 0.5F));
  activity::Recorder recorder;
  const int64_t before_ns = activity::NowNs();
  for (int i = 0; i < 3; ++i) {
    const auto output = Run(*executable, *input);
    ASSERT_TRUE(output->ready().Wait().ok());
  }
  const int64_t after_ns = activity::NowNs();
  const activity::Record record = recorder.Stop();
  const activity::Thread* queue = nullptr;
  for (const activity::Thread& t : record.threads) {
    if (!t.is_thread) queue = &t;
  }
  ASSERT_NE(queue, nullptr);
  EXPECT_TRUE(queue->name.ends_with(" queue")) << queue->name;
  std::map<int64_t, std::vector<activity::Event>> runs;
  for (const activity::Event& e : queue->events) {
    EXPECT_LE(e.start_ns, e.end_ns);
    EXPECT_LE(e.end_ns, after_ns) << e.label->name;
    runs[e.run].push_back(e);
  }
  // The first run sets the clocks, later ones only better: each lies within the time in which it was asked for.
  EXPECT_GE(queue->events.front().start_ns, before_ns);
  ASSERT_EQ(runs.size(), 3u);
  for (const auto& [run, events] : runs) {
    // The program, and within it kernels one after the other.
    ASSERT_GE(events.size(), 3u);
    int64_t last_ns = 0, kernels = 0;
    for (const activity::Event& e : events) {
      EXPECT_GE(e.start_ns, events[0].start_ns);
      EXPECT_LE(e.end_ns, events[0].end_ns);
      if (!e.label->name.starts_with("kernel ")) continue;
      ++kernels;
      EXPECT_GE(e.start_ns, last_ns);
      last_ns = e.end_ns;
    }
    EXPECT_GE(kernels, 2);
  }
}

}  // namespace
}  // namespace tenon::vulkan
