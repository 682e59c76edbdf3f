// Reads by keys from short rows.
#include "tenon/emit_llvm/internal/tables.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/policy.h"
#include "tenon/target/lanes.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::kNone;
using kir::Val;
using llvm::Value;

std::optional<Table> TableOf(const Analysis& an, size_t read_index, DimId v, unsigned lanes, isa::IsaLevel isa) {
  const kir::Kernel& k = an.kernel;
  const kir::Read& read = k.reads[read_index];
  const kir::Buffer& buffer = k.buffers[read.buf];
  if (isa < isa::IsaLevel::kAvx2 || !read.guard.empty() || IsComplex(buffer.type)) return std::nullopt;
  const kir::DimMask along = kir::DimMask{1} << v;
  std::optional<size_t> varies;
  for (size_t i = 0; i < read.at.size(); ++i) {
    for (const kir::Term& term : read.at[i].terms) {
      if (term.dim == v) return std::nullopt;
    }
    if (read.at[i].start == kNone || !(an.deps[read.at[i].start] & along)) continue;
    if (varies) return std::nullopt;
    varies = i;
  }
  if (!varies) return std::nullopt;
  const kir::Axis& axis = read.at[*varies];
  const kir::Size extent = buffer.extent[*varies];
  if (!axis.terms.empty() || axis.offset.is_param() || axis.offset.baked < 0 ||
      buffer.stride[*varies] != kir::Size::Of(1))
    return std::nullopt;
  const std::optional<int64_t> entries = kir::KeysOf(an.ranges[axis.start]);
  if (!entries) return std::nullopt;
  Table table{.axis = *varies, .key = axis.start, .entries = *entries};
  // What the row does not have no key asks for.
  if (!extent.is_param()) table.entries = std::min(table.entries, extent.baked - axis.offset.baked);
  const int bytes = ByteWidth(buffer.type);
  const bool is_avx2 = isa == isa::IsaLevel::kAvx2;
  if (table.entries < 1 || (is_avx2 && bytes != 4)) return std::nullopt;
  table.key_bits = static_cast<unsigned>(8 * std::max(bytes, 2));  // structural: permutations of two bytes and more
  table.lanes = static_cast<unsigned>(8 * isa::VectorBytes(isa)) / table.key_bits;
  if (lanes * table.key_bits < 128) return std::nullopt;  // structural: no whole register
  const auto wanted = static_cast<uint64_t>((table.entries + table.lanes - 1) / table.lanes);
  table.registers = static_cast<unsigned>(std::bit_ceil(wanted));
  const unsigned most = is_avx2 ? policy::kMostTableRegistersAvx2 : unsigned{target::kTableRegisters};
  return table.registers <= most ? std::optional(table) : std::nullopt;
}

double TableCost(const Table& table, unsigned lanes) {
  // A load of each register, a permutation of two and a choice between what pairs give.
  const double permutations = std::max(1.0, 0.5 * table.registers), choices = permutations - 1;
  return table.registers + (permutations + 2 * choices) * std::max(lanes, table.lanes) / table.lanes;
}

void FunctionEmitter::PrecomputeRow(Val v) {
  const size_t read = k_.nodes[v].attr;
  if (rows_[read][0] != nullptr || an_.buffer_mutable[k_.reads[read].buf]) return;
  const std::optional<Table> table = TableOf(an_, read, static_cast<DimId>(lanes_.dim), lanes_.lanes, isa_);
  if (!table) return;
  ExtendPointer(read);
  const Access& access = accesses_[read];
  for (size_t i = 0; i < access.parts.size(); ++i) {
    const Contribution& part = access.parts[i];
    const bool is_key = part.kind == Contribution::Kind::kStart && part.start == table->key;
    if (!is_key && !(pointers_[read].done >> i & 1)) return;
  }
  const Values row = RowOf(*table, read, pointers_[read].pointer);
  for (size_t r = 0; r < row.size(); ++r) Assign(&rows_[read][r], row[r]);
}

bool FunctionEmitter::RowServesCopies(size_t read) const {
  return std::none_of(accesses_[read].parts.begin(), accesses_[read].parts.end(), [&](const Contribution& part) {
    if (part.kind == Contribution::Kind::kDim) return (CopyDims() >> part.dim & 1) != 0;
    return part.kind == Contribution::Kind::kStart && !IsVector(part.start) && (an_.deps[part.start] & CopyDims()) != 0;
  });
}

