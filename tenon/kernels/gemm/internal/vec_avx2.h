#pragma once

#include <immintrin.h>

#include <cstdint>

#include "tenon/kernels/gemm/internal/vec_256.h"

// Included by x86_*.cc of this level only.
namespace {

alignas(32) constexpr int32_t kMaskBits[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

struct Vec : Float256 {
  using Half = void;
  using Mask = __m256i;
  static Mask First(int n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMaskBits + 8 - n)); }
  static Reg LoadFirst(const float* p, Mask m) { return _mm256_maskload_ps(p, m); }
  static void StoreFirst(float* p, Reg x, Mask m) { _mm256_maskstore_ps(p, m, x); }
  static Reg Select(Mask m, Reg yes, Reg no) { return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m)); }

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

struct S16Ops : S16Of256 {
  using Mask = __m256i;
  static Mask First(int n) { return Vec::First(n); }
  static Sum LoadFirstC(const uint32_t* p, Mask m) { return _mm256_maskload_epi32(reinterpret_cast<const int*>(p), m); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask m) { _mm256_maskstore_epi32(reinterpret_cast<int*>(p), m, x); }
  static Words LoadFirstB(const uint32_t* p, Mask m) { return LoadFirstC(p, m); }
};

struct F64Ops : F64Of256 {
  using Mask = __m256i;
  static Mask First(int n) { return Vec::First(2 * n); }
  static Sum LoadFirstC(const uint32_t* p, Mask m) { return _mm256_maskload_pd(D(p), m); }
  static void StoreFirstC(uint32_t* p, Sum x, Mask m) { _mm256_maskstore_pd(D(p), m, x); }
  static Words LoadFirstB(const uint32_t* p, Mask m) { return LoadFirstC(p, m); }
};

struct S32Ops : S16Ops {
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm256_add_epi32(_mm256_mullo_epi32(a, b), c); }
};

}  // namespace
