// Kernels whose points ask where they are (edges of pads, seams of concatenations and rolls) become one stage per
// region in which every answer is known.

#include <algorithm>
#include <map>
#include <optional>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/in_place.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/lane_cost.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {
namespace {

using kir::DimId;
using kir::Size;
using kir::Val;

/// [lo, hi) of a dim, or of a value.
struct Interval {
  int64_t lo = 0, hi = 0;
  bool empty() const { return lo >= hi; }
  friend bool operator==(const Interval&, const Interval&) = default;
};
using Box = std::vector<Interval>;  // By dim.

/// A part of the points, and what is stored there.
struct Region {
  Box box;
  std::vector<kir::Store> stores;
};

int64_t CeilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/// Where on a dim `coef` * place lies in [lo, hi).
Interval PlacesOf(int64_t coef, int64_t lo, int64_t hi) {
  return coef > 0 ? Interval{CeilDiv(lo, coef), CeilDiv(hi, coef)}
                  : Interval{CeilDiv(1 - hi, -coef), CeilDiv(1 - lo, -coef)};
}

/// Where on its one dim a guard holds; nothing when it depends on more, or repeats.
std::optional<std::pair<DimId, Interval>> Holds(const kir::Guard& g) {
  if (g.mod != 1 || g.e.start != kir::kNone || g.e.terms.size() != 1 || g.e.terms[0].coef.baked == 0)
    return std::nullopt;
  return std::pair(g.e.terms[0].dim,
                   PlacesOf(g.e.terms[0].coef.baked, g.lo.baked - g.e.offset.baked, g.hi.baked - g.e.offset.baked));
}

/// A comparison of a dim's index with a constant, as where on the dim it is true.
struct Question {
  DimId dim;
  Interval yes;
  bool negated;  ///< True outside of `yes` instead.
};

class Splitter {
 public:
  Splitter(const kir::Kernel& k, const target::KernelLimits& limits) : k_(k), limits_(limits) {}

  /// Whether the kernel asks enough about places that can be settled. Where results may lie in the memory of operands,
  /// a single answer may be that nothing changes there.
  bool Suits() {
    if (!OneDisjointStage()) return false;
    FindCuts();
    const bool enough = questions_ >= policy::kMinRegionQuestions ||
                        (questions_ > 0 &&
                         std::ranges::any_of(Whole().stores, [&](const kir::Store& s) { return MayChangeInPlace(s); }));
    return enough && ChooseCuts();
  }

  bool IsCut(size_t d) const { return !cuts_[d].empty(); }

  /// The kernel cut into regions, but not along the dims of `whole`; along the innermost dim at multiples of `lanes`,
  /// so that what is asked about the edges is asked for whole vectors.
  kir::Kernel Split(kir::DimMask whole, int64_t lanes) {
    whole_ = whole;
    lanes_ = lanes;
    boxes_.clear();
    AddBoxes({}, 0);
    std::vector<Region> regions = Regions();
    // Every stage has nodes of its own, in the order in which they are used: few of them are in registers at once.
    kir::KernelBuilder builder;
    Begin(builder);
    for (Region& region : regions) {
      builder.Forget();
      region.stores = StoresIn(region.box);
      builder.AddStage(StageOf(std::move(region)));
    }
    kir::Kernel made = builder.Finish();
    FoldConstants(made);
    DropDead(made);
    return made;
  }

 private:
  bool MayChangeInPlace(const kir::Store& s) const {
    for (kir::Buf in = 0; in < k_.buffers.size(); ++in) {
      if (k_.buffers[in].kind == kir::BufKind::kArg && MayTakeOver(k_, s.buf, in)) return true;
    }
    return false;
  }

  int64_t Extent(size_t d) const { return k_.dims[d].extent.baked; }
  const kir::Stage& Whole() const { return std::get<kir::Stage>(k_.seq[0].is); }

