#include "tenon/compiler/import/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/StringSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "tenon/compiler/import/writer.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

using mlir::Value;
using mlir::quant::QuantizedType;

/// Numbers stored in so many bits, and differences of them, are numbers of f32 too.
constexpr unsigned kNarrowBits = 16;  // structural: below the bits of f32's significand

QuantizedType QuantizedOf(mlir::Type type) {
  const auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? mlir::dyn_cast<QuantizedType>(tensor.getElementType()) : QuantizedType();
}

mlir::Type StorageOf(QuantizedType type) {
  const auto width = static_cast<unsigned>(type.getStorageTypeIntegralWidth());
  return mlir::IntegerType::get(type.getContext(), width,
                                type.isSigned() ? mlir::IntegerType::Signless : mlir::IntegerType::Unsigned);
}

mlir::Type Stored(mlir::Type type) {
  const QuantizedType element = QuantizedOf(type);
  return element ? mlir::cast<mlir::RankedTensorType>(type).clone(StorageOf(element)) : type;
}

/// real = (storage - zero point) * scale, with one pair for the array or one per index along `axis`.
struct Quantization {
  std::vector<double> scales;
  std::vector<double> zero_points;
  int64_t axis = -1;
  double min = 0, max = 0;
  mlir::Type storage, expressed;

  double scale(size_t i) const { return scales[std::min(i, scales.size() - 1)]; }
  double zero_point(size_t i) const { return zero_points[std::min(i, zero_points.size() - 1)]; }
  /// Of a stored number minus its zero point.
  double largest() const {
    double most = 0;
    for (const double z : zero_points) most = std::max({most, std::fabs(max - z), std::fabs(min - z)});
    return most;
  }
  bool narrow() const { return storage.getIntOrFloatBitWidth() <= kNarrowBits; }
  bool has_zero_points() const {
    return std::any_of(zero_points.begin(), zero_points.end(), [](double z) { return z != 0; });
  }
};

Result<Quantization> Read(QuantizedType type) {
  Quantization q;
  if (auto uniform = mlir::dyn_cast<mlir::quant::UniformQuantizedType>(type)) {
    q.scales = {uniform.getScale()};
    q.zero_points = {static_cast<double>(uniform.getZeroPoint())};
  } else if (auto per_axis = mlir::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(type)) {
    q.scales.assign(per_axis.getScales().begin(), per_axis.getScales().end());
    for (const int64_t z : per_axis.getZeroPoints()) q.zero_points.push_back(static_cast<double>(z));
    q.axis = per_axis.getQuantizedDimension();
  } else {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return Unimplemented("the quantized type " + text);
  }
  q.min = static_cast<double>(type.getStorageTypeMin());
  q.max = static_cast<double>(type.getStorageTypeMax());
  q.storage = StorageOf(type);
  q.expressed = type.getExpressedType();
  return q;
}

/// An operation as it was before its values lost their quantized types.
struct Use {
  mlir::Operation* op;
  llvm::SmallVector<QuantizedType, 4> operands, results;
  llvm::SmallVector<QuantizedType, 4> arguments;  ///< Of the last region.
  bool all_equal = true;                          ///< Of one type.
};

/// Arithmetic of one op, written before it.
class Writer : public OpWriter {
 public:
  using OpWriter::OpWriter;

  /// One number for all elements, or numbers along one axis, -1 being none, or along two ascending ones; a single one
  /// stands for all of them. Numbers of f32 are rounded to it first.
  Value Along(mlir::RankedTensorType shape, mlir::Type element, llvm::ArrayRef<double> numbers,
              llvm::ArrayRef<int64_t> axes) {
    const mlir::RankedTensorType type = shape.clone(element);
    if (numbers.size() == 1 || axes[0] < 0) return Numbers(type, numbers[0]);
    llvm::SmallVector<int64_t> extents;
    size_t count = 1;
    for (const int64_t axis : axes) {
      extents.push_back(shape.getDimSize(static_cast<unsigned>(axis)));
      count *= static_cast<size_t>(extents.back());
    }
    return Broadcast(Numbers(Tensor(extents, element), numbers.take_front(count)), shape.getShape(), axes);
  }

