#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/client/device.h"
#include "tenon/client/element_types.h"
#include "tenon/client/event.h"
#include "tenon/client/layout.h"

namespace tenon::client {

/// An array in host memory that somebody else owns.
struct HostArray {
  const void* data = nullptr;  // of the element [0, 0, ...]
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<int64_t> byte_strides;  // empty: dense, row-major

  /// A dense array. INVALID_ARGUMENT unless the extents multiply to the length of `data`.
  template <Element T>
  static Result<HostArray> Of(std::span<const T> data, std::span<const int64_t> dims) {
    TENON_RETURN_IF_ERROR(CheckCount(data.size(), dims));
    return HostArray{data.data(), kDTypeOf<T>, {dims.begin(), dims.end()}, {}};
  }

 private:
  static Status CheckCount(size_t count, std::span<const int64_t> dims);
};

namespace internal {
struct SharedBufferHandle;
}
/// A dense row-major array of any element type that owns its bytes.
struct HostCopy {
  Shape shape;
  std::vector<std::byte> bytes;

  /// The elements; empty unless they are T's.
  template <Element T>
  std::span<const T> As() const {
    if (shape.dtype != kDTypeOf<T>) return {};
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  HostArray View() const { return {bytes.data(), shape.dtype, {shape.dims.begin(), shape.dims.end()}, {}}; }
};

class Buffer;

/// A buffer that is being filled, and when its host data may be changed.
struct Transfer;

/// Keeps a buffer's memory where it is while it lives, even when the Buffer is deleted or destroyed meanwhile. Moves
/// only.
class ExternalReference {
 public:
  ExternalReference(ExternalReference&& other) noexcept = default;
  ExternalReference& operator=(ExternalReference&& other) noexcept;
  ~ExternalReference() { (void)Release(); }
  /// Ends it early.
  Status Release();
  /// The data; the host can read it when Buffer::IsOnCpu says so, and after the buffer is ready.
  const void* data() const { return data_; }

 private:
  friend class Buffer;
  ExternalReference(std::shared_ptr<internal::SharedBufferHandle> handle, const void* data);
  std::shared_ptr<internal::SharedBufferHandle> handle_;
  const void* data_ = nullptr;
};

/// An array on a device. Moves only; a Buffer that was moved from answers FAILED_PRECONDITION, as does one that was
/// deleted or donated. Destroying it is legal while transfers and executions use the data. Safe to use from several
/// threads at once, except for destruction and moves. It keeps its client open.
class Buffer {
 public:
  Buffer() = default;
  /// Takes ownership.
  Buffer(std::shared_ptr<internal::ClientState> client, PJRT_Buffer* buffer);
  Buffer(Buffer&& other) noexcept
      : client_(std::move(other.client_)),
        buffer_(std::exchange(other.buffer_, nullptr)),
        pin_(std::move(other.pin_)) {}
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() {
    if (buffer_ != nullptr) Reset();
  }

  bool empty() const { return buffer_ == nullptr; }

  Result<DType> dtype() const;
  /// Extents; upper bounds where a dimension is dynamic.
  Result<std::vector<int64_t>> dims() const;
  Result<Shape> shape() const;
  /// Actual extents.
  Result<std::vector<int64_t>> UnpaddedDims() const;
  Result<std::vector<size_t>> DynamicDimensions() const;
  /// The deprecated way, which old plugins have; see GetLayout.
  Result<Layout> MemoryLayout() const;
  /// By the layouts extension when it is there, else MemoryLayout.
  Result<Layout> GetLayout() const;
  Result<size_t> OnDeviceSizeInBytes() const;
  Result<Device> GetDevice() const;
  Result<Memory> GetMemory() const;
  Result<bool> IsOnCpu() const;

  /// Fires when the contents are defined or have failed.
  Result<Event> ReadyEvent() const;
  /// Waits for that.
  Status Await() const;

  /// Gives up the memory once nobody uses it; may be called again.
  Status Delete();
  /// Also true after donation.
  Result<bool> IsDeleted() const;

  /// The contents, dense and row-major. INVALID_ARGUMENT unless the element type is T's.
  template <Element T>
  Result<HostVector<T>> ToHost() const {
    TENON_ASSIGN_OR_RETURN(const size_t count, CheckElements(kDTypeOf<T>));
    HostVector<T> data(count);
    TENON_RETURN_IF_ERROR(CopyToHost(data.data(), data.size() * sizeof(T)));
    return data;
  }
  /// Into memory of the caller, which must hold exactly the elements.
  template <Element T>
  Status ToHost(std::span<T> out) const {
    TENON_ASSIGN_OR_RETURN(const size_t count, CheckElements(kDTypeOf<T>));
    if (out.size() != count) return WrongCount(count, out.size());
    return CopyToHost(out.data(), out.size_bytes());
  }
  /// The one element of a scalar or of an array of one element.
  template <Element T>
  Result<T> ToScalar() const {
    TENON_ASSIGN_OR_RETURN(const size_t count, CheckElements(kDTypeOf<T>));
    if (count != 1) return WrongCount(count, 1);
    T value{};
    TENON_RETURN_IF_ERROR(CopyToHost(&value, sizeof(T)));
    return value;
  }
  /// The same while the caller goes on.
  template <Element T>
  Result<Future<HostVector<T>>> ToHostAsync() const {
    TENON_ASSIGN_OR_RETURN(const size_t count, CheckElements(kDTypeOf<T>));
    auto data = std::make_shared<HostVector<T>>(count);
    TENON_ASSIGN_OR_RETURN(Event done, CopyToHostAsync(data->data(), count * sizeof(T)));
    return Future<HostVector<T>>(std::move(done), std::move(data));
  }

