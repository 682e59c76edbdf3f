// Matrices of no symmetry: Hessenberg and Schur forms, eigenvalues and vectors.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/lapack/testing/routines.h"

namespace tenon::lapack {
namespace {

template <class T>
class SchurForms : public testing::Test {};
TYPED_TEST_SUITE(SchurForms, Types);

constexpr std::pair<int64_t, int64_t> kSquares[] = {{1, 0}, {3, 1}, {40, 2}, {2, 9}, {1, 60}};

TYPED_TEST(SchurForms, GehrdReducesToHessenbergForm) {
  using T = TypeParam;
  for (const auto& [batch, n] : kSquares) {
    SCOPED_TRACE(testing::Message() << batch << "x" << n);
    const int64_t k = std::max<int64_t>(n - 1, 0);
    Array a = Array::Of<T>({batch, n, n}), h = a, taus = Array::Of<T>({batch, k}), info = Array::Of<int32_t>({batch});
    Fill<T>(a, 53);
    const Status s = CallRoutine(Target(Traits<T>::kLetter, "gehrd"), {&a}, {&h, &taus, &info},
                                 {Number("low", 1), Number("high", static_cast<int32_t>(n))});
    ASSERT_TRUE(s.ok()) << s.ToString();
    for (int64_t i = 0; i < batch; ++i) {
      EXPECT_EQ(info.as<int32_t>()[i], 0);
      const Exact x(a.as<T>() + i * n * n, n, n), packed(h.as<T>() + i * n * n, n, n);
      Exact form = packed, q = Unit(n);
      for (int64_t j = 0; j < k; ++j) {
        Exact v(n, 1), reflector = Unit(n);
        v(j + 1, 0) = 1;
        for (int64_t row = j + 2; row < n; ++row) v(row, 0) = packed(row, j), form(row, j) = 0;
        const Exact product = Times(v, Adjoint(v));
        for (size_t e = 0; e < product.data.size(); ++e)
          reflector.data[e] -= Wide(taus.as<T>()[i * k + j]) * product.data[e];
        q = Times(q, reflector);
      }
      EXPECT_LE(Distance(Times(Adjoint(q), q), Unit(n)), Bound<T>(n, n) * std::sqrt(static_cast<long double>(n)));
      EXPECT_LE(Distance(Times(Times(q, form), Adjoint(q)), x), Bound<T>(n, n) * Norm(x));
    }
  }
}

TYPED_TEST(SchurForms, GehrdOfNothingAsksForNoRows) {
  using T = TypeParam;
  Array a = Array::Of<T>({0, 0}), h = a, taus = Array::Of<T>({0}), info = Array::Of<int32_t>({});
  const Status s = CallRoutine(Target(Traits<T>::kLetter, "gehrd"), {&a}, {&h, &taus, &info},
                               {Number("low", 1), Number("high", 100000)});
  EXPECT_TRUE(s.ok()) << s.ToString();
}

/// Forms and values of `a`, with what LAPACK says of them. Bounds are for about two sweeps per eigenvalue: `sweeps`
/// times as many round as often.
template <class T>
void ExpectGees(Array& a, int64_t batch, int64_t n, int sweeps = 1) {
  constexpr bool kReal = std::is_floating_point_v<T>;
  Array t = a, q = a, w = Array::Of<T>({batch, n}), imaginary = w, selected = Array::Of<int32_t>({batch}),
        info = selected;
  const auto results = kReal ? std::vector<Array*>{&t, &q, &w, &imaginary, &selected, &info}
                             : std::vector<Array*>{&t, &q, &w, &selected, &info};
  const Status s =
      CallRoutine(Target(Traits<T>::kLetter, "gees"), {&a}, results, {Letter("mode", 'V'), Letter("sort", 'N')});
  ASSERT_TRUE(s.ok()) << s.ToString();
  for (int64_t i = 0; i < batch; ++i) {
    EXPECT_EQ(info.as<int32_t>()[i], 0);
    const Exact x(a.as<T>() + i * n * n, n, n), form(t.as<T>() + i * n * n, n, n), y(q.as<T>() + i * n * n, n, n);
    EXPECT_LE(Distance(Times(Adjoint(y), y), Unit(n)), Bound<T>(n, n) * std::sqrt(static_cast<long double>(n)));
    EXPECT_LE(Distance(Times(Times(y, form), Adjoint(y)), x), sweeps * Bound<T>(n, n) * Norm(x));
    for (int64_t col = 0; col < n; ++col) {
      EXPECT_EQ(form(col, col).real(), std::real(w.as<T>()[i * n + col]));
      for (int64_t row = col + (kReal ? 2 : 1); row < n; ++row) EXPECT_EQ(form(row, col), Wide(0));
    }
    // A block of order 2 has equal entries on its diagonal and others of opposite signs, and no neighbour.
    for (int64_t k = 0; kReal && k + 1 < n; ++k) {
      if (form(k + 1, k) == Wide(0)) continue;
      EXPECT_EQ(form(k, k), form(k + 1, k + 1));
      const long double product = form(k, k + 1).real() * form(k + 1, k).real();
      EXPECT_LT(product, 0);
      const auto part = static_cast<long double>(std::real(imaginary.as<T>()[i * n + k]));
      EXPECT_LE(std::abs(part - std::sqrt(-product)), Bound<T>(1, 1) * part);
      if (k + 2 < n) EXPECT_EQ(form(k + 2, k + 1), Wide(0));
    }
  }
}

TYPED_TEST(SchurForms, GeesFindsSchurForms) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  const Real large = std::sqrt(std::numeric_limits<Real>::max()) * 8;
  for (const Real by : {Real(1), large, 1 / large}) {
    for (const auto& [batch, n] : kSquares) {
      SCOPED_TRACE(testing::Message() << batch << "x" << n << " by " << by);
      Array a = Array::Of<T>({batch, n, n});
      Fill<T>(a, 59, by);
      ExpectGees<T>(a, batch, n);
    }
  }
}

/// Wants unit vectors with a x = x w, for matrix i.
template <class C>
void ExpectEigenvectors(const Exact& a, const std::vector<Wide>& w, Array& vectors, int64_t i) {
  const int64_t n = a.rows;
  const Exact x(vectors.as<C>() + i * n * n, n, n);
  Exact scaled = x;
  for (int64_t col = 0; col < n; ++col) {
    long double squares = 0;
    for (int64_t row = 0; row < n; ++row) {
      squares += std::norm(x(row, col));
      scaled(row, col) *= w[static_cast<size_t>(col)];
    }
    EXPECT_LE(std::abs(squares - 1), Bound<C>(n, n));
  }
  EXPECT_LE(Distance(Times(a, x), scaled), Bound<C>(n, n) * Norm(a) * std::sqrt(static_cast<long double>(n)));
}

/// Values, left and right vectors of `a`, with what ExpectEigenvectors wants.
template <class T>
void ExpectGeev(Array& a, int64_t batch, int64_t n) {
  using C = std::complex<typename Traits<T>::Real>;
  constexpr bool kReal = std::is_floating_point_v<T>;
  Array w = Array::Of<T>({batch, n}), imaginary = w, vl = Array::Of<C>({batch, n, n}), vr = vl,
        info = Array::Of<int32_t>({batch});
  const auto results =
      kReal ? std::vector<Array*>{&w, &imaginary, &vl, &vr, &info} : std::vector<Array*>{&w, &vl, &vr, &info};
  const Status s = CallRoutine(Target(Traits<T>::kLetter, "geev"), {&a}, results,
                               {Letter("compute_left", 'V'), Letter("compute_right", 'V')});
  ASSERT_TRUE(s.ok()) << s.ToString();
  for (int64_t i = 0; i < batch; ++i) {
    EXPECT_EQ(info.as<int32_t>()[i], 0);
    const Exact x(a.as<T>() + i * n * n, n, n);
    std::vector<Wide> values, conjugates;
    for (int64_t j = i * n; j < (i + 1) * n; ++j) {
      Wide value(w.as<T>()[j]);
      if (kReal) value = {value.real(), static_cast<long double>(std::real(imaginary.as<T>()[j]))};
      values.push_back(value);
      conjugates.push_back(std::conj(value));
    }
    ExpectEigenvectors<C>(x, values, vr, i);
    ExpectEigenvectors<C>(Adjoint(x), conjugates, vl, i);
    // Of a real matrix: conjugate pairs, the one above the real line first.
    for (size_t j = 0; kReal && j < values.size(); ++j) {
      if (values[j].imag() == 0) continue;
      EXPECT_GT(values[j].imag(), 0);
      ASSERT_LT(j + 1, values.size());
      EXPECT_EQ(values[j + 1], conjugates[j]);
      ++j;
    }
  }
}

TYPED_TEST(SchurForms, GeevFindsValuesAndVectors) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  const Real large = std::sqrt(std::numeric_limits<Real>::max()) * 8;
  for (const Real by : {Real(1), large, 1 / large}) {
    for (const auto& [batch, n] : kSquares) {
      SCOPED_TRACE(testing::Message() << batch << "x" << n << " by " << by);
      Array a = Array::Of<T>({batch, n, n});
      Fill<T>(a, 61, by);
      ExpectGeev<T>(a, batch, n);
    }
  }
}

