#include "tenon/compiler/fuse/kernel_maker.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/combiner.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/padding.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/storing.h"
#include "tenon/compiler/fuse/tracer.h"
#include "tenon/kir/coverage.h"

namespace tenon::compiler {

using kir::DimId;
using kir::DimKind;
using kir::Val;

View DenseView(uint32_t buffer, const Shape& shape) {
  View view{buffer, 0, shape.dtype, shape.dims, RowMajorStridesElems(shape.dims)};
  return view;
}

bool IsDense(const View& view) {
  int64_t stride = 1;
  for (size_t i = view.dims.size(); i-- > 0;) {
    if (view.dims[i] == 0) return true;
    if (view.dims[i] != 1 && view.strides[i] != stride) return false;
    stride *= view.dims[i];
  }
  return true;
}

namespace {

/// A dim of the graph as a loop, maybe cut into several.
struct LogicalDim {
  int64_t extent = 1;
  bool reduce = false;
  std::vector<DimId> ids;  ///< Of the pieces, outermost first; none for an extent of one.
  Index index;
};

class Maker {
 public:
  Maker(const Program& program, const Cluster& cluster, const MakerEnvironment& env, std::vector<NodeId>* better_stored)
      : program_(program), cluster_(cluster), env_(env), better_stored_(better_stored) {}

  std::optional<MadeKernel> Make(NodeId& blocking) {
    for (int attempt = 0; attempt < policy::kMaxAttempts; ++attempt) {
      b_.emplace();
      tracer_.emplace(program_, cluster_.members, env_, *b_);
      logical_.clear();
      stages_.clear();
      spaces_.clear();
      locals_.clear();
      full_ = false;
      const bool built = Build();
      if (built && !full_) {
        std::optional<MadeKernel> made = Finish();
        if (!made || IsWritten(*made)) return made;
        fill_first_ = true;
        cuts_.clear();
        continue;
      }
      if (full_ && cluster_.kind == ClusterKind::kConcat && !share_parts_) {
        share_parts_ = fill_first_ = true;
        cuts_.clear();  // Of dims that are numbered anew.
        continue;
      }
      if (full_) {
        // More dims than a kernel has: without the latest cut, or without what asked for the dim.
        blocking = last_cut_by_ != kNoNode ? last_cut_by_ : seed_;
        return std::nullopt;
      }
      blocking = tracer_->blocking;
      if (blocking != kNoNode || !tracer_->cut) break;
      blocking = last_cut_by_ = tracer_->cut_by;
      if (!ApplyCut(*tracer_->cut)) break;
    }
    if (blocking == kNoNode) blocking = cluster_.roots[0];
    return std::nullopt;
  }

 private:
  struct StagePlan {
    kir::Stage stage;
    std::vector<size_t> dims;  ///< Logical dims.
  };

  // Dims
  // ---------------------------------------------------------------------------------------------------------------------------------

  size_t AddLogical(int64_t extent, bool reduce, std::optional<size_t> twin = std::nullopt) {
    const size_t number = logical_.size();
    LogicalDim dim{extent, reduce, {}, {}};
    Dims pieces;
    if (auto it = cuts_.find(twin ? *twin : number); it != cuts_.end() && NumElements(it->second) == extent) {
      pieces = it->second;
    } else if (extent != 1) {
      pieces.push_back(extent);
    }
    if (full_ || static_cast<int64_t>(b_->kernel().dims.size() + pieces.size()) > program_.target->limits.dims) {
      full_ = true;
      pieces.clear();
    }
    int64_t stride = 1;
    for (size_t i = pieces.size(); i-- > 0;) stride *= pieces[i];
    for (size_t i = 0; i < pieces.size(); ++i) {
      const DimId id = b_->AddDim(kir::Size::Of(pieces[i]), reduce ? DimKind::kReduce : DimKind::kParallel);
      dim.ids.push_back(id);
      stride /= pieces[i];
      dim.index = Plus(dim.index, Index::Dim(id, stride));
      tracer_->extents.push_back(pieces[i]);
      tracer_->same_as.push_back(twin ? logical_[*twin].ids[i] : id);
      origin_[id] = {twin ? *twin : number, i};
    }
    logical_.push_back(std::move(dim));
    return number;
  }

