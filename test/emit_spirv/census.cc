// Compiles programs for a GPU and says how many of their kernels are emitted, why others are not, and how large modules
// are.
//
//   emit_spirv_census [--target NAME] [--run BYTES] FILES...
//
// --run runs kernels with arrays of at most that size on a software device and compares with the evaluator.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"
#include "test/emit_spirv/run.h"

namespace {

struct Census {
  tenon::target::Target target;
  int64_t run_bytes = 0;
  std::set<std::string> seen;
  int64_t kernels = 0, emitted = 0, launches = 0, words = 0, most_words = 0, run = 0, same = 0;
  double emit_us = 0;
  std::map<std::string, std::pair<int64_t, std::string>> refused;  ///< How many, and a program.

  void Add(const tenon::kir::Kernel& kernel, const std::string& program) {
    if (!seen.insert(tenon::kir::Print(kernel)).second) return;
    ++kernels;
    const auto start = std::chrono::steady_clock::now();
    const auto module = tenon::emit_spirv::Emit(kernel, target);
    emit_us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    if (!module.ok()) {
      auto& [count, example] = refused[std::string(module.status().message())];
      if (count++ == 0) example = program;
      return;
    }
    ++emitted;
    launches += std::ssize(module->dispatches);
    words += std::ssize(module->words);
    most_words = std::max<int64_t>(most_words, std::ssize(module->words));
    if (run_bytes == 0) return;
    const auto device = tenon::emit_spirv::testing::TestedDevice();
    if (!device.ok()) return;
    const auto difference = tenon::emit_spirv::testing::Judge(**device, kernel, {}, run_bytes);
    if (!difference.ok() && (difference.status().code() == tenon::Code::kOutOfRange ||
                             difference.status().message().starts_with("the evaluator"))) {
      return;
    }
    ++run;
    same += difference.ok() && difference->empty();
    if (difference.ok() && difference->empty()) return;
    fmt::print("{}: {}\n{}\n", program, difference.ok() ? *difference : difference.status().ToString(),
               tenon::kir::Print(kernel));
  }

  void AddSteps(const tenon::plan::Plan& plan, const tenon::plan::Seq& seq, const std::string& program) {
    for (const tenon::plan::Step& step : seq) {
      if (const auto* k = std::get_if<tenon::plan::KernelStep>(&step.is)) {
        const std::vector<int64_t> params(k->params.begin(), k->params.end());
        Add(tenon::emit_spirv::Bake(plan.kernels[k->kernel], params), program);
      } else if (const auto* w = std::get_if<tenon::plan::WhileStep>(&step.is)) {
        AddSteps(plan, w->condition, program);
        AddSteps(plan, w->body, program);
      } else if (const auto* c = std::get_if<tenon::plan::CaseStep>(&step.is)) {
        for (const auto& branch : c->branches) AddSteps(plan, branch, program);
      }
    }
  }

  void Print() const {
    const auto per = [&](double n) { return n / static_cast<double>(std::max<int64_t>(1, emitted)); };
    fmt::print("{} kernels, {} emitted ({:.2f} %); a kernel: {:.2f} launches, {:.0f} words (at most {}), {:.0f} us\n",
               kernels, emitted,
               100.0 * static_cast<double>(emitted) / static_cast<double>(std::max<int64_t>(1, kernels)),
               per(static_cast<double>(launches)), per(static_cast<double>(words)), most_words, per(emit_us));
    if (run_bytes != 0) fmt::print("{} run, {} the same\n", run, same);
    for (const auto& [why, what] : refused) fmt::print("  {:5} {} ({})\n", what.first, why, what.second);
  }
};

}  // namespace

int main(int argc, char** argv) {
  tenon::compiler::CompileOptions options;
  std::string target = "gpu:software";
  Census census;
  int failed = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--target") {
      target = argv[++i];
      continue;
    }
    if (arg == "--run") {
      census.run_bytes = std::atoll(argv[++i]);
      continue;
    }
    if (const tenon::Status known = tenon::test::CompileFor(target, options); !known.ok()) {
      fmt::print("{}\n", known.ToString());
      return 1;
    }
    census.target = options.target;
    std::ifstream file(arg, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto program = tenon::compiler::Compile(bytes, options);
    if (!program.ok()) {
      ++failed;
      continue;
    }
    census.AddSteps(program->plan, program->plan.steps, arg.substr(arg.rfind('/') + 1));
  }
  census.Print();
  fmt::print("{} programs were not compiled\n", failed);
  return census.run != census.same;
}
