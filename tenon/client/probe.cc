// Plugins tried in child processes. A child is a fork of this process that loads one plugin, writes what came of it to
// a pipe and ends at once, without destructors or exit handlers, which are the parent's.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "tenon/base/signal_name.h"
#include "tenon/client/discovery.h"

namespace tenon::client {
namespace {

using Clock = std::chrono::steady_clock;

// The answer: "+0.117", or "-9 message", and its end.
constexpr char kEnd = '\0';

void WriteAll(int output, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(output, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
}

[[noreturn]] void Answer(const Candidate& candidate, int output, pid_t parent) {
  // Nobody waits for the answer once the parent has gone, which it may have before this.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  setpgid(0, 0);
  // What the program does when it crashes is not what a plugin's crash is about, and a signal that it holds back would
  // not be seen.
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // A plugin that ends the process ends it without the handlers of the program, whose threads and files are not here.
  on_exit([](int status, void*) { _exit(status); }, nullptr);
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  // Traces belong to the process that was asked to be traced.
  for (const char* variable : {"TENON_TRACE_FILE", "TENON_TRACE_TEXT"}) unsetenv(variable);
  const Result<Plugin> plugin =
      candidate.path.empty() ? Plugin::Load(candidate.name) : Plugin::LoadFile(candidate.path);
  const std::string text =
      plugin.ok() ? "+" + plugin->version()
                  : fmt::format("-{} {}", static_cast<int>(plugin.status().code()), plugin.status().message());
  WriteAll(output, std::string_view(text.c_str(), text.size() + 1));
  _exit(0);
}

// What the child writes up to its end; without the end when the child closed its output first. DEADLINE_EXCEEDED.
Result<std::string> ReadAnswer(int input, Clock::time_point deadline) {
  std::string text;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return DeadlineExceeded("no answer");
    pollfd ready{.fd = input, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, 60'000))) <= 0) continue;
    char block[4096];
    const ssize_t n = read(input, block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(block, static_cast<size_t>(n));
    if (text.back() == kEnd) return text;
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

Availability Probe(Candidate candidate, double seconds) {
  const auto refused = [&](Status status) { return Availability{candidate, std::move(status), ""}; };
  // Probes run side by side. A child that another thread forks meanwhile would hold this pipe's writing end open, and
  // its end would not be seen before that child's.
  static std::mutex* const forking = new std::mutex();
  std::unique_lock<std::mutex> lock(*forking);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return refused(Internal(fmt::format("no pipe: {}", std::strerror(errno))));
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) Answer(candidate, ends[1], parent);
  const int error = errno;
  close(ends[1]);
  lock.unlock();
  if (child < 0) {
    close(ends[0]);
    return refused(Internal(fmt::format("no process to load it in: {}", std::strerror(error))));
  }
  const Result<std::string> text = ReadAnswer(ends[0], deadline);
  close(ends[0]);
  const bool answered = text.ok() && !text->empty() && text->back() == kEnd;
  // A child that closed its output is ending: how it does is the reason.
  std::optional<int> end;
  if (text.ok() && !answered) end = WaitUntil(child, deadline);
  if (!end) {
    // Its group has what it started; before it made the group, itself.
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!answered && !end) return refused(DeadlineExceeded(fmt::format("did not answer in {:g} s", seconds)));
  if (!answered && WIFSIGNALED(*end))
    return refused(FailedPrecondition(fmt::format("crashed with {} while loading", SignalName(WTERMSIG(*end)))));
  if (!answered) {
    return refused(
        FailedPrecondition(fmt::format("ended its process with status {} while loading", WEXITSTATUS(*end))));
  }
  const std::string_view answer(text->data(), text->size() - 1);
  if (answer.starts_with('+')) return {std::move(candidate), OkStatus(), std::string(answer.substr(1))};
  int code = static_cast<int>(Code::kUnknown);
  const auto rest = std::from_chars(answer.data() + 1, answer.data() + answer.size(), code);
  return refused(Status(static_cast<Code>(code),
                        std::string(rest.ptr, answer.data() + answer.size()).substr(rest.ec == std::errc() ? 1 : 0)));
}

}  // namespace

std::vector<Availability> ProbePlugins(std::vector<Candidate> candidates, double seconds) {
  std::vector<Availability> list(candidates.size());
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

}  // namespace tenon::client
