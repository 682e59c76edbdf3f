// Gathers and scatters: a pointer and offsets in bytes, one per lane.
#include <llvm/IR/Constants.h>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::dyn_cast;
using llvm::Value;

bool Selector::FoldsIntoLanes(const llvm::Instruction& inst) {
  const auto only_addresses = [](const llvm::Value& v) {
    return llvm::all_of(v.users(), [](const llvm::User* user) {
      return llvm::isa<llvm::GetElementPtrInst>(user) && user->getType()->isVectorTy();
    });
  };
  const auto is_scale = [](const llvm::User* user) {
    auto* mul = dyn_cast<llvm::BinaryOperator>(user);
    if (mul == nullptr || mul->getOpcode() != llvm::Instruction::Mul) return false;
    auto* by = dyn_cast<llvm::Constant>(mul->getOperand(1));
    auto* splat = by == nullptr ? nullptr : llvm::dyn_cast_or_null<llvm::ConstantInt>(by->getSplatValue());
    return splat != nullptr && splat->getValue().ule(8) && splat->getValue().isPowerOf2();
  };
  const auto is_longer = [](const Value* v) {
    auto* sext = dyn_cast<llvm::SExtInst>(v);
    return sext != nullptr && sext->getType()->isVectorTy() && sext->getSrcTy()->getScalarSizeInBits() == 32 &&
           sext->getType()->getScalarSizeInBits() == 64;
  };
  if (is_longer(&inst)) {
    return llvm::all_of(inst.users(), [&](const llvm::User* user) {
      if (is_scale(user)) return only_addresses(*user);
      return llvm::isa<llvm::GetElementPtrInst>(user) && user->getType()->isVectorTy();
    });
  }
  return is_scale(&inst) && is_longer(inst.getOperand(0)) && only_addresses(inst);
}

bool Selector::LanePointers(const Value* pointers, LaneAddresses* at) {
  auto* gep = dyn_cast<llvm::GetElementPtrInst>(pointers);
  if (gep == nullptr || gep->getNumIndices() != 1 || gep->getPointerOperandType()->isVectorTy() ||
      !gep->getSourceElementType()->isIntegerTy(8)) {
    return Fail();
  }
  at->base = One(gep->getPointerOperand());
  const Value* index = *gep->idx_begin();
  // The machine sign-extends offsets of 32 bits, and scales them, by itself.
  const Value* inner = index;
  uint64_t scale = 1;
  if (auto* mul = dyn_cast<llvm::BinaryOperator>(index); mul != nullptr && mul->getOpcode() == llvm::Instruction::Mul) {
    auto* by = dyn_cast<llvm::Constant>(mul->getOperand(1));
    auto* splat = by == nullptr ? nullptr : llvm::dyn_cast_or_null<llvm::ConstantInt>(by->getSplatValue());
    if (splat != nullptr) {
      inner = mul->getOperand(0);
      scale = splat->getZExtValue();
    }
  }
  auto* sext = dyn_cast<llvm::SExtInst>(inner);
  if (sext != nullptr && sext->getSrcTy()->getScalarSizeInBits() == 32 &&
      (scale == 1 || scale == 2 || scale == 4 || scale == 8)) {
    index = sext->getOperand(0);
    at->scale = static_cast<uint8_t>(scale);
  }
  at->shape = ShapeOf(index->getType());
  if (failed_ || at->shape.kind != Shape::Kind::kVector) return Fail();
  at->offsets = Get(index);
  return true;
}

namespace {
bool AllOn(const Value* mask) {
  auto* constant = dyn_cast<llvm::Constant>(mask);
  return constant != nullptr && constant->isAllOnesValue();
}
}  // namespace

unsigned Selector::Pieces(const Shape& s, const LaneAddresses& at) { return std::max(s.parts, at.shape.parts); }

