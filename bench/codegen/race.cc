// The emitter's own code generator against LLVM's, kernel by kernel: see README.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "bench/codegen/run.h"
#include "tenon/compiler/compile.h"
#include "tenon/emit_llvm/emit.h"
#include "tenon/isa/isa.h"
#include "tenon/kir/kir.h"
#include "test/compiler/compare.h"

namespace tenon::bench {
namespace {

struct Row {
  std::string program{};
  std::string hash{};
  std::string type{};
  Race race{};
  double compile_us[2] = {0, 0};
  int64_t code_bytes[2] = {0, 0};
};

bool Narrow(DType type) { return DTypeBits(type) < 32; }

bool HasLoop(const kir::Seq& seq) {
  return std::any_of(seq.begin(), seq.end(),
                     [](const kir::Step& s) { return std::holds_alternative<kir::Loop>(s.is); });
}

std::string ClassOf(const kir::Kernel& kernel) {
  bool scatter = false;
  bool reduce = false;
  const auto data_dependent = [](const auto& at) {
    return std::any_of(at.begin(), at.end(), [](const kir::Axis& a) { return a.start != kir::kNone; });
  };
  for (const kir::Step& step : kernel.seq) {
    auto* stage = std::get_if<kir::Stage>(&step.is);
    if (stage == nullptr) continue;
    reduce |= !stage->reduces.empty();
    for (const kir::Store& s : stage->stores) scatter |= data_dependent(s.at);
  }
  if (HasLoop(kernel.seq)) return "loop";
  if (scatter) return "scatter";
  if (std::any_of(kernel.reads.begin(), kernel.reads.end(), [&](const kir::Read& r) { return data_dependent(r.at); }))
    return "gather";
  if (reduce) return "reduce";
  int arithmetic = 0;
  bool narrow = false;
  for (const kir::Node& n : kernel.nodes) {
    arithmetic += n.op != kir::Op::kRead && n.op != kir::Op::kConst && n.op != kir::Op::kIndex;
    narrow |= Narrow(n.type) && n.type != DType::kPred;
  }
  if (arithmetic > 20) return "math";
  if (narrow) return "narrow";
  return arithmetic == 0 ? "copy" : "elementwise";
}

/// Kernels by number with the parameters of their first run.
void Collect(const plan::Seq& seq, std::map<uint32_t, std::vector<int64_t>>& found) {
  for (const plan::Step& step : seq) {
    if (auto* k = std::get_if<plan::KernelStep>(&step.is))
      found.try_emplace(k->kernel, std::vector<int64_t>(k->params.begin(), k->params.end()));
    if (auto* w = std::get_if<plan::WhileStep>(&step.is)) {
      Collect(w->condition, found);
      Collect(w->body, found);
    }
    if (auto* c = std::get_if<plan::CaseStep>(&step.is)) {
      for (const auto& s : c->branches) Collect(s, found);
    }
  }
}

struct Options {
  isa::IsaLevel isa = isa::ActiveIsa();
  int rounds = 30;
  std::string only;
  std::string show;
  std::string to = ".";
  size_t worst = 60;
  double min_ns = 100;
  int compile = 0;  // so many times by our generator alone, and no race
};

void Write(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

void Show(const kir::Kernel& kernel, const emit_llvm::CompiledKernel& own, const Row& row, const Options& options) {
  const std::string base = options.to + "/" + row.hash;
  Write(base + ".kir", kir::Print(kernel));
  if (auto text = emit_llvm::EmitLlvmText(kernel, {.isa = options.isa}); text.ok()) Write(base + ".ll", *text);
  if (auto text = emit_llvm::EmitAssembly(kernel, {.isa = options.isa}); text.ok()) Write(base + ".llvm.s", *text);
  Write(base + ".bin", {reinterpret_cast<const char*>(own.fn), static_cast<size_t>(own.code_bytes)});
  fmt::print("{}: {} of {}, {}.*\n", row.hash, row.type, row.program, base);
}

/// What our generator takes for `kernel`: the first time, and at best.
void PrintCompileTimes(const kir::Kernel& kernel, const Row& row, const Options& options) {
  double first = 0;
  double best = 0;
  int64_t bytes = 0;
  for (int i = 0; i < options.compile; ++i) {
    const auto own = emit_llvm::CompileKernel(kernel, {.isa = options.isa});
    if (!own.ok()) return;
    const double us = (*own)->times.codegen_us;
    bytes = (*own)->code_bytes;
    if (i == 0) first = us;
    best = i == 0 ? us : std::min(best, us);
  }
  fmt::print("{:8.0f} {:8.0f} us {:7} bytes {:6.0f} ns/byte  {:12} {:17} {}\n", first, best, bytes,
             1e3 * best / static_cast<double>(std::max<int64_t>(1, bytes)), row.type, row.hash, row.program);
}

void Print(const std::vector<Row>& rows, const Options& options) {
  fmt::print("{:>6} {:>12} {:>12} {:>8} {:>8} {:>7} {:>7}  {:12} {:17} {}\n", "ratio", "own ns", "LLVM ns", "own us",
             "LLVM us", "bytes", "bytes", "class", "kernel", "program");
  size_t printed = 0;
  for (const Row& r : rows) {
    const bool odd = !r.race.same || !r.race.problem.empty();
    if (!odd && (r.race.ns[1] < options.min_ns || printed++ >= options.worst)) continue;
    fmt::print("{:6.2f} {:12.1f} {:12.1f} {:8.0f} {:8.0f} {:7} {:7}  {:12} {:17} {} {}{}\n",
               r.race.ns[0] / r.race.ns[1], r.race.ns[0], r.race.ns[1], r.compile_us[0], r.compile_us[1],
               r.code_bytes[0], r.code_bytes[1], r.type, r.hash, r.program, r.race.same ? "" : "DIFFERENT ",
               r.race.problem);
  }
  struct Sum {
    int n = 0;
    int slower = 0;
    double log = 0;
    double ns[2] = {0, 0};
    double compile_us[2] = {0, 0};
  };
  std::map<std::string, Sum> by_class;
  for (const Row& r : rows) {
    if (!r.race.problem.empty()) continue;
    for (const std::string& name : {r.type, std::string("~all")}) {
      Sum& s = by_class[name];
      for (int i = 0; i < 2; ++i) s.compile_us[i] += r.compile_us[i];
      if (r.race.ns[1] < options.min_ns) continue;
      ++s.n;
      s.slower += r.race.ns[0] > 1.1 * r.race.ns[1];
      s.log += std::log(r.race.ns[0] / r.race.ns[1]);
      for (int i = 0; i < 2; ++i) s.ns[i] += r.race.ns[i];
    }
  }
  for (const auto& [name, s] : by_class) {
    fmt::print(
        "{:12} {:5} kernels  ratio {:.3f} (by time {:.3f}), {:4} over 1.1; compiled in {:.1f} ms, by LLVM {:.1f}\n",
        name, s.n, std::exp(s.log / std::max(1, s.n)), s.ns[0] / std::max(1.0, s.ns[1]), s.slower,
        s.compile_us[0] / 1e3, s.compile_us[1] / 1e3);
  }
}

int Main(int argc, char** argv) {
  Options options;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool more = i + 1 < argc;
    if (arg == "--isa" && more) {
      const Result<isa::IsaLevel> level = isa::ParseIsaLevel(argv[++i]);
      if (!level.ok()) {
        fmt::print(stderr, "{}\n", level.status().ToString());
        return 2;
      }
      options.isa = *level;
    } else if (arg == "--rounds" && more) {
      options.rounds = std::atoi(argv[++i]);
    } else if (arg == "--only" && more) {
      options.only = argv[++i];
    } else if (arg == "--show" && more) {
      options.show = argv[++i];
    } else if (arg == "--to" && more) {
      options.to = argv[++i];
    } else if (arg == "--worst" && more) {
      options.worst = static_cast<size_t>(std::atoi(argv[++i]));
    } else if (arg == "--compile" && more) {
      options.compile = std::atoi(argv[++i]);
      emit_llvm::SetCacheBudget(0);  // Each time anew.
    } else if (arg == "--min-ns" && more) {
      options.min_ns = std::atof(argv[++i]);
    } else {
      files.push_back(arg);
    }
  }
  std::vector<Row> rows;
  std::unordered_set<Hash128, Hash128Hasher> seen;
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    Result<compiler::CompiledProgram> program = compiler::Compile(bytes, test::CpuOptions());
    if (!program.ok()) continue;
    std::map<uint32_t, std::vector<int64_t>> kernels;
    Collect(program->plan.steps, kernels);
    for (const auto& [number, params] : kernels) {
      const kir::Kernel& kernel = program->plan.kernels[number];
      const Hash128 hash = kir::Hash(kernel);
      Row row{.program = path.substr(path.rfind('/') + 1), .hash = fmt::format("{:016x}", hash.low)};
      row.type = ClassOf(kernel);
      const std::string& wanted = options.show.empty() ? options.only : options.show;
      if (!seen.insert(hash).second) continue;
      if ((row.program + " " + row.hash + " " + row.type).find(wanted) == std::string::npos) continue;
      if (options.compile > 0) {
        PrintCompileTimes(kernel, row, options);
        continue;
      }
      auto own = emit_llvm::CompileKernel(kernel, {.isa = options.isa});
      if (!own.ok()) continue;
      if (!options.show.empty()) {
        Show(kernel, **own, row, options);
        continue;
      }
      if (!(*own)->llvm_reason.empty()) {
        row.type = "by LLVM";
        row.program += " (" + (*own)->llvm_reason + ")";
      }
      auto llvm = emit_llvm::CompileKernel(kernel, {.isa = options.isa, .by_llvm = true});
      if (!llvm.ok()) continue;
      row.compile_us[0] = (*own)->times.codegen_us;
      row.compile_us[1] = (*llvm)->times.codegen_us;
      row.code_bytes[0] = (*own)->code_bytes;
      row.code_bytes[1] = (*llvm)->code_bytes;
      row.race = RunBoth(kernel, params, (*own)->fn, (*llvm)->fn, options.rounds);
      rows.push_back(std::move(row));
    }
  }
  if (!options.show.empty() || options.compile > 0) return 0;
  const auto ratio = [](const Row& r) { return r.race.ns[1] > 0 ? r.race.ns[0] / r.race.ns[1] : 0.0; };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return ratio(a) > ratio(b); });
  Print(rows, options);
  return std::any_of(rows.begin(), rows.end(), [](const Row& r) { return !r.race.same; }) ? 1 : 0;
}

}  // namespace
}  // namespace tenon::bench

int main(int argc, char** argv) { return tenon::bench::Main(argc, argv); }
