#include "tenon/compiler/partition/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <numeric>
#include <set>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/compiler/partition/collectives.h"
#include "tenon/compiler/partition/contents.h"
#include "tenon/compiler/partition/manual.h"
#include "tenon/compiler/partition/varying.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }

class Expander {
 public:
  Expander(mlir::OpBuilder& builder, const Instances& instances, ContentsOf& contents_of)
      : b_(builder),
        instances_(instances),
        contents_of_(contents_of),
        varying_(instances, contents_of),
        active_(instances.active),
        repeated_(instances.repeated) {}

  Result<std::vector<Lanes>> Run(mlir::Block& body, const std::vector<Lanes>& arguments,
                                 const std::vector<bool>& varying) {
    for (size_t a = 0; a < arguments.size(); ++a) varying_.Set(body.getArgument(static_cast<unsigned>(a)), varying[a]);
    return RunIn(body, arguments, std::vector<mlir::IRMapping>(instances_.size()));
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

  // `maps`: of what the body may capture.
  Result<std::vector<Lanes>> RunIn(mlir::Block& body, const std::vector<Lanes>& arguments,
                                   std::vector<mlir::IRMapping> maps) {
    for (size_t a = 0; a < arguments.size(); ++a) Bind(body.getArgument(static_cast<unsigned>(a)), arguments[a], maps);
    for (mlir::Operation& op : body.without_terminator()) TENON_RETURN_IF_ERROR(One(&op, maps));
    std::vector<Lanes> results;
    for (mlir::Value v : body.getTerminator()->getOperands()) results.push_back(LanesOf(v, maps));
    return results;
  }

  Status One(mlir::Operation* op, std::vector<mlir::IRMapping>& maps) {
    varying_.Visit(op, !active_.empty());
    if (IsConstraint(op)) {
      Bind(op->getResult(0), LanesOf(op->getOperand(0), maps), maps);
      return OkStatus();
    }
    if (IsId(op)) return Id(op, maps);
    if (IsCollective(op)) {
      std::vector<Lanes> operands;
      for (mlir::Value v : op->getOperands()) operands.push_back(LanesOf(v, maps));
      TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results, ExpandCollective(b_, op, operands, instances_));
      for (size_t i = 0; i < results.size(); ++i) Bind(op->getResult(static_cast<unsigned>(i)), results[i], maps);
      return OkStatus();
    }
    if (auto inner = mlir::dyn_cast<sdy::ManualComputationOp>(op)) return Manual(inner, maps);
    const Contents contents = contents_of_(op);
    if (!contents.collective) return Apart(op, contents, maps);
    if (auto call = mlir::dyn_cast<mlir::func::CallOp>(op)) return Call(call, maps);
    if (auto loop = mlir::dyn_cast<stablehlo::WhileOp>(op)) return While(loop, maps);
    if (mlir::isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) return Branches(op, maps);
    return Unimplemented(
        fmt::format("{} that contains collectives inside a per-device body", op->getName().getStringRef().str()));
  }

  // Lanes that have nothing to do with each other.
  Status Apart(mlir::Operation* op, const Contents& contents, std::vector<mlir::IRMapping>& maps) {
    const bool guarded = !active_.empty() && contents.guarded;
    for (size_t i = 0; i < maps.size(); ++i) {
      if (guarded) {
        TENON_RETURN_IF_ERROR(Guarded(op, contents, i, maps[i]));
      } else {
        TENON_RETURN_IF_ERROR(OnLane(op, contents, i, maps[i]));
      }
    }
    return OkStatus();
  }

  // `op` for one lane.
  Status OnLane(mlir::Operation* op, const Contents& contents, size_t lane, mlir::IRMapping& map) {
    if (!contents.device) {
      b_.clone(*op, map)->removeAttr(sdy::kShardingAttr);
      return OkStatus();
    }
    const Instances alone{{instances_.devices[lane]}, instances_.num_replicas, instances_.num_partitions};
    Expander expander(b_, alone, contents_of_);
    expander.depth_ = depth_;
    expander.repeated_ = repeated_;
    std::vector<mlir::IRMapping> maps{std::move(map)};
    const Status status = expander.OfOneLane(op, maps);
    map = std::move(maps[0]);
    return status;
  }

