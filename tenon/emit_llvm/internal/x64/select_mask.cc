// Masks. With AVX-512 a mask has its own kind of register, a bit per lane. With AVX2 it is a vector whose lanes are all
// ones or all zeros: of n lanes, 256 / n bits each (64 at most), so that what is compared and selected in whole
// registers needs no conversion; Narrow and Widen make others of it.
#include <llvm/IR/Constants.h>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::Instruction;
using llvm::isa;
using llvm::Value;

unsigned Selector::MaskBits(unsigned lanes) {
  if (lanes != 2 && lanes != 4 && lanes != 8 && lanes != 16 && lanes != 32) Fail();
  return std::min(64u, 256 / std::max(1u, lanes));
}

Selector::Shape Selector::MaskShape(unsigned lanes) {
  Shape s;
  s.kind = Shape::Kind::kVector;
  s.lanes = lanes;
  s.bits = MaskBits(lanes);
  s.len = lanes * s.bits > 128 ? 1 : 0;
  return s;
}

Reg Selector::MaskOp(Op k, uint8_t vector, Reg a, Reg b) {
  const Reg to = NewMask();
  if (avx2_) {
    Add({.op = op::Evex(1, 1, 0, vector),
         .len = 1,
         .mem_bytes = 32,
         .foldable = true,
         .def = Slot::kReg,
         .reg = to,
         .vvvv = a,
         .rm = b});
  } else {
    Add({.op = k, .len = 1, .def = Slot::kReg, .reg = to, .vvvv = a, .rm = b});
  }
  return to;
}
Reg Selector::MaskAnd(Reg a, Reg b) { return MaskOp(op::kMaskAnd, 0xdb, a, b); }
Reg Selector::MaskOr(Reg a, Reg b) { return MaskOp(op::kMaskOr, 0xeb, a, b); }
Reg Selector::MaskXor(Reg a, Reg b) { return MaskOp(op::kMaskXor, 0xef, a, b); }
Reg Selector::MaskAndNot(Reg a, Reg b) { return MaskOp(op::kMaskAndNot, 0xdf, a, b); }
Reg Selector::MaskNot(Reg a) {
  if (avx2_) return MaskXor(a, SplatConstant(~uint64_t{0}, 8));
  const Reg to = NewMask();
  Add({.op = op::kMaskNot, .def = Slot::kReg, .reg = to, .rm = a});
  return to;
}

Reg Selector::MaskEqual(Reg a, Reg b) { return MaskOp(op::kMaskEqual, 0x74, a, b); }

Reg Selector::MaskFromGpr(Reg gpr) {
  const Reg to = NewMask();
  Add({.op = op::kMaskFromGpr, .def = Slot::kReg, .reg = to, .rm = gpr});
  return to;
}

// Each lane looks at its own bit of all of them.
Reg Selector::MaskFromBits(Reg gpr, unsigned lanes) {
  const Shape s = MaskShape(lanes);
  const Reg low = New(RegClass::kVec), all = New(RegClass::kVec);
  Add({.op = op::kVmovdToVec, .def = Slot::kReg, .reg = low, .rm = gpr});
  RmTo(all, op::Evex(2, 1, 0, s.bits == 16 ? 0x79 : 0x58), 1, low, s.bytes());
  std::string bytes;
  for (unsigned i = 0; i < lanes; ++i) {
    const uint32_t one = uint32_t{1} << i;
    bytes.append(reinterpret_cast<const char*>(&one), s.bytes());
  }
  const Reg own = ConstantReg(bytes, static_cast<unsigned>(bytes.size()), 1);
  const Reg to = NewMask();
  RvmTo(to, EqualOp(s.bits), s, Rvm(op::Evex(1, 1, 0, 0xdb), s, all, own), own);
  return to;
}

