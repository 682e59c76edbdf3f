// Random mixes of everything that a client can be asked for at once: threads, devices, sizes, arrays that are given
// away, programs of several devices, listeners and handlers that use the client, errors, handlers that throw, compiles,
// saved programs, channels to the host that are fed well, late or not at all, memory that runs out, deletes, loops
// without end, destruction in any order, forks.
//
// TENON_SOAK_SECONDS says for how long (3), TENON_SOAK_SEED which, TENON_SOAK_THREADS how many threads ask (4),
// TENON_SOAK_SLACK_MIB by how much the resident memory may grow after the first third of five minutes or more (64).
// scripts/soak.sh runs it for long.
//
// Fails when nothing moves for a minute, when a number is wrong, when an error is one that nobody provoked or that says
// nothing, or when something is left: objects, threads, files, memory.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/abi/xla_ffi.h"
#include "tenon/cpu/client.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/testing/endless.h"
#include "tenon/ffi_host/registry.h"
#include "tenon/plugin/execute.h"
#include "tenon/plugin/transfers.h"

namespace tenon::cpu {
namespace {

using Clock = std::chrono::steady_clock;
using BufferRef = plugin::Ref<plugin::Buffer>;
using ExecutableRef = plugin::Ref<plugin::LoadedExecutable>;

/// From then on it shows whether memory grows; before, what is made once still is.
constexpr std::chrono::minutes kLong{5};
constexpr int64_t kMemoryLimit = int64_t{64} << 20;

int64_t Number(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

constexpr bool MayFork() {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return false;  // It does not follow a process that forks while it has threads.
#endif
#endif
  return true;
}

std::atomic<int64_t> steps{0};
// Ends the process when nothing moves.
class Watchdog {
 public:
  Watchdog() : thread_([this] { Watch(); }) {}
  ~Watchdog() {
    stop_ = true;
    thread_.join();
  }

 private:
  void Watch() {
    int64_t seen = -1;
    auto since = Clock::now();
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (steps != seen) {
        seen = steps;
        since = Clock::now();
      } else if (Clock::now() - since > std::chrono::seconds(60)) {
        std::fprintf(stderr, "soak: nothing moved for a minute, after %lld steps\n", static_cast<long long>(seen));
        std::abort();
      }
    }
  }
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// What the process holds.
struct Figures {
  int64_t resident_kib = 0;
  int64_t threads = 0;
  int64_t files = 0;

  static Figures Now() {
    Figures f;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) f.resident_kib = std::atoll(line.c_str() + 6);
      if (line.starts_with("Threads:")) f.threads = std::atoll(line.c_str() + 8);
    }
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) f.files += entry.exists() ? 1 : 0;
    return f;
  }
};

int64_t LiveObjects() {
  int64_t n = 0;
  for (int kind = 0; kind < plugin::kNumObjectKinds; ++kind)
    n += plugin::LiveObjects(static_cast<plugin::ObjectKind>(kind));
  return n;
}

// --- Programs. Arrays are n by n and hold one whole number throughout, so that every result is known.

std::string Replace(std::string text, std::string_view what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// $T is the array's type. `attributes` of the parameter.
std::string Program(int64_t n, const std::string& body, const std::string& attributes = "") {
  const std::string text = "func.func @main(%x: $T" + attributes + ") -> $T {\n" + body + "  return %r : $T }";
  return Replace(text, "$T", "tensor<" + std::to_string(n) + "x" + std::to_string(n) + "xf32>");
}

std::string Plus(int64_t number) {
  return "  %c = stablehlo.constant dense<" + std::to_string(number) + ".0> : $T\n  %r = stablehlo.add %x, %c : $T\n";
}

constexpr const char* kGivenAway = " {tf.aliasing_output = 0 : i32}";

// The product with the unit matrix.
constexpr const char* kProduct = R"(  %i = stablehlo.iota dim = 0 : $T
  %j = stablehlo.iota dim = 1 : $T
  %e = stablehlo.compare EQ, %i, %j : ($T, $T) -> $Mxi1>
  %u = stablehlo.convert %e : ($Mxi1>) -> $T
  %r = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : ($T, $T) -> $T
)";
constexpr const char* kSort = R"(  %r = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : ($T) -> $T
)";
// Sends its argument and adds to it what it gets for it.
constexpr const char* kTalk = R"(  %t = stablehlo.create_token : !stablehlo.token
  %u = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : ($T, !stablehlo.token) -> !stablehlo.token
  %y:2 = "stablehlo.recv"(%u) {channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> ($T, !stablehlo.token)
  %r = stablehlo.add %x, %y#0 : $T
)";
std::string Call(const std::string& handler) {
  return "  %r = stablehlo.custom_call @" + handler +
         "(%x) {api_version = 4 : i32, backend_config = {}} : ($T) -> $T\n";
}

