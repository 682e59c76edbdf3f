#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "tenon/vulkan/api.h"

namespace tenon::vulkan {

/// One of a device's queues, with commands for it and a timeline that says what has ended. Several may share a queue of
/// the driver's, and then its mutex. Thread-safe once it is open. Errors are the driver's own.
class Queue {
 public:
  Queue(VkDevice device, const DeviceFunctions& functions, VkQueue handle, std::shared_ptr<std::mutex> handle_mutex)
      : device_(device), functions_(functions), handle_(handle), handle_mutex_(std::move(handle_mutex)) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  VkResult Open(uint32_t family);
  /// Gives back what it is made of; without it nothing is, for who may not.
  void Close();

  /// Records what `record` does into commands that may be submitted while an earlier submission of them still runs.
  VkResult Record(const std::function<void(VkCommandBuffer)>& record, VkCommandBuffer* commands);
  void Free(VkCommandBuffer commands);

  /// Queues commands behind everything that was submitted before. They see what `other`, unless null, has ended.
  /// `submission`: the number by which Wait knows them.
  VkResult Submit(std::span<const VkCommandBuffer> commands, const Queue* other, uint64_t* submission);
  /// VK_TIMEOUT when that submission, and all before it, have not ended by then.
  VkResult Wait(uint64_t submission, uint64_t timeout_ns) const;
  /// The last submission that has ended, without waiting.
  uint64_t Completed() const;

 private:
  const VkDevice device_;
  const DeviceFunctions& functions_;
  const VkQueue handle_;
  const std::shared_ptr<std::mutex> handle_mutex_;
  VkSemaphore timeline_ = VK_NULL_HANDLE;

  std::mutex pool_mutex_;  // The pool's, and of all recording into its buffers.
  VkCommandPool pool_ = VK_NULL_HANDLE;

  std::mutex order_mutex_;  // Numbers are in the order of submissions.
  uint64_t submitted_ = 0;
};

}  // namespace tenon::vulkan
