#include "tenon/kir/coverage.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "tenon/base/strided_runs.h"
#include "tenon/kir/internal/analysis.h"
#include "tenon/kir/policy.h"

namespace tenon::kir {
namespace {

/// [lo, hi).
struct Interval {
  int64_t lo = 0, hi = 0;
  bool empty() const { return lo >= hi; }
};
using Box = SmallVector<Interval, 4>;

int64_t CeilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
bool Overlaps(const Interval& a, const Interval& b) { return a.lo < b.hi && b.lo < a.hi; }

class Coverage {
 public:
  Coverage(const Kernel& kernel, Buf buf, const int64_t* params) : k_(kernel), buf_(buf), params_(params) {}

  bool Run() {
    for (const Size& e : k_.buffers[buf_].extent) {
      const int64_t extent = e.Value(params_);
      if (extent == 0) return true;
      if (__builtin_mul_overflow(elements_, extent, &elements_)) return false;
      whole_.push_back({0, extent});
    }
    Visit(k_.seq);
    JoinPieces();
    const int components = IsComplex(k_.buffers[buf_].type) ? 2 : 1;
    for (int c = 0; c < components; ++c) {
      if (!Covers(boxes_[c], whole_) && !Covers(runs_[c])) return false;
    }
    return true;
  }

 private:
  void Visit(const Seq& seq) {
    for (const Step& step : seq) {
      if (const auto* loop = std::get_if<Loop>(&step.is)) {
        if (loop->condition != kNone || loop->trip_count.Value(params_) <= 0) continue;
        around_.push_back(loop);
        Visit(loop->body);
        around_.pop_back();
        continue;
      }
      const auto& stage = std::get<Stage>(step.is);
      for (const Store& store : stage.stores) {
        // A combination needs what was there.
        if (store.buf == buf_ && store.combine < 0) Add(stage, store);
      }
    }
  }

  /// The places along one axis of a store: begin + sum of stride * [0, extent).
  struct Part {
    int64_t begin = 0;
    SmallVector<StridedDim, 4> dims;
    DimMask used = 0;
    bool from_loop = false;
  };

  void Add(const Stage& stage, const Store& store) {
    std::vector<Interval> dims(k_.dims.size());
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = {0, k_.dims[d].extent.Value(params_)};
    for (const Range& r : stage.domain) {
      Interval& dim = dims[r.dim];
      dim = {std::max(dim.lo, r.lo.Value(params_)), std::min(dim.hi, r.hi.Value(params_))};
    }
    for (const Guard& guard : store.guard) {
      if (!Narrow(guard, dims)) return;
    }
    for (DimId d : stage.dims) {
      if (dims[d].empty()) return;
    }
    for (size_t d = 0; d < k_.outer; ++d) {
      if (dims[d].empty()) return;
    }
    AddPlaces(store, dims);
    const bool fixed = std::all_of(store.at.begin(), store.at.end(), [](const Axis& a) { return a.start == kNone; });
    if (fixed) pieces_.push_back({&store, {dims.begin(), dims.end()}});
  }

  /// Stores to the same places of the dims, each of a part of them that is a box: together they are one of all, however
  /// the parts lie.
  void JoinPieces() {
    Box all;
    for (const Dim& d : k_.dims) all.push_back({0, d.extent.Value(params_)});
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Store& first = *pieces_[i].store;
      std::vector<Box> boxes;
      for (size_t j = i; j < pieces_.size(); ++j) {
        const Store& store = *pieces_[j].store;
        if (pieces_[j].joined || store.component != first.component || store.at != first.at) continue;
        pieces_[j].joined = true;
        boxes.push_back(pieces_[j].dims);
      }
      if (boxes.size() > 1 && Covers(boxes, all)) AddPlaces(first, {all.begin(), all.end()});
    }
  }