  /// Storage minus zero point, as integers of so many bits.
  Value Centered(Value v, const Quantization& q, unsigned width) {
    const Value wide = Convert(v, Int(width));
    if (AllZero(q.zero_points)) return wide;
    return Binary("stablehlo.subtract", wide, Along(TensorOf(v), Int(width), q.zero_points, q.axis));
  }
  Value Dequantize(Value v, const Quantization& q) {
    const Value centered = Convert(Centered(v, q, q.narrow() ? 32 : 64), f32());
    const Value scale = Along(TensorOf(v), f32(), q.scales, q.axis);
    return Convert(Binary("stablehlo.multiply", centered, scale), q.expressed);
  }
  /// Clamped to the storage's range, then rounded half to even. NaN becomes 0.
  Value ToStorage(Value v, const Quantization& q) {
    // The ends of a wide range are no numbers of f32.
    if (!q.narrow()) v = Convert(v, f64());
    const mlir::RankedTensorType type = TensorOf(v);
    const Value low = Numbers(type, {q.min}), high = Numbers(type, {q.max});
    const Value inside = Binary("stablehlo.minimum", Binary("stablehlo.maximum", v, low), high);
    return Convert(Op("stablehlo.round_nearest_even", inside, type), q.storage);
  }
  Value Quantize(Value v, const Quantization& q) {
    const Value x = Convert(v, f32());
    const Value scaled = Binary("stablehlo.divide", x, Along(TensorOf(v), f32(), q.scales, q.axis));
    return ToStorage(Plus(scaled, q.zero_points, q.axis), q);
  }
  /// v * scales + zero points in f32 with both roundings: the product is exact in f64, and rounded before the sum, so
  /// that nothing may take the two for one operation.
  Value Scaled(Value v, llvm::ArrayRef<double> scales, llvm::ArrayRef<double> zero_points,
               llvm::ArrayRef<int64_t> axes) {
    const mlir::RankedTensorType type = TensorOf(v);
    const Value x = Convert(v, f32());
    std::vector<double> rounded;
    for (const double s : scales) rounded.push_back(static_cast<double>(static_cast<float>(s)));
    if (AllZero(zero_points)) return Binary("stablehlo.multiply", x, Along(type, f32(), rounded, axes));
    const Value product = Binary("stablehlo.multiply", Convert(x, f64()), Along(type, f64(), rounded, axes));
    return Plus(Convert(product, f32()), zero_points, axes);
  }
  /// Storage at `from` as storage at `to` before clamping: one merged scale and zero point. Integers of `width` bits.
  Value Rescaled(Value v, const Quantization& from, const Quantization& to, unsigned width) {
    std::vector<double> scales, zero_points;
    const auto merge = [&](size_t i, size_t j) {
      scales.push_back(from.scale(i) / to.scale(j));
      zero_points.push_back(to.zero_point(j) - from.zero_point(i) * scales.back());
    };
    llvm::SmallVector<int64_t, 2> axes = {std::max(from.axis, to.axis)};
    if (from.axis >= 0 && to.axis >= 0 && from.axis != to.axis) {
      // A pair for every place along both.
      const bool swapped = to.axis < from.axis;
      const Quantization &outer = swapped ? to : from, &inner = swapped ? from : to;
      axes = {outer.axis, inner.axis};
      for (size_t i = 0; i < outer.scales.size(); ++i) {
        for (size_t j = 0; j < inner.scales.size(); ++j) swapped ? merge(j, i) : merge(i, j);
      }
    } else {
      for (size_t i = 0; i < std::max(from.scales.size(), to.scales.size()); ++i) merge(i, i);
    }
    const bool same =
        AllZero(zero_points) && std::all_of(scales.begin(), scales.end(), [](double s) { return s == 1; });
    if (same) return Convert(v, Int(width));
    const Value scaled = Scaled(v, scales, zero_points, axes);
    // Far outside every storage's range, and few enough that two of them add up.
    const double most = std::ldexp(1.0, static_cast<int>(width) - 2);
    const Value inside =
        Binary("stablehlo.minimum", Binary("stablehlo.maximum", scaled, Numbers(TensorOf(scaled), {-most})),
               Numbers(TensorOf(scaled), {most}));
    return Convert(Op("stablehlo.round_nearest_even", inside, inside.getType()), Int(width));
  }
  Value Clamped(Value v, const Quantization& q) {
    const Value low = Numbers(TensorOf(v), {q.min}), high = Numbers(TensorOf(v), {q.max});
    return Convert(Binary("stablehlo.minimum", Binary("stablehlo.maximum", v, low), high), q.storage);
  }
  /// Integers plus the zero points of q.
  Value PlusZeroPoint(Value v, const Quantization& q, double sign) {
    if (AllZero(q.zero_points)) return v;
    std::vector<double> zero_points = q.zero_points;
    for (double& z : zero_points) z *= sign;
    return Binary("stablehlo.add", v, Along(TensorOf(v), TensorOf(v).getElementType(), zero_points, q.axis));
  }
  /// The op itself on other operands, with another element type of its one result.
  Value Same(mlir::Operation* op, mlir::ValueRange operands, mlir::Type element) {
    mlir::Operation* clone = builder().clone(*op);
    clone->setOperands(operands);
    clone->getResult(0).setType(TensorOf(op->getResult(0)).clone(element));
    return clone->getResult(0);
  }

