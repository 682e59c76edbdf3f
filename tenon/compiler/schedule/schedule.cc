#include "tenon/compiler/schedule/schedule.h"

#include <algorithm>
#include <list>
#include <map>
#include <numeric>
#include <ranges>
#include <set>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/in_place.h"
#include "tenon/compiler/schedule/arena.h"
#include "tenon/compiler/schedule/invariants.h"
#include "tenon/compiler/schedule/link.h"
#include "tenon/compiler/schedule/liveness.h"
#include "tenon/compiler/schedule/own_copies.h"
#include "tenon/compiler/schedule/policy.h"
#include "tenon/plan/touches.h"

namespace tenon::compiler {

using plan::SlotId;
using plan::SlotKind;

namespace {

constexpr int64_t kAlignment = 64;  // structural: the arena's, as plan.h says
constexpr uint32_t kNoBuffer = ~0u;

class Scheduler {
 public:
  Scheduler(FusedProgram program, const std::vector<Donation>& donations, const target::Target& target)
      : p_(std::move(program)), donations_(donations), target_(target) {}

  plan::Plan Run() {
    in_place_ = ReadOwnCopies(p_);
    timeline_ = MakeTimeline(p_);
    leader_.resize(p_.buffers.size());
    std::iota(leader_.begin(), leader_.end(), 0u);
    for (size_t i = timeline_.copies.size(); i-- > 0;) Coalesce(timeline_.copies[i]);
    AliasArguments();
    ReuseInPlace();
    size_t loop = 0;
    LinkLoops(p_.steps, loop);
    // Kernels of linked loops are no steps any more.
    std::erase_if(timeline_.kernels, [&](const Timeline::KernelAt& k) {
      const auto after =
          std::ranges::upper_bound(linked_, k.position, {}, [](const auto& range) { return range.first; });
      return after != linked_.begin() && k.position <= std::prev(after)->second;
    });
    Place();
    return Finish();
  }

 private:
  using Pairs = std::vector<std::pair<SlotId, SlotId>>;

  uint32_t Leader(uint32_t b) const {
    while (leader_[b] != b) b = leader_[b] = leader_[leader_[b]];
    return b;
  }
  uint32_t Class(SlotId slot) const { return Leader(p_.views[slot].buffer); }
  Events& EventsOf(uint32_t c) { return timeline_.events[c]; }
  static auto EventsAt(const Events& events, int32_t position) {
    const auto [begin, end] = events.equal_range(position);
    return std::ranges::subrange(begin, end);
  }

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
    // The smaller set goes into the larger one.
    if (EventsOf(a).size() > EventsOf(b).size()) std::swap(EventsOf(a), EventsOf(b));
    EventsOf(b).merge(EventsOf(a));
  }

  /// Whether the kernel that writes `write` may take over the memory behind `read`, both of the same layout.
  bool MayTakeOver(SlotId write, SlotId read) const {
    auto it = p_.in_place.find(write);
    return it != p_.in_place.end() && std::find(it->second.begin(), it->second.end(), read) != it->second.end();
  }

  /// Whether all events lie in the part of the innermost loop around `position` that runs once per trip.
  bool StaysInLoop(const Events& events, int32_t position) const {
    const LoopRange* loop = timeline_.LoopAround(position);
    if (loop == nullptr || events.empty()) return true;
    const int32_t first = events.begin()->position, last = events.rbegin()->position;
    return position >= loop->body ? first >= loop->body && last <= loop->end
                                  : first >= loop->begin && last < loop->body;
  }

  /// Whether a copy of the whole from one slot to the other is made at that position.
  bool IsCopiedAt(int32_t position, SlotId from, SlotId to) const {
    return std::ranges::any_of(timeline_.CopiesAt(position), [&](const CopyAt& c) {
      return c.from == from && c.to == to && SamePlace(p_.views[from], p_.views[to]);
    });
  }

