#pragma once

// From MLIR's types and attributes to the evaluator's.

#include <optional>
#include <string>

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "tenon/reference/kernels.h"
#include "tenon/reference/value.h"

namespace tenon::reference {

/// The DType of an element type, a token or a future; the storage type of a quantized one; kInvalid for what has none.
/// `index` is s64.
DType ElementTypeOf(mlir::Type type);

/// Element type and extents of a tensor (-1 where dynamic); dtype kToken for a token; kInvalid for tuples and others.
Shape ShapeOf(mlir::Type type);

/// The array that a dense or dense_resource attribute holds, in the evaluator's form.
Result<Value> ValueOf(mlir::Attribute literal, mlir::Type type);

/// The attribute `name`, inherent or discardable, as integers: from array<i64>, array<i1>, a dense tensor or vector of
/// integers, or an array of integer attributes. `missing` when there is none.
Dims IntsAttr(mlir::Operation* op, llvm::StringRef name, const Dims& missing = {});
int64_t IntAttr(mlir::Operation* op, llvm::StringRef name, int64_t missing = 0);
bool BoolAttr(mlir::Operation* op, llvm::StringRef name, bool missing = false);
std::string StringAttr(mlir::Operation* op, llvm::StringRef name);
double FloatAttr(mlir::Operation* op, llvm::StringRef name, double missing = 0);

/// Integers of an attribute of any of the forms that IntsAttr reads.
Dims IntsOf(mlir::Attribute attribute);

/// The elements of an integer array of any width, as int64 (unsigned 64-bit ones wrap).
Dims IntsOf(const Value& value);

}  // namespace tenon::reference
