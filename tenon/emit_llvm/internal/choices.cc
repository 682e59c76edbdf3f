// Conditions that all points of a row share: each row computes only what its condition lets count.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <vector>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/policy.h"
#include "tenon/kir/walk.h"
#include "tenon/target/lanes.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::DimMask;
using kir::Op;
using kir::Val;
using llvm::Value;

const llvm::ConstantInt* FunctionEmitter::Decided(Val condition) const {
  const auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(values_[condition]);
  return known != nullptr && known->getType()->isIntegerTy(1) ? known : nullptr;
}

FunctionEmitter::NodeList FunctionEmitter::Reached(const NodeList& needed, const std::vector<Val>& roots) const {
  std::vector<bool> reached(k_.nodes.size());
  for (Val v : roots) reached[v] = true;
  NodeList left;
  for (auto v = needed.rbegin(); v != needed.rend(); ++v) {
    if (!reached[*v]) continue;
    left.push_back(*v);
    const kir::Node& node = k_.nodes[*v];
    const llvm::ConstantInt* known = node.op == Op::kSelect ? Decided(node.in[0]) : nullptr;
    if (known != nullptr) {
      reached[node.in[known->isZero() ? 2 : 1]] = true;
    } else {
      kir::ForEachInput(k_, node, [&](Val in) { reached[in] = true; });
    }
  }
  std::ranges::reverse(left);
  return left;
}

void FunctionEmitter::Decide(const NodeList& needed, Val condition, bool holds) {
  Set(condition, 0, b_.getInt1(holds));
  for (Val v : needed) {
    const kir::Node& node = k_.nodes[v];
    if (node.op == Op::kNot && node.in[0] == condition) Set(v, 0, b_.getInt1(!holds));
  }
}

double FunctionEmitter::RowCycles(const NodeList& needed, DimId row, unsigned lanes) const {
  const kir::Size extent = k_.dims[row].extent;
  const int64_t points = extent.is_param() ? policy::kManyPoints : extent.baked;
  double cycles = policy::kCyclesPerCost * an_.Cost(needed, DimMask{1} << row);
  for (Val v : needed) {
    if (k_.nodes[v].op != Op::kRead || (an_.deps[v] >> row & 1) == 0) continue;
    const std::optional<int64_t> stride = ConstStride(an_.reads[k_.nodes[v].attr], row);
    cycles += stride == 1 ? target::kContiguousMove : target::kStridedMove;
  }
  return cycles * static_cast<double>((points + lanes - 1) / lanes);
}

void FunctionEmitter::ForChoices(const std::vector<Val>& roots, const StagePlan& plan, const NodeList& needed,
                                 int choices, llvm::function_ref<void(const NodeList&)> row) {
  const auto along = static_cast<DimId>(plan.vector_dim);
  const auto cycles = [&](const NodeList& nodes) { return RowCycles(nodes, along, plan.lanes); };
  const auto left = [&](Val condition, bool holds) {
    const size_t mark = Mark();
    Decide(needed, condition, holds);
    NodeList reached = Reached(needed, roots);
    Rewind(mark);
    return reached;
  };
  llvm::SmallVector<Val, 8> asked;
  Val best = kir::kNone;
  double most = target::kLeastChoice;
  for (Val v : needed) {
    if (choices == 0 || k_.nodes[v].op != Op::kSelect) continue;
    Val condition = k_.nodes[v].in[0];
    if (k_.nodes[condition].op == Op::kNot) condition = k_.nodes[condition].in[0];
    if ((an_.deps[condition] >> along & 1) != 0 || !Has(condition, 0) || Decided(condition) != nullptr ||
        llvm::is_contained(asked, condition))
      continue;
    asked.push_back(condition);
    const double saved = cycles(needed) - (cycles(left(condition, true)) + cycles(left(condition, false))) / 2;
    if (saved <= most) continue;
    most = saved;
    best = condition;
  }
  if (best == kir::kNone) return row(needed);
  const auto decided = [&](bool holds) {
    Decide(needed, best, holds);
    ForChoices(roots, plan, Reached(needed, roots), choices - 1, row);
  };
  IfElse(Get(best, 0), [&] { decided(true); }, [&] { decided(false); });
}

}  // namespace tenon::emit_llvm
