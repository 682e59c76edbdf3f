// What is taken apart, computed part by part.

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>

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

using Users = std::unordered_map<NodeId, std::vector<NodeId>>;
using Positions = std::unordered_map<NodeId, size_t>;  // In the block.

class Parts {
 public:
  Parts(Program& p, RuleLog& log) : p_(p), log_(log), uses_(CountUses(p)) {}

  bool Run(Block& block) {
    bool any = false;
    Users users;
    Positions positions;
    for (size_t i = 0; i < block.nodes.size(); ++i) {
      const NodeId id = block.nodes[i];
      for (Block& inner : p_[id].blocks) any |= Run(inner);
      for (Ref r : p_[id].in) users[r.node].push_back(id);
      positions[id] = i;
    }
    // From the last one on: what is behind it stays where it is.
    for (size_t i = block.nodes.size(); i-- > 0;) {
      const auto it = users.find(block.nodes[i]);
      if (it != users.end() && TakenApart(it->first, it->second, users))
        any |= Split(block, i, it->second, users, positions);
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

  struct Alone {
    NodeId node = kNoNode;
    size_t dim = 0;  ///< Along which it is taken apart.
  };
  /// What is computed for `whole` alone, which is taken apart along `dim`, in the order of the block.
  std::vector<Alone> ForItAlone(NodeId whole, size_t dim, const Positions& positions) const {
    struct Wanted {
      NodeId node = kNoNode;
      uint32_t times = 0;
      int along = -1;  ///< -1 as a whole, or along several.
    };
    // By position: all users of a node stand behind it.
    std::map<size_t, Wanted> wanted = {{positions.at(whole), {whole, uses_[whole], static_cast<int>(dim)}}};
    std::vector<Alone> alone;
    while (!wanted.empty() && alone.size() < policy::kMaxNodesInParts) {
      const Wanted last = std::prev(wanted.end())->second;
      wanted.erase(std::prev(wanted.end()));
      if (last.along < 0 || last.times != uses_[last.node]) continue;
      const GraphNode& node = p_[last.node];
      const auto along = AlongOperands(p_, node, static_cast<size_t>(last.along));
      if (!along || node.side_effect) continue;
      alone.push_back({last.node, static_cast<size_t>(last.along)});
      for (size_t k = 0; k < node.in.size(); ++k) {
        const auto at = positions.find(node.in[k].node);
        if (at == positions.end()) continue;  // Of an outer block.
        Wanted& operand = wanted.try_emplace(at->second, Wanted{at->first, 0, (*along)[k]}).first->second;
        ++operand.times;
        if (operand.along != (*along)[k]) operand.along = -1;
      }
    }
    std::reverse(alone.begin(), alone.end());
    return alone;
  }

  bool Split(Block& block, size_t at, const std::vector<NodeId>& slices, const Users& users,
             const Positions& positions) {
    const NodeId whole = block.nodes[at];
    const std::vector<Alone> alone = ForItAlone(whole, RangeOf(p_, p_[slices[0]])->dim, positions);
    if (alone.empty()) return false;
    std::vector<NodeId> made;
    for (NodeId slice : slices) {
      const Range range = *RangeOf(p_, p_[slice]);
      std::unordered_map<NodeId, NodeId> parts;  ///< Of nodes computed for it alone, which come before their users.
      std::map<std::tuple<NodeId, uint32_t, size_t>, NodeId> taken;
      const auto add = [&](GraphNode node) { return made.emplace_back(p_.Add(std::move(node))); };
      for (const auto& [node, dim] : alone) {
        GraphNode part = p_[node];
        const auto along = *AlongOperands(p_, part, dim);
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
        part.out[0].dims[dim] = range.extent();
        part.origin = nullptr;
        if (part.op == OpCode::kReduce) {
          std::unordered_map<NodeId, NodeId> copies;
          part.blocks = {CopyOf(p_, part.blocks[0], copies)};
        }
        parts[node] = add(std::move(part));
      }
      const NodeId part = parts.at(whole);
      log_.Hit(
          Rule::compute_in_parts, [&] { return PrintNode(p_, p_[slice]); }, [&] { return PrintNode(p_, p_[part]); });
      GraphNode& user = p_[users.at(slice)[0]];
      for (Ref& in : user.in) {
        if (in.node == slice) in = {part, 0};
      }
      user.origin = nullptr;
    }
    block.nodes.insert(block.nodes.begin() + static_cast<int64_t>(at) + 1, made.begin(), made.end());
    return true;
  }

  GraphNode SliceOf(Ref r, const Range& range, const GraphNode& user) const {
    Dims extent = p_.shape(r).dims, start(extent.size(), 0);
    start[range.dim] = range.first;
    extent[range.dim] = range.extent();
    GraphNode slice = SliceNode(p_, r, start, Dims(extent.size(), 1), extent);
    slice.source = user.source;
    return slice;
  }

  Program& p_;
  RuleLog& log_;
  const std::vector<uint32_t> uses_;
};

}  // namespace

bool ComputeInParts(Program& program, RuleLog& log) { return Parts(program, log).Run(program.main); }

}  // namespace tenon::compiler
