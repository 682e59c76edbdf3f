#pragma once

/// What is done with a product before it is stored, where products are kernels whose points compute tiles of results.

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/compiler/fuse/kernel_maker.h"
#include "tenon/compiler/fuse/tiled.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

/// A kernel over all elements of a product, done element by element inside the product's own kernel.
class TileFinish {
 public:
  /// `finish` is unfinished. Nothing where it does more than to look at an element of `product`, which has that shape,
  /// once per point.
  static std::optional<TileFinish> Of(const MadeKernel& finish, Ref product, const Shape& shape);

  /// Scalar operations per element.
  int64_t ops() const { return ops_; }
  /// What it reads besides the product, and what it stores, in the order of its buffers.
  const std::vector<BoundBuffer>& buffers() const { return bound_; }
  void AddBuffers(kir::KernelBuilder& b);
  /// Adds the store of what becomes of the element at `at`, whose axes follow dims alone. `value`: as it would be
  /// stored.
  void Add(kir::KernelBuilder& b, kir::Stage& stage, const SmallVector<kir::Axis, 4>& at, SumOfProducts::Factor value,
           const SmallVector<kir::Guard, 1>& guards) const;

 private:
  kir::Kernel k_;
  const kir::Stage* stage() const { return &std::get<kir::Stage>(k_.seq[0].is); }
  kir::Buf product_ = kir::kNoBuf;
  std::vector<int> axis_of_;  ///< By dim of the kernel: the product's axis that it follows, -1 for one of one point.
  std::vector<BoundBuffer> bound_;  ///< Without the product.
  std::vector<kir::Buf> to_;        ///< By buffer of the kernel, where they are in the product's.
  int64_t ops_ = 0;
};

}  // namespace tenon::compiler
