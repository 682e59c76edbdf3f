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

/// Strides by node, of single results that are stored for one result of the program alone, which looks at them through
/// transposes and reshapes: stored so, they are that result. `strides` has one entry per result of the program. What is
/// dense anyway is left out.
std::unordered_map<NodeId, Dims> LayoutsOfResults(const Program& program, const Captures& captures,
                                                  const std::vector<Dims>& strides);

/// Results of nodes with several that something uses.
std::unordered_set<Ref, RefHasher> UsedResults(const Program& program);

}  // namespace tenon::compiler
