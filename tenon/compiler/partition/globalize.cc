#include "tenon/compiler/partition/globalize.h"

#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tenon/compiler/partition/collectives.h"
#include "tenon/compiler/partition/contents.h"
#include "tenon/compiler/partition/expand.h"
#include "tenon/compiler/partition/manual.h"
#include "tenon/compiler/partition/mesh.h"
#include "tenon/compiler/partition/partials.h"
#include "tenon/compiler/partition/processes.h"
#include "tenon/compiler/partition/propagate.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }

class Globalizer {
 public:
  Globalizer(mlir::ModuleOp module, int64_t replicas, int64_t partitions, const Processes& processes)
      : module_(module), replicas_(replicas), partitions_(partitions), processes_(processes) {}

  Result<Shardings> Run() {
    auto main = module_.lookupSymbol<mlir::func::FuncOp>("main");
    if (!main) {
      for (auto f : module_.getOps<mlir::func::FuncOp>()) main = main ? main : f;
    }
    if (!main || main.empty()) return InvalidArgument("the program has no @main");
    TENON_RETURN_IF_ERROR(CheckInlinedOps(main));
    CallComposites(module_);
    // How partial values were made, and how lies what every device is called with, is to be seen through calls.
    if (HasUnreduced(main) || !processes_.empty() || (replicas_ == 1 && partitions_ > 1 && HasCallsPerDevice()))
      InlineCalls(main);
    TENON_ASSIGN_OR_RETURN(Shardings shardings, Read(main));
    RemoveInspections();
    if (processes_.empty()) TENON_RETURN_IF_ERROR(ExpandCallsPerDevice());
    if (replicas_ == 1) UnstackArguments(main, shardings);
    if (!processes_.empty() && replicas_ == 1 && !HasUnreduced(main)) {
      const Status status = PartitionOverProcesses(main, processes_, partitions_, shardings);
      if (status.ok()) {
        TENON_RETURN_IF_ERROR(CheckNothingIsLeft(main));
        Strip();
        return shardings;
      }
      // What has no better way runs over whole arrays in every process, if that is the same.
      if (status.code() != Code::kUnimplemented || HasEffects()) return status;
      shardings.gathered.emplace_back("everything", 1);
    }
    // Before `partials_` knows values that are constraints' results.
    RemoveIdentities();
    TENON_RETURN_IF_ERROR(ExpandManual());
    if (replicas_ > 1) TENON_RETURN_IF_ERROR(ExpandReplicas(main, shardings));
    if (replicas_ == 1) StackResults(main, shardings);
    if (!processes_.empty()) {
      if (HasEffects())
        return Unimplemented("a callback in a program of several processes that has replicas or unreduced arrays");
      TENON_RETURN_IF_ERROR(PartitionOverProcesses(main, processes_, partitions_, shardings));
    }
    TENON_RETURN_IF_ERROR(CheckNothingIsLeft(main));
    Strip();
    return shardings;
  }

