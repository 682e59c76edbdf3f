#include "tenon/emit_llvm/internal/plan_stage.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "tenon/emit_llvm/internal/interleave.h"
#include "tenon/emit_llvm/internal/scalar_lowering.h"
#include "tenon/emit_llvm/internal/tables.h"
#include "tenon/emit_llvm/policy.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/math.h"
#include "tenon/target/chains.h"
#include "tenon/target/lanes.h"
#include "tenon/target/target.h"

namespace tenon::emit_llvm {
namespace {

using kir::DimId;
using kir::DimMask;
using kir::Op;
using kir::Val;

constexpr DimMask Bit(int dim) { return DimMask{1} << dim; }

constexpr double kContiguous = target::kContiguousMove;
constexpr double kReversed = target::kReversedMove;
constexpr double kStrided = target::kStridedMove;
constexpr double kUniform = target::kUniformMove;

struct Accesses {
  const Analysis& an;
  const kir::Stage& stage;
  std::vector<Val> needed;
  std::vector<Access> stores;
};

double AccessCost(const Analysis& an, const Access& access, DimId v) {
  for (const Contribution& part : access.parts) {
    if (part.kind == Contribution::Kind::kStart && (an.deps[part.start] & Bit(v))) return kStrided;
  }
  const std::optional<int64_t> stride = ConstStride(access, v);
  if (!stride) return kStrided;
  if (*stride == 0) return kUniform;
  if (*stride == 1) return kContiguous;
  return *stride == -1 ? kReversed : kStrided;
}

/// Of what one access moves.
int PartBytes(const kir::Kernel& kernel, kir::Buf buf) {
  const DType type = kernel.buffers[buf].type;
  return ByteWidth(IsComplex(type) ? RealPartOf(type) : type);
}

/// Of one vector whose lanes lie apart.
double LaneMoveCost(const Analysis& an, const Access& access, DimId v, unsigned lanes, isa::IsaLevel isa) {
  const std::less<const Access*> before;
  const Access* const first = an.reads.data();
  if (!before(&access, first) && before(&access, first + an.reads.size())) {
    if (const auto table = TableOf(an, static_cast<size_t>(&access - first), v, lanes, isa))
      return TableCost(*table, lanes);
  }
  return target::StridedMove(PartBytes(an.kernel, access.buf), static_cast<int>(lanes), isa::VectorBytes(isa));
}

/// Cycles of moving all of `accesses` for one vector along `v`: groups of neighbours together (stores when nothing of
/// them is left out), the rest one by one. `contiguous`: set when some of it moves as whole vectors.
double MoveCost(const Analysis& an, const std::vector<const Access*>& accesses, bool stores, DimId v, unsigned lanes,
                isa::IsaLevel isa, bool* contiguous) {
  double cost = 0, one_by_one = 0;
  const int n = static_cast<int>(lanes), vector_bytes = isa::VectorBytes(isa);
  std::vector<const Access*> strided;
  for (const Access* access : accesses) {
    const double c = AccessCost(an, *access, v);
    *contiguous |= c == kContiguous;
    const int bytes = PartBytes(an.kernel, access->buf);
    const bool grouped = c == kStrided && access->guards->empty() &&
                         target::ShuffledLanes(bytes, n, vector_bytes) > 0 &&
                         std::none_of(access->parts.begin(), access->parts.end(), [&](const Contribution& part) {
                           return part.kind == Contribution::Kind::kStart && (an.deps[part.start] & Bit(v));
                         });
    if (grouped) {
      strided.push_back(access);
      one_by_one += target::StridedMove(bytes, n, vector_bytes);
    } else {
      cost += c == kStrided   ? LaneMoveCost(an, *access, v, lanes, isa)
              : c == kUniform ? c
                              : c * target::Registers(bytes, n, vector_bytes);
    }
  }
  for (const AccessGroup& group : FindGroups(an.kernel, strided, {}, v)) {
    const int bytes = PartBytes(an.kernel, strided[group.members[0]]->buf);
    const int together = target::ShuffledLanes(bytes, n, vector_bytes);
    if (stores ? !group.complete() || group.down : !GroupPays(group, together)) continue;
    one_by_one -= target::StridedMove(bytes, n, vector_bytes) * static_cast<double>(group.members.size());
    cost += target::ShuffledMove(bytes, n, vector_bytes, static_cast<int>(group.stride),
                                 static_cast<int>(group.members.size()), group.down);
    *contiguous = true;
  }
  return cost + one_by_one;
}

/// One lane per element of the widest value that runs in lanes; 64-bit values beside narrower ones take two registers
/// instead.
unsigned LanesFor(const Analysis& an, const std::vector<Val>& needed, const std::vector<Access>& stores, DimId v,
                  isa::IsaLevel isa) {
  int widest = 1;
  bool has_four = false;
  auto see = [&](DType type) {
    const int bytes = ScalarLowering::RegisterBytes(type);
    widest = std::max(widest, bytes);
    has_four |= bytes == 4;
  };
  for (Val n : needed) {
    if (an.deps[n] & Bit(v)) see(an.kernel.nodes[n].type);
  }
  for (const Access& s : stores) {
    const DType type = an.kernel.buffers[s.buf].type;
    see(IsComplex(type) ? RealPartOf(type) : type);
  }
  if (widest == 8 && has_four) widest = 4;
  return static_cast<unsigned>(isa::VectorBytes(isa) / widest);
}

/// Whether a guard lets at most one value of `v` through.
bool OneValueOf(const kir::Store& store, DimId v) {
  return store.combine < 0 && std::any_of(
                                  store.guard.begin(), store.guard.end(),
                                  [&](const kir::Guard& g) {
                                    return g.e.start == kir::kNone && g.e.terms.size() == 1 && g.e.terms[0].dim == v &&
                                           g.e.terms[0].coef == kir::Size::Of(1) && !g.lo.is_param() &&
                                           !g.hi.is_param() && g.hi.baked - g.lo.baked <= 1;
                                  });
}

/// Whether the store's place along an axis is another one for each value of `v`, whatever the other dims are.
bool MovesAxis(const Analysis& an, const kir::Axis& axis, DimId v) {
  if (axis.start != kir::kNone && (an.deps[axis.start] & Bit(v))) return false;
  const auto is_v = [&](const kir::Term& term) { return term.dim == v; };
  const auto term = std::find_if(axis.terms.begin(), axis.terms.end(), is_v);
  return term != axis.terms.end() && std::count_if(axis.terms.begin(), axis.terms.end(), is_v) == 1 &&
         !term->coef.is_param() && term->coef.baked != 0;
}

/// Whether neighbours along `v` can be stored together. `innermost`: no other loop of the stage would trade places with
/// it, and nothing else is stored there.
bool StoreAllows(const Analysis& an, const kir::Store& store, const Access& access, DimId v, bool innermost = false) {
  bool moves = access.dims & Bit(v);
  for (const Contribution& part : access.parts) {
    moves |= part.kind == Contribution::Kind::kStart && (an.deps[part.start] & Bit(v));
  }
  if (!moves) return OneValueOf(store, v);
  if (store.order == kir::StoreOrder::kDisjoint) return true;
  // Collisions are possible, but not between neighbours along v; and not between others of different v either when v
  // alone moves one of the axes.
  return std::any_of(store.at.begin(), store.at.end(), [&](const kir::Axis& axis) {
    return MovesAxis(an, axis, v) && (innermost || (axis.start == kir::kNone && axis.terms.size() == 1));
  });
}

/// Of the longest combiner among the stage's reductions.
int CombinerCost(const kir::Kernel& k, const kir::Stage& stage) {
  int most = 0;
  for (const kir::Reduce& r : stage.reduces) {
    int cost = 0;
    for (const kir::Node& node : k.graphs[r.combiner].nodes) cost += target::OpCosts::Standard().Of(node);
    most = std::max(most, cost);
  }
  return most;
}

/// Lanes of a whole register, or so many that a shorter row fits: whatever is gathered for lanes that nobody asks for
/// is gathered all the same. Registers of narrow elements are not split.
unsigned ShortLanes(const Analysis& an, const std::vector<const Access*>& reads, const std::vector<Access>& stores,
                    DimId v, unsigned lanes) {
  constexpr int kWhole = 4;  // structural: elements of which registers are split
  const auto narrow = [&](const Access& access) { return ByteWidth(an.kernel.buffers[access.buf].type) < kWhole; };
  const kir::Size extent = an.kernel.dims[v].extent;
  if (extent.is_param() || std::any_of(reads.begin(), reads.end(), [&](const Access* a) { return narrow(*a); }) ||
      std::any_of(stores.begin(), stores.end(), narrow))
    return lanes;
  const auto row = static_cast<uint64_t>(std::max<int64_t>(1, extent.baked));
  return static_cast<unsigned>(std::min<uint64_t>(lanes, std::max<uint64_t>(kWhole, std::bit_ceil(row))));
}

bool ReduceAllowsLanes(const Analysis& an, const kir::Reduce& reduce) {
  if (reduce.order == kir::ReduceOrder::kLanes) return true;
  return reduce.in.size() == 1 && AnyOrderCombiner(an.kernel.graphs[reduce.combiner]).has_value();
}

unsigned RowLanesLimit(const Analysis& an, const kir::Stage& stage) {
  unsigned limit = 64;
  for (const kir::Reduce& reduce : stage.reduces) {
    limit = std::min(limit, 64u / static_cast<unsigned>(std::max(1, ByteWidth(an.kernel.nodes[reduce.in[0]].type))));
  }
  return limit;
}

/// Whether elements of so many bytes are moved that lie apart along `v`.
bool MovesApart(const Analysis& an, const std::vector<const Access*>& reads, const std::vector<Access>& stores, DimId v,
                int bytes) {
  const auto apart = [&](const Access& access) {
    return ByteWidth(an.kernel.buffers[access.buf].type) == bytes && AccessCost(an, access, v) == kStrided;
  };
  return std::any_of(reads.begin(), reads.end(), [&](const Access* a) { return apart(*a); }) ||
         std::any_of(stores.begin(), stores.end(), apart);
}

/// Whether the registers hold most of what the body needs at once for so many vectors.
bool VectorsFit(const Analysis& an, const std::vector<Val>& needed, DimId v, unsigned lanes, isa::IsaLevel isa,
                unsigned vectors) {
  const size_t registers = isa == isa::IsaLevel::kAvx512 ? 32 : 16;
  const auto register_bytes = static_cast<unsigned>(isa::VectorBytes(isa));
  std::vector<Val> last(an.kernel.nodes.size(), kir::kNone);
  for (Val n : needed) {
    for (Val in : an.kernel.nodes[n].in) last[in] = n;
  }
  const auto size = [&](Val n) -> size_t {
    const unsigned bytes = lanes * static_cast<unsigned>(std::max(1, ByteWidth(an.kernel.nodes[n].type)));
    return (an.deps[n] & Bit(v)) ? std::max(1u, bytes / register_bytes) : 0;
  };
  size_t live = 0;  // What nobody uses is stored, behind everything else.
  for (Val n : needed) {
    const kir::Node& node = an.kernel.nodes[n];
    live += size(n);
    const size_t inside = node.op == Op::kMath && size(n) != 0 ? policy::kMathRegisters : 0;
    if (vectors * (live + inside) > policy::kTogetherRegisters * registers) return false;
    for (Val in : node.in) {
      if (last[in] != n) continue;
      live -= size(in);
      last[in] = kir::kNone;
    }
  }
  return true;
}

bool HasDomain(const kir::Stage& stage, DimId dim) {
  return std::any_of(stage.domain.begin(), stage.domain.end(), [&](const kir::Range& r) { return r.dim == dim; });
}

}  // namespace

bool TurnsInTiles(DType type, int64_t step) { return step == 1 || (!IsComplex(type) && (step == -1 || step == 2)); }

std::optional<AnyOrder> AnyOrderCombiner(const kir::Graph& graph) {
  if (graph.arguments.size() != 2 || graph.results.size() != 1) return std::nullopt;
  const kir::Node& root = graph.nodes[graph.results[0]];
  if (root.in.size() != 2) return std::nullopt;
  const kir::Node& x = graph.nodes[root.in[0]];
  const kir::Node& y = graph.nodes[root.in[1]];
  if (x.op != Op::kArgument || y.op != Op::kArgument || x.imm == y.imm) return std::nullopt;
  // Sums and products of floats depend on the order, and floats of a byte are taken in theirs.
  const bool extreme = root.op == Op::kMin || root.op == Op::kMax;
  if (IsFloat(root.type) && (!extreme || DTypeBits(root.type) <= 8)) return std::nullopt;
  const std::optional<uint64_t> identity = kir::IdentityBits(root.op, root.type);
  if (!identity) return std::nullopt;
  return AnyOrder{root.op, *identity};
}

namespace {

/// Whether tiles turn what the access reads along v: its elements are neighbours along `d`, or every second one.
bool TurnedByTiles(const Analysis& an, const Access& access, DimId v, DimId d) {
  if (!access.guards->empty() || !(access.dims & Bit(v)) || AccessCost(an, access, v) != kStrided) return false;
  const bool moved = std::any_of(access.parts.begin(), access.parts.end(), [&](const Contribution& part) {
    return part.kind == Contribution::Kind::kStart && (an.deps[part.start] & (Bit(v) | Bit(d)));
  });
  const std::optional<int64_t> step = ConstStride(access, d);
  return !moved && step && TurnsInTiles(an.kernel.buffers[access.buf].type, *step);
}

/// Square tiles of vectors along one dim and rows along another.
struct Tiles {
  int dim = -1;  ///< -1: no reads want them.
  int side = 0;
};

/// The tiles of vectors of `lanes` along v, with whichever other dim more reads are contiguous along.
Tiles TilesFor(const Analysis& an, const llvm::SmallVector<DimId, 4>& others, const std::vector<const Access*>& read,
               DimId v, unsigned lanes, int cost) {
  Tiles tiles;
  if (cost > target::kTileCost) return tiles;
  int most = 0, bytes = 0;
  for (DimId d : others) {
    if (d == v || an.kernel.dims[d].kind != kir::DimKind::kParallel) continue;
    int turned = 0, narrowest = 8;  // structural: bytes of the widest
    for (const Access* access : read) {
      if (!TurnedByTiles(an, *access, v, d)) continue;
      ++turned;
      narrowest = std::min(narrowest, PartBytes(an.kernel, access->buf));
    }
    if (turned <= most) continue;
    most = turned;
    bytes = narrowest;
    tiles.dim = static_cast<int>(d);
  }
  const auto extent = [&](int d) {
    const kir::Size size = an.kernel.dims[static_cast<DimId>(d)].extent;
    return size.is_param() ? std::numeric_limits<int64_t>::max() : size.baked;
  };
  if (tiles.dim >= 0) tiles.side = target::TileSide(bytes, lanes, extent(static_cast<int>(v)), extent(tiles.dim));
  if (tiles.side == 0) tiles.dim = -1;
  return tiles;
}

}  // namespace

namespace {

/// Points of a stage's innermost loops together, in vectors that registers put together.
struct ShortPlan {
  double cost = std::numeric_limits<double>::infinity();  ///< Cycles per point.
  llvm::SmallVector<DimId, 8> dims;
  std::optional<target::ShortTile> tile;
};

/// What a stage that moves and computes looks like to tiles of short dims.
class ShortTiles {
 public:
  ShortTiles(const Analysis& an, const kir::Stage& stage, const std::vector<Val>& needed,
             const std::vector<Access>& stores, isa::IsaLevel isa)
      : an_(an), stage_(stage), needed_(needed), stores_(stores), isa_(isa) {}

