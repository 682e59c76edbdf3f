#pragma once

/// What the sorts that are kernels share: keys as integers, which of two elements comes first, and how long each way
/// takes on a GPU.

#include <vector>

#include "tenon/compiler/ir/attrs.h"
#include "tenon/compiler/ir/ir.h"
#include "tenon/kir/builder.h"
#include "tenon/target/target.h"

namespace tenon::compiler {

/// Whether kernels can hold what the sort moves, and its keys have an order as integers of their width.
bool HasSortKeys(const Program& p, const GraphNode& sort);

/// The keys of one element as integers that compare as the elements do, from its `read` values.
std::vector<kir::Val> SortKeys(kir::KernelBuilder& b, const Program& p, const GraphNode& sort,
                               const std::vector<kir::Val>& read);

/// Whether an element comes before another one: by the first key that tells them apart, else `tied`.
kir::Val ComesBefore(kir::KernelBuilder& b, const SortAttrs& attrs, const std::vector<kir::Val>& its,
                     const std::vector<kir::Val>& others, kir::Val tied);

/// Nanoseconds of a sort on a GPU: by ranks, by runs that merge, and by the host, for which the device waits.
struct SortTimes {
  double ranks = 0, merges = 0, host = 0;
};
SortTimes TimesOfSort(const Program& p, const GraphNode& sort);

}  // namespace tenon::compiler
