// Integers, comparisons, conditions, casts.
#include <llvm/IR/Constants.h>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::cast;
using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

namespace {

/// Two-address: to = tied op rm.
Inst TwoAddress(uint8_t opcode, bool wide, Reg to, Reg tied, Reg rm) {
  return {.op = op::Legacy(0, 0, wide, opcode),
          .mem_bytes = static_cast<uint8_t>(wide ? 8 : 4),
          .foldable = true,
          .def = Slot::kReg,
          .reg = to,
          .rm = rm,
          .tied = tied};
}
/// Of something and imm, which is yet to be named.
Inst OfImmediate(uint8_t digit, bool wide, int32_t imm) {
  const bool small = imm == static_cast<int8_t>(imm);
  Inst m{.op = op::Legacy(0, 0, wide, small ? 0x83 : 0x81),
         .digit = digit,
         .imm_bytes = static_cast<uint8_t>(small ? 1 : 4)};
  m.imm = imm;
  return m;
}
/// to = tied op imm.
Inst WithImmediate(uint8_t digit, bool wide, Reg to, Reg tied, int32_t imm) {
  Inst m = OfImmediate(digit, wide, imm);
  m.def = Slot::kRm;
  m.rm = to;
  m.tied = tied;
  return m;
}
/// The number of an operation with two operands in its encodings: an immediate's digit, an eighth of its opcodes.
uint8_t CodeOf(unsigned opcode) {
  switch (opcode) {
    case Instruction::Add:
      return 0;
    case Instruction::Or:
      return 1;
    case Instruction::And:
      return 4;
    case Instruction::Sub:
      return 5;
    default:
      return 6;  // xor
  }
}

uint8_t ConditionOf(llvm::CmpInst::Predicate p) {
  using P = llvm::CmpInst::Predicate;
  switch (p) {
    case P::ICMP_EQ:
      return op::kEqual;
    case P::ICMP_NE:
      return op::kNotEqual;
    case P::ICMP_ULT:
      return op::kBelow;
    case P::ICMP_ULE:
      return op::kBelowEqual;
    case P::ICMP_UGT:
      return op::kAbove;
    case P::ICMP_UGE:
      return op::kAboveEqual;
    case P::ICMP_SLT:
      return op::kLess;
    case P::ICMP_SLE:
      return op::kLessEqual;
    case P::ICMP_SGT:
      return op::kGreater;
    default:
      return op::kGreaterEqual;
  }
}

}  // namespace

Reg Selector::Immediate(int64_t value) {
  Inst m{.def = Slot::kRm, .rm = New(RegClass::kGpr)};
  m.op = op::Legacy(0, 0, value == static_cast<int32_t>(value) && value < 0 ? 1 : 0, 0xc7);
  m.imm_bytes = 4;
  m.imm = value;
  if (value != static_cast<int32_t>(value) && value != static_cast<int64_t>(static_cast<uint32_t>(value))) {
    // Through the constants: there is no eight-byte immediate here.
    m = {.op = op::kMov, .mem_bytes = 8, .has_mem = true, .def = Slot::kReg, .reg = m.rm};
    m.mem.pool = InPool(std::string(reinterpret_cast<const char*>(&value), 8));
    return Add(m).reg;
  }
  return Add(m).rm;
}

