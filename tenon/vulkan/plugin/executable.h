#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/plugin/executable.h"
#include "tenon/vulkan/plugin/code.h"

namespace tenon::vulkan {

class VulkanClient;

/// A compiled program as PJRT sees it.
class VulkanExecutable final : public plugin::Executable {
 public:
  static Result<plugin::Ref<VulkanExecutable>> Create(std::shared_ptr<const Compiled> compiled,
                                                      const plugin::CompileOptions& options);
  Result<std::string> Serialize() const override;
  Result<ProgramText> OptimizedProgram() const override;
  const std::shared_ptr<const Compiled>& compiled() const { return compiled_; }

 private:
  VulkanExecutable(plugin::ExecutableInfo info, std::shared_ptr<const Compiled> compiled)
      : Executable(std::move(info)), compiled_(std::move(compiled)) {}
  template <class T, class... A>
  friend plugin::Ref<T> plugin::MakeRef(A&&... args);

  std::shared_ptr<const Compiled> compiled_;
};

/// The program on devices. What needs the device alone is submitted by the caller, behind what was submitted before;
/// what the host has a part in runs on the device's thread.
class VulkanLoadedExecutable final : public plugin::LoadedExecutable {
 public:
  static Result<plugin::Ref<plugin::LoadedExecutable>> Create(plugin::Ref<VulkanClient> client,
                                                              plugin::Ref<VulkanExecutable> executable,
                                                              plugin::DeviceAssignment assignment);
  VulkanLoadedExecutable(plugin::Ref<VulkanClient> client, plugin::Ref<VulkanExecutable> executable,
                         plugin::DeviceAssignment assignment);

  Status Execute(plugin::ExecuteRequest& request) override;
  bool has_effects() const override { return has_effects_.load(std::memory_order_relaxed); }

 private:
  struct Run;
  struct QueuedRun;
  struct GlobalRun;
  VulkanClient& vulkan_client() const;
  Result<std::shared_ptr<DeviceCode>> CodeOn(VulkanDevice& device);
  Status Prepare(plugin::DeviceExecution& device, Run& run) const;
  Status Launch(plugin::DeviceExecution& device, const plugin::ExecuteRequest& request);
  Status Start(Run& run) const;
  Status StartOrEnd(Run& run) const;
  Status WaitFor(Run& run) const;
  Status Tell(const Run& run, int64_t ended_ns) const;
  Status ExecuteGlobally(plugin::ExecuteRequest& request);
  Status RunGlobally(GlobalRun& run) const;

  const std::shared_ptr<const Compiled> compiled_;
  std::mutex mutex_;
  std::map<const plugin::Device*, std::shared_ptr<DeviceCode>> code_;
  std::atomic<bool> has_effects_{false};
};

}  // namespace tenon::vulkan
