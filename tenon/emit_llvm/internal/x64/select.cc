// The pass over blocks and instructions; addresses, loads and stores.
#include "tenon/emit_llvm/internal/x64/select.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::Value;

namespace {
/// "masked_gather <8 x float>", "fptoui <8 x float> to <8 x i8>".
std::string Describe(const llvm::Instruction& inst) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::StringRef name = inst.getOpcodeName();
  if (auto* call = dyn_cast<llvm::CallInst>(&inst)) {
    const llvm::Function* callee = call->getCalledFunction();
    name = callee == nullptr ? "call" : callee->getName();
    name.consume_front("llvm.");
    name = name.substr(0, name.find(".v"));
  }
  os << name << ' ';
  const bool has_operand = inst.getNumOperands() > 0 && !isa<llvm::BasicBlock>(inst.getOperand(0));
  const bool by_operand = isa<llvm::CmpInst>(inst) || inst.getType()->isVoidTy() || isa<llvm::CastInst>(inst) ||
                          isa<llvm::ExtractElementInst>(inst) || isa<llvm::CallInst>(inst);
  (has_operand && by_operand ? inst.getOperand(0)->getType() : inst.getType())->print(os);
  if (isa<llvm::CastInst>(inst) || (isa<llvm::CallInst>(inst) && !inst.getType()->isVoidTy())) {
    os << " to ";
    inst.getType()->print(os);
  }
  return text;
}

}  // namespace

std::optional<Function> Select(const llvm::Function& function, bool avx2, const isa::IsaExtras& extras,
                               std::string* reason) {
  return Selector(function, avx2, extras, reason).Run();
}

std::optional<Function> Selector::Run() {
  f_.avx2 = avx2_;
  uint32_t n = 0;
  for (const llvm::BasicBlock& block : fn_) ids_[&block] = n++;
  f_.blocks.resize(n);
  for (const llvm::BasicBlock& block : fn_) {
    const uint32_t id = ids_[&block];
    for (const llvm::BasicBlock* next : llvm::successors(&block)) {
      const uint32_t to = ids_[next];
      if (std::find(f_.blocks[id].next.begin(), f_.blocks[id].next.end(), to) != f_.blocks[id].next.end()) continue;
      f_.blocks[id].next.push_back(to);
      f_.blocks[to].previous.push_back(id);
    }
  }
  for (const llvm::Argument& argument : fn_.args()) {
    const Reg r = New(RegClass::kGpr);
    f_.arguments.push_back(r);
    values_[&argument] = {r};
  }
  if (f_.arguments.size() > 6) {
    *reason_ = "more than six arguments";
    return std::nullopt;
  }
  MarkAddresses();
  FindDominators();
  for (const llvm::BasicBlock& block : fn_) {
    block_ = ids_[&block];
    ir_block_ = &block;
    // What was computed before is still there when there is no other way to come here.
    const std::vector<uint32_t>& previous = f_.blocks[block_].previous;
    if (previous.size() != 1 || previous[0] + 1 != block_) {
      run_start_ = block_;
      scaled_.clear();
    }
    for (const llvm::Instruction& inst : block) {
      if (FoldsIntoLanes(inst) || SeenBefore(inst)) continue;
      Visit(inst);
      if (failed_) {
        *reason_ = Describe(inst);
        return std::nullopt;
      }
    }
  }
  // Constants that edges bring along.
  for (const llvm::BasicBlock& block : fn_) {
    for (const llvm::PHINode& phi : block.phis()) {
      const Parts results = Result(phi);
      for (size_t part = 0; part < results.size(); ++part) f_.blocks[ids_[&block]].phis.push_back({results[part], {}});
      for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
        const uint32_t from = ids_[phi.getIncomingBlock(i)];
        block_ = from;
        ir_block_ = phi.getIncomingBlock(i);
        // What a constant takes goes before the flags are set.
        std::vector<Inst> tail;
        std::vector<Inst>& code = f_.blocks[from].code;
        size_t keep = code.size() - 1;
        if (code.back().kind == Kind::kBranch) --keep;
        tail.assign(code.begin() + static_cast<ptrdiff_t>(keep), code.end());
        code.resize(keep);
        const Parts values = Get(phi.getIncomingValue(i));
        code.insert(code.end(), tail.begin(), tail.end());
        if (failed_ || values.size() != results.size()) {
          *reason_ = Describe(phi);
          return std::nullopt;
        }
        auto& phis = f_.blocks[ids_[&block]].phis;
        for (size_t part = 0; part < results.size(); ++part)
          phis[phis.size() - results.size() + part].from.emplace_back(from, values[part]);
      }
    }
  }
  if (failed_) return std::nullopt;
  RemoveUnused();
  f_.frame_bytes = (f_.frame_bytes + 63) / 64 * 64;
  return std::move(f_);
}

