#pragma once

// Householder reflectors and what is made of them in vectors: QR factorisations, unitary factors, tridiagonal and
// bidiagonal forms. Reflectors are LAPACK's, I - tau v v^H with v = (1, ...), so that h^H x = (beta, 0, ...).

#include <cstdint>

#include "tenon/lapack/padded.h"

namespace tenon::lapack {

/// R on and above the diagonal, the reflectors below it; `taus`: min(rows, columns). Entries whose squares overflow or
/// vanish are the caller's to scale.
template <class S>
void FactorQr(const Block<S>& a, S* taus);

enum class Product {
  kPlain,       ///< q <- H_0 ... H_(count-1) q.
  kOfIdentity,  ///< The same for a q that begins as the identity, as far as it has columns.
  kAdjoint,     ///< q <- (H_0 ... H_(count-1))^H q.
};
/// Reflector i is column i of `v` from row i + `first` on, whose one is not there.
template <class S>
void MultiplyReflectors(const Block<S>& v, int64_t first, const S* taus, int64_t count, Product product,
                        const Block<S>& q);

/// q^H a q = h with h of no entries below its first subdiagonal: h, and the reflectors of q below that. Rows and
/// columns outside of first ... last - 1 are in triangular form already. `taus`: rows - 1, zero where there is no
/// reflector.
template <class S>
void ReduceToHessenberg(const Block<S>& a, int64_t first, int64_t last, S* taus);

/// a = q t q^H for the Hermitian matrix `a`, both triangles of which are there, with t tridiagonal and real: its
/// diagonal, what is beside it, and the reflectors of q below that in `a`, from row 1 on.
template <class S>
void Tridiagonalise(const Block<S>& a, internal::RealOf<S>* diagonal, internal::RealOf<S>* beside, S* taus);

/// a = q b p^H for `a` of no fewer rows than columns, with b upper bidiagonal and real: its diagonal and what is above
/// it, the reflectors of q on and below the diagonal in `a`, and those of p in columns of `right` [columns, columns],
/// from row 1 on. `q_taus`, `p_taus`: columns.
template <class S>
void Bidiagonalise(const Block<S>& a, internal::RealOf<S>* diagonal, internal::RealOf<S>* beside, S* q_taus,
                   const Block<S>& right, S* p_taus);

}  // namespace tenon::lapack
