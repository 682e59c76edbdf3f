// Operations with an operand or a result of a quantized type. Arrays hold the storage integers.

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "tenon/reference/attributes.h"
#include "tenon/reference/convolution.h"
#include "tenon/reference/dot.h"
#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

// What a quantized element type says: real value = (storage - zero point) * scale.
struct Quantization {
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
  int64_t axis = -1;  // -1: one scale for the whole array
  double min = 0, max = 0;
  DType storage = DType::kInvalid, expressed = DType::kInvalid;

  // Which scale the element at `index` has.
  size_t Part(std::span<const int64_t> index) const {
    return axis < 0 ? 0 : std::min(scales.size() - 1, static_cast<size_t>(index[static_cast<size_t>(axis)]));
  }
};

std::optional<Quantization> QuantizationOf(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  auto element = tensor ? mlir::dyn_cast<mlir::quant::QuantizedType>(tensor.getElementType()) : nullptr;
  if (!element) return std::nullopt;
  Quantization q;
  if (auto uniform = mlir::dyn_cast<mlir::quant::UniformQuantizedType>(element)) {
    q.scales = {uniform.getScale()};
    q.zero_points = {uniform.getZeroPoint()};
  } else if (auto per_axis = mlir::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(element)) {
    q.scales.assign(per_axis.getScales().begin(), per_axis.getScales().end());
    q.zero_points.assign(per_axis.getZeroPoints().begin(), per_axis.getZeroPoints().end());
    q.axis = per_axis.getQuantizedDimension();
  } else {
    return std::nullopt;
  }
  q.min = static_cast<double>(element.getStorageTypeMin());
  q.max = static_cast<double>(element.getStorageTypeMax());
  q.storage = ElementTypeOf(element);
  q.expressed = ElementTypeOf(element.getExpressedType());
  return q;
}

std::optional<Quantization> OperandQuantization(const OpContext& context, unsigned i) {
  return QuantizationOf(context.op->getOperand(i).getType());
}

// f(position, index) for every element.
template <class F>
void ForEachElement(std::span<const int64_t> dims, F&& f) {
  int64_t position = 0;
  ForEachIndex(dims, [&](std::span<const int64_t> index) { f(position++, index); });
}

// Storage integers minus their zero points, as s64.
Result<Value> Centered(const Value& value, const Quantization& q) {
  TENON_ASSIGN_OR_RETURN(Value wide, ConvertTo(value, DType::kS64));
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(wide.shape()));
  ForEachElement(out.dims(), [&](int64_t i, std::span<const int64_t> index) {
    out.mutable_data<int64_t>()[i] = wide.data<int64_t>()[i] - q.zero_points[q.Part(index)];
  });
  return out;
}

Result<Value> Dequantize(const Value& value, const Quantization& q) {
  TENON_ASSIGN_OR_RETURN(Value centered, Centered(value, q));
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({DType::kF32, value.shape().dims}));
  ForEachElement(out.dims(), [&](int64_t i, std::span<const int64_t> index) {
    out.mutable_data<float>()[i] =
        static_cast<float>(centered.data<int64_t>()[i]) * static_cast<float>(q.scales[q.Part(index)]);
  });
  return ConvertTo(out, q.expressed);
}

// A scaled number, zero point added, as storage: clamped, then rounded half to even.
int64_t ToStorage(float scaled, const Quantization& q) {
  if (std::isnan(scaled)) return 0;
  const double clamped = std::fmin(std::fmax(static_cast<double>(scaled), q.min), q.max);
  return static_cast<int64_t>(std::nearbyint(clamped));
}

// An array of storage integers made element by element: f(position, index).
template <class F>
Result<Value> MakeStorage(std::span<const int64_t> dims, const Quantization& q, F&& f) {
  TENON_ASSIGN_OR_RETURN(Value wide, Value::Allocate({DType::kS64, Dims(dims.begin(), dims.end())}));
  ForEachElement(dims,
                 [&](int64_t i, std::span<const int64_t> index) { wide.mutable_data<int64_t>()[i] = f(i, index); });
  return ConvertTo(wide, q.storage);
}

