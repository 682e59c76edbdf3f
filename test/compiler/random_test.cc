#include <gtest/gtest.h>

#include <cstdlib>

#include "test/compiler/compare.h"
#include "test/compiler/random_program.h"
#include "test/compiler/wide_program.h"

namespace tenon::test {
namespace {

// Values of a few dozen chained ops, sums among them, stay below 1e5 or so; f32 keeps 7 digits, and every op may lose
// one bit.
constexpr Tolerance kChained{.absolute = 2e-2, .relative = 1e-3};

template <class Make>
void AllAgree(const Make& make, uint64_t default_count, bool may_evaluate) {
  const char* first = std::getenv("TENON_TEST_SEED");
  const char* many = std::getenv("TENON_TEST_COUNT");
  const uint64_t begin = first != nullptr ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t count = many != nullptr ? std::strtoull(many, nullptr, 10) : default_count;
  for (uint64_t seed = begin; seed < begin + count; ++seed) {
    const std::string program = make(seed, 3 + static_cast<int>(seed % 25));
    Result<compiler::CompiledProgram> compiled = compiler::Compile(program, {});
    ASSERT_TRUE(compiled.ok()) << "seed " << seed << ": " << compiled.status().ToString() << "\n" << program;
    if (!may_evaluate) {
      EXPECT_EQ(plan::Count(compiled->plan).evaluate_steps, 0) << "seed " << seed << "\n" << program;
    }
    const Status same = CompareWithReference(program, *compiled, seed, kChained);
    ASSERT_TRUE(same.ok()) << "seed " << seed << ": " << same.ToString() << "\n" << program;
  }
}

TEST(RandomPrograms, AgreeWithTheReference) { AllAgree(RandomProgram, 60, false); }

TEST(RandomPrograms, OfManyOpsAgreeWithTheReference) { AllAgree(WideProgram, 200, true); }

}  // namespace
}  // namespace tenon::test
