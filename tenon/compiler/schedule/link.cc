#include "tenon/compiler/schedule/link.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/integers.h"
#include "tenon/compiler/schedule/link_survey.h"
#include "tenon/compiler/schedule/policy.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/coverage.h"
#include "tenon/kir/walk.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

using kir::kNone;
using kir::Size;
using kir::Val;
using plan::SlotId;

namespace {

/// What one attempt found out for the next one.
struct Learnt {
  std::set<uint32_t> flat;                   ///< Places that are indexed by element.
  std::set<const plan::WhileStep*> stepped;  ///< Loops whose conditions are steps, not expressions.
};

/// Writes the loop as one kernel. Scalars are followed as values: those that loops change become carries, and memory
/// holds only what is computed from memory.
class Writer {
 public:
  Writer(const LinkSurvey& survey, FusedProgram& program, const target::Target& target, Learnt& learnt)
      : survey_(survey), p_(program), target_(target), learnt_(learnt) {}

  /// Whether trying again makes sense after a failure.
  bool again() const { return again_; }

  std::optional<LinkedLoop> Write(const plan::WhileStep& loop) {
    for (const auto& [id, place] : survey_.places) {
      if (place.is_scalar && place.outlives) in_memory_.insert(id);
    }
    kir::Seq seq;
    top_ = survey_.UsesOf(loop);
    for (auto& [id, use] : top_) {
      if (survey_.places.at(id).outlives) ++use.accesses;
    }
    scope_ = &top_;
    While(loop, seq);
    // What outlives the loop goes back to memory.
    kir::Stage finals;
    for (const auto& [id, value] : known_) {
      const LinkPlace& place = survey_.places.at(id);
      if (!place.outlives || !place.written) continue;
      kir::Store store;
      store.buf = BufferOf(id);
      store.at = {kir::AtOffset(Size::Of(0))};
      store.value = value;
      finals.stores.push_back(std::move(store));
    }
    if (!finals.stores.empty()) seq.push_back(kir::Step{std::move(finals)});
    if (failed_) return std::nullopt;
    LinkedLoop linked;
    b_.kernel().seq = std::move(seq);
    linked.kernel = b_.Finish();
    // Loops show now what their counters take.
    SimplifyIntegers(linked.kernel);
    DropDead(linked.kernel);
    linked.buffers = std::move(slots_);
    linked.work = survey_.WorkOf(loop);
    linked.work.launches = 1;
    for (const auto& [id, place] : survey_.places) {
      if (!place.outlives) linked.inner.push_back(id);
    }
    return linked;
  }

 private:
  void Fail() { failed_ = true; }
  void Again() { failed_ = again_ = true; }
  const LinkPlace& Place(uint32_t id) const { return survey_.places.at(id); }
  bool IsScalar(uint32_t id) const { return Place(id).is_scalar; }
  bool IsFlat(uint32_t id) const {
    const LinkPlace& place = Place(id);
    return place.flat || !place.form || learnt_.flat.contains(id);
  }
  void MakeFlat(uint32_t id) {
    learnt_.flat.insert(id);
    Again();
  }

  // Memory
  // -----------------------------------------------------------------------------------------------------------------

  kir::Buf AddBuffer(kir::BufKind kind, DType type, const Dims& extents, const Dims& strides, SlotId slot) {
    SmallVector<Size, 4> extent, stride;
    for (int64_t e : extents) extent.push_back(Size::Of(e));
    for (int64_t s : strides) stride.push_back(Size::Of(s));
    slots_.push_back(slot);
    return b_.AddBuffer(kind, type, std::move(extent), std::move(stride));
  }

  kir::Buf BufferOf(uint32_t id) {
    if (const auto it = buffer_.find(id); it != buffer_.end()) return it->second;
    const LinkPlace& place = Place(id);
    Form form{0, {place.elements}, {1}};
    if (!place.is_scalar && !IsFlat(id)) form = *place.form;
    kir::BufKind kind = kir::BufKind::kLocal;
    SlotId slot = plan::kNoSlot;
    if (place.outlives) {
      kind = place.written ? kir::BufKind::kOut : kir::BufKind::kArg;
      slot = place.written ? place.carried : SlotOfReader(place, form, !place.is_scalar && IsFlat(id));
      if (slot == plan::kNoSlot || p_.views[slot].offset_elems != form.offset) {
        Fail();
        slot = plan::kNoSlot;
      }
    }
    return buffer_[id] = AddBuffer(kind, place.dtype, form.extents, form.strides, slot);
  }

  /// A slot for memory that is only read: one value's, whole where it is indexed by element.
  SlotId SlotOfReader(const LinkPlace& place, const Form& form, bool flat) {
    for (SlotId s : place.read) {
      if (p_.views[s].buffer != p_.views[place.read[0]].buffer) return plan::kNoSlot;
    }
    for (SlotId s : place.read) {
      if (!flat && p_.views[s].offset_elems == form.offset) return s;
    }
    View whole{p_.views[place.read[0]].buffer, 0, place.dtype, {place.elements}, {1}};
    p_.views.push_back(std::move(whole));
    return static_cast<SlotId>(p_.views.size() - 1);
  }