Reg Selector::MaskFromCondition(Reg condition) {
  const Reg all = New(RegClass::kGpr);
  Add({.op = op::Legacy(0, 0, 1, 0xf7), .digit = 3, .def = Slot::kRm, .rm = all, .tied = condition});
  if (!avx2_) return MaskFromGpr(all);
  const Reg low = New(RegClass::kVec);
  Add({.op = op::kVmovqToVec, .def = Slot::kReg, .reg = low, .rm = all});
  const Reg to = NewMask();
  RmTo(to, op::Evex(2, 1, 1, 0x59), 1, low, 8);
  return to;
}

Reg Selector::GprFromMask(Reg mask, unsigned lanes) {
  const Reg to = New(RegClass::kGpr);
  if (avx2_) {
    if (lanes == 16) mask = Narrow({mask}, 16, 16, 8, true)[0];
    const Op o = lanes >= 16 ? op::Vex(1, 1, 0, 0xd7) : op::Vex(1, lanes == 8 ? 0 : 1, 0, 0x50);
    Add({.op = o,
         .len = static_cast<uint8_t>(lanes == 16 || lanes == 2 ? 0 : 1),
         .def = Slot::kReg,
         .reg = to,
         .rm = mask});
    return to;
  }
  const Op move = lanes <= 8    ? op::kGprFromMask8
                  : lanes == 16 ? op::kGprFromMask16
                  : lanes == 32 ? op::kGprFromMask32
                                : op::kGprFromMask64;
  Add({.op = move, .def = Slot::kReg, .reg = to, .rm = mask});
  return to;
}

void Selector::TestMask(Reg mask, unsigned lanes) {
  if (avx2_) {
    Add({.op = op::Vex(2, 1, 0, 0x17), .len = static_cast<uint8_t>(lanes == 2 ? 0 : 1), .reg = mask, .rm = mask});
  } else {
    Add({.op = op::MaskTest(lanes), .reg = mask, .rm = mask});
  }
}

void Selector::TestAny(const Value* value) {
  const Reg mask = One(value);
  const unsigned lanes = ShapeOf(value->getType()).lanes;
  // What stands above fewer lanes than a byte's is anything.
  TestMask(!avx2_ && lanes < 8 ? OnlyLanes(mask, lanes) : mask, lanes);
}

void Selector::ExtractFromMask(const llvm::ExtractElementInst& extract, unsigned lanes) {
  const auto lane = static_cast<int64_t>(Int(extract.getIndexOperand())->getZExtValue());
  Reg bits = GprFromMask(One(extract.getVectorOperand()), lanes);
  if (lane != 0) {
    const Reg moved = New(RegClass::kGpr);
    Inst m{.op = op::Legacy(0, 0, 1, 0xc1), .digit = 5, .imm_bytes = 1, .def = Slot::kRm, .rm = moved, .tied = bits};
    m.imm = lane;
    bits = Add(m).rm;
  }
  Inst m{.op = op::Legacy(0, 0, 0, 0x83), .digit = 4, .imm_bytes = 1, .def = Slot::kRm, .tied = bits};
  m.rm = Result(extract)[0];
  m.imm = 1;
  Add(m);
}

Reg Selector::MaskOfPart(Reg mask, unsigned part, const Shape& s) {
  if (auto it = joined_.find(mask);
      it != joined_.end() && it->second.parts.size() == s.parts && it->second.bits == s.bits) {
    return it->second.parts[part];
  }
  if (avx2_) {
    const unsigned bits = MaskBits(s.lanes);
    if (s.bits < bits) return Narrow({mask}, s.lanes, bits, s.bits, true)[0];
    if (s.bits == bits) return mask;
    const Reg to = New(RegClass::kVec);
    WidenTo(to, {mask}, bits, s, part, true);
    return to;
  }
  if (part == 0) return mask;
  const Reg to = NewMask();
  Inst m{.op = op::kMaskShiftRight64, .imm_bytes = 1, .def = Slot::kReg, .reg = to, .rm = mask};
  m.imm = s.part_lanes() * part;
  Add(m);
  return to;
}

