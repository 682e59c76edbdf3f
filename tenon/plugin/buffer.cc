#include "tenon/plugin/buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "tenon/base/contain.h"
#include "tenon/base/fork.h"
#include "tenon/plugin/client.h"

namespace tenon::plugin {

Status NormalizeLayout(ArraySpec& spec) {
  Dims& order = spec.minor_to_major;
  if (order.empty()) return OkStatus();
  size_t rank = spec.shape.rank();
  SmallVector<bool, 8> seen(rank, false);
  bool permutation = order.size() == rank;
  for (size_t i = 0; permutation && i < rank; ++i) {
    permutation = order[i] >= 0 && static_cast<size_t>(order[i]) < rank && !seen[order[i]];
    if (permutation) seen[order[i]] = true;
  }
  if (!permutation) {
    return InvalidArgument(fmt::format("minor_to_major {} does not order the dimensions of {}",
                                       DimsToString({order.data(), order.size()}), ToString(spec.shape)));
  }
  bool row_major = true;
  for (size_t i = 0; i < rank; ++i) row_major = row_major && order[i] == static_cast<int64_t>(rank - 1 - i);
  if (row_major) order.clear();
  return OkStatus();
}

Dims DenseByteStrides(const ArraySpec& spec) {
  size_t rank = spec.shape.rank();
  Dims strides(rank, 0);
  int64_t stride = ByteWidth(spec.shape.dtype);
  for (size_t i = 0; i < rank; ++i) {
    size_t dim = spec.row_major() ? rank - 1 - i : static_cast<size_t>(spec.minor_to_major[i]);
    strides[dim] = stride;
    // Unsigned, since the strides of an empty array, which nobody uses, may leave int64.
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) *
                                  static_cast<uint64_t>(std::max<int64_t>(spec.shape.dims[dim], 1)));
  }
  return strides;
}

bool LieAlike(const ArraySpec& a, const ArraySpec& b) {
  if (a.minor_to_major == b.minor_to_major) return true;
  const Dims& dims = a.shape.dims;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return true;
  const Dims a_strides = DenseByteStrides(a), b_strides = DenseByteStrides(b);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1 && a_strides[i] != b_strides[i]) return false;
  }
  return true;
}