FunctionEmitter::Values FunctionEmitter::RowOf(const Table& table, size_t read_index, Value* pointer) {
  const kir::Read& read = k_.reads[read_index];
  const DType type = k_.buffers[read.buf].type;
  const unsigned lanes = table.lanes, bytes = low_.MemoryType(type, 1)->getScalarSizeInBits() / 8;
  llvm::Type* const entries = b_.getIntNTy(8 * bytes);
  llvm::Type* const row_type = llvm::FixedVectorType::get(entries, lanes);
  llvm::Type* const wide = llvm::FixedVectorType::get(b_.getIntNTy(table.key_bits), lanes);
  const kir::Axis& axis = read.at[table.axis];
  const kir::Size extent = k_.buffers[read.buf].extent[table.axis];
  Values row;
  for (unsigned r = 0; r < table.registers; ++r) {
    const int64_t first = int64_t{r} * lanes;
    const int64_t most = std::clamp<int64_t>(table.entries - first, 0, lanes);
    if (most == 0) {
      row.push_back(llvm::Constant::getNullValue(wide));
      continue;
    }
    Value* there = nullptr;
    if (extent.is_param()) {
      Value* left = b_.CreateSub(SizeValue(extent), I64(axis.offset.baked + first));
      there = FirstLanes(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, I64(most)), static_cast<int>(lanes));
    } else if (most < lanes) {
      there = FirstOf(most, lanes);
    }
    Value* const from = b_.CreateGEP(entries, pointer, I64(first));
    const llvm::Align align(bytes);
    Value* loaded = there == nullptr
                        ? static_cast<Value*>(b_.CreateAlignedLoad(row_type, from, align))
                        : b_.CreateMaskedLoad(row_type, from, align, there, llvm::Constant::getNullValue(row_type));
    row.push_back(b_.CreateZExt(loaded, wide));
  }
  return row;
}

Value* FunctionEmitter::TableRead(Val v, unsigned copy) {
  const size_t read = k_.nodes[v].attr;
  const std::optional<Table> table = TableOf(an_, read, static_cast<DimId>(lanes_.dim), lanes_.lanes, isa_);
  if (!table) return nullptr;
  Values row;
  if (rows_[read][0] != nullptr && RowServesCopies(read)) {
    row.append(rows_[read].begin(), rows_[read].begin() + table->registers);
  } else {
    row = RowOf(*table, read, PlaceOf(read, copy, 0).pointer);
  }

  auto* const wide = llvm::cast<llvm::VectorType>(row[0]->getType());
  const DType type = k_.buffers[k_.reads[read].buf].type;
  llvm::Type* const entries = b_.getIntNTy(low_.MemoryType(type, 1)->getScalarSizeInBits());
  Value* const keys =
      b_.CreateZExtOrTrunc(GetLanes(table->key, copy), llvm::FixedVectorType::get(wide->getScalarType(), lanes_.lanes));
  const unsigned lanes = table->lanes, at_once = std::min(lanes, lanes_.lanes);
  Values parts;
  for (unsigned first = 0; first < lanes_.lanes; first += at_once) {
    Value* part = PartOf(keys, static_cast<int>(first), static_cast<int>(at_once));
    if (at_once < lanes) {
      llvm::SmallVector<int, 64> longer(lanes, -1);
      std::iota(longer.begin(), longer.begin() + at_once, 0);
      part = b_.CreateShuffleVector(part, longer);
    }
    Values found;
    const bool in_pairs = isa_ == isa::IsaLevel::kAvx512 && row.size() > 1;
    for (size_t r = 0; r < row.size(); r += in_pairs ? 2 : 1)
      found.push_back(Permuted(row[r], in_pairs ? row[r + 1] : row[r], part));
    for (uint64_t bit = uint64_t{lanes} * (in_pairs ? 2 : 1); found.size() > 1; bit *= 2) {
      Value* const upper =
          b_.CreateICmpNE(b_.CreateAnd(part, llvm::ConstantInt::get(wide, bit)), llvm::Constant::getNullValue(wide));
      for (size_t i = 0; i < found.size() / 2; ++i) found[i] = b_.CreateSelect(upper, found[2 * i + 1], found[2 * i]);
      found.resize(found.size() / 2);
    }
    Value* taken = found[0];
    for (unsigned length = lanes; length > at_once; length /= 2) taken = PartOf(taken, 0, static_cast<int>(length / 2));
    parts.push_back(b_.CreateTrunc(taken, llvm::FixedVectorType::get(entries, at_once)));
  }
  return low_.FromMemory(type, b_.CreateBitCast(Joined(parts), low_.MemoryType(type, lanes_.lanes)));
}

Value* FunctionEmitter::Permuted(Value* low, Value* high, Value* keys) {
  namespace id = llvm::Intrinsic;
  if (isa_ == isa::IsaLevel::kAvx2) return b_.CreateIntrinsic(id::x86_avx2_permd, {}, {low, keys});
  const unsigned bits = keys->getType()->getScalarSizeInBits();
  const llvm::Intrinsic::ID of_two = bits == 64   ? id::x86_avx512_vpermi2var_q_512
                                     : bits == 32 ? id::x86_avx512_vpermi2var_d_512
                                                  : id::x86_avx512_vpermi2var_hi_512;
  return b_.CreateIntrinsic(of_two, {}, {low, keys, high});
}

}  // namespace tenon::emit_llvm
