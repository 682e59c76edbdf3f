#include "tenon/compiler/ir/kir_op.h"

namespace tenon::compiler {

kir::Op KirOpOf(OpCode op) {
  switch (op) {
    case OpCode::kAbs:
      return kir::Op::kAbs;
    case OpCode::kAdd:
      return kir::Op::kAdd;
    case OpCode::kAnd:
      return kir::Op::kAnd;
    case OpCode::kCeil:
      return kir::Op::kCeil;
    case OpCode::kClz:
      return kir::Op::kClz;
    case OpCode::kDivide:
      return kir::Op::kDiv;
    case OpCode::kFloor:
      return kir::Op::kFloor;
    case OpCode::kMaximum:
      return kir::Op::kMax;
    case OpCode::kMinimum:
      return kir::Op::kMin;
    case OpCode::kMultiply:
      return kir::Op::kMul;
    case OpCode::kNegate:
      return kir::Op::kNeg;
    case OpCode::kNot:
      return kir::Op::kNot;
    case OpCode::kOr:
      return kir::Op::kOr;
    case OpCode::kPopcnt:
      return kir::Op::kPopcnt;
    case OpCode::kRemainder:
      return kir::Op::kRem;
    case OpCode::kRoundAway:
      return kir::Op::kRoundAway;
    case OpCode::kRoundEven:
      return kir::Op::kRoundEven;
    case OpCode::kShl:
      return kir::Op::kShl;
    case OpCode::kSar:
      return kir::Op::kShrArith;
    case OpCode::kShr:
      return kir::Op::kShrLogical;
    case OpCode::kSign:
      return kir::Op::kSign;
    case OpCode::kSqrt:
      return kir::Op::kSqrt;
    case OpCode::kSubtract:
      return kir::Op::kSub;
    case OpCode::kXor:
      return kir::Op::kXor;
    default:
      return kir::Op::kConst;
  }
}

kir::Node KirNodeOf(const GraphNode& node) {
  kir::Node made;
  made.type = node.shape().dtype;
  switch (node.op) {
    case OpCode::kBitcast:
      made.op = kir::Op::kBitcast;
      break;
    case OpCode::kCompare:
      made.op = kir::Op::kCompare;
      made.imm = KirCompare(node.attrs<CompareAttrs>());
      break;
    case OpCode::kConvert:
      made.op = kir::Op::kConvert;
      break;
    case OpCode::kSelect:
      made.op = kir::Op::kSelect;
      break;
    default:
      made.op = KirOpOf(node.op);
      break;
  }
  return made;
}

uint8_t KirCompare(const CompareAttrs& attrs) {
  return static_cast<uint8_t>(attrs.comparison_direction | (attrs.total_order ? kir::kTotalOrder : 0));
}

std::string_view MathFunction(const GraphNode& node) {
  switch (node.op) {
    case OpCode::kAtan2:
    case OpCode::kCbrt:
    case OpCode::kCosine:
    case OpCode::kExp:
    case OpCode::kExpm1:
    case OpCode::kLog:
    case OpCode::kLog1p:
    case OpCode::kLogistic:
    case OpCode::kPower:
    case OpCode::kRsqrt:
    case OpCode::kSine:
    case OpCode::kTan:
    case OpCode::kTanh:
      return OpName(node.op);
    case OpCode::kNamedMath:
      return node.name;
    default:
      return {};
  }
}

}  // namespace tenon::compiler
