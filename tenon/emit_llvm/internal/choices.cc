// Conditions that all points of a row share: each row computes only what its condition lets count.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <vector>

#include "tenon/emit_llvm/internal/function_emitter.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::Op;
using kir::Val;
using llvm::Value;

namespace {

/// Without the nodes that are `done`.
target::RowChoices Without(target::RowChoices choices, const std::vector<bool>& done) {
  std::erase_if(choices.needed, [&](Val v) { return done[v]; });
  for (target::RowChoices& way : choices.ways) way = Without(std::move(way), done);
  return choices;
}

}  // namespace

const llvm::ConstantInt* FunctionEmitter::Decided(Val condition) const {
  const auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(values_[condition]);
  return known != nullptr && known->getType()->isIntegerTy(1) ? known : nullptr;
}

void FunctionEmitter::Decide(const NodeList& needed, Val condition, bool holds) {
  Set(condition, 0, b_.getInt1(holds));
  for (Val v : needed) {
    const kir::Node& node = k_.nodes[v];
    if (node.op == Op::kNot && node.in[0] == condition) Set(v, 0, b_.getInt1(!holds));
  }
}

void FunctionEmitter::ForRows(const kir::Stage& stage, const StagePlan& plan, const target::RowChoices& choices,
                              size_t open, llvm::function_ref<void(const NodeList&)> row) {
  const NodeList& needed = choices.needed;
  // Single points are computed where they are stored.
  const bool is_point = open == plan.outside.size() && plan.kind == StagePlan::Kind::kScalar;
  if (open > 0 && !is_point) Precompute(needed);
  if (choices.condition != kir::kNone && choices.loops == open) {
    const auto decided = [&](bool holds) {
      Decide(needed, choices.condition, holds);
      ForRows(stage, plan, choices.ways[holds ? 0 : 1], open, row);
    };
    if (!Has(choices.condition, 0)) {
      target::RowChoices nothing;
      nothing.needed = needed;
      return ForRows(stage, plan, nothing, open, row);
    }
    return IfElse(Get(choices.condition, 0), [&] { decided(true); }, [&] { decided(false); });
  }
  if (open == plan.outside.size()) return row(needed);
  const DimId dim = plan.outside[open];
  if (plan.kind == StagePlan::Kind::kVector && open + 1 == plan.outside.size()) {
    if (const auto ahead = target::AheadOf(RowStageOf(stage, plan, needed))) {
      std::vector<bool> done(k_.nodes.size());
      for (const Val v : ahead->early) done[v] = true;
      for (const Val v : ahead->handed) done[v] = false;
      const target::RowChoices late = Without(choices, done);
      return ForRowsAhead(dim, *ahead, [&] { ForRows(stage, plan, late, open + 1, row); });
    }
  }
  For(
      DimLow(dim), DimHigh(dim), I64(1), nullptr, [&] { Precompute(needed); },
      [&](Value* i) {
        PrefetchRows(dim, i, needed);
        dim_value_[dim] = i;
        ForRows(stage, plan, choices, open + 1, row);
        dim_value_[dim] = nullptr;
      });
}

}  // namespace tenon::emit_llvm
