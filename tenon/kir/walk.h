#pragma once

/// What parts of a kernel name other nodes.

#include "tenon/kir/kir.h"

namespace tenon::kir {

/// Calls fn(Val) for the inputs of a node of a kernel, including the starts, guards and `otherwise` of a read.
template <class Fn>
void ForEachInput(const Kernel& kernel, const Node& node, const Fn& fn) {
  for (Val v : node.in) fn(v);
  if (node.op != Op::kRead) return;
  const Read& read = kernel.reads[node.attr];
  for (const Axis& a : read.at) {
    if (a.start != kNone) fn(a.start);
  }
  for (const Guard& g : read.guard) {
    if (g.e.start != kNone) fn(g.e.start);
  }
  if (read.otherwise != kNone) fn(read.otherwise);
}

/// Calls fn(Val) for what a store needs: its value, the starts of its axes, and those of its guards.
template <class Fn>
void ForEachRoot(const Store& store, const Fn& fn) {
  fn(store.value);
  for (const Axis& a : store.at) {
    if (a.start != kNone) fn(a.start);
  }
  for (const Guard& g : store.guard) {
    if (g.e.start != kNone) fn(g.e.start);
  }
}

/// By buffer: whether the kernel may write it, directly or under another name.
inline std::vector<bool> WrittenBuffers(const Kernel& kernel) {
  std::vector<bool> written(kernel.buffers.size());
  for (size_t i = 0; i < written.size(); ++i) {
    const Buffer& buffer = kernel.buffers[i];
    if (buffer.kind != BufKind::kArg && buffer.kind != BufKind::kConst) written[i] = true;
    if (buffer.in_place_of != kNoBuf) written[buffer.in_place_of] = true;
  }
  return written;
}

}  // namespace tenon::kir
