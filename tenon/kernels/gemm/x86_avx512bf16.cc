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

// A block of `k` elements of a row, as SplitHalves turns a whole one: kHalf words of either half.
__m512i PermutedHalves(const uint16_t* block, int64_t k) {
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
  const __m512i elements =
      k >= kBlockBf16 ? _mm512_loadu_si512(block) : _mm512_maskz_loadu_epi16((uint32_t{1} << k) - 1, block);
  return _mm512_permutexvar_epi16(_mm512_load_si512(kOrder.from), elements);
}

void PackAHalves(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
                 int64_t dst_row_stride) {
  if (k_stride == 1) {
    for (int r = 0; r < rows; ++r) {
      const uint16_t* const from = static_cast<const uint16_t*>(src) + r * row_stride;
      Word* to = dst + r * dst_row_stride;
      int64_t p = 0;
      for (; p + kBlockBf16 <= k; p += kBlockBf16, to += 2 * kHalf)
        _mm512_storeu_si512(to, PermutedHalves(from + p, kBlockBf16));
      if (p == k) continue;
      const __m512i both = PermutedHalves(from + p, k - p);
      const int half = HalfWords(k - p);
      const __mmask8 words = HalfVec::First(half);
      _mm256_mask_storeu_epi32(to, words, _mm512_castsi512_si256(both));
      _mm256_mask_storeu_epi32(to + half, words, _mm512_extracti64x4_epi64(both, 1));
    }
    return;
  }
  PackAGroups<uint16_t, uint16_t, 2>(src, row_stride, k_stride, rows, k, dst, dst_row_stride);
  for (int r = 0; r < rows; ++r) {
    Word* block = dst + r * dst_row_stride;
    for (int64_t p = 0; p < k; p += kBlockBf16, block += 2 * kHalf) SplitHalves<1>(k - p, block);
  }
}

// Of columns along which k runs: sixteen of them are turned at once.
template <int kNr>
void PackColumnsHalves(const BPanels& b) {
  const uint16_t* const src = static_cast<const uint16_t*>(b.src);
  Word* panel = b.dst;
  for (int64_t first = 0; first < b.cols; first += kNr, panel += b.panel_stride) {
    Word* block = panel;
    for (int64_t p = 0; p < b.k; p += kBlockBf16, block += 2 * kHalf * kNr) {
      const int half = HalfWords(b.k - p);
      for (int j = 0; j < kNr; j += Vec::kLanes) {
        Vec::Reg r[Vec::kLanes];
        for (int i = 0; i < Vec::kLanes; ++i) {
          const int64_t col = first + j + i;
          r[i] =
              col < b.cols ? _mm512_castsi512_ps(PermutedHalves(src + col * b.col_stride + p, b.k - p)) : Vec::Zero();
        }
        Vec::Transpose(r);
        for (int i = 0; i < half; ++i) {
          Vec::Store(F32Ops::F(block + i * kNr + j), r[i]);
          Vec::Store(F32Ops::F(block + (half + i) * kNr + j), r[kHalf + i]);
        }
      }
    }
  }
}

// Of rows of neighbours.
template <int kNr>
void PackRowsHalves(const BPanels& b) {
  const uint16_t* const src = static_cast<const uint16_t*>(b.src);
  const auto load = [&](int64_t p, int64_t col) {
    const int64_t left = p < b.k ? b.cols - col : 0;
    if (left <= 0) return _mm512_setzero_si512();
    const __mmask16 there = Vec::First(left < Vec::kLanes ? static_cast<int>(left) : Vec::kLanes);
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, src + p * b.k_stride + col));
  };
  for (int64_t p = 0, block = 0; p < b.k; p += kBlockBf16, block += 2 * kHalf * kNr) {
    const int half = HalfWords(b.k - p);
    for (int i = 0; i < 2 * half; ++i) {
      const int64_t earlier = p + (i < half ? 4 * i : 4 * (i - half) + 1);
      Word* to = b.dst + block + i * kNr;
      for (int64_t first = 0; first < b.cols; first += kNr, to += b.panel_stride) {
        for (int j = 0; j < kNr; j += Vec::kLanes) {
          const __m512i high = _mm512_slli_epi32(load(earlier, first + j), 16);
          _mm512_storeu_si512(to + j, _mm512_or_si512(high, load(earlier + 2, first + j)));
        }
      }
    }
  }
}

template <int kNr>
void PackBHalves(const BPanels& b) {
  if (b.k_stride == 1) return PackColumnsHalves<kNr>(b);
  if (b.col_stride == 1) return PackRowsHalves<kNr>(b);
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
