#include "tenon/runtime/internal/turns.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tenon/base/strided_array.h"
#include "tenon/plan/touches.h"
#include "tenon/runtime/policy.h"

namespace tenon::runtime::internal {
namespace {

using plan::SlotId;

struct Touch {
  SlotId slot;
  bool write;
};

/// What the steps touch, in their order, of one step what it reads first, and of loops from their conditions to their
/// carries. Whether there are loops.
bool AddTouches(const plan::Plan& plan, const plan::Seq& seq, std::vector<Touch>& touches) {
  bool loops = false;
  for (const plan::Step& step : seq) {
    const auto first = static_cast<std::ptrdiff_t>(touches.size());
    const auto touch = [&](SlotId slot, bool write) { touches.push_back({slot, write}); };
    if (plan::ForEachTouch(plan.kernels, step, touch)) {
      std::stable_partition(touches.begin() + first, touches.end(), [](const Touch& t) { return !t.write; });
    } else if (const auto* loop = std::get_if<plan::WhileStep>(&step.is)) {
      loops = true;
      AddTouches(plan, loop->condition, touches);
      if (loop->trip_count < 0) touch(loop->predicate, false);
      AddTouches(plan, loop->body, touches);
      for (const auto& [from, to] : loop->carry) touch(from, false);
      for (const auto& [from, to] : loop->carry) touch(to, true);
    } else {
      const auto& choice = std::get<plan::CaseStep>(step.is);
      touch(choice.index, false);
      for (const plan::Seq& branch : choice.branches) loops |= AddTouches(plan, branch, touches);
    }
  }
  return loops;
}

bool Overlap(const Span& a, const Span& b) { return a.base == b.base && a.begin < b.end && b.begin < a.end; }
bool Contains(const Span& a, const Span& b) { return a.base == b.base && a.begin <= b.begin && b.end <= a.end; }

bool MayTurn(const plan::Plan& plan, SlotId from, SlotId to) {
  const plan::Slot &a = plan.slots[from], &b = plan.slots[to];
  for (const plan::Slot* slot : {&a, &b}) {
    if ((slot->kind != plan::SlotKind::kTemp && slot->kind != plan::SlotKind::kOut) || slot->value == 0) return false;
  }
  const Span x = SpanOf(plan, from), y = SpanOf(plan, to);
  return x.end - x.begin >= policy::kTurnedBytes && a.dtype == b.dtype && a.dims == b.dims &&
         a.stride_elems == b.stride_elems && HasNoGaps(a.dims, a.stride_elems) && !Overlap(x, y);
}

}  // namespace

Span SpanOf(const plan::Plan& plan, SlotId id) {
  const plan::Slot& slot = plan.slots[id];
  const auto inputs = static_cast<uint32_t>(plan.inputs.size()), outputs = static_cast<uint32_t>(plan.outputs.size());
  uint32_t base = 0;
  switch (slot.kind) {
    case plan::SlotKind::kArg:
      base = slot.index;
      break;
    case plan::SlotKind::kOut:
      base = inputs + slot.index;
      break;
    case plan::SlotKind::kTemp:
      base = inputs + outputs;
      break;
    case plan::SlotKind::kConst:
      base = inputs + outputs + 1 + slot.index;
      break;
  }
  int64_t low = slot.offset_bytes, high = slot.offset_bytes + ByteWidth(slot.dtype);
  for (size_t i = 0; i < slot.dims.size(); ++i) {
    if (slot.dims[i] == 0) return {base, 0, 0};
    const int64_t by = (slot.dims[i] - 1) * slot.stride_elems[i] * ByteWidth(slot.dtype);
    (by < 0 ? low : high) += by;
  }
  return {base, low, high};
}

std::optional<size_t> Turns::Meets(uint32_t base, int64_t begin, int64_t end) const {
  const auto after = std::ranges::lower_bound(areas, std::pair(base, end), {},
                                              [](const Span& a) { return std::pair(a.base, a.begin); });
  if (after == areas.begin()) return std::nullopt;
  const Span& last = *(after - 1);
  if (last.base != base || last.end <= begin) return std::nullopt;
  return static_cast<size_t>(after - 1 - areas.begin());
}

int64_t TurnFinder::TouchesOf(plan::ValueId value) {
  if (touches_.empty()) {
    std::vector<Touch> all;
    AddTouches(plan_, plan_.steps, all);
    for (const Touch& t : all) ++touches_[plan_.slots[t.slot].value];
  }
  return touches_[value];
}

Turns TurnFinder::Of(const plan::WhileStep& loop) {
  std::vector<std::pair<SlotId, SlotId>> moved;  // Carries that are copies.
  Turns turns;
  for (const auto& [from, to] : loop.carry) {
    if (plan::SamePlace(plan_, from, to)) continue;
    (MayTurn(plan_, from, to) ? turns.carries : moved).emplace_back(from, to);
  }
  if (turns.carries.empty()) return {};
  std::vector<Touch> touches;
  if (AddTouches(plan_, loop.condition, touches) || AddTouches(plan_, loop.body, touches)) return {};

  // All apart from each other and from what is written by copies.
  const auto key = [](const Span& a) { return std::tuple(a.base, a.begin, a.end); };
  for (const auto& [from, to] : turns.carries) {
    for (SlotId id : {from, to}) turns.areas.push_back(SpanOf(plan_, id));
  }
  std::ranges::sort(turns.areas, {}, key);
  turns.areas.erase(std::ranges::unique(turns.areas).begin(), turns.areas.end());
  for (size_t i = 1; i < turns.areas.size(); ++i) {
    if (Overlap(turns.areas[i - 1], turns.areas[i])) return {};
  }
  for (const auto& [from, to] : moved) {
    const Span area = SpanOf(plan_, to);
    if (turns.Meets(area.base, area.begin, area.end)) return {};
  }

  // The chains: each area has one that it becomes at most, and one that becomes it.
  const auto index_of = [&](SlotId id) {
    const Span area = SpanOf(plan_, id);
    return *turns.Meets(area.base, area.begin, area.end);
  };
  std::vector<std::optional<size_t>> next(turns.areas.size()), previous(turns.areas.size());
  std::vector<plan::ValueId> values(turns.areas.size(), 0);  // What is carried there, or is to be.
  for (const auto& [from, to] : turns.carries) {
    const size_t a = index_of(from), b = index_of(to);
    if (next[a] || previous[b]) return {};
    next[a] = b;
    previous[b] = a;
    for (const auto& [area, slot] : {std::pair(a, from), std::pair(b, to)}) {
      if (values[area] != 0 && values[area] != plan_.slots[slot].value) return {};
      values[area] = plan_.slots[slot].value;
    }
  }
  size_t chained = 0;
  for (size_t i = 0; i < turns.areas.size(); ++i) {
    if (previous[i]) continue;
    std::vector<size_t>& chain = turns.chains.emplace_back();
    for (std::optional<size_t> at = i; at; at = next[*at]) chain.push_back(*at);
    chained += chain.size();
  }
  if (chained < turns.areas.size()) return {};  // Some come back to themselves, with nothing dead among them.

  // What the first ones hold is of one trip alone: nothing else in the plan knows it, nor does the caller.
  std::unordered_map<plan::ValueId, int64_t> inside;
  for (const Touch& t : touches) ++inside[plan_.slots[t.slot].value];
  for (const std::vector<size_t>& chain : turns.chains) {
    const plan::ValueId value = values[chain[0]];
    if (value <= plan_.outputs.size() || TouchesOf(value) != inside[value] + 1) return {};  // Its carry reads it.
  }
  // Nothing lies in them in part; what is carried may be read at once, everything else is written first.
  std::set<std::pair<size_t, plan::ValueId>> written;
  const auto allowed = [&](SlotId id, bool write) {
    const Span area = SpanOf(plan_, id);
    const std::optional<size_t> i = turns.Meets(area.base, area.begin, area.end);
    if (!i) return true;
    const plan::ValueId value = plan_.slots[id].value;
    if (!Contains(turns.areas[*i], area) || value == 0) return false;
    if (write) written.emplace(*i, value);
    const bool carried = previous[*i].has_value() && value == values[*i];
    return carried || written.contains({*i, value});
  };
  for (const Touch& t : touches) {
    if (!allowed(t.slot, t.write)) return {};
  }
  if (loop.trip_count < 0 && !allowed(loop.predicate, false)) return {};
  for (const auto& [from, to] : moved) {
    if (!allowed(from, false)) return {};
  }
  for (const auto& [from, to] : turns.carries) {
    if (!allowed(from, false)) return {};
  }
  return turns;
}

}  // namespace tenon::runtime::internal
