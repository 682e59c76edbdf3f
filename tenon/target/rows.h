#pragma once

/// What the points of a row share: values that are computed for many rows at once, ahead of them, and conditions that
/// decide what counts. The emitter lays rows out by these rules, and fusion reckons with them.

#include <optional>
#include <span>
#include <vector>

#include "tenon/kir/kir.h"

namespace tenon::target {

/// A stage without reductions as loops around rows, whose points are computed in vectors.
struct RowStage {
  const kir::Kernel& kernel;
  const kir::Stage& stage;
  std::span<const kir::Val> needed;    ///< Nodes, ascending.
  std::span<const kir::DimMask> deps;  ///< By node: the dims that it depends on.
  SmallVector<kir::DimId, 4> around;   ///< Outermost first.
  kir::DimMask row = 0;                ///< Dims of the row.
  kir::DimMask known = 0;              ///< Dims whose extents are part of the code, and baked here.
  int64_t lanes = 1;                   ///< Points of a vector.
};

/// Values that all points of a short row share, computed for a vector of rows and handed on to each row's turn.
struct ValuesAhead {
  std::vector<kir::Val> early;   ///< Computed for a vector of rows.
  std::vector<kir::Val> handed;  ///< Those of them that rows ask for.
  std::vector<kir::Val> late;    ///< What rows need, these among them.
  int cost = 0;                  ///< Of `early`, by OpCosts.
};
/// Nothing where rows are long or that is not worth it. What is read of memory that the kernel writes is not read ahead
/// of the rows before it.
std::optional<ValuesAhead> AheadOf(const RowStage& rows);

/// Rows branch on conditions that all of their points share, so that each computes only what its own let count.
struct RowChoices {
  std::vector<kir::Val> needed;     ///< With what is decided so far; ascending.
  kir::Val condition = kir::kNone;  ///< Asked next; kNone: nothing is.
  size_t loops = 0;                 ///< So many of the loops around are open then.
  std::vector<RowChoices> ways;     ///< Where it holds, and where not; none where nothing is asked.
};
/// A condition is asked outside of the loops that do not change it, where that saves more than a branch takes.
RowChoices ChoicesOf(const RowStage& rows);
/// The condition that a select asks, behind its negation, if it is one.
kir::Val ConditionOf(const kir::Kernel& kernel, const kir::Node& select);

}  // namespace tenon::target
