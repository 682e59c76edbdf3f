#include "tenon/compiler/import/expand.h"

#include <optional>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/IRMapping.h"
#include "tenon/compiler/import/policy.h"
#include "tenon/compiler/import/random_bits.h"
#include "tenon/compiler/import/scales.h"
#include "tenon/compiler/import/special.h"
#include "tenon/compiler/import/writer.h"
#include "tenon/compiler/ir/ir.h"
#include "tenon/dialect/parse_mlir.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;
using Results = std::optional<llvm::SmallVector<Value>>;  // Nothing: the op stays.

bool IsStatic(mlir::Type type) {
  const auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

std::optional<Dims> Known(Value v) {
  mlir::Operation* op = v.getDefiningOp();
  if (op == nullptr || op->getName().getStringRef() != "stablehlo.constant") return std::nullopt;
  const auto dense = op->getAttrOfType<mlir::DenseIntElementsAttr>("value");
  if (!dense) return std::nullopt;
  Dims values;
  const bool is_unsigned = dense.getElementType().isUnsignedInteger();
  for (const llvm::APInt& i : dense.getValues<llvm::APInt>())
    values.push_back(is_unsigned ? static_cast<int64_t>(i.getZExtValue()) : i.getSExtValue());
  return values;
}

// ---- Batch norms. The statistics are those of f32 for narrower numbers.

class BatchNorm {
 public:
  explicit BatchNorm(mlir::Operation* op)
      : op_(op),
        w_(op),
        type_(TensorOf(op->getOperand(0))),
        feature_(op->getAttrOfType<mlir::IntegerAttr>("feature_index").getInt()) {
    for (int64_t d = 0; d < type_.getRank(); ++d) {
      if (d == feature_) continue;
      others_.push_back(d);
      count_ *= static_cast<double>(type_.getDimSize(static_cast<unsigned>(d)));
    }
    element_ = type_.getElementType().isF64() ? w_.f64() : w_.f32();
  }

  Results Inference() {
    const Value factor = w_.Binary("stablehlo.multiply", Inverse(In(4)), In(1));
    return Back({Normalized(Centered(In(0), In(3)), factor, In(2))});
  }
  Results Training() {
    const Value x = In(0), mean = Mean(x), centered = Centered(x, mean);
    const Value variance = Mean(w_.Binary("stablehlo.multiply", centered, centered));
    const Value factor = w_.Binary("stablehlo.multiply", Inverse(variance), In(1));
    return Back({Normalized(centered, factor, In(2)), mean, variance});
  }
  /// grad = scale / sqrt(v + e) / n * (n * g - sum g - c * sum (g * c) / (v + e)) with c = x - mean.
  Results Gradient() {
    const Value g = In(4), centered = Centered(In(0), In(2)), inverse = Inverse(In(3));
    const Value sum = w_.Sum(g, others_), moment = w_.Sum(w_.Binary("stablehlo.multiply", g, centered), others_);
    const Value grad_scale = w_.Binary("stablehlo.multiply", moment, inverse);
    const Value n = w_.Floats(TensorOf(sum), {count_});
    const Value slope = w_.Binary("stablehlo.divide", w_.Binary("stablehlo.multiply", grad_scale, inverse), n);
    const Value shift = w_.Binary("stablehlo.divide", sum, n);
    const Value bent = w_.Binary("stablehlo.multiply", centered, Spread(slope));
    const Value rest = w_.Binary("stablehlo.subtract", w_.Binary("stablehlo.subtract", g, Spread(shift)), bent);
    const Value factor = w_.Binary("stablehlo.multiply", In(1), inverse);
    return Back({w_.Binary("stablehlo.multiply", rest, Spread(factor)), grad_scale, sum});
  }

 private:
  Value In(unsigned i) { return w_.Convert(op_->getOperand(i), element_); }
  Value Spread(Value per_feature) { return w_.Broadcast(per_feature, type_.getShape(), feature_); }
  Value Centered(Value x, Value mean) { return w_.Binary("stablehlo.subtract", x, Spread(mean)); }
  Value Mean(Value x) {
    const Value sum = w_.Sum(x, others_);
    return w_.Binary("stablehlo.divide", sum, w_.Floats(TensorOf(sum), {count_}));
  }
  Value Inverse(Value variance) {
    const double epsilon = op_->getAttrOfType<mlir::FloatAttr>("epsilon").getValueAsDouble();
    const Value sum = w_.Binary("stablehlo.add", variance, w_.Floats(TensorOf(variance), {epsilon}));
    return w_.Unary("stablehlo.rsqrt", sum);
  }
  Value Normalized(Value centered, Value factor, Value offset) {
    return w_.Binary("stablehlo.add", w_.Binary("stablehlo.multiply", centered, Spread(factor)), Spread(offset));
  }
  Results Back(llvm::SmallVector<Value> values) {
    for (Value& v : values) v = w_.Convert(v, type_.getElementType());
    return values;
  }

  mlir::Operation* op_;
  OpWriter w_;
  mlir::RankedTensorType type_;
  int64_t feature_;
  Dims others_;
  double count_ = 1;
  mlir::Type element_;
};

// ---- Dynamic shapes that are known.

Results WithKnownShape(mlir::Operation* op, llvm::StringRef name) {
  OpWriter w(op);
  const auto attribute = [&](llvm::StringRef key) { return w.Attribute(key, op->getAttr(key)); };
  const mlir::Type type = op->getResult(0).getType();
  const Value first = op->getOperand(0);
  if (name == "get_dimension_size") {
    const int64_t d = op->getAttrOfType<mlir::IntegerAttr>("dimension").getInt();
    const auto from = TensorOf(first);
    // Arrays with bounds carry their true extents beside them.
    if (from.getEncoding()) return std::nullopt;
    return {{w.Ints(mlir::cast<mlir::RankedTensorType>(type),
                    static_cast<uint64_t>(from.getDimSize(static_cast<unsigned>(d))))}};
  }
  if (name == "dynamic_reshape") return {{w.Op("stablehlo.reshape", first, type)}};
  if (name == "dynamic_iota") return {{w.Op("stablehlo.iota", {}, type, attribute("iota_dimension"))}};
  if (name == "dynamic_broadcast_in_dim")
    return {{w.Op("stablehlo.broadcast_in_dim", first, type, attribute("broadcast_dimensions"))}};
  if (name == "dynamic_pad") {
    const auto low = Known(op->getOperand(2)), high = Known(op->getOperand(3)), interior = Known(op->getOperand(4));
    if (!low || !high || !interior) return std::nullopt;
    return {{w.Op("stablehlo.pad", {first, op->getOperand(1)}, type,
                  {w.List("edge_padding_low", *low), w.List("edge_padding_high", *high),
                   w.List("interior_padding", *interior)})}};
  }
  if (name == "real_dynamic_slice") {
    const auto start = Known(op->getOperand(1)), limit = Known(op->getOperand(2)), strides = Known(op->getOperand(3));
    if (!start || !limit || !strides) return std::nullopt;
    // Only slices inside: what others mean is not said.
    for (size_t d = 0; d < start->size(); ++d) {
      const int64_t extent = TensorOf(first).getDimSize(static_cast<unsigned>(d));
      if ((*start)[d] < 0 || (*limit)[d] < (*start)[d] || (*limit)[d] > extent || (*strides)[d] < 1)
        return std::nullopt;
    }
    const Value slice = w.Slice(first, *start, *limit, *strides);
    if (slice.getType() != type) return std::nullopt;
    return {{slice}};
  }
  if (name == "dynamic_gather") {
    const auto sizes = Known(op->getOperand(2));
    if (!sizes) return std::nullopt;
    return {{w.Op("stablehlo.gather", {first, op->getOperand(1)}, type,
                  {attribute("dimension_numbers"), w.List("slice_sizes", *sizes)})}};
  }
  return std::nullopt;
}

// ---- einsum: a product, and a transposition.

/// The letters of an operand's or a result's dims: those of an ellipsis are the digits that fit before the end.
std::optional<std::string> LettersOf(llvm::StringRef text, size_t rank, size_t ellipsis) {
  std::string letters = text.str();
  const size_t dots = letters.find("...");
  if (dots != std::string::npos) {
    if (letters.size() - 3 > rank || rank - (letters.size() - 3) > ellipsis) return std::nullopt;
    const size_t count = rank - (letters.size() - 3);
    std::string named;
    for (size_t i = ellipsis - count; i < ellipsis; ++i) named += static_cast<char>('0' + i);
    letters.replace(dots, 3, named);
  }
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == '.' || letters.find(letters[i], i + 1) != std::string::npos) return std::nullopt;
  }
  return letters.size() == rank ? std::optional(letters) : std::nullopt;
}

