#include "tenon/compiler/simplify/simplify.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tenon/compiler/ir/same.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {

Ref Simplifier::Map(Ref r) const {
  auto it = map_.find(r);
  TENON_CHECK(it != map_.end());
  return it->second;
}

void Simplifier::Bind(NodeId old, uint32_t result, Ref r) { map_[{old, result}] = r; }

namespace {

/// f(Ref) for what the blocks of a node take from outside. Combiners of reductions are told apart by what they do.
template <class F>
void ForEachOutside(const Program& p, const GraphNode& n, std::unordered_set<NodeId>& inside, const F& f) {
  if (n.op == OpCode::kReduce) return;
  const auto take = [&](Ref r) {
    if (!inside.contains(r.node)) f(r);
  };
  for (const Block& block : n.blocks) {
    inside.insert(block.args.begin(), block.args.end());
    for (const NodeId id : block.nodes) {
      for (Ref r : p[id].in) take(r);
      ForEachOutside(p, p[id], inside, f);
      inside.insert(id);
    }
    for (Ref r : block.results) take(r);
  }
}

uint64_t HashOfNode(const Program& p, const GraphNode& n) {
  uint64_t h = static_cast<uint64_t>(n.op) + 1;
  auto mix = [&](uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    h ^= h >> 31;
  };
  for (Ref r : n.in) mix((static_cast<uint64_t>(r.node) << 8) + r.result);
  for (const Shape& s : n.out) {
    mix(static_cast<uint64_t>(s.dtype));
    for (int64_t d : s.dims) mix(static_cast<uint64_t>(d) + 3);
  }
  mix(HashOf(n.attributes));
  if (n.literal.bytes) mix(n.literal.hash.low);
  for (char c : n.name) mix(static_cast<uint8_t>(c));
  for (const Block& b : n.blocks) mix(b.nodes.size() + 5);
  // Many branches may be chosen by one number: they differ in what they work on.
  std::unordered_set<NodeId> inside;
  if (!n.blocks.empty())
    ForEachOutside(p, n, inside, [&](Ref r) { mix((static_cast<uint64_t>(r.node) << 8) + r.result); });
  return h;
}

/// The operation of a reduction's combiner, if that is all there is to know about it.
OpCode SharedCombiner(const Program& p, const GraphNode& n) {
  if (n.op != OpCode::kReduce || n.blocks.size() != 1) return OpCode::kOpaque;
  const OpCode op = CombinerOp(p, n.blocks[0]);
  return op != OpCode::kOpaque && IdentityBits(op, p[n.blocks[0].args[0]].shape().dtype) ? op : OpCode::kOpaque;
}

/// What stands in another block for a block's nodes.
using Standins = std::unordered_map<NodeId, NodeId>;

bool StandsFor(const Standins& standins, Ref b, Ref a) {
  const auto it = standins.find(a.node);
  return a.result == b.result && b.node == (it == standins.end() ? a.node : it->second);
}

bool SameBlocks(const Program& p, const Block& a, const Block& b, Standins& standins);

/// Whether both do the same, `b` with what stands in for a's operands.
bool SameNodes(const Program& p, const GraphNode& a, const GraphNode& b, Standins& standins) {
  const auto stands_for = [&](Ref x, Ref y) { return StandsFor(standins, y, x); };
  if (!SameOperation(a, b) || !std::equal(a.in.begin(), a.in.end(), b.in.begin(), stands_for)) return false;
  if (a.op == OpCode::kReduce && SharedCombiner(p, a) != OpCode::kOpaque)
    return SharedCombiner(p, a) == SharedCombiner(p, b);
  for (size_t i = 0; i < a.blocks.size(); ++i) {
    if (!SameBlocks(p, a.blocks[i], b.blocks[i], standins)) return false;
  }
  return true;
}

/// Node by node, in their order.
bool SameBlocks(const Program& p, const Block& a, const Block& b, Standins& standins) {
  if (a.args.size() != b.args.size() || a.nodes.size() != b.nodes.size() || a.results.size() != b.results.size())
    return false;
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (p[a.args[i]].out != p[b.args[i]].out) return false;
    standins[a.args[i]] = b.args[i];
  }
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    if (!SameNodes(p, p[a.nodes[i]], p[b.nodes[i]], standins)) return false;
    standins[a.nodes[i]] = b.nodes[i];
  }
  return std::equal(a.results.begin(), a.results.end(), b.results.begin(),
                    [&](Ref x, Ref y) { return StandsFor(standins, y, x); });
}

