#include "tenon/runtime/memory_pool.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "tenon/base/contain.h"
#include "tenon/runtime/policy.h"
#include "tenon/threads/cgroup.h"
#include "tenon/threads/thread_start.h"

namespace tenon::runtime {
namespace {

using policy::kHugePageBytes;
constexpr int64_t kUnitBytes = policy::kBlockBytes;

void* SystemAllocate(int64_t size_bytes) {
  if (size_bytes < kHugePageBytes)
    return ::operator new(static_cast<size_t>(size_bytes), std::align_val_t(kUnitBytes), std::nothrow);
  // Reserve one huge page more, so that an aligned part can be cut out.
  const size_t reserved = static_cast<size_t>(size_bytes + kHugePageBytes);
  void* raw = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + kHugePageBytes - 1) & ~static_cast<uintptr_t>(kHugePageBytes - 1);
  if (aligned > begin) munmap(raw, aligned - begin);
  const uintptr_t end = aligned + static_cast<uintptr_t>(size_bytes);
  if (begin + reserved > end) munmap(reinterpret_cast<void*>(end), begin + reserved - end);
  void* data = reinterpret_cast<void*>(aligned);
  madvise(data, static_cast<size_t>(size_bytes), MADV_HUGEPAGE);
  return data;
}

void SystemFree(void* data, int64_t size_bytes) {
  if (size_bytes < kHugePageBytes) {
    ::operator delete(data, std::align_val_t(kUnitBytes));
  } else {
    munmap(data, static_cast<size_t>(size_bytes));
  }
}

}  // namespace

Block::Block(Block&& o) noexcept
    : pool_(std::exchange(o.pool_, nullptr)),
      data_(std::exchange(o.data_, nullptr)),
      size_bytes_(std::exchange(o.size_bytes_, 0)),
      size_class_(o.size_class_) {}

Block& Block::operator=(Block&& o) noexcept {
  std::swap(pool_, o.pool_);
  std::swap(data_, o.data_);
  std::swap(size_bytes_, o.size_bytes_);
  std::swap(size_class_, o.size_class_);
  return *this;
}

Block::~Block() {
  if (data_ != nullptr) pool_->Return(data_, size_class_);
}

MemoryPool::MemoryPool(int64_t limit_bytes, int64_t cache_limit_bytes, std::function<int64_t()> left_bytes)
    : last_sweep_(Clock::now()), cache_limit_bytes_(cache_limit_bytes), left_bytes_(std::move(left_bytes)) {
  statistics_.limit_bytes = limit_bytes;
}

MemoryPool::~MemoryPool() {
  if (sweeper_ != nullptr && sweeper_->generation != ForkGeneration()) {
    (void)sweeper_.release();  // The thread is the parent's.
  } else if (sweeper_ != nullptr) {
    {
      std::lock_guard lock(mutex_);
      sweeper_->stop = true;
    }
    sweeper_->wake.notify_all();
    if (sweeper_->thread.joinable()) sweeper_->thread.join();
  }
  Trim();
}

// Requires the lock, and that nobody sweeps. Without a thread idle blocks wait for the next use of the pool.
void MemoryPool::StartSweeper() {
  const Status started = Contain("memory pool", [&]() -> Status {
    if (sweeper_ != nullptr && sweeper_->generation != ForkGeneration()) (void)sweeper_.release();
    if (sweeper_ == nullptr) sweeper_ = std::make_unique<Sweeper>();
    if (sweeper_->thread.joinable()) sweeper_->thread.join();  // It found nothing more to do.
    TENON_ASSIGN_OR_RETURN(sweeper_->thread, threads::internal::StartThread("tenon-memory", &Sweep, this, 0));
    return OkStatus();
  });
  sweeping_ = started.ok();
}

void MemoryPool::Sweep(void* pool, int) {
  auto& self = *static_cast<MemoryPool*>(pool);
  std::unique_lock<std::mutex> lock(self.mutex_);
  Sweeper& sweeper = *self.sweeper_;
  while (!sweeper.stop && self.statistics_.bytes_cached > 0) {
    sweeper.wake.wait_for(lock, kMaxIdle, [&] { return sweeper.stop; });
    self.DropIdle(Clock::now());
  }
  self.sweeping_ = false;
}

Status MemoryPool::CheckLeft(int64_t size_bytes) {
  if (!left_bytes_ || size_bytes < policy::kCheckedBytes) return OkStatus();
  const int64_t left = left_bytes_() - policy::kReserveBytes;
  if (size_bytes <= left) return OkStatus();
  Trim();
  const int64_t after = left_bytes_() - policy::kReserveBytes;
  if (size_bytes <= after) return OkStatus();
  std::lock_guard lock(mutex_);
  return ResourceExhausted(
      fmt::format("{} bytes were asked for, the system has {} to spare; {} of this device's {} are in use", size_bytes,
                  std::max<int64_t>(after, 0), statistics_.bytes_in_use, statistics_.limit_bytes));
}

// Four classes per power of two: at most a fifth of a block is unused.
int MemoryPool::ClassOf(int64_t size_bytes) {
  const auto units = static_cast<uint64_t>((std::max<int64_t>(size_bytes, 1) + kUnitBytes - 1) / kUnitBytes);
  if (units <= 4) return static_cast<int>(units - 1);
  const int exponent = std::bit_width(units - 1) - 3;  // units - 1 lies in [4, 8) << exponent.
  const auto quarter = static_cast<int>(((units - 1) >> exponent) & 3);
  return 4 * (exponent + 1) + quarter;
}

