#include "tenon/lapack/francis.h"

namespace tenon::lapack {
namespace {

/// I - f (1, y, z)^T (1, y, z), which leaves of a vector its first element alone, as `beta`.
template <class R>
struct Reflector {
  R f = 0, y = 0, z = 0, beta;
  Reflector(R a, R b, R c) : beta(a) {
    const R size = std::max(std::abs(b), std::abs(c));
    if (size == 0) return;
    // Squares may vanish.
    const R scale = std::max(std::abs(a), size);
    a /= scale, b /= scale, c /= scale;
    const R length = -std::copysign(std::sqrt(a * a + b * b + c * c), a);
    f = (length - a) / length;
    y = b / (a - length);
    z = c / (a - length);
    beta = length * scale;
  }
};

/// Sweeps in which a value must be found, and every how many of them the shift is another one.
constexpr int kSweeps = 60, kEvery = 10;

/// The first row of the block of a Hessenberg matrix that ends with row `last`: what is below the diagonal before it is
/// negligible. size(i, j): of an entry; of the largest ones about 1.
template <class R, class SizeAt>
int64_t FirstOfBlock(int64_t last, int64_t rows, int sweeps, const SizeAt& size) {
  constexpr R kEpsilon = std::numeric_limits<R>::epsilon();
  // Where that did not help, what rounding the largest entries may have left goes too.
  const R least = sweeps > kEvery ? kEpsilon : std::numeric_limits<R>::min() * static_cast<R>(rows) / kEpsilon;
  int64_t first = last;
  for (; first > 0; --first) {
    const R around = size(first - 1, first - 1) + size(first, first);
    if (size(first, first - 1) <= std::max(least, kEpsilon * around)) break;
  }
  return first;
}

template <class R>
class Iteration {
 public:
  Iteration(const Block<R>& t, bool form, const Block<R>* q) : t_(t), form_(form), q_(q) {}

  bool Run() {
    int sweeps = 0;
    for (int64_t last = t_.rows - 1; last > 0;) {
      const int64_t first =
          FirstOfBlock<R>(last, t_.rows, sweeps, [&](int64_t i, int64_t j) { return std::abs(At(i, j)); });
      if (first > 0) At(first, first - 1) = 0;
      if (first + 1 < last) {
        if (++sweeps > kSweeps) return false;
        Sweep(first, last, sweeps);
        continue;
      }
      if (first < last) Split(first);
      last = first - 1;
      sweeps = 0;
    }
    return true;
  }

 private:
  R& At(int64_t i, int64_t j) const { return *t_.at(i, j); }

  /// Rows k ... of columns `from` on, and these columns, lose what the reflector takes of them.
  void Turn(const Reflector<R>& h, int64_t k, int64_t count, int64_t from, int64_t first, int64_t last) const {
    const int64_t end = form_ ? t_.columns : last + 1, top = form_ ? 0 : first;
    const R fy = h.f * h.y, fz = h.f * h.z;
    if (count == 3) {
      for (int64_t j = from; j < end; ++j) {
        R* x = t_.at(k, j);
        const R sum = x[0] + h.y * x[1] + h.z * x[2];
        x[0] -= h.f * sum;
        x[1] -= fy * sum;
        x[2] -= fz * sum;
      }
    } else {
      for (int64_t j = from; j < end; ++j) {
        R* x = t_.at(k, j);
        const R sum = x[0] + h.y * x[1];
        x[0] -= h.f * sum;
        x[1] -= fy * sum;
      }
    }
    // Rows that share a vector with the last one are zero in these columns.
    const auto& turn = internal::ColumnsHere<R>().turn;
    turn(t_.Part(top, k, std::min(k + 4, last + 1) - top, count), h.f, h.y, h.z);
    if (q_ != nullptr) turn(q_->Part(0, k, q_->rows, count), h.f, h.y, h.z);
  }

