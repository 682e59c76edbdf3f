// Complex numbers: functions with stated errors, orders by a part, bits.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

Value AnyComplex(Builder& b) {
  const auto suits = [](const Value& x) { return x.type.is_complex() && x.is.exact() && Builder::Usable(x); };
  const Value v = b.AnyWhere(suits);
  if (!v.empty() && suits(v)) return v;
  // Two real arrays.
  const Type part = TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kF64}));
  const Dims dims = b.Any().dims;
  const Value re = b.Match(part, dims), im = b.Match(part, dims);
  if (!re.is.exact() || !im.is.exact()) return {};
  const Type to = ComplexOf(part);
  return b.Emit(fmt::format("stablehlo.complex {}, {} : {}", re.name, im.name, Text(to, dims)), to, dims,
                Join(re.is, im.is));
}

Value Part(Builder& b, const Value& v, const char* which) {
  const Type part = PartOf(v.type);
  return b.EmitHidden(fmt::format("stablehlo.{} {} : ({}) -> {}", which, v.name, Text(v), Text(part, v.dims)), part,
                      v.dims, v.is);
}

/// Both parts between -3 and 3, the real one at least 1 where a function has a pole or a cut elsewhere.
Value Tame(Builder& b, const Value& v, bool positive) {
  if (!v.is.exact()) return b.Splat(v.type, v.dims, 1);
  const auto clamped = [&](const Value& x, int64_t low) {
    const Value lo = b.Splat(x.type, {}, low), hi = b.Splat(x.type, {}, 3);
    return b.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", lo.name, x.name, hi.name,
                                    Text(lo), Text(x), Text(hi), Text(x)),
                        x.type, x.dims, {.bound = 3});
  };
  const Value re = clamped(Part(b, v, "real"), positive ? 1 : -3), im = clamped(Part(b, v, "imag"), -3);
  return b.EmitHidden(fmt::format("stablehlo.complex {}, {} : {}", re.name, im.name, Text(v)), v.type, v.dims,
                      {.bound = 3, .zero_sign = v.is.zero_sign});
}

}  // namespace

/// Functions of complex numbers, away from their poles and cuts.
void AddComplexFunction(Builder& b) {
  if (!b.limits.approximate) return;
  struct Function {
    const char* name;
    bool positive;
    double bound;
  };
  // The bounds hold for parts up to 3.
  static constexpr Function kFunctions[] = {
      {"stablehlo.exponential", false, 21},
      {"stablehlo.log", true, 3},
      {"stablehlo.sqrt", true, 3},
      {"stablehlo.rsqrt", true, 1},
      {"stablehlo.tanh", true, 3},
      {"stablehlo.logistic", true, 2},
      {"stablehlo.sine", false, 11},
      {"stablehlo.cosine", false, 11},
      {"stablehlo.exponential_minus_one", false, 22},
      {"stablehlo.log_plus_one", true, 3},
      {"chlo.sinh", false, 11},
      {"chlo.cosh", false, 11},
      {"chlo.square", false, 18},
      {"chlo.conj", false, 3},
      {"chlo.asinh", true, 3},
      {"chlo.atan", true, 3},
      {"stablehlo.sign", true, 1},
  };
  const Value any = AnyComplex(b);
  if (any.empty()) return;
  if (b.random.Chance(4)) {
    // A quotient whose denominator is at least one.
    const Value x = Tame(b, any, false), y = Tame(b, b.Match(any.type, any.dims), true);
    b.Emit(fmt::format("stablehlo.divide {}, {} : {}", x.name, y.name, Text(x)), x.type, x.dims,
           {.bound = 6, .error = 30 * std::ldexp(6.0, -x.type.significant), .zero_sign = false});
    return;
  }
  if (b.random.Chance(6)) {
    const Value x = Tame(b, any, false);
    const Type part = PartOf(x.type);
    b.Emit(fmt::format("stablehlo.abs {} : ({}) -> {}", x.name, Text(x), Text(part, x.dims)), part, x.dims,
           {.bound = 5, .error = 10 * std::ldexp(5.0, -x.type.significant), .zero_sign = false});
    return;
  }
  const Function& f = kFunctions[b.random.Pick(std::size(kFunctions))];
  const Value x = Tame(b, any, f.positive);
  const std::string type = Text(x);
  b.Emit(std::string_view(f.name).starts_with("chlo.") ? fmt::format("{} {} : {} -> {}", f.name, x.name, type, type)
                                                       : fmt::format("{} {} : {}", f.name, x.name, type),
         x.type, x.dims,
         {.bound = f.bound, .error = 30 * std::ldexp(f.bound, -x.type.significant), .zero_sign = false});
}