/// Letters of both operands and the result are batches, those of the operands alone are summed over.
Results Einsum(mlir::Operation* op) {
  const llvm::StringRef config = op->getAttrOfType<mlir::StringAttr>("einsum_config").getValue();
  const auto [sides, to] = config.split("->");
  const auto [from, other] = sides.split(',');
  const mlir::RankedTensorType a_type = TensorOf(op->getOperand(0)), b_type = TensorOf(op->getOperand(1)),
                               type = TensorOf(op->getResult(0));
  size_t ellipsis = 0;
  for (const auto& [text, its] : {std::pair(from, a_type), std::pair(other, b_type)}) {
    const size_t named = text.size() - 3, rank = static_cast<size_t>(its.getRank());
    if (text.contains("...") && rank >= named) ellipsis = std::max(ellipsis, rank - named);
  }
  if (ellipsis > 10) return std::nullopt;  // structural: there are ten digits
  const auto a = LettersOf(from, static_cast<size_t>(a_type.getRank()), ellipsis),
             b = LettersOf(other, static_cast<size_t>(b_type.getRank()), ellipsis),
             c = LettersOf(to, static_cast<size_t>(type.getRank()), ellipsis);
  if (!a || !b || !c) return std::nullopt;
  Dims batch[2], summed[2], product, permutation;
  std::string made, alone;
  for (size_t i = 0; i < a->size(); ++i) {
    const size_t j = b->find((*a)[i]);
    const bool is_kept = c->find((*a)[i]) != std::string::npos;
    if (j == std::string::npos) {
      alone += (*a)[i];
      continue;
    }
    (is_kept ? batch : summed)[0].push_back(static_cast<int64_t>(i));
    (is_kept ? batch : summed)[1].push_back(static_cast<int64_t>(j));
    if (a_type.getDimSize(static_cast<unsigned>(i)) != b_type.getDimSize(static_cast<unsigned>(j))) return std::nullopt;
    if (is_kept) made += (*a)[i];
  }
  made += alone;
  for (const char letter : *b) {
    if (a->find(letter) == std::string::npos) made += letter;
  }
  if (made.size() != c->size()) return std::nullopt;  // A letter of one operand alone is summed over.
  for (const char letter : made) {
    const size_t i = a->find(letter), j = b->find(letter);
    product.push_back(i != std::string::npos ? a_type.getDimSize(static_cast<unsigned>(i))
                                             : b_type.getDimSize(static_cast<unsigned>(j)));
  }
  for (const char letter : *c) {
    if (made.find(letter) == std::string::npos) return std::nullopt;
    permutation.push_back(static_cast<int64_t>(made.find(letter)));
  }
  OpWriter w(op);
  const Value dot = w.Op(
      "stablehlo.dot_general", op->getOperands(), w.Tensor(product, type.getElementType()),
      w.Attribute("dot_dimension_numbers",
                  stablehlo::DotDimensionNumbersAttr::get(op->getContext(), batch[0], batch[1], summed[0], summed[1])));
  return {{w.Op("stablehlo.transpose", dot, type, w.List("permutation", permutation))}};
}

