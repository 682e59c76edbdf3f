#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tenon/base/status.h"

namespace tenon::opt {

/// What a file holds, by its first bytes.
enum class InputKind {
  kStablehlo,  ///< Text, bytecode or portable artifact.
  kKir,        ///< Kernels.
  kPlan,       ///< Plans.
};
/// Looks behind white space and `//` comments.
InputKind DetectInput(std::string_view bytes);

/// The bytes of a file, of standard input for "-". NOT_FOUND with the system's reason.
Result<std::string> ReadInput(const std::string& file);

/// Calls `run` with the text, or with each chunk between `// -----` lines when `split`, with a line between what they
/// print. Errors go to stderr as "FILE:LINE: error: ...", LINE being the chunk's first one, and the next chunk follows.
/// True if all is well.
bool ForEachChunk(const std::string& file, std::string_view text, bool split,
                  const std::function<Status(std::string_view chunk)>& run);

}  // namespace tenon::opt