  bool OneDisjointStage() const {
    if (k_.outer != 0 || k_.seq.size() != 1 || !std::holds_alternative<kir::Stage>(k_.seq[0].is)) return false;
    const kir::Stage& stage = Whole();
    if (!stage.reduces.empty() || !stage.domain.empty() || stage.dims.size() != k_.dims.size()) return false;
    int64_t points = 1;
    for (const kir::Dim& d : k_.dims) {
      if (d.kind != kir::DimKind::kParallel) return false;
      points *= d.extent.baked;
    }
    return points >= policy::kMinRegionPoints &&
           std::all_of(stage.stores.begin(), stage.stores.end(),
                       [](const kir::Store& s) { return s.order == kir::StoreOrder::kDisjoint && s.combine < 0; });
  }

  /// A value that is coef * place + offset, along one dim.
  struct Linear {
    DimId dim = 0;
    int64_t coef = 1, offset = 0;
  };

  std::optional<int64_t> Constant(Val v) const {
    const kir::Node& n = k_.nodes[v];
    if (n.op != kir::Op::kConst || !IsInteger(n.type) || ByteWidth(n.type) < 4) return std::nullopt;
    const uint64_t bits = k_.literals[n.attr];
    return ByteWidth(n.type) == 8 ? static_cast<int64_t>(bits)
           : IsSigned(n.type)     ? static_cast<int32_t>(bits)
                                  : static_cast<int64_t>(bits);
  }

  /// Whole numbers of 32 bits and more hold all that the places of a dim come to, where these are small.
  std::optional<Linear> LinearOf(Val v) const {
    const kir::Node& n = k_.nodes[v];
    std::optional<Linear> x;
    if (n.op == kir::Op::kIndex) {
      x = Linear{static_cast<DimId>(n.attr)};
    } else if (n.op == kir::Op::kConvert) {
      x = LinearOf(n.in[0]);
    } else if (n.op == kir::Op::kAdd || n.op == kir::Op::kSub || n.op == kir::Op::kMul) {
      const std::optional<int64_t> right = Constant(n.in[1]);
      x = right ? LinearOf(n.in[0]) : std::nullopt;
      const std::optional<int64_t> left = x || n.op == kir::Op::kSub ? std::nullopt : Constant(n.in[0]);
      if (left) x = LinearOf(n.in[1]);
      if (!x || (!left && !right)) return std::nullopt;
      const int64_t c = left ? *left : *right;
      constexpr int64_t kSmall = int64_t{1} << 30;  // structural: what is summed and multiplied fits
      if (c <= -kSmall || c >= kSmall) return std::nullopt;
      if (n.op == kir::Op::kMul) {
        x->coef *= c;
        x->offset *= c;
      } else {
        x->offset += n.op == kir::Op::kAdd ? c : -c;
      }
    }
    if (!x || !IsInteger(n.type) || ByteWidth(n.type) < 4 || x->coef == 0 || std::abs(x->coef) > INT32_MAX ||
        Extent(x->dim) > INT32_MAX)
      return std::nullopt;
    const int64_t first = x->offset, last = x->coef * (Extent(x->dim) - 1) + x->offset;
    const int64_t low = IsSigned(n.type) ? -INT32_MAX : 0;
    if (std::min(first, last) < low || std::max(first, last) > INT32_MAX) return std::nullopt;
    return x;
  }

  std::optional<Question> Asked(const kir::Node& n) const {
    if (n.op != kir::Op::kCompare) return std::nullopt;
    const std::optional<int64_t> c = Constant(n.in[1]);
    if (!c || *c <= -INT32_MAX || *c >= INT32_MAX) return std::nullopt;
    if (*c < 0 && !IsSigned(k_.nodes[n.in[1]].type)) return std::nullopt;
    const std::optional<Linear> x = LinearOf(n.in[0]);
    if (!x) return std::nullopt;
    const auto question = [&](int64_t lo, int64_t hi, bool negated) {
      return Question{x->dim, PlacesOf(x->coef, lo - x->offset, hi - x->offset), negated};
    };
    constexpr int64_t kBelow = -(int64_t{1} << 40);  // structural: below all values
    switch (n.imm) {
      case kir::kLt:
        return question(kBelow, *c, false);
      case kir::kLe:
        return question(kBelow, *c + 1, false);
      case kir::kGt:
        return question(kBelow, *c + 1, true);
      case kir::kGe:
        return question(kBelow, *c, true);
      case kir::kEq:
        return question(*c, *c + 1, false);
      case kir::kNe:
        return question(*c, *c + 1, true);
      default:
        return std::nullopt;
    }
  }

