#include "tenon/compiler/partition/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "mlir/IR/SymbolTable.h"
#include "tenon/compiler/partition/contents.h"
#include "tenon/compiler/partition/mesh.h"
#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }

bool HasChannel(mlir::Operation* op) {
  auto channel = op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
  return channel && channel.getHandle() > 0;
}

// Groups written as axes of a mesh, over the partitions of each replica.
Result<Groups> MeshGroups(mlir::Operation* op, stablehlo::ReplicaGroupMeshAxesAttr attr, const Instances& n) {
  const sdy::MeshAttr mesh_attr = FindMesh(attr.getMesh(), op);
  if (!mesh_attr) return Unimplemented("replica groups over a mesh that is not an sdy.mesh");
  TENON_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::Create(mesh_attr, n.num_partitions));
  // Two devices are in one group when they agree along every other axis; inside a group they stand in the order of the
  // named axes, the first one major.
  std::map<std::vector<int64_t>, std::map<int64_t, int64_t>> by_rest;
  for (int64_t d = 0; d < n.num_partitions; ++d) {
    std::vector<int64_t> rest;
    for (sdy::MeshAxisAttr axis : mesh_attr.getAxes()) {
      TENON_ASSIGN_OR_RETURN(int64_t position, mesh.Position(d, axis.getName()));
      for (stablehlo::AxisRefAttr named : attr.getAxes()) {
        if (named.getName() != axis.getName()) continue;
        if (named.getSubAxisInfo()) return Unimplemented("replica groups over a part of a mesh axis");
        position = 0;
      }
      rest.push_back(position);
    }
    int64_t order = 0;
    for (stablehlo::AxisRefAttr named : attr.getAxes()) {
      TENON_ASSIGN_OR_RETURN(const int64_t size, mesh.Size(named.getName()));
      TENON_ASSIGN_OR_RETURN(const int64_t position, mesh.Position(d, named.getName()));
      order = order * size + position;
    }
    by_rest[rest][order] = d;
  }
  Groups groups;
  for (int64_t r = 0; r < n.num_replicas; ++r) {
    for (const auto& [rest, members] : by_rest) {
      std::vector<int64_t>& group = groups.emplace_back();
      for (const auto& [order, d] : members) group.push_back(r * n.num_partitions + d);
    }
  }
  return groups;
}

// Rows of a matrix of ids, -1 being padding. No rows: one group of `all` ids.
Groups Rows(mlir::DenseIntElementsAttr attr, int64_t all) {
  Groups rows;
  auto type = mlir::cast<mlir::RankedTensorType>(attr.getType());
  const int64_t width = type.getRank() == 2 ? type.getDimSize(1) : type.getNumElements();
  int64_t i = 0;
  for (const llvm::APInt& v : attr.getValues<llvm::APInt>()) {
    if (i++ % std::max<int64_t>(width, 1) == 0) rows.emplace_back();
    if (v.getSExtValue() >= 0) rows.back().push_back(v.getSExtValue());
  }
  if (rows.empty()) {
    rows.emplace_back(static_cast<size_t>(all));
    std::iota(rows[0].begin(), rows[0].end(), int64_t{0});
  }
  return rows;
}

// What the numbers in the groups mean depends on the channel and on use_global_device_ids.
Groups ToDevices(mlir::Operation* op, mlir::DenseIntElementsAttr attr, const Instances& n) {
  const int64_t replicas = n.num_replicas, partitions = n.num_partitions;
  if (op->hasAttr("use_global_device_ids")) return Rows(attr, replicas * partitions);
  Groups out;
  if (!HasChannel(op)) {  // Replica ids, within each partition.
    for (int64_t p = 0; p < partitions; ++p) {
      for (const auto& row : Rows(attr, replicas)) {
        auto& group = out.emplace_back();
        for (int64_t r : row) group.push_back(r * partitions + p);
      }
    }
    return out;
  }
  if (mlir::isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(
          op)) {  // Replica ids, over all partitions.
    for (const auto& row : Rows(attr, replicas)) {
      auto& group = out.emplace_back();
      for (int64_t p = 0; p < partitions; ++p) {
        for (int64_t r : row) group.push_back(r * partitions + p);
      }
    }
    return out;
  }
  for (int64_t r = 0; r < replicas; ++r) {  // Partition ids, within each replica.
    for (const auto& row : Rows(attr, partitions)) {
      auto& group = out.emplace_back();
      for (int64_t p : row) group.push_back(r * partitions + p);
    }
  }
  return out;
}

