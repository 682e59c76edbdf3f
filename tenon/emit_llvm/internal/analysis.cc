#include "tenon/emit_llvm/internal/analysis.h"

#include <algorithm>

#include "tenon/kir/math.h"
#include "tenon/kir/walk.h"
#include "tenon/target/lanes.h"
#include "tenon/target/target.h"

namespace tenon::emit_llvm {

using kir::DimMask;
using kir::kNone;
using kir::Op;
using kir::Val;

std::optional<int64_t> Contribution::ConstFactor() const {
  if (!a.is_param() && !b.is_param()) return a.baked * b.baked;
  if ((!a.is_param() && a.baked == 0) || (!b.is_param() && b.baked == 0)) return 0;
  return std::nullopt;
}

std::optional<int64_t> ConstStride(const Access& access, kir::DimId dim) {
  int64_t stride = 0;
  for (const Contribution& part : access.parts) {
    if (part.kind != Contribution::Kind::kDim || part.dim != dim) continue;
    const std::optional<int64_t> factor = part.ConstFactor();
    if (!factor) return std::nullopt;
    stride += *factor;
  }
  return stride;
}

Access Analysis::AccessOf(const kir::Kernel& kernel, kir::Buf buf, const SmallVector<kir::Axis, 4>& at,
                          const SmallVector<kir::Guard, 1>& guards) {
  Access access;
  access.buf = buf;
  access.guards = &guards;
  for (size_t i = 0; i < at.size(); ++i) {
    const kir::Size stride = kernel.buffers[buf].stride[i];
    const kir::Axis& axis = at[i];
    if (axis.offset != kir::Size::Of(0)) {
      access.parts.push_back({.kind = Contribution::Kind::kOffset, .a = axis.offset, .b = stride});
    }
    for (const kir::Term& term : axis.terms) {
      access.parts.push_back({.kind = Contribution::Kind::kDim, .dim = term.dim, .a = term.coef, .b = stride});
      if (access.parts.back().ConstFactor() != 0) access.dims |= DimMask{1} << term.dim;
    }
    if (axis.start != kNone)
      access.parts.push_back({.kind = Contribution::Kind::kStart, .start = axis.start, .b = stride});
  }
  return access;
}

Analysis::Analysis(const kir::Kernel& k) : kernel(k), buffer_mutable(kir::WrittenBuffers(k)) {
  if (kir::ReadsByData(k)) ranges = kir::RangeRules(k).OfAll();
  for (const kir::Read& read : k.reads) reads.push_back(AccessOf(k, read.buf, read.at, read.guard));
  FindDeps();
}

DimMask Analysis::AxisDeps(const kir::Axis& axis) const {
  DimMask mask = axis.start == kNone ? 0 : deps[axis.start];
  for (const kir::Term& term : axis.terms) mask |= DimMask{1} << term.dim;
  return mask;
}

void Analysis::FindDeps() {
  deps.assign(kernel.nodes.size(), 0);
  // Reductions and carries refer to nodes in any order, so until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (Val v = 0; v < kernel.nodes.size(); ++v) {
      const kir::Node& node = kernel.nodes[v];
      DimMask mask = deps[v];
      kir::ForEachInput(kernel, kernel.nodes[v], [&](Val in) { mask |= deps[in]; });
      if (node.op == Op::kIndex) mask |= DimMask{1} << node.attr;
      if (node.op == Op::kRead) {
        for (const kir::Axis& axis : kernel.reads[node.attr].at) mask |= AxisDeps(axis);
        for (const kir::Guard& guard : kernel.reads[node.attr].guard) mask |= AxisDeps(guard.e);
      }
      changed |= mask != deps[v];
      deps[v] = mask;
    }
    changed |= StepDeps(kernel.seq);
  }
}

