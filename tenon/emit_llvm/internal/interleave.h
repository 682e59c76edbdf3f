#pragma once

/// Elements that lie `stride` apart in memory, in vectors: whole vectors are moved and their lanes change places.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tenon/emit_llvm/internal/analysis.h"

namespace tenon::emit_llvm {

/// Vectors made of vectors. Numbers name vectors: inputs first, then one for each step.
struct LaneNetwork {
  /// Lane i is lane pick[i] of a, or lane pick[i] - lanes of b; -1: it does not matter.
  struct Step {
    int a = 0;
    int b = 0;
    std::vector<int> pick;
  };
  int inputs = 0;
  std::vector<Step> steps;
  std::vector<int> outputs;
};

/// Of `inputs` vectors of consecutive elements, one vector for each of `components` (ascending, from 0 on): lane i is
/// element components[c] + i * stride. The elements end with the last one that is wanted; with `whole` the last vector
/// ends there too (and begins inside of the one before), otherwise it has lanes behind it that nobody looks at.
LaneNetwork Deinterleave(int lanes, int stride, std::span<const int> components, bool whole);
/// Vectors that Deinterleave reads.
int InterleavedVectors(int lanes, int stride, int last_component);
/// Of one vector for each of `stride` components, `stride` vectors of consecutive elements.
LaneNetwork Interleave(int lanes, int stride);

/// A lane of one of several vectors; vector -1: it does not matter.
struct LaneFrom {
  int vector = -1;
  int lane = 0;
};
/// What each lane of the network's outputs is, of its inputs.
std::vector<std::vector<LaneFrom>> LanesOf(const LaneNetwork& network, int lanes);
/// Vectors whose lanes are those of `inputs` vectors, each put together by itself.
LaneNetwork Collected(int lanes, int inputs, const std::vector<std::vector<LaneFrom>>& outputs);
/// The same, where inputs meet two by two for several outputs at once if that takes fewer steps: what goes to
/// neighbouring outputs stays in one vector for as long as it fits.
LaneNetwork CollectedTogether(int lanes, int inputs, const std::vector<std::vector<LaneFrom>>& outputs);

/// Accesses of one buffer whose places differ by constants alone, less apart than neighbours along a dim are. The
/// elements of complex arrays are their parts, the real one of each number first.
struct AccessGroup {
  int64_t stride = 0;           ///< In elements, along that dim, whichever way it runs.
  bool down = false;            ///< The dim runs down in memory: a vector's first lane lies last.
  std::vector<size_t> members;  ///< Indices into what FindGroups was given, by ascending offset.
  std::vector<int> components;  ///< Their offsets from the first one.
  bool complete() const { return components.size() == static_cast<size_t>(stride); }
};
/// By how many elements (parts of complex numbers) neighbours along `dim` lie apart: not next to each other, and near
/// enough for shuffles.
std::optional<int64_t> ApartAlong(const kir::Kernel& kernel, const Access& access, kir::DimId dim);
/// Whether reading the group's vectors takes less than reading each member lane by lane.
bool GroupPays(const AccessGroup& group, int lanes);
/// The groups among `accesses` along `dim`, each access in one at most. `parts`: which part of a complex number each
/// moves, 0 or 1; empty where that does not matter.
std::vector<AccessGroup> FindGroups(const kir::Kernel& kernel, std::span<const Access* const> accesses,
                                    std::span<const uint8_t> parts, kir::DimId dim);

}  // namespace tenon::emit_llvm
