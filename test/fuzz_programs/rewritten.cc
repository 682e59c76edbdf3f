// What the compiler's rules look for: forms that libraries write, and that random ops hardly ever make by themselves.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"
#include "test/fuzz_programs/window.h"

namespace tenon::fuzz {
namespace {

bool IsNumber(const Value& x) { return x.type.is_int() || x.type.is_float(); }
bool IsExact(const Value& x) { return Builder::Usable(x) && x.is.exact(); }

Value Op(Builder& b, std::string_view op, const Value& x, const Value& y) {
  return b.EmitHidden(fmt::format("stablehlo.{} {}, {} : {}", op, x.name, y.name, Text(x)), x.type, x.dims,
                      AfterBinary(b, op, x.type, x.is, y.is));
}
Value Reshaped(Builder& b, const Value& v, const Dims& dims) {
  return b.EmitHidden(fmt::format("stablehlo.reshape {} : ({}) -> {}", v.name, Text(v), Text(v.type, dims)), v.type,
                      dims, v.is);
}
Value Transposed(Builder& b, const Value& v, const Dims& permutation) {
  Dims dims;
  for (const int64_t d : permutation) dims.push_back(v.dims[static_cast<size_t>(d)]);
  return b.EmitHidden(fmt::format("stablehlo.transpose {}, dims = {} : ({}) -> {}", v.name, List(permutation), Text(v),
                                  Text(v.type, dims)),
                      v.type, dims, v.is);
}
/// Elements [first, limit) along a dim.
Value Part(Builder& b, const Value& v, size_t along, int64_t first, int64_t limit) {
  std::string ranges;
  for (size_t d = 0; d < v.rank(); ++d)
    ranges += fmt::format("{}{}:{}", d ? ", " : "", d == along ? first : 0, d == along ? limit : v.dims[d]);
  Dims dims = v.dims;
  dims[along] = limit - first;
  return b.EmitHidden(fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", v.name, ranges, Text(v), Text(v.type, dims)),
                      v.type, dims, v.is);
}

/// What `op` makes of `n` values no larger than the bound.
Numbers Met(const Builder& b, std::string_view op, const Type& type, const Numbers& each, double n) {
  Numbers is = each;
  if (type.is_int()) is.bound = std::ldexp(1.0, type.bits);
  if (type.is_bool()) is.bound = 1;
  if (op != "add" || type.is_int() || type.is_bool()) return is;
  is = b.Rounded(type, each.bound * n, each.error * n, is);
  is.zero_sign = false;
  return is;
}
std::string_view AnyMeeting(Builder& b, const Type& type) {
  if (type.is_bool()) return b.random.OneOf<std::string_view>({"and", "or", "xor"});
  if (type.is_int())
    return b.random.OneOf<std::string_view>({"add", "add", "multiply", "maximum", "minimum", "and", "or", "xor"});
  return type.is_complex() ? "add" : b.random.OneOf<std::string_view>({"add", "add", "maximum", "minimum"});
}
/// Over these dims, from a number on that may be the op's own.
Value Reduced(Builder& b, std::string_view op, const Value& v, const Dims& dims) {
  Dims out;
  int64_t n = 1;
  for (size_t d = 0; d < v.rank(); ++d) {
    if (std::ranges::find(dims, static_cast<int64_t>(d)) == dims.end())
      out.push_back(v.dims[d]);
    else
      n *= v.dims[d];
  }
  const Value init = b.Splat(v.type, {}, b.random.Chance(2) ? 0 : b.Small(v.type));
  Value both = v;
  both.is = Join(v.is, init.is);
  return b.EmitHidden(
      fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = {} : ({}, {}) -> {}", v.name,
                  init.name, op, List(dims), Text(v), Text(init), Text(v.type, out)),
      v.type, out, Met(b, op, v.type, both.is, static_cast<double>(n + 1)));
}

/// A few operations point by point, some with what is the same along dims (all but those of `along` at random).
Value Dressed(Builder& b, Value v, const Dims& along = {}) {
  for (int64_t n = b.random.Pick(3) + 1; n > 0; --n) {
    if (b.random.Chance(4)) {
      v = b.EmitHidden(fmt::format("stablehlo.{} {} : {}", v.type.is_bool() ? "not" : "negate", v.name, Text(v)),
                       v.type, v.dims, v.type.is_int() ? Numbers{.bound = std::ldexp(1.0, v.type.bits)} : v.is);
      continue;
    }
    Dims map, dims;
    for (size_t d = 0; d < v.rank(); ++d) {
      const auto dim = static_cast<int64_t>(d);
      if (std::ranges::find(along, dim) != along.end() || b.random.Chance(2)) continue;
      map.push_back(dim);
      dims.push_back(v.dims[d]);
    }
    Value w = b.Match(v.type, dims);
    if (!IsExact(w)) return v;
    if (dims != v.dims || b.random.Chance(2)) w = b.Broadcast(w, v.dims, map);
    const std::string_view op =
        v.type.is_bool()
            ? b.random.OneOf<std::string_view>({"and", "or", "xor"})
            : b.random.OneOf<std::string_view>({"add", "add", "subtract", "multiply", "maximum", "minimum"});
    const Numbers is = AfterBinary(b, op, v.type, v.is, w.is);
    if (!is.exact() || is.special) return v;
    v = b.random.Chance(2) ? Op(b, op, v, w) : Op(b, op, w, v);
  }
  return v;
}

/// Values put one behind the other along a dim of their own, then turned, reduced, looked up or taken apart.
void Stacked(Builder& b) {
  const Value like = b.AnyWhere([](const Value& x) { return x.rank() < 4 && IsExact(x); });
  if (like.empty() || like.rank() >= 4 || !IsExact(like)) return;
  const int64_t n = b.random.Between(2, b.random.Chance(4) ? 18 : 8);
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(like.rank()) + 1));
  Dims one = like.dims, dims = like.dims;
  one.insert(one.begin() + static_cast<int64_t>(along), 1);
  dims.insert(dims.begin() + static_cast<int64_t>(along), n);
  if (!b.Fits(dims)) return;
  std::vector<Value> parts;
  Numbers is = like.is;
  for (int64_t i = 0; i < n; ++i) {
    Value part = i == 0 ? like : b.Match(like.type, like.dims);
    if (b.random.Chance(2)) part = Dressed(b, part);
    if (!IsExact(part)) return;
    is = Join(is, part.is);
    parts.push_back(Reshaped(b, part, one));
  }
  Value v = b.EmitHidden(fmt::format("stablehlo.concatenate {}, dim = {} : ({}) -> {}", Names(parts), along,
                                     Types(parts), Text(like.type, dims)),
                         like.type, dims, is);
  auto place = static_cast<int64_t>(along);
  if (b.random.Chance(2)) {
    // The stack's own dim somewhere else, or all of them.
    Dims permutation = b.Permutation(dims.size());
    if (b.random.Chance(2)) {
      std::ranges::sort(permutation);
      permutation.erase(permutation.begin() + place);
      permutation.insert(permutation.begin() + b.random.Pick(static_cast<int64_t>(dims.size())), place);
    }
    v = Transposed(b, v, permutation);
    place = std::ranges::find(permutation, place) - permutation.begin();
  }
  if (b.random.Chance(3)) b.Offer(v);
  switch (b.random.Pick(4)) {
    case 0:
      b.Offer(Reduced(b, AnyMeeting(b, v.type), v, {place}));
      return;
    case 1: {
      Dims sizes = v.dims;
      sizes[static_cast<size_t>(place)] = 1;
      const Type type = b.AnyIndexType();
      std::vector<Value> starts;
      for (size_t d = 0; d < v.rank(); ++d)
        starts.push_back(static_cast<int64_t>(d) == place ? b.Match(type, {}) : b.Splat(type, {}, b.random.Pick(3)));
      b.Emit(fmt::format("stablehlo.dynamic_slice {}, {}, sizes = {} : ({}, {}) -> {}", v.name, Names(starts),
                         List(sizes), Text(v), Types(starts), Text(v.type, sizes)),
             v.type, sizes, v.is);
      return;
    }
    case 2: {
      if (Count(dims) == 0) return;
      // Of each place of the other dims, the element that a number of that place says: their places are counted.
      const Type type = TypeOf(b.random.OneOf({DType::kS32, DType::kS32, DType::kS64, DType::kU32, DType::kU8}));
      Dims out = v.dims, vectors, collapsed, map;
      out.erase(out.begin() + place);
      vectors = out;
      vectors.push_back(1);
      Dims order;
      for (size_t d = 0; d < v.rank(); ++d) collapsed.push_back(static_cast<int64_t>(d));
      std::vector<Value> components;
      for (size_t d = 0, next = 0; d < v.rank(); ++d) {
        Value part;
        if (static_cast<int64_t>(d) == place) {
          part = b.Match(type, out);
        } else {
          part = b.EmitHidden(fmt::format("stablehlo.iota dim = {} : {}", next++, Text(type, out)), type, out, {});
        }
        components.push_back(Reshaped(b, part, vectors));
      }
      Dims indices = out;
      indices.push_back(static_cast<int64_t>(v.rank()));
      const Value index = b.EmitHidden(fmt::format("stablehlo.concatenate {}, dim = {} : ({}) -> {}", Names(components),
                                                   out.size(), Types(components), Text(type, indices)),
                                       type, indices, {});
      b.Emit(fmt::format("\"stablehlo.gather\"({}, {}) {{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = "
                         "{}, start_index_map = {}, index_vector_dim = {}>, slice_sizes = {}}} : ({}, {}) -> {}",
                         v.name, index.name, List(collapsed), List(collapsed), out.size(), Array(Dims(v.rank(), 1)),
                         Text(v), Text(index), Text(v.type, out)),
             v.type, out, v.is);
      return;
    }
    default:
      b.Offer(Dressed(b, v));
      return;
  }
}

