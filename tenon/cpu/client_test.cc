#include "tenon/cpu/client.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tenon/cpu/device.h"
#include "tenon/cpu/executable.h"
#include "tenon/cpu/testing/endless.h"
#include "tenon/host/build.h"
#include "tenon/plugin/transfers.h"
#include "tenon/threads/flush_denormals.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kProgram =
    R"(func.func @main(%x: tensor<5x7xf32>, %w: tensor<7x3xf32>, %i: tensor<i32>) -> (tensor<5x3xf32>, tensor<2x7xf32>) {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  %t = stablehlo.tanh %p : tensor<5x3xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %d = stablehlo.dynamic_slice %x, %i, %z, sizes = [2, 7] : (tensor<5x7xf32>, tensor<i32>, tensor<i32>) -> tensor<2x7xf32>
  %c = stablehlo.constant dense<[[1., 2., 3., 4., 5., 6., 7.]]> : tensor<1x7xf32>
  %b = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<1x7xf32>) -> tensor<2x7xf32>
  %s = stablehlo.add %d, %b : tensor<2x7xf32>
  return %t, %s : tensor<5x3xf32>, tensor<2x7xf32>
})";

plugin::Ref<plugin::Client> Client(int64_t memory_limit_bytes = int64_t{1} << 30, int num_devices = 1) {
  return *CpuClient::Create({num_devices, memory_limit_bytes});
}

Result<plugin::Ref<plugin::LoadedExecutable>> Compile(plugin::Client& client, std::string_view program) {
  plugin::CompileOptions options;
  TENON_ASSIGN_OR_RETURN(const plugin::DeviceAssignment assignment, client.ResolveAssignment(options));
  return client.Compile({program, "mlir"}, options, assignment);
}

/// Runs on zeros of the parameters' shapes; `on_caller`: whether its caller's thread did.
Status RunOnZeros(CpuClient& client, plugin::LoadedExecutable& executable, bool* on_caller = nullptr) {
  const std::vector<plugin::ValueSpec>& parameters = executable.info().parameters;
  std::vector<plugin::Argument> arguments;
  for (const plugin::ValueSpec& spec : parameters) {
    const auto size = static_cast<size_t>(SizeBytes(spec.array.shape));
    TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Storage> storage, AllocateFrom(client.memory_pool(), size));
    std::memset(storage->data(), 0, size);
    arguments.push_back({.storage = std::move(storage)});
  }
  std::vector<plugin::Ref<plugin::Buffer>> outputs(executable.info().outputs.size());
  plugin::DeviceExecution device{.device = client.devices()[0], .arguments = arguments, .outputs = outputs};
  plugin::ExecuteRequest request{.devices = {&device, 1}};
  TENON_RETURN_IF_ERROR(executable.Execute(request));
  if (on_caller != nullptr) *on_caller = device.done.get() == nullptr;
  return device.done.Wait();
}

TEST(CpuClient, WhatWasShortLastTimeRunsOnItsCaller) {
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  // On zeros the loop ends at once, which nobody knows before.
  auto executable = Compile(*client, testing::kEndless);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  bool on_caller = true;
  ASSERT_TRUE(RunOnZeros(cpu, **executable, &on_caller).ok());
  EXPECT_FALSE(on_caller);
  constexpr int kRuns = 1000;  // The first ones may have taken long on a busy machine.
  for (int run = 0; run < kRuns && !on_caller; ++run) ASSERT_TRUE(RunOnZeros(cpu, **executable, &on_caller).ok());
  EXPECT_TRUE(on_caller);
}

TEST(CpuClient, ComputesInlineAndAfterAFileRoundTrip) {
  auto client = Client();
  auto executable = Compile(*client, kProgram);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  auto& cpu = static_cast<CpuClient&>(*client);
  EXPECT_TRUE(RunOnZeros(cpu, **executable).ok());
  const std::string bytes = *(*executable)->executable()->Serialize();
  auto again = client->Deserialize(bytes, nullptr);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(RunOnZeros(cpu, **again).ok());
}

