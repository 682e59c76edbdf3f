// Control flow, calls, tuples, tokens.

#include <fmt/format.h>

#include "tenon/reference/evaluator.h"

namespace tenon::reference {
namespace {

std::vector<Value> TakeOperands(OpContext& context) {
  return {std::make_move_iterator(context.operands.begin()), std::make_move_iterator(context.operands.end())};
}

Status CallByName(OpContext& context, llvm::StringRef name) {
  const PreparedFunction* function = context.evaluator.module().Find(name);
  if (function == nullptr) return InvalidArgument(fmt::format("the called function @{} has no body", name.str()));
  TENON_ASSIGN_OR_RETURN(context.results, context.evaluator.Call(*function, TakeOperands(context)));
  return OkStatus();
}

Status Call(OpContext& context) { return CallByName(context, mlir::cast<mlir::func::CallOp>(context.op).getCallee()); }

// A composite is its decomposition.
Status Composite(OpContext& context) {
  auto symbol = mlir::dyn_cast_or_null<mlir::FlatSymbolRefAttr>(context.op->getAttr("decomposition"));
  if (!symbol) return InvalidArgument("a composite without decomposition");
  return CallByName(context, symbol.getValue());
}

Status RunRegion(OpContext& context, unsigned region, std::vector<Value> args) {
  TENON_ASSIGN_OR_RETURN(context.results,
                         context.evaluator.RunBlock(context.block(region), context.frame, std::move(args)));
  return OkStatus();
}

Status If(OpContext& context) { return RunRegion(context, context.in(0).data<uint8_t>()[0] != 0 ? 0 : 1, {}); }

// An index out of range, on either side, takes the last branch.
Status Case(OpContext& context) {
  const int64_t index = IntsOf(context.in(0))[0];
  const int64_t branches = context.op->getNumRegions();
  return RunRegion(context, static_cast<unsigned>(index < 0 || index >= branches ? branches - 1 : index), {});
}

Status While(OpContext& context) {
  std::vector<Value> carried = TakeOperands(context);
  const int64_t limit = context.evaluator.options().max_loop_iterations;
  for (int64_t iteration = 0;; ++iteration) {
    {
      TENON_ASSIGN_OR_RETURN(std::vector<Value> go_on,
                             context.evaluator.RunBlock(context.block(0), context.frame, carried));
      if (go_on[0].data<uint8_t>()[0] == 0) break;
    }
    if (limit > 0 && iteration >= limit)
      return ResourceExhausted(fmt::format("a while loop ran {} times, the most that this run allows", limit));
    TENON_RETURN_IF_ERROR(context.evaluator.CheckCancelled());
    TENON_ASSIGN_OR_RETURN(carried, context.evaluator.RunBlock(context.block(1), context.frame, std::move(carried)));
  }
  context.results = std::move(carried);
  return OkStatus();
}

Status PassOn(OpContext& context) {
  context.results = TakeOperands(context);
  return OkStatus();
}

Status MakeTuple(OpContext& context) { return context.Return(Value::Tuple(TakeOperands(context))); }

Status GetTupleElement(OpContext& context) {
  const auto index = static_cast<size_t>(IntAttr(context.op, "index"));
  if (!context.in(0).is_tuple() || index >= context.in(0).elements().size())
    return InvalidArgument("no such tuple element");
  return context.Return(context.in(0).elements()[index]);
}

Status MakeToken(OpContext& context) { return context.Return(Value::Token()); }

// Started and finished at once; the future is the tuple of the results.
Status AsyncStart(OpContext& context) {
  TENON_ASSIGN_OR_RETURN(std::vector<Value> results,
                         context.evaluator.RunBlock(context.block(0), context.frame, TakeOperands(context)));
  return context.Return(Value::Tuple(std::move(results)));
}

Status AsyncDone(OpContext& context) {
  if (!context.in(0).is_tuple()) return InvalidArgument("async_done of something that is no future");
  context.results = context.in(0).elements();
  return OkStatus();
}

// On one device the manual region of a mesh is the whole. A region whose arguments are pieces of the operands is meant
// for several.
Status ManualComputation(OpContext& context) {
  mlir::Block& block = context.region(0).front();
  for (unsigned i = 0; i < block.getNumArguments(); ++i) {
    if (i >= context.operands.size() || block.getArgument(i).getType() != context.op->getOperand(i).getType()) {
      return Unimplemented("a manual computation of several devices");
    }
  }
  return RunRegion(context, 0, TakeOperands(context));
}

Status Nothing(OpContext&) { return OkStatus(); }

constexpr OpEntry kOps[] = {
    {"func.call", &Call},
    {"stablehlo.composite", &Composite},
    {"stablehlo.if", &If},
    {"stablehlo.case", &Case},
    {"stablehlo.while", &While},
    {"stablehlo.optimization_barrier", &PassOn},
    {"stablehlo.tuple", &MakeTuple},
    {"stablehlo.get_tuple_element", &GetTupleElement},
    {"stablehlo.after_all", &MakeToken},
    {"stablehlo.create_token", &MakeToken},
    {"stablehlo.async_start", &AsyncStart},
    {"stablehlo.async_done", &AsyncDone},
    {"sdy.sharding_constraint", &PassOn},
    {"sdy.propagation_barrier", &PassOn},
    {"sdy.reshard", &PassOn},
    {"sdy.data_flow_edge", &PassOn},
    {"sdy.manual_computation", &ManualComputation},
    {"sdy.named_computation", &ManualComputation},
    {"sdy.sharding_group", &Nothing},
};

}  // namespace

std::span<const OpEntry> ControlOps() { return kOps; }

}  // namespace tenon::reference