  void FindCuts() {
    cuts_.resize(k_.dims.size());
    const auto cut = [&](DimId d, const Interval& at) {
      ++questions_;
      for (int64_t c : {at.lo, at.hi}) {
        if (c > 0 && c < Extent(d)) cuts_[d].push_back(c);
      }
    };
    for (const kir::Read& r : k_.reads) {
      for (const kir::Guard& g : r.guard) {
        if (const auto holds = Holds(g)) cut(holds->first, holds->second);
      }
    }
    for (const kir::Node& n : k_.nodes) {
      if (const std::optional<Question> q = Asked(n)) cut(q->dim, q->yes);
    }
    for (auto& cuts : cuts_) {
      std::sort(cuts.begin(), cuts.end());
      cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    }
  }

  /// Only the cuts around the largest region of dim d: elsewhere the questions stay.
  void KeepLargest(size_t d) {
    std::vector<int64_t>& cuts = cuts_[d];
    if (cuts.size() <= 2) return;
    size_t largest = 0;
    const auto size_of = [&](size_t i) {
      return (i == cuts.size() ? Extent(d) : cuts[i]) - (i == 0 ? 0 : cuts[i - 1]);
    };
    for (size_t i = 1; i <= cuts.size(); ++i) {
      if (size_of(i) > size_of(largest)) largest = i;
    }
    std::vector<int64_t> kept;
    if (largest > 0) kept.push_back(cuts[largest - 1]);
    if (largest < cuts.size()) kept.push_back(cuts[largest]);
    cuts = std::move(kept);
  }

  /// Keeps the number of regions small, and says whether they are worth the code.
  bool ChooseCuts() {
    const auto too_many = [&] {
      boxes_.clear();
      AddBoxes({}, 0);
      return boxes_.size() > policy::kMaxRegions ||
             static_cast<int64_t>(boxes_.size() * k_.nodes.size()) > limits_.nodes;
    };
    for (size_t d = 0; d < cuts_.size(); ++d) {
      if (cuts_[d].size() > policy::kMaxRegionCutsPerDim) KeepLargest(d);
    }
    // Outer dims first: what depends on them is asked once per row.
    for (size_t d = 0; d < cuts_.size() && too_many(); ++d) KeepLargest(d);
    for (size_t d = 0; d < cuts_.size() && too_many(); ++d) cuts_[d].clear();
    return !too_many() && boxes_.size() > 1;
  }

  /// The regions within `box`, which has its ranges of the dims before `d`. Narrow edges are not cut further: what they
  /// ask about inner dims costs little, and every region is code. Ends when there are too many: a cut in each of many
  /// dims makes as many as there are points.
  void AddBoxes(Box box, size_t d) {
    if (boxes_.size() > policy::kMaxRegions) return;
    if (d == cuts_.size()) {
      boxes_.push_back(std::move(box));
      return;
    }
    const std::vector<int64_t> at = CutsOf(d);
    for (size_t i = 0; i <= at.size(); ++i) {
      Box longer = box;
      const Interval here{i == 0 ? 0 : at[i - 1], i == at.size() ? Extent(d) : at[i]};
      longer.push_back(here);
      const bool narrow = !at.empty() && static_cast<double>(here.hi - here.lo) <
                                             policy::kNarrowRegion * static_cast<double>(Extent(d));
      if (!narrow) {
        AddBoxes(std::move(longer), d + 1);
        continue;
      }
      while (longer.size() < cuts_.size()) longer.push_back({0, Extent(longer.size())});
      boxes_.push_back(std::move(longer));
    }
  }

