// The packed, blocked product: strips of A in L1, blocks of B in L2, tiles of C in registers. A and B are counted in
// steps here, each one element or several neighbours along k, as the kernel wants them; a step and a sum of C are `w_`
// words each.

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tenon/isa/cache.h"
#include "tenon/kernels/gemm/internal/costs.h"
#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/problem.h"
#include "tenon/kernels/scratch/scratch.h"

namespace tenon::kernels::internal {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kLineWords = kLineBytes / 4;
// Columns of a task, so that a strip of C, which `finish` gets, has at most 64 KiB.
constexpr int64_t kMaxTaskCols = 1024;
// Of a B that few rows are multiplied with: tasks take so much of it, panel after panel, that each of its columns is
// read from end to end.
constexpr int64_t kPanelTaskBytes = 256 << 10;
// Bytes of packed B that exist at once.
constexpr int64_t kMaxSharedBytes = int64_t{32} << 20;
// Rows of a copied strip lie this much further apart than they are long, so that they fall into different sets of L1.
constexpr int64_t kStripPad = kLineWords;
constexpr double kFlopsPerNs = 100;
// From beyond L2, for one core.
constexpr double kStreamedBytesPerNs = 40;
// Tasks of all rows are cut down to about this long, into about so many.
constexpr double kShortTaskNs = 2e3;
constexpr double kShortTasks = 8;

// Rows of any kernel that takes a placed A.
constexpr int64_t kMaxPlacedRows = 16;

// Columns for which a strip of A is copied, where there are more, and tasks that are enough for any machine.
constexpr int64_t kSlabCols = 256;
constexpr int64_t kManyTasks = 64;

// Lines of A and C are fetched so many steps before they are used, which is about what memory takes. Strips of fewer
// steps than the least follow each other so closely in memory that the hardware does it better.
constexpr int64_t kFetchedAhead = 64, kLeastFetched = 20;

constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }
// `total` in equal pieces of at most `most`, each a multiple of `unit` but the last.
constexpr int64_t EvenPiece(int64_t total, int64_t most, int64_t unit) {
  most = std::max(most / unit * unit, unit);
  return std::min(RoundUp(CeilDiv(total, CeilDiv(total, most)), unit), RoundUp(total, unit));
}

// Few rows: reading B once, as it lies, costs less than packing it. Neighbouring panels take the next lines of a
// block's rows, whose pages stay in the TLB until then. Blocks of 16 to 64 rows take up to 1.5 times as long, and all
// of a deep k up to twice.
constexpr int64_t kFewStrips = 2;
constexpr int64_t kStreamedDepth = 128;
// A store to two lines of memory costs about as much as so many such loads.
constexpr int64_t kLoadsOfStore = 3;
bool StreamsB(const Settled& p) {
  return !p.hooked.b_places && p.s.m <= kFewStrips * p.kernel->mr && p.kernel->in_place && !p.hooked.pack_b &&
         p.s.b_col_stride == 1;
}

// A is read in place when its strips then stay in L1 whatever their stride does to its sets.
bool NeedsCopyOfA(const Settled& p, int64_t kc) {
  if (p.hooked.a_places) return false;
  if (p.hooked.pack_a || !p.kernel->in_place) return true;
  const GemmSignature& s = p.s;
  const int64_t rows = std::min<int64_t>(p.kernel->mr, s.m);
  const int64_t rs = std::abs(s.a_row_stride), ks = std::abs(s.a_col_stride);
  if (rs != 1 && ks != 1) return true;
  const int64_t span_bytes = ((rows - 1) * rs + (kc - 1) * ks + 1) * ByteWidth(s.a_type);
  return rows > 1 && span_bytes > isa::Caches().l1_bytes * 3 / 4;
}

// Columns of a tile of a B that is read in place: more than nr where C has few rows.
int64_t WideCols(const Settled& p) {
  const GemmKernel& kernel = *p.kernel;
  if (kernel.wide_cols == nullptr || p.s.m > kernel.mr || p.hooked.a_places) return kernel.nr;
  return kernel.wide_cols(static_cast<int>(p.s.m));
}

bool CanReadBInPlace(const Settled& p) {
  const GemmSignature& s = p.s;
  if (p.hooked.b_places) return true;
  if (p.hooked.pack_b || !p.kernel->in_place || s.b_col_stride != 1) return false;
  // A panel must not touch more pages than the first-level TLB holds with room to spare.
  constexpr int64_t kPages = 48, kPageBytes = 4096;
  const int64_t row_bytes = std::abs(s.b_row_stride) * ByteWidth(s.b_type);
  return s.k * std::min(row_bytes, kPageBytes) <= kPages * kPageBytes;
}

// Tasks that follow each other share the columns of B: what all of k makes of them stays in L2, or, where k is deep, as
// much of k as leaves enough columns for a strip of A to be worth copying, and C is visited once for each such piece.
void CutSlab(const Settled& p, Cut& cut) {
  const GemmSignature& s = p.s;
  const GemmKernel& kernel = *p.kernel;
  const int64_t slab_steps = isa::Caches().l2_bytes * 6 / 10 / (4 * kernel.sum_words), steps = StepsOf(kernel, s.k);
  const int64_t least_cols = std::min<int64_t>(kSlabCols * 3 / 4, s.n);
  if (steps * least_cols <= slab_steps) {
    cut.task_cols = EvenPiece(s.n, std::min(slab_steps / steps, kMaxTaskCols / kernel.sum_words), kernel.nr);
  } else if (s.c_type == kernel.sum_type) {
    const int64_t cols = std::min(kSlabCols, s.n);
    cut.task_cols = EvenPiece(s.n, cols, kernel.nr);
    cut.k_piece = EvenPiece(s.k, slab_steps / cols * kernel.k_unit / kernel.unit_steps, cut.kc);
  }
}