int64_t Integer(mlir::Operation* op, llvm::StringRef name) {
  return op->getAttrOfType<mlir::IntegerAttr>(name).getInt();
}

// Whether operands and results are of the shapes that groups of `size` instances make; the verifier knows sizes only
// where they are written out.
Status FitsGroups(mlir::Operation* op, int64_t size) {
  const auto wrong = [&](int64_t wanted) {
    return InvalidArgument(fmt::format("{}: a group has {} processes, its types and attributes are for {}",
                                       op->getName().getStringRef().str(), size, wanted));
  };
  if (mlir::isa<stablehlo::AllToAllOp>(op)) {
    const int64_t wanted = Integer(op, "split_count");
    return wanted == size ? OkStatus() : wrong(wanted);
  }
  const bool gathers = mlir::isa<stablehlo::AllGatherOp>(op);
  if (!gathers && !mlir::isa<stablehlo::ReduceScatterOp>(op)) return OkStatus();
  const auto dim = static_cast<unsigned>(Integer(op, gathers ? "all_gather_dim" : "scatter_dimension"));
  for (const auto [operand, result] : llvm::zip(op->getOperands(), op->getResults())) {
    const int64_t part = TypeOf(gathers ? operand : result).getDimSize(dim);
    const int64_t whole = TypeOf(gathers ? result : operand).getDimSize(dim);
    if (whole % size != 0 || whole / size != part) return wrong(part > 0 ? whole / part : 0);
  }
  return OkStatus();
}

}  // namespace

Result<std::pair<int64_t, int64_t>> EndsOf(const std::vector<int64_t>& pair, const Instances& n) {
  if (pair.size() != 2)
    return InvalidArgument(fmt::format("collective_permute has {} devices in place of a pair", pair.size()));
  const int64_t source = n.Of(pair[0]), target = n.Of(pair[1]);
  if (source >= 0 && target >= 0) return std::pair(source, target);
  return InvalidArgument(fmt::format("collective_permute from device {} to device {}, of {} replicas and {} partitions",
                                     pair[0], pair[1], n.num_replicas, n.num_partitions));
}

Result<std::vector<std::vector<int64_t>>> InstanceGroups(mlir::Operation* op, const Instances& n) {
  TENON_ASSIGN_OR_RETURN(const Groups devices, ProcessGroups(op, n));
  Groups groups;
  std::vector<bool> seen(n.size(), false);
  for (const auto& row : devices) {
    std::vector<int64_t> group;
    for (int64_t d : row) {
      const int64_t i = n.Of(d);
      if (i < 0) return InvalidArgument(fmt::format("{} names process {}", op->getName().getStringRef().str(), d));
      if (std::find(group.begin(), group.end(), i) == group.end()) group.push_back(i);
    }
    if (std::find(groups.begin(), groups.end(), group) != groups.end()) continue;
    TENON_RETURN_IF_ERROR(FitsGroups(op, static_cast<int64_t>(group.size())));
    for (int64_t i : group) {
      if (seen[static_cast<size_t>(i)])
        return InvalidArgument(fmt::format("{}: process {} is in two groups", op->getName().getStringRef().str(), i));
      seen[static_cast<size_t>(i)] = true;
    }
    groups.push_back(std::move(group));
  }
  // What nobody sends something to has zeros.
  const bool complete = mlir::isa<stablehlo::CollectiveBroadcastOp>(op) ||
                        std::all_of(seen.begin(), seen.end(), [](bool s) { return s; });
  if (!complete)
    return InvalidArgument(fmt::format("{}: not every process is in a group", op->getName().getStringRef().str()));
  return groups;
}

