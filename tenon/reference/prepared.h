#pragma once

// A module made ready to run: every operation with its handler and its kernel, every SSA value with a slot in its
// function's frame, and the place of each value's last use, so that arrays are freed (or changed in place) as early as
// possible.

#include <memory>
#include <string>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tenon/reference/kernels.h"
#include "tenon/reference/value.h"

namespace tenon::reference {

struct OpContext;
class ScalarBody;
/// Computes the results of an operation from its operands.
using OpHandler = Status (*)(OpContext& context);

struct Step {
  struct Use {
    int slot;
    bool last;  // nobody reads the slot afterwards: the value may be moved out
  };
  mlir::Operation* op = nullptr;
  OpHandler handler = nullptr;  // null: no such operation; running it is UNIMPLEMENTED
  Kernel kernel;                // of elementwise operations
  Value constant;               // of constants
  std::vector<Use> operands;
  std::vector<int> results;  // slots; -1 for results that nobody reads
  std::vector<int> dead;     // slots to clear after the step
};

struct PreparedBlock {
  std::vector<int> arguments;  // slots; -1 for those that nobody reads
  std::vector<DType> argument_types;
  std::vector<Step> steps;  // without the terminator
  std::vector<Step::Use> returned;
  std::vector<DType> returned_types;
  std::shared_ptr<const ScalarBody> scalar;  // when the block is a function on scalars, elementwise throughout
};

struct PreparedFunction {
  std::string name;
  int num_slots = 0;
  const PreparedBlock* body = nullptr;
};

/// Everything a run reads; it never changes once made, and threads may share it. Refers to the MLIR module, which must
/// outlive it.
class PreparedModule {
 public:
  /// Prepares every function with a body. Fails only for constants that cannot be read.
  static Result<std::unique_ptr<PreparedModule>> Make(mlir::ModuleOp module);

  /// Null when there is none.
  const PreparedFunction* Find(llvm::StringRef name) const;
  const PreparedBlock& Block(mlir::Region& region) const { return *blocks_.find(&region.front())->second; }

 private:
  friend class Preparer;
  llvm::StringMap<PreparedFunction> functions_;
  llvm::DenseMap<mlir::Block*, std::unique_ptr<PreparedBlock>> blocks_;
};

}  // namespace tenon::reference
