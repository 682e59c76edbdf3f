#pragma once

#include "tenon/abi/pjrt_base.h"
#include "tenon/base/status.h"

namespace tenon::plugin {

/// A PJRT_Error for a status; null for OK. Never fails: out of memory yields a static error.
PJRT_Error* ToCError(const Status& status) noexcept;

/// The status of an error that this library made, which it takes; OK for null.
Status TakeCError(PJRT_Error* error) noexcept;

/// What callbacks make their errors with; see PJRT_CallbackError.
PJRT_Error* MakeCallbackError(PJRT_Error_Code code, const char* message, size_t message_size) noexcept;

/// A status from a code and a text of a caller; OK for code 0, UNKNOWN for a code outside the list.
Status StatusFromC(int code, const char* message, size_t message_size);

/// Hangs on `error`, not OK, what a caller gives. INVALID_ARGUMENT for an array that DecodeNamedValues does not take
/// and for values that are no strings.
Status AddPayloads(const PJRT_NamedValue* payloads, size_t count, Status& error);

}  // namespace tenon::plugin
