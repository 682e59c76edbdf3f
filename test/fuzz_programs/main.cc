// fuzz_programs: generates programs from seeds, puts each before all judges and keeps what they disagree on.

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <new>

#include "test/fuzz_programs/generator.h"
#include "test/fuzz_programs/judges.h"
#include "test/fuzz_programs/known.h"
#include "test/fuzz_programs/sharded.h"

namespace tenon::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

struct Options {
  uint64_t seed = 0;
  uint64_t count = 1000;
  double hours = 0;
  uint64_t full_every = 32;
  int timeout_s = 60;
  uint64_t batch = 500;
  std::string findings;
  std::string known;
  bool vary = false;
  bool quiet = false;
};

/// What workers tell the parent, in shared memory, so that it outlives a crash.
struct Progress {
  std::atomic<uint64_t> seed{0};
  std::atomic<int64_t> began_ms{0};
  std::atomic<int64_t> programs{0}, invalid{0}, no_oracle{0}, evaluated{0}, findings{0}, known{0};
};

/// The environment of one batch of seeds: what only a fresh process can change.
struct Surroundings {
  const char* name;
  const char* codegen;
  const char* isa;
};
constexpr Surroundings kUsual = {"", nullptr, nullptr};
constexpr Surroundings kVaried[] = {kUsual, kUsual, kUsual, {"TENON_MAX_ISA=avx2", nullptr, "avx2"},
                                    kUsual, kUsual, kUsual, {"TENON_CODEGEN=llvm", "llvm", nullptr}};

const Surroundings& SurroundingsOf(const Options& options, uint64_t seed) {
  return options.vary ? kVaried[seed / options.batch % std::size(kVaried)] : kUsual;
}

void Report(const Options& options, uint64_t seed, const Verdict& verdict, Progress& progress) {
  const KnownFindings known = KnownFindings::Load(options.known);
  const std::string* reason = known.Find(seed, verdict);
  ++(reason != nullptr ? progress.known : progress.findings);
  const std::string text = GenerateProgram(seed);
  const std::string line = fmt::format(
      "seed {}: {} ({}){}{}: {}", seed, OutcomeName(verdict.outcome), verdict.judge, SurroundingsOf(options, seed).name,
      reason != nullptr ? " [known: " + *reason + "]" : "", verdict.message.substr(0, 400));
  fmt::print("{}\n", line);
  std::fflush(stdout);
  if (options.findings.empty()) return;
  std::string comment = line;
  for (char& c : comment) {
    if (c == '\n') c = ' ';
  }
  std::ofstream out(fmt::format("{}/{}{}.mlir", options.findings, reason != nullptr ? "known-" : "", seed),
                    std::ios::binary);
  out << "// " << comment << "\n" << text;
}

[[noreturn]] void Work(const Options& options, uint64_t begin, uint64_t end, Progress& progress) {
  const Surroundings& around = SurroundingsOf(options, begin);
  if (around.codegen != nullptr) setenv("TENON_CODEGEN", around.codegen, 1);
  if (around.isa != nullptr) setenv("TENON_MAX_ISA", around.isa, 1);
  Judges judges;
  for (uint64_t seed = begin; seed < end; ++seed) {
    progress.began_ms = NowMs();
    progress.seed = seed;
    const bool full = options.full_every > 0 && seed % options.full_every == 0;
    const Verdict v = judges.Judge(GenerateProgram(seed), full ? FullCourt() : CheapCourt(seed));
    ++progress.programs;
    if (v.evaluate_steps > 0) ++progress.evaluated;
    if (v.outcome == Outcome::kNoOracle) ++progress.no_oracle;
    if (v.outcome == Outcome::kInvalid) ++progress.invalid;
    if (v.outcome != Outcome::kAgree) Report(options, seed, v, progress);
  }
  progress.seed = end;
  _exit(0);
}

/// Runs seeds [begin, end) in a process of their own; the first seed that is left to do.
uint64_t RunBatch(const Options& options, uint64_t begin, uint64_t end, Progress& progress) {
  progress.seed = begin;
  progress.began_ms = NowMs();
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) Work(options, begin, end, progress);
  if (child < 0) {
    fmt::print(stderr, "cannot fork\n");
    std::exit(2);
  }
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return end;
      const uint64_t at = progress.seed;
      ++progress.programs;
      Report(options, at,
             {Outcome::kRunFailed, "crash",
              WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                  : fmt::format("exit status {}", WEXITSTATUS(status))},
             progress);
      return at + 1;
    }
    if (NowMs() - progress.began_ms > 1000 * int64_t{options.timeout_s}) {
      const uint64_t at = progress.seed;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      ++progress.programs;
      Report(options, at, {Outcome::kRunFailed, "hang", fmt::format("no end after {} s", options.timeout_s)}, progress);
      return at + 1;
    }
    usleep(5000);
  }
}

