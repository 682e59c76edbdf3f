// Functions of real numbers over their domains, norms of batches, and floats that divisions and roots leave exact.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

/// Where a function is defined and far enough from its poles, and how large it gets there.
struct Domain {
  const char* name;
  double low, high, bound;
};

constexpr Domain kOfOne[] = {
    {"chlo.acos", -1, 1, 3.2},
    {"chlo.acosh", 1, 8, 3},
    {"chlo.asin", -1, 1, 1.6},
    {"chlo.asinh", -8, 8, 3},
    {"chlo.atan", -8, 8, 1.6},
    {"chlo.atanh", -0.875, 0.875, 1.4},
    {"chlo.bessel_i1e", -8, 8, 1},
    {"chlo.cosh", -4, 4, 28},
    {"chlo.digamma", 0.5, 8, 2.2},
    {"chlo.erf", -4, 4, 1},
    {"chlo.erf_inv", -0.875, 0.875, 1.2},
    {"chlo.erfc", -4, 4, 2},
    {"chlo.lgamma", 0.5, 8, 8.6},
    {"chlo.sinh", -4, 4, 28},
    {"chlo.square", -8, 8, 64},
    {"chlo.tan", -8, 8, 60},
    {"stablehlo.cbrt", -8, 8, 2},
    {"stablehlo.cosine", -8, 8, 1},
    {"stablehlo.exponential", -4, 4, 55},
    {"stablehlo.exponential_minus_one", -4, 4, 55},
    {"stablehlo.log", 0.125, 8, 2.1},
    {"stablehlo.log_plus_one", -0.875, 8, 2.2},
    {"stablehlo.logistic", -8, 8, 1},
    {"stablehlo.rsqrt", 0.125, 8, 2.9},
    {"stablehlo.sine", -8, 8, 1},
    {"stablehlo.sqrt", 0, 8, 2.9},
    {"stablehlo.tan", -8, 8, 60},
    {"stablehlo.tanh", -8, 8, 1},
};
/// The first operand of these is a whole number from 2 to 5, or one less.
constexpr Domain kOfTwo[] = {{"chlo.zeta", 0.5, 8, 34}, {"chlo.polygamma", 0.5, 8, 780}};

/// Numbers between `low` and `high` that are multiples of 1, 1/2, 1/4 or 1/8: no type rounds them.
Value Between(Builder& b, const Type& type, const Dims& dims, double low, double high) {
  const Value any = b.Match(type, dims);
  const Value v = any.is.exact() ? any : b.Splat(type, dims, 3);
  const auto parts = static_cast<double>(int64_t{1} << b.random.Pick(4));
  const Value least = b.Splat(type, {}, static_cast<int64_t>(std::ceil(low * parts)));
  const Value most = b.Splat(type, {}, static_cast<int64_t>(std::floor(high * parts)));
  const Value inside = b.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", least.name, v.name,
                                                most.name, Text(least), Text(v), Text(most), Text(v)),
                                    type, dims, v.is);
  const Value part = b.Literal(type, dims, fmt::format("{:.3f}", 1 / parts), 1);
  return b.EmitHidden(fmt::format("stablehlo.multiply {}, {} : {}", inside.name, part.name, Text(v)), type, dims, v.is);
}

/// Ten last bits of the largest result; narrow types round once, after a wider computation.
Numbers AfterFunction(const Type& type, double bound) {
  return {.bound = bound,
          .error = (type.significant < 20 ? 3 : 10) * std::ldexp(bound, -type.significant),
          .zero_sign = false};
}

Value AddTo(Builder& b, const Value& v, int64_t n) {
  const Value by = b.Splat(v.type, v.dims, n);
  return b.EmitHidden(fmt::format("stablehlo.add {}, {} : {}", v.name, by.name, Text(v)), v.type, v.dims,
                      AfterBinary(b, "add", v.type, v.is, by.is));
}

/// |v| + 1.
Value AtLeastOne(Builder& b, const Value& v) {
  return AddTo(b, b.EmitHidden(fmt::format("stablehlo.abs {} : {}", v.name, Text(v)), v.type, v.dims, v.is), 1);
}

bool IsExactFloat(const Value& v) { return v.type.is_float() && v.is.exact() && Builder::Usable(v); }

