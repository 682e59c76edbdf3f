// stablehlo.sort as keys and payloads: its comparator is read as "the first key that differs decides", each key being
// an expression of one element, which becomes an array of its own when it is more than an operand.

#include <functional>
#include <optional>

#include "tenon/compiler/import/importer.h"

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

class Comparator {
 public:
  Comparator(const Program& program, const Block& block) : p_(program) {
    for (size_t i = 0; i < block.args.size(); ++i) argument_[block.args[i]] = i;
  }

  std::optional<size_t> ArgumentOf(Ref r) const {
    auto it = argument_.find(r.node);
    if (it == argument_.end()) return std::nullopt;
    return it->second;
  }

  /// The keys that the value compares by, most significant first; nothing when it is something else.
  std::optional<std::vector<Key>> Parse(Ref r, int depth = 0) const {
    if (depth > 64) return std::nullopt;
    if (std::optional<Comparison> c = Compare(r)) {
      if (c->direction == kir::kEq) return std::nullopt;
      return std::vector<Key>{{c->key, c->direction == kir::kGt, c->total}};
    }
    const Node& n = p_[r.node];
    if (n.op == Op::kOr) {
      for (size_t first : {0, 1}) {
        const Node& rest = p_[n.in[1 - first].node];
        if (rest.op != Op::kAnd) continue;
        for (size_t equal : {0, 1}) {
          if (auto keys = Chain(n.in[first], rest.in[equal], rest.in[1 - equal], depth)) return keys;
        }
      }
    }
    if (n.op == Op::kSelect) return Chain(n.in[2], n.in[0], n.in[1], depth);
    return std::nullopt;
  }

 private:
  std::optional<std::vector<Key>> Chain(Ref less, Ref equal, Ref rest, int depth) const {
    const std::optional<Comparison> l = Compare(less);
    const std::optional<Comparison> e = Compare(equal);
    if (!l || !e || l->direction == kir::kEq || e->direction != kir::kEq || l->total != e->total ||
        !Same(l->key, e->key, false))
      return std::nullopt;
    std::optional<std::vector<Key>> keys = Parse(rest, depth + 1);
    if (keys) keys->insert(keys->begin(), {l->key, l->direction == kir::kGt, l->total});
    return keys;
  }

  std::optional<Comparison> Compare(Ref r) const {
    const Node& n = p_[r.node];
    if (n.op != Op::kCompare) return std::nullopt;
    const auto [how, total] = n.attrs<CompareAttrs>();
    kir::Cmp direction = how;
    if (direction != kir::kEq && direction != kir::kLt && direction != kir::kGt) return std::nullopt;
    Ref left = n.in[0];
    if (!Same(n.in[0], n.in[1], true)) return std::nullopt;
    if (SideOf(n.in[0]) == 1) {
      left = n.in[1];
      direction = direction == kir::kLt ? kir::kGt : direction == kir::kGt ? kir::kLt : direction;
    }
    if (SideOf(left) != 0) return std::nullopt;
    return Comparison{left, direction, total};
  }

  /// 0 or 1: the expression uses that side's arguments only; -1: none, or both.
  int SideOf(Ref r) const {
    int side = -1;
    bool both = false;
    std::function<void(Ref)> walk = [&](Ref x) {
      if (std::optional<size_t> a = ArgumentOf(x)) {
        const int s = static_cast<int>(*a % 2);
        both |= side >= 0 && side != s;
        side = s;
        return;
      }
      for (Ref in : p_[x.node].in) walk(in);
    };
    walk(r);
    return both ? -1 : side;
  }

  /// Whether both are the same expression; `mirrored`: once the sides are swapped.
  bool Same(Ref a, Ref b, bool mirrored) const {
    const std::optional<size_t> x = ArgumentOf(a), y = ArgumentOf(b);
    if (x || y) return x && y && (mirrored ? (*x ^ 1) == *y : *x == *y);
    if (a == b && !mirrored) return true;
    const Node& m = p_[a.node];
    const Node& n = p_[b.node];
    if (m.op == Op::kConstant) return n.op == Op::kConstant && m.out == n.out && m.literal == n.literal;
    if (KindOfOp(m.op) != OpKind::kElementwise || m.op != n.op || m.attributes != n.attributes || m.name != n.name ||
        !(m.out == n.out) || m.in.size() != n.in.size()) {
      return false;
    }
    for (size_t i = 0; i < m.in.size(); ++i) {
      if (!Same(m.in[i], n.in[i], mirrored)) return false;
    }
    return true;
  }

