#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"
#include "test/fuzz_programs/window.h"

namespace tenon::fuzz {
namespace {

std::vector<std::string_view> Combiners(const Type& type) {
  if (type.is_bool()) return {"and", "or", "xor", "maximum"};
  if (type.is_int()) return {"add", "add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  if (type.is_complex()) return {"add"};
  return {"add", "add", "maximum", "minimum"};
}

/// What `n` values and the initial one make.
Numbers Folded(const Builder& b, std::string_view op, const Value& v, const Value& init, double n) {
  Numbers is = Join(v.is, init.is);
  if (v.type.is_bool()) return {.bound = 1};
  if (v.type.is_int()) {
    is.bound = op == "maximum" || op == "minimum" ? is.bound : op == "add" ? v.is.bound * n + init.is.bound : 1e30;
    is.bound = std::min(is.bound, std::ldexp(1.0, v.type.bits));
    if (is.bound > std::ldexp(1.0, v.type.bits - 1)) is.bound = std::ldexp(1.0, v.type.bits);
    return is;
  }
  if (op != "add") return is;
  const double bound = v.is.bound * n + init.is.bound;
  is = b.Rounded(v.type, bound, v.is.error * n + init.is.error, is);
  if (!is.exact()) is.error += n * std::ldexp(bound, -v.type.significant);
  is.zero_sign = false;
  return is;
}

void Split(Builder& b, const Dims& dims, Dims* reduced, Dims* kept) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (b.random.Chance(2)) {
      reduced->push_back(static_cast<int64_t>(i));
    } else {
      kept->push_back(dims[i]);
    }
  }
}

}  // namespace

void AddReduce(Builder& b) {
  const Value v = b.AnyWhere(Builder::Usable);
  if (v.empty() || !Builder::Usable(v)) return;
  Dims dims, out;
  Split(b, v.dims, &dims, &out);
  if (dims.empty() && b.random.Chance(2)) return;
  Dims listed = dims;
  if (b.random.Chance(4)) std::reverse(listed.begin(), listed.end());
  const std::string_view op = b.random.OneOf(Combiners(v.type));
  const Value init =
      b.random.Chance(3) ? b.Match(v.type, {}) : b.Splat(v.type, {}, b.random.Chance(2) ? 0 : b.Small(v.type));
  int64_t n = 1;
  for (const int64_t d : dims) n *= v.dims[static_cast<size_t>(d)];
  const Numbers is = Folded(b, op, v, init, static_cast<double>(n));
  const Value r = b.EmitHidden(
      fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = {} : ({}, {}) -> {}", v.name,
                  init.name, op, List(listed), Text(v), Text(init), Text(v.type, out)),
      v.type, out, is);
  b.Offer(r);
  if (b.random.Chance(2)) return;
  // Back over the rows, as normalisations do.
  Dims map;
  for (size_t i = 0; i < v.rank(); ++i) {
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) == dims.end())
      map.push_back(static_cast<int64_t>(i));
  }
  const Value spread = b.Broadcast(r, v.dims, map);
  b.Offer(spread);
  if (!b.random.Chance(2) || v.type.is_bool()) return;
  b.Emit(fmt::format("stablehlo.subtract {}, {} : {}", v.name, spread.name, Text(v)), v.type, v.dims,
         AfterBinary(b, "subtract", v.type, v.is, spread.is));
}

