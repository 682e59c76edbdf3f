// Random mixes of everything that a client can be asked for at once: threads, devices, sizes, arrays that are given
// away, listeners and handlers that use the client, errors, handlers that throw, compiles, destruction in any order,
// forks. TENON_SOAK_SECONDS says for how long (3), TENON_SOAK_SEED which. Fails when nothing moves for a minute, when
// an error is one that nobody provoked, or when something is left in the end.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tenon/abi/xla_ffi.h"
#include "tenon/cpu/client.h"
#include "tenon/cpu/device.h"
#include "tenon/ffi_host/registry.h"
#include "tenon/plugin/transfers.h"

namespace tenon::cpu {
namespace {

using Clock = std::chrono::steady_clock;

int64_t Number(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
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

std::string Program(int64_t n, std::string_view body) {
  std::string text = "func.func @main(%x: T) -> T {\n" + std::string(body) + "  return %r : T }";
  const std::string type = "tensor<" + std::to_string(n) + "x" + std::to_string(n) + "xf32>";
  for (size_t at; (at = text.find(" T")) != std::string::npos;) text.replace(at + 1, 1, type);
  for (size_t at; (at = text.find("(T")) != std::string::npos;) text.replace(at + 1, 1, type);
  return text;
}

plugin::Ref<plugin::LoadedExecutable> Compile(plugin::Client& client, const std::string& program) {
  plugin::CompileOptions options;
  const auto assignment = client.ResolveAssignment(options);
  auto executable = client.Compile({program, "mlir"}, options, *assignment);
  EXPECT_TRUE(executable.ok()) << executable.status().ToString();
  return executable.ok() ? *executable : nullptr;
}

struct Execution {
  Status status;
  plugin::EventRef done;
  plugin::Ref<plugin::Buffer> output;
};

Execution Execute(CpuClient& client, plugin::LoadedExecutable& executable, const plugin::Ref<plugin::Buffer>& input) {
  Execution run;
  auto use = input->Use();
  if (!use.ok()) return {use.status(), nullptr, nullptr};
  std::vector<plugin::Argument> arguments = {{.storage = use->storage, .ready = use->ready}};
  plugin::DeviceExecution device{
      .device = executable.addressable_devices()[0], .arguments = arguments, .outputs = {&run.output, 1}};
  plugin::ExecuteRequest request{.devices = {&device, 1}};
  run.status = executable.Execute(request);
  run.done = device.done;
  return run;
}

plugin::Ref<plugin::Buffer> Put(CpuClient& client, int64_t n) {
  std::vector<float> host(static_cast<size_t>(n * n), 0.5f);
  plugin::Device* device = client.devices()[0];
  const plugin::HostArray array{.data = host.data(), .shape = {DType::kF32, {n, n}}, .byte_strides = {}};
  auto upload =
      plugin::UploadArray(device, device->default_memory(), array, {}, plugin::HostSemantics::kOnlyDuringCall);
  return upload.ok() ? upload->buffer : nullptr;
}

bool AnswersMetadata(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start == nullptr) return false;
  auto* m = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
  m->api_version.major_version = 0;
  m->api_version.minor_version = 5;
  m->traits = 0;
  return true;
}

XLA_FFI_Error* Throws(XLA_FFI_CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  throw std::runtime_error("soak");
}

// Runs another program on the same client, as a callback into a framework does.
std::atomic<CpuClient*> the_client{nullptr};
std::atomic<plugin::LoadedExecutable*> inner{nullptr};
XLA_FFI_Error* Reenters(XLA_FFI_CallFrame* frame) {
  if (AnswersMetadata(frame)) return nullptr;
  const auto input = Put(*the_client, 200);
  const Execution run = Execute(*the_client, *inner, input);
  if (run.status.ok()) (void)run.done.Wait();
  auto* out = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0]);
  auto* in = static_cast<XLA_FFI_Buffer*>(frame->args.args[0]);
  for (int64_t i = 0; i < in->dims[0] * in->dims[1]; ++i)
    static_cast<float*>(out->data)[i] = static_cast<float*>(in->data)[i];
  return nullptr;
}

int64_t ResidentKib() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  }
  return 0;
}

