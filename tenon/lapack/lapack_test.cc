// QR factorisations, Hermitian eigenvalues, and what every call checks.

#include "tenon/lapack/lapack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/ffi_host/registry.h"
#include "tenon/lapack/testing/routines.h"

namespace tenon::lapack {
namespace {

template <class T>
class Lapack : public testing::Test {};
TYPED_TEST_SUITE(Lapack, Types);

template <class T>
std::string OrthogonalProduct() {
  return Target(Traits<T>::kLetter, std::is_floating_point_v<T> ? "orgqr" : "ungqr");
}

/// Wants a = q r for matrix i, with r in the upper triangle of `packed`.
template <class T>
void ExpectQr(const Exact& a, Array& packed, Array& q, int64_t i) {
  const int64_t m = a.rows, n = a.cols, k = std::min(m, n);
  const Exact product(q.as<T>() + i * m * n, m, n);
  Exact r(packed.as<T>() + i * m * n, m, n), top(k, n), thin(m, k);
  for (int64_t row = 0; row < k; ++row) {
    for (int64_t col = row; col < n; ++col) top(row, col) = r(row, col);
  }
  std::copy_n(product.data.begin(), thin.data.size(), thin.data.begin());
  EXPECT_LE(Distance(Times(thin, top), a), Bound<T>(m, n) * Norm(a));
  EXPECT_LE(Distance(Times(Adjoint(thin), thin), Unit(k)), Bound<T>(m, n) * std::sqrt(static_cast<long double>(k)));
  for (int64_t col = k; col < n; ++col) {
    for (int64_t row = 0; row < m; ++row) EXPECT_EQ(product(row, col), Wide(0));
  }
}

TYPED_TEST(Lapack, GeqrfAndOrgqrFactor) {
  using T = TypeParam;
  // Also where squares of entries overflow, and where they vanish.
  const auto large = std::sqrt(std::numeric_limits<typename Traits<T>::Real>::max()) * 8;
  for (const typename Traits<T>::Real by : {typename Traits<T>::Real(1), large, 1 / large}) {
    for (const auto& [batch, m, n] : kSizes) {
      SCOPED_TRACE(testing::Message() << batch << "x" << m << "x" << n << " by " << by);
      const int64_t k = std::min(m, n);
      Array a = Array::Of<T>({batch, m, n}), r = a, q = a, taus = Array::Of<T>({batch, k});
      Fill<T>(a, 7, by);
      Status s = CallRoutine(Target(Traits<T>::kLetter, "geqrf"), {&a}, {&r, &taus});
      ASSERT_TRUE(s.ok()) << s.ToString();
      s = CallRoutine(OrthogonalProduct<T>(), {&r, &taus}, {&q});
      ASSERT_TRUE(s.ok()) << s.ToString();
      for (int64_t i = 0; i < std::min<int64_t>(batch, 5); ++i)
        ExpectQr<T>(Exact(a.as<T>() + i * m * n, m, n), r, q, i);
    }
  }
}

/// Columns of sizes that are far apart: each is as near to a's as the bound says beside its own size.
TYPED_TEST(Lapack, QrOfColumnsOfAllSizes) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  const Real far = std::sqrt(std::numeric_limits<Real>::min()) / 64;
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{3, 2}, {6, 5}, {40, 40}, {70, 9}}) {
    for (const bool pivots : {false, true}) {
      SCOPED_TRACE(testing::Message() << m << "x" << n << (pivots ? " with pivots" : ""));
      Array a = Array::Of<T>({m, n}), r = a, q = a, taus = Array::Of<T>({n});
      Array fixed = Array::Of<int32_t>({n}), order = fixed;
      Fill<T>(a, 5);
      for (int64_t j = 1; j < n; j += 2) {
        for (int64_t i = 0; i < m; ++i) a.as<T>()[j * m + i] *= far;
      }
      Status s = pivots ? CallRoutine(Target(Traits<T>::kLetter, "geqp3"), {&a, &fixed}, {&r, &order, &taus})
                        : CallRoutine(Target(Traits<T>::kLetter, "geqrf"), {&a}, {&r, &taus});
      ASSERT_TRUE(s.ok()) << s.ToString();
      s = CallRoutine(OrthogonalProduct<T>(), {&r, &taus}, {&q});
      ASSERT_TRUE(s.ok()) << s.ToString();
      const Exact wanted(a.as<T>(), m, n), product(q.as<T>(), m, n), packed(r.as<T>(), m, n);
      Exact top(n, n);
      for (int64_t row = 0; row < n; ++row) {
        for (int64_t col = row; col < n; ++col) top(row, col) = packed(row, col);
      }
      EXPECT_LE(Distance(Times(Adjoint(product), product), Unit(n)),
                Bound<T>(m, n) * std::sqrt(static_cast<long double>(n)));
      const Exact made = Times(product, top);
      for (int64_t col = 0; col < n; ++col) {
        const int64_t from = pivots ? order.as<int32_t>()[col] - 1 : col;
        Exact x(m, 1), y(m, 1);
        for (int64_t row = 0; row < m; ++row) {
          x(row, 0) = wanted(row, from);
          y(row, 0) = made(row, col);
        }
        EXPECT_LE(Distance(y, x), Bound<T>(m, n) * Norm(x)) << "column " << col;
      }
    }
  }
}

