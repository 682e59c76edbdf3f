#include "tenon/compiler/import/importer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mlir/IR/TypeUtilities.h"
#include "tenon/compiler/import/import.h"
#include "tenon/compiler/partition/contents.h"
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/kir/kir.h"
#include "tenon/kir/math.h"

namespace tenon::compiler {

namespace {

constexpr int kMaxDepth = 200;     // structural: the recursion must fit a stack
constexpr int kMostDescribed = 4;  // structural: the innermost ops around a mistake say enough

/// The op of that StableHLO name when it has a form here that needs no more than operands, result and the attributes
/// that ImportStablehlo knows.
const llvm::StringMap<OpCode>& OpTable() {
  static const llvm::StringMap<OpCode>* table = [] {
    auto* t = new llvm::StringMap<OpCode>();
#define TENON_IR_OP(enumerator, name, kind, attributes) (*t)[name] = OpCode::enumerator;
#include "tenon/compiler/ir/ops.def"
#undef TENON_IR_OP
    for (const char* name : {"parameter", "opaque", "math", "create_token"}) t->erase(name);
    return t;
  }();
  return *table;
}

std::string_view ToView(llvm::StringRef s) { return {s.data(), s.size()}; }

int64_t IntAttr(mlir::Operation* op, llvm::StringRef name) {
  auto attr = op->getAttrOfType<mlir::IntegerAttr>(name);
  return attr ? attr.getInt() : 0;
}

Dims FromArray(llvm::ArrayRef<int64_t> values) { return Dims(values.begin(), values.end()); }

}  // namespace

Status Importer::Where(mlir::Operation* op, Status status) {
  // The innermost ops say enough.
  if (status.ok() || ++described_ > kMostDescribed) return status;
  return status.WithContext(dialect::Describe(op));
}

std::optional<Literal> Importer::SharedLiteralOf(mlir::Attribute value) {
  const auto [known, is_new] = literals_.try_emplace(value);
  if (is_new) known->second = LiteralOf(value);
  return known->second;
}

Result<Ref> Importer::Get(mlir::Value v) {
  auto it = values_.find(v);
  if (it != values_.end()) return it->second;
  if (mlir::isa<mlir::TupleType>(v.getType())) return Unimplemented("a tuple, elsewhere than in a call");
  return Internal("a value is used before it is imported");
}

// How many arrays a value is.
static size_t NumLeaves(mlir::Type type) {
  const auto tuple = mlir::dyn_cast<mlir::TupleType>(type);
  if (!tuple) return 1;
  size_t leaves = 0;
  for (mlir::Type part : tuple.getTypes()) leaves += NumLeaves(part);
  return leaves;
}

Status Importer::AddLeaves(mlir::Value v, std::vector<Ref>& to) {
  if (const auto tuple = tuples_.find(v); tuple != tuples_.end()) {
    to.insert(to.end(), tuple->second.begin(), tuple->second.end());
    return OkStatus();
  }
  TENON_ASSIGN_OR_RETURN(const Ref r, Get(v));
  to.push_back(r);
  return OkStatus();
}

size_t Importer::SetLeaves(mlir::Value v, const Ref* leaves) {
  const size_t n = NumLeaves(v.getType());
  if (mlir::isa<mlir::TupleType>(v.getType()))
    tuples_[v] = std::vector<Ref>(leaves, leaves + n);
  else
    values_[v] = *leaves;
  return n;
}

Result<GraphNode> Importer::Start(mlir::Operation* op, OpCode kind) {
  GraphNode node;
  node.op = kind;
  node.origin = op;
  for (mlir::Value v : op->getOperands()) {
    TENON_ASSIGN_OR_RETURN(Ref r, Get(v));
    node.in.push_back(r);
  }
  for (mlir::Value v : op->getResults()) {
    TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(v.getType()));
    node.out.push_back(std::move(shape));
  }
  return node;
}

NodeId Importer::Finish(mlir::Operation* op, GraphNode node, Block& to) {
  const NodeId id = p_.Add(std::move(node));
  to.nodes.push_back(id);
  uint32_t i = 0;
  for (mlir::Value v : op->getResults()) values_[v] = {id, i++};
  return id;
}

Status Importer::Identity(mlir::Operation* op) {
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    TENON_ASSIGN_OR_RETURN(Ref r, Get(op->getOperand(static_cast<unsigned>(i))));
    values_[op->getResult(static_cast<unsigned>(i))] = r;
  }
  return OkStatus();
}

Status Importer::ImportInto(mlir::Block& from, Block& to) {
  if (++depth_ > kMaxDepth)
    return InvalidArgument(fmt::format("regions and calls are nested {} deep, at most {} may be", depth_, kMaxDepth));
  for (mlir::Operation& op : from) {
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      for (mlir::Value v : op.getOperands()) TENON_RETURN_IF_ERROR(AddLeaves(v, to.results));
      break;
    }
    if (++inlined_ > kMaxInlinedOps) return TooManyInlinedOps();
    const size_t first = p_.nodes.size();
    TENON_RETURN_IF_ERROR(Where(&op, ImportOp(&op, to)));
    for (size_t i = first; i < p_.nodes.size(); ++i) {
      if (p_.nodes[i].source == nullptr) p_.nodes[i].source = &op;
    }
  }
  --depth_;
  return OkStatus();
}

