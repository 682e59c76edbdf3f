#include "tenon/plan/internal/verify_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tenon/base/strided_runs.h"
#include "tenon/kir/coverage.h"
#include "tenon/plan/internal/byte_map.h"
#include "tenon/plan/policy.h"

namespace tenon::plan::internal {
namespace {

using Is = Cell::Is;

/// The value of a donated argument's bytes, until its output takes them.
constexpr ValueId kArgument = ~0u;

/// A slot's bytes. All memory that is followed lies on one line of addresses: the arena, then the outputs, a donated
/// argument where its output is.
struct Bytes {
  bool followed = false;
  int64_t begin = 0, end = 0;  ///< From the first byte to the last; empty without elements.
  StridedRuns runs;
};

class Flow {
 public:
  explicit Flow(const Plan& plan) : plan_(plan) {}

  Status Run() {
    TENON_RETURN_IF_ERROR(LayOut());
    for (size_t o = 0; o < plan_.outputs.size(); ++o) {
      if (plan_.outputs[o].alias_input < 0) continue;
      map_.Assign(base_[o], base_[o + 1], {Is::kWhole, kArgument, kNoSlot}, nullptr);
    }
    TENON_RETURN_IF_ERROR(All(plan_.steps));
    for (size_t o = 0; o < plan_.outputs.size(); ++o) {
      const Wanted wanted{static_cast<ValueId>(o + 1), true, plan_.outputs[o].alias_contents};
      const Bytes all{true, base_[o], base_[o + 1], {base_[o], base_[o + 1] - base_[o], {}}};
      TENON_RETURN_IF_ERROR(Find(all, wanted).WithContext(fmt::format("output {} in the end", o)));
    }
    return OkStatus();
  }

 private:
  /// What a reader accepts.
  struct Wanted {
    ValueId value = 0;      ///< 0: any.
    bool unnamed = false;   ///< Bytes of no named value, too.
    bool argument = false;  ///< The argument's contents, too.
    bool Takes(const Cell& c) const {
      if (c.value == kArgument) return argument || value == kArgument;
      return value == 0 || c.value == value || (unnamed && c.value == 0);
    }
  };

  Status LayOut() {
    base_.push_back(plan_.arena_bytes);
    std::vector<int64_t> output_of(plan_.inputs.size(), -1);
    for (size_t o = 0; o < plan_.outputs.size(); ++o) {
      int64_t end;
      if (__builtin_add_overflow(base_.back(), SizeBytes(plan_.outputs[o].shape), &end))
        return InvalidArgument("the outputs are larger than 2^63 - 1 bytes");
      base_.push_back(end);
      const int32_t i = plan_.outputs[o].alias_input;
      if (i < 0) continue;
      int64_t& taken = output_of[static_cast<size_t>(i)];
      if (taken >= 0) return InvalidArgument(fmt::format("outputs {} and {} both alias argument {}", taken, o, i));
      taken = static_cast<int64_t>(o);
    }
    bytes_.reserve(plan_.slots.size());
    for (const Slot& slot : plan_.slots) {
      int64_t base = -1;
      if (slot.kind == SlotKind::kTemp) base = 0;
      if (slot.kind == SlotKind::kOut) base = base_[slot.index];
      if (slot.kind == SlotKind::kArg && output_of[slot.index] >= 0)
        base = base_[static_cast<size_t>(output_of[slot.index])];
      bytes_.push_back(base < 0 ? Bytes() : BytesOf(slot, base));
    }
    return OkStatus();
  }

  static Bytes BytesOf(const Slot& slot, int64_t base) {
    const int64_t width = ByteWidth(slot.dtype);
    SmallVector<StridedDim, 6> dims;
    for (size_t i = 0; i < slot.dims.size(); ++i) dims.push_back({slot.stride_elems[i] * width, slot.dims[i]});
    Bytes b{true, 0, 0, MakeStridedRuns(base + slot.offset_bytes, width, {dims.data(), dims.size()})};
    b.begin = b.runs.begin;
    b.end = b.runs.run == 0 ? b.begin : b.runs.end();
    return b;
  }

  // Messages
  // ---------------------------------------------------------------------------------------------------------

