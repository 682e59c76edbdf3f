#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/base/status.h"

namespace tenon {

/// RESOURCE_EXHAUSTED, "out of host memory": made when the library is loaded, since later there may be no memory to
/// make it.
const Status& OutOfMemory() noexcept;

/// The exception in flight as a status: OutOfMemory for std::bad_alloc, else INTERNAL with its text after `where`. For
/// catch blocks.
Status CurrentException(std::string_view where) noexcept;

/// Calls f, which returns a Status or nothing. What it throws becomes the status that CurrentException makes: for code
/// that runs where an exception would end the process, and for foreign code.
template <class F>
Status Contain(std::string_view where, F&& f) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      f();
      return OkStatus();
    } else {
      return f();
    }
  } catch (...) {
    return CurrentException(where);
  }
}

}  // namespace tenon
