#include "test/fuzz_programs/sharded.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "tenon/collectives/group.h"
#include "tenon/collectives/local.h"
#include "tenon/host/services.h"
#include "tenon/host/tiling.h"
#include "tenon/isa/isa.h"
#include "tenon/runtime/program.h"
#include "tenon/threads/flush_denormals.h"
#include "test/fuzz_programs/bind.h"
#include "test/fuzz_programs/random.h"

namespace tenon::fuzz {
namespace {

constexpr collectives::Milliseconds kPatience{20'000};

struct MeshAxis {
  const char* name;
  int64_t size;
};

/// The extents of "tensor<2x3xf32>"; nothing for other types.
std::optional<Dims> DimsOf(std::string_view type) {
  constexpr std::string_view kHead = "tensor<";
  if (!type.starts_with(kHead) || type.find('!') != std::string_view::npos) return std::nullopt;
  type.remove_prefix(kHead.size());
  Dims dims;
  for (;;) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(type.data(), type.data() + type.size(), extent);
    if (error != std::errc() || end == type.data() + type.size() || *end != 'x') return dims;
    dims.push_back(extent);
    type.remove_prefix(static_cast<size_t>(end - type.data()) + 1);
  }
}

class Writer {
 public:
  Writer(std::string_view program, uint64_t seed) : program_(program), random_(seed ^ 0x5a4ded) {}

  Sharded Write() {
    axes_ = random_.OneOf<std::vector<MeshAxis>>({{{"x", 2}},
                                                  {{"x", 2}},
                                                  {{"x", 3}},
                                                  {{"x", 4}},
                                                  {{"x", 2}, {"y", 2}},
                                                  {{"x", 2}, {"y", 2}},
                                                  {{"x", 2}, {"y", 3}}});
    int64_t devices = 1;
    for (const MeshAxis& axis : axes_) devices *= axis.size;
    Sharded sharded;
    const int64_t processes = random_.Chance(3) ? devices : 2;
    for (int64_t d = 0; d < devices; ++d) sharded.of_device.push_back(static_cast<int>(d * processes / devices));
    if (random_.Chance(4)) random_.Shuffle(sharded.of_device);
    std::string& out = sharded.program;
    int depth = 0;  // Of braces in @main.
    for (size_t at = 0; at < program_.size();) {
      const size_t end = std::min(program_.find('\n', at), program_.size());
      const std::string_view line = program_.substr(at, end - at);
      at = end + 1;
      if (line.find("func.func @main(") != std::string_view::npos ||
          line.find("func.func public @main(") != std::string_view::npos) {
        out += MeshLine() + Signature(line);
        depth = 1;
        continue;
      }
      const int before = depth;
      for (const char c : line) depth += before == 0 ? 0 : c == '{' ? 1 : c == '}' ? -1 : 0;
      // A reduction's body is a line of its own.
      const bool goes_on = program_.substr(std::min(at, program_.size())).starts_with("   reducer");
      const bool alone = before == 1 && depth == 1 && !goes_on;
      out += alone && random_.Chance(4) ? Constrained(line) : std::string(line) + "\n";
    }
    return sharded;
  }

 private:
  std::string MeshLine() const {
    std::string text;
    for (const MeshAxis& axis : axes_)
      text += fmt::format("{}\"{}\"={}", text.empty() ? "" : ", ", axis.name, axis.size);
    return fmt::format("sdy.mesh @mesh = <[{}]>\n", text);
  }

  /// "@mesh, [{"x"}, {}]", each axis on a dim that it divides, or on none.
  std::string AnySharding(Dims dims) {
    std::vector<std::string> of(dims.size());
    std::vector<MeshAxis> axes = axes_;
    random_.Shuffle(axes);
    for (const MeshAxis& axis : axes) {
      if (dims.empty() || random_.Chance(4)) continue;
      const auto d = static_cast<size_t>(random_.Pick(static_cast<int64_t>(dims.size())));
      if (dims[d] == 0 || dims[d] % axis.size != 0) continue;
      dims[d] /= axis.size;
      of[d] += fmt::format("{}\"{}\"", of[d].empty() ? "" : ", ", axis.name);
    }
    std::string text;
    for (size_t d = 0; d < of.size(); ++d) text += fmt::format("{}{{{}}}", d ? ", " : "", of[d]);
    return fmt::format("@mesh, [{}]", text);
  }

  /// The types in "%arg0: tensor<..> {..}, %arg1: tensor<..>", with the names, or in "tensor<..>, tensor<..>".
  static std::vector<std::string> TypesIn(std::string_view list, std::vector<std::string>* names = nullptr) {
    std::vector<std::string> types;
    for (size_t at = 0; (at = list.find("tensor<", at)) != std::string_view::npos;) {
      size_t end = at;
      for (int open = 0; end < list.size(); ++end) {
        open += list[end] == '<' ? 1 : list[end] == '>' ? -1 : 0;
        if (list[end] == '>' && open == 0) break;
      }
      const size_t name = list.rfind('%', at);
      if (names != nullptr && name != std::string_view::npos)
        names->emplace_back(list.substr(name, list.find(':', name) - name));
      types.emplace_back(list.substr(at, end + 1 - at));
      at = end;
    }
    return types;
  }