void Selector::VisitIntBinary(const llvm::BinaryOperator& inst, const Shape& shape) {
  const Value* a = inst.getOperand(0);
  const Value* b = inst.getOperand(1);
  const bool wide = shape.bits == 64;
  if (inst.isCommutative() && Int(a) != nullptr) std::swap(a, b);
  int32_t imm = 0;
  const bool has_imm = Int32(b, &imm);
  const unsigned opcode = inst.getOpcode();
  const bool adds = opcode == Instruction::Add || opcode == Instruction::Sub || opcode == Instruction::Or ||
                    opcode == Instruction::Xor;
  if (has_imm && shape.bits > 1 && ((imm == 0 && adds) || (imm == 1 && opcode == Instruction::Mul)))
    return Alias(inst, {One(a)});
  if (Rotation(inst, shape)) return;
  const Reg to = Result(inst)[0];
  switch (opcode) {
    case Instruction::Add:
    case Instruction::Sub: {
      if (shape.bits == 1) break;
      const bool add = inst.getOpcode() == Instruction::Add;
      if (!add && Int(a) != nullptr && Int(a)->isZero()) {
        Add({.op = op::Legacy(0, 0, wide, 0xf7), .digit = 3, .def = Slot::kRm, .rm = to, .tied = One(b)});
        return;
      }
      if (add || (has_imm && imm != INT32_MIN)) {
        Inst lea{.op = op::Legacy(0, 0, wide, 0x8d), .has_mem = true, .def = Slot::kReg, .reg = to};
        lea.mem.base = One(a);
        if (has_imm) {
          lea.mem.disp = add ? imm : -imm;
        } else {
          lea.mem.index = One(b);
        }
        Add(lea);
        return;
      }
      Add(TwoAddress(0x2b, wide, to, One(a), One(b)));
      return;
    }
    case Instruction::Mul:
      if (has_imm) {
        Inst m{.op = op::Legacy(0, 0, wide, 0x69),
               .imm_bytes = 4,
               .mem_bytes = 8,
               .foldable = true,
               .def = Slot::kReg,
               .reg = to,
               .rm = One(a)};
        m.imm = imm;
        if (imm > 0 && (imm & (imm - 1)) == 0) {
          m = {
              .op = op::Legacy(0, 0, wide, 0xc1), .digit = 4, .imm_bytes = 1, .def = Slot::kRm, .rm = to, .tied = m.rm};
          m.imm = __builtin_ctz(static_cast<unsigned>(imm));
        }
        Add(m);
        return;
      }
      {
        const Reg x = One(a);
        Add({.op = op::Legacy(1, 0, wide, 0xaf),
             .mem_bytes = 8,
             .foldable = true,
             .def = Slot::kReg,
             .reg = to,
             .rm = One(b),
             .tied = x});
      }
      return;
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor: {
      const uint8_t number = CodeOf(opcode);
      if (shape.bits == 1 && Int(b) != nullptr) imm = Int(b)->isZero() ? 0 : 1;
      const Reg x = One(a);
      if (has_imm) {
        Add(WithImmediate(number, wide, to, x, imm));
      } else {
        Add(TwoAddress(static_cast<uint8_t>(8 * number + 3), wide, to, x, One(b)));
      }
      return;
    }
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
      return Shift(inst, shape);
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::URem:
    case Instruction::SRem:
      return VisitDivide(inst, shape);
    default:
      break;
  }
  Fail();
}

void Selector::Update(const llvm::StoreInst& store, const llvm::BinaryOperator& made, const Shape& s) {
  const Value* other = made.getOperand(updated_.contains(made.getOperand(0)) ? 1 : 0);
  const uint8_t number = CodeOf(made.getOpcode());
  const bool wide = s.bits == 64;
  Inst m;
  if (int32_t imm = 0; Int32(other, &imm)) {
    m = OfImmediate(number, wide, imm);
  } else {
    m.op = op::Legacy(0, 0, wide, static_cast<uint8_t>(8 * number + 1));
    m.reg = One(other);
  }
  SetMem(m, store.getPointerOperand(), s.bytes());
  Add(m);
}

std::optional<Selector::Turn> Selector::RotationOf(const llvm::BinaryOperator& inst) const {
  const unsigned bits = inst.getType()->getScalarSizeInBits();
  if (inst.getOpcode() != Instruction::Or || (bits != 32 && bits != 64)) return std::nullopt;
  auto* left = dyn_cast<llvm::BinaryOperator>(Canonical(inst.getOperand(0)));
  auto* right = dyn_cast<llvm::BinaryOperator>(Canonical(inst.getOperand(1)));
  if (left == nullptr || right == nullptr) return std::nullopt;
  if (left->getOpcode() == Instruction::LShr) std::swap(left, right);
  if (left->getOpcode() != Instruction::Shl || right->getOpcode() != Instruction::LShr) return std::nullopt;
  if (Canonical(left->getOperand(0)) != Canonical(right->getOperand(0))) return std::nullopt;
  const auto count_of = [](const Value* v) -> uint64_t {
    auto* constant = dyn_cast<llvm::Constant>(v);
    if (constant != nullptr && v->getType()->isVectorTy()) constant = constant->getSplatValue();
    auto* count = dyn_cast_or_null<llvm::ConstantInt>(constant);
    return count == nullptr ? 0 : count->getZExtValue();
  };
  const uint64_t by = count_of(left->getOperand(1));
  if (by == 0 || by >= bits || by + count_of(right->getOperand(1)) != bits) return std::nullopt;
  return Turn{left->getOperand(0), by};
}

