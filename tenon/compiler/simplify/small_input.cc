// Convolutions whose window is larger than their input: derivatives of derivatives of convolutions, whose windows are
// gradients. Most of what such a window meets is padding.
#include <algorithm>
#include <optional>
#include <utility>

#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

std::optional<Ref> Simplifier::TradeWindow(const GraphNode& node) {
  // Each result is the sum of w[k] * x[p] over all k and p that are as far apart as its place says, whichever of the
  // two is called the window.
  const Shape in = ShapeOf(node.in[0]), window = ShapeOf(node.in[1]);
  const ConvolutionAttrs a = node.attrs<ConvolutionAttrs>();
  const auto extent = [](const Shape& s, int64_t d) { return s.dims[static_cast<size_t>(d)]; };
  if (a.feature_group_count != 1 || a.batch_group_count != 1 || in.dtype != window.dtype) return std::nullopt;
  int64_t elements = 1, taps = 1;
  for (size_t d = 0; d < a.window_strides.size(); ++d) {
    if (a.window_strides[d] != 1) return std::nullopt;
    elements *= extent(in, a.input_spatial_dimensions[d]);
    taps *= extent(window, a.kernel_spatial_dimensions[d]);
  }
  if (elements < 1 || taps < policy::kLeastTradedWindow * elements) return std::nullopt;

  ConvolutionAttrs traded = a;
  traded.input_batch_dimension = a.kernel_output_feature_dimension;
  traded.input_feature_dimension = a.kernel_input_feature_dimension;
  traded.input_spatial_dimensions = a.kernel_spatial_dimensions;
  traded.kernel_output_feature_dimension = a.input_batch_dimension;
  traded.kernel_input_feature_dimension = a.input_feature_dimension;
  traded.kernel_spatial_dimensions = a.input_spatial_dimensions;
  std::swap(traded.output_batch_dimension, traded.output_feature_dimension);
  std::swap(traded.lhs_dilation, traded.rhs_dilation);
  Dims mirrored;  // Of the results: as the window was not, places of one fall where those of the other rise.
  for (size_t d = 0; d < a.window_strides.size(); ++d) {
    const int64_t reach = (extent(in, a.input_spatial_dimensions[d]) - 1) * a.lhs_dilation[d];
    const int64_t window_reach = (extent(window, a.kernel_spatial_dimensions[d]) - 1) * a.rhs_dilation[d];
    const int64_t first = a.padding_low[d] + reach - window_reach;
    const int64_t last = extent(node.shape(), a.output_spatial_dimensions[d]) - 1 - a.padding_low[d];
    const bool falls = a.window_reversal[d] == 0;
    traded.padding_low[d] = falls ? last : first;
    traded.padding_high[d] = falls ? first : last;
    if (falls && node.shape().dims[static_cast<size_t>(a.output_spatial_dimensions[d])] > 1)
      mirrored.push_back(a.output_spatial_dimensions[d]);
  }
  GraphNode other = node;
  other.origin = nullptr;
  std::swap(other.in[0], other.in[1]);
  other.attributes = std::move(traded);
  const std::optional<target::Work> as_is = outlook_.driver_work(to_, node, std::nullopt);
  const std::optional<target::Work> as_other = outlook_.driver_work(to_, other, std::nullopt);
  const target::Target& machine = *target::StandardTarget();
  if (!as_is || !as_other || target::TimeNs(machine, *as_other) >= target::TimeNs(machine, *as_is)) return std::nullopt;
  Ref result = Emit(std::move(other));
  for (const int64_t d : mirrored) result = Reversed(result, static_cast<size_t>(d));
  return result;
}

}  // namespace tenon::compiler
