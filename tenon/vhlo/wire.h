#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tenon::vhlo {

/// Reads MLIR bytecode primitives from bytes that nobody vouches for. A read past the end or a malformed number makes
/// the cursor fail for good: from then on every read yields zero or nothing, so a record is read as a whole and checked
/// once.
class Cursor {
 public:
  Cursor() = default;
  explicit Cursor(std::string_view bytes)
      : begin_(bytes.data()), at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return !failed_; }
  /// Whether everything was read and nothing failed.
  bool Finished() const { return !failed_ && at_ == end_; }
  bool AtEnd() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  void Fail() {
    failed_ = true;
    at_ = end_;
  }

  uint8_t Byte() {
    if (at_ == end_) {
      Fail();
      return 0;
    }
    return static_cast<uint8_t>(*at_++);
  }

  /// As many extra bytes as the first one has trailing zeros; eight plain bytes follow a zero one.
  uint64_t VarInt() {
    const uint8_t first = Byte();
    if (first & 1) return first >> 1;
    const size_t extra = first == 0 ? 8 : static_cast<size_t>(std::countr_zero(first));
    if (failed_ || left() < extra) {
      Fail();
      return 0;
    }
    uint64_t value = 0;
    if (first == 0) {
      for (size_t i = 0; i < 8; ++i) value |= uint64_t{static_cast<uint8_t>(at_[i])} << (8 * i);
    } else {
      value = first;
      for (size_t i = 0; i < extra; ++i) value |= uint64_t{static_cast<uint8_t>(at_[i])} << (8 * (i + 1));
      value >>= extra + 1;
    }
    at_ += extra;
    return value;
  }

  /// Zigzag.
  int64_t SignedVarInt() {
    const uint64_t u = VarInt();
    return static_cast<int64_t>((u >> 1) ^ (~(u & 1) + 1));
  }

  /// A number of elements, each of which takes at least `min_size` bytes: more than can follow is a failure, so that a
  /// caller may reserve what this returns.
  size_t Count(size_t min_size = 1) {
    const uint64_t n = VarInt();
    if (n > left() / min_size) {
      Fail();
      return 0;
    }
    return static_cast<size_t>(n);
  }

  std::string_view Bytes(uint64_t n) {
    if (n > left()) {
      Fail();
      return {};
    }
    std::string_view bytes(at_, static_cast<size_t>(n));
    at_ += n;
    return bytes;
  }
  std::string_view Blob() { return Bytes(VarInt()); }

  /// Up to the next NUL, which is skipped.
  std::string_view CString() {
    const void* nul = left() == 0 ? nullptr : std::memchr(at_, 0, left());
    if (nul == nullptr) {
      Fail();
      return {};
    }
    std::string_view text(at_, static_cast<size_t>(static_cast<const char*>(nul) - at_));
    at_ += text.size() + 1;
    return text;
  }

 private:
  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool failed_ = false;
};

/// Writes the same primitives.
class Sink {
 public:
  void Byte(uint8_t b) { bytes_.push_back(static_cast<char>(b)); }
  void VarInt(uint64_t value) {
    if (value >> 56) {
      Byte(0);
      for (int i = 0; i < 8; ++i) Byte(static_cast<uint8_t>(value >> (8 * i)));
      return;
    }
    size_t extra = 0;
    while (extra < 7 && value >> (7 * (extra + 1))) ++extra;
    const uint64_t encoded = ((value << 1) | 1) << extra;
    for (size_t i = 0; i <= extra; ++i) Byte(static_cast<uint8_t>(encoded >> (8 * i)));
  }
  void SignedVarInt(int64_t value) { VarInt((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63)); }
  void Bytes(std::string_view bytes) { bytes_.append(bytes); }
  void Blob(std::string_view bytes) {
    VarInt(bytes.size());
    Bytes(bytes);
  }
  void Section(uint8_t id, std::string_view bytes) {
    Byte(id);
    Blob(bytes);
  }

  const std::string& bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace tenon::vhlo
