// What the points of short rows share, computed for a vector of rows before the rows' own turn.
#include <algorithm>
#include <vector>

#include "tenon/emit_llvm/internal/function_emitter.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::DimMask;
using kir::Val;
using llvm::Value;

target::RowStage FunctionEmitter::RowStageOf(const kir::Stage& stage, const StagePlan& plan,
                                             const NodeList& needed) const {
  target::RowStage rows{
      .kernel = k_, .stage = stage, .needed = needed, .deps = an_.deps, .around = {}, .lanes = plan.lanes};
  for (const DimId d : plan.outside) rows.around.push_back(d);
  for (const int d : {plan.vector_dim, plan.tile_dim}) rows.row |= d < 0 ? 0 : DimMask{1} << d;
  for (const DimId d : plan.short_dims) rows.row |= DimMask{1} << d;
  for (size_t d = 0; d < k_.dims.size(); ++d) rows.known |= k_.dims[d].extent.is_param() ? 0 : DimMask{1} << d;
  return rows;
}

void FunctionEmitter::ForRowsAhead(DimId along, const target::ValuesAhead& ahead, llvm::function_ref<void()> row) {
  const bool wide = std::ranges::any_of(
      ahead.early, [&](Val v) { return IsFloat(TypeOf(v)) && ScalarLowering::RegisterBytes(TypeOf(v)) == 8; });
  const unsigned lanes = static_cast<unsigned>(isa::VectorBytes(isa_)) / (wide ? 8U : 4U);
  std::vector<Value*> memory;
  for (Val v : ahead.handed) memory.push_back(Alloca(low_.MemoryType(TypeOf(v), 1), lanes));
  Value* const hi = DimHigh(along);
  For(
      DimLow(along), hi, I64(lanes), nullptr,
      [&] {
        Precompute(ahead.early);
        Precompute(ahead.late);
      },
      [&](Value* block) {
        Value* const left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(hi, block), I64(lanes));
        const size_t mark = Mark();
        const Lanes outside = lanes_;
        dim_value_[along] = block;
        lanes_ = {.dim = along, .lanes = lanes, .copy_dim = along, .copies = 1};
        if (Known(left) != int64_t{lanes}) {
          lanes_.mask = ActiveMask(left, lanes);
          lanes_.count = left;
        }
        Precompute(ahead.early);
        for (size_t i = 0; i < ahead.handed.size(); ++i) {
          const Val v = ahead.handed[i];
          const llvm::Align align(static_cast<uint64_t>(ByteWidth(TypeOf(v))));
          b_.CreateAlignedStore(low_.ToMemory(TypeOf(v), GetLanes(v, 0)), memory[i], align);
        }
        lanes_ = outside;
        dim_value_[along] = nullptr;
        Rewind(mark);
        For(
            I64(0), left, I64(1), nullptr, [] {},
            [&](Value* i) {
              dim_value_[along] = b_.CreateAdd(block, i);
              for (size_t h = 0; h < ahead.handed.size(); ++h) {
                const DType type = TypeOf(ahead.handed[h]);
                llvm::Type* const element = low_.MemoryType(type, 1);
                const llvm::Align align(static_cast<uint64_t>(ByteWidth(type)));
                Value* const loaded = b_.CreateAlignedLoad(element, b_.CreateGEP(element, memory[h], i), align);
                Set(ahead.handed[h], 0, low_.FromMemory(type, loaded));
              }
              row();
              dim_value_[along] = nullptr;
            });
      });
}

}  // namespace tenon::emit_llvm
