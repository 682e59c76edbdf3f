#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

constexpr int64_t kFewTrips = 6;
constexpr int64_t kManyTrips = 80;
/// One of several branches, loops among them, that each give something of the carry's shape; the counter chooses.
Value Branched(Builder& b, const Value& v, const Value& counter);

constexpr double kCarried = 16;  // Carried floats are kept below: a power of two, which every type has.

/// How a loop counts: found by trying, so that wrapping around counts too.
struct Counter {
  Type type;
  uint64_t start = 0, limit = 0, step = 1;
  std::string_view update = "add";
  std::string_view direction = "LT";
  int64_t trips = 0;
};

uint64_t Wrap(const Type& type, uint64_t v) {
  if (type.bits == 64) return v;
  v &= (uint64_t{1} << type.bits) - 1;
  if (type.is_signed() && (v >> (type.bits - 1)) != 0) v |= ~uint64_t{0} << type.bits;
  return v;
}

bool Holds(const Counter& c, uint64_t i) {
  const auto less = [&](uint64_t x, uint64_t y) {
    return c.type.is_signed() ? static_cast<int64_t>(x) < static_cast<int64_t>(y) : x < y;
  };
  if (c.direction == "LT") return less(i, c.limit);
  if (c.direction == "LE") return !less(c.limit, i);
  if (c.direction == "GT") return less(c.limit, i);
  if (c.direction == "GE") return !less(i, c.limit);
  if (c.direction == "NE") return i != c.limit;
  return i == c.limit;
}

/// How often it runs; nothing when that is more than `most`.
std::optional<int64_t> TripsOf(const Counter& c, int64_t most) {
  uint64_t i = c.start;
  for (int64_t trips = 0; trips <= most; ++trips) {
    if (!Holds(c, i)) return trips;
    i = Wrap(c.type, c.update == "add" ? i + c.step : c.update == "subtract" ? i - c.step : i * c.step);
  }
  return std::nullopt;
}

/// Whether it ends as well where the start is what the two lowest bits of a number say.
bool EndsFromLowBits(Counter c) {
  for (uint64_t start = 0; start < 4; ++start) {
    c.start = Wrap(c.type, start);
    if (!TripsOf(c, kManyTrips)) return false;
  }
  return true;
}

std::string Print(const Type& type, uint64_t v) {
  return type.is_signed() ? fmt::format("{}", static_cast<int64_t>(v)) : fmt::format("{}", v);
}

Counter AnyCounter(Builder& b) {
  Counter c{.type = b.AnyIndexType()};
  const int64_t most =
      b.trips() <= kFewTrips && b.random.Chance(5) ? b.random.Between(kFewTrips, kManyTrips) : kFewTrips;
  if (b.limits.rare_types && b.random.Chance(12))
    c.type = TypeOf(b.random.OneOf({DType::kS4, DType::kU4, DType::kS2, DType::kU2}));
  for (int tries = 0; tries < 30; ++tries) {
    const uint64_t ends[] = {
        0, 1, 2, ~uint64_t{0}, uint64_t{1} << (c.type.bits - 1), (uint64_t{1} << (c.type.bits - 1)) - 1};
    const auto place = [&] {
      return Wrap(c.type, b.random.Chance(2) ? static_cast<uint64_t>(b.random.Between(-1, 5))
                                             : ends[b.random.Pick(6)] + static_cast<uint64_t>(b.random.Between(-4, 4)));
    };
    c.start = place();
    c.step =
        Wrap(c.type, b.random.Chance(2)   ? 1
                     : b.random.Chance(3) ? uint64_t{1} << (c.type.bits - b.random.Between(1, std::min(3, c.type.bits)))
                                          : static_cast<uint64_t>(b.random.Between(-3, 4)));
    c.update = b.random.OneOf<std::string_view>({"add", "add", "add", "add", "subtract", "subtract", "multiply"});
    c.direction = b.random.OneOf<std::string_view>({"LT", "LT", "LT", "LE", "GT", "GE", "NE", "NE", "EQ"});
    const uint64_t n = static_cast<uint64_t>(most > kFewTrips ? most - b.random.Pick(4) : b.random.Pick(most));
    c.limit = b.random.Chance(3) ? place()
                                 : Wrap(c.type, (c.update == "subtract" ? c.start - n * c.step : c.start + n * c.step));
    const std::optional<int64_t> trips = TripsOf(c, most);
    if (trips && (*trips > 0 || b.random.Chance(4))) {
      c.trips = *trips;
      return c;
    }
  }
  const int64_t trips = b.random.Pick(4);
  return {.type = c.type, .start = 0, .limit = static_cast<uint64_t>(trips), .trips = trips};
}

/// The value, or something made of it that stays within what `is` says; `otherwise` when that cannot be.
Value Within(Builder& b, Value v, const Numbers& is, const Value& otherwise) {
  if (v.is.special || v.is.frozen) return is.special ? v : otherwise;
  if (!v.is.exact() && v.is.error > is.error) return otherwise;
  if (v.type.is_int() || v.type.is_bool()) return v;
  if (v.is.bound <= is.bound) return v;
  if (v.type.is_complex() || is.bound < kCarried) return otherwise;
  const auto most = static_cast<int64_t>(kCarried);
  const Value low = b.Splat(v.type, {}, -most), high = b.Splat(v.type, {}, most);
  Numbers clamped = v.is;
  clamped.bound = kCarried;
  return b.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", low.name, v.name, high.name,
                                  Text(low), Text(v), Text(high), Text(v)),
                      v.type, v.dims, clamped);
}

