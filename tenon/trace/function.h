#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tenon/abi/pjrt.h"

namespace tenon::trace {

/// The number in an enum that somebody else wrote: it may be one that our enum lacks, which C++ forbids to read as
/// such.
template <class Enum>
uint32_t NumberOf(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(uint32_t));
  uint32_t number;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

/// What a handle is. Kinds up to kLast are owned by the caller and followed from creation to destruction.
enum class HandleKind : uint8_t {
  kNone,
  kError,
  kEvent,
  kClient,
  kTopology,
  kExecutable,
  kLoadedExecutable,
  kBuffer,
  kExecuteContext,
  kTransferManager,
  kStream,
  kTrackingEvent,
  kAliasPromise,
  kLayout,
  kRawBuffer,
  kLast = kRawBuffer,
  kDevice,
  kDescription,
  kMemory,
};
inline constexpr int kNumHandleKinds = static_cast<int>(HandleKind::kMemory) + 1;

/// "buffer", "event" ...
const char* KindName(HandleKind kind);

/// How the bytes of a field are read.
enum class FieldType : uint8_t {
  kHandle,
  kSigned,
  kUnsigned,
  kBool,
  kElementType,
  kErrorCode,
  kSemantics,
  kPointer,
  kText,         // const char* with a count
  kInts,         // const int64_t* with a count
  kNamedValues,  // const PJRT_NamedValue* with a count
  kProgram,
  kArray,   // any other pointer with a count
  kOpaque,  // a struct by value
};

enum class Direction : uint8_t { kIn, kOut };

struct Field {
  const char* name;
  uint16_t offset;
  uint16_t size;
  uint16_t count_offset;  // 0: none
  FieldType type;
  HandleKind kind;
  Direction direction;
  bool required;  // NULL is misuse
};

/// Calls `function`, whose type only the table of functions knows; NULL when it returns nothing.
using Invoke = PJRT_Error* (*)(void* function, void* args);

/// What a call does to the handle that is its first argument.
enum class Effect : uint8_t { kNone, kDestroys, kDeletes, kConsumes };

/// One function of the interface: an entry of the table, a slot of an extension, or an entry that came after 0.117.
struct Function {
  const char* name;
  const char* args_name;
  std::span<const Field> fields;
  uint16_t struct_size;
  Invoke invoke;
  Effect effect = Effect::kNone;
  bool returns_error = true;             // some functions of extensions return nothing
  bool reads_data = false;               // uses the contents of a buffer: misuse once it is deleted
  bool borrowed_output = false;          // its handle belongs to another object
  std::span<const uint16_t> sizes = {};  // every struct_size that callers send
};

/// Numbers of functions: the table in order, then extensions, then what is not known.
enum FunctionId : int {
#define PJRT_FN(function, args, since, owner) k_##function,
#include "tenon/abi/api.def"
#undef PJRT_FN
  kNumTableFunctions,
};

/// A wrapped slot of an extension.
struct Slot {
  PJRT_Extension_Type extension;
  uint16_t offset;
};

inline constexpr int kMaxUnknown = 64;
/// All numbers are below.
int NumFunctions();
/// The first number of an entry of the table that this version does not know.
int FirstUnknown();
const Function& FunctionOf(int id);
/// The slots of extensions; number kNumTableFunctions + i is slot i.
std::span<const Slot> ExtensionSlots();

/// The forwarding functions of table `table` (0 to kMaxTables - 1), by number.
inline constexpr int kMaxTables = 8;
std::span<void* const> Forwarders(int table);

}  // namespace tenon::trace
