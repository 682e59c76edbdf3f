#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "tenon/base/dtype.h"

namespace tenon::stablehlo {

/// kInvalid for types that have no number here (quantized ...).
DType ElementTypeOf(mlir::Type type);

}  // namespace tenon::stablehlo
