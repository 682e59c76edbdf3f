// What calls cost. Nothing is judged: times are another machine's tomorrow. Reports show the figures.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

constexpr int64_t kLargeElements = int64_t{16} << 20;  // f32, 64 MiB.

// Seconds that `work` takes: the least of five tries of `times` each.
double SecondsOf(int times, const std::function<void()>& work) {
  work();  // What the first call prepares is not counted.
  double least = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / times);
  }
  return least;
}

std::string Microseconds(double seconds) { return fmt::format("{:.3g} us", seconds * 1e6); }
std::string Rate(double seconds) {
  return fmt::format("{:.3g} GB/s", static_cast<double>(kLargeElements) * sizeof(float) / seconds / 1e9);
}

}  // namespace

void AddPerformanceTests(Suite& suite) {
  suite.Add("performance.execute", Needs::kClient, "a program of four numbers, until its result is ready", kClients,
            [](Env& env) {
              const Loaded loaded = env.Compile(kAddOneProgram);
              const Buffer argument = env.Four();
              env.Note(Microseconds(SecondsOf(200, [&] { (void)env.Execute(loaded, {argument}); })));
            });
  suite.Add("performance.chain", Needs::kClient, "one of 100 such programs, each on the result of the one before",
            kClients, [](Env& env) {
              const Loaded loaded = env.Compile(kAddOneProgram);
              constexpr int kLength = 100;
              const double seconds = SecondsOf(5, [&] {
                Buffer value = env.Four();
                for (int i = 0; i < kLength; ++i) {
                  Run run = env.Start(loaded, {{value}});
                  value = std::move(run.outputs[0][0]);
                }
                env.Expect(env.Ready(value).ok(), "the last result is not ready");
              });
              env.Note(Microseconds(seconds / kLength));
            });
  suite.Add("performance.upload_small", Needs::kClient, "four numbers to the device", kClients, [](Env& env) {
    env.Note(Microseconds(SecondsOf(500, [&] { env.Expect(env.Ready(env.Four()).ok(), "the upload failed"); })));
  });
  suite.Add("performance.upload", Needs::kClient, "64 MiB to the device", kClients, [](Env& env) {
    const std::vector<float> values(kLargeElements, 1);
    env.Note(Rate(
        SecondsOf(1, [&] { env.Expect(env.Ready(env.Upload(values, {kLargeElements})).ok(), "the upload failed"); })));
  });
  suite.Add("performance.download", Needs::kClient, "64 MiB from the device", kClients, [](Env& env) {
    const Buffer buffer = env.Upload(std::vector<float>(kLargeElements, 1), {kLargeElements});
    Bytes bytes(kLargeElements * sizeof(float));
    env.Note(Rate(SecondsOf(1, [&] {
      auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
      args.src = buffer;
      args.dst = bytes.data();
      args.dst_size = bytes.size();
      env.Ok(args);
      const Event done(env, args.event);
      env.Expect(env.Await(done).ok(), "the download failed");
    })));
  });
  suite.Add("performance.compile", Needs::kClient, "compiling an addition", kClients,
            [](Env& env) { env.Note(Microseconds(SecondsOf(3, [&] { (void)env.Compile(kAddProgram); }))); });
  suite.Add("performance.client", Needs::kClient, "creating and destroying a client", kClients,
            [](Env& env) { env.Note(Microseconds(SecondsOf(1, [&] { (void)env.NewClient(); }))); });
}

}  // namespace tenon::conformance
