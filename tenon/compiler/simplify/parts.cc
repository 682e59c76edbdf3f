// What is taken apart, computed part by part.

#include <algorithm>
#include <map>
#include <tuple>

#include "tenon/compiler/ir/combiner.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

/// A range of one dimension of a value.
struct Range {
  size_t dim = 0;
  int64_t first = 0, limit = 0;
  int64_t extent() const { return limit - first; }
};

/// The dimension that the slice shortens, if it is one only and without steps.
std::optional<Range> RangeOf(const Program& p, const GraphNode& slice) {
  const auto& [start, limit, stride] = slice.attrs<SliceAttrs>();
  const Dims& dims = p.shape(slice.in[0]).dims;
  std::optional<Range> range;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (stride[d] != 1 && limit[d] - start[d] > 1) return std::nullopt;
    if (limit[d] - start[d] == dims[d]) continue;
    if (range) return std::nullopt;
    range = Range{d, start[d], limit[d]};
  }
  return range;
}

/// The dimension of each operand that runs along with dimension `dim` of the node's result, -1 for one that is needed
/// whole; nothing when a part of the result is not the node of a part of its operands.
std::optional<SmallVector<int, 3>> AlongOperands(const Program& p, const GraphNode& node, size_t dim) {
  SmallVector<int, 3> along;
  if (KindOfOp(node.op) == OpKind::kElementwise) {
    for (Ref r : node.in) {
      const Dims& dims = p.shape(r).dims;
      if (!dims.empty() && dims != node.shape().dims) return std::nullopt;
      along.push_back(dims.empty() ? -1 : static_cast<int>(dim));
    }
    return along;
  }
  if (node.op == OpCode::kConstant && node.literal.splat) return along;
  if (node.op == OpCode::kBroadcast) {
    const Dims& dims = node.attrs<BroadcastAttrs>().broadcast_dimensions;
    const auto it = std::find(dims.begin(), dims.end(), static_cast<int64_t>(dim));
    const auto at = static_cast<size_t>(it - dims.begin());
    along.push_back(it == dims.end() || p.shape(node.in[0]).dims[at] == 1 ? -1 : static_cast<int>(at));
    return along;
  }
  if (node.op == OpCode::kTranspose) {
    along.push_back(static_cast<int>(node.attrs<TransposeAttrs>().permutation[dim]));
    return along;
  }
  if (node.op == OpCode::kReduce && node.in.size() == 2 && CombinerOp(p, node.blocks[0]) != OpCode::kOpaque) {
    auto at = static_cast<int64_t>(dim);
    for (int64_t d : node.attrs<ReduceAttrs>().dimensions) at += d <= at ? 1 : 0;  // Ascending.
    along.push_back(static_cast<int>(at));
    along.push_back(-1);
    return along;
  }
  return std::nullopt;
}

using Users = std::map<NodeId, std::vector<NodeId>>;

class Parts {
 public:
  Parts(Program& p, RuleLog& log) : p_(p), log_(log), uses_(CountUses(p)) {}

  bool Run(Block& block) {
    bool any = false;
    Users users;
    for (NodeId id : block.nodes) {
      for (Block& inner : p_[id].blocks) any |= Run(inner);
      for (Ref r : p_[id].in) users[r.node].push_back(id);
    }
    // From the last one on: what is behind it stays where it is.
    for (size_t i = block.nodes.size(); i-- > 0;) {
      const auto it = users.find(block.nodes[i]);
      if (it != users.end() && TakenApart(it->first, it->second, users)) any |= Split(block, i, it->second, users);
    }
    return any;
  }

