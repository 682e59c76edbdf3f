// Compiled for the level sse4. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_sse4.h"
//
#include "tenon/kernels/gemm/internal/gemv_f32_inl.h"
#include "tenon/kernels/gemm/internal/micro_f32_inl.h"

namespace tenon::kernels::internal {

extern const GemmKernel gemm_f32_6x8_sse4 = {
    .name = "gemm_f32_6x8_sse4",
    .level = isa::IsaLevel::kSse4,
    .a_type = DType::kF32,
    .b_type = DType::kF32,
    .c_type = DType::kF32,
    .mr = 6,
    .nr = 8,
    .consistent = false,
    .micro = MicroF32Any<6, 8>,
    .pack_b = PackBF32<8>,
    .dot_rows = DotRowsF32,
    .dot_cols = DotColsF32,
    .reduce_rows = ReduceRowsF32,
    .reduce_cols = ReduceColsF32,
};

}  // namespace tenon::kernels::internal
