#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tenon::fuzz {

/// Decisions read from a fuzzer's input, one after the other. When the input has ended, every answer is 0.
class ByteInput {
 public:
  ByteInput(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }

  uint8_t U8() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  int64_t I64() {
    int64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= static_cast<int64_t>(static_cast<uint64_t>(U8()) << (8 * i));
    return value;
  }
  /// 0 to n - 1; 0 for n == 0.
  size_t Below(size_t n) { return n == 0 ? 0 : U8() % n; }
  /// True in one of n cases.
  bool OneIn(uint8_t n) { return U8() % n == n - 1; }

  /// Up to `limit` bytes, their number in front.
  std::string Bytes(size_t limit) {
    const size_t wanted = limit < 256 ? Below(limit + 1) : (U8() | U8() << 8) % (limit + 1);
    const size_t n = wanted < size_ ? wanted : size_;
    return Take(n);
  }
  /// All that is left.
  std::string Rest() { return Take(size_); }

 private:
  std::string Take(size_t n) {
    std::string bytes(reinterpret_cast<const char*>(data_), n);
    data_ += n;
    size_ -= n;
    return bytes;
  }

  const uint8_t* data_;
  size_t size_;
};

}  // namespace tenon::fuzz
