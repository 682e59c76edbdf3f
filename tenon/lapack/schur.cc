// Matrices of no symmetry: Hessenberg and Schur forms, eigenvalues and vectors.

#include <Eigen/Dense>
#include <type_traits>
#include <utility>

#include "tenon/lapack/francis.h"
#include "tenon/lapack/matrix.h"
#include "tenon/lapack/reflectors.h"

namespace tenon::lapack {
namespace {

template <class R>
using ComplexOf = std::complex<R>;

template <class T>
inline constexpr bool kIsReal = std::is_floating_point_v<T>;

/// Q^H a Q = H with H's reflectors below its first subdiagonal. Rows and columns outside of low to high (from 1) are
/// in triangular form already.
template <class T>
Status Gehrd(Call& call) {
  const Extents extents = call.Matrices(1, 3);
  const int64_t n = extents.cols, k = std::max<int64_t>(n - 1, 0);
  const auto low = call.Scalar<int32_t>("low"), high = call.Scalar<int32_t>("high");
  const auto a = call.MatrixIn<T>(0, n, n);
  const auto out = call.MatrixOut<T>(0, n, n);
  const auto taus = call.VectorOut<T>(1, k);
  int32_t* info = call.InfoOut(2);
  if (n > 0 && (low < 1 || low > high || high > n))
    call.Refuse(InvalidArgument("low and high are no part of the matrix"));
  Padded<T> x(n, n);
  return call.ForEach([&](int64_t i) {
    info[i] = 0;
    if (n == 0) return;
    Load(Entries<const T>::Of(a, i), x.block());
    Real<T> scale = ScaleAll(x.block());
    if (scale == 0) scale = 1;
    ReduceToHessenberg(x.block(), low - 1, high, taus.at(i));
    for (int64_t j = 0; j < n; ++j) ScaleColumn(x.block(), j, std::min(j + 2, n), 1 / scale);
    Store(x.block(), Entries<T>::Of(out, i));
  });
}

/// a = q t q^H. A real t has blocks of order 2 on its diagonal where eigenvalues are complex: with equal entries on
/// their diagonals and others of opposite signs.
template <class T>
struct Schur {
  Matrix<T> t, q;
  Vector<ComplexOf<Real<T>>> values;
};

/// Rows and columns k and k + 1, and those columns of q, turn by an angle.
template <class T>
void TurnPair(Schur<T>& schur, Eigen::Index k, T cosine, T sine, bool vectors) {
  Matrix<T>& t = schur.t;
  const Eigen::Index rest = t.rows() - k;
  const auto turn = [&](auto&& x, auto&& y) {
    const Vector<T> before = x;
    x = cosine * before + sine * y.eval();
    y = cosine * y.eval() - sine * before;
  };
  Vector<T> upper = t.row(k).tail(rest), lower = t.row(k + 1).tail(rest);
  turn(upper, lower);
  t.row(k).tail(rest) = upper;
  t.row(k + 1).tail(rest) = lower;
  turn(t.col(k).head(k + 2), t.col(k + 1).head(k + 2));
  if (vectors) turn(schur.q.col(k), schur.q.col(k + 1));
}

/// Turns the block of order 2 at k so that its diagonal has equal entries, and, where its eigenvalues prove to be real
/// then, so that it is triangular.
template <class T>
void Standardise(Schur<T>& schur, Eigen::Index k, bool vectors) {
  Matrix<T>& t = schur.t;
  // By an angle x with (a - d) cos 2x + (b + c) sin 2x = 0.
  T sum = t(k, k + 1) + t(k + 1, k), difference = t(k, k) - t(k + 1, k + 1);
  if (difference != T(0)) {
    if (sum < 0) sum = -sum, difference = -difference;
    const T size = std::hypot(sum, difference);
    const T cosine = std::sqrt((1 + sum / size) / 2);
    TurnPair(schur, k, cosine, -difference / size / (2 * cosine), vectors);
    t(k, k) = t(k + 1, k + 1) = (t(k, k) + t(k + 1, k + 1)) / 2;
  }
  const T middle = t(k, k), b = t(k, k + 1), c = t(k + 1, k);
  if (c == T(0) || (b != T(0) && (b < 0) != (c < 0))) return;
  // The eigenvector (sqrt |b|, sqrt |c|) of middle + apart becomes the first column.
  const T x = std::sqrt(std::abs(b)), y = std::sqrt(std::abs(c)), apart = std::copysign(x * y, b);
  const T length = std::hypot(x, y);
  TurnPair(schur, k, x / length, y / length, vectors);
  t(k, k) = middle + apart;
  t(k + 1, k + 1) = middle - apart;
  t(k, k + 1) = b - c;
  t(k + 1, k) = 0;
}

enum class Wanted { kValues, kForm, kVectors };

/// False when it does not converge, or when the matrix is not finite.
template <class T>
bool Decompose(const Entries<const T>& a, int64_t n, Wanted wanted, Schur<T>& schur) {
  const bool vectors = wanted == Wanted::kVectors, form = wanted != Wanted::kValues;
  Padded<T> h(n, n), q(n, vectors ? n : 0);
  Load(a, h.block());
  const Real<T> scale = ScaleAll(h.block());
  if (scale == 0) return false;
  std::vector<T> taus(static_cast<size_t>(n));
  ReduceToHessenberg(h.block(), 0, n, taus.data());
  if (vectors) {
    q.SetIdentity();
    MultiplyReflectors(h.block(), 1, taus.data(), n - 1, Product::kOfIdentity, q.block());
  }
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j + 2; i < n; ++i) h.block().Set(i, j, T(0));
  }
  schur.values.resize(n);
  const auto store = [n](const Block<T>& from, Matrix<T>& to) {
    to.resize(n, n);
    Store(from, Entries<T>{to.data(), 1, n});
  };
  if constexpr (kIsReal<T>) {
    if (!MakeBlockTriangular(h.block(), form, vectors ? &q.block() : nullptr)) return false;
    store(h.block(), schur.t);
    if (vectors) store(q.block(), schur.q);
    for (Eigen::Index k = 0; k < n; ++k) {
      if (k + 1 == n || schur.t(k + 1, k) == T(0)) {
        schur.values[k] = schur.t(k, k);
        continue;
      }
      Standardise(schur, k, vectors);
      const T imaginary = std::sqrt(std::abs(schur.t(k, k + 1))) * std::sqrt(std::abs(schur.t(k + 1, k)));
      schur.values[k] = {schur.t(k, k), imaginary};
      schur.values[k + 1] = {schur.t(k + 1, k + 1), -imaginary};
      ++k;
    }
  } else {
    if (!MakeTriangular(h.block(), form, vectors ? &q.block() : nullptr)) return false;
    store(h.block(), schur.t);
    if (vectors) store(q.block(), schur.q);
    schur.t.template triangularView<Eigen::StrictlyLower>().setZero();
    schur.values = schur.t.diagonal();
  }
  schur.t *= 1 / scale;
  schur.values *= 1 / scale;
  return true;
}