  std::string Signature(std::string_view line) {
    const size_t arrow = std::min(line.find(") -> "), line.size());
    std::string text = "func.func @main(";
    const auto sharding = [&](const std::string& type) {
      const std::optional<Dims> dims = DimsOf(type);
      if (!dims || random_.Chance(4)) return std::string();
      return fmt::format(" {{sdy.sharding = #sdy.sharding<{}>}}", AnySharding(*dims));
    };
    std::vector<std::string> names;
    const std::vector<std::string> types = TypesIn(line.substr(0, arrow), &names);
    for (size_t i = 0; i < types.size(); ++i)
      text += fmt::format("{}{}: {}{}", i ? ", " : "", names[i], types[i], sharding(types[i]));
    text += ") -> (";
    bool first = true;
    for (const std::string& type : TypesIn(line.substr(arrow))) {
      text += fmt::format("{}{}{}", first ? "" : ", ", type, sharding(type));
      first = false;
    }
    return text + ") {\n";
  }

  /// The line, and a constraint on its one result.
  std::string Constrained(std::string_view line) {
    const std::string whole = std::string(line) + "\n";
    const size_t equals = line.find(" = ");
    const std::vector<std::string> types = TypesIn(line);
    if (!line.starts_with("  %v") || equals == std::string_view::npos || types.empty() || !line.ends_with(types.back()))
      return whole;
    const std::string name(line.substr(2, equals - 2));
    const std::optional<Dims> dims = DimsOf(types.back());
    // The regions of a loop follow its line.
    if (name.find(':') != std::string::npos || !dims || line.find("stablehlo.while(") != std::string_view::npos)
      return whole;
    return fmt::format("  {0}_free{1}\n  {0} = sdy.sharding_constraint {0}_free <{2}> : {3}\n", name,
                       line.substr(equals), AnySharding(*dims), types.back());
  }

