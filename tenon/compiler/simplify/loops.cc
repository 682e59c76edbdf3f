// Loops: values that do not change leave them, short ones of known length are written out.

#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {

namespace {

constexpr int64_t kMaxUnrolledTrips = 8;
constexpr int64_t kMaxUnrolledOps = 600;

int64_t SignExtend(uint64_t bits, DType type) {
  const int shift = 64 - DTypeBits(type);
  return IsSigned(type) ? static_cast<int64_t>(bits << shift) >> shift : static_cast<int64_t>(bits);
}

}  // namespace

/// Trips of a loop that counts a carry from a constant to a constant by a constant; -1 when it does not.
int64_t KnownTrips(const Program& p, const Node& loop, const std::vector<std::optional<int64_t>>& init) {
  const Block& condition = loop.blocks[0];
  const Block& body = loop.blocks[1];
  const Node& compare = p[condition.results[0].node];
  if (compare.op != Op::kCompare || compare.imm != 2 /* LT */) return -1;
  size_t carry = condition.args.size();
  for (size_t i = 0; i < condition.args.size(); ++i) {
    if (compare.in[0] == Ref{condition.args[i], 0}) carry = i;
  }
  if (carry == condition.args.size() || !init[carry]) return -1;
  const DType type = p.shape(compare.in[0]).dtype;
  if (!IsInteger(type) || p.shape(compare.in[0]).rank() != 0) return -1;
  const std::optional<uint64_t> limit = SplatBits(p, compare.in[1]);
  if (!limit) return -1;
  const Node& next = p[body.results[carry].node];
  if (next.op != Op::kAdd) return -1;
  const Ref self{body.args[carry], 0};
  const int other = next.in[0] == self ? 1 : next.in[1] == self ? 0 : -1;
  if (other < 0) return -1;
  const std::optional<uint64_t> step = SplatBits(p, next.in[static_cast<size_t>(other)]);
  if (!step || SignExtend(*step, type) <= 0) return -1;
  const int64_t span = SignExtend(*limit, type) - *init[carry];
  const int64_t by = SignExtend(*step, type);
  return span <= 0 ? 0 : (span + by - 1) / by;
}

bool Simplifier::Unroll(NodeId id, const std::vector<Ref>& init) {
  const Node& old = from_[id];
  std::vector<std::optional<int64_t>> constant(init.size());
  for (size_t i = 0; i < init.size(); ++i) {
    const Shape& shape = ShapeOf(init[i]);
    if (shape.rank() != 0 || !IsInteger(shape.dtype)) continue;
    if (const std::optional<uint64_t> bits = SplatBits(to_, init[i])) constant[i] = SignExtend(*bits, shape.dtype);
  }
  const int64_t trips = KnownTrips(from_, old, constant);
  if (trips < 0 || trips > kMaxUnrolledTrips || trips * CountOps(from_, old.blocks[1]) > kMaxUnrolledOps) return false;
  for (NodeId n : old.blocks[1].nodes) {
    if (from_[n].op == Op::kWhile || from_[n].op == Op::kDot || from_[n].op == Op::kOpaque || from_[n].op == Op::kCustomCall) return false;
  }
  std::vector<Ref> carried = init;
  for (int64_t t = 0; t < trips; ++t) {
    for (size_t i = 0; i < carried.size(); ++i) Bind(old.blocks[1].args[i], 0, carried[i]);
    for (NodeId n : old.blocks[1].nodes) CopyNode(n);
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = Map(old.blocks[1].results[i]);
  }
  for (uint32_t i = 0; i < carried.size(); ++i) Bind(id, i, carried[i]);
  return true;
}

bool Simplifier::CopyWhile(NodeId id) {
  const Node& old = from_[id];
  std::vector<Ref> init;
  for (Ref r : old.in) init.push_back(Map(r));
  if (Unroll(id, init)) return true;
  // Carries that the body hands on unchanged are the outer values themselves.
  Node node = old;
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
