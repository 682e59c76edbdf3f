// Sums and products of complex numbers as those of their parts: what is linear needs no complex form, and everything
// that is known of the real one holds.

#include <cstring>

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {

Ref Simplifier::Part(Op op, Ref r) {
  Node part;
  part.op = op;
  part.in = {r};
  part.out.push_back({RealPartOf(ShapeOf(r).dtype), ShapeOf(r).dims});
  return Emit(std::move(part));
}

std::optional<Ref> Simplifier::PartOfComplex(const Node& node) {
  const bool imaginary = node.op == Op::kImag;
  if (!IsComplex(ShapeOf(node.in[0]).dtype)) return imaginary ? Splat(node.shape(), 0) : node.in[0];
  const Node& of = Def(node.in[0]);
  if (of.op == Op::kComplex) return of.in[imaginary ? 1 : 0];
  const DType part = node.shape().dtype;
  const size_t width = static_cast<size_t>(ByteWidth(part));
  if (of.op == Op::kConvert && !IsComplex(ShapeOf(of.in[0]).dtype)) {
    const Ref from = of.in[0];
    return imaginary ? Splat(node.shape(), 0) : Converted(from, part);
  }
  if (of.op != Op::kConstant || !IsComplex(of.shape().dtype)) return std::nullopt;
  const std::string& bytes = *of.literal.bytes;
  if (bytes.size() / (2 * width) > policy::kMaxPartElements) return std::nullopt;
  std::string parts;
  for (size_t at = imaginary ? width : 0; at < bytes.size(); at += 2 * width) parts.append(bytes, at, width);
  return Constant(node.shape(), MakeLiteral(std::move(parts), of.literal.splat));
}

std::optional<Ref> Simplifier::SplitComplex(const Node& node) {
  const DType type = node.shape().dtype;
  if (node.out.size() != 1 || !IsComplex(type)) return std::nullopt;
  for (Ref r : node.in) {
    if (ShapeOf(r).dtype != type) return std::nullopt;
  }
  const DType part = RealPartOf(type);
  // The same op on these parts.
  const auto apply = [&](Op first, Op second) {
    Node real = node;
    real.origin = nullptr;
    real.out[0].dtype = part;
    for (size_t i = 0; i < real.in.size(); ++i) real.in[i] = Part(i == 0 ? first : second, node.in[i]);
    if (!real.blocks.empty()) real.blocks = {MakeCombiner(to_, Op::kAdd, part)};
    return Emit(std::move(real));
  };
  Ref re, im;
  switch (node.op) {
    case Op::kReduce:
    case Op::kReduceWindow:
      if (node.in.size() != 2 || CombinerOp(to_, node.blocks[0]) != Op::kAdd) return std::nullopt;
      re = apply(Op::kReal, Op::kReal);
      im = apply(Op::kImag, Op::kImag);
      break;
    case Op::kDot:
    case Op::kConvolution: {
      // Four products: with three, the smaller part would lose what the larger one rounds off.
      const auto is_real = [&](Ref r) { return IsSplat(Part(Op::kImag, r), 0); };
      const bool a_real = is_real(node.in[0]), b_real = is_real(node.in[1]);
      re = apply(Op::kReal, Op::kReal);
      if (!a_real && !b_real) re = Binary(Op::kSubtract, re, apply(Op::kImag, Op::kImag));
      if (a_real && b_real) {
        im = Splat(ShapeOf(re), 0);
      } else if (a_real) {
        im = apply(Op::kReal, Op::kImag);
      } else {
        im = apply(Op::kImag, Op::kReal);
        if (!b_real) im = Binary(Op::kAdd, apply(Op::kReal, Op::kImag), im);
      }
      break;
    }
    default:
      return std::nullopt;
  }
  Node whole;
  whole.op = Op::kComplex;
  whole.in = {re, im};
  whole.out.push_back(node.shape());
  return Emit(std::move(whole));
}

}  // namespace tenon::compiler
