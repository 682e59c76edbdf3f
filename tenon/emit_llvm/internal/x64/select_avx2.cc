// What AVX2 does in several instructions that AVX-512 does in one: lanes of other widths, 64-bit integers, comparisons
// of unsigned numbers.
#include <llvm/IR/Constants.h>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::Instruction;
using llvm::Value;

Selector::Shape Selector::IntShape(unsigned bits, unsigned lanes) const {
  Shape s;
  s.kind = Shape::Kind::kVector;
  s.bits = bits;
  s.lanes = lanes;
  const unsigned total = lanes * bits;
  s.parts = std::max(1u, total / MaxBits());
  s.len = total >= MaxBits() ? (avx2_ ? 1 : 2) : total > 128 ? 1 : 0;
  return s;
}

void Selector::PermuteBlocksTo(Reg to, Reg x, int imm) { RmTo(to, op::Evex(3, 1, 1, 0x00), 1, x, 32, imm); }  // vpermq
Reg Selector::PermuteBlocks(Reg x, int imm) {
  const Reg to = New(RegClass::kVec);
  PermuteBlocksTo(to, x, imm);
  return to;
}

Selector::Parts Selector::Narrow(Parts x, unsigned lanes, unsigned from, unsigned to, bool is_mask, bool fits) {
  for (unsigned bits = from; bits > to; bits /= 2) {
    // Numbers lose their upper half first, so that no instruction sees too large a one; masks keep their sign.
    if (!is_mask && !fits && bits < 64) {
      const uint64_t low = bits == 32 ? 0x0000ffff0000ffffu : 0x00ff00ff00ff00ffu;
      const Shape whole = IntShape(bits, lanes);
      for (Reg& r : x) r = Rvm(op::Evex(1, 1, 0, 0xdb), whole, r, SplatConstant(low, 8));
    }
    const auto pack = [&](uint8_t len, Reg a, Reg b) {
      const Reg packed = New(RegClass::kVec);
      Inst m{.op = op::Evex(1, 1, 0,
                            bits == 32 ? 0x6b
                            : is_mask  ? 0x63
                                       : 0x67),
             .len = len,
             .def = Slot::kReg,
             .reg = packed,
             .vvvv = a,
             .rm = b};
      if (bits == 32 && !is_mask) m.op = op::Evex(2, 1, 0, 0x2b);
      if (bits == 64) {
        m.op = op::Evex(1, 0, 0, 0xc6);  // vshufps: the lower halves
        m.imm_bytes = 1;
        m.imm = 0x88;
      }
      Add(m);
      return packed;
    };
    if (x.size() > 1) {
      Parts joined;
      for (size_t i = 0; i + 1 < x.size(); i += 2) joined.push_back(PermuteBlocks(pack(1, x[i], x[i + 1]), 0xd8));
      x = joined;
    } else if (lanes * bits > 128) {
      x = {pack(0, x[0], Half(x[0], 1))};
    } else {
      x = {pack(0, x[0], x[0])};
    }
  }
  // Lanes that a masked access could take for its own are off.
  if (is_mask && lanes * to < 128) {
    const Reg clean = New(RegClass::kVec);
    if (lanes * to == 64) {
      RmTo(clean, op::Evex(1, 2, 1, 0x7e), 0, x[0], 8);  // vmovq
      x = {clean};
    }
  }
  return x;
}

Reg Selector::BytesFrom(const Parts& x, unsigned at) {
  Reg r = x[at / 32];
  if (at % 32 >= 16) r = Half(r, 1);
  if (at % 16 != 0) {
    const Reg moved = New(RegClass::kVec);
    Inst m{.op = op::Evex(1, 1, 0, 0x73),
           .digit = 3,
           .imm_bytes = 1,
           .mem_bytes = 16,
           .def = Slot::kVvvv,
           .vvvv = moved,
           .rm = r};
    m.imm = at % 16;
    Add(m);
    r = moved;
  }
  return r;
}

