// Stages that go through all points of several short dims together: what lies side by side is moved as whole vectors on
// either side, and registers permute it in between.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <numeric>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/internal/interleave.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::DimMask;
using kir::Val;
using llvm::Value;

std::optional<std::vector<int64_t>> MovesAlong(const kir::Kernel& kernel, const Access& access,
                                               llvm::ArrayRef<DimId> dims) {
  const int64_t parts = IsComplex(kernel.buffers[access.buf].type) ? 2 : 1;
  std::vector<int64_t> moves;
  for (const DimId d : dims) {
    const std::optional<int64_t> stride = ConstStride(access, d);
    if (!stride) return std::nullopt;
    moves.push_back(parts * *stride);
  }
  return moves;
}

void FunctionEmitter::EmitShortTile(const kir::Stage& stage, const StagePlan& plan, const NodeList& needed) {
  std::vector<const kir::Store*> stores;
  for (const kir::Store& s : stage.stores) stores.push_back(&s);
  Precompute(needed);
  const size_t mark = Mark();
  const Lanes outer = lanes_;
  for (const DimId d : plan.short_dims) dim_value_[d] = I64(0);
  const int dim = plan.short_dims.back();
  const auto copies = static_cast<unsigned>(plan.short_tile->vectors());
  // One read is there for all copies at once: what is made of several goes operation by operation, so that registers
  // hold what they need.
  DimMask dims = 0;
  for (const DimId d : plan.short_dims) dims |= DimMask{1} << d;
  const auto reads = std::ranges::count_if(
      needed, [&](Val v) { return k_.nodes[v].op == kir::Op::kRead && (an_.deps[v] & dims) != 0; });
  lanes_ = {.dim = dim,
            .lanes = static_cast<unsigned>(plan.short_tile->lanes()),
            .copy_dim = dim,
            .copies = copies,
            .together = reads > 1 ? copies : 1,
            .short_tile = &plan};
  EmitPoint(stores, needed);
  lanes_ = outer;
  for (const DimId d : plan.short_dims) dim_value_[d] = nullptr;
  Rewind(mark);
}

void FunctionEmitter::EmitShortStores(const std::vector<const kir::Store*>& stores, unsigned copy) {
  const StagePlan& plan = *lanes_.short_tile;
  for (size_t i = 0; i < stores.size(); ++i) {
    const kir::Store& store = *stores[i];
    const DType buffer_type = k_.buffers[store.buf].type;
    const bool complex = IsComplex(buffer_type);
    const DType type = complex ? RealPartOf(buffer_type) : buffer_type;
    const int64_t bytes = ByteWidth(buffer_type);
    const size_t id = AccessId(store);
    llvm::SmallVector<int64_t, 8> moves;
    for (const DimId d : plan.short_dims) moves.push_back(*ConstStride(accesses_[id], d));
    ExtendPointer(id);
    const int64_t first = plan.short_tile->OffsetOf(static_cast<int>(copy), 0, moves);
    Value* pointer = b_.CreateGEP(b_.getInt8Ty(), pointers_[id].pointer, I64(first * bytes));
    ForgetStored(store.buf);
    Value* value = low_.ToMemory(type, GetLanes(store.value, copy));
    const llvm::Align align(static_cast<uint64_t>(ByteWidth(type)));
    if (!complex) {
      b_.CreateAlignedStore(value, pointer, align);
      continue;
    }
    // Its other part is the next store.
    Value* imaginary = low_.ToMemory(type, GetLanes(stores[++i]->value, copy));
    for (unsigned half = 0; half < 2; ++half) {
      llvm::SmallVector<int, 64> weave;
      for (unsigned lane = 0; lane < lanes_.lanes; ++lane)
        weave.push_back(static_cast<int>((half * lanes_.lanes + lane) / 2 + lane % 2 * lanes_.lanes));
      Value* both = b_.CreateShuffleVector(value, imaginary, weave);
      b_.CreateAlignedStore(both, b_.CreateGEP(b_.getInt8Ty(), pointer, I64(half * lanes_.lanes * (bytes / 2))), align);
    }
  }
}

