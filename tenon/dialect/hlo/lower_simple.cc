// Ops without regions that work element by element or move elements.

#include <algorithm>

#include "tenon/dialect/hlo/lowering.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::hlo {
namespace {

// Ops whose HLO form has the same operands and results and no attributes. Names that differ in more than '_' and '-'
// are listed.
std::string OpcodeOf(llvm::StringRef name) {
  std::string opcode = name.substr(name.find('.') + 1).str();
  for (char& c : opcode) c = c == '_' ? '-' : c;
  return opcode;
}

mlir::RankedTensorType Tensor(mlir::Value v) { return mlir::cast<mlir::RankedTensorType>(v.getType()); }

}  // namespace

std::vector<int64_t> Lowering::IntsOf(mlir::Operation* op, llvm::StringRef name) {
  mlir::Attribute attr = op->getAttr(name);
  if (auto array = mlir::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(attr))
    return {array.asArrayRef().begin(), array.asArrayRef().end()};
  std::vector<int64_t> values;
  if (auto dense = mlir::dyn_cast_or_null<mlir::DenseIntElementsAttr>(attr)) {
    for (const llvm::APInt& v : dense.getValues<llvm::APInt>()) values.push_back(v.getSExtValue());
  }
  return values;
}

bool Lowering::FlagOf(mlir::Operation* op, llvm::StringRef name) {
  mlir::Attribute attr = op->getAttr(name);
  if (auto value = mlir::dyn_cast_or_null<mlir::BoolAttr>(attr)) return value.getValue();
  return mlir::isa_and_nonnull<mlir::UnitAttr>(attr);
}

int64_t Lowering::IntOf(mlir::Operation* op, llvm::StringRef name, int64_t otherwise) {
  auto value = mlir::dyn_cast_or_null<mlir::IntegerAttr>(op->getAttr(name));
  return value ? value.getValue().getSExtValue() : otherwise;
}

Status Lowering::Plain(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, OpcodeOf(op->getName().getStringRef())));
  return Bind(body, op, std::move(i));
}

Status Lowering::Square(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "multiply"));
  i.operands.push_back(i.operands[0]);
  return Bind(body, op, std::move(i));
}

// Sums and products of predicates are logical.
Status Lowering::Logical(Body& body, mlir::Operation* op) {
  std::string opcode = OpcodeOf(op->getName().getStringRef());
  if (Tensor(op->getResult(0)).getElementType().isInteger(1)) opcode = opcode == "add" ? "or" : "and";
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, opcode));
  return Bind(body, op, std::move(i));
}

Status Lowering::Accurate(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, OpcodeOf(op->getName().getStringRef())));
  if (auto a = mlir::dyn_cast_or_null<stablehlo::ResultAccuracyAttr>(op->getAttr("result_accuracy"))) {
    using Mode = stablehlo::ResultAccuracyMode;
    if (a.getMode().getValue() == Mode::HIGHEST) i.mutable_extras().accuracy = Accuracy{.highest = true};
    if (a.getMode().getValue() == Mode::TOLERANCE) {
      i.mutable_extras().accuracy = Accuracy{.tolerance = true,
                                             .atol = a.getAtol().convertToDouble(),
                                             .rtol = a.getRtol().convertToDouble(),
                                             .ulps = a.getUlps()};
    }
  }
  return Bind(body, op, std::move(i));
}

Status Lowering::Compare(Body& body, mlir::Operation* op) {
  auto compare = mlir::cast<stablehlo::CompareOp>(op);
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "compare"));
  const llvm::StringRef direction = stablehlo::stringifyComparisonDirection(compare.getComparisonDirection());
  i.mutable_extras().comparison_direction = direction.str();
  if (compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER)
    i.mutable_extras().comparison_type = "TOTALORDER";
  return Bind(body, op, std::move(i));
}

// HLO wants operands of one shape where StableHLO allows scalars.
Status Lowering::SelectOrClamp(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, OpcodeOf(op->getName().getStringRef())));
  for (uint32_t& operand : i.operands) {
    if (body.computation.instructions[operand].shape.dims.empty() && !i.shape.dims.empty()) {
      TENON_ASSIGN_OR_RETURN(operand, Broadcast(body, operand, i.shape));
    }
  }
  return Bind(body, op, std::move(i));
}

