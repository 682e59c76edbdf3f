// Matrix products over the shapes that matter. TENON_NUM_THREADS and TENON_MAX_ISA choose threads and kernels.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdlib>
#include <vector>

#include "tenon/kernels/gemm/gemm.h"
#include "tenon/threads/topology.h"

namespace tenon::kernels {
namespace {

struct Block {
  explicit Block(int64_t floats) : count(floats) {
    const size_t bytes = (static_cast<size_t>(floats) * 4 + (2 << 20)) & ~size_t{(2 << 20) - 1};
    data = static_cast<float*>(std::aligned_alloc(2 << 20, bytes));
    madvise(data, bytes, MADV_HUGEPAGE);
    for (int64_t i = 0; i < floats; ++i) data[i] = static_cast<float>(i % 13) * 0.1f - 0.5f;
  }
  ~Block() { std::free(data); }
  int64_t count;
  float* data;
};

void BM_Gemm(benchmark::State& state, bool transpose_b) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2), batch = state.range(3);
  GemmSignature s = DenseGemm(DType::kF32, DType::kF32, DType::kF32, m, n, k);
  if (transpose_b) {
    s.b_row_stride = 1;
    s.b_col_stride = k;
  }
  s.batch[0] = {batch, m * k, k * n, m * n};
  Block a(batch * m * k), b(batch * k * n), c(batch * m * n);
  static const auto pool = *threads::AcquireProcessPool();
  for (auto _ : state) {
    benchmark::DoNotOptimize(Gemm(s, {a.data, b.data, c.data}, {}, *pool).ok());
  }
  const GemmCost cost = EstimateCost(s);
  state.counters["GF/s"] = benchmark::Counter(cost.flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = benchmark::Counter(cost.bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "n", "k", "batch"})->Unit(benchmark::kMicrosecond)->UseRealTime();
  for (int64_t n : {16, 32, 64, 128, 256, 512, 1024, 2048}) b->Args({n, n, n, 1});
  b->Args({128, 128, 128, 64})->Args({100000, 16, 32, 1})->Args({256, 3072, 768, 1});
  b->Args({4096, 1, 4096, 1})
      ->Args({1, 4096, 4096, 1})
      ->Args({1, 1024, 16384, 1})
      ->Args({1, 768, 3072, 1})
      ->Args({1, 5000, 200, 1})
      ->Args({1, 64, 64, 1})
      ->Args({64, 1, 64, 1})
      ->Args({1, 128, 128, 1})
      ->Args({128, 1, 128, 1})
      ->Args({1, 256, 256, 1})
      ->Args({256, 1, 256, 1})
      ->Args({512, 1, 512, 1})
      ->Args({8, 4096, 4096, 1})
      ->Args({4096, 8, 4096, 1});
}
BENCHMARK_CAPTURE(BM_Gemm, nn, false)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Gemm, nt, true)->Apply(Shapes);

}  // namespace
}  // namespace tenon::kernels

BENCHMARK_MAIN();
