// A convolution is a product of patches and weights. The patches are never stored: the product's packing hook reads
// them from the input, strip by strip.
#include "tenon/kernels/conv/conv.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/kernels/conv/internal.h"
#include "tenon/kernels/gemm/gemm.h"
#include "tenon/kernels/scratch/scratch.h"

namespace tenon::kernels {
namespace {

using internal::Axes;
using internal::Axis;
using internal::Count;
using internal::kBatch;
using internal::kChannel;
using internal::kGroup;
using internal::Laid;
using internal::MapOf;
using internal::Mapping;
using internal::RunsAlongPlaces;

constexpr int kNothing = -3;  // Beside kChannel, kBatch and kGroup.
// Places that run on in the input are worth packing as runs from so many on.
constexpr int64_t kMinRun = 4;

/// Coordinates in the output, by what they are of.
struct Place {
  int64_t batch = 0, group = 0;
  int64_t o[3] = {};
  void Add(const Axes& axes, const Count& count) {
    for (size_t i = 0; i < axes.size(); ++i) {
      (axes[i].what == kBatch ? batch : axes[i].what == kGroup ? group : o[axes[i].what]) += count.at[i];
    }
  }
  void Add(const Axes& axes, int64_t flat) { Add(axes, Count(axes, flat)); }
};

/// Neighbouring elements of one packed row or column.
struct Segment {
  int64_t k[3] = {};   // Dilated window coordinates, or output coordinates.
  int64_t offset = 0;  // In the input, where everything is inside.
  int64_t inner = 0;   // First channel or place.
  int64_t to = 0;      // Where it goes.
  int64_t count = 1;
};

template <class T>
class Patches {
 public:
  Patches(const ConvSignature& s, const Mapping& m, bool along_places, const void* in)
      : s_(s), m_(m), in_(static_cast<const T*>(in)), along_places_(along_places) {}

  /// Tile rows are places, columns depth.
  static void PackRows(void* context, const GemmTile& tile) {
    const auto& self = *static_cast<const Patches*>(context);
    if (!self.along_places_) return self.Rows(tile);
    GemmTile turned = tile;
    std::swap(turned.row0, turned.col0);
    std::swap(turned.rows, turned.cols);
    std::swap(turned.row_stride, turned.col_stride);
    self.Columns(turned);
  }
  /// Tile rows are depth, columns places.
  static void PackColumns(void* context, const GemmTile& tile) { static_cast<const Patches*>(context)->Columns(tile); }

 private:
  int64_t WindowPlace(size_t d, int64_t k) const {
    const ConvDim& dim = s_.dims[d];
    return (dim.reversed ? dim.window - 1 - k : k) * dim.window_dilation;
  }
  int64_t WindowStep(size_t d) const {
    const ConvDim& dim = s_.dims[d];
    return dim.reversed ? -dim.window_dilation : dim.window_dilation;
  }
  bool IsDilated(int what) const { return what >= 0 && s_.dims[static_cast<size_t>(what)].in_dilation != 1; }
  /// Whether place p of spatial dimension d is an element; adds its offset.
  bool Inside(size_t d, int64_t p, int64_t* offset) const {
    const ConvDim& dim = s_.dims[d];
    if (dim.in_dilation != 1) {
      if (p < 0 || p % dim.in_dilation != 0) return false;
      p /= dim.in_dilation;
    }
    *offset += p * dim.in_stride;
    return static_cast<uint64_t>(p) < static_cast<uint64_t>(dim.in);
  }
  int64_t BaseOf(const Place& place) const {
    return place.group * s_.in_group_stride + place.batch * s_.in_batch_stride;
  }

