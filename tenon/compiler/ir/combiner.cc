#include "tenon/compiler/ir/combiner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tenon/base/neutral.h"
#include "tenon/compiler/ir/kir_op.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {
namespace {

bool TakesEitherOrder(OpCode op) {
  switch (op) {
    case OpCode::kAdd:
    case OpCode::kMultiply:
    case OpCode::kMaximum:
    case OpCode::kMinimum:
    case OpCode::kAnd:
    case OpCode::kOr:
    case OpCode::kXor:
      return true;
    default:
      return false;
  }
}

/// What a region's values become when its two arguments change places.
class Exchange {
 public:
  enum class Is : uint8_t { kUnknown, kSame, kNegated };

  Exchange(const Program& program, const Block& block) : p_(program), block_(block) {}

  /// How the value that `x` becomes is related to `y`.
  Is Of(Ref x, Ref y) {
    const auto [known, is_new] = known_.try_emplace({x.node, y.node}, Is::kUnknown);
    if (is_new) known_[{x.node, y.node}] = Find(x, y);
    return known_[{x.node, y.node}];
  }

 private:
  Is Find(Ref x, Ref y) {
    for (const size_t i : {0, 1}) {
      if (x.node == block_.args[i]) return y.node == block_.args[1 - i] ? Is::kSame : Is::kUnknown;
    }
    const GraphNode& a = p_[x.node];
    const GraphNode& b = p_[y.node];
    if (a.op == OpCode::kConstant) return x == y ? Is::kSame : Is::kUnknown;
    const bool is_known = std::ranges::find(block_.nodes, x.node) != block_.nodes.end();
    if (!is_known || a.op != b.op || a.in.size() != b.in.size() || a.out != b.out || a.attributes != b.attributes)
      return Is::kUnknown;
    const auto same = [&](size_t i, size_t j) { return Of(a.in[i], b.in[j]) == Is::kSame; };
    if (a.in.size() == 2 && same(0, 1) && same(1, 0)) {
      if (TakesEitherOrder(a.op)) return Is::kSame;
      if (a.op == OpCode::kSubtract) return Is::kNegated;
    }
    if (a.op == OpCode::kAbs && Of(a.in[0], b.in[0]) != Is::kUnknown) return Is::kSame;
    if (a.op == OpCode::kNegate) return Of(a.in[0], b.in[0]);
    // A comparison with itself asks whether it is a number.
    if (a.op == OpCode::kCompare && a.in[0] == a.in[1] && b.in[0] == b.in[1])
      return Of(a.in[0], b.in[0]) == Is::kUnknown ? Is::kUnknown : Is::kSame;
    for (size_t i = 0; i < a.in.size(); ++i) {
      if (!same(i, i)) return Is::kUnknown;
    }
    return a.in.empty() ? Is::kUnknown : Is::kSame;
  }

  const Program& p_;
  const Block& block_;
  std::map<std::pair<NodeId, NodeId>, Is> known_;
};

}  // namespace

bool IsSymmetric(const Program& program, const Block& block) {
  constexpr size_t kMostNodes = 64;  // structural: longer ones are not looked at, each node with each
  return block.args.size() == 2 && block.results.size() == 1 && block.nodes.size() <= kMostNodes &&
         Exchange(program, block).Of(block.results[0], block.results[0]) == Exchange::Is::kSame;
}

OpCode CombinerOp(const Program& program, const Block& block) {
  if (block.args.size() != 2 || block.nodes.size() != 1 || block.results.size() != 1 ||
      block.results[0].node != block.nodes[0]) {
    return OpCode::kOpaque;
  }
  const GraphNode& node = program[block.nodes[0]];
  const Ref a{block.args[0], 0};
  const Ref b{block.args[1], 0};
  if (node.in.size() != 2) return OpCode::kOpaque;
  if (node.in[0] == a && node.in[1] == b) return node.op;
  return node.in[0] == b && node.in[1] == a && TakesEitherOrder(node.op) ? node.op : OpCode::kOpaque;
}

Block MakeCombiner(Program& program, OpCode op, DType type) {
  Block block;
  for (int i = 0; i < 2; ++i) {
    GraphNode argument;
    argument.op = OpCode::kParameter;
    argument.out.push_back({type, {}});
    block.args.push_back(program.Add(std::move(argument)));
  }
  GraphNode node;
  node.op = op;
  node.in = {{block.args[0], 0}, {block.args[1], 0}};
  node.out.push_back({type, {}});
  block.nodes.push_back(program.Add(std::move(node)));
  block.results.push_back({block.nodes[0], 0});
  return block;
}

std::optional<uint64_t> IdentityBits(OpCode op, DType type) { return kir::IdentityBits(KirOpOf(op), type); }

bool CountsAlong(const GraphNode& node, int64_t dim) {
  if (node.op != OpCode::kIota || node.attrs<IotaAttrs>().iota_dimension != dim) return false;
  const Shape& places = node.shape();
  const int64_t count = places.dims[static_cast<size_t>(dim)];
  // Those beyond what their type holds begin anew.
  return IsInteger(places.dtype) && (count == 0 || static_cast<uint64_t>(count - 1) <= HighestBits(places.dtype));
}

DType SumTypeOf(DType type) {
  switch (type) {
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kF32:
    case DType::kF64:
    case DType::kC64:
    case DType::kC128:
      return type;
    default:
      return IsInteger(type) && ByteWidth(type) * 8 == DTypeBits(type) ? type : DType::kInvalid;
  }
}

Dims ReducedExtents(const Program& program, const GraphNode& reduce) {
  Dims extents;
  for (int64_t d : reduce.attrs<ReduceAttrs>().dimensions)
    extents.push_back(program.shape(reduce.in[0]).dims[static_cast<size_t>(d)]);
  return extents;
}

bool IsUnrolledReduce(const Program& program, const GraphNode& node) {
  if (node.op != OpCode::kReduce) return false;
  const target::Target& target = *program.target;
  const int64_t elements = NumElements(ReducedExtents(program, node));
  // The combiner is written once for each: a long one alone is more than a kernel holds.
  return elements <= target.numerics.written_out_reduce &&
         elements * static_cast<int64_t>(node.blocks[0].nodes.size()) <= target.limits.nodes;
}

bool IsLoopReduce(const Program& program, const GraphNode& node) {
  return node.op == OpCode::kReduce && !IsUnrolledReduce(program, node);
}

}  // namespace tenon::compiler
