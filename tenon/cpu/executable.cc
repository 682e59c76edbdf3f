#include "tenon/cpu/executable.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "tenon/base/activity.h"
#include "tenon/cpu/client.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/global_run.h"
#include "tenon/cpu/policy.h"
#include "tenon/host/executable_info.h"
#include "tenon/host/execution.h"
#include "tenon/host/front_end.h"
#include "tenon/host/policy.h"
#include "tenon/kernels/families.h"
#include "tenon/threads/flush_denormals.h"

namespace tenon::cpu {

Result<plugin::Ref<CpuExecutable>> CpuExecutable::Create(std::shared_ptr<const Code> code,
                                                         const plugin::CompileOptions& options,
                                                         const plugin::DeviceAssignment* of_processes) {
  TENON_ASSIGN_OR_RETURN(plugin::ExecutableInfo info,
                         host::MakeExecutableInfo(code->about, code->program->plan(), *code->compiled_for,
                                                  code->code_bytes, options, of_processes));
  info.abi_version = VersionFor(*code->compiled_for);
  return plugin::MakeRef<CpuExecutable>(std::move(info), std::move(code));
}

Result<std::string> CpuExecutable::Serialize() const {
  if (!code_->about.processes.empty())
    return Unimplemented("saving a program of several processes: each of them has a part of its own");
  return SaveCode(*code_, info().compile_options);
}

Result<plugin::Executable::ProgramText> CpuExecutable::OptimizedProgram() const {
  TENON_ASSIGN_OR_RETURN(const plugin::CompileOptions options, plugin::DecodeCompileOptions(info().compile_options));
  TENON_ASSIGN_OR_RETURN(std::string program,
                         host::OptimizedProgram(code_->about, options, *code_->compiled_for, kernels::CpuFamilies()));
  return ProgramText{std::move(program), "mlir"};
}

/// One execution on one device.
struct CpuLoadedExecutable::Run {
  SmallVector<plugin::Argument, 8> arguments;
  SmallVector<plugin::Ref<plugin::Storage>, 8> outputs;
  /// Outputs that hold the aliased argument's contents already, being its storage.
  SmallVector<bool, 8> taken_over;
  /// Outputs that wait in memory of the pool, until the execution begins.
  SmallVector<plugin::Storage*, 8> waiting;
  runtime::MemoryPool::Clock::time_point prepared;
  plugin::Ref<plugin::ExecuteContext> context;
  plugin::Ref<plugin::HostTransfers> transfers;
  CpuDevice* device = nullptr;
};

/// One that the device's queue runs.
struct CpuLoadedExecutable::QueuedRun final : host::ExecutionTask {
  explicit QueuedRun(plugin::Ref<CpuLoadedExecutable> of) : executable(std::move(of)) {}

  Status Run() override {
    // What came back since the call lies in caches: callers that are ahead give up an output for each that they ask
    // for.
    for (plugin::Storage* output : run.waiting) MoveToRecent(*output, run.prepared);
    return executable->RunNow(run);
  }
  void Release() override { run = {}; }

  plugin::Ref<CpuLoadedExecutable> executable;
  CpuLoadedExecutable::Run run;
};

CpuLoadedExecutable::CpuLoadedExecutable(plugin::Ref<plugin::Client> client, plugin::Ref<CpuExecutable> executable,
                                         plugin::DeviceAssignment assignment, std::vector<int> nodes)
    : LoadedExecutable(std::move(client), plugin::Ref<plugin::Executable>(executable), std::move(assignment)),
      code_(executable->code()),
      nodes_(std::move(nodes)) {
  for (const plan::Output& out : code_->program->plan().outputs) takes_over_.push_back(out.alias_input);
}

CpuClient& CpuLoadedExecutable::cpu_client() const { return static_cast<CpuClient&>(client()); }

// Takes the arguments and finds memory for the outputs.
Status CpuLoadedExecutable::Prepare(plugin::DeviceExecution& device, Run& run) const {
  const plan::Plan& plan = code_->program->plan();
  run.device = static_cast<CpuDevice*>(device.device);
  SmallVector<bool, 8> used(device.arguments.size(), false);
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const int source = takes_over_[i];
    plugin::Ref<plugin::Storage> storage;
    bool taken_over = false;
    if (!device.places.empty() && device.places[i] != nullptr) {
      TENON_ASSIGN_OR_RETURN(storage,
                             OutputMemory(*device.device, i)
                                 ->Wrap(device.places[i], static_cast<size_t>(SizeBytes(plan.outputs[i].shape)), {}));
    } else if (source >= 0 && !used[static_cast<size_t>(source)]) {
      const plugin::Argument& argument = device.arguments[static_cast<size_t>(source)];
      if (argument.exclusive && argument.storage->writable()) {
        storage = argument.storage;
        used[static_cast<size_t>(source)] = true;
        taken_over = true;
      }
    }
    if (!storage) {
      const auto size_bytes = static_cast<size_t>(SizeBytes(plan.outputs[i].shape));
      TENON_ASSIGN_OR_RETURN(storage, AllocateFrom(cpu_client().memory_pool(), size_bytes, run.device->use()));
      if (size_bytes >= static_cast<size_t>(host::policy::kLargeOutputBytes)) run.waiting.push_back(storage.get());
    }
    run.outputs.push_back(std::move(storage));
    run.taken_over.push_back(taken_over);
  }
  for (plugin::Argument& a : device.arguments) run.arguments.push_back(std::move(a));
  return OkStatus();
}