void Work(CpuClient& client, uint64_t seed, Clock::time_point until, bool may_fork) {
  std::mt19937_64 random(seed);
  const std::string dot = "  %r = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (T, T) -> T\n";
  const std::string sine = "  %r = stablehlo.sine %x : T\n";
  const auto call = [](std::string_view name) {
    return "  %r = stablehlo.custom_call @" + std::string(name) +
           "(%x) {api_version = 4 : i32, backend_config = {}} : (T) -> T\n";
  };
  int made = 0;
  while (Clock::now() < until) {
    ++steps;
    const int64_t n = std::vector<int64_t>{4, 60, 200, 300}[random() % 4];
    const int kind = static_cast<int>(random() % 5);
    std::string body = kind == 0 ? sine : kind == 3 ? call("soak_throws") : kind == 4 ? call("soak_reenters") : dot;
    // Mostly known programs, now and then one that nobody has compiled yet.
    if (random() % 20 == 0) {
      const std::string number = std::to_string(seed * 100000 + static_cast<uint64_t>(++made));
      body = "  %c = stablehlo.constant dense<" + number + ".0> : T\n  %r = stablehlo.add %x, %c : T\n";
    }
    auto executable = Compile(client, Program(n, body));
    if (executable == nullptr) return;
    auto input = Put(client, n);
    std::vector<Execution> runs;
    const int chain = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < chain; ++i) {
      Execution run = Execute(client, *executable, input);
      if (!run.status.ok()) {
        if (run.status.code() == tenon::Code::kInvalidArgument) break;  // It was deleted.
        EXPECT_TRUE(kind == 3 || run.status.code() == tenon::Code::kResourceExhausted) << run.status.ToString();
        break;
      }
      if (random() % 3 == 0) {
        // Whoever hears of an end may go on from there.
        run.done.OnReady([&client, executable, input](const Status&) { (void)Execute(client, *executable, input); });
      }
      if (random() % 2 == 0) input = run.output;
      if (random() % 8 == 0) input->Delete();
      runs.push_back(std::move(run));
    }
    if (random() % 2 == 0) executable = nullptr;
    if (random() % 2 == 0) input = nullptr;
    if (may_fork && random() % 8 == 0) {
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
    for (Execution& run : runs) {
      const Status status = random() % 4 == 0 ? OkStatus() : run.done.Wait();
      if (status.ok() || kind == 3) continue;
      EXPECT_TRUE(status.code() == tenon::Code::kResourceExhausted) << status.ToString();
    }
  }
}

TEST(Soak, NothingHangsDiesOrIsLeft) {
  ASSERT_TRUE(ffi_host::RegisterHandler("soak_throws", {nullptr, nullptr, nullptr, Throws, nullptr}, 0).ok());
  ASSERT_TRUE(ffi_host::RegisterHandler("soak_reenters", {nullptr, nullptr, nullptr, Reenters, nullptr}, 0).ok());
  const Watchdog watchdog;
  const auto seconds = std::chrono::seconds(Number("TENON_SOAK_SECONDS", 3));
  const auto seed = static_cast<uint64_t>(Number("TENON_SOAK_SEED", 1));
  bool may_fork = true;
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  may_fork = false;  // It does not follow a process that forks while it has threads.
#endif
#endif
  const auto end = Clock::now() + seconds;
  int64_t resident = 0;
  for (uint64_t round = 0; Clock::now() < end; ++round) {
    auto client = *CpuClient::Create({1 + static_cast<int>(round % 2), int64_t{64} << 20});
    auto& cpu = static_cast<CpuClient&>(*client);
    auto small = Compile(*client, Program(200, "  %r = stablehlo.cosine %x : T\n"));
    the_client = &cpu;
    inner = small.get();
    const auto until = std::min(end, Clock::now() + std::chrono::seconds(5));
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] { Work(cpu, seed * 1000003 + round * 101 + t, until, may_fork && t == 0); });
    for (std::thread& t : threads) t.join();
    // What listeners started may still be under way.
    while (cpu.devices()[0] != nullptr && static_cast<CpuDevice*>(cpu.devices()[0])->queue().pending() > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    small = nullptr;
    client = nullptr;
    const auto patience = Clock::now() + std::chrono::seconds(30);
    const auto left = [] {
      int64_t n = 0;
      for (const auto kind : {plugin::ObjectKind::kClient, plugin::ObjectKind::kBuffer, plugin::ObjectKind::kStorage,
                              plugin::ObjectKind::kEvent, plugin::ObjectKind::kLoadedExecutable})
        n += plugin::LiveObjects(kind);
      return n;
    };
    while (left() > 0 && Clock::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(left(), 0) << "round " << round;
    if (round == 3) resident = ResidentKib();
  }
  if (resident > 0) EXPECT_LT(ResidentKib(), resident + resident / 2 + (64 << 10)) << "KiB after the first rounds";
  std::printf("soak: %lld steps\n", static_cast<long long>(steps.load()));
}

}  // namespace
}  // namespace tenon::cpu
