// Ops with dimension numbers, with regions, and those that reach other devices.

#include "llvm/Support/raw_ostream.h"
#include "tenon/dialect/chlo/dialect.h"
#include "tenon/dialect/hlo/lowering.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::hlo {
namespace {

std::vector<int64_t> List(llvm::ArrayRef<int64_t> values) { return {values.begin(), values.end()}; }

int32_t AlgorithmNumber(stablehlo::DotAlgorithmAttr a) {
  const mlir::Type lhs = a.getLhsPrecisionType(), rhs = a.getRhsPrecisionType(), sum = a.getAccumulationType();
  const int64_t operations = a.getNumPrimitiveOperations();
  if (a.getLhsComponentCount() != 1 || a.getRhsComponentCount() != 1) return -1;
  const auto is_f8 = [](mlir::Type t) { return t.getIntOrFloatBitWidth() == 8; };
  if (is_f8(lhs) && is_f8(rhs) && sum.isF32()) return a.getAllowImpreciseAccumulation() ? 2 : 1;
  if (lhs != rhs || a.getAllowImpreciseAccumulation()) return -1;
  if (lhs.isF16()) return sum.isF16() ? 3 : 4;
  if (lhs.isBF16())
    return sum.isBF16()      ? 5
           : operations == 1 ? 6
           : operations == 3 ? 7
           : operations == 6 ? 8
           : operations == 9 ? 13
                             : -1;
  if (mlir::isa<mlir::FloatTF32Type>(lhs)) return operations == 3 ? 10 : 9;
  if (lhs.isF32()) return 11;
  if (lhs.isF64()) return 12;
  return -1;
}

Shape WithLayout(Shape shape, mlir::Attribute layout) {
  if (auto dense = mlir::dyn_cast<mlir::DenseIntElementsAttr>(layout)) {
    std::vector<int64_t>& order = shape.minor_to_major.emplace();
    for (const llvm::APInt& v : dense.getValues<llvm::APInt>()) order.push_back(v.getSExtValue());
  }
  return shape;
}

}  // namespace

void Lowering::SetPrecision(mlir::Operation* op, Extras& x) {
  auto list = mlir::dyn_cast_or_null<mlir::ArrayAttr>(op->getAttr("precision_config"));
  if (!list) return;
  for (mlir::Attribute a : list) {
    if (auto p = mlir::dyn_cast<stablehlo::PrecisionAttr>(a)) x.precision.push_back(static_cast<int32_t>(p.getValue()));
  }
}

Status Lowering::Gather(Body& body, mlir::Operation* op) {
  auto gather = mlir::cast<stablehlo::GatherOp>(op);
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "gather"));
  Extras& x = i.mutable_extras();
  const auto n = gather.getDimensionNumbers();
  x.gather =
      GatherDims{List(n.getOffsetDims()),          List(n.getCollapsedSliceDims()),       List(n.getStartIndexMap()),
                 List(n.getOperandBatchingDims()), List(n.getStartIndicesBatchingDims()), n.getIndexVectorDim()};
  x.sizes = IntsOf(op, "slice_sizes");
  x.indices_are_sorted = FlagOf(op, "indices_are_sorted");
  return Bind(body, op, std::move(i));
}

Status Lowering::Scatter(Body& body, mlir::Operation* op) {
  auto scatter = mlir::cast<stablehlo::ScatterOp>(op);
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "scatter"));
  Extras& x = i.mutable_extras();
  const auto n = scatter.getScatterDimensionNumbers();
  x.scatter = ScatterDims{List(n.getUpdateWindowDims()),           List(n.getInsertedWindowDims()),
                          List(n.getScatterDimsToOperandDims()),   List(n.getInputBatchingDims()),
                          List(n.getScatterIndicesBatchingDims()), n.getIndexVectorDim()};
  x.indices_are_sorted = FlagOf(op, "indices_are_sorted");
  x.unique_indices = FlagOf(op, "unique_indices");
  TENON_ASSIGN_OR_RETURN(const uint32_t callee, ScalarRegion(op->getRegion(0), "scatter_update"));
  i.called = {callee};
  return Bind(body, op, std::move(i));
}

