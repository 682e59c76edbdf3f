#pragma once

#include <string>
#include <string_view>

#include "tenon/abi/pjrt.h"

namespace tenon::trace {

/// Stands for an error of a plugin while the caller has it, so that it is seen when it is freed in whichever way:
/// through the table or through its own function table. NULL stays NULL. `inner` itself when there is no memory.
PJRT_Error* WrapError(const PJRT_Api* api, PJRT_Error* inner, int function);

/// An error of our own.
PJRT_Error* MakeError(PJRT_Error_Code code, std::string message, int function);

/// The four functions of errors, for errors that we handed out as well as for those that we have never seen.
PJRT_Error* CallErrorFunction(const PJRT_Api* api, int function, void* args);

/// What an error of ours says. Empty for others.
int CodeOf(const PJRT_Error* error);
std::string_view MessageOf(const PJRT_Error* error);

/// Frees an error of the plugin's own.
void DestroyInner(const PJRT_Api* api, PJRT_Error* inner);

}  // namespace tenon::trace
