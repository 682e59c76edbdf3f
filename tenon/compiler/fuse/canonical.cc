#include "tenon/compiler/fuse/canonical.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

#include "tenon/compiler/fuse/integers.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/kernel_work.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/short_dims.h"
#include "tenon/kir/math.h"
#include "tenon/target/lanes.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

using kir::DimId;
using kir::Size;
using kir::Val;

namespace {

bool IsFma(DType type) { return type == DType::kF32 || type == DType::kF64; }

/// Replaces the nodes by `nodes`, old ones by map[old] everywhere.
void Renumber(kir::Kernel& k, std::vector<kir::Node> nodes, const std::vector<Val>& map) {
  k.nodes = std::move(nodes);
  for (kir::Read& r : k.reads) ForEachUse(r, [&](Val& v) { v = map[v]; });
  ForEachRootUse(k, [&](Val& v) { v = map[v]; });
}

/// Node v's inputs through reads included.
template <class F>
void ForEachInput(kir::Kernel& k, kir::Node& node, const F& f) {
  for (Val& v : node.in) f(v);
  if (node.op == kir::Op::kRead) ForEachUse(k.reads[node.attr], f);
}

}  // namespace

void ContractFma(kir::Kernel& k) {
  std::vector<uint32_t> uses(k.nodes.size(), 0);
  for (kir::Node& n : k.nodes) ForEachInput(k, n, [&](Val& v) { ++uses[v]; });
  ForEachRootUse(k, [&](Val& v) { ++uses[v]; });
  bool any = false;
  for (const kir::Node& n : k.nodes) any |= n.op == kir::Op::kMul && IsFma(n.type);
  if (!any) return;
  std::vector<kir::Node> nodes;
  nodes.reserve(k.nodes.size() + 8);
  std::vector<Val> map(k.nodes.size());
  auto add = [&](kir::Node n) {
    nodes.push_back(std::move(n));
    return static_cast<Val>(nodes.size() - 1);
  };
  auto single_mul = [&](Val v) { return k.nodes[v].op == kir::Op::kMul && uses[v] == 1; };
  for (size_t i = 0; i < k.nodes.size(); ++i) {
    kir::Node n = k.nodes[i];
    const bool sum = (n.op == kir::Op::kAdd || n.op == kir::Op::kSub) && IsFma(n.type);
    const int which = !sum ? -1 : single_mul(n.in[0]) ? 0 : single_mul(n.in[1]) ? 1 : -1;
    if (which < 0) {
      for (Val& v : n.in) v = map[v];
      map[i] = add(std::move(n));
      continue;
    }
    const kir::Node& product = k.nodes[n.in[static_cast<size_t>(which)]];
    Val a = map[product.in[0]];
    const Val b = map[product.in[1]];
    Val c = map[n.in[static_cast<size_t>(1 - which)]];
    auto negate = [&](Val v) {
      kir::Node neg;
      neg.op = kir::Op::kNeg;
      neg.type = n.type;
      neg.in.push_back(v);
      return add(std::move(neg));
    };
    if (n.op == kir::Op::kSub) (which == 0 ? c : a) = negate(which == 0 ? c : a);
    kir::Node fma;
    fma.op = kir::Op::kFma;
    fma.type = n.type;
    fma.in = {a, b, c};
    map[i] = add(std::move(fma));
  }
  Renumber(k, std::move(nodes), map);
}

void DropDead(kir::Kernel& k) {
  std::vector<bool> live(k.nodes.size(), false);
  ForEachRootUse(k, [&](Val& v) { live[v] = true; });
  for (size_t i = k.nodes.size(); i-- > 0;) {
    if (live[i]) ForEachInput(k, k.nodes[i], [&](Val& v) { live[v] = true; });
  }
  // kReduced nodes stand behind their reduce's operands, which are root uses: nothing more to follow.
  std::vector<kir::Node> nodes;
  std::vector<Val> map(k.nodes.size(), kir::kNone);
  std::vector<kir::Read> reads;
  std::vector<uint64_t> literals;
  std::unordered_map<uint64_t, uint32_t> literal_of;
  std::map<uint32_t, uint32_t> read_of;
  for (size_t i = 0; i < k.nodes.size(); ++i) {
    if (!live[i]) continue;
    kir::Node n = k.nodes[i];
    for (Val& v : n.in) v = map[v];
    if (n.op == kir::Op::kRead) {
      auto [it, fresh] = read_of.try_emplace(n.attr, static_cast<uint32_t>(reads.size()));
      if (fresh) {
        kir::Read r = k.reads[n.attr];
        ForEachUse(r, [&](Val& v) { v = map[v]; });
        reads.push_back(std::move(r));
      }
      n.attr = it->second;
    } else if (n.op == kir::Op::kConst) {
      auto [it, fresh] = literal_of.try_emplace(k.literals[n.attr], static_cast<uint32_t>(literals.size()));
      if (fresh) literals.push_back(k.literals[n.attr]);
      n.attr = it->second;
    }
    map[i] = static_cast<Val>(nodes.size());
    nodes.push_back(std::move(n));
  }
  k.nodes = std::move(nodes);
  k.reads = std::move(reads);
  k.literals = std::move(literals);
  ForEachRootUse(k, [&](Val& v) { v = map[v]; });
}