// Where the caller wants an output goes before a donated argument that it could lie in, whose bytes then stay.
TEST(CpuClient, OutputsLieWhereTheCallerWants) {
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  auto executable =
      Compile(*client, R"(func.func @main(%a: tensor<1000xf32> {tf.aliasing_output = 0 : i32}) -> tensor<1000xf32> {
    %i = stablehlo.constant dense<3> : tensor<i32>
    %u = stablehlo.constant dense<7.0> : tensor<1xf32>
    %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<1000xf32>, tensor<1xf32>, tensor<i32>) -> tensor<1000xf32>
    return %0 : tensor<1000xf32>
  })");
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  const auto place = *AllocateFrom(cpu.memory_pool(), 4000);
  for (void* const wish : {static_cast<void*>(nullptr), place->data()}) {
    const auto storage = *AllocateFrom(cpu.memory_pool(), 4000);
    auto* const given = static_cast<float*>(storage->data());
    std::fill_n(given, 1000, 1.0f);
    std::vector<plugin::Argument> arguments = {{.storage = storage, .donated = true, .exclusive = true}};
    std::vector<plugin::Ref<plugin::Buffer>> outputs(1);
    plugin::DeviceExecution device{
        .device = client->devices()[0], .arguments = arguments, .places = {&wish, 1}, .outputs = outputs};
    plugin::ExecuteRequest request{.devices = {&device, 1}};
    ASSERT_TRUE((*executable)->Execute(request).ok());
    ASSERT_TRUE(device.done.Wait().ok());
    const auto* const out = static_cast<const float*>(*outputs[0]->DataPointer());
    EXPECT_EQ(out, wish == nullptr ? given : wish);
    EXPECT_EQ(out[2], 1);
    EXPECT_EQ(out[3], 7);
    EXPECT_EQ(out[999], 1);
    EXPECT_EQ(given[3], wish == nullptr ? 7 : 1);
  }
}

// Strides do not tell the order of dims of one element, or of none: it is what was asked for.
TEST(CpuClient, LayoutsAreThoseThatWereAskedFor) {
  constexpr std::string_view program = R"(func.func @main(
    %a: tensor<1x4xf32> {mhlo.layout_mode = "{0,1}"}, %b: tensor<1x4xf32>,
    %c: tensor<0x3xf32> {mhlo.layout_mode = "{0,1}"}, %d: tensor<3x1x4xf32> {mhlo.layout_mode = "{1,0,2}"}) -> (
    tensor<1x4xf32> {mhlo.layout_mode = "{0,1}"}, tensor<1x4xf32>,
    tensor<0x3xf32> {mhlo.layout_mode = "{0,1}"}, tensor<1x4x3xf32> {mhlo.layout_mode = "auto"}) {
  %0 = stablehlo.add %a, %b : tensor<1x4xf32>
  %1 = stablehlo.transpose %d, dims = [1, 2, 0] : (tensor<3x1x4xf32>) -> tensor<1x4x3xf32>
  return %0, %b, %c, %1 : tensor<1x4xf32>, tensor<1x4xf32>, tensor<0x3xf32>, tensor<1x4x3xf32>
})";
  auto client = Client();
  auto compiled = Compile(*client, program);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  auto loaded = client->Deserialize(*(*compiled)->executable()->Serialize(), nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  for (const auto* executable : {&*compiled, &*loaded}) {
    const plugin::ExecutableInfo& info = (*executable)->info();
    const auto orders = [](const std::vector<plugin::ValueSpec>& values) {
      std::vector<Dims> orders;
      for (const plugin::ValueSpec& v : values) orders.push_back(v.array.minor_to_major);
      return orders;
    };
    EXPECT_EQ(orders(info.parameters), (std::vector<Dims>{{0, 1}, {}, {0, 1}, {1, 0, 2}}));
    EXPECT_EQ(orders(info.outputs), (std::vector<Dims>{{0, 1}, {}, {0, 1}, {0, 2, 1}}));
    EXPECT_TRUE(RunOnZeros(static_cast<CpuClient&>(*client), **executable).ok());
  }
  EXPECT_EQ((*compiled)->info().fingerprint, (*loaded)->info().fingerprint);
}

TEST(CpuClient, FilesOfAnotherBuildAreCompiledAnew) {
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  const auto executable = Compile(*client, kProgram);
  std::string bytes = *(*executable)->executable()->Serialize();
  const size_t build = bytes.find(host::BuildName());
  ASSERT_NE(build, std::string::npos);
  ++bytes[build + host::BuildName().size() - 1];
  // Nothing behind the program is read: who knows what another build wrote there.
  const size_t program = bytes.find(kProgram);
  ASSERT_NE(program, std::string::npos);
  bytes.resize(program + std::string_view(kProgram).size());
  auto again = client->Deserialize(bytes, nullptr);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(RunOnZeros(cpu, **again).ok());
  EXPECT_EQ((*again)->info().fingerprint, (*executable)->info().fingerprint);
  // A program that this build does not take is an error that says so.
  std::string bad = bytes;
  bad[program] = '?';
  EXPECT_NE(client->Deserialize(bad, nullptr).status().ToString().find("anew"), std::string::npos);
}

