#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/client/api.h"
#include "tenon/client/named_value.h"

namespace tenon::client {

namespace internal {
struct ClientState;
}
class Memory;

/// What is known of a device without opening it. Valid as long as the topology or client it came from.
class DeviceDescription {
 public:
  DeviceDescription(const Api* api, PJRT_DeviceDescription* description, std::shared_ptr<const void> owner)
      : api_(api), description_(description), owner_(std::move(owner)) {}

  /// Unique over all processes.
  Result<int> id() const;
  Result<int> process_index() const;
  /// The vendor's model name.
  Result<std::string> kind() const;
  Result<std::string> DebugString() const;
  Result<std::string> ToString() const;
  Result<std::vector<NamedValue>> Attributes() const;

  /// A kind of memory that the device has.
  struct MemoryKind {
    std::string kind;
    int kind_id = 0;
    bool is_default = false;
  };
  /// By the memory descriptions extension; UNIMPLEMENTED without it.
  Result<std::vector<MemoryKind>> MemoryKinds() const;

  PJRT_DeviceDescription* get() const { return description_; }

 private:
  const Api* api_;
  PJRT_DeviceDescription* description_;
  std::shared_ptr<const void> owner_;
};

/// Figures of a device's allocator; those that the plugin does not know are empty.
struct MemoryStats {
  int64_t bytes_in_use = 0;
  std::optional<int64_t> peak_bytes_in_use, num_allocs, largest_alloc_size, bytes_limit, bytes_reserved,
      peak_bytes_reserved, bytes_reservable_limit, largest_free_block_bytes, pool_bytes, peak_pool_bytes,
      peak_allocated_bytes;
};

/// See Device::StartTrackingScope. Moves only.
class TrackingScope {
 public:
  TrackingScope(const Api* api, PJRT_AsyncTrackingEvent* event) : api_(api), event_(event) {}
  TrackingScope(TrackingScope&& other) noexcept : api_(other.api_), event_(std::exchange(other.event_, nullptr)) {}
  TrackingScope& operator=(TrackingScope&&) = delete;
  ~TrackingScope();

 private:
  const Api* api_;
  PJRT_AsyncTrackingEvent* event_;  // null: the plugin has none
};

/// A device of a client: a handle that copies and keeps the client open. Equal handles are the same device.
class Device {
 public:
  Device(std::shared_ptr<internal::ClientState> client, PJRT_Device* device);

  Result<int> id() const;
  Result<DeviceDescription> Description() const;
  /// The vendor's model name.
  Result<std::string> kind() const;
  Result<std::string> ToString() const;
  Result<std::string> DebugString() const;
  Result<bool> IsAddressable() const;
  /// Number on this host; -1 when there is none.
  Result<int> LocalHardwareId() const;
  /// Live attributes (0.92).
  Result<std::vector<NamedValue>> Attributes() const;

  Result<std::vector<Memory>> AddressableMemories() const;
  Result<Memory> DefaultMemory() const;
  /// The memory of this kind ("device", "pinned_host" ...); NOT_FOUND lists the kinds there are.
  Result<Memory> MemoryOfKind(std::string_view kind) const;

  Result<MemoryStats> GetMemoryStats() const;
  /// Sets the peaks back (0.106).
  Status ClearMemoryStats() const;
  /// Makes the oldest unfinished execution with `launch_id` fail with `error` (0.85); whether there was one.
  Result<bool> PoisonExecution(int32_t launch_id, const Status& error) const;

  /// A named scope for the plugin's profiler (0.86), ended by destroying it.
  Result<TrackingScope> StartTrackingScope(std::string_view description) const;
  /// The platform stream on which others announce that data are ready (stream extension).
  Result<intptr_t> StreamForExternalReadyEvents() const;

  PJRT_Device* get() const { return device_; }
  const std::shared_ptr<internal::ClientState>& client_state() const { return client_; }
  friend bool operator==(const Device& a, const Device& b) { return a.device_ == b.device_; }

 private:
  std::shared_ptr<internal::ClientState> client_;
  PJRT_Device* device_;
};

/// A memory of a client; see Device.
class Memory {
 public:
  Memory(std::shared_ptr<internal::ClientState> client, PJRT_Memory* memory);

  Result<int> id() const;
  /// "device", "pinned_host", "unpinned_host" ...
  Result<std::string> kind() const;
  Result<int> kind_id() const;
  Result<std::string> ToString() const;
  Result<std::string> DebugString() const;
  Result<std::vector<Device>> AddressableByDevices() const;

  PJRT_Memory* get() const { return memory_; }
  const std::shared_ptr<internal::ClientState>& client_state() const { return client_; }
  friend bool operator==(const Memory& a, const Memory& b) { return a.memory_ == b.memory_; }

 private:
  std::shared_ptr<internal::ClientState> client_;
  PJRT_Memory* memory_;
};

/// Where something is put: a device (its default memory) or a memory. Converts from either.
class Placement {
 public:
  Placement(const Device& device) : client_(device.client_state()), device_(device.get()) {}  // NOLINT: implicit
  Placement(const Memory& memory) : client_(memory.client_state()), memory_(memory.get()) {}  // NOLINT: implicit

  const std::shared_ptr<internal::ClientState>& client_state() const { return client_; }
  PJRT_Device* device() const { return device_; }
  PJRT_Memory* memory() const { return memory_; }

 private:
  std::shared_ptr<internal::ClientState> client_;
  PJRT_Device* device_ = nullptr;
  PJRT_Memory* memory_ = nullptr;
};

}  // namespace tenon::client