  bool ApplyCut(const CutDemand& demand) {
    const auto [logical, piece] = origin_[demand.dim];
    Dims pieces;
    if (auto it = cuts_.find(logical); it != cuts_.end()) {
      pieces = it->second;
    } else {
      pieces.push_back(logical_[logical].extent);
    }
    Dims finer;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (i == piece) {
        finer.append(demand.extents.begin(), demand.extents.end());
      } else {
        finer.push_back(pieces[i]);
      }
    }
    if (finer.size() > policy::kMaxPiecesOfDim) return false;
    cuts_[logical] = finer;
    return true;
  }

  /// The inner dims of a stage that runs or reduces over `extents`; made once per kind.
  const std::vector<size_t>& InnerSpace(const Dims& extents, bool reduce) {
    for (const auto& [key, dims] : spaces_) {
      if (key.first == extents && key.second == reduce) return dims;
    }
    const std::vector<size_t>* twin = nullptr;
    for (const auto& [key, dims] : spaces_) {
      if (key.first == extents) twin = &dims;
    }
    std::vector<size_t> dims;
    for (size_t i = 0; i < extents.size(); ++i) {
      dims.push_back(AddLogical(extents[i], reduce, twin ? std::optional<size_t>((*twin)[i]) : std::nullopt));
    }
    spaces_.push_back({{extents, reduce}, std::move(dims)});
    return spaces_.back().second;
  }

  // Seeds
  // --------------------------------------------------------------------------------------------------------------------------------

  /// How many reductions of this cluster lie below `r`, one after another.
  int DepthOf(Ref r) {
    if (!cluster_.members.contains(r.node)) return 0;
    if (auto it = depth_.find(r.node); it != depth_.end()) return it->second;
    int depth = 0;
    for (Ref in : program_[r.node].in) depth = std::max(depth, DepthOf(in));
    if (IsLoopReduce(program_, program_[r.node])) ++depth;
    depth_[r.node] = depth;
    return depth;
  }

  StagePlan& StageFor(int depth, const std::vector<size_t>& inner, bool fresh) {
    if (!fresh) {
      if (auto it = stages_.find({depth, inner}); it != stages_.end()) return it->second;
    }
    StagePlan plan;
    plan.dims = inner;
    for (size_t l : inner) {
      for (DimId id : logical_[l].ids) plan.stage.dims.push_back(id);
    }
    return stages_[{depth, inner}] = std::move(plan);
  }

  bool AddReduce(NodeId id, StagePlan& plan, const IndexMap& result_map, const std::vector<size_t>& reduced,
                 bool lanes) {
    const GraphNode& node = program_[id];
    const size_t n = node.in.size() / 2;
    const Shape& operand = program_.shape(node.in[0]);
    IndexMap at(operand.rank());
    size_t kept = 0;
    size_t inner = 0;
    const Dims& over = node.attrs<ReduceAttrs>().dimensions;
    for (size_t d = 0; d < operand.rank(); ++d) {
      const bool is_reduced = std::find(over.begin(), over.end(), static_cast<int64_t>(d)) != over.end();
      at[d] = is_reduced ? logical_[reduced[inner++]].index : result_map[kept++];
    }
    Result<Combiner> combiner = CombinerOf(program_, node);
    if (!combiner.ok()) {
      tracer_->blocking = id;
      return false;
    }
    kir::Reduce reduce;
    reduce.id = b_->NewId();
    for (size_t i = 0; i < n; ++i) {
      std::optional<Scalar> in = tracer_->Trace(node.in[i], at);
      if (!in) return false;
      const DType type = node.shape(static_cast<uint32_t>(i)).dtype;
      AppendParts(*b_, type, *in, reduce.in);
      std::optional<Scalar> init = tracer_->Trace(node.in[n + i], IndexMap());
      if (!init) return false;
      AppendParts(*b_, type, *init, reduce.init);
    }
    for (size_t l : reduced) {
      for (DimId d : logical_[l].ids) reduce.dims |= kir::DimMask{1} << d;
    }
    reduce.combiner = b_->AddGraph(combiner->graph);
    if (lanes && !combiner->identity.empty() && combiner->any_order) {
      reduce.order = kir::ReduceOrder::kLanes;
      for (size_t i = 0; i < combiner->identity.size(); ++i)
        reduce.identity.push_back(b_->ConstBits(combiner->graph.arguments[i], combiner->identity[i]));
    }
    tracer_->reduced[id] = {result_map, reduce.id};
    plan.stage.reduces.push_back(std::move(reduce));
    return true;
  }

