#pragma once

// What the driver needs from one instruction set's kernels. The x86_*.cc files define the tables; they are the only
// sources compiled with vector flags, and share no inline function with the rest.

#include <cstdint>

#include "tenon/base/dtype.h"
#include "tenon/isa/isa.h"

namespace tenon::kernels::internal {

/// The unit of packed operands and sums. A *step* along k is what one multiplication takes of a row of A or a column of
/// B: one f32 or f64, two bf16, four s8 ... A step is as wide as a sum: sum_words words.
using Word = uint32_t;

/// Steps of a tile between which lines are fetched.
inline constexpr int64_t kFetchSteps = 16;

/// Lines of memory that are wanted soon, row after row. Asked for all at once they would hold up the loads that the
/// multiplications wait for.
struct Lines {
  const char* row;    ///< In which `at` counts.
  int64_t row_bytes;  ///< From row to row.
  int64_t row_lines;
  int64_t left;  ///< To be fetched yet.
  int64_t each;  ///< Per kFetchSteps steps.
  int64_t at;    ///< The next line of the row.
};

/// What tiles to come want while one is multiplied, to be brought to L1.
struct Soon {
  Lines a;  ///< A strip of A: to be copied, or used in place.
  Lines c;  ///< A tile of C.
};

/// One tile of C of at most mr x nr. Strides in words; w is the kernel's sum_words.
struct MicroTile {
  const Word* a;  ///< Step q of row i at a[i * a_row_stride + q * a_k_stride].
  int64_t a_row_stride;
  int64_t a_k_stride;
  const Word* b;  ///< Step q of column j at b[q * b_k_stride + j * w].
  int64_t b_k_stride;
  const Word* start;  ///< Added to every row of C before the sums begin, nr of them; null for none.
  Word* c;            ///< Sum (i, j) at c[i * c_row_stride + j * w].
  int64_t c_row_stride;
  int64_t steps;  ///< >= 1.
  bool load_c;    ///< The sums go on from C's elements; else from 0 and C is not read.
  Soon* soon;     ///< Fetched beside the multiplications; null for nothing.
  bool ahead;     ///< B comes from far away and its next columns are wanted next: a hint, for an in_place B.

  // For micro_placed_a and micro_placed_b: words from the row, or from b, to where an element along k lies, in the
  // order in which they are multiplied. What else would say the same is not read.
  const int64_t* depth;
  int64_t elements;         ///< Along k, those of zeros apart.
  const Word* const* rows;  ///< Of A: element p of row i at rows[i] + depth[p].
};

/// A part of B, k x cols elements, to be laid out as panels of nr columns, the last one filled up with zeros, and k
/// with zeros to a multiple of the kernel's k_unit: step q of column j of panel i at dst[i * panel_stride + (q * nr +
/// j) * w].
struct BPanels {
  const void* src;  ///< Element (p, j) is number p * k_stride + j * col_stride.
  int64_t k_stride, col_stride;
  int64_t k, cols;
  Word* dst;
  int64_t panel_stride;
  Word* start;  ///< Where MicroTile::start of panel i is to be, at start[i * panel_stride]. Null unless the kernel
                ///< has_start.
  bool first;   ///< `start` is undefined yet; else it is added to.
};

/// Vectors that one call of dot_few takes at most.
inline constexpr int kFewVectors = 8;
/// Lanes of GemmOrder::kLanes64.
inline constexpr int kGemvLanes = 64;
/// Rows that one call of dot_rows takes at most.
inline constexpr int kGemvRows = 64;
/// The same for dot_cols; more, because only rows are adjacent in memory there. The 64 lanes of them are to stay in a
/// small second-level cache.
inline constexpr int kGemvAdjacentRows = 512;
/// Groups of these lanes: those of one are a power of two apart, so that the tree adds them to one sum first.
inline constexpr int kGemvGroups = 16, kGemvGroupLanes = kGemvLanes / kGemvGroups;
/// Floats from one lane of so many adjacent rows to the next: whole vectors of the widest kind, close together.
inline constexpr int64_t GemvLanesApart(int64_t rows) { return (rows + 15) / 16 * 16; }

/// Where the matrix of a product with a vector is expected: in the caches of one core, in those of several, in memory.
enum class Place : uint8_t { kClose, kCached, kFar };

enum class Extra : uint8_t { kNone, kBf16, kVnni, kAmx };

/// c[j] = chain over p < k of x[p * x_stride] * b[p * k_stride + j], from 0 or, to `accumulate`, from c's element.
struct ColumnsProduct {
  const void* b;
  int64_t k_stride;
  const void* x;
  int64_t x_stride;
  int64_t k, columns;
  bool accumulate;
  void* c;
};

struct GemmKernel {
  const char* name;
  isa::IsaLevel level;
  Extra extra;
  DType operand_type, sum_type;
  int mr, nr;
  bool consistent = true;

  /// k_unit elements along k become unit_steps steps.
  int k_unit = 1, unit_steps = 1;
  /// For GemmOrder::kHalves where steps are multiplied one by one: a unit is a block, of so many steps for its even
  /// elements and as many for its odd ones. A last block of r < k_unit elements has only as many steps as its
  /// ceil(r / 2) even ones and a zero fill, in either half. 0: units are always whole.
  int half_steps = 0;
  /// Steps of one column that go through a core in the time of one f32 multiplication with AVX-512.
  int step_rate = 1;
  int sum_words = 1;
  /// An element is a step as it is: operands may be read in place.
  bool in_place = false;
  bool has_start = false;
  /// Columns that half a vector holds are multiplied in such, in less time.
  bool has_half = false;

