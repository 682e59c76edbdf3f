#include "tenon/vulkan/plugin/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tenon/base/activity.h"
#include "tenon/base/log.h"
#include "tenon/host/executable_info.h"
#include "tenon/host/execution.h"
#include "tenon/host/front_end.h"
#include "tenon/host/policy.h"
#include "tenon/host/services.h"
#include "tenon/host/tiling.h"
#include "tenon/kernels/families.h"
#include "tenon/vulkan/plugin/client.h"

namespace tenon::vulkan {
namespace {

using StorageRef = plugin::Ref<plugin::Storage>;

const VulkanStorage& Ours(const StorageRef& storage) { return static_cast<const VulkanStorage&>(*storage); }

}  // namespace

Result<plugin::Ref<VulkanExecutable>> VulkanExecutable::Create(std::shared_ptr<const Compiled> compiled,
                                                               const plugin::CompileOptions& options) {
  TENON_ASSIGN_OR_RETURN(plugin::ExecutableInfo info, host::MakeExecutableInfo(compiled->about, compiled->about.plan,
                                                                               *compiled->target, 0, options));
  return plugin::MakeRef<VulkanExecutable>(std::move(info), std::move(compiled));
}

Result<std::string> VulkanExecutable::Serialize() const { return SaveCompiled(*compiled_, info().compile_options); }

Result<plugin::Executable::ProgramText> VulkanExecutable::OptimizedProgram() const {
  TENON_ASSIGN_OR_RETURN(const plugin::CompileOptions options, plugin::DecodeCompileOptions(info().compile_options));
  TENON_ASSIGN_OR_RETURN(std::string program, host::OptimizedProgram(compiled_->about, options, *compiled_->target,
                                                                     kernels::HostFamilies()));
  return ProgramText{std::move(program), "mlir"};
}

/// One execution on one device.
struct VulkanLoadedExecutable::Run {
  std::shared_ptr<DeviceCode> code;
  SmallVector<plugin::Argument, 8> arguments;
  SmallVector<StorageRef, 8> outputs;
  SmallVector<bool, 8> taken_over;  ///< Outputs that are an argument's storage.
  plugin::Ref<plugin::ExecuteContext> context;
  plugin::Ref<plugin::HostTransfers> transfers;
  VulkanDevice* device = nullptr;

  // What it needs while it runs.
  Block arena, waiting, scratch;
  std::vector<runtime::Block> mirrors;
  std::vector<Commands> copies;
  uint64_t submission = 0;  ///< 0: nothing was submitted.

  // For profilers.
  int64_t run_id = 0;
  int64_t start_ns = 0;
  std::unique_ptr<Timing> timing;  ///< Null: nobody wants to know.
};

/// One that the device's thread runs, or waits for.
struct VulkanLoadedExecutable::QueuedRun final : host::ExecutionTask {
  explicit QueuedRun(plugin::Ref<VulkanLoadedExecutable> of) : executable(std::move(of)) {}

  Status Run() override {
    if (!started) TENON_RETURN_IF_ERROR(executable->StartOrEnd(run));
    return executable->WaitFor(run);
  }
  void Release() override { run = {}; }
  // Without a thread that waits, the caller does.
  Status Refused(const Status& why) override { return started ? Run() : why; }

