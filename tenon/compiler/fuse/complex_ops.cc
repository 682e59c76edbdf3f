#include "tenon/compiler/fuse/complex_ops.h"

namespace tenon::compiler {

using kir::NodeBuilder;
using kir::Val;

bool CanComputeComplex(const Program& program, const Node& node) {
  switch (node.op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kNegate:
    case Op::kReal:
    case Op::kImag:
    case Op::kComplex:
    case Op::kSelect:
      return true;
    case Op::kConvert:
      return true;
    case Op::kCompare:
      return node.imm == kir::kEq || node.imm == kir::kNe;
    default:
      return false;
  }
}

Scalar EmitComplex(NodeBuilder& b, const Program& program, const Node& node, const SmallVector<Scalar, 3>& in) {
  const DType type = node.shape().dtype;
  const DType part = PartType(type);
  switch (node.op) {
    case Op::kAdd:
      return {b.Add(in[0].re, in[1].re), b.Add(in[0].im, in[1].im)};
    case Op::kSubtract:
      return {b.Sub(in[0].re, in[1].re), b.Sub(in[0].im, in[1].im)};
    case Op::kMultiply:
      return {b.Sub(b.Mul(in[0].re, in[1].re), b.Mul(in[0].im, in[1].im)),
              b.Add(b.Mul(in[0].re, in[1].im), b.Mul(in[0].im, in[1].re))};
    case Op::kNegate:
      return {b.Neg(in[0].re), b.Neg(in[0].im)};
    case Op::kReal:
      return {in[0].re};
    case Op::kImag:
      return {in[0].im};
    case Op::kComplex:
      return {in[0].re, in[1].re};
    case Op::kSelect:
      return {b.Select(in[0].re, in[1].re, in[2].re), b.Select(in[0].re, in[1].im, in[2].im)};
    case Op::kConvert: {
      const Val re = b.Convert(part, in[0].re);
      if (!IsComplex(type)) return {re};
      return {re, in[0].im == kir::kNone ? b.Const(part, 0) : b.Convert(part, in[0].im)};
    }
    case Op::kCompare: {
      const kir::Cmp how = static_cast<kir::Cmp>(node.imm);
      const Val re = b.Compare(how, in[0].re, in[1].re);
      const Val im = b.Compare(how, in[0].im, in[1].im);
      return {how == kir::kEq ? b.And(re, im) : b.Or(re, im)};
    }
    default:
      TENON_CHECK(false);
      return {};
  }
}

}  // namespace tenon::compiler
