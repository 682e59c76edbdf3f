#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/cpu/code.h"
#include "tenon/plugin/executable.h"

namespace tenon::cpu {

class CpuClient;

/// A compiled program as PJRT sees it.
class CpuExecutable final : public plugin::Executable {
 public:
  /// `of_processes`: of a program that several processes run, its devices: then the fingerprint is the same in all of
  /// them. Null for others.
  static Result<plugin::Ref<CpuExecutable>> Create(std::shared_ptr<const Code> code,
                                                   const plugin::CompileOptions& options,
                                                   const plugin::DeviceAssignment* of_processes = nullptr);

  Result<std::string> Serialize() const override;
  Result<ProgramText> OptimizedProgram() const override;

  const std::shared_ptr<const Code>& code() const { return code_; }

 private:
  CpuExecutable(plugin::ExecutableInfo info, std::shared_ptr<const Code> code)
      : Executable(std::move(info)), code_(std::move(code)) {}
  template <class T, class... A>
  friend plugin::Ref<T> plugin::MakeRef(A&&... args);

  std::shared_ptr<const Code> code_;
};

/// The program on devices. Short programs whose arguments are there run on the caller's thread, and so do those that
/// call back, as their caller waits for them; others on the device's queue. Which are short, estimates say at first,
/// then how long the last run took.
class CpuLoadedExecutable final : public plugin::LoadedExecutable {
 public:
  CpuLoadedExecutable(plugin::Ref<plugin::Client> client, plugin::Ref<CpuExecutable> executable,
                      plugin::DeviceAssignment assignment, std::vector<int> nodes = {});

  Status Execute(plugin::ExecuteRequest& request) override;
  bool has_effects() const override { return code_->caller_waits; }
  void Refused(const Status& error) override;

 private:
  struct Run;
  struct QueuedRun;
  CpuClient& cpu_client() const;
  Status Prepare(plugin::DeviceExecution& device, Run& run) const;
  Status Launch(plugin::DeviceExecution& device, const plugin::ExecuteRequest& request);
  Status RunNow(Run& run);
  /// Whether the caller's own thread may be kept for as long as nobody measured more.
  bool IsExpectedShort() const;
  /// Whether the next run is to be as short as the caller's own thread may be kept.
  bool IsShort() const;

  std::shared_ptr<const Code> code_;
  /// Of a program that this process runs together with others: all of their numbers. Else whoever has the devices.
  std::vector<int> nodes_;
  /// Output i may take the storage of parameter takes_over_[i]; -1: none.
  std::vector<int> takes_over_;
  /// Of a program that is not expected to be short; -1 before its first run ended.
  std::atomic<int64_t> last_run_ns_{-1};
};

}  // namespace tenon::cpu
