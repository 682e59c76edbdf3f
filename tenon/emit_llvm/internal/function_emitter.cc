#include "tenon/emit_llvm/internal/function_emitter.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>

#include "tenon/emit_llvm/policy.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::DimMask;
using llvm::Value;

FunctionEmitter::FunctionEmitter(const Analysis& analysis, isa::IsaLevel isa, llvm::Function* function)
    : an_(analysis),
      k_(analysis.kernel),
      isa_(isa),
      fn_(function),
      b_(function->getContext()),
      entry_(function->getContext()),
      low_(&b_, isa) {
  values_.resize(kMaxCopies * k_.nodes.size());
  splats_.resize(kMaxCopies * k_.nodes.size());
  pairs_.resize(kMaxCopies * k_.reads.size());
  rows_.resize(k_.reads.size());
  params_.resize(k_.num_params);
  buffers_.resize(k_.buffers.size());
  accesses_ = an_.reads;
  pointers_.resize(accesses_.size());
}

Status FunctionEmitter::Emit() {
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(fn_->getContext(), "entry", fn_);
  llvm::BasicBlock* body = NewBlock("body");
  entry_.SetInsertPoint(entry);
  b_.SetInsertPoint(body);
  EmitPieces();
  if (streams_) b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::x86_sse_sfence, {});
  b_.CreateRetVoid();
  entry_.CreateBr(body);
  return low_.status();
}

llvm::BasicBlock* FunctionEmitter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(fn_->getContext(), name, fn_);
}

Value* FunctionEmitter::Alloca(llvm::Type* type, uint64_t count) {
  llvm::BasicBlock& block = fn_->getEntryBlock();
  llvm::IRBuilder<> at(&block, block.begin());
  llvm::AllocaInst* memory = at.CreateAlloca(type, at.getInt64(count));
  memory->setAlignment(llvm::Align(64));
  return memory;
}

Value* FunctionEmitter::SizeValue(kir::Size size) {
  if (!size.is_param()) return I64(size.baked);
  Value*& value = params_[static_cast<size_t>(size.param)];
  if (value == nullptr) {
    Value* at = entry_.CreateConstGEP1_64(entry_.getInt64Ty(), fn_->getArg(1), static_cast<uint64_t>(size.param));
    value = entry_.CreateAlignedLoad(entry_.getInt64Ty(), at, llvm::Align(8));
  }
  return value;
}

Value* FunctionEmitter::Product(kir::Size a, kir::Size b) {
  if (!a.is_param() && !b.is_param()) return I64(a.baked * b.baked);
  if (!a.is_param()) std::swap(a, b);
  if (!b.is_param() && b.baked == 1) return SizeValue(a);
  auto key = [](kir::Size s) { return s.is_param() ? ~int64_t{s.param} : s.baked; };
  // A baked negative number could look like a parameter; the first of the pair is always one, so only `b` matters.
  const bool clash = !b.is_param() && b.baked < 0;
  Value* made = nullptr;
  Value*& value = clash ? made : products_[{key(a), key(b)}];
  if (value == nullptr) {
    Value* x = SizeValue(a);
    Value* y = SizeValue(b);
    value = entry_.CreateMul(x, y);
  }
  return value;
}

Value* FunctionEmitter::BufferBase(kir::Buf buf) {
  Value*& base = buffers_[buf];
  if (base != nullptr) return base;
  if (k_.buffers[buf].kind == kir::BufKind::kLocal) return base = LocalBase(buf);
  Value* at = entry_.CreateConstGEP1_64(entry_.getPtrTy(), fn_->getArg(0), buf);
  return base = entry_.CreateAlignedLoad(entry_.getPtrTy(), at, llvm::Align(8));
}