void Selector::WidenTo(Reg to, const Parts& x, unsigned from, const Shape& s, unsigned part, bool is_signed) {
  const Reg source = BytesFrom(x, part * s.part_lanes() * from / 8);
  RmTo(to, WidenOp(from, s.bits, is_signed), s.len, source, s.part_bytes() * from / s.bits);
}

namespace {
/// Whether what is cut to `bits` has no others.
bool UpperBitsAreZero(const llvm::CastInst& inst, unsigned bits) {
  auto* shift = llvm::dyn_cast<llvm::BinaryOperator>(inst.getOperand(0));
  if (shift == nullptr || shift->getOpcode() != Instruction::LShr) return false;
  auto* constant = llvm::dyn_cast<llvm::Constant>(shift->getOperand(1));
  auto* by = constant == nullptr ? nullptr : llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue());
  return by != nullptr && by->getZExtValue() + bits >= shift->getType()->getScalarSizeInBits();
}
}  // namespace

bool Selector::VisitCastAvx2(const llvm::CastInst& inst, const Shape& from, const Shape& to) {
  const Parts x = Get(inst.getOperand(0));
  const auto each = [&](auto f) {
    for (unsigned part = 0; part < to.parts; ++part) f(Result(inst)[part], part);
    return true;
  };
  /// Part of the operand that a converted part comes from, when that one has twice the bits.
  const auto half_of = [&](unsigned part) { return BytesFrom(x, part * to.part_lanes() * from.bytes()); };
  switch (inst.getOpcode()) {
    case Instruction::ZExt:
    case Instruction::SExt:
      return each(
          [&](Reg r, unsigned part) { WidenTo(r, x, from.bits, to, part, inst.getOpcode() == Instruction::SExt); });
    case Instruction::Trunc: {
      const Parts narrow = Narrow(x, to.lanes, from.bits, to.bits, false, UpperBitsAreZero(inst, to.bits));
      Alias(inst, narrow);
      return true;
    }
    case Instruction::SIToFP:
    case Instruction::UIToFP: {
      const bool is_unsigned = inst.getOpcode() == Instruction::UIToFP;
      if (from.bits == 64) return false;
      const Shape ints = IntShape(32, from.lanes);
      Parts wide = x;
      if (from.bits < 32) {
        wide.clear();
        for (unsigned part = 0; part < ints.parts; ++part) {
          wide.push_back(New(RegClass::kVec));
          WidenTo(wide.back(), x, from.bits, ints, part, !is_unsigned);
        }
      }
      const bool converts = !is_unsigned || from.bits < 32;
      if (!to.wide()) {
        return each([&](Reg r, unsigned part) {
          if (converts) return RmTo(r, op::Evex(1, 0, 0, 0x5b), to.len, wide[part], to.part_bytes());
          // Both halves of 16 bits, each in the fraction of a number of its own magnitude.
          const Reg low = Rvm(op::Evex(1, 1, 0, 0xdb), ints, wide[part], SplatConstant(0xffff, 4));
          const Reg low_number = Rvm(op::Evex(1, 1, 0, 0xeb), ints, low, SplatConstant(0x4b000000, 4));
          const Reg high = New(RegClass::kVec);
          ShiftImmediate(high, ints, Instruction::LShr, wide[part], 16);
          const Reg high_number = Rvm(op::Evex(1, 1, 0, 0xeb), ints, high, SplatConstant(0x53000000, 4));
          const Reg rest = Rvm(op::Float(op::kFSub, false, false), to, high_number, SplatConstant(0x53000080, 4));
          RvmTo(r, op::Float(op::kFAdd, false, false), to, rest, low_number);
        });
      }
      const Shape longs = IntShape(64, to.lanes);
      return each([&](Reg r, unsigned part) {
        if (converts)
          return RmTo(r, op::Evex(1, 2, 0, 0xe6), to.len, BytesFrom(wide, part * to.part_lanes() * 4),
                      to.part_bytes() / 2u);
        const Reg number = New(RegClass::kVec);
        WidenTo(number, wide, 32, longs, part, false);
        const Reg biased = Rvm(op::Evex(1, 1, 0, 0xeb), longs, number, SplatConstant(0x4330000000000000u, 8));
        RvmTo(r, op::Float(op::kFSub, false, true), to, biased, SplatConstant(0x4330000000000000u, 8));
      });
    }
    case Instruction::FPExt:
      if (from.bits == 32)
        return each([&](Reg r, unsigned part) {
          RmTo(r, op::Evex(1, 0, 0, 0x5a), to.len, half_of(part), to.part_bytes() / 2u);
        });
      if (to.bits != 32) return false;
      return each([&](Reg r, unsigned part) { RmTo(r, op::kFromHalf, to.len, half_of(part), to.part_bytes() / 2u); });
    case Instruction::FPTrunc:
    case Instruction::FPToSI: {
      Parts made;
      const bool to_half = to.bits == 16;
      if (from.bits == 32 && to.bits == 32)
        return each([&](Reg r, unsigned part) { RmTo(r, op::Evex(1, 2, 0, 0x5b), to.len, x[part], to.part_bytes()); });
      if (from.bits != (to_half ? 32u : 64u) || (to_half && inst.getOpcode() == Instruction::FPToSI) || to.bits < 16 ||
          to.bits == 64)
        return false;
      for (const Reg r : x) {
        made.push_back(New(RegClass::kVec));
        if (to_half) {
          NarrowFloats(made.back(), r, from.len, *inst.getType());
        } else {
          RmTo(made.back(), op::Evex(1, 1, 1, inst.getOpcode() == Instruction::FPToSI ? 0xe6 : 0x5a), from.len, r,
               from.part_bytes());
        }
      }
      if (made.size() == 1) {
        Alias(inst, made);
        return true;
      }
      return each([&](Reg r, unsigned part) { JoinHalves(r, 1, made[2 * part], made[2 * part + 1]); });
    }
    default:
      return false;
  }
}

