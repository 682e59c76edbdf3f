// Reads and stores: addresses, guards, lanes.
#include <fmt/format.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/policy.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::kNone;
using kir::Val;
using llvm::Value;

namespace {

/// First lanes and lengths of the runs that a mask lets through; nothing where it is not known.
std::optional<llvm::SmallVector<std::pair<unsigned, unsigned>, 4>> RunsOf(Value* mask, unsigned lanes) {
  auto* known = llvm::dyn_cast<llvm::Constant>(mask);
  if (known == nullptr) return std::nullopt;
  llvm::SmallVector<std::pair<unsigned, unsigned>, 4> runs;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    auto* bit = llvm::dyn_cast_or_null<llvm::ConstantInt>(known->getAggregateElement(lane));
    if (bit == nullptr) return std::nullopt;
    if (bit->isZero()) continue;
    if (!runs.empty() && runs.back().first + runs.back().second == lane) {
      ++runs.back().second;
    } else {
      runs.push_back({lane, 1});
    }
  }
  return runs;
}

/// By how much the axis moves with each lane of `dim`, where that is known now. The dim may be there more than once.
std::optional<int64_t> StepAlong(const kir::Axis& axis, int dim) {
  int64_t step = 0;
  for (const kir::Term& term : axis.terms) {
    if (static_cast<int>(term.dim) != dim) continue;
    if (term.coef.is_param()) return std::nullopt;
    step += term.coef.baked;
  }
  return step;
}

/// Whether what the guard asks for is known to be inside, or no further outside than `reach`.
bool StaysNear(const kir::Kernel& k, const kir::Guard& guard, int64_t reach) {
  if (guard.e.offset.is_param() || guard.lo.is_param() || guard.hi.is_param()) return false;
  int64_t least = guard.e.offset.baked, most = least;
  for (const kir::Term& term : guard.e.terms) {
    const kir::Size extent = k.dims[term.dim].extent;
    if (extent.is_param() || term.coef.is_param()) return false;
    const int64_t last = term.coef.baked * std::max<int64_t>(extent.baked - 1, 0);
    (last < 0 ? least : most) += last;
  }
  return least >= guard.lo.baked - reach && most < guard.hi.baked + reach;
}

/// Whether 32 bits hold all that the guard adds and compares.
bool IsNarrow(const kir::Kernel& k, const kir::Guard& guard) {
  constexpr int64_t kNarrow = int64_t{1} << 30;  // structural: sums of two fit 32 bits
  constexpr int64_t kBehind = 1024;              // structural: lanes behind the end of a dim count too
  const auto small = [](const kir::Size& size) {
    return !size.is_param() && size.baked > -kNarrow && size.baked < kNarrow;
  };
  if (guard.e.start != kNone || guard.mod > 1 || !small(guard.e.offset) || !small(guard.lo) || !small(guard.hi))
    return false;
  int64_t most = std::max(std::abs(guard.lo.baked), std::abs(guard.hi.baked)) + std::abs(guard.e.offset.baked);
  for (const kir::Term& term : guard.e.terms) {
    const kir::Size& extent = k.dims[term.dim].extent;
    if (!small(extent) || !small(term.coef)) return false;
    most += (extent.baked + kBehind) * std::abs(term.coef.baked);
    if (most >= kNarrow) return false;
  }
  return most < kNarrow;
}

}  // namespace

size_t FunctionEmitter::AccessId(const kir::Store& store) {
  auto [it, fresh] = store_access_.try_emplace(&store, accesses_.size());
  if (fresh) {
    accesses_.push_back(Analysis::AccessOf(k_, store.buf, store.at, store.guard));
    pointers_.emplace_back();
  }
  return it->second;
}

void FunctionEmitter::ExtendPointer(size_t id) {
  const Access& access = accesses_[id];
  PointerState state = pointers_[id];
  const int bytes = ByteWidth(k_.buffers[access.buf].type);
  if (access.parts.size() > policy::kMaxTerms) {
    low_.Fail(Unimplemented(fmt::format("an access has more than {} terms", policy::kMaxTerms)));
    return;
  }
  bool changed = false;
  for (size_t i = 0; i < access.parts.size(); ++i) {
    const Contribution& part = access.parts[i];
    if (state.done >> i & 1) continue;
    Value* index = nullptr;
    switch (part.kind) {
      case Contribution::Kind::kOffset:
        index = I64(1);
        break;
      case Contribution::Kind::kDim:
        index = dim_value_[part.dim];
        break;
      case Contribution::Kind::kStart:
        if (IsVector(part.start) || (an_.deps[part.start] & CopyDims()) || !Available(part.start, 0)) continue;
        index = ToI64(part.start, Get(part.start, 0));
        break;
    }
    if (index == nullptr) continue;
    if (state.pointer == nullptr) state.pointer = BufferBase(access.buf);
    const std::optional<int64_t> factor = part.ConstFactor();
    if (const int64_t step = factor.value_or(0) * bytes; step == 1 || step == 2 || step == 4 || step == 8) {
      state.pointer = b_.CreateGEP(b_.getIntNTy(8 * static_cast<unsigned>(step)), state.pointer, index);
    } else {
      Value* elements =
          b_.CreateMul(index, factor ? I64(*factor * bytes) : b_.CreateMul(Product(part.a, part.b), I64(bytes)));
      state.pointer = b_.CreateGEP(b_.getInt8Ty(), state.pointer, elements);
    }
    state.done |= uint64_t{1} << i;
    changed = true;
  }
  if (state.pointer == nullptr) {
    state.pointer = BufferBase(access.buf);
    changed = true;
  }
  if (!changed) return;
  pointer_undo_.push_back({id, pointers_[id], undo_.size()});
  undo_.push_back({nullptr, nullptr});
  pointers_[id] = state;
}

