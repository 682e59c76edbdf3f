#include "tenon/cpu/code.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <utility>

#include "tenon/base/activity.h"
#include "tenon/base/bytes.h"
#include "tenon/base/log.h"
#include "tenon/cpu/client.h"
#include "tenon/emit_llvm/emit.h"
#include "tenon/host/build.h"
#include "tenon/host/front_end.h"
#include "tenon/host/profile_log.h"
#include "tenon/host/saved_program.h"
#include "tenon/isa/isa.h"
#include "tenon/kernels/families.h"
#include "tenon/runtime/outside_plan.h"
#include "tenon/target/host/host_target.h"

namespace tenon::cpu {
namespace {

using Clock = std::chrono::steady_clock;

int64_t NanosSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

void DumpPlan(const std::string& dir, const plan::Plan& plan, const emit_llvm::EmitOptions& options) {
  host::WriteDump(dir, "plan.txt", plan::Print(plan));
  host::WriteDump(dir, "plan.svg", plan::ToSvg(plan));
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    host::WriteDump(dir, fmt::format("kernel{}.kir", i), kir::Print(plan.kernels[i]));
    const auto write = [&](const Result<std::string>& text, std::string_view extension) {
      host::WriteDump(dir, fmt::format("kernel{}.{}", i, extension), text.ok() ? *text : text.status().ToString());
    };
    write(emit_llvm::EmitLlvmText(plan.kernels[i], options), "ll");
    write(emit_llvm::EmitAssembly(plan.kernels[i], options), "s");
  }
}

/// "llvm=3 (2 masked_gather <8 x float> to <8 x float>, 1 too long)": kernels that LLVM's code generator made, and why.
std::string LeftToLlvm(std::span<const std::shared_ptr<const emit_llvm::CompiledKernel>> kernels) {
  std::map<std::string_view, int> reasons;
  int total = 0;
  for (const auto& k : kernels) {
    if (k->llvm_reason.empty()) continue;
    ++reasons[k->llvm_reason];
    ++total;
  }
  std::string text = fmt::format("llvm={}", total);
  std::string_view before = " (";
  for (const auto& [reason, count] : reasons) {
    text += fmt::format("{}{} {}", before, count, reason);
    before = ", ";
  }
  return reasons.empty() ? text : text + ")";
}

/// Makes the kernels' code for `made_for` and binds the plan of `about` to it.
Result<std::shared_ptr<const Code>> Bind(compiler::CompiledProgram about,
                                         std::shared_ptr<const target::Target> compiled_for,
                                         std::shared_ptr<const target::Target> made_for, const std::string& dump_dir) {
  plan::Plan plan = std::move(about.plan);
  TENON_ASSIGN_OR_RETURN(const isa::IsaLevel level, isa::ParseIsaLevel(made_for->isa));
  const emit_llvm::EmitOptions options{level};
  if (!dump_dir.empty()) DumpPlan(dump_dir, plan, options);
  const auto emit_start = Clock::now();
  const emit_llvm::CacheCounters before = emit_llvm::Counters();
  std::vector<const kir::Kernel*> kernels;
  for (const kir::Kernel& k : plan.kernels) kernels.push_back(&k);
  Result<std::vector<std::shared_ptr<const emit_llvm::CompiledKernel>>> emitted = [&] {
    const activity::Scope scope("generate code");
    return emit_llvm::CompileKernels(kernels, options);
  }();
  TENON_ASSIGN_OR_RETURN(auto compiled, std::move(emitted));
  const int64_t emit_ns = NanosSince(emit_start);
  const emit_llvm::CacheCounters after = emit_llvm::Counters();
  auto code = std::make_shared<Code>();
  std::vector<runtime::KernelCode> bound;
  for (const auto& k : compiled) {
    bound.push_back({k->fn, k});
    code->code_bytes += k->code_bytes;
  }
  const auto bind_start = Clock::now();
  TENON_ASSIGN_OR_RETURN(host::PlanServices services, host::MakeServices(plan));
  const plan::Statistics n = plan::Count(plan);
  code->has_open_steps = n.custom_calls + n.evaluate_steps > 0;
  code->may_call_back = services.may_call_back;
  code->caller_waits = services.caller_waits;
  std::shared_ptr<runtime::Profile> profile = host::NewProfile(plan.name);
  TENON_ASSIGN_OR_RETURN(code->program,
                         runtime::Program::Create(std::move(plan), std::move(bound), std::move(services.services),
                                                  kernels::CpuFamilies(), *made_for, std::move(profile)));
  code->run_ns = plan::EstimateNs(code->program->plan(), *made_for);
  const compiler::CompileStatistics& s = about.statistics;
  std::string rules;
  if (!about.processes.empty()) {
    rules +=
        fmt::format("; processes {}, exchanges {} of {} B here, gathered for want of a rule:", about.processes.count(),
                    s.exchanges, s.exchanged_bytes);
    for (const auto& [op, times] : s.gathered) rules += fmt::format(" {} {}", op, times);
    if (s.gathered.empty()) rules += " none";
  }
  const size_t before_rules = rules.size();
  for (const auto& [rule, hits] : s.rules)
    rules += fmt::format("{}{} {}", rules.size() == before_rules ? "; rules: " : ", ", rule, hits);
  const auto us = [](int64_t ns) { return static_cast<double>(ns) * 1e-3; };
  Log(LogLevel::kInfo,
      fmt::format(
          "compile {} for {}: code for {}, ops {} -> {}, kernels {} ({} distinct, {} compiled, {}), drivers {}, copies "
          "{}, "
          "loops {}, custom "
          "calls {}, evaluate {}, "
          "arena {} B, kernel cache {} of {} B ({} evicted), us: import {:.0f} simplify {:.0f} fuse {:.0f} schedule "
          "{:.0f} codegen {:.0f} bind {:.0f}{}",
          about.name, compiled_for->name, made_for->isa, s.ops, s.ops_simplified, n.kernel_steps, kernels.size(),
          after.misses - before.misses, LeftToLlvm(compiled), n.driver_steps, n.copy_steps, n.loops, n.custom_calls,
          n.evaluate_steps, code->program->plan().arena_bytes, after.live, after.bytes, after.evictions,
          us(s.import_ns), us(s.simplify_ns), us(s.fuse_ns), us(s.schedule_ns), us(emit_ns), us(NanosSince(bind_start)),
          rules));
  code->about = std::move(about);
  code->compiled_for = std::move(compiled_for);
  code->made_for = std::move(made_for);
  return std::shared_ptr<const Code>(std::move(code));
}

constexpr std::string_view kMagic = "TENONEX3";

}  // namespace