// What is accepted must run without harm; under AddressSanitizer, harm ends the test.
TEST(CpuClient, SpoiltFilesAreErrorsOrRun) {
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  const std::string bytes = *(*Compile(*client, kProgram))->executable()->Serialize();
  std::mt19937_64 random(1);
  int refused = 0, accepted = 0;
  for (int i = 0; i < 400; ++i) {
    std::string spoilt = bytes;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) {
      const size_t at = random() % spoilt.size();
      // Other digits keep the text readable, which leads further in.
      if (std::isdigit(static_cast<unsigned char>(spoilt[at])))
        spoilt[at] = static_cast<char>('0' + random() % 10);
      else if (random() % 4 == 0)
        spoilt[at] = static_cast<char>(random());
    }
    auto executable = client->Deserialize(spoilt, nullptr);
    if (!executable.ok()) {
      ++refused;
      continue;
    }
    ++accepted;
    (void)RunOnZeros(cpu, **executable);
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(accepted, 20);
  for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 50)
    EXPECT_FALSE(client->Deserialize(bytes.substr(0, size), nullptr).ok());
}

TEST(CpuClient, TooLittleMemoryIsAnError) {
  auto client = Client(1 << 20);
  auto& cpu = static_cast<CpuClient&>(*client);
  EXPECT_EQ(AllocateFrom(cpu.memory_pool(), size_t{1} << 50).status().code(), tenon::Code::kResourceExhausted);
  EXPECT_EQ(AllocateFrom(cpu.memory_pool(), SIZE_MAX).status().code(), tenon::Code::kResourceExhausted);
  // An output, a temporary, an op of the evaluator, each of far more than there is.
  for (const std::string_view program : {
           R"(func.func @main() -> tensor<1000000000000xf32> {
             %0 = stablehlo.iota dim = 0 : tensor<1000000000000xf32>
             return %0 : tensor<1000000000000xf32> })",
           R"(func.func @main(%x: tensor<f32>) -> tensor<1000000xf32> {
             %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1000000x1000xf32>
             %1 = stablehlo.tanh %0 : tensor<1000000x1000xf32>
             %2 = stablehlo.dot_general %1, %1, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<1000000x1000xf32>, tensor<1000000x1000xf32>) -> tensor<1000000xf32>
             return %2 : tensor<1000000xf32> })",
           R"(func.func @main(%x: tensor<4x4xf32>) -> tensor<100000000000xf32> {
             %0 = stablehlo.cholesky %x : tensor<4x4xf32>
             %1 = stablehlo.slice %0 [0:1, 0:1] : (tensor<4x4xf32>) -> tensor<1x1xf32>
             %2 = stablehlo.reshape %1 : (tensor<1x1xf32>) -> tensor<1xf32>
             %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1xf32>) -> tensor<100000000000xf32>
             %4 = "stablehlo.sort"(%3) ({
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
               stablehlo.return %c : tensor<i1>
             }) {dimension = 0 : i64, is_stable = true} : (tensor<100000000000xf32>) -> tensor<100000000000xf32>
             return %4 : tensor<100000000000xf32> })"}) {
    auto executable = Compile(*client, program);
    ASSERT_TRUE(executable.ok()) << executable.status().ToString();
    const Status status = RunOnZeros(cpu, **executable);
    EXPECT_EQ(status.code(), tenon::Code::kResourceExhausted) << status.ToString();
  }
}

