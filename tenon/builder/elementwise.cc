// Constants and elementwise operations.
#include <algorithm>

#include "tenon/builder/internal/state.h"
#include "tenon/builder/ops.h"

namespace tenon::builder {

using namespace internal;

namespace {

// Extents of a result whose operands have these: known ones win.
Type Merge(const Make& m, size_t a, size_t b) {
  Dims dims = m.dims(a);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kDynamic) dims[i] = m.dims(b)[i];
  }
  return m.type(a).WithDims(std::move(dims));
}

Value Unary(OpKind kind, Value x, unsigned classes, ResultRule rule, Location where) {
  Make m(kind, {x}, where);
  if (!m.Tensor(0, "operand", classes)) return {};
  const Type& type = m.type();
  const DType part = IsComplex(type.dtype()) ? RealPartOf(type.dtype()) : type.dtype();
  switch (rule) {
    case ResultRule::kSame:
      return m.Result(type);
    case ResultRule::kPart:
      return m.Result(part == type.dtype() ? type : type.WithDType(part));
    case ResultRule::kPred:
      return m.Result(type.WithDType(DType::kPred));
  }
  return {};
}

Value Math(OpKind kind, Value x, const ResultAccuracy& accuracy, Location where) {
  Make m(kind, {x}, where);
  if (!m.Tensor(0, "operand", kFloat | kComplex | kQuantized)) return {};
  const bool zero = accuracy.atol == 0 && accuracy.rtol == 0 && accuracy.ulps == 0;
  if (accuracy.mode != ResultAccuracy::Mode::kTolerance && !zero) {
    m.Fail("tolerances need the mode kTolerance");
    return {};
  }
  if (accuracy.atol < 0 || accuracy.rtol < 0 || accuracy.ulps < 0) {
    m.Fail("tolerances must be at least 0, got atol {}, rtol {}, ulps {}", accuracy.atol, accuracy.rtol, accuracy.ulps);
    return {};
  }
  if (accuracy.mode != ResultAccuracy::Mode::kDefault) {
    const bool highest = accuracy.mode == ResultAccuracy::Mode::kHighest;
    m.Set("result_accuracy",
          AttrText{fmt::format("#stablehlo.result_accuracy<atol = {:.16e}, rtol = {:.16e}, ulps = {}, mode = "
                               "#stablehlo.result_accuracy_mode<{}>>",
                               accuracy.atol, accuracy.rtol, accuracy.ulps, highest ? "HIGHEST" : "TOLERANCE")});
  }
  return m.Result(m.type());
}

Value Binary(OpKind kind, Value lhs, Value rhs, unsigned classes, Location where) {
  Make m(kind, {lhs, rhs}, where);
  if (!m.Tensor(0, "lhs", classes) || !m.Tensor(1, "rhs", classes) || !m.SameTypes(0, 1, "operands")) return {};
  return m.Result(Merge(m, 0, 1));
}

// Both as values of one type.
std::pair<Value, Value> Match(const Operand& a, const Operand& b) {
  if (!a.value.valid() && !b.value.valid()) return {};
  const Value like = a.value.valid() ? a.value : b.value;
  const auto take = [&](const Operand& o, Value other) {
    if (!o.value.valid()) return o.is_number ? FullLike(other, o.number, o.where) : Value();
    if (o.value.rank() == 0 && other.valid() && other.rank() > 0) return BroadcastTo(o.value, other.dims(), o.where);
    return o.value;
  };
  return {take(a, b.value.valid() ? b.value : like), take(b, a.value.valid() ? a.value : like)};
}

}  // namespace

