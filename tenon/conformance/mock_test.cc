// Each test of the suite can fail: the mock plugin without a fault passes what it claims, and every fault of faults.txt
// makes the tests fail that the file names, and no others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
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

// The tests that pass with this fault installed; without a fault, none may fail.
std::set<std::string> Passing(const std::string& fault) {
  setenv("TENON_MOCK_FAULT", fault.c_str(), 1);
  RunOptions options;
  options.plugin = Environment("TENON_MOCK_PLUGIN");
  options.worker = Environment("TENON_CONFORMANCE");
  options.no_profile = true;
  options.timeout_s = 10;
  options.batch = 200;
  // Programs of single ops are shown to fail elsewhere: the mock has next to no ops.
  options.skips = {"op.*", "buffers.large", "execute.large"};
  Result<Report> report = RunSuite(options);
  unsetenv("TENON_MOCK_FAULT");
  std::set<std::string> passing;
  if (!report.ok()) return passing;
  for (const TestResult& result : report->results) {
    if (result.verdict == Verdict::kPass) passing.insert(result.name);
    if (fault.empty()) EXPECT_NE(result.verdict, Verdict::kFail) << result.name << ": " << result.message;
  }
  return passing;
}

TEST(MockTest, EachFaultMakesItsTestsFail) {
  ASSERT_FALSE(Environment("TENON_MOCK_PLUGIN").empty());
  const std::set<std::string> clean = Passing("");
  ASSERT_GE(clean.size(), 250u);
  std::set<std::string> killed;
  std::string only = Environment("TENON_MOCK_ONLY");
  std::vector<Fault> faults = Faults();
  ASSERT_GE(faults.size(), 50u);
  for (const Fault& fault : faults) {
    if (!only.empty() && !GlobMatch(only, fault.name)) continue;
    std::set<std::string> passing = Passing(fault.name);
    std::string spared, hit;
    for (const std::string& name : clean) {
      if (name == "teardown.memory_returns" && fault.name != "leaks_buffers")
        continue;  // Slow, and about that fault only.
      bool fails = !passing.contains(name);
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
  setenv("TENON_MOCK_FAULT", "output_garbled", 1);
  RunOptions options;
  options.plugin = Environment("TENON_MOCK_PLUGIN");
  options.worker = Environment("TENON_CONFORMANCE");
  options.no_profile = true;
  options.batch = 400;
  options.filters = {"op.*"};
  // Their last number is 0, which the changed byte leaves far below the tolerance.
  options.skips = {"op.rfft.*"};
  Result<Report> report = RunSuite(options);
  unsetenv("TENON_MOCK_FAULT");
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  for (const TestResult& result : report->results) EXPECT_NE(result.verdict, Verdict::kPass) << result.name;
}

}  // namespace
}  // namespace tenon::conformance
