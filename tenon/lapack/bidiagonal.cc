#include "tenon/lapack/bidiagonal.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tenon/lapack/order.h"

namespace tenon::lapack {
namespace {

/// The rotation that makes of (x, z) a vector (r, 0): r = c x + s z.
template <class T>
struct Rotation {
  T c = 1, s = 0, r = 0;
  Rotation(T x, T z) : r(x) {
    if (z == 0) return;
    // Squares of most entries are numbers, and faster than what takes care of the others.
    constexpr T kLeastSquares = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    const T squares = x * x + z * z;
    if (squares > kLeastSquares) {
      r = std::sqrt(squares);
      const T inverse = 1 / r;
      c = x * inverse;
      s = z * inverse;
      return;
    }
    r = std::hypot(x, z);
    c = x / r;
    s = z / r;
  }
};

/// Rotations of one sweep over neighbouring columns of u and v, by the first of each pair, as Columns::rotate has them.
template <class T>
struct Sweep {
  std::vector<T> u_c, u_s, v_c, v_s;
  explicit Sweep(int64_t n) : u_c(static_cast<size_t>(n)), u_s(u_c), v_c(u_c), v_s(u_c) {}
  void Set(int64_t k, const Rotation<T>& of_u, const Rotation<T>& of_v) {
    const auto i = static_cast<size_t>(k);
    u_c[i] = of_u.c, u_s[i] = -of_u.s;
    v_c[i] = of_v.c, v_s[i] = -of_v.s;
  }
};

/// The smaller singular value of ((f, g), (0, h)).
template <class T>
T Smaller(T f, T g, T h) {
  const T larger = (std::hypot(f + h, g) + std::hypot(f - h, g)) / 2;
  return larger == 0 ? T(0) : std::abs(f) * (std::abs(h) / larger);
}

/// One sweep of the implicit QR iteration for b^T b over rows first ... last, with the square of `shift`.
template <class T>
void ShiftedSweep(T* d, T* e, int64_t first, int64_t last, T shift, Sweep<T>& sweep) {
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
    sweep.Set(k, left, right);
  }
  e[last - 1] = x;
}

/// The same without a shift, in which nothing cancels; a zero on the diagonal makes the last entry beside it zero.
template <class T>
void PlainSweep(T* d, T* e, int64_t first, int64_t last, Sweep<T>& sweep) {
  T right_c = 1, left_c = 1, left_s = 0;
  for (int64_t k = first; k < last; ++k) {
    const Rotation<T> right(d[k] * right_c, e[k]);
    if (k > first) e[k - 1] = left_s * right.r;
    const Rotation<T> left(left_c * right.r, d[k + 1] * right.s);
    d[k] = left.r;
    right_c = right.c, left_c = left.c, left_s = left.s;
    sweep.Set(k, left, right);
  }
  const T rest = d[last] * right_c;
  d[last] = rest * left_c;
  e[last - 1] = rest * left_s;
}

}  // namespace

template <class T>
bool BidiagonalSvd(int64_t n, T* d, T* e, const Block<T>* u, const Block<T>* v) {
  const internal::Columns<T>& columns = internal::ColumnsHere<T>();
  constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
  constexpr int64_t kSweepsPerValue = 30;
  T largest = 0;
  for (int64_t k = 0; k < n; ++k) largest = std::max({largest, std::abs(d[k]), k + 1 < n ? std::abs(e[k]) : T(0)});
  const T negligible = kEpsilon * largest;
  Sweep<T> sweep(n);
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
    if (part * part < kEpsilon)
      PlainSweep(d, e, first, last, sweep);
    else
      ShiftedSweep(d, e, first, last, shift, sweep);
    const auto turn = [&](const Block<T>& a, const std::vector<T>& c, const std::vector<T>& s) {
      columns.rotate(a.at(0, first), a.rows, a.stride, last - first, c.data() + first, s.data() + first);
    };
    if (u != nullptr) turn(*u, sweep.u_c, sweep.u_s);
    if (v != nullptr) turn(*v, sweep.v_c, sweep.v_s);
  }
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
