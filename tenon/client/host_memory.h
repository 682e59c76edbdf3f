#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "tenon/client/buffer.h"

namespace tenon::client {

/// Alignment with which CPU plugins take host memory as it is.
inline constexpr size_t kBufferAlignment = 64;

/// Zero-filled host memory. Moves only.
class AlignedMemory {
 public:
  /// INVALID_ARGUMENT unless `alignment` is a power of two and at least that of a pointer; RESOURCE_EXHAUSTED when
  /// there is no memory.
  static Result<AlignedMemory> Allocate(size_t size, size_t alignment = kBufferAlignment);

  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  AlignedMemory(std::byte* data, size_t size) : data_(data), size_(size) {}
  std::unique_ptr<std::byte, Free> data_;
  size_t size_;
};

/// A buffer and host memory that are one and the same: what is written to `data` is what programs read. Write only
/// while no execution uses the buffer. It must not be donated. The memory is freed when both this object and the plugin
/// are done with it.
struct SharedBuffer {
  Buffer buffer;
  std::span<std::byte> data;
  std::shared_ptr<AlignedMemory> memory;

  /// The elements, which must be T's.
  template <Element T>
  Result<std::span<T>> As() const {
    TENON_ASSIGN_OR_RETURN(const DType dtype, buffer.dtype());
    if (dtype != kDTypeOf<T>) return InvalidArgument("SharedBuffer::As: the elements are of another type");
    return std::span<T>(reinterpret_cast<T*>(data.data()), data.size() / sizeof(T));
  }
};

/// A buffer's elements as the host reads them in place. Moves only; pins the memory while it lives.
template <Element T>
class HostView {
 public:
  HostView(ExternalReference reference, std::span<const T> elements)
      : reference_(std::move(reference)), elements_(elements) {}
  std::span<const T> elements() const { return elements_; }

 private:
  ExternalReference reference_;
  std::span<const T> elements_;
};

namespace internal {
/// Waits for the buffer and pins it. FAILED_PRECONDITION unless the host can read it and it is dense and row-major.
/// `count` is set to the number of elements.
Result<ExternalReference> PinForHost(const Buffer& buffer, DType wanted, size_t& count);
}  // namespace internal

/// The elements of a buffer without copying them, where the plugin keeps them in host memory.
template <Element T>
Result<HostView<T>> ViewOnHost(const Buffer& buffer) {
  size_t count = 0;
  TENON_ASSIGN_OR_RETURN(ExternalReference reference, internal::PinForHost(buffer, kDTypeOf<T>, count));
  const std::span<const T> elements(static_cast<const T*>(reference.data()), count);
  return HostView<T>(std::move(reference), elements);
}

}  // namespace tenon::client
