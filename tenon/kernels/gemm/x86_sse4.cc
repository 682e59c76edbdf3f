// Compiled for the level sse4. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_sse4.h"
// clang-format off: the loops are templates over the vectors above.
#include "tenon/kernels/gemm/internal/bf16_inl.h"
#include "tenon/kernels/gemm/internal/columns_inl.h"
#include "tenon/kernels/gemm/internal/f16_inl.h"
#include "tenon/kernels/gemm/internal/f32_inl.h"
#include "tenon/kernels/gemm/internal/gemv_f32_inl.h"
#include "tenon/kernels/gemm/internal/few_f32_inl.h"
#include "tenon/kernels/gemm/internal/micro_inl.h"
// clang-format on

namespace tenon::kernels::internal {

extern const GemmKernel gemm_f32_6x8_sse4 = {
    .name = "gemm_f32_6x8_sse4",
    .level = isa::IsaLevel::kSse4,
    .extra = Extra::kNone,
    .operand_type = DType::kF32,
    .sum_type = DType::kF32,
    .mr = 6,
    .nr = 8,
    .consistent = false,
    .in_place = true,
    .micro = MicroInPlace<F32Ops, 6, 8>,
    .wide_cols = WideCols<F32Ops>,
    .pack_a = PackAWords,
    .pack_b = PackBWords<8>,
    .dot_columns = DotColumns<F32Ops>,
    .dot_short = DotShortF32,
    .dot_whole = DotWholeF32,
    .dot_few = DotFewF32,
    .dot_rows = DotRowsF32,
    .dot_cols = DotColsF32,
    .dot_tree = DotTreeF32,
    .dot_group = DotGroupF32,
    .reduce_rows = ReduceRowsF32,
    .reduce_cols = ReduceColsF32,
    .reduce_groups = ReduceGroupsF32,
};

extern const GemmKernel gemm_bf16_6x8_sse4 = {
    .name = "gemm_bf16_6x8_sse4",
    .level = isa::IsaLevel::kSse4,
    .extra = Extra::kNone,
    .operand_type = DType::kBF16,
    .sum_type = DType::kF32,
    .mr = 6,
    .nr = 8,
    .consistent = false,
    .k_unit = 32,
    .unit_steps = 32,
    .half_steps = 16,
    .micro = MicroAny<F32Ops, 6, 8, 16>,
    .pack_a = PackABf16,
    .pack_b = PackBBf16<8>,
    .load_row = LoadRowBf16,
    .store_row = StoreRowBf16,
};

extern const GemmKernel gemm_f16_6x8_sse4 = {
    .name = "gemm_f16_6x8_sse4",
    .level = isa::IsaLevel::kSse4,
    .extra = Extra::kNone,
    .operand_type = DType::kF16,
    .sum_type = DType::kF32,
    .mr = 6,
    .nr = 8,
    .consistent = false,
    .micro = MicroAny<F32Ops, 6, 8>,
    .pack_a = PackAF16,
    .pack_b = PackBF16<8>,
    .load_row = LoadRowF16,
    .store_row = StoreRowF16,
};

}  // namespace tenon::kernels::internal
