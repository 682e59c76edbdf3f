#pragma once

// Where temporaries lie, so that those that live at the same time do not overlap.

#include <cstdint>
#include <vector>

namespace tenon::compiler {

/// A piece of memory that is in use from position `begin` to position `end`, both included.
struct Life {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t bytes = 0;   ///< A multiple of the alignment.
  int64_t offset = 0;  ///< What PlaceLives finds.
};

/// Sets the offsets and returns the size of the arena. Positions lie in [0, length). Large pieces come first, each in
/// the tightest gap between those that live at the same time. That costs a look at every such neighbour; where
/// neighbours are so many that looking at them all would not be near-linear, what remains (the smallest pieces) is
/// placed above the others in the order of time, each in the tightest free block: n log n.
int64_t PlaceLives(std::vector<Life>& lives, int32_t length);

}  // namespace tenon::compiler
