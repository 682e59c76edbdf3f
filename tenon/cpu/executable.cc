#include "tenon/cpu/executable.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL  // Header-only: no library to find at load time.
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "tenon/base/activity.h"
#include "tenon/cpu/client.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/global_run.h"
#include "tenon/cpu/policy.h"
#include "tenon/threads/flush_denormals.h"

namespace tenon::cpu {
namespace {

// The order, fastest dimension first, in which a dense array with these strides lies.
Dims MinorToMajor(const Dims& dims, const Dims& strides) {
  Dims order(dims.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  // Ties (extents of 1) stand as in row-major order, so that a row-major array is recognised as such.
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int64_t stride_a = strides[static_cast<size_t>(a)];
    const int64_t stride_b = strides[static_cast<size_t>(b)];
    return stride_a != stride_b ? stride_a < stride_b : a > b;
  });
  return order;
}

template <class Port>
Result<plugin::ValueSpec> ToValueSpec(const Port& port) {
  plugin::ValueSpec spec;
  spec.array.shape = port.shape;
  spec.array.minor_to_major = MinorToMajor(port.shape.dims, port.stride_elems);
  TENON_RETURN_IF_ERROR(plugin::NormalizeLayout(spec.array));
  if (!port.memory_kind.empty()) spec.memory_kind = port.memory_kind;
  return spec;
}

// What one device holds of a whole array, in the whole array's order of dims. Stacked arrays are row-major.
void ToPart(plugin::ValueSpec& spec, const compiler::Tiling& tiling) {
  const size_t rank = spec.array.shape.rank() - (tiling.stacked ? 1 : 0);
  spec.array.shape.dims = PartDims(spec.array.shape.dims, tiling, rank);
  if (tiling.stacked) spec.array.minor_to_major.clear();
}

// Of what was compiled by what, and for people: for which target.
std::string Fingerprint(const plan::Plan& plan, const target::Target& target) {
  const std::string text = PlatformVersion() + target::Print(target) + plan::Print(plan);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}-{}", hash.high64, hash.low64, target.name);
}

// Under the names that JAX's users know from its built-in backend.
std::vector<plugin::NamedValue> CostOf(const Code& code) {
  const plan::Plan& plan = code.program->plan();
  std::vector<plugin::NamedValue> cost = {{"flops", static_cast<float>(code.about.flops)},
                                          {"transcendentals", static_cast<float>(code.about.transcendentals)},
                                          {"bytes accessed", static_cast<float>(code.about.bytes_accessed)}};
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const auto bytes = static_cast<float>(SizeBytes(plan.inputs[i].shape));
    cost.push_back({fmt::format("bytes accessed{}{{}}", i), bytes});
  }
  double bytes = 0;
  for (const plan::Output& out : plan.outputs) bytes += static_cast<double>(SizeBytes(out.shape));
  cost.push_back({"bytes accessedout{}", static_cast<float>(bytes)});
  return cost;
}

}  // namespace

Result<plugin::Ref<CpuExecutable>> CpuExecutable::Create(std::shared_ptr<const Code> code,
                                                         const plugin::CompileOptions& options) {
  const plan::Plan& plan = code->program->plan();
  // A deserialised executable says both; they have to agree.
  const int64_t devices = int64_t{options.num_replicas} * options.num_partitions;
  for (const auto* tilings : {&code->about.parameter_tilings, &code->about.result_tilings}) {
    for (const compiler::Tiling& t : *tilings) {
      if (static_cast<int64_t>(t.tile_of_device.size()) != devices) {
        return InvalidArgument(
            fmt::format("the program is for {} devices, the options name {}", t.tile_of_device.size(), devices));
      }
    }
  }
  plugin::ExecutableInfo info;
  info.name = code->about.name;
  info.num_replicas = options.num_replicas;
  info.num_partitions = options.num_partitions;
  plugin::CompiledMemoryStats memory;
  memory.generated_code = code->code_bytes;
  memory.arguments = memory.outputs = memory.aliased = 0;
  // Arrays that the devices hold parts of are put together, and taken apart, meanwhile.
  int64_t together = 0;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(plugin::ValueSpec spec, ToValueSpec(plan.inputs[i]));
    spec.donated = i < code->about.donated.size() && code->about.donated[i];
    if (!code->about.parameter_tilings.empty()) ToPart(spec, code->about.parameter_tilings[i]);
    const int64_t bytes = SizeBytes(spec.array.shape);
    memory.arguments += bytes;
    if (!code->about.parameter_tilings.empty() && NumElements(code->about.parameter_tilings[i].tiles) > 1)
      together += SizeBytes(plan.inputs[i].shape);
    info.parameters.push_back(std::move(spec));
  }
  for (const plan::Output& out : plan.outputs) {
    TENON_ASSIGN_OR_RETURN(plugin::ValueSpec spec, ToValueSpec(out));
    if (!code->about.result_tilings.empty()) ToPart(spec, code->about.result_tilings[info.outputs.size()]);
    const int64_t bytes = SizeBytes(spec.array.shape);
    memory.outputs += bytes;
    if (out.alias_input >= 0) memory.aliased += bytes;
    if (!code->about.result_tilings.empty()) together += SizeBytes(out.shape);
    info.outputs.push_back(std::move(spec));
  }
  // What one device has its share in.
  memory.temporaries = (plan.arena_bytes + together) / devices;
  memory.total = memory.arguments + memory.outputs - memory.aliased + memory.temporaries;
  memory.peak = memory.total;
  info.memory_stats = memory;
  info.fingerprint = Fingerprint(plan, *code->compiled_for);
  info.parameter_shardings = code->about.parameter_shardings;
  info.output_shardings = code->about.output_shardings;
  info.cost = CostOf(*code);
  info.code_size_bytes = code->code_bytes;
  info.compile_options = options.serialized;
  return plugin::MakeRef<CpuExecutable>(std::move(info), std::move(code));
}