  /// Of all that take the last dims of `loops`, the one with the fewest cycles for a point.
  ShortPlan Best(const llvm::SmallVector<DimId, 4>& loops, DimMask cut) const {
    ShortPlan best;
    if (stage_.stores.empty() || !stage_.reduces.empty() || !StoresPlainly()) return best;
    ShortPlan plan;
    int64_t points = 1;
    for (size_t i = loops.size(); i-- > 0;) {
      const kir::Dim& dim = an_.kernel.dims[loops[i]];
      if (dim.kind != kir::DimKind::kParallel || dim.extent.is_param() || (cut & Bit(loops[i]))) break;
      // structural: of bytes, the most that vectors hold
      constexpr int64_t kMostPoints = int64_t{target::ShortTile::kMostVectors} * 64;
      if (dim.extent.baked < 1 || dim.extent.baked > kMostPoints / points) break;
      points *= dim.extent.baked;
      plan.dims.insert(plan.dims.begin(), loops[i]);
      if (plan.dims.size() > 1) Consider(plan, best);
    }
    return best;
  }

 private:
  bool StoresPlainly() const {
    for (size_t i = 0; i < stage_.stores.size(); ++i) {
      const kir::Store& s = stage_.stores[i];
      if (s.combine >= 0 || s.order != kir::StoreOrder::kDisjoint || !s.guard.empty()) return false;
      if (!IsComplex(an_.kernel.buffers[s.buf].type)) continue;
      // Both parts, one behind the other.
      if (s.component != 0 || ++i >= stage_.stores.size()) return false;
      const kir::Store& other = stage_.stores[i];
      if (other.buf != s.buf || other.component != 1 || !(other.at == s.at) || other.combine >= 0 ||
          other.order != kir::StoreOrder::kDisjoint || !other.guard.empty())
        return false;
    }
    return true;
  }

