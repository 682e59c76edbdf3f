#pragma once

// Movements of whole arrays that several families of operations need.

#include "tenon/reference/value.h"

namespace tenon::reference {

/// Dimension d of `operand` becomes dimension where[d] of `dims`; extents of 1 stretch.
Result<Value> BroadcastTo(const Value& operand, const Dims& where, const Dims& dims);
/// Dimension i of the result is dimension permutation[i] of the operand.
Result<Value> Transpose(const Value& operand, const Dims& permutation);
/// As the operation pad: interior first, then the edges, which may be negative.
Result<Value> Pad(const Value& operand, const Value& padding, const Dims& low, const Dims& high, const Dims& interior);
/// The index along `dimension`, converted to the element type.
Result<Value> Iota(const Shape& shape, int64_t dimension);
/// Element by element with the rules of `convert`.
Result<Value> ConvertTo(const Value& operand, DType type);
/// Dimensions start, start + stride ... below limit.
Result<Value> Slice(const Value& operand, const Dims& start, const Dims& limit, const Dims& stride);

}  // namespace tenon::reference
