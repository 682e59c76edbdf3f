#pragma once

#include "tenon/kir/kir.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// Lets the kernel go through short dims in the way that takes the least time (lane_cost.h): all of their points at
/// once, in vectors that registers put together, those last then that lie side by side in what is stored and those that
/// do in what is read; or written out (short_dims.h); or as they are. The bits remain. All sizes are baked. Returns
/// whether dims were written out.
bool ArrangeShortDims(kir::Kernel& kernel, const target::Target& target);

/// Puts the dims last that a tile takes; false where there is none that takes less time than any dim in lanes.
bool TileShortDims(kir::Kernel& kernel, const target::Target& target);

}  // namespace tenon::compiler
