// Compiled for the level avx2. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_avx2.h"
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

extern const GemmKernel gemm_f32_6x16_avx2 = {
    .name = "gemm_f32_6x16_avx2",
    .level = isa::IsaLevel::kAvx2,
    .extra = Extra::kNone,
    .operand_type = DType::kF32,
    .sum_type = DType::kF32,
    .mr = 6,
    .nr = 16,
    .in_place = true,
    .micro = MicroInPlace<F32Ops, 6, 16>,
    .wide_cols = WideCols<F32Ops>,
    .micro_placed_a = MicroAny<F32Ops, 6, 16, 0, Lie::kPlacedA>,
    .micro_placed_b = MicroPlacedB<F32Ops, 6, 16>,
    .pack_a = PackAWords,
    .pack_b = PackBWords<16>,
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

extern const GemmKernel gemm_bf16_6x16_avx2 = {
    .name = "gemm_bf16_6x16_avx2",
    .level = isa::IsaLevel::kAvx2,
    .extra = Extra::kNone,
    .operand_type = DType::kBF16,
    .sum_type = DType::kF32,
    .mr = 6,
    .nr = 16,
    .k_unit = 32,
    .unit_steps = 32,
    .half_steps = 16,
    .micro = MicroAny<F32Ops, 6, 16, 16>,
    .micro_placed_a = MicroAny<F32Ops, 6, 16, 16, Lie::kPlacedA>,
    .pack_a = PackABf16,
    .pack_b = PackBBf16<16>,
    .load_row = LoadRowBf16,
    .store_row = StoreRowBf16,
};

extern const GemmKernel gemm_f16_6x16_avx2 = {
    .name = "gemm_f16_6x16_avx2",
    .level = isa::IsaLevel::kAvx2,
    .extra = Extra::kNone,
    .operand_type = DType::kF16,
    .sum_type = DType::kF32,
    .mr = 6,
    .nr = 16,
    .micro = MicroAny<F32Ops, 6, 16>,
    .micro_placed_a = MicroAny<F32Ops, 6, 16, 0, Lie::kPlacedA>,
    .pack_a = PackAF16,
    .pack_b = PackBF16<16>,
    .load_row = LoadRowF16,
    .store_row = StoreRowF16,
};

}  // namespace tenon::kernels::internal
