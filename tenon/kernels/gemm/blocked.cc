// The packed, blocked product: strips of A in L1, blocks of B in L2, tiles of C in registers.

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tenon/isa/cache.h"
#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/problem.h"
#include "tenon/kernels/gemm/internal/scratch.h"

namespace tenon::kernels::internal {
namespace {

// Columns of a task, so that a strip of C, which `finish` gets, has at most 64 KiB.
constexpr int64_t kMaxTaskCols = 1024;
// Bytes of packed B that exist at once.
constexpr int64_t kMaxSharedBytes = int64_t{32} << 20;
// Rows of a copied strip lie this much further apart than they are long, so that they fall into different sets of L1.
constexpr int64_t kStripPad = 16;
constexpr int64_t kLineFloats = 16;
constexpr double kFlopsPerNs = 100;

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }
// `total` in equal pieces of at most `most`, each a multiple of `unit` but the last.
constexpr int64_t EvenPiece(int64_t total, int64_t most, int64_t unit) {
  most = std::max(most / unit * unit, unit);
  return std::min(RoundUp(CeilDiv(total, CeilDiv(total, most)), unit), RoundUp(total, unit));
}

enum class BPlace { kInPlace, kPrivate, kShared };

// How one product is cut. Follows from the signature, the kernel's tile and the caches alone.
struct Plan {
  int64_t kc = 0;              // Steps of k between visits to C.
  int64_t task_cols = 0;       // Multiple of nr.
  int64_t task_rows = 0;       // Multiple of mr.
  int64_t last_task_rows = 0;  // In the last block of columns: small, so that all threads end together.
  bool copy_a = false;
  bool stage_c = false;
  BPlace b_place = BPlace::kInPlace;
  double time_ns = 0;
};

// The kernel reads A in place when its strips then stay in L1 whatever their stride does to its sets.
bool NeedsCopyOfA(const Problem& p, int64_t kc) {
  if (p.hooks.pack_a) return true;
  const GemmSignature& s = p.s;
  const int64_t rows = std::min<int64_t>(p.kernel->mr, s.m);
  const int64_t budget = isa::Caches().l1_bytes * 3 / 4;
  const auto span = [&](int64_t rs, int64_t ks) { return ((rows - 1) * rs + (kc - 1) * ks + 1) * int64_t{sizeof(float)}; };
  const int64_t rs = std::abs(s.a_row_stride), ks = std::abs(s.a_col_stride);
  if (rs != 1 && ks != 1) return true;
  return rows > 1 && span(rs, ks) > budget;
}

bool CanReadBInPlace(const Problem& p) {
  const GemmSignature& s = p.s;
  if (p.hooks.pack_b || s.b_col_stride != 1) return false;
  // A panel must not touch more pages than the first-level TLB holds with room to spare.
  constexpr int64_t kPages = 48, kPageBytes = 4096;
  const int64_t row_bytes = std::abs(s.b_row_stride) * int64_t{sizeof(float)};
  return s.k * std::min(row_bytes, kPageBytes) <= kPages * kPageBytes;
}

Plan MakePlan(const Problem& p) {
  const GemmSignature& s = p.s;
  const int64_t mr = p.kernel->mr, nr = p.kernel->nr;
  const isa::CacheSizes& caches = isa::Caches();
  Plan plan;
  plan.kc = EvenPiece(s.k, std::clamp<int64_t>(caches.l1_bytes * 7 / 10 / (4 * mr), 64, 512), 8);
  plan.kc = std::min(plan.kc, s.k);
  plan.copy_a = NeedsCopyOfA(p, plan.kc);
  plan.stage_c = s.c_col_stride != 1;
  plan.task_cols = EvenPiece(s.n, std::clamp(caches.l2_bytes * 3 / 4 / (4 * plan.kc), 2 * nr, kMaxTaskCols), nr);

  const double batch = static_cast<double>(s.batch_count());
  const double matrix_ns = 2.0 * static_cast<double>(s.m) * static_cast<double>(RoundUp(s.n, nr / 2)) * static_cast<double>(s.k) / kFlopsPerNs;
  plan.time_ns = matrix_ns * batch;
  const double col_blocks = static_cast<double>(CeilDiv(s.n, plan.task_cols));
  const bool whole_rows = plan.time_ns < static_cast<double>(threads::kMinParallelNs) || s.m <= 4 * mr ||
                          (batch * col_blocks >= 32 && matrix_ns < 1e6);
  if (whole_rows) {
    plan.task_rows = plan.last_task_rows = RoundUp(s.m, mr);
  } else {
    const double strip_ns = 2.0 * static_cast<double>(mr * plan.task_cols) * static_cast<double>(s.k) / kFlopsPerNs;
    const double task_ns = std::clamp(plan.time_ns / 64, 20e3, 400e3);
    const int64_t strips = std::max<int64_t>(1, static_cast<int64_t>(task_ns / strip_ns));
    plan.task_rows = EvenPiece(s.m, strips * mr, mr);
    plan.last_task_rows = col_blocks > 1 ? EvenPiece(s.m, CeilDiv(strips, 4) * mr, mr) : plan.task_rows;
  }
  plan.b_place = CanReadBInPlace(p) ? BPlace::kInPlace : whole_rows ? BPlace::kPrivate : BPlace::kShared;
  return plan;
}

// Where the kernel finds B: element (q, j) of panel i, counted from `k0`, at base[i * panel_stride + q * k_stride + j].
struct BSource {
  const float* base;
  int64_t panel_stride;
  int64_t k_stride;
};

// A part of one matrix of the batch.
struct Part {
  int64_t batch;
  int64_t i0, i1, j0, j1, k0, k1;
};

class BlockedGemm {
 public:
  explicit BlockedGemm(const Problem& p) : p_(p), s_(p.s), plan_(MakePlan(p)), mr_(p.kernel->mr), nr_(p.kernel->nr) {}

