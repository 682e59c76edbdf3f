// reduce_window and select_and_scatter.

#include <algorithm>
#include <cstring>

#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"
#include "tenon/reference/scalar_body.h"

namespace tenon::reference {
namespace {

// A window along one dimension.
struct WindowDim {
  int64_t size, stride = 1, base_dilation = 1, dilation = 1, low = 0, high = 0;

  int64_t OutputExtent(int64_t n) const {
    const int64_t dilated = n == 0 ? 0 : (n - 1) * base_dilation + 1;
    const int64_t padded = low + dilated + high;
    const int64_t window = size == 0 ? 0 : (size - 1) * dilation + 1;
    return padded <= 0 || window > padded ? 0 : (padded - window) / stride + 1;
  }
  // The element under window cell `cell` of output `out`; -1 for padding and for holes between dilated elements.
  int64_t ElementAt(int64_t out, int64_t cell, int64_t n) const {
    const int64_t position = out * stride + cell * dilation - low;
    if (position < 0 || position % base_dilation != 0 || position / base_dilation >= n) return -1;
    return position / base_dilation;
  }
};

std::vector<WindowDim> WindowOf(mlir::Operation* op, size_t rank) {
  const Dims ones(rank, 1), zeros(2 * rank, 0);
  const Dims sizes = IntsAttr(op, "window_dimensions", ones), strides = IntsAttr(op, "window_strides", ones);
  const Dims base = IntsAttr(op, "base_dilations", ones), dilations = IntsAttr(op, "window_dilations", ones);
  Dims padding = IntsAttr(op, "padding", zeros);
  if (padding.size() != 2 * rank) padding.assign(2 * rank, padding.empty() ? 0 : padding[0]);
  std::vector<WindowDim> window;
  for (size_t d = 0; d < rank; ++d)
    window.push_back({sizes[d], strides[d], base[d], dilations[d], padding[2 * d], padding[2 * d + 1]});
  return window;
}

Dims SizesOf(const std::vector<WindowDim>& window) {
  Dims sizes;
  for (const WindowDim& w : window) sizes.push_back(w.size);
  return sizes;
}

// Collects pairs of elements and folds them in batches: accumulators[to] = body(accumulators[to], inputs[from]). Within
// a batch every `to` is another one.
class Folder {
 public:
  Folder(Computation& body, std::span<const Value> inputs, std::span<Value> accumulators)
      : body_(body), inputs_(inputs), accumulators_(accumulators), lanes_(2 * inputs.size() * kLanes * 16) {}

  Status Add(int64_t to, int64_t from) {
    to_[count_] = to;
    from_[count_] = from;
    return ++count_ == kLanes ? Flush() : OkStatus();
  }

  Status Flush() {
    const size_t n = inputs_.size();
    std::vector<const void*> args(2 * n);
    std::vector<void*> results(n);
    for (size_t i = 0; i < n; ++i) {
      args[i] = results[i] = Gather(i, accumulators_[i], to_);
      args[n + i] = Gather(n + i, inputs_[i], from_);
    }
    TENON_RETURN_IF_ERROR(body_.Apply(count_, args, results));
    for (size_t i = 0; i < n; ++i) {
      VisitWidth(ByteWidth(accumulators_[i].dtype()), [&](auto zero) {
        using T = decltype(zero);
        for (int64_t k = 0; k < count_; ++k)
          accumulators_[i].mutable_data<T>()[to_[k]] = static_cast<const T*>(results[i])[k];
      });
    }
    count_ = 0;
    return OkStatus();
  }

 private:
  std::byte* Gather(size_t buffer, const Value& array, const int64_t* where) {
    std::byte* lanes = lanes_.data() + buffer * kLanes * 16;
    VisitWidth(ByteWidth(array.dtype()), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t k = 0; k < count_; ++k) reinterpret_cast<T*>(lanes)[k] = array.data<T>()[where[k]];
    });
    return lanes;
  }

  Computation& body_;
  std::span<const Value> inputs_;
  std::span<Value> accumulators_;
  std::vector<std::byte> lanes_;
  int64_t to_[kLanes], from_[kLanes];
  int64_t count_ = 0;
};

