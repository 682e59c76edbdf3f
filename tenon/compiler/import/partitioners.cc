#include "tenon/compiler/partitioners.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "tenon/compiler/import/types.h"
#include "tenon/compiler/partition/mesh.h"
#include "tenon/compiler/partition/partials.h"
#include "tenon/compiler/partition/propagate.h"
#include "tenon/dialect/hlo/proto_types.h"
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

using Axes = llvm::SmallVector<sdy::AxisRefAttr>;

// How a sharding cuts an array of `shape`.
Result<Tiling> TilingOf(const hlo::Sharding& sharding, const Shape& shape, int64_t num_devices) {
  using Kind = hlo::Sharding::Kind;
  const size_t rank = shape.rank();
  if (sharding.kind == Kind::kReplicated) return Replicated(rank, num_devices);
  if (sharding.kind != Kind::kTiled) return InvalidArgument("a sharding is neither replicated nor tiled");
  if (sharding.tiles.size() != rank + sharding.trailing.size())
    return InvalidArgument(fmt::format("a sharding of {} dims for {}", sharding.tiles.size(), ToString(shape)));
  for (const Kind kind : sharding.trailing) {
    if (kind != Kind::kReplicated) return Unimplemented("a sharding with subgroups other than replicated ones");
  }
  int64_t count = 1;
  for (const int64_t tiles : sharding.tiles) {
    if (tiles < 1 || __builtin_mul_overflow(count, tiles, &count))
      return InvalidArgument(fmt::format("a sharding of {} tiles", tiles));
  }
  if (count != num_devices || static_cast<int64_t>(sharding.devices.size()) != count) {
    return InvalidArgument(fmt::format("a sharding of {} tiles over {} devices, the program has {}", count,
                                       sharding.devices.size(), num_devices));
  }
  Tiling tiling{Dims(sharding.tiles.begin(), sharding.tiles.begin() + static_cast<std::ptrdiff_t>(rank)),
                std::vector<Dims>(static_cast<size_t>(num_devices), Dims(rank, 0))};
  std::vector<bool> named(static_cast<size_t>(num_devices));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t device = sharding.devices[static_cast<size_t>(i)];
    if (device < 0 || device >= num_devices || named[static_cast<size_t>(device)])
      return InvalidArgument(fmt::format("a sharding names device {} of {}, or twice", device, num_devices));
    named[static_cast<size_t>(device)] = true;
    int64_t rest = i;
    for (size_t d = sharding.tiles.size(); d-- > 0; rest /= sharding.tiles[d]) {
      if (d < rank) tiling.tile_of_device[static_cast<size_t>(device)][d] = rest % sharding.tiles[d];
    }
  }
  return tiling;
}

// A mesh of the program, to say by its axes what a tiling says.
class NamedMesh {
 public:
  NamedMesh(mlir::StringAttr name, sdy::MeshAttr attribute, Mesh mesh)
      : name_(name), attribute_(attribute), mesh_(std::move(mesh)) {}

  // Null where axes of the mesh cannot say it.
  sdy::TensorShardingAttr ShardingOf(const Tiling& tiling) const {
    mlir::MLIRContext* context = name_.getContext();
    Axes used;
    llvm::SmallVector<sdy::DimensionShardingAttr> dims;
    for (size_t d = 0; d < tiling.tiles.size(); ++d) {
      Axes axes;
      if (!Find(tiling, d, axes, used)) return {};
      used.append(axes);
      dims.push_back(sdy::DimensionShardingAttr::get(context, axes, /*isClosed=*/true, std::nullopt));
    }
    return sdy::TensorShardingAttr::get(context, mlir::FlatSymbolRefAttr::get(name_), dims, {}, {},
                                        sdy::ReductionOp::SUM);
  }

 private:
  // Continues `axes` to those along which dim `d` is cut.
  bool Find(const Tiling& tiling, size_t d, Axes& axes, const Axes& used) const {
    const Result<int64_t> size = mesh_.FlatSize(axes);
    if (!size.ok() || tiling.tiles[d] % *size != 0) return false;
    if (*size == tiling.tiles[d]) return Says(tiling, d, axes);
    for (sdy::MeshAxisAttr axis : attribute_.getAxes()) {
      const auto next = sdy::AxisRefAttr::get(name_.getContext(), axis.getName(), {});
      if (axis.getSize() == 1 || llvm::is_contained(axes, next) || llvm::is_contained(used, next)) continue;
      axes.push_back(next);
      if (Find(tiling, d, axes, used)) return true;
      axes.pop_back();
    }
    return false;
  }

