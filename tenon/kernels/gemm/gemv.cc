// Products with a vector: limited by memory, so nothing is packed and every element of the matrix is read once.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tenon/kernels/gemm/internal/costs.h"
#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/problem.h"
#include "tenon/kernels/scratch/scratch.h"

namespace tenon::kernels::internal {
namespace {

// y = M x with M: [rows, k].
class Gemv {
 public:
  // A product with m == 1 is its transpose's y = B^T a.
  explicit Gemv(const Problem& p) : p_(p), s_(p.s), row_vector_(p.s.n != 1) {
    matrix_ = static_cast<const float*>(row_vector_ ? p.operands.b : p.operands.a);
    vector_ = static_cast<const float*>(row_vector_ ? p.operands.a : p.operands.b);
    rows_ = row_vector_ ? s_.n : s_.m;
    row_stride_ = row_vector_ ? s_.b_col_stride : s_.a_row_stride;
    k_stride_ = row_vector_ ? s_.b_row_stride : s_.a_col_stride;
    x_stride_ = row_vector_ ? s_.a_col_stride : s_.b_row_stride;
    y_stride_ = row_vector_ ? s_.c_col_stride : s_.c_row_stride;
  }

  Status Run() {
    if (goes_by_groups()) {
      RunGroups();
    } else {
      RunRows();
    }
    if (out_of_memory_.load(std::memory_order_relaxed)) {
      return ResourceExhausted("gemm: no memory for buffers: " + ToString(s_));
    }
    return OkStatus();
  }

 private:
  static constexpr double kBytesPerNs = 20;
  int64_t NsOf(double floats) const {
    return static_cast<int64_t>(4 * floats * static_cast<double>(s_.batch_count()) / kBytesPerNs);
  }
  double matrix_floats() const { return static_cast<double>(rows_) * static_cast<double>(s_.k); }

  void RunRows() {
    const int64_t task_rows = RowsPerTask(), back = rows_into_line();
    const int64_t tasks = CeilDiv(rows_ + back, task_rows);
    p_.pool->ParallelFor(tasks * s_.batch_count(), NsOf(matrix_floats()), [&](int64_t i) {
      const int64_t begin = i % tasks * task_rows - back, row0 = std::max<int64_t>(begin, 0);
      RunTask(i / tasks, row0, std::min(begin + task_rows, rows_) - row0);
    });
  }

  // By which adjacent rows begin after the start of a cache line, where they do for every one of their elements: loads
  // that two lines share take longer, and only the first rows need them. Not of matrices that one step goes through.
  int64_t rows_into_line() const {
    constexpr int64_t kLineBytes = 64, kBytes = sizeof(float);
    const auto apart = [](int64_t stride) { return stride * kBytes % kLineBytes != 0; };
    if (!adjacent_rows() || rows_ <= StepOfAdjacentRows() || apart(k_stride_)) return 0;
    for (const GemmBatchDim& dim : s_.batch) {
      if (dim.extent > 1 && apart(row_vector_ ? dim.b_stride : dim.a_stride)) return 0;
    }
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(matrix_) % kLineBytes) / kBytes;
  }