/// A number of which only these bits may be set.
Value LowBits(Builder& b, const Type& type, int64_t mask) {
  const Value x = b.Match(type, {}), m = b.Splat(type, {}, mask);
  return b.EmitHidden(fmt::format("stablehlo.and {}, {} : {}", x.name, m.name, Text(x)), type, {},
                      {.bound = static_cast<double>(mask)});
}

/// One value that a loop carries.
struct Carry {
  enum Role { kPass, kSwap, kOuter, kComputed, kUpdated, kAccumulated, kWorked, kCounter, kLimit, kGo };
  Value init;
  Value inner = {};
  Role role = kComputed;
  size_t partner = 0;  // kSwap
};

Carry::Role AnyRole(Builder& b) {
  return b.random.OneOf({Carry::kPass, Carry::kOuter, Carry::kComputed, Carry::kComputed, Carry::kComputed,
                         Carry::kUpdated, Carry::kUpdated, Carry::kAccumulated, Carry::kWorked, Carry::kWorked});
}

/// An element or a block of the carried array replaced, at a place that follows the counter.
Value Update(Builder& b, const Value& array, const Value& counter) {
  if (array.dims.empty() || Count(array.dims) == 0) return array;
  Dims sizes;
  std::vector<Value> starts;
  const Value zero = b.Splat(counter.type, {}, 0);
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(array.rank())));
  for (size_t d = 0; d < array.rank(); ++d) {
    sizes.push_back(d == along ? std::min<int64_t>(array.dims[d], b.random.Chance(4) ? 2 : 1) : array.dims[d]);
    starts.push_back(d == along ? (b.random.Chance(4) ? b.Match(counter.type, {}) : counter) : zero);
  }
  Value update;
  if (b.random.Chance(2)) {
    // What was there, or what stands elsewhere in it.
    std::vector<Value> from = starts;
    if (b.random.Chance(2)) from[along] = b.Match(counter.type, {});
    update = b.EmitHidden(fmt::format("stablehlo.dynamic_slice {}, {}, sizes = {} : ({}, {}) -> {}", array.name,
                                      Names(from), List(sizes), Text(array), Types(from), Text(array.type, sizes)),
                          array.type, sizes, array.is);
    if (b.random.Chance(2)) b.Offer(update);
    if (!array.type.is_bool() && !array.type.is_complex() && Builder::Usable(array) && b.random.Chance(2)) {
      const Value other = b.Match(array.type, sizes);
      update = b.EmitHidden(fmt::format("stablehlo.maximum {}, {} : {}", update.name, other.name, Text(update)),
                            update.type, sizes, AfterBinary(b, "maximum", update.type, update.is, other.is));
    }
  } else {
    update = b.Match(array.type, sizes);
  }
  return b.EmitHidden(fmt::format("stablehlo.dynamic_update_slice {}, {}, {} : ({}, {}, {}) -> {}", array.name,
                                  update.name, Names(starts), Text(array), Text(update), Types(starts), Text(array)),
                      array.type, array.dims, Join(array.is, update.is));
}

/// A stable order of one dim.
Value Sorted(Builder& b, const Value& v, int64_t along) {
  const std::string s = Text(v.type, {});
  return b.EmitHidden(
      fmt::format(
          "\"stablehlo.sort\"({0}) ({{\n  ^bb0(%x: {1}, %y: {1}):\n    %c = stablehlo.compare {2}, %x, %y, {3} : "
          "({1}, {1}) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }}) {{dimension = {4} : i64, "
          "is_stable = true}} : ({5}) -> {5}",
          v.name, s, b.random.OneOf({"LT", "GT"}), CompareKind(b, v, false), along, Text(v)),
      v.type, v.dims, v.is);
}

/// Rows of one dim in an order that moves with the counter.
Value Looked(Builder& b, const Value& v, const Value& counter, size_t along) {
  const int64_t n = v.dims[along];
  const Dims list = {n};
  const Value iota =
      b.EmitHidden(fmt::format("stablehlo.iota dim = 0 : {}", Text(counter.type, list)), counter.type, list, {});
  const Value by = b.Broadcast(counter, list, {});
  const Value index = b.EmitHidden(fmt::format("stablehlo.{} {}, {} : {}", b.random.OneOf({"add", "xor", "subtract"}),
                                               iota.name, by.name, Text(iota)),
                                   counter.type, list, {});
  Dims sizes = v.dims, offsets;
  sizes[along] = 1;
  for (size_t d = 0; d < v.rank(); ++d) {
    if (d != along) offsets.push_back(static_cast<int64_t>(d));
  }
  return b.EmitHidden(
      fmt::format("\"stablehlo.gather\"({}, {}) {{dimension_numbers = #stablehlo.gather<offset_dims = {}, "
                  "collapsed_slice_dims = [{}], start_index_map = [{}], index_vector_dim = 1>, slice_sizes = {}}} : "
                  "({}, {}) -> {}",
                  v.name, index.name, List(offsets), along, along, Array(sizes), Text(v), Text(index), Text(v)),
      v.type, v.dims, v.is);
}

