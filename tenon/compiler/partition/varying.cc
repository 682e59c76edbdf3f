#include "tenon/compiler/partition/varying.h"

#include <algorithm>

#include "tenon/compiler/partition/collectives.h"
#include "tenon/compiler/partition/policy.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
void Varying::Set(mlir::Value v, bool varies) {
  if (varies)
    values_.insert(v);
  else
    values_.erase(v);
}

bool Varying::HasAny(mlir::ValueRange values) const {
  return llvm::any_of(values, [&](mlir::Value v) { return Has(v); });
}

std::vector<bool> Varying::VisitBlock(mlir::Block& block, const std::vector<bool>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) Set(block.getArgument(static_cast<unsigned>(i)), arguments[i]);
  for (mlir::Operation& op : block.without_terminator()) Visit(&op);
  std::vector<bool> results;
  for (mlir::Value v : block.getTerminator()->getOperands()) results.push_back(Has(v));
  return results;
}

// Carries are taken to be the same for as long as nothing speaks against it.
void Varying::VisitWhile(mlir::Operation* op) {
  const bool masked = masked_;
  if (loops_around_++ == 0) loops_.clear();
  Loop& loop = loops_[{calls_, op}];
  loop.carries.resize(op->getNumOperands(), false);
  for (size_t i = 0; i < loop.carries.size(); ++i)
    loop.carries[i] = loop.carries[i] || Has(op->getOperand(static_cast<unsigned>(i)));
  for (int visit = 0;; ++visit) {
    const Loop before = loop;
    masked_ = masked || loop.condition;
    loop.condition = VisitBlock(op->getRegion(0).front(), before.carries)[0] || loop.condition;
    const std::vector<bool> yielded = VisitBlock(op->getRegion(1).front(), before.carries);
    for (size_t i = 0; i < yielded.size(); ++i)
      loop.carries[i] = before.carries[i] || yielded[i] || loop.condition || visit >= policy::kMaxLoopVisits;
    if (loop == before) break;
  }
  masked_ = masked;
  --loops_around_;
  for (size_t i = 0; i < loop.carries.size(); ++i) Set(op->getResult(static_cast<unsigned>(i)), loop.carries[i]);
}

void Varying::VisitBranches(mlir::Operation* op) {
  const bool masked = masked_;
  const bool index = Has(op->getOperand(0));
  masked_ = masked || index;
  std::vector<bool> results(op->getNumResults(), index);
  for (mlir::Region& region : op->getRegions()) {
    const std::vector<bool> yielded = VisitBlock(region.front(), {});
    for (size_t i = 0; i < results.size(); ++i) results[i] = results[i] || yielded[i];
  }
  masked_ = masked;
  for (size_t i = 0; i < results.size(); ++i) Set(op->getResult(static_cast<unsigned>(i)), results[i]);
}

// Whether results differ though operands do not.
bool Varying::VariesByItself(mlir::Operation* op) const {
  if (mlir::isa<stablehlo::PartitionIdOp>(op)) return instances_.num_partitions > 1;
  if (mlir::isa<stablehlo::ReplicaIdOp>(op)) return instances_.num_replicas > 1;
  return mlir::isa<sdy::ManualComputationOp>(op);
}

void Varying::Visit(mlir::Operation* op) {
  const Instances& all = instances_.remote != nullptr ? instances_.remote->all() : instances_;
  const auto set_all = [&](bool varies) {
    for (mlir::Value v : op->getResults()) Set(v, varies);
  };
  if (all.size() == 1) return set_all(false);
  if (IsCollective(op)) {
    bool everybody = false;
    if (mlir::isa<stablehlo::AllReduceOp, stablehlo::AllGatherOp, stablehlo::CollectiveBroadcastOp,
                  stablehlo::CrossReplicaSumOp>(op)) {
      const Result<std::vector<std::vector<int64_t>>> groups = InstanceGroups(op, all);
      everybody = groups.ok() && groups->size() == 1 && groups->front().size() == all.size();
    }
    return set_all(!everybody);
  }
  const Contents contents = contents_of_(op);
  // Those that do not run it have nothing.
  if (masked_ && contents.guarded && !contents.collective) return set_all(true);
  if (contents.collective || contents.device) {
    if (mlir::func::FuncOp callee = Called(op)) {
      if (calls_.size() >= kMaxCallDepth) return set_all(true);
      std::vector<bool> arguments;
      for (mlir::Value v : op->getOperands()) arguments.push_back(Has(v));
      calls_.push_back(op);
      const std::vector<bool> results = VisitBlock(callee.getBody().front(), arguments);
      calls_.pop_back();
      for (size_t i = 0; i < results.size(); ++i) Set(op->getResult(static_cast<unsigned>(i)), results[i]);
      return;
    }
    if (mlir::isa<stablehlo::WhileOp>(op)) return VisitWhile(op);
    if (mlir::isa<stablehlo::IfOp, stablehlo::CaseOp>(op)) return VisitBranches(op);
  }
  if (mlir::isa<stablehlo::OptimizationBarrierOp>(op)) {
    for (const auto [operand, result] : llvm::zip(op->getOperands(), op->getResults())) Set(result, Has(operand));
    return;
  }
  bool varies = contents.own;
  op->walk([&](mlir::Operation* inner) { varies = varies || VariesByItself(inner) || HasAny(inner->getOperands()); });
  set_all(varies);
}

}  // namespace tenon::compiler