  void Coalesce(const CopyAt& copy) {
    const uint32_t a = Class(copy.from);
    const uint32_t b = Class(copy.to);
    if (a == b || KindOf(a) == SlotKind::kArg || KindOf(a) == SlotKind::kConst) return;
    if (KindOf(a) == SlotKind::kOut && KindOf(b) == SlotKind::kOut) return;
    if (!SamePlace(p_.views[copy.from], p_.views[copy.to])) return;
    const Events& from = EventsOf(a);
    if (from.empty() || !from.begin()->write || from.rbegin()->position > copy.position) return;
    if (!StaysInLoop(from, copy.position)) return;
    int reads_here = 0;
    for (const Event& e : EventsAt(from, copy.position)) reads_here += !e.write;
    if (reads_here > 1) return;  // Another carry wants it at the same time.
    const int32_t first = from.begin()->position;
    Pairs taken, copied;
    const Events& to = EventsOf(b);
    for (auto e = to.lower_bound(first); e != to.end() && e->position <= copy.position; ++e) {
      if (e->position == copy.position && e->write && e->slot == copy.to) continue;
      if (!e->write && MayReadWhileWritten(b, from, *e, copy.position, taken, copied)) continue;
      return;
    }
    if (IsReadInOtherBranches(to, copy.position, first)) return;
    ReadAndWriteInPlace(taken, copied);
    Merge(a, b);
  }

  /// Settles that writes take over what they read (`taken`), and that copies are read instead (`copied`).
  void ReadAndWriteInPlace(const Pairs& taken, const Pairs& copied) {
    in_place_.insert(in_place_.end(), taken.begin(), taken.end());
    for (const auto& [read, copy_to] : copied) p_.views[read].buffer = p_.views[copy_to].buffer;
  }

  /// Whether branches after that of the copy at `position` read what the memory `to` held before their step: with the
  /// writes that began at `first`, before that step, in the same memory, they would find those.
  bool IsReadInOtherBranches(const Events& to, int32_t position, int32_t first) const {
    int32_t end = position;
    for (int32_t a = timeline_.arm[static_cast<size_t>(position)]; a >= 0 && !timeline_.IsInArm(first, a);) {
      end = timeline_.arms[static_cast<size_t>(a)].end;
      a = timeline_.arms[static_cast<size_t>(a)].parent;
    }
    std::set<uint32_t> written;  // Buffers: what a branch reads of its own is written there first.
    for (auto e = to.upper_bound(position); e != to.end() && e->position <= end; ++e) {
      if (timeline_.CaseBetween(position, e->position) < 0) continue;
      const uint32_t buffer = p_.views[e->slot].buffer;
      if (e->write) {
        written.insert(buffer);
      } else if (!written.contains(buffer)) {
        return true;
      }
    }
    return false;
  }

  /// Whether `write` copies the whole of `memory` for what happens at the position of `read`, as often as that happens:
  /// it changes a part of the copy.
  bool IsCopiedFor(uint32_t memory, const Events& writes, const Event& write, const Event& read) const {
    if (timeline_.LoopAround(write.position) != timeline_.LoopAround(read.position) ||
        timeline_.arm[static_cast<size_t>(write.position)] != timeline_.arm[static_cast<size_t>(read.position)])
      return false;
    const bool changes = std::ranges::any_of(EventsAt(writes, read.position), [&](const Event& w) {
      return w.write && p_.views[w.slot].buffer == p_.views[write.slot].buffer;
    });
    return changes && std::ranges::any_of(timeline_.CopiesAt(write.position), [&](const CopyAt& c) {
             return c.to == write.slot && Class(c.from) == memory && SamePlace(p_.views[c.from], p_.views[c.to]);
           });
  }

  /// Whether the read of `memory` finds it as it was before the writes: those before it are in other branches of one
  /// step, in the same loop as `position`, or copy it for the one at its position (read and copy are added to `copied`:
  /// it is the copy that is read), and that one takes over what it reads.
  bool MayReadWhileWritten(uint32_t memory, const Events& writes, const Event& read, int32_t position, Pairs& taken,
                           Pairs& copied) const {
    bool here = false;
    int looked_at = 0;
    for (const Event& w : writes) {
      if (w.position > read.position) break;
      if (!w.write) continue;
      if (++looked_at > policy::kMostWritesLookedAt) return false;
      here |= w.position == read.position;
      if (w.position == read.position) continue;
      if (IsCopiedFor(memory, writes, w, read)) {
        copied.emplace_back(read.slot, w.slot);
        continue;
      }
      const int32_t between = timeline_.CaseBetween(w.position, read.position);
      if (between < 0 || timeline_.LoopAround(between) != timeline_.LoopAround(position)) return false;
    }
    return !here || TakesOver(writes, read, taken).any;
  }

