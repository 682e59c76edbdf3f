// Runs kernels in their text form on a software device and on KIR's evaluator, on random memory.
//
//   emit_spirv_judge [--bake] [--time N] [--params N,...] FILES...
//
// '-' reads standard input; parameters that are not given are 7.
// --time runs each N times without the evaluator and prints the least CPU time of all threads.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "tenon/kir/kir.h"
#include "test/emit_spirv/run.h"

namespace {

tenon::Result<std::string> Judge(const std::string& text, std::vector<int64_t> params, bool bake) {
  TENON_ASSIGN_OR_RETURN(const tenon::kir::Kernel kernel, tenon::kir::Parse(text));
  params.resize(kernel.num_params, 7);
  TENON_ASSIGN_OR_RETURN(const auto device, tenon::emit_spirv::testing::TestedDevice());
  return tenon::emit_spirv::testing::Judge(*device, bake ? tenon::emit_spirv::Bake(kernel, params) : kernel, params,
                                           int64_t{1} << 30);
}

double CpuMs() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

tenon::Status Time(const std::string& text, std::vector<int64_t> params, int times) {
  TENON_ASSIGN_OR_RETURN(const tenon::kir::Kernel parsed, tenon::kir::Parse(text));
  params.resize(parsed.num_params, 7);
  const tenon::kir::Kernel kernel = tenon::emit_spirv::Bake(parsed, params);
  TENON_ASSIGN_OR_RETURN(const auto device, tenon::emit_spirv::testing::TestedDevice());
  TENON_ASSIGN_OR_RETURN(const auto target, tenon::target::TargetByName("gpu:software"));
  TENON_ASSIGN_OR_RETURN(const tenon::emit_spirv::Module module,
                         tenon::emit_spirv::Emit(kernel, target, tenon::emit_spirv::Places::kAligned));
  tenon::kir::testing::Memory memory = tenon::emit_spirv::testing::SmallNumbers(kernel, {});
  double first = 0, best = 1e30;
  TENON_RETURN_IF_ERROR(tenon::emit_spirv::testing::Run(*device, module, {}, memory, [&](const auto& submit) {
    for (int i = 0; i < times; ++i) {
      const double start = CpuMs();
      submit();
      const double ms = CpuMs() - start;
      if (i == 0) first = ms;
      best = std::min(best, ms);
    }
  }));
  std::printf("%zu words, %zu launches, cpu ms: first %.1f, best %.2f\n", module.words.size(), module.dispatches.size(),
              first, best);
  return tenon::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  bool bake = false;
  int bad = 0, times = 0;
  std::vector<int64_t> params;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--bake") {
      bake = true;
      continue;
    }
    if (name == "--time") {
      times = std::atoi(argv[++i]);
      continue;
    }
    if (name == "--params") {
      std::stringstream list(argv[++i]);
      for (std::string number; std::getline(list, number, ',');) params.push_back(std::atoll(number.c_str()));
      continue;
    }
    std::ifstream file(name);
    std::istream& in = name == "-" ? std::cin : file;
    if (times > 0) {
      const tenon::Status timed = Time(std::string(std::istreambuf_iterator<char>(in), {}), params, times);
      if (!timed.ok()) std::printf("%s\n", timed.ToString().c_str());
      continue;
    }
    const auto difference = Judge(std::string(std::istreambuf_iterator<char>(in), {}), params, bake);
    bad += !difference.ok() || !difference->empty();
    std::printf("%s: %s\n", name.c_str(),
                !difference.ok()      ? difference.status().ToString().c_str()
                : difference->empty() ? "the same"
                                      : difference->c_str());
  }
  return bad != 0;
}
