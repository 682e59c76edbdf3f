// While loops that become one kernel: carries in registers, stacked results stored in place trip by trip.

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/loop_cost.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/tracer.h"
#include "tenon/compiler/ir/combiner.h"
#include "tenon/compiler/ir/same.h"
#include "tenon/compiler/ir/trips.h"
#include "tenon/plan/policy.h"

namespace tenon::compiler {

using kir::Val;

namespace {

/// The map of element `flat` of an array.
IndexMap Element(const Dims& dims, int64_t flat) {
  IndexMap map(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    map[d].offset = flat % dims[d];
    flat /= dims[d];
  }
  return map;
}

bool IsFixed(const IndexMap& map) {
  return std::all_of(map.begin(), map.end(), [](const Index& ix) { return ix.is_constant(); });
}

int64_t Flat(const Dims& dims, const IndexMap& map) {
  int64_t flat = 0;
  for (size_t d = 0; d < dims.size(); ++d) flat = flat * dims[d] + map[d].offset;
  return flat;
}

/// Whether two values are computed alike, of the same arguments of their blocks and the same values from outside.
class SameInBoth {
 public:
  SameInBoth(const Program& p, const Block& a, const Block& b) : p_(p) {
    for (size_t i = 0; i < a.args.size(); ++i) same_.emplace(a.args[i], b.args[i]);
    inside_.insert(a.nodes.begin(), a.nodes.end());
    inside_.insert(b.nodes.begin(), b.nodes.end());
  }

  bool operator()(Ref a, Ref b) {
    if (a.result != b.result) return false;
    if (const auto known = same_.find(a.node); known != same_.end()) return known->second == b.node;
    const GraphNode &x = p_[a.node], &y = p_[b.node];
    if (!inside_.contains(a.node) && x.op != OpCode::kConstant) return a.node == b.node;
    if (!SameOperation(x, y) || x.op == OpCode::kOpaque || x.side_effect || !x.blocks.empty()) return false;
    for (size_t i = 0; i < x.in.size(); ++i) {
      if (!(*this)(x.in[i], y.in[i])) return false;
    }
    same_.emplace(a.node, b.node);
    return true;
  }

 private:
  const Program& p_;
  std::unordered_map<NodeId, NodeId> same_;
  std::unordered_set<NodeId> inside_;
};

/// Of a loop that runs while a predicate holds anywhere and leaves points alone where it does not, as loops are that
/// were written for one point and then mapped over many: that predicate. Every point is a loop of its own then.
std::optional<Ref> EndOfEachPoint(const Program& p, const GraphNode& loop) {
  const Block &condition = loop.blocks[0], &body = loop.blocks[1];
  const GraphNode& any = p[condition.results[0].node];
  if (any.op != OpCode::kReduce || any.in.size() != 2 || CombinerOp(p, any.blocks[0]) != OpCode::kOr)
    return std::nullopt;
  const Ref each = any.in[0];
  const Dims& points = p.shape(each).dims;
  const GraphNode& init = p[any.in[1].node];
  if (init.op != OpCode::kConstant || !init.literal.splat || init.literal.bytes->front() != 0 || points.empty() ||
      any.attrs<ReduceAttrs>().dimensions.size() != points.size())
    return std::nullopt;
  SameInBoth same(p, condition, body);
  for (size_t i = 0; i < body.results.size(); ++i) {
    const Ref old{body.args[i], 0};
    const Dims& dims = p.shape(old).dims;
    if (dims.size() < points.size() || !std::equal(points.begin(), points.end(), dims.begin())) return std::nullopt;
    if (body.results[i] == old) continue;
    const GraphNode& choice = p[body.results[i].node];
    if (choice.op != OpCode::kSelect || choice.in[2] != old) return std::nullopt;
    Ref when = choice.in[0];
    if (const GraphNode& spread = p[when.node]; spread.op == OpCode::kBroadcast && !same(each, when)) {
      const Dims& to = spread.attrs<BroadcastAttrs>().broadcast_dimensions;
      for (size_t d = 0; d < to.size(); ++d) {
        if (to[d] != static_cast<int64_t>(d)) return std::nullopt;
      }
      when = spread.in[0];
    }
    if (p.shape(when).dims != points || !same(each, when)) return std::nullopt;
  }
  return each;
}

/// One way to make the loop a kernel: every point of `points` runs the whole loop on scalars; other arrays are written
/// out element by element.
class LoopMaker {
 public:
  /// `used`: results that somebody uses, of nodes with several. `each`: EndOfEachPoint, where points end so. `chunk`:
  /// as MakeNativeLoop.
  LoopMaker(const Program& p, NodeId id, const MakerEnvironment& env, Dims points, std::optional<Ref> each,
            int64_t chunk, const Captures& captures, const std::unordered_set<Ref, RefHasher>& used)
      : p_(p),
        loop_(p[id]),
        id_(id),
        points_(std::move(points)),
        each_(each),
        chunk_(chunk),
        captures_(captures),
        used_(used),
        checks_(env.checks),
        tracer_(p, members_, env, b_) {}