 private:
  static bool AllZero(llvm::ArrayRef<double> numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](double v) { return v == 0; });
  }
  Value Plus(Value v, llvm::ArrayRef<double> numbers, llvm::ArrayRef<int64_t> axes) {
    if (AllZero(numbers)) return v;
    return Binary("stablehlo.add", v, Along(TensorOf(v), TensorOf(v).getElementType(), numbers, axes));
  }
};

/// Ops that are reckoned on floats, and whose results are quantized then.
bool ReckonsOnFloats(llvm::StringRef name) {
  if (!name.consume_front("stablehlo.")) return false;
  return llvm::StringSwitch<bool>(name)
      .Cases({"abs", "add", "atan2", "cbrt", "ceil", "clamp", "compare", "convert"}, true)
      .Cases({"batch_norm_grad", "batch_norm_inference", "batch_norm_training", "cholesky", "dynamic_iota", "iota"},
             true)
      .Cases({"triangular_solve"}, true)
      .Cases({"cosine", "divide", "exponential", "exponential_minus_one", "floor", "is_finite"}, true)
      .Cases({"log", "log_plus_one", "logistic", "maximum", "minimum", "multiply", "negate"}, true)
      .Cases({"power", "reduce_precision", "remainder", "round_nearest_afz", "round_nearest_even"}, true)
      .Cases({"rsqrt", "sign", "sine", "sqrt", "subtract", "tan", "tanh"}, true)
      .Default(false);
}

/// Ops that move storage: their verifiers see to it that what they move stays quantized as it was.
bool MovesStorage(llvm::StringRef name) {
  if (!name.consume_front("stablehlo.")) return false;
  return llvm::StringSwitch<bool>(name)
      .Cases({"all_gather", "all_to_all", "async_done", "async_start", "bitcast_convert", "broadcast"}, true)
      .Cases({"broadcast_in_dim", "case", "composite", "concatenate", "constant", "custom_call"}, true)
      .Cases({"dynamic_broadcast_in_dim", "dynamic_gather", "dynamic_pad", "dynamic_reshape"}, true)
      .Cases({"dynamic_slice", "dynamic_update_slice", "gather", "get_dimension_size", "get_tuple_element"}, true)
      .Cases({"if", "infeed", "map", "optimization_barrier", "outfeed", "pad", "real_dynamic_slice", "recv"}, true)
      .Cases({"reshape", "return", "reverse", "send", "set_dimension_size", "slice", "sort"}, true)
      .Cases({"torch_index_select", "transpose", "tuple", "while"}, true)
      .Default(false);
}

