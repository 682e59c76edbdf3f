// custom_call: the embedder's handler first, then the few targets with a known meaning.

#include <fmt/format.h>

#include "tenon/reference/attributes.h"
#include "tenon/reference/evaluator.h"

namespace tenon::reference {
namespace {

std::vector<std::vector<int64_t>> LayoutsOf(mlir::Operation* op, llvm::StringRef name) {
  std::vector<std::vector<int64_t>> layouts;
  if (auto list = mlir::dyn_cast_or_null<mlir::ArrayAttr>(op->getAttr(name))) {
    for (mlir::Attribute layout : list) {
      const Dims minor_to_major = IntsOf(layout);
      layouts.emplace_back(minor_to_major.begin(), minor_to_major.end());
    }
  }
  return layouts;
}

Result<std::optional<std::vector<Value>>> AskHandler(OpContext& context, const std::string& target) {
  if (!context.evaluator.options().custom_call) return std::optional<std::vector<Value>>();
  std::vector<Shape> results;
  for (size_t i = 0; i < context.op->getNumResults(); ++i) results.push_back(context.result_shape(i));
  const std::string config = StringAttr(context.op, "backend_config");
  auto dictionary = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(context.op->getAttr("backend_config"));
  if (!dictionary)
    dictionary = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(context.op->getAttr("mhlo.backend_config"));
  const Attributes attributes = dictionary ? AttributesOfDictionary(dictionary) : Attributes();
  const auto operand_layouts = LayoutsOf(context.op, "operand_layouts"),
             result_layouts = LayoutsOf(context.op, "result_layouts");
  const auto aliases = AliasesOf(context.op);
  CustomCall call;
  call.target = target;
  // Old artifacts write typed calls as ORIGINAL ones with the dictionary aside.
  call.api_version = dictionary ? 4 : static_cast<int>(IntAttr(context.op, "api_version", 1));
  call.backend_config = config;
  call.attributes = &attributes;
  call.has_side_effect = BoolAttr(context.op, "has_side_effect");
  call.operands = context.operands;
  call.results = results;
  call.operand_layouts = operand_layouts;
  call.result_layouts = result_layouts;
  call.aliases = aliases;
  return context.evaluator.CallHandler(call);
}

Status CheckResults(OpContext& context, const std::string& target) {
  if (context.results.size() != context.op->getNumResults()) {
    return Internal(fmt::format("the handler of @{} gave {} results, {} are wanted", target, context.results.size(),
                                context.op->getNumResults()));
  }
  for (size_t i = 0; i < context.results.size(); ++i) {
    const Shape wanted = context.result_shape(i);
    if (wanted.dtype == DType::kToken || wanted.dtype == DType::kInvalid) continue;
    bool fits = context.results[i].dtype() == wanted.dtype && context.results[i].rank() == wanted.rank();
    for (size_t d = 0; fits && d < wanted.rank(); ++d)
      fits = wanted.dims[d] < 0 || wanted.dims[d] == context.results[i].dims()[d];
    if (!fits)
      return Internal(fmt::format("the handler of @{} gave {}, wanted {}", target, ToString(context.results[i].shape()),
                                  ToString(wanted)));
  }
  return OkStatus();
}

// Calls that only say where data lies.
bool IsIdentity(std::string_view target) {
  for (std::string_view name : {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
                                "MoveToHost", "MoveToDevice", "LayoutConstraint", "Pin", "Unpin"}) {
    if (target == name) return true;
  }
  return false;
}

Status CustomCallOp(OpContext& context) {
  const std::string target = StringAttr(context.op, "call_target_name");
  TENON_ASSIGN_OR_RETURN(auto served, AskHandler(context, target));
  if (served.has_value()) {
    context.results = *std::move(served);
    return CheckResults(context, target);
  }
  if (IsIdentity(target) && context.operands.size() == context.op->getNumResults()) {
    context.results.assign(context.operands.begin(), context.operands.end());
    return OkStatus();
  }
  if (target == "control_dep" && context.op->getNumResults() == 0) return OkStatus();
  if (target == "shape_assertion") {
    return context.operands.empty() || context.in(0).data<uint8_t>()[0] != 0
               ? OkStatus()
               : InvalidArgument("a shape assertion does not hold: " + StringAttr(context.op, "error_message"));
  }
  if (target == "dce_sink") return OkStatus();
  return Unimplemented(fmt::format("the custom call @{}", target));
}

constexpr OpEntry kOps[] = {{"stablehlo.custom_call", &CustomCallOp}};

}  // namespace

std::span<const OpEntry> CustomCallOps() { return kOps; }

}  // namespace tenon::reference