FunctionEmitter::Place FunctionEmitter::PlaceOf(size_t id, unsigned copy, int component) {
  ExtendPointer(id);
  const Access& access = accesses_[id];
  const DType type = k_.buffers[access.buf].type;
  const int64_t bytes = ByteWidth(type);
  Place place;
  place.pointer = pointers_[id].pointer;
  const uint64_t done = pointers_[id].done;
  int64_t displacement = component == 1 ? bytes / 2 : 0;
  int64_t stride = 0;
  Value* stride_value = nullptr;
  auto add = [&](Value* sum, Value* v) { return sum == nullptr ? v : b_.CreateAdd(sum, v); };
  for (size_t i = 0; i < access.parts.size(); ++i) {
    const Contribution& part = access.parts[i];
    const std::optional<int64_t> factor = part.ConstFactor();
    auto factor_bytes = [&] { return b_.CreateMul(Product(part.a, part.b), I64(bytes)); };
    if (part.kind == Contribution::Kind::kDim) {
      if (!(done >> i & 1)) low_.Fail(Internal(fmt::format("dim {} of an access is not open", part.dim)));
      if (static_cast<int>(part.dim) == lanes_.dim) {
        if (factor) {
          stride += *factor * bytes;
        } else {
          stride_value = add(stride_value, factor_bytes());
        }
      }
      if (copy != 0 && lanes_.copies > 1 && static_cast<int>(part.dim) == lanes_.copy_dim) {
        const int64_t steps = int64_t{copy} * (lanes_.copy_dim == lanes_.dim ? lanes_.lanes : 1);
        if (factor) {
          displacement += steps * *factor * bytes;
        } else {
          place.pointer = b_.CreateGEP(b_.getInt8Ty(), place.pointer, b_.CreateMul(factor_bytes(), I64(steps)));
        }
      }
    } else if (part.kind == Contribution::Kind::kStart && !(done >> i & 1)) {
      Value* start = ToI64(part.start, Get(part.start, copy));
      const int64_t step = factor.value_or(0) * bytes;
      Value* scale = factor ? I64(step) : factor_bytes();
      if (!start->getType()->isVectorTy() && (step == 1 || step == 2 || step == 4 || step == 8)) {
        place.pointer = b_.CreateGEP(b_.getIntNTy(8 * static_cast<unsigned>(step)), place.pointer, start);
      } else if (start->getType()->isVectorTy()) {
        place.offsets = add(place.offsets, b_.CreateMul(start, low_.Splat(scale, lanes_.lanes)));
      } else {
        place.pointer = b_.CreateGEP(b_.getInt8Ty(), place.pointer, b_.CreateMul(start, scale));
      }
    }
  }
  if (displacement != 0) place.pointer = b_.CreateGEP(b_.getInt8Ty(), place.pointer, I64(displacement));
  if (stride_value != nullptr) {
    place.stride = std::nullopt;
    place.stride_value = stride != 0 ? b_.CreateAdd(stride_value, I64(stride)) : stride_value;
  } else {
    place.stride = stride;
  }
  if (place.offsets != nullptr && (stride_value != nullptr || stride != 0)) {
    Place strided = place;
    strided.offsets = nullptr;
    place.offsets = b_.CreateAdd(place.offsets, LaneOffsets(strided));
  }
  place.vector = place.offsets != nullptr || stride_value != nullptr || stride != 0;
  return place;
}

Value* FunctionEmitter::LaneOffsets(const Place& place) {
  if (place.offsets != nullptr) return place.offsets;
  llvm::SmallVector<llvm::Constant*, 64> iota;
  for (unsigned i = 0; i < lanes_.lanes; ++i)
    iota.push_back(b_.getInt64(static_cast<uint64_t>(int64_t{i} * place.stride.value_or(1))));
  Value* lanes = llvm::ConstantVector::get(iota);
  return place.stride ? lanes : b_.CreateMul(lanes, low_.Splat(place.stride_value, lanes_.lanes));
}

Value* FunctionEmitter::AndMasks(Value* a, Value* b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : b_.CreateAnd(a, b);
}

Value* FunctionEmitter::WidthOf(const kir::Guard& guard) {
  if (!guard.lo.is_param() && !guard.hi.is_param()) return I64(std::max<int64_t>(0, guard.hi.baked - guard.lo.baked));
  const auto same = [&](const Width& w) { return w.lo == guard.lo && w.hi == guard.hi; };
  if (const auto found = llvm::find_if(widths_, same); found != widths_.end()) return found->value;
  Value* hi = SizeValue(guard.hi);
  Value* value = entry_.CreateSub(hi, SizeValue(guard.lo));
  value = entry_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, I64(0));
  widths_.push_back({guard.lo, guard.hi, value});
  return value;
}