namespace {

/// Turns buffers into flat memory: one axis whose coefficients are the strides. Buffers that are read at data-dependent
/// places stay as they are, and those with memory before their first element, which one axis from 0 on does not say.
void Flatten(kir::Kernel& k) {
  std::vector<bool> keep(k.buffers.size(), false);
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    for (const Size& stride : k.buffers[i].stride) keep[i] = keep[i] || stride.baked < 0;
  }
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    for (const kir::Axis& a : at) keep[buf] = keep[buf] || a.start != kir::kNone;
  });
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    if (keep[buf]) return;
    const kir::Buffer& b = k.buffers[buf];
    std::map<DimId, int64_t> coefs;
    int64_t offset = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      offset += at[i].offset.baked * b.stride[i].baked;
      for (const kir::Term& t : at[i].terms) coefs[t.dim] += t.coef.baked * b.stride[i].baked;
    }
    kir::Axis flat;
    flat.offset = Size::Of(offset);
    for (const auto& [dim, coef] : coefs) {
      if (coef != 0) flat.terms.push_back({dim, Size::Of(coef)});
    }
    at.clear();
    at.push_back(std::move(flat));
  });
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    if (keep[i]) continue;
    kir::Buffer& b = k.buffers[i];
    int64_t reach = 1;
    for (size_t d = 0; d < b.extent.size(); ++d)
      reach += std::max<int64_t>(0, (b.extent[d].baked - 1) * b.stride[d].baked);
    b.extent = {Size::Of(reach)};
    b.stride = {Size::Of(1)};
  }
}

