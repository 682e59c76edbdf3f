#include "tenon/compiler/fuse/lane_cost.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/kir/walk.h"
#include "tenon/target/chains.h"
#include "tenon/target/lanes.h"
#include "tenon/target/rows.h"
#include "tenon/target/short_tile.h"

namespace tenon::compiler {
namespace {

using kir::DimId;
using kir::DimMask;
using kir::Op;
using kir::Val;

constexpr int64_t kMostLanes = 16;   // structural: bytes are shuffled in so many
constexpr int64_t kFewLanes = 4;     // structural: of the shortest vector
constexpr double kStoreLoads = 1.5;  // structural: a store counts as so many loads

/// Square tiles of vectors along one dim and rows along another, of a stage that only moves and computes.
struct Tiles {
  int dim = -1;  ///< Of the rows; -1: there are none.
  int64_t side = 1;
};

class Model {
 public:
  Model(const kir::Kernel& k, const target::Target& target, const LaneModel& model)
      : k_(k),
        target_(target),
        by_row_(model.by_row),
        may_tile_(model.tiled),
        deps_(kir::DependentDims(k)),
        kept_(KeptExtents(k)),
        extents_(k.dims.size()) {
    for (size_t d = 0; d < extents_.size(); ++d) extents_[d] = k.dims[d].extent.baked;
    for (const kir::Node& node : k.nodes) {
      const auto is_place = [&](Val v) { return of_places_[v]; };
      of_places_.push_back(node.op == Op::kIndex || node.op == Op::kConst ||
                           (!node.in.empty() && !IsFloat(node.type) && node.op != Op::kRead &&
                            std::all_of(node.in.begin(), node.in.end(), is_place)));
    }
  }

  LaneCost Run() {
    // Dims around all stages run in lanes only where no stage has a dim of its own for them.
    bool outer_lanes = k_.outer > 0;
    for (const kir::Step& step : k_.seq) {
      for (DimId d : std::get<kir::Stage>(step.is).dims) outer_lanes &= k_.dims[d].kind == kir::DimKind::kReduce;
    }
    for (const kir::Buffer& b : k_.buffers) outer_lanes &= b.kind != kir::BufKind::kLocal;
    std::vector<int> around = {-1};
    if (outer_lanes) around.push_back(k_.outer - 1);
    LaneCost best{.cycles = std::numeric_limits<double>::infinity()};
    for (const int outer : around) {
      LaneCost sum;
      for (const kir::Step& step : k_.seq) {
        const auto& stage = std::get<kir::Stage>(step.is);
        Prepare(stage);
        LaneCost least = Cycles(stage, outer);
        for (DimId d : stage.dims) {
          if (outer >= 0) break;
          if (k_.dims[d].kind == kir::DimKind::kReduce && (d != stage.dims.back() || !MeetsInLanes(stage, d))) continue;
          least = std::min(least, Cycles(stage, d));
        }
        if (may_tile_ && outer < 0 && k_.outer == 0 && k_.seq.size() == 1)
          least = std::min(least, BestTiled(stage).cost);
        sum.cycles += least.cycles;
        sum.of_loops += least.of_loops;
      }
      best = std::min(best, sum);
    }
    return best;
  }

  /// Of the only stage, which is one of points.
  DimMask TiledDims() {
    const auto* stage = k_.seq.size() == 1 ? std::get_if<kir::Stage>(&k_.seq[0].is) : nullptr;
    if (stage == nullptr || k_.outer > 0 || !stage->reduces.empty()) return 0;
    Prepare(*stage);
    const Tiled tiled = BestTiled(*stage);
    if (tiled.dims == 0) return 0;
    LaneCost least = Cycles(*stage, -1);
    for (DimId d : stage->dims) least = std::min(least, Cycles(*stage, d));
    return tiled.cost < least ? tiled.dims : 0;
  }
  double TiledCycles(DimMask dims) {
    const auto& stage = std::get<kir::Stage>(k_.seq[0].is);
    Prepare(stage);
    return CyclesTiled(stage, dims).cycles;
  }

 private:
  struct Tiled {
    LaneCost cost{.cycles = std::numeric_limits<double>::infinity()};
    DimMask dims = 0;
  };

  /// The last dims of the stage together.
  Tiled BestTiled(const kir::Stage& stage) const {
    Tiled best;
    DimMask dims = 0;
    int64_t points = 1;
    for (size_t i = stage.dims.size(); i-- > 0;) {
      const DimId d = stage.dims[i];
      if (k_.dims[d].extent.baked > policy::kShortDim) break;
      points *= std::max<int64_t>(1, k_.dims[d].extent.baked);
      if (points > policy::kMostTiled) break;
      dims |= Bit(d);
      const LaneCost cost = CyclesTiled(stage, dims);
      if (!(cost < best.cost)) continue;
      best = {cost, dims};
    }
    return best;
  }

