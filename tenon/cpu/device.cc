#include "tenon/cpu/device.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "tenon/cpu/client.h"

namespace tenon::cpu {
namespace {

class PoolStorage final : public plugin::Storage {
 public:
  PoolStorage(runtime::Block block, size_t size_bytes, std::shared_ptr<runtime::MemoryPool> pool,
              std::shared_ptr<DeviceUse> use)
      : Storage(block.data(), size_bytes), pool_(std::move(pool)), use_(std::move(use)), block_(std::move(block)) {
    if (use_ != nullptr) use_->Add(static_cast<int64_t>(size_bytes));
  }

  void FixAddress() override {
    State seen = State::kMovable;
    if (state_.compare_exchange_strong(seen, State::kFixed, std::memory_order_acquire)) return;
    while (state_.load(std::memory_order_acquire) == State::kMoves) std::this_thread::yield();
  }
  void MoveToRecent(runtime::MemoryPool::Clock::time_point since) {
    State seen = State::kMovable;
    if (!state_.compare_exchange_strong(seen, State::kMoves, std::memory_order_acquire)) return;
    pool_->TakeRecent(block_, since);
    set_data(block_.data());
    state_.store(State::kFixed, std::memory_order_release);
  }

 private:
  enum class State : uint8_t { kMovable, kMoves, kFixed };
  ~PoolStorage() override {
    if (use_ != nullptr) use_->Remove(static_cast<int64_t>(this->size_bytes()));
  }
  std::shared_ptr<runtime::MemoryPool> pool_;  // Before the block, which goes back to it.
  std::shared_ptr<DeviceUse> use_;
  runtime::Block block_;
  std::atomic<State> state_{State::kMovable};
};

}  // namespace

std::shared_ptr<const plugin::DeviceDescription> DescribeDevice(int id, int process_index, int partition_index) {
  plugin::DeviceDescription::Info info;
  info.id = id;
  info.process_index = process_index;
  // Under the names by which meshes over several machines are made.
  if (partition_index >= 0) {
    info.attributes = {{"partition_index", int64_t{partition_index}}, {"slice_index", int64_t{partition_index}}};
  }
  info.kind = "cpu";
  info.to_string = fmt::format("CpuDevice(id={})", id);
  info.debug_string = fmt::format("cpu:{}", id);
  info.memory_kinds = {plugin::MakeMemoryKind(plugin::kDeviceMemoryKind),
                       plugin::MakeMemoryKind(plugin::kPinnedHostMemoryKind),
                       plugin::MakeMemoryKind(plugin::kUnpinnedHostMemoryKind)};
  info.default_memory_kind = 0;
  return std::make_shared<const plugin::DeviceDescription>(std::move(info));
}

Result<plugin::Ref<plugin::Storage>> AllocateFrom(const std::shared_ptr<runtime::MemoryPool>& pool, size_t size_bytes,
                                                  std::shared_ptr<DeviceUse> use) {
  TENON_ASSIGN_OR_RETURN(runtime::Block block, pool->Allocate(static_cast<int64_t>(size_bytes)));
  return plugin::Ref<plugin::Storage>(plugin::MakeRef<PoolStorage>(std::move(block), size_bytes, pool, std::move(use)));
}

void MoveToRecent(plugin::Storage& storage, runtime::MemoryPool::Clock::time_point since) {
  static_cast<PoolStorage&>(storage).MoveToRecent(since);
}

Result<plugin::Ref<plugin::Storage>> CpuMemory::Allocate(plugin::Device* device, size_t size_bytes) {
  Result<plugin::Ref<plugin::Storage>> storage =
      AllocateFrom(pool_, size_bytes, device == nullptr ? nullptr : static_cast<CpuDevice*>(device)->use());
  if (!storage.ok()) return std::move(storage).status().WithContext(to_string());
  return storage;
}

Result<plugin::MemoryStats> CpuDevice::GetMemoryStats() const {
  const runtime::MemoryPool::Statistics s = memory_->statistics();
  plugin::MemoryStats stats;
  stats.bytes_limit = s.limit_bytes;
  if (!is_alone_) {
    stats.bytes_in_use = use_->in_use();
    stats.peak_bytes_in_use = use_->peak();
    stats.num_allocs = use_->count();
    stats.largest_alloc_size = use_->largest();
    return stats;
  }
  stats.bytes_in_use = s.bytes_in_use;
  stats.peak_bytes_in_use = s.peak_bytes_in_use;
  stats.num_allocs = s.num_allocs;
  stats.largest_alloc_size = s.largest_alloc_bytes;
  stats.pool_bytes = s.bytes_cached + s.bytes_in_use;
  return stats;
}

Status CpuDevice::ClearMemoryStats() {
  use_->ResetPeak();
  if (is_alone_) memory_->ResetPeak();
  return OkStatus();
}

Result<bool> CpuDevice::PoisonExecution(int32_t launch_id, const Status& error) {
  return static_cast<CpuClient*>(client())->in_flight().Poison(*this, launch_id, error);
}

}  // namespace tenon::cpu
