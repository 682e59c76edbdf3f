// The graph as StableHLO again: what OptimizedProgram shows. Groups of nodes, which are what kernels were made of,
// become functions that @main calls.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "tenon/compiler/import/import_impl.h"
#include "tenon/compiler/import/types.h"
#include "tenon/compiler/partition/globalize.h"
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {

namespace {

using mlir::Value;
using Values = std::unordered_map<Ref, Value, RefHasher>;

llvm::ArrayRef<int64_t> ToArray(const Dims& dims) { return {dims.data(), dims.size()}; }

stablehlo::ComparisonDirection DirectionOf(kir::Cmp cmp) {
  switch (cmp) {
    case kir::kNe:
      return stablehlo::ComparisonDirection::NE;
    case kir::kLt:
      return stablehlo::ComparisonDirection::LT;
    case kir::kLe:
      return stablehlo::ComparisonDirection::LE;
    case kir::kGt:
      return stablehlo::ComparisonDirection::GT;
    case kir::kGe:
      return stablehlo::ComparisonDirection::GE;
    default:
      return stablehlo::ComparisonDirection::EQ;
  }
}

stablehlo::FftType TypeOf(FftType type) {
  switch (type) {
    case FftType::kIfft:
      return stablehlo::FftType::IFFT;
    case FftType::kRfft:
      return stablehlo::FftType::RFFT;
    case FftType::kIrfft:
      return stablehlo::FftType::IRFFT;
    default:
      return stablehlo::FftType::FFT;
  }
}

class Exporter {
 public:
  Exporter(mlir::ModuleOp source, const Program& program, const std::vector<NodeGroup>& groups)
      : source_(source), p_(program), groups_(groups), b_(source.getContext()) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].members.size() < 2) continue;
      members_.insert(groups_[g].members.begin(), groups_[g].members.end());
      for (NodeId root : groups_[g].roots) group_of_root_.try_emplace(root, g);
    }
    source_.walk([&](stablehlo::CompositeOp op) { composites_.push_back(op); });
  }

  Result<mlir::OwningOpRef<mlir::ModuleOp>> Run() {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(b_.getUnknownLoc(), p_.name);
    module_ = *module;
    for (const char* name : {kParametersShardings, kOutputSharding}) {
      if (mlir::Attribute value = source_->getAttr(name)) module_->setAttr(name, value);
    }
    llvm::SmallVector<mlir::Type> in, out;
    for (NodeId id : p_.main.args) in.push_back(TypeOfShape(p_[id].shape()));
    for (Ref r : p_.main.results) out.push_back(TypeOfShape(p_.shape(r)));
    auto main = mlir::func::FuncOp::create(b_.getUnknownLoc(), "main", b_.getFunctionType(in, out));
    CopySignature(main);
    module_.push_back(main);
    b_.setInsertionPointToEnd(main.addEntryBlock());
    Values values;
    for (size_t i = 0; i < p_.main.args.size(); ++i)
      values[{p_.main.args[i], 0}] = main.getArgument(static_cast<unsigned>(i));
    llvm::SmallVector<Value> results;
    TENON_RETURN_IF_ERROR(WriteBlock(p_.main, values, results));
    mlir::func::ReturnOp::create(b_, b_.getUnknownLoc(), results);
    CloneSymbols(module_, source_);
    if (Status s = dialect::Verify(module_); !s.ok())
      return Internal(std::string(s.message())).WithContext("the optimized program as StableHLO is wrong");
    return module;
  }

  // @main computes one node from its operands.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> RunNode(const GraphNode& node) {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(b_.getUnknownLoc());
    module_ = *module;
    llvm::SmallVector<mlir::Type> in, out;
    for (Ref r : node.in) in.push_back(TypeOfShape(p_.shape(r)));
    for (const Shape& shape : node.out) out.push_back(TypeOfShape(shape));
    auto main = mlir::func::FuncOp::create(b_.getUnknownLoc(), "main", b_.getFunctionType(in, out));
    module_.push_back(main);
    b_.setInsertionPointToEnd(main.addEntryBlock());
    Values values;
    for (size_t i = 0; i < node.in.size(); ++i) values[node.in[i]] = main.getArgument(static_cast<unsigned>(i));
    for (Ref r : Needs(node)) {
      if (values.contains(r)) continue;
      if (p_[r.node].op != OpCode::kConstant)
        return Unimplemented(fmt::format("{} whose region uses outer values", OpName(node.op)));
      TENON_RETURN_IF_ERROR(WriteNode(r.node, values));
    }
    const llvm::SmallVector<Value> operands(main.getArguments());
    TENON_ASSIGN_OR_RETURN(const llvm::SmallVector<Value> results, Write(node, operands, values));
    mlir::func::ReturnOp::create(b_, b_.getUnknownLoc(), results);
    if (Status s = dialect::Verify(module_); !s.ok())
      return Internal(std::string(s.message())).WithContext(fmt::format("{} as StableHLO is wrong", OpName(node.op)));
    return module;
  }

 private:
  mlir::Type ElementType(DType type) {
    switch (type) {
      case DType::kPred:
        return b_.getI1Type();
      case DType::kF32:
        return b_.getF32Type();
      case DType::kF64:
        return b_.getF64Type();
      case DType::kF16:
        return b_.getF16Type();
      case DType::kBF16:
        return b_.getBF16Type();
      case DType::kC64:
        return mlir::ComplexType::get(b_.getF32Type());
      case DType::kC128:
        return mlir::ComplexType::get(b_.getF64Type());
      case DType::kF8E5M2:
        return mlir::Float8E5M2Type::get(b_.getContext());
      case DType::kF8E4M3FN:
        return mlir::Float8E4M3FNType::get(b_.getContext());
      case DType::kF8E4M3B11FNUZ:
        return mlir::Float8E4M3B11FNUZType::get(b_.getContext());
      case DType::kF8E5M2FNUZ:
        return mlir::Float8E5M2FNUZType::get(b_.getContext());
      case DType::kF8E4M3FNUZ:
        return mlir::Float8E4M3FNUZType::get(b_.getContext());
      case DType::kF8E4M3:
        return mlir::Float8E4M3Type::get(b_.getContext());
      case DType::kF8E3M4:
        return mlir::Float8E3M4Type::get(b_.getContext());
      case DType::kF8E8M0FNU:
        return mlir::Float8E8M0FNUType::get(b_.getContext());
      case DType::kF4E2M1FN:
        return mlir::Float4E2M1FNType::get(b_.getContext());
      case DType::kF6E2M3FN:
        return mlir::Float6E2M3FNType::get(b_.getContext());
      case DType::kF6E3M2FN:
        return mlir::Float6E3M2FNType::get(b_.getContext());
      default:
        return mlir::IntegerType::get(b_.getContext(), static_cast<unsigned>(DTypeBits(type)),
                                      IsUnsigned(type) ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless);
    }
  }
  mlir::Type TypeOfShape(const Shape& shape) {
    if (shape.dtype == DType::kToken) return stablehlo::TokenType::get(b_.getContext());
    return mlir::RankedTensorType::get(ToArray(shape.dims), ElementType(shape.dtype));
  }
  mlir::Location LocationOf(const GraphNode& node) {
    return node.origin == nullptr ? b_.getUnknownLoc() : node.origin->getLoc();
  }

  // What callers say of arguments; shardings went with the partitioner.
  void CopySignature(mlir::func::FuncOp main) {
    auto from = source_.lookupSymbol<mlir::func::FuncOp>("main");
    if (!from || from.getNumArguments() != main.getNumArguments()) return;
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      for (const char* name : {"tf.aliasing_output", "jax.buffer_donor", "mhlo.layout_mode", "mhlo.memory_kind"}) {
        if (mlir::Attribute value = from.getArgAttr(i, name)) main.setArgAttr(i, name, value);
      }
    }
    if (from.getNumResults() != main.getNumResults()) return;
    for (unsigned i = 0; i < main.getNumResults(); ++i) {
      for (const char* name : {"mhlo.layout_mode", "mhlo.memory_kind"}) {
        if (mlir::Attribute value = from.getResultAttr(i, name)) main.setResultAttr(i, name, value);
      }
    }
  }

  // --- What a node needs.

  // Values of other blocks that a block uses.
  void FreeValues(const Block& block, std::set<NodeId>& own, std::set<Ref>& free) const {
    own.insert(block.args.begin(), block.args.end());
    own.insert(block.nodes.begin(), block.nodes.end());
    for (NodeId id : block.nodes) {
      for (Ref r : p_[id].in) {
        if (!own.contains(r.node)) free.insert(r);
      }
      for (const Block& inner : p_[id].blocks) FreeValues(inner, own, free);
    }
    for (Ref r : block.results) {
      if (!own.contains(r.node)) free.insert(r);
    }
  }
  std::set<Ref> Needs(const GraphNode& node) const {
    std::set<Ref> needs(node.in.begin(), node.in.end());
    for (const Block& block : node.blocks) {
      std::set<NodeId> own;
      FreeValues(block, own, needs);
    }
    return needs;
  }

  // --- Writing, at the insertion point. `values` are those that are there.

  Status WriteBlock(const Block& block, Values& values, llvm::SmallVector<Value>& results) {
    for (NodeId id : block.nodes) {
      // What is computed inside of kernels alone is written there; numbers and views, where somebody wants them.
      if (members_.contains(id) && !group_of_root_.contains(id)) continue;
      const GraphNode& node = p_[id];
      if (!node.side_effect && (KindOfOp(node.op) == OpKind::kLeaf || KindOfOp(node.op) == OpKind::kView)) continue;
      TENON_RETURN_IF_ERROR(Ensure(id, values));
    }
    for (Ref r : block.results) {
      TENON_RETURN_IF_ERROR(Ensure(r.node, values));
      results.push_back(values.at(r));
    }
    return OkStatus();
  }

  Status Ensure(NodeId id, Values& values) {
    if (values.contains({id, 0})) return OkStatus();
    if (const auto group = group_of_root_.find(id); group != group_of_root_.end())
      return WriteGroup(groups_[group->second], values);
    if (!p_[id].out.empty() && !under_way_.insert(id).second)
      return Internal(fmt::format("%{} ({}) needs itself", id, OpName(p_[id].op)));
    for (Ref r : Needs(p_[id])) TENON_RETURN_IF_ERROR(Ensure(r.node, values));
    under_way_.erase(id);
    return WriteNode(id, values);
  }

  bool IsNumber(NodeId id) const { return p_[id].op == OpCode::kConstant && p_[id].literal.splat; }

  Status WriteGroup(const NodeGroup& group, Values& values) {
    if (!under_way_.insert(group.roots[0]).second)
      return Internal(fmt::format("the kernel of %{} needs itself", group.roots[0]));
    const std::set<NodeId> members(group.members.begin(), group.members.end());
    std::set<Ref> inputs;
    std::set<NodeId> numbers;
    for (NodeId id : group.members) {
      for (Ref r : Needs(p_[id])) {
        if (IsNumber(r.node)) {
          numbers.insert(r.node);
        } else if (!members.contains(r.node)) {
          inputs.insert(r);
        }
      }
    }
    for (Ref r : inputs) TENON_RETURN_IF_ERROR(Ensure(r.node, values));
    under_way_.erase(group.roots[0]);

    llvm::SmallVector<Value> arguments;
    llvm::SmallVector<mlir::Type> in, out;
    for (Ref r : inputs) {
      arguments.push_back(values.at(r));
      in.push_back(values.at(r).getType());
    }
    std::vector<Ref> results;
    for (NodeId root : group.roots) {
      for (uint32_t i = 0; i < p_[root].out.size(); ++i) results.push_back({root, i});
    }
    for (Ref r : results) out.push_back(TypeOfShape(p_.shape(r)));
    const mlir::Location loc = LocationOf(p_[group.roots[0]]);
    auto function =
        mlir::func::FuncOp::create(loc, fmt::format("fusion_{}", num_functions_++), b_.getFunctionType(in, out));
    function.setPrivate();
    module_.push_back(function);
    {
      const mlir::OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToEnd(function.addEntryBlock());
      Values inner;
      unsigned i = 0;
      for (Ref r : inputs) inner[r] = function.getArgument(i++);
      for (NodeId id : numbers) TENON_RETURN_IF_ERROR(WriteNode(id, inner));
      for (NodeId id : group.members) {
        if (!inner.contains({id, 0})) TENON_RETURN_IF_ERROR(WriteNode(id, inner));
      }
      llvm::SmallVector<Value> returned;
      for (Ref r : results) returned.push_back(inner.at(r));
      mlir::func::ReturnOp::create(b_, loc, returned);
    }
    auto call = mlir::func::CallOp::create(b_, loc, function, arguments);
    for (size_t i = 0; i < results.size(); ++i) values[results[i]] = call.getResult(static_cast<unsigned>(i));
    return OkStatus();
  }

  // Operands must be there.
  Status WriteNode(NodeId id, Values& values) {
    llvm::SmallVector<Value> operands;
    for (Ref r : p_[id].in) operands.push_back(values.at(r));
    TENON_ASSIGN_OR_RETURN(const llvm::SmallVector<Value> results, Write(p_[id], operands, values));
    for (uint32_t i = 0; i < results.size(); ++i) values[{id, i}] = results[i];
    return OkStatus();
  }

  // The results of a node, whose regions may use `values`.
  Result<llvm::SmallVector<Value>> Write(const GraphNode& node, llvm::ArrayRef<Value> operands, Values& values) {
    mlir::Operation* op = nullptr;
    switch (node.op) {
      case OpCode::kParameter:
        return Internal("an argument that is not there");
      case OpCode::kConstant:
        op = Create("stablehlo.constant", node, {}, {{"value", LiteralAttr(node)}});
        break;
      case OpCode::kToken:
        op = Create(operands.empty() ? "stablehlo.create_token" : "stablehlo.after_all", node, operands);
        break;
      case OpCode::kOpaque:
      case OpCode::kCustomCall: {
        TENON_ASSIGN_OR_RETURN(op, CloneOrigin(node, operands));
        break;
      }
      case OpCode::kNamedMath: {
        TENON_ASSIGN_OR_RETURN(op, WriteMath(node, operands));
        break;
      }
      case OpCode::kSort:
        return WriteSort(node, operands);
      case OpCode::kLinalg: {
        TENON_ASSIGN_OR_RETURN(op, WriteLinalg(node, operands));
        break;
      }
      default: {
        TENON_ASSIGN_OR_RETURN(op, WritePlain(node, operands, values));
      }
    }
    return llvm::SmallVector<Value>(op->getResults());
  }

  using Attributes = llvm::SmallVector<mlir::NamedAttribute>;
  mlir::NamedAttribute Named(llvm::StringRef name, mlir::Attribute value) { return b_.getNamedAttr(name, value); }
  mlir::NamedAttribute List(llvm::StringRef name, const Dims& dims) {
    return Named(name, b_.getDenseI64ArrayAttr(ToArray(dims)));
  }
  mlir::NamedAttribute Number(llvm::StringRef name, int64_t n) { return Named(name, b_.getI64IntegerAttr(n)); }
  mlir::NamedAttribute Padding(const Dims& low, const Dims& high) {
    llvm::SmallVector<int64_t> pairs;
    for (size_t i = 0; i < low.size(); ++i) {
      pairs.push_back(low[i]);
      pairs.push_back(high[i]);
    }
    const auto type = mlir::RankedTensorType::get({static_cast<int64_t>(low.size()), 2}, b_.getI64Type());
    return Named("padding", mlir::DenseIntElementsAttr::get(type, pairs));
  }

  mlir::Operation* Create(llvm::StringRef name, mlir::TypeRange types, mlir::ValueRange operands, mlir::Location loc,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {}, size_t regions = 0) {
    mlir::OperationState state(loc, name);
    state.addOperands(operands);
    state.addTypes(types);
    state.addAttributes(attributes);
    for (size_t i = 0; i < regions; ++i) state.addRegion();
    return b_.create(state);
  }
  mlir::Operation* Create(llvm::StringRef name, const GraphNode& node, mlir::ValueRange operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    llvm::SmallVector<mlir::Type> types;
    for (const Shape& shape : node.out) types.push_back(TypeOfShape(shape));
    return Create(name, types, operands, LocationOf(node), attributes, node.blocks.size());
  }

  mlir::Attribute LiteralAttr(const GraphNode& node) {
    const auto type = mlir::cast<mlir::RankedTensorType>(TypeOfShape(node.shape()));
    const std::string& bytes = *node.literal.bytes;
    const DType dtype = node.shape().dtype;
    if (dtype == DType::kPred) {
      llvm::SmallVector<bool> bits;
      for (const char c : bytes) bits.push_back(c != 0);
      return mlir::DenseElementsAttr::get(type, bits);
    }
    std::string raw = bytes;
    // MLIR keeps narrow integers zero-extended.
    if (IsInteger(dtype) && DTypeBits(dtype) < 8) {
      for (char& c : raw) c = static_cast<char>(static_cast<uint8_t>(c) & ((1u << DTypeBits(dtype)) - 1));
    }
    if (NumElements(node.shape().dims) == 0) return mlir::DenseElementsAttr::getFromRawBuffer(type, {});
    return mlir::DenseElementsAttr::getFromRawBuffer(type, {raw.data(), raw.size()});
  }

  Result<mlir::Operation*> CloneOrigin(const GraphNode& node, llvm::ArrayRef<Value> operands) {
    mlir::Operation* from = node.origin;
    if (from == nullptr) return Unimplemented(fmt::format("{} that no op stands behind", OpName(node.op)));
    mlir::IRMapping mapping;
    const size_t own = from->getNumOperands();
    for (size_t i = own; i-- > 0;) mapping.map(from->getOperand(static_cast<unsigned>(i)), operands[i]);
    for (size_t i = 0; i < node.captures.size(); ++i)
      mapping.map(mlir::Value::getFromOpaquePointer(node.captures[i]), operands[own + i]);
    mlir::Operation* op = b_.clone(*from, mapping);
    op->setOperands(operands.take_front(own));
    op->removeAttr("sdy.sharding");
    op->removeAttr("mhlo.sharding");
    return op;
  }

  // An op of its own name, or the composite with that name and type that the program came with.
  Result<mlir::Operation*> WriteMath(const GraphNode& node, llvm::ArrayRef<Value> operands) {
    const std::string name = "chlo." + node.name;
    const mlir::Type type = TypeOfShape(node.shape());
    for (stablehlo::CompositeOp composite : composites_) {
      if (composite.getName() != llvm::StringRef(name) || composite->getNumResults() != 1 ||
          composite->getNumOperands() != operands.size() || composite->getResult(0).getType() != type)
        continue;
      mlir::Operation* op = composite->cloneWithoutRegions();
      op->setOperands(operands);
      b_.insert(op);
      return op;
    }
    if (node.origin != nullptr && node.origin->getName().getStringRef() == llvm::StringRef(name))
      return Create(name, node, operands);
    return Unimplemented(fmt::format("{} has no form in StableHLO", name));
  }

  Result<mlir::Operation*> WriteLinalg(const GraphNode& node, llvm::ArrayRef<Value> operands) {
    const auto& a = node.attrs<LinalgAttrs>();
    if (a.op == LinalgOp::kLu || a.has_info)
      return Unimplemented("factorisations in Tenon's own form have none in StableHLO");
    const auto lower = Named("lower", b_.getBoolAttr(a.lower));
    if (a.op == LinalgOp::kCholesky) return Create("stablehlo.cholesky", node, operands, {lower});
    const auto transpose = a.transpose_a ? stablehlo::Transpose::TRANSPOSE : stablehlo::Transpose::NO_TRANSPOSE;
    return Create("stablehlo.triangular_solve", node, {operands[1], operands[0]},
                  {lower, Named("left_side", b_.getBoolAttr(a.left_side)),
                   Named("unit_diagonal", b_.getBoolAttr(a.unit_diagonal)),
                   Named("transpose_a", stablehlo::TransposeAttr::get(b_.getContext(), transpose))});
  }

  // Attributes by their names, as lists and numbers.
  template <class T>
  Attributes ByName(const GraphNode& node) {
    Attributes attributes;
    ForEachField(node.attrs<T>(), [&]<class V>(const char* name, const V& value, FieldMeaning, FieldOf) {
      if constexpr (std::is_same_v<V, Dims>) {
        attributes.push_back(List(name, value));
      } else {
        attributes.push_back(Number(name, value));
      }
    });
    return attributes;
  }

  Attributes AttributesOf(const GraphNode& node) {
    mlir::MLIRContext* context = b_.getContext();
    switch (node.op) {
      case OpCode::kIota:
        return ByName<IotaAttrs>(node);
      case OpCode::kBroadcast:
        return ByName<BroadcastAttrs>(node);
      case OpCode::kReverse:
        return ByName<ReverseAttrs>(node);
      case OpCode::kSlice:
        return ByName<SliceAttrs>(node);
      case OpCode::kTranspose:
        return ByName<TransposeAttrs>(node);
      case OpCode::kPad:
        return ByName<PadAttrs>(node);
      case OpCode::kConcatenate:
        return ByName<ConcatenateAttrs>(node);
      case OpCode::kReduce:
        return ByName<ReduceAttrs>(node);
      case OpCode::kDynamicSlice:
        return {List("slice_sizes", node.shape().dims)};
      case OpCode::kReducePrecision: {
        const auto& a = node.attrs<ReducePrecisionAttrs>();
        return {Named("exponent_bits", b_.getI32IntegerAttr(static_cast<int32_t>(a.exponent_bits))),
                Named("mantissa_bits", b_.getI32IntegerAttr(static_cast<int32_t>(a.mantissa_bits)))};
      }
      case OpCode::kCompare: {
        const auto& a = node.attrs<CompareAttrs>();
        Attributes attributes = {Named("comparison_direction", stablehlo::ComparisonDirectionAttr::get(
                                                                   context, DirectionOf(a.comparison_direction)))};
        if (a.total_order) {
          attributes.push_back(Named(
              "compare_type", stablehlo::ComparisonTypeAttr::get(context, stablehlo::ComparisonType::TOTALORDER)));
        }
        return attributes;
      }
      case OpCode::kGather: {
        const auto& a = node.attrs<GatherAttrs>();
        return {Named("dimension_numbers", stablehlo::GatherDimensionNumbersAttr::get(
                                               context, ToArray(a.offset_dims), ToArray(a.collapsed_slice_dims),
                                               ToArray(a.operand_batching_dims), ToArray(a.start_indices_batching_dims),
                                               ToArray(a.start_index_map), a.index_vector_dim)),
                List("slice_sizes", a.slice_sizes)};
      }
      case OpCode::kScatter: {
        const auto& a = node.attrs<ScatterAttrs>();
        return {Named("scatter_dimension_numbers",
                      stablehlo::ScatterDimensionNumbersAttr::get(
                          context, ToArray(a.update_window_dims), ToArray(a.inserted_window_dims),
                          ToArray(a.input_batching_dims), ToArray(a.scatter_indices_batching_dims),
                          ToArray(a.scatter_dims_to_operand_dims), a.index_vector_dim))};
      }
      case OpCode::kDot: {
        const auto& a = node.attrs<DotAttrs>();
        return {Named("dot_dimension_numbers",
                      stablehlo::DotDimensionNumbersAttr::get(
                          context, ToArray(a.lhs_batching_dimensions), ToArray(a.rhs_batching_dimensions),
                          ToArray(a.lhs_contracting_dimensions), ToArray(a.rhs_contracting_dimensions)))};
      }
      case OpCode::kReduceWindow: {
        const auto& a = node.attrs<ReduceWindowAttrs>();
        return {List("window_dimensions", a.window_dimensions), List("window_strides", a.window_strides),
                List("base_dilations", a.base_dilations), List("window_dilations", a.window_dilations),
                Padding(a.padding_low, a.padding_high)};
      }
      case OpCode::kSelectAndScatter: {
        const auto& a = node.attrs<SelectAndScatterAttrs>();
        return {List("window_dimensions", a.window_dimensions), List("window_strides", a.window_strides),
                Padding(a.padding_low, a.padding_high)};
      }
      case OpCode::kConvolution: {
        const auto& a = node.attrs<ConvolutionAttrs>();
        llvm::SmallVector<bool> reversal;
        for (int64_t r : a.window_reversal) reversal.push_back(r != 0);
        return {Named("dimension_numbers",
                      stablehlo::ConvDimensionNumbersAttr::get(
                          context, a.input_batch_dimension, a.input_feature_dimension,
                          ToArray(a.input_spatial_dimensions), a.kernel_input_feature_dimension,
                          a.kernel_output_feature_dimension, ToArray(a.kernel_spatial_dimensions),
                          a.output_batch_dimension, a.output_feature_dimension, ToArray(a.output_spatial_dimensions))),
                List("window_strides", a.window_strides),
                Padding(a.padding_low, a.padding_high),
                List("lhs_dilation", a.lhs_dilation),
                List("rhs_dilation", a.rhs_dilation),
                Named("window_reversal", b_.getDenseBoolArrayAttr(reversal)),
                Number("feature_group_count", a.feature_group_count),
                Number("batch_group_count", a.batch_group_count)};
      }
      case OpCode::kFft: {
        const auto& a = node.attrs<FftAttrs>();
        return {Named("fft_type", stablehlo::FftTypeAttr::get(context, TypeOf(a.fft_type))),
                List("fft_length", a.fft_length)};
      }
      default:
        return {};
    }
  }

  // Ops that StableHLO has under the graph's name.
  Result<mlir::Operation*> WritePlain(const GraphNode& node, llvm::ArrayRef<Value> operands, Values& values) {
    const bool is_if = node.op == OpCode::kCase && p_.shape(node.in[0]).dtype == DType::kPred;
    const std::string name = is_if ? "stablehlo.if" : "stablehlo." + std::string(OpName(node.op));
    mlir::Operation* op = Create(name, node, operands, AttributesOf(node));
    for (size_t i = 0; i < node.blocks.size(); ++i) {
      // An index of false is 0: the first branch, which `if` names last.
      TENON_RETURN_IF_ERROR(
          WriteRegion(node.blocks[i], op->getRegion(static_cast<unsigned>(is_if ? 1 - i : i)), values));
    }
    return op;
  }

  Status WriteRegion(const Block& block, mlir::Region& region, Values& values) {
    const mlir::OpBuilder::InsertionGuard guard(b_);
    mlir::Block& to = region.emplaceBlock();
    for (NodeId id : block.args) values[{id, 0}] = to.addArgument(TypeOfShape(p_[id].shape()), b_.getUnknownLoc());
    b_.setInsertionPointToEnd(&to);
    llvm::SmallVector<Value> results;
    TENON_RETURN_IF_ERROR(WriteBlock(block, values, results));
    Create("stablehlo.return", mlir::TypeRange(), results, b_.getUnknownLoc());
    return OkStatus();
  }

  // (keys..., payloads...) -> payloads in order: all of them sorted side by side by the keys, the first most
  // significant.
  Result<llvm::SmallVector<Value>> WriteSort(const GraphNode& node, llvm::ArrayRef<Value> operands) {
    const auto& a = node.attrs<SortAttrs>();
    const mlir::Location loc = LocationOf(node);
    const size_t keys = a.descending.size();
    const auto dim = static_cast<size_t>(a.dimension);
    llvm::SmallVector<Value> sorted(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(keys));
    for (size_t k = 0; k < keys; ++k) {
      if (a.by_value[k] == 0) continue;
      const auto type = mlir::cast<mlir::RankedTensorType>(sorted[k].getType());
      const Value zero = Zero(type, loc);
      const Value is_zero = Compare(sorted[k], zero, stablehlo::ComparisonDirection::EQ, false, loc);
      sorted[k] = Create("stablehlo.select", {type}, {is_zero, zero, sorted[k]}, loc)->getResult(0);
      const Value is_nan = Compare(sorted[k], sorted[k], stablehlo::ComparisonDirection::NE, false, loc);
      sorted[k] = Create("stablehlo.select", {type}, {is_nan, NaN(type, loc), sorted[k]}, loc)->getResult(0);
    }
    const Dims& whole = p_.shape(node.in[0]).dims;
    size_t next = keys;
    for (size_t i = 0; i < node.out.size(); ++i) {
      if (a.is_position[i] == 0) {
        sorted.push_back(operands[next++]);
      } else {
        const auto type =
            mlir::RankedTensorType::get(ToArray(whole), ElementType(node.shape(static_cast<uint32_t>(i)).dtype));
        sorted.push_back(
            Create("stablehlo.iota", {type}, {}, loc, {Number("iota_dimension", a.dimension)})->getResult(0));
      }
    }
    llvm::SmallVector<mlir::Type> types;
    for (Value v : sorted) types.push_back(v.getType());
    mlir::Operation* op = Create("stablehlo.sort", types, sorted, loc,
                                 {Number("dimension", a.dimension), Named("is_stable", b_.getBoolAttr(true))}, 1);
    {
      const mlir::OpBuilder::InsertionGuard guard(b_);
      mlir::Block& block = op->getRegion(0).emplaceBlock();
      for (Value v : sorted) {
        const auto element =
            mlir::RankedTensorType::get({}, mlir::cast<mlir::RankedTensorType>(v.getType()).getElementType());
        block.addArgument(element, loc);
        block.addArgument(element, loc);
      }
      b_.setInsertionPointToEnd(&block);
      Value less;
      for (size_t k = keys; k-- > 0;) {
        const Value x = block.getArgument(static_cast<unsigned>(2 * k));
        const Value y = block.getArgument(static_cast<unsigned>(2 * k + 1));
        const bool total = IsFloat(p_.shape(node.in[k]).dtype);
        const auto order =
            a.descending[k] != 0 ? stablehlo::ComparisonDirection::GT : stablehlo::ComparisonDirection::LT;
        const Value before = Compare(x, y, order, total, loc);
        if (!less) {
          less = before;
          continue;
        }
        const Value same = Compare(x, y, stablehlo::ComparisonDirection::EQ, total, loc);
        const Value later = Create("stablehlo.and", {less.getType()}, {same, less}, loc)->getResult(0);
        less = Create("stablehlo.or", {less.getType()}, {before, later}, loc)->getResult(0);
      }
      Create("stablehlo.return", mlir::TypeRange(), {less}, loc);
    }
    llvm::SmallVector<Value> results;
    for (uint32_t i = 0; i < node.out.size(); ++i) {
      Value v = op->getResult(static_cast<unsigned>(keys) + i);
      const Dims& wanted = node.shape(i).dims;
      if (wanted[dim] != whole[dim]) {
        const Dims zeros(wanted.size(), 0), ones(wanted.size(), 1);
        v = Create("stablehlo.slice", {TypeOfShape(node.shape(i))}, {v}, loc,
                   {List("start_indices", zeros), List("limit_indices", wanted), List("strides", ones)})
                ->getResult(0);
      }
      results.push_back(v);
    }
    return results;
  }

  Value Zero(mlir::RankedTensorType type, mlir::Location loc) {
    return Create("stablehlo.constant", {type}, {}, loc, {Named("value", b_.getZeroAttr(type))})->getResult(0);
  }
  Value NaN(mlir::RankedTensorType type, mlir::Location loc) {
    const auto element = mlir::cast<mlir::FloatType>(type.getElementType());
    const llvm::APFloat nan = llvm::APFloat::getNaN(element.getFloatSemantics());
    return Create("stablehlo.constant", {type}, {}, loc, {Named("value", mlir::DenseElementsAttr::get(type, nan))})
        ->getResult(0);
  }
  Value Compare(Value x, Value y, stablehlo::ComparisonDirection direction, bool total, mlir::Location loc) {
    const auto type = mlir::cast<mlir::RankedTensorType>(x.getType()).clone(b_.getI1Type());
    Attributes attributes = {
        Named("comparison_direction", stablehlo::ComparisonDirectionAttr::get(b_.getContext(), direction))};
    if (total) {
      attributes.push_back(Named(
          "compare_type", stablehlo::ComparisonTypeAttr::get(b_.getContext(), stablehlo::ComparisonType::TOTALORDER)));
    }
    return Create("stablehlo.compare", {type}, {x, y}, loc, attributes)->getResult(0);
  }

  mlir::ModuleOp source_, module_;
  const Program& p_;
  const std::vector<NodeGroup>& groups_;
  mlir::OpBuilder b_;
  std::unordered_set<NodeId> members_;
  std::unordered_map<NodeId, size_t> group_of_root_;
  std::vector<stablehlo::CompositeOp> composites_;
  std::unordered_set<NodeId> under_way_;
  int num_functions_ = 0;
};

}  // namespace

Result<std::string> Imported::Export(const Program& program, const std::vector<NodeGroup>& groups) const {
  TENON_ASSIGN_OR_RETURN(const mlir::OwningOpRef<mlir::ModuleOp> module,
                         Exporter(dialect::AsModule(impl->module), program, groups).Run());
  return ToArtifact(*module);
}

Result<std::shared_ptr<const std::string>> Imported::ExportNode(const Program& program, const GraphNode& node) const {
  if (node.origin != nullptr) return ExportOp(node);
  TENON_ASSIGN_OR_RETURN(const mlir::OwningOpRef<mlir::ModuleOp> module,
                         Exporter(dialect::AsModule(impl->module), program, {}).RunNode(node));
  TENON_ASSIGN_OR_RETURN(std::string bytes, dialect::Serialize(*module));
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace tenon::compiler
