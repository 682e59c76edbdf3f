#pragma once

/// What an elementwise op means in KIR nodes.

#include "tenon/base/status.h"
#include "tenon/compiler/ir/ir.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

/// A value of one element: complex ones are two nodes.
struct Scalar {
  kir::Val re = kir::kNone;
  kir::Val im = kir::kNone;
  friend bool operator==(const Scalar&, const Scalar&) = default;
};

/// The type of a scalar's parts.
DType PartType(DType type);

/// Whether kernels can hold this type and compute this node; what cannot goes to the evaluator.
bool KernelCanHold(DType type);
/// The same on the program's target, which may lack some types.
bool KernelCanHold(const Program& program, DType type);
/// The type in which elements of this one move on the target without being understood: f16 and narrower floats change
/// some NaNs otherwise. Complex types are themselves.
DType MovedAs(const Program& program, DType type);
bool KernelCanCompute(const Program& program, const GraphNode& node);
/// Rough cycles per 16 elements, as in kir/scalar.def.
int CostOf(const Program& program, const GraphNode& node);

/// The value of an elementwise `node` for which KernelCanCompute, from the values of its operands.
Scalar EmitElementwise(kir::NodeBuilder& b, const Program& program, const GraphNode& node,
                       const SmallVector<Scalar, 3>& in);

/// The literal's element `index` (any when it is a splat).
Scalar EmitLiteral(kir::NodeBuilder& b, DType type, const Literal& literal, int64_t index);

}  // namespace tenon::compiler
