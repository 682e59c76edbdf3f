#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

/// Integers keep a bound only so that they may become floats.
double IntBound(const Type& type, double bound) {
  const double most = std::ldexp(1.0, type.bits);
  return bound < most / 2 ? bound : most;
}

}  // namespace

Numbers AfterBinary(const Builder& b, std::string_view op, const Type& type, const Numbers& x, const Numbers& y) {
  Numbers is = Join(x, y);
  if (!type.is_float() && !type.is_complex()) {
    is.bound = op == "add" || op == "subtract"               ? x.bound + y.bound
               : op == "multiply"                            ? x.bound * y.bound
               : op == "maximum" || op == "minimum"          ? is.bound
               : op == "and" && type.kind == Kind::kUnsigned ? std::min(x.bound, y.bound)
                                                             : 1e30;
    is.bound = type.is_bool() ? 1 : IntBound(type, is.bound);
    if (op == "subtract" && !type.is_signed()) is.bound = std::ldexp(1.0, type.bits);
    return is;
  }
  const double parts = type.is_complex() ? 2 : 1;
  const bool sums = op == "add" || op == "subtract", multiplies = op == "multiply" || op == "divide";
  if ((sums || multiplies) && b.RoundsAlike(type) && x.error == 0 && y.error == 0) {
    const double bound = sums ? x.bound + y.bound : x.bound * y.bound;
    is.bound = bound;
    if (!is.special && op != "divide" && bound <= type.exact_limit()) return is;
    is.special = true;
    is.nan_bits = false;
    return is;
  }
  if (sums) return b.Rounded(type, x.bound + y.bound, x.error + y.error, is);
  if (multiplies) {
    is.zero_sign &= !type.is_complex();
    return b.Rounded(type, parts * x.bound * y.bound,
                     parts * (x.bound * y.error + y.bound * x.error + x.error * y.error), is);
  }
  if (is.special) is.frozen = true;  // Which NaN comes out is nobody's promise.
  return is;                         // maximum, minimum
}

void AddBinary(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.is.frozen; });
  if (v.empty()) return;
  const Value w = b.random.Chance(5) ? v : v.is.special ? b.MatchAny(v.type, v.dims) : b.Match(v.type, v.dims);
  if (w.is.frozen) return;
  std::vector<std::string_view> ops = {"add", "subtract", "multiply", "maximum", "minimum"};
  if (v.type.is_bool()) ops = {"and", "or", "xor", "maximum", "minimum", "add", "multiply"};
  // Of small numbers alone, whose quotients no type flushes.
  if (b.RoundsAlike(v.type) && !v.is.special && !w.is.special && !b.limits.specials) ops.push_back("divide");
  if (v.type.is_complex()) ops = {"add", "subtract", "multiply"};
  if (v.type.is_complex() && (v.is.special || w.is.special)) return;
  if (v.type.is_int()) {
    ops = {"add",
           "subtract",
           "multiply",
           "maximum",
           "minimum",
           "and",
           "or",
           "xor",
           "divide",
           "remainder",
           "shift_left",
           "shift_right_logical",
           "add",
           "subtract",
           "power",
           "multiply",
           "shift_right_arithmetic"};
  }
  const std::string_view op = b.random.OneOf(ops);
  Value x = v;
  Value y = w;
  if (b.random.Chance(2)) std::swap(x, y);
  if (op == "power" && b.random.Chance(2)) y = b.Splat(v.type, v.dims, b.random.Pick(4));
  b.Emit(fmt::format("stablehlo.{} {}, {} : {}", op, x.name, y.name, Text(v)), v.type, v.dims,
         AfterBinary(b, op, v.type, x.is, y.is));
}