  /// Axes of kernel axes `at`, which index memory as `form` says, in the place's own form.
  SmallVector<kir::Axis, 4> AxesOf(uint32_t id, const Form& form, const SmallVector<kir::Axis, 4>& at) {
    if (IsScalar(id)) return {kir::AtOffset(Size::Of(0))};
    const LinkPlace& place = Place(id);
    if (!IsFlat(id)) {
      if (*place.form == form) return at;
      MakeFlat(id);
      return at;
    }
    kir::Axis flat;
    int64_t offset = form.offset;
    Val start = kNone;
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t stride = form.strides[i];
      offset += at[i].offset.baked * stride;
      for (const kir::Term& term : at[i].terms) {
        const auto same =
            std::find_if(flat.terms.begin(), flat.terms.end(), [&](const kir::Term& t) { return t.dim == term.dim; });
        if (same == flat.terms.end()) {
          flat.terms.push_back({term.dim, Size::Of(term.coef.baked * stride)});
        } else {
          same->coef = Size::Of(same->coef.baked + term.coef.baked * stride);
        }
      }
      if (at[i].start == kNone) continue;
      Val part = b_.Convert(DType::kS64, at[i].start);
      if (stride != 1) part = b_.Mul(part, b_.ConstS64(stride));
      start = start == kNone ? part : b_.Add(start, part);
    }
    flat.offset = Size::Of(offset);
    flat.start = start;
    return {flat};
  }

  Val Signal() {
    if (signal_ == kir::kNoBuf) signal_ = AddBuffer(kir::BufKind::kSignal, DType::kPred, {1}, {1}, plan::kNoSlot);
    return b_.Read(signal_, {kir::AtOffset(Size::Of(0))});
  }

  // Scalars
  // ----------------------------------------------------------------------------------------------------------------

  /// Whether the value stays what it is when memory changes.
  bool IsPure(Val v) {
    for (Val n = static_cast<Val>(pure_.size()); n <= v; ++n) {
      const kir::Node& node = b_.node(n);
      bool pure = std::all_of(node.in.begin(), node.in.end(), [&](Val in) { return pure_[in]; });
      if (node.op == kir::Op::kIndex) pure = false;
      if (node.op == kir::Op::kRead) {
        const kir::Read& read = b_.kernel().reads[node.attr];
        const kir::BufKind kind = b_.kernel().buffers[read.buf].kind;
        pure = kind == kir::BufKind::kArg || kind == kir::BufKind::kConst;
        for (const kir::Axis& a : read.at) pure &= a.terms.empty() && (a.start == kNone || pure_[a.start]);
        pure &= read.guard.empty();
      }
      pure_.push_back(pure);
    }
    return pure_[v];
  }

  /// The bits of a scalar that the program knows.
  std::optional<uint64_t> Constant(const LinkPlace& place) const {
    if (place.written || place.read.empty()) return std::nullopt;
    const LogicalBuffer& buffer = p_.buffers[p_.views[place.read[0]].buffer];
    if (buffer.kind != plan::SlotKind::kConst) return std::nullopt;
    const std::string& bytes = *p_.constants[buffer.index].bytes;
    const auto width = static_cast<size_t>(ByteWidth(place.dtype));
    if (bytes.size() != width || width > sizeof(uint64_t) || DTypeBits(place.dtype) % 8 != 0) return std::nullopt;
    return ElementBits(place.dtype, bytes.data());
  }

  Val ReadScalar(uint32_t id) { return b_.Read(BufferOf(id), {kir::AtOffset(Size::Of(0))}); }

  /// The scalar as it is now.
  Val Current(uint32_t id) {
    if (const auto it = known_.find(id); it != known_.end()) return it->second;
    const LinkPlace& place = Place(id);
    if (const std::optional<uint64_t> bits = Constant(place)) return b_.ConstBits(place.dtype, *bits);
    if (in_memory_.contains(id)) return ReadScalar(id);
    return b_.ConstBits(place.dtype, 0);  // Nobody reads it.
  }

  void Become(uint32_t id, Val value, kir::Stage& stage) {
    if (IsPure(value)) {
      known_[id] = value;
      in_memory_.erase(id);
      return;
    }
    const ScalarUse& use = top_.at(id);
    if (use.accesses == 2 && use.certain && !use.exposed && learnt_.stepped.empty()) {
      known_[id] = value;
      in_memory_.erase(id);
      waiting_[id] = MemoryBehind(value);
      return;
    }
    Keep(id, value, stage);
  }

  void Keep(uint32_t id, Val value, kir::Stage& stage) {
    Store(stage, BufferOf(id), {kir::AtOffset(Size::Of(0))}, 0, value);
    known_.erase(id);
    in_memory_.insert(id);
  }

  /// Buffers that a value is read from and that may change.
  std::set<kir::Buf> MemoryBehind(Val value) {
    std::set<kir::Buf> buffers;
    std::vector<Val> next{value};
    std::set<Val> seen;
    while (!next.empty()) {
      const Val v = next.back();
      next.pop_back();
      if (IsPure(v) || !seen.insert(v).second) continue;
      const kir::Node& node = b_.node(v);
      kir::ForEachInput(b_.kernel(), node, [&](Val in) { next.push_back(in); });
      if (node.op == kir::Op::kRead) buffers.insert(b_.kernel().reads[node.attr].buf);
    }
    return buffers;
  }

