#pragma once

#include <functional>

namespace tenon::host {

/// What makes ready what the first compile needs, which takes a while: to be run on a thread that nobody waits for. The
/// process, when it ends, waits for those that run.
std::function<void()> WarmUp();

}  // namespace tenon::host
