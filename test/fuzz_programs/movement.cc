#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

/// [start:limit:stride] of one dim.
struct Range {
  int64_t start = 0;
  int64_t limit = 0;
  int64_t stride = 1;
  int64_t size() const { return (limit - start + stride - 1) / stride; }
};

Value SliceOf(Builder& b, const Value& v, const std::vector<Range>& ranges) {
  std::string text;
  Dims out;
  for (const Range& r : ranges) {
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : ", ", r.start, r.limit, r.stride);
    out.push_back(r.size());
  }
  return b.EmitHidden(fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", v.name, text, Text(v), Text(v.type, out)),
                      v.type, out, v.is);
}

/// One dim of v cut, the others whole.
Value CutAlong(Builder& b, const Value& v, size_t along, int64_t start, int64_t limit) {
  std::vector<Range> ranges;
  for (const int64_t d : v.dims) ranges.push_back({0, d, 1});
  ranges[along] = {start, limit, 1};
  return SliceOf(b, v, ranges);
}

Value Join(Builder& b, const std::vector<Value>& parts, size_t along) {
  Dims out = parts[0].dims;
  out[along] = 0;
  Numbers is = parts[0].is;
  for (const Value& p : parts) {
    out[along] += p.dims[along];
    is = Join(is, p.is);
  }
  return b.EmitHidden(fmt::format("stablehlo.concatenate {}, dim = {} : ({}) -> {}", Names(parts), along, Types(parts),
                                  Text(parts[0].type, out)),
                      parts[0].type, out, is);
}

/// The dims of v padded so, or nothing where an extent would be negative.
Value PadOf(Builder& b, const Value& v, const Value& with, const Dims& low, const Dims& high, const Dims& interior) {
  Dims out;
  for (size_t d = 0; d < v.rank(); ++d) {
    const int64_t size = low[d] + v.dims[d] + std::max<int64_t>(v.dims[d] - 1, 0) * interior[d] + high[d];
    if (size < 0) return {};
    out.push_back(size);
  }
  return b.EmitHidden(
      fmt::format("stablehlo.pad {}, {}, low = {}, high = {}, interior = {} : ({}, {}) -> {}", v.name, with.name,
                  List(low), List(high), List(interior), Text(v), Text(with), Text(v.type, out)),
      v.type, out, Join(v.is, with.is));
}

}  // namespace

void AddTranspose(Builder& b) {
  const Value v = b.Any();
  const Dims permutation = b.Permutation(v.rank());
  Dims out;
  for (const int64_t p : permutation) out.push_back(v.dims[static_cast<size_t>(p)]);
  b.Emit(fmt::format("stablehlo.transpose {}, dims = {} : ({}) -> {}", v.name, List(permutation), Text(v),
                     Text(v.type, out)),
         v.type, out, v.is);
}

void AddBroadcast(Builder& b) {
  const Value v = b.Any();
  // Dims of the operand at random places of the result, ones of extent one perhaps spread out, in any order.
  Dims out;
  Dims map(v.rank());
  std::vector<int64_t> from;
  for (size_t d = 0; d < v.rank(); ++d) from.push_back(static_cast<int64_t>(d));
  for (int64_t n = b.random.Pick(3); n > 0; --n) from.push_back(-1);
  b.random.Shuffle(from);
  if (b.random.Chance(2)) {
    // In the operand's order.
    int64_t next = 0;
    for (int64_t& f : from) {
      if (f >= 0) f = next++;
    }
  }
  for (const int64_t f : from) {
    if (f >= 0) map[static_cast<size_t>(f)] = static_cast<int64_t>(out.size());
    out.push_back(f >= 0 && v.dims[static_cast<size_t>(f)] != 1 ? v.dims[static_cast<size_t>(f)] : b.Extent());
  }
  if (!b.Fits(out)) return;
  b.Offer(b.Broadcast(v, out, map));
}

