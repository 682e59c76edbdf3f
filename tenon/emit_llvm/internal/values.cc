// Node values: caching per scope and copy, hoisting, leaves.
#include <fmt/format.h>
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/math.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::DimMask;
using kir::kNone;
using kir::Op;
using kir::Val;
using llvm::Value;

void FunctionEmitter::Rewind(size_t mark) {
  while (!pointer_undo_.empty() && pointer_undo_.back().mark >= mark) {
    pointers_[pointer_undo_.back().access] = pointer_undo_.back().old;
    pointer_undo_.pop_back();
  }
  while (!result_undo_.empty() && result_undo_.back().mark >= mark) {
    result_undo_.back().map->erase(result_undo_.back().id);
    result_undo_.pop_back();
  }
  while (undo_.size() > mark) {
    if (undo_.back().where != nullptr) *undo_.back().where = undo_.back().old;
    undo_.pop_back();
  }
}

DimMask FunctionEmitter::LaneDims() const {
  if (lanes_.short_tile == nullptr) return DimMask{1} << lanes_.dim;
  DimMask dims = 0;
  for (const DimId d : lanes_.short_tile->short_dims) dims |= DimMask{1} << d;
  return dims;
}

DimMask FunctionEmitter::CopyDims() const {
  if (lanes_.copies == 1) return 0;
  if (lanes_.short_tile != nullptr) return LaneDims();
  return DimMask{1} << lanes_.dim | DimMask{1} << lanes_.copy_dim;
}

void FunctionEmitter::SetResult(ResultMap& map, uint32_t id, std::vector<Value*> values) {
  map[id] = std::move(values);
  result_undo_.push_back({&map, id, undo_.size()});
  undo_.push_back({nullptr, nullptr});
}

void FunctionEmitter::Set(Val v, unsigned copy, Value* value) { Assign(&values_[Slot(v, copy)], value); }

Value* FunctionEmitter::DimValue(DimId dim, unsigned copy) {
  Value* base = dim_value_[dim];
  if (lanes_.copies == 1 || copy == 0 || static_cast<int>(dim) != lanes_.copy_dim || lanes_.short_tile != nullptr)
    return base;
  return b_.CreateAdd(base, I64(int64_t{copy} * (lanes_.copy_dim == lanes_.dim ? lanes_.lanes : 1)));
}

Value* FunctionEmitter::DimLanes(DimId dim, unsigned copy, unsigned bits) {
  Value* base = b_.CreateTrunc(DimValue(dim, copy), b_.getIntNTy(bits));
  llvm::SmallVector<llvm::Constant*, 64> iota;
  for (unsigned i = 0; i < lanes_.lanes; ++i) {
    int64_t place = i;
    if (const StagePlan* plan = lanes_.short_tile) {
      const auto at = std::ranges::find(plan->short_dims, dim) - plan->short_dims.begin();
      place = plan->short_tile->PlaceOf(static_cast<int>(copy), static_cast<int>(i))[static_cast<size_t>(at)];
    }
    iota.push_back(llvm::ConstantInt::get(b_.getIntNTy(bits), static_cast<uint64_t>(place)));
  }
  return b_.CreateAdd(low_.Splat(base, lanes_.lanes), llvm::ConstantVector::get(iota));
}

Value* FunctionEmitter::Get(Val v, unsigned copy) {
  if (Value* known = values_[Slot(v, copy)]) return known;
  const kir::Node& node = k_.nodes[v];
  switch (node.op) {
    case Op::kConst:
      return low_.Literal(node.type, k_.literals[node.attr], 1);
    case Op::kParam:
      return SizeValue(kir::Size::Param(static_cast<int32_t>(node.attr)));
    case Op::kIndex: {
      const auto dim = static_cast<DimId>(node.attr);
      if (dim_value_[dim] == nullptr) break;
      Value* value = IsVector(v) ? DimLanes(dim, copy, 64) : DimValue(dim, copy);
      Set(v, copy, value);
      return value;
    }
    case Op::kReduced: {
      auto it = reduced_.find(node.attr);
      if (it == reduced_.end() || it->second.empty()) break;
      return it->second[CopyOf(an_.deps[v], copy) * (it->second.size() / lanes_.copies) + node.imm];
    }
    case Op::kCarried: {
      auto it = carried_.find(node.attr);
      if (it == carried_.end() || it->second.empty()) break;
      return it->second[node.imm];
    }
    default:
      if (Available(v, copy)) {
        EmitNode(v, copy);
        return values_[Slot(v, copy)];
      }
      break;
  }
  low_.Fail(Internal(fmt::format("node {} ({}) is used where its value is not known", v, kir::OpName(node.op))));
  const unsigned lanes = IsVector(v) ? lanes_.lanes : 1;
  return llvm::PoisonValue::get(low_.RegisterType(node.type, lanes));
}

