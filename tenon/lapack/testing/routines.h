#pragma once

// Routines as a program calls them, and what judges them: residuals and orthogonality in plain loops of long double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/ffi_host/call_site.h"
#include "tenon/ffi_host/registry.h"
#include "tenon/lapack/lapack.h"

namespace tenon::lapack {

using Wide = std::complex<long double>;

template <class T>
struct Traits;
template <>
struct Traits<float> {
  using Real = float;
  static constexpr char kLetter = 's';
  static constexpr DType kDType = DType::kF32;
};
template <>
struct Traits<double> {
  using Real = double;
  static constexpr char kLetter = 'd';
  static constexpr DType kDType = DType::kF64;
};
template <>
struct Traits<std::complex<float>> {
  using Real = float;
  static constexpr char kLetter = 'c';
  static constexpr DType kDType = DType::kC64;
};
template <>
struct Traits<std::complex<double>> {
  using Real = double;
  static constexpr char kLetter = 'z';
  static constexpr DType kDType = DType::kC128;
};
template <>
struct Traits<int32_t> {
  static constexpr DType kDType = DType::kS32;
};

/// An array of a call; the last two extents of a matrix lie column-major.
struct Array {
  plan::Slot slot;
  std::vector<std::byte> bytes;

  template <class T>
  static Array Of(std::vector<int64_t> dims) {
    Array a;
    int64_t size = 1;
    for (const int64_t d : dims) size *= d;
    a.slot.dtype = Traits<T>::kDType;
    a.slot.dims = Dims(dims.begin(), dims.end());
    a.slot.stride_elems = Dims(dims.size(), 1);
    a.bytes.resize(static_cast<size_t>(size) * sizeof(T));
    return a;
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

inline std::string Target(char letter, std::string_view routine) {
  return "lapack_" + std::string(1, letter) + std::string(routine) + "_ffi";
}

inline plan::Attribute Letter(std::string name, char value) {
  return {std::move(name), plan::Attribute::Kind::kScalar, DType::kU8, std::string(1, value), {}};
}

inline plan::Attribute Number(std::string name, int32_t value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return {std::move(name), plan::Attribute::Kind::kScalar, DType::kS32, std::move(bytes), {}};
}

inline plan::Attribute Flag(std::string name, bool value) {
  return {std::move(name), plan::Attribute::Kind::kScalar, DType::kPred, std::string(1, value ? '\1' : '\0'), {}};
}

inline Status CallRoutine(const std::string& target, std::vector<Array*> operands, std::vector<Array*> results,
                          std::vector<plan::Attribute> attributes = {}) {
  ffi_host::InstallBuiltIns([](std::string_view name) { return ffi_host::BuiltIn{FindHandler(name)}; });
  plan::CustomCallStep step;
  step.target = target;
  step.api_version = 4;
  step.attributes = std::move(attributes);
  TENON_ASSIGN_OR_RETURN(const std::unique_ptr<ffi_host::CallSite> site, ffi_host::CallSite::Create(step));
  EXPECT_NE(site->handler().traits & ffi_host::kLeafTrait, 0u);
  std::vector<runtime::View> in, out;
  for (Array* a : operands) in.push_back({a->bytes.data(), &a->slot});
  for (Array* a : results) out.push_back({a->bytes.data(), &a->slot});
  return site->Call(in, out, {});
}

template <class T>
void Fill(Array& a, uint32_t seed, typename Traits<T>::Real by = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<typename Traits<T>::Real> uniform(-1, 1);
  const size_t n = a.bytes.size() / sizeof(T);
  for (size_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>)
      a.as<T>()[i] = uniform(random) * by;
    else
      a.as<T>()[i] = T(uniform(random) * by, uniform(random) * by);
  }
}

/// One square matrix of order n with many equal or vanishing rows, or with entries of all sizes.
inline constexpr int kKinds = 8;
template <class T>
void FillWithKind(Array& a, int kind, int64_t n) {
  using Real = typename Traits<T>::Real;
  const auto entry = [&](int64_t i, int64_t j) -> T {
    switch (kind) {
      case 0:
        return T(1);
      case 1:
        return T(static_cast<Real>((i + j) % 2));
      case 2:
        return T(static_cast<Real>((i * n + j) % 2));
      case 3:  // Hilbert's.
        return T(1 / static_cast<Real>(i + j + 1));
      case 4:
        return T(static_cast<Real>(j >= i));
      case 5:  // Rows over 30 decades.
        return T(std::pow(Real(10), Real(-30) * static_cast<Real>(i) / static_cast<Real>(n)) *
                 static_cast<Real>((i * 7 + j * 3) % 11 - 5));
      case 6:  // Half of the columns are zero.
        return T(static_cast<Real>(j % 2 * ((i * 5 + j) % 7 - 3)));
      default:
        if constexpr (std::is_floating_point_v<T>)
          return T(3);
        else
          return T(1, 1);
    }
  };
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) a.as<T>()[j * n + i] = entry(i, j);
  }
}

/// A matrix in long double.
struct Exact {
  int64_t rows, cols;
  std::vector<Wide> data;
  Exact(int64_t r, int64_t c) : rows(r), cols(c), data(static_cast<size_t>(r * c)) {}
  template <class T>
  Exact(const T* from, int64_t r, int64_t c) : Exact(r, c) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = Wide(from[i]);
  }
  Wide& operator()(int64_t i, int64_t j) { return data[static_cast<size_t>(i + j * rows)]; }
  const Wide& operator()(int64_t i, int64_t j) const { return data[static_cast<size_t>(i + j * rows)]; }
};

inline Exact Times(const Exact& a, const Exact& b) {
  Exact c(a.rows, b.cols);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.cols; ++j) {
      for (int64_t k = 0; k < a.cols; ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

inline Exact Adjoint(const Exact& a) {
  Exact c(a.cols, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.cols; ++j) c(j, i) = std::conj(a(i, j));
  }
  return c;
}

inline long double Norm(const Exact& a) {
  long double sum = 0;
  for (const Wide& x : a.data) sum += std::norm(x);
  return std::sqrt(sum);
}

/// ||a - b|| in Frobenius's norm; NaN when either has one.
inline long double Distance(const Exact& a, const Exact& b) {
  Exact c = a;
  for (size_t i = 0; i < c.data.size(); ++i) c.data[i] -= b.data[i];
  return Norm(c);
}

inline Exact Unit(int64_t n) {
  Exact c(n, n);
  for (int64_t i = 0; i < n; ++i) c(i, i) = 1;
  return c;
}

/// Backward stable routines leave errors below a small multiple of n eps times the norm (Higham, Accuracy and
/// Stability of Numerical Algorithms, 2002, chapters 10 and 19).
template <class T>
long double Bound(int64_t m, int64_t n) {
  return 10.0L * static_cast<long double>(std::max(m, n)) * std::numeric_limits<typename Traits<T>::Real>::epsilon();
}

using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;

struct Sizes {
  int64_t batch, m, n;
};
inline constexpr Sizes kSizes[] = {{1, 0, 3}, {1, 3, 0}, {0, 3, 3},   {3, 1, 1},   {200, 3, 2}, {2, 2, 5},
                                   {1, 7, 7}, {2, 8, 9}, {2, 17, 16}, {1, 70, 66}, {1, 33, 90}};

}  // namespace tenon::lapack
