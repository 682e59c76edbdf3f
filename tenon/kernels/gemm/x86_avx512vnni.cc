// Compiled for the level avx512 with VNNI. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_avx512.h"
// clang-format off: the loops are templates over the vectors above.
#include "tenon/kernels/gemm/internal/f32_inl.h"
#include "tenon/kernels/gemm/internal/groups_inl.h"
#include "tenon/kernels/gemm/internal/micro_inl.h"
// clang-format on

namespace {

// VPDPBUSD multiplies unsigned by signed bytes: A is stored with 128 added, and every column starts from -128 times its
// sum.
struct HalfVnniOps : HalfS16Ops {
  static constexpr bool kHasStart = true;
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm256_dpbusd_epi32(c, a, b); }
};

struct VnniOps : S16Ops {
  using Half = HalfVnniOps;
  static constexpr bool kHasStart = true;
  static Sum MulAdd(Words a, Words b, Sum c) { return _mm512_dpbusd_epi32(c, a, b); }
};

void PackAVnni(const void* src, int64_t row_stride, int64_t k_stride, int rows, int64_t k, Word* dst,
               int64_t dst_row_stride) {
  PackAGroups<int8_t, uint8_t, 4>(src, row_stride, k_stride, rows, k, dst, dst_row_stride);
  const int64_t steps = (k + 3) / 4;
  for (int r = 0; r < rows; ++r) {
    for (int64_t q = 0; q < steps; ++q) dst[r * dst_row_stride + q] ^= 0x80808080u;
  }
}

template <int kNr>
void PackBVnni(const BPanels& b) {
  PackBGroups<int8_t, int8_t, 4, kNr>(b);
  const int64_t steps = (b.k + 3) / 4;
  const __m512i ones = _mm512_set1_epi8(1);
  for (int64_t first = 0, panel = 0; first < b.cols; first += kNr, panel += b.panel_stride) {
    for (int j = 0; j < kNr; j += 16) {
      __m512i sum = _mm512_setzero_si512();
      for (int64_t q = 0; q < steps; ++q)
        sum = _mm512_dpbusd_epi32(sum, ones, S16Ops::LoadB(b.dst + panel + q * kNr + j));
      __m512i start = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(sum, 7));
      Word* const to = b.start + panel + j;
      if (!b.first) start = _mm512_add_epi32(start, S16Ops::LoadC(to));
      S16Ops::StoreC(to, start);
    }
  }
}

}  // namespace

namespace tenon::kernels::internal {

extern const GemmKernel gemm_s8_14x32_avx512vnni = {
    .name = "gemm_s8_14x32_avx512vnni",
    .level = isa::IsaLevel::kAvx512,
    .extra = Extra::kVnni,
    .operand_type = DType::kS8,
    .sum_type = DType::kS32,
    .mr = 14,
    .nr = 32,
    .k_unit = 4,
    .has_start = true,
    .has_half = kHasHalf<VnniOps>,
    .micro = MicroAny<VnniOps, 14, 32>,
    .pack_a = PackAVnni,
    .pack_b = PackBVnni<32>,
};

}  // namespace tenon::kernels::internal
