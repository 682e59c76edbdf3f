#pragma once

// Writes StableHLO ops before an op that they are to replace.

#include <string>
#include <vector>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tenon::compiler {

inline mlir::RankedTensorType TensorOf(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }

class OpWriter {
 public:
  explicit OpWriter(mlir::Operation* op) : b_(op), loc_(op->getLoc()) {}

  mlir::OpBuilder& builder() { return b_; }
  mlir::Type f32() { return b_.getF32Type(); }
  mlir::Type f64() { return b_.getF64Type(); }
  mlir::Type pred() { return b_.getI1Type(); }
  mlir::Type Int(unsigned width) { return b_.getIntegerType(width); }
  mlir::Type Unsigned(unsigned width) { return b_.getIntegerType(width, false); }
  mlir::RankedTensorType Tensor(llvm::ArrayRef<int64_t> dims, mlir::Type element) {
    return mlir::RankedTensorType::get(dims, element);
  }

  /// The one result of an op without regions. `name` with its dialect.
  mlir::Value Op(llvm::StringRef name, mlir::ValueRange operands, mlir::Type type,
                 llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::Value Unary(llvm::StringRef name, mlir::Value x) { return Op(name, x, x.getType()); }
  mlir::Value Binary(llvm::StringRef name, mlir::Value x, mlir::Value y) { return Op(name, {x, y}, x.getType()); }
  mlir::Value Convert(mlir::Value v, mlir::Type element);
  mlir::Value Compare(mlir::Value x, mlir::Value y, llvm::StringRef direction);
  mlir::Value Reshape(mlir::Value v, llvm::ArrayRef<int64_t> dims);
  /// Dim i of v becomes dim `map[i]`.
  mlir::Value Broadcast(mlir::Value v, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> map);
  mlir::Value Slice(mlir::Value v, llvm::ArrayRef<int64_t> start, llvm::ArrayRef<int64_t> limit,
                    llvm::ArrayRef<int64_t> strides);
  mlir::Value Concatenate(mlir::ValueRange parts, int64_t dimension);
  mlir::Value Iota(mlir::RankedTensorType type, int64_t dimension);
  /// One number for all elements, or one for each in row-major order. Integers are those of two's complement.
  mlir::Value Floats(mlir::RankedTensorType type, llvm::ArrayRef<double> numbers);
  mlir::Value Ints(mlir::RankedTensorType type, llvm::ArrayRef<uint64_t> numbers);
  /// Floats, or Ints of whole numbers, as the type wants.
  mlir::Value Numbers(mlir::RankedTensorType type, llvm::ArrayRef<double> numbers);
  /// The sum over some dims, from zero.
  mlir::Value Sum(mlir::Value v, llvm::ArrayRef<int64_t> dimensions);

  mlir::NamedAttribute Attribute(llvm::StringRef name, mlir::Attribute value) { return b_.getNamedAttr(name, value); }
  mlir::NamedAttribute List(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    return b_.getNamedAttr(name, b_.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute Number(llvm::StringRef name, int64_t value) {
    return b_.getNamedAttr(name, b_.getI64IntegerAttr(value));
  }

 private:
  mlir::OpBuilder b_;
  mlir::Location loc_;
};

/// The upper half of a product of integers: of twice as wide numbers, or, of 64 bits, from products of halves.
mlir::Value HighProduct(OpWriter& w, mlir::Value x, mlir::Value y);

}  // namespace tenon::compiler