  /// Stores a waiting scalar before memory behind it changes.
  void Settle(uint32_t id, kir::Seq& out) {
    waiting_.erase(id);
    kir::Stage stage;
    Keep(id, known_.at(id), stage);
    out.push_back(kir::Step{std::move(stage)});
  }
  void SettleAll(kir::Seq& out) {
    while (!waiting_.empty()) Settle(waiting_.begin()->first, out);
  }

  /// Before a kernel: what waits and is read by it alone becomes part of it, unless it writes to the memory behind.
  void SettleFor(const plan::KernelStep& s, kir::Seq& out) {
    if (waiting_.empty()) return;
    const kir::Kernel& k = p_.kernels[s.kernel];
    const auto* stage = k.seq.size() == 1 ? std::get_if<kir::Stage>(&k.seq[0].is) : nullptr;
    const bool point = stage != nullptr && k.outer == 0 && stage->dims.empty();
    std::set<uint32_t> read;
    std::set<kir::Buf> written;
    for (size_t i = 0; i < s.buffers.size(); ++i) {
      if (s.buffers[i] == plan::kNoSlot) continue;
      const uint32_t id = survey_.PlaceOf(s.buffers[i]);
      if (k.buffers[i].kind == kir::BufKind::kOut) {
        if (const auto it = buffer_.find(id); it != buffer_.end()) written.insert(it->second);
      } else {
        read.insert(id);
      }
    }
    const auto waiting = waiting_;
    for (const auto& [id, behind] : waiting) {
      const bool touched =
          std::any_of(behind.begin(), behind.end(), [&](kir::Buf buf) { return written.contains(buf); });
      if (read.contains(id) ? stage != nullptr && (point || !touched) : !touched) {
        if (read.contains(id)) waiting_.erase(id);
      } else {
        Settle(id, out);
      }
    }
  }

  // Loops
  // ------------------------------------------------------------------------------------------------------------------

  /// Scalars that a part of the program changes, and that matter before or after it.
  std::vector<uint32_t> CarriesOf(const ScalarUses& uses) const {
    std::vector<uint32_t> carries;
    for (const auto& [id, use] : uses) {
      if (!IsScalar(id) || !use.written) continue;
      const auto around = scope_->find(id);
      const bool outside = around != scope_->end() && around->second.accesses > use.accesses;
      if (use.exposed || outside) carries.push_back(id);
    }
    return carries;
  }

  /// The uses within a part that carries these scalars: what it carries matters at its end.
  static ScalarUses Inside(ScalarUses uses, const std::vector<uint32_t>& carries) {
    for (uint32_t id : carries) ++uses[id].accesses;
    return uses;
  }

  /// A loop that carries scalars, while it is being written.
  struct Open {
    kir::Loop loop;
    std::vector<uint32_t> carries;
    std::unordered_map<uint32_t, Val> known;
    std::set<uint32_t> in_memory;
  };

  Open Enter(std::vector<uint32_t> carries) {
    Open open;
    open.loop.id = b_.NewId();
    for (uint32_t id : carries) {
      open.loop.types.push_back(Place(id).dtype);
      open.loop.init.push_back(Current(id));
    }
    open.carries = std::move(carries);
    return open;
  }
  void Begin(Open& open) {
    open.known = known_;
    open.in_memory = in_memory_;
    if (open.loop.types.size() > static_cast<size_t>(target_.limits.carries)) return Fail();
    SetCarried(open);
  }
  void SetCarried(const Open& open) {
    for (size_t i = 0; i < open.carries.size(); ++i) {
      known_[open.carries[i]] = b_.Carried(open.loop.id, i, Place(open.carries[i]).dtype);
      in_memory_.erase(open.carries[i]);
    }
  }
  /// After the body: the carries' next values, those of the scalars first; then what is known behind the loop.
  void Leave(Open& open, const ScalarUses& uses, const std::vector<Val>& more_next) {
    for (uint32_t id : open.carries) open.loop.next.push_back(Current(id));
    open.loop.next.insert(open.loop.next.end(), more_next.begin(), more_next.end());
    known_ = std::move(open.known);
    in_memory_ = std::move(open.in_memory);
    for (const auto& [id, use] : uses) {
      if (!IsScalar(id) || !use.written) continue;
      known_.erase(id);
      in_memory_.erase(id);
    }
    SetCarried(open);
  }