  Status Run() {
    const int64_t batch = s_.batch_count();
    if (plan_.b_place != BPlace::kShared) {
      const Part whole{0, 0, s_.m, 0, s_.n, 0, s_.k};
      const int64_t tasks = NumTasks(whole);
      p_.pool->ParallelFor(batch * tasks, static_cast<int64_t>(plan_.time_ns), [&](int64_t i) {
        Part part = TaskOf(whole, i % tasks);
        part.batch = i / tasks;
        RunTask(part, {});
      });
    } else {
      for (int64_t i = 0; i < batch; ++i) RunShared(i);
    }
    if (out_of_memory_.load(std::memory_order_relaxed)) {
      return ResourceExhausted("gemm: no memory for packing buffers: " + ToString(s_));
    }
    return OkStatus();
  }

 private:
  // B packed for all threads: columns from j0 on, panel after panel.
  struct SharedB {
    const float* panels = nullptr;
    int64_t j0 = 0;
  };
  struct Buffers {
    float* strip = nullptr;
    float* staged = nullptr;
    float* packed = nullptr;
  };

  // --- Cutting

  int64_t NumTasks(const Part& whole) const {
    const int64_t col_blocks = CeilDiv(whole.j1 - whole.j0, plan_.task_cols), rows = whole.i1 - whole.i0;
    return (col_blocks - 1) * CeilDiv(rows, plan_.task_rows) + CeilDiv(rows, plan_.last_task_rows);
  }
  // Tasks that share a block of B follow each other.
  Part TaskOf(const Part& whole, int64_t index) const {
    const int64_t col_blocks = CeilDiv(whole.j1 - whole.j0, plan_.task_cols), rows = whole.i1 - whole.i0;
    const int64_t per_block = CeilDiv(rows, plan_.task_rows);
    const int64_t block = std::min(index / per_block, col_blocks - 1);
    const int64_t task_rows = block == col_blocks - 1 ? plan_.last_task_rows : plan_.task_rows;
    Part part = whole;
    part.i0 = whole.i0 + (index - block * per_block) * task_rows;
    part.i1 = std::min(part.i0 + task_rows, whole.i1);
    part.j0 = whole.j0 + block * plan_.task_cols;
    part.j1 = std::min(part.j0 + plan_.task_cols, whole.j1);
    return part;
  }