bool Selector::Rotation(const llvm::BinaryOperator& inst, const Shape& shape) {
  const std::optional<Turn> turn = RotationOf(inst);
  if (!turn) return false;
  const uint64_t by = turn->by;
  const Parts x = Get(turn->value);
  for (unsigned part = 0; part < shape.parts; ++part) {
    Inst m{.imm_bytes = 1, .mem_bytes = shape.part_bytes(), .foldable = true, .rm = x[part]};
    if (shape.kind == Shape::Kind::kVector) {
      m.op = op::Evex(1, 1, shape.wide(), 0x72);  // vprold, vprolq
      m.len = shape.len;
      m.digit = 1;
      m.element = static_cast<uint8_t>(shape.bytes());
      m.def = Slot::kVvvv;
      m.vvvv = Result(inst)[part];
      m.imm = static_cast<int64_t>(by);
    } else {
      m.op = op::Vex(3, 3, shape.wide(), 0xf0);  // rorx
      m.def = Slot::kReg;
      m.reg = Result(inst)[0];
      m.imm = static_cast<int64_t>(shape.bits - by);
    }
    Add(m);
  }
  return true;
}

void Selector::Shift(const llvm::BinaryOperator& inst, const Shape& shape) {
  const unsigned opcode = inst.getOpcode();
  const bool wide = shape.bits == 64;
  const Reg to = Result(inst)[0];
  // What comes down from above must be the number's own.
  const auto shifted = [&] {
    return opcode == Instruction::Shl ? One(inst.getOperand(0))
                                      : Widened(inst.getOperand(0), shape.bits, opcode == Instruction::AShr);
  };
  if (shape.bits == 1) {
    Fail();
    return;
  }
  if (auto* count = Int(inst.getOperand(1))) {
    Inst m{.op = op::Legacy(0, 0, wide, 0xc1), .imm_bytes = 1, .def = Slot::kRm, .rm = to, .tied = shifted()};
    m.digit = opcode == Instruction::Shl ? 4 : opcode == Instruction::LShr ? 5 : 7;
    m.imm = static_cast<int64_t>(count->getZExtValue() & (shape.bits - 1));
    Add(m);
    return;
  }
  Op shift = opcode == Instruction::Shl ? op::kShlx : opcode == Instruction::LShr ? op::kShrx : op::kSarx;
  shift.w = wide;
  const Reg x = shifted();
  const Value* by = inst.getOperand(1);
  // The machine takes so many bits of the count and no more.
  if (auto* part = dyn_cast<llvm::BinaryOperator>(Canonical(by)); part != nullptr && shape.bits >= 32) {
    auto* mask = part->getOpcode() == Instruction::And ? Int(part->getOperand(1)) : nullptr;
    if (mask != nullptr && mask->getZExtValue() == shape.bits - 1) by = part->getOperand(0);
  }
  Add({.op = shift,
       .mem_bytes = 8,
       .foldable = true,
       .def = Slot::kReg,
       .reg = to,
       .vvvv = Widened(by, shape.bits, false),
       .rm = x});
}

// --- conditions

bool Selector::Fused(const Instruction& condition) const {
  if (!condition.hasOneUse()) return false;
  auto* user = cast<Instruction>(condition.user_back());
  if (user->getParent() != condition.getParent()) return false;
  if (auto* cmp = dyn_cast<llvm::CmpInst>(&condition)) {
    auto* integer = cmp->getOperand(0)->getType();
    if (!integer->isIntegerTy() && !integer->isPointerTy()) return false;
  }
  if (isa<llvm::BranchInst>(user)) return true;
  auto* select = dyn_cast<llvm::SelectInst>(user);
  return select != nullptr && select->getCondition() == &condition &&
         (select->getType()->isIntegerTy() || select->getType()->isPointerTy());
}

bool Selector::IsZeroAbove(const Value* v) const {
  auto* select = dyn_cast<llvm::SelectInst>(Canonical(v));
  return select != nullptr && select->getType()->isIntegerTy(32) && !isa<llvm::Constant>(select->getCondition());
}