// A body of one op on its two arguments, with nothing that says more of it, is that op; any other becomes a map.
mlir::Value Combine(mlir::OpBuilder& b, mlir::Operation* op, mlir::Value x, mlir::Value y) {
  if (op->getNumRegions() == 0) {
    mlir::OperationState state(op->getLoc(), stablehlo::AddOp::getOperationName(), {x, y}, {x.getType()});
    return b.create(state)->getResult(0);
  }
  mlir::Block& body = op->getRegion(0).front();
  mlir::Operation& first = body.front();
  const bool single = body.getOperations().size() == 2 && first.getNumOperands() == 2 && first.getNumResults() == 1 &&
                      first.getNumRegions() == 0 && first.getAttrs().empty() &&
                      first.getOperand(0) == body.getArgument(0) && first.getOperand(1) == body.getArgument(1) &&
                      body.getTerminator()->getOperand(0) == first.getResult(0) &&
                      first.getResult(0).getType() == first.getOperand(0).getType();
  if (single) {
    mlir::OperationState state(op->getLoc(), first.getName().getStringRef(), {x, y}, {x.getType()});
    return b.create(state)->getResult(0);
  }
  mlir::OperationState state(op->getLoc(), stablehlo::MapOp::getOperationName(), {x, y}, {x.getType()});
  llvm::SmallVector<int64_t> dims(static_cast<size_t>(TypeOf(x).getRank()));
  std::iota(dims.begin(), dims.end(), int64_t{0});
  state.addAttribute("dimensions", b.getDenseI64ArrayAttr(dims));
  mlir::IRMapping map;
  op->getRegion(0).cloneInto(state.addRegion(), map);
  return b.create(state)->getResult(0);
}

mlir::Value Part(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, int64_t dim, int64_t index, int64_t count) {
  llvm::SmallVector<int64_t> sizes(TypeOf(x).getShape());
  llvm::SmallVector<int64_t> starts(sizes.size(), 0);
  sizes[static_cast<size_t>(dim)] /= count;
  starts[static_cast<size_t>(dim)] = index * sizes[static_cast<size_t>(dim)];
  return Slice(b, loc, x, starts, sizes);
}

namespace {

mlir::Value Sum(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes, const std::vector<int64_t>& group) {
  mlir::Value total = lanes[static_cast<size_t>(group[0])];
  for (size_t i = 1; i < group.size(); ++i) total = Combine(b, op, total, lanes[static_cast<size_t>(group[i])]);
  return total;
}

// The lanes in the types of the results: a reduction may be of a wider type than what it reduces.
std::vector<Lanes> AsResults(mlir::OpBuilder& b, mlir::Operation* op, std::vector<Lanes> operands) {
  for (const auto [lanes, result] : llvm::zip(operands, op->getResults())) {
    const mlir::Type element = TypeOf(result).getElementType();
    for (mlir::Value& lane : lanes) {
      const mlir::RankedTensorType type = TypeOf(lane);
      if (type.getElementType() == element) continue;
      lane = stablehlo::ConvertOp::create(b, op->getLoc(), mlir::RankedTensorType::get(type.getShape(), element), lane);
    }
  }
  return operands;
}

Result<std::vector<Lanes>> Permute(mlir::OpBuilder& b, mlir::Operation* op, const Lanes& lanes, const Instances& n) {
  TENON_ASSIGN_OR_RETURN(const Groups pairs, ProcessGroups(op, n));
  Lanes out(lanes.size());
  for (const auto& pair : pairs) {
    TENON_ASSIGN_OR_RETURN(const auto ends, EndsOf(pair, n));
    const auto [source, target] = ends;
    out[static_cast<size_t>(target)] = lanes[static_cast<size_t>(source)];
  }
  mlir::Value zero;
  for (mlir::Value& v : out) {
    if (v) continue;
    if (!zero) {
      zero = Zeros(b, op->getLoc(), TypeOf(lanes[0]));
    }
    v = zero;
  }
  return std::vector<Lanes>{out};
}

}  // namespace

