// What programs may write in another way than most do: older ops, tuples, several arrays in one collective, calls by
// name.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

/// A sum of `terms` products, or nothing where it is not exact.
bool IsExactProduct(const Value& x, const Value& y, int64_t terms, Numbers* is) {
  if (!x.is.exact() || !y.is.exact() || !Builder::Usable(x) || !Builder::Usable(y)) return false;
  *is = {.bound = std::ldexp(1.0, x.type.bits)};
  if (x.type.is_int()) return true;
  *is = {.bound = static_cast<double>(terms) * x.is.bound * y.is.bound, .zero_sign = false};
  return is->bound <= x.type.exact_limit();
}

/// "ab": a letter for each dim.
std::string Letters(const std::vector<size_t>& dims) {
  std::string text;
  for (const size_t d : dims) text += static_cast<char>('a' + d);
  return text;
}

/// An einsum of dims in both sides and the result, in both sides alone, and in one side and the result, in any order.
void AddEinsum(Builder& b, const Type& type) {
  const auto dims_of = static_cast<size_t>(2 + b.random.Pick(3));
  Dims extents;
  std::vector<size_t> left, right, out;
  int64_t terms = 1, work = 1;
  for (size_t d = 0; d < dims_of; ++d) {
    extents.push_back(b.random.OneOf<int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 16}));
    work *= extents.back();
    const int64_t role = b.random.Pick(4);
    if (role != 3) left.push_back(d);
    if (role != 2) right.push_back(d);
    if (role != 1) out.push_back(d);
    if (role == 1) terms *= extents.back();
  }
  if (!b.Affordable(work)) return;
  for (std::vector<size_t>* list : {&left, &right, &out}) b.random.Shuffle(*list);
  const auto of = [&](const std::vector<size_t>& list) {
    Dims dims;
    for (const size_t d : list) dims.push_back(extents[d]);
    return dims;
  };
  if (!b.Fits(of(left)) || !b.Fits(of(right)) || !b.Fits(of(out))) return;
  const Value x = b.Match(type, of(left)), y = b.Match(type, of(right));
  Numbers is;
  if (!IsExactProduct(x, y, terms, &is)) return;
  b.Emit(fmt::format("stablehlo.einsum {}, {}, config = \"{},{}->{}\" : ({}, {}) -> {}", x.name, y.name, Letters(left),
                     Letters(right), Letters(out), Text(x), Text(y), Text(type, of(out))),
         type, of(out), is);
}

}  // namespace

/// Products by their older names: vectors and matrices, and dims by letters.
void AddOldProduct(Builder& b) {
  const Type type =
      TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kS32, DType::kF64, DType::kS8, DType::kU16}));
  if (b.random.Chance(2)) return AddEinsum(b, type);
  const int64_t k = b.Extent();
  Dims left = {k}, right = {k}, out;
  if (b.random.Chance(2)) {
    left.insert(left.begin(), b.Extent());
    out.push_back(left[0]);
  }
  if (b.random.Chance(2)) {
    right.push_back(b.Extent());
    out.push_back(right[1]);
  }
  if (!b.Fits(left) || !b.Fits(right) || !b.Fits(out) || !b.Affordable(Count(out) * k)) return;
  const Value x = b.Match(type, left), y = b.Match(type, right);
  Numbers is;
  if (!IsExactProduct(x, y, k, &is)) return;
  b.Emit(fmt::format("stablehlo.dot {}, {} : ({}, {}) -> {}", x.name, y.name, Text(x), Text(y), Text(type, out)), type,
         out, is);
}

/// Dims in front, and a number in the shape of something.
void AddOldBroadcast(Builder& b) {
  const Value v = b.Any();
  if (b.random.Chance(3)) {
    if (v.type.is_bool() || v.type.is_complex() || v.type.bits < 8) return;
    const int64_t n = b.Small(v.type);
    b.Emit(fmt::format("\"chlo.constant_like\"({}) {{value = {}{} : {}}} : ({}) -> {}", v.name, n,
                       v.type.is_float() ? ".0" : "", v.type.name, Text(v), Text(v)),
           v.type, v.dims, {.bound = std::fabs(static_cast<double>(n))});
    return;
  }
  Dims front;
  for (int64_t n = b.random.Pick(3); n > 0; --n) front.push_back(b.Extent());
  Dims out = front;
  out.insert(out.end(), v.dims.begin(), v.dims.end());
  if (!b.Fits(out)) return;
  b.Emit(
      fmt::format("stablehlo.broadcast {}, sizes = {} : ({}) -> {}", v.name, List(front), Text(v), Text(v.type, out)),
      v.type, out, v.is);
}

