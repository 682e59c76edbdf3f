#include "tenon/host/executable_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#define XXH_INLINE_ALL  // Header-only: no library to find at load time.
#include <xxhash.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tenon/host/build.h"
#include "tenon/host/services.h"
#include "tenon/host/tiling.h"

namespace tenon::host {
namespace {

template <class Port>
Result<plugin::ValueSpec> ToValueSpec(const Port& port, const Dims& layout) {
  plugin::ValueSpec spec;
  spec.array.shape = port.shape;
  spec.array.minor_to_major = layout;
  TENON_RETURN_IF_ERROR(plugin::NormalizeLayout(spec.array));
  if (!port.memory_kind.empty()) spec.memory_kind = port.memory_kind;
  return spec;
}

// What one device holds of a whole array, in the whole array's order of dims. Stacked arrays are row-major.
void ToPart(plugin::ValueSpec& spec, const compiler::Tiling& tiling) {
  const size_t rank = spec.array.shape.rank() - (tiling.stacked ? 1 : 0);
  spec.array.shape.dims = PartDims(spec.array.shape.dims, tiling, rank);
  if (tiling.stacked) spec.array.minor_to_major.clear();
}

// Of what was compiled by what, and for people: for which target.
std::string Fingerprint(const compiler::CompiledProgram& about, const plan::Plan& plan, const target::Target& target) {
  std::string text = BuildName() + target::Print(target) + plan::Print(plan);
  for (const auto* layouts : {&about.parameter_layouts, &about.result_layouts}) {
    for (const Dims& order : *layouts) text += DimsToString({order.data(), order.size()});
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}-{}", hash.high64, hash.low64, target.name);
}

// Of what all processes compile, not of what becomes of it in one of them.
std::string FingerprintOfProcesses(const Hash128& program, const plugin::CompileOptions& options,
                                   const plugin::DeviceAssignment& assignment) {
  const std::string text =
      fmt::format("{}|{}|{}|{}|{:016x}{:016x}", BuildName(), options.num_replicas, options.num_partitions,
                  fmt::join(assignment.ids, ","), program.high, program.low);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}-processes", hash.high64, hash.low64);
}

// How many steps read each argument; those of bodies and branches count once.
void CountReads(const plan::Plan& plan, const plan::Seq& seq, std::vector<int>& reads) {
  const auto read = [&](plan::SlotId id) {
    if (id != plan::kNoSlot && plan.slots[id].kind == plan::SlotKind::kArg) ++reads[plan.slots[id].index];
  };
  const auto read_all = [&](const auto& ids) {
    for (const plan::SlotId id : ids) read(id);
  };
  for (const plan::Step& step : seq) {
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step.is)) {
      read_all(kernel->buffers);
    } else if (const auto* driver = std::get_if<plan::DriverStep>(&step.is)) {
      read_all(driver->inputs);
      for (const auto& [point, hook] : driver->hooks) read_all(hook.buffers);
    } else if (const auto* copy = std::get_if<plan::CopyStep>(&step.is)) {
      read(copy->from);
    } else if (const auto* loop = std::get_if<plan::WhileStep>(&step.is)) {
      CountReads(plan, loop->condition, reads);
      CountReads(plan, loop->body, reads);
    } else if (const auto* choice = std::get_if<plan::CaseStep>(&step.is)) {
      read(choice->index);
      for (const plan::Seq& branch : choice->branches) CountReads(plan, branch, reads);
    } else if (const auto* call = std::get_if<plan::CustomCallStep>(&step.is)) {
      read_all(call->operands);
    } else if (const auto* evaluate = std::get_if<plan::EvaluateStep>(&step.is)) {
      read_all(evaluate->operands);
    }
  }
}

bool HasHostTransfers(const plan::Seq& seq) {
  return std::any_of(seq.begin(), seq.end(), [](const plan::Step& step) {
    if (const auto* call = std::get_if<plan::CustomCallStep>(&step.is)) return IsHostTransfer(*call);
    if (const auto* loop = std::get_if<plan::WhileStep>(&step.is))
      return HasHostTransfers(loop->condition) || HasHostTransfers(loop->body);
    const auto* choice = std::get_if<plan::CaseStep>(&step.is);
    return choice != nullptr && std::any_of(choice->branches.begin(), choice->branches.end(), HasHostTransfers);
  });
}