  bool IsStored(Ref r) const {
    const GraphNode& node = program_[r.node];
    if (node.out.size() == 1 || !env_.is_used) return true;
    return env_.is_used(r);
  }

  kir::Buf OutputBuffer(Ref r) {
    View view = DenseView(0, program_.shape(r));
    BoundBuffer bound{BoundBuffer::Kind::kWrite, r, {}};
    const bool whole = cluster_.kind != ClusterKind::kConcat && cluster_.kind != ClusterKind::kUpdate;
    if (const Dims* strides = whole && env_.layout_of ? env_.layout_of(r.node) : nullptr)
      view.strides = bound.strides = *strides;
    tracer_->bound.push_back(std::move(bound));
    return BufferFor(*b_, kir::BufKind::kOut, view);
  }

  bool AddStore(Ref r, kir::Buf buf, StagePlan& plan, const IndexMap& at, const IndexMap& value_map) {
    std::optional<Scalar> value = tracer_->Trace(r, value_map);
    if (!value) return false;
    kir::Store store;
    store.buf = buf;
    store.at = tracer_->AxesOf(at);
    store.value = value->re;
    plan.stage.stores.push_back(store);
    if (value->im != kir::kNone) {
      store.value = value->im;
      store.component = 1;
      plan.stage.stores.push_back(store);
    }
    return true;
  }

  IndexMap SpaceMap(size_t dims) const {
    IndexMap map;
    for (size_t i = 0; i < dims; ++i) map.push_back(logical_[i].index);
    return map;
  }

  // A value's map when it has the whole space, or the rows with extents of one in between.
  std::optional<IndexMap> RootMap(const Shape& shape, const IndexMap& full) const {
    if (shape.dims == cluster_.space) return full;
    IndexMap map;
    size_t d = 0;
    for (int64_t extent : shape.dims) {
      if (extent == 1) {
        map.push_back(Index());
        continue;
      }
      while (d < cluster_.outer && cluster_.space[d] == 1) ++d;
      if (d >= cluster_.outer || cluster_.space[d] != extent) return std::nullopt;
      map.push_back(logical_[d++].index);
    }
    while (d < cluster_.outer && cluster_.space[d] == 1) ++d;
    if (d != cluster_.outer) return std::nullopt;
    return map;
  }

  // Kinds
  // --------------------------------------------------------------------------------------------------------------------------------

  bool Build() {
    seed_ = cluster_.roots[0];
    switch (cluster_.kind) {
      case ClusterKind::kMap:
        return BuildMap();
      case ClusterKind::kRow:
        return BuildRow();
      case ClusterKind::kColumn:
        return BuildColumn();
      case ClusterKind::kConcat:
        return BuildConcat();
      case ClusterKind::kUpdate:
        return BuildUpdate();
      case ClusterKind::kScatter:
        return false;
    }
    return false;
  }

  bool BuildMap() {
    std::vector<size_t> dims;
    for (int64_t extent : cluster_.space) dims.push_back(AddLogical(extent, false));
    StagePlan& plan = StageFor(0, dims, true);
    const IndexMap map = SpaceMap(dims.size());
    for (NodeId root : cluster_.roots) {
      for (uint32_t i = 0; i < program_[root].out.size(); ++i) {
        if (IsStored({root, i}) && !AddStore({root, i}, OutputBuffer({root, i}), plan, map, map)) return false;
      }
    }
    return true;
  }

