#pragma once

// LU and Cholesky factorisations and triangular systems, real and complex, in vectors. Blocks end where the columns of
// their matrices do.

#include <cstdint>

#include "tenon/lapack/padded.h"

namespace tenon::lapack {

/// p a = l u in place. `pivots` gets, for each of the first min(rows, columns) columns, the row, from 0, that it was
/// exchanged with. 0, or the column, from 1, of the first pivot that is zero.
template <class S>
int64_t FactorLu(const Block<S>& a, int32_t* pivots);

/// The lower factor of a Hermitian matrix in its lower triangle, which alone is read; what is above gets numbers of no
/// meaning. 0, or the order of the leading minor that is not positive, up to which the factor is there.
template <class S>
int64_t FactorCholesky(const Block<S>& a);

/// t x = x for the lower triangle t; with `unit`, of ones on the diagonal.
template <class S>
void SolveLower(const Block<S>& t, const Block<S>& x, bool unit);

}  // namespace tenon::lapack
