#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tenon::proxy::testing {

/// What the system says of a process: its state, 0 when it is gone, and its parent.
struct ProcessState {
  char state = 0;
  int parent = 0;
};
inline ProcessState StateOf(int pid) {
  // Not by a stream, which throws when the process goes meanwhile.
  char bytes[1024];
  const int file = ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? 0 : ::read(file, bytes, sizeof(bytes));
  if (file >= 0) ::close(file);
  const std::string text(bytes, n > 0 ? static_cast<size_t>(n) : 0);
  const size_t end = text.rfind(')');
  ProcessState of;
  if (end == text.npos || std::sscanf(text.c_str() + end + 1, " %c %d", &of.state, &of.parent) != 2) return {};
  return of;
}

/// Child processes of one that are still there, as zombies at least.
inline std::vector<int> ChildrenOf(int parent) {
  std::vector<int> children;
  DIR* folder = ::opendir("/proc");
  while (const dirent* entry = ::readdir(folder)) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 0 && StateOf(pid).parent == parent) children.push_back(pid);
  }
  ::closedir(folder);
  return children;
}

/// Waits until the processes have ended; false when some stay.
inline bool AllEnd(const std::vector<int>& pids) {
  for (const int pid : pids) {
    for (int wait = 0; StateOf(pid).state != 0 && StateOf(pid).state != 'Z'; ++wait) {
      if (wait == 3000) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  return true;
}

/// A program that says a line on stdout when it is ready, until it is killed.
class Program {
 public:
  explicit Program(std::vector<std::string> command) : command_(std::move(command)) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { End(SIGKILL); }

  /// Starts it, and waits for its first line; empty when there is none.
  std::string Start() {
    int ends[2] = {};
    if (::pipe2(ends, O_CLOEXEC) != 0) return {};
    std::vector<char*> arguments;
    for (std::string& word : command_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int nothing = ::open("/dev/null", O_WRONLY);
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(nothing, STDERR_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(5);
    }
    ::close(ends[1]);
    std::string line;
    for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(ends[0]);
    return line;
  }
  int pid() const { return pid_; }
  /// The status that waitpid gives.
  int End(int signal) {
    if (pid_ <= 0) return -1;
    ::kill(pid_, signal);
    int how = -1;
    ::waitpid(pid_, &how, 0);
    pid_ = 0;
    return how;
  }

  std::vector<std::string>& command() { return command_; }

 private:
  std::vector<std::string> command_;
  int pid_ = 0;
};

}  // namespace tenon::proxy::testing