 private:
  Result<Tiling> TilingOf(mlir::Attribute attr, mlir::Type type) const {
    auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type);
    const size_t rank = ranked ? static_cast<size_t>(ranked.getRank()) : 0;
    auto sharding = mlir::dyn_cast_or_null<sdy::TensorShardingAttr>(attr);
    if (!sharding || !ranked) return Replicated(rank, partitions_);
    TENON_ASSIGN_OR_RETURN(const Mesh mesh, MeshOf(sharding, module_, partitions_));
    TENON_ASSIGN_OR_RETURN(Tiling tiling, mesh.TilingOf(sharding));
    if (tiling.tiles.size() != rank)
      return InvalidArgument(fmt::format("a sharding of {} dims for an array of {}", tiling.tiles.size(), rank));
    for (size_t i = 0; i < rank; ++i) {
      if (ranked.getDimSize(static_cast<unsigned>(i)) % tiling.tiles[i] != 0) {
        return Unimplemented(
            fmt::format("{} elements over {} devices", ranked.getDimSize(static_cast<unsigned>(i)), tiling.tiles[i]));
      }
    }
    return Stacked(std::move(tiling), mesh, sharding);
  }

  Result<Shardings> Read(mlir::func::FuncOp main) {
    Shardings s;
    const auto add = [&](mlir::Attribute attr, mlir::Type type, std::vector<Tiling>& tilings,
                         std::vector<std::string>& texts) -> Status {
      TENON_ASSIGN_OR_RETURN(Tiling tiling, TilingOf(attr, type));
      texts.push_back(ToOpSharding(tiling, OverOf(mlir::dyn_cast_or_null<sdy::TensorShardingAttr>(attr)).op));
      tilings.push_back(std::move(tiling));
      return OkStatus();
    };
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      if (Status status = add(main.getArgAttr(i, sdy::kShardingAttr), main.getArgument(i).getType(),
                              s.parameter_tilings, s.parameter_shardings);
          !status.ok()) {
        return status.WithContext(fmt::format("parameter {}", i));
      }
    }
    std::vector<sdy::TensorShardingAttr>& results = results_;
    if (partitions_ > 1 && replicas_ == 1) {
      ResultShardingsOf propagated = ResultShardings(main, partitions_);
      results = std::move(propagated.results);
      placement_ = std::move(propagated.placement);
      per_device_ = std::move(propagated.per_device);
      for (const auto& [op, sharding] : propagated.inspected) {
        TENON_ASSIGN_OR_RETURN(std::string text, InspectedAs(op, sharding));
        auto key = op->getAttrOfType<mlir::StringAttr>("backend_config");
        s.inspected.push_back({key ? key.getValue().str() : std::string(), std::move(text)});
      }
    }
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      if (Status status = add(results.empty() ? main.getResultAttr(i, sdy::kShardingAttr) : results[i],
                              main.getResultTypes()[i], s.result_tilings, s.result_shardings);
          !status.ok()) {
        return status.WithContext(fmt::format("result {}", i));
      }
    }
    return s;
  }

  // What the asker of an InspectSharding call hears.
  Result<std::string> InspectedAs(mlir::Operation* op, sdy::TensorShardingAttr sharding) const {
    if (op->getParentOfType<sdy::ManualComputationOp>()) return ManualOpSharding();
    TENON_ASSIGN_OR_RETURN(const Tiling tiling, TilingOf(sharding, op->getOperand(0).getType()));
    return ToOpSharding(tiling, OverOf(sharding).op);
  }

  void RemoveInspections() {
    std::vector<mlir::Operation*> found;
    module_.walk([&](mlir::Operation* op) {
      if (InspectsSharding(op)) found.push_back(op);
    });
    for (mlir::Operation* op : found) {
      for (mlir::Value result : op->getResults()) {
        if (!result.use_empty()) result.replaceAllUsesWith(op->getOperand(0));
      }
      op->erase();
    }
  }

  bool HasCallsPerDevice() {
    bool found = false;
    module_.walk([&](stablehlo::CustomCallOp call) { found |= MadePerDevice(call); });
    return found;
  }

  // One call for each device, in their order, with its parts of the operands.
  Status ExpandCallsPerDevice() {
    for (const auto& [op, shardings] : per_device_) {
      mlir::OpBuilder b(op);
      std::vector<Tiling> tilings;
      for (size_t i = 0; i < shardings.size(); ++i) {
        TENON_ASSIGN_OR_RETURN(Tiling tiling,
                               TilingOf(shardings[i], op->getOperand(static_cast<unsigned>(i)).getType()));
        tilings.push_back(std::move(tiling));
      }
      for (int64_t d = 0; d < partitions_; ++d) {
        llvm::SmallVector<mlir::Value> parts;
        for (const auto [operand, tiling] : llvm::zip(op->getOperands(), tilings)) {
          parts.push_back(
              CutTile(b, op->getLoc(), operand, tiling.tiles, tiling.tile_of_device[static_cast<size_t>(d)]));
        }
        mlir::Operation* call = b.clone(*op);
        call->setOperands(parts);
        call->removeAttr(sdy::kShardingAttr);
      }
      op->erase();
    }
    return OkStatus();
  }

  Status ExpandManual() {
    std::vector<sdy::ManualComputationOp> outermost;
    module_.walk([&](sdy::ManualComputationOp op) {
      if (!op->getParentOfType<sdy::ManualComputationOp>()) outermost.push_back(op);
    });
    Instances everybody;
    everybody.num_partitions = partitions_;
    everybody.devices.emplace_back();
    for (int64_t d = 0; d < partitions_; ++d) everybody.devices[0].push_back(d);
    for (sdy::ManualComputationOp op : outermost) {
      mlir::OpBuilder b(op);
      std::vector<Lanes> operands;
      for (mlir::Value v : op.getTensors()) operands.push_back({v});
      TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results,
                             ExpandManualComputation(b, op, operands, everybody, {&partials_, &placement_}));
      for (size_t i = 0; i < results.size(); ++i)
        op->getResult(static_cast<unsigned>(i)).replaceAllUsesWith(results[i][0]);
      op->erase();
    }
    return OkStatus();
  }

  // Whole arrays satisfy every constraint.
  void RemoveIdentities() {
    std::vector<mlir::Operation*> found;
    module_.walk([&](mlir::Operation* op) {
      if (IsConstraint(op) || mlir::isa<sdy::DataFlowEdgeOp, sdy::FuncDataFlowEdgeOp, sdy::ShardingGroupOp>(op))
        found.push_back(op);
    });
    for (mlir::Operation* op : found) {
      if (op->getNumResults() == 1) {
        // What the constraint says of the value stays known.
        const std::vector<Partials::Axes> dims = placement_.Of(op->getResult(0));
        if (llvm::any_of(dims, [](const Partials::Axes& axes) { return !axes.empty(); }))
          placement_.Set(op->getOperand(0), dims);
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      }
      op->erase();
    }
  }

  // @main becomes a function of the replicas' arguments stacked along a new leading dim.
  Status ExpandReplicas(mlir::func::FuncOp main, Shardings& shardings) {
    Instances instances;
    instances.num_replicas = replicas_;
    instances.num_partitions = partitions_;
    const int64_t n = replicas_ * partitions_;
    for (const auto* tilings : {&shardings.parameter_tilings, &shardings.result_tilings}) {
      for (const Tiling& t : *tilings) {
        if (partitions_ > 1 && (t.stacked || NumElements(t.tiles) > 1))
          return Unimplemented("replicas and sharded partitions in one program");
      }
    }
    for (const mlir::TypeRange types :
         {mlir::TypeRange(main.getArgumentTypes()), mlir::TypeRange(main.getResultTypes())}) {
      for (mlir::Type type : types) {
        if (!mlir::isa<mlir::RankedTensorType>(type))
          return Unimplemented(fmt::format("replicas of a program that takes or gives {}", ToText(type)));
      }
    }
    for (int64_t d = 0; d < n; ++d) instances.devices.push_back({d});
    mlir::Block& old_body = main.front();
    mlir::OpBuilder b(main.getContext());
    const auto stacked = [&](mlir::Type type) -> mlir::Type {
      auto t = mlir::cast<mlir::RankedTensorType>(type);
      llvm::SmallVector<int64_t> dims{n};
      dims.append(t.getShape().begin(), t.getShape().end());
      return mlir::RankedTensorType::get(dims, t.getElementType());
    };
    llvm::SmallVector<mlir::Type> inputs, outputs;
    for (mlir::Type t : main.getArgumentTypes()) inputs.push_back(stacked(t));
    for (mlir::Type t : main.getResultTypes()) outputs.push_back(stacked(t));
    mlir::Block* body = new mlir::Block;
    main.getBody().push_back(body);
    b.setInsertionPointToEnd(body);
    std::vector<Lanes> arguments;
    for (unsigned i = 0; i < inputs.size(); ++i) {
      mlir::Value whole = body->addArgument(inputs[i], main.getLoc());
      auto part = mlir::cast<mlir::RankedTensorType>(main.getArgumentTypes()[i]);
      Lanes lanes;
      for (int64_t d = 0; d < n; ++d) {
        Dims tiles(static_cast<size_t>(part.getRank()) + 1, 1), position(tiles.size(), 0);
        tiles[0] = n;
        position[0] = d;
        lanes.push_back(Reshape(b, main.getLoc(), CutTile(b, main.getLoc(), whole, tiles, position), part.getShape()));
      }
      arguments.push_back(std::move(lanes));
    }
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results,
                           Expand(b, old_body, arguments, std::vector<bool>(arguments.size(), true), instances));
    llvm::SmallVector<mlir::Value> returned;
    for (const Lanes& lanes : results) {
      llvm::SmallVector<mlir::Value> parts;
      for (mlir::Value v : lanes) {
        llvm::SmallVector<int64_t> dims{1};
        dims.append(TypeOf(v).getShape().begin(), TypeOf(v).getShape().end());
        parts.push_back(Reshape(b, main.getLoc(), v, dims));
      }
      returned.push_back(Concatenate(b, main.getLoc(), parts, 0));
    }
    mlir::func::ReturnOp::create(b, main.getLoc(), returned);
    old_body.erase();
    main.setFunctionType(mlir::FunctionType::get(main.getContext(), inputs, outputs));
    // What lies so is the stack now.
    for (unsigned i = 0; i < inputs.size(); ++i) main.removeArgAttr(i, b.getStringAttr("mhlo.layout_mode"));
    for (unsigned i = 0; i < outputs.size(); ++i) main.removeResultAttr(i, b.getStringAttr("mhlo.layout_mode"));
    const auto restack = [&](std::vector<Tiling>& tilings) {
      for (Tiling& t : tilings) {
        t.tiles = Dims(t.tiles.size() + 1, 1);
        t.tiles[0] = n;
        t.stacked = true;
        t.tile_of_device.clear();
        for (int64_t d = 0; d < n; ++d) {
          Dims& position = t.tile_of_device.emplace_back(t.tiles.size(), int64_t{0});
          position[0] = d;
        }
      }
    };
    restack(shardings.parameter_tilings);
    restack(shardings.result_tilings);
    return OkStatus();
  }

  static llvm::SmallVector<int64_t> DimsOf(mlir::Value v, int64_t front) {
    llvm::SmallVector<int64_t> dims{front};
    dims.append(TypeOf(v).getShape().begin(), TypeOf(v).getShape().end());
    return dims;
  }

  static Partials::Over OverOf(sdy::TensorShardingAttr sharding) {
    if (!sharding) return {};
    return {Partials::Axes(sharding.getUnreducedAxes().begin(), sharding.getUnreducedAxes().end()),
            sharding.getReductionOp()};
  }

  static bool HasUnreduced(mlir::func::FuncOp main) {
    bool found = false;
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      found |= !OverOf(mlir::dyn_cast_or_null<sdy::TensorShardingAttr>(main.getResultAttr(i, sdy::kShardingAttr)))
                    .axes.empty();
    }
    return found;
  }

  // Arrays of partial values come in and go out as stacks of them. Inside they are what these make, and `partials_`
  // knows them.
  void UnstackArguments(mlir::func::FuncOp main, const Shardings& shardings) {
    mlir::Block& body = main.front();
    mlir::OpBuilder b(main.getContext());
    const mlir::Location loc = main.getLoc();
    b.setInsertionPointToStart(&body);
    for (unsigned i = 0; i < body.getNumArguments(); ++i) {
      const Tiling& tiling = shardings.parameter_tilings[i];
      if (!tiling.stacked) continue;
      const mlir::RankedTensorType type = TypeOf(body.getArgument(i));
      const llvm::SmallVector<int64_t> one = DimsOf(body.getArgument(i), 1);
      // A new argument in place of the old one, whose uses all are the whole array's.
      mlir::BlockArgument stack = body.insertArgument(
          i, mlir::RankedTensorType::get(DimsOf(body.getArgument(i), tiling.tiles[0]), type.getElementType()), loc);
      Lanes parts;
      for (int64_t p = 0; p < tiling.tiles[0]; ++p) {
        llvm::SmallVector<int64_t> starts(one.size(), 0);
        starts[0] = p;
        parts.push_back(Reshape(b, loc, Slice(b, loc, stack, starts, one), type.getShape()));
      }
      Partials::Over over = OverOf(main.getArgAttrOfType<sdy::TensorShardingAttr>(i, sdy::kShardingAttr));
      const mlir::Value whole = Combined(b, loc, parts, over.op);
      body.getArgument(i + 1).replaceAllUsesWith(whole);
      body.eraseArgument(i + 1);
      partials_.Set(whole, std::move(over), std::move(parts));
      for (llvm::StringRef name : {"mhlo.layout_mode", "tf.aliasing_output"})
        main.removeArgAttr(i, b.getStringAttr(name));
    }
    SetType(main);
  }

  void StackResults(mlir::func::FuncOp main, const Shardings& shardings) {
    mlir::OpBuilder b(main.getContext());
    const mlir::Location loc = main.getLoc();
    mlir::Operation* end = main.front().getTerminator();
    for (unsigned i = 0; i < end->getNumOperands(); ++i) {
      const Tiling& tiling = shardings.result_tilings[i];
      if (!tiling.stacked) continue;
      const mlir::Value value = end->getOperand(i);
      const Partials::Over over = OverOf(results_[i]);
      const Lanes parts = partials_.Find(value, over, tiling.tiles[0], placement_);
      b.setInsertionPoint(end);
      llvm::SmallVector<mlir::Value> stack;
      for (int64_t p = 0; p < tiling.tiles[0]; ++p) {
        const mlir::Value part = parts.empty() ? AnyPart(b, loc, value, p, over.op) : parts[static_cast<size_t>(p)];
        stack.push_back(Reshape(b, loc, part, DimsOf(value, 1)));
      }
      end->setOperand(i, Concatenate(b, loc, stack, 0));
      main.removeResultAttr(i, b.getStringAttr("mhlo.layout_mode"));
    }
    SetType(main);
  }

  static void SetType(mlir::func::FuncOp main) {
    main.setFunctionType(mlir::FunctionType::get(main.getContext(), main.front().getArgumentTypes(),
                                                 main.front().getTerminator()->getOperandTypes()));
  }

  bool HasEffects() {
    bool effects = false;
    module_.walk([&](stablehlo::CustomCallOp call) { effects |= call.getHasSideEffect(); });
    return effects;
  }

  // Outside of bodies that are written per device, a program over whole arrays has no ids of partitions, and nothing
  // that they do with each other.
  Status CheckNothingIsLeft(mlir::func::FuncOp main) {
    if (partitions_ == 1) return OkStatus();
    Instances everybody;
    everybody.num_replicas = replicas_;
    everybody.num_partitions = partitions_;
    std::vector<mlir::func::FuncOp> reached{main};
    Status status;
    for (size_t i = 0; i < reached.size(); ++i) {
      reached[i].walk([&](mlir::Operation* op) {
        mlir::func::FuncOp callee = Called(op);
        if (callee && !llvm::is_contained(reached, callee)) reached.push_back(callee);
        bool left = mlir::isa<stablehlo::PartitionIdOp>(op);
        if (IsCollective(op)) {
          const Result<std::vector<std::vector<int64_t>>> groups = ProcessGroups(op, everybody);
          left = !groups.ok() || llvm::any_of(*groups, [](const std::vector<int64_t>& group) {
            return llvm::any_of(group, [&](int64_t device) { return device != group[0]; });
          });
        }
        if (left) {
          status = Unimplemented(fmt::format("{} outside of a manual_computation, in a program over {} partitions",
                                             op->getName().getStringRef().str(), partitions_));
        }
      });
    }
    return status;
  }

  void Strip() {
    module_.walk([](mlir::Operation* op) {
      op->removeAttr(sdy::kShardingAttr);
      op->removeAttr(sdy::kShardingRuleAttr);
      if (auto f = mlir::dyn_cast<mlir::func::FuncOp>(op)) {
        for (unsigned i = 0; i < f.getNumArguments(); ++i) f.removeArgAttr(i, sdy::kShardingAttr);
        for (unsigned i = 0; i < f.getNumResults(); ++i)
          f.removeResultAttr(i, mlir::StringAttr::get(f.getContext(), sdy::kShardingAttr));
      }
    });
    std::vector<sdy::MeshOp> meshes(module_.getOps<sdy::MeshOp>().begin(), module_.getOps<sdy::MeshOp>().end());
    for (sdy::MeshOp mesh : meshes) mesh->erase();
  }

  mlir::ModuleOp module_;
  int64_t replicas_;
  int64_t partitions_;
  const Processes& processes_;
  std::vector<sdy::TensorShardingAttr> results_;  ///< Empty with replicas, or one device.
  Placement placement_;                           ///< Of the values that @main had at first.
  std::vector<std::pair<mlir::Operation*, std::vector<sdy::TensorShardingAttr>>> per_device_;
  Partials partials_;
};

