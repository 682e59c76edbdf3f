#include "tenon/compiler/partition/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <numeric>
#include <set>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "tenon/compiler/partition/collectives.h"
#include "tenon/compiler/partition/manual.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

constexpr int kMaxCallDepth = 200;  // structural: the recursion must fit a stack

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }

class Expander {
 public:
  Expander(mlir::OpBuilder& builder, const Instances& instances) : b_(builder), instances_(instances) {}

  Result<std::vector<Lanes>> Run(mlir::Block& body, const std::vector<Lanes>& arguments) {
    std::vector<mlir::IRMapping> maps(instances_.size());
    for (size_t a = 0; a < arguments.size(); ++a) {
      for (size_t i = 0; i < maps.size(); ++i) maps[i].map(body.getArgument(static_cast<unsigned>(a)), arguments[a][i]);
    }
    return RunIn(body, maps);
  }

 private:
  // Values from outside the expanded body are the same for every lane, and map to themselves.
  Lanes LanesOf(mlir::Value v, const std::vector<mlir::IRMapping>& maps) const {
    Lanes lanes;
    for (const mlir::IRMapping& m : maps) lanes.push_back(m.lookupOrDefault(v));
    return lanes;
  }

  void Bind(mlir::Value v, const Lanes& lanes, std::vector<mlir::IRMapping>& maps) const {
    for (size_t i = 0; i < maps.size(); ++i) maps[i].map(v, lanes[i]);
  }

  Result<std::vector<Lanes>> RunIn(mlir::Block& body, std::vector<mlir::IRMapping>& maps) {
    for (mlir::Operation& op : body.without_terminator()) TENON_RETURN_IF_ERROR(One(&op, maps));
    std::vector<Lanes> results;
    for (mlir::Value v : body.getTerminator()->getOperands()) results.push_back(LanesOf(v, maps));
    return results;
  }

  // Whether the op, a region inside it or a function that it calls cannot be cloned per lane.
  bool IsJoint(mlir::Operation* op, int depth = 0) const {
    bool joint = false;
    op->walk([&](mlir::Operation* inner) {
      if (IsCollective(inner) || mlir::isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp, sdy::ManualComputationOp,
                                           sdy::ShardingConstraintOp, sdy::ReshardOp>(inner)) {
        joint = true;
      } else if (auto call = mlir::dyn_cast<mlir::func::CallOp>(inner); call && depth < kMaxCallDepth) {
        auto callee = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(call, call.getCalleeAttr());
        joint = joint || (callee && IsJoint(callee, depth + 1));
      }
    });
    return joint;
  }