// Under the names that JAX's users know from its built-in backend.
std::vector<plugin::NamedValue> CostOf(const compiler::CompiledProgram& about, const plan::Plan& plan,
                                       const target::Target& target) {
  std::vector<plugin::NamedValue> cost = {
      {"flops", static_cast<float>(about.flops)},
      {"transcendentals", static_cast<float>(about.transcendentals)},
      {"bytes accessed", static_cast<float>(about.bytes_accessed)},
      {"optimal_seconds", static_cast<float>(plan::EstimateNs(plan, target) / 1e9)}};
  std::vector<int> reads(plan.inputs.size(), 0);
  CountReads(plan, plan.steps, reads);
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const auto bytes = static_cast<float>(SizeBytes(plan.inputs[i].shape));
    cost.push_back({fmt::format("bytes accessed{}{{}}", i), bytes});
    cost.push_back({fmt::format("utilization{}{{}}", i), static_cast<float>(reads[i])});
  }
  double bytes = 0;
  for (const plan::Output& out : plan.outputs) bytes += static_cast<double>(SizeBytes(out.shape));
  cost.push_back({"bytes accessedout{}", static_cast<float>(bytes)});
  return cost;
}

}  // namespace

Result<plugin::ExecutableInfo> MakeExecutableInfo(const compiler::CompiledProgram& about, const plan::Plan& plan,
                                                  const target::Target& target, int64_t code_bytes,
                                                  const plugin::CompileOptions& options,
                                                  const plugin::DeviceAssignment* of_processes) {
  // A deserialised executable says both; they have to agree.
  const compiler::Processes& processes = about.processes;
  const int64_t devices = processes.empty() ? int64_t{options.num_replicas} * options.num_partitions
                                            : static_cast<int64_t>(processes.DevicesOf(processes.self).size());
  for (const auto* tilings : {&about.parameter_tilings, &about.result_tilings}) {
    for (const compiler::Tiling& t : *tilings) {
      if (static_cast<int64_t>(t.tile_of_device.size()) != devices) {
        return InvalidArgument(
            fmt::format("the program is for {} devices, the options name {}", t.tile_of_device.size(), devices));
      }
    }
  }
  plugin::ExecutableInfo info;
  info.name = about.name;
  info.num_replicas = options.num_replicas;
  info.num_partitions = options.num_partitions;
  plugin::CompiledMemoryStats memory;
  memory.generated_code = code_bytes;
  memory.arguments = memory.outputs = memory.aliased = 0;
  // Arrays that the devices hold parts of are put together, and taken apart, meanwhile.
  int64_t together = 0;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(plugin::ValueSpec spec, ToValueSpec(plan.inputs[i], about.parameter_layouts[i]));
    spec.donated = i < about.donated.size() && about.donated[i];
    if (!about.parameter_tilings.empty()) ToPart(spec, about.parameter_tilings[i]);
    const int64_t bytes = SizeBytes(spec.array.shape);
    memory.arguments += bytes;
    if (!about.parameter_tilings.empty() && NumElements(about.parameter_tilings[i].tiles) > 1)
      together += SizeBytes(plan.inputs[i].shape);
    info.parameters.push_back(std::move(spec));
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const plan::Output& out = plan.outputs[i];
    TENON_ASSIGN_OR_RETURN(plugin::ValueSpec spec, ToValueSpec(out, about.result_layouts[i]));
    if (!about.result_tilings.empty()) ToPart(spec, about.result_tilings[i]);
    const int64_t bytes = SizeBytes(spec.array.shape);
    memory.outputs += bytes;
    if (out.alias_input >= 0) memory.aliased += bytes;
    if (!about.result_tilings.empty()) together += SizeBytes(out.shape);
    info.outputs.push_back(std::move(spec));
  }
  // What one device has its share in.
  memory.temporaries = (plan.arena_bytes + together) / devices;
  memory.total = memory.arguments + memory.outputs - memory.aliased + memory.temporaries;
  memory.peak = memory.total;
  info.memory_stats = memory;
  info.fingerprint = of_processes == nullptr ? Fingerprint(about, plan, target)
                                             : FingerprintOfProcesses(about.common, options, *of_processes);
  info.parameter_shardings = about.parameter_shardings;
  info.output_shardings = about.output_shardings;
  info.cost = CostOf(about, plan, target);
  info.code_size_bytes = code_bytes;
  info.compile_options = options.serialized;
  info.host_transfers = HasHostTransfers(plan.steps);
  return info;
}

}  // namespace tenon::host