void AddReshape(Builder& b) {
  const Value v = b.Any();
  Dims factors;
  int64_t n = Count(v.dims);
  if (n == 0) {
    factors = {0};
    for (int64_t i = b.random.Pick(3); i > 0; --i) factors.push_back(b.Extent());
  } else {
    for (const int64_t p : {2, 3, 5, 7, 11, 13, 17}) {
      while (n % p == 0) {
        if (!factors.empty() && b.random.Chance(2)) {
          b.random.OneOf(factors);
          factors[static_cast<size_t>(b.random.Pick(static_cast<int64_t>(factors.size())))] *= p;
        } else {
          factors.push_back(p);
        }
        n /= p;
      }
    }
    if (n > 1) factors.push_back(n);
    while (factors.size() > 5) {
      factors[0] *= factors.back();
      factors.pop_back();
    }
    if (b.random.Chance(3)) factors.push_back(1);
    if (b.random.Chance(8)) factors.push_back(1);
  }
  b.random.Shuffle(factors);
  b.Emit(fmt::format("stablehlo.reshape {} : ({}) -> {}", v.name, Text(v), Text(v.type, factors)), v.type, factors,
         v.is);
}

void AddReverse(Builder& b) {
  const Value v = b.Any();
  b.Emit(fmt::format("stablehlo.reverse {}, dims = {} : {}", v.name, List(b.Subset(v.rank())), Text(v)), v.type, v.dims,
         v.is);
}

void AddSlice(Builder& b) {
  const Value v = b.Any();
  std::vector<Range> ranges;
  for (const int64_t d : v.dims) {
    Range r{0, d, 1};
    if (!b.random.Chance(3)) {
      // Rather near the ends: most is taken.
      r.start = b.random.Chance(2) ? std::min<int64_t>(b.random.Pick(4), d) : b.random.Pick(d + 1);
      r.limit = b.random.Chance(2) ? std::max<int64_t>(d - b.random.Pick(4), r.start) : b.random.Between(r.start, d);
      r.stride = b.random.Chance(3) ? 1 + b.random.Pick(4) : 1;
    }
    ranges.push_back(r);
  }
  b.Offer(SliceOf(b, v, ranges));
}

void AddConcatenate(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty(); });
  if (v.empty()) return;
  const size_t along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  std::vector<Value> parts = {v};
  for (int64_t n = b.random.Pick(b.random.Chance(8) ? 14 : 4); n > 0; --n) {
    Dims dims = v.dims;
    if (b.random.Chance(2)) dims[along] = b.Extent();
    if (!b.Fits(dims)) continue;
    parts.push_back(b.random.Chance(3) ? b.MatchAny(v.type, dims) : b.Match(v.type, dims));
  }
  b.random.Shuffle(parts);
  b.Offer(Join(b, parts, along));
}

void AddPad(Builder& b) {
  const Value v = b.Any();
  Dims low, high, interior;
  for (size_t d = 0; d < v.rank(); ++d) {
    low.push_back(b.random.Chance(3) ? 0 : b.random.Between(-3, 4));
    high.push_back(b.random.Chance(3) ? 0 : b.random.Between(-3, 4));
    interior.push_back(b.random.Chance(4) ? b.random.Pick(4) : 0);
    // As wide as the array itself, too.
    if (b.limits.large_extents && b.random.Chance(5)) low[d] = b.random.Between(-v.dims[d] / 2, v.dims[d]);
    if (b.limits.large_extents && b.random.Chance(5)) high[d] = b.random.Between(-v.dims[d] / 2, v.dims[d]);
  }
  const Value with = b.random.Chance(2) ? b.Splat(v.type, {}, 0) : b.Match(v.type, {});
  const Value p = PadOf(b, v, with, low, high, interior);
  if (!p.empty()) b.Offer(p);
}

void AddRoll(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty(); });
  if (v.empty()) return;
  const size_t along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const int64_t n = v.dims[along];
  const int64_t at = b.random.Chance(2) ? std::min<int64_t>(n, 1 + b.random.Pick(3)) : b.random.Pick(n + 1);
  const Value a = CutAlong(b, v, along, at, n);
  const Value c = CutAlong(b, v, along, 0, at);
  b.Offer(Join(b, {a, c}, along));
}