  // An op that differs between devices, where there is but one.
  Status OfOneLane(mlir::Operation* op, std::vector<mlir::IRMapping>& maps) {
    if (auto call = mlir::dyn_cast<mlir::func::CallOp>(op)) return Call(call, maps);
    if (auto loop = mlir::dyn_cast<stablehlo::WhileOp>(op)) return SteeredAlike(loop, maps);
    if (mlir::isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) return BranchAlike(op, maps);
    return WithRegions(op, maps[0]);
  }

  // Any other op that has ids or constraints in its regions.
  Status WithRegions(mlir::Operation* op, mlir::IRMapping& map) {
    mlir::Operation* copy = b_.clone(*op, map);
    copy->removeAttr(sdy::kShardingAttr);
    std::vector<mlir::Operation*> found;
    bool calls = false;
    copy->walk([&](mlir::Operation* inner) {
      calls |= mlir::isa<mlir::func::CallOp>(inner);
      if (IsConstraint(inner) || IsId(inner)) found.push_back(inner);
    });
    if (calls) {
      return Unimplemented(fmt::format("{} with calls in its regions, and ids of devices or shardings",
                                       op->getName().getStringRef().str()));
    }
    for (mlir::Operation* inner : found) {
      mlir::Value value;
      if (IsId(inner)) {
        const mlir::OpBuilder::InsertionGuard guard(b_);
        b_.setInsertionPoint(inner);
        value = IdOf(inner, 0);
      } else {
        value = inner->getOperand(0);
      }
      inner->getResult(0).replaceAllUsesWith(value);
      inner->erase();
    }
    return OkStatus();
  }

  // `op` for one lane, if that is active; else zeros.
  Status Guarded(mlir::Operation* op, const Contents& contents, size_t lane, mlir::IRMapping& map) {
    mlir::OperationState state(op->getLoc(), stablehlo::IfOp::getOperationName(), {active_[lane]},
                               op->getResultTypes());
    state.addRegion();
    state.addRegion();
    mlir::Operation* guard = b_.create(state);
    const mlir::OpBuilder::InsertionGuard at(b_);
    mlir::IRMapping inner = map;
    b_.createBlock(&guard->getRegion(0));
    TENON_RETURN_IF_ERROR(OnLane(op, contents, lane, inner));
    std::vector<Lanes> results;
    for (mlir::Value v : op->getResults()) results.push_back({inner.lookup(v)});
    Return(op->getLoc(), results);
    b_.createBlock(&guard->getRegion(1));
    Return(op->getLoc(), Nothing(op->getLoc(), op->getResultTypes(), 1));
    map.map(op->getResults(), guard->getResults());
    return OkStatus();
  }