  // Of adjacent rows whose matrix comes from memory: long runs of it, and lanes that stay in L1. What the groups make
  // of them is put together when all are done.
  void RunGroups() {
    constexpr int64_t kMostRows = 8192, kLine = 16;
    const int64_t blocks = CeilDiv(rows_, kMostRows), block = CeilDiv(CeilDiv(rows_, blocks), kLine) * kLine;
    const int64_t apart = GemvLanesApart(rows_), batch_floats = kGemvGroups * apart;
    const Scratch all(static_cast<size_t>(s_.batch_count() * batch_floats) * sizeof(float));
    if (all.data() == nullptr) return out_of_memory_.store(true, std::memory_order_relaxed);
    p_.pool->ParallelFor(s_.batch_count() * blocks * kGemvGroups, NsOf(matrix_floats()), [&](int64_t i) {
      const int64_t group = i % kGemvGroups, r = i / kGemvGroups % blocks * block, batch = i / kGemvGroups / blocks;
      const BatchOffsets offsets = OffsetsOf(s_, batch);
      const int64_t rows = std::min(block, rows_ - r);
      const Scratch sums(static_cast<size_t>(kGemvGroupLanes * GemvLanesApart(rows)) * sizeof(float));
      Scratch gathered;
      const float* x = VectorOf(batch, offsets, gathered);
      if (x == nullptr || sums.data() == nullptr) return out_of_memory_.store(true, std::memory_order_relaxed);
      const float* const m = matrix_ + (row_vector_ ? offsets.b : offsets.a) + r;
      p_.kernel->dot_group(m, k_stride_, x, s_.k, static_cast<int>(group), static_cast<int>(rows), sums.floats());
      std::memcpy(all.floats() + batch * batch_floats + group * apart + r, sums.floats(),
                  static_cast<size_t>(rows) * sizeof(float));
    });
    if (out_of_memory_.load(std::memory_order_relaxed)) return;
    p_.pool->ParallelFor(s_.batch_count() * blocks, NsOf(static_cast<double>(batch_floats)), [&](int64_t i) {
      const int64_t batch = i / blocks, r = i % blocks * block, rows = std::min(block, rows_ - r);
      float* const out = static_cast<float*>(p_.operands.c) + OffsetsOf(s_, batch).c + r * y_stride_;
      p_.kernel->reduce_groups(all.floats() + batch * batch_floats + r, apart, rows, s_.accumulate, out, y_stride_);
      Finish(batch, r, rows, out);
    });
  }

  // k is never divided: the order of a sum must not depend on it.
  int64_t RowsPerTask() const {
    constexpr int64_t kTaskFloats = 64 << 10;
    const int64_t wanted = CeilDiv(kTaskFloats, s_.k);
    const int64_t unit = adjacent_rows() ? StepOfAdjacentRows() : 4;
    return std::min(rows_, CeilDiv(wanted, unit) * unit);
  }

  // Adjacent rows share cache lines and pages. From memory the longest runs come fastest; else more of them are there
  // for more threads. Their number is even.
  int64_t StepOfAdjacentRows() const {
    constexpr int64_t kLine = 16;
    const int64_t most = place() == Place::kFar ? kGemvAdjacentRows : kGemvAdjacentRows / 2;
    const int64_t pieces = 2 * CeilDiv(rows_, 2 * most);
    return std::max(CeilDiv(CeilDiv(rows_, pieces), kLine) * kLine, int64_t{kGemvAdjacentRows / 4});
  }

  int64_t matrix_bytes() const { return rows_ * s_.k * static_cast<int64_t>(sizeof(float)); }
  Place place() const {
    constexpr int64_t kCachedBytes = 16 << 20;
    const int64_t bytes = matrix_bytes() * s_.batch_count();
    return bytes <= kCloseBytes ? Place::kClose : bytes <= kCachedBytes ? Place::kCached : Place::kFar;
  }
  // Whether the tree is better gone through lane by lane: of a matrix that a core's caches hold, while lanes are short
  // or rows too few to go through all lanes of them at once.
  bool goes_by_lanes() const {
    constexpr int64_t kShortLane = 8, kFewRows = 16;
    return matrix_bytes() <= kCloseBytes && (s_.k <= kShortLane * kGemvLanes || rows_ <= kFewRows);
  }
  // Whether the lanes have enough products each, runs of the matrix are long enough, and the groups' sums are not many.
  bool goes_by_groups() const {
    constexpr int64_t kLeastProducts = 4, kLeastRows = 512, kMostSums = 8 << 20;
    return adjacent_rows() && place() == Place::kFar && s_.k >= kLeastProducts * kGemvLanes && rows_ >= kLeastRows &&
           s_.batch_count() * kGemvGroups * rows_ <= kMostSums;
  }
  bool adjacent_rows() const { return !matrix_hook() && row_stride_ == 1 && k_stride_ != 1; }
  const GemmHook& matrix_hook() const { return row_vector_ ? p_.hooks.pack_b : p_.hooks.pack_a; }
  const GemmHook& vector_hook() const { return row_vector_ ? p_.hooks.pack_a : p_.hooks.pack_b; }

