#pragma once

#include <smmintrin.h>

#include <cstdint>

// Included by x86_sse4.cc only.
namespace {

struct Vec {
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

}  // namespace
