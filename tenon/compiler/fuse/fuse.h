#pragma once

/// A simplified program to steps over logical buffers: kernels, drivers, loops, calls. Memory is not placed yet.

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/compiler/fuse/kernel_maker.h"
#include "tenon/compiler/ir/ir.h"
#include "tenon/compiler/ir/node_group.h"
#include "tenon/drivers/registry.h"
#include "tenon/plan/plan.h"

namespace tenon::compiler {

/// Memory of its own: an argument, an output, a constant, or a temporary that `schedule` places.
struct LogicalBuffer {
  plan::SlotKind kind = plan::SlotKind::kTemp;
  uint32_t index = 0;
  int64_t bytes = 0;
};

/// Steps over logical buffers, which have no place in memory yet: a plan but for what schedule decides.
struct FusedProgram {
  std::vector<LogicalBuffer> buffers;
  std::vector<View> views;  ///< What SlotIds in steps name.
  plan::Seq steps;
  std::vector<kir::Kernel> kernels;  ///< Distinct ones.
  std::vector<plan::Constant> constants;
  std::vector<plan::Output> outputs;
  std::vector<plan::Input> inputs;
  /// For the written slot of a kernel step: read slots whose memory it may take over.
  std::unordered_map<plan::SlotId, std::vector<plan::SlotId>> in_place;
  /// What the kernels were made of, for people.
  std::vector<NodeGroup> kernel_nodes;
  std::vector<plan::Origin> origins;
};

/// What only the front end knows about ops that travel whole.
struct OpExporter {
  /// The op with its regions as a program of one function over its operands and captures: a portable artifact.
  std::function<Result<std::shared_ptr<const std::string>>(const GraphNode&)> program;
  /// Target, attributes, aliases of a custom call (operands and results left empty), and the physical layouts that it
  /// wants.
  struct Call {
    plan::CustomCallStep step;
    std::vector<Dims> operand_layouts;  ///< Minor to major; empty: row-major.
    std::vector<Dims> result_layouts;
  };
  std::function<Result<Call>(const GraphNode&)> custom_call;
  /// Of a node that has a source.
  std::function<plan::Origin(const GraphNode&)> origin;
};

/// `argument_strides`, `result_strides`: the layouts in elements, one per parameter and result. `drivers`: those that
/// may be called.
struct FuseOptions {
  const drivers::Registry* drivers = nullptr;
  std::vector<Dims> argument_strides;
  std::vector<Dims> result_strides;
  bool verify = false;  ///< Checks every kernel after each rewriting: a debug option, for it takes time.
};

/// UNIMPLEMENTED names an op that neither compiles nor travels.
Result<FusedProgram> Fuse(const Program& program, const FuseOptions& options, const OpExporter& exporter);

}  // namespace tenon::compiler