Result<uint32_t> Lowering::Constant(Body& body, mlir::Attribute value, mlir::Type type) {
  TENON_ASSIGN_OR_RETURN(Shape shape, ShapeOf(type));
  auto dense = mlir::dyn_cast_or_null<mlir::DenseElementsAttr>(value);
  if (!dense) return Unimplemented("a constant whose elements are not dense has no HLO form here");
  const TypeInfo& info = *FindType(shape.type);
  // What is all alike is one element, broadcast: HLO's literals write out every element.
  const bool splat = dense.isSplat() && dense.getNumElements() > 1;
  Literal literal;
  literal.shape = shape;
  if (splat) {
    literal.shape.dims.clear();
    literal.shape.minor_to_major.emplace();
  }
  const auto append = [&](const llvm::APInt& bits) {
    const uint64_t word =
        info.kind == TypeKind::kSigned ? static_cast<uint64_t>(bits.getSExtValue()) : bits.getZExtValue();
    literal.data.append(reinterpret_cast<const char*>(&word), static_cast<size_t>(info.bytes));
  };
  if (info.bits >= 8) {
    const llvm::ArrayRef<char> raw = dense.getRawData();
    literal.data.assign(raw.data(), splat ? static_cast<size_t>(info.bytes) : raw.size());
    const auto all = static_cast<size_t>(splat ? 1 : dense.getNumElements()) * static_cast<size_t>(info.bytes);
    if (literal.data.size() != all) return Unimplemented("a constant with elements of unusual width");
  } else if (info.kind == TypeKind::kBool) {
    for (bool b : dense.getValues<bool>()) {
      literal.data.push_back(b ? 1 : 0);
      if (splat) break;
    }
  } else if (info.kind == TypeKind::kFloat) {
    for (const llvm::APFloat& f : dense.getValues<llvm::APFloat>()) {
      append(f.bitcastToAPInt());
      if (splat) break;
    }
  } else {
    for (const llvm::APInt& v : dense.getValues<llvm::APInt>()) {
      append(v);
      if (splat) break;
    }
  }
  Instruction i = New("constant", literal.shape);
  i.mutable_extras().literal = std::make_shared<const Literal>(std::move(literal));
  const uint32_t made = Append(body, std::move(i));
  if (!splat) return made;
  return Broadcast(body, made, shape);
}

// Made where it is first used: what nobody uses has no place in HLO.
Status Lowering::ConstantOp(Body&, mlir::Operation*) { return OkStatus(); }

Status Lowering::Identity(Body& body, mlir::Operation* op) {
  for (unsigned r = 0; r < op->getNumResults(); ++r) {
    TENON_ASSIGN_OR_RETURN(const uint32_t operand, ValueOf(body, op->getOperand(r)));
    body.values[op->getResult(r)] = operand;
  }
  return OkStatus();
}

// Ops whose one attribute is a list of dims, or one.
Status Lowering::Dimensions(Body& body, mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, OpcodeOf(name)));
  if (name == "stablehlo.transpose")
    i.dims = IntsOf(op, "permutation");
  else if (name == "stablehlo.reverse")
    i.dims = IntsOf(op, "dimensions");
  else if (name == "stablehlo.concatenate")
    i.dims = {IntOf(op, "dimension")};
  else if (name == "stablehlo.iota")
    i.dims = {IntOf(op, "iota_dimension")};
  return Bind(body, op, std::move(i));
}

