// gather and scatter.

#include <algorithm>
#include <cstring>
#include <limits>

#include "tenon/reference/attributes.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"
#include "tenon/reference/scalar_body.h"

namespace tenon::reference {
namespace {

// Indices as int64; unsigned ones too large for it become the largest.
Result<Value> AsIndices(const Value& indices) {
  TENON_ASSIGN_OR_RETURN(Value wide, ConvertTo(indices, IsUnsigned(indices.dtype()) ? DType::kU64 : DType::kS64));
  if (wide.dtype() == DType::kS64) return wide;
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({DType::kS64, wide.shape().dims}));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.mutable_data<int64_t>()[i] =
        static_cast<int64_t>(std::min<uint64_t>(wide.data<uint64_t>()[i], std::numeric_limits<int64_t>::max()));
  }
  return out;
}

// The array of index vectors that gather and scatter read: where each coordinate of a window's start comes from.
class Starts {
 public:
  Starts(const Value& indices, int64_t vector_dim, Dims map, Dims operand_batch, Dims indices_batch)
      : indices_(indices),
        vector_dim_(vector_dim),
        map_(std::move(map)),
        operand_batch_(std::move(operand_batch)),
        indices_batch_(std::move(indices_batch)) {
    strides_ = RowMajorStridesElems(indices_.dims());
    for (size_t d = 0; d < indices_.rank(); ++d) {
      if (static_cast<int64_t>(d) != vector_dim_) batch_dims_.push_back(indices_.dims()[d]);
    }
  }

  /// INVALID_ARGUMENT unless the vectors have as many coordinates as they must give.
  Status Check() const {
    const bool scalars = vector_dim_ >= static_cast<int64_t>(indices_.rank());
    const int64_t given = scalars ? 1 : indices_.dims()[static_cast<size_t>(vector_dim_)];
    return given == static_cast<int64_t>(map_.size()) ? OkStatus()
                                                      : InvalidArgument("index vectors of the wrong length");
  }

  /// Extents of the array of vectors.
  std::span<const int64_t> batch_dims() const { return Span(batch_dims_); }

  /// Sets start (per operand dimension) for the vector at `batch`; coordinates that the vector does not give are 0, or
  /// the batch coordinate.
  void Read(std::span<const int64_t> batch, Dims& start) const {
    std::fill(start.begin(), start.end(), 0);
    int64_t offset = 0;
    size_t b = 0;
    for (size_t d = 0; d < indices_.rank(); ++d) {
      if (static_cast<int64_t>(d) != vector_dim_) offset += batch[b++] * strides_[d];
    }
    const int64_t step =
        vector_dim_ < static_cast<int64_t>(indices_.rank()) ? strides_[static_cast<size_t>(vector_dim_)] : 0;
    for (size_t k = 0; k < map_.size(); ++k)
      start[static_cast<size_t>(map_[k])] = indices_.data<int64_t>()[offset + static_cast<int64_t>(k) * step];
    for (size_t k = 0; k < operand_batch_.size(); ++k) {
      const int64_t d = indices_batch_[k];
      start[static_cast<size_t>(operand_batch_[k])] = batch[static_cast<size_t>(d > vector_dim_ ? d - 1 : d)];
    }
  }

 private:
  Value indices_;
  int64_t vector_dim_;
  Dims map_, operand_batch_, indices_batch_, strides_, batch_dims_;
};

