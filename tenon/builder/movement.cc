// Operations that move elements, and those whose extents are known when the program runs.
#include <algorithm>
#include <numeric>

#include "tenon/builder/internal/shapes.h"
#include "tenon/builder/internal/state.h"
#include "tenon/builder/ops.h"

namespace tenon::builder {

using namespace internal;

namespace {

// Dims that are not in any of the lists.
Dims Rest(int64_t rank, std::initializer_list<const Dims*> lists) {
  Dims rest;
  for (int64_t d = 0; d < rank; ++d) {
    bool listed = false;
    for (const Dims* list : lists) listed |= std::find(list->begin(), list->end(), d) != list->end();
    if (!listed) rest.push_back(d);
  }
  return rest;
}

bool Starts(Make& m, size_t first, int64_t rank) {
  if (!m.Count("start indices, one per dim", m.size() - first, static_cast<size_t>(rank))) return false;
  for (size_t i = first; i < m.size(); ++i) {
    if (!m.Scalar(i, "a start index", kInteger) || !m.SameElements(first, i, "start indices")) return false;
  }
  return true;
}

// Extents of a gather's result; `sizes` are those of the slices.
bool GatherResult(Make& m, const GatherDims& g, const Dims& sizes, Dims* result) {
  const int64_t rank = m.rank(0), index_rank = m.rank(1);
  if (g.index_vector_dim < 0 || g.index_vector_dim > index_rank)
    return m.Fail("index_vector_dim must be at least 0 and at most the indices' rank {}, got {}", index_rank,
                  g.index_vector_dim);
  const int64_t length = g.index_vector_dim == index_rank ? 1 : m.dims(1)[static_cast<size_t>(g.index_vector_dim)];
  if (length != kDynamic && !m.Count("dims in start_index_map, one per element of an index vector",
                                     g.start_index_map.size(), static_cast<size_t>(length)))
    return false;
  if (!m.DimList("start_index_map", g.start_index_map, rank) ||
      !m.DimList("collapsed_slice_dims", g.collapsed_slice_dims, rank, true) ||
      !m.DimList("operand_batching_dims", g.operand_batching_dims, rank, true) ||
      !m.DimList("start_indices_batching_dims", g.start_indices_batching_dims, index_rank) ||
      !m.Count("slice sizes, one per dim", sizes.size(), static_cast<size_t>(rank)) ||
      !m.Count("start_indices_batching_dims, one per operand_batching_dim", g.start_indices_batching_dims.size(),
               g.operand_batching_dims.size()))
    return false;
  for (const int64_t d : g.operand_batching_dims) {
    const bool twice =
        std::find(g.collapsed_slice_dims.begin(), g.collapsed_slice_dims.end(), d) != g.collapsed_slice_dims.end() ||
        std::find(g.start_index_map.begin(), g.start_index_map.end(), d) != g.start_index_map.end();
    if (twice)
      return m.Fail("operand_batching_dims {} must not be collapsed or in start_index_map",
                    DimsToString(g.operand_batching_dims));
  }
  for (const int64_t d : g.start_indices_batching_dims) {
    if (d == g.index_vector_dim) return m.Fail("start_indices_batching_dims must not hold index_vector_dim {}", d);
  }
  for (size_t i = 0; i < g.operand_batching_dims.size(); ++i) {
    const int64_t a = m.dims(0)[static_cast<size_t>(g.operand_batching_dims[i])];
    const int64_t b = m.dims(1)[static_cast<size_t>(g.start_indices_batching_dims[i])];
    if (a != b && a != kDynamic && b != kDynamic)
      return m.Fail("batching dims must have equal extents, got {} and {}", a, b);
  }
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t extent = m.dims(0)[static_cast<size_t>(d)], size = sizes[static_cast<size_t>(d)];
    if (size == kDynamic) continue;
    if (size < 0 || (extent != kDynamic && size > extent))
      return m.Fail("slice sizes must be at least 0 and at most the operand's extents, got {} for {}",
                    DimsToString(sizes), m.type(0).ToString());
  }
  for (const Dims* list : {&g.collapsed_slice_dims, &g.operand_batching_dims}) {
    for (const int64_t d : *list) {
      if (sizes[static_cast<size_t>(d)] > 1)
        return m.Fail("dims that leave the slice must have a slice size of at most 1, got {}", DimsToString(sizes));
    }
  }
  const Dims kept = Rest(rank, {&g.collapsed_slice_dims, &g.operand_batching_dims});
  if (!m.Count("offset_dims, one per dim of a slice that stays", g.offset_dims.size(), kept.size())) return false;
  Dims batch;
  for (int64_t d = 0; d < index_rank; ++d) {
    if (d != g.index_vector_dim) batch.push_back(m.dims(1)[static_cast<size_t>(d)]);
  }
  const int64_t result_rank = static_cast<int64_t>(batch.size() + kept.size());
  if (!m.DimList("offset_dims", g.offset_dims, result_rank, true)) return false;
  size_t next_offset = 0, next_batch = 0;
  for (int64_t d = 0; d < result_rank; ++d) {
    const bool offset = std::find(g.offset_dims.begin(), g.offset_dims.end(), d) != g.offset_dims.end();
    result->push_back(offset ? sizes[static_cast<size_t>(kept[next_offset++])] : batch[next_batch++]);
  }
  return true;
}

// A vector of extents, as long as `length` unless that is negative.
bool Extents(Make& m, size_t i, const char* what, int64_t length) {
  if (!m.Tensor(i, what, kInteger)) return false;
  if (m.rank(i) != 1) return m.Fail("{} must have rank 1, got {}", what, m.type(i).ToString());
  if (length >= 0 && m.dims(i)[0] != length && m.dims(i)[0] != kDynamic)
    return m.Fail("{} must have {} elements, got {}", what, length, m.type(i).ToString());
  return true;
}

bool ResultType(Make& m, const Type& result, DType element) {
  if (!m.ok()) return false;
  if (!result.is_tensor() || result.dtype() != element)
    return m.Fail("the result must be an array of {}, got {}", ElementName(element), result.ToString());
  return true;
}

bool CheckBroadcast(Make& m, const Dims& result, const Dims& broadcast_dims) {
  if (!m.Count("broadcast_dims, one per dim of the operand", broadcast_dims.size(), m.dims().size()) ||
      !m.DimList("broadcast_dims", broadcast_dims, static_cast<int64_t>(result.size())))
    return false;
  for (size_t i = 0; i < broadcast_dims.size(); ++i) {
    const int64_t from = m.dims()[i], to = result[static_cast<size_t>(broadcast_dims[i])];
    if (from != to && from != 1 && from != kDynamic && to != kDynamic)
      return m.Fail("operand dim {} of {} must be 1 or the result's {}, to which broadcast_dims {} take it", i,
                    m.type().ToString(), to, DimsToString(broadcast_dims));
  }
  return true;
}

}  // namespace

