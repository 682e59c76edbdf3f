#include "tenon/compiler/fuse/loop_cost.h"

#include <algorithm>
#include <cmath>

#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/scalar_ops.h"

namespace tenon::compiler {
namespace {

bool IsFunction(int cost) { return cost >= policy::kFunctionCost; }

double WrittenOutCycles(const kir::Kernel& k, const target::OpCosts& costs) {
  double cycles = 0;
  for (const kir::Node& n : k.nodes) {
    if (n.op == kir::Op::kConst || n.op == kir::Op::kCarried) continue;
    if (n.op == kir::Op::kRead) {
      cycles += policy::kScalarReadCycles;
      continue;
    }
    const int cost = costs.Of(n);
    cycles += IsFunction(cost) ? policy::kScalarFunctionCycles * cost : policy::kScalarNodeCycles * std::max(cost, 1);
  }
  return cycles;
}

double LanesCycles(const Program& p, const Block& block) {
  double cycles = policy::kTripStageCycles;
  for (NodeId id : block.nodes) {
    const GraphNode& node = p[id];
    const auto vectors = [&](const Shape& shape) {
      const double width = std::max<double>(1, static_cast<double>(ByteWidth(shape.dtype)) / sizeof(float));
      return std::ceil(static_cast<double>(NumElements(shape.dims)) * width / policy::kCostLanes);
    };
    switch (node.op) {
      case OpCode::kReduce:
        cycles += vectors(p.shape(node.in[0])) + policy::kMeetInLanesCycles + policy::kTripStageCycles;
        break;
      case OpCode::kPad:
      case OpCode::kConcatenate:
      case OpCode::kGather:
      case OpCode::kDynamicUpdate:
        cycles += policy::kTripStageCycles;
        break;
      default: {
        if (KindOfOp(node.op) != OpKind::kElementwise) break;
        const int cost = CostOf(p, node);
        const double busy = vectors(node.shape()) * cost * policy::kLaneCyclesPerCost;
        // Of one vector, every instruction waits for the one before it.
        cycles += IsFunction(cost) ? std::max(busy, policy::kFunctionLatency * cost) : busy;
      }
    }
  }
  return cycles;
}

}  // namespace

bool RunsInLanes(const Program& program, const GraphNode& loop, const kir::Kernel& written_out) {
  const double scalar = WrittenOutCycles(written_out, program.target->costs);
  if (scalar < policy::kLeastLaneTrip) return false;
  double lanes = 0;
  for (const Block& block : loop.blocks) lanes += LanesCycles(program, block);
  return lanes * policy::kLaneTripMargin < scalar;
}

}  // namespace tenon::compiler
