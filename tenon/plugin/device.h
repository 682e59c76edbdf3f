#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/plugin/event.h"
#include "tenon/plugin/memory.h"
#include "tenon/plugin/named_value.h"

namespace tenon::plugin {

/// What is known of a device without opening it. Immutable; shared by clients and topologies through shared_ptr.
class DeviceDescription {
 public:
  struct Info {
    int id = 0;  // unique over all processes
    int process_index = 0;
    std::string kind;          // the vendor's model name
    std::string to_string;     // short; default "<kind>:<id>"
    std::string debug_string;  // long; default as to_string
    /// Strings, integers and lists of integers only: clients abort on others.
    std::vector<NamedValue> attributes;
    std::vector<MemoryKind> memory_kinds;
    int default_memory_kind = -1;  // index into memory_kinds, -1: none
  };
  explicit DeviceDescription(Info info);

  const Info& info() const { return info_; }
  int id() const { return info_.id; }
  const NamedValueArray& attributes() const { return attributes_; }
  std::span<const MemoryKind* const> memory_kinds() const { return memory_kind_pointers_; }

 private:
  Info info_;
  NamedValueArray attributes_;
  std::vector<const MemoryKind*> memory_kind_pointers_;
};

/// Allocator figures of a device; absent ones are not known.
struct MemoryStats {
  int64_t bytes_in_use = 0;
  std::optional<int64_t> peak_bytes_in_use, num_allocs, largest_alloc_size, bytes_limit, bytes_reserved,
      peak_bytes_reserved, bytes_reservable_limit, largest_free_block_bytes, pool_bytes, peak_pool_bytes,
      peak_allocated_bytes;
};

/// A device of a client, which owns it. Virtual functions are called from any thread.
class Device {
 public:
  /// `local_hardware_id` is the number on this host, -1 when there is none.
  Device(std::shared_ptr<const DeviceDescription> description, int local_hardware_id, bool addressable = true)
      : description_(std::move(description)), local_hardware_id_(local_hardware_id), addressable_(addressable) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceDescription& description() const { return *description_; }
  const std::shared_ptr<const DeviceDescription>& shared_description() const { return description_; }
  int id() const { return description_->id(); }
  int local_hardware_id() const { return local_hardware_id_; }
  bool is_addressable() const { return addressable_; }
  /// "cpu:0"-like text for messages.
  const std::string& to_string() const { return description_->info().to_string; }

  /// Set by Client::AddMemory. The default memory is where transfers to the device go; null for devices of other
  /// processes.
  std::span<Memory* const> memories() const { return memories_; }
  Memory* default_memory() const { return default_memory_; }
  Client* client() const { return client_; }

  /// UNIMPLEMENTED unless overridden.
  virtual Result<MemoryStats> GetMemoryStats() const;
  virtual Status ClearMemoryStats();
  /// Attributes as they are now; the default repeats the description's.
  virtual std::vector<NamedValue> GetAttributes() const { return description_->info().attributes; }
  /// Makes the outputs of the oldest unfinished execution with `launch_id` fail with `error`. Returns whether there was
  /// one.
  virtual Result<bool> PoisonExecution(int32_t launch_id, const Status& error);

 private:
  friend class Client;
  std::shared_ptr<const DeviceDescription> description_;
  int local_hardware_id_;
  bool addressable_;
  std::vector<Memory*> memories_;
  std::vector<PJRT_Memory*> c_memories_;
  Memory* default_memory_ = nullptr;
  Client* client_ = nullptr;

 public:
  // --- For the SDK.
  std::span<PJRT_Memory* const> c_memories() const { return c_memories_; }
  /// The completion of an execution with effects whose own is `done`: not before those of the ones before it. What a
  /// function of the caller's executes waits for nothing, since the execution that called it may wait for that.
  EventRef CompletedInOrder(EventRef done);

 private:
  std::mutex effects_mutex_;
  EventRef effects_;  ///< Ready when all executions with effects so far are complete.
};

}  // namespace tenon::plugin