  // Runs are often shorter than a call to memcpy takes: 16 bytes at a time, the last ones over again.
  static void CopyRun(const T* from, int64_t count, T* to) {
    constexpr int64_t kPiece = 16 / sizeof(T), kMostPieces = 8;
    if (count > kMostPieces * kPiece) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    } else if (count >= kPiece) {
      for (int64_t i = 0; i < count - kPiece; i += kPiece) {
        std::memcpy(to + i, from + i, 16);
        asm volatile("");  // The loop is not to become a call again.
      }
      std::memcpy(to + count - kPiece, from + count - kPiece, 16);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        to[i] = from[i];
        asm volatile("");
      }
    }
  }
  static void Copy(const T* from, int64_t from_stride, int64_t count, T* to, int64_t to_stride) {
    if (from_stride == 1 && to_stride == 1) return CopyRun(from, count, to);
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
  static void Zero(int64_t count, T* to, int64_t to_stride) {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = T{};
  }

  void Rows(const GemmTile& tile) const {
    // The columns are the same for all rows: runs of channels, or single elements where the window is innermost.
    const bool by_channels = !m_.depth.empty() && m_.depth.back().what == kChannel;
    const int64_t run = by_channels ? m_.depth.back().extent : 1;
    SmallVector<Segment, 32> edge;
    bool dilated = false;
    int64_t last[3] = {};
    for (size_t d = 0; d < s_.dims.size(); ++d) {
      dilated |= s_.dims[d].in_dilation != 1;
      last[d] = (s_.dims[d].window - 1) * s_.dims[d].window_dilation;
    }
    Count depth(m_.depth, tile.col0);
    for (int64_t c = 0; c < tile.cols;) {
      Segment seg;
      for (size_t i = 0; i < m_.depth.size(); ++i) {
        if (m_.depth[i].what == kChannel) {
          seg.inner = depth.at[i];
        } else {
          const auto d = static_cast<size_t>(m_.depth[i].what);
          seg.k[d] = WindowPlace(d, depth.at[i]);
          seg.offset += seg.k[d] * s_.dims[d].in_stride;
        }
      }
      seg.offset += seg.inner * s_.in_channel_stride;
      seg.to = c;
      seg.count = by_channels ? std::min(run - seg.inner, tile.cols - c) : 1;
      c += seg.count;
      if (by_channels) {
        depth.Skip(m_.depth);
      } else {
        depth.Next(m_.depth);
      }
      edge.push_back(seg);
    }
    // Where all of the window is inside, neighbours in the input are copied together.
    SmallVector<Segment, 32> inside;
    if (!dilated) {
      for (const Segment& seg : edge) {
        if (!inside.empty() && s_.in_channel_stride == 1 && inside.back().offset + inside.back().count == seg.offset) {
          inside.back().count += seg.count;
        } else {
          inside.push_back(seg);
        }
      }
    }
    T* const data = static_cast<T*>(tile.data);
    Place origin;
    origin.Add(m_.batches, tile.batch);
    Count at(m_.places, tile.row0);
    for (int64_t r = 0; r < tile.rows; ++r, at.Next(m_.places)) {
      Place place = origin;
      place.Add(m_.places, at);
      int64_t from[3] = {};
      int64_t base = BaseOf(place), first = base;
      bool whole = !dilated;
      for (size_t d = 0; d < s_.dims.size(); ++d) {
        from[d] = place.o[d] * s_.dims[d].stride - s_.dims[d].low;
        whole &= from[d] >= 0 && from[d] + last[d] < s_.dims[d].in;
        first += from[d] * s_.dims[d].in_stride;
      }
      T* const to = data + r * tile.row_stride;
      if (whole) {
        for (const Segment& seg : inside)
          Copy(in_ + first + seg.offset, s_.in_channel_stride, seg.count, to + seg.to * tile.col_stride,
               tile.col_stride);
        continue;
      }
      for (const Segment& seg : edge) {
        int64_t offset = base + seg.inner * s_.in_channel_stride;
        bool inner = true;
        for (size_t d = 0; d < s_.dims.size(); ++d) inner = Inside(d, from[d] + seg.k[d], &offset) && inner;
        if (inner) {
          Copy(in_ + offset, s_.in_channel_stride, seg.count, to + seg.to * tile.col_stride, tile.col_stride);
        } else {
          Zero(seg.count, to + seg.to * tile.col_stride, tile.col_stride);
        }
      }
    }
  }

  void Columns(const GemmTile& tile) const {
    Place origin;
    origin.Add(m_.batches, tile.batch);
    // The columns are the same for all rows: runs along the innermost places.
    const int along = m_.places.empty() ? kBatch : m_.places.back().what;
    const int64_t run = m_.places.empty() ? 1 : m_.places.back().extent;
    SmallVector<Segment, 32> segments;
    Count places(m_.places, tile.col0);
    for (int64_t c = 0; c < tile.cols; places.Skip(m_.places)) {
      Place place = origin;
      place.Add(m_.places, places);
      Segment seg;
      for (size_t d = 0; d < s_.dims.size(); ++d) seg.k[d] = place.o[d] * s_.dims[d].stride - s_.dims[d].low;
      seg.offset = BaseOf(place);
      seg.inner = m_.places.empty() ? 0 : places.at[m_.places.size() - 1];
      seg.to = c;
      seg.count = std::min(run - seg.inner, tile.cols - c);
      c += seg.count;
      segments.push_back(seg);
    }
    T* const data = static_cast<T*>(tile.data);
    // Along the depth's innermost axis so many rows at once.
    const int inner = m_.depth.empty() || IsDilated(m_.depth.back().what) ? kNothing : m_.depth.back().what;
    const bool by_channels = !m_.depth.empty() && m_.depth.back().what == kChannel;
    Count at(m_.depth, tile.row0);
    for (int64_t r = 0, n = 0; r < tile.rows; r += n) {
      int64_t window[3] = {};
      int64_t channel = 0;
      for (size_t i = 0; i < m_.depth.size(); ++i) {
        if (m_.depth[i].what == kChannel) {
          channel = at.at[i];
        } else {
          const auto d = static_cast<size_t>(m_.depth[i].what);
          window[d] = WindowPlace(d, at.at[i]);
        }
      }
      n = inner == kNothing ? 1 : std::min(m_.depth.back().extent - at.at[m_.depth.size() - 1], tile.rows - r);
      const int64_t place_step = by_channels || n == 1 ? 0 : WindowStep(static_cast<size_t>(inner));
      const int64_t step = by_channels ? s_.in_channel_stride
                           : n == 1    ? 0
                                       : place_step * s_.dims[static_cast<size_t>(inner)].in_stride;
      for (const Segment& seg : segments) {
        int64_t offset = seg.offset + channel * s_.in_channel_stride;
        Range rows{0, n};
        for (size_t d = 0; d < s_.dims.size(); ++d) {
          const int64_t p = seg.k[d] + window[d];
          if (static_cast<int>(d) == along) continue;
          if (n > 1 && static_cast<int>(d) == inner) {
            rows = InsideOf(p, place_step, s_.dims[d].in, rows);
            offset += p * s_.dims[d].in_stride;
          } else if (!Inside(d, p, &offset)) {
            rows = {0, 0};
          }
        }
        T* const to = data + r * tile.row_stride + seg.to * tile.col_stride;
        for (int64_t i = 0; i < rows.lo; ++i) Zero(seg.count, to + i * tile.row_stride, tile.col_stride);
        for (int64_t i = rows.hi; i < n; ++i) Zero(seg.count, to + i * tile.row_stride, tile.col_stride);
        if (along < 0) {  // Images, one after another.
          for (int64_t i = rows.lo; i < rows.hi; ++i)
            Copy(in_ + offset + i * step, s_.in_batch_stride, seg.count, to + i * tile.row_stride, tile.col_stride);
          continue;
        }
        const auto d = static_cast<size_t>(along);
        const int64_t p = seg.k[d] + window[d];  // Of the first place.
        for (int64_t i = rows.lo; i < rows.hi; ++i) {
          const bool moves = along == inner;
          Places(d, moves ? p + i * place_step : p, in_ + offset + (moves ? 0 : i * step), seg.count,
                 to + i * tile.row_stride, tile.col_stride);
        }
      }
      if (n == 1) {
        at.Next(m_.depth);
      } else {
        at.Skip(m_.depth);
      }
    }
  }

  struct Range {
    int64_t lo, hi;
  };
  /// Those i of a range for which p + i * step, step not 0, is one of `extent` places.
  static Range InsideOf(int64_t p, int64_t step, int64_t extent, Range range) {
    const auto up = [](int64_t a, int64_t b) { return a <= 0 ? 0 : b == 1 ? a : (a + b - 1) / b; };
    int64_t lo, hi;
    if (step > 0) {
      lo = up(-p, step);
      hi = up(extent - p, step);
    } else {
      lo = up(p - extent + 1, -step);
      hi = up(p + 1, -step);
    }
    lo = std::clamp(lo, range.lo, range.hi);
    return {lo, std::clamp(hi, lo, range.hi)};
  }

  /// `count` places along dimension d, whose first one sees place p; `from` is where that dimension's place 0 lies.
  void Places(size_t d, int64_t p, const T* from, int64_t count, T* to, int64_t to_stride) const {
    const ConvDim& dim = s_.dims[d];
    if (dim.in_dilation != 1) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t offset = 0;
        const bool exists = Inside(d, p + i * dim.stride, &offset);
        to[i * to_stride] = exists ? from[offset] : T{};
      }
      return;
    }
    const Range inside = InsideOf(p, dim.stride, dim.in, {0, count});
    Zero(inside.lo, to, to_stride);
    Copy(from + (p + inside.lo * dim.stride) * dim.in_stride, dim.stride * dim.in_stride, inside.hi - inside.lo,
         to + inside.lo * to_stride, to_stride);
    Zero(count - inside.hi, to + inside.hi * to_stride, to_stride);
  }

  const ConvSignature& s_;
  const Mapping& m_;
  const T* in_;
  const bool along_places_;
};