Op Selector::EqualOp(unsigned bits) {
  return bits == 64 ? op::Vex(2, 1, 0, 0x29)
                    : op::Vex(1, 1, 0,
                              static_cast<uint8_t>(bits == 32   ? 0x76
                                                   : bits == 16 ? 0x75
                                                                : 0x74));
}

Reg Selector::GreaterAvx2(const Shape& s, Reg x, Reg y) {
  return Rvm(s.bits == 64 ? op::Vex(2, 1, 0, 0x37)
                          : op::Vex(1, 1, 0,
                                    static_cast<uint8_t>(s.bits == 32   ? 0x66
                                                         : s.bits == 16 ? 0x65
                                                                        : 0x64)),
             s, x, y);
}

Reg Selector::CompareIntsAvx2(llvm::CmpInst::Predicate p, const Shape& s, Reg x, Reg y) {
  using P = llvm::CmpInst::Predicate;
  if (p == P::ICMP_EQ || p == P::ICMP_NE) {
    const Reg equal = Rvm(EqualOp(s.bits), s, x, y);
    return p == P::ICMP_EQ ? equal : MaskNot(equal);
  }
  if (llvm::CmpInst::isUnsigned(p)) {
    // With the upper bits turned round the order is that of signed numbers.
    uint64_t sign = uint64_t{1} << (s.bits - 1);
    for (unsigned b = s.bits; b < 64; b *= 2) sign |= sign << b;
    const Reg turn = SplatConstant(sign, 8);
    x = Rvm(op::Evex(1, 1, 0, 0xef), s, x, turn);
    y = Rvm(op::Evex(1, 1, 0, 0xef), s, y, turn);
    p = llvm::ICmpInst::getSignedPredicate(p);
  }
  switch (p) {
    case P::ICMP_SGT:
      return GreaterAvx2(s, x, y);
    case P::ICMP_SLT:
      return GreaterAvx2(s, y, x);
    case P::ICMP_SLE:
      return MaskNot(GreaterAvx2(s, x, y));
    default:
      return MaskNot(GreaterAvx2(s, y, x));
  }
}

