#include "tenon/compiler/fuse/in_place.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/kir/walk.h"

namespace tenon::compiler {
namespace {

using Place = SmallVector<kir::Axis, 4>;

/// Whether no point belongs to both stages, which have the same dims. Sizes are baked.
bool AreDisjoint(const kir::Stage& x, const kir::Stage& y) {
  return std::ranges::any_of(x.domain, [&](const kir::Range& here) {
    const auto there = std::ranges::find(y.domain, here.dim, &kir::Range::dim);
    return there != y.domain.end() && (here.hi.baked <= there->lo.baked || there->hi.baked <= here.lo.baked);
  });
}

/// Where the stage writes to `out`, once a point and nothing else's elements; nothing when that is not sure.
std::optional<std::vector<Place>> PlacesOf(const kir::Stage& stage, kir::Buf out) {
  std::vector<Place> places;
  for (const kir::Store& s : stage.stores) {
    if (s.buf != out) continue;
    if (!s.guard.empty() || s.combine >= 0 || s.order != kir::StoreOrder::kDisjoint) return std::nullopt;
    places.push_back(s.at);
  }
  return places;
}

/// Whether the stage reads the buffer, for what it stores or reduces.
bool Reads(const kir::Kernel& k, const kir::Stage& stage, kir::Buf buf) {
  std::vector<bool> needed(k.nodes.size());
  const auto need = [&](kir::Val v) { needed[v] = true; };
  for (const kir::Reduce& r : stage.reduces) {
    std::ranges::for_each(r.in, need);
    std::ranges::for_each(r.init, need);
  }
  for (const kir::Store& s : stage.stores) kir::ForEachRoot(s, need);
  for (size_t v = k.nodes.size(); v-- > 0;) {
    if (!needed[v]) continue;
    if (k.nodes[v].op == kir::Op::kRead && k.reads[k.nodes[v].attr].buf == buf) return true;
    kir::ForEachInput(k, k.nodes[v], need);
  }
  return false;
}

/// Whether the places are those of one outer point, which `place` comes to in `stage` and `other` in stages before it:
/// by other inner dims, of the same extents.
bool IsSameRow(const kir::Kernel& k, const kir::Stage& stage, const Place& place, const Place& other) {
  std::map<kir::DimId, kir::DimId> inner;  // Of `place`, by that of `other`.
  const auto runs_alike = [&](const kir::Term& x, const kir::Term& y) {
    if (!(x.coef == y.coef)) return false;
    if (x.dim < k.outer || y.dim < k.outer) return x.dim == y.dim;
    if (std::ranges::find(stage.dims, y.dim) != stage.dims.end()) return false;
    return k.dims[x.dim].extent == k.dims[y.dim].extent && inner.try_emplace(y.dim, x.dim).first->second == x.dim;
  };
  const bool alike = std::ranges::equal(place, other, [&](const kir::Axis& x, const kir::Axis& y) {
    return x.offset == y.offset && x.start == kir::kNone && y.start == kir::kNone &&
           std::ranges::equal(x.terms, y.terms, runs_alike);
  });
  std::set<kir::DimId> named;
  for (const auto& [from, to] : inner) named.insert(to);
  return alike && named.size() == inner.size();
}

}  // namespace

bool MayTakeOver(const kir::Kernel& k, kir::Buf out, kir::Buf in) {
  const kir::Buffer& to = k.buffers[out];
  const kir::Buffer& from = k.buffers[in];
  if (to.type != from.type || !(to.extent == from.extent) || !(to.stride == from.stride)) return false;
  // Whichever of the stages that write a point belongs to, it has the same elements, and no other point has them.
  std::vector<const kir::Stage*> writers;
  std::vector<Place> places;
  for (const kir::Step& step : k.seq) {
    const auto* stage = std::get_if<kir::Stage>(&step.is);
    if (stage == nullptr) return false;
    std::optional<std::vector<Place>> here = PlacesOf(*stage, out);
    if (!here) return false;
    if (here->empty()) {
      if (!Reads(k, *stage, in)) continue;
      // Before the others and at each outer point a stage may read all that the point writes.
      if (k.outer == 0 || !writers.empty()) return false;
      continue;
    }
    if (writers.empty())
      places = *std::move(here);
    else if (*here != places || stage->dims != writers[0]->dims)
      return false;
    for (const kir::Stage* before : writers) {
      if (!AreDisjoint(*before, *stage)) return false;
    }
    writers.push_back(stage);
  }
  if (writers.empty()) return false;
  return std::ranges::all_of(k.reads, [&](const kir::Read& r) {
    if (r.buf != in) return true;
    if (!r.guard.empty()) return false;
    return std::ranges::any_of(places, [&](const Place& place) {
      return r.at == place || (k.outer > 0 && IsSameRow(k, *writers[0], place, r.at));
    });
  });
}

kir::Kernel WhereInPlace(kir::Kernel k) {
  for (kir::Buf out = 0; out < k.buffers.size(); ++out) {
    if (k.buffers[out].kind != kir::BufKind::kOut) continue;
    for (kir::Buf in = 0; in < k.buffers.size(); ++in) {
      if (k.buffers[in].kind != kir::BufKind::kArg || !MayTakeOver(k, out, in)) continue;
      k.buffers[out].in_place_of = in;
      break;
    }
  }
  DropKept(k);
  return k;
}

namespace {

/// Whether the store writes what its place holds.
bool IsKept(const kir::Kernel& k, const kir::Store& s) {
  const kir::Node& value = k.nodes[s.value];
  if (value.op != kir::Op::kRead || !s.guard.empty() || s.combine >= 0) return false;
  const kir::Read& read = k.reads[value.attr];
  const bool same_memory = read.buf == s.buf || read.buf == k.buffers[s.buf].in_place_of;
  return same_memory && read.guard.empty() && read.at == s.at && value.imm == s.component;
}

/// Takes out stages that neither store nor reduce.
void DropIdle(kir::Seq& seq) {
  std::erase_if(seq, [](kir::Step& step) {
    if (auto* loop = std::get_if<kir::Loop>(&step.is)) {
      DropIdle(loop->body);
      return false;
    }
    const auto& stage = std::get<kir::Stage>(step.is);
    return stage.stores.empty() && stage.reduces.empty();
  });
}

}  // namespace

bool DropKept(kir::Kernel& k) {
  size_t dropped = 0;
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    // Neighbours of what changes are stored with it, as whole vectors.
    std::set<kir::Buf> changed;
    for (const kir::Store& s : stage.stores) {
      if (!IsKept(k, s)) changed.insert(s.buf);
    }
    dropped += std::erase_if(stage.stores, [&](const kir::Store& s) { return !changed.contains(s.buf); });
  });
  if (dropped > 0) DropIdle(k.seq);
  return dropped > 0;
}

}  // namespace tenon::compiler
