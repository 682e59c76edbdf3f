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

// VDPBF16PS: per lane fma(a[2q], b[2q], fma(a[2q+1], b[2q+1], c)), subnormals flushed: GemmOrder::kPairs.
struct Bf16Ops : F32Ops {
  using Words = __m512i;
  static Words LoadB(const Word* p) { return S16Ops::LoadB(p); }
  static Words LoadFirstB(const Word* p, Mask m) { return S16Ops::LoadFirstB(p, m); }
  static Words BroadcastA(const Word* p) { return S16Ops::BroadcastA(p); }
  static Sum MulAdd(Words a, Words b, Sum c) {
    return _mm512_dpbf16_ps(c, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};

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
    .k_unit = 2,
    .micro = MicroAny<Bf16Ops, 14, 32>,
    .pack_a = PackAGroups<uint16_t, uint16_t, 2>,
    .pack_b = PackBGroups<uint16_t, uint16_t, 2, 32>,
    .load_row = LoadRowBf16,
    .store_row = StoreRowBf16,
};

}  // namespace tenon::kernels::internal
