#pragma once

#include "tenon/lapack/padded.h"

namespace tenon::lapack {

/// Eigenvalues in ascending order of the symmetric tridiagonal matrix t of order n with this `diagonal` and, `beside`
/// it, n - 1 entries, the largest of all of a size whose square is a number; `beside` is left with numbers of no
/// meaning. Columns of `q`, unless it is null, become those by which q t q^T stays what it was with t diagonal. False
/// when the iteration does not end.
template <class R>
bool TridiagonalEigen(int64_t n, R* diagonal, R* beside, const Block<R>* q);

}  // namespace tenon::lapack