/// Where places along an axis come from data, the same for all of the few elements behind it (the channels of a picture
/// that is cropped), these become part of the axis: what lies in one piece is gone through as one.
void JoinTails(kir::Kernel& k) {
  std::vector<int> last(k.buffers.size(), -1);  // By buffer: its last axis with such places.
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i].start != kir::kNone) last[buf] = std::max(last[buf], static_cast<int>(i));
    }
  });
  std::vector<int64_t> tail(k.buffers.size(), 0);  // Elements behind that axis; 0: it stays.
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const kir::Buffer& b = k.buffers[i];
    if (last[i] < 0 || b.stride.back().baked != 1) continue;
    int64_t elements = 1;
    bool dense = true;
    for (size_t d = b.extent.size() - 1; d > static_cast<size_t>(last[i]); --d) {
      elements *= b.extent[d].baked;
      dense = dense && b.stride[d - 1].baked == elements;
    }
    if (dense && elements > 1 && elements <= policy::kShortTail) tail[i] = elements;
  }
  const std::vector<kir::DimMask> deps = kir::DependentDims(k);
  std::map<std::pair<Val, int64_t>, Val> scaled;    // Places in elements, by places and their distance.
  std::vector<bool> runs(k.buffers.size(), false);  // Whether dims run along that axis and behind it.
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    if (tail[buf] == 0) return;
    const auto axis = static_cast<size_t>(last[buf]);
    kir::DimMask behind = 0, along = 0;
    for (size_t i = axis; i < at.size(); ++i) {
      for (const kir::Term& t : at[i].terms) (i == axis ? along : behind) |= Bit(t.dim);
    }
    const Val start = at[axis].start;
    if (start == kir::kNone) return;
    runs[buf] = runs[buf] || (along != 0 && behind != 0);
    if (k.nodes[start].type != DType::kS64 || (deps[start] & (along | behind)) != 0) tail[buf] = 0;
  });
  for (size_t i = 0; i < tail.size(); ++i) tail[i] = runs[i] ? tail[i] : 0;
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    if (tail[buf] == 0) return;
    const Val start = at[static_cast<size_t>(last[buf])].start;
    if (start != kir::kNone) scaled[{start, tail[buf]}] = kir::kNone;
  });
  if (scaled.empty()) return;
  std::vector<kir::Node> nodes;
  std::vector<Val> map(k.nodes.size());
  const auto add = [&](kir::Node node) {
    nodes.push_back(std::move(node));
    return static_cast<Val>(nodes.size() - 1);
  };
  for (Val v = 0; v < k.nodes.size(); ++v) {
    kir::Node node = k.nodes[v];
    for (Val& in : node.in) in = map[in];
    map[v] = add(std::move(node));
    for (auto it = scaled.lower_bound({v, 0}); it != scaled.end() && it->first.first == v; ++it) {
      kir::Node factor, product;
      factor.op = kir::Op::kConst;
      product.op = kir::Op::kMul;
      factor.type = product.type = DType::kS64;
      factor.attr = static_cast<uint32_t>(k.literals.size());
      k.literals.push_back(static_cast<uint64_t>(it->first.second));
      const Val distance = add(std::move(factor));
      product.in = {map[v], distance};
      it->second = add(std::move(product));
    }
  }
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    if (tail[buf] == 0) return;
    const auto axis = static_cast<size_t>(last[buf]);
    kir::Axis joined;
    std::map<DimId, int64_t> coefs;
    int64_t offset = 0;
    for (size_t i = axis; i < at.size(); ++i) {
      const int64_t stride = k.buffers[buf].stride[i].baked;
      offset += at[i].offset.baked * stride;
      for (const kir::Term& t : at[i].terms) coefs[t.dim] += t.coef.baked * stride;
    }
    joined.offset = Size::Of(offset);
    for (const auto& [dim, coef] : coefs) {
      if (coef != 0) joined.terms.push_back({dim, Size::Of(coef)});
    }
    joined.start = at[axis].start;
    at.resize(axis);
    at.push_back(std::move(joined));
  });
  // What the accesses name now are still old nodes.
  std::vector<std::pair<kir::Axis*, Val>> starts;
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    if (tail[buf] == 0 || at.back().start == kir::kNone) return;
    starts.emplace_back(&at.back(), scaled[{at.back().start, tail[buf]}]);
  });
  Renumber(k, std::move(nodes), map);
  for (const auto& [axis, start] : starts) axis->start = start;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    if (tail[i] == 0) continue;
    kir::Buffer& b = k.buffers[i];
    const auto axis = static_cast<size_t>(last[i]);
    b.extent[axis] = Size::Of(b.extent[axis].baked * tail[i]);
    b.stride[axis] = Size::Of(1);
    b.extent.resize(axis + 1);
    b.stride.resize(axis + 1);
  }
}

int64_t CoefOf(const kir::Axis& a, DimId d) {
  for (const kir::Term& t : a.terms) {
    if (t.dim == d) return t.coef.baked;
  }
  return 0;
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
      ok &= CoefOf(g.e, p) == CoefOf(g.e, q) * k.dims[q].extent.baked;
    }
  });
  return ok;
}

void Merge(kir::Kernel& k, DimId p) {
  const DimId q = static_cast<DimId>(p + 1);
  k.dims[p].extent = Size::Of(k.dims[p].extent.baked * k.dims[q].extent.baked);
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

void UnifyDims(kir::Kernel& k) {
  std::vector<DimId> same(k.dims.size());
  for (size_t d = 0; d < same.size(); ++d) same[d] = static_cast<DimId>(d);
  const kir::Stage* first = nullptr;
  for (const kir::Step& step : k.seq) {
    const auto* stage = std::get_if<kir::Stage>(&step.is);
    if (stage == nullptr || !stage->reduces.empty()) return;
    if (first == nullptr) {
      first = stage;
      continue;
    }
    // Dims that run alike, outermost first. Twins of one stage stay apart.
    for (size_t i = 0; i < std::min(first->dims.size(), stage->dims.size()); ++i) {
      const DimId mine = stage->dims[i], theirs = first->dims[i];
      if (mine < theirs || !(k.dims[mine] == k.dims[theirs])) break;
      if (std::find(stage->dims.begin(), stage->dims.end(), theirs) != stage->dims.end() && mine != theirs) break;
      same[mine] = theirs;
    }
  }
  std::vector<DimId> place(k.dims.size());
  std::vector<kir::Dim> dims;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    if (same[d] == d) dims.push_back(k.dims[d]);
    place[d] = same[d] == d ? static_cast<DimId>(dims.size() - 1) : place[same[d]];
  }
  if (dims.size() == k.dims.size()) return;
  const auto rename = [&](kir::Axis& a) {
    for (kir::Term& t : a.terms) t.dim = place[t.dim];
  };
  ForEachAccess(k, [&](kir::Buf, auto& at, auto& guard) {
    for (kir::Axis& a : at) rename(a);
    for (kir::Guard& g : guard) rename(g.e);
  });
  for (kir::Node& n : k.nodes) {
    if (n.op == kir::Op::kIndex) n.attr = place[n.attr];
  }
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (DimId& d : stage.dims) d = place[d];
    for (kir::Range& r : stage.domain) r.dim = place[r.dim];
  });
  k.dims = std::move(dims);
}

