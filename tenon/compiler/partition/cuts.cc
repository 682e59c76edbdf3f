#include "tenon/compiler/partition/cuts.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/compiler/partition/collectives.h"
#include "tenon/compiler/partition/expand.h"
#include "tenon/compiler/partition/manual.h"
#include "tenon/compiler/partition/policy.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }

int64_t PartAt(const Cut& cut, int process) { return cut.parts == 1 ? 0 : cut.at[static_cast<size_t>(process)]; }

std::vector<int64_t> TileOf(const Cuts& cuts, int process) {
  std::vector<int64_t> tile;
  for (const Cut& c : cuts) tile.push_back(PartAt(c, process));
  return tile;
}

struct Box {
  std::vector<int64_t> start, size;
  int64_t count() const {
    int64_t n = 1;
    for (const int64_t s : size) n *= s;
    return n;
  }
};

Box BoxOf(const Dims& dims, const Cuts& cuts, const std::vector<int64_t>& tile) {
  Box box;
  for (size_t d = 0; d < dims.size(); ++d) {
    box.size.push_back(dims[d] / cuts[d].parts);
    box.start.push_back(tile[d] * box.size.back());
  }
  return box;
}

/// A piece of a wanted box that lies in one tile of the source.
struct Piece {
  std::vector<int64_t> tile;   ///< Of the source.
  std::vector<int64_t> place;  ///< In the grid of the wanted box's pieces.
  Box box;                     ///< In the whole array.
};

// The pieces of `wanted`, row-major; `grid` gets their number along each dim.
std::vector<Piece> PiecesOf(const Dims& dims, const Cuts& from, const Box& wanted, std::vector<int64_t>& grid) {
  const size_t rank = dims.size();
  std::vector<int64_t> first(rank, 0);
  grid.assign(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t part = dims[d] / from[d].parts;
    if (part == 0 || wanted.size[d] == 0) return {};
    first[d] = wanted.start[d] / part;
    grid[d] = (wanted.start[d] + wanted.size[d] - 1) / part - first[d] + 1;
  }
  int64_t total = 1;
  for (const int64_t g : grid) total *= g;
  std::vector<Piece> pieces;
  for (int64_t i = 0; i < total; ++i) {
    Piece p;
    p.place.assign(rank, 0);
    p.tile.assign(rank, 0);
    p.box.start.assign(rank, 0);
    p.box.size.assign(rank, 0);
    int64_t rest = i;
    for (size_t d = rank; d-- > 0;) {
      p.place[d] = rest % grid[d];
      rest /= grid[d];
      const int64_t part = dims[d] / from[d].parts;
      p.tile[d] = first[d] + p.place[d];
      const int64_t low = std::max(wanted.start[d], p.tile[d] * part);
      const int64_t high = std::min(wanted.start[d] + wanted.size[d], (p.tile[d] + 1) * part);
      p.box.start[d] = low;
      p.box.size[d] = high - low;
    }
    pieces.push_back(std::move(p));
  }
  return pieces;
}

/// Who holds which tile; of partial values, for one part of them.
class Holders {
 public:
  Holders(const Cuts& cuts, const Cut& partial, int processes) {
    for (int p = 0; p < processes; ++p) of_[{PartAt(partial, p), TileOf(cuts, p)}].push_back(p);
  }
  /// Whom process `p` asks: itself when it can, else one that depends on who asks, so that all are asked alike.
  int For(int p, int64_t part, const std::vector<int64_t>& tile) const {
    const std::vector<int>& holders = of_.at({part, tile});
    if (std::find(holders.begin(), holders.end(), p) != holders.end()) return p;
    return holders[static_cast<size_t>(p) % holders.size()];
  }

 private:
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::vector<int>> of_;
};

// Whether the pieces of a box lie one after the other as its own elements do.
bool InOrder(const std::vector<int64_t>& grid, const Box& box) {
  for (size_t d = 0; d < grid.size(); ++d) {
    if (grid[d] == 1) continue;
    for (size_t before = 0; before < d; ++before) {
      if (box.size[before] != 1) return false;
    }
    for (size_t after = d + 1; after < grid.size(); ++after) {
      if (grid[after] != 1) return false;
    }
    return true;
  }
  return true;
}

}  // namespace

bool IsUncut(const Cuts& cuts) {
  return std::all_of(cuts.begin(), cuts.end(), [](const Cut& c) { return c.parts == 1; });
}

bool Covers(const Cuts& cuts, int processes) {
  int64_t total = 1;
  for (const Cut& c : cuts) {
    if (__builtin_mul_overflow(total, c.parts, &total) || total > processes) return false;
  }
  std::set<std::vector<int64_t>> tiles;
  for (int p = 0; p < processes; ++p) tiles.insert(TileOf(cuts, p));
  return static_cast<int64_t>(tiles.size()) == total;
}

