#pragma once

#include <string>
#include <type_traits>

#include "tenon/client/api.h"

namespace tenon::client::internal {

/// Calls a slot of an extension; UNIMPLEMENTED that names `function` when the plugin lacks the extension or the slot.
/// Slots that return nothing give OK.
template <class Extension, class Function, class Args>
Status CallExtension(const Api& api, PJRT_Extension_Type type, Function* Extension::* slot, const char* function,
                     Args& args) {
  const auto* extension = reinterpret_cast<const Extension*>(api.FindExtension(type));
  if (extension == nullptr) {
    return Unimplemented(api.name() + " does not have " + function + ": it lacks the extension " + ExtensionName(type));
  }
  Function* const call = ExtensionSlot(extension, slot);
  if (call == nullptr) {
    return Unimplemented(api.name() + " does not have " + function + ": its extension " + ExtensionName(type) +
                         " is too old or leaves it out");
  }
  if constexpr (std::is_void_v<decltype(call(&args))>) {
    call(&args);
    return OkStatus();
  } else {
    return api.TakeError(call(&args), function);
  }
}

}  // namespace tenon::client::internal

/// CallExtension with the slot called `Function` of `Extension`.
#define TENON_CALL_EXTENSION(api, type, Extension, Function, args) \
  ::tenon::client::internal::CallExtension((api), (type), &Extension::Function, #Function, (args))
