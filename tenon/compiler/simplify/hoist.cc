// Work that leaves loops: what is the same in every trip, and products of the slices of an array that the loop walks
// along, which one product of the whole array gives at once.

#include <algorithm>

#include "tenon/compiler/ir/kir_op.h"
#include "tenon/compiler/ir/trips.h"
#include "tenon/compiler/simplify/loop_values.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

/// Whether computing it takes so much longer than reading it that a place in memory pays.
bool IsHeavy(const Program& p, const GraphNode& node) {
  if (node.op != OpCode::kRsqrt && !MathFunction(node).empty())
    return NumElements(node.shape().dims) >= policy::kMinHoistedElements;
  switch (node.op) {
    case OpCode::kReduce:
      return NumElements(p.shape(node.in[0]).dims) >= policy::kMinHoistedElements;
    case OpCode::kGather: {
      // Long rows are read as fast where they lie.
      const int64_t elements = NumElements(node.shape().dims);
      const Dims& window = node.attrs<GatherAttrs>().slice_sizes;
      return elements >= policy::kMinHoistedElements && NumElements(window) <= policy::kMaxHoistedWindow;
    }
    case OpCode::kConvert: {
      // No machine knows floats of a byte.
      const DType from = p.shape(node.in[0]).dtype;
      return IsFloat(from) && DTypeBits(from) <= 8 && NumElements(node.shape().dims) >= policy::kMinHoistedElements &&
             SizeBytes(node.shape()) <= policy::kMaxWidenedBytes;
    }
    default:
      return KindOfOp(node.op) == OpKind::kStructured;
  }
}

/// Whether its operands lie in memory, whoever computes them.
bool TakesMemory(const GraphNode& node) {
  return KindOfOp(node.op) == OpKind::kStructured && node.op != OpCode::kReduce && node.op != OpCode::kWhile &&
         node.op != OpCode::kCase && node.op != OpCode::kBarrier && node.op != OpCode::kCustomCall &&
         node.op != OpCode::kOpaque;
}

/// One loop and the block that it is in.
class Hoister {
 public:
  Hoister(Program& p, NodeId loop, RuleLog& log) : p_(p), loop_(loop), log_(log), values_(p, p[loop].blocks[1]) {}

  /// Nodes that belong before the loop, in order.
  std::vector<NodeId> Run() {
    for (NodeId id : Body().nodes) {
      if (Varies(id) ? !TakesMemory(p_[id]) : !IsHeavy(p_, p_[id]) && !IsSmaller(p_[id])) continue;
      if (!Varies(id)) values_.Want({id, 0});
      // Operands of drivers are in memory anyway.
      for (Ref r : p_[id].in) values_.Want(r);
    }
    const std::vector<NodeId> nodes = Body().nodes;
    Body().nodes.clear();
    for (NodeId id : nodes) {
      if (Varies(id) && p_[id].op == OpCode::kDot) {
        const std::string before = log_.tracing() ? PrintNode(p_, p_[id]) : std::string();
        if (TakeProduct(id, 0) || TakeProduct(id, 1)) {
          log_.Hit(Rule::hoist_product, [&] { return before; }, [&] { return PrintValue(p_, {id, 0}); });
        }
      }
      Body().nodes.push_back(id);
    }
    std::vector<NodeId> leaving = values_.TakeWanted(Body());
    for (NodeId id : leaving)
      log_.Hit(Rule::hoist, [&] { return PrintValue(p_, {id, 0}); }, [] { return std::string("before the loop"); });
    leaving.insert(leaving.end(), made_.begin(), made_.end());
    return leaving;
  }

 private:
  Block& Body() { return p_[loop_].blocks[1]; }
  bool Varies(NodeId id) const { return values_.Varies(id); }

  /// Whether reading the value takes no more than reading one of the arrays that it is computed from.
  bool IsSmaller(const GraphNode& node) const {
    if (KindOfOp(node.op) != OpKind::kElementwise || NumElements(node.shape().dims) < policy::kMinHoistedElements)
      return false;
    return std::any_of(node.in.begin(), node.in.end(), [&](Ref r) {
      const OpCode op = p_[r.node].op;
      return p_.shape(r).dims == node.shape().dims && op != OpCode::kBroadcast && op != OpCode::kIota &&
             op != OpCode::kConstant && ByteWidth(p_.shape(r).dtype) >= ByteWidth(node.shape().dtype);
    });
  }

