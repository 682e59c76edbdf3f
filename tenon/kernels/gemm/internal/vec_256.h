#pragma once

#include <immintrin.h>

#include <cstdint>

// Vectors of 256 bits but for their masks, which AVX2 keeps in vectors and AVX-512 in registers of their own. Included
// by vec_avx2.h and vec_avx512.h only.
namespace {

struct Float256 {
  using Reg = __m256;
  static constexpr int kLanes = 8;
  static Reg Zero() { return _mm256_setzero_ps(); }
  static Reg Load(const float* p) { return _mm256_loadu_ps(p); }
  static void Store(float* p, Reg x) { _mm256_storeu_ps(p, x); }
  static Reg Broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Reg Add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }

  /// The tree over the lanes: l += l + half, half = kLanes/2 ... 1.
  static float Fold(Reg h) {
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
  }
};

/// 32-bit sums of products of pairs of 16 bits.
struct S16Of256 {
  using Sum = __m256i;
  using Words = __m256i;
  static constexpr int kLanes = 8;
  static constexpr int kSumWords = 1;
  static constexpr bool kHasStart = false;
  static Sum ZeroC() { return _mm256_setzero_si256(); }
  static Sum LoadC(const uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void StoreC(uint32_t* p, Sum x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static Sum AddC(Sum a, Sum b) { return _mm256_add_epi32(a, b); }
  static Words LoadB(const uint32_t* p) { return LoadC(p); }
  static Words BroadcastA(const uint32_t* p) {
    int32_t w;
    __builtin_memcpy(&w, p, sizeof(w));
    return _mm256_set1_epi32(w);
  }
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm256_add_epi32(_mm256_madd_epi16(a, b), c); }
};

struct F64Of256 {
  using Sum = __m256d;
  using Words = __m256d;
  static constexpr int kLanes = 4;
  static constexpr int kSumWords = 2;
  static constexpr bool kHasStart = false;
  static const double* D(const uint32_t* p) { return reinterpret_cast<const double*>(p); }
  static double* D(uint32_t* p) { return reinterpret_cast<double*>(p); }
  static Sum ZeroC() { return _mm256_setzero_pd(); }
  static Sum LoadC(const uint32_t* p) { return _mm256_loadu_pd(D(p)); }
  static void StoreC(uint32_t* p, Sum x) { _mm256_storeu_pd(D(p), x); }
  static Sum AddC(Sum a, Sum b) { return _mm256_add_pd(a, b); }
  static Words LoadB(const uint32_t* p) { return LoadC(p); }
  static Words BroadcastA(const uint32_t* p) {
    double x;
    __builtin_memcpy(&x, p, sizeof(x));
    return _mm256_set1_pd(x);
  }
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm256_fmadd_pd(a, b, c); }
};

}  // namespace