Value* FunctionEmitter::LocalBase(kir::Buf buf) {
  Value* offset = I64(0);
  for (kir::Buf i = 0; i < buf; ++i) {
    if (k_.buffers[i].kind != kir::BufKind::kLocal) continue;
    const kir::Buffer& buffer = k_.buffers[i];
    Value* elements = I64(1);
    Value* empty = entry_.getFalse();
    for (size_t axis = 0; axis < buffer.extent.size(); ++axis) {
      Value* last = entry_.CreateSub(SizeValue(buffer.extent[axis]), I64(1));
      elements = entry_.CreateAdd(elements, entry_.CreateMul(last, SizeValue(buffer.stride[axis])));
      empty = entry_.CreateOr(empty, entry_.CreateICmpSLT(last, I64(0)));
    }
    Value* bytes = entry_.CreateSelect(empty, I64(0), entry_.CreateMul(elements, I64(ByteWidth(buffer.type))));
    offset = entry_.CreateAdd(offset, entry_.CreateAnd(entry_.CreateAdd(bytes, I64(63)), I64(-64)));
  }
  return entry_.CreateGEP(entry_.getInt8Ty(), fn_->getArg(4), offset);
}

Value* FunctionEmitter::DimLow(DimId dim) { return range_[dim].first != nullptr ? range_[dim].first : I64(0); }
Value* FunctionEmitter::DimHigh(DimId dim) {
  return range_[dim].second != nullptr ? range_[dim].second : SizeValue(k_.dims[dim].extent);
}

DimMask FunctionEmitter::CutDims() const {
  if (loops_ > 0) return ~DimMask{0};
  DimMask cut = 0;
  for (DimId d = 0; d < k_.dims.size(); ++d) {
    if (range_[d].first != nullptr || range_[d].second != nullptr) cut |= DimMask{1} << d;
  }
  return cut;
}

void FunctionEmitter::For(Value* lo, Value* hi, Value* step, Values* carried, llvm::function_ref<void()> before,
                          llvm::function_ref<void(Value*)> body) {
  auto* const_lo = llvm::dyn_cast<llvm::ConstantInt>(lo);
  auto* const_hi = llvm::dyn_cast<llvm::ConstantInt>(hi);
  auto* const_step = llvm::dyn_cast<llvm::ConstantInt>(step);
  const bool known = const_lo != nullptr && const_hi != nullptr;
  if (known && const_lo->getSExtValue() >= const_hi->getSExtValue()) return;
  const size_t mark = Mark();
  if (known && const_step != nullptr &&
      const_lo->getSExtValue() + const_step->getSExtValue() >= const_hi->getSExtValue()) {
    before();
    body(lo);  // exactly once
    Rewind(mark);
    return;
  }
  llvm::BasicBlock* from = b_.GetInsertBlock();
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(fn_->getContext(), "exit");
  if (!known) {
    llvm::BasicBlock* pre = NewBlock("pre");
    b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), pre, exit);
    b_.SetInsertPoint(pre);
  }
  before();
  llvm::BasicBlock* pre_end = b_.GetInsertBlock();
  llvm::BasicBlock* loop = NewBlock("loop");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(lo, pre_end);
  Values initial;
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  if (carried != nullptr) {
    initial = *carried;
    for (Value*& v : *carried) {
      phis.push_back(b_.CreatePHI(v->getType(), 2));
      phis.back()->addIncoming(v, pre_end);
      v = phis.back();
    }
  }
  body(i);
  llvm::BasicBlock* end = b_.GetInsertBlock();
  Value* next = b_.CreateAdd(i, step, "", /*HasNUW=*/true, /*HasNSW=*/true);
  i->addIncoming(next, end);
  for (size_t c = 0; c < phis.size(); ++c) phis[c]->addIncoming((*carried)[c], end);
  exit->insertInto(fn_);
  b_.CreateCondBr(b_.CreateICmpSLT(next, hi), loop, exit);
  b_.SetInsertPoint(exit);
  for (size_t c = 0; c < phis.size() && !known; ++c) {
    llvm::PHINode* merged = b_.CreatePHI(phis[c]->getType(), 2);
    merged->addIncoming(initial[c], from);
    merged->addIncoming((*carried)[c], end);
    (*carried)[c] = merged;
  }
  Rewind(mark);
}

