// What a mesh, and a sharding over it, must be for every device to have its place.

#include <fmt/format.h>

#include "tenon/dialect/sdy/dialect.h"

namespace tenon::sdy {
namespace {

// A part of an axis: the axis seen as [before, behind / before, rest], of which it is the middle.
struct Part {
  AxisRefAttr axis;
  int64_t before = 1;
  int64_t behind = 1;
};

std::string ToString(AxisRefAttr axis) {
  const SubAxisInfoAttr sub = axis.getSubAxisInfo();
  if (!sub) return fmt::format("'{}'", axis.getName().str());
  return fmt::format("'{}':({}){}", axis.getName().str(), sub.getPreSize(), sub.getSize());
}

// Whether two parts of one axis say different things of the same devices, or cut it so that neither refines the other.
bool Collide(const Part& a, const Part& b) {
  if (a.axis.getName() != b.axis.getName()) return false;
  const Part& first = a.before <= b.before ? a : b;
  const Part& second = a.before <= b.before ? b : a;
  return first.behind > second.before || second.before % first.behind != 0;
}

}  // namespace

llvm::LogicalResult VerifyRank(mlir::Operation* op, TensorShardingAttr sharding, mlir::Type type) {
  auto shaped = mlir::dyn_cast<mlir::ShapedType>(type);
  if (!shaped || !shaped.hasRank()) return mlir::success();
  const size_t dims = sharding.getDimShardings().size();
  if (dims == 0 || dims == static_cast<size_t>(shaped.getRank())) return mlir::success();
  return op->emitOpError("has a sharding of ") << dims << " dimensions for a tensor of rank " << shaped.getRank();
}

std::string WhatIsWrong(MeshAttr mesh) {
  int64_t devices = 1;
  llvm::SmallVector<llvm::StringRef> names;
  for (MeshAxisAttr axis : mesh.getAxes()) {
    if (axis.getSize() < 1) return fmt::format("has an axis '{}' of size {}", axis.getName().str(), axis.getSize());
    if (llvm::is_contained(names, axis.getName()))
      return fmt::format("has two axes of the name '{}'", axis.getName().str());
    names.push_back(axis.getName());
    if (__builtin_mul_overflow(devices, axis.getSize(), &devices)) return "has more devices than can be counted";
  }
  const llvm::ArrayRef<int64_t> ids = mesh.getDeviceIds();
  if (ids.empty()) return {};
  if (static_cast<int64_t>(ids.size()) != devices)
    return fmt::format("has {} device ids for {} devices", ids.size(), devices);
  llvm::SmallVector<int64_t> sorted(ids);
  llvm::sort(sorted);
  // A maximal mesh, of no axes, names its one device.
  if (mesh.getAxes().empty()) return sorted[0] >= 0 ? "" : "has a negative device id";
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return "has device ids that are no permutation";
  }
  return {};
}

std::string WhatIsWrong(TensorShardingAttr sharding, MeshAttr mesh) {
  llvm::SmallVector<Part> parts;
  const auto add = [&](AxisRefAttr axis) -> std::string {
    const auto named = [&](MeshAxisAttr a) { return a.getName() == axis.getName(); };
    const auto found = llvm::find_if(mesh.getAxes(), named);
    if (found == mesh.getAxes().end()) return fmt::format("the mesh has no axis {}", ToString(axis));
    Part part{axis, 1, found->getSize()};
    if (const SubAxisInfoAttr sub = axis.getSubAxisInfo()) {
      part.before = sub.getPreSize();
      if (part.before < 1 || sub.getSize() < 2 || __builtin_mul_overflow(part.before, sub.getSize(), &part.behind) ||
          found->getSize() % part.behind != 0)
        return fmt::format("{} is no part of an axis of size {}", ToString(axis), found->getSize());
    }
    for (const Part& other : parts) {
      if (Collide(part, other)) return fmt::format("{} is used beside {}", ToString(axis), ToString(other.axis));
    }
    parts.push_back(part);
    return {};
  };
  const auto add_all = [&](llvm::ArrayRef<AxisRefAttr> axes) -> std::string {
    for (AxisRefAttr axis : axes) {
      if (std::string wrong = add(axis); !wrong.empty()) return wrong;
    }
    return {};
  };
  for (DimensionShardingAttr dim : sharding.getDimShardings()) {
    if (std::string wrong = add_all(dim.getAxes()); !wrong.empty()) return wrong;
  }
  if (std::string wrong = add_all(sharding.getReplicatedAxes()); !wrong.empty()) return wrong;
  return add_all(sharding.getUnreducedAxes());
}

}  // namespace tenon::sdy
