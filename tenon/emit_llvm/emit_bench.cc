// Compile time per kernel by phase, and how fast the code runs beside what memory allows.
#include <benchmark/benchmark.h>
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "tenon/emit_llvm/emit.h"
#include "tenon/emit_llvm/internal/compile.h"
#include "tenon/emit_llvm/testing/kernels.h"
#include "tenon/kir/math.h"

namespace tenon::emit_llvm {
namespace {

using kir::ReduceOrder;

float* Recycled(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(p, bytes, MADV_HUGEPAGE);
  auto* f = static_cast<float*>(p);
  for (size_t i = 0; i < bytes / 4; ++i) f[i] = static_cast<float>(i % 7) * 0.1f;
  return f;
}

void Compile(benchmark::State& state, const kir::Kernel& kernel) {
  const kir::Kernel* one[] = {&kernel};
  const Hash128 hash[] = {kir::Hash(kernel)};
  CompileTimes best{1e9, 1e9, 1e9};
  for (auto _ : state) {
    auto r = CompileModule(one, hash, isa::ActiveIsa());
    if (!r[0].ok()) return state.SkipWithError(r[0].status().ToString().c_str());
    const CompileTimes& t = (*r[0])->times;
    best = {std::min(best.emit_us, t.emit_us), std::min(best.codegen_us, t.codegen_us),
            std::min(best.load_us, t.load_us)};
    state.counters["code_bytes"] = static_cast<double>((*r[0])->code_bytes);
  }
  state.counters["emit_us"] = best.emit_us;
  state.counters["codegen_us"] = best.codegen_us;
  state.counters["load_us"] = best.load_us;
}

/// Runs over buffers of the given sizes on one thread; counts the bytes that must move.
void Run(benchmark::State& state, const kir::Kernel& kernel, const std::vector<int64_t>& params,
         const std::vector<size_t>& bytes) {
  auto compiled = CompileKernel(kernel, {.isa = isa::ActiveIsa()});
  if (!compiled.ok()) return state.SkipWithError(compiled.status().ToString().c_str());
  std::vector<void*> buffers;
  int64_t moved = 0;
  for (size_t n : bytes) {
    buffers.push_back(Recycled(std::max<size_t>(n, 64)));
    moved += static_cast<int64_t>(n);
  }
  std::vector<char> scratch(static_cast<size_t>(kir::LocalBytes(kernel, params.data())) + 128);
  void* local = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
  const int64_t total = kir::SplitTotal(kernel, params.data());
  const int64_t grain = kernel.split.grain.Value(params.data());
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040);
  for (auto _ : state) {
    for (int64_t begin = 0; begin < total; begin += grain) {
      (*compiled)->fn(buffers.data(), params.data(), begin, std::min(total, begin + grain), local);
    }
    benchmark::ClobberMemory();
  }
  _mm_setcsr(mode);
  state.SetBytesProcessed(state.iterations() * moved);
  for (size_t i = 0; i < buffers.size(); ++i) munmap(buffers[i], std::max<size_t>(bytes[i], 64));
}

void RegisterAll() {
  struct Row {
    const char* name;
    kir::Kernel kernel;
    std::vector<int64_t> params;
    std::vector<size_t> bytes;
  };
  constexpr size_t M = size_t{1} << 20;
  const bool math = kir::FindMath("tanh", DType::kF32).ok() && kir::FindMath("exponential", DType::kF32).ok();
  std::vector<Row> rows = {
      {"add_64K", testing::AddKernel(DType::kF32), {65536}, {256 << 10, 256 << 10, 256 << 10}},
      {"add_16M", testing::AddKernel(DType::kF32), {16 << 20}, {64 * M, 64 * M, 64 * M}},
      {"add_bf16_16M", testing::AddKernel(DType::kBF16), {16 << 20}, {32 * M, 32 * M, 32 * M}},
      {"row_sum_4096", testing::RowSumKernel(DType::kF32, ReduceOrder::kLanes), {4096, 4096}, {64 * M, 16384}},
      {"column_sum_4096",
       testing::ColumnSumKernel(DType::kF32, ReduceOrder::kSequential, false),
       {4096, 4096},
       {64 * M, 16384}},
      {"column_sum_outer_4096",
       testing::ColumnSumKernel(DType::kF32, ReduceOrder::kSequential, true),
       {4096, 4096},
       {64 * M, 16384}},
      {"column_sum_lanes_4096",
       testing::ColumnSumKernel(DType::kF32, ReduceOrder::kLanes, false),
       {4096, 4096},
       {64 * M, 16384}},
      {"argmax_4096x1024", testing::ArgmaxKernel(DType::kS32), {4096, 1024}, {16 * M, 16384, 16384}},
      {"transpose_4096", testing::TransposeKernel(DType::kF32, false), {4096, 4096}, {64 * M, 64 * M}},
      {"transpose_512", testing::TransposeKernel(DType::kF32, false), {512, 512}, {M, M}},
      {"logistic_100k", testing::LogisticKernel(100000), {}, {4, 4}},
      {"lorenz_10k", testing::LorenzKernel(10000), {}, {12, 120000}},
      {"newton_8x1000", testing::NewtonKernel(1000), {}, {32, 32}},
  };
  if (math) {
    rows.push_back({"chain_64K", testing::ChainKernel(), {65536}, {256 << 10, 256 << 10, 256 << 10}});
    rows.push_back({"chain_16M", testing::ChainKernel(), {16 << 20}, {64 * M, 64 * M, 64 * M}});
    rows.push_back({"softmax_2048", testing::SoftmaxKernel(), {2048, 2048}, {16 * M, 16 * M, 0}});
  }
  for (const Row& row : rows) {
    benchmark::RegisterBenchmark((std::string("compile/") + row.name).c_str(), [row](benchmark::State& s) {
      Compile(s, row.kernel);
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((std::string("run/") + row.name).c_str(), [row](benchmark::State& s) {
      Run(s, row.kernel, row.params, row.bytes);
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace tenon::emit_llvm

int main(int argc, char** argv) {
  tenon::emit_llvm::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
