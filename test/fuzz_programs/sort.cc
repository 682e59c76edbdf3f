#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

/// The body of a comparator: reads %x0, %y0, %x1, %y1 ...; the name of its verdict. A strict weak order, whatever the
/// form.
class Comparator {
 public:
  explicit Comparator(Builder& b) : b_(b) {}

  /// One key: "x before y" of operands i, directly or through a monotone or a hashing function of each.
  std::string Before(size_t i, const Value& v, std::string* equal) {
    const std::string type = Text(v.type, {});
    std::string x = fmt::format("%x{}", i), y = fmt::format("%y{}", i);
    // By NaN, an order by FLOAT is none.
    const char* kind = v.is.special ? "TOTALORDER" : CompareKind(b_, v, true);
    std::string key_type = type;
    switch (b_.random.Pick(8)) {
      case 0:
        if (!v.type.is_int()) break;
        // Shared additions, 2^depth paths deep: x + x + ... of both sides.
        for (int64_t n = b_.random.Chance(12) ? 60 : b_.random.Between(2, 9); n > 0; --n) {
          x = Op("add", x, x, type);
          y = Op("add", y, y, type);
        }
        break;
      case 1:
        if (!v.type.is_int()) break;
        x = Unary("not", x, type);
        y = Unary("not", y, type);
        break;
      case 2:
        if (v.type.is_bool() || (v.type.is_float() && v.is.special)) break;
        x = Unary("negate", x, type);
        y = Unary("negate", y, type);
        break;
      case 3:
        if (!v.type.is_int()) break;
        // Only a remainder decides: many ties.
        if (v.type.bits < 8) break;
        x = Op("and", x, Constant(v.type, 3), type);
        y = Op("and", y, Constant(v.type, 3), type);
        break;
      case 4:
        if (!v.type.is_float() || v.is.special) break;
        // Zeros made alike, as numerical libraries do.
        {
          const std::string zero = Constant(v.type, 0);
          x = Op("add", x, zero, type);
          y = Op("add", y, zero, type);
          kind = "FLOAT";
        }
        break;
      default:
        break;
    }
    const bool descending = b_.random.Chance(3);
    const bool turned = b_.random.Chance(3);  // y > x for x < y.
    const char* direction = descending != turned ? "GT" : "LT";
    if (equal != nullptr)
      *equal = Line(
          fmt::format("stablehlo.compare EQ, {}, {}, {} : ({}, {}) -> tensor<i1>", x, y, kind, key_type, key_type));
    if (turned) std::swap(x, y);
    return Line(fmt::format("stablehlo.compare {}, {}, {}, {} : ({}, {}) -> tensor<i1>", direction, x, y, kind,
                            key_type, key_type));
  }

  /// The same of integers that all differ, by themselves.
  std::string Plain(size_t i, const Value& v) {
    const std::string type = Text(v.type, {});
    return Line(fmt::format("stablehlo.compare {2}, %x{0}, %y{0}, SIGNED : ({1}, {1}) -> tensor<i1>", i, type,
                            b_.random.OneOf({"LT", "GT"})));
  }

  std::string Op(std::string_view op, const std::string& x, const std::string& y, const std::string& type) {
    return Line(fmt::format("stablehlo.{} {}, {} : {}", op, x, y, type));
  }
  std::string Unary(std::string_view op, const std::string& x, const std::string& type) {
    return Line(fmt::format("stablehlo.{} {} : {}", op, x, type));
  }
  std::string Constant(const Type& type, int64_t v) {
    return Line(fmt::format("stablehlo.constant dense<{}{}> : {}", v, type.is_float() ? ".0" : "", Text(type, {})));
  }
  std::string Line(const std::string& text) {
    const std::string name = fmt::format("%c{}", next_++);
    body += fmt::format("    {} = {}\n", name, text);
    return name;
  }

  std::string body;

 private:
  Builder& b_;
  int next_ = 0;
};

}  // namespace