  std::string Place(int64_t begin, int64_t end) const {
    const size_t o = static_cast<size_t>(std::ranges::upper_bound(base_, begin) - base_.begin());
    if (o == 0) return fmt::format("bytes [{}, {}) of the arena", begin, end);
    return fmt::format("bytes [{}, {}) of output {}", begin - base_[o - 1], end - base_[o - 1], o - 1);
  }
  static std::string NameOf(ValueId value) {
    if (value == kArgument) return "the donated argument";
    return value == 0 ? "an unnamed value" : fmt::format("value {}", value);
  }
  static std::string From(const Cell& c) {
    return c.slot == kNoSlot ? "" : fmt::format(", which came through slot %{}", c.slot);
  }
  Status Missing(int64_t begin, int64_t end, const Cell* c) const {
    const std::string place = Place(begin, end);
    if (c == nullptr) return InvalidArgument(fmt::format("{} are never written before", place));
    switch (c->is) {
      case Is::kUnknown:
        return InvalidArgument(fmt::format("{} are not the same on every way here (another one brings {}{})", place,
                                           NameOf(c->value), From(*c)));
      case Is::kPartly:
        return InvalidArgument(
            fmt::format("{} are not surely written on every way here ({}{})", place, NameOf(c->value), From(*c)));
      case Is::kWhole:
        break;
    }
    return InvalidArgument(fmt::format("{} hold {}{}", place, NameOf(c->value), From(*c)));
  }

  // Memory
  // ----------------------------------------------------------------------------------------------------------

  void Set(int64_t begin, int64_t end, const Cell& cell) {
    if (!pieces_.empty()) {
      map_.Visit(begin, end, [&](int64_t, int64_t, const Cell* c) {
        if (c != nullptr && c->is == Is::kPartly && c->value != cell.value) pieces_.erase(c->value);
      });
    }
    map_.Assign(begin, end, cell, undo_);
  }

  /// Everything in [begin, end) that is not the value's for sure is so in part.
  void SetPartly(int64_t begin, int64_t end, ValueId value, SlotId slot) {
    std::vector<std::pair<int64_t, int64_t>> other;
    map_.Visit(begin, end, [&](int64_t from, int64_t to, const Cell* c) {
      if (c == nullptr || c->is != Is::kWhole || c->value != value) other.push_back({from, to});
    });
    for (const auto& [from, to] : other) Set(from, to, {Is::kPartly, value, slot});
  }

  void Write(SlotId slot) {
    const Bytes& b = bytes_[slot];
    if (!b.followed || b.begin == b.end) return;
    const ValueId value = plan_.slots[slot].value;
    if (checking_) read_.erase(value);
    if (b.runs.outer.empty()) return Set(b.begin, b.end, {Is::kWhole, value, slot});
    SetPartly(b.begin, b.end, value, slot);
    if (const auto whole = pieces_[value].Add(b.runs)) Set(whole->first, whole->second, {Is::kWhole, value, slot});
  }

  Status Read(SlotId slot) {
    if (!checking_) return OkStatus();
    if (plan_.slots[slot].value != 0) read_.insert(plan_.slots[slot].value);
    return Holds(slot);
  }

  /// An update of some elements, in place: which must come before any read, since the value has but one name.
  Status Update(SlotId slot) const {
    if (read_.contains(plan_.slots[slot].value)) {
      return InvalidArgument(
          fmt::format("slot %{} ({}) is updated after it was read", slot, NameOf(plan_.slots[slot].value)));
    }
    return Holds(slot).WithContext("written in part, and otherwise read");
  }

  /// Whether the slot's bytes are its value's.
  Status Holds(SlotId slot) const {
    const Bytes& b = bytes_[slot];
    if (!b.followed || b.begin == b.end) return OkStatus();
    const Slot& s = plan_.slots[slot];
    Wanted wanted{s.value};
    if (s.kind == SlotKind::kArg) wanted.value = kArgument;
    if (s.kind == SlotKind::kOut && s.value == 0) wanted.argument = plan_.outputs[s.index].alias_contents;
    Status status = Find(b, wanted);
    if (status.ok()) return status;
    return status.WithContext(
        fmt::format("slot %{}{}", slot, s.value != 0 ? fmt::format(" ({})", NameOf(s.value)) : ""));
  }

