#pragma once

// What a child says of one case.

#include <string>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::conformance {

struct Answer {
  Status status;
  std::vector<std::string> outputs;  ///< Dense row-major bytes; none on an error.
};

/// False when nobody reads any more.
bool SendAnswer(int fd, const Answer& answer);

/// Takes one answer from the front of what has arrived; false while it is not all there.
bool TakeAnswer(std::string& arrived, Answer& answer);

}  // namespace tenon::conformance
