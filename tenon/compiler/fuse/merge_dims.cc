// Dims that run through memory as one become one: flat buffers, then merged loops.

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

using kir::DimId;
using kir::Size;
using kir::Val;

namespace {

/// The place that the axes [first, last) give in strides of the last one, but for what comes from data.
kir::Axis FlatAxis(const SmallVector<kir::Axis, 4>& at, size_t first, size_t last, const kir::Buffer& buffer,
                   int64_t unit) {
  std::map<DimId, int64_t> coefs;
  int64_t offset = 0;
  for (size_t i = first; i < last; ++i) {
    const int64_t stride = buffer.stride[i].baked / unit;
    offset += at[i].offset.baked * stride;
    for (const kir::Term& t : at[i].terms) coefs[t.dim] += t.coef.baked * stride;
  }
  kir::Axis flat;
  flat.offset = Size::Of(offset);
  for (const auto& [dim, coef] : coefs) {
    if (coef != 0) flat.terms.push_back({dim, Size::Of(coef)});
  }
  return flat;
}

/// By buffer, which of its axes have places that come from data.
std::vector<std::vector<bool>> AxesFromData(kir::Kernel& k) {
  std::vector<std::vector<bool>> from_data;
  for (const kir::Buffer& b : k.buffers) from_data.emplace_back(b.extent.size(), false);
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i].start != kir::kNone) from_data[buf][i] = true;
    }
  });
  return from_data;
}

/// Axes [begin, end) of a buffer.
using Run = std::pair<size_t, size_t>;

/// The buffer's axes in runs that go through memory as one; those with places from data are alone.
std::vector<Run> RunsOf(const kir::Buffer& b, const std::vector<bool>& from_data) {
  std::vector<Run> runs;
  for (size_t d = 0; d < b.extent.size(); ++d) {
    const bool continues = d > 0 && !from_data[d - 1] && !from_data[d] && b.stride[d].baked > 0 &&
                           b.stride[d - 1].baked == b.extent[d].baked * b.stride[d].baked;
    if (!continues) runs.push_back({d, d});
    ++runs.back().second;
  }
  return runs;
}

/// Turns buffers into flat memory: one axis whose coefficients are the strides. Of buffers that are read at
/// data-dependent places, other axes that run through memory as one become one; those with memory before their first
/// element, which one axis from 0 on does not say, stay as they are.
void Flatten(kir::Kernel& k) {
  const std::vector<std::vector<bool>> from_data = AxesFromData(k);
  std::vector<std::vector<Run>> runs(k.buffers.size());  // Empty: the whole buffer is flat.
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const kir::Buffer& b = k.buffers[i];
    const bool turned = std::any_of(b.stride.begin(), b.stride.end(), [](const Size& s) { return s.baked < 0; });
    if (turned || std::find(from_data[i].begin(), from_data[i].end(), true) != from_data[i].end())
      runs[i] = RunsOf(b, from_data[i]);
  }
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    const kir::Buffer& b = k.buffers[buf];
    if (runs[buf].empty()) {
      at = {FlatAxis(at, 0, at.size(), b, 1)};
      return;
    }
    SmallVector<kir::Axis, 4> joined;
    for (const auto& [begin, end] : runs[buf]) {
      joined.push_back(end == begin + 1 ? at[begin] : FlatAxis(at, begin, end, b, b.stride[end - 1].baked));
    }
    at = std::move(joined);
  });
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    kir::Buffer& b = k.buffers[i];
    if (runs[i].empty()) {
      int64_t reach = 1;
      for (size_t d = 0; d < b.extent.size(); ++d)
        reach += std::max<int64_t>(0, (b.extent[d].baked - 1) * b.stride[d].baked);
      b.extent = {Size::Of(reach)};
      b.stride = {Size::Of(1)};
      continue;
    }
    SmallVector<Size, 4> extent, stride;
    for (const auto& [begin, end] : runs[i]) {
      int64_t elements = 1;
      for (size_t d = begin; d < end; ++d) elements *= b.extent[d].baked;
      extent.push_back(Size::Of(elements));
      stride.push_back(b.stride[end - 1]);
    }
    b.extent = std::move(extent);
    b.stride = std::move(stride);
  }
}

constexpr int64_t kLargest = int64_t{1} << 40;  // structural: products of two are far from wrapping