/// A long chain of rolls, longer ends, paddings that are cut off again and pieces from computed places: seams inside of
/// seams, as programs have that make an array piece by piece.
void AddSeamChain(Builder& b) {
  const Value first = b.AnyWhere([](const Value& x) { return !x.dims.empty() && Count(x.dims) >= 2; });
  if (first.empty() || first.dims.empty()) return;
  const size_t along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(first.rank())));
  Value v = first;
  const int64_t links = b.random.Between(5, 30);
  if (first.dims[along] < 2 || !b.Affordable(2 * links * Count(first.dims))) return;
  for (int64_t i = 0; i < links; ++i) {
    const int64_t n = v.dims[along];
    const Value piece = CutAlong(b, first, along, 0, 1 + b.random.Pick(std::min<int64_t>(2, first.dims[along])));
    const int64_t few = piece.dims[along];
    switch (b.random.Pick(4)) {
      case 0: {
        const int64_t at = b.random.Pick(n + 1);
        v = Join(b, {CutAlong(b, v, along, at, n), CutAlong(b, v, along, 0, at)}, along);
        break;
      }
      case 1: {
        Dims dims = v.dims;
        dims[along] += few;
        if (!b.Fits(dims)) break;
        v = b.random.Chance(2) ? Join(b, {v, piece}, along) : Join(b, {piece, v}, along);
        break;
      }
      case 2: {
        Dims low(v.rank(), 0), high(v.rank(), 0), interior(v.rank(), 0);
        low[along] = b.random.Pick(3);
        high[along] = b.random.Pick(3);
        const Value padded = PadOf(b, v, b.Splat(v.type, {}, b.Small(v.type)), low, high, interior);
        if (padded.empty()) break;
        const int64_t start = b.random.Pick(low[along] + high[along] + 1);
        v = CutAlong(b, padded, along, start, start + n);
        break;
      }
      default: {
        if (n <= few) break;
        Dims dims = v.dims;
        dims[along] = n - few;
        std::vector<Value> starts;
        const Type type = b.AnyIndexType();
        for (size_t d = 0; d < v.rank(); ++d) starts.push_back(b.Match(type, {}));
        const Value rest =
            b.EmitHidden(fmt::format("stablehlo.dynamic_slice {}, {}, sizes = {} : ({}, {}) -> {}", v.name,
                                     Names(starts), List(dims), Text(v), Types(starts), Text(v.type, dims)),
                         v.type, dims, v.is);
        v = Join(b, {rest, piece}, along);
      }
    }
    if (b.random.Chance(12)) b.Offer(v);
  }
  b.Offer(v);
}