  bool Says(const Tiling& tiling, size_t d, const Axes& axes) const {
    for (int64_t device = 0; device < mesh_.num_devices(); ++device) {
      const Result<int64_t> position = mesh_.FlatPosition(device, axes);
      if (!position.ok() || *position != tiling.tile_of_device[static_cast<size_t>(device)][d]) return false;
    }
    return true;
  }

  mlir::StringAttr name_;
  sdy::MeshAttr attribute_;
  Mesh mesh_;
};

// A mesh of the sharding's own: its dims up to `rank`, then what shares a tile.
sdy::TensorShardingAttr OnOwnMesh(mlir::MLIRContext* context, const Tiling& tiling, size_t rank) {
  const auto num_devices = static_cast<int64_t>(tiling.tile_of_device.size());
  llvm::SmallVector<sdy::MeshAxisAttr> axes;
  llvm::SmallVector<sdy::DimensionShardingAttr> dims;
  for (size_t d = 0; d < rank; ++d) {
    const std::string name = fmt::format("d{}", d);
    axes.push_back(sdy::MeshAxisAttr::get(context, name, d < tiling.tiles.size() ? tiling.tiles[d] : 1));
    if (d >= tiling.tiles.size()) continue;
    dims.push_back(sdy::DimensionShardingAttr::get(context, sdy::AxisRefAttr::get(context, name, {}), /*isClosed=*/true,
                                                   std::nullopt));
  }
  axes.push_back(sdy::MeshAxisAttr::get(context, "rest", num_devices / NumElements(tiling.tiles)));
  llvm::SmallVector<int64_t> devices;
  for (int64_t device = 0; device < num_devices; ++device) devices.push_back(device);
  std::ranges::sort(devices, [&](int64_t a, int64_t b) {
    const Dims &tile_a = tiling.tile_of_device[static_cast<size_t>(a)],
               &tile_b = tiling.tile_of_device[static_cast<size_t>(b)];
    return tile_a == tile_b ? a < b : std::ranges::lexicographical_compare(tile_a, tile_b);
  });
  if (llvm::is_sorted(devices)) devices.clear();
  return sdy::TensorShardingAttr::get(context, sdy::MeshAttr::get(context, axes, devices), dims, {}, {},
                                      sdy::ReductionOp::SUM);
}

class Runner {
 public:
  Runner(dialect::Context& context, mlir::ModuleOp module, int64_t num_partitions, const Partitioners& partitioners)
      : context_(context), module_(module), num_partitions_(num_partitions), partitioners_(partitioners) {}

  /// Whether there were such calls.
  Result<bool> Run() {
    if (Find(module_) == nullptr) return false;
    auto main = module_.lookupSymbol<mlir::func::FuncOp>("main");
    if (!main || main.empty()) return InvalidArgument("the program has no @main");
    TENON_RETURN_IF_ERROR(dialect::TranslateShardings(module_));
    // Each call has its own operands, which lie as they lie there.
    InlineCalls(main);
    DropUncalled();
    while (mlir::Operation* op = Find(main)) {
      auto call = mlir::cast<stablehlo::CustomCallOp>(op);
      if (Status s = Replace(main, call, calls_++); !s.ok())
        return s.WithContext(fmt::format("the partitioner of {}", dialect::Describe(op)));
    }
    if (mlir::Operation* left = Find(module_))
      return Unimplemented(fmt::format("{} outside of @main, which has a partitioner", dialect::Describe(left)));
    TENON_RETURN_IF_ERROR(dialect::Verify(module_));
    return true;
  }

 private:
  void DropUncalled() {
    for (bool dropped = true; dropped;) {
      dropped = false;
      for (auto f : llvm::make_early_inc_range(module_.getOps<mlir::func::FuncOp>())) {
        if (!f.isPrivate() || !mlir::SymbolTable::symbolKnownUseEmpty(f, &module_.getBodyRegion())) continue;
        f.erase();
        dropped = true;
      }
    }
  }

  // The first one.
  mlir::Operation* Find(mlir::Operation* in) const {
    mlir::Operation* found = nullptr;
    in->walk([&](stablehlo::CustomCallOp call) {
      if (!partitioners_.contains(std::string_view(call.getCallTargetName()))) return mlir::WalkResult::advance();
      found = call;
      return mlir::WalkResult::interrupt();
    });
    return found;
  }

