#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/reference/value.h"

namespace tenon::reference {

struct NamedAttribute;
/// Named attributes of a custom call, in the order of the program.
using Attributes = std::vector<NamedAttribute>;

/// One attribute of a custom call. Numbers and arrays of them are Values (rank 0 and rank 1); a bool is a pred scalar.
struct Attribute {
  std::variant<Value, std::string, Attributes> value;
};

struct NamedAttribute {
  std::string name;
  Attribute attribute;
};

/// One custom_call while it runs.
struct CustomCall {
  std::string_view target;
  int api_version = 1;              ///< 0..4 as in StableHLO; 4 is the typed FFI.
  std::string_view backend_config;  ///< The string form; empty when there is a dictionary.
  const Attributes* attributes;     ///< backend_config as a dictionary (also mhlo.backend_config); never null.
  bool has_side_effect = false;
  std::span<const Value> operands;  ///< Row-major, whatever the layouts say.
  std::span<const Shape> results;   ///< Shapes of the results; dtype kToken for a token.
  /// minor_to_major per operand and result; empty when the call states none (row-major).
  std::span<const std::vector<int64_t>> operand_layouts;
  std::span<const std::vector<int64_t>> result_layouts;
  /// (result, operand) pairs: the result begins with the operand's content.
  std::span<const std::pair<int64_t, int64_t>> aliases;
};

/// Serves a custom call: its results, row-major, or nullopt when it does not know the target. Runs on the thread of
/// Run(), in program order, with the floating-point environment that the caller of Run() had.
using CustomCallHandler = std::function<Result<std::optional<std::vector<Value>>>(const CustomCall&)>;

/// How to run. Everything pointed to must live until Run() returns.
struct RunOptions {
  /// f32 and f64 arithmetic takes subnormal operands as zero and gives zero for subnormal results, as XLA's CPU backend
  /// does.
  bool flush_denormals = true;
  /// Iterations of any one while loop; 0: no limit. RESOURCE_EXHAUSTED beyond.
  int64_t max_loop_iterations = 0;
  /// Calls and regions inside each other; RESOURCE_EXHAUSTED beyond.
  int max_depth = 200;
  /// Looked at between operations; CANCELLED once it is true.
  const std::atomic<bool>* cancelled = nullptr;
  /// Asked first for every custom call; may be empty.
  CustomCallHandler custom_call;
  /// This process in the grid. Collectives of groups with more than one member are UNIMPLEMENTED.
  uint32_t replica_id = 0, partition_id = 0;
  uint32_t num_replicas = 1, num_partitions = 1;
};

/// A StableHLO program and its evaluator: slow, one thread, and meant to be right. The semantics follow XLA's CPU
/// backend where the specification leaves a choice.
class Program {
 public:
  /// Reads StableHLO as text, bytecode or portable artifact. INVALID_ARGUMENT for what does not verify or has no entry
  /// function (@main, or the only function there is).
  static Result<std::unique_ptr<Program>> Load(std::string_view stablehlo);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// The module's name, or "main".
  const std::string& name() const;
  /// Dynamic extents are -1; tokens have dtype kToken. Quantized arrays have their storage type.
  const std::vector<Shape>& inputs() const;
  const std::vector<Shape>& outputs() const;

  /// Runs the entry function. Threads may share a Program. Never changes `args`, whose bytes must not change meanwhile;
  /// results may share bytes with them. INVALID_ARGUMENT when args do not fit inputs(), UNIMPLEMENTED naming an
  /// operation that is not there.
  Result<std::vector<Value>> Run(std::span<const Value> args, const RunOptions& options = {}) const;

 private:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::reference