bool CpuLoadedExecutable::IsExpectedShort() const {
  return !code_->has_open_steps && code_->run_ns < policy::kInlineNs;
}

bool CpuLoadedExecutable::IsShort() const {
  if (code_->may_call_back) return false;
  const int64_t last = last_run_ns_.load(std::memory_order_relaxed);
  if (last >= 0) return last < policy::kInlineMeasuredNs;
  return IsExpectedShort();
}

Status CpuLoadedExecutable::RunNow(Run& run) {
  const plan::Plan& plan = code_->program->plan();
  SmallVector<const void*, 16> inputs;
  SmallVector<void*, 16> outputs;
  for (const plugin::Argument& a : run.arguments) inputs.push_back(a.storage->data());
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    const plan::Output& out = plan.outputs[i];
    if (out.alias_contents && !run.taken_over[i]) {
      std::memcpy(run.outputs[i]->data(), inputs[static_cast<size_t>(out.alias_input)],
                  static_cast<size_t>(SizeBytes(out.shape)));
    }
    outputs.push_back(run.outputs[i]->data());
  }
  CpuClient& client = cpu_client();
  host::ExecutionUser user{.context = run.context.get(),
                           .client = &client,
                           .in_flight = &client.in_flight(),
                           .num_threads = client.pool().num_threads(),
                           .run_id = client.NextRunId(),
                           .device_ordinal = run.device->id(),
                           .transfers = run.transfers.get()};
  const activity::Scope scope([&] { return host::ExecutionLabel(code_->about, run.device->id()); }, user.run_id);
  const auto run_program = [&] {
    return code_->program->Run({.inputs = {inputs.data(), inputs.size()},
                                .outputs = {outputs.data(), outputs.size()},
                                .user = &user,
                                .cancelled = &client.in_flight().given_up(),
                                .may_end = &host::MayEnd},
                               client.pool(), *client.memory_pool());
  };
  if (IsExpectedShort()) return run_program();
  const auto start = std::chrono::steady_clock::now();
  TENON_RETURN_IF_ERROR(run_program());
  last_run_ns_.store((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1),
                     std::memory_order_relaxed);
  return OkStatus();
}

Status CpuLoadedExecutable::Launch(plugin::DeviceExecution& device, const plugin::ExecuteRequest& request) {
  const plan::Plan& plan = code_->program->plan();
  CpuClient& client = cpu_client();
  bool ready = true;
  for (const plugin::Argument& a : device.arguments) ready &= a.ready.succeeded();

  const auto make_outputs = [&](const Run& run, const plugin::EventRef& event) {
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      device.outputs[i] = plugin::Buffer::Make(device.device, OutputMemory(*device.device, i), info().outputs[i].array,
                                               run.outputs[i], event);
    }
  };

  if (ready && request.devices.size() == 1 && IsShort()) {
    Run run;
    run.context = request.context;
    TENON_RETURN_IF_ERROR(Prepare(device, run));
    const threads::ScopedFlushDenormals compute_state;
    TENON_RETURN_IF_ERROR(RunNow(run));
    make_outputs(run, nullptr);
    return OkStatus();
  }

  auto& queue = static_cast<CpuDevice*>(device.device)->queue();
  if (!code_->may_call_back) host::WaitForRoom(queue, plan);
  const bool await = code_->caller_waits && ready && request.devices.size() == 1;
  auto task = std::make_unique<QueuedRun>(plugin::Ref<CpuLoadedExecutable>(this));
  task->run.context = request.context;
  task->run.transfers = std::move(device.transfers);
  task->run.prepared = runtime::MemoryPool::Clock::now();
  TENON_RETURN_IF_ERROR(Prepare(device, task->run));
  task->Enter(client.in_flight(), request.launch_id, *device.device,
              {task->run.arguments.data(), task->run.arguments.size()},
              {task->run.outputs.data(), task->run.outputs.size()});
  device.done = task->ended();
  make_outputs(task->run, task->done());
  if (await) {  // Waking a thread takes longer than many a callback.
    queue.RunHere(std::move(task));
    return device.done.Wait();
  }
  SmallVector<plugin::EventRef, 8> waits;
  for (const plugin::Argument& a : task->run.arguments) waits.push_back(a.ready);
  const auto kind = code_->may_call_back ? host::DeviceQueue::Kind::kMayBlock : host::DeviceQueue::Kind::kComputes;
  host::SubmitWhenReady({waits.data(), waits.size()}, queue, kind, std::move(task));
  return OkStatus();
}

Status CpuLoadedExecutable::Execute(plugin::ExecuteRequest& request) {
  TENON_RETURN_IF_ERROR(cpu_client().CheckNotForked());
  // All of its devices are other processes'.
  if (request.devices.empty()) return OkStatus();
  if (!code_->about.parameter_tilings.empty() || !code_->about.result_tilings.empty() ||
      !code_->about.processes.empty()) {
    return ExecuteGlobally(plugin::Ref<LoadedExecutable>(this), code_, cpu_client(), nodes_, request);
  }
  return host::LaunchEach(*this, request, [&](plugin::DeviceExecution& device) { return Launch(device, request); });
}

void CpuLoadedExecutable::Refused(const Status& error) {
  if (!code_->about.processes.empty()) FailTogether(cpu_client(), nodes_, error);
}

}  // namespace tenon::cpu