/// Without vectors there is no form either: the values alone. Their power sums are traces of powers of a + e, where e
/// is as small beside a as the bound says.
TYPED_TEST(SchurForms, GeevFindsValuesAlone) {
  using T = TypeParam;
  using C = std::complex<typename Traits<T>::Real>;
  constexpr bool kReal = std::is_floating_point_v<T>;
  for (const int64_t n : {1, 2, 3, 10, 17, 33, 64}) {
    for (int kind = -1; kind < kKinds; ++kind) {
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", n " << n);
      Array a = Array::Of<T>({n, n}), w = Array::Of<T>({n}), imaginary = w, vl = Array::Of<C>({n, n}), vr = vl,
            info = Array::Of<int32_t>({});
      if (kind < 0)
        Fill<T>(a, 67);
      else
        FillWithKind<T>(a, kind, n);
      const auto results =
          kReal ? std::vector<Array*>{&w, &imaginary, &vl, &vr, &info} : std::vector<Array*>{&w, &vl, &vr, &info};
      const Status s = CallRoutine(Target(Traits<T>::kLetter, "geev"), {&a}, results,
                                   {Letter("compute_left", 'N'), Letter("compute_right", 'N')});
      ASSERT_TRUE(s.ok()) << s.ToString();
      EXPECT_EQ(info.as<int32_t>()[0], 0);
      const Exact x(a.as<T>(), n, n);
      Exact power = x;
      long double size = std::sqrt(static_cast<long double>(n));
      for (int p = 1; p <= 3; ++p) {
        Wide trace, sum;
        for (int64_t j = 0; j < n; ++j) {
          Wide value(w.as<T>()[j]), product = 1;
          if (kReal) value = {value.real(), static_cast<long double>(std::real(imaginary.as<T>()[j]))};
          for (int q = 0; q < p; ++q) product *= value;
          sum += product;
          trace += power(j, j);
        }
        size *= Norm(x);
        EXPECT_LE(std::abs(sum - trace), Bound<T>(n, n) * static_cast<long double>(p) * size) << "power " << p;
        power = Times(power, x);
      }
    }
  }
}

