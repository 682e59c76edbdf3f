#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "tenon/base/status.h"

namespace tenon {

/// Writes numbers and length-prefixed texts, little-endian, for ByteReader.
class ByteWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  void Put(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.append(raw, sizeof(T));
  }
  void PutText(std::string_view text) {
    Put<uint64_t>(text.size());
    bytes_.append(text);
  }
  std::string Take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote. The first failure (DATA_LOSS) sticks; from then on everything reads as zero or empty,
/// so callers check status() once. Texts view the input.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
    requires std::is_arithmetic_v<T>
  T Get() {
    T value{};
    const std::string_view raw = Take(sizeof(T));
    if (raw.size() == sizeof(T)) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  std::string_view GetText() { return Take(Get<uint64_t>()); }
  /// A count of things that take at least `min_bytes` each: never more than the rest can hold.
  uint64_t GetCount(uint64_t min_bytes) {
    const auto n = Get<uint64_t>();
    if (status_.ok() && n > bytes_.size() / min_bytes) status_ = DataLoss("a count exceeds the bytes that are left");
    return status_.ok() ? n : 0;
  }
  bool at_end() const { return bytes_.empty(); }
  const Status& status() const { return status_; }

 private:
  std::string_view Take(uint64_t n) {
    if (status_.ok() && n > bytes_.size()) {
      status_ =
          DataLoss("the bytes end early: " + std::to_string(bytes_.size()) + " left, " + std::to_string(n) + " wanted");
    }
    if (!status_.ok()) return {};
    const std::string_view raw = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return raw;
  }

  std::string_view bytes_;
  Status status_;
};

}  // namespace tenon
