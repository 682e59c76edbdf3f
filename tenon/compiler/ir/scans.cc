#include "tenon/compiler/ir/scans.h"

#include "tenon/compiler/ir/combiner.h"

namespace tenon::compiler {

std::optional<ScanForm> ScanFormOf(const Program& program, const GraphNode& node) {
  if (node.op != OpCode::kReduceWindow || node.in.size() != 2 || program.shape(node.in[0]) != node.shape())
    return std::nullopt;
  const Shape& shape = node.shape();
  const auto& a = node.attrs<ReduceWindowAttrs>();
  std::optional<ScanForm> form;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const int64_t n = shape.dims[d], window = a.window_dimensions[d], low = a.padding_low[d], high = a.padding_high[d];
    if (a.window_strides[d] != 1 || a.base_dilations[d] != 1 || a.window_dilations[d] != 1) return std::nullopt;
    if (window == 1 && low == 0 && high == 0) continue;
    if (form || window != n || !((low == n - 1 && high == 0) || (low == 0 && high == n - 1))) return std::nullopt;
    form = ScanForm{d, low == 0};
  }
  if (!form || !form->reverse) return form;
  // From the high end elements meet in other groups, which only some functions allow.
  const DType part = IsComplex(shape.dtype) ? RealPartOf(shape.dtype) : shape.dtype;
  const bool associates = IdentityBits(CombinerOp(program, node.blocks[0]), part).has_value();
  const bool is_long = shape.dims[form->dim] > program.target->numerics.long_window;
  return associates || (is_long && IsSymmetric(program, node.blocks[0])) ? form : std::nullopt;
}

}  // namespace tenon::compiler