  void While(const plan::WhileStep& w, kir::Seq& out) {
    if (failed_) return;
    SettleAll(out);
    const ScalarUses uses = survey_.UsesOf(w);
    std::vector<uint32_t> carries = CarriesOf(uses);
    const bool stepped = w.trip_count < 0 && learnt_.stepped.contains(&w);
    const uint32_t predicate = w.trip_count < 0 ? survey_.PlaceOf(w.predicate) : 0;
    if (stepped) {
      Steps(w.condition, out);
      if (std::find(carries.begin(), carries.end(), predicate) == carries.end()) carries.push_back(predicate);
    }
    if (w.trip_count < 0 && !IsScalar(predicate)) return Fail();
    const bool polls = w.trip_count < 0 || TimeNs(w) > policy::kUnpolledNs;

    Open open = Enter(std::move(carries));
    const size_t counter = open.loop.types.size();
    if (w.trip_count >= 0 && polls) {
      open.loop.types.push_back(DType::kS64);
      open.loop.init.push_back(b_.ConstS64(0));
    }
    Begin(open);
    if (failed_) return;
    const ScalarUses inner = Inside(uses, open.carries);
    const ScalarUses* const around = std::exchange(scope_, &inner);
    std::vector<Val> more_next;
    kir::Seq body;
    Val again = kNone;
    if (w.trip_count >= 0 && polls) {
      const Val count = b_.Carried(open.loop.id, counter, DType::kS64);
      again = b_.Compare(kir::kLt, count, b_.ConstS64(w.trip_count));
      more_next.push_back(b_.Add(count, b_.ConstS64(1)));
    } else if (w.trip_count < 0) {
      if (!stepped) {
        kir::Seq steps;
        Steps(w.condition, steps);
        SettleAll(steps);
        if (!steps.empty() || !known_.contains(predicate)) {
          learnt_.stepped.insert(&w);
          return Again();
        }
      }
      again = Current(predicate);
    }
    if (again != kNone) {
      open.loop.condition = b_.And(again, b_.Compare(kir::kEq, Signal(), b_.ConstPred(false)));
    } else {
      open.loop.trip_count = Size::Of(w.trip_count);
    }
    Steps(w.body, body);
    SettleAll(body);
    Carry(w.carry, body);
    if (stepped) Steps(w.condition, body);
    if (failed_) return;
    scope_ = around;
    Leave(open, uses, more_next);
    open.loop.body = std::move(body);
    out.push_back(kir::Step{std::move(open.loop)});
  }

  double TimeNs(const plan::WhileStep& w) const {
    target::Work work = survey_.WorkOf(w);
    work.launches = 0;
    return target::TimeNs(target_, work);
  }

  /// Copies as if at once: what others still read is overwritten last.
  void Carry(const std::vector<std::pair<SlotId, SlotId>>& pairs, kir::Seq& out) {
    struct Pair {
      SlotId from, to;
      kir::Buf saved;  ///< Where the next value waits.
    };
    std::vector<Pair> left;
    std::vector<std::pair<uint32_t, Val>> scalars;
    for (const auto& [from, to] : pairs) {
      const uint32_t f = survey_.PlaceOf(from), t = survey_.PlaceOf(to);
      if (f == t) {
        if (!SameView(from, to)) Fail();
      } else if (IsScalar(t) && IsScalar(f) && known_.contains(f)) {
        scalars.emplace_back(t, known_[f]);
      } else {
        left.push_back({from, to, kir::kNoBuf});
      }
    }
    while (!left.empty() && !failed_) {
      const auto free = std::find_if(left.begin(), left.end(), [&](const Pair& pair) {
        const uint32_t t = survey_.PlaceOf(pair.to);
        return std::none_of(left.begin(), left.end(), [&](const Pair& other) {
          return &other != &pair && other.saved == kir::kNoBuf && survey_.PlaceOf(other.from) == t;
        });
      });
      if (free != left.end()) {
        Copy(free->from, free->to, out, free->saved);
        left.erase(free);
        continue;
      }
      // They go round: the first one that does waits outside.
      const auto first = std::find_if(left.begin(), left.end(), [](const Pair& p) { return p.saved == kir::kNoBuf; });
      const View& view = p_.views[first->from];
      first->saved = AddBuffer(kir::BufKind::kLocal, view.dtype, {NumElements(view.dims)}, {1}, plan::kNoSlot);
      Move(first->from, first->saved, out);
    }
    for (const auto& [id, value] : scalars) {
      known_[id] = value;
      in_memory_.erase(id);
    }
  }

  bool SameView(SlotId a, SlotId b) const {
    const View &x = p_.views[a], &y = p_.views[b];
    if (x.offset_elems != y.offset_elems || NumElements(x.dims) != NumElements(y.dims)) return false;
    if (IsDense(x) && IsDense(y)) return true;
    if (!(x.dims == y.dims)) return false;
    for (size_t i = 0; i < x.dims.size(); ++i) {
      if (x.dims[i] != 1 && x.strides[i] != y.strides[i]) return false;
    }
    return true;
  }

  // Steps
  // ------------------------------------------------------------------------------------------------------------------

  void Steps(const plan::Seq& seq, kir::Seq& out) {
    for (const plan::Step& step : seq) {
      if (failed_) return;
      if (const auto* k = std::get_if<plan::KernelStep>(&step.is)) {
        Kernel(*k, out);
      } else if (const auto* c = std::get_if<plan::CopyStep>(&step.is)) {
        Copy(c->from, c->to, out);
      } else if (const auto* w = std::get_if<plan::WhileStep>(&step.is)) {
        While(*w, out);
      } else if (const auto* b = std::get_if<plan::CaseStep>(&step.is)) {
        Case(*b, out);
      }
    }
  }