FunctionEmitter::Guarded FunctionEmitter::GuardsOf(const Access& access, unsigned copy, bool vector) {
  Guarded guarded;
  for (const kir::Guard& guard : *access.guards) {
    if (std::ranges::find(answered_, guard) != answered_.end()) continue;
    const bool in_vectors = vector && std::any_of(guard.e.terms.begin(), guard.e.terms.end(), [&](const kir::Term& t) {
                              return static_cast<int>(t.dim) == lanes_.dim;
                            });
    if (in_vectors && IsNarrow(k_, guard)) {
      // Half the vectors of the comparison below.
      const auto constant = [&](int64_t v) { return low_.Splat(b_.getInt32(static_cast<uint32_t>(v)), lanes_.lanes); };
      Value* relative = constant(guard.e.offset.baked - guard.lo.baked);
      for (const kir::Term& term : guard.e.terms) {
        Value* dim = static_cast<int>(term.dim) == lanes_.dim
                         ? DimLanes(term.dim, copy, 32)
                         : low_.Splat(b_.CreateTrunc(DimValue(term.dim, copy), b_.getInt32Ty()), lanes_.lanes);
        if (term.coef.baked != 1) dim = b_.CreateMul(dim, constant(term.coef.baked));
        relative = b_.CreateAdd(relative, dim);
      }
      guarded.lanes = AndMasks(
          guarded.lanes, b_.CreateICmpULT(relative, constant(std::max<int64_t>(0, guard.hi.baked - guard.lo.baked))));
      continue;
    }
    // structural: 64-bit numbers in the four registers that a value has at most
    const auto most_lanes = static_cast<unsigned>(isa::VectorBytes(isa_)) / 2;
    if (in_vectors && lanes_.lanes > most_lanes && guard.e.start == kNone && guard.mod == 1 &&
        guard.e.terms.size() == 1 && guard.e.terms[0].coef == kir::Size::Of(1)) {
      // The first lane inside and the first one behind, where a number of 64 bits for every lane takes too much room.
      Value* first = b_.CreateAdd(DimValue(guard.e.terms[0].dim, copy), SizeValue(guard.e.offset));
      const auto lane_of = [&](kir::Size bound, Value* least) {
        Value* lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(SizeValue(bound), first), least);
        return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, lane, I64(lanes_.lanes));
      };
      Value* lo = lane_of(guard.lo, I64(0));
      Value* count = b_.CreateSub(lane_of(guard.hi, lo), lo);
      llvm::SmallVector<llvm::Constant*, 64> iota;
      for (unsigned i = 0; i < lanes_.lanes; ++i) iota.push_back(b_.getInt32(i));
      const auto splat = [&](Value* v) { return low_.Splat(b_.CreateTrunc(v, b_.getInt32Ty()), lanes_.lanes); };
      Value* from_lo = b_.CreateSub(llvm::ConstantVector::get(iota), splat(lo));
      guarded.lanes = AndMasks(guarded.lanes, b_.CreateICmpULT(from_lo, splat(count)));
      continue;
    }
    Value* e = SizeValue(guard.e.offset);
    bool lanes_differ = false;
    for (const kir::Term& term : guard.e.terms) {
      const bool in_lanes = vector && static_cast<int>(term.dim) == lanes_.dim;
      Value* dim = in_lanes ? DimLanes(term.dim, copy, 64) : DimValue(term.dim, copy);
      if (in_lanes && !lanes_differ) {
        e = low_.Splat(e, lanes_.lanes);
        lanes_differ = true;
      }
      if (lanes_differ) dim = low_.Splat(dim, lanes_.lanes);
      Value* coef = SizeValue(term.coef);
      if (!(!term.coef.is_param() && term.coef.baked == 1))
        dim = b_.CreateMul(dim, lanes_differ ? low_.Splat(coef, lanes_.lanes) : coef);
      e = b_.CreateAdd(e, dim);
    }
    if (guard.e.start != kNone) {
      Value* start = ToI64(guard.e.start, Get(guard.e.start, copy));
      if (start->getType()->isVectorTy() && !lanes_differ) {
        e = low_.Splat(e, lanes_.lanes);
        lanes_differ = true;
      }
      if (lanes_differ) start = low_.Splat(start, lanes_.lanes);
      e = b_.CreateAdd(e, start);
    }
    auto shaped = [&](Value* v) { return lanes_differ ? low_.Splat(v, lanes_.lanes) : v; };
    Value* lo = SizeValue(guard.lo);
    // lo <= e < hi as one unsigned comparison; an empty range holds for nothing.
    Value* width = WidthOf(guard);
    Value* relative = b_.CreateSub(e, shaped(lo));
    Value* holds = b_.CreateICmpULT(relative, shaped(width));
    if (guard.mod > 1) {
      Value* modulus = shaped(I64(guard.mod));
      // The remainder of what is out of range does not matter; a power of two keeps it cheap.
      Value* rest = (guard.mod & (guard.mod - 1)) == 0 ? b_.CreateAnd(relative, shaped(I64(guard.mod - 1)))
                                                       : b_.CreateURem(relative, modulus);
      holds = b_.CreateAnd(holds, b_.CreateICmpEQ(rest, shaped(I64(0))));
    }
    Value*& mask = lanes_differ ? guarded.lanes : guarded.shared;
    mask = AndMasks(mask, holds);
  }
  return guarded;
}

void FunctionEmitter::IfStored(const std::vector<const kir::Store*>& stores, DimId dim,
                               llvm::function_ref<void()> row) {
  SmallVector<kir::Guard, 1> asked;
  for (const kir::Guard& guard : stores[0]->guard) {
    const bool alike =
        std::ranges::none_of(guard.e.terms, [&](const kir::Term& t) { return t.dim == dim; }) &&
        (guard.e.start == kNone || ((an_.deps[guard.e.start] >> dim & 1) == 0 && Available(guard.e.start, 0)));
    const bool of_all = std::ranges::all_of(
        stores, [&](const kir::Store* store) { return std::ranges::find(store->guard, guard) != store->guard.end(); });
    if (alike && of_all) asked.push_back(guard);
  }
  Access whole = accesses_[AccessId(*stores[0])];
  whole.guards = &asked;
  Value* const inside = GuardsOf(whole, 0, false).shared;
  if (inside == nullptr) return row();
  const SmallVector<kir::Guard, 1> outside = std::exchange(answered_, asked);
  If(inside, nullptr, row);
  answered_ = outside;
}