bool Analysis::StepDeps(const kir::Seq& seq) {
  bool changed = false;
  auto add = [&](Op op, uint32_t id, DimMask mask, std::optional<uint8_t> which) {
    for (Val v = 0; v < kernel.nodes.size(); ++v) {
      const kir::Node& node = kernel.nodes[v];
      if (node.op != op || node.attr != id || (which && node.imm != *which)) continue;
      changed |= (deps[v] | mask) != deps[v];
      deps[v] |= mask;
    }
  };
  for (const kir::Step& step : seq) {
    if (const auto* stage = std::get_if<kir::Stage>(&step.is)) {
      for (const kir::Reduce& reduce : stage->reduces) {
        DimMask mask = 0;  // a combiner mixes its values, so every result depends on all of them
        for (Val v : reduce.in) mask |= deps[v];
        for (Val v : reduce.init) mask |= deps[v];
        add(Op::kReduced, reduce.id, mask & ~reduce.dims, std::nullopt);
      }
    } else {
      const auto& loop = std::get<kir::Loop>(step.is);
      // Points that go on for different numbers of trips end with different values, whatever these are made of.
      const DimMask again = loop.condition == kNone ? 0 : deps[loop.condition];
      for (size_t i = 0; i < loop.init.size(); ++i) {
        add(Op::kCarried, loop.id, deps[loop.init[i]] | deps[loop.next[i]] | again, static_cast<uint8_t>(i));
      }
      changed |= StepDeps(loop.body);
    }
  }
  return changed;
}

std::vector<Val> Analysis::Needed(const std::vector<Val>& roots) const {
  std::vector<uint8_t> seen(kernel.nodes.size());
  std::vector<Val> stack;
  for (Val v : roots) {
    if (v != kNone && !seen[v]) {
      seen[v] = 1;
      stack.push_back(v);
    }
  }
  while (!stack.empty()) {
    const Val v = stack.back();
    stack.pop_back();
    kir::ForEachInput(kernel, kernel.nodes[v], [&](Val in) {
      if (!seen[in]) {
        seen[in] = 1;
        stack.push_back(in);
      }
    });
  }
  std::vector<Val> needed;
  for (Val v = 0; v < seen.size(); ++v) {
    if (seen[v]) needed.push_back(v);
  }
  return needed;
}

void Analysis::StoreRoots(const kir::Store& store, std::vector<Val>* roots) {
  kir::ForEachRoot(store, [&](Val v) { roots->push_back(v); });
}

void Analysis::SeqRoots(const kir::Seq& seq, std::vector<Val>* roots) const {
  for (const kir::Step& step : seq) {
    if (const auto* stage = std::get_if<kir::Stage>(&step.is)) {
      for (const kir::Reduce& reduce : stage->reduces) {
        roots->insert(roots->end(), reduce.in.begin(), reduce.in.end());
        roots->insert(roots->end(), reduce.init.begin(), reduce.init.end());
        roots->insert(roots->end(), reduce.identity.begin(), reduce.identity.end());
      }
      for (const kir::Store& store : stage->stores) StoreRoots(store, roots);
    } else {
      const auto& loop = std::get<kir::Loop>(step.is);
      roots->insert(roots->end(), loop.init.begin(), loop.init.end());
      roots->insert(roots->end(), loop.next.begin(), loop.next.end());
      if (loop.condition != kNone) roots->push_back(loop.condition);
      SeqRoots(loop.body, roots);
    }
  }
}

bool Analysis::RunsAfterReduce(const kir::Stage& stage, const kir::Store& store) const {
  if (stage.reduces.empty()) return false;
  std::vector<Val> roots;
  StoreRoots(store, &roots);
  const std::vector<Val> needed = Needed(roots);
  return std::any_of(needed.begin(), needed.end(), [&](Val v) {
    const kir::Node& node = kernel.nodes[v];
    return node.op == Op::kReduced && std::any_of(stage.reduces.begin(), stage.reduces.end(),
                                                  [&](const kir::Reduce& r) { return r.id == node.attr; });
  });
}

int Analysis::Cost(const std::vector<Val>& nodes, DimMask vector_dims) const {
  int cost = 0;
  for (Val v : nodes) {
    if (!(deps[v] & vector_dims)) continue;
    const kir::Node& node = kernel.nodes[v];
    cost += target::OpCosts::Standard().Of(node);
    if (IsFloat(node.type) && ByteWidth(node.type) < 4) cost += target::kNarrowRounding;
  }
  return cost;
}

}  // namespace tenon::emit_llvm
