// fft: the definition as a sum, halved as long as the length has factors.

#include <complex>
#include <numbers>
#include <vector>

#include "tenon/reference/attributes.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

using Wide = std::complex<long double>;
using Line = std::vector<Wide>;

// exp(sign * 2 pi i * k / n) for k < n.
Line RootsOfUnity(int64_t n, int sign) {
  Line roots(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
    roots[static_cast<size_t>(k)] = {std::cos(angle), sign * std::sin(angle)};
  }
  return roots;
}

// The transform of `x`, whose length n divides the number of roots: split by the smallest prime factor p into p
// interleaved transforms of length n / p.
Line Transform(const Line& x, const Line& roots) {
  const size_t n = x.size(), step = roots.size() / std::max<size_t>(n, 1);
  if (n <= 1) return x;
  size_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  if (n % p != 0) p = n;
  const size_t m = n / p;
  std::vector<Line> parts(p, Line(m));
  for (size_t i = 0; i < n; ++i) parts[i % p][i / p] = x[i];
  if (m > 1) {
    for (Line& part : parts) part = Transform(part, roots);
  }
  Line out(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t r = 0; r < p; ++r) out[k] += roots[r * k % n * step] * parts[r][k % m];
  }
  return out;
}

// Transforms along dimension d of the row-major array `data`.
void TransformAlong(std::vector<Wide>& data, std::span<const int64_t> dims, size_t d, int sign) {
  const int64_t n = dims[d];
  const Line roots = RootsOfUnity(n, sign);
  const Dims strides = RowMajorStridesElems(dims);
  Dims others(dims.begin(), dims.end());
  others[d] = 1;
  Line line(static_cast<size_t>(n));
  ForEachIndex(Span(others), [&](std::span<const int64_t> index) {
    const int64_t base = Dot(index, Span(strides));
    for (int64_t k = 0; k < n; ++k) line[static_cast<size_t>(k)] = data[static_cast<size_t>(base + k * strides[d])];
    const Line result = Transform(line, roots);
    for (int64_t k = 0; k < n; ++k) data[static_cast<size_t>(base + k * strides[d])] = result[static_cast<size_t>(k)];
  });
}

// Copies what two arrays that differ in the last extent have in common.
std::vector<Wide> WithLastExtent(const std::vector<Wide>& data, int64_t from, int64_t to) {
  const int64_t rows = from == 0 ? 0 : static_cast<int64_t>(data.size()) / from;
  std::vector<Wide> out(static_cast<size_t>(rows * to));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < std::min(from, to); ++k)
      out[static_cast<size_t>(r * to + k)] = data[static_cast<size_t>(r * from + k)];
  }
  return out;
}

// The bins of a real signal of length n, of which data holds the first n/2 + 1: the rest are conjugates. Bins that must
// be real are.
std::vector<Wide> FullSpectrum(const std::vector<Wide>& data, int64_t half, int64_t n) {
  std::vector<Wide> out = WithLastExtent(data, half, n);
  const int64_t rows = n == 0 ? 0 : static_cast<int64_t>(out.size()) / n;
  for (int64_t r = 0; r < rows; ++r) {
    Wide* bins = out.data() + r * n;
    bins[0] = bins[0].real();
    if (n % 2 == 0) bins[n / 2] = bins[n / 2].real();
    for (int64_t k = n / 2 + 1; k < n; ++k) bins[k] = std::conj(bins[n - k]);
  }
  return out;
}

Status Fft(OpContext& context) {
  const FftKind kind = FftKindOf(context.op);
  const Dims lengths = IntsAttr(context.op, "fft_length");
  const size_t rank = context.in(0).rank(), first = rank - lengths.size();
  TENON_ASSIGN_OR_RETURN(Value operand, ConvertTo(context.in(0), DType::kC128));
  Shape shape{context.result_shape().dtype, operand.shape().dims};
  const int64_t last = lengths.back();
  if (kind == FftKind::kRfft) shape.dims.back() = last / 2 + 1;
  if (kind == FftKind::kIrfft) shape.dims.back() = last;
  TENON_ASSIGN_OR_RETURN(Value wide, Value::Zeros({DType::kC128, shape.dims}));
  if (operand.num_elements() > 0 && wide.num_elements() > 0) {
    const auto* source = operand.data<std::complex<double>>();
    std::vector<Wide> data(static_cast<size_t>(operand.num_elements()));
    for (size_t i = 0; i < data.size(); ++i) data[i] = {source[i].real(), source[i].imag()};
    Dims dims = operand.shape().dims;
    const int sign = kind == FftKind::kFft || kind == FftKind::kRfft ? -1 : 1;
    if (kind == FftKind::kIrfft) {
      // The outer dimensions first; then the last one has the symmetry of a real signal.
      for (size_t d = first; d + 1 < rank; ++d) TransformAlong(data, Span(dims), d, sign);
      data = FullSpectrum(data, dims.back(), last);
      dims.back() = last;
      TransformAlong(data, Span(dims), rank - 1, sign);
    } else {
      for (size_t d = rank; d-- > first;) {
        TransformAlong(data, Span(dims), d, sign);
        if (kind == FftKind::kRfft && d == rank - 1) {
          data = WithLastExtent(data, dims.back(), last / 2 + 1);
          dims.back() = last / 2 + 1;
        }
      }
    }
    const long double scale = sign > 0 ? 1.0L / static_cast<long double>(NumElements(Span(lengths))) : 1.0L;
    auto* target = wide.mutable_data<std::complex<double>>();
    for (size_t i = 0; i < data.size(); ++i) {
      target[i] = {static_cast<double>(data[i].real() * scale), static_cast<double>(data[i].imag() * scale)};
    }
  }
  TENON_ASSIGN_OR_RETURN(Value out, ConvertTo(wide, shape.dtype));
  return context.Return(std::move(out));
}

constexpr OpEntry kOps[] = {{"stablehlo.fft", &Fft}};

}  // namespace

std::span<const OpEntry> FftOps() { return kOps; }

}  // namespace tenon::reference
