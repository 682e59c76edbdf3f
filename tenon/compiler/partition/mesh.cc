#include "tenon/compiler/partition/mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "mlir/IR/SymbolTable.h"

namespace tenon::compiler {

namespace {

bool IsWanted(sdy::AxisRefAttr axis, llvm::ArrayRef<mlir::StringAttr> only) {
  return only.empty() ||
         std::any_of(only.begin(), only.end(), [&](mlir::StringAttr a) { return a.getValue() == axis.getName(); });
}

}  // namespace

Result<Mesh> Mesh::Create(sdy::MeshAttr attr, int64_t num_devices) {
  if (const std::string wrong = sdy::WhatIsWrong(attr); !wrong.empty()) return InvalidArgument("a mesh " + wrong);
  Mesh mesh;
  int64_t total = 1;
  for (sdy::MeshAxisAttr axis : attr.getAxes()) {
    total *= axis.getSize();
    mesh.axes_.emplace_back(axis.getName().str(), axis.getSize());
  }
  mesh.coordinates_.assign(static_cast<size_t>(num_devices), std::vector<int64_t>(mesh.axes_.size(), 0));
  // Without axes the mesh is empty, or one device that holds everything: either way nothing is cut.
  if (mesh.axes_.empty()) return mesh;
  if (total != num_devices) {
    return InvalidArgument(fmt::format("a mesh has {} devices, the program {}", total, num_devices));
  }
  const llvm::ArrayRef<int64_t> ids = attr.getDeviceIds();
  for (int64_t position = 0; position < total; ++position) {
    const int64_t device = ids.empty() ? position : ids[static_cast<size_t>(position)];
    int64_t rest = position;
    for (size_t a = mesh.axes_.size(); a-- > 0;) {
      mesh.coordinates_[static_cast<size_t>(device)][a] = rest % mesh.axes_[a].second;
      rest /= mesh.axes_[a].second;
    }
  }
  return mesh;
}

Result<int64_t> Mesh::Size(llvm::StringRef axis, sdy::SubAxisInfoAttr sub) const {
  for (const auto& [name, size] : axes_) {
    if (name == axis) return sub ? sub.getSize() : size;
  }
  return NotFound(fmt::format("the mesh has no axis '{}'", axis.str()));
}

Result<int64_t> Mesh::Position(int64_t device, llvm::StringRef axis, sdy::SubAxisInfoAttr sub) const {
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].first != axis) continue;
    const int64_t position = coordinates_[static_cast<size_t>(device)][a];
    if (!sub) return position;
    // The axis is [pre, size, rest]; the sub-axis is the middle.
    const int64_t rest = axes_[a].second / (sub.getPreSize() * sub.getSize());
    return position / rest % sub.getSize();
  }
  return NotFound(fmt::format("the mesh has no axis '{}'", axis.str()));
}

Result<int64_t> Mesh::FlatPosition(int64_t device, llvm::ArrayRef<sdy::AxisRefAttr> axes) const {
  int64_t flat = 0;
  for (sdy::AxisRefAttr axis : axes) {
    TENON_ASSIGN_OR_RETURN(const int64_t size, Size(axis.getName(), axis.getSubAxisInfo()));
    TENON_ASSIGN_OR_RETURN(const int64_t position, Position(device, axis.getName(), axis.getSubAxisInfo()));
    flat = flat * size + position;
  }
  return flat;
}

Result<int64_t> Mesh::FlatSize(llvm::ArrayRef<sdy::AxisRefAttr> axes) const {
  int64_t flat = 1;
  for (sdy::AxisRefAttr axis : axes) {
    TENON_ASSIGN_OR_RETURN(const int64_t size, Size(axis.getName(), axis.getSubAxisInfo()));
    flat *= size;
  }
  return flat;
}

