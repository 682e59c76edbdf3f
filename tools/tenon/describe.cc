// tenon completions, tenon man: written from the definitions of the commands, so that they cannot disagree with them.

#include <fmt/format.h>

#include <algorithm>

#include "tools/tenon/command.h"

namespace tenon::cli {
namespace {

struct Flag {
  std::vector<std::string> names;  // "-p", "--plugin"
  std::string value;               // what it takes; empty for flags
  std::string description;
};

struct Command {
  std::string name;
  std::string description;
  std::vector<Flag> flags;
  std::vector<Flag> positionals;
  std::string footer;
};

std::vector<Flag> FlagsOf(const CLI::App& app) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : app.get_options()) {
    Flag flag;
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    if (flag.names.empty()) continue;
    if (option->get_items_expected_max() != 0)
      flag.value = option->get_type_name().substr(0, option->get_type_name().find(':'));
    flag.description = option->get_description();
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<Command> CommandsOf(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* sub : app.get_subcommands({})) {
    Command command{sub->get_name(), sub->get_description(), FlagsOf(*sub), {}, sub->get_footer()};
    for (const CLI::Option* option : sub->get_options()) {
      if (option->get_positional())
        command.positionals.push_back({{option->get_name(true)}, option->get_type_name(), option->get_description()});
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(separator)) + part;
  return text;
}

std::string FlagNames(const std::vector<Flag>& flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
  return Join(names, " ");
}

// Files are the default everywhere; names of plugins are asked of the program itself.
constexpr const char* kPluginNames = "tenon plugins --no-load 2>/dev/null | cut -d' ' -f1 | sort -u";

std::string Bash(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const Command& command : CommandsOf(app)) {
    names.push_back(command.name);
    cases += fmt::format("    {}) flags=\"{}\" ;;\n", command.name, FlagNames(command.flags));
  }
  return fmt::format(
      R"sh(# bash completion for tenon: source it, or put it into /usr/share/bash-completion/completions/tenon
_tenon() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= flags i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in -*) ;; *) command=${{COMP_WORDS[i]}}; break ;; esac
  done
  case $before in
    -p|--plugin|--against) COMPREPLY=($(compgen -W "$({})" -- "$word") $(compgen -f -- "$word")); return ;;
    --to) COMPREPLY=($(compgen -W "text artifact hlo-text hlo-proto" -- "$word")); return ;;
  esac
  case $command in
    "") COMPREPLY=($(compgen -W "{} {}" -- "$word")); return ;;
{}    *) return ;;
  esac
  case $command in completions) COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")); return ;; esac
  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$flags {}" -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi
}}
complete -o filenames -F _tenon tenon
)sh",
      kPluginNames, Join(names, " "), FlagNames(FlagsOf(app)), cases, FlagNames(FlagsOf(app)));
}

// Within [...] of _arguments, and within single quotes.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out;
}

std::string ZshFlags(const std::vector<Flag>& flags) {
  std::string out;
  for (const Flag& flag : flags) {
    for (const std::string& name : flag.names) {
      std::string action;
      if (flag.value == "PLUGIN")
        action = ":plugin:_tenon_plugins";
      else if (flag.value == "FORM")
        action = ":form:(text artifact hlo-text hlo-proto)";
      else if (!flag.value.empty())
        action = ":" + ZshText(flag.value) + ":_files";
      out += fmt::format("        '*{}[{}]{}' \\\n", name, ZshText(flag.description), action);
    }
  }
  return out;
}

std::string Zsh(const CLI::App& app) {
  std::string names, cases;
  for (const Command& command : CommandsOf(app)) {
    names += fmt::format("    '{}:{}'\n", command.name, ZshText(command.description));
    cases +=
        fmt::format("    {})\n      _arguments \\\n{}        '*:file:_files' ;;\n", command.name,
                    command.name == "completions" ? "        '1:shell:(bash zsh fish)' \\\n" : ZshFlags(command.flags));
  }
  return fmt::format(R"sh(#compdef tenon
# zsh completion for tenon: put it into a folder of $fpath as _tenon
_tenon_plugins() {{
  local -a plugins
  plugins=(${{(f)"$({})"}})
  _alternative "plugins:plugin:($plugins)" 'files:file:_files'
}}
_tenon() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_tenon "$@"
)sh",
                     kPluginNames, names, cases);
}