/// The argument of a reduction's body that takes elements of an operand; nothing for indices and the like.
std::optional<size_t> ArgumentFor(size_t operand, llvm::StringRef name, size_t arguments) {
  if (name == "stablehlo.reduce" || name == "stablehlo.reduce_window") return operand;
  if (name == "stablehlo.select_and_scatter") return operand == 0 ? std::nullopt : std::optional(operand - 1);
  if (name != "stablehlo.scatter") return 0;  // One body for all.
  const size_t inputs = arguments / 2;        // Then indices, then updates.
  return operand < inputs ? std::optional(operand) : operand == inputs ? std::nullopt : std::optional(operand - 1);
}

bool Reduces(llvm::StringRef name) {
  if (!name.consume_front("stablehlo.")) return false;
  return llvm::StringSwitch<bool>(name)
      .Cases({"all_reduce", "collective_reduce", "reduce", "reduce_scatter", "reduce_window", "scatter"}, true)
      .Cases({"select_and_scatter"}, true)
      .Default(false);
}

/// Where along a product's result the dim `axis` of its right side lies; nothing where it is summed over.
std::optional<int64_t> AxisInProduct(mlir::Operation* op, int64_t axis) {
  if (auto convolution = mlir::dyn_cast<stablehlo::ConvolutionOp>(op))
    return convolution.getDimensionNumbers().getOutputFeatureDimension();
  if (auto convolution = mlir::dyn_cast<stablehlo::DynamicConvOp>(op))
    return convolution.getDimensionNumbers().getOutputFeatureDimension();
  const int64_t rank = TensorOf(op->getResult(0)).getRank(), rhs_rank = TensorOf(op->getOperand(1)).getRank();
  auto dot = mlir::dyn_cast<stablehlo::DotGeneralOp>(op);
  if (!dot) return axis == 0 ? std::nullopt : std::optional(rank - 1);
  const auto d = dot.getDotDimensionNumbers();
  const auto batch = d.getRhsBatchingDimensions(), summed = d.getRhsContractingDimensions();
  if (const auto* at = llvm::find(batch, axis); at != batch.end()) return at - batch.begin();
  if (llvm::is_contained(summed, axis)) return std::nullopt;
  // Its own dims come last.
  int64_t after = 0;
  for (int64_t i = axis + 1; i < rhs_rank; ++i)
    after += llvm::is_contained(batch, i) || llvm::is_contained(summed, i) ? 0 : 1;
  return rank - 1 - after;
}

Status Refused(mlir::Operation* op, const char* why) {
  return Unimplemented(op->getName().getStringRef().str() + " on quantized types: " + why);
}

/// Terms of each sum of a product or convolution; 0 when it isn't known.
int64_t NumTerms(mlir::Operation* op) {
  const mlir::RankedTensorType lhs = TensorOf(op->getOperand(0)), rhs = TensorOf(op->getOperand(1));
  if (auto dot = mlir::dyn_cast<stablehlo::DotGeneralOp>(op)) {
    int64_t terms = 1;
    for (const int64_t d : dot.getDotDimensionNumbers().getLhsContractingDimensions())
      terms *= lhs.getDimSize(static_cast<unsigned>(d));
    return terms;
  }
  // Of a kernel, at most all elements meet; of a plain dot, the last dim of the left side.
  if (op->getName().getStringRef() == "stablehlo.dot") return lhs.getRank() == 0 ? 1 : lhs.getShape().back();
  return rhs.getNumElements();
}

class Lowering {
 public:
  Status Run(mlir::ModuleOp module) {
    module.walk([&](mlir::Operation* op) { Record(op); });
    if (uses_.empty() && !functions_) return OkStatus();
    Retype(module);
    for (const Use& use : uses_) TENON_RETURN_IF_ERROR(Lower(use));
    for (const Use& use : uses_) {
      if (replaced_.contains(use.op)) use.op->erase();
    }
    return OkStatus();
  }

