#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mlir/IR/Builders.h"
#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/compiler/partition/exchanger.h"

namespace tenon::compiler {

/// How one dim lies over the processes: `parts` equal parts, of which process p has number at[p]. Uncut: one part.
/// Which mesh axes that is does not matter: two dims that are cut alike have equal Cuts.
struct Cut {
  int64_t parts = 1;
  std::vector<int64_t> at;  ///< Empty when uncut.
  friend bool operator==(const Cut&, const Cut&) = default;
  friend auto operator<=>(const Cut&, const Cut&) = default;
};

/// How an array lies over the processes, by dim. Every process has a box of it, and each part is somewhere.
using Cuts = std::vector<Cut>;

inline Cuts Uncut(size_t rank) { return Cuts(rank); }
bool IsUncut(const Cuts& cuts);
/// Whether each combination of parts is some process's.
bool Covers(const Cuts& cuts, int num_processes);
/// The extents of one process's box; all parts must be of one size.
Dims PartOfDims(const Dims& dims, const Cuts& cuts);
bool Divides(const Dims& dims, const Cuts& cuts);

/// The cuts of an array whose devices hold these tiles. None when some process's tiles are no box, or boxes of
/// different processes have different sizes.
std::optional<Cuts> CutsOf(const Tiling& tiling, const Processes& processes);
/// The tiling that the devices of one process have of its box.
Tiling TilingInside(const Tiling& tiling, const Cuts& cuts, const Processes& processes);

/// Elements that move between processes when an array changes from one way of lying to another. `partial`: as in
/// SumInto.
int64_t MovedElements(const Dims& dims, const Cuts& from, const Cuts& to, int num_processes, const Cut& partial = {});

/// Moves arrays between ways of lying over processes.
class Mover {
 public:
  Mover(Exchanger& exchanger, mlir::OpBuilder& builder) : x_(exchanger), b_(builder) {}

  /// The box of `to` of an array of extents `dims`, of whose boxes of `from` this process has `value`.
  mlir::Value Move(mlir::Location loc, mlir::Value value, const Dims& dims, const Cuts& from, const Cuts& to);

  /// The same for an array that is the combination, over the parts of `partial`, of what the processes hold: combined
  /// in the order of the parts, by the region of `combiner` (null: added).
  mlir::Value SumInto(mlir::Location loc, mlir::Value value, const Dims& dims, const Cuts& from, const Cut& partial,
                      const Cuts& to, mlir::Operation* combiner);

  /// The whole of an array of which device d holds tile `tiling.tile_of_device[d]`; this process's devices hold
  /// `values`, in their order.
  mlir::Value Whole(mlir::Location loc, const std::vector<mlir::Value>& values, const Tiling& tiling,
                    const Processes& processes);

 private:
  mlir::Value Fetch(mlir::Location loc, mlir::Value value, const Dims& dims, const Cuts& from, const Cuts& to,
                    const Cut& partial, mlir::Operation* combiner);

  Exchanger& x_;
  mlir::OpBuilder& b_;
};

/// combine(x, y) by the region of `combiner`, added when it is null.
mlir::Value CombineOrAdd(mlir::OpBuilder& builder, mlir::Location loc, mlir::Operation* combiner, mlir::Value x,
                         mlir::Value y);

}  // namespace tenon::compiler