/// Zeros but for what an update puts there.
Value UpdateOfZeros(Builder& b, const Value& array, const Value& at, size_t along) {
  const Value zeros = b.Splat(array.type, array.dims, 0);
  Dims sizes = array.dims;
  sizes[along] = std::min<int64_t>(array.dims[along], b.random.Between(1, 2));
  const Value update = b.Match(array.type, sizes);
  if (!IsExact(update)) return {};
  const Value zero = b.Splat(at.type, {}, 0);
  std::vector<Value> starts(array.rank(), zero);
  starts[along] = at;
  if (b.random.Chance(3) && array.rank() > 0 && !array.type.is_complex()) {
    // By a sum at places, which may be the same ones.
    const Value index = b.Match(TypeOf(DType::kS32), {b.random.Between(1, 4), 1});
    Dims window, parts = array.dims;
    parts.erase(parts.begin() + static_cast<int64_t>(along));
    parts.insert(parts.begin(), index.dims[0]);
    for (size_t d = 1; d < array.rank(); ++d) window.push_back(static_cast<int64_t>(d));
    const Value rows = b.Match(array.type, parts);
    if (!IsExact(rows)) return {};
    const std::string s = Text(array.type, {});
    return b.EmitHidden(
        fmt::format("\"stablehlo.scatter\"({}, {}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n    %s = stablehlo.add %p, %q : "
                    "{}\n    stablehlo.return %s : {}\n  }}) {{scatter_dimension_numbers = #stablehlo.scatter<"
                    "update_window_dims = {}, inserted_window_dims = [{}], scatter_dims_to_operand_dims = [{}], "
                    "index_vector_dim = 1>}} : ({}, {}, {}) -> {}",
                    zeros.name, index.name, rows.name, s, s, s, s, List(window), along, along, Text(zeros), Text(index),
                    Text(rows), Text(zeros)),
        array.type, array.dims, Met(b, "add", array.type, rows.is, static_cast<double>(index.dims[0])));
  }
  return b.EmitHidden(fmt::format("stablehlo.dynamic_update_slice {}, {}, {} : ({}, {}, {}) -> {}", zeros.name,
                                  update.name, Names(starts), Text(zeros), Text(update), Types(starts), Text(zeros)),
                      array.type, array.dims, update.is);
}