  std::vector<int64_t> CutsOf(size_t d) const {
    if (whole_ & Bit(d)) return {};
    if (lanes_ == 1 || d + 1 != cuts_.size()) return cuts_[d];
    std::vector<int64_t> rounded;
    for (int64_t cut : cuts_[d]) {
      const int64_t at = (2 * cut < Extent(d) ? cut + lanes_ - 1 : cut) / lanes_ * lanes_;
      if (at > (rounded.empty() ? 0 : rounded.back()) && at < Extent(d)) rounded.push_back(at);
    }
    return rounded;
  }

  /// Of the kernel, all but nodes and stages.
  void Begin(kir::KernelBuilder& builder) {
    b_ = &builder;
    kir::Kernel& k = builder.kernel();
    k = k_;
    k.nodes.clear();
    k.reads.clear();
    k.literals.clear();
    k.seq.clear();
  }

  /// The boxes, with what they store in nodes that they share; neighbours that store the same are one.
  std::vector<Region> Regions() {
    kir::KernelBuilder shared;
    Begin(shared);
    std::vector<Region> regions;
    for (const Box& box : boxes_) regions.push_back({box, StoresIn(box)});
    JoinAlike(regions);
    return regions;
  }

  /// What the kernel's stage stores in the box.
  std::vector<kir::Store> StoresIn(const Box& box) {
    box_ = &box;
    made_.clear();
    std::vector<kir::Store> stores = Whole().stores;
    for (kir::Store& s : stores) {
      s.value = Copy(s.value);
      for (kir::Axis& a : s.at) CopyStart(a);
      for (kir::Guard& g : s.guard) CopyStart(g.e);
    }
    return stores;
  }

  /// Neighbours that store the same become one: a dim's cuts are asked for somewhere, not everywhere.
  static void JoinAlike(std::vector<Region>& regions) {
    for (size_t i = 0; i < regions.size();) {
      const auto next = std::ranges::find_if(regions, [&](const Region& r) { return Follows(regions[i], r); });
      if (next == regions.end()) {
        ++i;
        continue;
      }
      for (size_t d = 0; d < next->box.size(); ++d) regions[i].box[d].hi = next->box[d].hi;
      regions.erase(next);
      i = 0;  // What is larger may follow another.
    }
  }
  static bool Follows(const Region& x, const Region& y) {
    size_t apart = 0;
    for (size_t d = 0; d < x.box.size(); ++d) {
      if (x.box[d] == y.box[d]) continue;
      if (++apart > 1 || x.box[d].hi != y.box[d].lo) return false;
    }
    return apart == 1 && x.stores == y.stores;
  }

  kir::Stage StageOf(Region region) const {
    kir::Stage stage;
    stage.dims = Whole().dims;
    for (size_t d = 0; d < region.box.size(); ++d) {
      const auto [lo, hi] = region.box[d];
      if (lo != 0 || hi != Extent(d)) stage.domain.push_back({static_cast<DimId>(d), Size::Of(lo), Size::Of(hi)});
    }
    stage.stores = std::move(region.stores);
    return stage;
  }

  void CopyStart(kir::Axis& a) {
    if (a.start != kir::kNone) a.start = Copy(a.start);
  }

  std::optional<bool> Known(Val made) const {
    const kir::Node& n = b_->node(made);
    if (n.op != kir::Op::kConst || n.type != DType::kPred) return std::nullopt;
    return b_->kernel().literals[n.attr] != 0;
  }

  /// Whether all of the box is in, or none of it.
  std::optional<bool> Inside(DimId dim, const Interval& where) const {
    const Interval& here = (*box_)[dim];
    if (here.lo >= where.lo && here.hi <= where.hi) return true;
    if (where.empty() || here.hi <= where.lo || here.lo >= where.hi) return false;
    return std::nullopt;
  }

