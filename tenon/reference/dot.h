#pragma once

#include "tenon/reference/attributes.h"
#include "tenon/reference/value.h"

namespace tenon::reference {

/// The type in which `terms` products for an element of type `result` are summed. Floats of 32 bits or less: f32 as
/// XLA's CPU backend does, but f64 where the sum is so long that the order of its terms would show more than the
/// products. Integers: 64 bits, whose low ones are exact. bool: or of ands.
DType AccumulationType(DType result, int64_t terms);
/// An operand of a product in `accumulation`, with the rules of convert.
Result<Value> AsFactor(const Value& operand, DType result, DType accumulation);

/// Batch dimensions, then the free dimensions of lhs, then those of rhs; elements in the accumulation type.
Result<Value> DotGeneral(const Value& lhs, const Value& rhs, const DotDims& dims, DType result);

}  // namespace tenon::reference
