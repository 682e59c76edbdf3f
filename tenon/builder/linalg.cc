// Products, windows over products, transforms and decompositions.
#include <algorithm>
#include <map>

#include "tenon/builder/internal/shapes.h"
#include "tenon/builder/internal/state.h"
#include "tenon/builder/ops.h"

namespace tenon::builder {

using namespace internal;

namespace {

constexpr std::string_view kPrecisions[] = {"DEFAULT", "HIGH", "HIGHEST"};

bool SetPrecision(Make& m, const std::vector<Precision>& precision) {
  if (precision.empty()) return true;
  if (!m.Count("precisions, one per operand or none,", precision.size(), 2)) return false;
  std::string text = "[";
  for (const Precision p : precision) {
    text += fmt::format("{}#stablehlo<precision {}>", text.size() > 1 ? ", " : "", kPrecisions[static_cast<int>(p)]);
  }
  m.Set("precision_config", AttrText{text + "]"});
  return true;
}

bool SameExtent(int64_t a, int64_t b) { return a == b || a == kDynamic || b == kDynamic; }

Type ProductType(const Make& m, const std::optional<DType>& wanted, Dims dims) {
  const Type& lhs = m.type(0);
  if (wanted) return Type(*wanted, std::move(dims));
  // Quantized numbers are scaled by rules of their own; what they stand for is a type that always works.
  if (lhs.quantization() != nullptr) return Type(lhs.quantization()->expressed, std::move(dims));
  return Type(lhs.dtype(), std::move(dims));
}

// Checks everything but padding, whose numbers may be known later.
bool CheckConvolution(Make& m, const ConvDims& d, const ConvOptions& o, bool dynamic_padding, Dims* result) {
  const int64_t rank = m.rank(0), spatial = rank - 2;
  if (spatial < 0 || m.rank(1) != rank)
    return m.Fail("input and kernel must have one rank of at least 2, got {} and {}", m.type(0).ToString(),
                  m.type(1).ToString());
  const auto numbers = [&](const char* what, int64_t a, int64_t b, const Dims& rest) {
    if (!m.Count("spatial dims", rest.size(), static_cast<size_t>(spatial))) return false;
    Dims all = {a, b};
    all.append(rest.begin(), rest.end());
    return m.DimList(what, all, rank);
  };
  if (!numbers("the input's dims", d.input_batch, d.input_feature, d.input_spatial) ||
      !numbers("the kernel's dims", d.kernel_input_feature, d.kernel_output_feature, d.kernel_spatial) ||
      !numbers("the output's dims", d.output_batch, d.output_feature, d.output_spatial))
    return false;
  const auto s = static_cast<size_t>(spatial);
  const Dims ones(s, 1);
  for (const auto& [what, list] : {std::pair<const char*, const Dims*>{"strides", &o.strides},
                                   {"lhs_dilation", &o.lhs_dilation},
                                   {"rhs_dilation", &o.rhs_dilation}}) {
    if (!list->empty() && (!m.Count(what, list->size(), s) || !m.AtLeast(what, *list, 1))) return false;
  }
  if (!o.reversal.empty() && !m.Count("numbers in reversal", o.reversal.size(), s)) return false;
  if (!o.padding.empty() && !m.Count("pairs in padding", o.padding.size(), s)) return false;
  if (o.feature_groups < 1 || o.batch_groups < 1 || (o.feature_groups > 1 && o.batch_groups > 1))
    return m.Fail("groups must be at least 1, and one kind of them 1, got feature_groups {} and batch_groups {}",
                  o.feature_groups, o.batch_groups);
  const auto in = [&](int64_t dim) { return m.dims(0)[static_cast<size_t>(dim)]; };
  const auto kernel = [&](int64_t dim) { return m.dims(1)[static_cast<size_t>(dim)]; };
  const int64_t batch = in(d.input_batch), features = in(d.input_feature);
  const int64_t kernel_in = kernel(d.kernel_input_feature), kernel_out = kernel(d.kernel_output_feature);
  if (batch != kDynamic && batch % o.batch_groups != 0)
    return m.Fail("the batch {} must be a multiple of batch_groups {}", batch, o.batch_groups);
  if (features != kDynamic && (features % o.feature_groups != 0 || !SameExtent(features / o.feature_groups, kernel_in)))
    return m.Fail("the input's {} features in {} groups must be the kernel's {}", features, o.feature_groups,
                  kernel_in);
  if (kernel_out != kDynamic && (kernel_out % o.feature_groups != 0 || kernel_out % o.batch_groups != 0))
    return m.Fail("the kernel's {} output features must be a multiple of the groups, got {} and {}", kernel_out,
                  o.feature_groups, o.batch_groups);
  result->resize(static_cast<size_t>(rank));
  (*result)[static_cast<size_t>(d.output_batch)] = batch == kDynamic ? kDynamic : batch / o.batch_groups;
  (*result)[static_cast<size_t>(d.output_feature)] = kernel_out;
  for (size_t i = 0; i < s; ++i) {
    int64_t& out = (*result)[static_cast<size_t>(d.output_spatial[i])];
    const int64_t extent = in(d.input_spatial[i]), size = kernel(d.kernel_spatial[i]);
    out = kDynamic;
    if (extent == kDynamic || size == kDynamic || dynamic_padding) continue;
    const std::optional<int64_t> count = Windowed({.extent = extent,
                                                   .size = size,
                                                   .stride = o.strides.empty() ? 1 : o.strides[i],
                                                   .low = o.padding.empty() ? 0 : o.padding[i].first,
                                                   .high = o.padding.empty() ? 0 : o.padding[i].second,
                                                   .base_dilation = o.lhs_dilation.empty() ? 1 : o.lhs_dilation[i],
                                                   .window_dilation = o.rhs_dilation.empty() ? 1 : o.rhs_dilation[i]});
    if (!count || size == 0)
      return m.Fail("spatial dim {}: an extent of {} with padding and a window of {} do not fit", i, extent, size);
    out = *count;
  }
  return true;
}

void SetConvolution(Make& m, const ConvDims& d, const ConvOptions& o) {
  if (!o.strides.empty()) m.Set("window_strides", o.strides);
  if (!o.padding.empty()) m.Set("padding", MatrixOf(o.padding));
  if (!o.lhs_dilation.empty()) m.Set("lhs_dilation", o.lhs_dilation);
  if (!o.rhs_dilation.empty()) m.Set("rhs_dilation", o.rhs_dilation);
  if (!o.reversal.empty()) m.Set("window_reversal", o.reversal);
  m.Set("dimension_numbers", d).Set("feature_group_count", o.feature_groups).Set("batch_group_count", o.batch_groups);
}

}  // namespace

Value DotGeneral(Value lhs, Value rhs, const DotDims& d, const DotOptions& options, Location where) {
  Make m(OpKind::kDotGeneral, {lhs, rhs}, where);
  if (!m.Tensor(0, "lhs") || !m.Tensor(1, "rhs")) return {};
  if (!m.Count("rhs_batching dims, one per lhs_batching dim", d.rhs_batching.size(), d.lhs_batching.size()) ||
      !m.Count("rhs_contracting dims, one per lhs_contracting dim", d.rhs_contracting.size(), d.lhs_contracting.size()))
    return {};
  Dims result, rest[2];
  for (const size_t side : {0, 1}) {
    Dims all = side == 0 ? d.lhs_batching : d.rhs_batching;
    const Dims& contracting = side == 0 ? d.lhs_contracting : d.rhs_contracting;
    all.append(contracting.begin(), contracting.end());
    if (!m.DimList(side == 0 ? "batching and contracting dims of lhs" : "batching and contracting dims of rhs", all,
                   m.rank(side)))
      return {};
    for (int64_t dim = 0; dim < m.rank(side); ++dim) {
      if (std::find(all.begin(), all.end(), dim) == all.end())
        rest[side].push_back(m.dims(side)[static_cast<size_t>(dim)]);
    }
  }
  for (const auto& [left, right, what] :
       {std::tuple<const Dims*, const Dims*, const char*>{&d.lhs_batching, &d.rhs_batching, "batching"},
        {&d.lhs_contracting, &d.rhs_contracting, "contracting"}}) {
    for (size_t i = 0; i < left->size(); ++i) {
      const int64_t a = m.dims(0)[static_cast<size_t>((*left)[i])], b = m.dims(1)[static_cast<size_t>((*right)[i])];
      if (!SameExtent(a, b)) {
        m.Fail("{} dims must have equal extents, got {} of {} and {} of {}", what, a, m.type(0).ToString(), b,
               m.type(1).ToString());
        return {};
      }
      if (left == &d.lhs_batching) result.push_back(a == kDynamic ? b : a);
    }
  }
  for (const Dims& more : rest) result.append(more.begin(), more.end());
  m.Set("dot_dimension_numbers", d);
  if (!SetPrecision(m, options.precision)) return {};
  if (options.algorithm) {
    const DotAlgorithm& a = *options.algorithm;
    m.Set("algorithm",
          AttrText{fmt::format(
              "#stablehlo.dot_algorithm<lhs_precision_type = {}, rhs_precision_type = {}, accumulation_type = {}, "
              "lhs_component_count = {}, rhs_component_count = {}, num_primitive_operations = {}, "
              "allow_imprecise_accumulation = {}>",
              a.lhs_precision, a.rhs_precision, a.accumulation, a.lhs_components, a.rhs_components,
              a.primitive_operations, a.allow_imprecise_accumulation)});
  }
  return m.Result(ProductType(m, options.result, std::move(result)));
}

Value MatMul(Value lhs, Value rhs, Location where) {
  Make m(OpKind::kDotGeneral, {lhs, rhs}, where);
  if (!m.Tensor(0, "lhs") || !m.Tensor(1, "rhs")) return {};
  const int64_t a = m.rank(0), b = m.rank(1);
  if (a < 1 || b < 1) {
    m.Fail("operands must have a rank of at least 1, got {} and {}", m.type(0).ToString(), m.type(1).ToString());
    return {};
  }
  DotDims dims{.lhs_contracting = {a - 1}, .rhs_contracting = {b == 1 ? 0 : b - 2}};
  if (a > 2 && b > 2) {
    if (a != b) {
      m.Fail("operands with batches must have one rank, got {} and {}", m.type(0).ToString(), m.type(1).ToString());
      return {};
    }
    for (int64_t d = 0; d < a - 2; ++d) {
      dims.lhs_batching.push_back(d);
      dims.rhs_batching.push_back(d);
    }
  } else if (b > 2) {
    m.Fail("the rhs must have rank 1 or 2 where the lhs has no batches, got {} and {}", m.type(0).ToString(),
           m.type(1).ToString());
    return {};
  }
  return DotGeneral(lhs, rhs, dims, {}, where);
}

Value Dot(Value lhs, Value rhs, const DotOptions& options, Location where) {
  Make m(OpKind::kDot, {lhs, rhs}, where);
  if (!m.Tensor(0, "lhs") || !m.Tensor(1, "rhs")) return {};
  for (const size_t i : {0, 1}) {
    if (m.rank(i) == 1 || m.rank(i) == 2) continue;
    m.Fail("operands must have rank 1 or 2, got {}", m.type(i).ToString());
    return {};
  }
  if (!SameExtent(m.dims(0).back(), m.dims(1)[0])) {
    m.Fail("the last dim of lhs and the first of rhs must be equal, got {} and {}", m.type(0).ToString(),
           m.type(1).ToString());
    return {};
  }
  Dims result;
  if (m.rank(0) == 2) result.push_back(m.dims(0)[0]);
  if (m.rank(1) == 2) result.push_back(m.dims(1)[1]);
  if (!SetPrecision(m, options.precision)) return {};
  return m.Result(ProductType(m, options.result, std::move(result)));
}

Value Convolution(Value input, Value kernel, const ConvDims& dims, const ConvOptions& options, Location where) {
  Make m(OpKind::kConvolution, {input, kernel}, where);
  Dims result;
  if (!m.Tensor(0, "input") || !m.Tensor(1, "kernel") || !CheckConvolution(m, dims, options, false, &result)) return {};
  SetConvolution(m, dims, options);
  if (!SetPrecision(m, options.precision)) return {};
  return m.Result(ProductType(m, options.result, std::move(result)));
}

Value DynamicConv(Value input, Value kernel, Value padding, const ConvDims& dims, const ConvOptions& options,
                  const Type& result, Location where) {
  Make m(OpKind::kDynamicConv, {input, kernel, padding}, where);
  Dims inferred;
  if (!m.Tensor(0, "input") || !m.Tensor(1, "kernel") || !m.Tensor(2, "padding", kInteger) ||
      !CheckConvolution(m, dims, options, true, &inferred))
    return {};
  if (!options.padding.empty()) {
    m.Fail("the padding is an operand; that of the options must be empty");
    return {};
  }
  if (m.dims(2) != Dims{m.rank() - 2, 2}) {
    m.Fail("padding must have extents [{}, 2], got {}", m.rank() - 2, m.type(2).ToString());
    return {};
  }
  if (const Type known(result.dtype(), inferred); !result.is_tensor() || !Compatible(known, result)) {
    m.Fail("the result must fit {}, got {}", known.ToString(), result.ToString());
    return {};
  }
  SetConvolution(m, dims, options);
  if (!SetPrecision(m, options.precision)) return {};
  return m.Result(result);
}

Value Einsum(Value lhs, Value rhs, std::string_view config, Location where) {
  Make m(OpKind::kEinsum, {lhs, rhs}, where);
  if (!m.Tensor(0, "lhs") || !m.Tensor(1, "rhs")) return {};
  const size_t comma = config.find(','), arrow = config.find("->");
  if (comma == config.npos || arrow == config.npos || comma > arrow) {
    m.Fail("the config must be like \"ab,bc->ac\", got \"{}\"", config);
    return {};
  }
  const std::string_view sides[] = {config.substr(0, comma), config.substr(comma + 1, arrow - comma - 1)};
  std::map<char, int64_t> extents;
  for (const size_t i : {0, 1}) {
    if (!m.Count("letters, one per dim of an operand", sides[i].size(), m.dims(i).size())) return {};
    for (size_t d = 0; d < sides[i].size(); ++d) {
      const auto [at, fresh] = extents.emplace(sides[i][d], m.dims(i)[d]);
      if (!fresh && !SameExtent(at->second, m.dims(i)[d])) {
        m.Fail("{} stands for the extents {} and {}", sides[i][d], at->second, m.dims(i)[d]);
        return {};
      }
    }
  }
  Dims result;
  for (const char c : config.substr(arrow + 2)) {
    if (!extents.contains(c)) {
      m.Fail("the result's letter {} is none of the operands', in \"{}\"", c, config);
      return {};
    }
    result.push_back(extents[c]);
  }
  return m.Set("einsum_config", AttrString{std::string(config)}).Result(m.type().WithDims(result));
}

Value UnaryEinsum(Value x, std::string_view config, Location where) {
  Make m(OpKind::kUnaryEinsum, {x}, where);
  if (!m.Tensor(0, "operand")) return {};
  const size_t arrow = config.find("->");
  if (arrow == config.npos || !m.Count("letters, one per dim of the operand", arrow, m.dims().size())) {
    if (arrow == config.npos) m.Fail("the config must be like \"ab->a\", got \"{}\"", config);
    return {};
  }
  Dims result;
  for (const char c : config.substr(arrow + 2)) {
    const size_t at = config.substr(0, arrow).find(c);
    if (at == config.npos) {
      m.Fail("the result's letter {} is none of the operand's, in \"{}\"", c, config);
      return {};
    }
    result.push_back(m.dims()[at]);
  }
  return m.Set("einsum_config", AttrString{std::string(config)}).Result(m.type().WithDims(result));
}

Value Fft(Value x, FftType type, const Dims& lengths, Location where) {
  Make m(OpKind::kFft, {x}, where);
  const bool real = type == FftType::kRfft;
  if (!m.Tensor(0, "operand", real ? kFloat : kComplex) || !m.AtLeast("lengths", lengths, 0)) return {};
  if (real && m.type().dtype() != DType::kF32 && m.type().dtype() != DType::kF64) {
    m.Fail("an operand of real numbers must be f32 or f64, got {}", m.type().ToString());
    return {};
  }
  const size_t n = lengths.size();
  if (n < 1 || n > 3 || n > m.dims().size()) {
    m.Fail("wants 1 to 3 lengths, at most the rank {}, got {}", m.rank(), n);
    return {};
  }
  Dims dims = m.dims();
  for (size_t i = 0; i < n; ++i) {
    int64_t& extent = dims[dims.size() - n + i];
    const bool last = i + 1 == n;
    const int64_t want = last && type == FftType::kIrfft && lengths[i] > 0 ? lengths[i] / 2 + 1 : lengths[i];
    if (!SameExtent(extent, want)) {
      m.Fail("the last dims of {} must be {} for lengths {}", m.type().ToString(), want, DimsToString(lengths));
      return {};
    }
    if (last && real && extent != kDynamic) extent = extent == 0 ? 0 : lengths[i] / 2 + 1;
    if (last && type == FftType::kIrfft) extent = lengths[i];
  }
  static constexpr std::string_view kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  m.Set("fft_type", AttrEnum{"fft_type", kNames[static_cast<int>(type)]}).Set("fft_length", lengths);
  DType element = m.type().dtype();
  if (real) element = element == DType::kF64 ? DType::kC128 : DType::kC64;
  if (type == FftType::kIrfft) element = RealPartOf(element);
  return m.Result(Type(element, dims));
}

Value Cholesky(Value a, bool lower, Location where) {
  Make m(OpKind::kCholesky, {a}, where);
  if (!m.Tensor(0, "operand", kFloat | kComplex)) return {};
  if (m.rank() < 2 || !SameExtent(m.dims().back(), m.dims()[m.dims().size() - 2])) {
    m.Fail("wants square matrices in the last two dims, got {}", m.type().ToString());
    return {};
  }
  return m.Set("lower", lower).Result(m.type());
}

Value TriangularSolve(Value a, Value b, const TriangularSolveOptions& options, Location where) {
  Make m(OpKind::kTriangularSolve, {a, b}, where);
  if (!m.Tensor(0, "a", kFloat | kComplex) || !m.Tensor(1, "b", kFloat | kComplex) || !m.SameElements(0, 1, "operands"))
    return {};
  const size_t r = m.dims().size();
  bool fits = r >= 2 && m.dims(1).size() == r && SameExtent(m.dims()[r - 1], m.dims()[r - 2]) &&
              SameExtent(m.dims()[r - 1], m.dims(1)[options.left_side ? r - 2 : r - 1]);
  for (size_t d = 0; fits && d + 2 < r; ++d) fits = SameExtent(m.dims()[d], m.dims(1)[d]);
  if (!fits) {
    m.Fail("wants square matrices a and matrices b that fit them on the {} side, with equal batches, got {} and {}",
           options.left_side ? "left" : "right", m.type(0).ToString(), m.type(1).ToString());
    return {};
  }
  static constexpr std::string_view kTransposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  m.Set("left_side", options.left_side).Set("lower", options.lower).Set("unit_diagonal", options.unit_diagonal);
  m.Set("transpose_a", AttrEnum{"transpose", kTransposes[static_cast<int>(options.transpose_a)]});
  return m.Result(m.type(1));
}

//===--- Normalization ---===//

namespace {

// Operands 1 ... vectors - 1 are vectors over the features; the one after them, if there is one, is like operand 0.
bool CheckBatchNorm(Make& m, const BatchNorm& norm, size_t vectors) {
  if (!m.Tensor(0, "operand", kFloat) || !m.DimIndex("feature_dim", norm.feature_dim, m.rank())) return false;
  const int64_t features = m.dims()[static_cast<size_t>(norm.feature_dim)];
  for (size_t i = 1; i < vectors; ++i) {
    if (!m.Tensor(i, "an operand over the features", kFloat) || !m.SameElements(0, i, "operands")) return false;
    if (m.rank(i) != 1 || !SameExtent(m.dims(i)[0], features))
      return m.Fail("operands over the features must have rank 1 and {} elements, got {}", features,
                    m.type(i).ToString());
  }
  if (vectors < m.size() && !m.SameTypes(0, vectors, "operand and grad_output")) return false;
  m.Set("epsilon", AttrFloat{norm.epsilon}).Set("feature_index", norm.feature_dim);
  return true;
}

}  // namespace

Value BatchNormInference(Value x, Value scale, Value offset, Value mean, Value variance, const BatchNorm& norm,
                         Location where) {
  Make m(OpKind::kBatchNormInference, {x, scale, offset, mean, variance}, where);
  if (!CheckBatchNorm(m, norm, 5)) return {};
  return m.Result(m.type());
}

Values BatchNormTraining(Value x, Value scale, Value offset, const BatchNorm& norm, Location where) {
  Make m(OpKind::kBatchNormTraining, {x, scale, offset}, where);
  if (!CheckBatchNorm(m, norm, 3)) return Make::Invalid(3);
  return m.Results({m.type(), m.type(1), m.type(1)});
}

Values BatchNormGrad(Value x, Value scale, Value mean, Value variance, Value grad_output, const BatchNorm& norm,
                     Location where) {
  Make m(OpKind::kBatchNormGrad, {x, scale, mean, variance, grad_output}, where);
  if (!CheckBatchNorm(m, norm, 4)) return Make::Invalid(3);
  return m.Results({m.type(), m.type(1), m.type(1)});
}

}  // namespace tenon::builder