  // --- B packed once for all threads

  void RunShared(int64_t batch) {
    // All of k, unless that leaves no room for one block of columns.
    const int64_t most_k = std::max(kMaxSharedBytes / (4 * plan_.task_cols) / plan_.kc, int64_t{1}) * plan_.kc;
    const int64_t k_piece = std::min(s_.k, most_k);
    const int64_t n_piece = std::max(kMaxSharedBytes / (4 * k_piece) / plan_.task_cols, int64_t{1}) * plan_.task_cols;
    const Scratch packed(static_cast<size_t>(std::min(n_piece, RoundUp(s_.n, nr_)) * k_piece) * sizeof(float));
    if (packed.data() == nullptr) return SetOutOfMemory();
    const double share = plan_.time_ns / static_cast<double>(s_.batch_count() * CeilDiv(s_.n, n_piece) * CeilDiv(s_.k, k_piece));
    for (int64_t j0 = 0; j0 < s_.n; j0 += n_piece) {
      for (int64_t k0 = 0; k0 < s_.k; k0 += k_piece) {
        const Part part{batch, 0, s_.m, j0, std::min(j0 + n_piece, s_.n), k0, std::min(k0 + k_piece, s_.k)};
        PackShared(part, packed.floats());
        p_.pool->ParallelFor(NumTasks(part), static_cast<int64_t>(share),
                             [&](int64_t i) { RunTask(TaskOf(part, i), {packed.floats(), j0}); });
      }
    }
  }

  // Panel i of the part at dst + i * nr * (k1 - k0).
  void PackShared(const Part& part, float* dst) {
    constexpr int64_t kTaskFloats = 64 << 10;
    const int64_t depth = part.k1 - part.k0, panels = CeilDiv(part.j1 - part.j0, nr_);
    const int64_t per_task = std::clamp<int64_t>(kTaskFloats / (depth * nr_), 1, panels);
    const int64_t cost_ns = panels * nr_ * depth / 4;
    p_.pool->ParallelFor(CeilDiv(panels, per_task), cost_ns, [&](int64_t i) {
      const int64_t first = i * per_task;
      PackPanels(part, part.j0 + first * nr_, std::min(part.j1, part.j0 + (first + per_task) * nr_), part.k0, part.k1,
                 dst + first * nr_ * depth, depth * nr_);
    });
  }

  void PackPanels(const Part& part, int64_t j0, int64_t j1, int64_t k0, int64_t k1, float* dst, int64_t panel_stride) {
    if (p_.hooks.pack_b) return PackPanelsByHook(part, j0, j1, k0, k1, dst, panel_stride);
    const float* const b = static_cast<const float*>(p_.operands.b) + OffsetsOf(s_, part.batch).b;
    p_.kernel->pack_b(b + k0 * s_.b_row_stride + j0 * s_.b_col_stride, s_.b_row_stride, s_.b_col_stride, k1 - k0, j1 - j0, dst,
                      panel_stride);
  }

  void PackPanelsByHook(const Part& part, int64_t j0, int64_t j1, int64_t k0, int64_t k1, float* dst, int64_t panel_stride) {
    // The hook writes rows of its own operand: of B, or of B^T when the product is swapped.
    constexpr int64_t kDepth = 256;
    const Scratch tile(static_cast<size_t>(kDepth * nr_) * sizeof(float));
    if (tile.data() == nullptr) return SetOutOfMemory();
    for (int64_t j = j0; j < j1; j += nr_, dst += panel_stride) {
      const int64_t cols = std::min(nr_, j1 - j);
      for (int64_t k = k0; k < k1; k += kDepth) {
        const int64_t depth = std::min(kDepth, k1 - k);
        const int64_t k_stride = p_.swapped ? 1 : cols, col_stride = p_.swapped ? depth : 1;
        ShowTile(p_, p_.hooks.pack_b, {part.batch, k, j, depth, cols, tile.data(), k_stride, col_stride});
        p_.kernel->pack_b(tile.floats(), k_stride, col_stride, depth, cols, dst + (k - k0) * nr_, panel_stride);
      }
    }
  }

