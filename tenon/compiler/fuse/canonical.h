#pragma once

/// Brings a kernel into the one form that kernels of the same meaning share, so that few distinct ones are compiled.

#include "tenon/compiler/fuse/kernel_maker.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

/// Finishes a kernel in place: contracts products that feed one sum into fma, folds constants, drops dead nodes, cuts
/// regions, merges loops that all accesses run through together, lets stages share dims and joins them, decides the
/// split, finds buffers that may share memory, turns extents into parameters, counts the work. With `checks`, the
/// kernel is verified after each of these.
void FinishKernel(MadeKernel& made, const target::Target& target, KernelChecks* checks = nullptr);

/// As far as stages, loops and nodes go, whose sizes stay baked: what LaneCycles looks at.
void ReformKernel(MadeKernel& made, const target::Target& target, KernelChecks* checks = nullptr);

// The parts, for tests.
void ContractFma(kir::Kernel& kernel);
void DropDead(kir::Kernel& kernel);
/// What constants settle: arithmetic of small ones, comparisons, selections. Leaves dead nodes behind.
void FoldConstants(kir::Kernel& kernel);
/// Guards and comparisons of places, where they are many, are settled by cutting the one stage into regions, where that
/// saves time. Leaves dead nodes behind.
void SplitRegions(kir::Kernel& kernel, const target::Target& target);
/// The only stage's points in the order in which they are stored, unless something is read that lies along the dim
/// that was the last, as tiles serve both then, or computed that rows of the other order share.
void FollowStores(kir::Kernel& kernel, const target::Target& target);
void MergeDims(kir::Kernel& kernel);
/// Stages that run over equal extents do so over the same dims, so that they can be cut together.
void UnifyDims(kir::Kernel& kernel);
/// Stages over the same points that write neighbours of one buffer become one, whose stores move whole vectors; a
/// single stage of points has the outer dims as its own.
void JoinStages(kir::Kernel& kernel);
void DecideSplit(kir::Kernel& kernel, const target::Target& target);
/// Pieces of whole tiles of the only stage's last dims, which `tiled` are.
void SplitAroundTiles(kir::Kernel& kernel, kir::DimMask tiled, const target::Target& target);
void FindInPlace(MadeKernel& made);
/// The dims whose extents, all of them baked, Parameterise leaves so.
kir::DimMask KeptExtents(const kir::Kernel& kernel);
/// Extents, strides, coefficients and bounds beyond small numbers become slots of the parameter block; equal numbers
/// share a slot. Those of `tiled` dims (TiledDims) stay, and what places move by along them.
void Parameterise(kir::Kernel& kernel, std::vector<int64_t>& params, kir::DimMask tiled = 0);

}  // namespace tenon::compiler
