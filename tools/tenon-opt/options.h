#pragma once

#include <string>
#include <vector>

namespace tenon::opt {

/// What the command line asks for.
struct Options {
  std::vector<std::string> files;  ///< "-" is standard input
  bool split_input = false;        ///< chunks between `// -----` lines are modules of their own
  bool verify_diagnostics = false; ///< check `expected-error` comments instead of printing
  bool generic = false;            ///< print the generic form
  bool locations = false;          ///< print locations
  bool round_trip = false;         ///< print, parse and print again in both forms; print nothing but failures and a summary
  bool kir = false;                ///< the files hold kernels
  std::string math;                ///< print this math function of kernels
  std::string emit_bytecode;       ///< write portable artifacts of this version ("1.16.3") instead of text
};

}  // namespace tenon::opt