  /// Whether the stage stores plainly what it computes, all of it side by side, and moves along the dims by constants.
  bool MayTile(const kir::Stage& stage, DimMask dims) const {
    if (!stage.reduces.empty() || stage.stores.empty() || std::popcount(dims) < 2) return false;
    for (const kir::Range& r : stage.domain) {
      if (dims & Bit(r.dim)) return false;
    }
    const auto follows = [&](kir::Buf buf, const SmallVector<kir::Axis, 4>& at,
                             const SmallVector<kir::Guard, 1>& guard) {
      if (!guard.empty()) return false;
      for (size_t i = 0; i < at.size(); ++i) {
        if (at[i].start != kir::kNone && (deps_[at[i].start] & dims) != 0) return false;
        // Longer strides of buffers are no part of the code.
        if (k_.buffers[buf].stride[i].baked > policy::kSmallNumber &&
            std::ranges::any_of(at[i].terms, [&](const kir::Term& t) { return (dims & Bit(t.dim)) != 0; }))
          return false;
      }
      return true;
    };
    for (const kir::Store& s : stage.stores) {
      if (s.combine >= 0 || s.order != kir::StoreOrder::kDisjoint || !follows(s.buf, s.at, s.guard)) return false;
    }
    for (size_t v = 0; v < k_.nodes.size(); ++v) {
      if (!needed_[v] || k_.nodes[v].op != Op::kRead || (deps_[v] & dims) == 0) continue;
      const kir::Read& read = k_.reads[k_.nodes[v].attr];
      if (!follows(read.buf, read.at, read.guard)) return false;
    }
    return std::ranges::all_of(stage.dims,
                               [&](DimId d) { return !(dims & Bit(d)) || k_.dims[d].kind == kir::DimKind::kParallel; });
  }

  /// By how much the place moves along each of the dims, complex numbers part by part.
  std::vector<int64_t> MovesAlong(const SmallVector<kir::Axis, 4>& at, kir::Buf buf, DimMask dims, bool parts) const {
    const kir::Buffer& buffer = k_.buffers[buf];
    std::vector<int64_t> moves;
    for (size_t d = 0; d < k_.dims.size(); ++d) {
      if (dims & Bit(d)) moves.push_back(ElementsAlong(at, buffer, d) * (parts && IsComplex(buffer.type) ? 2 : 1));
    }
    return moves;
  }
  int PartBytes(kir::Buf buf) const {
    const DType type = k_.buffers[buf].type;
    return ByteWidth(IsComplex(type) ? RealPartOf(type) : type);
  }

  LaneCost CyclesTiled(const kir::Stage& stage, DimMask dims) const {
    LaneCost best{.cycles = std::numeric_limits<double>::infinity()};
    if (!MayTile(stage, dims)) return best;
    std::vector<int64_t> extents, stored;
    for (size_t d = 0; d < k_.dims.size(); ++d) {
      if (dims & Bit(d)) extents.push_back(k_.dims[d].extent.baked);
    }
    struct TileRead {
      Val v;
      std::vector<int64_t> moves;
      int bytes;
    };
    std::vector<TileRead> reads;
    std::vector<int> bytes;
    for (const kir::Store& s : stage.stores) {
      std::vector<int64_t> moves = MovesAlong(s.at, s.buf, dims, false);
      if (!stored.empty() && moves != stored) return best;
      stored = std::move(moves);
      bytes.push_back(PartBytes(s.buf));
    }
    for (size_t v = 0; v < k_.nodes.size(); ++v) {
      if (!needed_[v] || k_.nodes[v].op != Op::kRead || (deps_[v] & dims) == 0) continue;
      const kir::Read& read = k_.reads[k_.nodes[v].attr];
      reads.push_back({static_cast<Val>(v), MovesAlong(read.at, read.buf, dims, true), PartBytes(read.buf)});
      bytes.push_back(reads.back().bytes);
    }
    DimMask all = 0;
    for (DimId d : stage.dims) all |= Bit(d);
    const double tiles = Points(all & ~dims, -1, 1);
    const double of_loops =
        tiles * target::kShortTileCycles + StartsOfLoops(all & ~dims, -1) * policy::kInnerLoopCycles;
    for (const int lanes : target::LanesOfTiles(static_cast<int>(widest_), bytes, vector_bytes())) {
      const auto tile = target::ShortTile::Of(extents, stored, lanes);
      if (!tile || !target::TileFits(*tile, k_, needed_nodes_, deps_, dims, vector_bytes())) continue;
      double cycles = of_loops;
      bool permutes = false;
      const std::vector<double> shares = SharesOf(stage, dims, lanes);
      const auto share = [&](Val v) { return shares.empty() ? 1 : shares[v]; };
      for (const TileRead& r : reads) {
        const target::TileReads moved = target::ReadsOf(*tile, r.moves, r.bytes);
        permutes = permutes || !target::LieAsRead(moved);
        cycles += tiles * share(r.v) * target::TileReadCycles(moved, r.bytes, vector_bytes());
      }
      if (!permutes) continue;
      const double vectors = tiles * tile->vectors();
      cycles += vectors * kStoreLoads * static_cast<double>(stage.stores.size());
      for (size_t v = 0; v < k_.nodes.size(); ++v) {
        if (!needed_[v]) continue;
        const bool alone = (deps_[v] & dims) == 0;
        const double times =
            alone ? Times(deps_[v], false, -1, 1) : vectors * share(static_cast<Val>(v)) * Registers(widest_, lanes);
        if (k_.nodes[v].op != Op::kRead) {
          cycles += CyclesOf(k_.nodes[v], alone) * times;
        } else if (alone) {
          cycles += target::kContiguousMove * times;
        }
      }
      best = std::min(best, LaneCost{.cycles = cycles, .of_loops = of_loops});
    }
    return best;
  }

