#pragma once

/// Points of several short dims at once, in vectors along the rows in which their results lie in memory, however far
/// apart what they are made of lies: permutations of dims none of which fills a vector.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tenon/kir/kir.h"

namespace tenon::target {

/// All points of some dims. Rows of results that are no whole number of vectors end in one that begins among the lanes
/// of the one before.
class ShortTile {
 public:
  /// What registers and the values of a point's operations leave room for.
  static constexpr int kMostVectors = 16;

  /// `stored`: elements that a result moves by along each dim. Nothing where results that lie side by side do not fill
  /// a vector, or where there are too many vectors.
  static std::optional<ShortTile> Of(std::span<const int64_t> extents, std::span<const int64_t> stored, int lanes);
  int lanes() const { return lanes_; }
  int vectors() const { return static_cast<int>(first_.size()); }
  int64_t points() const { return points_; }
  /// A lane's place along each dim.
  std::vector<int64_t> PlaceOf(int vector, int lane) const;
  /// A lane's offset from the tile's first point in elements, of something that moves by so many along each dim.
  int64_t OffsetOf(int vector, int lane, std::span<const int64_t> moves) const;

 private:
  int lanes_ = 1;
  int64_t points_ = 1;
  std::vector<size_t> order_;  ///< Dims, that of the nearest results first.
  std::vector<int64_t> extents_;
  std::vector<int64_t> first_;  ///< By vector: the number of its first point in that order.
};

/// The lanes that vectors of tiles may have, the most first: those in which shuffles know all elements that are moved,
/// of `moved` bytes each, and which values of `widest` bytes fill some registers with.
std::vector<int> LanesOfTiles(int widest, std::span<const int> moved, int vector_bytes);

/// Whether registers hold most of what a tile's points come to on the way, for all of its vectors at once: memory that
/// the rest lies in meanwhile is as near as the nearest cache. `needed`: nodes, ascending, of which `deps` names the
/// dims that each differs along.
bool TileFits(const ShortTile& tile, const kir::Kernel& kernel, std::span<const kir::Val> needed,
              std::span<const kir::DimMask> deps, kir::DimMask dims, int vector_bytes);

/// Cycles of going on to the next tile: a step of a loop, and addresses.
inline constexpr double kShortTileCycles = 4;

/// What is read of a tile: vectors of neighbours, and where each lane finds its element in them.
struct TileReads {
  struct From {
    int window = 0;
    int lane = 0;
  };
  int width = 0;               ///< Of a window: as many lanes as the tile's, or fewer; 1: elements one by one.
  std::vector<int64_t> first;  ///< By window: the offset of its lane 0.
  std::vector<std::vector<From>> lanes;  ///< By vector.
};
/// `bytes`: of an element. All windows lie between the first and the last element that the tile reads.
TileReads ReadsOf(const ShortTile& tile, std::span<const int64_t> moves, int bytes);
/// Whether vectors are gathered rather than put together from windows, of which there are too many.
bool AreGathered(const TileReads& reads, int bytes, int vector_bytes);
/// Cycles of them for registers of `vector_bytes`: loads, and shuffles of two vectors each; or gathers.
double TileReadCycles(const TileReads& reads, int bytes, int vector_bytes);
/// Whether every vector is a window as it lies, or one element for all lanes: then rows serve as well as tiles.
bool LieAsRead(const TileReads& reads);
/// Whether windows and vectors are the rows and columns of a square, which change places.
bool IsTransposed(const TileReads& reads);

}  // namespace tenon::target
