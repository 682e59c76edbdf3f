#pragma once

/// Products of matrices, whatever they are spelled as.

#include <optional>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// dot_general(in[0], in[1]) with these numbers, then a transpose.
struct ProductForm {
  Ref in[2];
  DotAttrs numbers;
  Shape product;     ///< Of the dot.
  Dims permutation;  ///< Of its dims, per dim of the value.
};
/// The value as a product: a dot_general, a multiplication of two values that are spread along dims of each other, or a
/// sum of such multiplications. Its terms may meet in another order.
std::optional<ProductForm> ProductFormOf(const Program& program, Ref value);

}  // namespace tenon::compiler
