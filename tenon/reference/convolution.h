#pragma once

#include "tenon/reference/attributes.h"
#include "tenon/reference/value.h"

namespace tenon::reference {

/// What a convolution's attributes say; lists have one entry per spatial dimension.
struct ConvSpec {
  ConvDims dims;
  Dims strides, low, high, lhs_dilation, rhs_dilation, reversed;
  int64_t feature_groups = 1, batch_groups = 1;
};

/// `padding`: low and high per spatial dimension, one after the other.
ConvSpec ConvSpecOf(mlir::Operation* op, const Dims& padding);

/// The result with its own dimension order, elements in the accumulation type.
Result<Value> Convolve(const Value& lhs, const Value& rhs, const ConvSpec& spec, DType result);

}  // namespace tenon::reference
