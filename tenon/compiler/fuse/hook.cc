#include "tenon/compiler/fuse/hook.h"

#include <algorithm>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/plan/plan.h"

namespace tenon::compiler {
namespace {

using kir::Size;

/// Slots of the tile's own numbers until all other params are known.
constexpr int32_t kTileSlot = 1 << 20;  // structural: no param has such a number
enum TileNumber : int32_t { kBatch, kRow0, kCol0, kRows, kCols, kRowStride, kColStride };
Size TileSize(TileNumber number) { return Size::Param(kTileSlot + number); }

/// Where an access goes: an element's number as a sum over the kernel's dims.
struct Address {
  std::vector<int64_t> coefs;
  int64_t offset = 0;
  friend bool operator==(const Address&, const Address&) = default;
};

std::optional<Address> AddressOf(const kir::Kernel& k, kir::Buf buf, const SmallVector<kir::Axis, 4>& at,
                                 const SmallVector<kir::Guard, 1>& guards) {
  if (!guards.empty()) return std::nullopt;
  Address address{std::vector<int64_t>(k.dims.size(), 0), 0};
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i].start != kir::kNone) return std::nullopt;
    const int64_t stride = k.buffers[buf].stride[i].baked;
    address.offset += at[i].offset.baked * stride;
    for (const kir::Term& t : at[i].terms) address.coefs[t.dim] += t.coef.baked * stride;
  }
  // A loop of one trip moves nothing.
  for (size_t d = 0; d < k.dims.size(); ++d) {
    if (k.dims[d].extent.baked == 1) address.coefs[d] = 0;
  }
  return address;
}

/// What the dims of a kernel over all elements of the result stand for.
class Tiles {
 public:
  /// Nothing when the dims, outermost first, do not fall into the point's matrices, rows and columns.
  static std::optional<Tiles> Of(const kir::Kernel& k, const Address& all, const drivers::HookPoint& point) {
    Tiles tiles;
    std::vector<size_t> order;
    for (size_t d = 0; d < k.dims.size(); ++d) {
      if (k.dims[d].extent.baked != 1) order.push_back(d);
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return all.coefs[a] < all.coefs[b]; });
    if (all.offset != 0) return std::nullopt;
    const int64_t extents[] = {point.cols, point.rows, point.batch};
    size_t next = 0;
    int64_t step = 1;
    for (size_t g = 0; g < 3; ++g) {
      int64_t left = extents[g];
      while (left > 1) {
        if (next == order.size()) return std::nullopt;
        const int64_t extent = k.dims[order[next]].extent.baked;
        if (all.coefs[order[next]] != step || left % extent != 0) return std::nullopt;
        tiles.groups_[g].push_back(order[next++]);
        step *= extent;
        left /= extent;
      }
    }
    if (next != order.size()) return std::nullopt;
    return tiles;
  }

  /// Elements that an access moves by from column to column, row to row and matrix to matrix; nothing when one of them
  /// is no one number.
  std::optional<std::array<int64_t, 3>> StridesOf(const kir::Kernel& k, const Address& address) const {
    std::array<int64_t, 3> strides = {};
    for (size_t g = 0; g < 3; ++g) {
      int64_t expect = 0;
      for (size_t i = 0; i < groups_[g].size(); ++i) {
        const size_t d = groups_[g][i];
        if (i == 0) {
          strides[g] = address.coefs[d];
        } else if (address.coefs[d] != expect) {
          return std::nullopt;
        }
        expect = address.coefs[d] * k.dims[d].extent.baked;
      }
    }
    return strides;
  }

 private:
  /// Dims of the columns, the rows and the matrices, innermost first.
  std::array<std::vector<size_t>, 3> groups_;
};

kir::Axis Along(kir::DimId dim) {
  kir::Axis axis;
  axis.terms.push_back({dim, Size::Of(1)});
  return axis;
}

/// An axis that begins where the tile does.
kir::Axis From(TileNumber first, std::optional<kir::DimId> dim) {
  kir::Axis axis = dim ? Along(*dim) : kir::Axis();
  axis.offset = TileSize(first);
  return axis;
}

/// Whether a step of its own would take longer than calls on tiles.
bool Pays(const drivers::HookPoint& point, double ops, const target::Work& driver, const target::Target& target) {
  const double bytes = static_cast<double>(point.batch * point.rows * point.cols * ByteWidth(point.type));
  // The driver writes its result either way; a step reads that again, and writes its own beside its arithmetic.
  target::Work step{.ops = ops, .launches = 1};
  (driver.bytes_cached == 0 ? step.bytes_read : step.bytes_cached) = 2 * bytes;
  const double rows = std::max(point.calls, static_cast<double>(point.batch * point.rows));
  const double calls_ns = point.calls * policy::kHookCallNs + rows * policy::kHookRowNs + TimeNs(target, {.ops = ops});
  // The driver is cut into pieces by its own work, whatever the hook's is.
  return calls_ns < TimeNs(target, step) && TimeNs(target, {.ops = ops}) <= TimeNs(target, driver);
}

}  // namespace

