#pragma once

/// Which form a loop of few elements takes: all of them in registers, reckoned one by one, or arrays in the nearest
/// cache, in the lanes of vectors.

#include "tenon/compiler/ir/ir.h"
#include "tenon/kir/kir.h"

namespace tenon::compiler {

/// Whether a trip of the while node `loop` is clearly faster over arrays than as `written_out`, the kernel of it in
/// which every element is a value of its own. Estimates: what they decide decides bits, so they know no machine.
bool RunsInLanes(const Program& program, const GraphNode& loop, const kir::Kernel& written_out);

}  // namespace tenon::compiler