  /// Branches are loops of one trip or none. All of them are decided before the first one runs.
  void Case(const plan::CaseStep& c, kir::Seq& out) {
    SettleAll(out);
    const uint32_t id = survey_.PlaceOf(c.index);
    if (!IsScalar(id)) return Fail();
    const Val index = Current(id);
    const size_t n = c.branches.size();
    std::vector<Val> takes;
    for (size_t i = 0; i < n; ++i) {
      if (Place(id).dtype == DType::kPred) {
        const Val no = b_.Compare(kir::kEq, index, b_.ConstPred(false));
        // More branches than two values, or one alone: the last one takes the rest.
        if (n == 1) {
          takes.push_back(b_.ConstPred(true));
        } else {
          takes.push_back(i == 0 ? no : i == 1 ? b_.Compare(kir::kEq, no, b_.ConstPred(false)) : b_.ConstPred(false));
        }
        continue;
      }
      if (i + 1 < n) {
        takes.push_back(b_.Compare(kir::kEq, index, b_.ConstS32(static_cast<int32_t>(i))));
      } else {
        const Val low = b_.Compare(kir::kLt, index, b_.ConstS32(0));
        takes.push_back(b_.Or(low, b_.Compare(kir::kGe, index, b_.ConstS32(static_cast<int32_t>(n) - 1))));
      }
    }
    for (size_t i = 0; i < n && !failed_; ++i) {
      const ScalarUses uses = survey_.UsesOf(c.branches[i]);
      std::vector<uint32_t> carries = CarriesOf(uses);
      // What the branch reads passes through it, too: what only the branch computes is not computed without it.
      for (const auto& [place, use] : uses) {
        if (IsScalar(place) && use.exposed && known_.contains(place) &&
            std::find(carries.begin(), carries.end(), place) == carries.end())
          carries.push_back(place);
      }
      Open open = Enter(std::move(carries));
      const size_t first = open.loop.types.size();
      for (size_t j = i; j < n; ++j) {
        open.loop.types.push_back(DType::kPred);
        open.loop.init.push_back(takes[j]);
      }
      Begin(open);
      if (failed_) return;
      std::vector<Val> next{b_.ConstPred(false)};
      for (size_t j = i; j < n; ++j) takes[j] = b_.Carried(open.loop.id, first + j - i, DType::kPred);
      next.insert(next.end(), takes.begin() + static_cast<std::ptrdiff_t>(i) + 1, takes.end());
      open.loop.condition = takes[i];
      const ScalarUses inner = Inside(uses, open.carries);
      const ScalarUses* const around = std::exchange(scope_, &inner);
      Steps(c.branches[i], open.loop.body);
      SettleAll(open.loop.body);
      if (failed_) return;
      scope_ = around;
      Leave(open, uses, next);
      out.push_back(kir::Step{std::move(open.loop)});
    }
  }

  /// Axes over dims of those extents, which become dims of the stage.
  SmallVector<kir::Axis, 4> Walk(const Dims& extents, kir::Stage& stage) {
    SmallVector<kir::Axis, 4> at;
    used_dims_ = 0;
    for (int64_t extent : extents) {
      if (extent == 1) {
        at.push_back(kir::AtOffset(Size::Of(0)));
        continue;
      }
      stage.dims.push_back(DimOf(extent, kir::DimKind::kParallel));
      at.push_back(kir::At(stage.dims.back()));
    }
    return at;
  }

  /// The place of such axes in a dense row of elements.
  static kir::Axis InRow(const SmallVector<kir::Axis, 4>& at, const Dims& extents) {
    kir::Axis row;
    const Dims strides = RowMajorStridesElems(extents);
    for (size_t i = 0; i < at.size(); ++i) {
      for (const kir::Term& t : at[i].terms) row.terms.push_back({t.dim, Size::Of(strides[i])});
    }
    return row;
  }

  /// One store per part of the elements.
  void Store(kir::Stage& stage, kir::Buf buf, const SmallVector<kir::Axis, 4>& at, int component, Val value) {
    kir::Store store;
    store.buf = buf;
    store.at = at;
    store.value = value;
    store.component = static_cast<uint8_t>(component);
    stage.stores.push_back(std::move(store));
  }

  /// The view's elements, one behind the other.
  void Move(SlotId from, kir::Buf to, kir::Seq& out) {
    const View& x = p_.views[from];
    const uint32_t f = survey_.PlaceOf(from);
    kir::Stage stage;
    const SmallVector<kir::Axis, 4> at = Walk(x.dims, stage);
    for (int component = 0; component < (IsComplex(x.dtype) ? 2 : 1) && !failed_; ++component) {
      const Val value = IsScalar(f)
                            ? Current(f)
                            : b_.Read(BufferOf(f), AxesOf(f, {x.offset_elems, x.dims, x.strides}, at), component);
      Store(stage, to, {InRow(at, x.dims)}, component, value);
    }
    out.push_back(kir::Step{std::move(stage)});
  }

