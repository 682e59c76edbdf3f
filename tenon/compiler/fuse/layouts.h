#pragma once

/// How values lie in memory, beyond row after row.

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/compiler/fuse/captures.h"
#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// The strides under which memory of `dims` and `strides` is an array of the extents `to`, in the same order of
/// elements; nothing where there are none. Equal units in and out.
std::optional<Dims> ReshapedStrides(const Dims& dims, const Dims& strides, const Dims& to);

/// Strides by node, of single results that one user alone looks at through transposes and reshapes, and wants under
/// strides of its own: stored so, they are what it wants. What is dense anyway is left out.
class WantedLayouts {
 public:
  WantedLayouts(const Program& program, const Captures& captures);

  /// `strides` in elements, of `value`'s dims.
  void Want(Ref value, Dims strides);
  /// Null for row after row.
  const Dims* Of(NodeId node) const;

 private:
  const Program& p_;
  std::vector<uint32_t> uses_;  ///< By node.
  std::unordered_map<NodeId, Dims> layouts_;
};

/// Results of nodes with several that something uses.
std::unordered_set<Ref, RefHasher> UsedResults(const Program& program);

}  // namespace tenon::compiler