  void RunTask(int64_t batch, int64_t row0, int64_t rows) {
    const BatchOffsets offsets = OffsetsOf(s_, batch);
    Scratch gathered;
    const float* x = VectorOf(batch, offsets, gathered);
    const int64_t step = adjacent_rows() ? StepOfAdjacentRows() : kGemvRows;
    const bool is_short = s_.k < kGemvLanes;
    const bool whole = !is_short && !matrix_hook() && k_stride_ == 1;
    const Scratch lanes(is_short || whole ? 0 : sizeof(float) * kGemvLanes * static_cast<size_t>(step));
    if (x == nullptr || (lanes.data() == nullptr && !is_short && !whole))
      return out_of_memory_.store(true, std::memory_order_relaxed);

    float* const y = static_cast<float*>(p_.operands.c) + offsets.c;
    const int64_t first = row0 == 0 ? step - rows_into_line() : step;
    for (int64_t r = row0, count64 = 0; r < row0 + rows; r += count64) {
      count64 = std::min(r == 0 ? first : step, row0 + rows - r);
      const int count = static_cast<int>(count64);
      float* const out = y + r * y_stride_;
      // With a hook there may be no matrix in memory.
      const float* const m =
          matrix_hook() ? nullptr : matrix_ + (row_vector_ ? offsets.b : offsets.a) + r * row_stride_;
      if (is_short) {
        if (!RunShort(batch, r, m, count, x, out)) return;
        continue;
      }
      if (whole) {
        p_.kernel->dot_whole(m, row_stride_, x, s_.k, count, place(), s_.accumulate, out, y_stride_);
        continue;
      }
      if (adjacent_rows() && goes_by_lanes()) {
        p_.kernel->dot_tree(m, k_stride_, x, s_.k, count, s_.accumulate, out, y_stride_);
        continue;
      }
      if (adjacent_rows()) {
        std::memset(lanes.data(), 0, static_cast<size_t>(kGemvLanes * GemvLanesApart(count)) * sizeof(float));
        p_.kernel->dot_cols(m, k_stride_, x, s_.k, count, place(), lanes.floats());
        p_.kernel->reduce_cols(lanes.floats(), count, s_.accumulate, out, y_stride_);
        continue;
      }
      std::memset(lanes.data(), 0, static_cast<size_t>(count) * kGemvLanes * sizeof(float));
      if (!RunStaged(batch, r, m, count, x, lanes.floats())) return;
      p_.kernel->reduce_rows(lanes.floats(), count, s_.accumulate, out, y_stride_);
    }
    Finish(batch, row0, rows, y + row0 * y_stride_);
  }

  void Finish(int64_t batch, int64_t row0, int64_t rows, float* first) {
    if (!p_.hooks.finish) return;
    if (row_vector_) {
      ShowTile(p_, p_.hooks.finish, {batch, 0, row0, 1, rows, first, s_.c_row_stride, s_.c_col_stride});
    } else {
      ShowTile(p_, p_.hooks.finish, {batch, row0, 0, rows, 1, first, s_.c_row_stride, s_.c_col_stride});
    }
  }