Result<Value> Quantize(const Value& value, const Quantization& q) {
  TENON_ASSIGN_OR_RETURN(Value input, ConvertTo(value, DType::kF32));
  return MakeStorage(input.dims(), q, [&](int64_t i, std::span<const int64_t> index) {
    const size_t part = q.Part(index);
    return ToStorage(
        input.data<float>()[i] / static_cast<float>(q.scales[part]) + static_cast<float>(q.zero_points[part]), q);
  });
}

// Storage at `from` as storage at `to`, not clamped: one merged scale and zero point, in f32.
int64_t Rescale(int64_t storage, const Quantization& from, size_t from_part, const Quantization& to, size_t to_part) {
  const double scale = from.scales[from_part] / to.scales[to_part];
  const double zero_point =
      static_cast<double>(to.zero_points[to_part]) - static_cast<double>(from.zero_points[from_part]) * scale;
  return static_cast<int64_t>(
      std::nearbyint(static_cast<float>(storage) * static_cast<float>(scale) + static_cast<float>(zero_point)));
}

int64_t Clamp(int64_t storage, const Quantization& q) {
  return std::min(std::max(storage, static_cast<int64_t>(q.min)), static_cast<int64_t>(q.max));
}

Status UniformQuantize(OpContext& context) {
  const auto to = QuantizationOf(context.op->getResult(0).getType());
  if (!to) return Unimplemented("uniform_quantize to this type");
  const auto from = OperandQuantization(context, 0);
  Value out;
  if (!from) {
    TENON_ASSIGN_OR_RETURN(out, Quantize(context.in(0), *to));
  } else {
    TENON_ASSIGN_OR_RETURN(Value input, ConvertTo(context.in(0), DType::kS64));
    TENON_ASSIGN_OR_RETURN(
        out, MakeStorage(input.dims(), *to, [&](int64_t i, std::span<const int64_t> index) {
          return Clamp(Rescale(input.data<int64_t>()[i], *from, from->Part(index), *to, to->Part(index)), *to);
        }));
  }
  return context.Return(std::move(out));
}

Status UniformDequantize(OpContext& context) {
  const auto from = OperandQuantization(context, 0);
  if (!from) return Unimplemented("uniform_dequantize of this type");
  TENON_ASSIGN_OR_RETURN(Value out, Dequantize(context.in(0), *from));
  return context.Return(std::move(out));
}

// Both sides at the result's scale, in integers; the zero point, counted twice, goes once.
Status AddQuantized(OpContext& context, const Quantization& result) {
  const auto lhs = OperandQuantization(context, 0), rhs = OperandQuantization(context, 1);
  if (!lhs || !rhs) return Unimplemented("an addition of quantized and other numbers");
  TENON_ASSIGN_OR_RETURN(Value a, ConvertTo(context.in(0), DType::kS64));
  TENON_ASSIGN_OR_RETURN(Value b, ConvertTo(context.in(1), DType::kS64));
  TENON_ASSIGN_OR_RETURN(Value out, MakeStorage(a.dims(), result, [&](int64_t i, std::span<const int64_t> index) {
                           const size_t part = result.Part(index);
                           const int64_t sum = Rescale(a.data<int64_t>()[i], *lhs, lhs->Part(index), result, part) +
                                               Rescale(b.data<int64_t>()[i], *rhs, rhs->Part(index), result, part);
                           return Clamp(sum - result.zero_points[part], result);
                         }));
  return context.Return(std::move(out));
}

