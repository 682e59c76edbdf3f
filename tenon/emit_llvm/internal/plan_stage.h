#pragma once

#include <llvm/ADT/SmallVector.h>

#include <vector>

#include "tenon/emit_llvm/internal/analysis.h"
#include "tenon/isa/isa.h"

namespace tenon::emit_llvm {

/// How a stage becomes a loop nest.
struct StagePlan {
  enum class Kind : uint8_t {
    kScalar,  ///< Loops in the given order, one point at a time (or in the lanes of an enclosing vector loop).
    kVector,  ///< `vector_dim`, parallel, is the innermost loop of those that are not reduced.
    kTile,    ///< As kVector, in square tiles with `tile_dim`, along which some reads are contiguous: transposes.
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
};

/// `available`: the stage's dims that are not loops already. `vectorise`: false inside a vector loop.
StagePlan PlanStage(const Analysis& analysis, const kir::Stage& stage, kir::DimMask promoted, isa::IsaLevel isa,
                    bool vectorise);

/// The outer dim to run in lanes, or -1: for kernels whose stages are points or reductions that read along an outer
/// dim.
int PlanOuterVector(const Analysis& analysis, kir::DimMask candidates, isa::IsaLevel isa, unsigned* lanes);

/// How many vectors at once along the outer dim in lanes are fastest, a power of two: more than one in native loops,
/// whose trips wait for each other, while the registers hold them.
unsigned VectorsTogether(const Analysis& analysis, kir::DimId dim, unsigned lanes, isa::IsaLevel isa);

/// For kernels of several stages of which the last one is a point behind reductions: the lanes in which several rows'
/// points are computed at once, along the outer dim; 1 where that is not worth it. Their reductions are left then.
unsigned PlanLateStage(const Analysis& analysis, kir::DimId dim, isa::IsaLevel isa, std::vector<kir::Val>* reduced);

/// A combiner of one operation that gives the same bits in any order: the op, and the bits of its identity.
struct AnyOrder {
  kir::Op op;
  uint64_t identity;
};
std::optional<AnyOrder> AnyOrderCombiner(const kir::Graph& graph);

}  // namespace tenon::emit_llvm