/// The place of the largest or smallest element along some dims, ties to the first or the last.
void AddArgReduce(Builder& b) {
  const Value v = b.AnyWhere(
      [](const Value& x) { return x.is.exact() && Builder::Usable(x) && !x.dims.empty() && !x.type.is_complex(); });
  if (v.empty() || v.dims.empty() || !v.is.exact()) return;
  const size_t along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  Dims out = v.dims;
  out.erase(out.begin() + static_cast<int64_t>(along));
  const Type place =
      TypeOf(b.random.OneOf({DType::kS32, DType::kS32, DType::kS64, DType::kU32, DType::kS16, DType::kU8, DType::kS8}));
  const Value index =
      b.EmitHidden(fmt::format("stablehlo.iota dim = {} : {}", along, Text(place, v.dims)), place, v.dims);
  const Value low = b.Splat(v.type, {}, v.type.is_bool() ? 0 : b.random.OneOf<int64_t>({0, 1}));
  const Value zero = b.Splat(place, {}, 0);
  const std::string s = Text(v.type, {});
  const std::string t = Text(place, {});
  const std::string name = b.NewName();
  const bool last = b.random.Chance(4);
  b.Write(
      fmt::format("  {0}:2 = stablehlo.reduce({1} init: {2}), ({3} init: {4}) across dimensions = [{5}] : ({6}, {7}, "
                  "{8}, {14}) -> ({9}, {10})\n"
                  "   reducer(%x: {8}, %y: {8}) (%i: {14}, %j: {14}) {{\n"
                  "    %gt = stablehlo.compare {12}, %x, %y, {11} : ({8}, {8}) -> tensor<i1>\n"
                  "    %eq = stablehlo.compare EQ, %x, %y, {11} : ({8}, {8}) -> tensor<i1>\n"
                  "    %lt = stablehlo.compare {13}, %i, %j, {15} : ({14}, {14}) -> tensor<i1>\n"
                  "    %tie = stablehlo.and %eq, %lt : tensor<i1>\n"
                  "    %pick = stablehlo.or %gt, %tie : tensor<i1>\n"
                  "    %v = stablehlo.select %gt, %x, %y : tensor<i1>, {8}\n"
                  "    %k = stablehlo.select %pick, %i, %j : tensor<i1>, {14}\n"
                  "    stablehlo.return %v, %k : {8}, {14}\n"
                  "  }}\n",
                  name, v.name, low.name, index.name, zero.name, along, Text(v), Text(index), s, Text(v.type, out),
                  Text(place, out), CompareKind(b, v, false), b.random.OneOf({"GT", "LT"}), last ? "GT" : "LT", t,
                  place.is_signed() ? "SIGNED" : "UNSIGNED"));
  b.Offer({name + "#0", v.type, out, Join(v.is, low.is)});
  b.values();
  b.Offer({name + "#1", place, out, {.bound = static_cast<double>(v.dims[along])}});
}

/// Two or three operands with a combiner of their own, associative and commutative but not a plain op.
void AddVariadicReduce(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return x.type.is_int() && !x.dims.empty(); });
  if (v.empty() || !v.type.is_int()) return;
  Dims dims, out;
  Split(b, v.dims, &dims, &out);
  const int64_t form = b.random.Pick(4);
  const Type second_type = form == 0 ? TypeOf(DType::kPred) : v.type;
  const Value w = b.Match(second_type, v.dims);
  const Value init_v = b.Splat(v.type, {}, form == 1 ? 1 : 0);
  const Value init_w = b.Splat(second_type, {}, 0);
  const std::string s = Text(v.type, {});
  const std::string t = Text(second_type, {});
  std::string body;
  if (form == 0) {
    // Sum and "any".
    body = fmt::format("    %a = stablehlo.add %x, %y : {0}\n    %b = stablehlo.or %i, %j : {1}\n", s, t);
  } else if (form == 1) {
    // Composition of x -> a x + b is associative; with b = 0 for the initial value also neutral. Not commutative, so
    // the parts are taken apart: product and xor.
    body = fmt::format("    %a = stablehlo.multiply %x, %y : {0}\n    %b = stablehlo.xor %i, %j : {1}\n", s, t);
  } else if (form == 2) {
    // Results swapped against operands.
    body = fmt::format("    %a = stablehlo.maximum %x, %y : {0}\n    %b = stablehlo.add %i, %j : {1}\n", s, t);
  } else {
    // Largest by the first, the second as tie break, both carried.
    const char* kind = v.type.is_signed() ? "SIGNED" : "UNSIGNED";
    body = fmt::format(
        "    %gt = stablehlo.compare GT, %x, %y, {2} : ({0}, {0}) -> tensor<i1>\n"
        "    %eq = stablehlo.compare EQ, %x, %y, {2} : ({0}, {0}) -> tensor<i1>\n"
        "    %ge = stablehlo.compare GE, %i, %j, {2} : ({1}, {1}) -> tensor<i1>\n"
        "    %t = stablehlo.and %eq, %ge : tensor<i1>\n"
        "    %p = stablehlo.or %gt, %t : tensor<i1>\n"
        "    %a = stablehlo.select %p, %x, %y : tensor<i1>, {0}\n"
        "    %b = stablehlo.select %p, %i, %j : tensor<i1>, {1}\n",
        s, t, kind);
  }
  const std::string name = b.NewName();
  b.Write(fmt::format(
      "  {0}:2 = stablehlo.reduce({1} init: {2}), ({3} init: {4}) across dimensions = {5} : ({6}, {7}, {8}, {9}) -> "
      "({10}, {11})\n"
      "   reducer(%x: {8}, %y: {8}) (%i: {9}, %j: {9}) {{\n{12}    stablehlo.return %a, %b : {8}, {9}\n  }}\n",
      name, v.name, init_v.name, w.name, init_w.name, List(dims), Text(v), Text(w), s, t, Text(v.type, out),
      Text(second_type, out), body));
  if (!b.random.Chance(3)) b.Offer({name + "#0", v.type, out, {.bound = std::ldexp(1.0, v.type.bits)}});
  if (!b.random.Chance(3)) b.Offer({name + "#1", second_type, out, {.bound = std::ldexp(1.0, second_type.bits)}});
}

