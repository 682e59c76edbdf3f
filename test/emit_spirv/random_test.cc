// Random kernels on a software device against KIR's evaluator, bit for bit; every module is valid SPIR-V.
// TENON_RANDOM_KERNELS: how many of each kind (default 24), TENON_RANDOM_SEED: the first seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "test/emit_spirv/run.h"

namespace tenon::emit_spirv {
namespace {

using kir::testing::Memory;
using kir::testing::RandomKernelOptions;
using kir::testing::RandomKernelSet;
using kir::testing::Sample;

uint64_t FromEnv(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

struct Tally {
  int64_t taken = 0, wide = 0, tiny = 0;
  std::map<std::string, int64_t> refused;
  bool validated = true;
};

/// `baked`: the kernel's parameters are written into it first.
void RunOne(vulkan::Device& device, uint64_t seed, const RandomKernelOptions& options, bool baked, Tally& tally) {
  Sample sample = kir::testing::RandomKernel(seed, options);
  Memory wanted = sample.memory;
  Result<target::Target> judged = testing::JudgedTarget(device);
  ASSERT_TRUE(judged.ok()) << judged.status().ToString();
  target::Target target = *std::move(judged);
  ASSERT_TRUE(kir::Evaluate(sample.kernel, wanted.Refs(), sample.params, false).ok()) << "seed " << seed;
  if (!target.device.keeps_subnormals) {
    // Such devices flush where they like: nothing can be said of kernels to which it matters.
    Memory flushed = sample.memory;
    ASSERT_TRUE(kir::Evaluate(sample.kernel, flushed.Refs(), sample.params, true).ok()) << "seed " << seed;
    if (!kir::testing::FirstDifference(sample.kernel, sample.params, flushed, wanted).empty()) {
      ++tally.tiny;
      return;
    }
  }
  const kir::Kernel kernel = baked ? Bake(sample.kernel, sample.params) : sample.kernel;
  ASSERT_TRUE(kir::Verify(kernel).ok()) << "seed " << seed << ": " << kir::Verify(kernel).ToString();
  target.device.most_trips = 0;  // these loops are short, whatever parameters say
  target.cores = 0;              // none are too few points to be dealt out as many are
  const bool aligned = testing::LiesAligned(sample.memory);
  const Result<Module> module = Emit(kernel, target, aligned ? Places::kAligned : Places::kElements);
  if (!module.ok() && module.status().code() == Code::kUnimplemented) {
    // What needs to know a parameter is baked, as a runtime does.
    if (!baked) return RunOne(device, seed, options, true, tally);
    ++tally.refused[std::string(module.status().message())];
    return;
  }
  const std::string about = "seed " + std::to_string(seed) + (baked ? ", baked" : "") + ", params " +
                            ::testing::PrintToString(sample.params) + "\n" + kir::Print(kernel);
  ASSERT_TRUE(module.ok()) << module.status().ToString() << "\n" << about;
  const Result<std::string> said = testing::Validate(module->words);
  if (said.ok()) {
    ASSERT_EQ(*said, "") << about;
  } else {
    tally.validated = false;
  }
  Memory got = sample.memory;
  const Status ran = testing::Run(device, *module, sample.params, got);
  ASSERT_TRUE(ran.ok()) << ran.ToString() << "\n" << about;
  ASSERT_EQ(kir::testing::FirstDifference(sample.kernel, sample.params, got, wanted), "") << about;
  ++tally.taken;
  tally.wide += module->needs_alignment;
}

void RunMany(uint64_t offset, const RandomKernelOptions& options) {
  const auto device = testing::TestedDevice();
  if (!device.ok()) GTEST_SKIP() << device.status().ToString();
  const uint64_t count = FromEnv("TENON_RANDOM_KERNELS", 24), first = FromEnv("TENON_RANDOM_SEED", 0);
  Tally tally;
  for (uint64_t i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
    RunOne(**device, first + offset + i, options, i % 2 == 0, tally);
  }
  for (const auto& [why, times] : tally.refused)
    std::printf("refused %ld: %s\n", static_cast<long>(times), why.c_str());
  std::printf("%ld of %ld move several elements at once\n", static_cast<long>(tally.wide),
              static_cast<long>(tally.taken));
  if (tally.tiny > 0) std::printf("subnormals matter to %ld, which were not run\n", static_cast<long>(tally.tiny));
  if (!tally.validated) std::printf("modules were not validated: there is no spirv-val\n");
  EXPECT_TRUE(tally.refused.empty());
}

class RandomKernels : public ::testing::TestWithParam<RandomKernelSet> {};
TEST_P(RandomKernels, AgreeWithTheEvaluator) { RunMany(GetParam().first_seed, GetParam().options); }
INSTANTIATE_TEST_SUITE_P(Sets, RandomKernels, ::testing::ValuesIn(kir::testing::RandomKernelSets()),
                         [](const auto& test) { return std::string(test.param.name); });

// Between negative numbers and 0, where a negative zero would stand.
TEST(TotalOrder, TheNaNOfOnePatternStandsWhereItsPatternDoes) {
  const auto device = testing::TestedDevice();
  if (!device.ok()) GTEST_SKIP() << device.status().ToString();
  const Result<kir::Kernel> kernel = kir::Parse(R"(kernel v1 params 1 outer 0 {
  dim d0 parallel p0
  buffer b0 out pred [p0] stride [1]
  buffer b1 arg f8e4m3fnuz [p0] stride [1]
  read r0 = b1[d0]
  %0 = f8e4m3fnuz read r0
  %1 = f8e4m3fnuz const 0.0
  %2 = f8e4m3fnuz mul %0, %1
  %3 = f8e4m3fnuz div %2, %1
  %4 = pred cmp ge total %0, %3
  stage (d0) {
    store b0[d0] = %4
  }
}
)");
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  const Result<std::string> difference = testing::Judge(**device, *kernel, {64}, 1 << 20);
  ASSERT_TRUE(difference.ok()) << difference.status().ToString();
  EXPECT_EQ(*difference, "");
}

// Drivers take bits for absolute values and negations, and these for finite.
TEST(Infinities, StayWhatTheyAreBesideTheirSigns) {
  const auto device = testing::TestedDevice();
  if (!device.ok()) GTEST_SKIP() << device.status().ToString();
  const Result<kir::Kernel> kernel = kir::Parse(R"(kernel v1 params 1 outer 0 {
  dim d0 parallel p0
  buffer b0 out pred [p0] stride [1]
  buffer b1 out f32 [p0] stride [1]
  buffer b2 arg f32 [p0] stride [1]
  read r0 = b2[d0]
  %0 = f32 read r0
  %1 = f32 const -inf
  %2 = f32 sub %1, %0
  %3 = f32 abs %2
  %4 = f32 neg %3
  %5 = f32 const -88.0
  %6 = pred cmp lt %4, %5
  %7 = f32 math exp.f32.v1 %4
  stage (d0) {
    store b0[d0] = %6
    store b1[d0] = %7
  }
}
)");
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  const Result<std::string> difference = testing::Judge(**device, *kernel, {64}, 1 << 20);
  ASSERT_TRUE(difference.ok()) << difference.status().ToString();
  EXPECT_EQ(*difference, "");
}

}  // namespace
}  // namespace tenon::emit_spirv
