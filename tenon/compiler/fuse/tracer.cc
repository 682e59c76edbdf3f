#include "tenon/compiler/fuse/tracer.h"

#include <algorithm>
#include <tuple>

#include "tenon/compiler/fuse/constants.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/ir/combiner.h"
#include "tenon/compiler/ir/kir_op.h"

namespace tenon::compiler {

using kir::Val;

SmallVector<kir::Axis, 4> Tracer::AxesOf(const IndexMap& map) const {
  SmallVector<kir::Axis, 4> axes;
  for (const Index& ix : map) {
    kir::Axis axis;
    for (const IndexTerm& t : ix.terms) axis.terms.push_back({t.dim, kir::Size::Of(t.coef)});
    axis.offset = kir::Size::Of(ix.offset);
    axis.start = ix.start;
    axes.push_back(std::move(axis));
  }
  return axes;
}

kir::Val Tracer::ValueOf(const Index& ix, bool narrow) {
  const DType type = narrow ? DType::kS32 : DType::kS64;
  Val sum = kir::kNone;
  auto add = [&](Val v) { sum = sum == kir::kNone ? v : b_.Add(sum, v); };
  for (const IndexTerm& t : ix.terms) {
    const Val dim = b_.Convert(type, b_.Index(t.dim));
    add(t.coef == 1 ? dim : b_.Mul(dim, b_.Const(type, t.coef)));
  }
  if (ix.start != kir::kNone) add(b_.Convert(type, ix.start));
  if (ix.offset != 0 || sum == kir::kNone) add(b_.Const(type, ix.offset));
  return sum;
}

kir::Val Tracer::Inside(const Index& ix, int64_t low, int64_t high) {
  const IndexRange range = RangeOf(ix, extents);
  const bool open = ix.start != kir::kNone;
  const bool from_below = low != INT64_MIN;
  const bool narrow =
      !open && range.low > INT32_MIN && range.high < INT32_MAX && (!from_below || low > INT32_MIN) && high < INT32_MAX;
  const Val v = ValueOf(ix, narrow);
  Val inside = kir::kNone;
  if (from_below && (open || range.low < low)) inside = b_.Compare(kir::kGe, v, b_.Const(b_.type(v), low));
  if (open || range.high >= high) {
    const Val below = b_.Compare(kir::kLt, v, b_.Const(b_.type(v), high));
    inside = inside == kir::kNone ? below : b_.And(inside, below);
  }
  return inside == kir::kNone ? b_.ConstPred(true) : inside;
}

Index Tracer::Scaled(const Index& ix, int64_t factor) {
  Index scaled = Times(ix, factor);
  if (ix.start != kir::kNone) scaled.start = factor == 1 ? ix.start : b_.Mul(ix.start, b_.Const(DType::kS64, factor));
  return scaled;
}

Index Tracer::Sum(const Index& a, const Index& b) {
  Index sum = Plus(a, b);
  if (a.start != kir::kNone && b.start != kir::kNone) sum.start = b_.Add(a.start, b.start);
  return sum;
}

namespace {

/// Where two guards ask about one place, what both let through, as the first one counts; low >= high: nothing. Nothing
/// where they ask about different places.
struct Span {
  int64_t low, high;
};
std::optional<Span> Common(const kir::Guard& a, const kir::Guard& b) {
  if (a.mod != 1 || b.mod != 1 || a.e.start != b.e.start || !(a.e.terms == b.e.terms)) return std::nullopt;
  const int64_t apart = a.e.offset.baked - b.e.offset.baked;
  if (a.e.start != kir::kNone && apart != 0) return std::nullopt;  // What comes from data may wrap between them.
  return Span{std::max(a.lo.baked, b.lo.baked + apart), std::min(a.hi.baked, b.hi.baked + apart)};
}

/// Adds a guard; one that asks about the same place becomes part of it, so that there are no more of them than places,
/// however many concatenations or paddings lie inside of one another.
void AddGuard(SmallVector<kir::Guard, 1>& guards, kir::Guard guard) {
  for (kir::Guard& before : guards) {
    const std::optional<Span> both = Common(guard, before);
    if (!both || both->low >= both->high) continue;
    guard.lo = kir::Size::Of(both->low);
    guard.hi = kir::Size::Of(both->high);
    before = std::move(guard);
    return;
  }
  guards.push_back(std::move(guard));
}

}  // namespace

kir::Guard Tracer::GuardOf(const Index& ix, int64_t low, int64_t high) const {
  IndexMap one;
  one.push_back(ix);
  kir::Guard guard;
  guard.e = AxesOf(one)[0];
  guard.lo = kir::Size::Of(low);
  guard.hi = kir::Size::Of(high);
  return guard;
}

bool Tracer::IsNeverIn(const Index& ix, int64_t low, int64_t high) const {
  if (guards_.empty()) return false;
  const kir::Guard guard = GuardOf(ix, low, high);
  return std::any_of(guards_.begin(), guards_.end(), [&](const kir::Guard& held) {
    const std::optional<Span> both = Common(guard, held);
    return both && both->low >= both->high;
  });
}

void Tracer::PushGuard(const Index& ix, int64_t low, int64_t high) {
  const IndexRange range = RangeOf(ix, extents);
  if (ix.start == kir::kNone && range.low >= low && range.high < high) return;
  guards_.push_back(GuardOf(ix, low, high));
}

size_t Tracer::KeyHasher::operator()(const Key& k) const {
  size_t h = RefHasher()(k.ref) ^ (HashOf(k.map) * 31);
  const auto mix = [&](int64_t v) { h = (h ^ static_cast<size_t>(v)) * 0x9e3779b97f4a7c15u; };
  for (const kir::Guard& g : k.guards) {
    for (const kir::Term& t : g.e.terms) {
      mix(t.dim);
      mix(t.coef.baked);
    }
    mix(g.e.offset.baked);
    mix(g.e.start);
    mix(g.lo.baked);
    mix(g.hi.baked);
  }
  return h;
}

kir::Buf BufferFor(kir::KernelBuilder& b, kir::BufKind kind, const View& view) {
  SmallVector<kir::Size, 4> extent;
  SmallVector<kir::Size, 4> stride;
  for (size_t i = 0; i < view.dims.size(); ++i) {
    extent.push_back(kir::Size::Of(view.dims[i]));
    stride.push_back(kir::Size::Of(view.strides[i]));
  }
  return b.AddBuffer(kind, view.dtype, extent, stride);
}

kir::Buf Tracer::BufferOf(Ref r) {
  auto [it, fresh] = buffer_of_.try_emplace(r, kir::Buf{0});
  if (!fresh) return it->second;
  // One memory, one buffer: a value and what a barrier makes of it are read together, and in place.
  const View view = env_.view_of(r);
  SmallVector<kir::Buf, 2>& there = reads_of_[view.buffer];
  for (kir::Buf buf : there) {
    if (env_.view_of(bound[buf].value) == view) return it->second = buf;
  }
  it->second = BufferFor(b_, kir::BufKind::kArg, view);
  there.push_back(it->second);
  const GraphNode& node = program_[r.node];
  const bool known = node.op == OpCode::kConstant && !node.literal.splat && view.offset_elems == 0 && IsDense(view);
  bound.push_back({BoundBuffer::Kind::kRead, r, {}, known ? &node.literal : nullptr});
  return it->second;
}

std::optional<Scalar> Tracer::Trace(Ref r, const IndexMap& map) {
  if (blocking != kNoNode || cut) return std::nullopt;
  Key key{r, map, ThatMatter(guards_, map, nullptr)};
  const bool inner = std::any_of(map.begin(), map.end(), [&](const Index& ix) {
    return std::any_of(ix.terms.begin(), ix.terms.end(),
                       [&](const IndexTerm& t) { return t.dim >= b_.kernel().outer; });
  });
  if (auto it = known_.find(key); it != known_.end() && (!inner || it->second.stage == stage)) return it->second.value;
  // Where several stages run the same loop, the value may be known under another stage's dims.
  std::optional<Key> place;
  if (inner) place = PlaceOf(key);
  if (inner && on_reuse) {
    if (auto it = elsewhere_.find(*place); it != elsewhere_.end() && it->second.stage != stage) {
      if (std::optional<Scalar> kept = on_reuse(r, it->second.value, it->second.stage)) {
        known_[std::move(key)] = {*kept, stage};
        return kept;
      }
    }
  }
  std::optional<Scalar> value = TraceNew(r, map);
  if (!value) return value;
  if (inner) elsewhere_.try_emplace(std::move(*place), Known{*value, stage});
  known_[std::move(key)] = {*value, stage};
  return value;
}

Tracer::Key Tracer::PlaceOf(Key key) const {
  for (Index& ix : key.map) {
    for (IndexTerm& t : ix.terms) t.dim = same_as[t.dim];
    std::sort(ix.terms.begin(), ix.terms.end(), [](const IndexTerm& a, const IndexTerm& b) { return a.dim < b.dim; });
  }
  return key;
}

SmallVector<kir::Guard, 1> Tracer::ThatMatter(const SmallVector<kir::Guard, 1>& guards, const IndexMap& map,
                                              const Dims* dims) const {
  SmallVector<kir::Guard, 1> that_do;
  const auto stays_inside = [&](size_t i) {
    if (dims == nullptr || map[i].start != kir::kNone) return false;
    const IndexRange range = RangeOf(map[i], extents);
    return range.low >= 0 && range.high < (*dims)[i];
  };
  bool inside = dims != nullptr;
  for (size_t i = 0; i < map.size(); ++i) inside = inside && stays_inside(i);
  if (inside) return that_do;
  for (const kir::Guard& guard : guards) {
    bool matters = guard.e.start != kir::kNone || guard.e.terms.empty();
    for (size_t i = 0; i < map.size() && !matters; ++i) {
      if (stays_inside(i)) continue;
      for (const IndexTerm& t : map[i].terms) {
        matters |= std::any_of(guard.e.terms.begin(), guard.e.terms.end(),
                               [&](const kir::Term& of) { return of.dim == t.dim; });
      }
    }
    if (matters) AddGuard(that_do, guard);
  }
  return that_do;
}

std::optional<Scalar> Tracer::Leaf(Ref r, const IndexMap& map) {
  kir::Read read;
  read.buf = BufferOf(r);
  read.at = AxesOf(map);
  const DType type = program_.shape(r).dtype;
  read.guard = ThatMatter(guards_, map, &program_.shape(r).dims);
  if (!read.guard.empty()) read.otherwise = b_.Const(PartType(type), 0);
  Scalar value{b_.Read(read, 0)};
  if (IsComplex(type)) value.im = b_.Read(read, 1);
  return value;
}

NodeId Tracer::MostRepeated(NodeId otherwise) const {
  NodeId most = otherwise;
  Places best{places_.size()};
  for (const auto& [id, places] : places_) {
    if (places.count <= 2) continue;
    if (std::tie(places.evaluated, best.number) > std::tie(best.evaluated, places.number)) {
      most = id;
      best = places;
    }
  }
  return most;
}

double Tracer::PointsOf(const IndexMap& map) const {
  kir::DimMask dims = 0;
  for (const Index& ix : map) {
    for (const IndexTerm& t : ix.terms) dims |= kir::DimMask{1} << t.dim;
  }
  double points = 1;
  for (size_t d = 0; d < extents.size(); ++d) points *= (dims >> d & 1) != 0 ? static_cast<double>(extents[d]) : 1;
  return points;
}

std::optional<Scalar> Tracer::TraceIota(const GraphNode& node, const IndexMap& map) {
  const auto along = static_cast<size_t>(node.attrs<IotaAttrs>().iota_dimension);
  const Index& ix = map[along];
  const DType type = node.shape().dtype;
  const DType part = PartType(type);
  const int64_t extent = node.shape().dims[along];
  // An index in range fits s32 whenever the extent does; lanes of s32 convert at full width.
  const bool narrow = extent <= INT32_MAX && RangeOf(ix, extents).high <= INT32_MAX && DTypeBits(part) <= 32;
  Scalar value{b_.Convert(part, ValueOf(ix, narrow))};
  if (IsComplex(type)) value.im = b_.Const(part, 0);
  return value;
}

std::optional<Scalar> Tracer::TraceNew(Ref r, const IndexMap& map) {
  const GraphNode& node = program_[r.node];
  if (resolve) {
    std::optional<Scalar> value;
    if (resolve(r, map, value)) return value ? value : Block(r.node);
  }
  if (node.op == OpCode::kConstant) {
    bool fixed = node.literal.splat;
    int64_t index = 0;
    if (!fixed) {
      fixed = true;
      for (size_t i = 0; i < map.size(); ++i) {
        fixed &= map[i].is_constant();
        index = index * node.shape().dims[i] + map[i].offset;
      }
    }
    if (fixed) return EmitLiteral(b_, node.shape().dtype, node.literal, index);
    return Leaf(r, map);
  }
  if (!members_.contains(r.node) && !IsComplex(node.shape(r.result).dtype)) {
    if (const std::optional<uint64_t> bits = SplatBits(program_, r))
      return Scalar{b_.ConstBits(node.shape().dtype, *bits)};
  }
  if (!members_.contains(r.node)) return node.op == OpCode::kIota ? TraceIota(node, map) : Leaf(r, map);
  if (KindOfOp(node.op) != OpKind::kView) {
    Places& places = places_.try_emplace(r.node, Places{places_.size()}).first->second;
    ++places.count;
    places.evaluated +=
        PointsOf(map) / static_cast<double>(std::max<int64_t>(1, NumElements(node.shape(r.result).dims)));
  }
  // Nodes are shared, so much may be traced of which little is made.
  const int64_t most = program_.target->limits.nodes;
  if (static_cast<int64_t>(b_.num_nodes()) > most ||
      static_cast<int64_t>(known_.size()) > policy::kTracesPerNode * most)
    return Block(MostRepeated(r.node));
  if (KindOfOp(node.op) == OpKind::kElementwise) {
    SmallVector<Scalar, 3> in;
    for (Ref operand : node.in) {
      const bool scalar = program_.shape(operand).rank() == 0;
      std::optional<Scalar> value = Trace(operand, scalar ? IndexMap() : map);
      if (!value) return std::nullopt;
      in.push_back(*value);
    }
    return EmitElementwise(b_, program_, node, in);
  }
  IndexMap below;
  switch (node.op) {
    case OpCode::kIota:
      return TraceIota(node, map);
    case OpCode::kBroadcast: {
      const Dims& from = program_.shape(node.in[0]).dims;
      for (size_t i = 0; i < from.size(); ++i) {
        const size_t to = static_cast<size_t>(node.attrs<BroadcastAttrs>().broadcast_dimensions[i]);
        below.push_back(from[i] == 1 && node.shape().dims[to] != 1 ? Index() : map[to]);
      }
      return Trace(node.in[0], below);
    }
    case OpCode::kTranspose:
      below.resize(map.size());
      for (size_t i = 0; i < map.size(); ++i)
        below[static_cast<size_t>(node.attrs<TransposeAttrs>().permutation[i])] = map[i];
      return Trace(node.in[0], below);
    case OpCode::kReverse: {
      below = map;
      for (int64_t d : node.attrs<ReverseAttrs>().dimensions) {
        const size_t i = static_cast<size_t>(d);
        below[i] = Scaled(map[i], -1);
        below[i].offset += node.shape().dims[i] - 1;
      }
      return Trace(node.in[0], below);
    }
    case OpCode::kSlice:
      for (size_t i = 0; i < map.size(); ++i) {
        Index ix = Scaled(map[i], node.attrs<SliceAttrs>().strides[i]);
        ix.offset += node.attrs<SliceAttrs>().start_indices[i];
        below.push_back(ix);
      }
      return Trace(node.in[0], below);
    case OpCode::kReshape: {
      std::optional<IndexMap> m = ThroughReshape(map, program_.shape(node.in[0]).dims, node.shape().dims, extents, cut);
      if (m) return Trace(node.in[0], *m);
      cut_by = r.node;
      return cut ? std::nullopt : Block(r.node);
    }
    case OpCode::kDynamicSlice: {
      const Dims& from = program_.shape(node.in[0]).dims;
      for (size_t i = 0; i < map.size(); ++i) {
        if (from[i] == node.shape().dims[i]) {
          below.push_back(map[i]);
          continue;
        }
        std::optional<Val> start = TraceStart(node.in[1 + i], from[i], node.shape().dims[i]);
        if (!start) return std::nullopt;
        Index at;
        at.start = *start;
        below.push_back(Sum(map[i], at));
      }
      return Trace(node.in[0], below);
    }
    case OpCode::kPad:
      return TracePad(r, map);
    case OpCode::kConcatenate:
      return TraceConcatenate(r, map);
    case OpCode::kGather:
      return TraceGather(node, map);
    case OpCode::kReduce:
      return TraceReduce(r, map);
    default:
      return Block(r.node);
  }
}

kir::Val Tracer::ClampStart(Val start, int64_t limit) {
  const DType type = b_.type(start);
  // Unsigned starts clamp before they become signed; narrow types that cannot reach the limit need no upper clamp.
  if (IsUnsigned(type) && DTypeBits(type) == 64) start = b_.Min(start, b_.Const(type, limit));
  Val wide = b_.Convert(DType::kS64, start);
  if (IsSigned(type)) wide = b_.Max(wide, b_.Const(DType::kS64, 0));
  return b_.Min(wide, b_.Const(DType::kS64, limit));
}

std::optional<Val> Tracer::TraceStart(Ref r, int64_t extent, int64_t size) {
  std::optional<Scalar> start = Trace(r, IndexMap());
  if (!start) return std::nullopt;
  return ClampStart(start->re, extent - size);
}

std::optional<uint64_t> Tracer::ValueOutside(Val v, const SmallVector<kir::Guard, 1>& guards, int& budget) {
  const kir::Node& node = b_.node(v);
  if (node.op == kir::Op::kConst) return b_.kernel().literals[node.attr];
  if (node.op == kir::Op::kRead) {
    const kir::Read& read = b_.kernel().reads[node.attr];
    if (guards.empty() || !(read.guard == guards)) return std::nullopt;
    return ValueOutside(read.otherwise, guards, budget);
  }
  if (--budget < 0 || node.in.empty()) return std::nullopt;
  SmallVector<KnownConstant, 3> in;
  for (Val operand : node.in) {
    const std::optional<uint64_t> bits = ValueOutside(operand, guards, budget);
    if (!bits) return std::nullopt;
    in.push_back({b_.type(operand), *bits});
  }
  return compiler::ValueOf(b_.node(v), in);
}

std::optional<Scalar> Tracer::TracePad(Ref r, const IndexMap& map) {
  const GraphNode& node = program_[r.node];
  const Dims& from = program_.shape(node.in[0]).dims;
  const auto& padding_of = node.attrs<PadAttrs>();
  for (size_t i = 0; i < map.size(); ++i) {
    // Nothing but padding here (constant indices of reductions written out): below, the index would have no meaning.
    const IndexRange range = RangeOf(map[i], extents);
    const int64_t low = padding_of.edge_padding_low[i];
    const int64_t high = low + from[i] + std::max<int64_t>(0, from[i] - 1) * padding_of.interior_padding[i];
    if ((map[i].start == kir::kNone && (range.high < low || range.low >= high)) || IsNeverIn(map[i], low, high)) {
      return Trace(node.in[1], IndexMap());
    }
  }
  IndexMap below;
  Val inside = kir::kNone;
  const size_t before = guards_.size();
  for (size_t i = 0; i < map.size(); ++i) {
    if (padding_of.interior_padding[i] != 0 && from[i] > 1) return Block(r.node);
    Index ix = map[i];
    ix.offset -= padding_of.edge_padding_low[i];
    const IndexRange range = RangeOf(ix, extents);
    if (ix.start != kir::kNone || range.low < 0 || range.high >= from[i]) {
      const Val in = Inside(ix, 0, from[i]);
      inside = inside == kir::kNone ? in : b_.And(inside, in);
      PushGuard(ix, 0, from[i]);
    }
    below.push_back(ix);
  }
  std::optional<Scalar> value = Trace(node.in[0], below);
  SmallVector<kir::Guard, 1> here;
  for (const kir::Guard& guard : guards_) AddGuard(here, guard);
  guards_.resize(before);
  if (!value) return std::nullopt;
  std::optional<Scalar> padding = Trace(node.in[1], IndexMap());
  if (!padding) return std::nullopt;
  if (inside == kir::kNone) return value;
  // A plain read that is guarded by all that the padding asks takes the padding itself.
  auto place = [&](Val v, Val pad) {
    const kir::Node& n = b_.node(v);
    if (before == 0 && n.op == kir::Op::kRead && !here.empty() && b_.kernel().reads[n.attr].guard == here) {
      kir::Read read = b_.kernel().reads[n.attr];
      const uint8_t component = n.imm;
      read.otherwise = pad;
      return b_.Read(read, component);
    }
    // What is computed of reads that all give zeros outside may be the padding by itself.
    int budget = policy::kOutsideNodes;
    const kir::Node& outside = b_.node(pad);
    if (outside.op == kir::Op::kConst && ValueOutside(v, here, budget) == b_.kernel().literals[outside.attr]) return v;
    return b_.Select(inside, v, pad);
  };
  Scalar result{place(value->re, padding->re)};
  if (value->im != kir::kNone) result.im = place(value->im, padding->im);
  return result;
}

std::optional<Scalar> Tracer::TraceConcatenate(Ref r, const IndexMap& map) {
  const GraphNode& node = program_[r.node];
  const size_t dim = static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension);
  const Index ix = map[dim];
  const IndexRange range = RangeOf(ix, extents);
  int64_t begin = 0;
  SmallVector<Val, 8> below_end;
  SmallVector<Scalar, 8> parts;
  for (Ref part : node.in) {
    const int64_t end = begin + program_.shape(part).dims[dim];
    const bool reached = ix.start != kir::kNone || (range.low < end && range.high >= begin);
    if (reached && end > begin && !IsNeverIn(ix, begin, end)) {
      if (parts.size() == 8) return Block(r.node);
      Index local = ix;
      local.offset -= begin;
      IndexMap below = map;
      below[dim] = local;
      const size_t before = guards_.size();
      PushGuard(local, 0, end - begin);
      std::optional<Scalar> value = Trace(part, below);
      guards_.resize(before);
      if (!value) return std::nullopt;
      parts.push_back(*value);
      below_end.push_back(Inside(ix, INT64_MIN, end));
    }
    begin = end;
  }
  if (parts.empty()) return Block(r.node);
  Scalar value = parts.back();
  for (size_t i = parts.size() - 1; i-- > 0;) {
    value.re = b_.Select(below_end[i], parts[i].re, value.re);
    if (value.im != kir::kNone) value.im = b_.Select(below_end[i], parts[i].im, value.im);
  }
  return value;
}