/// Derivatives of slices, added up in a loop or one after the other.
void UpdatedSum(Builder& b) {
  const auto suits = [&](const Value& x) {
    return x.type.is_int() && !x.dims.empty() && b.Affordable(16 * Count(x.dims));
  };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v) || Count(v.dims) == 0 || b.depth() > b.limits.depth) return;
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const auto added = [&](const Value& sum, const Value& at) {
    const Value update = UpdateOfZeros(b, sum, at, along);
    if (update.empty()) return sum;
    return b.random.Chance(2) ? Op(b, "add", sum, update) : Op(b, "add", update, sum);
  };
  const Type counter = TypeOf(b.random.OneOf({DType::kS32, DType::kS64, DType::kU8}));
  if (b.random.Chance(3)) {
    Value sum = v;
    for (int64_t n = b.random.Between(2, 4); n > 0; --n) {
      sum = added(sum, b.Match(counter, {}));
      if (b.random.Chance(4)) b.Offer(sum);
    }
    b.Offer(sum);
    return;
  }
  const int64_t trips = b.random.Between(2, 12);
  const Value first = b.Splat(counter, {}, 0), limit = b.Splat(counter, {}, trips), one = b.Splat(counter, {}, 1);
  const std::string name = b.NewName(), t = Text(counter, {});
  const Value i{name + "_i", counter, {}, {.bound = 100}};
  Value sum{name + "_s", v.type, v.dims, v.is};
  b.Write(fmt::format(
      "  {0}:2 = stablehlo.while({1} = {2}, {3} = {4}) : {5}, {6}\n  cond {{\n    %go = "
      "stablehlo.compare LT, {1}, {7}, {8} : ({5}, {5}) -> tensor<i1>\n    stablehlo.return %go : "
      "tensor<i1>\n  }} do {{\n",
      name, i.name, first.name, sum.name, v.name, t, Text(v), limit.name, counter.is_signed() ? "SIGNED" : "UNSIGNED"));
  b.Inside(trips, [&] {
    b.values().push_back(i);
    const Value before = sum;
    for (int64_t n = b.random.Between(1, 2); n > 0; --n)
      sum = added(sum, b.random.Chance(3) ? b.Match(counter, {}) : i);
    if (b.random.Chance(4)) sum = Op(b, "xor", sum, before);
    const Value next = Op(b, "add", i, one);
    b.Write(fmt::format("    stablehlo.return {}, {} : {}, {}\n  }}\n", next.name, sum.name, t, Text(v)));
  });
  b.Offer({name + "#1", v.type, v.dims, {.bound = std::ldexp(1.0, v.type.bits)}});
}

