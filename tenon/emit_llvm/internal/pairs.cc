// Vectors that are combined with memory in order, at places that only data knows: scattered rows, two at a time.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "tenon/emit_llvm/internal/function_emitter.h"

namespace tenon::emit_llvm {

using kir::DimId;
using llvm::Value;

bool FunctionEmitter::MayPair(const kir::Stage& stage, const StagePlan& plan) {
  if (plan.kind != StagePlan::Kind::kVector || plan.outside.size() != 1 || stage.stores.size() != 1) return false;
  const kir::Store& store = stage.stores[0];
  const DimId serial = plan.outside[0];
  const auto along = static_cast<DimId>(plan.vector_dim);
  const DType type = k_.buffers[store.buf].type;
  if (k_.dims[serial].kind != kir::DimKind::kSerial || store.combine < 0) return false;
  // What memory holds is what the combiner computes with.
  if (type != DType::kF32 && type != DType::kF64 && !(IsInteger(type) && ByteWidth(type) >= 4)) return false;
  for (const kir::Read& read : k_.reads) {
    if (k_.buffers[read.buf].kind == kir::BufKind::kOut) return false;
  }
  // Where it goes is decided by the starts alone, and they by the serial dim.
  bool starts = false;
  const auto decided = [&](const kir::Axis& axis) {
    if (axis.start == kir::kNone) return true;
    starts = true;
    return (an_.deps[axis.start] >> along & 1) == 0;
  };
  const auto names = [](const kir::Axis& axis, DimId d) {
    return std::any_of(axis.terms.begin(), axis.terms.end(), [d](const kir::Term& t) { return t.dim == d; });
  };
  for (const kir::Axis& axis : store.at) {
    if (!decided(axis) || names(axis, serial)) return false;
  }
  for (const kir::Guard& guard : store.guard) {
    if (!decided(guard.e) || names(guard.e, serial) || names(guard.e, along)) return false;
  }
  return starts && ConstStride(accesses_[AccessId(store)], along) == 1;
}

void FunctionEmitter::EmitPairs(const kir::Stage& stage, const StagePlan& plan, const NodeList& needed) {
  const kir::Store& store = stage.stores[0];
  const std::vector<const kir::Store*> stores = {&store};
  const DimId serial = plan.outside[0];
  const auto along = static_cast<DimId>(plan.vector_dim);
  const Lanes outer = lanes_;
  const auto one = [&](Value* i) {
    dim_value_[serial] = i;
    Precompute(needed);
    IfStored(stores, along, [&] {
      VectorLoop(along, plan.lanes, plan.copies, plan.masked_only, needed, nullptr, [&] { EmitPoint(stores, needed); });
    });
    dim_value_[serial] = nullptr;
  };
  const auto both_at_once = [&] {
    lanes_.copy_dim = serial;
    lanes_.copies = 2;
    const bool outer_mutable_ok = mutable_ok_;
    mutable_ok_ = true;
    ExtendPointer(AccessId(store));
    Precompute(needed);
    ForgetStored(store.buf);
    const DType type = k_.buffers[store.buf].type;
    const Place place = PlaceOf(AccessId(store), 0, store.component);
    llvm::Type* lanes = low_.MemoryType(type, lanes_.lanes);
    Value* sum = low_.FromMemory(
        type, LoadLanes(lanes->getScalarType(), place, lanes_.mask, llvm::Constant::getNullValue(lanes)));
    for (unsigned copy = 0; copy < 2; ++copy) {
      Value* arguments[] = {sum, GetLanes(store.value, copy)};
      sum = low_.Inline(k_.graphs[static_cast<size_t>(store.combine)], arguments)[0];
    }
    StoreLanes(low_.ToMemory(type, sum), place, lanes_.mask);
    mutable_ok_ = outer_mutable_ok;
  };

  Value* const lo = DimLow(serial);
  Value* const hi = DimHigh(serial);
  Value* const length = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(hi, lo), I64(0));
  Value* const pairs_end = b_.CreateAdd(lo, b_.CreateAnd(length, I64(-2)));
  For(
      lo, pairs_end, I64(2), nullptr, [&] { Precompute(needed); },
      [&](Value* i) {
        const size_t mark = Mark();
        dim_value_[serial] = i;
        lanes_ = {.dim = along, .lanes = plan.lanes, .copy_dim = serial, .copies = 2};
        Precompute(needed);
        Value* same = nullptr;
        for (const kir::Axis& axis : store.at) {
          if (axis.start == kir::kNone) continue;
          Value* equal = b_.CreateICmpEQ(Get(axis.start, 0), Get(axis.start, 1));
          same = same == nullptr ? equal : b_.CreateAnd(same, equal);
        }
        for (const kir::Guard& guard : store.guard) {
          if (guard.e.start == kir::kNone) continue;
          Value* equal = b_.CreateICmpEQ(Get(guard.e.start, 0), Get(guard.e.start, 1));
          same = same == nullptr ? equal : b_.CreateAnd(same, equal);
        }
        IfElse(
            same,
            [&] {
              IfStored(stores, along,
                       [&] { VectorLoop(along, plan.lanes, 1, plan.masked_only, needed, nullptr, both_at_once); });
            },
            [&] {
              lanes_ = outer;
              Rewind(mark);
              one(i);
              Rewind(mark);
              one(b_.CreateAdd(i, I64(1)));
            });
        lanes_ = outer;
        dim_value_[serial] = nullptr;
        Rewind(mark);
      });
  For(pairs_end, hi, I64(1), nullptr, [&] { Precompute(needed); }, one);
}

}  // namespace tenon::emit_llvm
