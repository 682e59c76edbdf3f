#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/drivers/problem.h"
#include "tenon/threads/pool.h"

namespace tenon::kernels {

using FftKind = drivers::FourierTransform::Kind;

/// Discrete Fourier transforms over the last `lengths.size()` dimensions (1 to 3) of dense row-major arrays, as
/// stablehlo.fft defines them: forward with exp(-2 pi i / n), inverses divided by the number of elements. kRealForward
/// takes reals and gives the first n/2 + 1 places of the last dimension; kRealInverse takes those and gives reals.
struct FftSignature {
  FftKind kind = FftKind::kForward;
  DType real_type = DType::kF32;  ///< f32 or f64: c64 or c128 beside it.
  Dims in, out;                   ///< Extents.
  Dims lengths;
};

/// INVALID_ARGUMENT when the extents do not belong together, UNIMPLEMENTED for other types.
Result<FftSignature> MakeFftSignature(FftKind kind, const Shape& in, const Shape& out, const Dims& lengths);

/// Estimate in ns on one thread.
double EstimateFftNs(const FftSignature& s);
/// Multiplications and additions, as usually counted: 5 n log2(n) per complex line of n.
double FftFlops(const FftSignature& s);

/// A signature with its tables of roots of unity, made once.
class Fft {
 public:
  explicit Fft(const FftSignature& signature);
  ~Fft();
  Fft(Fft&&) noexcept;

  /// `in` and `out` do not overlap. Thread-safe. Bits depend on the signature and the values alone. RESOURCE_EXHAUSTED
  /// without scratch.
  Status Run(const void* in, void* out, threads::ThreadPool& pool) const;

 private:
  struct Tables;
  FftSignature signature_;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace tenon::kernels