std::optional<Scalar> Tracer::TraceGather(const GraphNode& node, const IndexMap& map) {
  const auto& [offset_dims, collapsed, operand_batching, indices_batching, start_index_map, index_vector_dim,
               slice_sizes] = node.attrs<GatherAttrs>();
  const Shape& operand = program_.shape(node.in[0]);
  const Shape& indices = program_.shape(node.in[1]);
  const size_t vector_dim = static_cast<size_t>(index_vector_dim);
  auto has = [](const Dims& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); };
  IndexMap batch;
  for (size_t i = 0; i < map.size(); ++i) {
    if (!has(offset_dims, static_cast<int64_t>(i))) batch.push_back(map[i]);
  }
  IndexMap at(operand.rank());
  size_t offset = 0;
  for (size_t d = 0; d < operand.rank(); ++d) {
    if (has(collapsed, static_cast<int64_t>(d)) || has(operand_batching, static_cast<int64_t>(d))) continue;
    at[d] = map[static_cast<size_t>(offset_dims[offset++])];
  }
  for (size_t k = 0; k < operand_batching.size(); ++k) {
    size_t position = static_cast<size_t>(indices_batching[k]);
    if (position > vector_dim) --position;
    at[static_cast<size_t>(operand_batching[k])] = batch[position];
  }
  for (size_t k = 0; k < start_index_map.size(); ++k) {
    IndexMap place;
    size_t next = 0;
    for (size_t d = 0; d < indices.rank(); ++d) {
      if (d == vector_dim) {
        Index fixed;
        fixed.offset = static_cast<int64_t>(k);
        place.push_back(fixed);
      } else {
        place.push_back(batch[next++]);
      }
    }
    std::optional<Scalar> start = Trace(node.in[1], place);
    if (!start) return std::nullopt;
    const size_t d = static_cast<size_t>(start_index_map[k]);
    Index from;
    from.start = ClampStart(start->re, operand.dims[d] - slice_sizes[d]);
    at[d] = Sum(at[d], from);
  }
  return Trace(node.in[0], at);
}