/// Whether the value is between bounds, clamped or of few bits, of which multiples do not wrap.
bool IsBounded(const kir::Kernel& k, Val v) {
  const kir::Node& node = k.nodes[v];
  const auto bound = [&](Val in) {
    const kir::Node& n = k.nodes[in];
    return n.op == kir::Op::kConst && n.type == DType::kS64 &&
           std::abs(kir::LiteralValue(n.type, k.literals[n.attr])) <= static_cast<double>(kLargest);
  };
  if (node.op == kir::Op::kConvert) {
    const DType from = k.nodes[node.in[0]].type;
    return IsInteger(from) && DTypeBits(from) <= 32;  // structural: far below kLargest
  }
  if (node.op != kir::Op::kMin && node.op != kir::Op::kMax) return false;
  for (size_t i = 0; i < 2; ++i) {
    const kir::Node& other = k.nodes[node.in[1 - i]];
    const kir::Op opposite = node.op == kir::Op::kMin ? kir::Op::kMax : kir::Op::kMin;
    if (bound(node.in[i]) &&
        (IsBounded(k, node.in[1 - i]) || (other.op == opposite && (bound(other.in[0]) || bound(other.in[1])))))
      return true;
  }
  return false;
}

/// Whether the guard can ask for the same of a place `factor` times as large.
bool MayScale(const kir::Guard& g, int64_t factor) {
  const int64_t most = kLargest / factor;
  const auto small = [&](const Size& size) { return size.baked >= -most && size.baked <= most; };
  return g.mod == 1 && small(g.e.offset) && small(g.lo) && small(g.hi) &&
         std::all_of(g.e.terms.begin(), g.e.terms.end(), [&](const kir::Term& t) { return small(t.coef); });
}

void Scale(kir::Guard& g, int64_t factor) {
  g.e.offset.baked *= factor;
  g.lo.baked *= factor;
  g.hi.baked = (g.hi.baked - 1) * factor + 1;
  for (kir::Term& t : g.e.terms) t.coef.baked *= factor;
}

/// Few elements behind an axis whose places come from data, the same ones for all of them.
struct Tail {
  size_t axis = 0;
  int64_t elements = 0;  ///< 0: there is none.
};

/// By buffer, where dims run along that axis and behind it.
std::vector<Tail> FindTails(kir::Kernel& k) {
  std::vector<Tail> tails(k.buffers.size());
  std::vector<bool> has_places(k.buffers.size(), false), runs(k.buffers.size(), false);
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i].start == kir::kNone) continue;
      has_places[buf] = true;
      tails[buf].axis = std::max(tails[buf].axis, i);
    }
  });
  for (size_t i = 0; i < tails.size(); ++i) {
    const kir::Buffer& b = k.buffers[i];
    if (!has_places[i] || b.stride.back().baked != 1) continue;
    int64_t elements = 1;
    bool dense = true;
    for (size_t d = b.extent.size() - 1; d > tails[i].axis; --d) {
      elements *= b.extent[d].baked;
      dense = dense && b.stride[d - 1].baked == elements;
    }
    if (dense && elements > 1 && elements <= policy::kShortTail) tails[i].elements = elements;
  }
  const std::vector<kir::DimMask> deps = kir::DependentDims(k);
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    Tail& tail = tails[buf];
    if (tail.elements == 0 || at[tail.axis].start == kir::kNone) return;
    const Val start = at[tail.axis].start;
    kir::DimMask along = 0, behind = 0;
    for (size_t i = tail.axis; i < at.size(); ++i) {
      for (const kir::Term& t : at[i].terms) (i == tail.axis ? along : behind) |= Bit(t.dim);
    }
    runs[buf] = runs[buf] || (along != 0 && behind != 0);
    if (k.nodes[start].type != DType::kS64 || (deps[start] & (along | behind)) != 0) tail.elements = 0;
  });
  for (size_t i = 0; i < tails.size(); ++i) {
    if (!runs[i]) tails[i].elements = 0;
  }
  return tails;
}

