#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

/// A constant of extents or places, as ops with dynamic shapes take them.
Value Places(Builder& b, const Dims& numbers) {
  const Type type = TypeOf(b.random.OneOf({DType::kS32, DType::kS64}));
  const Dims dims{static_cast<int64_t>(numbers.size())};
  std::string text;
  for (const int64_t n : numbers) text += fmt::format("{}{}", text.empty() ? "" : ", ", n);
  return b.EmitHidden(numbers.empty() ? fmt::format("stablehlo.constant dense<> : {}", Text(type, dims))
                                      : fmt::format("stablehlo.constant dense<[{}]> : {}", text, Text(type, dims)),
                      type, dims, {.bound = 1 << 20});
}

}  // namespace

/// Ops of dynamic shapes whose shapes are known after all.
void AddDynamicShape(Builder& b) {
  const Value v = b.Any();
  const auto rank = static_cast<int64_t>(v.rank());
  switch (b.random.Pick(6)) {
    case 0: {  // Dims in front, and those of extent 1 repeated.
      Dims out, map;
      for (int64_t d = 0; d < rank; ++d) {
        if (b.random.Chance(4)) out.push_back(b.Extent());
        map.push_back(static_cast<int64_t>(out.size()));
        out.push_back(v.dims[static_cast<size_t>(d)] == 1 && b.random.Chance(2) ? b.Extent()
                                                                                : v.dims[static_cast<size_t>(d)]);
      }
      if (!b.Fits(out)) return;
      const Value shape = Places(b, out);
      b.Emit(fmt::format("stablehlo.dynamic_broadcast_in_dim {}, {}, dims = {} : ({}, {}) -> {}", v.name, shape.name,
                         List(map), Text(v), Text(shape), Text(v.type, out)),
             v.type, out, v.is);
      return;
    }
    case 1: {
      Dims out{Count(v.dims)};
      if (b.random.Chance(2)) out.insert(out.begin() + b.random.Pick(2), 1);
      const Value shape = Places(b, out);
      b.Emit(fmt::format("stablehlo.dynamic_reshape {}, {} : ({}, {}) -> {}", v.name, shape.name, Text(v), Text(shape),
                         Text(v.type, out)),
             v.type, out, v.is);
      return;
    }
    case 2: {
      const Dims out = b.AnyDims(3);
      const Type type = TypeOf(b.random.OneOf({DType::kS32, DType::kF32, DType::kS64}));
      if (out.empty() || !b.Fits(out)) return;
      const auto along = b.random.Pick(static_cast<int64_t>(out.size()));
      const Value shape = Places(b, out);
      b.Emit(fmt::format("stablehlo.dynamic_iota {}, dim = {} : ({}) -> {}", shape.name, along, Text(shape),
                         Text(type, out)),
             type, out, {.bound = static_cast<double>(out[static_cast<size_t>(along)])});
      return;
    }
    case 3: {
      if (rank == 0) return;
      Dims low, high, interior, out;
      for (const int64_t d : v.dims) {
        low.push_back(b.random.Between(-2, 3));
        high.push_back(b.random.Between(-2, 3));
        interior.push_back(b.random.Chance(3) ? b.random.Pick(3) : 0);
        out.push_back(low.back() + d + std::max<int64_t>(d - 1, 0) * interior.back() + high.back());
        if (out.back() < 0) return;
      }
      if (!b.Fits(out)) return;
      const Value with = b.Match(v.type, {}), l = Places(b, low), h = Places(b, high), i = Places(b, interior);
      b.Emit(fmt::format("stablehlo.dynamic_pad {}, {}, {}, {}, {} : ({}, {}, {}, {}, {}) -> {}", v.name, with.name,
                         l.name, h.name, i.name, Text(v), Text(with), Text(l), Text(h), Text(i), Text(v.type, out)),
             v.type, out, Join(v.is, with.is));
      return;
    }
    case 4: {
      if (rank == 0) return;
      Dims start, limit, stride, out;
      for (const int64_t d : v.dims) {
        start.push_back(b.random.Pick(d + 1));
        limit.push_back(b.random.Between(start.back(), d));
        stride.push_back(1 + b.random.Pick(3));
        out.push_back((limit.back() - start.back() + stride.back() - 1) / stride.back());
      }
      const Value s = Places(b, start), l = Places(b, limit), t = Places(b, stride);
      if (!(s.type == l.type) || !(s.type == t.type)) return;
      b.Emit(fmt::format("stablehlo.real_dynamic_slice {}, {}, {}, {} : ({}, {}, {}, {}) -> {}", v.name, s.name, l.name,
                         t.name, Text(v), Text(s), Text(l), Text(t), Text(v.type, out)),
             v.type, out, v.is);
      return;
    }
    default: {
      if (rank == 0) return;
      const auto along = b.random.Pick(rank);
      const Type type = TypeOf(DType::kS32);
      b.Emit(
          fmt::format("stablehlo.get_dimension_size {}, dim = {} : ({}) -> {}", v.name, along, Text(v), Text(type, {})),
          type, {}, {.bound = static_cast<double>(v.dims[static_cast<size_t>(along)])});
      return;
    }
  }
}