// --- What is asked of the client.

bool IsOutOfMemory(const Status& s) { return s.code() == tenon::Code::kResourceExhausted && !s.message().empty(); }

// Null when there was no memory.
ExecutableRef Compile(plugin::Client& client, const std::string& program, int partitions = 1) {
  plugin::CompileOptions options;
  options.num_partitions = partitions;
  options.use_spmd_partitioning = partitions > 1;
  const auto assignment = client.ResolveAssignment(options);
  auto executable = client.Compile({program, "mlir"}, options, *assignment);
  if (executable.ok()) return *std::move(executable);
  EXPECT_TRUE(IsOutOfMemory(executable.status())) << executable.status().ToString() << "\n" << program;
  return nullptr;
}

struct Execution {
  Status status;
  plugin::EventRef done;
  std::vector<BufferRef> outputs;  // One per device.
};

// As PJRT_LoadedExecutable_Execute: `arguments` per device.
Execution Execute(plugin::LoadedExecutable& executable, const std::vector<std::vector<plugin::Buffer*>>& arguments,
                  bool gives_away = false, plugin::ExecuteOptions options = {}) {
  constexpr int64_t kKept[] = {0};
  if (!gives_away) options.non_donatable = kKept;
  plugin::ExecuteCall call(executable, options);
  std::vector<plugin::Buffer* const*> lists;
  for (const auto& list : arguments) lists.push_back(list.data());
  Execution run;
  run.status = call.ChooseDevices(nullptr, arguments.size());
  if (run.status.ok()) run.status = call.AddArguments(lists.data(), arguments[0].size());
  if (run.status.ok()) run.status = call.Run();
  if (!run.status.ok()) return run;
  for (plugin::DeviceExecution& device : call.devices()) {
    run.outputs.push_back(std::move(device.outputs[0]));
    run.done = std::move(device.done);
  }
  return run;
}

BufferRef Put(plugin::Client& client, DType type, Dims dims, const void* data, size_t device_index = 0) {
  plugin::Device* device = client.devices()[device_index];
  const plugin::HostArray array{.data = data, .shape = {type, std::move(dims)}, .byte_strides = {}};
  auto upload =
      plugin::UploadArray(device, device->default_memory(), array, {}, plugin::HostSemantics::kOnlyDuringCall);
  if (upload.ok()) return upload->buffer;
  EXPECT_TRUE(IsOutOfMemory(upload.status())) << upload.status().ToString();
  return nullptr;
}

BufferRef Put(plugin::Client& client, int64_t rows, int64_t n, float number, size_t device_index = 0) {
  const std::vector<float> host(static_cast<size_t>(rows * n), number);
  return Put(client, DType::kF32, {rows, n}, host.data(), device_index);
}

// --- Handlers.

bool AnswersMetadata(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start == nullptr) return false;
  auto* m = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
  m->api_version.major_version = 0;
  m->api_version.minor_version = 5;
  m->traits = 0;
  return true;
}

constexpr const char* kThrown = "thrown by the soak";
XLA_FFI_Error* Throws(XLA_FFI_CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  throw std::runtime_error(kThrown);
}

