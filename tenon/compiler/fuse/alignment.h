#pragma once

/// How the dims of values lie in the space of a kernel.

#include <cstdint>

#include "tenon/base/small_vector.h"
#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// For each dim of a value: which dim of the kernel's space it follows exactly, or -1.
using Alignment = SmallVector<int8_t, 6>;

/// A value that has the whole space.
Alignment IdentityAlignment(size_t rank);
/// Nothing is known.
Alignment NoAlignment(size_t rank);
/// How operand `operand` of `user` lies where the result lies as `result` says.
Alignment AlignmentBelow(const Program& program, const GraphNode& user, uint32_t operand, const Alignment& result);
/// Keeps what both say.
void Meet(Alignment& a, const Alignment& b);

}  // namespace tenon::compiler
