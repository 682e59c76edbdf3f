// Collectives, and instructions that are cut into a start and a done.

#include "tenon/dialect/hlo/emitter.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::hlo {

llvm::SmallVector<mlir::NamedAttribute> Emitter::GroupAttributes(const At& at, bool global_ids) {
  const Extras& x = at.x();
  size_t columns = 0;
  static const std::vector<std::vector<int64_t>>& none = *new std::vector<std::vector<int64_t>>;
  const auto& groups = x.replica_groups ? *x.replica_groups : none;
  for (const auto& group : groups) columns = std::max(columns, group.size());
  // No groups and one empty group both mean all devices.
  const bool all = columns == 0;
  llvm::SmallVector<mlir::NamedAttribute> attrs;
  attrs.push_back(b_.getNamedAttr("replica_groups", all ? Matrix({}, 0) : Matrix(groups, columns)));
  if (x.channel_id > 0)
    attrs.push_back(
        b_.getNamedAttr("channel_handle", stablehlo::ChannelHandleAttr::get(b_.getContext(), x.channel_id, 1)));
  if (global_ids && x.use_global_device_ids && !all)
    attrs.push_back(b_.getNamedAttr("use_global_device_ids", b_.getUnitAttr()));
  return attrs;
}

Result<Values> Emitter::StartTuple(const At& at, Values operands, Values results) {
  // all-gather-start and collective-permute-start: (operands, results, contexts...).
  Values all = std::move(operands);
  all.append(results);
  llvm::SmallVector<mlir::Type> types;
  TENON_RETURN_IF_ERROR(LeafTypes(at.i.shape, types));
  while (all.size() < types.size()) {
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(types[all.size()]);
    if (!type) return Unimplemented("a start whose tuple holds tokens");
    all.push_back(Zero(type, at.loc));
  }
  return all;
}

Result<Values> Emitter::AllReduce(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  TENON_RETURN_IF_ERROR(WantsCalled(at, 1));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.all_reduce", {}, 1));
  Set(op, GroupAttributes(at, true));
  TENON_RETURN_IF_ERROR(FillRegion(op->getRegion(0), module_.computations[at.i.called[0]], at.loc, true));
  return Results(op);
}

Result<Values> Emitter::AllGather(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  if (at.i.dims.size() != 1) return InvalidArgument(fmt::format("{} dimensions; 1 wanted", at.i.dims.size()));
  const bool start = at.i.opcode == "all-gather-start";
  if (start && at.i.shape.members.size() < 2) return InvalidArgument("its shape is no tuple (operands, results)");
  llvm::SmallVector<mlir::Type> types;
  TENON_RETURN_IF_ERROR(LeafTypes(start ? at.i.shape.members[1] : at.i.shape, types));
  mlir::Operation* op =
      Make(at.loc, "stablehlo.all_gather", Operands(at), types, {{"all_gather_dim", I64(at.i.dims[0])}});
  Set(op, GroupAttributes(at, true));
  return start ? StartTuple(at, Operands(at), Results(op)) : Results(op);
}

Result<Values> Emitter::ReduceScatter(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  TENON_RETURN_IF_ERROR(WantsCalled(at, 1));
  if (at.i.dims.size() != 1) return InvalidArgument(fmt::format("{} dimensions; 1 wanted", at.i.dims.size()));
  llvm::SmallVector<mlir::Type> types;
  TENON_RETURN_IF_ERROR(LeafTypes(at.i.shape, types));
  if (types.size() != at.i.operands.size())
    return InvalidArgument(fmt::format("{} operands and {} results", at.i.operands.size(), types.size()));
  Values results;
  for (size_t n = 0; n < types.size(); ++n) {
    mlir::Operation* op =
        Make(at.loc, "stablehlo.reduce_scatter", at.in(n), types[n], {{"scatter_dimension", I64(at.i.dims[0])}}, 1);
    Set(op, GroupAttributes(at, true));
    TENON_RETURN_IF_ERROR(FillRegion(op->getRegion(0), module_.computations[at.i.called[0]], at.loc, true));
    results.push_back(op->getResult(0));
  }
  return results;
}