// Whether the window is the whole prefix (or suffix) along `dimension` and one element elsewhere: a running fold.
bool IsScan(const std::vector<WindowDim>& window, std::span<const int64_t> dims, size_t& dimension, bool& from_end) {
  bool found = false;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& w = window[d];
    if (w.stride != 1 || w.base_dilation != 1 || w.dilation != 1) return false;
    if (w.size == 1 && w.low == 0 && w.high == 0) continue;
    const int64_t n = dims[d];
    if (found || w.size != n || !((w.low == n - 1 && w.high == 0) || (w.low == 0 && w.high == n - 1))) return false;
    found = true;
    dimension = d;
    from_end = w.low == 0;
  }
  return found;
}

// The running fold: each result is the one before it, with one more element. From the end it takes the elements in the
// other order than the windows do; that is only done where the windows would take too long.
Status Scan(Computation& body, std::span<const Value> inputs, std::span<Value> accumulators, size_t dimension,
            bool from_end) {
  const Dims dims = inputs[0].shape().dims;
  const Dims strides = RowMajorStridesElems(Span(dims));
  Dims others = dims;
  others[dimension] = 1;
  for (int64_t step = 0; step < dims[dimension]; ++step) {
    const int64_t at = from_end ? dims[dimension] - 1 - step : step;
    const int64_t before = from_end ? at + 1 : at - 1;
    if (step > 0) {
      for (Value& accumulator : accumulators) {
        const int64_t width = ByteWidth(accumulator.dtype());
        CopyElements(static_cast<int>(width), Span(others),
                     accumulator.mutable_bytes() + at * strides[dimension] * width, Span(strides),
                     accumulator.bytes() + before * strides[dimension] * width, Span(strides));
      }
    }
    Folder folder(body, inputs, accumulators);
    Status status;
    ForEachIndex(Span(others), [&](std::span<const int64_t> index) {
      const int64_t offset = Dot(index, Span(strides)) + at * strides[dimension];
      if (status.ok()) status = folder.Add(offset, offset);
    });
    TENON_RETURN_IF_ERROR(status);
    TENON_RETURN_IF_ERROR(folder.Flush());
  }
  return OkStatus();
}

// Windows beyond this many cells along a scanned dimension are run as scans also from the end.
constexpr int64_t kLongScan = 2048;

// Padding cells and holes are skipped; init counts once. Cells in row-major order.
Status ReduceWindow(OpContext& context) {
  const size_t n = context.operands.size() / 2;
  TENON_RETURN_IF_ERROR(CheckSameDims(context, 0, n));
  TENON_ASSIGN_OR_RETURN(Computation body, Computation::Bind(context, 0));
  const Dims dims = context.in(0).shape().dims;
  const std::vector<WindowDim> window = WindowOf(context.op, dims.size());
  Dims out_dims;
  for (size_t d = 0; d < dims.size(); ++d) out_dims.push_back(window[d].OutputExtent(dims[d]));
  std::vector<Value> inputs, accumulators;
  for (size_t i = 0; i < n; ++i) {
    TENON_ASSIGN_OR_RETURN(Value input, ConvertTo(context.in(i), body.argument_type(n + i)));
    TENON_ASSIGN_OR_RETURN(Value init, ConvertTo(context.in(n + i), body.argument_type(i)));
    TENON_ASSIGN_OR_RETURN(Value accumulator, Value::Allocate({body.result_type(i), out_dims}));
    FillElements(ByteWidth(init.dtype()), accumulator.num_elements(), accumulator.mutable_bytes(), init.bytes());
    inputs.push_back(std::move(input));
    accumulators.push_back(std::move(accumulator));
  }
  size_t scan_dimension = 0;
  bool from_end = false;
  if (IsScan(window, Span(dims), scan_dimension, from_end) && NumElements(Span(out_dims)) > 0 &&
      (!from_end || dims[scan_dimension] > kLongScan)) {
    TENON_RETURN_IF_ERROR(Scan(body, inputs, accumulators, scan_dimension, from_end));
    context.results = std::move(accumulators);
    return OkStatus();
  }
  const Dims in_strides = RowMajorStridesElems(Span(dims)), out_strides = RowMajorStridesElems(Span(out_dims));
  Status status;
  ForEachIndex(Span(SizesOf(window)), [&](std::span<const int64_t> cell) {
    if (!status.ok()) return;
    // Along each dimension: the outputs whose cell lies on an element, as offsets (output, element).
    std::vector<std::vector<std::pair<int64_t, int64_t>>> pairs(dims.size());
    Dims counts;
    for (size_t d = 0; d < dims.size(); ++d) {
      for (int64_t o = 0; o < out_dims[d]; ++o) {
        const int64_t element = window[d].ElementAt(o, cell[d], dims[d]);
        if (element >= 0) pairs[d].emplace_back(o * out_strides[d], element * in_strides[d]);
      }
      counts.push_back(static_cast<int64_t>(pairs[d].size()));
    }
    Folder folder(body, inputs, accumulators);
    ForEachIndex(Span(counts), [&](std::span<const int64_t> index) {
      int64_t to = 0, from = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        to += pairs[d][static_cast<size_t>(index[d])].first;
        from += pairs[d][static_cast<size_t>(index[d])].second;
      }
      if (status.ok()) status = folder.Add(to, from);
    });
    if (status.ok()) status = folder.Flush();
    if (status.ok()) status = context.evaluator.CheckCancelled();
  });
  TENON_RETURN_IF_ERROR(status);
  context.results = std::move(accumulators);
  return OkStatus();
}

