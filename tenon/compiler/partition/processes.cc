#include "tenon/compiler/partition/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/IRMapping.h"
#include "tenon/compiler/partition/contents.h"
#include "tenon/compiler/partition/cuts.h"
#include "tenon/compiler/partition/exchanger.h"
#include "tenon/compiler/partition/expand.h"
#include "tenon/compiler/partition/manual.h"
#include "tenon/compiler/partition/mesh.h"
#include "tenon/compiler/partition/policy.h"
#include "tenon/compiler/partition/remote.h"
#include "tenon/compiler/partition/rules.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::dyn_cast<mlir::RankedTensorType>(v.getType()); }

Dims DimsOf(mlir::Value v) {
  auto type = TypeOf(v);
  return type ? Dims(type.getShape().begin(), type.getShape().end()) : Dims();
}

mlir::Type WithDims(mlir::Type type, const Dims& dims) {
  auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!ranked) return type;
  return mlir::RankedTensorType::get(llvm::ArrayRef<int64_t>(dims.begin(), dims.size()), ranked.getElementType());
}

int64_t WidthOf(mlir::Value v) {
  auto type = TypeOf(v);
  return type ? ElementBytes(type.getElementType()) : 0;
}

/// What this process has of a value of the program: its box, or, with a cut `partial`, a summand of its box.
struct Held {
  mlir::Value value;
  Cuts cuts;
  Cut partial;
  mlir::Operation* combiner = nullptr;
};

class Partitioner {
 public:
  Partitioner(mlir::func::FuncOp main, const Processes& processes, int64_t partitions, Shardings& shardings)
      : main_(main),
        processes_(processes),
        partitions_(partitions),
        shardings_(shardings),
        x_(processes),
        b_(main.getContext()),
        mover_(x_, b_) {}

  Status Run() {
    mlir::Block& old = main_.front();
    body_ = new mlir::Block;
    main_.getBody().push_back(body_);
    const Status status = Build(old);
    if (!status.ok()) {
      body_->erase();
      return status;
    }
    Finish(old);
    return OkStatus();
  }

 private:
  // --- Arguments and results.

  Status Build(mlir::Block& old) {
    b_.setInsertionPointToEnd(body_);
    for (unsigned i = 0; i < old.getNumArguments(); ++i) TakeArgument(old.getArgument(i), i);
    Wanted(old);
    TENON_RETURN_IF_ERROR(RunBlock(old));
    llvm::SmallVector<mlir::Value> returned;
    mlir::Operation* end = old.getTerminator();
    for (unsigned i = 0; i < end->getNumOperands(); ++i) {
      const Tiling& tiling = shardings_.result_tilings[i];
      const mlir::Value v = end->getOperand(i);
      if (const std::optional<Cuts>& cuts = result_cuts_[i]; cuts) {
        returned.push_back(As(v, *cuts));
        result_tilings_.push_back(TilingInside(tiling, *cuts, processes_));
      } else {
        returned.push_back(StackTiles(As(v, Uncut(DimsOf(v).size())), tiling));
        result_tilings_.push_back(Stack(tiling));
        is_stacked_result_.insert(i);
      }
    }
    mlir::func::ReturnOp::create(b_, main_.getLoc(), returned);
    return OkStatus();
  }

  void TakeArgument(mlir::BlockArgument argument, unsigned i) {
    const Tiling& tiling = shardings_.parameter_tilings[i];
    const mlir::Location loc = argument.getLoc();
    const Dims dims = DimsOf(argument);
    const std::optional<Cuts> cuts = CutsOf(tiling, processes_);
    if (cuts && Divides(dims, *cuts)) {
      mlir::Value own = body_->addArgument(WithDims(argument.getType(), PartOfDims(dims, *cuts)), loc);
      held_[argument] = {{own, *cuts, {}, nullptr}};
      parameter_tilings_.push_back(TilingInside(tiling, *cuts, processes_));
      return;
    }
    // What the devices have, side by side.
    is_stacked_argument_.insert(i);
    parameter_tilings_.push_back(Stack(tiling));
    Dims part;
    for (size_t d = 0; d < dims.size(); ++d) part.push_back(dims[d] / tiling.tiles[d]);
    Dims stack = part;
    const auto own_devices = static_cast<int64_t>(parameter_tilings_.back().tile_of_device.size());
    stack.insert(stack.begin(), own_devices);
    mlir::Value all = body_->addArgument(WithDims(argument.getType(), stack), loc);
    std::vector<mlir::Value> values;
    for (int64_t d = 0; d < own_devices; ++d) {
      llvm::SmallVector<int64_t> starts(stack.size(), 0), sizes(stack.begin(), stack.end());
      starts[0] = d;
      sizes[0] = 1;
      values.push_back(
          Reshape(b_, loc, Slice(b_, loc, all, starts, sizes), llvm::ArrayRef<int64_t>(part.begin(), part.size())));
    }
    held_[argument] = {{mover_.Whole(loc, values, tiling, processes_), Uncut(dims.size()), {}, nullptr}};
  }

