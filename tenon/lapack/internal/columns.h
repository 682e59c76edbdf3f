#pragma once

// Loops over the columns of real and complex matrices, compiled per set of vector instructions. No rounding depends on
// the set: sums go through vectors of 64 bytes, whatever the registers, or have a fixed order for each entry, and
// nothing is contracted. Complex arithmetic is written out in real operations.

#include <complex>
#include <cstdint>
#include <type_traits>

namespace tenon::lapack::internal {

template <class S>
struct RealOfScalar {
  using Type = S;
};
template <class R>
struct RealOfScalar<std::complex<R>> {
  using Type = R;
};
template <class S>
using RealOf = typename RealOfScalar<S>::Type;
template <class S>
inline constexpr bool kIsComplex = !std::is_same_v<S, RealOf<S>>;

/// Real numbers of a vector. Columns may be read up to the end of the vector that their last element lies in, and
/// written: there lie zeros after the last row of a matrix. Blocks whose rows end before those of their matrix are
/// written only where they have whole vectors of rows.
template <class R>
inline constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(R));

/// Columns `stride` real numbers apart; those of complex matrices have their real parts in the first half of that and
/// imaginary ones in the second.
template <class S>
struct Block {
  RealOf<S>* data;
  int64_t rows, columns, stride;

  // Inlined everywhere: what is compiled for one set of instructions must not run elsewhere.
  [[gnu::always_inline]] int64_t half() const { return stride / 2; }
  [[gnu::always_inline]] RealOf<S>* at(int64_t row, int64_t column) const { return data + column * stride + row; }
  [[gnu::always_inline]] Block Part(int64_t row, int64_t column, int64_t r, int64_t c) const {
    return {at(row, column), r, c, stride};
  }
  /// From there to the last row and column.
  [[gnu::always_inline]] Block From(int64_t row, int64_t column) const {
    return {at(row, column), rows - row, columns - column, stride};
  }
  [[gnu::always_inline]] S Get(int64_t row, int64_t column) const {
    if constexpr (kIsComplex<S>)
      return S(*at(row, column), at(row, column)[half()]);
    else
      return *at(row, column);
  }
  [[gnu::always_inline]] void Set(int64_t row, int64_t column, S x) const {
    if constexpr (kIsComplex<S>) {
      *at(row, column) = x.real();
      at(row, column)[half()] = x.imag();
    } else {
      *at(row, column) = x;
    }
  }
};

/// The entries of a matrix as factors of whole columns: entry (i, j), or its conjugate, lies i row steps and j column
/// steps on.
template <class S>
struct Factors {
  const RealOf<S>* data;
  int64_t row_step, column_step, half;
  bool conjugate;

  [[gnu::always_inline]] static Factors Of(const Block<S>& b) { return {b.data, 1, b.stride, b.half(), false}; }
  [[gnu::always_inline]] static Factors AdjointOf(const Block<S>& b) { return {b.data, b.stride, 1, b.half(), true}; }
};

template <class S>
struct Columns {
  using R = RealOf<S>;

  /// The reflector h = I - tau v v^H with v_0 = 1 for which h^H x = (beta, 0, ...), beta real: x, one column, becomes
  /// (beta, rest of v), and `v` v. Entries whose squares overflow or vanish are the caller's to scale.
  S (*reflector)(const Block<S>& x, const Block<S>& v);
  /// a <- (I - f v v^H) a.
  void (*reflect)(const Block<S>& v, S f, const Block<S>& a);
  /// y <- a x for columns x and y.
  void (*multiply)(const Block<S>& a, const Block<S>& x, const Block<S>& y);
  /// Column j of a becomes a_j - v z_j - w u_j, and then y <- a x.
  void (*update_multiply)(const Block<S>& a, const Block<S>& v, const Block<S>& z, const Block<S>& w, const Block<S>& u,
                          const Block<S>& x, const Block<S>& y);
  /// The same, and then y_j <- x^H a_j.
  void (*update_dot)(const Block<S>& a, const Block<S>& v, const Block<S>& z, const Block<S>& w, const Block<S>& u,
                     const Block<S>& x, const Block<S>& y);
  /// x^H y of two columns.
  S (*dot)(const Block<S>& x, const Block<S>& y);
  /// c <- c - a b, c: [a.rows, c.columns], b: [a.columns, c.columns].
  void (*subtract)(const Block<S>& c, const Block<S>& a, const Factors<S>& b);
  /// t x = x for a lower triangle t of at most kLanes rows; with `unit`, of ones on the diagonal.
  void (*solve_left)(const Block<S>& t, const Block<S>& x, bool unit);
  /// x t = x for the upper triangle t of x.columns rows.
  void (*solve_right)(const Block<S>& x, const Factors<S>& t, bool unit);
  /// p a = l u of few columns, in place: `pivots` gets, for each column, the row, from 0, that it was exchanged with.
  /// 0, or the column, from 1, of the first pivot that is zero.
  int64_t (*lu)(const Block<S>& a, int32_t* pivots);
  /// The first few columns of a lower factor, in place. 0, or the order of the leading minor that is not positive.
  int64_t (*cholesky)(const Block<S>& a);
  /// For i = 0 ... count - 1, each after the last one: columns i and i + 1 of a [rows, count + 1] become
  /// c[i] a_i - s[i] a_(i+1) and s[i] a_i + c[i] a_(i+1).
  void (*rotate)(R* a, int64_t rows, int64_t stride, int64_t count, const R* c, const R* s);
  /// Two columns become c a_0 + conj(s) a_1 and c a_1 - s a_0.
  void (*turn_pair)(const Block<S>& a, R c, S s);
  /// The two or three columns of a lose their sum, weighted by (1, y, z), times (f, f y, f z).
  void (*turn)(const Block<R>& a, R f, R y, R z);
};

template <class S>
Columns<S> ColumnsBaseline();
template <class S>
Columns<S> ColumnsAvx2();
template <class S>
Columns<S> ColumnsAvx512();
/// Those of the best level that this CPU has.
template <class S>
const Columns<S>& ColumnsHere();

}  // namespace tenon::lapack::internal