Result<Value> GatherWindows(const Value& operand, const Value& start_indices, const GatherDims& dims,
                            const Dims& sizes) {
  TENON_ASSIGN_OR_RETURN(Value indices, AsIndices(start_indices));
  const Starts starts(indices, dims.index_vector_dim, dims.start_map, dims.operand_batch, dims.start_batch);
  TENON_RETURN_IF_ERROR(starts.Check());
  for (size_t d = 0; d < operand.rank(); ++d) {
    if (sizes[d] < 0 || sizes[d] > operand.dims()[d]) return InvalidArgument("a slice that is larger than the operand");
  }
  // The result: batch extents where no offset dimension is, window extents (without collapsed and batching ones) at the
  // offset dimensions.
  const size_t rank = starts.batch_dims().size() + dims.offset.size();
  Dims window;  // the operand dimensions that offset dimensions run over
  for (size_t d = 0; d < operand.rank(); ++d) {
    const auto i = static_cast<int64_t>(d);
    if (!Contains(Span(dims.collapsed), i) && !Contains(Span(dims.operand_batch), i)) window.push_back(i);
  }
  Shape shape{operand.dtype(), Dims(rank, 0)};
  Dims batch_at;
  size_t w = 0, b = 0;
  for (size_t d = 0; d < rank; ++d) {
    if (Contains(Span(dims.offset), static_cast<int64_t>(d))) {
      shape.dims[d] = sizes[static_cast<size_t>(window[w++])];
    } else {
      shape.dims[d] = starts.batch_dims()[b++];
      batch_at.push_back(static_cast<int64_t>(d));
    }
  }
  TENON_ASSIGN_OR_RETURN(Value out, Value::Zeros(shape));
  if (operand.num_elements() == 0 || out.num_elements() == 0) return out;
  const Dims out_strides = RowMajorStridesElems(Span(shape.dims)), in_strides = RowMajorStridesElems(operand.dims());
  Dims window_sizes, window_to, window_from;
  for (size_t k = 0; k < window.size(); ++k) {
    window_sizes.push_back(sizes[static_cast<size_t>(window[k])]);
    window_to.push_back(out_strides[static_cast<size_t>(dims.offset[k])]);
    window_from.push_back(in_strides[static_cast<size_t>(window[k])]);
  }
  const int width = ByteWidth(operand.dtype());
  Dims start(operand.rank(), 0);
  ForEachIndex(starts.batch_dims(), [&](std::span<const int64_t> batch) {
    starts.Read(batch, start);
    for (size_t d = 0; d < start.size(); ++d) start[d] = std::clamp<int64_t>(start[d], 0, operand.dims()[d] - sizes[d]);
    int64_t to = 0;
    for (size_t k = 0; k < batch.size(); ++k) to += batch[k] * out_strides[static_cast<size_t>(batch_at[k])];
    CopyElements(width, Span(window_sizes), out.mutable_bytes() + to * width, Span(window_to),
                 operand.bytes() + Dot(Span(start), Span(in_strides)) * width, Span(window_from));
  });
  return out;
}

Status Gather(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value out, GatherWindows(context.in(0), context.in(1), GatherDimsOf(context.op),
                                                  IntsAttr(context.op, "slice_sizes")));
  return context.Return(std::move(out));
}

Status DynamicGather(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Value out,
                         GatherWindows(context.in(0), context.in(1), GatherDimsOf(context.op), IntsOf(context.in(2))));
  return context.Return(std::move(out));
}

// Takes along `dim`, leading batch dimensions running along.
Status TorchIndexSelect(OpContext& context) {
  const Value& operand = context.in(0);
  TENON_ASSIGN_OR_RETURN(Value index, AsIndices(context.in(1)));
  // Negative ones count from the end.
  const auto from_end = [&](const char* name, size_t rank) {
    const int64_t d = IntAttr(context.op, name);
    return static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank) : d);
  };
  const size_t dim = from_end("dim", operand.rank()), batch = from_end("batch_dims", index.rank());
  Shape shape{operand.dtype(), {}};
  for (size_t d = 0; d < dim; ++d) shape.dims.push_back(operand.dims()[d]);
  for (size_t d = batch; d < index.rank(); ++d) shape.dims.push_back(index.dims()[d]);
  for (size_t d = dim + 1; d < operand.rank(); ++d) shape.dims.push_back(operand.dims()[d]);
  TENON_ASSIGN_OR_RETURN(Value out, Value::Zeros(shape));
  const Dims in_strides = RowMajorStridesElems(operand.dims()), index_strides = RowMajorStridesElems(index.dims());
  const auto width = static_cast<size_t>(ByteWidth(operand.dtype()));
  if (operand.num_elements() == 0) return context.Return(std::move(out));
  const size_t picked = index.rank() - batch;
  int64_t to = 0;
  ForEachIndex(Span(shape.dims), [&](std::span<const int64_t> at) {
    int64_t index_offset = 0, from = 0;
    for (size_t d = 0; d < batch; ++d) index_offset += at[d] * index_strides[d];
    for (size_t d = 0; d < picked; ++d) index_offset += at[dim + d] * index_strides[batch + d];
    for (size_t d = 0; d < dim; ++d) from += at[d] * in_strides[d];
    for (size_t d = dim + 1; d < operand.rank(); ++d) from += at[d + picked - 1] * in_strides[d];
    from += std::clamp<int64_t>(index.data<int64_t>()[index_offset], 0, operand.dims()[dim] - 1) * in_strides[dim];
    std::memcpy(out.mutable_bytes() + static_cast<size_t>(to++) * width,
                operand.bytes() + static_cast<size_t>(from) * width, width);
  });
  return context.Return(std::move(out));
}