Status Importer::ImportRegion(mlir::Region& region, GraphNode& node) {
  Block block;
  mlir::Block& from = region.front();
  for (mlir::BlockArgument arg : from.getArguments()) {
    GraphNode parameter;
    parameter.op = OpCode::kParameter;
    TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(arg.getType()));
    parameter.out.push_back(std::move(shape));
    const NodeId id = p_.Add(std::move(parameter));
    block.args.push_back(id);
    values_[arg] = {id, 0};
  }
  TENON_RETURN_IF_ERROR(ImportInto(from, block));
  node.blocks.push_back(std::move(block));
  return OkStatus();
}

Status Importer::ImportInlined(mlir::Region& region, mlir::ValueRange operands, mlir::ResultRange results, Block& to) {
  mlir::Block& from = region.front();
  for (size_t i = 0; i < from.getNumArguments(); ++i) {
    if (operands[i].getType() != from.getArgument(static_cast<unsigned>(i)).getType()) {
      return Unimplemented("a computation on parts of arrays: the program is made for several devices");
    }
    std::vector<Ref> leaves;
    TENON_RETURN_IF_ERROR(AddLeaves(operands[i], leaves));
    SetLeaves(from.getArgument(static_cast<unsigned>(i)), leaves.data());
  }
  const std::vector<Ref> kept = std::move(to.results);
  to.results.clear();
  TENON_RETURN_IF_ERROR(ImportInto(from, to));
  const Ref* next = to.results.data();
  for (mlir::Value result : results) next += SetLeaves(result, next);
  to.results = kept;
  return OkStatus();
}

Status Importer::ImportOp(mlir::Operation* op, Block& to) {
  const llvm::StringRef full = op->getName().getStringRef();
  const auto [ns, name] = full.split('.');
  if (ns == "stablehlo") return ImportStablehlo(op, name, to);
  if (ns == "func" && name == "call") {
    const llvm::StringRef callee = mlir::cast<mlir::func::CallOp>(op).getCallee();
    auto it = functions_.find(callee);
    if (it == functions_.end() || it->second.isExternal())
      return InvalidArgument(fmt::format("calls @{}, which has no body", ToView(callee)));
    return ImportInlined(it->second.getBody(), op->getOperands(), op->getResults(), to);
  }
  if (ns == "chlo" && name == "square") {
    TENON_ASSIGN_OR_RETURN(GraphNode node, Start(op, OpCode::kMultiply));
    node.in.push_back(node.in[0]);
    node.origin = nullptr;
    Finish(op, std::move(node), to);
    return OkStatus();
  }
  if (ns == "chlo") {
    TENON_ASSIGN_OR_RETURN(GraphNode node, Start(op, OpCode::kNamedMath));
    if (node.out.size() == 1 && !node.in.empty() && IsFloat(node.shape().dtype)) {
      const DType type = DTypeBits(node.shape().dtype) < 32 ? DType::kF32 : node.shape().dtype;
      bool same = true;
      for (Ref r : node.in) same &= p_.shape(r) == node.shape();
      if (same && kir::FindMath(ToView(name), type).ok()) {
        node.name = std::string(ToView(name));
        Finish(op, std::move(node), to);
        return OkStatus();
      }
    }
    return ImportOpaque(op, to);
  }
  if (ns == "sdy") {
    if (name == "mesh" || name == "sharding_group") return OkStatus();
    if (name == "manual_computation" || name == "named_computation") {
      return ImportInlined(op->getRegion(0), op->getOperands(), op->getResults(), to);
    }
    if (op->getNumOperands() == 1 && op->getNumResults() == 1) return Identity(op);
  }
  if (op->getNumResults() == 0 && op->getNumOperands() == 0) return OkStatus();
  return ImportOpaque(op, to);
}

