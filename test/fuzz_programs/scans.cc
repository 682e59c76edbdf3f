// Client ops with a structure of their own: scans, products of groups of rows; and numbers that no two runs have alike.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {

/// A state and an output per step along a dim, forwards or backwards.
void AddScan(Builder& b) {
  const auto suits = [&](const Value& x) {
    return x.type.is_int() && !x.dims.empty() && x.rank() < 4 && b.Affordable(8 * Count(x.dims));
  };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v)) return;
  const int64_t along = b.random.Pick(static_cast<int64_t>(v.rank()));
  Dims row = v.dims;
  row.erase(row.begin() + along);
  const bool two = b.random.Chance(2);
  std::vector<Value> inputs = {v}, inits = {b.Match(v.type, row)};
  if (two) {
    inputs.push_back(b.Match(v.type, v.dims));
    inits.push_back(b.Match(v.type, row));
  }
  const std::string t = Text(v.type, row);
  std::string body;
  const auto op = [&](const char* result, const std::string& name, const char* x, const char* y) {
    body += fmt::format("    {} = stablehlo.{} {}, {} : {}\n", result, name, x, y, t);
  };
  const auto any = [&] { return b.random.OneOf({"add", "multiply", "maximum", "xor", "subtract", "minimum"}); };
  op("%a", any(), "%i0", "%c0");
  op("%b", any(), "%a", two ? "%i1" : "%i0");
  if (two) op("%d", any(), "%c1", b.random.OneOf({"%a", "%c0", "%i1"}));
  std::string arguments, types;
  for (size_t i = 0; i < inputs.size(); ++i) arguments += fmt::format("{}%i{}: {}", i ? ", " : "", i, t);
  for (size_t i = 0; i < inits.size(); ++i) arguments += fmt::format(", %c{}: {}", i, t);
  std::vector<Value> results;
  const Numbers is{.bound = std::ldexp(1.0, v.type.bits)};
  std::vector<std::string> yields = {"%b"};
  results.push_back({"", v.type, v.dims, is});
  if (b.random.Chance(3)) {
    yields.push_back(b.random.OneOf({"%a", "%c0", "%i0"}));
    results.push_back({"", v.type, v.dims, is});
  }
  yields.push_back("%a");
  results.push_back({"", v.type, row, is});
  if (two) {
    yields.push_back("%d");
    results.push_back({"", v.type, row, is});
  }
  std::string names, returned, outputs;
  for (size_t i = 0; i < yields.size(); ++i) {
    names += (i ? ", " : "") + yields[i];
    returned += (i ? ", " : "") + t;
  }
  const std::string name = b.NewName();
  b.Write(
      fmt::format("  {} = chlo.scan({}) inits ({}) dimension={} attributes {{is_reverse = {}}} {{\n  ^bb0({}):\n{}    "
                  "stablehlo.return {} : {}\n  }} : ({}, {}) -> ({})\n",
                  ResultsOf(name, results.size()), Names(inputs), Names(inits), along, b.random.Chance(2), arguments,
                  body, names, returned, Types(inputs), Types(inits), Types(results)));
  b.OfferResults(name, results);
}

/// Groups of rows, each with a matrix of its own; groups that are empty, and rows of no group.
void AddRaggedDot(Builder& b) {
  const Type type = TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kS32, DType::kF64}));
  const int64_t m = b.Extent(), k = b.Extent(), n = b.Extent(), groups = 1 + b.random.Pick(4);
  if (!b.Affordable(m * k * n) || !b.Fits({m, k}) || !b.Fits({groups, k, n}) || !b.Fits({m, n})) return;
  const bool contracting = b.random.Chance(3);
  Value x = b.Match(type, contracting ? Dims{k, m} : Dims{m, k});
  Value y = b.Match(type, contracting ? Dims{k, n} : Dims{groups, k, n});
  if (!x.is.exact() || !y.is.exact()) return;
  const double bound = static_cast<double>(k) * x.is.bound * y.is.bound;
  if (type.is_float() && bound > type.exact_limit()) return;
  const Type place = TypeOf(b.random.OneOf({DType::kS32, DType::kS64}));
  std::string sizes;
  int64_t left = contracting ? k : m;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t size = b.random.Chance(3) ? 0 : b.random.Pick(left + 1);
    left -= size;
    sizes += fmt::format("{}{}", g ? ", " : "", size);
  }
  const Value group = b.Literal(place, {groups}, "[" + sizes + "]", 1 << 20);
  const Dims out = contracting ? Dims{groups, m, n} : Dims{m, n};
  if (!b.Fits(out)) return;
  b.Emit(
      fmt::format(
          "\"chlo.ragged_dot\"({}, {}, {}) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions "
          "= [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}], "
          "lhs_ragged_dimensions = [0], rhs_group_dimensions = [{}]>}}> : ({}, {}, {}) -> {}",
          x.name, y.name, group.name, contracting ? 0 : 1, contracting ? 0 : 1, contracting ? "" : "0", Text(x),
          Text(y), Text(group), Text(type, out)),
      type, out,
      type.is_int() ? Numbers{.bound = std::ldexp(1.0, type.bits)} : Numbers{.bound = bound, .zero_sign = false});
}