void AddSort(Builder& b) {
  const Value v = b.AnyWhere([&](const Value& x) {
    return !x.dims.empty() && x.is.exact() && !x.type.is_complex() && !x.is.frozen && b.Affordable(8 * Count(x.dims));
  });
  if (v.empty() || v.dims.empty() || !v.is.exact() || v.type.is_complex() || v.is.frozen) return;
  std::vector<Value> operands = {v};
  for (int64_t n = b.random.Pick(b.random.Chance(8) ? b.random.Chance(3) ? 40 : 9 : 4); n > 0; --n) {
    Value w = b.random.Chance(3) ? b.MatchAny(b.AnyType(), v.dims) : b.Match(b.AnyType(), v.dims);
    if (b.random.Chance(3)) {
      const Type place = TypeOf(DType::kS32);
      w = b.EmitHidden(fmt::format("stablehlo.iota dim = {} : {}", b.random.Pick(static_cast<int64_t>(v.rank())),
                                   Text(place, v.dims)),
                       place, v.dims, {.bound = static_cast<double>(Count(v.dims))});
    }
    operands.push_back(w);
  }
  b.random.Shuffle(operands);
  const int64_t along = b.random.Pick(static_cast<int64_t>(v.rank()));
  Comparator c(b);
  std::vector<size_t> keys;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value& o = operands[i];
    if (o.type.is_complex() || !o.is.exact() || o.is.frozen) continue;
    if (o.is.special && !(o.is.zero_sign && o.is.nan_bits)) continue;
    keys.push_back(i);
  }
  if (keys.empty()) return;
  b.random.Shuffle(keys);
  if (keys.size() > 5) keys.resize(5);
  if (keys.size() > 2 && !b.random.Chance(4)) keys.resize(2);
  if (b.random.Chance(2)) keys.resize(1);
  // Where places along the dim decide in the end there are no ties, and the sort need not be stable.
  size_t last = keys.back();
  keys.pop_back();
  bool is_stable = true;
  if (b.random.Chance(5)) {
    const Type place = TypeOf(b.random.OneOf({DType::kS32, DType::kS64}));
    if (keys.size() < 4) keys.push_back(last);
    last = operands.size();
    operands.push_back(b.EmitHidden(fmt::format("stablehlo.iota dim = {} : {}", along, Text(place, v.dims)), place,
                                    v.dims, {.bound = static_cast<double>(Count(v.dims))}));
    is_stable = false;
  }
  std::string verdict = is_stable ? c.Before(last, operands[last], nullptr) : c.Plain(last, operands[last]);
  while (!keys.empty()) {
    const size_t key = keys.back();
    keys.pop_back();
    // first < or (first == and second <), in one of its forms.
    std::string equal;
    const std::string first = c.Before(key, operands[key], &equal);
    const std::string second = verdict;
    if (b.random.Chance(2)) {
      const std::string both = c.Op("and", equal, second, "tensor<i1>");
      verdict = c.Op("or", first, both, "tensor<i1>");
    } else {
      verdict = c.Line(fmt::format("stablehlo.select {}, {}, {} : tensor<i1>, tensor<i1>", equal, second, first));
    }
  }
  std::string arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string t = Text(operands[i].type, {});
    arguments += fmt::format("{}%x{}: {}, %y{}: {}", i ? ", " : "", i, t, i, t);
  }
  // Ties have one order only where the sort is stable.
  const std::string name = b.NewName();
  b.Write(
      fmt::format("  {} = \"stablehlo.sort\"({}) ({{\n  ^bb0({}):\n{}    stablehlo.return {} : tensor<i1>\n  }}) "
                  "{{dimension = {} : i64, is_stable = {}}} : ({}) -> ({})\n",
                  ResultsOf(name, operands.size()), Names(operands), arguments, c.body, verdict, along, is_stable,
                  Types(operands), Types(operands)));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands.size() > 1 && b.random.Chance(4)) continue;
    Value r = operands[i];
    r.name = ResultOf(name, operands.size(), i);
    b.Offer(r);
  }
}

/// The first few of a sorted dim, with the places that they came from.
void AddTopK(Builder& b) {
  const Value v = b.AnyWhere([&](const Value& x) {
    return !x.dims.empty() && x.is.exact() && !x.type.is_complex() && Builder::Usable(x) &&
           b.Affordable(8 * Count(x.dims));
  });
  if (v.empty() || v.dims.empty() || !v.is.exact() || v.type.is_complex() || !Builder::Usable(v)) return;
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const Type place = TypeOf(DType::kS32);
  const Value index = b.EmitHidden(fmt::format("stablehlo.iota dim = {} : {}", along, Text(place, v.dims)), place,
                                   v.dims, {.bound = static_cast<double>(v.dims[along])});
  const std::string name = b.NewName(), s = Text(v.type, {});
  b.Write(fmt::format(
      "  {0}:2 = \"stablehlo.sort\"({1}, {2}) ({{\n  ^bb0(%x: {3}, %y: {3}, %i: tensor<i32>, %j: tensor<i32>):\n"
      "    %c = stablehlo.compare {4}, %x, %y, {5} : ({3}, {3}) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n"
      "  }}) {{dimension = {6} : i64, is_stable = true}} : ({7}, {8}) -> ({7}, {8})\n",
      name, v.name, index.name, s, b.random.OneOf({"GT", "GT", "LT"}), CompareKind(b, v, true), along, Text(v),
      Text(index)));
  Dims out = v.dims;
  out[along] = b.random.Pick(std::min<int64_t>(out[along], 5) + 1);
  std::string ranges;
  for (const int64_t d : out) ranges += fmt::format("{}0:{}", ranges.empty() ? "" : ", ", d);
  for (const auto& [result, type, is] : {std::tuple{0, v.type, v.is}, std::tuple{1, place, index.is}}) {
    if (b.random.Chance(4)) continue;
    b.Emit(fmt::format("stablehlo.slice {}#{} [{}] : ({}) -> {}", name, result, ranges, Text(type, v.dims),
                       Text(type, out)),
           type, out, is);
  }
}

}  // namespace tenon::fuzz
