#pragma once

/// StableHLO bytes to a plan. Names no type of LLVM or MLIR.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/compiler/ir/node_group.h"
#include "tenon/drivers/registry.h"
#include "tenon/plan/plan.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// The processes that run a program together, each with some of its devices. Numbers are the processes' among
/// themselves, from 0 without gaps.
struct Processes {
  std::vector<int> of_device;  ///< By flat device number. Empty: all devices are this process's.
  int self = 0;

  bool empty() const { return of_device.empty(); }
  int count() const {
    int most = 0;
    for (const int p : of_device) most = p > most ? p : most;
    return most + 1;
  }
  /// The devices of one of them, ascending.
  std::vector<int64_t> DevicesOf(int process) const {
    std::vector<int64_t> devices;
    for (size_t d = 0; d < of_device.size(); ++d) {
      if (of_device[d] == process) devices.push_back(static_cast<int64_t>(d));
    }
    return devices;
  }
  friend bool operator==(const Processes&, const Processes&) = default;
};

/// The custom call that moves bytes between processes (partition/exchange.h); programs from outside have none.
inline constexpr std::string_view kExchangeTarget = "tenon.exchange";
/// The custom calls that stand for a program's send to the host, and recv from it: one array each, and the channel's
/// number as backend_config; programs from outside have none.
inline constexpr std::string_view kHostSendTarget = "tenon.host_send";
inline constexpr std::string_view kHostRecvTarget = "tenon.host_recv";

/// What the client, or whoever looks on, wants of one compile.
struct CompileOptions {
  /// The machine that the plan is for.
  target::Target target = *target::StandardTarget();
  int64_t num_replicas = 1;
  int64_t num_partitions = 1;
  /// With several processes the result is this process's part of the program.
  Processes processes;
  /// The drivers that the program may call when it runs; null: none, and what would need one is evaluated. Must outlive
  /// the compile.
  const drivers::Registry* drivers = nullptr;
  /// Layouts of arguments by minor-to-major order, from the client's options; empty: as the program says, else
  /// row-major.
  std::vector<std::vector<int64_t>> argument_layouts;
  std::vector<std::vector<int64_t>> result_layouts;
  /// Checks the graph after every phase (ir/verify.h), and kernels after every rewriting, so that a mistake is
  /// named where it is made (TENON_VERIFY=1). Costs time. Plans are always checked.
  bool verify = false;
  /// Folder that receives every stage as text (TENON_DUMP_DIR); empty: none.
  std::string dump_dir;
  /// Receives the same during Compile, under the names of the files ("05_plan.txt"); null: nobody.
  std::function<void(std::string_view name, const std::string& text)> stage;
};

/// Nanoseconds per phase and sizes, for the one statistics line per compile.
struct CompileStatistics {
  int64_t ops = 0;             ///< StableHLO ops after import, nested ones included.
  int64_t ops_simplified = 0;  ///< After simplify.
  /// Rules of simplify that did something, and how often.
  std::vector<std::pair<std::string_view, int64_t>> rules;
  int64_t import_ns = 0;
  int64_t simplify_ns = 0;
  int64_t fuse_ns = 0;
  int64_t schedule_ns = 0;
  int64_t verify_ns = 0;  ///< Of the plan.
  /// With several processes: exchanges in the program, bytes that this process receives in them (bodies of loops count
  /// once), and the ops whose operands were gathered because there is no better rule for them.
  int64_t exchanges = 0;
  int64_t exchanged_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> gathered;
};

/// Which part of a whole array each device holds, in a program of several devices. Device numbers are flat: replica *
/// num_partitions + partition.
struct Tiling {
  Dims tiles;                        ///< Equal parts along each dim of the whole array.
  std::vector<Dims> tile_of_device;  ///< Position of each device's part; devices may share one (replicas of it).
  /// The whole array has a leading dim that its parts lack: one entry per replica, or per partial value of an array
  /// that what its devices hold makes together.
  bool stacked = false;
  friend bool operator==(const Tiling&, const Tiling&) = default;
};

/// A place in the program that asks how a value lies over the devices (custom call @InspectSharding).
struct InspectedSharding {
  std::string key;       ///< The call's backend_config: says whom to tell.
  std::string sharding;  ///< A serialised xla.OpSharding.
};

/// What PJRT asks about a compiled program.
struct CompiledProgram {
  plan::Plan plan;
  std::string name;
  /// Serialised xla.OpSharding per parameter and result; empty when the program names none.
  std::vector<std::string> parameter_shardings;
  std::vector<std::string> output_shardings;
  /// How each parameter and result lies: dims from fastest to slowest, all of them. The plan's strides follow from it
  /// and say less, namely nothing about dims of one element or none.
  std::vector<Dims> parameter_layouts;
  std::vector<Dims> result_layouts;
  /// With more than one device the plan computes on whole arrays, for all devices at once: these say how inputs are put
  /// together from the devices' arguments and how outputs are cut. Empty for one device.
  std::vector<Tiling> parameter_tilings;
  std::vector<Tiling> result_tilings;
  /// With several processes: the program's text as it came, without places in sources: what all of them have alike.
  Hash128 common;
  /// As in the options. The tilings then are of this process's devices alone, and of what it holds of the whole arrays.
  Processes processes;
  std::vector<InspectedSharding> inspected;
  /// Arguments that calls take: aliased ones (tf.aliasing_output), and donors (jax.buffer_donor) that a result fits.
  std::vector<bool> donated;
  double flops = 0;  ///< As compiler/ir/operation_count.h counts them, of the simplified program.
  double transcendentals = 0;
  double bytes_accessed = 0;  ///< By all steps of one run, in memory and in caches.
  std::string source;         ///< The bytes given to Compile.
  /// The nodes of the simplified program that kernels of several compute, in the order of the kernels; nothing for a
  /// program that comes from elsewhere.
  std::optional<std::vector<NodeGroup>> kernel_nodes;
  CompileStatistics statistics;
};

/// Compiles `program` (portable artifact, StableHLO text or bytecode). Thread-safe. INVALID_ARGUMENT for malformed
/// programs, naming op and location; UNIMPLEMENTED names what is not supported. Ops without compiled form become
/// `evaluate` steps.
Result<CompiledProgram> Compile(std::string_view program, const CompileOptions& options);

/// `program` in a form that any reader of StableHLO takes: itself, or, where it is HLO or has shardings, what import
/// makes of it as a portable artifact without them. Thread-safe. Errors as Compile; to be asked of programs that it
/// took.
Result<std::string> PlainStablehlo(std::string_view program, int64_t num_replicas, int64_t num_partitions);

/// What becomes of `program` before it is kernels: the simplified program over whole arrays as a portable artifact, in
/// which a function "fusion_N" stands for the ops of each kernel that computes several, and ops keep their places in
/// sources. PlainStablehlo where an op that the compiler made has no form in StableHLO. It compiles again, to the same
/// results. `kernel_nodes` are those of its Compile with the same options: with them it takes about a third of the
/// front end's time, else all of it. Errors as Compile.
Result<std::string> OptimizedStablehlo(std::string_view program, const CompileOptions& options,
                                       const std::optional<std::vector<NodeGroup>>& kernel_nodes = std::nullopt);

}  // namespace tenon::compiler