void Selector::RemoveUnused() {
  std::vector<uint32_t> uses(f_.classes.size());
  for (Block& block : f_.blocks) {
    for (const Phi& phi : block.phis) {
      for (const auto& from : phi.from) ++uses[from.second];
    }
    for (Inst& inst : block.code) inst.ForUses([&](Reg& r) { ++uses[r]; });
  }
  // Users come after what they use, so one walk backwards finds nearly all.
  for (size_t b = f_.blocks.size(); b-- > 0;) {
    std::vector<Inst>& code = f_.blocks[b].code;
    for (size_t i = code.size(); i-- > 0;) {
      const Reg defined = code[i].Defined();
      if (defined == 0 || uses[defined] != 0) continue;
      code[i].ForUses([&](Reg& r) { --uses[r]; });
      code[i].op = {};
      code[i].kind = Kind::kNothing;
    }
    std::erase_if(code, [](const Inst& inst) { return inst.kind == Kind::kNothing; });
  }
  std::erase_if(f_.constants, [&](const Constant& c) { return uses[c.reg] == 0; });
}

Selector::Shape Selector::ShapeOf(const llvm::Type* type) {
  Shape s;
  if (auto* vector = dyn_cast<llvm::FixedVectorType>(type)) {
    const llvm::Type* element = vector->getElementType();
    s.lanes = vector->getNumElements();
    if (element->isIntegerTy(1)) {
      s.kind = Shape::Kind::kMask;
      s.bits = 1;
      if (s.lanes > 64) Fail();
      return s;
    }
    s.kind = Shape::Kind::kVector;
    s.is_float = element->isFloatTy() || element->isDoubleTy();
    s.bits = element->isPointerTy() ? 64 : element->getScalarSizeInBits();
    // Floats of 16 bits are only ever converted: to the registers they are integers.
    const bool known = s.is_float || element->isPointerTy() || element->is16bitFPTy() ||
                       (element->isIntegerTy() && (s.bits == 8 || s.bits == 16 || s.bits == 32 || s.bits == 64));
    if (!known) Fail();
    const unsigned total = s.lanes * s.bits;
    if (total > MaxBits()) {
      s.parts = total / MaxBits();
      if (total % MaxBits() != 0 || s.parts > 4) Fail();
      s.len = avx2_ ? 1 : 2;
    } else {
      s.len = total > 256 ? 2 : total > 128 ? 1 : 0;
      if (total != 512 && total != 256 && total != 128 && total != 64 && total != 32 && total != 16) Fail();
    }
    return s;
  }
  if (type->isFloatTy() || type->isDoubleTy()) {
    s.kind = Shape::Kind::kScalarFloat;
    s.is_float = true;
    s.bits = type->isFloatTy() ? 32 : 64;
    return s;
  }
  if (type->isPointerTy()) {
    s.bits = 64;
    return s;
  }
  if (type->is16bitFPTy()) {
    s.bits = 16;
    return s;
  }
  if (!type->isIntegerTy()) {
    Fail();
    return s;
  }
  s.bits = type->getIntegerBitWidth();
  if (s.bits != 1 && s.bits != 8 && s.bits != 16 && s.bits != 32 && s.bits != 64) Fail();
  return s;
}

const Selector::Parts& Selector::Result(const Value& v) {
  Parts& parts = values_[&v];
  if (!parts.empty()) return parts;
  const Shape s = ShapeOf(v.getType());
  const RegClass c = s.kind == Shape::Kind::kInt    ? RegClass::kGpr
                     : s.kind == Shape::Kind::kMask ? (avx2_ ? RegClass::kVec : RegClass::kMask)
                                                    : RegClass::kVec;
  for (unsigned i = 0; i < s.parts; ++i) {
    parts.push_back(New(c));
    if (s.kind != Shape::Kind::kMask) f_.lens[parts.back()] = s.len;
  }
  return parts;
}

