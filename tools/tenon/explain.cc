// tenon explain: what became of a program.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/tenon/command.h"
#include "tools/tenon/profiled.h"
#include "tools/tenon/style.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

struct ExplainOptions {
  ProfileFlags flags;
  size_t most = 12;
};

double Number(const json& row, const char* name) { return row.value(name, 0.0); }

// All steps of one kind: how many, and their time in one run.
struct Kind {
  size_t steps = 0;
  double least_ns = 0, estimate_ns = 0;
};

struct Summary {
  std::map<std::string, Kind> kinds;
  double least_ns = 0, mean_ns = 0, estimate_ns = 0;  // of one run of the program
  double operations = 0, moved = 0;  // per run; bytes that the caches do not keep, as the model sees it
  std::vector<const json*> steps;    // longest first
};

// How often a step runs within one run of its program: steps of loops have more.
double PerRun(const json& row, double program_runs) { return Number(row, "runs") / std::max(1.0, program_runs); }

Summary Summarise(const json& rows) {
  Summary summary;
  double runs = 1;
  for (const json& row : rows) {
    if (row.value("step", 0) < 0) {
      runs = std::max(1.0, Number(row, "runs"));
      summary.least_ns += Number(row, "least_ns");
      summary.mean_ns += Number(row, "total_ns") / runs;
      continue;
    }
    const double times = PerRun(row, runs);
    if (times == 0) continue;
    Kind& kind = summary.kinds[row.value("kind", "?")];
    ++kind.steps;
    // Loops and branches hold the steps behind them, which count themselves.
    const std::string name = row.value("kind", "");
    if (name == "while" || name == "case") continue;
    kind.least_ns += times * Number(row, "least_ns");
    kind.estimate_ns += times * Number(row, "estimate_ns");
    summary.estimate_ns += times * Number(row, "estimate_ns");
    summary.operations += times * (Number(row, "flops") + Number(row, "ops"));
    summary.moved += times * (Number(row, "bytes_read") + Number(row, "bytes_written"));
    summary.steps.push_back(&row);
  }
  std::ranges::stable_sort(
      summary.steps, [](const json* a, const json* b) { return Number(*a, "total_ns") > Number(*b, "total_ns"); });
  return summary;
}