Value* FunctionEmitter::TouchesGuarded(const Access& access, unsigned copy) {
  Value* touches = nullptr;
  for (const kir::Guard& guard : *access.guards) {
    const std::optional<int64_t> along = StepAlong(guard.e, lanes_.dim);
    if (!along || *along == 0) continue;
    if (guard.e.start != kNone && IsVector(guard.e.start)) continue;
    const int64_t reach = std::abs(*along) * (lanes_.lanes - 1);
    if (StaysNear(k_, guard, reach)) continue;
    // Of its lanes, the one with the largest e is not below lo, and the one with the smallest is below hi.
    Value* most = b_.CreateAdd(SizeValue(guard.e.offset), I64(*along > 0 ? reach : 0));
    for (const kir::Term& term : guard.e.terms) {
      Value* dim = DimValue(term.dim, copy);
      if (term.coef != kir::Size::Of(1)) dim = b_.CreateMul(dim, SizeValue(term.coef));
      most = b_.CreateAdd(most, dim);
    }
    if (guard.e.start != kNone) most = b_.CreateAdd(most, ToI64(guard.e.start, Get(guard.e.start, copy)));
    Value* lo = SizeValue(guard.lo);
    Value* width = b_.CreateAdd(b_.CreateSub(SizeValue(guard.hi), lo), I64(reach));
    width = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, width, I64(0));
    touches = AndMasks(touches, b_.CreateICmpULT(b_.CreateSub(most, lo), width));
  }
  return touches;
}

Value* FunctionEmitter::GuardMask(const Guarded& guarded) {
  return AndMasks(guarded.shared == nullptr ? nullptr : low_.Splat(guarded.shared, lanes_.lanes), guarded.lanes);
}

bool FunctionEmitter::MaskedMoveIsLegal(unsigned bytes) const {
  if (isa_ == isa::IsaLevel::kAvx512) return true;
  return isa_ == isa::IsaLevel::kAvx2 && bytes >= 4;
}

llvm::Constant* FunctionEmitter::FirstOf(int64_t count, unsigned lanes) {
  llvm::SmallVector<llvm::Constant*, 64> bits;
  for (unsigned i = 0; i < lanes; ++i) bits.push_back(b_.getInt1(int64_t{i} < count));
  return llvm::ConstantVector::get(bits);
}

Value* FunctionEmitter::ActiveMask(Value* count, unsigned lanes) {
  if (const std::optional<int64_t> known = Known(count)) return FirstOf(*known, lanes);
  if (isa_ == isa::IsaLevel::kAvx512 && lanes >= 8) {  // structural: a mask of whole bytes
    // count is in [1, lanes]: shift the ones of a full mask down.
    Value* ones = b_.CreateLShr(I64(-1), b_.CreateSub(I64(64), count));
    return b_.CreateBitCast(b_.CreateTrunc(ones, b_.getIntNTy(lanes)),
                            llvm::FixedVectorType::get(b_.getInt1Ty(), lanes));
  }
  llvm::SmallVector<llvm::Constant*, 64> iota;
  for (unsigned i = 0; i < lanes; ++i) iota.push_back(b_.getInt32(i));
  return b_.CreateICmpULT(llvm::ConstantVector::get(iota), low_.Splat(b_.CreateTrunc(count, b_.getInt32Ty()), lanes));
}

bool FunctionEmitter::PairsAreWhole() const {
  if (lanes_.mask == nullptr) return true;
  // structural: masks of whole bytes, two of which fit 64 bits
  return lanes_.count != nullptr && isa_ == isa::IsaLevel::kAvx512 && lanes_.lanes >= 8 && lanes_.lanes <= 32;
}

Value* FunctionEmitter::PairMask(unsigned half) {
  if (const std::optional<int64_t> known = Known(lanes_.count))
    return FirstOf(2 * *known - int64_t{half} * lanes_.lanes, lanes_.lanes);
  Value* ones = b_.CreateLShr(I64(-1), b_.CreateSub(I64(64), b_.CreateShl(lanes_.count, I64(1))));
  if (half != 0) ones = b_.CreateLShr(ones, I64(lanes_.lanes));
  return b_.CreateBitCast(b_.CreateTrunc(ones, b_.getIntNTy(lanes_.lanes)),
                          llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_.lanes));
}

Value* FunctionEmitter::LanesTwice(Value* mask, unsigned half, bool down) {
  if (llvm::getSplatValue(mask) != nullptr) return mask;
  llvm::SmallVector<int, 64> twice;
  for (unsigned i = 0; i < lanes_.lanes; ++i) {
    const unsigned lane = (half * lanes_.lanes + i) / 2;
    twice.push_back(static_cast<int>(down ? lanes_.lanes - 1 - lane : lane));
  }
  if (llvm::isa<llvm::Constant>(mask)) return b_.CreateShuffleVector(mask, twice);
  // structural: masks have no shuffles, vectors of 32 bits have
  llvm::Type* wide = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes_.lanes);
  return b_.CreateIsNeg(b_.CreateShuffleVector(b_.CreateSExt(mask, wide), twice));
}

void FunctionEmitter::LaneLoop(const Place& place, Value* mask, llvm::function_ref<void(Value*, Value*)> body) {
  Value* offsets = nullptr;
  if (place.offsets != nullptr) {
    offsets = Alloca(place.offsets->getType(), 1);
    b_.CreateStore(place.offsets, offsets);
  }
  Value* mask_bytes = nullptr;
  if (mask != nullptr) {
    llvm::Type* bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), lanes_.lanes);
    mask_bytes = Alloca(bytes, 1);
    b_.CreateStore(b_.CreateZExt(mask, bytes), mask_bytes);
  }
  const auto one = [&](Value* lane) {
    Value* offset = nullptr;
    if (offsets != nullptr) {
      offset = b_.CreateLoad(b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), offsets, lane));
    } else {
      offset = b_.CreateMul(lane, place.stride ? I64(*place.stride) : place.stride_value);
    }
    body(lane, b_.CreateGEP(b_.getInt8Ty(), place.pointer, offset));
  };
  if (mask_bytes == nullptr && lanes_.lanes <= policy::kLanesWrittenOut) {
    for (unsigned i = 0; i < lanes_.lanes; ++i) one(I64(i));
    return;
  }
  For(
      I64(0), I64(lanes_.lanes), I64(1), nullptr, [] {},
      [&](Value* lane) {
        if (mask_bytes == nullptr) {
          one(lane);
        } else {
          Value* on = b_.CreateLoad(b_.getInt8Ty(), b_.CreateGEP(b_.getInt8Ty(), mask_bytes, lane));
          If(b_.CreateICmpNE(on, b_.getInt8(0)), nullptr, [&] { one(lane); });
        }
      });
}

