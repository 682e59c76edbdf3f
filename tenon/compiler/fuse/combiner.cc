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

/// Whether the graph only compares, chooses and connects: its outcome then depends on the order of its arguments alone.
bool OnlyChooses(const kir::Graph& graph) {
  for (const kir::Node& n : graph.nodes) {
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

/// (value, index) pairs combined by comparisons alone, as argmax and argmin do: exhaustive over the orders that values
/// can have.
bool FindPairIdentity(Combiner& combiner) {
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
  for (uint64_t extreme : {low, high}) {
    const Pair identity{extreme, last};
    bool ok = true;
    for (uint64_t v : values) {
      for (int64_t i : {0, 1, 7}) {
        const Pair x{v, kir::LiteralBits(index, i)};
        const auto left = combine(identity, x);
        ok &= left && *left == x;
      }
    }
    // Any grouping and order of elements with distinct indices.
    for (size_t a = 0; ok && a < values.size(); ++a) {
      for (size_t b = 0; ok && b < values.size(); ++b) {
        for (size_t c = 0; ok && c < values.size(); ++c) {
          const Pair x{values[a], 0};
          const Pair y{values[b], 1};
          const Pair z{values[c], 2};
          const auto xy = combine(x, y);
          const auto yx = combine(y, x);
          const auto yz = combine(y, z);
          if (!xy || !yx || !yz || *xy != *yx) {
            ok = false;
            break;
          }
          const auto left = combine(*xy, z);
          const auto right = combine(x, *yz);
          ok &= left && right && *left == *right;
        }
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
    combiner.any_order = FindPairIdentity(combiner);
  }
  return combiner;
}

}  // namespace tenon::compiler
