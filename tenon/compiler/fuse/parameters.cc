// Which numbers of a kernel become parameters, so that kernels that differ in them are one.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/target/lanes.h"

namespace tenon::compiler {

using kir::DimId;
using kir::Size;

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
kir::DimMask AskedDims(const kir::Kernel& k) {
  kir::DimMask asked = 0;
  ForEachAccess(k, [&](kir::Buf, auto&, auto& guard) {
    for (const kir::Guard& g : guard) {
      for (const kir::Term& t : g.e.terms) asked |= Bit(t.dim);
    }
  });
  return asked;
}

/// Innermost dims of few places: `alone` also where there is nothing but this row.
kir::DimMask ShortRows(const kir::Kernel& k, bool alone) {
  kir::DimMask rows = 0;
  ForEachStage(k.seq, [&](const kir::Stage& stage) {
    if (stage.dims.size() + k.outer < (alone ? 1 : 2) || stage.dims.empty()) return;
    const DimId d = stage.dims.back();
    const Size extent = k.dims[d].extent;
    if (!extent.is_param() && extent.baked <= policy::kKnownRow) rows |= Bit(d);
  });
  return rows;
}

/// Whether accesses lie at more places than addresses can be kept of: as parameters they would be loaded and added, all
/// of them, before the first point.
bool ManyOffsets(const kir::Kernel& k) {
  std::set<int64_t> offsets;
  ForEachAccess(k, [&](kir::Buf, auto& at, auto&) {
    for (const kir::Axis& a : at) {
      if (!a.offset.is_param() && std::abs(a.offset.baked) > policy::kSmallNumber) offsets.insert(a.offset.baked);
    }
  });
  return offsets.size() > policy::kOffsetsAsParameters;
}

/// Short rows about whose places an access asks, which their length settles; and all that keep their length.
kir::DimMask AskedRows(const kir::Kernel& k) { return ShortRows(k, true) & AskedDims(k); }
kir::DimMask KnownRows(const kir::Kernel& k) { return ShortRows(k, ManyOffsets(k)) | AskedRows(k); }

}  // namespace

kir::DimMask KeptExtents(const kir::Kernel& k) {
  const kir::DimMask rows = KnownRows(k);
  kir::DimMask kept = 0;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    const int64_t most = rows & Bit(d)                             ? policy::kKnownRow
                         : k.dims[d].kind == kir::DimKind::kReduce ? policy::kShortRow
                                                                   : policy::kSmallNumber;
    if (!k.dims[d].extent.is_param() && k.dims[d].extent.baked <= most) kept |= Bit(d);
  }
  return kept;
}

void Parameterise(kir::Kernel& k, std::vector<int64_t>& params, kir::DimMask tiled) {
  std::map<int64_t, int32_t> slots;
  auto turn = [&](Size& s, int64_t keep) {
    if (s.is_param() || (s.baked <= keep && s.baked >= -keep)) return;
    auto [it, fresh] = slots.try_emplace(s.baked, static_cast<int32_t>(params.size()));
    if (fresh) params.push_back(s.baked);
    s = Size::Param(it->second);
  };
  // Short rows are summed, or gone through, without a loop and masks where their length is known, and what is asked
  // about their places is known then.
  const kir::DimMask known = AskedRows(k), rows = KnownRows(k), kept = KeptExtents(k);
  for (size_t d = 0; d < k.dims.size(); ++d) {
    if (!((kept | tiled) & Bit(d))) turn(k.dims[d].extent, policy::kSmallNumber);
  }
  // What lies rows apart is found by one address, and so is what lies at many places.
  const int64_t near = ManyOffsets(k) ? std::numeric_limits<int32_t>::max() / 16  // structural: bytes
                       : rows != 0    ? policy::kKnownRow * policy::kKnownRow
                                      : policy::kSmallNumber;
  for (kir::Buffer& b : k.buffers) {
    for (Size& s : b.extent) turn(s, policy::kSmallNumber);
    for (Size& s : b.stride) turn(s, policy::kSmallNumber);
  }
  auto axis = [&](kir::Axis& a, int64_t keep) {
    for (kir::Term& t : a.terms) turn(t.coef, keep);
    turn(a.offset, keep);
  };
  // Elements of short sums are written out, and lie at known distances.
  const auto written_out = [&](const kir::Term& t) {
    return (tiled & Bit(t.dim)) || (k.dims[t.dim].kind == kir::DimKind::kReduce && (kept & Bit(t.dim)));
  };
  const std::vector<InterleavedSet> interleaved = InterleavedSets(k);
  ForEachAccess(k, [&](kir::Buf buf, auto& at, auto& guard) {
    const bool together = std::ranges::any_of(interleaved, [&](const InterleavedSet& s) { return s.Has(buf, at); });
    for (kir::Axis& a : at) {
      if (!together || &a != &at.back()) {
        for (kir::Term& t : a.terms) {
          if (!written_out(t)) turn(t.coef, policy::kSmallNumber);
        }
        turn(a.offset, near);
        continue;
      }
      for (kir::Term& t : a.terms) {
        if (!written_out(t)) turn(t.coef, target::kMaxInterleaved);
      }
    }
    for (kir::Guard& g : guard) {
      if (g.e.terms.size() == 1 && (known & Bit(g.e.terms[0].dim))) continue;
      axis(g.e, policy::kSmallNumber);
      turn(g.lo, 0);
      turn(g.hi, policy::kSmallNumber);
    }
  });
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (kir::Range& r : stage.domain) {
      if (known & Bit(r.dim)) continue;
      turn(r.lo, 0);
      turn(r.hi, policy::kSmallNumber);
    }
  });
  ForEachLoop(k.seq, [&](kir::Loop& loop) { turn(loop.trip_count, 0); });
  turn(k.split.grain, k.outer > 0 ? policy::kPointsTogether - 1 : 1);
  k.num_params = static_cast<uint16_t>(params.size());
}

}  // namespace tenon::compiler
