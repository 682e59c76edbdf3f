// Elements of integers that are known now.

#include "tenon/compiler/simplify/known_numbers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tenon/compiler/ir/combiner.h"
#include "tenon/compiler/ir/kir_op.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/evaluate.h"

namespace tenon::compiler {
namespace {

/// Types of which every value is an int64_t.
bool Fits(DType type) {
  if (type == DType::kPred) return true;
  return IsInteger(type) && DTypeBits(type) >= 8 &&
         (IsSigned(type) || DTypeBits(type) < 64);  // structural: whole bytes
}

/// The value of that type with these low bits.
int64_t Wrapped(DType type, uint64_t bits) {
  if (type == DType::kPred) return bits != 0 ? 1 : 0;
  const int shift = 64 - DTypeBits(type);
  return IsSigned(type) ? static_cast<int64_t>(bits << shift) >> shift : static_cast<int64_t>(bits << shift >> shift);
}

/// f(sum of at * steps) for all places of `dims`, row after row.
template <class F>
void ForEachPlace(const Dims& dims, const Dims& steps, int64_t base, const F& f) {
  Dims at(dims.size(), 0);
  for (int64_t n = NumElements(dims), place = base; n > 0; --n) {
    f(place);
    for (size_t d = dims.size(); d-- > 0;) {
      place += steps[d];
      if (++at[d] < dims[d]) break;
      place -= steps[d] * dims[d];
      at[d] = 0;
    }
  }
}

}  // namespace

const std::vector<int64_t>* KnownNumbers::Find(Ref r, int depth) {
  if (const auto it = entries_.find(r); it != entries_.end()) return it->second.known ? &it->second.values : nullptr;
  const bool before = std::exchange(too_deep_, false);
  Entry entry;
  entry.known = r.result == 0 && Make(program_[r.node], depth, entry.values);
  if (!entry.known && too_deep_) cut_.push_back(r);
  too_deep_ |= before;
  if (entry.known) kept_ += static_cast<int64_t>(entry.values.size());
  const Entry& kept = entries_[r] = std::move(entry);
  return kept.known ? &kept.values : nullptr;
}

const std::vector<int64_t>* KnownNumbers::Of(Ref r) {
  ForgetIfFull();
  const std::vector<int64_t>* const found = Find(r, 0);
  ForgetCut();
  return found;
}

std::optional<std::vector<int64_t>> KnownNumbers::Of(const GraphNode& node) {
  ForgetIfFull();
  std::vector<int64_t> values;
  const bool known = Make(node, 0, values);
  ForgetCut();
  return known ? std::optional(std::move(values)) : std::nullopt;
}

void KnownNumbers::ForgetCut() {
  for (Ref r : cut_) entries_.erase(r);
  cut_.clear();
  too_deep_ = false;
}

void KnownNumbers::ForgetIfFull() {
  if (kept_ <= policy::kMaxKnownKept) return;
  entries_.clear();
  kept_ = 0;
}

bool KnownNumbers::Make(const GraphNode& node, int depth, std::vector<int64_t>& values) {
  const Shape& shape = node.shape();
  const int64_t count = NumElements(shape.dims);
  if (node.out.size() != 1 || !Fits(shape.dtype) || count < 1 || count > policy::kMaxKnownNumbers) return false;
  if (++depth > policy::kMaxKnownDepth) {
    too_deep_ = true;
    return false;
  }
  values.reserve(static_cast<size_t>(count));
  if (KindOfOp(node.op) == OpKind::kElementwise) return MakeElementwise(node, depth, values);
  if (node.op == OpCode::kReduce) return MakeReduce(node, depth, values);
  if (node.op == OpCode::kConstant) {
    const size_t width = static_cast<size_t>(ByteWidth(shape.dtype));
    const std::string& bytes = *node.literal.bytes;
    for (int64_t i = 0; i < NumElements(shape.dims); ++i) {
      const size_t at = node.literal.splat ? 0 : static_cast<size_t>(i) * width;
      values.push_back(Wrapped(shape.dtype, ElementBits(shape.dtype, bytes.data() + at)));
    }
    return true;
  }
  Dims steps(shape.rank(), 0);
  if (node.op == OpCode::kIota) {
    steps[static_cast<size_t>(node.attrs<IotaAttrs>().iota_dimension)] = 1;
    ForEachPlace(shape.dims, steps, 0,
                 [&](int64_t place) { values.push_back(Wrapped(shape.dtype, static_cast<uint64_t>(place))); });
    return true;
  }
  if (node.op == OpCode::kConcatenate) {
    const auto along = static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension);
    int64_t outer = 1;
    for (size_t d = 0; d < along; ++d) outer *= shape.dims[d];
    std::vector<const std::vector<int64_t>*> parts;
    for (Ref part : node.in) {
      const std::vector<int64_t>* const known = Find(part, depth);
      if (known == nullptr) return false;
      parts.push_back(known);
    }
    for (int64_t row = 0; row < outer; ++row) {
      for (const std::vector<int64_t>* part : parts) {
        const auto run = static_cast<std::ptrdiff_t>(part->size()) / outer;
        values.insert(values.end(), part->begin() + row * run, part->begin() + (row + 1) * run);
      }
    }
    return true;
  }
  if (node.op != OpCode::kReshape && node.op != OpCode::kBroadcast && node.op != OpCode::kTranspose &&
      node.op != OpCode::kReverse && node.op != OpCode::kSlice)
    return false;
  const std::vector<int64_t>* const from = Find(node.in[0], depth);
  if (from == nullptr) return false;
  const Dims& dims = program_.shape(node.in[0]).dims;
  const Dims strides = RowMajorStridesElems(dims);
  int64_t base = 0;
  switch (node.op) {
    case OpCode::kReshape:
      values = *from;
      return true;
    case OpCode::kBroadcast: {
      const Dims& places = node.attrs<BroadcastAttrs>().broadcast_dimensions;
      for (size_t d = 0; d < dims.size(); ++d) steps[static_cast<size_t>(places[d])] = dims[d] == 1 ? 0 : strides[d];
      break;
    }
    case OpCode::kTranspose:
      for (size_t i = 0; i < steps.size(); ++i)
        steps[i] = strides[static_cast<size_t>(node.attrs<TransposeAttrs>().permutation[i])];
      break;
    case OpCode::kReverse:
      steps = strides;
      for (int64_t d : node.attrs<ReverseAttrs>().dimensions) {
        const auto i = static_cast<size_t>(d);
        base += (dims[i] - 1) * strides[i];
        steps[i] = -strides[i];
      }
      break;
    default:
      for (size_t i = 0; i < steps.size(); ++i) {
        base += node.attrs<SliceAttrs>().start_indices[i] * strides[i];
        steps[i] = node.attrs<SliceAttrs>().strides[i] * strides[i];
      }
      break;
  }
  ForEachPlace(shape.dims, steps, base, [&](int64_t place) { values.push_back((*from)[static_cast<size_t>(place)]); });
  return true;
}