// Products: sums of centered integers, then one combined scale. A float on the left makes it a float operation on the
// dequantized right side.
template <class Product>
Status MultiplyQuantized(OpContext& context, int64_t channel_axis, Product product) {
  const auto lhs = OperandQuantization(context, 0), rhs = OperandQuantization(context, 1);
  const auto result = QuantizationOf(context.op->getResult(0).getType());
  if (!rhs || (lhs.has_value() != result.has_value()))
    return Unimplemented("this mixture of quantized and other operands");
  if (!lhs) {
    TENON_ASSIGN_OR_RETURN(Value weights, Dequantize(context.in(1), *rhs));
    const DType type = context.result_shape().dtype;
    TENON_ASSIGN_OR_RETURN(Value out, product(context.in(0), weights, type));
    TENON_ASSIGN_OR_RETURN(out, ConvertTo(out, type));
    return context.Return(std::move(out));
  }
  TENON_ASSIGN_OR_RETURN(Value a, Centered(context.in(0), *lhs));
  TENON_ASSIGN_OR_RETURN(Value b, Centered(context.in(1), *rhs));
  TENON_ASSIGN_OR_RETURN(Value sums, product(a, b, DType::kS64));
  const int64_t axis = result->axis >= 0 ? result->axis : channel_axis;
  if (lhs->axis >= 0 || (rhs->axis >= 0 && axis < 0)) return Unimplemented("this per-axis quantization of a product");
  TENON_ASSIGN_OR_RETURN(
      Value out, MakeStorage(sums.dims(), *result, [&](int64_t i, std::span<const int64_t> index) {
        const size_t part = result->Part(index);
        const size_t rhs_part = rhs->axis < 0 ? 0 : static_cast<size_t>(index[static_cast<size_t>(axis)]);
        const auto scale = static_cast<float>(lhs->scales[0] * rhs->scales[rhs_part] / result->scales[part]);
        const int64_t sum = sums.data<int64_t>()[i], zero_point = result->zero_points[part];
        if (scale == 1.0f) return Clamp(sum + zero_point, *result);
        return ToStorage(static_cast<float>(sum) * scale + static_cast<float>(zero_point), *result);
      }));
  return context.Return(std::move(out));
}

Status DotQuantized(OpContext& context) {
  DotDims dims = DotDimsOf(context.op);
  if (context.op->getName().getStringRef() == "stablehlo.dot")
    dims = {{}, {}, {static_cast<int64_t>(context.in(0).rank()) - 1}, {0}};
  return MultiplyQuantized(context, -1,
                           [&](const Value& a, const Value& b, DType type) { return DotGeneral(a, b, dims, type); });
}

Status ConvolveQuantized(OpContext& context) {
  const size_t spatial = context.in(0).rank() - 2;
  const Dims padding =
      context.operands.size() > 2 ? IntsOf(context.in(2)) : IntsAttr(context.op, "padding", Dims(2 * spatial, 0));
  const ConvSpec spec = ConvSpecOf(context.op, padding.size() == 2 * spatial ? padding : Dims(2 * spatial, padding[0]));
  return MultiplyQuantized(context, spec.dims.output_feature,
                           [&](const Value& a, const Value& b, DType type) { return Convolve(a, b, spec, type); });
}

// Everything else that computes: dequantize, the operation on floats, quantize.
Status ComputeOnFloats(OpContext& context) {
  llvm::SmallVector<DType, kMaxKernelOperands> types;
  for (unsigned i = 0; i < context.operands.size(); ++i) {
    if (const auto q = OperandQuantization(context, i)) {
      TENON_ASSIGN_OR_RETURN(context.operands[i], Dequantize(context.in(i), *q));
    }
    types.push_back(context.in(i).dtype());
  }
  const auto result = QuantizationOf(context.op->getResult(0).getType());
  const DType type = result ? result->expressed : context.result_shape().dtype;
  const std::string_view name(context.op->getName().getStringRef());
  const Kernel kernel = FindKernel(name, types, type, KernelAttributesOf(context.op));
  if (!kernel) return Unimplemented(fmt::format("{} on quantized types", name));
  // As RunElementwise, but into the float type.
  const Dims dims = context.result_shape().dims;
  TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate({type, dims}));
  const void* inputs[kMaxKernelOperands] = {};
  for (size_t i = 0; i < context.operands.size(); ++i) {
    Value& operand = context.operands[i];
    if (operand.rank() != dims.size()) {
      TENON_ASSIGN_OR_RETURN(operand, BroadcastTo(operand, {}, dims));
    }
    inputs[i] = operand.bytes();
  }
  kernel.Run(inputs, out.mutable_bytes(), out.num_elements());
  if (result) {
    TENON_ASSIGN_OR_RETURN(out, Quantize(out, *result));
  }
  return context.Return(std::move(out));
}

