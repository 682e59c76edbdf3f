#include "tenon/runtime/internal/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tenon/kir/ranges.h"
#include "tenon/kir/walk.h"
#include "tenon/plan/plan.h"
#include "tenon/runtime/policy.h"

namespace tenon::runtime::internal {
namespace {

using Wide = __int128;
constexpr Wide kHuge = Wide{1} << 100;

/// All integers in [lo, hi]; none when lo > hi. Ends beyond kHuge mean that nothing is known on that side.
struct Interval {
  Wide lo = -kHuge;
  Wide hi = kHuge;
  bool empty() const { return lo > hi; }
};
Wide Clamp(Wide v) { return std::clamp(v, -kHuge, kHuge); }
Wide Times(Wide a, Wide b) {
  // Both within 2^100: a product may not fit.
  if (a == 0 || b == 0) return 0;
  const Wide limit = kHuge / (b < 0 ? -b : b);
  if (a > limit || a < -limit) return (a < 0) == (b < 0) ? kHuge : -kHuge;
  return Clamp(a * b);
}
Interval operator+(Interval a, Interval b) { return {Clamp(a.lo + b.lo), Clamp(a.hi + b.hi)}; }
Interval operator*(Interval a, Wide k) {
  return k >= 0 ? Interval{Times(a.lo, k), Times(a.hi, k)} : Interval{Times(a.hi, k), Times(a.lo, k)};
}
Interval Meet(Interval a, Interval b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Interval Join(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval OfType(DType type) {
  if (type == DType::kPred) return {0, 1};
  const int bits = DTypeBits(type);
  if (IsSigned(type)) return {-(Wide{1} << (bits - 1)), (Wide{1} << (bits - 1)) - 1};
  if (IsUnsigned(type)) return {0, (Wide{1} << bits) - 1};
  return {};
}
bool IsWhole(DType type) { return type == DType::kPred || IsInteger(type); }

/// offset + sum coef * variable. Variables: dims by number, then parameters, then nodes.
struct Form {
  Wide offset = 0;
  std::map<uint64_t, Wide> terms;
  void Add(uint64_t variable, Wide coef) {
    Wide& c = terms[variable];
    c = Clamp(c + coef);
    if (c == 0) terms.erase(variable);
  }
  void Add(const Form& other, Wide k) {
    offset = Clamp(offset + Times(other.offset, k));
    for (const auto& [v, c] : other.terms) Add(v, Times(c, k));
  }
};
constexpr uint64_t kParamBase = uint64_t{1} << 32;
constexpr uint64_t kNodeBase = uint64_t{1} << 40;

/// Something that holds wherever the access happens: form in range.
struct Fact {
  Form form;
  Interval range;
};

class Checker {
 public:
  Checker(const kir::Kernel& kernel, std::span<const int64_t> params, std::span<const Reach> reach,
          const std::optional<TileOf>& tile)
      : k_(kernel), params_(params), reach_(reach), tile_(tile) {
    if (kir::ReadsByData(kernel)) key_ranges_ = kir::RangeRules(kernel).OfAll();
  }

  Status All() {
    if (!tile_ && params_.size() < k_.num_params) return InvalidArgument("too few parameters");
    for (const kir::Dim& d : k_.dims) {
      const Interval extent = ValueOf(d.extent);
      if (extent.lo < 0 || extent.hi >= kHuge) return InvalidArgument("an extent is negative or unknown");
      dims_.push_back({0, extent.hi - 1});
    }
    TENON_RETURN_IF_ERROR(CheckSplit());
    TENON_RETURN_IF_ERROR(CheckLocals());
    if (tile_) AddTileFacts();
    return CheckSeq(k_.seq);
  }

 private:
  bool IsTileParam(int32_t slot) const {
    return tile_ && slot >= tile_->first_param && slot < tile_->first_param + plan::kTileParams;
  }

  Interval ParamRange(int32_t slot) const {
    if (!IsTileParam(slot)) {
      if (slot < 0 || static_cast<size_t>(slot) >= params_.size()) return {};
      return {params_[static_cast<size_t>(slot)], params_[static_cast<size_t>(slot)]};
    }
    switch (slot - tile_->first_param) {
      case 0:
        return {0, tile_->batch - 1};
      case 1:
        return {0, tile_->rows - 1};
      case 2:
        return {0, tile_->cols - 1};
      case 3:
        return {0, tile_->rows};
      case 4:
        return {0, tile_->cols};
      default:
        return {};  // Strides: wherever the driver keeps the tile.
    }
  }
  Interval ValueOf(const kir::Size& size) const {
    return size.is_param() ? ParamRange(size.param) : Interval{size.baked, size.baked};
  }
  bool Known(const kir::Size& size) const { return !size.is_param() || !IsTileParam(size.param); }
  Wide Exact(const kir::Size& size) const { return ValueOf(size).lo; }

  Status CheckSplit() const {
    Wide total = 1;
    for (size_t i = 0; i < k_.dims.size(); ++i) {
      if (k_.split.dims >> i & 1) total = Times(total, dims_[i].hi + 1);
    }
    for (const kir::DimId d : kir::StageCuts(k_)) total = std::max(total, dims_[d].hi + 1);
    return total > INT64_MAX / 2 ? InvalidArgument("it has too many points") : OkStatus();
  }

  Status CheckLocals() {
    Wide bytes = 0;
    local_elements_.assign(k_.buffers.size(), 0);
    for (size_t i = 0; i < k_.buffers.size(); ++i) {
      const kir::Buffer& b = k_.buffers[i];
      if (b.kind != kir::BufKind::kLocal) continue;
      Wide last = 0;
      bool empty = false;
      for (size_t d = 0; d < b.extent.size(); ++d) {
        if (!Known(b.extent[d]) || !Known(b.stride[d]) || Exact(b.stride[d]) < 0)
          return InvalidArgument(fmt::format("the size of local b{} is unknown", i));
        empty |= Exact(b.extent[d]) <= 0;
        last = Clamp(last + Times(Exact(b.extent[d]) - 1, Exact(b.stride[d])));
      }
      local_elements_[i] = empty ? 0 : last + 1;
      bytes = Clamp(bytes + Times(local_elements_[i], ByteWidth(b.type)) + 64);
    }
    return bytes > policy::kMaxLocalBytes ? InvalidArgument("its local buffers are too large") : OkStatus();
  }

  /// Row of the tile + row inside it stays inside the operand, for every dim that runs over the tile's rows; likewise
  /// columns.
  void AddTileFacts() {
    for (size_t d = 0; d < k_.dims.size(); ++d) {
      if (!k_.dims[d].extent.is_param()) continue;
      const int32_t which = k_.dims[d].extent.param - tile_->first_param;
      if (which != 3 && which != 4) continue;
      Fact fact;
      fact.form.Add(d, 1);
      fact.form.Add(kParamBase + static_cast<uint64_t>(tile_->first_param + which - 2), 1);
      fact.range = {0, (which == 3 ? tile_->rows : tile_->cols) - 1};
      standing_.push_back(std::move(fact));
    }
  }

  // Values
  // ---------------------------------------------------------------------------------------------------------------------------------

  /// Operands come first in Kernel::nodes, so that going up in order needs no recursion.
  Interval RangeOfNode(kir::Val v) const { return ranges_[v]; }
  /// What wraps is anything.
  static Interval Fits(Interval r, DType type) { return FitsExactly(r, type) ? r : OfType(type); }
  static bool FitsExactly(Interval r, DType type) {
    const Interval all = OfType(type);
    return r.lo >= all.lo && r.hi <= all.hi;
  }
  Interval Compute(kir::Val v) const {
    const kir::Node& n = k_.nodes[v];
    if (!IsWhole(n.type)) return {};
    const auto in = [&](size_t i) { return RangeOfNode(n.in[i]); };
    switch (n.op) {
      case kir::Op::kConst: {
        const uint64_t bits = k_.literals[n.attr];
        if (IsSigned(n.type)) {
          const int shift = 64 - DTypeBits(n.type);
          const int64_t value = static_cast<int64_t>(bits << shift) >> shift;
          return {value, value};
        }
        return {static_cast<Wide>(bits), static_cast<Wide>(bits)};
      }
      case kir::Op::kIndex:
        return Fits(dims_[n.attr], n.type);
      case kir::Op::kParam:
        return Fits(ParamRange(static_cast<int32_t>(n.attr)), n.type);
      case kir::Op::kConvert:
        return IsWhole(k_.nodes[n.in[0]].type) && n.type != DType::kPred ? Fits(in(0), n.type) : OfType(n.type);
      case kir::Op::kMin:
        return {std::min(in(0).lo, in(1).lo), std::min(in(0).hi, in(1).hi)};
      case kir::Op::kMax:
        return {std::max(in(0).lo, in(1).lo), std::max(in(0).hi, in(1).hi)};
      case kir::Op::kSelect:
        return Join(in(1), in(2));
      case kir::Op::kAdd:
        return n.type == DType::kPred ? OfType(n.type) : Fits(in(0) + in(1), n.type);
      case kir::Op::kSub:
        return n.type == DType::kPred ? OfType(n.type) : Fits(in(0) + in(1) * -1, n.type);
      case kir::Op::kMul: {
        const Interval a = in(0), b = in(1);
        return Fits(Join(Join(a * b.lo, a * b.hi), Join(b * a.lo, b * a.hi)), n.type);
      }
      case kir::Op::kRem: {
        const Interval a = in(0), b = in(1);
        if (a.lo >= 0 && b.lo > 0) return {0, std::min(a.hi, b.hi - 1)};
        return OfType(n.type);
      }
      case kir::Op::kDiv: {
        const Interval a = in(0), b = in(1);
        if (a.lo >= 0 && b.lo > 0) return {a.lo / b.hi, a.hi / b.lo};
        return OfType(n.type);
      }
      case kir::Op::kAnd: {
        const Interval a = in(0), b = in(1);
        if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
        if (a.lo >= 0 || b.lo >= 0) return {0, a.lo >= 0 ? a.hi : b.hi};
        return OfType(n.type);
      }
      default:
        return OfType(n.type);
    }
  }

  // Accesses
  // -------------------------------------------------------------------------------------------------------------------------------

  /// How sums and multiples of 64 bits are taken apart. What a guard says of a value it says of the wrapped one, so its
  /// form is exact: only what can't wrap is taken apart. Addresses are made modulo 2^64 anyway: a form that is proven
  /// to stay inside the memory without wrapping is the address, wherever its parts wrapped on the way.
  enum class Sums { kExact, kModular };

  /// Adds k * the value of v, taken apart into its sums and multiples: so that what a guard says of x holds for an
  /// address made of -x or x + 1 too.
  void AddNode(Form& f, kir::Val v, Wide k, Sums sums, int& steps) const {
    const kir::Node& n = k_.nodes[v];
    const auto keep = [&] { f.Add(kNodeBase + v, k); };
    if (--steps < 0 || !IsInteger(n.type)) return keep();
    // One number, whatever it is made of: a guard and an address may write it differently.
    if (const Interval r = RangeOfNode(v); r.lo == r.hi) {
      f.offset = Clamp(f.offset + Times(r.lo, k));
      return;
    }
    const auto in = [&](size_t i) { return RangeOfNode(n.in[i]); };
    const auto constant = [](Interval r) { return r.lo == r.hi; };
    const auto apart = [&](Interval r) {
      return FitsExactly(r, n.type) || (sums == Sums::kModular && DTypeBits(n.type) == 64);
    };
    switch (n.op) {
      case kir::Op::kConvert:
        if (!IsInteger(k_.nodes[n.in[0]].type) || !FitsExactly(in(0), n.type)) return keep();
        return AddNode(f, n.in[0], k, sums, steps);
      case kir::Op::kAdd:
      case kir::Op::kSub: {
        const int sign = n.op == kir::Op::kAdd ? 1 : -1;
        if (!apart(in(0) + in(1) * sign)) return keep();
        AddNode(f, n.in[0], k, sums, steps);
        return AddNode(f, n.in[1], k * sign, sums, steps);
      }
      case kir::Op::kMul: {
        const size_t factor = constant(in(0)) ? 0 : 1;
        if (!constant(in(factor)) || !apart(in(1 - factor) * in(factor).lo)) return keep();
        return AddNode(f, n.in[1 - factor], Times(k, in(factor).lo), sums, steps);
      }
      default:
        return keep();
    }
  }

  Result<Form> FormOf(const kir::Axis& axis, Sums sums) {
    Form f;
    if (Known(axis.offset))
      f.offset = Exact(axis.offset);
    else
      f.Add(kParamBase + static_cast<uint64_t>(axis.offset.param), 1);
    for (const kir::Term& t : axis.terms) {
      if (!Known(t.coef)) return InvalidArgument("an index is a tile's number times a dim");
      f.Add(t.dim, Exact(t.coef));
    }
    int steps = policy::kAffineSteps;
    if (axis.start != kir::kNone) AddNode(f, axis.start, 1, sums, steps);
    return f;
  }
  Interval RangeOfVariable(uint64_t v) {
    if (v >= kNodeBase) return RangeOfNode(static_cast<kir::Val>(v - kNodeBase));
    if (v >= kParamBase) return ParamRange(static_cast<int32_t>(v - kParamBase));
    return dims_[v];
  }
  Interval Bound(const Form& form, const std::vector<Fact>& facts, size_t next) {
    Interval direct{form.offset, form.offset};
    for (const auto& [v, c] : form.terms) direct = direct + RangeOfVariable(v) * c;
    for (size_t i = next; i < facts.size(); ++i) {
      const Fact& fact = facts[i];
      if (fact.form.terms.empty()) continue;
      const auto [first, coef] = *fact.form.terms.begin();
      const auto ours = form.terms.find(first);
      if (ours == form.terms.end() || ours->second % coef != 0) continue;
      const Wide k = ours->second / coef;
      Form rest = form;
      rest.Add(fact.form, -k);
      if (rest.terms.size() >= form.terms.size()) continue;
      direct = Meet(direct, fact.range * k + Bound(rest, facts, i + 1));
    }
    return direct;
  }

  Status CheckAccess(kir::Buf buf, const SmallVector<kir::Axis, 4>& at, const SmallVector<kir::Guard, 1>& guards) {
    const kir::Buffer& b = k_.buffers[buf];
    std::vector<Fact> facts = standing_;
    for (const kir::Guard& g : guards) {
      TENON_ASSIGN_OR_RETURN(Form form, FormOf(g.e, Sums::kExact));
      Fact fact{std::move(form), {ValueOf(g.lo).lo, ValueOf(g.hi).hi - 1}};
      if (fact.range.empty() || Meet(Bound(fact.form, standing_, 0), fact.range).empty())
        return OkStatus();  // It never holds.
      facts.push_back(std::move(fact));
    }
    for (const kir::Axis& a : at) {
      for (const kir::Term& t : a.terms) {
        if (dims_[t.dim].empty()) return OkStatus();  // No point at all.
      }
    }
    if (b.kind == kir::BufKind::kTile) return CheckTile(b, at);
    const Wide width = ByteWidth(b.type);
    Wide low = 0, high = Times(local_elements_[buf], width);
    if (b.kind == kir::BufKind::kSignal) high = width;
    if (b.kind != kir::BufKind::kLocal && b.kind != kir::BufKind::kSignal) {
      low = -Wide{reach_[buf].before_bytes};
      high = reach_[buf].after_bytes;
    }
    // Which form meets the facts depends on whether a guard speaks of a sum or of its parts.
    for (Sums sums : {Sums::kExact, Sums::kModular}) {
      Form element;
      for (size_t i = 0; i < at.size(); ++i) {
        if (!Known(b.stride[i])) return InvalidArgument(fmt::format("a stride of b{} is a tile's", buf));
        TENON_ASSIGN_OR_RETURN(Form axis, FormOf(at[i], sums));
        element.Add(axis, Exact(b.stride[i]));
      }
      const Interval reached = Bound(element, facts, 0);
      if (reached.empty()) return OkStatus();
      if (Times(reached.lo, width) >= low && Times(reached.hi, width) <= high - width) return OkStatus();
    }
    return InvalidArgument(fmt::format("b{} may be reached outside its memory", buf));
  }

  /// A tile is [rows, cols] with the strides that come with it or are known, and indexed by dims that run over just
  /// that.
  Status CheckTile(const kir::Buffer& b, const SmallVector<kir::Axis, 4>& at) const {
    bool ok = tile_.has_value() && b.type == tile_->type && at.size() == 2 && b.stride.size() == 2;
    for (size_t i = 0; ok && i < 2; ++i) {
      const int32_t slot = static_cast<int32_t>(i);
      const bool stride = b.stride[i] == kir::Size::Param(tile_->first_param + 5 + slot) ||
                          (i == 1 && tile_->col_stride != 0 && b.stride[i] == kir::Size::Of(tile_->col_stride));
      ok = stride && at[i].terms.size() == 1 && at[i].start == kir::kNone && at[i].terms[0].coef == kir::Size::Of(1) &&
           at[i].offset == kir::Size::Of(0) &&
           k_.dims[at[i].terms[0].dim].extent == kir::Size::Param(tile_->first_param + 3 + slot);
    }
    return ok ? OkStatus() : InvalidArgument("a tile is reached otherwise than element by element");
  }

  // Structure
  // ------------------------------------------------------------------------------------------------------------------------------

  /// All that the values need: marks it in `seen`, finds the ranges, and checks the reads among it.
  Status CheckNodes(std::vector<kir::Val> roots, std::vector<bool>& seen) {
    const auto mark = [&](kir::Val v) {
      if (v != kir::kNone) seen[v] = true;
    };
    for (kir::Val v : roots) mark(v);
    for (size_t v = k_.nodes.size(); v-- > 0;) {
      if (!seen[v]) continue;
      kir::ForEachInput(k_, k_.nodes[v], mark);
    }
    ranges_.assign(k_.nodes.size(), Interval());
    for (size_t v = 0; v < k_.nodes.size(); ++v) {
      if (seen[v]) ranges_[v] = Meet(Compute(static_cast<kir::Val>(v)), OfType(k_.nodes[v].type));
    }
    for (size_t v = 0; v < k_.nodes.size(); ++v) {
      if (!seen[v] || k_.nodes[v].op != kir::Op::kRead) continue;
      const kir::Read& r = k_.reads[k_.nodes[v].attr];
      TENON_RETURN_IF_ERROR(CheckAccess(r.buf, r.at, r.guard));
      TENON_RETURN_IF_ERROR(CheckRows(r));
    }
    return OkStatus();
  }

  /// Code may read all of a row that it takes elements of by keys, as far as the keys' range and the row go.
  Status CheckRows(const kir::Read& r) {
    for (size_t i = 0; r.guard.empty() && i < r.at.size(); ++i) {
      const kir::Axis& axis = r.at[i];
      const kir::Size &stride = k_.buffers[r.buf].stride[i], &extent = k_.buffers[r.buf].extent[i];
      if (axis.start == kir::kNone || !axis.terms.empty() || axis.offset.is_param() || stride != kir::Size::Of(1))
        continue;
      const std::optional<int64_t> keys = kir::KeysOf(key_ranges_[axis.start]);
      if (!keys) continue;
      const Wide row = Known(extent) ? Exact(extent) - axis.offset.baked : Wide{*keys};
      SmallVector<kir::Axis, 4> at = r.at;
      at[i].start = kir::kNone;
      TENON_RETURN_IF_ERROR(CheckAccess(r.buf, at, {}));
      const auto last = static_cast<int64_t>(std::clamp<Wide>(row, 1, *keys)) - 1;
      if (__builtin_add_overflow(axis.offset.baked, last, &at[i].offset.baked))
        return InvalidArgument("a row begins beyond all memory");
      TENON_RETURN_IF_ERROR(CheckAccess(r.buf, at, {}));
    }
    return OkStatus();
  }

  Status CheckSeq(const kir::Seq& seq) {
    for (const kir::Step& step : seq) {
      if (const auto* stage = std::get_if<kir::Stage>(&step.is)) {
        TENON_RETURN_IF_ERROR(CheckStage(*stage));
        continue;
      }
      const auto& loop = std::get<kir::Loop>(step.is);
      std::vector<kir::Val> roots(loop.init.begin(), loop.init.end());
      roots.insert(roots.end(), loop.next.begin(), loop.next.end());
      roots.push_back(loop.condition);
      std::vector<bool> seen(k_.nodes.size(), false);
      TENON_RETURN_IF_ERROR(CheckNodes(std::move(roots), seen));
      TENON_RETURN_IF_ERROR(CheckSeq(loop.body));
    }
    return OkStatus();
  }

  Status CheckStage(const kir::Stage& stage) {
    const std::vector<Interval> whole = dims_;
    for (const kir::Range& r : stage.domain) {
      if (!Known(r.lo) || !Known(r.hi)) return InvalidArgument("a domain depends on the tile");
      if (Exact(r.lo) < 0 || Exact(r.hi) > whole[r.dim].hi + 1)
        return InvalidArgument("a domain is wider than its dim");
      dims_[r.dim] = {Exact(r.lo), Exact(r.hi) - 1};
    }
    const Status status = CheckStageBody(stage);
    dims_ = whole;
    return status;
  }
  Status CheckStageBody(const kir::Stage& stage) {
    std::vector<kir::Val> roots;
    for (const kir::Reduce& r : stage.reduces) {
      for (const auto* list : {&r.in, &r.init, &r.identity}) roots.insert(roots.end(), list->begin(), list->end());
    }
    for (const kir::Store& s : stage.stores) {
      roots.push_back(s.value);
      for (const kir::Axis& a : s.at) roots.push_back(a.start);
      for (const kir::Guard& g : s.guard) roots.push_back(g.e.start);
    }
    std::vector<bool> seen(k_.nodes.size(), false);
    TENON_RETURN_IF_ERROR(CheckNodes(std::move(roots), seen));
    for (const kir::Store& s : stage.stores) TENON_RETURN_IF_ERROR(CheckAccess(s.buf, s.at, s.guard));
    return OkStatus();
  }

  const kir::Kernel& k_;
  std::span<const int64_t> params_;
  std::span<const Reach> reach_;
  const std::optional<TileOf>& tile_;
  std::vector<kir::IntegerRange> key_ranges_;  // By node, as code knows them, where data decide what is read.
  std::vector<Interval> dims_;
  std::vector<Wide> local_elements_;
  std::vector<Fact> standing_;
  std::vector<Interval> ranges_;  // Of the nodes that the current stage needs.
};

}  // namespace

Status CheckBounds(const kir::Kernel& kernel, std::span<const int64_t> params, std::span<const Reach> reach,
                   const std::optional<TileOf>& tile) {
  return Checker(kernel, params, reach, tile).All();
}

}  // namespace tenon::runtime::internal
