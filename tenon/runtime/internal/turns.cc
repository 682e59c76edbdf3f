#include "tenon/runtime/internal/turns.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tenon/runtime/policy.h"

namespace tenon::runtime::internal {
namespace {

using plan::SlotId;

struct Access {
  SlotId slot;
  bool write;
};

/// What the steps touch, in their order, of one step what it reads first, and loops among them from their conditions to
/// their carries.
class Survey {
 public:
  explicit Survey(const plan::Plan& plan) : plan_(plan) {}

  void Add(const plan::Seq& seq) {
    for (const plan::Step& step : seq) std::visit([&](const auto& s) { Add(s); }, step.is);
  }
  std::vector<Access> accesses;
  bool loops = false;  ///< There are some.

 private:
  template <class Slots>
  void Touch(const Slots& slots, bool write) {
    for (SlotId id : slots) {
      if (id != plan::kNoSlot) accesses.push_back({id, write});
    }
  }
  template <class Slots>
  void Touch(uint32_t kernel, const Slots& slots) {
    for (const bool write : {false, true}) {
      for (size_t i = 0; i < slots.size(); ++i) {
        if ((plan_.kernels[kernel].buffers[i].kind == kir::BufKind::kOut) == write)
          Touch(std::initializer_list<SlotId>{slots[i]}, write);
      }
    }
  }
  void Add(const plan::KernelStep& s) { Touch(s.kernel, s.buffers); }
  void Add(const plan::DriverStep& s) {
    Touch(s.inputs, false);
    Touch(std::initializer_list<SlotId>{s.scratch}, true);
    Touch(s.outputs, true);
    for (const auto& [name, hook] : s.hooks) Touch(hook.kernel, hook.buffers);
  }
  void Add(const plan::CopyStep& s) {
    Touch(std::initializer_list<SlotId>{s.from}, false);
    Touch(std::initializer_list<SlotId>{s.to}, true);
  }
  void Add(const plan::WhileStep& s) {
    loops = true;
    Add(s.condition);
    if (s.trip_count < 0) Touch(std::initializer_list<SlotId>{s.predicate}, false);
    Add(s.body);
    for (const auto& [from, to] : s.carry) Touch(std::initializer_list<SlotId>{from}, false);
    for (const auto& [from, to] : s.carry) Touch(std::initializer_list<SlotId>{to}, true);
  }
  void Add(const plan::CaseStep& s) {
    Touch(std::initializer_list<SlotId>{s.index}, false);
    for (const plan::Seq& branch : s.branches) Add(branch);
  }
  template <class Call>
  void Add(const Call& s) {
    Touch(s.operands, false);
    Touch(s.results, true);
  }

  const plan::Plan& plan_;
};

bool Overlap(const Area& a, const Area& b) { return a.base == b.base && a.begin < b.end && b.begin < a.end; }
bool Contains(const Area& a, const Area& b) { return a.base == b.base && a.begin <= b.begin && b.end <= a.end; }

/// Whether the slot's elements are all that its area holds.
bool FillsArea(const plan::Slot& slot, const Area& area) {
  std::vector<std::pair<int64_t, int64_t>> by_stride;
  for (size_t d = 0; d < slot.dims.size(); ++d) {
    if (slot.dims[d] != 1) by_stride.emplace_back(slot.stride_elems[d], slot.dims[d]);
  }
  std::ranges::sort(by_stride);
  int64_t next = 1;
  for (const auto& [stride, extent] : by_stride) {
    if (stride != next) return false;
    next *= extent;
  }
  return next * ByteWidth(slot.dtype) == area.end - area.begin;
}

bool MayTurn(const plan::Plan& plan, SlotId from, SlotId to) {
  const plan::Slot &a = plan.slots[from], &b = plan.slots[to];
  for (const plan::Slot* slot : {&a, &b}) {
    if ((slot->kind != plan::SlotKind::kTemp && slot->kind != plan::SlotKind::kOut) || slot->value == 0) return false;
  }
  const Area x = AreaOf(plan, from), y = AreaOf(plan, to);
  return x.end - x.begin >= policy::kTurnedBytes && a.dtype == b.dtype && a.dims == b.dims &&
         a.stride_elems == b.stride_elems && FillsArea(a, x) && FillsArea(b, y) && !Overlap(x, y);
}

}  // namespace

Area AreaOf(const plan::Plan& plan, SlotId id) {
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
                                              [](const Area& a) { return std::pair(a.base, a.begin); });
  if (after == areas.begin()) return std::nullopt;
  const Area& last = *(after - 1);
  if (last.base != base || last.end <= begin) return std::nullopt;
  return static_cast<size_t>(after - 1 - areas.begin());
}

Turns TurnsOf(const plan::Plan& plan, const plan::WhileStep& loop) {
  Survey survey(plan);
  std::vector<std::pair<SlotId, SlotId>> moved;  // Carries that are copies.
  Turns turns;
  for (const auto& [from, to] : loop.carry) {
    if (plan::SamePlace(plan, from, to)) continue;
    (MayTurn(plan, from, to) ? turns.carries : moved).emplace_back(from, to);
  }
  if (turns.carries.empty()) return {};
  survey.Add(loop.condition);
  survey.Add(loop.body);
  if (survey.loops) return {};

  // All apart from each other and from what is written by copies.
  const auto key = [](const Area& a) { return std::tuple(a.base, a.begin, a.end); };
  for (const auto& [from, to] : turns.carries) {
    for (SlotId id : {from, to}) turns.areas.push_back(AreaOf(plan, id));
  }
  std::ranges::sort(turns.areas, {}, key);
  turns.areas.erase(std::ranges::unique(turns.areas).begin(), turns.areas.end());
  for (size_t i = 1; i < turns.areas.size(); ++i) {
    if (Overlap(turns.areas[i - 1], turns.areas[i])) return {};
  }
  for (const auto& [from, to] : moved) {
    const Area area = AreaOf(plan, to);
    if (turns.Meets(area.base, area.begin, area.end)) return {};
  }

  // The chains: each area has one that it becomes at most, and one that becomes it.
  const auto index_of = [&](SlotId id) {
    const Area area = AreaOf(plan, id);
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
      if (values[area] != 0 && values[area] != plan.slots[slot].value) return {};
      values[area] = plan.slots[slot].value;
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
  Survey everywhere(plan);
  everywhere.Add(plan.steps);
  std::unordered_map<plan::ValueId, int64_t> others;  // Uses outside of the loop's steps, its carries among them.
  for (const Access& a : everywhere.accesses) ++others[plan.slots[a.slot].value];
  for (const Access& a : survey.accesses) --others[plan.slots[a.slot].value];
  for (const std::vector<size_t>& chain : turns.chains) {
    const plan::ValueId value = values[chain[0]];
    if (value <= plan.outputs.size() || others[value] != 1) return {};  // Its carry reads it.
  }
  // Nothing lies in them in part; what is carried may be read at once, everything else is written first.
  std::set<std::pair<size_t, plan::ValueId>> written;
  const auto allowed = [&](SlotId id, bool write) {
    const Area area = AreaOf(plan, id);
    const std::optional<size_t> i = turns.Meets(area.base, area.begin, area.end);
    if (!i) return true;
    const plan::ValueId value = plan.slots[id].value;
    if (!Contains(turns.areas[*i], area) || value == 0) return false;
    if (write) written.emplace(*i, value);
    const bool carried = previous[*i].has_value() && value == values[*i];
    return carried || written.contains({*i, value});
  };
  for (const Access& access : survey.accesses) {
    if (!allowed(access.slot, access.write)) return {};
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