  Val Copy(Val v) {
    if (auto it = made_.find(v); it != made_.end()) return it->second;
    const Val copy = Make(v);
    made_[v] = copy;
    return copy;
  }
  Val Make(Val v) {
    kir::Node n = k_.nodes[v];
    if (n.op == kir::Op::kRead) return MakeRead(n);
    if (n.op == kir::Op::kConst) return b_->ConstBits(n.type, k_.literals[n.attr]);
    if (const std::optional<Question> q = Asked(n)) {
      if (const std::optional<bool> in = Inside(q->dim, q->yes)) return b_->ConstPred(*in != q->negated);
    }
    if (n.op == kir::Op::kSelect) {
      const Val predicate = Copy(n.in[0]);
      if (const std::optional<bool> known = Known(predicate)) return Copy(n.in[*known ? 1 : 2]);
    }
    for (Val& in : n.in) in = Copy(in);
    if ((n.op == kir::Op::kAnd || n.op == kir::Op::kOr) && n.type == DType::kPred) {
      for (size_t i : {0, 1}) {
        const std::optional<bool> known = Known(n.in[i]);
        if (known) return *known == (n.op == kir::Op::kAnd) ? n.in[1 - i] : n.in[i];
      }
    }
    return b_->Emit(std::move(n));
  }
  Val MakeRead(const kir::Node& n) {
    kir::Read r = k_.reads[n.attr];
    SmallVector<kir::Guard, 1> open;
    for (kir::Guard& g : r.guard) {
      const auto holds = Holds(g);
      const std::optional<bool> in = holds ? Inside(holds->first, holds->second) : std::nullopt;
      if (in && !*in) return Copy(r.otherwise);
      if (!in) open.push_back(g);
    }
    r.guard = std::move(open);
    for (kir::Guard& g : r.guard) CopyStart(g.e);
    for (kir::Axis& a : r.at) CopyStart(a);
    r.otherwise = r.guard.empty() ? kir::kNone : Copy(r.otherwise);
    return b_->Read(r, n.imm);
  }

  const kir::Kernel& k_;
  const target::KernelLimits& limits_;
  std::vector<std::vector<int64_t>> cuts_;  // By dim, ascending.
  int questions_ = 0;
  kir::DimMask whole_ = 0;
  int64_t lanes_ = 1;
  std::vector<Box> boxes_;
  // Of the kernel in the making.
  const Box* box_ = nullptr;
  kir::KernelBuilder* b_ = nullptr;
  std::map<Val, Val> made_;  // In this box.
};

}  // namespace

void SplitRegions(kir::Kernel& kernel, const target::Target& target) {
  Splitter splitter(kernel, target.limits);
  if (!splitter.Suits()) return;
  // Along the dim that runs in lanes a narrow edge is a loop of its own for each row, and what is left of the row may
  // not fill vectors; asking may cost less.
  const double now = LaneCycles(kernel, target);
  double least = std::min(now * policy::kRegionGain, now - policy::kWriteOutCycles);
  std::optional<kir::Kernel> best;
  const auto consider = [&](kir::DimMask whole, int64_t lanes) {
    kir::Kernel made = splitter.Split(whole, lanes);
    if (made.seq.size() < 2) return;
    const double cycles = LaneCycles(WhereInPlace(made), target);
    if (cycles >= least) return;
    least = cycles;
    best = std::move(made);
  };
  consider(0, 1);
  for (size_t d = 0; d < kernel.dims.size(); ++d) {
    if (splitter.IsCut(d)) consider(Bit(d), 1);
  }
  if (splitter.IsCut(kernel.dims.size() - 1)) consider(0, std::max<int64_t>(1, target.vector_bytes / 4));
  if (best) kernel = std::move(*best);
}

}  // namespace tenon::compiler
