// Vectors, masks, scalar floating point, constants.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstring>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::cast;
using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

// --- constants

int32_t Selector::InPool(const std::string& bytes) {
  f_.pool.resize((f_.pool.size() + bytes.size() - 1) / bytes.size() * bytes.size());
  const auto at = static_cast<int32_t>(f_.pool.size());
  f_.pool.insert(f_.pool.end(), bytes.begin(), bytes.end());
  return at;
}

Reg Selector::ConstantReg(std::string bytes, unsigned element, uint8_t len) {
  if (avx2_ && element <= 8) {  // whole registers, so that instructions can read them from memory
    while (bytes.size() < 32) bytes += bytes;
    element = 32;
    len = 1;
  }
  auto [it, fresh] = constants_.try_emplace({bytes, element <= 8 ? uint8_t{3} : len}, 0);
  if (!fresh) return it->second;
  const int32_t at = InPool(bytes);
  it->second = New(RegClass::kVec);
  constant_regs_.insert(it->second);
  f_.constants.push_back({it->second, at, static_cast<uint8_t>(element <= 8 ? 2 : len), static_cast<uint8_t>(element)});
  return it->second;
}

Reg Selector::MaskConstant(uint64_t mask) {
  auto [it, fresh] = mask_constants_.try_emplace(mask, 0);
  if (!fresh) return it->second;
  it->second = New(RegClass::kMask);
  f_.constants.push_back({it->second, InPool(std::string(reinterpret_cast<const char*>(&mask), 8)), 0, 8});
  return it->second;
}

Reg Selector::SplatConstant(uint64_t bits, unsigned element) {
  return ConstantReg(std::string(reinterpret_cast<const char*>(&bits), element), element, 2);
}

namespace {

/// The value's bits, zero for undefined ones. False for what is no number.
bool BitsOf(const llvm::Constant* c, uint64_t* bits) {
  *bits = 0;
  if (auto* i = dyn_cast_or_null<llvm::ConstantInt>(c); i != nullptr && i->getBitWidth() <= 64) {
    *bits = i->getZExtValue();
    return true;
  }
  if (auto* f = dyn_cast_or_null<llvm::ConstantFP>(c)) {
    *bits = f->getValueAPF().bitcastToAPInt().getZExtValue();
    return true;
  }
  return c != nullptr && (isa<llvm::UndefValue>(c) || isa<llvm::ConstantPointerNull>(c));
}

}  // namespace

Selector::Parts Selector::ConstantParts(const llvm::Constant& constant) {
  const Shape s = ShapeOf(constant.getType());
  if (failed_) return {0};
  if (s.kind == Shape::Kind::kInt) {
    uint64_t bits = 0;
    if (!BitsOf(&constant, &bits)) Fail();
    // Narrow ones are kept as their bits, without sign.
    return {Immediate(s.bits == 32 ? static_cast<int64_t>(static_cast<uint32_t>(bits)) : static_cast<int64_t>(bits))};
  }
  // Asked for once for each use, and long to read lane by lane.
  if (const auto known = constant_parts_.find(&constant); known != constant_parts_.end()) return known->second;
  Parts parts = LaneConstantParts(constant, s);
  if (!failed_) constant_parts_.try_emplace(&constant, parts);
  return parts;
}

Selector::Parts Selector::LaneConstantParts(const llvm::Constant& constant, const Shape& s) {
  uint64_t bits = 0;
  if (s.kind == Shape::Kind::kScalarFloat) {
    if (!BitsOf(&constant, &bits)) Fail();
    return {SplatConstant(bits, s.bytes())};
  }
  std::string bytes;
  uint64_t mask = 0;
  bool splat = true;
  uint64_t first = 0;
  const llvm::Constant* const alike = constant.getSplatValue();
  for (unsigned i = 0; i < s.lanes; ++i) {
    if ((i == 0 || alike == nullptr) && !BitsOf(alike != nullptr ? alike : constant.getAggregateElement(i), &bits)) {
      Fail();
      return {0};
    }
    if (i == 0) first = bits;
    splat &= bits == first;
    if (s.kind == Shape::Kind::kMask) {
      mask |= (bits & 1) << i;
    } else {
      bytes.append(reinterpret_cast<const char*>(&bits), s.bytes());
    }
  }
  if (s.kind == Shape::Kind::kMask) {
    if (!avx2_) return {MaskConstant(mask)};
    const unsigned n = MaskBits(s.lanes) / 8;
    for (unsigned i = 0; i < s.lanes; ++i) bytes.append(n, (mask >> i & 1) != 0 ? '\xff' : '\0');
    if (splat) return {SplatConstant(first != 0 ? ~uint64_t{0} : 0, 8)};
    return {ConstantReg(bytes, static_cast<unsigned>(bytes.size()), bytes.size() == 32 ? 1 : 0)};
  }
  Parts parts;
  if (splat) {
    for (unsigned b = s.bits; b < 32; b *= 2) first |= first << b;
    const Reg r = SplatConstant(first, std::max(4u, s.bytes()));
    parts.assign(s.parts, r);
    return parts;
  }
  bytes.resize(std::max<size_t>(bytes.size(), 16));
  for (unsigned part = 0; part < s.parts; ++part) {
    const unsigned n = s.part_bytes();
    parts.push_back(ConstantReg(bytes.substr(size_t{part} * n, n), n, s.len));
  }
  return parts;
}

// --- builders

