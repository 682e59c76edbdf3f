#pragma once

#include "tenon/kir/kir.h"

namespace tenon::kir::internal {

/// What holds for a node wherever it stands: operand count, order and types, literals. Reads, dims, params, reduces and
/// carries are the kernel's matter.
Status VerifyNode(const std::vector<Node>& nodes, size_t v, const std::vector<uint64_t>& literals);

Status VerifyGraph(const Graph& graph);

}  // namespace tenon::kir::internal
