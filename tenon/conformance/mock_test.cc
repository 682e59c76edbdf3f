// Each test of the suite can fail: the mock plugin without a fault passes what it claims, and every fault of faults.txt
// makes the tests fail that the file names, and no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tenon/conformance/profile.h"
#include "tenon/conformance/runner.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {
namespace {

struct Fault {
  std::string name;
  std::vector<std::string> must, may;
};

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<Fault> Faults() {
  std::ifstream file(Environment("TENON_MOCK_FAULTS"));
  std::vector<Fault> faults;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t first = line.find('|'), second = line.find('|', first + 1);
    if (second == std::string::npos) {
      ADD_FAILURE() << "wants NAME | GLOBS | GLOBS: " << line;
      continue;
    }
    faults.push_back({Words(line.substr(0, first)).at(0), Words(line.substr(first + 1, second - first - 1)),
                      Words(line.substr(second + 1))});
  }
  return faults;
}

bool AnyMatch(const std::vector<std::string>& globs, const std::string& name) {
  for (const std::string& glob : globs) {
    if (GlobMatch(glob, name)) return true;
  }
  return false;
}

// Takes long and is about one fault only.
constexpr std::string_view kSlowTest = "teardown.memory_returns";
constexpr std::string_view kSlowTestFault = "leaks_buffers";

RunOptions Options(const std::string& fault) {
  RunOptions options;
  options.plugin = Environment("TENON_MOCK_PLUGIN");
  options.worker = Environment("TENON_CONFORMANCE");
  options.env = {"TENON_MOCK_FAULT=" + fault};
  options.no_profile = true;
  return options;
}

// What becomes of the tests with this fault installed, each of which may take so long.
Result<Report> RunFault(const std::string& fault, double timeout_s = RunOptions().timeout_s) {
  RunOptions options = Options(fault);
  options.jobs = 2;
  options.timeout_s = timeout_s;
  options.batch = 1000;
  // Programs of single ops are shown to fail elsewhere: the mock has next to no ops.
  options.skips = {"op.*", "buffers.large", "execute.large"};
  if (!fault.empty() && fault != kSlowTestFault) options.skips.emplace_back(kSlowTest);
  return RunSuite(options);
}

std::set<std::string> Passing(const Result<Report>& report) {
  std::set<std::string> passing;
  if (!report.ok()) return passing;
  for (const TestResult& result : report->results) {
    if (result.verdict == Verdict::kPass) passing.insert(result.name);
  }
  return passing;
}

// Tests take hundredths of a second, but some faults make them wait for what never comes. So long they may take then:
// many times what the longest one took, where others run beside it and instrumented code takes longer, too.
double PatienceOf(const Report& without_fault) {
  double longest = 0;
  for (const TestResult& result : without_fault.results) {
    if (result.name != kSlowTest) longest = std::max(longest, result.seconds);
  }
  return std::max(3.0, 10 * longest);
}

// Passing(RunFault(fault, timeout_s)) for each fault, some at a time.
std::vector<std::set<std::string>> PassingForEach(const std::vector<Fault>& faults, double timeout_s) {
  std::vector<std::set<std::string>> passing(faults.size());
  // What hangs takes longest and begins first.
  std::vector<size_t> order(faults.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return faults[i].name.starts_with("hang_"); });
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < order.size();)
      passing[order[i]] = Passing(RunFault(faults[order[i]].name, timeout_s));
  };
  std::vector<std::thread> threads;
  // More than there are cores: much of the time goes by in waiting for what never comes.
  for (unsigned i = 0; i < 3 * std::clamp(std::thread::hardware_concurrency(), 1u, 16u); ++i)
    threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return passing;
}

TEST(MockTest, EachFaultMakesItsTestsFail) {
  ASSERT_FALSE(Environment("TENON_MOCK_PLUGIN").empty());
  const Result<Report> without_fault = RunFault("");
  ASSERT_TRUE(without_fault.ok()) << without_fault.status().ToString();
  for (const TestResult& result : without_fault->results)
    EXPECT_NE(result.verdict, Verdict::kFail) << result.name << ": " << result.message;
  const std::set<std::string> clean = Passing(without_fault);
  ASSERT_GE(clean.size(), 250u);
  std::set<std::string> killed;
  std::string only = Environment("TENON_MOCK_ONLY");
  std::vector<Fault> faults = Faults();
  ASSERT_GE(faults.size(), 50u);
  if (!only.empty()) std::erase_if(faults, [&](const Fault& fault) { return !GlobMatch(only, fault.name); });
  std::vector<std::set<std::string>> passing = PassingForEach(faults, PatienceOf(*without_fault));
  for (size_t i = 0; i < faults.size(); ++i) {
    const Fault& fault = faults[i];
    std::string spared, hit;
    for (const std::string& name : clean) {
      if (name == kSlowTest && fault.name != kSlowTestFault) continue;
      bool fails = !passing[i].contains(name);
      if (fails) killed.insert(name);
      if (!fails && AnyMatch(fault.must, name)) spared += " " + name;
      if (fails && !AnyMatch(fault.must, name) && !AnyMatch(fault.may, name)) hit += " " + name;
    }
    EXPECT_TRUE(spared.empty()) << fault.name << " does not make fail:" << spared;
    EXPECT_TRUE(hit.empty()) << fault.name << " makes fail, unforeseen:" << hit;
  }
  if (!only.empty()) return;
  size_t total = 0, unkilled = 0;
  std::string list;
  for (const std::string& name : clean) {
    ++total;
    if (killed.contains(name)) continue;
    ++unkilled;
    list += " " + name;
  }
  RecordProperty("tests", static_cast<int>(total));
  RecordProperty("never_failing", static_cast<int>(unkilled));
  // Nearly every test is shown to fail; what is left is listed.
  EXPECT_LE(unkilled * 20, total) << "no fault makes these fail:" << list;
}

// The mock stands in front of a plugin that has every op and changes one byte of each result.
TEST(MockTest, OpTestsFailOverGarbledOutputs) {
  const std::string target = Environment("TENON_MOCK_TARGET");
  if (target.empty()) GTEST_SKIP() << "TENON_MOCK_TARGET names no plugin";
  RunOptions options = Options("output_garbled");
  options.batch = 400;
  options.filters = {"op.*"};
  // Their last number is 0, which the changed byte leaves far below the tolerance.
  options.skips = {"op.rfft.*"};
  Result<Report> report = RunSuite(options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  for (const TestResult& result : report->results) EXPECT_NE(result.verdict, Verdict::kPass) << result.name;
}

}  // namespace
}  // namespace tenon::conformance
