// Intrinsics.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <cstring>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::cast;
using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

void Selector::VisitCall(const llvm::CallInst& inst) {
  auto* call = dyn_cast<llvm::IntrinsicInst>(&inst);
  if (call == nullptr) {
    Fail();
    return;
  }
  const llvm::Intrinsic::ID id = call->getIntrinsicID();
  if (id == llvm::Intrinsic::x86_sse_sfence) {
    Add({.op = op::kSfence, .digit = 7});
    return;
  }
  if (id == llvm::Intrinsic::prefetch) {
    Inst m{.op = op::kPrefetch, .digit = 1};  // into all levels of the cache
    SetMem(m, call->getArgOperand(0), 1);
    Add(m);
    return;
  }
  if (id == llvm::Intrinsic::masked_store) return VisitMaskedStore(*call);
  if (id == llvm::Intrinsic::masked_scatter) return VisitScatter(*call);
  if (id == llvm::Intrinsic::vector_reduce_or) {
    const Shape s = ShapeOf(call->getArgOperand(0)->getType());
    if (failed_ || s.kind != Shape::Kind::kMask) {
      Fail();
      return;
    }
    if (Fused(*call)) return;
    TestAny(call->getArgOperand(0));
    return SetFromFlags(op::kNotEqual, Result(*call)[0]);
  }
  if (call->getType()->isVoidTy()) {
    Fail();
    return;
  }
  const Shape s = ShapeOf(call->getType());
  if (failed_) return;
  const bool is_vector = s.kind == Shape::Kind::kVector;
  const auto each = [&](Op o, int imm = -1) {
    const Parts from = Get(call->getArgOperand(0));
    for (unsigned part = 0; part < s.parts; ++part) {
      Inst m{.op = o,
             .len = s.len,
             .mem_bytes = s.part_bytes(),
             .element = static_cast<uint8_t>(s.scalar() ? 0 : s.bytes()),
             .foldable = true,
             .def = Slot::kReg,
             .reg = Result(*call)[part],
             .rm = from[part]};
      if (s.scalar()) m.vvvv = from[part];
      if (imm >= 0) {
        m.imm_bytes = 1;
        m.imm = imm;
      }
      Add(m);
    }
  };
  const auto both = [&](Op o) {
    const Parts a = Get(call->getArgOperand(0));
    const Parts b = Get(call->getArgOperand(1));
    for (unsigned part = 0; part < s.parts; ++part) RvmTo(Result(*call)[part], o, s, a[part], b[part]);
  };
  const bool ints32 = is_vector && !s.is_float && s.bits >= 32;
  // Of bytes, of 16 bits, of 32 and 64 bits.
  const auto extreme = [&](uint8_t bytes_map, uint8_t bytes, uint8_t words_map, uint8_t words, uint8_t longs,
                           uint8_t cc) {
    if (!is_vector) return MinMax(*call, cc);
    if (avx2_ && s.wide()) {
      using P = llvm::CmpInst::Predicate;
      const P first = cc == op::kLess      ? P::ICMP_SLT
                      : cc == op::kGreater ? P::ICMP_SGT
                      : cc == op::kBelow   ? P::ICMP_ULT
                                           : P::ICMP_UGT;
      const Parts a = Get(call->getArgOperand(0));
      const Parts b = Get(call->getArgOperand(1));
      for (unsigned part = 0; part < s.parts; ++part) ExtremeLongs(Result(*call)[part], s, first, a[part], b[part]);
      return;
    }
    both(s.bits == 8    ? op::Evex(bytes_map, 1, 0, bytes)
         : s.bits == 16 ? op::Evex(words_map, 1, 0, words)
                        : op::Evex(2, 1, s.wide(), longs));
  };
  switch (id) {
    case llvm::Intrinsic::smin:
      return extreme(2, 0x38, 1, 0xea, 0x39, op::kLess);
    case llvm::Intrinsic::smax:
      return extreme(2, 0x3c, 1, 0xee, 0x3d, op::kGreater);
    case llvm::Intrinsic::umin:
      return extreme(1, 0xda, 2, 0x3a, 0x3b, op::kBelow);
    case llvm::Intrinsic::umax:
      return extreme(1, 0xde, 2, 0x3e, 0x3f, op::kAbove);
    case llvm::Intrinsic::umul_fix:
      // As divisions are expanded: the upper halves of products.
      if (!is_vector || s.bits != 16) break;
      return both(op::Evex(1, 1, 0, 0xe4));
    case llvm::Intrinsic::x86_avx2_permd:
    case llvm::Intrinsic::x86_avx512_vpermi2var_d_512:
    case llvm::Intrinsic::x86_avx512_vpermi2var_q_512:
    case llvm::Intrinsic::x86_avx512_vpermi2var_hi_512:
      return PermuteByKeys(*call);
    case llvm::Intrinsic::masked_gather:
      return VisitGather(*call);
    case llvm::Intrinsic::cttz:
    case llvm::Intrinsic::ctpop:
      if (is_vector && id == llvm::Intrinsic::ctpop) return CountBitsOfLanes(*call, s);
      if (s.kind != Shape::Kind::kInt || s.bits == 1) break;
      return CountBits(*call);
    case llvm::Intrinsic::round: {
      // Half away from zero: toward zero, after all but a half was added. What is odd beyond 2^23 stays as it is.
      const Parts x = Get(call->getArgOperand(0));
      Shape bits = s;
      if (s.scalar()) bits.kind = Shape::Kind::kVector;
      const Reg half = SplatConstant(s.wide() ? 0x3fdfffffffffffffu : 0x3effffffu, s.bytes());
      const Reg sign = SplatConstant(uint64_t{1} << (s.bits - 1), s.bytes());
      for (unsigned part = 0; part < s.parts; ++part) {
        const Reg only_sign = Rvm(op::Evex(1, 1, s.wide(), 0xdb), bits, x[part], sign);
        const Reg away = Rvm(op::Evex(1, 1, s.wide(), 0xeb), bits, only_sign, half);
        const Reg sum = Rvm(op::Float(op::kFAdd, s.scalar(), s.wide()), s, x[part], away);
        Inst m{.op = op::Round(s.scalar(), s.wide()),
               .len = s.len,
               .imm_bytes = 1,
               .mem_bytes = s.part_bytes(),
               .def = Slot::kReg,
               .reg = Result(*call)[part],
               .vvvv = s.scalar() ? sum : 0,
               .rm = sum};
        m.imm = 11;
        Add(m);
      }
      return;
    }
    case llvm::Intrinsic::abs:
      if (s.kind == Shape::Kind::kInt && s.bits > 1) {
        const Reg x = Widened(call->getArgOperand(0), s.bits, true);
        const Reg negative = New(RegClass::kGpr);
        Add({.op = op::Legacy(0, 0, s.wide(), 0xf7), .digit = 3, .def = Slot::kRm, .rm = negative, .tied = x});
        // The flags are those of the negation: the number was positive when it is negative now.
        return ConditionalMove(8, s.bits == 64, Result(*call)[0], x, negative);
      }
      if (s.bits < 32) return each(op::Evex(2, 1, 0, s.bits == 8 ? 0x1c : 0x1d));
      if (avx2_ && s.wide()) {
        const Parts x = Get(call->getArgOperand(0));
        for (unsigned part = 0; part < s.parts; ++part) {
          const Reg negative = GreaterAvx2(s, SplatConstant(0, 8), x[part]);
          FlipAndSubtract(Result(*call)[part], s, negative, x[part]);
        }
        return;
      }
      return each(op::Evex(2, 1, s.wide(), static_cast<uint8_t>(0x1e + (s.wide() ? 1 : 0))));
    case llvm::Intrinsic::ctlz:
      if (s.kind == Shape::Kind::kInt && s.bits > 1) return CountBits(*call);
      if (!ints32) break;
      return each(op::Evex(2, 1, s.wide(), 0x44));
    case llvm::Intrinsic::sqrt:
      return each(op::Float(op::kFSqrt, s.scalar(), s.wide()));
    case llvm::Intrinsic::floor:
      return each(op::Round(s.scalar(), s.wide()), 9);
    case llvm::Intrinsic::ceil:
      return each(op::Round(s.scalar(), s.wide()), 10);
    case llvm::Intrinsic::trunc:
      return each(op::Round(s.scalar(), s.wide()), 11);
    case llvm::Intrinsic::roundeven:
      return each(op::Round(s.scalar(), s.wide()), 8);
    case llvm::Intrinsic::fma:
      return VisitFma(*call, s);
    case llvm::Intrinsic::maximum:
      return VisitFloatMinMax(*call, s, true);
    case llvm::Intrinsic::minimum:
      return VisitFloatMinMax(*call, s, false);
    case llvm::Intrinsic::masked_load:
      return VisitMaskedLoad(*call);
    case llvm::Intrinsic::fptosi_sat:
    case llvm::Intrinsic::fptoui_sat:
      return VisitToIntSaturating(*call);
    case llvm::Intrinsic::arithmetic_fence:
      return Alias(*call, Get(call->getArgOperand(0)));
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::canonicalize:
    case llvm::Intrinsic::copysign: {
      if (!s.is_float) break;
      const Parts a = Get(call->getArgOperand(0));
      Shape bits = s;
      if (s.scalar())
        bits.kind = Shape::Kind::kVector;  // the operation has no scalar form; the other lanes do not matter
      const uint64_t sign = uint64_t{1} << (s.bits - 1);
      const uint64_t one = s.wide() ? 0x3ff0000000000000u : 0x3f800000u;
      const Op land = op::Evex(1, 1, s.wide(), 0xdb);
      for (unsigned part = 0; part < s.parts; ++part) {
        const Reg to = Result(*call)[part];
        if (id == llvm::Intrinsic::canonicalize) {
          RvmTo(to, op::Float(op::kFMul, s.scalar(), s.wide()), s, a[part], SplatConstant(one, s.bytes()));
        } else if (id == llvm::Intrinsic::fabs) {
          RvmTo(to, land, bits, a[part], SplatConstant(sign - 1, s.bytes()));
        } else {
          const llvm::ConstantFP* known = KnownNumber(call->getArgOperand(0));
          const Reg magnitude =
              known != nullptr
                  ? SplatConstant(known->getValueAPF().bitcastToAPInt().getZExtValue() & (sign - 1), s.bytes())
                  : Rvm(land, bits, a[part], SplatConstant(sign - 1, s.bytes()));
          const Reg only_sign = Rvm(land, bits, Get(call->getArgOperand(1))[part], SplatConstant(sign, s.bytes()));
          RvmTo(to, op::Evex(1, 1, s.wide(), 0xeb), bits, magnitude, only_sign);
        }
      }
      return;
    }
    default:
      break;
  }
  Fail();
}

