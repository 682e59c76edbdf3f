#include "tenon/conformance/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>

#include "tenon/base/signal_name.h"
#include "tenon/conformance/child.h"
#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

using Clock = std::chrono::steady_clock;

struct Seen {
  Observed observed = Observed::kFail;
  std::string detail;  // the signal of a crash
  std::string message;
  double seconds = 0;
};

std::string ObservedText(const Seen& seen) {
  std::string text(ObservedName(seen.observed));
  return seen.detail.empty() ? text : text + " (" + seen.detail + ")";
}

// One child and the tests that it was given.
struct Child {
  pid_t pid = -1;
  int results = -1;
  int errors = -1;  // a file that takes its standard output and error
  std::string buffer;
  std::deque<std::string> waiting;
  std::string running;
  size_t finished = 0;
  bool alone = false;
  Clock::time_point started;
};

// A file without a name, at its beginning; -1 when there cannot be one.
int TemporaryFile() {
  FILE* file = tmpfile();
  if (file == nullptr) return -1;
  int fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
  fclose(file);
  return fd;
}

std::string Tail(int fd) {
  off_t size = lseek(fd, 0, SEEK_END);
  constexpr off_t kMost = 1500;
  std::string text(static_cast<size_t>(std::min(size, kMost)), '\0');
  ssize_t n = pread(fd, text.data(), text.size(), std::max<off_t>(0, size - kMost));
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// The line of what a dying process wrote that says why: a failed check, an uncaught error; otherwise the last one.
std::string LastWords(int fd) {
  std::string text = Tail(fd);
  for (const char* mark :
       {"Check fail", "check fail", "CHECK fail", "terminate called", "Assertion", "ERROR: ", "Fatal", "fatal"}) {
    size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    size_t begin = text.rfind('\n', at);
    size_t end = text.find('\n', at);
    begin = begin == std::string::npos ? 0 : begin + 1;
    return text.substr(begin, end == std::string::npos ? std::string::npos : end - begin);
  }
  // Otherwise the last line that is not a plugin's chatter ("I0000 ...", "W0000 ...").
  while (!text.empty()) {
    size_t begin = text.rfind('\n');
    std::string line = begin == std::string::npos ? text : text.substr(begin + 1);
    bool chatter = line.size() > 2 && (line[0] == 'I' || line[0] == 'W') && line[1] >= '0' && line[1] <= '9';
    if (!chatter) return line;
    text.resize(begin == std::string::npos ? 0 : begin);
  }
  return "";
}

// This process's environment with `changes` (NAME=VALUE) made.
std::vector<std::string> Environment(const std::vector<std::string>& changes) {
  std::vector<std::string> environment = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('=') + 1);
    bool changed = std::any_of(changes.begin(), changes.end(),
                               [&](const std::string& change) { return !name.empty() && change.starts_with(name); });
    if (!changed) environment.emplace_back(text);
  }
  return environment;
}

class Scheduler {
 public:
  Scheduler(const RunOptions& options, const std::string& profile_text)
      : options_(options), profile_text_(profile_text), environment_(Environment(options.env)) {
    for (std::string& entry : environment_) environment_pointers_.push_back(entry.data());
    environment_pointers_.push_back(nullptr);
  }

  std::map<std::string, Seen> seen;
  std::map<std::string, std::string> info;
  std::string fatal;  // the plugin could not be loaded

  void Run(const std::vector<std::string>& tests) {
    total_ = tests.size();
    size_t batch = options_.isolate ? 1 : std::max<size_t>(1, options_.batch);
    for (size_t i = 0; i < tests.size(); i += batch) {
      queue_.push_back(
          {tests.begin() + static_cast<long>(i), tests.begin() + static_cast<long>(std::min(i + batch, tests.size()))});
    }
    Loop();
  }

  // Asks a child who the plugin is.
  void Ask() {
    queue_.push_back({"?"});
    Loop();
  }