namespace {

/// Whether it is no matter, to the last bit, which elements meet first.
bool AnyGrouping(kir::Op op, DType type) {
  switch (op) {
    case kir::Op::kMin:
    case kir::Op::kMax:
    case kir::Op::kAnd:
    case kir::Op::kOr:
    case kir::Op::kXor:
      return true;
    case kir::Op::kAdd:
    case kir::Op::kMul:
      return IsInteger(type);
    default:
      return false;
  }
}

}  // namespace

std::optional<Scalar> Tracer::TraceReduce(Ref r, const IndexMap& map) {
  const GraphNode& node = program_[r.node];
  if (auto it = reduced.find(r.node); it != reduced.end()) {
    if (!(it->second.map == map)) return Block(r.node);
    const DType type = node.shape(r.result).dtype;
    const size_t first = FirstPart(node, r.result);
    Scalar value{b_.Reduced(it->second.reduce, first, PartType(type))};
    if (IsComplex(type)) value.im = b_.Reduced(it->second.reduce, first + 1, PartType(type));
    return value;
  }
  // Small ones are written out.
  const size_t n = node.in.size() / 2;
  const Shape& operand = program_.shape(node.in[0]);
  const Dims& over = node.attrs<ReduceAttrs>().dimensions;
  if (!IsUnrolledReduce(program_, node)) return Block(r.node);
  const int64_t count = NumElements(ReducedExtents(program_, node));
  Result<kir::Graph> combiner = GraphOfBlock(program_, node.blocks[0]);
  if (!combiner.ok()) return Block(r.node);
  SmallVector<Val, 4> values;
  for (size_t i = 0; i < n; ++i) {
    std::optional<Scalar> init = Trace(node.in[n + i], IndexMap());
    if (!init) return std::nullopt;
    AppendParts(b_, node.shape(static_cast<uint32_t>(i)).dtype, *init, values);
  }
  // Where grouping is no matter, neighbours meet first: a chain would wait for each of its links.
  const kir::Op op = KirOpOf(CombinerOp(program_, node.blocks[0]));
  const bool pairs = n == 1 && count > 1 && values.size() == 1 && AnyGrouping(op, b_.type(values[0]));
  std::vector<std::pair<int, Val>> tree;  // Values that wait for a neighbour, by how many levels are below.
  const auto meet = [&] {
    const Val y = tree.back().second;
    tree.pop_back();
    tree.back() = {tree.back().first + 1, b_.Inline(*combiner, {tree.back().second, y})[0]};
  };
  const auto add = [&](Val v) {
    tree.emplace_back(0, v);
    while (tree.size() > 1 && tree.back().first == tree[tree.size() - 2].first) meet();
  };
  if (pairs) {
    const std::optional<uint64_t> identity = IdentityBits(op, b_.type(values[0]));
    if (!identity || !b_.IsConst(values[0], *identity)) add(values[0]);
  }
  // Sums of few results are not done side by side: several chains hide what each addition waits for.
  const DType sum_type = node.shape().dtype;
  const bool few = n == 1 && op == kir::Op::kAdd && IsFloat(sum_type) && count >= policy::kChainTerms &&
                   NumElements(node.shape().dims) <= policy::kFewSums;
  SmallVector<Val, 4> chains(few ? policy::kChains : 0, kir::kNone);
  if (few) chains[0] = values[0];
  for (int64_t point = 0; point < count; ++point) {
    IndexMap at(operand.rank());
    int64_t rest = point;
    for (size_t k = over.size(); k-- > 0;) {
      const size_t d = static_cast<size_t>(over[k]);
      at[d].offset = rest % operand.dims[d];
      rest /= operand.dims[d];
    }
    size_t next = 0;
    for (size_t d = 0; d < operand.rank(); ++d) {
      if (std::find(over.begin(), over.end(), static_cast<int64_t>(d)) == over.end()) at[d] = map[next++];
    }
    SmallVector<Val, 4> arguments = values;
    for (size_t i = 0; i < n; ++i) {
      std::optional<Scalar> element = Trace(node.in[i], at);
      if (!element) return std::nullopt;
      AppendParts(b_, node.shape(static_cast<uint32_t>(i)).dtype, *element, arguments);
    }
    if (pairs) {
      add(arguments.back());
      continue;
    }
    if (few) {
      Val& chain = chains[static_cast<size_t>(point) % chains.size()];
      chain = chain == kir::kNone ? arguments.back() : b_.Inline(*combiner, {chain, arguments.back()})[0];
      continue;
    }
    const SmallVector<Val, 2> results = b_.Inline(*combiner, arguments);
    for (size_t i = 0; i < values.size(); ++i) values[i] = results[i];
  }
  for (; chains.size() > 1; chains.resize(chains.size() / 2)) {
    for (size_t i = 0; i < chains.size() / 2; ++i)
      chains[i] = b_.Inline(*combiner, {chains[2 * i], chains[2 * i + 1]})[0];
  }
  if (few) values[0] = chains[0];
  while (tree.size() > 1) meet();
  if (pairs) values[0] = tree[0].second;
  const size_t first = FirstPart(node, r.result);
  Scalar value{values[first]};
  if (IsComplex(node.shape(r.result).dtype)) value.im = values[first + 1];
  return value;
}

