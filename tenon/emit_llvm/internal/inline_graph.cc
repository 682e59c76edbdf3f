// Graphs written out in place, with what rarely matters behind a branch.
#include <llvm/IR/Constants.h>

#include "tenon/emit_llvm/internal/scalar_lowering.h"
#include "tenon/kir/math.h"

namespace tenon::emit_llvm {

using kir::Op;
using kir::Val;
using llvm::Value;

namespace {

/// Which nodes only the true operand of a rare select needs. Regions form a tree; kAlways is its root.
class Regions {
 public:
  static constexpr Val kAlways = kir::kNone;

  explicit Regions(const kir::Graph& graph)
      : graph_(graph), owner_(graph.nodes.size(), kUnused), depth_(graph.nodes.size(), 0) {
    for (Val v : graph.results) Use(v, kAlways);
    for (Val v = static_cast<Val>(graph.nodes.size()); v-- > 0;) {
      if (owner_[v] == kUnused) continue;
      const kir::Node& node = graph.nodes[v];
      if (IsRare(node)) depth_[v] = DepthOf(owner_[v]) + 1;
      for (size_t i = 0; i < node.in.size(); ++i) Use(node.in[i], IsRare(node) && i == 1 ? v : owner_[v]);
    }
  }
  static bool IsRare(const kir::Node& node) { return node.op == Op::kSelect && node.imm == kir::kRare; }
  /// The rare select whose true operand alone needs `v`, or kAlways.
  Val OwnerOf(Val v) const { return owner_[v]; }

 private:
  static constexpr Val kUnused = kir::kNone - 1;
  int DepthOf(Val region) const { return region == kAlways ? 0 : depth_[region]; }
  void Use(Val v, Val region) {
    if (owner_[v] == kUnused) {
      owner_[v] = region;
      return;
    }
    Val a = owner_[v];
    while (a != region) {
      Val& deeper = DepthOf(a) >= DepthOf(region) ? a : region;
      deeper = owner_[deeper];
    }
    owner_[v] = a;
  }
  const kir::Graph& graph_;
  std::vector<Val> owner_;
  std::vector<int> depth_;
};

}  // namespace

llvm::SmallVector<Value*, 2> ScalarLowering::Inline(const kir::Graph& graph, std::span<Value* const> arguments) {
  unsigned lanes = 1;
  for (Value* a : arguments) lanes = std::max(lanes, LanesOf(a));
  const Regions regions(graph);
  std::vector<Value*> values(graph.nodes.size());
  auto emit_region = [&](auto&& self, Val region) -> void {
    for (Val v = 0; v < graph.nodes.size(); ++v) {
      if (regions.OwnerOf(v) != region || values[v] != nullptr) continue;
      const kir::Node& node = graph.nodes[v];
      if (node.op == Op::kArgument) {
        values[v] = Splat(arguments[node.imm], lanes);
      } else if (node.op == Op::kConst) {
        values[v] = Literal(node.type, graph.literals[node.attr], lanes);
      } else if (Regions::IsRare(node)) {
        Value* condition = values[node.in[0]];
        Value* usual = values[node.in[2]];
        llvm::BasicBlock* from = b_.GetInsertBlock();
        llvm::BasicBlock* rare = llvm::BasicBlock::Create(b_.getContext(), "rare", from->getParent());
        llvm::BasicBlock* exit = llvm::BasicBlock::Create(b_.getContext(), "usual", from->getParent());
        b_.CreateCondBr(lanes == 1 ? condition : b_.CreateOrReduce(condition), rare, exit);
        b_.SetInsertPoint(rare);
        self(self, v);
        Value* chosen = b_.CreateSelect(condition, values[node.in[1]], usual);
        llvm::BasicBlock* end = b_.GetInsertBlock();
        b_.CreateBr(exit);
        exit->moveAfter(end);
        b_.SetInsertPoint(exit);
        llvm::PHINode* merged = b_.CreatePHI(usual->getType(), 2);
        merged->addIncoming(usual, from);
        merged->addIncoming(chosen, end);
        values[v] = merged;
      } else {
        llvm::SmallVector<Value*, 4> in;
        llvm::SmallVector<DType, 4> types;
        for (Val i : node.in) {
          in.push_back(values[i]);
          types.push_back(graph.nodes[i].type);
        }
        values[v] = node.op == Op::kMath ? Inline(kir::MathGraph(node.attr), in)[0] : Lower(node, types, in);
      }
    }
  };
  emit_region(emit_region, Regions::kAlways);
  llvm::SmallVector<Value*, 2> results;
  for (Val v : graph.results) results.push_back(values[v]);
  return results;
}

}  // namespace tenon::emit_llvm