 private:
  void Loop() {
    while (!queue_.empty() || !children_.empty()) {
      while (!queue_.empty() && children_.size() < static_cast<size_t>(std::max(1, options_.jobs)) && fatal.empty()) {
        Start(std::move(queue_.front()));
        queue_.pop_front();
      }
      if (!fatal.empty()) queue_.clear();
      if (children_.empty()) continue;
      std::vector<pollfd> fds;
      for (const auto& child : children_) fds.push_back({child->results, POLLIN, 0});
      poll(fds.data(), fds.size(), 100);
      for (size_t i = children_.size(); i-- > 0;) {
        if (fds[i].revents != 0 && !Read(*children_[i])) {
          End(i);
        } else if (Clock::now() - children_[i]->started > std::chrono::duration<double>(options_.timeout_s)) {
          kill(children_[i]->pid, SIGKILL);
          timed_out_ = true;
          while (Read(*children_[i])) {
          }
          End(i);
          timed_out_ = false;
        }
      }
    }
  }

  void Start(std::vector<std::string> tests) {
    auto child = std::make_unique<Child>();
    child->alone = tests.size() == 1;
    child->waiting.assign(tests.begin(), tests.end());
    int results[2];
    int names = TemporaryFile();
    child->errors = TemporaryFile();
    if (names < 0 || child->errors < 0 || pipe2(results, O_CLOEXEC) != 0) {
      fatal = "cannot make a pipe or a temporary file";
      return;
    }
    std::string text;
    for (const std::string& name : child->waiting) text += name + "\n";
    if (pwrite(names, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      fatal = "cannot write a temporary file";
      return;
    }
    child->pid = StartChild(options_.worker, "--worker", options_.plugin, profile_text_,
                            {names, child->errors, child->errors, results[1]}, environment_pointers_.data());
    close(results[1]);
    close(names);
    child->results = results[0];
    child->started = Clock::now();
    children_.push_back(std::move(child));
  }

  // False at the end of what the child says.
  bool Read(Child& child) {
    char bytes[4096];
    ssize_t n = read(child.results, bytes, sizeof(bytes));
    if (n <= 0) return false;
    child.buffer.append(bytes, static_cast<size_t>(n));
    for (size_t end; (end = child.buffer.find('\n')) != std::string::npos;) {
      std::string line = child.buffer.substr(0, end);
      child.buffer.erase(0, end + 1);
      Line(child, line);
    }
    return true;
  }

  void Line(Child& child, const std::string& line) {
    std::string rest = line.size() > 2 ? line.substr(2) : "";
    switch (line[0]) {
      case 'X':
        fatal = rest;
        break;
      case 'I':
        info[rest.substr(0, rest.find(' '))] = rest.substr(rest.find(' ') + 1);
        break;
      case 'B':
        child.running = rest;
        child.started = Clock::now();
        while (!child.waiting.empty() && child.waiting.front() != rest) child.waiting.pop_front();
        if (!child.waiting.empty()) child.waiting.pop_front();
        break;
      case 'E': {
        Seen result;
        result.observed = static_cast<Observed>(rest[0] - '0');
        result.message = rest.size() > 2 ? rest.substr(2) : "";
        result.seconds = std::chrono::duration<double>(Clock::now() - child.started).count();
        bool suspicious = result.observed == Observed::kFail && child.finished > 0;
        if (suspicious) {
          queue_.push_back({child.running});  // Alone, lest another test be to blame.
        } else {
          Record(child.running, result);
        }
        ++child.finished;
        child.running.clear();
        child.started = Clock::now();
        break;
      }
      case 'C':
        if (child.alone && !child.waiting.empty()) child.waiting.clear();
        child.running = "";
        break;
      case 'Z':
        child.waiting.clear();
        child.started = Clock::now();
        break;
      default:
        break;
    }
  }

  void Record(const std::string& name, const Seen& result) {
    seen[name] = result;
    if (options_.progress) options_.progress(seen.size(), total_);
  }

  void End(size_t index) {
    std::unique_ptr<Child> child = std::move(children_[index]);
    children_.erase(children_.begin() + static_cast<long>(index));
    int status = 0;
    waitpid(child->pid, &status, 0);
    bool bad = timed_out_ || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (bad && fatal.empty()) {
      Seen result;
      result.observed = timed_out_ ? Observed::kTimeout : Observed::kCrash;
      if (!timed_out_) {
        result.detail =
            WIFSIGNALED(status) ? SignalName(WTERMSIG(status)) : fmt::format("exit status {}", WEXITSTATUS(status));
      }
      result.message = timed_out_ ? fmt::format("no end after {} s", options_.timeout_s) : LastWords(child->errors);
      result.seconds = std::chrono::duration<double>(Clock::now() - child->started).count();
      if (!child->running.empty()) {
        if (child->finished > 0) {
          queue_.push_back({child->running});
        } else {
          Record(child->running, result);
        }
      } else if (child->finished == 0 && !child->waiting.empty() && child->waiting.front() != "?") {
        // It died before its first test.
        Record(child->waiting.front(), result);
        child->waiting.pop_front();
      }
    }
    if (!child->waiting.empty() && child->waiting.front() != "?") {
      queue_.push_front({child->waiting.begin(), child->waiting.end()});
    }
    close(child->results);
    close(child->errors);
  }

  const RunOptions& options_;
  const std::string& profile_text_;
  std::vector<std::string> environment_;
  std::vector<char*> environment_pointers_;
  std::deque<std::vector<std::string>> queue_;
  std::vector<std::unique_ptr<Child>> children_;
  size_t total_ = 0;
  bool timed_out_ = false;
};

std::string Today() {
  const auto now = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day day(now);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

bool Matches(const std::vector<std::string>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return GlobMatch(glob, text); });
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Verdict Judge(const Seen& seen, const Profile& profile, const Profile::Entry* entry) {
  if (seen.observed == Observed::kNoDevice) return Verdict::kNoDevice;
  if (seen.observed == Observed::kPass) return entry == nullptr ? Verdict::kPass : Verdict::kUnexpectedPass;
  // What a plugin lacks it says itself; a crash, a hang or a wrong result stays one, whatever the profile knows of it.
  // Whoever has a profile must list there what is missing.
  if (seen.observed == Observed::kUnimplemented)
    return entry != nullptr || profile.name == "none" ? Verdict::kUnsupported : Verdict::kFail;
  return entry != nullptr ? Verdict::kKnownDefect : Verdict::kFail;
}

}  // namespace

