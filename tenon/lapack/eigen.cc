#include "tenon/lapack/eigen.h"

#include <functional>

#include "tenon/lapack/rotations.h"

namespace tenon::lapack {
namespace {

/// One sweep over t's rows first ... last, with the shift that its last two rows suggest.
template <class R>
void QrSweep(R* diagonal, R* beside, int64_t first, int64_t last, Sweeps<R>& sweeps) {
  const R half = (diagonal[last - 1] - diagonal[last]) / 2, e = beside[last - 1];
  R shift = diagonal[last];
  if (half == 0) {
    shift -= std::abs(e);
  } else if (e != 0) {
    const R root = half + std::copysign(std::hypot(half, e), half);
    // The square may vanish where the quotient does not.
    shift -= e * e == 0 ? e / (root / e) : e * e / root;
  }
  R x = diagonal[first] - shift, z = beside[first];
  for (int64_t k = first; k < last; ++k) {
    const Rotation<R> turn(x, z);
    const R c = turn.c, s = -turn.s;
    if (k > first) beside[k - 1] = turn.r;
    const R a = diagonal[k], b = beside[k], d = diagonal[k + 1];
    const R upper = c * a - s * b, middle = c * b - s * d, lower = s * b + c * d;
    diagonal[k] = c * upper - s * middle;
    beside[k] = s * upper + c * middle;
    diagonal[k + 1] = s * (s * a + c * b) + c * lower;
    x = beside[k];
    if (k + 1 < last) {
      z = -s * beside[k + 1];
      beside[k + 1] *= c;
    }
    sweeps.Turn(turn.c, turn.s);
  }
}

}  // namespace

template <class R>
bool TridiagonalEigen(int64_t n, R* diagonal, R* beside, const Block<R>* q) {
  constexpr R kEpsilon = std::numeric_limits<R>::epsilon(), kLeast = std::numeric_limits<R>::min();
  constexpr int64_t kSweepsPerValue = 30;
  Sweeps<R> turned(q);
  int64_t sweeps = 0;
  for (int64_t last = n - 1; last > 0;) {
    int64_t first = last;
    for (; first > 0; --first) {
      const R e = std::abs(beside[first - 1]);
      if (e < kLeast || e <= kEpsilon * (std::abs(diagonal[first - 1]) + std::abs(diagonal[first]))) break;
    }
    if (first == last) {
      --last;
      continue;
    }
    if (++sweeps > kSweepsPerValue * n) return false;
    turned.Begin(first, last - first);
    QrSweep(diagonal, beside, first, last, turned);
  }
  turned.Apply();
  SortWithColumns<R>(n, diagonal, std::less<R>(), {q});
  return true;
}

template bool TridiagonalEigen<float>(int64_t, float*, float*, const Block<float>*);
template bool TridiagonalEigen<double>(int64_t, double*, double*, const Block<double>*);

}  // namespace tenon::lapack
