#include "tenon/compiler/ir/combiner.h"

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

}  // namespace

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