// Runs another program on the same client, as a callback into a framework does, and gives its argument back.
std::atomic<plugin::Client*> the_client{nullptr};
std::atomic<plugin::LoadedExecutable*> inner{nullptr};
XLA_FFI_Error* Reenters(XLA_FFI_CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  if (const BufferRef input = Put(*the_client, 200, 200, 1)) {
    const Execution run = Execute(*inner, {{input.get()}});
    if (run.status.ok()) (void)run.done.Wait();
  }
  auto* out = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0]);
  auto* in = static_cast<XLA_FFI_Buffer*>(frame->args.args[0]);
  std::copy_n(static_cast<float*>(in->data), in->dims[0] * in->dims[1], static_cast<float*>(out->data));
  return nullptr;
}

// --- The other end of a program's channels. It gives back what it was sent, unless it does not.

class Talk {
 public:
  enum class Way { kAtOnce, kLater, kGivesUp, kRefuses };
  static constexpr const char* kRefused = "refused by the soak";

  explicit Talk(Way way) : way_(way) {}
  ~Talk() {
    if (later_.joinable()) later_.join();
  }

  plugin::ExecuteOptions Options() {
    plugin::ExecuteOptions options;
    options.sends = {&send_of_device_, 1};
    options.recvs = {&recv_of_device_, 1};
    options.num_sends = options.num_recvs = 1;
    return options;
  }

 private:
  static PJRT_Error* Take(PJRT_Chunk* chunk, PJRT_CallbackError* error, size_t, bool, void* user) {
    auto& self = *static_cast<Talk*>(user);
    self.sent_.assign(static_cast<char*>(chunk->data), static_cast<char*>(chunk->data) + chunk->size);
    chunk->deleter(chunk->data, chunk->deleter_arg);
    if (self.way_ != Way::kRefuses) return nullptr;
    return (*error)(PJRT_Error_Code_ABORTED, kRefused, std::strlen(kRefused));
  }
  static void Give(PJRT_CopyToDeviceStream* handle, void* user) {
    auto& self = *static_cast<Talk*>(user);
    auto stream = plugin::Ref<plugin::CopyToDeviceStream>::Adopt(reinterpret_cast<plugin::CopyToDeviceStream*>(handle));
    if (self.way_ == Way::kLater) {
      self.later_ = std::thread([&self, stream] { self.Fill(*stream); });
    } else if (self.way_ == Way::kGivesUp) {
      (void)stream->Add(self.sent_.data(), self.sent_.size() / 2);
      stream->Close();
    } else {
      self.Fill(*stream);
    }
  }
  void Fill(plugin::CopyToDeviceStream& stream) {
    const size_t half = sent_.size() / 2;
    (void)stream.Add(sent_.data(), half);
    (void)stream.Add(sent_.data() + half, sent_.size() - half);
    stream.Close();
  }

  const Way way_;
  std::vector<char> sent_;
  std::thread later_;
  PJRT_SendCallbackInfo send_{1, this, Take};
  PJRT_RecvCallbackInfo recv_{2, this, Give};
  PJRT_SendCallbackInfo* send_of_device_ = &send_;
  PJRT_RecvCallbackInfo* recv_of_device_ = &recv_;
};

// --- One thread's part of a round.

class Worker {
 public:
  Worker(plugin::Client& client, uint64_t seed, bool may_fork) : client_(client), random_(seed), may_fork_(may_fork) {}

  void Work(Clock::time_point until) {
    while (Clock::now() < until && !::testing::Test::HasFailure()) {
      ++steps;
      switch (Below(13)) {
        case 12:
          Talks();
          break;
        case 0:
          OverDevices();
          break;
        case 1:
          Large();
          break;
        default:
          Chain();
      }
    }
  }

 private:
  enum class Kind { kPlus, kPlusGivenAway, kProduct, kSort, kThrows, kReenters, kNew };

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  std::string TextOf(Kind kind, int64_t n, int64_t number) {
    const std::string square = "tensor<" + std::to_string(n) + "x" + std::to_string(n);
    switch (kind) {
      case Kind::kPlusGivenAway:
        return Program(n, Plus(1), kGivenAway);
      case Kind::kProduct:
        return Replace(Program(n, kProduct), "$M", square);
      case Kind::kSort:
        return Program(n, kSort);
      case Kind::kThrows:
        return Program(n, Call("soak_throws"));
      case Kind::kReenters:
        return Program(n, Call("soak_reenters"));
      default:
        return Program(n, Plus(number));
    }
  }

