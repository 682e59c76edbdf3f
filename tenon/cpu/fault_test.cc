// Fails the n-th allocation, for one n after the other, in what callers ask of a client: each time there must be a
// status and a client that works. TENON_FAULT_STRIDE=1 tries every n; by default later ones are taken with growing
// steps.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "tenon/base/contain.h"
#include "tenon/cpu/client.h"
#include "tenon/cpu/device.h"
#include "tenon/plugin/transfers.h"

namespace {

// Allocations until one fails; 0 and below: none does.
std::atomic<int64_t> countdown{0};
std::atomic<int64_t> failed{0};
uintptr_t program_begin = 0, program_end = 0;

// Only what this program's code asks for fails: what LLVM's library cannot get ends the process by its own design.
bool Fails(const void* caller) {
  if (countdown.load(std::memory_order_relaxed) <= 0) return false;
  const auto address = reinterpret_cast<uintptr_t>(caller);
  if (address < program_begin || address >= program_end) return false;
  if (countdown.fetch_sub(1, std::memory_order_relaxed) != 1) return false;
  failed.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void* Allocate(size_t size, size_t alignment, const void* caller) {
  if (Fails(caller)) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* OrThrow(void* data) {
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace

#define CALLER __builtin_return_address(0)
constexpr size_t kPlain = alignof(std::max_align_t);
void* operator new(size_t n) { return OrThrow(Allocate(n, kPlain, CALLER)); }
void* operator new[](size_t n) { return OrThrow(Allocate(n, kPlain, CALLER)); }
void* operator new(size_t n, std::align_val_t a) { return OrThrow(Allocate(n, static_cast<size_t>(a), CALLER)); }
void* operator new[](size_t n, std::align_val_t a) { return OrThrow(Allocate(n, static_cast<size_t>(a), CALLER)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return Allocate(n, kPlain, CALLER); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return Allocate(n, kPlain, CALLER); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Allocate(n, static_cast<size_t>(a), CALLER);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }

extern "C" char __executable_start, _end;

namespace tenon::cpu {
namespace {

constexpr std::string_view kSmall = R"(func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.add %x, %x : tensor<8xf32>
  %1 = stablehlo.sine %0 : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32> })";
constexpr std::string_view kLarge = R"(func.func @main(%x: tensor<300x300xf32>) -> tensor<300x300xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<300x300xf32>, tensor<300x300xf32>) -> tensor<300x300xf32>
  %1 = stablehlo.tanh %0 : tensor<300x300xf32>
  return %1 : tensor<300x300xf32> })";

class FaultTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    program_begin = reinterpret_cast<uintptr_t>(&__executable_start);
    program_end = reinterpret_cast<uintptr_t>(&_end);
  }
  void SetUp() override {
    alarm(300);  // A hang fails.
    client_ = *CpuClient::Create({1, int64_t{1} << 30});
  }
  void TearDown() override { alarm(0); }

  CpuClient& cpu() { return static_cast<CpuClient&>(*client_); }

  Result<plugin::Ref<plugin::LoadedExecutable>> Compile(std::string_view program) {
    plugin::CompileOptions options;
    TENON_ASSIGN_OR_RETURN(const plugin::DeviceAssignment assignment, client_->ResolveAssignment(options));
    return client_->Compile({program, "mlir"}, options, assignment);
  }

  Status Run(plugin::LoadedExecutable& executable) {
    const plugin::ArraySpec& spec = executable.info().parameters[0].array;
    std::vector<float> host(static_cast<size_t>(NumElements(spec.shape.dims)), 1.0f);
    const plugin::HostArray array{.data = host.data(), .shape = spec.shape, .byte_strides = {}};
    plugin::Device* device = client_->devices()[0];
    TENON_ASSIGN_OR_RETURN(plugin::Upload upload, plugin::UploadArray(device, device->default_memory(), array, {},
                                                                      plugin::HostSemantics::kOnlyDuringCall));
    TENON_ASSIGN_OR_RETURN(plugin::BufferUse use, upload.buffer->Use());
    std::vector<plugin::Argument> arguments = {{.storage = use.storage, .ready = use.ready}};
    std::vector<plugin::Ref<plugin::Buffer>> outputs(executable.info().outputs.size());
    plugin::DeviceExecution execution{.device = device, .arguments = arguments, .outputs = outputs};
    plugin::ExecuteRequest request{.devices = {&execution, 1}};
    TENON_RETURN_IF_ERROR(executable.Execute(request));
    std::vector<float> back(host.size());
    Status read = plugin::Download(*outputs[0], {}, back.data()).Wait();
    Status done = execution.done.Wait();
    TENON_RETURN_IF_ERROR(read);
    return done;
  }

  /// Lets each allocation of `work` fail in turn and calls `check` after each. Returns how many there were.
  int64_t FailEach(const std::function<Status()>& work, const std::function<void()>& check) {
    const char* wanted = std::getenv("TENON_FAULT_STRIDE");
    const int64_t stride = wanted == nullptr ? 0 : std::atoll(wanted);
    int64_t n = 1, errors = 0;
    for (;; n += stride > 0 ? stride : 1 + n / 40) {
      SCOPED_TRACE("allocation " + std::to_string(n));
      failed = 0;
      countdown = n;
      const Status status = Contain("a call", work);
      countdown = 0;
      if (failed == 0) {
        EXPECT_TRUE(status.ok()) << status.ToString();
        break;
      }
      // Some are done without: then there is a result.
      if (!status.ok()) {
        ++errors;
        EXPECT_EQ(status.code(), tenon::Code::kResourceExhausted) << status.ToString();
        EXPECT_FALSE(status.message().empty());
      }
      check();
      if (HasFailure()) break;
    }
    EXPECT_GT(errors, 0);
    return n;
  }

  plugin::Ref<plugin::Client> client_;
};

TEST_F(FaultTest, InlineExecution) {
  auto executable = Compile(kSmall);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  ASSERT_TRUE(Run(**executable).ok());
  FailEach([&] { return Run(**executable); }, [&] { EXPECT_TRUE(Run(**executable).ok()); });
  EXPECT_EQ(cpu().memory_pool()->statistics().bytes_in_use, 0);
}

TEST_F(FaultTest, QueuedExecution) {
  auto executable = Compile(kLarge);
  ASSERT_TRUE(executable.ok()) << executable.status().ToString();
  ASSERT_TRUE(Run(**executable).ok());
  FailEach([&] { return Run(**executable); }, [&] { EXPECT_TRUE(Run(**executable).ok()); });
}

TEST_F(FaultTest, Transfers) {
  const Shape shape{DType::kF32, {1000, 500}};  // Too large for the caller's thread.
  std::vector<float> host(500'000), back(host.size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i);
  plugin::Device* device = client_->devices()[0];
  const auto there_and_back = [&]() -> Status {
    std::fill(back.begin(), back.end(), 0.0f);
    const plugin::HostArray array{.data = host.data(), .shape = shape, .byte_strides = {}};
    TENON_ASSIGN_OR_RETURN(plugin::Upload upload, plugin::UploadArray(device, device->default_memory(), array, {0, 1},
                                                                      plugin::HostSemantics::kUntilTransferCompletes));
    Result<plugin::Ref<plugin::Buffer>> copy = Internal("none");
    const Status copied = Contain("copy", [&]() -> Status {
      TENON_ASSIGN_OR_RETURN(copy, plugin::CopyBuffer(*upload.buffer, device, device->default_memory()));
      return plugin::Download(**copy, {1, 0}, back.data()).Wait();
    });
    const Status uploaded = upload.done.Wait();  // The host's array is ours until then.
    TENON_RETURN_IF_ERROR(copied);
    TENON_RETURN_IF_ERROR(uploaded);
    return back == host ? OkStatus() : Internal("other numbers came back");
  };
  ASSERT_TRUE(there_and_back().ok());
  FailEach(there_and_back, [&] {
    const Status s = there_and_back();
    EXPECT_TRUE(s.ok()) << s.ToString();
  });
}

TEST_F(FaultTest, Clients) {
  FailEach(
      [&]() -> Status {
        TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Client> other, CpuClient::Create({2, int64_t{1} << 30}));
        return OkStatus();
      },
      [] {});
}

TEST_F(FaultTest, Compiling) {
#ifdef TENON_STATIC_LLVM
  GTEST_SKIP() << "LLVM is part of this program, and ends it when it gets no memory: the dev preset, where it is a "
                  "library, runs this test";
#endif
  auto executable = Compile(kSmall);
  ASSERT_TRUE(executable.ok());
  int number = 0;
  FailEach(
      [&]() -> Status {
        // Another program each time: no kernel comes out of the cache.
        const std::string width = std::to_string(++number + 8);
        std::string program(kSmall);
        for (size_t at; (at = program.find("tensor<8x")) != std::string::npos;)
          program.replace(at, 9, "tensor<" + width + "x");
        return Compile(program).status();
      },
      [&] { EXPECT_TRUE(Run(**executable).ok()); });
}

}  // namespace
}  // namespace tenon::cpu
