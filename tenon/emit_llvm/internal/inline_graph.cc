// Graphs written out in place, with what rarely matters behind a branch.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <vector>

#include "tenon/emit_llvm/internal/scalar_lowering.h"
#include "tenon/kir/math.h"

namespace tenon::emit_llvm {

using kir::Op;
using kir::Val;
using llvm::Value;

namespace {

bool IsRare(const kir::Node& node) { return node.op == Op::kSelect && node.imm == kir::kRare; }

/// Which nodes only the true operands of rare selects need. Selects that ask the same, and none of which needs another,
/// share a region, named by the last of them: a remainder and its quadrant are computed behind one branch. Regions form
/// a tree; kAlways is its root.
class Regions {
 public:
  static constexpr Val kAlways = kir::kNone;

  explicit Regions(const kir::Graph& graph)
      : graph_(graph),
        owner_(graph.nodes.size(), kUnused),
        depth_(graph.nodes.size(), 0),
        region_(graph.nodes.size(), kAlways) {
    for (Val v : graph.results) Use(v, kAlways);
    for (Val v = static_cast<Val>(graph.nodes.size()); v-- > 0;) {
      if (owner_[v] == kUnused) continue;
      const kir::Node& node = graph.nodes[v];
      if (IsRare(node)) Place(v);
      for (size_t i = 0; i < node.in.size(); ++i) Use(node.in[i], IsRare(node) && i == 1 ? region_[v] : owner_[v]);
    }
  }
  /// The region whose selects alone need `v`, or kAlways.
  Val OwnerOf(Val v) const { return owner_[v]; }
  /// The region that computes a rare select's true operand.
  Val RegionOf(Val v) const { return region_[v]; }
  /// Its selects in ascending order.
  llvm::SmallVector<Val, 4> SelectsOf(Val region) const {
    llvm::SmallVector<Val, 4> selects;
    for (Val v = 0; v <= region; ++v) {
      if (region_[v] == region) selects.push_back(v);
    }
    return selects;
  }
  /// By node up to `last`: whether it is one of `selects`, which are ascending, or needs one.
  std::vector<bool> Needing(llvm::ArrayRef<Val> selects, Val last) const {
    std::vector<bool> needing(last + 1, false);
    for (Val v : selects) needing[v] = true;
    for (Val v = selects.front(); v <= last; ++v) {
      for (Val in : graph_.nodes[v].in) needing[v] = needing[v] || needing[in];
    }
    return needing;
  }

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
  /// Finds the region of a rare select, all of whose users are known. Only those that nothing else is behind share one:
  /// what they need is then there before either.
  void Place(Val v) {
    region_[v] = v;
    depth_[v] = DepthOf(owner_[v]) + 1;
    for (Val other = v + 1; owner_[v] == kAlways && other < graph_.nodes.size(); ++other) {
      const bool asks_the_same =
          region_[other] == other && owner_[other] == kAlways && graph_.nodes[other].in[0] == graph_.nodes[v].in[0];
      if (!asks_the_same) continue;
      const std::vector<bool> needing = Needing(v, other);
      const llvm::SmallVector<Val, 4> selects = SelectsOf(other);
      if (std::any_of(selects.begin(), selects.end(), [&](Val s) { return needing[s]; })) continue;
      region_[v] = other;
      return;
    }
  }

  const kir::Graph& graph_;
  std::vector<Val> owner_;
  std::vector<int> depth_;
  std::vector<Val> region_;
};

/// Writes out one graph for several copies, whose operations alternate.
class Inliner {
 public:
  Inliner(ScalarLowering& low, llvm::IRBuilder<>& b, const kir::Graph& graph, std::span<Value* const> arguments,
          size_t copies)
      : low_(low),
        b_(b),
        graph_(graph),
        arguments_(arguments),
        copies_(copies),
        regions_(graph),
        values_(graph.nodes.size() * copies) {
    for (Value* a : arguments) lanes_ = std::max(lanes_, ScalarLowering::LanesOf(a));
  }

  llvm::SmallVector<Value*, 2> Run() {
    EmitRegion(Regions::kAlways);
    llvm::SmallVector<Value*, 2> results;
    for (size_t copy = 0; copy < copies_; ++copy) {
      for (Val v : graph_.results) results.push_back(At(v, copy));
    }
    return results;
  }

 private:
  Value*& At(Val v, size_t copy) { return values_[v * copies_ + copy]; }

