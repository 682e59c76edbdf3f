#include "tenon/target/chains.h"

#include <algorithm>
#include <vector>

namespace tenon::target {
namespace {

// Cycles until the result of an instruction is there.
constexpr double kFloatLatency = 4;
constexpr double kOtherLatency = 1;
// What costs more than so much takes several instructions, the rest of which wait for each other less.
constexpr int kInstructions = 2;

double LatencyOf(const kir::Node& node, bool of_floats, const OpCosts& costs) {
  const int cost = costs.Of(node);
  const double each = of_floats ? kFloatLatency : kOtherLatency;
  return each * std::clamp(cost, 1, kInstructions) + std::max(0, cost - kInstructions);
}

}  // namespace

double ChainCycles(const kir::Graph& combiner, const OpCosts& costs) {
  constexpr double kFree = -1;  // Waits for no result.
  std::vector<double> ready(combiner.nodes.size(), kFree);
  for (size_t v = 0; v < combiner.nodes.size(); ++v) {
    const kir::Node& node = combiner.nodes[v];
    if (node.op == kir::Op::kArgument) {
      if (node.imm < combiner.results.size()) ready[v] = 0;
      continue;
    }
    bool floats = IsFloat(node.type) && node.op != kir::Op::kSelect;
    for (const kir::Val in : node.in) {
      if (ready[in] != kFree) ready[v] = std::max(ready[v], ready[in]);
      floats |= node.op == kir::Op::kCompare && IsFloat(combiner.nodes[in].type);
    }
    if (ready[v] != kFree) ready[v] += LatencyOf(node, floats, costs);
  }
  double longest = 0;
  for (const kir::Val result : combiner.results) longest = std::max(longest, ready[result]);
  return longest;
}

}  // namespace tenon::target
