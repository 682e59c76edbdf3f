#include "test/fuzz_programs/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenon/kir/builder.h"

namespace tenon::fuzz {

Builder::Builder(uint64_t seed, const Limits& program_limits) : random(seed), limits(program_limits) {
  for (int64_t n = 2 + random.Pick(3); n > 0; --n) extents_.push_back(FreshExtent());
  if (!limits.large_extents) return;
  // Around what sums, scans, pieces and tiles are cut by.
  extents_.push_back(random.OneOf<int64_t>({64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1001, 1024, 1025}));
  if (random.Chance(2))
    extents_.push_back(random.OneOf<int64_t>({2049, 4095, 4096, 4097, 8191, 8193, 65535, 65536, 65537}));
}

int64_t Builder::Extent() { return random.Chance(5) ? FreshExtent() : random.OneOf(extents_); }

int64_t Builder::FreshExtent() {
  const int64_t p = random.Pick(100);
  if (p < 2) return 0;
  if (p < 14) return 1;
  if (p < 70) return random.OneOf<int64_t>({2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 11, 13});
  if (p < 96 || !limits.large_extents)
    return random.OneOf<int64_t>({7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 19, 40});
  return random.OneOf<int64_t>(
      {127, 128, 129, 255, 256, 257, 511, 512, 513, 1001, 4095, 4096, 4097, 65535, 65536, 65537});
}

Dims Builder::FillingDims(int64_t max_rank) {
  Dims dims;
  const int64_t rank = 1 + random.Pick(max_rank);
  for (int64_t room = limits.elements >> random.Pick(4), left = rank; left > 0; --left) {
    // What remains is shared out by chance, so that long and short dims stand in any order.
    const double share = left == 1 ? 1 : static_cast<double>(1 + random.Pick(19)) / 10 / static_cast<double>(left);
    const auto extent = static_cast<int64_t>(std::pow(static_cast<double>(room), share));
    dims.push_back(std::clamp<int64_t>(extent, 1, room));
    room /= dims.back();
  }
  random.Shuffle(dims);
  return dims;
}

Dims Builder::AnyDims(int64_t max_rank) {
  if (limits.filling && !random.Chance(4)) return FillingDims(max_rank);
  Dims dims;
  // An extent of nothing leaves the others as small: strides are made of them.
  int64_t total = 1;
  const auto fits = [&](int64_t extent) {
    if (total * std::max<int64_t>(extent, 1) > limits.elements) return false;
    total *= std::max<int64_t>(extent, 1);
    dims.push_back(extent);
    return true;
  };
  for (int64_t r = random.Pick(max_rank + 1); r > 0; --r) {
    bool found = fits(Extent());
    for (int tries = 0; tries < 4 && !found; ++tries) found = fits(Extent());
    if (!found) fits(1);
  }
  return dims;
}

Type Builder::AnyType() {
  const auto& types = AllTypes();
  const int64_t p = random.Pick(100);
  if (p < 30) return types[0];
  if (p < 45) return types[1];
  if (p < 53) return types[2];
  return types[static_cast<size_t>(random.Pick(static_cast<int64_t>(limits.rare_types && p > 75 ? types.size() : 15)))];
}
Type Builder::AnyArithmeticType() {
  Type type = AnyType();
  while (type.is_bool() || type.is_complex()) type = AnyType();
  return type;
}
Type Builder::AnyIndexType() {
  if (limits.rare_types && random.Chance(12)) return TypeOf(random.OneOf({DType::kS4, DType::kU4}));
  return TypeOf(random.OneOf({DType::kS32, DType::kS32, DType::kS64, DType::kU32, DType::kU64, DType::kS8, DType::kU8,
                              DType::kS16, DType::kU16}));
}

Dims Builder::Permutation(size_t n) {
  Dims p;
  for (size_t i = 0; i < n; ++i) p.push_back(static_cast<int64_t>(i));
  random.Shuffle(p);
  return p;
}

Dims Builder::Subset(size_t n, int one_in) {
  Dims s;
  for (size_t i = 0; i < n; ++i) {
    if (random.Chance(one_in)) s.push_back(static_cast<int64_t>(i));
  }
  return s;
}

int64_t Builder::Small(const Type& type) {
  if (type.is_bool()) return random.Pick(2);
  const int64_t most = type.bits == 2 ? 1 : type.bits <= 8 ? 3 : 6;
  return type.kind == Kind::kUnsigned ? random.Pick(most + 1) : random.Between(-most, most);
}

Value Builder::Any() {
  Value v;
  if (values_.empty()) return Constant(TypeOf(DType::kF32), {});
  for (int tries = 0; tries < 3; ++tries) {
    const auto size = static_cast<int64_t>(values_.size());
    // Mostly one of the latest, sometimes one from long ago.
    const int64_t back = random.Chance(4) ? random.Pick(size) : random.Pick(std::min<int64_t>(size, 7));
    v = values_[static_cast<size_t>(size - 1 - back)];
    if (Count(v.dims) > 1 && Affordable(Count(v.dims))) return v;
  }
  return Affordable(Count(v.dims)) ? v : Constant(v.type, {});
}

Value Builder::AnyWhere(const std::function<bool(const Value&)>& want) {
  for (int tries = 0; tries < 12; ++tries) {
    Value v = Any();
    if (want(v)) return v;
  }
  return {};
}

Value Builder::Broadcast(const Value& v, const Dims& dims, const Dims& map) {
  return EmitHidden(fmt::format("stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> {}", v.name, List(map), Text(v),
                                Text(v.type, dims)),
                    v.type, dims, v.is);
}

Value Builder::MatchAny(const Type& type, const Dims& dims) {
  for (int tries = 0; tries < 8; ++tries) {
    const Value v = Any();
    if (v.type == type && v.dims == dims) return v;
  }
  return Match(type, dims);
}

Value Builder::Match(const Type& type, const Dims& dims) {
  for (int tries = 0; tries < 10; ++tries) {
    const Value v = Any();
    if (!(v.type == type) || !Usable(v) || v.rank() > dims.size()) continue;
    if (v.dims == dims) return v;
    // Dims of v go to increasing dims of the result where extents agree or are one; from a random place on.
    Dims map;
    size_t d = static_cast<size_t>(random.Pick(static_cast<int64_t>(dims.size() - v.rank()) + 1));
    for (const int64_t extent : v.dims) {
      while (d < dims.size() && extent != dims[d] && extent != 1) ++d;
      if (d == dims.size()) break;
      map.push_back(static_cast<int64_t>(d++));
    }
    if (map.size() != v.rank()) continue;
    const Value b = Broadcast(v, dims, map);
    if (random.Chance(2)) Offer(b);
    return b;
  }
  // Something of other type with these dims, where the conversion is exact.
  for (int tries = 0; tries < 4 && !type.is_complex(); ++tries) {
    const Value v = Any();
    if (v.dims != dims || v.type.is_complex() || !Usable(v) || !v.is.exact()) continue;
    if (type.is_float() && v.is.bound > type.exact_limit()) continue;
    if (type.is_int() && !v.type.is_int() && (v.is.bound > 7 || (!type.is_signed() && v.type.is_float()))) continue;
    Numbers is = v.is;
    if (type.is_int()) is.bound = std::ldexp(1.0, type.bits);
    if (type.is_bool()) is.bound = 1;
    const Value c =
        EmitHidden(fmt::format("stablehlo.convert {} : ({}) -> {}", v.name, Text(v), Text(type, dims)), type, dims, is);
    if (random.Chance(2)) Offer(c);
    return c;
  }
  for (int tries = 0; tries < 6 && Count(dims) > 0 && Affordable(Count(dims)) && !random.Chance(3); ++tries) {
    const Value v = Any();
    if (v.type == type && Usable(v) && Count(v.dims) > 0) return Remoulded(v, dims);
  }
  return Constant(type, dims);
}

Value Builder::Remoulded(const Value& v, const Dims& dims) {
  const int64_t n = Count(v.dims), wanted = Count(dims);
  Value flat = EmitHidden(fmt::format("stablehlo.reshape {} : ({}) -> {}", v.name, Text(v), Text(v.type, {n})), v.type,
                          {n}, v.is);
  if (wanted < n) {
    const int64_t start = random.Pick(n - wanted + 1);
    flat = EmitHidden(fmt::format("stablehlo.slice {} [{}:{}] : ({}) -> {}", flat.name, start, start + wanted,
                                  Text(flat), Text(v.type, {wanted})),
                      v.type, {wanted}, v.is);
  } else if (wanted > n && (n == 1 || random.Chance(2))) {
    const Value with = Splat(v.type, {}, Small(v.type));
    Numbers is = Join(v.is, with.is);
    flat = EmitHidden(fmt::format("stablehlo.pad {}, {}, low = [0], high = [{}], interior = [0] : ({}, {}) -> {}",
                                  flat.name, with.name, wanted - n, Text(flat), Text(with), Text(v.type, {wanted})),
                      v.type, {wanted}, is);
  } else if (wanted > n) {
    // As often as needed, side by side.
    const int64_t times = (wanted + n - 1) / n;
    const Value rows = Broadcast(flat, {times, n}, {1});
    const Value all =
        EmitHidden(fmt::format("stablehlo.reshape {} : ({}) -> {}", rows.name, Text(rows), Text(v.type, {times * n})),
                   v.type, {times * n}, v.is);
    flat = EmitHidden(
        fmt::format("stablehlo.slice {} [0:{}] : ({}) -> {}", all.name, wanted, Text(all), Text(v.type, {wanted})),
        v.type, {wanted}, v.is);
  }
  const Value shaped =
      EmitHidden(fmt::format("stablehlo.reshape {} : ({}) -> {}", flat.name, Text(flat), Text(v.type, dims)), v.type,
                 dims, flat.is);
  if (random.Chance(2)) Offer(shaped);
  return shaped;
}

Value Builder::Literal(const Type& type, const Dims& dims, const std::string& literal, double bound) {
  return EmitHidden(fmt::format("stablehlo.constant dense<{}> : {}", literal, Text(type, dims)), type, dims,
                    {.bound = bound});
}

Value Builder::Splat(const Type& type, const Dims& dims, int64_t v) {
  // What the type does not hold wraps around.
  if (type.is_int() && type.bits < 8) {
    v &= (int64_t{1} << type.bits) - 1;
    if (type.is_signed() && (v >> (type.bits - 1)) != 0) v -= int64_t{1} << type.bits;
  }
  std::string literal = fmt::format("{}", v);
  if (type.is_bool()) literal = v & 1 ? "true" : "false";
  if (type.is_float()) literal = fmt::format("{}.0", v);
  if (type.is_complex()) literal = fmt::format("({}.0, {}.0)", v, v % 3);
  return Literal(type, dims, literal, std::abs(static_cast<double>(v)));
}

Value Builder::Constant(const Type& type, const Dims& dims) {
  const int64_t n = Count(dims);
  if (!dims.empty() && n > 0 && n <= 24 && random.Chance(3)) {
    // Nested brackets of numbers.
    const std::function<std::string(size_t)> nest = [&](size_t d) -> std::string {
      if (d == dims.size()) {
        const int64_t v = Small(type);
        if (type.is_bool()) return v & 1 ? "true" : "false";
        if (type.is_float()) return fmt::format("{}.0", v);
        if (type.is_complex()) return fmt::format("({}.0, {}.0)", v, Small(type));
        return fmt::format("{}", v);
      }
      std::string text = "[";
      for (int64_t i = 0; i < dims[d]; ++i) text += (i ? ", " : "") + nest(d + 1);
      return text + "]";
    };
    return Literal(type, dims, nest(0), 6);
  }
  if (n > 24 && n <= 3000 && type.bits >= 8 && !type.is_complex() && random.Chance(8)) {
    // Bits as they lie in memory.
    std::string bytes;
    for (int64_t i = 0; i < n; ++i) {
      uint64_t bits = type.is_float() ? kir::LiteralBits(type.dtype, static_cast<double>(random.Between(-3, 3)))
                                      : static_cast<uint64_t>(Small(type));
      for (int at = 0; at < type.bits; at += 8, bits >>= 8) bytes += fmt::format("{:02X}", bits & 0xff);
    }
    return Literal(type, dims, fmt::format("\"0x{}\"", bytes), 6);
  }
  if (!dims.empty() && n > 0 && !type.is_bool() && random.Chance(4)) {
    const int64_t along = random.Pick(static_cast<int64_t>(dims.size()));
    if (static_cast<double>(dims[static_cast<size_t>(along)]) <= std::min(type.counts_to() + 1, 7.0)) {
      return EmitHidden(fmt::format("stablehlo.iota dim = {} : {}", along, Text(type, dims)), type, dims, {.bound = 6});
    }
  }
  return Splat(type, dims, Small(type));
}

std::string Builder::NewName() { return fmt::format("%v{}", next_++); }

Value Builder::EmitHidden(const std::string& text, const Type& type, const Dims& dims, const Numbers& is) {
  Value v{NewName(), type, dims, is};
  body_ += fmt::format("  {} = {}\n", v.name, text);
  return v;
}

Value Builder::Emit(const std::string& text, const Type& type, const Dims& dims, const Numbers& is) {
  Value v = EmitHidden(text, type, dims, is);
  Offer(v);
  return v;
}

void Builder::Offer(const Value& v) {
  if (Count(v.dims) > limits.elements) return;
  if (v.type.is_float() || v.type.is_complex()) {
    if (!v.is.special && !(v.is.bound < 1e30)) return;
    if (!v.is.exact() && !(limits.approximate && v.is.error < 0.05)) return;
  }
  values_.push_back(v);
}

void Builder::OfferResults(const std::string& name, std::vector<Value> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    values[i].name = ResultOf(name, values.size(), i);
    Offer(values[i]);
  }
}

