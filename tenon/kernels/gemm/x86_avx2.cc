// Compiled for the level avx2. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_avx2.h"
//
#include "tenon/kernels/gemm/internal/gemv_f32_inl.h"
#include "tenon/kernels/gemm/internal/micro_f32_inl.h"

namespace tenon::kernels::internal {

extern const GemmKernel gemm_f32_6x16_avx2 = {
    .name = "gemm_f32_6x16_avx2",
    .level = isa::IsaLevel::kAvx2,
    .a_type = DType::kF32,
    .b_type = DType::kF32,
    .c_type = DType::kF32,
    .mr = 6,
    .nr = 16,
    .consistent = true,
    .micro = MicroF32Any<6, 16>,
    .pack_b = PackBF32<16>,
    .dot_rows = DotRowsF32,
    .dot_cols = DotColsF32,
    .reduce_rows = ReduceRowsF32,
    .reduce_cols = ReduceColsF32,
};

}  // namespace tenon::kernels::internal
