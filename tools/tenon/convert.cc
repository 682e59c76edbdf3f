// tenon convert.

#include <fmt/format.h>
#include <unistd.h>

#include "tools/tenon/bridge.h"
#include "tools/tenon/command.h"
#include "tools/tenon/npy.h"

namespace tenon::cli {
namespace {

struct Options {
  std::string input, output = "-", to = "text";
  ConvertOptions convert;
};

Status ConvertFile(Context& context, Options& options) {
  if (options.to == "text") options.convert.to = ProgramForm::kText;
  if (options.to == "artifact") options.convert.to = ProgramForm::kArtifact;
  if (options.to == "hlo-text") options.convert.to = ProgramForm::kHloText;
  if (options.to == "hlo-proto") options.convert.to = ProgramForm::kHloProto;
  if (!options.convert.target.empty() && options.convert.to != ProgramForm::kArtifact) {
    context.stage = kUsage;
    return InvalidArgument("--target names the StableHLO version of an artifact: it goes with --to artifact");
  }
  context.stage = kBadOutput;
  TENON_RETURN_IF_ERROR(CheckWritable(options.output));
  const bool binary = options.convert.to == ProgramForm::kArtifact || options.convert.to == ProgramForm::kHloProto;
  if (binary && options.output == "-" && !context.json && isatty(STDOUT_FILENO) != 0) {
    context.stage = kUsage;
    return InvalidArgument("the result is not text and standard output is a terminal: -o FILE, or -o /dev/stdout");
  }
  context.stage = kBadInput;
  TENON_ASSIGN_OR_RETURN(const std::string program, ReadFile(options.input));
  context.stage = kFailed;
  Result<std::string> converted = Convert(program, options.convert);
  if (!converted.ok()) {
    if (converted.status().code() == Code::kInvalidArgument) context.stage = kBadInput;
    return converted.status();
  }
  context.stage = kBadOutput;
  if (options.output != "-" || !context.json) TENON_RETURN_IF_ERROR(WriteFile(options.output, *converted));
  context.output["form"] = options.to;
  context.output["bytes"] = converted->size();
  if (options.output != "-") {
    context.output["file"] = options.output;
    context.Say(fmt::format("wrote {} ({})", options.output, BytesText(static_cast<double>(converted->size()))));
  } else if (context.json && options.convert.to == ProgramForm::kText) {
    context.output["text"] = *converted;
  }
  return OkStatus();
}

}  // namespace

void AddConvert(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("convert", "write a program in another form (needs a build with LLVM)");
  command->add_option("program", options->input, "StableHLO or HLO in any form; - is standard input")
      ->required()
      ->type_name("PROGRAM");
  command->add_option("-o,--output", options->output, "where to; standard output otherwise")->type_name("FILE");
  command->add_option("--to", options->to, "text, artifact (portable bytecode), hlo-text or hlo-proto (HloModuleProto)")
      ->check(CLI::IsMember({"text", "artifact", "hlo-text", "hlo-proto"}))
      ->type_name("FORM");
  command
      ->add_option("--target", options->convert.target,
                   "StableHLO version that readers of the artifact have, such as 1.9.0")
      ->type_name("X.Y.Z");
  command->add_flag("--generic", options->convert.generic, "text in the generic form of MLIR");
  command->add_flag("--locations", options->convert.locations, "text with locations");
  AddExamples(*command, {"tenon convert f.mlir --to artifact -o f.mlirbc", "tenon convert f.mlir --to hlo-text"});
  context.commands[command] = [&context, options] { return ConvertFile(context, *options); };
}

}  // namespace tenon::cli
