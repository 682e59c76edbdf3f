#include "tenon/dialect/hlo/shardings.h"

#include <fmt/format.h>

#include <map>

#include "mlir/IR/Builders.h"
#include "tenon/dialect/sdy/dialect.h"

namespace tenon::hlo {
namespace {

/// Makes sdy.sharding attributes, and a mesh for each grid of devices that they name.
class ShardingWriter {
 public:
  explicit ShardingWriter(mlir::func::FuncOp main) : main_(main), b_(main) {}

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
    using Kind = Sharding::Kind;
    if (!shape.is_array() || sharding.kind != Kind::kTiled) {
      if (sharding.kind == Kind::kManual)
        return Unimplemented(
            "a parameter or result that is cut by hand (sharding {manual}) is understood in StableHLO only");
      return OkStatus();
    }
    const size_t rank = shape.dims.size();
    if (sharding.tiles.size() != rank + sharding.trailing.size()) {
      return InvalidArgument(
          fmt::format("a sharding of {} dims and {} subgroups for {}",
                      sharding.tiles.size() - std::min(sharding.tiles.size(), sharding.trailing.size()),
                      sharding.trailing.size(), ToText(shape, false)));
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
    llvm::SmallVector<sdy::DimensionShardingAttr> dims;
    for (size_t d = 0; d < rank; ++d) {
      llvm::SmallVector<sdy::AxisRefAttr> axes;
      if (sharding.tiles[d] > 1) axes.push_back(sdy::AxisRefAttr::get(main_.getContext(), AxisName(d), {}));
      dims.push_back(sdy::DimensionShardingAttr::get(main_.getContext(), axes, true, std::nullopt));
    }
    set(at, sdy::TensorShardingAttr::get(main_.getContext(), mlir::FlatSymbolRefAttr::get(mesh), dims, {}, {},
                                         sdy::ReductionOp::SUM));
    return OkStatus();
  }

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
  std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, mlir::StringAttr> meshes_;
};

}  // namespace

Status SetShardings(const Module& module, mlir::func::FuncOp main) {
  const Computation& entry = module.computations[module.entry];
  ShardingWriter writer(main);
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

}  // namespace tenon::hlo
