#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/base/status.h"
#include "tenon/runtime/policy.h"

namespace tenon::runtime {

class MemoryPool;

/// Memory of a pool, given back when the block ends. 64-byte aligned, contents unspecified. Movable.
class Block {
 public:
  Block() = default;
  Block(Block&& o) noexcept;
  Block& operator=(Block&& o) noexcept;
  ~Block();

  void* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  friend class MemoryPool;
  MemoryPool* pool_ = nullptr;
  void* data_ = nullptr;
  int64_t size_bytes_ = 0;
  int size_class_ = 0;
};

/// Recycled memory for buffers and arenas: a fresh page costs more than the work on it. Blocks that come back wait for
/// the next request of their size class, up to `cache_limit_bytes` in all, and for no longer than kMaxIdle; larger ones
/// are made of huge pages where the system has them. A thread that is there while much is cached gives back what is
/// idle also when nobody uses the pool. Thread-safe. Must outlive its blocks.
class MemoryPool {
 public:
  static constexpr std::chrono::seconds kMaxIdle = policy::kMaxIdle;

  /// `limit_bytes`: most that may be handed out at once. See PhysicalMemoryBytes for a sensible one. `left_bytes` says
  /// what the system can give at the moment, asked before large blocks.
  explicit MemoryPool(int64_t limit_bytes, int64_t cache_limit_bytes = int64_t{1} << 30,
                      std::function<int64_t()> left_bytes = {});
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// At least `size_bytes` (0 gives one unit). RESOURCE_EXHAUSTED beyond the limit, when the system has none, or when
  /// it has too little to spare.
  Result<Block> Allocate(int64_t size_bytes);

  using Clock = std::chrono::steady_clock;
  /// Gives the block the memory of its size class that came back last, where that was after `since`, and caches what it
  /// had: caches hold more of that. What the block's memory contained is lost.
  void TakeRecent(Block& block, Clock::time_point since);

  /// Gives what is cached back to the system.
  void Trim();

  struct Statistics {
    int64_t bytes_in_use = 0;
    int64_t peak_bytes_in_use = 0;
    int64_t num_allocs = 0;
    int64_t largest_alloc_bytes = 0;
    int64_t bytes_cached = 0;
    int64_t limit_bytes = 0;
  };
  Statistics statistics() const;
  void ResetPeak();

 private:
  friend class Block;
  struct Cached {
    void* data;
    Clock::time_point since;
  };
  static constexpr int kClasses = 4 * 58;

  /// The thread that sweeps, apart from the pool: a forked child leaves it alone.
  struct Sweeper {
    std::condition_variable wake;
    std::thread thread;
    bool stop = false;
    uint32_t generation = ForkGeneration();
  };

  void Return(void* data, int size_class);
  void DropIdle(Clock::time_point now);
  Status CheckLeft(int64_t size_bytes);
  void StartSweeper();
  static void Sweep(void* pool, int);
  static int ClassOf(int64_t size_bytes);
  static int64_t ClassBytes(int index);

  mutable ForkSafeMutex mutex_;  // Forked children free what they inherited.
  std::array<std::vector<Cached>, kClasses> free_;
  Clock::time_point last_sweep_;
  Statistics statistics_;
  const int64_t cache_limit_bytes_;
  const std::function<int64_t()> left_bytes_;
  std::unique_ptr<Sweeper> sweeper_;
  bool sweeping_ = false;
};

/// Memory that this process may have: the machine's, lowered to the least limit of its control groups.
int64_t PhysicalMemoryBytes();

/// Memory that the machine and the process's control groups can give at the moment, swap included: what others use is
/// gone from it, what holds cached files is not.
int64_t MemoryLeftBytes();

}  // namespace tenon::runtime