// ---- torch_index_select: a gather along one dim.

Results IndexSelect(mlir::Operation* op) {
  const mlir::RankedTensorType operand = TensorOf(op->getOperand(0)), index = TensorOf(op->getOperand(1));
  int64_t dim = op->getAttrOfType<mlir::IntegerAttr>("dim").getInt(),
          batch = op->getAttrOfType<mlir::IntegerAttr>("batch_dims").getInt();
  if (dim < 0) dim += operand.getRank();
  if (batch < 0) batch += index.getRank();
  if (operand.getDimSize(static_cast<unsigned>(dim)) == 0) return std::nullopt;  // There is nothing to clamp to.
  // The result has the operand's dims before `dim`, those of the index behind the batch, and the operand's others.
  Dims sizes(operand.getShape()), batching, offset;
  for (int64_t d = 0; d < batch; ++d) {
    batching.push_back(d);
    sizes[static_cast<size_t>(d)] = 1;
  }
  sizes[static_cast<size_t>(dim)] = 1;
  const int64_t picked = index.getRank() - batch;
  for (int64_t d = batch; d < dim; ++d) offset.push_back(d);
  for (int64_t d = dim + 1; d < operand.getRank(); ++d) offset.push_back(d + picked - 1);
  OpWriter w(op);
  return {{w.Op("stablehlo.gather", op->getOperands(), op->getResult(0).getType(),
                {w.Attribute("dimension_numbers",
                             stablehlo::GatherDimensionNumbersAttr::get(op->getContext(), offset, {dim}, batching,
                                                                        batching, {dim}, index.getRank())),
                 w.List("slice_sizes", sizes)})}};
}