/// A row of one dim replaced where the counter points, or nowhere.
Value Scattered(Builder& b, const Value& v, const Value& counter, size_t along) {
  Dims row = v.dims, window;
  row.erase(row.begin() + static_cast<int64_t>(along));
  for (size_t d = 0; d < row.size(); ++d) window.push_back(static_cast<int64_t>(d));
  const Value update = b.Match(v.type, row);
  const std::string s = Text(v.type, {});
  std::string body = fmt::format("    stablehlo.return %q : {}\n", s);
  Numbers is = Join(v.is, update.is);
  if (b.random.Chance(2) && !v.type.is_complex()) {
    const char* op = v.type.is_bool() ? "xor" : "maximum";
    body = fmt::format("    %r = stablehlo.{0} %p, %q : {1}\n    stablehlo.return %r : {1}\n", op, s);
    is.zero_sign = false;
  }
  const Value index = b.EmitHidden(
      fmt::format("stablehlo.reshape {} : ({}) -> {}", counter.name, Text(counter), Text(counter.type, {1})),
      counter.type, {1}, counter.is);
  return b.EmitHidden(
      fmt::format(
          "\"stablehlo.scatter\"({}, {}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n{}  }}) {{scatter_dimension_numbers = "
          "#stablehlo.scatter<update_window_dims = {}, inserted_window_dims = [{}], "
          "scatter_dims_to_operand_dims = [{}], index_vector_dim = 0>}} : ({}, {}, {}) -> {}",
          v.name, index.name, update.name, s, s, body, List(window), along, along, Text(v), Text(index), Text(update),
          Text(v)),
      v.type, v.dims, is);
}

/// The largest so far along a dim, from either end.
Value Running(Builder& b, const Value& v, size_t along) {
  Dims window(v.rank(), 1);
  window[along] = v.dims[along];
  const bool backwards = b.random.Chance(2);
  std::string padding;
  for (size_t d = 0; d < v.rank(); ++d) {
    const int64_t n = d == along ? v.dims[d] - 1 : 0;
    padding += fmt::format("{}[{}, {}]", d ? ", " : "", backwards ? 0 : n, backwards ? n : 0);
  }
  const Value init = b.Splat(v.type, {}, 0);
  const std::string s = Text(v.type, {});
  Numbers is = v.is;
  is.zero_sign = false;
  return b.EmitHidden(
      fmt::format(
          "\"stablehlo.reduce_window\"({0}, {1}) ({{\n  ^bb0(%p: {2}, %q: {2}):\n    %s = stablehlo.{3} %p, %q : "
          "{2}\n    stablehlo.return %s : {2}\n  }}) {{window_dimensions = {4}, padding = dense<[{5}]> : "
          "tensor<{6}x2xi64>}} : ({7}, {2}) -> {7}",
          v.name, init.name, s, v.type.is_bool() ? "or" : "maximum", Array(window), padding, v.rank(), Text(v)),
      v.type, v.dims, is);
}

/// Turned by as many places as the counter says.
Value Turned(Builder& b, const Value& v, const Value& counter, size_t along) {
  Dims twice = v.dims;
  twice[along] *= 2;
  const Value both = b.EmitHidden(fmt::format("stablehlo.concatenate {0}, {0}, dim = {1} : ({2}, {2}) -> {3}", v.name,
                                              along, Text(v), Text(v.type, twice)),
                                  v.type, twice, v.is);
  std::vector<Value> starts(v.rank(), b.Splat(counter.type, {}, 0));
  starts[along] = counter;
  return b.EmitHidden(fmt::format("stablehlo.dynamic_slice {}, {}, sizes = {} : ({}, {}) -> {}", both.name,
                                  Names(starts), List(v.dims), Text(both), Types(starts), Text(v)),
                      v.type, v.dims, v.is);
}

/// The carry taken through an op of its own shape.
Value Work(Builder& b, const Value& v, const Value& counter) {
  if (v.dims.empty() || Count(v.dims) == 0 || !b.Affordable(8 * Count(v.dims))) return b.Match(v.type, v.dims);
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const bool ordered = !v.type.is_complex() && Builder::Usable(v) && v.is.exact();
  switch (b.random.Pick(6)) {
    case 0:
      if (ordered) return Sorted(b, v, static_cast<int64_t>(along));
      break;
    case 1:
      return Scattered(b, v, counter, along);
    case 2:
      if (ordered && b.Affordable(v.dims[along] * Count(v.dims))) return Running(b, v, along);
      break;
    case 3:
      return Turned(b, v, counter, along);
    case 4:
      return Branched(b, v, counter);
    default:
      break;
  }
  return Looked(b, v, counter, along);
}

/// A truth about all of an array in scope: that some number is not in it, or that it holds another one, too.
Value Remains(Builder& b) {
  const Type pred = TypeOf(DType::kPred);
  const Value v = b.AnyWhere([](const Value& x) { return x.type.is_int() && Count(x.dims) > 0; });
  if (v.empty() || !v.type.is_int()) return b.Match(pred, {});
  const Value by = b.Splat(v.type, v.dims, b.Small(v.type));
  const Value equal =
      b.EmitHidden(fmt::format("stablehlo.compare NE, {}, {}, {} : ({}, {}) -> {}", v.name, by.name,
                               v.type.is_signed() ? "SIGNED" : "UNSIGNED", Text(v), Text(v), Text(pred, v.dims)),
                   pred, v.dims, {.bound = 1});
  const bool any = b.random.Chance(2);
  const Value init = b.Splat(pred, {}, any ? 0 : 1);
  Dims over;
  for (size_t d = 0; d < v.rank(); ++d) over.push_back(static_cast<int64_t>(d));
  return b.EmitHidden(
      fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = {} : ({}, tensor<i1>) -> "
                  "tensor<i1>",
                  equal.name, init.name, any ? "or" : "and", List(over), Text(equal)),
      pred, {}, {.bound = 1});
}

}  // namespace

