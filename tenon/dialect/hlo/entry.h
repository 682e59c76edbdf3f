#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/base/status.h"
#include "tenon/dialect/hlo/module.h"

namespace tenon::hlo {

/// Writes what `module` says about its entry's parameters and results onto `main`, one argument or result per leaf:
/// donation (tf.aliasing_output, jax.buffer_donor) and shardings (sdy.sharding, with meshes beside main). The layouts
/// that the module states are not among it: PJRT clients get row-major buffers unless their compile options say
/// otherwise, whatever the HLO says.
Status SetEntryAttributes(const Module& module, mlir::func::FuncOp main);

/// The position of leaf `path` of `shapes[number]` in the flat list of leaves. INVALID_ARGUMENT, naming `what`, when
/// there is none.
Result<int64_t> LeafIndex(const std::vector<const Shape*>& shapes, int64_t number, const std::vector<int64_t>& path,
                          std::string_view what);

}  // namespace tenon::hlo