void AddUnary(Builder& b) {
  const Value v = b.Any();
  Numbers is = v.is;
  std::vector<std::string_view> ops = {"negate", "abs"};
  if (v.type.is_float()) {
    if (v.is.exact()) ops = {"negate", "abs", "floor", "ceil", "round_nearest_even", "sign", "round_nearest_afz"};
    if (b.RoundsAlike(v.type) && v.is.exact()) ops.push_back("sqrt");
    const std::string_view op = b.random.OneOf(ops);
    if (op == "sqrt") is.special = true;
    // Eight bits are computed in a wider type, and which NaN comes back is nobody's promise.
    if (is.special && ((op != "negate" && op != "abs") || v.type.bits <= 8))
      (b.RoundsAlike(v.type) ? is.nan_bits = false : is.frozen = true);
    if (b.random.Chance(20) && v.is.exact()) {
      // Of any format: what comes out is rounded once, and may be an infinity.
      is.special = is.frozen = true;
      b.Emit(fmt::format("stablehlo.reduce_precision {}, format = e{}m{} : {}", v.name, b.random.Between(2, 8),
                         b.random.Pick(12), Text(v)),
             v.type, v.dims, is);
      return;
    }
    if (b.random.Chance(12) && v.is.exact()) {
      // Fewer bits of the significand, for exponents that all of these numbers have.
      const bool half = b.random.Chance(2);
      if (half && is.bound > 60000) is.special = is.frozen = true;
      if (is.special) is.frozen = true;
      if (is.bound < 1e30) is.bound *= 1.01;
      b.Emit(fmt::format("stablehlo.reduce_precision {}, format = {} : {}", v.name, half ? "e5m10" : "e8m7", Text(v)),
             v.type, v.dims, is);
      return;
    }
    b.Emit(fmt::format("stablehlo.{} {} : {}", op, v.name, Text(v)), v.type, v.dims, is);
    return;
  }
  if (v.type.is_complex()) {
    if (is.special) return;
    b.Emit(fmt::format("stablehlo.negate {} : {}", v.name, Text(v)), v.type, v.dims, is);
    return;
  }
  ops = {"not", "negate", "count_leading_zeros", "popcnt"};
  if (v.type.is_signed()) ops = {"not", "negate", "count_leading_zeros", "popcnt", "abs", "sign"};
  if (v.type.is_bool()) ops = {"not"};
  const std::string_view op = b.random.OneOf(ops);
  is.bound = v.type.is_bool() ? 1 : op == "count_leading_zeros" || op == "popcnt" ? 64 : std::ldexp(1.0, v.type.bits);
  b.Emit(fmt::format("stablehlo.{} {} : {}", op, v.name, Text(v)), v.type, v.dims, is);
}

void AddConvert(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return x.is.exact() && !x.type.is_complex(); });
  if (v.empty()) return;
  const Type to = b.AnyType();
  Numbers is = v.is;
  if (to.is_complex() && v.is.special) return;
  if (to.is_bool()) is = {.bound = 1};
  if (to.is_int()) is = {.bound = IntBound(to, v.is.special ? 1e30 : v.is.bound)};
  if (to.is_int() && !to.is_signed()) is.bound = std::ldexp(1.0, to.bits);
  if (to.is_float()) {
    is.nan_bits &= !is.special;
    if (is.bound > to.exact_limit()) is.bound *= 1.2;
    if (is.bound > to.largest) is.special = is.frozen = true;
  }
  b.Emit(fmt::format("stablehlo.convert {} : ({}) -> {}", v.name, Text(v), Text(to, v.dims)), to, v.dims, is);
}

void AddBitcast(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) {
    return x.is.exact() && x.is.zero_sign && x.is.nan_bits && !x.is.frozen && !x.type.is_bool() && !x.type.is_complex();
  });
  if (v.empty()) return;
  std::vector<Type> choices;
  for (const Type& t : AllTypes()) {
    if (t.is_bool() || t.is_complex() || t == v.type) continue;
    if (std::max(t.bits, v.type.bits) % std::min(t.bits, v.type.bits) != 0) continue;
    if (t.bits > v.type.bits && (v.dims.empty() || v.dims.back() != t.bits / v.type.bits)) continue;
    choices.push_back(t);
  }
  if (choices.empty()) return;
  const Type to = b.random.OneOf(choices);
  Dims dims = v.dims;
  if (to.bits > v.type.bits) dims.pop_back();
  if (to.bits < v.type.bits) dims.push_back(v.type.bits / to.bits);
  Numbers is{.bound = std::ldexp(1.0, to.bits)};
  if (to.is_float()) is = {.bound = 1e38, .special = true};
  b.Emit(fmt::format("stablehlo.bitcast_convert {} : ({}) -> {}", v.name, Text(v), Text(to, dims)), to, dims, is);
}