  /// `saved`: where the elements wait in a row; else they are where `from` views them.
  void Copy(SlotId from, SlotId to, kir::Seq& out, kir::Buf saved = kir::kNoBuf) {
    const uint32_t f = survey_.PlaceOf(from), t = survey_.PlaceOf(to);
    if (f == t) {
      if (!SameView(from, to)) Fail();
      return;
    }
    SettleAll(out);
    kir::Stage stage;
    const View &x = p_.views[from], &y = p_.views[to];
    if (IsScalar(f) && IsScalar(t)) {
      Become(t, saved == kir::kNoBuf ? Current(f) : b_.Read(saved, {kir::AtOffset(Size::Of(0))}), stage);
      if (!stage.stores.empty()) out.push_back(kir::Step{std::move(stage)});
      return;
    }
    Form a{x.offset_elems, x.dims, x.strides}, b{y.offset_elems, y.dims, y.strides};
    if (IsDense(x) && IsDense(y)) {
      // Dense arrays in any shape: that of whoever has one.
      Form like{0, {NumElements(x.dims)}, {1}};
      for (uint32_t id : {f, t}) {
        const LinkPlace& place = Place(id);
        if (IsScalar(id) || IsFlat(id) || NumElements(place.form->extents) != NumElements(x.dims)) continue;
        if (place.form->strides == RowMajorStridesElems(place.form->extents)) like = *place.form;
      }
      a.extents = b.extents = like.extents;
      a.strides = b.strides = like.strides;
    }
    const SmallVector<kir::Axis, 4> at = Walk(b.extents, stage);
    for (int component = 0; component < (IsComplex(x.dtype) ? 2 : 1) && !failed_; ++component) {
      Val value;
      if (saved != kir::kNoBuf) {
        value = b_.Read(saved, {InRow(at, b.extents)}, component);
      } else {
        value = IsScalar(f) ? Current(f) : b_.Read(BufferOf(f), AxesOf(f, a, at), component);
      }
      if (IsScalar(t)) {
        if (!stage.dims.empty()) return Fail();
        Become(t, value, stage);
        break;
      }
      Store(stage, BufferOf(t), AxesOf(t, b, at), component, value);
    }
    if (!stage.stores.empty()) out.push_back(kir::Step{std::move(stage)});
  }

