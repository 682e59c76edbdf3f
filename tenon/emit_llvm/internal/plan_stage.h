#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>

#include <optional>
#include <vector>

#include "tenon/emit_llvm/internal/analysis.h"
#include "tenon/isa/isa.h"
#include "tenon/target/short_tile.h"

namespace tenon::emit_llvm {

/// How a stage becomes a loop nest.
struct StagePlan {
  enum class Kind : uint8_t {
    kScalar,  ///< Loops in the given order, one point at a time (or in the lanes of an enclosing vector loop).
    kVector,  ///< `vector_dim`, parallel, is the innermost loop of those that are not reduced.
    kTile,    ///< As kVector, in square tiles with `tile_dim`, along which some reads are contiguous: transposes.
    kShort,   ///< All points of `short_dims` together, in the vectors of `short_tile`.
    kRow,     ///< `vector_dim` is the innermost reduced dim.
  };
  Kind kind = Kind::kScalar;
  int vector_dim = -1;
  int tile_dim = -1;
  unsigned lanes = 1;
  unsigned copies = 1;
  unsigned together = 1;                     ///< Copies whose operations alternate; divides `copies`.
  unsigned written_out = 0;                  ///< Rows of at most so many vectors are written out.
  bool masked_only = false;                  ///< The body is costly: one masked copy of it for everything.
  llvm::SmallVector<kir::DimId, 4> outside;  ///< Loops around, outermost first, without vector_dim and reduced dims.
  llvm::SmallVector<kir::DimId, 4> reduced;  ///< Outermost first.
  llvm::SmallVector<kir::DimId, 8> short_dims;
  std::optional<target::ShortTile> short_tile;
};

/// By how many elements an access moves along each of these dims: parts of complex numbers, which are its elements.
std::optional<std::vector<int64_t>> MovesAlong(const kir::Kernel& kernel, const Access& access,
                                               llvm::ArrayRef<kir::DimId> dims);

/// `promoted`: dims that are loops already. `cut`: those of which the stage may not go through all places at once.
/// `vectorise`: false inside a vector loop.
StagePlan PlanStage(const Analysis& analysis, const kir::Stage& stage, kir::DimMask promoted, kir::DimMask cut,
                    isa::IsaLevel isa, bool vectorise);

/// The outer dim to run in lanes, or -1: for kernels whose stages are points or reductions that read along an outer
/// dim.
int PlanOuterVector(const Analysis& analysis, kir::DimMask candidates, isa::IsaLevel isa, unsigned* lanes);

/// How many vectors at once along the outer dim in lanes are fastest, a power of two: more than one in native loops,
/// whose trips wait for each other, while the registers hold them.
unsigned VectorsTogether(const Analysis& analysis, kir::DimId dim, unsigned lanes, isa::IsaLevel isa);

/// How a kernel of several stages goes through the rows of its innermost outer dim.
struct RowsPlan {
  /// Stages that go through several rows before the next ones' turn, first ones: the chain of operations from a row's
  /// first element to its result is long, and another one in each row. {0} where each row is for itself.
  llvm::SmallVector<size_t, 4> turns = {0};
  /// Elements of a row that are read, of so many bytes: fewer rows go together where caches do not hold that.
  llvm::SmallVector<kir::DimId, 4> row_dims;
  int64_t element_bytes = 0;
  /// The lanes in which the last stage's points of so many rows are computed at once, where it is a point behind
  /// reductions and that is worth it, or 1. It is no turn then.
  unsigned late_lanes = 1;
};
/// Whether rows of the reduction may meet within their vectors at once, each row in whole vectors: one value of four
/// bytes, in short rows of known length, and the same initial value for all rows along `dim`.
bool MayMeetInRows(const Analysis& analysis, const kir::Reduce& reduce, kir::DimId dim, isa::IsaLevel isa);
RowsPlan PlanRows(const Analysis& analysis, kir::DimId dim, isa::IsaLevel isa);

/// A combiner of one operation that gives the same bits in any order: the op, and the bits of its identity.
struct AnyOrder {
  kir::Op op;
  uint64_t identity;
};
std::optional<AnyOrder> AnyOrderCombiner(const kir::Graph& graph);

/// Whether elements so far apart (in elements) are turned by tiles, as rows of vectors that change places with lanes:
/// complex ones part by part.
bool TurnsInTiles(DType type, int64_t step);

}  // namespace tenon::emit_llvm
