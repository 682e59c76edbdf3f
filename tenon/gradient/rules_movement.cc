// Operations that move, join and sum elements.
#include <algorithm>
#include <numeric>

#include "tenon/base/neutral.h"
#include "tenon/gradient/internal/rules.h"

namespace tenon::gradient::internal {

using namespace builder;  // NOLINT: a formula per operation reads like one

namespace {

Dims Range(int64_t begin, int64_t end) {
  Dims dims(static_cast<size_t>(std::max<int64_t>(end - begin, 0)));
  std::iota(dims.begin(), dims.end(), begin);
  return dims;
}

bool In(const Dims& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); }

Dims Without(int64_t rank, const Dims& a, const Dims& b = {}) {
  Dims rest;
  for (int64_t d = 0; d < rank; ++d) {
    if (!In(a, d) && !In(b, d)) rest.push_back(d);
  }
  return rest;
}

Value SumOver(Value x, const Dims& dims) { return dims.empty() ? x : Reduce(x, Reduction::kSum, dims); }
Value SumAll(Value x) { return SumOver(x, Range(0, x.rank())); }

// The permutation that puts dims, which now lie in the order `places`, back to theirs.
Dims Inverse(const Dims& places) {
  Dims inverse(places.size());
  for (size_t i = 0; i < places.size(); ++i) inverse[static_cast<size_t>(places[i])] = static_cast<int64_t>(i);
  return inverse;
}

Value BroadcastInDimRule(Value g, Value x, const Dims& dims) {
  Dims summed;
  for (int64_t d = 0; d < g.rank(); ++d) {
    const auto at = std::find(dims.begin(), dims.end(), d);
    if (at == dims.end() || x.dims()[static_cast<size_t>(at - dims.begin())] != g.dims()[static_cast<size_t>(d)])
      summed.push_back(d);
  }
  // What is left lies in the order of the result's dims.
  Dims left, order;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!In(summed, dims[i])) left.push_back(static_cast<int64_t>(i));
  }
  std::vector<int64_t> by_place(left.begin(), left.end());
  std::sort(by_place.begin(), by_place.end(),
            [&](int64_t a, int64_t b) { return dims[static_cast<size_t>(a)] < dims[static_cast<size_t>(b)]; });
  for (const int64_t d : left) order.push_back(std::find(by_place.begin(), by_place.end(), d) - by_place.begin());
  Value sum = SumOver(g, summed);
  if (!std::is_sorted(order.begin(), order.end())) sum = Transpose(sum, order);
  return sum.dims() == x.dims() ? sum : Reshape(sum, x.dims());
}

// The gradient of one operand of a product. Its `kept` dims follow the batching ones in the result for the left side,
// and the other's kept ones for the right side.
Value DotRule(const Site& s, const DotDims& d, bool left) {
  const Value x = s.x(left ? 0 : 1), other = s.x(left ? 1 : 0), g = s.g();
  const Dims& batch = left ? d.lhs_batching : d.rhs_batching;
  const Dims& contracting = left ? d.lhs_contracting : d.rhs_contracting;
  const Dims& other_batch = left ? d.rhs_batching : d.lhs_batching;
  const Dims& other_contracting = left ? d.rhs_contracting : d.lhs_contracting;
  const Dims kept = Without(x.rank(), batch, contracting),
             other_kept = Without(other.rank(), other_batch, other_contracting);
  const auto batches = static_cast<int64_t>(batch.size()), mine = static_cast<int64_t>(kept.size());
  const Dims theirs = left ? Range(batches + mine, g.rank()) : Range(batches, g.rank() - mine);
  const Value product = DotGeneral(g, other,
                                   {.lhs_batching = Range(0, batches),
                                    .rhs_batching = other_batch,
                                    .lhs_contracting = theirs,
                                    .rhs_contracting = other_kept},
                                   {.result = x.dtype()}, s.where);
  // Its dims: batching, kept, and contracting in the order in which the other has them.
  std::vector<size_t> order(contracting.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return other_contracting[a] < other_contracting[b]; });
  Dims places = batch;
  places.append(kept.begin(), kept.end());
  for (const size_t i : order) places.push_back(contracting[i]);
  return std::is_sorted(places.begin(), places.end()) ? product : Transpose(product, Inverse(places));
}

