#include "tenon/emit_llvm/emit.h"

#include <gtest/gtest.h>

#include <thread>

#include "tenon/emit_llvm/testing/kernels.h"
#include "tenon/emit_llvm/testing/run.h"
#include "tenon/kir/builder.h"

namespace tenon::emit_llvm {
namespace {

using kir::ReduceOrder;
using testing::CompareWithEvaluator;

/// The levels with FMA that this machine can run. kSse4 rounds differently where kFma occurs, and is asked for by name.
class PerIsa : public ::testing::TestWithParam<isa::IsaLevel> {
 protected:
  void SetUp() override {
    if (GetParam() > isa::DetectedIsa()) GTEST_SKIP() << "this machine lacks " << isa::IsaLevelName(GetParam());
  }
  void Expect(const kir::Kernel& kernel, const testing::RunOptions& options = {}) {
    EXPECT_EQ(CompareWithEvaluator(kernel, GetParam(), options), "") << kir::Print(kernel);
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, PerIsa, ::testing::ValuesIn(isa::kAllIsaLevels),
                         [](const auto& info) { return std::string(isa::IsaLevelName(info.param)); });

TEST_P(PerIsa, AddOfEveryLengthAndType) {
  for (DType type : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kS8, DType::kU16, DType::kS32,
                     DType::kU64, DType::kPred}) {
    const kir::Kernel kernel = testing::AddKernel(type);
    for (int64_t n : {0, 1, 2, 7, 15, 16, 17, 63, 64, 65, 129, 1000})
      Expect(kernel, {.params = {n}, .seed = static_cast<uint64_t>(n)});
    Expect(kernel, {.params = {1000}, .seed = 5, .indices_per_call = 37, .misalign_bytes = 8});
  }
}

TEST_P(PerIsa, RowSums) {
  for (DType type : {DType::kF32, DType::kF64, DType::kBF16, DType::kS32, DType::kS64, DType::kS8}) {
    for (ReduceOrder order : {ReduceOrder::kLanes, ReduceOrder::kSequential}) {
      const kir::Kernel kernel = testing::RowSumKernel(type, order);
      for (int64_t n : {0, 1, 15, 16, 63, 64, 65, 100, 128, 300})
        Expect(kernel, {.params = {5, n}, .seed = static_cast<uint64_t>(n)});
      Expect(kernel, {.params = {9, 77}, .indices_per_call = 2});
    }
  }
}

TEST_P(PerIsa, ColumnSums) {
  for (DType type : {DType::kF32, DType::kF64, DType::kS16}) {
    for (ReduceOrder order : {ReduceOrder::kLanes, ReduceOrder::kSequential}) {
      for (bool outer : {false, true}) {
        const kir::Kernel kernel = testing::ColumnSumKernel(type, order, outer);
        for (int64_t rows : {0, 1, 3, 70}) {
          for (int64_t cols : {1, 15, 16, 64, 100}) Expect(kernel, {.params = {rows, cols}});
        }
        Expect(kernel, {.params = {11, 77}, .indices_per_call = 20});
      }
    }
  }
}

TEST_P(PerIsa, ArgmaxRows) {
  for (DType index : {DType::kS32, DType::kS64}) {
    const kir::Kernel kernel = testing::ArgmaxKernel(index);
    for (int64_t n : {1, 16, 64, 65, 1000}) Expect(kernel, {.params = {4, n}, .seed = static_cast<uint64_t>(n)});
  }
}

TEST_P(PerIsa, Transposes) {
  for (DType type : {DType::kF32, DType::kF64, DType::kBF16, DType::kS8}) {
    for (bool bias : {false, true}) {
      const kir::Kernel kernel = testing::TransposeKernel(type, bias);
      for (int64_t rows : {1, 8, 16, 33, 130}) {
        for (int64_t cols : {1, 15, 16, 80}) Expect(kernel, {.params = {rows, cols}});
      }
      Expect(kernel, {.params = {50, 70}, .indices_per_call = 13});
    }
    for (int64_t cols : {5, 16, 45}) Expect(testing::QuarterTurnKernel(type, 30, cols), {});
  }
}

TEST_P(PerIsa, Loops) {
  for (int64_t n : {0, 1, 50}) {
    const testing::RunOptions small{.fill = [](kir::Buf, int64_t i, uint64_t* bits) {
      *bits = kir::LiteralBits(DType::kF32, 0.3 + 0.25 * static_cast<double>(i));
      return true;
    }};
    Expect(testing::LogisticKernel(n), small);
    Expect(testing::NewtonKernel(n), small);
    if (n > 0) Expect(testing::LorenzKernel(n), small);
  }
}

TEST(Emit, AssemblyUsesTheLevelsRegisters) {
  const kir::Kernel kernel = testing::AddKernel(DType::kF32);
  Result<std::string> wide = EmitAssembly(kernel, {.isa = isa::IsaLevel::kAvx512});
  Result<std::string> narrow = EmitAssembly(kernel, {.isa = isa::IsaLevel::kAvx2});
  Result<std::string> least = EmitAssembly(kernel, {.isa = isa::IsaLevel::kSse4});
  ASSERT_TRUE(wide.ok() && narrow.ok() && least.ok());
  EXPECT_NE(wide->find("%zmm"), std::string::npos);
  EXPECT_EQ(narrow->find("%zmm"), std::string::npos);
  EXPECT_NE(narrow->find("%ymm"), std::string::npos);
  EXPECT_EQ(least->find("%ymm"), std::string::npos);
  Result<std::string> text = EmitLlvmText(kernel, {.isa = isa::IsaLevel::kAvx512});
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("fadd <16 x float>"), std::string::npos);
}

TEST(Emit, EqualKernelsCompileOnce) {
  Shutdown();
  const kir::Kernel a = testing::AddKernel(DType::kF32);
  const kir::Kernel b = testing::AddKernel(DType::kF64);
  const kir::Kernel* all[] = {&a, &b, &a, &a};
  const CacheCounters before = Counters();
  auto first = CompileKernels(all, {.isa = isa::ActiveIsa()});
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(Counters().misses - before.misses, 2);
  EXPECT_EQ(Counters().hits - before.hits, 2);
  EXPECT_EQ((*first)[0], (*first)[2]);
  EXPECT_NE((*first)[0], (*first)[1]);
  auto again = CompileKernel(a, {.isa = isa::ActiveIsa()});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, (*first)[0]);
  EXPECT_EQ(Counters().misses - before.misses, 2);
  EXPECT_GT((*again)->code_bytes, 0);
  Shutdown();
  EXPECT_EQ(Counters().live, 0);
  EXPECT_EQ(testing::CompareWithEvaluator(a, isa::ActiveIsa(), {.params = {100}}), "");
}