Selector::Parts Selector::Get(const Value* v) {
  if (auto* constant = dyn_cast<llvm::Constant>(v)) return ConstantParts(*constant);
  if (deferred_.contains(v)) {
    deferred_.erase(v);
    EmitLoad(*cast<llvm::LoadInst>(v));
  } else if (auto alloca = frame_.find(v); alloca != frame_.end() && !values_.contains(v)) {
    // A pointer into the frame, made where it is wanted.
    Inst lea{.op = op::kLea, .has_mem = true, .def = Slot::kReg, .reg = New(RegClass::kGpr)};
    lea.mem.frame = alloca->second;
    return {Add(lea).reg};
  } else if (auto* i = dyn_cast<llvm::Instruction>(v); i != nullptr && isa<llvm::CmpInst>(i) && Fused(*i)) {
    Fail();
  }
  return Result(*v);
}

Reg Selector::One(const Value* v) {
  const Parts parts = Get(v);
  if (parts.size() != 1) Fail();
  return parts.empty() ? 0 : parts[0];
}

void Selector::Copy(Reg to, Reg from) { Add({.kind = Kind::kCopy, .def = Slot::kReg, .reg = to, .rm = from}); }

void Selector::Alias(const Value& v, const Parts& parts) {
  auto [it, fresh] = values_.try_emplace(&v, parts);
  if (fresh) return;
  const Parts own = it->second;
  if (own.size() != parts.size()) {
    Fail();
    return;
  }
  for (size_t i = 0; i < own.size(); ++i) Copy(own[i], parts[i]);
}

bool Selector::Int32(const Value* v, int32_t* value) {
  auto* c = Int(v);
  if (c == nullptr || c->getBitWidth() > 64) return false;
  const int64_t wide = c->getSExtValue();
  *value = static_cast<int32_t>(wide);
  return wide == *value;
}

// --- addresses

namespace {

/// The one index that varies and its scale, or nothing; `disp` gets the rest. False when there is more to it.
bool TakeApart(const llvm::GetElementPtrInst& gep, const Value** index, uint64_t* scale, int64_t* disp) {
  if (gep.getNumIndices() != 1) return false;
  const uint64_t size = gep.getSourceElementType()->isPointerTy()
                            ? 8
                            : gep.getSourceElementType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  if (size == 0) return false;
  const Value* i = *gep.idx_begin();
  *index = nullptr;
  *scale = size;
  if (auto* c = dyn_cast<llvm::ConstantInt>(i)) {
    *disp = c->getSExtValue() * static_cast<int64_t>(size);
    return *disp == static_cast<int32_t>(*disp);
  }
  *disp = 0;
  *index = i;
  if (!i->getType()->isIntegerTy(64)) return false;
  // The constant part of a sum is as well added to the address.
  if (auto* add = dyn_cast<llvm::BinaryOperator>(i); add != nullptr && add->getOpcode() == llvm::Instruction::Add) {
    if (auto* c = dyn_cast<llvm::ConstantInt>(add->getOperand(1)); c != nullptr && c->getValue().abs().ult(1 << 20)) {
      *disp = c->getSExtValue() * static_cast<int64_t>(size);
      *index = add->getOperand(0);
      return *disp == static_cast<int32_t>(*disp);
    }
  }
  return true;
}

bool ScaleFits(uint64_t scale) { return scale == 1 || scale == 2 || scale == 4 || scale == 8; }

}  // namespace

void Selector::MarkAddress(const Value* pointer, const llvm::BasicBlock* user) {
  bool indexed = false;
  for (;;) {
    auto* gep = dyn_cast<llvm::GetElementPtrInst>(pointer);
    if (gep == nullptr) return;
    const Value* index = nullptr;
    uint64_t scale = 0;
    int64_t disp = 0;
    const bool simple = TakeApart(*gep, &index, &scale, &disp);
    // One with an index is folded where it was made only: elsewhere the emitter has hoisted it on purpose.
    if (!simple || (index != nullptr && (indexed || gep->getParent() != user))) {
      materialised_.insert(gep);
      return;
    }
    indexed |= index != nullptr;
    pointer = gep->getPointerOperand();
  }
}

