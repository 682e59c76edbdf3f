#pragma once

/// Findings that are known and not yet mended.

#include <cstdint>
#include <string>
#include <vector>

#include "test/fuzz_programs/judges.h"

namespace tenon::fuzz {

/// Lines "seed N: reason" and "message TEXT: reason"; TEXT is part of a verdict's message and holds no colon.
class KnownFindings {
 public:
  /// Empty for a path that is empty or not there.
  static KnownFindings Load(const std::string& path);
  /// Why this is known; null when it is not.
  const std::string* Find(uint64_t seed, const Verdict& verdict) const;

 private:
  struct Entry {
    bool by_seed = false;
    uint64_t seed = 0;
    std::string text, reason;
  };
  std::vector<Entry> entries_;
};

}  // namespace tenon::fuzz
