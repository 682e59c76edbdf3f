// Products and convolutions of sizes around those where another way of computing them begins, between element-wise ops
// that may be computed with them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"
#include "test/fuzz_programs/window.h"

namespace tenon::fuzz {
namespace {

constexpr int64_t kMost = 8;  // Factors stay below.

Value Clamped(Builder& b, const Value& v, int64_t most) {
  if (!v.is.exact()) return b.Splat(v.type, v.dims, 1);
  const Value low = b.Splat(v.type, {}, v.type.kind == Kind::kUnsigned ? 0 : -most), high = b.Splat(v.type, {}, most);
  return b.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", low.name, v.name, high.name,
                                  Text(low), Text(v), Text(high), Text(v)),
                      v.type, v.dims, {.bound = static_cast<double>(most), .zero_sign = false});
}

Value Transposed(Builder& b, const Value& v, const Dims& order) {
  Dims dims;
  for (const int64_t d : order) dims.push_back(v.dims[static_cast<size_t>(d)]);
  return b.EmitHidden(
      fmt::format("stablehlo.transpose {}, dims = {} : ({}) -> {}", v.name, List(order), Text(v), Text(v.type, dims)),
      v.type, dims, v.is);
}

/// A factor of these dims, made in one of several ways that an operand's reading may take in.
Value Factor(Builder& b, const Type& type, const Dims& dims, int64_t most) {
  switch (b.random.Pick(6)) {
    case 0: {  // Transposed.
      if (dims.size() < 2) break;
      const Dims order = b.Permutation(dims.size());
      Dims before(dims.size());
      for (size_t i = 0; i < dims.size(); ++i) before[static_cast<size_t>(order[i])] = dims[i];
      return Transposed(b, Clamped(b, b.Match(type, before), most), order);
    }
    case 1: {  // A piece of something larger.
      Dims larger = dims;
      std::string ranges;
      for (size_t d = 0; d < dims.size(); ++d) {
        const int64_t before = b.random.Pick(3);
        larger[d] += before + b.random.Pick(3);
        ranges += fmt::format("{}{}:{}", d ? ", " : "", before, before + dims[d]);
      }
      const Value all = Clamped(b, b.Match(type, larger), most);
      return b.EmitHidden(
          fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", all.name, ranges, Text(all), Text(type, dims)), type,
          dims, all.is);
    }
    case 2: {  // Converted.
      const Type from = TypeOf(b.random.OneOf({DType::kS8, DType::kBF16, DType::kS32, DType::kF16, DType::kPred}));
      Value v = b.Match(from, dims);
      if (from == type) break;
      if (!from.is_bool()) v = Clamped(b, v, 3);
      const Value to = b.EmitHidden(fmt::format("stablehlo.convert {} : ({}) -> {}", v.name, Text(v), Text(type, dims)),
                                    type, dims, v.is);
      return type.kind == Kind::kUnsigned ? Clamped(b, to, 3) : to;
    }
    case 3: {  // Computed.
      const Value x = Clamped(b, b.Match(type, dims), most / 2), y = Clamped(b, b.Match(type, dims), most / 2);
      Numbers is = x.is;
      is.bound = static_cast<double>(most);
      return b.EmitHidden(
          fmt::format("stablehlo.{} {}, {} : {}", b.random.OneOf({"add", "maximum"}), x.name, y.name, Text(x)), type,
          dims, is);
    }
    case 4: {  // The same for all of some dim.
      if (dims.empty()) break;
      const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(dims.size())));
      Dims row, map;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (d == along) continue;
        row.push_back(dims[d]);
        map.push_back(static_cast<int64_t>(d));
      }
      return b.Broadcast(Clamped(b, b.Match(type, row), most), dims, map);
    }
    default:
      break;
  }
  return Clamped(b, b.Match(type, dims), most);
}

