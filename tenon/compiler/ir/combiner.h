#pragma once

/// What is known of reductions and of the regions by which their elements meet.

#include <cstdint>
#include <optional>

#include "tenon/compiler/ir/ir.h"
#include "tenon/kir/kir.h"

namespace tenon::compiler {

/// The op of a region that is one op of its two arguments, in either order where the op does not mind; kOpaque for
/// others.
OpCode CombinerOp(const Program& program, const Block& block);
/// Whether the region of two arguments and one result can be seen to be the same function with its arguments exchanged.
bool IsSymmetric(const Program& program, const Block& block);
/// A region that is that op of two scalars; attributes of an op that has some are the caller's to set.
Block MakeCombiner(Program& program, OpCode op, DType type);

/// kir::IdentityBits of the op, where it is one of KIR's.
std::optional<uint64_t> IdentityBits(OpCode op, DType type);

/// Whether the node's elements are their places along `dim`, 0, 1, ..., integers of which no two are the same.
bool CountsAlong(const GraphNode& node, int64_t dim);

/// What sums of products of this type are reckoned in; kInvalid for those that no kernel sums.
DType SumTypeOf(DType type);

/// Extents of the dims that a reduce runs over.
Dims ReducedExtents(const Program& program, const GraphNode& reduce);
/// A reduction of so few elements, by so short a combiner, that it is written out as plain operations.
bool IsUnrolledReduce(const Program& program, const GraphNode& node);
/// A reduction that runs as a loop of its own.
bool IsLoopReduce(const Program& program, const GraphNode& node);

}  // namespace tenon::compiler
