#pragma once

// Runs prepared blocks. One Evaluator serves one run on one thread.

#include <span>
#include <vector>

#include "tenon/reference/prepared.h"
#include "tenon/reference/reference.h"
#include "tenon/reference/types.h"

namespace tenon::reference {

/// The values of one call of a function: its slots.
using Frame = std::vector<Value>;

class Processes;

class Evaluator {
 public:
  /// `processes`: where this process meets the others; null when it runs alone.
  Evaluator(const PreparedModule& module, const RunOptions& options, uint64_t caller_float_environment,
            Processes* processes = nullptr)
      : module_(module),
        options_(options),
        caller_float_environment_(caller_float_environment),
        processes_(processes) {}

  Result<std::vector<Value>> Call(const PreparedFunction& function, std::vector<Value> args);
  /// Runs a block on `args`, which become its block arguments, in the frame of its function.
  Result<std::vector<Value>> RunBlock(const PreparedBlock& block, Frame& frame, std::vector<Value> args);
  /// CANCELLED when the caller of the run wants so.
  Status CheckCancelled() const;

  const PreparedModule& module() const { return module_; }
  const RunOptions& options() const { return options_; }
  Processes* processes() const { return processes_; }
  /// Calls a handler in the floating-point environment of the caller of the run.
  Result<std::optional<std::vector<Value>>> CallHandler(const CustomCall& call) const;

 private:
  Status RunStep(const Step& step, Frame& frame);

  const PreparedModule& module_;
  const RunOptions& options_;
  uint64_t caller_float_environment_;
  Processes* processes_;
  int depth_ = 0;
  bool located_ = false;  // the error on its way up already names its operation
};

/// What a handler sees. `operands` may be moved from; `results` must get one value per result.
struct OpContext {
  Evaluator& evaluator;
  const Step& step;
  mlir::Operation* op;
  std::span<Value> operands;
  Frame& frame;
  std::vector<Value>& results;

  const Value& in(size_t i) const { return operands[i]; }
  /// Element type and extents that the IR states for result i.
  Shape result_shape(size_t i = 0) const { return ShapeOf(op->getResult(static_cast<unsigned>(i)).getType()); }
  mlir::Region& region(unsigned i) const { return op->getRegion(i); }
  const PreparedBlock& block(unsigned i) const { return evaluator.module().Block(op->getRegion(i)); }
  Status Return(Value value) const {
    results.push_back(std::move(value));
    return OkStatus();
  }
};

/// INVALID_ARGUMENT unless operands first .. first + count - 1 have the same extents: verified for static shapes, not
/// for dynamic ones.
Status CheckSameDims(const OpContext& context, size_t first, size_t count);

/// An array whose extents the IR must state: UNIMPLEMENTED when one is dynamic.
Result<Value> AllocateResult(const OpContext& context, size_t i = 0);

struct OpEntry {
  std::string_view name;  // "stablehlo.add"
  OpHandler handler;
};

/// The handler of an operation that is not elementwise; null when there is none.
OpHandler FindHandler(std::string_view name);
/// The handler of every elementwise operation: runs step.kernel over whole arrays.
Status RunElementwise(OpContext& context);
/// The same for select, whose predicate may be a scalar.
OpHandler SelectHandler();
/// bitcast_convert between types of different widths.
OpHandler BitcastHandler();

// The families of operations; registry.cc puts them together.
std::span<const OpEntry> ControlOps();
std::span<const OpEntry> MovementOps();
std::span<const OpEntry> SliceOps();
std::span<const OpEntry> DynamicOps();
std::span<const OpEntry> ReduceOps();
std::span<const OpEntry> WindowOps();
std::span<const OpEntry> GatherScatterOps();
std::span<const OpEntry> SortOps();
std::span<const OpEntry> DotOps();
std::span<const OpEntry> RaggedDotOps();
std::span<const OpEntry> ConvolutionOps();
std::span<const OpEntry> LinalgOps();
std::span<const OpEntry> NormalizationOps();
std::span<const OpEntry> FftOps();
std::span<const OpEntry> RngOps();
std::span<const OpEntry> ProcessOps();
std::span<const OpEntry> CollectiveOps();
std::span<const OpEntry> CustomCallOps();
std::span<const OpEntry> ChloOps();
std::span<const OpEntry> QuantizedOps();

}  // namespace tenon::reference
