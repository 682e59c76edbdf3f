#pragma once

#include <cstddef>

namespace tenon::proxy::policy {

/// Copies of at most this many bytes are done by their caller: about 0.1 ms, the cost of two changes of threads.
inline constexpr size_t kInlineCopyBytes = size_t{1} << 20;

}  // namespace tenon::proxy::policy