void AddReduceWindow(Builder& b) {
  const Value v = b.AnyWhere(
      [&](const Value& x) { return Builder::Usable(x) && !x.dims.empty() && b.Affordable(4 * Count(x.dims)); });
  if (v.empty() || v.dims.empty() || !Builder::Usable(v)) return;
  Windows windows;
  // A running sum along one dim is a window of all before.
  const int64_t running = b.random.Chance(3) ? b.random.Pick(static_cast<int64_t>(v.rank())) : -1;
  for (size_t d = 0; d < v.rank(); ++d) {
    const int64_t n = v.dims[d];
    WindowDim w;
    if (running >= 0) {
      const bool here = static_cast<int64_t>(d) == running && n > 0;
      w.size = here ? n : 1;
      (b.random.Chance(3) ? w.high : w.low) = here ? n - 1 : 0;
    } else {
      w.size = b.random.Chance(2) ? 1 : 1 + b.random.Pick(b.random.Chance(8) ? 20 : 4);
      w.stride = b.random.Chance(3) ? 1 + b.random.Pick(3) : 1;
      w.base = b.random.Chance(6) ? 2 : 1;
      w.dilation = b.random.Chance(5) ? 2 : 1;
      w.low = b.random.Chance(2) ? 0 : b.random.Between(-1, 3);
      w.high = b.random.Chance(2) ? 0 : b.random.Between(-1, 3);
    }
    if (!windows.Add(n, w)) return;
  }
  if (!b.Fits(windows.out) || !b.Affordable(Count(windows.out) * windows.points)) return;
  const std::string_view op = b.random.OneOf(Combiners(v.type));
  const Value init = b.Splat(v.type, {}, b.random.Chance(2) ? 0 : b.Small(v.type));
  const std::string s = Text(v.type, {});
  // p + q + p * q, of integers that wrap: no op of its own, and in any order the same.
  const bool spelled = v.type.is_int() && b.random.Chance(3);
  const std::string ahead =
      spelled ? fmt::format("    %t = stablehlo.multiply %p, %q : {0}\n    %r = stablehlo.add %t, %p : {0}\n", s) : "";
  Numbers is = Folded(b, spelled ? "multiply" : op, v, init, static_cast<double>(windows.points));
  b.Emit(
      fmt::format("\"stablehlo.reduce_window\"({}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n{}    %s = stablehlo.{}, %q : {}\n"
                  "    stablehlo.return %s : {}\n  }}) {{{}}} : ({}, {}) -> {}",
                  v.name, init.name, s, s, ahead, spelled ? "add %r" : fmt::format("{} %p", op), s, s,
                  windows.Attributes(true), Text(v), s, Text(v.type, windows.out)),
      v.type, windows.out, is);
}

void AddSelectAndScatter(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) {
    return (x.type.is_int() || x.type.is_float()) && Builder::Usable(x) && x.is.exact() && !x.dims.empty() &&
           x.rank() < 4;
  });
  if (v.empty() || v.dims.empty() || !v.is.exact() || v.type.is_bool() || v.type.is_complex() || !Builder::Usable(v))
    return;
  Windows windows;
  for (const int64_t n : v.dims) {
    WindowDim w;
    w.size = 1 + b.random.Pick(b.random.Chance(6) ? 14 : 3);
    w.stride = 1 + b.random.Pick(3);
    w.low = b.random.Pick(w.size);
    w.high = b.random.Pick(w.size);
    if (n == 0 || !windows.Add(n, w)) return;
  }
  if (!b.Fits(windows.out) || !b.Affordable(4 * Count(windows.out) * windows.points)) return;
  const Value source = b.Match(v.type, windows.out);
  if (!source.is.exact()) return;
  const std::string_view op =
      v.type.is_int() ? b.random.OneOf<std::string_view>({"add", "add", "maximum", "multiply", "xor"}) : "add";
  const Value init = b.Splat(v.type, {}, v.type.is_int() && b.random.Chance(2) ? b.Small(v.type) : 0);
  const std::string s = Text(v.type, {});
  Numbers is = Folded(b, op, source, init, static_cast<double>(windows.points));
  b.Emit(fmt::format("\"stablehlo.select_and_scatter\"({}, {}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n"
                     "    %s = stablehlo.compare {}, %p, %q, {} : ({}, {}) -> tensor<i1>\n    stablehlo.return %s : "
                     "tensor<i1>\n  }}, {{\n"
                     "  ^bb0(%p: {}, %q: {}):\n    %s = stablehlo.{} %p, %q : {}\n    stablehlo.return %s : {}\n  }}) "
                     "{{{}}} : ({}, {}, {}) -> {}",
                     v.name, source.name, init.name, s, s, b.random.OneOf({"GE", "GT", "LE"}), CompareKind(b, v, false),
                     s, s, s, s, op, s, s, windows.Attributes(false), Text(v), Text(source), s, Text(v)),
         v.type, v.dims, is);
}