Status Lowering::Dot(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "dot"));
  Extras& x = i.mutable_extras();
  if (auto general = mlir::dyn_cast<stablehlo::DotGeneralOp>(op)) {
    const auto n = general.getDotDimensionNumbers();
    x.dot = DotDims{List(n.getLhsContractingDimensions()),
                    List(n.getRhsContractingDimensions()),
                    List(n.getLhsBatchingDimensions()),
                    List(n.getRhsBatchingDimensions()),
                    {},
                    {}};
    if (auto algorithm = general.getAlgorithmAttr()) {
      x.algorithm = AlgorithmNumber(algorithm);
      if (x.algorithm < 0) return Unimplemented("its dot algorithm has no number in HLO");
    }
  } else {
    const auto rank = static_cast<int64_t>(body.computation.instructions[i.operands[0]].shape.dims.size());
    x.dot = DotDims{{rank - 1}, {0}, {}, {}, {}, {}};
  }
  SetPrecision(op, x);
  return Bind(body, op, std::move(i));
}

Status Lowering::RaggedDot(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "ragged-dot"));
  const auto n = mlir::cast<chlo::RaggedDotOp>(op).getRaggedDotDimensionNumbers();
  i.mutable_extras().dot = DotDims{List(n.getLhsContractingDimensions()), List(n.getRhsContractingDimensions()),
                                   List(n.getLhsBatchingDimensions()),    List(n.getRhsBatchingDimensions()),
                                   List(n.getLhsRaggedDimensions()),      List(n.getRhsGroupDimensions())};
  return Bind(body, op, std::move(i));
}

Status Lowering::SetWindow(mlir::Operation* op, Extras& x, llvm::StringRef sizes, llvm::StringRef base,
                           llvm::StringRef dilation, size_t rank) {
  const std::vector<int64_t> size = IntsOf(op, sizes), stride = IntsOf(op, "window_strides"),
                             padding = IntsOf(op, "padding"), from = IntsOf(op, base), apart = IntsOf(op, dilation);
  for (size_t d = 0; d < rank; ++d) {
    WindowDim& w = x.window.emplace_back();
    if (d < size.size()) w.size = size[d];
    if (d < stride.size()) w.stride = stride[d];
    // A splat is stored once but read out in full.
    if (2 * d + 1 < padding.size()) w.low = padding[2 * d], w.high = padding[2 * d + 1];
    if (d < from.size()) w.base_dilation = from[d];
    if (d < apart.size()) w.window_dilation = apart[d];
  }
  return OkStatus();
}

Status Lowering::Convolution(Body& body, mlir::Operation* op) {
  auto conv = mlir::cast<stablehlo::ConvolutionOp>(op);
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "convolution"));
  Extras& x = i.mutable_extras();
  const auto n = conv.getDimensionNumbers();
  x.conv = ConvDims{
      n.getInputBatchDimension(),          n.getInputFeatureDimension(),         n.getKernelInputFeatureDimension(),
      n.getKernelOutputFeatureDimension(), n.getOutputBatchDimension(),          n.getOutputFeatureDimension(),
      List(n.getInputSpatialDimensions()), List(n.getKernelSpatialDimensions()), List(n.getOutputSpatialDimensions())};
  TENON_RETURN_IF_ERROR(SetWindow(op, x, "", "lhs_dilation", "rhs_dilation", n.getKernelSpatialDimensions().size()));
  const Shape& kernel = body.computation.instructions[i.operands[1]].shape;
  const auto reversal = mlir::dyn_cast_or_null<mlir::DenseBoolArrayAttr>(op->getAttr("window_reversal"));
  for (size_t d = 0; d < x.window.size(); ++d) {
    x.window[d].size = kernel.dims[static_cast<size_t>(n.getKernelSpatialDimensions()[d])];
    x.window[d].reversal = reversal && reversal.asArrayRef()[d];
  }
  x.feature_group_count = IntOf(op, "feature_group_count", 1);
  x.batch_group_count = IntOf(op, "batch_group_count", 1);
  SetPrecision(op, x);
  return Bind(body, op, std::move(i));
}

