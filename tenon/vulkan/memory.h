#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/base/status.h"
#include "tenon/vulkan/api.h"

namespace tenon::vulkan {

class Memory;

/// Bytes on a device: part of a buffer of the driver's, with an address for kernels and, where the host can reach it,
/// one for the host. Given back when the block ends; by then no work that touches it may be queued or running.
/// Contents unspecified. Movable.
class Block {
 public:
  Block() = default;
  Block(Block&& o) noexcept { *this = std::move(o); }
  Block& operator=(Block&& o) noexcept;
  ~Block();

  uint64_t address() const { return address_; }
  /// Null where the host does not reach the memory.
  std::byte* host() const { return host_; }
  int64_t size_bytes() const { return size_bytes_; }
  VkBuffer buffer() const { return buffer_; }
  VkDeviceSize offset() const { return static_cast<VkDeviceSize>(offset_); }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  friend class Memory;
  Memory* memory_ = nullptr;
  void* chunk_ = nullptr;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  uint64_t address_ = 0;
  std::byte* host_ = nullptr;
  int64_t offset_ = 0;
  int64_t size_bytes_ = 0;
};

/// Blocks of one type of a device's memory, out of few large pieces that are recycled. Thread-safe. Must outlive its
/// blocks, and the device it.
class Memory {
 public:
  struct Setup {
    VkDevice device = VK_NULL_HANDLE;
    const DeviceFunctions* functions = nullptr;
    uint32_t type = 0;               ///< Index of the memory type.
    std::vector<uint32_t> families;  ///< Of the queues whose work uses it.
    bool mapped = false;             ///< Whether the host reaches it.
    int64_t limit_bytes = 0;
    int64_t max_allocation_bytes = 0;
    /// What the system can give at the moment, asked before pieces are made; empty where the device's memory is its
    /// own.
    std::function<int64_t()> left_bytes;
  };
  explicit Memory(Setup setup) : setup_(std::move(setup)) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// At least `size_bytes` (0 gives one unit). RESOURCE_EXHAUSTED beyond the limit or when the device has no more.
  Result<Block> Allocate(int64_t size_bytes);
  /// Gives pieces that hold nothing back to the driver.
  void Trim();
  /// From now on nothing that is given back is used again or freed: whoever does not answer may still write there.
  void KeepAll();

  bool mapped() const { return setup_.mapped; }
  uint32_t type() const { return setup_.type; }

  struct Statistics {
    int64_t bytes_in_use = 0;
    int64_t peak_bytes_in_use = 0;
    int64_t num_allocs = 0;
    int64_t largest_alloc_bytes = 0;
    int64_t bytes_reserved = 0;  ///< In pieces, used or not.
    int64_t limit_bytes = 0;
  };
  Statistics statistics() const;
  void ResetPeak();

 private:
  friend class Block;
  struct Chunk {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    uint64_t address = 0;
    std::byte* host = nullptr;
    int64_t size_bytes = 0;
    int64_t used_bytes = 0;
    std::map<int64_t, int64_t> free_by_offset;             ///< Offset to length.
    std::set<std::pair<int64_t, int64_t>> free_by_length;  ///< Length, offset.
    std::list<Chunk>::iterator self;

    void AddFree(int64_t offset, int64_t length);
    void RemoveFree(int64_t offset, int64_t length);
  };

  // All with the mutex held.
  Status AddChunk(int64_t size_bytes);
  void FreeChunk(std::list<Chunk>::iterator chunk);
  void TrimTo(int64_t idle_bytes);
  bool Take(int64_t size_bytes, Block& block);
  void Return(Block& block);

  const Setup setup_;
  mutable ForkSafeMutex mutex_;  // Forked children free what they inherited.
  const uint32_t generation_ = ForkGeneration();
  std::list<Chunk> chunks_;
  int64_t idle_bytes_ = 0;  ///< Of chunks that hold nothing.
  bool keeps_all_ = false;
  Statistics statistics_;
};

}  // namespace tenon::vulkan