void AddWhile(Builder& b) {
  if (b.depth() > b.limits.depth) return;
  Counter counter = AnyCounter(b);
  // How many trips there are is data's, too: the low bits of a number.
  const bool moving_limit = counter.start == 0 && counter.step == 1 && counter.direction == "LT" &&
                            counter.update == "add" && counter.type.bits >= 4 && b.random.Chance(3);
  const int64_t most_trips =
      (int64_t{1} << b.random.Between(2, b.trips() > kFewTrips || counter.type.bits < 8 ? 3 : 6)) - 1;
  if (moving_limit) counter.trips = most_trips;
  std::vector<Carry> carries;
  for (int64_t n = 1 + b.random.Pick(b.random.Chance(5) ? 8 : 4); n > 0; --n) {
    Carry c;
    c.init = !carries.empty() && b.random.Chance(6)
                 ? carries.back().init
                 : b.AnyWhere([&](const Value& x) { return b.Affordable(4 * Count(x.dims)); });
    // Of types that programs have few of, too.
    if (b.random.Chance(8) && !c.init.empty()) c.init = b.Match(b.AnyType(), c.init.dims);
    if (c.init.empty() || !b.Affordable(4 * Count(c.init.dims))) continue;
    c.role = AnyRole(b);
    if (c.init.is.special || !c.init.is.exact()) c.role = Carry::kPass;
    carries.push_back(c);
  }
  // Pairs of one shape may trade places.
  for (size_t i = 0; i < carries.size(); ++i) {
    for (size_t j = i + 1; j < carries.size(); ++j) {
      Carry &x = carries[i], &y = carries[j];
      if (x.role == Carry::kSwap || y.role == Carry::kSwap || !(x.init.type == y.init.type) ||
          x.init.dims != y.init.dims)
        continue;
      if (b.random.Chance(3)) continue;
      x.role = y.role = Carry::kSwap;
      x.partner = j;
      y.partner = i;
      x.init.is = y.init.is = Join(x.init.is, y.init.is);
    }
  }
  const auto insert = [&](Carry c) {
    // At a random place; partners move along.
    const auto at = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(carries.size()) + 1));
    for (Carry& other : carries) {
      if (other.role == Carry::kSwap && other.partner >= at) ++other.partner;
    }
    carries.insert(carries.begin() + static_cast<int64_t>(at), std::move(c));
  };
  const double all = std::ldexp(1.0, counter.type.bits);
  const bool moving_start = counter.start == 0 && counter.direction == "LT" && counter.update == "add" &&
                            b.random.Chance(3) && EndsFromLowBits(counter);
  Value start = b.Literal(counter.type, {}, Print(counter.type, counter.start), all);
  if (moving_start) {
    start = LowBits(b, counter.type, 3);
  }
  insert({.init = start, .role = Carry::kCounter});
  // The limit: a literal in the condition, one outside, or carried along.
  const int64_t limit_place = moving_limit ? b.random.Between(1, 2) : b.random.Pick(3);
  Value limit;
  if (moving_limit) {
    limit = LowBits(b, counter.type, most_trips);
  } else if (limit_place > 0) {
    limit = b.Literal(counter.type, {}, Print(counter.type, counter.limit), all);
  }
  if (limit_place == 2) insert({.init = limit, .role = Carry::kLimit});
  const Type pred = TypeOf(DType::kPred);
  const bool go_on = b.random.Chance(5);
  if (go_on) insert({.init = b.random.Chance(3) ? b.Match(pred, {}) : b.Splat(pred, {}, 1), .role = Carry::kGo});

  const std::string name = b.NewName();
  std::string assigned, types;
  const Carry* the_counter = nullptr;
  const Carry* the_limit = nullptr;
  const Carry* the_go = nullptr;
  for (size_t i = 0; i < carries.size(); ++i) {
    Carry& c = carries[i];
    c.inner = c.init;
    c.inner.name = fmt::format("{}_{}", name, i);
    if (c.role != Carry::kPass && c.role != Carry::kSwap && !c.init.is.special) {
      Numbers& is = c.inner.is;
      if (c.init.type.is_int()) is.bound = std::ldexp(1.0, c.init.type.bits);
      if (c.init.type.is_float()) is.bound = std::max(kCarried, is.bound);
      is.zero_sign = false;
    }
    assigned += fmt::format("{}{} = {}", i ? ", " : "", c.inner.name, c.init.name);
    types += (i ? ", " : "") + Text(c.init);
    if (c.role == Carry::kCounter) the_counter = &c;
    if (c.role == Carry::kLimit) the_limit = &c;
    if (c.role == Carry::kGo) the_go = &c;
  }
  b.Write(
      fmt::format("  {} = stablehlo.while({}) : {}\n   cond {{\n", ResultsOf(name, carries.size()), assigned, types));
  b.Inside(1, [&] {
    Value most = the_limit != nullptr ? the_limit->inner : limit;
    if (most.empty()) most = b.Literal(counter.type, {}, Print(counter.type, counter.limit), all);
    const char* kind = counter.type.is_signed() ? "SIGNED" : "UNSIGNED";
    const std::string t = Text(counter.type, {});
    std::string_view direction = counter.direction;
    Value x = the_counter->inner, y = most;
    if (b.random.Chance(4)) {
      std::swap(x, y);
      direction = direction == "LT"   ? "GT"
                  : direction == "LE" ? "GE"
                  : direction == "GT" ? "LT"
                  : direction == "GE" ? "LE"
                                      : direction;
    }
    Value go = b.EmitHidden(
        fmt::format("stablehlo.compare {}, {}, {}, {} : ({}, {}) -> tensor<i1>", direction, x.name, y.name, kind, t, t),
        pred, {});
    const auto also = [&](const Value& p) {
      go = b.EmitHidden(fmt::format("stablehlo.and {}, {} : tensor<i1>", go.name, p.name), pred, {});
    };
    if (the_go != nullptr) also(the_go->inner);
    if (b.random.Chance(6)) {
      // Something of what is carried.
      for (const Carry& c : carries) b.Offer(c.inner);
      for (int64_t n = b.random.Pick(3); n > 0; --n) b.AddOp();
      also(Remains(b));
    }
    b.Write(fmt::format("  stablehlo.return {} : tensor<i1>\n  }} do {{\n", go.name));
  });
  b.Inside(std::max<int64_t>(counter.trips, 1), [&] {
    for (const Carry& c : carries) {
      if (!b.random.Chance(8)) b.Offer(c.inner);  // One that is not offered is unused.
    }
    for (int64_t n = b.random.Pick(6); n > 0; --n) b.AddOp();
    std::vector<Value> next;
    for (const Carry& c : carries) {
      const Value& in = c.inner;
      switch (c.role) {
        case Carry::kPass:
        case Carry::kLimit:
          next.push_back(in);
          break;
        case Carry::kSwap:
          next.push_back(carries[c.partner].inner);
          break;
        case Carry::kOuter:
        case Carry::kComputed:
          next.push_back(Within(b, b.Match(in.type, in.dims), in.is, in));
          break;
        case Carry::kUpdated:
          next.push_back(Within(b, Update(b, in, the_counter->inner), in.is, in));
          break;
        case Carry::kAccumulated: {
          const Value more = b.Match(in.type, in.dims);
          const char* op = in.type.is_bool() ? "xor" : in.type.is_complex() || b.random.Chance(2) ? "add" : "maximum";
          const Value sum = b.EmitHidden(fmt::format("stablehlo.{} {}, {} : {}", op, in.name, more.name, Text(in)),
                                         in.type, in.dims, AfterBinary(b, op, in.type, in.is, more.is));
          next.push_back(Within(b, sum, in.is, in));
          break;
        }
        case Carry::kWorked:
          next.push_back(Within(b, Work(b, in, the_counter->inner), in.is, in));
          break;
        case Carry::kGo:
          next.push_back(b.Match(pred, {}));
          break;
        case Carry::kCounter: {
          const Value by = b.Literal(counter.type, {}, Print(counter.type, counter.step), all);
          next.push_back(b.EmitHidden(
              fmt::format("stablehlo.{} {}, {} : {}", counter.update, in.name, by.name, Text(in)), in.type, {}, in.is));
          break;
        }
      }
    }
    b.Write(fmt::format("  stablehlo.return {} : {}\n  }}\n", Names(next), types));
  });
  for (size_t i = 0; i < carries.size(); ++i) {
    if (carries.size() > 1 && b.random.Chance(5)) continue;
    Value r = carries[i].inner;
    r.name = ResultOf(name, carries.size(), i);
    b.Offer(r);
  }
}

