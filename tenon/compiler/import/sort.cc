// stablehlo.sort as keys and payloads: its comparator is read as "the first key that differs decides", each key being
// an expression of one element, which becomes an array of its own when it is more than an operand.

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "tenon/compiler/import/importer.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

/// A comparison of one expression of the left element with the same of the right one.
struct Comparison {
  Ref key;             ///< In terms of the left element's arguments.
  kir::Cmp direction;  ///< As if the left element's expression stood on the left.
  bool total;
};
struct Key {
  Ref key;
  bool descending;
  bool total;
};

/// A comparator's block, every expression of it numbered: equal numbers, equal expressions.
class Comparator {
 public:
  Comparator(const Program& program, const Block& block) : p_(program) {
    for (size_t i = 0; i < block.args.size(); ++i) {
      const int side = static_cast<int>(i % 2);
      argument_[block.args[i]] = i;
      expressions_[block.args[i]] = {static_cast<int>(i), static_cast<int>(i ^ 1), side == 0, side == 1};
    }
    next_ = static_cast<int>(block.args.size());
    for (NodeId id : block.nodes) AddNode(id);
  }

  std::optional<size_t> ArgumentOf(Ref r) const {
    auto it = argument_.find(r.node);
    if (it == argument_.end()) return std::nullopt;
    return it->second;
  }

  /// The keys that the value compares by, most significant first; nothing when it is something else. A key may decide
  /// again: no more of them than the block has nodes.
  std::optional<std::vector<Key>> Parse(Ref r) {
    std::vector<Key> keys;
    for (;;) {
      if (std::optional<Comparison> c = Compare(r)) {
        if (c->direction == kir::kEq) return std::nullopt;
        keys.push_back({c->key, c->direction == kir::kGt, c->total});
        return keys;
      }
      const std::optional<Link> link = LinkOf(p_[r.node]);
      if (!link) return std::nullopt;
      keys.push_back(link->key);
      r = link->rest;
    }
  }

 private:
  /// An expression of the two elements. Numbers are kNone for what is no tree of elementwise ops over them.
  struct Expression {
    int number = kNone;
    int mirrored = kNone;  ///< Number of the same with the elements swapped.
    bool left = false;     ///< Whether it uses the left element, and the right one.
    bool right = false;
  };
  /// A key that decides unless it is equal, and the value that decides then.
  struct Link {
    Key key;
    Ref rest;
  };
  static constexpr int kNone = -1;  // structural: a name for none
  using Operands = SmallVector<int, 3>;

  void AddNode(NodeId id) {
    const GraphNode& node = p_[id];
    Expression e;
    Operands plain, mirrored;
    bool known = node.op == OpCode::kConstant || (KindOfOp(node.op) == OpKind::kElementwise && !node.in.empty());
    for (Ref r : node.in) {
      const Expression& in = ExpressionOf(r);
      known &= in.number != kNone && in.mirrored != kNone;
      e.left |= in.left;
      e.right |= in.right;
      plain.push_back(in.number);
      mirrored.push_back(in.mirrored);
    }
    if (known) {
      e.number = NumberOf(node, std::move(plain));
      e.mirrored = NumberOf(node, std::move(mirrored));
    }
    expressions_[id] = e;
  }

  const Expression& ExpressionOf(Ref r) {
    if (auto it = expressions_.find(r.node); it != expressions_.end()) return it->second;
    // From outside of the comparator.
    if (p_[r.node].op == OpCode::kConstant) AddNode(r.node);
    return expressions_[r.node];
  }

