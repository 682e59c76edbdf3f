// tenon: plugins, programs and traces from the shell. docs/cli describes it.

#include <fmt/format.h>

#include <algorithm>

#include "tools/tenon/command.h"

namespace {

// `tenon trace [OPTIONS] COMMAND...`: the parser would take the command's words for its own, so they are cut off before
// it.
std::vector<std::string> CutCommand(std::vector<std::string>& arguments) {
  size_t i = 0;
  while (i < arguments.size() && arguments[i].starts_with('-')) ++i;
  if (i == arguments.size() || arguments[i] != "trace") return {};
  constexpr std::string_view kWithValue[] = {"-o", "--output", "--text", "--library", "--most"};
  for (++i; i < arguments.size() && arguments[i].starts_with('-') && arguments[i] != "--"; ++i) {
    if (std::ranges::find(kWithValue, arguments[i]) != std::end(kWithValue)) ++i;
  }
  const size_t end = std::min(i, arguments.size());
  std::vector<std::string> command(arguments.begin() + static_cast<ptrdiff_t>(end), arguments.end());
  arguments.resize(end);
  if (!command.empty() && command.front() == "--") command.erase(command.begin());
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tenon::cli;  // NOLINT(google-build-using-namespace): a main program.
  Context context;
  CLI::App app{"Runs, compiles, measures, converts and checks programs on any PJRT plugin.", "tenon"};
  app.require_subcommand(1);
  app.fallthrough();
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", "tenon 0.1.0");
  app.add_flag("--json", context.json, "print results as JSON");
  app.add_flag("-q,--quiet", context.quiet, "print results only where they are asked for");
  AddPlugins(app, context);
  AddInfo(app, context);
  AddRun(app, context);
  AddCompile(app, context);
  AddBench(app, context);
  AddConvert(app, context);
  AddCheck(app, context);
  AddConform(app, context);
  AddTrace(app, context);
  AddCompletions(app, context);
  AddMan(app, context);
  try {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    context.command = CutCommand(arguments);
    std::ranges::reverse(arguments);  // The parser takes them from the back.
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kUsage;
  }
  const CLI::App* command = app.get_subcommands().front();
  const tenon::Status status = context.commands.at(command)();
  if (!status.ok()) {
    const std::string message(status.message());
    if (context.json) {
      const nlohmann::json error = {
          {"error", {{"code", tenon::CodeName(status.code())}, {"message", message}, {"advice", context.advice}}}};
      fmt::print("{}\n", error.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    fmt::print(stderr, "tenon {}: {}: {}\n", command->get_name(), tenon::CodeName(status.code()), message);
    if (!context.advice.empty()) fmt::print(stderr, "  {}\n", context.advice);
    return context.stage;
  }
  if (context.json) fmt::print("{}\n", context.output.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return context.result;
}