Value BroadcastInDim(Value x, const Dims& dims, const Dims& broadcast_dims, Location where) {
  Make m(OpKind::kBroadcastInDim, {x}, where);
  if (!m.Tensor(0, "operand") || !m.AtLeast("extents", dims, 0) || !CheckBroadcast(m, dims, broadcast_dims)) return {};
  return m.Set("broadcast_dimensions", broadcast_dims).Result(m.type().WithDims(dims));
}

Value BroadcastTo(Value x, const Dims& dims, Location where) {
  Make m(OpKind::kBroadcastInDim, {x}, where);
  if (!m.Tensor(0, "operand")) return {};
  if (m.dims() == dims) return x;
  if (m.dims().size() > dims.size()) {
    m.Fail("{} has more dims than {}", m.type().ToString(), DimsToString(dims));
    return {};
  }
  Dims last(m.dims().size());
  std::iota(last.begin(), last.end(), static_cast<int64_t>(dims.size() - m.dims().size()));
  return BroadcastInDim(x, dims, last, where);
}

Value Broadcast(Value x, const Dims& sizes, Location where) {
  Make m(OpKind::kBroadcast, {x}, where);
  if (!m.Tensor(0, "operand") || !m.AtLeast("sizes", sizes, 0)) return {};
  Dims dims = sizes;
  dims.append(m.dims().begin(), m.dims().end());
  return m.Set("broadcast_sizes", sizes).Result(m.type().WithDims(dims));
}

Value Concatenate(const Values& inputs, int64_t dim, Location where) {
  Make m(OpKind::kConcatenate, inputs, where);
  if (!m.ok() || !m.Tensor(0, "the first input") || !m.DimIndex("the dim", dim, m.rank())) return {};
  Dims dims = m.dims();
  const auto d = static_cast<size_t>(dim);
  for (size_t i = 1; i < m.size(); ++i) {
    if (!m.Tensor(i, "an input") || !m.SameElements(0, i, "inputs")) return {};
    Dims other = m.dims(i);
    if (other.size() == dims.size()) other[d] = dims[d];
    if (!Compatible(Type(DType::kF32, other), Type(DType::kF32, dims))) {
      m.Fail("inputs must differ in dim {} only, got {} and {}", dim, m.type(0).ToString(), m.type(i).ToString());
      return {};
    }
    const int64_t extent = m.dims(i)[d];
    if (dims[d] == kDynamic || extent == kDynamic) {
      dims[d] = kDynamic;
    } else if (__builtin_add_overflow(dims[d], extent, &dims[d])) {
      m.Fail("the extent of dim {} leaves 64 bits", dim);
      return {};
    }
  }
  return m.Set("dimension", dim).Result(m.type().WithDims(dims));
}