/// Values in a tuple in a tuple, perhaps by way of a function, taken out again.
void AddTuple(Builder& b) {
  std::vector<Value> values = {b.Any(), b.Any(), b.Any()};
  const std::string inner = fmt::format("tuple<{}, {}>", Text(values[1]), Text(values[2]));
  const std::string outer = fmt::format("tuple<{}, {}>", Text(values[0]), inner);
  const auto pack = [&](const std::string& a, const std::string& c, const std::string& d) {
    return fmt::format("  %inner = stablehlo.tuple {1}, {2} : {3}\n  %outer = stablehlo.tuple {0}, %inner : {4}\n", a,
                       c, d, inner, outer);
  };
  const std::string t = b.NewName();
  if (b.depth() == 0 && b.functions.size() < 5 && b.random.Chance(2)) {
    const std::string function = fmt::format("@f{}", b.functions.size());
    b.functions.push_back(
        fmt::format("func.func private {}(%a: {}, %c: {}, %d: {}) -> {} {{\n{}  return %outer : {}\n}}\n", function,
                    Text(values[0]), Text(values[1]), Text(values[2]), outer, pack("%a", "%c", "%d"), outer));
    b.Write(fmt::format("  {} = func.call {}({}) : ({}) -> {}\n", t, function, Names(values), Types(values), outer));
  } else {
    b.Write(fmt::format("  {0}_i = stablehlo.tuple {1}, {2} : {3}\n  {0} = stablehlo.tuple {4}, {0}_i : {5}\n", t,
                        values[1].name, values[2].name, inner, values[0].name, outer));
  }
  const std::string rest = b.NewName();
  b.Write(fmt::format("  {} = stablehlo.get_tuple_element {}[1] : ({}) -> {}\n", rest, t, outer, inner));
  for (size_t i = 0; i < values.size(); ++i) {
    if (b.random.Chance(4)) continue;
    const std::string& from = i == 0 ? t : rest;
    b.Emit(fmt::format("stablehlo.get_tuple_element {}[{}] : ({}) -> {}", from, i == 2 ? 1 : 0, i == 0 ? outer : inner,
                       Text(values[i])),
           values[i].type, values[i].dims, values[i].is);
  }
}

/// Several arrays of one type in one collective of one device: themselves.
void AddWideCollective(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty(); });
  if (v.empty() || v.dims.empty()) return;
  std::vector<Value> values = {v};
  for (int64_t n = 1 + b.random.Pick(2); n > 0; --n) {
    const Value w = b.AnyWhere([&](const Value& x) { return x.type == v.type && !x.dims.empty(); });
    values.push_back(!w.empty() && w.type == v.type && !w.dims.empty() ? w : v);
  }
  const std::string groups = "replica_groups = dense<0> : tensor<1x1xi64>", s = Text(v.type, {});
  std::string attributes = groups, region, op = "all_reduce";
  if (b.random.Chance(2)) {
    op = "all_gather";
    attributes += ", all_gather_dim = 0 : i64";
  } else {
    region = fmt::format(
        " ({{\n  ^bb0(%p: {0}, %q: {0}):\n    %s = stablehlo.{1} %p, %q : {0}\n    stablehlo.return %s : {0}\n  }})", s,
        v.type.is_bool() ? "or" : "add");
  }
  const std::string name = b.NewName();
  b.Write(fmt::format("  {} = \"stablehlo.{}\"({}){} {{{}}} : ({}) -> ({})\n", ResultsOf(name, values.size()), op,
                      Names(values), region, attributes, Types(values), Types(values)));
  b.OfferResults(name, values);
}

/// The first few in order, as a call that other compilers write.
void AddNamedTopK(Builder& b) {
  const auto suits = [](const Value& x) {
    return !x.dims.empty() && x.dims.back() > 0 && x.is.exact() && Builder::Usable(x) && x.is.zero_sign &&
           (x.type.is_int() || x.type.is_float()) && x.type.bits >= 8;
  };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v) || !b.Affordable(8 * Count(v.dims))) return;
  const int64_t k = 1 + b.random.Pick(std::min<int64_t>(v.dims.back(), 6));
  Dims out = v.dims;
  out.back() = k;
  const Type place = TypeOf(DType::kS32);
  const std::string name = b.NewName();
  b.Write(
      fmt::format("  {}:2 = stablehlo.custom_call @mhlo.topk({}) {{mhlo.attributes = {{k = {} : i64, largest = {}}}, "
                  "mhlo.version = 1 : i64}} : ({}) -> ({}, {})\n",
                  name, v.name, k, b.random.Chance(2), Text(v), Text(v.type, out), Text(place, out)));
  b.OfferResults(name, {{"", v.type, out, v.is}, {"", place, out, {.bound = static_cast<double>(v.dims.back())}}});
}

}  // namespace tenon::fuzz
