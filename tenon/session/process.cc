#include "tenon/session/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "tenon/base/code_file.h"
#include "tenon/base/signal_name.h"
#include "tenon/channel/link.h"

extern char** environ;

namespace tenon::session {

namespace {

constexpr int kPidfdType = 3;  // P_PIDFD

// A copy of `fd` out of the way of the numbers that the device process wants.
channel::Fd Away(int fd) { return channel::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 64)); }

}  // namespace

Result<std::string> FindServer() {
  std::vector<std::string> places;
  if (const char* named = std::getenv("TENON_DEVICE_SERVER"); named != nullptr && *named != '\0') {
    places.emplace_back(named);
  } else {
    // Beside the plugin (the Python package), in a build folder, and in an installed tree (lib/pjrt).
    for (const char* place : {"tenon-device-server", "../bin/tenon-device-server", "../../bin/tenon-device-server"})
      places.push_back(FileBeside(reinterpret_cast<const void*>(&FindServer), place));
  }
  std::string looked_at;
  for (const std::string& place : places) {
    if (place.empty()) continue;
    if (::access(place.c_str(), X_OK) == 0) return place;
    looked_at += (looked_at.empty() ? "" : ", ") + place;
  }
  return NotFound(fmt::format("there is no program tenon-device-server; looked at {} (TENON_DEVICE_SERVER can name it)",
                              looked_at));
}

Result<Process> StartProcess(const std::string& program, const channel::Fd& control, int link, const Limits& limits,
                             const std::optional<Sandbox>& sandbox) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0)
    return ResourceExhausted(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  Process process;
  process.output = channel::Fd(pipe_ends[0]);
  ::fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
  const channel::Fd write_end(pipe_ends[1]);
  const channel::Fd control_away = Away(control.get()), link_away = Away(link), output_away = Away(pipe_ends[1]);
  if (!control_away || !link_away || !output_away) return ResourceExhausted("no file descriptors are left");

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output_away.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output_away.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, control_away.get(), channel::kControlFd);
  ::posix_spawn_file_actions_adddup2(&actions, link_away.get(), channel::kLinkFd);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, channel::kLinkFd + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // Its own session: an interrupt from the terminal is the host's alone.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // What would make it a host of isolated plugins itself is not for it.
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("TENON_ISOLATE_PLUGIN=") && !text.starts_with("TENON_JAX_ISOLATE=") &&
        !text.starts_with("TENON_REMOTE") && !text.starts_with("TENON_JAX_REMOTE="))
      environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  std::vector<std::string> words{program};
  if (sandbox) {
    words.insert(words.end(), {"--sandbox", "--plugin", sandbox->plugin});
    for (const std::string& path : sandbox->more.readable) words.insert(words.end(), {"--sandbox-read", path});
    for (const std::string& path : sandbox->more.writable) words.insert(words.end(), {"--sandbox-write", path});
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed =
      ::posix_spawn(&process.pid, program.c_str(), &actions, &attributes, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) return Unavailable(fmt::format("cannot start {}: {}", program, std::strerror(failed)));
  process.handle = channel::Fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!process.handle) {
    const Status status = Unavailable(fmt::format("cannot watch process {}: {}", process.pid, std::strerror(errno)));
    ::kill(process.pid, SIGKILL);
    ::waitpid(process.pid, nullptr, 0);
    return status;
  }
  const std::pair<__rlimit_resource, int64_t> wanted[] = {{RLIMIT_AS, limits.memory_bytes},
                                                          {RLIMIT_CPU, limits.cpu_seconds},
                                                          {RLIMIT_NPROC, limits.processes},
                                                          {RLIMIT_CORE, -1}};
  for (const auto& [resource, value] : wanted) {
    if (value == 0) continue;
    const rlim_t bound = value < 0 ? 0 : static_cast<rlim_t>(value);
    const rlimit limit{bound, bound};
    (void)::prlimit(process.pid, resource, &limit, nullptr);
  }
  return process;
}

void Signal(const Process& process, int signal) {
  (void)::syscall(SYS_pidfd_send_signal, process.handle.get(), signal, nullptr, 0);
}

std::string Reap(const Process& process) {
  siginfo_t info{};
  while (::waitid(static_cast<idtype_t>(kPidfdType), static_cast<id_t>(process.handle.get()), &info, WEXITED) != 0) {
    if (errno != EINTR) return "ended";  // Somebody else has collected it.
  }
  if (info.si_code == CLD_EXITED) return fmt::format("exited with status {}", info.si_status);
  return fmt::format("died of signal {} ({})", info.si_status, SignalName(info.si_status));
}

}  // namespace tenon::session