void Selector::MultiplyLongs(Reg to, const Shape& s, Reg x, Reg y, bool y_is_narrow) {
  const Op multiply = op::Evex(1, 1, 1, 0xf4);
  const auto upper = [&](Reg r) {
    const Reg high = New(RegClass::kVec);
    ShiftImmediate(high, s, Instruction::LShr, r, 32);
    return high;
  };
  const Op add = op::Evex(1, 1, 1, 0xd4);
  Reg cross = Rvm(multiply, s, upper(x), y);
  if (!y_is_narrow) cross = Rvm(add, s, cross, Rvm(multiply, s, x, upper(y)));
  const Reg moved = New(RegClass::kVec);
  ShiftImmediate(moved, s, Instruction::Shl, cross, 32);
  RvmTo(to, add, s, Rvm(multiply, s, x, y), moved);
}

void Selector::UnsignedToFloatAvx2(const llvm::CastInst& inst, const Shape& to) {
  // What has the upper bit is halved, with its last bit kept for the rounding, converted and doubled.
  const Reg x = One(inst.getOperand(0));
  const auto shifted = [&](uint8_t digit, int by) {
    const Reg r = New(RegClass::kGpr);
    Inst m{.op = op::Legacy(0, 0, 1, 0xc1), .digit = digit, .imm_bytes = 1, .def = Slot::kRm, .rm = r, .tied = x};
    m.imm = by;
    Add(m);
    return r;
  };
  const Reg half = shifted(5, 1);
  const Reg last = New(RegClass::kGpr);
  Inst m{.op = op::Legacy(0, 0, 0, 0x83), .digit = 4, .imm_bytes = 1, .def = Slot::kRm, .rm = last, .tied = x};
  m.imm = 1;
  Add(m);
  const Reg odd = New(RegClass::kGpr);
  Add({.op = op::Legacy(0, 0, 1, 0x0b),
       .mem_bytes = 8,
       .foldable = true,
       .def = Slot::kReg,
       .reg = odd,
       .rm = last,
       .tied = half});
  const auto converted = [&](Reg r) {
    const Reg f = New(RegClass::kVec);
    Add({.op = op::Evex(1, to.wide() ? 3 : 2, 1, 0x2a),
         .mem_bytes = 8,
         .def = Slot::kReg,
         .reg = f,
         .vvvv = SplatConstant(0, 4),
         .rm = r});
    return f;
  };
  const Reg small = converted(x);
  const Reg part = converted(odd);
  const Reg large = Rvm(op::Float(op::kFAdd, true, to.wide()), to, part, part);
  const Reg sign = New(RegClass::kVec);
  Add({.op = op::kVmovqToVec, .def = Slot::kReg, .reg = sign, .rm = shifted(7, 63)});
  Blend(Result(inst)[0], to, sign, large, small);
}

void Selector::FlipAndSubtract(Reg to, const Shape& s, Reg m, Reg x) {
  RvmTo(to, op::Evex(1, 1, 1, 0xfb), s, Rvm(op::Evex(1, 1, 1, 0xef), s, x, m), m);
}

void Selector::ExtremeLongs(Reg to, const Shape& s, llvm::CmpInst::Predicate first, Reg x, Reg y) {
  Blend(to, s, CompareIntsAvx2(first, s, x, y), x, y);
}

void Selector::FloatMinMaxAvx2(Reg to, const Shape& s, Reg a, Reg b, bool max) {
  // The machine's operation gives its second operand for two zeros and for NaN. Both orders differ in the signs of
  // zeros only, which are put together; the sum replaces what has a NaN.
  Shape bits = s;
  if (s.scalar()) {
    bits.kind = Shape::Kind::kVector;
    bits.len = 0;
  }
  const Op o = op::Float(max ? 0x5f : 0x5d, s.scalar(), s.wide());
  const Reg one = Rvm(o, s, a, b);
  const Reg other = Rvm(o, s, b, a);
  const Reg both = Rvm(op::Evex(1, 1, 0, max ? 0xdb : 0xeb), bits, one, other);
  const Reg nan = Rvm(op::Float(op::kFCompare, s.scalar(), s.wide()), s, a, b, 3);
  Blend(to, s, nan, Rvm(op::Float(op::kFAdd, s.scalar(), s.wide()), s, a, b), both);
}

}  // namespace tenon::emit_llvm::x64