namespace {

/// What a store writes of a point's neighbours: places that differ by less than the smallest step of any dim.
bool AreInterleaved(const kir::Store& a, const kir::Store& b) {
  if (a.buf != b.buf || a.at.size() != 1 || b.at.size() != 1 || a.at[0].start != kir::kNone ||
      b.at[0].start != kir::kNone || a.at[0].terms.empty() || !(a.at[0].terms == b.at[0].terms))
    return false;
  int64_t least = INT64_MAX;
  for (const kir::Term& t : a.at[0].terms) least = std::min(least, std::abs(t.coef.baked));
  return least <= target::kMaxInterleaved && std::abs(a.at[0].offset.baked - b.at[0].offset.baked) < least;
}

bool StoresPlainly(const kir::Stage& stage) {
  return stage.reduces.empty() && !stage.stores.empty() &&
         std::all_of(stage.stores.begin(), stage.stores.end(), [](const kir::Store& s) {
           return s.order == kir::StoreOrder::kDisjoint && s.combine < 0 && s.guard.empty();
         });
}

}  // namespace

void JoinStages(kir::Kernel& k) {
  if (k.seq.size() < 2) return;
  for (const kir::Step& step : k.seq) {
    if (!std::holds_alternative<kir::Stage>(step.is)) return;
  }
  // What one stage writes no other one reads.
  for (const kir::Buffer& b : k.buffers) {
    if (b.in_place_of != kir::kNoBuf) return;
  }
  for (const kir::Read& r : k.reads) {
    if (k.buffers[r.buf].kind != kir::BufKind::kArg && k.buffers[r.buf].kind != kir::BufKind::kConst) return;
  }
  kir::Seq joined;
  for (kir::Step& step : k.seq) {
    auto& stage = std::get<kir::Stage>(step.is);
    auto* last = joined.empty() ? nullptr : &std::get<kir::Stage>(joined.back().is);
    if (last != nullptr && last->dims == stage.dims && last->domain == stage.domain && StoresPlainly(*last) &&
        StoresPlainly(stage) && std::all_of(stage.stores.begin(), stage.stores.end(), [&](const kir::Store& s) {
          return AreInterleaved(s, last->stores.front());
        })) {
      last->stores.insert(last->stores.end(), stage.stores.begin(), stage.stores.end());
    } else {
      joined.push_back(std::move(step));
    }
  }
  k.seq = std::move(joined);
  // A single stage of points has the dims around it as its own.
  auto& only = std::get<kir::Stage>(k.seq.front().is);
  if (k.seq.size() > 1 || k.outer == 0 || !only.dims.empty() || !StoresPlainly(only)) return;
  for (DimId d = 0; d < k.outer; ++d) {
    if (k.dims[d].kind != kir::DimKind::kParallel) return;
  }
  for (DimId d = 0; d < k.outer; ++d) only.dims.push_back(d);
  k.outer = 0;
}

namespace {

int64_t BytesPerPoint(kir::Kernel& k) {
  int64_t bytes = 0;
  for (const kir::Buffer& b : k.buffers) bytes += b.kind == kir::BufKind::kLocal ? 0 : ByteWidth(b.type);
  // What short dims written out store at each point besides.
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (size_t i = 1; i < stage.stores.size(); ++i) {
      if (stage.stores[i].buf == stage.stores[i - 1].buf && stage.stores[i].component == stage.stores[i - 1].component)
        bytes += ByteWidth(k.buffers[stage.stores[i].buf].type);
    }
  });
  return std::max<int64_t>(bytes, 1);
}

int64_t ExtentsOf(const kir::Kernel& k, const kir::Stage& stage, bool reduce) {
  int64_t n = 1;
  for (DimId d : stage.dims) {
    if (!reduce && k.dims[d].kind == kir::DimKind::kReduce) continue;
    n *= ExtentIn(k, stage, d);
  }
  return n;
}

}  // namespace