void Selector::Extend(Reg to, Reg from, unsigned from_bits, bool is_signed, bool wide) {
  Inst m{.mem_bytes = 4, .def = Slot::kReg, .reg = to, .rm = from};
  if (from_bits == 32) {
    m.op = is_signed ? op::kMovsxd : op::kMov32;
  } else {
    m.op = from_bits == 16 ? (is_signed ? op::kMovsx16 : op::kMovzx16) : (is_signed ? op::kMovsx8 : op::kMovzx8);
    m.byte_register = from_bits == 8;
    m.op.w = is_signed && wide;
  }
  Add(m);
}

void Selector::EmitCompare(const Value* a, const Value* b, unsigned bits, bool is_signed) {
  const bool wide = bits == 64;
  Reg x = One(a);
  if (bits == 8) {
    // What is above the bytes does not count.
    if (const auto* number = Int(b); number != nullptr) {
      Inst m{.op = op::Legacy(0, 0, 0, 0x80), .digit = 7, .imm_bytes = 1, .byte_register = true, .rm = x};
      m.imm = number->getSExtValue();
      Add(m);
    } else {
      Add({.op = op::Legacy(0, 0, 0, 0x3a), .byte_register = true, .reg = x, .rm = One(b)});
    }
    return;
  }
  if (bits < 32 && bits > 1) {
    const Reg extended = New(RegClass::kGpr);
    Extend(extended, x, bits, is_signed, false);
    x = extended;
  }
  int32_t imm = 0;
  const bool is_int = Int(b) != nullptr;
  if (is_int && bits < 64) {
    imm = static_cast<int32_t>(is_signed && bits > 1 ? Int(b)->getSExtValue()
                                                     : static_cast<int64_t>(Int(b)->getZExtValue()));
  }
  if (isa<llvm::ConstantPointerNull>(b) || (is_int && bits < 64) || Int32(b, &imm)) {
    if (imm == 0) {
      Add({.op = wide ? op::kTest : op::kTest32, .reg = x, .rm = x});
      return;
    }
    Inst m = OfImmediate(7, wide, imm);
    m.mem_bytes = 8;
    m.foldable = true;
    m.rm = x;
    Add(m);
    return;
  }
  Reg y = One(b);
  if (bits < 32 && bits > 1) {
    const Reg extended = New(RegClass::kGpr);
    Extend(extended, y, bits, is_signed, false);
    y = extended;
  }
  Add({.op = op::Legacy(0, 0, wide, 0x3b), .mem_bytes = 8, .foldable = true, .reg = x, .rm = y});
}

uint8_t Selector::EmitCondition(const Value* condition) {
  auto* inst = dyn_cast<Instruction>(condition);
  if (inst != nullptr && Fused(*inst)) {
    if (auto* cmp = dyn_cast<llvm::ICmpInst>(inst)) {
      const Value* a = cmp->getOperand(0);
      const Value* b = cmp->getOperand(1);
      auto predicate = cmp->getPredicate();
      if (isa<llvm::Constant>(a)) {
        std::swap(a, b);
        predicate = llvm::CmpInst::getSwappedPredicate(predicate);
      }
      EmitCompare(a, b, ShapeOf(a->getType()).bits, cmp->isSigned());
      return ConditionOf(predicate);
    }
    if (auto* call = dyn_cast<llvm::IntrinsicInst>(inst);
        call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::vector_reduce_or) {
      TestAny(call->getArgOperand(0));
      return op::kNotEqual;
    }
  }
  const Reg r = One(condition);
  Add({.op = op::kTest32, .reg = r, .rm = r});
  return op::kNotEqual;
}

void Selector::SetFromFlags(uint8_t cc, Reg to) {
  // Eight bits are set. The others are those of a zero, which leaves the flags alone, and with it nothing waits for
  // what the register held before.
  const Reg zero = Immediate(0);
  Add({.op = op::Legacy(1, 0, 0, static_cast<uint8_t>(0x90 + cc)),
       .byte_register = true,
       .def = Slot::kRm,
       .rm = to,
       .tied = zero});
}