Status Lowering::Linalg(Body& body, mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  std::string opcode = name == "chlo.top_k" ? "topk" : name.substr(name.find('.') + 1).str();
  for (char& c : opcode) c = c == '_' ? '-' : c;
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, opcode));
  Extras& x = i.mutable_extras();
  if (auto fft = mlir::dyn_cast<stablehlo::FftOp>(op)) {
    x.fft_type = static_cast<int32_t>(fft.getFftType());
    x.sizes = IntsOf(op, "fft_length");
  } else if (auto solve = mlir::dyn_cast<stablehlo::TriangularSolveOp>(op)) {
    x.left_side = solve.getLeftSide();
    x.lower = solve.getLower();
    x.unit_diagonal = solve.getUnitDiagonal();
    x.transpose_a = static_cast<int32_t>(solve.getTransposeA());
  } else if (name == "stablehlo.cholesky") {
    x.lower = FlagOf(op, "lower");
  } else if (name == "chlo.top_k") {
    x.k = IntOf(op, "k");
  } else if (name == "stablehlo.reduce_precision") {
    x.exponent_bits = static_cast<int32_t>(IntOf(op, "exponent_bits"));
    x.mantissa_bits = static_cast<int32_t>(IntOf(op, "mantissa_bits"));
  } else {
    if (auto epsilon = mlir::dyn_cast_or_null<mlir::FloatAttr>(op->getAttr("epsilon")))
      x.epsilon = static_cast<float>(epsilon.getValueAsDouble());
    x.feature_index = IntOf(op, "feature_index");
  }
  return Bind(body, op, std::move(i));
}

Status Lowering::Rng(Body& body, mlir::Operation* op) {
  if (auto bits = mlir::dyn_cast<stablehlo::RngBitGeneratorOp>(op)) {
    TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "rng-bit-generator"));
    i.mutable_extras().rng_algorithm = static_cast<int32_t>(bits.getRngAlgorithm());
    return Bind(body, op, std::move(i));
  }
  TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(op->getResultTypes()));
  Instruction i = New("rng", std::move(shape));
  for (unsigned n = 0; n < 2; ++n) {  // The third is the shape.
    TENON_ASSIGN_OR_RETURN(const uint32_t operand, ValueOf(body, op->getOperand(n)));
    i.operands.push_back(operand);
  }
  i.mutable_extras().distribution = static_cast<int32_t>(mlir::cast<stablehlo::RngOp>(op).getRngDistribution());
  return Bind(body, op, std::move(i));
}

Status Lowering::Reduce(Body& body, mlir::Operation* op) {
  const bool map = op->getName().getStringRef() == "stablehlo.map";
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, map ? "map" : "reduce"));
  i.dims = IntsOf(op, "dimensions");
  TENON_ASSIGN_OR_RETURN(const uint32_t callee, ScalarRegion(op->getRegion(0), map ? "map_computation" : "reduction"));
  i.called = {callee};
  return Bind(body, op, std::move(i));
}

Status Lowering::ReduceWindow(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "reduce-window"));
  TENON_RETURN_IF_ERROR(SetWindow(op, i.mutable_extras(), "window_dimensions", "base_dilations", "window_dilations",
                                  IntsOf(op, "window_dimensions").size()));
  TENON_ASSIGN_OR_RETURN(const uint32_t callee, ScalarRegion(op->getRegion(0), "reduction"));
  i.called = {callee};
  return Bind(body, op, std::move(i));
}

Status Lowering::SelectAndScatter(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "select-and-scatter"));
  TENON_RETURN_IF_ERROR(SetWindow(op, i.mutable_extras(), "window_dimensions", "", "", i.shape.dims.size()));
  TENON_ASSIGN_OR_RETURN(const uint32_t select, ScalarRegion(op->getRegion(0), "select"));
  TENON_ASSIGN_OR_RETURN(const uint32_t scatter, ScalarRegion(op->getRegion(1), "scatter"));
  i.called = {select, scatter};
  return Bind(body, op, std::move(i));
}

Status Lowering::Sort(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "sort"));
  int64_t dim = IntOf(op, "dimension", -1);
  if (dim < 0) dim += mlir::cast<mlir::RankedTensorType>(op->getOperand(0).getType()).getRank();
  i.dims = {dim};
  i.mutable_extras().is_stable = FlagOf(op, "is_stable");
  TENON_ASSIGN_OR_RETURN(const uint32_t callee, ScalarRegion(op->getRegion(0), "comparator"));
  i.called = {callee};
  return Bind(body, op, std::move(i));
}