 private:
  /// Whether nobody needs the value but reductions of parts of it that have no element in common.
  bool TakenApart(NodeId id, const std::vector<NodeId>& slices, const Users& users) const {
    if (slices.size() < 2 || slices.size() > policy::kMaxReducedParts || uses_[id] != slices.size()) return false;
    std::vector<Range> ranges;
    for (NodeId slice : slices) {
      if (p_[slice].op != OpCode::kSlice) return false;
      const std::optional<Range> range = RangeOf(p_, p_[slice]);
      if (!range || (!ranges.empty() && ranges[0].dim != range->dim)) return false;
      ranges.push_back(*range);
      if (!OnlyReduced(slice, users)) return false;
    }
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
    for (size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].first < ranges[i - 1].limit) return false;
    }
    return true;
  }

  /// Whether one reduction is all that uses it, reshapes between them or not.
  bool OnlyReduced(NodeId id, const Users& users) const {
    do {
      const auto it = users.find(id);
      if (it == users.end() || it->second.size() != 1 || uses_[id] != 1) return false;
      id = it->second[0];
    } while (p_[id].op == OpCode::kReshape);
    return p_[id].op == OpCode::kReduce;
  }

  /// What is computed for block.nodes[at] alone, and along which dimension it is taken apart with it.
  std::map<NodeId, size_t> ForItAlone(const Block& block, size_t at, size_t dim) const {
    struct Wanted {
      uint32_t times = 0;
      int along = -1;  ///< -1 as a whole, or along several.
    };
    std::map<NodeId, Wanted> wanted = {{block.nodes[at], {uses_[block.nodes[at]], static_cast<int>(dim)}}};
    std::map<NodeId, size_t> alone;
    for (size_t i = at + 1; i-- > 0 && alone.size() < policy::kMaxNodesInParts;) {
      const NodeId id = block.nodes[i];
      const auto it = wanted.find(id);
      if (it == wanted.end() || it->second.along < 0 || it->second.times != uses_[id]) continue;
      const GraphNode& node = p_[id];
      const auto along = AlongOperands(p_, node, static_cast<size_t>(it->second.along));
      if (!along || node.side_effect) continue;
      alone[id] = static_cast<size_t>(it->second.along);
      for (size_t k = 0; k < node.in.size(); ++k) {
        auto [operand, fresh] = wanted.try_emplace(node.in[k].node, Wanted{0, (*along)[k]});
        ++operand->second.times;
        if (operand->second.along != (*along)[k]) operand->second.along = -1;
      }
    }
    return alone;
  }

  bool Split(Block& block, size_t at, const std::vector<NodeId>& slices, const Users& users) {
    const NodeId whole = block.nodes[at];
    const std::map<NodeId, size_t> alone = ForItAlone(block, at, RangeOf(p_, p_[slices[0]])->dim);
    if (alone.empty()) return false;
    std::vector<NodeId> made;
    for (NodeId slice : slices) {
      const Range range = *RangeOf(p_, p_[slice]);
      std::map<NodeId, NodeId> parts;  ///< Of nodes computed for it alone, which come before their users.
      std::map<std::tuple<NodeId, uint32_t, size_t>, NodeId> taken;
      const auto add = [&](GraphNode node) { return made.emplace_back(p_.Add(std::move(node))); };
      for (size_t i = 0; i <= at; ++i) {
        const auto it = alone.find(block.nodes[i]);
        if (it == alone.end()) continue;
        GraphNode part = p_[it->first];
        const auto along = *AlongOperands(p_, part, it->second);
        for (size_t k = 0; k < part.in.size(); ++k) {
          if (along[k] < 0) continue;
          Ref& in = part.in[k];
          if (const auto known = parts.find(in.node); known != parts.end()) {
            in.node = known->second;
            continue;
          }
          const auto d = static_cast<size_t>(along[k]);
          auto [piece, fresh] = taken.try_emplace({in.node, in.result, d});
          if (fresh) piece->second = add(SliceOf(in, {d, range.first, range.limit}, part));
          in = {piece->second, 0};
        }
        part.out[0].dims[it->second] = range.extent();
        part.origin = nullptr;
        if (part.op == OpCode::kReduce)
          part.blocks = {MakeCombiner(p_, CombinerOp(p_, part.blocks[0]), part.shape().dtype)};
        parts[it->first] = add(std::move(part));
      }
      const NodeId part = parts.at(whole);
      log_.Hit(
          Rule::compute_in_parts, [&] { return PrintNode(p_, p_[slice]); }, [&] { return PrintNode(p_, p_[part]); });
      GraphNode& user = p_[users.at(slice)[0]];
      user.in[0] = {part, 0};
      user.origin = nullptr;
    }
    block.nodes.insert(block.nodes.begin() + static_cast<int64_t>(at) + 1, made.begin(), made.end());
    return true;
  }

  GraphNode SliceOf(Ref r, const Range& range, const GraphNode& user) const {
    const Shape& shape = p_.shape(r);
    GraphNode slice;
    slice.op = OpCode::kSlice;
    slice.in = {r};
    slice.out = {shape};
    slice.out[0].dims[range.dim] = range.extent();
    slice.source = user.source;
    Dims start(shape.rank(), 0), limit = shape.dims;
    start[range.dim] = range.first;
    limit[range.dim] = range.limit;
    slice.attributes = SliceAttrs{std::move(start), std::move(limit), Dims(shape.rank(), 1)};
    return slice;
  }

  Program& p_;
  RuleLog& log_;
  const std::vector<uint32_t> uses_;
};

}  // namespace

bool ComputeInParts(Program& program, RuleLog& log) { return Parts(program, log).Run(program.main); }

}  // namespace tenon::compiler
