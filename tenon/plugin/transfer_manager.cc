#include "tenon/plugin/transfer_manager.h"

#include <fmt/format.h>

namespace tenon::plugin {

TransferManager::TransferManager(Device* device, Memory* memory)
    : client_(memory->client()), device_(device), memory_(memory) {}

Result<Ref<TransferManager>> TransferManager::Make(Device* device, Memory* memory, std::vector<ArraySpec> specs) {
  Ref<TransferManager> manager = Ref<TransferManager>::Adopt(new TransferManager(device, memory));
  for (ArraySpec& spec : specs) {
    Slot slot;
    TENON_ASSIGN_OR_RETURN(slot.storage, memory->Allocate(device, static_cast<size_t>(tenon::SizeBytes(spec.shape))));
    slot.spec = std::move(spec);
    manager->slots_.push_back(std::move(slot));
  }
  return manager;
}

TransferManager::~TransferManager() {
  for (Slot& slot : slots_) {
    if (!slot.ended) slot.ready->Set(Cancelled("the transfer manager was destroyed before the last transfer"));
  }
}

Result<TransferManager::Slot*> TransferManager::Open(int index) {
  if (index < 0 || static_cast<size_t>(index) >= slots_.size()) {
    return InvalidArgument(fmt::format("buffer_index {} is not below the number of buffers, {}", index, slots_.size()));
  }
  Slot* slot = &slots_[index];
  if (slot->ended) return FailedPrecondition(fmt::format("transfers to buffer {} have ended", index));
  return slot;
}

Result<size_t> TransferManager::SizeBytes(int index) const {
  if (index < 0 || static_cast<size_t>(index) >= slots_.size()) {
    return InvalidArgument(fmt::format("buffer_index {} is not below the number of buffers, {}", index, slots_.size()));
  }
  return slots_[index].storage->size_bytes();
}

// Counts a write that is under way: the last one to end after the index has ended makes the buffer ready.
EventRef TransferManager::Track(Slot* slot, EventRef written) {
  written.OnReady([self = Ref<TransferManager>(this), slot](const Status& status) {
    Ref<Event> ready;
    Status outcome;
    {
      std::lock_guard lock(self->mutex_);
      if (!status.ok() && slot->error.ok()) slot->error = status;
      if (--slot->in_flight == 0 && slot->ended) {
        ready = slot->ready;
        outcome = slot->error;
      }
    }
    if (ready) ready->Set(std::move(outcome));
  });
  return written;
}

Result<EventRef> TransferManager::Transfer(int index, const void* data, int64_t offset, int64_t size_bytes,
                                           bool is_last) {
  Slot* slot;
  {
    std::lock_guard lock(mutex_);
    TENON_ASSIGN_OR_RETURN(slot, Open(index));
    int64_t total = static_cast<int64_t>(slot->storage->size_bytes());
    if (offset < 0 || size_bytes < 0 || offset > total || size_bytes > total - offset) {
      return InvalidArgument(fmt::format("transfer of {} bytes at offset {} leaves buffer {}, which has {} bytes",
                                         size_bytes, offset, index, total));
    }
    slot->ended = is_last;
    ++slot->in_flight;
  }
  return Track(slot, WriteRaw(*memory_, slot->storage, slot->spec.shape.dtype, static_cast<size_t>(offset), data,
                              static_cast<size_t>(size_bytes)));
}

Result<EventRef> TransferManager::TransferArray(int index, const HostArray& array) {
  Slot* slot;
  {
    std::lock_guard lock(mutex_);
    TENON_ASSIGN_OR_RETURN(slot, Open(index));
    if (array.shape != slot->spec.shape) {
      return InvalidArgument(
          fmt::format("buffer {} is {}, got an array {}", index, ToString(slot->spec.shape), ToString(array.shape)));
    }
    slot->ended = true;
    ++slot->in_flight;
  }
  return Track(slot, WriteArray(*memory_, slot->storage, slot->spec, array, false));
}

Status TransferManager::SetError(int index, Status error) {
  Ref<Event> ready;
  {
    std::lock_guard lock(mutex_);
    TENON_ASSIGN_OR_RETURN(Slot * slot, Open(index));
    slot->ended = true;
    slot->error = error;
    if (slot->in_flight == 0) ready = slot->ready;
  }
  if (ready) ready->Set(std::move(error));
  return OkStatus();
}

Result<Ref<Buffer>> TransferManager::Retrieve(int index) {
  std::lock_guard lock(mutex_);
  if (index < 0 || static_cast<size_t>(index) >= slots_.size()) {
    return InvalidArgument(fmt::format("buffer_index {} is not below the number of buffers, {}", index, slots_.size()));
  }
  Slot& slot = slots_[index];
  if (slot.retrieved) return FailedPrecondition(fmt::format("buffer {} was retrieved already", index));
  slot.retrieved = true;
  return Buffer::Make(device_, memory_, slot.spec, slot.storage, EventRef(slot.ready));
}

}  // namespace tenon::plugin
