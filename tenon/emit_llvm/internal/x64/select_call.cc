// Intrinsics.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

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
  if (id == llvm::Intrinsic::masked_store) return VisitMaskedStore(*call);
  if (id == llvm::Intrinsic::vector_reduce_or) {
    const Shape s = ShapeOf(call->getArgOperand(0)->getType());
    if (failed_ || s.kind != Shape::Kind::kMask || s.lanes < 8) {
      Fail();
      return;
    }
    if (Fused(*call)) return;
    const Reg mask = One(call->getArgOperand(0));
    Add({.op = op::MaskTest(s.lanes), .reg = mask, .rm = mask});
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
  switch (id) {
    case llvm::Intrinsic::smin:
      return ints32 ? both(op::Evex(2, 1, s.wide(), 0x39)) : is_vector ? void(Fail()) : MinMax(*call, op::kLess);
    case llvm::Intrinsic::smax:
      return ints32 ? both(op::Evex(2, 1, s.wide(), 0x3d)) : is_vector ? void(Fail()) : MinMax(*call, op::kGreater);
    case llvm::Intrinsic::umin:
      return ints32 ? both(op::Evex(2, 1, s.wide(), 0x3b)) : is_vector ? void(Fail()) : MinMax(*call, op::kBelow);
    case llvm::Intrinsic::umax:
      return ints32 ? both(op::Evex(2, 1, s.wide(), 0x3f)) : is_vector ? void(Fail()) : MinMax(*call, op::kAbove);
    case llvm::Intrinsic::abs:
      if (!ints32) break;
      return each(op::Evex(2, 1, s.wide(), static_cast<uint8_t>(0x1e + (s.wide() ? 1 : 0))));
    case llvm::Intrinsic::ctlz:
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
          const Reg magnitude = Rvm(land, bits, a[part], SplatConstant(sign - 1, s.bytes()));
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

void Selector::VisitFloatMinMax(const llvm::IntrinsicInst& call, const Shape& s, bool max) {
  const Parts a = Get(call.getArgOperand(0));
  const Parts b = Get(call.getArgOperand(1));
  for (unsigned part = 0; part < s.parts; ++part) {
    // The range operation orders zeros by sign; a NaN operand makes the sum the result.
    const Reg chosen = Rvm(op::RangeOp(s.scalar(), s.wide()), s, a[part], b[part], max ? 5 : 4);
    const Reg nan = New(RegClass::kMask);
    RvmTo(nan, op::Float(op::kFCompare, s.scalar(), s.wide()), s, a[part], b[part], 3);
    Masked(Result(call)[part], op::Float(op::kFAdd, s.scalar(), s.wide()), s, nan, chosen, a[part], b[part]);
  }
}

void Selector::VisitMaskedLoad(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getType());
  if (failed_ || s.kind != Shape::Kind::kVector || (s.lanes * s.bits < 128)) {
    Fail();
    return;
  }
  const Value* pass = call.getArgOperand(2);
  auto* constant = dyn_cast<llvm::Constant>(pass);
  const bool zero = constant != nullptr && (constant->isNullValue() || isa<llvm::UndefValue>(constant));
  const Reg mask = One(call.getArgOperand(1));
  const Parts others = zero ? Parts() : Get(pass);
  for (unsigned part = 0; part < s.parts; ++part) {
    Inst m{.op = op::LoadVector(s.bytes()),
           .len = s.len,
           .zeroing = zero,
           .def = Slot::kReg,
           .reg = Result(call)[part],
           .tied = zero ? 0 : others[part],
           .mask = MaskOfPart(mask, part, s)};
    SetMem(m, call.getArgOperand(0), s.part_bytes(), static_cast<int32_t>(64 * part));
    Add(m);
  }
}

void Selector::VisitMaskedStore(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getArgOperand(0)->getType());
  if (failed_ || s.kind != Shape::Kind::kVector || (s.lanes * s.bits < 128)) {
    Fail();
    return;
  }
  const Parts values = Get(call.getArgOperand(0));
  const Reg mask = One(call.getArgOperand(2));
  for (unsigned part = 0; part < s.parts; ++part) {
    Inst m{.op = op::StoreVector(s.bytes()), .len = s.len, .reg = values[part], .mask = MaskOfPart(mask, part, s)};
    SetMem(m, call.getArgOperand(1), s.part_bytes(), static_cast<int32_t>(64 * part));
    Add(m);
  }
}

void Selector::VisitToIntSaturating(const llvm::IntrinsicInst& call) {
  const Shape to = ShapeOf(call.getType());
  const Shape from = ShapeOf(call.getArgOperand(0)->getType());
  if (failed_ || to.kind != Shape::Kind::kVector || from.kind != Shape::Kind::kVector || from.bits != 32 ||
      to.bits != 32) {
    Fail();
    return;
  }
  const Parts x = Get(call.getArgOperand(0));
  for (unsigned part = 0; part < to.parts; ++part) {
    // What does not fit converts to the lowest value, which is right for all but large ones and NaN.
    const Reg converted = New(RegClass::kVec);
    RmTo(converted, op::Evex(1, 2, 0, 0x5b), to.len, x[part], to.part_bytes());
    const Reg large = New(RegClass::kMask);
    RvmTo(large, op::Float(op::kFCompare, false, false), from, x[part], SplatConstant(0x4f000000, 4), 0x1d);
    const Reg bounded = New(RegClass::kVec);
    Blend(bounded, to, large, SplatConstant(0x7fffffff, 4), converted);
    const Reg number = New(RegClass::kMask);
    RvmTo(number, op::Float(op::kFCompare, false, false), from, x[part], x[part], 7);
    Add({.op = op::Evex(1, 0, 0, 0x28),
         .len = to.len,
         .zeroing = true,
         .def = Slot::kReg,
         .reg = Result(call)[part],
         .rm = bounded,
         .mask = number});
  }
}

}  // namespace tenon::emit_llvm::x64
