#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/base/small_vector.h"
#include "tenon/base/status.h"
#include "tenon/drivers/tile.h"
#include "tenon/isa/isa.h"
#include "tenon/kernels/gemm/signature.h"
#include "tenon/threads/pool.h"

namespace tenon::kernels {

using GemmTile = drivers::Tile;
using GemmHook = drivers::TileHook;

struct GemmHooks {
  /// Writes the whole tile of A ([m, k]) or B ([k, n]), in the operand's own type, in place of the driver reading it
  /// from memory (`a`, `b` may be null then). A tile may be asked for more than once. Its col_stride is 1, but for
  /// GemmHookSet::a_by_columns.
  GemmHook pack_a;
  GemmHook pack_b;
  /// Gets every element of C ([m, n]) exactly once, after its sum is complete, in place: bias, activation, residual.
  /// Tiles are whole strips of rows, at most 64 KiB, recently written. One of the strides is 1 unless both strides of C
  /// differ from 1. Also called when k is 0.
  GemmHook finish;
};

struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;  ///< Must overlap neither A nor B, nor itself.
};

/// Where the elements of an operand lie that is no matrix in memory, such as patches of an image: its row (A) or column
/// (B) x and k's element p at the sum of what `axes` say of x and depth[p]. Strides of the signature are not looked at,
/// those of the batch are. Offsets count elements as they are multiplied: f32 for bf16 and f16 (ToPlacedElements).
struct GemmPlaces {
  struct Axis {
    int64_t extent = 1, stride = 0;
  };
  SmallVector<Axis, 5>
      axes;  ///< Outermost first; their extents multiply to m (A) or n. Of B's at most one, of stride 1.
  std::vector<int64_t> depth;  ///< k of them.
};

/// Which hooks the runs of a product bring.
struct GemmHookSet {
  bool pack_a = false, pack_b = false, finish = false;
  /// Columns of A are what pack_a has at hand as runs: its tiles may have a row_stride of 1 in place of the col_stride.
  bool a_by_columns = false;
  /// Sums go in GemmOrder::kChain also where m or n is 1.
  bool in_chains = false;
  /// What lies apart; such an operand has no hook. TakesPlaces says where it may be asked for.
  std::shared_ptr<const GemmPlaces> a_places = nullptr, b_places = nullptr;
};

/// Whether products of `type` have a kernel for operands that lie apart, beside one that lies as a matrix. Where m or n
/// is 1 it has to be `in_chains`.
struct GemmTakesPlaces {
  bool a = false, b = false;
  double slower = 1;  ///< So many times as long as for a matrix an A's multiplications take.
};
GemmTakesPlaces TakesPlaces(DType type, isa::IsaLevel level = isa::ActiveIsa());
/// Bytes of an element as it is multiplied by the kernel for `type`, and `count` elements turned into such ones.
int64_t PlacedBytes(DType type);
void ToPlacedElements(DType type, const void* from, int64_t from_stride, int64_t count, void* to,
                      isa::IsaLevel level = isa::ActiveIsa());

/// A product bound once and run often: what follows from its signature, the instruction set and the caches is settled.
/// Immutable and thread-safe.
class BoundGemm {
 public:
  /// Errors: those of Verify; UNIMPLEMENTED without a kernel for `level`; INVALID_ARGUMENT for places that do not
  /// belong to the product.
  static Result<BoundGemm> Create(const GemmSignature& s, const GemmHookSet& hooked,
                                  isa::IsaLevel level = isa::ActiveIsa());
  ~BoundGemm();
  BoundGemm(BoundGemm&&) noexcept;
  BoundGemm& operator=(BoundGemm&&) noexcept;

  /// Cycles of one core that a run takes, about, where neither m nor n is 1: to compare ways to say one product.
  double EstimateCycles() const;

  /// As Gemm; `hooks` has exactly those of Create.
  Status Run(const GemmOperands& operands, const GemmHooks& hooks, threads::ThreadPool& pool) const;

 private:
  struct Form;
  explicit BoundGemm(std::unique_ptr<const Form> form);
  std::unique_ptr<const Form> form_;
};

/// Computes `s` over `operands` (pointers to element (0, 0) of matrix 0; element alignment is enough), on the calling
/// thread and `pool`. A product of less than about 40 us stays on the caller. Bits depend on the values, m, n and k
/// only (see GemmOrder): not on strides, `level` (from kAvx2 up; kSse4 rounds each product), thread count or the
/// presence of hooks. NaN results are NaN; which NaN is unspecified. k == 0 yields zeros, or leaves C when
/// accumulating; C is read only when accumulating.
///
/// Error per element of f32: |error| <= (k + 2) * eps * (|A| @ |B|), subnormals aside; the float state is the caller's.
/// Errors: those of Verify. Scratch is recycled, nothing is allocated once warm.
Status Gemm(const GemmSignature& s, const GemmOperands& operands, const GemmHooks& hooks, threads::ThreadPool& pool,
            isa::IsaLevel level = isa::ActiveIsa());

/// Name of the micro-kernel that Gemm uses for `s` at `level` ("gemm_f32_14x32_avx512"); empty when Verify fails.
const char* GemmKernelName(const GemmSignature& s, isa::IsaLevel level);

}  // namespace tenon::kernels
