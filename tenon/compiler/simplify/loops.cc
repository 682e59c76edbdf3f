// Loops: values that do not change leave them, short ones of known length are written out.

#include <fmt/format.h>

#include "tenon/compiler/ir/trips.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {

bool Simplifier::Unroll(NodeId id, const std::vector<Ref>& init) {
  const GraphNode& old = from_[id];
  const int64_t trips = KnownTrips(from_, old, to_, init);
  if (trips < 0 || trips > policy::kMaxUnrolledTrips ||
      trips * CountOps(from_, old.blocks[1], policy::kMaxUnrolledOps) > policy::kMaxUnrolledOps)
    return false;
  for (NodeId n : old.blocks[1].nodes) {
    if (from_[n].op == OpCode::kWhile || from_[n].op == OpCode::kDot || from_[n].op == OpCode::kOpaque ||
        from_[n].op == OpCode::kCustomCall)
      return false;
  }
  std::vector<Ref> carried = init;
  for (int64_t t = 0; t < trips; ++t) {
    for (size_t i = 0; i < carried.size(); ++i) Bind(old.blocks[1].args[i], 0, carried[i]);
    for (NodeId n : old.blocks[1].nodes) CopyNode(n);
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = Map(old.blocks[1].results[i]);
  }
  for (uint32_t i = 0; i < carried.size(); ++i) Bind(id, i, carried[i]);
  log_.Hit(
      Rule::unroll, [&] { return fmt::format("while of {} carries", init.size()); },
      [&] { return fmt::format("{} trips", trips); });
  return true;
}

bool Simplifier::CopyWhile(NodeId id) {
  const GraphNode& old = from_[id];
  std::vector<Ref> init;
  for (Ref r : old.in) init.push_back(Map(r));
  if (Unroll(id, init)) return true;
  // Carries that the body hands on unchanged are the outer values themselves.
  GraphNode node = old;
  node.in.clear();
  node.out.clear();
  node.blocks.assign(2, Block());
  std::vector<bool> fixed(init.size());
  std::vector<uint32_t> place(init.size());
  for (size_t i = 0; i < init.size(); ++i) {
    fixed[i] = old.blocks[1].results[i] == Ref{old.blocks[1].args[i], 0};
    if (fixed[i]) {
      for (const Block& b : old.blocks) Bind(b.args[i], 0, init[i]);
      Bind(id, static_cast<uint32_t>(i), init[i]);
      log_.Hit(Rule::fixed_carry, [&] { return fmt::format("carry {}", i); }, [&] { return PrintValue(to_, init[i]); });
      continue;
    }
    place[i] = static_cast<uint32_t>(node.in.size());
    node.in.push_back(init[i]);
    node.out.push_back(old.out[i]);
  }
  if (node.in.empty()) return false;
  for (size_t b = 0; b < 2; ++b) {
    Block part;
    for (size_t i = 0; i < init.size(); ++i) {
      if (!fixed[i]) part.args.push_back(old.blocks[b].args[i]);
    }
    part.nodes = old.blocks[b].nodes;
    if (b == 0) {
      part.results = old.blocks[b].results;
    } else {
      for (size_t i = 0; i < init.size(); ++i) {
        if (!fixed[i]) part.results.push_back(old.blocks[b].results[i]);
      }
    }
    CopyBlock(part, node.blocks[b]);
  }
  const NodeId made = Append(std::move(node));
  for (size_t i = 0; i < init.size(); ++i) {
    if (!fixed[i]) Bind(id, static_cast<uint32_t>(i), {made, place[i]});
  }
  return true;
}

}  // namespace tenon::compiler