bool Same(const Program& p, const GraphNode& a, const GraphNode& b) {
  Standins standins;
  return SameNodes(p, a, b, standins);
}

bool MayShare(const Program& p, const GraphNode& n) {
  const auto inner_may = [&](const Block& block) {
    return std::all_of(block.nodes.begin(), block.nodes.end(), [&](NodeId id) { return MayShare(p, p[id]); });
  };
  return !n.side_effect && n.op != OpCode::kParameter && n.op != OpCode::kBarrier && n.op != OpCode::kCustomCall &&
         n.op != OpCode::kOpaque && std::all_of(n.blocks.begin(), n.blocks.end(), inner_may);
}

}  // namespace

NodeId Simplifier::Append(GraphNode node) {
  if (node.source == nullptr) node.source = source_;
  const NodeId id = to_.Add(std::move(node));
  block_->nodes.push_back(id);
  return id;
}

Ref Simplifier::Emit(GraphNode node) {
  if (std::optional<Ref> simpler = Rewrite(node)) return *simpler;
  return Shared(std::move(node));
}

Ref Simplifier::Shared(GraphNode node) {
  if (!MayShare(to_, node)) return {Append(std::move(node)), 0};
  const uint64_t hash = HashOfNode(to_, node);
  auto [begin, end] = known_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (!Same(to_, to_[it->second], node)) continue;
    log_.Hit(Rule::share, [&] { return PrintNode(to_, node); }, [&] { return PrintValue(to_, {it->second, 0}); });
    return {it->second, 0};
  }
  const NodeId id = Append(std::move(node));
  known_.emplace(hash, id);
  known_order_.push_back({hash, id});
  return {id, 0};
}

void Simplifier::CopyNode(NodeId id) {
  const GraphNode& old = from_[id];
  source_ = old.source;
  if (old.op == OpCode::kWhile && CopyWhile(id)) return;
  if (old.op == OpCode::kCase && CopyCase(id)) return;
  GraphNode node = old;
  for (Ref& r : node.in) r = Map(r);
  for (size_t b = 0; b < old.blocks.size(); ++b) {
    node.blocks[b] = Block();
    CopyBlock(old.blocks[b], node.blocks[b]);
  }
  source_ = old.source;
  const size_t results = node.out.size(), nodes_before = to_.nodes.size();
  if ((results > 1 || node.op == OpCode::kSort) && BindTrivial(id, node)) return;
  if (results > 1 && (BindExtreme(id, node) || BindWindows(id, node))) return;
  const Ref r = Emit(std::move(node));
  if (Def(r).op == OpCode::kPad) {
    if (r.node >= nodes_before && cropped_[id])
      cropped_pads_.insert(r.node);
    else
      cropped_pads_.erase(r.node);
  }
  for (uint32_t i = 0; i < results; ++i) Bind(id, i, {r.node, results == 1 ? r.result : i});
}

// Several results at once that take no computing: empty arrays, sorts of single elements, and reductions over nothing.
bool Simplifier::BindTrivial(NodeId id, const GraphNode& node) {
  if (node.side_effect || node.op == OpCode::kBarrier) return false;
  const auto is_empty = [](const Shape& s) { return s.dtype != DType::kToken && NumElements(s.dims) == 0; };
  if (std::all_of(node.out.begin(), node.out.end(), is_empty)) {
    for (uint32_t i = 0; i < node.out.size(); ++i) Bind(id, i, Constant(node.shape(i), MakeLiteral("", false)));
    log_.Hit(Rule::empty_results, [&] { return PrintNode(to_, node); }, [] { return std::string("constants"); });
    return true;
  }
  if (node.op == OpCode::kSort) {
    const auto& sort = node.attrs<SortAttrs>();
    if (ShapeOf(node.in[0]).dims[static_cast<size_t>(sort.dimension)] != 1) return false;
    size_t payload = sort.descending.size();  // Behind the keys.
    for (uint32_t i = 0; i < node.out.size(); ++i)
      Bind(id, i, sort.is_position[i] != 0 ? Splat(node.shape(i), 0) : node.in[payload++]);
    log_.Hit(Rule::sort_of_one, [&] { return PrintNode(to_, node); }, [] { return std::string("operands"); });
    return true;
  }
  if (node.op != OpCode::kReduce || !is_empty(ShapeOf(node.in[0]))) return false;
  for (uint32_t i = 0; i < node.out.size(); ++i) Bind(id, i, Spread(node.in[node.in.size() / 2 + i], node.shape(i)));
  log_.Hit(Rule::empty_results, [&] { return PrintNode(to_, node); }, [] { return std::string("initial values"); });
  return true;
}

