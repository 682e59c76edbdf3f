#include "tenon/kernels/gemm/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tenon/kernels/gemm/internal/costs.h"
#include "tenon/kernels/gemm/internal/kernel.h"

namespace tenon::kernels {
namespace {

constexpr double kCacheBytes = 8 << 20;  // Operands of more come from memory.

// Products of more would run for weeks; counts of bytes and steps below it fit int64.
constexpr double kMaxElements = 7.2e16;

uint64_t Mix(uint64_t h, uint64_t x) {
  h ^= x + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdu;
  return h ^ (h >> 32);
}

bool HasKernel(DType operands, DType c) {
  switch (operands) {
    case DType::kF32:
    case DType::kF64:
    case DType::kS32:
    case DType::kU32:
      return c == operands;
    case DType::kBF16:
    case DType::kF16:
      return c == operands || c == DType::kF32;
    case DType::kS8:
    case DType::kU8:
    case DType::kS16:
      return c == DType::kS32;
    default:
      return false;
  }
}

Status VerifyExtents(const GemmSignature& s) {
  double count = 1;
  const auto check = [&](const char* name, int64_t extent) -> Status {
    if (extent < 0) return InvalidArgument(fmt::format("gemm: {} is {}, wanted at least 0", name, extent));
    count *= static_cast<double>(std::max<int64_t>(extent, 1));
    return OkStatus();
  };
  TENON_RETURN_IF_ERROR(check("m", s.m));
  TENON_RETURN_IF_ERROR(check("n", s.n));
  TENON_RETURN_IF_ERROR(check("k", s.k));
  for (const GemmBatchDim& dim : s.batch) TENON_RETURN_IF_ERROR(check("a batch extent", dim.extent));
  if (count > kMaxElements) return InvalidArgument(fmt::format("gemm: extents are too large: {}", ToString(s)));
  return OkStatus();
}

}  // namespace

int64_t GemmSignature::batch_count() const {
  int64_t count = 1;
  for (const GemmBatchDim& dim : batch) count *= dim.extent;
  return count;
}

GemmSignature DenseGemm(DType a, DType b, DType c, int64_t m, int64_t n, int64_t k) {
  GemmSignature s;
  s.a_type = a;
  s.b_type = b;
  s.c_type = c;
  s.m = m;
  s.n = n;
  s.k = k;
  s.a_row_stride = k;
  s.b_row_stride = s.c_row_stride = n;
  s.a_col_stride = s.b_col_stride = s.c_col_stride = 1;
  return s;
}

uint64_t HashOf(const GemmSignature& s) {
  uint64_t h = static_cast<uint64_t>(s.a_type) << 24 | static_cast<uint64_t>(s.b_type) << 16 |
               static_cast<uint64_t>(s.c_type) << 8 | static_cast<uint64_t>(s.accumulate);
  for (int64_t x : {s.m, s.n, s.k, s.a_row_stride, s.a_col_stride, s.b_row_stride, s.b_col_stride, s.c_row_stride,
                    s.c_col_stride}) {
    h = Mix(h, static_cast<uint64_t>(x));
  }
  for (const GemmBatchDim& dim : s.batch) {
    for (int64_t x : {dim.extent, dim.a_stride, dim.b_stride, dim.c_stride}) h = Mix(h, static_cast<uint64_t>(x));
  }
  return h;
}

std::string ToString(const GemmSignature& s) {
  std::string text = fmt::format("gemm {} {} -> {} m={} n={} k={} a=[{},{}] b=[{},{}] c=[{},{}]", DTypeName(s.a_type),
                                 DTypeName(s.b_type), DTypeName(s.c_type), s.m, s.n, s.k, s.a_row_stride,
                                 s.a_col_stride, s.b_row_stride, s.b_col_stride, s.c_row_stride, s.c_col_stride);
  std::string batch;
  for (const GemmBatchDim& dim : s.batch) {
    if (dim == GemmBatchDim()) continue;
    batch +=
        fmt::format("{}{}:{},{},{}", batch.empty() ? "" : " ", dim.extent, dim.a_stride, dim.b_stride, dim.c_stride);
  }
  if (!batch.empty()) text += fmt::format(" batch=[{}]", batch);
  if (s.accumulate) text += " accumulate";
  return text;
}

Status Verify(const GemmSignature& s) {
  TENON_RETURN_IF_ERROR(VerifyExtents(s));
  if (s.a_type != s.b_type || !HasKernel(s.a_type, s.c_type)) {
    return Unimplemented(
        fmt::format("gemm: no kernel for {} {} -> {}", DTypeName(s.a_type), DTypeName(s.b_type), DTypeName(s.c_type)));
  }
  return OkStatus();
}

GemmOrder OrderOf(const GemmSignature& s) {
  if (s.a_type == DType::kBF16) return GemmOrder::kHalves;
  return s.a_type == DType::kF32 && (s.m == 1 || s.n == 1) && s.k >= 64 ? GemmOrder::kLanes64 : GemmOrder::kChain;
}

BetterLaid BetterLaidOf(const GemmSignature& s, size_t operand) {
  const bool of_a = operand == 0;
  const int64_t rows = of_a ? s.m : s.n, others = of_a ? s.n : s.m;
  const DType type = of_a ? s.a_type : s.b_type;
  const int64_t inside = of_a ? s.a_col_stride : s.b_row_stride, outside = of_a ? s.a_row_stride : s.b_col_stride;
  // Of what comes from memory the order matters little, and a copy takes as much again.
  constexpr int64_t kMostBytes = 8 << 20;
  const int64_t bytes = rows * s.k * ByteWidth(type);
  if (others != 1 || rows <= 1) return BetterLaid::kAsItIs;
  if (OrderOf(s) == GemmOrder::kLanes64)
    return inside == 1 || bytes > kMostBytes ? BetterLaid::kAsItIs : BetterLaid::kDepthInside;
  // Narrower types are packed as tiles want them.
  const bool by_columns = OrderOf(s) == GemmOrder::kChain && ByteWidth(type) >= 4 && bytes <= internal::kCloseBytes;
  return by_columns && outside != 1 ? BetterLaid::kDepthOutside : BetterLaid::kAsItIs;
}

namespace internal {

GemmSignature Transposed(GemmSignature s) {
  std::swap(s.a_type, s.b_type);
  std::swap(s.m, s.n);
  std::swap(s.a_row_stride, s.b_col_stride);
  std::swap(s.a_col_stride, s.b_row_stride);
  std::swap(s.c_row_stride, s.c_col_stride);
  for (GemmBatchDim& dim : s.batch) std::swap(dim.a_stride, dim.b_stride);
  return s;
}

bool IsMatrixWithFew(const GemmSignature& s) {
  if (s.a_type != DType::kF32 || s.a_col_stride != 1 || s.n < 2) return false;
  // Panels of 8 or 16 columns take the same time for any number of them: deeper squares pay for more vectors, and two
  // groups of them only for what comes from memory.
  constexpr int64_t kLeastRows = 16, kHalfGroup = kFewVectors / 2;
  constexpr int64_t kDepthOfHalf = 48, kDepthOfGroup = 256, kDepthOfTwo = 2048;
  const bool far = 4.0 * static_cast<double>(s.m) * static_cast<double>(s.k) > kCacheBytes;
  return s.m >= kLeastRows && (s.n <= kHalfGroup    ? s.k >= kDepthOfHalf
                               : s.n <= kFewVectors ? s.k >= kDepthOfGroup
                                                    : far && s.n <= 2 * kFewVectors && s.k >= kDepthOfTwo);
}

double FewCycles(const GemmSignature& s) {
  // Of an element: to be turned, once per group of vectors, and to be multiplied with a vector's; and around a row.
  constexpr double kTurn = 0.28, kMultiply = 0.0625, kRow = 9;
  const double elements = static_cast<double>(s.m) * static_cast<double>(s.k), groups = s.n > kFewVectors ? 2 : 1;
  return static_cast<double>(s.batch_count()) * (kMatrixCycles + kRow * static_cast<double>(s.m) +
                                                 elements * (kTurn * groups + kMultiply * static_cast<double>(s.n)));
}

}  // namespace internal

namespace {

bool IsVector(const GemmSignature& s) { return s.m == 1 || s.n == 1; }
bool HasVectorKernel(const GemmSignature& s) { return IsVector(s) && s.a_type == DType::kF32; }
// Whether it sums chains along rows that lie one by one: vectors of rows have to be turned for it.
bool TurnsRows(const GemmSignature& s) {
  const bool along = s.n == 1 ? s.a_col_stride == 1 && s.a_row_stride != 1 : s.b_row_stride == 1 && s.b_col_stride != 1;
  return HasVectorKernel(s) && along && OrderOf(s) == GemmOrder::kChain;
}

// Whether a vector's chains run side by side, in the product or its transpose.
bool GoesByColumns(const GemmSignature& s) {
  return OrderOf(s) == GemmOrder::kChain && ByteWidth(s.a_type) >= 4 &&
         (internal::IsVectorByColumns(s) || internal::IsVectorByColumns(internal::Transposed(s)));
}

constexpr double kFlopsPerCycle = 32;  // Of full tiles.

// The product, or C^T = B^T A^T, where that is a matrix with few vectors.
std::optional<GemmSignature> AsMatrixWithFew(const GemmSignature& s) {
  if (internal::IsMatrixWithFew(s)) return s;
  const GemmSignature turned = internal::Transposed(s);
  if (internal::IsMatrixWithFew(turned)) return turned;
  return std::nullopt;
}

// Of f32 multiplications: what the product takes, with tiles that its extents do not fill counted as if they did. The
// sums of a single row wait for one another.
double FlopsInTiles(const GemmSignature& s, double flops) {
  constexpr double kRowsAtOnce = 4;
  // What full tiles would do meanwhile, per row that is turned and per multiplication; measured for k from 20 to 56.
  constexpr double kTurnedRow = 160, kTurned = 2;
  if (TurnsRows(s)) return kTurnedRow * flops / static_cast<double>(2 * std::max<int64_t>(1, s.k)) + kTurned * flops;
  if (const std::optional<GemmSignature> few = AsMatrixWithFew(s)) return kFlopsPerCycle * internal::FewCycles(*few);
  const double n = static_cast<double>(s.n);
  // Panels of 16 columns; a last one of at most 8 fills half a vector.
  constexpr double kHalfPanel = 16 * internal::kHalfPass;
  const int64_t rest = s.n % 16;
  const double cols = static_cast<double>(s.n - rest) + (rest == 0                       ? 0
                                                         : rest <= 8 && s.n % 32 == rest ? kHalfPanel
                                                                                         : 16);
  const double fill =
      HasVectorKernel(s) || GoesByColumns(s) ? 1 : cols / std::max(n, 1.0) * (s.m == 1 ? kRowsAtOnce : 1);
  const double per_word = s.a_type == DType::kF64                               ? 0.5
                          : ByteWidth(s.a_type) == 1                            ? 4
                          : s.a_type == DType::kS16 || s.a_type == DType::kBF16 ? 2
                                                                                : 1;
  return flops * fill / per_word;
}

}  // namespace

GemmCost EstimateCost(const GemmSignature& s) {
  // A current core at 512 bits: about 100 Gflop/s in f32; 12 GB/s from memory, 50 GB/s while everything fits into L2
  // and L3.
  constexpr double kFlopsPerNs = 100, kMemoryBytesPerNs = 12, kCacheBytesPerNs = 50, kCallNs = 100;
  const double batch = static_cast<double>(s.batch_count());
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  GemmCost cost;
  cost.flops = 2 * m * n * k * batch;
  cost.bytes = batch * (m * k * ByteWidth(s.a_type) + k * n * ByteWidth(s.b_type) +
                        m * n * ByteWidth(s.c_type) * (s.accumulate ? 2 : 1));
  const double memory_ns = cost.bytes / (cost.bytes > kCacheBytes ? kMemoryBytesPerNs : kCacheBytesPerNs);
  cost.time_ns = kCallNs + std::max(memory_ns, FlopsInTiles(s, cost.flops) / kFlopsPerNs);
  return cost;
}

target::Work WorkOf(const GemmSignature& s) {
  constexpr double kCallCycles = 250;   // Cutting, packing of the first strip.
  constexpr double kPlainCycles = 100;  // Where there is neither.
  constexpr double kVectorCycles = 75;  // kMatrixCycles of a vector, with fewer loops.
  const GemmCost cost = EstimateCost(s);
  target::Work work;
  work.launches = 1;
  work.serial =
      (GoesByColumns(s) ? kPlainCycles : kCallCycles) +
      (HasVectorKernel(s) ? kVectorCycles : internal::kMatrixCycles) * static_cast<double>(s.batch_count() - 1);
  // Narrow types are packed as tiles want them, which for a vector is most of the work.
  constexpr double kPackCycles = 0.8, kPanelCols = 32;
  // Of a matrix both sides are: 100 products of 3 to 30 rows of 4 to 40 terms took 150 to 400 ns each.
  constexpr double kPackMatrixCycles = 200, kPackRowCycles = 16, kPackColumnCycles = 0.35;
  if (ByteWidth(s.a_type) < 4) {
    const double cols = std::ceil(static_cast<double>(s.n) / kPanelCols) * kPanelCols;
    const double m = static_cast<double>(s.m), k = static_cast<double>(s.k);
    work.serial +=
        static_cast<double>(s.batch_count()) *
        (IsVector(s) ? kPackCycles * k * (m + cols)
                     : kPackMatrixCycles + m * (kPackRowCycles + kPackCycles * k) + kPackColumnCycles * k * cols);
  }
  work.flops = FlopsInTiles(s, cost.flops);
  (cost.bytes > kCacheBytes ? work.bytes_read : work.bytes_cached) = cost.bytes;
  return work;
}

}  // namespace tenon::kernels
