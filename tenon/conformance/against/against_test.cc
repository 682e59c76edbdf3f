// Plugins that agree, and one that does not: the mock in front of the plugin that it is compared with.
// TENON_CONFORMANCE: the program; TENON_MOCK_PLUGIN, TENON_MOCK_TARGET: the mock, and the plugin.
#include "tenon/conformance/against/against.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "tenon/conformance/against/wire.h"

namespace tenon::conformance {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

TEST(Against, CasesAreTheSameAgainAndDiffer) {
  std::set<std::string> programs;
  int exact = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Result<Case> first = MakeCase(seed), again = MakeCase(seed);
    ASSERT_TRUE(first.ok()) << seed << ": " << first.status().ToString();
    EXPECT_EQ(first->program, again->program);
    ASSERT_EQ(first->arguments.size(), again->arguments.size());
    for (size_t i = 0; i < first->arguments.size(); ++i) {
      EXPECT_EQ(first->arguments[i].bytes, again->arguments[i].bytes);
      EXPECT_EQ(first->arguments[i].bytes.size(), static_cast<size_t>(SizeBytes(first->arguments[i].shape)));
    }
    programs.insert(first->program);
    exact += first->outputs[0].tolerance == 0 ? 1 : 0;
  }
  EXPECT_GT(programs.size(), 290u);
  // Both kinds of outputs occur.
  EXPECT_GT(exact, 100);
  EXPECT_LT(exact, 290);
}

template <class T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes;
  for (const T v : values) bytes.append(reinterpret_cast<const char*>(&v), sizeof(v));
  return bytes;
}

TEST(Against, OutputsMayDifferByTheirTolerance) {
  Case of;
  of.outputs.push_back({{DType::kF32, {2, 2}}, 0.5});
  const std::string x = Bytes<float>({1, 2, 3, 4});
  EXPECT_EQ(CompareOutputs(of, {x}, {x}), "");
  EXPECT_EQ(CompareOutputs(of, {x}, {Bytes<float>({1, 2, 3.5, 4})}), "");
  EXPECT_EQ(CompareOutputs(of, {x}, {Bytes<float>({1, 2, 3.75, 4})}), "output 0[1,0]: 3 and 3.75, tolerance 0.5");
  EXPECT_NE(CompareOutputs(of, {x}, {Bytes<float>({1, 2, std::nanf(""), 4})}), "");
  EXPECT_NE(CompareOutputs(of, {x}, {Bytes<float>({1, 2, 3})}), "");
  EXPECT_NE(CompareOutputs(of, {x}, {}), "");
  of.outputs[0] = {{DType::kF32, {1}}, 0};
  EXPECT_EQ(CompareOutputs(of, {Bytes<float>({0})}, {Bytes<float>({-0.0F})}), "");
  EXPECT_EQ(CompareOutputs(of, {Bytes<float>({std::nanf("")})}, {Bytes<float>({-std::nanf("")})}), "");
  of.outputs[0] = {{DType::kS32, {1}}, 0};
  EXPECT_NE(CompareOutputs(of, {Bytes<int32_t>({3})}, {Bytes<int32_t>({4})}), "");
}

TEST(Against, AnswersArriveInPieces) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(SendAnswer(ends[1], {NotFound("no such thing"), {"", std::string("a\0b", 3)}}));
  char bytes[256];
  const ssize_t n = read(ends[0], bytes, sizeof(bytes));
  close(ends[0]);
  close(ends[1]);
  std::string arrived;
  Answer answer;
  for (ssize_t i = 0; i + 1 < n; ++i) {
    arrived += bytes[i];
    ASSERT_FALSE(TakeAnswer(arrived, answer)) << i;
  }
  arrived += bytes[n - 1];
  ASSERT_TRUE(TakeAnswer(arrived, answer));
  EXPECT_EQ(answer.status.code(), Code::kNotFound);
  EXPECT_EQ(answer.outputs, (std::vector<std::string>{"", std::string("a\0b", 3)}));
  EXPECT_TRUE(arrived.empty());
}

class AgainstPlugin : public testing::Test {
 protected:
  void SetUp() override {
    options_.other = Environment("TENON_MOCK_TARGET");
    options_.worker = Environment("TENON_CONFORMANCE");
    options_.count = 12;
    if (options_.other.empty()) GTEST_SKIP() << "TENON_MOCK_TARGET names no plugin";
  }

  AgainstReport Run(const char* fault) {
    setenv("TENON_MOCK_FAULT", fault, 1);
    options_.plugin = Environment("TENON_MOCK_PLUGIN");
    Result<AgainstReport> report = RunAgainst(options_);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? *std::move(report) : AgainstReport();
  }

  AgainstOptions options_;
};

TEST_F(AgainstPlugin, AgreesWithItself) {
  options_.count = 200;
  options_.plugin = options_.other;
  const Result<AgainstReport> report = RunAgainst(options_);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->differences.size(), 0u);
  EXPECT_EQ(report->agree + report->unsupported, 200);
  EXPECT_GT(report->agree, 150);
}

TEST_F(AgainstPlugin, WrongResultsAreDifferences) {
  const AgainstReport report = Run("to_host_garbled");
  EXPECT_GT(report.differences.size(), 6u);
  for (const Difference& d : report.differences) {
    EXPECT_TRUE(d.what.starts_with("output ")) << d.what;
    EXPECT_NE(d.program.find("stablehlo."), std::string::npos);
  }
}

TEST_F(AgainstPlugin, CrashesAreDifferences) {
  const AgainstReport report = Run("crash_execute");
  EXPECT_EQ(report.differences.size(), 12u);
  for (const Difference& d : report.differences) EXPECT_NE(d.what.find(": crash (SIG"), std::string::npos) << d.what;
}

TEST_F(AgainstPlugin, NobodyIsWaitedForForever) {
  options_.worker = testing::TempDir() + "never_answers.sh";
  std::ofstream(options_.worker) << "#!/bin/sh\nexec sleep 60\n";
  ASSERT_EQ(chmod(options_.worker.c_str(), S_IRWXU), 0);
  options_.plugin = options_.other;
  options_.timeout_s = 0.5;
  const Result<AgainstReport> report = RunAgainst(options_);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().ToString().find("no end after 0.5 s"), std::string::npos) << report.status().ToString();
}

TEST_F(AgainstPlugin, WhatIsNoPluginIsAnError) {
  options_.plugin = "/dev/null";
  const Result<AgainstReport> report = RunAgainst(options_);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().ToString().find("/dev/null"), std::string::npos);
}

}  // namespace
}  // namespace tenon::conformance
