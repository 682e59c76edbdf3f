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
#include "tenon/base/log.h"
#include "tenon/cpu/code.h"
#include "tenon/cpu/device.h"
#include "tenon/cpu/executable.h"
#include "tenon/dialect/parse.h"
#include "tenon/emit_llvm/emit.h"
#include "tenon/host/build.h"
#include "tenon/host/profile_log.h"
#include "tenon/host/warm_up.h"
#include "tenon/isa/isa.h"

namespace tenon::cpu {

CpuClient::CpuClient(const Setup& setup, std::shared_ptr<threads::ThreadPool> pool)
    : Client({std::string(kPlatformName), host::BuildName(), 0}),
      codegen_threads_(emit_llvm::KeepCodegenThreads()),
      pool_(std::move(pool)),
      memory_(std::make_shared<runtime::MemoryPool>(
          setup.memory_limit_bytes > 0 ? setup.memory_limit_bytes : runtime::PhysicalMemoryBytes(),
          policy::kMaxCachedBytes, &runtime::MemoryLeftBytes)),
      owner_pid_(getpid()) {
  for (int i = 0; i < setup.num_devices; ++i) {
    const std::shared_ptr<const plugin::DeviceDescription> description = DescribeDevice(i);
    const std::vector<plugin::MemoryKind>& kinds = description->info().memory_kinds;
    plugin::Device* device = AddDevice(std::make_unique<CpuDevice>(description, i, memory_, setup.num_devices == 1));
    for (size_t k = 0; k < kinds.size(); ++k) {
      const int id = i * static_cast<int>(kinds.size()) + static_cast<int>(k);
      AddMemory(std::make_unique<CpuMemory>(id, kinds[k], memory_), {&device, 1}, k == 0);
    }
  }
  Ready();
}

CpuClient::~CpuClient() {
  if (const Status s = host::WriteProfiles(); !s.ok()) Log(LogLevel::kWarning, std::string(s.message()));
}

Result<plugin::Ref<plugin::Client>> CpuClient::Create(const Setup& setup) {
  TENON_RETURN_IF_ERROR(isa::SelectedIsa().status());
  TENON_RETURN_IF_ERROR(host::WriteProfiles());
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<threads::ThreadPool> pool, threads::AcquireProcessPool());
  emit_llvm::SetCodegenThreads(pool->num_threads());
  plugin::Ref<CpuClient> client = plugin::Ref<CpuClient>::Adopt(new CpuClient(setup, std::move(pool)));
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
  if (program.format != "mlir") {
    const dialect::InputKind kind = dialect::DetectInput(program.code);
    if (kind != dialect::InputKind::kHloModuleProto && kind != dialect::InputKind::kHloText) {
      return InvalidArgument(fmt::format(
          "a program of format '{}' is a serialized HloModuleProto (or HLO text); these {} bytes are neither",
          program.format, program.code.size()));
    }
  }
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const Code> code, CompileCode(program.code, options, SharedHostTarget()));
  TENON_ASSIGN_OR_RETURN(plugin::Ref<CpuExecutable> executable, CpuExecutable::Create(std::move(code), options));
  return plugin::Ref<plugin::LoadedExecutable>(
      plugin::MakeRef<CpuLoadedExecutable>(plugin::Ref<Client>(this), std::move(executable), assignment));
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
  TENON_ASSIGN_OR_RETURN(plugin::Ref<CpuExecutable> executable,
                         CpuExecutable::Create(std::move(loaded.code), *options));
  return plugin::Ref<plugin::LoadedExecutable>(
      plugin::MakeRef<CpuLoadedExecutable>(plugin::Ref<Client>(this), std::move(executable), std::move(assignment)));
}

void CpuClient::Schedule(std::function<void()> work) {
  if (!CheckNotForked().ok()) {  // Nobody would run it.
    work();
    return;
  }
  struct Work final : host::DeviceQueue::Task {
    explicit Work(std::function<void()> w) : work(std::move(w)) {}
    Status Run() override {
      work();
      return OkStatus();
    }
    void End(const Status& status) override {
      if (!status.ok()) Log(LogLevel::kError, "scheduled work: " + status.ToString());
    }
    std::function<void()> work;
  };
  std::unique_ptr<host::DeviceQueue::Task> task = std::make_unique<Work>(std::move(work));
  auto* device = static_cast<CpuDevice*>(devices()[0]);
  if (!device->queue().Submit(task, host::DeviceQueue::Kind::kMayBlock).ok()) static_cast<Work&>(*task).work();
}

}  // namespace tenon::cpu
