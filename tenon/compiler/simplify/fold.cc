// Values known now.

#include <cstring>

#include "tenon/compiler/ir/kir_op.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/evaluate.h"

namespace tenon::compiler {

namespace {

/// Element `index` of a constant as bits.
uint64_t ElementBits(const GraphNode& constant, int64_t index) {
  const DType type = constant.shape().dtype;
  const int64_t at = constant.literal.splat ? 0 : index * ByteWidth(type);
  return compiler::ElementBits(type, constant.literal.bytes->data() + at);
}

bool Foldable(DType type) {
  if (type == DType::kPred || type == DType::kF16 || type == DType::kBF16 || type == DType::kF32 || type == DType::kF64)
    return true;
  return IsInteger(type) && DTypeBits(type) >= 8;
}

/// The elements' bytes as a literal: one of them where all are equal.
Literal ShortLiteral(std::string bytes, size_t width) {
  for (size_t at = width; at < bytes.size(); at += width) {
    if (bytes.compare(at, width, bytes, 0, width) != 0) return MakeLiteral(std::move(bytes), false);
  }
  bytes.resize(width);
  return MakeLiteral(std::move(bytes), true);
}

}  // namespace

std::optional<Ref> Simplifier::Fold(const GraphNode& node) {
  if (KindOfOp(node.op) != OpKind::kElementwise || node.in.empty()) return std::nullopt;
  const kir::Node op = KirNodeOf(node);
  if (op.op == kir::Op::kConst || !Foldable(node.shape().dtype)) return std::nullopt;
  bool splat = true;
  for (Ref r : node.in) {
    const GraphNode& def = Def(r);
    if (def.op != OpCode::kConstant || !Foldable(def.shape().dtype)) return std::nullopt;
    splat &= def.literal.splat || def.shape().rank() == 0;
  }
  const int64_t elements = NumElements(node.shape().dims);
  if (!splat && elements > policy::kMaxFoldedElements) return std::nullopt;
  const size_t width = static_cast<size_t>(ByteWidth(node.shape().dtype));
  std::string bytes;
  for (int64_t i = 0; i < (splat ? 1 : elements); ++i) {
    SmallVector<uint64_t, 3> in;
    for (Ref r : node.in) in.push_back(ElementBits(Def(r), Def(r).shape().rank() == 0 ? 0 : i));
    const uint64_t bits = kir::EvaluateScalar(op, ShapeOf(node.in.back()).dtype, {in.data(), in.size()});
    bytes.append(reinterpret_cast<const char*>(&bits), width);
  }
  return Constant(node.shape(), ShortLiteral(std::move(bytes), width));
}

std::optional<Ref> Simplifier::ViewOfConstant(const GraphNode& node) {
  const Shape shape = node.shape();
  const int64_t elements = NumElements(shape.dims);
  if (elements == 0 || elements > policy::kMaxFoldedElements) return std::nullopt;
  for (Ref r : node.in) {
    if (Def(r).op != OpCode::kConstant || NumElements(ShapeOf(r).dims) > policy::kMaxFoldedElements)
      return std::nullopt;
  }
  const auto width = static_cast<size_t>(ByteWidth(shape.dtype));
  const auto element = [&](Ref r, int64_t i) {
    const Literal& literal = Def(r).literal;
    const int64_t at = literal.bytes->size() == width ? 0 : i;
    return std::string_view(*literal.bytes).substr(static_cast<size_t>(at) * width, width);
  };
  // Each place of the result: where on the way through the op it comes from.
  const auto from = [&](Dims at) -> std::string_view {
    Ref r = node.in[0];
    switch (node.op) {
      case OpCode::kConcatenate: {
        int64_t& along = at[static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension)];
        size_t part = 0;
        for (;; ++part) {
          const int64_t extent =
              ShapeOf(node.in[part]).dims[static_cast<size_t>(node.attrs<ConcatenateAttrs>().dimension)];
          if (along < extent) break;
          along -= extent;
        }
        r = node.in[part];
        break;
      }
      case OpCode::kPad: {
        const auto& [low, high, interior] = node.attrs<PadAttrs>();
        for (size_t d = 0; d < at.size(); ++d) {
          const int64_t place = at[d] - low[d], step = interior[d] + 1;
          if (place < 0 || place % step != 0 || place / step >= ShapeOf(r).dims[d]) return element(node.in[1], 0);
          at[d] = place / step;
        }
        break;
      }
      case OpCode::kReverse:
        for (int64_t d : node.attrs<ReverseAttrs>().dimensions)
          at[static_cast<size_t>(d)] = shape.dims[static_cast<size_t>(d)] - 1 - at[static_cast<size_t>(d)];
        break;
      case OpCode::kSlice:
        for (size_t d = 0; d < at.size(); ++d)
          at[d] = node.attrs<SliceAttrs>().start_indices[d] + at[d] * node.attrs<SliceAttrs>().strides[d];
        break;
      default: {
        const Dims result = at;
        for (size_t d = 0; d < at.size(); ++d)
          at[static_cast<size_t>(node.attrs<TransposeAttrs>().permutation[d])] = result[d];
        break;
      }
    }
    int64_t index = 0;
    for (size_t d = 0; d < at.size(); ++d) index = index * ShapeOf(r).dims[d] + at[d];
    return element(r, index);
  };
  std::string bytes;
  for (int64_t i = 0; i < elements; ++i) {
    Dims at(shape.rank(), 0);
    for (size_t d = shape.rank(), rest = static_cast<size_t>(i); d-- > 0;) {
      at[d] = static_cast<int64_t>(rest) % shape.dims[d];
      rest /= static_cast<size_t>(shape.dims[d]);
    }
    bytes.append(from(std::move(at)));
  }
  return Constant(shape, ShortLiteral(std::move(bytes), width));
}

}  // namespace tenon::compiler
