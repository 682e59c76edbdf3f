// What the points of short rows share, computed for a vector of rows before the rows' own turn.
#include <algorithm>
#include <vector>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/kir/walk.h"
#include "tenon/target/lanes.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::DimMask;
using kir::Op;
using kir::Val;
using llvm::Value;

FunctionEmitter::RowsAhead FunctionEmitter::RowsAheadOf(const kir::Stage& stage, const StagePlan& plan,
                                                        const NodeList& needed) const {
  if (plan.kind != StagePlan::Kind::kVector || plan.outside.empty()) return {};
  const DimId along = plan.outside.back();
  const DimMask row = DimMask{1} << plan.vector_dim, rows = DimMask{1} << along;
  const kir::Size extent = k_.dims[static_cast<size_t>(plan.vector_dim)].extent;
  if (extent.is_param()) return {};
  RowsAhead ahead{.dim = along};
  // Places are counted where they are wanted.
  std::vector<bool> early(k_.nodes.size()), blocked(k_.nodes.size()), wanted(k_.nodes.size());
  bool wide = false;
  for (Val v : needed) {
    const kir::Node& node = k_.nodes[v];
    bool blocks = node.op == Op::kRead && an_.buffer_mutable[k_.reads[node.attr].buf];
    kir::ForEachInput(k_, node, [&](Val in) { blocks = blocks || blocked[in]; });
    blocked[v] = blocks;
    early[v] = !blocks && (an_.deps[v] & rows) != 0 && (an_.deps[v] & row) == 0 && node.op != Op::kIndex;
    if (!early[v]) continue;
    wide = wide || (IsFloat(node.type) && ScalarLowering::RegisterBytes(node.type) == 8);
    ahead.early.push_back(v);
  }
  std::vector<Val> roots;
  for (const kir::Store& store : stage.stores) Analysis::StoreRoots(store, &roots);
  for (Val v : roots) wanted[v] = true;
  for (Val v : needed) {
    if (!early[v]) kir::ForEachInput(k_, k_.nodes[v], [&](Val in) { wanted[in] = true; });
  }
  for (Val v : needed) {
    if (early[v] && wanted[v]) ahead.handed.push_back(v);
    if (!early[v] || wanted[v]) ahead.late.push_back(v);
  }
  const int cost = an_.Cost(ahead.early, ~DimMask{0});
  if (!target::ComputesAhead(cost, static_cast<int>(ahead.handed.size()), extent.baked)) return {};
  ahead.lanes = static_cast<unsigned>(isa::VectorBytes(isa_) / (wide ? 8 : 4));
  return ahead;
}

void FunctionEmitter::ForRowsAhead(const RowsAhead& ahead, llvm::function_ref<void()> row) {
  std::vector<Value*> memory;
  for (Val v : ahead.handed) memory.push_back(Alloca(low_.MemoryType(TypeOf(v), 1), ahead.lanes));
  Value* const hi = DimHigh(ahead.dim);
  For(
      DimLow(ahead.dim), hi, I64(ahead.lanes), nullptr,
      [&] {
        Precompute(ahead.early);
        Precompute(ahead.late);
      },
      [&](Value* block) {
        Value* const left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(hi, block), I64(ahead.lanes));
        const size_t mark = Mark();
        const Lanes outside = lanes_;
        dim_value_[ahead.dim] = block;
        lanes_ = {.dim = ahead.dim, .lanes = ahead.lanes, .copy_dim = ahead.dim, .copies = 1};
        if (Known(left) != int64_t{ahead.lanes}) {
          lanes_.mask = ActiveMask(left, ahead.lanes);
          lanes_.count = left;
        }
        Precompute(ahead.early);
        for (size_t i = 0; i < ahead.handed.size(); ++i) {
          const Val v = ahead.handed[i];
          const llvm::Align align(static_cast<uint64_t>(ByteWidth(TypeOf(v))));
          b_.CreateAlignedStore(low_.ToMemory(TypeOf(v), GetLanes(v, 0)), memory[i], align);
        }
        lanes_ = outside;
        dim_value_[ahead.dim] = nullptr;
        Rewind(mark);
        For(
            I64(0), left, I64(1), nullptr, [] {},
            [&](Value* i) {
              dim_value_[ahead.dim] = b_.CreateAdd(block, i);
              for (size_t h = 0; h < ahead.handed.size(); ++h) {
                const DType type = TypeOf(ahead.handed[h]);
                llvm::Type* const element = low_.MemoryType(type, 1);
                const llvm::Align align(static_cast<uint64_t>(ByteWidth(type)));
                Value* const loaded = b_.CreateAlignedLoad(element, b_.CreateGEP(element, memory[h], i), align);
                Set(ahead.handed[h], 0, low_.FromMemory(type, loaded));
              }
              row();
              dim_value_[ahead.dim] = nullptr;
            });
      });
}

}  // namespace tenon::emit_llvm