/// Flipped or not: what is computed, or its mirror image.
void Mirrored(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty() && IsExact(x) && IsNumber(x); });
  if (v.empty() || v.dims.empty() || !IsExact(v) || !IsNumber(v)) return;
  Dims turned = b.Subset(v.rank());
  if (turned.empty()) turned.push_back(b.random.Pick(static_cast<int64_t>(v.rank())));
  Value f = Dressed(b, v, turned);
  if (b.random.Chance(2) && v.type.is_int() && v.type.bits < 64) {
    const Type wide = TypeOf(DType::kS64);
    f = b.EmitHidden(fmt::format("stablehlo.convert {} : ({}) -> {}", f.name, Text(f), Text(wide, f.dims)), wide,
                     f.dims, {.bound = 1e30});
  }
  const Value back = b.EmitHidden(fmt::format("stablehlo.reverse {}, dims = {} : {}", f.name, List(turned), Text(f)),
                                  f.type, f.dims, f.is);
  const Value mask = b.Match(TypeOf(DType::kPred), b.random.Chance(2) ? Dims() : f.dims);
  const bool swapped = b.random.Chance(2);
  b.Emit(fmt::format("stablehlo.select {}, {}, {} : {}, {}", mask.name, (swapped ? back : f).name,
                     (swapped ? f : back).name, Text(mask), Text(f)),
         f.type, f.dims, f.is);
}