void Selector::MarkAddresses() {
  // Uses come after what they use, but for phis.
  for (const llvm::BasicBlock& block : fn_) {
    for (const llvm::PHINode& phi : block.phis()) {
      for (const Value* v : phi.incoming_values()) {
        if (isa<llvm::GetElementPtrInst>(v)) materialised_.insert(v);
      }
    }
  }
  llvm::SmallVector<const llvm::BasicBlock*, 64> blocks;
  for (const llvm::BasicBlock& block : fn_) blocks.push_back(&block);
  for (size_t b = blocks.size(); b-- > 0;) {
    for (auto it = blocks[b]->rbegin(); it != blocks[b]->rend(); ++it) {
      const llvm::Instruction& inst = *it;
      const Value* address = nullptr;
      if (auto* load = dyn_cast<llvm::LoadInst>(&inst)) address = load->getPointerOperand();
      if (auto* store = dyn_cast<llvm::StoreInst>(&inst)) address = store->getPointerOperand();
      if (auto* call = dyn_cast<llvm::IntrinsicInst>(&inst)) {
        if (call->getIntrinsicID() == llvm::Intrinsic::prefetch) address = call->getArgOperand(0);
        if (call->getIntrinsicID() == llvm::Intrinsic::masked_load) address = call->getArgOperand(0);
        if (call->getIntrinsicID() == llvm::Intrinsic::masked_store) address = call->getArgOperand(1);
        if (call->getIntrinsicID() == llvm::Intrinsic::masked_gather) address = call->getArgOperand(0);
        if (call->getIntrinsicID() == llvm::Intrinsic::masked_scatter) address = call->getArgOperand(1);
        if (address != nullptr && address->getType()->isVectorTy()) {
          // A lane's address is a register and an offset: the register is wanted where it is.
          if (auto* lanes = dyn_cast<llvm::GetElementPtrInst>(address);
              lanes != nullptr && isa<llvm::GetElementPtrInst>(lanes->getPointerOperand())) {
            materialised_.insert(lanes->getPointerOperand());
          }
          continue;
        }
      }
      if (auto* gep = dyn_cast<llvm::GetElementPtrInst>(&inst)) {
        if (!materialised_.contains(gep) || gep->getType()->isVectorTy()) continue;
        const Value* index = nullptr;
        uint64_t scale = 0;
        int64_t disp = 0;
        const bool plain = TakeApart(*gep, &index, &scale, &disp) && index == nullptr;
        if (plain) {
          MarkAddress(gep->getPointerOperand(), gep->getParent());
        } else if (isa<llvm::GetElementPtrInst>(gep->getPointerOperand())) {
          materialised_.insert(gep->getPointerOperand());
        }
        continue;
      }
      if (address != nullptr) MarkAddress(address, inst.getParent());
      for (const llvm::Use& use : inst.operands()) {
        if (use.get() != address && isa<llvm::GetElementPtrInst>(use.get())) materialised_.insert(use.get());
      }
    }
  }
}

Selector::Address Selector::Resolve(const Value* pointer, const llvm::BasicBlock* user) {
  Address a;
  int64_t total = 0;
  const Value* index_value = nullptr;
  uint64_t index_scale = 1;
  for (;;) {
    if (auto it = frame_.find(pointer); it != frame_.end()) {
      a.mem.frame = it->second;
      break;
    }
    auto* gep = dyn_cast<llvm::GetElementPtrInst>(pointer);
    if (gep == nullptr || materialised_.contains(gep)) {
      a.mem.base = One(pointer);
      break;
    }
    const Value* index = nullptr;
    uint64_t scale = 0;
    int64_t disp = 0;
    if (!TakeApart(*gep, &index, &scale, &disp) || (index != nullptr && index_value != nullptr)) {
      a.ok = Fail();
      return a;
    }
    if (index != nullptr) {
      index_value = index;
      index_scale = scale;
    }
    total += disp;
    pointer = gep->getPointerOperand();
  }
  if (index_value != nullptr) SetIndex(a.mem, index_value, index_scale);
  if (total != static_cast<int32_t>(total)) a.ok = Fail();
  a.mem.disp = static_cast<int32_t>(total);
  return a;
}