/// What is true of random numbers whoever makes them: they lie between their ends, and are finite.
void AddRandomNumbers(Builder& b) {
  const Type type =
      TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kS32, DType::kS8,
                             DType::kU8, DType::kS16, DType::kU32, DType::kS64}));
  const Dims dims = b.AnyDims(3);
  if (!b.Fits(dims)) return;
  const bool normal = type.is_float() && b.random.Chance(2);
  const Value low = b.Splat(type, {}, type.is_signed() || type.is_float() ? -2 : 1), high = b.Splat(type, {}, 5);
  const Type word = TypeOf(DType::kS64);
  const Dims places{static_cast<int64_t>(dims.size())};
  const Value shape =
      b.EmitHidden(fmt::format("stablehlo.constant dense<{}> : {}", dims.empty() ? "" : List(dims), Text(word, places)),
                   word, places, {});
  const Value r = b.EmitHidden(
      fmt::format("stablehlo.rng {}, {}, {}, distribution = {} : ({}, {}, {}) -> {}", low.name, high.name, shape.name,
                  normal ? "NORMAL" : "UNIFORM", Text(low), Text(high), Text(shape), Text(type, dims)),
      type, dims, {});
  const Type truth = TypeOf(DType::kPred);
  const std::string result = Text(truth, dims);
  if (normal) {
    b.Emit(fmt::format("stablehlo.is_finite {} : ({}) -> {}", r.name, Text(r), result), truth, dims, {.bound = 1});
    return;
  }
  const char* kind = CompareKind(b, r, false);
  const Value from = b.Broadcast(low, dims, {}), to = b.Broadcast(high, dims, {});
  const Value above = b.EmitHidden(fmt::format("stablehlo.compare GE, {}, {}, {} : ({}, {}) -> {}", r.name, from.name,
                                               kind, Text(r), Text(r), result),
                                   truth, dims, {.bound = 1});
  const Value below = b.EmitHidden(
      fmt::format("stablehlo.compare LT, {}, {}, {} : ({}, {}) -> {}", r.name, to.name, kind, Text(r), Text(r), result),
      truth, dims, {.bound = 1});
  b.Emit(fmt::format("stablehlo.and {}, {} : {}", above.name, below.name, result), truth, dims, {.bound = 1});
}

/// The upper half of products, and the next number of a float towards another one.
void AddClientPair(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return x.type.is_int() && x.type.bits >= 8; });
  if (v.empty() || !v.type.is_int() || v.type.bits < 8) return;
  const Value w = b.Match(v.type, v.dims);
  if (b.random.Chance(3)) {
    b.Emit(fmt::format("chlo.mulhi {}, {} : {}, {} -> {}", v.name, w.name, Text(v), Text(w), Text(v)), v.type, v.dims,
           {.bound = std::ldexp(1.0, v.type.bits)});
    return;
  }
  // Against an operand that lacks the leading dims.
  const auto cut = static_cast<int64_t>(b.random.Pick(static_cast<int64_t>(v.rank()) + 1));
  const Value row = b.Match(v.type, Dims(v.dims.begin() + cut, v.dims.end()));
  const bool swapped = b.random.Chance(2);
  const Value &x = swapped ? row : v, &y = swapped ? v : row;
  b.Emit(fmt::format("chlo.broadcast_{} {}, {} : ({}, {}) -> {}",
                     b.random.OneOf({"and", "or", "xor", "divide", "remainder", "shift_left", "shift_right_arithmetic",
                                     "shift_right_logical", "power"}),
                     x.name, y.name, Text(x), Text(y), Text(v)),
         v.type, v.dims, {.bound = std::ldexp(1.0, v.type.bits)});
}

}  // namespace tenon::fuzz
