// The three batch normalizations, in double.

#include <cmath>
#include <vector>

#include "tenon/reference/evaluator.h"
#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"

namespace tenon::reference {
namespace {

// An operand as doubles, with the feature of each element.
struct Features {
  std::vector<size_t> feature_of;
  size_t count = 0;
  double per_feature = 0;

  Features(std::span<const int64_t> dims, int64_t feature_index)
      : count(static_cast<size_t>(dims[static_cast<size_t>(feature_index)])) {
    ForEachIndex(dims, [&](std::span<const int64_t> index) {
      feature_of.push_back(static_cast<size_t>(index[static_cast<size_t>(feature_index)]));
    });
    per_feature = count == 0 ? 0 : static_cast<double>(feature_of.size()) / static_cast<double>(count);
  }
};

Result<std::vector<double>> Doubles(const Value& value) {
  TENON_ASSIGN_OR_RETURN(Value wide, ConvertTo(value, DType::kF64));
  return std::vector<double>(wide.data<double>(), wide.data<double>() + wide.num_elements());
}

Status ReturnDoubles(const OpContext& context, const std::vector<double>& values, const Shape& shape) {
  TENON_ASSIGN_OR_RETURN(Value wide, Value::Copy({DType::kF64, shape.dims}, std::as_bytes(std::span(values))));
  TENON_ASSIGN_OR_RETURN(Value out, ConvertTo(wide, shape.dtype));
  return context.Return(std::move(out));
}

std::vector<double> MeanOf(const std::vector<double>& x, const Features& f) {
  std::vector<double> mean(f.count, 0);
  for (size_t i = 0; i < x.size(); ++i) mean[f.feature_of[i]] += x[i];
  for (double& m : mean) m /= f.per_feature;
  return mean;
}

std::vector<double> Normalized(const std::vector<double>& x, const Features& f, const std::vector<double>& scale,
                               const std::vector<double>& offset, const std::vector<double>& mean,
                               const std::vector<double>& variance, double epsilon) {
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = f.feature_of[i];
    y[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + offset[c];
  }
  return y;
}

Status Inference(OpContext& context) {
  const Features f(context.in(0).dims(), IntAttr(context.op, "feature_index"));
  TENON_ASSIGN_OR_RETURN(std::vector<double> x, Doubles(context.in(0)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> scale, Doubles(context.in(1)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> offset, Doubles(context.in(2)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> mean, Doubles(context.in(3)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> variance, Doubles(context.in(4)));
  return ReturnDoubles(context, Normalized(x, f, scale, offset, mean, variance, FloatAttr(context.op, "epsilon")),
                       context.in(0).shape());
}

// Statistics over all dimensions but the feature; the variance is the biased one.
Status Training(OpContext& context) {
  const Features f(context.in(0).dims(), IntAttr(context.op, "feature_index"));
  TENON_ASSIGN_OR_RETURN(std::vector<double> x, Doubles(context.in(0)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> scale, Doubles(context.in(1)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> offset, Doubles(context.in(2)));
  const std::vector<double> mean = MeanOf(x, f);
  std::vector<double> squares(x.size());
  for (size_t i = 0; i < x.size(); ++i) squares[i] = (x[i] - mean[f.feature_of[i]]) * (x[i] - mean[f.feature_of[i]]);
  const std::vector<double> variance = MeanOf(squares, f);
  TENON_RETURN_IF_ERROR(ReturnDoubles(context,
                                      Normalized(x, f, scale, offset, mean, variance, FloatAttr(context.op, "epsilon")),
                                      context.in(0).shape()));
  TENON_RETURN_IF_ERROR(ReturnDoubles(context, mean, context.in(1).shape()));
  return ReturnDoubles(context, variance, context.in(1).shape());
}

Status Gradient(OpContext& context) {
  const Features f(context.in(0).dims(), IntAttr(context.op, "feature_index"));
  const double epsilon = FloatAttr(context.op, "epsilon");
  TENON_ASSIGN_OR_RETURN(std::vector<double> x, Doubles(context.in(0)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> scale, Doubles(context.in(1)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> mean, Doubles(context.in(2)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> variance, Doubles(context.in(3)));
  TENON_ASSIGN_OR_RETURN(std::vector<double> g, Doubles(context.in(4)));
  std::vector<double> sum_g(f.count, 0), sum_gc(f.count, 0), grad_scale(f.count, 0), grad_operand(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = f.feature_of[i];
    sum_g[c] += g[i];
    sum_gc[c] += g[i] * (x[i] - mean[c]);
  }
  for (size_t c = 0; c < f.count; ++c) grad_scale[c] = sum_gc[c] / std::sqrt(variance[c] + epsilon);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = f.feature_of[i];
    grad_operand[i] = scale[c] / std::sqrt(variance[c] + epsilon) / f.per_feature *
                      (f.per_feature * g[i] - sum_g[c] - (x[i] - mean[c]) * sum_gc[c] / (variance[c] + epsilon));
  }
  TENON_RETURN_IF_ERROR(ReturnDoubles(context, grad_operand, context.in(0).shape()));
  TENON_RETURN_IF_ERROR(ReturnDoubles(context, grad_scale, context.in(1).shape()));
  return ReturnDoubles(context, sum_g, context.in(1).shape());
}

constexpr OpEntry kOps[] = {{"stablehlo.batch_norm_inference", &Inference},
                            {"stablehlo.batch_norm_training", &Training},
                            {"stablehlo.batch_norm_grad", &Gradient}};

}  // namespace

std::span<const OpEntry> NormalizationOps() { return kOps; }

}  // namespace tenon::reference