/// The sum of sums of rows that all differ in length.
void AddManyRowSums(Builder& b) {
  const Value v = b.AnyWhere(
      [](const Value& x) { return Builder::Usable(x) && x.rank() == 1 && x.dims[0] >= 8 && !x.type.is_bool(); });
  if (v.empty() || v.rank() != 1 || v.dims[0] < 8 || v.type.is_bool() || !Builder::Usable(v)) return;
  const int64_t n = b.random.Chance(3) ? std::min<int64_t>(40, v.dims[0]) : b.random.Between(2, 6);
  const Value zero = b.Splat(v.type, {}, 0);
  Value sum = zero;
  for (int64_t i = 0; i < n; ++i) {
    const Dims dims = {v.dims[0] - i};
    const Value cut = b.EmitHidden(fmt::format("stablehlo.slice {} [{}:{}] : ({}) -> {}", v.name, i % 3,
                                               i % 3 + std::max<int64_t>(0, dims[0] - i % 3), Text(v),
                                               Text(v.type, {std::max<int64_t>(0, dims[0] - i % 3)})),
                                   v.type, {std::max<int64_t>(0, dims[0] - i % 3)}, v.is);
    const Value r = b.EmitHidden(
        fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.add across dimensions = [0] : ({}, {}) -> {}",
                    cut.name, zero.name, Text(cut), Text(zero), Text(v.type, {})),
        v.type, {}, Folded(b, "add", cut, zero, static_cast<double>(v.dims[0])));
    sum = b.EmitHidden(fmt::format("stablehlo.add {}, {} : {}", sum.name, r.name, Text(sum)), v.type, {},
                       AfterBinary(b, "add", v.type, sum.is, r.is));
  }
  b.Offer(sum);
}

/// A plain combiner spelt with several ops: a selection, operands in the other order, something that does nothing.
void AddWrittenOutReduce(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return x.type.is_int() && !x.dims.empty(); });
  if (v.empty() || !v.type.is_int() || v.dims.empty()) return;
  Dims dims, out;
  Split(b, v.dims, &dims, &out);
  const std::string s = Text(v.type, {});
  const Value init = b.Splat(v.type, {}, b.random.Chance(2) ? 0 : b.Small(v.type));
  const char* kind = v.type.is_signed() ? "SIGNED" : "UNSIGNED";
  std::string body;
  switch (b.random.Pick(5)) {
    case 0:
      body = fmt::format(
          "    %c = stablehlo.compare {1}, %x, %y, {2} : ({0}, {0}) -> tensor<i1>\n    %r = stablehlo.select %c, %x, "
          "%y : tensor<i1>, {0}\n",
          s, b.random.OneOf({"GT", "GE", "LT", "LE"}), kind);
      break;
    case 1:
      body = fmt::format(
          "    %c = stablehlo.compare LT, %x, %y, {1} : ({0}, {0}) -> tensor<i1>\n    %r = stablehlo.select %c, %y, %x "
          ": tensor<i1>, {0}\n",
          s, kind);
      break;
    case 2:
      body = fmt::format("    %r = stablehlo.add %y, %x : {0}\n", s);
      break;
    case 3:
      body = fmt::format(
          "    %z = stablehlo.constant dense<0> : {0}\n    %t = stablehlo.add %x, %z : {0}\n    %r = stablehlo.xor %t, "
          "%y : {0}\n",
          s);
      break;
    default:
      // x + y + x y: associative and commutative, no op of its own.
      body = fmt::format(
          "    %m = stablehlo.multiply %x, %y : {0}\n    %t = stablehlo.add %x, %y : {0}\n    %r = stablehlo.add %m, "
          "%t : {0}\n",
          s);
      break;
  }
  b.Emit(fmt::format("stablehlo.reduce({0} init: {1}) across dimensions = {2} : ({3}, {4}) -> {5}\n   reducer(%x: {4}, "
                     "%y: {4}) {{\n{6}"
                     "    stablehlo.return %r : {4}\n  }}",
                     v.name, init.name, List(dims), Text(v), s, Text(v.type, out), body),
         v.type, out, {.bound = std::ldexp(1.0, v.type.bits)});
}

}  // namespace tenon::fuzz
