// Quantized types whose scales are powers of two: what they hold is a multiple of one, so nothing but the stated
// rounding and clamping happens to an integer.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {

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

/// A convolution along one dim, whose kernel may have a scale per feature: what is padded stands for zero.
void AddQuantizedConvolution(Builder& b) {
  const Type type = TypeOf(DType::kF32);
  const int64_t n = 1 + b.random.Pick(3), width = 1 + b.random.Pick(9), channels = 1 + b.random.Pick(4),
                taps = 1 + b.random.Pick(3), features = 1 + b.random.Pick(5), low = b.random.Pick(3),
                high = b.random.Pick(3), stride = 1 + b.random.Pick(2);
  const int64_t reach = width + low + high - taps;
  if (reach < 0 || !b.Affordable(n * width * channels * taps * features)) return;
  const Dims dims = {n, reach / stride + 1, features};
  const Value x = b.Match(type, {n, width, channels}), y = b.Match(type, {taps, channels, features});
  if (!x.is.exact() || !y.is.exact()) return;
  const Storage storage = AnyStorage(b);
  const int64_t axis = b.random.Chance(2) ? 2 : -1;
  const Quantized left = AnyQuantized(b, storage, x.dims, -1), right = AnyQuantized(b, storage, y.dims, axis, true),
                  out = AnyQuantized(b, AnyStorage(b), dims, axis > 0 && b.random.Chance(2) ? axis : -1);
  const double bound = static_cast<double>(taps * channels) * std::min(left.bound, x.is.bound + 64) *
                       std::min(right.bound, y.is.bound + 64);
  if (bound * 16 > type.exact_limit()) return;
  const std::string q = Quantize(b, x, left), w = Quantize(b, y, right), r = b.NewName();
  b.Write(fmt::format(
      "  {} = stablehlo.convolution({}, {}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{stride "
      "= [{}], pad = [[{}, {}]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({}, {}) "
      "-> {}\n",
      r, q, w, stride, low, high, left.Text(x.dims), right.Text(y.dims), out.Text(dims)));
  Dequantize(b, r, out, dims);
}

/// Ops on quantized numbers: what moves their storage, and what is reckoned on what they stand for and stored again, by
/// this scale and zero point or others.
void AddQuantizedChain(Builder& b) {
  const auto suits = [&](const Value& x) {
    return x.type.dtype == DType::kF32 && x.is.exact() && Builder::Usable(x) && Count(x.dims) > 0 &&
           b.Affordable(8 * Count(x.dims));
  };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v)) return;
  const Storage storage{b.random.Chance(2), b.random.OneOf({8, 8, 4, 16})};
  Quantized q = AnyQuantized(b, storage, v.dims, -1);
  Dims dims = v.dims;
  std::string name = Quantize(b, v, q);
  const auto op = [&](const std::string& text) {
    name = b.NewName();
    b.Write(fmt::format("  {} = stablehlo.{}\n", name, text));
  };
  for (int64_t n = b.random.Between(1, 4); n > 0; --n) {
    const std::string from = q.Text(dims);
    const auto rank = static_cast<int64_t>(dims.size());
    switch (b.random.Pick(8)) {
      case 0: {
        const Dims order = b.Permutation(dims.size());
        Dims out;
        for (const int64_t d : order) out.push_back(dims[static_cast<size_t>(d)]);
        op(fmt::format("transpose {}, dims = {} : ({}) -> {}", name, List(order), from, q.Text(out)));
        dims = out;
        break;
      }
      case 1: {
        const Dims out = {Count(dims)};
        op(fmt::format("reshape {} : ({}) -> {}", name, from, q.Text(out)));
        dims = out;
        break;
      }
      case 2: {
        Dims out = dims, map;
        for (int64_t d = 0; d < rank; ++d) map.push_back(d);
        out.push_back(1 + b.random.Pick(3));
        if (!b.Fits(out)) break;
        op(fmt::format("broadcast_in_dim {}, dims = {} : ({}) -> {}", name, List(map), from, q.Text(out)));
        dims = out;
        break;
      }
      case 3: {
        if (rank == 0) break;
        Dims out = dims;
        out[0] *= 2;
        if (!b.Fits(out)) break;
        op(fmt::format("concatenate {0}, {0}, dim = 0 : ({1}, {1}) -> {2}", name, from, q.Text(out)));
        dims = out;
        break;
      }
      case 4: {  // Of one operand: storage that has no number for it is clamped.
        const Quantized to = b.random.Chance(2) ? q : AnyQuantized(b, storage, dims, -1);
        op(fmt::format("{} {} : ({}) -> {}", b.random.OneOf({"negate", "abs", "floor", "sign"}), name, from,
                       to.Text(dims)));
        q = to;
        break;
      }
      case 5: {
        const Value p = b.Match(TypeOf(DType::kPred), dims), with = b.Match(v.type, dims);
        if (!with.is.exact()) break;
        const std::string w = Quantize(b, with, q);
        op(fmt::format("select {}, {}, {} : ({}, {}, {}) -> {}", p.name, name, w, Text(p), from, from, from));
        break;
      }
      default: {  // Of two operands, each of its own scale.
        const bool alike = b.random.Chance(2);
        const Quantized other = alike ? q : AnyQuantized(b, storage, dims, -1),
                        to = alike ? q : AnyQuantized(b, storage, dims, -1);
        const Value with = b.Match(v.type, dims);
        if (!with.is.exact()) break;
        const std::string w = Quantize(b, with, other);
        op(fmt::format("{} {}, {} : ({}, {}) -> {}",
                       b.random.OneOf({"add", "subtract", "multiply", "maximum", "minimum"}), name, w, from,
                       other.Text(dims), to.Text(dims)));
        q = to;
        break;
      }
    }
  }
  Dequantize(b, name, q, dims);
}

}  // namespace tenon::fuzz
