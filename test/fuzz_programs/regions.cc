// Regions of more than one op: numbers captured from outside, types wider than the operands', several results.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"
#include "test/fuzz_programs/window.h"

namespace tenon::fuzz {
namespace {

constexpr size_t kMostOperands = 3;

/// A combiner that is associative and commutative, so that any order of elements gives the same; each element meets it
/// once.
struct Combiner {
  std::vector<Value> operands, inits;
  std::vector<Type> types;  ///< Of the region's values and the results: those of the operands, or wider.
  std::string body;         ///< Reads %x0, %x1 ... %y0, %y1 ...; ends in its return.
  std::vector<Numbers> results = {};
};

/// A scalar that the region uses: written in it, a constant outside, or a value outside.
std::string Captured(Builder& b, const Type& type, std::string& body) {
  switch (b.random.Pick(4)) {
    case 3: {  // Looked up in an array outside.
      const Value table = b.Match(type, {1 + b.random.Pick(6)}), at = b.Match(TypeOf(DType::kS32), {});
      body += fmt::format(
          "    %part = stablehlo.dynamic_slice {}, {}, sizes = [1] : ({}, {}) -> {}\n    %k = stablehlo.reshape %part "
          ": "
          "({}) -> {}\n",
          table.name, at.name, Text(table), Text(at), Text(type, {1}), Text(type, {1}), Text(type, {}));
      return "%k";
    }
    case 0:
      body += fmt::format("    %k = stablehlo.constant dense<{}> : {}\n", b.random.Pick(2), Text(type, {}));
      return "%k";
    case 1:
      return b.Splat(type, {}, b.Small(type)).name;
    default:
      return b.Match(type, {}).name;
  }
}

Numbers Wrapping(const Type& type) { return {.bound = type.is_bool() ? 1 : std::ldexp(1.0, type.bits)}; }

Type WiderThan(Builder& b, const Type& type) {
  if (type.is_float()) return TypeOf(type.bits < 32 && b.random.Chance(2) ? DType::kF32 : DType::kF64);
  return TypeOf(type.is_signed() ? (type.bits < 32 && b.random.Chance(2) ? DType::kS32 : DType::kS64)
                                 : (type.bits < 32 && b.random.Chance(2) ? DType::kU32 : DType::kU64));
}

void Finish(Combiner& c, const std::vector<std::string>& yields) {
  std::string names, types;
  for (size_t i = 0; i < yields.size(); ++i) {
    names += (i ? ", " : "") + yields[i];
    types += (i ? ", " : "") + Text(c.types[i], {});
  }
  c.body += fmt::format("    stablehlo.return {} : {}\n", names, types);
}

/// Sums of exact floats, or of integers, in a wider type. `n` elements meet.
Combiner WideSum(Builder& b, const Value& v, double n) {
  const Type wide = WiderThan(b, v.type);
  const std::string s = Text(wide, {});
  Combiner c{.operands = {v}, .inits = {b.Splat(v.type, {}, b.Small(v.type))}, .types = {wide}, .body = {}};
  if (b.random.Chance(2)) {
    c.body = fmt::format("    %r = stablehlo.add {} : {}\n", b.random.Chance(2) ? "%x0, %y0" : "%y0, %x0", s);
  } else {
    c.body = fmt::format("    %n = stablehlo.negate %y0 : {0}\n    %r = stablehlo.subtract %x0, %n : {0}\n", s);
  }
  Finish(c, {"%r"});
  c.results = {Wrapping(wide)};
  if (wide.is_float()) c.results = {b.Rounded(wide, v.is.bound * n + 6, 0, v.is)};
  c.results[0].zero_sign = false;
  return c;
}

/// Of integers: several ops on one operand.
Combiner OfIntegers(Builder& b, const Value& v) {
  const std::string s = Text(v.type, {});
  Combiner c{.operands = {v}, .inits = {b.Splat(v.type, {}, b.Small(v.type))}, .types = {v.type}, .body = {}};
  const auto op = [&](const char* result, const std::string& name, const std::string& x, const std::string& y) {
    c.body += fmt::format("    {} = stablehlo.{} {}, {} : {}\n", result, name, x, y, s);
  };
  // With a neutral first number or not, this is no plain op.
  const std::string k = Captured(b, v.type, c.body);
  switch (b.random.Pick(5)) {
    case 0:  // As often as elements are met.
      op("%t", "add", "%x0", k);
      op("%r", "add", "%t", "%y0");
      break;
    case 1: {
      const std::string both = b.random.OneOf({"or", "and", "maximum", "minimum"});
      op("%t", both, "%y0", k);
      op("%r", both, "%x0", "%t");
      break;
    }
    case 2:  // Kept between two bounds.
      op("%t", "maximum", "%x0", "%y0");
      op("%r", "minimum", "%t", k);
      break;
    case 3:
      op("%t", "multiply", "%x0", k);
      op("%r", "multiply", "%y0", "%t");
      break;
    default:
      op("%t", "xor", "%x0", "%y0");
      op("%r", "xor", k, "%t");
      break;
  }
  Finish(c, {"%r"});
  c.results = {Wrapping(v.type)};
  return c;
}

/// The same as a plain op, found by a branch or in a loop.
Combiner Controlled(Builder& b, const Value& v) {
  const std::string s = Text(v.type, {});
  Combiner c{.operands = {v}, .inits = {b.Splat(v.type, {}, b.Small(v.type))}, .types = {v.type}, .body = {}};
  const char* kind = CompareKind(b, v, false);
  if (b.random.Chance(2)) {
    const bool is_case = b.random.Chance(2);
    c.body = fmt::format("    %p = stablehlo.compare {0}, %x0, %y0, {1} : ({2}, {2}) -> tensor<i1>\n",
                         b.random.OneOf({"GT", "LT", "GE"}), kind, s);
    if (is_case) c.body += "    %n = stablehlo.convert %p : (tensor<i1>) -> tensor<i32>\n";
    const char *first = is_case ? "%y0" : "%x0", *second = is_case ? "%x0" : "%y0";
    c.body += fmt::format(
        "    %r = \"stablehlo.{0}\"({1}) ({{\n      stablehlo.return {2} : {4}\n    }}, {{\n      stablehlo.return {3} "
        ": "
        "{4}\n    }}) : ({5}) -> {4}\n",
        is_case ? "case" : "if", is_case ? "%n" : "%p", first, second, s, is_case ? "tensor<i32>" : "tensor<i1>");
  } else {
    c.body = fmt::format(
        "    %z = stablehlo.constant dense<0> : tensor<i32>\n"
        "    %w:2 = stablehlo.while(%i = %z, %s = %x0) : tensor<i32>, {0}\n     cond {{\n"
        "      %most = stablehlo.constant dense<{1}> : tensor<i32>\n"
        "      %g = stablehlo.compare LT, %i, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "      stablehlo.return %g : tensor<i1>\n    }} do {{\n"
        "      %one = stablehlo.constant dense<1> : tensor<i32>\n      %j = stablehlo.add %i, %one : tensor<i32>\n"
        "      %m = stablehlo.{2} %s, %y0 : {0}\n      stablehlo.return %j, %m : tensor<i32>, {0}\n    }}\n"
        "    %r = stablehlo.{2} %w#1, %y0 : {0}\n",
        s, b.random.Between(1, 3), b.random.OneOf({"maximum", "minimum"}));
  }
  Finish(c, {"%r"});
  c.results = {v.is};
  c.results[0].bound += 6;
  c.results[0].zero_sign = false;
  return c;
}

/// Of any numbers that can be ordered: the largest with a floor, written as selections.
Combiner Ordered(Builder& b, const Value& v) {
  const std::string s = Text(v.type, {});
  Combiner c{.operands = {v}, .inits = {b.Splat(v.type, {}, b.Small(v.type))}, .types = {v.type}, .body = {}};
  const char* kind = CompareKind(b, v, false);
  const char* first = b.random.OneOf({"GT", "LT"});
  const Value floor = b.random.Chance(2) ? b.Splat(v.type, {}, b.Small(v.type)) : b.Match(v.type, {});
  c.body = fmt::format(
      "    %p = stablehlo.compare {0}, %x0, %y0, {1} : ({2}, {2}) -> tensor<i1>\n"
      "    %t = stablehlo.select %p, %x0, %y0 : tensor<i1>, {2}\n"
      "    %q = stablehlo.compare {0}, %t, {3}, {1} : ({2}, {2}) -> tensor<i1>\n"
      "    %r = stablehlo.select %q, %t, {3} : tensor<i1>, {2}\n",
      first, kind, s, floor.name);
  Finish(c, {"%r"});
  c.results = {Join(v.is, floor.is)};
  c.results[0].bound += 6;
  c.results[0].zero_sign = false;
  return c;
}

/// Several values at once, some of them the same operand; the results are not the operands' order.
Combiner Statistics(Builder& b, const Value& v, double n) {
  const Type count = TypeOf(b.random.OneOf({DType::kS32, DType::kS64, DType::kU8}));
  const Value ones = b.random.Chance(2) ? b.Splat(count, v.dims, 1) : b.Match(count, v.dims);
  const std::string s = Text(v.type, {}), t = Text(count, {});
  Combiner c{.operands = {v, ones, v},
             .inits = {b.Splat(v.type, {}, b.Small(v.type)), b.Splat(count, {}, 0), b.Splat(v.type, {}, 0)},
             .types = {v.type, count, v.type},
             .body = {}};
  c.body = fmt::format(
      "    %a = stablehlo.{2} %x0, %y0 : {0}\n    %b = stablehlo.add %y1, %x1 : {1}\n    %c = stablehlo.{3} %x2, %y2 : "
      "{0}\n",
      s, t, b.random.OneOf({"maximum", "minimum"}),
      v.type.is_int() ? b.random.OneOf({"add", "xor", "minimum"}) : "add");
  Finish(c, {"%a", "%b", "%c"});
  Numbers sum = v.type.is_int() ? Wrapping(v.type) : b.Rounded(v.type, v.is.bound * n, 0, v.is), most = v.is;
  most.bound += 6;
  sum.zero_sign = most.zero_sign = false;
  c.results = {most, Wrapping(count), sum};
  return c;
}

/// Of complex numbers: parts by ops of their own.
Combiner OfComplex(Builder& b, const Value& v, double n) {
  const std::string s = Text(v.type, {}), t = Text(PartOf(v.type), {});
  Combiner c{.operands = {v}, .inits = {b.Splat(v.type, {}, b.random.Pick(2))}, .types = {v.type}, .body = {}};
  const double product = std::pow(2 * v.is.bound + 1, n + 1);
  if (b.random.Chance(2) && product < v.type.exact_limit()) {
    c.body = fmt::format("    %r = stablehlo.multiply %x0, %y0 : {}\n", s);
    c.results = {{.bound = product, .zero_sign = false}};
  } else {
    const char* first = b.random.OneOf({"add", "maximum", "minimum"});
    c.body = fmt::format(
        "    %xr = stablehlo.real %x0 : ({0}) -> {1}\n    %yr = stablehlo.real %y0 : ({0}) -> {1}\n"
        "    %xi = stablehlo.imag %x0 : ({0}) -> {1}\n    %yi = stablehlo.imag %y0 : ({0}) -> {1}\n"
        "    %p = stablehlo.{2} %xr, %yr : {1}\n    %q = stablehlo.{3} %yi, %xi : {1}\n"
        "    %r = stablehlo.complex %p, %q : {0}\n",
        s, t, first, b.random.OneOf({"add", "maximum"}));
    c.results = {b.Rounded(v.type, v.is.bound * n + 6, 0, v.is)};
    c.results[0].zero_sign = false;
  }
  Finish(c, {"%r"});
  return c;
}

Combiner AnyCombiner(Builder& b, const Value& v, double n) {
  if (v.type.is_complex()) return OfComplex(b, v, n);
  if (v.type.bits < 64 && b.random.Chance(3)) return WideSum(b, v, n);
  if (b.random.Chance(3)) return Statistics(b, v, n);
  if (b.random.Chance(5)) return Controlled(b, v);
  return v.type.is_int() && !b.random.Chance(3) ? OfIntegers(b, v) : Ordered(b, v);
}

Value AnyOperand(Builder& b) {
  const auto suits = [&](const Value& x) {
    return !x.type.is_bool() && !x.dims.empty() && Builder::Usable(x) && x.is.exact() &&
           b.Affordable(static_cast<int64_t>(kMostOperands) * Count(x.dims));
  };
  const Value v = b.AnyWhere(suits);
  return !v.empty() && suits(v) ? v : Value{};
}

/// `%x0: t, %x1: u, %y0: t, %y1: u`.
std::string Arguments(const Combiner& c) {
  std::string text;
  for (const char* side : {"x", "y"}) {
    for (size_t i = 0; i < c.types.size(); ++i)
      text += fmt::format("{}%{}{}: {}", text.empty() ? "" : ", ", side, i, Text(c.types[i], {}));
  }
  return text;
}

std::string ResultTypes(const Combiner& c, const Dims& dims) {
  std::string text;
  for (const Type& type : c.types) text += (text.empty() ? "" : ", ") + Text(type, dims);
  return text;
}

void OfferAll(Builder& b, const Combiner& c, const std::string& name, const Dims& dims) {
  for (size_t i = 0; i < c.types.size(); ++i) {
    if (c.types.size() > 1 && b.random.Chance(4)) continue;
    b.Offer({ResultOf(name, c.types.size(), i), c.types[i], dims, c.results[i]});
  }
}

}  // namespace

void AddRegionReduce(Builder& b) {
  const Value v = AnyOperand(b);
  if (v.empty()) return;
  Dims over, out;
  double n = 1;
  for (size_t d = 0; d < v.rank(); ++d) {
    if (b.random.Chance(2)) {
      over.push_back(static_cast<int64_t>(d));
      n *= static_cast<double>(v.dims[d]);
    } else {
      out.push_back(v.dims[d]);
    }
  }
  const Combiner c = AnyCombiner(b, v, n);
  const std::string name = b.NewName();
  b.Write(
      fmt::format("  {} = \"stablehlo.reduce\"({}, {}) ({{\n  ^bb0({}):\n{}  }}) {{dimensions = {}}} : ({}, {}) -> "
                  "({})\n",
                  ResultsOf(name, c.types.size()), Names(c.operands), Names(c.inits), Arguments(c), c.body, Array(over),
                  Types(c.operands), Types(c.inits), ResultTypes(c, out)));
  OfferAll(b, c, name, out);
}

void AddRegionWindow(Builder& b) {
  const Value v = AnyOperand(b);
  if (v.empty() || v.rank() > 4) return;
  Windows windows;
  for (const int64_t n : v.dims) {
    WindowDim w;
    w.size = b.random.Chance(2) ? 1 : 1 + b.random.Pick(b.random.Chance(6) ? (b.random.Chance(3) ? 90 : 12) : 4);
    w.stride = b.random.Chance(3) ? 1 + b.random.Pick(3) : 1;
    w.base = b.random.Chance(5) ? 1 + b.random.Pick(3) : 1;
    w.dilation = b.random.Chance(5) ? 1 + b.random.Pick(3) : 1;
    w.low = b.random.Chance(2) ? 0 : b.random.Between(-2, 4);
    w.high = b.random.Chance(2) ? 0 : b.random.Between(-2, 4);
    if (!windows.Add(n, w)) return;
  }
  if (!b.Fits(windows.out) || !b.Affordable(4 * Count(windows.out) * windows.points)) return;
  const Combiner c = AnyCombiner(b, v, static_cast<double>(windows.points));
  const std::string name = b.NewName();
  b.Write(
      fmt::format("  {} = \"stablehlo.reduce_window\"({}, {}) ({{\n  ^bb0({}):\n{}  }}) {{{}}} : ({}, {}) -> ({})\n",
                  ResultsOf(name, c.types.size()), Names(c.operands), Names(c.inits), Arguments(c), c.body,
                  windows.Attributes(true), Types(c.operands), Types(c.inits), ResultTypes(c, windows.out)));
  OfferAll(b, c, name, windows.out);
}

/// Rows of one or more arrays replaced by what the combiner makes of them and the updates; some places are outside.
void AddRegionScatter(Builder& b) {
  const Value v = AnyOperand(b);
  if (v.empty() || Count(v.dims) == 0) return;
  const int64_t places = 1 + b.random.Pick(b.random.Chance(4) ? 20 : 6);
  Dims rows(v.dims.begin() + 1, v.dims.end()), dims = rows, window;
  dims.insert(dims.begin(), places);
  for (size_t d = 1; d < v.rank(); ++d) window.push_back(static_cast<int64_t>(d));
  if (!b.Fits(dims)) return;
  const Combiner c = AnyCombiner(b, v, static_cast<double>(places + 1));
  const Value index = b.Match(TypeOf(b.random.OneOf({DType::kS32, DType::kU8, DType::kS64})), {places, 1});
  std::vector<Value> updates;
  for (const Value& o : c.operands) {
    updates.push_back(b.Match(o.type, dims));
    if (!updates.back().is.exact() || updates.back().is.bound > v.is.bound) {
      if (!updates.back().type.is_int()) return;
    }
  }
  const std::string name = b.NewName();
  b.Write(fmt::format(
      "  {} = \"stablehlo.scatter\"({}, {}, {}) ({{\n  ^bb0({}):\n{}  }}) {{scatter_dimension_numbers = "
      "#stablehlo.scatter<update_window_dims = {}, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
      "index_vector_dim = 1>}} : ({}, {}, {}) -> ({})\n",
      ResultsOf(name, c.types.size()), Names(c.operands), index.name, Names(updates), Arguments(c), c.body,
      List(window), Types(c.operands), Text(index), Types(updates), ResultTypes(c, v.dims)));
  OfferAll(b, c, name, v.dims);
}

/// An element-wise function of one to four operands, perhaps of another type, with numbers from outside.
void AddRegionMap(Builder& b) {
  const auto suits = [](const Value& x) {
    return (x.type.is_int() || x.type.is_float()) && Builder::Usable(x) && x.is.exact();
  };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v)) return;
  std::vector<Value> operands = {v};
  for (int64_t n = b.random.Pick(4); n > 0; --n) operands.push_back(b.Match(v.type, v.dims));
  const Type to = b.random.Chance(2) ? v.type : TypeOf(b.random.OneOf({DType::kPred, DType::kF64, DType::kS32}));
  const std::string s = Text(v.type, {}), t = Text(to, {});
  std::string body, arguments, last = "%p0";
  Numbers is = v.is;
  for (size_t i = 0; i < operands.size(); ++i) {
    arguments += fmt::format("{}%p{}: {}", i ? ", " : "", i, s);
    if (!operands[i].is.exact()) return;
    if (i == 0) continue;
    const std::string_view op = b.random.OneOf<std::string_view>({"add", "maximum", "subtract", "minimum"});
    body += fmt::format("    %t{} = stablehlo.{} {}, %p{} : {}\n", i, op, last, i, s);
    last = fmt::format("%t{}", i);
    is = AfterBinary(b, op, v.type, is, operands[i].is);
  }
  const Value k = b.random.Chance(2) ? b.Match(v.type, {}) : b.Splat(v.type, {}, b.Small(v.type));
  if (!k.is.exact() || !is.exact() || is.special || is.bound > 1e9) {
    if (!v.type.is_int()) return;
  }
  if (to == v.type) {
    body += fmt::format("    %r = stablehlo.maximum {}, {} : {}\n", last, k.name, s);
    is = Join(is, k.is);
  } else if (to.is_bool()) {
    body += fmt::format("    %r = stablehlo.compare LE, {}, {}, {} : ({}, {}) -> {}\n", last, k.name,
                        CompareKind(b, v, false), s, s, t);
    is = {.bound = 1};
  } else {
    body += fmt::format("    %m = stablehlo.minimum {}, {} : {}\n    %r = stablehlo.convert %m : ({}) -> {}\n", last,
                        k.name, s, s, t);
    is = Join(is, k.is);
    if (to.is_int()) is = {.bound = std::ldexp(1.0, to.bits)};
    if (is.bound > to.exact_limit() && to.is_float()) return;
  }
  Dims dims;
  for (size_t d = 0; d < v.rank(); ++d) dims.push_back(static_cast<int64_t>(d));
  b.Emit(
      fmt::format("\"stablehlo.map\"({}) ({{\n  ^bb0({}):\n{}    stablehlo.return %r : {}\n  }}) {{dimensions = {}}} "
                  ": ({}) -> {}",
                  Names(operands), arguments, body, t, Array(dims), Types(operands), Text(to, v.dims)),
      to, v.dims, is);
}

