#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/abi/pjrt.h"
#include "tenon/base/status.h"

namespace tenon::client {

/// What is known of the table entry that takes `Args`: kName, kSinceMinor, kIndex (position in the table), kMember
/// (`&PJRT_Api::...`), kStructSize (for Args::struct_size). One specialisation per function of the C interface.
template <class Args>
struct EntryOf;

namespace internal {
enum class EntryIndex : int {
#define PJRT_FN(function, args, since_minor, owner) function,
#include "tenon/abi/api.def"
#undef PJRT_FN
  kCount
};
}  // namespace internal

/// Whether the errors of this call are those of some earlier work.
template <class Args>
inline constexpr bool kReportsWork =
    std::is_same_v<Args, PJRT_Event_Await_Args> || std::is_same_v<Args, PJRT_Event_Error_Args>;

#define PJRT_FN(function, args, since_minor, owner)                                 \
  template <>                                                                       \
  struct EntryOf<args> {                                                            \
    static constexpr const char* kName = #function;                                 \
    static constexpr int kSinceMinor = since_minor;                                 \
    static constexpr int kIndex = static_cast<int>(internal::EntryIndex::function); \
    static constexpr auto kMember = &PJRT_Api::function;                            \
    static constexpr size_t kStructSize = args##_STRUCT_SIZE;                       \
  };
#include "tenon/abi/api.def"
#undef PJRT_FN

/// One line of the table: is the entry there, and if not, why. `reason` is empty when it is.
struct TableEntry {
  const char* name = nullptr;
  int since_minor = 0;
  bool present = false;
  std::string reason;
};

/// A plugin's table of functions, read with care: an entry is called only when the declared minor version has it, the
/// table is long enough and the slot is not null. Otherwise the call answers UNIMPLEMENTED and names the entry.
///
/// Lives until the process ends, as plugins do: they are never unloaded. Safe to use from any thread.
class Api {
 public:
  /// Oldest minor version that is accepted. 0.56 is refused too: its table has an order of its own.
  static constexpr int kOldestMinor = 54;

  /// Checks the version of `raw` and that its chain of extensions ends, and wraps it. `name` appears in error messages.
  /// Each call makes another object.
  static Result<const Api*> Wrap(const PJRT_Api* raw, std::string name);

  /// The plugin's own table. Check `Has` before reading from it.
  const PJRT_Api* raw() const { return raw_; }
  const std::string& name() const { return name_; }
  int major_version() const { return raw_->pjrt_api_version.major_version; }
  int minor_version() const { return raw_->pjrt_api_version.minor_version; }

  /// Whether the entry that takes `Args` may be called.
  template <class Args>
  bool Has() const {
    return table_.*EntryOf<Args>::kMember != nullptr;
  }

  /// Calls the entry that takes `Args`: `auto args = MakeArgs<PJRT_Client_Devices_Args>(); ...; api.Call(args)`.
  template <class Args>
  Status Call(Args& args) const {
    const auto function = table_.*EntryOf<Args>::kMember;
    if (function == nullptr) [[unlikely]]
      return Missing(EntryOf<Args>::kIndex);
    if constexpr (std::is_void_v<decltype(function(&args))>) {
      function(&args);
      return OkStatus();
    } else {
      PJRT_Error* const error = function(&args);
      if (error == nullptr) [[likely]]
        return OkStatus();
      return TakeError(error, kReportsWork<Args> ? std::string_view() : EntryOf<Args>::kName);
    }
  }

  /// Reads and destroys `error` (NULL is OK), with its payloads. The message begins with `what` unless that is empty or
  /// it does so already.
  Status TakeError(PJRT_Error* error, std::string_view what = {}) const;

  /// The first extension of this type whose struct is at least `min_size` bytes long, or null. Types are numbers, since
  /// there are more than PJRT_Extension_Type has.
  const PJRT_Extension_Base* FindExtension(uint32_t type, size_t min_size = 0) const;
  /// Types and sizes of all extensions, in the order of the chain.
  std::vector<std::pair<uint32_t, size_t>> Extensions() const;
  /// Every function of the C interface that Tenon knows, in the order of the table.
  std::vector<TableEntry> Entries() const;

 private:
  Api(const PJRT_Api* raw, std::string name);
  Status Missing(int index) const;
  std::string WhyMissing(int index) const;

  const PJRT_Api* raw_;
  std::string name_;
  PJRT_Api table_;  // a copy in which entries that must not be called are null
};

/// "FFI", "Layouts" ...; the number for types that are not in the list.
std::string ExtensionName(uint32_t type);

/// Arguments with struct_size set and everything else zero.
template <class Args>
Args MakeArgs() {
  Args args{};
  args.struct_size = EntryOf<Args>::kStructSize;
  return args;
}

/// The slot `member` of an extension, or null when the plugin's struct is too short to have it.
template <class Extension, class Function>
Function ExtensionSlot(const Extension* extension, Function Extension::* member) {
  if (extension == nullptr) return nullptr;
  const auto offset = reinterpret_cast<const char*>(&(extension->*member)) - reinterpret_cast<const char*>(extension);
  const size_t size = reinterpret_cast<const PJRT_Extension_Base*>(extension)->struct_size;
  return size >= static_cast<size_t>(offset) + sizeof(Function) ? extension->*member : nullptr;
}

}  // namespace tenon::client