/// Halves a number until nothing is left: trips that depend on data.
void AddShiftLoop(Builder& b) {
  if (b.depth() > 2 || !b.Affordable(64)) return;
  const Type type = TypeOf(b.random.OneOf({DType::kU8, DType::kU8, DType::kU16, DType::kS8}));
  const Value x = b.Match(type, {});
  const Value other = b.Match(type, {});
  const std::string name = b.NewName(), t = Text(type, {});
  b.Write(
      fmt::format("  {0}:2 = stablehlo.while({0}_n = {1}, {0}_s = {2}) : {3}, {3}\n   cond {{\n"
                  "    %zero = stablehlo.constant dense<0> : {3}\n"
                  "    %go = stablehlo.compare NE, {0}_n, %zero, {4} : ({3}, {3}) -> tensor<i1>\n"
                  "    stablehlo.return %go : tensor<i1>\n  }} do {{\n"
                  "    %one = stablehlo.constant dense<1> : {3}\n"
                  "    %half = stablehlo.shift_right_logical {0}_n, %one : {3}\n"
                  "    %low = stablehlo.and {0}_n, %one : {3}\n"
                  "    %sum = stablehlo.add {0}_s, %low : {3}\n"
                  "    %mix = stablehlo.xor %sum, %half : {3}\n"
                  "    stablehlo.return %half, %mix : {3}, {3}\n  }}\n",
                  name, x.name, other.name, t, type.is_signed() ? "SIGNED" : "UNSIGNED"));
  if (b.random.Chance(2)) b.Offer({name + "#0", type, {}, {.bound = 0}});
  b.Offer({name + "#1", type, {}, {.bound = std::ldexp(1.0, type.bits)}});
}

