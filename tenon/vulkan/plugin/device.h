#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "tenon/host/device_queue.h"
#include "tenon/plugin/device.h"
#include "tenon/plugin/memory.h"
#include "tenon/target/target.h"
#include "tenon/vulkan/device.h"
#include "tenon/vulkan/runner/kernel_cache.h"

namespace tenon::vulkan {

/// A device as PJRT sees it. Its arrays are its own.
class VulkanDevice final : public plugin::Device {
 public:
  VulkanDevice(std::shared_ptr<const plugin::DeviceDescription> description, int local_hardware_id,
               std::shared_ptr<vulkan::Device> device, std::shared_ptr<const target::Target> target)
      : Device(std::move(description), local_hardware_id),
        device_(std::move(device)),
        target_(std::move(target)),
        kernels_(std::make_shared<KernelCache>(device_, target_)),
        queue_("tenon-" + to_string()) {}

  Result<plugin::MemoryStats> GetMemoryStats() const override;
  Status ClearMemoryStats() override;
  Result<bool> PoisonExecution(int32_t launch_id, const Status& error) override;

  const std::shared_ptr<vulkan::Device>& device() const { return device_; }
  const std::shared_ptr<const target::Target>& target() const { return target_; }
  const std::shared_ptr<KernelCache>& kernels() const { return kernels_; }
  host::DeviceQueue& queue() { return queue_; }

 private:
  const std::shared_ptr<vulkan::Device> device_;
  const std::shared_ptr<const target::Target> target_;
  const std::shared_ptr<KernelCache> kernels_;
  host::DeviceQueue queue_;
};

/// What is known of a device before it is opened.
std::shared_ptr<const plugin::DeviceDescription> DescribeDevice(int id, const PhysicalDevice& device);

/// A block of a device's memory. data() is its address on the device, which means nothing to the host.
class VulkanStorage final : public plugin::Storage {
 public:
  VulkanStorage(Block block, size_t size_bytes, std::shared_ptr<vulkan::Device> device)
      : Storage(reinterpret_cast<void*>(block.address()), size_bytes),
        device_(std::move(device)),
        block_(std::move(block)) {}

  const Block& block() const { return block_; }
  const vulkan::Device& device() const { return *device_; }

  /// Whether the work that defines the contents is in the device's queue: what is submitted behind it sees them.
  void SetSubmitted(bool is) { submitted_.store(is, std::memory_order_release); }
  bool is_submitted() const { return submitted_.load(std::memory_order_acquire); }

 private:
  std::shared_ptr<vulkan::Device> device_;  // Before the block, which goes back to it.
  Block block_;
  std::atomic<bool> submitted_{false};
};

/// The memory of one device, or the host's that it reaches ("pinned_host"). The host comes to either through Write and
/// Read alone.
class VulkanMemory final : public plugin::Memory {
 public:
  VulkanMemory(int id, plugin::MemoryKind kind, std::shared_ptr<vulkan::Device> device)
      : Memory(id, std::move(kind)), device_(std::move(device)) {}

  bool host_accessible() const override { return false; }
  Result<plugin::Ref<plugin::Storage>> Allocate(plugin::Device* device, size_t size_bytes) override;
  plugin::EventRef Write(plugin::Storage& dst, size_t offset, const void* src, size_t size_bytes) override;
  plugin::EventRef Read(const plugin::Storage& src, size_t offset, void* dst, size_t size_bytes) override;

 private:
  const std::shared_ptr<vulkan::Device> device_;
};

}  // namespace tenon::vulkan
