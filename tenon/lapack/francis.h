#pragma once

#include "tenon/lapack/padded.h"

namespace tenon::lapack {

/// The implicit QR iteration with two shifts (Francis, 1961) for a real Hessenberg matrix, the largest of whose entries
/// is near 1. `t` becomes block triangular, with blocks of order 2 where eigenvalues are complex. Without `form` its
/// blocks alone mean something. Columns of `q`, unless it is null, turn along. False when the iteration does not end.
template <class R>
bool MakeBlockTriangular(const Block<R>& t, bool form, const Block<R>* q);

/// The same for a complex one and one shift: `t` becomes triangular; without `form` its diagonal alone means something.
template <class R>
bool MakeTriangular(const Block<std::complex<R>>& t, bool form, const Block<std::complex<R>>* q);

}  // namespace tenon::lapack
