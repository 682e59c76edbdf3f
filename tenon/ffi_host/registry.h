#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/abi/xla_ffi.h"
#include "tenon/base/status.h"

namespace tenon::ffi_host {

/// A declaration among a handler's traits, in a bit of this host's own: the handler never calls the client or an
/// interpreter and waits for nothing but tasks that it schedules itself. Without it a handler is taken to do so: a
/// program that calls it gets a thread where it may block.
inline constexpr XLA_FFI_Handler_Traits kLeafTrait = XLA_FFI_Handler_Traits{1} << 30;
/// The handler is run by whoever begins the executions that call it, such as the host of a device in a process of its
/// own: that one cannot wait for an execution while it begins it.
inline constexpr XLA_FFI_Handler_Traits kServedByCallerTrait = XLA_FFI_Handler_Traits{1} << 28;
/// Among the traits of a registration through PJRT's extension: what is registered points to an
/// XLA_FFI_Handler_Bundle, not to an execute function.
inline constexpr XLA_FFI_Handler_Traits kBundleTrait = XLA_FFI_Handler_Traits{1} << 29;

/// The handler is a library's, of a routine that the host may have built in: it gives way to that one where that one
/// is as fast (BuiltIn::longest).
inline constexpr XLA_FFI_Handler_Traits kStandInTrait = XLA_FFI_Handler_Traits{1} << 27;

/// A typed custom-call handler as somebody registered it.
struct Handler {
  std::string name;
  XLA_FFI_Handler_Bundle bundle = {};
  XLA_FFI_Handler_Traits traits = 0;
};

/// Makes `bundle` known to the whole process under `name`, for good. Each of its functions is asked for its metadata
/// first: INVALID_ARGUMENT when it gives none or was built for another version of the interface than 0.0 to 0.5. The
/// same functions may be registered again; ALREADY_EXISTS for others under a name that is taken. Thread-safe.
Status RegisterHandler(std::string_view name, const XLA_FFI_Handler_Bundle& bundle, XLA_FFI_Handler_Traits traits);

struct BuiltIn {
  XLA_FFI_Handler* handler = nullptr;  ///< Null: the name is not known.
  /// Instead of a stand-in it is called for matrices of at most so many rows and columns.
  int64_t longest = 0;
};
/// What `find` gives for a name is called, as a leaf, while nobody has registered that name, or a stand-in only.
/// Thread-safe; a later installation replaces an earlier one.
void InstallBuiltIns(BuiltIn (*find)(std::string_view name));

/// The handler registered as `name`, else the built-in one; NOT_FOUND when there is neither. `longest`: of the rows and
/// columns of the call's matrices.
Result<std::shared_ptr<const Handler>> FindHandler(std::string_view name,
                                                   int64_t longest = std::numeric_limits<int64_t>::max());

}  // namespace tenon::ffi_host
