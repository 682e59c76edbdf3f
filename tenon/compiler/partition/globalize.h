#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"
#include "tenon/base/status.h"
#include "tenon/compiler/partition/shardings.h"

namespace tenon::compiler {

/// Attributes of the module: how its arguments lie over the partitions, an xla.OpSharding each, and its results, one of
/// them or a tuple. Clients older than PJRT's extension for shardings read them in the optimized program.
inline constexpr const char* kParametersShardings = "mhlo.spmd_parameters_shardings";
inline constexpr const char* kOutputSharding = "mhlo.spmd_output_sharding";

/// Rewrites a program of several devices that share one memory into one program over whole arrays, without Shardy and
/// without collectives: constraints vanish, and a body that is written per device (manual_computation; with replicas
/// the whole of @main) is expanded once per device, in lock-step, so that every collective becomes ordinary ops on the
/// devices' values. Programs of one device only lose their Shardy ops. Requires a verified module. UNIMPLEMENTED names
/// what has no such form (nested manual computations, dynamic roots).
/// With several processes it becomes what this one of them computes (processes.h), and the tilings are its devices'.
Result<Shardings> Globalize(mlir::ModuleOp module, int64_t num_replicas, int64_t num_partitions,
                            const Processes& processes = {});

/// Whether Globalize has anything to do: several devices, or an sdy op or attribute.
bool NeedsGlobalize(mlir::ModuleOp module, int64_t num_replicas, int64_t num_partitions);

}  // namespace tenon::compiler
