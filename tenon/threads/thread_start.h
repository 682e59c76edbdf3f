#pragma once

#include <string>
#include <thread>
#include <utility>

#include "tenon/base/status.h"
#include "tenon/threads/function_ref.h"

namespace tenon::threads::internal {

/// Starts a thread named `name` (cut to 15 characters) in the compute float state with every signal blocked, running
/// `body`. RESOURCE_EXHAUSTED when the system refuses.
Result<std::thread> StartThread(const std::string& name, void (*body)(void* context, int index), void* context,
                                int index);

}  // namespace tenon::threads::internal
