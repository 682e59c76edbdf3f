// Compiled for the level avx512 with VNNI. See internal/kernel.h for what may be included here.

#include <type_traits>

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_avx512.h"
// clang-format off: the loops are templates over the vectors above.
#include "tenon/kernels/gemm/internal/f32_inl.h"
#include "tenon/kernels/gemm/internal/groups_inl.h"
#include "tenon/kernels/gemm/internal/micro_inl.h"
// clang-format on

namespace {

// VPDPBUSD multiplies unsigned by signed bytes. Of signed ones, A is stored with 128 added, and every column starts
// from -128 times its sum; of unsigned ones, A is stored with 128 subtracted, and every column starts from 128 times
// its sum.
template <class Byte, class Vec>
typename Vec::Sum MulAddBytes(typename Vec::Words a, typename Vec::Words b, typename Vec::Sum c) {
  constexpr bool kSigned = std::is_signed_v<Byte>;
  if constexpr (Vec::kLanes == 16)
    return _mm512_dpbusd_epi32(c, kSigned ? a : b, kSigned ? b : a);
  else
    return _mm256_dpbusd_epi32(c, kSigned ? a : b, kSigned ? b : a);
}

template <class Byte>
struct HalfVnniOps : HalfS16Ops {
  static constexpr bool kHasStart = true;
  static Sum MulAdd(Words a, Words b, Sum c) { return MulAddBytes<Byte, HalfS16Ops>(a, b, c); }
};

template <class Byte>
struct VnniOps : S16Ops {
  using Half = HalfVnniOps<Byte>;
  static constexpr bool kHasStart = true;
  static Sum MulAdd(Words a, Words b, Sum c) { return MulAddBytes<Byte, S16Ops>(a, b, c); }
};

template <class Byte, int kNr>
void PackBVnni(const BPanels& b) {
  PackBGroups<Byte, Byte, 4, kNr>(b);
  const int64_t steps = (b.k + 3) / 4;
  const __m512i ones = _mm512_set1_epi8(1);
  for (int64_t first = 0, panel = 0; first < b.cols; first += kNr, panel += b.panel_stride) {
    for (int j = 0; j < kNr; j += 16) {
      __m512i sum = _mm512_setzero_si512();
      for (int64_t q = 0; q < steps; ++q)
        sum = VnniOps<Byte>::MulAdd(ones, S16Ops::LoadB(b.dst + panel + q * kNr + j), sum);
      __m512i start = _mm512_slli_epi32(sum, 7);
      if (std::is_signed_v<Byte>) start = _mm512_sub_epi32(_mm512_setzero_si512(), start);
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
    .has_half = kHasHalf<VnniOps<int8_t>>,
    .micro = MicroAny<VnniOps<int8_t>, 14, 32>,
    .pack_a = PackAGroups<int8_t, int8_t, 4, -128>,
    .pack_b = PackBVnni<int8_t, 32>,
};

extern const GemmKernel gemm_u8_14x32_avx512vnni = {
    .name = "gemm_u8_14x32_avx512vnni",
    .level = isa::IsaLevel::kAvx512,
    .extra = Extra::kVnni,
    .operand_type = DType::kU8,
    .sum_type = DType::kS32,
    .mr = 14,
    .nr = 32,
    .k_unit = 4,
    .has_start = true,
    .has_half = kHasHalf<VnniOps<uint8_t>>,
    .micro = MicroAny<VnniOps<uint8_t>, 14, 32>,
    .pack_a = PackAGroups<uint8_t, uint8_t, 4, 128>,
    .pack_b = PackBVnni<uint8_t, 32>,
};

}  // namespace tenon::kernels::internal