void Selector::RvmTo(Reg to, Op o, const Shape& s, Reg a, Reg b, int imm) {
  Inst m{.op = o,
         .len = s.scalar() ? uint8_t{0} : s.len,
         .mem_bytes = s.part_bytes(),
         .element = static_cast<uint8_t>(!s.scalar() && s.bits >= 32 ? s.bytes() : 0),
         .foldable = true,
         .def = Slot::kReg,
         .reg = to,
         .vvvv = a,
         .rm = b};
  if (imm >= 0) {
    m.imm_bytes = 1;
    m.imm = imm;
  }
  Add(m);
}
Reg Selector::Rvm(Op o, const Shape& s, Reg a, Reg b, int imm) {
  const Reg to = New(RegClass::kVec);
  RvmTo(to, o, s, a, b, imm);
  return to;
}
void Selector::RmTo(Reg to, Op o, uint8_t len, Reg from, unsigned mem_bytes, int imm) {
  Inst m{.op = o, .len = len, .mem_bytes = static_cast<uint8_t>(mem_bytes), .def = Slot::kReg, .reg = to, .rm = from};
  if (imm >= 0) {
    m.imm_bytes = 1;
    m.imm = imm;
  }
  Add(m);
}
void Selector::Masked(Reg to, Op o, const Shape& s, Reg mask, Reg tied, Reg a, Reg b) {
  Add({.op = o,
       .len = s.scalar() ? uint8_t{0} : s.len,
       .mem_bytes = s.part_bytes(),
       .def = Slot::kReg,
       .reg = to,
       .vvvv = a,
       .rm = b,
       .tied = tied,
       .mask = mask});
}
// --- arithmetic

const llvm::APInt* Selector::NumberOf(const Value* v) {
  auto* constant = dyn_cast<llvm::Constant>(v);
  auto* number = constant != nullptr ? dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue()) : nullptr;
  return number == nullptr ? nullptr : &number->getValue();
}

namespace {

/// The exponent when all lanes are one power of two above 1, else 0.
unsigned PowerOfTwo(const llvm::APInt* number) {
  return number != nullptr && number->isPowerOf2() ? number->logBase2() : 0;
}

/// Whether every lane is known to be below 2^32.
bool FitsIn32(const Value* v) {
  if (auto* zext = dyn_cast<llvm::ZExtInst>(v)) return zext->getSrcTy()->getScalarSizeInBits() <= 32;
  if (auto* half = dyn_cast<llvm::BinaryOperator>(v); half != nullptr) {
    const llvm::APInt* number = Selector::NumberOf(half->getOperand(1));
    if (number == nullptr) return false;
    if (half->getOpcode() == Instruction::And) return number->getActiveBits() <= 32;
    return half->getOpcode() == Instruction::LShr && number->uge(32);
  }
  const llvm::APInt* number = Selector::NumberOf(v);
  return number != nullptr && number->getActiveBits() <= 32;
}

}  // namespace