void Selector::VisitFma(const llvm::IntrinsicInst& call, const Shape& s) {
  const Value* a = call.getArgOperand(0);
  const Value* b = call.getArgOperand(1);
  const Value* c = call.getArgOperand(2);
  bool negative_product = false;
  bool negative_addend = false;
  // Negations cost nothing here.
  const auto strip = [](const Value*& v, bool& negative) {
    auto* neg = dyn_cast<llvm::UnaryOperator>(v);
    if (neg == nullptr || neg->getOpcode() != Instruction::FNeg) return;
    v = neg->getOperand(0);
    negative = !negative;
  };
  strip(a, negative_product);
  strip(b, negative_product);
  strip(c, negative_addend);
  const auto kind = static_cast<uint8_t>(8 + (negative_addend ? 2 : 0) + (negative_product ? 4 : 0));
  const Parts x = Get(a);
  const Parts y = Get(b);
  const Parts z = Get(c);
  const auto dies = [&](const Value* v) { return !isa<llvm::Constant>(v) && v->hasOneUse(); };
  // An accumulator, which lives in the register that it is added to; else one of the factors is overwritten.
  const auto* instruction = dyn_cast<Instruction>(c);
  const bool accumulates = dies(c) || (isa<llvm::PHINode>(c) && instruction != nullptr);
  for (unsigned part = 0; part < s.parts; ++part) {
    Inst m{.len = s.len,
           .mem_bytes = s.part_bytes(),
           .element = static_cast<uint8_t>(s.scalar() ? 0 : s.bytes()),
           .foldable = true,
           .commutes = true,
           .def = Slot::kReg,
           .reg = Result(call)[part]};
    uint8_t form = 0xa0;  // 213: to = vvvv * to + rm
    if (accumulates) {
      form = 0xb0;  // 231: to = vvvv * rm + to
      m.tied = z[part];
      m.vvvv = x[part];
      m.rm = y[part];
      if (constant_regs_.contains(m.vvvv)) std::swap(m.vvvv, m.rm);
    } else {
      const bool first = !constant_regs_.contains(x[part]) && (dies(a) || !dies(b) || constant_regs_.contains(y[part]));
      m.tied = first ? x[part] : y[part];
      m.vvvv = first ? y[part] : x[part];
      m.rm = z[part];
      if (constant_regs_.contains(m.vvvv) && !constant_regs_.contains(m.rm)) {
        form = 0x90;  // 132: to = to * rm + vvvv
        std::swap(m.vvvv, m.rm);
      }
    }
    m.op = op::Fma(form, kind, s.scalar(), s.wide());
    Add(m);
  }
}