Value* FunctionEmitter::LoadWindow(llvm::Type* element, Value* pointer, int width) {
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  llvm::Type* const whole = llvm::FixedVectorType::get(element, lanes_.lanes);
  if (width == 1)
    return b_.CreateInsertElement(llvm::PoisonValue::get(whole), b_.CreateAlignedLoad(element, pointer, align),
                                  uint64_t{0});
  Value* loaded =
      b_.CreateAlignedLoad(llvm::FixedVectorType::get(element, static_cast<unsigned>(width)), pointer, align);
  if (width == static_cast<int>(lanes_.lanes)) return loaded;
  llvm::SmallVector<int, 64> longer(lanes_.lanes, -1);
  std::iota(longer.begin(), longer.begin() + width, 0);
  return b_.CreateShuffleVector(loaded, longer);
}

void FunctionEmitter::EmitShortRead(Val v) {
  const StagePlan& plan = *lanes_.short_tile;
  const kir::Node& node = k_.nodes[v];
  const Access& access = an_.reads[node.attr];
  const DType buffer_type = k_.buffers[access.buf].type;
  const DType type = IsComplex(buffer_type) ? RealPartOf(buffer_type) : buffer_type;
  const int bytes = ByteWidth(type);
  const std::vector<int64_t> moves = *MovesAlong(k_, access, plan.short_dims);
  const target::TileReads reads = target::ReadsOf(*plan.short_tile, moves, bytes);
  ExtendPointer(node.attr);
  llvm::SmallVector<Value*, 16> rows;
  if (target::AreGathered(reads, bytes, isa::VectorBytes(isa_))) {
    for (unsigned copy = 0; copy < lanes_.copies; ++copy) {
      llvm::SmallVector<llvm::Constant*, 64> offsets;
      for (unsigned lane = 0; lane < lanes_.lanes; ++lane) {
        const int64_t at = plan.short_tile->OffsetOf(static_cast<int>(copy), static_cast<int>(lane), moves);
        offsets.push_back(b_.getInt64(static_cast<uint64_t>((at + (IsComplex(buffer_type) ? node.imm : 0)) * bytes)));
      }
      const Place place{
          .pointer = pointers_[node.attr].pointer, .offsets = llvm::ConstantVector::get(offsets), .vector = true};
      llvm::Type* element = low_.MemoryType(type, 1);
      Value* none = llvm::Constant::getNullValue(low_.MemoryType(type, lanes_.lanes));
      Set(v, copy, low_.FromMemory(type, LoadLanes(element, place, nullptr, none)));
    }
    return;
  }
  for (const int64_t first : reads.first) {
    const int64_t at = (first + (IsComplex(buffer_type) ? node.imm : 0)) * bytes;
    Value* pointer = b_.CreateGEP(b_.getInt8Ty(), pointers_[node.attr].pointer, I64(at));
    rows.push_back(LoadWindow(low_.MemoryType(type, 1), pointer, reads.width));
  }
  if (target::IsTransposed(reads)) {
    TransposeRows(b_, rows, static_cast<unsigned>(bytes));
  } else {
    std::vector<std::vector<LaneFrom>> outputs;
    for (const std::vector<target::TileReads::From>& from : reads.lanes) {
      outputs.emplace_back();
      for (const target::TileReads::From& f : from) outputs.back().push_back({f.window, f.lane});
    }
    const LaneNetwork network =
        CollectedTogether(static_cast<int>(lanes_.lanes), static_cast<int>(rows.size()), outputs);
    const std::vector<Value*> made = RunNetwork(network, {rows.begin(), rows.end()});
    rows.assign(made.begin(), made.end());
  }
  for (unsigned copy = 0; copy < lanes_.copies; ++copy) Set(v, copy, low_.FromMemory(type, rows[copy]));
}

}  // namespace tenon::emit_llvm