  void Sweep(int64_t first, int64_t last, int sweeps) const {
    // The sum and the product of both shifts: eigenvalues of the last two rows and columns, or, where these do not
    // lead anywhere, of the size of what is left.
    R a = At(last - 1, last - 1), b = At(last - 1, last), c = At(last, last - 1), d = At(last, last);
    if (sweeps % kEvery == 0) {
      const R size = std::abs(At(last, last - 1)) + std::abs(At(last - 1, last - 2));
      a = d = d + R(0.75) * size;
      b = R(-0.4375) * size;
      c = size;
    }
    // Real ones: twice the nearer to the last entry.
    const R half = (a - d) / 2, under = half * half + b * c;
    R re = (a + d) / 2, square = -under;
    if (under >= 0) {
      const R larger = half + std::copysign(std::sqrt(under), half);
      re = larger == 0 ? d : d - b * c / larger;
      square = 0;
    }
    // The first column of (t - shift) (t - other shift), from where what is before is not disturbed.
    int64_t m = last - 2;
    R x = 0, y = 0, z = 0;
    for (;; --m) {
      const R here = At(m, m) - re, below = At(m + 1, m);
      const R size = std::abs(here) + std::sqrt(square) + std::abs(below);
      x = here * (here / size) + square / size + At(m, m + 1) * (below / size);
      y = below / size * (here + At(m + 1, m + 1) - re);
      z = below / size * At(m + 2, m + 1);
      if (m == first) break;
      const R around = std::abs(At(m - 1, m - 1)) + std::abs(At(m, m)) + std::abs(At(m + 1, m + 1));
      if (std::abs(At(m, m - 1)) * (std::abs(y) + std::abs(z)) <=
          std::numeric_limits<R>::epsilon() * std::abs(x) * around)
        break;
    }
    for (int64_t k = m; k < last; ++k) {
      const int64_t count = std::min<int64_t>(3, last - k + 1);
      const Reflector<R> h(x, y, count == 3 ? z : R(0));
      if (k > m) {
        At(k, k - 1) = h.beta;
        At(k + 1, k - 1) = 0;
        if (count == 3) At(k + 2, k - 1) = 0;
      } else if (m > first) {
        At(k, k - 1) *= 1 - h.f;
      }
      Turn(h, k, count, k, first, last);
      x = At(k + 1, k);
      y = k + 2 <= last ? At(k + 2, k) : R(0);
      z = k + 3 <= last ? At(k + 3, k) : R(0);
    }
  }

  /// Makes the block of order 2 triangular whose eigenvalues are real.
  void Split(int64_t k) const {
    const R half = (At(k, k) - At(k + 1, k + 1)) / 2, c = At(k + 1, k), under = half * half + At(k, k + 1) * c;
    if (under < 0) return;
    // The eigenvector of the value that is farther from the last entry becomes the first column.
    const Reflector<R> h(half + std::copysign(std::sqrt(under), half), c, 0);
    Turn(h, k, 2, k, k, k + 1);
    At(k + 1, k) = 0;
  }

