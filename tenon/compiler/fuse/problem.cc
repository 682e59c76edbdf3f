// Ops of the graph in the words of drivers.

#include "tenon/compiler/fuse/problem.h"

#include <utility>
#include <vector>

namespace tenon::compiler {
namespace {

drivers::Contraction In(const DotAttrs& a) {
  return {a.lhs_batching_dimensions, a.rhs_batching_dimensions, a.lhs_contracting_dimensions,
          a.rhs_contracting_dimensions};
}

drivers::Convolution In(const ConvolutionAttrs& a) {
  drivers::Convolution n;
  n.in_batch = a.input_batch_dimension;
  n.in_feature = a.input_feature_dimension;
  n.in_spatial = a.input_spatial_dimensions;
  n.weight_in = a.kernel_input_feature_dimension;
  n.weight_out = a.kernel_output_feature_dimension;
  n.weight_spatial = a.kernel_spatial_dimensions;
  n.out_batch = a.output_batch_dimension;
  n.out_feature = a.output_feature_dimension;
  n.out_spatial = a.output_spatial_dimensions;
  n.strides = a.window_strides;
  n.low = a.padding_low;
  n.in_dilation = a.lhs_dilation;
  n.window_dilation = a.rhs_dilation;
  n.reversed = a.window_reversal;
  n.feature_groups = a.feature_group_count;
  n.batch_groups = a.batch_group_count;
  return n;
}

drivers::FourierTransform In(const FftAttrs& a) {
  using Kind = drivers::FourierTransform::Kind;
  switch (a.fft_type) {
    case FftType::kFft:
      return {Kind::kForward, a.fft_length};
    case FftType::kIfft:
      return {Kind::kInverse, a.fft_length};
    case FftType::kRfft:
      return {Kind::kRealForward, a.fft_length};
    case FftType::kIrfft:
      break;
  }
  return {Kind::kRealInverse, a.fft_length};
}

drivers::Ordering In(const SortAttrs& a) { return {a.dimension, a.descending, a.by_value, a.is_position}; }

drivers::Factorisation In(const LinalgAttrs& a) {
  using Kind = drivers::Factorisation::Kind;
  const Kind kind = a.op == LinalgOp::kCholesky          ? Kind::kCholesky
                    : a.op == LinalgOp::kTriangularSolve ? Kind::kTriangularSolve
                                                         : Kind::kLu;
  return {kind, a.lower, a.left_side, a.transpose_a, a.unit_diagonal, a.has_info};
}

}  // namespace

std::optional<drivers::Problem> ProblemOf(const Program& program, const GraphNode& node) {
  const auto over = [&](const auto& attributes) {
    const auto dense = [](const Shape& shape) {
      return StridedArray{shape.dtype, shape.dims, RowMajorStridesElems(shape.dims)};
    };
    std::vector<StridedArray> operands, results;
    for (Ref r : node.in) operands.push_back(dense(program.shape(r)));
    for (const Shape& shape : node.out) results.push_back(dense(shape));
    return drivers::ProblemOf(attributes, std::move(operands), std::move(results));
  };
  switch (node.op) {
    case OpCode::kDot:
      return over(In(node.attrs<DotAttrs>()));
    case OpCode::kConvolution:
      return over(In(node.attrs<ConvolutionAttrs>()));
    case OpCode::kFft:
      return over(In(node.attrs<FftAttrs>()));
    case OpCode::kSort:
      return over(In(node.attrs<SortAttrs>()));
    case OpCode::kLinalg:
      return over(In(node.attrs<LinalgAttrs>()));
    default:
      return std::nullopt;
  }
}

std::optional<target::Work> DriverWork(const Program& program, const GraphNode& node, const drivers::Registry& drivers,
                                       std::optional<size_t> lasting) {
  std::optional<drivers::Problem> problem = ProblemOf(program, node);
  if (!problem) return std::nullopt;
  problem->lasting = lasting;
  const Result<drivers::Registry::Choice> choice = drivers.Match(*problem);
  if (!choice.ok() || choice->on_host) return std::nullopt;
  target::Work work;
  std::vector<StridedArray> inputs = problem->operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<Dims>& layout = choice->offer.layouts[i];
    if (!layout) continue;
    inputs[i] = drivers::WithLayout(inputs[i], *layout);
    if (lasting == i) continue;
    work.launches += 1;
    work.bytes_cached += 2 * drivers::BytesOf({&inputs[i], 1});
  }
  const Result<drivers::Facts> facts = choice->family->Describe(choice->offer.config, {inputs, problem->results});
  if (!facts.ok()) return std::nullopt;
  return work + facts->work;
}

}  // namespace tenon::compiler