  /// Carries whose memory the loop updates in place; their kernel buffers come in the result as writes of (id, carry).
  std::vector<bool> stacked;

  std::optional<MadeKernel> Make() {
    if (static_cast<int64_t>(points_.size()) > p_.target->limits.dims) return std::nullopt;
    const Block& condition = loop_.blocks[0];
    const Block& body = loop_.blocks[1];
    for (const Block* block : {&condition, &body}) {
      for (NodeId n : block->nodes) {
        if (each_ && n == condition.results[0].node) continue;
        if (p_[n].op != OpCode::kConstant && !IsFusible(p_, n)) return std::nullopt;
        members_.insert(n);
      }
    }
    for (int64_t extent : points_) {
      // No dim for a single place: the innermost one runs in lanes.
      if (extent == 1) {
        here_.push_back(Index());
        continue;
      }
      const kir::DimId dim = b_.AddDim(kir::Size::Of(extent));
      tracer_.extents.push_back(extent);
      tracer_.same_as.push_back(dim);
      here_.push_back(Index::Dim(dim));
    }
    b_.kernel().outer = static_cast<uint8_t>(tracer_.extents.size());
    if (!Classify()) return std::nullopt;
    tracer_.resolve = [this](Ref r, const IndexMap& map, std::optional<Scalar>& value) {
      return Resolve(r, map, value);
    };

    kir::Loop loop;
    loop.id = loop_id_ = b_.NewId();
    for (const Carry& c : carries_) {
      const DType type = p_.shape(loop_.in[c.index]).dtype;
      for (int64_t e = 0; e < c.elements; ++e) {
        std::optional<Scalar> init = chunk_ > 0 ? ReadCarried(c, e) : tracer_.Trace(loop_.in[c.index], MapOf(c, e));
        if (!init) return std::nullopt;
        AppendParts(b_, type, *init, loop.init);
        loop.types.resize(loop.init.size(), PartType(type));
      }
    }
    const size_t counter = loop.types.size();
    if (chunk_ > 0) {
      loop.types.push_back(DType::kS64);
      loop.init.push_back(b_.ConstS64(0));
    }
    const int64_t trips = chunk_ > 0 ? -1 : KnownTrips(p_, loop_);
    if (trips >= 0) {
      loop.trip_count = kir::Size::Of(trips);
    } else {
      std::optional<Scalar> again =
          each_ ? tracer_.Trace(*each_, here_) : tracer_.Trace(condition.results[0], IndexMap());
      if (!again) return std::nullopt;
      loop.condition = again->re;
    }
    if (chunk_ > 0) {
      const Val more = b_.Compare(kir::kLt, b_.Carried(loop_id_, counter, DType::kS64), b_.ConstS64(chunk_));
      loop.condition = b_.And(loop.condition, more);
    }
    kir::Stage updates;
    for (size_t i = 0; i < loop_.in.size(); ++i) {
      if (stacked[i] && !AddUpdate(i, updates)) return std::nullopt;
    }
    if (!updates.stores.empty()) loop.body.push_back(kir::Step{std::move(updates)});
    for (const Carry& c : carries_) {
      for (int64_t e = 0; e < c.elements; ++e) {
        // Where the point goes on, the choice is made.
        const Ref result = body.results[c.index];
        const bool chosen = each_ && result != Ref{body.args[c.index], 0};
        std::optional<Scalar> next = tracer_.Trace(chosen ? p_[result.node].in[1] : result, MapOf(c, e));
        if (!next || static_cast<int64_t>(b_.num_nodes()) > p_.target->limits.loop_nodes) return std::nullopt;
        AppendParts(b_, p_.shape(loop_.in[c.index]).dtype, *next, loop.next);
      }
    }
    if (chunk_ > 0) loop.next.push_back(b_.Add(b_.Carried(loop_id_, counter, DType::kS64), b_.ConstS64(1)));
    b_.AddLoop(std::move(loop));
    kir::Stage finals;
    for (const Carry& c : carries_) {
      if (chunk_ > 0 || IsUsed(c.index)) AddFinal(c, finals);
    }
    if (!finals.stores.empty()) b_.AddStage(std::move(finals));

    MadeKernel made;
    made.kernel = b_.Finish();
    made.buffers = std::move(tracer_.bound);
    const double nodes = static_cast<double>(made.kernel.nodes.size());
    FinishKernel(made, *p_.target, checks_);
    const double points = static_cast<double>(NumElements(points_));
    const double lanes = points_.empty() ? 1.0 : policy::kLoopLanes;
    const auto known = static_cast<double>(trips >= 0 ? trips : plan::policy::kUnknownTrips);
    made.work = {.serial = known * nodes * std::max(1.0, points / lanes) * policy::kLoopNodeCycles};
    return made;
  }

