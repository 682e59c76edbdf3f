// Checks of collectives, channels, calls and tuples. How many processes there are is not known here, so that upper
// limits of process ids are left to those who run the program.
#include "llvm/ADT/StringExtras.h"
#include "tenon/dialect/stablehlo/verify_util.h"

namespace tenon::stablehlo {

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::SmallVector;
using llvm::success;
using mlir::DenseIntElementsAttr;
using mlir::RankedTensorType;
using mlir::ShapedType;
using mlir::Type;

namespace {

// Processes per group; nothing if it is not known.
std::optional<int64_t> GroupSize(mlir::Attribute groups) {
  auto dense = llvm::dyn_cast<DenseIntElementsAttr>(groups);
  if (!dense || dense.getType().getRank() != 2 || dense.getType().getNumElements() == 0) return std::nullopt;
  return dense.getType().getDimSize(1);
}

// As above for ops whose groups grow by the number of partitions when there is a channel but no global ids.
std::optional<int64_t> ProcessGroupSize(mlir::Attribute groups, bool global_ids,
                                        std::optional<ChannelHandleAttr> channel) {
  const bool across_partitions = channel && channel->getHandle() > 0 && !global_ids;
  return across_partitions ? std::nullopt : GroupSize(groups);
}

LogicalResult CheckGroups(mlir::Operation* op, mlir::Attribute groups, bool global_ids,
                          std::optional<ChannelHandleAttr> channel) {
  // all_gather_c5, all_reduce_c4, reduce_scatter_c6
  if (global_ids && (!channel || channel->getHandle() <= 0)) {
    return op->emitOpError() << "use_global_device_ids must come with a channel handle above 0, got "
                             << (channel ? std::to_string(channel->getHandle()) : "none");
  }
  auto dense = llvm::dyn_cast<DenseIntElementsAttr>(groups);
  if (!dense) return success();
  if (dense.getType().getRank() != 2) {
    return op->emitOpError() << "replica_groups must be a matrix, got " << dense.getType();
  }
  if (global_ids && dense.getType().getNumElements() == 0) {
    return op->emitOpError() << "replica_groups must not be empty beside use_global_device_ids";
  }
  // all_gather_c2, all_reduce_c1, all_to_all_c5, collective_broadcast_c1, collective_reduce_c1, reduce_scatter_c3: no
  // process in two groups; -1 fills up groups. all_gather_c4, all_reduce_c3, all_to_all_c7, collective_broadcast_c2,
  // collective_reduce_c2, reduce_scatter_c5: ids are not negative. Together with their number, which nobody knows here:
  // all_gather_c3, all_reduce_c2, all_to_all_c6, reduce_scatter_c4.
  // A splat of many ids may stand for more of them than there is memory for.
  if (dense.isSplat() && dense.getNumElements() > 1) {
    const auto id = dense.getSplatValue<int64_t>();
    if (id < -1) return op->emitOpError() << "replica_groups must hold ids of at least 0 (or -1), got " << id;
    if (id == -1) return op->emitOpError() << "replica_groups must hold an id, got nothing but -1";
    return op->emitOpError() << "replica_groups must not repeat id " << id;
  }
  llvm::SmallVector<int64_t> ids;
  for (int64_t id : dense.getValues<int64_t>()) {
    if (id < -1) return op->emitOpError() << "replica_groups must hold ids of at least 0 (or -1), got " << id;
    if (id != -1) ids.push_back(id);
  }
  // Ids are 0 .. n-1, each in one group.
  llvm::sort(ids);
  for (auto [index, id] : llvm::enumerate(ids)) {
    if (index > 0 && ids[index - 1] == id) return op->emitOpError() << "replica_groups must not repeat id " << id;
  }
  return success();
}

LogicalResult CheckPairs(mlir::Operation* op, DenseIntElementsAttr pairs) {
  const mlir::ShapedType type = pairs.getType();
  // collective_permute_c1, recv_c1, send_c1; an empty list may have any shape.
  if (type.getNumElements() == 0) return success();
  if (type.getRank() != 2 || type.getDimSize(1) != 2) {
    return op->emitOpError() << "source_target_pairs must have shape [N, 2], got " << type;
  }
  // A splat of many ids may stand for more of them than there is memory for.
  if (pairs.isSplat() && type.getDimSize(0) > 1) {
    const auto id = pairs.getSplatValue<int64_t>();
    if (id < 0) return op->emitOpError() << "source_target_pairs must hold ids of at least 0, got " << id;
    return op->emitOpError() << "sources of source_target_pairs must not repeat a value, got " << id << " for all";
  }
  SmallVector<int64_t> side[2];
  for (auto [index, id] : llvm::enumerate(pairs.getValues<int64_t>())) {
    // collective_permute_c4, recv_c4, send_c4
    if (id < 0) return op->emitOpError() << "source_target_pairs must hold ids of at least 0, got " << id;
    side[index % 2].push_back(id);
  }
  // collective_permute_c2, recv_c2, send_c2
  if (failed(CheckUnique(op, "sources of source_target_pairs", side[0]))) return failure();
  // collective_permute_c3, recv_c3, send_c3
  return CheckUnique(op, "targets of source_target_pairs", side[1]);
}

// One scalar computation for all operands; gives its element type.
LogicalResult CheckComputation(mlir::Operation* op, mlir::Region& region, mlir::ValueRange operands, Type& element) {
  if (operands.empty()) return op->emitOpError() << "expected at least one operand";
  for (mlir::Value operand : operands) {
    // all_reduce_c5, collective_reduce_c4, reduce_scatter_c7
    SmallVector<Type> elements;
    if (failed(CheckReducer(op, "computation", region, operand, {}, elements))) return failure();
    element = elements.front();
  }
  return success();
}

LogicalResult CheckSameTypes(mlir::Operation* op, mlir::TypeRange want) {
  if (AreCompatible(want, op->getResultTypes())) return success();
  return op->emitOpError() << "results must have types (" << want << "), got (" << op->getResultTypes() << ")";
}

SmallVector<Type> WithElements(mlir::TypeRange types, Type element) {
  SmallVector<Type> all;
  for (Type type : types) all.push_back(WithElement(llvm::cast<RankedTensorType>(type), element));
  return all;
}

// The last operand of an op with a dynamic root: one i32 per other operand.
LogicalResult CheckRoots(mlir::Operation* op, bool dynamic_root) {
  const int64_t count = op->getNumOperands();
  if (!dynamic_root) {
    // collective_broadcast_c3
    return count >= 1 ? success() : op->emitOpError() << "expected at least one operand";
  }
  // collective_broadcast_c4, collective_reduce_c3
  if (count < 2) return op->emitOpError() << "expected at least one operand before the roots, got " << count - 1;
  auto roots = Tensor(op->getOperand(count - 1));
  if (roots.getRank() == 1 && AgreeSizes(roots.getDimSize(0), count - 1) &&
      roots.getElementType().isSignlessInteger(32)) {
    return success();
  }
  return op->emitOpError() << "roots must have type tensor<" << count - 1 << "xi32>, got " << roots;
}

}  // namespace

//===--- Collectives ---===//

LogicalResult AllGatherOp::verify() {
  if (failed(CheckGroups(*this, getReplicaGroups(), getUseGlobalDeviceIds(), getChannelHandle()))) return failure();
  if (failed(CheckCount(*this, "results", getNumResults(), getNumOperands()))) return failure();
  const int64_t dim = static_cast<int64_t>(getAllGatherDim());
  for (auto [operand, result] : llvm::zip_equal(getOperandTypes(), getResultTypes())) {
    auto type = llvm::cast<RankedTensorType>(operand);
    auto to = llvm::cast<RankedTensorType>(result);
    // all_gather_c1
    if (failed(CheckInRange(*this, "all_gather_dim", dim, type.getRank()))) return failure();
    // all_gather_c6, as far as it is demanded in the field: the gathered size is a multiple of the operand's.
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = ShapedType::kDynamic;
    if (failed(CheckShape(*this, "result", to, shape))) return failure();
    if (type.getElementType() != to.getElementType()) {
      return emitOpError() << "result must have the element type of " << type << ", got " << to;
    }
    const int64_t from = type.getDimSize(dim), into = to.getDimSize(dim);
    if (!ShapedType::isDynamic(from) && !ShapedType::isDynamic(into) && (from == 0 ? into != 0 : into % from != 0)) {
      return emitOpError() << "result dimension " << dim << " must be a multiple of " << from << ", got " << to;
    }
  }
  return success();
}

LogicalResult AllReduceOp::verify() {
  Type element;
  if (failed(CheckGroups(*this, getReplicaGroups(), getUseGlobalDeviceIds(), getChannelHandle())) ||
      failed(CheckComputation(*this, getComputation(), getOperands(), element))) {
    return failure();
  }
  // all_reduce_c6, all_reduce_c7
  return CheckSameTypes(*this, WithElements(getOperandTypes(), element));
}

LogicalResult AllToAllOp::verify() {
  if (failed(CheckGroups(*this, getReplicaGroups(), false, getChannelHandle()))) return failure();
  const int64_t split = getSplitDimension(), concat = getConcatDimension(), count = getSplitCount();
  // all_to_all_c4
  if (failed(CheckAtLeast(*this, "split_count", count, 1))) return failure();
  // all_to_all_c8
  const std::optional<int64_t> group = GroupSize(getReplicaGroups());
  if (group && *group != count)
    return emitOpError() << "split_count must be the group size " << *group << ", got " << count;
  if (failed(CheckCount(*this, "results", getNumResults(), getNumOperands()))) return failure();
  for (auto [operand, result] : llvm::zip_equal(getOperandTypes(), getResultTypes())) {
    auto type = llvm::cast<RankedTensorType>(operand);
    auto to = llvm::cast<RankedTensorType>(result);
    // all_to_all_c1
    if (failed(CheckInRange(*this, "split_dimension", split, type.getRank()))) return failure();
    // all_to_all_c3
    if (failed(CheckInRange(*this, "concat_dimension", concat, type.getRank()))) return failure();
    // all_to_all_c2
    SmallVector<int64_t> shape(type.getShape());
    if (!ShapedType::isDynamic(shape[split]) && shape[split] % count != 0) {
      return emitOpError() << "dimension " << split << " must be a multiple of split_count " << count << ", got "
                           << type;
    }
    // all_to_all_c9
    if (split != concat) {
      if (!ShapedType::isDynamic(shape[split])) shape[split] /= count;
      if (!ShapedType::isDynamic(shape[concat]) && llvm::MulOverflow(shape[concat], count, shape[concat])) {
        shape[concat] = ShapedType::kDynamic;
      }
    }
    if (failed(CheckShape(*this, "result", to, shape))) return failure();
    if (type.getElementType() != to.getElementType()) {
      return emitOpError() << "result must have the element type of " << type << ", got " << to;
    }
  }
  return success();
}

LogicalResult CollectiveBroadcastOp::verify() {
  if (failed(CheckGroups(*this, getReplicaGroups(), false, getChannelHandle())) ||
      failed(CheckRoots(*this, getHasDynamicRoot()))) {
    return failure();
  }
  // collective_broadcast_c5 (collective_broadcast_c6 is about values at run time)
  return CheckSameTypes(*this, mlir::TypeRange(getOperandTypes()).drop_back(getHasDynamicRoot() ? 1 : 0));
}

LogicalResult CollectivePermuteOp::Check() {
  // collective_permute_c5: inferred.
  return CheckPairs(*this, getSourceTargetPairs());
}

LogicalResult CollectiveReduceOp::verify() {
  const bool dynamic_root = getHasDynamicRoot();
  Type element;
  if (failed(CheckGroups(*this, getReplicaGroups(), getUseGlobalDeviceIds(), getChannelHandle())) ||
      failed(CheckRoots(*this, dynamic_root))) {
    return failure();
  }
  const mlir::ValueRange operands = mlir::ValueRange(getOperands()).drop_back(dynamic_root ? 1 : 0);
  if (failed(CheckComputation(*this, getComputation(), operands, element))) return failure();
  return CheckSameTypes(*this, WithElements(operands.getTypes(), element));
}

LogicalResult ReduceScatterOp::verify() {
  const RankedTensorType type = getOperand().getType();
  const int64_t dim = static_cast<int64_t>(getScatterDimension());
  Type element;
  if (failed(CheckGroups(*this, getReplicaGroups(), getUseGlobalDeviceIds(), getChannelHandle())) ||
      failed(CheckComputation(*this, getComputation(), getOperand(), element))) {
    return failure();
  }
  // reduce_scatter_c2
  if (failed(CheckInRange(*this, "scatter_dimension", dim, type.getRank()))) return failure();
  // reduce_scatter_c1
  SmallVector<int64_t> shape(type.getShape());
  const std::optional<int64_t> group =
      ProcessGroupSize(getReplicaGroups(), getUseGlobalDeviceIds(), getChannelHandle());
  if (!group || *group == 0 || ShapedType::isDynamic(shape[dim])) {
    shape[dim] = ShapedType::kDynamic;
  } else if (shape[dim] % *group != 0) {
    return emitOpError() << "dimension " << dim << " must be a multiple of the group size " << *group << ", got "
                         << type;
  } else {
    shape[dim] /= *group;
  }
  // reduce_scatter_c8, reduce_scatter_c9
  return CheckSameTypes(*this, Type(RankedTensorType::get(shape, element)));
}

LogicalResult AsyncStartOp::verify() {
  // async_start_c1
  mlir::Block& block = getBody().front();
  if (block.getOperations().size() != 2) {
    return emitOpError() << "body must hold one op and a return, got " << block.getOperations().size() << " ops";
  }
  // async_start_c2
  mlir::Operation& inner = block.front();
  if (!llvm::isa<AllReduceOp, AllGatherOp, AllToAllOp, CollectivePermuteOp, ReduceScatterOp, CollectiveBroadcastOp,
                 SliceOp, DynamicSliceOp, DynamicUpdateSliceOp>(inner)) {
    return emitOpError() << "body must hold a collective or a slice, got " << inner.getName();
  }
  // async_start_c3
  if (!AreCompatible(block.getArgumentTypes(), getOperandTypes()) ||
      !AreCompatible(inner.getOperandTypes(), getOperandTypes())) {
    return emitOpError() << "body and its op must take (" << getOperandTypes() << "), got (" << inner.getOperandTypes()
                         << ")";
  }
  // async_start_c4
  auto future = llvm::cast<FutureType>(getType());
  if (AreCompatible(future.getTypes(), inner.getResultTypes())) return success();
  return emitOpError() << "result must be a future of (" << inner.getResultTypes() << "), got " << future;
}

LogicalResult AsyncDoneOp::verify() {
  // async_done_c1
  return CheckSameTypes(*this, llvm::cast<FutureType>(getOperand().getType()).getTypes());
}

//===--- Tokens and channels ---===//

namespace {

enum ChannelType : int64_t { kDeviceToDevice = 1, kDeviceToHost = 2, kHostToDevice = 3 };

LogicalResult CheckChannel(mlir::Operation* op, ChannelHandleAttr channel, int64_t want) {
  if (channel.getType() == want) return success();
  return op->emitOpError() << "channel type must be " << want << ", got " << channel.getType();
}

// Results are tensors, then one token.
LogicalResult CheckTokenLast(mlir::Operation* op) {
  // infeed_c1, infeed_c2, infeed_c3
  const mlir::TypeRange types = op->getResultTypes();
  const bool fits = !types.empty() && llvm::isa<TokenType>(types.back()) &&
                    llvm::none_of(types.drop_back(), [](Type type) { return llvm::isa<TokenType>(type); });
  return fits ? success() : op->emitOpError() << "results must be tensors and then one token, got (" << types << ")";
}

}  // namespace

LogicalResult InfeedOp::verify() {
  if (failed(CheckTokenLast(*this))) return failure();
  const std::optional<mlir::ArrayAttr> layout = getLayout();
  if (!layout) return success();
  if (failed(CheckCount(*this, "layout", layout->size(), getNumResults() - 1))) return failure();
  for (mlir::Attribute entry : *layout) {
    auto list = llvm::dyn_cast<mlir::ArrayAttr>(entry);
    if (list && llvm::all_of(list, [](mlir::Attribute dim) { return llvm::isa<mlir::IntegerAttr>(dim); })) continue;
    return emitOpError() << "layout must hold lists of integers, got " << entry;
  }
  return success();
}

LogicalResult RecvOp::verify() {
  if (failed(CheckTokenLast(*this))) return failure();
  // recv_c5: a host transfer comes from the host.
  if (failed(CheckChannel(*this, getChannelHandle(), getIsHostTransfer() ? kHostToDevice : kDeviceToDevice))) {
    return failure();
  }
  const std::optional<DenseIntElementsAttr> pairs = getSourceTargetPairs();
  return pairs ? CheckPairs(*this, *pairs) : success();
}

LogicalResult SendOp::verify() {
  // send_c5
  if (failed(CheckChannel(*this, getChannelHandle(), getIsHostTransfer() ? kDeviceToHost : kDeviceToDevice))) {
    return failure();
  }
  const std::optional<DenseIntElementsAttr> pairs = getSourceTargetPairs();
  return pairs ? CheckPairs(*this, *pairs) : success();
}

//===--- Calls and tuples ---===//

namespace {

// Values that a layout list speaks of: a single tuple stands for its elements.
SmallVector<Type> LayoutTypes(mlir::TypeRange types) {
  if (types.size() == 1) {
    if (auto tuple = llvm::dyn_cast<mlir::TupleType>(types.front())) return SmallVector<Type>(tuple.getTypes());
  }
  return SmallVector<Type>(types);
}

LogicalResult CheckLayouts(mlir::Operation* op, llvm::StringRef name, mlir::ArrayAttr layouts, mlir::TypeRange types) {
  const SmallVector<Type> values = LayoutTypes(types);
  if (failed(CheckCount(op, name, layouts.size(), values.size()))) return failure();
  for (auto [attr, type] : llvm::zip_equal(layouts, values)) {
    auto dense = llvm::cast<DenseIntElementsAttr>(attr);
    const int64_t count = dense.getNumElements();
    auto tensor = llvm::dyn_cast<RankedTensorType>(type);
    const int64_t rank = tensor ? tensor.getRank() : llvm::isa<mlir::ShapedType>(type) ? count : 0;
    if (failed(CheckCount(op, name, count, rank))) return failure();
    // A splat may stand for more dimensions than there is memory for.
    if (dense.isSplat() && count > 1) return op->emitOpError() << name << " must not repeat a value, got " << attr;
    SmallVector<int64_t> order;
    for (const llvm::APInt& dim : dense.getValues<llvm::APInt>()) order.push_back(dim.getSExtValue());
    if (failed(CheckUnique(op, name, order)) || failed(CheckInRange(op, name, order, rank))) {
      return failure();
    }
  }
  return success();
}

// Type at a path through nested tuples; null if the path leaves them.
Type TypeAt(Type type, Dims path) {
  for (int64_t index : path) {
    auto tuple = llvm::dyn_cast<mlir::TupleType>(type);
    if (!tuple || index < 0 || index >= static_cast<int64_t>(tuple.size())) return nullptr;
    type = tuple.getType(index);
  }
  return type;
}

}  // namespace

LogicalResult CustomCallOp::verify() {
  const std::optional<mlir::ArrayAttr> operands = getOperandLayouts(), results = getResultLayouts();
  if (operands.has_value() != results.has_value()) {
    return emitOpError() << "operand_layouts and result_layouts must both be given or both not";
  }
  if (operands && failed(CheckLayouts(*this, "operand_layouts", *operands, getOperandTypes()))) return failure();
  if (results && failed(CheckLayouts(*this, "result_layouts", *results, getResultTypes()))) return failure();
  for (OutputOperandAliasAttr alias : getOutputOperandAliases().getAsRange<OutputOperandAliasAttr>()) {
    if (failed(CheckInRange(*this, "operand_index of an alias", alias.getOperandIndex(), getNumOperands())))
      return failure();
    const Type from =
        TypeAt(getOperand(static_cast<unsigned>(alias.getOperandIndex())).getType(), alias.getOperandTupleIndices());
    // Several results are one tuple to the path.
    const Dims path = alias.getOutputTupleIndices();
    Type to;
    if (getNumResults() == 1) {
      to = TypeAt(getResultTypes().front(), path);
    } else if (!path.empty() && path.front() >= 0 && path.front() < static_cast<int64_t>(getNumResults())) {
      to = TypeAt(getResultTypes()[path.front()], path.drop_front());
    }
    if (!from || !to || !AreCompatible(from, to)) {
      return emitOpError() << "alias must pair an operand with a result of its type, got " << alias;
    }
  }
  return success();
}

LogicalResult CompositeOp::verify() {
  // composite_c1: a namespace, a dot and a name.
  const auto [space, rest] = getName().split('.');
  const auto in_word = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; };
  const bool is_space = !space.empty() && llvm::isAlpha(space.front()) && llvm::all_of(space, in_word);
  const bool is_name = !rest.empty() && llvm::all_of(rest, [&](char c) { return in_word(c) || c == '.'; });
  if (is_space && is_name) return success();
  return emitOpError() << "name must be NAMESPACE.NAME, got \"" << getName() << '"';
}

LogicalResult GetTupleElementOp::Check() {
  // get_tuple_element_c1 (get_tuple_element_c2, tuple_c1, optimization_barrier_c1: inferred)
  const auto type = llvm::cast<mlir::TupleType>(getOperand().getType());
  return CheckInRange(*this, "index", static_cast<int32_t>(getIndex()), static_cast<int64_t>(type.size()));
}

}  // namespace tenon::stablehlo
