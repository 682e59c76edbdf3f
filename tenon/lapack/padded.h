#pragma once

// Matrices as the loops over columns want them, between those of a call.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tenon/lapack/call.h"
#include "tenon/lapack/internal/columns.h"
#include "tenon/lapack/memory.h"

namespace tenon::lapack {

template <class S>
using Block = internal::Block<S>;

/// Memory for a column-major matrix whose columns are whole vectors long (internal/columns.h), beyond its rows zeros.
template <class S>
class Padded {
 public:
  using R = internal::RealOf<S>;

  /// Zeros.
  Padded(int64_t rows, int64_t columns)
      : block_{nullptr, rows, columns, StrideOf(rows)}, data_(static_cast<size_t>(block_.stride * columns), R(0)) {
    block_.data = data_.data();
  }
  Padded(Padded&&) = default;
  Padded& operator=(Padded&&) = default;

  const Block<S>& block() const { return block_; }
  void SetZero() { std::fill(data_.begin(), data_.end(), R(0)); }
  void SetIdentity() {
    SetZero();
    for (int64_t i = 0; i < std::min(block_.rows, block_.columns); ++i) block_.Set(i, i, S(1));
  }

 private:
  /// A block of it may begin anywhere, and its last vector ends up to one short of another past the rows. An odd count
  /// of vectors keeps columns from sharing lines of a cache.
  static int64_t StrideOf(int64_t rows) {
    constexpr int64_t kLanes = internal::kLanes<R>;
    const int64_t vectors = (rows + 2 * kLanes - 2) / kLanes | 1;
    return vectors * kLanes * (internal::kIsComplex<S> ? 2 : 1);
  }

  Block<S> block_;
  std::vector<R, Recycling<R>> data_;
};

/// Entries of a matrix in memory, or their conjugates: (i, j) lies i row steps and j column steps on.
template <class T>
struct Entries {
  T* data;
  int64_t row_step, column_step;
  bool conjugate = false;