Reg Selector::PieceOffsets(const LaneAddresses& at, unsigned piece, const Shape& s) {
  if (at.shape.parts == Pieces(s, at)) return at.offsets[piece];
  const Reg both = at.offsets[piece / 2];
  return piece % 2 == 0 ? both : Half(both, at.shape.len);
}

Reg Selector::PieceMask(Reg mask, unsigned piece, const Shape& s, const LaneAddresses& at) {
  if (!avx2_) return MaskOfPart(mask, piece, at.shape.parts >= s.parts ? at.shape : s);
  if (s.parts == Pieces(s, at)) return MaskOfPart(mask, piece, s);
  const Reg both = MaskOfPart(mask, piece / 2, s);
  return piece % 2 == 0 ? both : Half(both, s.len);
}

Inst Selector::LaneMove(bool scatter, const Shape& s, const LaneAddresses& at, unsigned piece) {
  const bool longs = at.shape.wide();
  Inst m{.op = op::Evex(2, 1, s.wide(), static_cast<uint8_t>((scatter ? 0xa0 : 0x90) + (longs ? 3 : 2))),
         .len = longs ? at.shape.len : s.len,
         .mem_bytes = static_cast<uint8_t>(s.bytes()),
         .has_mem = true,
         .uses_up_mask = true};
  m.mem.base = at.base;
  m.mem.index = PieceOffsets(at, piece, s);
  m.mem.scale = at.scale;
  return m;
}

void Selector::VisitGather(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getType());
  LaneAddresses at;
  if (failed_ || s.bits < 32 || !LanePointers(call.getArgOperand(0), &at)) {
    Fail();
    return;
  }
  const Value* lanes_on = call.getArgOperand(1);
  const Reg mask = AllOn(lanes_on) ? 0 : One(lanes_on);
  auto* pass = dyn_cast<llvm::Constant>(call.getArgOperand(2));
  const bool nothing = pass != nullptr && (pass->isNullValue() || llvm::isa<llvm::UndefValue>(pass));
  const Parts others = nothing ? Parts(s.parts, SplatConstant(0, 4)) : Get(call.getArgOperand(2));
  // One instruction per register of offsets or of elements; of four-byte elements at offsets of eight bytes it fills
  // half a register.
  const unsigned n = Pieces(s, at);
  const bool whole = n == s.parts;
  Parts pieces;
  for (unsigned piece = 0; piece < n; ++piece) {
    Reg before = others[whole ? piece : piece / 2];
    if (!whole && piece % 2 == 1 && !nothing) before = Half(before, s.len);
    Inst m = LaneMove(false, s, at, piece);
    m.def = Slot::kReg;
    m.reg = whole ? Result(call)[piece] : New(RegClass::kVec);
    m.tied = before;
    m.mask = mask == 0 ? 0 : PieceMask(mask, piece, s, at);
    pieces.push_back(m.reg);
    Add(m);
  }
  if (whole) return;
  for (unsigned part = 0; part < s.parts; ++part)
    JoinHalves(Result(call)[part], s.len, pieces[2 * part], pieces[2 * part + 1]);
}

void Selector::VisitScatter(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getArgOperand(0)->getType());
  LaneAddresses at;
  if (failed_ || s.bits < 32 || !LanePointers(call.getArgOperand(1), &at)) {
    Fail();
    return;
  }
  const Value* lanes_on = call.getArgOperand(2);
  const Reg mask = AllOn(lanes_on) ? 0 : One(lanes_on);
  const Parts values = Get(call.getArgOperand(0));
  const unsigned n = Pieces(s, at);
  for (unsigned piece = 0; piece < n; ++piece) {
    Reg value = values[n == s.parts ? piece : piece / 2];
    if (n != s.parts && piece % 2 == 1) value = Half(value, s.len);
    Inst m = LaneMove(true, s, at, piece);
    m.reg = value;
    m.mask = mask == 0 ? 0 : PieceMask(mask, piece, s, at);
    Add(m);
  }
}

}  // namespace tenon::emit_llvm::x64