  std::string_view program_;
  Random random_;
  std::vector<MeshAxis> axes_;
};

/// The program of one process, bound.
struct Process {
  compiler::CompiledProgram compiled;
  std::unique_ptr<const runtime::Program> program;
  std::vector<std::string> inputs, outputs;  ///< Its boxes of the whole arrays.
};

plugin::ArraySpec PartOf(const Shape& whole, const compiler::Tiling& tiling) {
  return {.shape = {whole.dtype, host::PartDims(whole.dims, tiling, whole.rank())}};
}

std::byte* BytesOf(std::string& s) { return reinterpret_cast<std::byte*>(s.data()); }

/// What device number `device` of the tiling holds of `whole`.
std::string Cut(std::string whole, const Shape& shape, const compiler::Tiling& tiling, size_t device) {
  const plugin::ArraySpec part = PartOf(shape, tiling);
  std::string bytes(static_cast<size_t>(SizeBytes(part.shape)), '\0');
  host::CopyPart(BytesOf(whole), shape, RowMajorStridesElems(shape.dims), tiling, device, BytesOf(bytes), part, false);
  return bytes;
}

Status Run(Process& process, collectives::Group& group, threads::ThreadPool& pool, runtime::MemoryPool& memory) {
  const plan::Plan& plan = process.compiled.plan;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (const std::string& in : process.inputs) inputs.push_back(in.data());
  for (const plan::Output& o : plan.outputs)
    process.outputs.emplace_back(static_cast<size_t>(SizeBytes(o.shape)), '\x77');
  for (std::string& out : process.outputs) outputs.push_back(out.data());
  collectives::Launch launch{&group, {.launch = 1, .program = {}, .name = "fuzz"}};
  host::ExecutionUser user;
  user.launch = &launch;
  const threads::ScopedFlushDenormals compute_state;
  return process.program->Run({.inputs = inputs, .outputs = outputs, .user = &user}, pool, memory);
}

/// All processes on threads of their own.
Status RunAll(std::vector<Process>& processes, threads::ThreadPool& pool, runtime::MemoryPool& memory) {
  const std::unique_ptr<collectives::Engine> engine = collectives::MakeLocalEngine();
  const std::unique_ptr<collectives::Store> store = collectives::MakeLocalStore();
  std::vector<Status> statuses(processes.size());
  std::vector<std::thread> threads;
  for (size_t p = 0; p < processes.size(); ++p) {
    threads.emplace_back([&, p] {
      collectives::Group::Setup setup;
      for (size_t i = 0; i < processes.size(); ++i) {
        setup.meeting.nodes.push_back(static_cast<int>(i));
        setup.names.push_back(fmt::format("process {}", i));
      }
      setup.meeting.self = static_cast<int>(p);
      setup.meeting.key = "fuzz";
      setup.meeting.store = store.get();
      setup.meeting.timeout = kPatience;
      auto group = collectives::Group::Create(*engine, std::move(setup));
      if (!group.ok()) {
        statuses[p] = group.status();
        return;
      }
      statuses[p] = Run(processes[p], **group, pool, memory);
      if (!statuses[p].ok()) (*group)->Fail(statuses[p]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& s : statuses) TENON_RETURN_IF_ERROR(s);
  return OkStatus();
}

}  // namespace

Sharded Shard(std::string_view program, uint64_t seed) { return Writer(program, seed).Write(); }

Result<std::vector<std::string>> RunSharded(const Sharded& sharded, const compiler::CompileOptions& options,
                                            const std::vector<std::string>& arguments, threads::ThreadPool& pool,
                                            runtime::MemoryPool& memory) {
  compiler::CompileOptions over = options;
  over.num_partitions = static_cast<int64_t>(sharded.of_device.size());
  // In one process the program is over whole arrays, and says what each device holds of them.
  TENON_ASSIGN_OR_RETURN(const compiler::CompiledProgram whole, compiler::Compile(sharded.program, over));
  const auto stacked = [](const compiler::Tiling& t) { return t.stacked; };
  if (std::ranges::any_of(whole.parameter_tilings, stacked) || std::ranges::any_of(whole.result_tilings, stacked))
    return Unimplemented("stacks of partial values");
  over.processes.of_device = sharded.of_device;
  std::vector<Process> processes(static_cast<size_t>(over.processes.count()));
  for (size_t p = 0; p < processes.size(); ++p) {
    Process& process = processes[p];
    over.processes.self = static_cast<int>(p);
    TENON_ASSIGN_OR_RETURN(process.compiled, compiler::Compile(sharded.program, over));
    const plan::Plan& plan = process.compiled.plan;
    TENON_RETURN_IF_ERROR(IsRowMajor(plan));
    TENON_ASSIGN_OR_RETURN(process.program, Bind(plan, isa::ActiveIsa()));
    const std::vector<int64_t> devices = over.processes.DevicesOf(static_cast<int>(p));
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const compiler::Tiling& tiling = process.compiled.parameter_tilings[i];
      std::string& box = process.inputs.emplace_back(static_cast<size_t>(SizeBytes(plan.inputs[i].shape)), '\x55');
      for (size_t k = 0; k < devices.size(); ++k) {
        std::string part =
            Cut(arguments[i], whole.plan.inputs[i].shape, whole.parameter_tilings[i], static_cast<size_t>(devices[k]));
        const plugin::ArraySpec spec = PartOf(plan.inputs[i].shape, tiling);
        if (static_cast<int64_t>(part.size()) != SizeBytes(spec.shape))
          return Internal(fmt::format("argument {}: device {} holds {} bytes, its process takes {}", i, devices[k],
                                      part.size(), SizeBytes(spec.shape)));
        host::CopyPart(BytesOf(box), plan.inputs[i].shape, RowMajorStridesElems(plan.inputs[i].shape.dims), tiling, k,
                       BytesOf(part), spec, true);
      }
    }
  }
  TENON_RETURN_IF_ERROR(RunAll(processes, pool, memory));
  std::vector<std::string> results;
  for (size_t i = 0; i < whole.plan.outputs.size(); ++i) {
    const Shape& shape = whole.plan.outputs[i].shape;
    std::string& result = results.emplace_back(static_cast<size_t>(SizeBytes(shape)), '\0');
    std::vector<std::string> parts(sharded.of_device.size());
    for (size_t p = 0; p < processes.size(); ++p) {
      const std::vector<int64_t> devices = over.processes.DevicesOf(static_cast<int>(p));
      for (size_t k = 0; k < devices.size(); ++k) {
        std::string& part = parts[static_cast<size_t>(devices[k])];
        part = Cut(processes[p].outputs[i], processes[p].compiled.plan.outputs[i].shape,
                   processes[p].compiled.result_tilings[i], k);
        const plugin::ArraySpec spec = PartOf(shape, whole.result_tilings[i]);
        if (static_cast<int64_t>(part.size()) != SizeBytes(spec.shape))
          return Internal(fmt::format("result {}: device {} holds {} bytes, its process gives {}", i, devices[k],
                                      SizeBytes(spec.shape), part.size()));
        host::CopyPart(BytesOf(result), shape, RowMajorStridesElems(shape.dims), whole.result_tilings[i],
                       static_cast<size_t>(devices[k]), BytesOf(part), spec, true);
      }
    }
    for (size_t d = 0; d < parts.size(); ++d) {
      if (Cut(result, shape, whole.result_tilings[i], d) != parts[d])
        return Aborted(fmt::format("result {}: device {} holds another part than one that should be equal", i, d));
    }
  }
  return results;
}

}  // namespace tenon::fuzz
