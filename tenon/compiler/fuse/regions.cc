// Kernels whose points ask where they are (edges of pads, seams of concatenations and rolls) become one stage per
// region in which every answer is known.

#include <algorithm>
#include <map>
#include <optional>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/policy.h"

namespace tenon::compiler {
namespace {

using kir::DimId;
using kir::Size;
using kir::Val;

/// [lo, hi) of a dim, or of a value.
struct Interval {
  int64_t lo = 0, hi = 0;
  bool empty() const { return lo >= hi; }
};
using Box = std::vector<Interval>;  // By dim.

int64_t CeilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/// Where on its one dim a guard holds; nothing when it depends on more, or repeats.
std::optional<std::pair<DimId, Interval>> Holds(const kir::Guard& g) {
  if (g.mod != 1 || g.e.start != kir::kNone || g.e.terms.size() != 1 || g.e.terms[0].coef.baked == 0)
    return std::nullopt;
  const int64_t c = g.e.terms[0].coef.baked, lo = g.lo.baked - g.e.offset.baked, hi = g.hi.baked - g.e.offset.baked;
  const Interval d =
      c > 0 ? Interval{CeilDiv(lo, c), CeilDiv(hi, c)} : Interval{CeilDiv(1 - hi, -c), CeilDiv(1 - lo, -c)};
  return std::pair(g.e.terms[0].dim, d);
}

/// A comparison of a dim's index with a constant, as where on the dim it is true.
struct Question {
  DimId dim;
  Interval yes;
  bool negated;  ///< True outside of `yes` instead.
};

class Splitter {
 public:
  Splitter(kir::Kernel& k, const target::KernelLimits& limits) : k_(k), limits_(limits) {}

  void Run() {
    if (!Suits()) return;
    FindCuts();
    if (questions_ < policy::kMinRegionQuestions || !ChooseCuts()) return;
    std::vector<Box> boxes = {{}};
    for (size_t d = 0; d < k_.dims.size(); ++d) {
      std::vector<Box> next;
      for (const Box& box : boxes) {
        for (size_t i = 0; i <= cuts_[d].size(); ++i) {
          Box longer = box;
          longer.push_back({i == 0 ? 0 : cuts_[d][i - 1], i == cuts_[d].size() ? Extent(d) : cuts_[d][i]});
          next.push_back(std::move(longer));
        }
      }
      boxes = std::move(next);
    }
    const kir::Stage stage = std::get<kir::Stage>(k_.seq[0].is);
    kir::Seq seq;
    for (const Box& box : boxes) seq.push_back({StageOf(stage, box)});
    k_.seq = std::move(seq);
    k_.nodes = std::move(nodes_);
    k_.reads = std::move(reads_);
    DropDead(k_);
  }

 private:
  int64_t Extent(size_t d) const { return k_.dims[d].extent.baked; }

