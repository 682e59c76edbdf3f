#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tenon/base/dtype.h"
#include "tenon/base/status.h"
#include "tenon/target/work.h"

namespace tenon::kernels {

/// One batch dimension: how many, and how far apart, in elements, the matrices of each operand lie along it. A stride
/// of 0 shares one matrix of A or B.
struct GemmBatchDim {
  int64_t extent = 1;
  int64_t a_stride = 0;
  int64_t b_stride = 0;
  int64_t c_stride = 0;
  friend bool operator==(const GemmBatchDim&, const GemmBatchDim&) = default;
};
inline constexpr int kMaxGemmBatchDims = 4;

/// What a matrix product is, as plain data: C = A @ B, or C += A @ B, for every index of the batch dimensions.
///   A: [m, k], B: [k, n], C: [m, n]; all strides in elements, any order (a transpose is a swap of strides), negative
///   allowed.
/// Sums are in f32 for f32, bf16 and f16, in f64 for f64, and modulo 2^32 for integers.
struct GemmSignature {
  DType a_type = DType::kF32;
  DType b_type = DType::kF32;
  DType c_type = DType::kF32;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row_stride = 0, a_col_stride = 0;
  int64_t b_row_stride = 0, b_col_stride = 0;
  int64_t c_row_stride = 0, c_col_stride = 0;
  std::array<GemmBatchDim, kMaxGemmBatchDims> batch;
  bool accumulate = false;

  int64_t batch_count() const;
  friend bool operator==(const GemmSignature&, const GemmSignature&) = default;
};

/// Dense row-major operands without batch dimensions.
GemmSignature DenseGemm(DType a, DType b, DType c, int64_t m, int64_t n, int64_t k);

/// Equal signatures hash equal, on every machine.
uint64_t HashOf(const GemmSignature& s);
/// "gemm f32 f32 -> f32 m=64 n=32 k=16 a=[16,1] b=[32,1] c=[32,1] batch=[8:1024,512,2048] accumulate"
std::string ToString(const GemmSignature& s);

/// INVALID_ARGUMENT for negative extents or an element count beyond 2^56; UNIMPLEMENTED for element types without a
/// kernel. Implemented, for operands of one type: f32, f64, s32, u32 -> the same; bf16, f16 -> the same or f32; s8, u8,
/// s16 -> s32.
Status Verify(const GemmSignature& s);

/// The order in which the k products of one element of C are summed. It depends on type, m, n and k alone, so it is the
/// same for every layout, instruction set and thread count. Sums of integers are exact modulo 2^32: their order does
/// not show.
enum class GemmOrder : uint8_t {
  /// acc = 0, or C's element when accumulating; then acc = fma(a[i,p], b[p,j], acc) for p = 0, 1 ... k-1. An f16 C is
  /// rounded once,
  /// at the end.
  kChain,
  /// f32 when m or n is 1 and k at least 64: 64 lanes, lane l starting at 0 and taking p = l, l+64, l+128 ... by fma;
  /// then lane l += lane l+32 for
  /// l < 32, likewise 16, 8, 4, 2 and 1; lane 0 is the product, added to C's element when accumulating.
  kLanes64,
  /// bf16: acc = 0, or C's element when accumulating. k is taken in blocks of 32, the last one filled up with zeros. Of
  /// a block, even = fma(a[i,p], b[p,j], even) from 0 for p = 0, 2 ... 30, odd likewise for p = 1, 3 ... 31, then
  /// acc = acc + (even + odd), all in f32. A bf16 C is rounded once, at the end. Holds in the compute float state
  /// (threads/flush_denormals.h): the instructions for it on newer CPUs flush subnormals in any state.
  kHalves,
};
GemmOrder OrderOf(const GemmSignature& s);
/// How a matrix in caches better lies that is multiplied with a vector, where it does not lie so: with k's
/// elements side by side, so that the lanes of a sum need not wait for one another, or with its rows or columns, so
/// that chains run side by side.
enum class BetterLaid : uint8_t { kAsItIs, kDepthInside, kDepthOutside };
/// Of operand 0 (A) or 1 (B).
BetterLaid BetterLaidOf(const GemmSignature& s, size_t operand);

/// What a product costs, for those who decide about fusion, threads and inline execution.
struct GemmCost {
  double flops = 0;  ///< 2 * m * n * k * batch.
  double bytes = 0;  ///< Operands read once, C written once.
  double time_ns =
      0;  ///< On one thread of a current core at 512-bit vectors, packing included. Within a factor of two.
};
GemmCost EstimateCost(const GemmSignature& s);
/// The same as work: arithmetic with unfilled tiles counted in, and in units of f32.
target::Work WorkOf(const GemmSignature& s);

struct GemmSignatureHasher {
  size_t operator()(const GemmSignature& s) const { return static_cast<size_t>(HashOf(s)); }
};

}  // namespace tenon::kernels
