#include "tools/tenon-opt/phases.h"

#include <iostream>
#include <span>

#include "tenon/base/environment.h"
#include "tenon/compiler/compile.h"
#include "tenon/emit_llvm/emit.h"
#include "tenon/isa/isa.h"
#include "tenon/kernels/families.h"
#include "tenon/kir/kir.h"
#include "tenon/kir/math.h"
#include "tenon/plan/plan.h"
#include "tools/tenon-opt/evaluate.h"

namespace tenon::opt {

namespace {

Status NoPhase(std::string_view what, std::string_view wanted) {
  return InvalidArgument("the input is a " + std::string(what) + ", for which there is only " + std::string(wanted));
}

Status PrintKernel(const kir::Kernel& kernel, std::span<const int64_t> params, const Options& options) {
  if (options.phase == Phase::kEvaluate) {
    TENON_ASSIGN_OR_RETURN(const std::string values, EvaluateToText(kernel, params));
    std::cout << values;
    return OkStatus();
  }
  if (options.phase == Phase::kLlvm || options.phase == Phase::kAssembly) {
    emit_llvm::EmitOptions emit;
    TENON_ASSIGN_OR_RETURN(emit.isa, isa::ParseIsaLevel(options.isa));
    TENON_ASSIGN_OR_RETURN(const std::string text, options.phase == Phase::kLlvm
                                                       ? emit_llvm::EmitLlvmText(kernel, emit)
                                                       : emit_llvm::EmitAssembly(kernel, emit));
    std::cout << text;
    return OkStatus();
  }
  std::cout << kir::Print(kernel);
  return OkStatus();
}

// The params of the first step that runs a kernel; null when none does.
const plan::KernelStep* FirstStep(const plan::Seq& seq, uint32_t kernel) {
  for (const plan::Step& step : seq) {
    const plan::KernelStep* found = std::get_if<plan::KernelStep>(&step.is);
    if (found != nullptr && found->kernel != kernel) found = nullptr;
    if (const auto* loop = std::get_if<plan::WhileStep>(&step.is)) {
      found = FirstStep(loop->condition, kernel);
      if (found == nullptr) found = FirstStep(loop->body, kernel);
    }
    if (const auto* choice = std::get_if<plan::CaseStep>(&step.is)) {
      for (size_t i = 0; i < choice->branches.size() && found == nullptr; ++i)
        found = FirstStep(choice->branches[i], kernel);
    }
    if (found != nullptr) return found;
  }
  return nullptr;
}

Status PrintKernels(const plan::Plan& plan, const Options& options) {
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    if (i != 0) std::cout << "// -----\n";
    std::span<const int64_t> params = options.params;
    const plan::KernelStep* step = FirstStep(plan.steps, static_cast<uint32_t>(i));
    if (params.empty() && step != nullptr) params = {step->params.data(), step->params.size()};
    TENON_RETURN_IF_ERROR(PrintKernel(plan.kernels[i], params, options));
  }
  return OkStatus();
}

// The file of a stage's text (see compiler::CompileOptions::stage); empty when the phase prints no such text.
std::string_view StageOf(Phase phase) {
  switch (phase) {
    case Phase::kImport:
      return "02_import.graph";
    case Phase::kSimplify:
      return "03_simplified.graph";
    default:
      return "";
  }
}

}  // namespace

Status RunKernel(std::string_view text, const Options& options) {
  if (options.phase == Phase::kImport || options.phase == Phase::kSimplify || options.phase == Phase::kPlan) {
    return NoPhase("kernel", "--emit and --kir-eval");
  }
  TENON_ASSIGN_OR_RETURN(const kir::Kernel kernel, kir::Parse(text));
  TENON_RETURN_IF_ERROR(kir::Verify(kernel));
  return PrintKernel(kernel, options.params, options);
}

Status RunPlan(std::string_view text, const Options& options) {
  if (options.phase == Phase::kImport || options.phase == Phase::kSimplify)
    return NoPhase("plan", "--fuse, --emit, --kir-eval and --plan");
  TENON_ASSIGN_OR_RETURN(const plan::Plan plan, plan::Parse(text));
  TENON_RETURN_IF_ERROR(plan::Verify(plan, kernels::CpuFamilies()));
  if (options.phase != Phase::kNone && options.phase != Phase::kPlan) return PrintKernels(plan, options);
  std::cout << plan::Print(plan);
  return OkStatus();
}

Status RunProgram(std::string_view bytes, const Options& options) {
  compiler::CompileOptions compile;
  if (!options.target.empty()) {
    TENON_ASSIGN_OR_RETURN(compile.target, target::TargetByName(options.target));
  }
  compile.drivers = compile.target.kind == target::Kind::kCpu ? &kernels::CpuFamilies() : &kernels::HostFamilies();
  compile.verify = IsAskedFor("TENON_VERIFY");
  compile.num_replicas = options.replicas;
  compile.num_partitions = options.partitions;
  const std::string_view wanted = StageOf(options.phase);
  bool printed = false;
  compile.stage = [&](std::string_view name, const std::string& text) {
    if (options.trace_rules && options.phase == Phase::kSimplify && name == "03_rules.txt") std::cout << text;
    if (name != wanted) return;
    std::cout << text;
    printed = true;
  };
  const Result<compiler::CompiledProgram> program = compiler::Compile(bytes, compile);
  if (printed) return OkStatus();  // What later phases say is for those who ask for them.
  if (!program.ok()) return program.status();
  if (options.phase != Phase::kPlan) return PrintKernels(program->plan, options);
  std::cout << plan::Print(program->plan);
  return OkStatus();
}

bool PrintMath(const std::string& name) {
  if (name == "list") {
    for (kir::MathId id = 0; id < kir::NumMath(); ++id) std::cout << kir::MathName(id) << "\n";
    return true;
  }
  const Result<kir::MathId> id = kir::MathByName(name);
  if (!id.ok()) {
    std::cerr << "error: " << id.status().message() << "\n";
    return false;
  }
  std::cout << kir::Print(kir::MathGraph(*id));
  return true;
}

}  // namespace tenon::opt