/// Complex numbers in the order of one part, or of one and then the other; with what goes along.
void AddComplexSort(Builder& b) {
  const Value v = AnyComplex(b);
  if (v.empty() || v.dims.empty() || !b.Affordable(8 * Count(v.dims))) return;
  const auto along = b.random.Pick(static_cast<int64_t>(v.rank()));
  std::vector<Value> operands = {v};
  for (int64_t n = b.random.Pick(3); n > 0; --n) operands.push_back(b.MatchAny(b.AnyType(), v.dims));
  const std::string s = Text(v.type, {}), t = Text(PartOf(v.type), {});
  const bool by_imaginary = b.random.Chance(2);
  const char *first = by_imaginary ? "imag" : "real", *second = by_imaginary ? "real" : "imag";
  const char* direction = b.random.OneOf({"LT", "GT"});
  std::string body = fmt::format(
      "    %a = stablehlo.{0} %x0 : ({1}) -> {2}\n    %b = stablehlo.{0} %y0 : ({1}) -> {2}\n    %r = "
      "stablehlo.compare {3}, %a, %b, FLOAT : ({2}, {2}) -> tensor<i1>\n",
      first, s, t, direction);
  const bool both = b.random.Chance(2);
  if (both) {
    body += fmt::format(
        "    %c = stablehlo.{0} %x0 : ({1}) -> {2}\n    %d = stablehlo.{0} %y0 : ({1}) -> {2}\n    %e = "
        "stablehlo.compare EQ, %a, %b, FLOAT : ({2}, {2}) -> tensor<i1>\n    %l = stablehlo.compare {3}, %c, %d, FLOAT "
        ": ({2}, {2}) -> tensor<i1>\n    %u = stablehlo.and %e, %l : tensor<i1>\n    %z = stablehlo.or %r, %u : "
        "tensor<i1>\n",
        second, s, t, b.random.OneOf({"LT", "GT"}));
  }
  std::string arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string e = Text(operands[i].type, {});
    arguments += fmt::format("{}%x{}: {}, %y{}: {}", i ? ", " : "", i, e, i, e);
  }
  const std::string name = b.NewName();
  b.Write(
      fmt::format("  {} = \"stablehlo.sort\"({}) ({{\n  ^bb0({}):\n{}    stablehlo.return {} : tensor<i1>\n  }}) "
                  "{{dimension = {} : i64, is_stable = true}} : ({}) -> ({})\n",
                  ResultsOf(name, operands.size()), Names(operands), arguments, body, both ? "%z" : "%r", along,
                  Types(operands), Types(operands)));
  b.OfferResults(name, operands);
}

/// Pairs of complex numbers read as one with wider parts, and back: bits as they are.
void AddComplexBits(Builder& b) {
  const Value v = AnyComplex(b);
  if (v.empty() || !v.is.zero_sign || !v.is.nan_bits) return;
  // Through the parts' bits, swapped or with the sign taken away.
  const Type part = PartOf(v.type), word = TypeOf(part.bits == 32 ? DType::kU32 : DType::kU64);
  std::vector<Value> parts;
  for (const char* which : {"real", "imag"}) {
    const Value p = Part(b, v, which);
    const Value bits =
        b.EmitHidden(fmt::format("stablehlo.bitcast_convert {} : ({}) -> {}", p.name, Text(p), Text(word, v.dims)),
                     word, v.dims, {.bound = std::ldexp(1.0, word.bits)});
    const Value one = b.Splat(word, v.dims, 1);
    const Value shifted = b.EmitHidden(fmt::format("stablehlo.shift_left {}, {} : {}", bits.name, one.name, Text(bits)),
                                       word, v.dims, bits.is);
    const Value back =
        b.EmitHidden(fmt::format("stablehlo.shift_right_logical {}, {} : {}", shifted.name, one.name, Text(bits)), word,
                     v.dims, bits.is);
    parts.push_back(b.EmitHidden(
        fmt::format("stablehlo.bitcast_convert {} : ({}) -> {}", back.name, Text(back), Text(part, v.dims)), part,
        v.dims, v.is));
  }
  if (b.random.Chance(2)) std::swap(parts[0], parts[1]);
  b.Emit(fmt::format("stablehlo.complex {}, {} : {}", parts[0].name, parts[1].name, Text(v)), v.type, v.dims, v.is);
}

}  // namespace tenon::fuzz