void FunctionEmitter::If(Value* condition, Values* carried, llvm::function_ref<void()> then) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (c->isZero()) return;
    const size_t mark = Mark();
    then();
    Rewind(mark);
    return;
  }
  llvm::BasicBlock* from = b_.GetInsertBlock();
  llvm::BasicBlock* yes = NewBlock("then");
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(fn_->getContext(), "endif");
  b_.CreateCondBr(condition, yes, exit);
  b_.SetInsertPoint(yes);
  const size_t mark = Mark();
  Values initial;
  if (carried != nullptr) initial = *carried;
  then();
  Rewind(mark);
  llvm::BasicBlock* end = b_.GetInsertBlock();
  b_.CreateBr(exit);
  exit->insertInto(fn_);
  b_.SetInsertPoint(exit);
  for (size_t c = 0; c < initial.size(); ++c) {
    llvm::PHINode* merged = b_.CreatePHI(initial[c]->getType(), 2);
    merged->addIncoming(initial[c], from);
    merged->addIncoming((*carried)[c], end);
    (*carried)[c] = merged;
  }
}

void FunctionEmitter::IfElse(Value* condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  llvm::BasicBlock* yes = NewBlock("then");
  llvm::BasicBlock* no = llvm::BasicBlock::Create(fn_->getContext(), "else");
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(fn_->getContext(), "endif");
  b_.CreateCondBr(condition, yes, no);
  const size_t mark = Mark();
  b_.SetInsertPoint(yes);
  then();
  Rewind(mark);
  b_.CreateBr(exit);
  no->insertInto(fn_);
  b_.SetInsertPoint(no);
  otherwise();
  Rewind(mark);
  b_.CreateBr(exit);
  exit->insertInto(fn_);
  b_.SetInsertPoint(exit);
}

void FunctionEmitter::EmitPieces() {
  std::vector<kir::Val> roots;
  an_.SeqRoots(k_.seq, &roots);
  const NodeList needed = an_.Needed(roots);
  Value* begin = fn_->getArg(2);
  Value* end = fn_->getArg(3);
  llvm::SmallVector<DimId, 4> split;
  for (DimId d = 0; d < k_.dims.size(); ++d) {
    if (k_.split.dims >> d & 1) split.push_back(d);
  }
  for (DimId d : split) {
    if (d >= k_.outer) promoted_ |= DimMask{1} << d;
  }
  const int last = split.empty() ? -1 : split.back();
  if (last >= k_.outer) promoted_ &= ~(DimMask{1} << last);  // an ordinary stage dim with a range of its own
  cuts_stages_ = !kir::StageCuts(k_).empty();

  // The dims that can be run in lanes around all steps: outer ones whose values are consecutive within a piece.
  DimMask candidates = 0;
  for (DimId d = 0; d < k_.outer; ++d) {
    if (!(k_.split.dims >> d & 1) || d == last) candidates |= DimMask{1} << d;
  }
  outer_vector_dim_ = PlanOuterVector(an_, candidates, isa_, &outer_lanes_);

  If(b_.CreateICmpSLT(begin, end), nullptr, [&] {
    Precompute(needed);
    if (split.size() <= 1) {
      if (last >= 0 && !cuts_stages_) range_[last] = {begin, end};
      EmitOuterDims(0);
      return;
    }
    split.pop_back();
    EmitFlatRows(split, static_cast<DimId>(last));
  });
}