Status Lowering::BroadcastInDim(Body& body, mlir::Operation* op) {
  std::vector<int64_t> dims = IntsOf(op, "broadcast_dimensions");
  const mlir::RankedTensorType operand = Tensor(op->getOperand(0)), result = Tensor(op->getResult(0));
  if (op->getName().getStringRef() == "stablehlo.broadcast") {
    dims.clear();
    for (int64_t d = 0; d < operand.getRank(); ++d) dims.push_back(result.getRank() - operand.getRank() + d);
  }
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "broadcast"));
  // HLO does not widen dims of size 1: they are reshaped away first. Nor does it permute.
  Shape kept = body.computation.instructions[i.operands[0]].shape;
  std::vector<std::pair<int64_t, int64_t>> by_result;  // (result dim, size)
  std::vector<int64_t> order;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t size = operand.getDimSize(static_cast<unsigned>(d));
    if (size == 1 && result.getDimSize(static_cast<unsigned>(dims[d])) != 1) continue;
    by_result.emplace_back(dims[d], size);
  }
  if (by_result.size() != dims.size()) {
    kept.dims.clear();
    kept.minor_to_major.emplace();
    for (const auto& [dim, size] : by_result) kept.dims.push_back(size);
    for (size_t d = kept.dims.size(); d-- > 0;) kept.minor_to_major->push_back(static_cast<int64_t>(d));
    Instruction reshape = New("reshape", kept);
    reshape.operands = i.operands;
    i.operands = {Append(body, std::move(reshape))};
  }
  std::vector<int64_t> permutation(by_result.size());
  for (size_t d = 0; d < permutation.size(); ++d) permutation[d] = static_cast<int64_t>(d);
  std::sort(permutation.begin(), permutation.end(), [&](int64_t a, int64_t b) {
    return by_result[static_cast<size_t>(a)].first < by_result[static_cast<size_t>(b)].first;
  });
  if (!std::is_sorted(permutation.begin(), permutation.end())) {
    Shape permuted = kept;
    for (size_t d = 0; d < permutation.size(); ++d) permuted.dims[d] = kept.dims[static_cast<size_t>(permutation[d])];
    Instruction transpose = New("transpose", permuted);
    transpose.operands = i.operands;
    transpose.dims = permutation;
    i.operands = {Append(body, std::move(transpose))};
  }
  for (int64_t p : permutation) i.dims.push_back(by_result[static_cast<size_t>(p)].first);
  return Bind(body, op, std::move(i));
}

Status Lowering::Slice(Body& body, mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, OpcodeOf(name)));
  if (name == "stablehlo.dynamic_slice") {
    i.mutable_extras().sizes = IntsOf(op, "slice_sizes");
  } else if (name == "stablehlo.slice") {
    const std::vector<int64_t> start = IntsOf(op, "start_indices"), limit = IntsOf(op, "limit_indices"),
                               stride = IntsOf(op, "strides");
    for (size_t d = 0; d < start.size(); ++d) i.mutable_extras().slice.push_back({start[d], limit[d], stride[d]});
  }
  return Bind(body, op, std::move(i));
}

Status Lowering::Pad(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "pad"));
  const std::vector<int64_t> low = IntsOf(op, "edge_padding_low"), high = IntsOf(op, "edge_padding_high"),
                             interior = IntsOf(op, "interior_padding");
  for (size_t d = 0; d < low.size(); ++d) i.mutable_extras().padding.push_back({low[d], high[d], interior[d]});
  return Bind(body, op, std::move(i));
}

Status Lowering::GetDimensionSize(Body& body, mlir::Operation* op) {
  // Shapes are static here.
  const int64_t size = Tensor(op->getOperand(0)).getDimSize(static_cast<unsigned>(IntOf(op, "dimension")));
  auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  TENON_ASSIGN_OR_RETURN(const uint32_t made,
                         Constant(body, mlir::DenseElementsAttr::get(type, static_cast<int32_t>(size)), type));
  body.values[op->getResult(0)] = made;
  return OkStatus();
}

Status Lowering::GetTupleElement(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "get-tuple-element"));
  i.number = IntOf(op, "index");
  return Bind(body, op, std::move(i));
}

Status Lowering::Token(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "after-all"));
  return Bind(body, op, std::move(i));
}

Status Lowering::Barrier(Body& body, mlir::Operation* op) {
  TENON_ASSIGN_OR_RETURN(Instruction i, Like(body, op, "opt-barrier"));
  if (op->getNumOperands() != 1) i.operands = {Tuple(body, i.operands)};
  return Bind(body, op, std::move(i));
}

