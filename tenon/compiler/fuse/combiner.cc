#include "tenon/compiler/fuse/combiner.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/base/neutral.h"
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

using Pair = std::array<uint64_t, 2>;

/// A combiner of two pairs, evaluated once for any two. Pairs go by numbers.
class PairCombiner {
 public:
  explicit PairCombiner(const kir::Graph& graph) : graph_(graph) {}

  int NumberOf(const Pair& pair) {
    const auto at = std::find(pairs_.begin(), pairs_.end(), pair);
    const auto number = static_cast<int>(at - pairs_.begin());
    if (at == pairs_.end()) pairs_.push_back(pair);
    return number;
  }
  /// The number of what two pairs become, or -1 where that is not known.
  int operator()(int a, int b) {
    if (a < 0 || b < 0) return -1;
    const auto [at, is_new] =
        outcomes_.try_emplace(uint64_t{static_cast<uint32_t>(a)} << 32 | static_cast<uint32_t>(b));
    if (is_new) at->second = Evaluate(pairs_[static_cast<size_t>(a)], pairs_[static_cast<size_t>(b)]);
    return at->second;
  }

 private:
  int Evaluate(const Pair& a, const Pair& b) {
    const uint64_t in[4] = {a[0], a[1], b[0], b[1]};
    const auto out = kir::Evaluate(graph_, in, false);
    return out.ok() ? NumberOf({(*out)[0], (*out)[1]}) : -1;
  }

  const kir::Graph& graph_;
  std::vector<Pair> pairs_;
  std::unordered_map<uint64_t, int> outcomes_;
};

/// Values in all orders that there are, and floats that are in none or equal others.
std::vector<uint64_t> ValuesToMeet(DType type) {
  std::vector<uint64_t> values = {LowestBits(type), kir::LiteralBits(type, 3), kir::LiteralBits(type, 5),
                                  HighestBits(type)};
  if (IsFloat(type)) {
    values.push_back(kir::LiteralBits(type, std::numeric_limits<double>::quiet_NaN()));
    values.push_back(kir::LiteralBits(type, 0.0));
    values.push_back(kir::LiteralBits(type, -0.0));
  }
  return values;
}

/// Whether any three of the values, at any of the places, meet in either grouping and the first two in either order.
bool MeetInAnyOrder(PairCombiner& combine, const std::vector<uint64_t>& values, bool own_places) {
  std::vector<std::array<uint64_t, 3>> places = {{0, 1, 2}};
  if (!own_places) {
    places.insert(places.end(),
                  {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {2, 1, 0}, {1, 0, 2}});
  }
  const size_t count = values.size();
  for (const std::array<uint64_t, 3>& at : places) {
    for (size_t n = 0; n < count * count * count; ++n) {
      const int x = combine.NumberOf({values[n % count], at[0]});
      const int y = combine.NumberOf({values[n / count % count], at[1]});
      const int z = combine.NumberOf({values[n / count / count], at[2]});
      const int xy = combine(x, y);
      const int left = combine(xy, z);
      if (left < 0 || xy != combine(y, x) || left != combine(x, combine(y, z))) return false;
    }
  }
  return true;
}

/// (value, index) pairs combined by comparisons alone, as argmax and argmin do: exhaustive over the orders that values
/// can have, and indices where two may be equal.
bool FindPairIdentity(Combiner& combiner, bool own_places) {
  const kir::Graph& g = combiner.graph;
  if (g.arguments.size() != 4 || !IsInteger(g.arguments[1]) || !OnlyChooses(g)) return false;
  const DType value = g.arguments[0];
  if (!IsFloat(value) && !IsInteger(value)) return false;
  PairCombiner combine(g);
  const std::vector<uint64_t> values = ValuesToMeet(value);
  const uint64_t last = HighestBits(g.arguments[1]);
  const auto changes_none = [&](const Pair& identity) {
    for (const uint64_t v : values) {
      for (const uint64_t i : {uint64_t{0}, uint64_t{1}, uint64_t{7}, last}) {
        if (i == last && own_places) continue;
        const int x = combine.NumberOf({v, i});
        if (combine(combine.NumberOf(identity), x) != x) return false;
      }
    }
    return true;
  };
  for (const uint64_t extreme : {LowestBits(value), HighestBits(value)}) {
    const Pair identity{extreme, last};
    if (!changes_none(identity)) continue;
    if (!MeetInAnyOrder(combine, values, own_places)) return false;
    combiner.identity = {identity[0], identity[1]};
    return true;
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
