// Blocks of networks as frameworks write them, with stated errors, and loops whose state is a random generator's.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

constexpr int64_t kMost = 4;  // Inputs are whole numbers up to here.

/// Ops on arrays of one type, of which only the last result has stated numbers.
class Writer {
 public:
  Writer(Builder& b, const Type& type) : b_(b), type_(type) {}

  Value Input(const Dims& dims) {
    Value v = b_.Match(type_, dims);
    if (!v.is.exact()) v = b_.Splat(type_, dims, 2);
    const Value low = b_.Splat(type_, {}, -kMost), high = b_.Splat(type_, {}, kMost);
    return b_.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", low.name, v.name, high.name,
                                     Text(low), Text(v), Text(high), Text(v)),
                         type_, dims, {.bound = static_cast<double>(kMost)});
  }
  Value Number(const Dims& dims, const char* v) { return b_.Literal(type_, dims, v, 1); }
  Value Op(std::string_view name, const Value& x) {
    return b_.EmitHidden(name.starts_with("chlo.") ? fmt::format("{} {} : {} -> {}", name, x.name, Text(x), Text(x))
                                                   : fmt::format("stablehlo.{} {} : {}", name, x.name, Text(x)),
                         type_, x.dims);
  }
  Value Op(std::string_view name, const Value& x, const Value& y) {
    return b_.EmitHidden(fmt::format("stablehlo.{} {}, {} : {}", name, x.name, y.name, Text(x)), type_, x.dims);
  }
  /// Over the last dim, and back along it.
  Value OfRows(std::string_view name, const Value& x) {
    const Dims rows(x.dims.begin(), x.dims.end() - 1);
    const Value init = b_.Splat(type_, {}, name == "maximum" ? -1000 : 0);
    return b_.EmitHidden(fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = [{}] : "
                                     "({}, {}) -> {}",
                                     x.name, init.name, name, x.rank() - 1, Text(x), Text(init), Text(type_, rows)),
                         type_, rows);
  }
  Value Spread(const Value& rows, const Dims& dims) {
    Dims map;
    for (size_t d = 0; d < rows.rank(); ++d) map.push_back(static_cast<int64_t>(d));
    return b_.Broadcast(rows, dims, map);
  }
  /// x y^T, or x y, of the last two dims, batched over those before.
  Value Product(const Value& x, const Value& y, bool transposed) {
    const auto last = static_cast<int64_t>(x.rank()) - 1;
    Dims batch, out(x.dims.begin(), x.dims.end() - 1);
    for (int64_t d = 0; d + 1 < last; ++d) batch.push_back(d);
    out.push_back(y.dims[static_cast<size_t>(transposed ? last - 1 : last)]);
    return b_.EmitHidden(
        fmt::format("stablehlo.dot_general {}, {}, batching_dims = {} x {}, contracting_dims = [{}] x [{}] : ({}, {}) "
                    "-> {}",
                    x.name, y.name, List(batch), List(batch), last, transposed ? last : last - 1, Text(x), Text(y),
                    Text(type_, out)),
        type_, out);
  }
  /// Exponentials of rows over their sums.
  Value Softmax(const Value& x) {
    const Value e = Op("exponential", Op("subtract", x, Spread(OfRows("maximum", x), x.dims)));
    return Op("divide", e, Spread(OfRows("add", e), x.dims));
  }

 private:
  Builder& b_;
  const Type type_;
};

Type BlockType(Builder& b) { return TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kF64})); }

void Offer(Builder& b, Value v, double bound, double roundings) {
  v.is = {.bound = bound, .error = roundings * std::ldexp(bound, -v.type.significant), .zero_sign = false};
  b.Offer(v);
}

Dims BlockDims(Builder& b, int64_t rank) {
  Dims dims;
  for (; rank > 0; --rank) dims.push_back(b.random.OneOf<int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33}));
  return dims;
}

}  // namespace

