#include "tenon/compiler/schedule/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "tenon/compiler/schedule/liveness.h"

namespace tenon::compiler {

using plan::SlotId;
using plan::SlotKind;

namespace {

constexpr int64_t kAlignment = 64;
/// Smaller temporaries are not written in place: the second form of the kernel would cost more than the memory.
constexpr int64_t kWorthInPlace = 256 << 10;
constexpr int64_t kEvaluateNs = 50'000;
constexpr int64_t kCallNs = 20'000;
constexpr int64_t kUnknownTrips = 1000;

class Scheduler {
 public:
  Scheduler(FusedProgram program, const std::vector<Donation>& donations)
      : p_(std::move(program)), donations_(donations) {}

  plan::Plan Run() {
    timeline_ = MakeTimeline(p_);
    leader_.resize(p_.buffers.size());
    std::iota(leader_.begin(), leader_.end(), 0u);
    for (size_t i = timeline_.copies.size(); i-- > 0;) Coalesce(timeline_.copies[i]);
    AliasArguments();
    ReuseInPlace();
    Place();
    return Finish();
  }

 private:
  uint32_t Leader(uint32_t b) {
    while (leader_[b] != b) b = leader_[b] = leader_[leader_[b]];
    return b;
  }
  uint32_t Class(SlotId slot) { return Leader(p_.views[slot].buffer); }
  std::vector<Event>& Events(uint32_t c) { return timeline_.events[c]; }

  /// Whether the view is its whole buffer.
  bool IsWhole(const View& v) const {
    int64_t n = ByteWidth(v.dtype);
    for (int64_t d : v.dims) n *= d;
    return v.offset_elems == 0 && n == p_.buffers[v.buffer].bytes;
  }
  bool SamePlace(const View& a, const View& b) const {
    return IsWhole(a) && IsWhole(b) && a.dtype == b.dtype && a.dims == b.dims && StridesAgree(a, b);
  }
  static bool StridesAgree(const View& a, const View& b) {
    for (size_t i = 0; i < a.dims.size(); ++i) {
      if (a.dims[i] != 1 && a.strides[i] != b.strides[i]) return false;
    }
    return true;
  }

  SlotKind KindOf(uint32_t c) const { return p_.buffers[c].kind; }

  void Merge(uint32_t a, uint32_t b) {
    // The one that is not a temporary leads.
    if (KindOf(a) != SlotKind::kTemp) std::swap(a, b);
    leader_[a] = b;
    std::vector<Event> merged;
    std::merge(Events(a).begin(), Events(a).end(), Events(b).begin(), Events(b).end(), std::back_inserter(merged),
               [](const Event& x, const Event& y) { return x.position < y.position; });
    Events(b) = std::move(merged);
    Events(a).clear();
  }

  /// Whether the kernel that writes `write` may take over the memory behind `read`, both of the same layout.
  bool MayTakeOver(SlotId write, SlotId read) const {
    auto it = p_.in_place.find(write);
    return it != p_.in_place.end() && std::find(it->second.begin(), it->second.end(), read) != it->second.end();
  }

  /// Whether all events lie in the part of the innermost loop around `position` that runs once per trip.
  bool StaysInLoop(const std::vector<Event>& events, int32_t position) const {
    const LoopRange* loop = timeline_.LoopAround(position);
    if (loop == nullptr) return true;
    for (const Event& e : events) {
      if (e.position < loop->begin || e.position > loop->end) return false;
      if (position >= loop->body ? e.position < loop->body : e.position >= loop->body) return false;
    }
    return true;
  }

