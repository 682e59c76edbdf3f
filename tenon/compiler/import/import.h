#pragma once

/// Program bytes to the compiler's graph. Names no type of LLVM or MLIR.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/compiler/ir/ir.h"
#include "tenon/compiler/ir/node_group.h"
#include "tenon/compiler/partition/shardings.h"
#include "tenon/plan/plan.h"

namespace tenon::compiler {

/// A program with what keeps its opaque nodes alive. One user at a time.
class Imported {
 public:
  Imported();
  ~Imported();
  Imported(Imported&&);
  Imported& operator=(Imported&&);

  Program program;
  /// How the whole arrays of the program lie over the devices; empty lists for a program without shardings.
  Shardings shardings;
  /// As in CompiledProgram.
  Hash128 common;

  /// The module as text, for dumps.
  std::string Text() const;
  /// The module as a portable artifact, of an old version where it has a form there.
  Result<std::string> Artifact() const;
  /// `program`, which was made from this one, as such an artifact: groups of several nodes are functions "fusion_N",
  /// called where their kernels run. Ops keep their places in sources. UNIMPLEMENTED names an op that has no form in
  /// StableHLO.
  Result<std::string> Export(const Program& program, const std::vector<NodeGroup>& groups) const;
  /// `node` of `program`, which was made from this one, as a program of one function over its operands and captured
  /// values: a portable artifact. It is the op behind the node where there is one. UNIMPLEMENTED names what has no form
  /// in StableHLO.
  Result<std::shared_ptr<const std::string>> ExportNode(const Program& program, const GraphNode& node) const;
  /// Target, attributes and aliases of the custom call behind `node` (operands and results empty), and its layouts,
  /// minor to major.
  struct Call {
    plan::CustomCallStep step;
    std::vector<Dims> operand_layouts;
    std::vector<Dims> result_layouts;
  };
  Result<Call> DescribeCall(const GraphNode& node) const;
  /// Where a node that has a source was written.
  plan::Origin OriginOf(const GraphNode& node) const;

  struct Impl;
  std::unique_ptr<Impl> impl;

 private:
  Result<std::shared_ptr<const std::string>> ExportOp(const GraphNode& node) const;
};

/// Reads and verifies `bytes` (which must outlive the result) and writes it as a graph: calls inlined, composites
/// inlined unless a kernel has them, annotations collected. A program of several devices becomes one over whole arrays
/// (partition/globalize.h), or one process's part of that. INVALID_ARGUMENT for malformed programs, UNIMPLEMENTED for
/// dynamic shapes.
Result<Imported> Import(std::string_view bytes, int64_t num_replicas, int64_t num_partitions,
                        const Processes& processes = {});

}  // namespace tenon::compiler