// Each source element goes to the element of its window that `select` keeps; padding cells take no part.
Status SelectAndScatter(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Computation select, Computation::Bind(context, 0));
  TENON_ASSIGN_OR_RETURN(Computation scatter, Computation::Bind(context, 1));
  TENON_ASSIGN_OR_RETURN(Value operand, ConvertTo(context.in(0), select.argument_type(0)));
  TENON_ASSIGN_OR_RETURN(Value source, ConvertTo(context.in(1), scatter.argument_type(1)));
  TENON_ASSIGN_OR_RETURN(Value init, ConvertTo(context.in(2), scatter.argument_type(0)));
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({scatter.result_type(0), operand.shape().dims}));
  FillElements(ByteWidth(init.dtype()), out.num_elements(), out.mutable_bytes(), init.bytes());
  const std::vector<WindowDim> window = WindowOf(context.op, operand.rank());
  const Dims sizes = SizesOf(window);
  const Dims strides = RowMajorStridesElems(operand.dims());
  const int64_t width = ByteWidth(operand.dtype()), source_width = ByteWidth(source.dtype()),
                out_width = ByteWidth(out.dtype());
  int64_t source_index = 0;
  Status status;
  ForEachIndex(source.dims(), [&](std::span<const int64_t> at) {
    int64_t chosen = -1;
    ForEachIndex(Span(sizes), [&](std::span<const int64_t> cell) {
      int64_t offset = 0;
      for (size_t d = 0; d < window.size(); ++d) {
        const int64_t element = window[d].ElementAt(at[d], cell[d], operand.dims()[d]);
        if (element < 0) return;
        offset += element * strides[d];
      }
      if (chosen < 0) {
        chosen = offset;
        return;
      }
      const void* args[] = {operand.bytes() + chosen * width, operand.bytes() + offset * width};
      uint8_t keep = 0;
      void* results[] = {&keep};
      if (status.ok()) status = select.Apply(1, args, results);
      if (keep == 0) chosen = offset;
    });
    if (chosen >= 0 && status.ok()) {
      std::byte* target = out.mutable_bytes() + chosen * out_width;
      const void* args[] = {target, source.bytes() + source_index * source_width};
      void* results[] = {target};
      status = scatter.Apply(1, args, results);
    }
    ++source_index;
  });
  TENON_RETURN_IF_ERROR(status);
  return context.Return(std::move(out));
}

constexpr OpEntry kOps[] = {{"stablehlo.reduce_window", &ReduceWindow},
                            {"stablehlo.select_and_scatter", &SelectAndScatter}};

}  // namespace

std::span<const OpEntry> WindowOps() { return kOps; }

}  // namespace tenon::reference
