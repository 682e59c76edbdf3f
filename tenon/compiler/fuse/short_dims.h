#pragma once

#include <optional>

#include "tenon/kir/kir.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// Writes short dims out, where the lanes of a longer dim then do the work in less time (lane_cost.h): what depends on
/// the dim is computed for each of its places, selects and guards that ask for the place are answered, reductions over
/// it become plain operations in their stated order, and what stages handed on in local rows stays a value. The bits
/// remain. All sizes are baked. Returns whether the kernel changed.
bool WriteOutShortDims(kir::Kernel& kernel, const target::Target& target);

/// The kernel with these inner dims written out, whatever it costs, with the same buffers and no split; nothing where
/// they cannot be: sums in lanes over several dims of which some are left, combiners of several operations, stores that
/// combine or may meet, reads of what the kernel writes, loops.
std::optional<kir::Kernel> WrittenOut(const kir::Kernel& kernel, kir::DimMask dims);

}  // namespace tenon::compiler
