#pragma once

#include "tenon/kir/kir.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// Cycles of one core.
struct LaneCost {
  double cycles = 0;
  double of_loops = 0;  ///< Of those: what it takes to begin and end rows.
  friend bool operator<(const LaneCost& x, const LaneCost& y) { return x.cycles < y.cycles; }
};
/// Whether no stage reduces anything.
bool PointsStayApart(const kir::Kernel& kernel);
/// What a model of lanes looks at.
struct LaneModel {
  /// Of a kernel whose points stay apart. Where data choose rows, each lane then loads from another one, and what says
  /// which row runs beside what the rows before it move.
  bool by_row = false;
  bool tiled = true;  ///< Stages may go through several short dims together (TiledDims).
};
/// Cycles of one core that the kernel's operations and moves between registers and the nearest cache take, with each
/// stage in the lanes of the dim that suits it best. All sizes are baked; memory beyond that cache is not counted, as
/// it is the same for all forms of a kernel.
LaneCost LaneCostOf(const kir::Kernel& kernel, const target::Target& target, const LaneModel& model = {});
/// The last dims of the kernel's only stage that are gone through together, in vectors that registers put together
/// (target::ShortTile), because that is faster than any one of them in lanes; 0: none.
kir::DimMask TiledDims(const kir::Kernel& kernel, const target::Target& target);
/// Cycles of the kernel's only stage with these dims of it gone through so, whichever place they have; infinite where
/// they cannot be.
double TiledCycles(const kir::Kernel& kernel, const target::Target& target, kir::DimMask dims);
inline double LaneCycles(const kir::Kernel& kernel, const target::Target& target) {
  return LaneCostOf(kernel, target).cycles;
}

}  // namespace tenon::compiler