  /// A dim of that extent that the kernel or copy at hand does not use yet.
  kir::DimId DimOf(int64_t extent, kir::DimKind kind) {
    const std::vector<kir::Dim>& dims = b_.kernel().dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (used_dims_ >> d & 1 || dims[d].kind != kind || dims[d].extent.baked != extent) continue;
      used_dims_ |= kir::DimMask{1} << d;
      return static_cast<kir::DimId>(d);
    }
    if (static_cast<int64_t>(dims.size()) >= target_.limits.dims) {
      Fail();
      return 0;
    }
    used_dims_ |= kir::DimMask{1} << dims.size();
    return b_.AddDim(Size::Of(extent), kind);
  }

  /// One kernel of the loop on its way into the new one.
  struct Moving {
    const plan::KernelStep& step;
    const kir::Kernel& k;
    std::vector<kir::DimId> dims;
    std::vector<Val> counters;  ///< By dim: its value where it is a loop; kNone where it stays a dim.
    std::vector<uint32_t> counter_ids;
    std::vector<kir::Buf> locals;
    std::unordered_map<uint32_t, uint32_t> ids;
    std::vector<Val> nodes;

    Size Of(Size s) const { return Size::Of(s.Value(step.params.data())); }
  };

  void Kernel(const plan::KernelStep& s, kir::Seq& out) {
    const kir::Kernel& k = p_.kernels[s.kernel];
    SettleFor(s, out);
    Moving m{s, k, {}, {}, {}, {}, {}, {}};
    used_dims_ = 0;
    for (size_t d = 0; d < k.dims.size(); ++d) {
      const int64_t extent = m.Of(k.dims[d].extent).baked;
      m.counters.push_back(kNone);
      m.counter_ids.push_back(0);
      m.dims.push_back(0);
      if (!LinkSurvey::RunsAsLoop(k, static_cast<kir::DimId>(d))) {
        m.dims.back() = DimOf(extent, k.dims[d].kind);
        continue;
      }
      m.counter_ids.back() = b_.NewId();
      b_.ConstS64(0);  // The loop's first value comes before what it carries.
      // Whoever proves where accesses go sees the range.
      const Val count = b_.Carried(m.counter_ids.back(), 0, DType::kS64);
      m.counters.back() = b_.Min(b_.Max(count, b_.ConstS64(0)), b_.ConstS64(std::max<int64_t>(0, extent - 1)));
    }
    m.locals.assign(k.buffers.size(), kir::kNoBuf);
    for (size_t i = 0; i < k.buffers.size(); ++i) {
      if (k.buffers[i].kind != kir::BufKind::kLocal) continue;
      Dims extents, strides;
      for (Size e : k.buffers[i].extent) extents.push_back(m.Of(e).baked);
      for (Size e : k.buffers[i].stride) strides.push_back(m.Of(e).baked);
      m.locals[i] = AddBuffer(kir::BufKind::kLocal, k.buffers[i].type, extents, strides, plan::kNoSlot);
    }
    NewIds(k.seq, m);
    for (const kir::Node& node : k.nodes) {
      m.nodes.push_back(Node(node, m));
      if (failed_) return;
    }
    kir::Seq steps;
    for (const kir::Step& step : k.seq) {
      steps.push_back(Step(step, m, true));
      auto* stage = std::get_if<kir::Stage>(&steps.back().is);
      if (stage == nullptr) continue;
      if (stage->stores.empty() && stage->reduces.empty()) {
        steps.pop_back();
        continue;
      }
      const auto& dims = std::get<kir::Stage>(step.is).dims;
      for (size_t i = dims.size(); i-- > 0;) {
        if (m.counters[dims[i]] != kNone) RunAsLoop(dims[i], m, steps, steps.size() - 1);
      }
    }
    for (size_t d = k.outer; d-- > 0;) {
      if (m.counters[d] != kNone) RunAsLoop(static_cast<kir::DimId>(d), m, steps, 0);
    }
    for (kir::Step& step : steps) out.push_back(std::move(step));
  }

  /// The steps from `first` on go into a loop over the dim.
  void RunAsLoop(kir::DimId dim, const Moving& m, kir::Seq& steps, size_t first) {
    if (steps.size() == first) return;
    kir::Loop loop;
    loop.id = m.counter_ids[dim];
    loop.types = {DType::kS64};
    loop.init = {b_.ConstS64(0)};
    loop.next = {b_.Add(b_.Carried(loop.id, 0, DType::kS64), b_.ConstS64(1))};
    loop.trip_count = m.Of(m.k.dims[dim].extent);
    std::move(steps.begin() + static_cast<std::ptrdiff_t>(first), steps.end(), std::back_inserter(loop.body));
    steps.resize(first);
    steps.push_back(kir::Step{std::move(loop)});
  }

  void NewIds(const kir::Seq& seq, Moving& m) {
    for (const kir::Step& step : seq) {
      if (const auto* stage = std::get_if<kir::Stage>(&step.is)) {
        for (const kir::Reduce& r : stage->reduces) m.ids[r.id] = b_.NewId();
      } else {
        const auto& loop = std::get<kir::Loop>(step.is);
        m.ids[loop.id] = b_.NewId();
        NewIds(loop.body, m);
      }
    }
  }

  kir::Axis Axis(const kir::Axis& a, const Moving& m) {
    kir::Axis axis;
    axis.offset = m.Of(a.offset);
    axis.start = a.start == kNone ? kNone : m.nodes[a.start];
    for (const kir::Term& t : a.terms) {
      const int64_t coef = m.Of(t.coef).baked;
      if (m.counters[t.dim] == kNone) {
        axis.terms.push_back({m.dims[t.dim], Size::Of(coef)});
        continue;
      }
      const Val part = coef == 1 ? m.counters[t.dim] : b_.Mul(m.counters[t.dim], b_.ConstS64(coef));
      axis.start = axis.start == kNone ? part : b_.Add(b_.Convert(DType::kS64, axis.start), part);
    }
    return axis;
  }
  SmallVector<kir::Guard, 1> Guards(const SmallVector<kir::Guard, 1>& guards, const Moving& m) {
    SmallVector<kir::Guard, 1> result;
    for (const kir::Guard& g : guards) result.push_back({Axis(g.e, m), m.Of(g.lo), m.Of(g.hi), g.mod});
    return result;
  }
  /// Buffer and axes of an access.
  std::pair<kir::Buf, SmallVector<kir::Axis, 4>> Access(kir::Buf buf, const SmallVector<kir::Axis, 4>& from,
                                                        const Moving& m) {
    SmallVector<kir::Axis, 4> at;
    for (const kir::Axis& a : from) at.push_back(Axis(a, m));
    if (m.locals[buf] != kir::kNoBuf) return {m.locals[buf], std::move(at)};
    const uint32_t id = survey_.PlaceOf(m.step.buffers[buf]);
    return {BufferOf(id), AxesOf(id, survey_.FormOf(m.step, buf), at)};
  }

  Val Node(const kir::Node& n, Moving& m) {
    kir::Node node = n;
    for (Val& in : node.in) in = m.nodes[in];
    switch (n.op) {
      case kir::Op::kConst:
        return b_.ConstBits(n.type, m.k.literals[n.attr]);
      case kir::Op::kIndex:
        return m.counters[n.attr] != kNone ? m.counters[n.attr] : b_.Index(m.dims[n.attr]);
      case kir::Op::kParam:
        return b_.ConstS64(m.step.params[n.attr]);
      case kir::Op::kReduced:
      case kir::Op::kCarried:
        node.attr = m.ids.at(n.attr);
        return b_.Emit(std::move(node));
      case kir::Op::kRead: {
        const kir::Read& r = m.k.reads[n.attr];
        if (m.locals[r.buf] == kir::kNoBuf) {
          const uint32_t id = survey_.PlaceOf(m.step.buffers[r.buf]);
          if (IsScalar(id)) return Current(id);
        }
        kir::Read read;
        std::tie(read.buf, read.at) = Access(r.buf, r.at, m);
        read.guard = Guards(r.guard, m);
        read.otherwise = r.otherwise == kNone ? kNone : m.nodes[r.otherwise];
        return b_.Read(read, n.imm);
      }
      default:
        return b_.Emit(std::move(node));
    }
  }

  kir::Step Step(const kir::Step& step, Moving& m, bool top) {
    if (const auto* stage = std::get_if<kir::Stage>(&step.is)) return kir::Step{Stage(*stage, m, top)};
    const auto& from = std::get<kir::Loop>(step.is);
    kir::Loop loop;
    loop.id = m.ids.at(from.id);
    loop.types = from.types;
    for (Val v : from.init) loop.init.push_back(m.nodes[v]);
    for (Val v : from.next) loop.next.push_back(m.nodes[v]);
    loop.condition = from.condition == kNone ? kNone : m.nodes[from.condition];
    loop.trip_count = m.Of(from.trip_count);
    for (const kir::Step& s : from.body) loop.body.push_back(Step(s, m, false));
    return kir::Step{std::move(loop)};
  }

  kir::Stage Stage(const kir::Stage& from, Moving& m, bool top) {
    kir::Stage stage;
    const auto add = [&](kir::DimId d) {
      if (m.counters[d] == kNone) stage.dims.push_back(m.dims[d]);
    };
    for (kir::DimId d = 0; d < m.k.outer; ++d) add(d);
    for (kir::DimId d : from.dims) add(d);
    for (const kir::Range& r : from.domain) stage.domain.push_back({m.dims[r.dim], m.Of(r.lo), m.Of(r.hi)});
    for (const kir::Reduce& r : from.reduces) {
      kir::Reduce reduce = r;
      reduce.id = m.ids.at(r.id);
      reduce.dims = 0;
      for (size_t d = 0; d < m.dims.size(); ++d) {
        if (r.dims >> d & 1) reduce.dims |= kir::DimMask{1} << m.dims[d];
      }
      for (Val& v : reduce.in) v = m.nodes[v];
      for (Val& v : reduce.init) v = m.nodes[v];
      for (Val& v : reduce.identity) v = m.nodes[v];
      reduce.combiner = b_.AddGraph(m.k.graphs[r.combiner]);
      stage.reduces.push_back(std::move(reduce));
    }
    for (const kir::Store& s : from.stores) {
      if (m.locals[s.buf] == kir::kNoBuf && top) {
        const uint32_t id = survey_.PlaceOf(m.step.buffers[s.buf]);
        if (IsScalar(id)) {
          Become(id, m.nodes[s.value], stage);
          continue;
        }
      }
      kir::Store store = s;
      std::tie(store.buf, store.at) = Access(s.buf, s.at, m);
      store.guard = Guards(s.guard, m);
      store.value = m.nodes[s.value];
      if (s.combine >= 0) store.combine = static_cast<int32_t>(b_.AddGraph(m.k.graphs[static_cast<size_t>(s.combine)]));
      stage.stores.push_back(std::move(store));
    }
    return stage;
  }

  const LinkSurvey& survey_;
  FusedProgram& p_;
  const target::Target& target_;
  Learnt& learnt_;
  bool failed_ = false, again_ = false;
  kir::KernelBuilder b_;
  SmallVector<SlotId, 4> slots_;  // By buffer.
  std::unordered_map<uint32_t, kir::Buf> buffer_;
  kir::Buf signal_ = kir::kNoBuf;
  kir::DimMask used_dims_ = 0;
  std::vector<bool> pure_;                   // By node.
  std::unordered_map<uint32_t, Val> known_;  // Scalars whose value is at hand.
  // Scalars whose value depends on memory, which is not to change before the one who reads them has it.
  std::map<uint32_t, std::set<kir::Buf>> waiting_;
  std::set<uint32_t> in_memory_;  // Scalars whose memory holds their value.
  ScalarUses top_;
  const ScalarUses* scope_ = nullptr;  // What the part around the one at hand uses.
};

/// Whether what a carry starts with is never seen: then nothing in the plan tells whether it was written before the
/// kernel or after it, since both are the same value.
bool OverwritesUnseen(const kir::Kernel& k) {
  for (kir::Buf b = 0; b < k.buffers.size(); ++b) {
    if (k.buffers[b].kind == kir::BufKind::kOut && kir::WritesAll(k, b, {}) && !kir::ReadsOld(k, b, {})) return true;
  }
  return false;
}

}  // namespace

std::optional<LinkedLoop> LinkLoop(const plan::WhileStep& loop, FusedProgram& program, const LoopMemory& memory,
                                   const target::Target& target) {
  const LinkSurvey survey(loop, program, memory, target);
  if (!survey.ok()) return std::nullopt;
  Learnt learnt;
  for (int attempt = 0; attempt < policy::kLinkAttempts; ++attempt) {
    Writer writer(survey, program, target, learnt);
    std::optional<LinkedLoop> linked = writer.Write(loop);
    if (linked && OverwritesUnseen(linked->kernel)) return std::nullopt;
    if (linked || !writer.again()) return linked;
  }
  return std::nullopt;
}

}  // namespace tenon::compiler