void FunctionEmitter::MoveBytes(Value* to, Value* from, unsigned bytes) {
  unsigned width = kLongestUnit;
  while (width > bytes) width /= 2;
  llvm::Type* unit = b_.getIntNTy(8 * width);
  if (width == kLongestUnit) unit = llvm::FixedVectorType::get(b_.getInt8Ty(), width);
  for (unsigned at = 0; at < bytes; at += width) {
    at = std::min(at, bytes - width);
    const auto in = [&](Value* base) { return b_.CreateGEP(b_.getInt8Ty(), base, I64(at)); };
    b_.CreateAlignedStore(b_.CreateAlignedLoad(unit, in(from), llvm::Align(1)), in(to), llvm::Align(1));
  }
}

void FunctionEmitter::MoveMasked(Value* to, Value* from, Value* mask, unsigned bytes, llvm::function_ref<void()> all,
                                 llvm::function_ref<void()> by_lane) {
  const auto in = [&](Value* base, Value* at) { return b_.CreateGEP(b_.getInt8Ty(), base, at); };
  if (const auto runs = RunsOf(mask, lanes_.lanes)) {
    for (const auto [first, length] : *runs) {
      Value* at = I64(int64_t{first} * bytes);
      MoveBytes(in(to, at), in(from, at), length * bytes);
    }
    return;
  }
  llvm::Type* bits = b_.getIntNTy(lanes_.lanes);
  Value* whole = b_.CreateICmpEQ(b_.CreateBitCast(mask, bits), llvm::Constant::getAllOnesValue(bits));
  IfElse(whole, all, by_lane);
}

Value* FunctionEmitter::LoadEverySecond(llvm::Type* element, unsigned lanes, Value* pointer) {
  // Two vectors that meet in one element, so that nothing behind the last one is read.
  const auto last = static_cast<int>(lanes) - 1;
  const unsigned bytes = element->getScalarSizeInBits() / 8;
  llvm::Type* const type = llvm::FixedVectorType::get(element, lanes);
  Value* const rest = b_.CreateGEP(b_.getInt8Ty(), pointer, I64(int64_t{bytes} * last));
  Value* const low = b_.CreateAlignedLoad(type, pointer, llvm::Align(bytes));
  Value* const high = b_.CreateAlignedLoad(type, rest, llvm::Align(bytes));
  llvm::SmallVector<int, 64> pick;
  for (int i = 0; i <= last; ++i) pick.push_back(2 * i <= last ? 2 * i : 2 * i + 1);
  if (lanes * bytes >= 16) return b_.CreateShuffleVector(low, high, pick);  // structural: the shortest register
  // Lanes of part of a register change places in a whole one.
  const unsigned whole = 16 / bytes;
  const auto widened = [&](Value* v) {
    llvm::SmallVector<int, 16> as_is(whole, -1);
    for (int i = 0; i <= last; ++i) as_is[static_cast<size_t>(i)] = i;
    return b_.CreateShuffleVector(v, as_is);
  };
  for (int& from : pick) from = from > last ? from - last - 1 + static_cast<int>(whole) : from;
  pick.resize(whole, -1);
  Value* const picked = b_.CreateShuffleVector(widened(low), widened(high), pick);
  return PartOf(picked, 0, static_cast<int>(lanes));
}

Value* FunctionEmitter::LoadLanes(llvm::Type* element, const Place& place, Value* mask, Value* otherwise) {
  const unsigned lanes = lanes_.lanes;
  const unsigned bytes = element->getScalarSizeInBits() / 8;
  const llvm::Align align(bytes);
  llvm::Type* type = llvm::FixedVectorType::get(element, lanes);
  if (place.offsets == nullptr && place.stride && (*place.stride == bytes || *place.stride == -int64_t{bytes})) {
    const bool reversed = *place.stride < 0;
    Value* pointer = place.pointer;
    if (reversed) pointer = b_.CreateGEP(b_.getInt8Ty(), pointer, I64(-int64_t{bytes} * (lanes - 1)));
    if (mask == nullptr) {
      Value* v = b_.CreateAlignedLoad(type, pointer, align);
      return reversed ? b_.CreateVectorReverse(v) : v;
    }
    if (MaskedMoveIsLegal(bytes)) {
      Value* m = reversed ? b_.CreateVectorReverse(mask) : mask;
      Value* pass = reversed ? b_.CreateVectorReverse(otherwise) : otherwise;
      Value* v = b_.CreateMaskedLoad(type, pointer, align, m, pass);
      return reversed ? b_.CreateVectorReverse(v) : v;
    }
  }
  if (place.offsets == nullptr && place.stride == 2 * int64_t{bytes} && mask == nullptr && bytes >= 4) {
    return LoadEverySecond(element, lanes, place.pointer);
  }
  if (isa_ >= isa::IsaLevel::kAvx2 && (bytes == 4 || bytes == 8)) {
    Value* pointers = b_.CreateGEP(b_.getInt8Ty(), place.pointer, LaneOffsets(place));
    Value* m =
        mask != nullptr ? mask : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), b_.getTrue());
    return b_.CreateMaskedGather(type, pointers, align, m, otherwise);
  }
  Value* result = Alloca(type, 1);
  b_.CreateStore(otherwise, result);
  const auto by_lane = [&] {
    LaneLoop(place, mask, [&](Value* lane, Value* pointer) {
      b_.CreateAlignedStore(b_.CreateAlignedLoad(element, pointer, align), b_.CreateGEP(element, result, lane), align);
    });
  };
  if (mask == nullptr || place.offsets != nullptr || place.stride != bytes) {
    by_lane();
  } else {
    MoveMasked(
        result, place.pointer, mask, bytes,
        [&] { b_.CreateStore(b_.CreateAlignedLoad(type, place.pointer, align), result); }, by_lane);
  }
  return b_.CreateLoad(type, result);
}

