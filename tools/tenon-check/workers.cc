#include "tools/tenon-check/workers.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>

namespace tenon::check_tool {
namespace {

// One line per report: numbers, then texts, separated by the unit separator.
constexpr char kSeparator = '\x1f';

std::string Encode(size_t file, const FileReport& report) {
  std::string line = fmt::format("{}{s}{}{s}{}{s}{}{s}{}", file, report.passed, report.failed, report.skipped,
                                 report.failures.size(), fmt::arg("s", kSeparator));
  for (const auto* texts : {&report.failures, &report.skip_reasons}) {
    for (std::string text : *texts) {
      for (char& c : text) {
        if (c == '\n' || c == kSeparator) c = ' ';
      }
      line += kSeparator + text;
    }
  }
  return line + "\n";
}

bool Decode(const std::string& line, size_t& file, FileReport& report) {
  std::vector<std::string> fields(1);
  for (char c : line) {
    if (c == kSeparator) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (fields.size() < 5) return false;
  file = std::stoul(fields[0]);
  report.passed = std::stoi(fields[1]);
  report.failed = std::stoi(fields[2]);
  report.skipped = std::stoi(fields[3]);
  const size_t failures = std::stoul(fields[4]);
  for (size_t i = 5; i < fields.size(); ++i)
    (i < 5 + failures ? report.failures : report.skip_reasons).push_back(fields[i]);
  return true;
}

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  std::string buffer;
  std::deque<size_t> files;  // still to be reported, in the order in which the child takes them
};

void WriteAll(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) _exit(3);
    done += static_cast<size_t>(n);
  }
}

bool Start(Child& child, const std::vector<std::string>& files, unsigned timeout_s,
           const std::function<FileFunction()>& make) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  std::fflush(stdout);
  child.pid = fork();
  if (child.pid < 0) return false;
  if (child.pid == 0) {
    close(ends[0]);
    const FileFunction run = make();
    for (size_t file : child.files) {
      alarm(timeout_s);
      WriteAll(ends[1], Encode(file, run(files[file])));
    }
    // No destructors: what the children loaded is not ours to take down.
    _exit(0);
  }
  close(ends[1]);
  child.pipe = ends[0];
  child.buffer.clear();
  return true;
}

}  // namespace

void RunFiles(const std::vector<std::string>& files, int jobs, unsigned timeout_s,
              const std::function<FileFunction()>& make,
              const std::function<void(const std::string&, const FileReport&)>& report) {
  std::vector<Child> children(static_cast<size_t>(std::max(1, jobs)));
  for (size_t i = 0; i < files.size(); ++i) children[i % children.size()].files.push_back(i);
  std::erase_if(children, [](const Child& child) { return child.files.empty(); });
  for (Child& child : children) Start(child, files, timeout_s, make);
  while (!children.empty()) {
    std::vector<pollfd> fds;
    for (const Child& child : children) fds.push_back({child.pipe, POLLIN, 0});
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    for (size_t c = 0; c < children.size(); ++c) {
      if (fds[c].revents == 0) continue;
      Child& child = children[c];
      char chunk[4096];
      const ssize_t n = read(child.pipe, chunk, sizeof chunk);
      if (n > 0) {
        child.buffer.append(chunk, static_cast<size_t>(n));
        for (size_t end; (end = child.buffer.find('\n')) != std::string::npos; child.buffer.erase(0, end + 1)) {
          size_t file = 0;
          FileReport file_report;
          if (!Decode(child.buffer.substr(0, end), file, file_report)) continue;
          report(files[file], file_report);
          if (!child.files.empty()) child.files.pop_front();
        }
        continue;
      }
      close(child.pipe);
      int status = 0;
      waitpid(child.pid, &status, 0);
      child.pid = -1;
      if (!child.files.empty()) {
        FileReport crash;
        crash.failed = 1;
        crash.failures.push_back(
            WIFSIGNALED(status) ? WTERMSIG(status) == SIGALRM ? fmt::format("no result within {} seconds", timeout_s)
                                                              : fmt::format("crashed: {}", strsignal(WTERMSIG(status)))
                                : fmt::format("the process ended with status {}", WEXITSTATUS(status)));
        report(files[child.files.front()], crash);
        child.files.pop_front();
        if (!child.files.empty()) Start(child, files, timeout_s, make);
      }
    }
    std::erase_if(children, [](const Child& child) { return child.pid < 0; });
  }
}

}  // namespace tenon::check_tool
