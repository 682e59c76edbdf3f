#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "tenon/dialect/stablehlo/dialect.h"

/// What the ops' checks share. Each function emits an error on `op` that says what was got and what was wanted, and
/// then returns failure. `name` is the attribute, operand or region that the error is about.
namespace tenon::stablehlo {

using Dims = llvm::ArrayRef<int64_t>;

/// True if no value occurs twice.
bool IsUnique(Dims dims);

/// True if the sizes agree or one of them is dynamic.
inline bool AgreeSizes(int64_t a, int64_t b) {
  return a == b || mlir::ShapedType::isDynamic(a) || mlir::ShapedType::isDynamic(b);
}

/// Element type, or the storage and expressed types behind it.
mlir::Type Element(mlir::Value value);
mlir::RankedTensorType Tensor(mlir::Value value);
bool IsQuantized(mlir::Type element);
bool IsPerAxis(mlir::Type element);
/// Expressed type of a quantized type; the type itself otherwise.
mlir::Type Expressed(mlir::Type element);
/// Storage type of a quantized type; the type itself otherwise.
mlir::Type Storage(mlir::Type element);
/// Bits per element; complex numbers count both parts.
int64_t BitWidth(mlir::Type element);

/// True if values of `from` may be accumulated in `to`: same kind of element, not narrower.
bool IsPromotable(mlir::Type from, mlir::Type to);

/// Every dimension in 0 .. rank-1.
llvm::LogicalResult CheckInRange(mlir::Operation* op, llvm::StringRef name, Dims dims, int64_t rank);
llvm::LogicalResult CheckUnique(mlir::Operation* op, llvm::StringRef name, Dims dims);
llvm::LogicalResult CheckAscending(mlir::Operation* op, llvm::StringRef name, Dims dims);
/// As many values as wanted.
llvm::LogicalResult CheckCount(mlir::Operation* op, llvm::StringRef name, int64_t got, int64_t want);
/// Every value >= least.
llvm::LogicalResult CheckAtLeast(mlir::Operation* op, llvm::StringRef name, Dims values, int64_t least);
/// Shape of `value`'s type agrees with `want`.
llvm::LogicalResult CheckShape(mlir::Operation* op, llvm::StringRef name, mlir::Type got, Dims want);

/// The region's block takes arguments of `arguments` and ends in a return of `results`' types (compatible ones).
llvm::LogicalResult CheckRegion(mlir::Operation* op, llvm::StringRef name, mlir::Region& region,
                                mlir::TypeRange arguments, mlir::TypeRange results);
/// Types that the region's block returns; empty if it has no terminator.
mlir::TypeRange ReturnedTypes(mlir::Region& region);

/// A body of a reduction over `inputs`: 2N scalars of types that the inputs' elements may be promoted to, N results
/// of these types. `inits` have the element types of `inputs`. On success `elements` are the body's element types.
llvm::LogicalResult CheckReducer(mlir::Operation* op, llvm::StringRef name, mlir::Region& region,
                                 mlir::ValueRange inputs, mlir::ValueRange inits,
                                 llvm::SmallVectorImpl<mlir::Type>& elements);

/// Axes of quantized operands are the result's: only add takes tensors that are quantized per axis.
llvm::LogicalResult VerifyQuantizedSum(mlir::Operation* op);

/// `precision_config` has at most two entries.
llvm::LogicalResult CheckPrecision(mlir::Operation* op, std::optional<mlir::ArrayAttr> precision);

}  // namespace tenon::stablehlo