/// Parts of what is computed, each reduced, and nothing else looks at it.
void ReducedParts(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty() && IsExact(x) && Count(x.dims) > 1; });
  if (v.empty() || v.dims.empty() || !IsExact(v) || Count(v.dims) <= 1) return;
  const Value f = Dressed(b, v);
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(f.rank())));
  const std::string_view op = AnyMeeting(b, f.type);
  int64_t first = 0;
  for (int64_t n = b.random.Between(2, 4); n > 0 && first < f.dims[along]; --n) {
    if (b.random.Chance(4)) ++first;
    if (first >= f.dims[along]) return;
    const int64_t limit = n == 1 && b.random.Chance(2) ? f.dims[along] : b.random.Between(first + 1, f.dims[along]);
    Value part = Part(b, f, along, first, limit);
    first = limit;
    if (b.random.Chance(4)) part = Reshaped(b, part, {Count(part.dims)});
    Dims over = b.Subset(part.rank());
    if (over.empty()) over.push_back(static_cast<int64_t>(part.rank()) - 1);
    b.Offer(Reduced(b, op, part, over));
  }
}

/// What is computed of turned values, perhaps with dims merged, reduced.
void ReducedTurned(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return x.rank() > 1 && IsExact(x); });
  if (v.empty() || v.rank() < 2 || !IsExact(v)) return;
  Value f = Transposed(b, Dressed(b, v), b.Permutation(v.rank()));
  if (b.random.Chance(2)) f = Dressed(b, f);
  if (b.random.Chance(2)) {
    const auto at = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(f.rank()) - 1));
    Dims merged = f.dims;
    merged[at] *= merged[at + 1];
    merged.erase(merged.begin() + static_cast<int64_t>(at) + 1);
    f = Reshaped(b, f, merged);
    if (b.random.Chance(2)) f = Dressed(b, f);
  }
  Dims over = b.Subset(f.rank());
  if (over.empty()) over.push_back(b.random.Pick(static_cast<int64_t>(f.rank())));
  b.Offer(Reduced(b, AnyMeeting(b, f.type), f, over));
}

/// A running sum and the like of many rows or long ones, and windows as long as the steps between the elements.
void LongWindow(Builder& b) {
  const Type type = b.AnyArithmeticType();
  const bool repeats = b.random.Chance(3);
  Dims dims;
  for (int64_t n = b.random.Pick(3); n > 0; --n) dims.push_back(b.random.OneOf<int64_t>({1, 2, 3, 5, 16, 17, 33}));
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(dims.size()) + 1));
  dims.insert(dims.begin() + static_cast<int64_t>(along),
              repeats ? 1 + b.random.Pick(9) : b.random.OneOf<int64_t>({9, 31, 64, 256, 257, 300, 511, 1025, 1100}));
  if (!b.Fits(dims)) return;
  Value v = b.Match(type, dims);
  if (!IsExact(v)) return;
  Windows windows;
  const int64_t step = b.random.Between(2, 5);
  const bool base = b.random.Chance(2);
  if (repeats && !base) {
    // Holes by padding.
    const Value zero = b.Splat(type, {}, 0);
    const int64_t low = b.random.Pick(4), high = b.random.Pick(4);
    Dims lows(dims.size(), 0), highs(dims.size(), 0), holes(dims.size(), 0);
    lows[along] = low, highs[along] = high, holes[along] = step - 1;
    dims[along] = low + (dims[along] - 1) * step + 1 + high;
    if (!b.Fits(dims)) return;
    v = b.EmitHidden(
        fmt::format("stablehlo.pad {}, {}, low = {}, high = {}, interior = {} : ({}, {}) -> {}", v.name, zero.name,
                    List(lows), List(highs), List(holes), Text(v), Text(zero), Text(type, dims)),
        type, dims, v.is);
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    WindowDim w;
    if (d == along && repeats) {
      w = {.size = step, .base = base ? step : 1, .low = b.random.Between(-1, 4), .high = b.random.Between(-1, 4)};
    } else if (d == along) {
      w.size = dims[d];
      (b.random.Chance(3) ? w.high : w.low) = dims[d] - 1;
    }
    if (!windows.Add(dims[d], w)) return;
  }
  if (!b.Fits(windows.out)) return;
  const std::string_view op = repeats && type.is_float() ? "add" : AnyMeeting(b, type);
  const double met = static_cast<double>(windows.points);
  const Numbers is = Met(b, op, type, v.is, met + 1);
  const Value init = b.Splat(type, {}, 0);
  const std::string s = Text(type, {});
  b.Emit(fmt::format("\"stablehlo.reduce_window\"({}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n    %s = stablehlo.{} %p, %q : "
                     "{}\n    stablehlo.return %s : {}\n  }}) {{{}}} : ({}, {}) -> {}",
                     v.name, init.name, s, s, op, s, s, windows.Attributes(true), Text(v), s, Text(type, windows.out)),
         type, windows.out, is);
}

