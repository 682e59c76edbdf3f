#pragma once

#include <memory>
#include <utility>

#include "tenon/cpu/device_queue.h"
#include "tenon/plugin/device.h"
#include "tenon/plugin/memory.h"
#include "tenon/runtime/memory_pool.h"

namespace tenon::cpu {

/// What is known of device `id` without a client: its names and memories.
std::shared_ptr<const plugin::DeviceDescription> DescribeDevice(int id);

/// One of the client's devices: a name under which programs run on the machine's CPUs. All devices share memory, pool
/// and code.
class CpuDevice final : public plugin::Device {
 public:
  CpuDevice(std::shared_ptr<const plugin::DeviceDescription> description, int local_hardware_id,
            std::shared_ptr<runtime::MemoryPool> memory)
      : Device(std::move(description), local_hardware_id), memory_(std::move(memory)), queue_("tenon-" + to_string()) {}

  Result<plugin::MemoryStats> GetMemoryStats() const override;
  Status ClearMemoryStats() override;

  DeviceQueue& queue() { return queue_; }

 private:
  std::shared_ptr<runtime::MemoryPool> memory_;
  DeviceQueue queue_;
};

/// Host memory from the client's pool, under one of the three names that frameworks use.
class CpuMemory final : public plugin::Memory {
 public:
  CpuMemory(int id, plugin::MemoryKind kind, std::shared_ptr<runtime::MemoryPool> pool)
      : Memory(id, std::move(kind)), pool_(std::move(pool)) {}

  Result<plugin::Ref<plugin::Storage>> Allocate(plugin::Device* device, size_t size_bytes) override;

 private:
  std::shared_ptr<runtime::MemoryPool> pool_;
};

/// A block of `pool` as a storage.
Result<plugin::Ref<plugin::Storage>> AllocateFrom(const std::shared_ptr<runtime::MemoryPool>& pool, size_t size_bytes);

}  // namespace tenon::cpu