void Simplifier::CopyNodes(const Block& from, Block& to) {
  Block* const outer = block_;
  block_ = &to;
  for (NodeId id : from.nodes) CopyNode(id);
  block_ = outer;
}

void Simplifier::CopyBlock(const Block& from, Block& to) {
  const size_t before = known_order_.size();
  for (NodeId id : from.args) {
    const NodeId arg = to_.Add(from_[id]);
    to.args.push_back(arg);
    Bind(id, 0, {arg, 0});
  }
  CopyNodes(from, to);
  for (Ref r : from.results) to.results.push_back(Map(r));
  // What a block computed is not known outside of it.
  while (known_order_.size() > before) {
    auto [begin, end] = known_.equal_range(known_order_.back().first);
    for (auto it = begin; it != end; ++it) {
      if (it->second == known_order_.back().second) {
        known_.erase(it);
        break;
      }
    }
    known_order_.pop_back();
  }
}

bool Simplifier::CopyCase(NodeId id) {
  const GraphNode& old = from_[id];
  const std::optional<uint64_t> bits = SplatBits(to_, Map(old.in[0]));
  if (!bits) return false;
  const bool is_pred = from_.shape(old.in[0]).dtype == DType::kPred;
  const int64_t index = is_pred ? static_cast<int64_t>(*bits != 0) : static_cast<int32_t>(*bits);
  const int64_t last = static_cast<int64_t>(old.blocks.size()) - 1;
  const Block& branch = old.blocks[static_cast<size_t>(index < 0 || index > last ? last : index)];
  for (NodeId n : branch.nodes) CopyNode(n);
  for (uint32_t i = 0; i < old.out.size(); ++i) Bind(id, i, Map(branch.results[i]));
  log_.Hit(
      Rule::known_case, [&] { return fmt::format("case {}", index); },
      [&] { return fmt::format("its {} operations", branch.nodes.size()); });
  return true;
}

namespace {

/// Keeps what the block's results and effects need.
void DropDead(Program& p, Block& block, std::vector<bool>& live) {
  auto mark = [&](Ref r) { live[r.node] = true; };
  for (Ref r : block.results) mark(r);
  std::vector<NodeId> kept;
  for (size_t i = block.nodes.size(); i-- > 0;) {
    const NodeId id = block.nodes[i];
    GraphNode& node = p[id];
    if (!live[id] && !node.side_effect) continue;
    for (Ref r : node.in) mark(r);
    for (Block& inner : node.blocks) DropDead(p, inner, live);
    kept.push_back(id);
  }
  std::reverse(kept.begin(), kept.end());
  block.nodes = std::move(kept);
}

}  // namespace

Program Simplifier::Run() {
  to_.target = from_.target;
  to_.name = from_.name;
  to_.parameters = from_.parameters;
  to_.results = from_.results;
  cropped_.resize(from_.nodes.size());
  const std::vector<uint32_t> uses = CountUses(from_);
  for (const GraphNode& node : from_.nodes) {
    if (node.op != OpCode::kSlice && node.op != OpCode::kPad) continue;
    if (uses[node.in[0].node] == 1) cropped_[node.in[0].node] = true;
  }
  CopyBlock(from_.main, to_.main);
  HoistFromLoops(to_, log_);
  std::vector<bool> live(to_.nodes.size(), false);
  DropDead(to_, to_.main, live);
  const auto drop_dead = [&] {
    live.assign(to_.nodes.size(), false);
    DropDead(to_, to_.main, live);
  };
  if (ChooseMirrored(to_, log_)) drop_dead();
  const bool joined = JoinConcatenations(to_, log_);
  if (ComputeInParts(to_, log_) || joined) drop_dead();
  TakeFirst(to_, log_);
  return std::move(to_);
}

Program Simplify(const Program& program, const Outlook& outlook, RuleLog& log) {
  Program simple = Simplifier(program, outlook, log).Run();
  if (SplitLoops(simple, outlook, log)) simple = Simplifier(simple, outlook, log).Run();
  return simple;
}

}  // namespace tenon::compiler