const char* CompareKind(Builder& b, const Value& v, bool may_be_total) {
  if (v.type.is_float()) {
    return may_be_total && v.is.zero_sign && v.is.nan_bits && !v.is.frozen && b.random.Chance(3) ? "TOTALORDER"
                                                                                                 : "FLOAT";
  }
  return v.type.is_signed() ? "SIGNED" : "UNSIGNED";
}

void AddCompare(Builder& b) {
  const Value v =
      b.AnyWhere([](const Value& x) { return x.is.exact() && (Builder::Usable(x) || !x.type.is_complex()); });
  if (v.empty()) return;
  if (v.type.is_complex()) {
    if (!v.is.exact() || !Builder::Usable(v)) return;
    const Value w = b.Match(v.type, v.dims);
    if (!w.is.exact()) return;
    b.Emit(fmt::format("stablehlo.compare {}, {}, {}, FLOAT : ({}, {}) -> {}", b.random.OneOf({"EQ", "NE"}), v.name,
                       w.name, Text(v), Text(w), Text(TypeOf(DType::kPred), v.dims)),
           TypeOf(DType::kPred), v.dims, {.bound = 1});
    return;
  }
  if (v.type.is_float() && b.random.Chance(8)) {
    b.Emit(fmt::format("stablehlo.is_finite {} : ({}) -> {}", v.name, Text(v), Text(TypeOf(DType::kPred), v.dims)),
           TypeOf(DType::kPred), v.dims, {.bound = 1});
    return;
  }
  const Value w = v.is.special ? b.MatchAny(v.type, v.dims) : b.Match(v.type, v.dims);
  if (!w.is.exact()) return;
  Value both = v;
  both.is = Join(v.is, w.is);
  b.Emit(fmt::format("stablehlo.compare {}, {}, {}, {} : ({}, {}) -> {}",
                     b.random.OneOf({"EQ", "NE", "LT", "LE", "GT", "GE"}), v.name, w.name, CompareKind(b, both, true),
                     Text(v), Text(w), Text(TypeOf(DType::kPred), v.dims)),
         TypeOf(DType::kPred), v.dims, {.bound = 1});
}

void AddSelect(Builder& b) {
  const Value v = b.Any();
  const Value w = v.is.special ? b.MatchAny(v.type, v.dims) : b.Match(v.type, v.dims);
  if (b.random.Chance(4) && !v.type.is_bool() && !v.type.is_complex() && v.is.exact()) {
    const Dims dims = b.random.Chance(2) ? Dims() : v.dims;
    const Value low = b.random.Chance(3) ? b.Match(v.type, dims) : b.Splat(v.type, dims, v.type.is_signed() ? -2 : 1);
    const Value high = b.random.Chance(3) ? b.Match(v.type, dims) : b.Splat(v.type, dims, 3);
    Numbers is = Join(v.is, Join(low.is, high.is));
    if (!low.is.exact() || !high.is.exact()) return;
    if (is.special) is.frozen = true;
    b.Emit(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", low.name, v.name, high.name, Text(low),
                       Text(v), Text(high), Text(v)),
           v.type, v.dims, is);
    return;
  }
  const Type pred = TypeOf(DType::kPred);
  const Value p = b.Match(pred, b.random.Chance(4) ? Dims() : v.dims);
  b.Emit(fmt::format("stablehlo.select {}, {}, {} : {}, {}", p.name, v.name, w.name, Text(p), Text(v)), v.type, v.dims,
         Join(v.is, w.is));
}

void AddComplex(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) {
    return Builder::Usable(x) && (x.type.is_complex() || x.type.dtype == DType::kF32 || x.type.dtype == DType::kF64);
  });
  if (v.empty()) return;
  if (!v.type.is_complex()) {
    const Type to = ComplexOf(v.type);
    const Value w = b.Match(v.type, v.dims);
    b.Emit(fmt::format("stablehlo.complex {}, {} : {}", v.name, w.name, Text(to, v.dims)), to, v.dims,
           Join(v.is, w.is));
    return;
  }
  const Type part = PartOf(v.type);
  b.Emit(fmt::format("stablehlo.{} {} : ({}) -> {}", b.random.OneOf({"real", "imag"}), v.name, Text(v),
                     Text(part, v.dims)),
         part, v.dims, v.is);
}