Status Lowering::While(Body& body, mlir::Operation* op) {
  Captures captures;
  for (mlir::Region& region : op->getRegions()) Collect(region, captures);
  TENON_ASSIGN_OR_RETURN(const uint32_t condition,
                         Region(op->getRegion(0).front(), "condition", {.tupled = true, .captures = &captures}));
  // The body's results may be fewer than its parameters: captures go round unchanged.
  TENON_ASSIGN_OR_RETURN(const uint32_t loop, Region(op->getRegion(1).front(), "body",
                                                     {.tupled = true, .pass_on = true, .captures = &captures}));
  TENON_ASSIGN_OR_RETURN(std::vector<uint32_t> state, OperandsOf(body, op));
  for (mlir::Value v : captures) {
    TENON_ASSIGN_OR_RETURN(const uint32_t captured, ValueOf(body, v));
    state.push_back(captured);
  }
  const uint32_t tuple = Tuple(body, state);
  Instruction i = New("while", body.computation.instructions[tuple].shape);
  i.operands = {tuple};
  i.called = {loop, condition};
  const uint32_t made = Append(body, std::move(i));
  for (unsigned r = 0; r < op->getNumResults(); ++r) body.values[op->getResult(r)] = Element(body, made, r);
  return OkStatus();
}

Status Lowering::Conditional(Body& body, mlir::Operation* op) {
  const bool predicate = op->getName().getStringRef() == "stablehlo.if";
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "conditional"));
  for (mlir::Region& region : op->getRegions()) {
    Captures captures;
    Collect(region, captures);
    std::vector<uint32_t> members;
    for (mlir::Value v : captures) {
      TENON_ASSIGN_OR_RETURN(const uint32_t captured, ValueOf(body, v));
      members.push_back(captured);
    }
    i.operands.push_back(Tuple(body, members));
    TENON_ASSIGN_OR_RETURN(const uint32_t branch, Region(region.front(), predicate ? "branch" : "case",
                                                         {.tupled = true, .captures = &captures}));
    i.called.push_back(branch);
  }
  return Bind(body, op, std::move(i));
}

Status Lowering::Call(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "call"));
  auto composite = mlir::dyn_cast<stablehlo::CompositeOp>(op);
  auto callee = mlir::dyn_cast_or_null<mlir::FlatSymbolRefAttr>(op->getAttr(composite ? "decomposition" : "callee"));
  auto function = callee ? source_.lookupSymbol<mlir::func::FuncOp>(callee.getValue()) : mlir::func::FuncOp();
  if (!function) return InvalidArgument("it calls a function that is not there");
  TENON_ASSIGN_OR_RETURN(const uint32_t computation, Function(function, false));
  i.called = {computation};
  if (composite) {
    Extras& x = i.mutable_extras();
    x.is_composite = true;
    std::string attributes;
    llvm::raw_string_ostream(attributes) << composite.getCompositeAttributes();
    x.frontend_attributes = {{"composite.attributes", std::move(attributes)},
                             {"composite.name", composite.getName().str()},
                             {"composite.version", std::to_string(composite.getVersion())}};
  }
  return Bind(body, op, std::move(i));
}