// ---- map: its body on whole arrays.

bool IsElementwise(llvm::StringRef name) {
  if (!name.consume_front("stablehlo.")) return name.starts_with("chlo.");
  OpKind kind = name == "bitcast_convert" ? OpKind::kElementwise : OpKind::kStructured;
#define TENON_IR_OP(enumerator, text, its_kind, attributes) \
  if (name == (text)) kind = OpKind::its_kind;
#include "tenon/compiler/ir/ops.def"
#undef TENON_IR_OP
  return kind == OpKind::kElementwise || name == "constant";
}

/// One number of others.
bool ComputesNumber(mlir::Operation& op) {
  const auto is_number = [](mlir::Type type) {
    return IsStatic(type) && mlir::cast<mlir::RankedTensorType>(type).getRank() == 0;
  };
  return IsElementwise(op.getName().getStringRef()) && op.getNumRegions() == 0 && op.getNumResults() == 1 &&
         llvm::all_of(op.getOperandTypes(), is_number) && llvm::all_of(op.getResultTypes(), is_number);
}

Results Mapped(mlir::Operation* op) {
  mlir::Block& body = op->getRegion(0).front();
  const mlir::RankedTensorType shape = TensorOf(op->getResult(0));
  if (!llvm::all_of(body.without_terminator(), ComputesNumber)) return std::nullopt;
  OpWriter w(op);
  mlir::IRMapping mapping;
  const auto spread = [&](Value v) {
    if (!mapping.contains(v)) mapping.map(v, w.Broadcast(v, shape.getShape(), {}));
    return mapping.lookup(v);
  };
  for (auto [argument, operand] : llvm::zip(body.getArguments(), op->getOperands())) mapping.map(argument, operand);
  for (mlir::Operation& inner : body.without_terminator()) {
    if (inner.getNumOperands() == 0) {
      mlir::IRMapping none;
      mapping.map(inner.getResult(0), w.Broadcast(w.builder().clone(inner, none)->getResult(0), shape.getShape(), {}));
      continue;
    }
    for (Value v : inner.getOperands()) spread(v);
    mlir::Operation* clone = w.builder().clone(inner, mapping);
    clone->getResult(0).setType(w.Tensor(shape.getShape(), TensorOf(inner.getResult(0)).getElementType()));
    mapping.map(inner.getResult(0), clone->getResult(0));
  }
  return {{spread(body.getTerminator()->getOperand(0))}};
}

// ---- if and case in the regions that ops have for their elements: all branches, and a choice of what they give.