/// Softmax of products, masked or not, times values.
void AddAttention(Builder& b) {
  if (!b.limits.approximate) return;
  const Dims batch = BlockDims(b, b.random.Pick(3)), sizes = BlockDims(b, 3);
  const int64_t rows = sizes[0], keys = sizes[1], depth = sizes[2];
  const auto with = [&](int64_t m, int64_t n) {
    Dims dims = batch;
    dims.insert(dims.end(), {m, n});
    return dims;
  };
  if (!b.Fits(with(rows, keys)) || !b.Fits(with(keys, depth)) || !b.Fits(with(rows, depth)) ||
      !b.Affordable(2 * Count(batch) * rows * keys * depth))
    return;
  Writer w(b, BlockType(b));
  const Value q = w.Input(with(rows, depth)), k = w.Input(with(keys, depth)), v = w.Input(with(keys, depth));
  Value scores = w.Op("multiply", w.Product(q, k, true), w.Number(with(rows, keys), "0.125"));
  if (b.random.Chance(2)) {
    const Value mask = b.Match(TypeOf(DType::kPred), with(rows, keys)), low = w.Number(with(rows, keys), "-100.0");
    scores = b.EmitHidden(
        fmt::format("stablehlo.select {}, {}, {} : {}, {}", mask.name, scores.name, low.name, Text(mask), Text(scores)),
        scores.type, scores.dims);
  }
  Value weights = w.Softmax(scores);
  if (b.random.Chance(3)) Offer(b, weights, 1, 200 + 4 * static_cast<double>(keys));
  // What an exponent is off by is relative to the exponent.
  Offer(b, w.Product(weights, v, false), static_cast<double>(kMost), 400 + 8 * static_cast<double>(keys));
}

/// Rows less their mean, over their deviation, scaled and moved; or the logarithm of sums of exponentials.
void AddRowNorm(Builder& b) {
  if (!b.limits.approximate) return;
  const Dims dims = BlockDims(b, 1 + b.random.Pick(3));
  if (!b.Fits(dims) || !b.Affordable(12 * Count(dims))) return;
  Writer w(b, BlockType(b));
  const Value x = w.Input(dims);
  const auto n = static_cast<double>(dims.back());
  if (b.random.Chance(3)) {
    const Value top = w.OfRows("maximum", x);
    const Value sums = w.OfRows("add", w.Op("exponential", w.Op("subtract", x, w.Spread(top, dims))));
    Offer(b, w.Op("add", w.Op("log", sums), top), static_cast<double>(kMost) + std::log(n) + 1, 30 + n);
    return;
  }
  const Dims rows(dims.begin(), dims.end() - 1);
  const std::string count = fmt::format("{:.1f}", n);
  const Value mean = w.Op("divide", w.OfRows("add", x), w.Number(rows, count.c_str()));
  const Value apart = w.Op("subtract", x, w.Spread(mean, dims));
  Value variance;
  if (b.random.Chance(2)) {
    variance = w.Op("divide", w.OfRows("add", w.Op("multiply", apart, apart)), w.Number(rows, count.c_str()));
  } else {
    // The mean of squares less the square of the mean.
    const Value squares = w.Op("divide", w.OfRows("add", w.Op("multiply", x, x)), w.Number(rows, count.c_str()));
    variance = w.Op("subtract", squares, w.Op("multiply", mean, mean));
  }
  const Value spread = w.Spread(w.Op("add", variance, w.Number(rows, "1.0")), dims);
  const Value normal =
      b.random.Chance(2) ? w.Op("multiply", apart, w.Op("rsqrt", spread)) : w.Op("divide", apart, w.Op("sqrt", spread));
  Dims last = {static_cast<int64_t>(dims.size()) - 1};
  const Value scale = b.Broadcast(w.Input({dims.back()}), dims, last),
              offset = b.Broadcast(w.Input({dims.back()}), dims, last);
  const double most = static_cast<double>(kMost);
  Offer(b, w.Op("add", w.Op("multiply", normal, scale), offset), 2 * most * most + most,
        100 + 4 * n + 20 * most * most);
}