/// Client ops: implicit broadcasting against an operand that lacks the leading dims, and the few functions that are
/// exact.
void AddClientOp(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) {
    return x.is.exact() && Builder::Usable(x) && !x.type.is_bool() && !x.type.is_complex() && x.type.bits >= 8;
  });
  if (v.empty() || !v.is.exact() || !Builder::Usable(v) || v.type.is_bool() || v.type.is_complex() || v.type.bits < 8)
    return;
  if (b.random.Chance(3)) {
    if (v.rank() == 0 || v.dims.back() == 0 || !v.is.zero_sign) return;  // -0 stands before 0.
    const int64_t k = 1 + b.random.Pick(std::min<int64_t>(v.dims.back(), 6));
    Dims out = v.dims;
    out.back() = k;
    const Type place = TypeOf(DType::kS32);
    const std::string name = b.NewName();
    b.Write(fmt::format("  {}:2 = chlo.top_k({}, k = {}) : {} -> ({}, {})\n", name, v.name, k, Text(v),
                        Text(v.type, out), Text(place, out)));
    b.Offer({name + "#0", v.type, out, v.is});
    b.Offer({name + "#1", place, out, {.bound = static_cast<double>(v.dims.back())}});
    return;
  }
  const auto cut = static_cast<int64_t>(b.random.Pick(static_cast<int64_t>(v.rank()) + 1));
  const Value w = b.Match(v.type, Dims(v.dims.begin() + cut, v.dims.end()));
  if (!w.is.exact()) return;
  const bool swapped = b.random.Chance(2);
  const Value &x = swapped ? w : v, &y = swapped ? v : w;
  if (b.random.Chance(4)) {
    const Type truth = TypeOf(DType::kPred);
    b.Emit(
        fmt::format(
            "chlo.broadcast_compare {}, {} {{comparison_direction = #chlo<comparison_direction {}>}} : ({}, {}) -> {}",
            x.name, y.name, b.random.OneOf({"EQ", "NE", "LT", "GE"}), Text(x), Text(y), Text(truth, v.dims)),
        truth, v.dims, {.bound = 1});
    return;
  }
  const std::string op = b.random.OneOf({"add", "subtract", "multiply", "maximum", "minimum"});
  const Numbers is = AfterBinary(b, op, v.type, x.is, y.is);
  b.Emit(fmt::format("chlo.broadcast_{} {}, {} : ({}, {}) -> {}", op, x.name, y.name, Text(x), Text(y),
                     Text(v.type, v.dims)),
         v.type, v.dims, is);
}

}  // namespace tenon::fuzz