namespace {

/// The dim, other than the innermost of `parallel` ones, along which something is read contiguously that the innermost
/// does not read contiguously: the two want tiles. -1: none.
int TransposedDim(const kir::Kernel& k, const kir::Stage& stage, int parallel) {
  if (!stage.reduces.empty() || parallel < 2) return -1;
  const DimId last = static_cast<DimId>(parallel - 1);
  for (const kir::Read& read : k.reads) {
    if (read.at.empty() || read.at.back().start != kir::kNone || !read.guard.empty()) continue;
    const kir::Axis& axis = read.at.back();
    const int64_t across = CoefOf(axis, last);
    if (across == 0 || across == 1 || k.buffers[read.buf].stride.back().baked != 1) continue;
    for (int d = parallel - 1; d-- > 0;) {
      if (CoefOf(axis, static_cast<DimId>(d)) == 1 &&
          k.dims[static_cast<size_t>(d)].extent.baked >= policy::kMinTransposed)
        return d;
    }
  }
  return -1;
}

/// Whether some read runs along `dim` through memory.
bool ReadsColumns(const kir::Kernel& k, DimId dim) {
  return std::any_of(k.reads.begin(), k.reads.end(),
                     [&](const kir::Read& r) { return !r.at.empty() && CoefOf(r.at.back(), dim) == 1; });
}

/// Whether two stores into one buffer never meet at different places of dim 0.
bool KeepToTheirRows(const kir::Kernel& k, const kir::Store& a, const kir::Store& b) {
  if (a.at == b.at) return true;
  if (a.at.size() != 1 || b.at.size() != 1 || a.at[0].start != kir::kNone || b.at[0].start != kir::kNone) return false;
  struct Span {
    int64_t low, high;
  };
  // What an access reaches, at dim 0's first place or everywhere.
  const auto reach = [&](const kir::Axis& axis, bool everywhere) {
    Span span{axis.offset.baked, axis.offset.baked};
    for (const kir::Term& t : axis.terms) {
      if (t.dim == 0 && !everywhere) continue;
      const int64_t by = t.coef.baked * (k.dims[t.dim].extent.baked - 1);
      (by < 0 ? span.low : span.high) += by;
    }
    return span;
  };
  const Span all_a = reach(a.at[0], true), all_b = reach(b.at[0], true);
  if (all_a.high < all_b.low || all_b.high < all_a.low) return true;
  const int64_t row = CoefOf(a.at[0], 0);
  if (row <= 0 || CoefOf(b.at[0], 0) != row) return false;
  const Span one_a = reach(a.at[0], false), one_b = reach(b.at[0], false);
  return std::max(one_a.high, one_b.high) - std::min(one_a.low, one_b.low) < row;
}

/// Several stages can be cut along the dim that all of them begin with, when none reads what another writes and what
/// they write one over the other stays in one piece.
void SplitStages(kir::Kernel& k, int64_t piece_bytes) {
  int64_t row_points = 0;
  int64_t multiple = 1;
  std::vector<const kir::Store*> stores;
  for (const kir::Step& step : k.seq) {
    const auto& stage = std::get<kir::Stage>(step.is);
    if (stage.dims.empty() || stage.dims[0] != 0 || k.dims[0].kind != kir::DimKind::kParallel) return;
    for (const kir::Store& s : stage.stores) {
      if (s.order != kir::StoreOrder::kDisjoint || s.combine >= 0) return;
      for (const kir::Store* other : stores) {
        if (other->buf == s.buf && !KeepToTheirRows(k, s, *other)) return;
      }
      stores.push_back(&s);
    }
    row_points += ExtentsOf(k, stage, true) / std::max<int64_t>(1, k.dims[0].extent.baked);
    // Where nothing else runs side by side, neighbours along the dim do, in lanes.
    const bool lanes = std::none_of(stage.dims.begin() + 1, stage.dims.end(),
                                    [&](DimId d) { return k.dims[d].kind == kir::DimKind::kParallel; });
    const bool columns = !stage.reduces.empty() && ReadsColumns(k, 0);
    if (lanes) multiple = std::max(multiple, columns ? policy::kColumns : policy::kPointsTogether);
  }
  for (const kir::Read& r : k.reads) {
    if (k.buffers[r.buf].kind == kir::BufKind::kOut) return;
  }
  k.split.dims = 1;
  const int64_t rows = piece_bytes / std::max<int64_t>(1, row_points * policy::kStagePointBytes);
  if (row_points < policy::kPointsTogether) multiple = std::max(multiple, policy::kPointsTogether);
  k.split.grain = Size::Of(std::max(multiple, rows / multiple * multiple));
}

}  // namespace