void NoteShardings(mlir::ModuleOp module, const Shardings& shardings) {
  mlir::Builder b(module.getContext());
  llvm::SmallVector<mlir::Attribute> parameters;
  for (const std::string& sharding : shardings.parameter_shardings) parameters.push_back(b.getStringAttr(sharding));
  module->setAttr(kParametersShardings, b.getArrayAttr(parameters));
  module->setAttr(kOutputSharding, b.getStringAttr(TupleOpSharding(shardings.result_shardings)));
}

}  // namespace

bool NeedsGlobalize(mlir::ModuleOp module, int64_t num_replicas, int64_t num_partitions) {
  if (num_replicas * num_partitions > 1) return true;
  for (mlir::Operation& op : module.getOps()) {
    if (mlir::isa<sdy::MeshOp>(op)) return true;
  }
  return false;
}

Result<Shardings> Globalize(mlir::ModuleOp module, int64_t num_replicas, int64_t num_partitions,
                            const Processes& processes) {
  TENON_RETURN_IF_ERROR(CheckShardings(module));
  TENON_ASSIGN_OR_RETURN(Shardings shardings, Globalizer(module, num_replicas, num_partitions, processes).Run());
  if (num_partitions > 1 && num_replicas == 1) NoteShardings(module, shardings);
  return shardings;
}

}  // namespace tenon::compiler