TEST(Emit, ThreadsShareOneCompile) {
  Shutdown();
  const kir::Kernel kernel = testing::AddKernel(DType::kS32);
  const CacheCounters before = Counters();
  std::vector<std::shared_ptr<const CompiledKernel>> got(6);
  std::vector<std::thread> threads;
  for (auto& slot : got) {
    threads.emplace_back([&] {
      auto r = CompileKernel(kernel, {.isa = isa::ActiveIsa()});
      if (r.ok()) slot = *r;
    });
  }
  for (std::thread& t : threads) t.join();
  for (const auto& g : got) {
    ASSERT_NE(g, nullptr);
    EXPECT_EQ(g, got[0]);
  }
  EXPECT_EQ(Counters().misses - before.misses, 1);
}

TEST(Emit, WhatCannotBeEmittedIsAStatus) {
  const kir::Kernel bad = testing::AddKernel(DType::kF8E8M0FNU);
  const kir::Kernel good = testing::AddKernel(DType::kU8);
  auto r = CompileKernel(bad, {.isa = isa::ActiveIsa()});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().code(), Code::kUnimplemented);
  EXPECT_NE(r.status().message().find("f8e8m0fnu"), std::string::npos) << r.status().ToString();
  const kir::Kernel* both[] = {&good, &bad};
  EXPECT_FALSE(CompileKernels(both, {.isa = isa::ActiveIsa()}).ok());
  EXPECT_EQ(testing::CompareWithEvaluator(good, isa::ActiveIsa(), {.params = {100}}), "");
}

}  // namespace
}  // namespace tenon::emit_llvm