int64_t MemoryPool::ClassBytes(int index) {
  if (index < 4) return (index + 1) * kUnitBytes;
  const int exponent = index / 4 - 1;
  const int64_t bytes = (int64_t{index % 4 + 5} << exponent) * kUnitBytes;
  return bytes < kHugePageBytes ? bytes : (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

Result<Block> MemoryPool::Allocate(int64_t size_bytes) {
  if (size_bytes < 0 || size_bytes > statistics_.limit_bytes) {
    return ResourceExhausted(
        fmt::format("{} bytes were asked for, the device has {}", size_bytes, statistics_.limit_bytes));
  }
  const int index = ClassOf(size_bytes);
  Block block;
  block.pool_ = this;
  block.size_bytes_ = ClassBytes(index);
  block.size_class_ = index;
  {
    std::lock_guard lock(mutex_);
    if (statistics_.bytes_in_use + size_bytes > statistics_.limit_bytes) {
      return ResourceExhausted(fmt::format("{} bytes were asked for, {} of {} are in use", size_bytes,
                                           statistics_.bytes_in_use, statistics_.limit_bytes));
    }
    statistics_.bytes_in_use += block.size_bytes_;
    statistics_.peak_bytes_in_use = std::max(statistics_.peak_bytes_in_use, statistics_.bytes_in_use);
    statistics_.largest_alloc_bytes = std::max(statistics_.largest_alloc_bytes, block.size_bytes_);
    ++statistics_.num_allocs;
    auto& list = free_[static_cast<size_t>(index)];
    if (!list.empty()) {
      block.data_ = list.back().data;
      list.pop_back();
      statistics_.bytes_cached -= block.size_bytes_;
    }
  }
  if (block.data_ == nullptr) {
    if (Status left = CheckLeft(block.size_bytes_); !left.ok()) {
      std::lock_guard lock(mutex_);
      statistics_.bytes_in_use -= block.size_bytes_;
      return left;
    }
    block.data_ = SystemAllocate(block.size_bytes_);
  }
  if (block.data_ == nullptr) {
    Trim();
    block.data_ = SystemAllocate(block.size_bytes_);
  }
  if (block.data_ == nullptr) {
    std::lock_guard lock(mutex_);
    statistics_.bytes_in_use -= block.size_bytes_;
    return ResourceExhausted(
        fmt::format("the system gave no {} bytes; {} are in use", size_bytes, statistics_.bytes_in_use));
  }
  return block;
}

void MemoryPool::TakeRecent(Block& block, Clock::time_point since) {
  std::lock_guard lock(mutex_);
  auto& list = free_[static_cast<size_t>(block.size_class_)];
  if (!list.empty() && list.back().since > since) std::swap(block.data_, list.back().data);
}

void MemoryPool::Return(void* data, int size_class) {
  const int64_t size_bytes = ClassBytes(size_class);
  const auto now = Clock::now();
  bool kept = false;
  {
    std::lock_guard lock(mutex_);
    statistics_.bytes_in_use -= size_bytes;
    if (statistics_.bytes_cached + size_bytes <= cache_limit_bytes_) {
      // Called by destructors: without memory for the note the block goes back to the system.
      kept = Contain("memory pool", [&] { free_[static_cast<size_t>(size_class)].push_back({data, now}); }).ok();
      if (kept) statistics_.bytes_cached += size_bytes;
    }
    if (now - last_sweep_ > kMaxIdle) DropIdle(now);
    if (!sweeping_ && statistics_.bytes_cached >= policy::kSweptBytes) [[unlikely]]
      StartSweeper();
  }
  if (!kept) SystemFree(data, size_bytes);
}

// Lists are stacks: the longest idle blocks lie at the bottom.
void MemoryPool::DropIdle(Clock::time_point now) {
  last_sweep_ = now;
  for (int i = 0; i < kClasses; ++i) {
    auto& list = free_[static_cast<size_t>(i)];
    size_t idle = 0;
    while (idle < list.size() && now - list[idle].since > kMaxIdle) {
      SystemFree(list[idle].data, ClassBytes(i));
      statistics_.bytes_cached -= ClassBytes(i);
      ++idle;
    }
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(idle));
  }
}

void MemoryPool::Trim() {
  std::lock_guard lock(mutex_);
  for (int i = 0; i < kClasses; ++i) {
    for (const Cached& c : free_[static_cast<size_t>(i)]) SystemFree(c.data, ClassBytes(i));
    free_[static_cast<size_t>(i)].clear();
  }
  statistics_.bytes_cached = 0;
}

MemoryPool::Statistics MemoryPool::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

void MemoryPool::ResetPeak() {
  std::lock_guard lock(mutex_);
  statistics_.peak_bytes_in_use = statistics_.bytes_in_use;
}

int64_t PhysicalMemoryBytes() {
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  if (const int64_t limit = threads::MemoryLimitBytes(threads::FindCgroups()); limit > 0)
    bytes = std::min(bytes, limit);
  return bytes;
}

int64_t MemoryLeftBytes() {
  static const threads::Cgroups& groups = *new threads::Cgroups(threads::FindCgroups());
  int64_t free_kib = 0;
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (int64_t kib = 0; file >> name >> kib; std::getline(file, unit)) {
    if (name == "MemAvailable:" || name == "SwapFree:") free_kib += kib;
  }
  const int64_t machine = free_kib == 0 ? std::numeric_limits<int64_t>::max() : free_kib << 10;
  return std::min(machine, threads::MemoryLeftBytes(groups));
}

}  // namespace tenon::runtime