Result<Tiling> Mesh::TilingOf(sdy::TensorShardingAttr sharding, llvm::ArrayRef<mlir::StringAttr> only) const {
  Tiling tiling;
  tiling.tile_of_device.resize(coordinates_.size());
  for (sdy::DimensionShardingAttr dim : sharding.getDimShardings()) {
    std::vector<sdy::AxisRefAttr> axes;
    for (sdy::AxisRefAttr axis : dim.getAxes()) {
      if (IsWanted(axis, only)) axes.push_back(axis);
    }
    TENON_ASSIGN_OR_RETURN(const int64_t tiles, FlatSize(axes));
    tiling.tiles.push_back(tiles);
    for (int64_t d = 0; d < num_devices(); ++d) {
      TENON_ASSIGN_OR_RETURN(const int64_t position, FlatPosition(d, axes));
      tiling.tile_of_device[static_cast<size_t>(d)].push_back(position);
    }
  }
  return tiling;
}

sdy::MeshAttr FindMesh(mlir::Attribute mesh_or_ref, mlir::Operation* from) {
  auto symbol = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(mesh_or_ref);
  if (!symbol) return mlir::dyn_cast<sdy::MeshAttr>(mesh_or_ref);
  auto op = mlir::SymbolTable::lookupNearestSymbolFrom<sdy::MeshOp>(from, symbol);
  return op ? op.getMesh() : sdy::MeshAttr();
}

namespace {

Result<sdy::MeshAttr> MeshAttrOf(sdy::TensorShardingAttr sharding, mlir::Operation* from) {
  if (const sdy::MeshAttr mesh = FindMesh(sharding.getMeshOrRef(), from)) return mesh;
  auto symbol = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(sharding.getMeshOrRef());
  if (!symbol) return InvalidArgument("a sharding names no mesh");
  return InvalidArgument(fmt::format("no mesh is called '{}'", symbol.getValue().str()));
}

}  // namespace

Result<Mesh> MeshOf(sdy::TensorShardingAttr sharding, mlir::Operation* from, int64_t num_devices) {
  TENON_ASSIGN_OR_RETURN(const sdy::MeshAttr mesh, MeshAttrOf(sharding, from));
  return Mesh::Create(mesh, num_devices);
}

