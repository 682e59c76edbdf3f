#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/host/in_flight.h"
#include "tenon/host/policy.h"
#include "tenon/plugin/client.h"
#include "tenon/runtime/memory_pool.h"
#include "tenon/threads/pool.h"
#include "tenon/vulkan/instance.h"
#include "tenon/vulkan/plugin/device.h"

namespace tenon::vulkan {

inline constexpr std::string_view kPlatformName = "vulkan";
/// The topology's attribute that says what programs are compiled for: the target's whole text.
inline constexpr std::string_view kTargetAttribute = "target";

/// The machine's Vulkan devices as a PJRT client.
class VulkanClient final : public plugin::Client {
 public:
  struct Setup {
    /// Numbers of devices in the drivers' order ("0,2"; one may come twice), "all" for every fit one, or empty: every
    /// fit one that is no CPU, and where there is none the CPUs.
    std::string devices;
    int64_t num_devices = 0;  ///< Devices of the client: chosen ones again until there are as many; 0: each once.
    int64_t memory_limit_bytes = 0;  ///< Of each device; 0: most of what it has.
    bool never_map = false;          ///< As Device::Setup.
    bool matrix_units_of_software = false;
  };
  /// NOT_FOUND, saying what is missing, where there is no loader, driver or fit device.
  static Result<plugin::Ref<plugin::Client>> Create(const Setup& setup);
  ~VulkanClient() override;

  Result<plugin::Ref<plugin::LoadedExecutable>> Compile(const plugin::Program& program,
                                                        const plugin::CompileOptions& options,
                                                        const plugin::DeviceAssignment& assignment) override;
  Result<plugin::Ref<plugin::LoadedExecutable>> Load(plugin::Ref<plugin::Executable> executable,
                                                     const plugin::CompileOptions* options) override;
  Result<plugin::Ref<plugin::LoadedExecutable>> Deserialize(std::string_view bytes,
                                                            const plugin::CompileOptions* options) override;
  void Schedule(std::function<void()> work) override;
  size_t inline_copy_limit() const override { return host::policy::kInlineCopyBytes; }
  void GivenUp() override;

  host::InFlight& in_flight() { return in_flight_; }
  /// For what runs on the host.
  threads::ThreadPool& pool() const { return *pool_; }
  const std::shared_ptr<runtime::MemoryPool>& host_memory() const { return host_memory_; }
  int64_t NextRunId() { return run_id_.fetch_add(1, std::memory_order_relaxed); }
  /// FAILED_PRECONDITION in a child that was forked after the client was made.
  Status CheckNotForked() const;

 private:
  VulkanClient(std::shared_ptr<const Instance> instance, std::shared_ptr<threads::ThreadPool> pool);
  VulkanDevice& TargetDevice(const plugin::DeviceAssignment& assignment) const;

  const std::shared_ptr<const Instance> instance_;
  std::shared_ptr<void> codegen_threads_;
  std::shared_ptr<threads::ThreadPool> pool_;
  std::shared_ptr<runtime::MemoryPool> host_memory_;
  host::InFlight in_flight_;
  std::atomic<int64_t> run_id_{1};
  const pid_t owner_pid_;
};

}  // namespace tenon::vulkan
