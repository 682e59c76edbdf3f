#include "tenon/compiler/fuse/combiner.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "tenon/compiler/fuse/tracer.h"
#include "tenon/compiler/ir/combiner.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/evaluate.h"

namespace tenon::compiler {
namespace {

/// Whether the graph only compares, chooses and connects, values among values and places among places: its outcome then
/// depends on their two orders alone.
bool OnlyChooses(const kir::Graph& graph) {
  enum class Kind : uint8_t { kValue, kPlace, kTruth };
  std::vector<Kind> is;  // By node.
  for (const kir::Node& n : graph.nodes) {
    const size_t first = n.op == kir::Op::kSelect ? 1 : 0;
    is.push_back(n.op == kir::Op::kArgument ? (n.imm % 2 == 0 ? Kind::kValue : Kind::kPlace)
                 : n.in.size() <= first     ? Kind::kTruth
                                            : is[n.in[first]]);
    for (size_t i = first; i < n.in.size(); ++i) {
      if (is[n.in[i]] != is.back()) return false;
    }
    if (n.op == kir::Op::kCompare) is.back() = Kind::kTruth;
    if (n.op == kir::Op::kSelect && is[n.in[0]] != Kind::kTruth) return false;
    switch (n.op) {
      case kir::Op::kArgument:
      case kir::Op::kCompare:
      case kir::Op::kSelect:
        break;
      case kir::Op::kAnd:
      case kir::Op::kOr:
      case kir::Op::kNot:
      case kir::Op::kXor:
        if (n.type != DType::kPred) return false;
        break;
      case kir::Op::kMin:
      case kir::Op::kMax:
        break;
      default:
        return false;
    }
  }
  return true;
}

/// Whether no two elements that the reduction meets have one place: numbers along the one dim that it is over.
bool HasOwnPlaces(const Program& program, const GraphNode& reduce) {
  const Dims& over = reduce.attrs<ReduceAttrs>().dimensions;
  return over.size() == 1 && CountsAlong(program[reduce.in[1].node], over[0]);
}

/// (value, index) pairs combined by comparisons alone, as argmax and argmin do: exhaustive over the orders that values
/// can have, and indices where two may be equal.
bool FindPairIdentity(Combiner& combiner, bool own_places) {
  const kir::Graph& g = combiner.graph;
  if (g.arguments.size() != 4 || !IsInteger(g.arguments[1]) || !OnlyChooses(g)) return false;
  const DType value = g.arguments[0];
  const DType index = g.arguments[1];
  if (!IsFloat(value) && !IsInteger(value)) return false;
  using Pair = std::array<uint64_t, 2>;
  auto combine = [&](const Pair& a, const Pair& b) -> std::optional<Pair> {
    const uint64_t in[4] = {a[0], a[1], b[0], b[1]};
    auto out = kir::Evaluate(g, in, false);
    if (!out.ok()) return std::nullopt;
    return Pair{(*out)[0], (*out)[1]};
  };
  const uint64_t low = kir::LowestBits(value);
  const uint64_t high = kir::HighestBits(value);
  std::vector<uint64_t> values = {low, kir::LiteralBits(value, 3), kir::LiteralBits(value, 5), high};
  if (IsFloat(value)) {
    values.push_back(kir::LiteralBits(value, std::numeric_limits<double>::quiet_NaN()));
    values.push_back(kir::LiteralBits(value, 0.0));
    values.push_back(kir::LiteralBits(value, -0.0));
  }
  const uint64_t last = kir::HighestBits(index);
  // Any grouping and order of elements at these.
  std::vector<std::array<uint64_t, 3>> places = {{0, 1, 2}};
  if (!own_places) {
    places.insert(places.end(),
                  {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {2, 1, 0}, {1, 0, 2}});
  }
  for (uint64_t extreme : {low, high}) {
    const Pair identity{extreme, last};
    bool ok = true;
    for (uint64_t v : values) {
      for (uint64_t i : {uint64_t{0}, uint64_t{1}, uint64_t{7}, last}) {
        if (i == last && own_places) continue;
        const Pair x{v, i};
        const auto left = combine(identity, x);
        ok &= left && *left == x;
      }
    }
    for (const std::array<uint64_t, 3>& at : places) {
      for (size_t n = 0; ok && n < values.size() * values.size() * values.size(); ++n) {
        const Pair x{values[n % values.size()], at[0]};
        const Pair y{values[n / values.size() % values.size()], at[1]};
        const Pair z{values[n / values.size() / values.size()], at[2]};
        const auto xy = combine(x, y);
        const auto yx = combine(y, x);
        const auto yz = combine(y, z);
        ok = xy && yx && yz && *xy == *yx;
        if (!ok) break;
        const auto left = combine(*xy, z);
        const auto right = combine(x, *yz);
        ok = left && right && *left == *right;
      }
    }
    if (ok) {
      combiner.identity = {identity[0], identity[1]};
      return true;
    }
  }
  return false;
}

}  // namespace

Result<Combiner> CombinerOf(const Program& program, const GraphNode& reduce) {
  Combiner combiner;
  TENON_ASSIGN_OR_RETURN(combiner.graph, GraphOfBlock(program, reduce.blocks[0]));
  const kir::Graph& g = combiner.graph;
  const size_t n = g.results.size();
  // Each result one plain op of its own accumulator and element?
  bool plain = g.arguments.size() == 2 * n;
  std::vector<uint64_t> identity;
  for (size_t i = 0; plain && i < n; ++i) {
    const kir::Node& node = g.nodes[g.results[i]];
    if (node.in.size() != 2 || g.nodes[node.in[0]].op != kir::Op::kArgument ||
        g.nodes[node.in[1]].op != kir::Op::kArgument) {
      plain = false;
      break;
    }
    const size_t a = g.nodes[node.in[0]].imm;
    const size_t b = g.nodes[node.in[1]].imm;
    const std::optional<uint64_t> e = IdentityBits(node.op, node.type);
    plain = e && ((a == i && b == n + i) || (a == n + i && b == i));
    if (plain) identity.push_back(*e);
  }
  if (plain) {
    combiner.identity = std::move(identity);
    combiner.any_order = true;
  } else {
    combiner.any_order = FindPairIdentity(combiner, HasOwnPlaces(program, reduce));
  }
  return combiner;
}

}  // namespace tenon::compiler