  plugin::Ref<VulkanLoadedExecutable> executable;
  VulkanLoadedExecutable::Run run;
  bool started = false;  ///< It is in the device's queue already.
};

Result<plugin::Ref<plugin::LoadedExecutable>> VulkanLoadedExecutable::Create(plugin::Ref<VulkanClient> client,
                                                                             plugin::Ref<VulkanExecutable> executable,
                                                                             plugin::DeviceAssignment assignment) {
  auto loaded = plugin::MakeRef<VulkanLoadedExecutable>(client, std::move(executable), std::move(assignment));
  // Errors are wanted now. A portable one runs on whatever device it is asked to, most likely the first.
  std::vector<plugin::Device*> devices(loaded->addressable_devices().begin(), loaded->addressable_devices().end());
  if (devices.empty()) devices.push_back(client->addressable_devices().front());
  for (plugin::Device* d : devices) TENON_RETURN_IF_ERROR(loaded->CodeOn(static_cast<VulkanDevice&>(*d)).status());
  return plugin::Ref<plugin::LoadedExecutable>(std::move(loaded));
}

VulkanLoadedExecutable::VulkanLoadedExecutable(plugin::Ref<VulkanClient> client,
                                               plugin::Ref<VulkanExecutable> executable,
                                               plugin::DeviceAssignment assignment)
    : LoadedExecutable(plugin::Ref<plugin::Client>(std::move(client)), plugin::Ref<plugin::Executable>(executable),
                       std::move(assignment)),
      compiled_(executable->compiled()) {}

VulkanClient& VulkanLoadedExecutable::vulkan_client() const { return static_cast<VulkanClient&>(client()); }

Result<std::shared_ptr<DeviceCode>> VulkanLoadedExecutable::CodeOn(VulkanDevice& device) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<DeviceCode>& code = code_[&device];
  if (code == nullptr) {
    TENON_ASSIGN_OR_RETURN(code, BindTo(device, compiled_));
  }
  return code;
}

// Takes the arguments and finds memory for the outputs.
Status VulkanLoadedExecutable::Prepare(plugin::DeviceExecution& device, Run& run) const {
  const plan::Plan& plan = compiled_->about.plan;
  run.device = static_cast<VulkanDevice*>(device.device);
  SmallVector<bool, 8> used(device.arguments.size(), false);
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    plugin::Memory* memory = OutputMemory(*device.device, i);
    const int source = plan.outputs[i].alias_input;
    StorageRef storage;
    bool taken_over = false;
    if (source >= 0 && !used[static_cast<size_t>(source)]) {
      const plugin::Argument& argument = device.arguments[static_cast<size_t>(source)];
      if (argument.exclusive && argument.storage->writable() && argument.memory == memory) {
        storage = argument.storage;
        used[static_cast<size_t>(source)] = true;
        taken_over = true;
      }
    }
    if (!storage) {
      TENON_ASSIGN_OR_RETURN(storage,
                             memory->Allocate(device.device, static_cast<size_t>(SizeBytes(plan.outputs[i].shape))));
    }
    run.outputs.push_back(std::move(storage));
    run.taken_over.push_back(taken_over);
  }
  for (plugin::Argument& a : device.arguments) run.arguments.push_back(std::move(a));
  return OkStatus();
}