// What Passes counts in: multiplications of whole vectors, one of which a core begins per cycle.
// Steps of a chain of sums, which wait for one another.
constexpr double kChainPasses = 4;
// To bring an element to where a tile reads it: from neighbours along the panel, from neighbours along k, and from
// further apart; and one of C that is no neighbour.
constexpr double kMovePasses = 0.12, kTurnPasses = 0.3, kGatherPasses = 1.5, kStagePasses = 1.5;

// Vectors of one step's `cols` columns of C, and how often a core takes so long for its sums that others must wait.
double PanelPasses(const GemmKernel& kernel, int64_t rows, int64_t cols) {
  const int64_t lanes = kernel.nr / 2;
  const bool half = kernel.has_half && cols <= lanes / 2;
  const double vectors = half ? kHalfPass : cols <= lanes ? 1 : 2;
  return std::max(static_cast<double>(rows) * vectors, kChainPasses);
}

double MovePasses(const GemmKernel& kernel, int64_t along_panel, int64_t along_k) {
  if (along_panel == 1) return kMovePasses;
  return along_k == 1 && kernel.in_place ? kTurnPasses : kGatherPasses;
}

}  // namespace

std::vector<int64_t> LinesOf(const Settled& p) {
  if (!p.hooked.a_places) return {};
  int64_t last = 0;
  for (const GemmPlaces::Axis& axis : p.hooked.a_places->axes) last += (axis.extent - 1) * axis.stride;
  // Rows lie too far apart for the hardware to see what comes next.
  if (last * 4 * p.kernel->sum_words < isa::Caches().l2_bytes) return {};
  std::vector<int64_t> lines;
  for (int64_t words : p.depth) {
    if (lines.empty() || std::abs(words - lines.back()) >= kLineWords) lines.push_back(words);
  }
  return lines;
}

double PassesOf(const Settled& p) {
  const GemmSignature& s = p.s;
  const GemmKernel& kernel = *p.kernel;
  const double k = static_cast<double>(s.k), a = static_cast<double>(s.m) * k, b = static_cast<double>(s.n) * k;
  const auto strip = [&](int64_t rows) {
    const int64_t panels = s.n / kernel.nr, rest = s.n % kernel.nr;
    return static_cast<double>(panels) * PanelPasses(kernel, rows, kernel.nr) +
           (rest == 0 ? 0 : PanelPasses(kernel, rows, rest));
  };
  const int64_t strips = s.m / kernel.mr, rest = s.m % kernel.mr;
  const double steps = static_cast<double>(StepsOf(kernel, s.k));
  double passes = steps * (static_cast<double>(strips) * strip(kernel.mr) + (rest == 0 ? 0 : strip(rest)));
  if (NeedsCopyOfA(p, s.k)) passes += a * (s.a_col_stride == 1 ? kMovePasses : MovePasses(kernel, s.a_row_stride, 0));
  if (!CanReadBInPlace(p) && !StreamsB(p)) passes += b * MovePasses(kernel, s.b_col_stride, s.b_row_stride);
  if (s.c_col_stride != 1) passes += static_cast<double>(s.m) * static_cast<double>(s.n) * kStagePasses;
  return passes;
}

int64_t StepsOf(const GemmKernel& kernel, int64_t k) {
  const int64_t rest = k % kernel.k_unit;
  if (kernel.half_steps == 0 || rest == 0) return CeilDiv(k, kernel.k_unit) * kernel.unit_steps;
  const int64_t even_steps = (rest + 1) / 2 * kernel.half_steps * 2 / kernel.k_unit;
  return k / kernel.k_unit * kernel.unit_steps + 2 * std::min<int64_t>(kernel.half_steps, even_steps + 1);
}

