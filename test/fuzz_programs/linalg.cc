#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

/// A whole number, of complex types with an imaginary part.
struct Number {
  int64_t re = 0, im = 0;
};
/// x plus y times the conjugate of z.
Number PlusProduct(Number x, Number y, Number z) {
  return {x.re + y.re * z.re + y.im * z.im, x.im + y.im * z.re - y.re * z.im};
}

/// A square matrix of small integers, one for all of a batch.
struct Matrix {
  explicit Matrix(int64_t rows) : n(rows), at(static_cast<size_t>(rows * rows)) {}
  Number& operator()(int64_t i, int64_t j) { return at[static_cast<size_t>(i * n + j)]; }

  int64_t n;
  std::vector<Number> at;
};

/// Both parts within the bounds; of real types only one.
Number Between(Builder& b, const Type& type, int64_t low, int64_t high) {
  return {b.random.Between(low, high), type.is_complex() ? b.random.Between(low, high) : 0};
}

Value Written(Builder& b, const Type& type, Matrix& m, const Dims& batch) {
  std::string text;
  double bound = 0;
  for (int64_t i = 0; i < m.n; ++i) {
    std::string row;
    for (int64_t j = 0; j < m.n; ++j) {
      const auto [re, im] = m(i, j);
      row += fmt::format(fmt::runtime(type.is_complex() ? "{}({}.0, {}.0)" : "{}{}.0"), j ? ", " : "", re, im);
      bound = std::max(bound, static_cast<double>(std::max(std::abs(re), std::abs(im))));
    }
    text += fmt::format("{}[{}]", i ? ", " : "", row);
  }
  const Value matrix = b.EmitHidden(fmt::format("stablehlo.constant dense<[{}]> : {}", text, Text(type, {m.n, m.n})),
                                    type, {m.n, m.n}, {.bound = bound});
  Dims dims = batch;
  dims.insert(dims.end(), {m.n, m.n});
  const auto last = static_cast<int64_t>(dims.size());
  return batch.empty() ? matrix : b.Broadcast(matrix, dims, {last - 2, last - 1});
}

/// Zeros that no compiler may take for a constant: v * 0 for a finite v.
Value Zeros(Builder& b, const Type& type, const Dims& dims) {
  const Value v = b.Match(type, dims), zero = b.Splat(type, dims, 0);
  return b.EmitHidden(fmt::format("stablehlo.multiply {}, {} : {}", v.name, zero.name, Text(v)), type, dims, {});
}

Value Sum(Builder& b, const Value& x, const Value& y) {
  return b.EmitHidden(fmt::format("stablehlo.add {}, {} : {}", x.name, y.name, Text(x)), x.type, x.dims, x.is);
}

Type MatrixType(Builder& b) {
  return TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kF64, DType::kC64, DType::kC128}));
}

Dims Batch(Builder& b, int64_t elements) {
  Dims batch;
  for (int64_t rank = b.random.Pick(3); rank > 0; --rank) batch.push_back(b.Extent());
  return Count(batch) * elements <= b.limits.elements ? batch : Dims{};
}

}  // namespace

/// Of A = L L^H with integers in L and powers of two on its diagonal: every root and every quotient is exact. The
/// triangle that the op leaves open is cut away, and the one that it must not read is garbage.
void AddCholesky(Builder& b) {
  const int64_t n = b.random.Chance(4) ? 1 + b.random.Pick(24) : 1 + b.random.Pick(6);
  const Type type = MatrixType(b);
  if (n * n > b.limits.elements || !b.Affordable(n * n * n)) return;
  Matrix l(n), a(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) l(i, j) = Between(b, type, -2, 2);
    l(i, i) = {int64_t{1} << b.random.Pick(3), 0};
  }
  const bool lower = b.random.Chance(2), garbage = b.random.Chance(2);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t k = 0; k <= std::min(i, j); ++k) a(i, j) = PlusProduct(a(i, j), l(i, k), l(j, k));
    }
  }
  for (int64_t i = 0; garbage && i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) (lower ? a(i, j) : a(j, i)) = Between(b, type, -9, 9);
  }
  const Value matrix = Written(b, type, a, Batch(b, n * n));
  const Value input = Sum(b, matrix, Zeros(b, type, matrix.dims));
  const Value factor = b.EmitHidden(
      fmt::format("stablehlo.cholesky {}, lower = {} : {}", input.name, lower ? "true" : "false", Text(input)), type,
      input.dims, {.bound = 4, .zero_sign = false});
  const Type place = TypeOf(DType::kS32), truth = TypeOf(DType::kPred);
  const auto rank = static_cast<int64_t>(input.rank());
  const auto iota = [&](int64_t d) {
    return b.EmitHidden(fmt::format("stablehlo.iota dim = {} : {}", d, Text(place, input.dims)), place, input.dims,
                        {.bound = static_cast<double>(n)});
  };
  const Value row = iota(rank - 2), column = iota(rank - 1);
  const Value inside =
      b.EmitHidden(fmt::format("stablehlo.compare {}, {}, {}, SIGNED : ({}, {}) -> {}", lower ? "GE" : "LE", row.name,
                               column.name, Text(row), Text(row), Text(truth, input.dims)),
                   truth, input.dims, {.bound = 1});
  const Value zero = b.Splat(type, input.dims, 0);
  b.Emit(fmt::format("stablehlo.select {}, {}, {} : {}, {}", inside.name, factor.name, zero.name, Text(inside),
                     Text(factor)),
         type, input.dims, factor.is);
}

/// A X = B or X A = B with -1, 0 and 1 in A, whose diagonal is of -1 and 1 or not read: nothing is rounded, and X grows
/// twice as large with every row, or three times where it is complex. The triangle that the op must not read is
/// garbage.
void AddTriangularSolve(Builder& b) {
  const int64_t n = 1 + b.random.Pick(6);
  const Type type = MatrixType(b);
  const bool left = b.random.Chance(2), lower = b.random.Chance(2), unit = b.random.Chance(2);
  const Dims batch = Batch(b, n * 9);
  Dims dims = batch;
  dims.insert(dims.end(), {left ? n : b.Extent(), left ? b.Extent() : n});
  if (!b.Fits(dims) || !b.Affordable(n * Count(dims))) return;
  const Value right = b.Match(type, dims);
  Numbers is = right.is;
  // In blocks, a solver may multiply with an inverse, which grows alike.
  const double times = type.is_complex() ? 3 : 2, rows = static_cast<double>(n);
  if (!is.exact() || is.bound * std::pow(times, 2 * rows) > type.exact_limit()) return;
  is.bound *= std::pow(times, rows - 1);
  is.zero_sign = false;
  Matrix a(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j)
      a(i, j) = (lower ? j < i : j > i) ? Between(b, type, -1, 1) : Between(b, type, 0, 8);
    if (!unit) a(i, i) = {b.random.Chance(2) ? 1 : -1, 0};
  }
  const Value matrix = Written(b, type, a, batch);
  const Value input = Sum(b, matrix, Zeros(b, type, matrix.dims));
  b.Emit(fmt::format("\"stablehlo.triangular_solve\"({}, {}) {{left_side = {}, lower = {}, unit_diagonal = {}, "
                     "transpose_a = #stablehlo<transpose {}>}} : ({}, {}) -> {}",
                     input.name, right.name, left, lower, unit,
                     b.random.OneOf({"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}), Text(input), Text(right), Text(right)),
         type, dims, is);
}

}  // namespace tenon::fuzz
