// Compiles programs and says what became of them: one line each with steps by kind and time per phase. With --check,
// runs the plan the slow way on random arguments and compares with the reference.
//
//   compile_report [--check] [--hash] [--codegen LEVEL] [--repeat N] [--partitions N] [--dump DIR] [--target NAME]
//   FILES...
//
// --target compiles for a target that has a name, and what it has no code for runs on its host.
//
// --hash prints a number of each plan's text, kernels included, in place of the times: two builds that make the same of
// all programs print the same.
//
// --codegen makes the kernels' code too, for an ISA level that need not be this machine's (more than once for several):
// how many were left to LLVM's code generator and why, and what a kernel costs.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tenon/compiler/compile.h"
#include "tenon/emit_llvm/emit.h"
#include "tenon/isa/isa.h"
#include "test/compiler/compare.h"
#include "test/compiler/plan_interpreter.h"

namespace {

void OpsOf(const tenon::plan::Seq& seq, std::multiset<std::string>& ops) {
  for (const tenon::plan::Step& step : seq) {
    if (auto* e = std::get_if<tenon::plan::EvaluateStep>(&step.is)) ops.insert(e->op);
    if (auto* w = std::get_if<tenon::plan::WhileStep>(&step.is)) {
      OpsOf(w->condition, ops);
      OpsOf(w->body, ops);
    }
    if (auto* c = std::get_if<tenon::plan::CaseStep>(&step.is)) {
      for (const auto& s : c->branches) OpsOf(s, ops);
    }
  }
}

/// What code generation for one level came to, over all programs.
struct Codegen {
  tenon::isa::IsaLevel level;
  int kernels = 0;
  int by_llvm = 0;
  double own_us = 0;
  double llvm_us = 0;
  double emit_us = 0;
  int64_t code_bytes = 0;
  int spilling = 0;
  int64_t frame_bytes = 0;
  int64_t spills = 0;
  int64_t reloads = 0;
  std::map<std::string, int> reasons;
  std::map<std::string, std::string> example;
  std::set<const void*> seen{};

  tenon::Status Add(const tenon::plan::Plan& plan, const std::string& name) {
    std::vector<const tenon::kir::Kernel*> of_plan;
    for (const tenon::kir::Kernel& k : plan.kernels) of_plan.push_back(&k);
    TENON_ASSIGN_OR_RETURN(auto made, tenon::emit_llvm::CompileKernels(of_plan, {.isa = level}));
    for (const auto& k : made) {
      if (!seen.insert(k.get()).second) continue;  // equal kernels count once
      kept.push_back(k);
      ++kernels;
      emit_us += k->times.emit_us;
      code_bytes += k->code_bytes;
      spilling += k->spills + k->reloads > 0;
      frame_bytes += k->frame_bytes;
      spills += k->spills;
      reloads += k->reloads;
      (k->llvm_reason.empty() ? own_us : llvm_us) += k->times.codegen_us;
      if (k->llvm_reason.empty()) continue;
      ++by_llvm;
      ++reasons[k->llvm_reason];
      example.try_emplace(k->llvm_reason, name);
    }
    return tenon::OkStatus();
  }
  void Print() const {
    fmt::print("{}: {} kernels, {} by LLVM ({:.2f} %), us per kernel: emit {:.0f}, own {:.0f}, LLVM {:.0f}\n",
               tenon::isa::IsaLevelName(level), kernels, by_llvm, 100.0 * by_llvm / std::max(1, kernels),
               emit_us / std::max(1, kernels), own_us / std::max(1, kernels - by_llvm), llvm_us / std::max(1, by_llvm));
    fmt::print(
        "  {} bytes of code; {} kernels move values to and from memory: {} bytes of stack, {} spills, {} reloads\n",
        code_bytes, spilling, frame_bytes, spills, reloads);
    std::vector<std::pair<int, std::string>> sorted;
    for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
    std::sort(sorted.rbegin(), sorted.rend());
    for (const auto& [count, reason] : sorted) fmt::print("  {:5} {:60} {}\n", count, reason, example.at(reason));
  }