// A spinlock: sections are a few loads and stores, and release no reference whose destructor does more than free
// memory.
class Buffer::Lock {
 public:
  explicit Lock(const Buffer& buffer) : lock_(buffer.lock_) {
    // A holder from before a fork is not there any more.
    const uint32_t mine = ForkGeneration() + 1;
    while (lock_.exchange(mine, std::memory_order_acquire) == mine) std::this_thread::yield();
  }
  ~Lock() { lock_.store(0, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic<uint32_t>& lock_;
};

Buffer::Buffer(Token, Device* device, Memory* memory, ArraySpec spec)
    : client_(memory->client()), device_(device), memory_(memory), spec_(std::move(spec)) {
  size_bytes_ = static_cast<size_t>(SizeBytes(spec_.shape));
}

Buffer::~Buffer() = default;

Ref<Buffer> Buffer::Make(Device* device, Memory* memory, ArraySpec spec, Ref<Storage> storage, EventRef ready) {
  auto buffer = MakeRef<Buffer>(Token(), device, memory, std::move(spec));
  buffer->storage_ = std::move(storage);
  buffer->ready_ = std::move(ready);
  return buffer;
}

Ref<Buffer> Buffer::MakeError(Device* device, Memory* memory, ArraySpec spec, Status error) {
  return Make(device, memory, std::move(spec), nullptr, EventRef::Of(std::move(error)));
}

Ref<Buffer> Buffer::MakePromise(Device* device, Memory* memory, ArraySpec spec) {
  Ref<Buffer> buffer = Make(device, memory, std::move(spec), nullptr);
  buffer->promised_ = Event::Make();
  buffer->promised_->BeginPromise();
  buffer->ready_ = EventRef(buffer->promised_);
  return buffer;
}

Ref<Event> Buffer::TakePromised() {
  Lock lock(*this);
  return std::move(promised_);
}

Status Buffer::Fulfill(Result<BufferUse> contents) {
  Ref<Event> promised;
  {
    Lock lock(*this);
    promised = promised_;
  }
  Status refused;
  if (contents.ok() && promised && !promised->KeepPromise(contents->ready)) {
    if (contents->promise) (void)contents->promise->Collect(contents->donated);  // takes the use back
    refused = InvalidArgument(
        fmt::format("the promise of {} cannot be kept with a buffer that waits for it", ToString(spec_.shape)));
    contents = refused;
  }
  promised = nullptr;
  if (!contents.ok()) {
    if (promised = TakePromised(); promised) promised->Set(contents.status());
    return refused;
  }
  EventRef ready = contents->ready;
  ready.OnReady([self = Ref<Buffer>(this), use = std::move(*contents)](const Status& status) mutable {
    Status outcome = status;
    if (use.promise) {
      const Status collecting = Contain("keeping a promise", [&] {
        Result<BufferUse> collected = use.promise->Collect(use.donated);
        Status s = collected.ok() ? OkStatus() : collected.status();
        use = collected.ok() ? std::move(*collected) : BufferUse();
        return s;
      });
      // What the contents wait for may be more than the promise.
      if (outcome.ok()) outcome = collecting;
    }
    Ref<Event> kept;
    Ref<Storage> unwanted;
    {
      Lock lock(*self);
      kept = std::move(self->promised_);
      bool wanted = !self->is_deleted() || self->pending_uses_ > 0;
      if (self->foreign_bytes_ && use.storage) use.storage->NoteForeignBytes();
      (wanted && outcome.ok() ? self->storage_ : unwanted) = std::move(use.storage);
    }
    if (kept) kept->Set(std::move(outcome));
  });
  return OkStatus();
}

void Buffer::NoteForeignBytes() {
  Lock lock(*this);
  if (storage_) storage_->NoteForeignBytes();
  foreign_bytes_ = true;
}

void Buffer::NoteWaitsFor(const EventRef& event) {
  EventRef mine;
  {
    Lock lock(*this);
    mine = ready_;
  }
  if (mine.get() != nullptr) mine.get()->NoteWaitsFor(event);
}

Status Buffer::DeletedError() const {
  return InvalidArgument(fmt::format("Buffer has been deleted or donated: {}", ToString(spec_.shape)));
}

EventRef Buffer::ready() const {
  {
    Lock lock(*this);
    if (!is_deleted()) return ready_;
  }
  return EventRef::Of(DeletedError());
}

Result<BufferUse> Buffer::Use() {
  {
    Lock lock(*this);
    if (!is_deleted()) [[likely]] {
      // A ready event has nothing more to say; later users need not count references to it.
      if (ready_.get() != nullptr && ready_.succeeded()) ready_ = nullptr;
      BufferUse use{.storage = storage_, .ready = ready_};
      if (promised_) {
        use.promise = Ref<Buffer>(this);
        ++pending_uses_;
      }
      return use;
    }
  }
  return DeletedError();
}

Result<BufferUse> Buffer::Donate() {
  {
    Lock lock(*this);
    if (!is_deleted()) [[likely]] {
      deleted_.store(true, std::memory_order_release);
      // Uses that waited for the promise may not have collected the memory yet.
      BufferUse use{.storage = pending_uses_ > 0 ? storage_ : std::move(storage_), .ready = ready_, .donated = true};
      if (promised_) {
        use.promise = Ref<Buffer>(this);
        ++pending_uses_;
      }
      use.exclusive = use.storage && use.storage->HasOneRef() && use.storage->writable();
      return use;
    }
  }
  return DeletedError();
}

void Buffer::UndoDonate(BufferUse use) {
  Lock lock(*this);
  if (use.promise) {
    --pending_uses_;
  } else {
    storage_ = std::move(use.storage);
  }
  deleted_.store(false, std::memory_order_release);
}

Result<BufferUse> Buffer::Collect(bool donated) {
  BufferUse use{.donated = donated};
  {
    Lock lock(*this);
    use.ready = ready_;
    bool last = --pending_uses_ == 0 && is_deleted();
    use.storage = last ? std::move(storage_) : storage_;
    use.exclusive = donated && last && use.storage && use.storage->HasOneRef() && use.storage->writable();
  }
  if (use.ready.failed()) return use.ready.status();
  return use;
}

void Buffer::Delete() {
  Ref<Storage> released;
  Lock lock(*this);
  if (is_deleted()) return;
  deleted_.store(true, std::memory_order_release);
  if (pending_uses_ == 0) released = std::move(storage_);
  // `released` is declared before `lock` and so is destroyed after it: what its destructor does runs unlocked.
}

Status Buffer::AddExternalReference() {
  Lock lock(*this);
  if (is_deleted() && external_references_ == 0) return DeletedError();
  if (external_references_++ == 0) external_hold_ = storage_;
  return OkStatus();
}

Status Buffer::DropExternalReference() {
  Ref<Storage> released;
  Lock lock(*this);
  if (external_references_ == 0) {
    return InvalidArgument("Attempting to decrease reference on a buffer with zero reference count.");
  }
  if (--external_references_ == 0) released = std::move(external_hold_);
  return OkStatus();
}

Result<void*> Buffer::DataPointer() const {
  Lock lock(*this);
  const auto address = [](Storage& storage) {
    storage.FixAddress();
    return storage.data();
  };
  if (external_hold_) return address(*external_hold_);
  if (is_deleted()) return DeletedError();
  if (!storage_) {
    return FailedPrecondition(
        fmt::format("the buffer {} has no memory: it failed or is not fulfilled yet", ToString(spec_.shape)));
  }
  return address(*storage_);
}

}  // namespace tenon::plugin
