#pragma once

/// Loops whose steps are small become one kernel each: nothing is interpreted, looked up or copied between the steps of
/// a trip.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tenon/compiler/fuse/fuse.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// What is known of memory: slots of one place share it, slots of two places never do.
struct LoopMemory {
  std::function<uint32_t(plan::SlotId)> place_of;  ///< A number below the program's number of buffers.
  /// Whether a step outside the loop touches the place, or it is an argument, output or constant.
  std::function<bool(uint32_t)> outlives;
};

/// A loop as one kernel; steps inside it worked on places that do not outlive it in kLocal buffers.
struct LinkedLoop {
  kir::Kernel kernel;
  SmallVector<plan::SlotId, 4> buffers;  ///< As KernelStep::buffers.
  target::Work work;
  std::vector<uint32_t> inner;  ///< Places that need no memory of the plan any more.
};

/// The loop as one kernel that leaves the same bits in everything that outlives it; nothing where a step is no kernel,
/// copy, loop or branch, where kernels are too many or do too much for the time between them to matter, where memory is
/// shared in a way that one kernel cannot have, or where a carry is overwritten before anybody reads it. May add views
/// to `program`. A loop that takes long, or of which nobody knows how long it takes, ends early when the run is
/// cancelled (kir::BufKind::kSignal).
std::optional<LinkedLoop> LinkLoop(const plan::WhileStep& loop, FusedProgram& program, const LoopMemory& memory,
                                   const target::Target& target);

}  // namespace tenon::compiler