  /// Cycles until the lanes of a reduction have met, while other rows' do.
  double MeetCycles(const kir::Reduce& reduce) const {
    const kir::Graph& combiner = k_.graphs[reduce.combiner];
    return reduce.in.size() == 1 && combiner.nodes.size() == 3 ? policy::kMeetInLanesCycles  // structural: a op b
                                                               : policy::kPairsMeetCycles;
  }
  /// Whether the stage's reductions over the dim may have it in lanes.
  bool MeetsInLanes(const kir::Stage& stage, DimId d) const {
    return std::all_of(stage.reduces.begin(), stage.reduces.end(), [&](const kir::Reduce& r) {
      if (!(r.dims & Bit(d)) || r.order == kir::ReduceOrder::kLanes) return true;
      const kir::Graph& combiner = k_.graphs[r.combiner];
      if (r.in.size() != 1 || combiner.results.size() != 1) return false;
      const kir::Node& root = combiner.nodes[combiner.results[0]];
      return root.op == Op::kMin || root.op == Op::kMax || !IsFloat(root.type);
    });
  }
  /// What the stage needs, and the dims' extents in it.
  void Prepare(const kir::Stage& stage) {
    loops_.clear();
    for (size_t d = 0; d < k_.outer; ++d) loops_.push_back(static_cast<DimId>(d));
    for (const bool reduced : {false, true}) {
      for (DimId d : stage.dims) {
        if ((k_.dims[d].kind == kir::DimKind::kReduce) == reduced) loops_.push_back(d);
      }
    }
    here_ = extents_;
    for (const kir::Range& r : stage.domain) here_[r.dim] = std::max<int64_t>(0, r.hi.baked - r.lo.baked);
    tiles_ = stage.reduces.empty();
    needed_.assign(k_.nodes.size(), false);
    for (const kir::Reduce& r : stage.reduces) {
      for (Val v : r.in) needed_[v] = true;
      for (Val v : r.init) needed_[v] = true;
    }
    for (const kir::Store& s : stage.stores) kir::ForEachRoot(s, [&](Val v) { needed_[v] = true; });
    // Of what is moved and computed; places are reckoned beside it.
    widest_ = 1;
    narrowest_ = 8;
    const auto move = [&](kir::Buf buf) {
      const int64_t bytes = ByteWidth(k_.buffers[buf].type);
      widest_ = std::max(widest_, bytes);
      narrowest_ = std::min(narrowest_, bytes);
    };
    for (const kir::Store& s : stage.stores) move(s.buf);
    reduced_.assign(k_.nodes.size(), false);
    for (const kir::Reduce& r : stage.reduces) {
      for (Val v : r.in) reduced_[v] = true;
    }
    for (size_t v = k_.nodes.size(); v-- > 0;) {
      if (!needed_[v]) continue;
      kir::ForEachInput(k_, k_.nodes[v], [&](Val in) {
        needed_[in] = true;
        if (reduced_[v]) reduced_[in] = true;
      });
      widest_ = std::max<int64_t>(widest_, std::min(ByteWidth(k_.nodes[v].type), 4));  // structural: lanes of f32
      if (k_.nodes[v].op != Op::kRead) continue;
      move(k_.reads[k_.nodes[v].attr].buf);
    }
    widest_ = std::min<int64_t>(widest_, 8);  // structural: parts of complex numbers move one by one
    needed_nodes_.clear();
    for (Val v = 0; v < k_.nodes.size(); ++v) {
      if (needed_[v]) needed_nodes_.push_back(v);
    }
  }

