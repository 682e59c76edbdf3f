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

/// Numbers through 8-bit and 16-bit quantized types whose scale is a power of two: what they hold is a multiple of it,
/// so nothing but the stated rounding and clamping happens to an integer.
void AddQuantized(Builder& b) {
  const Type type = TypeOf(DType::kF32);
  const Value v = b.AnyWhere([&](const Value& x) { return x.type == type && x.is.exact() && Builder::Usable(x); });
  if (v.empty() || !(v.type == type) || !v.is.exact() || !Builder::Usable(v)) return;
  const bool is_signed = b.random.Chance(2);
  const int bits = b.random.OneOf({8, 8, 16});
  const int64_t scale = b.random.OneOf<int64_t>({1, 2, 4});
  const int64_t zero = is_signed ? b.random.Between(-9, 9) : b.random.Between(0, 18);
  const std::string element =
      fmt::format("!quant.uniform<{}{}:f32, {}.0:{}>", is_signed ? "i" : "u", bits, scale, zero);
  const auto text = [&](const Dims& dims) {
    std::string s = "tensor<";
    for (const int64_t d : dims) s += fmt::format("{}x", d);
    return s + element + ">";
  };
  const double bound = static_cast<double>(scale) * std::ldexp(1.0, bits);
  const auto quantize = [&](const Value& x) {
    return b.EmitHidden(fmt::format("stablehlo.uniform_quantize {} : ({}) -> {}", x.name, Text(x), text(x.dims)), type,
                        x.dims, {.bound = bound});
  };
  Value q = quantize(v);
  switch (b.random.Pick(4)) {
    case 0: {
      const Value w = b.Match(type, v.dims);
      if (!w.is.exact()) break;
      const Value r = quantize(w);
      q = b.EmitHidden(
          fmt::format("stablehlo.{} {}, {} : {}", b.random.OneOf({"add", "subtract", "maximum", "minimum"}), q.name,
                      r.name, text(v.dims)),
          type, v.dims, {.bound = bound});
      break;
    }
    case 1: {
      Dims order = b.Permutation(v.rank()), out;
      for (const int64_t d : order) out.push_back(v.dims[static_cast<size_t>(d)]);
      q = b.EmitHidden(
          fmt::format("stablehlo.transpose {}, dims = {} : ({}) -> {}", q.name, List(order), text(v.dims), text(out)),
          type, out, {.bound = bound});
      break;
    }
    default:
      break;
  }
  b.Emit(fmt::format("stablehlo.uniform_dequantize {} : ({}) -> {}", q.name, text(q.dims), Text(type, q.dims)), type,
         q.dims, {.bound = bound, .zero_sign = false});
}

namespace {

/// A quantized element type of f32 whose scales are powers of two, one for all or one per place along `axis`.
struct Quantized {
  std::string element;
  double bound;  ///< Of what it stands for.

  std::string Text(const Dims& dims) const {
    std::string s = "tensor<";
    for (const int64_t d : dims) s += fmt::format("{}x", d);
    return s + element + ">";
  }
};

/// How such a type is stored.
struct Storage {
  bool is_signed;
  int bits;
};
Storage AnyStorage(Builder& b) { return {b.random.Chance(2), b.random.OneOf({8, 8, 8, 16, 4, 32})}; }

Quantized AnyQuantized(Builder& b, const Storage& storage, const Dims& dims, int64_t axis, bool centred = false) {
  const auto [is_signed, bits] = storage;
  const auto one = [&] {
    const int64_t zero = centred ? 0 : bits == 4 ? b.random.Pick(4) : b.random.Pick(18);
    return fmt::format("{}.0:{}", b.random.OneOf<int64_t>({1, 2, 4}), zero);
  };
  std::string scales = one();
  if (axis >= 0) {
    for (int64_t i = 1; i < dims[static_cast<size_t>(axis)]; ++i) scales += ", " + one();
    scales = "{" + scales + "}";
  }
  const std::string along = axis >= 0 ? fmt::format(":{}", axis) : "";
  return {fmt::format("!quant.uniform<{}{}:f32{}, {}>", is_signed ? "i" : "u", bits, along, scales),
          4 * std::ldexp(1.0, bits)};
}

/// The value, whose type then says what it is of: no other op takes it.
std::string Quantize(Builder& b, const Value& v, const Quantized& q) {
  return b
      .EmitHidden(fmt::format("stablehlo.uniform_quantize {} : ({}) -> {}", v.name, Text(v), q.Text(v.dims)), v.type,
                  v.dims)
      .name;
}

void Dequantize(Builder& b, const std::string& name, const Quantized& q, const Dims& dims) {
  const Type type = TypeOf(DType::kF32);
  b.Emit(fmt::format("stablehlo.uniform_dequantize {} : ({}) -> {}", name, q.Text(dims), Text(type, dims)), type, dims,
         {.bound = q.bound, .zero_sign = false});
}

}  // namespace