  void Coalesce(const CopyAt& copy) {
    const uint32_t a = Class(copy.from);
    const uint32_t b = Class(copy.to);
    if (a == b || KindOf(a) == SlotKind::kArg || KindOf(a) == SlotKind::kConst) return;
    if (KindOf(a) == SlotKind::kOut && KindOf(b) == SlotKind::kOut) return;
    if (!SamePlace(p_.views[copy.from], p_.views[copy.to])) return;
    const std::vector<Event>& from = Events(a);
    if (from.empty() || !from.front().write || from.back().position > copy.position) return;
    if (!StaysInLoop(from, copy.position)) return;
    int reads_here = 0;
    for (const Event& e : from) reads_here += e.position == copy.position && !e.write;
    if (reads_here > 1) return;  // Another carry wants it at the same time.
    const int32_t first = from.front().position;
    std::vector<std::pair<SlotId, SlotId>> taken;
    for (const Event& e : Events(b)) {
      if (e.position < first || e.position > copy.position) continue;
      if (e.position == copy.position && e.write && e.slot == copy.to) continue;
      if (e.position == first && !e.write) {
        bool ok = false;
        for (const Event& w : from) {
          if (w.position != first || !w.write) continue;
          if (MayTakeOver(w.slot, e.slot)) {
            ok = true;
            taken.push_back({w.slot, e.slot});
          }
          for (const CopyAt& c : timeline_.copies) {
            if (c.position == first && c.to == w.slot && c.from == e.slot &&
                SamePlace(p_.views[c.from], p_.views[c.to]))
              ok = true;
          }
        }
        if (ok) continue;
      }
      return;
    }
    in_place_.insert(in_place_.end(), taken.begin(), taken.end());
    Merge(a, b);
  }

  // Outputs in arguments' memory
  // ---------------------------------------------------------------------------------------------------------

  bool TryAlias(uint32_t input, uint32_t output) {
    if (p_.outputs[output].alias_input >= 0 || p_.outputs[output].shape.dtype == DType::kToken) return false;
    std::optional<uint32_t> arg;
    std::optional<uint32_t> out;
    for (uint32_t b = 0; b < p_.buffers.size(); ++b) {
      if (p_.buffers[b].kind == SlotKind::kArg && p_.buffers[b].index == input) arg = b;
      if (p_.buffers[b].kind == SlotKind::kOut && p_.buffers[b].index == output) out = b;
    }
    if (!arg || !out || p_.buffers[*arg].bytes != p_.buffers[*out].bytes || p_.buffers[*arg].bytes == 0) return false;
    const std::vector<Event>& reads = Events(*arg);
    const std::vector<Event>& events = Events(*out);
    if (events.empty() || !events.front().write) return false;
    const int32_t first = events.front().position;
    const bool in_loop = timeline_.LoopAround(first) != nullptr;
    std::vector<std::pair<SlotId, SlotId>> taken;
    bool contents = false;
    for (const Event& r : reads) {
      if (r.position < first && timeline_.LoopAround(r.position) == nullptr) continue;
      if (r.position < first && !in_loop) continue;
      if (r.position != first || in_loop) return false;
      bool ok = false;
      for (const Event& w : events) {
        if (w.position != first || !w.write) continue;
        if (MayTakeOver(w.slot, r.slot)) {
          ok = true;
          taken.push_back({w.slot, r.slot});
        }
        for (const CopyAt& c : timeline_.copies) {
          if (c.position == first && c.to == w.slot && c.from == r.slot && SamePlace(p_.views[c.from], p_.views[c.to]))
            ok = contents = true;
        }
      }
      if (!ok) return false;
    }
    p_.outputs[output].alias_input = static_cast<int32_t>(input);
    p_.outputs[output].alias_contents = contents;
    if (contents) contents_of_[*out] = *arg;
    in_place_.insert(in_place_.end(), taken.begin(), taken.end());
    return true;
  }

  void AliasArguments() {
    for (uint32_t i = 0; i < donations_.size(); ++i) {
      const int32_t o = donations_[i].aliasing_output;
      if (o >= 0 && o < static_cast<int32_t>(p_.outputs.size())) TryAlias(i, static_cast<uint32_t>(o));
    }
    for (uint32_t i = 0; i < donations_.size(); ++i) {
      if (!donations_[i].donor) continue;
      for (uint32_t o = 0; o < p_.outputs.size(); ++o) {
        if (p_.outputs[o].shape == p_.inputs[i].shape && TryAlias(i, o)) break;
      }
    }
  }