  Status One(mlir::Operation* op, std::vector<mlir::IRMapping>& maps) {
    if (mlir::isa<sdy::ShardingConstraintOp, sdy::ReshardOp, sdy::PropagationBarrierOp>(op)) {
      Bind(op->getResult(0), LanesOf(op->getOperand(0), maps), maps);
      return OkStatus();
    }
    if (mlir::isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op)) return Id(op, maps);
    if (IsCollective(op)) {
      std::vector<Lanes> operands;
      for (mlir::Value v : op->getOperands()) operands.push_back(LanesOf(v, maps));
      TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results, ExpandCollective(b_, op, operands, instances_));
      for (size_t i = 0; i < results.size(); ++i) Bind(op->getResult(static_cast<unsigned>(i)), results[i], maps);
      return OkStatus();
    }
    if (!IsJoint(op)) {
      for (mlir::IRMapping& m : maps) b_.clone(*op, m)->removeAttr(sdy::kShardingAttr);
      return OkStatus();
    }
    if (auto inner = mlir::dyn_cast<sdy::ManualComputationOp>(op)) return Manual(inner, maps);
    if (auto call = mlir::dyn_cast<mlir::func::CallOp>(op)) return Call(call, maps);
    if (auto loop = mlir::dyn_cast<stablehlo::WhileOp>(op)) return While(loop, maps);
    if (mlir::isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) return Branches(op, maps);
    return Unimplemented(
        fmt::format("{} that contains collectives inside a per-device body", op->getName().getStringRef().str()));
  }

  Status Manual(sdy::ManualComputationOp op, std::vector<mlir::IRMapping>& maps) {
    bool captures = false;
    op.getBody().walk([&](mlir::Operation* inner) {
      for (mlir::Value v : inner->getOperands()) captures |= !op.getBody().isAncestor(v.getParentRegion());
    });
    if (captures) return Unimplemented("a manual_computation that uses values of the one around it");
    std::vector<Lanes> operands;
    for (mlir::Value v : op.getTensors()) operands.push_back(LanesOf(v, maps));
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results, ExpandManualComputation(b_, op, operands, instances_));
    for (size_t i = 0; i < results.size(); ++i) Bind(op->getResult(static_cast<unsigned>(i)), results[i], maps);
    return OkStatus();
  }

  Status Id(mlir::Operation* op, std::vector<mlir::IRMapping>& maps) {
    const bool partition = mlir::isa<stablehlo::PartitionIdOp>(op);
    auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
    for (size_t i = 0; i < maps.size(); ++i) {
      const int64_t device = instances_.devices[i][0];
      const int64_t id = partition ? device % instances_.num_partitions : device / instances_.num_partitions;
      auto value = mlir::DenseElementsAttr::get(type, llvm::APInt(32, static_cast<uint64_t>(id)));
      maps[i].map(op->getResult(0),
                  stablehlo::ConstantOp::create(b_, op->getLoc(), mlir::cast<mlir::ElementsAttr>(value)).getResult());
    }
    return OkStatus();
  }

  Status Call(mlir::func::CallOp call, std::vector<mlir::IRMapping>& maps) {
    auto callee = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(call, call.getCalleeAttr());
    if (!callee || callee.empty())
      return InvalidArgument(fmt::format("call of the unknown function '{}'", call.getCallee().str()));
    if (++depth_ > kMaxCallDepth)
      return InvalidArgument(fmt::format("calls of '{}' are nested too deeply", call.getCallee().str()));
    std::vector<Lanes> arguments;
    for (mlir::Value v : call.getOperands()) arguments.push_back(LanesOf(v, maps));
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results, Run(callee.front(), arguments));
    --depth_;
    for (size_t i = 0; i < results.size(); ++i) Bind(call.getResult(static_cast<unsigned>(i)), results[i], maps);
    return OkStatus();
  }

  // Carries of all lanes side by side: lane 0 of each, then lane 1 ...
  Status While(stablehlo::WhileOp loop, std::vector<mlir::IRMapping>& maps) {
    const size_t n = loop->getNumOperands();
    llvm::SmallVector<mlir::Value> init;
    llvm::SmallVector<mlir::Type> types;
    llvm::SmallVector<mlir::Location> locations;
    for (const mlir::IRMapping& m : maps) {
      for (mlir::Value v : loop->getOperands()) {
        init.push_back(m.lookupOrDefault(v));
        types.push_back(v.getType());
        locations.push_back(v.getLoc());
      }
    }
    mlir::OperationState state(loop.getLoc(), stablehlo::WhileOp::getOperationName(), init, types);
    state.addRegion();
    state.addRegion();
    mlir::Operation* joint = b_.create(state);
    const mlir::OpBuilder::InsertionGuard guard(b_);
    for (unsigned r = 0; r < 2; ++r) {
      mlir::Block* block = b_.createBlock(&joint->getRegion(r), {}, types, locations);
      std::vector<Lanes> arguments(n);
      for (size_t i = 0; i < maps.size(); ++i) {
        for (size_t a = 0; a < n; ++a) arguments[a].push_back(block->getArgument(static_cast<unsigned>(i * n + a)));
      }
      std::vector<mlir::IRMapping> inner = maps;  // The regions may capture.
      for (size_t a = 0; a < n; ++a)
        Bind(loop->getRegion(r).getArgument(static_cast<unsigned>(a)), arguments[a], inner);
      TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> yielded, RunIn(loop->getRegion(r).front(), inner));
      Return(loop.getLoc(), r == 0 ? std::vector<Lanes>{{yielded[0][0]}} : yielded);
    }
    BindJoint(loop, joint, n, maps);
    return OkStatus();
  }

  Status Branches(mlir::Operation* op, std::vector<mlir::IRMapping>& maps) {
    llvm::SmallVector<mlir::Type> types;
    for (size_t i = 0; i < maps.size(); ++i) types.append(op->result_type_begin(), op->result_type_end());
    mlir::OperationState state(op->getLoc(), op->getName().getStringRef(), {maps[0].lookupOrDefault(op->getOperand(0))},
                               types);
    for (unsigned r = 0; r < op->getNumRegions(); ++r) state.addRegion();
    mlir::Operation* joint = b_.create(state);
    const mlir::OpBuilder::InsertionGuard guard(b_);
    for (unsigned r = 0; r < op->getNumRegions(); ++r) {
      b_.createBlock(&joint->getRegion(r));
      std::vector<mlir::IRMapping> inner = maps;
      TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> yielded, RunIn(op->getRegion(r).front(), inner));
      Return(op->getLoc(), yielded);
    }
    BindJoint(op, joint, op->getNumResults(), maps);
    return OkStatus();
  }

  // stablehlo.return of all values, lane by lane.
  void Return(mlir::Location loc, const std::vector<Lanes>& values) {
    llvm::SmallVector<mlir::Value> operands;
    for (size_t i = 0; i < (values.empty() ? 0 : values[0].size()); ++i) {
      for (const Lanes& lanes : values) operands.push_back(lanes[i]);
    }
    mlir::OperationState state(loc, stablehlo::ReturnOp::getOperationName(), operands, {});
    b_.create(state);
  }

  void BindJoint(mlir::Operation* op, mlir::Operation* joint, size_t n, std::vector<mlir::IRMapping>& maps) const {
    for (size_t i = 0; i < maps.size(); ++i) {
      for (size_t a = 0; a < n; ++a)
        maps[i].map(op->getResult(static_cast<unsigned>(a)), joint->getResult(static_cast<unsigned>(i * n + a)));
    }
  }

  mlir::OpBuilder& b_;
  const Instances& instances_;
  int depth_ = 0;
};

}  // namespace

