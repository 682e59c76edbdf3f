#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tenon/kernels/conv/conv.h"
#include "tenon/kernels/gemm/gemm.h"

namespace tenon::kernels::internal {

inline constexpr int kChannel = -1;  ///< Of the product's k.
inline constexpr int kBatch = -1;    ///< Of places.
inline constexpr int kGroup = -2;

/// One dimension of the product's rows, depth or batch: a spatial one, or one of the names above.
struct Axis {
  int what = 0;
  int64_t extent = 1;
  int64_t stride = 0;  ///< In the operand that decides about the order.
};
using Axes = SmallVector<Axis, 5>;

/// How a convolution maps to a product.
struct Mapping {
  Axes places;   ///< Outermost first: one run in the output.
  Axes depth;    ///< Outermost first: one run in the weights.
  Axes batches;  ///< The product's batch dimensions.
  int64_t place_stride = 1, depth_stride = 1;
  int64_t num_places = 1, num_depth = 1;
  bool places_are_rows = true;  ///< Of the product's A; else columns of B.
  bool valid = false;
};
Mapping MapOf(const ConvSignature& s);
/// Whether the input runs on along the innermost places, and not along the channels.
bool RunsAlongPlaces(const ConvSignature& s, const Mapping& m);
/// From one of a place's or batch's axis to the next, in the input.
int64_t InputStride(const ConvSignature& s, const Axis& axis);

/// A number in the mixed base of some axes, counted up.
struct Count {
  int64_t at[5] = {};

  Count(const Axes& axes, int64_t flat) {
    for (size_t i = axes.size(); i-- > 0 && flat != 0;) {
      at[i] = flat % axes[i].extent;
      flat /= axes[i].extent;
    }
  }
  void Next(const Axes& axes) {
    for (size_t i = axes.size(); i-- > 0;) {
      if (++at[i] < axes[i].extent) break;
      at[i] = 0;
    }
  }
  /// On to the next one at the beginning of the innermost axis.
  void Skip(const Axes& axes) {
    if (axes.empty()) return;
    at[axes.size() - 1] = axes.back().extent - 1;
    Next(axes);
  }
};

/// An input of which every patch is there: itself, or a copy with what windows see around it, of elements as products
/// take them.
struct Laid {
  ConvSignature s;  ///< Of such an input, in which places count from 0.
  Mapping m;
  int64_t bytes = 0;       ///< Of the copy; 0 for none.
  int64_t first_byte = 0;  ///< Without one, where place 0 lies.
  struct Axis {
    int64_t extent = 1;  ///< In the copy: `low` zeros, then `count` elements from `skip` on, then zeros.
    int64_t low = 0, count = 1, skip = 0;
    int64_t in_stride = 0, to_stride = 0;
  };
  SmallVector<Axis, 6> axes = {};  ///< Outermost first.
  /// Places that step over elements of the innermost axis: of `step` elements the first ones lie together, then the
  /// second ones ..., so that places are neighbours. Of no dimension: 1.
  int step_dim = -1;
  int64_t step = 1;
  int64_t step_extent() const { return step == 1 ? axes.back().extent : axes.back().extent / step; }
};

/// Nothing where the kernels do not take such operands, or patches are better packed.
std::optional<Laid> LayOf(const ConvSignature& s, const Mapping& m);
void Lay(const Laid& laid, const void* in, void* to, threads::ThreadPool& pool);
GemmPlaces PlacesOf(const Laid& laid);

/// One array as it lies in two places: strides in bytes.
struct Relay {
  Dims dims, outside, inside;
};

/// Outputs whose windows meet a dilated input at the same elements of the window: a convolution of the undilated input
/// with those elements. Its weights are packed first, and its results may be made elsewhere, before they go to where
/// they belong. Offsets in bytes.
struct Phase {
  ConvSignature s;      ///< Of the packed weights; of the results as they are made.
  bool staged = false;  ///< The results are made elsewhere, densely.
  Relay weights, results;
  int64_t weight_offset = 0, packed_offset = 0, out_offset = 0;
};

/// The phases of a convolution, and the bytes that all packed weights and the largest staged results take.
struct Phases {
  std::vector<Phase> list;
  /// Some outputs are of no phase: their windows meet no element, and they are 0.
  bool leaves_some = false;
  Relay results;             ///< All of them, outside alone.
  int64_t result_bytes = 0;  ///< Of one.
  int64_t packed_bytes = 0, staged_bytes = 0;
};

/// Whether some dimension's input is dilated and every output looks at it.
bool HasPhases(const ConvSignature& s);
/// Of such a signature; weights in any order.
Phases PhasesOf(const ConvSignature& s);

void PackWeights(const Phase& phase, const void* weights, std::byte* packed);
/// The results of a phase that is staged, from there.
void StoreResults(const Phase& phase, const std::byte* staged, void* out);
/// Zeros for all outputs.
void ClearResults(const Phases& phases, void* out, threads::ThreadPool& pool);

}  // namespace tenon::kernels::internal