Status Importer::ImportStablehlo(mlir::Operation* op, llvm::StringRef name, Block& to) {
  if (name == "constant") {
    GraphNode node;
    node.op = OpCode::kConstant;
    TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(op->getResult(0).getType()));
    std::optional<Literal> literal = SharedLiteralOf(op->getAttr("value"));
    if (!literal) return ImportOpaque(op, to);
    node.out.push_back(std::move(shape));
    node.literal = std::move(*literal);
    Finish(op, std::move(node), to);
    return OkStatus();
  }
  if (name == "composite") return ImportComposite(op, to);
  if (name == "custom_call" || name == "cholesky" || name == "triangular_solve") {
    TENON_ASSIGN_OR_RETURN(const bool native, ImportLinalg(op, to));
    if (native) return OkStatus();
  }
  if (name == "custom_call") return ImportCustomCall(op, to);
  if (name == "send" || name == "recv") {
    TENON_ASSIGN_OR_RETURN(const bool with_host, ImportHostTransfer(op, to));
    return with_host ? OkStatus() : ImportOpaque(op, to);
  }
  if (name == "tuple") {
    std::vector<Ref> leaves;
    for (mlir::Value v : op->getOperands()) TENON_RETURN_IF_ERROR(AddLeaves(v, leaves));
    SetLeaves(op->getResult(0), leaves.data());
    return OkStatus();
  }
  if (name == "get_tuple_element") {
    std::vector<Ref> leaves;
    TENON_RETURN_IF_ERROR(AddLeaves(op->getOperand(0), leaves));
    const auto type = mlir::cast<mlir::TupleType>(op->getOperand(0).getType());
    size_t first = 0;
    for (int64_t i = 0; i < IntAttr(op, "index"); ++i) first += NumLeaves(type.getType(static_cast<size_t>(i)));
    SetLeaves(op->getResult(0), leaves.data() + first);
    return OkStatus();
  }
  if (name == "after_all" || name == "create_token") {
    TENON_ASSIGN_OR_RETURN(GraphNode node, Start(op, OpCode::kToken));
    Finish(op, std::move(node), to);
    return OkStatus();
  }
  TENON_ASSIGN_OR_RETURN(bool done, ImportSingleDevice(op, name, to));
  if (done) return OkStatus();
  if (name == "if" || name == "broadcast" || name == "dot") {
    return ImportStructured(op, name == "if" ? OpCode::kCase : name == "dot" ? OpCode::kDot : OpCode::kBroadcast, to);
  }
  if (name == "sort") {
    TENON_ASSIGN_OR_RETURN(const bool by_keys, ImportSort(op, to));
    return by_keys ? OkStatus() : ImportOpaque(op, to);
  }
  auto it = OpTable().find(name);
  if (it == OpTable().end()) return ImportOpaque(op, to);
  return ImportStructured(op, it->second, to);
}

namespace {

/// A list that is ones when absent.
Dims OnesUnless(mlir::Operation* op, llvm::StringRef name, size_t rank) {
  Dims dims = DimsOf(op->getAttr(name));
  if (dims.empty()) dims.assign(rank, 1);
  return dims;
}

/// The padding's two columns: low, high.
std::pair<Dims, Dims> PaddingOf(mlir::Operation* op, size_t rank) {
  Dims low(rank, 0);
  Dims high(rank, 0);
  const Dims padding = DimsOf(op->getAttr("padding"));
  for (size_t i = 0; 2 * i + 1 < padding.size(); ++i) {
    low[i] = padding[2 * i];
    high[i] = padding[2 * i + 1];
  }
  return {std::move(low), std::move(high)};
}

ConvolutionAttrs ReadConvolution(mlir::Operation* op) {
  stablehlo::ConvDimensionNumbersAttr d = mlir::cast<stablehlo::ConvolutionOp>(op).getDimensionNumbers();
  const size_t spatial = d.getInputSpatialDimensions().size();
  auto [low, high] = PaddingOf(op, spatial);
  Dims reversal(spatial, 0);
  if (auto flags = op->getAttrOfType<mlir::DenseBoolArrayAttr>("window_reversal")) {
    for (size_t i = 0; i < spatial && i < flags.asArrayRef().size(); ++i) reversal[i] = flags.asArrayRef()[i] ? 1 : 0;
  }
  return {.input_batch_dimension = d.getInputBatchDimension(),
          .input_feature_dimension = d.getInputFeatureDimension(),
          .input_spatial_dimensions = FromArray(d.getInputSpatialDimensions()),
          .kernel_input_feature_dimension = d.getKernelInputFeatureDimension(),
          .kernel_output_feature_dimension = d.getKernelOutputFeatureDimension(),
          .kernel_spatial_dimensions = FromArray(d.getKernelSpatialDimensions()),
          .output_batch_dimension = d.getOutputBatchDimension(),
          .output_feature_dimension = d.getOutputFeatureDimension(),
          .output_spatial_dimensions = FromArray(d.getOutputSpatialDimensions()),
          .window_strides = OnesUnless(op, "window_strides", spatial),
          .padding_low = std::move(low),
          .padding_high = std::move(high),
          .lhs_dilation = OnesUnless(op, "lhs_dilation", spatial),
          .rhs_dilation = OnesUnless(op, "rhs_dilation", spatial),
          .window_reversal = std::move(reversal),
          .feature_group_count = IntAttr(op, "feature_group_count"),
          .batch_group_count = IntAttr(op, "batch_group_count")};
}

kir::Cmp CmpOf(stablehlo::ComparisonDirection direction) {
  switch (direction) {
    case stablehlo::ComparisonDirection::EQ:
      return kir::kEq;
    case stablehlo::ComparisonDirection::NE:
      return kir::kNe;
    case stablehlo::ComparisonDirection::LT:
      return kir::kLt;
    case stablehlo::ComparisonDirection::LE:
      return kir::kLe;
    case stablehlo::ComparisonDirection::GT:
      return kir::kGt;
    case stablehlo::ComparisonDirection::GE:
      return kir::kGe;
  }
  return kir::kEq;
}

FftType FftTypeOf(stablehlo::FftType type) {
  switch (type) {
    case stablehlo::FftType::FFT:
      return FftType::kFft;
    case stablehlo::FftType::IFFT:
      return FftType::kIfft;
    case stablehlo::FftType::RFFT:
      return FftType::kRfft;
    case stablehlo::FftType::IRFFT:
      return FftType::kIrfft;
  }
  return FftType::kFft;
}

/// The attributes of an op whose fields are attributes of the same names.
template <class T>
T ReadByName(mlir::Operation* op) {
  T attrs;
  ForEachField(attrs, [&]<class V>(const char* name, V& value, FieldMeaning, FieldOf) {
    if constexpr (std::is_same_v<V, Dims>) {
      value = DimsOf(op->getAttr(name));
    } else {
      value = IntAttr(op, name);
    }
  });
  return attrs;
}

/// Makes steps `none` where there are no two places for one: one that is never taken may be any number, and what is
/// multiplied by it would not fit.
void DropUnusedSteps(Dims& steps, const Dims& counts, int64_t none = 1) {
  for (size_t i = 0; i < steps.size() && i < counts.size(); ++i) {
    if (counts[i] <= 1) steps[i] = none;
  }
}

/// What lies behind the only window along a dim is no padding: without a step another window would begin there.
/// `dilations` as the attributes have them, of what is padded and of the window.
void EndWithOnlyWindow(const Dims& windows, const Dims& extents, const std::pair<Dims, Dims>& dilations,
                       const Dims& window, const Dims& low, Dims& high) {
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i] != 1) continue;
    const int64_t length = extents[i] == 0 ? 0 : (extents[i] - 1) * dilations.first[i] + 1;
    high[i] = (window[i] - 1) * dilations.second[i] + 1 - low[i] - length;
  }
}

