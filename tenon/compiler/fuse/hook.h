#pragma once

/// Kernels that drivers call on the tiles of their results.

#include <optional>

#include "tenon/compiler/fuse/kernel_maker.h"
#include "tenon/drivers/family.h"

namespace tenon::compiler {

/// A hook with the values that its buffers and parameters have here.
struct MadeHook {
  kir::Kernel kernel;
  std::vector<BoundBuffer> buffers;  ///< One per kernel buffer; kLocal: the tile.
  std::vector<int64_t> params;       ///< The tile's own follow them.
  target::Work work;                 ///< Of all its calls of one run; it starts no step.
};

/// The kernel as a hook at `point`, which changes a driver's result in place; nothing where it cannot be one, or where
/// a step of its own is expected to take less time. `kernel` is unfinished, reads `result`, the driver's, and stores
/// one array of as many elements; `driver` is what the driver does. Bits are those of the kernel on its own.
std::optional<MadeHook> HookOf(const MadeKernel& kernel, Ref result, const drivers::HookPoint& point,
                               const target::Work& driver, const target::Target& target, KernelChecks* checks);

}  // namespace tenon::compiler