/// The patches as a matrix that lies in the input as it is: windows of one element. False when they do not.
bool DirectPatches(const ConvSignature& s, const Mapping& m, GemmSignature* g) {
  for (const ConvDim& d : s.dims) {
    if (d.window != 1 || d.low != 0 || d.in_dilation != 1 || (d.out - 1) * d.stride >= d.in) return false;
  }
  const auto input_stride = [&](const Axis& a) {
    if (a.what == kGroup) return s.in_group_stride;
    return a.what == kBatch
               ? s.in_batch_stride
               : s.dims[static_cast<size_t>(a.what)].in_stride * s.dims[static_cast<size_t>(a.what)].stride;
  };
  int64_t row_stride = 1, expect = 0;
  for (size_t i = m.places.size(); i-- > 0;) {
    const int64_t stride = input_stride(m.places[i]);
    if (i + 1 == m.places.size()) {
      row_stride = stride;
    } else if (stride != expect) {
      return false;
    }
    expect = stride * m.places[i].extent;
  }
  if (m.places_are_rows) {
    g->a_row_stride = row_stride;
    g->a_col_stride = s.in_channel_stride;
  } else {
    g->b_row_stride = s.in_channel_stride;
    g->b_col_stride = row_stride;
  }
  for (size_t i = 0; i < m.batches.size(); ++i)
    (m.places_are_rows ? g->batch[i].a_stride : g->batch[i].b_stride) = input_stride(m.batches[i]);
  return true;
}