  // The devices' parts as a leading dim.
  Tiling Stack(const Tiling& tiling) const {
    Tiling stack;
    stack.stacked = true;
    const auto own = static_cast<int64_t>(processes_.DevicesOf(processes_.self).size());
    stack.tiles = Dims(tiling.tiles.size() + 1, 1);
    stack.tiles[0] = own;
    for (int64_t d = 0; d < own; ++d) {
      Dims& position = stack.tile_of_device.emplace_back(stack.tiles.size(), int64_t{0});
      position[0] = d;
    }
    return stack;
  }

  mlir::Value StackTiles(mlir::Value whole, const Tiling& tiling) {
    llvm::SmallVector<mlir::Value> parts;
    for (const int64_t device : processes_.DevicesOf(processes_.self)) {
      const mlir::Value part =
          CutTile(b_, whole.getLoc(), whole, tiling.tiles, tiling.tile_of_device[static_cast<size_t>(device)]);
      llvm::SmallVector<int64_t> dims{1};
      dims.append(TypeOf(part).getShape().begin(), TypeOf(part).getShape().end());
      parts.push_back(Reshape(b_, whole.getLoc(), part, dims));
    }
    return Concatenate(b_, whole.getLoc(), parts, 0);
  }

  void Finish(mlir::Block& old) {
    std::vector<mlir::Type> was_argument(old.getArgumentTypes().begin(), old.getArgumentTypes().end());
    old.dropAllReferences();
    old.dropAllDefinedValueUses();
    old.erase();
    main_.setFunctionType(mlir::FunctionType::get(main_.getContext(), body_->getArgumentTypes(),
                                                  body_->getTerminator()->getOperandTypes()));
    // What was said of layouts and of shared memory holds for arrays of the same rank and size.
    for (unsigned i = 0; i < main_.getNumArguments(); ++i) {
      if (is_stacked_argument_.contains(i)) main_.removeArgAttr(i, b_.getStringAttr("mhlo.layout_mode"));
      auto alias = main_.getArgAttrOfType<mlir::IntegerAttr>(i, "tf.aliasing_output");
      if (!alias) continue;
      const int64_t to = alias.getInt();
      if (is_stacked_argument_.contains(i) || to < 0 || to >= static_cast<int64_t>(main_.getNumResults()) ||
          main_.getArgumentTypes()[i] != main_.getResultTypes()[static_cast<size_t>(to)]) {
        main_.removeArgAttr(i, b_.getStringAttr("tf.aliasing_output"));
      }
    }
    for (const unsigned i : is_stacked_result_) main_.removeResultAttr(i, b_.getStringAttr("mhlo.layout_mode"));
    shardings_.parameter_tilings = std::move(parameter_tilings_);
    shardings_.result_tilings = std::move(result_tilings_);
    shardings_.exchanges = x_.counts.steps;
    shardings_.exchanged_bytes = x_.counts.bytes;
    shardings_.gathered.assign(gathered_.begin(), gathered_.end());
  }

  // --- Values.

  // Every way in which a value is at hand, the one in which it was made first.
  using Ways = llvm::SmallVector<Held, 1>;

  const Held& Made(mlir::Value v) { return held_[v].front(); }

  mlir::Value As(mlir::Value v, const Cuts& cuts) {
    Ways& ways = held_[v];
    for (const Held& h : ways) {
      if (h.cuts == cuts && h.partial.parts == 1) return h.value;
    }
    const Dims dims = DimsOf(v);
    // A way that needs no exchange, else the first one.
    const Held* from = &ways.front();
    for (const Held& h : ways) {
      if (h.partial.parts == 1 && MovedElements(dims, h.cuts, cuts, x_.count()) == 0) from = &h;
    }
    const Held source = *from;
    mlir::Value value =
        mover_.SumInto(v.getLoc(), source.value, dims, source.cuts, source.partial, cuts, source.combiner);
    if (auto type = TypeOf(v); type && TypeOf(value).getElementType() != type.getElementType()) {
      value = stablehlo::ConvertOp::create(
          b_, v.getLoc(), mlir::RankedTensorType::get(TypeOf(value).getShape(), type.getElementType()), value);
    }
    held_[v].push_back({value, cuts, {}, nullptr});
    return value;
  }

  mlir::Value AsWhole(mlir::Value v) { return As(v, Uncut(DimsOf(v).size())); }

  void Set(mlir::Value v, Held held) { held_[v] = {std::move(held)}; }

  // The result is the operand, in all of its ways: a copy of them, since they move where the result makes the table
  // grow.
  void PassOn(mlir::Operation* op) {
    Ways ways = held_[op->getOperand(0)];
    held_[op->getResult(0)] = std::move(ways);
  }

  // What is made inside a region is not at hand behind it.
  template <class F>
  Status InRegion(const F& f) {
    const mlir::OpBuilder::InsertionGuard guard(b_);
    llvm::DenseMap<mlir::Value, Ways> outside = held_;
    Status status = f();
    held_ = std::move(outside);
    return status;
  }

