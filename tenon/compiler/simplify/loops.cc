// Loops: values that do not change leave them, short ones of known length are written out.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "tenon/compiler/ir/combiner.h"
#include "tenon/compiler/ir/trips.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

/// Ways of looking at what a loop carries: a carry (kStored: what is stored on the way), and how it is moved: the sum
/// of a number for each move, as if their order were no matter.
constexpr size_t kStored = SIZE_MAX;
using Looks = std::set<std::pair<size_t, uint64_t>>;

/// The number of a move.
uint64_t Move(uint64_t what, uint64_t which) {
  const uint64_t h = (what + which * 0xbf58476d1ce4e5b9u) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

/// How each value that a trip hands on looks at the arrays that it was given: a stencil of five points in five ways. At
/// most about `limit` ways.
std::vector<Looks> LooksOfTrip(const Program& p, const Block& body, const target::Numerics& numerics, size_t limit) {
  std::unordered_map<NodeId, Looks> looks;
  for (size_t i = 0; i < body.args.size(); ++i) {
    const NodeId arg = body.args[i];
    const bool changes = !(body.results[i] == Ref{arg, 0});
    if (changes && NumElements(p[arg].shape().dims) > 1) looks[arg] = {{i, 0}};
  }
  const auto looks_at = [&](Ref r) {
    const auto it = looks.find(r.node);
    return it == looks.end() ? Looks{} : it->second;
  };
  for (NodeId id : body.nodes) {
    const GraphNode& node = p[id];
    const OpKind kind = KindOfOp(node.op);
    if (kind == OpKind::kLeaf) continue;
    // What moves nothing, and updates, which are stored where they belong.
    const bool plain =
        kind == OpKind::kElementwise || node.op == OpCode::kReshape || node.op == OpCode::kDynamicUpdate ||
        (node.op == OpCode::kBroadcast && NumElements(node.shape().dims) == NumElements(p.shape(node.in[0]).dims));
    const auto times =
        node.op == OpCode::kReduce ? static_cast<uint64_t>(NumElements(ReducedExtents(p, node))) : uint64_t{1};
    Looks all;
    for (size_t i = 0; i < node.in.size(); ++i) {
      const uint64_t by = HashOf(node.attributes) + static_cast<uint64_t>(node.op) * 64 + i;
      for (const auto& [carry, look] : looks_at(node.in[i])) {
        if (all.size() > limit) break;
        if (plain) all.insert({carry, look});
        for (uint64_t t = 0; !plain && t < times && t <= limit; ++t) all.insert({carry, look + Move(by, t)});
      }
    }
    const bool stored = kind == OpKind::kStructured &&
                        (node.op != OpCode::kReduce || times > static_cast<uint64_t>(numerics.written_out_reduce));
    if (stored && !all.empty()) all = {{kStored, id}};
    if (!all.empty()) looks[id] = std::move(all);
  }
  std::vector<Looks> results;
  for (Ref r : body.results) results.push_back(looks_at(r));
  return results;
}

/// Whether an element after so many trips is made of more than `limit` elements from before them.
bool LooksFar(const Program& p, const Block& body, const target::Numerics& numerics, int64_t trips, size_t limit) {
  const std::vector<Looks> one = LooksOfTrip(p, body, numerics, limit);
  std::vector<Looks> all = one;
  for (int64_t t = 0; t < trips; ++t) {
    for (const Looks& looks : all) {
      if (looks.size() > limit) return true;
    }
    if (t + 1 == trips) break;
    std::vector<Looks> next(one.size());
    for (size_t i = 0; i < one.size(); ++i) {
      for (const auto& [carry, look] : one[i]) {
        if (carry == kStored) next[i].insert({carry, look});
        if (carry == kStored || next[i].size() > limit) continue;
        for (const auto& [first, moved] : all[carry]) {
          next[i].insert({first, moved + look});
        }
      }
    }
    all = std::move(next);
  }
  return false;
}

/// Whether a trip does more than fits a kernel, or runs loops, which would be written out in each of the trips.
bool HasHeavyOps(const Program& p, const Block& body, bool products) {
  return std::any_of(body.nodes.begin(), body.nodes.end(), [&](NodeId id) {
    const GraphNode& node = p[id];
    return node.op == OpCode::kWhile || (products && node.op == OpCode::kDot) || node.op == OpCode::kOpaque ||
           node.op == OpCode::kCustomCall ||
           std::any_of(node.blocks.begin(), node.blocks.end(),
                       [&](const Block& block) { return HasHeavyOps(p, block, products); });
  });
}

/// Whether a trip multiplies few rows with its part of an array from outside: one that a loop copies first, which takes
/// as long as the product, and that without a loop lies where it is.
bool CopiesFactors(const Program& p, const Block& body) {
  const std::unordered_set<NodeId> inside(body.nodes.begin(), body.nodes.end());
  const auto is_part = [&](Ref r) {
    while (inside.contains(r.node) && KindOfOp(p[r.node].op) == OpKind::kView && p[r.node].op != OpCode::kDynamicSlice)
      r = p[r.node].in[0];
    return inside.contains(r.node) && p[r.node].op == OpCode::kDynamicSlice && !inside.contains(p[r.node].in[0].node);
  };
  return std::any_of(body.nodes.begin(), body.nodes.end(), [&](NodeId id) {
    const GraphNode& dot = p[id];
    if (dot.op != OpCode::kDot) return false;
    for (size_t side = 0; side < 2; ++side) {
      const Dims& dims = p.shape(dot.in[side]).dims;
      int64_t met = 1;  // Of the other operand, by each of its rows.
      for (const Dims* list :
           {&ContractingDims(dot.attrs<DotAttrs>(), side), &BatchingDims(dot.attrs<DotAttrs>(), side)}) {
        for (int64_t d : *list) met *= dims[static_cast<size_t>(d)];
      }
      const bool few = NumElements(p.shape(dot.in[1 - side]).dims) <= policy::kMaxRowsOfCopied * met;
      if (few && SizeBytes(p.shape(dot.in[side])) >= policy::kMinCopiedFactor && is_part(dot.in[side])) return true;
    }
    return false;
  });
}

}  // namespace