const std::unordered_map<std::string_view, Lowering::Handler>& Lowering::Handlers() {
  static const auto& handlers = *[] {
    auto* h = new std::unordered_map<std::string_view, Handler>;
    const auto add = [&](Handler handler, std::initializer_list<std::string_view> names) {
      for (std::string_view name : names) h->emplace(name, handler);
    };
    add(&Lowering::Plain, {"stablehlo.abs",
                           "stablehlo.ceil",
                           "stablehlo.floor",
                           "stablehlo.negate",
                           "stablehlo.round_nearest_afz",
                           "stablehlo.round_nearest_even",
                           "stablehlo.sign",
                           "stablehlo.not",
                           "stablehlo.popcnt",
                           "stablehlo.count_leading_zeros",
                           "stablehlo.is_finite",
                           "stablehlo.real",
                           "stablehlo.imag",
                           "stablehlo.bitcast_convert",
                           "stablehlo.atan2",
                           "stablehlo.divide",
                           "stablehlo.maximum",
                           "stablehlo.minimum",
                           "stablehlo.power",
                           "stablehlo.remainder",
                           "stablehlo.subtract",
                           "stablehlo.and",
                           "stablehlo.or",
                           "stablehlo.xor",
                           "stablehlo.shift_left",
                           "stablehlo.shift_right_arithmetic",
                           "stablehlo.shift_right_logical",
                           "stablehlo.complex",
                           "stablehlo.convert",
                           "stablehlo.reshape",
                           "stablehlo.dynamic_update_slice",
                           "stablehlo.tuple",
                           "stablehlo.partition_id",
                           "stablehlo.replica_id",
                           "chlo.acos",
                           "chlo.acosh",
                           "chlo.asin",
                           "chlo.asinh",
                           "chlo.atanh",
                           "chlo.cosh",
                           "chlo.sinh",
                           "chlo.erf",
                           "chlo.tan",
                           "chlo.mulhi"});
    add(&Lowering::Square, {"chlo.square"});
    add(&Lowering::Logical, {"stablehlo.add", "stablehlo.multiply"});
    add(&Lowering::Accurate,
        {"stablehlo.cbrt", "stablehlo.cosine", "stablehlo.exponential", "stablehlo.exponential_minus_one",
         "stablehlo.log", "stablehlo.log_plus_one", "stablehlo.logistic", "stablehlo.rsqrt", "stablehlo.sine",
         "stablehlo.sqrt", "stablehlo.tan", "stablehlo.tanh"});
    add(&Lowering::Compare, {"stablehlo.compare"});
    add(&Lowering::SelectOrClamp, {"stablehlo.select", "stablehlo.clamp"});
    add(&Lowering::ConstantOp, {"stablehlo.constant", "chlo.constant"});
    add(&Lowering::Identity, {"sdy.sharding_constraint"});
    add(&Lowering::Dimensions, {"stablehlo.transpose", "stablehlo.reverse", "stablehlo.concatenate", "stablehlo.iota"});
    add(&Lowering::BroadcastInDim, {"stablehlo.broadcast_in_dim", "stablehlo.broadcast"});
    add(&Lowering::Slice, {"stablehlo.slice", "stablehlo.dynamic_slice"});
    add(&Lowering::Pad, {"stablehlo.pad"});
    add(&Lowering::Gather, {"stablehlo.gather"});
    add(&Lowering::Scatter, {"stablehlo.scatter"});
    add(&Lowering::Dot, {"stablehlo.dot_general", "stablehlo.dot"});
    add(&Lowering::RaggedDot, {"chlo.ragged_dot"});
    add(&Lowering::Convolution, {"stablehlo.convolution"});
    add(&Lowering::Linalg,
        {"stablehlo.fft", "stablehlo.cholesky", "stablehlo.triangular_solve", "stablehlo.batch_norm_training",
         "stablehlo.batch_norm_inference", "stablehlo.batch_norm_grad", "stablehlo.reduce_precision", "chlo.top_k"});
    add(&Lowering::Rng, {"stablehlo.rng", "stablehlo.rng_bit_generator"});
    add(&Lowering::GetDimensionSize, {"stablehlo.get_dimension_size"});
    add(&Lowering::GetTupleElement, {"stablehlo.get_tuple_element"});
    add(&Lowering::Token, {"stablehlo.create_token", "stablehlo.after_all"});
    add(&Lowering::Barrier, {"stablehlo.optimization_barrier"});
    add(&Lowering::Reduce, {"stablehlo.reduce", "stablehlo.map"});
    add(&Lowering::ReduceWindow, {"stablehlo.reduce_window"});
    add(&Lowering::SelectAndScatter, {"stablehlo.select_and_scatter"});
    add(&Lowering::Sort, {"stablehlo.sort"});
    add(&Lowering::While, {"stablehlo.while"});
    add(&Lowering::Conditional, {"stablehlo.if", "stablehlo.case"});
    add(&Lowering::Call, {"func.call", "stablehlo.composite"});
    add(&Lowering::CustomCall, {"stablehlo.custom_call"});
    add(&Lowering::Collective,
        {"stablehlo.all_reduce", "stablehlo.all_gather", "stablehlo.reduce_scatter", "stablehlo.all_to_all",
         "stablehlo.collective_permute", "stablehlo.collective_broadcast"});
    return h;
  }();
  return handlers;
}

}  // namespace tenon::hlo
