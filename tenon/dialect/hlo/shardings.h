#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/base/status.h"
#include "tenon/dialect/hlo/module.h"

namespace tenon::hlo {

/// Writes the shardings that the entry's parameter and root instructions carry as sdy.sharding, each grid of devices as
/// a mesh beside `main`. Nothing is written for values that the program says nothing about.
Status SetShardings(const Module& module, mlir::func::FuncOp main);

}  // namespace tenon::hlo