std::optional<MadeHook> HookOf(const MadeKernel& made, Ref result, const drivers::HookPoint& point,
                               const target::Work& driver, const target::Target& target, KernelChecks* checks) {
  kir::Kernel k = made.kernel;
  if (k.outer != 0 || k.seq.size() != 1 || !std::holds_alternative<kir::Stage>(k.seq[0].is)) return std::nullopt;
  kir::Stage& stage = std::get<kir::Stage>(k.seq[0].is);
  if (!stage.reduces.empty() || !stage.domain.empty() || stage.stores.size() != 1) return std::nullopt;
  if (point.col_stride != 1 || point.cols < policy::kMinHookCols) return std::nullopt;
  ContractFma(k);
  DropDead(k);
  kir::Store& store = stage.stores[0];
  if (store.combine >= 0 || store.component != 0 || store.order != kir::StoreOrder::kDisjoint ||
      k.buffers[store.buf].type != point.type)
    return std::nullopt;
  const std::optional<Address> all = AddressOf(k, store.buf, store.at, store.guard);
  if (!all) return std::nullopt;
  const std::optional<Tiles> tiles = Tiles::Of(k, *all, point);
  if (!tiles) return std::nullopt;
  if (std::any_of(k.nodes.begin(), k.nodes.end(), [](const kir::Node& n) { return n.op == kir::Op::kIndex; }))
    return std::nullopt;  // Places are the whole array's.

  // Buffers: the tile, then what else is read, by matrix, row and column.
  MadeHook hook;
  kir::Kernel h;
  h.dims = {{TileSize(kRows), kir::DimKind::kParallel}, {TileSize(kCols), kir::DimKind::kParallel}};
  kir::Buffer tile;
  tile.kind = kir::BufKind::kTile;
  tile.type = point.type;
  tile.extent = {TileSize(kRows), TileSize(kCols)};
  tile.stride = {TileSize(kRowStride), Size::Of(1)};
  h.buffers.push_back(std::move(tile));
  hook.buffers.push_back({BoundBuffer::Kind::kLocal, {}});
  const SmallVector<kir::Axis, 4> here = {Along(0), Along(1)};
  bool in_place = false;
  for (kir::Read& read : k.reads) {
    const std::optional<Address> address = AddressOf(k, read.buf, read.at, read.guard);
    if (!address) return std::nullopt;
    const BoundBuffer& bound = made.buffers[read.buf];
    if (bound.kind != BoundBuffer::Kind::kRead) return std::nullopt;
    if (bound.value == result) {
      if (!(*address == *all)) return std::nullopt;
      read.buf = 0;
      read.at = here;
      in_place = true;
      continue;
    }
    const auto strides = tiles->StridesOf(k, *address);
    if (!strides || address->offset != 0) return std::nullopt;
    kir::Buffer from;
    from.kind = kir::BufKind::kArg;
    from.type = k.buffers[read.buf].type;
    SmallVector<kir::Axis, 4> at;
    const auto axis = [&](int64_t stride, int64_t extent, TileNumber first, std::optional<kir::DimId> dim) {
      if (stride == 0 || extent == 1) return;
      from.extent.push_back(Size::Of(extent));
      from.stride.push_back(Size::Of(stride));
      at.push_back(From(first, dim));
    };
    axis((*strides)[2], point.batch, kBatch, std::nullopt);
    axis((*strides)[1], point.rows, kRow0, kir::DimId{0});
    axis((*strides)[0], point.cols, kCol0, kir::DimId{1});
    if (at.empty()) {
      from.extent = {Size::Of(1)};
      from.stride = {Size::Of(1)};
      at.push_back({});
    }
    // The same memory in the same way is one buffer.
    size_t buf = 1;
    while (buf < h.buffers.size() && !(h.buffers[buf] == from && hook.buffers[buf].value == bound.value)) ++buf;
    if (buf == h.buffers.size()) {
      h.buffers.push_back(std::move(from));
      hook.buffers.push_back(bound);
    }
    read.buf = static_cast<kir::Buf>(buf);
    read.at = std::move(at);
  }
  if (!in_place) return std::nullopt;
  h.nodes = std::move(k.nodes);
  h.literals = std::move(k.literals);
  h.reads = std::move(k.reads);
  h.graphs = std::move(k.graphs);
  kir::Stage changed;
  changed.dims = {0, 1};
  changed.stores.push_back(store);
  changed.stores[0].buf = 0;
  changed.stores[0].at = here;
  h.seq.push_back(kir::Step{std::move(changed)});

  const auto points = static_cast<double>(point.batch * point.rows * point.cols);
  // What it reads is counted in bytes.
  for (const kir::Node& n : h.nodes) hook.work.ops += n.op == kir::Op::kRead ? 0 : points * target.costs.Of(n);
  if (!Pays(point, hook.work.ops, driver, target)) return std::nullopt;

  Parameterise(h, hook.params);
  const auto number = [&](Size& size) {
    if (size.param >= kTileSlot) size.param += static_cast<int32_t>(hook.params.size()) - kTileSlot;
  };
  for (kir::Dim& d : h.dims) number(d.extent);
  for (kir::Buffer& b : h.buffers) {
    for (Size& s : b.extent) number(s);
    for (Size& s : b.stride) number(s);
  }
  ForEachAccess(h, [&](kir::Buf, auto& at, auto&) {
    for (kir::Axis& a : at) number(a.offset);
  });
  h.num_params = static_cast<uint16_t>(hook.params.size() + plan::kTileParams);
  hook.kernel = std::move(h);
  if (checks != nullptr) checks->After("a hook", hook.kernel);
  return hook;
}

}  // namespace tenon::compiler