Dims ExtentsOf(mlir::Value v) { return FromArray(mlir::cast<mlir::ShapedType>(v.getType()).getShape()); }

Dims Chosen(const Dims& extents, const Dims& dims) {
  Dims chosen;
  for (const int64_t d : dims) chosen.push_back(extents[static_cast<size_t>(d)]);
  return chosen;
}

/// Writes the op's attributes to `node`, whose first operand has the shape `first`. False when the op has no form here.
bool ReadAttributes(mlir::Operation* op, OpCode kind, const Shape& first, GraphNode& node) {
  switch (kind) {
    case OpCode::kBroadcast:
      if (op->getName().getStringRef() == "stablehlo.broadcast") {
        Dims dims;
        const size_t added = node.shape().rank() - first.rank();
        for (size_t i = added; i < node.shape().rank(); ++i) dims.push_back(static_cast<int64_t>(i));
        node.attributes = BroadcastAttrs{dims};
      } else {
        node.attributes = ReadByName<BroadcastAttrs>(op);
      }
      break;
    case OpCode::kTranspose:
      node.attributes = ReadByName<TransposeAttrs>(op);
      break;
    case OpCode::kReverse:
      node.attributes = ReadByName<ReverseAttrs>(op);
      break;
    case OpCode::kSlice:
      node.attributes = ReadByName<SliceAttrs>(op);
      for (size_t d = 0; d < first.rank(); ++d) {
        if (node.shape().dims[d] == 1)
          node.attrs<SliceAttrs>().limit_indices[d] = node.attrs<SliceAttrs>().start_indices[d] + 1;
      }
      DropUnusedSteps(node.attrs<SliceAttrs>().strides, node.shape().dims);
      break;
    case OpCode::kPad:
      node.attributes = ReadByName<PadAttrs>(op);
      DropUnusedSteps(node.attrs<PadAttrs>().interior_padding, first.dims, 0);
      break;
    case OpCode::kConcatenate:
      node.attributes = ReadByName<ConcatenateAttrs>(op);
      break;
    case OpCode::kIota:
      node.attributes = ReadByName<IotaAttrs>(op);
      break;
    case OpCode::kReducePrecision:
      node.attributes = ReadByName<ReducePrecisionAttrs>(op);
      break;
    case OpCode::kBitcast: {
      const DType type = node.shape().dtype;
      return DTypeBits(first.dtype) == DTypeBits(type) && first.dims == node.shape().dims &&
             IsComplex(first.dtype) == IsComplex(type);
    }
    case OpCode::kCompare: {
      auto compare = mlir::cast<stablehlo::CompareOp>(op);
      node.attributes =
          CompareAttrs{CmpOf(compare.getComparisonDirection()),
                       compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER && IsFloat(first.dtype)};
      break;
    }
    case OpCode::kGather: {
      auto gather = mlir::cast<stablehlo::GatherOp>(op);
      stablehlo::GatherDimensionNumbersAttr d = gather.getDimensionNumbers();
      node.attributes = GatherAttrs{.offset_dims = FromArray(d.getOffsetDims()),
                                    .collapsed_slice_dims = FromArray(d.getCollapsedSliceDims()),
                                    .operand_batching_dims = FromArray(d.getOperandBatchingDims()),
                                    .start_indices_batching_dims = FromArray(d.getStartIndicesBatchingDims()),
                                    .start_index_map = FromArray(d.getStartIndexMap()),
                                    .index_vector_dim = d.getIndexVectorDim(),
                                    .slice_sizes = FromArray(gather.getSliceSizes())};
      break;
    }
    case OpCode::kScatter: {
      auto scatter = mlir::cast<stablehlo::ScatterOp>(op);
      stablehlo::ScatterDimensionNumbersAttr d = scatter.getScatterDimensionNumbers();
      node.attributes = ScatterAttrs{.update_window_dims = FromArray(d.getUpdateWindowDims()),
                                     .inserted_window_dims = FromArray(d.getInsertedWindowDims()),
                                     .input_batching_dims = FromArray(d.getInputBatchingDims()),
                                     .scatter_indices_batching_dims = FromArray(d.getScatterIndicesBatchingDims()),
                                     .scatter_dims_to_operand_dims = FromArray(d.getScatterDimsToOperandDims()),
                                     .index_vector_dim = d.getIndexVectorDim()};
      break;
    }
    case OpCode::kReduce: {
      // A set: the order in which a program names them means nothing.
      ReduceAttrs attrs = ReadByName<ReduceAttrs>(op);
      std::sort(attrs.dimensions.begin(), attrs.dimensions.end());
      node.attributes = std::move(attrs);
      break;
    }
    case OpCode::kReduceWindow: {
      auto [low, high] = PaddingOf(op, first.rank());
      node.attributes = ReduceWindowAttrs{.window_dimensions = OnesUnless(op, "window_dimensions", first.rank()),
                                          .window_strides = OnesUnless(op, "window_strides", first.rank()),
                                          .base_dilations = OnesUnless(op, "base_dilations", first.rank()),
                                          .window_dilations = OnesUnless(op, "window_dilations", first.rank()),
                                          .padding_low = std::move(low),
                                          .padding_high = std::move(high)};
      auto& windows = node.attrs<ReduceWindowAttrs>();
      DropUnusedSteps(windows.window_strides, node.shape().dims);
      DropUnusedSteps(windows.base_dilations, first.dims);
      DropUnusedSteps(windows.window_dilations, windows.window_dimensions);
      EndWithOnlyWindow(node.shape().dims, first.dims, {windows.base_dilations, windows.window_dilations},
                        windows.window_dimensions, windows.padding_low, windows.padding_high);
      break;
    }
    case OpCode::kConvolution: {
      node.attributes = ReadConvolution(op);
      auto& windows = node.attrs<ConvolutionAttrs>();
      const Dims results = Chosen(node.shape().dims, windows.output_spatial_dimensions);
      const Dims extents = Chosen(first.dims, windows.input_spatial_dimensions);
      const Dims window = Chosen(ExtentsOf(op->getOperand(1)), windows.kernel_spatial_dimensions);
      DropUnusedSteps(windows.window_strides, results);
      DropUnusedSteps(windows.lhs_dilation, extents);
      DropUnusedSteps(windows.rhs_dilation, window);
      EndWithOnlyWindow(results, extents, {windows.lhs_dilation, windows.rhs_dilation}, window, windows.padding_low,
                        windows.padding_high);
      break;
    }
    case OpCode::kSelectAndScatter: {
      auto [low, high] = PaddingOf(op, first.rank());
      const Dims none(first.rank(), 1);
      node.attributes = SelectAndScatterAttrs{.window_dimensions = OnesUnless(op, "window_dimensions", first.rank()),
                                              .window_strides = OnesUnless(op, "window_strides", first.rank()),
                                              .padding_low = std::move(low),
                                              .padding_high = std::move(high)};
      auto& windows = node.attrs<SelectAndScatterAttrs>();
      DropUnusedSteps(windows.window_strides, ExtentsOf(op->getOperand(1)));
      EndWithOnlyWindow(ExtentsOf(op->getOperand(1)), first.dims, {none, none}, windows.window_dimensions,
                        windows.padding_low, windows.padding_high);
      break;
    }
    case OpCode::kFft:
      node.attributes =
          FftAttrs{FftTypeOf(mlir::cast<stablehlo::FftOp>(op).getFftType()), DimsOf(op->getAttr("fft_length"))};
      break;
    case OpCode::kDot:
      if (op->getName().getStringRef() == "stablehlo.dot") {
        const int64_t last = static_cast<int64_t>(first.rank()) - 1;
        node.attributes = DotAttrs{.lhs_contracting_dimensions = {last}, .rhs_contracting_dimensions = {0}};
      } else {
        stablehlo::DotDimensionNumbersAttr d = mlir::cast<stablehlo::DotGeneralOp>(op).getDotDimensionNumbers();
        node.attributes = DotAttrs{.lhs_batching_dimensions = FromArray(d.getLhsBatchingDimensions()),
                                   .rhs_batching_dimensions = FromArray(d.getRhsBatchingDimensions()),
                                   .lhs_contracting_dimensions = FromArray(d.getLhsContractingDimensions()),
                                   .rhs_contracting_dimensions = FromArray(d.getRhsContractingDimensions())};
      }
      break;
    default:
      break;
  }
  return true;
}