/// The function as CHLO's composites have it: under its name, with itself as what it decomposes into.
std::string AsComposite(Builder& b, const std::string& name, const Value& v, const std::string& text) {
  const std::string function = fmt::format("@f{}", b.functions.size()), type = Text(v);
  b.functions.push_back(fmt::format("func.func private {}(%x: {}) -> {} {{\n  %y = {}\n  return %y : {}\n}}\n",
                                    function, type, type, text, type));
  return fmt::format("stablehlo.composite \"{}\" {} {{decomposition = {}, version = 1 : i32}} : ({}) -> {}", name,
                     v.name, function, type, type);
}

}  // namespace

void AddFunction(Builder& b) {
  if (!b.limits.approximate) return;
  const Dims dims = b.Any().dims;
  if (!b.Affordable(20 * Count(dims))) return;
  const Type type = TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kF64, DType::kF16, DType::kBF16}));
  if (b.random.Chance(8)) {
    const size_t which = static_cast<size_t>(b.random.Pick(2));
    const Domain& f = kOfTwo[which];
    // How often a polygamma is derived, or a zeta's exponent.
    Value n = b.Match(TypeOf(DType::kU8), dims);
    const Value low = b.Splat(n.type, {}, which == 0 ? 2 : 0), high = b.Splat(n.type, {}, which == 0 ? 5 : 4);
    n = b.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", low.name, n.name, high.name,
                                 Text(low), Text(n), Text(high), Text(n)),
                     n.type, dims, n.is);
    const Value order = b.EmitHidden(
        fmt::format("stablehlo.convert {} : ({}) -> {}", n.name, Text(n), Text(type, dims)), type, dims, {.bound = 5});
    const Value x = Between(b, type, dims, f.low, f.high);
    b.Emit(fmt::format("{} {}, {} : {}, {} -> {}", f.name, order.name, x.name, Text(x), Text(x), Text(x)), type, dims,
           AfterFunction(type, f.bound));
    return;
  }
  const Domain& f = kOfOne[b.random.Pick(std::size(kOfOne))];
  const Value x = Between(b, type, dims, f.low, f.high);
  const bool is_client = std::string_view(f.name).starts_with("chlo.");
  const auto of = [&](const std::string& operand) {
    return is_client ? fmt::format("{} {} : {} -> {}", f.name, operand, Text(x), Text(x))
                     : fmt::format("{} {} : {}", f.name, operand, Text(x));
  };
  const bool composed = is_client && b.depth() == 0 && b.functions.size() < 5 && b.random.Chance(6);
  b.Emit(composed ? AsComposite(b, f.name, x, of("%x")) : of(x.name), type, dims, AfterFunction(type, f.bound));
}

/// Which numbers are infinite, and which one comes next.
void AddFloatPredicate(Builder& b) {
  const auto suits = [](const Value& x) { return x.type.is_float() && x.is.exact() && !x.is.frozen; };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v)) return;
  const Type truth = TypeOf(DType::kPred);
  if (v.is.special || v.type.bits < 16 || b.random.Chance(2)) {
    b.Emit(fmt::format("chlo.{} {} : {} -> {}", b.random.OneOf({"is_inf", "is_pos_inf", "is_neg_inf"}), v.name, Text(v),
                       Text(truth, v.dims)),
           truth, v.dims, {.bound = 1});
    return;
  }
  // From at least one on, towards anything: nothing that is flushed.
  const Value x = AtLeastOne(b, v), towards = b.Match(v.type, v.dims);
  if (!x.is.exact() || !towards.is.exact()) return;
  b.Emit(fmt::format("chlo.next_after {}, {} : {}, {} -> {}", x.name, towards.name, Text(x), Text(x), Text(x)), v.type,
         v.dims, {.bound = 1e30, .special = true, .frozen = true});
}

