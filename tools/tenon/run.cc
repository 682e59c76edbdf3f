// tenon run, tenon compile.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tenon/client/log_suppression.h"
#include "tools/tenon/command.h"
#include "tools/tenon/compare.h"
#include "tools/tenon/inputs.h"
#include "tools/tenon/npy.h"
#include "tools/tenon/profiled.h"
#include "tools/tenon/style.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

struct RunOptions {
  PluginOptions plugin;
  CompileFlags compile;
  InputFlags inputs;
  std::string program;
  std::string output;
  bool executable = false;
  bool donate = false;
  bool profile = false;
  std::string expected;
  double tolerance = 0;
  size_t most = 1000;
};

Result<client::LoadedExecutable> CompileOrLoad(Context& context, const RunOptions& options,
                                               const client::Client& client, const client::Program& program) {
  TENON_ASSIGN_OR_RETURN(const client::CompileOptions compile, MakeCompileOptions(context, options.compile));
  const Progress progress(context, options.executable ? "loading" : "compiling");
  if (options.executable) {
    context.advice = "executables are read by the same build of the plugin that wrote them; `tenon compile` makes one";
    Result<client::LoadedExecutable> loaded = client.DeserializeAndLoad(program.code);
    if (loaded.ok()) context.advice.clear();
    return loaded;
  }
  return client.Compile(program, compile);
}

// One file per device when there are several: "%d" in the name becomes the device's number.
Result<std::string> FileOfDevice(Context& context, const std::string& file, size_t device, size_t num_devices) {
  std::string name = file;
  const size_t at = name.find("%d");
  if (at != name.npos) return name.replace(at, 2, std::to_string(device));
  if (num_devices > 1) {
    context.stage = kUsage;
    return InvalidArgument(fmt::format("{} devices write to '{}': put %d into the name", num_devices, file));
  }
  return name;
}

Status SaveOutputs(Context& context, const std::string& file, const std::vector<Array>& outputs) {
  context.stage = kBadOutput;
  if (file.ends_with(".npy")) {
    if (outputs.size() != 1) {
      context.stage = kUsage;
      return InvalidArgument(
          fmt::format("the program has {} outputs, '{}' holds one: write to a .npz file", outputs.size(), file));
    }
    TENON_RETURN_IF_ERROR(WriteFile(file, ToNpy(outputs[0])));
  } else if (file.ends_with(".npz")) {
    std::vector<std::pair<std::string, std::string>> members;
    size_t bytes = 0;
    for (const Array& output : outputs) bytes += output.bytes.size();
    if (bytes > kMostNpzBytes) {
      return ResourceExhausted(fmt::format("the outputs have {} bytes, a .npz file takes {}", bytes, kMostNpzBytes));
    }
    for (size_t i = 0; i < outputs.size(); ++i) members.emplace_back(fmt::format("out{}", i), ToNpy(outputs[i]));
    TENON_RETURN_IF_ERROR(WriteFile(file, ToNpz(members)));
  } else {
    context.stage = kUsage;
    return InvalidArgument(fmt::format("'{}' is neither a .npy nor a .npz file", file));
  }
  context.stage = kFailed;
  return OkStatus();
}

// The outputs against --expected: by the names out0, out1 ... where the file has them, else in its order.
Status CheckExpected(Context& context, const RunOptions& options, const std::vector<std::vector<Array>>& outputs) {
  size_t differ = 0;
  for (size_t d = 0; d < outputs.size(); ++d) {
    std::vector<DType> types;
    for (const Array& output : outputs[d]) types.push_back(output.shape.dtype);
    TENON_ASSIGN_OR_RETURN(const std::string file, FileOfDevice(context, options.expected, d, outputs.size()));
    context.stage = kBadInput;
    TENON_ASSIGN_OR_RETURN(const auto expected, LoadArrays(file, types));
    if (expected.size() != outputs[d].size()) {
      return InvalidArgument(
          fmt::format("{} has {} arrays, the program {} outputs", file, expected.size(), outputs[d].size()));
    }
    context.stage = kFailed;
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      const auto named =
          std::ranges::find_if(expected, [&](const auto& e) { return e.first == fmt::format("out{}", i); });
      const Array& wanted = named != expected.end() ? named->second : expected[i].second;
      const Result<Difference> difference = Compare(outputs[d][i], wanted, options.tolerance);
      const bool same = difference.ok() && difference->different == 0;
      differ += same ? 0 : 1;
      const std::string text =
          difference.ok() ? ToText(*difference, wanted.shape) : std::string(difference.status().message());
      const std::string device = outputs.size() > 1 ? fmt::format("device {}, ", d) : "";
      context.Say(fmt::format("{} {}output {}: {}", Styled(same ? Style::kGood : Style::kBad, same ? "=" : "!"), device,
                              i, text));
      json about = difference.ok() ? ToJson(*difference) : json{{"reason", text}};
      about["same"] = same;
      context.output["devices"][d]["compared"].push_back(std::move(about));
    }
  }
  if (differ > 0) context.result = kFailed;
  return OkStatus();
}