 private:
  /// A carry in registers: one per element, or one per point; two for complex ones.
  struct Carry {
    size_t index;
    size_t first;      ///< Number of its first register.
    int64_t elements;  ///< Of one point.
    size_t parts;
    bool per_point;
  };

  /// Whether somebody uses the carry's last value.
  bool IsUsed(size_t carry) const {
    return loop_.in.size() == 1 || used_.contains({id_, static_cast<uint32_t>(carry)});
  }

  bool Classify() {
    const Block& body = loop_.blocks[1];
    stacked.assign(loop_.in.size(), false);
    carry_of_.assign(loop_.in.size(), -1);
    for (size_t i = 0; i < loop_.in.size(); ++i) {
      for (const Block& block : loop_.blocks) arg_of_[block.args[i]] = i;
    }
    std::vector<NodeId> ends;
    if (chunk_ > 0 || KnownTrips(p_, loop_) < 0) ends.push_back(each_ ? each_->node : loop_.blocks[0].results[0].node);
    const std::vector<bool> seen = SeenOf(p_, id_, captures_, used_, ends).carries;
    size_t next = 0;
    for (size_t i = 0; i < loop_.in.size(); ++i) {
      if (!seen[i]) continue;
      const Shape& shape = p_.shape(loop_.in[i]);
      if (!KernelCanHold(p_, shape.dtype)) return false;
      const bool per_point = !points_.empty() && (each_ || shape.dims == points_);
      const GraphNode& result = p_[body.results[i].node];
      const bool updated = result.op == OpCode::kDynamicUpdate && result.in[0] == Ref{body.args[i], 0};
      if (updated && !per_point && NumElements(shape.dims) > 0) {
        stacked[i] = true;
        continue;
      }
      if (!per_point && NumElements(shape.dims) > (points_.empty() ? p_.target->limits.carry_elements : 1))
        return false;
      const int64_t elements = per_point ? NumElements(OfOnePoint(shape.dims)) : NumElements(shape.dims);
      if (elements > p_.target->limits.carry_elements) return false;
      Carry c{i, next, elements, IsComplex(shape.dtype) ? 2u : 1u, per_point};
      next += static_cast<size_t>(c.elements) * c.parts;
      carry_of_[i] = static_cast<int>(carries_.size());
      carries_.push_back(c);
    }
    return next > 0 && static_cast<int64_t>(next) <= p_.target->limits.carries;
  }

