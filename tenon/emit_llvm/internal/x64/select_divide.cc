// Division of integers, counting of bits.
#include <llvm/IR/Constants.h>
#include <llvm/Support/DivisionByConstantInfo.h>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::Instruction;
using llvm::Value;

namespace {

Inst ShiftRight(bool wide, Reg to, Reg from, unsigned by) {
  Inst m{.op = op::Legacy(0, 0, wide, 0xc1), .digit = 5, .imm_bytes = 1, .def = Slot::kRm, .rm = to, .tied = from};
  m.imm = by;
  return m;
}

}  // namespace

Reg Selector::Widened(const Value* v, unsigned bits, bool is_signed) {
  const Reg x = One(v);
  if (bits >= 32) return x;
  const Reg wide = New(RegClass::kGpr);
  Extend(wide, x, bits, is_signed, false);
  return wide;
}

Reg Selector::DivideByConstant(Reg x, const llvm::APInt& divisor) {
  // Multiplication by a reciprocal whose rounding no dividend can see (Granlund and Montgomery, PLDI 1994).
  const auto magic = llvm::UnsignedDivisionByConstantInfo::get(divisor);
  Reg q = x;
  const auto shift = [&](Reg from, unsigned by) {
    if (by == 0) return from;
    const Reg to = New(RegClass::kGpr);
    Add(ShiftRight(true, to, from, by));
    return to;
  };
  q = shift(q, magic.PreShift);
  const Reg high = New(RegClass::kGpr);
  const Reg factor = Immediate(static_cast<int64_t>(magic.Magic.getZExtValue()));
  Add({.kind = Kind::kMultiplyHigh, .def = Slot::kReg, .reg = high, .vvvv = q, .rm = factor});
  q = high;
  if (magic.IsAdd) {
    // (x - high) / 2 + high, which cannot overflow.
    const Reg rest = New(RegClass::kGpr);
    Add({.op = op::Legacy(0, 0, 1, 0x2b),
         .mem_bytes = 8,
         .foldable = true,
         .def = Slot::kReg,
         .reg = rest,
         .rm = high,
         .tied = x});
    const Reg half = shift(rest, 1);
    const Reg sum = New(RegClass::kGpr);
    Inst lea{.op = op::kLea, .has_mem = true, .def = Slot::kReg, .reg = sum};
    lea.mem.base = half;
    lea.mem.index = high;
    Add(lea);
    q = sum;
  }
  return shift(q, magic.PostShift);
}

void Selector::VisitDivide(const llvm::BinaryOperator& inst, const Shape& shape) {
  const unsigned opcode = inst.getOpcode();
  const bool remainder = opcode == Instruction::URem || opcode == Instruction::SRem;
  const bool is_signed = opcode == Instruction::SDiv || opcode == Instruction::SRem;
  const bool wide = shape.bits == 64;
  if (shape.bits == 1) {
    Fail();
    return;
  }
  const Reg to = Result(inst)[0];
  if (auto* divisor = Int(inst.getOperand(1)); divisor != nullptr && !is_signed) {
    const uint64_t d = divisor->getZExtValue();
    if (d == 0) {
      Fail();
      return;
    }
    const Reg x = Widened(inst.getOperand(0), shape.bits, false);
    const bool power = (d & (d - 1)) == 0;
    if (power && remainder && d <= (1u << 30)) {
      Inst m{.op = op::Legacy(0, 0, wide, 0x81), .digit = 4, .imm_bytes = 4, .def = Slot::kRm, .rm = to, .tied = x};
      m.imm = static_cast<int64_t>(d - 1);
      Add(m);
      return;
    }
    if (power && !remainder) {
      if (d == 1) return Copy(to, x);
      Add(ShiftRight(wide, to, x, static_cast<unsigned>(__builtin_ctzll(d))));
      return;
    }
    if (wide && !power) {
      const Reg q = DivideByConstant(x, divisor->getValue());
      if (!remainder) return Copy(to, q);
      const Reg product = New(RegClass::kGpr);
      const Reg factor = Immediate(static_cast<int64_t>(d));
      Add({.op = op::Legacy(1, 0, 1, 0xaf),
           .mem_bytes = 8,
           .foldable = true,
           .def = Slot::kReg,
           .reg = product,
           .rm = factor,
           .tied = q});
      Add({.op = op::Legacy(0, 0, 1, 0x2b),
           .mem_bytes = 8,
           .foldable = true,
           .def = Slot::kReg,
           .reg = to,
           .rm = product,
           .tied = x});
      return;
    }
  }
  const Reg x = Widened(inst.getOperand(0), shape.bits, is_signed);
  const Reg y = Widened(inst.getOperand(1), shape.bits, is_signed);
  Inst m{.kind = Kind::kDivide, .op = op::Legacy(0, 0, wide, 0), .def = Slot::kReg, .reg = to, .vvvv = x, .rm = y};
  m.imm = remainder;
  m.cc = is_signed;
  Add(m);
}

void Selector::CountBits(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getType());
  const bool wide = s.bits == 64;
  const auto unary = [&](uint8_t opcode, Reg to, Reg from) {
    Add({.op = op::Legacy(1, 2, wide, opcode),
         .mem_bytes = 8,
         .foldable = true,
         .def = Slot::kReg,
         .reg = to,
         .rm = from});
  };
  const Reg to = Result(call)[0];
  const Reg x = Widened(call.getArgOperand(0), s.bits, false);
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::ctpop:
      return unary(0xb8, to, x);
    case llvm::Intrinsic::ctlz: {
      if (s.bits >= 32) return unary(0xbd, to, x);
      const Reg zeros = New(RegClass::kGpr);
      unary(0xbd, zeros, x);
      Inst lea{.op = op::Legacy(0, 0, 0, 0x8d), .has_mem = true, .def = Slot::kReg, .reg = to};
      lea.mem.base = zeros;
      lea.mem.disp = -static_cast<int32_t>(32 - s.bits);
      Add(lea);
      return;
    }
    default: {  // cttz
      if (s.bits >= 32) return unary(0xbc, to, x);
      // A bit behind the last one ends the count.
      const Reg ended = New(RegClass::kGpr);
      Inst m{.op = op::Legacy(0, 0, 0, 0x81), .digit = 1, .imm_bytes = 4, .def = Slot::kRm, .rm = ended, .tied = x};
      m.imm = int64_t{1} << s.bits;
      Add(m);
      return unary(0xbc, to, ended);
    }
  }
}

}  // namespace tenon::emit_llvm::x64
