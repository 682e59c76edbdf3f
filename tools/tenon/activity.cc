#include "tools/tenon/activity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tools/tenon/process.h"

namespace tenon::cli {
namespace {

// Signals that crashes end with.
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

// The parts of a report, made beforehand: a signal's handler can neither allocate nor format. The name of the signal
// goes between the halves.
struct Report {
  std::string text[2];
  std::string json[2];
};

struct State {
  std::string command, plugin, activity;
  bool json = false, finished = false;
  int error_output = STDERR_FILENO;                    // a duplicate: silencing plugins redirects the other
  std::vector<std::unique_ptr<const Report>> reports;  // kept: another thread may be in the handler
};
State& GetState() {
  static State& state = *new State;
  return state;
}

std::atomic<const Report*> current{nullptr};

constexpr const char* kAdvice =
    "--verbose shows what the plugin itself says, `tenon conform` what else is wrong with it";

// Describes the present activity anew.
void Update() {
  State& state = GetState();
  if (state.command.empty()) return;
  const std::string blamed = state.plugin.empty() ? "" : fmt::format(" in the plugin {}", state.plugin);
  const std::string where = fmt::format("{}{}", state.activity.empty() ? "" : " while " + state.activity, blamed);
  auto report = std::make_unique<Report>();
  report->text[0] = fmt::format("tenon {}: INTERNAL: crashed with ", state.command);
  report->text[1] = where + "\n";
  if (!state.plugin.empty()) report->text[1] += fmt::format("  {}\n", kAdvice);
  if (state.json) {
    const std::string mark = "@SIGNAL@";
    const nlohmann::json error = {{"error",
                                   {{"code", "INTERNAL"},
                                    {"message", "crashed with " + mark + where},
                                    {"advice", state.plugin.empty() ? "" : kAdvice}}}};
    const std::string json = error.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    const size_t at = json.find(mark);
    report->json[0] = json.substr(0, at);
    report->json[1] = json.substr(at + mark.size());
  }
  current.store(report.get());
  state.reports.push_back(std::move(report));
}

void Write(int fd, const char* text, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, text, size);
    if (n <= 0) return;
    text += n;
    size -= static_cast<size_t>(n);
  }
}

void OnCrash(int signal) {
  const Report* report = current.exchange(nullptr);
  if (report != nullptr) {
    const char* abbreviation = sigabbrev_np(signal);
    const auto write_all = [&](int fd, const std::string(&halves)[2]) {
      Write(fd, halves[0].data(), halves[0].size());
      Write(fd, "SIG", 3);
      if (abbreviation != nullptr) Write(fd, abbreviation, std::strlen(abbreviation));
      Write(fd, halves[1].data(), halves[1].size());
    };
    if (!report->json[0].empty()) write_all(STDOUT_FILENO, report->json);
    write_all(GetState().error_output, report->text);
  }
  // The handler is gone by now: this ends the process as if there had been none.
  raise(signal);
}

void OnExit() {
  if (GetState().finished || current.exchange(nullptr) == nullptr) return;
  const State& state = GetState();
  const std::string message =
      fmt::format("the process was ended{}{}", state.activity.empty() ? "" : " while " + state.activity,
                  state.plugin.empty() ? "" : " by the plugin " + state.plugin);
  std::string text = fmt::format("tenon {}: INTERNAL: {}\n", state.command, message);
  if (!state.plugin.empty()) text += fmt::format("  {}\n", kAdvice);
  if (state.json) {
    const nlohmann::json error = {{"error", {{"code", "INTERNAL"}, {"message", message}, {"advice", kAdvice}}}};
    const std::string json = error.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    Write(STDOUT_FILENO, json.data(), json.size());
  }
  Write(state.error_output, text.data(), text.size());
}

}  // namespace

Activity::Activity(const std::string& what) : before_(std::exchange(GetState().activity, what)) { Update(); }

Activity::~Activity() {
  GetState().activity = before_;
  Update();
}

void ReportCrashes(const std::string& command, bool json) {
  State& state = GetState();
  state.command = command;
  state.json = json;
  const int duplicate = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (duplicate >= 0) state.error_output = duplicate;
  Update();
  std::atexit(OnExit);
  // A stack of its own: the other one may be what ran out.
  static std::array<char, 64 << 10> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  for (const int signal : kSignals) {
    struct sigaction before{};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action{};
    action.sa_handler = OnCrash;
    action.sa_flags = SA_ONSTACK | SA_NODEFER | static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

void BlamePlugin(const std::string& plugin) {
  GetState().plugin = plugin;
  Update();
}

void FinishReportingCrashes() {
  GetState().finished = true;
  GetState().json = false;  // There has been a result.
  GetState().activity = "ending";
  Update();
}

}  // namespace tenon::cli