/// Functions between layers, spelled out.
void AddActivation(Builder& b) {
  if (!b.limits.approximate) return;
  const Dims dims = BlockDims(b, 1 + b.random.Pick(3));
  if (!b.Fits(dims) || !b.Affordable(12 * Count(dims))) return;
  Writer w(b, BlockType(b));
  const Value x = w.Input(dims);
  const auto number = [&](const char* v) { return w.Number(dims, v); };
  Value y;
  switch (b.random.Pick(5)) {
    case 0:  // By erf.
      y = w.Op("multiply", w.Op("multiply", x, number("0.5")),
               w.Op("add", w.Op("chlo.erf", w.Op("multiply", x, number("0.70710678118654752"))), number("1.0")));
      break;
    case 1: {  // By tanh of a cubic.
      const Value cubic = w.Op("multiply", w.Op("multiply", x, w.Op("multiply", x, x)), number("0.044715"));
      const Value t = w.Op("tanh", w.Op("multiply", w.Op("add", x, cubic), number("0.79788456080286536")));
      y = w.Op("multiply", w.Op("multiply", x, number("0.5")), w.Op("add", t, number("1.0")));
      break;
    }
    case 2:  // A logistic function written out.
      y = w.Op("divide", x, w.Op("add", w.Op("exponential", w.Op("negate", x)), number("1.0")));
      break;
    case 3: {  // The logarithm of one more than an exponential.
      const Value high = w.Op("maximum", x, number("0.0"));
      y = w.Op("add", high, w.Op("log_plus_one", w.Op("exponential", w.Op("negate", w.Op("abs", x)))));
      break;
    }
    default: {  // Linear above zero.
      const Type pred = TypeOf(DType::kPred);
      const Value zero = number("0.0");
      const Value above = b.EmitHidden(fmt::format("stablehlo.compare GT, {}, {}, FLOAT : ({}, {}) -> {}", x.name,
                                                   zero.name, Text(x), Text(x), Text(pred, dims)),
                                       pred, dims);
      const Value below = w.Op("exponential_minus_one", w.Op("minimum", x, zero));
      y = b.EmitHidden(
          fmt::format("stablehlo.select {}, {}, {} : {}, {}", above.name, x.name, below.name, Text(above), Text(x)),
          x.type, dims);
      break;
    }
  }
  Offer(b, y, static_cast<double>(kMost) + 1, 60);
}

/// A generator's state through a loop, whose bits of each trip are collected or combined.
void AddRandomLoop(Builder& b) {
  if (b.depth() > 1) return;
  const Type type = TypeOf(b.random.OneOf({DType::kU32, DType::kU32, DType::kU64, DType::kU8, DType::kS16}));
  const int64_t trips = b.random.Between(1, 12);
  Dims dims = b.Any().dims;
  if (!b.Affordable(20 * trips * Count(dims)) || dims.size() > 3) return;
  Dims all = dims, one = dims;
  all.insert(all.begin(), trips);
  one.insert(one.begin(), 1);
  if (!b.Fits(all)) return;
  const Type word = TypeOf(DType::kU64), place = TypeOf(DType::kS32);
  const Value state = b.Match(word, {2}), bits = b.Splat(type, all, 0), sum = b.Match(type, dims),
              start = b.Splat(place, {}, 0);
  const std::string name = b.NewName(), s = Text(state), t = Text(type, dims), i = Text(place, {});
  std::string zeros, types;
  for (size_t d = 0; d < dims.size(); ++d) {
    zeros += ", %zero";
    types += ", " + i;
  }
  b.Write(fmt::format(
      "  {0}:4 = stablehlo.while({0}_i = {1}, {0}_s = {2}, {0}_all = {3}, {0}_sum = {4}) : {5}, {6}, {7}, {8}\n   cond "
      "{{\n    %most = stablehlo.constant dense<{9}> : {5}\n    %go = stablehlo.compare LT, {0}_i, %most, SIGNED : "
      "({5}, "
      "{5}) -> tensor<i1>\n    stablehlo.return %go : tensor<i1>\n  }} do {{\n",
      name, start.name, state.name, bits.name, sum.name, i, s, Text(bits), t, trips));
  b.Write(
      fmt::format("    %next, %bits = stablehlo.rng_bit_generator {0}_s, algorithm = {1} : ({2}) -> ({2}, {3})\n"
                  "    %one = stablehlo.constant dense<1> : {4}\n    %zero = stablehlo.constant dense<0> : {4}\n"
                  "    %row = stablehlo.reshape %bits : ({3}) -> {5}\n"
                  "    %all = stablehlo.dynamic_update_slice {0}_all, %row, {0}_i{6} : ({7}, {5}, {4}{8}) -> {7}\n"
                  "    %sum = stablehlo.{9} {0}_sum, %bits : {3}\n    %i = stablehlo.add {0}_i, %one : {4}\n"
                  "    stablehlo.return %i, %next, %all, %sum : {4}, {2}, {7}, {3}\n  }}\n",
                  name, b.random.OneOf({"THREE_FRY", "PHILOX", "DEFAULT"}), s, t, i, Text(type, one), zeros, Text(bits),
                  types, b.random.OneOf({"add", "xor", "maximum"})));
  const Numbers is{.bound = std::ldexp(1.0, type.bits)};
  if (b.random.Chance(2)) b.Offer({name + "#1", word, {2}, {.bound = std::ldexp(1.0, 64)}});
  if (!b.random.Chance(3)) b.Offer({name + "#2", type, all, is});
  b.Offer({name + "#3", type, dims, is});
}

}  // namespace tenon::fuzz