  /// The number of the node's op on operands of these numbers.
  int NumberOf(const GraphNode& node, Operands operands) {
    uint64_t hash = static_cast<uint64_t>(node.op) ^ HashOf(node.attributes) ^ node.literal.hash.low;
    for (int i : operands) hash = (hash ^ static_cast<uint64_t>(i)) * 0x9e3779b97f4a7c15u;
    auto [begin, end] = known_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const auto& [other, of, number] = it->second;
      if (other->op == node.op && other->out == node.out && other->attributes == node.attributes &&
          other->name == node.name && other->literal == node.literal && of == operands)
        return number;
    }
    known_.emplace(hash, std::tuple(&node, std::move(operands), next_));
    return next_++;
  }

  /// `less | (equal & rest)`, or `equal ? rest : less`.
  std::optional<Link> LinkOf(const GraphNode& n) {
    if (n.op == OpCode::kSelect) return LinkOf(n.in[2], n.in[0], n.in[1]);
    if (n.op != OpCode::kOr) return std::nullopt;
    for (size_t first : {0, 1}) {
      const GraphNode& rest = p_[n.in[1 - first].node];
      if (rest.op != OpCode::kAnd) continue;
      for (size_t equal : {0, 1}) {
        if (const std::optional<Link> link = LinkOf(n.in[first], rest.in[equal], rest.in[1 - equal])) return link;
      }
    }
    return std::nullopt;
  }
  std::optional<Link> LinkOf(Ref less, Ref equal, Ref rest) {
    const std::optional<Comparison> l = Compare(less);
    const std::optional<Comparison> e = Compare(equal);
    if (!l || !e || l->direction == kir::kEq || e->direction != kir::kEq || l->total != e->total ||
        ExpressionOf(l->key).number != ExpressionOf(e->key).number)
      return std::nullopt;
    return Link{{l->key, l->direction == kir::kGt, l->total}, rest};
  }

  std::optional<Comparison> Compare(Ref r) {
    const GraphNode& n = p_[r.node];
    if (n.op != OpCode::kCompare) return std::nullopt;
    auto [direction, total] = n.attrs<CompareAttrs>();
    if (direction != kir::kEq && direction != kir::kLt && direction != kir::kGt) return std::nullopt;
    const Expression a = ExpressionOf(n.in[0]), b = ExpressionOf(n.in[1]);
    if (a.number == kNone || a.mirrored != b.number || a.left == a.right) return std::nullopt;
    if (a.left) return Comparison{n.in[0], direction, total};
    return Comparison{n.in[1], direction == kir::kLt ? kir::kGt : direction == kir::kGt ? kir::kLt : direction, total};
  }

  const Program& p_;
  std::unordered_map<NodeId, size_t> argument_;
  std::unordered_map<NodeId, Expression> expressions_;
  std::unordered_multimap<uint64_t, std::tuple<const GraphNode*, Operands, int>> known_;
  int next_ = 0;
};

/// Floats of eight bits whose NaNs have signs.
bool HasSignedNans(DType t) {
  return t == DType::kF8E5M2 || t == DType::kF8E4M3 || t == DType::kF8E4M3FN || t == DType::kF8E3M4;
}

/// The type in which keys of the type are compared, in the same order; kInvalid where there is none.
DType KeyType(DType t, bool total) {
  switch (t) {
    case DType::kPred:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      return t;
    default:
      if (IsInteger(t)) return t;
      if (!IsFloat(t) || DTypeBits(t) != 8) return DType::kInvalid;
      if (!total) return DType::kF32;
      return HasSignedNans(t) ? DType::kS8 : DType::kInvalid;  // A conversion may change which NaN one is.
  }
}

Ref Emit(Program& p, Block& to, OpCode op, SmallVector<Ref, 3> in, Shape shape, Attributes attributes = {},
         Literal literal = {}) {
  GraphNode node;
  node.op = op;
  node.in = std::move(in);
  node.attributes = std::move(attributes);
  node.literal = std::move(literal);
  node.out = {std::move(shape)};
  to.nodes.push_back(p.Add(std::move(node)));
  return {to.nodes.back(), 0};
}

Ref Splat(Program& p, Block& to, Shape shape, int64_t value) {
  const DType type = shape.dtype;
  return Emit(p, to, OpCode::kConstant, {}, std::move(shape), {}, SplatLiteral(type, value));
}

/// Floats as integers in the floats' total order: of negative ones, all bits but the sign turn around.
Ref TotalOrderOf(Program& p, Ref key, Block& to) {
  const Shape shape{DType::kS8, p.shape(key).dims};
  const Ref bits = Emit(p, to, OpCode::kBitcast, {key}, shape);
  const Ref seven = Splat(p, to, shape, 7);  // structural: bits beside the sign
  const Ref others = Splat(p, to, shape, 0x7f);
  const Ref signs = Emit(p, to, OpCode::kSar, {bits, seven}, shape);
  return Emit(p, to, OpCode::kXor, {bits, Emit(p, to, OpCode::kAnd, {signs, others}, shape)}, shape);
}

}  // namespace