  // --- One task

  void RunTask(const Part& part, const SharedB& shared) {
    const int64_t cols = part.j1 - part.j0;
    const int64_t strip_floats = plan_.copy_a ? RoundUp(std::max(mr_ * (plan_.kc + kStripPad), mr_), 16) : 0;
    const int64_t staged_floats = plan_.stage_c ? mr_ * RoundUp(cols, 16) : 0;
    const int64_t packed_floats = plan_.b_place == BPlace::kPrivate ? RoundUp(cols, nr_) * plan_.kc : 0;
    const int64_t total = strip_floats + staged_floats + packed_floats;
    const Scratch scratch(static_cast<size_t>(total) * sizeof(float));
    if (total != 0 && scratch.data() == nullptr) return SetOutOfMemory();
    Buffers buffers;
    if (total != 0) {
      buffers.strip = scratch.floats();
      buffers.staged = buffers.strip + strip_floats;
      buffers.packed = buffers.staged + staged_floats;
    }

    const BatchOffsets offsets = OffsetsOf(s_, part.batch);
    for (int64_t k = part.k0; k < part.k1; k += plan_.kc) {
      const int64_t depth = std::min(plan_.kc, part.k1 - k);
      const BSource b = SourceOfB(part, offsets, k, depth, shared, buffers);
      for (int64_t i = part.i0; i < part.i1; i += mr_) {
        RunStrip(part, offsets, i, std::min(mr_, part.i1 - i), k, depth, b, buffers);
      }
    }
  }

  BSource SourceOfB(const Part& part, const BatchOffsets& offsets, int64_t k, int64_t depth, const SharedB& shared,
                    const Buffers& buffers) {
    switch (plan_.b_place) {
      case BPlace::kInPlace:
        return {static_cast<const float*>(p_.operands.b) + offsets.b + k * s_.b_row_stride + part.j0, nr_, s_.b_row_stride};
      case BPlace::kPrivate:
        PackPanels(part, part.j0, part.j1, k, k + depth, buffers.packed, depth * nr_);
        return {buffers.packed, depth * nr_, nr_};
      case BPlace::kShared:
        break;
    }
    const int64_t all = part.k1 - part.k0;
    return {shared.panels + (part.j0 - shared.j0) * all + (k - part.k0) * nr_, all * nr_, nr_};
  }