  /// Where the store writes while the dims run through these places.
  void AddPlaces(const Store& store, const std::vector<Interval>& dims) {
    std::vector<Part> parts;
    for (const Axis& axis : store.at) {
      std::optional<Part> part = PartOf(axis, dims);
      if (!part) return;
      parts.push_back(*std::move(part));
    }
    AddRuns(parts, store.component & 1);
    AddBox(parts, store.component & 1);
  }

  /// Restricts a dim to where the guard holds.
  bool Narrow(const Guard& g, std::vector<Interval>& dims) const {
    if (g.mod != 1 || g.e.start != kNone || g.e.terms.size() != 1) return false;
    const int64_t c = g.e.terms[0].coef.Value(params_), offset = g.e.offset.Value(params_);
    const int64_t lo = g.lo.Value(params_) - offset, hi = g.hi.Value(params_) - offset;
    if (c == 0) return false;
    Interval& dim = dims[g.e.terms[0].dim];
    dim.lo = std::max(dim.lo, c > 0 ? CeilDiv(lo, c) : CeilDiv(1 - hi, -c));
    dim.hi = std::min(dim.hi, c > 0 ? CeilDiv(hi, c) : CeilDiv(1 - lo, -c));
    return true;
  }

  std::optional<Part> PartOf(const Axis& axis, const std::vector<Interval>& dims) {
    Part part;
    part.begin = axis.offset.Value(params_);
    for (const Term& term : axis.terms) {
      const int64_t c = term.coef.Value(params_);
      const Interval& dim = dims[term.dim];
      part.used |= DimMask{1} << term.dim;
      part.begin += c * dim.lo;
      part.dims.push_back({c, dim.hi - dim.lo});
    }
    if (axis.start == kNone) return part;
    // A place that a loop counts: one count in one axis, since two would go hand in hand.
    const std::optional<Interval> counted = CountOf(axis.start);
    if (!counted || counted->empty()) return std::nullopt;
    part.begin += counted->lo;
    part.dims.push_back({1, counted->hi - counted->lo});
    part.from_loop = true;
    return part;
  }

  /// All values that an integer node takes in the loops around, where these are neighbours: counters, moved and
  /// clamped.
  std::optional<Interval> CountOf(Val v) const {
    const Node& node = k_.nodes[v];
    switch (node.op) {
      case Op::kConst:
        if (const auto c = ConstantOf(v)) return Interval{*c, *c + 1};
        return std::nullopt;
      case Op::kCarried:
        return CounterOf(node);
      case Op::kAdd:
      case Op::kSub:
      case Op::kMin:
      case Op::kMax:
        break;
      default:
        return std::nullopt;
    }
    if (node.type != DType::kS64 && node.type != DType::kS32) return std::nullopt;
    std::optional<Interval> x = CountOf(node.in[0]), y = CountOf(node.in[1]);
    if (!x || !y) return std::nullopt;
    const bool second_is_constant = y->hi - y->lo == 1;
    if (!second_is_constant) {
      if (x->hi - x->lo != 1 || node.op == Op::kSub) return std::nullopt;
      std::swap(x, y);
    }
    const int64_t c = y->lo;
    constexpr int64_t kSmall = int64_t{1} << 30;  // structural: sums of two stay within 32 bits, so nothing wraps.
    if (std::max({std::abs(c), std::abs(x->lo), std::abs(x->hi)}) > kSmall) return std::nullopt;
    switch (node.op) {
      case Op::kAdd:
        return Interval{x->lo + c, x->hi + c};
      case Op::kSub:
        return Interval{x->lo - c, x->hi - c};
      case Op::kMin:
        return Interval{std::min(x->lo, c), std::min(x->hi - 1, c) + 1};
      default:
        return Interval{std::max(x->lo, c), std::max(x->hi - 1, c) + 1};
    }
  }

