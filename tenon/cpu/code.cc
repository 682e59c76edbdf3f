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
#include "tenon/cpu/inspect_sharding.h"
#include "tenon/cpu/profile_log.h"
#include "tenon/emit_llvm/emit.h"
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

/// A fresh folder for this compile under TENON_DUMP_DIR, or nothing.
std::string NewDumpDir() {
  const char* root = std::getenv("TENON_DUMP_DIR");
  if (root == nullptr || *root == '\0') return {};
  static std::atomic<int> number{0};
  std::filesystem::path dir = std::filesystem::path(root) / fmt::format("{:04d}", number.fetch_add(1));
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) {
    Log(LogLevel::kWarning, fmt::format("TENON_DUMP_DIR: cannot make {}: {}", dir.string(), error.message()));
    return {};
  }
  return dir.string();
}

void WriteFile(const std::string& dir, const std::string& name, std::string_view text) {
  std::ofstream out(dir + "/" + name, std::ios::binary);
  out << text;
}

void DumpPlan(const std::string& dir, const plan::Plan& plan, const emit_llvm::EmitOptions& options) {
  WriteFile(dir, "plan.txt", plan::Print(plan));
  WriteFile(dir, "plan.svg", plan::ToSvg(plan));
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    WriteFile(dir, fmt::format("kernel{}.kir", i), kir::Print(plan.kernels[i]));
    const auto write = [&](const Result<std::string>& text, std::string_view extension) {
      WriteFile(dir, fmt::format("kernel{}.{}", i, extension), text.ok() ? *text : text.status().ToString());
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
  TENON_ASSIGN_OR_RETURN(PlanServices services, MakeServices(plan));
  const plan::Statistics n = plan::Count(plan);
  code->has_open_steps = n.custom_calls + n.evaluate_steps > 0;
  code->may_call_back = services.may_call_back;
  std::shared_ptr<runtime::Profile> profile = NewProfile(plan.name);
  TENON_ASSIGN_OR_RETURN(code->program,
                         runtime::Program::Create(std::move(plan), std::move(bound), std::move(services.services),
                                                  kernels::CpuFamilies(), *made_for, std::move(profile)));
  code->run_ns = plan::EstimateNs(code->program->plan(), *made_for);
  const compiler::CompileStatistics& s = about.statistics;
  std::string rules;
  for (const auto& [rule, hits] : s.rules)
    rules += fmt::format("{}{} {}", rules.empty() ? "; rules: " : ", ", rule, hits);
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

void PutTexts(ByteWriter& out, const std::vector<std::string>& texts) {
  out.Put<uint64_t>(texts.size());
  for (const std::string& t : texts) out.PutText(t);
}

void PutTilings(ByteWriter& out, const std::vector<compiler::Tiling>& tilings) {
  const auto put = [&](const Dims& dims) {
    out.Put<uint64_t>(dims.size());
    for (const int64_t d : dims) out.Put(d);
  };
  out.Put<uint64_t>(tilings.size());
  for (const compiler::Tiling& t : tilings) {
    put(t.tiles);
    out.Put<uint64_t>(t.stacked ? 1 : 0);
    out.Put<uint64_t>(t.tile_of_device.size());
    for (const Dims& position : t.tile_of_device) put(position);
  }
}

std::vector<compiler::Tiling> GetTilings(ByteReader& in) {
  const auto get = [&] {
    Dims dims(in.GetCount(8));
    for (int64_t& d : dims) d = in.Get<int64_t>();
    return dims;
  };
  std::vector<compiler::Tiling> tilings(in.GetCount(16));
  for (compiler::Tiling& t : tilings) {
    t.tiles = get();
    t.stacked = in.Get<uint64_t>() != 0;
    t.tile_of_device.resize(in.GetCount(8));
    for (Dims& position : t.tile_of_device) position = get();
  }
  return tilings;
}

/// Whether the parts lie in the whole arrays, for every device alike.
Status CheckTilings(const compiler::CompiledProgram& about) {
  if (about.parameter_tilings.empty() && about.result_tilings.empty()) return OkStatus();
  size_t devices = 0;
  const auto check = [&](const std::vector<compiler::Tiling>& tilings, const auto& ports,
                         std::string_view what) -> Status {
    if (tilings.size() != ports.size())
      return InvalidArgument(fmt::format("{} tilings for {} {}s", tilings.size(), ports.size(), what));
    for (size_t i = 0; i < ports.size(); ++i) {
      const compiler::Tiling& t = tilings[i];
      const Shape& shape = ports[i].shape;
      if (devices == 0) devices = t.tile_of_device.size();
      bool ok = t.tiles.size() == shape.rank() && (!t.stacked || shape.rank() > 0) &&
                t.tile_of_device.size() == devices && devices > 0;
      for (size_t d = 0; ok && d < shape.rank(); ++d) ok = t.tiles[d] > 0 && shape.dims[d] % t.tiles[d] == 0;
      for (size_t k = 0; ok && k < devices; ++k) {
        ok = t.tile_of_device[k].size() == shape.rank();
        for (size_t d = 0; ok && d < shape.rank(); ++d)
          ok = t.tile_of_device[k][d] >= 0 && t.tile_of_device[k][d] < t.tiles[d];
      }
      if (!ok) return InvalidArgument(fmt::format("the tiling of {} {} does not fit {}", what, i, ToString(shape)));
    }
    return OkStatus();
  };
  TENON_RETURN_IF_ERROR(check(about.parameter_tilings, about.plan.inputs, "parameter"));
  return check(about.result_tilings, about.plan.outputs, "result");
}

std::vector<std::string> GetTexts(ByteReader& in) {
  std::vector<std::string> texts(in.GetCount(8));
  for (std::string& t : texts) t = in.GetText();
  return texts;
}

/// Spans of a compilation that began at `start_ns` and is over, and of its front end's phases.
void AddSpans(const compiler::CompiledProgram& about, int64_t start_ns) {
  const compiler::CompileStatistics& s = about.statistics;
  const std::pair<const char*, int64_t> phases[] = {{"import", s.import_ns},
                                                    {"simplify", s.simplify_ns},
                                                    {"fuse", s.fuse_ns},
                                                    {"schedule", s.schedule_ns},
                                                    {"verify", s.verify_ns}};
  activity::Label whole{"compile " + about.name, {{"op_count", static_cast<double>(s.ops)}}, {{"module", about.name}}};
  activity::Add(activity::Intern(std::move(whole)), start_ns, activity::NowNs());
  for (const auto& [name, ns] : phases) {
    activity::Add(activity::Intern({name, {}, {{"module", about.name}}}), start_ns, start_ns + ns);
    start_ns += ns;
  }
}

}  // namespace

const activity::Label* ExecutionLabel(const Code& code, int32_t device) {
  activity::Label label{code.about.name, {{"flops", code.about.flops}}, {{"hlo_module", code.about.name}}};
  if (device >= 0) label.numbers.emplace_back("device_ordinal", device);
  return activity::Intern(std::move(label));
}

namespace {

/// `is_new`: comes from its maker, who may have left addresses of this process in it.
Result<std::shared_ptr<const Code>> CompileAny(std::string_view program, const plugin::CompileOptions& options,
                                               const std::shared_ptr<const target::Target>& target, bool is_new) {
  compiler::CompileOptions front;
  front.target = *target;
  front.drivers = &kernels::CpuFamilies();
  front.num_replicas = options.num_replicas;
  front.num_partitions = options.num_partitions;
  front.dump_dir = NewDumpDir();
  const auto minor_to_major = [](const plugin::ArraySpec& spec) {
    std::vector<int64_t> order(spec.minor_to_major.begin(), spec.minor_to_major.end());
    for (size_t i = spec.shape.rank(); order.size() < spec.shape.rank();) order.push_back(static_cast<int64_t>(--i));
    return order;
  };
  for (const auto& layout : options.argument_layouts) {
    front.argument_layouts.push_back(layout ? minor_to_major(*layout) : std::vector<int64_t>());
  }
  if (options.result_layout) front.result_layouts.push_back(minor_to_major(*options.result_layout));
  const int64_t start_ns = activity::IsOn() ? activity::NowNs() : 0;
  TENON_ASSIGN_OR_RETURN(compiler::CompiledProgram about, compiler::Compile(program, front));
  if (is_new) TENON_RETURN_IF_ERROR(TellShardings(about.inspected));
  about.inspected.clear();
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Code> code, Bind(std::move(about), target, target, front.dump_dir));
  if (start_ns != 0) AddSpans(code->about, start_ns);
  return code;
}

}  // namespace