void Selector::VisitICmp(const llvm::ICmpInst& cmp) {
  if (Fused(cmp)) return;
  const Value* a = cmp.getOperand(0);
  const Value* b = cmp.getOperand(1);
  auto predicate = cmp.getPredicate();
  if (isa<llvm::Constant>(a)) {
    std::swap(a, b);
    predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  }
  EmitCompare(a, b, ShapeOf(a->getType()).bits, cmp.isSigned());
  SetFromFlags(ConditionOf(predicate), Result(cmp)[0]);
}

void Selector::ConditionalMove(uint8_t cc, bool wide, Reg to, Reg yes, Reg no) {
  Add({.op = op::Legacy(1, 0, wide, static_cast<uint8_t>(0x40 + cc)),
       .mem_bytes = 8,
       .foldable = true,
       .def = Slot::kReg,
       .reg = to,
       .rm = yes,
       .tied = no});
}

void Selector::MinMax(const llvm::IntrinsicInst& call, uint8_t cc) {
  const Shape s = ShapeOf(call.getType());
  const Value* a = call.getArgOperand(0);
  const Value* b = call.getArgOperand(1);
  if (isa<llvm::Constant>(a)) std::swap(a, b);
  const Reg x = One(a);
  const Reg y = One(b);
  EmitCompare(a, b, s.bits, cc == op::kLess || cc == op::kGreater);
  ConditionalMove(cc, s.bits == 64, Result(call)[0], x, y);
}

bool Selector::SelectOfExtreme(const llvm::SelectInst& select, const Shape& s) {
  // The smaller or larger of what is compared: the machine's minimum and maximum give their second operand unless the
  // first one is strictly so.
  auto* cmp = dyn_cast<llvm::FCmpInst>(select.getCondition());
  if (cmp == nullptr || !s.is_float) return false;
  const bool less = cmp->getPredicate() == llvm::CmpInst::FCMP_OLT;
  if (!less && cmp->getPredicate() != llvm::CmpInst::FCMP_OGT) return false;
  const Value* x = Canonical(cmp->getOperand(0));
  const Value* y = Canonical(cmp->getOperand(1));
  const Value* yes = Canonical(select.getTrueValue());
  const Value* no = Canonical(select.getFalseValue());
  const bool same = yes == x && no == y;
  if (!same && !(yes == y && no == x)) return false;
  const Parts first = Get(yes);
  const Parts second = Get(no);
  const Op o = op::Float(less == same ? 0x5d : 0x5f, s.scalar(), s.wide());
  for (unsigned part = 0; part < s.parts; ++part) RvmTo(Result(select)[part], o, s, first[part], second[part]);
  return true;
}

void Selector::VisitSelect(const llvm::SelectInst& select) {
  const Shape s = ShapeOf(select.getType());
  if (failed_ || SelectOfExtreme(select, s)) return;
  const Value* condition = select.getCondition();
  if (auto* known = dyn_cast<llvm::Constant>(condition);
      known != nullptr && (known->isAllOnesValue() || known->isNullValue())) {
    const Value* chosen = known->isNullValue() ? select.getFalseValue() : select.getTrueValue();
    canonical_[&select] = Canonical(chosen);
    return Alias(select, Get(chosen));
  }
  if (condition->getType()->isVectorTy()) {
    auto* yes_constant = dyn_cast<llvm::Constant>(select.getTrueValue());
    auto* no_constant = dyn_cast<llvm::Constant>(select.getFalseValue());
    if (s.kind == Shape::Kind::kMask && yes_constant != nullptr && no_constant != nullptr &&
        yes_constant->isAllOnesValue() && no_constant->isNullValue()) {
      return Alias(select, Get(condition));
    }
    const Reg mask = One(condition);
    if (s.kind == Shape::Kind::kMask) {
      const Reg yes = One(select.getTrueValue());
      const Reg no = One(select.getFalseValue());
      return SelectMask(Result(select)[0], mask, yes, no);
    }
    if (s.kind != Shape::Kind::kVector) {
      Fail();
      return;
    }
    const Parts yes = Get(select.getTrueValue());
    const Parts no = Get(select.getFalseValue());
    for (unsigned part = 0; part < s.parts; ++part)
      Blend(Result(select)[part], s, MaskOfPart(mask, part, s), yes[part], no[part]);
    return;
  }
  if (s.kind == Shape::Kind::kInt) {
    const Reg yes = One(select.getTrueValue());
    const Reg no = One(select.getFalseValue());
    const uint8_t cc = EmitCondition(condition);
    ConditionalMove(cc, s.bits == 64, Result(select)[0], yes, no);
    return;
  }
  if (s.kind == Shape::Kind::kMask) {
    const Reg which = MaskFromCondition(One(condition));
    const Reg yes = One(select.getTrueValue());
    const Reg no = One(select.getFalseValue());
    return SelectMask(Result(select)[0], which, yes, no);
  }
  Reg mask = s.scalar() ? scalar_masks_.lookup(Canonical(condition)) : 0;
  if (mask != 0 && avx2_ && s.wide() &&
      cast<Instruction>(Canonical(condition))->getOperand(0)->getType()->getScalarSizeInBits() < 64) {
    // It has the length of what was compared; above is what the comparison's first operand had there.
    const Reg wide = New(RegClass::kVec);
    RmTo(wide, WidenOp(32, 64, true), 0, mask, 8);
    mask = wide;
  }
  if (mask == 0) mask = MaskFromCondition(One(condition));
  const Parts yes = Get(select.getTrueValue());
  const Parts no = Get(select.getFalseValue());
  for (unsigned part = 0; part < s.parts; ++part) Blend(Result(select)[part], s, mask, yes[part], no[part]);
}