void Selector::VisitVectorBinary(const llvm::BinaryOperator& inst, const Shape& s) {
  const unsigned opcode = inst.getOpcode();
  if (!s.is_float && (!avx2_ || s.kind == Shape::Kind::kInt) && Rotation(inst, s)) return;
  if (!s.is_float && TernaryLogic(inst, s)) return;
  const Value* a = inst.getOperand(0);
  const Value* b = inst.getOperand(1);
  // What can be read from memory stands last.
  const auto in_memory = [&](const Value* v) { return isa<llvm::Constant>(v) || deferred_.contains(v); };
  if (inst.isCommutative() && in_memory(a) && !isa<llvm::Constant>(b)) std::swap(a, b);
  const bool w = s.wide();
  Op o{};
  switch (opcode) {
    case Instruction::FAdd:
      o = op::Float(op::kFAdd, s.scalar(), w);
      break;
    case Instruction::FSub:
      o = op::Float(op::kFSub, s.scalar(), w);
      break;
    case Instruction::FMul:
      o = op::Float(op::kFMul, s.scalar(), w);
      break;
    case Instruction::FDiv:
      o = op::Float(op::kFDiv, s.scalar(), w);
      break;
    case Instruction::Add:
      o = s.bits == 8    ? op::Evex(1, 1, 0, 0xfc)
          : s.bits == 16 ? op::Evex(1, 1, 0, 0xfd)
                         : op::Evex(1, 1, w, w ? 0xd4 : 0xfe);
      break;
    case Instruction::Sub:
      o = s.bits == 8    ? op::Evex(1, 1, 0, 0xf8)
          : s.bits == 16 ? op::Evex(1, 1, 0, 0xf9)
                         : op::Evex(1, 1, w, w ? 0xfb : 0xfa);
      break;
    case Instruction::Mul:
      if (const unsigned by = PowerOfTwo(NumberOf(b)); by != 0 && s.bits >= 16 && (by < s.bits)) {
        const Parts x = Get(a);
        for (unsigned part = 0; part < s.parts; ++part)
          ShiftImmediate(Result(inst)[part], s, Instruction::Shl, x[part], by);
        return;
      }
      if (s.bits == 8) {
        const Parts x = Get(a);
        const Parts y = Get(b);
        for (unsigned part = 0; part < s.parts; ++part) MultiplyBytes(Result(inst)[part], s, x[part], y[part]);
        return;
      }
      if (avx2_ && w && !(FitsIn32(a) && FitsIn32(b))) {
        if (FitsIn32(a)) std::swap(a, b);
        const Parts x = Get(a);
        const Parts y = Get(b);
        const bool narrow = FitsIn32(b);
        for (unsigned part = 0; part < s.parts; ++part) MultiplyLongs(Result(inst)[part], s, x[part], y[part], narrow);
        return;
      }
      o = s.bits == 16 ? op::Evex(1, 1, 0, 0xd5) : op::Evex(2, 1, w, 0x40);
      // Of numbers that have 32 bits each: vpmuludq, a third of the work.
      if (w && FitsIn32(a) && FitsIn32(b)) o = op::Evex(1, 1, 1, 0xf4);
      break;
    case Instruction::And:
      o = op::Evex(1, 1, w, 0xdb);
      break;
    case Instruction::Or:
      o = op::Evex(1, 1, w, 0xeb);
      break;
    case Instruction::Xor:
      o = op::Evex(1, 1, w, 0xef);
      break;
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr: {
      if (s.bits < 16) {  // see Scalarise
        Fail();
        return;
      }
      const llvm::APInt* const count = NumberOf(b);
      const Parts x = Get(a);
      if (count != nullptr) {
        for (unsigned part = 0; part < s.parts; ++part)
          ShiftImmediate(Result(inst)[part], s, opcode, x[part],
                         static_cast<unsigned>(count->getZExtValue()) & (s.bits - 1));
        return;
      }
      const Parts counts = Get(b);
      if (avx2_ && w && opcode == Instruction::AShr) {
        const Op right = op::Evex(2, 1, 1, 0x45);
        const Reg sign = SplatConstant(uint64_t{1} << 63, 8);
        for (unsigned part = 0; part < s.parts; ++part) {
          const Reg moved_sign = Rvm(right, s, sign, counts[part]);
          FlipAndSubtract(Result(inst)[part], s, moved_sign, Rvm(right, s, x[part], counts[part]));
        }
        return;
      }
      const uint8_t code = opcode == Instruction::Shl ? 0x47 : opcode == Instruction::LShr ? 0x45 : 0x46;
      for (unsigned part = 0; part < s.parts; ++part)
        RvmTo(Result(inst)[part],
              s.bits == 16 ? op::Evex(2, 1, 1,
                                      code == 0x47   ? 0x12
                                      : code == 0x45 ? 0x10
                                                     : 0x11)
                           : op::Evex(2, 1, w, code),
              s, x[part], counts[part]);
      return;
    }
    default:
      Fail();
      return;
  }
  if ((opcode == Instruction::And || opcode == Instruction::Or || opcode == Instruction::Xor) && s.bits < 32) o.w = 0;
  // A load whose only reader this is becomes the operand itself.
  const Parts x = Get(a);
  if (s.parts == 1 && deferred_.contains(b) && (s.scalar() || s.lanes * s.bits >= 128)) {
    deferred_.erase(b);
    Inst m{.op = o, .len = s.scalar() ? uint8_t{0} : s.len, .def = Slot::kReg, .vvvv = x[0]};
    SetMem(m, cast<llvm::LoadInst>(b)->getPointerOperand(), s.part_bytes());
    m.reg = Result(inst)[0];
    Add(m);
    return;
  }
  const Parts y = Get(b);
  for (unsigned part = 0; part < s.parts; ++part) {
    RvmTo(Result(inst)[part], o, s, x[part], y[part]);
    f_.blocks[block_].code.back().commutes = inst.isCommutative();
  }
}

void Selector::ShiftImmediate(Reg to, const Shape& s, unsigned opcode, Reg x, unsigned by) {
  const bool w = s.wide();
  const bool words = s.bits == 16;
  if (avx2_ && w && opcode == Instruction::AShr) {
    const Reg logical = New(RegClass::kVec);
    ShiftImmediate(logical, s, Instruction::LShr, x, by);
    return FlipAndSubtract(to, s, SplatConstant(uint64_t{1} << (63 - by), 8), logical);
  }
  Inst m{.op = op::Evex(1, 1, w,
                        words                              ? 0x71
                        : w && opcode != Instruction::AShr ? 0x73
                                                           : 0x72),
         .len = s.len,
         .digit = static_cast<uint8_t>(opcode == Instruction::Shl    ? 6
                                       : opcode == Instruction::LShr ? 2
                                                                     : 4),
         .imm_bytes = 1,
         .mem_bytes = s.part_bytes(),
         .element = static_cast<uint8_t>(words ? 0 : s.bytes()),
         .foldable = !avx2_,  // VEX shifts registers only
         .def = Slot::kVvvv,
         .vvvv = to,
         .rm = x};
  m.imm = by;
  Add(m);
}

void Selector::MultiplyBytes(Reg to, const Shape& s, Reg a, Reg b) {
  // Even and odd bytes as the halves of 16 bits.
  Shape words = s;
  words.bits = 16;
  const Op multiply = op::Evex(1, 1, 0, 0xd5);
  const Reg even = Rvm(multiply, words, a, b);
  const Reg odd_a = New(RegClass::kVec);
  const Reg odd_b = New(RegClass::kVec);
  ShiftImmediate(odd_a, words, Instruction::LShr, a, 8);
  ShiftImmediate(odd_b, words, Instruction::LShr, b, 8);
  const Reg odd = New(RegClass::kVec);
  ShiftImmediate(odd, words, Instruction::Shl, Rvm(multiply, words, odd_a, odd_b), 8);
  const Op both = op::Evex(1, 1, 0, 0xdb);
  RvmTo(to, op::Evex(1, 1, 0, 0xeb), words, Rvm(both, words, even, SplatConstant(0x00ff00ff, 4)), odd);
}

