// Singular values and vectors: a = q b p^H by reflectors with b real and bidiagonal, which is then made diagonal.

#include "tenon/lapack/bidiagonal.h"
#include "tenon/lapack/reflectors.h"

namespace tenon::lapack {
namespace {

using internal::RealOf;

/// Memory for the singular values and vectors of matrices of no fewer rows than columns, of which there are some, with
/// so many columns of u; 0 for no vectors, and otherwise all of v.
template <class T>
class SvdProblem {
 public:
  using R = RealOf<T>;

  SvdProblem(int64_t m, int64_t n, int64_t u_columns)
      : a_(m, n),
        right_(n, n),
        turned_u_(n, u_columns > 0 ? n : 0),
        turned_v_(n, u_columns > 0 ? n : 0),
        u_(m, u_columns),
        v_(n, u_columns > 0 ? n : 0),
        beside_(static_cast<size_t>(n)),
        q_taus_(beside_.size()),
        p_taus_(beside_.size()) {}

  /// Whether it is finite.
  bool Set(const Entries<const T>& matrix) {
    Load(matrix, a_.block());
    scale_ = ScaleAll(a_.block());
    return scale_ != 0;
  }

  /// False when the iteration does not end.
  bool Run(R* values) {
    const Block<T>& a = a_.block();
    const int64_t n = a.columns;
    Bidiagonalise(a, values, beside_.data(), q_taus_.data(), right_.block(), p_taus_.data());
    const bool vectors = u_.block().columns > 0;
    turned_u_.SetIdentity();
    turned_v_.SetIdentity();
    if (!BidiagonalSvd<R>(n, values, beside_.data(), vectors ? &turned_u_.block() : nullptr,
                          vectors ? &turned_v_.block() : nullptr))
      return false;
    for (int64_t j = 0; j < n; ++j) values[j] *= 1 / scale_;
    if (!vectors) return true;
    u_.SetIdentity();
    v_.SetZero();
    for (int64_t j = 0; j < n; ++j) {
      u_.block().Set(j, j, T(0));
      std::copy_n(turned_u_.block().at(0, j), n, u_.block().at(0, j));
      std::copy_n(turned_v_.block().at(0, j), n, v_.block().at(0, j));
    }
    MultiplyReflectors(a, 0, q_taus_.data(), n, Product::kPlain, u_.block());
    MultiplyReflectors(right_.block(), 1, p_taus_.data(), n - 1, Product::kPlain, v_.block());
    return true;
  }

  const Block<T>& u() const { return u_.block(); }
  const Block<T>& v() const { return v_.block(); }

 private:
  Padded<T> a_, right_;
  Padded<R> turned_u_, turned_v_;
  Padded<T> u_, v_;
  std::vector<R> beside_;
  std::vector<T> q_taus_, p_taus_;
  R scale_ = 1;
};

/// u s v^H with s in descending order. Mode A: u and v are square; S: as many vectors as there are singular values;
/// N: values alone, and zeros for the rest. What is not finite has NaN for all, and info -4.
template <class T>
Status Gesdd(Call& call) {
  const auto [m, n] = call.Matrices(1, 5);
  const char mode = call.Letter("mode", "ASN");
  const int64_t k = std::min(m, n);
  const auto a = call.MatrixIn<T>(0, m, n);
  const auto copy = call.MatrixOut<T>(0, m, n);
  const auto s = call.VectorOut<RealOf<T>>(1, k);
  // Without vectors their arrays are of either size.
  const auto are_square = [&, m = m, n = n] {
    Call probe = call;
    probe.MatrixOut<T>(2, m, m);
    probe.MatrixOut<T>(3, n, n);
    return probe.ForEach([](int64_t) {}).ok();
  };
  const bool square = mode == 'A' || (mode == 'N' && are_square());
  const auto u = call.MatrixOut<T>(2, m, square ? m : k);
  const auto vt = call.MatrixOut<T>(3, square ? n : k, n);
  int32_t* info = call.InfoOut(4);
  const bool is_wide = m < n;
  SvdProblem<T> svd(std::max(m, n), k, mode == 'N' ? 0 : square ? std::max(m, n) : k);
  return call.ForEach([&, m = m, n = n](int64_t i) {
    const auto set = [&](const Stack<T>& stack, T diagonal) {
      std::fill_n(stack.at(i), stack.rows * stack.cols, T(0));
      for (int64_t j = 0; j < std::min(stack.rows, stack.cols); ++j) stack.at(i)[j * (stack.rows + 1)] = diagonal;
    };
    info[i] = 0;
    if (k == 0) {
      set(u, T(1));
      set(vt, T(1));
      return;
    }
    const auto entries = Entries<const T>::Of(a, i);
    const bool is_finite = svd.Set(is_wide ? entries.Adjoint() : entries);
    if (copy.at(i) != a.at(i)) std::copy_n(a.at(i), m * n, copy.at(i));
    if (!is_finite || !svd.Run(s.at(i))) {
      info[i] = is_finite ? 1 : -4;
      FillNan(s, i);
      FillNan(u, i);
      FillNan(vt, i);
    } else if (mode == 'N') {
      set(u, T(0));
      set(vt, T(0));
    } else {
      Store(is_wide ? svd.v() : svd.u(), Entries<T>::Of(u, i));
      Store(is_wide ? svd.u() : svd.v(), Entries<T>::Of(vt, i).Adjoint());
    }
  });
}

}  // namespace

std::span<const Entry> SvdEntries() {
  static constexpr Entry kEntries[] = {TENON_LAPACK_REAL("gesdd", Gesdd), TENON_LAPACK_COMPLEX("gesdd", Gesdd),
                                       TENON_LAPACK_REAL("gesvd", Gesdd), TENON_LAPACK_COMPLEX("gesvd", Gesdd)};
  return kEntries;
}

}  // namespace tenon::lapack