void AddTranscendental(Builder& b) {
  if (!b.limits.approximate) return;
  const Value v = b.AnyWhere(
      [](const Value& x) { return Builder::Usable(x) && x.type.is_float() && x.type.bits >= 32 && x.is.bound < 1e4; });
  if (v.empty()) return;
  const std::string type = Text(v);
  const auto unary = [&](std::string_view op, const std::string& x) {
    return fmt::format("stablehlo.{} {} : {}", op, x, type);
  };
  // Ten last bits of the largest result, on top of what the operand is off by.
  const auto after = [&](double bound, double slope, double error_in) {
    return Numbers{.bound = bound,
                   .error = slope * error_in + 10 * std::ldexp(std::max(bound, 1e-3), -v.type.significant),
                   .zero_sign = false};
  };
  const double m = v.is.bound;
  switch (b.random.Pick(10)) {
    case 9: {
      // Of slope 2 at most.
      const std::string op = b.random.OneOf({"asinh", "atan", "bessel_i1e", "erf", "erfc"});
      const double bound = op == "asinh" ? std::log(2 * m + 2) : 2;
      b.Emit(fmt::format("chlo.{} {} : {} -> {}", op, v.name, type, type), v.type, v.dims, after(bound, 2, v.is.error));
      return;
    }
    case 0:
      b.Emit(unary("tanh", v.name), v.type, v.dims, after(1, 1, v.is.error));
      return;
    case 1:
      b.Emit(unary("logistic", v.name), v.type, v.dims, after(1, 0.25, v.is.error));
      return;
    case 2:
      b.Emit(unary(b.random.OneOf({"sine", "cosine"}), v.name), v.type, v.dims,
             after(1, 1, v.is.error + m * std::ldexp(1.0, -v.type.significant)));
      return;
    case 3: {
      if (m > 12) return;
      b.Emit(unary(b.random.OneOf({"exponential", "exponential_minus_one"}), v.name), v.type, v.dims,
             after(std::exp(m), std::exp(m), v.is.error));
      return;
    }
    case 4: {
      const Value a = b.EmitHidden(unary("abs", v.name), v.type, v.dims, v.is);
      const Value one = b.Splat(v.type, v.dims, 1);
      const Value p = b.EmitHidden(fmt::format("stablehlo.add {}, {} : {}", a.name, one.name, type), v.type, v.dims,
                                   AfterBinary(b, "add", v.type, a.is, one.is));
      b.Emit(unary(b.random.OneOf({"log", "log_plus_one", "rsqrt", "sqrt", "cbrt"}), p.name), v.type, v.dims,
             after(std::sqrt(p.is.bound) + 1, 1, p.is.error));
      return;
    }
    case 5: {
      // A quotient whose denominator is at least one.
      const Value w = b.Match(v.type, v.dims);
      const Value a = b.EmitHidden(unary("abs", w.name), v.type, v.dims, w.is);
      const Value one = b.Splat(v.type, v.dims, 1 + b.random.Pick(3));
      const Value p = b.EmitHidden(fmt::format("stablehlo.add {}, {} : {}", a.name, one.name, type), v.type, v.dims,
                                   AfterBinary(b, "add", v.type, a.is, one.is));
      b.Emit(fmt::format("stablehlo.divide {}, {} : {}", v.name, p.name, type), v.type, v.dims,
             after(m, 1, v.is.error + m * p.is.error));
      return;
    }
    case 6: {
      // Of rows: the largest away, exponentials, over their sum.
      if (v.dims.empty() || v.dims.back() == 0 || m > 1e3) return;
      const Dims rows(v.dims.begin(), v.dims.end() - 1);
      const auto last = static_cast<int64_t>(v.rank()) - 1;
      const Value low =
          b.EmitHidden(fmt::format("stablehlo.constant dense<0xFF800000> : tensor<f32>"), TypeOf(DType::kF32), {});
      if (v.type.bits != 32) return;
      const Value top = b.EmitHidden(fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.maximum across "
                                                 "dimensions = [{}] : ({}, tensor<f32>) -> {}",
                                                 v.name, low.name, last, type, Text(v.type, rows)),
                                     v.type, rows, v.is);
      Dims map;
      for (int64_t d = 0; d < last; ++d) map.push_back(d);
      const Value spread = b.Broadcast(top, v.dims, map);
      const Value shifted =
          b.EmitHidden(fmt::format("stablehlo.subtract {}, {} : {}", v.name, spread.name, type), v.type, v.dims);
      const Value e = b.EmitHidden(unary("exponential", shifted.name), v.type, v.dims);
      const Value zero = b.Splat(v.type, {}, 0);
      const Value sum = b.EmitHidden(
          fmt::format(
              "stablehlo.reduce({} init: {}) applies stablehlo.add across dimensions = [{}] : ({}, tensor<f32>) -> {}",
              e.name, zero.name, last, type, Text(v.type, rows)),
          v.type, rows);
      const Value below = b.Broadcast(sum, v.dims, map);
      b.Emit(fmt::format("stablehlo.divide {}, {} : {}", e.name, below.name, type), v.type, v.dims,
             after(1, 3, v.is.error + m * 1e-6 + static_cast<double>(v.dims.back()) * 1e-6));
      return;
    }
    case 7: {
      if (!v.is.exact() || !v.is.zero_sign) return;
      const Value w = b.Match(v.type, v.dims);
      if (!w.is.exact() || !w.is.zero_sign) return;
      b.Emit(fmt::format("stablehlo.atan2 {}, {} : {}", v.name, w.name, type), v.type, v.dims, after(3.2, 0, 0));
      return;
    }
    case 8: {
      if (m > 30) return;
      const Value w = b.Splat(v.type, v.dims, 1 + b.random.Pick(3));
      b.Emit(fmt::format("stablehlo.power {}, {} : {}", v.name, w.name, type), v.type, v.dims,
             after(m * m * m + m, 3 * m * m + 3, v.is.error));
      return;
    }
  }
}

