#pragma once

/// What one kernel may hold. Everything that decides what goes into a kernel asks here, so that nothing that was
/// decided fails later: clusters while they are formed, the maker while it adds loops, native loops and scatters before
/// they start. The numbers stand in target::KernelLimits, those of the kernel format itself in kir.

#include <cstdint>

#include "tenon/compiler/ir/ir.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// A kernel in the making, as far as it is known.
struct KernelContents {
  int64_t members = 0;  ///< Nodes computed inside.
  int64_t cost = 0;     ///< Sum of their costs.
  int64_t dims = 0;     ///< Loops of all stages: extents other than one.
  int64_t outputs = 0;  ///< Values stored.
};

/// Whether a kernel may hold so much.
bool MayHold(const KernelContents& contents, const target::KernelLimits& limits);

/// Extents that become loops.
int64_t LoopsOf(const Dims& extents);

/// Whether every array of the node has few enough dims, and it has few enough parts and its regions few enough values,
/// to stand in a kernel.
bool FitsKernels(const Program& program, const GraphNode& node);

}  // namespace tenon::compiler