  /// Points of these dims, vectors of `lane` counted once.
  double Points(DimMask dims, int lane, int64_t lanes) const {
    double points = 1;
    for (size_t d = 0; d < here_.size(); ++d) {
      if (!(dims & Bit(d))) continue;
      points *= static_cast<double>(static_cast<int>(d) == lane ? (here_[d] + lanes - 1) / lanes : here_[d]);
    }
    return points;
  }
  /// How often something that depends on these dims is done: in the innermost of their loops, hence for each point of
  /// those around it. What no reduction asks for waits until they have ended.
  double Times(DimMask deps, bool reduced, int lane, int64_t lanes) const {
    DimMask around = 0;
    for (size_t i = 0; (deps & ~around) != 0 && i < loops_.size(); ++i) {
      // The lanes' loop is the innermost, whatever the order.
      const bool reduces = k_.dims[loops_[i]].kind == kir::DimKind::kReduce;
      if (static_cast<int>(loops_[i]) != lane && (reduced || !reduces)) around |= Bit(loops_[i]);
    }
    return Points(around | deps, lane, lanes);
  }

  /// How often loops over these dims around the innermost one begin anew, within others.
  double StartsOfLoops(DimMask around, int lane) const {
    double starts = 0, outer = 1;
    bool first = true;
    for (const DimId d : loops_) {
      if (!(around & Bit(d)) || static_cast<int>(d) == lane || here_[d] < 2) continue;
      if (!first) starts += outer;
      first = false;
      outer *= static_cast<double>(here_[d]);
    }
    return starts;
  }

  DimMask DimsOf(const SmallVector<kir::Axis, 4>& at) const {
    DimMask dims = 0;
    for (const kir::Axis& a : at) {
      for (const kir::Term& t : a.terms) dims |= Bit(t.dim);
      if (a.start != kir::kNone) dims |= deps_[a.start];
    }
    return dims;
  }

  struct Move {
    kir::Buf buf;
    const SmallVector<kir::Axis, 4>* at;
    bool guarded;
    bool store;
    bool turned;  ///< In tiles.
    DimMask dims;
    bool reduced;
    int component = 0;  ///< Of a complex number.
    double share = 1;   ///< Of its vectors: those for which something is moved.
  };

  /// Whether data say which element of one row each lane takes, and registers hold that row.
  bool IsFromShortRow(const Move& m, int lane) const {
    const kir::Buffer& buffer = k_.buffers[m.buf];
    for (size_t i = 0; i < m.at->size(); ++i) {
      const kir::Axis& a = (*m.at)[i];
      if (a.start == kir::kNone || !(deps_[a.start] & Bit(static_cast<size_t>(lane)))) continue;
      if (buffer.stride[i].baked != 1 ||
          buffer.extent[i].baked * ByteWidth(buffer.type) > target::kTableRegisters * vector_bytes())
        return false;
    }
    return true;
  }

  /// How many vectors along `lane` a guard lets through where this is known when code is made; negative elsewhere.
  int64_t KnownVectors(const kir::Guard& g, int lane, int64_t lanes) const {
    if (lane < 0 || g.e.start != kir::kNone || g.mod != 1 || g.e.terms.size() != 1 ||
        g.e.terms[0].dim != static_cast<DimId>(lane) || g.e.terms[0].coef.baked != 1)
      return -1;
    const int64_t extent = here_[static_cast<size_t>(lane)];
    if (!IsKnownRow(lane)) return -1;
    const int64_t lo = std::max<int64_t>(0, g.lo.baked - g.e.offset.baked);
    const int64_t hi = std::min(extent, g.hi.baked - g.e.offset.baked);
    return hi <= lo ? 0 : (hi - 1) / lanes - lo / lanes + 1;
  }
  bool IsKnownRow(int lane) const { return lane >= 0 && (kept_ & Bit(static_cast<size_t>(lane))) != 0; }

  double Registers(int64_t bytes, int64_t lanes) const {
    return target::Registers(static_cast<int>(bytes), static_cast<int>(lanes), vector_bytes());
  }
  double StridedMove(int bytes, int64_t lanes) const {
    return target::StridedMove(bytes, static_cast<int>(lanes), vector_bytes());
  }
  int vector_bytes() const { return static_cast<int>(target_.vector_bytes); }

