#pragma once

/// Visiting every part of a kernel that names nodes or sizes, for those who change it; and sets of dims.

#include "tenon/kir/kir.h"

namespace tenon::compiler {

/// The mask of one dim.
constexpr kir::DimMask Bit(size_t dim) { return kir::DimMask{1} << dim; }

/// Places of a dim that the stage runs over: its range, where it has one. Sizes are baked.
inline int64_t ExtentIn(const kir::Kernel& k, const kir::Stage& stage, kir::DimId dim) {
  for (const kir::Range& r : stage.domain) {
    if (r.dim == dim) return r.hi.baked > r.lo.baked ? r.hi.baked - r.lo.baked : 0;
  }
  return k.dims[dim].extent.baked;
}

/// Whether two places in one buffer differ at most by a constant along its last axis.
inline bool DifferInOffset(const SmallVector<kir::Axis, 4>& x, const SmallVector<kir::Axis, 4>& y) {
  if (x.size() != y.size() || x.empty()) return false;
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    if (!(x[i] == y[i])) return false;
  }
  return x.back().terms == y.back().terms && x.back().start == y.back().start;
}

/// By how many elements a place in the buffer moves from one point of the dim to the next. Sizes are baked.
inline int64_t ElementsAlong(const SmallVector<kir::Axis, 4>& at, const kir::Buffer& buffer, size_t dim) {
  int64_t elements = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    for (const kir::Term& t : at[i].terms) {
      if (t.dim == dim) elements += t.coef.baked * buffer.stride[i].baked;
    }
  }
  return elements;
}

/// By dim, how many elements a place in the buffer moves along it; 0 along dims of one point.
inline std::vector<int64_t> MovesOf(const kir::Kernel& k, const kir::Buffer& buffer,
                                    const SmallVector<kir::Axis, 4>& at) {
  std::vector<int64_t> moves(k.dims.size(), 0);
  for (size_t d = 0; d < moves.size(); ++d) moves[d] = k.dims[d].extent.baked < 2 ? 0 : ElementsAlong(at, buffer, d);
  return moves;
}

/// Where the place lies, in elements, at the first point of all dims. Sizes are baked.
inline int64_t OffsetOf(const SmallVector<kir::Axis, 4>& at, const kir::Buffer& buffer) {
  int64_t offset = 0;
  for (size_t i = 0; i < at.size(); ++i) offset += at[i].offset.baked * buffer.stride[i].baked;
  return offset;
}

/// f(stage) for every stage of a kir::Seq, const or not, those in loops included.
template <class Seq, class F>
void ForEachStage(Seq& seq, const F& f) {
  for (auto& step : seq) {
    if (auto* stage = std::get_if<kir::Stage>(&step.is)) {
      f(*stage);
    } else {
      ForEachStage(std::get<kir::Loop>(step.is).body, f);
    }
  }
}

/// f(Loop&) for every loop, outer ones first.
template <class F>
void ForEachLoop(kir::Seq& seq, const F& f) {
  for (kir::Step& step : seq) {
    if (auto* loop = std::get_if<kir::Loop>(&step.is)) {
      f(*loop);
      ForEachLoop(loop->body, f);
    }
  }
}

/// f(Val&) for every use of a node outside Kernel::nodes and Kernel::reads.
template <class F>
void ForEachRootUse(kir::Kernel& k, const F& f) {
  auto axis = [&](kir::Axis& a) {
    if (a.start != kir::kNone) f(a.start);
  };
  ForEachStage(k.seq, [&](kir::Stage& stage) {
    for (kir::Reduce& r : stage.reduces) {
      for (kir::Val& v : r.in) f(v);
      for (kir::Val& v : r.init) f(v);
      for (kir::Val& v : r.identity) f(v);
    }
    for (kir::Store& s : stage.stores) {
      f(s.value);
      for (kir::Axis& a : s.at) axis(a);
      for (kir::Guard& g : s.guard) axis(g.e);
    }
  });
  ForEachLoop(k.seq, [&](kir::Loop& loop) {
    for (kir::Val& v : loop.init) f(v);
    for (kir::Val& v : loop.next) f(v);
    if (loop.condition != kir::kNone) f(loop.condition);
  });
}

/// f(Val&) for every node that a read needs.
template <class F>
void ForEachUse(kir::Read& read, const F& f) {
  for (kir::Axis& a : read.at) {
    if (a.start != kir::kNone) f(a.start);
  }
  for (kir::Guard& g : read.guard) {
    if (g.e.start != kir::kNone) f(g.e.start);
  }
  if (read.otherwise != kir::kNone) f(read.otherwise);
}

/// f(Buf, at, guard) for every access of a kir::Kernel, const or not.
template <class Kernel, class F>
void ForEachAccess(Kernel& k, const F& f) {
  for (auto& r : k.reads) f(r.buf, r.at, r.guard);
  ForEachStage(k.seq, [&](auto& stage) {
    for (auto& s : stage.stores) f(s.buf, s.at, s.guard);
  });
}

/// Replaces the nodes by `nodes`, old ones by map[old] everywhere.
inline void Renumber(kir::Kernel& k, std::vector<kir::Node> nodes, const std::vector<kir::Val>& map) {
  k.nodes = std::move(nodes);
  for (kir::Read& r : k.reads) ForEachUse(r, [&](kir::Val& v) { v = map[v]; });
  ForEachRootUse(k, [&](kir::Val& v) { v = map[v]; });
}

/// How far the place moves when the dim moves by one. Sizes are baked.
inline int64_t CoefOf(const kir::Axis& a, kir::DimId d) {
  for (const kir::Term& t : a.terms) {
    if (t.dim == d) return t.coef.baked;
  }
  return 0;
}

}  // namespace tenon::compiler
