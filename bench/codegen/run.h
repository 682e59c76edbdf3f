#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/kir/kir.h"

namespace tenon::bench {

/// Nanoseconds of one whole run on one thread, best of many; of two codes of one kernel.
struct Race {
  double ns[2] = {0, 0};
  bool same = true;     ///< Whether both left the same bytes (any NaN equals any other).
  std::string problem;  ///< Why there is no result; empty: there is.
};

/// Runs both on equal random memory in a child process, in turn, `rounds` times a few microseconds at least.
Race RunBoth(const kir::Kernel& kernel, const std::vector<int64_t>& params, kir::KernelFn one, kir::KernelFn other,
             int rounds);

}  // namespace tenon::bench