TEST(CpuClient, DevicesThatCannotStartPoisonTheirOutputs) {
  auto client = Client(100 << 20, 2);
  auto& cpu = static_cast<CpuClient&>(*client);
  // 40 MB of output per device; the second one does not fit beside the first and what is held.
  plugin::CompileOptions options;
  options.num_replicas = 2;
  auto assignment = client->ResolveAssignment(options);
  ASSERT_TRUE(assignment.ok());
  auto executable = client->Compile({R"(func.func @main(%x: tensor<f32>) -> tensor<10000000xf32> {
    %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<10000000xf32>
    %1 = stablehlo.tanh %0 : tensor<10000000xf32>
    return %1 : tensor<10000000xf32> })",
                                     "mlir"},
                                    options, *assignment);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  const auto held = AllocateFrom(cpu.memory_pool(), 30 << 20);
  ASSERT_TRUE(held.ok());
  std::vector<plugin::Argument> arguments;
  for (int i = 0; i < 2; ++i) arguments.push_back({.storage = *AllocateFrom(cpu.memory_pool(), 4)});
  plugin::Ref<plugin::Buffer> outputs[2];
  plugin::DeviceExecution devices[2];
  for (int i = 0; i < 2; ++i) {
    devices[i] = {.device = client->devices()[static_cast<size_t>(i)],
                  .replica = i,
                  .arguments = {&arguments[static_cast<size_t>(i)], 1},
                  .outputs = {&outputs[i], 1}};
  }
  plugin::ExecuteRequest request{.devices = devices};
  const Status status = (*executable)->Execute(request);
  if (!status.ok()) {  // Whole-array programs start for all devices or for none.
    EXPECT_EQ(status.code(), tenon::Code::kResourceExhausted);
    return;
  }
  EXPECT_TRUE(devices[0].done.Wait().ok());
  EXPECT_EQ(devices[1].done.Wait().code(), tenon::Code::kResourceExhausted);
  ASSERT_NE(outputs[1], nullptr);
}

TEST(CpuClient, ForkedChildrenGetAnErrorAndEnd) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer does not follow a process that forks while it has threads";
#endif
#endif
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  auto executable = Compile(*client, kProgram);
  ASSERT_TRUE(executable.ok());
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // A child that hangs fails.
    int wrong = 0;
    wrong |= Compile(*client, kProgram).status().code() == tenon::Code::kFailedPrecondition ? 0 : 1;
    wrong |= RunOnZeros(cpu, **executable).code() == tenon::Code::kFailedPrecondition ? 0 : 2;
    bool ran = false;
    client->Schedule([&] { ran = true; });
    wrong |= ran ? 0 : 4;
    executable = Internal("gone");
    client = nullptr;
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(RunOnZeros(cpu, **executable).ok());
}

/// Too much work for the caller's thread, with outputs that count as large.
constexpr std::string_view kLarge = R"(func.func @main(%x: tensor<400x400xf32>) -> tensor<400x400xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<400x400xf32>, tensor<400x400xf32>) -> tensor<400x400xf32>
  return %0 : tensor<400x400xf32> })";

// An output that waits for its execution gets memory that came back meanwhile, unless somebody knows its address.
TEST(CpuClient, OutputsTakeMemoryThatCameBackBeforeTheyAreWritten) {
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  auto executable = Compile(*client, kLarge);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  constexpr size_t kBytes = 400 * 400 * 4;
  for (const bool known : {false, true}) {
    auto other = *AllocateFrom(cpu.memory_pool(), kBytes);
    void* const back = other->data();
    const auto argument = *AllocateFrom(cpu.memory_pool(), kBytes);
    std::fill_n(static_cast<float*>(argument->data()), 400 * 400, 1.0f);
    const auto ready = plugin::Event::Make();
    std::vector<plugin::Argument> arguments = {{.storage = argument, .ready = plugin::EventRef(ready)}};
    plugin::Ref<plugin::Buffer> output;
    plugin::DeviceExecution device{.device = client->devices()[0], .arguments = arguments, .outputs = {&output, 1}};
    plugin::ExecuteRequest request{.devices = {&device, 1}};
    ASSERT_TRUE((*executable)->Execute(request).ok());
    void* const told = known ? *output->DataPointer() : nullptr;
    other = {};
    ready->Set(OkStatus());
    ASSERT_TRUE(device.done.Wait().ok());
    EXPECT_EQ(*output->DataPointer(), known ? told : back);
    std::vector<float> got(400 * 400);
    ASSERT_TRUE(plugin::Download(*output, {}, got.data()).Wait().ok());
    EXPECT_EQ(std::count(got.begin(), got.end(), got[0]), 400 * 400);
  }
}