void DecideSplit(kir::Kernel& k, const target::Target& target) {
  const int64_t piece_bytes = policy::PieceBytes(target);
  k.split = {};
  bool loop = false;
  for (const kir::Step& s : k.seq) loop |= std::holds_alternative<kir::Loop>(s.is);
  const int64_t point_bytes = BytesPerPoint(k);
  if (k.outer > 0) {
    int64_t inner = 1;
    ForEachStage(k.seq, [&](kir::Stage& stage) { inner = std::max(inner, ExtentsOf(k, stage, true)); });
    // A short last dim that runs in lanes stays whole.
    const int64_t last = k.dims[k.outer - 1u].extent.baked;
    int64_t rows = 1;
    bool lanes = k.outer > 1 && last <= policy::kShortDim && !loop;
    for (size_t d = 0; d + 1 < k.outer; ++d) rows *= k.dims[d].extent.baked;
    ForEachStage(k.seq, [&](kir::Stage& stage) {
      for (DimId d : stage.dims) lanes &= k.dims[d].kind == kir::DimKind::kReduce;
    });
    lanes &= rows >= policy::kManyRows;
    if (lanes) inner *= last;
    k.split.dims = (kir::DimMask{1} << (k.outer - (lanes ? 1 : 0))) - 1;
    k.split.grain = Size::Of(std::max<int64_t>(1, piece_bytes / std::max<int64_t>(1, inner * point_bytes)));
    if (loop) k.split.grain = Size::Of(policy::kPointsTogether);  // Every point is a whole loop's work.
    return;
  }
  if (loop || k.seq.empty()) return;
  for (const kir::Buffer& b : k.buffers) {
    if (b.kind == kir::BufKind::kLocal) return;
  }
  if (k.seq.size() > 1) return SplitStages(k, piece_bytes);
  const kir::Stage& stage = std::get<kir::Stage>(k.seq[0].is);
  int parallel = 0;
  while (parallel < static_cast<int>(stage.dims.size()) && stage.dims[static_cast<size_t>(parallel)] == parallel &&
         k.dims[static_cast<size_t>(parallel)].kind == kir::DimKind::kParallel) {
    ++parallel;
  }
  if (parallel == 0) return;
  for (const kir::Store& s : stage.stores) {
    if (s.order != kir::StoreOrder::kDisjoint || s.combine >= 0) return;
  }
  const int64_t points = ExtentsOf(k, stage, false);
  const int64_t last = k.dims[static_cast<size_t>(parallel - 1)].extent.baked;
  const int64_t reduced = ExtentsOf(k, stage, true) / std::max<int64_t>(points, 1);
  const int64_t rows = points / std::max<int64_t>(last, 1);
  auto grain_of = [&](int64_t index_points, int64_t multiple) {
    const int64_t grain = piece_bytes / std::max<int64_t>(1, index_points * reduced * point_bytes);
    return Size::Of(std::max(multiple, grain / multiple * multiple));
  };
  if (const int t = TransposedDim(k, stage, parallel); t >= 0) {
    // Whole tiles along the other dim too, and what shares a page with them.
    const int64_t along = k.dims[static_cast<size_t>(t)].extent.baked;
    int64_t inner = 1;
    for (int d = t + 1; d < parallel; ++d) inner *= k.dims[static_cast<size_t>(d)].extent.baked;
    k.split.dims = (kir::DimMask{1} << (t + 1)) - 1;
    k.split.grain =
        grain_of(inner, along % policy::kTileRows == 0 || along > 4 * policy::kTileRows ? policy::kTileRows : along);
  } else if (parallel > 1 && rows >= policy::kManyRows) {
    k.split.dims = (kir::DimMask{1} << (parallel - 1)) - 1;
    // Beside a short last dim the rows run in lanes: pieces of whole vectors of them.
    const bool rows_in_lanes = last <= policy::kShortDim && rows >= 2 * policy::kPointsTogether;
    k.split.grain = grain_of(last, rows_in_lanes ? policy::kPointsTogether : 1);
  } else {
    k.split.dims = (kir::DimMask{1} << parallel) - 1;
    k.split.grain =
        grain_of(1, reduced > 1 && ReadsColumns(k, static_cast<DimId>(parallel - 1)) ? policy::kColumns
                                                                                     : policy::kPointsTogether);
  }
}