int64_t Instances::Of(int64_t device) const {
  for (size_t i = 0; i < devices.size(); ++i) {
    if (std::find(devices[i].begin(), devices[i].end(), device) != devices[i].end()) return static_cast<int64_t>(i);
  }
  return -1;
}

Result<std::vector<Lanes>> Expand(mlir::OpBuilder& builder, mlir::Block& body, const std::vector<Lanes>& arguments,
                                  const Instances& instances) {
  return Expander(builder, instances).Run(body, arguments);
}

mlir::Value Slice(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, llvm::ArrayRef<int64_t> starts,
                  llvm::ArrayRef<int64_t> sizes) {
  auto type = TypeOf(x);
  if (type.getShape() == sizes) return x;
  llvm::SmallVector<int64_t> limits;
  for (size_t i = 0; i < starts.size(); ++i) limits.push_back(starts[i] + sizes[i]);
  mlir::OperationState state(loc, stablehlo::SliceOp::getOperationName(), {x},
                             {mlir::RankedTensorType::get(sizes, type.getElementType())});
  state.addAttribute("start_indices", b.getDenseI64ArrayAttr(starts));
  state.addAttribute("limit_indices", b.getDenseI64ArrayAttr(limits));
  state.addAttribute("strides", b.getDenseI64ArrayAttr(llvm::SmallVector<int64_t>(starts.size(), 1)));
  return b.create(state)->getResult(0);
}

mlir::Value Concatenate(mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange parts, int64_t dim) {
  if (parts.size() == 1) return parts[0];
  auto type = TypeOf(parts[0]);
  llvm::SmallVector<int64_t> dims(type.getShape());
  dims[static_cast<size_t>(dim)] = 0;
  for (mlir::Value p : parts) dims[static_cast<size_t>(dim)] += TypeOf(p).getDimSize(static_cast<unsigned>(dim));
  mlir::OperationState state(loc, stablehlo::ConcatenateOp::getOperationName(), parts,
                             {mlir::RankedTensorType::get(dims, type.getElementType())});
  state.addAttribute("dimension", b.getI64IntegerAttr(dim));
  return b.create(state)->getResult(0);
}

mlir::Value Zeros(mlir::OpBuilder& b, mlir::Location loc, mlir::RankedTensorType type) {
  mlir::DenseElementsAttr zeros;
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type.getElementType())) {
    const llvm::APFloat zero(mlir::cast<mlir::FloatType>(complex.getElementType()).getFloatSemantics());
    zeros = mlir::DenseElementsAttr::get(type, std::complex<llvm::APFloat>(zero, zero));
  } else {
    zeros = mlir::DenseElementsAttr::get(type, mlir::cast<mlir::Attribute>(b.getZeroAttr(type.getElementType())));
  }
  return stablehlo::ConstantOp::create(b, loc, mlir::cast<mlir::ElementsAttr>(zeros)).getResult();
}

mlir::Value Reshape(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, llvm::ArrayRef<int64_t> dims) {
  auto type = TypeOf(x);
  if (type.getShape() == dims) return x;
  mlir::OperationState state(loc, stablehlo::ReshapeOp::getOperationName(), {x},
                             {mlir::RankedTensorType::get(dims, type.getElementType())});
  return b.create(state)->getResult(0);
}

}  // namespace tenon::compiler
