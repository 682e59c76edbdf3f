#include "tenon/vulkan/queue.h"

namespace tenon::vulkan {

VkResult Queue::Open(uint32_t family) {
  auto pool = Typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.queueFamilyIndex = family;
  const VkResult made = functions_.CreateCommandPool(device_, &pool, nullptr, &pool_);
  if (made != VK_SUCCESS) return made;
  auto type = Typed<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto semaphore = Typed<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  semaphore.pNext = &type;
  return functions_.CreateSemaphore(device_, &semaphore, nullptr, &timeline_);
}

void Queue::Close() {
  if (timeline_ != VK_NULL_HANDLE) functions_.DestroySemaphore(device_, timeline_, nullptr);
  if (pool_ != VK_NULL_HANDLE) functions_.DestroyCommandPool(device_, pool_, nullptr);
  timeline_ = VK_NULL_HANDLE;
  pool_ = VK_NULL_HANDLE;
}

VkResult Queue::Record(const std::function<void(VkCommandBuffer)>& record, VkCommandBuffer* commands) {
  const std::lock_guard lock(pool_mutex_);
  auto allocate = Typed<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  allocate.commandPool = pool_;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  VkCommandBuffer handle = VK_NULL_HANDLE;
  VkResult result = functions_.AllocateCommandBuffers(device_, &allocate, &handle);
  if (result != VK_SUCCESS) return result;
  auto begin = Typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  result = functions_.BeginCommandBuffer(handle, &begin);
  if (result == VK_SUCCESS) {
    record(handle);
    result = functions_.EndCommandBuffer(handle);
  }
  if (result == VK_SUCCESS) {
    *commands = handle;
  } else {
    functions_.FreeCommandBuffers(device_, pool_, 1, &handle);
  }
  return result;
}

void Queue::Free(VkCommandBuffer commands) {
  const std::lock_guard lock(pool_mutex_);
  functions_.FreeCommandBuffers(device_, pool_, 1, &commands);
}

VkResult Queue::Submit(std::span<const VkCommandBuffer> commands, const Queue* other, uint64_t* submission) {
  const uint64_t seen = other == nullptr ? 0 : other->Completed();
  const std::lock_guard lock(order_mutex_);
  const uint64_t value = submitted_ + 1;
  auto timeline = Typed<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  auto submit = Typed<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  submit.pNext = &timeline;
  submit.commandBufferCount = static_cast<uint32_t>(commands.size());
  submit.pCommandBuffers = commands.data();
  submit.signalSemaphoreCount = 1;
  submit.pSignalSemaphores = &timeline_;
  // To wait for what has ended takes no time; it is what makes one queue's writes visible to another.
  constexpr VkPipelineStageFlags kEverything = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  if (seen > 0) {
    timeline.waitSemaphoreValueCount = 1;
    timeline.pWaitSemaphoreValues = &seen;
    submit.waitSemaphoreCount = 1;
    submit.pWaitSemaphores = &other->timeline_;
    submit.pWaitDstStageMask = &kEverything;
  }
  const std::lock_guard handle_lock(*handle_mutex_);
  const VkResult result = functions_.QueueSubmit(handle_, 1, &submit, VK_NULL_HANDLE);
  if (result != VK_SUCCESS) return result;
  submitted_ = value;
  *submission = value;
  return result;
}

VkResult Queue::Wait(uint64_t submission, uint64_t timeout_ns) const {
  auto wait = Typed<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  wait.semaphoreCount = 1;
  wait.pSemaphores = &timeline_;
  wait.pValues = &submission;
  return functions_.WaitSemaphores(device_, &wait, timeout_ns);
}

uint64_t Queue::Completed() const {
  uint64_t value = 0;
  if (functions_.GetSemaphoreCounterValue(device_, timeline_, &value) != VK_SUCCESS) return 0;
  return value;
}

}  // namespace tenon::vulkan