bool Simplifier::Unroll(NodeId id, const std::vector<Ref>& init) {
  const GraphNode& old = from_[id];
  const int64_t trips = KnownTrips(from_, old, to_, init);
  if (trips < 0 || trips > policy::kMaxTripsOfCopies) return false;
  const bool copies = CopiesFactors(from_, old.blocks[1]);
  const int64_t most = copies ? policy::kMaxOpsOfCopies : policy::kMaxUnrolledOps;
  if ((!copies && trips > policy::kMaxUnrolledTrips) || trips * CountOps(from_, old.blocks[1], most) > most)
    return false;
  if (HasHeavyOps(from_, old.blocks[1], !copies)) return false;
  // What the condition does besides is done once more than there are trips.
  const std::vector<NodeId>& condition = old.blocks[0].nodes;
  if (std::any_of(condition.begin(), condition.end(), [&](NodeId n) { return from_[n].side_effect; })) return false;
  // A kernel of several trips would look through each of them in as many ways.
  int64_t bytes = 0;
  for (const Shape& shape : old.out) bytes += shape.dtype == DType::kToken ? 0 : SizeBytes(shape);
  const size_t taps = bytes <= policy::kSmallLoopBytes ? policy::kMaxSmallTaps : policy::kMaxUnrolledTaps;
  if (LooksFar(from_, old.blocks[1], numerics(), trips, taps)) return false;
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
  ++loops_;
  const NodeId lasting_around = std::exchange(
      lasting_end_, RepaysCopies(KnownTrips(from_, old)) ? static_cast<NodeId>(to_.nodes.size()) : NodeId{0});
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
  lasting_end_ = lasting_around;
  --loops_;
  const NodeId made = Shared(std::move(node)).node;
  for (size_t i = 0; i < init.size(); ++i) {
    if (!fixed[i]) Bind(id, static_cast<uint32_t>(i), {made, place[i]});
  }
  return true;
}

}  // namespace tenon::compiler
