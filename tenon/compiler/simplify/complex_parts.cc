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
  if (node.out.size() != 1 || node.in.size() != 2 || !IsComplex(type)) return std::nullopt;
  if (!node.blocks.empty() && CombinerOp(to_, node.blocks[0]) != OpCode::kAdd) return std::nullopt;
  for (Ref r : node.in) {
    if (ShapeOf(r).dtype != type) return std::nullopt;
  }
  const DType part = RealPartOf(type);
  // The same op on parts.
  const auto apply = [&](Ref first, Ref second) {
    GraphNode real = node;
    real.origin = nullptr;
    real.out[0].dtype = part;
    real.in = {first, second};
    if (!real.blocks.empty()) real.blocks = {MakeCombiner(to_, OpCode::kAdd, part)};
    return Emit(std::move(real));
  };
  Ref a_re = Part(OpCode::kReal, node.in[0]), a_im = Part(OpCode::kImag, node.in[0]);
  Ref b_re = Part(OpCode::kReal, node.in[1]), b_im = Part(OpCode::kImag, node.in[1]);
  Ref re, im;
  if (!node.blocks.empty()) {
    re = apply(a_re, b_re);
    im = apply(a_im, b_im);
  } else if (const bool a_real = IsSplat(a_im, 0); a_real || IsSplat(b_im, 0)) {
    // The products with the zero part need no sum: each is zero, or no number where the other factor is none or
    // infinite. What is no number in a factor makes the same sums so.
    Ref &x_re = a_real ? b_re : a_re, &x_im = a_real ? b_im : a_im;
    const Ref zero = Splat(ShapeOf(x_re), 0);
    const Ref of_re = Binary(OpCode::kMultiply, x_im, zero), of_im = Binary(OpCode::kMultiply, x_re, zero);
    x_re = Binary(OpCode::kSubtract, x_re, of_re);
    x_im = Binary(OpCode::kAdd, x_im, of_im);
    re = apply(a_re, b_re);
    im = a_real ? apply(a_re, b_im) : apply(a_im, b_re);
  } else {
    // Four products: with three, the smaller part would lose what the larger one rounds off.
    re = apply(a_re, b_re);
    re = Binary(OpCode::kSubtract, re, apply(a_im, b_im));
    im = apply(a_im, b_re);
    im = Binary(OpCode::kAdd, apply(a_re, b_im), im);
  }
  GraphNode whole;
  whole.op = OpCode::kComplex;
  whole.in = {re, im};
  whole.out.push_back(node.shape());
  return Emit(std::move(whole));
}

}  // namespace tenon::compiler
