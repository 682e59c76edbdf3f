#include "tenon/kernels/gemm/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "tenon/kernels/conv/conv.h"

namespace tenon::kernels {
namespace {

constexpr size_t kMaxSpatial = 3;
/// How far from the input's first element, in elements of memory, a window may look: sums of a few still fit int64.
constexpr int64_t kMaxReach = int64_t{1} << 58;

bool Multiply(int64_t a, int64_t b, int64_t& product) {
  return !__builtin_mul_overflow(a, b, &product) && product <= kMaxReach && product >= -kMaxReach;
}

/// Whether every place that is looked at, inside of the input or not, can be reckoned with.
bool IsInReach(const ConvDim& d) {
  int64_t last, window, extent, at;
  return d.low >= -kMaxReach && d.low <= kMaxReach && Multiply(d.out, d.stride, last) &&
         Multiply(d.window, d.window_dilation, window) && Multiply(d.in, d.in_dilation, extent) &&
         Multiply(last + window + std::abs(d.low), d.in_stride == 0 ? 1 : d.in_stride, at);
}

}  // namespace

Result<ConvSignature> MakeConvSignature(const drivers::Convolution& n, const StridedArray& in,
                                        const StridedArray& weights, const StridedArray& out) {
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
  for (const Dims* list : {&n.strides, &n.low, &n.in_dilation, &n.window_dilation, &n.reversed}) {
    if (list->size() != spatial) return bad("numbers per spatial dimension");
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
    d.in_stride = d.in == 1 ? 1 : stride(in, n.in_spatial[i]);  // Never stepped over: as places run.
    d.weight_stride = stride(weights, n.weight_spatial[i]);
    d.out_stride = stride(out, n.out_spatial[i]);
    if (d.stride < 1 || d.in_dilation < 1 || d.window_dilation < 1) return bad("strides and dilations");
    if (!IsInReach(d)) return bad("padding, strides, dilations and extents, which look too far,");
    s.dims.push_back(d);
  }
  return s;
}

double ConvFlops(const ConvSignature& s) {
  double flops = 2.0 * static_cast<double>(s.batch * s.groups) * static_cast<double>(s.in_channels) *
                 static_cast<double>(s.out_channels);
  for (const ConvDim& d : s.dims) flops *= static_cast<double>(d.out) * static_cast<double>(d.window);
  return flops;
}

namespace {

// The product that has as much to do, and the elements of patches that are packed for it.
GemmSignature LikeProduct(const ConvSignature& s, double& packed) {
  GemmSignature g = DenseGemm(s.type, s.type, s.out_type, s.batch, s.out_channels, s.in_channels);
  for (const ConvDim& d : s.dims) {
    g.m *= d.out;
    g.k *= d.stride == 1 ? (d.window + d.in_dilation - 1) / d.in_dilation : d.window;
  }
  g.batch[0] = {s.groups, 0, 0, 0};
  packed = static_cast<double>(g.m) * static_cast<double>(g.k) * static_cast<double>(s.groups);
  return g;
}

}  // namespace

double EstimateConvNs(const ConvSignature& s) {
  constexpr double kPackNs = 0.1;
  double packed = 0;
  const GemmSignature g = LikeProduct(s, packed);
  return EstimateCost(g).time_ns + packed * kPackNs;
}

target::Work WorkOf(const ConvSignature& s) {
  constexpr double kPackCycles = 0.35;
  double packed = 0;
  target::Work work = WorkOf(LikeProduct(s, packed));
  work.serial += packed * kPackCycles;
  return work;
}

}  // namespace tenon::kernels