bool IsForElements(mlir::Operation* op) {
  for (op = op->getParentOp(); op != nullptr; op = op->getParentOp()) {
    const bool found = llvm::StringSwitch<bool>(op->getName().getStringRef())
                           .Cases({"stablehlo.map", "stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter",
                                   "stablehlo.select_and_scatter", "stablehlo.sort"},
                                  true)
                           .Default(false);
    if (found) return true;
  }
  return false;
}

Results Chosen(mlir::Operation* op, bool is_if) {
  if (!IsForElements(op)) return std::nullopt;
  size_t ops = 0;
  for (mlir::Region& branch : op->getRegions()) {
    if (!llvm::all_of(branch.front().without_terminator(), ComputesNumber)) return std::nullopt;
    ops += branch.front().getOperations().size();
  }
  if (ops > policy::kMaxChosenOps) return std::nullopt;
  OpWriter w(op);
  llvm::SmallVector<Value> chosen;
  for (size_t i = op->getNumRegions(); i-- > 0;) {
    mlir::Block& branch = op->getRegion(static_cast<unsigned>(i)).front();
    for (mlir::Operation& inner : llvm::make_early_inc_range(branch.without_terminator())) inner.moveBefore(op);
    const mlir::ValueRange given = branch.getTerminator()->getOperands();
    if (chosen.empty()) {
      chosen.assign(given.begin(), given.end());
      continue;
    }
    Value taken = op->getOperand(0);
    if (!is_if) taken = w.Compare(taken, w.Ints(TensorOf(taken), {i}), "EQ");
    for (auto [result, value] : llvm::zip(chosen, given))
      result = w.Op("stablehlo.select", {taken, value, result}, value.getType());
  }
  return chosen;
}

// ---- Client ops.

/// The element type once dim i is dim `map[i]` of `dims`: an axis of scales goes along, and is repeated where it grows.
mlir::Type Spread(mlir::RankedTensorType from, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> map) {
  const auto axis = mlir::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(from.getElementType());
  if (!axis) return from.getElementType();
  const int64_t to = map[static_cast<size_t>(axis.getQuantizedDimension())];
  llvm::SmallVector<double> scales(axis.getScales());
  llvm::SmallVector<int64_t> zero_points(axis.getZeroPoints());
  const auto extent = static_cast<size_t>(dims[static_cast<size_t>(to)]);
  if (scales.size() == 1) {
    scales.assign(extent, scales[0]);
    zero_points.assign(extent, zero_points[0]);
  }
  return mlir::quant::UniformQuantizedPerAxisType::get(axis.getFlags(), axis.getStorageType(), axis.getExpressedType(),
                                                       scales, zero_points, static_cast<int32_t>(to),
                                                       axis.getStorageTypeMin(), axis.getStorageTypeMax());
}

/// Operands of unlike ranks meet at their last dims, or where broadcast_dimensions says.
Results Broadcasting(mlir::Operation* op, llvm::StringRef inner) {
  OpWriter w(op);
  const auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  const auto where = op->getAttrOfType<mlir::DenseI64ArrayAttr>("broadcast_dimensions");
  llvm::SmallVector<Value> operands;
  for (Value v : op->getOperands()) {
    const mlir::RankedTensorType from = TensorOf(v);
    Dims map;
    if (from.getRank() < type.getRank() && where && where.size() == from.getRank()) {
      map.assign(where.asArrayRef().begin(), where.asArrayRef().end());
    } else {
      for (int64_t d = 0; d < from.getRank(); ++d) map.push_back(type.getRank() - from.getRank() + d);
    }
    const auto spread = w.Tensor(type.getShape(), Spread(from, type.getShape(), map));
    operands.push_back(
        from == spread ? v : w.Op("stablehlo.broadcast_in_dim", v, spread, w.List("broadcast_dimensions", map)));
  }
  if (inner == "compare") {
    const auto direction = op->getAttr("comparison_direction");
    std::string text;
    llvm::raw_string_ostream(text) << direction;
    for (const char* name : {"EQ", "NE", "LT", "LE", "GT", "GE"}) {
      if (llvm::StringRef(text).contains(name) && !op->getAttr("compare_type"))
        return {{w.Compare(operands[0], operands[1], name)}};
    }
    return std::nullopt;
  }
  const bool client = inner == "next_after" || inner == "polygamma" || inner == "zeta";
  return {{w.Op((client ? "chlo." : "stablehlo.") + inner.str(), operands, type)}};
}