// Windows one after the other, in row-major order of the index vectors; a window that does not lie inside as a whole is
// dropped.
Status Scatter(OpContext& context) {
  const size_t n = context.operands.size() / 2;
  const ScatterDims dims = ScatterDimsOf(context.op);
  TENON_RETURN_IF_ERROR(CheckSameDims(context, 0, n));
  TENON_RETURN_IF_ERROR(CheckSameDims(context, n + 1, n));
  TENON_ASSIGN_OR_RETURN(Computation body, Computation::Bind(context, 0));
  TENON_ASSIGN_OR_RETURN(Value indices, AsIndices(context.in(n)));
  std::vector<Value> results, updates;
  for (size_t i = 0; i < n; ++i) {
    Value input = std::move(context.operands[i]);
    TENON_ASSIGN_OR_RETURN(input, ConvertTo(input, body.argument_type(i)));
    if (!input.unique()) {
      TENON_ASSIGN_OR_RETURN(input,
                             Value::Copy(input.shape(), {input.bytes(), static_cast<size_t>(input.size_bytes())}));
    }
    TENON_ASSIGN_OR_RETURN(Value update, ConvertTo(context.in(n + 1 + i), body.argument_type(n + i)));
    results.push_back(std::move(input));
    updates.push_back(std::move(update));
  }
  const Starts starts(indices, dims.index_vector_dim, dims.to_operand, dims.input_batch, dims.scatter_batch);
  TENON_RETURN_IF_ERROR(starts.Check());
  const Dims in_dims = results[0].shape().dims, update_dims = updates[0].shape().dims;
  const Dims in_strides = RowMajorStridesElems(Span(in_dims)), update_strides = RowMajorStridesElems(Span(update_dims));
  // The k-th update window dimension runs over the k-th input dimension that is neither inserted nor batching.
  Dims window_dims, window_from, window_to, sizes(in_dims.size(), 1), batch_strides;
  size_t k = 0;
  for (size_t d = 0; d < in_dims.size(); ++d) {
    const auto i = static_cast<int64_t>(d);
    if (Contains(Span(dims.inserted), i) || Contains(Span(dims.input_batch), i)) continue;
    const auto u = static_cast<size_t>(dims.window[k++]);
    sizes[d] = update_dims[u];
    window_dims.push_back(update_dims[u]);
    window_from.push_back(update_strides[u]);
    window_to.push_back(in_strides[d]);
  }
  for (size_t u = 0; u < update_dims.size(); ++u) {
    if (Contains(Span(dims.window), static_cast<int64_t>(u))) continue;
    const size_t b = batch_strides.size();
    if (b >= starts.batch_dims().size() || starts.batch_dims()[b] != update_dims[u])
      return InvalidArgument("updates that do not fit the indices");
    batch_strides.push_back(update_strides[u]);
  }
  std::vector<std::byte> lanes(2 * n * kLanes * 16);
  std::vector<const void*> args(2 * n);
  std::vector<void*> outs(n);
  int64_t to_offsets[kLanes], from_offsets[kLanes];
  Dims start(in_dims.size(), 0);
  Status status;
  const auto apply = [&](int64_t count) {
    const auto gather = [&](size_t buffer, const Value& array, const int64_t* where) {
      std::byte* out = lanes.data() + buffer * kLanes * 16;
      VisitWidth(ByteWidth(array.dtype()), [&](auto zero) {
        using T = decltype(zero);
        for (int64_t lane = 0; lane < count; ++lane) reinterpret_cast<T*>(out)[lane] = array.data<T>()[where[lane]];
      });
      return out;
    };
    for (size_t i = 0; i < n; ++i) {
      args[i] = outs[i] = gather(i, results[i], to_offsets);
      args[n + i] = gather(n + i, updates[i], from_offsets);
    }
    if (status.ok()) status = body.Apply(count, args, outs);
    for (size_t i = 0; i < n; ++i) {
      VisitWidth(ByteWidth(results[i].dtype()), [&](auto zero) {
        using T = decltype(zero);
        for (int64_t lane = 0; lane < count; ++lane)
          results[i].mutable_data<T>()[to_offsets[lane]] = static_cast<const T*>(outs[i])[lane];
      });
    }
  };
  ForEachIndex(starts.batch_dims(), [&](std::span<const int64_t> batch) {
    if (!status.ok()) return;
    starts.Read(batch, start);
    for (size_t d = 0; d < start.size(); ++d) {
      if (start[d] < 0 || start[d] > in_dims[d] - sizes[d]) return;
    }
    const int64_t to = Dot(Span(start), Span(in_strides)), from = Dot(batch, Span(batch_strides));
    int64_t count = 0;
    ForEachIndex(Span(window_dims), [&](std::span<const int64_t> index) {
      to_offsets[count] = to + Dot(index, Span(window_to));
      from_offsets[count] = from + Dot(index, Span(window_from));
      if (++count == kLanes) {
        apply(count);
        count = 0;
      }
    });
    if (count > 0) apply(count);
  });
  TENON_RETURN_IF_ERROR(status);
  context.results = std::move(results);
  return OkStatus();
}

constexpr OpEntry kOps[] = {
    {"stablehlo.gather", &Gather},
    {"stablehlo.dynamic_gather", &DynamicGather},
    {"stablehlo.torch_index_select", &TorchIndexSelect},
    {"stablehlo.scatter", &Scatter},
};

}  // namespace

std::span<const OpEntry> GatherScatterOps() { return kOps; }

}  // namespace tenon::reference