template <class T>
Status Gees(Call& call) {
  const Extents extents = call.Matrices(1, kIsReal<T> ? 6 : 5);
  const int64_t n = extents.cols;
  const bool vectors = call.Letter("mode", "NV") == 'V';
  call.Letter("sort", "N");
  const auto a = call.MatrixIn<T>(0, n, n);
  const auto t = call.MatrixOut<T>(0, n, n), q = call.MatrixOut<T>(1, n, n);
  const auto w = call.VectorOut<T>(2, n);
  Stack<T> imaginary;
  if constexpr (kIsReal<T>) imaginary = call.VectorOut<T>(3, n);
  int32_t* selected = call.InfoOut(kIsReal<T> ? 4 : 3);
  int32_t* info = call.InfoOut(kIsReal<T> ? 5 : 4);
  return call.ForEach([&](int64_t i) {
    selected[i] = info[i] = 0;
    if (n == 0) return;
    Schur<T> schur;
    if (!Decompose<T>(Entries<const T>::Of(a, i), n, vectors ? Wanted::kVectors : Wanted::kForm, schur)) {
      info[i] = static_cast<int32_t>(n);
      FillNan(t, i), FillNan(q, i), FillNan(w, i);
      if constexpr (kIsReal<T>) FillNan(imaginary, i);
      return;
    }
    Out(t, i) = schur.t;
    if (vectors)
      Out(q, i) = schur.q;
    else
      Out(q, i).setZero();
    if constexpr (kIsReal<T>) {
      Out(w, i) = schur.values.real();
      Out(imaginary, i) = schur.values.imag();
    } else {
      Out(w, i) = schur.values;
    }
  });
}

/// The triangular form of a real one: each block of order 2 turned by a unitary matrix of its eigenvector.
template <class R>
Schur<ComplexOf<R>> ToComplex(const Schur<R>& real) {
  using C = ComplexOf<R>;
  Schur<C> schur{real.t.template cast<C>(), real.q.template cast<C>(), real.values};
  for (Eigen::Index k = 0; k + 1 < real.t.rows(); ++k) {
    if (real.t(k + 1, k) == R(0)) continue;
    const R b = real.t(k, k + 1), w = real.values[k].imag();
    const R size = std::hypot(b, w);
    Eigen::Matrix<C, 2, 2> turn;
    if (size > 0)
      turn << C(b / size, 0), C(0, w / size), C(0, w / size), C(b / size, 0);
    else
      turn << C(0), C(1), C(1), C(0);
    schur.t.middleRows(k, 2) = (turn.adjoint() * schur.t.middleRows(k, 2)).eval();
    schur.t.middleCols(k, 2) = (schur.t.middleCols(k, 2) * turn).eval();
    schur.q.middleCols(k, 2) = (schur.q.middleCols(k, 2) * turn).eval();
    schur.t(k + 1, k) = 0;
    schur.t(k, k) = real.values[k];
    schur.t(k + 1, k + 1) = real.values[k + 1];
    ++k;
  }
  return schur;
}

