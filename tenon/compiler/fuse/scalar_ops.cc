#include "tenon/compiler/fuse/scalar_ops.h"

#include <cstring>

#include "tenon/compiler/fuse/complex_math.h"
#include "tenon/compiler/fuse/complex_ops.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/ir/kir_op.h"
#include "tenon/kir/math.h"

namespace tenon::compiler {

using kir::NodeBuilder;
using kir::Val;

DType PartType(DType type) { return IsComplex(type) ? RealPartOf(type) : type; }

bool KernelCanHold(DType type) {
  if (IsComplex(type)) return true;
  switch (KindOf(type)) {
    case DTypeKind::kBool:
      return true;
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return true;
    case DTypeKind::kFloat:
      return DTypeBits(type) >= 8 && type != DType::kF8E8M0FNU;
    default:
      return false;
  }
}

bool KernelCanHold(const Program& program, DType type) { return KernelCanHold(type) && program.target->HasType(type); }

DType MovedAs(const Program& program, DType type) {
  if (IsComplex(type)) return type;
  const int width = ByteWidth(type);
  const DType bits = width == 1 ? DType::kU8 : width == 2 ? DType::kU16 : width == 4 ? DType::kU32 : DType::kU64;
  return program.target->HasType(bits) ? bits : type;
}

namespace {

DType MathType(DType type) { return IsFloat(type) && DTypeBits(type) < 32 ? DType::kF32 : type; }

/// base ^ exponent by squaring; the exponent of a signed type may be negative.
Val EmitIntegerPower(NodeBuilder& b, Val base, Val exponent) {
  const DType type = b.type(base);
  const Val one = b.Const(type, 1);
  const Val zero = b.Const(type, 0);
  Val result = one;
  Val square = base;
  const int bits = DTypeBits(type);
  for (int i = 0; i < bits; ++i) {
    const Val bit = b.And(b.ShrLogical(exponent, b.Const(type, i)), one);
    result = b.Select(b.Compare(kir::kNe, bit, zero), b.Mul(result, square), result);
    if (i + 1 < bits) square = b.Mul(square, square);
  }
  if (!IsSigned(type)) return result;
  const Val minus_one = b.Const(type, -1);
  const Val odd = b.Compare(kir::kNe, b.And(exponent, one), zero);
  const Val of_minus_one = b.Select(odd, minus_one, one);
  const Val negative =
      b.Select(b.Compare(kir::kEq, base, one), one, b.Select(b.Compare(kir::kEq, base, minus_one), of_minus_one, zero));
  return b.Select(b.Compare(kir::kLt, exponent, zero), negative, result);
}

}  // namespace

bool KernelCanCompute(const Program& program, const GraphNode& node) {
  for (const Shape& shape : node.out) {
    if (!KernelCanHold(program, shape.dtype)) return false;
  }
  bool complex = IsComplex(node.shape().dtype);
  for (Ref r : node.in) {
    const DType type = program.shape(r).dtype;
    if (!KernelCanHold(program, type)) return false;
    complex |= IsComplex(type);
  }
  if (KindOfOp(node.op) != OpKind::kElementwise) return true;
  if (complex) return CanComputeComplex(program, node);
  const DType type = node.shape().dtype;
  if (node.op == OpCode::kPower && IsInteger(type)) return true;
  if (node.op == OpCode::kReducePrecision && DTypeBits(type) < 16) return false;
  if (const std::string_view function = MathFunction(node); !function.empty()) {
    return IsFloat(type) && kir::FindMath(function, MathType(type)).ok();
  }
  return true;
}

int CostOf(const Program& program, const GraphNode& node) {
  if (KindOfOp(node.op) != OpKind::kElementwise) return node.op == OpCode::kIota ? 1 : 0;
  const DType type = node.shape().dtype;
  if (const DType of = program.shape(node.in[0]).dtype; IsComplex(of) && ComplexCost(node.op) > 0)
    return ComplexCost(node.op) * (of == DType::kC64 ? 1 : 3);
  if (const std::string_view function = MathFunction(node); !function.empty()) {
    if (IsInteger(type)) return policy::kIntegerPowerCost;
    Result<kir::MathId> id = kir::FindMath(function, MathType(type));
    return id.ok() ? program.target->costs.OfMath(*id) : policy::kUnknownFunctionCost;
  }
  if (const kir::Op direct = KirOpOf(node.op); direct != kir::Op::kConst)
    return program.target->costs.Of(direct) * (IsComplex(type) ? 3 : 1);
  return 2;
}

Scalar EmitElementwise(NodeBuilder& b, const Program& program, const GraphNode& node,
                       const SmallVector<Scalar, 3>& in) {
  const DType type = node.shape().dtype;
  bool complex = IsComplex(type);
  for (const Scalar& s : in) complex |= s.im != kir::kNone;
  if (complex) return EmitComplex(b, program, node, in);
  auto arg = [&](size_t i) { return in[i].re; };
  switch (node.op) {
    case OpCode::kClamp:
      return {b.Min(b.Max(arg(1), arg(0)), arg(2))};
    case OpCode::kCompare:
      return {b.Emit(kir::Op::kCompare, DType::kPred, {arg(0), arg(1)}, KirCompare(node.attrs<CompareAttrs>()))};
    case OpCode::kConvert:
      return {b.Convert(type, arg(0))};
    case OpCode::kBitcast:
      return {b.Bitcast(type, arg(0))};
    case OpCode::kReal:
      return in[0];
    case OpCode::kImag:
      return {b.Const(type, 0)};
    case OpCode::kIsFinite:
      return {b.IsFinite(arg(0))};
    case OpCode::kSelect:
      return {b.Select(arg(0), arg(1), arg(2))};
    case OpCode::kReducePrecision: {
      // structural: f64 has so many, and holds all that there is
      constexpr int64_t kExponentBits = 11, kMantissaBits = 52;
      const auto& format = node.attrs<ReducePrecisionAttrs>();
      return {b.ReducePrecision(arg(0), static_cast<int>(std::min(format.exponent_bits, kExponentBits)),
                                static_cast<int>(std::min(format.mantissa_bits, kMantissaBits)))};
    }
    default:
      break;
  }
  if (node.op == OpCode::kPower && IsInteger(type)) return {EmitIntegerPower(b, arg(0), arg(1))};
  if (const std::string_view function = MathFunction(node); !function.empty()) {
    return {in.size() == 1 ? b.MathOrDie(function, {arg(0)}) : b.MathOrDie(function, {arg(0), arg(1)})};
  }
  const kir::Op direct = KirOpOf(node.op);
  TENON_CHECK(direct != kir::Op::kConst);
  return {in.size() == 1 ? b.Emit(direct, type, {arg(0)}) : b.Emit(direct, type, {arg(0), arg(1)})};
}

Scalar EmitLiteral(NodeBuilder& b, DType type, const Literal& literal, int64_t index) {
  const size_t width = static_cast<size_t>(ByteWidth(type));
  const char* at = literal.bytes->data() + (literal.splat ? 0 : static_cast<size_t>(index) * width);
  const DType part = PartType(type);
  if (!IsComplex(type)) return {b.ConstBits(part, ElementBits(part, at))};
  return {b.ConstBits(part, ElementBits(part, at)), b.ConstBits(part, ElementBits(part, at + width / 2))};
}

}  // namespace tenon::compiler