// --- casts

void Selector::VisitCast(const llvm::CastInst& inst) {
  if (const Value* same = ReturnTrip(inst)) return Alias(inst, Get(same));
  const Value* v = inst.getOperand(0);
  const Shape from = ShapeOf(v->getType());
  const Shape to = ShapeOf(inst.getType());
  if (failed_) return;
  using K = Shape::Kind;
  const unsigned opcode = inst.getOpcode();
  if (opcode == Instruction::PtrToInt || opcode == Instruction::IntToPtr) {
    if (from.kind != K::kInt || from.bits != 64 || to.bits != 64) {
      Fail();
      return;
    }
    return Alias(inst, {One(v)});
  }
  if (opcode == Instruction::BitCast) {
    if (from.kind == K::kVector && to.kind == K::kVector && from.parts == to.parts && from.len == to.len)
      return Alias(inst, Get(v));
    if (from.kind == K::kInt && to.kind == K::kInt && from.bits == to.bits) return Alias(inst, {One(v)});
    if (from.kind == K::kInt && to.kind == K::kMask && !avx2_) {
      Alias(inst, {MaskFromGpr(One(v))});
      return;
    }
    if (from.kind == K::kMask && to.kind == K::kInt && from.lanes >= 8) {
      return Alias(inst, {GprFromMask(One(v), from.lanes)});
    }
    if (from.kind == K::kScalarFloat && to.kind == K::kInt) {
      Add({.op = from.wide() ? op::kVmovqFromVec : op::kVmovdFromVec,
           .def = Slot::kRm,
           .reg = One(v),
           .rm = Result(inst)[0]});
      return;
    }
    if (from.kind == K::kInt && to.kind == K::kScalarFloat) {
      Add({.op = to.wide() ? op::kVmovqToVec : op::kVmovdToVec,
           .def = Slot::kReg,
           .reg = Result(inst)[0],
           .rm = One(v)});
      return;
    }
    Fail();
    return;
  }
  if (from.kind == K::kInt && to.kind == K::kInt) {
    if (opcode == Instruction::Trunc) {
      if (to.bits != 1) return Alias(inst, {One(v)});
      Add(WithImmediate(4, false, Result(inst)[0], One(v), 1));
      return;
    }
    if (opcode == Instruction::ZExt && (from.bits == 1 || (from.bits == 32 && IsZeroAbove(v))))
      return Alias(inst, {One(v)});
    if (opcode == Instruction::SExt && from.bits == 1) {
      Add({.op = op::Legacy(0, 0, 1, 0xf7), .digit = 3, .def = Slot::kRm, .rm = Result(inst)[0], .tied = One(v)});
      return;
    }
    if (opcode == Instruction::SExt && deferred_.contains(v)) {
      deferred_.erase(v);
      Inst m{.op = from.bits == 32   ? op::kMovsxd
                   : from.bits == 16 ? op::kMovsx16
                                     : op::kMovsx8,
             .def = Slot::kReg,
             .reg = Result(inst)[0]};
      SetMem(m, cast<llvm::LoadInst>(v)->getPointerOperand(), from.bytes());
      return void(Add(m));
    }
    return Extend(Result(inst)[0], One(v), from.bits, opcode == Instruction::SExt, true);
  }
  if (from.kind == K::kInt && to.kind == K::kScalarFloat) {
    if (opcode == Instruction::FPExt) {  // of a half
      const Reg half = New(RegClass::kVec);
      Add({.op = op::kVmovdToVec, .def = Slot::kReg, .reg = half, .rm = One(v)});
      if (to.wide()) {
        Fail();
        return;
      }
      return RmTo(Result(inst)[0], op::kFromHalf, 0, half, 8);
    }
    const bool is_signed = opcode == Instruction::SIToFP;
    if (from.bits == 1 && is_signed) {
      Fail();
      return;
    }
    if (!is_signed && avx2_ && from.bits == 64) return UnsignedToFloatAvx2(inst, to);
    if (!is_signed && avx2_ && from.bits == 32) {
      const Reg wide = New(RegClass::kGpr);
      Extend(wide, One(v), 32, false, true);
      Add({.op = op::Evex(1, to.wide() ? 3 : 2, 1, 0x2a),
           .mem_bytes = 8,
           .def = Slot::kReg,
           .reg = Result(inst)[0],
           .vvvv = SplatConstant(0, 4),
           .rm = wide});
      return;
    }
    if (!is_signed && from.bits >= 32) {
      // vcvtusi2ss, vcvtusi2sd
      const Reg number = One(v);
      Add({.op = op::Evex(1, to.wide() ? 3 : 2, from.bits == 64, 0x7b),
           .mem_bytes = static_cast<uint8_t>(from.bytes()),
           .def = Slot::kReg,
           .reg = Result(inst)[0],
           .vvvv = SplatConstant(0, 4),
           .rm = number});
      return;
    }
    const Reg x = from.bits == 1 ? One(v) : Widened(v, from.bits, is_signed);
    // The upper part of the register comes from a constant, so that nothing waits for what it held.
    Add({.op = op::Evex(1, to.wide() ? 3 : 2, from.bits == 64, 0x2a),
         .mem_bytes = static_cast<uint8_t>(from.bytes()),
         .def = Slot::kReg,
         .reg = Result(inst)[0],
         .vvvv = SplatConstant(0, 4),
         .rm = x});
    return;
  }
  if (from.kind == K::kScalarFloat && to.kind == K::kInt && opcode == Instruction::FPTrunc) {  // to 16 bits
    if (from.wide()) {
      Fail();
      return;
    }
    const Reg narrow = New(RegClass::kVec);
    NarrowFloats(narrow, One(v), 0, *inst.getType());
    Add({.op = op::kVmovdFromVec, .def = Slot::kRm, .reg = narrow, .rm = Result(inst)[0]});
    return;
  }
  if (from.kind == K::kVector && to.kind == K::kMask && opcode == Instruction::Trunc) return TruncateToMask(inst, from);
  if (from.kind == K::kScalarFloat && to.kind == K::kInt &&
      (opcode == Instruction::FPToSI || (opcode == Instruction::FPToUI && to.bits < 64)) && to.bits > 1) {
    Add({.op = op::Evex(1, from.wide() ? 3 : 2, 1, 0x2c),
         .mem_bytes = static_cast<uint8_t>(from.bytes()),
         .def = Slot::kReg,
         .reg = Result(inst)[0],
         .rm = One(v)});
    return;
  }
  if (from.kind == K::kScalarFloat && to.kind == K::kScalarFloat) {
    const Reg x = One(v);
    Add({.op = op::Evex(1, from.wide() ? 3 : 2, from.wide(), 0x5a),
         .mem_bytes = static_cast<uint8_t>(from.bytes()),
         .foldable = true,
         .def = Slot::kReg,
         .reg = Result(inst)[0],
         .vvvv = x,
         .rm = x});
    return;
  }
  if (to.kind == K::kVector && (from.kind == K::kVector || from.kind == K::kMask))
    return VisitVectorCast(inst, from, to);
  if (to.kind == K::kScalarFloat || from.kind == K::kScalarFloat || to.kind == K::kMask) Fail();
  Fail();
}

}  // namespace tenon::emit_llvm::x64