  static DimMask MaskOf(const llvm::SmallVector<DimId, 8>& dims) {
    DimMask mask = 0;
    for (const DimId d : dims) mask |= Bit(d);
    return mask;
  }

  /// Whether data or guards have no say in where the dims move the access.
  bool Follows(const Access& access, DimMask dims) const {
    return access.guards->empty() && std::ranges::none_of(access.parts, [&](const Contribution& part) {
             return part.kind == Contribution::Kind::kStart && (an_.deps[part.start] & dims) != 0;
           });
  }

  void Consider(ShortPlan& plan, ShortPlan& best) const {
    const kir::Kernel& k = an_.kernel;
    const DimMask mask = MaskOf(plan.dims);
    std::vector<int64_t> extents, stored;
    for (const DimId d : plan.dims) extents.push_back(k.dims[d].extent.baked);
    for (const Access& s : stores_) {
      if (!Follows(s, mask)) return;
      std::vector<int64_t> strides;
      for (const DimId d : plan.dims) {
        const std::optional<int64_t> stride = ConstStride(s, d);
        if (!stride) return;
        strides.push_back(*stride);
      }
      if (!stored.empty() && strides != stored) return;
      stored = std::move(strides);
    }
    struct Moved {
      std::vector<int64_t> moves;
      int bytes;
    };
    std::vector<Moved> reads;
    int widest = 1;
    std::vector<int> moved;
    for (const Access& s : stores_) {
      moved.push_back(PartBytes(k, s.buf));
      widest = std::max(widest, moved.back());
    }
    for (Val n : needed_) {
      if ((an_.deps[n] & mask) == 0) continue;
      widest = std::max(widest, ScalarLowering::RegisterBytes(k.nodes[n].type));
      if (k.nodes[n].op != Op::kRead) continue;
      const Access& access = an_.reads[k.nodes[n].attr];
      std::optional<std::vector<int64_t>> moves = MovesAlong(k, access, plan.dims);
      if (!Follows(access, mask) || !moves) return;
      reads.push_back({std::move(*moves), PartBytes(k, access.buf)});
      moved.push_back(reads.back().bytes);
    }
    const int vector_bytes = isa::VectorBytes(isa_);
    for (const int lanes : target::LanesOfTiles(widest, moved, vector_bytes)) {
      // Points that two vectors have are read before any of the tile is stored, hence the same both times.
      std::optional<target::ShortTile> tile = target::ShortTile::Of(extents, stored, lanes);
      if (!tile || !target::TileFits(*tile, k, needed_, an_.deps, mask, vector_bytes)) continue;
      const double registers = std::max(1.0, static_cast<double>(lanes * widest) / vector_bytes);
      double cost = target::kShortTileCycles + tile->vectors() * (registers * 0.25 * an_.Cost(needed_, mask) +
                                                                  1.5 * static_cast<double>(stores_.size()));
      bool permutes = false;
      for (const Moved& r : reads) {
        const target::TileReads read = target::ReadsOf(*tile, r.moves, r.bytes);
        permutes = permutes || !target::LieAsRead(read);
        cost += target::TileReadCycles(read, r.bytes, vector_bytes);
      }
      if (!permutes) continue;
      cost /= static_cast<double>(tile->points());
      if (cost >= best.cost) continue;
      best = {cost, plan.dims, std::move(tile)};
    }
  }

