#include "tenon/cpu/global_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "tenon/base/activity.h"
#include "tenon/cpu/client.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/policy.h"
#include "tenon/host/execution.h"
#include "tenon/host/front_end.h"
#include "tenon/host/policy.h"
#include "tenon/host/tiling.h"

namespace tenon::cpu {
namespace {

using StorageRef = plugin::Ref<plugin::Storage>;

struct GlobalRun;
Status RunGlobally(GlobalRun& run, CpuClient& client, collectives::Launch* launch);

/// One execution for all devices. Device numbers are flat (replica * partitions + partition).
struct GlobalRun final : host::ExecutionTask {
  Status Run() override { return nodes.empty() ? RunGlobally(*this, *client, nullptr) : RunTogether(); }
  Status RunTogether();
  void Release() override {
    arguments.clear();
    outputs.clear();
  }

  std::vector<int> nodes;               ///< The processes that run the program; empty: this one alone.
  uint64_t launch = 0;                  ///< Its number among those of these processes.
  std::vector<plugin::EventRef> waits;  ///< With several processes: arguments that are not there yet.
  CpuClient* client = nullptr;          ///< The executable keeps it alive.
  plugin::Ref<plugin::LoadedExecutable> executable;
  std::shared_ptr<const Code> code;
  plugin::Ref<plugin::ExecuteContext> context;
  host::StorageTable arguments, outputs;
  std::vector<bool> reused;  ///< [output] Some device's is memory of an argument.
};

std::byte* Bytes(const StorageRef& s) { return static_cast<std::byte*>(s->data()); }

/// An argument's memory that a result of so many bytes may have, marked as taken; null when there is none.
StorageRef Donated(const plugin::DeviceExecution& device, const plugin::ExecutableInfo& info, int64_t bytes,
                   std::vector<bool>& taken) {
  for (size_t k = 0; k < device.arguments.size(); ++k) {
    const plugin::Argument& a = device.arguments[k];
    if (taken[k] || !info.parameters[k].donated || !a.exclusive || !a.storage->writable() ||
        SizeBytes(info.parameters[k].array.shape) != bytes) {
      continue;
    }
    taken[k] = true;
    return a.storage;
  }
  return {};
}

// A name for the program that is equal in all processes.
Hash128 ProgramOf(const GlobalRun& run) {
  const std::string& text = run.executable->info().fingerprint;
  Hash128 hash;
  hash.high = std::strtoull(text.substr(0, 16).c_str(), nullptr, 16);
  hash.low = std::strtoull(text.substr(std::min<size_t>(text.size(), 16), 16).c_str(), nullptr, 16);
  return hash;
}

Status RunGlobally(GlobalRun& run, CpuClient& client, collectives::Launch* launch) {
  const plan::Plan& plan = run.code->program->plan();
  const compiler::CompiledProgram& about = run.code->about;
  const plugin::ExecutableInfo& info = run.executable->info();
  std::vector<StorageRef> whole_inputs, whole_outputs;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  host::ExecutionUser user{.context = run.context.get(),
                           .client = &client,
                           .in_flight = &client.in_flight(),
                           .num_threads = client.pool().num_threads(),
                           .run_id = client.NextRunId(),
                           .launch = launch};
  const activity::Scope scope([&] { return host::ExecutionLabel(run.code->about, -1); }, user.run_id);
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const Shape& shape = plan.inputs[i].shape;
    const compiler::Tiling& tiling = about.parameter_tilings[i];
    StorageRef whole = run.arguments[i][0];
    if (!host::IsWhole(tiling)) {
      TENON_ASSIGN_OR_RETURN(whole, AllocateFrom(client.memory_pool(), static_cast<size_t>(SizeBytes(shape))));
      for (size_t d = 0; d < run.arguments[i].size(); ++d)
        host::CopyPart(Bytes(whole), shape, plan.inputs[i].stride_elems, tiling, d, Bytes(run.arguments[i][d]),
                       info.parameters[i].array, true);
    }
    inputs.push_back(whole->data());
    whole_inputs.push_back(std::move(whole));
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const plan::Output& out = plan.outputs[i];
    // What every device holds all of is computed in the first one's array.
    StorageRef whole;
    if (host::IsWhole(about.result_tilings[i]) && !run.reused[i]) {
      whole = run.outputs[i][0];
    } else {
      TENON_ASSIGN_OR_RETURN(whole, AllocateFrom(client.memory_pool(), static_cast<size_t>(SizeBytes(out.shape))));
    }
    if (out.alias_contents)
      std::memcpy(whole->data(), inputs[static_cast<size_t>(out.alias_input)],
                  static_cast<size_t>(SizeBytes(out.shape)));
    outputs.push_back(whole->data());
    whole_outputs.push_back(std::move(whole));
  }
  TENON_RETURN_IF_ERROR(run.code->program->Run({.inputs = inputs,
                                                .outputs = outputs,
                                                .user = &user,
                                                .cancelled = &client.in_flight().given_up(),
                                                .may_end = &host::MayEnd},
                                               client.pool(), *client.memory_pool()));
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    for (size_t d = 0; d < run.outputs[i].size(); ++d) {
      if (run.outputs[i][d] == whole_outputs[i]) continue;
      host::CopyPart(Bytes(whole_outputs[i]), plan.outputs[i].shape, plan.outputs[i].stride_elems,
                     about.result_tilings[i], d, Bytes(run.outputs[i][d]), info.outputs[i].array, false);
    }
  }
  return OkStatus();
}

