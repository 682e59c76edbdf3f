#include "tenon/compiler/fuse/complex_ops.h"

#include <limits>

#include "tenon/compiler/fuse/complex_math.h"

namespace tenon::compiler {

using kir::NodeBuilder;
using kir::Val;

bool CanComputeComplex(const Program& program, const GraphNode& node) {
  switch (node.op) {
    case OpCode::kAdd:
    case OpCode::kSubtract:
    case OpCode::kMultiply:
    case OpCode::kNegate:
    case OpCode::kReal:
    case OpCode::kImag:
    case OpCode::kComplex:
    case OpCode::kSelect:
    case OpCode::kConvert:
    case OpCode::kMaximum:
    case OpCode::kMinimum:
      return true;
    case OpCode::kCompare:
      return !node.attrs<CompareAttrs>().total_order;
    default:
      return ComplexCost(node.op) > 0;
  }
}

Scalar EmitComplex(NodeBuilder& b, const Program& program, const GraphNode& node, const SmallVector<Scalar, 3>& in) {
  const DType type = node.shape().dtype;
  const DType part = PartType(type);
  switch (node.op) {
    case OpCode::kAdd:
      return {b.Add(in[0].re, in[1].re), b.Add(in[0].im, in[1].im)};
    case OpCode::kSubtract:
      return {b.Sub(in[0].re, in[1].re), b.Sub(in[0].im, in[1].im)};
    case OpCode::kMultiply:
      return {b.Sub(b.Mul(in[0].re, in[1].re), b.Mul(in[0].im, in[1].im)),
              b.Add(b.Mul(in[0].re, in[1].im), b.Mul(in[0].im, in[1].re))};
    case OpCode::kNegate:
      return {b.Neg(in[0].re), b.Neg(in[0].im)};
    case OpCode::kReal:
      return {in[0].re};
    case OpCode::kImag:
      return {in[0].im};
    case OpCode::kComplex:
      return {in[0].re, in[1].re};
    case OpCode::kSelect:
      return {b.Select(in[0].re, in[1].re, in[2].re), b.Select(in[0].re, in[1].im, in[2].im)};
    case OpCode::kConvert: {
      const Val re = b.Convert(part, in[0].re);
      if (!IsComplex(type)) return {re};
      return {re, in[0].im == kir::kNone ? b.Const(part, 0) : b.Convert(part, in[0].im)};
    }
    case OpCode::kCompare: {
      const kir::Cmp how = node.attrs<CompareAttrs>().comparison_direction;
      const Val re = b.Compare(how, in[0].re, in[1].re);
      const Val im = b.Compare(how, in[0].im, in[1].im);
      if (how == kir::kEq) return {b.And(re, im)};
      if (how == kir::kNe) return {b.Or(re, im)};
      // By real parts, then by imaginary ones; nothing holds of NaN.
      const Val same = b.Compare(kir::kEq, in[0].re, in[1].re);
      const Val ordered = b.And(b.Compare(kir::kEq, in[0].im, in[0].im), b.Compare(kir::kEq, in[1].im, in[1].im));
      return {b.And(ordered, b.Select(same, im, re))};
    }
    case OpCode::kMaximum:
    case OpCode::kMinimum: {
      // The real parts decide, the left side at equal ones.
      const Val left = b.Compare(node.op == OpCode::kMaximum ? kir::kGe : kir::kLe, in[0].re, in[1].re);
      const Val nan = b.Or(b.Compare(kir::kNe, in[0].re, in[0].re), b.Compare(kir::kNe, in[1].re, in[1].re));
      return {
          b.Select(nan, b.Const(part, std::numeric_limits<double>::quiet_NaN()), b.Select(left, in[0].re, in[1].re)),
          b.Select(nan, b.Const(part, 0), b.Select(left, in[0].im, in[1].im))};
    }
    case OpCode::kAbs:
      return {ComplexAbs(b, in[0])};
    case OpCode::kDivide:
      return ComplexDivide(b, in[0], in[1]);
    case OpCode::kPower:
      return ComplexPower(b, in[0], in[1]);
    default:
      TENON_CHECK(HasComplexFunction(node.op));
      return ComplexFunction(b, node.op, in[0]);
  }
}

}  // namespace tenon::compiler