/// Eigenvectors of an upper triangular matrix, as columns. Denominators are at least eps times its norm.
template <class C>
Matrix<C> TriangularVectors(const Matrix<C>& matrix) {
  using R = Real<C>;
  const Matrix<C> t = matrix * ScaleOf(matrix);
  const Eigen::Index n = t.rows();
  const R least = std::max(std::numeric_limits<R>::epsilon() * t.norm(), std::numeric_limits<R>::min());
  // Entries above it are scaled down, so that no product overflows.
  const R large = std::sqrt(std::sqrt(std::numeric_limits<R>::max()));
  Matrix<C> vectors = Matrix<C>::Zero(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    Vector<C> x(j + 1);
    x[j] = 1;
    x.head(j) = -t.col(j).head(j);
    for (Eigen::Index i = j; i-- > 0;) {
      C denominator = t(i, i) - t(j, j);
      if (std::abs(denominator) < least) denominator = least;
      x[i] /= denominator;
      if (const R size = std::abs(x[i]); size > large) x /= size;
      x.head(i) -= x[i] * t.col(i).head(i);
    }
    vectors.col(j).head(j + 1) = x / x.norm();
  }
  return vectors;
}

/// Of length 1, and the largest entry real. Of a real eigenvalue of a real matrix: real.
template <class C>
void Normalize(Matrix<C>& vectors, const Vector<C>& values, bool real) {
  for (Eigen::Index j = 0; j < vectors.cols(); ++j) {
    auto x = vectors.col(j);
    Eigen::Index largest = 0;
    x.cwiseAbs2().maxCoeff(&largest);
    const Real<C> size = std::abs(x[largest]);
    if (size > 0) x *= Eigen::numext::conj(x[largest]) / size;
    x[largest] = x[largest].real();
    if (real && values[j].imag() == 0) x = x.real().template cast<C>().eval();
    if (real && values[j].imag() < 0 && j > 0) x = vectors.col(j - 1).conjugate();
    x /= x.norm();
  }
}

template <class T>
Status Geev(Call& call) {
  using C = ComplexOf<Real<T>>;
  constexpr int64_t kValues = kIsReal<T> ? 2 : 1;
  const Extents extents = call.Matrices(1, kValues + 3);
  const int64_t n = extents.cols;
  const bool left = call.Letter("compute_left", "NV") == 'V', right = call.Letter("compute_right", "NV") == 'V';
  const auto a = call.MatrixIn<T>(0, n, n);
  const auto w = call.VectorOut<T>(0, n);
  Stack<T> imaginary;
  if constexpr (kIsReal<T>) imaginary = call.VectorOut<T>(1, n);
  const auto vl = call.MatrixOut<C>(kValues, n, n), vr = call.MatrixOut<C>(kValues + 1, n, n);
  int32_t* info = call.InfoOut(kValues + 2);
  return call.ForEach([&](int64_t i) {
    info[i] = 0;
    if (n == 0) return;
    Schur<T> schur;
    if (!Decompose<T>(Entries<const T>::Of(a, i), n, left || right ? Wanted::kVectors : Wanted::kValues, schur)) {
      info[i] = static_cast<int32_t>(n);
      FillNan(w, i), FillNan(vl, i), FillNan(vr, i);
      if constexpr (kIsReal<T>) FillNan(imaginary, i);
      return;
    }
    if constexpr (kIsReal<T>) {
      Out(w, i) = schur.values.real();
      Out(imaginary, i) = schur.values.imag();
    } else {
      Out(w, i) = schur.values;
    }
    Out(vl, i).setZero();
    Out(vr, i).setZero();
    if (!left && !right) return;
    Schur<C> form;
    if constexpr (kIsReal<T>)
      form = ToComplex(schur);
    else
      form = std::move(schur);
    if (right) {
      Matrix<C> x = form.q * TriangularVectors(form.t);
      Normalize(x, form.values, kIsReal<T>);
      Out(vr, i) = x;
    }
    if (left) {
      // Those of the adjoint, which is upper triangular in reverse order.
      const Matrix<C> reversed = form.t.adjoint().reverse();
      const Matrix<C> y = TriangularVectors(reversed).reverse();
      Matrix<C> x = form.q * y;
      Normalize(x, form.values, kIsReal<T>);
      Out(vl, i) = x;
    }
  });
}

}  // namespace

std::span<const Entry> SchurEntries() {
  static constexpr Entry kEntries[] = {
      TENON_LAPACK_REAL("gehrd", Gehrd),  TENON_LAPACK_COMPLEX("gehrd", Gehrd), TENON_LAPACK_REAL("gees", Gees),
      TENON_LAPACK_COMPLEX("gees", Gees), TENON_LAPACK_REAL("geev", Geev),      TENON_LAPACK_COMPLEX("geev", Geev),
  };
  return kEntries;
}

}  // namespace tenon::lapack