TYPED_TEST(SchurForms, GeevOfMatricesWithFewVectors) {
  using T = TypeParam;
  constexpr int64_t n = 12;
  // Zero, the unit matrix, one block of Jordan's form, a cyclic permutation.
  Array a = Array::Of<T>({4, n, n});
  for (int64_t j = 0; j < n; ++j) {
    a.as<T>()[n * n + j * n + j] = a.as<T>()[2 * n * n + j * n + j] = T(1);
    if (j > 0) a.as<T>()[2 * n * n + j * n + j - 1] = T(1);
    a.as<T>()[3 * n * n + j * n + (j + 1) % n] = T(1);
  }
  ExpectGeev<T>(a, 4, n);
}

/// Whole matrices that are similar to a block of Jordan's form: eigenvalues that rounding makes real or complex.
TYPED_TEST(SchurForms, NearlyDefectiveMatricesHaveFormsAndVectors) {
  using T = TypeParam;
  std::mt19937 random(71);
  const auto whole = [&](int lowest, int highest) {
    return std::uniform_int_distribution<int>(lowest, highest)(random);
  };
  for (const int64_t n : {2, 3, 4}) {
    SCOPED_TRACE(testing::Message() << "n " << n);
    constexpr int64_t batch = 2000;
    Array a = Array::Of<T>({batch, n, n});
    for (int64_t i = 0; i < batch; ++i) {
      T* x = a.as<T>() + i * n * n;
      for (int64_t j = 0; j < n; ++j) {
        x[j * n + j] = T(1);
        if (j > 0) x[j * n + j - 1] = T(1);
      }
      // Rows are added to others, and the columns subtracted that makes it a similarity.
      for (int step = 0; step < 4; ++step) {
        const int64_t to = whole(0, static_cast<int>(n) - 1), from = (to + whole(1, static_cast<int>(n) - 1)) % n;
        const T by(static_cast<typename Traits<T>::Real>(whole(-2, 2)));
        for (int64_t col = 0; col < n; ++col) x[col * n + to] += by * x[col * n + from];
        for (int64_t row = 0; row < n; ++row) x[from * n + row] -= by * x[to * n + row];
      }
    }
    ExpectGees<T>(a, batch, n, 3);
    ExpectGeev<T>(a, batch, n);
  }
}

