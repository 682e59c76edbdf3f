#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/wire/messages.h"

namespace tenon::wire {

/// What stands before every message on a channel.
struct FrameHeader {
  uint32_t size = 0;    // of the message, in bytes
  uint32_t verb = 0;    // wire::Verb
  uint64_t number = 0;  // of the question, the execution or the call; 0: none
};
static_assert(sizeof(FrameHeader) == 16);
/// Longer messages are refused before anything is allocated for them.
inline constexpr uint32_t kMaxMessageBytes = uint32_t{1} << 30;

/// Appends records to `out`. Numbers are little-endian, as they lie in memory; lists and texts begin with a 32-bit
/// count.
class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  template <class T>
  void operator()(const char*, const T& field) {
    Put(field);
  }
  template <class T>
  void Put(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_.push_back(value ? '\1' : '\0');
    } else if constexpr (std::is_arithmetic_v<T>) {
      out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    } else if constexpr (std::is_same_v<T, std::string>) {
      Put(static_cast<uint32_t>(value.size()));
      out_.append(value);
    } else if constexpr (std::is_same_v<T, Value>) {
      Put(static_cast<uint8_t>(value.index()));
      std::visit([this](const auto& v) { this->Put(v); }, value);
    } else if constexpr (requires { value.begin(); }) {
      Put(static_cast<uint32_t>(value.size()));
      for (const auto& element : value) Put(element);
    } else {
      VisitFields(value, *this);
    }
  }

 private:
  std::string& out_;
};

/// Reads records. The first failure sticks: from then on everything reads as zero or empty, so that status() is looked
/// at once. Records of lists without elements take many times their bytes: what is read may take kFreeBytes, beyond
/// that no more than kMaxGrowth times the bytes that are there nor kMaxBeyond more than they are, and never more than
/// `most_bytes`.
class Decoder {
 public:
  static constexpr uint64_t kFreeBytes = uint64_t{1} << 20, kMaxGrowth = 16, kMaxBeyond = uint64_t{128} << 20;
  explicit Decoder(std::string_view bytes, uint64_t most_bytes = UINT64_MAX)
      : bytes_(bytes),
        budget_(std::min({most_bytes, kFreeBytes + kMaxGrowth * bytes.size(), kMaxBeyond + bytes.size()})),
        left_(budget_) {}

  const Status& status() const { return status_; }
  /// What the elements and texts that were read take, about.
  uint64_t memory_bytes() const { return budget_ - left_; }
  bool at_end() const { return bytes_.empty(); }

  template <class T>
  void operator()(const char* name, T& field) {
    if (status_.ok()) Get(name, field);
  }

 private:
  static constexpr int kMaxDepth = 16;

  template <class T>
  void Get(const char* name, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t byte = 0;
      Get(name, byte);
      if (byte > 1) Fail(name, "is no truth value");
      value = byte == 1;
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (const char* raw = Take(name, sizeof(T))) std::memcpy(&value, raw, sizeof(T));
    } else if constexpr (std::is_same_v<T, std::string>) {
      uint32_t size = 0;
      Get(name, size);
      if (const char* raw = Take(name, size); raw != nullptr && Charge(name, size)) value.assign(raw, size);
    } else if constexpr (std::is_same_v<T, Value>) {
      uint8_t kind = 0;
      Get(name, kind);
      GetAlternative<0>(name, kind, value);
    } else if constexpr (requires { value.begin(); }) {
      GetList(name, value);
    } else {
      if (++depth_ > kMaxDepth) {
        Fail(name, "is nested too deeply");
      } else {
        VisitFields(value, *this);
      }
      --depth_;
    }
  }

  template <class List>
  void GetList(const char* name, List& list) {
    using Element = typename List::value_type;
    uint32_t count = 0;
    Get(name, count);
    // Every element takes a byte at least; numbers take their size.
    const size_t least = std::is_arithmetic_v<Element> ? sizeof(Element) : 1;
    if (status_.ok() && count > bytes_.size() / least) Fail(name, "has more elements than the message has bytes");
    if (!status_.ok()) return;
    list.clear();
    for (uint32_t i = 0; i < count && status_.ok() && Charge(name, sizeof(Element)); ++i) {
      Element element{};
      Get(name, element);
      list.push_back(std::move(element));
    }
  }

  template <size_t kIndex>
  void GetAlternative(const char* name, uint8_t kind, Value& value) {
    if constexpr (kIndex == std::variant_size_v<Value>) {
      Fail(name, "is of an unknown kind");
    } else if (kind == kIndex) {
      std::variant_alternative_t<kIndex, Value> held{};
      Get(name, held);
      value = std::move(held);
    } else {
      GetAlternative<kIndex + 1>(name, kind, value);
    }
  }

  const char* Take(const char* name, size_t size) {
    if (!status_.ok()) return nullptr;
    if (size > bytes_.size()) {
      Fail(name, "ends early");
      return nullptr;
    }
    const char* raw = bytes_.data();
    bytes_.remove_prefix(size);
    return raw;
  }

  bool Charge(const char* name, uint64_t size_bytes) {
    if (size_bytes > left_) {
      Fail(name, "takes more memory than its message may");
      return false;
    }
    left_ -= size_bytes;
    return true;
  }

  void Fail(const char* name, const char* what);

  std::string_view bytes_;
  const uint64_t budget_;
  uint64_t left_;
  Status status_;
  int depth_ = 0;
};

/// The bytes of a record.
template <class Record>
std::string Encode(const Record& record) {
  std::string bytes;
  Encoder(bytes).Put(record);
  return bytes;
}
template <class Record>
void EncodeTo(const Record& record, std::string& bytes) {
  bytes.clear();
  Encoder(bytes).Put(record);
}

/// The record that `bytes` are, all of them. DATA_LOSS names the field that is wrong. `bytes` must be the reader's own:
/// memory that the writer can still change may differ between the check and the use. It takes at most `most_bytes`;
/// `memory_bytes`, where it is not null, gets how much it does.
template <class Record>
Result<Record> Decode(std::string_view bytes, uint64_t most_bytes = UINT64_MAX, uint64_t* memory_bytes = nullptr) {
  Record record;
  Decoder decoder(bytes, most_bytes);
  decoder("message", record);
  if (memory_bytes != nullptr) *memory_bytes = decoder.memory_bytes();
  if (!decoder.status().ok()) return decoder.status();
  if (!decoder.at_end()) return DataLoss("a message is followed by bytes that do not belong to it");
  return record;
}

/// The most bytes of an array that a Chunk has: its message is of 1 MiB.
inline constexpr size_t kChunkBytes = (size_t{1} << 20) - sizeof(uint64_t) - sizeof(uint32_t);
/// Makes `message` a Chunk.
void EncodeChunk(uint64_t offset, std::string_view bytes, std::string& message);
/// A Chunk whose bytes are where they lie in `message`.
struct ChunkView {
  uint64_t offset = 0;
  std::string_view bytes;
};
Result<ChunkView> DecodeChunk(std::string_view message);

/// A message as text, for people: the verb and the size when it cannot be read.
std::string Dump(Verb verb, std::string_view bytes);

}  // namespace tenon::wire
