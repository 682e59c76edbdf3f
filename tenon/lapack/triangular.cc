// Cholesky and LU factorisations and triangular systems.

#include <utility>

#include "tenon/lapack/factor.h"

namespace tenon::lapack {
namespace {

template <class T>
Status Potrf(Call& call) {
  const auto [rows, n] = call.Matrices(1, 2);
  const char uplo = call.Letter("uplo", "LU");
  const auto a = call.MatrixIn<T>(0, n, n);
  const auto out = call.MatrixOut<T>(0, n, n);
  int32_t* info = call.InfoOut(1);
  Padded<T> x(n, n);
  return call.ForEach([&, n = n](int64_t i) {
    const auto from = Entries<const T>::Of(a, i);
    const auto to = Entries<T>::Of(out, i);
    Load(uplo == 'L' ? from : from.Adjoint(), x.block());
    info[i] = static_cast<int32_t>(FactorCholesky(x.block()));
    // The other triangle stays what it was.
    if (out.at(i) != a.at(i)) std::copy_n(a.at(i), n * n, out.at(i));
    Store(x.block(), uplo == 'L' ? to : to.Adjoint(), /*lower=*/true);
  });
}

template <class T>
Status Getrf(Call& call) {
  const auto [m, n] = call.Matrices(1, 3);
  const int64_t k = std::min(m, n);
  const auto a = call.MatrixIn<T>(0, m, n);
  const auto out = call.MatrixOut<T>(0, m, n);
  const auto pivots = call.VectorOut<int32_t>(1, k);
  int32_t* info = call.InfoOut(2);
  Padded<T> x(m, n);
  return call.ForEach([&](int64_t i) {
    Load(Entries<const T>::Of(a, i), x.block());
    info[i] = k == 0 ? 0 : static_cast<int32_t>(FactorLu(x.block(), pivots.at(i)));
    for (int64_t j = 0; j < k; ++j) ++pivots.at(i)[j];
    Store(x.block(), Entries<T>::Of(out, i));
  });
}

/// op(a) x = b, or x op(a) = b.
template <class T>
Status Trsm(Call& call) {
  const auto [m, n] = call.Matrices(2, 1, 1);
  const char side = call.Letter("side", "LR"), uplo = call.Letter("uplo", "LU");
  const char trans = call.Letter("trans_x", "NTC"), diag = call.Letter("diag", "NU");
  const bool left = side == 'L';
  const int64_t order = left ? m : n, sides = left ? n : m;
  const auto a = call.MatrixIn<T>(0, order, order);
  const auto b = call.MatrixIn<T>(1, m, n);
  const auto out = call.MatrixOut<T>(0, m, n);
  // t x = x with few unknown columns runs along those, and x t = x with many along as many rows.
  const bool along = sides < internal::kLanes<internal::RealOf<T>> / 2;
  // Of op(a) x = b the lower triangle, in the order of rows in which unknowns follow from those before them.
  const bool reversed = (uplo == 'L') != ((trans == 'N') == left);
  Padded<T> t(order, order), x(along ? order : sides, along ? sides : order);
  const auto oriented = [&]<class E>(E entries) {
    // Unknowns by rows, and then those of a side.
    if (!left) entries = entries.Transposed();
    if (reversed) entries = entries.RowsReversed(order);
    return along ? entries : entries.Transposed();
  };
  return call.ForEach([&](int64_t i) {
    if (order == 0 || sides == 0) return;
    auto triangle = Entries<const T>::Of(a, i);
    if (trans == 'C') triangle = triangle.Conjugate();
    if ((trans != 'N') == left) triangle = triangle.Transposed();
    if (reversed) triangle = triangle.RowsReversed(order).ColumnsReversed(order);
    Load(along ? triangle : triangle.Transposed(), t.block());
    Load(oriented(Entries<const T>::Of(b, i)), x.block());
    if (along)
      SolveLower(t.block(), x.block(), diag == 'U');
    else
      internal::ColumnsHere<T>().solve_right(x.block(), internal::Factors<T>::Of(t.block()), diag == 'U');
    Store(x.block(), oriented(Entries<T>::Of(out, i)));
  });
}

constexpr Entry kEntries[] = {
    TENON_LAPACK_REAL("potrf", Potrf),    TENON_LAPACK_COMPLEX("potrf", Potrf), TENON_LAPACK_REAL("getrf", Getrf),
    TENON_LAPACK_COMPLEX("getrf", Getrf), TENON_LAPACK_REAL("trsm", Trsm),      TENON_LAPACK_COMPLEX("trsm", Trsm),
};

}  // namespace

std::span<const Entry> TriangularEntries() { return kEntries; }

}  // namespace tenon::lapack