namespace {

/// `is_new`: comes from its maker, who may have left addresses of this process in it.
Result<std::shared_ptr<const Code>> CompileAny(std::string_view program, const plugin::CompileOptions& options,
                                               const std::shared_ptr<const target::Target>& target, bool is_new,
                                               const compiler::Processes& processes = {}) {
  const int64_t start_ns = activity::IsOn() ? activity::NowNs() : 0;
  const std::string dump_dir = host::NewDumpDir();
  TENON_ASSIGN_OR_RETURN(
      compiler::CompiledProgram about,
      host::CompileProgram(program, options, *target, kernels::CpuFamilies(), dump_dir, is_new, processes));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Code> code, Bind(std::move(about), target, target, dump_dir));
  if (start_ns != 0) host::AddSpans(code->about, start_ns);
  return code;
}

}  // namespace

Result<std::shared_ptr<const Code>> CompileCode(std::string_view program, const plugin::CompileOptions& options,
                                                const std::shared_ptr<const target::Target>& target,
                                                const compiler::Processes& processes) {
  return CompileAny(program, options, target, true, processes);
}

const std::shared_ptr<const target::Target>& SharedHostTarget() {
  static const auto& host =
      *new std::shared_ptr<const target::Target>(std::make_shared<const target::Target>(target::HostTarget()));
  return host;
}

