// Compiled for the level avx2. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_avx2.h"
//
#include "tenon/kernels/gemm/internal/bf16_inl.h"
#include "tenon/kernels/gemm/internal/f32_inl.h"
#include "tenon/kernels/gemm/internal/gemv_f32_inl.h"
#include "tenon/kernels/gemm/internal/groups_inl.h"
#include "tenon/kernels/gemm/internal/micro_inl.h"

namespace tenon::kernels::internal {

extern const GemmKernel gemm_f32_6x16_avx2 = {
    .name = "gemm_f32_6x16_avx2",
    .level = isa::IsaLevel::kAvx2,
    .extra = Extra::kNone,
    .operand_type = DType::kF32,
    .sum_type = DType::kF32,
    .mr = 6,
    .nr = 16,
    .consistent = true,
    .k_unit = 1,
    .unit_words = 1,
    .has_start = false,
    .micro = MicroAny<F32Ops, 6, 16>,
    .pack_a = PackAF32,
    .pack_b = PackBF32<16>,
    .load_row = nullptr,
    .store_row = nullptr,
    .dot_rows = DotRowsF32,
    .dot_cols = DotColsF32,
    .reduce_rows = ReduceRowsF32,
    .reduce_cols = ReduceColsF32,
};

extern const GemmKernel gemm_bf16_6x16_avx2 = {
    .name = "gemm_bf16_6x16_avx2",
    .level = isa::IsaLevel::kAvx2,
    .extra = Extra::kNone,
    .operand_type = DType::kBF16,
    .sum_type = DType::kF32,
    .mr = 6,
    .nr = 16,
    .consistent = true,
    .k_unit = 2,
    .unit_words = 2,
    .has_start = false,
    .micro = MicroAny<F32Ops, 6, 16>,
    .pack_a = PackABf16,
    .pack_b = PackBBf16<16>,
    .load_row = LoadRowBf16,
    .store_row = StoreRowBf16,
    .dot_rows = nullptr,
    .dot_cols = nullptr,
    .reduce_rows = nullptr,
    .reduce_cols = nullptr,
};

extern const GemmKernel gemm_s8_6x16_avx2 = {
    .name = "gemm_s8_6x16_avx2",
    .level = isa::IsaLevel::kAvx2,
    .extra = Extra::kNone,
    .operand_type = DType::kS8,
    .sum_type = DType::kS32,
    .mr = 6,
    .nr = 16,
    .consistent = true,
    .k_unit = 2,
    .unit_words = 1,
    .has_start = false,
    .micro = MicroAny<S16Ops, 6, 16>,
    .pack_a = PackAGroups<int8_t, int16_t, 2>,
    .pack_b = PackBGroups<int8_t, int16_t, 2, 16>,
    .load_row = nullptr,
    .store_row = nullptr,
    .dot_rows = nullptr,
    .dot_cols = nullptr,
    .reduce_rows = nullptr,
    .reduce_cols = nullptr,
};

}  // namespace tenon::kernels::internal