  const Block<R> t_;
  const bool form_;
  const Block<R>* q_;
};

template <class R>
using Complex = std::complex<R>;

template <class R>
R Size(const Complex<R>& x) {
  return std::abs(x.real()) + std::abs(x.imag());
}

/// The eigenvalue of the last two rows and columns' block that is nearer to its last entry.
template <class R>
Complex<R> ShiftOf(const Block<Complex<R>>& t, int64_t last) {
  using C = Complex<R>;
  const C a = t.Get(last - 1, last - 1), b = t.Get(last - 1, last), c = t.Get(last, last - 1), d = t.Get(last, last);
  const R size = Size(a) + Size(b) + Size(c) + Size(d);
  if (size == 0) return C(0);
  const C half = (a - d) / (2 * size), product = (b / size) * (c / size);
  const C root = std::sqrt(half * half + product);
  const C sum = std::abs(half + root) > std::abs(half - root) ? half + root : half - root;
  return sum == C(0) ? d : d - product / sum * size;
}

/// The rotation by which (x, z) becomes (c x + s z, 0), of c real.
template <class R>
struct ComplexRotation {
  R c = 1;
  Complex<R> s;
  ComplexRotation(Complex<R> x, Complex<R> z) {
    // Squares may vanish, hence lengths are those of numbers near 1.
    const auto length_of = [](Complex<R>& y) {
      const R size = std::max(std::abs(y.real()), std::abs(y.imag()));
      if (size == 0) return R(0);
      y = {y.real() / size, y.imag() / size};
      const R length = std::sqrt(std::norm(y));
      y = {y.real() / length, y.imag() / length};
      return size * length;
    };
    const R z_length = length_of(z);
    if (z_length == 0) return;
    const R x_length = length_of(x);
    if (x_length == 0) x = R(1);
    const R larger = std::max(x_length, z_length), a = x_length / larger, b = z_length / larger;
    const R inverse = 1 / std::sqrt(a * a + b * b);
    c = a * inverse;
    // The direction of x times the conjugate of z's.
    s = {(x.real() * z.real() + x.imag() * z.imag()) * (b * inverse),
         (x.imag() * z.real() - x.real() * z.imag()) * (b * inverse)};
  }
};

}  // namespace

template <class R>
bool MakeTriangular(const Block<Complex<R>>& t, bool form, const Block<Complex<R>>* q) {
  using C = Complex<R>;
  const int64_t n = t.rows;
  const auto& turn_pair = internal::ColumnsHere<C>().turn_pair;
  int sweeps = 0;
  for (int64_t last = n - 1; last > 0;) {
    const int64_t first = FirstOfBlock<R>(last, n, sweeps, [&](int64_t i, int64_t j) { return Size(t.Get(i, j)); });
    if (first > 0) t.Set(first, first - 1, C(0));
    if (first == last) {
      --last;
      sweeps = 0;
      continue;
    }
    if (++sweeps > kSweeps) return false;
    const C shift = sweeps % kEvery != 0
                        ? ShiftOf(t, last)
                        : C(Size(t.Get(last, last - 1)) + (last > 1 ? Size(t.Get(last - 1, last - 2)) : R(0)));
    C x = t.Get(first, first) - shift, z = t.Get(first + 1, first);
    for (int64_t k = first; k < last; ++k) {
      const ComplexRotation<R> turn(x, z);
      const R c = turn.c, re = turn.s.real(), im = turn.s.imag();
      const int64_t end = form ? n : last + 1, top = form ? 0 : first;
      for (int64_t j = std::max(k - 1, first); j < end; ++j) {
        R *y = t.at(k, j), *yi = y + t.half();
        const R a = y[0], ai = yi[0], b = y[1], bi = yi[1];
        y[0] = c * a + re * b - im * bi;
        yi[0] = c * ai + re * bi + im * b;
        y[1] = c * b - re * a - im * ai;
        yi[1] = c * bi - re * ai + im * a;
      }
      if (k > first) t.Set(k + 1, k - 1, C(0));
      // Rows that share a vector with the last one are zero in these columns.
      turn_pair(t.Part(top, k, std::min(k + 2, last) + 1 - top, 2), c, turn.s);
      if (q != nullptr) turn_pair(q->Part(0, k, n, 2), c, turn.s);
      if (k + 1 < last) x = t.Get(k + 1, k), z = t.Get(k + 2, k);
    }
  }
  return true;
}

template <class R>
bool MakeBlockTriangular(const Block<R>& t, bool form, const Block<R>* q) {
  return Iteration<R>(t, form, q).Run();
}

template bool MakeBlockTriangular<float>(const Block<float>&, bool, const Block<float>*);
template bool MakeBlockTriangular<double>(const Block<double>&, bool, const Block<double>*);
template bool MakeTriangular<float>(const Block<Complex<float>>&, bool, const Block<Complex<float>>*);
template bool MakeTriangular<double>(const Block<Complex<double>>&, bool, const Block<Complex<double>>*);

}  // namespace tenon::lapack
