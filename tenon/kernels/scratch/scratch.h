#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::kernels {

/// A recycled block of memory for the life of the object: 64-byte aligned, contents undefined, on huge pages when
/// large. Thread-safe; blocks go back to a list of the process, which keeps up to kMaxIdleBytes.
class Scratch {
 public:
  static constexpr size_t kMaxIdleBytes = size_t{128} << 20;

  Scratch() = default;
  /// data() is null when the system has no memory left, or bytes is 0.
  explicit Scratch(size_t bytes);
  ~Scratch();
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&& other) noexcept;

  float* floats() const { return static_cast<float*>(data_); }
  uint32_t* words() const { return static_cast<uint32_t*>(data_); }
  void* data() const { return data_; }

  /// The same for containers, which keep no object for each block. Null when the system has no memory left.
  static void* Take(size_t bytes);
  /// `bytes`: those that were asked for, more than 0.
  static void Give(void* block, size_t bytes) noexcept;

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tenon::kernels
