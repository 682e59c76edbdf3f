#pragma once

#include "tenon/kernels/fft/internal/lines.h"

namespace tenon::kernels::internal {

/// What other lines there are to fill the lanes of vectors: so few that most lanes would be empty, enough of them, or
/// enough that lie element beside element, so that a long line need not be cut for the sake of the caches.
enum class LinesBeside : uint8_t { kFew, kMany, kNeighbours };

/// Of `lines` lines, `inner` of them element beside element.
template <class T>
LinesBeside BesideOf(int64_t lines, int64_t inner) {
  if (inner >= kLanes<T>) return LinesBeside::kNeighbours;
  return 2 * lines <= kLanes<T> ? LinesBeside::kFew : LinesBeside::kMany;
}

/// Tables for transforms of length n >= 1. `real`: one end of each line is real.
template <class T>
LineTables<T> MakeLineTables(int64_t n, bool inverse, bool real, LinesBeside beside);

}  // namespace tenon::kernels::internal