  /// What is left of a carry's dims.
  Dims OfOnePoint(const Dims& dims) const { return {dims.begin() + static_cast<int64_t>(points_.size()), dims.end()}; }

  IndexMap MapOf(const Carry& c, int64_t element) const {
    const Dims& dims = p_.shape(loop_.in[c.index]).dims;
    if (!c.per_point) return Element(dims, element);
    IndexMap map = here_;
    for (const Index& ix : Element(OfOnePoint(dims), element)) map.push_back(ix);
    return map;
  }

  /// Element `e` of the carry as registers have it.
  Scalar Current(const Carry& c, int64_t e) {
    const DType part = PartType(p_.shape(loop_.in[c.index]).dtype);
    const size_t number = c.first + static_cast<size_t>(e) * c.parts;
    Scalar value{b_.Carried(loop_id_, number, part)};
    if (c.parts == 2) value.im = b_.Carried(loop_id_, number + 1, part);
    return value;
  }

  bool Resolve(Ref r, const IndexMap& map, std::optional<Scalar>& value) {
    auto it = arg_of_.find(r.node);
    if (it == arg_of_.end()) return false;
    if (carry_of_[it->second] < 0) return true;  // The stacked array is not read.
    const Carry& c = carries_[static_cast<size_t>(carry_of_[it->second])];
    const Shape& shape = p_.shape(loop_.in[c.index]);
    const auto own = map.begin() + static_cast<int64_t>(c.per_point ? here_.size() : 0);
    const IndexMap element(own, map.end());
    if ((c.per_point && !std::equal(map.begin(), own, here_.begin())) || !IsFixed(element)) return true;
    value = Current(c, Flat(c.per_point ? OfOnePoint(shape.dims) : shape.dims, element));
    return true;
  }

  /// An element of what the loop carries, from where it lies between chunks.
  Scalar ReadCarried(const Carry& c, int64_t e) {
    const Shape& shape = p_.shape(loop_.in[c.index]);
    auto [it, is_new] = carried_in_.emplace(c.index, kir::kNoBuf);
    if (is_new) {
      it->second = BufferFor(b_, kir::BufKind::kArg, DenseView(0, shape));
      tracer_.bound.push_back({BoundBuffer::Kind::kRead, {loop_.blocks[1].args[c.index], 0}});
    }
    const auto at = tracer_.AxesOf(MapOf(c, e));
    Scalar value{b_.Read(it->second, at, 0)};
    if (c.parts == 2) value.im = b_.Read(it->second, at, 1);
    return value;
  }

  kir::Buf OutBuffer(size_t carry) {
    const kir::Buf buf = BufferFor(b_, kir::BufKind::kOut, DenseView(0, p_.shape(loop_.in[carry])));
    tracer_.bound.push_back({BoundBuffer::Kind::kWrite, {id_, static_cast<uint32_t>(carry)}});
    return buf;
  }

  /// Where there are points, what all of them agree on is written by the first.
  void OnlyFirst(kir::Store& store) {
    for (size_t d = 0; d < tracer_.extents.size(); ++d) {
      kir::Guard guard;
      guard.e = kir::At(static_cast<kir::DimId>(d));
      guard.lo = kir::Size::Of(0);
      guard.hi = kir::Size::Of(1);
      store.guard.push_back(std::move(guard));
    }
  }