Result<bool> Importer::ImportSort(mlir::Operation* op, Block& to) {
  TENON_ASSIGN_OR_RETURN(GraphNode sort, Start(op, OpCode::kSort));
  const Dims& dims = sort.shape().dims;
  SortAttrs attrs;
  attrs.dimension = static_cast<int64_t>(mlir::cast<stablehlo::SortOp>(op).getDimension());  // The last one by default.
  if (attrs.dimension < 0) attrs.dimension += static_cast<int64_t>(dims.size());
  const auto dim = static_cast<size_t>(attrs.dimension);
  if (dim >= dims.size() || dims[dim] >= int64_t{1} << 31) return false;
  // The comparator's nodes stay in the table, unused by any block.
  TENON_RETURN_IF_ERROR(ImportRegion(op->getRegion(0), sort));
  const Block block = std::move(sort.blocks[0]);
  sort.blocks.clear();
  Comparator comparator(p_, block);
  const std::optional<std::vector<Key>> keys = comparator.Parse(block.results[0]);
  if (!keys) return false;
  for (const Key& k : *keys) {
    if (KeyType(p_.shape(k.key).dtype, k.total) == DType::kInvalid) return false;
  }

  // What the keys are made of, on whole arrays.
  std::unordered_map<NodeId, Ref> lifted;
  for (size_t i = 0; i < block.args.size(); ++i) lifted[block.args[i]] = sort.in[i / 2];
  std::unordered_set<NodeId> wanted;
  for (const Key& k : *keys) wanted.insert(k.key.node);
  for (size_t i = block.nodes.size(); i-- > 0;) {
    if (!wanted.contains(block.nodes[i])) continue;
    for (Ref in : p_[block.nodes[i]].in) wanted.insert(in.node);
  }
  const auto lift = [&](NodeId id) {
    GraphNode node = p_[id];
    node.origin = nullptr;
    if (node.op == OpCode::kConstant) {
      const DType type = node.shape().dtype;
      to.nodes.push_back(p_.Add(std::move(node)));
      lifted[id] = Emit(p_, to, OpCode::kBroadcast, {{to.nodes.back(), 0}}, {type, dims}, BroadcastAttrs{});
      return;
    }
    for (Ref& in : node.in) in = lifted.at(in.node);
    node.out[0].dims = dims;
    lifted[id] = {p_.Add(std::move(node)), 0};
    to.nodes.push_back(lifted[id].node);
  };
  const std::unordered_set<NodeId> inside(block.nodes.begin(), block.nodes.end());
  std::vector<NodeId> outside;
  for (NodeId id : wanted) {
    if (!inside.contains(id) && !lifted.contains(id)) outside.push_back(id);
  }
  std::sort(outside.begin(), outside.end());
  for (NodeId id : outside) lift(id);  // Constants.
  for (NodeId id : block.nodes) {
    if (wanted.contains(id)) lift(id);
  }

  const SmallVector<Ref, 3> operands = sort.in;
  SmallVector<Ref, 3> in;
  Ref unordered;  // Where a key so far is a NaN: no comparison finds it equal, so later keys don't decide.
  for (const Key& k : *keys) {
    Ref key = lifted.at(k.key.node);
    const DType type = KeyType(p_.shape(key).dtype, k.total);
    if (IsInteger(type) && IsFloat(p_.shape(key).dtype)) {
      key = TotalOrderOf(p_, key, to);
    } else if (type != p_.shape(key).dtype) {
      key = Emit(p_, to, OpCode::kConvert, {key}, {type, dims});
    }
    if (unordered.valid()) {
      const Ref zero = Splat(p_, to, {type, dims}, 0);
      key = Emit(p_, to, OpCode::kSelect, {unordered, zero, key}, {type, dims});
    }
    in.push_back(key);
    const bool by_value = !k.total && IsFloat(p_.shape(k.key).dtype);
    attrs.descending.push_back(k.descending ? 1 : 0);
    attrs.by_value.push_back(by_value ? 1 : 0);
    if (!by_value || &k == &keys->back()) continue;
    const Shape truths{DType::kPred, dims};
    const Ref nan = Emit(p_, to, OpCode::kCompare, {key, key}, truths, CompareAttrs{kir::kNe, false});
    unordered = unordered.valid() ? Emit(p_, to, OpCode::kOr, {unordered, nan}, truths) : nan;
  }
  // Positions need not be read.
  for (size_t i = 0; i < operands.size(); ++i) {
    const GraphNode& node = p_[operands[i].node];
    const DType type = sort.shape(static_cast<uint32_t>(i)).dtype;
    const bool counts = node.op == OpCode::kIota && node.attrs<IotaAttrs>().iota_dimension == attrs.dimension;
    const bool spread = node.op == OpCode::kBroadcast && p_[node.in[0].node].op == OpCode::kIota &&
                        p_.shape(node.in[0]).rank() == 1 &&
                        node.attrs<BroadcastAttrs>().broadcast_dimensions[0] == attrs.dimension &&
                        p_.shape(node.in[0]).dims[0] == dims[dim];
    const bool is_position = (counts || spread) && IsInteger(type) && DTypeBits(type) >= 32;
    attrs.is_position.push_back(is_position ? 1 : 0);
    if (!is_position) in.push_back(operands[i]);
  }
  sort.in = std::move(in);
  sort.attributes = std::move(attrs);
  sort.origin = nullptr;
  Finish(op, std::move(sort), to);
  return true;
}

}  // namespace tenon::compiler
