// A dilated input is mostly holes. Outputs whose windows meet its elements at the same window elements form a phase:
// each is a convolution of the undilated input with those elements of the window.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "tenon/base/strided_array.h"
#include "tenon/base/strided_copy.h"
#include "tenon/kernels/conv/internal.h"

namespace tenon::kernels::internal {
namespace {

// A phase's results lie apart in the output: rows of them are a product each, whose costs rows of fewer places do not
// repay. Such results are made side by side as long as they stay in a core's cache.
constexpr int64_t kShortRow = 128;
constexpr int64_t kMaxStagedBytes = 512 << 10;

bool Splits(const ConvDim& d) { return d.in_dilation > 1 && d.stride == 1; }

/// From one element of the window that meets an element of the input to the next.
int64_t WindowStep(const ConvDim& d) { return d.in_dilation / std::gcd(d.window_dilation, d.in_dilation); }

/// The first of the outputs along a dimension, which splits, whose windows meet the input with element `first` and
/// every WindowStep-th one from there on; the others follow every in_dilation places.
int64_t FirstOutput(const ConvDim& d, int64_t first) {
  const int64_t p = (d.low - first * d.window_dilation) % d.in_dilation;
  return p < 0 ? p + d.in_dilation : p;
}

/// Those outputs of dimension `i`, of which there are some. Offsets in elements.
Phase PhaseOf(const Phase& whole, size_t i, int64_t first) {
  Phase phase = whole;
  const ConvDim& old = whole.s.dims[i];
  ConvDim& d = phase.s.dims[i];
  const int64_t holes = old.in_dilation, step = WindowStep(old), p = FirstOutput(old, first);
  d.out = (old.out - p + holes - 1) / holes;
  d.out_stride = old.out_stride * holes;
  d.in_dilation = 1;
  d.window_dilation = step * old.window_dilation / holes;
  d.weight_stride = step * old.weight_stride;
  d.window = (old.window - 1 - first) / step + 1;
  d.low = -((p - old.low + first * old.window_dilation) / holes);
  phase.weight_offset += (old.reversed ? old.window - 1 - first - (d.window - 1) * step : first) * old.weight_stride;
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
  phase.staged = row != nullptr && row->out < kShortRow && NumElements(dims) * width <= kMaxStagedBytes;
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

/// As many phases as windows have elements, at most: whatever the holes, what is left of the outputs is 0.
void Split(size_t i, const Phase& phase, Phases& phases) {
  if (i == phase.s.dims.size()) return phases.list.push_back(phase);
  const ConvDim& d = phase.s.dims[i];
  if (!Splits(d)) return Split(i + 1, phase, phases);
  int64_t found = 0;
  for (int64_t first = 0; first < std::min(WindowStep(d), d.window); ++first) {
    if (FirstOutput(d, first) >= d.out) continue;
    Split(i + 1, PhaseOf(phase, i, first), phases);
    ++found;
  }
  phases.leaves_some |= found < std::min(d.in_dilation, d.out);
}

/// The results of all phases together, as they lie.
Relay ResultsOf(const ConvSignature& s, int64_t width) {
  Relay r{{s.groups, s.batch}, {s.out_group_stride, s.out_batch_stride}, {}};
  for (const ConvDim& d : s.dims) {
    r.dims.push_back(d.out);
    r.outside.push_back(d.out_stride);
  }
  r.dims.push_back(s.out_channels);
  r.outside.push_back(s.out_channel_stride);
  InBytes(r.outside, width);
  return r;
}

}  // namespace

bool HasPhases(const ConvSignature& s) { return std::any_of(s.dims.begin(), s.dims.end(), Splits); }

Phases PhasesOf(const ConvSignature& s) {
  Phases phases;
  Phase whole;
  whole.s = s;
  Split(0, whole, phases);
  const int64_t width = ByteWidth(s.type), out_width = ByteWidth(s.out_type);
  phases.results = ResultsOf(s, out_width);
  phases.result_bytes = out_width;
  for (Phase& phase : phases.list) {
    phase.weight_offset *= width;
    phase.out_offset *= out_width;
    LayResults(phase, out_width);
    if (phase.staged) phases.staged_bytes = std::max(phases.staged_bytes, NumElements(phase.results.dims) * out_width);
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
  StridedCopy(static_cast<std::byte*>(out) + phase.out_offset, r.outside, staged, r.inside, r.dims,
              ByteWidth(phase.s.out_type));
}

void ClearResults(const Phases& phases, void* out, threads::ThreadPool& pool) {
  const Relay& r = phases.results;
  if (!HasNoGaps(r.dims, r.outside, phases.result_bytes)) {
    const uint64_t zero = 0;
    return StridedCopy(out, r.outside, &zero, Dims(r.dims.size(), 0), r.dims, phases.result_bytes);
  }
  // Chunks that are worth a thread's while.
  constexpr int64_t kChunkBytes = 256 << 10, kBytesPerNs = 8;
  const int64_t bytes = NumElements(r.dims) * phases.result_bytes;
  pool.ParallelFor((bytes + kChunkBytes - 1) / kChunkBytes, bytes / kBytesPerNs, [&](int64_t i) {
    const int64_t begin = i * kChunkBytes;
    std::memset(static_cast<std::byte*>(out) + begin, 0, static_cast<size_t>(std::min(kChunkBytes, bytes - begin)));
  });
}

}  // namespace tenon::kernels::internal