/// As a factorisation asks that is to have a whole q of a tall matrix.
TYPED_TEST(Lapack, OrgqrTakesFewerReflectorsThanColumns) {
  using T = TypeParam;
  constexpr int64_t m = 7, n = 3;
  Array a = Array::Of<T>({m, n}), r = a, taus = Array::Of<T>({n}), whole = Array::Of<T>({m, m}), q = whole;
  Fill<T>(a, 11);
  Status s = CallRoutine(Target(Traits<T>::kLetter, "geqrf"), {&a}, {&r, &taus});
  ASSERT_TRUE(s.ok()) << s.ToString();
  std::copy(r.bytes.begin(), r.bytes.end(), whole.bytes.begin());
  s = CallRoutine(OrthogonalProduct<T>(), {&whole, &taus}, {&q});
  ASSERT_TRUE(s.ok()) << s.ToString();
  const Exact product(q.as<T>(), m, m), packed(r.as<T>(), m, n);
  Exact top(m, n);
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t col = row; col < n; ++col) top(row, col) = packed(row, col);
  }
  const Exact wanted(a.as<T>(), m, n);
  EXPECT_LE(Distance(Times(product, top), wanted), Bound<T>(m, n) * Norm(wanted));
  EXPECT_LE(Distance(Times(Adjoint(product), product), Unit(m)), Bound<T>(m, m) * std::sqrt(7.0L));
  Array more = Array::Of<T>({m + 1});
  EXPECT_EQ(CallRoutine(OrthogonalProduct<T>(), {&whole, &more}, {&q}).code(), Code::kInvalidArgument);
}

/// Wants the Hermitian x = v w v^H for matrix i, with orthonormal v and ascending w.
template <class T>
void ExpectEigen(const Exact& x, Array& v, Array& w, int64_t i) {
  using Real = typename Traits<T>::Real;
  const int64_t n = x.rows;
  const Exact vectors(v.as<T>() + i * n * n, n, n);
  Exact scaled = vectors;
  const Real* values = w.as<Real>() + i * n;
  EXPECT_TRUE(std::is_sorted(values, values + n));
  for (int64_t col = 0; col < n; ++col) {
    for (int64_t row = 0; row < n; ++row) scaled(row, col) *= static_cast<long double>(values[col]);
  }
  EXPECT_LE(Distance(Times(x, vectors), scaled), Bound<T>(n, n) * Norm(x));
  EXPECT_LE(Distance(Times(Adjoint(vectors), vectors), Unit(n)),
            Bound<T>(n, n) * std::sqrt(static_cast<long double>(n)));
}