void Selector::VisitNeg(const llvm::UnaryOperator& inst, const Shape& s) {
  if (inst.getOpcode() != Instruction::FNeg || !s.is_float) {
    Fail();
    return;
  }
  // A fused multiply-add negates by itself.
  bool wanted = false;
  for (const llvm::User* user : inst.users()) {
    auto* call = dyn_cast<llvm::IntrinsicInst>(user);
    wanted |= call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::fma;
  }
  if (!wanted) return;
  const Parts x = Get(inst.getOperand(0));
  Shape bits = s;
  if (s.scalar()) bits.kind = Shape::Kind::kVector;
  for (unsigned part = 0; part < s.parts; ++part) {
    RvmTo(Result(inst)[part], op::Evex(1, 1, s.wide(), 0xef), bits, x[part],
          SplatConstant(uint64_t{1} << (s.bits - 1), s.bytes()));
  }
}

namespace {

int FloatPredicate(llvm::CmpInst::Predicate p) {
  using P = llvm::CmpInst::Predicate;
  switch (p) {
    case P::FCMP_OEQ:
      return 0x00;
    case P::FCMP_OLT:
      return 0x11;
    case P::FCMP_OLE:
      return 0x12;
    case P::FCMP_OGT:
      return 0x1e;
    case P::FCMP_OGE:
      return 0x1d;
    case P::FCMP_UNO:
      return 0x03;
    case P::FCMP_ORD:
      return 0x07;
    case P::FCMP_UNE:
      return 0x04;
    case P::FCMP_ONE:
      return 0x0c;
    case P::FCMP_UEQ:
      return 0x08;
    case P::FCMP_UGT:
      return 0x16;
    case P::FCMP_UGE:
      return 0x15;
    case P::FCMP_ULT:
      return 0x19;
    case P::FCMP_ULE:
      return 0x1a;
    default:
      return -1;
  }
}

int IntPredicate(llvm::CmpInst::Predicate p) {
  using P = llvm::CmpInst::Predicate;
  switch (p) {
    case P::ICMP_EQ:
      return 0;
    case P::ICMP_SLT:
    case P::ICMP_ULT:
      return 1;
    case P::ICMP_SLE:
    case P::ICMP_ULE:
      return 2;
    case P::ICMP_NE:
      return 4;
    case P::ICMP_SGE:
    case P::ICMP_UGE:
      return 5;
    default:
      return 6;
  }
}

}  // namespace

void Selector::VisitVectorCompare(const llvm::CmpInst& cmp, const Shape& s) {
  const Parts x = Get(cmp.getOperand(0));
  const Parts y = Get(cmp.getOperand(1));
  const int imm = s.is_float ? FloatPredicate(cmp.getPredicate()) : IntPredicate(cmp.getPredicate());
  if (imm < 0) {
    Fail();
    return;
  }
  Op o = op::Float(op::kFCompare, s.scalar(), s.wide());
  if (!s.is_float) {
    const bool is_unsigned = cmp.isUnsigned();
    o = s.bits >= 32 ? op::Evex(3, 1, s.wide(), is_unsigned ? 0x1e : 0x1f)
                     : op::Evex(3, 1, s.bits == 16, is_unsigned ? 0x3e : 0x3f);
  }
  Parts masks;
  for (unsigned part = 0; part < s.parts; ++part) {
    if (avx2_ && !s.is_float) {
      masks.push_back(CompareIntsAvx2(cmp.getPredicate(), s, x[part], y[part]));
      continue;
    }
    masks.push_back(NewMask());
    RvmTo(masks.back(), o, s, x[part], y[part], imm);
  }
  if (s.scalar()) {
    scalar_masks_[&cmp] = masks[0];
    if (avx2_) {
      const Reg bits = New(RegClass::kGpr);
      Add({.op = op::kVmovdFromVec, .def = Slot::kRm, .reg = masks[0], .rm = bits});
      Inst m{.op = op::Legacy(0, 0, 0, 0x83),
             .digit = 4,
             .imm_bytes = 1,
             .def = Slot::kRm,
             .rm = Result(cmp)[0],
             .tied = bits};
      m.imm = 1;
      Add(m);
      return;
    }
    Add({.op = op::kGprFromMask16, .def = Slot::kReg, .reg = Result(cmp)[0], .rm = masks[0]});
    return;
  }
  Alias(cmp, {JoinMasks(masks, s)});
}

// --- casts

Reg Selector::Half(Reg from, uint8_t len) {
  const Reg to = New(RegClass::kVec);
  // vextractf64x4 or vextractf32x4 of the upper half.
  Inst m{.op = len == 2 ? op::Evex(3, 1, 1, 0x1b) : op::Evex(3, 1, 0, 0x19),
         .len = len,
         .imm_bytes = 1,
         .mem_bytes = static_cast<uint8_t>(8u << len),
         .def = Slot::kRm,
         .reg = from,
         .rm = to};
  m.imm = 1;
  Add(m);
  return to;
}