  /// The contents, whatever the element type is.
  Result<HostCopy> ToHostCopy() const;
  /// Any element type into `dst` of `size` bytes; `layout` null means dense and row-major. Waits.
  Status CopyToHost(void* dst, size_t size, const Layout* layout = nullptr) const;
  /// `dst` must live until the event fires.
  Result<Event> CopyToHostAsync(void* dst, size_t size, const Layout* layout = nullptr) const;
  /// Bytes that CopyToHost needs.
  Result<size_t> HostSizeInBytes(const Layout* layout = nullptr) const;

  /// Bytes [offset, offset + size) as they lie on the device (0.57).
  Result<Event> CopyRawToHost(void* dst, size_t offset, size_t size) const;
  /// The same, to a destination that is named later (0.84).
  class RawCopy;
  Result<RawCopy> CopyRawToHostLater(size_t offset, size_t size) const;

  /// A new buffer elsewhere: in the same client by the plugin, in another client, even of another plugin, through host
  /// memory.
  Result<Buffer> CopyTo(const Placement& where) const;

  /// The same bytes with another type and shape (0.98). Treat this buffer as donated.
  Result<Buffer> Bitcast(const Shape& shape, const Layout* layout = nullptr);

  /// Consumes the buffer; the returned one is ready when the contents are and `dependency` was signalled (0.88).
  class Dependency;
  Result<std::pair<Buffer, Dependency>> DonateWithControlDependency();

  /// Pins the memory and gives its address.
  Result<ExternalReference> AcquireExternalReference() const;
  /// The address as a number; valid while pinned.
  Result<uintptr_t> UnsafePointer() const;

  /// Makes a platform stream wait for the contents; the host does not wait (stream extension).
  Status WaitOnStream(intptr_t stream) const;

  PJRT_Buffer* get() const { return buffer_; }
  const std::shared_ptr<internal::ClientState>& client_state() const { return client_; }
  /// Gives up ownership; the caller destroys it. Null when the Buffer is empty or has external references.
  PJRT_Buffer* release();

 private:
  void Reset();
  Status Check(const char* what) const;
  Result<size_t> CheckElements(DType wanted) const;
  static Status WrongCount(size_t has, size_t wanted);

  std::shared_ptr<internal::ClientState> client_;
  PJRT_Buffer* buffer_ = nullptr;
  // Once external references exist, they and this Buffer share the handle.
  mutable std::shared_ptr<internal::SharedBufferHandle> pin_;
};

struct Transfer {
  Buffer buffer;
  Event done;
};

/// A raw copy whose destination is still to be named. Moves only. Dropping it cancels the copy.
class Buffer::RawCopy {
 public:
  RawCopy(Event done, void* data, void (*start)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args*));
  RawCopy(RawCopy&& other) noexcept;
  RawCopy& operator=(RawCopy&&) = delete;
  ~RawCopy();
  /// Starts the copy; `dst` must live until the event fires. Once.
  Result<Event> Start(void* dst) &&;

 private:
  void Finish(const Status& status, void* dst);
  Event done_;
  void* data_;
  void (*start_)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args*);
};

/// What a donated buffer waits for. Moves only. Dropping it unsignalled fails the buffer.
class Buffer::Dependency {
 public:
  Dependency(void* data, void (*ready)(PJRT_Buffer_DonateWithControlDependency_Callback_Args*))
      : data_(data), ready_(ready) {}
  Dependency(Dependency&& other) noexcept : data_(other.data_), ready_(std::exchange(other.ready_, nullptr)) {}
  Dependency& operator=(Dependency&&) = delete;
  ~Dependency();
  /// Once; later calls do nothing.
  void Signal(const Status& status);

 private:
  void* data_;
  void (*ready_)(PJRT_Buffer_DonateWithControlDependency_Callback_Args*);
};

/// A buffer that can be used as an argument before it exists, and the duty to supply it. Moves only. Dropping it
/// unfulfilled fails the buffer.
class BufferPromise {
 public:
  BufferPromise(std::shared_ptr<internal::ClientState> client, Buffer buffer,
                PJRT_FulfillAliasBufferCallback* callback);
  BufferPromise(BufferPromise&& other) noexcept;
  BufferPromise& operator=(BufferPromise&&) = delete;
  ~BufferPromise();

  /// The promised buffer; take it once.
  Buffer TakeBuffer() { return std::move(buffer_); }
  /// Gives what was promised. FAILED_PRECONDITION the second time.
  Status Fulfill(const Buffer& buffer);
  /// Fails the promised buffer.
  Status Fail(const Status& error);

 private:
  Status Finish(PJRT_Buffer* buffer, const Status& status);
  std::shared_ptr<internal::ClientState> client_;
  Buffer buffer_;
  PJRT_FulfillAliasBufferCallback* callback_;
};

/// Host memory that is pinned for a client. Moves only.
class PinnedHostMemory {
 public:
  PinnedHostMemory(std::shared_ptr<internal::ClientState> client, void* data)
      : client_(std::move(client)), data_(data) {}
  PinnedHostMemory(PinnedHostMemory&& other) noexcept
      : client_(std::move(other.client_)), data_(std::exchange(other.data_, nullptr)) {}
  PinnedHostMemory& operator=(PinnedHostMemory&&) = delete;
  ~PinnedHostMemory() { (void)Unpin(); }
  /// All transfers must be done.
  Status Unpin();

 private:
  std::shared_ptr<internal::ClientState> client_;
  void* data_;
};

}  // namespace tenon::client