// Runs what is the host's part, and leaves the rest in the device's queue.
Status VulkanLoadedExecutable::Start(Run& run) const {
  const plan::Plan& plan = compiled_->about.plan;
  const DeviceCode& code = *run.code;
  vulkan::Device& device = *run.device->device();
  TENON_RETURN_IF_ERROR(device.health());
  const runtime::Program& program = *code.program;
  const auto allocate = [&](int64_t bytes, Block& block) -> Status {
    if (bytes == 0) return OkStatus();
    TENON_ASSIGN_OR_RETURN(block, device.memory().Allocate(bytes));
    return OkStatus();
  };
  TENON_RETURN_IF_ERROR(allocate(plan.arena_bytes, run.arena));
  TENON_RETURN_IF_ERROR(allocate(program.waiting_bytes(), run.waiting));
  TENON_RETURN_IF_ERROR(allocate(code.binding->scratch_bytes(), run.scratch));

  VulkanClient& client = vulkan_client();
  // The host sees arrays where they lie, or at places of its own, to which they are brought piece by piece.
  const bool mirrored = !device.is_mapped() && program.host_steps().all() + program.host_steps().decisions > 0;
  std::vector<Base> bases;
  const auto add = [&](const Block& block, int64_t bytes) -> Status {
    Base base{block.address(), &block, block.host()};
    if (mirrored && bytes > 0) {
      TENON_ASSIGN_OR_RETURN(runtime::Block mirror, client.host_memory()->Allocate(bytes));
      base.host = static_cast<std::byte*>(mirror.data());
      run.mirrors.push_back(std::move(mirror));
    }
    bases.push_back(base);
    return OkStatus();
  };
  for (size_t i = 0; i < run.arguments.size(); ++i) {
    TENON_RETURN_IF_ERROR(add(Ours(run.arguments[i].storage).block(), SizeBytes(plan.inputs[i].shape)));
  }
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    const plan::Output& out = plan.outputs[i];
    if (run.taken_over[i]) {
      bases.push_back(bases[static_cast<size_t>(out.alias_input)]);
      continue;
    }
    TENON_RETURN_IF_ERROR(add(Ours(run.outputs[i]).block(), SizeBytes(out.shape)));
  }
  TENON_RETURN_IF_ERROR(add(run.arena, plan.arena_bytes));
  SmallVector<const void*, 16> inputs;
  SmallVector<void*, 16> outputs;
  for (size_t i = 0; i < run.arguments.size(); ++i) inputs.push_back(bases[i].host);
  for (size_t i = 0; i < run.outputs.size(); ++i) outputs.push_back(bases[run.arguments.size() + i].host);
  void* const arena = bases.back().host;
  bases.insert(bases.end(), code.constants.begin(), code.constants.end());
  bases.push_back({run.waiting.address(), &run.waiting, nullptr});

  for (size_t i = 0; i < run.outputs.size(); ++i) {
    const plan::Output& out = plan.outputs[i];
    if (!out.alias_contents || run.taken_over[i] || SizeBytes(out.shape) == 0) continue;
    TENON_ASSIGN_OR_RETURN(Commands copy,
                           device.RecordCopy(Ours(run.outputs[i]).block(),
                                             Ours(run.arguments[static_cast<size_t>(out.alias_input)].storage).block(),
                                             SizeBytes(out.shape)));
    const VkCommandBuffer handle = copy.handle();
    TENON_ASSIGN_OR_RETURN(run.submission, device.Submit({&handle, 1}));
    run.copies.push_back(std::move(copy));
  }
  if (run.submission != 0 && code.needs_host) TENON_RETURN_IF_ERROR(device.Wait(run.submission));

  TENON_ASSIGN_OR_RETURN(const std::unique_ptr<vulkan::Run> on_device,
                         vulkan::Run::Start(*code.binding, std::move(bases), run.scratch.address()));
  run.run_id = client.NextRunId();
  run.start_ns = activity::NowNs();
  host::ExecutionUser user{.context = run.context.get(),
                           .client = &client,
                           .in_flight = &client.in_flight(),
                           .num_threads = client.pool().num_threads(),
                           .run_id = run.run_id,
                           .device_ordinal = run.device->id(),
                           .transfers = run.transfers.get()};
  const activity::Scope scope([&] { return host::ExecutionLabel(compiled_->about, run.device->id()); }, user.run_id);
  TENON_RETURN_IF_ERROR(program.Run({.inputs = {inputs.data(), inputs.size()},
                                     .outputs = {outputs.data(), outputs.size()},
                                     .user = &user,
                                     .cancelled = &client.in_flight().given_up(),
                                     .may_end = &host::MayEnd,
                                     .accelerator = on_device.get(),
                                     .arena = arena},
                                    client.pool(), *client.host_memory()));
  run.timing = on_device->TakeTiming();
  if (const uint64_t last = on_device->Finish(); last != 0) run.submission = last;
  return OkStatus();
}

