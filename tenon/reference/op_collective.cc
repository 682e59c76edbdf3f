// Collectives. A process that is alone in its group needs nobody; larger groups meet in Processes.

#include <fmt/format.h>

#include <algorithm>

#include "tenon/reference/attributes.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"
#include "tenon/reference/processes.h"
#include "tenon/reference/scalar_body.h"

namespace tenon::reference {
namespace {

enum class Grouping { kReplicas, kPartitions, kBoth, kFlattened };

struct Group {
  std::vector<int64_t> members;  // process numbers: replica * partitions + partition
  size_t rank = 0;               // our place among them
  bool present = false;
};

int64_t Me(const OpContext& context) {
  const RunOptions& options = context.evaluator.options();
  return static_cast<int64_t>(options.replica_id) * options.num_partitions + options.partition_id;
}

// Which processes the group of replicas (or partitions, or processes) `ids` is for us.
std::vector<int64_t> Members(const Dims& ids, Grouping grouping, const RunOptions& options) {
  const int64_t partitions = options.num_partitions, replica = options.replica_id, partition = options.partition_id;
  std::vector<int64_t> members;
  switch (grouping) {
    case Grouping::kReplicas:
      for (int64_t r : ids) members.push_back(r * partitions + partition);
      break;
    case Grouping::kPartitions:
      for (int64_t p : ids) members.push_back(replica * partitions + p);
      break;
    case Grouping::kBoth:
      for (int64_t p = 0; p < partitions; ++p) {
        for (int64_t r : ids) members.push_back(r * partitions + p);
      }
      break;
    case Grouping::kFlattened:
      members.assign(ids.begin(), ids.end());
      break;
  }
  return members;
}

// Reductions and gathers span replicas, replicas and partitions (with a channel), or flattened ids; the others
// replicas, or partitions (with a channel).
Grouping GroupingOf(mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  const bool channel = ChannelOf(op) > 0, global = BoolAttr(op, "use_global_device_ids");
  if (name == "stablehlo.all_to_all" || name == "stablehlo.collective_permute" ||
      name == "stablehlo.collective_broadcast" || name == "stablehlo.collective_reduce") {
    return global ? Grouping::kFlattened : channel ? Grouping::kPartitions : Grouping::kReplicas;
  }
  return !channel ? Grouping::kReplicas : global ? Grouping::kFlattened : Grouping::kBoth;
}

Result<Group> GroupOf(const OpContext& context) {
  const RunOptions& options = context.evaluator.options();
  if (options.num_replicas == 1 && options.num_partitions == 1) return Group{{0}, 0, true};
  const Grouping grouping = GroupingOf(context.op);
  TENON_ASSIGN_OR_RETURN(std::vector<Dims> lists, ReplicaGroupsOf(context.op));
  if (lists.empty()) {
    const int64_t everybody = grouping == Grouping::kPartitions ? options.num_partitions
                              : grouping == Grouping::kFlattened
                                  ? int64_t{options.num_replicas} * options.num_partitions
                                  : options.num_replicas;
    lists.emplace_back();
    for (int64_t i = 0; i < everybody; ++i) lists.back().push_back(i);
  }
  Group group;
  for (const Dims& list : lists) {
    std::vector<int64_t> members = Members(list, grouping, options);
    const auto found = std::find(members.begin(), members.end(), Me(context));
    if (found == members.end()) continue;
    group.rank = static_cast<size_t>(found - members.begin());
    group.members = std::move(members);
    group.present = true;
  }
  return group;
}

// What every member of the group brought: its operands.
Result<std::vector<std::vector<Value>>> Exchange(const OpContext& context, const std::vector<int64_t>& members) {
  std::vector<Value> mine(context.operands.begin(), context.operands.end());
  if (members.size() == 1) return std::vector<std::vector<Value>>{std::move(mine)};
  if (context.evaluator.processes() == nullptr) return Unimplemented("a collective of several processes");
  const std::string name =
      fmt::format("{} channel {}", context.op->getName().getStringRef().str(), ChannelOf(context.op));
  return context.evaluator.processes()->Meet(name, members, Me(context), std::move(mine));
}

Result<std::vector<std::vector<Value>>> ExchangeInGroup(const OpContext& context, Group& group) {
  TENON_ASSIGN_OR_RETURN(group, GroupOf(context));
  if (!group.present) return InvalidArgument("this process is in none of the replica groups");
  return Exchange(context, group.members);
}

Result<Value> ConcatenateAlong(std::span<const Value> parts, size_t dimension) {
  Shape shape = parts[0].shape();
  shape.dims[dimension] = 0;
  for (const Value& part : parts) shape.dims[dimension] += part.dims()[dimension];
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(shape));
  const Dims strides = RowMajorStridesElems(out.dims());
  const int width = ByteWidth(shape.dtype);
  int64_t at = 0;
  for (const Value& part : parts) {
    CopyElements(width, part.dims(), out.mutable_bytes() + at * strides[dimension] * width, Span(strides), part.bytes(),
                 Span(RowMajorStridesElems(part.dims())));
    at += part.dims()[dimension];
  }
  return out;
}

// Piece `which` of `count` equal ones along `dimension`.
Result<Value> Piece(const Value& value, size_t dimension, int64_t which, int64_t count) {
  Dims start(value.rank(), 0), limit = value.shape().dims;
  const int64_t size = limit[dimension] / count;
  start[dimension] = which * size;
  limit[dimension] = start[dimension] + size;
  return Slice(value, start, limit, Dims(value.rank(), 1));
}

// Operand `i` of every member, folded in the order of the group.
Result<Value> Fold(Computation& body, const std::vector<std::vector<Value>>& brought, size_t i) {
  TENON_ASSIGN_OR_RETURN(Value out, ConvertTo(brought[0][i], body.result_type(0)));
  TENON_ASSIGN_OR_RETURN(out, Value::Copy(out.shape(), {out.bytes(), static_cast<size_t>(out.size_bytes())}));
  const int64_t width = ByteWidth(out.dtype());
  for (size_t member = 1; member < brought.size(); ++member) {
    TENON_ASSIGN_OR_RETURN(Value next, ConvertTo(brought[member][i], body.argument_type(1)));
    const int64_t next_width = ByteWidth(next.dtype());
    for (int64_t first = 0; first < out.num_elements(); first += kLanes) {
      std::byte* target = out.mutable_bytes() + first * width;
      const void* args[] = {target, next.bytes() + first * next_width};
      void* results[] = {target};
      TENON_RETURN_IF_ERROR(body.Apply(std::min(kLanes, out.num_elements() - first), args, results));
    }
  }
  return out;
}

Status AllReduce(OpContext& context) {
  Group group;
  TENON_ASSIGN_OR_RETURN(auto brought, ExchangeInGroup(context, group));
  TENON_ASSIGN_OR_RETURN(Computation body, Computation::Bind(context, 0));
  for (size_t i = 0; i < context.operands.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(Value out, Fold(body, brought, i));
    context.results.push_back(std::move(out));
  }
  return OkStatus();
}

// The old form: a sum.
Status CrossReplicaSum(OpContext& context) {
  Group group;
  TENON_ASSIGN_OR_RETURN(auto brought, ExchangeInGroup(context, group));
  const DType types[] = {context.in(0).dtype(), context.in(0).dtype()};
  const Kernel add = FindKernel("stablehlo.add", types, types[0], {});
  TENON_ASSIGN_OR_RETURN(
      Value out,
      Value::Copy(context.in(0).shape(), {brought[0][0].bytes(), static_cast<size_t>(brought[0][0].size_bytes())}));
  for (size_t member = 1; member < brought.size(); ++member) {
    const void* inputs[] = {out.bytes(), brought[member][0].bytes(), nullptr};
    add.Run(inputs, out.mutable_bytes(), out.num_elements());
  }
  return context.Return(std::move(out));
}

Status ReduceScatter(OpContext& context) {
  Group group;
  TENON_ASSIGN_OR_RETURN(auto brought, ExchangeInGroup(context, group));
  TENON_ASSIGN_OR_RETURN(Computation body, Computation::Bind(context, 0));
  TENON_ASSIGN_OR_RETURN(Value sum, Fold(body, brought, 0));
  TENON_ASSIGN_OR_RETURN(Value out,
                         Piece(sum, static_cast<size_t>(IntAttr(context.op, "scatter_dimension")),
                               static_cast<int64_t>(group.rank), static_cast<int64_t>(group.members.size())));
  return context.Return(std::move(out));
}

Status AllGather(OpContext& context) {
  Group group;
  TENON_ASSIGN_OR_RETURN(auto brought, ExchangeInGroup(context, group));
  for (size_t i = 0; i < context.operands.size(); ++i) {
    std::vector<Value> parts;
    for (const auto& values : brought) parts.push_back(values[i]);
    TENON_ASSIGN_OR_RETURN(Value out,
                           ConcatenateAlong(parts, static_cast<size_t>(IntAttr(context.op, "all_gather_dim"))));
    context.results.push_back(std::move(out));
  }
  return OkStatus();
}

// Every member splits its operand and gets the piece of its own number from everybody.
Status AllToAll(OpContext& context) {
  Group group;
  TENON_ASSIGN_OR_RETURN(auto brought, ExchangeInGroup(context, group));
  const auto split = static_cast<size_t>(IntAttr(context.op, "split_dimension")),
             join = static_cast<size_t>(IntAttr(context.op, "concat_dimension"));
  for (size_t i = 0; i < context.operands.size(); ++i) {
    std::vector<Value> parts;
    for (const auto& values : brought) {
      TENON_ASSIGN_OR_RETURN(
          Value part, Piece(values[i], split, static_cast<int64_t>(group.rank), IntAttr(context.op, "split_count", 1)));
      parts.push_back(std::move(part));
    }
    TENON_ASSIGN_OR_RETURN(Value out, ConcatenateAlong(parts, join));
    context.results.push_back(std::move(out));
  }
  return OkStatus();
}

// The member that is the root for data operand `i`: the first, or the one that the last operand names.
size_t RootOf(const OpContext& context, size_t i) {
  return BoolAttr(context.op, "has_dynamic_root") ? static_cast<size_t>(IntsOf(context.operands.back())[i]) : 0;
}

Status ReturnZeros(OpContext& context, size_t i) {
  TENON_ASSIGN_OR_RETURN(Value out, Value::Zeros({context.result_shape(i).dtype, context.in(i).shape().dims}));
  return context.Return(std::move(out));
}

// Everybody gets the root's operands; processes in no group get zeros.
Status CollectiveBroadcast(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Group group, GroupOf(context));
  std::vector<std::vector<Value>> brought;
  if (group.present) {
    TENON_ASSIGN_OR_RETURN(brought, Exchange(context, group.members));
  }
  for (size_t i = 0; i < context.op->getNumResults(); ++i) {
    const size_t root = RootOf(context, i);
    if (group.present && root < brought.size()) {
      context.results.push_back(brought[root][i]);
    } else {
      TENON_RETURN_IF_ERROR(ReturnZeros(context, i));
    }
  }
  return OkStatus();
}