/// Windows whose element is chosen by several comparisons, and sources that meet by more than a plain op.
void AddRegionSelectAndScatter(Builder& b) {
  const auto suits = [](const Value& x) {
    return x.type.is_int() && !x.dims.empty() && x.rank() < 4 && Count(x.dims) > 0;
  };
  const Value v = b.AnyWhere(suits);
  if (v.empty() || !suits(v)) return;
  Windows windows;
  for (const int64_t n : v.dims) {
    WindowDim w;
    w.size = 1 + b.random.Pick(4);
    w.stride = 1 + b.random.Pick(3);
    w.low = b.random.Pick(w.size);
    w.high = b.random.Pick(w.size);
    if (!windows.Add(n, w)) return;
  }
  if (!b.Fits(windows.out) || !b.Affordable(4 * Count(windows.out) * windows.points)) return;
  const Value source = b.Match(v.type, windows.out), init = b.Splat(v.type, {}, b.Small(v.type));
  const std::string s = Text(v.type, {});
  std::string choose, meet;
  const char* kind = CompareKind(b, v, false);
  // Of keys that are made of the elements: the remainder, or the complement.
  const bool complement = b.random.Chance(2);
  const std::string k = b.random.Chance(2) ? b.Splat(v.type, {}, 3).name : b.Match(v.type, {}).name;
  for (const char* x : {"p", "q"}) {
    choose += complement ? fmt::format("    %{0}k = stablehlo.not %{0} : {1}\n", x, s)
                         : fmt::format("    %{0}k = stablehlo.and %{0}, {2} : {1}\n", x, s, k);
  }
  choose += fmt::format("    %s = stablehlo.compare {0}, %pk, %qk, {1} : ({2}, {2}) -> tensor<i1>\n",
                        b.random.OneOf({"GE", "GT", "LE", "LT"}), kind, s);
  const std::string m = Captured(b, v.type, meet);
  meet += fmt::format("    %t = stablehlo.{0} %p, %q : {1}\n    %s = stablehlo.{0} %t, {2} : {1}\n",
                      b.random.OneOf({"add", "xor", "maximum", "multiply"}), s, m);
  b.Emit(fmt::format("\"stablehlo.select_and_scatter\"({0}, {1}, {2}) ({{\n  ^bb0(%p: {3}, %q: {3}):\n{4}    "
                     "stablehlo.return %s : tensor<i1>\n  }}, {{\n  ^bb0(%p: {3}, %q: {3}):\n{5}    stablehlo.return "
                     "%s : {3}\n  }}) {{{6}}} : ({7}, {8}, {3}) -> {7}",
                     v.name, source.name, init.name, s, choose, meet, windows.Attributes(false), Text(v), Text(source)),
         v.type, v.dims, Wrapping(v.type));
}

}  // namespace tenon::fuzz