void FindInPlace(MadeKernel& made) {
  kir::Kernel& k = made.kernel;
  if (k.seq.empty() || !std::holds_alternative<kir::Stage>(k.seq.back().is)) return;
  const kir::Stage& last = std::get<kir::Stage>(k.seq.back().is);
  // Points of one buffer's elements each: all of a point is read before any of it is written.
  if (last.stores.empty() || !last.domain.empty()) return;
  const kir::Store& store = last.stores[0];
  for (const kir::Store& s : last.stores) {
    if (!s.guard.empty() || s.combine >= 0 || s.buf != store.buf || s.order != kir::StoreOrder::kDisjoint) return;
  }
  if (made.buffers[store.buf].kind != BoundBuffer::Kind::kWrite) return;
  const kir::Buffer& out = k.buffers[store.buf];
  // Other stages may name the same memory through twin dims; only reads of the last stage's own dims are compared, so
  // the rest must not exist.
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    if (made.buffers[i].kind != BoundBuffer::Kind::kRead) continue;
    const kir::Buffer& in = k.buffers[i];
    if (ByteWidth(in.type) != ByteWidth(out.type) || in.type != out.type || !(in.extent == out.extent) ||
        !(in.stride == out.stride))
      continue;
    bool same = true;
    for (const kir::Read& r : k.reads) {
      if (r.buf != i) continue;
      same &= r.guard.empty() &&
              std::any_of(last.stores.begin(), last.stores.end(), [&](const kir::Store& s) { return s.at == r.at; });
    }
    if (same && k.seq.size() == 1) made.in_place.push_back({store.buf, static_cast<kir::Buf>(i)});
  }
}

namespace {

/// Accesses of one buffer that differ by constants in their last axis: emitters see neighbours in them where the
/// numbers are baked.
struct InterleavedSet {
  kir::Buf buf = 0;
  SmallVector<kir::Axis, 4> like;
  bool Has(kir::Buf other, const SmallVector<kir::Axis, 4>& at) const {
    return buf == other && DifferInOffset(like, at);
  }
};

std::vector<InterleavedSet> InterleavedSets(kir::Kernel& k) {
  struct Seen {
    InterleavedSet set;
    std::vector<int64_t> offsets;
  };
  std::vector<Seen> seen;
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto&) {
    if (at.empty() || at.back().terms.empty() || k.buffers[buf].stride.back().baked != 1) return;
    for (Seen& s : seen) {
      if (!s.set.Has(buf, at)) continue;
      s.offsets.push_back(at.back().offset.baked);
      return;
    }
    seen.push_back({{buf, at}, {at.back().offset.baked}});
  });
  std::vector<InterleavedSet> sets;
  for (Seen& s : seen) {
    int64_t least = INT64_MAX;
    for (const kir::Term& t : s.set.like.back().terms) least = std::min(least, std::abs(t.coef.baked));
    if (least <= 1 || least > target::kMaxInterleaved) continue;
    std::sort(s.offsets.begin(), s.offsets.end());
    const bool neighbours = std::adjacent_find(s.offsets.begin(), s.offsets.end(), [&](int64_t x, int64_t y) {
                              return x != y && y - x < least;
                            }) != s.offsets.end();
    if (neighbours) sets.push_back(std::move(s.set));
  }
  return sets;
}

/// Dims about whose places an access asks.
kir::DimMask AskedDims(kir::Kernel& k) {
  kir::DimMask asked = 0;
  ForEachAccess(k, [&](kir::Buf, auto&, auto& guard) {
    for (const kir::Guard& g : guard) {
      for (const kir::Term& t : g.e.terms) asked |= Bit(t.dim);
    }
  });
  return asked;
}

/// Innermost dims of few places: `alone` also where there is nothing but this row.
kir::DimMask ShortRows(kir::Kernel& k, bool alone) {
  kir::DimMask rows = 0;
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    if (stage.dims.size() + k.outer < (alone ? 1 : 2) || stage.dims.empty()) return;
    const DimId d = stage.dims.back();
    const Size extent = k.dims[d].extent;
    if (!extent.is_param() && extent.baked <= policy::kKnownRow) rows |= Bit(d);
  });
  return rows;
}

}  // namespace