Result<Values> Emitter::AllToAll(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  if (at.i.dims.size() == 1) {
    // No groups and one empty group both mean all devices.
    const auto& groups = at.x().replica_groups;
    const bool all = !groups || groups->empty() || groups->front().empty();
    const int64_t everybody = at.x().channel_id > 0 ? module_.num_partitions : module_.replica_count;
    const auto count = all ? std::max<int64_t>(everybody, 1) : static_cast<int64_t>(groups->front().size());
    TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.all_to_all",
                                                          {{"split_dimension", I64(at.i.dims[0])},
                                                           {"concat_dimension", I64(at.i.dims[0])},
                                                           {"split_count", I64(count)}}));
    Set(op, GroupAttributes(at, false));
    return Results(op);
  }
  // The tuple form: operand n goes to member n, result n comes from it. As one array with a leading dim that counts
  // members.
  const auto count = static_cast<int64_t>(at.i.operands.size());
  auto part = count == 0 ? mlir::RankedTensorType() : TypeOf(at.in(0)[0]);
  if (!part) return InvalidArgument("no operands");
  llvm::SmallVector<int64_t> dims(part.getShape());
  dims.insert(dims.begin(), 1);
  const auto one = mlir::RankedTensorType::get(dims, part.getElementType());
  dims[0] = count;
  const auto all = mlir::RankedTensorType::get(dims, part.getElementType());
  Values parts;
  for (mlir::Value v : Operands(at)) {
    if (v.getType() != part) return InvalidArgument("operands of different shapes");
    parts.push_back(Make(at.loc, "stablehlo.reshape", v, one)->getResult(0));
  }
  mlir::Value joined = Make(at.loc, "stablehlo.concatenate", parts, all, {{"dimension", I64(0)}})->getResult(0);
  mlir::Operation* op = Make(at.loc, "stablehlo.all_to_all", joined, all,
                             {{"split_dimension", I64(0)}, {"concat_dimension", I64(0)}, {"split_count", I64(count)}});
  Set(op, GroupAttributes(at, false));
  Values results;
  for (int64_t n = 0; n < count; ++n) {
    std::vector<int64_t> start(dims.size(), 0), limit(dims.begin(), dims.end()), stride(dims.size(), 1);
    start[0] = n;
    limit[0] = n + 1;
    mlir::Operation* slice =
        Make(at.loc, "stablehlo.slice", op->getResults(), one,
             {{"start_indices", Array(start)}, {"limit_indices", Array(limit)}, {"strides", Array(stride)}});
    results.push_back(Make(at.loc, "stablehlo.reshape", slice->getResults(), part)->getResult(0));
  }
  return results;
}

Result<Values> Emitter::CollectivePermute(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  std::vector<std::vector<int64_t>> pairs;
  for (const auto& [source, target] : at.x().source_target_pairs) pairs.push_back({source, target});
  mlir::Attribute channel;
  if (at.x().channel_id > 0) channel = stablehlo::ChannelHandleAttr::get(b_.getContext(), at.x().channel_id, 1);
  mlir::Operation* op = Make(at.loc, "stablehlo.collective_permute", at.in(0), at.in(0)[0].getType(),
                             {{"source_target_pairs", Matrix(pairs, 2)}, {"channel_handle", channel}});
  return at.i.opcode == "collective-permute" ? Results(op) : StartTuple(at, at.in(0), Results(op));
}

Result<Values> Emitter::CollectiveBroadcast(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.collective_broadcast"));
  Set(op, GroupAttributes(at, false));
  return Results(op);
}

Result<Values> Emitter::DeviceId(const At& at) {
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, at.i.opcode == "replica-id" ? "stablehlo.replica_id" : "stablehlo.partition_id"));
  return Results(op);
}

Result<Values> Emitter::AsyncStart(const At& at) {
  if (at.i.opcode == "copy-start") {
    // (destination, source, context)
    TENON_RETURN_IF_ERROR(Wants(at, 1));
    return StartTuple(at, at.in(0), at.in(0));
  }
  TENON_RETURN_IF_ERROR(WantsCalled(at, 1));
  const Values operands = Operands(at);
  TENON_ASSIGN_OR_RETURN(Values results, Call(at, at.i.called[0], operands));
  return StartTuple(at, operands, results);
}

Result<Values> Emitter::AsyncDone(const At& at) {
  if (at.i.operands.size() != 1)
    return InvalidArgument(fmt::format("{} operands; the start is wanted", at.i.operands.size()));
  const Shape& start = at.shape(0);
  if (at.i.opcode == "all-reduce-done") return at.in(0);
  const size_t member = at.i.opcode == "copy-done" ? 0 : 1;
  if (start.members.size() <= member)
    return InvalidArgument(fmt::format("its operand {} is no start", ToText(start, false)));
  const int64_t from = member == 0 ? 0 : CountLeaves(start.members[0]);
  const int64_t count = CountLeaves(start.members[member]);
  return Values(at.in(0).begin() + from, at.in(0).begin() + from + count);
}

}  // namespace tenon::hlo