/// A chain in which every op has the one before as both operands: 2^n paths through n ops.
void AddDiamonds(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return x.type.is_int() || x.type.is_bool(); });
  if (v.empty() || !(v.type.is_int() || v.type.is_bool())) return;
  Value last = v;
  const int64_t n = b.random.Chance(4) ? b.random.Between(30, 60) : b.random.Between(2, 8);
  if (!b.Affordable(n * Count(v.dims))) return;
  const auto ops = v.type.is_bool() ? std::vector<std::string_view>{"xor", "or", "and"}
                                    : std::vector<std::string_view>{"add", "multiply", "xor", "subtract", "maximum"};
  for (int64_t i = 0; i < n; ++i) {
    const std::string_view op = b.random.OneOf(ops);
    const Value other = b.random.Chance(5) ? v : last;
    Value next = b.EmitHidden(fmt::format("stablehlo.{} {}, {} : {}", op == "subtract" || op == "xor" ? "add" : op,
                                          last.name, other.name, Text(v)),
                              v.type, v.dims, {.bound = v.type.is_bool() ? 1 : std::ldexp(1.0, v.type.bits)});
    if (b.random.Chance(6)) b.Offer(next);
    last = next;
  }
  b.Offer(last);
}

/// The same op on every element, as a region.
void AddMap(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return x.type.is_int(); });
  if (v.empty() || !v.type.is_int()) return;
  const Value w = b.Match(v.type, v.dims);
  const std::string s = Text(v.type, {});
  Dims dims;
  for (size_t d = 0; d < v.rank(); ++d) dims.push_back(static_cast<int64_t>(d));
  b.Emit(fmt::format("\"stablehlo.map\"({}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n    %s = stablehlo.{} %p, %q : {}\n    "
                     "%t = stablehlo.{} %s, %p : {}\n"
                     "    stablehlo.return %t : {}\n  }}) {{dimensions = {}}} : ({}, {}) -> {}",
                     v.name, w.name, s, s, b.random.OneOf({"add", "xor", "maximum"}), s,
                     b.random.OneOf({"multiply", "subtract", "minimum"}), s, s, Array(dims), Text(v), Text(w), Text(v)),
         v.type, v.dims, {.bound = std::ldexp(1.0, v.type.bits)});
}

void AddBarrier(Builder& b) {
  std::vector<Value> values;
  for (int64_t n = 1 + b.random.Pick(3); n > 0; --n) values.push_back(b.Any());
  const std::string name = b.NewName();
  b.Write(fmt::format("  {} = stablehlo.optimization_barrier {} : {}\n", ResultsOf(name, values.size()), Names(values),
                      Types(values)));
  b.OfferResults(name, values);
}

}  // namespace tenon::fuzz