void Parameterise(kir::Kernel& k, std::vector<int64_t>& params) {
  std::map<int64_t, int32_t> slots;
  auto turn = [&](Size& s, int64_t keep) {
    if (s.is_param() || (s.baked <= keep && s.baked >= -keep)) return;
    auto [it, fresh] = slots.try_emplace(s.baked, static_cast<int32_t>(params.size()));
    if (fresh) params.push_back(s.baked);
    s = Size::Param(it->second);
  };
  // Short rows are summed, or gone through, without a loop and masks where their length is known, and what is asked
  // about their places is known then.
  const kir::DimMask known = ShortRows(k, true) & AskedDims(k), rows = ShortRows(k, false) | known;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    turn(k.dims[d].extent, rows & Bit(d)                             ? policy::kKnownRow
                           : k.dims[d].kind == kir::DimKind::kReduce ? policy::kShortRow
                                                                     : 8);
  }
  // What lies rows apart is found by one address.
  const int64_t near = rows != 0 ? policy::kKnownRow * policy::kKnownRow : 8;
  for (kir::Buffer& b : k.buffers) {
    for (Size& s : b.extent) turn(s, 8);
    for (Size& s : b.stride) turn(s, 8);
  }
  auto axis = [&](kir::Axis& a, int64_t keep) {
    for (kir::Term& t : a.terms) turn(t.coef, keep);
    turn(a.offset, keep);
  };
  const std::vector<InterleavedSet> interleaved = InterleavedSets(k);
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto& guard) {
    const bool together = std::ranges::any_of(interleaved, [&](const InterleavedSet& s) { return s.Has(buf, at); });
    for (kir::Axis& a : at) {
      if (!together || &a != &at.back()) {
        for (kir::Term& t : a.terms) turn(t.coef, 8);
        turn(a.offset, near);
        continue;
      }
      for (kir::Term& t : a.terms) turn(t.coef, target::kMaxInterleaved);
    }
    for (kir::Guard& g : guard) {
      if (g.e.terms.size() == 1 && (known & Bit(g.e.terms[0].dim))) continue;
      axis(g.e, 8);
      turn(g.lo, 0);
      turn(g.hi, 8);
    }
  });
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (kir::Range& r : stage.domain) {
      if (known & Bit(r.dim)) continue;
      turn(r.lo, 0);
      turn(r.hi, 8);
    }
  });
  ForEachLoop(k.seq, [&](kir::Loop& loop) { turn(loop.trip_count, 0); });
  turn(k.split.grain, 1);
  k.num_params = static_cast<uint16_t>(params.size());
}

namespace {

/// Takes out local buffers, which nothing uses any more.
void DropLocals(MadeKernel& made) {
  kir::Kernel& k = made.kernel;
  std::vector<kir::Buf> place(k.buffers.size());
  kir::Buf next = 0;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    place[i] = next;
    if (k.buffers[i].kind == kir::BufKind::kLocal) continue;
    k.buffers[next] = k.buffers[i];
    made.buffers[next] = made.buffers[i];
    ++next;
  }
  k.buffers.resize(next);
  made.buffers.resize(next);
  for (kir::Read& r : k.reads) r.buf = place[r.buf];
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (kir::Store& s : stage.stores) s.buf = place[s.buf];
  });
}

}  // namespace

void KernelChecks::After(const char* step, const kir::Kernel& kernel) {
  if (!on || !failed.ok()) return;
  if (Status s = kir::Verify(kernel); !s.ok()) failed = Internal(std::string(s.message())).WithContext(step);
}

void ReformKernel(MadeKernel& made, const target::Target& target, KernelChecks* checks) {
  kir::Kernel& k = made.kernel;
  const auto done = [&](const char* step) {
    if (checks != nullptr) checks->After(step, k);
  };
  done("a kernel as traced");
  // CPUs without the instruction round products where others do not (target::Numerics); a GPU says what it has.
  const bool gpu = target.kind == target::Kind::kGpu;
  if (!gpu || target.numerics.fused_multiply_add) ContractFma(k);
  done("a kernel after contraction");
  SimplifyIntegers(k);
  done("a kernel with ranges of integers");
  FoldConstants(k);
  DropDead(k);
  done("a kernel without dead nodes");
  // Regions and short dims are about vectors of neighbours; invocations branch and stride for themselves.
  if (!gpu) SplitRegions(k, target);
  done("a kernel cut into regions");
  MergeDims(k);
  done("a kernel with merged dims");
  UnifyDims(k);
  JoinStages(k);
  done("a kernel with shared dims");
  if (!gpu && WriteOutShortDims(k, target)) {
    DropLocals(made);
    DropDead(k);
    MergeDims(k);
    done("a kernel with short dims written out");
  }
}

void FinishKernel(MadeKernel& made, const target::Target& target, KernelChecks* checks) {
  ReformKernel(made, target, checks);
  kir::Kernel& k = made.kernel;
  const auto done = [&](const char* step) {
    if (checks != nullptr) checks->After(step, k);
  };
  DecideSplit(k, target);
  done("a kernel with a split");
  FindInPlace(made);
  made.work = KernelWork(k, target);
  Parameterise(k, made.params);
  done("a kernel with parameters");
}

}  // namespace tenon::compiler