#define TENON_BUILDER_UNARY(Function, mnemonic, classes, result) \
  Value Function(Value x, Location where) { return Unary(OpKind::k##Function, x, classes, ResultRule::result, where); }
#define TENON_BUILDER_MATH(Function, mnemonic)                              \
  Value Function(Value x, const ResultAccuracy& accuracy, Location where) { \
    return Math(OpKind::k##Function, x, accuracy, where);                   \
  }
#define TENON_BUILDER_BINARY(Function, mnemonic, classes) \
  Value Function(Value lhs, Value rhs, Location where) { return Binary(OpKind::k##Function, lhs, rhs, classes, where); }
#include "tenon/builder/ops.def"

Value Constant(Function& f, Literal literal, Location where) {
  Make m(OpKind::kConstant, f, where);
  const Type type(literal.shape);
  if (m.ok()) m.Set("value", std::move(literal));
  return m.Result(type);
}

Value Full(Function& f, const Shape& shape, double value, Location where) {
  Make m(OpKind::kConstant, f, where);
  if (!m.ok()) return {};
  Result<Literal> literal = Literal::Splat(shape, value);
  if (!literal.ok()) {
    m.FailWith(std::string(literal.status().message()));
    return {};
  }
  return m.Set("value", std::move(*literal)).Result(shape);
}

Value FullLike(Value x, double value, Location where) {
  Make m(OpKind::kConstant, {x}, where);
  if (!m.Tensor(0, "the array to be like", kAny & ~kQuantized, true)) return {};
  return Full(x.function(), Shape{x.dtype(), x.dims()}, value, where);
}

Value QuantizedConstant(Function& f, const Type& type, std::span<const std::byte> stored, Location where) {
  Make m(OpKind::kConstant, f, where);
  if (!m.ok()) return {};
  if (type.quantization() == nullptr || !type.is_static()) {
    m.Fail("wants a quantized type with known extents, got {}", type.ToString());
    return {};
  }
  Result<Literal> literal = Literal::FromBytes({type.dtype(), type.dims()}, stored);
  if (!literal.ok()) {
    m.FailWith(std::string(literal.status().message()));
    return {};
  }
  return m.Set("value", std::move(*literal)).Result(type);
}

Value Iota(Function& f, const Shape& shape, int64_t dim, Location where) {
  Make m(OpKind::kIota, f, where);
  if (!m.DimIndex("the dim", dim, static_cast<int64_t>(shape.rank()))) return {};
  if (const Type type(shape); (ClassOf(type) & (kInteger | kFloat | kComplex)) == 0) {
    m.Fail("counts in {}, got {}", ClassNames(kInteger | kFloat | kComplex), type.ToString());
    return {};
  }
  return m.Set("iota_dimension", dim).Result(shape);
}

Value Clamp(Value low, Value x, Value high, Location where) {
  Make m(OpKind::kClamp, {low, x, high}, where);
  if (!m.Tensor(0, "low") || !m.Tensor(1, "operand") || !m.Tensor(2, "high")) return {};
  for (const size_t i : {size_t{0}, size_t{2}}) {
    const bool fits = m.rank(i) == 0 ? m.SameElements(i, 1, "bounds and operand")
                                     : m.SameTypes(i, 1, "operand and bounds that are no scalars");
    if (!fits) return {};
  }
  return m.Result(m.type(1));
}

Value Compare(Value lhs, Value rhs, Direction direction, Order order, Location where) {
  Make m(OpKind::kCompare, {lhs, rhs}, where);
  if (!m.Tensor(0, "lhs") || !m.Tensor(1, "rhs") || !m.SameTypes(0, 1, "operands")) return {};
  static constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
  static constexpr std::string_view kOrders[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
  const unsigned type = ClassOf(m.type());
  const unsigned wanted = order == Order::kSigned       ? unsigned{kSigned}
                          : order == Order::kUnsigned   ? kUnsigned | kBool
                          : order == Order::kFloat      ? kFloat | kComplex
                          : order == Order::kTotalOrder ? unsigned{kFloat}
                                                        : unsigned{kAny};
  if ((type & wanted & kAny) == 0 && type != kQuantized) {
    m.Fail("the order {} is for {}, got {}", kOrders[static_cast<int>(order)], ClassNames(wanted), m.type().ToString());
    return {};
  }
  m.Set("comparison_direction", AttrEnum{"comparison_direction", kDirections[static_cast<int>(direction)]});
  if (order != Order::kDefault) m.Set("compare_type", AttrEnum{"comparison_type", kOrders[static_cast<int>(order)]});
  return m.Result(Merge(m, 0, 1).WithDType(DType::kPred));
}

Value Complex(Value real, Value imag, Location where) {
  Make m(OpKind::kComplex, {real, imag}, where);
  if (!m.Tensor(0, "the real part", kFloat) || !m.SameTypes(0, 1, "the parts")) return {};
  if (m.type().dtype() != DType::kF32 && m.type().dtype() != DType::kF64) {
    m.Fail("parts must be f32 or f64, got {}", m.type().ToString());
    return {};
  }
  return m.Result(Merge(m, 0, 1).WithDType(m.type().dtype() == DType::kF32 ? DType::kC64 : DType::kC128));
}

Value Convert(Value x, DType type, Location where) {
  Make m(OpKind::kConvert, {x}, where);
  if (!m.Tensor(0, "operand", kAny & ~kQuantized)) return {};
  return m.Result(m.type().WithDType(type));
}

Value BitcastConvert(Value x, DType type, Location where) {
  Make m(OpKind::kBitcastConvert, {x}, where);
  if (!m.Tensor(0, "operand", kAny & ~kQuantized)) return {};
  const auto bits = [](DType t) { return t == DType::kPred ? 1 : DTypeBits(t); };
  const int from = bits(m.type().dtype()), to = bits(type);
  if (to == 0) {
    m.Fail("wants an element type, got {}", DTypeName(type));
    return {};
  }
  if (from != to && (IsComplex(m.type().dtype()) || IsComplex(type))) {
    m.Fail("complex numbers have the bits of complex numbers only, got {} to {}", m.type().ToString(),
           ElementName(type));
    return {};
  }
  if (IsComplex(m.type().dtype()) != IsComplex(type)) {
    m.Fail("complex numbers have the bits of complex numbers only, got {} to {}", m.type().ToString(),
           ElementName(type));
    return {};
  }
  Dims dims = m.dims();
  if (from > to) {
    if (from % to != 0) {
      m.Fail("{} has {} bits, which is no multiple of {}'s {}", ElementName(m.type().dtype()), from, ElementName(type),
             to);
      return {};
    }
    dims.push_back(from / to);
  } else if (from < to) {
    if (dims.empty() || to % from != 0 || dims.back() != to / from) {
      m.Fail("to {} the last extent must be the ratio of the widths, {} / {}, got {}", ElementName(type), to, from,
             m.type().ToString());
      return {};
    }
    dims.resize(dims.size() - 1);
  }
  return m.Result(Type(type, std::move(dims)));
}

Value ReducePrecision(Value x, int exponent_bits, int mantissa_bits, Location where) {
  Make m(OpKind::kReducePrecision, {x}, where);
  if (!m.Tensor(0, "operand", kFloat | kQuantized)) return {};
  if (exponent_bits < 1 || mantissa_bits < 0) {
    m.Fail("wants at least 1 exponent bit and 0 mantissa bits, got {} and {}", exponent_bits, mantissa_bits);
    return {};
  }
  return m.Set("exponent_bits", AttrInt32{exponent_bits})
      .Set("mantissa_bits", AttrInt32{mantissa_bits})
      .Result(m.type());
}

Value Select(Value pred, Value on_true, Value on_false, Location where) {
  Make m(OpKind::kSelect, {pred, on_true, on_false}, where);
  if (!m.Tensor(0, "pred", kBool) || !m.Tensor(1, "on_true") || !m.SameTypes(1, 2, "branches")) return {};
  if (m.rank() != 0 && !Compatible(m.type().WithDType(m.type(1).dtype()), Type(m.type(1).dtype(), m.dims(1)))) {
    m.Fail("pred must be a scalar or have the branches' extents {}, got {}", m.type(1).ToString(), m.type().ToString());
    return {};
  }
  return m.Result(Merge(m, 1, 2));
}

Value UniformQuantize(Value x, const Quantization& to, Location where) {
  Make m(OpKind::kUniformQuantize, {x}, where);
  if (!m.Tensor(0, "operand", kFloat | kQuantized)) return {};
  const DType real = m.type().quantization() != nullptr ? m.type().quantization()->expressed : m.type().dtype();
  if (to.expressed != real) {
    m.Fail("the quantization is of {}, got {}", ElementName(to.expressed), m.type().ToString());
    return {};
  }
  const int64_t extent = to.axis >= 0 && to.axis < m.rank() ? m.dims()[static_cast<size_t>(to.axis)] : 1;
  if (to.axis >= m.rank() || to.scales.size() != static_cast<size_t>(extent)) {
    m.Fail("wants one scale, or one per index of an axis of {}, got {} scales for axis {}", m.type().ToString(),
           to.scales.size(), to.axis);
    return {};
  }
  return m.Result(Type::Quantized(to, m.dims()));
}

Value UniformDequantize(Value x, Location where) {
  Make m(OpKind::kUniformDequantize, {x}, where);
  if (!m.Tensor(0, "operand", kQuantized)) return {};
  return m.Result(Type(m.type().quantization()->expressed, m.dims()));
}

//===--- Operators ---===//

Value operator+(Operand a, Operand b) {
  const auto [x, y] = Match(a, b);
  return Add(x, y, a.where);
}
Value operator-(Operand a, Operand b) {
  const auto [x, y] = Match(a, b);
  return Subtract(x, y, a.where);
}
Value operator*(Operand a, Operand b) {
  const auto [x, y] = Match(a, b);
  return Multiply(x, y, a.where);
}
Value operator/(Operand a, Operand b) {
  const auto [x, y] = Match(a, b);
  return Divide(x, y, a.where);
}

}  // namespace tenon::builder