void Selector::CountBitsOfLanes(const llvm::IntrinsicInst& call, const Shape& s) {
  if (s.bits >= 32 ? extras_.avx512_vpopcntdq : extras_.avx512_bitalg) {
    const Parts x = Get(call.getArgOperand(0));
    const Op count = op::Evex(2, 1, s.bits == 16 || s.bits == 64, s.bits >= 32 ? 0x55 : 0x54);
    for (unsigned part = 0; part < s.parts; ++part) RmTo(Result(call)[part], count, s.len, x[part], s.part_bytes());
    return;
  }
  // Of half a byte by a table; wider lanes sum up their bytes.
  Shape bytes = s;
  bytes.bits = 8;
  bytes.is_float = false;
  std::string table;
  for (unsigned i = 0; i < s.part_bytes(); ++i) table.push_back(static_cast<char>(__builtin_popcount(i % 16)));
  const Reg counts = ConstantReg(table, s.part_bytes(), s.len);
  const Reg low = SplatConstant(0x0f0f0f0f, 4);
  const Op shuffle = op::Evex(2, 1, 0, 0x00);
  const Op mask = op::Evex(1, 1, 0, 0xdb);
  Shape words = bytes;
  words.bits = 16;
  const Parts x = Get(call.getArgOperand(0));
  for (unsigned part = 0; part < s.parts; ++part) {
    const Reg to = Result(call)[part];
    const Reg down = New(RegClass::kVec);
    ShiftImmediate(down, words, Instruction::LShr, x[part], 4);
    const Reg high = Rvm(shuffle, bytes, counts, Rvm(mask, bytes, down, low));
    const Reg rest = Rvm(shuffle, bytes, counts, Rvm(mask, bytes, x[part], low));
    const Op add = op::Evex(1, 1, 0, 0xfc);
    if (s.bits == 8) {
      RvmTo(to, add, bytes, high, rest);
      continue;
    }
    const Reg each = Rvm(add, bytes, high, rest);
    if (s.bits == 64) {
      RvmTo(to, op::Evex(1, 1, 0, 0xf6), bytes, each, SplatConstant(0, 8));  // vpsadbw
      continue;
    }
    const Op pairs = op::Evex(2, 1, 0, 0x04);  // vpmaddubsw
    const Reg ones = SplatConstant(0x01010101, 4);
    if (s.bits == 16) {
      RvmTo(to, pairs, bytes, each, ones);
    } else {
      RvmTo(to, op::Evex(1, 1, 0, 0xf5), bytes, Rvm(pairs, bytes, each, ones),
            SplatConstant(0x00010001, 4));  // vpmaddwd
    }
  }
}

