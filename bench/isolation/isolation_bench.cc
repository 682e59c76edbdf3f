// What a process of its own costs a plugin: the same calls on a plugin in this process and on the same plugin isolated.
// usage: isolation_bench PLUGIN.so ISOLATED.so
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tenon/client/client.h"

namespace {

using namespace tenon;  // NOLINT(google-build-using-namespace): a main program.
using client::Buffer;

double NowUs() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void Die(const Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}
void Check(const Status& status) {
  if (!status.ok()) Die(status);
}
template <class T>
T Take(Result<T> result) {
  if (!result.ok()) Die(result.status());
  return std::move(result).value();
}

struct Figures {
  double median = 0, best = 0;
};
// Microseconds per call of `work`, which does `per_call` of them.
Figures Measure(int calls, const std::function<void()>& work, int per_call = 1) {
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    const double begin = NowUs();
    work();
    times.push_back((NowUs() - begin) / per_call);
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

std::string Add(int64_t n) {
  const std::string type = "tensor<" + std::to_string(n) + "xf32>";
  return "func.func @main(%a: " + type + ") -> " + type + " {\n %0 = stablehlo.add %a, %a : " + type +
         "\n return %0 : " + type + "\n}\n";
}

std::vector<std::pair<std::string, Figures>> Run(const std::string& path) {
  std::vector<std::pair<std::string, Figures>> rows;
  const client::Plugin plugin = Take(client::Plugin::LoadFile(path));
  const double begin = NowUs();
  const client::Client c = Take(plugin.CreateClient());
  rows.push_back({"client", {NowUs() - begin, NowUs() - begin}});
  const client::LoadedExecutable add = Take(c.Compile(std::string_view(Add(1))));
  const Buffer one = Take(c.ToDevice(std::vector<float>{1}, {1}));
  std::vector<Buffer> out(1);
  const Buffer* arguments[] = {&one};
  rows.push_back({"add of 1 element, waiting", Measure(5000, [&] {
                    Check(add.ExecuteInto(arguments, out));
                    Check(out[0].Await());
                  })});
  rows.push_back({"the same, enqueued 100 times, then waiting: per enqueue", [&] {
                    std::vector<double> times;
                    for (int i = 0; i < 200; ++i) {
                      const double start = NowUs();
                      for (int k = 0; k < 100; ++k) Check(add.ExecuteInto(arguments, out));
                      times.push_back((NowUs() - start) / 100);
                      Check(out[0].Await());
                    }
                    std::sort(times.begin(), times.end());
                    return Figures{times[100], times[0]};
                  }()});
  rows.push_back({"10 in a chain, one wait", Measure(1000, [&] {
                    const Buffer* x[] = {&one};
                    std::vector<Buffer> now(1), next(1);
                    for (int k = 0; k < 10; ++k) {
                      Check(add.ExecuteInto(x, next));
                      now = std::move(next);
                      next = std::vector<Buffer>(1);
                      x[0] = now.data();
                    }
                    Check(now[0].Await());
                  })});
  constexpr int64_t kLarge = 16 << 20;
  const client::LoadedExecutable large = Take(c.Compile(std::string_view(Add(kLarge))));
  std::vector<float> data(kLarge, 1);
  Buffer x;
  rows.push_back({"upload of 64 MB", Measure(10, [&] {
                    x = Take(c.ToDevice(data, {kLarge}));
                    Check(x.Await());
                  })});
  const Buffer* big[] = {&x};
  rows.push_back({"add of 64 MB, waiting", Measure(20, [&] {
                    Check(large.ExecuteInto(big, out));
                    Check(out[0].Await());
                  })});
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: isolation_bench PLUGIN.so ISOLATED.so\n");
    return 2;
  }
  ::setenv("TENON_ISOLATE_PLUGIN", argv[1], 1);
  const auto here = Run(argv[1]), isolated = Run(argv[2]);
  std::printf("%-60s %22s %22s\n", "microseconds, median (best)", "in process", "isolated");
  for (size_t i = 0; i < here.size(); ++i) {
    std::printf("%-60s %11.2f (%8.2f) %11.2f (%8.2f)\n", here[i].first.c_str(), here[i].second.median,
                here[i].second.best, isolated[i].second.median, isolated[i].second.best);
  }
  return 0;
}
