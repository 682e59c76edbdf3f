// The kernel cache with code generators that fail, throw, or give much.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "tenon/emit_llvm/internal/kernel_cache.h"
#include "tenon/emit_llvm/policy.h"
#include "tenon/emit_llvm/testing/kernels.h"

namespace tenon::emit_llvm {
namespace {

using Compiled = KernelCache::Compiled;
constexpr isa::IsaLevel kLevel = isa::IsaLevel::kAvx2;
constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kS32, DType::kS64, DType::kU8, DType::kU16};

Hash128 TrueHash(const kir::Kernel& kernel) { return kir::Hash(kernel); }

/// Code of `bytes` bytes for each kernel.
KernelCache::Compile Fake(int64_t bytes) {
  return [bytes](std::span<const kir::Kernel* const> kernels, std::span<const Hash128> hashes, isa::IsaLevel) {
    std::vector<Result<Compiled>> results;
    for (size_t i = 0; i < kernels.size(); ++i) {
      auto made = std::make_shared<CompiledKernel>();
      made->hash = hashes[i];
      made->code_bytes = bytes;
      results.emplace_back(Compiled(std::move(made)));
    }
    return results;
  };
}

Result<Compiled> GetOne(KernelCache& cache, const kir::Kernel& kernel) {
  const kir::Kernel* const one[] = {&kernel};
  auto got = cache.Get(one, kLevel);
  if (!got.ok()) return got.status();
  return (*got)[0];
}

template <class Throw>
void ExpectSettled(Throw what, Code code, std::string_view words) {
  std::atomic<bool> fail = true;
  const KernelCache::Compile works = Fake(100);
  KernelCache cache(
      1 << 20,
      [&](std::span<const kir::Kernel* const> kernels, std::span<const Hash128> hashes, isa::IsaLevel isa) {
        if (fail) what();
        return works(kernels, hashes, isa);
      },
      TrueHash);
  // Several kernels at once, so that the pool's threads meet it as well; none of them may stay without a result.
  std::vector<kir::Kernel> kernels;
  for (const DType type : kTypes) kernels.push_back(testing::AddKernel(type));
  std::vector<const kir::Kernel*> all;
  for (const kir::Kernel& k : kernels) all.push_back(&k);
  auto got = cache.Get(all, kLevel);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), code);
  EXPECT_NE(got.status().message().find(words), std::string::npos) << got.status().ToString();
  EXPECT_EQ(cache.Counters().live, 0);
  fail = false;
  auto again = cache.Get(all, kLevel);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->size(), std::size(kTypes));
}

TEST(KernelCache, WhatThrowsSettles) {
  ExpectSettled([] { throw std::bad_alloc(); }, Code::kResourceExhausted, "memory");
  ExpectSettled([] { throw std::runtime_error("a fuse blew"); }, Code::kInternal, "a fuse blew");
  ExpectSettled([] { throw 7; }, Code::kInternal, "threw");
}

TEST(KernelCache, WhoWaitsForACompileThatThrowsIsTold) {
  std::atomic<bool> waiting = false;
  KernelCache cache(
      1 << 20,
      [&](std::span<const kir::Kernel* const>, std::span<const Hash128>,
          isa::IsaLevel) -> std::vector<Result<Compiled>> {
        while (!waiting) std::this_thread::yield();
        throw std::bad_alloc();
      },
      TrueHash);
  const kir::Kernel kernel = testing::AddKernel(DType::kF32);
  Status first;
  std::thread other([&] { first = GetOne(cache, kernel).status(); });
  while (cache.Counters().misses == 0) std::this_thread::yield();
  std::thread release([&] {
    while (cache.Counters().hits == 0) std::this_thread::yield();
    waiting = true;
  });
  EXPECT_EQ(GetOne(cache, kernel).status().code(), Code::kResourceExhausted);
  other.join();
  release.join();
  EXPECT_EQ(first.code(), Code::kResourceExhausted);
}