std::string FishText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string Fish(const CLI::App& app) {
  std::string out = "# fish completion for tenon: put it into ~/.config/fish/completions/tenon.fish\n";
  const auto flags = [&](const std::vector<Flag>& list, const std::string& condition) {
    for (const Flag& flag : list) {
      out += fmt::format("complete -c tenon -n '{}'", condition);
      for (const std::string& name : flag.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (flag.value == "PLUGIN")
        out += fmt::format(" -r -a '({})'", FishText(kPluginNames));
      else if (flag.value == "FORM")
        out += " -x -a 'text artifact hlo-text hlo-proto'";
      else if (!flag.value.empty())
        out += " -r";
      out += fmt::format(" -d '{}'\n", FishText(flag.description));
    }
  };
  flags(FlagsOf(app), "__fish_use_subcommand");
  for (const Command& command : CommandsOf(app)) {
    out += fmt::format("complete -c tenon -f -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                       FishText(command.description));
    flags(command.flags, "__fish_seen_subcommand_from " + command.name);
  }
  out += "complete -c tenon -f -n '__fish_seen_subcommand_from completions' -a 'bash zsh fish'\n";
  return out;
}

// Text of a man page: a dash is a minus sign, a line must not begin with a dot.
std::string Roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '-')
      out += "\\-";
    else if (c == '\\')
      out += "\\e";
    else
      out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string RoffFlags(const std::vector<Flag>& flags) {
  std::string out;
  for (const Flag& flag : flags) {
    std::vector<std::string> names;
    for (const std::string& name : flag.names) names.push_back("\\fB" + Roff(name) + "\\fR");
    out += ".TP\n" + Join(names, ", ");
    if (!flag.value.empty()) out += " \\fI" + Roff(flag.value) + "\\fR";
    out += "\n" + Roff(flag.description) + "\n";
  }
  return out;
}

std::string ManPage(const CLI::App& app) {
  std::string out = ".\\\" Written by `tenon man` from the definitions of the commands.\n";
  out +=
      ".TH TENON 1 \"\" \"Tenon\" \"User Commands\"\n.SH NAME\ntenon \\- programs, plugins and traces of PJRT from the "
      "shell\n";
  out += ".SH SYNOPSIS\n.B tenon\n[\\fB\\-\\-json\\fR] [\\fB\\-\\-quiet\\fR] \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  out += ".SH DESCRIPTION\n" + Roff(app.get_description()) +
         "\n.SH OPTIONS\nThey may stand before or behind the command.\n";
  out += RoffFlags(FlagsOf(app)) + ".SH COMMANDS\n";
  for (const Command& command : CommandsOf(app)) {
    out += ".SS tenon " + Roff(command.name);
    for (const Flag& positional : command.positionals) out += " " + Roff(positional.value);
    out += "\n" + Roff(command.description) + ".\n";
    for (const Flag& positional : command.positionals) {
      out += ".TP\n\\fI" + Roff(positional.value) + "\\fR\n" + Roff(positional.description) + "\n";
    }
    out += RoffFlags(command.flags);
    if (!command.footer.empty()) out += ".PP\n.nf\n" + Roff(command.footer) + "\n.fi\n";
  }
  out += ".SH EXIT STATUS\n";
  const std::pair<const char*, const char*> codes[] = {{"0", "success"},
                                                       {"1", "the operation failed: compiling, running, converting"},
                                                       {"2", "the command line is wrong"},
                                                       {"3", "there is no such plugin, or it does not start here"},
                                                       {"4", "a file or value that was given cannot be used"},
                                                       {"5", "a file or standard output cannot be written"},
                                                       {"128 + n", "the plugin crashed with signal n"}};
  for (const auto& [code, meaning] : codes) out += fmt::format(".TP\n{}\n{}\n", code, meaning);
  out += ".PP\ncheck, conform and trace end with the status of the program that they run.\n";
  out += ".SH ENVIRONMENT\n.TP\nTENON_PLUGIN\nthe plugin when \\fB\\-\\-plugin\\fR is not given\n";
  out += ".TP\nPJRT_PLUGIN_LIBRARY_PATH\nfolders in which plugins are searched, separated by colons\n";
  return out;
}

}  // namespace

void AddCompletions(CLI::App& app, Context& context) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completions", "print completions for a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  AddExamples(*command, {"tenon completions bash"});
  context.commands[command] = [&context, &app, shell] {
    const std::string text = *shell == "bash" ? Bash(app) : *shell == "zsh" ? Zsh(app) : Fish(app);
    context.output = {{"shell", *shell}, {"text", text}};
    if (!context.json) fmt::print("{}", text);
    return OkStatus();
  };
}

void AddMan(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("man", "print the manual page");
  AddExamples(*command, {"tenon man"});
  context.commands[command] = [&context, &app] {
    const std::string text = ManPage(app);
    context.output = {{"text", text}};
    if (!context.json) fmt::print("{}", text);
    return OkStatus();
  };
}

}  // namespace tenon::cli
