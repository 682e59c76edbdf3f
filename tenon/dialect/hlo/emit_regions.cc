// Instructions that call computations.

#include "tenon/dialect/hlo/emitter.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::hlo {
namespace {

mlir::Attribute Layouts(mlir::OpBuilder& b, const std::vector<const Shape*>& leaves) {
  llvm::SmallVector<mlir::Attribute> list;
  for (const Shape* leaf : leaves) {
    llvm::SmallVector<int64_t> order;
    if (leaf->minor_to_major) {
      order.assign(leaf->minor_to_major->begin(), leaf->minor_to_major->end());
    } else {
      for (size_t d = leaf->dims.size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
    }
    list.push_back(mlir::DenseIntElementsAttr::get(
        mlir::RankedTensorType::get({static_cast<int64_t>(order.size())}, b.getIndexType()), order));
  }
  return b.getArrayAttr(list);
}

void CollectLeaves(const Shape& shape, std::vector<const Shape*>& leaves) {
  if (shape.type != kTuple) {
    leaves.push_back(&shape);
    return;
  }
  for (const Shape& member : shape.members) CollectLeaves(member, leaves);
}

}  // namespace

Result<Values> Emitter::Reduce(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  TENON_RETURN_IF_ERROR(WantsCalled(at, 1));
  if (at.i.operands.empty() || at.i.operands.size() % 2 != 0)
    return InvalidArgument(fmt::format("{} operands; N arrays and N initial values are wanted", at.i.operands.size()));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.reduce", {{"dimensions", Array(at.i.dims)}}, 1));
  TENON_RETURN_IF_ERROR(FillRegion(op->getRegion(0), module_.computations[at.i.called[0]], at.loc, true));
  return Results(op);
}

Result<Values> Emitter::ReduceWindow(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  TENON_RETURN_IF_ERROR(WantsCalled(at, 1));
  if (at.i.operands.empty() || at.i.operands.size() % 2 != 0)
    return InvalidArgument(fmt::format("{} operands; N arrays and N initial values are wanted", at.i.operands.size()));
  std::vector<int64_t> sizes, strides, base, dilation;
  for (const WindowDim& w : at.x().window) {
    sizes.push_back(w.size);
    strides.push_back(w.stride);
    base.push_back(w.base_dilation);
    dilation.push_back(w.window_dilation);
    if (w.reversal) return Unimplemented("a reduce-window with a reversed window");
  }
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.reduce_window",
                                                        {{"window_dimensions", Array(sizes)},
                                                         {"window_strides", Array(strides)},
                                                         {"base_dilations", Array(base)},
                                                         {"window_dilations", Array(dilation)},
                                                         {"padding", Padding(at.x().window)}},
                                                        1));
  TENON_RETURN_IF_ERROR(FillRegion(op->getRegion(0), module_.computations[at.i.called[0]], at.loc, true));
  return Results(op);
}

Result<Values> Emitter::SelectAndScatter(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 3));
  TENON_RETURN_IF_ERROR(WantsCalled(at, 2));
  std::vector<int64_t> sizes, strides;
  for (const WindowDim& w : at.x().window) {
    sizes.push_back(w.size);
    strides.push_back(w.stride);
    if (w.reversal || w.base_dilation != 1 || w.window_dilation != 1)
      return Unimplemented("a select-and-scatter with dilation or reversal");
  }
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.select_and_scatter",
                                                        {{"window_dimensions", Array(sizes)},
                                                         {"window_strides", Array(strides)},
                                                         {"padding", Padding(at.x().window)}},
                                                        2));
  for (unsigned r = 0; r < 2; ++r)
    TENON_RETURN_IF_ERROR(FillRegion(op->getRegion(r), module_.computations[at.i.called[r]], at.loc, true));
  return Results(op);
}

Result<Values> Emitter::Sort(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  TENON_RETURN_IF_ERROR(WantsCalled(at, 1));
  if (at.i.dims.size() != 1) return InvalidArgument(fmt::format("{} dimensions; 1 wanted", at.i.dims.size()));
  TENON_ASSIGN_OR_RETURN(
      mlir::Operation * op,
      MakeLike(at, "stablehlo.sort",
               {{"dimension", I64(at.i.dims[0])}, {"is_stable", b_.getBoolAttr(at.x().is_stable)}}, 1));
  TENON_RETURN_IF_ERROR(FillRegion(op->getRegion(0), module_.computations[at.i.called[0]], at.loc, true));
  return Results(op);
}