 private:
  void Record(mlir::Operation* op) {
    Use use{op, {}, {}, {}};
    bool any = false;
    mlir::Type first;
    const auto take = [&](mlir::Type type, llvm::SmallVector<QuantizedType, 4>& list) {
      list.push_back(QuantizedOf(type));
      any |= list.back() != nullptr;
      const mlir::Type element = mlir::isa<mlir::RankedTensorType>(type)
                                     ? mlir::cast<mlir::RankedTensorType>(type).getElementType()
                                     : mlir::Type();
      if (!first) first = element;
      use.all_equal &= first == element;
    };
    for (mlir::Type type : op->getOperandTypes()) take(type, use.operands);
    for (mlir::Type type : op->getResultTypes()) take(type, use.results);
    if (op->getNumRegions() > 0 && !op->getRegions().back().empty()) {
      for (mlir::Type type : op->getRegions().back().front().getArgumentTypes())
        use.arguments.push_back(QuantizedOf(type));
    }
    if (any) uses_.push_back(std::move(use));
    if (auto function = mlir::dyn_cast<mlir::func::FuncOp>(op)) {
      const mlir::FunctionType type = function.getFunctionType();
      for (mlir::Type t : type.getInputs()) functions_ |= QuantizedOf(t) != nullptr;
      for (mlir::Type t : type.getResults()) functions_ |= QuantizedOf(t) != nullptr;
    }
  }

  static void Retype(mlir::ModuleOp module) {
    module.walk([](mlir::Operation* op) {
      for (mlir::Value v : op->getResults()) v.setType(Stored(v.getType()));
      for (mlir::Region& region : op->getRegions()) {
        for (mlir::Block& block : region) {
          for (mlir::BlockArgument v : block.getArguments()) v.setType(Stored(v.getType()));
        }
      }
      if (auto function = mlir::dyn_cast<mlir::func::FuncOp>(op)) {
        llvm::SmallVector<mlir::Type> inputs, results;
        for (mlir::Type t : function.getFunctionType().getInputs()) inputs.push_back(Stored(t));
        for (mlir::Type t : function.getFunctionType().getResults()) results.push_back(Stored(t));
        function.setFunctionType(mlir::FunctionType::get(op->getContext(), inputs, results));
      }
      if (op->getName().getStringRef() != "stablehlo.constant") return;
      // Written in integers without a sign, whatever the storage is.
      const auto value = op->getAttrOfType<mlir::DenseElementsAttr>("value");
      const auto type = mlir::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
      if (value && type && value.getType() != type && !QuantizedOf(value.getType()))
        op->setAttr("value", mlir::DenseElementsAttr::getFromRawBuffer(type, value.getRawData()));
    });
  }

  Status Lower(const Use& use) {
    mlir::Operation* op = use.op;
    const llvm::StringRef name = op->getName().getStringRef();
    for (mlir::Value v : op->getResults()) {
      const auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(v.getType());
      if (tensor && !tensor.hasStaticShape()) return Refused(op, "a dynamic shape");
    }
    if (name == "stablehlo.uniform_quantize") return LowerQuantize(use);
    if (name == "stablehlo.uniform_dequantize") {
      TENON_ASSIGN_OR_RETURN(const Quantization from, Read(use.operands[0]));
      return Replace(op, Writer(op).Dequantize(op->getOperand(0), from));
    }
    if (name == "stablehlo.dot_general" || name == "stablehlo.dot" || name == "stablehlo.convolution" ||
        name == "stablehlo.dynamic_conv") {
      return LowerProduct(use);
    }
    if (name == "stablehlo.add" && use.results[0]) return LowerAdd(use);
    // Of one quantization, the larger number is stored as the larger integer.
    if ((name == "stablehlo.maximum" || name == "stablehlo.minimum") && use.all_equal) return OkStatus();
    if (name == "stablehlo.select") {
      const bool moves = use.operands[1] == use.results[0] && use.operands[2] == use.results[0];
      return moves ? OkStatus() : LowerOnFloats(use);
    }
    if (name == "stablehlo.collective_broadcast" || name == "stablehlo.collective_permute") return LowerFilling(use);
    if (Reduces(name)) return LowerReduction(use);
    if (ReckonsOnFloats(name)) return LowerOnFloats(use);
    const llvm::StringRef dialect = op->getName().getDialectNamespace();
    if (MovesStorage(name) || (dialect != "stablehlo" && dialect != "chlo")) return OkStatus();
    // Of one quantization, the larger number is stored as the larger integer. Only the operand's shape is looked at.
    if (name == "chlo.top_k" && use.operands[0] == use.results[0]) return OkStatus();
    if (name == "chlo.constant_like" && !use.results[0]) return OkStatus();
    return Refused(op, "it has no form in floats or integers");
  }

