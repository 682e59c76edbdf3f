#pragma once

#include <string>
#include <vector>

namespace tenon::opt {

/// Reads kernels (KIR text, chunks between `// -----` lines), verifies them and prints them. Errors go to stderr, "error: " in front, and the next chunk
/// follows. True if all is well.
bool RunKir(const std::vector<std::string>& files);

/// Prints the graph of a math function ("exp.f32.v1"), or all names for "list".
bool PrintMath(const std::string& name);

}  // namespace tenon::opt