const llvm::ConstantFP* Selector::KnownNumber(const Value* v) {
  auto* constant = dyn_cast<llvm::Constant>(v);
  if (constant != nullptr && v->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (number == nullptr || number->isNaN() || number->getValueAPF().isDenormal()) return nullptr;
  return number;
}

void Selector::VisitFloatMinMax(const llvm::IntrinsicInst& call, const Shape& s, bool max) {
  const Parts a = Get(call.getArgOperand(0));
  const Parts b = Get(call.getArgOperand(1));
  const llvm::ConstantFP* known[] = {KnownNumber(call.getArgOperand(0)), KnownNumber(call.getArgOperand(1))};
  const Op machine = op::Float(max ? 0x5f : 0x5d, s.scalar(), s.wide());
  for (unsigned part = 0; part < s.parts; ++part) {
    const Reg to = Result(call)[part];
    if (const llvm::ConstantFP* number = known[0] != nullptr ? known[0] : known[1]; number != nullptr) {
      // The machine's operation gives its second operand for a NaN and for two zeros: with the number first, what is
      // wanted, but for the larger one of 0 and -0; and a sum with 0 has no other effect.
      const Reg c = known[0] != nullptr ? a[part] : b[part];
      const Reg x = known[0] != nullptr ? b[part] : a[part];
      if (!number->isZero() || max == number->isNegative()) {
        RvmTo(to, machine, s, c, x);
        continue;
      }
      if (max) {
        RvmTo(to, op::Float(op::kFAdd, s.scalar(), s.wide()), s, c, Rvm(machine, s, c, x));
        continue;
      }
    }
    if (avx2_) {
      FloatMinMaxAvx2(to, s, a[part], b[part], max);
      continue;
    }
    // The range operation orders zeros by sign; a NaN operand makes the sum the result.
    const Reg chosen = Rvm(op::RangeOp(s.scalar(), s.wide()), s, a[part], b[part], max ? 5 : 4);
    const Reg nan = NewMask();
    RvmTo(nan, op::Float(op::kFCompare, s.scalar(), s.wide()), s, a[part], b[part], 3);
    Masked(to, op::Float(op::kFAdd, s.scalar(), s.wide()), s, nan, chosen, a[part], b[part]);
  }
}

unsigned Selector::FirstBytes(const Value* mask, const Shape& s) {
  auto* constant = dyn_cast<llvm::Constant>(mask);
  if (constant == nullptr || s.parts != 1) return 0;
  unsigned first = 0;
  const auto is = [&](unsigned lane, bool on) {
    const llvm::Constant* bit = constant->getAggregateElement(lane);
    return bit != nullptr && (on ? bit->isOneValue() : bit->isNullValue());
  };
  while (first < s.lanes && is(first, true)) ++first;
  for (unsigned lane = first; lane < s.lanes; ++lane) {
    if (!is(lane, false)) return 0;
  }
  const unsigned bytes = first * s.bytes();
  return bytes == 4 || bytes == 8 || bytes == 16 || bytes == 32 || bytes == 64 ? bytes : 0;
}

void Selector::VisitMaskedLoad(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getType());
  if (failed_ || s.kind != Shape::Kind::kVector) {
    Fail();
    return;
  }
  const Value* pass = call.getArgOperand(2);
  auto* constant = dyn_cast<llvm::Constant>(pass);
  const bool zero = constant != nullptr && (constant->isNullValue() || isa<llvm::UndefValue>(constant));
  if (const unsigned bytes = FirstBytes(call.getArgOperand(1), s); bytes != 0 && zero) {
    // A shorter move; what it does not read is zero.
    Inst m{.op = bytes < 16 ? op::MoveScalar(bytes == 8, false) : op::LoadVector(std::max(4u, s.bytes())),
           .len = static_cast<uint8_t>(bytes / 32),
           .def = Slot::kReg,
           .reg = Result(call)[0]};
    SetMem(m, call.getArgOperand(0), bytes);
    Add(m);
    return;
  }
  Reg mask = One(call.getArgOperand(1));
  if (!avx2_ && s.lanes * s.bits < 128) mask = OnlyLanes(mask, s.lanes);
  const Parts others = zero ? Parts() : Get(pass);
  if (avx2_ && s.bits < 32) {
    Fail();
    return;
  }
  for (unsigned part = 0; part < s.parts; ++part) {
    if (avx2_) {
      const Reg on = MaskOfPart(mask, part, s);
      Inst m{.op = op::Vex(2, 1, 0, s.wide() ? 0x2d : 0x2c), .len = s.len, .def = Slot::kReg, .vvvv = on};
      m.reg = zero ? Result(call)[part] : New(RegClass::kVec);
      SetMem(m, call.getArgOperand(0), s.part_bytes(), static_cast<int32_t>(s.part_bytes() * part));
      Add(m);
      if (!zero) Blend(Result(call)[part], s, on, m.reg, others[part]);
      continue;
    }
    Inst m{.op = op::LoadVector(s.bytes()),
           .len = s.len,
           .zeroing = zero,
           .def = Slot::kReg,
           .reg = Result(call)[part],
           .tied = zero ? 0 : others[part],
           .mask = MaskOfPart(mask, part, s)};
    SetMem(m, call.getArgOperand(0), s.part_bytes(), static_cast<int32_t>(s.part_bytes() * part));
    Add(m);
  }
}

