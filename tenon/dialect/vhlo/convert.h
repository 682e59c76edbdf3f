#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/OperationSupport.h"
#include "tenon/base/status.h"
#include "tenon/vhlo/table.h"

namespace tenon::vhlo {

/// Adds to `out` the StableHLO attributes that `values` (one per op.attrs, in that order, none null) stand for:
/// defaults are left out, structured attributes put together, forms of an older version brought up to date.
/// INVALID_ARGUMENT names the attribute that is not of its kind.
Status ToStablehlo(const Op& op, llvm::ArrayRef<mlir::Attribute> values, mlir::NamedAttrList& out);

/// The other way: the values for op.attrs from a StableHLO (or func) operation. INVALID_ARGUMENT when the operation
/// says something that this form cannot, as a batching dimension in gather_v1.
Status FromStablehlo(mlir::Operation* operation, const Op& op, llvm::SmallVectorImpl<mlir::Attribute>& values);

}  // namespace tenon::vhlo
