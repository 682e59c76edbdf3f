#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"
#include "test/fuzz_programs/window.h"

namespace tenon::fuzz {
namespace {

constexpr size_t kMaxFolded = 4;

/// Several values of one shape that fold into one of each by a combiner that is associative, and in most forms not
/// commutative: elements keep their order, however they are grouped.
struct Fold {
  std::vector<Value> operands, inits;
  std::string body;                  ///< Reads %x0 and %y0, %x1 and %y1 ...; ends in its return.
  std::vector<Numbers> results;      ///< What is known of them.
  std::vector<std::string> yielded;  ///< Their names in the body.
};

std::string Each(const std::vector<Value>& values, const std::function<std::string(size_t, const std::string&)>& one) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) text += (text.empty() ? "" : ", ") + one(i, Text(values[i].type, {}));
  return text;
}

/// A fold over `dims` of something like `v`, an integer or an exact float; at most `n` elements meet.
Fold AnyFold(Builder& b, const Value& v, double n) {
  Fold f;
  const std::string s = Text(v.type, {});
  const auto line = [&](const std::string& text) { f.body += "    " + text + "\n"; };
  const auto op = [&](const char* result, const char* name, const char* x, const char* y) {
    line(fmt::format("{} = stablehlo.{} {}, {} : {}", result, name, x, y, s));
  };
  const Numbers wraps{.bound = std::ldexp(1.0, v.type.bits)};
  const Value zero = b.Splat(v.type, {}, 0);
  const int64_t form = v.type.is_int() ? b.random.Pick(5) : b.random.Pick(2);
  switch (form) {
    case 0: {  // The first, or the last, that is not zero.
      const bool first = b.random.Chance(2);
      f.operands = {v};
      f.inits = {zero};
      line(fmt::format("%z = stablehlo.constant dense<0{}> : {}", v.type.is_float() ? ".0" : "", s));
      line(fmt::format("%p = stablehlo.compare NE, {}, %z : ({}, {}) -> tensor<i1>", first ? "%x0" : "%y0", s, s));
      line(fmt::format("%a = stablehlo.select %p, {} : tensor<i1>, {}", first ? "%x0, %y0" : "%y0, %x0", s));
      f.results = {v.is};
      f.results[0].zero_sign = false;
      f.yielded = {"%a"};
      break;
    }
    case 1: {  // Sums that begin anew where a flag says so.
      const Value flag = b.Match(TypeOf(DType::kPred), v.dims);
      f.operands = {flag, v};
      f.inits = {b.Splat(flag.type, {}, 0), zero};
      line("%a = stablehlo.or %x0, %y0 : tensor<i1>");
      op("%t", "add", "%x1", "%y1");
      line(fmt::format("%b = stablehlo.select %y0, %y1, %t : tensor<i1>, {}", s));
      f.results = {{.bound = 1}, v.type.is_int() ? wraps : b.Rounded(v.type, v.is.bound * (n + 1), 0, v.is)};
      f.results[1].zero_sign = false;
      f.yielded = {"%a", "%b"};
      break;
    }
    case 2: {  // x -> a x + b, one after the other.
      f.operands = {v, b.Match(v.type, v.dims)};
      f.inits = {b.Splat(v.type, {}, 1), zero};
      op("%a", "multiply", "%x0", "%y0");
      op("%t", "multiply", "%y0", "%x1");
      op("%b", "add", "%t", "%y1");
      f.results = {wraps, wraps};
      f.yielded = {"%a", "%b"};
      break;
    }
    case 3: {  // Matrices of two rows.
      f.operands = {v, b.Match(v.type, v.dims), b.Match(v.type, v.dims), b.Match(v.type, v.dims)};
      const Value one = b.Splat(v.type, {}, 1);
      f.inits = {one, zero, zero, one};
      for (const char* r : {"0", "1"}) {
        for (const char* c : {"0", "1"}) {
          const int x = r[0] == '0' ? 0 : 2, y = c[0] == '0' ? 0 : 1;
          const std::string at = std::string(r) + c;
          op(("%s" + at).c_str(), "multiply", fmt::format("%x{}", x).c_str(), fmt::format("%y{}", y).c_str());
          op(("%t" + at).c_str(), "multiply", fmt::format("%x{}", x + 1).c_str(), fmt::format("%y{}", y + 2).c_str());
          op(("%m" + at).c_str(), "add", ("%s" + at).c_str(), ("%t" + at).c_str());
          f.yielded.push_back("%m" + at);
          f.results.push_back(wraps);
        }
      }
      break;
    }
    default: {  // Of three types, each by an op of its own; one of them not looked at by the others.
      const Type other = TypeOf(b.random.OneOf({DType::kS32, DType::kU8, DType::kS64, DType::kU16}));
      const Value flag = b.Match(TypeOf(DType::kPred), v.dims), w = b.Match(other, v.dims);
      const std::string t = Text(other, {});
      f.operands = {w, v, flag};
      f.inits = {b.Splat(other, {}, 0), zero, b.Splat(flag.type, {}, 0)};
      line(fmt::format("%a = stablehlo.{} %x0, %y0 : {}", b.random.OneOf({"add", "xor", "or"}), t));
      op("%b", b.random.OneOf({"add", "xor", "or"}), "%y1", "%x1");
      line("%c = stablehlo.xor %x2, %y2 : tensor<i1>");
      f.results = {{.bound = std::ldexp(1.0, other.bits)}, wraps, {.bound = 1}};
      f.yielded = {"%a", "%b", "%c"};
      break;
    }
  }
  std::string types;
  for (const Value& o : f.operands) types += (types.empty() ? "" : ", ") + Text(o.type, {});
  std::string names;
  for (const std::string& y : f.yielded) names += (names.empty() ? "" : ", ") + y;
  line(fmt::format("stablehlo.return {} : {}", names, types));
  return f;
}

