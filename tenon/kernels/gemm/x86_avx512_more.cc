// f64 and integers for the level avx512. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_avx512.h"
// clang-format off: the loops are templates over the vectors above.
#include "tenon/kernels/gemm/internal/columns_inl.h"
#include "tenon/kernels/gemm/internal/f32_inl.h"
#include "tenon/kernels/gemm/internal/f64_inl.h"
#include "tenon/kernels/gemm/internal/groups_inl.h"
#include "tenon/kernels/gemm/internal/micro_inl.h"
// clang-format on

namespace tenon::kernels::internal {

extern const GemmKernel gemm_f64_14x16_avx512 = {
    .name = "gemm_f64_14x16_avx512",
    .level = isa::IsaLevel::kAvx512,
    .extra = Extra::kNone,
    .operand_type = DType::kF64,
    .sum_type = DType::kF64,
    .mr = 14,
    .nr = 16,
    .sum_words = 2,
    .in_place = true,
    .has_half = kHasHalf<F64Ops>,
    .micro = MicroInPlace<F64Ops, 14, 16>,
    .wide_cols = WideCols<F64Ops>,
    .micro_placed_a = MicroAny<F64Ops, 14, 16, 0, Lie::kPlacedA>,
    .micro_placed_b = MicroPlacedB<F64Ops, 14, 16>,
    .pack_a = PackAF64,
    .pack_b = PackBF64<16>,
    .dot_columns = DotColumns<F64Ops>,
};

extern const GemmKernel gemm_s32_14x32_avx512 = {
    .name = "gemm_s32_14x32_avx512",
    .level = isa::IsaLevel::kAvx512,
    .extra = Extra::kNone,
    .operand_type = DType::kS32,
    .sum_type = DType::kS32,
    .mr = 14,
    .nr = 32,
    .in_place = true,
    .has_half = kHasHalf<S32Ops>,
    .micro = MicroInPlace<S32Ops, 14, 32>,
    .wide_cols = WideCols<S32Ops>,
    .pack_a = PackAWords,
    .pack_b = PackBWords<32>,
    .dot_columns = DotColumns<S32Ops>,
};

extern const GemmKernel gemm_s8_14x32_avx512 = {
    .name = "gemm_s8_14x32_avx512",
    .level = isa::IsaLevel::kAvx512,
    .extra = Extra::kNone,
    .operand_type = DType::kS8,
    .sum_type = DType::kS32,
    .mr = 14,
    .nr = 32,
    .k_unit = 2,
    .has_half = kHasHalf<S16Ops>,
    .micro = MicroAny<S16Ops, 14, 32>,
    .pack_a = PackAGroups<int8_t, int16_t, 2>,
    .pack_b = PackBGroups<int8_t, int16_t, 2, 32>,
};

extern const GemmKernel gemm_u8_14x32_avx512 = {
    .name = "gemm_u8_14x32_avx512",
    .level = isa::IsaLevel::kAvx512,
    .extra = Extra::kNone,
    .operand_type = DType::kU8,
    .sum_type = DType::kS32,
    .mr = 14,
    .nr = 32,
    .k_unit = 2,
    .has_half = kHasHalf<S16Ops>,
    .micro = MicroAny<S16Ops, 14, 32>,
    .pack_a = PackAGroups<uint8_t, int16_t, 2>,
    .pack_b = PackBGroups<uint8_t, int16_t, 2, 32>,
};

extern const GemmKernel gemm_s16_14x32_avx512 = {
    .name = "gemm_s16_14x32_avx512",
    .level = isa::IsaLevel::kAvx512,
    .extra = Extra::kNone,
    .operand_type = DType::kS16,
    .sum_type = DType::kS32,
    .mr = 14,
    .nr = 32,
    .k_unit = 2,
    .has_half = kHasHalf<S16Ops>,
    .micro = MicroAny<S16Ops, 14, 32>,
    .pack_a = PackAGroups<int16_t, int16_t, 2>,
    .pack_b = PackBGroups<int16_t, int16_t, 2, 32>,
};

}  // namespace tenon::kernels::internal
