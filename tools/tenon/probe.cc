#include "tools/tenon/probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "tools/tenon/process.h"

namespace tenon::cli {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// The environment of a candidate: traces belong to the process that was asked to be traced.
std::vector<char*> ChildEnvironment() {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("TENON_TRACE_")) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

// Starts this program on one plugin, with its standard output at `output`, in a process group of its own.
Result<pid_t> Start(const std::string& plugin, int output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::string words[] = {"tenon", kProbeCommand, plugin, std::to_string(getpid())};
  char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  std::vector<char*> environment = ChildEnvironment();
  pid_t child = -1;
  const int error = posix_spawn(&child, "/proc/self/exe", &files, &attributes, arguments, environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return Internal(fmt::format("cannot start a process to load it in: {}", std::strerror(error)));
  return child;
}

// The line that the child writes; without its end when the child closed its output first. DEADLINE_EXCEEDED.
Result<std::string> ReadLine(int input, Clock::time_point deadline) {
  std::string line;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return DeadlineExceeded("no answer");
    pollfd ready{.fd = input, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, 60'000))) <= 0) continue;
    char block[4096];
    const ssize_t n = read(input, block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return line;
    line.append(block, static_cast<size_t>(n));
    if (line.back() == '\n') return line;
  }
}

// How the child ended; nothing when it has not until then.
std::optional<int> WaitUntil(pid_t child, Clock::time_point deadline) {
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

client::Availability Probe(client::Candidate candidate, double seconds) {
  const auto refused = [&](Status status) { return client::Availability{candidate, std::move(status), ""}; };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return refused(Internal(fmt::format("no pipe: {}", std::strerror(errno))));
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const Result<pid_t> child = Start(candidate.path.empty() ? candidate.name : candidate.path, ends[1]);
  close(ends[1]);
  if (!child.ok()) {
    close(ends[0]);
    return refused(child.status());
  }
  const Result<std::string> line = ReadLine(ends[0], deadline);
  close(ends[0]);
  const bool answered = line.ok() && line->ends_with('\n');
  // A child that closed its output is ending: how it does is the reason.
  std::optional<int> end;
  if (line.ok() && !answered) end = WaitUntil(*child, deadline);
  if (!end) {
    kill(-*child, SIGKILL);
    int status = 0;
    while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!answered && !end) return refused(DeadlineExceeded(fmt::format("did not answer in {:g} s", seconds)));
  if (!answered && WIFSIGNALED(*end)) {
    return refused(FailedPrecondition(fmt::format("crashed with {} while loading", SignalName(WTERMSIG(*end)))));
  }
  const json answer = answered ? json::parse(*line, nullptr, false) : json();
  if (!answer.is_object()) {
    return refused(
        FailedPrecondition(fmt::format("ended its process with status {} while loading", end ? WEXITSTATUS(*end) : 0)));
  }
  if (!answer.contains("version")) {
    return refused(Status(static_cast<Code>(answer.value("code", 0)), answer.value("message", "")));
  }
  return {std::move(candidate), OkStatus(), answer.value("version", "")};
}

}  // namespace

std::vector<client::Availability> ProbePlugins(std::vector<client::Candidate> candidates, double seconds) {
  std::vector<client::Availability> list(candidates.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < candidates.size();) list[i] = Probe(std::move(candidates[i]), seconds);
  };
  // Loading waits for the disk and for devices more than it computes.
  const size_t most = std::max(4u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  while (threads.size() < std::min(most, list.size())) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return list;
}

void AnswerProbe(const std::string& plugin, const std::string& parent) {
  // Nobody waits for the answer once the parent has gone, which it may have before this.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(getppid()) != parent) _exit(0);
  // The answer's way is kept from what the plugin prints.
  const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const Result<client::Plugin> loaded = client::Plugin::Load(plugin);
  json answer;
  if (loaded.ok())
    answer["version"] = loaded->version();
  else
    answer = {{"code", static_cast<int>(loaded.status().code())}, {"message", std::string(loaded.status().message())}};
  const std::string line = answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(output, line.data() + done, line.size() - done);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) done += static_cast<size_t>(n);
  }
  _exit(0);
}

}  // namespace tenon::cli
