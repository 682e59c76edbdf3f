// A dilated input is mostly holes. Outputs whose windows meet its elements at the same window elements form a phase:
// each is a convolution of the undilated input with those elements of the window.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>

#include "tenon/base/strided_copy.h"
#include "tenon/kernels/conv/internal.h"

namespace tenon::kernels::internal {
namespace {

// A phase's results lie apart in the output: rows of them are a product each, whose costs rows of fewer places do not
// repay. Such results are made side by side as long as they stay in a core's cache.
constexpr int64_t kShortRow = 128;
constexpr int64_t kMaxStagedBytes = 512 << 10;

bool Splits(const ConvDim& d) { return d.in_dilation > 1 && d.stride == 1; }

/// Outputs p, p + in_dilation ... of dimension `i`, which splits. Offsets in elements.
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

void InBytes(Dims& strides, int64_t width) {
  for (int64_t& stride : strides) stride *= width;
}

/// The weights one after another: the window, and inside of it channels, or inside of output channels where those lie
/// further apart than input channels: runs stay runs.
void LayWeights(Phase& phase, int64_t width) {
  ConvSignature& s = phase.s;
  const bool by_results = std::abs(s.weight_in_stride) < std::abs(s.weight_out_stride);
  Dims dims = {s.groups}, from = {s.weight_group_stride};
  const auto add = [&](int64_t extent, int64_t stride) {
    dims.push_back(extent);
    from.push_back(stride);
  };
  if (by_results) add(s.out_channels, s.weight_out_stride);
  for (const ConvDim& d : s.dims) add(d.window, d.weight_stride);
  add(s.in_channels, s.weight_in_stride);
  if (!by_results) add(s.out_channels, s.weight_out_stride);
  Dims to = RowMajorStridesElems(dims);
  size_t at = 0;
  s.weight_group_stride = to[at++];
  if (by_results) s.weight_out_stride = to[at++];
  for (ConvDim& d : s.dims) d.weight_stride = to[at++];
  s.weight_in_stride = to[at++];
  if (!by_results) s.weight_out_stride = to[at];
  InBytes(from, width);
  InBytes(to, width);
  phase.weights = {dims, from, to};
}

void LayResults(Phase& phase, int64_t width) {
  ConvSignature& s = phase.s;
  Dims dims = {s.groups, s.batch}, outside = {s.out_group_stride, s.out_batch_stride};
  const ConvDim* row = nullptr;
  for (const ConvDim& d : s.dims) {
    dims.push_back(d.out);
    outside.push_back(d.out_stride);
    if (d.out > 1 && (row == nullptr || d.out_stride < row->out_stride)) row = &d;
  }
  dims.push_back(s.out_channels);
  outside.push_back(s.out_channel_stride);
  Dims inside = RowMajorStridesElems(dims);
  phase.staged = !phase.empty && row != nullptr && row->out < kShortRow && NumElements(dims) * width <= kMaxStagedBytes;
  if (phase.staged) {
    s.out_group_stride = inside[0];
    s.out_batch_stride = inside[1];
    for (size_t i = 0; i < s.dims.size(); ++i) s.dims[i].out_stride = inside[2 + i];
    s.out_channel_stride = 1;
  }
  InBytes(outside, width);
  InBytes(inside, width);
  phase.results = {dims, outside, inside};
}

void Split(size_t i, const Phase& phase, std::vector<Phase>& list) {
  if (i == phase.s.dims.size()) return list.push_back(phase);
  const ConvDim& d = phase.s.dims[i];
  if (!Splits(d)) return Split(i + 1, phase, list);
  for (int64_t p = 0; p < std::min(d.in_dilation, d.out); ++p) Split(i + 1, PhaseOf(phase, i, p), list);
}

}  // namespace

bool HasPhases(const ConvSignature& s) { return std::any_of(s.dims.begin(), s.dims.end(), Splits); }

Phases PhasesOf(const ConvSignature& s) {
  Phases phases;
  Phase whole;
  whole.s = s;
  Split(0, whole, phases.list);
  const int64_t width = ByteWidth(s.type), out_width = ByteWidth(s.out_type);
  for (Phase& phase : phases.list) {
    const auto& dims = phase.s.dims;
    phase.empty = std::any_of(dims.begin(), dims.end(), [](const ConvDim& d) { return d.window == 0; });
    phase.weight_offset *= width;
    phase.out_offset *= out_width;
    LayResults(phase, out_width);
    if (phase.staged) phases.staged_bytes = std::max(phases.staged_bytes, NumElements(phase.results.dims) * out_width);
    if (phase.empty) continue;
    LayWeights(phase, width);
    phase.packed_offset = phases.packed_bytes;
    constexpr int64_t kLine = 64;
    phases.packed_bytes += (NumElements(phase.weights.dims) * width + kLine - 1) / kLine * kLine;
  }
  return phases;
}

void PackWeights(const Phase& phase, const void* weights, std::byte* packed) {
  const Relay& w = phase.weights;
  StridedCopy(packed + phase.packed_offset, w.inside, static_cast<const std::byte*>(weights) + phase.weight_offset,
              w.outside, w.dims, ByteWidth(phase.s.type));
}

void StoreResults(const Phase& phase, const std::byte* staged, void* out) {
  const Relay& r = phase.results;
  std::byte* const to = static_cast<std::byte*>(out) + phase.out_offset;
  const uint64_t zero = 0;
  if (phase.empty)
    return StridedCopy(to, r.outside, &zero, Dims(r.dims.size(), 0), r.dims, ByteWidth(phase.s.out_type));
  StridedCopy(to, r.outside, staged, r.inside, r.dims, ByteWidth(phase.s.out_type));
}

}  // namespace tenon::kernels::internal
