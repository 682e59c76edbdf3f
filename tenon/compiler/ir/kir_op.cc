#include "tenon/compiler/ir/kir_op.h"

namespace tenon::compiler {

kir::Op KirOpOf(Op op) {
  switch (op) {
    case Op::kAbs:
      return kir::Op::kAbs;
    case Op::kAdd:
      return kir::Op::kAdd;
    case Op::kAnd:
      return kir::Op::kAnd;
    case Op::kCeil:
      return kir::Op::kCeil;
    case Op::kClz:
      return kir::Op::kClz;
    case Op::kDivide:
      return kir::Op::kDiv;
    case Op::kFloor:
      return kir::Op::kFloor;
    case Op::kMaximum:
      return kir::Op::kMax;
    case Op::kMinimum:
      return kir::Op::kMin;
    case Op::kMultiply:
      return kir::Op::kMul;
    case Op::kNegate:
      return kir::Op::kNeg;
    case Op::kNot:
      return kir::Op::kNot;
    case Op::kOr:
      return kir::Op::kOr;
    case Op::kPopcnt:
      return kir::Op::kPopcnt;
    case Op::kRemainder:
      return kir::Op::kRem;
    case Op::kRoundAway:
      return kir::Op::kRoundAway;
    case Op::kRoundEven:
      return kir::Op::kRoundEven;
    case Op::kShl:
      return kir::Op::kShl;
    case Op::kSar:
      return kir::Op::kShrArith;
    case Op::kShr:
      return kir::Op::kShrLogical;
    case Op::kSign:
      return kir::Op::kSign;
    case Op::kSqrt:
      return kir::Op::kSqrt;
    case Op::kSubtract:
      return kir::Op::kSub;
    case Op::kXor:
      return kir::Op::kXor;
    default:
      return kir::Op::kConst;
  }
}

uint8_t KirCompare(const CompareAttrs& attrs) {
  return static_cast<uint8_t>(attrs.comparison_direction | (attrs.total_order ? kir::kTotalOrder : 0));
}

}  // namespace tenon::compiler
