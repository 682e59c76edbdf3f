// Compiled for the level avx512. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_avx512.h"
//
#include "tenon/kernels/gemm/internal/gemv_f32_inl.h"
#include "tenon/kernels/gemm/internal/micro_f32_inl.h"

namespace tenon::kernels::internal {

extern const GemmKernel gemm_f32_14x32_avx512 = {
    .name = "gemm_f32_14x32_avx512",
    .level = isa::IsaLevel::kAvx512,
    .a_type = DType::kF32,
    .b_type = DType::kF32,
    .c_type = DType::kF32,
    .mr = 14,
    .nr = 32,
    .consistent = true,
    .micro = MicroF32Any<14, 32>,
    .pack_b = PackBF32<32>,
    .dot_rows = DotRowsF32,
    .dot_cols = DotColsF32,
    .reduce_rows = ReduceRowsF32,
    .reduce_cols = ReduceColsF32,
};

}  // namespace tenon::kernels::internal