Result<Values> Emitter::Map(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  TENON_RETURN_IF_ERROR(WantsCalled(at, 1));
  std::vector<int64_t> dims = at.i.dims;
  // All of them, where a program does not say.
  for (size_t d = 0; at.i.dims.empty() && d < at.i.shape.dims.size(); ++d) dims.push_back(static_cast<int64_t>(d));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.map", {{"dimensions", Array(dims)}}, 1));
  TENON_RETURN_IF_ERROR(FillRegion(op->getRegion(0), module_.computations[at.i.called[0]], at.loc, true));
  return Results(op);
}

Result<Values> Emitter::While(const At& at) {
  if (at.i.operands.size() != 1) return InvalidArgument(fmt::format("{} operands; 1 wanted", at.i.operands.size()));
  TENON_RETURN_IF_ERROR(WantsCalled(at, 2));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.while", {}, 2));
  // Called are the body, then the condition; regions are the other way round.
  TENON_RETURN_IF_ERROR(
      FillRegion(op->getRegion(0), module_.computations[at.i.called[1]], at.loc, at.in_scalar_region));
  TENON_RETURN_IF_ERROR(
      FillRegion(op->getRegion(1), module_.computations[at.i.called[0]], at.loc, at.in_scalar_region));
  return Results(op);
}

Result<Values> Emitter::Conditional(const At& at) {
  if (at.i.operands.empty() || at.i.called.empty() || at.i.operands.size() != at.i.called.size() + 1) {
    return InvalidArgument(
        fmt::format("{} operands and {} branches; an index and one operand for each branch are wanted",
                    at.i.operands.size(), at.i.called.size()));
  }
  if (at.in(0).size() != 1) return InvalidArgument("the first operand is no scalar");
  const bool predicate = at.shape(0).type == kPred;
  if (predicate && at.i.called.size() != 2)
    return InvalidArgument(fmt::format("{} branches for a predicate; 2 wanted", at.i.called.size()));
  llvm::SmallVector<mlir::Type> types;
  TENON_RETURN_IF_ERROR(LeafTypes(at.i.shape, types));
  mlir::Operation* op = Make(at.loc, predicate ? "stablehlo.if" : "stablehlo.case", at.in(0), types, {},
                             static_cast<unsigned>(at.i.called.size()));
  for (unsigned r = 0; r < at.i.called.size(); ++r) {
    const Values captured = at.in(r + 1);
    TENON_RETURN_IF_ERROR(
        FillRegion(op->getRegion(r), module_.computations[at.i.called[r]], at.loc, at.in_scalar_region, &captured));
  }
  return Results(op);
}

Result<Values> Emitter::CallOp(const At& at) {
  TENON_RETURN_IF_ERROR(WantsCalled(at, 1));
  const Values args = Operands(at);
  const auto find = [&](std::string_view key) -> const std::string* {
    for (const auto& [k, v] : at.x().frontend_attributes) {
      if (k == key) return &v;
    }
    return nullptr;
  };
  const std::string* name = find("composite.name");
  if (!at.x().is_composite || name == nullptr || at.in_scalar_region) return Call(at, at.i.called[0], args);
  TENON_ASSIGN_OR_RETURN(llvm::StringRef function, Function(at.i.called[0]));
  mlir::Attribute attributes;
  if (const std::string* text = find("composite.attributes"); text != nullptr && !text->empty()) {
    TENON_ASSIGN_OR_RETURN(attributes, ParseDictionary(*text));
  }
  mlir::Attribute version;
  if (const std::string* text = find("composite.version"); text != nullptr) {
    int32_t number = 0;
    if (!Ref(*text).getAsInteger(10, number)) version = b_.getI32IntegerAttr(number);
  }
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.composite",
                                  {{"name", b_.getStringAttr(*name)},
                                   {"composite_attributes", attributes},
                                   {"decomposition", mlir::FlatSymbolRefAttr::get(b_.getContext(), function)},
                                   {"version", version}}));
  return Results(op);
}

