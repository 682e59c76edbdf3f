// client_bench PLUGIN [OPTIONS]: an add of one element by bare C calls and through the client library, on the same
// plugin and program. Prints nanoseconds per execution, the median of the rounds' differences, and the least of each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tenon/client/client.h"

namespace {

using namespace tenon::client;

constexpr int kRounds = 101;
constexpr int kRuns = 2000;

constexpr const char* kAdd = R"(
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
  %0 = stablehlo.add %x, %y : tensor<1xf32>
  return %0 : tensor<1xf32>
})";

template <class F>
double Nanoseconds(F run) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) run();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / kRuns;
}

tenon::Status Run(const char* path, const char* options_text) {
  TENON_ASSIGN_OR_RETURN(const Plugin plugin, Plugin::Load(path));
  TENON_ASSIGN_OR_RETURN(const Options options, Options::Parse(options_text));
  TENON_ASSIGN_OR_RETURN(const Client client, plugin.CreateClient(options));
  TENON_ASSIGN_OR_RETURN(const LoadedExecutable add, client.Compile(kAdd));
  TENON_ASSIGN_OR_RETURN(const Buffer x, client.ToDevice(std::vector<float>{1}, {1}));
  TENON_ASSIGN_OR_RETURN(const Buffer y, client.ToDevice(std::vector<float>{2}, {1}));
  const PJRT_Api* const c = plugin.api().raw();
  const int64_t keep[] = {0, 1};

  // Both sides do the same: run, and destroy the output.
  const auto bare = [&](size_t num_keep) {
    PJRT_ExecuteOptions run_options{};
    run_options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
    run_options.non_donatable_input_indices = keep;
    run_options.num_non_donatable_input_indices = num_keep;
    PJRT_Buffer* arguments[] = {x.get(), y.get()};
    PJRT_Buffer* const* argument_list = arguments;
    PJRT_Buffer* output = nullptr;
    PJRT_Buffer** output_list = &output;
    auto args = MakeArgs<PJRT_LoadedExecutable_Execute_Args>();
    args.executable = add.get();
    args.options = &run_options;
    args.argument_lists = &argument_list;
    args.num_devices = 1;
    args.num_args = 2;
    args.output_lists = &output_list;
    if (c->PJRT_LoadedExecutable_Execute(&args) != nullptr) std::abort();
    auto destroy = MakeArgs<PJRT_Buffer_Destroy_Args>();
    destroy.buffer = output;
    c->PJRT_Buffer_Destroy(&destroy);
  };
  const auto library = [&] {
    auto out = add.Execute({&x, &y});
    if (!out.ok()) std::abort();
  };
  std::vector<Buffer> outputs(1);
  const Buffer* arguments[] = {&x, &y};
  const auto into = [&] {
    if (!add.ExecuteInto(arguments, outputs).ok()) std::abort();
    outputs[0] = Buffer();
  };
  std::vector<double> bares, keeps, libraries, intos, differences, differences_into;
  for (int i = 0; i < kRounds; ++i) {
    bares.push_back(Nanoseconds([&] { bare(0); }));
    keeps.push_back(Nanoseconds([&] { bare(2); }));
    libraries.push_back(Nanoseconds(library));
    intos.push_back(Nanoseconds(into));
    differences.push_back(libraries.back() - bares.back());
    differences_into.push_back(intos.back() - bares.back());
  }
  const auto least = [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); };
  const auto median = [](std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  std::printf("%s %s: add of one element, ns per execution (least)\n", plugin.name().c_str(), plugin.version().c_str());
  std::printf("  bare C calls                      %8.1f\n", least(bares));
  std::printf("  bare C calls, nothing donatable   %8.1f\n", least(keeps));
  std::printf("  Execute                           %8.1f   overhead %7.1f least, %7.1f median\n", least(libraries),
              least(libraries) - least(bares), median(differences));
  std::printf("  ExecuteInto                       %8.1f   overhead %7.1f least, %7.1f median\n", least(intos),
              least(intos) - least(bares), median(differences_into));
  return tenon::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s PLUGIN [name=value,...]\n", argv[0]);
    return 2;
  }
  const tenon::Status status = Run(argv[1], argc > 2 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