  /// Whether what the read finds is copied as a whole to what is written at its position.
  bool IsCopied(const Events& writes, const Event& read) const {
    return std::ranges::any_of(EventsAt(writes, read.position),
                               [&](const Event& w) { return w.write && IsCopiedAt(read.position, read.slot, w.slot); });
  }

  struct TakeOver {
    bool any = false;
    bool by_copy = false;
  };
  /// Whether one of the writes at the position of `read` may have the memory that it reads, as a kernel that says so
  /// (added to `taken`) or by being a copy of it.
  TakeOver TakesOver(const Events& writes, const Event& read, Pairs& taken) const {
    TakeOver result;
    for (const Event& w : EventsAt(writes, read.position)) {
      if (!w.write) continue;
      // An output names one operand whose memory it has: a second one there would overlap it.
      const bool free = std::ranges::none_of(
          taken, [&](const auto& pair) { return pair.first == w.slot && pair.second != read.slot; });
      if (free && MayTakeOver(w.slot, read.slot)) {
        result.any = true;
        taken.push_back({w.slot, read.slot});
      }
    }
    result.by_copy = IsCopied(writes, read);
    result.any |= result.by_copy;
    return result;
  }

  // Outputs in arguments' memory
  // ---------------------------------------------------------------------------------------------------------

  /// Whether what `events` write may lie where the argument `arg` does: nobody reads it once they have begun, but what
  /// takes over from it then (`taken` as above) or reads a copy instead (`copied` as above). By a copy: its contents
  /// are the first to be there.
  TakeOver TakesOverArgument(uint32_t arg, const Events& events, Pairs& taken, Pairs& copied) const {
    const Events& reads = timeline_.events[arg];
    const int32_t first = events.begin()->position;
    const bool in_loop = timeline_.LoopAround(first) != nullptr;
    if (in_loop && !reads.empty() && reads.rbegin()->position >= first) return {};
    TakeOver all{.any = true};
    for (const Event& r : reads) {
      if (r.position < first && (!in_loop || timeline_.LoopAround(r.position) == nullptr)) continue;
      if (r.position < first) return {};
      if (r.position > first) {
        // Contents that a branch wants to copy are not those that are there first.
        const bool stays = !IsCopied(events, r) && MayReadWhileWritten(arg, events, r, first, taken, copied);
        if (!stays) return {};
        continue;
      }
      const TakeOver takes = TakesOver(events, r, taken);
      if (!takes.any) return {};
      all.by_copy |= takes.by_copy;
    }
    return all;
  }

  bool TryAlias(uint32_t input, uint32_t output) {
    if (p_.outputs[output].alias_input >= 0 || p_.outputs[output].shape.dtype == DType::kToken) return false;
    const uint32_t arg = buffer_of_input_[input];
    const uint32_t out = buffer_of_output_[output];
    if (arg == kNoBuffer || out == kNoBuffer || p_.buffers[arg].bytes != p_.buffers[out].bytes ||
        p_.buffers[arg].bytes == 0)
      return false;
    const Events& events = EventsOf(out);
    if (events.empty() || !events.begin()->write) return false;
    Pairs taken, copied;
    const TakeOver takes = TakesOverArgument(arg, events, taken, copied);
    if (!takes.any) return false;
    p_.outputs[output].alias_input = static_cast<int32_t>(input);
    p_.outputs[output].alias_contents = takes.by_copy;
    ReadAndWriteInPlace(taken, copied);
    return true;
  }

  void AliasArguments() {
    if (std::ranges::none_of(donations_, [](const Donation& d) { return d.donor || d.aliasing_output >= 0; })) return;
    buffer_of_input_.assign(p_.inputs.size(), kNoBuffer);
    buffer_of_output_.assign(p_.outputs.size(), kNoBuffer);
    for (uint32_t b = 0; b < p_.buffers.size(); ++b) {
      if (p_.buffers[b].kind == SlotKind::kArg) buffer_of_input_[p_.buffers[b].index] = b;
      if (p_.buffers[b].kind == SlotKind::kOut) buffer_of_output_[p_.buffers[b].index] = b;
    }
    for (uint32_t i = 0; i < donations_.size(); ++i) {
      const int32_t o = donations_[i].aliasing_output;
      if (o >= 0 && o < static_cast<int32_t>(p_.outputs.size())) TryAlias(i, static_cast<uint32_t>(o));
    }
    // Donors try the outputs of their shape that no argument has, the first ones first.
    std::map<std::string, std::list<uint32_t>> free;
    for (uint32_t o = 0; o < p_.outputs.size(); ++o) {
      if (p_.outputs[o].alias_input < 0) free[ToString(p_.outputs[o].shape)].push_back(o);
    }
    for (uint32_t i = 0; i < donations_.size(); ++i) {
      if (!donations_[i].donor) continue;
      const auto found = free.find(ToString(p_.inputs[i].shape));
      if (found == free.end()) continue;
      int tries = 0;
      for (auto o = found->second.begin(); o != found->second.end() && tries < policy::kMostOutputsTried;
           ++o, ++tries) {
        if (!TryAlias(i, *o)) continue;
        found->second.erase(o);
        break;
      }
    }
  }