  void ReuseInPlace() {
    for (const Timeline::KernelAt& k : timeline_.kernels) {
      for (SlotId write : k.step->buffers) {
        auto it = write == plan::kNoSlot ? p_.in_place.end() : p_.in_place.find(write);
        if (it == p_.in_place.end()) continue;
        for (SlotId read : it->second) {
          const uint32_t w = Class(write);
          const uint32_t r = Class(read);
          if (w == r || KindOf(r) != SlotKind::kTemp) continue;
          if (p_.buffers[p_.views[read].buffer].bytes < kWorthInPlace || !SamePlace(p_.views[read], p_.views[write]))
            continue;
          if (Events(w).front().position != k.position || Events(r).back().position != k.position) continue;
          if (!StaysInLoop(Events(r), k.position)) continue;
          int touches = 0;
          for (const Event& e : Events(r)) touches += e.position == k.position;
          if (touches != 1) continue;
          in_place_.push_back({write, read});
          Merge(r, w);
          break;
        }
      }
    }
  }

  // Places
  // -------------------------------------------------------------------------------------------------------------------------------

  void Place() {
    struct Live {
      uint32_t c;
      int32_t begin;
      int32_t end;
      int64_t bytes;
      int64_t offset;
    };
    std::vector<Live> lives;
    offset_.assign(p_.buffers.size(), 0);
    for (uint32_t b = 0; b < p_.buffers.size(); ++b) {
      if (Leader(b) != b || KindOf(b) != SlotKind::kTemp || Events(b).empty()) continue;
      int32_t begin = Events(b).front().position;
      int32_t end = Events(b).back().position;
      // What lives across a trip lives through the whole loop. Inner loops first, so that outer ones see what grew.
      for (size_t i = timeline_.loops.size(); i-- > 0;) {
        const LoopRange& loop = timeline_.loops[i];
        const bool inside = begin <= loop.end && end >= loop.begin;
        const bool outside = begin < loop.begin || end > loop.end;
        if (inside && outside) {
          begin = std::min(begin, loop.begin);
          end = std::max(end, loop.end);
        }
      }
      const int64_t bytes = (p_.buffers[b].bytes + kAlignment - 1) / kAlignment * kAlignment;
      lives.push_back({b, begin, end, bytes, 0});
    }
    std::sort(lives.begin(), lives.end(),
              [](const Live& x, const Live& y) { return x.bytes != y.bytes ? x.bytes > y.bytes : x.c < y.c; });
    std::vector<std::pair<int64_t, int64_t>> busy;
    for (size_t i = 0; i < lives.size(); ++i) {
      busy.clear();
      for (size_t j = 0; j < i; ++j) {
        if (lives[j].begin <= lives[i].end && lives[i].begin <= lives[j].end)
          busy.push_back({lives[j].offset, lives[j].offset + lives[j].bytes});
      }
      std::sort(busy.begin(), busy.end());
      // Best fit: the tightest gap, else the end.
      int64_t at = 0;
      int64_t best = -1;
      int64_t best_size = INT64_MAX;
      for (const auto& [from, to] : busy) {
        if (from - at >= lives[i].bytes && from - at < best_size) {
          best = at;
          best_size = from - at;
        }
        at = std::max(at, to);
      }
      lives[i].offset = best >= 0 ? best : at;
      offset_[lives[i].c] = lives[i].offset;
      arena_ = std::max(arena_, lives[i].offset + lives[i].bytes);
    }
  }

  // The plan
  // -----------------------------------------------------------------------------------------------------------------------------

  bool IsNoCopy(SlotId from, SlotId to) {
    if (contents_of_.contains(Class(to)) && contents_of_[Class(to)] == Class(from) &&
        SamePlace(p_.views[from], p_.views[to]))
      return true;
    return Class(from) == Class(to) && SamePlace(p_.views[from], p_.views[to]);
  }