/// What often follows: a bias, a rectifier, a residual, a conversion, another order, a piece, sums of rows.
void Follow(Builder& b, Value v) {
  for (int64_t n = b.random.Pick(5); n > 0; --n) {
    switch (b.random.Pick(9)) {
      case 0:
      case 1: {
        Dims map;
        Dims row;
        if (!v.dims.empty()) {
          const int64_t d =
              b.random.Chance(3) ? b.random.Pick(static_cast<int64_t>(v.rank())) : static_cast<int64_t>(v.rank()) - 1;
          map = {d};
          row = {v.dims[static_cast<size_t>(d)]};
        }
        const Value bias = b.Broadcast(Clamped(b, b.Match(v.type, row), kMost), v.dims, map);
        Numbers is = v.is;
        is.bound += static_cast<double>(kMost);
        v = b.EmitHidden(
            fmt::format("stablehlo.{} {}, {} : {}", b.random.OneOf({"add", "subtract"}), v.name, bias.name, Text(v)),
            v.type, v.dims, is);
        break;
      }
      case 2: {
        const Value zero = b.Splat(v.type, v.dims, 0);
        v = b.EmitHidden(fmt::format("stablehlo.maximum {}, {} : {}", v.name, zero.name, Text(v)), v.type, v.dims,
                         v.is);
        break;
      }
      case 3: {
        const Value other = b.Match(v.type, v.dims);
        const Numbers is = AfterBinary(b, "add", v.type, v.is, other.is);
        if (!is.exact() || is.special) break;
        v = b.EmitHidden(fmt::format("stablehlo.add {}, {} : {}", v.name, other.name, Text(v)), v.type, v.dims, is);
        break;
      }
      case 4: {
        const Type to = TypeOf(b.random.OneOf({DType::kF32, DType::kF64, DType::kS32, DType::kS64}));
        if (to == v.type || v.type.kind == Kind::kUnsigned || v.type.is_complex()) break;
        if (to.is_float() && v.is.bound > to.exact_limit()) break;
        Numbers is = v.is;
        if (to.is_int()) is = {.bound = std::ldexp(1.0, to.bits)};
        v = b.EmitHidden(fmt::format("stablehlo.convert {} : ({}) -> {}", v.name, Text(v), Text(to, v.dims)), to,
                         v.dims, is);
        break;
      }
      case 5:
        v = Transposed(b, v, b.Permutation(v.rank()));
        break;
      case 6: {
        std::string ranges;
        Dims dims;
        for (const int64_t d : v.dims) {
          const int64_t from = std::min<int64_t>(d, b.random.Pick(3)), to = std::max(from, d - b.random.Pick(3));
          ranges += fmt::format("{}{}:{}", ranges.empty() ? "" : ", ", from, to);
          dims.push_back(to - from);
        }
        v = b.EmitHidden(
            fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", v.name, ranges, Text(v), Text(v.type, dims)), v.type,
            dims, v.is);
        break;
      }
      case 7: {
        const Value again = Transposed(b, v, b.Permutation(v.rank()));
        if (again.dims != v.dims || v.is.bound * 2 > v.type.exact_limit()) break;
        Numbers is = v.is;
        is.bound *= 2;
        v = b.EmitHidden(fmt::format("stablehlo.add {}, {} : {}", v.name, again.name, Text(v)), v.type, v.dims, is);
        break;
      }
      default:
        b.Offer(v);
    }
  }
  b.Offer(v);
  if (v.dims.empty() || v.type.is_complex()) return;
  // Something small of it in any case.
  const int64_t d = b.random.Pick(static_cast<int64_t>(v.rank()));
  Dims dims = v.dims;
  const auto n = static_cast<double>(dims[static_cast<size_t>(d)]);
  dims.erase(dims.begin() + d);
  const char* op = v.type.is_int() || v.is.bound * n > v.type.exact_limit() ? "maximum" : "add";
  const Value zero = b.Splat(v.type, {}, 0);
  Numbers is = v.is;
  is.bound *= n;
  b.Emit(fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = [{}] : ({}, {}) -> {}",
                     v.name, zero.name, op, d, Text(v), Text(zero), Text(v.type, dims)),
         v.type, dims, is);
}

Type FactorType(Builder& b) {
  return TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kS32, DType::kS8, DType::kU8,
                                DType::kBF16, DType::kF16}));
}

