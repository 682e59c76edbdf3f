#include "tenon/kernels/fft/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>

namespace tenon::kernels {
namespace {

using Wide = std::complex<long double>;

int64_t Count(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

/// The defining sum along one dim.
std::vector<Wide> Along(const std::vector<Wide>& x, const Dims& dims, size_t axis, bool inverse) {
  const int64_t n = dims[axis];
  int64_t inner = 1;
  for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
  std::vector<Wide> roots;
  for (int64_t k = 0; k < n; ++k) {
    const long double angle = (inverse ? 2 : -2) * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                              static_cast<long double>(n);
    roots.push_back({std::cos(angle), std::sin(angle)});
  }
  std::vector<Wide> y(x.size());
  for (int64_t at = 0; at < static_cast<int64_t>(x.size()); ++at) {
    const int64_t k = at / inner % n, base = at - k * inner;
    Wide sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += x[static_cast<size_t>(base + j * inner)] * roots[static_cast<size_t>(j * k % n)];
    y[static_cast<size_t>(at)] = inverse ? sum / static_cast<long double>(n) : sum;
  }
  return y;
}

template <class T>
void Check(FftKind kind, const Dims& dims, size_t axes, threads::ThreadPool& pool) {
  const bool real_in = kind == FftKind::kRealForward, real_out = kind == FftKind::kRealInverse;
  const bool inverse = kind == FftKind::kInverse || real_out;
  Dims half = dims;
  half[dims.size() - 1] = dims[dims.size() - 1] / 2 + 1;
  const DType real = sizeof(T) == 4 ? DType::kF32 : DType::kF64, complex = sizeof(T) == 4 ? DType::kC64 : DType::kC128;
  const Shape in{real_in ? real : complex, real_out ? half : dims},
      out{real_out ? real : complex, real_in ? half : dims};
  const Dims lengths(dims.end() - static_cast<long>(axes), dims.end());
  const auto signature = MakeFftSignature(kind, in, out, lengths);
  ASSERT_TRUE(signature.ok()) << signature.status().message();

  std::mt19937 random(static_cast<uint32_t>(Count(dims)));
  std::uniform_real_distribution<T> value(-1, 1);
  std::vector<T> from(static_cast<size_t>(Count(in.dims) * (real_in ? 1 : 2))),
      to(static_cast<size_t>(Count(out.dims) * (real_out ? 1 : 2)), T{77});
  for (T& v : from) v = value(random);
  ASSERT_TRUE(Fft(*signature).Run(from.data(), to.data(), pool).ok());

  // All of the spectrum, or of the line, in wide numbers.
  std::vector<Wide> x;
  for (int64_t i = 0; i < Count(in.dims); ++i) {
    const auto at = static_cast<size_t>(i);
    x.push_back(real_in ? Wide(from[at]) : Wide(from[2 * at], from[2 * at + 1]));
  }
  const size_t last = dims.size() - 1, first = dims.size() - axes;
  Dims now = in.dims;
  for (size_t axis = first; axis < last; ++axis) x = Along(x, now, axis, inverse);
  if (real_out) {
    const int64_t n = dims[last], h = half[last];
    std::vector<Wide> full;
    for (int64_t row = 0; row < Count(in.dims) / h; ++row) {
      for (int64_t j = 0; j < n; ++j)
        full.push_back(j < h ? x[static_cast<size_t>(row * h + j)]
                             : std::conj(x[static_cast<size_t>(row * h + n - j)]));
    }
    x = full;
    now = dims;
  }
  x = Along(x, now, last, inverse);
  long double norm = 0;
  for (const Wide& w : x) norm += std::norm(w);
  // Root mean square of the results, a few units in the last place per halving of the length.
  const long double bound = 20 * std::numeric_limits<T>::epsilon() *
                            (1 + std::log2(static_cast<long double>(Count(lengths)))) *
                            std::sqrt(norm / static_cast<long double>(x.size()));
  const int64_t n = dims[last], kept = out.dims[last];
  for (int64_t i = 0; i < Count(out.dims); ++i) {
    const Wide want = x[static_cast<size_t>(i / kept * n + i % kept)];
    const auto at = static_cast<size_t>(i);
    const Wide got = real_out ? Wide(to[at]) : Wide(to[2 * at], to[2 * at + 1]);
    ASSERT_LE(std::abs(got - (real_out ? Wide(want.real()) : want)), bound)
        << "kind " << static_cast<int>(kind) << " length " << n << " element " << i;
  }
}

TEST(Fft, FollowsTheDefinition) {
  auto pool = threads::ThreadPool::Create(2);
  ASSERT_TRUE(pool.ok());
  for (FftKind kind : {FftKind::kForward, FftKind::kInverse, FftKind::kRealForward, FftKind::kRealInverse}) {
    for (int64_t n : {1,  2,  3,  4,  5,  6,  7,   8,   9,   12,  15,  16,  19,   23,
                      29, 32, 49, 60, 64, 97, 101, 128, 143, 256, 500, 625, 1031, 2048}) {
      Check<float>(kind, {3, n}, 1, **pool);
      Check<double>(kind, {5, n}, 1, **pool);
      if (HasFatalFailure()) return;
    }
    Check<float>(kind, {17, 24}, 1, **pool);
    Check<float>(kind, {3, 12, 20}, 2, **pool);
    Check<float>(kind, {2, 16, 33}, 2, **pool);
    Check<double>(kind, {2, 5, 8, 6}, 3, **pool);
    Check<double>(kind, {31, 2}, 2, **pool);
    Check<float>(kind, {1, 2048, 3}, 2, **pool);
    // Cut lines: of odd and even lengths, with and without whole vectors, and apart in memory.
    Check<float>(kind, {2, 2187}, 1, **pool);
    Check<double>(kind, {1, 2500}, 1, **pool);
    Check<float>(kind, {1, 4096}, 1, **pool);
    Check<double>(kind, {1, 1800, 2}, 2, **pool);
    Check<float>(kind, {1, 1200, 11}, 2, **pool);
    // Convolutions of cut lines.
    Check<float>(kind, {2, 1511}, 1, **pool);
    Check<float>(kind, {1, 1262, 3}, 2, **pool);
    Check<double>(kind, {1, 1038}, 1, **pool);
    if (HasFatalFailure()) return;
  }
}

// The middle of a real line's spectrum is real: what stands beside it in memory does not matter.
TEST(Fft, RealInversesIgnoreTheEndsImaginaryParts) {
  auto pool = threads::ThreadPool::Create(1);
  ASSERT_TRUE(pool.ok());
  for (int64_t n : {2, 8, 4096}) {
    const auto signature =
        MakeFftSignature(FftKind::kRealInverse, {DType::kC64, {1, n / 2 + 1}}, {DType::kF32, {1, n}}, {n});
    ASSERT_TRUE(signature.ok());
    std::vector<float> spectrum(static_cast<size_t>(n + 2), 1), plain(static_cast<size_t>(n)), other(plain.size());
    spectrum[1] = spectrum[static_cast<size_t>(n + 1)] = 0;
    ASSERT_TRUE(Fft(*signature).Run(spectrum.data(), plain.data(), **pool).ok());
    spectrum[1] = 5;
    spectrum[static_cast<size_t>(n + 1)] = -7;
    ASSERT_TRUE(Fft(*signature).Run(spectrum.data(), other.data(), **pool).ok());
    EXPECT_EQ(plain, other);
  }
}

// Lines share vectors and nothing else.
TEST(Fft, NonFiniteValuesStayInTheirLine) {
  auto pool = threads::ThreadPool::Create(1);
  ASSERT_TRUE(pool.ok());
  for (int64_t n : {5, 64, 2048}) {
    const auto signature =
        MakeFftSignature(FftKind::kRealForward, {DType::kF32, {3, n}}, {DType::kC64, {3, n / 2 + 1}}, {n});
    ASSERT_TRUE(signature.ok());
    std::vector<float> x(static_cast<size_t>(3 * n), 1), y(static_cast<size_t>(6 * (n / 2 + 1)));
    x[static_cast<size_t>(n + n / 2)] = std::numeric_limits<float>::infinity();
    ASSERT_TRUE(Fft(*signature).Run(x.data(), y.data(), **pool).ok());
    const size_t line = static_cast<size_t>(2 * (n / 2 + 1));
    for (size_t i = 0; i < y.size(); ++i) EXPECT_TRUE(std::isfinite(y[i]) || i / line == 1) << n << " " << i;
    EXPECT_FALSE(std::isfinite(y[line]));
  }
}

TEST(Fft, RejectsExtentsThatDoNotFit) {
  EXPECT_FALSE(MakeFftSignature(FftKind::kForward, {DType::kC64, {3, 8}}, {DType::kC64, {3, 8}}, {7}).ok());
  EXPECT_FALSE(MakeFftSignature(FftKind::kRealForward, {DType::kF32, {8}}, {DType::kC64, {8}}, {8}).ok());
  EXPECT_FALSE(MakeFftSignature(FftKind::kForward, {DType::kF32, {8}}, {DType::kF32, {8}}, {8}).ok());
  EXPECT_FALSE(MakeFftSignature(FftKind::kForward, {DType::kC64, {8}}, {DType::kC64, {8}}, {8, 8}).ok());
}

}  // namespace
}  // namespace tenon::kernels