void Selector::SetIndex(Mem& mem, const Value* index, uint64_t scale) {
  if (ScaleFits(scale)) {
    mem.index = One(index);
    mem.scale = static_cast<uint8_t>(scale);
    return;
  }
  Reg& scaled = scaled_[{Canonical(index), scale}];
  if (scaled == 0) {
    const Reg i = One(index);
    scaled = New(RegClass::kGpr);
    if ((scale & (scale - 1)) == 0) {
      Inst shift{
          .op = op::Legacy(0, 0, 1, 0xc1), .digit = 4, .imm_bytes = 1, .def = Slot::kRm, .rm = scaled, .tied = i};
      shift.imm = __builtin_ctzll(scale);
      Add(shift);
    } else {
      Inst mul{
          .op = op::Legacy(0, 0, 1, 0x69), .imm_bytes = 4, .foldable = true, .def = Slot::kReg, .reg = scaled, .rm = i};
      mul.imm = static_cast<int64_t>(scale);
      Add(mul);
    }
  }
  mem.index = scaled;
}

const Value* Selector::Canonical(const Value* v) const {
  auto it = canonical_.find(v);
  return it == canonical_.end() ? v : it->second;
}

void Selector::FindDominators() {
  // Blocks stand after what dominates them, so one order serves; loops need no second round because their headers are
  // entered from before.
  const uint32_t n = static_cast<uint32_t>(f_.blocks.size());
  dominator_.assign(n, 0);
  for (uint32_t b = 1; b < n; ++b) {
    uint32_t meet = b;
    for (uint32_t p : f_.blocks[b].previous) {
      if (p >= b) continue;
      if (meet == b) meet = p;
      uint32_t other = p;
      while (meet != other) (meet > other ? meet : other) = dominator_[meet > other ? meet : other];
    }
    dominator_[b] = meet == b ? 0 : meet;
  }
}

bool Selector::Dominates(uint32_t a, uint32_t b) const {
  while (b > a) b = dominator_[b];
  return a == b;
}

bool Selector::SeenBefore(const llvm::Instruction& inst) {
  if (updated_.contains(&inst)) return false;
  unsigned what = inst.getOpcode();
  const void* kind = inst.getType();
  const Value* operands[3] = {nullptr, nullptr, nullptr};
  if (inst.getNumOperands() > 4) return false;
  for (unsigned i = 0; i < inst.getNumOperands() && i < 3; ++i) operands[i] = Canonical(inst.getOperand(i));
  if (auto* gep = dyn_cast<llvm::GetElementPtrInst>(&inst)) {
    if (!materialised_.contains(&inst) || inst.getNumOperands() > 2) return false;
    kind = gep->getSourceElementType();
  } else if (auto* call = dyn_cast<llvm::IntrinsicInst>(&inst)) {
    if (!call->doesNotAccessMemory() || call->arg_size() > 3 || Fused(*call)) return false;
    what = 1u << 24 | call->getIntrinsicID();
    for (unsigned i = 0; i < 3; ++i) operands[i] = i < call->arg_size() ? Canonical(call->getArgOperand(i)) : nullptr;
  } else if (auto* cmp = dyn_cast<llvm::CmpInst>(&inst)) {
    if (Fused(*cmp)) return false;
    what |= static_cast<unsigned>(cmp->getPredicate()) << 16;
    kind = cmp->getOperand(0)->getType();
  } else if (auto* shuffle = dyn_cast<llvm::ShuffleVectorInst>(&inst)) {
    const Value* const scalar = llvm::getSplatValue(shuffle);
    if (scalar == nullptr) return false;
    operands[0] = Canonical(scalar);
    operands[1] = nullptr;
  } else if (!isa<llvm::BinaryOperator>(inst) && !isa<llvm::CastInst>(inst) && !isa<llvm::SelectInst>(inst)) {
    return false;
  }
  // What is cheap is not worth a register for long.
  const llvm::Type* type = inst.getType();
  const bool dear = type->isVectorTy() || type->isFloatTy() || type->isDoubleTy();
  auto [it, fresh] = seen_.try_emplace({what, kind, operands[0], operands[1], operands[2]}, &inst, block_);
  if (fresh) return false;
  const auto& [before, where] = it->second;
  if (where < run_start_ && !(dear && Dominates(where, block_))) {
    it->second = {&inst, block_};
    return false;
  }
  canonical_[&inst] = before;
  Alias(inst, Parts(Result(*before)));
  return true;
}

void Selector::Displace(Mem& mem, int64_t by) {
  const int64_t sum = mem.disp + by;
  if (sum != static_cast<int32_t>(sum)) Fail();
  mem.disp = static_cast<int32_t>(sum);
}

