// f64 and integers for the level sse4. See internal/kernel.h for what may be included here.

#include "tenon/kernels/gemm/internal/kernel.h"
#include "tenon/kernels/gemm/internal/vec_sse4.h"
// clang-format off: the loops are templates over the vectors above.
#include "tenon/kernels/gemm/internal/columns_inl.h"
#include "tenon/kernels/gemm/internal/f32_inl.h"
#include "tenon/kernels/gemm/internal/f64_inl.h"
#include "tenon/kernels/gemm/internal/groups_inl.h"
#include "tenon/kernels/gemm/internal/micro_inl.h"
// clang-format on

namespace tenon::kernels::internal {

extern const GemmKernel gemm_f64_6x4_sse4 = {
    .name = "gemm_f64_6x4_sse4",
    .level = isa::IsaLevel::kSse4,
    .extra = Extra::kNone,
    .operand_type = DType::kF64,
    .sum_type = DType::kF64,
    .mr = 6,
    .nr = 4,
    .consistent = false,
    .sum_words = 2,
    .in_place = true,
    .micro = MicroInPlace<F64Ops, 6, 4>,
    .wide_cols = WideCols<F64Ops>,
    .pack_a = PackAF64,
    .pack_b = PackBF64<4>,
    .dot_columns = DotColumns<F64Ops>,
};

extern const GemmKernel gemm_s32_6x8_sse4 = {
    .name = "gemm_s32_6x8_sse4",
    .level = isa::IsaLevel::kSse4,
    .extra = Extra::kNone,
    .operand_type = DType::kS32,
    .sum_type = DType::kS32,
    .mr = 6,
    .nr = 8,
    .in_place = true,
    .micro = MicroInPlace<S32Ops, 6, 8>,
    .wide_cols = WideCols<S32Ops>,
    .pack_a = PackAWords,
    .pack_b = PackBWords<8>,
    .dot_columns = DotColumns<S32Ops>,
};

extern const GemmKernel gemm_s8_6x8_sse4 = {
    .name = "gemm_s8_6x8_sse4",
    .level = isa::IsaLevel::kSse4,
    .extra = Extra::kNone,
    .operand_type = DType::kS8,
    .sum_type = DType::kS32,
    .mr = 6,
    .nr = 8,
    .k_unit = 2,
    .micro = MicroAny<S16Ops, 6, 8>,
    .pack_a = PackAGroups<int8_t, int16_t, 2>,
    .pack_b = PackBGroups<int8_t, int16_t, 2, 8>,
};

extern const GemmKernel gemm_u8_6x8_sse4 = {
    .name = "gemm_u8_6x8_sse4",
    .level = isa::IsaLevel::kSse4,
    .extra = Extra::kNone,
    .operand_type = DType::kU8,
    .sum_type = DType::kS32,
    .mr = 6,
    .nr = 8,
    .k_unit = 2,
    .micro = MicroAny<S16Ops, 6, 8>,
    .pack_a = PackAGroups<uint8_t, int16_t, 2>,
    .pack_b = PackBGroups<uint8_t, int16_t, 2, 8>,
};

extern const GemmKernel gemm_s16_6x8_sse4 = {
    .name = "gemm_s16_6x8_sse4",
    .level = isa::IsaLevel::kSse4,
    .extra = Extra::kNone,
    .operand_type = DType::kS16,
    .sum_type = DType::kS32,
    .mr = 6,
    .nr = 8,
    .k_unit = 2,
    .micro = MicroAny<S16Ops, 6, 8>,
    .pack_a = PackAGroups<int16_t, int16_t, 2>,
    .pack_b = PackBGroups<int16_t, int16_t, 2, 8>,
};

}  // namespace tenon::kernels::internal
