#pragma once

// Walks StableHLO and writes the graph.

#include <optional>
#include <unordered_map>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tenon/compiler/import/types.h"
#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// A send or recv between a device and its host.
bool IsHostTransfer(mlir::Operation* op);

/// Writes a verified module's main function, and what it calls, into an empty program.
class Importer {
 public:
  Importer(mlir::ModuleOp module, Program& program) : module_(module), p_(program) {}
  Status Run();

 private:
  Status ImportSignature(mlir::func::FuncOp main);
  Status ImportInto(mlir::Block& from, Block& to);
  Status ImportOp(mlir::Operation* op, Block& to);
  Status ImportRegion(mlir::Region& region, GraphNode& node);
  Status ImportInlined(mlir::Region& region, mlir::ValueRange operands, mlir::ResultRange results, Block& to);
  Status ImportStablehlo(mlir::Operation* op, llvm::StringRef name, Block& to);
  Status ImportStructured(mlir::Operation* op, OpCode kind, Block& to);
  Status ImportComposite(mlir::Operation* op, Block& to);
  Status ImportCustomCall(mlir::Operation* op, Block& to);
  /// A send or recv; false when it is between devices.
  Result<bool> ImportHostTransfer(mlir::Operation* op, Block& to);
  Status ImportApproxTopK(mlir::Operation* op, Block& to);
  Ref Zeros(Shape shape, Block& to);
  Status ImportZeros(mlir::Value result, Block& to);
  /// Collectives of a single participant are the identity.
  Result<bool> ImportSingleDevice(mlir::Operation* op, llvm::StringRef name, Block& to);
  /// False when it is something else, or over other types.
  Result<bool> ImportLinalg(mlir::Operation* op, Block& to);
  /// False when the comparator is more than keys; then nothing is imported.
  Result<bool> ImportSort(mlir::Operation* op, Block& to);
  /// The value of a bitcast to a type of another width; nothing for types that stay with the evaluator.
  std::optional<Ref> ResizingBitcast(Ref x, const Shape& to, Block& block);
  Status ImportOpaque(mlir::Operation* op, Block& to);
  Status Identity(mlir::Operation* op);

  /// As LiteralOf. One copy for all constants of one value, however often calls repeat them.
  std::optional<Literal> SharedLiteralOf(mlir::Attribute value);
  Result<Ref> Get(mlir::Value v);
  /// The arrays that a value is, which may be a tuple: added to `to`; taken from `leaves`, and how many those were.
  Status AddLeaves(mlir::Value v, std::vector<Ref>& to);
  size_t SetLeaves(mlir::Value v, const Ref* leaves);
  /// A node with the op's operands and result shapes; kNoNode inside means an error.
  Result<GraphNode> Start(mlir::Operation* op, OpCode kind);
  NodeId Finish(mlir::Operation* op, GraphNode node, Block& to);
  Status Where(mlir::Operation* op, Status status);

  mlir::ModuleOp module_;
  Program& p_;
  llvm::DenseMap<mlir::Value, Ref> values_;
  llvm::DenseMap<mlir::Value, std::vector<Ref>> tuples_;  // Their arrays, those of tuples inside in their place.
  llvm::DenseMap<mlir::Attribute, std::optional<Literal>> literals_;
  llvm::StringMap<mlir::func::FuncOp> functions_;
  int depth_ = 0;
  int described_ = 0;
  int64_t inlined_ = 0;
};

}  // namespace tenon::compiler
