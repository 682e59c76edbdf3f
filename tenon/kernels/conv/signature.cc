#include "tenon/kernels/gemm/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/kernels/conv/conv.h"

namespace tenon::kernels {
namespace {

constexpr size_t kMaxSpatial = 3;
constexpr size_t kFixed = 9;  // Numbers before the spatial lists.
constexpr size_t kPerSpatial = 8;

}  // namespace

std::vector<int64_t> ToConfig(const ConvNumbers& n) {
  std::vector<int64_t> config = {static_cast<int64_t>(n.in_spatial.size()),
                                 n.in_batch,
                                 n.in_feature,
                                 n.weight_in,
                                 n.weight_out,
                                 n.out_batch,
                                 n.out_feature,
                                 n.feature_groups,
                                 n.batch_groups};
  for (size_t d = 0; d < n.in_spatial.size(); ++d) {
    for (const Dims* list : {&n.in_spatial, &n.weight_spatial, &n.out_spatial, &n.strides, &n.low, &n.in_dilation,
                             &n.window_dilation, &n.reversed}) {
      config.push_back((*list)[d]);
    }
  }
  return config;
}

Result<ConvNumbers> ConvNumbersOf(std::span<const int64_t> config) {
  if (config.size() < kFixed || config[0] < 0 || config[0] > static_cast<int64_t>(kMaxSpatial) ||
      config.size() != kFixed + kPerSpatial * static_cast<size_t>(config[0])) {
    return InvalidArgument(fmt::format(
        "a convolution's configuration has {} numbers, wanted 9 and 8 per spatial dimension", config.size()));
  }
  ConvNumbers n;
  n.in_batch = config[1];
  n.in_feature = config[2];
  n.weight_in = config[3];
  n.weight_out = config[4];
  n.out_batch = config[5];
  n.out_feature = config[6];
  n.feature_groups = config[7];
  n.batch_groups = config[8];
  for (size_t d = 0; d < static_cast<size_t>(config[0]); ++d) {
    const int64_t* at = config.data() + kFixed + kPerSpatial * d;
    for (Dims* list : {&n.in_spatial, &n.weight_spatial, &n.out_spatial, &n.strides, &n.low, &n.in_dilation,
                       &n.window_dilation, &n.reversed}) {
      list->push_back(*at++);
    }
  }
  return n;
}

Result<ConvSignature> MakeConvSignature(const ConvNumbers& n, const StridedArray& in, const StridedArray& weights,
                                        const StridedArray& out) {
  const size_t spatial = n.in_spatial.size();
  if (spatial > kMaxSpatial)
    return Unimplemented(fmt::format("a convolution over {} dimensions, wanted at most 3", spatial));
  const auto bad = [](const char* what) {
    return InvalidArgument(fmt::format("convolution: {} do not belong together", what));
  };
  // Every dimension of every operand named once.
  const auto complete = [&](const StridedArray& operand, int64_t a, int64_t b, const Dims& rest) {
    if (operand.dims.size() != spatial + 2 || operand.strides.size() != operand.dims.size() || rest.size() != spatial)
      return false;
    uint32_t seen = 0;
    const auto see = [&](int64_t d) {
      if (d >= 0 && d < static_cast<int64_t>(spatial + 2)) seen |= 1u << d;
    };
    see(a);
    see(b);
    for (int64_t d : rest) see(d);
    return seen == (1u << (spatial + 2)) - 1;
  };
  if (!complete(in, n.in_batch, n.in_feature, n.in_spatial) ||
      !complete(weights, n.weight_in, n.weight_out, n.weight_spatial) ||
      !complete(out, n.out_batch, n.out_feature, n.out_spatial)) {
    return bad("dimension numbers and operands");
  }
  ConvSignature s;
  s.type = in.type;
  s.out_type = out.type;
  if (in.type != weights.type) return Unimplemented("a convolution of operands of two types");
  TENON_RETURN_IF_ERROR(Verify(DenseGemm(s.type, s.type, s.out_type, 1, 1, 1)));
  const auto extent = [](const StridedArray& o, int64_t d) { return o.dims[static_cast<size_t>(d)]; };
  const auto stride = [](const StridedArray& o, int64_t d) { return o.strides[static_cast<size_t>(d)]; };
  const int64_t features = extent(in, n.in_feature), images = extent(in, n.in_batch),
                results = extent(out, n.out_feature);
  if (n.feature_groups < 1 || n.batch_groups < 1 || (n.feature_groups > 1 && n.batch_groups > 1))
    return bad("group counts");
  s.groups = n.feature_groups * n.batch_groups;
  if (features % n.feature_groups != 0 || images % n.batch_groups != 0 || results % s.groups != 0)
    return bad("groups and channels");
  s.in_channels = features / n.feature_groups;
  s.batch = images / n.batch_groups;
  s.out_channels = results / s.groups;
  if (extent(weights, n.weight_in) != s.in_channels || extent(weights, n.weight_out) != results ||
      extent(out, n.out_batch) != s.batch) {
    return bad("channels and batch");
  }
  s.in_batch_stride = stride(in, n.in_batch);
  s.in_channel_stride = stride(in, n.in_feature);
  s.in_group_stride = n.batch_groups > 1 ? s.batch * s.in_batch_stride : s.in_channels * s.in_channel_stride;
  s.weight_in_stride = stride(weights, n.weight_in);
  s.weight_out_stride = stride(weights, n.weight_out);
  s.weight_group_stride = s.out_channels * s.weight_out_stride;
  s.out_batch_stride = stride(out, n.out_batch);
  s.out_channel_stride = stride(out, n.out_feature);
  s.out_group_stride = s.out_channels * s.out_channel_stride;
  for (size_t i = 0; i < spatial; ++i) {
    ConvDim d;
    d.in = extent(in, n.in_spatial[i]);
    d.window = extent(weights, n.weight_spatial[i]);
    d.out = extent(out, n.out_spatial[i]);
    d.stride = n.strides[i];
    d.low = n.low[i];
    d.in_dilation = n.in_dilation[i];
    d.window_dilation = n.window_dilation[i];
    d.reversed = n.reversed[i] != 0;
    d.in_stride = stride(in, n.in_spatial[i]);
    d.weight_stride = stride(weights, n.weight_spatial[i]);
    d.out_stride = stride(out, n.out_spatial[i]);
    if (d.stride < 1 || d.in_dilation < 1 || d.window_dilation < 1) return bad("strides and dilations");
    s.dims.push_back(d);
  }
  return s;
}

double EstimateConvNs(const ConvSignature& s) {
  GemmSignature g = DenseGemm(s.type, s.type, s.out_type, s.batch, s.out_channels, s.in_channels);
  for (const ConvDim& d : s.dims) {
    g.m *= d.out;
    g.k *= d.stride == 1 ? (d.window + d.in_dilation - 1) / d.in_dilation : d.window;
  }
  g.batch[0] = {s.groups, 0, 0, 0};
  const double packed = static_cast<double>(g.m) * static_cast<double>(g.k) * static_cast<double>(s.groups);
  return EstimateCost(g).time_ns + packed * 0.1;
}

}  // namespace tenon::kernels
