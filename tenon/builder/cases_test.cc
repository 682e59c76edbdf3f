// Every operation is built once. TENON_TEST_PLUGIN: also compiled and run there, and compared with numbers that were
// worked out by hand. TENON_TEST_OPT: the program tenon-opt, whose dialect must accept all that the builder writes.
#include "tenon/builder/testing/cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "tenon/client/client.h"

namespace tenon::builder {
namespace {

using testing::Case;
using testing::Cases;

TEST(Cases, CoverEveryOperation) {
  std::set<OpKind> seen = {OpKind::kReturn, OpKind::kFunctionReturn};
  for (const Case& c : Cases()) {
    Module module;
    Function& f = module.AddFunction("main");
    f.Return(c.build(f));
    ASSERT_TRUE(module.status().ok()) << c.name << ": " << module.status().ToString();
    const Result<std::string> text = module.ToText();
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    EXPECT_NE(text->find(OpName(c.kind)), std::string::npos) << c.name << " does not write " << OpName(c.kind);
    seen.insert(c.kind);
  }
#define TENON_BUILDER_OP(Function, mnemonic) EXPECT_TRUE(seen.contains(OpKind::k##Function)) << mnemonic;
#include "tenon/builder/ops.def"
}

TEST(Cases, TheDialectAcceptsThem) {
  const char* opt = std::getenv("TENON_TEST_OPT");
  if (opt == nullptr) GTEST_SKIP() << "TENON_TEST_OPT does not name tenon-opt";
  Module module("cases");
  for (const Case& c : Cases()) {
    Function& f = module.AddFunction("case_" + c.name);
    f.Return(c.build(f));
  }
  const Result<std::string> text = module.ToText();
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  const std::string path = ::testing::TempDir() + "builder_cases.mlir";
  std::ofstream(path) << *text;
  EXPECT_EQ(std::system((std::string(opt) + " " + path + " > " + path + ".out").c_str()), 0) << path;
}

// Elements as numbers; complex ones as two.
std::vector<double> Numbers(const client::HostCopy& copy) {
  std::vector<double> numbers;
  const auto add = [&]<class T>(T) {
    for (const T v : copy.As<T>()) numbers.push_back(static_cast<double>(v));
  };
  switch (copy.shape.dtype) {
    case DType::kPred:
      for (const std::byte b : copy.bytes) numbers.push_back(static_cast<double>(b));
      break;
    case DType::kS32:
      add(int32_t{});
      break;
    case DType::kU16:
      add(uint16_t{});
      break;
    case DType::kU32:
      add(uint32_t{});
      break;
    case DType::kF32:
      add(float{});
      break;
    case DType::kBF16:
      add(BF16());
      break;
    case DType::kC64:
      for (const auto v : copy.As<std::complex<float>>()) numbers.insert(numbers.end(), {v.real(), v.imag()});
      break;
    default:
      ADD_FAILURE() << "no numbers for " << ToString(copy.shape);
  }
  return numbers;
}

Result<std::vector<std::vector<double>>> RunOn(const client::Client& client, const Module& module) {
  TENON_ASSIGN_OR_RETURN(const client::LoadedExecutable program, client.Compile(module));
  TENON_ASSIGN_OR_RETURN(const std::vector<client::Buffer> outputs, program.Execute({}));
  std::vector<std::vector<double>> results;
  for (const client::Buffer& output : outputs) {
    TENON_ASSIGN_OR_RETURN(const client::HostCopy copy, output.ToHostCopy());
    results.push_back(Numbers(copy));
  }
  return results;
}

TEST(Cases, GiveTheirNumbers) {
  const char* path = std::getenv("TENON_TEST_PLUGIN");
  if (path == nullptr) GTEST_SKIP() << "TENON_TEST_PLUGIN does not name a plugin";
  const Result<client::Plugin> plugin = client::Plugin::LoadFile(path);
  ASSERT_TRUE(plugin.ok()) << plugin.status().ToString();
  const Result<client::Client> client = plugin->CreateClient();
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    if (c.expected.empty()) continue;
    Module module;
    Function& f = module.AddFunction("main");
    f.Return(c.build(f));
    const Result<std::vector<std::vector<double>>> got = RunOn(*client, module);
    if (!got.ok()) {
      ADD_FAILURE() << got.status().ToString();
      continue;
    }
    ASSERT_EQ(got->size(), c.expected.size());
    for (size_t i = 0; i < got->size(); ++i) {
      const std::vector<double>& want = c.expected[i];
      ASSERT_EQ((*got)[i].size(), want.size()) << "result " << i;
      for (size_t j = 0; j < want.size(); ++j) {
        if (std::isinf(want[j])) {
          EXPECT_EQ((*got)[i][j], want[j]);
        } else {
          EXPECT_NEAR((*got)[i][j], want[j], 1e-6 * (1 + std::fabs(want[j]))) << "result " << i << ", element " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::builder
