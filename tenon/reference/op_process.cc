// Collectives and process ids, for a process that is alone in its groups.

#include "tenon/reference/attributes.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

Status Id(OpContext& context, uint32_t id) {
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({DType::kU32, {}}));
  out.mutable_data<uint32_t>()[0] = id;
  return context.Return(std::move(out));
}
Status ReplicaId(OpContext& context) { return Id(context, context.evaluator.options().replica_id); }
Status PartitionId(OpContext& context) { return Id(context, context.evaluator.options().partition_id); }

Status CheckAlone(const OpContext& context) {
  const RunOptions& options = context.evaluator.options();
  if (options.num_replicas == 1 && options.num_partitions == 1) return OkStatus();
  TENON_ASSIGN_OR_RETURN(std::vector<Dims> groups, ReplicaGroupsOf(context.op));
  for (const Dims& group : groups) {
    if (group.size() != 1) return Unimplemented("a collective of several processes");
  }
  return groups.empty() ? Unimplemented("a collective of several processes") : OkStatus();
}

// In a group of one every collective hands its operands on.
Status Identity(OpContext& context) {
  TENON_RETURN_IF_ERROR(CheckAlone(context));
  for (size_t i = 0; i < context.op->getNumResults(); ++i) {
    TENON_ASSIGN_OR_RETURN(Value out, ConvertTo(context.in(i), context.result_shape(i).dtype));
    context.results.push_back(std::move(out));
  }
  return OkStatus();
}

// Zeros unless the process sends to itself.
Status Permute(OpContext& context) {
  const RunOptions& options = context.evaluator.options();
  if (options.num_replicas != 1 || options.num_partitions != 1) return Unimplemented("a collective of several processes");
  const Dims pairs = IntsAttr(context.op, "source_target_pairs");
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i] == 0 && pairs[i + 1] == 0) return context.Return(context.in(0));
  }
  TENON_ASSIGN_OR_RETURN(Value out, Value::Zeros(context.in(0).shape()));
  return context.Return(std::move(out));
}

constexpr OpEntry kOps[] = {
    {"stablehlo.replica_id", &ReplicaId},
    {"stablehlo.partition_id", &PartitionId},
    {"stablehlo.all_gather", &Identity},
    {"stablehlo.all_reduce", &Identity},
    {"stablehlo.all_to_all", &Identity},
    {"stablehlo.reduce_scatter", &Identity},
    {"stablehlo.collective_broadcast", &Identity},
    {"stablehlo.collective_reduce", &Identity},
    {"stablehlo.cross-replica-sum", &Identity},
    {"stablehlo.collective_permute", &Permute},
};

}  // namespace

std::span<const OpEntry> ProcessOps() { return kOps; }

}  // namespace tenon::reference
