// Values known now.

#include <cstring>

#include "tenon/compiler/ir/kir_op.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/evaluate.h"
#include "tenon/kir/math.h"

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

kir::Op FoldedBy(OpCode op) {
  switch (op) {
    case OpCode::kBitcast:
      return kir::Op::kBitcast;
    case OpCode::kCompare:
      return kir::Op::kCompare;
    case OpCode::kConvert:
      return kir::Op::kConvert;
    case OpCode::kSelect:
      return kir::Op::kSelect;
    default:
      return KirOpOf(op);
  }
}

}  // namespace

std::optional<Ref> Simplifier::Fold(const GraphNode& node) {
  if (KindOfOp(node.op) != OpKind::kElementwise || node.in.empty()) return std::nullopt;
  const kir::Op op = FoldedBy(node.op);
  if (op == kir::Op::kConst || !Foldable(node.shape().dtype)) return std::nullopt;
  bool splat = true;
  for (Ref r : node.in) {
    const GraphNode& def = Def(r);
    if (def.op != OpCode::kConstant || !Foldable(def.shape().dtype)) return std::nullopt;
    splat &= def.literal.splat || def.shape().rank() == 0;
  }
  const int64_t elements = NumElements(node.shape().dims);
  if (!splat && elements > policy::kMaxFoldedElements) return std::nullopt;
  kir::GraphBuilder b;
  std::vector<kir::Val> arguments;
  for (Ref r : node.in) arguments.push_back(b.AddArgument(ShapeOf(r).dtype));
  kir::Node n;
  n.op = op;
  n.type = node.shape().dtype;
  n.imm = op == kir::Op::kCompare ? KirCompare(node.attrs<CompareAttrs>()) : 0;
  for (kir::Val v : arguments) n.in.push_back(v);
  const kir::Graph graph = b.Finish({b.Emit(std::move(n))});
  const size_t width = static_cast<size_t>(ByteWidth(node.shape().dtype));
  std::string bytes;
  for (int64_t i = 0; i < (splat ? 1 : elements); ++i) {
    std::vector<uint64_t> in;
    for (Ref r : node.in) in.push_back(ElementBits(Def(r), Def(r).shape().rank() == 0 ? 0 : i));
    Result<SmallVector<uint64_t, 2>> out = kir::Evaluate(graph, in, true);
    if (!out.ok()) return std::nullopt;
    bytes.append(reinterpret_cast<const char*>(&(*out)[0]), width);
  }
  return Constant(node.shape(), MakeLiteral(std::move(bytes), splat));
}

}  // namespace tenon::compiler
