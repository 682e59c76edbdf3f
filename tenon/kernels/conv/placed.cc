// Where the patches of a convolution lie, so that products read them element by element and nothing is packed.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "tenon/kernels/conv/internal.h"

namespace tenon::kernels::internal {
namespace {

void SortByStride(Axes& axes) {
  for (size_t i = 1; i < axes.size(); ++i) {
    for (size_t j = i; j > 0 && axes[j - 1].stride < axes[j].stride; --j) std::swap(axes[j - 1], axes[j]);
  }
}

// Columns that are worth a tile.
constexpr int64_t kMinColumns = 8;

/// From one of the innermost places to the next, in elements of the input, where its neighbours lie along them and not
/// along the channels; 0 where they do not.
int64_t StepAlongPlaces(const ConvSignature& s, const Mapping& m) {
  if (m.places.empty()) return 0;
  if (!m.depth.empty() && m.depth.back().what == kChannel && s.in_channel_stride == 1) return 0;
  const int along = m.places.back().what;
  if (along == kBatch) return s.in_batch_stride == 1 ? 1 : 0;
  const ConvDim& d = s.dims[static_cast<size_t>(along)];
  return d.in_dilation == 1 && d.in_stride == 1 ? d.stride : 0;
}

}  // namespace

bool RunsAlongPlaces(const ConvSignature& s, const Mapping& m) { return StepAlongPlaces(s, m) == 1; }

Mapping MapOf(const ConvSignature& s) {
  Mapping m;
  Axes places = {{kBatch, s.batch, s.out_batch_stride}};
  Axes depth = {{kChannel, s.in_channels, s.weight_in_stride}};
  for (size_t d = 0; d < s.dims.size(); ++d) {
    places.push_back({static_cast<int>(d), s.dims[d].out, s.dims[d].out_stride});
    depth.push_back({static_cast<int>(d), s.dims[d].window, s.dims[d].weight_stride});
  }
  const auto drop_ones = [](Axes& axes) {
    Axes kept;
    for (const Axis& a : axes) {
      if (a.extent != 1) kept.push_back(a);
    }
    axes = kept;
  };
  drop_ones(places);
  drop_ones(depth);
  SortByStride(places);
  SortByStride(depth);
  // The innermost places that run on in the output are rows; the rest is a batch.
  size_t first = places.size();
  for (int64_t expect = 0; first > 0; --first) {
    const Axis& a = places[first - 1];
    if (first == places.size()) {
      m.place_stride = a.stride;
    } else if (a.stride != expect) {
      break;
    }
    m.num_places *= a.extent;
    expect = a.stride * a.extent;
  }
  m.places = Axes(places.begin() + first, places.end());
  if (s.groups > 1) m.batches.push_back({kGroup, s.groups, 0});
  for (size_t i = 0; i < first; ++i) m.batches.push_back(places[i]);
  int64_t expect = 0;
  m.valid = m.batches.size() <= static_cast<size_t>(kMaxGemmBatchDims);
  for (size_t i = depth.size(); i-- > 0;) {
    if (i + 1 == depth.size()) {
      m.depth_stride = depth[i].stride;
    } else {
      m.valid &= depth[i].stride == expect;
    }
    m.num_depth *= depth[i].extent;
    expect = depth[i].stride * depth[i].extent;
  }
  m.depth = depth;
  m.places_are_rows = s.out_channel_stride == 1 || m.place_stride != 1 || s.out_channels == 1;
  // A vector of weights goes along whichever way the input runs on.
  if (s.out_channels == 1 && m.place_stride == 1)
    m.places_are_rows = StepAlongPlaces(s, m) == 0 || m.places.back().extent < kMinColumns;
  return m;
}

int64_t InputStride(const ConvSignature& s, const Axis& axis) {
  if (axis.what == kGroup) return s.in_group_stride;
  if (axis.what == kBatch) return s.in_batch_stride;
  const ConvDim& d = s.dims[static_cast<size_t>(axis.what)];
  return d.in_stride * d.stride;
}

namespace {

// A larger copy would leave the caches and the idle blocks of memory: such inputs are packed strip by strip.
constexpr int64_t kMaxLaidBytes = int64_t{64} << 20;

/// Whether products of matrices are so much faster that packing pays: in multiplications of vectors, one of which a
/// core begins per cycle.
bool PacksFaster(const ConvSignature& s, const Mapping& m, double slower) {
  if (slower == 1) return false;
  // An element takes more in a short run, and sums that are made apart take some time to meet.
  constexpr double kPackPasses = 0.5, kPackRunPasses = 12, kLanes = 16, kSumsPart = 1.15;
  const bool by_channels = !m.depth.empty() && m.depth.back().what == kChannel && s.in_channel_stride == 1;
  const double run = by_channels ? static_cast<double>(s.in_channels) : 1;
  const double vectors = std::ceil(static_cast<double>(s.out_channels) / kLanes);
  return vectors * (kSumsPart - 1 / slower) > kPackPasses + kPackRunPasses / run;
}

/// Places that the windows look at, of dimension d: from -low on so many.
int64_t Span(const ConvDim& d) { return (d.out - 1) * d.stride + (d.window - 1) * d.window_dilation + 1; }

}  // namespace

std::optional<Laid> LayOf(const ConvSignature& s, const Mapping& flat) {
  if (flat.num_places == 1 || flat.num_depth == 0) return std::nullopt;
  if (s.out_channels == 1 && flat.places_are_rows) return std::nullopt;  // Those are added in lanes.
  const GemmTakesPlaces takes = TakesPlaces(s.type);
  if (!(flat.places_are_rows ? takes.a : takes.b)) return std::nullopt;
  if (flat.places_are_rows && PacksFaster(s, flat, takes.slower)) return std::nullopt;
  Laid laid{s, flat};
  if (!flat.places_are_rows) {
    // Columns are one axis; the others are matrices of the batch.
    Mapping& m = laid.m;
    const int along = m.places.back().what;
    if (along < 0 || m.places.back().extent < kMinColumns) return std::nullopt;
    ConvDim& d = laid.s.dims[static_cast<size_t>(along)];
    if (d.in_stride != 1) return std::nullopt;
    // A copy of all that lies between windows would be mostly of what nobody reads.
    if (d.stride > 2 * ((d.window - 1) * d.window_dilation + 1)) return std::nullopt;
    if (d.stride != 1) laid.step_dim = along;
    laid.step = std::exchange(d.stride, 1);
    for (size_t i = 0; i + 1 < m.places.size(); ++i) m.batches.push_back(m.places[i]);
    m.places = {m.places.back()};
    m.num_places = m.places[0].extent;
    if (m.batches.size() > static_cast<size_t>(kMaxGemmBatchDims)) return std::nullopt;
  }
  const int64_t width = ByteWidth(s.type), placed_width = PlacedBytes(s.type);
  bool copies = width != placed_width || laid.step != 1;
  for (const ConvDim& d : s.dims) {
    if (d.in_dilation != 1 || d.in == 0 || d.in_stride < 0) return std::nullopt;
    copies |= d.low > 0 || Span(d) - d.low > d.in;
  }
  for (int64_t stride : {s.in_batch_stride, s.in_channel_stride, s.in_group_stride}) {
    if (stride < 0) return std::nullopt;
  }
  if (!copies) {
    for (ConvDim& d : laid.s.dims) {
      laid.first_byte -= d.low * d.in_stride * width;
      d.low = 0;
    }
    return laid;
  }
  // The copy keeps the order of the input's dims.
  struct Source {
    Laid::Axis axis;
    int64_t* stride;
  };
  SmallVector<Source, 6> sources;
  ConvSignature& to = laid.s;
  const auto whole = [&](int64_t extent, int64_t& stride) {
    sources.push_back({{extent, 0, extent, 0, stride, 0}, &stride});
  };
  whole(s.groups, to.in_group_stride);
  whole(s.batch, to.in_batch_stride);
  for (size_t i = 0; i < to.dims.size(); ++i) {
    ConvDim& d = to.dims[i];
    Laid::Axis axis;
    axis.extent = Span(s.dims[i]);
    if (static_cast<int>(i) == laid.step_dim) axis.extent = (axis.extent + laid.step - 1) / laid.step * laid.step;
    axis.low = std::clamp<int64_t>(d.low, 0, axis.extent);
    axis.skip = std::max<int64_t>(-d.low, 0);
    axis.count = std::clamp<int64_t>(std::min(d.in - axis.skip, axis.extent - axis.low), 0, axis.extent);
    axis.in_stride = d.in_stride;
    sources.push_back({axis, &d.in_stride});
    d.in = axis.extent;
    d.low = 0;
  }
  whole(s.in_channels, to.in_channel_stride);
  for (size_t i = 1; i < sources.size(); ++i) {
    for (size_t j = i; j > 0 && sources[j - 1].axis.in_stride < sources[j].axis.in_stride; --j)
      std::swap(sources[j - 1], sources[j]);
  }
  int64_t elements = 1;
  for (size_t i = sources.size(); i-- > 0;) {
    Laid::Axis& axis = sources[i].axis;
    if (axis.extent == 0 || axis.extent > kMaxLaidBytes) return std::nullopt;
    *sources[i].stride = axis.to_stride = elements;
    elements *= axis.extent;
    if (elements * placed_width > kMaxLaidBytes) return std::nullopt;
    if (axis.extent == 1 && axis.count == 1 && axis.skip == 0) continue;
    // An axis and what it steps over whole are one.
    if (!laid.axes.empty() && (laid.step == 1 || laid.axes.size() > 1)) {
      Laid::Axis& inner = laid.axes.back();
      if (inner.count == inner.extent && inner.skip == 0 && axis.in_stride == inner.in_stride * inner.extent) {
        axis.extent *= inner.extent;
        axis.low *= inner.extent;
        axis.count *= inner.extent;
        axis.skip *= inner.extent;
        axis.in_stride = inner.in_stride;
        axis.to_stride = inner.to_stride;
        inner = axis;
        continue;
      }
    }
    laid.axes.push_back(axis);
  }
  // Where another dim is read again and again (stride 0), it is the copy's innermost one.
  if (!laid.m.places_are_rows && InputStride(to, laid.m.places[0]) != 1) return std::nullopt;
  if (laid.axes.empty()) laid.axes.push_back({.in_stride = 1, .to_stride = 1});
  std::reverse(laid.axes.begin(), laid.axes.end());
  laid.bytes = elements * placed_width;
  return laid;
}

namespace {

// What the rows of a copy have in common.
struct RowPlan {
  explicit RowPlan(const Laid& l)
      : row(l.axes.back()),
        step(l.step),
        extent(l.step_extent()),
        type(l.s.type),
        width(ByteWidth(type)),
        placed_width(PlacedBytes(type)),
        runs(row.in_stride * step == 1 && width == placed_width) {}
  const Laid::Axis row;
  const int64_t step, extent;  // Of the elements that lie together.
  const DType type;
  const int64_t width, placed_width;
  const bool runs;  // They are copied as they are.