void Selector::SetMem(Inst& inst, const Value* pointer, unsigned bytes, int32_t extra) {
  inst.has_mem = true;
  inst.mem = Resolve(pointer, ir_block_).mem;
  Displace(inst.mem, extra);
  inst.mem_bytes = static_cast<uint8_t>(bytes);
}

void Selector::VisitGep(const llvm::GetElementPtrInst& gep) {
  if (!materialised_.contains(&gep)) return;
  if (gep.getType()->isVectorTy()) return;  // who gathers takes it apart
  const Value* index = nullptr;
  uint64_t scale = 0;
  int64_t disp = 0;
  if (!TakeApart(gep, &index, &scale, &disp)) {
    Fail();
    return;
  }
  const Value* pointer = gep.getPointerOperand();
  Inst lea{.op = op::kLea, .has_mem = true, .def = Slot::kReg};
  if (index == nullptr) {
    lea.mem = Resolve(pointer, gep.getParent()).mem;
  } else {
    if (auto it = frame_.find(pointer); it != frame_.end()) {
      lea.mem.frame = it->second;
    } else {
      lea.mem.base = One(pointer);
    }
    SetIndex(lea.mem, index, scale);
  }
  Displace(lea.mem, disp);
  lea.reg = Result(gep)[0];
  Add(lea);
}

// --- memory

bool Selector::StaysUntil(const llvm::LoadInst& load, const llvm::Instruction* there) {
  constexpr int kMostSteps = 200;  // Instructions that are looked at.
  int steps = 0;
  for (const llvm::Instruction* i = load.getNextNode(); i != there; i = i->getNextNode()) {
    if (i == nullptr || i->mayWriteToMemory() || ++steps > kMostSteps) return false;
  }
  return true;
}

bool Selector::CanDefer(const llvm::LoadInst& load) const {
  if (!load.hasOneUse() || load.isVolatile()) return false;
  auto* user = cast<llvm::Instruction>(load.user_back());
  if (isa<llvm::UnaryOperator>(user) || FoldsIntoLanes(*user)) return false;  // which may be read further down
  if (isa<llvm::InsertElementInst>(user)) {
    // The splat reads it.
    if (!user->hasOneUse()) return false;
    user = cast<llvm::Instruction>(user->user_back());
    if (isa<llvm::InsertElementInst>(user)) return false;
  }
  if (user->getParent() != load.getParent() || isa<llvm::PHINode>(user)) return false;
  const llvm::Type* type = load.getType();
  const bool widened = type->isIntegerTy() && !type->isIntegerTy(1) && isa<llvm::SExtInst>(user);
  if (!type->isVectorTy() && !type->isFloatTy() && !type->isDoubleTy() && !widened) return false;
  return StaysUntil(load, user);
}

const llvm::BinaryOperator* Selector::UpdateOf(const llvm::LoadInst& load) const {
  if (!load.hasOneUse() || load.isVolatile()) return nullptr;
  if (!load.getType()->isIntegerTy(32) && !load.getType()->isIntegerTy(64)) return nullptr;
  auto* made = dyn_cast<llvm::BinaryOperator>(load.user_back());
  if (made == nullptr || !made->hasOneUse() || made->getParent() != load.getParent()) return nullptr;
  switch (made->getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
      break;
    case llvm::Instruction::Sub:
      if (made->getOperand(0) != &load) return nullptr;
      break;
    default:
      return nullptr;
  }
  auto* store = dyn_cast<llvm::StoreInst>(made->user_back());
  if (store == nullptr || store->getValueOperand() != made || store->isVolatile() ||
      store->getParent() != load.getParent() ||
      Canonical(store->getPointerOperand()) != Canonical(load.getPointerOperand()) || !StaysUntil(load, store))
    return nullptr;
  return made;
}

void Selector::VisitLoad(const llvm::LoadInst& load) {
  if (const llvm::BinaryOperator* made = UpdateOf(load); made != nullptr) {
    updated_.insert(&load);
    updated_.insert(made);
    return;
  }
  if (CanDefer(load)) {
    deferred_.insert(&load);
    return;
  }
  EmitLoad(load);
}