/// Sums of many elements to few results: in blocks, in strips of short rows, of tall columns.
void LongReduce(Builder& b) {
  const Type type = b.AnyType();
  const bool long_one = b.limits.large_extents && b.random.Chance(2);
  Dims dims;
  if (long_one) {
    dims = {b.random.OneOf<int64_t>({65537, 70001, 66000, 33000, 65536 + 4096}), b.random.OneOf<int64_t>({1, 1, 2, 3})};
    if (b.random.Chance(2)) dims = {dims[0] / 257, 257, dims[1]};
  } else {
    dims = {b.random.OneOf<int64_t>({512, 513, 600, 640, 700, 1025}), b.random.Between(2, 5)};
    if (b.random.Chance(3)) dims = {dims[0] / 32, 32, dims[1]};
  }
  if (b.random.Chance(3)) std::swap(dims.front(), dims.back());
  if (!b.Fits(dims)) return;
  Value v = b.Match(type, dims);
  if (!IsExact(v)) return;
  if (b.random.Chance(2)) v = Dressed(b, v);
  Dims over;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] > 5 || b.random.Chance(2)) over.push_back(static_cast<int64_t>(d));
  }
  b.Offer(Reduced(b, AnyMeeting(b, type), v, over));
}

/// Quotients and remainders by a number that is known, towards zero or down, as libraries write these.
void KnownQuotient(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return x.type.is_int() && x.type.bits >= 8; });
  if (v.empty() || !v.type.is_int() || v.type.bits < 8) return;
  const int bits = std::min(v.type.bits, 62);
  int64_t by = b.random.Chance(3)   ? int64_t{1} << b.random.Pick(bits - 1)
               : b.random.Chance(2) ? b.random.Between(1, 12)
                                    : 1 + b.random.Pick((int64_t{1} << (bits - 1)) - 1);
  const bool down = b.random.Chance(2);
  if (v.type.is_signed() && !down && b.random.Chance(4)) by = -by;
  const double all = std::ldexp(1.0, v.type.bits);
  const auto number = [&](int64_t n) { return b.Literal(v.type, v.dims, fmt::format("{}", n), all); };
  const auto made = [&](std::string_view op, const Value& x, const Value& y) {
    return b.EmitHidden(fmt::format("stablehlo.{} {}, {} : {}", op, x.name, y.name, Text(v)), v.type, v.dims,
                        {.bound = all});
  };
  const Type pred = TypeOf(DType::kPred);
  const auto asked = [&](std::string_view how, const Value& x, const Value& y) {
    return b.EmitHidden(fmt::format("stablehlo.compare {}, {}, {}, {} : ({}, {}) -> {}", how, x.name, y.name,
                                    v.type.is_signed() ? "SIGNED" : "UNSIGNED", Text(x), Text(y), Text(pred, v.dims)),
                        pred, v.dims, {.bound = 1});
  };
  const Value c = number(by), zero = number(0), quotient = made("divide", v, c), rest = made("remainder", v, c);
  const auto chosen = [&](const Value& mask, const Value& yes, const Value& no) {
    b.Emit(fmt::format("stablehlo.select {}, {}, {} : {}, {}", mask.name, yes.name, no.name, Text(mask), Text(v)),
           v.type, v.dims, {.bound = all});
  };
  if (!down || !v.type.is_signed()) {
    b.Offer(quotient);
    if (b.random.Chance(2)) b.Offer(rest);
    return;
  }
  if (b.random.Chance(2)) return chosen(asked("LT", rest, zero), made("add", rest, c), rest);
  const Value one = number(1);
  const Value sign =
      b.EmitHidden(fmt::format("stablehlo.sign {} : {}", v.name, Text(v)), v.type, v.dims, {.bound = all});
  const Value apart = asked("NE", sign, one), left = asked("NE", rest, zero);
  chosen(Op(b, "and", apart, left), made("subtract", quotient, one), quotient);
}

