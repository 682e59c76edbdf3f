#pragma once

/// Carries of a loop that need not be moved: where they lie takes turns instead.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/plan/plan.h"
#include "tenon/runtime/accelerator.h"

namespace tenon::runtime::internal {

/// After each trip the memory of an area becomes that of the next one of its chain, and that of the last one, whose
/// value is dead, becomes that of the first, which each trip writes before it reads it.
struct Turns {
  std::vector<Span> areas;                                     ///< Of equal sizes in one chain, all apart; ascending.
  std::vector<std::vector<size_t>> chains;                     ///< Of areas.
  std::vector<std::pair<plan::SlotId, plan::SlotId>> carries;  ///< What is so carried.

  /// The last area that begins before `end` in its base, if it ends behind `begin`.
  std::optional<size_t> Meets(uint32_t base, int64_t begin, int64_t end) const;
};

/// Finds them in the loops of a plan, which must outlive it.
class TurnFinder {
 public:
  explicit TurnFinder(const plan::Plan& plan) : plan_(plan) {}
  /// Those of a loop that the CPU runs; none where another loop is inside of it. Right for every plan whose steps read
  /// nothing that nobody has written.
  Turns Of(const plan::WhileStep& loop);

 private:
  /// How often the plan's steps touch slots of the value, carries included.
  int64_t TouchesOf(plan::ValueId value);

  const plan::Plan& plan_;
  std::unordered_map<plan::ValueId, int64_t> touches_;  // Of all values, once one was asked for.
};

/// The bytes from the first to the last that a slot views, of the base that its memory belongs to; none of it when it
/// has no elements.
Span SpanOf(const plan::Plan& plan, plan::SlotId id);

}  // namespace tenon::runtime::internal
