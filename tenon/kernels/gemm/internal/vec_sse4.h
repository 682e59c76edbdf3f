#pragma once

#include <smmintrin.h>

#include <cstdint>

// Included by x86_*.cc of this level only.
namespace {

struct Vec {
  using Half = void;
  using Reg = __m128;
  using Mask = int;  // A count: there are no masked moves.
  static constexpr int kLanes = 4;
  static Reg Zero() { return _mm_setzero_ps(); }
  static Reg Load(const float* p) { return _mm_loadu_ps(p); }
  static void Store(float* p, Reg x) { _mm_storeu_ps(p, x); }
  static Reg Broadcast(const float* p) { return _mm_set1_ps(*p); }
  static Reg Add(Reg a, Reg b) { return _mm_add_ps(a, b); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
  static Mask First(int n) { return n; }
  static Reg LoadFirst(const float* p, Mask n) {
    alignas(16) float t[4] = {};
    for (int i = 0; i < n; ++i) t[i] = p[i];
    return _mm_load_ps(t);
  }
  static void StoreFirst(float* p, Reg x, Mask n) {
    alignas(16) float t[4];
    _mm_store_ps(t, x);
    for (int i = 0; i < n; ++i) p[i] = t[i];
  }
  static Reg Select(Mask n, Reg yes, Reg no) {
    const __m128i lane = _mm_set_epi32(3, 2, 1, 0);
    return _mm_blendv_ps(no, yes, _mm_castsi128_ps(_mm_cmplt_epi32(lane, _mm_set1_epi32(n))));
  }

  static float Fold(Reg q) {
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
  }

  static void Transpose(Reg (&r)[4]) {
    const Reg t0 = _mm_unpacklo_ps(r[0], r[1]), t1 = _mm_unpackhi_ps(r[0], r[1]);
    const Reg t2 = _mm_unpacklo_ps(r[2], r[3]), t3 = _mm_unpackhi_ps(r[2], r[3]);
    r[0] = _mm_movelh_ps(t0, t2);
    r[1] = _mm_movehl_ps(t2, t0);
    r[2] = _mm_movelh_ps(t1, t3);
    r[3] = _mm_movehl_ps(t3, t1);
  }
};

/// 32-bit sums of products of pairs of 16 bits.
struct S16Ops {
  using Sum = __m128i;
  using Words = __m128i;
  using Mask = int;
  static constexpr int kLanes = 4;
  static constexpr int kSumWords = 1;
  static constexpr bool kHasStart = false;
  static Mask First(int n) { return n; }
  static Sum ZeroC() { return _mm_setzero_si128(); }
  static Sum LoadC(const uint32_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static Sum LoadFirstC(const uint32_t* p, Mask n) {
    alignas(16) uint32_t t[4] = {};
    for (int i = 0; i < n; ++i) t[i] = p[i];
    return LoadC(t);
  }
  static void StoreC(uint32_t* p, Sum x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask n) {
    alignas(16) uint32_t t[4];
    StoreC(t, x);
    for (int i = 0; i < n; ++i) p[i] = t[i];
  }
  static Sum AddC(Sum a, Sum b) { return _mm_add_epi32(a, b); }
  static Words LoadB(const uint32_t* p) { return LoadC(p); }
  static Words LoadFirstB(const uint32_t* p, Mask n) { return LoadFirstC(p, n); }
  static Words BroadcastA(const uint32_t* p) {
    int32_t w;
    __builtin_memcpy(&w, p, sizeof(w));
    return _mm_set1_epi32(w);
  }
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm_add_epi32(_mm_madd_epi16(a, b), c); }
};

struct F64Ops {
  using Sum = __m128d;
  using Words = __m128d;
  using Mask = int;
  static constexpr int kLanes = 2;
  static constexpr int kSumWords = 2;
  static constexpr bool kHasStart = false;
  static const double* D(const uint32_t* p) { return reinterpret_cast<const double*>(p); }
  static double* D(uint32_t* p) { return reinterpret_cast<double*>(p); }
  static Mask First(int n) { return n; }
  static Sum ZeroC() { return _mm_setzero_pd(); }
  static Sum LoadC(const uint32_t* p) { return _mm_loadu_pd(D(p)); }
  static Sum LoadFirstC(const uint32_t* p, Mask n) { return n == 2 ? LoadC(p) : _mm_load_sd(D(p)); }
  static void StoreC(uint32_t* p, Sum x) { _mm_storeu_pd(D(p), x); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask n) {
    if (n == 2) return StoreC(p, x);
    _mm_store_sd(D(p), x);
  }
  static Sum AddC(Sum a, Sum b) { return _mm_add_pd(a, b); }
  static Words LoadB(const uint32_t* p) { return LoadC(p); }
  static Words LoadFirstB(const uint32_t* p, Mask n) { return LoadFirstC(p, n); }
  static Words BroadcastA(const uint32_t* p) {
    double x;
    __builtin_memcpy(&x, p, sizeof(x));
    return _mm_set1_pd(x);
  }
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm_add_pd(_mm_mul_pd(a, b), c); }
};

struct S32Ops : S16Ops {
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm_add_epi32(_mm_mullo_epi32(a, b), c); }
};

}  // namespace
