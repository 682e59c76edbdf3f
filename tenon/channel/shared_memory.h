#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/base/fd.h"
#include "tenon/base/status.h"

namespace tenon::channel {

using tenon::Fd;

/// Memory that two processes see, without a name in any file system. Its size is sealed: neither side can shrink it
/// under the other, who would die of SIGBUS. Moves only; unmaps on destruction, what the other side mapped stays.
class SharedMemory {
 public:
  /// Zero-filled. RESOURCE_EXHAUSTED when the system has no more.
  static Result<SharedMemory> Create(size_t size_bytes);
  /// What another process made. DATA_LOSS unless it is a sealed memory file of exactly this size.
  static Result<SharedMemory> Map(Fd fd, size_t size_bytes);

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept
      : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~SharedMemory();

  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return size_; }
  int fd() const { return fd_.get(); }
  /// Closes the descriptor; the mapping stays.
  void CloseFd() { fd_ = Fd(); }

 private:
  SharedMemory(Fd fd, void* data, size_t size) : fd_(std::move(fd)), data_(data), size_(size) {}
  Fd fd_;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tenon::channel