Reg Selector::JoinMasks(const Parts& parts, const Shape& s) {
  const Reg all = JoinedMask(parts, s);
  if (parts.size() > 1 && parts.size() == s.parts) joined_[all] = {s.bits, parts};
  return all;
}

Reg Selector::JoinedMask(const Parts& parts, const Shape& s) {
  if (avx2_) {
    const unsigned bits = MaskBits(s.lanes);
    if (s.bits > bits) return Narrow(parts, s.lanes, s.bits, bits, true)[0];
    if (s.bits == bits) return parts[0];
    const Reg to = New(RegClass::kVec);
    WidenTo(to, parts, s.bits, MaskShape(s.lanes), 0, true);
    return to;
  }
  if (parts.size() == 1) return parts[0];
  if (s.lanes == 16 && parts.size() == 2) {
    const Reg to = NewMask();
    Add({.op = op::kMaskUnpack8, .len = 1, .def = Slot::kReg, .reg = to, .vvvv = parts[1], .rm = parts[0]});
    return to;
  }
  Reg all = parts[0];
  for (unsigned part = 1; part < parts.size(); ++part) {
    const Reg moved = NewMask();
    Inst m{.op = op::kMaskShiftLeft64, .imm_bytes = 1, .def = Slot::kReg, .reg = moved, .rm = parts[part]};
    m.imm = s.part_lanes() * part;
    Add(m);
    all = MaskOr(all, moved);
  }
  return all;
}

Reg Selector::OnlyLanes(Reg mask, unsigned lanes) { return MaskAnd(mask, MaskConstant((uint64_t{1} << lanes) - 1)); }

void Selector::ZeroUnless(Reg to, const Shape& s, Reg mask, Reg x) {
  if (avx2_) return RvmTo(to, op::Evex(1, 1, 0, 0xdb), s, mask, x);
  const Op move = s.bits >= 32 ? op::Evex(1, 1, s.wide(), 0x6f) : op::LoadVector(s.bytes());
  Add({.op = move,
       .len = s.len,
       .mem_bytes = s.part_bytes(),
       .zeroing = true,
       .def = Slot::kReg,
       .reg = to,
       .rm = x,
       .mask = mask});
}

void Selector::Blend(Reg to, const Shape& s, Reg mask, Reg yes, Reg no) {
  Inst m{.len = s.scalar() ? uint8_t{0} : s.len,
         .mem_bytes = static_cast<uint8_t>(16u << s.len),
         .element = static_cast<uint8_t>(s.bits >= 32 ? s.bytes() : 0),
         .foldable = !s.scalar(),
         .def = Slot::kReg,
         .reg = to,
         .vvvv = no,
         .rm = yes,
         .mask = mask};
  if (avx2_) {
    m.op = op::Vex(3, 1, 0, !s.is_float ? 0x4c : s.wide() ? 0x4b : 0x4a);
    m.mask_in_immediate = true;
    m.imm_bytes = 1;
  } else {
    m.op = s.bits >= 32 ? op::Evex(2, 1, s.bits == 64, s.is_float ? 0x65 : 0x64) : op::Evex(2, 1, s.bits == 16, 0x66);
  }
  Add(m);
}

void Selector::SelectMask(Reg to, Reg mask, Reg yes, Reg no) {
  const Reg either = MaskOr(MaskAnd(mask, yes), MaskAndNot(mask, no));
  Copy(to, either);
}

void Selector::VisitMaskBinary(const llvm::BinaryOperator& inst) {
  const Value* a = inst.getOperand(0);
  const Value* b = inst.getOperand(1);
  if (isa<llvm::Constant>(a)) std::swap(a, b);
  const Reg x = One(a);
  const auto* constant = llvm::dyn_cast<llvm::Constant>(b);
  if (inst.getOpcode() == Instruction::Xor && constant != nullptr && constant->isAllOnesValue())
    return Alias(inst, {MaskNot(x)});
  const Reg y = One(b);
  switch (inst.getOpcode()) {
    case Instruction::And:
      return Alias(inst, {MaskAnd(x, y)});
    case Instruction::Or:
      return Alias(inst, {MaskOr(x, y)});
    case Instruction::Xor:
      return Alias(inst, {MaskXor(x, y)});
    default:
      Fail();
  }
}