/// Tails become part of their axis (the channels of a picture that is cropped): what lies in one piece is gone through
/// as one.
void JoinTails(kir::Kernel& k) {
  const std::vector<Tail> tails = FindTails(k);
  std::set<std::pair<Val, int64_t>> wanted;  // Places, and how many elements each is.
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    const Tail& tail = tails[buf];
    if (tail.elements != 0 && at[tail.axis].start != kir::kNone) wanted.insert({at[tail.axis].start, tail.elements});
  });
  if (wanted.empty()) return;
  std::vector<kir::Node> nodes;
  std::vector<Val> map(k.nodes.size());
  std::map<std::pair<Val, int64_t>, Val> in_elements;  // By new nodes.
  const auto add = [&](kir::Node node) {
    nodes.push_back(std::move(node));
    return static_cast<Val>(nodes.size() - 1);
  };
  for (Val v = 0; v < k.nodes.size(); ++v) {
    kir::Node node = k.nodes[v];
    for (Val& in : node.in) in = map[in];
    map[v] = add(std::move(node));
    for (auto it = wanted.lower_bound({v, 0}); it != wanted.end() && it->first == v; ++it) {
      kir::Node factor, product;
      factor.op = kir::Op::kConst;
      product.op = kir::Op::kMul;
      factor.type = product.type = DType::kS64;
      factor.attr = static_cast<uint32_t>(k.literals.size());
      k.literals.push_back(static_cast<uint64_t>(it->second));
      product.in = {map[v], add(std::move(factor))};
      in_elements[{map[v], it->second}] = add(std::move(product));
    }
  }
  Renumber(k, std::move(nodes), map);
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto& guard) {
    const auto [axis, elements] = tails[buf];
    if (elements == 0) return;
    kir::Axis joined = FlatAxis(at, axis, at.size(), k.buffers[buf], 1);
    if (at[axis].start != kir::kNone) {
      joined.start = in_elements.at({at[axis].start, elements});
      for (kir::Guard& g : guard) {
        if (g.e.start != at[axis].start || !IsBounded(k, g.e.start) || !MayScale(g, elements)) continue;
        Scale(g, elements);
        g.e.start = joined.start;
      }
    }
    at.resize(axis);
    at.push_back(std::move(joined));
  });
  for (size_t i = 0; i < tails.size(); ++i) {
    const auto [axis, elements] = tails[i];
    if (elements == 0) continue;
    kir::Buffer& b = k.buffers[i];
    b.extent[axis] = Size::Of(b.extent[axis].baked * elements);
    b.stride[axis] = Size::Of(1);
    b.extent.resize(axis + 1);
    b.stride.resize(axis + 1);
  }
}

/// Whether the guard lets the first place of the dim through, and no other.
bool IsFirst(const kir::Guard& g, DimId d) {
  return g.e.start == kir::kNone && g.e.offset.baked == 0 && g.e.terms.size() == 1 && CoefOf(g.e, d) == 1 &&
         g.lo.baked == 0 && g.hi.baked == 1 && g.mod == 1;
}

/// Whether guards let the first place of both dims through: the first one of what these become when they are merged.
bool AreFirst(const SmallVector<kir::Guard, 1>& guards, DimId p, DimId q) {
  const auto has = [&](DimId d) {
    return std::any_of(guards.begin(), guards.end(), [&](const kir::Guard& g) { return IsFirst(g, d); });
  };
  return has(p) && has(q);
}

/// Whether the value is a multiple of `factor` by what it is made of, none where there is none.
bool IsMultiple(const kir::Kernel& k, Val v, int64_t factor) {
  if (v == kir::kNone) return true;
  const kir::Node& node = k.nodes[v];
  if (node.op != kir::Op::kMul || node.type != DType::kS64) return false;
  for (size_t i = 0; i < 2; ++i) {
    const kir::Node& by = k.nodes[node.in[i]];
    if (by.op == kir::Op::kConst && static_cast<int64_t>(k.literals[by.attr]) % factor == 0 &&
        IsBounded(k, node.in[1 - i]))
      return true;
  }
  return false;
}

/// Whether a guard of p's places alone can ask for those of p and p + 1 as one, which are few for each of p: it asks of
/// multiples of the extent of p + 1, or can.
bool AsksOfBoth(const kir::Kernel& k, const kir::Guard& g, DimId p) {
  const auto q = static_cast<DimId>(p + 1);
  const int64_t few = k.dims[q].extent.baked;
  if (few < 1 || few > policy::kShortTail || CoefOf(g.e, q) != 0 || !MayScale(g, few)) return false;
  if (CoefOf(g.e, p) == 1) return g.e.start == kir::kNone;
  const auto multiple = [&](const Size& size) { return size.baked % few == 0; };
  return CoefOf(g.e, p) == few && multiple(g.e.offset) && multiple(g.lo) && (g.hi.baked - 1) % few == 0 &&
         IsMultiple(k, g.e.start, few) &&
         std::all_of(g.e.terms.begin(), g.e.terms.end(), [&](const kir::Term& t) { return multiple(t.coef); });
}