bool Selector::WidenFromMemory(const llvm::CastInst& inst, const Shape& from, const Shape& to) {
  const bool is_signed = inst.getOpcode() == Instruction::SExt;
  if (!is_signed && inst.getOpcode() != Instruction::ZExt) return false;
  // Whole registers only: shorter ones would read more than there is.
  if (!deferred_.contains(inst.getOperand(0)) || to.lanes * to.bits < 128 || from.bits * 2 > to.bits) return false;
  const auto* load = cast<llvm::LoadInst>(inst.getOperand(0));
  deferred_.erase(load);
  folded_.insert(load);
  const unsigned bytes = to.part_bytes() * from.bits / to.bits;
  for (unsigned part = 0; part < to.parts; ++part) {
    Inst m{.op = WidenOp(from.bits, to.bits, is_signed), .len = to.len, .def = Slot::kReg};
    SetMem(m, load->getPointerOperand(), bytes, static_cast<int32_t>(part * bytes));
    m.reg = Result(inst)[part];
    Add(m);
  }
  return true;
}

Op Selector::WidenOp(unsigned from, unsigned to, bool is_signed) {
  const unsigned code = from == 8    ? (to == 16   ? 0x20
                                        : to == 32 ? 0x21
                                                   : 0x22)
                        : from == 16 ? (to == 32 ? 0x23 : 0x24)
                                     : 0x25;
  return op::Evex(2, 1, 0, static_cast<uint8_t>(code + (is_signed ? 0 : 0x10)));
}

const Value* Selector::ReturnTrip(const llvm::CastInst& inst) const {
  // The upper half of what was made of an upper half: bfloat16 that is moved passes through wider numbers.
  const auto stripped = [](const Value* v) {
    while (auto* bits = dyn_cast<llvm::BitCastInst>(v)) v = bits->getOperand(0);
    return v;
  };
  const unsigned narrow = inst.getType()->getScalarSizeInBits();
  const auto shifted = [&](const Value* v, unsigned opcode) -> const Value* {
    auto* shift = dyn_cast<llvm::BinaryOperator>(stripped(v));
    if (shift == nullptr || shift->getOpcode() != opcode) return nullptr;
    const auto* by = dyn_cast<llvm::Constant>(shift->getOperand(1));
    if (by != nullptr && by->getType()->isVectorTy()) by = by->getSplatValue();
    const auto* count = dyn_cast_or_null<llvm::ConstantInt>(by);
    return count != nullptr && count->getZExtValue() == narrow ? shift->getOperand(0) : nullptr;
  };
  if (inst.getOpcode() != Instruction::Trunc) return nullptr;
  const Value* high = shifted(inst.getOperand(0), Instruction::LShr);
  const Value* made = high == nullptr ? nullptr : shifted(high, Instruction::Shl);
  auto* widened = made == nullptr ? nullptr : dyn_cast<llvm::ZExtInst>(stripped(made));
  if (widened == nullptr || widened->getSrcTy() != inst.getType() || folded_.contains(widened->getOperand(0)))
    return nullptr;
  return widened->getOperand(0);
}