/// Which factor of a product is a predicate as a number. Such a product chooses between the other one and zero, as XLA
/// has it on all its platforms: an infinity times a mask is no NaN, and programs count on that.
std::optional<unsigned> TruthOperand(mlir::Operation* product) {
  const auto element = [](mlir::Value v) { return mlir::getElementTypeOrSelf(v.getType()); };
  const mlir::Type type = element(product->getResult(0));
  // structural: floats of a byte need not have a zero
  const bool is_float = mlir::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() > 8;
  if (!is_float && !mlir::isa<mlir::ComplexType>(type)) return std::nullopt;
  for (unsigned i = 0; i < 2; ++i) {
    auto number = product->getOperand(i).getDefiningOp<stablehlo::ConvertOp>();
    if (number && element(number->getOperand(0)).isInteger(1)) return i;
  }
  return std::nullopt;
}

}  // namespace

Status Importer::ImportStructured(mlir::Operation* op, OpCode kind, Block& to) {
  // Loops and branches carry what they capture; combiners have no place for it.
  if (kind == OpCode::kReduce || kind == OpCode::kReduceWindow || kind == OpCode::kScatter ||
      kind == OpCode::kSelectAndScatter) {
    TakeInConstants(op);
    if (CapturesValues(op)) return ImportOpaque(op, to);
  }
  TENON_ASSIGN_OR_RETURN(GraphNode node, Start(op, kind));
  const Shape first = node.in.empty() ? Shape() : p_.shape(node.in[0]);
  if (kind == OpCode::kBitcast) {
    if (const std::optional<Ref> parts = ResizingBitcast(node.in[0], node.shape(), to)) {
      values_[op->getResult(0)] = *parts;
      return OkStatus();
    }
  }
  if (const std::optional<unsigned> truth = kind == OpCode::kMultiply ? TruthOperand(op) : std::nullopt) {
    TENON_ASSIGN_OR_RETURN(const Ref predicate, Get(op->getOperand(*truth).getDefiningOp()->getOperand(0)));
    node.op = OpCode::kSelect;
    node.in = {predicate, node.in[1 - *truth], Zeros(node.shape(), to)};
    node.origin = nullptr;
    Finish(op, std::move(node), to);
    return OkStatus();
  }
  if (!ReadAttributes(op, kind, first, node)) return ImportOpaque(op, to);
  if (kind == OpCode::kCase) {
    // `if` lists its true branch first; a pred index selects 0 when false.
    const bool is_if = op->getName().getStringRef() == "stablehlo.if";
    for (size_t i = 0; i < op->getNumRegions(); ++i) {
      const size_t at = is_if ? 1 - i : i;
      TENON_RETURN_IF_ERROR(ImportRegion(op->getRegion(static_cast<unsigned>(at)), node));
    }
  } else {
    for (mlir::Region& region : op->getRegions()) TENON_RETURN_IF_ERROR(ImportRegion(region, node));
  }
  for (const Block& block : node.blocks) {
    for (NodeId id : block.nodes) node.side_effect |= p_[id].side_effect;
  }
  Finish(op, std::move(node), to);
  return OkStatus();
}