Value PadRule(const Site& s, Value g) {
  const Dims low = *s.op.attribute_as<Dims>("edge_padding_low"), high = *s.op.attribute_as<Dims>("edge_padding_high");
  const Dims interior = *s.op.attribute_as<Dims>("interior_padding");
  Dims minus_low = low, minus_high = high, steps = interior;
  for (size_t i = 0; i < low.size(); ++i) {
    minus_low[i] = -low[i];
    minus_high[i] = -high[i];
    steps[i] = interior[i] + 1;
  }
  const Value inner = Pad(g, Full(g.function(), {g.dtype(), {}}, 0), minus_low, minus_high);
  return Slice(inner, Dims(low.size(), 0), inner.dims(), steps);
}

Value SliceRule(const Site& s) {
  const Dims starts = *s.op.attribute_as<Dims>("start_indices"), strides = *s.op.attribute_as<Dims>("strides");
  Dims high = starts, interior = strides;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t n = s.g().dims()[i];
    interior[i] = strides[i] - 1;
    high[i] = s.x().dims()[i] - starts[i] - (n == 0 ? 0 : (n - 1) * strides[i] + 1);
  }
  return Pad(s.g(), Full(s.g().function(), {s.g().dtype(), {}}, 0), starts, high, interior);
}

// Where slices begin that must not end outside: `indices` within [0, limits], one limit per element of the vectors
// along `dim`, which may be one beyond the indices' dims.
Value ClampedStarts(Value indices, std::vector<int64_t> limits, int64_t dim) {
  // What the indices' type cannot say bounds nothing.
  const uint64_t highest = HighestBits(indices.dtype());
  for (int64_t& limit : limits) limit = static_cast<int64_t>(std::min(static_cast<uint64_t>(limit), highest));
  const Value limit =
      Convert(Constant(indices.function(), limits, {static_cast<int64_t>(limits.size())}), indices.dtype());
  const Value high = dim < indices.rank() ? BroadcastInDim(limit, indices.dims(), {dim})
                                          : BroadcastTo(Reshape(limit, {}), indices.dims());
  return Clamp(FullLike(indices, 0), indices, high);
}

Value GatherRule(const Site& s) {
  const GatherDims& d = *s.op.attribute_as<GatherDims>("dimension_numbers");
  const Dims& sizes = *s.op.attribute_as<Dims>("slice_sizes");
  // Gather clamps starts, scatter drops what is outside: it is given clamped ones.
  std::vector<int64_t> limits;
  for (const int64_t dim : d.start_index_map)
    limits.push_back(s.x().dims()[static_cast<size_t>(dim)] - sizes[static_cast<size_t>(dim)]);
  const Value clamped = ClampedStarts(s.x(1), std::move(limits), d.index_vector_dim);
  const ScatterDims back{d.offset_dims,           d.collapsed_slice_dims,
                         d.operand_batching_dims, d.start_indices_batching_dims,
                         d.start_index_map,       d.index_vector_dim};
  return Scatter({FullLike(s.x(), 0)}, clamped, {s.g()}, back, [](Value a, Value b) { return Add(a, b); })[0];
}