Status Lowering::CustomCall(Body& body, mlir::Operation* op) {
  auto call = mlir::cast<stablehlo::CustomCallOp>(op);
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "custom-call"));
  Extras& x = i.mutable_extras();
  x.custom_call_target = call.getCallTargetName().str();
  x.has_side_effect = call.getHasSideEffect();
  x.api_version = static_cast<int32_t>(call.getApiVersion());
  mlir::Attribute config = op->getAttr("backend_config");
  // Artifacts older than typed calls carry the dictionary beside the call.
  if (mlir::Attribute beside = op->getAttr("mhlo.backend_config"); beside && mlir::isa<mlir::DictionaryAttr>(beside)) {
    config = beside;
    x.api_version = 4;
  }
  if (auto text = mlir::dyn_cast_or_null<mlir::StringAttr>(config))
    x.backend_config = text.getValue().str();
  else if (config)
    llvm::raw_string_ostream(x.backend_config) << config;
  const auto operand_layouts = mlir::dyn_cast_or_null<mlir::ArrayAttr>(op->getAttr("operand_layouts"));
  const auto result_layouts = mlir::dyn_cast_or_null<mlir::ArrayAttr>(op->getAttr("result_layouts"));
  if (operand_layouts && result_layouts && operand_layouts.size() == i.operands.size() &&
      result_layouts.size() == op->getNumResults()) {
    x.constrain_layout = true;
    for (size_t n = 0; n < i.operands.size(); ++n)
      x.operand_shapes.push_back(WithLayout(body.computation.instructions[i.operands[n]].shape, operand_layouts[n]));
    if (op->getNumResults() == 1)
      i.shape = WithLayout(i.shape, result_layouts[0]);
    else
      for (unsigned r = 0; r < op->getNumResults(); ++r)
        i.shape.members[r] = WithLayout(i.shape.members[r], result_layouts[r]);
  }
  if (auto aliases = mlir::dyn_cast_or_null<mlir::ArrayAttr>(op->getAttr("output_operand_aliases"))) {
    for (mlir::Attribute a : aliases) {
      auto alias = mlir::cast<stablehlo::OutputOperandAliasAttr>(a);
      x.aliases.push_back(
          {List(alias.getOutputTupleIndices()), alias.getOperandIndex(), List(alias.getOperandTupleIndices())});
    }
  }
  if (auto called = mlir::dyn_cast_or_null<mlir::ArrayAttr>(op->getAttr("called_computations"))) {
    for (mlir::Attribute a : called) {
      auto function = source_.lookupSymbol<mlir::func::FuncOp>(mlir::cast<mlir::FlatSymbolRefAttr>(a).getValue());
      if (!function) return InvalidArgument("it names a function that is not there");
      TENON_ASSIGN_OR_RETURN(const uint32_t computation, Function(function, false));
      i.called.push_back(computation);
    }
  }
  if (auto attributes = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(op->getAttr("mhlo.frontend_attributes"))) {
    for (const mlir::NamedAttribute& a : attributes) {
      if (auto text = mlir::dyn_cast<mlir::StringAttr>(a.getValue()))
        x.frontend_attributes.emplace_back(a.getName().str(), text.getValue().str());
    }
  }
  return Bind(body, op, std::move(i));
}

Status Lowering::SetGroups(mlir::Operation* op, Extras& x) {
  auto dense = mlir::dyn_cast_or_null<mlir::DenseIntElementsAttr>(op->getAttr("replica_groups"));
  if (!dense) return Unimplemented("replica groups over a mesh have no HLO form here");
  const auto type = mlir::cast<mlir::RankedTensorType>(dense.getType());
  auto& groups = x.replica_groups.emplace();
  groups.resize(type.getRank() == 2 ? static_cast<size_t>(type.getDimSize(0)) : 0);
  size_t n = 0;
  for (const llvm::APInt& v : dense.getValues<llvm::APInt>()) {
    const size_t row = n++ / static_cast<size_t>(type.getDimSize(1));
    if (v.getSExtValue() >= 0) groups[row].push_back(v.getSExtValue());
  }
  return OkStatus();
}

Status Lowering::Collective(Body& body, mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  std::string opcode = name.substr(name.find('.') + 1).str();
  for (char& c : opcode) c = c == '_' ? '-' : c;
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, opcode));
  Extras& x = i.mutable_extras();
  if (auto channel = mlir::dyn_cast_or_null<stablehlo::ChannelHandleAttr>(op->getAttr("channel_handle")))
    x.channel_id = channel.getHandle();
  if (name == "stablehlo.collective_permute") {
    const std::vector<int64_t> pairs = IntsOf(op, "source_target_pairs");
    for (size_t n = 0; n + 1 < pairs.size(); n += 2) x.source_target_pairs.emplace_back(pairs[n], pairs[n + 1]);
    return Bind(body, op, std::move(i));
  }
  TENON_RETURN_IF_ERROR(SetGroups(op, x));
  x.use_global_device_ids = FlagOf(op, "use_global_device_ids");
  if (name == "stablehlo.all_gather") i.dims = {IntOf(op, "all_gather_dim")};
  if (name == "stablehlo.reduce_scatter") i.dims = {IntOf(op, "scatter_dimension")};
  if (name == "stablehlo.all_to_all") {
    if (op->getNumOperands() != 1 || IntOf(op, "split_dimension") != IntOf(op, "concat_dimension")) {
      return Unimplemented(
          "an all_to_all of several operands, or that splits and joins different dims, has no HLO form here");
    }
    i.dims = {IntOf(op, "split_dimension")};
  }
  if (op->getNumRegions() == 1) {
    TENON_ASSIGN_OR_RETURN(const uint32_t callee, ScalarRegion(op->getRegion(0), "reduction"));
    i.called = {callee};
  }
  return Bind(body, op, std::move(i));
}

}  // namespace tenon::hlo