/// A convolution as one product.
struct AsProduct {
  ConvSignature s;
  Mapping m;
  bool along_places;
  bool direct;               // The patches lie in the input.
  std::optional<Laid> laid;  // They are read element by element.
  BoundGemm gemm;
};

GemmSignature ProductOf(const ConvSignature& s, const Mapping& m, bool& direct) {
  GemmSignature g;
  g.a_type = g.b_type = s.type;
  g.c_type = s.out_type;
  g.k = m.num_depth;
  for (size_t i = 0; i < m.batches.size(); ++i) {
    const Axis& a = m.batches[i];
    const int64_t weight_stride = a.what == kGroup ? s.weight_group_stride : 0;
    const int64_t out_stride = a.what == kGroup ? s.out_group_stride : a.stride;
    g.batch[i] = m.places_are_rows ? GemmBatchDim{a.extent, 0, weight_stride, out_stride}
                                   : GemmBatchDim{a.extent, weight_stride, 0, out_stride};
  }
  if (m.places_are_rows) {
    g.m = m.num_places;
    g.n = s.out_channels;
    g.b_row_stride = m.depth_stride;
    g.b_col_stride = s.weight_out_stride;
    g.c_row_stride = m.place_stride;
    g.c_col_stride = s.out_channel_stride;
    g.a_row_stride = g.k;
    g.a_col_stride = 1;
  } else {
    g.m = s.out_channels;
    g.n = m.num_places;
    g.a_row_stride = s.weight_out_stride;
    g.a_col_stride = m.depth_stride;
    g.c_row_stride = s.out_channel_stride;
    g.c_col_stride = m.place_stride;
    g.b_row_stride = g.n;
    g.b_col_stride = 1;
  }
  direct = DirectPatches(s, m, &g);
  return g;
}

