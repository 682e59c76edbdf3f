#include "tenon/target/short_tile.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "tenon/target/lanes.h"

namespace tenon::target {

std::optional<ShortTile> ShortTile::Of(std::span<const int64_t> extents, std::span<const int64_t> stored, int lanes) {
  ShortTile tile;
  tile.lanes_ = lanes;
  tile.extents_.assign(extents.begin(), extents.end());
  tile.order_.resize(extents.size());
  std::iota(tile.order_.begin(), tile.order_.end(), size_t{0});
  std::ranges::sort(tile.order_, {}, [&](size_t d) { return std::pair(stored[d], d); });
  int64_t row = 1;
  bool together = true;
  for (const size_t d : tile.order_) {
    if (stored[d] <= 0 || extents[d] < 1) return std::nullopt;
    together = together && stored[d] == row;
    if (together) row *= extents[d];
    tile.points_ *= extents[d];
    if (tile.points_ > int64_t{kMostVectors} * lanes) return std::nullopt;
  }
  if (row < lanes) return std::nullopt;
  for (int64_t begin = 0; begin < tile.points_; begin += row) {
    for (int64_t at = 0; at < row; at += lanes) tile.first_.push_back(begin + std::min(at, row - lanes));
  }
  return tile.vectors() <= kMostVectors ? std::optional(std::move(tile)) : std::nullopt;
}

std::vector<int> LanesOfTiles(int widest, std::span<const int> moved, int vector_bytes) {
  constexpr int kMostRegisters = 4;  // structural: of one value
  std::vector<int> found;
  for (int lanes = kMostRegisters * vector_bytes / widest; lanes > 1; lanes /= 2) {
    if (std::ranges::all_of(moved, [&](int bytes) { return Shuffles(bytes, lanes, vector_bytes); }))
      found.push_back(lanes);
  }
  return found;
}

bool TileFits(const ShortTile& tile, const kir::Kernel& kernel, std::span<const kir::Val> needed,
              std::span<const kir::DimMask> deps, kir::DimMask dims, int vector_bytes) {
  constexpr int kOfFunction = 5;    // What a function's own values take.
  constexpr int kHeldInMemory = 2;  // So many times as much as registers hold.
  constexpr int kWidest = 64;       // structural: bytes of the registers of which there are 32, not 16
  std::vector<kir::Val> last(kernel.nodes.size(), kir::kNone);
  for (const kir::Val n : needed) {
    for (const kir::Val in : kernel.nodes[n].in) last[in] = n;
  }
  int live = 0, most = 0, reads = 0;
  for (const kir::Val n : needed) {
    const kir::Node& node = kernel.nodes[n];
    if ((deps[n] & dims) != 0) ++live;
    reads += (deps[n] & dims) != 0 && node.op == kir::Op::kRead ? 1 : 0;
    most = std::max(most, live + (node.op == kir::Op::kMath ? kOfFunction : 0));
    for (const kir::Val in : node.in) {
      if (last[in] != n) continue;
      last[in] = kir::kNone;
      live -= (deps[in] & dims) != 0 ? 1 : 0;
    }
  }
  // What is read once is there for all vectors, which then go on one by one.
  const int wanted = reads > 1 ? most * tile.vectors() : most + tile.vectors();
  return wanted <= kHeldInMemory * (vector_bytes >= kWidest ? 32 : 16);
}

std::vector<int64_t> ShortTile::PlaceOf(int vector, int lane) const {
  std::vector<int64_t> place(order_.size());
  int64_t number = first_[static_cast<size_t>(vector)] + lane;
  for (const size_t d : order_) {
    place[d] = number % extents_[d];
    number /= extents_[d];
  }
  return place;
}

int64_t ShortTile::OffsetOf(int vector, int lane, std::span<const int64_t> moves) const {
  int64_t number = first_[static_cast<size_t>(vector)] + lane, offset = 0;
  for (const size_t d : order_) {
    offset += number % extents_[d] * moves[d];
    number /= extents_[d];
  }
  return offset;
}

namespace {

/// Windows over ascending places, none of which reaches beyond the last one.
void AddWindows(const std::vector<int64_t>& places, int64_t width, int64_t last, std::vector<int64_t>& first) {
  int64_t covered = std::numeric_limits<int64_t>::min();
  for (const int64_t place : places) {
    if (place < covered) continue;
    first.push_back(std::min(place, last - width + 1));
    covered = first.back() + width;
  }
}

}  // namespace

TileReads ReadsOf(const ShortTile& tile, std::span<const int64_t> moves, int bytes) {
  constexpr int64_t kRegister = 16;  // structural: bytes of the shortest
  const int lanes = tile.lanes();
  std::vector<std::vector<int64_t>> wanted;
  std::vector<int64_t> all;
  for (int v = 0; v < tile.vectors(); ++v) {
    std::vector<int64_t>& of_vector = wanted.emplace_back();
    for (int lane = 0; lane < lanes; ++lane) of_vector.push_back(tile.OffsetOf(v, lane, moves));
    all.insert(all.end(), of_vector.begin(), of_vector.end());
  }
  const auto [low, high] = std::ranges::minmax(all);
  TileReads reads;
  reads.width = static_cast<int>(
      std::min<uint64_t>(static_cast<uint64_t>(lanes), std::bit_floor(static_cast<uint64_t>(high - low + 1))));
  if (reads.width * bytes < kRegister) reads.width = 1;
  // Vectors of neighbours are windows as they are.
  std::vector<int64_t> apart;
  for (const std::vector<int64_t>& of_vector : wanted) {
    bool neighbours = reads.width == lanes;
    for (size_t i = 1; i < of_vector.size(); ++i) neighbours = neighbours && of_vector[i] == of_vector[i - 1] + 1;
    if (!neighbours) {
      apart.insert(apart.end(), of_vector.begin(), of_vector.end());
    } else if (std::ranges::find(reads.first, of_vector[0]) == reads.first.end()) {
      reads.first.push_back(of_vector[0]);
    }
  }
  std::ranges::sort(apart);
  const auto within = [&](int64_t place) {
    return std::ranges::find_if(reads.first, [&](int64_t f) { return place >= f && place < f + reads.width; });
  };
  std::erase_if(apart, [&](int64_t place) { return within(place) != reads.first.end(); });
  AddWindows(apart, reads.width, high, reads.first);
  for (const std::vector<int64_t>& of_vector : wanted) {
    std::vector<TileReads::From>& from = reads.lanes.emplace_back();
    // All from one window where one has them all.
    auto whole = std::ranges::find_if(reads.first, [&](int64_t f) {
      return std::ranges::all_of(of_vector, [&](int64_t place) { return place >= f && place < f + reads.width; });
    });
    for (const int64_t place : of_vector) {
      const auto window = whole != reads.first.end() ? whole : within(place);
      from.push_back({static_cast<int>(window - reads.first.begin()), static_cast<int>(place - *window)});
    }
  }
  return reads;
}

bool LieAsRead(const TileReads& reads) {
  return std::ranges::all_of(reads.lanes, [](const std::vector<TileReads::From>& from) {
    bool as_it_lies = true, one = true;
    for (size_t lane = 0; lane < from.size(); ++lane) {
      if (from[lane].window != from[0].window) return false;
      as_it_lies = as_it_lies && from[lane].lane == static_cast<int>(lane);
      one = one && from[lane].lane == from[0].lane;
    }
    return as_it_lies || one;
  });
}

bool IsTransposed(const TileReads& reads) {
  const size_t n = reads.first.size();
  if (n != reads.lanes.size() || static_cast<size_t>(reads.width) != n) return false;
  for (size_t v = 0; v < n; ++v) {
    if (reads.lanes[v].size() != n) return false;
    for (size_t lane = 0; lane < n; ++lane) {
      const TileReads::From& from = reads.lanes[v][lane];
      if (from.window != static_cast<int>(lane) || from.lane != static_cast<int>(v)) return false;
    }
  }
  return true;
}

namespace {

double WindowCycles(const TileReads& reads, int vector_bytes) {
  constexpr int kWidest = 64;  // structural: bytes of the registers of which one instruction shuffles any two
  const double shuffle = vector_bytes >= kWidest ? 1 : 2;
  const double loads = kContiguousMove * static_cast<double>(reads.first.size());
  if (IsTransposed(reads))
    return loads + static_cast<double>(reads.lanes.size() * (std::bit_width(reads.lanes.size()) - 1));
  // Vectors meet two by two; what several of them want meets once for all. Each for itself, they meet one by one.
  std::vector<int> root(reads.first.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int w) {
    while (root[static_cast<size_t>(w)] != w) w = root[static_cast<size_t>(w)];
    return w;
  };
  size_t met = 0, most = 1, moved = 0, alone = 0;
  for (const std::vector<TileReads::From>& from : reads.lanes) {
    std::vector<int> windows;
    bool same = true;
    for (size_t lane = 0; lane < from.size(); ++lane) {
      same = same && from[lane].window == from[0].window && from[lane].lane == static_cast<int>(lane);
      if (std::ranges::find(windows, from[lane].window) == windows.end()) windows.push_back(from[lane].window);
    }
    if (same) continue;
    ++moved;
    alone += std::max<size_t>(1, windows.size() - 1);
    most = std::max(most, windows.size());
    for (const int w : windows) {
      const int x = find(windows[0]), y = find(w);
      if (x == y) continue;
      root[static_cast<size_t>(y)] = x;
      ++met;
    }
  }
  const size_t rounds = std::max<size_t>(1, std::bit_width(most - 1));
  return loads + shuffle * static_cast<double>(std::min(alone, std::max(moved * rounds, met)));
}

double GatherCycles(const TileReads& reads, int bytes, int vector_bytes) {
  const bool are_there = vector_bytes > 16 && (bytes == 4 || bytes == 8);  // structural: what instructions there are
  if (!are_there) return std::numeric_limits<double>::infinity();
  const auto lanes = static_cast<int>(reads.lanes[0].size());
  return static_cast<double>(reads.lanes.size()) * StridedMove(bytes, lanes, vector_bytes);
}

}  // namespace

bool AreGathered(const TileReads& reads, int bytes, int vector_bytes) {
  return GatherCycles(reads, bytes, vector_bytes) < WindowCycles(reads, vector_bytes);
}

double TileReadCycles(const TileReads& reads, int bytes, int vector_bytes) {
  return std::min(GatherCycles(reads, bytes, vector_bytes), WindowCycles(reads, vector_bytes));
}

}  // namespace tenon::target