/// Whether dims p and p + 1 always run through memory as one.
bool Mergeable(kir::Kernel& k, DimId p) {
  const DimId q = static_cast<DimId>(p + 1);
  if (k.dims[p].kind != k.dims[q].kind || (p < k.outer) != (q < k.outer)) return false;
  for (const kir::Node& n : k.nodes) {
    if (n.op == kir::Op::kIndex && (n.attr == p || n.attr == q)) return false;
  }
  bool ok = true;
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    const auto at_p = std::find(stage.dims.begin(), stage.dims.end(), p);
    const auto at_q = std::find(stage.dims.begin(), stage.dims.end(), q);
    if (at_p == stage.dims.end() && at_q == stage.dims.end()) return;
    if (at_p == stage.dims.end() || at_q != at_p + 1) ok = false;
    for (const kir::Range& r : stage.domain) ok &= r.dim != p && r.dim != q;
  });
  ForEachAccess(k, [&](kir::Buf, auto& at, auto& guard) {
    for (const kir::Axis& a : at) ok &= CoefOf(a, p) == CoefOf(a, q) * k.dims[q].extent.baked;
    const bool first = AreFirst(guard, p, q);
    for (const kir::Guard& g : guard) {
      if (first && (IsFirst(g, p) || IsFirst(g, q))) continue;
      ok &= CoefOf(g.e, p) == CoefOf(g.e, q) * k.dims[q].extent.baked || AsksOfBoth(k, g, p);
    }
  });
  return ok;
}

void Merge(kir::Kernel& k, DimId p) {
  const DimId q = static_cast<DimId>(p + 1);
  const int64_t inner = k.dims[q].extent.baked;
  k.dims[p].extent = Size::Of(k.dims[p].extent.baked * inner);
  auto rename = [&](kir::Axis& a) {
    SmallVector<kir::Term, 2> terms;
    for (kir::Term t : a.terms) {
      if (t.dim == p) continue;
      if (t.dim >= q) --t.dim;
      terms.push_back(t);
    }
    a.terms = std::move(terms);
  };
  ForEachAccess(k, [&](kir::Buf, auto& at, auto& guard) {
    for (kir::Axis& a : at) rename(a);
    const bool first = AreFirst(guard, p, q);
    SmallVector<kir::Guard, 1> guards;
    for (kir::Guard& g : guard) {
      if (first && IsFirst(g, p)) continue;
      if (CoefOf(g.e, p) != CoefOf(g.e, q) * inner && !(first && IsFirst(g, q))) {
        if (CoefOf(g.e, p) == 1) Scale(g, inner);
        g.hi.baked += inner - 1;
        g.e.terms.push_back({q, Size::Of(1)});
      }
      rename(g.e);
      guards.push_back(std::move(g));
    }
    guard = std::move(guards);
  });
  for (kir::Node& n : k.nodes) {
    if (n.op == kir::Op::kIndex && n.attr >= q) --n.attr;
  }
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    SmallVector<DimId, 4> dims;
    for (DimId d : stage.dims) {
      if (d == q) continue;
      dims.push_back(d > q ? static_cast<DimId>(d - 1) : d);
    }
    stage.dims = std::move(dims);
    for (kir::Range& r : stage.domain) {
      if (r.dim > q) --r.dim;
    }
    for (kir::Reduce& r : stage.reduces) {
      kir::DimMask mask = 0;
      for (DimId d = 0; d < 32; ++d) {  // structural: bits of a DimMask
        if (r.dims >> d & 1) mask |= kir::DimMask{1} << (d >= q ? d - 1 : d);
      }
      r.dims = mask;
    }
  });
  k.dims.erase(k.dims.begin() + q);
  if (q < k.outer) --k.outer;
}

}  // namespace

void MergeDims(kir::Kernel& k) {
  JoinTails(k);
  Flatten(k);
  for (size_t p = k.dims.size(); p-- > 1;) {
    if (Mergeable(k, static_cast<DimId>(p - 1))) Merge(k, static_cast<DimId>(p - 1));
  }
}

}  // namespace tenon::compiler