  const Analysis& an_;
  const kir::Stage& stage_;
  const std::vector<Val>& needed_;
  const std::vector<Access>& stores_;
  const isa::IsaLevel isa_;
};

}  // namespace

StagePlan PlanStage(const Analysis& an, const kir::Stage& stage, DimMask promoted, DimMask cut, isa::IsaLevel isa,
                    bool vectorise) {
  StagePlan plan;
  DimMask reduced = 0;
  for (const kir::Reduce& r : stage.reduces) reduced |= r.dims;
  llvm::SmallVector<DimId, 4> parallel;
  for (DimId d : stage.dims) {
    if (promoted & Bit(d)) continue;
    if (reduced & Bit(d)) {
      plan.reduced.push_back(d);
    } else {
      plan.outside.push_back(d);
      if (an.kernel.dims[d].kind == kir::DimKind::kParallel) parallel.push_back(d);
    }
  }
  if (!vectorise) return plan;

  std::vector<Val> roots;
  std::vector<Access> stores;
  std::vector<const kir::Store*> during;
  for (const kir::Reduce& r : stage.reduces) roots.insert(roots.end(), r.in.begin(), r.in.end());
  for (const kir::Store& s : stage.stores) {
    Analysis::StoreRoots(s, &roots);
    stores.push_back(Analysis::AccessOf(an.kernel, s.buf, s.at, s.guard));
    if (!an.RunsAfterReduce(stage, s)) during.push_back(&s);
  }
  const std::vector<Val> needed = an.Needed(roots);
  // What does not change along the reduced dims is computed once for all of their points.
  std::vector<Val> inner, once;
  for (Val n : needed) (reduced == 0 || (an.deps[n] & reduced) ? inner : once).push_back(n);
  double times = 1;
  for (DimId d : plan.reduced) {
    const kir::Size extent = an.kernel.dims[d].extent;
    times *= static_cast<double>(extent.is_param() ? target::kManyPlaces : std::max<int64_t>(1, extent.baked));
  }
  std::vector<const Access*> read, read_once;
  for (Val n : needed) {
    if (an.kernel.nodes[n].op != Op::kRead) continue;
    const bool is_inner = reduced == 0 || (an.deps[n] & reduced);
    (is_inner ? read : read_once).push_back(&an.reads[an.kernel.nodes[n].attr]);
  }

  // Whether loops along v run down the columns of everything that moves along it: another dim has all of that side by
  // side, in rows of unknown length, whose lines are gone when the next column wants them.
  auto runs_down_columns = [&](DimId v) {
    return std::any_of(parallel.begin(), parallel.end(), [&](DimId row) {
      if (row == v || !an.kernel.dims[row].extent.is_param()) return false;
      bool any = false;
      const auto in_rows = [&](const Access& access) {
        if (AccessCost(an, access, v) == kUniform) return true;
        any = true;
        return !ConstStride(access, v) && AccessCost(an, access, row) == kContiguous;
      };
      return std::all_of(read.begin(), read.end(), [&](const Access* access) { return in_rows(*access); }) &&
             std::all_of(stores.begin(), stores.end(), in_rows) && any;
    });
  };

  auto cost_of = [&](DimId v, unsigned lanes, double registers, const Tiles& tiles) {
    const bool sums_lanes = reduced & Bit(v);
    double cost = registers * 0.25 * an.Cost(inner, Bit(v)) + 1;
    bool contiguous = false;
    std::vector<const Access*> written, written_once;
    for (size_t i = 0; i < stores.size(); ++i)
      (an.RunsAfterReduce(stage, stage.stores[i]) ? written_once : written).push_back(&stores[i]);
    std::vector<const Access*> moved;
    for (const Access* access : read) {
      if (tiles.dim < 0 || !TurnedByTiles(an, *access, v, static_cast<DimId>(tiles.dim))) {
        moved.push_back(access);
        continue;
      }
      cost += target::TransposedMove(PartBytes(an.kernel, access->buf), tiles.side, isa::VectorBytes(isa));
    }
    cost += MoveCost(an, moved, false, v, lanes, isa, &contiguous);
    cost += 1.5 * MoveCost(an, written, true, v, lanes, isa, &contiguous);
    if (!sums_lanes) {
      cost += (registers * 0.25 * an.Cost(once, Bit(v)) + MoveCost(an, read_once, false, v, lanes, isa, &contiguous) +
               1.5 * MoveCost(an, written_once, true, v, lanes, isa, &contiguous)) /
              times;
    }
    if (!contiguous) cost *= 1.5;
    const kir::Size extent = an.kernel.dims[v].extent;
    const double filled =
        extent.is_param() ? lanes : std::min<double>(lanes, static_cast<double>(std::max<int64_t>(1, extent.baked)));
    // One point at a time costs as much as a vector with contiguous accesses.
    const double alone = sums_lanes
                             ? (0.25 * an.Cost(once, ~DimMask{0}) + 1.5 * static_cast<double>(written_once.size()) +
                                static_cast<double>(read_once.size())) /
                                   times
                             : 0;
    return cost / filled + alone;
  };
  double best = 0.25 * an.Cost(inner, ~DimMask{0}) + 1 + static_cast<double>(read.size()) +
                (0.25 * an.Cost(once, ~DimMask{0}) + static_cast<double>(read_once.size() + stores.size())) / times;

  Tiles best_tiles;
  auto consider = [&](DimId v, StagePlan::Kind kind, unsigned lanes, double registers = 1, const Tiles& tiles = {}) {
    if (lanes < 2) return;
    const double cost = cost_of(v, lanes, registers, tiles) * (runs_down_columns(v) ? target::kFarRows : 1);
    if (cost < best) {
      best = cost;
      best_tiles = tiles;
      plan.kind = kind;
      plan.vector_dim = v;
      plan.lanes = lanes;
    }
  };
  for (auto it = parallel.rbegin(); it != parallel.rend(); ++it) {
    const DimId v = *it;
    bool legal = true, any_order = true;
    for (size_t i = 0; i < stores.size(); ++i) {
      const bool alone = std::count_if(stage.stores.begin(), stage.stores.end(),
                                       [&](const kir::Store& s) { return s.buf == stage.stores[i].buf; }) == 1;
      any_order &= StoreAllows(an, stage.stores[i], stores[i], v);
      legal &=
          StoreAllows(an, stage.stores[i], stores[i], v, alone && stage.reduces.empty() && v == plan.outside.back());
    }
    if (!legal) continue;
    const unsigned lanes = LanesFor(an, needed, stores, v, isa);
    const unsigned shorter = ShortLanes(an, read, stores, v, lanes);
    consider(v, StagePlan::Kind::kVector, shorter);
    const Tiles tiles = any_order && stage.reduces.empty()
                            ? TilesFor(an, plan.outside, read, v, shorter, an.Cost(needed, Bit(v)))
                            : Tiles();
    if (tiles.dim >= 0) consider(v, StagePlan::Kind::kTile, static_cast<unsigned>(tiles.side), 1, tiles);
    // As many lanes as narrow elements are shuffled in, fewer or more than one register of the widest has.
    for (const int bytes : {1, 2}) {
      const auto narrow = static_cast<unsigned>(target::NarrowLanes(bytes));
      if (narrow == lanes || narrow > 2 * lanes || !MovesApart(an, read, stores, v, bytes)) continue;
      consider(v, StagePlan::Kind::kVector, narrow, std::max(1u, narrow / lanes));
    }
  }
  if (!plan.reduced.empty()) {
    const DimId v = plan.reduced.back();
    bool legal = !HasDomain(stage, v);
    for (const kir::Reduce& r : stage.reduces) legal &= ReduceAllowsLanes(an, r);
    std::vector<Access> during_access;
    for (const kir::Store* s : during) {
      during_access.push_back(Analysis::AccessOf(an.kernel, s->buf, s->at, s->guard));
      legal &= StoreAllows(an, *s, during_access.back(), v);
    }
    const unsigned lanes = std::min(LanesFor(an, needed, during_access, v, isa), RowLanesLimit(an, stage));
    if (legal) consider(v, StagePlan::Kind::kRow, lanes);
  }
  if (ShortPlan tile = ShortTiles(an, stage, needed, stores, isa).Best(plan.outside, cut); tile.cost < best) {
    plan.kind = StagePlan::Kind::kShort;
    plan.vector_dim = -1;
    plan.lanes = static_cast<unsigned>(tile.tile->lanes());
    for (const DimId d : tile.dims) llvm::erase(plan.outside, d);
    plan.short_dims = std::move(tile.dims);
    plan.short_tile = std::move(tile.tile);
    return plan;
  }
  if (plan.vector_dim < 0) return plan;

  const auto v = static_cast<DimId>(plan.vector_dim);
  const int cost = an.Cost(needed, Bit(v)), inner_cost = an.Cost(inner, Bit(v));
  plan.copies = cost <= policy::kFourCopies ? 4 : cost <= policy::kTwoCopies ? 2 : 1;
  // What comes after one sum does not lengthen its loop.
  if (stage.reduces.size() == 1 && inner_cost <= policy::kTwoCopies)
    plan.copies = std::max(plan.copies, inner_cost <= policy::kFourCopies ? 4u : 2u);
  const int most_together = plan.kind == StagePlan::Kind::kRow ? policy::kTogetherRow : policy::kTogether;
  if (cost > policy::kFourCopies && cost <= most_together && VectorsFit(an, needed, v, plan.lanes, isa, 2))
    plan.copies = plan.together = 2;
  plan.masked_only = plan.copies == 1 && isa == isa::IsaLevel::kAvx512;
  plan.written_out =
      static_cast<unsigned>(std::min(policy::kAskingRowVectors, policy::kAskingRowCost / std::max(1, cost)));
  // Copies of a sum have a combiner each, which alone fills a core where it is long.
  if (CombinerCost(an.kernel, stage) > policy::kTogether) {
    plan.copies = plan.together = 1;
    plan.masked_only = isa == isa::IsaLevel::kAvx512;
  }
  // What one update writes the next may read, and a masked store is slow to read again: as few masked ones as can be.
  for (const kir::Store& store : stage.stores) {
    if (store.combine < 0) continue;
    plan.copies = plan.together = 1;
    plan.written_out = 0;
    plan.masked_only = false;
  }
  llvm::erase(plan.outside, v);
  if (plan.kind != StagePlan::Kind::kTile) return plan;
  plan.tile_dim = best_tiles.dim;
  plan.copies = plan.lanes;
  plan.together = 1;
  llvm::erase(plan.outside, static_cast<DimId>(plan.tile_dim));
  return plan;
}

namespace {

struct OuterFacts {
  bool possible = true;
  bool in_order = false;  // Some reduction goes through its points one by one,
  double chain = 0;       // each of which waits so long for the one before.
  int accumulators = 0;   // Reductions whose sums are many.
  std::vector<Val> roots;
  std::vector<Access> stores;
  std::vector<const kir::Store*> store_list;
  std::vector<DimId> inner;  // Reduced.
};

void Collect(const Analysis& an, const kir::Seq& seq, OuterFacts* facts) {
  for (const kir::Step& step : seq) {
    if (const auto* stage = std::get_if<kir::Stage>(&step.is)) {
      DimMask reduced = 0;
      bool in_lanes = true;
      for (const kir::Reduce& r : stage->reduces) {
        reduced |= r.dims;
        in_lanes &= ReduceAllowsLanes(an, r);
        if (r.order != kir::ReduceOrder::kLanes) continue;
        facts->possible &= r.in.size() <= 2;
        facts->accumulators += static_cast<int>(r.in.size());
      }
      for (DimId d : stage->dims) {
        if (reduced & Bit(d)) {
          facts->inner.push_back(d);
          facts->in_order |= !in_lanes;
          for (const kir::Reduce& r : stage->reduces) {
            if (ReduceAllowsLanes(an, r)) continue;
            const kir::Graph& combiner = an.kernel.graphs[r.combiner];
            facts->chain = std::max(facts->chain, target::ChainCycles(combiner, target::OpCosts::Standard()));
          }
        } else {
          facts->possible = false;  // has an inner dim of its own to run in lanes
        }
      }
      for (const kir::Store& s : stage->stores) {
        facts->stores.push_back(Analysis::AccessOf(an.kernel, s.buf, s.at, s.guard));
        facts->store_list.push_back(&s);
      }
    } else {
      const auto& loop = std::get<kir::Loop>(step.is);
      if (loop.condition != kir::kNone) facts->roots.push_back(loop.condition);
      Collect(an, loop.body, facts);
    }
  }
}

bool HasStages(const kir::Seq& seq) {
  return std::any_of(seq.begin(), seq.end(), [](const kir::Step& step) {
    const auto* loop = std::get_if<kir::Loop>(&step.is);
    return loop == nullptr || HasStages(loop->body);
  });
}

/// Whether values of `v` may go through all loops together: some of them for fewer trips than others, if loops do
/// nothing but carry.
bool ConditionsAllowLanes(const Analysis& an, const kir::Seq& seq, DimId v) {
  for (const kir::Step& step : seq) {
    const auto* loop = std::get_if<kir::Loop>(&step.is);
    if (loop == nullptr) continue;
    if (loop->condition != kir::kNone && (an.deps[loop->condition] & Bit(v)) && HasStages(loop->body)) return false;
    if (!ConditionsAllowLanes(an, loop->body, v)) return false;
  }
  return true;
}

}  // namespace

int PlanOuterVector(const Analysis& an, DimMask candidates, isa::IsaLevel isa, unsigned* lanes) {
  OuterFacts facts;
  Collect(an, an.kernel.seq, &facts);
  if (!facts.possible) return -1;
  for (const kir::Buffer& buffer : an.kernel.buffers) {
    if (buffer.kind == kir::BufKind::kLocal) return -1;
  }
  std::vector<Val> roots;
  an.SeqRoots(an.kernel.seq, &roots);
  const std::vector<Val> needed = an.Needed(roots);
  DimMask inner = 0;
  for (DimId d : facts.inner) inner |= Bit(d);
  // What is done for every point, and once for the points of a row; for every row, where there are no others.
  std::vector<const Access*> read, read_once;
  std::vector<const Access*> written;
  for (Val n : needed) {
    if (an.kernel.nodes[n].op != Op::kRead) continue;
    (inner == 0 || (an.deps[n] & inner) ? read : read_once).push_back(&an.reads[an.kernel.nodes[n].attr]);
  }
  double times = 1;  // Points of a row; as good as no end of them where that is not known.
  for (DimId d : facts.inner) {
    const kir::Size extent = an.kernel.dims[d].extent;
    times *= extent.is_param() ? std::numeric_limits<double>::infinity()
                               : static_cast<double>(std::max<int64_t>(1, extent.baked));
  }
  if (inner == 0) {
    for (const Access& a : facts.stores) written.push_back(&a);
  }
  const double compute = 0.25 * an.Cost(needed, inner);
  const kir::Size grain = an.kernel.split.grain;
  const int last_split = std::bit_width(an.kernel.split.dims) - 1;
  // Cycles per point. Lanes for which a row or a piece has no points are as slow as the others.
  auto cost_of = [&](DimId v, unsigned lanes_of, double others) {
    bool contiguous = false;
    const kir::Size extent = an.kernel.dims[v].extent;
    double filled = std::max(1u, lanes_of);
    if (!extent.is_param()) filled = std::min(filled, static_cast<double>(std::max<int64_t>(1, extent.baked)));
    if (v == last_split && !grain.is_param()) filled = std::min(filled, static_cast<double>(grain.baked));
    const double once = (Bit(v) & inner) ? static_cast<double>(read_once.size())
                                         : MoveCost(an, read_once, false, v, lanes_of, isa, &contiguous);
    const double busy = compute + MoveCost(an, read, false, v, lanes_of, isa, &contiguous) +
                        MoveCost(an, written, true, v, lanes_of, isa, &contiguous) + once / times + others;
    return std::max(busy, facts.chain) / filled;
  };
  const bool loops = std::any_of(an.kernel.seq.begin(), an.kernel.seq.end(),
                                 [](const kir::Step& s) { return std::holds_alternative<kir::Loop>(s.is); });
  // A reduction that reads along its own innermost dim is better off running that one in lanes, and one that cannot may
  // be better off without any.
  double best = std::numeric_limits<double>::infinity();
  if (facts.in_order) {
    best = std::max(compute + static_cast<double>(read.size()), facts.chain);
  } else {
    for (DimId d : facts.inner) best = std::min(best, cost_of(d, LanesFor(an, needed, facts.stores, d, isa), 0));
  }
  int chosen = -1;
  unsigned lanes_chosen = 0;
  for (int d = 31; d >= 0; --d) {
    if (!(candidates & Bit(d)) || an.kernel.dims[d].kind != kir::DimKind::kParallel) continue;
    const auto v = static_cast<DimId>(d);
    bool legal = ConditionsAllowLanes(an, an.kernel.seq, v);
    for (size_t i = 0; i < facts.stores.size(); ++i) legal &= StoreAllows(an, *facts.store_list[i], facts.stores[i], v);
    if (!legal) continue;
    const auto consider = [&](unsigned lanes_of) {
      // Sums of several rows do not stay in registers.
      const double cost = cost_of(v, lanes_of, 0.5 + 0.5 * facts.accumulators);
      if (cost >= best) return;
      best = cost;
      chosen = d;
      lanes_chosen = lanes_of;
    };
    const unsigned all = LanesFor(an, needed, facts.stores, v, isa);
    consider(all);
    // As many lanes as narrow elements are shuffled in.
    for (const int bytes : {1, 2}) {
      const auto narrow = static_cast<unsigned>(target::NarrowLanes(bytes));
      const bool apart =
          MovesApart(an, read, facts.stores, v, bytes) || MovesApart(an, read_once, facts.stores, v, bytes);
      if (narrow < all && apart) consider(narrow);
    }
  }
  if (chosen >= 0) {
    *lanes = lanes_chosen;
    // A loop's speed is its latency, and divisions and roots of shorter vectors have less.
    const kir::Size extent = an.kernel.dims[static_cast<size_t>(chosen)].extent;
    while (loops && !extent.is_param() && *lanes > 4 && static_cast<int64_t>(*lanes / 2) >= extent.baked) *lanes /= 2;
  }
  return chosen >= 0 && *lanes >= 2 ? chosen : -1;
}

bool MayMeetInRows(const Analysis& an, const kir::Reduce& reduce, DimId dim, isa::IsaLevel isa) {
  if (isa != isa::IsaLevel::kAvx512 || reduce.order != kir::ReduceOrder::kLanes || reduce.in.size() != 1) return false;
  const DType type = an.kernel.nodes[reduce.in[0]].type;
  if (type != DType::kF32 && type != DType::kS32 && type != DType::kU32) return false;
  if (an.deps[reduce.init[0]] & Bit(dim)) return false;
  int64_t elements = 1;
  for (DimId d = 0; d < an.kernel.dims.size(); ++d) {
    if (!(reduce.dims & Bit(d))) continue;
    const kir::Size extent = an.kernel.dims[d].extent;
    if (extent.is_param() || extent.baked < 1 || elements > policy::kMostMetElements / extent.baked) return false;
    elements *= extent.baked;
  }
  return true;
}

namespace {

/// Whether all of the kernel reads the buffer where the row's own last store goes, in its place, and nowhere else.
bool IsOfOwnRow(const kir::Kernel& k, const kir::Stage& last, kir::Buf buf) {
  return std::any_of(last.stores.begin(), last.stores.end(), [&](const kir::Store& s) {
    return k.buffers[s.buf].in_place_of == buf && std::all_of(k.reads.begin(), k.reads.end(), [&](const kir::Read& r) {
             return (r.buf != buf && r.buf != s.buf) || (r.buf == buf && r.at == s.at && r.guard.empty());
           });
  });
}

/// Lanes for the last stage, if it is a point behind the reductions of the others.
unsigned LateLanes(const Analysis& an, DimId dim, isa::IsaLevel isa) {
  const kir::Dim& rows = an.kernel.dims[dim];
  if (!rows.extent.is_param() && rows.extent.baked < 4) return 1;  // structural: fewer are no vector
  const auto& last = std::get<kir::Stage>(an.kernel.seq.back().is);
  if (!last.dims.empty() || !last.reduces.empty() || !last.domain.empty()) return 1;
  std::vector<Val> roots;
  std::vector<Access> stores;
  for (const kir::Store& s : last.stores) {
    Analysis::StoreRoots(s, &roots);
    stores.push_back(Analysis::AccessOf(an.kernel, s.buf, s.at, s.guard));
    if (s.combine >= 0 || !s.guard.empty() || an.kernel.buffers[s.buf].kind != kir::BufKind::kOut ||
        IsComplex(an.kernel.buffers[s.buf].type) || ConstStride(stores.back(), dim) != 1 ||
        !StoreAllows(an, s, stores.back(), dim)) {
      return 1;
    }
  }
  bool any = false;
  const std::vector<Val> needed = an.Needed(roots);
  for (Val v : needed) {
    const kir::Node& node = an.kernel.nodes[v];
    // Memory of a row is another row's by then, unless it is stored in place.
    if (node.op == Op::kRead && an.buffer_mutable[an.kernel.reads[node.attr].buf] &&
        !IsOfOwnRow(an.kernel, last, an.kernel.reads[node.attr].buf))
      return 1;
    if (node.op != Op::kReduced) continue;
    if (!(an.deps[v] & Bit(dim)) || (ByteWidth(node.type) != 4 && ByteWidth(node.type) != 8) || IsComplex(node.type))
      return 1;
    any = true;
  }
  bool meet = false;  // Then their results are a vector as it is.
  for (const kir::Step& step : an.kernel.seq) {
    for (const kir::Reduce& reduce : std::get<kir::Stage>(step.is).reduces) meet |= MayMeetInRows(an, reduce, dim, isa);
  }
  if (!any || (!meet && an.Cost(needed, Bit(dim)) < policy::kLateStageCost)) return 1;
  unsigned lanes = LanesFor(an, needed, stores, dim, isa);
  while (!rows.extent.is_param() && lanes > 4 && static_cast<int64_t>(lanes / 2) >= rows.extent.baked) lanes /= 2;
  return lanes;
}

/// Buffers of a row that the stage uses, which are another row's at another time.
uint64_t LocalBuffers(const Analysis& an, const kir::Stage& stage) {
  const kir::Kernel& k = an.kernel;
  uint64_t locals = 0;
  const auto use = [&](kir::Buf buf) {
    if (k.buffers[buf].kind == kir::BufKind::kLocal) locals |= uint64_t{1} << (buf % 64);
  };
  std::vector<Val> roots;
  an.SeqRoots({kir::Step{stage}}, &roots);
  for (Val v : an.Needed(roots)) {
    if (k.nodes[v].op == Op::kRead) use(k.reads[k.nodes[v].attr].buf);
  }
  for (const kir::Store& store : stage.stores) use(store.buf);
  return locals;
}

/// Finds turns for the first `stages` stages, and what is read of a row.
void PlanTurns(const Analysis& an, size_t stages, RowsPlan& plan) {
  const kir::Kernel& k = an.kernel;
  kir::DimMask reduced = 0;
  std::vector<uint64_t> locals;
  for (size_t i = 0; i < stages; ++i) {
    const auto& stage = std::get<kir::Stage>(k.seq[i].is);
    locals.push_back(LocalBuffers(an, stage));
    for (const kir::Reduce& reduce : stage.reduces) {
      reduced |= reduce.dims;
      if (std::any_of(reduce.in.begin(), reduce.in.end(), [&](Val v) { return IsComplex(k.nodes[v].type); })) return;
    }
  }
  std::vector<Val> roots;
  an.SeqRoots(k.seq, &roots);
  for (Val v : an.Needed(roots)) {
    if (k.nodes[v].op == Op::kRead && (an.deps[v] & reduced))
      plan.element_bytes += ByteWidth(k.buffers[k.reads[k.nodes[v].attr].buf].type);
  }
  int64_t elements = 1;
  for (DimId d = 0; d < k.dims.size(); ++d) {
    if (!(reduced & Bit(d))) continue;
    plan.row_dims.push_back(d);
    if (!k.dims[d].extent.is_param()) elements *= std::max<int64_t>(k.dims[d].extent.baked, 1);
  }
  if (plan.element_bytes == 0 || elements > policy::kRowsBytes / plan.element_bytes / policy::kFewestRows) return;
  // A row's own memory is kept for it from its first stage to its last one.
  for (size_t i = 1; i < stages; ++i) {
    uint64_t before = 0, behind = 0;
    for (size_t j = 0; j < stages; ++j) (j < i ? before : behind) |= locals[j];
    if ((before & behind) == 0 && !std::get<kir::Stage>(k.seq[i - 1].is).reduces.empty()) plan.turns.push_back(i);
  }
}

}  // namespace

RowsPlan PlanRows(const Analysis& an, DimId dim, isa::IsaLevel isa) {
  RowsPlan plan;
  const kir::Seq& seq = an.kernel.seq;
  if (seq.size() < 2 || an.kernel.dims[dim].kind != kir::DimKind::kParallel) return plan;
  for (const kir::Step& step : seq) {
    const auto* stage = std::get_if<kir::Stage>(&step.is);
    if (stage == nullptr || HasDomain(*stage, dim)) return plan;
  }
  plan.late_lanes = LateLanes(an, dim, isa);
  PlanTurns(an, plan.late_lanes > 1 ? seq.size() - 1 : seq.size(), plan);
  return plan;
}

namespace {

/// Whether a function computes with wider numbers than its own on the way, which take several registers each.
bool HasWiderNodes(const kir::Graph& function, DType type) {
  return std::any_of(function.nodes.begin(), function.nodes.end(),
                     [&](const kir::Node& node) { return ByteWidth(node.type) > ByteWidth(type); });
}

}  // namespace

unsigned VectorsTogether(const Analysis& an, kir::DimId dim, unsigned lanes, isa::IsaLevel isa) {
  const kir::Size extent = an.kernel.dims[dim].extent;
  if (lanes < 4) return 1;
  size_t carries = 0;
  for (const kir::Step& step : an.kernel.seq) {
    auto* loop = std::get_if<kir::Loop>(&step.is);
    if (loop == nullptr) continue;
    // Only points: what stages inside do is theirs to lay out.
    if (!loop->body.empty()) return 1;
    carries += loop->types.size();
    for (const DType type : loop->types) {
      if (ScalarLowering::RegisterBytes(type) < 4) return 1;
    }
  }
  std::vector<Val> roots;
  an.SeqRoots(an.kernel.seq, &roots);
  const std::vector<Val> needed = an.Needed(roots);
  if (carries == 0 || needed.size() > policy::kVectorsNodes) return 1;
  // A trip's operations wait for those before them; other vectors' go on meanwhile.
  std::vector<double> waits(an.kernel.nodes.size(), 0);
  double cycles = 0, chain = 0;
  unsigned widest = 1;
  bool wide_inside = false;
  for (Val n : needed) {
    const kir::Node& node = an.kernel.nodes[n];
    if (!(an.deps[n] & Bit(dim))) continue;
    widest = std::max(widest, static_cast<unsigned>(ScalarLowering::RegisterBytes(node.type)));
    wide_inside |= node.op == Op::kMath && HasWiderNodes(kir::MathGraph(node.attr), node.type);
    const bool inside =
        node.op == Op::kCarried || std::any_of(node.in.begin(), node.in.end(), [&](Val in) { return waits[in] > 0; });
    if (!inside) continue;
    const double cost = target::OpCosts::Standard().Of(node);
    const double before = node.in.empty() ? 0
                                          : waits[*std::max_element(node.in.begin(), node.in.end(),
                                                                    [&](Val a, Val b) { return waits[a] < waits[b]; })];
    waits[n] = before + std::max(policy::kLeastLatency, policy::kLatencyPerCost * cost);
    chain = std::max(chain, waits[n]);
    cycles += policy::kCyclesPerCost * cost;
  }
  const auto most_bytes = 4 * static_cast<unsigned>(isa::VectorBytes(isa));  // structural: registers of a value
  if (wide_inside) return 1;
  for (unsigned vectors = 4; vectors > 1; vectors /= 2) {
    // structural: bits of a mask
    if (vectors * lanes > 64 || vectors * lanes * widest > most_bytes || vectors / 2 * cycles > chain) continue;
    if (!extent.is_param() && extent.baked <= int64_t{vectors} / 2 * lanes) continue;
    if (VectorsFit(an, needed, dim, lanes, isa, vectors)) return vectors;
  }
  return 1;
}

}  // namespace tenon::emit_llvm