int Fuzz(Options options) {
  auto* progress =
      new (mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Progress;
  if (!options.findings.empty()) std::filesystem::create_directories(options.findings);
  const int64_t start = NowMs();
  const uint64_t first = options.seed;
  const uint64_t last = options.hours > 0 ? UINT64_MAX : first + options.count;
  const auto totals = [&](uint64_t next) {
    const double seconds = static_cast<double>(NowMs() - start) / 1000;
    return fmt::format(
        "{} programs (seeds {} to {}) in {:.0f} s, {:.0f}/s; findings {}, known {}, invalid {}, without oracle {}, "
        "with evaluate steps {}",
        progress->programs.load(), first, next, seconds,
        static_cast<double>(progress->programs) / std::max(seconds, 1e-3), progress->findings.load(),
        progress->known.load(), progress->invalid.load(), progress->no_oracle.load(), progress->evaluated.load());
  };
  uint64_t seed = first;
  int64_t said = start;
  while (seed < last) {
    const uint64_t whole = (seed / options.batch + 1) * options.batch;
    seed = RunBatch(options, seed, std::min(last, whole), *progress);
    if (!options.findings.empty()) std::ofstream(options.findings + "/next_seed") << seed << "\n";
    if (!options.quiet && NowMs() - said > 60'000) {
      said = NowMs();
      fmt::print("{}\n", totals(seed));
      std::fflush(stdout);
    }
    if (options.hours > 0 && static_cast<double>(NowMs() - start) > options.hours * 3.6e6) break;
  }
  fmt::print("{}\n", totals(seed));
  return progress->findings == 0 ? 0 : 1;
}

int JudgeFiles(const std::vector<std::string>& files) {
  Judges judges;
  int bad = 0;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const Verdict v = judges.Judge(text, FullCourt());
    fmt::print("{}: {}{}{}\n", file, OutcomeName(v.outcome), v.judge.empty() ? "" : " (" + v.judge + ")",
               v.message.empty() ? "" : ": " + v.message);
    bad += v.outcome != Outcome::kAgree;
  }
  return bad > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tenon::fuzz

int main(int argc, char** argv) {
  tenon::fuzz::Options options;
  std::vector<std::string> files;
  int64_t print = -1, print_sharded = -1;
  CLI::App app{"Generates StableHLO programs from seeds and compares all that can run them."};
  app.add_option("--seed", options.seed, "the first seed");
  app.add_option("--count", options.count, "how many programs");
  app.add_option("--hours", options.hours, "run for so long, instead of a count");
  app.add_option("--full-every", options.full_every, "every so manieth program meets all judges; 0: none");
  app.add_option("--timeout", options.timeout_s, "seconds that one program may take");
  app.add_option("--batch", options.batch, "programs per process");
  app.add_option("--findings", options.findings, "folder that keeps findings, and the next seed");
  app.add_option("--known", options.known, "list of findings that are known");
  app.add_flag("--vary", options.vary, "batches take turns with TENON_MAX_ISA and TENON_CODEGEN");
  app.add_flag("--quiet", options.quiet, "no totals in between");
  app.add_option("--print", print, "print the program of this seed and end");
  app.add_option("--print-sharded", print_sharded, "print it as several processes run it and end");
  app.add_option("files", files, "programs to judge instead of generated ones");
  CLI11_PARSE(app, argc, argv);
  if (print >= 0) {
    fmt::print("{}", tenon::fuzz::GenerateProgram(static_cast<uint64_t>(print)));
    return 0;
  }
  if (print_sharded >= 0) {
    const auto seed = static_cast<uint64_t>(print_sharded);
    fmt::print("{}", tenon::fuzz::Shard(tenon::fuzz::GenerateProgram(seed), seed).program);
    return 0;
  }
  if (!files.empty()) return tenon::fuzz::JudgeFiles(files);
  return tenon::fuzz::Fuzz(options);
}