Status GlobalRun::RunTogether() {
  TENON_ASSIGN_OR_RETURN(collectives::Group * group, client->job()->GroupOf(nodes));
  Status status;
  for (const plugin::EventRef& ready : waits) {
    status = ready.Wait();
    if (!status.ok()) break;
  }
  if (status.ok()) {
    collectives::Launch user{group, {.launch = launch, .program = ProgramOf(*this), .name = code->about.name}};
    status = RunGlobally(*this, *client, &user);
  }
  // The others must not wait for exchanges that this process never comes to.
  if (!status.ok()) group->Fail(status.WithContext(fmt::format("execution {} of '{}'", launch, code->about.name)));
  return status;
}

}  // namespace

void FailTogether(CpuClient& client, const std::vector<int>& nodes, const Status& error) {
  struct Failure final : host::DeviceQueue::Task {
    Status Run() override {
      const Result<collectives::Group*> group = client->job()->GroupOf(nodes);
      if (group.ok()) (*group)->Fail(error);
      return OkStatus();
    }
    void End(const Status&) override {}
    plugin::Ref<plugin::Client> owner;
    CpuClient* client = nullptr;
    std::vector<int> nodes;
    Status error;
  };
  auto failure = std::make_unique<Failure>();
  failure->owner = plugin::Ref<plugin::Client>(&client);
  failure->client = &client;
  failure->nodes = nodes;
  failure->error = error;
  std::unique_ptr<host::DeviceQueue::Task> task = std::move(failure);
  static_cast<void>(client.job()->queue().Submit(task, host::DeviceQueue::Kind::kComputes).ok());
}

Status ExecuteGlobally(plugin::Ref<plugin::LoadedExecutable> executable, std::shared_ptr<const Code> code,
                       CpuClient& client, const std::vector<int>& nodes, plugin::ExecuteRequest& request) {
  const plugin::ExecutableInfo& info = executable->info();
  const compiler::Processes& processes = code->about.processes;
  const size_t devices = request.devices.size();
  const size_t wanted = processes.empty()
                            ? static_cast<size_t>(info.num_replicas) * static_cast<size_t>(info.num_partitions)
                            : processes.DevicesOf(processes.self).size();
  if (devices != wanted)
    return InvalidArgument(fmt::format("{} runs on {} devices, got arguments for {}", info.name, wanted, devices));
  auto run = std::make_unique<GlobalRun>();
  run->client = &client;
  run->executable = executable;
  run->code = std::move(code);
  run->context = request.context;
  run->arguments.assign(info.parameters.size(), std::vector<StorageRef>(devices));
  run->outputs.assign(info.outputs.size(), std::vector<StorageRef>(devices));
  run->reused.assign(info.outputs.size(), false);
  host::DeviceQueue* queue = &static_cast<CpuDevice*>(request.devices[0].device)->queue();
  if (!run->code->about.processes.empty()) {
    run->nodes = nodes;
    queue = &client.job()->queue();
  }
  const auto kind = run->code->may_call_back ? host::DeviceQueue::Kind::kMayBlock : host::DeviceQueue::Kind::kComputes;
  if (kind == host::DeviceQueue::Kind::kComputes) queue->WaitBelow(host::policy::kMaxPendingLarge);
  std::vector<plugin::EventRef> waits;
  // The devices stand in the order of their flat numbers, as in the tilings.
  for (size_t flat = 0; flat < devices; ++flat) {
    plugin::DeviceExecution& device = request.devices[flat];
    // Arguments are read before results are written, so memory that nobody else sees may be any result of its size.
    std::vector<bool> taken(device.arguments.size(), false);
    for (size_t i = 0; i < info.outputs.size(); ++i) {
      const plugin::ArraySpec& spec = info.outputs[i].array;
      StorageRef storage = Donated(device, info, SizeBytes(spec.shape), taken);
      if (storage) {
        run->reused[i] = true;
      } else {
        TENON_ASSIGN_OR_RETURN(storage, AllocateFrom(client.memory_pool(), static_cast<size_t>(SizeBytes(spec.shape)),
                                                     static_cast<CpuDevice*>(device.device)->use()));
      }
      device.outputs[i] = plugin::Buffer::Make(device.device, run->executable->OutputMemory(*device.device, i), spec,
                                               storage, run->done());
      run->outputs[i][flat] = std::move(storage);
    }
    device.done = run->ended();
  }
  // Nothing fails from here on: now the arguments may be taken.
  for (size_t flat = 0; flat < devices; ++flat) {
    plugin::DeviceExecution& device = request.devices[flat];
    for (size_t i = 0; i < device.arguments.size(); ++i) {
      waits.push_back(device.arguments[i].ready);
      run->arguments[i][flat] = std::move(device.arguments[i].storage);
    }
  }
  run->Enter(client.in_flight(), request.launch_id, run->arguments, run->outputs);
  if (!run->nodes.empty()) {
    run->waits = std::move(waits);
    run->launch = client.job()->NextLaunch(nodes);
    // Not when the arguments are there: that may be another order in another process.
    host::SubmitWhenReady({}, *queue, host::DeviceQueue::Kind::kComputes, std::move(run));
    return OkStatus();
  }
  host::SubmitWhenReady(waits, *queue, kind, std::move(run));
  return OkStatus();
}

}  // namespace tenon::cpu