// Whoever hears that an execution ended may start others on the same device, and wait for them.
TEST(CpuClient, ListenersMayExecuteOnTheSameDevice) {
  alarm(60);  // A hang fails.
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  auto executable = Compile(*client, kLarge);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  std::promise<Status> told;
  std::vector<plugin::EventRef> events;
  for (int i = 0; i < 2; ++i) {
    std::vector<plugin::Argument> arguments = {{.storage = *AllocateFrom(cpu.memory_pool(), 400 * 400 * 4)}};
    plugin::Ref<plugin::Buffer> output;
    plugin::DeviceExecution device{.device = client->devices()[0], .arguments = arguments, .outputs = {&output, 1}};
    plugin::ExecuteRequest request{.devices = {&device, 1}};
    ASSERT_TRUE((*executable)->Execute(request).ok());
    if (i == 0) {
      device.done.OnReady([&](const Status&) {
        Status status;
        for (int k = 0; k < 4 && status.ok(); ++k) status = RunOnZeros(cpu, **executable);
        told.set_value(status);
      });
    }
    events.push_back(device.done);
  }
  const Status status = told.get_future().get();
  EXPECT_TRUE(status.ok()) << status.ToString();
  for (const plugin::EventRef& event : events) EXPECT_TRUE(event.Wait().ok());
  alarm(0);
}

TEST(CpuClient, AnEndlessLoopEndsWhenNobodyCanSeeIt) {
  // Those of other tests may still be going.
  const auto gone = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (plugin::LiveObjects(plugin::ObjectKind::kClient) > 0 && std::chrono::steady_clock::now() < gone)
    std::this_thread::yield();
  const int64_t clients = plugin::LiveObjects(plugin::ObjectKind::kClient);
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  auto endless = Compile(*client, testing::kEndless);
  ASSERT_TRUE(endless.ok()) << endless.status().ToString();
  auto after = Compile(*client, R"(func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32> })");
  ASSERT_TRUE(after.ok());
  plugin::Ref<plugin::Buffer> output, next;
  {
    std::vector<plugin::Argument> arguments = {{.storage = *AllocateFrom(cpu.memory_pool(), 1)},
                                               {.storage = *AllocateFrom(cpu.memory_pool(), 64 * 64 * 4)}};
    *static_cast<char*>(arguments[0].storage->data()) = 1;
    std::memset(arguments[1].storage->data(), 0, 64 * 64 * 4);
    plugin::DeviceExecution device{.device = client->devices()[0], .arguments = arguments, .outputs = {&output, 1}};
    plugin::ExecuteRequest request{.devices = {&device, 1}};
    ASSERT_TRUE((*endless)->Execute(request).ok());
    // What waits for the loop is no reason to go on.
    const plugin::BufferUse use = *output->Use();
    arguments = {{.storage = use.storage, .ready = use.ready}};
    plugin::DeviceExecution second{.device = client->devices()[0], .arguments = arguments, .outputs = {&next, 1}};
    plugin::ExecuteRequest then{.devices = {&second, 1}};
    ASSERT_TRUE((*after)->Execute(then).ok());
  }
  const plugin::EventRef done = output->ready();
  client->GivenUp();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(done.is_ready());  // Somebody may still look at it.
  output = nullptr;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(done.is_ready());
  next = nullptr;
  endless = after = Internal("gone");
  client = nullptr;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done.is_ready() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  ASSERT_TRUE(done.is_ready());
  EXPECT_EQ(done.status().code(), tenon::Code::kCancelled);
  while (plugin::LiveObjects(plugin::ObjectKind::kClient) > clients && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
  EXPECT_EQ(plugin::LiveObjects(plugin::ObjectKind::kClient), clients);
}

TEST(CpuClient, ForkedChildrenFreeAndAskForWhatTheyInherited) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer does not follow a process that forks while it has threads";
#endif
#endif
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  auto executable = Compile(*client, kLarge);
  ASSERT_TRUE(executable.ok());
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;  // So that locks are held when a child is made.
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      while (!stop) (void)AllocateFrom(cpu.memory_pool(), 100);
    });
  }
  for (int round = 0; round < 60; ++round) {
    std::vector<plugin::Ref<plugin::Storage>> inherited;
    for (int i = 0; i < 8; ++i) inherited.push_back(*AllocateFrom(cpu.memory_pool(), 1000));
    std::vector<plugin::Argument> arguments = {{.storage = *AllocateFrom(cpu.memory_pool(), 400 * 400 * 4)}};
    plugin::Ref<plugin::Buffer> output;
    plugin::DeviceExecution device{.device = client->devices()[0], .arguments = arguments, .outputs = {&output, 1}};
    plugin::ExecuteRequest request{.devices = {&device, 1}};
    ASSERT_TRUE((*executable)->Execute(request).ok());
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      inherited.clear();
      int heard = 0;
      device.done.OnReady([&](const Status&) { ++heard; });
      const tenon::Code code = device.done.Wait().code();
      output = nullptr;
      device.done = nullptr;
      executable = Internal("gone");
      client = nullptr;
      _exit(heard == 1 && (code == tenon::Code::kOk || code == tenon::Code::kFailedPrecondition) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round << ": " << status;
    EXPECT_TRUE(device.done.Wait().ok());
  }
  stop = true;
  for (std::thread& t : busy) t.join();
}