Status CheckShardings(mlir::ModuleOp module) {
  Status status;
  module.walk([&](mlir::Operation* op) {
    const auto check = [&](sdy::TensorShardingAttr sharding) {
      if (!status.ok()) return;
      const Result<sdy::MeshAttr> mesh = MeshAttrOf(sharding, op);
      std::string wrong = mesh.ok() ? sdy::WhatIsWrong(*mesh) : std::string(mesh.status().message());
      if (mesh.ok()) wrong = wrong.empty() ? sdy::WhatIsWrong(sharding, *mesh) : "its mesh " + wrong;
      if (!wrong.empty())
        status = InvalidArgument(fmt::format("{}: a sharding: {}", op->getName().getStringRef().str(), wrong));
    };
    for (const mlir::NamedAttribute& attribute : op->getAttrs()) {
      // Constants hold no shardings, and may be large.
      if (!mlir::isa<mlir::ElementsAttr>(attribute.getValue())) attribute.getValue().walk(check);
    }
    return status.ok() ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  return status;
}

Result<Tiling> Stacked(Tiling tiling, const Mesh& mesh, sdy::TensorShardingAttr sharding,
                       llvm::ArrayRef<mlir::StringAttr> only) {
  std::vector<sdy::AxisRefAttr> axes;
  for (sdy::AxisRefAttr axis : sharding.getUnreducedAxes()) {
    if (IsWanted(axis, only)) axes.push_back(axis);
  }
  TENON_ASSIGN_OR_RETURN(const int64_t positions, mesh.FlatSize(axes));
  if (positions == 1) return tiling;
  tiling.stacked = true;
  tiling.tiles.insert(tiling.tiles.begin(), positions);
  for (int64_t d = 0; d < mesh.num_devices(); ++d) {
    TENON_ASSIGN_OR_RETURN(const int64_t position, mesh.FlatPosition(d, axes));
    Dims& tile = tiling.tile_of_device[static_cast<size_t>(d)];
    tile.insert(tile.begin(), position);
  }
  return tiling;
}

Dims PlainTiles(const Tiling& tiling, const Dims& tiles) {
  return tiling.stacked ? Dims(tiles.begin() + 1, tiles.end()) : tiles;
}

Tiling Replicated(size_t rank, int64_t num_devices) {
  return {Dims(rank, 1), std::vector<Dims>(static_cast<size_t>(num_devices), Dims(rank, 0))};
}

std::string ManualOpSharding() {
  constexpr int kManual = 4;  // structural: numbers of a format
  std::string bytes;
  protozero::pbf_writer(bytes).add_enum(1, kManual);
  return bytes;
}

std::string TupleOpSharding(const std::vector<std::string>& shardings) {
  constexpr int kTuple = 2;  // structural: numbers of a format
  if (shardings.size() == 1) return shardings[0];
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_enum(1, kTuple);
  for (const std::string& sharding : shardings) out.add_message(5, sharding);
  return bytes;
}

namespace {

// An xla.OpSharding has no field for the kind of combination: it is metadata.
std::string ReductionMetadata(sdy::ReductionOp op) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_string(1, "sdy::reduction_op");
  out.add_string(2, op == sdy::ReductionOp::MAX ? "MAX" : "MIN");
  return bytes;
}

}  // namespace

std::string ToOpSharding(const Tiling& tiling, sdy::ReductionOp op) {
  constexpr int kReplicated = 0, kOther = 3, kUnreduced = 6;  // structural: numbers of a format
  const int64_t tiles = NumElements(tiling.tiles);
  const auto devices = static_cast<int64_t>(tiling.tile_of_device.size());
  std::string bytes;
  protozero::pbf_writer out(bytes);
  if (tiles <= 1) {
    out.add_enum(1, kReplicated);
    return bytes;
  }
  // Devices in the order of the tiles that they hold; those that share one are neighbours, those that hold the same
  // partial value of it a partial value apart.
  std::vector<std::vector<int64_t>> holders(static_cast<size_t>(tiles));
  const Dims strides = RowMajorStridesElems(tiling.tiles);
  for (int64_t d = 0; d < devices; ++d) {
    int64_t flat = 0;
    for (size_t i = 0; i < strides.size(); ++i) flat += tiling.tile_of_device[static_cast<size_t>(d)][i] * strides[i];
    holders[static_cast<size_t>(flat)].push_back(d);
  }
  const int64_t partial = tiling.stacked ? tiling.tiles[0] : 1;
  const Dims plain = PlainTiles(tiling, tiling.tiles);
  std::vector<int64_t> dims(plain.begin(), plain.end());
  const bool shared = tiles < devices;
  if (shared) dims.push_back(devices / tiles);
  if (tiling.stacked) dims.push_back(partial);
  std::vector<int64_t> order;
  const int64_t places = tiles / partial;
  for (int64_t place = 0; place < places; ++place) {
    for (int64_t k = 0; k < devices / tiles; ++k) {
      for (int64_t p = 0; p < partial; ++p) {
        const std::vector<int64_t>& h = holders[static_cast<size_t>(p * places + place)];
        if (static_cast<size_t>(k) < h.size()) order.push_back(h[static_cast<size_t>(k)]);
      }
    }
  }
  out.add_enum(1, kOther);
  out.add_packed_int64(3, dims.begin(), dims.end());
  out.add_packed_int64(4, order.begin(), order.end());
  if (tiling.stacked) {
    std::vector<int32_t> last;
    if (shared) last.push_back(kReplicated);
    last.push_back(kUnreduced);
    out.add_packed_enum(8, last.begin(), last.end());
    if (op != sdy::ReductionOp::SUM) out.add_message(7, ReductionMetadata(op));
  } else if (shared) {
    out.add_bool(6, true);
  }
  return bytes;
}

}  // namespace tenon::compiler