// Waits until the device has ended what was started.
Status VulkanLoadedExecutable::WaitFor(Run& run) const {
  if (run.submission != 0) TENON_RETURN_IF_ERROR(run.device->device()->Wait(run.submission));
  const int64_t ended_ns = activity::NowNs();
  if (run.code->profile != nullptr) run.code->profile->whole().Record(ended_ns - run.start_ns);
  if (run.timing != nullptr) {
    if (const Status told = Tell(run, ended_ns); !told.ok()) Log(LogLevel::kWarning, std::string(told.message()));
  }
  return OkStatus();
}

// Tells profilers when the device did what.
Status VulkanLoadedExecutable::Tell(const Run& run, int64_t ended_ns) const {
  TENON_ASSIGN_OR_RETURN(const std::vector<Timing::Span> spans, run.timing->Read(*run.device->device(), ended_ns));
  if (spans.empty()) return OkStatus();
  const bool recorded = activity::IsOn();
  const std::string line = fmt::format("{} queue", run.device->device()->info().name);
  if (recorded) {
    int64_t end_ns = spans.front().end_ns;
    for (const Timing::Span& s : spans) end_ns = std::max(end_ns, s.end_ns);
    activity::AddTo(line, host::ExecutionLabel(compiled_->about, run.device->id()), spans.front().start_ns, end_ns,
                    run.run_id);
  }
  std::map<const plan::Step*, const activity::Label*> labels;
  for (const Timing::Span& s : spans) {
    if (s.profile != nullptr) s.profile->Record(s.end_ns - s.start_ns);
    if (!recorded) continue;
    const activity::Label*& label = labels[s.step];
    if (label == nullptr) {
      label = activity::Intern(s.step == nullptr ? activity::Label{"carry", {}, {{"hlo_category", "carry"}}}
                                                 : runtime::LabelOf(compiled_->about.plan, *s.step));
    }
    activity::AddTo(line, label, s.start_ns, s.end_ns, run.run_id);
  }
  return OkStatus();
}

Status VulkanLoadedExecutable::StartOrEnd(Run& run) const {
  Status started = Start(run);
  // What was submitted before an error must have ended before its memory is given back.
  if (!started.ok() && run.submission != 0) static_cast<void>(run.device->device()->Wait(run.submission));
  return started;
}

Status VulkanLoadedExecutable::Launch(plugin::DeviceExecution& device, const plugin::ExecuteRequest& request) {
  const plan::Plan& plan = compiled_->about.plan;
  auto& ours = static_cast<VulkanDevice&>(*device.device);
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<DeviceCode> code, CodeOn(ours));
  const bool may_call_back = code->may_call_back;
  if (!may_call_back) host::WaitForRoom(ours.queue(), plan);
  // The caller may submit when what the arguments need is in the queue already. What is there fails with the device
  // alone, and then whatever is submitted behind it does.
  bool submit = !code->needs_host, ready = true;
  for (const plugin::Argument& a : device.arguments) {
    if (a.ready.succeeded()) continue;
    ready = false;
    const VulkanStorage& storage = Ours(a.storage);
    submit &= !a.ready.failed() && storage.is_submitted() && &storage.device() == ours.device().get();
  }
  if (code->caller_waits) has_effects_.store(true, std::memory_order_relaxed);
  const bool await = code->caller_waits && ready && request.devices.size() == 1;
  auto task = std::make_unique<QueuedRun>(plugin::Ref<VulkanLoadedExecutable>(this));
  task->run.code = std::move(code);
  task->run.context = request.context;
  task->run.transfers = std::move(device.transfers);
  TENON_RETURN_IF_ERROR(Prepare(device, task->run));
  task->Enter(vulkan_client().in_flight(), request.launch_id, ours,
              {task->run.arguments.data(), task->run.arguments.size()},
              {task->run.outputs.data(), task->run.outputs.size()});
  if (submit) {
    TENON_RETURN_IF_ERROR(StartOrEnd(task->run));
    task->started = true;
  }
  device.done = task->ended();
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    // An argument's storage, taken over, speaks of the work that made the argument until now.
    static_cast<VulkanStorage&>(*task->run.outputs[i]).SetSubmitted(submit);
    device.outputs[i] =
        plugin::Buffer::Make(&ours, OutputMemory(ours, i), info().outputs[i].array, task->run.outputs[i], task->done());
  }
  if (await) {
    ours.queue().RunHere(std::move(task));
    return device.done.Wait();
  }
  SmallVector<plugin::EventRef, 8> waits;
  if (!submit) {
    for (const plugin::Argument& a : task->run.arguments) waits.push_back(a.ready);
  }
  const auto kind = may_call_back ? host::DeviceQueue::Kind::kMayBlock : host::DeviceQueue::Kind::kComputes;
  host::SubmitWhenReady({waits.data(), waits.size()}, ours.queue(), kind, std::move(task));
  return OkStatus();
}

