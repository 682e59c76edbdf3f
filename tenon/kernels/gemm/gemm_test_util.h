#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tenon/isa/isa.h"
#include "tenon/kernels/gemm/gemm.h"
#include "tenon/threads/pool.h"

// Operands with their own strides, and the oracle: the sums as signature.h words them, one std::fma after another.
namespace tenon::kernels::testing_util {

enum class Layout { kRows, kCols, kPaddedRows, kPaddedCols, kScattered, kReversed };
inline constexpr Layout kAllLayouts[] = {Layout::kRows,       Layout::kCols,      Layout::kPaddedRows,
                                         Layout::kPaddedCols, Layout::kScattered, Layout::kReversed};

/// A [rows, cols] matrix per batch in a buffer that holds nothing else but `filler`.
class Matrix {
 public:
  Matrix(int64_t batch, int64_t rows, int64_t cols, Layout layout, float filler) : rows_(rows), cols_(cols) {
    const int64_t pad = layout == Layout::kPaddedRows || layout == Layout::kPaddedCols ? 5 : 0;
    if (layout == Layout::kCols || layout == Layout::kPaddedCols) {
      row_stride = 1;
      col_stride = rows + pad;
    } else if (layout == Layout::kScattered) {
      col_stride = 2;
      row_stride = 2 * cols + 3;
    } else {
      col_stride = 1;
      row_stride = cols + pad;
    }
    batch_stride = rows == 0 || cols == 0 ? 0 : (rows - 1) * row_stride + (cols - 1) * col_stride + 1 + 2 * pad;
    data_.assign(static_cast<size_t>(batch * batch_stride), filler);
    if (layout == Layout::kReversed) {
      origin_ = rows == 0 ? 0 : (rows - 1) * row_stride;
      row_stride = -row_stride;
    }
  }
  float* data() { return data_.data() + origin_; }
  float& at(int64_t b, int64_t r, int64_t c) { return data()[b * batch_stride + r * row_stride + c * col_stride]; }
  void Fill(uint32_t seed, int64_t batch) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t r = 0; r < rows_; ++r)
        for (int64_t c = 0; c < cols_; ++c) {
          seed = seed * 1664525u + 1013904223u;
          at(b, r, c) = static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f;
        }
  }
  const std::vector<float>& storage() const { return data_; }

  int64_t row_stride = 0, col_stride = 0, batch_stride = 0;

 private:
  int64_t rows_, cols_, origin_ = 0;
  std::vector<float> data_;
};

struct Case {
  int64_t m, n, k;
  Layout a = Layout::kRows, b = Layout::kRows, c = Layout::kRows;
  int64_t batch = 1;
  bool accumulate = false;
};

inline std::string ToText(const Case& t) {
  return "m=" + std::to_string(t.m) + " n=" + std::to_string(t.n) + " k=" + std::to_string(t.k) + " layouts " +
         std::to_string(static_cast<int>(t.a)) + std::to_string(static_cast<int>(t.b)) +
         std::to_string(static_cast<int>(t.c)) + " batch=" + std::to_string(t.batch) +
         (t.accumulate ? " accumulate" : "");
}

struct Operands {
  explicit Operands(const Case& t)
      : a(t.batch, t.m, t.k, t.a, std::numeric_limits<float>::quiet_NaN()),
        b(t.batch, t.k, t.n, t.b, std::numeric_limits<float>::quiet_NaN()),
        c(t.batch, t.m, t.n, t.c, 12345.0f) {
    a.Fill(1, t.batch);
    b.Fill(2, t.batch);
    if (t.accumulate) c.Fill(3, t.batch);
    s.m = t.m;
    s.n = t.n;
    s.k = t.k;
    s.a_row_stride = a.row_stride;
    s.a_col_stride = a.col_stride;
    s.b_row_stride = b.row_stride;
    s.b_col_stride = b.col_stride;
    s.c_row_stride = c.row_stride;
    s.c_col_stride = c.col_stride;
    s.batch[1] = {t.batch, a.batch_stride, b.batch_stride, c.batch_stride};
    s.accumulate = t.accumulate;
  }
  Matrix a, b, c;
  GemmSignature s;
};

inline float ChainSum(Operands& o, int64_t batch, int64_t i, int64_t j, float start) {
  float acc = start;
  for (int64_t p = 0; p < o.s.k; ++p) acc = std::fma(o.a.at(batch, i, p), o.b.at(batch, p, j), acc);
  return acc;
}

inline float LanesSum(Operands& o, int64_t batch, int64_t i, int64_t j, float start) {
  float lane[64] = {};
  for (int64_t p = 0; p < o.s.k; ++p) lane[p % 64] = std::fma(o.a.at(batch, i, p), o.b.at(batch, p, j), lane[p % 64]);
  for (int half = 32; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] = lane[l] + lane[l + half];
  }
  return o.s.accumulate ? start + lane[0] : lane[0];
}

/// What C must hold, element by element, in the storage order of `o.c`.
inline std::vector<float> Expected(Operands& o) {
  Matrix c = o.c;
  const bool lanes = (o.s.m == 1 || o.s.n == 1) && o.s.k >= 64;
  for (int64_t batch = 0; batch < o.s.batch_count(); ++batch)
    for (int64_t i = 0; i < o.s.m; ++i)
      for (int64_t j = 0; j < o.s.n; ++j) {
        const float start = o.s.accumulate ? c.at(batch, i, j) : 0.0f;
        c.at(batch, i, j) = o.s.k == 0 ? start
                            : lanes    ? LanesSum(o, batch, i, j, start)
                                       : ChainSum(o, batch, i, j, start);
      }
  return c.storage();
}

inline std::vector<isa::IsaLevel> Levels() {
  std::vector<isa::IsaLevel> levels;
  for (isa::IsaLevel level : isa::kAllIsaLevels) {
    if (level <= isa::DetectedIsa()) levels.push_back(level);
  }
  return levels;
}

inline threads::ThreadPool& PoolOf(int threads) {
  static auto* const pools = new std::vector<std::unique_ptr<threads::ThreadPool>>(65);
  auto& pool = (*pools)[static_cast<size_t>(threads)];
  if (pool == nullptr) pool = *threads::ThreadPool::Create(threads);
  return *pool;
}

}  // namespace tenon::kernels::testing_util