  // `count` elements from `from` on, zeros before and behind them.
  void Part(int64_t low, int64_t count, const std::byte* from, std::byte* target) const {
    std::byte* const middle = target + low * placed_width;
    std::byte* const behind = middle + count * placed_width;
    std::memset(target, 0, static_cast<size_t>(middle - target));
    if (runs) {
      std::memcpy(middle, from, static_cast<size_t>(count * width));
    } else {
      ToPlacedElements(type, from, row.in_stride * step, count, middle);
    }
    std::memset(behind, 0, static_cast<size_t>(target + extent * placed_width - behind));
  }
  // Of a row whose first element lies at `source`.
  void Lay(const std::byte* source, std::byte* target) const {
    if (step == 1) return Part(row.low, row.count, source, target);
    // Elements of every `step`-th place from `first` on before place p.
    const auto before = [&](int64_t p, int64_t first) {
      return std::clamp<int64_t>((p - first + step - 1) / step, 0, extent);
    };
    for (int64_t first = 0; first < step; ++first, target += extent * placed_width) {
      const int64_t low = before(row.low, first), count = before(row.low + row.count, first) - low;
      const int64_t skipped = (low * step + first - row.low) * row.in_stride * width;
      Part(low, count, count == 0 ? source : source + skipped, target);
    }
  }
};

}  // namespace

void Lay(const Laid& laid, const void* in, void* to, threads::ThreadPool& pool) {
  const RowPlan plan(laid);
  const Laid::Axis& row = plan.row;
  const size_t outer = laid.axes.size() - 1;
  int64_t rows = 1;
  for (size_t i = 0; i < outer; ++i) rows *= laid.axes[i].extent;
  // Rows are made in chunks that are worth a thread's while.
  constexpr int64_t kChunkBytes = 64 << 10;
  constexpr double kBytesPerNs = 4;
  const int64_t row_bytes = row.extent * plan.placed_width;
  const int64_t chunk = std::clamp<int64_t>(kChunkBytes / row_bytes, 1, rows);
  const auto cost_ns = static_cast<int64_t>(static_cast<double>(laid.bytes) / kBytesPerNs);
  pool.ParallelFor((rows + chunk - 1) / chunk, cost_ns, [&](int64_t c) {
    const int64_t first = c * chunk, end = std::min(rows, first + chunk);
    int64_t at[6] = {};
    int64_t rest = first;
    for (size_t i = outer; i-- > 0;) {
      at[i] = rest % laid.axes[i].extent;
      rest /= laid.axes[i].extent;
    }
    for (int64_t r = first; r < end; ++r) {
      bool inside = true;
      int64_t from = row.skip * row.in_stride;
      for (size_t i = 0; i < outer; ++i) {
        const Laid::Axis& axis = laid.axes[i];
        const int64_t p = at[i] - axis.low;
        inside &= static_cast<uint64_t>(p) < static_cast<uint64_t>(axis.count);
        from += (p + axis.skip) * axis.in_stride;
      }
      std::byte* const target = static_cast<std::byte*>(to) + r * row_bytes;
      if (!inside) {
        std::memset(target, 0, static_cast<size_t>(row_bytes));
      } else {
        plan.Lay(static_cast<const std::byte*>(in) + from * plan.width, target);
      }
      for (size_t i = outer; i-- > 0;) {
        if (++at[i] < laid.axes[i].extent) break;
        at[i] = 0;
      }
    }
  });
}

GemmPlaces PlacesOf(const Laid& laid) {
  const ConvSignature& s = laid.s;
  GemmPlaces places;
  for (const Axis& axis : laid.m.places) places.axes.push_back({axis.extent, InputStride(s, axis)});
  places.depth.reserve(static_cast<size_t>(laid.m.num_depth));
  Count at(laid.m.depth, 0);
  for (int64_t k = 0; k < laid.m.num_depth; ++k, at.Next(laid.m.depth)) {
    int64_t offset = 0;
    for (size_t i = 0; i < laid.m.depth.size(); ++i) {
      const int what = laid.m.depth[i].what;
      if (what == kChannel) {
        offset += at.at[i] * s.in_channel_stride;
        continue;
      }
      const ConvDim& d = s.dims[static_cast<size_t>(what)];
      const int64_t place = (d.reversed ? d.window - 1 - at.at[i] : at.at[i]) * d.window_dilation;
      offset +=
          what == laid.step_dim ? place % laid.step * laid.step_extent() + place / laid.step : place * d.in_stride;
    }
    places.depth.push_back(offset);
  }
  return places;
}

}  // namespace tenon::kernels::internal
