#pragma once

/// How many operations a program asks for, as users of cost analyses count them.

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

struct OperationCount {
  double flops = 0;            ///< Arithmetic, comparisons and choices; products count two, of complex numbers eight.
  double transcendentals = 0;  ///< Roots, exponentials, logarithms, trigonometry; not among the flops.
};

/// Of one run of the program. Bodies of loops count once, since nobody may know their trips; of branches the larger.
/// Moving elements and changing their type are no operations. What calls and ops without a form here do is not counted.
OperationCount CountOperations(const Program& program);

}  // namespace tenon::compiler
