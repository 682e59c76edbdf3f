#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/base/status.h"
#include "tenon/dialect/hlo/module.h"

namespace tenon::hlo {

/// Writes the shardings of the entry's parameters and results as sdy.sharding, each over a mesh of its own beside `main`. Nothing is
/// written for a program of one partition, nor for values that are replicated or that the program says nothing about.
Status SetShardings(const Module& module, mlir::func::FuncOp main);

}  // namespace tenon::hlo