std::string Counted(size_t n, const std::string& what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

// "3 kernels, 1 gemm call, 1 while loop".
std::string Became(const Summary& summary) {
  std::string text;
  for (const auto& [name, kind] : summary.kinds) {
    const std::string what = name == "kernel"                       ? "kernel"
                             : name == "while"                      ? "loop"
                             : name == "case"                       ? "branch step"
                             : name == "copy" || name == "evaluate" ? name + " step"
                                                                    : name + " call";
    text += (text.empty() ? "" : ", ") + Counted(kind.steps, what);
  }
  return text.empty() ? "nothing to do" : text;
}

// What a reader should know that the figures do not say by themselves.
std::vector<std::string> Notes(const Summary& summary) {
  std::vector<std::string> notes;
  if (const auto evaluated = summary.kinds.find("evaluate"); evaluated != summary.kinds.end()) {
    notes.push_back(fmt::format("{} left to the evaluator, which is slow: ops without a compiled form",
                                Counted(evaluated->second.steps, "step")));
  }
  for (const json* step : summary.steps) {
    const double estimate = Number(*step, "estimate_ns"), least = Number(*step, "least_ns");
    // Below some microseconds the clock and the start of a step are most of it.
    if (estimate > 0 && least > 4 * estimate && least > 20e3 && least > 0.1 * summary.least_ns) {
      notes.push_back(fmt::format("'{} {}' takes {:.1f} times what the model expects", step->value("kind", ""),
                                  step->value("what", ""), least / estimate));
    }
  }
  return notes;
}

void Show(Context& context, const ExplainOptions& options, const Profiled& profiled, const Summary& summary) {
  const json& about = profiled.about;
  const std::string fingerprint = about.value("fingerprint", "");
  const size_t dash = fingerprint.find('-');
  const std::string target = dash == fingerprint.npos ? "" : " for " + fingerprint.substr(dash + 1);
  const auto line = [&](const char* name, const std::string& text) {
    context.Say(fmt::format("{} {}", Styled(Style::kHeading, fmt::format("{:<9}", name)), text));
  };
  line("program", fmt::format("{}, compiled in {}{}{}", options.flags.program,
                              SecondsText(about.value("compile_seconds", 0.0)), target,
                              about.contains("code_bytes")
                                  ? fmt::format(", {} of code", BytesText(about["code_bytes"].get<double>()))
                                  : ""));
  line("became", Became(summary));
  if (about.contains("memory")) {
    line("memory",
         fmt::format("arguments {}, outputs {}, in between {}", BytesText(Number(about["memory"], "arguments")),
                     BytesText(Number(about["memory"], "outputs")), BytesText(Number(about["memory"], "temporaries"))));
  }
  line("work", fmt::format("{:.4g} million operations, {} to and from memory", summary.operations / 1e6,
                           BytesText(summary.moved)));
  line("one run", fmt::format("{} us at least, {} on average; the model expected {}", Micros(summary.least_ns),
                              Micros(summary.mean_ns), Micros(summary.estimate_ns)));
  context.Say("");
  context.Say(Styled(Style::kHeading, fmt::format("{:>6} {:>10} {:>10} {:>8} {:>8}  {}", "share", "least us",
                                                  "model us", "Gop/s", "GB/s", "step")));
  double total = 0;
  for (const json* step : summary.steps) total += Number(*step, "total_ns");
  for (size_t i = 0; i < std::min(options.most, summary.steps.size()); ++i) {
    const json& step = *summary.steps[i];
    const double least = std::max(1.0, Number(step, "least_ns")), estimate = Number(step, "estimate_ns");
    const double operations = Number(step, "flops") + Number(step, "ops");
    const double bytes = Number(step, "bytes_read") + Number(step, "bytes_written") + Number(step, "bytes_cached");
    context.Say(fmt::format(
        "{:>5.1f}% {:>10} {:>10} {:>8} {:>8}  {} {}", total > 0 ? 100 * Number(step, "total_ns") / total : 0,
        Micros(least), estimate > 0 ? Micros(estimate) : "-",
        operations > 0 ? fmt::format("{:.1f}", operations / least) : "-",
        bytes > 0 ? fmt::format("{:.1f}", bytes / least) : "-", step.value("kind", ""), step.value("what", "")));
  }
  if (summary.steps.size() > options.most) {
    context.Say(fmt::format("{} more: --most N shows them; `tenon profile` shows how they nest",
                            Counted(summary.steps.size() - options.most, "step")));
  }
  for (const std::string& note : Notes(summary)) context.Say(Styled(Style::kWarn, "note: ") + note);
}

Status Explain(Context& context, const ExplainOptions& options) {
  TENON_ASSIGN_OR_RETURN(const Profiled profiled, RunProfiled(context, options.flags));
  const Summary summary = Summarise(profiled.rows);
  context.output = profiled.about;
  context.output["kinds"] = json::object();
  for (const auto& [name, kind] : summary.kinds) {
    context.output["kinds"][name] = {
        {"steps", kind.steps}, {"least_ns", kind.least_ns}, {"estimate_ns", kind.estimate_ns}};
  }
  context.output["least_ns"] = summary.least_ns;
  context.output["mean_ns"] = summary.mean_ns;
  context.output["estimate_ns"] = summary.estimate_ns;
  context.output["notes"] = Notes(summary);
  context.output["steps"] = profiled.rows;
  if (!context.json) Show(context, options, profiled, summary);
  return OkStatus();
}

}  // namespace

void AddExplain(CLI::App& app, Context& context) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "show what became of a program: its kernels and drivers, and the time they were expected to take and took");
  AddProfileFlags(*command, options->flags);
  command->add_option("--most", options->most, "how many steps are shown")->type_name("N");
  AddExamples(*command, {"tenon explain f.mlir --random"});
  context.commands[command] = [&context, options] { return Explain(context, *options); };
}

}  // namespace tenon::cli