Value* FunctionEmitter::GetLanes(Val v, unsigned copy) {
  const size_t slot = Slot(v, copy);
  if (splats_[slot] != nullptr) return splats_[slot];
  Value* value = Get(v, copy);
  if (lanes_.lanes == 1 || value->getType()->isVectorTy()) return value;
  value = low_.Splat(value, lanes_.lanes);
  if (!llvm::isa<llvm::Constant>(value)) Assign(&splats_[slot], value);
  return value;
}

bool FunctionEmitter::AxisAvailable(const kir::Axis& axis, unsigned copy) const {
  for (const kir::Term& term : axis.terms) {
    if (dim_value_[term.dim] == nullptr) return false;
  }
  return axis.start == kNone || Available(axis.start, copy);
}

bool FunctionEmitter::Available(Val v, unsigned copy) const {
  // Vectors that wait for their dim to be opened.
  for (DimMask closed = an_.deps[v] & pinned_; closed != 0; closed &= closed - 1) {
    if (dim_value_[std::countr_zero(closed)] == nullptr) return false;
  }
  if (Has(v, copy)) return true;
  const kir::Node& node = k_.nodes[v];
  switch (node.op) {
    case Op::kConst:
    case Op::kParam:
      return true;
    case Op::kIndex:
      return dim_value_[node.attr] != nullptr;
    case Op::kReduced: {
      auto it = reduced_.find(node.attr);
      return it != reduced_.end() && !it->second.empty();
    }
    case Op::kCarried: {
      auto it = carried_.find(node.attr);
      return it != carried_.end() && !it->second.empty();
    }
    case Op::kRead: {
      const kir::Read& read = k_.reads[node.attr];
      if (an_.buffer_mutable[read.buf] && !mutable_ok_) return false;
      for (const kir::Axis& axis : read.at) {
        if (!AxisAvailable(axis, copy)) return false;
      }
      for (const kir::Guard& guard : read.guard) {
        if (!AxisAvailable(guard.e, copy)) return false;
      }
      return read.otherwise == kNone || Available(read.otherwise, copy);
    }
    default:
      for (size_t i = 0; i < node.in.size(); ++i) {
        const Val in = node.in[i];
        if (!Has(in, copy)) {
          if (node.op == Op::kSelect && i > 0) {
            const llvm::ConstantInt* known = Decided(node.in[0]);
            if (known != nullptr && known->isZero() == (i == 1)) continue;
          }
          // Inputs come first in the node order, so only leaves can be available without having been emitted.
          if (!k_.nodes[in].in.empty() || k_.nodes[in].op == Op::kRead || !Available(in, copy)) return false;
        }
      }
      return true;
  }
}

void FunctionEmitter::Precompute(const NodeList& needed) {
  for (Val v : needed) {
    if (k_.nodes[v].op == Op::kRead) ExtendPointer(k_.nodes[v].attr);
  }
  for (unsigned copy = 0; copy < lanes_.copies; copy += lanes_.together)
    PrecomputeCopies(needed, copy, lanes_.together);
}

void FunctionEmitter::PrecomputeCopies(const NodeList& needed, unsigned first, unsigned count) {
  const NodeList* outer = std::exchange(needed_now_, &needed);
  for (Val v : needed) {
    const kir::Node& node = k_.nodes[v];
    if (node.in.empty() && node.op != Op::kRead) continue;
    // What does not differ between copies is there for all of them once it is for the first.
    llvm::SmallVector<unsigned, kMaxCopies> copies;
    for (unsigned copy = first; copy < first + count; ++copy) {
      if (Has(v, copy) || (!copies.empty() && Slot(v, copy) == Slot(v, copies.back()))) continue;
      if (Available(v, copy)) copies.push_back(copy);
    }
    if (node.op == Op::kMath && copies.size() > 1) {
      EmitMath(v, copies);
    } else {
      for (unsigned copy : copies) EmitNode(v, copy);
    }
  }
  needed_now_ = outer;
}

void FunctionEmitter::PrecomputeSplats(const NodeList& needed) {
  for (Val v : needed) {
    if (!IsVector(v)) continue;
    if (k_.nodes[v].op == Op::kRead) PrecomputeRow(v);
    if (k_.nodes[v].op == Op::kSelect && Decided(k_.nodes[v].in[0]) != nullptr) continue;
    for (Val in : k_.nodes[v].in) {
      if (IsVector(in) || (an_.deps[in] & CopyDims()) != 0 || !Available(in, 0)) continue;
      if (k_.nodes[in].op == Op::kConst) continue;
      GetLanes(in, 0);
    }
  }
}