/// The type of the sums.
Type SumType(const Type& factor) {
  if (factor.is_float() && factor.bits < 32) return TypeOf(DType::kF32);
  return factor.bits == 8 ? TypeOf(factor.is_signed() ? DType::kS32 : DType::kU32) : factor;
}

Numbers SumOf(const Type& type, double bound) {
  if (type.is_int()) return {.bound = std::ldexp(1.0, type.bits)};
  return {.bound = bound, .zero_sign = false};
}

}  // namespace

void AddDressedProduct(Builder& b) {
  if (b.trips() > 4) return;
  const Type type = FactorType(b);
  const auto extent = [&] {
    return b.random.Chance(3) ? b.random.OneOf<int64_t>({1, 1, 2, 3, 4, 5, 6, 7, 8})
                              : b.random.OneOf<int64_t>({8,  9,  12, 13, 14, 15, 16, 17, 24,  28,  29,  31,  32,
                                                         33, 47, 48, 49, 63, 64, 65, 96, 127, 128, 129, 192, 256});
  };
  const int64_t batch = b.random.Chance(3) ? b.random.OneOf<int64_t>({1, 2, 3, 8}) : 0;
  const int64_t m = extent(), n = extent(), k = extent(), times = std::max<int64_t>(batch, 1);
  const int64_t most = b.limits.large_extents ? 2'000'000 : 150'000;
  if (times * m * n * k > most || times * (m * k + k * n + m * n) > 30'000) return;
  const Type to = SumType(type);
  // Sums of narrow floats too, where they are exact.
  const double bound = static_cast<double>(k) * static_cast<double>(kMost * kMost);
  if (to.is_float() && bound * 4 > to.exact_limit()) return;
  const bool turned_left = b.random.Chance(3), turned_right = b.random.Chance(3);
  Dims left = turned_left ? Dims{k, m} : Dims{m, k}, right = turned_right ? Dims{n, k} : Dims{k, n};
  Dims out = {m, n};
  std::string batching;
  const int64_t first = batch > 0 ? 1 : 0;
  if (batch > 0) {
    left.insert(left.begin(), batch);
    right.insert(right.begin(), batch);
    out.insert(out.begin(), batch);
    batching = "batching_dims = [0] x [0], ";
  }
  const Value x = Factor(b, type, left, kMost),
              y = b.random.Chance(8) && left == right ? x : Factor(b, type, right, kMost);
  const Value r =
      b.EmitHidden(fmt::format("stablehlo.dot_general {}, {}, {}contracting_dims = [{}] x [{}] : ({}, {}) -> {}",
                               x.name, y.name, batching, first + (turned_left ? 0 : 1), first + (turned_right ? 1 : 0),
                               Text(x), Text(y), Text(to, out)),
                   to, out, SumOf(to, bound));
  Follow(b, r);
}

void AddDressedConvolution(Builder& b) {
  if (b.trips() > 4) return;
  const Type type = FactorType(b);
  const auto channels = [&] { return b.random.OneOf<int64_t>({1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 32, 33}); };
  const int64_t spatial = b.random.OneOf<int64_t>({1, 2, 2, 2, 3});
  int64_t batch = b.random.OneOf<int64_t>({1, 1, 2, 3, 4}), in = channels(), out_channels = channels(), groups = 1,
          batch_groups = 1;
  if (b.random.Chance(3)) {
    groups = b.random.OneOf<int64_t>({2, 3, 4, in});
    in = (in + groups - 1) / groups * groups;
    out_channels = (out_channels + groups - 1) / groups * groups;
  } else if (b.random.Chance(4)) {
    batch_groups = b.random.OneOf<int64_t>({2, 3});
    batch = batch * batch_groups;
    out_channels = (out_channels + batch_groups - 1) / batch_groups * batch_groups;
  }
  Dims image = {batch}, window, out = {batch / batch_groups};
  std::string names, strides, pads, in_dilation, window_dilation, reversed;
  int64_t taps = 1, points = 1;
  for (int64_t s = 0; s < spatial; ++s) {
    const int64_t n = b.random.OneOf<int64_t>({1, 2, 4, 5, 7, 8, 9, 14, 15, 16, 17, 28, 32});
    const int64_t k = b.random.OneOf<int64_t>({1, 1, 2, 3, 3, 4, 5, 7});
    const bool odd = b.random.Chance(4);
    const int64_t stride = b.random.OneOf<int64_t>({1, 1, 1, 2, 2, 3}), ld = odd ? b.random.Between(1, 3) : 1,
                  rd = odd ? b.random.Between(1, 3) : 1;
    const auto pad = [&] { return odd ? b.random.Between(-2, 4) : b.random.Chance(2) ? k / 2 : 0; };
    const int64_t low = pad(), high = pad(), places = NumWindows(n, {k, stride, ld, rd, low, high});
    if (places < 0) return;
    image.push_back(n);
    window.push_back(k);
    out.push_back(places);
    const char* comma = s ? ", " : "";
    names += fmt::format(", {}", s);
    strides += fmt::format("{}{}", comma, stride);
    pads += fmt::format("{}[{}, {}]", comma, low, high);
    in_dilation += fmt::format("{}{}", comma, ld);
    window_dilation += fmt::format("{}{}", comma, rd);
    reversed += fmt::format("{}{}", comma, odd && b.random.Chance(2) ? "true" : "false");
    taps *= k;
    points *= out.back();
  }
  image.push_back(in);
  window.insert(window.end(), {in / groups, out_channels});
  out.push_back(out_channels);
  const Type to = SumType(type);
  const int64_t terms = taps * in / groups;
  const int64_t most = b.limits.large_extents ? 2'000'000 : 150'000;
  if (Count(out) * terms > most || Count(image) + Count(window) + Count(out) > 30'000) return;
  const double bound = static_cast<double>(terms) * static_cast<double>(kMost * kMost);
  if (to.is_float() && bound * 4 > to.exact_limit()) return;
  const Value x = Factor(b, type, image, kMost), w = Factor(b, type, window, kMost);
  const std::string inner = names.substr(2);
  Value r = b.EmitHidden(
      fmt::format("stablehlo.convolution({}, {}) dim_numbers = [b, {}, f]x[{}, i, o]->[b, {}, f], window = {{stride = "
                  "[{}], pad = [{}], lhs_dilate = [{}], rhs_dilate = [{}], reverse = [{}]}} {{batch_group_count = {} : "
                  "i64, feature_group_count = {} : i64}} : ({}, {}) -> {}",
                  x.name, w.name, inner, inner, inner, strides, pads, in_dilation, window_dilation, reversed,
                  batch_groups, groups, Text(x), Text(w), Text(to, out)),
      to, out, SumOf(to, bound));
  if (b.random.Chance(3) && points > 0) {
    // Pooled.
    Dims sizes(out.size(), 1), steps(out.size(), 1);
    std::string padding;
    Dims pooled = out;
    for (size_t d = 0; d < out.size(); ++d) {
      const bool moves = d > 0 && d + 1 < out.size();
      if (moves) {
        sizes[d] = std::min<int64_t>(out[d], 2);
        steps[d] = 2;
        pooled[d] = (out[d] - sizes[d]) / 2 + 1;
      }
      padding += fmt::format("{}[0, 0]", d ? ", " : "");
    }
    const Value low = b.Splat(to, {}, to.kind == Kind::kUnsigned ? 0 : -9);
    const std::string s = Text(to, {});
    Numbers is = r.is;
    r = b.EmitHidden(
        fmt::format(
            "\"stablehlo.reduce_window\"({0}, {1}) ({{\n  ^bb0(%p: {2}, %q: {2}):\n    %s = stablehlo.maximum "
            "%p, %q : {2}\n    stablehlo.return %s : {2}\n  }}) {{window_dimensions = {3}, window_strides = {4}, "
            "padding = dense<[{5}]> : tensor<{6}x2xi64>}} : ({7}, {2}) -> {8}",
            r.name, low.name, s, Array(sizes), Array(steps), padding, out.size(), Text(r), Text(to, pooled)),
        to, pooled, is);
  }
  Follow(b, r);
}

}  // namespace tenon::fuzz