Result<Values> Emitter::CustomCall(const At& at) {
  const Extras& x = at.x();
  // Annotations: the value is its operand.
  if (x.custom_call_target == "Sharding" && at.i.operands.size() == 1) return at.in(0);
  if (x.custom_call_target == "SPMDFullToShardShape" || x.custom_call_target == "SPMDShardToFullShape" ||
      x.custom_call_target == "xla.sdy.GlobalToLocalShape" || x.custom_call_target == "xla.sdy.LocalToGlobalShape") {
    llvm::SmallVector<mlir::Type> types;
    TENON_RETURN_IF_ERROR(LeafTypes(at.i.shape, types));
    const Values in = Operands(at);
    bool same = types.size() == in.size();
    for (size_t v = 0; same && v < in.size(); ++v) same = types[v] == in[v].getType();
    if (same) return in;  // One partition.
    return Unimplemented(fmt::format(
        "custom call {}: regions over the parts of arrays are understood in StableHLO only", x.custom_call_target));
  }
  llvm::SmallVector<mlir::Attribute> called;
  for (uint32_t c : at.i.called) {
    TENON_ASSIGN_OR_RETURN(llvm::StringRef function, Function(c));
    called.push_back(mlir::FlatSymbolRefAttr::get(b_.getContext(), function));
  }
  mlir::Attribute config = b_.getStringAttr(x.backend_config);
  if (x.api_version == 4) {
    config = b_.getDictionaryAttr({});
    if (!x.backend_config.empty()) {
      TENON_ASSIGN_OR_RETURN(config, ParseDictionary(x.backend_config));
    }
  } else if (x.backend_config.empty()) {
    config = {};
  }
  const auto version = x.api_version == 0 ? 1 : x.api_version;
  if (!stablehlo::symbolizeCustomCallApiVersion(static_cast<uint32_t>(version)))
    return InvalidArgument(fmt::format("custom_call_api_version {}; 0 to 4 are known", version));
  mlir::Attribute operand_layouts, result_layouts;
  if (x.constrain_layout && x.operand_shapes.size() == at.i.operands.size()) {
    std::vector<const Shape*> leaves;
    for (const Shape& s : x.operand_shapes) CollectLeaves(s, leaves);
    operand_layouts = Layouts(b_, leaves);
    leaves.clear();
    CollectLeaves(at.i.shape, leaves);
    result_layouts = Layouts(b_, leaves);
  }
  llvm::SmallVector<mlir::Attribute> aliases;
  for (const OutputAlias& a : x.aliases) {
    if (a.operand < 0 || a.operand >= static_cast<int64_t>(at.i.operands.size()))
      return InvalidArgument(fmt::format("output_operand_aliasing names operand {}", a.operand));
    int64_t operand = 0;
    for (int64_t n = 0; n < a.operand; ++n) operand += static_cast<int64_t>(at.in(static_cast<size_t>(n)).size());
    if (!a.operand_index.empty()) return Unimplemented("output_operand_aliasing into a tuple operand");
    aliases.push_back(stablehlo::OutputOperandAliasAttr::get(b_.getContext(), a.output_index, operand, {}));
  }
  TENON_ASSIGN_OR_RETURN(
      mlir::Operation * op,
      MakeLike(at, "stablehlo.custom_call",
               {{"call_target_name", b_.getStringAttr(x.custom_call_target)},
                {"has_side_effect", x.has_side_effect ? b_.getBoolAttr(true) : mlir::Attribute()},
                {"backend_config", config},
                {"api_version", stablehlo::CustomCallApiVersionAttr::get(
                                    b_.getContext(), static_cast<stablehlo::CustomCallApiVersion>(version))},
                {"called_computations", called.empty() ? mlir::Attribute() : b_.getArrayAttr(called)},
                {"operand_layouts", operand_layouts},
                {"result_layouts", result_layouts},
                {"output_operand_aliases", aliases.empty() ? mlir::Attribute() : b_.getArrayAttr(aliases)},
                {"mhlo.frontend_attributes",
                 x.frontend_attributes.empty() ? mlir::Attribute() : TextDictionary(x.frontend_attributes)}}));
  return Results(op);
}

}  // namespace tenon::hlo