void Selector::VisitVectorCast(const llvm::CastInst& inst, const Shape& from, const Shape& to) {
  const unsigned opcode = inst.getOpcode();
  if (from.kind == Shape::Kind::kMask) {
    const bool integer = opcode == Instruction::ZExt || opcode == Instruction::SExt;
    if (!integer && opcode != Instruction::UIToFP) {
      Fail();
      return;
    }
    // The lanes of a constant that the mask lets through.
    uint64_t one = opcode == Instruction::SExt ? ~uint64_t{0} : 1;
    if (!integer) one = to.wide() ? 0x3ff0000000000000u : 0x3f800000u;
    for (unsigned bits = to.bits; opcode == Instruction::ZExt && bits < 32; bits *= 2) one |= one << bits;
    const Reg ones = SplatConstant(one, std::max(4u, to.bytes()));
    const Reg mask = One(inst.getOperand(0));
    for (unsigned part = 0; part < to.parts; ++part)
      ZeroUnless(Result(inst)[part], to, MaskOfPart(mask, part, to), ones);
    return;
  }
  if (WidenFromMemory(inst, from, to)) return;
  if (avx2_) {
    if (!VisitCastAvx2(inst, from, to)) Fail();
    return;
  }
  if (from.bits < 32 && (opcode == Instruction::SIToFP || opcode == Instruction::UIToFP)) {
    // Through 32 bits, which hold the number as it is.
    Shape ints = to;
    ints.is_float = false;
    ints.bits = 32;
    const unsigned total = ints.lanes * 32;
    ints.parts = std::max(1u, total / 512);
    ints.len = total > 256 ? 2 : total > 128 ? 1 : 0;
    const Parts small = Get(inst.getOperand(0));
    if (small.size() != 1 || ints.parts != 1 || to.parts > 2) {
      Fail();
      return;
    }
    const Reg wide = New(RegClass::kVec);
    const auto base = static_cast<uint8_t>((from.bits == 8 ? 0x21 : 0x23) + (opcode == Instruction::UIToFP ? 0x10 : 0));
    RmTo(wide, op::Evex(2, 1, 0, base), ints.len, small[0], ints.part_bytes() * from.bits / 32);
    for (unsigned part = 0; part < to.parts; ++part) {
      const Reg source = part == 0 ? wide : Half(wide, ints.len);
      RmTo(Result(inst)[part], to.wide() ? op::Evex(1, 2, 0, 0xe6) : op::Evex(1, 0, 0, 0x5b), to.len, source,
           to.wide() ? to.part_bytes() / 2u : to.part_bytes());
    }
    return;
  }
  const Parts x = Get(inst.getOperand(0));
  const bool same_size = from.bits == to.bits;
  if ((opcode == Instruction::SIToFP || opcode == Instruction::FPToSI || opcode == Instruction::UIToFP) && same_size) {
    Op o{};
    if (opcode == Instruction::SIToFP) o = to.wide() ? op::Evex(1, 2, 1, 0xe6) : op::Evex(1, 0, 0, 0x5b);
    if (opcode == Instruction::UIToFP) o = to.wide() ? op::Evex(1, 2, 1, 0x7a) : op::Evex(1, 3, 0, 0x7a);
    if (opcode == Instruction::FPToSI) o = to.wide() ? op::Evex(1, 1, 1, 0x7a) : op::Evex(1, 2, 0, 0x5b);
    for (unsigned part = 0; part < to.parts; ++part) RmTo(Result(inst)[part], o, to.len, x[part], to.part_bytes());
    return;
  }
  const bool extends = opcode == Instruction::ZExt || opcode == Instruction::SExt;
  if (extends && from.bits < 32 && to.wide() && from.parts == 1 && to.parts <= 2) {
    const bool is_signed = opcode == Instruction::SExt;
    const unsigned bytes = from.lanes * from.bytes();
    if (to.parts == 1) return RmTo(Result(inst)[0], WidenOp(from.bits, 64, is_signed), to.len, x[0], bytes);
    // Through 32 bits, halves of which become registers.
    const Reg ints = New(RegClass::kVec);
    RmTo(ints, WidenOp(from.bits, 32, is_signed), 2, x[0], bytes);
    for (unsigned part = 0; part < 2; ++part) {
      const Reg half = part == 0 ? ints : Half(ints, 2);
      RmTo(Result(inst)[part], WidenOp(32, 64, is_signed), to.len, half, to.part_bytes() / 2u);
    }
    return;
  }
  const bool doubles = to.bits == 2 * from.bits && (to.parts == 1 || to.parts == 2 * from.parts);
  const bool widens = doubles || (to.bits == 4 * from.bits && from.bits == 8 && to.parts == 1);
  if (widens) {
    Op o{};
    if (extends) {
      const bool z = opcode == Instruction::ZExt;
      const int base = from.bits == 8 ? (to.bits == 16 ? 0x20 : 0x21) : from.bits == 16 ? 0x23 : 0x25;
      o = op::Evex(2, 1, 0, static_cast<uint8_t>(base + (z ? 0x10 : 0)));
    } else if (opcode == Instruction::FPExt && from.bits == 32) {
      o = op::Evex(1, 0, 0, 0x5a);
    } else if (opcode == Instruction::SIToFP && from.bits == 32) {
      o = op::Evex(1, 2, 0, 0xe6);
    } else if (opcode == Instruction::UIToFP && from.bits == 32) {
      o = op::Evex(1, 2, 0, 0x7a);
    } else if (opcode == Instruction::FPExt && from.bits == 16 && to.bits == 32) {
      o = op::kFromHalf;
    } else {
      Fail();
      return;
    }
    // Numbers that were rounded are there as they were before they met in longer registers.
    const Value* made = Canonical(inst.getOperand(0));
    while (auto* bits = dyn_cast<llvm::BitCastInst>(made)) made = Canonical(bits->getOperand(0));
    const auto rounded = rounded_.find(made);
    for (unsigned part = 0; part < to.parts; ++part) {
      const Reg half = rounded != rounded_.end() ? rounded->second[part]
                       : part % 2 == 0           ? x[part / 2]
                                                 : Half(x[part / 2], 2);
      // What is read of memory scales the addresses of it.
      RmTo(Result(inst)[part], o, to.len, half, to.part_bytes() * from.bits / to.bits);
    }
    return;
  }
  const bool narrows = from.bits == 2 * to.bits && from.bits == 64;
  if (narrows && (from.parts == 1 || from.parts == 2 * to.parts) &&
      (opcode == Instruction::Trunc || opcode == Instruction::FPTrunc || opcode == Instruction::FPToSI ||
       opcode == Instruction::FPToUI || opcode == Instruction::SIToFP || opcode == Instruction::UIToFP)) {
    const auto narrow = [&](Reg r, Reg result) {
      if (opcode == Instruction::Trunc) {
        Add({.op = op::Evex(2, 2, 0, 0x35),
             .len = from.len,
             .mem_bytes = static_cast<uint8_t>(8u << from.len),
             .def = Slot::kRm,
             .reg = r,
             .rm = result});
      } else {
        RmTo(result,
             opcode == Instruction::FPToUI   ? op::Evex(1, 0, 1, 0x78)
             : opcode == Instruction::FPToSI ? op::Evex(1, 1, 1, 0xe6)
             : opcode == Instruction::SIToFP ? op::Evex(1, 0, 1, 0x5b)
             : opcode == Instruction::UIToFP ? op::Evex(1, 3, 1, 0x7a)
                                             : op::Evex(1, 1, 1, 0x5a),
             from.len, r, from.part_bytes());
      }
    };
    if (from.parts == 1) return narrow(x[0], Result(inst)[0]);
    for (unsigned part = 0; part < to.parts; ++part) {
      const Reg low = New(RegClass::kVec);
      const Reg high = New(RegClass::kVec);
      narrow(x[2 * part], low);
      narrow(x[2 * part + 1], high);
      JoinHalves(Result(inst)[part], 2, low, high);
    }
    return;
  }
  if (opcode == Instruction::FPTrunc && from.bits == 32 && to.bits == 16 &&
      (from.parts == 1 || from.parts == 2 * to.parts)) {
    const auto narrow = [&](Reg result, Reg r) { NarrowFloats(result, r, from.len, *inst.getType()); };
    if (from.parts == 1) return narrow(Result(inst)[0], x[0]);
    Parts apart;
    for (const Reg part : x) {
      apart.push_back(New(RegClass::kVec));
      narrow(apart.back(), part);
    }
    for (unsigned part = 0; part < to.parts; ++part)
      JoinHalves(Result(inst)[part], to.len, apart[2 * part], apart[2 * part + 1]);
    rounded_[&inst] = apart;
    return;
  }
  if (opcode == Instruction::Trunc && from.bits > to.bits && (from.parts == 1 || from.parts == 2 * to.parts)) {
    const auto narrow = [&](Reg r, Reg result) {
      const unsigned code = from.bits == 64   ? (to.bits == 8 ? 0x32 : 0x34)
                            : from.bits == 32 ? (to.bits == 8 ? 0x31 : 0x33)
                                              : 0x30;
      Add({.op = op::Evex(2, 2, 0, static_cast<uint8_t>(code)),
           .len = from.len,
           .mem_bytes = static_cast<uint8_t>((16u << from.len) * to.bits / from.bits),
           .def = Slot::kRm,
           .reg = r,
           .rm = result});
    };
    if (from.parts == 1) return narrow(x[0], Result(inst)[0]);
    if (to.lanes * to.bits == 128) {
      const Reg low = New(RegClass::kVec);
      const Reg high = New(RegClass::kVec);
      narrow(x[0], low);
      narrow(x[1], high);
      Shape halves = to;
      halves.bits = 64;
      halves.lanes = 2;
      return RvmTo(Result(inst)[0], op::Evex(1, 1, 1, 0x14), halves, low, high);  // vunpcklpd
    }
    if (to.lanes * to.bits >= 256) {
      for (unsigned part = 0; part < to.parts; ++part) {
        const Reg low = New(RegClass::kVec);
        const Reg high = New(RegClass::kVec);
        narrow(x[2 * part], low);
        narrow(x[2 * part + 1], high);
        JoinHalves(Result(inst)[part], to.len, low, high);
      }
      return;
    }
  }
  Fail();
}