  bool Suits() const {
    if (k_.outer != 0 || k_.seq.size() != 1 || !std::holds_alternative<kir::Stage>(k_.seq[0].is)) return false;
    const auto& stage = std::get<kir::Stage>(k_.seq[0].is);
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

  std::optional<Question> Asked(const kir::Node& n) const {
    if (n.op != kir::Op::kCompare) return std::nullopt;
    const auto* index = &k_.nodes[n.in[0]];
    // Whole numbers of 32 bits hold every index of a dim that fits.
    if (index->op == kir::Op::kConvert && IsInteger(index->type) && ByteWidth(index->type) >= 4)
      index = &k_.nodes[index->in[0]];
    const kir::Node& constant = k_.nodes[n.in[1]];
    if (index->op != kir::Op::kIndex || constant.op != kir::Op::kConst || Extent(index->attr) >= INT32_MAX)
      return std::nullopt;
    const uint64_t bits = k_.literals[constant.attr];
    const int64_t c = ByteWidth(constant.type) == 8 ? static_cast<int64_t>(bits)
                      : IsSigned(constant.type)     ? static_cast<int32_t>(bits)
                                                    : static_cast<int64_t>(bits);
    if (c < 0 || c >= INT32_MAX) return std::nullopt;
    const auto dim = static_cast<DimId>(index->attr);
    switch (n.imm) {
      case kir::kLt:
        return Question{dim, {0, c}, false};
      case kir::kLe:
        return Question{dim, {0, c + 1}, false};
      case kir::kGt:
        return Question{dim, {0, c + 1}, true};
      case kir::kGe:
        return Question{dim, {0, c}, true};
      case kir::kEq:
        return Question{dim, {c, c + 1}, false};
      case kir::kNe:
        return Question{dim, {c, c + 1}, true};
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
    const auto regions = [&] {
      size_t n = 1;
      for (const auto& cuts : cuts_) n *= cuts.size() + 1;
      return n;
    };
    const auto too_many = [&] {
      return regions() > policy::kMaxRegions || static_cast<int64_t>(regions() * k_.nodes.size()) > limits_.nodes;
    };
    for (size_t d = 0; d < cuts_.size(); ++d) {
      if (cuts_[d].size() > policy::kMaxRegionCutsPerDim) KeepLargest(d);
    }
    // Outer dims first: what depends on them is asked once per row.
    for (size_t d = 0; d < cuts_.size() && too_many(); ++d) KeepLargest(d);
    for (size_t d = 0; d < cuts_.size() && too_many(); ++d) cuts_[d].clear();
    return regions() > 1;
  }

  kir::Stage StageOf(const kir::Stage& whole, const Box& box) {
    box_ = &box;
    made_.clear();
    kir::Stage stage;
    stage.dims = whole.dims;
    for (size_t d = 0; d < box.size(); ++d) {
      if (!cuts_[d].empty()) stage.domain.push_back({static_cast<DimId>(d), Size::Of(box[d].lo), Size::Of(box[d].hi)});
    }
    for (kir::Store s : whole.stores) {
      s.value = Copy(s.value);
      for (kir::Axis& a : s.at) CopyStart(a);
      for (kir::Guard& g : s.guard) CopyStart(g.e);
      stage.stores.push_back(std::move(s));
    }
    return stage;
  }

  void CopyStart(kir::Axis& a) {
    if (a.start != kir::kNone) a.start = Copy(a.start);
  }

  Val Add(kir::Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<Val>(nodes_.size() - 1);
  }
  Val Answer(bool yes) {
    kir::Node node;
    node.op = kir::Op::kConst;
    node.type = DType::kPred;
    node.attr =
        static_cast<uint32_t>(std::find(k_.literals.begin(), k_.literals.end(), yes ? 1u : 0u) - k_.literals.begin());
    if (node.attr == k_.literals.size()) k_.literals.push_back(yes ? 1 : 0);
    return Add(std::move(node));
  }
  std::optional<bool> Known(Val made) const {
    const kir::Node& n = nodes_[made];
    if (n.op != kir::Op::kConst || n.type != DType::kPred) return std::nullopt;
    return k_.literals[n.attr] != 0;
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
    if (const std::optional<Question> q = Asked(n)) {
      if (const std::optional<bool> in = Inside(q->dim, q->yes)) return Answer(*in != q->negated);
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
    return Add(std::move(n));
  }
  Val MakeRead(kir::Node n) {
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
    n.attr = static_cast<uint32_t>(reads_.size());
    reads_.push_back(std::move(r));
    return Add(std::move(n));
  }

  kir::Kernel& k_;
  const target::KernelLimits& limits_;
  std::vector<std::vector<int64_t>> cuts_;  // By dim, ascending.
  int questions_ = 0;
  const Box* box_ = nullptr;
  std::map<Val, Val> made_;  // In this box.
  std::vector<kir::Node> nodes_;
  std::vector<kir::Read> reads_;
};

}  // namespace

void SplitRegions(kir::Kernel& kernel, const target::KernelLimits& limits) { Splitter(kernel, limits).Run(); }

}  // namespace tenon::compiler
