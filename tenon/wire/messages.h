#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/base/small_vector.h"
#include "tenon/base/status.h"

namespace tenon::wire {

/// The protocol that this build speaks, and the oldest one.
inline constexpr uint32_t kNewestProtocol = 4;
inline constexpr uint32_t kOldestProtocol = 2;
/// The first one in which the device process says, too, which pieces it has given up.
inline constexpr uint32_t kBothDropPieces = 3;
/// The first one with callbacks of executions.
inline constexpr uint32_t kHasCallbacks = 4;
/// Handlers of the host that a device process can serve.
inline constexpr int kMaxHandlers = 2048;

/// What an attribute or option can hold; the order is that of PJRT_NamedValue_Type.
using Value = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;
using Numbers = SmallVector<int64_t, 6>;

struct Argument;
struct Output;
struct Place;
struct DeviceRun;
using Arguments = SmallVector<Argument, 8>;
using Outputs = SmallVector<Output, 4>;
using Places = SmallVector<Place, 4>;
using DeviceRuns = std::vector<DeviceRun>;

/// What Ask and AskDevice ask for.
enum class Question : uint8_t {
  kSerialized,
  kOptimizedProgram,  // a ProgramText
  kMemoryStats,       // numbers: bytes in use, then a flag and a value per optional figure
  kClearMemoryStats,
  kPoison,  // one byte: whether there was such an execution
};
/// The connections of a session between machines: messages, and bytes of arrays.
enum class Lane : uint8_t { kControl, kBulk };
inline constexpr uint8_t kLanes = 2;
inline constexpr uint64_t kAttachMagic = 0x314e4f4e4554ab01;
enum class ProfileStep : uint8_t { kStart, kStop };

/// Whether a place lies among the `size_bytes` from `block` on.
inline bool IsWithin(const Place& place, const Place& block, uint64_t size_bytes);

/// The number of a kind of message.
enum class Verb : uint32_t {
  kNone = 0,
#define TENON_MESSAGE(Name, verb) k##Name = verb,
#include "tenon/wire/schema.def"
};
/// "Execute" and so on; "?" for numbers outside the list.
const char* VerbName(Verb verb);

#define TENON_RECORD(Name) struct Name {
#define TENON_MESSAGE(Name, verb) \
  struct Name {                   \
    static constexpr Verb kVerb = Verb::k##Name;
#define TENON_FIELD(type, name) type name{};
#define TENON_END(Name)                                       \
  friend bool operator==(const Name&, const Name&) = default; \
  }                                                           \
  ;
#include "tenon/wire/schema.def"

inline bool IsWithin(const Place& place, const Place& block, uint64_t size_bytes) {
  return place.piece == block.piece && place.offset >= block.offset && place.offset - block.offset < size_bytes;
}

/// Calls visit(field name, field) for every field of a record, in order.
#define TENON_RECORD(Name)                                           \
  template <class Visitor, class Record>                             \
    requires std::is_same_v<std::remove_const_t<Record>, wire::Name> \
  void VisitFields([[maybe_unused]] Record& record, [[maybe_unused]] Visitor&& visit) {
#define TENON_FIELD(type, name) visit(#name, record.name);
#define TENON_END(Name) }
#include "tenon/wire/schema.def"

Error FromStatus(const Status& status);
/// A code outside the list becomes UNKNOWN.
Status ToStatus(const Error& error);

/// Whether a program, of any form, may have custom calls: their name is in it.
bool HasCustomCalls(std::string_view program);

}  // namespace tenon::wire