/// The same of every element of an array, as loops are mapped over many points: it goes on while any of them does, and
/// those that are through stay as they are; or not quite.
void AddMappedShiftLoop(Builder& b) {
  if (b.depth() > 2) return;
  const Type type = TypeOf(b.random.OneOf({DType::kU8, DType::kU16, DType::kS8, DType::kS32}));
  const Dims points = b.random.Chance(3) ? Dims{b.random.OneOf<int64_t>({4, 7, 16, 33, 70})} : b.AnyDims(2);
  if (points.empty() || !b.Affordable(64 * Count(points))) return;
  Dims wide = points;
  const bool parts = b.random.Chance(2);
  if (parts) wide.push_back(1 + b.random.Pick(4));
  Value x = b.Match(type, points);
  if (type.bits > 16) {
    // Trips that can be afforded.
    const Value few = b.Literal(type, points, "1023", 1023);
    x = b.EmitHidden(fmt::format("stablehlo.and {}, {} : {}", x.name, few.name, Text(x)), type, points, {});
  }
  const Value other = b.Match(type, wide);
  const std::string name = b.NewName(), t = Text(type, points), w = Text(type, wide);
  const std::string p = Text(TypeOf(DType::kPred), points), q = Text(TypeOf(DType::kPred), wide);
  std::string over;
  for (size_t d = 0; d < points.size(); ++d) {
    over += fmt::format("{}{}", d == 0 ? "" : ", ", d);
  }
  const char* const sign = type.is_signed() ? "SIGNED" : "UNSIGNED";
  const bool leaves = !b.random.Chance(5);  // What is through alone.
  const std::string spread = parts ? fmt::format(
                                         "    %l = stablehlo.broadcast_in_dim %low, dims = [{0}] : ({1}) -> {2}\n"
                                         "    %h = stablehlo.broadcast_in_dim %half, dims = [{0}] : ({1}) -> {2}\n"
                                         "    %g = stablehlo.broadcast_in_dim %go, dims = [{0}] : ({3}) -> {4}\n",
                                         over, t, w, p, q)
                                   : std::string();
  b.Write(fmt::format(
      "  {0}:2 = stablehlo.while({0}_n = {1}, {0}_s = {2}) : {3}, {4}\n   cond {{\n"
      "    %zero = stablehlo.constant dense<0> : {3}\n    %no = stablehlo.constant dense<false> : tensor<i1>\n"
      "    %go = stablehlo.compare NE, {0}_n, %zero, {5} : ({3}, {3}) -> {6}\n"
      "    %any = stablehlo.reduce(%go init: %no) applies stablehlo.or across dimensions = [{7}] : ({6}, tensor<i1>) "
      "-> "
      "tensor<i1>\n    stablehlo.return %any : tensor<i1>\n  }} do {{\n"
      "    %zero = stablehlo.constant dense<0> : {3}\n    %one = stablehlo.constant dense<1> : {3}\n"
      "    %go = stablehlo.compare NE, {0}_n, %zero, {5} : ({3}, {3}) -> {6}\n"
      "    %half = stablehlo.shift_right_logical {0}_n, %one : {3}\n    %low = stablehlo.and {0}_n, %one : {3}\n{8}"
      "    %sum = stablehlo.add {0}_s, {9} : {4}\n    %mix = stablehlo.xor %sum, {10} : {4}\n"
      "    %n = stablehlo.select %go, %half, {0}_n : {6}, {3}\n    %s = stablehlo.select {11}, %mix, {0}_s : {12}, "
      "{4}\n"
      "    stablehlo.return %n, {13} : {3}, {4}\n  }}\n",
      name, x.name, other.name, t, w, sign, p, over, spread, parts ? "%l" : "%low", parts ? "%h" : "%half",
      parts ? "%g" : "%go", parts ? q : p, leaves ? "%s" : "%mix"));
  if (b.random.Chance(2)) b.Offer({name + "#0", type, points, {.bound = 0}});
  b.Offer({name + "#1", type, wide, {.bound = std::ldexp(1.0, type.bits)}});
}

