#pragma once

#include "tenon/lapack/padded.h"

namespace tenon::lapack {

/// Singular values of the upper bidiagonal matrix b of order n with this `diagonal` and, `beside` it, n - 1 entries,
/// the largest of all of a size whose square is a number. In descending order in `diagonal`; `beside` is left with
/// numbers of no meaning. `u` and `v`, of n columns each, become those by which u b v^T stays what it was with b
/// diagonal; null where they are not wanted. Errors are a few roundings of the largest value. False when the iteration
/// does not end.
template <class T>
bool BidiagonalSvd(int64_t n, T* diagonal, T* beside, const Block<T>* u, const Block<T>* v);

}  // namespace tenon::lapack
