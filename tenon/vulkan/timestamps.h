#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/vulkan/api.h"

namespace tenon::vulkan {

class Device;

/// Times at which a device passes points of its commands. Freed when this ends, which must not be while commands that
/// write them run. The device must outlive it.
class Timestamps {
 public:
  /// FAILED_PRECONDITION where the device's queue has no clock.
  static Result<std::unique_ptr<Timestamps>> Create(const Device& device, uint32_t count);
  ~Timestamps();
  Timestamps(const Timestamps&) = delete;
  Timestamps& operator=(const Timestamps&) = delete;

  uint32_t count() const { return count_; }
  /// In the commands before all Writes.
  void Reset(VkCommandBuffer commands) const;
  /// Number `index` becomes the time at which everything before it in the queue has ended.
  void Write(VkCommandBuffer commands, uint32_t index) const;
  /// All of them, in nanoseconds of the device's clock. Every one has been written, and the commands have ended.
  Result<std::vector<int64_t>> Read() const;

 private:
  Timestamps(const Device& device, uint32_t count) : device_(device), count_(count) {}
  const Device& device_;
  const uint32_t count_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
};

/// How far a device's clock lies behind the host's. The host learns of an end after it, never before: what it saw
/// soonest is nearest the truth. Thread-safe.
class Clock {
 public:
  /// Something ended at `device_ns`, and the host knew at `host_ns`: what to add to times of the device.
  int64_t Observe(int64_t device_ns, int64_t host_ns);

 private:
  std::mutex mutex_;
  bool known_ = false;
  int64_t offset_ns_ = 0;
  int64_t observed_ns_ = 0;  ///< The host's time then.
};

}  // namespace tenon::vulkan