  bool BuildColumn() {
    std::vector<size_t> dims;
    for (int64_t extent : cluster_.space) dims.push_back(AddLogical(extent, false));
    const IndexMap map = SpaceMap(dims.size());
    for (NodeId id : OrderedReduces()) {
      seed_ = id;
      std::vector<size_t> stage_dims = dims;
      const std::vector<size_t> reduced = InnerSpace(ReducedExtents(program_, program_[id]), true);
      if (full_) return false;
      stage_dims.insert(stage_dims.end(), reduced.begin(), reduced.end());
      if (!stages_.empty() && !stages_.contains({0, stage_dims})) {
        tracer_->blocking = id;
        return false;
      }
      if (DepthOf({id, 0}) != 1) {
        tracer_->blocking = id;
        return false;
      }
      if (!AddReduce(id, StageFor(0, stage_dims, false), map, reduced, false)) return false;
    }
    for (NodeId root : cluster_.roots) {
      for (uint32_t i = 0; i < program_[root].out.size(); ++i) {
        if (!IsStored({root, i})) continue;
        const bool after = DepthOf({root, 0}) > 0;
        StagePlan& plan = after ? stages_.begin()->second : StageFor(1, dims, false);
        if (!AddStore({root, i}, OutputBuffer({root, i}), plan, map, map)) return false;
      }
    }
    return true;
  }

  std::vector<NodeId> OrderedReduces() const {
    std::vector<NodeId> reduces;
    for (NodeId id : cluster_.order) {
      if (IsLoopReduce(program_, program_[id])) reduces.push_back(id);
    }
    return reduces;
  }