// One output channel, places along columns: these fill the lanes, so sums need not be parted over them.
bool InChains(const ConvSignature& s, const Mapping& m) { return s.out_channels == 1 && !m.places_are_rows; }

// The product of patches that are read where they lie. Nothing when they cannot be.
Result<std::optional<AsProduct>> BindPlaced(const ConvSignature& whole, const Mapping& flat) {
  std::optional<Laid> laid = internal::LayOf(whole, flat);
  if (!laid) return std::optional<AsProduct>();
  bool direct = false;
  GemmSignature g = ProductOf(laid->s, laid->m, direct);
  const bool rows = laid->m.places_are_rows;
  auto places = std::make_shared<const GemmPlaces>(internal::PlacesOf(*laid));
  for (size_t i = 0; i < laid->m.batches.size(); ++i)
    (rows ? g.batch[i].a_stride : g.batch[i].b_stride) = internal::InputStride(laid->s, laid->m.batches[i]);
  GemmHookSet hooked{.in_chains = InChains(laid->s, laid->m)};
  (rows ? hooked.a_places : hooked.b_places) = std::move(places);
  TENON_ASSIGN_OR_RETURN(BoundGemm gemm, BoundGemm::Create(g, hooked));
  AsProduct product{laid->s, laid->m, false, false, std::move(laid), std::move(gemm)};
  return std::optional<AsProduct>(std::move(product));
}

// The same with places as rows or, where the output runs on along them, as columns, whichever takes less time.
Result<std::optional<AsProduct>> BindPlacedBest(const ConvSignature& s, const Mapping& m) {
  TENON_ASSIGN_OR_RETURN(std::optional<AsProduct> placed, BindPlaced(s, m));
  if (m.places_are_rows) return placed;
  Mapping by_rows = m;
  by_rows.places_are_rows = true;
  TENON_ASSIGN_OR_RETURN(std::optional<AsProduct> turned, BindPlaced(s, by_rows));
  const bool better = turned && (!placed || turned->gemm.EstimateCycles() < placed->gemm.EstimateCycles());
  return better ? std::move(turned) : std::move(placed);
}

Result<AsProduct> BindProduct(const ConvSignature& s, internal::Way way) {
  const Mapping m = MapOf(s);
  if (!m.valid) return InvalidArgument("convolution: the weights' window and channels do not lie one after another");
  bool direct = false;
  const GemmSignature g = ProductOf(s, m, direct);
  if (!direct && way == internal::Way::kAny) {
    TENON_ASSIGN_OR_RETURN(std::optional<AsProduct> placed, BindPlacedBest(s, m));
    if (placed) return *std::move(placed);
  }
  const bool along_places = RunsAlongPlaces(s, m);
  const GemmHookSet hooked{.pack_a = !direct && m.places_are_rows,
                           .pack_b = !direct && !m.places_are_rows,
                           .a_by_columns = along_places && m.places.back().extent >= kMinRun,
                           .in_chains = InChains(s, m)};
  TENON_ASSIGN_OR_RETURN(BoundGemm gemm, BoundGemm::Create(g, hooked));
  return AsProduct{s, m, along_places, direct, std::nullopt, std::move(gemm)};
}

template <class T>
Status RunAs(const AsProduct& p, const void* in, const void* weights, void* out, threads::ThreadPool& pool) {
  const bool rows = p.m.places_are_rows;
  Patches<T> patches(p.s, p.m, p.along_places, in);
  GemmHooks hooks;
  if (!p.direct) {
    if (rows) {
      hooks.pack_a = {&Patches<T>::PackRows, &patches};
    } else {
      hooks.pack_b = {&Patches<T>::PackColumns, &patches};
    }
  }
  const void* const from = p.direct ? in : nullptr;
  return p.gemm.Run({rows ? from : weights, rows ? weights : from, out}, hooks, pool);
}

