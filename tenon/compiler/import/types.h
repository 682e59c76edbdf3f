#pragma once

// MLIR types and literals as Tenon's.

#include <optional>
#include <vector>

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "tenon/base/shape.h"
#include "tenon/compiler/ir/ir.h"
#include "tenon/dialect/stablehlo/element_type.h"

namespace tenon::compiler {

using stablehlo::ElementTypeOf;
/// The shape of a static tensor, or of a token. UNIMPLEMENTED for others, naming the type.
Result<Shape> ShapeOf(mlir::Type type);
/// Elements in Tenon's form: pred and narrow types one byte each. Nothing for literals of types that have none.
std::optional<Literal> LiteralOf(mlir::Attribute value);
Dims DimsOf(mlir::Attribute list);
/// The layouts that a call names in that attribute, minor to major, one per operand or result; none: it names none.
std::vector<Dims> LayoutsOf(mlir::Operation* call, llvm::StringRef name);

}  // namespace tenon::compiler