  Status Find(const Bytes& b, const Wanted& wanted) const {
    bool partly = false;
    Status wrong;
    map_.Visit(b.begin, b.end, [&](int64_t from, int64_t to, const Cell* c) {
      if (c != nullptr && wanted.Takes(*c) && c->is != Is::kUnknown) {
        partly |= c->is == Is::kPartly;
      } else if (wrong.ok()) {
        wrong = Missing(from, to, c);
      }
    });
    if (wrong.ok() && !partly) return wrong;
    if (!wrong.ok() && b.runs.outer.empty()) return wrong;
    const auto found = pieces_.find(wanted.value);
    if (found != pieces_.end() && found->second.HasLike(b.runs)) return OkStatus();
    return FindRuns(b, wanted, found == pieces_.end() ? nullptr : &found->second);
  }

  /// Run by run, in what is whole and in the parts of the value.
  Status FindRuns(const Bytes& b, const Wanted& wanted, const RunUnion* pieces) const {
    if (b.runs.CountRuns(policy::kReadRuns) > policy::kReadRuns) return OkStatus();
    std::optional<RangeSet> parts = RangeSet();
    if (pieces != nullptr) parts = pieces->Expand(policy::kReadRuns);
    if (!parts) return OkStatus();
    Status wrong;
    b.runs.ForEach([&](int64_t x, int64_t y) {
      if (!wrong.ok()) return;
      map_.Visit(x, y, [&](int64_t from, int64_t to, const Cell* c) {
        if (!wrong.ok()) return;
        const bool takes = c != nullptr && wanted.Takes(*c);
        if (takes && c->is == Is::kWhole) return;
        if (!(takes && c->is == Is::kPartly && parts->Contains(from, to))) wrong = Missing(from, to, c);
      });
    });
    return wrong;
  }

  // Effects of bodies
  // -------------------------------------------------------------------------------------------------------

  using Effect = std::vector<ByteMap::Range>;
  struct Effects {
    Effect condition;  ///< Of a loop.
    Effect trip;       ///< Of condition, body and carries; of a case: of one of its branches.
  };

  /// What `run` does to memory of which nothing is known.
  template <class F>
  ByteMap EffectOf(const F& run) {
    ByteMap map;
    Pieces pieces;
    std::swap(map, map_);
    std::swap(pieces, pieces_);
    const bool checking = std::exchange(checking_, false);
    std::vector<ByteMap::Change>* const undo = std::exchange(undo_, nullptr);
    run();
    undo_ = undo;
    checking_ = checking;
    std::swap(pieces, pieces_);
    std::swap(map, map_);
    return map;
  }

  const Effects& EffectsOf(const WhileStep& s) {
    if (const auto it = effects_.find(&s); it != effects_.end()) return it->second;
    Effects e;
    e.trip = EffectOf([&] {
               (void)All(s.condition);
               e.condition = map_.Ranges();
               (void)All(s.body);
               (void)Carry(s);
             }).Ranges();
    return effects_[&s] = std::move(e);
  }

  const Effects& EffectsOf(const CaseStep& s) {
    if (const auto it = effects_.find(&s); it != effects_.end()) return it->second;
    ByteMap all;
    for (size_t i = 0; i < s.branches.size(); ++i) {
      ByteMap one = EffectOf([&] { (void)All(s.branches[i]); });
      all = i == 0 ? std::move(one) : Join(all, one);
    }
    Effects e;
    e.trip = all.Ranges();
    return effects_[&s] = std::move(e);
  }

  /// As an effect: where nothing may happen just as well.
  static Cell Maybe(Cell c) {
    if (c.is == Is::kWhole) c.is = Is::kPartly;
    return c;
  }

  /// Either of them.
  static ByteMap Join(const ByteMap& a, const ByteMap& b) {
    ByteMap joined;
    for (const ByteMap::Range& r : a.Ranges()) {
      b.Visit(r.begin, r.end, [&](int64_t from, int64_t to, const Cell* c) {
        Cell cell = r.cell;
        if (c == nullptr || c->is == Is::kPartly) cell = Maybe(cell);
        if (c != nullptr && (c->is == Is::kUnknown || c->value != r.cell.value)) cell.is = Is::kUnknown;
        joined.Assign(from, to, cell, nullptr);
      });
    }
    for (const ByteMap::Range& r : b.Ranges()) {
      a.Visit(r.begin, r.end, [&](int64_t from, int64_t to, const Cell* c) {
        if (c == nullptr) joined.Assign(from, to, Maybe(r.cell), nullptr);
      });
    }
    return joined;
  }

