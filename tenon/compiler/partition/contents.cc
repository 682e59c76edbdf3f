#include "tenon/compiler/partition/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mlir/IR/SymbolTable.h"
#include "tenon/compiler/partition/collectives.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
bool IsConstraint(mlir::Operation* op) {
  return mlir::isa<sdy::ShardingConstraintOp, sdy::ReshardOp, sdy::PropagationBarrierOp>(op);
}

bool IsId(mlir::Operation* op) { return mlir::isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op); }

Contents ContentsOf::Of(mlir::Operation* op, int depth) {
  Contents contents;
  op->walk([&](mlir::Operation* inner) {
    contents.collective |= IsCollective(inner) || mlir::isa<sdy::ManualComputationOp>(inner);
    contents.device |= IsId(inner) || IsConstraint(inner);
    contents.guarded |= mlir::isa<stablehlo::WhileOp, stablehlo::CustomCallOp, stablehlo::InfeedOp,
                                  stablehlo::OutfeedOp, stablehlo::SendOp, stablehlo::RecvOp>(inner);
    contents.own |= mlir::isa<stablehlo::RngOp, stablehlo::CustomCallOp, stablehlo::InfeedOp, stablehlo::RecvOp>(inner);
    mlir::func::FuncOp callee = Called(inner);
    if (!callee || depth >= kMaxCallDepth) return;
    // A function that calls itself finds nothing here; it is refused elsewhere.
    if (functions_.try_emplace(callee).second) {
      const Contents of_callee = Of(callee, depth + 1);
      functions_[callee] = of_callee;
    }
    contents |= functions_[callee];
  });
  return contents;
}

bool RunsOnce(mlir::Operation* op) {
  bool once = false;
  op->walk([&](mlir::Operation* inner) {
    auto call = mlir::dyn_cast<stablehlo::CustomCallOp>(inner);
    once |= call && call.getHasSideEffect();
    once |=
        mlir::isa<stablehlo::RngOp, stablehlo::InfeedOp, stablehlo::OutfeedOp, stablehlo::SendOp, stablehlo::RecvOp>(
            inner);
  });
  return once;
}

mlir::func::FuncOp Called(mlir::Operation* op) {
  mlir::SymbolRefAttr name;
  if (auto call = mlir::dyn_cast<mlir::func::CallOp>(op)) name = call.getCalleeAttr();
  if (mlir::isa<stablehlo::CompositeOp>(op)) name = op->getAttrOfType<mlir::SymbolRefAttr>("decomposition");
  if (!name) return nullptr;
  auto callee = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(op, name);
  return callee && !callee.empty() ? callee : nullptr;
}

namespace {

// Ops of functions, with all that they call; no more than one above the limit.
class InlinedOps {
 public:
  int64_t Of(mlir::func::FuncOp function, int depth) {
    // A function that calls itself counts as nothing inside of it; it is refused elsewhere.
    const auto [known, fresh] = counts_.try_emplace(function, 0);
    if (!fresh || depth > kMaxCallDepth) return known->second;
    int64_t count = 0;
    function.walk([&](mlir::Operation* op) {
      mlir::func::FuncOp callee = Called(op);
      count = std::min(count + 1 + (callee ? Of(callee, depth + 1) : 0), kMaxInlinedOps + 1);
    });
    return counts_[function] = count;
  }

 private:
  llvm::DenseMap<mlir::Operation*, int64_t> counts_;
};

}  // namespace

Status TooManyInlinedOps() {
  return ResourceExhausted(
      fmt::format("the program has more than {} operations once its calls are inlined", kMaxInlinedOps));
}

Status CheckInlinedOps(mlir::func::FuncOp main) {
  return InlinedOps().Of(main, 0) <= kMaxInlinedOps ? OkStatus() : TooManyInlinedOps();
}

bool CapturesValues(mlir::Operation* op) {
  bool captures = false;
  op->walk([&](mlir::Operation* inner) {
    if (inner == op) return;
    for (mlir::Value v : inner->getOperands()) captures |= !op->isAncestor(v.getParentBlock()->getParentOp());
  });
  return captures;
}

void TakeInConstants(mlir::Operation* op) {
  op->walk([&](mlir::Operation* inner) {
    if (inner == op) return;
    for (mlir::OpOperand& use : inner->getOpOperands()) {
      mlir::Operation* from = use.get().getDefiningOp();
      if (from == nullptr || op->isAncestor(from) || !mlir::isa<stablehlo::ConstantOp>(from)) continue;
      use.set(mlir::OpBuilder(inner).clone(*from)->getResult(0));
    }
  });
}

void CallComposites(mlir::ModuleOp module) {
  ContentsOf contents_of;
  std::vector<mlir::Operation*> found;
  module.walk([&](stablehlo::CompositeOp op) {
    const Contents contents = contents_of(op);
    if (Called(op) && (contents.collective || contents.device)) found.push_back(op);
  });
  for (mlir::Operation* op : found) {
    mlir::OpBuilder b(op);
    auto call = mlir::func::CallOp::create(b, op->getLoc(), Called(op), op->getOperands());
    op->replaceAllUsesWith(call);
    op->erase();
  }
}

}  // namespace tenon::compiler