void FunctionEmitter::StoreLanes(Value* value, const Place& place, Value* mask) {
  llvm::Type* element = value->getType()->getScalarType();
  const unsigned lanes = lanes_.lanes;
  const unsigned bytes = element->getScalarSizeInBits() / 8;
  const llvm::Align align(bytes);
  if (place.offsets == nullptr && place.stride && (*place.stride == bytes || *place.stride == -int64_t{bytes}) &&
      (mask == nullptr || MaskedMoveIsLegal(bytes))) {
    Value* pointer = place.pointer;
    if (*place.stride < 0) {
      pointer = b_.CreateGEP(b_.getInt8Ty(), pointer, I64(-int64_t{bytes} * (lanes - 1)));
      value = b_.CreateVectorReverse(value);
      if (mask != nullptr) mask = b_.CreateVectorReverse(mask);
    }
    if (mask == nullptr) {
      b_.CreateAlignedStore(value, pointer, align);
    } else {
      b_.CreateMaskedStore(value, pointer, align, mask);
    }
    return;
  }
  if (isa_ == isa::IsaLevel::kAvx512 && (bytes == 4 || bytes == 8)) {
    Value* pointers = b_.CreateGEP(b_.getInt8Ty(), place.pointer, LaneOffsets(place));
    b_.CreateMaskedScatter(value, pointers, align, mask);
    return;
  }
  Value* memory = Alloca(value->getType(), 1);
  b_.CreateStore(value, memory);
  const auto by_lane = [&] {
    LaneLoop(place, mask, [&](Value* lane, Value* pointer) {
      b_.CreateAlignedStore(b_.CreateAlignedLoad(element, b_.CreateGEP(element, memory, lane), align), pointer, align);
    });
  };
  if (mask == nullptr || place.offsets != nullptr || place.stride != bytes) {
    by_lane();
  } else {
    MoveMasked(
        place.pointer, memory, mask, bytes, [&] { b_.CreateAlignedStore(value, place.pointer, align); }, by_lane);
  }
}

void FunctionEmitter::KeepInside(Place& place, const Access& access, const Guarded& guarded, unsigned bytes,
                                 unsigned copy) {
  if (!place.vector || !MaskedMoveIsLegal(bytes)) return;
  Value* const touches = AndMasks(guarded.shared, TouchesGuarded(access, copy));
  if (touches == nullptr) return;
  Value* inside = BufferBase(access.buf);
  if (place.stride.value_or(0) < 0)
    inside = b_.CreateGEP(b_.getInt8Ty(), inside, I64(-*place.stride * (lanes_.lanes - 1)));
  place.pointer = b_.CreateSelect(touches, place.pointer, inside);
}