/// `%x0: t, %x1: u, %y0: t, %y1: u`, as regions of reductions have them.
std::string Arguments(const Fold& f) {
  const auto named = [&](const char* prefix) {
    return Each(f.operands,
                [&](size_t i, const std::string& type) { return fmt::format("%{}{}: {}", prefix, i, type); });
  };
  return named("x") + ", " + named("y");
}

void Offer(Builder& b, const Fold& f, const std::string& name, const Dims& dims) {
  for (size_t i = 0; i < f.operands.size(); ++i) {
    if (f.operands.size() > 1 && b.random.Chance(4)) continue;
    b.Offer({ResultOf(name, f.operands.size(), i), f.operands[i].type, dims, f.results[i]});
  }
}

Value FoldedOperand(Builder& b) {
  const auto suits = [&](const Value& x) {
    return (x.type.is_int() || x.type.is_float()) && x.type.bits >= 8 && !x.dims.empty() && Builder::Usable(x) &&
           x.is.exact() && b.Affordable(static_cast<int64_t>(kMaxFolded) * Count(x.dims));
  };
  const Value v = b.AnyWhere(suits);
  return !v.empty() && suits(v) ? v : Value{};
}

}  // namespace

/// Reductions, windows and scans by combiners that depend on the order of elements.
void AddOrderedReduce(Builder& b) {
  const Value v = FoldedOperand(b);
  if (v.empty()) return;
  const Fold f = AnyFold(b, v, static_cast<double>(Count(v.dims)));
  Dims over, out;
  for (size_t d = 0; d < v.rank(); ++d) {
    if (b.random.Chance(2)) {
      over.push_back(static_cast<int64_t>(d));
    } else {
      out.push_back(v.dims[d]);
    }
  }
  const std::string name = b.NewName();
  b.Write(
      fmt::format("  {} = \"stablehlo.reduce\"({}, {}) ({{\n  ^bb0({}):\n{}  }}) {{dimensions = {}}} : ({}, {}) -> "
                  "({})\n",
                  ResultsOf(name, f.operands.size()), Names(f.operands), Names(f.inits), Arguments(f), f.body,
                  Array(over), Types(f.operands), Types(f.inits),
                  Each(f.operands, [&](size_t i, const std::string&) { return Text(f.operands[i].type, out); })));
  Offer(b, f, name, out);
}

