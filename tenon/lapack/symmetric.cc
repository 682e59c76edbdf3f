// Eigenvalues of symmetric and Hermitian matrices, and their tridiagonal forms.

#include "tenon/lapack/eigen.h"
#include "tenon/lapack/reflectors.h"

namespace tenon::lapack {
namespace {

using internal::RealOf;

/// Both triangles of the Hermitian matrix with this lower one.
template <class T>
void LoadHermitian(const Entries<const T>& lower, const Block<T>& to) {
  Load(lower, to);
  for (int64_t j = 0; j < to.columns; ++j) {
    to.Set(j, j, T(std::real(to.Get(j, j))));
    for (int64_t i = j + 1; i < to.rows; ++i) to.Set(j, i, ConjugateIf(true, to.Get(i, j)));
  }
}

/// Memory for the eigenvalues and, with `vectors`, eigenvectors of matrices of order n.
template <class T>
class EigenProblem {
 public:
  using R = RealOf<T>;

  EigenProblem(int64_t n, bool vectors)
      : vectors_(vectors),
        a_(n, n),
        q_(n, vectors ? n : 0),
        z_(n, vectors && kComplex ? n : 0),
        beside_(static_cast<size_t>(n)),
        taus_(beside_.size()) {}

  /// False when the matrix is not finite or the iteration does not end.
  bool Run(const Entries<const T>& lower, R* values) {
    const Block<T>& a = a_.block();
    const int64_t n = a.rows;
    LoadHermitian(lower, a);
    const R scale = ScaleAll(a);
    if (scale == 0) return false;
    Tridiagonalise(a, values, beside_.data(), taus_.data());
    if (vectors_) q_.SetIdentity();
    const Block<R>& q = q_.block();
    // Real reflectors go first, since fewer entries are theirs; complex ones wait, and so rotations are real.
    if constexpr (!kComplex) {
      if (vectors_) MultiplyReflectors(a, 1, taus_.data(), n - 1, Product::kOfIdentity, q);
    }
    if (!TridiagonalEigen(n, values, beside_.data(), vectors_ ? &q : nullptr)) return false;
    if constexpr (kComplex) {
      if (vectors_) {
        z_.SetZero();
        for (int64_t j = 0; j < n; ++j) std::copy_n(q.at(0, j), n, z_.block().at(0, j));
        MultiplyReflectors(a, 1, taus_.data(), n - 1, Product::kPlain, z_.block());
      }
    }
    for (int64_t j = 0; j < n; ++j) values[j] /= scale;
    return true;
  }

  const Block<T>& vectors() const {
    if constexpr (kComplex)
      return z_.block();
    else
      return q_.block();
  }

 private:
  static constexpr bool kComplex = internal::kIsComplex<T>;
  const bool vectors_;
  Padded<T> a_;
  Padded<R> q_;
  Padded<T> z_;
  std::vector<R> beside_;
  std::vector<T> taus_;
};

/// Eigenvalues in ascending order and, with mode V, vectors. What is not finite has NaN for both, and an info above 0.
template <class T>
Status Syevd(Call& call) {
  const auto [rows, n] = call.Matrices(1, 3);
  const char mode = call.Letter("mode", "NV"), uplo = call.Letter("uplo", "LU");
  const auto a = call.MatrixIn<T>(0, n, n);
  const auto v = call.MatrixOut<T>(0, n, n);
  const auto w = call.VectorOut<RealOf<T>>(1, n);
  int32_t* info = call.InfoOut(2);
  EigenProblem<T> eigen(n, mode == 'V');
  return call.ForEach([&, n = n](int64_t i) {
    info[i] = 0;
    if (n == 0) return;
    const auto entries = Entries<const T>::Of(a, i);
    if (!eigen.Run(uplo == 'L' ? entries : entries.Adjoint(), w.at(i))) {
      info[i] = static_cast<int32_t>(n);
      FillNan(v, i);
      FillNan(w, i);
    } else if (mode == 'V') {
      Store(eigen.vectors(), Entries<T>::Of(v, i));
    } else if (v.at(i) != a.at(i)) {
      std::copy_n(a.at(i), n * n, v.at(i));
    }
  });
}

/// Q T Q^H with the reflectors of Q in the triangle that counts, beyond T's diagonal and its neighbour.
template <class T>
Status Sytrd(Call& call) {
  using R = RealOf<T>;
  const auto [rows, n] = call.Matrices(1, 5);
  const char uplo = call.Letter("uplo", "LU");
  const int64_t k = std::max<int64_t>(n - 1, 0);
  const auto a = call.MatrixIn<T>(0, n, n);
  const auto out = call.MatrixOut<T>(0, n, n);
  const auto d = call.VectorOut<R>(1, n);
  const auto e = call.VectorOut<R>(2, k);
  const auto taus = call.VectorOut<T>(3, k);
  int32_t* info = call.InfoOut(4);
  Padded<T> x(n, n);
  return call.ForEach([&, n = n](int64_t i) {
    info[i] = 0;
    if (n == 0) return;
    // In reverse order of rows and columns the upper triangle is the lower one, and the reflectors LAPACK's.
    const bool lower = uplo == 'L';
    const auto reverse = [&, n = n](auto entries) { return entries.RowsReversed(n).ColumnsReversed(n); };
    const auto from = Entries<const T>::Of(a, i);
    const auto to = Entries<T>::Of(out, i);
    LoadHermitian(lower ? from : reverse(from), x.block());
    R scale = ScaleAll(x.block());
    if (scale == 0) scale = 1;
    Tridiagonalise(x.block(), d.at(i), e.at(i), taus.at(i));
    for (int64_t j = 0; j < n; ++j) d.at(i)[j] /= scale;
    for (int64_t j = 0; j < k; ++j) e.at(i)[j] /= scale;
    for (int64_t j = 0; j < n; ++j) {
      x.block().Set(j, j, T(d.at(i)[j]));
      if (j < k) x.block().Set(j + 1, j, T(e.at(i)[j]));
    }
    if (out.at(i) != a.at(i)) std::copy_n(a.at(i), n * n, out.at(i));
    Store(x.block(), lower ? to : reverse(to), /*lower=*/true);
    if (lower) return;
    std::reverse(d.at(i), d.at(i) + n);
    std::reverse(e.at(i), e.at(i) + k);
    std::reverse(taus.at(i), taus.at(i) + k);
  });
}

constexpr Entry kEntries[] = {
    TENON_LAPACK_REAL("syevd", Syevd),
    TENON_LAPACK_COMPLEX("heevd", Syevd),
    TENON_LAPACK_REAL("sytrd", Sytrd),
    TENON_LAPACK_COMPLEX("hetrd", Sytrd),
};

}  // namespace

std::span<const Entry> SymmetricEntries() { return kEntries; }

}  // namespace tenon::lapack
