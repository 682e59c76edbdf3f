#include "tenon/dialect/hlo/shardings.h"

#include <fmt/format.h>

#include <map>

#include "mlir/IR/Builders.h"
#include "tenon/dialect/hlo/stablehlo.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::hlo {
namespace {

constexpr llvm::StringLiteral kOldShardingAttr = "mhlo.sharding";

/// Dims that a call of @Sharding leaves open: "unspecified_dims=[0,1]".
llvm::SmallVector<int64_t> OpenDims(stablehlo::CustomCallOp call) {
  llvm::SmallVector<int64_t> dims;
  auto config = call->getAttrOfType<mlir::StringAttr>("backend_config");
  llvm::StringRef list = config ? config.getValue() : "";
  if (!list.consume_front("unspecified_dims=[")) return dims;
  for (int64_t dim = 0; !list.consumeInteger(10, dim);) {
    dims.push_back(dim);
    if (!list.consume_front(",")) break;
  }
  return dims;
}

/// Makes sdy.sharding attributes, and a mesh for each grid of devices that they name.
class ShardingWriter {
 public:
  /// `replicated`: whether replicated values get an attribute, too.
  ShardingWriter(mlir::func::FuncOp main, bool replicated) : main_(main), b_(main), replicated_(replicated) {}

  /// The leaves of `shape` from `next` on; `set` takes a position and an attribute.
  template <class F>
  Status Write(const Shape& shape, const Sharding& sharding, unsigned& next, F set) {
    if (shape.type == kTuple) {
      const bool each = sharding.kind == Sharding::Kind::kTuple;
      // A tuple's members are listed flat, one for each leaf.
      const int64_t leaves = CountLeaves(shape);
      if (each && static_cast<int64_t>(sharding.members.size()) != leaves) {
        return InvalidArgument(fmt::format("a sharding of {} members for the {} arrays of {}", sharding.members.size(),
                                           leaves, ToText(shape, false)));
      }
      size_t leaf = 0;
      return WriteLeaves(shape, sharding, each, leaf, next, set);
    }
    const Sharding* one = &sharding;
    if (sharding.kind == Sharding::Kind::kTuple && sharding.members.size() == 1) one = &sharding.members[0];
    return WriteLeaf(shape, *one, next++, set);
  }

 private:
  template <class F>
  Status WriteLeaves(const Shape& shape, const Sharding& sharding, bool each, size_t& leaf, unsigned& next, F set) {
    for (const Shape& member : shape.members) {
      if (member.type == kTuple) {
        TENON_RETURN_IF_ERROR(WriteLeaves(member, sharding, each, leaf, next, set));
      } else {
        TENON_RETURN_IF_ERROR(WriteLeaf(member, each ? sharding.members[leaf++] : sharding, next++, set));
      }
    }
    return OkStatus();
  }

  template <class F>
  Status WriteLeaf(const Shape& shape, const Sharding& sharding, unsigned at, F set) {
    if (!shape.is_array() || (sharding.kind == Sharding::Kind::kReplicated && !replicated_)) return OkStatus();
    TENON_ASSIGN_OR_RETURN(const sdy::TensorShardingAttr attribute,
                           AttributeOf(shape.dims, ToText(shape, false), sharding));
    if (attribute) set(at, attribute);
    return OkStatus();
  }

