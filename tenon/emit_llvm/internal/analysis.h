#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/kir/kir.h"
#include "tenon/kir/ranges.h"

namespace tenon::emit_llvm {

/// One summand of an access's element offset: a constant, dim * factor or value(start) * factor; factor = a * b.
struct Contribution {
  enum class Kind : uint8_t { kOffset, kDim, kStart };
  Kind kind = Kind::kOffset;
  kir::DimId dim = 0;
  kir::Val start = kir::kNone;
  kir::Size a = kir::Size::Of(1);
  kir::Size b = kir::Size::Of(1);
  std::optional<int64_t> ConstFactor() const;
};

/// A read's or store's place, as a sum over all axes.
struct Access {
  kir::Buf buf = 0;
  const SmallVector<kir::Guard, 1>* guards = nullptr;
  SmallVector<Contribution, 8> parts;
  kir::DimMask dims = 0;  ///< Dims whose value moves the place directly (not through a start).
};

/// Elements that the place moves by when `dim` grows by one: 0 when it does not, nothing when only run time knows.
std::optional<int64_t> ConstStride(const Access& access, kir::DimId dim);

/// What the emitter wants to know of a kernel before it emits anything. No LLVM in it.
class Analysis {
 public:
  explicit Analysis(const kir::Kernel& kernel);

  const kir::Kernel& kernel;
  std::vector<kir::DimMask> deps;  ///< Per node: the dims that its value depends on.
  /// Per node, where data decide what is read; else empty.
  std::vector<kir::IntegerRange> ranges;
  std::vector<bool> buffer_mutable;  ///< Per buffer (kir::WrittenBuffers).
  std::vector<Access> reads;         ///< Per Kernel::reads.

  /// Nodes that evaluating `roots` needs, ascending. Does not look through kReduced and kCarried.
  std::vector<kir::Val> Needed(const std::vector<kir::Val>& roots) const;
  /// Values that a store (value, starts, guards) or a read's place needs.
  static void StoreRoots(const kir::Store& store, std::vector<kir::Val>* roots);
  /// Roots of everything below the sequence.
  void SeqRoots(const kir::Seq& seq, std::vector<kir::Val>* roots) const;
  static Access AccessOf(const kir::Kernel& kernel, kir::Buf buf, const SmallVector<kir::Axis, 4>& at,
                         const SmallVector<kir::Guard, 1>& guards);
  /// Whether the store runs after the stage's reductions, once per point of the other dims.
  bool RunsAfterReduce(const kir::Stage& stage, const kir::Store& store) const;
  kir::DimMask AxisDeps(const kir::Axis& axis) const;
  /// Rough cycles of evaluating `nodes` once per vector.
  int Cost(const std::vector<kir::Val>& nodes, kir::DimMask vector_dims) const;

 private:
  void FindDeps();
  bool StepDeps(const kir::Seq& seq);
};

}  // namespace tenon::emit_llvm