Cut CutOf(const Settled& p) {
  const GemmSignature& s = p.s;
  const GemmKernel& kernel = *p.kernel;
  const int64_t mr = kernel.mr, nr = kernel.nr;
  const isa::CacheSizes& caches = isa::Caches();
  const int64_t step_bytes = 4 * kernel.sum_words;
  const auto k_of_steps = [&](int64_t steps) { return steps * kernel.k_unit / kernel.unit_steps; };
  Cut cut;
  cut.wide_cols = nr;
  // A strip of A lies in L1 beside what streams by: the faster that is, the more of it is under way.
  const int64_t strip_bytes = caches.l1_bytes * (kernel.step_rate > 1 ? 4 : 7) / 10;
  cut.kc = EvenPiece(s.k, k_of_steps(std::clamp<int64_t>(strip_bytes / (step_bytes * mr), 64, 512)),
                     std::max(8, kernel.k_unit));
  const bool in_place = CanReadBInPlace(p), streams = StreamsB(p) && !in_place;
  if (in_place || streams) cut.wide_cols = WideCols(p);
  if (streams) cut.kc = EvenPiece(s.k, kStreamedDepth, 8);
  cut.kc = std::min(cut.kc, s.k);
  cut.k_piece = s.k;
  cut.ahead = (in_place || streams) && !p.hooked.b_places && s.k * s.n * step_bytes > caches.l2_bytes;
  cut.copy_a = NeedsCopyOfA(p, cut.kc);
  cut.stage_c = s.c_col_stride != 1 || s.c_type != kernel.sum_type;
  cut.task_cols = EvenPiece(s.n,
                            std::clamp(caches.l2_bytes * 3 / 4 / (step_bytes * StepsOf(kernel, cut.kc)), 2 * nr,
                                       kMaxTaskCols / kernel.sum_words),
                            cut.wide_cols);

  const double batch = static_cast<double>(s.batch_count());
  const double k_words = static_cast<double>(StepsOf(kernel, s.k) * kernel.sum_words);
  const double flops_per_ns = kFlopsPerNs * kernel.step_rate;
  double matrix_ns =
      2.0 * static_cast<double>(s.m) * static_cast<double>(RoundUp(s.n, nr / 2)) * k_words / flops_per_ns;
  // Few rows wait for B, unless its places are the same ones again and again.
  if ((in_place || streams) && !p.hooked.b_places)
    matrix_ns = std::max(matrix_ns, static_cast<double>(s.n) * k_words * sizeof(Word) / kStreamedBytesPerNs);
  cut.time_ns = matrix_ns * batch;
  double col_blocks = static_cast<double>(CeilDiv(s.n, cut.task_cols));
  const bool many_cols = s.n >= kManyTasks * kSlabCols && s.m <= 16 * mr;
  const bool whole_rows = cut.time_ns < static_cast<double>(threads::kMinParallelNs) || s.m <= 4 * mr || many_cols ||
                          (batch * col_blocks >= 32 && matrix_ns < 1e6);
  if (whole_rows) {
    cut.task_rows = cut.last_task_rows = RoundUp(s.m, mr);
    // Short products of few blocks are cut until there is something to share, and no copy of A is made for a few steps.
    const int64_t least_cols = kernel.step_rate > 1 ? 4 * nr : nr;
    const double tasks = std::min(cut.time_ns / kShortTaskNs, kShortTasks) / batch;
    if (cut.time_ns >= static_cast<double>(threads::kMinSharedNs) && tasks > col_blocks) {
      const auto cols = static_cast<int64_t>(static_cast<double>(s.n) / tasks);
      cut.task_cols = std::min(cut.task_cols, EvenPiece(s.n, std::max(cols, least_cols), cut.wide_cols));
    }
    if (many_cols) cut.task_cols = std::min(cut.task_cols, EvenPiece(s.n, s.n / kManyTasks, cut.wide_cols));
    if (!in_place && !streams && s.m <= kFewStrips * mr)
      cut.task_cols = std::min(cut.task_cols, RoundUp(CeilDiv(kPanelTaskBytes, step_bytes * s.k), nr));
  } else {
    if (!streams && !in_place) CutSlab(p, cut);
    col_blocks = static_cast<double>(CeilDiv(s.n, cut.task_cols));
    const double strip_ns = 2.0 * static_cast<double>(mr * cut.task_cols) * k_words / flops_per_ns;
    const double task_ns = std::clamp(cut.time_ns / 64, 20e3, 400e3);
    const int64_t strips = std::max<int64_t>(1, static_cast<int64_t>(task_ns / strip_ns));
    cut.task_rows = EvenPiece(s.m, strips * mr, mr);
    cut.last_task_rows = col_blocks > 1 ? EvenPiece(s.m, CeilDiv(strips, 4) * mr, mr) : cut.task_rows;
  }
  if (s.m * (s.k * ByteWidth(s.a_type) + s.n * ByteWidth(s.c_type)) > caches.l2_bytes) {
    const int64_t strip_steps = StepsOf(kernel, cut.kc) * CeilDiv(std::min(s.n, cut.task_cols), cut.wide_cols);
    if (strip_steps >= kLeastFetched) cut.fetch_strips = CeilDiv(cut.copy_a ? 1 : kFetchedAhead, strip_steps);
  }
  cut.b_place = in_place || streams ? BPlace::kInPlace : whole_rows ? BPlace::kPrivate : BPlace::kShared;
  return cut;
}

namespace {

// Where the kernel finds a block of B: step q of column j of panel i at base[i * panel_stride + q * k_stride + j * w],
// and the start of that panel's sums, if any, at start[i * panel_stride].
struct BSource {
  const Word* base;
  int64_t panel_stride;
  int64_t k_stride;
  const Word* start;
};

// The places of one row after another.
class PlaceOfRow {
 public:
  PlaceOfRow(const GemmPlaces& places, int64_t row) : axes_(places.axes) {
    for (size_t i = axes_.size(); i-- > 0;) {
      at_[i] = row % axes_[i].extent;
      row /= axes_[i].extent;
      offset_ += at_[i] * axes_[i].stride;
    }
  }
  int64_t offset() const { return offset_; }
  void Next() {
    for (size_t i = axes_.size(); i-- > 0;) {
      offset_ += axes_[i].stride;
      if (++at_[i] < axes_[i].extent) return;
      offset_ -= at_[i] * axes_[i].stride;
      at_[i] = 0;
    }
  }

 private:
  const SmallVector<GemmPlaces::Axis, 5>& axes_;
  int64_t at_[5] = {};
  int64_t offset_ = 0;
};

// A part of one matrix of the batch.
struct Part {
  int64_t batch;
  int64_t i0, i1, j0, j1, k0, k1;
};

class BlockedGemm {
 public:
  explicit BlockedGemm(const Problem& p)
      : p_(p),
        s_(p.s),
        kernel_(*p.kernel),
        cut_(p.settled.cut),
        mr_(p.kernel->mr),
        nr_(p.kernel->nr),
        w_(p.kernel->sum_words),
        a_places_(p.settled.hooked.a_places.get()),
        micro_(a_places_ != nullptr        ? p.kernel->micro_placed_a
               : p.settled.hooked.b_places ? p.kernel->micro_placed_b
                                           : p.kernel->micro),
        operand_bytes_(ByteWidth(p.s.a_type)),
        c_bytes_(ByteWidth(p.s.c_type)) {
    // Shares of tiles: those of A's next strip are for all tiles of a strip.
    const int64_t steps = StepsOf(kernel_, cut_.kc), tiles = CeilDiv(std::min(s_.n, cut_.task_cols), cut_.wide_cols);
    a_lines_ = CeilDiv(CeilDiv(mr_ * cut_.kc * operand_bytes_, kLineBytes) * kFetchSteps, tiles * steps);
    c_lines_ = CeilDiv(CeilDiv(mr_ * nr_ * w_, kLineWords) * kFetchSteps, steps);
    back_ = ColsIntoLine();
  }