// Many runs, and where their time went in place of what they computed.
Status RunForProfile(Context& context, const RunOptions& options) {
  const ProfileFlags flags{
      .plugin = options.plugin, .compile = options.compile, .inputs = options.inputs, .program = options.program};
  return ProfileProgram(context, flags, kShownSteps);
}

Status RunProgram(Context& context, const RunOptions& options) {
  if (options.profile) return RunForProfile(context, options);
  if (!options.output.empty() && !options.output.ends_with(".npy") && !options.output.ends_with(".npz")) {
    context.stage = kUsage;
    return InvalidArgument(fmt::format("--output '{}' is neither a .npy nor a .npz file", options.output));
  }
  // Before the work rather than after it.
  const auto num_devices =
      static_cast<size_t>(options.compile.replicas) * static_cast<size_t>(options.compile.partitions);
  if (!options.output.empty()) {
    TENON_ASSIGN_OR_RETURN(const std::string file, FileOfDevice(context, options.output, 0, num_devices));
    context.stage = kBadOutput;
    TENON_RETURN_IF_ERROR(CheckWritable(file));
  }
  TENON_ASSIGN_OR_RETURN(const client::Program program, ReadProgram(context, options.program));
  TENON_ASSIGN_OR_RETURN(const client::Plugin plugin, LoadPlugin(context, options.plugin));
  TENON_ASSIGN_OR_RETURN(
      const client::Client client,
      OpenClient(context, plugin, options.plugin, options.compile.replicas * options.compile.partitions));
  TENON_ASSIGN_OR_RETURN(const client::LoadedExecutable executable, CompileOrLoad(context, options, client, program));
  TENON_ASSIGN_OR_RETURN(const Arguments arguments,
                         MakeArguments(context, options.inputs, options.compile, program, client, executable));
  client::ExecuteOptions execute;
  if (options.donate) execute.donate = client::Donate::All();
  std::vector<std::vector<Array>> outputs;
  {
    const Progress progress(context, "running");
    TENON_ASSIGN_OR_RETURN(const client::Execution execution, executable.ExecuteOnDevices(arguments.lists, execute));
    TENON_ASSIGN_OR_RETURN(outputs, FetchOutputs(execution));
  }
  context.output["devices"] = json::array();
  for (size_t d = 0; d < outputs.size(); ++d) {
    json list = json::array();
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      list.push_back(ToJson(outputs[d][i], options.most));
      if (context.json || !options.output.empty() || !options.expected.empty()) continue;
      if (outputs.size() > 1)
        context.Say(fmt::format("device {}, output {}: {}", d, i, ToString(outputs[d][i].shape)));
      else
        context.Say(fmt::format("output {}: {}", i, ToString(outputs[d][i].shape)));
      context.Say(ToText(outputs[d][i], options.most));
    }
    context.output["devices"].push_back({{"outputs", std::move(list)}});
    if (options.output.empty()) continue;
    TENON_ASSIGN_OR_RETURN(const std::string file, FileOfDevice(context, options.output, d, outputs.size()));
    TENON_RETURN_IF_ERROR(SaveOutputs(context, file, outputs[d]));
    context.output["devices"][d]["file"] = file;
    context.Say(fmt::format("wrote {}", file));
  }
  return options.expected.empty() ? OkStatus() : CheckExpected(context, options, outputs);
}

struct CompileCommand {
  PluginOptions plugin;
  CompileFlags compile;
  std::string program, output, optimized, topology;
  std::vector<std::string> topology_options;
};

template <class T>
void Put(json& out, const char* name, const Result<T>& value) {
  if (value.ok()) out[name] = *value;
}