void AddOrderedWindow(Builder& b) {
  const Value v = FoldedOperand(b);
  if (v.empty() || v.rank() > 3) return;
  Windows windows;
  const int64_t running = b.random.Chance(2) ? b.random.Pick(static_cast<int64_t>(v.rank())) : -1;
  for (size_t d = 0; d < v.rank(); ++d) {
    const int64_t n = v.dims[d];
    const bool here = static_cast<int64_t>(d) == running && n > 0, moves = running < 0;
    WindowDim w;
    w.size = here ? n : moves && b.random.Chance(2) ? 1 + b.random.Pick(b.random.Chance(4) ? 30 : 3) : 1;
    w.stride = moves && b.random.Chance(3) ? 1 + b.random.Pick(4) : 1;
    w.base = moves && b.random.Chance(6) ? 1 + b.random.Pick(3) : 1;
    w.dilation = moves && b.random.Chance(5) ? 1 + b.random.Pick(3) : 1;
    w.low = moves && b.random.Chance(2) ? b.random.Between(-1, 3) : 0;
    w.high = moves && b.random.Chance(2) ? b.random.Between(-1, 3) : 0;
    if (here) (b.random.Chance(2) ? w.high : w.low) = n - 1;
    if (!windows.Add(n, w)) return;
  }
  if (!b.Fits(windows.out) || !b.Affordable(4 * Count(windows.out) * windows.points)) return;
  const Fold f = AnyFold(b, v, static_cast<double>(windows.points));
  const std::string name = b.NewName();
  b.Write(fmt::format(
      "  {} = \"stablehlo.reduce_window\"({}, {}) ({{\n  ^bb0({}):\n{}  }}) {{{}}} : ({}, {}) -> ({})\n",
      ResultsOf(name, f.operands.size()), Names(f.operands), Names(f.inits), Arguments(f), f.body,
      windows.Attributes(true), Types(f.operands), Types(f.inits),
      Each(f.operands, [&](size_t i, const std::string&) { return Text(f.operands[i].type, windows.out); })));
  Offer(b, f, name, windows.out);
}

/// A function under a name, as libraries mark what other compilers know.
void AddComposite(Builder& b) {
  if (b.depth() > 2 || b.functions.size() > 4) return;
  const Function f = NewFunction(b);
  const std::string name = b.NewName();
  b.Write(fmt::format("  {} = stablehlo.composite \"fuzz.marked\" {} {{decomposition = {}}} : ({}) -> ({})\n",
                      ResultsOf(name, f.yields.size()), Names(f.arguments), f.name, Types(f.arguments),
                      Types(f.yields)));
  b.OfferResults(name, f.yields);
}

/// Many small parts in one array: pieces of the same few values, some of them computed, repeated or empty.
void AddManyParts(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty() && Count(x.dims) > 0; });
  if (v.empty() || v.dims.empty() || Count(v.dims) == 0) return;
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const int64_t n = v.dims[along], wanted = b.random.Chance(3) ? b.random.Between(33, 90) : b.random.Between(8, 20);
  const int64_t most = std::min<int64_t>(wanted, b.limits.elements / std::max<int64_t>(1, Count(v.dims) / n) / 3);
  std::vector<Value> parts;
  int64_t total = 0;
  for (int64_t i = 0; i < most; ++i) {
    const int64_t length = std::min<int64_t>(n, b.random.OneOf<int64_t>({0, 1, 1, 1, 2, 3}));
    if (!parts.empty() && b.random.Chance(5)) {
      parts.push_back(b.random.OneOf(parts));
    } else {
      const int64_t start = b.random.Pick(n - length + 1);
      std::string ranges;
      Dims dims = v.dims;
      dims[along] = length;
      for (size_t d = 0; d < v.rank(); ++d) {
        const int64_t from = d == along ? start : 0;
        ranges += fmt::format("{}{}:{}", d ? ", " : "", from, from + dims[d]);
      }
      Value part =
          b.EmitHidden(fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", v.name, ranges, Text(v), Text(v.type, dims)),
                       v.type, dims, v.is);
      if (!v.type.is_complex() && Builder::Usable(v) && b.random.Chance(3)) {
        const Value with = b.Match(v.type, dims);
        const std::string_view op = v.type.is_bool() ? "xor" : b.random.Chance(2) ? "maximum" : "add";
        const Numbers is = AfterBinary(b, op, v.type, v.is, with.is);
        if (is.exact())
          part = b.EmitHidden(fmt::format("stablehlo.{} {}, {} : {}", op, part.name, with.name, Text(part)), v.type,
                              dims, is);
      }
      parts.push_back(part);
    }
    total += parts.back().dims[along];
  }
  if (parts.empty()) return;
  Dims dims = v.dims;
  dims[along] = total;
  if (!b.Fits(dims)) return;
  Numbers is = parts[0].is;
  for (const Value& part : parts) is = Join(is, part.is);
  b.Emit(fmt::format("stablehlo.concatenate {}, dim = {} : ({}) -> {}", Names(parts), along, Types(parts),
                     Text(v.type, dims)),
         v.type, dims, is);
}

