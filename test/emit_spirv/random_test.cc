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
using kir::testing::Sample;

uint64_t FromEnv(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

struct Tally {
  int64_t taken = 0;
  std::map<std::string, int64_t> refused;
  bool validated = true;
};

/// `baked`: the kernel's parameters are written into it first.
void RunOne(vulkan::Device& device, uint64_t seed, const RandomKernelOptions& options, bool baked, Tally& tally) {
  Sample sample = kir::testing::RandomKernel(seed, options);
  Memory wanted = sample.memory;
  ASSERT_TRUE(kir::Evaluate(sample.kernel, wanted.Refs(), sample.params, false).ok()) << "seed " << seed;
  const kir::Kernel kernel = baked ? Bake(sample.kernel, sample.params) : sample.kernel;
  ASSERT_TRUE(kir::Verify(kernel).ok()) << "seed " << seed << ": " << kir::Verify(kernel).ToString();
  target::Target target = testing::JudgedTarget();
  target.device.most_trips = 0;  // these loops are short, whatever parameters say
  const Result<Module> module = Emit(kernel, target);
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
}

void RunMany(uint64_t offset, const RandomKernelOptions& options) {
  const auto device = testing::SoftwareDevice();
  if (!device.ok()) GTEST_SKIP() << device.status().ToString();
  const uint64_t count = FromEnv("TENON_RANDOM_KERNELS", 24), first = FromEnv("TENON_RANDOM_SEED", 0);
  Tally tally;
  for (uint64_t i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
    RunOne(**device, first + offset + i, options, i % 2 == 0, tally);
  }
  for (const auto& [why, times] : tally.refused)
    std::printf("refused %ld: %s\n", static_cast<long>(times), why.c_str());
  if (!tally.validated) std::printf("modules were not validated: there is no spirv-val\n");
  EXPECT_TRUE(tally.refused.empty());
}

TEST(RandomKernels, UsualTypes) { RunMany(0, {}); }

TEST(RandomKernels, NarrowTypesAndComplexBuffers) {
  RandomKernelOptions options;
  options.types = {DType::kF32, DType::kBF16, DType::kF16, DType::kS8, DType::kU16, DType::kS32, DType::kPred};
  options.complex = true;
  options.float_rem = true;
  RunMany(1000000, options);
}

TEST(RandomKernels, EightBitFloats) {
  RandomKernelOptions options;
  options.types = {DType::kF32,           DType::kF8E4M3FN, DType::kF8E5M2, DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ,
                   DType::kF8E4M3B11FNUZ, DType::kF8E4M3,   DType::kF8E3M4, DType::kS8,         DType::kPred};
  RunMany(3000000, options);
}

TEST(RandomKernels, IntegersNarrowerThanAByte) {
  RandomKernelOptions options;
  options.types = {DType::kF32, DType::kS4, DType::kU4, DType::kS8, DType::kU2, DType::kPred};
  RunMany(4000000, options);
}

TEST(RandomKernels, WithoutMathAndParams) {
  RandomKernelOptions options;
  options.math = false;
  options.params = false;
  options.max_nodes = 12;
  options.float_rem = true;
  RunMany(2000000, options);
}

}  // namespace
}  // namespace tenon::emit_spirv
