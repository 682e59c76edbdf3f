#include "tenon/vulkan/plugin/code.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "tenon/base/activity.h"
#include "tenon/base/bytes.h"
#include "tenon/base/log.h"
#include "tenon/emit_llvm/emit.h"
#include "tenon/emit_spirv/print.h"
#include "tenon/host/build.h"
#include "tenon/host/front_end.h"
#include "tenon/host/profile_log.h"
#include "tenon/host/saved_program.h"
#include "tenon/host/services.h"
#include "tenon/isa/isa.h"
#include "tenon/kernels/families.h"
#include "tenon/runtime/outside_plan.h"
#include "tenon/target/host/host_target.h"
#include "tenon/vulkan/policy.h"

namespace tenon::vulkan {
namespace {

constexpr std::string_view kMagic = "TENONVK1";

using HostClock = std::chrono::steady_clock;

double MicrosSince(HostClock::time_point start) {
  return std::chrono::duration<double, std::micro>(HostClock::now() - start).count();
}

/// This process's own target, for what runs on the host.
const target::Target& HostTarget() {
  static const target::Target& host = *new target::Target(target::HostTarget());
  return host;
}

void Dump(const Compiled& compiled) {
  const plan::Plan& plan = compiled.about.plan;
  host::WriteDump(compiled.dump_dir, "target.txt", target::Print(*compiled.target));
  host::WriteDump(compiled.dump_dir, "plan.txt", plan::Print(plan));
  host::WriteDump(compiled.dump_dir, "plan.svg", plan::ToSvg(plan));
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    host::WriteDump(compiled.dump_dir, fmt::format("kernel{}.kir", i), kir::Print(plan.kernels[i]));
    const Result<emit_spirv::Module> module = emit_spirv::Emit(plan.kernels[i], *compiled.target);
    if (module.ok()) {
      host::WriteDump(compiled.dump_dir, fmt::format("kernel{}.spv", i),
                      {reinterpret_cast<const char*>(module->words.data()), module->words.size() * sizeof(uint32_t)});
      const Result<std::string> text = emit_spirv::Print(module->words);
      host::WriteDump(compiled.dump_dir, fmt::format("kernel{}.spvasm", i),
                      text.ok() ? *text : text.status().ToString());
    } else {
      host::WriteDump(compiled.dump_dir, fmt::format("kernel{}.refused", i), module.status().ToString());
    }
  }
}

Result<std::vector<runtime::KernelCode>> HostKernels(const plan::Plan& plan, Binding& binding) {
  const std::vector<bool> needed = runtime::KernelsOnHost(plan, binding);
  std::vector<const kir::Kernel*> kernels;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) kernels.push_back(&plan.kernels[i]);
  }
  std::vector<runtime::KernelCode> code(needed.size());
  if (kernels.empty()) return code;
  TENON_ASSIGN_OR_RETURN(const isa::IsaLevel level, isa::ParseIsaLevel(HostTarget().isa));
  TENON_ASSIGN_OR_RETURN(const auto compiled, emit_llvm::CompileKernels(kernels, emit_llvm::EmitOptions{level}));
  size_t next = 0;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    code[i] = {compiled[next]->fn, compiled[next]};
    ++next;
  }
  return code;
}

Status PlaceConstants(const plan::Plan& plan, DeviceCode& code) {
  const auto rounded = [](size_t bytes) {
    return (static_cast<int64_t>(bytes) + policy::kBlockBytes - 1) / policy::kBlockBytes * policy::kBlockBytes;
  };
  int64_t bytes = 0;
  for (const plan::Constant& c : plan.constants) bytes += rounded(c.bytes->size());
  if (bytes == 0 && plan.constants.empty()) return OkStatus();
  TENON_ASSIGN_OR_RETURN(code.constants_block, code.device->memory().Allocate(bytes));
  int64_t at = 0;
  for (const plan::Constant& c : plan.constants) {
    TENON_RETURN_IF_ERROR(
        code.device->Upload(code.constants_block, at, c.bytes->data(), static_cast<int64_t>(c.bytes->size())));
    code.constants.push_back({code.constants_block.address() + static_cast<uint64_t>(at), nullptr, nullptr});
    at += rounded(c.bytes->size());
  }
  return OkStatus();
}

}  // namespace

Result<std::shared_ptr<const Compiled>> CompileFor(std::string_view program, const plugin::CompileOptions& options,
                                                   const std::shared_ptr<const target::Target>& target, bool is_new) {
  auto compiled = std::make_shared<Compiled>();
  const int64_t start_ns = activity::IsOn() ? activity::NowNs() : 0;
  compiled->target = target;
  compiled->dump_dir = host::NewDumpDir();
  TENON_ASSIGN_OR_RETURN(compiled->about, host::CompileProgram(program, options, *target, kernels::HostFamilies(),
                                                               compiled->dump_dir, is_new));
  if (start_ns != 0) host::AddSpans(compiled->about, start_ns);
  return std::shared_ptr<const Compiled>(std::move(compiled));
}

