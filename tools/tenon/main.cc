// tenon: plugins, programs and traces from the shell. docs/cli describes it.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "tools/tenon/command.h"
#include "tools/tenon/nearest.h"
#include "tools/tenon/process.h"
#include "tools/tenon/style.h"

namespace {

// `tenon trace [OPTIONS] COMMAND...`: the parser would take the command's words for its own, so they are cut off before
// it.
std::vector<std::string> CutCommand(std::vector<std::string>& arguments) {
  size_t i = 0;
  while (i < arguments.size() && arguments[i].starts_with('-')) ++i;
  if (i == arguments.size() || arguments[i] != "trace") return {};
  constexpr std::string_view kWithValue[] = {"-o", "--output", "--text", "--library", "--most", "--capture", "--limit"};
  for (++i; i < arguments.size() && arguments[i].starts_with('-') && arguments[i] != "--"; ++i) {
    if (std::ranges::find(kWithValue, arguments[i]) != std::end(kWithValue)) ++i;
  }
  const size_t end = std::min(i, arguments.size());
  std::vector<std::string> command(arguments.begin() + static_cast<ptrdiff_t>(end), arguments.end());
  arguments.resize(end);
  if (!command.empty() && command.front() == "--") command.erase(command.begin());
  return command;
}

// What is wrong with the first word that is no command, or no option of its command but near to one: "no command 'rnu',
// did you mean 'run'?", "no option '--pluggin', did you mean '--plugin'?". Empty when nothing is.
std::string WrongWord(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = nullptr;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--")) {
      std::vector<std::string> names;
      for (const CLI::App* level : {&app, command}) {
        if (level == nullptr) continue;
        for (const CLI::Option* option : level->get_options()) {
          for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        }
      }
      const std::string name = argument.substr(0, argument.find('='));
      const std::string meant = tenon::cli::DidYouMean(name, names);
      if (!meant.empty()) return fmt::format("no option '{}'{}", name, meant);
    } else if (command == nullptr && !argument.starts_with('-')) {
      std::vector<std::string> names;
      for (const CLI::App* sub : app.get_subcommands({})) {
        names.push_back(sub->get_name());
        if (names.back() == argument) command = sub;
      }
      if (command == nullptr)
        return fmt::format("no command '{}'{}", argument, tenon::cli::DidYouMean(argument, names));
    }
  }
  return {};
}

// Runs the command; what it throws (memory that cannot be had, files that cannot be written) is a failure like others.
tenon::Status RunCommand(tenon::cli::Context& context, const CLI::App* command) {
  try {
    return context.commands.at(command)();
  } catch (const std::bad_alloc&) {
    return tenon::ResourceExhausted("this process cannot have as much memory as this takes");
  } catch (const std::system_error& error) {
    context.stage = tenon::cli::kBadOutput;
    return tenon::Unavailable(fmt::format("cannot write the results: {}", error.code().message()));
  } catch (const std::exception& error) {
    return tenon::Internal(error.what());
  }
}

void PrintJson(const nlohmann::json& json) {
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int Main(std::vector<std::string> arguments) {
  using namespace tenon::cli;  // NOLINT(google-build-using-namespace): a main program.
  Context context;
  CLI::App app{"Runs, compiles, measures, converts and checks programs on any PJRT plugin.", "tenon"};
  app.require_subcommand(1);
  app.fallthrough();
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", "tenon " TENON_VERSION);
  app.add_flag("--json", context.json, "print results as JSON");
  app.add_flag("-q,--quiet", context.quiet, "print results only where they are asked for");
  AddPlugins(app, context);
  AddInfo(app, context);
  AddDevices(app, context);
  AddRun(app, context);
  AddCompile(app, context);
  AddExplain(app, context);
  AddProfile(app, context);
  AddBench(app, context);
  AddDiff(app, context);
  AddConvert(app, context);
  AddCheck(app, context);
  AddConform(app, context);
  AddTrace(app, context);
  AddReplay(app, context);
  AddReduce(app, context);
  AddCompletions(app, context);
  AddMan(app, context);
  // Wrong command lines are answered as they ask, too.
  const bool json = std::ranges::find(arguments, "--json") != arguments.end();
  std::vector<std::string> given;
  try {
    context.command = CutCommand(arguments);
    given = arguments;
    std::ranges::reverse(arguments);  // The parser takes them from the back.
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::string wrong = WrongWord(app, given);
    const std::string message = wrong.empty() ? error.what() : wrong;
    fmt::print(stderr, "tenon: {}\n--help shows what there is.\n", message);
    if (json) {
      PrintJson(
          {{"error", {{"code", "INVALID_ARGUMENT"}, {"message", message}, {"advice", "--help shows what there is"}}}});
    }
    return kUsage;
  }
  const CLI::App* command = app.get_subcommands().front();
  ReportCrashes(command->get_name(), context.json);
  tenon::Status status = RunCommand(context, command);
  if (status.ok() && context.json) PrintJson(context.output);
  // What is still in the stream counts as well.
  if (status.ok() && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    context.stage = kBadOutput;
    status = tenon::Unavailable(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  }
  FinishReportingCrashes();
  if (status.ok()) return context.result;
  const std::string message(status.message());
  if (context.json) {
    PrintJson(
        {{"error", {{"code", tenon::CodeName(status.code())}, {"message", message}, {"advice", context.advice}}}});
  }
  std::string text = fmt::format(
      "{} {}\n",
      StyledError(Style::kBad, fmt::format("tenon {}: {}:", command->get_name(), tenon::CodeName(status.code()))),
      message);
  if (!context.advice.empty()) text += fmt::format("  {}\n", context.advice);
  std::fputs(text.c_str(), stderr);
  return context.stage;
}

}  // namespace

int main(int argc, char** argv) {
  tenon::cli::OpenStandardFiles();
  return Main(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}
