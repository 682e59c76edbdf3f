#pragma once

/// Which ops are one KIR operation of the same meaning.

#include "tenon/compiler/ir/ir.h"
#include "tenon/kir/kir.h"

namespace tenon::compiler {

/// The KIR operation that makes the op's result of its operands, all of one type; kir::Op::kConst for ops that are no
/// such operation.
kir::Op KirOpOf(OpCode op);
/// kir::Node::imm of the comparison.
uint8_t KirCompare(const CompareAttrs& attrs);

}  // namespace tenon::compiler
