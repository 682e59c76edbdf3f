#include "tools/tenon-reduce/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tenon/reference/reference.h"
#include "test/fuzz_programs/judges.h"

namespace tenon::reduce {
namespace {

int64_t Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

/// A judge that is wrong about every sine of a reversed value.
bool SineOfReverse(const std::string& text) {
  const std::regex reverse(R"((%[\w]+) = stablehlo\.reverse)");
  for (std::sregex_iterator it(text.begin(), text.end(), reverse), end; it != end; ++it) {
    if (std::regex_search(text, std::regex("stablehlo\\.sine " + (*it)[1].str() + "\\b"))) return true;
  }
  return false;
}

constexpr std::string_view kPlanted = R"(// fuzz: data=5 specials=0 tolerance=0,1e-4z
func.func @main(%a: tensor<17x5xf32> {jax.buffer_donor = true}, %b: tensor<17x5xf32>, %n: tensor<i32>) -> (tensor<17x5xf32>, tensor<i32>) {
  %two = stablehlo.constant dense<2.0> : tensor<17x5xf32>
  %x = stablehlo.multiply %a, %two : tensor<17x5xf32>
  %f = func.call @f(%x) : (tensor<17x5xf32>) -> tensor<17x5xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %c = %f, %d = %b) : tensor<i32>, tensor<17x5xf32>, tensor<17x5xf32>
   cond {
    %go = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %m = stablehlo.maximum %c, %d : tensor<17x5xf32>
    %v = stablehlo.reverse %m, dims = [0, 1] : tensor<17x5xf32>
    %s = stablehlo.sine %v : tensor<17x5xf32>
    %t = stablehlo.add %s, %c : tensor<17x5xf32>
    stablehlo.return %next, %t, %c : tensor<i32>, tensor<17x5xf32>, tensor<17x5xf32>
  }
  %sum = stablehlo.add %r#1, %r#2 : tensor<17x5xf32>
  return %sum, %r#0 : tensor<17x5xf32>, tensor<i32>
}
func.func private @f(%p: tensor<17x5xf32>) -> tensor<17x5xf32> {
  %q = stablehlo.cosine %p : tensor<17x5xf32>
  return %q : tensor<17x5xf32>
}
)";

TEST(Reduce, FindsThePlantedMistake) {
  const Result<std::string> small = Reduce(kPlanted, SineOfReverse);
  ASSERT_TRUE(small.ok()) << small.status().ToString();
  EXPECT_TRUE(SineOfReverse(*small));
  EXPECT_EQ(small->find("while"), std::string::npos) << *small;
  EXPECT_EQ(small->find("call"), std::string::npos) << *small;
  EXPECT_EQ(small->find("17"), std::string::npos) << *small;
  // The conditions, module, main, what the sine is taken of, reverse, sine, return, two closing lines, an empty one.
  EXPECT_LE(Lines(*small), 10) << *small;
  EXPECT_TRUE(reference::Program::Load(*small).ok());
}

TEST(Reduce, GeneratedProgramsEndSmall) {
  // Whatever has a reduction and a slice: each seed ends in a handful of ops, of which a reduction may be of two values
  // by a region of five lines.
  const auto interesting = [](const std::string& text) {
    return text.find("stablehlo.reduce") != std::string::npos && text.find("stablehlo.slice") != std::string::npos;
  };
  int reduced = 0;
  for (uint64_t seed = 0; seed < 1000 && reduced < 3; ++seed) {
    const std::string program = fuzz::GenerateProgram(seed);
    if (!interesting(program) || Lines(program) > 60) continue;
    ++reduced;
    const Result<std::string> small = Reduce(program, interesting);
    ASSERT_TRUE(small.ok()) << small.status().ToString();
    EXPECT_LE(Lines(*small), 25) << *small;
    EXPECT_TRUE(reference::Program::Load(*small).ok()) << *small;
  }
  EXPECT_GT(reduced, 0);
}

TEST(Reduce, KeepsTheConditions) {
  const Result<std::string> small = Reduce(kPlanted, SineOfReverse);
  ASSERT_TRUE(small.ok());
  const fuzz::Conditions c = fuzz::ParseConditions(*small);
  EXPECT_EQ(c.data_seed, 5u);
  ASSERT_EQ(c.outputs.size(), 1u);
  EXPECT_EQ(c.outputs[0], (fuzz::Tolerance{.absolute = 1e-4, .any_zero = true}));
}

TEST(Reduce, RefusesWhatIsNotAProgram) {
  EXPECT_EQ(Reduce("func.func @main(", SineOfReverse).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Reduce("func.func @main() { return }", SineOfReverse).status().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace tenon::reduce
