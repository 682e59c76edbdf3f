#pragma once

#include <cstdint>
#include <memory>

#include "tenon/base/dtype.h"
#include "tenon/base/shape.h"
#include "tenon/base/small_vector.h"
#include "tenon/base/status.h"
#include "tenon/base/strided_array.h"
#include "tenon/drivers/problem.h"
#include "tenon/target/work.h"
#include "tenon/threads/pool.h"

namespace tenon::kernels {
namespace internal {
/// How patches are read: as suits best, or packed strip by strip.
enum class Way : uint8_t { kAny, kPacked };
}  // namespace internal

/// One spatial dimension. The window's element k at output o sees the input's element p / in_dilation, where
/// p = o * stride + k' * window_dilation - low and k' is k, or window - 1 - k when reversed; it sees 0 where p /
/// in_dilation is no element.
struct ConvDim {
  int64_t in = 1, window = 1, out = 1;
  int64_t stride = 1, low = 0, in_dilation = 1, window_dilation = 1;
  bool reversed = false;
  int64_t in_stride = 0, weight_stride = 0, out_stride = 0;
};

/// A convolution as plain data: for every group g, image n, output channel c and place o,
///   out[g, n, c, o] = sum over window k and input channel i of in[g, n, i, place(o, k)] * weights[g, c, i, k].
/// Channel counts are those of one group. Strides in elements, none of `out` zero where its extent is not 1. Types as
/// kernels::Gemm takes them.
struct ConvSignature {
  DType type = DType::kF32;
  DType out_type = DType::kF32;
  int64_t batch = 1, groups = 1, in_channels = 1, out_channels = 1;
  int64_t in_batch_stride = 0, in_channel_stride = 0, in_group_stride = 0;
  int64_t weight_in_stride = 0, weight_out_stride = 0, weight_group_stride = 0;
  int64_t out_batch_stride = 0, out_channel_stride = 0, out_group_stride = 0;
  SmallVector<ConvDim, 3> dims;  ///< At most 3.
};

/// INVALID_ARGUMENT when the extents do not belong together, or places leave 2^61; UNIMPLEMENTED for types without a
/// product and more than 3 spatial dimensions. A signature made here reaches only elements of its operands.
Result<ConvSignature> MakeConvSignature(const drivers::Convolution& numbers, const StridedArray& in,
                                        const StridedArray& weights, const StridedArray& out);

/// Whether the weights' window and input channels lie one after another in some order, as Conv wants them, and whether
/// that order suits the way the input is read. Otherwise copy them first, to a layout with the output channels
/// innermost, then the input channels, then the window.
bool WeightsSuit(const ConvSignature& s);

/// Estimate in ns on one thread.
double EstimateConvNs(const ConvSignature& s);
target::Work WorkOf(const ConvSignature& s);
/// Multiplications and additions, those with padding included.
double ConvFlops(const ConvSignature& s);

/// A convolution bound once and run often, over pointers to the operands' elements 0; `out` overlaps neither of the
/// others. The products of one output element are summed as by kernels::Gemm over k = window * in_channels, in the
/// order in which they lie in the weights, or, of a single output channel whose places are adjacent in input and
/// output, in GemmOrder::kChain; places outside of the input count as products with 0, holes of a dilated input as
/// nothing. Immutable.
class BoundConv {
 public:
  /// INVALID_ARGUMENT when !WeightsSuit for reasons of order.
  static Result<BoundConv> Create(const ConvSignature& s);
  /// The same with a way of our choice: for tests, since no bit depends on it.
  static Result<BoundConv> CreateWith(const ConvSignature& s, internal::Way way);
  ~BoundConv();
  BoundConv(BoundConv&&) noexcept;

  /// RESOURCE_EXHAUSTED without scratch. Thread-safe.
  Status Run(const void* in, const void* weights, void* out, threads::ThreadPool& pool) const;

 private:
  struct Form;
  explicit BoundConv(std::unique_ptr<const Form> form);
  std::unique_ptr<const Form> form_;
};

/// The same once.
Status Conv(const ConvSignature& s, const void* in, const void* weights, void* out, threads::ThreadPool& pool);

}  // namespace tenon::kernels
