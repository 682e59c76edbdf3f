#pragma once

/// Kernels of a program that are equal when they are traced need be finished once.

#include <optional>
#include <unordered_map>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/storing.h"

namespace tenon::compiler {

/// A kernel as it was traced, with what else decides what becomes of it.
struct TracedKernel {
  kir::Kernel kernel;
  std::vector<BoundBuffer::Kind> buffers;
  /// What might be stored, without the nodes' numbers; nothing when nobody asks.
  std::optional<std::vector<Computed>> computed;
  double step = 0;
  friend bool operator==(const TracedKernel&, const TracedKernel&) = default;
};

/// What became of traced kernels, for one target.
class FinishedKernels {
 public:
  struct Outcome {
    std::vector<size_t> better_stored;  ///< Of `computed`; then there is no kernel.
    MadeKernel made;                    ///< Without its buffers.
    bool without_locals = false;        ///< Its local buffers are no more.
  };
  /// What became of an equal one; null for the first.
  const Outcome* Find(const TracedKernel& traced) const;
  const Outcome& Add(TracedKernel traced, Outcome outcome);

 private:
  std::unordered_map<Hash128, std::vector<std::pair<TracedKernel, Outcome>>, Hash128Hasher> outcomes_;
};

}  // namespace tenon::compiler