 private:
  std::vector<std::shared_ptr<const tenon::emit_llvm::CompiledKernel>> kept{};
};

}  // namespace

int main(int argc, char** argv) {
  bool check = false;
  bool hash = false;
  int repeat = 1;
  std::vector<Codegen> codegen;
  tenon::compiler::CompileOptions options = tenon::test::CpuOptions();
  int failed = 0;
  int native = 0;
  int total = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--check") {
      check = true;
      continue;
    }
    if (arg == "--hash") {
      hash = true;
      continue;
    }
    if (arg == "--codegen") {
      const tenon::Result<tenon::isa::IsaLevel> level = tenon::isa::ParseIsaLevel(argv[++i]);
      if (!level.ok()) {
        fmt::print("{}\n", level.status().ToString());
        return 1;
      }
      codegen.emplace_back().level = *level;
      continue;
    }
    if (arg == "--repeat") {
      repeat = std::atoi(argv[++i]);
      continue;
    }
    if (arg == "--partitions") {
      options.num_partitions = std::atoi(argv[++i]);
      continue;
    }
    if (arg == "--target") {
      const tenon::Status known = tenon::test::CompileFor(argv[++i], options);
      if (!known.ok()) {
        fmt::print("{}\n", known.ToString());
        return 1;
      }
      continue;
    }
    if (arg == "--dump") {
      options.dump_dir = argv[++i];
      continue;
    }
    std::ifstream file(arg, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::string name = arg.substr(arg.rfind('/') + 1);
    ++total;
    tenon::Result<tenon::compiler::CompiledProgram> program = tenon::compiler::Compile(bytes, options);
    for (int r = 1; r < repeat && program.ok(); ++r) program = tenon::compiler::Compile(bytes, options);
    if (!program.ok()) {
      fmt::print("{:32} FAILED {}\n", name, program.status().ToString());
      ++failed;
      continue;
    }
    const auto& s = program->statistics;
    const tenon::plan::Statistics c = tenon::plan::Count(program->plan);
    std::multiset<std::string> ops;
    OpsOf(program->plan.steps, ops);
    std::string evaluated;
    for (auto it = ops.begin(); it != ops.end(); it = ops.upper_bound(*it))
      evaluated += fmt::format(" {}x{}", *it, ops.count(*it));
    native += evaluated.empty();
    fmt::print("{:32} ops {:4}->{:4} kernels {:3}/{:3} gemm {:2} copy {:3} loop {:2} case {:2} call {:2} |", name,
               s.ops, s.ops_simplified, c.kernel_steps, program->plan.kernels.size(), c.driver_steps, c.copy_steps,
               c.loops, c.cases, c.custom_calls);
    if (hash) {
      fmt::print(" {:016x}", std::hash<std::string>()(tenon::plan::Print(program->plan)));
    } else {
      fmt::print(" us import {:6.0f} simplify {:5.0f} fuse {:6.0f} schedule {:5.0f} verify {:5.0f} | arena {} |{}",
                 s.import_ns / 1e3, s.simplify_ns / 1e3, s.fuse_ns / 1e3, s.schedule_ns / 1e3, s.verify_ns / 1e3,
                 program->plan.arena_bytes, evaluated);
    }
    for (Codegen& at_level : codegen) {
      if (const tenon::Status made = at_level.Add(program->plan, name); !made.ok())
        fmt::print(" {}: {}", tenon::isa::IsaLevelName(at_level.level), made.ToString());
    }
    if (check) {
      const tenon::Status ok = tenon::test::CompareWithReference(bytes, *program, 1, {});
      fmt::print(" {}", ok.ToString());
      if (!ok.ok() && ok.code() != tenon::Code::kUnimplemented) ++failed;
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
  for (const Codegen& c : codegen) c.Print();
  fmt::print("{} programs, {} without evaluate steps, {} failed\n", total, native, failed);
  return failed != 0;
}
