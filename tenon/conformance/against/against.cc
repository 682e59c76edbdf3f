#include "tenon/conformance/against/against.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>

#include "tenon/base/signal_name.h"
#include "tenon/conformance/against/wire.h"
#include "tenon/conformance/child.h"
#include "tenon/conformance/profile.h"

namespace tenon::conformance {
namespace {

using Clock = std::chrono::steady_clock;

/// One plugin in a child, which is started again when it has died.
class Child {
 public:
  Child(const AgainstOptions& options, std::string plugin)
      : options_(options), plugin_(std::move(plugin)), profile_(ProfileTextOfFile(plugin_)) {}
  Child(const Child&) = delete;
  ~Child() { Stop(); }

  std::string_view name() const { return std::string_view(plugin_).substr(plugin_.rfind('/') + 1); }

  /// The plugin is loaded and has a device.
  Status Start() {
    int seeds[2], results[2];
    if (pipe2(seeds, O_CLOEXEC) != 0) return Internal("cannot make a pipe");
    if (pipe2(results, O_CLOEXEC) != 0) {
      close(seeds[0]);
      close(seeds[1]);
      return Internal("cannot make a pipe");
    }
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);  // Plugins chatter.
    pid_ = StartChild(options_.worker, "--against-worker", plugin_, profile_, {seeds[0], nothing, nothing, results[1]},
                      environ);
    close(nothing);
    close(seeds[0]);
    close(results[1]);
    seeds_ = seeds[1];
    results_ = results[0];
    arrived_.clear();
    if (pid_ < 0) return Internal("cannot start a process");
    const Answer answer = Take();
    return answer.status.WithContext(plugin_);
  }

  void Ask(uint64_t seed) {
    const std::string line = std::to_string(seed) + "\n";
    if (write(seeds_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return;  // Take sees why.
  }

  /// What it says; ABORTED when it died or took too long.
  Answer Take() {
    const auto until = Clock::now() + std::chrono::duration<double>(options_.timeout_s);
    for (Answer answer;;) {
      if (TakeAnswer(arrived_, answer)) return answer;
      pollfd ready{results_, POLLIN, 0};
      const double left = std::chrono::duration<double>(until - Clock::now()).count();
      if (left <= 0) {
        kill(pid_, SIGKILL);
        Stop();
        return {Aborted(fmt::format("no end after {} s", options_.timeout_s)), {}};
      }
      if (poll(&ready, 1, static_cast<int>(left * 1000) + 1) <= 0) continue;
      char bytes[65536];
      const ssize_t n = read(results_, bytes, sizeof(bytes));
      if (n > 0)
        arrived_.append(bytes, static_cast<size_t>(n));
      else
        return {Aborted(Stop()), {}};
    }
  }

  bool runs() const { return pid_ > 0; }

 private:
  // How it ended.
  std::string Stop() {
    if (pid_ <= 0) return "it does not run";
    close(seeds_);
    close(results_);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) ? fmt::format("crash ({})", SignalName(WTERMSIG(status)))
                               : fmt::format("exit status {}", WEXITSTATUS(status));
  }

  const AgainstOptions& options_;
  std::string plugin_, profile_;
  pid_t pid_ = -1;
  int seeds_ = -1, results_ = -1;
  std::string arrived_;
};

}  // namespace

Result<AgainstReport> RunAgainst(const AgainstOptions& options) {
  // A child that has died is noticed where it is read from.
  std::signal(SIGPIPE, SIG_IGN);
  Child one(options, options.plugin), other(options, options.other);
  AgainstReport report;
  for (int64_t i = 0; i < options.count; ++i) {
    const uint64_t seed = options.first_seed + static_cast<uint64_t>(i);
    TENON_ASSIGN_OR_RETURN(const Case of, MakeCase(seed));
    for (Child* child : {&one, &other}) {
      if (!child->runs()) TENON_RETURN_IF_ERROR(child->Start());
    }
    // Both at once.
    one.Ask(seed);
    other.Ask(seed);
    const Answer got = one.Take(), wanted = other.Take();
    std::string what;
    bool unsupported = false;
    const auto is = [](const Answer& a, Code code) { return a.status.code() == code; };
    if (is(got, Code::kAborted)) {
      what = fmt::format("{}: {}", one.name(), got.status.message());
    } else if (is(wanted, Code::kAborted)) {
      what = fmt::format("{}: {}", other.name(), wanted.status.message());
    } else if (is(got, Code::kUnimplemented) || is(wanted, Code::kUnimplemented) ||
               (!got.status.ok() && !wanted.status.ok())) {
      unsupported = true;
    } else if (!got.status.ok()) {
      what = fmt::format("{}: {}", one.name(), got.status.ToString());
    } else if (!wanted.status.ok()) {
      what = fmt::format("{}: {}", other.name(), wanted.status.ToString());
    } else {
      what = CompareOutputs(of, got.outputs, wanted.outputs);
    }
    if (unsupported)
      ++report.unsupported;
    else if (what.empty())
      ++report.agree;
    else
      report.differences.push_back({seed, of.ops, std::move(what), of.program});
    if (options.progress) options.progress(i + 1, static_cast<int64_t>(report.differences.size()));
  }
  return report;
}

}  // namespace tenon::conformance