  Status Run() {
    const int64_t batch = s_.batch_count();
    if (cut_.b_place != BPlace::kShared) {
      const Part whole{0, 0, s_.m, 0, s_.n, 0, s_.k};
      const int64_t tasks = NumTasks(whole);
      p_.pool->ParallelFor(batch * tasks, static_cast<int64_t>(cut_.time_ns), [&](int64_t i) {
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
    const Word* panels = nullptr;
    int64_t j0 = 0;
  };
  struct Buffers {
    Word* strip = nullptr;
    Word* sums = nullptr;
    Word* packed = nullptr;
  };

  // --- Cutting

  // Columns by which a streamed B begins after the start of a cache line, where all of its rows do: loads that two
  // lines share take up to twice as long from memory. C's columns begin within lines then, unless B is shallow.
  int64_t ColsIntoLine() const {
    const bool deep = s_.k >= kLoadsOfStore * s_.m, whole_lines = nr_ * w_ % kLineWords == 0;
    if (!cut_.ahead || !deep || !whole_lines || s_.b_row_stride * operand_bytes_ % kLineBytes != 0) return 0;
    for (const GemmBatchDim& dim : s_.batch) {
      if (dim.extent > 1 && dim.b_stride * operand_bytes_ % kLineBytes != 0) return 0;
    }
    const auto into = static_cast<int64_t>(reinterpret_cast<uintptr_t>(p_.operands.b) % kLineBytes);
    return into % operand_bytes_ == 0 ? into / operand_bytes_ : 0;
  }

  int64_t NumTasks(const Part& whole) const {
    const int64_t col_blocks = CeilDiv(whole.j1 - whole.j0 + back_, cut_.task_cols), rows = whole.i1 - whole.i0;
    return (col_blocks - 1) * CeilDiv(rows, cut_.task_rows) + CeilDiv(rows, cut_.last_task_rows);
  }
  // Tasks that share a block of B follow each other.
  Part TaskOf(const Part& whole, int64_t index) const {
    const int64_t col_blocks = CeilDiv(whole.j1 - whole.j0 + back_, cut_.task_cols), rows = whole.i1 - whole.i0;
    const int64_t per_block = CeilDiv(rows, cut_.task_rows);
    const int64_t block = std::min(index / per_block, col_blocks - 1);
    const int64_t task_rows = block == col_blocks - 1 ? cut_.last_task_rows : cut_.task_rows;
    Part part = whole;
    part.i0 = whole.i0 + (index - block * per_block) * task_rows;
    part.i1 = std::min(part.i0 + task_rows, whole.i1);
    part.j0 = whole.j0 + std::max<int64_t>(block * cut_.task_cols - back_, 0);
    part.j1 = std::min(whole.j0 + (block + 1) * cut_.task_cols - back_, whole.j1);
    return part;
  }

  // --- B packed once for all threads

  // Words of one packed panel `k` elements deep: the start of its sums first, if the kernel wants one.
  int64_t PanelWords(int64_t k) const { return (StepsOf(kernel_, k) + (kernel_.has_start ? 1 : 0)) * nr_ * w_; }
  BSource PackedSource(const Word* panels, int64_t panel_words, int64_t skip, bool with_start) const {
    const Word* const steps = panels + (kernel_.has_start ? nr_ * w_ : 0);
    return {steps + skip * nr_ * w_, panel_words, nr_ * w_, kernel_.has_start && with_start ? panels : nullptr};
  }

  void RunShared(int64_t batch) {
    // No more of k than leaves room for one block of columns. Sums of another type than C cannot be put down in
    // between.
    const int64_t most_steps = std::max(kMaxSharedBytes / (4 * w_ * cut_.task_cols), int64_t{1});
    const int64_t most_k = std::max(most_steps * kernel_.k_unit / kernel_.unit_steps / cut_.kc, int64_t{1}) * cut_.kc;
    const int64_t k_piece = s_.c_type == kernel_.sum_type ? std::min(cut_.k_piece, most_k) : s_.k;
    const int64_t task_words = PanelWords(k_piece) * (cut_.task_cols / nr_);
    const int64_t n_piece = std::max(kMaxSharedBytes / (4 * task_words), int64_t{1}) * cut_.task_cols;
    const int64_t panels = CeilDiv(std::min(n_piece, s_.n), nr_);
    const Scratch packed(static_cast<size_t>(panels * PanelWords(k_piece)) * sizeof(Word));
    if (packed.data() == nullptr) return SetOutOfMemory();
    const double pieces = static_cast<double>(s_.batch_count() * CeilDiv(s_.n, n_piece) * CeilDiv(s_.k, k_piece));
    for (int64_t j0 = 0; j0 < s_.n; j0 += n_piece) {
      for (int64_t k0 = 0; k0 < s_.k; k0 += k_piece) {
        const Part part{batch, 0, s_.m, j0, std::min(j0 + n_piece, s_.n), k0, std::min(k0 + k_piece, s_.k)};
        PackShared(part, packed.words());
        p_.pool->ParallelFor(NumTasks(part), static_cast<int64_t>(cut_.time_ns / pieces),
                             [&](int64_t i) { RunTask(TaskOf(part, i), {packed.words(), j0}); });
      }
    }
  }

  void PackShared(const Part& part, Word* dst) {
    constexpr int64_t kTaskWords = 64 << 10;
    const int64_t panel_words = PanelWords(part.k1 - part.k0), panels = CeilDiv(part.j1 - part.j0, nr_);
    const int64_t per_task = std::clamp<int64_t>(kTaskWords / panel_words, 1, panels);
    const int64_t cost_ns = panels * panel_words / 4;
    p_.pool->ParallelFor(CeilDiv(panels, per_task), cost_ns, [&](int64_t i) {
      const int64_t first = i * per_task;
      PackPanels(part, part.j0 + first * nr_, std::min(part.j1, part.j0 + (first + per_task) * nr_), part.k0, part.k1,
                 dst + first * panel_words);
    });
  }

  // Panels of PanelWords(k1 - k0) each.
  void PackPanels(const Part& part, int64_t j0, int64_t j1, int64_t k0, int64_t k1, Word* dst) {
    BPanels b{};
    b.k_stride = s_.b_row_stride;
    b.col_stride = s_.b_col_stride;
    b.k = k1 - k0;
    b.cols = j1 - j0;
    b.panel_stride = PanelWords(k1 - k0);
    b.start = kernel_.has_start ? dst : nullptr;
    b.first = true;
    b.dst = kernel_.has_start ? dst + nr_ * w_ : dst;
    if (p_.hooks.pack_b) return PackPanelsByHook(part, j0, k0, b);
    b.src =
        At(p_.operands.b, OffsetsOf(s_, part.batch).b + k0 * s_.b_row_stride + j0 * s_.b_col_stride, operand_bytes_);
    kernel_.pack_b(b);
  }

  // The hook writes rows of its own operand, of B or of B^T when the product is swapped, which are then packed like any
  // B. Its rows are long, since it may have much to do for each.
  void PackPanelsByHook(const Part& part, int64_t j0, int64_t k0, const BPanels& all) {
    const int64_t most_depth = p_.swapped ? 256 : 64;
    const int64_t most_cols = p_.swapped ? nr_ : std::min(16 * nr_, RoundUp(all.cols, nr_));
    const Scratch tile(static_cast<size_t>(most_depth * most_cols * operand_bytes_));
    if (tile.data() == nullptr) return SetOutOfMemory();
    for (int64_t j = 0; j < all.cols; j += most_cols) {
      for (int64_t k = 0; k < all.k; k += most_depth) {
        BPanels b = all;
        b.src = tile.data();
        b.k = std::min(most_depth, all.k - k);
        b.cols = std::min(most_cols, all.cols - j);
        b.k_stride = p_.swapped ? 1 : b.cols;
        b.col_stride = p_.swapped ? b.k : 1;
        b.dst += j / nr_ * all.panel_stride + StepsOf(kernel_, k) * nr_ * w_;
        if (b.start != nullptr) b.start += j / nr_ * all.panel_stride;
        b.first = k == 0;
        ShowTile(p_, p_.hooks.pack_b, {part.batch, k0 + k, j0 + j, b.k, b.cols, tile.data(), b.k_stride, b.col_stride});
        kernel_.pack_b(b);
      }
    }
  }

  // --- One task

  class Entered {
   public:
    explicit Entered(const GemmKernel& kernel) : kernel_(kernel) {
      if (kernel_.enter != nullptr) kernel_.enter();
    }
    ~Entered() {
      if (kernel_.leave != nullptr) kernel_.leave();
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    const GemmKernel& kernel_;
  };

  int64_t SumsStride(int64_t cols) const { return RoundUp(cols * w_, kLineWords); }

  int64_t StripWords() const { return RoundUp(mr_ * (StepsOf(kernel_, cut_.kc) * w_ + kStripPad), kLineWords); }

  void RunTask(const Part& part, const SharedB& shared) {
    const int64_t cols = part.j1 - part.j0, depth = part.k1 - part.k0;
    const int64_t strip_words = cut_.copy_a ? StripWords() : 0;
    // Sums that more than one block of k adds to are kept for all rows of the task.
    const int64_t sum_rows = depth > cut_.kc ? part.i1 - part.i0 : mr_;
    const int64_t sum_words = cut_.stage_c ? sum_rows * SumsStride(cols) : 0;
    const int64_t packed_words = cut_.b_place == BPlace::kPrivate ? CeilDiv(cols, nr_) * PanelWords(cut_.kc) : 0;
    const int64_t total = strip_words + sum_words + packed_words;
    const Scratch scratch(static_cast<size_t>(total) * sizeof(Word));
    if (total != 0 && scratch.data() == nullptr) return SetOutOfMemory();
    Buffers buffers;
    if (total != 0) {
      buffers.strip = scratch.words();
      buffers.sums = buffers.strip + strip_words;
      buffers.packed = buffers.sums + sum_words;
    }

    const Entered entered(kernel_);
    const BatchOffsets offsets = OffsetsOf(s_, part.batch);
    for (int64_t k = part.k0; k < part.k1; k += cut_.kc) {
      Part block = part;
      block.k0 = k;
      block.k1 = std::min(k + cut_.kc, part.k1);
      const BSource b = SourceOfB(block, part, offsets, shared, buffers);
      if (a_places_ != nullptr) {
        RunPlacedStrips(block, part, offsets, b, buffers);
        continue;
      }
      if (IsThin(block)) {
        RunThinStrips(block, offsets, b);
        continue;
      }
      for (int64_t i = part.i0; i < part.i1; i += mr_)
        RunStrip(block, part, offsets, i, std::min(mr_, part.i1 - i), b, OwnSums(buffers, part, i), {});
    }
  }

  // What tiles of a block have in common, and where its first columns of B lie.
  MicroTile FirstTile(const Part& block, const BSource& b) const {
    MicroTile tile{};
    tile.b = b.base;
    tile.b_k_stride = b.k_stride;
    tile.start = b.start;
    tile.steps = StepsOf(kernel_, block.k1 - block.k0);
    tile.load_c = s_.accumulate || block.k0 > 0;
    tile.ahead = cut_.ahead;
    return tile;
  }
  void TakeInPlace(const Part& block, const BatchOffsets& offsets, int64_t i, MicroTile& tile) const {
    tile.a =
        static_cast<const Word*>(p_.operands.a) + (offsets.a + i * s_.a_row_stride + block.k0 * s_.a_col_stride) * w_;
    tile.a_row_stride = s_.a_row_stride * w_;
    tile.a_k_stride = s_.a_col_stride * w_;
  }

  // Strips of one tile, which is soon done, where they lie.
  bool IsThin(const Part& block) const {
    return block.j1 - block.j0 <= nr_ && !cut_.copy_a && !cut_.stage_c && !p_.hooks.finish && p_.settled.depth.empty();
  }
  void RunThinStrips(const Part& block, const BatchOffsets& offsets, const BSource& b) {
    Soon soon{};
    MicroTile tile = FirstTile(block, b);
    TakeInPlace(block, offsets, block.i0, tile);
    tile.c = static_cast<Word*>(p_.operands.c) + (offsets.c + block.i0 * s_.c_row_stride + block.j0) * w_;
    tile.c_row_stride = s_.c_row_stride * w_;
    tile.soon = cut_.fetch_strips > 0 ? &soon : nullptr;
    const int cols = static_cast<int>(block.j1 - block.j0);
    const int64_t ahead = cut_.fetch_strips * mr_;
    for (int64_t i = block.i0; i < block.i1; i += mr_) {
      // The hardware sees where C goes on.
      if (ahead > 0) soon.a = StripLines(block, offsets, i + ahead);
      micro_(tile, static_cast<int>(std::min(mr_, block.i1 - i)), cols);
      tile.a += mr_ * tile.a_row_stride;
      tile.c += mr_ * tile.c_row_stride;
    }
  }

  // Where the rows of a strip of a placed A begin, and those of the next one.
  struct Starts {
    const Word* rows[kMaxPlacedRows] = {};
    int64_t count = 0;
  };
  struct PlacedStrip {
    const Starts* here = nullptr;
    const Starts* next = nullptr;
  };

  void RunPlacedStrips(const Part& block, const Part& part, const BatchOffsets& offsets, const BSource& b,
                       const Buffers& buffers) {
    PlaceOfRow place(*a_places_, part.i0);
    const auto starts_of = [&](int64_t i) {
      Starts starts;
      for (; starts.count < std::min(mr_, part.i1 - i); ++starts.count, place.Next())
        starts.rows[starts.count] = static_cast<const Word*>(p_.operands.a) + (offsets.a + place.offset()) * w_;
      return starts;
    };
    Starts here, next = starts_of(part.i0);
    for (int64_t i = part.i0; i < part.i1; i += mr_) {
      here = next;
      next = starts_of(i + mr_);
      RunStrip(block, part, offsets, i, here.count, b, OwnSums(buffers, part, i), {&here, &next});
    }
  }

  Buffers OwnSums(const Buffers& buffers, const Part& part, int64_t i) const {
    Buffers own = buffers;
    if (part.k1 - part.k0 > cut_.kc && cut_.stage_c) own.sums += (i - part.i0) * SumsStride(part.j1 - part.j0);
    return own;
  }

  BSource SourceOfB(const Part& block, const Part& task, const BatchOffsets& offsets, const SharedB& shared,
                    const Buffers& buffers) {
    switch (cut_.b_place) {
      case BPlace::kInPlace:
        if (p_.settled.hooked.b_places)
          return {static_cast<const Word*>(p_.operands.b) + (offsets.b + block.j0) * w_, nr_ * w_, 0, nullptr};
        return {static_cast<const Word*>(p_.operands.b) + (offsets.b + block.k0 * s_.b_row_stride + block.j0) * w_,
                nr_ * w_, s_.b_row_stride * w_, nullptr};
      case BPlace::kPrivate:
        PackPanels(block, block.j0, block.j1, block.k0, block.k1, buffers.packed);
        return PackedSource(buffers.packed, PanelWords(block.k1 - block.k0), 0, true);
      case BPlace::kShared:
        break;
    }
    // The start of the sums was reckoned for all of the packed depth: it belongs to the first block.
    const int64_t panel_words = PanelWords(task.k1 - task.k0);
    return PackedSource(shared.panels + (block.j0 - shared.j0) / nr_ * panel_words, panel_words,
                        StepsOf(kernel_, block.k0 - task.k0), block.k0 == task.k0);
  }

  // Rows [i, i + rows) of a block; `placed` says where those of a placed A are.
  void RunStrip(const Part& block, const Part& task, const BatchOffsets& offsets, int64_t i, int64_t rows,
                const BSource& b, const Buffers& buffers, const PlacedStrip& placed) {
    MicroTile tile = FirstTile(block, b);
    if (!p_.settled.depth.empty()) {
      tile.elements = block.k1 - block.k0;
      tile.depth = p_.settled.depth.data() + block.k0;
      tile.rows = placed.here == nullptr ? nullptr : placed.here->rows;
    }
    if (placed.here != nullptr) {
      // Nothing lies as a matrix.
    } else if (cut_.copy_a) {
      CopyStrip(block, offsets, i, rows, buffers.strip, tile);
    } else {
      TakeInPlace(block, offsets, i, tile);
    }
    const int64_t cols = block.j1 - block.j0;
    void* const c = At(p_.operands.c, offsets.c + i * s_.c_row_stride + block.j0 * s_.c_col_stride, c_bytes_);
    tile.c_row_stride = cut_.stage_c ? SumsStride(cols) : s_.c_row_stride * w_;
    Word* const target = cut_.stage_c ? buffers.sums : static_cast<Word*>(c);
    if (cut_.stage_c && tile.load_c && block.k0 == task.k0) LoadSums(c, rows, cols, target, tile.c_row_stride);

    Soon soon{};
    const int64_t next = i + cut_.fetch_strips * mr_;
    if (cut_.fetch_strips > 0) {
      soon.a = StripLines(block, offsets, next);
      tile.soon = &soon;
    }
    const int64_t first_cols = block.j0 == 0 && back_ > 0 ? nr_ - back_ : cut_.wide_cols;
    for (int64_t j = 0, width = 0; j < cols; j += width) {
      width = j == 0 ? first_cols : cut_.wide_cols;
      if (j + width > cols) width = nr_;
      if (!p_.settled.depth_lines.empty()) PrefetchPlaced(block, *placed.next, j, cols);
      if (cut_.fetch_strips > 0) {
        const int64_t then = j + width;
        soon.c = then < cols ? TileLines(block, target + then * w_, tile.c_row_stride, i, cols - then)
                 : !cut_.stage_c
                     ? TileLines(block, target + (next - i) * tile.c_row_stride, tile.c_row_stride, next, cols)
                     : Lines{};
      }
      tile.c = target + j * w_;
      micro_(tile, static_cast<int>(rows), static_cast<int>(std::min(width, cols - j)));
      tile.b += cut_.b_place == BPlace::kInPlace ? width * w_ : b.panel_stride;
      if (tile.start != nullptr) tile.start += b.panel_stride;
    }

    if (cut_.stage_c && block.k1 == task.k1) StoreSums(target, tile.c_row_stride, rows, cols, c);
    if (p_.hooks.finish && block.k1 == s_.k) {
      ShowTile(p_, p_.hooks.finish, {block.batch, i, block.j0, rows, cols, c, s_.c_row_stride, s_.c_col_stride});
    }
  }

  // Of Sum's width; words are not aligned to more than themselves.
  template <class Sum>
  static void CopyApart(const Word* from, int64_t from_stride, int64_t count, Word* to, int64_t to_stride) {
    constexpr int64_t kWords = sizeof(Sum) / sizeof(Word);
    for (int64_t j = 0; j < count; ++j) {
      Sum sum;
      std::memcpy(&sum, from + j * from_stride * kWords, sizeof(Sum));
      std::memcpy(to + j * to_stride * kWords, &sum, sizeof(Sum));
    }
  }
  void CopySums(const Word* from, int64_t from_stride, int64_t count, Word* to, int64_t to_stride) const {
    if (from_stride == 1 && to_stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(count * w_) * sizeof(Word));
      return;
    }
    if (w_ == 1) return CopyApart<Word>(from, from_stride, count, to, to_stride);
    CopyApart<uint64_t>(from, from_stride, count, to, to_stride);
  }
  // Columns of C that lie apart are gone through one by one: their lines would push each other out of the cache.
  bool ByColumns() const { return s_.c_type == kernel_.sum_type && s_.c_row_stride == 1; }
  void LoadSums(const void* c, int64_t rows, int64_t cols, Word* sums, int64_t sums_stride) const {
    if (ByColumns()) {
      const Word* from = static_cast<const Word*>(c);
      for (int64_t j = 0; j < cols; ++j, from += s_.c_col_stride * w_)
        CopySums(from, 1, rows, sums + j * w_, sums_stride / w_);
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const void* const from = At(c, r * s_.c_row_stride, c_bytes_);
      Word* const to = sums + r * sums_stride;
      if (s_.c_type != kernel_.sum_type) {
        kernel_.load_row(from, s_.c_col_stride, cols, to);
      } else {
        CopySums(static_cast<const Word*>(from), s_.c_col_stride, cols, to, 1);
      }
    }
  }
  void StoreSums(const Word* sums, int64_t sums_stride, int64_t rows, int64_t cols, void* c) const {
    if (ByColumns()) {
      Word* to = static_cast<Word*>(c);
      for (int64_t j = 0; j < cols; ++j, to += s_.c_col_stride * w_)
        CopySums(sums + j * w_, sums_stride / w_, rows, to, 1);
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const Word* const from = sums + r * sums_stride;
      void* const to = At(c, r * s_.c_row_stride, c_bytes_);
      if (s_.c_type != kernel_.sum_type) {
        kernel_.store_row(from, cols, to, s_.c_col_stride);
      } else {
        CopySums(from, 1, cols, static_cast<Word*>(to), s_.c_col_stride);
      }
    }
  }

  static Lines LinesOfRows(const void* first, int64_t rows, int64_t bytes, int64_t stride_bytes, int64_t each) {
    if (bytes == stride_bytes) {
      bytes *= rows;
      rows = 1;
    }
    const int64_t row_lines = CeilDiv(bytes, kLineBytes);
    return {static_cast<const char*>(first), stride_bytes, row_lines, rows * row_lines, each, 0};
  }
  // The strip of A at row i.
  Lines StripLines(const Part& block, const BatchOffsets& offsets, int64_t i) const {
    if (i >= block.i1 || a_places_ != nullptr || p_.hooks.pack_a) return {};
    const bool turned = s_.a_col_stride != 1;
    if (turned && s_.a_row_stride != 1) return {};
    const int64_t rows = std::min(mr_, block.i1 - i), depth = block.k1 - block.k0;
    const void* const a =
        At(p_.operands.a, offsets.a + i * s_.a_row_stride + block.k0 * s_.a_col_stride, operand_bytes_);
    if (!turned) return LinesOfRows(a, rows, depth * operand_bytes_, s_.a_row_stride * operand_bytes_, a_lines_);
    // Short runs start anywhere in a line.
    return LinesOfRows(a, depth, rows * operand_bytes_ + kLineBytes - 1, s_.a_col_stride * operand_bytes_, a_lines_);
  }
  // The tile of C at row i.
  Lines TileLines(const Part& block, const Word* c, int64_t row_stride, int64_t i, int64_t cols) const {
    if (i >= block.i1) return {};
    const int64_t word_bytes = sizeof(Word);
    return LinesOfRows(c, std::min(mr_, block.i1 - i), std::min(nr_, cols) * w_ * word_bytes, row_stride * word_bytes,
                       c_lines_);
  }
  // Lines of the next strip of a placed A, as many as belong to the panel at column j.
  void PrefetchPlaced(const Part& block, const Starts& next, int64_t j, int64_t cols) const {
    const std::vector<int64_t>& lines = p_.settled.depth_lines;
    const auto first = static_cast<int64_t>(lines.size()) * block.k0 / s_.k;
    const int64_t count = static_cast<int64_t>(lines.size()) * block.k1 / s_.k - first;
    const int64_t end = first + count * std::min(j + nr_, cols) / cols;
    for (int64_t l = first + count * j / cols; l < end; ++l) {
      for (int64_t r = 0; r < next.count; ++r) __builtin_prefetch(next.rows[r] + lines[static_cast<size_t>(l)], 0, 3);
    }
  }

  // Brings `rows` rows of A together, k as adjacent steps, or, where elements are steps and rows adjacent, as it lies.
  void CopyStrip(const Part& block, const BatchOffsets& offsets, int64_t i, int64_t rows, Word* strip,
                 MicroTile& tile) {
    const int64_t depth = block.k1 - block.k0;
    tile.a = strip;
    tile.a_row_stride = StepsOf(kernel_, depth) * w_ + kStripPad;
    tile.a_k_stride = w_;
    if (p_.hooks.pack_a) return CopyStripByHook(block, i, rows, strip, tile);
    const void* const a =
        At(p_.operands.a, offsets.a + i * s_.a_row_stride + block.k0 * s_.a_col_stride, operand_bytes_);
    if (!kernel_.in_place || s_.a_row_stride != 1 || s_.a_col_stride == 1) {
      kernel_.pack_a(a, s_.a_row_stride, s_.a_col_stride, static_cast<int>(rows), depth, strip, tile.a_row_stride);
      return;
    }
    tile.a_row_stride = w_;
    tile.a_k_stride = mr_ * w_;
    const int64_t bytes = rows * operand_bytes_, from_stride = s_.a_col_stride * operand_bytes_;
    // Whole strips of the kernels' heights: their copies are a few moves each where a call takes longer than it copies.
    switch (bytes) {
      case 14 * 4:
        return CopyPieces<14 * 4>(a, from_stride, depth, strip, tile.a_k_stride);
      case 14 * 8:
        return CopyPieces<14 * 8>(a, from_stride, depth, strip, tile.a_k_stride);
      case 6 * 4:
        return CopyPieces<6 * 4>(a, from_stride, depth, strip, tile.a_k_stride);
      case 6 * 8:
        return CopyPieces<6 * 8>(a, from_stride, depth, strip, tile.a_k_stride);
      default:
        for (int64_t q = 0; q < depth; ++q) {
          std::memcpy(strip + q * tile.a_k_stride, At(a, q * from_stride, 1), static_cast<size_t>(bytes));
        }
    }
  }

  template <int kBytes>
  static void CopyPieces(const void* from, int64_t from_stride_bytes, int64_t count, Word* to, int64_t to_stride) {
    for (int64_t q = 0; q < count; ++q) std::memcpy(to + q * to_stride, At(from, q * from_stride_bytes, 1), kBytes);
  }

  // What needs no conversion is written where it is used.
  void CopyStripByHook(const Part& block, int64_t i, int64_t rows, Word* strip, MicroTile& tile) {
    const int64_t depth = block.k1 - block.k0;
    const bool turned = p_.swapped || p_.settled.hooked.a_by_columns;
    if (kernel_.in_place) {
      tile.a_row_stride = turned ? w_ : tile.a_row_stride;
      tile.a_k_stride = turned ? mr_ * w_ : w_;
      ShowTile(p_, p_.hooks.pack_a,
               {block.batch, i, block.k0, rows, depth, strip, tile.a_row_stride / w_, tile.a_k_stride / w_});
      return;
    }
    const Scratch raw(static_cast<size_t>(rows * depth * operand_bytes_));
    if (raw.data() == nullptr) return SetOutOfMemory();
    const int64_t row_stride = turned ? 1 : depth, k_stride = turned ? rows : 1;
    ShowTile(p_, p_.hooks.pack_a, {block.batch, i, block.k0, rows, depth, raw.data(), row_stride, k_stride});
    kernel_.pack_a(raw.data(), row_stride, k_stride, static_cast<int>(rows), depth, strip, tile.a_row_stride);
  }

  static const void* At(const void* base, int64_t index, int64_t bytes) {
    return static_cast<const char*>(base) + index * bytes;
  }
  static void* At(void* base, int64_t index, int64_t bytes) { return static_cast<char*>(base) + index * bytes; }

  void SetOutOfMemory() { out_of_memory_.store(true, std::memory_order_relaxed); }

  const Problem& p_;
  const GemmSignature& s_;
  const GemmKernel& kernel_;
  const Cut& cut_;
  const int64_t mr_, nr_, w_;
  const GemmPlaces* const a_places_;
  void (*const micro_)(const MicroTile& tile, int rows, int cols);
  const int64_t operand_bytes_, c_bytes_;
  int64_t a_lines_ = 0, c_lines_ = 0;  // Lines::each.
  int64_t back_ = 0;                   // ColsIntoLine: blocks of columns begin so much earlier.
  std::atomic<bool> out_of_memory_{false};
};

}  // namespace

Status RunBlocked(const Problem& p) { return BlockedGemm(p).Run(); }

}  // namespace tenon::kernels::internal