void FunctionEmitter::EmitFlatRows(const llvm::SmallVector<DimId, 4>& rows, DimId last) {
  // [begin, end) in flat indices is a run of whole or partial rows of the last split dim.
  Value* begin = fn_->getArg(2);
  Value* end = fn_->getArg(3);
  Value* n = SizeValue(k_.dims[last].extent);
  Value* first_row = b_.CreateUDiv(begin, n);
  Value* last_row = b_.CreateUDiv(b_.CreateSub(end, I64(1)), n);
  // The row's number in each dim: divided once, counted up from there.
  Values at(rows.size());
  Value* rest = first_row;
  for (size_t i = rows.size(); i-- > 1;) {
    Value* extent = SizeValue(k_.dims[rows[i]].extent);
    at[i] = b_.CreateURem(rest, extent);
    rest = b_.CreateUDiv(rest, extent);
  }
  at[0] = rest;
  For(
      first_row, b_.CreateAdd(last_row, I64(1)), I64(1), &at, [] {},
      [&](Value* row) {
        Value* start = b_.CreateMul(row, n);
        Value* lo = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(begin, start), I64(0));
        Value* hi = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(end, start), n);
        range_[last] = {lo, hi};
        for (size_t i = 0; i < rows.size(); ++i) dim_value_[rows[i]] = at[i];
        std::vector<kir::Val> roots;
        an_.SeqRoots(k_.seq, &roots);
        Precompute(an_.Needed(roots));
        EmitOuterDims(0);
        for (DimId d : rows) dim_value_[d] = nullptr;
        Value* carry = b_.getTrue();
        for (size_t i = rows.size(); i-- > 0;) {
          at[i] = b_.CreateAdd(at[i], b_.CreateZExt(carry, b_.getInt64Ty()));
          if (i == 0) break;
          carry = b_.CreateICmpEQ(at[i], SizeValue(k_.dims[rows[i]].extent));
          at[i] = b_.CreateSelect(carry, I64(0), at[i]);
        }
      });
}

void FunctionEmitter::EmitOuterDims(size_t next) {
  DimId dim = static_cast<DimId>(next);
  while (dim < k_.outer && (dim_value_[dim] != nullptr || dim == outer_vector_dim_)) ++dim;
  std::vector<kir::Val> roots;
  an_.SeqRoots(k_.seq, &roots);
  const NodeList needed = an_.Needed(roots);
  if (dim < k_.outer) {
    DimId open = dim + 1u;
    while (open < k_.outer && dim_value_[open] != nullptr) ++open;
    if (outer_vector_dim_ < 0 && promoted_ == 0 && open == k_.outer) {
      const RowsPlan plan = PlanRows(an_, dim, isa_);
      if (plan.late_lanes > 1 || plan.turns.size() > 1) return EmitRows(dim, plan);
    }
    For(
        DimLow(dim), DimHigh(dim), I64(1), nullptr, [&] { Precompute(needed); },
        [&](Value* i) {
          PrefetchRows(dim, i, needed);
          dim_value_[dim] = i;
          Precompute(needed);
          EmitOuterDims(dim + 1u);
          dim_value_[dim] = nullptr;
        });
    return;
  }
  if (outer_vector_dim_ < 0) {
    EmitSeq(k_.seq);
    return;
  }
  const bool wide = isa_ == isa::IsaLevel::kAvx512;
  const auto along = static_cast<DimId>(outer_vector_dim_);
  const auto range = range_[along];
  const unsigned together = isa_ == isa::IsaLevel::kSse4 ? 1 : VectorsTogether(an_, along, outer_lanes_, isa_);
  for (unsigned vectors = together; vectors > 1; vectors /= 2) EmitSeqInVectors(along, vectors, needed);
  VectorLoop(along, outer_lanes_, 1, wide, needed, nullptr, [&] {
    Precompute(needed);
    EmitSeq(k_.seq);
  });
  range_[along] = range;
}