  /// A product whose operand `side` is an element, along one dimension, of an array that the loop does not change, and
  /// whose other operand it does not change either: an element of one product.
  bool TakeProduct(NodeId id, size_t side) {
    const GraphNode dot = p_[id];
    const Ref fixed = dot.in[1 - side];
    if (Varies(fixed.node)) return false;
    const GraphNode& operand = p_[dot.in[side].node];
    const bool reshaped = operand.op == OpCode::kReshape;
    const GraphNode& slice = reshaped ? p_[operand.in[0].node] : operand;
    if (slice.op != OpCode::kDynamicSlice || Varies(slice.in[0].node)) return false;
    const Ref all = slice.in[0];
    const Shape& array = p_.shape(all);
    size_t along = array.rank();
    for (size_t d = 0; d < array.rank(); ++d) {
      if (slice.shape().dims[d] == array.dims[d]) continue;
      if (along != array.rank() || slice.shape().dims[d] != 1) return false;
      along = d;
    }
    if (along == array.rank()) return false;
    const int64_t extent = array.dims[along];
    if (reshaped) {
      Dims without = array.dims;
      without.erase(without.begin() + static_cast<ptrdiff_t>(along));
      if (operand.shape().dims != without) return false;
    }
    const int64_t trips = KnownTrips(p_, p_[loop_]);
    if (trips < policy::kMinProductTrips || trips < extent / 4 * 3) return false;

    // The array's dimensions in place of the operand's, and where the new one comes out.
    GraphNode product = dot;
    product.in[side] = all;
    int64_t place = static_cast<int64_t>(dot.attrs<DotAttrs>().lhs_batching_dimensions.size());
    const auto taken = [&](const GraphNode& node, size_t of, int64_t d) {
      const auto& numbers = node.attrs<DotAttrs>();
      const Dims &batch = BatchingDims(numbers, of), &contracting = ContractingDims(numbers, of);
      return std::find(batch.begin(), batch.end(), d) != batch.end() ||
             std::find(contracting.begin(), contracting.end(), d) != contracting.end();
    };
    if (reshaped) {
      auto& numbers = product.attrs<DotAttrs>();
      for (Dims* list : {&(side == 0 ? numbers.lhs_batching_dimensions : numbers.rhs_batching_dimensions),
                         &(side == 0 ? numbers.lhs_contracting_dimensions : numbers.rhs_contracting_dimensions)}) {
        for (int64_t& d : *list) d += d >= static_cast<int64_t>(along) ? 1 : 0;
      }
    } else if (taken(dot, side, static_cast<int64_t>(along))) {
      return false;
    }
    if (side == 1) {
      for (size_t d = 0; d < p_.shape(fixed).rank(); ++d) place += taken(dot, 0, static_cast<int64_t>(d)) ? 0 : 1;
    }
    for (size_t d = 0; d < along; ++d) place += taken(product, side, static_cast<int64_t>(d)) ? 0 : 1;
    Dims& dims = product.out[0].dims;
    Dims window = dims;
    if (reshaped) {
      dims.insert(dims.begin() + place, extent);
      window.insert(window.begin() + place, 1);
    } else {
      dims[static_cast<size_t>(place)] = extent;
    }
    const Result<int64_t> bytes = CheckedSizeBytes(product.shape());
    if (!bytes.ok() || *bytes > policy::kMaxProductBytes) return false;

    values_.Want(all);
    values_.Want(fixed);
    const Ref at = slice.in[1 + along];
    GraphNode zero;
    zero.op = OpCode::kConstant;
    zero.out = {p_.shape(at)};
    zero.literal = MakeLiteral(std::string(static_cast<size_t>(ByteWidth(p_.shape(at).dtype)), '\0'), true);
    made_.push_back(p_.Add(std::move(zero)));
    GraphNode element;
    element.op = OpCode::kDynamicSlice;
    element.in.push_back({0, 0});
    element.in.resize(1 + dims.size(), Ref{made_.back(), 0});
    element.in[1 + static_cast<size_t>(place)] = at;
    element.out = {Shape{dot.shape().dtype, window}};
    element.out[0].dims[static_cast<size_t>(place)] = 1;
    made_.push_back(p_.Add(std::move(product)));
    element.in[0] = {made_.back(), 0};
    if (!reshaped) {
      p_[id] = std::move(element);
      return true;
    }
    const NodeId taken_element = p_.Add(std::move(element));
    values_.AddVariant(taken_element);
    Body().nodes.push_back(taken_element);
    GraphNode flat;
    flat.op = OpCode::kReshape;
    flat.in.push_back({taken_element, 0});
    flat.out = dot.out;
    p_[id] = std::move(flat);
    return true;
  }

  Program& p_;
  const NodeId loop_;
  RuleLog& log_;
  LoopValues values_;
  std::vector<NodeId> made_;
};

void Hoist(Program& p, Block& block, RuleLog& log) {
  std::vector<NodeId> nodes;
  for (NodeId id : block.nodes) {
    for (Block& inner : p[id].blocks) Hoist(p, inner, log);
    if (p[id].op == OpCode::kWhile) {
      const std::vector<NodeId> hoisted = Hoister(p, id, log).Run();
      nodes.insert(nodes.end(), hoisted.begin(), hoisted.end());
    }
    nodes.push_back(id);
  }
  block.nodes = std::move(nodes);
}

}  // namespace

void HoistFromLoops(Program& program, RuleLog& log) { Hoist(program, program.main, log); }

}  // namespace tenon::compiler
