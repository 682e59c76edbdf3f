// Bitcasts between types of different widths, as integer arithmetic: parts are shifted into place, or out of it.

#include <utility>

#include "tenon/compiler/import/importer.h"

namespace tenon::compiler {
namespace {

constexpr int64_t kMaxParts = 8;  // structural: a u64 in bytes

DType UnsignedOf(int bits) {
  switch (bits) {
    case 8:
      return DType::kU8;
    case 16:
      return DType::kU16;
    case 32:
      return DType::kU32;
    default:
      return DType::kU64;
  }
}

/// Types whose bits a kernel can take apart.
bool HasWholeBytes(DType type) { return type != DType::kPred && !IsComplex(type) && DTypeBits(type) >= 8; }

}  // namespace

std::optional<Ref> Importer::ResizingBitcast(Ref x, const Shape& to, Block& block) {
  const Shape from = p_.shape(x);
  if (!HasWholeBytes(from.dtype) || !HasWholeBytes(to.dtype)) return std::nullopt;
  const int from_bits = DTypeBits(from.dtype), to_bits = DTypeBits(to.dtype);
  if (from_bits == to_bits) return std::nullopt;
  const bool joins = from_bits < to_bits;
  const int narrow_bits = joins ? from_bits : to_bits;
  const int64_t parts = (joins ? to_bits : from_bits) / narrow_bits;
  const Shape& split = joins ? from : to;
  const Dims& whole = joins ? to.dims : from.dims;
  if (parts > kMaxParts || split.rank() != whole.size() + 1 || split.dims.back() != parts) return std::nullopt;
  const auto emit = [&](OpCode op, SmallVector<Ref, 3> in, Shape shape, Attributes attributes = {}) {
    GraphNode node;
    node.op = op;
    node.in = std::move(in);
    node.out.push_back(std::move(shape));
    node.attributes = std::move(attributes);
    block.nodes.push_back(p_.Add(std::move(node)));
    return Ref{block.nodes.back(), 0};
  };
  const auto splat = [&](DType type, uint64_t value, const Dims& dims) {
    GraphNode node;
    node.op = OpCode::kConstant;
    node.literal = SplatLiteral(type, value);
    node.out.push_back({type, dims});
    block.nodes.push_back(p_.Add(std::move(node)));
    return Ref{block.nodes.back(), 0};
  };
  const auto reinterpreted = [&](Ref r, DType type) {
    const Shape shape = p_.shape(r);
    return shape.dtype == type ? r : emit(OpCode::kBitcast, {r}, {type, shape.dims});
  };
  const DType narrow = UnsignedOf(narrow_bits), wide = UnsignedOf(joins ? to_bits : from_bits);
  if (!joins) {
    BroadcastAttrs along;
    for (size_t d = 0; d < whole.size(); ++d) along.broadcast_dimensions.push_back(static_cast<int64_t>(d));
    const Ref bits = emit(OpCode::kBroadcast, {reinterpreted(x, wide)}, {wide, to.dims}, std::move(along));
    const Ref part = emit(OpCode::kIota, {}, {wide, to.dims}, IotaAttrs{static_cast<int64_t>(whole.size())});
    const Ref width = splat(wide, static_cast<uint64_t>(narrow_bits), to.dims);
    const Ref shift = emit(OpCode::kMultiply, {part, width}, {wide, to.dims});
    const Ref shifted = emit(OpCode::kShr, {bits, shift}, {wide, to.dims});
    return reinterpreted(emit(OpCode::kConvert, {shifted}, {narrow, to.dims}), to.dtype);
  }
  const Ref bits = reinterpreted(x, narrow);
  Dims start(from.rank(), 0), limit = from.dims;
  Ref sum;
  for (int64_t i = 0; i < parts; ++i) {
    start.back() = i;
    limit.back() = i + 1;
    Dims one = from.dims;
    one.back() = 1;
    Ref part = emit(OpCode::kSlice, {bits}, {narrow, one}, SliceAttrs{start, limit, Dims(from.rank(), 1)});
    part = emit(OpCode::kConvert, {emit(OpCode::kReshape, {part}, {narrow, whole})}, {wide, whole});
    if (i == 0) {
      sum = part;
      continue;
    }
    const Ref shift = splat(wide, static_cast<uint64_t>(i * narrow_bits), whole);
    sum = emit(OpCode::kOr, {sum, emit(OpCode::kShl, {part, shift}, {wide, whole})}, {wide, whole});
  }
  return reinterpreted(sum, to.dtype);
}

}  // namespace tenon::compiler
