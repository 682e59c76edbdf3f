#pragma once

/// Carries of a loop that need not be moved: where they lie takes turns instead.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/plan/plan.h"

namespace tenon::runtime::internal {

/// Memory of one value of a loop: bytes [begin, end) of a base (Frame::bases).
struct Area {
  uint32_t base = 0;
  int64_t begin = 0, end = 0;
  friend bool operator==(const Area&, const Area&) = default;
};

/// After each trip the memory of an area becomes that of the next one of its chain, and that of the last one, whose
/// value is dead, becomes that of the first, which each trip writes before it reads it.
struct Turns {
  std::vector<Area> areas;                                     ///< Of equal sizes in one chain, all apart; ascending.
  std::vector<std::vector<size_t>> chains;                     ///< Of areas.
  std::vector<std::pair<plan::SlotId, plan::SlotId>> carries;  ///< What is so carried.

  /// The last area that begins before `end` in its base, if it ends behind `begin`.
  std::optional<size_t> Meets(uint32_t base, int64_t begin, int64_t end) const;
};

/// Those of a loop that the CPU runs; none where another loop is inside of it. Right for every plan whose steps read
/// nothing that nobody has written.
Turns TurnsOf(const plan::Plan& plan, const plan::WhileStep& loop);

/// The base that a slot's memory belongs to, and the bytes from the first to the last that it views; an empty area when
/// it has no elements.
Area AreaOf(const plan::Plan& plan, plan::SlotId id);

}  // namespace tenon::runtime::internal