/// Below a diagonal of zeros nothing is small beside it.
TYPED_TEST(SchurForms, GradedMatricesOfFewEntriesHaveFormsAndVectors) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  constexpr int64_t n = 9;
  const struct {
    int64_t row, col;
    double value;
  } entries[] = {{2, 6, -0x1.80150bc95d7fcp-51}, {3, 0, -0x1.a2e7ac91087f3p-76}, {3, 4, 0x1.61c64e360a363p-51},
                 {3, 7, -0x1.a64de4092ac9fp-28}, {4, 5, 0x1.4e842b174d637p-21},  {5, 0, -0x1.1c0d94bca7960p-80},
                 {5, 4, 0x1.eff8dcd3f5ee0p-8},   {5, 6, -0x1.6b52b2eba87f1p-74}, {5, 8, 0x1.da0e6f4317e9fp-28},
                 {6, 2, 0x1.feb02bdb8473ep-18},  {6, 4, -0x1.1eef91717967ep-20}, {7, 1, -0x1.f4bcb31e9b044p-16},
                 {8, 0, -0x1.e9c060bc21baep-26}, {8, 2, 0x1.5c8e136be4819p-32},  {8, 4, 0x1.524c8f3fa8cb1p-57},
                 {8, 5, 0x1.e9d6bc6ffe4a3p-40},  {8, 6, 0x1.5e2a4d2beb951p-37}};
  Array a = Array::Of<T>({1, n, n});
  for (const auto& [row, col, value] : entries) a.as<T>()[col * n + row] = T(static_cast<Real>(value));
  ExpectGees<T>(a, 1, n);
  ExpectGeev<T>(a, 1, n);
}

TYPED_TEST(SchurForms, MatricesOfAlikeRowsHaveFormsAndVectors) {
  using T = TypeParam;
  for (const int64_t n : {8, 10, 17, 33, 50}) {
    for (int kind = 0; kind < kKinds; ++kind) {
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", n " << n);
      Array a = Array::Of<T>({1, n, n});
      FillWithKind<T>(a, kind, n);
      ExpectGees<T>(a, 1, n);
      ExpectGeev<T>(a, 1, n);
    }
  }
}

TYPED_TEST(SchurForms, WhatIsNotFiniteEnds) {
  using T = TypeParam;
  using Real = typename Traits<T>::Real;
  using C = std::complex<Real>;
  constexpr int64_t n = 40;
  constexpr bool kReal = std::is_floating_point_v<T>;
  for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    // The second of two matrices is as it should be.
    Array a = Array::Of<T>({2, n, n}), t = a, q = a, w = Array::Of<T>({2, n}), imaginary = w,
          left = Array::Of<C>({2, n, n}), right = left, info = Array::Of<int32_t>({2}), selected = info;
    Array taus = Array::Of<T>({2, n - 1});
    Fill<T>(a, 3);
    a.as<T>()[5] = T(bad);
    Status s = CallRoutine(Target(Traits<T>::kLetter, "gees"), {&a},
                           kReal ? std::vector<Array*>{&t, &q, &w, &imaginary, &selected, &info}
                                 : std::vector<Array*>{&t, &q, &w, &selected, &info},
                           {Letter("mode", 'V'), Letter("sort", 'N')});
    ASSERT_TRUE(s.ok()) << s.ToString();
    EXPECT_GT(info.as<int32_t>()[0], 0);
    EXPECT_EQ(info.as<int32_t>()[1], 0);
    EXPECT_TRUE(std::isnan(std::real(t.as<T>()[0])));
    EXPECT_TRUE(std::isfinite(std::real(t.as<T>()[n * n])));
    s = CallRoutine(Target(Traits<T>::kLetter, "geev"), {&a},
                    kReal ? std::vector<Array*>{&w, &imaginary, &left, &right, &info}
                          : std::vector<Array*>{&w, &left, &right, &info},
                    {Letter("compute_left", 'N'), Letter("compute_right", 'V')});
    ASSERT_TRUE(s.ok()) << s.ToString();
    EXPECT_GT(info.as<int32_t>()[0], 0);
    EXPECT_EQ(info.as<int32_t>()[1], 0);
    EXPECT_TRUE(std::isnan(std::real(w.as<T>()[0])));
    EXPECT_TRUE(std::isfinite(std::real(w.as<T>()[n])));
    s = CallRoutine(Target(Traits<T>::kLetter, "gehrd"), {&a}, {&t, &taus, &info},
                    {Number("low", 1), Number("high", n)});
    ASSERT_TRUE(s.ok()) << s.ToString();
    EXPECT_TRUE(std::isnan(std::real(t.as<T>()[n * n - 1])));
    EXPECT_TRUE(std::isfinite(std::real(t.as<T>()[2 * n * n - 1])));
  }
}

}  // namespace
}  // namespace tenon::lapack