// minimum and maximum of equal quantizations compare the storage, select takes it from either side.
bool KeepsStorage(const OpContext& context, std::string_view name) {
  if (name == "stablehlo.bitcast_convert") return true;
  const auto element = [](mlir::Type t) { return mlir::cast<mlir::RankedTensorType>(t).getElementType(); };
  if (name == "stablehlo.select") {
    const mlir::Type result = element(context.op->getResult(0).getType());
    return element(context.op->getOperand(1).getType()) == result &&
           element(context.op->getOperand(2).getType()) == result;
  }
  if (name != "stablehlo.maximum" && name != "stablehlo.minimum") return false;
  const mlir::Type type = context.op->getResult(0).getType();
  return llvm::all_of(context.op->getOperandTypes(), [&](mlir::Type t) { return t == type; });
}

// Whether a body computes with its operands as they are stored.
bool TakesStorage(mlir::Operation* op) {
  llvm::SmallVector<mlir::Type> quantized;
  const auto take = [&](mlir::Type type) {
    if (QuantizationOf(type)) quantized.push_back(mlir::cast<mlir::RankedTensorType>(type).getElementType());
  };
  for (mlir::Type type : op->getOperandTypes()) take(type);
  for (mlir::Type type : op->getRegions().back().front().getArgumentTypes()) take(type);
  const auto scale = [](mlir::Type type) {
    auto uniform = mlir::dyn_cast<mlir::quant::UniformQuantizedType>(type);
    return uniform ? std::pair(uniform.getScale(), uniform.getZeroPoint()) : std::pair(0.0, int64_t{0});
  };
  return llvm::all_of(quantized, [&](mlir::Type t) { return scale(t) == scale(quantized.front()); });
}

// False for operations that have a handler, but not for what quantized elements stand for.
bool IsOfStorage(mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  if (name.starts_with("chlo.")) return false;
  constexpr llvm::StringLiteral kOfFloats[] = {"stablehlo.batch_norm_grad",     "stablehlo.batch_norm_inference",
                                               "stablehlo.batch_norm_training", "stablehlo.cholesky",
                                               "stablehlo.dynamic_iota",        "stablehlo.iota",
                                               "stablehlo.triangular_solve"};
  constexpr llvm::StringLiteral kReductions[] = {"stablehlo.all_reduce", "stablehlo.reduce", "stablehlo.reduce_scatter",
                                                 "stablehlo.reduce_window", "stablehlo.scatter"};
  return !llvm::is_contained(kOfFloats, name) && (!llvm::is_contained(kReductions, name) || TakesStorage(op));
}

Status RunQuantized(OpContext& context) {
  const std::string_view name(context.op->getName().getStringRef());
  if (name == "stablehlo.uniform_quantize") return UniformQuantize(context);
  if (name == "stablehlo.uniform_dequantize") return UniformDequantize(context);
  if (name == "stablehlo.dot_general" || name == "stablehlo.dot") return DotQuantized(context);
  if (name == "stablehlo.convolution" || name == "stablehlo.dynamic_conv") return ConvolveQuantized(context);
  if (name == "stablehlo.add") {
    if (const auto result = QuantizationOf(context.op->getResult(0).getType())) return AddQuantized(context, *result);
  }
  if (KeepsStorage(context, name)) {
    llvm::SmallVector<DType, kMaxKernelOperands> types;
    for (const Value& operand : context.operands) types.push_back(operand.dtype());
    Step step;
    step.op = context.op;
    step.kernel = FindKernel(name, types, context.result_shape().dtype, {});
    OpContext raw{context.evaluator, step, context.op, context.operands, context.frame, context.results};
    if (name == "stablehlo.bitcast_convert") return BitcastHandler()(raw);
    return name == "stablehlo.select" ? SelectHandler()(raw) : RunElementwise(raw);
  }
  if (!IsOfStorage(context.op)) return Unimplemented(fmt::format("{} on quantized types", name));
  // Operations that move data, and those with bodies, work on the storage as it is.
  if (OpHandler handler = FindHandler(name)) return handler(context);
  return ComputeOnFloats(context);
}

constexpr OpEntry kOps[] = {{"quantized", &RunQuantized}};

}  // namespace

std::span<const OpEntry> QuantizedOps() { return kOps; }

}  // namespace tenon::reference
