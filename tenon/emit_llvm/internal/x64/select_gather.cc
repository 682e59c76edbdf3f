// Gathers and scatters: a pointer and offsets in bytes, one per lane.
#include <llvm/IR/Constants.h>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::dyn_cast;
using llvm::Value;

bool Selector::LanePointers(const Value* pointers, Reg* base, Parts* offsets, Shape* shape) {
  auto* gep = dyn_cast<llvm::GetElementPtrInst>(pointers);
  if (gep == nullptr || gep->getNumIndices() != 1 || gep->getPointerOperandType()->isVectorTy() ||
      !gep->getSourceElementType()->isIntegerTy(8)) {
    return Fail();
  }
  *base = One(gep->getPointerOperand());
  const Value* index = *gep->idx_begin();
  *shape = ShapeOf(index->getType());
  if (failed_ || shape->kind != Shape::Kind::kVector || !shape->wide()) return Fail();
  *offsets = Get(index);
  return true;
}

namespace {
bool AllOn(const Value* mask) {
  auto* constant = dyn_cast<llvm::Constant>(mask);
  return constant != nullptr && constant->isAllOnesValue();
}
}  // namespace

Reg Selector::PieceMask(Reg mask, unsigned piece, const Shape& s, const Shape& at) {
  if (!avx2_) return MaskOfPart(mask, piece, at);
  if (at.parts == s.parts) return MaskOfPart(mask, piece, s);
  const Reg both = MaskOfPart(mask, piece / 2, s);
  return piece % 2 == 0 ? both : Half(both, s.len);
}

void Selector::VisitGather(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getType());
  Reg base = 0;
  Parts offsets;
  Shape at;
  if (failed_ || s.bits < 32 || !LanePointers(call.getArgOperand(0), &base, &offsets, &at)) {
    Fail();
    return;
  }
  const Value* lanes_on = call.getArgOperand(1);
  const Reg mask = AllOn(lanes_on) ? 0 : One(lanes_on);
  auto* pass = dyn_cast<llvm::Constant>(call.getArgOperand(2));
  const bool nothing = pass != nullptr && (pass->isNullValue() || llvm::isa<llvm::UndefValue>(pass));
  const Parts others = nothing ? Parts(s.parts, SplatConstant(0, 4)) : Get(call.getArgOperand(2));
  // One instruction per register of offsets; of four-byte elements it fills half a register.
  const bool half = s.bits == 32;
  Parts pieces;
  for (unsigned part = 0; part < at.parts; ++part) {
    Reg before = others[half ? part / 2 : part];
    if (half && part % 2 == 1 && !nothing) before = Half(before, s.len);
    const bool whole = at.parts == s.parts;
    const Reg to = whole ? Result(call)[part] : New(RegClass::kVec);
    Inst m{.op = op::Evex(2, 1, !half, 0x93),
           .len = at.len,
           .mem_bytes = static_cast<uint8_t>(s.bytes()),
           .has_mem = true,
           .uses_up_mask = true,
           .def = Slot::kReg,
           .reg = to,
           .tied = before,
           .mask = mask == 0 ? 0 : PieceMask(mask, part, s, at)};
    m.mem.base = base;
    m.mem.index = offsets[part];
    Add(m);
    pieces.push_back(to);
  }
  if (at.parts == s.parts) return;
  for (unsigned part = 0; part < s.parts; ++part)
    JoinHalves(Result(call)[part], s.len, pieces[2 * part], pieces[2 * part + 1]);
}

void Selector::VisitScatter(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getArgOperand(0)->getType());
  Reg base = 0;
  Parts offsets;
  Shape at;
  if (failed_ || s.bits < 32 || !LanePointers(call.getArgOperand(1), &base, &offsets, &at)) {
    Fail();
    return;
  }
  const Value* lanes_on = call.getArgOperand(2);
  const Reg mask = AllOn(lanes_on) ? 0 : One(lanes_on);
  const Parts values = Get(call.getArgOperand(0));
  for (unsigned part = 0; part < at.parts; ++part) {
    Reg value = at.parts == s.parts ? values[part] : values[part / 2];
    if (at.parts != s.parts && part % 2 == 1) value = Half(value, s.len);
    Inst m{.op = op::Evex(2, 1, s.bits == 64, 0xa3),
           .len = at.len,
           .mem_bytes = static_cast<uint8_t>(s.bytes()),
           .has_mem = true,
           .uses_up_mask = true,
           .reg = value,
           .mask = mask == 0 ? 0 : PieceMask(mask, part, s, at)};
    m.mem.base = base;
    m.mem.index = offsets[part];
    Add(m);
  }
}

}  // namespace tenon::emit_llvm::x64