 public:
  /// The sharding of an array of these dims, `what` in messages; null for kinds that leave open where it lies. Dims in
  /// `open` may be cut further.
  Result<sdy::TensorShardingAttr> AttributeOf(llvm::ArrayRef<int64_t> shape_dims, std::string_view what,
                                              const Sharding& sharding, llvm::ArrayRef<int64_t> open = {}) {
    using Kind = Sharding::Kind;
    mlir::MLIRContext* context = main_.getContext();
    const size_t rank = shape_dims.size();
    const auto dim_of = [&](size_t d, llvm::ArrayRef<sdy::AxisRefAttr> axes) {
      return sdy::DimensionShardingAttr::get(context, axes, !llvm::is_contained(open, static_cast<int64_t>(d)),
                                             std::nullopt);
    };
    llvm::SmallVector<sdy::DimensionShardingAttr> dims;
    if (sharding.kind == Kind::kReplicated) {
      for (size_t d = 0; d < rank; ++d) dims.push_back(dim_of(d, {}));
      return sdy::TensorShardingAttr::get(context, sdy::MeshAttr::get(context, {}, {}), dims, {}, {},
                                          sdy::ReductionOp::SUM);
    }
    if (sharding.kind == Kind::kManual) {
      return Unimplemented(
          "a parameter or result that is cut by hand (sharding {manual}) is understood in StableHLO only");
    }
    if (sharding.kind != Kind::kTiled) return sdy::TensorShardingAttr();
    if (sharding.tiles.size() != rank + sharding.trailing.size()) {
      return InvalidArgument(
          fmt::format("a sharding of {} dims and {} subgroups for {}",
                      sharding.tiles.size() - std::min(sharding.tiles.size(), sharding.trailing.size()),
                      sharding.trailing.size(), what));
    }
    int64_t count = 1;
    for (int64_t t : sharding.tiles) {
      if (t <= 0 || t > (1 << 14) || count > (1 << 14)) return InvalidArgument("a sharding of impossible size");
      count *= t;
    }
    if (count != static_cast<int64_t>(sharding.devices.size()))
      return InvalidArgument(fmt::format("a sharding of {} tiles over {} devices", count, sharding.devices.size()));
    for (size_t t = 0; t < sharding.trailing.size(); ++t) {
      if (sharding.trailing[t] != Kind::kReplicated && sharding.tiles[rank + t] != 1) {
        return Unimplemented("a sharding with subgroups other than replicated ones is understood in StableHLO only");
      }
    }
    TENON_ASSIGN_OR_RETURN(mlir::StringAttr mesh, MeshOf(sharding));
    for (size_t d = 0; d < rank; ++d) {
      llvm::SmallVector<sdy::AxisRefAttr> axes;
      if (sharding.tiles[d] > 1) axes.push_back(sdy::AxisRefAttr::get(context, AxisName(d), {}));
      dims.push_back(dim_of(d, axes));
    }
    return sdy::TensorShardingAttr::get(context, mlir::FlatSymbolRefAttr::get(mesh), dims, {}, {},
                                        sdy::ReductionOp::SUM);
  }

 private:
  static std::string AxisName(size_t dim) { return fmt::format("d{}", dim); }

  Result<mlir::StringAttr> MeshOf(const Sharding& sharding) {
    mlir::StringAttr& name = meshes_[{sharding.tiles, sharding.devices}];
    if (name) return name;
    name = b_.getStringAttr(fmt::format("hlo_mesh_{}", meshes_.size() - 1));
    llvm::SmallVector<sdy::MeshAxisAttr> axes;
    for (size_t d = 0; d < sharding.tiles.size(); ++d) {
      if (sharding.tiles[d] > 1)
        axes.push_back(sdy::MeshAxisAttr::get(main_.getContext(), AxisName(d), sharding.tiles[d]));
    }
    llvm::SmallVector<int64_t> ids(sharding.devices.begin(), sharding.devices.end());
    bool in_order = true;
    for (size_t i = 0; i < ids.size(); ++i) in_order = in_order && ids[i] == static_cast<int64_t>(i);
    // Devices in their natural order are not listed.
    if (in_order) ids.clear();
    b_.setInsertionPoint(main_);
    sdy::MeshOp::create(b_, main_.getLoc(), name, sdy::MeshAttr::get(main_.getContext(), axes, ids));
    return name;
  }

  mlir::func::FuncOp main_;
  mlir::OpBuilder b_;
  bool replicated_;
  std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, mlir::StringAttr> meshes_;
};

}  // namespace

