#include "tools/tenon/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tenon::cli {

void OpenStandardFiles() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Read-only for the outputs too: what is lost must not look written.
    (void)open("/dev/null", O_RDONLY);
  }
}

std::string OwnFolder() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  if (n <= 0 || n == sizeof(path)) return ".";
  const std::string file(path, static_cast<size_t>(n));
  return file.substr(0, file.rfind('/'));
}

Result<int> RunProcess(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
                       bool output_to_error) {
  // Why exec failed comes back through a pipe that a successful one closes.
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return Internal(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (output_to_error) dup2(STDERR_FILENO, STDOUT_FILENO);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    (void)!write(report[1], &error, sizeof(error));
    _exit(127);
  }
  close(report[1]);
  int error = 0;
  const bool failed = child < 0 || read(report[0], &error, sizeof(error)) == sizeof(error);
  close(report[0]);
  int status = 0;
  if (child > 0) {
    // The child's business: it gets the terminal's signals as well.
    const auto interrupt = signal(SIGINT, SIG_IGN);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    signal(SIGINT, interrupt);
  }
  if (failed)
    return NotFound(fmt::format("cannot start '{}': {}", command[0], std::strerror(error != 0 ? error : errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Result<Captured> CaptureProcess(const std::vector<std::string>& command, double seconds) {
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) return Internal(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(output[1], STDOUT_FILENO);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(output[1]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  Captured captured;
  bool late = false;
  while (child > 0 && !late) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{.fd = output[0], .events = POLLIN, .revents = 0};
    const int n = left.count() > 0 ? poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (n < 0 && errno == EINTR) continue;
    late = n <= 0;
    if (late) continue;
    char block[4096];
    const ssize_t size = read(output[0], block, sizeof(block));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    captured.output.append(block, static_cast<size_t>(size));
  }
  close(output[0]);
  if (child < 0) return Internal(fmt::format("cannot start '{}': {}", command[0], std::strerror(errno)));
  if (late) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (late) return DeadlineExceeded(fmt::format("has not answered after {:g} s", seconds));
  captured.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return captured;
}

Result<std::string> FindTool(const std::string& name, const std::string& how_to_get_it) {
  const std::string beside = OwnFolder() + "/" + name;
  if (access(beside.c_str(), X_OK) == 0) return beside;
  const char* path = std::getenv("PATH");
  for (std::string rest = path == nullptr ? "" : path; !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string file = rest.substr(0, colon) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    rest.erase(0, colon + 1);
  }
  return NotFound(fmt::format("there is no {} beside this program or in PATH: {}", name, how_to_get_it));
}

}  // namespace tenon::cli
