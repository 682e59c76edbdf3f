#pragma once

/// Which values of a kernel are cheaper stored by a kernel of their own and read than computed wherever they are used.

#include <vector>

#include "tenon/compiler/fuse/evaluations.h"

namespace tenon::compiler {

/// A value of the program where a kernel computes it.
struct ValueAt {
  kir::Val value = kir::kNone;
  int component = 0;  ///< Of a complex one.
  Moves moves{};      ///< How a read of it in memory would move.
  kir::Read read{};   ///< That read, but for its buffer.
};

/// A value of the program that a kernel computes, with all nodes that are it somewhere.
struct Computed {
  NodeId node = kNoNode;
  Shape shape;
  bool stored = false;          ///< By this kernel, in any case.
  std::vector<ValueAt> values;  ///< Each node once, ascending.

  double elements() const { return static_cast<double>(NumElements(shape.dims)); }
  double bytes() const { return static_cast<double>(SizeBytes(shape)); }
  bool complex() const { return IsComplex(shape.dtype); }
};

/// Those of `computed` whose storing saves more than it costs, those first that may save most; another step costs
/// `step`. The same for all CPUs.
std::vector<NodeId> BetterStored(const kir::Kernel& kernel, const std::vector<Computed>& computed,
                                 const target::Target& target, double step);

}  // namespace tenon::compiler
