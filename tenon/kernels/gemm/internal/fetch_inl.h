#pragma once

// Fetching what a micro's next calls want. Included by x86_*.cc only.

#include <cstdint>

#include "tenon/kernels/gemm/internal/kernel.h"

namespace {

using tenon::kernels::internal::kFetchSteps;
using tenon::kernels::internal::Lines;
using tenon::kernels::internal::Soon;

[[gnu::always_inline]] inline void FetchLines(Lines& lines, int64_t steps) {
  int64_t count = steps <= kFetchSteps ? lines.each : lines.each * steps / kFetchSteps;
  if (count > lines.left) count = lines.left;
  lines.left -= count;
  const char* row = lines.row;
  int64_t at = lines.at;
  for (; count > 0; --count) {
    __builtin_prefetch(row + at * 64, 0, 3);
    if (++at < lines.row_lines) continue;
    at = 0;
    row += lines.row_bytes;
  }
  lines.row = row;
  lines.at = at;
}

// What belongs to so many steps of a tile.
[[gnu::always_inline]] inline void Fetch(Soon& soon, int64_t steps) {
  FetchLines(soon.c, steps);
  FetchLines(soon.a, steps);
}

}  // namespace