  void Clean(plan::Seq& seq) {
    plan::Seq kept;
    for (plan::Step& step : seq) {
      if (auto* copy = std::get_if<plan::CopyStep>(&step.is)) {
        if (IsNoCopy(copy->from, copy->to)) continue;
      } else if (auto* loop = std::get_if<plan::WhileStep>(&step.is)) {
        Clean(loop->condition);
        Clean(loop->body);
        std::erase_if(loop->carry, [&](const auto& pair) { return IsNoCopy(pair.first, pair.second); });
      } else if (auto* branch = std::get_if<plan::CaseStep>(&step.is)) {
        for (plan::Seq& s : branch->branches) Clean(s);
      }
      kept.push_back(std::move(step));
    }
    seq = std::move(kept);
  }

  void MarkInPlace() {
    std::map<SlotId, SlotId> taken(in_place_.begin(), in_place_.end());
    std::unordered_map<Hash128, uint32_t, Hash128Hasher> known;
    for (const Timeline::KernelAt& k : timeline_.kernels) {
      kir::Kernel variant;
      bool changed = false;
      for (size_t i = 0; i < k.step->buffers.size(); ++i) {
        auto it = k.step->buffers[i] == plan::kNoSlot ? taken.end() : taken.find(k.step->buffers[i]);
        if (it == taken.end()) continue;
        for (size_t j = 0; j < k.step->buffers.size(); ++j) {
          if (k.step->buffers[j] != it->second) continue;
          if (!changed) variant = p_.kernels[k.step->kernel];
          changed = true;
          variant.buffers[i].in_place_of = static_cast<kir::Buf>(j);
        }
      }
      if (!changed) continue;
      auto [it, fresh] = known.try_emplace(kir::Hash(variant), static_cast<uint32_t>(p_.kernels.size()));
      if (fresh) p_.kernels.push_back(std::move(variant));
      k.step->kernel = it->second;
    }
  }

  static int64_t CostOf(const plan::Seq& seq) {
    int64_t ns = 0;
    for (const plan::Step& step : seq) {
      if (const auto* k = std::get_if<plan::KernelStep>(&step.is)) {
        ns += k->cost_ns;
      } else if (const auto* d = std::get_if<plan::DriverStep>(&step.is)) {
        ns += d->cost_ns;
      } else if (const auto* w = std::get_if<plan::WhileStep>(&step.is)) {
        ns += (w->trip_count >= 0 ? w->trip_count : kUnknownTrips) * (100 + CostOf(w->condition) + CostOf(w->body));
      } else if (const auto* c = std::get_if<plan::CaseStep>(&step.is)) {
        int64_t most = 0;
        for (const plan::Seq& s : c->branches) most = std::max(most, CostOf(s));
        ns += most;
      } else if (std::holds_alternative<plan::EvaluateStep>(step.is)) {
        ns += kEvaluateNs;
      } else {
        ns += std::holds_alternative<plan::CopyStep>(step.is) ? 1000 : kCallNs;
      }
    }
    return ns;
  }

  /// Kernels that no step runs any more (replaced by in-place forms) go.
  void DropUnused(plan::Plan& plan) {
    std::vector<bool> used(plan.kernels.size(), false);
    for (const Timeline::KernelAt& k : kept_) used[k.step->kernel] = true;
    std::vector<uint32_t> number(plan.kernels.size(), 0);
    std::vector<kir::Kernel> kernels;
    for (size_t i = 0; i < plan.kernels.size(); ++i) {
      if (!used[i]) continue;
      number[i] = static_cast<uint32_t>(kernels.size());
      kernels.push_back(std::move(plan.kernels[i]));
    }
    plan.kernels = std::move(kernels);
    for (const Timeline::KernelAt& k : kept_) k.step->kernel = number[k.step->kernel];
  }

  void CollectKernels(plan::Seq& seq) {
    for (plan::Step& step : seq) {
      if (auto* k = std::get_if<plan::KernelStep>(&step.is)) kept_.push_back({0, k});
      if (auto* w = std::get_if<plan::WhileStep>(&step.is)) {
        CollectKernels(w->condition);
        CollectKernels(w->body);
      }
      if (auto* c = std::get_if<plan::CaseStep>(&step.is)) {
        for (plan::Seq& s : c->branches) CollectKernels(s);
      }
    }
  }

