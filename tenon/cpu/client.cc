#include "tenon/cpu/client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/cpu/code.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/executable.h"
#include "tenon/cpu/process_transfers.h"
#include "tenon/emit_llvm/emit.h"
#include "tenon/host/build.h"
#include "tenon/host/front_end.h"
#include "tenon/host/plugin_base.h"
#include "tenon/host/profile_log.h"
#include "tenon/host/warm_up.h"
#include "tenon/isa/isa.h"

namespace tenon::cpu {

CpuClient::CpuClient(Setup setup, std::shared_ptr<threads::ThreadPool> pool)
    : Client({std::string(kPlatformName), host::BuildName(), setup.job == nullptr ? 0 : setup.job->node()}),
      codegen_threads_(emit_llvm::KeepCodegenThreads()),
      pool_(std::move(pool)),
      memory_(std::make_shared<runtime::MemoryPool>(
          setup.memory_limit_bytes > 0 ? setup.memory_limit_bytes : runtime::PhysicalMemoryBytes(),
          policy::kMaxCachedBytes, &runtime::MemoryLeftBytes)),
      owner_pid_(getpid()),
      job_(std::move(setup.job)) {
  const int processes = job_ == nullptr ? 1 : static_cast<int>(job_->processes().size());
  for (int process = 0; process < processes; ++process) {
    if (job_ == nullptr || process == job_->node()) {
      AddOwnDevices(setup.num_devices);
      continue;
    }
    const JobProcess& other = job_->processes()[static_cast<size_t>(process)];
    for (int i = 0; i < other.num_devices; ++i) {
      AddDevice(std::make_unique<plugin::Device>(
          DescribeDevice(process * kDevicesPerProcess + i, process, other.partition_index), -1, false));
    }
  }
  Ready();
}

void CpuClient::AddOwnDevices(int num_devices) {
  for (int i = 0; i < num_devices; ++i) {
    const std::shared_ptr<const plugin::DeviceDescription> description =
        job_ == nullptr ? DescribeDevice(i)
                        : DescribeDevice(job_->node() * kDevicesPerProcess + i, job_->node(),
                                         job_->processes()[static_cast<size_t>(job_->node())].partition_index);
    const std::vector<plugin::MemoryKind>& kinds = description->info().memory_kinds;
    plugin::Device* device = AddDevice(std::make_unique<CpuDevice>(description, i, memory_, num_devices == 1));
    for (size_t k = 0; k < kinds.size(); ++k) {
      const int id = description->id() * static_cast<int>(kinds.size()) + static_cast<int>(k);
      AddMemory(std::make_unique<CpuMemory>(id, kinds[k], memory_), {&device, 1}, k == 0);
    }
  }
}

void CpuClient::GivenUp() {
  in_flight_.GiveUp();
  host::WriteProfilesOrWarn();
  if (job_ == nullptr || !CheckNotForked().ok()) return;
  // What the others wait for is still sent; who waits for a process that will not come is not waited for.
  const auto until = std::chrono::steady_clock::now() + policy::kLeaveJob;
  const Result<collectives::Mailbox*> mailbox = job_->mailbox();
  const auto pending = [&] { return job_->queue().pending() + (mailbox.ok() ? (*mailbox)->pending() : 0); };
  while (pending() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (pending() > 0) job_->Leave();
}

void CpuClient::ProcessesChanged(std::span<const ProcessState> processes) {
  if (job_ == nullptr) return;
  for (const ProcessState& p : processes) {
    if (p.is_lost && p.process != job_->node())
      job_->Lost(p.process, p.message.empty() ? "its framework lost it" : p.message);
  }
}

std::pair<std::vector<int>, compiler::Processes> CpuClient::ProcessesOf(
    const plugin::DeviceAssignment& assignment) const {
  std::vector<int> of_device;
  for (const int id : assignment.ids) of_device.push_back(FindDevice(id)->description().info().process_index);
  std::vector<int> nodes = of_device;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  compiler::Processes processes;
  const auto own = std::find(nodes.begin(), nodes.end(), process_index());
  if (nodes.size() < 2 || own == nodes.end()) return {std::move(nodes), processes};
  processes.self = static_cast<int>(own - nodes.begin());
  for (const int node : of_device)
    processes.of_device.push_back(static_cast<int>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin()));
  return {std::move(nodes), std::move(processes)};
}

CpuClient::~CpuClient() { host::WriteProfilesOrWarn(); }

Result<plugin::Ref<plugin::Client>> CpuClient::Create(Setup setup) {
  TENON_RETURN_IF_ERROR(isa::SelectedIsa().status());
  TENON_RETURN_IF_ERROR(emit_llvm::CheckSettings());
  TENON_RETURN_IF_ERROR(host::CheckDumpDir());
  TENON_RETURN_IF_ERROR(host::WriteProfiles());
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<threads::ThreadPool> pool, threads::AcquireProcessPool());
  emit_llvm::SetCodegenThreads(pool->num_threads());
  plugin::Ref<CpuClient> client = plugin::Ref<CpuClient>::Adopt(new CpuClient(std::move(setup), std::move(pool)));
  // The first compile follows soon, and what it needs takes a while to make.
  client->Schedule(host::WarmUp());
  return plugin::Ref<plugin::Client>(std::move(client));
}