  /// Processes that are sent nothing get the number 0, whatever it is stored as.
  Status LowerFilling(const Use& use) {
    mlir::Operation* op = use.op;
    bool any = false;
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      if (!use.results[i]) continue;
      TENON_ASSIGN_OR_RETURN(const Quantization q, Read(use.results[i]));
      any |= q.has_zero_points();
    }
    if (!any) return OkStatus();
    if (op->getNumResults() != 1) return Refused(op, "several operands, and zeros stored as other numbers");
    TENON_ASSIGN_OR_RETURN(const Quantization q, Read(use.results[0]));
    Writer w(op);
    const unsigned width = q.narrow() ? 32 : 64;
    llvm::SmallVector<Value> operands(op->getOperands());
    operands[0] = w.Centered(operands[0], q, width);
    return Replace(op, w.Convert(w.PlusZeroPoint(w.Same(op, operands, w.Int(width)), q, 1), q.storage));
  }

  /// Operands become the numbers that the body works on, which may be quantized in another way.
  Status LowerReduction(const Use& use) {
    mlir::Operation* op = use.op;
    const llvm::StringRef name = op->getName().getStringRef();
    Writer w(op);
    llvm::SmallVector<Value> operands(op->getOperands());
    for (size_t i = 0; i < operands.size(); ++i) {
      const std::optional<size_t> argument = ArgumentFor(i, name, use.arguments.size());
      if (!use.operands[i] || !argument || !use.arguments[*argument]) continue;
      TENON_ASSIGN_OR_RETURN(const Quantization from, Read(use.operands[i]));
      TENON_ASSIGN_OR_RETURN(const Quantization to, Read(use.arguments[*argument]));
      if (from.scales == to.scales && from.zero_points == to.zero_points) continue;
      // Its first operand, which other numbers are compared with, has the type of the others.
      if (name == "stablehlo.select_and_scatter") return Refused(op, "a body on other scales than the operand's");
      operands[i] = w.Clamped(w.Rescaled(operands[i], from, to, WidthFor(from, to)), to);
    }
    op->setOperands(operands);
    return OkStatus();
  }

  Status LowerQuantize(const Use& use) {
    Writer w(use.op);
    const Value in = use.op->getOperand(0);
    TENON_ASSIGN_OR_RETURN(const Quantization to, Read(use.results[0]));
    if (!use.operands[0]) return Replace(use.op, w.Quantize(in, to));
    TENON_ASSIGN_OR_RETURN(const Quantization from, Read(use.operands[0]));
    return Replace(use.op, w.Clamped(w.Rescaled(in, from, to, WidthFor(from, to)), to));
  }

  /// Both sides at the result's scale, in integers; the zero point, counted twice, goes once.
  Status LowerAdd(const Use& use) {
    if (!use.operands[0] || !use.operands[1]) return Refused(use.op, "a sum with other numbers");
    TENON_ASSIGN_OR_RETURN(const Quantization lhs, Read(use.operands[0]));
    TENON_ASSIGN_OR_RETURN(const Quantization rhs, Read(use.operands[1]));
    TENON_ASSIGN_OR_RETURN(const Quantization to, Read(use.results[0]));
    Writer w(use.op);
    const unsigned width = std::max(WidthFor(lhs, to), WidthFor(rhs, to));
    const Value sum = w.Binary("stablehlo.add", w.Rescaled(use.op->getOperand(0), lhs, to, width),
                               w.Rescaled(use.op->getOperand(1), rhs, to, width));
    return Replace(use.op, w.Clamped(w.PlusZeroPoint(sum, to, -1), to));
  }

  /// Sums of products of centered integers, then one combined scale. With floats on the left it is an operation on
  /// floats and the dequantized right side.
  Status LowerProduct(const Use& use) {
    mlir::Operation* op = use.op;
    Writer w(op);
    if (!use.operands[1] || (use.operands[0] == nullptr) != (use.results[0] == nullptr))
      return Refused(op, "this mixture of quantized and other operands");
    llvm::SmallVector<Value> operands(op->getOperands());
    TENON_ASSIGN_OR_RETURN(const Quantization rhs, Read(use.operands[1]));
    if (!use.operands[0]) {
      operands[1] = w.Convert(w.Dequantize(operands[1], rhs), TensorOf(operands[0]).getElementType());
      return Replace(op, w.Same(op, operands, TensorOf(op->getResult(0)).getElementType()));
    }
    TENON_ASSIGN_OR_RETURN(const Quantization lhs, Read(use.operands[0]));
    TENON_ASSIGN_OR_RETURN(const Quantization to, Read(use.results[0]));
    int64_t axis = to.axis;
    if (rhs.axis >= 0) {
      const std::optional<int64_t> along = AxisInProduct(op, rhs.axis);
      if (!along || (axis >= 0 && axis != *along)) return Refused(op, "scales along this dim");
      axis = *along;
    }
    if (lhs.axis >= 0) return Refused(op, "scales along this dim");
    const double most = static_cast<double>(NumTerms(op)) * lhs.largest() * rhs.largest();
    const unsigned width = most < std::ldexp(1.0, 31) ? 32 : 64;
    operands[0] = w.Centered(operands[0], lhs, width);
    operands[1] = w.Centered(operands[1], rhs, width);
    Value sums = w.Same(op, operands, w.Int(width));
    std::vector<double> scales;
    for (size_t i = 0; i < std::max(rhs.scales.size(), to.scales.size()); ++i)
      scales.push_back(static_cast<double>(static_cast<float>(lhs.scale(0) * rhs.scale(i) / to.scale(i))));
    if (std::all_of(scales.begin(), scales.end(), [](double s) { return s == 1; })) {
      // The ends of a wide range may be no numbers of the sums' type.
      if (!to.narrow()) sums = w.Convert(sums, w.Int(64));
      return Replace(op, w.Clamped(w.PlusZeroPoint(sums, to, 1), to));
    }
    return Replace(op, w.ToStorage(w.Scaled(sums, scales, to.zero_points, axis), to));
  }

  Status LowerOnFloats(const Use& use) {
    mlir::Operation* op = use.op;
    Writer w(op);
    llvm::SmallVector<Value> operands(op->getOperands());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!use.operands[i]) continue;
      TENON_ASSIGN_OR_RETURN(const Quantization q, Read(use.operands[i]));
      operands[i] = w.Dequantize(operands[i], q);
    }
    mlir::Operation* clone = w.builder().clone(*op);
    clone->setOperands(operands);
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      Value result = clone->getResult(i);
      if (use.results[i]) {
        TENON_ASSIGN_OR_RETURN(const Quantization to, Read(use.results[i]));
        result.setType(TensorOf(result).clone(to.expressed));
        result = w.Quantize(result, to);
      }
      op->getResult(i).replaceAllUsesWith(result);
    }
    replaced_.insert(op);
    return OkStatus();
  }

  static unsigned WidthFor(const Quantization& from, const Quantization& to) {
    return from.narrow() && to.narrow() ? 32 : 64;
  }

  Status Replace(mlir::Operation* op, Value with) {
    op->getResult(0).replaceAllUsesWith(with);
    replaced_.insert(op);
    return OkStatus();
  }

  std::vector<Use> uses_;
  bool functions_ = false;
  llvm::SmallPtrSet<mlir::Operation*, 16> replaced_;
};

}  // namespace

Status LowerQuantized(mlir::ModuleOp module) { return Lowering().Run(module); }

}  // namespace tenon::compiler
