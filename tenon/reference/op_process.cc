// Process ids, channels, and processes side by side.

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "tenon/reference/attributes.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/processes.h"

namespace tenon::reference {
namespace {

Status Id(OpContext& context, uint32_t id) {
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({DType::kU32, {}}));
  out.mutable_data<uint32_t>()[0] = id;
  return context.Return(std::move(out));
}
Status ReplicaId(OpContext& context) { return Id(context, context.evaluator.options().replica_id); }
Status PartitionId(OpContext& context) { return Id(context, context.evaluator.options().partition_id); }

// All operands but the token.
std::vector<Value> Payload(const OpContext& context) {
  std::vector<Value> values;
  for (const Value& operand : context.operands) {
    if (!operand.is_token()) values.push_back(operand);
  }
  return values;
}

Status ReturnWithToken(OpContext& context, std::vector<Value> values) {
  values.push_back(Value::Token());
  context.results = std::move(values);
  return OkStatus();
}

Status Send(OpContext& context) {
  if (context.evaluator.processes() == nullptr) return Unimplemented("send of a process that is alone");
  context.evaluator.processes()->Send(ChannelOf(context.op), Payload(context));
  return context.Return(Value::Token());
}

Status Recv(OpContext& context) {
  if (context.evaluator.processes() == nullptr) return Unimplemented("recv of a process that is alone");
  TENON_ASSIGN_OR_RETURN(std::vector<Value> values, context.evaluator.processes()->Receive(ChannelOf(context.op)));
  return ReturnWithToken(context, std::move(values));
}

Status Infeed(OpContext& context) {
  if (context.evaluator.processes() == nullptr) return Unimplemented("infeed without a source");
  TENON_ASSIGN_OR_RETURN(std::vector<Value> values, context.evaluator.processes()->TakeInfeed());
  return ReturnWithToken(context, std::move(values));
}

// Nobody takes what is fed out.
Status Outfeed(OpContext& context) {
  if (context.evaluator.processes() == nullptr) return Unimplemented("outfeed without a taker");
  return context.Return(Value::Token());
}

Status Print(OpContext&) { return OkStatus(); }

const PreparedFunction* FunctionOf(const OpContext& context, mlir::Attribute symbol) {
  auto reference = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(symbol);
  return reference ? context.evaluator.module().Find(reference.getValue()) : nullptr;
}

// interpreter.run_parallel: the rows of `programs` are replicas, the columns partitions. Operands and results of all
// processes lie one behind the other.
Status RunParallel(OpContext& context) {
  auto rows = mlir::dyn_cast_or_null<mlir::ArrayAttr>(context.op->getAttr("programs"));
  std::vector<const PreparedFunction*> programs;
  size_t partitions = 0;
  for (mlir::Attribute row : rows ? rows.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
    auto columns = mlir::dyn_cast<mlir::ArrayAttr>(row);
    if (!columns) return InvalidArgument("programs is no matrix of functions");
    partitions = columns.size();
    for (mlir::Attribute symbol : columns) programs.push_back(FunctionOf(context, symbol));
  }
  if (programs.empty() || programs.size() != rows.size() * partitions ||
      std::count(programs.begin(), programs.end(), nullptr) > 0) {
    return InvalidArgument("programs is no matrix of functions");
  }
  Processes processes(static_cast<int64_t>(rows.size()), static_cast<int64_t>(partitions));
  if (auto feeds = mlir::dyn_cast_or_null<mlir::ArrayAttr>(context.op->getAttr("infeed"))) {
    for (mlir::Attribute symbol : feeds) {
      const PreparedFunction* feed = FunctionOf(context, symbol);
      if (feed == nullptr) return InvalidArgument("infeed names no function");
      TENON_ASSIGN_OR_RETURN(std::vector<Value> values, context.evaluator.Call(*feed, {}));
      processes.infeed.push_back(std::move(values));
    }
  }
  std::vector<std::vector<Value>> args(programs.size());
  size_t next = 0;
  for (size_t i = 0; i < programs.size(); ++i) {
    for (size_t a = 0; a < programs[i]->body->arguments.size() && next < context.operands.size(); ++a)
      args[i].push_back(context.operands[next++]);
  }
  std::vector<Status> statuses(programs.size());
  std::vector<std::vector<Value>> results(programs.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < programs.size(); ++i) {
    threads.emplace_back([&, i] {
      RunOptions options = context.evaluator.options();
      options.num_replicas = static_cast<uint32_t>(rows.size());
      options.num_partitions = static_cast<uint32_t>(partitions);
      options.replica_id = static_cast<uint32_t>(i / partitions);
      options.partition_id = static_cast<uint32_t>(i % partitions);
      FloatEnvironment environment(options.flush_denormals);
      Evaluator evaluator(context.evaluator.module(), options, environment.saved(), &processes);
      auto result = evaluator.Call(*programs[i], std::move(args[i]));
      if (result.ok()) {
        results[i] = *std::move(result);
      } else {
        statuses[i] = result.status();
        processes.Abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // The cause, not the processes that were let go because of it.
  std::stable_partition(statuses.begin(), statuses.end(),
                        [](const Status& s) { return !s.ok() && s.code() != Code::kAborted; });
  for (const Status& status : statuses) TENON_RETURN_IF_ERROR(status);
  for (std::vector<Value>& part : results) context.results.insert(context.results.end(), part.begin(), part.end());
  return OkStatus();
}

constexpr OpEntry kOps[] = {
    {"stablehlo.replica_id", &ReplicaId},
    {"stablehlo.partition_id", &PartitionId},
    {"stablehlo.send", &Send},
    {"stablehlo.recv", &Recv},
    {"stablehlo.infeed", &Infeed},
    {"stablehlo.outfeed", &Outfeed},
    {"interpreter.print", &Print},
    {"interpreter.run_parallel", &RunParallel},
};

}  // namespace

std::span<const OpEntry> ProcessOps() { return kOps; }

}  // namespace tenon::reference
