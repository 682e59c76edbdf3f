#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/base/status.h"
#include "tenon/vulkan/instance.h"
#include "tenon/vulkan/memory.h"
#include "tenon/vulkan/queue.h"
#include "tenon/vulkan/timestamps.h"

namespace tenon::vulkan {

class Device;

/// One entry point of a shader module, ready to be bound. The device must outlive it.
class Pipeline {
 public:
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  VkPipeline handle() const { return handle_; }

 private:
  friend class Device;
  explicit Pipeline(const Device& device) : device_(device) {}
  const Device& device_;
  VkPipeline handle_ = VK_NULL_HANDLE;
};

/// Bytes of push constants that every pipeline has: the address of the frame, and two numbers (u64, u32, u32).
struct PushConstants {
  uint64_t frame = 0;
  uint32_t first_buffer = 0;
  uint32_t first_param = 0;
};

/// Commands that were recorded and may be submitted again and again. Freed when this ends, which must not be while they
/// run. The device must outlive them.
class Commands {
 public:
  Commands() = default;
  Commands(Commands&& o) noexcept { *this = std::move(o); }
  Commands& operator=(Commands&& o) noexcept;
  ~Commands();
  VkCommandBuffer handle() const { return handle_; }
  explicit operator bool() const { return handle_ != VK_NULL_HANDLE; }

 private:
  friend class Device;
  Device* device_ = nullptr;
  Queue* queue_ = nullptr;
  VkCommandBuffer handle_ = VK_NULL_HANDLE;
};

/// An opened device: its memories, a queue for work and one for transfers. Thread-safe. Must outlive everything that
/// was made of it.
class Device {
 public:
  struct Setup {
    int64_t memory_limit_bytes = 0;  ///< 0: most of what the device has.
    /// What the system can give at the moment: asked where the device uses the host's memory.
    std::function<int64_t()> left_bytes;
    /// Takes the host's reach of the device's memory away, so that everything is staged: for tests.
    bool never_map = false;
    /// Lets kernels use the matrix units that drivers without a GPU imitate, slowly: for tests.
    bool matrix_units_of_software = false;
  };
  /// Opens instance->devices()[index]. FAILED_PRECONDITION, with the reason, for one that is unfit.
  static Result<std::shared_ptr<Device>> Open(std::shared_ptr<const Instance> instance, size_t index,
                                              const Setup& setup);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const PhysicalDevice& info() const { return info_; }
  const DeviceFunctions& functions() const { return functions_; }
  VkDevice handle() const { return device_; }
  VkPipelineLayout layout() const { return layout_; }

  /// Where arrays live.
  Memory& memory() const { return *memory_; }
  /// Memory that the host and the device both reach, quick for the host to read: for transfers.
  Memory& host_memory() const { return *host_memory_; }
  /// The same, quick for the device to read, and perhaps slow for the host: for what the device is told.
  Memory& frame_memory() const { return *frame_memory_; }
  /// Whether the host reads and writes arrays where they lie.
  bool is_mapped() const { return memory_->mapped(); }

  /// Compiles one entry point. May take milliseconds to seconds. `name`: for debuggers of drivers; may be empty. Any
  /// thread.
  Result<std::shared_ptr<const Pipeline>> MakePipeline(std::span<const uint32_t> words, const char* entry,
                                                       const std::string& name = {});

  /// Records what `record` does; the commands may be submitted while an earlier submission of them still runs.
  Result<Commands> Record(const std::function<void(VkCommandBuffer)>& record);
  /// A full barrier: what follows sees what kernels and copies before it wrote, the host too.
  void Barrier(VkCommandBuffer commands) const;
  void Bind(VkCommandBuffer commands, const Pipeline& pipeline, const PushConstants& push) const;

  /// Queues the commands, in order, behind everything that was submitted before. Returns the number by which Wait knows
  /// them.
  Result<uint64_t> Submit(std::span<const VkCommandBuffer> commands);
  /// Blocks until that submission, and all before it, have ended.
  Status Wait(uint64_t submission);
  /// The last submission that has ended, without waiting.
  uint64_t Completed() const;

  /// Copies between the host's bytes and a block, at once; work that touches the block must have ended.
  Status Upload(const Block& to, int64_t offset, const void* from, int64_t size_bytes);
  Status Download(const Block& from, int64_t offset, void* to, int64_t size_bytes);
  /// Commands that copy the first `size_bytes` of a block to another.
  Result<Commands> RecordCopy(const Block& to, const Block& from, int64_t size_bytes);

  /// UNAVAILABLE once the device was lost, DEADLINE_EXCEEDED once it did not answer, OK before. It stays so, nothing is
  /// submitted any more.
  Status health() const;
  /// It did not answer: what it has may still be in use, so nothing of it is ever given back to the driver.
  bool is_stuck() const { return health().code() == Code::kDeadlineExceeded; }
  /// Whether what was made of it may be given back to the driver: not in a child of fork, nor when stuck.
  bool is_ours_to_free() const { return ForkGeneration() == generation_ && !is_stuck(); }

  /// Sets its times against the host's.
  Clock& clock() { return clock_; }

 private:
  friend class Commands;
  explicit Device(std::shared_ptr<const Instance> instance) : instance_(std::move(instance)) {}
  Status MakeMemories(const Setup& setup);
  void KeepPipelines() const;
  Status Note(VkResult result, std::string_view what);
  Result<Commands> RecordFor(Queue& queue, const std::function<void(VkCommandBuffer)>& record);
  Status WaitOn(const Queue& queue, uint64_t submission);
  /// The host sees what copies before it wrote.
  void CopyBarrier(VkCommandBuffer commands) const;
  Status Staged(const Block& block, int64_t offset, std::byte* host, int64_t size_bytes, bool up);

  const std::shared_ptr<const Instance> instance_;
  PhysicalDevice info_;
  DeviceFunctions functions_;
  VkDevice device_ = VK_NULL_HANDLE;
  std::unique_ptr<Queue> queue_, transfers_;
  std::atomic<bool> has_transferred_{false};
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::atomic<bool> made_pipelines_{false};
  std::shared_ptr<Memory> memory_, host_memory_, frame_memory_;
  const uint32_t generation_ = ForkGeneration();

  std::mutex staging_mutex_;
  Block staging_;

  Clock clock_;

  mutable std::mutex health_mutex_;
  Status health_;
};

}  // namespace tenon::vulkan