/// Scales of their own for places along a dim, and one quantized type as another one.
void AddRequantized(Builder& b) {
  const auto suits = [](const Value& x) {
    return x.type.dtype == DType::kF32 && x.is.exact() && Builder::Usable(x) && Count(x.dims) > 0;
  };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v)) return;
  const auto axis = [&]() -> int64_t {
    if (v.dims.empty() || b.random.Chance(3)) return -1;
    const int64_t d = b.random.Pick(static_cast<int64_t>(v.rank()));
    return v.dims[static_cast<size_t>(d)] <= 20 ? d : -1;
  };
  const Quantized from = AnyQuantized(b, AnyStorage(b), v.dims, axis());
  const std::string q = Quantize(b, v, from);
  if (b.random.Chance(2)) return Dequantize(b, q, from, v.dims);
  const Quantized to = AnyQuantized(b, AnyStorage(b), v.dims, axis());
  const std::string again = b.NewName();
  b.Write(
      fmt::format("  {} = stablehlo.uniform_quantize {} : ({}) -> {}\n", again, q, from.Text(v.dims), to.Text(v.dims)));
  Dequantize(b, again, to, v.dims);
}

/// Products with quantized factors, of which the right one may have a scale per column; or floats with such a factor.
void AddQuantizedProduct(Builder& b) {
  const Type type = TypeOf(DType::kF32);
  const int64_t m = 1 + b.random.Pick(9), k = 1 + b.random.Pick(9), n = 1 + b.random.Pick(9);
  if (!b.Affordable(m * k * n)) return;
  const Value x = b.Match(type, {m, k}), y = b.Match(type, {k, n});
  if (!x.is.exact() || !y.is.exact()) return;
  const Storage storage = AnyStorage(b);
  const int64_t axis = b.random.Chance(2) ? 1 : -1;
  const Quantized left = AnyQuantized(b, storage, x.dims, -1), right = AnyQuantized(b, storage, y.dims, axis, true),
                  out = AnyQuantized(b, AnyStorage(b), {m, n}, axis);
  const auto bounded = [](const Value& v, const Quantized& q) { return std::min(q.bound, v.is.bound + 64); };
  const bool floats = b.random.Chance(3);
  const double bound = static_cast<double>(k) * (floats ? x.is.bound : bounded(x, left)) * bounded(y, right);
  // Sums are exact in f32, also with the zero point and in steps of half of the result's scale.
  if (bound * 16 > type.exact_limit()) return;
  const std::string w = Quantize(b, y, right);
  const auto product = [&](const std::string& first, const std::string& of, const std::string& to) {
    return fmt::format("stablehlo.dot_general {}, {}, contracting_dims = [1] x [0] : ({}, {}) -> {}", first, w, of,
                       right.Text(y.dims), to);
  };
  if (floats) {
    b.Emit(product(x.name, Text(x), Text(type, {m, n})), type, {m, n}, {.bound = bound, .zero_sign = false});
    return;
  }
  const std::string q = Quantize(b, x, left), r = b.NewName();
  b.Write(fmt::format("  {} = {}\n", r, product(q, left.Text(x.dims), out.Text({m, n}))));
  Dequantize(b, r, out, {m, n});
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
