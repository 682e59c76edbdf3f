// cholesky and triangular_solve, computed one precision wider than the operands.

#include <algorithm>
#include <complex>
#include <vector>

#include "tenon/reference/attributes.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/math.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

// The arithmetic of a solve on elements of type T.
template <class C>
struct Wide {
  using type = Wider<C>;
};
template <class R>
struct Wide<std::complex<R>> {
  using type = std::complex<Wider<R>>;
};

template <class R>
std::complex<R> Conjugate(std::complex<R> z) {
  return std::conj(z);
}
template <class R>
  requires(!kIsComplex<R>)
R Conjugate(R x) {
  return x;
}
template <class R>
R RealOf(std::complex<R> z) {
  return z.real();
}
template <class R>
  requires(!kIsComplex<R>)
R RealOf(R x) {
  return x;
}

template <class W, class C>
W ToWide(C v) {
  if constexpr (kIsComplex<W>) {
    return W(v.real(), v.imag());
  } else {
    return static_cast<W>(v);
  }
}
template <class C, class W>
C ToNarrow(W v) {
  if constexpr (kIsComplex<W>) {
    return C(static_cast<typename C::value_type>(v.real()), static_cast<typename C::value_type>(v.imag()));
  } else {
    return static_cast<C>(v);
  }
}

// The lower triangle L of a = L L^H, row-major n*n; all NaN when a is not positive definite. Reads the lower triangle
// only.
template <class W>
void Factorize(std::vector<W>& a, int64_t n) {
  const auto at = [&](int64_t i, int64_t j) -> W& { return a[static_cast<size_t>(i * n + j)]; };
  bool definite = true;
  for (int64_t j = 0; j < n && definite; ++j) {
    auto diagonal = RealOf(at(j, j));
    for (int64_t k = 0; k < j; ++k) diagonal -= RealOf(at(j, k) * Conjugate(at(j, k)));
    definite = diagonal > 0;  // also false for NaN
    const auto root = std::sqrt(diagonal);
    at(j, j) = root;
    for (int64_t i = j + 1; i < n; ++i) {
      W sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * Conjugate(at(j, k));
      at(i, j) = sum / root;
    }
  }
  if (!definite) std::fill(a.begin(), a.end(), W(std::numeric_limits<double>::quiet_NaN()));
}

Status Cholesky(OpContext& context) {
  const Value& operand = context.in(0);
  const bool lower = BoolAttr(context.op, "lower");
  const int64_t n = operand.dims().back();
  if (operand.rank() < 2 || operand.dims()[operand.rank() - 2] != n)
    return InvalidArgument("cholesky of a matrix that is not square");
  TENON_ASSIGN_OR_RETURN(Value out, Value::Zeros(operand.shape()));
  const int64_t matrices = n == 0 ? 0 : operand.num_elements() / (n * n);
  const bool known = VisitType(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeOf<T>;
    if constexpr (FloatCompute<C> || ComplexCompute<C>) {
      using W = typename Wide<C>::type;
      std::vector<W> a(static_cast<size_t>(n * n));
      for (int64_t m = 0; m < matrices; ++m) {
        const T* from = operand.data<T>() + m * n * n;
        T* to = out.mutable_data<T>() + m * n * n;
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j <= i; ++j) {
            const W v = ToWide<W>(Load(lower ? from[i * n + j] : from[j * n + i]));
            a[static_cast<size_t>(i * n + j)] = lower ? v : Conjugate(v);
          }
        }
        Factorize(a, n);
        const bool failed = n > 0 && std::isnan(RealOf(a[0]));
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j <= i; ++j) {
            const W v = a[static_cast<size_t>(i * n + j)];
            if (failed) to[j * n + i] = Store<T>(ToNarrow<C>(v));
            to[lower ? i * n + j : j * n + i] = Store<T>(ToNarrow<C>(lower ? v : Conjugate(v)));
          }
        }
      }
      return true;
    }
    return false;
  });
  if (!known) return Unimplemented("cholesky of this element type");
  return context.Return(std::move(out));
}

// Solves op(A) x = b in place by substitution. coefficient(i, j) is op(A)[i, j]; `lower` is about op(A).
template <class W, class Coefficient>
void Substitute(std::vector<W>& x, int64_t n, bool lower, bool unit_diagonal, Coefficient coefficient) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    W sum = x[static_cast<size_t>(i)];
    for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : n); ++j) sum -= coefficient(i, j) * x[static_cast<size_t>(j)];
    x[static_cast<size_t>(i)] = unit_diagonal ? sum : sum / coefficient(i, i);
  }
}

Status TriangularSolve(OpContext& context) {
  const Value &a = context.in(0), &b = context.in(1);
  const bool left = BoolAttr(context.op, "left_side"), unit = BoolAttr(context.op, "unit_diagonal"),
             stored_lower = BoolAttr(context.op, "lower");
  const SolveKind kind = SolveKindOf(context.op);
  const int64_t n = a.dims().back(), rows = b.dims()[b.rank() - 2], columns = b.dims()[b.rank() - 1];
  const bool batches_agree = a.rank() == b.rank() && std::equal(a.dims().begin(), a.dims().end() - 2, b.dims().begin());
  if (!batches_agree || a.dims()[a.rank() - 2] != n || (left ? rows : columns) != n) {
    return InvalidArgument("triangular_solve of " + ToString(a.shape()) + " and " + ToString(b.shape()));
  }
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(b.shape()));
  const int64_t matrices = n == 0 || b.num_elements() == 0 ? 0 : a.num_elements() / (n * n);
  const bool known = VisitType(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeOf<T>;
    if constexpr (FloatCompute<C> || ComplexCompute<C>) {
      using W = typename Wide<C>::type;
      std::vector<W> wide(static_cast<size_t>(n * n)), x(static_cast<size_t>(n));
      for (int64_t m = 0; m < matrices; ++m) {
        // op(A); from the right, x op(A) = b is op(A)^T x^T = b^T.
        const bool swap = (kind != SolveKind::kPlain) != !left;
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            const W v = ToWide<W>(Load(a.data<T>()[m * n * n + i * n + j]));
            wide[static_cast<size_t>(swap ? j * n + i : i * n + j)] = kind == SolveKind::kAdjoint ? Conjugate(v) : v;
          }
        }
        const bool lower = stored_lower != swap;
        const auto coefficient = [&](int64_t i, int64_t j) { return wide[static_cast<size_t>(i * n + j)]; };
        const int64_t systems = left ? columns : rows, base = m * rows * columns;
        for (int64_t s = 0; s < systems; ++s) {
          const auto place = [&](int64_t i) { return base + (left ? i * columns + s : s * columns + i); };
          for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = ToWide<W>(Load(b.data<T>()[place(i)]));
          Substitute(x, n, lower, unit, coefficient);
          for (int64_t i = 0; i < n; ++i)
            out.mutable_data<T>()[place(i)] = Store<T>(ToNarrow<C>(x[static_cast<size_t>(i)]));
        }
      }
      return true;
    }
    return false;
  });
  if (!known) return Unimplemented("triangular_solve of this element type");
  return context.Return(std::move(out));
}

constexpr OpEntry kOps[] = {{"stablehlo.cholesky", &Cholesky}, {"stablehlo.triangular_solve", &TriangularSolve}};

}  // namespace

std::span<const OpEntry> LinalgOps() { return kOps; }

}  // namespace tenon::reference