Result<std::string> CpuExecutable::Serialize() const { return SaveCode(*code_, info().compile_options); }

Result<plugin::Executable::ProgramText> CpuExecutable::OptimizedProgram() const {
  TENON_ASSIGN_OR_RETURN(std::string program,
                         compiler::PlainStablehlo(code_->about.source, info().num_replicas, info().num_partitions));
  return ProgramText{std::move(program), "mlir"};
}

/// One execution on one device.
struct CpuLoadedExecutable::Run {
  SmallVector<plugin::Argument, 8> arguments;
  SmallVector<plugin::Ref<plugin::Storage>, 8> outputs;
  /// Outputs that hold the aliased argument's contents already, being its storage.
  SmallVector<bool, 8> taken_over;
  plugin::Ref<plugin::ExecuteContext> context;
  CpuDevice* device = nullptr;
};

/// One that the device's queue runs.
struct CpuLoadedExecutable::QueuedRun final : DeviceQueue::Task {
  explicit QueuedRun(plugin::Ref<CpuLoadedExecutable> of) : executable(std::move(of)) {}

  Status Run() override { return executable->RunNow(run); }
  /// Lets the client know what the run refers to: after Prepare.
  void Enter() {
    for (const plugin::Argument& a : run.arguments) entry.Holds(a.storage.get(), false);
    for (const auto& storage : run.outputs) entry.Holds(storage.get(), true);
    entry.Enter(executable->cpu_client().in_flight());
  }
  void End(const Status& status) override {
    entry.Leave();
    run = {};  // Arguments are free before anyone hears of the outputs.
    done->Set(status);
  }

  plugin::Ref<CpuLoadedExecutable> executable;
  InFlight::Entry entry;
  CpuLoadedExecutable::Run run;
  plugin::Ref<plugin::Event> done = plugin::Event::Make();
};

CpuLoadedExecutable::CpuLoadedExecutable(plugin::Ref<plugin::Client> client, plugin::Ref<CpuExecutable> executable,
                                         plugin::DeviceAssignment assignment)
    : LoadedExecutable(std::move(client), plugin::Ref<plugin::Executable>(executable), std::move(assignment)),
      code_(executable->code()) {
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
    if (source >= 0 && !used[static_cast<size_t>(source)]) {
      const plugin::Argument& argument = device.arguments[static_cast<size_t>(source)];
      if (argument.exclusive && argument.storage->writable()) {
        storage = argument.storage;
        used[static_cast<size_t>(source)] = true;
        taken_over = true;
      }
    }
    if (!storage) {
      TENON_ASSIGN_OR_RETURN(
          storage, AllocateFrom(cpu_client().memory_pool(), static_cast<size_t>(SizeBytes(plan.outputs[i].shape)),
                                run.device->use()));
    }
    run.outputs.push_back(std::move(storage));
    run.taken_over.push_back(taken_over);
  }
  for (plugin::Argument& a : device.arguments) run.arguments.push_back(std::move(a));
  return OkStatus();
}

