#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::opt {

/// What to print of a program.
enum class Phase {
  kNone,      ///< The program itself, read and verified.
  kImport,    ///< The compiler's graph.
  kSimplify,  ///< The graph after simplify.
  kFuse,      ///< The kernels.
  kPlan,      ///< The plan.
  kLlvm,      ///< The kernels' LLVM IR.
  kAssembly,  ///< The kernels' assembly.
  kEvaluate,  ///< What the kernels compute, by KIR's evaluator.
};

/// What the command line asks for.
struct Options {
  std::vector<std::string> files;   ///< "-" is standard input
  bool split_input = false;         ///< chunks between `// -----` lines are modules of their own
  bool verify_diagnostics = false;  ///< check `expected-error` comments instead of printing
  bool generic = false;             ///< print the generic form
  bool locations = false;           ///< print locations
  bool round_trip = false;    ///< print, parse and print again in both forms; print nothing but failures and a summary
  std::string math;           ///< print this math function of kernels
  std::string emit_bytecode;  ///< write portable artifacts of this version ("1.16.3") instead of text
  Phase phase = Phase::kNone;
  std::string target;           ///< what StableHLO is compiled for; empty: the standard target
  std::string isa = "avx2";     ///< of kLlvm and kAssembly
  std::vector<int64_t> params;  ///< of kEvaluate
  bool trace_rules = false;     ///< Before the simplified graph: which rule did what to which node.
  int64_t replicas = 1;
  int64_t partitions = 1;
};

}  // namespace tenon::opt