  /// Whether `events` may come to lie in the output's memory, which may be an argument's, and settles that they do.
  bool JoinsOutput(uint32_t out, const Events& events) {
    if (KindOf(out) != SlotKind::kOut) return true;
    plan::Output& output = p_.outputs[p_.buffers[out].index];
    if (output.alias_input < 0) return true;
    Pairs taken, copied;
    const TakeOver takes =
        TakesOverArgument(buffer_of_input_[static_cast<size_t>(output.alias_input)], events, taken, copied);
    if (!takes.any) return false;
    output.alias_contents |= takes.by_copy;
    ReadAndWriteInPlace(taken, copied);
    return true;
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
          if (p_.buffers[p_.views[read].buffer].bytes < policy::kWorthInPlace ||
              !SamePlace(p_.views[read], p_.views[write]))
            continue;
          if (EventsOf(w).begin()->position != k.position || EventsOf(r).rbegin()->position != k.position) continue;
          if (!StaysInLoop(EventsOf(r), k.position)) continue;
          if (std::ranges::distance(EventsAt(EventsOf(r), k.position)) != 1) continue;
          if (!JoinsOutput(w, EventsOf(r))) continue;
          in_place_.push_back({write, read});
          Merge(r, w);
          break;
        }
      }
    }
  }

  // Loops as kernels
  // -------------------------------------------------------------------------------------------------------------------

  /// Makes kernels of the outermost loops that may be one. `loop` is the number of the first loop in `seq`.
  void LinkLoops(plan::Seq& seq, size_t& loop) {
    for (plan::Step& step : seq) {
      if (auto* w = std::get_if<plan::WhileStep>(&step.is)) {
        const size_t number = loop++;
        if (Link(step, number)) {
          while (loop < timeline_.loops.size() && timeline_.loops[loop].begin < timeline_.loops[number].end) ++loop;
          continue;
        }
        LinkLoops(w->condition, loop);
        LinkLoops(w->body, loop);
      } else if (auto* c = std::get_if<plan::CaseStep>(&step.is)) {
        for (plan::Seq& branch : c->branches) LinkLoops(branch, loop);
      }
    }
  }

  bool Link(plan::Step& step, size_t number) {
    const LoopRange range = timeline_.loops[number];
    LoopMemory memory;
    memory.place_of = [&](SlotId slot) { return Class(slot); };
    memory.outlives = [&](uint32_t c) {
      const Events& events = EventsOf(c);
      return KindOf(c) != SlotKind::kTemp || events.begin()->position < range.begin ||
             events.rbegin()->position > range.end;
    };
    std::optional<LinkedLoop> linked = LinkLoop(std::get<plan::WhileStep>(step.is), p_, memory, target_);
    if (!linked) return false;
    linked_.push_back({range.begin, range.end});
    for (uint32_t c : linked->inner) EventsOf(c).clear();
    plan::KernelStep kernel{static_cast<uint32_t>(p_.kernels.size()), std::move(linked->buffers), {}, linked->work};
    p_.kernels.push_back(std::move(linked->kernel));
    const auto& loop = std::get<plan::WhileStep>(step.is);
    for (const plan::Seq* inside : {&loop.condition, &loop.body}) CollectOrigins(*inside, step.origins);
    step.is = std::move(kernel);
    return true;
  }

  /// Those of all steps, each once, before what `origins` ends in.
  static void CollectOrigins(const plan::Seq& seq, SmallVector<uint32_t, 2>& origins) {
    for (const plan::Step& step : seq) {
      for (const uint32_t origin : step.origins) {
        if (std::find(origins.begin(), origins.end(), origin) != origins.end()) continue;
        origins.push_back(origin);
        if (origins.size() > 1) std::swap(origins.back(), origins[origins.size() - 2]);
      }
      if (const auto* w = std::get_if<plan::WhileStep>(&step.is)) {
        CollectOrigins(w->condition, origins);
        CollectOrigins(w->body, origins);
      } else if (const auto* c = std::get_if<plan::CaseStep>(&step.is)) {
        for (const plan::Seq& branch : c->branches) CollectOrigins(branch, origins);
      }
    }
  }

  // Places
  // -------------------------------------------------------------------------------------------------------------------------------

  /// What lives across a trip lives through the whole loop: the begin of the outermost loop around `position` that does
  /// not reach `other`, or the position itself.
  int32_t OutOfLoops(int32_t position, int32_t other, int32_t LoopRange::* side) const {
    int32_t result = position;
    for (int32_t i = timeline_.innermost[static_cast<size_t>(position)]; i >= 0;) {
      const LoopRange& loop = timeline_.loops[static_cast<size_t>(i)];
      if (loop.begin <= other && other <= loop.end) break;
      result = loop.*side;
      i = loop.parent;
    }
    return result;
  }

  void Place() {
    std::vector<Life> lives;
    std::vector<uint32_t> classes;
    for (uint32_t b = 0; b < p_.buffers.size(); ++b) {
      if (Leader(b) != b || KindOf(b) != SlotKind::kTemp || EventsOf(b).empty()) continue;
      const int32_t first = EventsOf(b).begin()->position, last = EventsOf(b).rbegin()->position;
      const int64_t bytes = (p_.buffers[b].bytes + kAlignment - 1) / kAlignment * kAlignment;
      lives.push_back({OutOfLoops(first, last, &LoopRange::begin), OutOfLoops(last, first, &LoopRange::end), bytes, 0});
      classes.push_back(b);
    }
    arena_ = PlaceLives(lives, timeline_.length + 1);
    offset_.assign(p_.buffers.size(), 0);
    for (size_t i = 0; i < lives.size(); ++i) offset_[classes[i]] = lives[i].offset;
  }

  // The plan
  // -----------------------------------------------------------------------------------------------------------------------------

  void MarkInPlace() {
    const std::unordered_map<SlotId, SlotId> taken(in_place_.begin(), in_place_.end());
    if (taken.empty()) return;
    // Forms by the kernel and the pairs (output, what it takes over).
    struct Form {
      uint32_t kernel = 0;
      bool keeps = false;  ///< It leaves some elements as they are.
    };
    std::map<std::pair<uint32_t, std::vector<std::pair<size_t, size_t>>>, Form> forms;
    for (const Timeline::KernelAt& k : timeline_.kernels) {
      std::vector<std::pair<size_t, size_t>> pairs;
      for (size_t i = 0; i < k.step->buffers.size(); ++i) {
        auto it = k.step->buffers[i] == plan::kNoSlot ? taken.end() : taken.find(k.step->buffers[i]);
        if (it == taken.end()) continue;
        for (size_t j = 0; j < k.step->buffers.size(); ++j) {
          if (k.step->buffers[j] == it->second) pairs.push_back({i, j});
        }
      }
      if (pairs.empty()) continue;
      const auto [it, fresh] = forms.try_emplace({k.step->kernel, pairs});
      Form& form = it->second;
      if (fresh) {
        kir::Kernel kernel = p_.kernels[k.step->kernel];
        for (const auto& [i, j] : pairs) kernel.buffers[i].in_place_of = static_cast<kir::Buf>(j);
        form = {static_cast<uint32_t>(p_.kernels.size()), DropKept(kernel)};
        if (form.keeps) DropDead(kernel);
        p_.kernels.push_back(std::move(kernel));
      }
      k.step->kernel = form.kernel;
      if (form.keeps) {
        for (const auto& [i, j] : pairs) KeepContents(k.step->buffers[i], k.step->buffers[j]);
      }
    }
  }

  /// The output that `write` is part of starts with what the argument behind `read` holds.
  void KeepContents(SlotId write, SlotId read) {
    const uint32_t to = Class(write);
    if (KindOf(Class(read)) == SlotKind::kArg && KindOf(to) == SlotKind::kOut)
      p_.outputs[p_.buffers[to].index].alias_contents = true;
  }

  /// Kernels that no step runs any more (replaced by in-place forms) go.
  void DropUnused(plan::Plan& plan) {
    std::vector<bool> used(plan.kernels.size(), false);
    for (const uint32_t* kernel : kept_) used[*kernel] = true;
    std::vector<uint32_t> number(plan.kernels.size(), 0);
    std::vector<kir::Kernel> kernels;
    for (size_t i = 0; i < plan.kernels.size(); ++i) {
      if (!used[i]) continue;
      number[i] = static_cast<uint32_t>(kernels.size());
      kernels.push_back(std::move(plan.kernels[i]));
    }
    plan.kernels = std::move(kernels);
    for (uint32_t* kernel : kept_) *kernel = number[*kernel];
  }

  void CollectKernels(plan::Seq& seq) {
    for (plan::Step& step : seq) {
      if (auto* k = std::get_if<plan::KernelStep>(&step.is)) kept_.push_back(&k->kernel);
      if (auto* d = std::get_if<plan::DriverStep>(&step.is)) {
        for (auto& [name, hook] : d->hooks) kept_.push_back(&hook.kernel);
      }
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
  static void ForEachSlot(const std::vector<kir::Kernel>& kernels, plan::Seq& seq, const F& f) {
    for (plan::Step& step : seq) {
      if (ForEachTouch(kernels, step, [&](SlotId& s, bool) { f(s); })) continue;
      if (auto* w = std::get_if<plan::WhileStep>(&step.is)) {
        ForEachSlot(kernels, w->condition, f);
        if (w->trip_count < 0) f(w->predicate);
        ForEachSlot(kernels, w->body, f);
        for (auto& [from, to] : w->carry) {
          f(from);
          f(to);
        }
      } else {
        auto& branch = std::get<plan::CaseStep>(step.is);
        f(branch.index);
        for (plan::Seq& s : branch.branches) ForEachSlot(kernels, s, f);
      }
    }
  }

  struct Values {
    std::vector<plan::ValueId> of_buffer;
    plan::ValueId last = 0;
  };
  /// Buffers are what the program calls arrays: each is a value, whatever memory it shares.
  plan::ValueId ValueOf(uint32_t buffer, Values& values) const {
    plan::ValueId& value = values.of_buffer[buffer];
    if (value == 0) value = KindOf(buffer) == SlotKind::kOut ? p_.buffers[buffer].index + 1 : ++values.last;
    return value;
  }

  plan::Plan Finish() {
    MarkInPlace();
    plan::Plan plan;
    plan.inputs = std::move(p_.inputs);
    plan.outputs = std::move(p_.outputs);
    plan.constants = std::move(p_.constants);
    plan.kernels = std::move(p_.kernels);
    plan.steps = std::move(p_.steps);
    plan.origins = std::move(p_.origins);
    // Only slots that steps name.
    std::vector<SlotId> number(p_.views.size(), plan::kNoSlot);
    std::vector<SlotId> used;
    ForEachSlot(plan.kernels, plan.steps, [&](SlotId& s) {
      if (number[s] == plan::kNoSlot) {
        number[s] = static_cast<SlotId>(used.size());
        used.push_back(s);
      }
      s = number[s];
    });
    Values values{std::vector<plan::ValueId>(p_.buffers.size(), 0), static_cast<plan::ValueId>(plan.outputs.size())};
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
      if (slot.kind == SlotKind::kTemp || slot.kind == SlotKind::kOut) slot.value = ValueOf(v.buffer, values);
      plan.slots.push_back(std::move(slot));
    }
    plan.arena_bytes = arena_;
    CollectKernels(plan.steps);
    DropUnused(plan);
    return plan;
  }

  FusedProgram p_;
  const std::vector<Donation>& donations_;
  const target::Target& target_;
  Timeline timeline_;
  mutable std::vector<uint32_t> leader_;  // Looking for a leader makes the way to it shorter.
  std::vector<int64_t> offset_;
  int64_t arena_ = 0;
  Pairs in_place_;  // (write, read) that now share memory.
  std::vector<uint32_t> buffer_of_input_, buffer_of_output_;
  std::vector<uint32_t*> kept_;                      ///< The kernels that steps and hooks name.
  std::vector<std::pair<int32_t, int32_t>> linked_;  // Positions of loops that are kernels now, in order.
};

}  // namespace

plan::Plan Schedule(FusedProgram program, const std::vector<Donation>& donations, const target::Target& target) {
  HoistInvariantSteps(program);
  return Scheduler(std::move(program), donations, target).Run();
}

}  // namespace tenon::compiler
