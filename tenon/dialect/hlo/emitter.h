#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"
#include "tenon/base/status.h"
#include "tenon/dialect/hlo/module.h"

namespace tenon::hlo {

/// The leaves of an HLO value, in order.
using Values = llvm::SmallVector<mlir::Value, 1>;

inline llvm::StringRef Ref(std::string_view s) { return {s.data(), s.size()}; }

/// Writes one module. Every Emit* appends at the builder's insertion point.
class Emitter {
 public:
  Emitter(const Module& module, mlir::MLIRContext* context) : module_(module), b_(context) {}
  Result<mlir::OwningOpRef<mlir::ModuleOp>> Run();

 private:
  /// One instruction being written.
  struct At {
    const Instruction& i;
    const Computation& computation;
    const std::vector<Values>& values;  ///< Of the whole computation.
    mlir::Location loc;
    bool in_scalar_region;  ///< Calls must be inlined here.

    const Values& in(size_t n) const { return values[i.operands[n]]; }
    const Shape& shape(size_t n) const { return computation.instructions[i.operands[n]].shape; }
    const Extras& x() const { return i.extras(); }
  };
  using Attrs = std::initializer_list<std::pair<llvm::StringRef, mlir::Attribute>>;
  using Handler = Result<Values> (Emitter::*)(const At&);
  static const std::unordered_map<std::string_view, Handler>& Handlers();

  // --- Structure (emitter.cc)
  Status EmitEntry();
  Result<Values> EmitBody(const Computation& c, const Values& args, bool in_scalar_region);
  Result<Values> EmitInstruction(const At& at);
  Result<llvm::StringRef> Function(uint32_t computation);
  /// A region of `op` that holds computation `c`; its block has an argument per leaf, or takes `captured` from outside.
  Status FillRegion(mlir::Region& region, const Computation& c, mlir::Location loc, bool in_scalar_region,
                    const Values* captured = nullptr);
  Result<Values> Call(const At& at, uint32_t computation, const Values& args);
  mlir::Location LocationOf(const Instruction& i);

  // --- Types and attributes (emit_types.cc)
  Result<mlir::Type> ElementOf(int32_t type);
  Result<mlir::RankedTensorType> TensorOf(const Shape& shape);
  Status LeafTypes(const Shape& shape, llvm::SmallVectorImpl<mlir::Type>& types);
  Result<Values> EmitLiteral(const Literal& literal, const Shape& shape, mlir::Location loc);
  mlir::Value Zero(mlir::RankedTensorType type, mlir::Location loc);
  mlir::Attribute Array(const std::vector<int64_t>& values) { return b_.getDenseI64ArrayAttr(values); }
  mlir::Attribute I64(int64_t v) { return b_.getI64IntegerAttr(v); }
  mlir::Attribute Matrix(const std::vector<std::vector<int64_t>>& rows, size_t columns);
  mlir::Attribute Padding(const std::vector<WindowDim>& window);
  mlir::Attribute AccuracyOf(const Extras& x);
  mlir::Attribute PrecisionOf(const Extras& x);
  Result<mlir::Attribute> ParseDictionary(std::string_view text);
  mlir::Attribute TextDictionary(const TextMap& map);

  /// Makes an op; counts it against the limit on ops (checked by EmitInstruction).
  mlir::Operation* Make(mlir::Location loc, llvm::StringRef name, mlir::ValueRange operands, mlir::TypeRange types,
                        Attrs attrs = {}, unsigned regions = 0);
  /// An op with operands of the instruction and a result per leaf of its shape.
  Result<mlir::Operation*> MakeLike(const At& at, llvm::StringRef name, Attrs attrs = {}, unsigned regions = 0);
  Values Results(mlir::Operation* op) { return Values(op->result_begin(), op->result_end()); }
  Values Operands(const At& at, size_t from = 0, size_t to = SIZE_MAX);

  Status Wants(const At& at, size_t operands) const;
  Status WantsCalled(const At& at, size_t computations) const;
  /// The operand's tensor type; null when it is a token.
  static mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::dyn_cast<mlir::RankedTensorType>(v.getType()); }

  // --- Handlers
  Result<Values> Plain(const At& at);
  Result<Values> Accurate(const At& at);
  Result<Values> Function1(const At& at);  // CHLO
  Result<Values> AddOrOr(const At& at);
  Result<Values> Compare(const At& at);
  Result<Values> ReducePrecision(const At& at);
  Result<Values> Identity(const At& at);
  Result<Values> Unsupported(const At& at);
  Result<Values> Constant(const At& at);
  Result<Values> Tuple(const At& at);
  Result<Values> GetTupleElement(const At& at);
  Result<Values> Iota(const At& at);
  Result<Values> Broadcast(const At& at);
  Result<Values> Permutation(const At& at);
  Result<Values> Concatenate(const At& at);
  Result<Values> Slice(const At& at);
  Result<Values> DynamicSlice(const At& at);
  Result<Values> Pad(const At& at);
  Result<Values> Gather(const At& at);
  Result<Values> Scatter(const At& at);
  Result<Values> Dot(const At& at);
  Result<Values> RaggedDot(const At& at);
  Result<Values> Convolution(const At& at);
  Result<Values> Fft(const At& at);
  Result<Values> Cholesky(const At& at);
  Result<Values> TriangularSolve(const At& at);
  Result<Values> BatchNorm(const At& at);
  Result<Values> Rng(const At& at);
  Result<Values> RngBits(const At& at);
  Result<Values> TopK(const At& at);
  Result<Values> Bitcast(const At& at);
  Result<Values> GetDimensionSize(const At& at);
  Result<Values> Barrier(const At& at);
  Result<Values> AfterAll(const At& at);
  Result<Values> Reduce(const At& at);
  Result<Values> ReduceWindow(const At& at);
  Result<Values> SelectAndScatter(const At& at);
  Result<Values> Sort(const At& at);
  Result<Values> Map(const At& at);
  Result<Values> While(const At& at);
  Result<Values> Conditional(const At& at);
  Result<Values> CallOp(const At& at);
  Result<Values> CustomCall(const At& at);
  Result<Values> AllReduce(const At& at);
  Result<Values> AllGather(const At& at);
  Result<Values> ReduceScatter(const At& at);
  Result<Values> AllToAll(const At& at);
  Result<Values> CollectivePermute(const At& at);
  Result<Values> CollectiveBroadcast(const At& at);
  Result<Values> DeviceId(const At& at);
  Result<Values> AsyncStart(const At& at);
  Result<Values> AsyncDone(const At& at);

  /// Starts are tuples (operands, results, contexts...): fills in what is not a result.
  Result<Values> StartTuple(const At& at, Values operands, Values results);
  llvm::SmallVector<mlir::NamedAttribute> GroupAttributes(const At& at, bool global_ids);
  void Set(mlir::Operation* op, llvm::ArrayRef<mlir::NamedAttribute> attrs);

  const Module& module_;
  mlir::OpBuilder b_;
  mlir::ModuleOp target_;
  std::unordered_map<uint32_t, std::string> functions_;
  std::unordered_map<std::string, int> names_;
  int64_t ops_ = 0, max_ops_ = 0;
};

}  // namespace tenon::hlo