std::optional<Values> ReduceRule(const Site& s) {
  // One input, and a body of one operation on its arguments, which is what it gives.
  const std::vector<Operation> body = s.op.region(0);
  if (s.op.operands().size() != 2 || body.size() != 1 || body[0].operands() != s.op.region_arguments(0) ||
      s.op.region_results(0) != body[0].results())
    return std::nullopt;
  const Dims& dims = *s.op.attribute_as<Dims>("dimensions");
  const Value x = s.x(), g = s.g();
  const auto wide = [&](Value v) { return BroadcastInDim(v, x.dims(), Without(x.rank(), dims)); };
  switch (body[0].kind()) {
    case OpKind::kAdd:
      return Values{s.wanted[0] ? wide(g) : Value(), s.wanted[1] ? SumAll(g) : Value()};
    case OpKind::kMaximum:
    case OpKind::kMinimum: {
      if (s.wanted[1] || !IsFloat(x.dtype())) return std::nullopt;
      const Value hit = Convert(Compare(x, wide(s.y()), Direction::kEq), x.dtype());
      // Where the initial value won, nothing is hit.
      const Value hits = Maximum(Reduce(hit, Reduction::kSum, dims), FullLike(g, 1));
      return Values{hit * wide(g / hits), Value()};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Values> MovementRule(const Site& s) {
  const Value g = s.g();
  if (s.op.kind() == OpKind::kOptimizationBarrier) return s.grads;
  if (!g.valid()) return std::nullopt;
  Values grads(s.op.operands().size());
  switch (s.op.kind()) {
    case OpKind::kBroadcast:
      grads[0] = SumOver(g, Range(0, g.rank() - s.x().rank()));
      return grads;
    case OpKind::kBroadcastInDim:
      grads[0] = BroadcastInDimRule(g, s.x(), *s.op.attribute_as<Dims>("broadcast_dimensions"));
      return grads;
    case OpKind::kConcatenate: {
      const auto dim = static_cast<size_t>(*s.op.attribute_as<int64_t>("dimension"));
      Dims starts(g.dims().size(), 0), limits = g.dims();
      for (size_t i = 0; i < grads.size(); ++i) {
        limits[dim] = starts[dim] + s.x(i).dims()[dim];
        if (s.wanted[i]) grads[i] = Slice(g, starts, limits);
        starts[dim] = limits[dim];
      }
      return grads;
    }
    case OpKind::kDot:
    case OpKind::kDotGeneral: {
      DotDims dims{.lhs_contracting = {s.x(0).rank() - 1}, .rhs_contracting = {0}};
      if (const DotDims* given = s.op.attribute_as<DotDims>("dot_dimension_numbers")) dims = *given;
      for (const size_t i : {0, 1}) {
        if (s.wanted[i]) grads[i] = DotRule(s, dims, i == 0);
      }
      return grads;
    }
    case OpKind::kDynamicSlice:
      grads[0] = DynamicUpdateSlice(FullLike(s.x(), 0), g, Values(s.op.operands().begin() + 1, s.op.operands().end()));
      return grads;
    case OpKind::kDynamicUpdateSlice: {
      const Values starts(s.op.operands().begin() + 2, s.op.operands().end());
      if (s.wanted[0]) grads[0] = DynamicUpdateSlice(g, FullLike(s.x(1), 0), starts);
      if (s.wanted[1]) grads[1] = DynamicSlice(g, starts, s.x(1).dims());
      return grads;
    }
    case OpKind::kGather:
      grads[0] = GatherRule(s);
      return grads;
    case OpKind::kPad: {
      const Value inner = PadRule(s, g);
      if (s.wanted[0]) grads[0] = inner;
      if (s.wanted[1]) grads[1] = SumAll(g) - SumAll(inner);
      return grads;
    }
    case OpKind::kReduce:
      return ReduceRule(s);
    case OpKind::kReshape:
      grads[0] = Reshape(g, s.x().dims());
      return grads;
    case OpKind::kReverse:
      grads[0] = Reverse(g, *s.op.attribute_as<Dims>("dimensions"));
      return grads;
    case OpKind::kSlice:
      grads[0] = SliceRule(s);
      return grads;
    case OpKind::kTranspose:
      grads[0] = Transpose(g, Inverse(*s.op.attribute_as<Dims>("permutation")));
      return grads;
    default:
      return std::nullopt;
  }
}

}  // namespace tenon::gradient::internal
