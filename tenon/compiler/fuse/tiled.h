#pragma once

/// Kernels in which each point computes a small tile of results, so that what it reads is used several times: products
/// and convolutions for targets on which they are kernels. Every result is a sum of its own, its terms in ascending
/// order, so tiles decide no bits.

#include <cstdint>
#include <optional>

#include "tenon/compiler/ir/ir.h"
#include "tenon/kir/builder.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// How the places along a dim are dealt out: each point has `groups` groups of `vec` neighbours, and `lanes` points
/// beside one another have the groups in turn, so that neighbouring points read and write neighbouring memory.
struct DimTile {
  int64_t groups = 1, lanes = 1, vec = 1;
  int64_t Own() const { return groups * vec; }
  int64_t Span() const { return groups * lanes * vec; }
};

/// Tiles for an array of results: `rows` along one dim, `columns` along the one whose neighbours lie side by side.
struct Tile {
  DimTile rows, columns;
};
/// For extents of these, of which there are `batch`; fewer results per point where the device would have idle units.
Tile ChooseTile(int64_t batch, int64_t rows, int64_t columns, const target::Target& target);

/// A workgroup's tile for a unit that multiplies matrices, which lie along the lanes of either dim; nothing where there
/// are too few results or terms to fill a unit.
std::optional<Tile> MatrixTile(const target::MatrixUnit& unit, int64_t rows, int64_t columns, int64_t terms,
                               const target::Target& target);

/// A dim of results that is dealt out in a kernel.
class TiledDim {
 public:
  TiledDim(kir::KernelBuilder& b, int64_t extent, DimTile tile) : b_(b), extent_(extent), tile_(tile) {}

  /// Dims over the spans, then over the lanes of one; in the order in which they are to be added.
  void AddSpans(kir::Stage& stage);
  void AddLanes(kir::Stage& stage);

  /// The place of the point's number `i` times `coef`, plus `offset`. Beyond the end, it is that of the last place.
  kir::Axis At(int64_t i, int64_t coef = 1, int64_t offset = 0);
  /// The place itself, which may lie beyond the end: for guarded stores.
  kir::Axis Place(int64_t i) const { return Plain(i); }
  /// What keeps stores of places beyond the end away; nothing where there are none.
  void AddGuard(int64_t i, kir::Store& store) const;
  /// Whether the last span reaches beyond the end.
  bool ragged() const { return extent_ % tile_.Span() != 0; }
  int64_t own() const { return tile_.Own(); }

 private:
  kir::Axis Plain(int64_t i) const;

  kir::KernelBuilder& b_;
  int64_t extent_;
  DimTile tile_;
  std::optional<kir::DimId> spans_, lanes_;
};

/// A sum of products per result, in `type`: terms ascending, each product and addition rounded once where the target
/// has such an instruction. Complex operands are pairs.
class SumOfProducts {
 public:
  /// `by_unit`: terms may meet as the target's matrix units have it.
  SumOfProducts(kir::KernelBuilder& b, DType type, bool fused, bool by_unit = false);
  struct Factor {
    kir::Val re = kir::kNone, im = kir::kNone;
  };
  /// Adds the sum over `dims`, none for a single product, to the stage; its value.
  Factor Add(kir::Stage& stage, kir::DimMask dims, Factor x, Factor y);

 private:
  kir::KernelBuilder& b_;
  DType type_;
  bool fused_, by_unit_;
  uint32_t combiner_;
};

}  // namespace tenon::compiler
