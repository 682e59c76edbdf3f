// Rows at places from data, which memory is asked for some trips before they are read.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <vector>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/policy.h"
#include "tenon/isa/cache.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::Val;
using llvm::Value;

FunctionEmitter::ForeseenRow FunctionEmitter::ForeseenRowOf(DimId dim, size_t read) {
  // Of rows that are read vector by vector around other loops each piece is short, and asked for in time as it is.
  if (lanes_.dim >= 0) return {};
  const Access& access = accesses_[read];
  ForeseenRow row{.access = read};
  kir::DimMask open = kir::DimMask{1} << dim;
  for (DimId d = 0; d < k_.dims.size(); ++d) open |= dim_value_[d] != nullptr ? kir::DimMask{1} << d : 0;
  bool moves = false;
  for (const Contribution& part : access.parts) {
    if (part.kind == Contribution::Kind::kStart) {
      if ((an_.deps[part.start] & ~open) != 0) return {};  // Found in a loop further in.
      moves |= (an_.deps[part.start] >> dim & 1) != 0;
      row.starts.push_back(part.start);
    } else if (part.kind == Contribution::Kind::kDim && part.dim != dim && dim_value_[part.dim] == nullptr) {
      if (row.along >= 0 || part.ConstFactor() != 1 || range_[part.dim].second != nullptr) return {};
      row.along = static_cast<int>(part.dim);
    }
  }
  return moves ? row : ForeseenRow();
}

void FunctionEmitter::PrefetchRows(DimId dim, Value* i, const NodeList& needed) {
  constexpr int64_t kLine = 64;  // structural: bytes of a cache line
  std::vector<ForeseenRow> rows;
  for (Val v : needed) {
    if (k_.nodes[v].op != kir::Op::kRead) continue;
    ForeseenRow row = ForeseenRowOf(dim, k_.nodes[v].attr);
    const bool seen = std::ranges::any_of(rows, [&](const ForeseenRow& other) {
      return other.starts == row.starts && accesses_[other.access].buf == accesses_[row.access].buf;
    });
    if (row.along >= 0 && !seen) rows.push_back(std::move(row));
  }
  if (rows.size() > policy::kMostForeseenRows) return;
  for (const ForeseenRow& row : rows) {
    const NodeList places = an_.Needed(row.starts);
    if (an_.Cost(places, 0) > policy::kForesightCost) continue;
    const kir::Buffer& buffer = k_.buffers[accesses_[row.access].buf];
    Value* const bytes = entry_.CreateMul(SizeValue(k_.dims[row.along].extent), I64(ByteWidth(buffer.type)));
    const auto both = [&](Value* x, Value* y) { return entry_.CreateAnd(x, y); };
    Value* const fits = both(entry_.CreateICmpSGE(bytes, I64(policy::kLeastForeseenBytes)),
                             entry_.CreateICmpSLE(bytes, I64(policy::kMostForeseenBytes)));
    Value* const far = entry_.CreateICmpSGE(BytesOf(buffer), I64(isa::Caches().l2_bytes));
    Value* const many = entry_.CreateICmpSGE(SizeValue(k_.dims[dim].extent), I64(2 * policy::kRowsAhead));
    If(both(fits, both(far, many)), nullptr, [&] {
      Value* const ahead = b_.CreateAdd(i, I64(policy::kRowsAhead));
      dim_value_[dim] = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ahead, b_.CreateSub(DimHigh(dim), I64(1)));
      Precompute(places);
      if (std::ranges::all_of(row.starts, [&](Val start) { return Available(start, 0); })) {
        ExtendPointer(row.access);
        Value* const pointer = pointers_[row.access].pointer;
        Value* const in_line = b_.CreateAnd(b_.CreatePtrToInt(pointer, b_.getInt64Ty()), I64(kLine - 1));
        Value* const first = b_.CreateGEP(b_.getInt8Ty(), pointer, b_.CreateNeg(in_line));
        For(
            I64(0), b_.CreateAdd(bytes, in_line), I64(kLine), nullptr, [] {},
            [&](Value* at) {
              b_.CreateIntrinsic(
                  llvm::Intrinsic::prefetch, {first->getType()},
                  {b_.CreateGEP(b_.getInt8Ty(), first, at), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
            });
      }
      dim_value_[dim] = nullptr;
    });
  }
}

}  // namespace tenon::emit_llvm