Dims PartOfDims(const Dims& dims, const Cuts& cuts) {
  Dims part;
  for (size_t d = 0; d < dims.size(); ++d) part.push_back(dims[d] / cuts[d].parts);
  return part;
}

bool Divides(const Dims& dims, const Cuts& cuts) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] % cuts[d].parts != 0) return false;
  }
  return true;
}

std::optional<Cuts> CutsOf(const Tiling& tiling, const Processes& processes) {
  const size_t rank = tiling.tiles.size();
  const int count = processes.count();
  Cuts cuts(rank);
  std::vector<int64_t> length(rank, 0);
  for (size_t d = 0; d < rank; ++d) cuts[d].at.assign(static_cast<size_t>(count), 0);
  for (int p = 0; p < count; ++p) {
    std::set<std::vector<int64_t>> tiles;
    std::vector<int64_t> low(rank, INT64_MAX), high(rank, INT64_MIN);
    for (const int64_t device : processes.DevicesOf(p)) {
      const Dims& tile = tiling.tile_of_device[static_cast<size_t>(device)];
      tiles.insert(std::vector<int64_t>(tile.begin(), tile.end()));
      for (size_t d = 0; d < rank; ++d) {
        low[d] = std::min(low[d], tile[d]);
        high[d] = std::max(high[d], tile[d]);
      }
    }
    int64_t box = 1;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t extent = high[d] - low[d] + 1;
      box *= extent;
      if (p == 0) length[d] = extent;
      if (extent != length[d] || low[d] % extent != 0 || tiling.tiles[d] % extent != 0) return std::nullopt;
      cuts[d].parts = tiling.tiles[d] / extent;
      cuts[d].at[static_cast<size_t>(p)] = low[d] / extent;
    }
    if (static_cast<int64_t>(tiles.size()) != box) return std::nullopt;
  }
  for (Cut& c : cuts) {
    if (c.parts == 1) c.at.clear();
  }
  if (!Covers(cuts, count)) return std::nullopt;
  return cuts;
}

Tiling TilingInside(const Tiling& tiling, const Cuts& cuts, const Processes& processes) {
  Tiling inside;
  inside.stacked = tiling.stacked;
  for (size_t d = 0; d < tiling.tiles.size(); ++d) inside.tiles.push_back(tiling.tiles[d] / cuts[d].parts);
  for (const int64_t device : processes.DevicesOf(processes.self)) {
    Dims tile = tiling.tile_of_device[static_cast<size_t>(device)];
    for (size_t d = 0; d < tile.size(); ++d) tile[d] -= PartAt(cuts[d], processes.self) * inside.tiles[d];
    inside.tile_of_device.push_back(std::move(tile));
  }
  return inside;
}

int64_t MovedElements(const Dims& dims, const Cuts& from, const Cuts& to, int processes, const Cut& partial) {
  if (from == to && partial.parts == 1) return 0;
  const Holders holders(from, partial, processes);
  int64_t moved = 0;
  for (int p = 0; p < processes; ++p) {
    std::vector<int64_t> grid;
    for (const Piece& piece : PiecesOf(dims, from, BoxOf(dims, to, TileOf(to, p)), grid)) {
      for (int64_t k = 0; k < partial.parts; ++k) {
        if (holders.For(p, k, piece.tile) != p) moved += piece.box.count();
      }
    }
  }
  return moved;
}

mlir::Value CombineOrAdd(mlir::OpBuilder& b, mlir::Location loc, mlir::Operation* combiner, mlir::Value x,
                         mlir::Value y) {
  if (combiner != nullptr) return Combine(b, combiner, x, y);
  return stablehlo::AddOp::create(b, loc, x, y);
}