/// Products in a loop, some of them the same in every trip: h = f(x @ W + (2 h) @ U + 2 h), results collected.
void AddRecurrence(Builder& b) {
  if (b.depth() > 1) return;
  const bool smooth = b.limits.approximate && b.random.Chance(2);
  const Type type = smooth ? TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kF64}))
                           : TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kF64, DType::kS32}));
  const auto extent = [&] { return b.random.OneOf<int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 16, 17}); };
  const int64_t rows = extent(), inputs = extent(), units = extent(), trips = 1 + b.random.Pick(5);
  if (!b.Affordable(trips * rows * (inputs + units) * units)) return;
  const bool sequence = b.random.Chance(2);
  const Value x = b.Match(type, sequence ? Dims{trips, rows, inputs} : Dims{rows, inputs});
  const Value w = b.Match(type, {inputs, units});
  Value u = b.Match(type, {units, units});
  const Value h0 = b.random.Chance(2) ? b.Splat(type, {rows, units}, 0) : b.Match(type, {rows, units});
  const Value ys = b.Splat(type, {trips, rows, units}, 0);
  const double n_in = static_cast<double>(inputs), n = static_cast<double>(units);
  if (!x.is.exact() || !w.is.exact() || !u.is.exact() || !h0.is.exact()) return;
  if (x.is.bound * w.is.bound * n_in + 2 * kCarried * (1 + u.is.bound * n) > type.exact_limit() && !type.is_int())
    return;
  if (h0.is.bound > kCarried && !type.is_int()) return;
  const std::string h = Text(type, {rows, units}), tx = Text(type, {rows, inputs}), tw = Text(w), tu = Text(u),
                    ty = Text(ys);
  if (smooth) {
    int power = 0;
    while (u.is.bound * n * std::ldexp(1.0, -power) > 0.25) ++power;
    const Value small =
        b.EmitHidden(fmt::format("stablehlo.constant dense<{:e}> : {}", std::ldexp(1.0, -power), tu), type, u.dims);
    u = b.EmitHidden(fmt::format("stablehlo.multiply {}, {} : {}", u.name, small.name, tu), type, u.dims);
  }
  const Value zero = b.Splat(TypeOf(DType::kS32), {}, 0);
  const std::string s = b.NewName();
  b.Write(fmt::format(
      "  {0}:3 = stablehlo.while({0}_i = {1}, {0}_h = {2}, {0}_ys = {3}) : tensor<i32>, {4}, {5}\n   cond {{\n"
      "    %most = stablehlo.constant dense<{6}> : tensor<i32>\n"
      "    %go = stablehlo.compare LT, {0}_i, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    stablehlo.return %go : tensor<i1>\n  }} do {{\n",
      s, zero.name, h0.name, ys.name, h, ty, trips));
  std::string step = x.name;
  if (sequence) {
    b.Write(
        fmt::format("    %z = stablehlo.constant dense<0> : tensor<i32>\n"
                    "    %xt3 = stablehlo.dynamic_slice {0}, {1}_i, %z, %z, sizes = [1, {2}, {3}] : ({4}, tensor<i32>, "
                    "tensor<i32>, tensor<i32>) -> {5}\n"
                    "    %xt = stablehlo.reshape %xt3 : ({5}) -> {6}\n",
                    x.name, s, rows, inputs, Text(x), Text(type, {1, rows, inputs}), tx));
    step = "%xt";
  }
  const std::string two = type.is_int() ? "2" : "2.0", most = type.is_int() ? "16" : "16.0";
  b.Write(
      fmt::format("    %two = stablehlo.constant dense<{7}> : {0}\n"
                  "    %a = stablehlo.multiply {1}_h, %two : {0}\n"
                  "    %y = stablehlo.dot_general {2}, {3}, contracting_dims = [1] x [0] : ({4}, {5}) -> {0}\n"
                  "    %d = stablehlo.dot_general %a, {6}, contracting_dims = [1] x [0] : ({0}, {8}) -> {0}\n"
                  "    %yd = stablehlo.add %y, %d : {0}\n"
                  "    %yda = stablehlo.add %yd, %a : {0}\n",
                  h, s, step, w.name, tx, tw, u.name, two, tu));
  if (smooth) {
    b.Write(fmt::format("    %h = stablehlo.tanh %yda : {}\n", h));
  } else {
    b.Write(
        fmt::format("    %high = stablehlo.constant dense<{1}> : tensor<{2}>\n    %low = stablehlo.constant "
                    "dense<-{1}> : tensor<{2}>\n"
                    "    %h = stablehlo.clamp %low, %yda, %high : (tensor<{2}>, {0}, tensor<{2}>) -> {0}\n",
                    h, most, type.name));
  }
  b.Write(
      fmt::format("    %h3 = stablehlo.reshape %h : ({0}) -> {1}\n"
                  "    %o = stablehlo.constant dense<0> : tensor<i32>\n"
                  "    %ys = stablehlo.dynamic_update_slice {2}_ys, %h3, {2}_i, %o, %o : ({3}, {1}, tensor<i32>, "
                  "tensor<i32>, tensor<i32>) -> {3}\n"
                  "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
                  "    %i = stablehlo.add {2}_i, %one : tensor<i32>\n"
                  "    stablehlo.return %i, %h, %ys : tensor<i32>, {0}, {3}\n  }}\n",
                  h, Text(type, {1, rows, units}), s, ty));
  Numbers is{.bound = kCarried, .error = smooth ? 2e-3 : 0.0, .zero_sign = false};
  if (smooth && type.bits == 64) is.error = 1e-10;
  if (type.is_int()) is.bound = std::ldexp(1.0, 32);
  b.Offer({s + "#1", type, {rows, units}, is});
  if (!b.random.Chance(3)) b.Offer({s + "#2", type, {trips, rows, units}, is});
}

namespace {

/// The regions of a branch: each gives values of these types; what is known of the results.
std::vector<Value> Branches(Builder& b, int64_t count, const std::vector<Value>& wanted) {
  std::vector<Value> results = wanted;
  for (int64_t r = 0; r < count; ++r) {
    b.Write(r ? ", {\n" : "{\n");
    b.Inside(1, [&] {
      for (int64_t n = b.random.Pick(4); n > 0; --n) b.AddOp();
      std::vector<Value> yields;
      for (Value& result : results) {
        const Value y = b.random.Chance(3) && result.is.special ? b.MatchAny(result.type, result.dims)
                                                                : b.Match(result.type, result.dims);
        result.is = r == 0 ? y.is : Join(result.is, y.is);
        yields.push_back(y);
      }
      b.Write(fmt::format("    stablehlo.return {} : {}\n  }}", Names(yields), Types(yields)));
    });
  }
  return results;
}

void Branch(Builder& b, const Value& index, int64_t count, const char* op) {
  std::vector<Value> wanted;
  for (int64_t n = 1 + b.random.Pick(3); n > 0; --n) {
    wanted.push_back(b.AnyWhere(Builder::Usable));
    if (wanted.back().empty()) return;
  }
  const std::string name = b.NewName();
  b.Write(fmt::format("  {} = \"stablehlo.{}\"({}) (", ResultsOf(name, wanted.size()), op, index.name));
  const std::vector<Value> made = Branches(b, count, wanted);
  b.Write(fmt::format(") : ({}) -> ({})\n", Text(index), Types(wanted)));
  b.OfferResults(name, made);
}

}  // namespace