  /// Parts of what an effect touches are not known any more.
  void ForgetPieces(const ByteMap::Range& r) {
    if (pieces_.empty()) return;
    pieces_.erase(r.cell.value);
    map_.Visit(r.begin, r.end, [&](int64_t, int64_t, const Cell* c) {
      if (c != nullptr && c->is == Is::kPartly) pieces_.erase(c->value);
    });
  }

  void Apply(const Effect& effect, bool maybe) {
    for (const ByteMap::Range& r : effect) {
      ForgetPieces(r);
      const Cell cell = maybe ? Maybe(r.cell) : r.cell;
      if (cell.is == Is::kPartly) {
        SetPartly(r.begin, r.end, cell.value, cell.slot);
      } else {
        Set(r.begin, r.end, cell);
      }
    }
  }

  /// What is known at the begin of every trip: what is so before the first one and is left so by each.
  void KeepWhatStays(const Effect& trip) {
    for (const ByteMap::Range& r : trip) {
      ForgetPieces(r);
      std::vector<std::pair<int64_t, int64_t>> lost;
      map_.Visit(r.begin, r.end, [&](int64_t from, int64_t to, const Cell* c) {
        const bool stays = c != nullptr && c->is == Is::kWhole && r.cell.is != Is::kUnknown && r.cell.value == c->value;
        if (!stays && c != nullptr) lost.push_back({from, to});
      });
      for (const auto& [from, to] : lost) Set(from, to, {Is::kUnknown, r.cell.value, r.cell.slot});
    }
  }

  /// Checks what `run` does from here, and takes it back.
  template <class F>
  Status Try(const F& run) {
    Pieces pieces;
    std::swap(pieces, pieces_);
    std::vector<ByteMap::Change> changes;
    std::vector<ByteMap::Change>* const undo = std::exchange(undo_, &changes);
    TENON_RETURN_IF_ERROR(run());
    undo_ = undo;
    for (size_t i = changes.size(); i-- > 0;) map_.Undo(changes[i]);
    std::swap(pieces, pieces_);
    return OkStatus();
  }

  // Steps
  // -----------------------------------------------------------------------------------------------------------

  Status All(const Seq& seq) {
    for (size_t i = 0; i < seq.size(); ++i) {
      Status s = std::visit([&](const auto& step) { return One(step); }, seq[i].is);
      if (!s.ok()) return s.WithContext(fmt::format("step {}", i));
    }
    return OkStatus();
  }

  bool Meet(SlotId a, SlotId b) const {
    const Bytes &x = bytes_[a], &y = bytes_[b];
    return x.followed && y.followed && x.begin < y.end && y.begin < x.end;
  }
  /// Dims (stride, extent), outermost first, without those of 1 and those that stay where they are, and those that run
  /// on into the next one joined with it: the order in which a view walks over its elements, whatever its shape.
  static std::vector<StridedDim> WalkOf(const Slot& slot) {
    std::vector<StridedDim> walk;
    for (size_t i = 0; i < slot.dims.size(); ++i) {
      const int64_t stride = slot.stride_elems[i], extent = slot.dims[i];
      if (extent == 1 || stride == 0) continue;
      if (!walk.empty() && walk.back().first == stride * extent) {
        walk.back() = {stride, walk.back().second * extent};
      } else {
        walk.push_back({stride, extent});
      }
    }
    return walk;
  }
  /// Whether the slots view the same elements in the same order.
  bool IsSame(SlotId a, SlotId b) const {
    const Bytes &x = bytes_[a], &y = bytes_[b];
    const Slot &s = plan_.slots[a], &t = plan_.slots[b];
    return x.followed && y.followed && x.begin == y.begin && s.dtype == t.dtype && WalkOf(s) == WalkOf(t);
  }

  /// Whether a kernel that finds both alike in its own words, whose buffers have the strides of neither, finds each
  /// element of the one where the other's is: as the other's do, or all of one run of memory, in any order.
  bool LieAlike(SlotId a, SlotId b) const {
    const Bytes &x = bytes_[a], &y = bytes_[b];
    const Slot &s = plan_.slots[a], &t = plan_.slots[b];
    const auto fills = [](const Bytes& bytes, const Slot& slot) {
      return bytes.followed && bytes.end - bytes.begin == NumElements(slot.dims) * ByteWidth(slot.dtype);
    };
    if (IsSame(a, b)) return true;
    return x.begin == y.begin && x.end == y.end && s.dtype == t.dtype && fills(x, s) && fills(y, t);
  }