void Selector::EmitLoad(const llvm::LoadInst& load) {
  const Shape s = ShapeOf(load.getType());
  if (failed_) return;
  const Value* pointer = load.getPointerOperand();
  if (s.kind == Shape::Kind::kMask) {
    if (s.lanes != 8 && s.lanes != 16 && (avx2_ || (s.lanes != 32 && s.lanes != 64))) {
      Fail();
      return;
    }
    Inst m{.def = Slot::kReg, .reg = New(RegClass::kGpr)};
    m.op = s.lanes == 64 ? op::kMov : s.lanes == 32 ? op::kMov32 : s.lanes == 16 ? op::kMovzx16 : op::kMovzx8;
    SetMem(m, pointer, s.lanes / 8);
    const Reg bits = Add(m).reg;
    return Alias(load, {avx2_ ? MaskFromBits(bits, s.lanes) : MaskFromGpr(bits)});
  }
  if (s.kind == Shape::Kind::kInt) {
    Inst m{.def = Slot::kReg, .reg = Result(load)[0]};
    if (s.bits == 1) Fail();
    m.op = s.bits == 64 ? op::kMov : s.bits == 32 ? op::kMov32 : s.bits == 16 ? op::kMovzx16 : op::kMovzx8;
    SetMem(m, pointer, s.bytes());
    Add(m);
    return;
  }
  for (unsigned part = 0; part < s.parts; ++part) {
    Inst m{.len = s.len, .def = Slot::kReg, .reg = Result(load)[part]};
    unsigned bytes = s.part_bytes();
    const unsigned total = s.lanes * s.bits;
    if (total == 16) {
      Inst narrow{.op = op::kMovzx16, .def = Slot::kReg, .reg = New(RegClass::kGpr)};
      SetMem(narrow, pointer, 2);
      m.op = op::kVmovdToVec;
      m.rm = Add(narrow).reg;
      Add(m);
      return;
    }
    if (s.scalar() || total < 128) {
      bytes = s.scalar() ? s.bytes() : total / 8;
      m.op = op::MoveScalar(bytes == 8, false);
    } else {
      m.op = op::LoadVector(std::max(4u, s.bytes()));
    }
    SetMem(m, pointer, bytes, static_cast<int32_t>(16u << s.len) * static_cast<int32_t>(part));
    Add(m);
  }
}

void Selector::VisitStore(const llvm::StoreInst& store) {
  const Value* value = store.getValueOperand();
  const Shape s = ShapeOf(value->getType());
  if (failed_ || store.isVolatile()) return;
  if (updated_.contains(value)) return Update(store, *cast<llvm::BinaryOperator>(value), s);
  const Value* pointer = store.getPointerOperand();
  if (int32_t imm = 0; s.kind == Shape::Kind::kInt && s.bits > 1 && Int32(value, &imm)) {
    Inst m{.op = op::Legacy(0, s.bits == 16 ? 1 : 0, s.bits == 64, s.bits == 8 ? 0xc6 : 0xc7),
           .imm_bytes = static_cast<uint8_t>(std::min(4u, s.bytes()))};
    m.imm = imm;
    SetMem(m, pointer, s.bytes());
    Add(m);
    return;
  }
  if (s.kind == Shape::Kind::kMask && s.lanes >= 8) {
    const Reg bits = GprFromMask(One(value), s.lanes);
    Inst m{.reg = bits};
    m.op = s.lanes == 64   ? op::kMovStore
           : s.lanes == 32 ? op::kMovStore32
           : s.lanes == 16 ? op::kMovStore16
                           : op::kMovStore8;
    m.byte_register = s.lanes == 8;
    SetMem(m, pointer, s.lanes / 8);
    Add(m);
    return;
  }
  if (s.kind == Shape::Kind::kMask || (s.kind == Shape::Kind::kInt && s.bits == 1)) {
    Fail();
    return;
  }
  const bool stream = store.hasMetadata(llvm::LLVMContext::MD_nontemporal);
  const Parts parts = Get(value);
  for (unsigned part = 0; part < s.parts; ++part) {
    Inst m{.len = s.len, .reg = parts[part]};
    unsigned bytes = s.part_bytes();
    const unsigned total = s.lanes * s.bits;
    if (s.kind == Shape::Kind::kVector && total == 16) {
      m.reg = New(RegClass::kGpr);
      Add({.op = op::kVmovdFromVec, .def = Slot::kRm, .reg = parts[part], .rm = m.reg});
      m.op = op::kMovStore16;
      bytes = 2;
    } else if (s.kind == Shape::Kind::kInt) {
      bytes = s.bytes();
      m.op = bytes == 8 ? op::kMovStore : bytes == 4 ? op::kMovStore32 : bytes == 2 ? op::kMovStore16 : op::kMovStore8;
      m.byte_register = bytes == 1;
      m.len = 0;
    } else if (s.scalar() || total < 128) {
      bytes = s.scalar() ? s.bytes() : total / 8;
      m.op = op::MoveScalar(bytes == 8, true);
    } else {
      m.op = stream ? op::kStreamVector : op::StoreVector(std::max(4u, s.bytes()));
    }
    SetMem(m, pointer, bytes, static_cast<int32_t>(16u << s.len) * static_cast<int32_t>(part));
    Add(m);
  }
}

