// Compiled for the level avx512 with BF16. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_avx512.h"
// clang-format off: the loops are templates over the vectors above.
#include "tenon/kernels/gemm/internal/bf16_inl.h"
#include "tenon/kernels/gemm/internal/f32_inl.h"
#include "tenon/kernels/gemm/internal/groups_inl.h"
#include "tenon/kernels/gemm/internal/micro_inl.h"
// clang-format on

namespace {

// VDPBF16PS: per lane fma(a[low], b[low], fma(a[high], b[high], c)), subnormals flushed.
struct HalfBf16Ops : F32OpsOf<HalfVec> {
  using Words = __m256i;
  static Words LoadB(const Word* p) { return HalfS16Ops::LoadB(p); }
  static Words LoadFirstB(const Word* p, Mask m) { return HalfS16Ops::LoadFirstB(p, m); }
  static Words BroadcastA(const Word* p) { return HalfS16Ops::BroadcastA(p); }
  static Sum MulAdd(Words a, Words b, Sum c) {
    return _mm256_dpbf16_ps(c, reinterpret_cast<__m256bh>(a), reinterpret_cast<__m256bh>(b));
  }
};

struct Bf16Ops : F32Ops {
  using Half = HalfBf16Ops;
  using Words = __m512i;
  static Words LoadB(const Word* p) { return S16Ops::LoadB(p); }
  static Words LoadFirstB(const Word* p, Mask m) { return S16Ops::LoadFirstB(p, m); }
  static Words BroadcastA(const Word* p) { return S16Ops::BroadcastA(p); }
  static Sum MulAdd(Words a, Words b, Sum c) {
    return _mm512_dpbf16_ps(c, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};

constexpr int kHalf = kBlockBf16 / 4;  // Words of half a block.

// Words of either half of a block of `k` elements: whole, or with a zero at the end.
int HalfWords(int64_t k) {
  const int even_words = static_cast<int>((k + 1) / 2 / 2) + 1;
  return even_words < kHalf ? even_words : kHalf;
}

// Turns a block of 4 * kHalf words' rows of pairs along k, (1:0), (3:2) ..., into the half of even elements, the
// earlier one of each pair high, (0:2), (4:6) ..., and that of odd ones. `k` elements are there; kWidth words make a
// row.
template <int kWidth>
void SplitHalves(int64_t k, Word* block) {
  Word pairs[2 * kHalf * kWidth];
  const int half = HalfWords(k), full = static_cast<int>(k < kBlockBf16 ? (k + 1) / 2 : kBlockBf16 / 2);
  __builtin_memcpy(pairs, block, sizeof(Word) * static_cast<size_t>(full * kWidth));
  __builtin_memset(pairs + full * kWidth, 0, sizeof(Word) * static_cast<size_t>((2 * half - full) * kWidth));
  for (int i = 0; i < half; ++i) {
    const Word* const earlier = pairs + 2 * i * kWidth;
    const Word* const later = earlier + kWidth;
    for (int j = 0; j < kWidth; ++j) {
      block[i * kWidth + j] = earlier[j] << 16 | (later[j] & 0xffff);
      block[(half + i) * kWidth + j] = (earlier[j] & 0xffff0000u) | later[j] >> 16;
    }
  }
}

// A whole block of a row, as SplitHalves turns it.
__m512i PermutedHalves(const uint16_t* block) {
  alignas(64) static constexpr auto kOrder = [] {
    struct {
      uint16_t from[kBlockBf16];
    } order{};
    for (uint16_t i = 0; i < kBlockBf16 / 4; ++i) {
      for (uint16_t odd = 0; odd < 2; ++odd) {
        uint16_t* const to = order.from + odd * (kBlockBf16 / 2) + 2 * i;
        to[0] = static_cast<uint16_t>(4 * i + 2 + odd);
        to[1] = static_cast<uint16_t>(4 * i + odd);
      }
    }
    return order;
  }();
  return _mm512_permutexvar_epi16(_mm512_load_si512(kOrder.from), _mm512_loadu_si512(block));
}

void PackAHalves(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                 int64_t dst_row_stride) {
  if (k_stride == 1) {
    const int64_t whole = k / kBlockBf16 * kBlockBf16;
    for (int r = 0; r < rows; ++r) {
      const uint16_t* const from = static_cast<const uint16_t*>(src) + r * row_stride;
      Word* const to = dst + r * dst_row_stride;
      for (int64_t p = 0; p < whole; p += kBlockBf16) _mm512_storeu_si512(to + p / 2, PermutedHalves(from + p));
      if (whole == k) continue;
      PackAGroups<uint16_t, uint16_t, 2>(from + whole, 0, 1, 1, k - whole, to + whole / 2, 0);
      SplitHalves<1>(k - whole, to + whole / 2);
    }
    return;
  }
  PackAGroups<uint16_t, uint16_t, 2>(src, row_stride, k_stride, rows, k, dst, dst_row_stride);
  for (int r = 0; r < rows; ++r) {
    Word* block = dst + r * dst_row_stride;
    for (int64_t p = 0; p < k; p += kBlockBf16, block += 2 * kHalf) SplitHalves<1>(k - p, block);
  }
}

template <int kNr>
void PackBHalves(const BPanels& b) {
  PackBGroups<uint16_t, uint16_t, 2, kNr>(b);
  Word* panel = b.dst;
  for (int64_t first = 0; first < b.cols; first += kNr, panel += b.panel_stride) {
    Word* block = panel;
    for (int64_t p = 0; p < b.k; p += kBlockBf16, block += 2 * kHalf * kNr) SplitHalves<kNr>(b.k - p, block);
  }
}

}  // namespace

namespace tenon::kernels::internal {

extern const GemmKernel gemm_bf16_14x32_avx512bf16 = {
    .name = "gemm_bf16_14x32_avx512bf16",
    .level = isa::IsaLevel::kAvx512,
    .extra = Extra::kBf16,
    .operand_type = DType::kBF16,
    .sum_type = DType::kF32,
    .mr = 14,
    .nr = 32,
    .k_unit = 32,
    .unit_steps = 16,
    .half_steps = 8,
    .has_half = kHasHalf<Bf16Ops>,
    .micro = MicroAny<Bf16Ops, 14, 32, 8>,
    .pack_a = PackAHalves,
    .pack_b = PackBHalves<32>,
    .load_row = LoadRowBf16,
    .store_row = StoreRowBf16,
};

}  // namespace tenon::kernels::internal