void Selector::VisitMaskedStore(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getArgOperand(0)->getType());
  if (failed_ || s.kind != Shape::Kind::kVector) {
    Fail();
    return;
  }
  const Parts values = Get(call.getArgOperand(0));
  if (const unsigned bytes = FirstBytes(call.getArgOperand(2), s); bytes != 0) {
    Inst m{.op = bytes < 16 ? op::MoveScalar(bytes == 8, true) : op::StoreVector(std::max(4u, s.bytes())),
           .len = static_cast<uint8_t>(bytes / 32),
           .reg = values[0]};
    SetMem(m, call.getArgOperand(1), bytes);
    Add(m);
    return;
  }
  Reg mask = One(call.getArgOperand(2));
  if (!avx2_ && s.lanes * s.bits < 128) mask = OnlyLanes(mask, s.lanes);
  if (avx2_ && s.bits < 32) {
    Fail();
    return;
  }
  for (unsigned part = 0; part < s.parts; ++part) {
    Inst m{.op = op::StoreVector(s.bytes()), .len = s.len, .reg = values[part]};
    const Reg on = MaskOfPart(mask, part, s);
    if (avx2_) {
      m.op = op::Vex(2, 1, 0, s.wide() ? 0x2f : 0x2e);
      m.vvvv = on;
    } else {
      m.mask = on;
    }
    SetMem(m, call.getArgOperand(1), s.part_bytes(), static_cast<int32_t>(s.part_bytes() * part));
    Add(m);
  }
}

