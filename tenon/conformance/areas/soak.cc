// What repeating costs: memory, file descriptors and threads that objects held are there again when they are gone.
#include <dirent.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

constexpr int64_t kMiB = 1 << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepsFreed = true;
#elif defined(__has_feature)
constexpr bool kKeepsFreed = __has_feature(address_sanitizer);
#else
constexpr bool kKeepsFreed = false;
#endif

// Bytes of this process that lie in memory.
int64_t ResidentBytes() {
  malloc_trim(0);  // What the allocator keeps is nobody's.
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t EntriesOf(const char* folder) {
  DIR* dir = opendir(folder);
  if (dir == nullptr) return 0;
  int64_t n = 0;
  while (readdir(dir) != nullptr) ++n;
  closedir(dir);
  return n;
}

// `work` many times over may not take more than `most` bytes for good. What it takes the first times stays uncounted:
// caches and pools fill.
void KeepsItsSize(Env& env, int times, int64_t most, const std::function<void()>& work) {
  for (int i = 0; i < times / 4 + 1; ++i) work();
  const int64_t before = ResidentBytes();
  for (int i = 0; i < times; ++i) work();
  if (kKeepsFreed) return;  // The sanitizer does, to notice who still uses it.
  const int64_t grown = ResidentBytes() - before;
  env.Expect(grown <= most,
             fmt::format("{} MiB more after {} times, wanted {} at most", grown / kMiB, times, most / kMiB));
}

// a + a, and a plus a constant whose bytes no compression makes smaller.
constexpr char kDoubleProgram[] = R"(module @double {
  func.func public @main(%arg0: tensor<65536xf32>) -> tensor<65536xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<65536xf32>
    return %0 : tensor<65536xf32>
  }
})";
std::string LargeProgram() {
  std::string digits;
  uint32_t state = 1;
  for (int64_t i = 0; i < kMiB / 2; ++i) {
    state = state * 1664525 + 1013904223;
    digits += "0123456789ABCDEF"[state >> 28];
  }
  return fmt::format(R"(module @large {{
  func.func public @main(%arg0: tensor<65536xf32>) -> tensor<65536xf32> {{
    %c = stablehlo.constant dense<"0x{}"> : tensor<65536xf32>
    %0 = stablehlo.add %arg0, %c : tensor<65536xf32>
    return %0 : tensor<65536xf32>
  }}
}})",
                     digits);
}

}  // namespace

void AddSoakTests(Suite& suite) {
  suite.Add("soak.uploads", Needs::kClient, "buffers that are destroyed give their memory back", kClients,
            [](Env& env) {
              const std::vector<float> values(65536, 1.5F);
              KeepsItsSize(env, 200, 15 * kMiB, [&] {
                const Buffer buffer = env.Upload(values, {65536});
                env.Expect(env.Ready(buffer).ok(), "the buffer is not ready");
              });
            });
  suite.Add("soak.executions", Needs::kClient, "outputs that are destroyed give their memory back", kClients,
            [](Env& env) {
              const std::vector<float> values(65536, 1.5F);
              const Buffer argument = env.Upload(values, {65536});
              const Loaded loaded = env.Compile(kDoubleProgram);
              KeepsItsSize(env, 200, 15 * kMiB, [&] { (void)env.Execute(loaded, {argument}); });
            });
  suite.Add("soak.deletions", Needs::kClient, "a deleted buffer holds no memory, though it is not destroyed yet",
            kHeader, [](Env& env) {
              const std::vector<float> values(65536, 1.5F);
              std::vector<Buffer> kept;
              KeepsItsSize(env, 200, 15 * kMiB, [&] {
                kept.push_back(env.Upload(values, {65536}));
                env.Expect(env.Ready(kept.back()).ok(), "the buffer is not ready");
                env.Delete(kept.back());
              });
            });
  suite.Add("soak.compiles", Needs::kClient, "executables that are destroyed give their memory back", kClients,
            [](Env& env) {
              const std::string program = LargeProgram();
              KeepsItsSize(env, 80, 8 * kMiB, [&] { (void)env.Compile(program); });
            });
  suite.Add("soak.errors", Needs::kClient, "errors that are destroyed give their memory back", kHeader, [](Env& env) {
    KeepsItsSize(env, 60000, 3 * kMiB, [&] {
      auto args = New<PJRT_Client_LookupDevice_Args>();
      args.client = env.client();
      args.id = -12345;
      env.Expect(!env.Try(args).ok(), "there is a device of number -12345");
    });
  });
  suite.Add("soak.clients", Needs::kClient, "clients that are destroyed leave no threads and no open files", kClients,
            [](Env& env) {
              const auto work = [&] {
                const Client client = env.NewClient();
                (void)env.Compile(kAddProgram, Env::kOneDevice, client);
              };
              for (int i = 0; i < 3; ++i) work();
              const int64_t files = EntriesOf("/proc/self/fd"), threads = EntriesOf("/proc/self/task");
              for (int i = 0; i < 10; ++i) work();
              // Threads may take a moment to end.
              const auto settled = [&](const char* folder, int64_t most) {
                return Eventually([&] { return EntriesOf(folder) <= most; }, 2000);
              };
              env.Expect(settled("/proc/self/fd", files + 4), "open files stay behind");
              env.Expect(settled("/proc/self/task", threads + 4), "threads stay behind");
            });
}

}  // namespace tenon::conformance
