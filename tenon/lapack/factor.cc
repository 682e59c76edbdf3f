#include "tenon/lapack/factor.h"

#include <utility>

namespace tenon::lapack {
namespace {

using internal::ColumnsHere;
using internal::Factors;
using internal::kLanes;
using internal::RealOf;

/// About half, in whole vectors.
template <class S>
int64_t HalfOf(int64_t n) {
  constexpr int64_t kWhole = kLanes<RealOf<S>>;
  return (n / 2 + kWhole - 1) / kWhole * kWhole;
}

template <class S>
void SwapRows(const Block<S>& a, const int32_t* pivots, int64_t count) {
  for (int64_t j = 0; j < a.columns; ++j) {
    ForEachPart(a, j, [&](RealOf<S>* x) {
      for (int64_t i = 0; i < count; ++i) std::swap(x[i], x[pivots[i]]);
    });
  }
}

/// The first columns of the lower factor of a matrix of as many rows as there are.
template <class S>
int64_t CholeskyColumns(const Block<S>& a) {
  if (a.columns <= kLanes<RealOf<S>>) return ColumnsHere<S>().cholesky(a);
  const int64_t h = HalfOf<S>(a.columns);
  if (const int64_t bad = CholeskyColumns(a.Part(0, 0, a.rows, h)); bad != 0) return bad;
  // Of the rest's square only what is on and below the diagonal, but for the corners of stripes.
  constexpr int64_t kStripe = 2 * kLanes<RealOf<S>>;
  for (int64_t j = h; j < a.columns; j += kStripe) {
    const int64_t width = std::min(kStripe, a.columns - j);
    ColumnsHere<S>().subtract(a.Part(j, j, a.rows - j, width), a.Part(j, 0, a.rows - j, h),
                              Factors<S>::AdjointOf(a.Part(j, 0, width, h)));
  }
  const int64_t bad = CholeskyColumns(a.From(h, h));
  return bad == 0 ? 0 : bad + h;
}

}  // namespace

template <class S>
void SolveLower(const Block<S>& t, const Block<S>& x, bool unit) {
  if (t.rows <= kLanes<RealOf<S>>) return ColumnsHere<S>().solve_left(t, x, unit);
  const int64_t h = HalfOf<S>(t.rows), rest = t.rows - h;
  const Block<S> top = x.Part(0, 0, h, x.columns), bottom = x.Part(h, 0, rest, x.columns);
  SolveLower(t.Part(0, 0, h, h), top, unit);
  ColumnsHere<S>().subtract(bottom, t.Part(h, 0, rest, h), Factors<S>::Of(top));
  SolveLower(t.Part(h, h, rest, rest), bottom, unit);
}

template <class S>
int64_t FactorLu(const Block<S>& a, int32_t* pivots) {
  const int64_t m = a.rows, n = a.columns, order = std::min(m, n);
  if (n <= kLanes<RealOf<S>>) return ColumnsHere<S>().lu(a, pivots);
  const int64_t h = order <= kLanes<RealOf<S>> ? order : std::min(HalfOf<S>(order), order);
  const Block<S> left = a.Part(0, 0, m, h), right = a.Part(0, h, m, n - h);
  int64_t zero = FactorLu(left, pivots);
  if (n == h) return zero;
  SwapRows(right, pivots, h);
  const Block<S> above = right.Part(0, 0, h, n - h);
  SolveLower(left.Part(0, 0, h, h), above, true);
  if (m == h) return zero;
  const Block<S> below = right.From(h, 0);
  ColumnsHere<S>().subtract(below, left.From(h, 0), Factors<S>::Of(above));
  const int64_t later = FactorLu(below, pivots + h);
  SwapRows(left.From(h, 0), pivots + h, order - h);
  for (int64_t j = h; j < order; ++j) pivots[j] += static_cast<int32_t>(h);
  return zero != 0 || later == 0 ? zero : later + h;
}

template <class S>
int64_t FactorCholesky(const Block<S>& a) {
  return CholeskyColumns(a);
}

#define TENON_INSTANTIATE(S)                               \
  template int64_t FactorLu<S>(const Block<S>&, int32_t*); \
  template int64_t FactorCholesky<S>(const Block<S>&);     \
  template void SolveLower<S>(const Block<S>&, const Block<S>&, bool)
TENON_INSTANTIATE(float);
TENON_INSTANTIATE(double);
TENON_INSTANTIATE(std::complex<float>);
TENON_INSTANTIATE(std::complex<double>);
#undef TENON_INSTANTIATE

}  // namespace tenon::lapack