  Result<std::vector<PartitionedArray>> Describe(mlir::ValueRange values,
                                                 const std::vector<sdy::TensorShardingAttr>& shardings) const {
    std::vector<PartitionedArray> arrays;
    for (const auto [value, sharding] : llvm::zip(values, shardings)) {
      TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(value.getType()));
      Tiling tiling = Replicated(shape.rank(), num_partitions_);
      if (sharding && !sharding.getDimShardings().empty()) {
        TENON_ASSIGN_OR_RETURN(const Mesh mesh, MeshOf(sharding, module_, num_partitions_));
        TENON_ASSIGN_OR_RETURN(tiling, mesh.TilingOf(sharding));
      }
      arrays.push_back({shape, ToOpSharding(tiling, sdy::ReductionOp::SUM)});
    }
    return arrays;
  }

  Status Replace(mlir::func::FuncOp main, stablehlo::CustomCallOp call, int number) {
    if (call->getParentOfType<sdy::ManualComputationOp>())
      return Unimplemented("it is inside a body that is written per device");
    const ResultShardingsOf found =
        ResultShardings(main, num_partitions_, [&](mlir::Operation* op) { return op == call; });
    if (found.asked.empty()) return Unimplemented("it is in a region that is no loop's or branch's");
    TENON_ASSIGN_OR_RETURN(const std::vector<PartitionedArray> operands,
                           Describe(call->getOperands(), found.asked[0].operands));
    TENON_ASSIGN_OR_RETURN(const std::vector<PartitionedArray> results,
                           Describe(call->getResults(), found.asked[0].results));
    auto config = call->getAttrOfType<mlir::StringAttr>("backend_config");
    const std::string_view target(call.getCallTargetName());
    TENON_ASSIGN_OR_RETURN(const PartitionedCall made,
                           partitioners_.find(target)->second(
                               operands, results, config ? std::string_view(config.getValue()) : std::string_view()));
    TENON_ASSIGN_OR_RETURN(const std::vector<Tiling> tilings, Read(made, operands, results));
    TENON_ASSIGN_OR_RETURN(mlir::func::FuncOp body,
                           Add(made.program, operands.size(), results.size(), fmt::format("partitioned_{}", number)));
    Write(call, body, tilings);
    return OkStatus();
  }

  // Those of the operands, then those of the results.
  Result<std::vector<Tiling>> Read(const PartitionedCall& made, const std::vector<PartitionedArray>& operands,
                                   const std::vector<PartitionedArray>& results) const {
    if (made.operand_shardings.size() != operands.size()) {
      return InvalidArgument(
          fmt::format("got {} operands' shardings, wanted {}", made.operand_shardings.size(), operands.size()));
    }
    std::vector<Tiling> tilings;
    const auto add = [&](const hlo::Sharding& sharding, const Shape& shape) -> Status {
      TENON_ASSIGN_OR_RETURN(Tiling tiling, TilingOf(sharding, shape, num_partitions_));
      tilings.push_back(std::move(tiling));
      return OkStatus();
    };
    for (size_t i = 0; i < operands.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(const hlo::Sharding sharding, hlo::ReadShardingProto(made.operand_shardings[i]));
      if (Status s = add(sharding, operands[i].shape); !s.ok()) return s.WithContext(fmt::format("operand {}", i));
    }
    TENON_ASSIGN_OR_RETURN(const hlo::Sharding sharding, hlo::ReadShardingProto(made.result_sharding));
    const bool tuple = sharding.kind == hlo::Sharding::Kind::kTuple;
    if (tuple && sharding.members.size() != results.size())
      return InvalidArgument(
          fmt::format("got {} results' shardings, wanted {}", sharding.members.size(), results.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      if (Status s = add(tuple ? sharding.members[i] : sharding, results[i].shape); !s.ok())
        return s.WithContext(fmt::format("result {}", i));
    }
    return tilings;
  }

  // The functions of `program`, beside those of the module; its @main.
  Result<mlir::func::FuncOp> Add(std::string_view program, size_t num_operands, size_t num_results,
                                 const std::string& prefix) {
    TENON_ASSIGN_OR_RETURN(const dialect::OwnedModule parsed, dialect::Parse(context_, program));
    mlir::ModuleOp module = dialect::AsModule(parsed);
    auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
    if (!main || main.empty()) return InvalidArgument("its program has no @main");
    if (main.getNumArguments() != num_operands || main.getNumResults() != num_results) {
      return InvalidArgument(fmt::format("its program takes {} arrays and gives {}, wanted {} and {}",
                                         main.getNumArguments(), main.getNumResults(), num_operands, num_results));
    }
    main.removeArgAttrsAttr();
    main.removeResAttrsAttr();
    for (mlir::Operation& op : module.getOps()) {
      auto name = op.getAttrOfType<mlir::StringAttr>(mlir::SymbolTable::getSymbolAttrName());
      if (!name) continue;
      auto unique = mlir::StringAttr::get(name.getContext(), prefix + "_" + name.str());
      if (mlir::failed(mlir::SymbolTable::replaceAllSymbolUses(name, unique, &module.getBodyRegion())))
        return InvalidArgument("its program has references that cannot be followed");
      mlir::SymbolTable::setSymbolName(&op, unique);
    }
    mlir::func::FuncOp added;
    for (mlir::Operation& op : module.getOps()) {
      mlir::Operation* copy = op.clone();
      module_.push_back(copy);
      if (&op == main) added = mlir::cast<mlir::func::FuncOp>(copy);
      if (auto function = mlir::dyn_cast<mlir::func::FuncOp>(copy)) function.setPrivate();
    }
    return added;
  }

  // By the axes of one of the program's meshes, if it can say all of them.
  std::vector<sdy::TensorShardingAttr> ShardingsOf(const std::vector<Tiling>& tilings,
                                                   llvm::SmallVector<mlir::StringAttr>& manual) {
    for (sdy::MeshOp op : module_.getOps<sdy::MeshOp>()) {
      Result<Mesh> mesh = Mesh::Create(op.getMesh(), num_partitions_);
      if (!mesh.ok() || op.getMesh().getAxes().empty()) continue;
      const NamedMesh named(op.getSymNameAttr(), op.getMesh(), std::move(*mesh));
      std::vector<sdy::TensorShardingAttr> shardings;
      for (const Tiling& tiling : tilings) shardings.push_back(named.ShardingOf(tiling));
      if (llvm::is_contained(shardings, sdy::TensorShardingAttr())) continue;
      for (sdy::MeshAxisAttr axis : op.getMesh().getAxes())
        manual.push_back(mlir::StringAttr::get(module_.getContext(), axis.getName()));
      return shardings;
    }
    size_t rank = 0;
    for (const Tiling& tiling : tilings) rank = std::max(rank, tiling.tiles.size());
    std::vector<sdy::TensorShardingAttr> shardings;
    for (const Tiling& tiling : tilings) shardings.push_back(OnOwnMesh(module_.getContext(), tiling, rank));
    for (size_t d = 0; d < rank; ++d)
      manual.push_back(mlir::StringAttr::get(module_.getContext(), fmt::format("d{}", d)));
    manual.push_back(mlir::StringAttr::get(module_.getContext(), "rest"));
    return shardings;
  }

  void Write(stablehlo::CustomCallOp call, mlir::func::FuncOp body, const std::vector<Tiling>& tilings) {
    llvm::SmallVector<mlir::StringAttr> manual;
    const std::vector<sdy::TensorShardingAttr> shardings = ShardingsOf(tilings, manual);
    const llvm::ArrayRef<sdy::TensorShardingAttr> all(shardings);
    mlir::MLIRContext* context = module_.getContext();
    mlir::OpBuilder b(call);
    const mlir::Location loc = call.getLoc();
    auto op = sdy::ManualComputationOp::create(
        b, loc, call->getResultTypes(), call->getOperands(),
        sdy::TensorShardingPerValueAttr::get(context, all.take_front(call->getNumOperands())),
        sdy::TensorShardingPerValueAttr::get(context, all.take_back(call->getNumResults())),
        sdy::ManualAxesAttr::get(context, manual));
    mlir::Block& block = op.getBody().emplaceBlock();
    for (const mlir::Type type : body.getArgumentTypes()) block.addArgument(type, loc);
    b.setInsertionPointToEnd(&block);
    auto inner = mlir::func::CallOp::create(b, loc, body, block.getArguments());
    sdy::ReturnOp::create(b, loc, inner.getResults());
    call->replaceAllUsesWith(op.getResults());
    call->erase();
  }

  dialect::Context& context_;
  mlir::ModuleOp module_;
  const int64_t num_partitions_;
  const Partitioners& partitioners_;
  int calls_ = 0;
};

}  // namespace

Result<std::optional<std::string>> RunPartitioners(std::string_view program, int64_t num_partitions,
                                                   const Partitioners& partitioners) {
  const bool named = std::any_of(partitioners.begin(), partitioners.end(),
                                 [&](const auto& p) { return program.find(p.first) != std::string_view::npos; });
  if (!named) return std::optional<std::string>();
  dialect::Context context;
  TENON_ASSIGN_OR_RETURN(const dialect::OwnedModule module, dialect::Parse(context, program));
  TENON_RETURN_IF_ERROR(CheckShardings(dialect::AsModule(module)));
  TENON_ASSIGN_OR_RETURN(const bool changed,
                         Runner(context, dialect::AsModule(module), num_partitions, partitioners).Run());
  if (!changed) return std::optional<std::string>();
  TENON_ASSIGN_OR_RETURN(std::string made, dialect::Serialize(module.op()));
  return std::optional<std::string>(std::move(made));
}

}  // namespace tenon::compiler