/// What devices exchange, of one device: itself.
void AddCollective(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty(); });
  if (v.empty() || v.dims.empty()) return;
  const auto along = b.random.Pick(static_cast<int64_t>(v.rank()));
  const std::string groups = "replica_groups = dense<0> : tensor<1x1xi64>", s = Text(v.type, {});
  const std::string sum = fmt::format(
      "({{\n  ^bb0(%p: {0}, %q: {0}):\n    %s = stablehlo.{1} %p, %q : {0}\n    "
      "stablehlo.return %s : {0}\n  }})",
      s, v.type.is_bool() ? "or" : "add");
  const auto emit = [&](const std::string& text) {
    b.Emit(fmt::format("{} : ({}) -> {}", text, Text(v), Text(v)), v.type, v.dims, v.is);
  };
  switch (b.random.Pick(7)) {
    case 0:
      return emit(fmt::format("\"stablehlo.all_reduce\"({}) {} {{{}}}", v.name, sum, groups));
    case 1:
      return emit(fmt::format("\"stablehlo.all_gather\"({}) {{all_gather_dim = {} : i64, {}}}", v.name, along, groups));
    case 2:
      return emit(
          fmt::format("\"stablehlo.all_to_all\"({}) {{split_dimension = {} : i64, concat_dimension = {} : i64, "
                      "split_count = 1 : i64, {}}}",
                      v.name, along, b.random.Pick(static_cast<int64_t>(v.rank())), groups));
    case 3:
      return emit(fmt::format("\"stablehlo.reduce_scatter\"({}) {} {{scatter_dimension = {} : i64, {}}}", v.name, sum,
                              along, groups));
    case 4: {
      // To itself, or to nobody: zeros come.
      const bool sends = b.random.Chance(2);
      const std::string pairs = sends ? "dense<0> : tensor<1x2xi64>" : "dense<> : tensor<0x2xi64>";
      b.Emit(fmt::format("\"stablehlo.collective_permute\"({}) {{source_target_pairs = {}}} : ({}) -> {}", v.name,
                         pairs, Text(v), Text(v)),
             v.type, v.dims, sends ? v.is : Numbers{.bound = 0});
      return;
    }
    case 5:
      return emit(fmt::format("\"stablehlo.collective_broadcast\"({}) {{{}}}", v.name, groups));
    default: {
      const Type id = TypeOf(DType::kU32);
      b.Emit(fmt::format("stablehlo.{} : {}", b.random.OneOf({"partition_id", "replica_id"}), Text(id, {})), id, {},
             {.bound = 1});
    }
  }
}

/// Lookups by older names, and places that are operands.
void AddOldLookup(Builder& b) {
  const Value v = b.AnyWhere([](const Value& x) { return !x.dims.empty() && Count(x.dims) > 0; });
  if (v.empty() || v.dims.empty() || Count(v.dims) == 0) return;
  const auto along = static_cast<size_t>(b.random.Pick(static_cast<int64_t>(v.rank())));
  const Type type = TypeOf(b.random.OneOf({DType::kS32, DType::kS64}));
  const Value places = b.Match(type, {1 + b.random.Pick(6)});
  Dims dims = v.dims;
  dims[along] = places.dims[0];
  if (!b.Fits(dims)) return;
  // In range: outside of it, the op says nothing.
  const Value low = b.Splat(type, {}, 0), high = b.Splat(type, {}, v.dims[along] - 1);
  const Value inside =
      b.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", low.name, places.name, high.name,
                               Text(low), Text(places), Text(high), Text(places)),
                   type, places.dims, {.bound = static_cast<double>(v.dims[along])});
  b.Emit(
      fmt::format("\"stablehlo.torch_index_select\"({}, {}) {{dim = {} : i64, batch_dims = 0 : i64}} : ({}, {}) -> {}",
                  v.name, inside.name, along, Text(v), Text(inside), Text(v.type, dims)),
      v.type, dims, v.is);
}

}  // namespace tenon::fuzz