void FunctionEmitter::EmitSeqInVectors(DimId along, unsigned vectors, const NodeList& needed) {
  const unsigned lanes = vectors * outer_lanes_;
  Value* const lo = DimLow(along);
  Value* const hi = DimHigh(along);
  // While half as many vectors are too few for what is left.
  Value* length = b_.CreateSub(hi, lo);
  length = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, length, I64(0));
  Value* const passes = b_.CreateAnd(b_.CreateAdd(length, I64(lanes / 2 - 1)), I64(-int64_t{lanes}));
  Value* const end = b_.CreateAdd(lo, passes);
  const Lanes outside = lanes_;
  For(
      lo, end, I64(lanes), nullptr, [&] { Precompute(needed); },
      [&](Value* i) {
        Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(hi, i), I64(lanes));
        dim_value_[along] = i;
        lanes_ = {.dim = along, .lanes = lanes, .copy_dim = along, .copies = 1};
        if (Known(left) != int64_t{lanes}) {
          lanes_.mask = ActiveMask(left, lanes);
          lanes_.count = left;
        }
        Precompute(needed);
        EmitSeq(k_.seq);
        lanes_ = outside;
        dim_value_[along] = nullptr;
      });
  range_[along] = {b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, hi), hi};
}

void FunctionEmitter::EmitSeq(const kir::Seq& seq) {
  for (const kir::Step& step : seq) {
    if (const auto* stage = std::get_if<kir::Stage>(&step.is)) {
      EmitStage(*stage);
    } else {
      EmitLoop(std::get<kir::Loop>(step.is));
    }
  }
}

void FunctionEmitter::EmitLoop(const kir::Loop& loop) {
  std::vector<kir::Val> roots;
  roots.insert(roots.end(), loop.next.begin(), loop.next.end());
  if (loop.condition != kir::kNone) roots.push_back(loop.condition);
  an_.SeqRoots(loop.body, &roots);
  const NodeList needed = an_.Needed(roots);
  const bool outer_mutable_ok = mutable_ok_;
  mutable_ok_ = false;
  Precompute(needed);
  const size_t outside = Mark();
  const DimMask outer_pinned = pinned_;
  HoistVectors(loop.body);
  ++loops_;
  const auto leave = [&](std::vector<Value*> results) {
    --loops_;
    pinned_ = outer_pinned;
    Rewind(outside);
    SetResult(carried_, loop.id, std::move(results));
    mutable_ok_ = outer_mutable_ok;
  };
  const size_t mark = Mark();
  mutable_ok_ = true;
  Precompute(an_.Needed(loop.init));
  Values state;
  for (size_t i = 0; i < loop.init.size(); ++i) {
    // A carry runs in lanes when its start or its step does, or when lanes end at different times.
    const bool vector =
        IsVector(loop.init[i]) || IsVector(loop.next[i]) || (loop.condition != kir::kNone && IsVector(loop.condition));
    state.push_back(vector ? GetLanes(loop.init[i], 0) : Get(loop.init[i], 0));
  }
  mutable_ok_ = false;
  Rewind(mark);

  if (loop.condition == kir::kNone) {
    // What counts the trips is the loop's own counter.
    std::vector<bool> counts;
    Values others;
    for (size_t i = 0; i < state.size(); ++i) {
      counts.push_back(CountsTrips(loop, i));
      if (!counts[i]) others.push_back(state[i]);
    }
    const auto with_count = [&](Value* count) {
      for (size_t i = 0, other = 0; i < state.size(); ++i) state[i] = counts[i] ? count : others[other++];
    };
    Value* const trips = SizeValue(loop.trip_count);
    For(
        I64(0), trips, I64(1), &others, [] {},
        [&](Value* trip) {
          with_count(trip);
          if (!llvm::isa<llvm::Constant>(trip))
            counted_[trip] = loop.trip_count.is_param() ? INT64_MAX : loop.trip_count.baked - 1;
          SetResult(carried_, loop.id, {state.begin(), state.end()});
          state = EmitIteration(loop, needed, state);
          others.clear();
          for (size_t i = 0; i < state.size(); ++i) {
            if (!counts[i]) others.push_back(state[i]);
          }
        });
    with_count(loop.trip_count.is_param() ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, trips, I64(0))
                                          : I64(std::max<int64_t>(0, loop.trip_count.baked)));
    return leave({state.begin(), state.end()});
  }
  llvm::BasicBlock* from = b_.GetInsertBlock();
  llvm::BasicBlock* header = NewBlock("while");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  for (Value* v : state) {
    phis.push_back(b_.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, from);
  }
  const size_t header_mark = Mark();
  SetResult(carried_, loop.id, {phis.begin(), phis.end()});
  // Only the condition may be evaluated once more than the body: what the body reads may not exist after the last
  // iteration.
  const NodeList condition = an_.Needed({loop.condition});
  Precompute(condition);
  // What it is made of is the same behind the loop, which it comes before.
  std::vector<std::pair<kir::Val, Value*>> last;
  for (kir::Val v : condition) {
    if (!IsVector(v) && Has(v, 0)) last.emplace_back(v, values_[Slot(v, 0)]);
  }
  const size_t condition_mark = Mark();
  mutable_ok_ = true;
  Precompute(condition);
  Value* again = Get(loop.condition, 0);
  // Lanes go on for as long as each of them wants to, and wait for the others as they are.
  Value* const going_on = again->getType()->isVectorTy() ? AndMasks(again, lanes_.mask) : nullptr;
  if (going_on != nullptr) again = b_.CreateOrReduce(going_on);
  mutable_ok_ = false;
  Rewind(condition_mark);
  llvm::BasicBlock* body = NewBlock("do");
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(fn_->getContext(), "done");
  b_.CreateCondBr(again, body, exit);
  b_.SetInsertPoint(body);
  const Lanes all = lanes_;
  if (going_on != nullptr) {
    lanes_.mask = going_on;
    lanes_.count = nullptr;
  }
  Values next = EmitIteration(loop, needed, {phis.begin(), phis.end()});
  lanes_ = all;
  for (size_t i = 0; going_on != nullptr && i < next.size(); ++i) next[i] = b_.CreateSelect(going_on, next[i], phis[i]);
  llvm::BasicBlock* end = b_.GetInsertBlock();
  for (size_t i = 0; i < next.size(); ++i) phis[i]->addIncoming(next[i], end);
  b_.CreateBr(header);
  exit->insertInto(fn_);
  b_.SetInsertPoint(exit);
  Rewind(header_mark);
  leave({phis.begin(), phis.end()});
  for (const auto& [v, value] : last) {
    if (!Has(v, 0)) Set(v, 0, value);
  }
}

