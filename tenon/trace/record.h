#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "tenon/trace/handles.h"

namespace tenon::trace {

enum class RecordType : uint8_t { kSkip, kCall, kReady, kCallback, kMisuse };

/// The ways to misuse the interface that are found.
enum class Misuse : uint8_t {
  kDoubleDestroy,
  kUseAfterDestroy,
  kUseAfterDelete,
  kWrongStructSize,
  kNullArgument,
  kErrorBeforeReady,
  kLeakedError,
  kLeakedHandle,
};
inline constexpr int kNumMisuses = 8;
/// "double destroy", "use after destroy" ...
const char* MisuseName(Misuse misuse);

/// What threads put into their rings. Behind it: the bytes of the argument struct, then items.
struct RecordHead {
  uint32_t size;  // of all of it, a multiple of 8
  uint16_t function;
  RecordType type;
  uint8_t code;    // error code of a call; Misuse of a misuse
  uint64_t begin;  // nanoseconds
  uint64_t duration;
  uint16_t raw_size;
  uint16_t raw_valid;  // struct_size of the caller, when smaller than the struct
  uint32_t items_size;
};

enum class Role : uint8_t { kUsed, kCreated, kDestroyed, kDeleted, kReady };
enum class ItemType : uint8_t { kHandle, kText, kInts, kMessage, kLiveBytes };

/// A handle in a record.
struct HandleItem {
  HandleInfo info;
  Role role = Role::kUsed;
};

/// Instead of the number of a field: an element of the arrays of arrays of an execution.
inline constexpr uint8_t kArguments = 0xfe;
inline constexpr uint8_t kOutputs = 0xfd;
inline constexpr uint8_t kEvents = 0xfc;

struct ItemHead {
  ItemType type;
  uint8_t field;
  uint16_t size;   // of what follows, before padding to 8
  uint32_t total;  // bytes of the whole text, elements of the whole array
};

/// A record while it is made. Items that do not fit are left out.
class RecordBuilder {
 public:
  RecordBuilder(RecordType type, int function, uint64_t begin, uint64_t duration) {
    head().type = type;
    head().function = static_cast<uint16_t>(function);
    head().code = 0;
    head().begin = begin;
    head().duration = duration;
    head().raw_size = head().raw_valid = 0;
    head().items_size = 0;
    size_ = sizeof(RecordHead);
  }

  RecordHead& head() { return *reinterpret_cast<RecordHead*>(data_); }
  const char* data() const { return data_; }

  /// Before any item. `size` bytes of a struct of which the caller has `valid`.
  void Raw(const void* data, size_t valid, size_t size) {
    const size_t padded = (size + 7) & ~size_t{7};
    if (size_ + padded > sizeof(data_) || valid > size) return;
    std::memcpy(data_ + size_, data, valid);
    std::memset(data_ + size_ + valid, 0, padded - valid);
    head().raw_size = static_cast<uint16_t>(padded);
    head().raw_valid = static_cast<uint16_t>(valid);
    size_ += padded;
  }

  void Item(ItemType type, uint8_t field, const void* data, size_t size, size_t total) {
    const size_t padded = (size + 7) & ~size_t{7};
    if (size_ + sizeof(ItemHead) + padded > sizeof(data_)) return;
    const ItemHead item{type, field, static_cast<uint16_t>(size), static_cast<uint32_t>(total)};
    std::memcpy(data_ + size_, &item, sizeof(item));
    if (size != 0) std::memcpy(data_ + size_ + sizeof(item), data, size);
    size_ += sizeof(item) + padded;
    head().items_size += static_cast<uint32_t>(sizeof(item) + padded);
  }

  void Handle(uint8_t field, const HandleInfo& info, Role role) {
    const HandleItem item{info, role};
    Item(ItemType::kHandle, field, &item, sizeof(item), 1);
  }
  void Text(ItemType type, uint8_t field, std::string_view text, size_t limit) {
    Item(type, field, text.data(), text.size() < limit ? text.size() : limit, text.size());
  }

  /// Completes the record; its size.
  size_t Finish() {
    head().size = static_cast<uint32_t>(size_);
    return size_;
  }

 private:
  static constexpr size_t kMaxSize = 12 << 10;
  size_t size_;
  alignas(8) char data_[kMaxSize];
};

}  // namespace tenon::trace
