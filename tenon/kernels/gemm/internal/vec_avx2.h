#pragma once

#include <immintrin.h>

#include <cstdint>

// Included by x86_*.cc of this level only.
namespace {

alignas(32) constexpr int32_t kMaskBits[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

struct Vec {
  using Half = void;
  using Reg = __m256;
  using Mask = __m256i;
  static constexpr int kLanes = 8;
  static Reg Zero() { return _mm256_setzero_ps(); }
  static Reg Load(const float* p) { return _mm256_loadu_ps(p); }
  static void Store(float* p, Reg x) { _mm256_storeu_ps(p, x); }
  static Reg Broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Reg Add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static Mask First(int n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMaskBits + 8 - n)); }
  static Reg LoadFirst(const float* p, Mask m) { return _mm256_maskload_ps(p, m); }
  static void StoreFirst(float* p, Reg x, Mask m) { _mm256_maskstore_ps(p, m, x); }
  static Reg Select(Mask m, Reg yes, Reg no) { return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m)); }

  static float Fold(Reg h) {
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
  }

  static void Transpose(Reg (&r)[8]) {
    Reg t[8];
    for (int i = 0; i < 8; i += 2) {
      t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
      r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
      r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int j = 0; j < 4; ++j) {
      t[j] = _mm256_permute2f128_ps(r[j], r[j + 4], 0x20);
      t[j + 4] = _mm256_permute2f128_ps(r[j], r[j + 4], 0x31);
    }
    for (int j = 0; j < 8; ++j) r[j] = t[j];
  }
};

/// 32-bit sums of products of pairs of 16 bits.
struct S16Ops {
  using Sum = __m256i;
  using Words = __m256i;
  using Mask = __m256i;
  static constexpr int kLanes = 8;
  static constexpr int kSumWords = 1;
  static constexpr bool kHasStart = false;
  static Mask First(int n) { return Vec::First(n); }
  static Sum ZeroC() { return _mm256_setzero_si256(); }
  static Sum LoadC(const uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Sum LoadFirstC(const uint32_t* p, Mask m) { return _mm256_maskload_epi32(reinterpret_cast<const int*>(p), m); }
  static void StoreC(uint32_t* p, Sum x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask m) { _mm256_maskstore_epi32(reinterpret_cast<int*>(p), m, x); }
  static Sum AddC(Sum a, Sum b) { return _mm256_add_epi32(a, b); }
  static Words LoadB(const uint32_t* p) { return LoadC(p); }
  static Words LoadFirstB(const uint32_t* p, Mask m) { return LoadFirstC(p, m); }
  static Words BroadcastA(const uint32_t* p) {
    int32_t w;
    __builtin_memcpy(&w, p, sizeof(w));
    return _mm256_set1_epi32(w);
  }
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm256_add_epi32(_mm256_madd_epi16(a, b), c); }
};

struct F64Ops {
  using Sum = __m256d;
  using Words = __m256d;
  using Mask = __m256i;
  static constexpr int kLanes = 4;
  static constexpr int kSumWords = 2;
  static constexpr bool kHasStart = false;
  static const double* D(const uint32_t* p) { return reinterpret_cast<const double*>(p); }
  static double* D(uint32_t* p) { return reinterpret_cast<double*>(p); }
  static Mask First(int n) { return Vec::First(2 * n); }
  static Sum ZeroC() { return _mm256_setzero_pd(); }
  static Sum LoadC(const uint32_t* p) { return _mm256_loadu_pd(D(p)); }
  static Sum LoadFirstC(const uint32_t* p, Mask m) { return _mm256_maskload_pd(D(p), m); }
  static void StoreC(uint32_t* p, Sum x) { _mm256_storeu_pd(D(p), x); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask m) { _mm256_maskstore_pd(D(p), m, x); }
  static Sum AddC(Sum a, Sum b) { return _mm256_add_pd(a, b); }
  static Words LoadB(const uint32_t* p) { return LoadC(p); }
  static Words LoadFirstB(const uint32_t* p, Mask m) { return LoadFirstC(p, m); }
  static Words BroadcastA(const uint32_t* p) {
    double x;
    __builtin_memcpy(&x, p, sizeof(x));
    return _mm256_set1_pd(x);
  }
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm256_fmadd_pd(a, b, c); }
};

struct S32Ops : S16Ops {
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm256_add_epi32(_mm256_mullo_epi32(a, b), c); }
};

}  // namespace
