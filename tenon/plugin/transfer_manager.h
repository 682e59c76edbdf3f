#pragma once

#include <mutex>
#include <vector>

#include "tenon/plugin/buffer.h"
#include "tenon/plugin/transfers.h"

namespace tenon::plugin {

/// Buffers that are filled piece by piece (PJRT_AsyncHostToDeviceTransferManager). Thread-safe; different indices do
/// not wait for each other's copies. Indices that are still open when the manager goes fail with CANCELLED.
class TransferManager final : public RefCounted {
 public:
  static Result<Ref<TransferManager>> Make(Device* device, Memory* memory, std::vector<ArraySpec> specs);

  Device* device() const { return device_; }
  size_t size() const { return slots_.size(); }

  // All return INVALID_ARGUMENT for an index that does not exist, and FAILED_PRECONDITION for one that has ended.

  Result<size_t> SizeBytes(int index) const;
  /// `data` lives until the event is ready.
  Result<EventRef> Transfer(int index, const void* data, int64_t offset, int64_t size_bytes, bool is_last);
  /// A whole array; ends the index. INVALID_ARGUMENT when the shape differs.
  Result<EventRef> TransferArray(int index, const HostArray& array);
  Status SetError(int index, Status error);
  /// At most once per index.
  Result<Ref<Buffer>> Retrieve(int index);

 private:
  struct Slot {
    ArraySpec spec;
    Ref<Storage> storage;
    Ref<Event> ready = Event::Make();
    bool ended = false;
    bool retrieved = false;
    int in_flight = 0;
    Status error;
  };
  TransferManager(Device* device, Memory* memory);
  ~TransferManager() override;
  Result<Slot*> Open(int index);
  EventRef Track(Slot* slot, EventRef written);

  Ref<Client> client_;
  Device* device_;
  Memory* memory_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  [[no_unique_address]] internal::Counted<ObjectKind::kTransferManager> counted_;
};

}  // namespace tenon::plugin