Value* FunctionEmitter::EmitRead(Val v, unsigned copy) {
  const kir::Node& node = k_.nodes[v];
  const kir::Read& read = k_.reads[node.attr];
  const Access& access = an_.reads[node.attr];
  const DType buffer_type = k_.buffers[read.buf].type;
  const bool complex = IsComplex(buffer_type);
  const DType type = complex ? RealPartOf(buffer_type) : buffer_type;
  llvm::Type* element = low_.MemoryType(type, 1);
  const unsigned bytes = element->getScalarSizeInBits() / 8;
  if (!IsVector(v)) {
    Value* condition = GuardsOf(access, copy, false).shared;
    if (condition == nullptr) {
      if (Value* const stored = StoredElement(KnownElement(access, copy))) return stored;
      // What others may set is looked at each time.
      const bool is_signal = k_.buffers[read.buf].kind == kir::BufKind::kSignal;
      return low_.FromMemory(type, b_.CreateAlignedLoad(element, PlaceOf(node.attr, copy, node.imm).pointer,
                                                        llvm::Align(bytes), is_signal));
    }
    Values result{Get(read.otherwise, copy)};
    const Place place = PlaceOf(node.attr, copy, node.imm);
    If(condition, &result,
       [&] { result[0] = low_.FromMemory(type, b_.CreateAlignedLoad(element, place.pointer, llvm::Align(bytes))); });
    return result[0];
  }
  if (lanes_.short_tile != nullptr) {
    EmitShortRead(v);
    return values_[Slot(v, copy)];
  }
  if (const std::optional<Stored> place = KnownPlace(access, copy)) {
    for (const Stored& s : stored_) {
      if (s.buf == place->buf && s.element == place->element && s.lanes == place->lanes && s.count == place->count &&
          s.block == b_.GetInsertBlock()) {
        return s.value;
      }
    }
  }
  if (EmitTileRead(v) || EmitGroupRead(v, copy)) return values_[Slot(v, copy)];
  if (Value* const found = TableRead(v, copy)) return found;
  const Guarded guarded = GuardsOf(access, copy, true);
  Value* guard = GuardMask(guarded);
  if (auto* known = llvm::dyn_cast_or_null<llvm::Constant>(guard)) {
    if (known->isNullValue()) return GetLanes(read.otherwise, copy);
    if (known->isAllOnesValue()) guard = nullptr;
  }
  Value* mask = AndMasks(guard, lanes_.mask);
  llvm::Type* memory_type = low_.MemoryType(type, lanes_.lanes);
  Value* otherwise = guard != nullptr ? low_.ToMemory(type, GetLanes(read.otherwise, copy))
                                      : llvm::Constant::getNullValue(memory_type);
  Place place = PlaceOf(node.attr, copy, complex ? 0 : node.imm);
  if (guard != nullptr) KeepInside(place, access, guarded, bytes, copy);
  if (!place.vector) {
    // Only the guard differs between lanes: one load serves those where it holds.
    Value* any = mask == nullptr ? nullptr : b_.CreateOrReduce(mask);
    Values scalar{llvm::Constant::getNullValue(element)};
    auto load = [&] {
      Place one = complex ? PlaceOf(node.attr, copy, node.imm) : place;
      scalar[0] = b_.CreateAlignedLoad(element, one.pointer, llvm::Align(bytes));
    };
    if (any == nullptr) {
      load();
    } else {
      If(any, &scalar, load);
    }
    Value* lanes = low_.Splat(scalar[0], lanes_.lanes);
    if (mask != nullptr) lanes = b_.CreateSelect(mask, lanes, otherwise);
    return low_.FromMemory(type, lanes);
  }
  if (complex) {
    const int64_t pair_bytes = 2 * int64_t{bytes};
    const bool down = place.stride == -pair_bytes;
    if (PairsAreWhole() && place.offsets == nullptr && (down || place.stride == pair_bytes) &&
        (guard == nullptr || MaskedMoveIsLegal(bytes))) {
      auto& pair = pairs_[CopyOf(an_.deps[v], copy) * k_.reads.size() + node.attr];
      const int64_t first = down ? -pair_bytes * (lanes_.lanes - 1) : 0;
      for (unsigned half = 0; half < 2 && pair[half] == nullptr; ++half) {
        Value* pointer =
            b_.CreateGEP(b_.getInt8Ty(), place.pointer, I64(first + int64_t{half} * lanes_.lanes * int64_t{bytes}));
        Value* there = lanes_.mask == nullptr ? nullptr : down ? LanesTwice(lanes_.mask, half, true) : PairMask(half);
        Value* moved = AndMasks(guard == nullptr ? nullptr : LanesTwice(guard, half, down), there);
        Assign(&pair[half], moved == nullptr
                                ? static_cast<Value*>(b_.CreateAlignedLoad(memory_type, pointer, llvm::Align(bytes)))
                                : b_.CreateMaskedLoad(memory_type, pointer, llvm::Align(bytes), moved,
                                                      llvm::Constant::getNullValue(memory_type)));
      }
      llvm::SmallVector<int, 64> pick;
      for (unsigned i = 0; i < lanes_.lanes; ++i)
        pick.push_back(static_cast<int>(2 * (down ? lanes_.lanes - 1 - i : i) + node.imm));
      Value* part = b_.CreateShuffleVector(pair[0], pair[1], pick);
      const auto* zero = llvm::dyn_cast<llvm::Constant>(otherwise);
      return zero != nullptr && zero->isNullValue() ? part : b_.CreateSelect(guard, part, otherwise);
    }
    if (node.imm != 0) place.pointer = b_.CreateGEP(b_.getInt8Ty(), place.pointer, I64(bytes));
    return LoadLanes(element, place, mask, otherwise);
  }
  return low_.FromMemory(type, LoadLanes(element, place, mask, otherwise));
}

std::optional<FunctionEmitter::Stored> FunctionEmitter::KnownPlace(const Access& access, unsigned copy) const {
  if (!access.guards->empty() || IsComplex(k_.buffers[access.buf].type)) return std::nullopt;
  Stored place{.buf = access.buf, .lanes = lanes_.lanes};
  if (lanes_.mask != nullptr) {
    place.count = lanes_.count == nullptr ? std::nullopt : Known(lanes_.count);
    if (!place.count) return std::nullopt;
  }
  int64_t stride = 0;
  for (const Contribution& part : access.parts) {
    const std::optional<int64_t> factor = part.ConstFactor();
    if (!factor || part.kind == Contribution::Kind::kStart) return std::nullopt;
    if (part.kind == Contribution::Kind::kOffset) {
      place.element += *factor;
      continue;
    }
    const std::optional<int64_t> at = dim_value_[part.dim] == nullptr ? std::nullopt : Known(dim_value_[part.dim]);
    if (!at) return std::nullopt;
    place.element += *factor * *at;
    if (static_cast<int>(part.dim) == lanes_.dim) stride += *factor;
    if (static_cast<int>(part.dim) == lanes_.copy_dim)
      place.element += *factor * copy * (lanes_.copy_dim == lanes_.dim ? lanes_.lanes : 1);
  }
  if (stride != 1) return std::nullopt;
  return place;
}

std::optional<FunctionEmitter::Stored> FunctionEmitter::KnownElement(const Access& access, unsigned copy) {
  if (!access.guards->empty() || IsComplex(k_.buffers[access.buf].type) || lanes_.copies > 1) return std::nullopt;
  Stored place{.buf = access.buf, .lanes = 0};
  for (const Contribution& part : access.parts) {
    const std::optional<int64_t> factor = part.ConstFactor();
    if (!factor) return std::nullopt;
    Value* at = nullptr;
    if (part.kind == Contribution::Kind::kDim) at = dim_value_[part.dim];
    if (part.kind == Contribution::Kind::kStart && !IsVector(part.start) && Available(part.start, copy))
      at = Get(part.start, copy);
    if (part.kind == Contribution::Kind::kOffset) at = I64(1);
    if (at == nullptr) return std::nullopt;
    if (const std::optional<int64_t> known = Known(at)) {
      place.element += *factor * *known;
    } else {
      place.moves.push_back({at, *factor});
    }
  }
  return place;
}

Value* FunctionEmitter::StoredElement(const std::optional<Stored>& place) const {
  if (!place) return nullptr;
  const auto found = llvm::find_if(stored_, [&](const Stored& s) {
    return s.buf == place->buf && s.lanes == 0 && s.element == place->element && s.moves == place->moves &&
           s.block == b_.GetInsertBlock();
  });
  return found == stored_.end() ? nullptr : found->value;
}

void FunctionEmitter::ForgetStored(kir::Buf buf) {
  llvm::erase_if(stored_, [&](const Stored& s) { return s.buf == buf || s.block != b_.GetInsertBlock(); });
}

