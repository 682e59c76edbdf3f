#include "tenon/compiler/simplify/trip_places.h"

#include <algorithm>
#include <cstdlib>

namespace tenon::compiler {
namespace {

/// The significant bits of a number of that type.
uint64_t BitsOf(DType type, int64_t value) {
  const uint64_t mask = DTypeBits(type) == 64 ? ~uint64_t{0} : (uint64_t{1} << DTypeBits(type)) - 1;
  return static_cast<uint64_t>(value) & mask;
}

/// Whether the type has so many numbers from 0 on.
bool Counts(DType type, int64_t trips) {
  const int bits = DTypeBits(type) - (IsSigned(type) ? 1 : 0);
  return bits >= 63 || trips <= int64_t{1} << bits;  // structural: bits of int64_t
}

}  // namespace

std::optional<size_t> TakenAlong(const Dims& array, const Dims& part) {
  std::optional<size_t> along;
  for (size_t d = 0; d < array.size(); ++d) {
    if (part[d] == array[d]) continue;
    if (along || part[d] != 1) return std::nullopt;
    along = d;
  }
  return along;
}

// The order is that in which the body takes or writes elements first, else that of its counter.
TripPlaces::TripPlaces(Program& p, NodeId loop, int64_t trips, std::optional<bool> forward)
    : p_(p), loop_(loop), trips_(trips) {
  const Block& body = p_[loop].blocks[1];
  for (NodeId arg : body.args) {
    const std::optional<Progression> at = At({arg, 0});
    if (!at || std::abs(at->step) != 1 || !Counts(p_[arg].shape().dtype, trips)) continue;
    counted_ = *at;
    counter_ = {arg, 0};
    forward_ = forward.value_or(at->step > 0);
    break;
  }
  if (!known() || forward) return;
  const LoopValues values(p_, body);
  for (NodeId id : body.nodes) {
    const GraphNode& node = p_[id];
    std::optional<Progression> at;
    if (const std::optional<Element> element = ElementOf(id, values)) at = element->at;
    if (node.op == OpCode::kDynamicUpdate) {
      const std::optional<size_t> along = TakenAlong(node.shape().dims, p_.shape(node.in[1]).dims);
      if (along) at = At(node.in[2 + *along]);
    }
    if (!at || std::abs(at->step) != 1) continue;
    forward_ = at->step > 0;
    break;
  }
}

std::optional<TripPlaces::Element> TripPlaces::ElementOf(NodeId id, const LoopValues& values) const {
  const GraphNode& slice = p_[id];
  if (slice.op != OpCode::kDynamicSlice || values.Varies(slice.in[0].node)) return std::nullopt;
  const std::optional<size_t> along = TakenAlong(p_.shape(slice.in[0]).dims, slice.shape().dims);
  if (!along) return std::nullopt;
  const std::optional<Progression> at = At(slice.in[1 + *along]);
  const int64_t extent = p_.shape(slice.in[0]).dims[*along];
  if (!at || at->step == 0 || std::min(at->first, at->At(trips_ - 1)) < 0 ||
      std::max(at->first, at->At(trips_ - 1)) >= extent)
    return std::nullopt;
  return Element{slice.in[0], *along, *at};
}

void TripPlaces::MakeFree(Ref r, LoopValues& values, AllTrips& all) const {
  if (all.Knows(r)) return;
  if (const std::optional<Element> element = ElementOf(r.node, values)) {
    values.Want(element->array);
    all.Know(r, MakeElements(*element, p_.shape(r), all));
    return;
  }
  const Progression at = *At(r);
  const Shape shape{p_.shape(r).dtype, {trips_}};
  const auto splat = [&](int64_t value) {
    const Ref scalar = all.Constant(shape.dtype, BitsOf(shape.dtype, value));
    return all.Append(OpCode::kBroadcast, {scalar}, shape, BroadcastAttrs{});
  };
  const Ref places = all.Append(OpCode::kIota, {}, shape, IotaAttrs{0});
  const Ref steps = all.Append(OpCode::kMultiply, {places, splat(forward_ ? at.step : -at.step)}, shape);
  all.Know(r, all.Append(OpCode::kAdd, {steps, splat(forward_ ? at.first : at.At(trips_ - 1))}, shape));
}

Ref TripPlaces::MakeElements(const Element& element, const Shape& one, AllTrips& all) const {
  const auto& [array, along, at] = element;
  Dims dims = p_.shape(array).dims;
  Ref r = array;
  if (dims[along] != trips_) {
    SliceAttrs slice{Dims(dims.size(), 0), dims, Dims(dims.size(), 1)};
    slice.start_indices[along] = std::min(at.first, at.At(trips_ - 1));
    slice.limit_indices[along] = std::max(at.first, at.At(trips_ - 1)) + 1;
    slice.strides[along] = std::abs(at.step);
    dims[along] = trips_;
    r = all.Append(OpCode::kSlice, {r}, {one.dtype, dims}, std::move(slice));
  }
  if ((at.step > 0) != forward_) r = all.Reversed(r, along);
  Dims result = one.dims;
  result.insert(result.begin(), trips_);
  return all.Reshaped(all.InFront(r, along), std::move(result));
}

Ref TripPlaces::AddNode(OpCode op, SmallVector<Ref, 3> in, int64_t constant) {
  GraphNode node;
  node.op = op;
  node.in = std::move(in);
  node.out = {Shape{p_.shape(counter_).dtype, {}}};
  if (op == OpCode::kConstant) node.literal = SplatLiteral(node.shape().dtype, BitsOf(node.shape().dtype, constant));
  nodes_.push_back(p_.Add(std::move(node)));
  return {nodes_.back(), 0};
}

Ref TripPlaces::Index() {
  if (index_.valid()) return index_;
  const int64_t first = forward_ ? 0 : trips_ - 1, step = forward_ ? 1 : -1;
  if (counted_ == Progression{first, step}) return index_ = counter_;
  if (counted_.step == step)
    return index_ = AddNode(OpCode::kSubtract, {counter_, AddNode(OpCode::kConstant, {}, counted_.first - first)});
  return index_ = AddNode(OpCode::kSubtract, {AddNode(OpCode::kConstant, {}, first + counted_.first), counter_});
}

Ref TripPlaces::Zero() {
  if (!zero_.valid()) zero_ = AddNode(OpCode::kConstant, {});
  return zero_;
}

}  // namespace tenon::compiler