void Selector::VisitToIntSaturating(const llvm::IntrinsicInst& call) {
  Shape to = ShapeOf(call.getType());
  Shape from = ShapeOf(call.getArgOperand(0)->getType());
  const bool is_unsigned = call.getIntrinsicID() == llvm::Intrinsic::fptoui_sat;
  if (failed_ || from.kind == Shape::Kind::kInt || to.kind == Shape::Kind::kMask || to.bits == 1) {
    Fail();
    return;
  }
  // A scalar is done in the first lane of a vector.
  const bool scalar = from.scalar();
  const unsigned int_bits = to.bits;
  if (scalar) {
    const unsigned lanes = 128 / std::max(from.bits, to.bits);
    from.kind = Shape::Kind::kVector;
    from.lanes = lanes;
    to = from;
    to.is_float = false;
    to.bits = int_bits;
  }
  const Parts x = Get(call.getArgOperand(0));
  const auto result = [&](unsigned part) { return scalar ? New(RegClass::kVec) : Result(call)[part]; };
  const auto finish = [&](Reg made) {
    if (!scalar) return;
    Add({.op = int_bits == 64 ? op::kVmovqFromVec : op::kVmovdFromVec,
         .def = Slot::kRm,
         .reg = made,
         .rm = Result(call)[0]});
  };
  const bool from_wide = from.bits == 64;
  const auto as_float = [&](double v) {
    uint64_t bits = 0;
    if (from_wide) {
      std::memcpy(&bits, &v, 8);
    } else {
      const auto single = static_cast<float>(v);
      std::memcpy(&bits, &single, 4);
    }
    return SplatConstant(bits, from.bytes());
  };
  const Op compare = op::Float(op::kFCompare, false, from_wide);
  if (int_bits < 32 || (from_wide && int_bits == 32)) {
    // Every bound is a number that the type holds, so the number is put between them first; then it converts exactly.
    if (from.bits == 64 && !scalar && from.parts != 1) {
      Fail();
      return;
    }
    const double low = is_unsigned ? 0 : -std::ldexp(1.0, static_cast<int>(int_bits) - 1);
    const double high = std::ldexp(1.0, static_cast<int>(int_bits) - (is_unsigned ? 0 : 1)) - 1;
    if (!scalar && (to.parts != 1 || (from.parts != 1 && !avx2_) || from_wide || int_bits == 32)) {
      Fail();
      return;
    }
    const auto bounded = [&](Reg v) {
      // The second operand, a bound, is what remains of a NaN; zero is put in its place.
      const Reg above = Rvm(op::Float(0x5f, false, from_wide), from, v, as_float(low));
      const Reg between = Rvm(op::Float(0x5d, false, from_wide), from, above, as_float(high));
      const Reg number = NewMask();
      RvmTo(number, compare, from, v, v, 7);
      const Reg clean = New(RegClass::kVec);
      ZeroUnless(clean, from, number, between);
      return clean;
    };
    if (!scalar && avx2_) {
      Parts wide;
      for (const Reg v : x) {
        const Reg clean = bounded(v);
        wide.push_back(New(RegClass::kVec));
        RmTo(wide.back(), op::Evex(1, 2, 0, 0x5b), from.len, clean, from.part_bytes());
      }
      return Alias(call, Narrow(wide, to.lanes, 32, int_bits, false));
    }
    const Reg clean = bounded(x[0]);
    if (scalar && avx2_) {
      Add({.op = op::Evex(1, from_wide ? 3 : 2, 1, 0x2c),
           .mem_bytes = static_cast<uint8_t>(from.bytes()),
           .def = Slot::kReg,
           .reg = Result(call)[0],
           .rm = clean});
      return;
    }
    const Reg made = New(RegClass::kVec);
    if (scalar && (from_wide || int_bits == 32)) {
      // All of these fit into 64 signed bits.
      RmTo(made, op::Evex(1, 1, 1, 0x7a), 0, clean, 16);
    } else {
      RmTo(made, op::Evex(1, 2, 0, 0x5b), from.len, clean, from.part_bytes());
    }
    if (scalar) {
      Add({.op = op::kVmovqFromVec, .def = Slot::kRm, .reg = made, .rm = Result(call)[0]});
      return;
    }
    Add({.op = op::Evex(2, 2, 0, int_bits == 8 ? 0x31 : 0x33),
         .len = from.len,
         .mem_bytes = static_cast<uint8_t>((16u << from.len) * int_bits / 32),
         .def = Slot::kRm,
         .reg = made,
         .rm = Result(call)[0]});
    return;
  }
  const bool to_wide = int_bits == 64;
  if (from_wide != to_wide && !scalar) {
    Fail();
    return;
  }
  for (unsigned part = 0; part < std::max(1u, from.parts); ++part) {
    const auto convert = [&](Reg made, Reg r) {
      Op o = is_unsigned ? op::Evex(1, to_wide ? 1 : 0, from_wide, 0x78)
                         : op::Evex(1, to_wide ? 1 : 2, from_wide, to_wide ? 0x7a : 0x5b);
      RmTo(made, o, from.len, r, to_wide && !from_wide ? 8 : from.part_bytes());
    };
    const Reg to_reg = result(part);
    if (is_unsigned) {
      // What is too large becomes all ones by itself; the rest, and NaN, is made zero first.
      convert(to_reg, Rvm(op::Float(0x5f, false, from_wide), from, x[part], SplatConstant(0, 4)));
      finish(to_reg);
      continue;
    }
    // What does not fit converts to the lowest value, which is right for all but large ones and NaN.
    const Reg converted = New(RegClass::kVec);
    convert(converted, x[part]);
    const Reg large = NewMask();
    RvmTo(large, compare, from, x[part], as_float(std::ldexp(1.0, static_cast<int>(int_bits) - 1)), 0x1d);
    const Reg bounded = New(RegClass::kVec);
    Blend(bounded, to, large, SplatConstant(to_wide ? 0x7fffffffffffffffu : 0x7fffffffu, to.bytes()), converted);
    const Reg number = NewMask();
    RvmTo(number, compare, from, x[part], x[part], 7);
    ZeroUnless(to_reg, to, number, bounded);
    finish(to_reg);
  }
}

}  // namespace tenon::emit_llvm::x64
