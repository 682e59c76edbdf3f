#pragma once

/// Makes a program small while something stays true of it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tenon/base/status.h"

namespace tenon::reduce {

/// Whether a program still shows what it is reduced for. The text is a valid StableHLO program, with the first line of
/// its fuzz::Conditions where the original had one.
using Interesting = std::function<bool(const std::string& program)>;

struct ReduceOptions {
  int64_t max_tests = 20'000;  ///< Calls of the test at most.
  /// Told of each step that was kept: which kind of edit, and the program after it. May be empty.
  std::function<void(std::string_view edit, const std::string& program)> kept;
};

/// The smallest program found by edits that each leave it valid and interesting. INVALID_ARGUMENT when `program` is not
/// valid; FAILED_PRECONDITION when it is not interesting to begin with.
Result<std::string> Reduce(std::string_view program, const Interesting& interesting, const ReduceOptions& options = {});

}  // namespace tenon::reduce
