#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "test/fuzz_programs/ops.h"
#include "test/fuzz_programs/window.h"

namespace tenon::fuzz {
namespace {

bool MayMultiply(const Value& v) { return Builder::Usable(v) && !v.type.is_bool(); }

/// Sums of `terms` products.
Numbers Products(const Builder& b, const Value& x, const Value& y, double terms) {
  Numbers is = Join(x.is, y.is);
  if (x.type.is_int()) return {.bound = std::ldexp(1.0, x.type.bits)};
  const double parts = x.type.is_complex() ? 2 : 1;
  const double bound = parts * terms * x.is.bound * y.is.bound;
  is = b.Rounded(x.type, bound, parts * terms * (x.is.bound * y.is.error + y.is.bound * x.is.error), is);
  if (!is.exact()) is.error += terms * std::ldexp(bound, -x.type.significant);
  is.zero_sign = false;
  return is;
}

/// Narrow factors may have wider products.
Type WiderSum(const Type& factor) {
  if (factor.is_float() && factor.bits < 32) return TypeOf(DType::kF32);
  if (factor.is_int() && factor.bits < 32) return TypeOf(factor.is_signed() ? DType::kS32 : DType::kU32);
  return factor;
}

/// The oracle adds as many terms per element as the length's largest prime factor.
int64_t LargestPrime(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}
constexpr double kMaxOracleSteps = 1 << 24;

}  // namespace

void AddDot(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return MayMultiply(x) && Count(x.dims) < 1000; });
  if (v.empty() || !MayMultiply(v) || Count(v.dims) >= 1000) return;
  // Every dim of the left side is batch, contracted or free; the right side has the first two, shuffled, and free ones.
  struct Dim {
    int64_t role;
    int64_t extent;
    int64_t lhs;
  };
  std::vector<Dim> right;
  double terms = 1;
  for (size_t i = 0; i < v.rank(); ++i) {
    const int64_t role = b.random.Pick(3);
    if (role == 2) continue;
    right.push_back({role, v.dims[i], static_cast<int64_t>(i)});
    if (role == 1) terms *= static_cast<double>(v.dims[i]);
  }
  for (int64_t i = b.random.Pick(3); i > 0; --i) right.push_back({2, b.Extent(), -1});
  b.random.Shuffle(right);
  Dims dims;
  for (const Dim& d : right) dims.push_back(d.extent);
  if (!b.Fits(dims)) return;
  const Value w = b.Match(v.type, dims);
  Dims batch_l, batch_r, con_l, con_r, out;
  Dims order = b.Permutation(right.size());
  for (const int64_t at : order) {
    const Dim& d = right[static_cast<size_t>(at)];
    if (d.role == 2) continue;
    (d.role == 0 ? batch_l : con_l).push_back(d.lhs);
    (d.role == 0 ? batch_r : con_r).push_back(at);
  }
  const auto has = [](const Dims& list, size_t d) {
    return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
  };
  for (const int64_t d : batch_l) out.push_back(v.dims[static_cast<size_t>(d)]);
  for (size_t i = 0; i < v.rank(); ++i) {
    if (!has(batch_l, i) && !has(con_l, i)) out.push_back(v.dims[i]);
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!has(batch_r, i) && !has(con_r, i)) out.push_back(dims[i]);
  }
  if (!b.Fits(out) || !b.Affordable(Count(out) * static_cast<int64_t>(terms))) return;
  std::string numbers;
  if (!batch_l.empty()) numbers += fmt::format(", batching_dims = {} x {}", List(batch_l), List(batch_r));
  numbers += fmt::format(", contracting_dims = {} x {}", List(con_l), List(con_r));
  const Type to = b.random.Chance(2) ? v.type : WiderSum(v.type);
  Value wide = v;
  wide.type = to;
  b.Emit(fmt::format("stablehlo.dot_general {}, {}{} : ({}, {}) -> {}", v.name, w.name, numbers, Text(v), Text(w),
                     Text(to, out)),
         to, out, Products(b, wide, w, terms));
}