  /// Whether tiles turn the read into lanes: vectors along `lane`, what lies side by side along another dim.
  bool IsTurned(const kir::Read& read, int lane, DimId along) const {
    const kir::Buffer& buffer = k_.buffers[read.buf];
    for (const kir::Axis& a : read.at) {
      if (a.start != kir::kNone && (deps_[a.start] & Bit(static_cast<size_t>(lane)))) return false;
    }
    return read.guard.empty() && !IsComplex(buffer.type) &&
           std::abs(ElementsAlong(read.at, buffer, static_cast<size_t>(lane))) > 1 &&
           std::abs(ElementsAlong(read.at, buffer, along)) == 1;
  }
  /// Vectors of at most so many lanes along a dim, and rows along that which most reads want.
  Tiles TilesOf(int lane, int64_t lanes) const {
    Tiles tiles;
    if (!tiles_ || BodyCost(lane) > target::kTileCost) return tiles;
    int most = 0, bytes = 0;
    for (DimId d : loops_) {
      if (static_cast<int>(d) == lane || d < k_.outer) continue;
      int turned = 0, narrowest = 8;  // structural: bytes of the widest
      for (size_t v = 0; v < k_.nodes.size(); ++v) {
        if (!needed_[v] || k_.nodes[v].op != Op::kRead || !IsTurned(k_.reads[k_.nodes[v].attr], lane, d)) continue;
        ++turned;
        narrowest = std::min(narrowest, ByteWidth(k_.buffers[k_.reads[k_.nodes[v].attr].buf].type));
      }
      if (turned <= most) continue;
      most = turned;
      bytes = narrowest;
      tiles.dim = static_cast<int>(d);
    }
    if (tiles.dim < 0) return tiles;
    tiles.side =
        target::TileSide(bytes, lanes, here_[static_cast<size_t>(tiles.dim)], here_[static_cast<size_t>(lane)]);
    return tiles.side > 0 ? tiles : Tiles();
  }

  /// Of what has the dim's places in lanes.
  int BodyCost(int lane) const {
    int cost = 0;
    for (size_t v = 0; v < k_.nodes.size(); ++v) {
      if (!needed_[v] || (deps_[v] & Bit(static_cast<size_t>(lane))) == 0) continue;
      cost += target::OpCosts::Standard().Of(k_.nodes[v]);
    }
    return cost;
  }

  double MoveCycles(const std::vector<Move>& moves, int lane, int64_t lanes) const {
    double cycles = 0;
    // Those that differ by constants alone, fewer than their stride, may be moved together.
    struct Set {
      const Move* first;
      int64_t coef;
      std::vector<int64_t> offsets;
    };
    std::vector<Set> sets;
    for (const Move& m : moves) {
      const int64_t coef = lane < 0 ? 0 : ElementsAlong(*m.at, k_.buffers[m.buf], static_cast<size_t>(lane));
      const double times = Times(m.dims, m.reduced, lane, lanes) * m.share * (m.store ? kStoreLoads : 1);
      // Of complex numbers one part moves; shuffles see the parts of all as elements.
      const DType type = k_.buffers[m.buf].type;
      const int64_t parts = IsComplex(type) ? 2 : 1;
      const int bytes = ByteWidth(type), part_bytes = bytes / static_cast<int>(parts);
      bool by_data = false;
      for (const kir::Axis& a : *m.at)
        by_data |= lane >= 0 && a.start != kir::kNone && (deps_[a.start] & Bit(static_cast<size_t>(lane)));
      // Narrow floats are f32 in registers.
      const int held = IsFloat(k_.buffers[m.buf].type) ? std::max(bytes, 4) : bytes;
      if (coef == 1 && !target::MovesRows(held, here_[static_cast<size_t>(lane)], vector_bytes())) {
        cycles += times * target::kMoveThroughMemory;
      } else if (lane < 0 || (coef == 0 && !by_data) || coef == 1) {
        cycles += times * target::kContiguousMove * (coef == 1 ? Registers(bytes, lanes) : 1);
      } else if (m.turned) {
        cycles += times * target::TransposedMove(bytes, static_cast<int>(lanes), vector_bytes());
      } else if (coef == -1) {
        cycles += times * target::kReversedMove * Registers(bytes, lanes);
      } else if (by_data || m.guarded ||
                 target::ShuffledLanes(part_bytes, static_cast<int>(lanes), vector_bytes()) == 0 ||
                 parts * std::abs(coef) > target::kMaxInterleaved || (coef < 0 && m.store) || m.at->empty() ||
                 k_.buffers[m.buf].stride.back().baked != 1) {
        const bool rows = by_row_ && by_data && !IsFromShortRow(m, lane);
        const bool far =
            !by_data && policy::IsFar(std::abs(coef), static_cast<double>(here_[static_cast<size_t>(lane)]));
        cycles += times * StridedMove(part_bytes, lanes) * (rows ? target::kRowsFromData : far ? policy::kFarTimes : 1);
      } else {
        auto set = std::find_if(sets.begin(), sets.end(), [&](const Set& s) {
          return s.first->buf == m.buf && s.first->store == m.store && s.first->dims == m.dims &&
                 s.coef == parts * coef && DifferInOffset(*s.first->at, *m.at);
        });
        if (set == sets.end()) set = sets.insert(sets.end(), Set{&m, parts * coef, {}});
        set->offsets.push_back(parts * m.at->back().offset.baked + m.component);
      }
    }
    for (Set& s : sets) {
      std::sort(s.offsets.begin(), s.offsets.end());
      s.offsets.erase(std::unique(s.offsets.begin(), s.offsets.end()), s.offsets.end());
      const double times =
          Times(s.first->dims, s.first->reduced, lane, lanes) * s.first->share * (s.first->store ? kStoreLoads : 1);
      for (size_t i = 0; i < s.offsets.size();) {
        size_t end = i;
        const int64_t stride = std::abs(s.coef);
        while (end < s.offsets.size() && s.offsets[end] - s.offsets[i] < stride) ++end;
        const DType type = k_.buffers[s.first->buf].type;
        const int bytes = ByteWidth(IsComplex(type) ? RealPartOf(type) : type);
        const double alone = static_cast<double>(end - i) * StridedMove(bytes, lanes);
        const auto members = static_cast<int>(end - i);
        const double together = target::ShuffledMove(bytes, static_cast<int>(lanes), vector_bytes(),
                                                     static_cast<int>(stride), members, s.coef < 0);
        const bool whole = !s.first->store || members == stride;
        cycles += times * (whole ? std::min(alone, together) : alone);
        i = end;
      }
    }
    return cycles;
  }