Result<Report> RunSuite(const RunOptions& options) {
  std::vector<std::string> names;
  for (const Test& test : AllTests().tests()) {
    bool wanted = options.filters.empty() || Matches(options.filters, test.name);
    if (wanted && !Matches(options.skips, test.name)) names.push_back(test.name);
  }
  if (names.empty()) return InvalidArgument("no test matches");
  if (access(options.plugin.c_str(), R_OK) != 0)
    return NotFound(fmt::format("cannot read the plugin '{}'", options.plugin));

  std::string file = BaseName(options.plugin);
  std::string profile_text = options.profile_text;
  std::map<std::string, std::string> info;
  if (profile_text.empty() && !options.no_profile) profile_text = ProfileTextOfFile(options.plugin);
  auto ask = [&] {
    Scheduler scheduler(options, profile_text);
    scheduler.Ask();
    info = scheduler.info;
    return scheduler.fatal;
  };
  std::string fatal = ask();
  if (!fatal.empty()) return FailedPrecondition(fmt::format("cannot load '{}': {}", options.plugin, fatal));
  if (profile_text.empty() && !options.no_profile) {
    for (const Profile& profile : BuiltInProfiles()) {
      if (Matches(profile.versions, info["platform_version"])) profile_text = profile.text;
    }
  }
  TENON_ASSIGN_OR_RETURN(Profile profile, ParseProfile(profile_text));

  Scheduler scheduler(options, profile_text);
  scheduler.Run(names);
  if (!scheduler.fatal.empty())
    return FailedPrecondition(fmt::format("cannot load '{}': {}", options.plugin, scheduler.fatal));

  Report report;
  report.suite = SuiteBuild();
  report.date = Today();
  report.plugin = file;
  report.profile = profile.name;
  report.api_version = info["api_version"];
  report.platform_name = info["platform_name"];
  report.platform_version = info["platform_version"];
  for (const std::string& name : names) {
    const Test* test = AllTests().Find(name);
    Seen seen = scheduler.seen[name];
    const Profile::Entry* entry = profile.Find(name);
    TestResult result;
    result.name = name;
    result.rule = test->rule;
    result.source = test->source;
    result.verdict = Judge(seen, profile, entry);
    result.observed = ObservedText(seen);
    result.message = seen.message;
    if (entry != nullptr && seen.observed != Observed::kNoDevice) result.reason = entry->reason;
    result.seconds = seen.seconds;
    report.results.push_back(std::move(result));
  }
  return report;
}

}  // namespace tenon::conformance