/// One execution for all devices of a program of several. Device numbers are flat (replica * partitions + partition).
struct VulkanLoadedExecutable::GlobalRun final : host::ExecutionTask {
  Status Run() override { return executable->RunGlobally(*this); }
  void Release() override {
    arguments.clear();
    outputs.clear();
  }

  plugin::Ref<VulkanLoadedExecutable> executable;
  std::shared_ptr<DeviceCode> code;
  VulkanDevice* first = nullptr;
  plugin::Ref<plugin::ExecuteContext> context;
  host::StorageTable arguments, outputs;
};

// Puts the whole arrays together on the host, runs on the first device, and cuts the outputs on the host.
Status VulkanLoadedExecutable::RunGlobally(GlobalRun& all) const {
  const plan::Plan& plan = compiled_->about.plan;
  const compiler::CompiledProgram& about = compiled_->about;
  plugin::Memory& memory = *all.first->default_memory();
  const auto device_of = [](const StorageRef& s) -> vulkan::Device& {
    return const_cast<vulkan::Device&>(Ours(s).device());
  };
  std::vector<std::byte> whole, part;
  Run run;
  run.code = all.code;
  run.context = all.context;
  run.device = all.first;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const Shape& shape = plan.inputs[i].shape;
    plugin::Argument argument;
    argument.memory = &memory;
    argument.storage = all.arguments[i][0];
    if (!host::IsWhole(about.parameter_tilings[i])) {
      whole.resize(static_cast<size_t>(SizeBytes(shape)));
      for (size_t d = 0; d < all.arguments[i].size(); ++d) {
        const StorageRef& from = all.arguments[i][d];
        part.resize(from->size_bytes());
        TENON_RETURN_IF_ERROR(
            device_of(from).Download(Ours(from).block(), 0, part.data(), static_cast<int64_t>(part.size())));
        host::CopyPart(whole.data(), shape, plan.inputs[i].stride_elems, about.parameter_tilings[i], d, part.data(),
                       info().parameters[i].array, true);
      }
      TENON_ASSIGN_OR_RETURN(argument.storage, memory.Allocate(all.first, whole.size()));
      TENON_RETURN_IF_ERROR(all.first->device()->Upload(Ours(argument.storage).block(), 0, whole.data(),
                                                        static_cast<int64_t>(whole.size())));
    }
    run.arguments.push_back(std::move(argument));
  }
  for (const plan::Output& out : plan.outputs) {
    TENON_ASSIGN_OR_RETURN(StorageRef storage, memory.Allocate(all.first, static_cast<size_t>(SizeBytes(out.shape))));
    run.outputs.push_back(std::move(storage));
    run.taken_over.push_back(false);
  }
  TENON_RETURN_IF_ERROR(StartOrEnd(run));
  TENON_RETURN_IF_ERROR(WaitFor(run));
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const Shape& shape = plan.outputs[i].shape;
    whole.resize(static_cast<size_t>(SizeBytes(shape)));
    TENON_RETURN_IF_ERROR(all.first->device()->Download(Ours(run.outputs[i]).block(), 0, whole.data(),
                                                        static_cast<int64_t>(whole.size())));
    for (size_t d = 0; d < all.outputs[i].size(); ++d) {
      const StorageRef& to = all.outputs[i][d];
      part.resize(to->size_bytes());
      host::CopyPart(whole.data(), shape, plan.outputs[i].stride_elems, about.result_tilings[i], d, part.data(),
                     info().outputs[i].array, false);
      TENON_RETURN_IF_ERROR(device_of(to).Upload(Ours(to).block(), 0, part.data(), static_cast<int64_t>(part.size())));
    }
  }
  return OkStatus();
}