  void RunStrip(const Part& part, const BatchOffsets& offsets, int64_t i, int64_t rows, int64_t k, int64_t depth, const BSource& b,
                const Buffers& buffers) {
    MicroTile tile{};
    if (plan_.copy_a) {
      CopyStrip(part.batch, offsets, i, rows, k, depth, buffers.strip, tile);
    } else {
      tile.a = static_cast<const float*>(p_.operands.a) + offsets.a + i * s_.a_row_stride + k * s_.a_col_stride;
      tile.a_row_stride = s_.a_row_stride;
      tile.a_k_stride = s_.a_col_stride;
    }
    const int64_t cols = part.j1 - part.j0;
    float* const c = static_cast<float*>(p_.operands.c) + offsets.c + i * s_.c_row_stride + part.j0 * s_.c_col_stride;
    tile.k = depth;
    tile.load_c = s_.accumulate || k > 0;
    tile.b_k_stride = b.k_stride;
    tile.c_row_stride = plan_.stage_c ? RoundUp(cols, 16) : s_.c_row_stride;
    float* const target = plan_.stage_c ? buffers.staged : c;
    if (plan_.stage_c && tile.load_c) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < cols; ++j) target[r * tile.c_row_stride + j] = c[r * s_.c_row_stride + j * s_.c_col_stride];
      }
    }
    const float* panel = b.base;
    const NextStrip next = NextStripOf(part, offsets, i, k, depth, CeilDiv(cols, nr_));
    for (int64_t j = 0; j < cols; j += nr_, panel += b.panel_stride) {
      next.Prefetch(j / nr_);
      if (j + nr_ < cols) PrefetchTile(target + j + nr_, tile.c_row_stride, rows);
      tile.b = panel;
      tile.c = target + j;
      p_.kernel->micro(tile, static_cast<int>(rows), static_cast<int>(std::min(nr_, cols - j)));
    }
    if (plan_.stage_c) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < cols; ++j) c[r * s_.c_row_stride + j * s_.c_col_stride] = target[r * tile.c_row_stride + j];
      }
    }
    if (p_.hooks.finish && k + depth == s_.k) {
      ShowTile(p_, p_.hooks.finish, {part.batch, i, part.j0, rows, cols, c, s_.c_row_stride, s_.c_col_stride});
    }
  }

  // The strip of A that will be copied after this one, fetched piece by piece while this one is multiplied.
  struct NextStrip {
    const float* a = nullptr;
    int64_t row_stride = 0, lines_per_row = 0, lines = 0, lines_per_call = 0;
    void Prefetch(int64_t call) const {
      const int64_t end = std::min(lines, (call + 1) * lines_per_call);
      for (int64_t line = call * lines_per_call; line < end; ++line) {
        __builtin_prefetch(a + line / lines_per_row * row_stride + line % lines_per_row * kLineFloats, 0, 2);
      }
    }
  };
  NextStrip NextStripOf(const Part& part, const BatchOffsets& offsets, int64_t i, int64_t k, int64_t depth, int64_t calls) const {
    if (!plan_.copy_a || p_.hooks.pack_a || s_.a_col_stride != 1 || i + mr_ >= part.i1) return {};
    NextStrip next;
    next.a = static_cast<const float*>(p_.operands.a) + offsets.a + (i + mr_) * s_.a_row_stride + k;
    next.row_stride = s_.a_row_stride;
    next.lines_per_row = CeilDiv(depth, kLineFloats);
    next.lines = next.lines_per_row * std::min(mr_, part.i1 - i - mr_);
    next.lines_per_call = CeilDiv(next.lines, calls);
    return next;
  }
  void PrefetchTile(const float* c, int64_t row_stride, int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < nr_; j += kLineFloats) __builtin_prefetch(c + r * row_stride + j, 1, 3);
    }
  }

  // Brings `rows` rows of A, `depth` long, together; the layout is whichever needs no transposition.
  void CopyStrip(int64_t batch, const BatchOffsets& offsets, int64_t i, int64_t rows, int64_t k, int64_t depth, float* strip,
                 MicroTile& tile) {
    const bool k_adjacent = p_.hooks.pack_a ? !p_.swapped : s_.a_col_stride == 1 || s_.a_row_stride != 1;
    tile.a = strip;
    tile.a_row_stride = k_adjacent ? depth + kStripPad : 1;
    tile.a_k_stride = k_adjacent ? 1 : mr_;
    if (p_.hooks.pack_a) {
      ShowTile(p_, p_.hooks.pack_a, {batch, i, k, rows, depth, strip, tile.a_row_stride, tile.a_k_stride});
      return;
    }
    const float* const a = static_cast<const float*>(p_.operands.a) + offsets.a + i * s_.a_row_stride + k * s_.a_col_stride;
    if (!k_adjacent) {
      for (int64_t q = 0; q < depth; ++q) {
        std::memcpy(strip + q * mr_, a + q * s_.a_col_stride, static_cast<size_t>(rows) * sizeof(float));
      }
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const float* const row = a + r * s_.a_row_stride;
      float* const to = strip + r * tile.a_row_stride;
      if (s_.a_col_stride == 1) {
        std::memcpy(to, row, static_cast<size_t>(depth) * sizeof(float));
      } else {
        for (int64_t q = 0; q < depth; ++q) to[q] = row[q * s_.a_col_stride];
      }
    }
  }

  void SetOutOfMemory() { out_of_memory_.store(true, std::memory_order_relaxed); }

  const Problem& p_;
  const GemmSignature& s_;
  const Plan plan_;
  const int64_t mr_, nr_;
  std::atomic<bool> out_of_memory_{false};
};

}  // namespace

Status RunBlocked(const Problem& p) { return BlockedGemm(p).Run(); }

}  // namespace tenon::kernels::internal
