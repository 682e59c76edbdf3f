// Rules of elementwise operations.

#include "tenon/base/neutral.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

namespace {

bool IsNumber(DType type) { return IsInteger(type) || IsFloat(type); }
/// Powers of two alone have no zero, and no three.
bool HasSmallNumbers(DType type) { return IsNumber(type) && type != DType::kF8E8M0FNU; }

}  // namespace

/// The other operand, when one of two has `bits` everywhere.
std::optional<Ref> Simplifier::OtherThan(const GraphNode& node, uint64_t bits) const {
  for (size_t i : {0, 1}) {
    if (IsSplat(node.in[i], bits)) return node.in[1 - i];
  }
  return std::nullopt;
}

std::optional<Ref> Simplifier::SameType(const GraphNode& node) {
  if (ShapeOf(node.in[0]) == node.shape()) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::AddZero(const GraphNode& node) {
  const DType type = node.shape().dtype;
  if (!HasSmallNumbers(type)) return std::nullopt;
  return OtherThan(node, IsInteger(type) ? 0 : kir::LiteralBits(type, -0.0));
}

std::optional<Ref> Simplifier::SubtractZero(const GraphNode& node) {
  if (HasSmallNumbers(node.shape().dtype) && IsSplat(node.in[1], 0)) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::MultiplyOne(const GraphNode& node) {
  const DType type = node.shape().dtype;
  if (!IsNumber(type)) return std::nullopt;
  return OtherThan(node, kir::LiteralBits(type, 1));
}

std::optional<Ref> Simplifier::DivideOne(const GraphNode& node) {
  const DType type = node.shape().dtype;
  if (IsNumber(type) && IsSplat(node.in[1], kir::LiteralBits(type, 1))) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::DividePowerOfTwo(const GraphNode& node) {
  const DType type = node.shape().dtype;
  if (type != DType::kF32 && type != DType::kF64) return std::nullopt;
  const std::optional<uint64_t> bits = SplatBits(to_, node.in[1]);
  if (!bits) return std::nullopt;
  const int mantissa = type == DType::kF32 ? 23 : 52;
  const uint64_t top = type == DType::kF32 ? 0xff : 0x7ff;
  const uint64_t exponent = (*bits >> mantissa) & top;
  if ((*bits & ((uint64_t{1} << mantissa) - 1)) != 0 || exponent <= 2 || exponent >= top - 2) return std::nullopt;
  const double value = kir::LiteralValue(type, *bits);
  return Binary(OpCode::kMultiply, node.in[0], Splat(ShapeOf(node.in[1]), kir::LiteralBits(type, 1.0 / value)));
}

std::optional<Ref> Simplifier::SameOperands(const GraphNode& node) {
  if (node.in[0] == node.in[1]) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::SameCancel(const GraphNode& node) {
  if (!(node.in[0] == node.in[1]) || IsFloat(node.shape().dtype) || IsComplex(node.shape().dtype)) return std::nullopt;
  return Splat(node.shape(), 0);
}

std::optional<Ref> Simplifier::ExtremeIdentity(const GraphNode& node) {
  const DType type = node.shape().dtype;
  if (!IsNumber(type)) return std::nullopt;
  return OtherThan(node, node.op == OpCode::kMaximum ? LowestBits(type) : HighestBits(type));
}

std::optional<Ref> Simplifier::LogicConstant(const GraphNode& node) {
  const DType type = node.shape().dtype;
  const uint64_t ones = type == DType::kPred ? 1 : kir::LiteralBits(type, int64_t{-1});
  for (size_t i : {0, 1}) {
    const Ref here = node.in[i], there = node.in[1 - i];
    if (IsSplat(here, 0)) return node.op == OpCode::kOr ? there : here;
    if (IsSplat(here, ones)) return node.op == OpCode::kOr ? here : there;
  }
  return std::nullopt;
}

std::optional<Ref> Simplifier::XorZero(const GraphNode& node) { return OtherThan(node, 0); }

std::optional<Ref> Simplifier::ShiftZero(const GraphNode& node) {
  if (IsSplat(node.in[1], 0)) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::Twice(const GraphNode& node) {
  const GraphNode& def = Def(node.in[0]);
  // Negation of f8E8M0FNU, which has no sign, is NaN.
  if (def.op == node.op && (node.op != OpCode::kNegate || node.shape().dtype != DType::kF8E8M0FNU)) return def.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::SelectSame(const GraphNode& node) {
  if (node.in[1] == node.in[2]) return node.in[1];
  return std::nullopt;
}

std::optional<Ref> Simplifier::SelectKnown(const GraphNode& node) {
  const std::optional<uint64_t> bits = SplatBits(to_, node.in[0]);
  if (bits) return node.in[*bits != 0 ? 1 : 2];
  return std::nullopt;
}

std::optional<Ref> Simplifier::SmallPower(const GraphNode& node) {
  const DType type = node.shape().dtype;
  const Ref x = node.in[0];
  if (!IsFloat(type) || !HasSmallNumbers(type)) return std::nullopt;
  if (IsSplat(node.in[1], kir::LiteralBits(type, 1))) return x;
  if (IsSplat(node.in[1], kir::LiteralBits(type, 2))) return Binary(OpCode::kMultiply, x, x);
  if (!IsSplat(node.in[1], kir::LiteralBits(type, 3))) return std::nullopt;
  // In a narrow type the square would be rounded to it, while a power is rounded once.
  const Ref wide = Converted(x, DTypeBits(type) < 32 ? DType::kF32 : type);
  return Converted(Binary(OpCode::kMultiply, Binary(OpCode::kMultiply, wide, wide), wide), type);
}

}  // namespace tenon::compiler