Status VulkanLoadedExecutable::ExecuteGlobally(plugin::ExecuteRequest& request) {
  const size_t devices = request.devices.size();
  const auto wanted = static_cast<size_t>(info().num_replicas) * static_cast<size_t>(info().num_partitions);
  if (devices != wanted)
    return InvalidArgument(fmt::format("{} runs on {} devices, got arguments for {}", info().name, wanted, devices));
  auto run = std::make_unique<GlobalRun>();
  run->executable = plugin::Ref<VulkanLoadedExecutable>(this);
  run->context = request.context;
  run->first = static_cast<VulkanDevice*>(request.devices[0].device);
  TENON_ASSIGN_OR_RETURN(run->code, CodeOn(*run->first));
  run->arguments.assign(info().parameters.size(), std::vector<StorageRef>(devices));
  run->outputs.assign(info().outputs.size(), std::vector<StorageRef>(devices));
  host::DeviceQueue& queue = run->first->queue();
  const auto kind = run->code->may_call_back ? host::DeviceQueue::Kind::kMayBlock : host::DeviceQueue::Kind::kComputes;
  if (kind == host::DeviceQueue::Kind::kComputes) queue.WaitBelow(host::policy::kMaxPendingLarge);
  std::vector<plugin::EventRef> waits;
  for (plugin::DeviceExecution& device : request.devices) {
    const auto number = static_cast<size_t>(device.replica) * static_cast<size_t>(info().num_partitions) +
                        static_cast<size_t>(device.partition);
    if (number >= devices) return Internal("a device that is not among those of the program");
    for (size_t i = 0; i < info().outputs.size(); ++i) {
      const plugin::ArraySpec& spec = info().outputs[i].array;
      plugin::Memory* memory = OutputMemory(*device.device, i);
      TENON_ASSIGN_OR_RETURN(StorageRef storage,
                             memory->Allocate(device.device, static_cast<size_t>(SizeBytes(spec.shape))));
      device.outputs[i] = plugin::Buffer::Make(device.device, memory, spec, storage, run->done());
      run->outputs[i][number] = std::move(storage);
    }
    for (size_t i = 0; i < device.arguments.size(); ++i) {
      waits.push_back(device.arguments[i].ready);
      run->arguments[i][number] = device.arguments[i].storage;
    }
    device.done = run->ended();
  }
  // Nothing fails from here on: the arguments are the run's.
  for (plugin::DeviceExecution& device : request.devices) {
    for (plugin::Argument& a : device.arguments) a.storage = nullptr;
  }
  run->Enter(vulkan_client().in_flight(), request.launch_id, run->arguments, run->outputs);
  host::SubmitWhenReady(waits, queue, kind, std::move(run));
  return OkStatus();
}

Status VulkanLoadedExecutable::Execute(plugin::ExecuteRequest& request) {
  TENON_RETURN_IF_ERROR(vulkan_client().CheckNotForked());
  if (!compiled_->about.parameter_tilings.empty() || !compiled_->about.result_tilings.empty())
    return ExecuteGlobally(request);
  return host::LaunchEach(*this, request, [&](plugin::DeviceExecution& device) { return Launch(device, request); });
}

}  // namespace tenon::vulkan