constexpr llvm::StringRef kClientPrefix = "chlo.";

// Whether a composite is a function of CHLO as its dialect's conversion writes it, rather than somebody's own that is
// called so.
static bool IsClientMath(mlir::Operation* op, llvm::StringRef name) {
  const auto attributes = op->getAttrOfType<mlir::DictionaryAttr>("composite_attributes");
  const auto version = op->getAttrOfType<mlir::IntegerAttr>("version");
  return op->getNumResults() == 1 && name.starts_with(kClientPrefix) && (!attributes || attributes.empty()) &&
         version && version.getInt() == 1 && mlir::RegisteredOperationName::lookup(name, op->getContext()).has_value();
}

Status Importer::ImportComposite(mlir::Operation* op, Block& to) {
  auto name = op->getAttrOfType<mlir::StringAttr>("name");
  auto decomposition = op->getAttrOfType<mlir::SymbolRefAttr>("decomposition");
  if (name && IsClientMath(op, name.getValue())) {
    TENON_ASSIGN_OR_RETURN(GraphNode node, Start(op, OpCode::kNamedMath));
    const std::string_view function = ToView(name.getValue().drop_front(kClientPrefix.size()));
    const DType type = node.shape().dtype;
    bool same = IsFloat(type);
    for (Ref r : node.in) same &= p_.shape(r) == node.shape();
    const Result<kir::MathId> math = kir::FindMath(function, DTypeBits(type) < 32 ? DType::kF32 : type);
    if (same && math.ok() && kir::MathGraph(*math).arguments.size() == node.in.size()) {
      node.name = std::string(function);
      node.origin = nullptr;
      Finish(op, std::move(node), to);
      return OkStatus();
    }
  }
  auto it = decomposition ? functions_.find(decomposition.getRootReference().getValue()) : functions_.end();
  if (it == functions_.end() || it->second.isExternal()) return InvalidArgument("a composite without decomposition");
  return ImportInlined(it->second.getBody(), op->getOperands(), op->getResults(), to);
}