void FunctionEmitter::EmitStore(const kir::Store& store, unsigned copy, bool in_vector_loop) {
  const size_t id = AccessId(store);
  const DType buffer_type = k_.buffers[store.buf].type;
  const DType type = IsComplex(buffer_type) ? RealPartOf(buffer_type) : buffer_type;
  llvm::Type* element = low_.MemoryType(type, 1);
  const unsigned bytes = element->getScalarSizeInBits() / 8;
  auto combined = [&](Value* old_memory, Value* value) {
    if (store.combine < 0) return value;
    Value* arguments[] = {low_.FromMemory(type, old_memory), value};
    return low_.Inline(k_.graphs[static_cast<size_t>(store.combine)], arguments)[0];
  };
  if (!in_vector_loop) {
    auto act = [&] {
      Value* value = Get(store.value, copy);
      const Place place = PlaceOf(id, copy, store.component);
      std::optional<Stored> known = KnownElement(accesses_[id], copy);
      Value* old = store.combine < 0 ? nullptr : StoredElement(known);
      if (store.combine >= 0 && old == nullptr) old = b_.CreateAlignedLoad(element, place.pointer, llvm::Align(bytes));
      Value* const result = combined(old, value);
      Value* const memory = low_.ToMemory(type, result);
      b_.CreateAlignedStore(memory, place.pointer, llvm::Align(bytes));
      ForgetStored(store.buf);
      if (!known || memory != result) return;
      known->value = result;
      known->block = b_.GetInsertBlock();
      stored_.push_back(std::move(*known));
    };
    Value* condition = GuardsOf(accesses_[id], copy, false).shared;
    if (condition == nullptr) {
      act();
    } else {
      If(condition, nullptr, act);
    }
    return;
  }
  const Guarded guarded = GuardsOf(accesses_[id], copy, true);
  auto act = [&](Value* mask) {
    Value* value = GetLanes(store.value, copy);
    Place place = PlaceOf(id, copy, store.component);
    if (guarded.lanes != nullptr) KeepInside(place, accesses_[id], guarded, bytes, copy);
    if (!place.vector) {
      // A guard lets one lane through at most.
      if (mask == nullptr || store.combine >= 0) {
        low_.Fail(Internal("a store in lanes does not move along them"));
        return;
      }
      Value* bits = b_.CreateBitCast(mask, b_.getIntNTy(lanes_.lanes));
      ForgetStored(store.buf);
      If(b_.CreateICmpNE(bits, llvm::ConstantInt::get(bits->getType(), 0)), nullptr, [&] {
        Value* lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getTrue());
        b_.CreateAlignedStore(b_.CreateExtractElement(low_.ToMemory(type, value), lane), place.pointer,
                              llvm::Align(bytes));
      });
      return;
    }
    Value* old = nullptr;
    if (store.combine >= 0)
      old = LoadLanes(element, place, mask, llvm::Constant::getNullValue(low_.MemoryType(type, lanes_.lanes)));
    Value* result = combined(old, value);
    Value* memory = low_.ToMemory(type, result);
    StoreLanes(memory, place, mask);
    // What memory holds in another form than registers do would have to be converted.
    std::optional<Stored> known = memory == result ? KnownPlace(accesses_[id], copy) : std::nullopt;
    if (!known || !store.guard.empty()) return ForgetStored(store.buf);
    // Vectors beside this one stay.
    llvm::erase_if(stored_, [&](const Stored& s) {
      return s.block != b_.GetInsertBlock() ||
             (s.buf == known->buf &&
              (s.lanes == 0 || (s.element < known->element + known->lanes && known->element < s.element + s.lanes)));
    });
    known->value = result;
    known->block = b_.GetInsertBlock();
    stored_.push_back(*known);
  };
  // A guard that all lanes share is a branch: memory that was written through a mask is slow to read again.
  if (guarded.shared != nullptr && guarded.lanes == nullptr) {
    If(guarded.shared, nullptr, [&] { act(lanes_.mask); });
  } else {
    act(AndMasks(GuardMask(guarded), lanes_.mask));
  }
}

bool FunctionEmitter::EmitPairedStore(const kir::Store& real, const kir::Store& imaginary, unsigned copy) {
  if (real.buf != imaginary.buf || !(real.at == imaginary.at) || !real.guard.empty() || !imaginary.guard.empty() ||
      real.component != 0 || imaginary.component != 1 || real.combine >= 0 || imaginary.combine >= 0 ||
      !PairsAreWhole()) {
    return false;
  }
  const size_t id = AccessId(real);
  const int64_t bytes = ByteWidth(k_.buffers[real.buf].type);
  const Place place = PlaceOf(id, copy, 0);
  if (place.offsets != nullptr || !place.stride || *place.stride != bytes) return false;
  ForgetStored(real.buf);
  Value* parts[] = {GetLanes(real.value, copy), GetLanes(imaginary.value, copy)};
  const llvm::Align align(static_cast<uint64_t>(bytes / 2));
  for (unsigned half = 0; half < 2; ++half) {
    llvm::SmallVector<int, 64> weave;
    for (unsigned i = 0; i < lanes_.lanes; ++i)
      weave.push_back(static_cast<int>((half * lanes_.lanes + i) / 2 + i % 2 * lanes_.lanes));
    Value* both = b_.CreateShuffleVector(parts[0], parts[1], weave);
    Value* pointer = b_.CreateGEP(b_.getInt8Ty(), place.pointer, I64(half * lanes_.lanes * (bytes / 2)));
    if (lanes_.mask == nullptr) {
      b_.CreateAlignedStore(both, pointer, align);
    } else {
      b_.CreateMaskedStore(both, pointer, align, PairMask(half));
    }
  }
  return true;
}

}  // namespace tenon::emit_llvm