Result<std::shared_ptr<const Code>> CompileCode(std::string_view program, const plugin::CompileOptions& options,
                                                const std::shared_ptr<const target::Target>& target) {
  return CompileAny(program, options, target, true);
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

std::string SaveCode(const Code& code, std::string_view compile_options) {
  const compiler::CompiledProgram& about = code.about;
  ByteWriter out;
  out.PutText(kMagic);
  out.PutText(PlatformVersion());
  out.PutText(target::Print(*code.compiled_for));
  out.PutText(compile_options);
  out.PutText(about.source);
  // Up to here all builds write alike; the rest is for the one that wrote it.
  out.PutText(about.name);
  PutTexts(out, about.parameter_shardings);
  PutTexts(out, about.output_shardings);
  PutTilings(out, about.parameter_tilings);
  PutTilings(out, about.result_tilings);
  out.Put<uint64_t>(about.donated.size());
  for (const bool donated : about.donated) out.Put<uint8_t>(donated ? 1 : 0);
  out.Put(about.flops);
  out.Put(about.transcendentals);
  out.Put(about.bytes_accessed);
  out.PutText(plan::Serialize(code.program->plan()));
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
  if (!wanted.ok() && build == PlatformVersion())
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
  if (build != PlatformVersion()) {
    // What follows is another build's; the program inside is anybody's.
    Log(LogLevel::kInfo, fmt::format("an executable of '{}' is compiled anew by '{}'", build, PlatformVersion()));
    Result<plugin::CompileOptions> options = plugin::DecodeCompileOptions(loaded.compile_options);
    if (!options.ok()) return DataLoss(std::string(options.status().message())).WithContext("the executable's options");
    Result<std::shared_ptr<const Code>> code = CompileAny(about.source, *options, made_for, false);
    if (!code.ok())
      return std::move(code).status().WithContext(fmt::format("compiling the program of '{}' anew", build));
    loaded.code = *std::move(code);
    return loaded;
  }
  about.name = in.GetText();
  about.parameter_shardings = GetTexts(in);
  about.output_shardings = GetTexts(in);
  about.parameter_tilings = GetTilings(in);
  about.result_tilings = GetTilings(in);
  about.donated.resize(in.GetCount(1));
  for (size_t i = 0; i < about.donated.size(); ++i) about.donated[i] = in.Get<uint8_t>() != 0;
  about.flops = in.Get<double>();
  about.transcendentals = in.Get<double>();
  about.bytes_accessed = in.Get<double>();
  const std::string_view plan = in.GetText();
  TENON_RETURN_IF_ERROR(in.status());
  TENON_ASSIGN_OR_RETURN(about.plan, plan::Deserialize(plan));
  TENON_RETURN_IF_ERROR(CheckTilings(about));
  TENON_RETURN_IF_ERROR(runtime::CheckOutsidePlan(about.plan, kernels::CpuFamilies()));
  TENON_ASSIGN_OR_RETURN(loaded.code, Bind(std::move(about), compiled_for, std::move(made_for), {}));
  return loaded;
}

}  // namespace tenon::cpu