bool IsCollective(mlir::Operation* op) {
  return mlir::isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp, stablehlo::AllToAllOp,
                   stablehlo::CollectiveBroadcastOp, stablehlo::CollectivePermuteOp, stablehlo::ReduceScatterOp,
                   stablehlo::CrossReplicaSumOp>(op);
}

Result<std::vector<std::vector<int64_t>>> ProcessGroups(mlir::Operation* op, const Instances& n) {
  mlir::Attribute attr = mlir::isa<stablehlo::CollectivePermuteOp>(op) ? op->getAttr("source_target_pairs")
                                                                       : op->getAttr("replica_groups");
  if (auto mesh = mlir::dyn_cast_or_null<stablehlo::ReplicaGroupMeshAxesAttr>(attr)) return MeshGroups(op, mesh, n);
  auto dense = mlir::dyn_cast_or_null<mlir::DenseIntElementsAttr>(attr);
  if (!dense)
    return Unimplemented(fmt::format("{} with replica groups of an unknown kind", op->getName().getStringRef().str()));
  // No groups are all devices, no pairs none.
  if (mlir::isa<stablehlo::CollectivePermuteOp>(op) && dense.empty()) return Groups();
  Groups groups = ToDevices(op, dense, n);
  if (std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.empty(); }))
    return InvalidArgument(fmt::format("{}: a replica group of nobody", op->getName().getStringRef().str()));
  return groups;
}

Result<std::vector<Lanes>> ExpandCollective(mlir::OpBuilder& b, mlir::Operation* op,
                                            const std::vector<Lanes>& narrow_operands, const Instances& n) {
  const std::vector<Lanes> operands = AsResults(b, op, narrow_operands);
  TakeInConstants(op);
  if (CapturesValues(op)) {
    return Unimplemented(fmt::format("{}: what combines two elements uses a value from outside that is no constant",
                                     op->getName().getStringRef().str()));
  }
  if (n.remote != nullptr) return n.remote->Expand(b, op, operands);
  if (mlir::isa<stablehlo::CollectivePermuteOp>(op)) return Permute(b, op, operands[0], n);
  if (op->hasAttr("has_dynamic_root"))
    return Unimplemented(fmt::format("{} with a dynamic root", op->getName().getStringRef().str()));
  TENON_ASSIGN_OR_RETURN(const Groups groups, InstanceGroups(op, n));
  std::vector<Lanes> results;
  for (const Lanes& lanes : operands) {
    Lanes out(n.size());
    for (const auto& group : groups) {
      const auto size = static_cast<int64_t>(group.size());
      Lanes members;
      for (int64_t i : group) members.push_back(lanes[static_cast<size_t>(i)]);
      mlir::Value shared;
      if (mlir::isa<stablehlo::AllGatherOp>(op))
        shared = Concatenate(b, op->getLoc(), members, Integer(op, "all_gather_dim"));
      else if (mlir::isa<stablehlo::CollectiveBroadcastOp>(op))
        shared = members[0];
      else if (!mlir::isa<stablehlo::AllToAllOp>(op))
        shared = Sum(b, op, lanes, group);
      for (int64_t i = 0; i < size; ++i) {
        mlir::Value value = shared;
        if (mlir::isa<stablehlo::ReduceScatterOp>(op))
          value = Part(b, op->getLoc(), shared, Integer(op, "scatter_dimension"), i, size);
        if (mlir::isa<stablehlo::AllToAllOp>(op)) {
          Lanes parts;
          for (mlir::Value m : members)
            parts.push_back(Part(b, op->getLoc(), m, Integer(op, "split_dimension"), i, size));
          value = Concatenate(b, op->getLoc(), parts, Integer(op, "concat_dimension"));
        }
        out[static_cast<size_t>(group[static_cast<size_t>(i)])] = value;
      }
    }
    for (mlir::Value& v : out) v = v ? v : Zeros(b, op->getLoc(), TypeOf(lanes[0]));
    results.push_back(std::move(out));
  }
  return results;
}

}  // namespace tenon::compiler
