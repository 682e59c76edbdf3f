#include "tenon/lapack/bidiagonal.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tenon/lapack/rotations.h"

namespace tenon::lapack {
namespace {

/// The smaller singular value of ((f, g), (0, h)).
template <class T>
T Smaller(T f, T g, T h) {
  const T larger = (std::hypot(f + h, g) + std::hypot(f - h, g)) / 2;
  return larger == 0 ? T(0) : std::abs(f) * (std::abs(h) / larger);
}

/// One sweep of the implicit QR iteration for b^T b over rows first ... last, with the square of `shift`.
template <class T>
void ShiftedSweep(T* d, T* e, int64_t first, int64_t last, T shift, Sweeps<T>& of_u, Sweeps<T>& of_v) {
  T x = (std::abs(d[first]) - shift) * (std::copysign(T(1), d[first]) + shift / d[first]), z = e[first];
  for (int64_t k = first; k < last; ++k) {
    const Rotation<T> right(x, z);
    if (k > first) e[k - 1] = right.r;
    x = right.c * d[k] + right.s * e[k];
    e[k] = right.c * e[k] - right.s * d[k];
    z = right.s * d[k + 1];
    d[k + 1] *= right.c;
    const Rotation<T> left(x, z);
    d[k] = left.r;
    x = left.c * e[k] + left.s * d[k + 1];
    d[k + 1] = left.c * d[k + 1] - left.s * e[k];
    if (k + 1 < last) {
      z = left.s * e[k + 1];
      e[k + 1] *= left.c;
    }
    of_u.Turn(left.c, left.s);
    of_v.Turn(right.c, right.s);
  }
  e[last - 1] = x;
}

/// The same without a shift, in which nothing cancels; a zero on the diagonal makes the last entry beside it zero.
template <class T>
void PlainSweep(T* d, T* e, int64_t first, int64_t last, Sweeps<T>& of_u, Sweeps<T>& of_v) {
  T right_c = 1, left_c = 1, left_s = 0;
  for (int64_t k = first; k < last; ++k) {
    const Rotation<T> right(d[k] * right_c, e[k]);
    if (k > first) e[k - 1] = left_s * right.r;
    const Rotation<T> left(left_c * right.r, d[k + 1] * right.s);
    d[k] = left.r;
    right_c = right.c, left_c = left.c, left_s = left.s;
    of_u.Turn(left.c, left.s);
    of_v.Turn(right.c, right.s);
  }
  const T rest = d[last] * right_c;
  d[last] = rest * left_c;
  e[last - 1] = rest * left_s;
}

}  // namespace

template <class T>
bool BidiagonalSvd(int64_t n, T* d, T* e, const Block<T>* u, const Block<T>* v) {
  constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
  constexpr int64_t kSweepsPerValue = 30;
  T largest = 0;
  for (int64_t k = 0; k < n; ++k) largest = std::max({largest, std::abs(d[k]), k + 1 < n ? std::abs(e[k]) : T(0)});
  const T negligible = kEpsilon * largest;
  Sweeps<T> of_u(u), of_v(v);
  int64_t sweeps = 0;
  for (int64_t last = n - 1; last > 0;) {
    int64_t first = last;
    for (; first > 0; --first) {
      const T beside = std::abs(e[first - 1]);
      if (beside <= std::max(negligible, kEpsilon * (std::abs(d[first - 1]) + std::abs(d[first])))) break;
    }
    if (first == last) {
      --last;
      continue;
    }
    if (++sweeps > kSweepsPerValue * n) return false;
    bool singular = false;
    for (int64_t k = first; k <= last; ++k) {
      if (std::abs(d[k]) <= negligible) d[k] = 0, singular = true;
    }
    const T shift = singular ? T(0) : Smaller(d[last - 1], e[last - 1], d[last]);
    const T part = singular ? T(0) : shift / d[first];
    of_u.Begin(first, last - first);
    of_v.Begin(first, last - first);
    if (part * part < kEpsilon)
      PlainSweep(d, e, first, last, of_u, of_v);
    else
      ShiftedSweep(d, e, first, last, shift, of_u, of_v);
  }
  of_u.Apply();
  of_v.Apply();
  for (int64_t k = 0; k < n; ++k) {
    if (!std::signbit(d[k])) continue;
    d[k] = -d[k];
    if (v != nullptr) std::transform(v->at(0, k), v->at(0, k) + v->rows, v->at(0, k), std::negate<T>());
  }
  SortWithColumns<T>(n, d, std::greater<T>(), {u, v});
  return true;
}

template bool BidiagonalSvd<float>(int64_t, float*, float*, const Block<float>*, const Block<float>*);
template bool BidiagonalSvd<double>(int64_t, double*, double*, const Block<double>*, const Block<double>*);

}  // namespace tenon::lapack
