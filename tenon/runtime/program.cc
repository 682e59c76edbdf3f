#include "tenon/runtime/program.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "tenon/base/small_vector.h"
#include "tenon/runtime/accelerator.h"
#include "tenon/runtime/internal/ops.h"

namespace tenon::runtime {

struct Program::Body {
  internal::OpList ops;
  /// Those that are begun before each run; empty when none has anything to begin.
  std::vector<std::unique_ptr<const internal::CallOp>> calls;
};

Program::Program() = default;
Program::~Program() = default;

Result<std::unique_ptr<const Program>> Program::Create(plan::Plan plan, std::vector<KernelCode> code, Services services,
                                                       const drivers::Registry& families, const target::Target& target,
                                                       std::shared_ptr<Profile> profile, Accelerator* accelerator) {
  TENON_RETURN_IF_ERROR(plan::Verify(plan, families));
  if (code.size() != plan.kernels.size()) {
    return InvalidArgument(fmt::format("the plan has {} kernels, got code for {}", plan.kernels.size(), code.size()));
  }
  std::unique_ptr<Program> program(new Program);
  program->plan_ = std::move(plan);
  program->code_ = std::move(code);
  program->services_ = std::move(services);
  internal::Share share;
  TENON_ASSIGN_OR_RETURN(internal::OpList ops, internal::Build(program->plan_, program->code_, families, target,
                                                               profile.get(), accelerator, share));
  program->host_steps_ = std::move(share.host);
  program->waiting_bytes_ = share.waiting_bytes;
  program->profile_ = std::move(profile);
  program->body_ = std::make_unique<Body>(Body{std::move(ops), {}});
  if (program->services_.begin_custom_call) program->body_->calls = internal::BuildCalls(program->plan_);
  return std::unique_ptr<const Program>(std::move(program));
}

Status Program::Run(const RunArguments& arguments, threads::ThreadPool& pool, MemoryPool& memory) const {
  if (arguments.inputs.size() != plan_.inputs.size() || arguments.outputs.size() != plan_.outputs.size()) {
    return InvalidArgument(fmt::format("{} has {} inputs and {} outputs, got {} and {}", plan_.name,
                                       plan_.inputs.size(), plan_.outputs.size(), arguments.inputs.size(),
                                       arguments.outputs.size()));
  }
  Block arena;
  const bool accelerated = arguments.accelerator != nullptr;
  if (plan_.arena_bytes > 0 && !accelerated) {
    TENON_ASSIGN_OR_RETURN(arena, memory.Allocate(plan_.arena_bytes));
  }
  SmallVector<std::byte*, 32> bases;
  bases.reserve(plan_.inputs.size() + plan_.outputs.size() + 1 + plan_.constants.size());
  // Inputs and constants are never written: plan::Verify saw to it.
  for (const void* p : arguments.inputs) bases.push_back(static_cast<std::byte*>(const_cast<void*>(p)));
  for (void* p : arguments.outputs) bases.push_back(static_cast<std::byte*>(p));
  bases.push_back(static_cast<std::byte*>(accelerated ? arguments.arena : arena.data()));
  for (const plan::Constant& c : plan_.constants) {
    bases.push_back(reinterpret_cast<std::byte*>(const_cast<char*>(c.bytes->data())));
  }
  const internal::Frame frame{bases.data(), pool, memory, arguments, services_, plan_};
  if (!body_->calls.empty()) {
    for (const CallStage stage : {CallStage::kPrepare, CallStage::kInitialize}) {
      for (const auto& call : body_->calls) TENON_RETURN_IF_ERROR(call->Begin(stage, frame));
    }
  }
  // On an accelerator it is under way when this returns: who waits for it knows how long it took.
  if (profile_ == nullptr || accelerated) return internal::RunAll(body_->ops, frame);
  const auto start = std::chrono::steady_clock::now();
  Status status = internal::RunAll(body_->ops, frame);
  profile_->whole().Record(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  return status;
}

namespace {

struct HostKernels {
  const plan::Plan& plan;
  Accelerator& accelerator;
  std::vector<bool> needed;

  void All(const plan::Seq& seq) {
    for (const plan::Step& step : seq) std::visit([this](const auto& s) { One(s); }, step.is);
  }
  template <class Other>
  void One(const Other&) {}
  void One(const plan::KernelStep& s) {
    if (needed[s.kernel]) return;
    needed[s.kernel] = !accelerator.Takes(plan.kernels[s.kernel], {s.params.data(), s.params.size()}).ok();
  }
  void One(const plan::DriverStep& s) {
    for (const auto& [name, hook] : s.hooks) needed[hook.kernel] = true;
  }
  void One(const plan::WhileStep& s) {
    All(s.condition);
    All(s.body);
  }
  void One(const plan::CaseStep& s) {
    for (const plan::Seq& branch : s.branches) All(branch);
  }
};

}  // namespace

std::vector<bool> KernelsOnHost(const plan::Plan& plan, Accelerator& accelerator) {
  HostKernels find{plan, accelerator, std::vector<bool>(plan.kernels.size(), false)};
  find.All(plan.steps);
  return std::move(find.needed);
}

}  // namespace tenon::runtime