  bool BuildRow() {
    std::vector<size_t> outer;
    std::vector<size_t> inner;
    for (size_t d = 0; d < cluster_.outer; ++d) outer.push_back(AddLogical(cluster_.space[d], false));
    b_->kernel().outer = static_cast<uint8_t>(b_->kernel().dims.size());
    const IndexMap rows = SpaceMap(outer.size());
    Dims inner_extents(cluster_.space.begin() + cluster_.outer, cluster_.space.end());
    IndexMap full = rows;
    if (!inner_extents.empty()) {
      inner = InnerSpace(inner_extents, false);
      for (size_t l : inner) full.push_back(logical_[l].index);
    }
    tracer_->on_reuse = [this](Ref r, Scalar value, int first) { return Keep(r, value, first); };

    // Seeds by depth: all reductions of a depth, then the values that need no deeper one.
    struct Seed {
      int depth;
      bool store;
      NodeId node;
    };
    std::vector<Seed> seeds;
    for (NodeId id : OrderedReduces()) seeds.push_back({DepthOf({id, 0}) - 1, false, id});
    for (NodeId root : cluster_.roots) seeds.push_back({DepthOf({root, 0}), true, root});
    std::stable_sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) {
      return std::tuple(a.depth, a.store) < std::tuple(b.depth, b.store);
    });
    for (const Seed& seed : seeds) {
      if (full_) return false;
      seed_ = seed.node;
      const GraphNode& node = program_[seed.node];
      if (!seed.store) {
        // The reduction's rows are the cluster's: kept extents in order, those of one apart.
        const Dims reduced_extents = ReducedExtents(program_, node);
        std::optional<IndexMap> map = RootMapOfRow(node.shape(), rows);
        if (!map) {
          tracer_->blocking = seed.node;
          return false;
        }
        const std::vector<size_t> reduced = InnerSpace(reduced_extents, true);
        if (full_) return false;
        StagePlan& plan = StageFor(2 * seed.depth, reduced, false);
        tracer_->stage = StageNumber(2 * seed.depth, reduced);
        if (plan.stage.dims.empty()) {  // All reduced extents are one.
          tracer_->blocking = seed.node;
          return false;
        }
        if (!AddReduce(seed.node, plan, *map, reduced, true)) return false;
        continue;
      }
      for (uint32_t i = 0; i < node.out.size(); ++i) {
        if (!IsStored({seed.node, i})) continue;
        const bool whole = node.shape(i).dims == cluster_.space && !inner.empty();
        std::optional<IndexMap> map = whole ? full : RootMapOfRow(node.shape(i), rows);
        if (!map) {
          tracer_->blocking = seed.node;
          return false;
        }
        const std::vector<size_t> dims = whole ? inner : std::vector<size_t>();
        StagePlan& plan = StageFor(2 * seed.depth + 1, dims, false);
        tracer_->stage = StageNumber(2 * seed.depth + 1, dims);
        if (!AddStore({seed.node, i}, OutputBuffer({seed.node, i}), plan, *map, *map)) return false;
      }
    }
    return true;
  }

  std::optional<IndexMap> RootMapOfRow(const Shape& shape, const IndexMap& rows) const {
    if (shape.dims.size() == rows.size()) {
      bool same = true;
      for (size_t i = 0; i < rows.size(); ++i) same &= shape.dims[i] == cluster_.space[i];
      if (same) return rows;
    }
    return RootMap(shape, rows);
  }

  int StageNumber(int depth, const std::vector<size_t>& dims) {
    auto [it, fresh] = numbers_.try_emplace({depth, dims}, static_cast<int>(numbers_.size()));
    return it->second;
  }

  int64_t ValueCost(Val v, std::map<Val, bool>& seen) {
    if (!seen.emplace(v, true).second) return 0;
    const kir::Node& node = b_->node(v);
    int64_t cost = node.op == kir::Op::kRead ? 0 : program_.target->costs.Of(node);
    for (Val in : node.in) cost += ValueCost(in, seen);
    return cost;
  }

  /// Whether the value is read from places so far apart that each is alone in its line of memory, and the nearest cache
  /// does not hold these lines until another stage wants them.
  bool IsReadFromAfar(Val v, const kir::Stage& stage) {
    if (b_->node(v).op != kir::Op::kRead) return false;
    const kir::Read& read = b_->kernel().reads[b_->node(v).attr];
    const kir::Buffer& buffer = b_->kernel().buffers[read.buf];
    const target::CacheLevel& cache = program_.target->caches[0];
    int64_t lines = 1;
    for (DimId d = 0; d < b_->kernel().dims.size(); ++d) {
      const bool along = std::find(stage.dims.begin(), stage.dims.end(), d) != stage.dims.end();
      const int64_t step = std::abs(ElementsAlong(read.at, buffer, d)) * ByteWidth(buffer.type);
      // Rows around that go through the same lines find them where the one before left them.
      if (step < cache.line_bytes && (along || step != 0)) return false;
      if (along) lines *= tracer_->extents[d];
    }
    return lines * cache.line_bytes > cache.bytes;
  }

  /// Keeps a value of an earlier stage as a row, if that is cheaper than computing it again.
  std::optional<Scalar> Keep(Ref r, Scalar value, int first) {
    if (value.im != kir::kNone) return std::nullopt;
    // The stages' dims must be the same loops.
    const StageKey* from_key = nullptr;
    const StageKey* to_key = nullptr;
    for (const auto& [key, number] : numbers_) {
      if (number == first) from_key = &key;
      if (number == tracer_->stage) to_key = &key;
    }
    StagePlan& from = stages_.at(*from_key);
    StagePlan& to = stages_.at(*to_key);
    if (from.stage.dims.size() != to.stage.dims.size() || from.stage.dims.empty()) return std::nullopt;
    std::map<Val, bool> seen;
    if (ValueCost(value.re, seen) < policy::kKeepRowCost && !IsReadFromAfar(value.re, from.stage)) return std::nullopt;
    int64_t bytes = ByteWidth(program_.shape(r).dtype);
    for (size_t i = 0; i < from.stage.dims.size(); ++i) {
      if (tracer_->same_as[from.stage.dims[i]] != tracer_->same_as[to.stage.dims[i]]) return std::nullopt;
      bytes *= tracer_->extents[from.stage.dims[i]];
    }
    if (bytes > program_.target->limits.row_bytes) return std::nullopt;
    auto [it, fresh] = locals_.try_emplace(value.re, kir::Buf{0});
    if (fresh) {
      SmallVector<kir::Size, 4> extent;
      SmallVector<kir::Size, 4> stride;
      int64_t s = bytes / ByteWidth(program_.shape(r).dtype);
      kir::Store store;
      for (DimId d : from.stage.dims) {
        extent.push_back(kir::Size::Of(tracer_->extents[d]));
        s /= tracer_->extents[d];
        stride.push_back(kir::Size::Of(s));
        store.at.push_back(kir::At(d));
      }
      it->second = b_->AddBuffer(kir::BufKind::kLocal, program_.shape(r).dtype, extent, stride);
      tracer_->bound.push_back({BoundBuffer::Kind::kLocal, {}});
      store.buf = it->second;
      store.value = value.re;
      from.stage.stores.push_back(std::move(store));
    }
    SmallVector<kir::Axis, 4> at;
    for (DimId d : to.stage.dims) at.push_back(kir::At(d));
    return Scalar{b_->Read(it->second, at)};
  }

  bool BuildConcat() {
    const NodeId root = cluster_.roots[0];
    const GraphNode& node = program_[root];
    const kir::Buf out = OutputBuffer({root, 0});
    if (node.op == OpCode::kPad) return BuildPad(node, out);
    const size_t along = static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension);
    std::vector<size_t> shared;
    for (size_t d = 0; d < along; ++d) shared.push_back(AddLogical(node.shape().dims[d], false));
    b_->kernel().outer = static_cast<uint8_t>(b_->kernel().dims.size());
    int64_t begin = 0;
    int number = 0;
    for (Ref part : node.in) {
      const Dims& dims = program_.shape(part).dims;
      const Dims extents(dims.begin() + along, dims.end());
      std::vector<size_t> inner;
      if (share_parts_) {
        inner = InnerSpace(extents, false);
      } else {
        for (int64_t extent : extents) inner.push_back(AddLogical(extent, false));
      }
      IndexMap here;
      for (size_t d = 0; d < dims.size(); ++d) here.push_back(logical_[d < along ? shared[d] : inner[d - along]].index);
      IndexMap at = here;
      if (full_) return false;
      at[along].offset += begin;
      tracer_->stage = number;
      if (!AddStore(part, out, StageFor(number, inner, true), at, here)) return false;
      begin += dims[along];
      ++number;
    }
    return true;
  }

  bool BuildPad(const GraphNode& node, kir::Buf out) {
    const Dims& from = program_.shape(node.in[0]).dims;
    const Dims& to = node.shape().dims;
    std::vector<PaddedStage> stages = StagesOfPad(from, to, node.attrs<PadAttrs>());
    if (stages.empty()) {
      tracer_->blocking = cluster_.roots[0];  // Cropped: nobody does this with holes.
      return false;
    }
    if (fill_first_ || stages.size() > policy::kMaxPadStages || stages[0].stores() > policy::kMaxPadStores) {
      // The padding everywhere, then the operand over it.
      PaddedStage fill, elements{.has_elements = true, .dims = {}};
      for (size_t d = 0; d < from.size(); ++d) {
        fill.dims.push_back({.count = to[d]});
        elements.dims.push_back({.count = from[d], .place = stages[0].dims[d].place, .step = stages[0].dims[d].step});
      }
      stages = {fill, elements};
    }
    size_t along = 0;
    if (stages.size() > 1) {
      while (from[along] == to[along]) ++along;
    }
    std::vector<size_t> shared;
    for (size_t d = 0; d < along; ++d) shared.push_back(AddLogical(to[d], false));
    b_->kernel().outer = static_cast<uint8_t>(b_->kernel().dims.size());
    for (size_t number = 0; number < stages.size(); ++number) {
      if (!AddPadded(node, out, stages[number], shared, static_cast<int>(number))) return false;
    }
    return true;
  }

  /// One stage of a pad, inside loops over the leading dims.
  bool AddPadded(const GraphNode& node, kir::Buf out, const PaddedStage& stage, const std::vector<size_t>& shared,
                 int number) {
    std::vector<size_t> inner;
    IndexMap here, at;
    SmallVector<int64_t, 4> beside;  // Where the next store lies.
    for (size_t d = 0; d < stage.dims.size(); ++d) {
      const PaddedDim& dim = stage.dims[d];
      if (d >= shared.size()) inner.push_back(AddLogical(dim.count, false));
      Index index = logical_[d < shared.size() ? shared[d] : inner.back()].index;
      at.push_back(Times(index, dim.step));
      at.back().offset += dim.place;
      index.offset += dim.first;
      here.push_back(std::move(index));
      beside.push_back(dim.from);
    }
    if (full_) return false;
    tracer_->stage = number;
    StagePlan& plan = StageFor(number, inner, true);
    while (true) {
      IndexMap place = at;
      bool is_element = stage.has_elements;
      for (size_t d = 0; d < place.size(); ++d) {
        place[d].offset += beside[d];
        is_element &= beside[d] == 0;
      }
      if (!(is_element ? AddStore(node.in[0], out, plan, place, here) : AddStore(node.in[1], out, plan, place, {})))
        return false;
      size_t d = beside.size();
      while (d > 0 && beside[d - 1] == stage.dims[d - 1].until) {
        --d;
        beside[d] = stage.dims[d].from;
      }
      if (d == 0) return true;
      ++beside[d - 1];
    }
  }

  bool BuildUpdate() {
    const NodeId root = cluster_.roots[0];
    const GraphNode& node = program_[root];
    const Dims& whole = node.shape().dims;
    const Dims& update = program_.shape(node.in[1]).dims;
    std::vector<size_t> dims;
    IndexMap here;
    IndexMap at;
    for (int64_t extent : update) dims.push_back(AddLogical(extent, false));
    const kir::Buf out = OutputBuffer({root, 0});
    for (size_t d = 0; d < update.size(); ++d) {
      here.push_back(logical_[dims[d]].index);
      at.push_back(here.back());
      if (update[d] == whole[d]) continue;
      std::optional<Val> start = tracer_->TraceStart(node.in[2 + d], whole[d], update[d]);
      if (!start) return false;
      at.back().start = *start;
    }
    return AddStore(node.in[1], out, StageFor(0, dims, false), at, here);
  }

  /// Whether a pad's stages are seen to write all of it, which is what lets others rely on it.
  bool IsWritten(const MadeKernel& made) const {
    if (program_[cluster_.roots[0]].op != OpCode::kPad || cluster_.kind != ClusterKind::kConcat || fill_first_)
      return true;
    const auto out = std::ranges::find(made.kernel.buffers, kir::BufKind::kOut, &kir::Buffer::kind);
    return kir::WritesAll(made.kernel, static_cast<kir::Buf>(out - made.kernel.buffers.begin()), made.params);
  }

  // Finish
  // -------------------------------------------------------------------------------------------------------------------------------

  std::optional<MadeKernel> Finish() {
    MadeKernel made;
    for (auto& [key, plan] : stages_) b_->AddStage(std::move(plan.stage));
    made.kernel = b_->Finish();
    if (better_stored_ != nullptr) {
      *better_stored_ = BetterStored(made.kernel, Values(), *program_.target, env_.step_ops);
      if (!better_stored_->empty()) return std::nullopt;
    }
    made.buffers = std::move(tracer_->bound);
    if (!env_.unfinished) FinishKernel(made, *program_.target, env_.checks);
    return made;
  }

  /// The members that might be stored, with the nodes that are their values.
  std::vector<Computed> Values() const {
    std::map<NodeId, Computed> computed;
    tracer_->ForEachValue([&](Ref r, const IndexMap& map, const SmallVector<kir::Guard, 1>& guards, Scalar value) {
      const GraphNode& node = program_[r.node];
      const bool summed = node.op == OpCode::kReduce && node.out.size() == 1 && !tracer_->reduced.contains(r.node);
      const bool selected = node.op == OpCode::kConcatenate || node.op == OpCode::kPad;
      const bool computed_there = KindOfOp(node.op) == OpKind::kElementwise || summed || selected;
      if (!cluster_.members.contains(r.node) || !computed_there) return;
      const bool root = std::find(cluster_.roots.begin(), cluster_.roots.end(), r.node) != cluster_.roots.end();
      if (root && cluster_.roots.size() == 1) return;
      Computed& c = computed[r.node];
      c.node = r.node;
      c.shape = node.shape();
      c.stored = root;
      ValueAt at{.value = value.re};
      at.moves.memory = program_.target->limits.buffers + uint64_t{r.node};  // Beside the kernel's buffers.
      at.moves.alone = c.complex();
      int64_t stride = 1;
      for (size_t i = map.size(); i-- > 0;) {
        at.moves.offset += map[i].offset * stride;
        for (const IndexTerm& t : map[i].terms) at.moves.Add(t.dim, t.coef * stride);
        if (map[i].start != kir::kNone) at.moves.by_data = ~kir::DimMask{0};
        stride *= node.shape().dims[i];
      }
      at.read.at = tracer_->AxesOf(map);
      at.read.guard = tracer_->ThatMatter(guards, map, &node.shape().dims);
      c.values.push_back(at);
      if (value.im == kir::kNone) return;
      at.value = value.im;
      at.component = 1;
      c.values.push_back(std::move(at));
    });
    std::vector<Computed> list;
    for (auto& [id, c] : computed) {
      const auto before = [](const ValueAt& a, const ValueAt& b) { return a.value < b.value; };
      const auto same = [](const ValueAt& a, const ValueAt& b) { return a.value == b.value; };
      std::sort(c.values.begin(), c.values.end(), before);
      c.values.erase(std::unique(c.values.begin(), c.values.end(), same), c.values.end());
      list.push_back(std::move(c));
    }
    return list;
  }

  using StageKey = std::pair<int, std::vector<size_t>>;

  const Program& program_;
  const Cluster& cluster_;
  const MakerEnvironment& env_;
  std::vector<NodeId>* better_stored_;
  std::optional<kir::KernelBuilder> b_;
  std::optional<Tracer> tracer_;
  std::vector<LogicalDim> logical_;
  std::map<DimId, std::pair<size_t, size_t>> origin_;
  // By logical dim; outlives attempts, in which the same number may be another dim: then its extent says so, or the cut
  // is one that this dim may have as well.
  std::map<size_t, Dims> cuts_;
  std::vector<std::pair<std::pair<Dims, bool>, std::vector<size_t>>> spaces_;
  std::map<StageKey, StagePlan> stages_;
  std::map<StageKey, int> numbers_;
  std::map<Val, kir::Buf> locals_;
  std::unordered_map<NodeId, int> depth_;
  bool full_ = false;             // A dim was asked for beyond what a kernel has.
  bool fill_first_ = false;       // A pad is filled as a whole before its elements are stored.
  bool share_parts_ = false;      // Parts of a concatenation with equal extents run over the same dims.
  NodeId seed_ = kNoNode;         // What the stage in the making is for.
  NodeId last_cut_by_ = kNoNode;  // The reshape that asked for the latest cut.
};

}  // namespace

std::optional<MadeKernel> MakeKernel(const Program& program, const Cluster& cluster, const MakerEnvironment& env,
                                     NodeId& blocking, std::vector<NodeId>* better_stored) {
  blocking = kNoNode;
  return Maker(program, cluster, env, better_stored).Make(blocking);
}

}  // namespace tenon::compiler