  const Program& p_;
  std::unordered_map<NodeId, size_t> argument_;
};

bool IsKeyType(DType t) {
  return t == DType::kPred || IsInteger(t) || t == DType::kF16 || t == DType::kBF16 || t == DType::kF32 ||
         t == DType::kF64;
}

}  // namespace

Result<bool> Importer::ImportSort(mlir::Operation* op, Block& to) {
  constexpr size_t kMaxOperands = 64;
  constexpr size_t kMaxComparatorNodes = 200;  // Expressions are walked once per comparison.
  TENON_ASSIGN_OR_RETURN(Node sort, Start(op, Op::kSort));
  const size_t count = sort.in.size();
  const Dims& dims = sort.shape().dims;
  SortAttrs attrs;
  attrs.dimension = op->getAttrOfType<mlir::IntegerAttr>("dimension").getInt();
  if (attrs.dimension < 0) attrs.dimension += static_cast<int64_t>(dims.size());
  const auto dim = static_cast<size_t>(attrs.dimension);
  if (count > kMaxOperands || dim >= dims.size() || dims[dim] >= int64_t{1} << 31) return false;
  // The comparator's nodes stay in the table, unused by any block.
  TENON_RETURN_IF_ERROR(ImportRegion(op->getRegion(0), sort));
  const Block block = std::move(sort.blocks[0]);
  sort.blocks.clear();
  if (block.nodes.size() > kMaxComparatorNodes) return false;
  const Comparator comparator(p_, block);
  const std::optional<std::vector<Key>> keys = comparator.Parse(block.results[0]);
  if (!keys || keys->size() > kMaxOperands) return false;
  for (const Key& k : *keys) {
    if (!IsKeyType(p_.shape(k.key).dtype)) return false;
  }

  std::unordered_map<Ref, Ref, RefHasher> lifted;
  std::function<Ref(Ref)> lift = [&](Ref r) -> Ref {
    if (std::optional<size_t> a = comparator.ArgumentOf(r)) return sort.in[*a / 2];
    auto [it, fresh] = lifted.try_emplace(r, Ref{});
    if (!fresh) return it->second;
    Node node = p_[r.node];
    node.origin = nullptr;
    if (node.op == Op::kConstant) {
      const NodeId scalar = p_.Add(node);
      to.nodes.push_back(scalar);
      Node spread;
      spread.op = Op::kBroadcast;
      spread.in = {{scalar, 0}};
      spread.attributes = BroadcastAttrs{};
      spread.out = {{node.shape().dtype, dims}};
      node = std::move(spread);
    } else {
      for (Ref& in : node.in) in = lift(in);
      node.out[0].dims = dims;
    }
    const NodeId id = p_.Add(std::move(node));
    to.nodes.push_back(id);
    return lifted[r] = {id, 0};
  };

  const SmallVector<Ref, 3> operands = sort.in;
  SmallVector<Ref, 3> in;
  for (const Key& k : *keys) {
    in.push_back(lift(k.key));
    attrs.descending.push_back(k.descending ? 1 : 0);
    attrs.zeros_equal.push_back(!k.total && IsFloat(p_.shape(k.key).dtype) ? 1 : 0);
  }
  // Positions need not be read.
  for (size_t i = 0; i < operands.size(); ++i) {
    const Node& node = p_[operands[i].node];
    const DType type = sort.shape(static_cast<uint32_t>(i)).dtype;
    const bool counts = node.op == Op::kIota && node.attrs<IotaAttrs>().iota_dimension == attrs.dimension;
    const bool spread = node.op == Op::kBroadcast && p_[node.in[0].node].op == Op::kIota &&
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
