#pragma once

// Real Householder reflectors and what is made of them in vectors: QR factorisations, their orthogonal factors, and
// eigenvalues of symmetric matrices. Reflectors are LAPACK's, I - tau v v^T with v = (1, ...).

#include <cstdint>
#include <vector>

namespace tenon::lapack {

/// A column-major matrix whose columns are whole vectors long (internal/columns.h), beyond its rows zeros.
template <class T>
class Padded {
 public:
  Padded(int64_t rows, int64_t columns);
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t stride() const { return stride_; }
  T* at(int64_t row, int64_t column) { return data_.data() + column * stride_ + row; }
  const T* at(int64_t row, int64_t column) const { return data_.data() + column * stride_ + row; }

 private:
  int64_t rows_, columns_, stride_;
  std::vector<T> data_;
};

/// R on and above the diagonal, the reflectors below it; `taus`: min(rows, columns). Entries whose squares overflow or
/// vanish are the caller's to scale.
template <class T>
void FactorQr(Padded<T>& a, T* taus);

/// q <- H_0 ... H_(count-1) q for a q that begins as the identity. Reflector i is column i of `v` from row i + `first`
/// on, whose one is not there.
template <class T>
void MultiplyReflectors(const Padded<T>& v, int64_t first, const T* taus, int64_t count, Padded<T>& q);

/// Eigenvalues of the symmetric matrix `a`, both triangles of which are there, in ascending order, and its eigenvectors
/// in `a`; without `vectors`, `a` is left with numbers of no meaning. False when the iteration does not end.
template <class T>
bool SymmetricEigen(Padded<T>& a, T* values, bool vectors);

}  // namespace tenon::lapack
