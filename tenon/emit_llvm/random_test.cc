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
#include "tenon/kir/testing/random_kernel.h"

namespace tenon::emit_llvm {
namespace {

using kir::testing::Memory;
using kir::testing::RandomKernelOptions;
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

void Run(uint64_t seed, const RandomKernelOptions& options) {
  const Sample sample = kir::testing::RandomKernel(seed, options);
  Memory wanted = sample.memory;
  ASSERT_TRUE(kir::Evaluate(sample.kernel, wanted.Refs(), sample.params).ok()) << "seed " << seed;
  for (isa::IsaLevel level : {isa::IsaLevel::kAvx2, isa::IsaLevel::kAvx512}) {
    if (level > isa::DetectedIsa()) continue;
    const auto code = CompileKernel(sample.kernel, {level});
    if (!code.ok() && code.status().code() == Code::kUnimplemented) continue;
    ASSERT_TRUE(code.ok()) << "seed " << seed << ": " << code.status().ToString() << "\n" << kir::Print(sample.kernel);
    Memory got = sample.memory;
    Execute(**code, sample, got);
    const std::string difference = kir::testing::FirstDifference(sample.kernel, sample.params, got, wanted);
    ASSERT_EQ(difference, "") << "seed " << seed << " at " << isa::IsaLevelName(level) << ", params "
                              << ::testing::PrintToString(sample.params) << "\n"
                              << kir::Print(sample.kernel);
  }
}

void RunMany(uint64_t offset, const RandomKernelOptions& options) {
  if (isa::DetectedIsa() < isa::IsaLevel::kAvx2) GTEST_SKIP() << "needs AVX2";
  const uint64_t count = FromEnv("TENON_RANDOM_KERNELS", 150), first = FromEnv("TENON_RANDOM_SEED", 0);
  for (uint64_t i = 0; i < count; ++i) {
    Run(first + offset + i, options);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomKernels, UsualTypes) { RunMany(0, {}); }

TEST(RandomKernels, NarrowTypesAndComplexBuffers) {
  RandomKernelOptions options;
  options.types = {DType::kF32, DType::kBF16, DType::kF16, DType::kS8, DType::kU16, DType::kS32, DType::kPred};
  options.complex = true;
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
  RunMany(2000000, options);
}

}  // namespace
}  // namespace tenon::emit_llvm