  // x with stride 1; null when there is no memory for a copy.
  const float* VectorOf(int64_t batch, const BatchOffsets& offsets, Scratch& gathered) {
    const float* const x = vector_hook() ? nullptr : vector_ + (row_vector_ ? offsets.a : offsets.b);
    if (!vector_hook() && (x_stride_ == 1 || s_.k == 1)) return x;
    gathered = Scratch(static_cast<size_t>(s_.k) * sizeof(float));
    float* const to = gathered.floats();
    if (to == nullptr) return nullptr;
    if (vector_hook()) {
      if (row_vector_) {
        ShowTile(p_, vector_hook(), {batch, 0, 0, 1, s_.k, to, s_.k, 1});
      } else {
        ShowTile(p_, vector_hook(), {batch, 0, 0, s_.k, 1, to, 1, 1});
      }
    } else {
      for (int64_t q = 0; q < s_.k; ++q) to[q] = x[q * x_stride_];
    }
    return to;
  }

  bool RunShort(int64_t batch, int64_t r, const float* m, int count, const float* x, float* out) {
    if (!matrix_hook()) {
      p_.kernel->dot_short(m, row_stride_, k_stride_, x, s_.k, count, s_.accumulate, out, y_stride_);
      return true;
    }
    const Scratch tile(sizeof(float) * static_cast<size_t>(count * s_.k));
    if (tile.data() == nullptr) {
      out_of_memory_.store(true, std::memory_order_relaxed);
      return false;
    }
    if (row_vector_) {
      ShowTile(p_, matrix_hook(), {batch, 0, r, s_.k, count, tile.data(), count, 1});
    } else {
      ShowTile(p_, matrix_hook(), {batch, r, 0, count, s_.k, tile.data(), s_.k, 1});
    }
    p_.kernel->dot_short(tile.floats(), row_vector_ ? 1 : s_.k, row_vector_ ? count : 1, x, s_.k, count, s_.accumulate,
                         out, y_stride_);
    return true;
  }

  // Rows [r, r + count) of a matrix that a hook makes, or whose rows and columns are both apart, piece by piece.
  bool RunStaged(int64_t batch, int64_t r, const float* m, int count, const float* x, float* lanes) {
    constexpr int64_t kDepth = 16 * kGemvLanes;
    const Scratch tile(sizeof(float) * kDepth * kGemvRows);
    if (tile.data() == nullptr) {
      out_of_memory_.store(true, std::memory_order_relaxed);
      return false;
    }
    Scratch turned;
    if (matrix_hook() && row_vector_) {
      turned = Scratch(sizeof(float) * kDepth * kGemvRows);
      if (turned.data() == nullptr) {
        out_of_memory_.store(true, std::memory_order_relaxed);
        return false;
      }
    }
    for (int64_t k = 0; k < s_.k; k += kDepth) {
      const int64_t depth = std::min(kDepth, s_.k - k);
      if (!matrix_hook()) {
        Gather(m + k * k_stride_, row_stride_, k_stride_, count, depth, tile.floats());
      } else if (row_vector_) {
        ShowTile(p_, matrix_hook(), {batch, k, r, depth, count, turned.data(), count, 1});
        Gather(turned.floats(), 1, count, count, depth, tile.floats());
      } else {
        ShowTile(p_, matrix_hook(), {batch, r, k, count, depth, tile.data(), depth, 1});
      }
      p_.kernel->dot_rows(tile.floats(), depth, x + k, depth, count, lanes);
    }
    return true;
  }

  static void Gather(const float* from, int64_t row_stride, int64_t k_stride, int rows, int64_t depth, float* to) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t q = 0; q < depth; ++q) to[i * depth + q] = from[i * row_stride + q * k_stride];
    }
  }

  const Problem& p_;
  const GemmSignature& s_;
  const bool row_vector_;
  const float* matrix_;
  const float* vector_;
  int64_t rows_, row_stride_, k_stride_, x_stride_, y_stride_;
  std::atomic<bool> out_of_memory_{false};
};

}  // namespace

Status RunGemv(const Problem& p) { return Gemv(p).Run(); }

}  // namespace tenon::kernels::internal