/// Factors of two types, of which one may be a byte's or wider than the sums; or factors of one type by an algorithm of
/// several smaller products. What no rounding of the factors changes is exact whichever way it is computed.
void AddMixedDot(Builder& b) {
  struct Mix {
    DType left, right, sum;
    const char* algorithm;
  };
  static constexpr Mix kMixes[] = {
      {DType::kBF16, DType::kF32, DType::kF32, ""},
      {DType::kF32, DType::kF16, DType::kF32, ""},
      {DType::kF16, DType::kBF16, DType::kF32, ""},
      {DType::kF8E4M3FN, DType::kF8E5M2, DType::kF32, ""},
      {DType::kF8E5M2, DType::kBF16, DType::kF32, ""},
      {DType::kS8, DType::kU8, DType::kS32, ""},
      {DType::kU8, DType::kS8, DType::kS32, ""},
      {DType::kU8, DType::kU8, DType::kU32, ""},
      {DType::kS8, DType::kS16, DType::kS32, ""},
      {DType::kS4, DType::kS8, DType::kS32, ""},
      {DType::kS16, DType::kS16, DType::kS64, ""},
      {DType::kF32, DType::kF32, DType::kF64, ""},
      {DType::kBF16, DType::kBF16, DType::kBF16, ""},
      {DType::kF32, DType::kF32, DType::kF32, "bf16 f32 1 1"},
      {DType::kF32, DType::kF32, DType::kF32, "bf16 f32 1 6"},
      {DType::kF32, DType::kF32, DType::kF32, "tf32 f32 1 1"},
      {DType::kF32, DType::kF32, DType::kF32, "f32 f32 1 1"},
      {DType::kF64, DType::kF64, DType::kF64, "f64 f64 1 1"},
      {DType::kF16, DType::kF16, DType::kF32, "f16 f32 1 1"},
  };
  const Mix& mix = kMixes[b.random.Pick(std::size(kMixes))];
  const int64_t batch = b.random.Chance(3) ? 1 + b.random.Pick(3) : 0, m = b.Extent(), k = b.Extent(), n = b.Extent();
  Dims left = {m, k}, right = {k, n}, out = {m, n};
  if (batch > 0) {
    for (Dims* dims : {&left, &right, &out}) dims->insert(dims->begin(), batch);
  }
  const int64_t terms = std::max<int64_t>(k, 1);
  if (!b.Fits(left) || !b.Fits(right) || !b.Fits(out) || !b.Affordable(Count(out) * terms)) return;
  const Value x = b.Match(TypeOf(mix.left), left), y = b.Match(TypeOf(mix.right), right);
  const Type to = TypeOf(mix.sum);
  if (!x.is.exact() || !y.is.exact()) return;
  const double bound = static_cast<double>(terms) * x.is.bound * y.is.bound;
  if (to.is_float() && (bound > to.exact_limit() || std::max(x.is.bound, y.is.bound) > 128)) return;
  std::string algorithm;
  if (*mix.algorithm != '\0') {
    char factor[8], sum[8];
    int components = 0, products = 0;
    std::sscanf(mix.algorithm, "%7s %7s %d %d", factor, sum, &components, &products);
    algorithm = fmt::format(
        ", algorithm = <lhs_precision_type = {0}, rhs_precision_type = {0}, accumulation_type = {1}, "
        "lhs_component_count = {2}, rhs_component_count = {2}, num_primitive_operations = {3}, "
        "allow_imprecise_accumulation = false>",
        factor, sum, components, products);
  }
  const int64_t first = batch > 0 ? 1 : 0;
  b.Emit(fmt::format("stablehlo.dot_general {}, {}, {}contracting_dims = [{}] x [{}]{}{} : ({}, {}) -> {}", x.name,
                     y.name, batch > 0 ? "batching_dims = [0] x [0], " : "", first + 1, first,
                     algorithm.empty() && b.random.Chance(4) ? ", precision = [HIGH, HIGHEST]" : "", algorithm, Text(x),
                     Text(y), Text(to, out)),
         to, out,
         to.is_int() ? Numbers{.bound = std::ldexp(1.0, to.bits)} : Numbers{.bound = bound, .zero_sign = false});
}

