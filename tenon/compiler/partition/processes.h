#pragma once

#include <map>
#include <string>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/compiler/partition/shardings.h"

namespace tenon::compiler {

/// Rewrites @main, over whole arrays, into what one process of several computes: its arguments and results become this
/// process's boxes of them, and exchanges (kExchangeTarget) move what other processes have. Inside a process arrays
/// stay whole, however many devices it has. Ops run on parts where rules.h has a rule and gather their operands where
/// it has none, which is counted. Bodies of manual computations run for this process's devices.
///
/// `shardings` has the tilings of all devices and gets this process's. Constraints must still be there; calls must be
/// inlined. On an error @main is as it was.
/// `num_partitions`: devices that meshes have; with replicas, whose expansion names none, any number.
Status PartitionOverProcesses(mlir::func::FuncOp main, const Processes& processes, int64_t num_partitions,
                              Shardings& shardings);

}  // namespace tenon::compiler
