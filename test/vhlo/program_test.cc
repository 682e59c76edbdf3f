// Artifacts read without MLIR against the text that MLIR prints of them: both readers must see one program. Then the
// same artifacts cut off and changed, which must end in a Status or in a program that keeps its promises.
#include "tenon/vhlo/program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tenon/builder/testing/cases.h"
#include "tenon/dialect/parse.h"

namespace tenon::vhlo {
namespace {

constexpr Version kVersions[] = {{0, 9, 0}, {0, 16, 0}, {1, 0, 0}, {1, 4, 0}, {1, 8, 0}, {1, 13, 0}, kCurrentVersion};

std::string ToText(const Result<Program>& program) {
  return program.ok() ? vhlo::ToText(*program) : program.status().ToString();
}

// The artifact of a module read here, and MLIR's generic text of the same module read here, are one.
void Compare(const std::string& source, const std::string& name, int* compared) {
  dialect::Context context;
  const Result<dialect::OwnedModule> module = dialect::Parse(context, source);
  ASSERT_TRUE(module.ok()) << name << ": " << module.status().ToString();
  for (const Version version : kVersions) {
    SCOPED_TRACE(name + " at " + version.ToString());
    const Result<std::string> artifact = dialect::Serialize(module->op(), version);
    if (!artifact.ok()) continue;  // It has no form there.
    const Result<dialect::OwnedModule> again = dialect::Parse(context, *artifact);
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    const std::string text = dialect::ToText(again->op(), {.generic = true});
    const Result<Program> got = Program::Read(*artifact);
    const Result<Program> want = Program::Read(text);
    ASSERT_TRUE(got.ok()) << got.status().ToString() << "\n" << text;
    ASSERT_TRUE(want.ok()) << want.status().ToString() << "\n" << text;
    EXPECT_EQ(ToText(got), ToText(want)) << text;
    ++*compared;
  }
}

std::string CaseText(const builder::testing::Case& c) {
  builder::Module module;
  builder::Function& f = module.AddFunction("main");
  f.Return(c.build(f));
  return *module.ToText();
}

TEST(Program, EveryOperationInEveryVersion) {
  int compared = 0;
  for (const builder::testing::Case& c : builder::testing::Cases()) Compare(CaseText(c), c.name, &compared);
  EXPECT_GT(compared, 600);
}

TEST(Program, TestData) {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::getenv("TENON_TEST_DATA"))) {
    if (entry.path().extension() != ".mlir") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    Compare(text.str(), entry.path().filename(), &compared);
  }
  EXPECT_GT(compared, 30);
}

// What Program::Read promises.
void CheckRegion(const Region& region, const Function& function, std::vector<bool> defined, int depth) {
  ASSERT_LE(depth, static_cast<int>(kMaxNesting));
  const auto define = [&](ValueId v) {
    ASSERT_LT(v, function.types.size());
    ASSERT_NE(function.types[v], nullptr);
    ASSERT_FALSE(defined[v]);
    defined[v] = true;
  };
  for (const ValueId v : region.arguments) define(v);
  for (const Operation& op : region.operations) {
    for (const ValueId v : op.operands) ASSERT_TRUE(v < defined.size() && defined[v]);
    for (const NamedAttribute& a : op.attributes) {
      ASSERT_NE(a.value, nullptr);
      if (a.value->kind == Attribute::Kind::kTensor && a.value->type->is_plain_tensor() && !a.value->is_splat()) {
        ASSERT_EQ(static_cast<int64_t>(a.value->bytes.size()), SizeBytes(a.value->type->shape));
      }
    }
    for (const Region& inner : op.regions) CheckRegion(inner, function, defined, depth + 1);
    for (const ValueId v : op.results) define(v);
  }
  for (const ValueId v : region.results) ASSERT_TRUE(v < defined.size() && defined[v]);
}
void CheckPromises(const Program& program) {
  for (const Function& function : program.functions()) {
    CheckRegion(function.body, function, std::vector<bool>(function.types.size()), 1);
  }
}

// Among them are operands that name a result of the operation around them, and values of another region.
TEST(Program, EveryNumberOfARegion) {
  dialect::Context context;
  const Result<dialect::OwnedModule> module = dialect::Parse(context, R"(
    func.func @main(%x: tensor<4xi32>, %n: tensor<i32>) -> tensor<4xi32> {
      %0 = "stablehlo.sort"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %c = stablehlo.add %a, %n : tensor<i32>
        %d = stablehlo.compare LT, %c, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %d : tensor<i1>
      }) {dimension = 0 : i64, is_stable = true} : (tensor<4xi32>) -> tensor<4xi32>
      return %0 : tensor<4xi32>
    })");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const std::string whole = *dialect::Serialize(module->op());
  int read = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int number = 0; number < 16; ++number) {
      std::string changed = whole;
      changed[at] = static_cast<char>(2 * number + 1);  // A number of one byte.
      const Result<Program> program = Program::Read(changed);
      if (!program.ok()) continue;
      ++read;
      CheckPromises(*program);
    }
  }
  EXPECT_GT(read, 100);
}

TEST(Program, DamagedArtifactsAndTexts) {
  std::mt19937 random(7);
  int refused = 0, read = 0;
  const auto try_one = [&](const std::string& bytes) {
    const Result<Program> program = Program::Read(bytes);
    if (!program.ok()) {
      EXPECT_FALSE(program.status().message().empty());
      ++refused;
      return;
    }
    ++read;
    CheckPromises(*program);
    EXPECT_FALSE(vhlo::ToText(*program).empty());
  };
  for (const builder::testing::Case& c : builder::testing::Cases()) {
    dialect::Context context;
    const std::string source = CaseText(c);
    const Result<dialect::OwnedModule> module = dialect::Parse(context, source);
    ASSERT_TRUE(module.ok());
    for (const std::string& whole :
         {*dialect::Serialize(module->op()), dialect::ToText(module->op(), {.generic = true}), source}) {
      try_one(whole);
      for (size_t i = 0; i < 40; ++i) {
        try_one(whole.substr(0, random() % whole.size()));
        std::string changed = whole;
        const size_t changes = 1 + random() % 3;
        for (size_t k = 0; k < changes; ++k) changed[random() % changed.size()] = static_cast<char>(random());
        try_one(changed);
      }
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace tenon::vhlo