/// Windows of many elements that do not meet.
void RowsOfWindows(Builder& b) {
  const auto suits = [](const Value& x) { return !x.dims.empty() && IsExact(x) && Count(x.dims) > 0; };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v)) return;
  Windows windows;
  for (size_t d = 0; d < v.rank(); ++d) {
    WindowDim w;
    if (b.random.Chance(2)) {
      w.size = b.random.Between(2, 12);
      w.stride = w.size + (b.random.Chance(2) ? 0 : b.random.Pick(3));
      w.low = b.random.Pick(w.size);
      w.high = b.random.Pick(w.size);
    }
    if (!windows.Add(v.dims[d], w)) return;
  }
  if (!b.Fits(windows.out) || !b.Affordable(Count(windows.out) * windows.points)) return;
  const std::string_view op = AnyMeeting(b, v.type);
  const Value init = b.Splat(v.type, {}, b.random.Chance(2) ? 0 : b.Small(v.type));
  const std::string s = Text(v.type, {});
  b.Emit(
      fmt::format("\"stablehlo.reduce_window\"({}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n    %s = stablehlo.{} %p, %q : "
                  "{}\n    stablehlo.return %s : {}\n  }}) {{{}}} : ({}, {}) -> {}",
                  v.name, init.name, s, s, op, s, s, windows.Attributes(true), Text(v), s, Text(v.type, windows.out)),
      v.type, windows.out, Met(b, op, v.type, Join(v.is, init.is), static_cast<double>(windows.points + 1)));
}

/// Concatenation upon concatenation.
void JoinedParts(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty() && IsExact(x); });
  if (v.empty() || v.dims.empty() || !IsExact(v)) return;
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const auto joined = [&](const std::vector<Value>& parts) {
    Dims dims = parts[0].dims;
    Numbers is = parts[0].is;
    for (size_t i = 1; i < parts.size(); ++i) {
      dims[along] += parts[i].dims[along];
      is = Join(is, parts[i].is);
    }
    return b.EmitHidden(fmt::format("stablehlo.concatenate {}, dim = {} : ({}) -> {}", Names(parts), along,
                                    Types(parts), Text(v.type, dims)),
                        v.type, dims, is);
  };
  std::vector<Value> parts = {v};
  for (int64_t n = b.random.Between(2, 3); n > 0; --n) {
    std::vector<Value> more = {parts.back(), b.Match(v.type, v.dims)};
    if (!IsExact(more[1])) return;
    if (b.random.Chance(2)) std::swap(more[0], more[1]);
    const Value all = joined(more);
    if (!b.Fits(all.dims)) return;
    parts = {all};
  }
  b.Offer(parts[0]);
}

}  // namespace

void AddRewritten(Builder& b) {
  switch (b.random.Pick(10)) {
    case 0:
      return Stacked(b);
    case 1:
      return UpdatedSum(b);
    case 2:
      return Mirrored(b);
    case 3:
      return ReducedParts(b);
    case 4:
      return ReducedTurned(b);
    case 5:
      return LongWindow(b);
    case 6:
      return LongReduce(b);
    case 7:
      return KnownQuotient(b);
    case 8:
      return RowsOfWindows(b);
    default:
      return b.random.Chance(2) ? JoinedParts(b) : Stacked(b);
  }
}

}  // namespace tenon::fuzz