// Calls that only say where data lies.
static bool SaysWhereDataLies(llvm::StringRef target) {
  return llvm::is_contained<llvm::StringRef>(
      {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "LayoutConstraint",
       "MoveToHost", "MoveToDevice", "Pin", "Unpin"},
      target);
}

Status Importer::ImportCustomCall(mlir::Operation* op, Block& to) {
  auto target = op->getAttrOfType<mlir::StringAttr>("call_target_name");
  const llvm::StringRef name = target ? target.getValue() : "";
  if (SaysWhereDataLies(name)) {
    bool same = op->getNumOperands() == op->getNumResults();
    for (size_t i = 0; same && i < op->getNumResults(); ++i) {
      same &= op->getOperand(static_cast<unsigned>(i)).getType() == op->getResult(static_cast<unsigned>(i)).getType();
    }
    if (same) return Identity(op);
  }
  if (name == "dce_sink") return OkStatus();
  if (name == "ApproxTopK") return ImportApproxTopK(op, to);
  TENON_ASSIGN_OR_RETURN(GraphNode node, Start(op, OpCode::kCustomCall));
  node.name = std::string(ToView(name));
  auto effect = op->getAttrOfType<mlir::BoolAttr>("has_side_effect");
  node.side_effect = effect && effect.getValue();
  Finish(op, std::move(node), to);
  return OkStatus();
}

bool IsHostTransfer(mlir::Operation* op) {
  auto flag = op->getAttrOfType<mlir::BoolAttr>("is_host_transfer");
  return mlir::isa<stablehlo::SendOp, stablehlo::RecvOp>(op) && flag && flag.getValue();
}

Result<bool> Importer::ImportHostTransfer(mlir::Operation* op, Block& to) {
  if (!IsHostTransfer(op)) return false;
  const bool sends = mlir::isa<stablehlo::SendOp>(op);
  const unsigned arrays = (sends ? op->getNumOperands() : op->getNumResults()) - 1;  // The last is the token.
  if (arrays != 1) return Unimplemented(fmt::format("{} arrays on one channel of the host, wanted 1", arrays));
  TENON_ASSIGN_OR_RETURN(GraphNode node, Start(op, OpCode::kCustomCall));
  node.name = sends ? kHostSendTarget : kHostRecvTarget;
  node.side_effect = true;
  Finish(op, std::move(node), to);
  return true;
}

Ref Importer::Zeros(Shape shape, Block& to) {
  GraphNode node;
  node.op = OpCode::kConstant;
  node.literal = MakeLiteral(std::string(static_cast<size_t>(ByteWidth(shape.dtype)), 0), true);
  node.out.push_back(std::move(shape));
  const NodeId id = p_.Add(std::move(node));
  to.nodes.push_back(id);
  return {id, 0};
}

Status Importer::ImportZeros(mlir::Value result, Block& to) {
  TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(result.getType()));
  values_[result] = Zeros(std::move(shape), to);
  return OkStatus();
}

Result<bool> Importer::ImportSingleDevice(mlir::Operation* op, llvm::StringRef name, Block& to) {
  if (name == "partition_id" || name == "replica_id") {
    TENON_RETURN_IF_ERROR(ImportZeros(op->getResult(0), to));
    return true;
  }
  if (name == "collective_permute") {
    // Whatever no pair sends to the one device there is, is zero.
    const Dims flat = DimsOf(op->getAttrOfType<mlir::DenseIntElementsAttr>("source_target_pairs"));
    bool sent = false;
    for (size_t i = 0; i + 1 < flat.size(); i += 2) sent |= flat[i] == 0 && flat[i + 1] == 0;
    if (sent) {
      TENON_RETURN_IF_ERROR(Identity(op));
    } else {
      TENON_RETURN_IF_ERROR(ImportZeros(op->getResult(0), to));
    }
    return true;
  }
  if (name == "all_reduce" || name == "all_gather" || name == "all_to_all" || name == "reduce_scatter" ||
      name == "collective_broadcast" || name == "cross-replica-sum") {
    if (op->getNumOperands() != op->getNumResults())
      return Unimplemented("a collective with other results than operands");
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      TENON_ASSIGN_OR_RETURN(const Ref value, Get(op->getOperand(i)));
      TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(op->getResult(i).getType()));
      if (p_.shape(value).dims != shape.dims) return Unimplemented("a collective over more than one device");
      values_[op->getResult(i)] = value;
      if (p_.shape(value).dtype == shape.dtype) continue;
      // What is summed in a wider type.
      GraphNode convert;
      convert.op = OpCode::kConvert;
      convert.in = {value};
      convert.out = {shape};
      const NodeId id = p_.Add(std::move(convert));
      to.nodes.push_back(id);
      values_[op->getResult(i)] = {id, 0};
    }
    return true;
  }
  return false;
}