  /// Of one vector; `alone`: of a value that all lanes share, whose latencies no other vector hides.
  double CyclesOf(const kir::Node& node, bool alone) const {
    double cost = target_.costs.Of(node);
    if (IsFloat(node.type) && ByteWidth(node.type) < 4) cost += target::kNarrowRounding;  // structural: below f32
    const double waits = by_row_ && !IsFloat(node.type) ? 1 : policy::kAloneWaits;
    if (alone) return policy::kLaneCyclesPerCost * waits * cost;
    if (node.op != Op::kMath) return policy::kLaneCyclesPerCost * cost;
    const bool wide = ByteWidth(node.type) > 4;
    return policy::kMathCyclesPerCost * (wide ? policy::kWideMath : 1) * cost;
  }

  /// The stage's rows along these dims of it.
  target::RowStage RowsAlong(const kir::Stage& stage, DimMask row, int64_t lanes) const {
    target::RowStage rows{.kernel = k_, .stage = stage, .needed = needed_nodes_, .deps = deps_, .around = {}};
    for (DimId d : stage.dims) {
      if ((row & Bit(d)) == 0) rows.around.push_back(d);
    }
    rows.row = row;
    rows.known = kept_;
    rows.lanes = lanes;
    return rows;
  }

  /// Values that the points of a short row share, computed for a vector of rows at once (target::AheadOf).
  struct Ahead {
    std::vector<bool> computed;
    double cycles = 0;
  };
  Ahead AheadOf(const kir::Stage& stage, int lane, const Tiles& tiles) const {
    Ahead ahead{.computed = std::vector<bool>(k_.nodes.size())};
    if (!IsOwnDim(stage, lane) || tiles.dim >= 0) return ahead;
    const DimMask row = Bit(static_cast<size_t>(lane));
    const std::optional<target::ValuesAhead> values = target::AheadOf(RowsAlong(stage, row, 1));
    if (!values) return ahead;
    for (const Val v : values->early) {
      ahead.computed[v] = true;
      if (k_.nodes[v].op != Op::kRead)
        ahead.cycles += CyclesOf(k_.nodes[v], false) * Times(deps_[v], reduced_[v], lane, 1);
    }
    DimMask rows = 0;
    for (DimId d : stage.dims) rows |= Bit(d);
    ahead.cycles *= 4.0 / vector_bytes();  // structural: lanes of f32
    ahead.cycles += policy::kLaneCyclesPerCost * target::kHandedCost * static_cast<double>(values->handed.size()) *
                    Points(rows & ~row, -1, 1);
    return ahead;
  }
  /// Whether the stage is one of points with rows along this dim of its own.
  static bool IsOwnDim(const kir::Stage& stage, int lane) {
    return lane >= 0 && stage.reduces.empty() &&
           std::ranges::find(stage.dims, static_cast<DimId>(lane)) != stage.dims.end();
  }

  /// Of each node of rows along these dims the share of them that need it, where they branch on what their points share
  /// (target::ChoicesOf); nothing where they do not.
  std::vector<double> SharesOf(const kir::Stage& stage, DimMask row, int64_t lanes) const {
    const target::RowChoices choices = target::ChoicesOf(RowsAlong(stage, row, lanes));
    if (choices.ways.empty()) return {};
    std::vector<double> shares(k_.nodes.size(), 0);
    AddShares(choices, 1, shares);
    // What is known around rows is computed there.
    for (const Val v : needed_nodes_) {
      if ((deps_[v] & row) == 0) shares[v] = 1;
    }
    return shares;
  }
  static void AddShares(const target::RowChoices& choices, double share, std::vector<double>& shares) {
    for (const target::RowChoices& way : choices.ways) AddShares(way, share / 2, shares);
    if (!choices.ways.empty()) return;
    for (const Val v : choices.needed) shares[v] += share;
  }