/// The first of a row sorted by the total order, ties by place.
Results TopK(mlir::Operation* op) {
  OpWriter w(op);
  const Value x = op->getOperand(0);
  const mlir::RankedTensorType type = TensorOf(x);
  const int64_t rank = type.getRank();
  if (rank == 0 || mlir::isa<mlir::ComplexType>(type.getElementType())) return std::nullopt;
  const mlir::Type place = w.Int(32);
  const Value places = w.Iota(w.Tensor(type.getShape(), place), rank - 1);
  mlir::OperationState state(op->getLoc(), "stablehlo.sort");
  state.addOperands({x, places});
  state.addTypes({type, places.getType()});
  state.addAttribute("dimension", w.builder().getI64IntegerAttr(rank - 1));
  state.addAttribute("is_stable", w.builder().getBoolAttr(true));
  auto* body = new mlir::Block();
  state.addRegion()->push_back(body);
  const auto scalar = w.Tensor({}, type.getElementType()), index = w.Tensor({}, place);
  const mlir::Location loc = op->getLoc();
  body->addArguments({scalar, scalar, index, index}, {loc, loc, loc, loc});
  {
    const mlir::OpBuilder::InsertionGuard guard(w.builder());
    w.builder().setInsertionPointToEnd(body);
    llvm::SmallVector<mlir::NamedAttribute> how = {
        w.Attribute("comparison_direction",
                    stablehlo::ComparisonDirectionAttr::get(op->getContext(), stablehlo::ComparisonDirection::GT))};
    if (mlir::isa<mlir::FloatType>(type.getElementType())) {
      how.push_back(w.Attribute(
          "compare_type", stablehlo::ComparisonTypeAttr::get(op->getContext(), stablehlo::ComparisonType::TOTALORDER)));
    }
    mlir::OperationState yield(loc, "stablehlo.return");
    yield.addOperands(
        w.Op("stablehlo.compare", {body->getArgument(0), body->getArgument(1)}, w.Tensor({}, w.pred()), how));
    w.builder().create(yield);
  }
  mlir::Operation* sort = w.builder().create(state);
  const Dims zeros(static_cast<size_t>(rank), 0), ones(static_cast<size_t>(rank), 1);
  const Dims limit(TensorOf(op->getResult(0)).getShape());
  return {{w.Slice(sort->getResult(0), zeros, limit, ones), w.Slice(sort->getResult(1), zeros, limit, ones)}};
}

Results Client(mlir::Operation* op, llvm::StringRef name) {
  if (name == "top_k") return TopK(op);
  OpWriter w(op);
  if (name == "mulhi") return {{HighProduct(w, op->getOperand(0), op->getOperand(1))}};
  if (name == "constant_like") {
    const auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
    const auto value = op->getAttrOfType<mlir::TypedAttr>("value");
    if (!value || value.getType() != type.getElementType()) return std::nullopt;
    return {{w.Op("stablehlo.constant", {}, type,
                  w.Attribute("value", mlir::DenseElementsAttr::get(type, mlir::Attribute(value))))}};
  }
  if (name == "conj") {
    if (!mlir::isa<mlir::ComplexType>(TensorOf(op->getOperand(0)).getElementType())) return {{op->getOperand(0)}};
    const auto part = mlir::cast<mlir::ComplexType>(TensorOf(op->getOperand(0)).getElementType()).getElementType();
    const auto type = TensorOf(op->getOperand(0)).clone(part);
    const Value re = w.Op("stablehlo.real", op->getOperand(0), type),
                im = w.Op("stablehlo.imag", op->getOperand(0), type);
    return {{w.Op("stablehlo.complex", {re, w.Unary("stablehlo.negate", im)}, op->getOperand(0).getType())}};
  }
  if (const std::optional<Value> value = SpecialFunction(op, name)) return {{*value}};
  return std::nullopt;
}

