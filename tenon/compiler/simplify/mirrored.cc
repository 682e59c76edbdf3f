// A choice between a value and its mirror image, as programs that flip some pictures write it: of what the value is
// computed from, so that it is computed once, and what may be narrower is mirrored.

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

/// Whether all elements along these dims are one.
bool IsSameAlong(const Program& p, Ref r, const Dims& dims) {
  const GraphNode& node = p[r.node];
  if (p.shape(r).rank() == 0 || SplatBits(p, r)) return true;
  if (node.op == OpCode::kIota) return std::ranges::find(dims, node.attrs<IotaAttrs>().iota_dimension) == dims.end();
  if (node.op != OpCode::kBroadcast) return false;
  const Dims& of = p.shape(node.in[0]).dims;
  const Dims& places = node.attrs<BroadcastAttrs>().broadcast_dimensions;
  for (size_t i = 0; i < of.size(); ++i) {
    if (of[i] != 1 && std::ranges::find(dims, places[i]) != dims.end()) return false;
  }
  return true;
}

struct MirroredChoice {
  size_t mirrored = 0;  ///< Operand of the choice.
  NodeId reverse = kNoNode, computed = kNoNode;
  size_t varying = 0;  ///< Operand of what is computed.
};

class Chooser {
 public:
  Chooser(Program& program, RuleLog& log) : p_(program), log_(log), uses_(CountUses(program)) {}

  bool Run(Block& block) {
    bool any = false;
    std::vector<NodeId> nodes;
    const std::unordered_set<NodeId> here(block.nodes.begin(), block.nodes.end());
    for (NodeId id : block.nodes) {
      for (Block& inner : p_[id].blocks) any |= Run(inner);
      std::vector<NodeId> chain = {id};
      while (const std::optional<MirroredChoice> found = Find(chain.back(), here))
        chain.push_back(Sink(chain.back(), *found));
      any |= chain.size() > 1;
      nodes.insert(nodes.end(), chain.rbegin(), chain.rend());
    }
    block.nodes = std::move(nodes);
    return any;
  }

 private:
  std::optional<MirroredChoice> Find(NodeId choice, const std::unordered_set<NodeId>& here) const {
    const GraphNode& select = p_[choice];
    if (select.op != OpCode::kSelect || select.in[1] == select.in[2]) return std::nullopt;
    for (const size_t mirrored : {1, 2}) {
      const GraphNode& reverse = p_[select.in[mirrored].node];
      const Ref plain = select.in[3 - mirrored];
      // What others need as well is computed anyway, and what is computed outside of a loop is so once.
      if (reverse.op != OpCode::kReverse || reverse.in[0] != plain || uses_[select.in[mirrored].node] != 1 ||
          uses_[plain.node] != 2 || !here.contains(select.in[mirrored].node) || !here.contains(plain.node))
        continue;
      if (const std::optional<size_t> varying = OneVarying(plain, reverse.attrs<ReverseAttrs>().dimensions))
        return MirroredChoice{mirrored, select.in[mirrored].node, plain.node, *varying};
    }
    return std::nullopt;
  }

  /// The one operand that is not the same along the dims, where it has the value's elements and is no wider.
  std::optional<size_t> OneVarying(Ref r, const Dims& dims) const {
    const GraphNode& node = p_[r.node];
    if (KindOfOp(node.op) != OpKind::kElementwise || !node.blocks.empty() || node.out.size() != 1) return std::nullopt;
    std::optional<size_t> varying;
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (IsSameAlong(p_, node.in[i], dims)) continue;
      const Shape& operand = p_.shape(node.in[i]);
      if (varying || operand.dims != node.shape().dims || ByteWidth(operand.dtype) > ByteWidth(node.shape().dtype))
        return std::nullopt;
      varying = i;
    }
    return varying;
  }

  /// Makes of the choice what was computed, of a choice that it gives back and that stands before it.
  NodeId Sink(NodeId choice, const MirroredChoice& c) {
    GraphNode& select = p_[choice];
    GraphNode& reverse = p_[c.reverse];
    const std::string before = log_.tracing() ? PrintNode(p_, select) : std::string();
    GraphNode computed = p_[c.computed];
    const Ref x = computed.in[c.varying];
    GraphNode made = select;
    made.origin = nullptr;
    made.in[c.mirrored] = {c.reverse, 0};
    made.in[3 - c.mirrored] = x;
    made.out[0] = reverse.out[0] = p_.shape(x);
    reverse.in[0] = x;
    reverse.origin = nullptr;
    const NodeId below = p_.Add(std::move(made));
    computed.in[c.varying] = {below, 0};
    computed.origin = nullptr;
    select = std::move(computed);
    uses_.resize(p_.nodes.size());
    uses_[below] = 1;
    uses_[c.computed] = 0;
    ++uses_[x.node];
    log_.Hit(Rule::choose_mirrored, [&] { return before; }, [&] { return PrintNode(p_, p_[choice]); });
    return below;
  }

  Program& p_;
  RuleLog& log_;
  std::vector<uint32_t> uses_;
};

}  // namespace

bool ChooseMirrored(Program& program, RuleLog& log) { return Chooser(program, log).Run(program.main); }

}  // namespace tenon::compiler
