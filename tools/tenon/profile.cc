// tenon profile.

#include <fmt/format.h>

#include <algorithm>

#include "tools/tenon/command.h"
#include "tools/tenon/profiled.h"
#include "tools/tenon/style.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

constexpr int kStepColumn = 66;  // where the table names steps

struct ProfileOptions {
  ProfileFlags flags;
  size_t most = kShownSteps;
};

// Prints where the time went: the `most` steps that took longest, longest first.
void ShowProfile(const Context& context, const json& rows, size_t most) {
  double whole = 0;
  std::vector<const json*> steps;
  for (const json& row : rows) {
    if (row.value("step", 0) < 0) {
      whole += row.value("total_ns", 0.0);
      context.Say(fmt::format(
          "{}: {} runs, {} us each, the shortest {}", row.value("program", ""), row.value("runs", 0),
          Micros(row.value("total_ns", 0.0) / std::max(1, row.value("runs", 1))), Micros(row.value("least_ns", 0.0))));
    } else if (row.value("runs", 0) > 0) {
      steps.push_back(&row);
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const json* a, const json* b) { return a->value("total_ns", 0.0) > b->value("total_ns", 0.0); });
  context.Say(Styled(Style::kHeading, fmt::format("{:>6} {:>8} {:>10} {:>10} {:>10} {:>8} {:>8}  {}", "share", "runs",
                                                  "mean us", "least us", "model us", "GFLOP/s", "GB/s", "step")));
  for (size_t i = 0; i < std::min(most, steps.size()); ++i) {
    const json& s = *steps[i];
    const double total = s.value("total_ns", 0.0), runs = s.value("runs", 1.0),
                 least = std::max(1.0, s.value("least_ns", 1.0));
    const double bytes = s.value("bytes_read", 0.0) + s.value("bytes_written", 0.0) + s.value("bytes_cached", 0.0);
    const double estimate = s.value("estimate_ns", 0.0), flops = s.value("flops", 0.0) + s.value("ops", 0.0);
    const auto or_dash = [](bool known, const std::string& text) { return known ? text : std::string("-"); };
    context.Say(fmt::format(
        "{:>5.1f}% {:>8} {:>10} {:>10} {:>10} {:>8} {:>8}  {}{} {}", whole > 0 ? 100 * total / whole : 0,
        s.value("runs", 0), Micros(total / runs), Micros(least), or_dash(estimate > 0, Micros(estimate)),
        or_dash(flops > 0, fmt::format("{:.1f}", flops / least)),
        or_dash(bytes > 0, fmt::format("{:.1f}", bytes / least)),
        std::string(static_cast<size_t>(2 * s.value("depth", 0)), ' '), s.value("kind", ""), s.value("what", "")));
    if (const std::string from = s.value("from", ""); !from.empty())
      context.Say(fmt::format("{:>{}}from {}", "", kStepColumn + 2 * s.value("depth", 0), from));
  }
  if (steps.size() > most)
    context.Say(fmt::format("{} more step{}: `tenon profile --most N` shows them", steps.size() - most,
                            steps.size() - most == 1 ? "" : "s"));
}

}  // namespace

Status ProfileProgram(Context& context, const ProfileFlags& flags, size_t most) {
  TENON_ASSIGN_OR_RETURN(const Profiled profiled, RunProfiled(context, flags));
  context.output["steps"] = profiled.rows;
  if (!context.json) ShowProfile(context, profiled.rows, most);
  return OkStatus();
}

void AddProfile(CLI::App& app, Context& context) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand("profile", "run a program and show where its time goes, step by step");
  AddProfileFlags(*command, options->flags);
  command->add_option("--most", options->most, "how many steps are shown")->type_name("N");
  AddExamples(*command, {"tenon profile f.mlir --random -p tenon"});
  context.commands[command] = [&context, options] { return ProfileProgram(context, options->flags, options->most); };
}

}  // namespace tenon::cli