  bool AddUpdate(size_t carry, kir::Stage& stage) {
    const Block& body = loop_.blocks[1];
    const GraphNode& node = p_[body.results[carry].node];
    const Shape& whole = node.shape();
    const Shape& update = p_.shape(node.in[1]);
    // The update's elements: one per point, or few.
    std::vector<IndexMap> elements;
    bool per_point = false;
    if (!points_.empty()) {
      IndexMap map;
      size_t d = 0;
      for (int64_t extent : update.dims) {
        if (extent == 1) {
          map.push_back(Index());
          continue;
        }
        while (d < points_.size() && points_[d] == 1) ++d;
        if (d == points_.size() || points_[d] != extent) return false;
        map.push_back(here_[d++]);
      }
      while (d < points_.size() && points_[d] == 1) ++d;
      per_point = d == points_.size();
      if (!per_point && NumElements(update.dims) != 1) return false;
      elements.push_back(per_point ? map : Element(update.dims, 0));
    } else {
      if (NumElements(update.dims) > p_.target->limits.carry_elements) return false;
      for (int64_t e = 0; e < NumElements(update.dims); ++e) elements.push_back(Element(update.dims, e));
    }
    const kir::Buf buf = OutBuffer(carry);
    for (const IndexMap& element : elements) {
      kir::Store store;
      store.buf = buf;
      IndexMap at = element;
      for (size_t d = 0; d < at.size(); ++d) {
        if (update.dims[d] == whole.dims[d]) continue;
        std::optional<Val> start = tracer_.TraceStart(node.in[2 + d], whole.dims[d], update.dims[d]);
        if (!start) return false;
        at[d].start = *start;
      }
      std::optional<Scalar> value = tracer_.Trace(node.in[1], element);
      if (!value) return false;
      store.at = tracer_.AxesOf(at);
      if (!per_point) OnlyFirst(store);
      AddParts(store, *value, stage);
    }
    return true;
  }

  void AddFinal(const Carry& c, kir::Stage& stage) {
    const kir::Buf buf = OutBuffer(c.index);
    for (int64_t e = 0; e < c.elements; ++e) {
      kir::Store store;
      store.buf = buf;
      store.at = tracer_.AxesOf(MapOf(c, e));
      if (!c.per_point) OnlyFirst(store);
      AddParts(store, Current(c, e), stage);
    }
  }

  static void AddParts(kir::Store store, Scalar value, kir::Stage& stage) {
    store.value = value.re;
    stage.stores.push_back(store);
    if (value.im == kir::kNone) return;
    store.value = value.im;
    store.component = 1;
    stage.stores.push_back(std::move(store));
  }