  // The outcome of what began with an array of `want`: the number, or an error that was to be expected.
  void Check(const BufferRef& buffer, float want, bool may_be_thrown) {
    std::vector<float> got(buffer->size_bytes() / sizeof(float), -1);
    const Status status = plugin::Download(*buffer, {}, got.data()).Wait();
    if (!status.ok()) {
      CheckError(status, may_be_thrown);
      return;
    }
    EXPECT_FALSE(may_be_thrown) << "what a handler that throws was to make is there";
    const auto wrong = std::find_if(got.begin(), got.end(), [&](float v) { return v != want; });
    EXPECT_TRUE(wrong == got.end()) << *wrong << " at " << wrong - got.begin() << ", wanted " << want;
  }

  void CheckError(const Status& status, bool may_be_thrown) {
    const bool thrown = may_be_thrown && std::string(status.message()).find(kThrown) != std::string::npos;
    EXPECT_TRUE(thrown || IsOutOfMemory(status)) << status.ToString();
  }

  // A program on its own results, some times over.
  void Chain() {
    const int64_t n = std::vector<int64_t>{4, 60, 200, 300}[Below(4)];
    const auto kind = static_cast<Kind>(OneIn(20) ? 6 : Below(6));
    const int64_t added = kind == Kind::kNew                                    ? 1 + static_cast<int64_t>(Below(4000))
                          : kind == Kind::kPlus || kind == Kind::kPlusGivenAway ? 1
                                                                                : 0;
    ExecutableRef executable = Compile(client_, TextOf(kind, n, added));
    if (executable == nullptr) return;
    if (OneIn(16)) executable = Again(executable);
    if (executable == nullptr) return;
    auto number = static_cast<float>(Below(1000));
    BufferRef array = Put(client_, n, n, number);
    if (array == nullptr) return;
    std::vector<Execution> runs;
    std::vector<BufferRef> seen;
    const uint64_t length = 1 + Below(6);
    for (uint64_t i = 0; i < length; ++i) {
      Execution run = Execute(*executable, {{array.get()}}, OneIn(2));
      if (!run.status.ok()) {
        CheckError(run.status, kind == Kind::kThrows);
        break;
      }
      // Whoever hears of an end may go on from there; what it goes on with may be gone by then.
      if (OneIn(3)) {
        run.done.OnReady(
            [executable, array = run.outputs[0]](const Status&) { (void)Execute(*executable, {{array.get()}}); });
      }
      seen.push_back(array);
      array = run.outputs[0];
      number += static_cast<float>(added);
      runs.push_back(std::move(run));
    }
    if (OneIn(8) && !seen.empty()) seen[Below(seen.size())]->Delete();
    if (OneIn(2)) executable = nullptr;
    if (OneIn(2)) seen.clear();
    if (may_fork_ && OneIn(8)) Fork(runs);
    if (OneIn(4)) return;  // Nobody waits for it.
    Check(array, number, kind == Kind::kThrows && !runs.empty());
  }

  // A program that sends and receives, on one device.
  void Talks() {
    const int64_t n = OneIn(2) ? 4 : 200;
    const ExecutableRef executable = Compile(client_, Program(n, kTalk));
    if (executable == nullptr) return;
    const auto number = static_cast<float>(Below(1000));
    const BufferRef array = Put(client_, n, n, number);
    if (array == nullptr) return;
    const auto way = static_cast<Talk::Way>(Below(4));
    auto talk = std::make_shared<Talk>(way);
    const Execution run = Execute(*executable, {{array.get()}}, false, talk->Options());
    if (!run.status.ok()) {
      CheckError(run.status, false);
      return;
    }
    run.done.OnReady([talk](const Status&) {});  // So long it is needed.
    if (OneIn(4)) return;
    std::vector<float> got(static_cast<size_t>(n * n), -1);
    const Status status = plugin::Download(*run.outputs[0], {}, got.data()).Wait();
    const bool fails = way == Talk::Way::kGivesUp || way == Talk::Way::kRefuses;
    EXPECT_FALSE(fails && status.ok());
    if (!status.ok()) {
      EXPECT_TRUE((fails && status.code() == tenon::Code::kAborted) || IsOutOfMemory(status)) << status.ToString();
      return;
    }
    EXPECT_TRUE(std::all_of(got.begin(), got.end(), [&](float v) { return v == 2 * number; })) << got[0];
  }

