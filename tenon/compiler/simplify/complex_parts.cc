// Sums and products of complex numbers as those of their parts: what is linear needs no complex form, and everything
// that is known of the real one holds.

#include <cstring>

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {

Ref Simplifier::Part(OpCode op, Ref r) {
  GraphNode part;
  part.op = op;
  part.in = {r};
  part.out.push_back({RealPartOf(ShapeOf(r).dtype), ShapeOf(r).dims});
  return Emit(std::move(part));
}

std::optional<Ref> Simplifier::PartOfComplex(const GraphNode& node) {
  const bool imaginary = node.op == OpCode::kImag;
  if (!IsComplex(ShapeOf(node.in[0]).dtype)) return imaginary ? Splat(node.shape(), 0) : node.in[0];
  const GraphNode& of = Def(node.in[0]);
  if (of.op == OpCode::kComplex) return of.in[imaginary ? 1 : 0];
  const DType part = node.shape().dtype;
  const size_t width = static_cast<size_t>(ByteWidth(part));
  if (of.op == OpCode::kConvert && !IsComplex(ShapeOf(of.in[0]).dtype)) {
    const Ref from = of.in[0];
    return imaginary ? Splat(node.shape(), 0) : Converted(from, part);
  }
  if (of.op != OpCode::kConstant || !IsComplex(of.shape().dtype)) return std::nullopt;
  const std::string& bytes = *of.literal.bytes;
  if (bytes.size() / (2 * width) > policy::kMaxPartElements) return std::nullopt;
  std::string parts;
  for (size_t at = imaginary ? width : 0; at < bytes.size(); at += 2 * width) parts.append(bytes, at, width);
  return Constant(node.shape(), MakeLiteral(std::move(parts), of.literal.splat));
}

std::optional<Ref> Simplifier::SplitComplex(const GraphNode& node) {
  const DType type = node.shape().dtype;
  if (node.out.size() != 1 || !IsComplex(type)) return std::nullopt;
  for (Ref r : node.in) {
    if (ShapeOf(r).dtype != type) return std::nullopt;
  }
  const DType part = RealPartOf(type);
  // The same op on these parts.
  const auto apply = [&](OpCode first, OpCode second) {
    GraphNode real = node;
    real.origin = nullptr;
    real.out[0].dtype = part;
    for (size_t i = 0; i < real.in.size(); ++i) real.in[i] = Part(i == 0 ? first : second, node.in[i]);
    if (!real.blocks.empty()) real.blocks = {MakeCombiner(to_, OpCode::kAdd, part)};
    return Emit(std::move(real));
  };
  Ref re, im;
  switch (node.op) {
    case OpCode::kReduce:
    case OpCode::kReduceWindow:
      if (node.in.size() != 2 || CombinerOp(to_, node.blocks[0]) != OpCode::kAdd) return std::nullopt;
      re = apply(OpCode::kReal, OpCode::kReal);
      im = apply(OpCode::kImag, OpCode::kImag);
      break;
    case OpCode::kDot:
    case OpCode::kConvolution: {
      // Four products: with three, the smaller part would lose what the larger one rounds off.
      const auto is_real = [&](Ref r) { return IsSplat(Part(OpCode::kImag, r), 0); };
      const bool a_real = is_real(node.in[0]), b_real = is_real(node.in[1]);
      re = apply(OpCode::kReal, OpCode::kReal);
      if (!a_real && !b_real) re = Binary(OpCode::kSubtract, re, apply(OpCode::kImag, OpCode::kImag));
      if (a_real && b_real) {
        im = Splat(ShapeOf(re), 0);
      } else if (a_real) {
        im = apply(OpCode::kReal, OpCode::kImag);
      } else {
        im = apply(OpCode::kImag, OpCode::kReal);
        if (!b_real) im = Binary(OpCode::kAdd, apply(OpCode::kReal, OpCode::kImag), im);
      }
      break;
    }
    default:
      return std::nullopt;
  }
  GraphNode whole;
  whole.op = OpCode::kComplex;
  whole.in = {re, im};
  whole.out.push_back(node.shape());
  return Emit(std::move(whole));
}

}  // namespace tenon::compiler