Status CompileProgram(Context& context, const CompileCommand& options) {
  context.stage = kBadOutput;
  TENON_RETURN_IF_ERROR(CheckWritable(options.output));
  TENON_RETURN_IF_ERROR(CheckWritable(options.optimized));
  if (options.topology.empty() && !options.topology_options.empty()) {
    context.stage = kUsage;
    return InvalidArgument("--topology-option is an option of --topology, which was not given");
  }
  TENON_ASSIGN_OR_RETURN(const client::Program program, ReadProgram(context, options.program));
  TENON_ASSIGN_OR_RETURN(const client::Plugin plugin, LoadPlugin(context, options.plugin));
  TENON_ASSIGN_OR_RETURN(const client::CompileOptions compile, MakeCompileOptions(context, options.compile));
  std::optional<client::Client> client;
  std::optional<client::LoadedExecutable> loaded;
  std::optional<client::Executable> unloaded;
  double seconds = 0;
  if (options.topology.empty()) {
    TENON_ASSIGN_OR_RETURN(client::Client opened, OpenClient(context, plugin, options.plugin,
                                                             options.compile.replicas * options.compile.partitions));
    client.emplace(std::move(opened));
    const Progress progress(context, "compiling");
    const auto begin = std::chrono::steady_clock::now();
    TENON_ASSIGN_OR_RETURN(client::LoadedExecutable compiled, client->Compile(program, compile));
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    loaded.emplace(std::move(compiled));
  } else {
    client::Options values;
    for (const std::string& option : options.topology_options) {
      context.stage = kUsage;
      TENON_ASSIGN_OR_RETURN(const client::Options some, client::Options::Parse(option));
      for (const client::NamedValue& value : some.values()) {
        std::visit([&](const auto& v) { values.Set(value.name, v); }, value.value);
      }
    }
    context.stage = kNoPlugin;
    context.advice = "names of topologies are the plugin's own, such as v5e:2x2";
    Result<client::Topology> made = [&] {
      const Progress progress(context, "describing the topology");
      std::optional<client::SuppressAbseilLogging> silence;
      if (!options.plugin.verbose) silence.emplace();
      return plugin.CreateTopology(options.topology, values);
    }();
    if (made.status().code() == Code::kUnimplemented) {
      context.advice = "this plugin compiles only for devices that are here: leave --topology out";
    }
    TENON_ASSIGN_OR_RETURN(const client::Topology topology, std::move(made));
    context.advice.clear();
    context.stage = kFailed;
    const Progress progress(context, "compiling");
    const auto begin = std::chrono::steady_clock::now();
    TENON_ASSIGN_OR_RETURN(client::Executable compiled, topology.Compile(program, compile));
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    unloaded.emplace(std::move(compiled));
  }
  const client::Executable& executable = loaded ? loaded->executable() : *unloaded;
  json& out = context.output;
  Put(out, "name", executable.Name());
  Put(out, "replicas", executable.NumReplicas());
  Put(out, "partitions", executable.NumPartitions());
  out["compile_seconds"] = seconds;
  if (const Result<std::string> fingerprint = executable.Fingerprint(); fingerprint.ok()) {
    out["fingerprint_bytes"] = fingerprint->size();
    // Some plugins' are text, and tell people something.
    if (std::all_of(fingerprint->begin(), fingerprint->end(), [](char c) { return c > ' ' && c <= '~'; }))
      out["fingerprint"] = *fingerprint;
  }
  Put(out, "code_bytes", executable.SizeOfGeneratedCodeInBytes());
  std::string shapes;
  if (const auto outputs = executable.OutputShapes(); outputs.ok()) {
    out["outputs"] = json::array();
    for (const Shape& shape : *outputs) {
      out["outputs"].push_back(ToString(shape));
      shapes += (shapes.empty() ? "" : ", ") + ToString(shape);
    }
  }
  const std::string name = out.value("name", "");
  context.Say(fmt::format("program     {}", name.empty() ? options.program : name));
  context.Say(fmt::format("outputs     {}", shapes.empty() ? "none" : shapes));
  context.Say(fmt::format("compiled in {}", SecondsText(seconds)));
  if (const auto stats = executable.MemoryStats(); stats.ok()) {
    out["memory"] = {{"arguments", stats->arguments}, {"outputs", stats->outputs},
                     {"aliased", stats->aliased},     {"temporaries", stats->temporaries},
                     {"code", stats->generated_code}, {"needed", stats->Requirements()}};
    context.Say(fmt::format("memory      {} needed: arguments {}, outputs {}, temporaries {}, shared {}",
                            BytesText(stats->Requirements()), BytesText(stats->arguments), BytesText(stats->outputs),
                            BytesText(stats->temporaries), BytesText(stats->aliased)));
  }
  if (const auto cost = executable.CostAnalysis(); cost.ok()) {
    out["cost"] = ToJson(*cost);
    if (const client::Value* flops = client::Find(*cost, "flops"))
      context.Say(fmt::format("flops       {}", client::ToString(*flops)));
  }
  if (!options.optimized.empty()) {
    TENON_ASSIGN_OR_RETURN(const client::Program optimized, executable.OptimizedProgram());
    context.stage = kBadOutput;
    TENON_RETURN_IF_ERROR(WriteFile(options.optimized, optimized.code));
    context.stage = kFailed;
    out["optimized"] = {{"file", options.optimized}, {"format", optimized.format}};
    context.Say(fmt::format("wrote {} ({})", options.optimized, optimized.format));
  }
  if (!options.output.empty()) {
    TENON_ASSIGN_OR_RETURN(const std::string bytes, executable.Serialize());
    context.stage = kBadOutput;
    TENON_RETURN_IF_ERROR(WriteFile(options.output, bytes));
    context.stage = kFailed;
    out["file"] = options.output;
    out["bytes"] = bytes.size();
    context.Say(fmt::format("wrote {} ({})", options.output, BytesText(static_cast<double>(bytes.size()))));
  }
  return OkStatus();
}

}  // namespace