/// Several arrangements of the same pieces with their seams at close places, combined element by element.
void AddSeams(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty() && Count(x.dims) >= 4; });
  if (v.empty() || v.dims.empty()) return;
  const size_t along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const int64_t n = v.dims[along];
  if (n < 3) return;
  const int64_t total = std::max<int64_t>(1, n + b.random.Between(-2, 5));
  const int64_t seam = b.random.Pick(std::min<int64_t>(total, 1 + b.random.OneOf<int64_t>({4, 9, 17, 40})));
  Value sum;
  for (int64_t arrangement = 1 + b.random.Pick(4); arrangement >= 0; --arrangement) {
    // Cuts at places near the common seam; between them pieces of v, of its reverse, constants, other values.
    Dims cuts = {0};
    for (int64_t i = 1 + b.random.Pick(3); i > 0; --i)
      cuts.push_back(std::clamp<int64_t>(seam + b.random.Between(-2, 2) + (i - 1) * b.random.Pick(4), 0, total));
    cuts.push_back(total);
    std::sort(cuts.begin(), cuts.end());
    std::vector<Value> parts;
    for (size_t c = 0; c + 1 < cuts.size(); ++c) {
      const int64_t length = cuts[c + 1] - cuts[c];
      Dims dims = v.dims;
      dims[along] = length;
      if (length > 0 && length <= n && !b.random.Chance(4)) {
        Value source = v;
        if (b.random.Chance(5)) {
          source = b.EmitHidden(fmt::format("stablehlo.reverse {}, dims = [{}] : {}", v.name, along, Text(v)), v.type,
                                v.dims, v.is);
        }
        const int64_t room = n - length;
        const int64_t start = b.random.Chance(2) ? std::min<int64_t>(room, b.random.Pick(4)) : b.random.Pick(room + 1);
        parts.push_back(CutAlong(b, source, along, start, start + length));
      } else {
        parts.push_back(b.Match(v.type, dims));
      }
    }
    Value whole;
    if (parts.size() == 2 && b.random.Chance(3) && total >= parts[1].dims[along]) {
      // The second piece in a pad: what stands before it is the padding value.
      Dims low(v.rank(), 0), high(v.rank(), 0), interior(v.rank(), 0);
      low[along] = total - parts[1].dims[along];
      whole = PadOf(b, parts[1], b.Splat(v.type, {}, b.Small(v.type)), low, high, interior);
    } else {
      whole = Join(b, parts, along);
    }
    if (whole.empty()) continue;
    if (sum.empty() || !Builder::Usable(sum) || !Builder::Usable(whole)) {
      sum = whole;
      continue;
    }
    std::vector<std::string_view> ops = {"add", "add", "maximum", "subtract", "minimum"};
    if (v.type.is_bool()) ops = {"xor", "and", "or"};
    if (v.type.is_complex()) ops = {"add", "subtract"};
    const std::string_view op = b.random.OneOf(ops);
    const Numbers is = AfterBinary(b, op, v.type, sum.is, whole.is);
    sum = b.EmitHidden(fmt::format("stablehlo.{} {}, {} : {}", op, sum.name, whole.name, Text(whole)), whole.type,
                       whole.dims, is);
    if (b.random.Chance(4)) b.Offer(whole);
  }
  if (!sum.empty()) b.Offer(sum);
}

void AddIota(Builder& b) {
  Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty(); });
  Type type = b.AnyType();
  if (v.empty() || type.is_bool()) return;
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const auto bound = static_cast<double>(v.dims[along]);
  // Where the type does not hold all numbers, it is anybody's choice what stands there.
  if (bound > (type.is_int() ? std::ldexp(1.0, type.bits - 1) : type.exact_limit())) return;
  b.Emit(fmt::format("stablehlo.iota dim = {} : {}", along, Text(type, v.dims)), type, v.dims, {.bound = bound});
}

void AddRandomBits(Builder& b) {
  const Type state_type = TypeOf(DType::kU64);
  const Type type = TypeOf(b.random.OneOf({DType::kU32, DType::kU64, DType::kU32, DType::kU8, DType::kU16, DType::kS8,
                                           DType::kS16, DType::kS32, DType::kS64, DType::kS4, DType::kU4}));
  const bool wide = b.random.Chance(4);
  const Value state = b.Match(state_type, {wide ? 3 : 2});
  const Dims dims = b.Any().dims;
  if (!b.Affordable(20 * Count(dims))) return;
  const std::string name = b.NewName(), s = Text(state);
  b.Write(fmt::format("  {}:2 = stablehlo.rng_bit_generator {}, algorithm = {} : ({}) -> ({}, {})\n", name, state.name,
                      wide ? "PHILOX" : b.random.OneOf({"THREE_FRY", "PHILOX", "DEFAULT"}), s, s, Text(type, dims)));
  b.Offer({name + "#0", state_type, state.dims, {.bound = std::ldexp(1.0, 64)}});
  b.Offer({name + "#1", type, dims, {.bound = std::ldexp(1.0, type.bits)}});
}

}  // namespace tenon::fuzz
