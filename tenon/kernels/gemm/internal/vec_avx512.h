#pragma once

#include <immintrin.h>

#include <cstdint>

#include "tenon/kernels/gemm/internal/vec_256.h"

// Included by x86_*.cc of this level only.
namespace {

/// Half of a vector, for rows of C that fill no more: where 512 bits take a core two passes, it takes one.
struct HalfVec : Float256 {
  using Mask = __mmask8;
  static Mask First(int n) { return static_cast<Mask>((1u << n) - 1); }
  static Reg LoadFirst(const float* p, Mask m) { return _mm256_maskz_loadu_ps(m, p); }
  static void StoreFirst(float* p, Reg x, Mask m) { _mm256_mask_storeu_ps(p, m, x); }
};

struct Vec {
  using Half = HalfVec;
  using Reg = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static Reg Zero() { return _mm512_setzero_ps(); }
  static Reg Load(const float* p) { return _mm512_loadu_ps(p); }
  static void Store(float* p, Reg x) { _mm512_storeu_ps(p, x); }
  static Reg Broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Reg Add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg Fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  /// The first n lanes, 0 < n <= kLanes.
  static Mask First(int n) { return static_cast<Mask>((1u << n) - 1); }
  static Reg LoadFirst(const float* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
  static void StoreFirst(float* p, Reg x, Mask m) { _mm512_mask_storeu_ps(p, m, x); }
  /// `yes` in the first lanes, `no` in the others.
  static Reg Select(Mask m, Reg yes, Reg no) { return _mm512_mask_blend_ps(m, no, yes); }

  /// The tree over the lanes: l += l + half, half = kLanes/2 ... 1.
  static float Fold(Reg x) {
    return HalfVec::Fold(_mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)));
  }

  static void Transpose(Reg (&r)[16]) {
    Reg t[16];
    for (int i = 0; i < 16; i += 2) {
      t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
      const auto d = [](Reg x) { return _mm512_castps_pd(x); };
      const auto s = [](__m512d x) { return _mm512_castpd_ps(x); };
      r[i] = s(_mm512_unpacklo_pd(d(t[i]), d(t[i + 2])));
      r[i + 1] = s(_mm512_unpackhi_pd(d(t[i]), d(t[i + 2])));
      r[i + 2] = s(_mm512_unpacklo_pd(d(t[i + 1]), d(t[i + 3])));
      r[i + 3] = s(_mm512_unpackhi_pd(d(t[i + 1]), d(t[i + 3])));
    }
    for (int i = 0; i < 16; i += 8) {
      for (int j = 0; j < 4; ++j) {
        t[i + j] = _mm512_shuffle_f32x4(r[i + j], r[i + j + 4], 0x88);
        t[i + j + 4] = _mm512_shuffle_f32x4(r[i + j], r[i + j + 4], 0xdd);
      }
    }
    for (int j = 0; j < 8; ++j) {
      r[j] = _mm512_shuffle_f32x4(t[j], t[j + 8], 0x88);
      r[j + 8] = _mm512_shuffle_f32x4(t[j], t[j + 8], 0xdd);
    }
  }
};

struct HalfS16Ops : S16Of256 {
  using Mask = __mmask8;
  static Mask First(int n) { return HalfVec::First(n); }
  static Sum LoadFirstC(const uint32_t* p, Mask m) { return _mm256_maskz_loadu_epi32(m, p); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask m) { _mm256_mask_storeu_epi32(p, m, x); }
  static Words LoadFirstB(const uint32_t* p, Mask m) { return LoadFirstC(p, m); }
};

/// 32-bit sums of products of pairs of 16 bits.
struct S16Ops {
  using Half = HalfS16Ops;
  using Sum = __m512i;
  using Words = __m512i;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static constexpr int kSumWords = 1;
  static constexpr bool kHasStart = false;
  static Mask First(int n) { return Vec::First(n); }
  static Sum ZeroC() { return _mm512_setzero_si512(); }
  static Sum LoadC(const uint32_t* p) { return _mm512_loadu_si512(p); }
  static Sum LoadFirstC(const uint32_t* p, Mask m) { return _mm512_maskz_loadu_epi32(m, p); }
  static void StoreC(uint32_t* p, Sum x) { _mm512_storeu_si512(p, x); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask m) { _mm512_mask_storeu_epi32(p, m, x); }
  static Sum AddC(Sum a, Sum b) { return _mm512_add_epi32(a, b); }
  static Words LoadB(const uint32_t* p) { return LoadC(p); }
  static Words LoadFirstB(const uint32_t* p, Mask m) { return LoadFirstC(p, m); }
  static Words BroadcastA(const uint32_t* p) {
    int32_t w;
    __builtin_memcpy(&w, p, sizeof(w));
    return _mm512_set1_epi32(w);
  }
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm512_add_epi32(_mm512_madd_epi16(a, b), c); }
};

struct HalfF64Ops : F64Of256 {
  using Mask = __mmask8;
  static Mask First(int n) { return HalfVec::First(n); }
  static Sum LoadFirstC(const uint32_t* p, Mask m) { return _mm256_maskz_loadu_pd(m, p); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask m) { _mm256_mask_storeu_pd(p, m, x); }
  static Words LoadFirstB(const uint32_t* p, Mask m) { return LoadFirstC(p, m); }
};

struct F64Ops {
  using Half = HalfF64Ops;
  using Sum = __m512d;
  using Words = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static constexpr int kSumWords = 2;
  static constexpr bool kHasStart = false;
  static Mask First(int n) { return static_cast<Mask>((1u << n) - 1); }
  static Sum ZeroC() { return _mm512_setzero_pd(); }
  static Sum LoadC(const uint32_t* p) { return _mm512_loadu_pd(p); }
  static Sum LoadFirstC(const uint32_t* p, Mask m) { return _mm512_maskz_loadu_pd(m, p); }
  static void StoreC(uint32_t* p, Sum x) { _mm512_storeu_pd(p, x); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask m) { _mm512_mask_storeu_pd(p, m, x); }
  static Sum AddC(Sum a, Sum b) { return _mm512_add_pd(a, b); }
  static Words LoadB(const uint32_t* p) { return LoadC(p); }
  static Words LoadFirstB(const uint32_t* p, Mask m) { return LoadFirstC(p, m); }
  static Words BroadcastA(const uint32_t* p) {
    double x;
    __builtin_memcpy(&x, p, sizeof(x));
    return _mm512_set1_pd(x);
  }
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm512_fmadd_pd(a, b, c); }
};

struct HalfS32Ops : HalfS16Ops {
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm256_add_epi32(_mm256_mullo_epi32(a, b), c); }
};

struct S32Ops : S16Ops {
  using Half = HalfS32Ops;
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm512_add_epi32(_mm512_mullo_epi32(a, b), c); }
};

}  // namespace