TEST(CpuClient, AnExecutionCanBePoisoned) {
  auto client = Client(int64_t{1} << 30, 2);
  auto& cpu = static_cast<CpuClient&>(*client);
  plugin::Device* const first = client->devices()[0];
  const Status poison = Aborted("on purpose");
  EXPECT_FALSE(*first->PoisonExecution(7, poison));
  auto endless = Compile(*client, testing::kEndless);
  ASSERT_TRUE(endless.ok()) << endless.status().ToString();
  std::vector<plugin::Ref<plugin::Buffer>> outputs;
  for (const int launch : {7, 8}) {
    std::vector<plugin::Argument> arguments = {{.storage = *AllocateFrom(cpu.memory_pool(), 1)},
                                               {.storage = *AllocateFrom(cpu.memory_pool(), 64 * 64 * 4)}};
    *static_cast<char*>(arguments[0].storage->data()) = 1;
    std::memset(arguments[1].storage->data(), 0, 64 * 64 * 4);
    plugin::DeviceExecution device{.device = first, .arguments = arguments, .outputs = {&outputs.emplace_back(), 1}};
    plugin::ExecuteRequest request{.devices = {&device, 1}, .launch_id = launch};
    ASSERT_TRUE((*endless)->Execute(request).ok());
  }
  EXPECT_FALSE(*first->PoisonExecution(9, poison));
  EXPECT_FALSE(*client->devices()[1]->PoisonExecution(7, poison));
  EXPECT_TRUE(*first->PoisonExecution(7, poison));  // It runs,
  EXPECT_TRUE(*first->PoisonExecution(8, poison));  // and this one waits for the device.
  for (const auto& output : outputs) EXPECT_EQ(output->ready().Wait().code(), tenon::Code::kAborted);
  EXPECT_FALSE(*first->PoisonExecution(7, poison));
  outputs.clear();
  endless = Internal("gone");
  client->GivenUp();
}

// A program that sends what it counts and adds what it gets, `trips` times over.
constexpr std::string_view kTalks = R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %n = stablehlo.constant dense<4> : tensor<i32>
  %t = stablehlo.create_token : !stablehlo.token
  %0:3 = stablehlo.while(%i = %n, %a = %x, %u = %t) : tensor<i32>, tensor<3xf32>, !stablehlo.token
  cond {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %c = stablehlo.compare GT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }
  do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.subtract %i, %one : tensor<i32>
    %v = "stablehlo.send"(%a, %u) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<3xf32>, !stablehlo.token) -> !stablehlo.token
    %r:2 = "stablehlo.recv"(%v) {channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<3xf32>, !stablehlo.token)
    %b = stablehlo.add %a, %r#0 : tensor<3xf32>
    stablehlo.return %j, %b, %r#1 : tensor<i32>, tensor<3xf32>, !stablehlo.token
  }
  return %0#1 : tensor<3xf32> })";

// The caller's side of its channels.
struct Talk {
  std::vector<float> sent;  ///< The first element of each array.
  bool fail = false, keep = false;
  plugin::CopyToDeviceStream* kept = nullptr;
  std::atomic<int> asked{0};

