#pragma once

#include <cstddef>
#include <vector>

#include "tenon/kernels/conv/conv.h"

namespace tenon::kernels::internal {

/// One array as it lies in two places: strides in bytes.
struct Relay {
  Dims dims, outside, inside;
};

/// Outputs whose windows meet a dilated input at the same elements of the window: a convolution of the undilated input
/// with those elements. Its weights are packed first, and its results may be made elsewhere, before they go to where
/// they belong. Offsets in bytes.
struct Phase {
  ConvSignature s;      ///< Of the packed weights; of the results as they are made.
  bool empty = false;   ///< No window meets an element: the results are 0.
  bool staged = false;  ///< The results are made elsewhere, densely.
  Relay weights, results;
  int64_t weight_offset = 0, packed_offset = 0, out_offset = 0;
};

/// The phases of a convolution, and the bytes that all packed weights and the largest staged results take.
struct Phases {
  std::vector<Phase> list;
  int64_t packed_bytes = 0, staged_bytes = 0;
};

/// Whether some dimension's input is dilated and every output looks at it.
bool HasPhases(const ConvSignature& s);
/// Of such a signature; weights in any order.
Phases PhasesOf(const ConvSignature& s);

void PackWeights(const Phase& phase, const void* weights, std::byte* packed);
/// The results of a phase that is staged, from there, or empty.
void StoreResults(const Phase& phase, const std::byte* staged, void* out);

}  // namespace tenon::kernels::internal