  /// Whether the kernel surely writes each of its buffers, and never looks at what was there.
  const std::vector<bool>& CoverageOf(const KernelStep& s) {
    auto [it, fresh] =
        covered_.try_emplace({s.kernel, std::vector<int64_t>(s.params.begin(), s.params.end())}, std::vector<bool>());
    if (fresh) {
      const kir::Kernel& k = plan_.kernels[s.kernel];
      for (size_t i = 0; i < k.buffers.size(); ++i) {
        const std::span<const int64_t> params(s.params.data(), s.params.size());
        const auto buf = static_cast<kir::Buf>(i);
        it->second.push_back(k.buffers[i].kind == kir::BufKind::kOut && kir::WritesAll(k, buf, params) &&
                             !kir::ReadsOld(k, buf, params));
      }
    }
    return it->second;
  }

  Status One(const KernelStep& s) {
    const kir::Kernel& k = plan_.kernels[s.kernel];
    if (checking_) TENON_RETURN_IF_ERROR(CheckKernel(s, k).WithContext(fmt::format("kernel {}", s.kernel)));
    for (size_t i = 0; i < s.buffers.size(); ++i) {
      if (k.buffers[i].kind == kir::BufKind::kOut) Write(s.buffers[i]);
    }
    return OkStatus();
  }

  Status CheckKernel(const KernelStep& s, const kir::Kernel& k) {
    const std::vector<bool>* covered = nullptr;
    for (size_t i = 0; i < s.buffers.size(); ++i) {
      const kir::Buffer& buffer = k.buffers[i];
      const SlotId slot = s.buffers[i];
      if (buffer.kind == kir::BufKind::kArg || buffer.kind == kir::BufKind::kConst)
        TENON_RETURN_IF_ERROR(Read(slot).WithContext("read"));
      if (buffer.kind != kir::BufKind::kOut) continue;
      if (buffer.in_place_of != kir::kNoBuf) {
        const SlotId other = s.buffers[buffer.in_place_of];
        if (LieAlike(slot, other)) continue;
        if (Meet(slot, other))
          return InvalidArgument(fmt::format("%{} is written in place of %{}, which lies elsewhere", slot, other));
        // Nothing of the other's is here: all must be written.
      }
      if (covered == nullptr) covered = &CoverageOf(s);
      if (!(*covered)[i]) TENON_RETURN_IF_ERROR(Update(slot));
      for (size_t j = 0; j < s.buffers.size(); ++j) {
        if (i == j || s.buffers[j] == kNoSlot || !Meet(slot, s.buffers[j])) continue;
        const kir::BufKind kind = k.buffers[j].kind;
        // Two outputs may be parts of one value.
        if (kind == kir::BufKind::kOut ? plan_.slots[slot].value != plan_.slots[s.buffers[j]].value
                                       : plan_.slots[s.buffers[j]].kind == SlotKind::kArg)
          return InvalidArgument(fmt::format("output %{} overlaps %{}", slot, s.buffers[j]));
      }
    }
    return OkStatus();
  }

  template <class List>
  Status ReadAll(const List& slots) {
    for (SlotId slot : slots) {
      if (slot != kNoSlot) TENON_RETURN_IF_ERROR(Read(slot).WithContext("read"));
    }
    return OkStatus();
  }
  template <class List>
  void WriteAll(const List& slots) {
    for (SlotId slot : slots) {
      if (slot != kNoSlot) Write(slot);
    }
  }

  Status One(const DriverStep& s) {
    TENON_RETURN_IF_ERROR(ReadAll(s.inputs).WithContext(s.driver));
    for (const auto& [name, hook] : s.hooks) {
      for (size_t i = 0; i < hook.buffers.size(); ++i) {
        if (hook.buffers[i] != kNoSlot && plan_.kernels[hook.kernel].buffers[i].kind != kir::BufKind::kOut)
          TENON_RETURN_IF_ERROR(Read(hook.buffers[i]).WithContext("hook " + name));
      }
    }
    if (s.scratch != kNoSlot) Write(s.scratch);
    WriteAll(s.outputs);
    for (const auto& [name, hook] : s.hooks) {
      for (size_t i = 0; i < hook.buffers.size(); ++i) {
        if (plan_.kernels[hook.kernel].buffers[i].kind == kir::BufKind::kOut) Write(hook.buffers[i]);
      }
    }
    return OkStatus();
  }

