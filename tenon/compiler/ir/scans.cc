#include "tenon/compiler/ir/scans.h"

namespace tenon::compiler {

std::optional<ScanForm> ScanFormOf(const Program& program, const Node& node) {
  if (node.op != Op::kReduceWindow || node.in.size() != 2 || program.shape(node.in[0]) != node.shape())
    return std::nullopt;
  const Shape& shape = node.shape();
  std::optional<ScanForm> form;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const int64_t n = shape.dims[d], window = node.lists[0][d], low = node.lists[4][d], high = node.lists[5][d];
    if (node.lists[1][d] != 1 || node.lists[2][d] != 1 || node.lists[3][d] != 1) return std::nullopt;
    if (window == 1 && low == 0 && high == 0) continue;
    if (form || window != n || !((low == n - 1 && high == 0) || (low == 0 && high == n - 1))) return std::nullopt;
    form = ScanForm{d, low == 0};
  }
  return form;
}

}  // namespace tenon::compiler