  const Program& p_;
  const GraphNode& loop_;
  NodeId id_;
  Dims points_;
  std::optional<Ref> each_;
  const int64_t chunk_;
  std::map<size_t, kir::Buf> carried_in_;
  const Captures& captures_;
  const std::unordered_set<Ref, RefHasher>& used_;
  KernelChecks* checks_;
  std::unordered_set<NodeId> members_;
  kir::KernelBuilder b_;
  Tracer tracer_;
  IndexMap here_;
  uint32_t loop_id_ = 0;
  std::vector<Carry> carries_;
  std::vector<int> carry_of_;
  std::map<NodeId, size_t> arg_of_;
};

}  // namespace

int64_t Fuser::ChunkOf(NodeId id) const {
  const GraphNode& node = p_[id];
  const target::Target& t = *p_.target;
  const double most_ns = t.device.most_launch_ns * policy::kChunkShare;
  if (t.kind != target::Kind::kGpu || most_ns <= 0) return 0;
  int64_t ops = 1;
  for (const Block& block : node.blocks) ops += CountOps(p_, block, t.limits.loop_nodes);
  const double trip_ns = static_cast<double>(ops) * policy::kScalarOpLatency / t.clock_ghz;
  const auto chunk = static_cast<int64_t>(most_ns / trip_ns);
  const int64_t trips = KnownTrips(p_, node);
  return trips >= 0 && trips <= chunk ? 0 : std::max(chunk, policy::kLeastChunk);
}

Result<std::optional<Fuser::NativeLoop>> Fuser::MakeNativeLoop(NodeId id, int64_t chunk) {
  const GraphNode& node = p_[id];
  for (const Block& block : node.blocks) {
    if (CountOps(p_, block, p_.target->limits.loop_nodes) > p_.target->limits.loop_nodes)
      return std::optional<NativeLoop>();
  }
  Status failed;
  std::unordered_map<Ref, View, RefHasher> promised;
  plan::Seq before;
  MakerEnvironment env;
  env.checks = &checks_;
  env.view_of = [&](Ref r) -> const View& {
    Result<View> view = KernelViewOf(r, before);
    if (!view.ok()) failed = view.status();
    return promised[r] = view.ok() ? *view : DenseView(0, p_.shape(r));
  };
  // One run per point of an array carry, if all arrays agree; else all arrays written out.
  const std::optional<Ref> each = EndOfEachPoint(p_, node);
  std::vector<Dims> ways;
  for (Ref r : node.in) {
    const Shape& shape = p_.shape(r);
    if (shape.rank() > 0 && NumElements(shape.dims) >= policy::kMinLanePoints && ways.empty())
      ways.push_back(shape.dims);
  }
  // The smallest array is the likeliest to be the state; stacked results are larger.
  for (Ref r : node.in) {
    const Shape& shape = p_.shape(r);
    if (shape.rank() > 0 && NumElements(shape.dims) >= policy::kMinLanePoints &&
        NumElements(shape.dims) < NumElements(ways[0]))
      ways[0] = shape.dims;
  }
  ways.push_back({});
  if (each) ways.insert(ways.begin(), p_.shape(*each).dims);
  for (size_t way = 0; way < ways.size(); ++way) {
    const Dims& points = ways[way];
    const size_t bound_before = bound_.size();
    before.clear();
    LoopMaker maker(p_, id, env, points, way == 0 ? each : std::nullopt, chunk, captures_, used_);
    std::optional<MadeKernel> made = maker.Make();
    if (!failed.ok() || !made) {
      failed = OkStatus();
      Unbind(bound_before);
      continue;
    }
    if (points.empty() && RunsInLanes(p_, node, made->kernel)) {
      Unbind(bound_before);
      return std::optional<NativeLoop>();
    }
    return std::optional<NativeLoop>({std::move(*made), std::move(maker.stacked), std::move(before)});
  }
  return std::optional<NativeLoop>();
}

Result<bool> Fuser::EmitNativeLoop(NodeId id, plan::Seq& out) {
  const GraphNode& node = p_[id];
  TENON_ASSIGN_OR_RETURN(std::optional<NativeLoop> loop, MakeNativeLoop(id, 0));
  if (!loop) return false;
  std::ranges::move(loop->before, std::back_inserter(out));
  std::vector<View> views;
  for (const BoundBuffer& b : loop->made.buffers) {
    if (b.kind == BoundBuffer::Kind::kRead) {
      TENON_ASSIGN_OR_RETURN(View view, KernelViewOf(b.value, out));
      views.push_back(view);
      continue;
    }
    const View view = NewTemp(p_.shape(b.value));
    if (loop->stacked[b.value.result]) {
      TENON_ASSIGN_OR_RETURN(View init, ViewOf(node.in[b.value.result], out));
      Copy(init, view, out);
    }
    views.push_back(view);
    Bind(b.value, view);
  }
  AddKernelStep(std::move(loop->made), views, out);
  return true;
}

Status Fuser::EmitChunk(NativeLoop loop, const std::vector<View>& carried, plan::WhileStep& step) {
  std::vector<View> views;
  for (const BoundBuffer& b : loop.made.buffers) {
    if (b.kind == BoundBuffer::Kind::kRead) {
      TENON_ASSIGN_OR_RETURN(View view, KernelViewOf(b.value, step.body));
      views.push_back(std::move(view));
    } else if (loop.stacked[b.value.result]) {
      views.push_back(carried[b.value.result]);
    } else {
      views.push_back(NewTemp(p_.shape(b.value)));
      step.carry.push_back({Slot(views.back()), Slot(carried[b.value.result])});
    }
  }
  AddKernelStep(std::move(loop.made), views, step.body);
  return OkStatus();
}

}  // namespace tenon::compiler
