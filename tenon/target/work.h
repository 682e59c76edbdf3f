#pragma once

/// What a step has to do, in units that no clock enters; a target says how long that takes.

#include <string>

#include "tenon/target/target.h"

namespace tenon::target {

/// Work of one run of something. Adds up over things that run one after the other.
struct Work {
  double ops = 0;            ///< Elements times OpCosts: operations that run in vector lanes.
  double flops = 0;          ///< Of dense products, in tiles of registers: a multiplication and an addition count two.
  double serial = 0;         ///< Cycles of operations that wait for one another, or run in one lane.
  double bytes_read = 0;     ///< From memory, each byte as often as it leaves it.
  double bytes_written = 0;  ///< To memory.
  double bytes_cached = 0;   ///< Read and written in caches.
  double launches = 0;       ///< Steps that are started.

  Work& operator+=(const Work& other);
  friend Work operator+(Work a, const Work& b) { return a += b; }
  /// So many times.
  friend Work operator*(double times, Work work);
  friend bool operator==(const Work&, const Work&) = default;
};

/// Nanoseconds on one core, alone on the machine: launches and what is serial, then arithmetic and memory side by
/// side, whichever takes longer. An estimate within a factor of two or so.
double TimeNs(const Target& target, const Work& work);

/// "ops 12 read 64", without what is zero; "none" for no work. ParseWork(Print(w)) == w.
std::string Print(const Work& work);
Result<Work> ParseWork(std::string_view text);

}  // namespace tenon::target