void Selector::VisitMaskCompare(const llvm::ICmpInst& cmp) {
  using P = llvm::CmpInst::Predicate;
  P p = cmp.getPredicate();
  Reg x = One(cmp.getOperand(0));
  Reg y = One(cmp.getOperand(1));
  // As a signed number of one bit, true is the lesser one.
  if (cmp.isSigned()) {
    std::swap(x, y);
    p = llvm::ICmpInst::getUnsignedPredicate(p);
  }
  switch (p) {
    case P::ICMP_EQ:
      return Alias(cmp, {MaskEqual(x, y)});
    case P::ICMP_NE:
      return Alias(cmp, {MaskXor(x, y)});
    case P::ICMP_ULT:
      return Alias(cmp, {MaskAndNot(x, y)});
    case P::ICMP_UGT:
      return Alias(cmp, {MaskAndNot(y, x)});
    case P::ICMP_ULE:
      return Alias(cmp, {MaskOr(MaskNot(x), y)});
    default:  // UGE
      return Alias(cmp, {MaskOr(x, MaskNot(y))});
  }
}

void Selector::TruncateToMask(const llvm::CastInst& inst, const Shape& from) {
  const Parts x = Get(inst.getOperand(0));
  Parts masks;
  uint64_t one = 1;
  for (unsigned b = from.bits; b < 32; b *= 2) one |= one << b;
  const Reg ones = SplatConstant(one, std::max(4u, from.bytes()));
  const Op test = from.bits >= 32 ? op::Evex(2, 1, from.wide(), 0x27) : op::Evex(2, 1, from.bits == 16, 0x26);
  for (unsigned part = 0; part < from.parts; ++part) {
    masks.push_back(NewMask());
    if (avx2_) {
      RvmTo(masks.back(), EqualOp(from.bits), from, Rvm(op::Evex(1, 1, 0, 0xdb), from, x[part], ones), ones);
    } else {
      RvmTo(masks.back(), test, from, x[part], ones);
    }
  }
  Alias(inst, {JoinMasks(masks, from)});
}

void Selector::ShuffleMask(const llvm::ShuffleVectorInst& shuffle, unsigned from_lanes) {
  const llvm::ArrayRef<int> mask = shuffle.getShuffleMask();
  const auto lanes = static_cast<unsigned>(mask.size());
  bool run = true;
  for (size_t i = 1; i < mask.size(); ++i) run &= mask[i] == mask[0] + static_cast<int>(i);
  const bool upper = mask[0] == static_cast<int>(lanes);
  if (run && lanes * 2 == from_lanes && (mask[0] == 0 || upper)) {
    const Reg whole = One(shuffle.getOperand(0));
    if (avx2_) {
      Shape half = MaskShape(from_lanes);
      half.lanes = lanes;
      half.len = 0;
      return Alias(shuffle, {JoinMasks({upper ? Half(whole, 1) : whole}, half)});
    }
    Shape half;
    half.lanes = from_lanes;
    half.parts = 2;
    return Alias(shuffle, {upper ? MaskOfPart(whole, 1, half) : whole});
  }
  if (!avx2_ || lanes != from_lanes) {
    Fail();
    return;
  }
  const Shape s = MaskShape(lanes);
  const Reg a = One(shuffle.getOperand(0));
  const Reg b = isa<llvm::UndefValue>(shuffle.getOperand(1)) ? a : One(shuffle.getOperand(1));
  if (!Unpack(Result(shuffle)[0], mask, s, a, b)) TwoSourceShuffleAvx2(Result(shuffle)[0], mask, s, a, b);
}

}  // namespace tenon::emit_llvm::x64
