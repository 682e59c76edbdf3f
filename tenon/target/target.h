#pragma once

/// What the compiler knows of the machine that it compiles for: a value that can be compared, hashed, printed and
/// parsed. It holds no pointer and says nothing of the machine on which the compiler itself runs, so a program can be
/// compiled on one machine for another.
///
/// Two kinds of numbers stand here. `numerics`, `limits` and `costs` decide which operations share a kernel and in
/// which order sums meet, hence the bits of results: they are equal for all CPU targets but for `fused_multiply_add`.
/// All others describe speed alone and may differ from machine to machine without changing a bit. GPUs have numbers of
/// their own, and what a device's arithmetic does (`device`) shows in its bits.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/hash.h"
#include "tenon/base/status.h"
#include "tenon/kir/kir.h"
#include "tenon/target/device.h"

namespace tenon::target {

enum class Kind : uint8_t {
  kCpu,
  kGpu,
};

/// One level of data cache, nearest first.
struct CacheLevel {
  int64_t bytes = 0;
  int64_t line_bytes = 0;
  friend bool operator==(const CacheLevel&, const CacheLevel&) = default;
};

/// What one scalar operation costs, in cycles of one core per 16 elements of f32 at the widest vectors; what the
/// numbers rank is which work is worth doing twice and when a kernel is full.
class OpCosts {
 public:
  /// The table of op_costs.def.
  static const OpCosts& Standard();

  int Of(kir::Op op) const { return ops_[static_cast<size_t>(op)]; }
  /// The operation's, or, for kMath, its function's.
  int Of(const kir::Node& node) const;
  int OfMath(uint32_t math) const { return math_[math]; }
  void Set(kir::Op op, int cost) { ops_[static_cast<size_t>(op)] = cost; }
  void SetMath(uint32_t math, int cost) { math_[math] = cost; }
  friend bool operator==(const OpCosts&, const OpCosts&) = default;

 private:
  std::array<int32_t, kir::kNumOps> ops_{};
  std::vector<int32_t> math_;  ///< By kir::MathId.
  friend class CostTable;
};

/// What one kernel may hold. Fusion asks before it puts something into a kernel, and everything that makes kernels
/// stays below; where it cuts decides which products and sums are contracted, so these numbers fix bits.
struct KernelLimits {
  int64_t dims = 32;      ///< Loops of all stages together; kir numbers them in a mask of 32 bits.
  int64_t members = 200;  ///< Operations of the program in one kernel: time of code generation grows faster than they.
  int64_t cost = 600;     ///< Sum of the members' costs (OpCosts): four transcendentals take 6 ms of code generation.
  int64_t nodes = 1500;   ///< Scalar nodes, those written out at several places counted each time.
  int64_t buffers = 24;   ///< Memory operands: each needs an address register now and then.
  int64_t loop_nodes = 1500;      ///< Scalar nodes of a loop that runs inside a kernel.
  int64_t carries = 64;           ///< Registers that such a loop carries from trip to trip.
  int64_t carry_elements = 16;    ///< Elements of an array that is carried in registers.
  int64_t row_bytes = 256 << 10;  ///< A row kept between the stages of a kernel: half of a small L2 cache.
  friend bool operator==(const KernelLimits&, const KernelLimits&) = default;
};

/// What else fixes the bits of results: how sums are cut and in which order their parts meet, each a function of
/// extents alone. Stated in ARCHITECTURE.md, "Numbers".
struct Numerics {
  /// A product that only one sum uses is rounded together with it. The one number that differs between CPU levels, the
  /// lowest of which has no such instruction, and between GPUs.
  bool fused_multiply_add = true;
  /// kir::ReduceOrder::kLanes adds in vectors of so many bytes, on every machine...
  int64_t reduce_lane_bytes = 64;
  /// ... and in so many of them side by side.
  int64_t reduce_accumulators = 4;
  /// Reductions of at most so many elements are written out as plain operations in ascending order.
  int64_t written_out_reduce = 16;
  /// Matrix times vector adds in so many lanes of f32 (kernels::GemmOrder::kLanes64), from as deep a product on.
  int64_t product_lanes = 64;
  /// Products of at most so many multiplications are written out, with sums of at most so many terms each.
  int64_t written_out_product = 128;
  int64_t written_out_terms = 16;

  /// A reduction of more elements than `long_sum` to at most `long_sum_results` results is cut into blocks of about
  /// `long_sum_block` elements, which are reduced first. A block is a number of rows of one of its dims, which divides
  /// that, with all that is inside of them: of a multiple of `long_sum_aligned` elements, of several dims any if need
  /// be. Where no block from `long_sum_min_block` to `long_sum` divides it, blocks have about `long_sum_uneven_block`
  /// elements and the last one what is left.
  int64_t long_sum = 64 << 10;
  int64_t long_sum_results = 64;
  int64_t long_sum_block = 16 << 10;
  int64_t long_sum_min_block = 1024;
  int64_t long_sum_uneven_block = 8 << 10;
  int64_t long_sum_aligned = 64;
  /// Of several reduced dims the inner ones go first, if they leave at least so many elements to add.
  int64_t long_sum_rest = 8;
  /// Sums of at least `tall_rows` rows of at least `tall_columns` columns and `tall_elements` elements are cut into
  /// `tall_blocks` blocks of rows, or up to four times as many where that divides the rows. Rows that run over several
  /// neighbouring dims are cut along one of them: for each index of the dims before it, into as many equal parts as
  /// make at least `tall_blocks` and at most four times as many blocks in all, the fewest first; the first dim that
  /// divides so is taken.
  int64_t tall_rows = 512;
  int64_t tall_columns = 64;
  int64_t tall_elements = 1 << 20;
  int64_t tall_blocks = 16;
  /// Sums of floats over at least `strip_rows` rows of 2 to `short_row` - 1 elements add strips of rows first: as many
  /// rows as have `strip` elements, or fewer than twice as many where that divides the rows.
  int64_t strip_rows = 512;
  int64_t short_row = 32;
  int64_t strip = 64;