  static Entries Of(const Stack<T>& stack, int64_t i) { return {stack.at(i), 1, stack.rows}; }
  Entries Transposed() const { return {data, column_step, row_step, conjugate}; }
  Entries Conjugate() const { return {data, row_step, column_step, !conjugate}; }
  Entries Adjoint() const { return Transposed().Conjugate(); }
  /// Rows in reverse order, of which there are so many.
  Entries RowsReversed(int64_t rows) const {
    return {data + std::max<int64_t>(rows - 1, 0) * row_step, -row_step, column_step, conjugate};
  }
  Entries ColumnsReversed(int64_t columns) const {
    return {data + std::max<int64_t>(columns - 1, 0) * column_step, row_step, -column_step, conjugate};
  }
};

/// What an entry is in a block, and back: conjugated or not.
template <class S>
S ConjugateIf(bool conjugate, S x) {
  if constexpr (internal::kIsComplex<S>)
    return S(x.real(), conjugate ? -x.imag() : x.imag());
  else
    return x;
}

/// All of the block, with zeros after its last row, which must be the last one of its matrix.
template <class S>
void Load(const Entries<const S>& from, const Block<S>& to) {
  using R = internal::RealOf<S>;
  const R sign = from.conjugate ? R(-1) : R(1);
  const int64_t length = (internal::kIsComplex<S> ? to.half() : to.stride);
  for (int64_t j = 0; j < to.columns; ++j) {
    R* column = to.at(0, j);
    const S* source = from.data + j * from.column_step;
    if constexpr (internal::kIsComplex<S>) {
      R* imaginary = column + to.half();
      const R* parts = reinterpret_cast<const R*>(source);
      if (from.row_step == 1) {
        for (int64_t i = 0; i < to.rows; ++i) column[i] = parts[2 * i], imaginary[i] = sign * parts[2 * i + 1];
      } else {
        for (int64_t i = 0; i < to.rows; ++i) {
          column[i] = parts[2 * i * from.row_step];
          imaginary[i] = sign * parts[2 * i * from.row_step + 1];
        }
      }
      std::fill(imaginary + to.rows, imaginary + length, R(0));
    } else {
      for (int64_t i = 0; i < to.rows; ++i) column[i] = source[i * from.row_step];
    }
    std::fill(column + to.rows, column + length, R(0));
  }
}

/// All of the block, or of each column what lies on and below the diagonal.
template <class S>
void Store(const Block<S>& from, const Entries<S>& to, bool lower = false) {
  using R = internal::RealOf<S>;
  const R sign = to.conjugate ? R(-1) : R(1);
  for (int64_t j = 0; j < from.columns; ++j) {
    const R* column = from.at(0, j);
    S* target = to.data + j * to.column_step;
    const int64_t first = lower ? j : 0;
    if constexpr (internal::kIsComplex<S>) {
      const R* imaginary = column + from.half();
      R* parts = reinterpret_cast<R*>(target);
      if (to.row_step == 1) {
        for (int64_t i = first; i < from.rows; ++i) parts[2 * i] = column[i], parts[2 * i + 1] = sign * imaginary[i];
      } else {
        for (int64_t i = first; i < from.rows; ++i) {
          parts[2 * i * to.row_step] = column[i];
          parts[2 * i * to.row_step + 1] = sign * imaginary[i];
        }
      }
    } else {
      for (int64_t i = first; i < from.rows; ++i) target[i * to.row_step] = column[i];
    }
  }
}

template <class S, class F>
void ForEachPart(const Block<S>& a, int64_t column, const F& f) {
  f(a.at(0, column));
  if constexpr (internal::kIsComplex<S>) f(a.at(0, column) + a.half());
}

template <class S>
void ScaleColumn(const Block<S>& a, int64_t column, int64_t rows, internal::RealOf<S> by) {
  ForEachPart(a, column, [&](internal::RealOf<S>* x) {
    for (int64_t i = 0; i < rows; ++i) x[i] *= by;
  });
}

/// The largest real or imaginary part of a column's first rows; not finite where one of them is not.
template <class S>
internal::RealOf<S> LargestOf(const Block<S>& a, int64_t column, int64_t rows) {
  using R = internal::RealOf<S>;
  // Sizes are in the order of their bits, and those of what is not finite are above all others; vectors of integers
  // find the largest in any order.
  using Bits = std::conditional_t<sizeof(R) == 4, int32_t, int64_t>;
  Bits largest = 0;
  ForEachPart(a, column, [&](const R* x) {
    for (int64_t i = 0; i < rows; ++i) largest = std::max(largest, std::bit_cast<Bits>(std::abs(x[i])));
  });
  return std::bit_cast<R>(largest);
}

/// The same of all of the matrix.
template <class S>
internal::RealOf<S> LargestOf(const Block<S>& a) {
  internal::RealOf<S> largest = 0;
  for (int64_t j = 0; j < a.columns; ++j) {
    const internal::RealOf<S> here = LargestOf(a, j, a.rows);
    if (!(here <= largest)) largest = here;
    if (!std::isfinite(here)) break;
  }
  return largest;
}

template <class T>
void FillNan(const Stack<T>& stack, int64_t i) {
  std::fill_n(stack.at(i), stack.rows * stack.cols, T(std::numeric_limits<internal::RealOf<T>>::quiet_NaN()));
}

/// A power of two that brings what is as large as that near 1, so that squares neither overflow nor vanish; 1 for zero
/// and for what is not finite.
template <class R>
R PowerNear(R largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  // The inverse must be a number as well.
  constexpr int kMost = std::numeric_limits<R>::max_exponent - 3;
  return std::ldexp(R(1), std::clamp(-std::ilogb(largest), -kMost, kMost));
}

/// Brings the largest entry near 1. Returns by what all were multiplied, or 0 when some are not finite.
template <class S>
internal::RealOf<S> ScaleAll(const Block<S>& a) {
  const internal::RealOf<S> largest = LargestOf(a);
  if (!std::isfinite(largest)) return 0;
  const internal::RealOf<S> scale = PowerNear(largest);
  for (int64_t j = 0; scale != 1 && j < a.columns; ++j) ScaleColumn(a, j, a.rows, scale);
  return scale;
}

}  // namespace tenon::lapack