void Selector::NarrowFloats(Reg to, Reg from, uint8_t len, const llvm::Type& type) {
  if (type.getScalarType()->isBFloatTy()) return RmTo(to, op::kToBf16, len, from, 16u << len);
  // Rounded as the mode says, which is to the nearest.
  Inst m{.op = op::kToHalf,
         .len = len,
         .imm_bytes = 1,
         .mem_bytes = static_cast<uint8_t>(8u << len),
         .def = Slot::kRm,
         .reg = from,
         .rm = to};
  m.imm = 4;
  Add(m);
}

void Selector::JoinHalves(Reg to, uint8_t len, Reg low, Reg high) {
  Inst m{.op = len == 2 ? op::Evex(3, 1, 1, 0x1a) : op::Evex(3, 1, 0, 0x18),
         .len = len,
         .imm_bytes = 1,
         .mem_bytes = static_cast<uint8_t>(8u << len),
         .def = Slot::kReg,
         .reg = to,
         .vvvv = low,
         .rm = high};
  m.imm = 1;
  Add(m);
}

// --- moving lanes

void Selector::Broadcast(const Value& result, const Value* scalar, const Shape& s) {
  const Parts to = Result(result);
  if (auto* constant = dyn_cast<llvm::Constant>(scalar)) {
    const Parts c = ConstantParts(*constant);
    if (!s.is_float) {
      Fail();
      return;
    }
    for (Reg r : to) Copy(r, c[0]);
    return;
  }
  Inst m{.len = s.len, .mem_bytes = static_cast<uint8_t>(s.bytes()), .def = Slot::kReg, .reg = to[0]};
  if (s.is_float) {
    m.op = op::Evex(2, 1, s.wide(), s.wide() ? (s.len == 0 ? 0x59 : 0x19) : 0x18);
    if (deferred_.contains(scalar)) {
      deferred_.erase(scalar);
      SetMem(m, cast<llvm::LoadInst>(scalar)->getPointerOperand(), s.bytes());
    } else {
      m.rm = One(scalar);
      m.foldable = true;
    }
  } else {
    m.op = op::Evex(2, 1, s.wide(), s.bits == 8 ? 0x7a : s.bits == 16 ? 0x7b : 0x7c);
    m.rm = One(scalar);
    if (avx2_) {
      const Reg low = New(RegClass::kVec);
      Add({.op = s.wide() ? op::kVmovqToVec : op::kVmovdToVec, .def = Slot::kReg, .reg = low, .rm = m.rm});
      m.op = op::Evex(2, 1, s.wide(), s.bits == 8 ? 0x78 : s.bits == 16 ? 0x79 : s.bits == 32 ? 0x58 : 0x59);
      m.rm = low;
    }
  }
  Add(m);
  for (unsigned part = 1; part < s.parts; ++part) Copy(to[part], to[0]);
}