  /// Scans of more elements than `long_scan` are cut into blocks of at most `scan_block`; windows of fewer than
  /// `short_scan` elements are written out.
  int64_t long_scan = 256;
  int64_t short_scan = 8;
  int64_t scan_block = 64;
  /// Windows that reach to the high end and have more elements are a scan from there, by any function of two arguments
  /// that is the same either way: those that are written out are bound to associate, but not all that do not are found
  /// out, so that in shorter windows elements meet from the low end on, however often.
  int64_t long_window = 1024;
  /// Windows of more elements, whose combiner does not mind the order, run along one dim after the other.
  int64_t window_in_passes = 9;
  /// Elements of other windows, and taps of a convolution, that are written out at most.
  int64_t written_out_window = 64;
  int64_t written_out_taps = 128;
  friend bool operator==(const Numerics&, const Numerics&) = default;
};

struct Target {
  /// "cpu:avx2", "cpu:avx512:cores=4", "gpu:discrete": what TargetByName takes. A host's own target has the same form
  /// of name; one of an opened device is "gpu:" and the name in its facts.
  std::string name;
  Kind kind = Kind::kCpu;
  /// The instruction set's level by name, and the features that code for it may use, sorted.
  std::string isa;
  std::vector<std::string> features;

  int64_t vector_bytes = 0;      ///< One vector register; on a GPU, a subgroup's lanes times 4.
  int64_t vector_registers = 0;  ///< Of that size.
  int64_t mask_registers = 0;    ///< Separate ones for predicates; 0: they live in vector registers.
  int64_t group_lanes = 1;       ///< Threads that share local memory at most (a GPU's workgroup).

  std::vector<CacheLevel> caches;
  int64_t cores = 1;  ///< That this process may use.

  double clock_ghz = 0;
  double core_bytes_per_ns = 0;     ///< One core, from memory.
  double machine_bytes_per_ns = 0;  ///< All cores together, from memory.
  double cached_bytes_per_ns = 0;   ///< One core, from its caches.
  double core_flops_per_ns = 0;     ///< One core, in a dense f32 product.
  double launch_ns = 0;             ///< To start one step: bind its arguments and jump there.

  std::vector<DType> types;         ///< That kernels reckon in.
  std::vector<MemorySpace> spaces;  ///< The default one first.

  Numerics numerics;
  KernelLimits limits;
  OpCosts costs;

  DeviceFacts device;  ///< Of a GPU; the defaults for others.

  friend bool operator==(const Target&, const Target&) = default;
  bool HasFeature(std::string_view feature) const;
  bool HasType(DType type) const;
  /// The cache of that number (0 is the nearest), or the last one; zeros when there is none.
  CacheLevel Cache(size_t level) const;
};

/// The target for "cpu:sse4", "cpu:avx2" or "cpu:avx512", with ":cores=N" behind it or not: a middling machine of that
/// level, the same wherever it is asked for; or for "gpu:NAME" (GpuFacts). INVALID_ARGUMENT naming the choices for any
/// other name.
Result<Target> TargetByName(std::string_view name);
/// The same by level ("avx2"), of `cores` cores. Cores that nobody names are kDefaultCores.
Result<Target> CpuTarget(std::string_view level, int64_t cores = 0);
inline constexpr int64_t kDefaultCores = 8;
inline constexpr int64_t kMaxCores = 1024;

/// The target of a device that answered so.
Target GpuTarget(const DeviceFacts& facts);
/// Of a device that there may be, for tests of compilers: "least" (what every GPU has), "software" (kernels run on a
/// CPU's cores), "integrated" or "discrete". INVALID_ARGUMENT naming these for any other name.
Result<DeviceFacts> GpuFacts(std::string_view name);

/// The device's unit for products of `in` that are summed in `out`; null: there is none.
const MatrixUnit* FindMatrixUnit(const DeviceFacts& facts, DType in, DType out);

/// CpuTarget("avx512"), for whoever does not say what he compiles for. Lives for the process.
const std::shared_ptr<const Target>& StandardTarget();

/// Whether a program compiled for one gives the same bits as one compiled for the other.
bool SameBits(const Target& a, const Target& b);
/// OK when code that was made for `wanted` runs on `found`; FAILED_PRECONDITION naming both and the missing features.
/// Code for a GPU runs on devices of the same facts only.
Status CheckRuns(const Target& wanted, const Target& found);

/// The text form, complete: Parse(Print(t)) == t. One "name value" per line.
std::string Print(const Target& target);
/// INVALID_ARGUMENT names the line or what is missing.
Result<Target> Parse(std::string_view text);
Hash128 Hash(const Target& target);

}  // namespace tenon::target