std::string SaveCompiled(const Compiled& compiled, std::string_view compile_options) {
  ByteWriter out;
  out.PutText(kMagic);
  out.PutText(host::BuildName());
  out.PutText(target::Print(*compiled.target));
  out.PutText(compile_options);
  out.PutText(compiled.about.source);
  // Up to here all builds write alike; the rest is for the one that wrote it.
  host::PutProgram(out, compiled.about, compiled.about.plan);
  return std::move(out).Take();
}

Result<Loaded> LoadCompiled(std::string_view bytes, const std::shared_ptr<const target::Target>& target) {
  ByteReader in(bytes);
  if (in.GetText() != kMagic)
    return DataLoss("these bytes are not an executable that Tenon serialised for Vulkan (wrong magic)");
  const std::string_view build = in.GetText();
  const std::string_view wanted = in.GetText();
  Loaded loaded;
  loaded.compile_options = in.GetText();
  auto compiled = std::make_shared<Compiled>();
  compiled->about.source = in.GetText();
  TENON_RETURN_IF_ERROR(in.status());
  if (build != host::BuildName() || wanted != target::Print(*target)) {
    Result<plugin::CompileOptions> options = plugin::DecodeCompileOptions(loaded.compile_options);
    if (!options.ok()) return DataLoss(std::string(options.status().message())).WithContext("the executable's options");
    Result<std::shared_ptr<const Compiled>> anew = CompileFor(compiled->about.source, *options, target, false);
    if (!anew.ok())
      return std::move(anew).status().WithContext(fmt::format("compiling the program of '{}' anew", build));
    loaded.compiled = *std::move(anew);
    return loaded;
  }
  TENON_RETURN_IF_ERROR(host::GetProgram(in, compiled->about));
  // A device has nothing that stops a kernel at the end of its buffers.
  TENON_RETURN_IF_ERROR(plan::Verify(compiled->about.plan, kernels::HostFamilies()));
  TENON_RETURN_IF_ERROR(runtime::CheckOutsidePlan(compiled->about.plan, kernels::HostFamilies()));
  compiled->target = target;
  loaded.compiled = std::move(compiled);
  return loaded;
}

Result<std::shared_ptr<DeviceCode>> BindTo(VulkanDevice& device, std::shared_ptr<const Compiled> compiled) {
  if (!target::SameBits(*compiled->target, *device.target())) {
    return FailedPrecondition(fmt::format("{} was compiled for {}, whose results differ in their bits from those of {}",
                                          compiled->about.name, compiled->target->name, device.target()->name));
  }
  const auto start = HostClock::now();
  if (!compiled->dump_dir.empty()) Dump(*compiled);
  const plan::Plan& plan = compiled->about.plan;
  auto code = std::make_shared<DeviceCode>();
  code->device = device.device();
  code->binding = std::make_unique<Binding>(device.kernels());
  const KernelCache::Counters before = device.kernels()->counters();
  TENON_ASSIGN_OR_RETURN(std::vector<runtime::KernelCode> on_host, HostKernels(plan, *code->binding));
  const double kernels_us = MicrosSince(start);
  TENON_ASSIGN_OR_RETURN(host::PlanServices services, host::MakeServices(plan));
  code->may_call_back = services.may_call_back;
  code->caller_waits = services.caller_waits;
  code->profile = host::NewProfile(plan.name);
  TENON_ASSIGN_OR_RETURN(code->program, runtime::Program::Create(plan, std::move(on_host), std::move(services.services),
                                                                 kernels::HostFamilies(), HostTarget(), code->profile,
                                                                 code->binding.get()));
  TENON_RETURN_IF_ERROR(PlaceConstants(plan, *code));
  const runtime::Program::HostSteps& n = code->program->host_steps();
  code->needs_host = n.all() + n.decisions + n.data_loops > 0;
  const KernelCache::Counters after = device.kernels()->counters();
  const compiler::CompileStatistics& s = compiled->about.statistics;
  std::string reasons;
  for (const std::string& r : n.reasons) reasons += (reasons.empty() ? "; refused: " : " | ") + r;
  const auto us = [](int64_t ns) { return static_cast<double>(ns) * 1e-3; };
  Log(LogLevel::kInfo,
      fmt::format(
          "compile {} for {}: ops {} -> {}, launches {} in {} segments ({} distinct kernels, {} compiled), host "
          "steps {} (kernels {}, drivers {}, copies {}, evaluate {}, custom calls {}), host decisions {}, "
          "data-dependent loops {}, arena "
          "{} B, us: import {:.0f} simplify {:.0f} fuse {:.0f} schedule {:.0f} kernels {:.0f} bind {:.0f}{}",
          compiled->about.name, device.target()->name, s.ops, s.ops_simplified, code->binding->launches(), n.segments,
          plan.kernels.size(), after.kernels - before.kernels, n.all(), n.kernels, n.drivers, n.copies, n.evaluates,
          n.custom_calls, n.decisions, n.data_loops, plan.arena_bytes, us(s.import_ns), us(s.simplify_ns),
          us(s.fuse_ns), us(s.schedule_ns), kernels_us, MicrosSince(start) - kernels_us, reasons));
  code->compiled = std::move(compiled);
  return code;
}

}  // namespace tenon::vulkan