  // How constraints and results want values to lie.
  void Wanted(mlir::Block& old) {
    mlir::Operation* end = old.getTerminator();
    for (unsigned i = 0; i < end->getNumOperands(); ++i) {
      const mlir::Value v = end->getOperand(i);
      std::optional<Cuts> cuts = CutsOf(shardings_.result_tilings[i], processes_);
      if (cuts && !Divides(DimsOf(v), *cuts)) cuts.reset();
      result_cuts_.push_back(cuts);
      if (cuts) wanted_.try_emplace(v, *cuts);
    }
    main_.walk([&](mlir::Operation* op) {
      if (!mlir::isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op)) return;
      if (op->getParentOfType<sdy::ManualComputationOp>()) return;
      const std::optional<Cuts> cuts = ConstraintCuts(op, nullptr);
      if (cuts) wanted_[op->getOperand(0)] = *cuts;
    });
  }

  // What a constraint says, with the cuts that its operand has in dims that it leaves open.
  std::optional<Cuts> ConstraintCuts(mlir::Operation* op, const Cuts* open) {
    auto sharding = op->getAttrOfType<sdy::TensorShardingAttr>("sharding");
    auto type = TypeOf(op->getOperand(0));
    if (!sharding || !type || sharding.getDimShardings().size() != static_cast<size_t>(type.getRank()))
      return std::nullopt;
    const Result<Mesh> mesh = MeshOf(sharding, main_, partitions_);
    if (!mesh.ok()) return std::nullopt;
    const Result<Tiling> tiling = mesh->TilingOf(sharding);
    if (!tiling.ok()) return std::nullopt;
    std::optional<Cuts> cuts = CutsOf(*tiling, processes_);
    if (!cuts || !Divides(DimsOf(op->getOperand(0)), *cuts)) return std::nullopt;
    for (size_t d = 0; open != nullptr && d < cuts->size(); ++d) {
      const sdy::DimensionShardingAttr dim = sharding.getDimShardings()[d];
      if (dim.getIsClosed() || !dim.getAxes().empty()) continue;
      Cuts more = *cuts;
      more[d] = (*open)[d];
      if (Covers(more, x_.count())) cuts = std::move(more);
    }
    return cuts;
  }

  // --- Ops.

  Status RunBlock(mlir::Block& block) {
    for (mlir::Operation& op : block.without_terminator()) {
      if (Status s = One(&op); !s.ok()) return s.WithContext(op.getName().getStringRef().str());
    }
    return OkStatus();
  }

  Status One(mlir::Operation* op) {
    if (mlir::isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op)) return Constraint(op);
    if (mlir::isa<sdy::PropagationBarrierOp, sdy::DataFlowEdgeOp, sdy::FuncDataFlowEdgeOp>(op)) {
      PassOn(op);
      return OkStatus();
    }
    if (mlir::isa<sdy::ShardingGroupOp>(op)) return OkStatus();
    if (auto manual = mlir::dyn_cast<sdy::ManualComputationOp>(op)) return Manual(manual);
    if (auto loop = mlir::dyn_cast<stablehlo::WhileOp>(op)) return While(loop);
    if (mlir::isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) return Branches(op);
    if (auto barrier = mlir::dyn_cast<stablehlo::OptimizationBarrierOp>(op)) return Barrier(op);
    if (IsLinearMove(op) && MovePartial(op)) return OkStatus();
    if (const std::optional<Rule> rule = RuleOf(op); rule && !RunsOnce(op)) return ByRule(op, *rule);
    return OnWhole(op);
  }

  Status Constraint(mlir::Operation* op) {
    const mlir::Value v = op->getOperand(0);
    if (!TypeOf(v)) {
      PassOn(op);
      return OkStatus();
    }
    const Cuts made = Made(v).cuts;
    std::optional<Cuts> cuts = ConstraintCuts(op, &made);
    if (!cuts) cuts = Uncut(made.size());
    const mlir::Value value = As(v, *cuts);
    Set(op->getResult(0), {value, *cuts, {}, nullptr});
    return OkStatus();
  }

  // Ops that only move elements do so with summands as well as with their sum.
  static bool IsLinearMove(mlir::Operation* op) { return mlir::isa<stablehlo::TransposeOp, stablehlo::ReshapeOp>(op); }

  bool MovePartial(mlir::Operation* op) {
    const Held from = Made(op->getOperand(0));
    if (from.partial.parts == 1) return false;
    const std::optional<Rule> rule = RuleOf(op);
    if (!rule) return false;
    std::vector<Cut> of_factor(static_cast<size_t>(rule->factors));
    for (size_t d = 0; d < from.cuts.size(); ++d) {
      const int f = rule->operands[0][d];
      if (from.cuts[d].parts > 1 && f < 0) return false;
      if (f >= 0) of_factor[static_cast<size_t>(f)] = from.cuts[d];
    }
    const Cuts out = CutsBy(rule->results[0], of_factor);
    if (!Divides(DimsOf(op->getResult(0)), out)) return false;
    mlir::Operation* clone = Clone(op, {from.value}, {out});
    clone->getResult(0).setType(
        mlir::RankedTensorType::get(TypeOf(clone->getResult(0)).getShape(), TypeOf(from.value).getElementType()));
    Set(op->getResult(0), {clone->getResult(0), out, from.partial, from.combiner});
    return true;
  }

  static Cuts CutsBy(const std::vector<int>& factors, const std::vector<Cut>& of_factor) {
    Cuts cuts;
    for (const int f : factors) cuts.push_back(f < 0 ? Cut() : of_factor[static_cast<size_t>(f)]);
    return cuts;
  }

  // A copy of `op` on these operands, whose results are parts.
  mlir::Operation* Clone(mlir::Operation* op, const std::vector<mlir::Value>& operands,
                         const std::vector<Cuts>& results) {
    mlir::IRMapping map;
    MapCaptured(op, map);
    mlir::Operation* clone = b_.clone(*op, map);
    clone->setOperands(operands);
    clone->removeAttr(sdy::kShardingAttr);
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      clone->getResult(i).setType(
          WithDims(op->getResult(i).getType(), PartOfDims(DimsOf(op->getResult(i)), results[i])));
    }
    FitAttributes(op, clone);
    return clone;
  }

  // Whole values for what the op's regions use from outside.
  void MapCaptured(mlir::Operation* op, mlir::IRMapping& map) {
    op->walk([&](mlir::Operation* inner) {
      if (inner == op) return;
      for (mlir::Value v : inner->getOperands()) {
        mlir::Operation* owner = v.getParentBlock()->getParentOp();
        if (owner == op || op->isProperAncestor(owner) || map.contains(v)) continue;
        map.map(v, AsWhole(v));
      }
    });
  }

  struct Choice {
    std::vector<Cut> of_factor;
    double cost = 0;
  };

  Status ByRule(mlir::Operation* op, const Rule& rule) {
    const Choice choice = Choose(op, rule);
    std::vector<mlir::Value> operands;
    for (size_t i = 0; i < rule.operands.size(); ++i) {
      const mlir::Value v = op->getOperand(static_cast<unsigned>(i));
      const Cuts cuts = CutsBy(rule.operands[i], choice.of_factor);
      const Cuts& made = Made(v).cuts;
      for (size_t d = 0; d < made.size(); ++d) {
        if (made[d].parts == 1 || rule.operands[i][d] >= 0) continue;
        ++gathered_[op->getName().stripDialect().str()];
        break;
      }
      operands.push_back(As(v, cuts));
    }
    Cut partial;
    for (int f = 0; f < rule.factors; ++f) {
      if (rule.summed[static_cast<size_t>(f)] && choice.of_factor[static_cast<size_t>(f)].parts > 1)
        partial = choice.of_factor[static_cast<size_t>(f)];
    }
    if (partial.parts > 1 && rule.start >= 0 && partial.at[static_cast<size_t>(x_.self())] != 0) {
      mlir::Value& start = operands[static_cast<size_t>(rule.start)];
      start = Neutral(b_, op->getLoc(), rule.combiner, mlir::cast<mlir::RankedTensorType>(start.getType()));
      if (!start) return Internal("no neutral value");
    }
    std::vector<Cuts> results;
    for (const std::vector<int>& factors : rule.results) results.push_back(CutsBy(factors, choice.of_factor));
    mlir::Operation* clone = Clone(op, operands, results);
    // Summands of products are added before they are rounded to the type of the sum.
    if (partial.parts > 1 && mlir::isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op) &&
        (TypeOf(op->getResult(0)).getElementType().isBF16() || TypeOf(op->getResult(0)).getElementType().isF16())) {
      clone->getResult(0).setType(mlir::RankedTensorType::get(TypeOf(clone->getResult(0)).getShape(), b_.getF32Type()));
    }
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      Set(op->getResult(i), {clone->getResult(i), results[i], partial, partial.parts > 1 ? rule.combiner : nullptr});
    return OkStatus();
  }

  // The cuts of the factors that cost least: bytes that operands and sums move, and what every process computes.
  Choice Choose(mlir::Operation* op, const Rule& rule) {
    std::vector<std::pair<int, Cut>> candidates;
    const auto add = [&](const std::vector<int>& factors, const Cuts& cuts) {
      for (size_t d = 0; d < factors.size(); ++d) {
        if (factors[d] < 0 || cuts[d].parts == 1) continue;
        const std::pair<int, Cut> c{factors[d], cuts[d]};
        if (std::find(candidates.begin(), candidates.end(), c) == candidates.end()) candidates.push_back(c);
      }
    };
    for (size_t i = 0; i < rule.operands.size(); ++i)
      add(rule.operands[i], Made(op->getOperand(static_cast<unsigned>(i))).cuts);
    for (size_t i = 0; i < rule.results.size(); ++i) {
      const auto wanted = wanted_.find(op->getResult(static_cast<unsigned>(i)));
      if (wanted != wanted_.end()) add(rule.results[i], wanted->second);
    }
    if (candidates.size() > policy::kMaxCandidates) candidates.resize(policy::kMaxCandidates);
    Choice best;
    bool first = true;
    for (uint32_t mask = 0; mask < (uint32_t{1} << candidates.size()); ++mask) {
      Choice c;
      c.of_factor.resize(static_cast<size_t>(rule.factors));
      bool ok = true;
      for (size_t k = 0; ok && k < candidates.size(); ++k) {
        if ((mask >> k & 1) == 0) continue;
        Cut& cut = c.of_factor[static_cast<size_t>(candidates[k].first)];
        ok = cut.parts == 1;
        cut = candidates[k].second;
      }
      if (!ok || !Cost(op, rule, c)) continue;
      if (first || c.cost < best.cost) best = std::move(c);
      first = false;
    }
    return best;
  }

  // False for cuts that the op cannot have.
  bool Cost(mlir::Operation* op, const Rule& rule, Choice& c) {
    int summed = 0;
    double parts = 1;
    Cuts all;
    for (int f = 0; f < rule.factors; ++f) {
      const Cut& cut = c.of_factor[static_cast<size_t>(f)];
      if (cut.parts == 1) continue;
      parts *= static_cast<double>(cut.parts);
      all.push_back(cut);
      if (rule.summed[static_cast<size_t>(f)]) ++summed;
    }
    // Every process has its own combination: what two factors share would be computed by nobody.
    if (summed > 1 || !Covers(all, x_.count())) return false;
    double memory = 0;
    for (size_t i = 0; i < rule.operands.size(); ++i) {
      const mlir::Value v = op->getOperand(static_cast<unsigned>(i));
      const Cuts cuts = CutsBy(rule.operands[i], c.of_factor);
      const Dims dims = DimsOf(v);
      if (!Divides(dims, cuts) || !Covers(cuts, x_.count())) return false;
      c.cost += MovedBytes(v, cuts);
      memory += static_cast<double>(NumElements(PartOfDims(dims, cuts)) * WidthOf(v));
    }
    Cut partial;
    for (int f = 0; f < rule.factors; ++f) {
      if (rule.summed[static_cast<size_t>(f)] && c.of_factor[static_cast<size_t>(f)].parts > 1)
        partial = c.of_factor[static_cast<size_t>(f)];
    }
    for (size_t i = 0; i < rule.results.size(); ++i) {
      const mlir::Value v = op->getResult(static_cast<unsigned>(i));
      const Cuts cuts = CutsBy(rule.results[i], c.of_factor);
      const Dims dims = DimsOf(v);
      if (!Divides(dims, cuts) || !Covers(cuts, x_.count())) return false;
      const auto wanted = wanted_.find(v);
      Cuts goal = wanted != wanted_.end() ? wanted->second : cuts;
      memory += static_cast<double>(NumElements(PartOfDims(dims, cuts)) * WidthOf(v));
      const double width = static_cast<double>(WidthOf(v)) / x_.count();
      if (partial.parts > 1 && goal == cuts) {
        // Each receives twice the part that others have.
        c.cost += 2.0 * static_cast<double>(NumElements(PartOfDims(dims, cuts)) * WidthOf(v)) *
                  static_cast<double>(partial.parts - 1) / static_cast<double>(partial.parts);
      } else {
        c.cost += width * static_cast<double>(MovedElements(dims, cuts, goal, x_.count(), partial));
      }
    }
    c.cost += memory / policy::kBytesPerMovedByte + rule.flops / parts / policy::kFlopsPerMovedByte;
    return true;
  }

  // Of one process, on average, for the cheapest way in which `v` is at hand.
  double MovedBytes(mlir::Value v, const Cuts& cuts) {
    int64_t least = INT64_MAX;
    for (const Held& h : held_[v])
      least = std::min(least, MovedElements(DimsOf(v), h.cuts, cuts, x_.count(), h.partial));
    return static_cast<double>(least * WidthOf(v)) / x_.count();
  }

  // On whole operands, in every process; what runs once in the process of the first device, which tells the others.
  Status OnWhole(mlir::Operation* op) {
    std::vector<mlir::Value> operands;
    bool gathers = false;
    for (mlir::Value v : op->getOperands()) {
      gathers |= !IsUncut(Made(v).cuts);
      operands.push_back(AsWhole(v));
    }
    if (gathers) ++gathered_[op->getName().stripDialect().str()];
    std::vector<Cuts> whole;
    for (mlir::Value v : op->getResults()) whole.push_back(Uncut(DimsOf(v).size()));
    if (RunsOnce(op)) return OnFirst(op, operands);
    mlir::Operation* clone = Clone(op, operands, whole);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      Set(op->getResult(i), {clone->getResult(i), whole[i], {}, nullptr});
    return OkStatus();
  }

  Status OnFirst(mlir::Operation* op, const std::vector<mlir::Value>& operands) {
    const int first = processes_.of_device[0];
    // All processes gather alike, whoever uses it.
    mlir::IRMapping map;
    MapCaptured(op, map);
    mlir::Operation* clone = nullptr;
    if (x_.self() == first) {
      clone = b_.clone(*op, map);
      clone->setOperands(operands);
      clone->removeAttr(sdy::kShardingAttr);
    }
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      const mlir::Value v = op->getResult(i);
      auto type = TypeOf(v);
      if (!type) {
        llvm::SmallVector<mlir::Value> tokens;
        for (mlir::Value o : operands) {
          if (!TypeOf(o)) tokens.push_back(o);
        }
        mlir::Value token;
        if (clone != nullptr)
          token = clone->getResult(i);
        else
          token = stablehlo::AfterAllOp::create(b_, op->getLoc(), v.getType(), tokens).getResult();
        Set(v, {token, {}, {}, nullptr});
        continue;
      }
      std::vector<Transfer> transfers;
      const mlir::Value flat = clone != nullptr ? Flat(b_, op->getLoc(), clone->getResult(i)) : mlir::Value();
      for (int p = 0; p < x_.count(); ++p) {
        if (p != first) transfers.push_back({first, p, type.getNumElements(), flat, 0});
      }
      const mlir::Value arrived = x_.Run(b_, op->getLoc(), type.getElementType(), transfers);
      Set(v, {clone != nullptr ? clone->getResult(i) : Reshape(b_, op->getLoc(), arrived, type.getShape()),
              Uncut(static_cast<size_t>(type.getRank())),
              {},
              nullptr});
    }
    return OkStatus();
  }

  Status Barrier(mlir::Operation* op) {
    std::vector<mlir::Value> operands;
    std::vector<Cuts> cuts;
    for (mlir::Value v : op->getOperands()) {
      cuts.push_back(Made(v).cuts);
      operands.push_back(As(v, cuts.back()));
    }
    mlir::Operation* clone = Clone(op, operands, cuts);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      Set(op->getResult(i), {clone->getResult(i), cuts[i], {}, nullptr});
    return OkStatus();
  }

  // --- Control flow. A carry lies as its first value does; where that is whole and the body leaves it cut, it is cut
  // from the start.

  Status While(stablehlo::WhileOp loop) {
    std::vector<Cuts> cuts;
    for (mlir::Value v : loop->getOperands()) {
      cuts.push_back(Made(v).cuts);
      As(v, cuts.back());
    }
    // Made before, since a loop around it is made anew: what was found then need not be found again.
    if (const auto found = found_cuts_.find(loop); found != found_cuts_.end()) {
      for (size_t i = 0; i < cuts.size(); ++i) {
        if (IsUncut(cuts[i])) cuts[i] = found->second[i];
      }
    }
    for (int attempt = 0;; ++attempt) {
      const Exchanger::Counts counts = x_.counts;
      const auto gathered = gathered_;
      std::vector<mlir::Value> init;
      llvm::SmallVector<mlir::Type> types;
      for (size_t i = 0; i < cuts.size(); ++i) {
        init.push_back(As(loop->getOperand(static_cast<unsigned>(i)), cuts[i]));
        types.push_back(init.back().getType());
      }
      mlir::OperationState state(loop.getLoc(), stablehlo::WhileOp::getOperationName(), init, types);
      state.addRegion();
      state.addRegion();
      mlir::Operation* made = b_.create(state);
      std::vector<Cuts> left;
      for (unsigned r = 0; r < 2; ++r) {
        TENON_RETURN_IF_ERROR(InRegion([&]() -> Status {
          mlir::Block& old = loop->getRegion(r).front();
          llvm::SmallVector<mlir::Location> locations(types.size(), loop.getLoc());
          mlir::Block* block = b_.createBlock(&made->getRegion(r), {}, types, locations);
          for (unsigned i = 0; i < types.size(); ++i)
            Set(old.getArgument(i), {block->getArgument(i), cuts[i], {}, nullptr});
          TENON_RETURN_IF_ERROR(RunBlock(old));
          llvm::SmallVector<mlir::Value> results;
          for (unsigned i = 0; i < old.getTerminator()->getNumOperands(); ++i) {
            const mlir::Value v = old.getTerminator()->getOperand(i);
            if (r == 1) left.push_back(Made(v).cuts);
            // All processes must see the same predicate.
            results.push_back(r == 0 ? AsWhole(v) : As(v, cuts[i]));
          }
          b_.create(mlir::OperationState(loop.getLoc(), stablehlo::ReturnOp::getOperationName(), results, {}));
          return OkStatus();
        }));
      }
      bool again = false;
      for (size_t i = 0; attempt < policy::kLoopTries && i < cuts.size(); ++i) {
        if (!IsUncut(cuts[i]) || IsUncut(left[i])) continue;
        cuts[i] = left[i];
        again = true;
      }
      if (!again) {
        for (unsigned i = 0; i < types.size(); ++i) Set(loop->getResult(i), {made->getResult(i), cuts[i], {}, nullptr});
        return OkStatus();
      }
      made->erase();
      x_.counts = counts;
      gathered_ = gathered;
      found_cuts_[loop] = cuts;
    }
  }

  Status Branches(mlir::Operation* op) {
    const mlir::Value index = AsWhole(op->getOperand(0));
    std::vector<Cuts> cuts;
    mlir::OperationState state(op->getLoc(), op->getName().getStringRef(), {index}, {});
    // Types follow from the first branch: made in a region of its own first.
    std::vector<std::unique_ptr<mlir::Region>> regions;
    llvm::SmallVector<mlir::Type> types;
    for (unsigned r = 0; r < op->getNumRegions(); ++r) {
      auto region = std::make_unique<mlir::Region>();
      TENON_RETURN_IF_ERROR(InRegion([&]() -> Status {
        mlir::Block& old = op->getRegion(r).front();
        // What branches use from around them is looked up there; nothing is made before them on their account.
        b_.createBlock(region.get());
        TENON_RETURN_IF_ERROR(RunBlock(old));
        llvm::SmallVector<mlir::Value> results;
        for (unsigned i = 0; i < old.getTerminator()->getNumOperands(); ++i) {
          const mlir::Value v = old.getTerminator()->getOperand(i);
          if (r == 0) cuts.push_back(Made(v).cuts);
          results.push_back(As(v, cuts[i]));
          if (r == 0) types.push_back(results.back().getType());
        }
        b_.create(mlir::OperationState(op->getLoc(), stablehlo::ReturnOp::getOperationName(), results, {}));
        return OkStatus();
      }));
      regions.push_back(std::move(region));
    }
    state.addTypes(types);
    for (auto& region : regions) state.addRegion(std::move(region));
    mlir::Operation* made = b_.create(state);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      Set(op->getResult(i), {made->getResult(i), cuts[i], {}, nullptr});
    return OkStatus();
  }

  // --- Bodies that are written per device.

  Result<Tiling> ManualTiling(sdy::ManualComputationOp op, sdy::TensorShardingAttr sharding, mlir::Type type) const {
    auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type);
    const size_t rank = ranked ? static_cast<size_t>(ranked.getRank()) : 0;
    const llvm::ArrayRef<mlir::StringAttr> manual = op.getManualAxes().getValue();
    if (manual.empty() || sharding.getDimShardings().empty()) return Replicated(rank, partitions_);
    for (sdy::AxisRefAttr axis : sharding.getUnreducedAxes()) {
      if (llvm::any_of(manual, [&](mlir::StringAttr m) { return m.getValue() == axis.getName(); }))
        return Unimplemented("unreduced values of manual computations over several processes");
    }
    TENON_ASSIGN_OR_RETURN(const Mesh mesh, MeshOf(sharding, op, partitions_));
    TENON_ASSIGN_OR_RETURN(Tiling tiling, mesh.TilingOf(sharding, manual));
    if (tiling.tiles.size() != rank)
      return InvalidArgument(fmt::format("a sharding of {} dims for {}", tiling.tiles.size(), ToText(type)));
    for (size_t d = 0; d < rank; ++d) {
      if (ranked.getDimSize(static_cast<unsigned>(d)) % tiling.tiles[d] != 0)
        return InvalidArgument(fmt::format("{} does not divide into {} parts", ToText(type), tiling.tiles[d]));
    }
    return tiling;
  }

  Status Manual(sdy::ManualComputationOp op) {
    const auto in = op.getInShardings().getShardings();
    const auto out = op.getOutShardings().getShardings();
    // Devices at one position along the manual axes run the body as one.
    std::map<std::vector<int64_t>, std::vector<int64_t>> by_position;
    for (int64_t device = 0; device < partitions_; ++device) {
      std::vector<int64_t> position;
      if (!in.empty() || !out.empty()) {
        TENON_ASSIGN_OR_RETURN(const Mesh mesh, MeshOf(in.empty() ? out[0] : in[0], op, partitions_));
        for (mlir::StringAttr axis : op.getManualAxes().getValue()) {
          TENON_ASSIGN_OR_RETURN(const int64_t p, mesh.Position(device, axis.getValue()));
          position.push_back(p);
        }
      }
      by_position[position].push_back(device);
    }
    Instances all;
    all.num_partitions = partitions_;
    std::vector<int> process_of;
    for (auto& [position, devices] : by_position) {
      const int owner = processes_.of_device[static_cast<size_t>(devices[0])];
      for (const int64_t d : devices) {
        if (processes_.of_device[static_cast<size_t>(d)] != owner) return ManualOnWhole(op);
      }
      all.devices.push_back(devices);
      process_of.push_back(owner);
    }
    bool captures = false;
    op.getBody().walk([&](mlir::Operation* inner) {
      for (mlir::Value v : inner->getOperands()) captures |= !op.getBody().isAncestor(v.getParentRegion());
    });
    if (captures) return ManualOnWhole(op);
    ProcessCollectives collectives(x_, all, process_of);
    const Instances own = collectives.Own();
    std::vector<Lanes> arguments;
    std::vector<bool> varying;
    for (size_t i = 0; i < in.size(); ++i) {
      const mlir::Value v = op.getTensors()[static_cast<unsigned>(i)];
      TENON_ASSIGN_OR_RETURN(const Tiling tiling, ManualTiling(op, in[i], v.getType()));
      std::optional<Cuts> cuts = CutsOf(tiling, processes_);
      if (!cuts || !Divides(DimsOf(v), *cuts)) cuts = Uncut(DimsOf(v).size());
      const mlir::Value box = As(v, *cuts);
      Lanes lanes;
      for (const auto& devices : own.devices) {
        Dims tiles = tiling.tiles, tile = tiling.tile_of_device[static_cast<size_t>(devices[0])];
        for (size_t d = 0; d < tiles.size(); ++d) {
          const Cut& cut = (*cuts)[d];
          tiles[d] /= cut.parts;
          if (cut.parts > 1) tile[d] -= cut.at[static_cast<size_t>(x_.self())] * tiles[d];
        }
        lanes.push_back(CutTile(b_, op.getLoc(), box, tiles, tile));
        if (lanes.back().getType() != op.getBody().getArgument(static_cast<unsigned>(i)).getType()) {
          return InvalidArgument(fmt::format("the body's argument {} is {}, a part of the operand {}", i,
                                             ToText(op.getBody().getArgument(static_cast<unsigned>(i)).getType()),
                                             ToText(lanes.back().getType())));
        }
      }
      arguments.push_back(std::move(lanes));
      varying.push_back(NumElements(tiling.tiles) > 1);
    }
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results,
                           compiler::Expand(b_, op.getBody().front(), arguments, varying, own));
    for (size_t i = 0; i < results.size(); ++i) {
      const mlir::Value v = op->getResult(static_cast<unsigned>(i));
      if (!TypeOf(v)) {
        Set(v, {stablehlo::AfterAllOp::create(b_, op.getLoc(), v.getType(), results[i]).getResult(), {}, {}, nullptr});
        continue;
      }
      TENON_ASSIGN_OR_RETURN(const Tiling tiling, ManualTiling(op, out[i], v.getType()));
      Set(v, Join(op, v, tiling, results[i], own));
    }
    return OkStatus();
  }

  // This process's box of what its instances made, or all of it.
  Held Join(sdy::ManualComputationOp op, mlir::Value v, const Tiling& tiling, const Lanes& lanes,
            const Instances& own) {
    const std::optional<Cuts> cuts = CutsOf(tiling, processes_);
    if (!cuts) {
      // One value per device, in their order.
      std::vector<mlir::Value> values;
      for (const int64_t device : processes_.DevicesOf(x_.self()))
        values.push_back(lanes[static_cast<size_t>(own.Of(device))]);
      return {mover_.Whole(op.getLoc(), values, tiling, processes_), Uncut(tiling.tiles.size()), {}, nullptr};
    }
    const Tiling inside = TilingInside(tiling, *cuts, processes_);
    const std::vector<int64_t> devices = processes_.DevicesOf(x_.self());
    std::map<std::vector<int64_t>, mlir::Value> parts;
    for (size_t k = 0; k < devices.size(); ++k) {
      const Dims& tile = inside.tile_of_device[k];
      parts.try_emplace(std::vector<int64_t>(tile.begin(), tile.end()), lanes[static_cast<size_t>(own.Of(devices[k]))]);
    }
    return {JoinTiles(b_, op.getLoc(), parts, inside.tiles), *cuts, {}, nullptr};
  }

  // Every process runs the bodies of all devices.
  Status ManualOnWhole(sdy::ManualComputationOp op) {
    if (RunsOnce(op)) {
      return Unimplemented(
          "a manual computation with effects (a callback) or random numbers whose other mesh axes run over several "
          "processes");
    }
    ++gathered_["manual_computation"];
    Instances everybody;
    everybody.num_partitions = partitions_;
    everybody.devices.emplace_back();
    for (int64_t d = 0; d < partitions_; ++d) everybody.devices[0].push_back(d);
    std::vector<Lanes> operands;
    for (mlir::Value v : op.getTensors()) operands.push_back({AsWhole(v)});
    // The body is expanded from a copy, whose captured values are this process's.
    mlir::IRMapping map;
    MapCaptured(op, map);
    auto copy = mlir::cast<sdy::ManualComputationOp>(b_.clone(*op, map));
    for (size_t i = 0; i < operands.size(); ++i) copy->setOperand(static_cast<unsigned>(i), operands[i][0]);
    const Result<std::vector<Lanes>> results = ExpandManualComputation(b_, copy, operands, everybody);
    copy->erase();
    if (!results.ok()) return results.status();
    for (size_t i = 0; i < results->size(); ++i) {
      const mlir::Value v = op->getResult(static_cast<unsigned>(i));
      Set(v, {(*results)[i][0], Uncut(DimsOf(v).size()), {}, nullptr});
    }
    return OkStatus();
  }

  mlir::func::FuncOp main_;
  const Processes& processes_;
  int64_t partitions_;
  Shardings& shardings_;
  Exchanger x_;
  mlir::OpBuilder b_;
  Mover mover_;
  mlir::Block* body_ = nullptr;
  llvm::DenseMap<mlir::Value, Ways> held_;
  llvm::DenseMap<mlir::Value, Cuts> wanted_;
  llvm::DenseMap<mlir::Operation*, std::vector<Cuts>> found_cuts_;  // Of loops' carries.
  std::vector<std::optional<Cuts>> result_cuts_;
  std::set<unsigned> is_stacked_argument_, is_stacked_result_;
  std::vector<Tiling> parameter_tilings_, result_tilings_;
  std::map<std::string, int64_t> gathered_;
};

}  // namespace

Status PartitionOverProcesses(mlir::func::FuncOp main, const Processes& processes, int64_t num_partitions,
                              Shardings& shardings) {
  return Partitioner(main, processes, num_partitions, shardings).Run();
}

}  // namespace tenon::compiler