  static PJRT_Error* Take(PJRT_Chunk* chunk, PJRT_CallbackError* error, size_t total, bool done, void* user) {
    auto& self = *static_cast<Talk*>(user);
    EXPECT_TRUE(done && total == 12 && chunk->size == 12);
    self.sent.push_back(*static_cast<const float*>(chunk->data));
    chunk->deleter(chunk->data, chunk->deleter_arg);
    return self.fail ? (*error)(PJRT_Error_Code_ABORTED, "enough", 6) : nullptr;
  }
  static void Give(PJRT_CopyToDeviceStream* stream, void* user) {
    auto& self = *static_cast<Talk*>(user);
    auto handle = plugin::Ref<plugin::CopyToDeviceStream>::Adopt(reinterpret_cast<plugin::CopyToDeviceStream*>(stream));
    if (self.keep) {
      self.kept = handle.release();
      ++self.asked;
      return;
    }
    const float value[3] = {1, 10, 100};
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(handle->Add(&value[i], sizeof(float)).ok());
    handle->Close();
  }
  plugin::Ref<plugin::HostTransfers> Transfers() {
    const PJRT_SendCallbackInfo send{5, this, Take};
    const PJRT_RecvCallbackInfo recv{6, this, Give};
    return plugin::MakeRef<plugin::HostTransfers>(std::span(&send, 1), std::span(&recv, 1));
  }
};

struct Started {
  plugin::Ref<plugin::Buffer> output;
  plugin::EventRef done;
};
Started Start(CpuClient& client, plugin::LoadedExecutable& executable, plugin::Ref<plugin::HostTransfers> transfers) {
  std::vector<plugin::Argument> arguments = {{.storage = *AllocateFrom(client.memory_pool(), 12)}};
  std::memset(arguments[0].storage->data(), 0, 12);
  Started started;
  plugin::DeviceExecution device{.device = client.devices()[0],
                                 .arguments = arguments,
                                 .transfers = std::move(transfers),
                                 .outputs = {&started.output, 1}};
  plugin::ExecuteRequest request{.devices = {&device, 1}};
  EXPECT_TRUE(executable.Execute(request).ok());
  started.done = std::move(device.done);
  return started;
}

TEST(CpuClient, ProgramsTalkToTheHost) {
  auto client = Client();
  auto& cpu = static_cast<CpuClient&>(*client);
  auto compiled = Compile(*client, kTalks);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_TRUE((*compiled)->info().host_transfers);
  auto loaded = client->Deserialize(*(*compiled)->executable()->Serialize(), nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  for (auto* executable : {&*compiled, &*loaded}) {
    Talk talk;
    const Started run = Start(cpu, **executable, talk.Transfers());
    ASSERT_TRUE(run.done.Wait().ok()) << run.done.Wait().ToString();
    EXPECT_EQ(talk.sent, (std::vector<float>{0, 1, 2, 3}));
    const auto* out = static_cast<const float*>(*run.output->DataPointer());
    EXPECT_EQ(std::vector<float>(out, out + 3), (std::vector<float>{4, 40, 400}));
    // Without callbacks, and with one that has enough.
    EXPECT_EQ(Start(cpu, **executable, {}).done.Wait().code(), tenon::Code::kInvalidArgument);
    Talk fails;
    fails.fail = true;
    const Status failed = Start(cpu, **executable, fails.Transfers()).done.Wait();
    EXPECT_EQ(failed.code(), tenon::Code::kAborted);
    EXPECT_NE(failed.message().find("enough"), std::string_view::npos);
  }
}

// What the host gives is bytes: what is not the number of an element of four bits is left out of it.
TEST(CpuClient, ReceivesSubByteIntegers) {
  constexpr std::string_view program = R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xi32> {
  %t = stablehlo.create_token : !stablehlo.token
  %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<3xi4>, !stablehlo.token)
  %y = stablehlo.convert %r#0 : (tensor<3xi4>) -> tensor<3xi32>
  return %y : tensor<3xi32> })";
  auto client = Client();
  auto compiled = Compile(*client, program);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const PJRT_RecvCallbackInfo recv{6, nullptr, [](PJRT_CopyToDeviceStream* stream, void*) {
                                     auto handle = plugin::Ref<plugin::CopyToDeviceStream>::Adopt(
                                         reinterpret_cast<plugin::CopyToDeviceStream*>(stream));
                                     const uint8_t bytes[] = {0x0f, 0x01, 0x98};
                                     EXPECT_TRUE(handle->Add(bytes, 3).ok());
                                   }};
  const Started run =
      Start(static_cast<CpuClient&>(*client), **compiled,
            plugin::MakeRef<plugin::HostTransfers>(std::span<const PJRT_SendCallbackInfo>(), std::span(&recv, 1)));
  ASSERT_TRUE(run.done.Wait().ok()) << run.done.Wait().ToString();
  const auto* out = static_cast<const int32_t*>(*run.output->DataPointer());
  EXPECT_EQ(std::vector<int32_t>(out, out + 3), (std::vector<int32_t>{-1, 1, -8}));
}