  void EmitRegion(Val region) {
    for (Val v = 0; v < graph_.nodes.size(); ++v) {
      if (regions_.OwnerOf(v) == region) Emit(v);
    }
  }

  void Emit(Val v) {
    if (At(v, 0) != nullptr) return;
    const kir::Node& node = graph_.nodes[v];
    if (IsRare(node)) return EmitRare(regions_.RegionOf(v));
    if (node.op == Op::kMath) return EmitMath(v);
    for (size_t copy = 0; copy < copies_; ++copy) {
      Value*& value = At(v, copy);
      if (node.op == Op::kArgument) {
        value = low_.Splat(arguments_[copy * (arguments_.size() / copies_) + node.imm], lanes_);
      } else if (node.op == Op::kConst) {
        value = copy > 0 ? At(v, 0) : low_.Literal(node.type, graph_.literals[node.attr], lanes_);
      } else {
        llvm::SmallVector<Value*, 4> in;
        llvm::SmallVector<DType, 4> types;
        for (Val i : node.in) {
          in.push_back(At(i, copy));
          types.push_back(graph_.nodes[i].type);
        }
        value = low_.Lower(node, types, in);
      }
    }
  }

  void EmitMath(Val v) {
    const kir::Node& node = graph_.nodes[v];
    const kir::Graph& function = kir::MathGraph(node.attr);
    llvm::SmallVector<Value*, 8> in;
    for (size_t copy = 0; copy < copies_; ++copy) {
      for (Val i : node.in) in.push_back(At(i, copy));
    }
    const llvm::SmallVector<Value*, 2> results = low_.Inline(function, in, copies_);
    for (size_t copy = 0; copy < copies_; ++copy) At(v, copy) = results[copy * function.results.size()];
  }

  /// All selects of a region: one branch, taken where any lane of any copy asks for it.
  void EmitRare(Val region) {
    const llvm::SmallVector<Val, 4> selects = regions_.SelectsOf(region);
    // What the later ones need outside of the region comes before the branch.
    const std::vector<bool> needing = regions_.Needing(selects, region);
    for (Val v = selects.front(); v < region; ++v) {
      if (regions_.OwnerOf(v) == regions_.OwnerOf(region) && !needing[v]) Emit(v);
    }
    const Val condition = graph_.nodes[region].in[0];
    Value* any = At(condition, 0);
    for (size_t copy = 1; copy < copies_; ++copy) any = b_.CreateOr(any, At(condition, copy));
    llvm::BasicBlock* from = b_.GetInsertBlock();
    llvm::BasicBlock* rare = llvm::BasicBlock::Create(b_.getContext(), "rare", from->getParent());
    llvm::BasicBlock* exit = llvm::BasicBlock::Create(b_.getContext(), "usual", from->getParent());
    b_.CreateCondBr(lanes_ == 1 ? any : b_.CreateOrReduce(any), rare, exit);
    b_.SetInsertPoint(rare);
    EmitRegion(region);
    std::vector<Value*> chosen;
    for (Val v : selects) {
      const kir::Node& node = graph_.nodes[v];
      for (size_t copy = 0; copy < copies_; ++copy)
        chosen.push_back(b_.CreateSelect(At(condition, copy), At(node.in[1], copy), At(node.in[2], copy)));
    }
    llvm::BasicBlock* end = b_.GetInsertBlock();
    b_.CreateBr(exit);
    exit->moveAfter(end);
    b_.SetInsertPoint(exit);
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Val v = selects[i / copies_];
      Value* usual = At(graph_.nodes[v].in[2], i % copies_);
      llvm::PHINode* merged = b_.CreatePHI(usual->getType(), 2);
      merged->addIncoming(usual, from);
      merged->addIncoming(chosen[i], end);
      At(v, i % copies_) = merged;
    }
  }

  ScalarLowering& low_;
  llvm::IRBuilder<>& b_;
  const kir::Graph& graph_;
  const std::span<Value* const> arguments_;
  const size_t copies_;
  const Regions regions_;
  unsigned lanes_ = 1;
  std::vector<Value*> values_;
};

}  // namespace

llvm::SmallVector<Value*, 2> ScalarLowering::Inline(const kir::Graph& graph, std::span<Value* const> arguments,
                                                    size_t copies) {
  return Inliner(*this, b_, graph, arguments, copies).Run();
}

}  // namespace tenon::emit_llvm
