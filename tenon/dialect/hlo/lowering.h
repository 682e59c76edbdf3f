#pragma once

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "tenon/base/status.h"
#include "tenon/dialect/hlo/module.h"

namespace tenon::hlo {

/// Writes StableHLO as HLO: the opposite of Emitter.
class Lowering {
 public:
  explicit Lowering(mlir::ModuleOp module) : source_(module) {}
  Result<Module> Run();

 private:
  using Captures = llvm::SetVector<mlir::Value>;
  /// A computation being written, with the instruction of each value.
  struct Body {
    Computation computation;
    llvm::DenseMap<mlir::Value, uint32_t> values;
  };
  using Handler = Status (Lowering::*)(Body&, mlir::Operation*);
  static const std::unordered_map<std::string_view, Handler>& Handlers();

  // --- Structure (lowering.cc)
  Result<uint32_t> Function(mlir::func::FuncOp function, bool entry);
  /// A computation of `block`. Its parameters are the block's arguments, or with `tupled` one tuple of them and of
  /// `captures`, which are the values from outside that it uses. Its root holds what the block returns, and with
  /// `pass_on` the captures too.
  struct Form {
    bool tupled = false, pass_on = false;
    const Captures* captures = nullptr;
  };
  Result<uint32_t> Region(mlir::Block& block, std::string_view name, const Form& form);
  /// A region whose block arguments are scalars; constants from outside are made again inside.
  Result<uint32_t> ScalarRegion(mlir::Region& region, std::string_view name);
  Status Block(Body& body, mlir::Block& block);
  Status Op(Body& body, mlir::Operation* op);
  Status Finish(Body& body, const std::vector<uint32_t>& results, bool force_tuple);
  uint32_t Add(Computation computation);
  /// Values used in `region` and made outside of it, constants left out.
  static void Collect(mlir::Region& region, Captures& captures);

  // --- Instructions
  Result<Shape> ShapeOf(mlir::Type type);
  Result<Shape> ShapeOf(mlir::TypeRange types);
  Instruction New(std::string_view opcode, Shape shape);
  uint32_t Append(Body& body, Instruction i);
  Result<uint32_t> ValueOf(Body& body, mlir::Value v);
  Result<std::vector<uint32_t>> OperandsOf(Body& body, mlir::Operation* op);
  /// An instruction of the op's operands and result types.
  Result<Instruction> Like(Body& body, mlir::Operation* op, std::string_view opcode);
  /// Appends `i` and makes it the op's result, or each member of it one of the results.
  Status Bind(Body& body, mlir::Operation* op, Instruction i);
  uint32_t Tuple(Body& body, const std::vector<uint32_t>& members);
  uint32_t Element(Body& body, uint32_t tuple, int64_t index);
  Result<uint32_t> Broadcast(Body& body, uint32_t operand, const Shape& shape);
  Result<uint32_t> Constant(Body& body, mlir::Attribute value, mlir::Type type);
  static std::vector<int64_t> IntsOf(mlir::Operation* op, llvm::StringRef name);
  static bool FlagOf(mlir::Operation* op, llvm::StringRef name);
  static int64_t IntOf(mlir::Operation* op, llvm::StringRef name, int64_t otherwise = 0);
  Status SetGroups(mlir::Operation* op, Extras& x);
  static void SetPrecision(mlir::Operation* op, Extras& x);
  Status SetWindow(mlir::Operation* op, Extras& x, llvm::StringRef sizes, llvm::StringRef base,
                   llvm::StringRef dilation, size_t rank);

  // --- Handlers (lower_*.cc)
  Status Plain(Body& body, mlir::Operation* op);
  Status Square(Body& body, mlir::Operation* op);
  Status Logical(Body& body, mlir::Operation* op);
  Status Accurate(Body& body, mlir::Operation* op);
  Status Compare(Body& body, mlir::Operation* op);
  Status SelectOrClamp(Body& body, mlir::Operation* op);
  Status ConstantOp(Body& body, mlir::Operation* op);
  Status Identity(Body& body, mlir::Operation* op);
  Status Dimensions(Body& body, mlir::Operation* op);
  Status BroadcastInDim(Body& body, mlir::Operation* op);
  Status Slice(Body& body, mlir::Operation* op);
  Status Pad(Body& body, mlir::Operation* op);
  Status Gather(Body& body, mlir::Operation* op);
  Status Scatter(Body& body, mlir::Operation* op);
  Status Dot(Body& body, mlir::Operation* op);
  Status RaggedDot(Body& body, mlir::Operation* op);
  Status Convolution(Body& body, mlir::Operation* op);
  Status Linalg(Body& body, mlir::Operation* op);
  Status Rng(Body& body, mlir::Operation* op);
  Status GetDimensionSize(Body& body, mlir::Operation* op);
  Status GetTupleElement(Body& body, mlir::Operation* op);
  Status Token(Body& body, mlir::Operation* op);
  Status Barrier(Body& body, mlir::Operation* op);
  Status Reduce(Body& body, mlir::Operation* op);
  Status ReduceWindow(Body& body, mlir::Operation* op);
  Status SelectAndScatter(Body& body, mlir::Operation* op);
  Status Sort(Body& body, mlir::Operation* op);
  Status While(Body& body, mlir::Operation* op);
  Status Conditional(Body& body, mlir::Operation* op);
  Status Call(Body& body, mlir::Operation* op);
  Status CustomCall(Body& body, mlir::Operation* op);
  Status Collective(Body& body, mlir::Operation* op);

  mlir::ModuleOp source_;
  Module module_;
  llvm::DenseMap<mlir::Operation*, uint32_t> functions_;
  std::unordered_map<std::string, int> computation_names_;
  int64_t next_name_ = 0;
  int depth_ = 0;
};

}  // namespace tenon::hlo