  /// What a carry that goes up or down by one takes in the trips of its loop.
  std::optional<Interval> CounterOf(const Node& node) const {
    for (const Loop* loop : around_) {
      if (loop->id != node.attr) continue;
      const std::optional<int64_t> first = ConstantOf(loop->init[node.imm]);
      const Node& next = k_.nodes[loop->next[node.imm]];
      if (!first || (next.op != Op::kAdd && next.op != Op::kSub)) return std::nullopt;
      const auto is_carry = [&](Val v) {
        const Node& n = k_.nodes[v];
        return n.op == Op::kCarried && n.attr == node.attr && n.imm == node.imm;
      };
      std::optional<int64_t> step;
      if (is_carry(next.in[0])) step = ConstantOf(next.in[1]);
      if (is_carry(next.in[1]) && next.op == Op::kAdd) step = ConstantOf(next.in[0]);
      if (step && next.op == Op::kSub) step = -*step;
      const int64_t trips = loop->trip_count.Value(params_);
      if (step == 1) return Interval{*first, *first + trips};
      if (step == -1) return Interval{*first - trips + 1, *first + 1};
      return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<int64_t> ConstantOf(Val v) const {
    const Node& node = k_.nodes[v];
    if (node.op != Op::kConst || (node.type != DType::kS64 && node.type != DType::kS32)) return std::nullopt;
    const uint64_t bits = k_.literals[node.attr];
    return node.type == DType::kS64 ? static_cast<int64_t>(bits) : static_cast<int32_t>(bits);
  }

  /// As numbers of elements in row-major order.
  void AddRuns(const std::vector<Part>& parts, int component) {
    int64_t begin = 0, stride = 1;
    SmallVector<StridedDim, 8> dims;
    int loops = 0;
    for (size_t i = parts.size(); i-- > 0;) {
      const Part& part = parts[i];
      begin += part.begin * stride;
      for (const auto& [step, extent] : part.dims) dims.push_back({step * stride, extent});
      loops += part.from_loop;
      stride *= whole_[i].hi;
    }
    // A dim on two axes moves both.
    DimMask used = 0;
    for (const Part& part : parts) {
      if ((used & part.used) != 0) return;
      used |= part.used;
    }
    if (loops > 1) return;
    const StridedRuns runs = MakeStridedRuns(begin, 1, {dims.data(), dims.size()});
    if (runs.begin < 0 || runs.end() > elements_) return;
    runs_[component].Add(runs);
  }

  /// A box of elements, where every axis takes neighbouring places and none depends on another one.
  void AddBox(const std::vector<Part>& parts, int component) {
    Box box;
    DimMask used = 0;
    int loops = 0;
    for (const Part& part : parts) {
      if ((used & part.used) != 0) return;
      used |= part.used;
      loops += part.from_loop;
      const StridedRuns runs = MakeStridedRuns(part.begin, 1, {part.dims.data(), part.dims.size()});
      if (!runs.outer.empty() || runs.run == 0) return;
      box.push_back({runs.begin, runs.begin + runs.run});
    }
    if (loops <= 1) boxes_[component].push_back(std::move(box));
  }

  bool Covers(RunUnion& runs) const {
    const StridedRuns all{0, elements_, {}};
    if (runs.HasLike(all)) return true;
    const std::optional<RunUnion> flat = runs.Flattened(policy::kCoverRuns);
    if (!flat) return false;
    if (flat->HasLike(all)) return true;
    const std::optional<RangeSet> ranges = flat->Expand(policy::kCoverRuns);
    return ranges && ranges->Contains(0, elements_);
  }

  static bool Covers(const std::vector<Box>& boxes, const Box& whole) {
    std::vector<Box> left = {whole};
    size_t made = 1;
    for (const Box& box : boxes) {
      std::vector<Box> next;
      for (Box& part : left) {
        bool meets = true;
        for (size_t i = 0; i < part.size(); ++i) meets = meets && Overlaps(part[i], box[i]);
        if (!meets) {
          next.push_back(std::move(part));
          continue;
        }
        for (size_t i = 0; i < part.size(); ++i) {
          if (part[i].lo < box[i].lo) {
            next.push_back(part);
            next.back()[i].hi = box[i].lo;
            part[i].lo = box[i].lo;
          }
          if (box[i].hi < part[i].hi) {
            next.push_back(part);
            next.back()[i].lo = box[i].hi;
            part[i].hi = box[i].hi;
          }
        }
      }
      left = std::move(next);
      made += left.size();
      if (left.empty()) return true;
      if (made > policy::kCoverBoxes) return false;
    }
    return false;
  }

  const Kernel& k_;
  const Buf buf_;
  const int64_t* params_;
  int64_t elements_ = 1;
  Box whole_;
  std::vector<const Loop*> around_;
  struct Piece {
    const Store* store;
    Box dims;
    bool joined = false;
  };
  std::vector<Piece> pieces_;
  std::vector<Box> boxes_[2];  // By component.
  RunUnion runs_[2];
};

}  // namespace

bool WritesAll(const Kernel& kernel, Buf buf, std::span<const int64_t> params) {
  return Coverage(kernel, buf, params.data()).Run();
}

namespace {

/// Values that the steps compute, without what these are computed from.
void Roots(const Seq& seq, std::vector<Val>& roots) {
  const auto add = [&](const auto& values) { roots.insert(roots.end(), values.begin(), values.end()); };
  for (const Step& step : seq) {
    if (const auto* loop = std::get_if<Loop>(&step.is)) {
      add(loop->init);
      add(loop->next);
      if (loop->condition != kNone) roots.push_back(loop->condition);
      Roots(loop->body, roots);
      continue;
    }
    const auto& stage = std::get<Stage>(step.is);
    for (const Reduce& r : stage.reduces) {
      add(r.in);
      add(r.init);
    }
    for (const Store& store : stage.stores) {
      roots.push_back(store.value);
      for (const Axis& a : store.at) roots.push_back(a.start);
      for (const Guard& g : store.guard) roots.push_back(g.e.start);
    }
  }
}

bool Combines(const Seq& seq, Buf buf) {
  return std::any_of(seq.begin(), seq.end(), [&](const Step& step) {
    if (const auto* loop = std::get_if<Loop>(&step.is)) return Combines(loop->body, buf);
    const auto& stores = std::get<Stage>(step.is).stores;
    return std::any_of(stores.begin(), stores.end(), [&](const Store& s) { return s.buf == buf && s.combine >= 0; });
  });
}

/// Whether a value needs a read of the buffer.
bool Reads(const Kernel& k, const std::vector<Val>& roots, Buf buf) {
  std::vector<bool> needed(k.nodes.size(), false);
  for (Val v : roots) {
    if (v != kNone) needed[v] = true;
  }
  // Inputs have lower numbers.
  for (size_t v = k.nodes.size(); v-- > 0;) {
    if (!needed[v]) continue;
    ForEachInput(k, k.nodes[v], [&](Val in) { needed[in] = true; });
    if (k.nodes[v].op == Op::kRead && k.reads[k.nodes[v].attr].buf == buf) return true;
  }
  return false;
}

}  // namespace

bool ReadsOld(const Kernel& kernel, Buf buf, std::span<const int64_t> params) {
  const bool ever = Combines(kernel.seq, buf) ||
                    std::any_of(kernel.reads.begin(), kernel.reads.end(), [&](const Read& r) { return r.buf == buf; });
  if (!ever) return false;
  // What the steps up to the first read write.
  Kernel before = kernel;
  for (size_t i = 0; i < kernel.seq.size(); ++i) {
    const Seq step{kernel.seq[i]};
    std::vector<Val> roots;
    Roots(step, roots);
    if (!Combines(step, buf) && !Reads(kernel, roots, buf)) continue;
    before.seq.resize(i);
    return !WritesAll(before, buf, params);
  }
  return false;
}

}  // namespace tenon::kir