Status Importer::ImportOpaque(mlir::Operation* op, Block& to) {
  TENON_ASSIGN_OR_RETURN(GraphNode node, Start(op, OpCode::kOpaque));
  node.name = std::string(ToView(op->getName().getStringRef()));
  const llvm::StringRef name = op->getName().stripDialect();
  node.side_effect = name == "send" || name == "recv" || name == "infeed" || name == "outfeed" || name == "rng";
  // What its regions use from outside travels as operands.
  llvm::DenseMap<mlir::Value, bool> seen;
  Status status;
  op->walk([&](mlir::Operation* inner) {
    if (inner == op) return;
    for (mlir::Value v : inner->getOperands()) {
      mlir::Operation* owner = v.getParentBlock()->getParentOp();
      if (owner == op || op->isProperAncestor(owner)) continue;
      if (!seen.try_emplace(v, true).second) continue;
      Result<Ref> r = Get(v);
      if (!r.ok()) {
        status = r.status();
        return;
      }
      node.in.push_back(*r);
      node.captures.push_back(v.getAsOpaquePointer());
    }
  });
  TENON_RETURN_IF_ERROR(status);
  Finish(op, std::move(node), to);
  return OkStatus();
}

// The layout, as layout modes spell it, that a call of LayoutConstraint gives a value.
static std::optional<std::string> ConstrainedLayout(mlir::Value value) {
  auto call = value.getDefiningOp<stablehlo::CustomCallOp>();
  if (!call || call.getCallTargetName() != "LayoutConstraint") return std::nullopt;
  const auto layouts = call->getAttrOfType<mlir::ArrayAttr>("result_layouts");
  if (!layouts || layouts.size() != 1) return std::nullopt;
  return fmt::format("{{{}}}", fmt::join(DimsOf(layouts[0]), ","));
}

Status Importer::ImportSignature(mlir::func::FuncOp main) {
  auto text = [](mlir::DictionaryAttr attrs, llvm::StringRef name) {
    auto value = attrs ? attrs.getAs<mlir::StringAttr>(name) : mlir::StringAttr();
    return value ? std::string(ToView(value.getValue())) : std::string();
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    mlir::DictionaryAttr attrs = main.getArgAttrDict(i);
    ParameterInfo info;
    info.memory_kind = text(attrs, "mhlo.memory_kind");
    info.layout_mode = text(attrs, "mhlo.layout_mode");
    if (attrs) {
      if (auto alias = attrs.getAs<mlir::IntegerAttr>("tf.aliasing_output"))
        info.aliasing_output = static_cast<int32_t>(alias.getInt());
      if (auto donor = attrs.getAs<mlir::BoolAttr>("jax.buffer_donor")) info.donor = donor.getValue();
    }
    p_.parameters.push_back(std::move(info));
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    if (mlir::isa<mlir::TupleType>(main.getResultTypes()[i])) {  // Its arrays are results one by one.
      p_.results.resize(p_.results.size() + NumLeaves(main.getResultTypes()[i]));
      continue;
    }
    mlir::DictionaryAttr attrs = main.getResultAttrDict(i);
    p_.results.push_back({text(attrs, "mhlo.memory_kind"), text(attrs, "mhlo.layout_mode")});
    std::string& mode = p_.results.back().layout_mode;
    if (mode == "auto") mode = ConstrainedLayout(main.getBody().front().getTerminator()->getOperand(i)).value_or(mode);
  }
  return OkStatus();
}

Status Importer::Run() {
  if (auto name = module_.getName()) p_.name = std::string(ToView(*name));
  for (mlir::func::FuncOp f : module_.getOps<mlir::func::FuncOp>()) functions_[f.getName()] = f;
  auto it = functions_.find("main");
  mlir::func::FuncOp main;
  if (it != functions_.end()) {
    main = it->second;
  } else {
    for (mlir::func::FuncOp f : module_.getOps<mlir::func::FuncOp>()) {
      if (!f.isPublic() || f.isExternal()) continue;
      if (main) return InvalidArgument("the module has several public functions, none of them called main");
      main = f;
    }
  }
  if (!main || main.isExternal()) return InvalidArgument("the module has no function main");
  // Who shows programs, and who prints one as a module, wants a name of each.
  if (p_.name.empty()) p_.name = std::string(ToView(main.getName()));
  TENON_RETURN_IF_ERROR(ImportSignature(main));
  mlir::Block& body = main.getBody().front();
  for (mlir::BlockArgument arg : body.getArguments()) {
    GraphNode parameter;
    parameter.op = OpCode::kParameter;
    TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(arg.getType()));
    parameter.out.push_back(std::move(shape));
    const NodeId id = p_.Add(std::move(parameter));
    p_.main.args.push_back(id);
    values_[arg] = {id, 0};
  }
  return ImportInto(body, p_.main);
}

}  // namespace tenon::compiler