  Status Manual(sdy::ManualComputationOp op, std::vector<mlir::IRMapping>& maps) {
    bool captures = false;
    op.getBody().walk([&](mlir::Operation* inner) {
      for (mlir::Value v : inner->getOperands()) captures |= !op.getBody().isAncestor(v.getParentRegion());
    });
    if (captures) return Unimplemented("a manual_computation that uses values of the one around it");
    std::vector<Lanes> operands;
    for (mlir::Value v : op.getTensors()) operands.push_back(LanesOf(v, maps));
    Instances around = instances_;
    around.active = active_;
    around.repeated = repeated_;
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results, ExpandManualComputation(b_, op, operands, around));
    for (size_t i = 0; i < results.size(); ++i) Bind(op->getResult(static_cast<unsigned>(i)), results[i], maps);
    return OkStatus();
  }

  // The number of the lane's partition or replica.
  mlir::Value IdOf(mlir::Operation* op, size_t lane) {
    const auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
    const int64_t device = instances_.devices[lane][0], partitions = instances_.num_partitions;
    const int64_t id = mlir::isa<stablehlo::PartitionIdOp>(op) ? device % partitions : device / partitions;
    const auto value = mlir::DenseElementsAttr::get(type, llvm::APInt(32, static_cast<uint64_t>(id)));
    return stablehlo::ConstantOp::create(b_, op->getLoc(), mlir::cast<mlir::ElementsAttr>(value)).getResult();
  }

  Status Id(mlir::Operation* op, std::vector<mlir::IRMapping>& maps) {
    for (size_t i = 0; i < maps.size(); ++i) maps[i].map(op->getResult(0), IdOf(op, i));
    return OkStatus();
  }

  Status Call(mlir::func::CallOp call, std::vector<mlir::IRMapping>& maps) {
    mlir::func::FuncOp callee = Called(call);
    if (!callee) return InvalidArgument(fmt::format("call of the unknown function '{}'", call.getCallee().str()));
    if (++depth_ > kMaxCallDepth)
      return InvalidArgument(fmt::format("calls of '{}' are nested too deeply", call.getCallee().str()));
    std::vector<Lanes> arguments;
    for (mlir::Value v : call.getOperands()) arguments.push_back(LanesOf(v, maps));
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results,
                           RunIn(callee.front(), arguments, std::vector<mlir::IRMapping>(maps.size())));
    --depth_;
    for (size_t i = 0; i < results.size(); ++i) Bind(call.getResult(static_cast<unsigned>(i)), results[i], maps);
    return OkStatus();
  }

  Status While(stablehlo::WhileOp loop, std::vector<mlir::IRMapping>& maps) {
    mlir::Block& condition = loop->getRegion(0).front();
    return varying_.Has(condition.getTerminator()->getOperand(0)) ? SteeredEach(loop, maps) : SteeredAlike(loop, maps);
  }

  // A loop whose lanes all go on equally long: that of one says how long.
  Status SteeredAlike(stablehlo::WhileOp loop, std::vector<mlir::IRMapping>& maps) {
    const size_t n = loop->getNumOperands();
    mlir::Operation* joint = JointLoop(loop, Carries(loop->getOperands(), maps));
    const mlir::OpBuilder::InsertionGuard guard(b_);
    for (unsigned r = 0; r < 2; ++r) {
      mlir::Block* block = BlockOf(joint, r);
      TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> yielded,
                             RunIn(loop->getRegion(r).front(), ArgumentsOf(block, n, maps.size()), maps));
      Return(loop.getLoc(), r == 0 ? std::vector<Lanes>{{yielded[0][0]}} : yielded);
    }
    BindJoint(loop, joint, n, maps);
    return OkStatus();
  }

  // A loop whose lanes end when they want: beside the carries it has whether each lane goes on, and whether any does.
  // That takes its condition before it and at the end of its body. Where that would repeat what is repeated already,
  // and so twice as much at every further depth, the condition is at the beginning of the body, and the rest of it a
  // branch.
  Status SteeredEach(stablehlo::WhileOp loop, std::vector<mlir::IRMapping>& maps) {
    return repeated_ ? AskedWithin(loop, maps) : AskedBefore(loop, maps);
  }

  Status AskedWithin(stablehlo::WhileOp loop, std::vector<mlir::IRMapping>& maps) {
    const mlir::Location loc = loop.getLoc();
    const size_t n = loop->getNumOperands(), lanes = maps.size();
    const mlir::Value yes = True(loc);
    llvm::SmallVector<mlir::Value> state = Carries(loop->getOperands(), maps);
    for (size_t i = 0; i < lanes; ++i) state.push_back(active_.empty() ? yes : active_[i]);
    state.push_back(yes);
    mlir::Operation* joint = JointLoop(loop, state);
    const mlir::OpBuilder::InsertionGuard guard(b_);
    mlir::Block* block = BodyOf(joint);
    const std::vector<Lanes> old = ArgumentsOf(block, n, lanes);
    const Lanes around = active_;
    active_.clear();
    for (size_t i = 0; i < lanes; ++i) active_.push_back(block->getArgument(static_cast<unsigned>(n * lanes + i)));
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> wanted, RunIn(loop->getRegion(0).front(), old, maps));
    active_ = Each<stablehlo::AndOp>(loc, active_, wanted[0]);
    const Lanes goes_on = active_;
    const mlir::Value any = Any(loc, goes_on);
    mlir::Operation* turn = JointIf(loc, any, loop->getResultTypes(), lanes);
    {
      const mlir::OpBuilder::InsertionGuard inside(b_);
      b_.createBlock(&turn->getRegion(0));
      TENON_ASSIGN_OR_RETURN(std::vector<Lanes> next, RunIn(loop->getRegion(1).front(), old, maps));
      for (size_t a = 0; a < n; ++a) next[a] = Select(loc, active_, next[a], old[a]);
      Return(loc, next);
      b_.createBlock(&turn->getRegion(1));
      Return(loc, old);
    }
    active_ = around;
    llvm::SmallVector<mlir::Value> yielded(turn->getResults());
    yielded.append(goes_on.begin(), goes_on.end());
    yielded.push_back(any);
    stablehlo::ReturnOp::create(b_, loc, yielded);
    BindJoint(loop, joint, n, maps);
    return OkStatus();
  }

  Status AskedBefore(stablehlo::WhileOp loop, std::vector<mlir::IRMapping>& maps) {
    const mlir::Location loc = loop.getLoc();
    const size_t n = loop->getNumOperands(), lanes = maps.size();
    std::vector<Lanes> init;
    for (mlir::Value v : loop->getOperands()) init.push_back(LanesOf(v, maps));
    mlir::Block& condition = loop->getRegion(0).front();
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> first, RunRepeated(condition, init, maps));
    Lanes goes_on = active_.empty() ? first[0] : Each<stablehlo::AndOp>(loc, active_, first[0]);
    llvm::SmallVector<mlir::Value> state = Carries(loop->getOperands(), maps);
    state.append(goes_on.begin(), goes_on.end());
    state.push_back(Any(loc, goes_on));
    mlir::Operation* joint = JointLoop(loop, state);
    const mlir::OpBuilder::InsertionGuard guard(b_);
    mlir::Block* block = BodyOf(joint);
    const std::vector<Lanes> old = ArgumentsOf(block, n, lanes);
    for (size_t i = 0; i < lanes; ++i) goes_on[i] = block->getArgument(static_cast<unsigned>(n * lanes + i));
    std::swap(active_, goes_on);
    TENON_ASSIGN_OR_RETURN(std::vector<Lanes> next, RunIn(loop->getRegion(1).front(), old, maps));
    for (size_t a = 0; a < n; ++a) next[a] = Select(loc, active_, next[a], old[a]);
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> again, RunRepeated(condition, next, maps));
    std::swap(active_, goes_on);
    goes_on = Each<stablehlo::AndOp>(loc, goes_on, again[0]);
    const mlir::Value any = Any(loc, goes_on);
    llvm::SmallVector<mlir::Value> yielded;
    for (size_t i = 0; i < lanes; ++i) {
      for (size_t a = 0; a < n; ++a) yielded.push_back(next[a][i]);
    }
    yielded.append(goes_on.begin(), goes_on.end());
    yielded.push_back(any);
    stablehlo::ReturnOp::create(b_, loc, yielded);
    BindJoint(loop, joint, n, maps);
    return OkStatus();
  }

  // RunIn of what is expanded elsewhere as well.
  Result<std::vector<Lanes>> RunRepeated(mlir::Block& body, const std::vector<Lanes>& arguments,
                                         const std::vector<mlir::IRMapping>& maps) {
    repeated_ = true;
    Result<std::vector<Lanes>> results = RunIn(body, arguments, maps);
    repeated_ = false;
    return results;
  }

  Status Branches(mlir::Operation* op, std::vector<mlir::IRMapping>& maps) {
    return varying_.Has(op->getOperand(0)) ? BranchEach(op, maps) : BranchAlike(op, maps);
  }

  // All lanes take the same branch.
  Status BranchAlike(mlir::Operation* op, std::vector<mlir::IRMapping>& maps) {
    llvm::SmallVector<mlir::Type> types;
    for (size_t i = 0; i < maps.size(); ++i) types.append(op->result_type_begin(), op->result_type_end());
    mlir::OperationState state(op->getLoc(), op->getName().getStringRef(), {maps[0].lookupOrDefault(op->getOperand(0))},
                               types);
    for (unsigned r = 0; r < op->getNumRegions(); ++r) state.addRegion();
    mlir::Operation* joint = b_.create(state);
    const mlir::OpBuilder::InsertionGuard guard(b_);
    for (unsigned r = 0; r < op->getNumRegions(); ++r) {
      b_.createBlock(&joint->getRegion(r));
      TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> yielded, RunIn(op->getRegion(r).front(), {}, maps));
      Return(op->getLoc(), yielded);
    }
    BindJoint(op, joint, op->getNumResults(), maps);
    return OkStatus();
  }

  // Each branch runs if any lane takes it; those that do take its results.
  Status BranchEach(mlir::Operation* op, std::vector<mlir::IRMapping>& maps) {
    const mlir::Location loc = op->getLoc();
    const Lanes index = LanesOf(op->getOperand(0), maps);
    const Lanes around = active_;
    std::vector<Lanes> results;
    for (unsigned r = 0; r < op->getNumRegions(); ++r) {
      Lanes takes = Takes(op, index, r);
      if (!around.empty()) takes = Each<stablehlo::AndOp>(loc, around, takes);
      mlir::Operation* branch = JointIf(loc, Any(loc, takes), op->getResultTypes(), maps.size());
      {
        const mlir::OpBuilder::InsertionGuard guard(b_);
        b_.createBlock(&branch->getRegion(0));
        active_ = takes;
        Result<std::vector<Lanes>> yielded = RunIn(op->getRegion(r).front(), {}, maps);
        active_ = around;
        TENON_RETURN_IF_ERROR(yielded.status());
        Return(loc, *yielded);
        b_.createBlock(&branch->getRegion(1));
        Return(loc, Nothing(loc, op->getResultTypes(), maps.size()));
      }
      for (unsigned a = 0; a < op->getNumResults(); ++a) {
        Lanes of_branch;
        for (size_t i = 0; i < maps.size(); ++i)
          of_branch.push_back(branch->getResult(static_cast<unsigned>(i * op->getNumResults() + a)));
        if (r == 0)
          results.push_back(std::move(of_branch));
        else
          results[a] = Select(loc, takes, of_branch, results[a]);
      }
    }
    for (unsigned a = 0; a < op->getNumResults(); ++a) Bind(op->getResult(a), results[a], maps);
    return OkStatus();
  }

  // Whether each lane takes region `r` of an if or a case.
  Lanes Takes(mlir::Operation* op, const Lanes& index, unsigned r) {
    const mlir::Location loc = op->getLoc();
    if (mlir::isa<stablehlo::IfOp>(op)) {
      if (r == 0) return index;
      Lanes takes;
      for (mlir::Value v : index) takes.push_back(stablehlo::NotOp::create(b_, loc, v).getResult());
      return takes;
    }
    const unsigned last = op->getNumRegions() - 1;
    const auto is = [&](mlir::Value v, int64_t bound, stablehlo::ComparisonDirection how) -> mlir::Value {
      const auto type = TypeOf(v);
      auto value = mlir::DenseElementsAttr::get(type, llvm::APInt(32, static_cast<uint64_t>(bound), true));
      const mlir::Value constant = stablehlo::ConstantOp::create(b_, loc, mlir::cast<mlir::ElementsAttr>(value));
      return stablehlo::CompareOp::create(b_, loc, v, constant, how).getResult();
    };
    Lanes takes;
    for (mlir::Value v : index) {
      if (r < last) {
        takes.push_back(is(v, r, stablehlo::ComparisonDirection::EQ));
      } else {  // Whatever has no branch of its own takes the last one.
        const mlir::Value below = is(v, 0, stablehlo::ComparisonDirection::LT);
        const mlir::Value above = is(v, last, stablehlo::ComparisonDirection::GE);
        takes.push_back(stablehlo::OrOp::create(b_, loc, below, above).getResult());
      }
    }
    return takes;
  }

  // Whether any lane, of any process, is true.
  mlir::Value Any(mlir::Location loc, const Lanes& lanes) {
    mlir::Value any = lanes[0];
    for (size_t i = 1; i < lanes.size(); ++i) any = stablehlo::OrOp::create(b_, loc, any, lanes[i]).getResult();
    return instances_.remote == nullptr ? any : instances_.remote->Any(b_, loc, any);
  }

  template <class Op>
  Lanes Each(mlir::Location loc, const Lanes& x, const Lanes& y) {
    Lanes results;
    for (size_t i = 0; i < x.size(); ++i) results.push_back(Op::create(b_, loc, x[i], y[i]).getResult());
    return results;
  }

  // Per lane, what it has if it is one of `those`, else what it had; both tokens count.
  Lanes Select(mlir::Location loc, const Lanes& those, const Lanes& has, const Lanes& had) {
    Lanes results;
    for (size_t i = 0; i < has.size(); ++i) {
      if (has[i] == had[i]) {
        results.push_back(has[i]);
      } else if (mlir::isa<stablehlo::TokenType>(has[i].getType())) {
        results.push_back(
            stablehlo::AfterAllOp::create(b_, loc, has[i].getType(), mlir::ValueRange{has[i], had[i]}).getResult());
      } else {
        results.push_back(stablehlo::SelectOp::create(b_, loc, those[i], has[i], had[i]).getResult());
      }
    }
    return results;
  }

  // What stands for the results of ops that do not run.
  std::vector<Lanes> Nothing(mlir::Location loc, mlir::TypeRange types, size_t lanes) {
    std::vector<Lanes> values;
    for (mlir::Type type : types) {
      const auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type);
      const mlir::Value nothing = ranked ? Zeros(b_, loc, ranked)
                                         : stablehlo::AfterAllOp::create(b_, loc, type, mlir::ValueRange{}).getResult();
      values.emplace_back(lanes, nothing);
    }
    return values;
  }

  // Values of all lanes side by side: lane 0 of each, then lane 1 ...
  static llvm::SmallVector<mlir::Value> Carries(mlir::ValueRange values, const std::vector<mlir::IRMapping>& maps) {
    llvm::SmallVector<mlir::Value> carries;
    for (const mlir::IRMapping& m : maps) {
      for (mlir::Value v : values) carries.push_back(m.lookupOrDefault(v));
    }
    return carries;
  }

  mlir::Operation* JointLoop(stablehlo::WhileOp loop, llvm::ArrayRef<mlir::Value> init) {
    mlir::OperationState state(loop.getLoc(), stablehlo::WhileOp::getOperationName(), init,
                               mlir::ValueRange(init).getTypes());
    state.addRegion();
    state.addRegion();
    return b_.create(state);
  }

  // An if whose branches give values of these types for every lane.
  mlir::Operation* JointIf(mlir::Location loc, mlir::Value condition, mlir::TypeRange of_lane, size_t lanes) {
    llvm::SmallVector<mlir::Type> types;
    for (size_t i = 0; i < lanes; ++i) types.append(of_lane.begin(), of_lane.end());
    mlir::OperationState state(loc, stablehlo::IfOp::getOperationName(), {condition}, types);
    state.addRegion();
    state.addRegion();
    return b_.create(state);
  }

  mlir::Value True(mlir::Location loc) {
    const auto type = mlir::RankedTensorType::get({}, b_.getI1Type());
    const auto value = mlir::DenseElementsAttr::get(type, true);
    return stablehlo::ConstantOp::create(b_, loc, mlir::cast<mlir::ElementsAttr>(value)).getResult();
  }

  // A block of region `r` with an argument for each operand of `op`, and the insertion point in it.
  mlir::Block* BlockOf(mlir::Operation* op, unsigned r) {
    const llvm::SmallVector<mlir::Location> locations(op->getNumOperands(), op->getLoc());
    return b_.createBlock(&op->getRegion(r), {}, op->getOperandTypes(), locations);
  }

  // The body of a joint loop that goes on while its last carry says so, and the insertion point in it.
  mlir::Block* BodyOf(mlir::Operation* joint) {
    mlir::Block* condition = BlockOf(joint, 0);
    Return(joint->getLoc(), {{condition->getArguments().back()}});
    return BlockOf(joint, 1);
  }

  // Lanes of the first n * lanes arguments, which stand as Carries has them.
  static std::vector<Lanes> ArgumentsOf(mlir::Block* block, size_t n, size_t lanes) {
    std::vector<Lanes> arguments(n);
    for (size_t i = 0; i < lanes; ++i) {
      for (size_t a = 0; a < n; ++a) arguments[a].push_back(block->getArgument(static_cast<unsigned>(i * n + a)));
    }
    return arguments;
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
  ContentsOf& contents_of_;
  Varying varying_;
  Lanes active_;   ///< A scalar pred per lane: whether it has come to where we are; empty: all have.
  bool repeated_;  ///< Whether what is expanded is so a second time: it is of a condition.
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
                                  const std::vector<bool>& varying, const Instances& instances) {
  ContentsOf contents_of;
  return Expander(builder, instances, contents_of).Run(body, arguments, varying);
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