void AddConvolution(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) {
    return MayMultiply(x) && x.rank() >= 2 && x.rank() <= 6 && Count(x.dims) > 0 && Count(x.dims) < 700;
  });
  Value in = v;
  if (v.empty() || v.rank() < 2 || v.rank() > 6 || !MayMultiply(v) || Count(v.dims) == 0) {
    Type type = b.AnyArithmeticType();
    Dims dims;
    for (int64_t r = b.random.Chance(5) ? b.random.Between(2, 7) : b.random.Between(3, 4); r > 0; --r)
      dims.push_back(1 + b.random.Pick(6));
    // More taps than are written out.
    if (b.random.Chance(3))
      dims[static_cast<size_t>(b.random.Pick(static_cast<int64_t>(dims.size())))] =
          b.random.OneOf<int64_t>({16, 17, 33, 48, 90, 150});
    in = b.Match(type, dims);
  }
  const size_t rank = in.rank();
  const Dims in_places = b.Permutation(rank), w_places = b.Permutation(rank), out_places = b.Permutation(rank);
  const auto at = [](const Dims& dims, int64_t d) { return dims[static_cast<size_t>(d)]; };
  const int64_t batch = at(in.dims, in_places[0]), features = at(in.dims, in_places[1]);
  int64_t groups = 1, batch_groups = 1;
  const auto divisor = [&](int64_t n) {
    Dims all;
    for (int64_t d = 1; d <= n; ++d) {
      if (n % d == 0) all.push_back(d);
    }
    return b.random.OneOf(all);
  };
  if (b.random.Chance(3)) groups = b.random.Chance(2) ? features : divisor(features);
  if (groups == 1 && b.random.Chance(5)) batch_groups = b.random.Chance(2) ? batch : divisor(batch);
  const int64_t out_features = groups * batch_groups * (1 + b.random.Pick(b.random.Chance(6) ? 20 : 3));
  Dims weights(rank), out(rank), strides, low_high, in_dilation, window_dilation;
  weights[static_cast<size_t>(w_places[0])] = features / groups;
  weights[static_cast<size_t>(w_places[1])] = out_features;
  out[static_cast<size_t>(out_places[0])] = batch / batch_groups;
  out[static_cast<size_t>(out_places[1])] = out_features;
  std::string pads, reversed;
  int64_t terms = features / groups;
  for (size_t s = 2; s < rank; ++s) {
    const int64_t n = at(in.dims, in_places[s]);
    // Also all of the input, and more than are summed in one chain.
    const bool is_whole = b.random.Chance(6);
    const int64_t k = is_whole              ? n
                      : b.random.Chance(12) ? 60 + b.random.Pick(80)
                                            : 1 + b.random.Pick(b.random.Chance(6) ? 9 : 3);
    const int64_t stride = b.random.Chance(3) ? 1 + b.random.Pick(b.random.Chance(6) ? 9 : 3) : 1;
    const int64_t ld = b.random.Chance(5) ? 1 + b.random.Pick(4) : 1,
                  rd = b.random.Chance(5) ? 1 + b.random.Pick(4) : 1;
    const auto pad = [&] {
      if (is_whole && b.random.Chance(2)) return int64_t{0};
      if (k > 16 && b.random.Chance(2)) return k - b.random.Between(0, 2);
      return b.random.Between(b.random.Chance(4) ? -2 : 0, b.random.Chance(6) ? 9 : 2);
    };
    const int64_t low = pad(), high = pad();
    const int64_t places = NumWindows(n, {k, stride, ld, rd, low, high});
    if (places < 0) return;
    weights[static_cast<size_t>(w_places[s])] = k;
    out[static_cast<size_t>(out_places[s])] = places;
    strides.push_back(stride);
    in_dilation.push_back(ld);
    window_dilation.push_back(rd);
    pads += fmt::format("{}[{}, {}]", s > 2 ? ", " : "", low, high);
    reversed += fmt::format("{}{}", s > 2 ? ", " : "", b.random.Chance(4) ? "true" : "false");
    terms *= k;
  }
  if (!b.Fits(out) || !b.Affordable(Count(out) * terms) || !b.Fits(weights)) return;
  const Value w = b.Match(in.type, weights);
  const auto order = [&](const Dims& places, const char* first, const char* second) {
    std::vector<std::string> names(rank);
    names[static_cast<size_t>(places[0])] = first;
    names[static_cast<size_t>(places[1])] = second;
    for (size_t s = 2; s < rank; ++s) names[static_cast<size_t>(places[s])] = fmt::format("{}", s - 2);
    return fmt::format("[{}]", fmt::join(names, ", "));
  };
  const std::string numbers =
      fmt::format("{}x{}->{}", order(in_places, "b", "f"), order(w_places, "i", "o"), order(out_places, "b", "f"));
  const std::string groups_text =
      fmt::format("batch_group_count = {} : i64, feature_group_count = {} : i64", batch_groups, groups);
  const Type to = b.random.Chance(2) ? in.type : WiderSum(in.type);
  Value wide = in;
  wide.type = to;
  const Numbers is = Products(b, wide, w, static_cast<double>(terms));
  if (rank > 2 && b.random.Chance(10)) {
    // Its padding as an operand.
    const Type place = TypeOf(DType::kS64);
    const auto spatial = static_cast<int64_t>(rank) - 2;
    const Value padding = b.Literal(place, {spatial, 2}, fmt::format("[{}]", pads), 1 << 20);
    b.Emit(
        fmt::format("\"stablehlo.dynamic_conv\"({}, {}, {}) {{dimension_numbers = #stablehlo.conv<{}>, "
                    "window_strides = {}, lhs_dilation = {}, rhs_dilation = {}, window_reversal = array<i1: {}>, {}}} "
                    ": ({}, {}, {}) -> {}",
                    in.name, w.name, padding.name, numbers, Array(strides), Array(in_dilation), Array(window_dilation),
                    reversed, groups_text, Text(in), Text(w), Text(padding), Text(to, out)),
        to, out, is);
    return;
  }
  b.Emit(fmt::format("stablehlo.convolution({}, {}) dim_numbers = {}, window = {{stride = {}, pad = [{}], lhs_dilate = "
                     "{}, rhs_dilate = {}, reverse = [{}]}} {{{}}} : ({}, {}) -> {}",
                     in.name, w.name, numbers, List(strides), pads, List(in_dilation), List(window_dilation), reversed,
                     groups_text, Text(in), Text(w), Text(to, out)),
         to, out, is);
}