Numbers Builder::Rounded(const Type& type, double bound, double error, const Numbers& operands) const {
  Numbers is = operands;
  is.bound = bound;
  is.error = error;
  if (operands.special) {
    is.frozen = true;
    if (error > 0) is.error = 1e9;  // What is off by little may be multiplied by much.
    return is;
  }
  if (type.is_float() || type.is_complex()) {
    const bool inexact = error > 0 || bound > type.exact_limit();
    // One rounding of the op itself, of either side.
    if (inexact) is.error += 2 * std::ldexp(bound, 1 - type.significant);
    if (inexact && type.significant < 20) is.error = 1e9;
  }
  return is;
}

void Builder::Inside(int64_t trips, const std::function<void()>& write) {
  const std::vector<Value> outer = values_;
  const int64_t outer_trips = trips_;
  trips_ *= std::max<int64_t>(trips, 1);
  ++depth_;
  write();
  --depth_;
  trips_ = outer_trips;
  values_ = outer;
}

std::string Builder::Apart(const std::vector<Value>& arguments, const std::function<void()>& write) {
  std::vector<Value> outer = std::exchange(values_, arguments);
  std::string outer_body = std::exchange(body_, {});
  ++depth_;
  write();
  --depth_;
  values_ = std::move(outer);
  return std::exchange(body_, std::move(outer_body));
}

}  // namespace tenon::fuzz