bool KnownNumbers::MakeElementwise(const GraphNode& node, int depth, std::vector<int64_t>& values) {
  const kir::Node op = KirNodeOf(node);
  const bool clamps = node.op == OpCode::kClamp;
  if ((op.op == kir::Op::kConst && !clamps) || node.in.empty() || node.in.size() > 3)
    return false;  // structural: no known op has more operands
  const std::vector<int64_t>* in[3] = {};
  for (size_t k = 0; k < node.in.size(); ++k) {
    in[k] = Find(node.in[k], depth);
    if (in[k] == nullptr) return false;
  }
  // Bounds of a clamp and the predicate of a select may be scalars.
  const auto at = [&](size_t operand, size_t i) { return (*in[operand])[in[operand]->size() == 1 ? 0 : i]; };
  const auto count = static_cast<size_t>(NumElements(node.shape().dims));
  for (size_t i = 0; i < count; ++i) {
    if (clamps) {
      values.push_back(std::min(std::max(at(1, i), at(0, i)), at(2, i)));
      continue;
    }
    uint64_t bits[3] = {};
    DType type = DType::kInvalid;
    for (size_t k = 0; k < node.in.size(); ++k) {
      type = program_.shape(node.in[k]).dtype;
      bits[k] = kir::LiteralBits(type, at(k, i));
    }
    values.push_back(Wrapped(op.type, kir::EvaluateScalar(op, type, {bits, node.in.size()})));
  }
  return true;
}

bool KnownNumbers::MakeReduce(const GraphNode& node, int depth, std::vector<int64_t>& values) {
  if (node.in.size() != 2) return false;
  const DType type = node.shape().dtype;
  kir::Node op;
  op.op = KirOpOf(CombinerOp(program_, node.blocks[0]));
  op.type = type;
  if (!IdentityBits(op.op, type)) return false;  // In any order, that is.
  const std::vector<int64_t>* const from = Find(node.in[0], depth);
  const std::vector<int64_t>* const init = from == nullptr ? nullptr : Find(node.in[1], depth);
  if (init == nullptr) return false;
  const Dims& dims = program_.shape(node.in[0]).dims;
  const Dims& over = node.attrs<ReduceAttrs>().dimensions;
  const Dims kept = RowMajorStridesElems(node.shape().dims);
  Dims steps;
  size_t next = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool reduced = std::find(over.begin(), over.end(), static_cast<int64_t>(d)) != over.end();
    steps.push_back(reduced ? 0 : kept[next++]);
  }
  values.assign(static_cast<size_t>(NumElements(node.shape().dims)), (*init)[0]);
  size_t i = 0;
  ForEachPlace(dims, steps, 0, [&](int64_t place) {
    int64_t& value = values[static_cast<size_t>(place)];
    const uint64_t bits[] = {kir::LiteralBits(type, value), kir::LiteralBits(type, (*from)[i++])};
    value = Wrapped(type, kir::EvaluateScalar(op, type, bits));
  });
  return true;
}

}  // namespace tenon::compiler
