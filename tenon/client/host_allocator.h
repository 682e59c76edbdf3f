#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "tenon/base/status.h"

namespace tenon::client {

class Client;
namespace internal {
struct ClientState;
}

/// Host memory that a plugin gave because it transfers well (host allocator extension, which its authors deprecate;
/// AlignedMemory needs no plugin). Moves only; freed with the object. Keeps its client open.
class HostAllocation {
 public:
  /// `alignment` 0 asks for the preferred one. INVALID_ARGUMENT unless it is a power of two; UNIMPLEMENTED without the
  /// extension.
  static Result<HostAllocation> Allocate(const Client& client, size_t size, size_t alignment = 0);
  HostAllocation(HostAllocation&& other) noexcept
      : client_(std::move(other.client_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  HostAllocation& operator=(HostAllocation&& other) noexcept;
  ~HostAllocation() { Reset(); }

  /// Contents are undefined at first. Null and 0 after a move.
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  HostAllocation(std::shared_ptr<internal::ClientState> client, std::byte* data, size_t size);
  void Reset();
  std::shared_ptr<internal::ClientState> client_;
  std::byte* data_;
  size_t size_;
};

/// The alignment in bytes with which transfers are fast; UNIMPLEMENTED without the extension.
Result<size_t> PreferredHostAlignment(const Client& client);

}  // namespace tenon::client