// The caller may forget a stream: then the execution waits as long as somebody can see its outcome, and no longer.
TEST(CpuClient, AReceiveThatNobodyFeedsEndsWhenNobodyCanSeeIt) {
  Talk talk;
  talk.keep = true;
  {
    auto client = Client();
    auto compiled = Compile(*client, kTalks);
    ASSERT_TRUE(compiled.ok());
    Started run = Start(static_cast<CpuClient&>(*client), **compiled, talk.Transfers());
    while (talk.asked == 0) std::this_thread::yield();
    EXPECT_FALSE(run.done.is_ready());
    run = {};
    compiled = Internal("gone");
    client->GivenUp();
  }
  const float value = 1;
  const auto kept = plugin::Ref<plugin::CopyToDeviceStream>::Adopt(talk.kept);
  // Its memory may be gone: the stream takes nothing any more, from the moment the execution has ended.
  tenon::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    status = kept->Add(&value, 0);
  }
  EXPECT_EQ(status.code(), tenon::Code::kFailedPrecondition);
}

TEST(CpuClient, WhatCannotBeATransferOfTheHostIsRefused) {
  auto client = Client(int64_t{1} << 30, 2);
  EXPECT_EQ(Compile(*client, R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.custom_call @tenon.host_recv(%x) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32> })")
                .status()
                .code(),
            tenon::Code::kInvalidArgument);
  plugin::CompileOptions options;
  options.num_replicas = 2;
  const Status two = client->Compile({kTalks, "mlir"}, options, *client->ResolveAssignment(options)).status();
  EXPECT_EQ(two.code(), tenon::Code::kUnimplemented) << two.ToString();
  EXPECT_NE(two.message().find("several devices"), std::string_view::npos) << two.ToString();
}

TEST(CpuClient, NoThreadOutlivesTheLastClient) {
  const auto threads = [] {
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) n += entry.exists() ? 1 : 0;
    return n;
  };
  const int before = threads();
  for (int i = 0; i < 3; ++i) {
    auto client = Client();
    auto executable = Compile(*client, kProgram);
    ASSERT_TRUE(executable.ok());
    EXPECT_TRUE(RunOnZeros(static_cast<CpuClient&>(*client), **executable).ok());
    executable = Internal("gone");
    client = nullptr;
    // A thread that was waited for is still listed until the system has taken it away; of those of the tests before
    // this one, some may have been about to end.
    int left = threads();
    for (int wait = 0; wait < 1000 && left > before; ++wait, left = threads())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_LE(left, before);
  }
}

TEST(CpuClient, ObjectsMayGoInAnyOrderWhileWorkIsUnderWay) {
  for (int i = 0; i < 20; ++i) {
    auto client = Client();
    auto& cpu = static_cast<CpuClient&>(*client);
    auto executable = Compile(*client, R"(func.func @main(%x: tensor<400x400xf32>) -> tensor<400x400xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<400x400xf32>, tensor<400x400xf32>) -> tensor<400x400xf32>
      %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<400x400xf32>, tensor<400x400xf32>) -> tensor<400x400xf32>
      return %1 : tensor<400x400xf32> })");
    ASSERT_TRUE(executable.ok());
    std::vector<plugin::Argument> arguments = {{.storage = *AllocateFrom(cpu.memory_pool(), 400 * 400 * 4)}};
    std::memset(arguments[0].storage->data(), 0, 400 * 400 * 4);
    plugin::Ref<plugin::Buffer> output;
    plugin::DeviceExecution device{.device = client->devices()[0], .arguments = arguments, .outputs = {&output, 1}};
    plugin::ExecuteRequest request{.devices = {&device, 1}};
    ASSERT_TRUE((*executable)->Execute(request).ok());
    arguments.clear();
    if (i % 2 == 0) output = nullptr;
    executable = Internal("gone");
    client = nullptr;
    if (i % 3 == 0) output = nullptr;
    EXPECT_TRUE(device.done.Wait().ok());
  }
}

}  // namespace
}  // namespace tenon::cpu
