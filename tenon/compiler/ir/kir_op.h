#pragma once

/// Which ops are one KIR operation, or one of its math functions, of the same meaning.

#include <string_view>

#include "tenon/compiler/ir/ir.h"
#include "tenon/kir/kir.h"

namespace tenon::compiler {

/// The KIR operation that makes the op's result of its operands, all of one type; kir::Op::kConst for ops that are no
/// such operation.
kir::Op KirOpOf(OpCode op);
/// The node of an elementwise op that is one KIR operation, without its operands; kir::Op::kConst for other ops.
kir::Node KirNodeOf(const GraphNode& node);
/// The math function (kir/math.h) behind an elementwise op, without its type and version; empty for none.
std::string_view MathFunction(const GraphNode& node);
/// kir::Node::imm of the comparison.
uint8_t KirCompare(const CompareAttrs& attrs);

/// Whether the comparison holds of two numbers.
template <class T>
bool Holds(kir::Cmp direction, T a, T b) {
  switch (direction) {
    case kir::kEq:
      return a == b;
    case kir::kNe:
      return a != b;
    case kir::kLt:
      return a < b;
    case kir::kLe:
      return a <= b;
    case kir::kGt:
      return a > b;
    case kir::kGe:
      return a >= b;
  }
  return false;
}

}  // namespace tenon::compiler
