#include "tenon/compiler/simplify/all_trips.h"

#include <algorithm>
#include <numeric>

namespace tenon::compiler {
namespace {

Dims Shifted(const Dims& dims) {
  Dims shifted = dims;
  for (int64_t& d : shifted) ++d;
  return shifted;
}
Dims WithFirst(int64_t first, const Dims& rest) {
  Dims dims = {first};
  dims.append(rest.begin(), rest.end());
  return dims;
}

}  // namespace

bool AllTrips::Fits(const GraphNode& node) const {
  if (node.out.size() != 1 || !IsPure(p_, node)) return false;
  const auto varies = [&](size_t i) { return values_.Varies(node.in[i].node); };
  switch (node.op) {
    case OpCode::kBroadcast:
    case OpCode::kReshape:
    case OpCode::kReverse:
    case OpCode::kSlice:
    case OpCode::kTranspose:
    case OpCode::kConcatenate:
    case OpCode::kDot:
      return true;
    case OpCode::kPad:
      return !varies(1);
    case OpCode::kGather:
      return !varies(0);
    case OpCode::kReduce:
      return node.in.size() == 2 && !varies(1) && !values_.UsesVariant(node.blocks[0]);
    default:
      return KindOfOp(node.op) == OpKind::kElementwise;
  }
}

Ref AllTrips::Append(OpCode op, std::initializer_list<Ref> in, Shape shape, Attributes attributes) {
  GraphNode node;
  node.op = op;
  for (Ref r : in) node.in.push_back(r);
  node.out = {std::move(shape)};
  node.attributes = std::move(attributes);
  made_.push_back(p_.Add(std::move(node)));
  return {made_.back(), 0};
}

Ref AllTrips::Constant(DType type, uint64_t bits) {
  const Ref r = Append(OpCode::kConstant, {}, {type, {}});
  p_[r.node].literal = SplatLiteral(type, bits);
  return r;
}

Ref AllTrips::Reshaped(Ref r, Dims dims) {
  if (p_.shape(r).dims == dims) return r;
  return Append(OpCode::kReshape, {r}, {p_.shape(r).dtype, std::move(dims)});
}

Ref AllTrips::Transposed(Ref r, Dims permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return r;
  Shape shape{p_.shape(r).dtype, {}};
  for (int64_t d : permutation) shape.dims.push_back(p_.shape(r).dims[static_cast<size_t>(d)]);
  return Append(OpCode::kTranspose, {r}, std::move(shape), TransposeAttrs{std::move(permutation)});
}

Ref AllTrips::Reversed(Ref r, size_t dim) {
  return Append(OpCode::kReverse, {r}, p_.shape(r), ReverseAttrs{{static_cast<int64_t>(dim)}});
}

Ref AllTrips::InFront(Ref r, size_t dim) {
  Dims permutation = {static_cast<int64_t>(dim)};
  for (size_t d = 0; d < p_.shape(r).rank(); ++d) {
    if (d != dim) permutation.push_back(static_cast<int64_t>(d));
  }
  return Transposed(r, std::move(permutation));
}

Ref AllTrips::Of(Ref value) {
  if (const auto it = known_.find(value); it != known_.end()) return it->second;
  if (const auto it = repeated_.find(value); it != repeated_.end()) return it->second;
  const Shape& shape = p_.shape(value);
  Dims places(shape.rank());
  std::iota(places.begin(), places.end(), 1);
  const Ref all = Append(OpCode::kBroadcast, {value}, {shape.dtype, WithFirst(trips_, shape.dims)},
                         BroadcastAttrs{std::move(places)});
  return repeated_[value] = all;
}

// A product with a value that does not vary is one of all trips' rows.
bool AllTrips::MakeProduct(NodeId id) {
  std::optional<ProductForm> form = ProductFormOf(p_, {id, 0});
  if (!form || p_[id].op == OpCode::kMultiply) return false;
  for (Ref r : form->in) {
    // What is spread may be known where this is not.
    if (values_.Varies(r.node) && !Knows(r)) return false;
    values_.Want(r);
  }
  const bool left = Knows(form->in[0]), right = Knows(form->in[1]);
  DotAttrs& numbers = form->numbers;
  const size_t batch = numbers.lhs_batching_dimensions.size();
  const size_t left_alone = p_.shape(form->in[0]).rank() - batch - numbers.lhs_contracting_dimensions.size();
  size_t place = 0;
  if (left) {
    numbers.lhs_batching_dimensions = Shifted(numbers.lhs_batching_dimensions);
    numbers.lhs_contracting_dimensions = Shifted(numbers.lhs_contracting_dimensions);
    place = batch;
  }
  if (right) {
    numbers.rhs_batching_dimensions = Shifted(numbers.rhs_batching_dimensions);
    numbers.rhs_contracting_dimensions = Shifted(numbers.rhs_contracting_dimensions);
    place = batch + left_alone;
  }
  if (left && right) {
    if (p_[id].op != OpCode::kDot) return false;
    numbers.lhs_batching_dimensions = WithFirst(0, numbers.lhs_batching_dimensions);
    numbers.rhs_batching_dimensions = WithFirst(0, numbers.rhs_batching_dimensions);
    place = 0;
  }
  Shape shape = form->product;
  shape.dims.insert(shape.dims.begin() + static_cast<ptrdiff_t>(place), trips_);
  const auto operand = [&](size_t side) { return Knows(form->in[side]) ? Of(form->in[side]) : form->in[side]; };
  const Ref product = Append(OpCode::kDot, {operand(0), operand(1)}, std::move(shape), numbers);
  Dims permutation = {static_cast<int64_t>(place)};
  for (int64_t d : form->permutation) permutation.push_back(d < static_cast<int64_t>(place) ? d : d + 1);
  Know({id, 0}, Transposed(product, std::move(permutation)));
  return true;
}

Ref AllTrips::Sum(const ProductForm& form) {
  DotAttrs numbers = form.numbers;
  for (Dims* list : {&numbers.lhs_batching_dimensions, &numbers.rhs_batching_dimensions}) *list = Shifted(*list);
  for (Dims* list : {&numbers.lhs_contracting_dimensions, &numbers.rhs_contracting_dimensions})
    *list = WithFirst(0, Shifted(*list));
  const Ref product = Append(OpCode::kDot, {Of(form.in[0]), Of(form.in[1])}, form.product, numbers);
  return Transposed(product, form.permutation);
}

void AllTrips::Make(NodeId id) {
  if (MakeProduct(id)) return;
  GraphNode node = p_[id];
  values_.WantUsesOf(node);
  node.origin = nullptr;
  const bool was_scalar = node.shape().rank() == 0;
  node.out[0].dims = WithFirst(trips_, node.out[0].dims);
  switch (node.op) {
    case OpCode::kBroadcast:
      node.attrs<BroadcastAttrs>().broadcast_dimensions =
          WithFirst(0, Shifted(node.attrs<BroadcastAttrs>().broadcast_dimensions));
      break;
    case OpCode::kReverse:
      node.attrs<ReverseAttrs>().dimensions = Shifted(node.attrs<ReverseAttrs>().dimensions);
      break;
    case OpCode::kSlice: {
      auto& slice = node.attrs<SliceAttrs>();
      slice = {WithFirst(0, slice.start_indices), WithFirst(trips_, slice.limit_indices), WithFirst(1, slice.strides)};
      break;
    }
    case OpCode::kTranspose:
      node.attrs<TransposeAttrs>().permutation = WithFirst(0, Shifted(node.attrs<TransposeAttrs>().permutation));
      break;
    case OpCode::kPad: {
      auto& pad = node.attrs<PadAttrs>();
      pad = {WithFirst(0, pad.edge_padding_low), WithFirst(0, pad.edge_padding_high),
             WithFirst(0, pad.interior_padding)};
      break;
    }
    case OpCode::kConcatenate:
      ++node.attrs<ConcatenateAttrs>().dimension;
      break;
    case OpCode::kReduce:
      node.attrs<ReduceAttrs>().dimensions = Shifted(node.attrs<ReduceAttrs>().dimensions);
      break;
    case OpCode::kGather: {
      auto& gather = node.attrs<GatherAttrs>();
      gather.offset_dims = Shifted(gather.offset_dims);
      gather.start_indices_batching_dims = Shifted(gather.start_indices_batching_dims);
      ++gather.index_vector_dim;
      break;
    }
    default:
      break;
  }
  // Operands that are the same in each trip stay as they are where the op takes them so.
  const auto stays = [&](size_t i) {
    if (Knows(node.in[i])) return false;
    switch (node.op) {
      case OpCode::kPad:
      case OpCode::kReduce:
        return i == 1;
      case OpCode::kGather:
        return i == 0;
      case OpCode::kClamp:
        return i != 1 && p_.shape(node.in[i]).rank() == 0;
      case OpCode::kSelect:
        return i == 0 && p_.shape(node.in[i]).rank() == 0;
      default:
        return false;
    }
  };
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (stays(i)) continue;
    const bool one_for_all =
        KindOfOp(node.op) == OpKind::kElementwise && p_.shape(node.in[i]).rank() == 0 && !was_scalar;
    node.in[i] = Of(node.in[i]);
    if (one_for_all)
      node.in[i] =
          Append(OpCode::kBroadcast, {node.in[i]}, {p_.shape(node.in[i]).dtype, node.out[0].dims}, BroadcastAttrs{{0}});
  }
  made_.push_back(p_.Add(std::move(node)));
  Know({id, 0}, {made_.back(), 0});
}

}  // namespace tenon::compiler