  /// Called on the thread before its first and after its last tile of a task, which lie close together: registers that
  /// the operating system need not save in between. Null for none.
  void (*enter)() = nullptr;
  void (*leave)() = nullptr;
  /// C tile of `rows` x `cols`, 1 <= rows <= mr, 1 <= cols <= nr. Reads no element of A and C, and writes none, outside
  /// the tile; of B only columns of the tile when nr columns are not there. A kernel that is not in_place may read rows
  /// of A up to mr, whatever they hold.
  void (*micro)(const MicroTile& tile, int rows, int cols);
  /// `micro`, with an in_place B, and micro_placed_b also take tiles of so many columns, a multiple of half of nr and
  /// not less than nr, with so many rows of C: the fewer they are, the more of a row of B is read at once. Null for no
  /// more than nr.
  int (*wide_cols)(int rows) = nullptr;
  /// The same for an A or a B that lies apart (GemmPlaces), one sum's words per element; null when there is none.
  void (*micro_placed_a)(const MicroTile& tile, int rows, int cols) = nullptr;
  void (*micro_placed_b)(const MicroTile& tile, int rows, int cols) = nullptr;
  /// dst[i * dst_row_stride + q * w]: step q of row i. src element (i, p) is number i * row_stride + p * k_stride.
  void (*pack_a)(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                 int64_t dst_row_stride);
  void (*pack_b)(const BPanels& panels);
  /// C's elements from and to sums, when they have another type; null for none.
  void (*load_row)(const void* c, int64_t c_stride, int64_t count, Word* sums) = nullptr;
  void (*store_row)(const Word* sums, int64_t count, void* c, int64_t c_stride) = nullptr;

  // Products with a vector; null when there is no special path.
  /// In the order GemmOrder::kChain, of a matrix in a near cache: rows of it are read in pieces.
  void (*dot_columns)(const ColumnsProduct& product) = nullptr;
  /// y[r * y_stride] = chain over p < k of a[r * row_stride + p * k_stride] * x[p], from 0 or, to accumulate, from y's
  /// element. For k < kGemvLanes: GemmOrder::kChain.
  void (*dot_short)(const float* a, int64_t row_stride, int64_t k_stride, const float* x, int64_t k, int64_t rows,
                    bool accumulate, float* y, int64_t y_stride) = nullptr;
  /// The same for k >= kGemvLanes in the order kLanes64, of rows whose elements are adjacent.
  void (*dot_whole)(const float* a, int64_t row_stride, const float* x, int64_t k, int64_t rows, Place place,
                    bool accumulate, float* y, int64_t y_stride) = nullptr;
  /// Of few vectors, 2 to kFewVectors of them, number j at x[p * count + j]: y[r * y_row_stride + j * y_col_stride] =
  /// chain over p < k of a[r * row_stride + p] * x[p * count + j], from 0 or, to accumulate, from y's element.
  void (*dot_few)(const float* a, int64_t row_stride, const float* x, int64_t k, int64_t rows, int count,
                  bool accumulate, float* y, int64_t y_row_stride, int64_t y_col_stride) = nullptr;
  /// Lane sums of `rows` <= kGemvRows dot products whose p runs on from where the last call stopped, always at a
  /// multiple of 64: lanes[r * 64 + l] = chain over p = l, l+64 ... of a[r * row_stride + p] * x[p].
  void (*dot_rows)(const float* a, int64_t row_stride, const float* x, int64_t k, int rows, float* lanes) = nullptr;
  /// The same for a matrix whose rows are adjacent, rows <= kGemvAdjacentRows:
  /// lanes[l * GemvLanesApart(rows) + r] = chain over p of a[r + p * k_stride] * x[p].
  void (*dot_cols)(const float* a, int64_t k_stride, const float* x, int64_t k, int rows, Place place,
                   float* lanes) = nullptr;
  /// Both at once, y[r * y_stride] (+)= the tree over the lanes, for matrices that lie in a near cache: rows of it are
  /// read far apart.
  void (*dot_tree)(const float* a, int64_t k_stride, const float* x, int64_t k, int64_t rows, bool accumulate, float* y,
                   int64_t y_stride) = nullptr;
  /// For matrices in memory: sums[r] = the tree over the lanes group, group + kGemvGroups ... of the dot products of
  /// adjacent rows, as many as leave a row of the matrix in the nearest cache. `sums` has room for kGemvGroupLanes
  /// times GemvLanesApart(rows).
  void (*dot_group)(const float* a, int64_t k_stride, const float* x, int64_t k, int group, int rows,
                    float* sums) = nullptr;
  /// y[r * y_stride] (+)= the tree over the lanes, laid out as by dot_rows and dot_cols.
  void (*reduce_rows)(const float* lanes, int rows, bool accumulate, float* y, int64_t y_stride) = nullptr;
  void (*reduce_cols)(const float* lanes, int rows, bool accumulate, float* y, int64_t y_stride) = nullptr;
  /// The same over the groups: group g of row r at sums[g * apart + r], up to whole vectors of rows.
  void (*reduce_groups)(const float* sums, int64_t apart, int64_t rows, bool accumulate, float* y,
                        int64_t y_stride) = nullptr;
};

#define TENON_GEMM(level, extra, name, operand, sum, mr, nr, consistent) extern const GemmKernel name;
#include "tenon/kernels/gemm/kernels.inc"
#undef TENON_GEMM

/// Steps that `k` elements of a row of A or a column of B take when packed.
int64_t StepsOf(const GemmKernel& kernel, int64_t k);
/// Whether this process may run it.
bool IsAvailable(const GemmKernel& kernel);

/// The kernel for operands of type `a` and `b` at `level` on this CPU; of an A that lies apart if it `is_placed`. Null
/// when there is none.
const GemmKernel* FindKernel(DType a, DType b, isa::IsaLevel level, bool is_placed = false);

}  // namespace tenon::kernels::internal