Status RunPlaced(const AsProduct& p, const void* in, const void* weights, void* out, threads::ThreadPool& pool) {
  const Laid& laid = *p.laid;
  const Scratch copy(static_cast<size_t>(laid.bytes));
  const void* from = static_cast<const std::byte*>(in) + laid.first_byte;
  if (laid.bytes != 0) {
    if (copy.data() == nullptr) return ResourceExhausted("convolution: no memory for its input with borders");
    internal::Lay(laid, in, copy.data(), pool);
    from = copy.data();
  }
  const bool rows = p.m.places_are_rows;
  return p.gemm.Run({rows ? from : weights, rows ? weights : from, out}, {}, pool);
}

Status RunProduct(const AsProduct& p, const void* in, const void* weights, void* out, threads::ThreadPool& pool) {
  if (p.laid) return RunPlaced(p, in, weights, out, pool);
  switch (ByteWidth(p.s.type)) {
    case 1:
      return RunAs<uint8_t>(p, in, weights, out, pool);
    case 2:
      return RunAs<uint16_t>(p, in, weights, out, pool);
    case 4:
      return RunAs<uint32_t>(p, in, weights, out, pool);
    case 8:
      return RunAs<uint64_t>(p, in, weights, out, pool);
    default:
      return Unimplemented("convolution: element type");
  }
}

}  // namespace

bool WeightsSuit(const ConvSignature& s) {
  if (internal::HasPhases(s)) return true;
  const Mapping m = MapOf(s);
  if (!m.valid) return false;
  return !m.places_are_rows || m.depth.empty() || m.depth.back().what == kChannel || s.in_channels == 1 ||
         RunsAlongPlaces(s, m);
}

struct BoundConv::Form {
  std::optional<AsProduct> product;  // Nothing: phase by phase.
  internal::Phases phases;
  std::vector<AsProduct> products;  // Of the phases.

  Status RunPhases(const void* in, const void* weights, void* out, threads::ThreadPool& pool) const {
    const auto bytes = static_cast<size_t>(phases.packed_bytes + phases.staged_bytes);
    const std::unique_ptr<std::byte[]> packed(new (std::nothrow) std::byte[bytes]);
    if (packed == nullptr) return ResourceExhausted("convolution: no memory for the weights of its phases");
    std::byte* const staged = packed.get() + phases.packed_bytes;
    if (phases.leaves_some) internal::ClearResults(phases, out, pool);
    for (size_t i = 0; i < products.size(); ++i) {
      const internal::Phase& phase = phases.list[i];
      internal::PackWeights(phase, weights, packed.get());
      std::byte* const to = phase.staged ? staged : static_cast<std::byte*>(out) + phase.out_offset;
      TENON_RETURN_IF_ERROR(RunProduct(products[i], in, packed.get() + phase.packed_offset, to, pool));
      if (phase.staged) internal::StoreResults(phase, staged, out);
    }
    return OkStatus();
  }
};

BoundConv::BoundConv(std::unique_ptr<const Form> form) : form_(std::move(form)) {}
BoundConv::~BoundConv() = default;
BoundConv::BoundConv(BoundConv&&) noexcept = default;

Result<BoundConv> BoundConv::Create(const ConvSignature& s) { return CreateWith(s, internal::Way::kAny); }

Result<BoundConv> BoundConv::CreateWith(const ConvSignature& s, internal::Way way) {
  auto form = std::make_unique<Form>();
  if (internal::HasPhases(s)) {
    form->phases = internal::PhasesOf(s);
    for (const internal::Phase& phase : form->phases.list) {
      TENON_ASSIGN_OR_RETURN(AsProduct product, BindProduct(phase.s, way));
      form->products.push_back(std::move(product));
    }
  } else {
    TENON_ASSIGN_OR_RETURN(AsProduct product, BindProduct(s, way));
    form->product = std::move(product);
  }
  return BoundConv(std::move(form));
}

Status BoundConv::Run(const void* in, const void* weights, void* out, threads::ThreadPool& pool) const {
  if (!form_->product) return form_->RunPhases(in, weights, out, pool);
  return RunProduct(*form_->product, in, weights, out, pool);
}

Status Conv(const ConvSignature& s, const void* in, const void* weights, void* out, threads::ThreadPool& pool) {
  TENON_ASSIGN_OR_RETURN(const BoundConv conv, BoundConv::Create(s));
  return conv.Run(in, weights, out, pool);
}

}  // namespace tenon::kernels