void AddFft(Builder& b) {
  if (!b.limits.approximate) return;
  Value v = b.AnyWhere([](const Value& x) {
    return Builder::Usable(x) && !x.dims.empty() && (x.type.is_complex() || (x.type.is_float() && x.type.bits >= 32)) &&
           Count(x.dims) > 0;
  });
  if (v.empty() || v.dims.empty() || Count(v.dims) == 0 || v.type.is_bool() || v.type.is_int() || v.type.bits < 32 ||
      !Builder::Usable(v))
    return;
  if (b.random.Chance(2)) {
    // Of lengths that factor in all ways.
    Dims dims;
    for (int64_t rank = 1 + b.random.Pick(4); rank > 0; --rank)
      dims.push_back(
          b.random.OneOf<int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 16, 17, 25, 27, 31, 37, 49, 64}));
    if (!b.Fits(dims)) return;
    v = b.Match(TypeOf(b.random.OneOf({DType::kC64, DType::kC64, DType::kC128, DType::kF32, DType::kF64})), dims);
  }
  const auto axes = static_cast<size_t>(1 + b.random.Pick(std::min<int64_t>(3, static_cast<int64_t>(v.rank()))));
  Dims lengths(v.dims.end() - static_cast<int64_t>(axes), v.dims.end());
  std::string kind;
  Type to = v.type;
  Dims out = v.dims;
  if (!v.type.is_complex()) {
    kind = "RFFT";
    to = ComplexOf(v.type);
    out.back() = out.back() / 2 + 1;
  } else if (b.random.Chance(3)) {
    // Of an even or an odd length.
    kind = "IRFFT";
    to = PartOf(v.type);
    out.back() = std::max<int64_t>(1, 2 * (out.back() - 1) + b.random.Pick(2));
    lengths.back() = out.back();
    if (lengths.back() / 2 + 1 != v.dims.back()) return;
    if (!b.Fits(out)) return;
  } else {
    kind = b.random.Chance(2) ? "FFT" : "IFFT";
  }
  double n = 1;
  for (const int64_t l : lengths) n *= static_cast<double>(l);
  for (const int64_t l : lengths) {
    if (static_cast<double>(Count(v.dims)) * static_cast<double>(LargestPrime(l)) > kMaxOracleSteps) return;
  }
  const double bound = 2 * n * v.is.bound;
  b.Emit(fmt::format("stablehlo.fft {}, type = {}, length = {} : ({}) -> {}", v.name, kind, List(lengths), Text(v),
                     Text(to, out)),
         to, out,
         {.bound = bound,
          .error = n * v.is.error + (5 + std::log2(n)) * std::ldexp(bound, -v.type.significant),
          .zero_sign = false});
}

}  // namespace tenon::fuzz
