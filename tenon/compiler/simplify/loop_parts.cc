#include "tenon/compiler/simplify/loop_parts.h"

#include <algorithm>
#include <cmath>

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/product_form.h"

namespace tenon::compiler {
namespace {

/// Vectors that so many elements fill.
double FilledBy(const Shape& shape) { return static_cast<double>(NumElements(shape.dims)) / policy::kTripLanes; }
/// Vectors that a trip takes for them: a few elements are as many scalars.
double TakenBy(const Shape& shape) {
  return std::min(LoopParts::VectorsOf(shape), static_cast<double>(NumElements(shape.dims)) * policy::kTripScalar);
}
double Unfilled(const Shape& shape) { return std::max(0.0, TakenBy(shape) - FilledBy(shape)); }

}  // namespace

double LoopParts::VectorsOf(const Shape& shape) {
  return std::ceil(static_cast<double>(NumElements(shape.dims)) / policy::kTripLanes);
}

LoopParts::LoopParts(Program& p, NodeId loop, int64_t trips, const Outlook& outlook, std::optional<bool> forward)
    : p_(p), loop_(loop), trips_(trips), outlook_(outlook), places_(p, loop, trips, forward) {
  if (places_.known()) FindCounted();
}

void LoopParts::FindUsers() {
  users_.clear();
  for (NodeId id : body().nodes) NoteUses(id, p_[id]);
  for (Ref r : body().results) users_[r.node].push_back(kNoNode);
}

void LoopParts::NoteUses(NodeId user, const GraphNode& node) {
  for (Ref r : node.in) users_[r.node].push_back(user);
  for (const Block& block : node.blocks) {
    for (NodeId id : block.nodes) NoteUses(user, p_[id]);
    for (Ref r : block.results) users_[r.node].push_back(user);
  }
}

bool LoopParts::IsOnlyUser(NodeId user, NodeId of) const {
  const auto it = users_.find(of);
  return it != users_.end() && it->second.size() == 1 && it->second[0] == user;
}

void LoopParts::FindCounted() {
  const LoopValues values(p_, body());
  for (NodeId id : body().nodes) {
    const GraphNode& node = p_[id];
    if (KindOfOp(node.op) == OpKind::kElementwise && node.shape().rank() == 0 && !IsFloat(node.shape().dtype) &&
        std::all_of(node.in.begin(), node.in.end(),
                    [&](Ref r) { return !values.Varies(r.node) || counted_.contains(r.node) || places_.At(r); }))
      counted_.insert(id);
  }
}

double LoopParts::Cost(NodeId id) const {
  const GraphNode& node = p_[id];
  if (node.op == OpCode::kReduce) return TakenBy(p_.shape(node.in[0]));
  return KindOfOp(node.op) == OpKind::kElementwise ? outlook_.cost(p_, node) * TakenBy(node.shape()) : 0;
}

double LoopParts::Gain(NodeId id, const LoopValues& values) const {
  const GraphNode& node = p_[id];
  if (const std::optional<ProductForm> form = ProductFormOf(p_, {id, 0}); form && node.op != OpCode::kMultiply) {
    const bool left = values.Varies(form->in[0].node), right = values.Varies(form->in[1].node);
    // What does not vary is loaded once for several trips.
    if (left != right) return FilledBy(p_.shape(form->in[left ? 1 : 0]));
    return 0;
  }
  if (node.op == OpCode::kReduce) return Unfilled(p_.shape(node.in[0]));
  if (KindOfOp(node.op) != OpKind::kElementwise || counted_.contains(id)) return 0;
  return outlook_.cost(p_, node) * Unfilled(node.shape());
}

double LoopParts::Passing(Ref r) const { return policy::kPassedVector * VectorsOf(p_.shape(r)); }

bool LoopParts::IsSmall(const Shape& shape) const {
  const Result<int64_t> bytes = CheckedSizeBytes(shape);
  return bytes.ok() && *bytes <= policy::kMaxProductBytes / trips_;
}

int64_t LoopParts::Units(double cycles) { return std::llround(cycles * 64); }  // structural

std::optional<std::vector<bool>> LoopParts::Cut(MinCut& network, double hoped) const {
  std::optional<std::vector<bool>> cut = network.Run(policy::kMaxCutSteps);
  if (!cut || static_cast<double>(Units(hoped) - network.cost()) * static_cast<double>(trips_) <
                  static_cast<double>(Units(policy::kSplitCycles)))
    return std::nullopt;
  return cut;
}

Ref LoopParts::HandOn(Ref r) {
  const Shape one = p_.shape(r);
  Shape shape = one;
  shape.dims.insert(shape.dims.begin(), trips_);
  GraphNode zeros;
  zeros.op = OpCode::kConstant;
  zeros.out = {shape};
  zeros.literal = MakeLiteral(std::string(static_cast<size_t>(ByteWidth(shape.dtype)), '\0'), true);
  moved.before.push_back(p_.Add(std::move(zeros)));
  const Ref place = places_.Index(), zero = one.rank() == 0 ? place : places_.Zero();
  GraphNode row;
  row.op = OpCode::kReshape;
  row.in = {r};
  row.out = {shape};
  row.out[0].dims[0] = 1;
  const Ref flat{p_.Add(std::move(row)), 0};
  Ref arrays[2];
  for (size_t b = 0; b < 2; ++b) {
    GraphNode argument;
    argument.op = OpCode::kParameter;
    argument.out = {shape};
    arrays[b] = {p_.Add(std::move(argument)), 0};
    p_[loop_].blocks[b].args.push_back(arrays[b].node);
  }
  GraphNode update;
  update.op = OpCode::kDynamicUpdate;
  update.in = {arrays[1], flat, place};
  for (size_t d = 0; d < one.rank(); ++d) update.in.push_back(zero);
  update.out = {shape};
  const Ref updated{p_.Add(std::move(update)), 0};
  last_nodes_.insert(last_nodes_.end(), {flat.node, updated.node});
  GraphNode& loop = p_[loop_];
  loop.blocks[1].results.push_back(updated);
  loop.in.push_back({moved.before.back(), 0});
  loop.out.push_back(shape);
  return {loop_, static_cast<uint32_t>(loop.out.size() - 1)};
}

Ref LoopParts::Read(Ref all, const Shape& shape, NodeId id, std::vector<NodeId>& nodes) {
  GraphNode slice;
  slice.op = OpCode::kDynamicSlice;
  slice.in = {all, places_.Index()};
  for (size_t d = 0; d < shape.rank(); ++d) slice.in.push_back(places_.Zero());
  slice.out = {Shape{shape.dtype, shape.dims}};
  slice.out[0].dims.insert(slice.out[0].dims.begin(), 1);
  GraphNode flat;
  flat.op = OpCode::kReshape;
  flat.in = {Ref{p_.Add(std::move(slice)), 0}};
  flat.out = {shape};
  nodes.push_back(flat.in[0].node);
  if (id == kNoNode) {
    id = p_.Add(std::move(flat));
  } else {
    flat.source = p_[id].source;
    p_[id] = std::move(flat);
  }
  nodes.push_back(id);
  return {id, 0};
}

void LoopParts::Finish(std::vector<NodeId> left, const LoopValues& values) {
  body().nodes = std::move(left);
  const std::vector<NodeId> wanted = values.TakeWanted(body());
  moved.before.insert(moved.before.end(), wanted.begin(), wanted.end());
  const std::vector<NodeId> first = places_.TakeNodes();
  std::vector<NodeId>& nodes = body().nodes;
  nodes.insert(nodes.begin(), first.begin(), first.end());
  nodes.insert(nodes.end(), last_nodes_.begin(), last_nodes_.end());
  last_nodes_.clear();
  DropUnused();
}

// What is left over would be weighed again.
void LoopParts::DropUnused() {
  FindUsers();
  std::vector<NodeId>& nodes = body().nodes;
  std::unordered_set<NodeId> unused;
  for (size_t i = nodes.size(); i-- > 0;) {
    const std::vector<NodeId>& users = users_[nodes[i]];
    if (IsPure(p_, p_[nodes[i]]) &&
        std::all_of(users.begin(), users.end(), [&](NodeId user) { return unused.contains(user); }))
      unused.insert(nodes[i]);
  }
  std::erase_if(nodes, [&](NodeId id) { return unused.contains(id); });
}

}  // namespace tenon::compiler