  /// f(SlotId&) for every slot that a step names.
  template <class F>
  static void ForEachSlot(plan::Seq& seq, const F& f) {
    auto all = [&](auto& list) {
      for (SlotId& s : list) {
        if (s != plan::kNoSlot) f(s);
      }
    };
    for (plan::Step& step : seq) {
      if (auto* k = std::get_if<plan::KernelStep>(&step.is)) {
        all(k->buffers);
      } else if (auto* d = std::get_if<plan::DriverStep>(&step.is)) {
        all(d->inputs);
        all(d->outputs);
        for (auto& [name, hook] : d->hooks) all(hook.buffers);
      } else if (auto* c = std::get_if<plan::CopyStep>(&step.is)) {
        f(c->from);
        f(c->to);
      } else if (auto* w = std::get_if<plan::WhileStep>(&step.is)) {
        ForEachSlot(w->condition, f);
        if (w->trip_count < 0) f(w->predicate);
        ForEachSlot(w->body, f);
        for (auto& [from, to] : w->carry) {
          f(from);
          f(to);
        }
      } else if (auto* b = std::get_if<plan::CaseStep>(&step.is)) {
        f(b->index);
        for (plan::Seq& s : b->branches) ForEachSlot(s, f);
      } else if (auto* call = std::get_if<plan::CustomCallStep>(&step.is)) {
        all(call->operands);
        all(call->results);
      } else if (auto* e = std::get_if<plan::EvaluateStep>(&step.is)) {
        all(e->operands);
        all(e->results);
      }
    }
  }

  plan::Plan Finish() {
    MarkInPlace();
    Clean(p_.steps);
    plan::Plan plan;
    plan.inputs = std::move(p_.inputs);
    plan.outputs = std::move(p_.outputs);
    plan.constants = std::move(p_.constants);
    plan.kernels = std::move(p_.kernels);
    plan.has_host_callbacks = p_.has_host_callbacks;
    plan.steps = std::move(p_.steps);
    // Only slots that steps name.
    std::vector<SlotId> number(p_.views.size(), plan::kNoSlot);
    std::vector<SlotId> used;
    ForEachSlot(plan.steps, [&](SlotId& s) {
      if (number[s] == plan::kNoSlot) {
        number[s] = static_cast<SlotId>(used.size());
        used.push_back(s);
      }
      s = number[s];
    });
    for (SlotId id : used) {
      const View& v = p_.views[id];
      const uint32_t c = Leader(v.buffer);
      plan::Slot slot;
      slot.kind = KindOf(c);
      slot.index = slot.kind == SlotKind::kTemp ? 0 : p_.buffers[c].index;
      slot.offset_bytes = (slot.kind == SlotKind::kTemp ? offset_[c] : 0) + v.offset_elems * ByteWidth(v.dtype);
      slot.dtype = v.dtype;
      slot.dims = v.dims;
      slot.stride_elems = v.strides;
      plan.slots.push_back(std::move(slot));
    }
    plan.arena_bytes = arena_;
    CollectKernels(plan.steps);
    DropUnused(plan);
    plan.cost_ns = CostOf(plan.steps);
    return plan;
  }

  FusedProgram p_;
  const std::vector<Donation>& donations_;
  Timeline timeline_;
  std::vector<uint32_t> leader_;
  std::vector<int64_t> offset_;
  int64_t arena_ = 0;
  std::vector<std::pair<SlotId, SlotId>> in_place_;  // (write, read) that now share memory.
  std::map<uint32_t, uint32_t> contents_of_;         // Output class that starts as an argument's contents.
  std::vector<Timeline::KernelAt> kept_;
};

}  // namespace

plan::Plan Schedule(FusedProgram program, const std::vector<Donation>& donations) {
  return Scheduler(std::move(program), donations).Run();
}

}  // namespace tenon::compiler