bool FunctionEmitter::CountsTrips(const kir::Loop& loop, size_t carry) const {
  const kir::Node& next = k_.nodes[loop.next[carry]];
  const auto is_constant = [&](kir::Val v, uint64_t x) {
    return k_.nodes[v].op == kir::Op::kConst && k_.literals[k_.nodes[v].attr] == x;
  };
  const auto is_carry = [&](kir::Val v) {
    const kir::Node& n = k_.nodes[v];
    return n.op == kir::Op::kCarried && n.attr == loop.id && n.imm == carry;
  };
  return loop.types[carry] == DType::kS64 && is_constant(loop.init[carry], 0) && next.op == kir::Op::kAdd &&
         ((is_carry(next.in[0]) && is_constant(next.in[1], 1)) || (is_carry(next.in[1]) && is_constant(next.in[0], 1)));
}

void FunctionEmitter::HoistVectors(const kir::Seq& body) {
  if (lanes_.dim >= 0) return;
  // A dim is one vector of the same lanes wherever it is open, or nothing is known of it before the loop.
  std::map<DimId, unsigned> widths;
  std::map<DimId, std::vector<kir::Val>> roots;
  DimMask refused = promoted_ | pinned_;
  const auto see = [&](const kir::Stage& stage) {
    const StagePlan plan = PlanStage(an_, stage, promoted_, ~DimMask{0}, isa_, true);
    const bool alone = plan.kind == StagePlan::Kind::kVector && stage.reduces.empty() && stage.domain.empty();
    for (DimId d : stage.dims) {
      const kir::Size extent = k_.dims[d].extent;
      if (!alone || plan.vector_dim != d || extent.is_param() || range_[d].second != nullptr || extent.baked <= 0 ||
          extent.baked > int64_t{plan.lanes}) {
        refused |= DimMask{1} << d;
        continue;
      }
      std::vector<kir::Val> stored;
      for (const kir::Store& s : stage.stores) Analysis::StoreRoots(s, &stored);
      RowPieces pieces = PiecesOf(stage, an_.Needed(stored), d);
      pieces.most = std::min(1u, pieces.most);
      const RestOfRow rest = RestOf(extent.baked % plan.lanes, plan.lanes, pieces);
      const unsigned width = rest.widths.empty() ? plan.lanes : rest.widths[0];
      if (width < kShortestVector || (!widths.try_emplace(d, width).second && widths[d] != width))
        refused |= DimMask{1} << d;
      roots[d].insert(roots[d].end(), stored.begin(), stored.end());
    }
  };
  const auto walk = [&](const auto& self, const kir::Seq& seq) -> void {
    for (const kir::Step& step : seq) {
      if (const auto* stage = std::get_if<kir::Stage>(&step.is)) {
        see(*stage);
      } else {
        self(self, std::get<kir::Loop>(step.is).body);
      }
    }
  };
  walk(walk, body);
  for (const auto& [d, width] : widths) {
    const DimId dim = d;
    if (refused >> dim & 1) continue;
    const NodeList needed = an_.Needed(roots[dim]);
    // Vectors that registers cannot hold would be read again all the same.
    const auto reads = std::count_if(needed.begin(), needed.end(), [&](kir::Val v) {
      return (an_.deps[v] >> dim & 1) && k_.nodes[v].op == kir::Op::kRead;
    });
    if (static_cast<size_t>(reads) > policy::kHoistedReads) continue;
    const int64_t extent = k_.dims[dim].extent.baked;
    const size_t mark = Mark();
    dim_value_[dim] = I64(0);
    lanes_ = {.dim = dim, .lanes = width, .copy_dim = dim, .copies = 1};
    if (extent < int64_t{width}) {
      lanes_.mask = ActiveMask(I64(extent), width);
      lanes_.count = I64(extent);
    }
    Precompute(needed);
    NodeList hoisted;
    for (kir::Val v : needed) {
      if (IsVector(v) && Has(v, 0)) hoisted.push_back(v);
    }
    int cost = an_.Cost(hoisted, DimMask{1} << dim);
    for (kir::Val v : hoisted) {
      if (k_.nodes[v].op == kir::Op::kRead && ConstStride(an_.reads[k_.nodes[v].attr], dim) != 1)
        cost += policy::kGatherCost;
    }
    const bool masked = lanes_.mask != nullptr;
    lanes_ = {};
    dim_value_[dim] = nullptr;
    // Without it there need not be a mask, which is worth more than a few operations.
    if (hoisted.empty() || (masked && cost < policy::kMaskCost)) {
      Rewind(mark);
    } else {
      pinned_ |= DimMask{1} << dim;
    }
  }
}

FunctionEmitter::Values FunctionEmitter::EmitIteration(const kir::Loop& loop, const NodeList& needed,
                                                       const Values& state) {
  Precompute(needed);
  EmitSeq(loop.body);
  mutable_ok_ = true;
  Precompute(an_.Needed(loop.next));
  Values next;
  for (size_t i = 0; i < loop.next.size(); ++i) {
    next.push_back(state[i]->getType()->isVectorTy() ? GetLanes(loop.next[i], 0) : Get(loop.next[i], 0));
  }
  mutable_ok_ = false;
  return next;
}

}  // namespace tenon::emit_llvm