void Selector::VisitInsert(const llvm::InsertElementInst& insert) {
  // The beginning of a splat, which the shuffle sees.
  auto* index = Int(insert.getOperand(2));
  bool splats = isa<llvm::UndefValue>(insert.getOperand(0)) && index != nullptr && index->isZero();
  for (const llvm::User* user : insert.users()) {
    auto* shuffle = dyn_cast<llvm::ShuffleVectorInst>(user);
    splats &= shuffle != nullptr && shuffle->getOperand(0) == &insert && shuffle->isZeroEltSplat();
  }
  if (splats) return;
  // Or a vector lane by lane: the last one makes it.
  if (insert.hasOneUse() && isa<llvm::InsertElementInst>(insert.user_back()) &&
      insert.user_back()->getOperand(0) == &insert)
    return;
  const Shape s = ShapeOf(insert.getType());
  llvm::SmallVector<const Value*, 16> lanes(s.lanes, nullptr);
  const Value* rest = &insert;
  for (auto* one = &insert; one != nullptr; one = dyn_cast<llvm::InsertElementInst>(rest)) {
    index = Int(one->getOperand(2));
    if (index == nullptr || index->getZExtValue() >= s.lanes) {
      Fail();
      return;
    }
    const Value*& lane = lanes[index->getZExtValue()];
    if (lane == nullptr) lane = one->getOperand(1);
    rest = one->getOperand(0);
  }
  // One element, whatever lies behind it.
  if (s.kind == Shape::Kind::kVector && (!s.is_float || s.bits >= 32) && isa<llvm::UndefValue>(rest) &&
      lanes[0] != nullptr && std::all_of(lanes.begin() + 1, lanes.end(), [](const Value* v) { return v == nullptr; })) {
    Reg r = One(lanes[0]);
    if (!s.is_float) {
      const Reg moved = New(RegClass::kVec);
      Add({.op = s.wide() ? op::kVmovqToVec : op::kVmovdToVec, .def = Slot::kReg, .reg = moved, .rm = r});
      r = moved;
    }
    return Alias(insert, Parts(s.parts, r));
  }
  const bool all = std::find(lanes.begin(), lanes.end(), nullptr) == lanes.end();
  if (s.kind != Shape::Kind::kVector || s.bits < 32 || s.part_lanes() * s.bits < 128 || !all) {
    Fail();
    return;
  }
  for (unsigned part = 0; part < s.parts; ++part) {
    Parts joined;
    for (unsigned i = 0; i < s.part_lanes(); ++i) {
      Reg r = One(lanes[part * s.part_lanes() + i]);
      if (!s.is_float) {
        const Reg moved = New(RegClass::kVec);
        Add({.op = s.wide() ? op::kVmovqToVec : op::kVmovdToVec, .def = Slot::kReg, .reg = moved, .rm = r});
        r = moved;
      }
      joined.push_back(r);
    }
    // Pairs, pairs of pairs, and so on.
    for (unsigned bits = s.bits; joined.size() > 1; bits *= 2) {
      Parts pairs;
      for (size_t i = 0; i + 1 < joined.size(); i += 2) {
        const Reg pair = joined.size() == 2 ? Result(insert)[part] : New(RegClass::kVec);
        if (bits < 128) {
          Shape half = s;
          half.bits = bits;
          half.len = 0;
          half.lanes = 128 / bits;
          RvmTo(pair, op::Evex(1, bits == 64 ? 1 : 0, bits == 64, 0x14), half, joined[i], joined[i + 1]);  // vunpckl
        } else {
          JoinHalves(pair, bits == 128 ? 1 : 2, joined[i], joined[i + 1]);
        }
        pairs.push_back(pair);
      }
      joined = pairs;
    }
  }
}

void Selector::VisitExtract(const llvm::ExtractElementInst& extract) {
  const Shape s = ShapeOf(extract.getVectorOperandType());
  auto* index = Int(extract.getIndexOperand());
  if (!failed_ && index != nullptr && s.kind == Shape::Kind::kMask) return ExtractFromMask(extract, s.lanes);
  if (failed_ || index == nullptr || s.kind != Shape::Kind::kVector || s.bits < 32) {
    Fail();
    return;
  }
  auto lane = static_cast<unsigned>(index->getZExtValue());
  const Parts parts = Get(extract.getVectorOperand());
  Reg r = parts[lane / s.part_lanes()];
  lane %= s.part_lanes();
  const unsigned per = 128 / s.bits;
  if (lane >= per) {
    const Reg block = New(RegClass::kVec);
    Inst m{.op = op::Evex(3, 1, 0, 0x19),
           .len = s.len,
           .imm_bytes = 1,
           .mem_bytes = 16,
           .def = Slot::kRm,
           .reg = r,
           .rm = block};
    m.imm = lane / per;
    Add(m);
    r = block;
    lane %= per;
  }
  if (lane != 0) {
    const Reg moved = New(RegClass::kVec);
    RmTo(moved, s.wide() ? op::Evex(3, 1, 1, 0x05) : op::Evex(3, 1, 0, 0x04), 0, r, 16, static_cast<int>(lane));
    r = moved;
  }
  if (s.is_float) return Alias(extract, {r});
  Add({.op = s.wide() ? op::kVmovqFromVec : op::kVmovdFromVec, .def = Slot::kRm, .reg = r, .rm = Result(extract)[0]});
}

}  // namespace tenon::emit_llvm::x64