  // The program from its saved form.
  ExecutableRef Again(const ExecutableRef& executable) {
    const Result<std::string> bytes = executable->executable()->Serialize();
    EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
    auto again = client_.Deserialize(*bytes, nullptr);
    if (again.ok()) return *std::move(again);
    EXPECT_TRUE(IsOutOfMemory(again.status())) << again.status().ToString();
    return nullptr;
  }

  // A child frees what it inherited, and hears how what was under way ended.
  void Fork(std::vector<Execution>& runs) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      for (Execution& run : runs) (void)run.done.Wait();
      runs.clear();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a forked child ended with " << status;
  }

  // One program cut over all devices, and an array that goes from one device to another.
  void OverDevices() {
    const auto devices = static_cast<int64_t>(client_.devices().size());
    if (devices < 2) return;
    const int64_t n = OneIn(2) ? 12 : 240;  // Multiples of all counts of devices.
    const std::string cut = " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}";
    std::string program = "sdy.mesh @mesh = <[\"x\"=" + std::to_string(devices) + "]>\n" + Program(n, Plus(1), cut);
    program = Replace(program, ") -> tensor<" + std::to_string(n) + "x" + std::to_string(n) + "xf32> {",
                      ") -> (tensor<" + std::to_string(n) + "x" + std::to_string(n) + "xf32>" + cut + ") {");
    const ExecutableRef executable = Compile(client_, program, static_cast<int>(devices));
    if (executable == nullptr) return;
    std::vector<BufferRef> parts;
    std::vector<std::vector<plugin::Buffer*>> arguments;
    for (int64_t d = 0; d < devices; ++d) {
      parts.push_back(Put(client_, n / devices, n, static_cast<float>(d), static_cast<size_t>(d)));
      if (parts.back() == nullptr) return;
      arguments.push_back({parts.back().get()});
    }
    const Execution run = Execute(*executable, arguments);
    if (!run.status.ok()) {
      CheckError(run.status, false);
      return;
    }
    for (int64_t d = 0; d < devices; ++d) Check(run.outputs[static_cast<size_t>(d)], static_cast<float>(d + 1), false);
    plugin::Device* to = client_.devices()[0];
    const Result<BufferRef> moved = plugin::CopyBuffer(*run.outputs[1], to, to->default_memory());
    if (moved.ok())
      Check(*moved, 2, false);
    else
      CheckError(moved.status(), false);
  }

  // Arrays of which few fit into the client's memory.
  void Large() {
    constexpr int64_t kSide = 1600;
    const ExecutableRef executable = Compile(client_, Program(kSide, Plus(1), OneIn(2) ? kGivenAway : ""));
    if (executable == nullptr) return;
    std::vector<BufferRef> kept;
    for (int i = 0; i < 4; ++i) {
      BufferRef array = Put(client_, kSide, kSide, static_cast<float>(i));
      if (array == nullptr) return;
      Execution run = Execute(*executable, {{array.get()}}, true);
      if (!run.status.ok()) {
        CheckError(run.status, false);
        return;
      }
      kept.push_back(std::move(run.outputs[0]));
    }
    for (int i = 0; i < 4; ++i) Check(kept[static_cast<size_t>(i)], static_cast<float>(i + 1), false);
  }

  plugin::Client& client_;
  std::mt19937_64 random_;
  const bool may_fork_;
};