TYPED_TEST(Lapack, SyevdFindsValuesAndVectorsOfEitherTriangle) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  for (const char uplo : {'L', 'U'}) {
    for (const auto& [batch, n] : {std::pair<int64_t, int64_t>{1, 0}, {3, 1}, {50, 2}, {2, 9}, {1, 33}, {1, 70}}) {
      SCOPED_TRACE(testing::Message() << batch << "x" << n << uplo);
      Array a = Array::Of<T>({batch, n, n}), v = a, w = Array::Of<Real>({batch, n}), info = Array::Of<int32_t>({batch});
      Fill<T>(a, 11);
      Status s = CallRoutine(Target(Traits<T>::kLetter, std::is_floating_point_v<T> ? "syevd" : "heevd"), {&a},
                             {&v, &w, &info}, {Letter("mode", 'V'), Letter("uplo", uplo)});
      ASSERT_TRUE(s.ok()) << s.ToString();
      for (int64_t i = 0; i < batch; ++i) {
        EXPECT_EQ(info.as<int32_t>()[i], 0);
        Exact x(a.as<T>() + i * n * n, n, n);
        for (int64_t row = 0; row < n; ++row) {
          x(row, row) = x(row, row).real();
          for (int64_t col = row + 1; col < n; ++col)
            (uplo == 'L' ? x(row, col) : x(col, row)) = std::conj(uplo == 'L' ? x(col, row) : x(row, col));
        }
        ExpectEigen<T>(x, v, w, i);
      }
    }
  }
}

/// The product of the reflectors in columns of `v`, from so many rows below the diagonal on.
template <class T>
Exact ProductOf(const Exact& v, const T* taus, int64_t count, int64_t below) {
  Exact q = Unit(v.rows);
  for (int64_t k = count; k-- > 0;) {
    Exact x(v.rows, 1);
    for (int64_t i = k + below; i < v.rows; ++i) x(i, 0) = i == k + below ? Wide(1) : v(i, k);
    Exact h = Times(x, Adjoint(x));
    for (int64_t j = 0; j < h.cols; ++j) {
      for (int64_t i = 0; i < h.rows; ++i) h(i, j) = Wide(i == j) - Wide(taus[k]) * h(i, j);
    }
    q = Times(h, q);
  }
  return q;
}

TYPED_TEST(Lapack, OrmqrMultipliesFromEitherSide) {
  using T = TypeParam;
  const std::string routine = Target(Traits<T>::kLetter, std::is_floating_point_v<T> ? "ormqr" : "unmqr");
  for (const auto& [order, k, other] : {Sizes{5, 3, 4}, {40, 33, 1}, {40, 40, 50}, {1, 1, 1}}) {
    Array a = Array::Of<T>({order, k}), r = a, taus = Array::Of<T>({k});
    Fill<T>(a, 41);
    ASSERT_TRUE(CallRoutine(Target(Traits<T>::kLetter, "geqrf"), {&a}, {&r, &taus}).ok());
    const Exact q = ProductOf<T>(Exact(r.as<T>(), order, k), taus.as<T>(), k, 0);
    for (const bool left : {false, true}) {
      for (const bool adjoint : {false, true}) {
        SCOPED_TRACE(testing::Message() << order << "x" << k << " for " << other << (left ? " left" : " right")
                                        << (adjoint ? " adjoint" : ""));
        const int64_t m = left ? order : other, n = left ? other : order;
        Array c = Array::Of<T>({m, n}), out = c;
        Fill<T>(c, 43);
        const Status s =
            CallRoutine(routine, {&r, &taus, &c}, {&out}, {Flag("left", left), Flag("transpose", adjoint)});
        ASSERT_TRUE(s.ok()) << s.ToString();
        const Exact before(c.as<T>(), m, n), by = adjoint ? Adjoint(q) : q;
        EXPECT_LE(Distance(Exact(out.as<T>(), m, n), left ? Times(by, before) : Times(before, by)),
                  Bound<T>(order, k) * Norm(before));
      }
    }
  }
}