Result<std::shared_ptr<const target::Target>> TargetAtLoad(const std::shared_ptr<const target::Target>& wanted,
                                                           const std::shared_ptr<const target::Target>& host) {
  if (target::SameBits(*wanted, *host)) return host;
  // What the level needs, whatever the text says that the target has.
  TENON_ASSIGN_OR_RETURN(const target::Target level, target::CpuTarget(wanted->isa));
  Status runs = target::CheckRuns(level, *host);
  if (runs.ok()) runs = target::CheckRuns(*wanted, *host);
  if (!runs.ok()) {
    return std::move(runs).WithContext(
        fmt::format("the program was compiled for {} and this process runs on {}, whose results differ in their last "
                    "bits, so its code cannot be made anew here",
                    wanted->name, host->name));
  }
  return wanted;
}

Result<std::shared_ptr<const Code>> CodeForHost(std::shared_ptr<const Code> code) {
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const target::Target> made_for,
                         TargetAtLoad(code->compiled_for, SharedHostTarget()));
  if (made_for->isa == code->made_for->isa) return code;
  compiler::CompiledProgram about = code->about;
  about.plan = code->program->plan();
  return Bind(std::move(about), code->compiled_for, std::move(made_for), {});
}

std::string VersionFor(const target::Target& target) { return fmt::format("{} {}", kMagic, target.isa); }

std::vector<std::string> VersionsLoadedHere() {
  std::vector<std::string> versions;
  for (const isa::IsaLevel level : isa::kAllIsaLevels) {
    Result<target::Target> target = target::CpuTarget(isa::IsaLevelName(level));
    if (!target.ok()) continue;
    const auto wanted = std::make_shared<const target::Target>(*std::move(target));
    if (TargetAtLoad(wanted, SharedHostTarget()).ok()) versions.push_back(VersionFor(*wanted));
  }
  return versions;
}

std::string SaveCode(const Code& code, std::string_view compile_options) {
  const compiler::CompiledProgram& about = code.about;
  ByteWriter out;
  out.PutText(kMagic);
  out.PutText(host::BuildName());
  out.PutText(target::Print(*code.compiled_for));
  out.PutText(compile_options);
  out.PutText(about.source);
  // Up to here all builds write alike; the rest is for the one that wrote it.
  host::PutProgram(out, about, code.program->plan());
  return std::move(out).Take();
}

Result<LoadedCode> LoadCode(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.GetText() != kMagic) return DataLoss("these bytes are not an executable that Tenon serialised (wrong magic)");
  const std::string_view build = in.GetText();
  TENON_RETURN_IF_ERROR(in.status());
  const std::string_view target_text = in.GetText();
  TENON_RETURN_IF_ERROR(in.status());
  Result<target::Target> wanted = target::Parse(target_text);
  if (!wanted.ok() && build == host::BuildName())
    return DataLoss(std::string(wanted.status().message())).WithContext("the executable's target");
  // Another build may know targets that this one does not: then the program is for this machine.
  const auto compiled_for =
      wanted.ok() ? std::make_shared<const target::Target>(*std::move(wanted)) : SharedHostTarget();
  // Before anything else: whoever loads a program of another machine wants to hear of that first.
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const target::Target> made_for,
                         TargetAtLoad(compiled_for, SharedHostTarget()));
  LoadedCode loaded;
  loaded.compile_options = in.GetText();
  compiler::CompiledProgram about;
  about.source = in.GetText();
  TENON_RETURN_IF_ERROR(in.status());
  if (build != host::BuildName()) {
    // What follows is another build's; the program inside is anybody's.
    Log(LogLevel::kInfo, fmt::format("an executable of '{}' is compiled anew by '{}'", build, host::BuildName()));
    Result<plugin::CompileOptions> options = plugin::DecodeCompileOptions(loaded.compile_options);
    if (!options.ok()) return DataLoss(std::string(options.status().message())).WithContext("the executable's options");
    Result<std::shared_ptr<const Code>> code = CompileAny(about.source, *options, made_for, false);
    if (!code.ok())
      return std::move(code).status().WithContext(fmt::format("compiling the program of '{}' anew", build));
    loaded.code = *std::move(code);
    return loaded;
  }
  TENON_RETURN_IF_ERROR(host::GetProgram(in, about));
  TENON_RETURN_IF_ERROR(runtime::CheckOutsidePlan(about.plan, kernels::CpuFamilies()));
  TENON_ASSIGN_OR_RETURN(loaded.code, Bind(std::move(about), compiled_for, std::move(made_for), {}));
  return loaded;
}

}  // namespace tenon::cpu