  /// With `lane` in lanes; -1: one point at a time.
  LaneCost Cycles(const kir::Stage& stage, int lane) const {
    if (lane < 0) return Cycles(stage, lane, 1);
    const int64_t lanes = std::clamp<int64_t>(target_.vector_bytes / widest_, 1, kMostLanes);
    const int64_t narrow = target::NarrowLanes(static_cast<int>(narrowest_));
    LaneCost cycles = Cycles(stage, lane, lanes);
    if (narrowest_ < 4 && narrow != lanes && narrow <= 2 * lanes)
      cycles = std::min(cycles, Cycles(stage, lane, narrow));
    const Tiles tiles = TilesOf(lane, lanes);
    return tiles.dim < 0 ? cycles : std::min(cycles, Cycles(stage, lane, tiles.side, tiles));
  }
  LaneCost Cycles(const kir::Stage& stage, int lane, int64_t lanes, const Tiles& tiles = {}) const {
    std::vector<double> shares;
    if (IsOwnDim(stage, lane)) {
      const DimMask across = tiles.dim >= 0 ? Bit(static_cast<size_t>(tiles.dim)) : 0;
      shares = SharesOf(stage, Bit(static_cast<size_t>(lane)) | across, lanes);
    }
    const double registers = Registers(widest_, lanes);
    const Ahead ahead = AheadOf(stage, lane, tiles);
    double cycles = ahead.cycles;
    std::vector<Move> moves;
    for (size_t v = 0; v < k_.nodes.size(); ++v) {
      const kir::Node& node = k_.nodes[v];
      const double share = shares.empty() ? 1 : shares[v];
      if (!needed_[v] || share == 0) continue;
      if (node.op == Op::kRead) {
        const kir::Read& read = k_.reads[node.attr];
        const bool turned = tiles.dim >= 0 && IsTurned(read, lane, static_cast<DimId>(tiles.dim));
        moves.push_back({read.buf, &read.at, !read.guard.empty(), false, turned, deps_[v], reduced_[v],
                         static_cast<int>(node.imm), share});
        for (const kir::Guard& g : read.guard) {
          // Asked where its dims are known, and met with the others of the read.
          DimMask asked = g.e.start == kir::kNone ? 0 : deps_[g.e.start];
          for (const kir::Term& t : g.e.terms) asked |= Bit(t.dim);
          const bool in_lanes = lane >= 0 && (asked & Bit(static_cast<size_t>(lane)));
          if (!in_lanes) {
            cycles += policy::kGuardCycles *
                      (Times(asked, reduced_[v], lane, lanes) + Times(deps_[v], reduced_[v], lane, lanes));
            continue;
          }
          const int64_t known = KnownVectors(g, lane, lanes);
          if (known < 0) {
            cycles += policy::kLaneGuardCycles * Times(deps_[v], reduced_[v], lane, lanes);
            continue;
          }
          const int64_t vectors = (here_[static_cast<size_t>(lane)] + lanes - 1) / lanes;
          cycles += policy::kKnownGuardCycles * static_cast<double>(std::min<int64_t>(2, known)) *
                    Times(deps_[v] & ~asked, reduced_[v], lane, lanes);
          moves.back().share = std::min(
              moves.back().share, static_cast<double>(known) / static_cast<double>(std::max<int64_t>(1, vectors)));
        }
      } else if (ahead.computed[v]) {
        continue;
      } else if (!IsKnownRow(lane) || deps_[v] != Bit(static_cast<size_t>(lane)) || !of_places_[v]) {
        // Numbers of places in a known row are constants.
        const bool alone = lane >= 0 && (deps_[v] & Bit(static_cast<size_t>(lane))) == 0;
        cycles += CyclesOf(node, alone) * Times(deps_[v], reduced_[v], lane, lanes) * (alone ? 1 : registers * share);
      }
    }
    DimMask all = Bit(k_.outer) - 1;
    for (DimId d : stage.dims) all |= Bit(d);
    for (const kir::Store& s : stage.stores)
      moves.push_back(
          {s.buf, &s.at, !s.guard.empty(), true, false, deps_[s.value] | DimsOf(s.at), reduced_[s.value], s.component});
    cycles += MoveCycles(moves, lane, lanes);
    if (tiles.dim >= 0) {
      // The last tiles go over some rows once more.
      const int64_t rows = here_[static_cast<size_t>(tiles.dim)];
      const auto whole = static_cast<double>((rows + tiles.side - 1) / tiles.side * tiles.side);
      const double of_loops = Points(all, lane, lanes) / static_cast<double>(tiles.side) * target::kTileCycles;
      const double again = whole / static_cast<double>(std::max<int64_t>(1, rows));
      return {.cycles = (cycles + of_loops) * again, .of_loops = of_loops * again};
    }
    // Loops: each run of one costs something, and what does not fill a vector is masked. Sums of columns take several
    // rows at once, and as many of them as registers hold cost nothing to keep.
    DimMask around = all, reduced = 0;
    int64_t sums = 0;
    for (const kir::Reduce& r : stage.reduces) {
      reduced |= r.dims;
      sums += static_cast<int64_t>(r.in.size());
    }
    if (lane >= 0) around &= ~Bit(static_cast<size_t>(lane));
    const bool columns = lane >= 0 && reduced != 0 && !(reduced & Bit(static_cast<size_t>(lane)));
    double of_loops = StartsOfLoops(around, lane) * policy::kInnerLoopCycles;
    if (lane >= 0) {
      const int64_t extent = here_[static_cast<size_t>(lane)];
      // A row that is one vector, if need be a shorter one, needs no loop.
      const bool one = IsKnownRow(lane) && extent <= lanes;
      const bool shorter = one && extent >= kFewLanes && std::has_single_bit(static_cast<uint64_t>(extent));
      const bool whole = shorter || extent % lanes == 0;
      const double rows = columns ? std::min(Points(reduced, -1, 1), policy::kRowsTogether) : 1;
      // Reductions of known rows are written out.
      const bool written_out = reduced != 0 && !columns && IsKnownRow(lane);
      const bool written = one || written_out;
      const double ends = whole ? 0 : written ? policy::kKnownMaskCycles : policy::kMaskCycles;
      of_loops += Points(around, -1, 1) / rows * ((written ? policy::kRowCycles : policy::kLoopCycles) + ends);
      if (columns && sums > policy::kSumsInRegisters)
        cycles += Points(all, lane, lanes) * static_cast<double>(sums) * policy::kSumInMemoryCycles;
    } else {
      of_loops += Points(around, -1, 1) * policy::kLaneCyclesPerCost;
    }
    cycles += of_loops;
    for (const kir::Reduce& r : stage.reduces) {
      const bool along = lane >= 0 && (r.dims & Bit(static_cast<size_t>(lane)));
      const double results = Points(all & ~r.dims, lane, lanes);
      const double steps = Points(all, lane, lanes);
      const auto values = static_cast<double>(r.in.size());
      // In order, an element waits for the one before, where not several columns take turns.
      const kir::Graph& combiner = k_.graphs[r.combiner];
      const bool waits = r.order == kir::ReduceOrder::kSequential && !along && (lane < 0 || r.in.size() > 1);
      cycles += steps * (waits ? std::max(values, target::ChainCycles(combiner, target_.costs)) : values);
      if (r.order == kir::ReduceOrder::kLanes || along)
        cycles += results * values * (along ? MeetCycles(r) : policy::kMeetInMemoryCycles);
    }
    return {cycles, of_loops};
  }