Results Expanded(mlir::Operation* op) {
  llvm::StringRef name = op->getName().getStringRef();
  if (!llvm::all_of(op->getOperandTypes(), IsStatic) || !llvm::all_of(op->getResultTypes(), IsStatic))
    return std::nullopt;
  if (name.consume_front("chlo.")) return Client(op, name);
  if (!name.consume_front("stablehlo.")) return std::nullopt;
  if (name == "batch_norm_inference") return BatchNorm(op).Inference();
  if (name == "batch_norm_training") return BatchNorm(op).Training();
  if (name == "batch_norm_grad") return BatchNorm(op).Gradient();
  if (name == "rng_bit_generator") return RandomBits(mlir::cast<stablehlo::RngBitGeneratorOp>(op));
  if (name == "rng") {
    const std::optional<Value> numbers = RandomNumbers(mlir::cast<stablehlo::RngOp>(op));
    return numbers ? Results({*numbers}) : std::nullopt;
  }
  if (name == "convert") {
    const std::optional<Value> scale = ConvertedScale(op);
    return scale ? Results({*scale}) : std::nullopt;
  }
  if (name == "map") return Mapped(op);
  if (name == "einsum") return Einsum(op);
  if (name == "if" || name == "case") return Chosen(op, name == "if");
  if (name == "torch_index_select") return IndexSelect(op);
  return WithKnownShape(op, name);
}

}  // namespace

Status ExpandBroadcasts(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation*> ops;
  module.walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef().starts_with("chlo.broadcast_")) ops.push_back(op);
  });
  for (mlir::Operation* op : ops) {
    if (!llvm::all_of(op->getOperandTypes(), IsStatic) || !llvm::all_of(op->getResultTypes(), IsStatic)) continue;
    llvm::StringRef name = op->getName().getStringRef();
    name.consume_front("chlo.broadcast_");
    const Results results = Broadcasting(op, name);
    if (!results) continue;
    // The client op takes elements that the plain one may not take.
    for (const Value v : *results)
      TENON_RETURN_IF_ERROR(dialect::Verify(v.getDefiningOp()).WithContext(dialect::Describe(op)));
    op->replaceAllUsesWith(*results);
    op->erase();
  }
  return OkStatus();
}

Status ExpandOps(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation*> ops;
  module.walk([&](mlir::Operation* op) {
    const llvm::StringRef name = op->getName().getStringRef();
    const bool may =
        llvm::StringSwitch<bool>(name)
            .Cases({"stablehlo.batch_norm_inference", "stablehlo.batch_norm_training", "stablehlo.batch_norm_grad",
                    "stablehlo.rng_bit_generator", "stablehlo.rng", "stablehlo.convert", "stablehlo.map",
                    "stablehlo.einsum", "stablehlo.if", "stablehlo.case", "stablehlo.get_dimension_size",
                    "stablehlo.real_dynamic_slice", "stablehlo.torch_index_select"},
                   true)
            .StartsWith("stablehlo.dynamic_", true)
            .StartsWith("chlo.", true)
            .Default(false);
    if (may && op->getNumResults() > 0) ops.push_back(op);
  });
  for (mlir::Operation* op : ops) {
    const Results results = Expanded(op);
    if (!results) continue;
    // Where a program gives sizes as numbers, nobody has seen yet whether they fit the types.
    if (op->getName().stripDialect().starts_with("dynamic_")) {
      for (const Value v : *results)
        TENON_RETURN_IF_ERROR(dialect::Verify(v.getDefiningOp()).WithContext(op->getName().getStringRef().str()));
    }
    op->replaceAllUsesWith(*results);
    op->erase();
  }
  return OkStatus();
}

}  // namespace tenon::compiler
