#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tenon/client/buffer.h"
#include "tenon/client/device.h"
#include "tenon/client/event.h"

struct PJRT_RawBuffer;

namespace tenon::client {

/// The bytes of a buffer, past its element type and layout (raw buffer extension, experimental). Moves only; one that
/// was moved from answers FAILED_PRECONDITION. It shares the bytes with the Buffer and keeps them, also when that is
/// deleted or destroyed. Safe to use from several threads at once, except for destruction and moves.
class RawBuffer {
 public:
  /// UNIMPLEMENTED without the extension; an error when the buffer is empty or deleted.
  static Result<RawBuffer> AliasOf(const Buffer& buffer);
  RawBuffer(RawBuffer&& other) noexcept : client_(std::move(other.client_)), raw_(std::exchange(other.raw_, nullptr)) {}
  RawBuffer& operator=(RawBuffer&& other) noexcept;
  ~RawBuffer() { Reset(); }

  bool empty() const { return raw_ == nullptr; }

  Result<size_t> OnDeviceSizeInBytes() const;
  Result<Memory> GetMemory() const;
  /// The address of the bytes; null where the host cannot reach them. Valid while this object lives. Await the buffer
  /// before reading.
  Result<void*> HostPointer() const;

  /// Bytes [offset, offset + size). `dst` must live until the event fires.
  Result<Event> CopyToHost(void* dst, size_t offset, size_t size) const;
  /// The same into memory that the Future owns.
  Result<Future<std::vector<std::byte>>> ReadAsync(size_t offset, size_t size) const;
  /// Overwrites the bytes from `offset` on. `src` must live and keep its contents until the event fires. Nobody may use
  /// the buffer meanwhile.
  Result<Event> CopyFromHost(std::span<const std::byte> src, size_t offset);

  PJRT_RawBuffer* get() const { return raw_; }

 private:
  RawBuffer(std::shared_ptr<internal::ClientState> client, PJRT_RawBuffer* raw);
  Status Check(const char* what) const;
  void Reset();
  std::shared_ptr<internal::ClientState> client_;
  PJRT_RawBuffer* raw_;
};

}  // namespace tenon::client
