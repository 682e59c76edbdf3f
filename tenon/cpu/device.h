#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "tenon/host/device_queue.h"
#include "tenon/plugin/device.h"
#include "tenon/plugin/memory.h"
#include "tenon/runtime/memory_pool.h"

namespace tenon::cpu {

/// What is known of device `id` without a client: its names and memories.
/// `partition_index`: of the machine in its job; negative for a client of its own.
std::shared_ptr<const plugin::DeviceDescription> DescribeDevice(int id, int process_index = 0,
                                                                int partition_index = -1);

/// What the arrays of one device take of the memory that all of them share.
class DeviceUse {
 public:
  void Add(int64_t bytes) {
    const int64_t now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    RaiseTo(peak_, now);
    RaiseTo(largest_, bytes);
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  void Remove(int64_t bytes) { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }
  void ResetPeak() { peak_.store(in_use_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

  int64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  int64_t largest() const { return largest_.load(std::memory_order_relaxed); }
  int64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  static void RaiseTo(std::atomic<int64_t>& most, int64_t value) {
    int64_t seen = most.load(std::memory_order_relaxed);
    while (seen < value && !most.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }
  std::atomic<int64_t> in_use_{0}, peak_{0}, largest_{0}, count_{0};
};

/// One of the client's devices: a name under which programs run on the machine's CPUs. All devices share memory, pool
/// and code.
class CpuDevice final : public plugin::Device {
 public:
  /// `is_alone`: the client has no other device.
  CpuDevice(std::shared_ptr<const plugin::DeviceDescription> description, int local_hardware_id,
            std::shared_ptr<runtime::MemoryPool> memory, bool is_alone)
      : Device(std::move(description), local_hardware_id),
        memory_(std::move(memory)),
        is_alone_(is_alone),
        queue_("tenon-" + to_string()) {}

  /// Of several devices each tells of its own arrays; what programs take meanwhile is all devices' and nobody's. A
  /// device that is alone tells of everything.
  Result<plugin::MemoryStats> GetMemoryStats() const override;
  Status ClearMemoryStats() override;
  Result<bool> PoisonExecution(int32_t launch_id, const Status& error) override;

  host::DeviceQueue& queue() { return queue_; }
  const std::shared_ptr<DeviceUse>& use() const { return use_; }

 private:
  std::shared_ptr<runtime::MemoryPool> memory_;
  std::shared_ptr<DeviceUse> use_ = std::make_shared<DeviceUse>();
  bool is_alone_;
  host::DeviceQueue queue_;
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

/// A block of `pool` as a storage, counted in `use` while it lives, unless that is null.
Result<plugin::Ref<plugin::Storage>> AllocateFrom(const std::shared_ptr<runtime::MemoryPool>& pool, size_t size_bytes,
                                                  std::shared_ptr<DeviceUse> use = nullptr);
/// Of a storage that AllocateFrom gave, before anything is written there: in its place the memory that came back to the
/// pool last, where that was after `since` and nobody has been told the address. Thread-safe.
void MoveToRecent(plugin::Storage& storage, runtime::MemoryPool::Clock::time_point since);

}  // namespace tenon::cpu
