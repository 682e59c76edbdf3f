#pragma once

#include <optional>

#include "mlir/IR/Operation.h"

namespace tenon::compiler {

/// stablehlo.convert from or to f8E8M0FNU, which is a power of two: by its bits. Nothing for others, and from f64, of
/// which f32 would round once more.
std::optional<mlir::Value> ConvertedScale(mlir::Operation* op);

}  // namespace tenon::compiler