Status CpuLoadedExecutable::RunNow(Run& run) const {
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
  ExecutionUser user{run.context.get(), &client, client.NextRunId(), run.device->id(), nullptr};
  const activity::Scope scope([&] { return ExecutionLabel(*code_, run.device->id()); }, user.run_id);
  return code_->program->Run({.inputs = {inputs.data(), inputs.size()},
                              .outputs = {outputs.data(), outputs.size()},
                              .user = &user,
                              .cancelled = &client.in_flight().given_up(),
                              .may_end = &MayEnd},
                             client.pool(), *client.memory_pool());
}

Status CpuLoadedExecutable::Launch(plugin::DeviceExecution& device, const plugin::ExecuteRequest& request) {
  const plan::Plan& plan = code_->program->plan();
  CpuClient& client = cpu_client();
  bool ready = true;
  for (const plugin::Argument& a : device.arguments) ready &= a.ready.is_ready();

  const auto make_outputs = [&](const Run& run, const plugin::EventRef& event) {
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      const plugin::ValueSpec& spec = info().outputs[i];
      plugin::Memory* memory = client.FindMemory(*device.device, spec.memory_kind);
      if (memory == nullptr) memory = device.device->default_memory();
      device.outputs[i] = plugin::Buffer::Make(device.device, memory, spec.array, run.outputs[i], event);
    }
  };

  if (ready && !code_->has_open_steps && code_->run_ns < policy::kInlineNs && request.devices.size() == 1) {
    for (const plugin::Argument& a : device.arguments) {
      if (a.ready.failed()) return a.ready.status();
    }
    Run run;
    run.context = request.context;
    TENON_RETURN_IF_ERROR(Prepare(device, run));
    const threads::ScopedFlushDenormals compute_state;
    TENON_RETURN_IF_ERROR(RunNow(run));
    make_outputs(run, nullptr);
    return OkStatus();
  }

  auto& queue = static_cast<CpuDevice*>(device.device)->queue();
  if (!code_->may_call_back) {
    int64_t output_bytes = 0;
    for (const plan::Output& out : plan.outputs) output_bytes += SizeBytes(out.shape);
    queue.WaitBelow(output_bytes < policy::kLargeOutputBytes ? policy::kMaxPending : policy::kMaxPendingLarge);
  }
  auto task = std::make_unique<QueuedRun>(plugin::Ref<CpuLoadedExecutable>(this));
  task->run.context = request.context;
  TENON_RETURN_IF_ERROR(Prepare(device, task->run));
  task->Enter();
  make_outputs(task->run, plugin::EventRef(task->done));
  device.done = plugin::EventRef(task->done);
  SmallVector<plugin::EventRef, 8> waits;
  for (const plugin::Argument& a : task->run.arguments) waits.push_back(a.ready);
  const auto kind = code_->may_call_back ? DeviceQueue::Kind::kMayBlock : DeviceQueue::Kind::kComputes;
  std::unique_ptr<DeviceQueue::Task> queued = std::move(task);
  plugin::WhenAll({waits.data(), waits.size()})
      .OnReady([queued = std::move(queued), &queue, kind](const Status& arguments_status) mutable {
        Status status = arguments_status;
        if (status.ok()) status = queue.Submit(queued, kind);
        if (!status.ok()) queued->End(status);
      });
  return OkStatus();
}

Status CpuLoadedExecutable::Execute(plugin::ExecuteRequest& request) {
  TENON_RETURN_IF_ERROR(cpu_client().CheckNotForked());
  if (!code_->about.parameter_tilings.empty() || !code_->about.result_tilings.empty()) {
    return ExecuteGlobally(plugin::Ref<LoadedExecutable>(this), code_, cpu_client(), request);
  }
  for (size_t i = 0; i < request.devices.size(); ++i) {
    Status status = Launch(request.devices[i], request);
    if (status.ok()) continue;
    if (i == 0) return status;
    // Some devices run already: the others' outputs carry the error.
    for (plugin::DeviceExecution& device : request.devices.subspan(i)) Poison(device, status);
    return OkStatus();
  }
  return OkStatus();
}

void CpuLoadedExecutable::Poison(plugin::DeviceExecution& device, const Status& error) const {
  for (size_t i = 0; i < device.outputs.size(); ++i) {
    const plugin::ValueSpec& spec = info().outputs[i];
    plugin::Memory* memory = cpu_client().FindMemory(*device.device, spec.memory_kind);
    if (memory == nullptr) memory = device.device->default_memory();
    device.outputs[i] = plugin::Buffer::MakeError(device.device, memory, spec.array, error);
  }
  device.done = plugin::EventRef::Of(error);
}

}  // namespace tenon::cpu