// A loop that runs when its client goes.
void StartEndless(plugin::Client& client) {
  const ExecutableRef endless = Compile(client, std::string(testing::kEndless));
  const bool go = true;
  const BufferRef condition = Put(client, DType::kPred, {}, &go), array = Put(client, 64, 64, 0);
  if (endless == nullptr || condition == nullptr || array == nullptr) return;
  const Execution run = Execute(*endless, {{condition.get(), array.get()}});
  EXPECT_TRUE(run.status.ok() || IsOutOfMemory(run.status)) << run.status.ToString();
}

// Whether it comes true in time.
template <class F>
bool Soon(F condition) {
  const auto patience = Clock::now() + std::chrono::seconds(30);
  while (!condition() && Clock::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

TEST(Soak, NothingHangsDiesLiesOrIsLeft) {
  ASSERT_TRUE(ffi_host::RegisterHandler("soak_throws", {nullptr, nullptr, nullptr, Throws, nullptr}, 0).ok());
  ASSERT_TRUE(ffi_host::RegisterHandler("soak_reenters", {nullptr, nullptr, nullptr, Reenters, nullptr}, 0).ok());
  const Watchdog watchdog;
  const auto seconds = std::chrono::seconds(Number("TENON_SOAK_SECONDS", 3));
  const auto seed = static_cast<uint64_t>(Number("TENON_SOAK_SEED", 1));
  const auto workers = static_cast<uint64_t>(Number("TENON_SOAK_THREADS", 4));
  const int64_t slack_kib = Number("TENON_SOAK_SLACK_MIB", 64) << 10;
  const Figures before = Figures::Now();
  const auto start = Clock::now();
  const auto end = start + seconds;
  auto report = start + std::chrono::minutes(1);
  int64_t early_kib = 0, late_kib = 0;
  for (uint64_t round = 0; Clock::now() < end && !HasFailure(); ++round) {
    plugin::Ref<plugin::Client> client = *CpuClient::Create({1 + static_cast<int>(round % 3), kMemoryLimit});
    ExecutableRef small = Compile(*client, Program(200, "  %r = stablehlo.cosine %x : $T\n"));
    ASSERT_NE(small, nullptr);
    the_client = client.get();
    inner = small.get();
    const auto until = std::min(end, Clock::now() + std::chrono::seconds(5));
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < workers; ++t) {
      threads.emplace_back(
          [&, t] { Worker(*client, seed * 1000003 + round * 101 + t, MayFork() && t == 0).Work(until); });
    }
    for (std::thread& t : threads) t.join();
    // Handlers and listeners use the client as long as anything runs.
    auto& queue = static_cast<CpuDevice*>(client->devices()[0])->queue();
    ASSERT_TRUE(Soon([&] { return queue.pending() == 0; })) << queue.pending() << " tasks do not end";
    if (round % 2 == 1) StartEndless(*client);
    small = nullptr;
    client->GivenUp();
    client = nullptr;
    EXPECT_TRUE(Soon([] { return LiveObjects() == 0; })) << LiveObjects() << " objects are left of round " << round;
    EXPECT_TRUE(Soon([&] { return Figures::Now().threads <= before.threads; }))
        << Figures::Now().threads << " threads after round " << round << ", " << before.threads << " before the first";
    const Figures now = Figures::Now();
    EXPECT_LE(now.files, before.files) << "open files after round " << round;
    // What is made once is there after the first third.
    (Clock::now() < start + seconds / 3 ? early_kib : late_kib) =
        std::max(Clock::now() < start + seconds / 3 ? early_kib : late_kib, now.resident_kib);
    if (Clock::now() > report) {
      report += std::chrono::minutes(1);
      std::fprintf(
          stderr, "soak: %lld s, %lld steps, %lld KiB resident\n",
          static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count()),
          static_cast<long long>(steps.load()), static_cast<long long>(now.resident_kib));
    }
  }
  if (seconds >= kLong && early_kib > 0) EXPECT_LT(late_kib, early_kib + slack_kib) << "KiB resident, late and early";
  std::printf("soak: %lld steps, %lld KiB resident early, %lld late\n", static_cast<long long>(steps.load()),
              static_cast<long long>(early_kib), static_cast<long long>(late_kib));
}

}  // namespace
}  // namespace tenon::cpu