Value DynamicSlice(Value x, const Values& starts, const Dims& sizes, Location where) {
  Values operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  Make m(OpKind::kDynamicSlice, operands, where);
  if (!m.Tensor(0, "operand") || !Starts(m, 1, m.rank()) ||
      !m.Count("sizes, one per dim", sizes.size(), m.dims().size()))
    return {};
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0 || (m.dims()[d] != kDynamic && sizes[d] > m.dims()[d])) {
      m.Fail("sizes must be at least 0 and at most the operand's extents, got {} of {}", DimsToString(sizes),
             m.type().ToString());
      return {};
    }
  }
  return m.Set("slice_sizes", sizes).Result(m.type().WithDims(sizes));
}

Value DynamicUpdateSlice(Value x, Value update, const Values& starts, Location where) {
  Values operands = {x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  Make m(OpKind::kDynamicUpdateSlice, operands, where);
  if (!m.Tensor(0, "operand") || !m.Tensor(1, "update") || !m.SameElements(0, 1, "operand and update") ||
      !Starts(m, 2, m.rank()))
    return {};
  bool fits = m.rank() == m.rank(1);
  for (size_t d = 0; fits && d < m.dims().size(); ++d) {
    fits = m.dims()[d] == kDynamic || m.dims(1)[d] == kDynamic || m.dims(1)[d] <= m.dims()[d];
  }
  if (!fits) {
    m.Fail("the update must have the operand's rank and fit into it, got {} into {}", m.type(1).ToString(),
           m.type().ToString());
    return {};
  }
  return m.Result(m.type());
}

Value Gather(Value x, Value start_indices, const GatherDims& dims, const Dims& slice_sizes, bool indices_are_sorted,
             Location where) {
  Make m(OpKind::kGather, {x, start_indices}, where);
  Dims result;
  if (!m.Tensor(0, "operand") || !m.Tensor(1, "start_indices", kInteger) ||
      !GatherResult(m, dims, slice_sizes, &result))
    return {};
  m.Set("dimension_numbers", dims).Set("slice_sizes", slice_sizes).Set("indices_are_sorted", indices_are_sorted);
  return m.Result(m.type().WithDims(result));
}

Value Pad(Value x, Value value, const Dims& low, const Dims& high, const Dims& interior, Location where) {
  Make m(OpKind::kPad, {x, value}, where);
  if (!m.Tensor(0, "operand") || !m.Tensor(1, "the padding value") ||
      !m.SameElements(0, 1, "operand and padding value"))
    return {};
  if (m.rank(1) != 0) {
    m.Fail("the padding value must be a scalar, got {}", m.type(1).ToString());
    return {};
  }
  const size_t rank = m.dims().size();
  const Dims inner = interior.empty() ? Dims(rank, 0) : interior;
  if (!m.Count("numbers in low, one per dim", low.size(), rank) ||
      !m.Count("numbers in high, one per dim", high.size(), rank) ||
      !m.Count("numbers in interior, one per dim", inner.size(), rank) || !m.AtLeast("interior", inner, 0))
    return {};
  Dims dims = m.dims();
  for (size_t d = 0; d < rank; ++d) {
    if (dims[d] == kDynamic) continue;
    const std::optional<int64_t> extent =
        Windowed({.extent = dims[d], .low = low[d], .high = high[d], .base_dilation = inner[d] + 1});
    if (!extent) {
      m.Fail("dim {} of {} would get an extent below 0 or beyond 64 bits by low {}, high {}, interior {}", d,
             m.type().ToString(), low[d], high[d], inner[d]);
      return {};
    }
    dims[d] = *extent;
  }
  return m.Set("edge_padding_low", low)
      .Set("edge_padding_high", high)
      .Set("interior_padding", inner)
      .Result(m.type().WithDims(dims));
}

Value Reshape(Value x, const Dims& dims, Location where) {
  Make m(OpKind::kReshape, {x}, where);
  if (!m.Tensor(0, "operand")) return {};
  const Result<int64_t> count = CheckedNumElements(dims);
  if (!count.ok()) {
    m.FailWith(std::string(count.status().message()));
    return {};
  }
  if (m.type().is_static() && NumElements(m.dims()) != *count) {
    m.Fail("{} has {} elements, but {} has {}", m.type().ToString(), NumElements(m.dims()), DimsToString(dims), *count);
    return {};
  }
  return m.Result(m.type().WithDims(dims));
}

Value Reverse(Value x, const Dims& dims, Location where) {
  Make m(OpKind::kReverse, {x}, where);
  if (!m.Tensor(0, "operand") || !m.DimList("dims", dims, m.rank())) return {};
  return m.Set("dimensions", dims).Result(m.type());
}

Value Slice(Value x, const Dims& starts, const Dims& limits, const Dims& strides, Location where) {
  Make m(OpKind::kSlice, {x}, where);
  if (!m.Tensor(0, "operand")) return {};
  const size_t rank = m.dims().size();
  const Dims steps = strides.empty() ? Dims(rank, 1) : strides;
  if (!m.Count("starts, one per dim", starts.size(), rank) || !m.Count("limits, one per dim", limits.size(), rank) ||
      !m.Count("strides, one per dim", steps.size(), rank) || !m.AtLeast("strides", steps, 1))
    return {};
  Dims dims = m.dims();
  for (size_t d = 0; d < rank; ++d) {
    const bool known = dims[d] != kDynamic;
    if (starts[d] < 0 || limits[d] < starts[d] || (known && limits[d] > dims[d])) {
      m.Fail("dim {} of {}: wants 0 <= start <= limit <= extent, got start {} and limit {}", d, m.type().ToString(),
             starts[d], limits[d]);
      return {};
    }
    dims[d] = (limits[d] - starts[d]) / steps[d] + ((limits[d] - starts[d]) % steps[d] != 0 ? 1 : 0);
  }
  return m.Set("start_indices", starts)
      .Set("limit_indices", limits)
      .Set("strides", steps)
      .Result(m.type().WithDims(dims));
}

Value Transpose(Value x, const Dims& permutation, Location where) {
  Make m(OpKind::kTranspose, {x}, where);
  if (!m.Tensor(0, "operand") || !m.Count("dims in permutation", permutation.size(), m.dims().size()) ||
      !m.DimList("permutation", permutation, m.rank()))
    return {};
  Dims dims;
  for (const int64_t d : permutation) dims.push_back(m.dims()[static_cast<size_t>(d)]);
  return m.Set("permutation", permutation).Result(m.type().WithDims(dims));
}

Value TorchIndexSelect(Value x, Value index, int64_t dim, int64_t batch_dims, Location where) {
  Make m(OpKind::kTorchIndexSelect, {x, index}, where);
  if (!m.Tensor(0, "operand") || !m.Tensor(1, "index", kInteger) || !m.DimIndex("the dim", dim, m.rank())) return {};
  if (batch_dims < 0 || batch_dims > dim || batch_dims > m.rank(1)) {
    m.Fail("batch_dims must be at least 0, at most dim {} and the index's rank {}, got {}", dim, m.rank(1), batch_dims);
    return {};
  }
  Dims dims;
  dims.append(m.dims().begin(), m.dims().begin() + dim);
  dims.append(m.dims(1).begin() + batch_dims, m.dims(1).end());
  dims.append(m.dims().begin() + dim + 1, m.dims().end());
  return m.Set("dim", dim).Set("batch_dims", batch_dims).Result(m.type().WithDims(dims));
}

//===--- Extents known at run time ---===//

Value DynamicBroadcastInDim(Value x, Value output_dims, const Dims& broadcast_dims, const Type& result,
                            Location where) {
  Make m(OpKind::kDynamicBroadcastInDim, {x, output_dims}, where);
  if (!m.Tensor(0, "operand") || !Extents(m, 1, "output_dims", result.rank()) ||
      !ResultType(m, result, m.type().dtype()) || !CheckBroadcast(m, result.dims(), broadcast_dims))
    return {};
  return m.Set("broadcast_dimensions", broadcast_dims).Result(result);
}

Value DynamicGather(Value x, Value start_indices, Value slice_sizes, const GatherDims& dims, const Type& result,
                    bool indices_are_sorted, Location where) {
  Make m(OpKind::kDynamicGather, {x, start_indices, slice_sizes}, where);
  if (!m.Tensor(0, "operand") || !m.Tensor(1, "start_indices", kInteger) || !Extents(m, 2, "slice_sizes", m.rank()) ||
      !ResultType(m, result, m.type().dtype()))
    return {};
  Dims sizes(m.dims().size(), kDynamic), inferred;
  for (const Dims* list : {&dims.collapsed_slice_dims, &dims.operand_batching_dims}) {
    for (const int64_t d : *list) {
      if (d >= 0 && d < m.rank()) sizes[static_cast<size_t>(d)] = 1;
    }
  }
  if (!GatherResult(m, dims, sizes, &inferred)) return {};
  if (const Type known(result.dtype(), inferred); !Compatible(known, result)) {
    m.Fail("the result must fit {}, got {}", known.ToString(), result.ToString());
    return {};
  }
  return m.Set("dimension_numbers", dims).Set("indices_are_sorted", indices_are_sorted).Result(result);
}

Value DynamicIota(Value output_dims, int64_t dim, const Type& result, Location where) {
  Make m(OpKind::kDynamicIota, {output_dims}, where);
  if (!Extents(m, 0, "output_dims", result.rank()) || !m.DimIndex("the dim", dim, result.rank())) return {};
  if ((ClassOf(result) & (kInteger | kFloat | kComplex)) == 0) {
    m.Fail("counts in {}, got {}", ClassNames(kInteger | kFloat | kComplex), result.ToString());
    return {};
  }
  return m.Set("iota_dimension", dim).Result(result);
}

Value DynamicPad(Value x, Value value, Value low, Value high, Value interior, const Type& result, Location where) {
  Make m(OpKind::kDynamicPad, {x, value, low, high, interior}, where);
  if (!m.Tensor(0, "operand") || !m.Tensor(1, "the padding value") ||
      !m.SameElements(0, 1, "operand and padding value"))
    return {};
  for (const size_t i : {2, 3, 4}) {
    if (!Extents(m, i, "padding", m.rank()) || !m.SameTypes(2, i, "low, high and interior")) return {};
  }
  if (m.rank(1) != 0) m.Fail("the padding value must be a scalar, got {}", m.type(1).ToString());
  if (!ResultType(m, result, m.type().dtype())) return {};
  if (result.rank() != m.rank())
    m.Fail("the result must have the operand's rank {}, got {}", m.rank(), result.ToString());
  return m.Result(result);
}

Value DynamicReshape(Value x, Value output_dims, const Type& result, Location where) {
  Make m(OpKind::kDynamicReshape, {x, output_dims}, where);
  if (!m.Tensor(0, "operand") || !Extents(m, 1, "output_dims", result.rank()) ||
      !ResultType(m, result, m.type().dtype()))
    return {};
  if (m.type().is_static() && result.is_static() && NumElements(m.dims()) != NumElements(result.dims())) {
    m.Fail("operand and result must have equally many elements, got {} and {}", m.type().ToString(), result.ToString());
  }
  return m.Result(result);
}

Value GetDimensionSize(Value x, int64_t dim, Location where) {
  Make m(OpKind::kGetDimensionSize, {x}, where);
  if (!m.Tensor(0, "operand") || !m.DimIndex("the dim", dim, m.rank())) return {};
  return m.Set("dimension", dim).Result(DType::kS32);
}

Value RealDynamicSlice(Value x, Value starts, Value limits, Value strides, const Type& result, Location where) {
  Make m(OpKind::kRealDynamicSlice, {x, starts, limits, strides}, where);
  if (!m.Tensor(0, "operand")) return {};
  for (const size_t i : {1, 2, 3}) {
    if (!Extents(m, i, "starts, limits and strides", m.rank()) || !m.SameTypes(1, i, "starts, limits and strides"))
      return {};
  }
  if (!ResultType(m, result, m.type().dtype())) return {};
  if (result.rank() != m.rank())
    m.Fail("the result must have the operand's rank {}, got {}", m.rank(), result.ToString());
  return m.Result(result);
}

Value SetDimensionSize(Value x, Value size, int64_t dim, Location where) {
  Make m(OpKind::kSetDimensionSize, {x, size}, where);
  if (!m.Tensor(0, "operand") || !m.Scalar(1, "the size", kSigned) || !m.DimIndex("the dim", dim, m.rank())) return {};
  if (m.type(1).dtype() != DType::kS32) {
    m.Fail("the size must be tensor<i32>, got {}", m.type(1).ToString());
    return {};
  }
  Dims dims = m.dims();
  std::vector<int64_t> bounds = m.type().bounds();
  if (bounds.empty()) bounds.assign(dims.size(), kDynamic);
  const auto d = static_cast<size_t>(dim);
  if (dims[d] != kDynamic) bounds[d] = dims[d];
  dims[d] = kDynamic;
  return m.Set("dimension", dim).Result(m.type().WithDims(dims).WithBounds(bounds));
}

}  // namespace tenon::builder