Value* FunctionEmitter::ToI64(Val v, Value* value) {
  const DType type = TypeOf(v);
  const bool vector = value->getType()->isVectorTy();
  llvm::Type* wide =
      vector ? llvm::VectorType::get(b_.getInt64Ty(), llvm::cast<llvm::VectorType>(value->getType())->getElementCount())
             : static_cast<llvm::Type*>(b_.getInt64Ty());
  return IsSigned(type) ? b_.CreateSExtOrTrunc(value, wide) : b_.CreateZExtOrTrunc(value, wide);
}

llvm::SmallVector<Value*, 4> FunctionEmitter::Operands(Val v, unsigned copy) {
  const bool vector = IsVector(v);
  llvm::SmallVector<Value*, 4> in;
  for (Val i : k_.nodes[v].in) in.push_back(vector ? GetLanes(i, copy) : Get(i, copy));
  // What was reduced in lanes is a vector even where the dim of the lanes is not seen any more.
  if (lanes_.lanes > 1 && std::any_of(in.begin(), in.end(), [](Value* x) { return x->getType()->isVectorTy(); })) {
    for (Value*& x : in) {
      if (!x->getType()->isVectorTy()) x = low_.Splat(x, lanes_.lanes);
    }
  }
  return in;
}

void FunctionEmitter::EmitMath(Val v, llvm::ArrayRef<unsigned> copies) {
  llvm::SmallVector<Value*, 8> in;
  for (unsigned copy : copies) in.append(Operands(v, copy));
  const llvm::SmallVector<Value*, 2> results = low_.Inline(kir::MathGraph(k_.nodes[v].attr), in, copies.size());
  for (size_t i = 0; i < copies.size(); ++i) Set(v, copies[i], results[i]);
}

// Pictures: bytes as floats, brought to one, less a mean, by a deviation.
Value* FunctionEmitter::QuotientByConstant(Val v, unsigned copy) {
  const kir::Node& node = k_.nodes[v];
  if (node.op != Op::kDiv || (node.type != DType::kF32 && node.type != DType::kF64)) return nullptr;
  const kir::Node& divisor = k_.nodes[node.in[1]];
  if (divisor.op != Op::kConst) return nullptr;
  if (magnitudes_.empty()) magnitudes_ = kir::Magnitudes(k_);
  return low_.DivideByProducts(Operands(v, copy)[0], kir::LiteralValue(divisor.type, k_.literals[divisor.attr]),
                               magnitudes_[node.in[0]].least);
}

Value* FunctionEmitter::CounterWithin(Val v, unsigned copy) {
  const kir::Node& node = k_.nodes[v];
  if ((node.op != Op::kMin && node.op != Op::kMax) || node.type != DType::kS64 || IsVector(v)) return nullptr;
  for (size_t i = 0; i < 2; ++i) {
    const kir::Node& limit = k_.nodes[node.in[1 - i]];
    if (limit.op != Op::kConst) continue;
    Value* const x = Get(node.in[i], copy);
    const auto counter = counted_.find(x);
    if (counter == counted_.end()) continue;
    const auto bound = static_cast<int64_t>(k_.literals[limit.attr]);
    if (node.op == Op::kMax ? bound <= 0 : bound >= counter->second) return x;
  }
  return nullptr;
}

void FunctionEmitter::EmitNode(Val v, unsigned copy) {
  const kir::Node& node = k_.nodes[v];
  if (node.op == Op::kRead) {
    Set(v, copy, EmitRead(v, copy));
    return;
  }
  if (node.op == Op::kConvert && IsVector(v) && k_.nodes[node.in[0]].op == Op::kIndex && IsInteger(node.type) &&
      DTypeBits(node.type) >= 8) {
    Set(v, copy,
        DimLanes(static_cast<DimId>(k_.nodes[node.in[0]].attr), copy, static_cast<unsigned>(DTypeBits(node.type))));
    return;
  }
  if (node.op == Op::kMath) return EmitMath(v, copy);
  if (const llvm::ConstantInt* known = node.op == Op::kSelect ? Decided(node.in[0]) : nullptr) {
    const Val chosen = node.in[known->isZero() ? 2 : 1];
    Set(v, copy, IsVector(v) ? GetLanes(chosen, copy) : Get(chosen, copy));
    return;
  }
  if (Value* counter = CounterWithin(v, copy)) {
    Set(v, copy, counter);
    return;
  }
  if (Value* quotient = QuotientByConstant(v, copy)) {
    Set(v, copy, quotient);
    return;
  }
  llvm::SmallVector<DType, 4> types;
  for (Val i : node.in) types.push_back(TypeOf(i));
  Set(v, copy, low_.Lower(node, types, Operands(v, copy)));
}

}  // namespace tenon::emit_llvm