namespace {

Value Branched(Builder& b, const Value& v, const Value& counter) {
  if (b.depth() > b.limits.depth + 1) return v;
  const Type place = TypeOf(DType::kS32);
  const Value index =
      b.EmitHidden(fmt::format("stablehlo.convert {} : ({}) -> {}", counter.name, Text(counter), Text(place, {})),
                   place, {}, counter.is);
  const std::string name = b.NewName();
  Numbers is = v.is;
  b.Write(fmt::format("  {} = \"stablehlo.case\"({}) (", name, index.name));
  for (int64_t r = 0, n = b.random.Between(1, 3); r < n; ++r) {
    b.Write(r ? ", {\n" : "{\n");
    b.Inside(1, [&] {
      b.Offer(v);
      if (b.random.Chance(2)) AddWhile(b);
      for (int64_t ops = b.random.Pick(3); ops > 0; --ops) b.AddOp();
      const Value y = b.Match(v.type, v.dims);
      is = Join(is, y.is);
      b.Write(fmt::format("    stablehlo.return {} : {}\n  }}", y.name, Text(y)));
    });
  }
  b.Write(fmt::format(") : ({}) -> {}\n", Text(index), Text(v)));
  return {name, v.type, v.dims, is};
}

}  // namespace

void AddIf(Builder& b) {
  if (b.depth() > b.limits.depth) return;
  Branch(b, b.Match(TypeOf(DType::kPred), {}), 2, "if");
}

void AddCase(Builder& b) {
  if (b.depth() > b.limits.depth) return;
  Branch(b, b.Match(TypeOf(DType::kS32), {}), 1 + b.random.Pick(b.random.Chance(6) ? 12 : 4), "case");
}

Function NewFunction(Builder& b) {
  Function f;
  std::vector<Value> inner;
  std::string parameters;
  for (int64_t n = 1 + b.random.Pick(3); n > 0; --n) {
    const Value v = b.Any();
    f.arguments.push_back(v);
    Value p = v;
    p.name = b.NewName() + "_p";
    parameters += fmt::format("{}{}: {}", inner.empty() ? "" : ", ", p.name, Text(p));
    inner.push_back(p);
  }
  const std::string text = b.Apart(inner, [&] {
    for (int64_t n = 1 + b.random.Pick(5); n > 0; --n) b.AddOp();
    for (int64_t n = 1 + b.random.Pick(2); n > 0; --n) f.yields.push_back(b.Any());
    b.Write(fmt::format("  return {} : {}\n", Names(f.yields), Types(f.yields)));
  });
  f.name = fmt::format("@f{}", b.functions.size());
  f.trips = b.trips();
  b.functions.push_back(
      fmt::format("func.func private {}({}) -> ({}) {{\n{}}}\n", f.name, parameters, Types(f.yields), text));
  return f;
}

namespace {

/// Whether the function's results are as it says of them when it is called with `v` for its argument `p`.
bool MayStandFor(const Value& v, const Value& p) {
  return v.type == p.type && v.dims == p.dims && v.is.bound <= p.is.bound && v.is.error <= p.is.error &&
         v.is.zero_sign >= p.is.zero_sign && v.is.nan_bits >= p.is.nan_bits && v.is.special <= p.is.special &&
         v.is.frozen <= p.is.frozen;
}

void Call(Builder& b, const Function& f, const std::vector<Value>& arguments) {
  const std::string name = b.NewName();
  b.Write(fmt::format("  {} = func.call {}({}) : ({}) -> ({})\n", ResultsOf(name, f.yields.size()), f.name,
                      Names(arguments), Types(arguments), Types(f.yields)));
  b.OfferResults(name, f.yields);
}

/// A function that was called before, from wherever this is, with what suits it here.
void CallAgain(Builder& b) {
  const Function f = b.random.OneOf(b.callable);
  if (b.trips() > f.trips) return;
  std::vector<Value> arguments;
  for (const Value& p : f.arguments) {
    arguments.push_back(b.AnyWhere([&](const Value& v) { return MayStandFor(v, p); }));
    if (arguments.back().empty()) return;
  }
  Call(b, f, arguments);
}

}  // namespace

void AddCall(Builder& b) {
  if (!b.callable.empty() && b.random.Chance(2)) return CallAgain(b);
  if (b.depth() > 2 || b.functions.size() > 4) return;
  const Function f = NewFunction(b);
  for (int64_t calls = b.random.Chance(3) ? 2 : 1; calls > 0; --calls) Call(b, f, f.arguments);
  b.callable.push_back(f);
}

}  // namespace tenon::fuzz