TEST(KernelCache, EqualHashesOfUnequalKernelsAreTwoEntries) {
  KernelCache cache(1 << 20, Fake(100), [](const kir::Kernel&) { return Hash128{1, 2}; });
  const kir::Kernel a = testing::AddKernel(DType::kF32);
  const kir::Kernel b = testing::AddKernel(DType::kF64);
  const auto first = GetOne(cache, a);
  const auto second = GetOne(cache, b);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(*first, *second);
  EXPECT_EQ(*GetOne(cache, a), *first);
  EXPECT_EQ(*GetOne(cache, b), *second);
  EXPECT_EQ(cache.Counters().misses, 2);
  EXPECT_EQ(cache.Counters().hits, 2);
}

TEST(KernelCache, TheBudgetIsKeptByForgettingWhatWasAskedForLongestAgo) {
  constexpr int64_t kCode = 100000;
  // Room for three, as a kernel itself takes some thousand bytes.
  KernelCache cache(3 * kCode + 60000, Fake(kCode), TrueHash);
  std::vector<kir::Kernel> kernels;
  for (const DType type : kTypes) kernels.push_back(testing::AddKernel(type));
  const Result<Compiled> kept = GetOne(cache, kernels[0]);
  for (int i : {1, 2, 0}) ASSERT_TRUE(GetOne(cache, kernels[static_cast<size_t>(i)]).ok());
  EXPECT_EQ(cache.Counters().evictions, 0);
  ASSERT_TRUE(GetOne(cache, kernels[3]).ok());  // 1 goes
  EXPECT_EQ(cache.Counters().evictions, 1);
  EXPECT_EQ(cache.Counters().live, 3);
  EXPECT_LE(cache.Counters().bytes, 3 * kCode + 60000);
  EXPECT_GE(cache.Counters().bytes, 3 * kCode);
  const int64_t misses = cache.Counters().misses;
  for (int i : {0, 2, 3}) ASSERT_TRUE(GetOne(cache, kernels[static_cast<size_t>(i)]).ok());
  EXPECT_EQ(cache.Counters().misses, misses);
  ASSERT_TRUE(GetOne(cache, kernels[1]).ok());
  EXPECT_EQ(cache.Counters().misses, misses + 1);
  EXPECT_EQ(cache.Counters().evictions, 2);
  // What somebody holds outlives its entry.
  cache.SetBudget(0);
  EXPECT_EQ(cache.Counters().live, 0);
  EXPECT_EQ(cache.Counters().bytes, 0);
  EXPECT_EQ((*kept)->code_bytes, kCode);
  // Nothing fits: it is compiled and given, not kept.
  ASSERT_TRUE(GetOne(cache, kernels[5]).ok());
  EXPECT_EQ(cache.Counters().live, 0);
}

TEST(KernelCache, AFailureIsNotKept) {
  int calls = 0;
  KernelCache cache(
      1 << 20,
      [&](std::span<const kir::Kernel* const>, std::span<const Hash128>, isa::IsaLevel) {
        ++calls;
        return std::vector<Result<Compiled>>{Unimplemented("no such thing")};
      },
      TrueHash);
  const kir::Kernel kernel = testing::AddKernel(DType::kF32);
  EXPECT_EQ(GetOne(cache, kernel).status().code(), Code::kUnimplemented);
  EXPECT_EQ(GetOne(cache, kernel).status().code(), Code::kUnimplemented);
  EXPECT_EQ(calls, 2);
}

TEST(KernelCache, TheProcessesOwnEvictsToo) {
  Shutdown();
  const CacheCounters before = Counters();
  SetCacheBudget(1);
  const kir::Kernel kernel = testing::AddKernel(DType::kS16);
  const auto code = CompileKernel(kernel, {.isa = isa::ActiveIsa()});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(Counters().evictions, before.evictions + 1);
  EXPECT_EQ(Counters().live, 0);
  int16_t x[3] = {1, 2, 3};
  int16_t y[3] = {10, 20, 30};
  int16_t sum[3] = {0, 0, 0};
  void* const buffers[] = {x, y, sum};
  const int64_t params[] = {3};
  (*code)->fn(buffers, params, 0, 3, nullptr);
  EXPECT_EQ(sum[2], 33);
  SetCacheBudget(policy::kCacheBytes);
}

}  // namespace
}  // namespace tenon::emit_llvm