TYPED_TEST(Lapack, SytrdMakesATridiagonalMatrixOfEitherTriangle) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  for (const char uplo : {'L', 'U'}) {
    for (const int64_t n : {1, 2, 9, 33, 50}) {
      SCOPED_TRACE(testing::Message() << n << uplo);
      const int64_t k = n - 1;
      Array a = Array::Of<T>({n, n}), out = a, d = Array::Of<Real>({n}), e = Array::Of<Real>({k}),
            taus = Array::Of<T>({k}), info = Array::Of<int32_t>({});
      Fill<T>(a, 47);
      const Status s = CallRoutine(Target(Traits<T>::kLetter, std::is_floating_point_v<T> ? "sytrd" : "hetrd"), {&a},
                                   {&out, &d, &e, &taus, &info}, {Letter("uplo", uplo)});
      ASSERT_TRUE(s.ok()) << s.ToString();
      // In reverse order an upper triangle is a lower one.
      const auto at = [&](int64_t i) { return uplo == 'L' ? i : n - 1 - i; };
      Exact x(n, n), t(n, n), v(n, n);
      std::vector<T> ordered;
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = j; i < n; ++i) {
          const Wide entry(a.as<T>()[at(j) * n + at(i)]);
          x(i, j) = i == j ? Wide(entry.real()) : entry;
          x(j, i) = std::conj(x(i, j));
          v(i, j) = Wide(out.as<T>()[at(j) * n + at(i)]);
        }
        t(j, j) = Wide(d.as<Real>()[at(j)]);
        if (j == k) break;
        const int64_t beside = uplo == 'L' ? j : k - 1 - j;
        t(j + 1, j) = t(j, j + 1) = Wide(e.as<Real>()[beside]);
        ordered.push_back(taus.as<T>()[beside]);
      }
      const Exact q = ProductOf<T>(v, ordered.data(), k, 1);
      EXPECT_LE(Distance(Times(Adjoint(q), Times(x, q)), t), Bound<T>(n, n) * Norm(x));
    }
  }
}

/// Symmetric matrices with equal, close and vanishing eigenvalues, and of entries of very different sizes.
std::vector<std::pair<const char*, Exact>> HardMatrices(int64_t n) {
  std::vector<std::pair<const char*, Exact>> all;
  const auto add = [&](const char* name, auto entry) {
    Exact x(n, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) x(i, j) = entry(std::max(i, j), std::min(i, j));
    }
    all.emplace_back(name, std::move(x));
  };
  const auto wave = [](int64_t i) { return std::sin(static_cast<long double>(7 * i + 1)); };
  add("zero", [](int64_t, int64_t) { return 0.0L; });
  add("one", [](int64_t i, int64_t j) { return i == j ? 1.0L : 0.0L; });
  add("all ones", [](int64_t, int64_t) { return 1.0L; });
  add("rank one", [&](int64_t i, int64_t j) { return wave(i) * wave(j); });
  add("Hilbert", [](int64_t i, int64_t j) { return 1.0L / static_cast<long double>(i + j + 1); });
  add("neighbours", [](int64_t i, int64_t j) { return i == j + 1 ? 1.0L : 0.0L; });
  add("Wilkinson", [n](int64_t i, int64_t j) {
    return i == j ? std::abs(static_cast<long double>(2 * i - n + 1)) / 2 : i == j + 1 ? 1.0L : 0.0L;
  });
  add("falling",
      [&](int64_t i, int64_t j) { return wave(i * i + j) * std::pow(2.0L, static_cast<long double>(-i - j)); });
  add("rising",
      [&](int64_t i, int64_t j) { return wave(i * i + j) * std::pow(2.0L, static_cast<long double>(i + j - 2 * n)); });
  add("blocks", [](int64_t i, int64_t j) { return i / 3 != j / 3 ? 0.0L : i == j ? 2.0L : i == j + 1 ? 1.0L : 0.0L; });
  return all;
}

TYPED_TEST(Lapack, EigenvaluesOfHardMatrices) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  for (int64_t n : {1, 2, 3, 16, 17, 50}) {
    for (const auto& [name, exact] : HardMatrices(n)) {
      SCOPED_TRACE(testing::Message() << name << " of " << n);
      Array a = Array::Of<T>({1, n, n}), v = a, w = Array::Of<Real>({1, n}), info = Array::Of<int32_t>({1});
      for (size_t k = 0; k < exact.data.size(); ++k)
        a.as<T>()[k] = static_cast<T>(static_cast<Real>(exact.data[k].real()));
      const Status s = CallRoutine(Target(Traits<T>::kLetter, std::is_floating_point_v<T> ? "syevd" : "heevd"), {&a},
                                   {&v, &w, &info}, {Letter("mode", 'V'), Letter("uplo", 'L')});
      ASSERT_TRUE(s.ok()) << s.ToString();
      EXPECT_EQ(info.as<int32_t>()[0], 0);
      ExpectEigen<T>(Exact(a.as<T>(), n, n), v, w, 0);
    }
  }
}

