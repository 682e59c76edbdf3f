// A dilated input is mostly holes. Outputs whose windows meet its elements at the same window elements form a phase:
// each is a convolution of the undilated input with those elements of the window.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <numeric>

#include "tenon/base/strided_copy.h"
#include "tenon/kernels/conv/internal.h"

namespace tenon::kernels::internal {
namespace {

/// A phase under way: the signature so far and where its operands begin, in elements.
struct Phase {
  ConvSignature s;
  int64_t weight_offset = 0, out_offset = 0;
};

bool Splits(const ConvDim& d) { return d.in_dilation > 1 && d.stride == 1; }

/// Outputs p, p + in_dilation ... of dimension `i`, which splits.
Phase PhaseOf(const Phase& whole, size_t i, int64_t p) {
  Phase phase = whole;
  const ConvDim& old = whole.s.dims[i];
  ConvDim& d = phase.s.dims[i];
  const int64_t holes = old.in_dilation;
  const int64_t common = std::gcd(old.window_dilation, holes);
  const int64_t step = holes / common;  // From one window element that meets an input element to the next.
  int64_t first = 0;
  while (first < step && first < old.window && (p - old.low + first * old.window_dilation) % holes != 0) ++first;
  d.out = (old.out - p + holes - 1) / holes;
  d.out_stride = old.out_stride * holes;
  d.in_dilation = 1;
  d.window_dilation = step * old.window_dilation / holes;
  d.weight_stride = step * old.weight_stride;
  d.window = first == step || first >= old.window ? 0 : (old.window - 1 - first) / step + 1;
  d.low = d.window == 0 ? 0 : -((p - old.low + first * old.window_dilation) / holes);
  const int64_t lowest = old.reversed ? old.window - 1 - first - (d.window - 1) * step : first;
  phase.weight_offset += d.window == 0 ? 0 : lowest * old.weight_stride;
  phase.out_offset += p * old.out_stride;
  return phase;
}

/// What no element of the window sees.
void FillZero(const ConvSignature& s, std::byte* out) {
  const int64_t width = ByteWidth(s.out_type);
  Dims dims = {s.groups, s.batch, s.out_channels}, to = {s.out_group_stride, s.out_batch_stride, s.out_channel_stride};
  for (const ConvDim& d : s.dims) {
    dims.push_back(d.out);
    to.push_back(d.out_stride);
  }
  for (int64_t& stride : to) stride *= width;
  const uint64_t zero = 0;
  StridedCopy(out, to, &zero, Dims(dims.size(), 0), dims, width);
}

/// The phase's weights one after another: output channels innermost, then input channels, the window, groups.
Status RunPhase(Phase phase, const void* in, const void* weights, void* out, threads::ThreadPool& pool) {
  ConvSignature& s = phase.s;
  std::byte* const to_out = static_cast<std::byte*>(out) + phase.out_offset * ByteWidth(s.out_type);
  if (std::any_of(s.dims.begin(), s.dims.end(), [](const ConvDim& d) { return d.window == 0; })) {
    FillZero(s, to_out);
    return OkStatus();
  }
  const int64_t width = ByteWidth(s.type);
  Dims dims = {s.groups}, from = {s.weight_group_stride};
  for (const ConvDim& d : s.dims) {
    dims.push_back(d.window);
    from.push_back(d.weight_stride);
  }
  dims.push_back(s.in_channels);
  from.push_back(s.weight_in_stride);
  dims.push_back(s.out_channels);
  from.push_back(s.weight_out_stride);
  Dims to = RowMajorStridesElems(dims);
  s.weight_group_stride = to[0];
  for (size_t i = 0; i < s.dims.size(); ++i) s.dims[i].weight_stride = to[1 + i];
  s.weight_in_stride = to[1 + s.dims.size()];
  s.weight_out_stride = 1;
  for (int64_t& stride : from) stride *= width;
  for (int64_t& stride : to) stride *= width;
  const auto bytes = static_cast<size_t>(NumElements(dims) * width);
  const std::unique_ptr<std::byte[]> packed(new (std::nothrow) std::byte[bytes]);
  if (packed == nullptr) return ResourceExhausted("convolution: no memory for a phase's weights");
  StridedCopy(packed.get(), to, static_cast<const std::byte*>(weights) + phase.weight_offset * width, from, dims,
              width);
  return ConvOfWhole(s, in, packed.get(), to_out, pool);
}

Status RunFrom(size_t i, const Phase& phase, const void* in, const void* weights, void* out,
               threads::ThreadPool& pool) {
  if (i == phase.s.dims.size()) return RunPhase(phase, in, weights, out, pool);
  const ConvDim& d = phase.s.dims[i];
  if (!Splits(d)) return RunFrom(i + 1, phase, in, weights, out, pool);
  for (int64_t p = 0; p < std::min(d.in_dilation, d.out); ++p) {
    TENON_RETURN_IF_ERROR(RunFrom(i + 1, PhaseOf(phase, i, p), in, weights, out, pool));
  }
  return OkStatus();
}

}  // namespace

bool HasPhases(const ConvSignature& s) { return std::any_of(s.dims.begin(), s.dims.end(), Splits); }

Status ConvInPhases(const ConvSignature& s, const void* in, const void* weights, void* out, threads::ThreadPool& pool) {
  return RunFrom(0, {s}, in, weights, out, pool);
}

}  // namespace tenon::kernels::internal
