#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tenon/compiler/compile.h"
#include "tenon/cpu/code.h"
#include "tenon/cpu/job.h"
#include "tenon/cpu/policy.h"
#include "tenon/host/in_flight.h"
#include "tenon/host/policy.h"
#include "tenon/plugin/client.h"
#include "tenon/plugin/plugin.h"
#include "tenon/runtime/memory_pool.h"
#include "tenon/threads/pool.h"

namespace tenon::cpu {

inline constexpr std::string_view kPlatformName = "cpu";
/// The CPU as a PJRT client of N devices.
class CpuClient final : public plugin::Client {
 public:
  struct Setup {
    int num_devices = 1;
    int64_t memory_limit_bytes = 0;  ///< 0: what the machine has.
    std::unique_ptr<Job> job = {};   ///< Null: this process alone.
  };
  static Result<plugin::Ref<plugin::Client>> Create(Setup setup);
  ~CpuClient() override;

  Result<plugin::Ref<plugin::LoadedExecutable>> Compile(const plugin::Program& program,
                                                        const plugin::CompileOptions& options,
                                                        const plugin::DeviceAssignment& assignment) override;
  Result<plugin::Ref<plugin::LoadedExecutable>> Load(plugin::Ref<plugin::Executable> executable,
                                                     const plugin::CompileOptions* options) override;
  Result<plugin::Ref<plugin::LoadedExecutable>> Deserialize(std::string_view bytes,
                                                            const plugin::CompileOptions* options) override;
  void Schedule(std::function<void()> work) override;
  size_t inline_copy_limit() const override { return host::policy::kInlineCopyBytes; }
  std::vector<std::string> executable_versions() const override { return VersionsLoadedHere(); }

  plugin::EventRef SendToProcess(plugin::Ref<plugin::Buffer> buffer, int device_id, int64_t key) override;
  Result<plugin::Ref<plugin::Buffer>> ReceiveFromProcess(plugin::ArraySpec spec, plugin::Device* device, int device_id,
                                                         int64_t key) override;

  /// Executions that nobody can see the outcome of any more end at the next trip of their loops.
  void GivenUp() override;
  void ProcessesChanged(std::span<const ProcessState> processes) override;
  bool TakesProgramsOfOthers() const override { return job_ != nullptr; }
  host::InFlight& in_flight() { return in_flight_; }

  /// Null for a client of one process.
  Job* job() const { return job_.get(); }
  /// Which processes run a program with this assignment: their numbers in the job, ascending, and where its devices
  /// are. The second is empty when one process has them all, or this one has none.
  std::pair<std::vector<int>, compiler::Processes> ProcessesOf(const plugin::DeviceAssignment& assignment) const;

  threads::ThreadPool& pool() const { return *pool_; }
  const std::shared_ptr<runtime::MemoryPool>& memory_pool() const { return memory_; }
  int64_t NextRunId() { return run_id_.fetch_add(1, std::memory_order_relaxed); }

  /// FAILED_PRECONDITION in a child that was forked after the client was made: its threads are not there.
  Status CheckNotForked() const;

 private:
  CpuClient(Setup setup, std::shared_ptr<threads::ThreadPool> pool);

  void AddOwnDevices(int num_devices);
  Status CheckOneProcess(const plugin::DeviceAssignment& assignment) const;

  std::shared_ptr<void> codegen_threads_;
  std::shared_ptr<threads::ThreadPool> pool_;
  std::shared_ptr<runtime::MemoryPool> memory_;
  host::InFlight in_flight_;
  std::atomic<int64_t> run_id_{1};
  const pid_t owner_pid_;
  std::unique_ptr<Job> job_;
};

}  // namespace tenon::cpu