TYPED_TEST(Lapack, WhatIsNotFiniteEnds) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  constexpr int64_t n = 40;
  for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    // The second of two matrices is as it should be.
    Array a = Array::Of<T>({2, n, n}), v = a, r = a, w = Array::Of<Real>({2, n}), taus = Array::Of<T>({2, n}),
          info = Array::Of<int32_t>({2});
    Fill<T>(a, 3);
    a.as<T>()[5] = T(bad);
    Status s = CallRoutine(Target(Traits<T>::kLetter, std::is_floating_point_v<T> ? "syevd" : "heevd"), {&a},
                           {&v, &w, &info}, {Letter("mode", 'V'), Letter("uplo", 'L')});
    ASSERT_TRUE(s.ok()) << s.ToString();
    EXPECT_GT(info.as<int32_t>()[0], 0);
    EXPECT_EQ(info.as<int32_t>()[1], 0);
    EXPECT_TRUE(std::isnan(w.as<Real>()[0]));
    EXPECT_TRUE(std::isfinite(w.as<Real>()[n]));
    s = CallRoutine(Target(Traits<T>::kLetter, "geqrf"), {&a}, {&r, &taus});
    ASSERT_TRUE(s.ok()) << s.ToString();
    EXPECT_TRUE(std::isnan(std::real(r.as<T>()[n * n - 1])));
    EXPECT_TRUE(std::isfinite(std::real(r.as<T>()[2 * n * n - 1])));
  }
}

TEST(LapackCalls, WhatIsNotAsWantedIsAnError) {
  Array a = Array::Of<float>({3, 2}), r = a, taus = Array::Of<float>({3}), doubles = Array::Of<double>({2});
  Status s = CallRoutine("lapack_sgeqrf_ffi", {&a}, {&r, &taus});
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_NE(s.ToString().find("result 1 is f32[3], wanted f32[2]"), std::string::npos) << s.ToString();
  s = CallRoutine("lapack_sgeqrf_ffi", {&a}, {&r, &doubles});
  EXPECT_NE(s.ToString().find("result 1 is f64[2], wanted f32[2]"), std::string::npos) << s.ToString();
  EXPECT_EQ(CallRoutine("lapack_sgeqrf_ffi", {&a}, {&r}).code(), Code::kInvalidArgument);
  EXPECT_EQ(CallRoutine("lapack_sgeqrf_ffi", {&taus}, {&r, &taus}).code(), Code::kInvalidArgument);
  Array x = Array::Of<float>({2, 2}), v = x, w = Array::Of<float>({2}), info = Array::Of<int32_t>({});
  s = CallRoutine("lapack_ssyevd_ffi", {&x}, {&v, &w, &info}, {Letter("mode", 'V')});
  EXPECT_NE(s.ToString().find("wanted an attribute 'uplo'"), std::string::npos) << s.ToString();
  s = CallRoutine("lapack_ssyevd_ffi", {&x}, {&v, &w, &info}, {Letter("mode", 'V'), Letter("uplo", 'X')});
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_EQ(CallRoutine("lapack_sgeqrf", {&a}, {&r, &taus}).code(), Code::kNotFound);
}

XLA_FFI_Error* Registered(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) {
    auto* m = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
    m->api_version.major_version = 0;
    m->api_version.minor_version = 5;
    return nullptr;
  }
  static_cast<float*>(static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0])->data)[0] = 77;
  return nullptr;
}

// Last: a registration is for good.
TEST(LapackRegistration, ALaterOneWins) {
  Array a = Array::Of<float>({1, 1}), r = a, taus = Array::Of<float>({1});
  a.as<float>()[0] = 3;
  ASSERT_TRUE(CallRoutine("lapack_sgeqrf_ffi", {&a}, {&r, &taus}).ok());
  EXPECT_EQ(r.as<float>()[0], 3);
  ASSERT_TRUE(ffi_host::RegisterHandler("lapack_sgeqrf_ffi", {nullptr, nullptr, nullptr, Registered, nullptr},
                                        ffi_host::kLeafTrait)
                  .ok());
  ASSERT_TRUE(CallRoutine("lapack_sgeqrf_ffi", {&a}, {&r, &taus}).ok());
  EXPECT_EQ(r.as<float>()[0], 77);
}

}  // namespace
}  // namespace tenon::lapack