void AddRun(CLI::App& app, Context& context) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "run a program and print or save its outputs");
  AddProgramArgument(*command, options->program);
  AddPluginOptions(*command, options->plugin);
  AddInputFlags(*command, options->inputs);
  AddCompileFlags(*command, options->compile);
  command
      ->add_option("-o,--output", options->output,
                   "write the outputs to FILE.npz (out0, out1 ...) or FILE.npy; %d becomes the device's number")
      ->type_name("FILE");
  command->add_flag("--executable", options->executable, "PROGRAM is an executable that `tenon compile` wrote");
  command->add_flag("--donate", options->donate, "let the program take the arguments that it marks for it");
  command
      ->add_option("--expected", options->expected,
                   "compare the outputs with this .npz or .npy file; the status is 1 when they differ")
      ->type_name("FILE");
  AddToleranceOption(*command, options->tolerance);
  command->add_option("--max-elements", options->most, "how many elements of an output are printed")->type_name("N");
  // A profile takes the place of the outputs and of all that is done with them.
  command->add_flag("--profile", options->profile, "run it many times and show where its time goes, as `tenon profile`")
      ->excludes("--output", "--executable", "--donate", "--expected", "--tolerance", "--max-elements");
  AddExamples(*command,
              {"tenon run add.mlir -i x.npy -i f32[2,2]:1,2,3,4", "tenon run step.mlirbc --random --seed 7 -o out.npz",
               "tenon run step.mlirbc --random --seed 7 --expected out.npz --tolerance 1e-5"});
  context.commands[command] = [&context, options] { return RunProgram(context, *options); };
}

void AddCompile(CLI::App& app, Context& context) {
  const auto options = std::make_shared<CompileCommand>();
  CLI::App* command = app.add_subcommand("compile", "compile a program, show what it needs, and save it");
  AddProgramArgument(*command, options->program);
  AddPluginOptions(*command, options->plugin);
  AddCompileFlags(*command, options->compile);
  command->add_option("-o,--output", options->output, "write the serialized executable to FILE")->type_name("FILE");
  command->add_option("--optimized", options->optimized, "write the program after the compiler's passes to FILE")
      ->type_name("FILE");
  command->add_option("--topology", options->topology, "compile for these devices, which need not be here")
      ->type_name("NAME");
  command
      ->add_option("--topology-option", options->topology_options, "option NAME=VALUE of the topology; may be repeated")
      ->type_name("NAME=VALUE");
  AddExamples(*command,
              {"tenon compile f.mlir -o f.exe", "tenon compile f.mlir --topology cpu:avx2:cores=16 -o f.exe"});
  context.commands[command] = [&context, options] { return CompileProgram(context, *options); };
}

}  // namespace tenon::cli