Status CpuClient::CheckNotForked() const {
  if (getpid() == owner_pid_) return OkStatus();
  return FailedPrecondition(fmt::format(
      "process {} was forked from {}, which made this client; a forked child cannot use it (its threads stayed "
      "behind): make the client after the fork, or start the child with spawn",
      getpid(), owner_pid_));
}

Result<plugin::Ref<plugin::LoadedExecutable>> CpuClient::Compile(const plugin::Program& program,
                                                                 const plugin::CompileOptions& options,
                                                                 const plugin::DeviceAssignment& assignment) {
  TENON_RETURN_IF_ERROR(CheckNotForked());
  TENON_RETURN_IF_ERROR(host::CheckFormat(program));
  auto [nodes, processes] = ProcessesOf(assignment);
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Code> code,
                         CompileCode(program.code, options, SharedHostTarget(), processes));
  TENON_ASSIGN_OR_RETURN(plugin::Ref<CpuExecutable> executable,
                         CpuExecutable::Create(std::move(code), options, nodes.size() > 1 ? &assignment : nullptr));
  return plugin::Ref<plugin::LoadedExecutable>(plugin::MakeRef<CpuLoadedExecutable>(
      plugin::Ref<Client>(this), std::move(executable), assignment, std::move(nodes)));
}

Status CpuClient::CheckOneProcess(const plugin::DeviceAssignment& assignment) const {
  const size_t processes = ProcessesOf(assignment).first.size();
  if (processes < 2) return OkStatus();
  return Unimplemented(fmt::format(
      "a saved program on the devices of {} processes: each of them has a part of its own, which only compiling makes",
      processes));
}

Result<plugin::Ref<plugin::LoadedExecutable>> CpuClient::Load(plugin::Ref<plugin::Executable> executable,
                                                              const plugin::CompileOptions* options) {
  TENON_RETURN_IF_ERROR(CheckNotForked());
  // Every executable of this plugin is a CpuExecutable.
  plugin::Ref<CpuExecutable> ours(static_cast<CpuExecutable*>(executable.get()));
  plugin::CompileOptions stored;
  if (options == nullptr) {
    TENON_ASSIGN_OR_RETURN(stored, plugin::DecodeCompileOptions(ours->info().compile_options));
    options = &stored;
  }
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Code> code, CodeForHost(ours->code()));
  if (code != ours->code()) {
    TENON_ASSIGN_OR_RETURN(ours, CpuExecutable::Create(std::move(code), *options));
  }
  TENON_ASSIGN_OR_RETURN(plugin::DeviceAssignment assignment, ResolveAssignment(*options));
  TENON_RETURN_IF_ERROR(CheckOneProcess(assignment));
  return plugin::Ref<plugin::LoadedExecutable>(
      plugin::MakeRef<CpuLoadedExecutable>(plugin::Ref<Client>(this), std::move(ours), std::move(assignment)));
}

Result<plugin::Ref<plugin::LoadedExecutable>> CpuClient::Deserialize(std::string_view bytes,
                                                                     const plugin::CompileOptions* options) {
  TENON_RETURN_IF_ERROR(CheckNotForked());
  TENON_ASSIGN_OR_RETURN(LoadedCode loaded, LoadCode(bytes));
  plugin::CompileOptions stored;
  if (options == nullptr) {
    TENON_ASSIGN_OR_RETURN(stored, plugin::DecodeCompileOptions(loaded.compile_options));
    options = &stored;
  }
  TENON_ASSIGN_OR_RETURN(plugin::DeviceAssignment assignment, ResolveAssignment(*options));
  TENON_RETURN_IF_ERROR(CheckOneProcess(assignment));
  TENON_ASSIGN_OR_RETURN(plugin::Ref<CpuExecutable> executable,
                         CpuExecutable::Create(std::move(loaded.code), *options));
  return plugin::Ref<plugin::LoadedExecutable>(
      plugin::MakeRef<CpuLoadedExecutable>(plugin::Ref<Client>(this), std::move(executable), std::move(assignment)));
}

plugin::EventRef CpuClient::SendToProcess(plugin::Ref<plugin::Buffer> buffer, int device_id, int64_t key) {
  return SendArray(*this, std::move(buffer), device_id, key);
}

Result<plugin::Ref<plugin::Buffer>> CpuClient::ReceiveFromProcess(plugin::ArraySpec spec, plugin::Device* device,
                                                                  int device_id, int64_t key) {
  return ReceiveArray(*this, std::move(spec), *device, device_id, key);
}

void CpuClient::Schedule(std::function<void()> work) {
  if (!CheckNotForked().ok()) {  // Nobody would run it.
    work();
    return;
  }
  static_cast<CpuDevice*>(addressable_devices()[0])->queue().Schedule(std::move(work));
}

}  // namespace tenon::cpu
