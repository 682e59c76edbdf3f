#pragma once

#include <functional>

#include "tenon/base/status.h"

namespace tenon::proxy {

/// Runs the host's code (handlers, callbacks) for device processes, on a thread that is made when all others are busy:
/// what runs may wait for another one. Any thread; returns at once. What `work` throws ends `work` alone.
/// RESOURCE_EXHAUSTED when there is no thread and none can be made: then it will not run.
Status RunAside(std::function<void()> work);

}  // namespace tenon::proxy
