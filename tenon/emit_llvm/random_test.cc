// Random kernels against KIR's evaluator, bit for bit, at every level with FMA. TENON_RANDOM_KERNELS: how many (default
// 150), TENON_RANDOM_SEED: the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "tenon/emit_llvm/emit.h"
#include "tenon/emit_llvm/internal/compile.h"
#include "tenon/kir/testing/random_kernel.h"

namespace tenon::emit_llvm {
namespace {

using kir::testing::Memory;
using kir::testing::RandomKernelOptions;
using kir::testing::RandomKernelSet;
using kir::testing::Sample;

uint64_t FromEnv(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// Runs all pieces, in an order that is not ascending.
void Execute(const CompiledKernel& code, const Sample& sample, Memory& memory) {
  const std::vector<void*> pointers = memory.Pointers();
  const int64_t* params = sample.params.data();
  const int64_t total = kir::SplitTotal(sample.kernel, params), pieces = kir::NumPieces(sample.kernel, params);
  const int64_t grain = sample.kernel.split.dims == 0 ? total : sample.kernel.split.grain.Value(params);
  void* const scratch =
      ::operator new(static_cast<size_t>(kir::LocalBytes(sample.kernel, params) + 64), std::align_val_t(64));
#ifdef __x86_64__
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);
#endif
  for (int64_t i = pieces; i-- > 0;)
    code.fn(pointers.data(), params, i * grain, std::min((i + 1) * grain, total), scratch);
#ifdef __x86_64__
  _mm_setcsr(saved);
#endif
  ::operator delete(scratch, std::align_val_t(64));
}

struct Tally {
  int64_t own = 0;      ///< Made by the emitter's own code generator.
  int64_t spilled = 0;  ///< Those of them that move values to memory and back.
};

void RunOne(uint64_t seed, const RandomKernelOptions& options, Generator generator, Tally& tally) {
  const Sample sample = kir::testing::RandomKernel(seed, options);
  Memory wanted = sample.memory;
  ASSERT_TRUE(kir::Evaluate(sample.kernel, wanted.Refs(), sample.params).ok()) << "seed " << seed;
  for (isa::IsaLevel level : {isa::IsaLevel::kAvx2, isa::IsaLevel::kAvx512}) {
    if (level > isa::DetectedIsa()) continue;
    const kir::Kernel* const kernels[] = {&sample.kernel};
    const Hash128 hashes[] = {kir::Hash(sample.kernel)};
    const auto code = CompileModule(kernels, hashes, level, generator)[0];
    if (!code.ok() && code.status().code() == Code::kUnimplemented) continue;
    ASSERT_TRUE(code.ok()) << "seed " << seed << ": " << code.status().ToString() << "\n" << kir::Print(sample.kernel);
    tally.own += (*code)->llvm_reason.empty();
    tally.spilled += (*code)->spills > 0 && (*code)->reloads > 0;
    Memory got = sample.memory;
    Execute(**code, sample, got);
    const std::string difference = kir::testing::FirstDifference(sample.kernel, sample.params, got, wanted);
    ASSERT_EQ(difference, "") << "seed " << seed << " at " << isa::IsaLevelName(level) << ", params "
                              << ::testing::PrintToString(sample.params) << "\n"
                              << kir::Print(sample.kernel);
  }
}

void RunMany(uint64_t offset, const RandomKernelOptions& options, Generator generator) {
  if (isa::DetectedIsa() < isa::IsaLevel::kAvx2) GTEST_SKIP() << "needs AVX2";
  const uint64_t count = FromEnv("TENON_RANDOM_KERNELS", 150), first = FromEnv("TENON_RANDOM_SEED", 0);
  Tally tally;
  for (uint64_t i = 0; i < count; ++i) {
    RunOne(first + offset + i, options, generator, tally);
    if (::testing::Test::HasFatalFailure()) return;
  }
  if (generator == Generator::kOwnInFewRegisters) {
    EXPECT_GE(tally.spilled, tally.own / 2);
  }
}

// A masked row of two registers, the second one off: left to LLVM at AVX2, which would read all of it.
TEST(RandomKernel, RowsOfWhichLanesAreKnownToBeOff) {
  if (isa::DetectedIsa() < isa::IsaLevel::kAvx2) GTEST_SKIP() << "needs AVX2";
  Tally tally;
  for (const RandomKernelSet& set : kir::testing::RandomKernelSets()) {
    RunOne(2509059, set.options, Generator::kOwn, tally);
  }
}

// A row of bytes made of wider elements that ends in one lane: LLVM's code at AVX-512 would store all of the wider one.
TEST(RandomKernel, RowsThatEndInOneNarrowElement) {
  if (isa::DetectedIsa() < isa::IsaLevel::kAvx2) GTEST_SKIP() << "needs AVX2";
  Tally tally;
  for (const RandomKernelSet& set : kir::testing::RandomKernelSets()) {
    RunOne(3510278, set.options, Generator::kLlvm, tally);
  }
}

class RandomKernels : public ::testing::TestWithParam<RandomKernelSet> {};
TEST_P(RandomKernels, AgreeWithTheEvaluator) { RunMany(GetParam().first_seed, GetParam().options, Generator::kOwn); }
// Values that have no register, and those that have one for a while.
TEST_P(RandomKernels, AgreeWithTheEvaluatorInFewRegisters) {
  RunMany(GetParam().first_seed + 500000, GetParam().options, Generator::kOwnInFewRegisters);
}
INSTANTIATE_TEST_SUITE_P(Sets, RandomKernels, ::testing::ValuesIn(kir::testing::RandomKernelSets()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tenon::emit_llvm
