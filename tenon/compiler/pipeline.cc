// The order of the phases.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "tenon/base/contain.h"
#include "tenon/compiler/compile.h"
#include "tenon/compiler/fuse/fuse.h"
#include "tenon/compiler/fuse/problem.h"
#include "tenon/compiler/fuse/product.h"
#include "tenon/compiler/fuse/scalar_ops.h"
#include "tenon/compiler/import/import.h"
#include "tenon/compiler/ir/operation_count.h"
#include "tenon/compiler/ir/verify.h"
#include "tenon/compiler/schedule/schedule.h"
#include "tenon/compiler/simplify/simplify.h"
#include "tenon/dialect/parse.h"

namespace tenon::compiler {
namespace {

class Clock {
 public:
  /// Nanoseconds since the last call.
  int64_t Lap() {
    const auto now = std::chrono::steady_clock::now();
    const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_).count();
    last_ = now;
    return ns;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void Dump(const CompileOptions& options, std::string_view name, const std::string& text) {
  if (!options.dump_dir.empty()) std::ofstream(std::filesystem::path(options.dump_dir) / name) << text;
  if (options.stage) options.stage(name, text);
}

Dims RowMajor(size_t rank) {
  Dims order;
  for (size_t i = rank; i-- > 0;) order.push_back(static_cast<int64_t>(i));
  return order;
}

/// A layout, minor to major: the client's, else the program's ("{0,1}"), else row-major.
Result<Dims> LayoutOf(const Shape& shape, const std::vector<std::vector<int64_t>>& client, size_t index,
                      const std::string& mode) {
  Dims minor_to_major;
  if (index < client.size() && client[index].size() == shape.rank()) {
    for (int64_t d : client[index]) minor_to_major.push_back(d);
  } else if (mode.size() > 2 && mode.front() == '{') {
    int64_t number = -1;
    for (char c : mode) {
      if (c >= '0' && c <= '9') {
        number = (number < 0 ? 0 : number * 10) + (c - '0');
      } else {
        if (number >= 0) minor_to_major.push_back(number);
        number = -1;
        if (c == ':' || c == '}') break;
      }
    }
  }
  if (minor_to_major.empty()) return RowMajor(shape.rank());
  if (!plan::IsOrderOf(minor_to_major, shape.rank()))
    return InvalidArgument(fmt::format("layout {} is no permutation of the dims of {}", index, ToString(shape)));
  return minor_to_major;
}

/// The layout of a result for which it is left to the compiler ("auto"): as its elements lie already where it is a
/// transposed value, else row-major.
Dims AutoLayout(const Program& program, Ref result, const std::vector<Dims>& argument_layouts) {
  const size_t rank = program.shape(result).rank();
  const GraphNode& node = program[result.node];
  if (node.op != OpCode::kTranspose) return RowMajor(rank);
  Dims source = RowMajor(rank);
  const auto& args = program.main.args;
  const auto argument = std::find(args.begin(), args.end(), node.in[0].node);
  if (argument != args.end()) source = argument_layouts[static_cast<size_t>(argument - args.begin())];
  const Dims& permutation = node.attrs<TransposeAttrs>().permutation;
  Dims order;
  for (const int64_t d : source)
    order.push_back(std::find(permutation.begin(), permutation.end(), d) - permutation.begin());
  return order;
}

OpExporter ExporterOf(const Imported& imported, const Program& simple) {
  OpExporter exporter;
  exporter.program = [&imported, &simple](const GraphNode& node) { return imported.ExportNode(simple, node); };
  exporter.custom_call = [&imported](const GraphNode& node) -> Result<OpExporter::Call> {
    TENON_ASSIGN_OR_RETURN(Imported::Call call, imported.DescribeCall(node));
    return OpExporter::Call{std::move(call.step), std::move(call.operand_layouts), std::move(call.result_layouts)};
  };
  exporter.origin = [&imported](const GraphNode& node) { return imported.OriginOf(node); };
  return exporter;
}

/// Which parameters a call takes: those that are aliased, and donors for which there is a result of as many bytes on
/// each device.
std::vector<bool> DonatedOf(const Program& program, const CompiledProgram& about) {
  const auto part_bytes = [](const Shape& shape, const std::vector<Tiling>& tilings, size_t i) {
    return SizeBytes(shape) / (i < tilings.size() ? NumElements(tilings[i].tiles) : 1);
  };
  std::multiset<int64_t> unclaimed;
  for (size_t i = 0; i < about.plan.outputs.size(); ++i)
    unclaimed.insert(part_bytes(about.plan.outputs[i].shape, about.result_tilings, i));
  std::vector<bool> donated;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const ParameterInfo& p = program.parameters[i];
    const auto fits = unclaimed.find(part_bytes(about.plan.inputs[i].shape, about.parameter_tilings, i));
    donated.push_back(p.aliasing_output >= 0 || (p.donor && fits != unclaimed.end()));
    if (donated.back() && fits != unclaimed.end()) unclaimed.erase(fits);
  }
  return donated;
}

/// Layouts of arguments and results, as client and program want them.
struct Layouts {
  std::vector<Dims> arguments;
  std::vector<Dims> results;
};

Result<Layouts> LayoutsOf(const Program& simple, const CompileOptions& options) {
  Layouts layouts;
  for (size_t i = 0; i < simple.main.args.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(Dims order, LayoutOf(simple[simple.main.args[i]].shape(), options.argument_layouts, i,
                                                simple.parameters[i].layout_mode));
    layouts.arguments.push_back(std::move(order));
  }
  for (size_t i = 0; i < simple.main.results.size(); ++i) {
    const Ref result_ref = simple.main.results[i];
    TENON_ASSIGN_OR_RETURN(
        Dims order, LayoutOf(simple.shape(result_ref), options.result_layouts, i, simple.results[i].layout_mode));
    if (simple.results[i].layout_mode == "auto" && i >= options.result_layouts.size())
      order = AutoLayout(simple, result_ref, layouts.arguments);
    layouts.results.push_back(std::move(order));
  }
  return layouts;
}

FuseOptions FuseOptionsFor(const Program& simple, const Layouts& layouts, const drivers::Registry& drivers) {
  FuseOptions fuse;
  fuse.drivers = &drivers;
  for (size_t i = 0; i < layouts.arguments.size(); ++i) {
    const Shape& shape = simple[simple.main.args[i]].shape();
    fuse.argument_strides.push_back(plan::StridesOfLayout(shape.dims, layouts.arguments[i]));
  }
  for (size_t i = 0; i < layouts.results.size(); ++i) {
    const Shape& shape = simple.shape(simple.main.results[i]);
    fuse.result_strides.push_back(plan::StridesOfLayout(shape.dims, layouts.results[i]));
  }
  return fuse;
}

Outlook OutlookOn(const drivers::Registry& drivers) {
  return {[&drivers](const Program& p, const GraphNode& node, std::optional<size_t> lasting) {
            return DriverWork(p, node, drivers, lasting);
          },
          HasProductKernel, CostOf};
}

const drivers::Registry& DriversOf(const CompileOptions& options) {
  static const drivers::Registry none;
  return options.drivers == nullptr ? none : *options.drivers;
}

Result<CompiledProgram> CompileUncontained(std::string_view program, const CompileOptions& options) {
  const bool dump = !options.dump_dir.empty() || options.stage;
  if (!options.dump_dir.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(options.dump_dir, ignored);
  }
  CompiledProgram result;
  Clock clock;
  TENON_ASSIGN_OR_RETURN(Imported imported,
                         Import(program, options.num_replicas, options.num_partitions, options.processes));
  imported.program.target = std::make_shared<const target::Target>(options.target);
  result.statistics.ops = CountOps(imported.program, imported.program.main);
  result.statistics.import_ns = clock.Lap();
  if (options.verify) {
    if (Status s = Verify(imported.program); !s.ok()) return s.WithContext("the imported graph is wrong");
    clock.Lap();
  }
  if (dump) {
    Dump(options, "01_import.mlir", imported.Text());
    Dump(options, "02_import.graph", Print(imported.program));
    clock.Lap();
  }

  RuleLog rules(dump);
  const drivers::Registry& drivers = DriversOf(options);
  const Outlook outlook = OutlookOn(drivers);
  const Program simple = Simplify(imported.program, outlook, rules);
  result.statistics.ops_simplified = CountOps(simple, simple.main);
  result.statistics.rules = rules.Counts();
  result.statistics.simplify_ns = clock.Lap();
  if (options.verify) {
    if (Status s = Verify(simple); !s.ok()) return s.WithContext("the simplified graph is wrong");
    clock.Lap();
  }
  if (dump) {
    Dump(options, "03_rules.txt", rules.text());
    Dump(options, "03_simplified.graph", Print(simple));
    clock.Lap();
  }

  TENON_ASSIGN_OR_RETURN(Layouts layouts, LayoutsOf(simple, options));
  FuseOptions fuse = FuseOptionsFor(simple, layouts, drivers);
  fuse.verify = options.verify;
  TENON_ASSIGN_OR_RETURN(FusedProgram fused, Fuse(simple, fuse, ExporterOf(imported, simple)));
  const OperationCount operations = CountOperations(simple);
  result.flops = operations.flops;
  result.transcendentals = operations.transcendentals;
  result.statistics.fuse_ns = clock.Lap();

  result.kernel_nodes = std::move(fused.kernel_nodes);
  std::vector<Donation> donations;
  for (const ParameterInfo& p : simple.parameters) donations.push_back({p.aliasing_output, p.donor});
  result.plan = Schedule(std::move(fused), donations, options.target);
  result.plan.name = simple.name;
  result.statistics.schedule_ns = clock.Lap();
  if (dump) {
    for (size_t i = 0; i < result.plan.kernels.size(); ++i) {
      Dump(options, fmt::format("04_kernel_{}.kir", i), kir::Print(result.plan.kernels[i]));
    }
    Dump(options, "05_plan.txt", plan::Print(result.plan));
    Dump(options, "05_plan.svg", plan::ToSvg(result.plan));
    clock.Lap();
  }
  // The plan is checked once here, so that a mistake of a phase is an error of this compile and not a crash at run
  // time.
  if (Status s = plan::Verify(result.plan, drivers); !s.ok())
    return Internal(std::string(s.message())).WithContext("the compiled plan is wrong");
  result.statistics.verify_ns = clock.Lap();

  result.name = simple.name;
  result.parameter_shardings = imported.shardings.parameter_shardings;
  result.output_shardings = imported.shardings.result_shardings;
  result.parameter_layouts = std::move(layouts.arguments);
  result.result_layouts = std::move(layouts.results);
  result.inspected = imported.shardings.inspected;
  if (options.num_replicas * options.num_partitions > 1) {
    result.parameter_tilings = imported.shardings.parameter_tilings;
    result.result_tilings = imported.shardings.result_tilings;
  }
  result.processes = options.processes;
  result.common = imported.common;
  result.statistics.exchanges = imported.shardings.exchanges;
  result.statistics.exchanged_bytes = imported.shardings.exchanged_bytes;
  result.statistics.gathered = imported.shardings.gathered;
  result.donated = DonatedOf(simple, result);
  result.bytes_accessed = plan::BytesAccessed(result.plan);
  result.source = std::string(program);
  return result;
}

}  // namespace

// A broken invariant, or a lack of memory, is an error of this call.
Result<CompiledProgram> Compile(std::string_view program, const CompileOptions& options) {
  Result<CompiledProgram> result = Internal("not compiled");
  const Status contained = Contain("compiler", [&] { result = CompileUncontained(program, options); });
  if (!contained.ok()) return contained;
  return result;
}

Result<std::string> PlainStablehlo(std::string_view program, int64_t num_replicas, int64_t num_partitions) {
  TENON_ASSIGN_OR_RETURN(const Imported imported, Import(program, num_replicas, num_partitions));
  const dialect::InputKind kind = dialect::DetectInput(program);
  const bool hlo = kind == dialect::InputKind::kHloModuleProto || kind == dialect::InputKind::kHloText;
  const bool sharded = !imported.shardings.result_shardings.empty() && num_replicas == 1;
  return hlo || sharded ? imported.Artifact() : std::string(program);
}

Result<std::string> OptimizedStablehlo(std::string_view program, const CompileOptions& options,
                                       const std::optional<std::vector<NodeGroup>>& kernel_nodes) {
  TENON_ASSIGN_OR_RETURN(Imported imported,
                         Import(program, options.num_replicas, options.num_partitions, options.processes));
  imported.program.target = std::make_shared<const target::Target>(options.target);
  RuleLog rules(false);
  const drivers::Registry& drivers = DriversOf(options);
  const Program simple = Simplify(imported.program, OutlookOn(drivers), rules);
  std::vector<NodeGroup> groups;
  if (kernel_nodes) {
    groups = *kernel_nodes;
  } else {
    TENON_ASSIGN_OR_RETURN(const Layouts layouts, LayoutsOf(simple, options));
    const FuseOptions fuse = FuseOptionsFor(simple, layouts, drivers);
    TENON_ASSIGN_OR_RETURN(FusedProgram fused, Fuse(simple, fuse, ExporterOf(imported, simple)));
    groups = std::move(fused.kernel_nodes);
  }
  Result<std::string> optimized = imported.Export(simple, groups);
  if (optimized.ok() || optimized.status().code() != Code::kUnimplemented) return optimized;
  return PlainStablehlo(program, options.num_replicas, options.num_partitions);
}

}  // namespace tenon::compiler