Status SetShardings(const Module& module, mlir::func::FuncOp main) {
  const Computation& entry = module.computations[module.entry];
  ShardingWriter writer(main, module.num_partitions > 1);
  unsigned next = 0;
  for (uint32_t p : entry.parameters) {
    const Instruction& i = entry.instructions[p];
    if (!i.extras().sharding) {
      next += static_cast<unsigned>(CountLeaves(i.shape));
      continue;
    }
    Status status = writer.Write(i.shape, *i.extras().sharding, next, [&](unsigned at, mlir::Attribute value) {
      main.setArgAttr(at, sdy::kShardingAttr, value);
    });
    TENON_RETURN_IF_ERROR(status.WithContext(fmt::format("HLO instruction '{}'", i.name)));
  }
  const Instruction& root = entry.instructions[entry.root];
  if (!root.extras().sharding) return OkStatus();
  next = 0;
  Status status = writer.Write(root.shape, *root.extras().sharding, next, [&](unsigned at, mlir::Attribute value) {
    main.setResultAttr(at, sdy::kShardingAttr, value);
  });
  return status.WithContext(fmt::format("HLO instruction '{}'", root.name));
}

Status TranslateShardings(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main) return OkStatus();
  ShardingWriter writer(main, true);
  const auto translate = [&](mlir::Attribute text, mlir::Type type,
                             llvm::ArrayRef<int64_t> open) -> Result<sdy::TensorShardingAttr> {
    auto string = mlir::dyn_cast_or_null<mlir::StringAttr>(text);
    auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type);
    if (!string || !ranked || !ranked.hasStaticShape()) return sdy::TensorShardingAttr();
    TENON_ASSIGN_OR_RETURN(const Sharding sharding,
                           ReadSharding(std::string_view(string.getValue().data(), string.getValue().size())));
    if (sharding.kind == Sharding::Kind::kManual)
      return Unimplemented("code that is written per device (shard_map) in the form of before Shardy");
    return writer.AttributeOf(ranked.getShape(), "an array of the program", sharding, open);
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    if (main.getArgAttr(i, sdy::kShardingAttr)) continue;
    Result<sdy::TensorShardingAttr> attribute =
        translate(main.getArgAttr(i, kOldShardingAttr), main.getArgumentTypes()[i], {});
    if (!attribute.ok()) return attribute.status().WithContext(fmt::format("parameter {}", i));
    if (*attribute) main.setArgAttr(i, sdy::kShardingAttr, *attribute);
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    if (main.getResultAttr(i, sdy::kShardingAttr)) continue;
    Result<sdy::TensorShardingAttr> attribute =
        translate(main.getResultAttr(i, kOldShardingAttr), main.getResultTypes()[i], {});
    if (!attribute.ok()) return attribute.status().WithContext(fmt::format("result {}", i));
    if (*attribute) main.setResultAttr(i, sdy::kShardingAttr, *attribute);
  }
  llvm::SmallVector<stablehlo::CustomCallOp> constraints;
  module.walk([&](stablehlo::CustomCallOp call) {
    if (call.getCallTargetName() == "Sharding" && call->getNumOperands() == 1 && call->getNumResults() == 1 &&
        call->getOperand(0).getType() == call->getResult(0).getType()) {
      constraints.push_back(call);
    }
  });
  for (stablehlo::CustomCallOp call : constraints) {
    Result<sdy::TensorShardingAttr> attribute =
        translate(call->getAttr(kOldShardingAttr), call->getResult(0).getType(), OpenDims(call));
    if (!attribute.ok()) return attribute.status().WithContext("a call of @Sharding");
    if (!*attribute) continue;
    mlir::OpBuilder b(call);
    call->getResult(0).replaceAllUsesWith(
        sdy::ShardingConstraintOp::create(b, call.getLoc(), call->getOperand(0), *attribute).getResult());
    call->erase();
  }
  return OkStatus();
}

}  // namespace tenon::hlo