/// Remainders, quotients and roots that are whole numbers.
void AddExactQuotient(Builder& b) {
  const Value v = b.AnyWhere(IsExactFloat);
  if (v.empty() || !IsExactFloat(v)) return;
  const Value w = b.random.Chance(5) ? v : b.Match(v.type, v.dims);
  if (!w.is.exact()) return;
  const auto op = [&](const char* name, const Value& x, const Value& y, const Numbers& is) {
    return b.EmitHidden(fmt::format("stablehlo.{} {}, {} : {}", name, x.name, y.name, Text(x)), x.type, x.dims, is);
  };
  const auto holds = [&](double bound) { return bound <= v.type.exact_limit(); };
  if (b.random.Chance(3)) {
    if (!holds(v.is.bound * v.is.bound)) return;
    const Value square = op("multiply", v, v, {.bound = v.is.bound * v.is.bound});
    b.Emit(fmt::format("stablehlo.sqrt {} : {}", square.name, Text(v)), v.type, v.dims, {.bound = v.is.bound});
    return;
  }
  if (!holds(w.is.bound + 1)) return;
  const Value by = AtLeastOne(b, w);
  if (b.random.Chance(2)) {
    b.Offer(op("remainder", v, by, v.is));
    return;
  }
  const double bound = v.is.bound * by.is.bound;
  if (!holds(bound)) return;
  Numbers product = v.is;
  product.bound = bound;
  b.Offer(op("divide", op("multiply", v, by, product), by, v.is));
}

/// A batch norm in one of its three forms, of variances from one on.
void AddBatchNorm(Builder& b) {
  if (!b.limits.approximate) return;
  const auto suits = [&](const Value& x) {
    return IsExactFloat(x) && x.type.bits >= 32 && x.is.bound <= 32 && !x.dims.empty() && Count(x.dims) > 0 &&
           b.Affordable(8 * Count(x.dims));
  };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v)) return;
  const auto feature = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const Dims features = {v.dims[feature]};
  const auto n = static_cast<double>(Count(v.dims) / features[0]);
  const auto small = [&](const Dims& dims, int64_t low) {
    Value x = b.Match(v.type, dims);
    if (!x.is.exact()) x = b.Splat(v.type, dims, 2);
    const Value least = b.Splat(v.type, {}, low), most = b.Splat(v.type, {}, 4);
    return b.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", least.name, x.name, most.name,
                                    Text(least), Text(x), Text(most), Text(x)),
                        v.type, dims, {.bound = 4});
  };
  const Value scale = small(features, -4), offset = small(features, -4);
  const std::string whole = Text(v), row = Text(scale),
                    attributes = fmt::format("{{epsilon = 1.0 : f32, feature_index = {} : i64}}", feature);
  // Numbers less their mean, times the scale of four, over at least one.
  const double bound = 4 * (v.is.bound + 4) + 4;
  const auto within = [&](double most) {
    return Numbers{.bound = most, .error = (20 + n) * std::ldexp(most, -v.type.significant), .zero_sign = false};
  };
  const std::string name = b.NewName();
  switch (b.random.Pick(3)) {
    case 0: {
      const Value mean = small(features, -4), variance = small(features, 0);
      b.Emit(
          fmt::format("\"stablehlo.batch_norm_inference\"({}, {}, {}, {}, {}) {} : ({}, {}, {}, {}, {}) -> {}", v.name,
                      scale.name, offset.name, mean.name, variance.name, attributes, whole, row, row, row, row, whole),
          v.type, v.dims, within(bound));
      return;
    }
    case 1: {
      b.Write(fmt::format("  {}:3 = \"stablehlo.batch_norm_training\"({}, {}, {}) {} : ({}, {}, {}) -> ({}, {}, {})\n",
                          name, v.name, scale.name, offset.name, attributes, whole, row, row, whole, row, row));
      const double square = 4 * v.is.bound * v.is.bound + 1;
      Numbers is = within(2 * bound);
      is.error *= square;  // What the variance is off by.
      b.OfferResults(name, {{"", v.type, v.dims, is},
                            {"", v.type, features, within(v.is.bound)},
                            {"", v.type, features, within(square)}});
      return;
    }
    default: {
      const Value mean = small(features, -4), variance = small(features, 0), gradient = small(v.dims, -4);
      b.Write(fmt::format(
          "  {}:3 = \"stablehlo.batch_norm_grad\"({}, {}, {}, {}, {}) {} : ({}, {}, {}, {}, {}) -> ({}, {}, "
          "{})\n",
          name, v.name, scale.name, mean.name, variance.name, gradient.name, attributes, whole, row, row, row, whole,
          whole, row, row));
      const double apart = v.is.bound + 4;
      b.OfferResults(name, {{"", v.type, v.dims, within(4 * (8 + apart * apart * 4))},
                            {"", v.type, features, within(n * 4 * apart)},
                            {"", v.type, features, within(n * 4)}});
      return;
    }
  }
}

}  // namespace tenon::fuzz