  Status One(const CopyStep& s) {
    if (checking_) {
      TENON_RETURN_IF_ERROR(Read(s.from).WithContext("copy from"));
      if (Meet(s.from, s.to) && !SamePlace(plan_, s.from, s.to))
        return InvalidArgument(fmt::format("copies %{} to %{}, which overlap", s.from, s.to));
    }
    Write(s.to);
    return OkStatus();
  }

  Status Carry(const WhileStep& s) {
    for (const auto& [from, to] : s.carry) TENON_RETURN_IF_ERROR(Read(from).WithContext("carry from"));
    for (const auto& [from, to] : s.carry) Write(to);
    return OkStatus();
  }

  Status One(const WhileStep& s) {
    const Effects& effects = EffectsOf(s);
    if (checking_) {
      // The value has one name before the loop and after it: who reads it before might have meant what it becomes.
      for (const auto& [from, to] : s.carry) {
        if (read_.contains(plan_.slots[to].value))
          return InvalidArgument(fmt::format("carried slot %{} ({}) is read before the loop that changes it", to,
                                             NameOf(plan_.slots[to].value)));
        TENON_RETURN_IF_ERROR(Holds(to).WithContext("carried, and otherwise read"));
      }
      KeepWhatStays(effects.trip);
      TENON_RETURN_IF_ERROR(Try([&]() -> Status {
        TENON_RETURN_IF_ERROR(All(s.condition).WithContext("condition"));
        if (s.trip_count < 0) TENON_RETURN_IF_ERROR(Read(s.predicate).WithContext("predicate"));
        TENON_RETURN_IF_ERROR(All(s.body).WithContext("body"));
        return Carry(s);
      }));
    }
    if (s.trip_count < 0) {
      Apply(effects.trip, true);
      Apply(effects.condition, false);
    } else if (s.trip_count > 0) {
      Apply(effects.trip, false);
    }
    return OkStatus();
  }

  Status One(const CaseStep& s) {
    TENON_RETURN_IF_ERROR(Read(s.index).WithContext("branch index"));
    const Effects& effects = EffectsOf(s);
    for (size_t i = 0; checking_ && i < s.branches.size(); ++i)
      TENON_RETURN_IF_ERROR(Try([&] { return All(s.branches[i]).WithContext(fmt::format("branch {}", i)); }));
    Apply(effects.trip, false);
    return OkStatus();
  }

  Status One(const CustomCallStep& s) {
    TENON_RETURN_IF_ERROR(ReadAll(s.operands).WithContext("custom_call " + s.target));
    for (const auto& [result, operand] : s.aliases) {
      if (s.results[result] != kNoSlot && s.operands[operand] != kNoSlot)
        TENON_RETURN_IF_ERROR(Read(s.results[result]).WithContext("custom_call " + s.target + ": aliased result"));
    }
    WriteAll(s.results);
    return OkStatus();
  }

  Status One(const EvaluateStep& s) {
    TENON_RETURN_IF_ERROR(ReadAll(s.operands).WithContext("evaluate " + s.op));
    WriteAll(s.results);
    return OkStatus();
  }

  /// Of values that are written in strided parts: those parts that nothing has overwritten since.
  using Pieces = std::unordered_map<ValueId, RunUnion>;

  const Plan& plan_;
  std::vector<int64_t> base_;  ///< Where each output begins; one more for the end.
  std::vector<Bytes> bytes_;   ///< By slot.
  ByteMap map_;
  Pieces pieces_;
  std::unordered_set<ValueId> read_;  ///< Since they were written last.
  bool checking_ = true;
  std::vector<ByteMap::Change>* undo_ = nullptr;
  std::unordered_map<const void*, Effects> effects_;
  std::map<std::pair<uint32_t, std::vector<int64_t>>, std::vector<bool>> covered_;
};

}  // namespace

Status VerifyFlow(const Plan& plan) { return Flow(plan).Run(); }

}  // namespace tenon::plan::internal
