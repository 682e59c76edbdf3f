// The loops of columns.h; included once per instruction set, with TENON_COLUMNS naming its function.

#include <algorithm>
#include <cstring>

#include "tenon/lapack/internal/columns.h"

namespace tenon::lapack::internal {
namespace {

template <class T>
struct Vec {
  using Lanes __attribute__((vector_size(64))) = T;
  static Lanes Load(const T* p) {
    Lanes v;
    std::memcpy(&v, p, sizeof(v));
    return v;
  }
  static void Store(T* p, const Lanes& v) { std::memcpy(p, &v, sizeof(v)); }
  static T Sum(const Lanes& v) {
    T lane[kLanes<T>];
    std::memcpy(lane, &v, sizeof(v));
    for (int64_t half = kLanes<T> / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    }
    return lane[0];
  }
};

/// So many columns, or vectors of one, are worked on at once: their sums wait for one another less.
constexpr int64_t kTogether = 4;

template <class T, int64_t kColumns>
void ReflectColumns(const T* v, T tau, int64_t rows, T* a, int64_t stride) {
  using V = Vec<T>;
  typename V::Lanes sum[kColumns] = {};
  for (int64_t i = 0; i < rows; i += kLanes<T>) {
    const auto x = V::Load(v + i);
    for (int64_t j = 0; j < kColumns; ++j) sum[j] += x * V::Load(a + j * stride + i);
  }
  T by[kColumns];
  for (int64_t j = 0; j < kColumns; ++j) by[j] = tau * V::Sum(sum[j]);
  for (int64_t i = 0; i < rows; i += kLanes<T>) {
    const auto x = V::Load(v + i);
    for (int64_t j = 0; j < kColumns; ++j) {
      T* at = a + j * stride + i;
      V::Store(at, V::Load(at) - by[j] * x);
    }
  }
}

template <class T>
void Reflect(const T* v, T tau, int64_t rows, T* a, int64_t columns, int64_t stride) {
  int64_t j = 0;
  for (; j + kTogether <= columns; j += kTogether) ReflectColumns<T, kTogether>(v, tau, rows, a + j * stride, stride);
  for (; j < columns; ++j) ReflectColumns<T, 1>(v, tau, rows, a + j * stride, stride);
}

template <class T, int64_t kVectors>
void MultiplyRows(const T* a, int64_t columns, int64_t stride, const T* x, T* y) {
  using V = Vec<T>;
  typename V::Lanes sum[kVectors] = {};
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t k = 0; k < kVectors; ++k) sum[k] += x[j] * V::Load(a + j * stride + k * kLanes<T>);
  }
  for (int64_t k = 0; k < kVectors; ++k) V::Store(y + k * kLanes<T>, sum[k]);
}

template <class T>
void Multiply(const T* a, int64_t rows, int64_t columns, int64_t stride, const T* x, T* y) {
  int64_t i = 0;
  for (; i + (kTogether - 1) * kLanes<T> < rows; i += kTogether * kLanes<T>)
    MultiplyRows<T, kTogether>(a + i, columns, stride, x, y + i);
  for (; i < rows; i += kLanes<T>) MultiplyRows<T, 1>(a + i, columns, stride, x, y + i);
}

template <class T>
void Update(T* a, int64_t n, int64_t stride, const T* v, const T* w) {
  using V = Vec<T>;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; i += kLanes<T>) {
      T* at = a + j * stride + i;
      V::Store(at, V::Load(at) - w[j] * V::Load(v + i) - v[j] * V::Load(w + i));
    }
  }
}

template <class T, int64_t kVectors>
void RotateRows(T* a, int64_t stride, int64_t count, const T* c, const T* s) {
  using V = Vec<T>;
  typename V::Lanes x[kVectors];
  for (int64_t k = 0; k < kVectors; ++k) x[k] = V::Load(a + k * kLanes<T>);
  for (int64_t i = 0; i < count; ++i, a += stride) {
    for (int64_t k = 0; k < kVectors; ++k) {
      const auto y = V::Load(a + stride + k * kLanes<T>);
      V::Store(a + k * kLanes<T>, c[i] * x[k] - s[i] * y);
      x[k] = s[i] * x[k] + c[i] * y;
    }
  }
  for (int64_t k = 0; k < kVectors; ++k) V::Store(a + k * kLanes<T>, x[k]);
}

template <class T>
void Rotate(T* a, int64_t rows, int64_t stride, int64_t count, const T* c, const T* s) {
  int64_t i = 0;
  for (; i + (kTogether - 1) * kLanes<T> < rows; i += kTogether * kLanes<T>)
    RotateRows<T, kTogether>(a + i, stride, count, c, s);
  for (; i < rows; i += kLanes<T>) RotateRows<T, 1>(a + i, stride, count, c, s);
}

template <class T>
T Dot(const T* x, const T* y, int64_t rows) {
  using V = Vec<T>;
  typename V::Lanes sum = {};
  for (int64_t i = 0; i < rows; i += kLanes<T>) sum += V::Load(x + i) * V::Load(y + i);
  return V::Sum(sum);
}

}  // namespace

template <class T>
Columns<T> TENON_COLUMNS() {
  return {Reflect<T>, Multiply<T>, Update<T>, Rotate<T>, Dot<T>};
}
template Columns<float> TENON_COLUMNS();
template Columns<double> TENON_COLUMNS();

}  // namespace tenon::lapack::internal