  const kir::Kernel& k_;
  const target::Target& target_;
  const bool by_row_, may_tile_;
  std::vector<DimMask> deps_;
  const DimMask kept_;
  std::vector<int64_t> extents_;
  std::vector<bool> of_places_;  ///< Whole numbers that only places decide.
  // Of the stage at hand.
  std::vector<DimId> loops_;  ///< Outermost first.
  std::vector<int64_t> here_;
  bool tiles_ = false;  ///< May run in square tiles of two dims.
  std::vector<bool> needed_;
  std::vector<Val> needed_nodes_;  ///< The same, ascending.
  std::vector<bool> reduced_;      ///< What reductions ask for.
  int64_t widest_ = 4, narrowest_ = 4;
};

}  // namespace

bool PointsStayApart(const kir::Kernel& kernel) {
  return std::ranges::all_of(kernel.seq, [](const kir::Step& step) {
    const auto* stage = std::get_if<kir::Stage>(&step.is);
    return stage != nullptr && stage->reduces.empty();
  });
}

kir::DimMask TiledDims(const kir::Kernel& kernel, const target::Target& target) {
  return Model(kernel, target, {}).TiledDims();
}

double TiledCycles(const kir::Kernel& kernel, const target::Target& target, kir::DimMask dims) {
  return Model(kernel, target, {}).TiledCycles(dims);
}

LaneCost LaneCostOf(const kir::Kernel& kernel, const target::Target& target, const LaneModel& model) {
  return Model(kernel, target, model).Run();
}

}  // namespace tenon::compiler