// The root gets the reduction, everybody else zeros.
Status CollectiveReduce(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(Group group, GroupOf(context));
  std::vector<std::vector<Value>> brought;
  if (group.present) {
    TENON_ASSIGN_OR_RETURN(brought, Exchange(context, group.members));
  }
  TENON_ASSIGN_OR_RETURN(Computation body, Computation::Bind(context, 0));
  for (size_t i = 0; i < context.op->getNumResults(); ++i) {
    if (group.present && RootOf(context, i) == group.rank) {
      TENON_ASSIGN_OR_RETURN(Value out, Fold(body, brought, i));
      context.results.push_back(std::move(out));
    } else {
      TENON_RETURN_IF_ERROR(ReturnZeros(context, i));
    }
  }
  return OkStatus();
}

// Each target gets the operand of its source; who is no target gets zeros.
Status CollectivePermute(OpContext& context) {
  const RunOptions& options = context.evaluator.options();
  const Grouping grouping = GroupingOf(context.op);
  const bool partitions = grouping == Grouping::kPartitions;
  const int64_t own = partitions ? options.partition_id : options.replica_id;
  Dims line;
  for (int64_t i = 0; i < (partitions ? options.num_partitions : options.num_replicas); ++i) line.push_back(i);
  const std::vector<int64_t> members = Members(line, grouping, options);
  TENON_ASSIGN_OR_RETURN(auto brought, Exchange(context, members));
  const Dims pairs = IntsAttr(context.op, "source_target_pairs");
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i + 1] == own && pairs[i] >= 0 && pairs[i] < static_cast<int64_t>(brought.size())) {
      return context.Return(brought[static_cast<size_t>(pairs[i])][0]);
    }
  }
  return ReturnZeros(context, 0);
}

constexpr OpEntry kOps[] = {
    {"stablehlo.all_reduce", &AllReduce},
    {"stablehlo.cross-replica-sum", &CrossReplicaSum},
    {"stablehlo.reduce_scatter", &ReduceScatter},
    {"stablehlo.all_gather", &AllGather},
    {"stablehlo.all_to_all", &AllToAll},
    {"stablehlo.collective_broadcast", &CollectiveBroadcast},
    {"stablehlo.collective_reduce", &CollectiveReduce},
    {"stablehlo.collective_permute", &CollectivePermute},
};

}  // namespace

std::span<const OpEntry> CollectiveOps() { return kOps; }

}  // namespace tenon::reference