mlir::Value Mover::Fetch(mlir::Location loc, mlir::Value value, const Dims& dims, const Cuts& from, const Cuts& to,
                         const Cut& partial, mlir::Operation* combiner) {
  const Holders holders(from, partial, x_.count());
  const Box own = BoxOf(dims, from, TileOf(from, x_.self()));
  const mlir::Value flat = Flat(b_, loc, value);
  std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, mlir::Value> cut_out;
  // A piece of what this process has: where it lies in one run, without a copy.
  const auto source = [&](const Box& box) -> std::pair<mlir::Value, int64_t> {
    bool run = true, inner = false;
    for (size_t d = box.size.size(); d-- > 0;) {
      if (inner && box.size[d] != 1) run = false;
      inner |= box.size[d] != own.size[d];
    }
    if (run) {
      int64_t offset = 0;
      for (size_t d = 0; d < box.size.size(); ++d) offset = offset * own.size[d] + (box.start[d] - own.start[d]);
      return {flat, offset};
    }
    mlir::Value& piece = cut_out[{box.start, box.size}];
    if (!piece) {
      llvm::SmallVector<int64_t> starts;
      for (size_t d = 0; d < box.start.size(); ++d) starts.push_back(box.start[d] - own.start[d]);
      piece = Flat(b_, loc, Slice(b_, loc, value, starts, box.size));
    }
    return {piece, 0};
  };
  // What this process has already is not copied into what arrives, where that would be all of a summand.
  const auto is_own = [&](int p, int64_t k, const std::vector<Piece>& pieces) {
    return partial.parts > 1 &&
           std::all_of(pieces.begin(), pieces.end(), [&](const Piece& i) { return holders.For(p, k, i.tile) == p; });
  };
  std::vector<Transfer> transfers;
  for (int p = 0; p < x_.count(); ++p) {
    std::vector<int64_t> grid;
    const std::vector<Piece> pieces = PiecesOf(dims, from, BoxOf(dims, to, TileOf(to, p)), grid);
    for (int64_t k = 0; k < partial.parts; ++k) {
      if (is_own(p, k, pieces)) continue;
      for (const Piece& piece : pieces) {
        Transfer t{holders.For(p, k, piece.tile), p, piece.box.count(), {}, 0};
        if (t.from == x_.self()) std::tie(t.source, t.offset) = source(piece.box);
        transfers.push_back(t);
      }
    }
  }
  const mlir::RankedTensorType type = TypeOf(value);
  const mlir::Value buffer = x_.Run(b_, loc, type.getElementType(), transfers);
  const Box wanted = BoxOf(dims, to, TileOf(to, x_.self()));
  std::vector<int64_t> grid;
  const std::vector<Piece> pieces = PiecesOf(dims, from, wanted, grid);
  const int64_t count = wanted.count();
  mlir::Value total;
  int64_t at = 0;
  for (int64_t k = 0; k < partial.parts; ++k) {
    mlir::Value summand;
    if (is_own(x_.self(), k, pieces)) {
      llvm::SmallVector<int64_t> starts;
      for (size_t d = 0; d < wanted.start.size(); ++d) starts.push_back(wanted.start[d] - own.start[d]);
      summand = Slice(b_, loc, value, starts, wanted.size);
    } else if (InOrder(grid, wanted)) {
      summand = Reshape(b_, loc, FlatPart(b_, loc, buffer, at, count), wanted.size);
      at += count;
    } else {
      std::map<std::vector<int64_t>, mlir::Value> parts;
      for (const Piece& piece : pieces) {
        parts[piece.place] = Reshape(b_, loc, FlatPart(b_, loc, buffer, at, piece.box.count()), piece.box.size);
        at += piece.box.count();
      }
      summand = JoinTiles(b_, loc, parts, Dims(grid.begin(), grid.end()));
    }
    total = total ? CombineOrAdd(b_, loc, combiner, total, summand) : summand;
  }
  return total;
}

mlir::Value Mover::Move(mlir::Location loc, mlir::Value value, const Dims& dims, const Cuts& from, const Cuts& to) {
  if (from == to) return value;
  if (NumElements(dims) == 0) {
    const Dims part = PartOfDims(dims, to);
    return Zeros(b_, loc,
                 mlir::RankedTensorType::get(llvm::ArrayRef<int64_t>(part.begin(), part.size()),
                                             TypeOf(value).getElementType()));
  }
  if (MovedElements(dims, from, to, x_.count()) == 0) {
    const Box own = BoxOf(dims, from, TileOf(from, x_.self()));
    const Box wanted = BoxOf(dims, to, TileOf(to, x_.self()));
    llvm::SmallVector<int64_t> starts;
    for (size_t d = 0; d < dims.size(); ++d) starts.push_back(wanted.start[d] - own.start[d]);
    return Slice(b_, loc, value, starts, wanted.size);
  }
  return Fetch(loc, value, dims, from, to, {}, nullptr);
}

