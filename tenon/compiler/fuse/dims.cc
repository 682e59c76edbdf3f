// The dims of a kernel's stages: in which order points run, and which stages run over the same.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/kir/walk.h"
#include "tenon/target/lanes.h"

namespace tenon::compiler {

using kir::DimId;

namespace {

/// Dims get these numbers, in all that names them but the kernel's own list of them.
void RenameDims(kir::Kernel& k, const std::vector<DimId>& place) {
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
}

/// By how many elements of its buffer an access moves along the dim; nothing where data say so.
std::optional<int64_t> StepAlong(const kir::Kernel& k, kir::Buf buf, const SmallVector<kir::Axis, 4>& at, DimId dim) {
  if (std::ranges::any_of(at, [](const kir::Axis& a) { return a.start != kir::kNone; })) return std::nullopt;
  return ElementsAlong(at, k.buffers[buf], dim);
}

}  // namespace

void FollowStores(kir::Kernel& k, const target::Target& target) {
  if (k.outer != 0 || k.seq.size() != 1 || !std::holds_alternative<kir::Stage>(k.seq[0].is)) return;
  const kir::Stage& stage = std::get<kir::Stage>(k.seq[0].is);
  const size_t n = stage.dims.size();
  if (!stage.reduces.empty() || !stage.domain.empty() || n < 2 || n != k.dims.size()) return;
  std::vector<std::pair<int64_t, DimId>> order;  // Widest steps first.
  for (size_t d = 0; d < n; ++d) {
    if (stage.dims[d] != d || k.dims[d].kind != kir::DimKind::kParallel) return;
    const auto dim = static_cast<DimId>(d);
    std::optional<int64_t> common;
    for (const kir::Store& s : stage.stores) {
      const std::optional<int64_t> step = StepAlong(k, s.buf, s.at, dim);
      if (!step || *step <= 0 || s.combine >= 0 || s.order != kir::StoreOrder::kDisjoint || !s.guard.empty() ||
          (common && *common != *step))
        return;
      common = step;
    }
    if (!common) return;
    order.emplace_back(-*common, dim);
  }
  std::ranges::stable_sort(order, {}, &std::pair<int64_t, DimId>::first);
  const DimId last = static_cast<DimId>(n - 1), next = order.back().second;
  if (next == last || order.back().first != -1) return;
  for (const kir::Read& r : k.reads) {
    const std::optional<int64_t> now = StepAlong(k, r.buf, r.at, last), then = StepAlong(k, r.buf, r.at, next);
    if (!r.guard.empty() || !now || !then || (*now == 1 && *then != 0)) return;
  }
  std::vector<DimId> place(n);
  std::vector<kir::Dim> dims;
  for (const auto& [step, dim] : order) {
    place[dim] = static_cast<DimId>(dims.size());
    dims.push_back(k.dims[dim]);
  }
  // What rows of this order share is computed for each point of the other's.
  double shared = 0;
  const std::vector<kir::DimMask> deps = kir::DependentDims(k);
  for (size_t v = 0; v < k.nodes.size(); ++v) {
    if ((deps[v] & Bit(next)) != 0 && (deps[v] & Bit(last)) == 0) shared += target.costs.Of(k.nodes[v]);
  }
  if (shared * policy::kLaneCyclesPerCost > target::kStridedMove * static_cast<double>(stage.stores.size())) return;
  RenameDims(k, place);
  k.dims = std::move(dims);
  std::ranges::sort(std::get<kir::Stage>(k.seq[0].is).dims);
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
  RenameDims(k, place);
  k.dims = std::move(dims);
}

namespace {

/// What a store writes of a point's neighbours: places that differ by less than the smallest step of any dim.
bool AreInterleaved(const kir::Store& a, const kir::Store& b) {
  if (a.buf != b.buf || a.at.size() != 1 || a.at[0].start != kir::kNone || a.at[0].terms.empty() ||
      !DifferInOffset(a.at, b.at))
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

}  // namespace tenon::compiler