Result<kir::Graph> GraphOfBlock(const Program& program, const Block& block) {
  kir::GraphBuilder b;
  std::unordered_map<Ref, Scalar, RefHasher> known;
  for (NodeId id : block.args) {
    const DType type = program[id].shape().dtype;
    if (!KernelCanHold(type)) return Unimplemented("element type of a region");
    Scalar& value = known[{id, 0}];
    value.re = b.AddArgument(PartType(type));
    if (IsComplex(type)) value.im = b.AddArgument(PartType(type));
  }
  auto resolve = [&](Ref r) -> Result<Scalar> {
    if (auto it = known.find(r); it != known.end()) return it->second;
    const GraphNode& node = program[r.node];
    if (node.op == OpCode::kConstant && node.literal.splat) return EmitLiteral(b, node.shape().dtype, node.literal, 0);
    return Unimplemented("a region uses a value from outside");
  };
  for (NodeId id : block.nodes) {
    const GraphNode& node = program[id];
    if (node.op == OpCode::kConstant) continue;
    if (node.op == OpCode::kReshape || node.op == OpCode::kBroadcast) {
      if (node.shape().rank() != 0) return Unimplemented("a region that is not scalar");
      TENON_ASSIGN_OR_RETURN(known[(Ref{id, 0})], resolve(node.in[0]));
      continue;
    }
    if (KindOfOp(node.op) != OpKind::kElementwise || !KernelCanCompute(program, node) || node.shape().rank() != 0)
      return Unimplemented("a region with " + std::string(OpName(node.op)));
    SmallVector<Scalar, 3> in;
    for (Ref r : node.in) {
      TENON_ASSIGN_OR_RETURN(Scalar v, resolve(r));
      in.push_back(v);
    }
    known[{id, 0}] = EmitElementwise(b, program, node, in);
  }
  SmallVector<Val, 2> results;
  for (Ref r : block.results) {
    TENON_ASSIGN_OR_RETURN(Scalar v, resolve(r));
    results.push_back(v.re);
    if (v.im != kir::kNone) results.push_back(v.im);
  }
  return b.Finish(results);
}

size_t FirstPart(const GraphNode& node, uint32_t result) {
  size_t first = 0;
  for (uint32_t i = 0; i < result; ++i) first += IsComplex(node.shape(i).dtype) ? 2 : 1;
  return first;
}

}  // namespace tenon::compiler
