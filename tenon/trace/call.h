#pragma once

#include <string>

#include "tenon/abi/pjrt.h"

namespace tenon::trace {

/// One call through table `table`: checks it, forwards it, records it. What every forwarding function does.
PJRT_Error* Call(int table, int function, void* args);

/// The table that forwards to `inner`; the same each time for the same one. `inner` itself when there are too many
/// tables or no memory. Lives as long as the process.
const PJRT_Api* TraceApi(const PJRT_Api* inner);

/// A table whose functions all fail with UNAVAILABLE and this message, so that a framework can say it.
const PJRT_Api* FailingApi(std::string message);

}  // namespace tenon::trace