// --- everything

void Selector::Visit(const llvm::Instruction& inst) {
  if (updated_.contains(&inst)) return;
  if (auto* phi = dyn_cast<llvm::PHINode>(&inst)) {
    Result(*phi);
    return;
  }
  if (auto* alloca = dyn_cast<llvm::AllocaInst>(&inst)) {
    auto* count = Int(alloca->getArraySize());
    const auto size = fn_.getParent()->getDataLayout().getTypeAllocSize(alloca->getAllocatedType()).getFixedValue();
    if (count == nullptr || count->getZExtValue() * size + static_cast<uint64_t>(f_.frame_bytes) > kMaxFrame) {
      Fail();
      return;
    }
    frame_[alloca] = f_.frame_bytes;
    f_.frame_bytes += static_cast<int32_t>((count->getZExtValue() * size + 63) / 64 * 64);
    return;
  }
  if (auto* gep = dyn_cast<llvm::GetElementPtrInst>(&inst)) return VisitGep(*gep);
  if (auto* load = dyn_cast<llvm::LoadInst>(&inst)) return VisitLoad(*load);
  if (auto* store = dyn_cast<llvm::StoreInst>(&inst)) return VisitStore(*store);
  if (auto* call = dyn_cast<llvm::CallInst>(&inst)) return VisitCall(*call);
  if (auto* select = dyn_cast<llvm::SelectInst>(&inst)) return VisitSelect(*select);
  if (auto* cast_inst = dyn_cast<llvm::CastInst>(&inst)) return VisitCast(*cast_inst);
  if (auto* shuffle = dyn_cast<llvm::ShuffleVectorInst>(&inst)) return VisitShuffle(*shuffle);
  if (auto* insert = dyn_cast<llvm::InsertElementInst>(&inst)) return VisitInsert(*insert);
  if (auto* extract = dyn_cast<llvm::ExtractElementInst>(&inst)) return VisitExtract(*extract);
  if (auto* cmp = dyn_cast<llvm::CmpInst>(&inst)) {
    const Shape s = ShapeOf(cmp->getOperand(0)->getType());
    if (failed_) return;
    if (s.kind == Shape::Kind::kInt) return VisitICmp(*cast<llvm::ICmpInst>(cmp));
    if (s.kind == Shape::Kind::kMask) return VisitMaskCompare(*cast<llvm::ICmpInst>(cmp));
    return VisitVectorCompare(*cmp, s);
  }
  if (auto* unary = dyn_cast<llvm::UnaryOperator>(&inst)) {
    const Shape s = ShapeOf(inst.getType());
    if (!failed_) VisitNeg(*unary, s);
    return;
  }
  if (auto* binary = dyn_cast<llvm::BinaryOperator>(&inst)) {
    const Shape s = ShapeOf(inst.getType());
    if (failed_) return;
    if (s.kind == Shape::Kind::kInt) return VisitIntBinary(*binary, s);
    if (s.kind == Shape::Kind::kMask) return VisitMaskBinary(*binary);
    return VisitVectorBinary(*binary, s);
  }
  if (auto* branch = dyn_cast<llvm::BranchInst>(&inst)) {
    if (branch->isUnconditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) {
      Add({.kind = Kind::kJump, .target = ids_[branch->getSuccessor(0)]});
      return;
    }
    const uint8_t cc = EmitCondition(branch->getCondition());
    Add({.kind = Kind::kBranch,
         .cc = cc,
         .target = ids_[branch->getSuccessor(0)],
         .other = ids_[branch->getSuccessor(1)]});
    return;
  }
  if (isa<llvm::ReturnInst>(inst)) {
    Add({.kind = Kind::kReturn});
    return;
  }
  Fail();
}

}  // namespace tenon::emit_llvm::x64
