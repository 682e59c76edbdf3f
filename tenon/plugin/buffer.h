#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "tenon/base/shape.h"
#include "tenon/plugin/event.h"
#include "tenon/plugin/memory.h"

namespace tenon::plugin {

class Buffer;
class Client;
class Device;

/// Element type, extents, and the order in which the elements lie: dense, dimensions from fastest to slowest. An empty
/// order is row-major, and a row-major order is always held as empty.
struct ArraySpec {
  Shape shape{};
  Dims minor_to_major{};

  bool row_major() const { return minor_to_major.empty(); }
  friend bool operator==(const ArraySpec&, const ArraySpec&) = default;
};
/// Empties a minor_to_major that spells row-major. INVALID_ARGUMENT when it is not a permutation of the dimensions.
Status NormalizeLayout(ArraySpec& spec);
/// Strides in bytes per dimension of the dense array.
Dims DenseByteStrides(const ArraySpec& spec);
/// Whether arrays of one shape lie alike in two layouts: these may differ in dims of one element, and in all of an
/// empty array.
bool LieAlike(const ArraySpec& a, const ArraySpec& b);

/// What a buffer is used with: its bytes, when they are defined, and whether the user may overwrite them.
struct BufferUse {
  /// Null for a promise that is not fulfilled yet, and for a poisoned buffer.
  Ref<Storage> storage{};
  EventRef ready{};
  /// Set only for an unfulfilled promise: once `ready`, promise->Collect gives the rest. Must then be called, once.
  Ref<Buffer> promise{};
  /// The buffer gave its bytes up to this use; its handle is deleted.
  bool donated = false;
  /// Donated, and nobody else can see the bytes: they may be overwritten, or become an output.
  bool exclusive = false;
};

/// A PJRT_Buffer: an array on a device. Final: what differs between devices is its Storage. All functions are
/// thread-safe.
///
/// A buffer whose `ready` event fails is poisoned: its contents are undefined and every use reports the event's error.
class Buffer final : public RefCounted {
 public:
  /// `storage` has the bytes of `spec` (ByteWidth per element) and lies in `memory` of `device`; `ready` says when they
  /// are defined.
  static Ref<Buffer> Make(Device* device, Memory* memory, ArraySpec spec, Ref<Storage> storage,
                          EventRef ready = nullptr);
  /// A buffer that is born failed.
  static Ref<Buffer> MakeError(Device* device, Memory* memory, ArraySpec spec, Status error);
  /// A buffer whose storage comes later, by Fulfill. Usable at once: users wait for ready().
  static Ref<Buffer> MakePromise(Device* device, Memory* memory, ArraySpec spec);
  /// Gives a promise its contents, which may wait and may be another promise's, or an error. Once. Contents that wait
  /// for this promise give INVALID_ARGUMENT, which is then the promise's error, too.
  Status Fulfill(Result<BufferUse> contents);

  Client& client() const { return *client_; }
  Device* device() const { return device_; }
  Memory* memory() const { return memory_; }
  const ArraySpec& spec() const { return spec_; }
  const Shape& shape() const { return spec_.shape; }
  size_t size_bytes() const { return size_bytes_; }

  /// Storage::NoteForeignBytes for the bytes of this buffer, those of a promise included.
  void NoteForeignBytes();

  /// Notes that an unready buffer waits for `event`: see Event::NoteWaitsFor.
  void NoteWaitsFor(const EventRef& event);

  /// When the contents are defined. INVALID_ARGUMENT, as an event, once the buffer is deleted.
  EventRef ready() const;
  bool is_deleted() const { return deleted_.load(std::memory_order_acquire); }

  /// Keeps the bytes for a reader. INVALID_ARGUMENT when the buffer is deleted or donated.
  Result<BufferUse> Use();
  /// Takes the bytes out of the buffer, whose handle is deleted from then on. INVALID_ARGUMENT as for Use.
  Result<BufferUse> Donate();
  /// Undoes a Donate whose execution was refused.
  void UndoDonate(BufferUse use);
  /// The bytes of a use that began before the promise was fulfilled; the promise's error when it failed. Once per such
  /// use, when ready.
  Result<BufferUse> Collect(bool donated);

  /// Gives up the bytes; users that hold them go on. Idempotent.
  void Delete();
  /// While the count is positive, the bytes outlive Delete and are never given away in place.
  Status AddExternalReference();
  Status DropExternalReference();
  /// Address of the bytes: of a live buffer, or of a deleted one that is externally referenced. INVALID_ARGUMENT
  /// otherwise.
  Result<void*> DataPointer() const;

 private:
  struct Token {};

 public:
  Buffer(Token, Device* device, Memory* memory, ArraySpec spec);

 private:
  ~Buffer() override;
  class Lock;
  Status DeletedError() const;
  Ref<Event> TakePromised();

  Ref<Client> client_;
  Device* device_;
  Memory* memory_;
  ArraySpec spec_;
  size_t size_bytes_;

  mutable std::atomic<uint32_t> lock_{0};
  std::atomic<bool> deleted_{false};
  bool foreign_bytes_ = false;  // of a promise: what its storage is to be told
  int64_t external_references_ = 0;
  int pending_uses_ = 0;  // uses of a promise that have not called Collect
  Ref<Event> promised_;   // of an unfulfilled promise
  Ref<Storage> storage_;
  Ref<Storage> external_hold_;
  EventRef ready_;
  [[no_unique_address]] internal::Counted<ObjectKind::kBuffer> counted_;
};

}  // namespace tenon::plugin