mlir::Value Mover::SumInto(mlir::Location loc, mlir::Value value, const Dims& dims, const Cuts& from,
                           const Cut& partial, const Cuts& to, mlir::Operation* combiner) {
  if (partial.parts == 1) return Move(loc, value, dims, from, to);
  const Dims local = PartOfDims(dims, from);
  const int64_t n = NumElements(local);
  if (n == 0) return Move(loc, value, dims, from, to);
  // Those who hold summands of the same box.
  std::map<std::vector<int64_t>, std::vector<int>> groups;
  for (int p = 0; p < x_.count(); ++p) groups[TileOf(from, p)].push_back(p);
  const auto members = static_cast<int64_t>(groups.begin()->second.size());
  const bool alike = std::all_of(groups.begin(), groups.end(),
                                 [&](const auto& g) { return static_cast<int64_t>(g.second.size()) == members; });
  if (from != to || !alike || n < members ||
      n * ElementBytes(TypeOf(value).getElementType()) <= policy::kSmallSumBytes) {
    // What is wanted lies in finer or other parts: each gets the summands of its own. Coarser ones are put together of
    // sums.
    const int64_t direct = MovedElements(dims, from, to, x_.count(), partial);
    Cuts middle = from;
    if (from != to &&
        MovedElements(dims, from, from, x_.count(), partial) + MovedElements(dims, from, to, x_.count()) < direct) {
      const mlir::Value sum = SumInto(loc, value, dims, from, partial, from, combiner);
      return Move(loc, sum, dims, from, to);
    }
    return Fetch(loc, value, dims, from, to, partial, combiner);
  }
  // Each adds one part of its box for all, and all exchange the sums.
  const auto start = [&](int64_t j) { return j * n / members; };
  const auto index = [&](int p) {
    const std::vector<int>& group = groups.at(TileOf(from, p));
    return static_cast<int64_t>(std::find(group.begin(), group.end(), p) - group.begin());
  };
  const Holders holders(from, partial, x_.count());
  const mlir::Value flat = Flat(b_, loc, value);
  std::vector<Transfer> scatter, gather;
  for (int p = 0; p < x_.count(); ++p) {
    const int64_t j = index(p);
    for (int64_t k = 0; k < partial.parts; ++k) {
      const int from_whom = holders.For(p, k, TileOf(from, p));
      if (from_whom != p) scatter.push_back({from_whom, p, start(j + 1) - start(j), flat, start(j)});
    }
  }
  const mlir::Type element = TypeOf(value).getElementType();
  const mlir::Value arrived = x_.Run(b_, loc, element, scatter);
  const int64_t mine = index(x_.self());
  const int64_t count = start(mine + 1) - start(mine);
  mlir::Value total;
  int64_t at = 0;
  for (int64_t k = 0; k < partial.parts; ++k) {
    mlir::Value summand;
    if (holders.For(x_.self(), k, TileOf(from, x_.self())) == x_.self()) {
      summand = FlatPart(b_, loc, flat, start(mine), count);
    } else {
      summand = FlatPart(b_, loc, arrived, at, count);
      at += count;
    }
    total = total ? CombineOrAdd(b_, loc, combiner, total, summand) : summand;
  }
  for (int p = 0; p < x_.count(); ++p) {
    const std::vector<int>& group = groups.at(TileOf(from, p));
    for (size_t j = 0; j < group.size(); ++j)
      gather.push_back({group[j], p, start(static_cast<int64_t>(j) + 1) - start(static_cast<int64_t>(j)), total, 0});
  }
  return Reshape(b_, loc, x_.Run(b_, loc, element, gather), TypeOf(value).getShape());
}

mlir::Value Mover::Whole(mlir::Location loc, const std::vector<mlir::Value>& values, const Tiling& tiling,
                         const Processes& processes) {
  const mlir::RankedTensorType type = TypeOf(values[0]);
  const int64_t count = type.getNumElements();
  std::map<std::vector<int64_t>, std::vector<int64_t>> devices;  // By tile, ascending.
  for (size_t d = 0; d < tiling.tile_of_device.size(); ++d) {
    const Dims& tile = tiling.tile_of_device[d];
    devices[std::vector<int64_t>(tile.begin(), tile.end())].push_back(static_cast<int64_t>(d));
  }
  const std::vector<int64_t> own = processes.DevicesOf(processes.self);
  std::vector<mlir::Value> flat;
  for (mlir::Value v : values) flat.push_back(Flat(b_, loc, v));
  std::vector<Transfer> transfers;
  for (int p = 0; p < x_.count(); ++p) {
    for (const auto& [tile, holders] : devices) {
      int64_t holder = holders[static_cast<size_t>(p) % holders.size()];
      for (const int64_t h : holders) {
        if (processes.of_device[static_cast<size_t>(h)] == p) {
          holder = h;
          break;
        }
      }
      Transfer t{processes.of_device[static_cast<size_t>(holder)], p, count, {}, 0};
      if (t.from == x_.self())
        t.source = flat[static_cast<size_t>(std::find(own.begin(), own.end(), holder) - own.begin())];
      transfers.push_back(t);
    }
  }
  const mlir::Value buffer = x_.Run(b_, loc, type.getElementType(), transfers);
  std::map<std::vector<int64_t>, mlir::Value> parts;
  int64_t at = 0;
  for (const auto& [tile, holders] : devices) {
    parts[tile] = Reshape(b_, loc, FlatPart(b_, loc, buffer, at, count), type.getShape());
    at += count;
  }
  return JoinTiles(b_, loc, parts, tiling.tiles);
}

}  // namespace tenon::compiler
