// tenon-reduce: makes a StableHLO program small while it stays interesting.

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "test/fuzz_programs/judges.h"
#include "tools/tenon-reduce/reduce.h"

namespace tenon::reduce {
namespace {

struct Options {
  std::string input, output, command, outcome, judge, message;
  int timeout_s = 10;
  int64_t max_tests = 20'000;
  bool cheap = false;
  bool verbose = false;
};

/// The verdict on a program from a process of its own, which may crash or hang: "outcome\njudge\nmessage".
std::string VerdictOn(const std::string& program, const Options& options) {
  int ends[2];
  if (pipe(ends) != 0) return "cannot make a pipe\n\n";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    fuzz::Judges judges;
    const fuzz::Verdict v = judges.Judge(program, options.cheap ? fuzz::CheapCourt(0) : fuzz::FullCourt());
    const std::string text = fmt::format("{}\n{}\n{}", fuzz::OutcomeName(v.outcome), v.judge, v.message);
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = write(ends[1], text.data() + at, text.size() - at);
      if (n <= 0) break;
      at += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  pollfd wait{.fd = ends[0], .events = POLLIN, .revents = 0};
  bool hangs = false;
  for (char buffer[4096];;) {
    hangs = poll(&wait, 1, 1000 * options.timeout_s) <= 0;
    if (hangs) break;
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  if (hangs) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (hangs) return "run failed\nhang\n";
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "run failed\ncrash\n";
  return text;
}

struct Parts {
  std::string outcome, judge, message;
};
Parts Split(const std::string& verdict) {
  const size_t first = verdict.find('\n');
  const size_t second = verdict.find('\n', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {verdict, "", ""};
  return {verdict.substr(0, first), verdict.substr(first + 1, second - first - 1), verdict.substr(second + 1)};
}

/// The words of an error without the numbers, which change as a program shrinks.
std::string WithoutNumbers(const std::string& message) {
  std::string text;
  for (const char c : message.substr(0, message.find_first_of("(["))) {
    if (c < '0' || c > '9') text += c;
  }
  return text;
}

int Main(Options options) {
  std::ifstream in(options.input, std::ios::binary);
  if (!in) {
    fmt::print(stderr, "cannot read {}\n", options.input);
    return 2;
  }
  const std::string program{std::istreambuf_iterator<char>(in), {}};
  Interesting interesting;
  if (!options.command.empty()) {
    const std::string file =
        fmt::format("{}.candidate.{}.mlir", options.output.empty() ? "/tmp/reduce" : options.output, getpid());
    interesting = [&options, file](const std::string& text) {
      std::ofstream(file, std::ios::binary) << text;
      const std::string line =
          fmt::format("timeout {} {} {} >/dev/null 2>&1", options.timeout_s, options.command, file);
      const bool yes = std::system(line.c_str()) == 0;
      unlink(file.c_str());
      return yes;
    };
  } else {
    Parts wanted{options.outcome, options.judge, options.message};
    if (wanted.outcome.empty()) {
      wanted = Split(VerdictOn(program, options));
      fmt::print(stderr, "{} ({}): {}\n", wanted.outcome, wanted.judge, wanted.message);
      if (wanted.outcome == "agree") return 1;
      // Which of the judges differs first may change on the way, but not whether the compiler alone is wrong.
      if (wanted.outcome == "different") {
        wanted.message.clear();
        if (!wanted.judge.starts_with("plan")) wanted.judge.clear();
      }
      wanted.message = WithoutNumbers(wanted.message);
    }
    interesting = [&options, wanted](const std::string& text) {
      const Parts got = Split(VerdictOn(text, options));
      return got.outcome == wanted.outcome && got.judge.starts_with(wanted.judge) &&
             (got.message.find(wanted.message) != std::string::npos ||
              WithoutNumbers(got.message).find(wanted.message) != std::string::npos);
    };
  }
  ReduceOptions how{.max_tests = options.max_tests, .kept = {}};
  if (options.verbose) {
    how.kept = [](std::string_view edit, const std::string& text) {
      fmt::print(stderr, "{}: {} bytes\n", edit, text.size());
    };
  }
  const Result<std::string> small = Reduce(program, interesting, how);
  if (!small.ok()) {
    fmt::print(stderr, "{}\n", small.status().ToString());
    return 1;
  }
  if (options.output.empty()) {
    fmt::print("{}", *small);
  } else {
    std::ofstream(options.output, std::ios::binary) << *small;
  }
  return 0;
}

}  // namespace
}  // namespace tenon::reduce

int main(int argc, char** argv) {
  tenon::reduce::Options options;
  CLI::App app{
      "Makes a StableHLO program small while it stays interesting: while judges differ, a compile fails, or a command "
      "succeeds."};
  app.add_option("input", options.input, "the program")->required();
  app.add_option("-o,--output", options.output, "file for the small program; standard output without");
  app.add_option("--command", options.command, "interesting: this command, given a file, ends with status 0");
  app.add_option("--outcome", options.outcome,
                 "interesting: this outcome of the judges (\"different\", \"compile failed\", \"run failed\"); without "
                 "it, that of the input");
  app.add_option("--judge", options.judge,
                 "with --outcome: the judge's name begins so (\"plan\", \"avx512\", \"hang\")");
  app.add_option("--message", options.message, "with --outcome: part of the message");
  app.add_option("--timeout", options.timeout_s, "seconds that one test may take");
  app.add_option("--max-tests", options.max_tests, "tests at most");
  app.add_flag("--cheap", options.cheap, "few judges: the plan, and this machine's best level");
  app.add_flag("-v,--verbose", options.verbose, "say what is kept");
  CLI11_PARSE(app, argc, argv);
  return tenon::reduce::Main(options);
}
