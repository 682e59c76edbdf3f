#include "test/compiler/wide_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace tenon::test {
namespace {

using Dims = std::vector<int64_t>;

enum class Kind { kBool, kSigned, kUnsigned, kFloat };
struct Type {
  const char* name;
  Kind kind;
  int bits;
  double exact;  // Floats: integers up to here are exact.
};
constexpr Type kF32{"f32", Kind::kFloat, 32, 1 << 23};
constexpr Type kI32{"i32", Kind::kSigned, 32, 0};
constexpr Type kI1{"i1", Kind::kBool, 1, 0};
constexpr Type kTypes[] = {kF32,
                           kF32,
                           kI32,
                           kI1,
                           {"f64", Kind::kFloat, 64, 1e12},
                           {"bf16", Kind::kFloat, 16, 256},
                           {"f16", Kind::kFloat, 16, 2048},
                           {"i64", Kind::kSigned, 64, 0},
                           {"i8", Kind::kSigned, 8, 0},
                           {"i16", Kind::kSigned, 16, 0},
                           {"ui8", Kind::kUnsigned, 8, 0},
                           {"ui16", Kind::kUnsigned, 16, 0},
                           {"ui32", Kind::kUnsigned, 32, 0},
                           {"ui64", Kind::kUnsigned, 64, 0}};
bool operator==(const Type& a, const Type& b) { return std::string_view(a.name) == b.name; }

constexpr double kMaxInexact = 1e4;
constexpr int64_t kMaxElements = 6000;

struct Value {
  std::string name;
  Type type = kF32;
  Dims dims;
  double bound = 0;   // Floats: no element is larger in magnitude.
  bool exact = true;  // Floats: integers, computed without rounding.
  bool is_float() const { return type.kind == Kind::kFloat; }
  bool is_int() const { return type.kind == Kind::kSigned || type.kind == Kind::kUnsigned; }
};

std::string Text(const Type& type, const Dims& dims) {
  std::string t = "tensor<";
  for (int64_t d : dims) t += fmt::format("{}x", d);
  return t + type.name + ">";
}
std::string Text(const Value& v) { return Text(v.type, v.dims); }
int64_t Count(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}
std::string List(const Dims& d) { return fmt::format("[{}]", fmt::join(d, ", ")); }

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed * 7919 + 17) {}

  std::string Make(int ops) {
    std::string args;
    const int count = 2 + Pick(3);
    std::vector<Value> raw;
    for (int i = 0; i < count; ++i) {
      Value v{fmt::format("%a{}", i), i == 0 ? kF32 : AnyType(), {}, 24, false};
      for (int d = Pick(4); d > 0; --d) v.dims.push_back(Extent());
      args += (i ? ", " : "") + v.name + ": " + Text(v);
      raw.push_back(v);
    }
    for (const Value& v : raw) {
      if (!v.is_float()) {
        values_.push_back(v);
        values_.back().exact = true;
        continue;
      }
      Emit(fmt::format("stablehlo.floor {} : {}", v.name, Text(v)), v.type, v.dims, 24, true);
      if (Pick(3) == 0 && v.type.bits >= 32) values_.push_back(v);
    }
    for (int i = 0; i < ops; ++i) AddOp();
    std::string results, types;
    const size_t outs = std::min<size_t>(values_.size(), 1 + static_cast<size_t>(Pick(4)));
    for (size_t i = 0; i < outs; ++i) {
      const Value& v = values_[values_.size() - 1 - i];
      results += (i ? ", " : "") + v.name;
      types += (i ? ", " : "") + Text(v);
    }
    return fmt::format("func.func @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n", args, types, body_, results, types);
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(std::max(n, 1))); }
  int64_t PickWide(int64_t n) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(std::max<int64_t>(n, 1)));
  }
  bool Chance(int one_in) { return Pick(one_in) == 0; }
  int64_t Extent() {
    return std::vector<int64_t>{
        0, 1, 1, 2, 3, 4, 5, 8, 17, 33}[static_cast<size_t>(Chance(4) ? Pick(10) : 1 + Pick(9))];
  }
  Type AnyType() { return kTypes[Pick(static_cast<int>(std::size(kTypes)))]; }
  /// One of the latest values, rather one with elements to work on.
  Value Any() {
    Value v;
    for (int tries = 0; tries < 3; ++tries) {
      v = values_[values_.size() - 1 -
                  static_cast<size_t>(Pick(static_cast<int>(std::min<size_t>(values_.size(), 8))))];
      if (Count(v.dims) > 1) break;
    }
    return v;
  }
  Value AnyWhere(const std::function<bool(const Value&)>& want) {
    for (int i = 0; i < 10; ++i) {
      if (const Value v = Any(); want(v)) return v;
    }
    return {};
  }

  Value Emit(const std::string& text, const Type& type, Dims dims, double bound = 0, bool exact = true) {
    const std::string name = fmt::format("%{}", next_++);
    body_ += fmt::format("  {} = {}\n", name, text);
    values_.push_back({name, type, std::move(dims), bound, exact});
    return values_.back();
  }
  Value Like(const std::string& text, const Value& v) { return Emit(text, v.type, v.dims, v.bound, v.exact); }

  /// A splat that is not offered to later ops.
  Value Constant(const Type& type, const Dims& dims, int64_t v) {
    const std::string literal = type.kind == Kind::kBool    ? (v & 1 ? "true" : "false")
                                : type.kind == Kind::kFloat ? fmt::format("{}.0", v)
                                                            : fmt::format("{}", v);
    const Value c = Emit(fmt::format("stablehlo.constant dense<{}> : {}", literal, Text(type, dims)), type, dims,
                         std::abs(static_cast<double>(v)));
    values_.pop_back();
    return c;
  }
  int64_t Small(const Type& type) {
    return type.kind == Kind::kUnsigned || type.kind == Kind::kBool ? Pick(6) : Pick(9) - 4;
  }

  /// A value of this type and these dims: an existing one, a broadcast of one, or a constant.
  Value Match(const Type& type, const Dims& dims) {
    for (int tries = 0; tries < 8; ++tries) {
      const Value v = Any();
      if (!(v.type == type)) continue;
      if (v.dims == dims) return v;
      if (v.dims.size() > dims.size()) continue;
      // Dims of v go to increasing dims of the result where extents agree or are one.
      Dims map;
      size_t d = 0;
      for (int64_t extent : v.dims) {
        while (d < dims.size() && extent != dims[d] && extent != 1) ++d;
        if (d == dims.size()) break;
        map.push_back(static_cast<int64_t>(d++));
      }
      if (map.size() != v.dims.size()) continue;
      return Emit(fmt::format("stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> {}", v.name, List(map), Text(v),
                              Text(type, dims)),
                  type, dims, v.bound, v.exact);
    }
    return Constant(type, dims, Small(type));
  }

  /// Floats whose exact integers have grown too large become inexact, inexact ones that have grown too large go away.
  void Trim() {
    Value& v = values_.back();
    bool drop = Count(v.dims) > kMaxElements;
    if (v.is_float()) {
      if (v.exact && v.bound > v.type.exact) drop = true;
      if (!v.exact && (v.type.bits < 32 || v.bound > kMaxInexact)) drop = true;
    }
    if (drop) values_.pop_back();
  }

  void AddOp() {
    const size_t before = values_.size();
    switch (Pick(26)) {
      case 0:
      case 1:
      case 2:
        Binary();
        break;
      case 3:
        Unary();
        break;
      case 4:
      case 5:
        Convert();
        break;
      case 6:
        Compare();
        break;
      case 7:
      case 8:
        Select();
        break;
      case 9:
        Transpose();
        break;
      case 10:
      case 11:
        Reduce();
        break;
      case 12:
        ArgReduce();
        break;
      case 13:
        Slice();
        break;
      case 14:
        DynamicSlice();
        break;
      case 15:
        DynamicUpdate();
        break;
      case 16:
        Concatenate();
        break;
      case 17:
        Pad();
        break;
      case 18:
        Reshape();
        break;
      case 19:
        Reverse();
        break;
      case 20:
        Iota();
        break;
      case 21:
        Dot();
        break;
      case 22:
        Gather();
        break;
      case 23:
        Loop();
        break;
      case 24:
        Branch();
        break;
      case 25:
        Chance(2) ? Scatter() : Window();
        break;
    }
    if (values_.size() > before) Trim();
  }

  void Binary() {
    const Value v = Any();
    const Value w = Match(v.type, v.dims);
    std::vector<const char*> ops = {"add", "subtract", "multiply", "maximum", "minimum"};
    if (v.type.kind == Kind::kBool) ops = {"and", "or", "xor", "maximum", "minimum", "add", "multiply"};
    if (v.is_int())
      ops = {"add",
             "subtract",
             "multiply",
             "maximum",
             "minimum",
             "and",
             "or",
             "xor",
             "divide",
             "remainder",
             "shift_left",
             "shift_right_logical",
             "shift_right_arithmetic"};
    const std::string op = ops[static_cast<size_t>(Pick(static_cast<int>(ops.size())))];
    double bound = std::max(v.bound, w.bound);
    if (op == "add" || op == "subtract") bound = v.bound + w.bound;
    if (op == "multiply") bound = v.bound * w.bound;
    Emit(fmt::format("stablehlo.{} {}, {} : {}", op, v.name, w.name, Text(v)), v.type, v.dims, bound,
         v.exact && w.exact);
  }

  void Unary() {
    const Value v = Any();
    if (v.is_float()) {
      if (v.exact && Chance(2)) {
        const char* ops[] = {"negate", "abs", "floor", "ceil", "round_nearest_even", "sign", "round_nearest_afz"};
        Like(fmt::format("stablehlo.{} {} : {}", ops[Pick(7)], v.name, Text(v)), v);
        return;
      }
      if (v.type.bits < 32) return;
      const char* ops[] = {"tanh", "logistic", "sine", "cosine"};
      Emit(fmt::format("stablehlo.{} {} : {}", ops[v.bound > 50 ? Pick(2) : Pick(4)], v.name, Text(v)), v.type, v.dims,
           1, false);
      return;
    }
    if (v.type.kind == Kind::kBool) {
      Like(fmt::format("stablehlo.not {} : {}", v.name, Text(v)), v);
      return;
    }
    std::vector<const char*> ops = {"not", "negate", "count_leading_zeros", "popcnt"};
    if (v.type.kind == Kind::kSigned) ops.insert(ops.end(), {"abs", "sign"});
    Like(fmt::format("stablehlo.{} {} : {}", ops[static_cast<size_t>(Pick(static_cast<int>(ops.size())))], v.name,
                     Text(v)),
         v);
  }

  void Convert() {
    const Value v = Any();
    const Type to = AnyType();
    double bound = v.bound;
    if (v.is_float()) {
      if (!v.exact && !(to == v.type)) return;
      if (to.kind == Kind::kFloat && v.exact && v.bound > to.exact) return;
    } else if (to.kind == Kind::kFloat) {
      bound = v.type.kind == Kind::kBool ? 1 : std::pow(2.0, v.type.bits);
      if (bound > to.exact) return;
    }
    Emit(fmt::format("stablehlo.convert {} : ({}) -> {}", v.name, Text(v), Text(to, v.dims)), to, v.dims, bound,
         v.exact);
  }

  Value CompareTo(const Value& v, const Value& w) {
    const char* directions[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    const char* kind = v.is_float()                   ? (Chance(3) ? "TOTALORDER" : "FLOAT")
                       : v.type.kind == Kind::kSigned ? "SIGNED"
                                                      : "UNSIGNED";
    return Emit(fmt::format("stablehlo.compare {}, {}, {}, {} : ({}, {}) -> {}", directions[Pick(6)], v.name, w.name,
                            kind, Text(v), Text(w), Text(kI1, v.dims)),
                kI1, v.dims);
  }
  void Compare() {
    const Value v = Any();
    const Value w = Match(v.type, v.dims);
    if (!v.exact || !w.exact) return;
    CompareTo(v, w);
  }

  void Select() {
    const Value v = Any();
    const Value w = Match(v.type, v.dims);
    if (Chance(3) && v.type.kind != Kind::kBool) {
      const bool scalar = Chance(2);
      const Dims dims = scalar ? Dims() : v.dims;
      const int64_t low = Small(v.type);
      const Value a = Constant(v.type, dims, low);
      const Value b = Chance(2) && w.dims == dims ? w : Constant(v.type, dims, low + 5);
      Emit(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", a.name, v.name, b.name, Text(a), Text(v),
                       Text(b), Text(v)),
           v.type, v.dims, std::max(v.bound, std::max(b.bound, 10.0)), v.exact && b.exact);
      return;
    }
    const Value p = Match(kI1, Chance(4) ? Dims() : v.dims);
    Emit(fmt::format("stablehlo.select {}, {}, {} : {}, {}", p.name, v.name, w.name, Text(p), Text(v)), v.type, v.dims,
         std::max(v.bound, w.bound), v.exact && w.exact);
  }

  Dims Permutation(size_t n) {
    Dims p;
    for (size_t i = 0; i < n; ++i) p.push_back(static_cast<int64_t>(i));
    std::shuffle(p.begin(), p.end(), random_);
    return p;
  }

  void Transpose() {
    const Value v = Any();
    const Dims permutation = Permutation(v.dims.size());
    Dims out;
    for (int64_t p : permutation) out.push_back(v.dims[static_cast<size_t>(p)]);
    Emit(fmt::format("stablehlo.transpose {}, dims = {} : ({}) -> {}", v.name, List(permutation), Text(v),
                     Text(v.type, out)),
         v.type, out, v.bound, v.exact);
  }

  void Reduce() {
    const Value v = Any();
    Dims dims, out;
    for (size_t i = 0; i < v.dims.size(); ++i) {
      if (Chance(2))
        dims.push_back(static_cast<int64_t>(i));
      else
        out.push_back(v.dims[i]);
    }
    if (dims.empty() && Chance(2)) return;
    std::vector<const char*> ops = {"add", "maximum", "minimum"};
    if (v.type.kind == Kind::kBool) ops = {"and", "or"};
    if (v.is_int()) ops = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
    const std::string op = ops[static_cast<size_t>(Pick(static_cast<int>(ops.size())))];
    const Value init = Chance(3) ? Match(v.type, {}) : Constant(v.type, {}, Small(v.type));
    const double n = static_cast<double>(std::max<int64_t>(Count(v.dims), 1));
    Emit(fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = {} : ({}, {}) -> {}",
                     v.name, init.name, op, List(dims), Text(v), Text(init), Text(v.type, out)),
         v.type, out, op == "add" ? v.bound * n + init.bound : std::max(v.bound, init.bound), v.exact && init.exact);
    if (Chance(2)) return;
    // Back over the rows, as normalisations do.
    Trim();
    if (values_.back().dims != out || !(values_.back().type == v.type)) return;
    const Value r = values_.back();
    Dims map;
    for (size_t i = 0; i < v.dims.size(); ++i) {
      if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) == dims.end())
        map.push_back(static_cast<int64_t>(i));
    }
    Emit(fmt::format("stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> {}", r.name, List(map), Text(r), Text(v)),
         v.type, v.dims, r.bound, r.exact);
  }

  /// The place of the largest element along one dim, as JAX writes it.
  void ArgReduce() {
    const Value v = AnyWhere([](const Value& x) { return x.exact && !x.dims.empty() && x.type.kind != Kind::kBool; });
    if (v.dims.empty()) return;
    const size_t along = static_cast<size_t>(Pick(static_cast<int>(v.dims.size())));
    Dims out = v.dims;
    out.erase(out.begin() + static_cast<long>(along));
    const Value index = Emit(fmt::format("stablehlo.iota dim = {} : {}", along, Text(kI32, v.dims)), kI32, v.dims);
    const Value low = Constant(v.type, {}, 0);
    const Value zero = Constant(kI32, {}, 0);
    const std::string s = Text(v.type, {});
    const std::string name = fmt::format("%{}", next_++);
    const char* kind = v.is_float() ? "FLOAT" : v.type.kind == Kind::kSigned ? "SIGNED" : "UNSIGNED";
    body_ += fmt::format(
        "  {0}:2 = stablehlo.reduce({1} init: {2}), ({3} init: {4}) across dimensions = [{5}] : ({6}, {7}, {8}, "
        "tensor<i32>) -> ({9}, {10})\n"
        "   reducer(%x: {8}, %y: {8}) (%i: tensor<i32>, %j: tensor<i32>) {{\n"
        "    %gt = stablehlo.compare GT, %x, %y, {11} : ({8}, {8}) -> tensor<i1>\n"
        "    %eq = stablehlo.compare EQ, %x, %y, {11} : ({8}, {8}) -> tensor<i1>\n"
        "    %lt = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    %tie = stablehlo.and %eq, %lt : tensor<i1>\n"
        "    %pick = stablehlo.or %gt, %tie : tensor<i1>\n"
        "    %v = stablehlo.select %gt, %x, %y : tensor<i1>, {8}\n"
        "    %k = stablehlo.select %pick, %i, %j : tensor<i1>, tensor<i32>\n"
        "    stablehlo.return %v, %k : {8}, tensor<i32>\n"
        "  }}\n",
        name, v.name, low.name, index.name, zero.name, along, Text(v), Text(index), s, Text(v.type, out),
        Text(kI32, out), kind);
    values_.push_back({name + "#0", v.type, out, v.bound, true});
    values_.push_back({name + "#1", kI32, out, 0, true});
  }

  void Slice() {
    const Value v = Any();
    std::string ranges;
    Dims out;
    for (int64_t d : v.dims) {
      const int64_t start = PickWide(d + 1);
      const int64_t limit = Chance(5) ? start : start + PickWide(d - start + 1);
      const int64_t stride = 1 + Pick(3);
      ranges += fmt::format("{}{}:{}:{}", ranges.empty() ? "" : ", ", start, limit, stride);
      out.push_back((limit - start + stride - 1) / stride);
    }
    Emit(fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", v.name, ranges, Text(v), Text(v.type, out)), v.type, out,
         v.bound, v.exact);
  }

  /// Scalars of one integer type, in range or not.
  std::vector<Value> Starts(size_t n, Type& type) {
    const Value known = AnyWhere([](const Value& v) { return v.is_int(); });
    type = known.name.empty() || !known.is_int() ? kI32 : known.type;
    std::vector<Value> starts;
    for (size_t i = 0; i < n; ++i) starts.push_back(Chance(2) ? Match(type, {}) : Constant(type, {}, Small(type)));
    return starts;
  }
  static std::string Names(const std::vector<Value>& values) {
    std::string text;
    for (const Value& v : values) text += ", " + v.name;
    return text;
  }
  static std::string Types(const std::vector<Value>& values) {
    std::string text;
    for (const Value& v : values) text += ", " + Text(v);
    return text;
  }

  void DynamicSlice() {
    const Value v = Any();
    Type type = kI32;
    const std::vector<Value> starts = Starts(v.dims.size(), type);
    Dims out;
    for (int64_t d : v.dims) out.push_back(Chance(3) ? d : PickWide(d + 1));
    Emit(fmt::format("stablehlo.dynamic_slice {}{}, sizes = {} : ({}{}) -> {}", v.name, Names(starts), List(out),
                     Text(v), Types(starts), Text(v.type, out)),
         v.type, out, v.bound, v.exact);
  }

  void DynamicUpdate() {
    const Value v = Any();
    Dims dims;
    for (int64_t d : v.dims) dims.push_back(Chance(3) ? d : PickWide(d + 1));
    const Value update = Match(v.type, dims);
    Type type = kI32;
    const std::vector<Value> starts = Starts(v.dims.size(), type);
    Emit(fmt::format("stablehlo.dynamic_update_slice {}, {}{} : ({}, {}{}) -> {}", v.name, update.name, Names(starts),
                     Text(v), Text(update), Types(starts), Text(v)),
         v.type, v.dims, std::max(v.bound, update.bound), v.exact && update.exact);
  }

  void Concatenate() {
    const Value v = AnyWhere([](const Value& x) { return !x.dims.empty(); });
    if (v.dims.empty()) return;
    const size_t along = static_cast<size_t>(Pick(static_cast<int>(v.dims.size())));
    std::vector<Value> parts = {v};
    Dims out = v.dims;
    double bound = v.bound;
    bool exact = v.exact;
    for (int n = Pick(Chance(6) ? 12 : 4); n > 0; --n) {
      Dims dims = v.dims;
      if (Chance(2)) dims[along] = Extent();
      parts.push_back(Match(v.type, dims));
      out[along] += dims[along];
      bound = std::max(bound, parts.back().bound);
      exact &= parts.back().exact;
    }
    std::shuffle(parts.begin(), parts.end(), random_);
    Emit(fmt::format("stablehlo.concatenate {}, dim = {} : ({}) -> {}", Names(parts).substr(2), along,
                     Types(parts).substr(2), Text(v.type, out)),
         v.type, out, bound, exact);
  }

  void Pad() {
    const Value v = Any();
    Dims low, high, interior, out;
    for (int64_t d : v.dims) {
      low.push_back(Pick(5) - 2);
      high.push_back(Pick(5) - 2);
      interior.push_back(Chance(3) ? Pick(3) : 0);
      int64_t size = low.back() + d + std::max<int64_t>(d - 1, 0) * interior.back() + high.back();
      if (size < 0) {
        low.back() = high.back() = 0;
        size = d + std::max<int64_t>(d - 1, 0) * interior.back();
      }
      out.push_back(size);
    }
    const Value with = Match(v.type, {});
    Emit(fmt::format("stablehlo.pad {}, {}, low = {}, high = {}, interior = {} : ({}, {}) -> {}", v.name, with.name,
                     List(low), List(high), List(interior), Text(v), Text(with), Text(v.type, out)),
         v.type, out, std::max(v.bound, with.bound), v.exact && with.exact);
  }

  void Reshape() {
    const Value v = Any();
    Dims factors;
    int64_t n = Count(v.dims);
    if (n == 0) {
      factors = {0};
      for (int i = Pick(3); i > 0; --i) factors.push_back(Extent());
    } else {
      for (int64_t p : {2, 3, 5, 11, 17}) {
        while (n % p == 0) {
          if (!factors.empty() && Chance(2))
            factors.back() *= p;
          else
            factors.push_back(p);
          n /= p;
        }
      }
      if (n > 1) factors.push_back(n);
      if (Chance(3)) factors.push_back(1);
    }
    std::shuffle(factors.begin(), factors.end(), random_);
    Emit(fmt::format("stablehlo.reshape {} : ({}) -> {}", v.name, Text(v), Text(v.type, factors)), v.type, factors,
         v.bound, v.exact);
  }

  void Reverse() {
    const Value v = Any();
    Dims dims;
    for (size_t i = 0; i < v.dims.size(); ++i) {
      if (Chance(2)) dims.push_back(static_cast<int64_t>(i));
    }
    Like(fmt::format("stablehlo.reverse {}, dims = {} : {}", v.name, List(dims), Text(v)), v);
  }

  void Iota() {
    const Value v = AnyWhere([](const Value& x) { return !x.dims.empty(); });
    Type type = AnyType();
    if (v.dims.empty() || type.kind == Kind::kBool) return;
    Emit(fmt::format("stablehlo.iota dim = {} : {}", Pick(static_cast<int>(v.dims.size())), Text(type, v.dims)), type,
         v.dims, 1000);
  }

  void Dot() {
    const Value v = AnyWhere([](const Value& x) { return x.type.kind != Kind::kBool && Count(x.dims) < 1000; });
    if (v.name.empty() || v.type.kind == Kind::kBool || Count(v.dims) >= 1000) return;
    // Every dim of the left side is batch, contracted or free; the right side has the first two, shuffled, and free
    // ones of its own.
    struct Dim {
      int role;
      int64_t extent;
      int64_t lhs;
    };
    std::vector<Dim> right;
    double terms = 1;
    for (size_t i = 0; i < v.dims.size(); ++i) {
      const int role = Pick(3);
      if (role == 2) continue;
      right.push_back({role, v.dims[i], static_cast<int64_t>(i)});
      if (role == 1) terms *= static_cast<double>(v.dims[i]);
    }
    for (int i = Pick(2); i > 0; --i) right.push_back({2, Extent(), -1});
    std::shuffle(right.begin(), right.end(), random_);
    Dims dims;
    for (const Dim& d : right) dims.push_back(d.extent);
    if (Count(dims) > 1000) return;
    const Value w = Match(v.type, dims);
    Dims batch_l, batch_r, con_l, con_r, out;
    for (size_t i = 0; i < right.size(); ++i) {
      if (right[i].role == 2) continue;
      (right[i].role == 0 ? batch_l : con_l).push_back(right[i].lhs);
      (right[i].role == 0 ? batch_r : con_r).push_back(static_cast<int64_t>(i));
    }
    const auto has = [](const Dims& list, size_t d) {
      return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
    };
    for (int64_t d : batch_l) out.push_back(v.dims[static_cast<size_t>(d)]);
    for (size_t i = 0; i < v.dims.size(); ++i) {
      if (!has(batch_l, i) && !has(con_l, i)) out.push_back(v.dims[i]);
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      if (!has(batch_r, i) && !has(con_r, i)) out.push_back(dims[i]);
    }
    if (Count(out) > kMaxElements) return;
    std::string numbers;
    if (!batch_l.empty()) numbers += fmt::format(", batching_dims = {} x {}", List(batch_l), List(batch_r));
    numbers += fmt::format(", contracting_dims = {} x {}", List(con_l), List(con_r));
    Emit(fmt::format("stablehlo.dot_general {}, {}{} : ({}, {}) -> {}", v.name, w.name, numbers, Text(v), Text(w),
                     Text(v.type, out)),
         v.type, out, v.bound * w.bound * std::max(terms, 1.0), v.exact && w.exact);
  }

  void Gather() {
    const Value v = AnyWhere([](const Value& x) { return !x.dims.empty() && Count(x.dims) > 0; });
    if (v.dims.empty() || Count(v.dims) == 0) return;
    const Value known = AnyWhere([](const Value& x) { return x.is_int(); });
    const Type type = known.is_int() ? known.type : kI32;
    // Some operand dims are looked up, the others taken whole or in part; looked up ones of size one may be dropped.
    Dims map, sizes, collapsed, offsets;
    for (size_t i = 0; i < v.dims.size(); ++i) {
      const bool looked_up = Chance(2);
      if (looked_up) map.push_back(static_cast<int64_t>(i));
      const bool drop = Chance(2);
      sizes.push_back(drop ? 1 : looked_up ? 1 + PickWide(v.dims[i]) : 1 + PickWide(v.dims[i]));
      if (drop)
        collapsed.push_back(static_cast<int64_t>(i));
      else
        offsets.push_back(sizes.back());
    }
    std::shuffle(map.begin(), map.end(), random_);
    Dims batch;
    for (int n = Pick(3); n > 0; --n) batch.push_back(1 + Pick(5));
    Dims index_dims = batch;
    const size_t vector = static_cast<size_t>(Pick(static_cast<int>(batch.size()) + 1));
    index_dims.insert(index_dims.begin() + static_cast<long>(vector), static_cast<int64_t>(map.size()));
    const Value index = Match(type, index_dims);
    // Offset dims at random places of the result.
    const size_t rank = batch.size() + offsets.size();
    std::vector<bool> is_offset(rank, false);
    std::fill(is_offset.begin(), is_offset.begin() + static_cast<long>(offsets.size()), true);
    std::shuffle(is_offset.begin(), is_offset.end(), random_);
    Dims out, offset_dims;
    size_t b = 0, o = 0;
    for (size_t i = 0; i < rank; ++i) {
      out.push_back(is_offset[i] ? offsets[o++] : batch[b++]);
      if (is_offset[i]) offset_dims.push_back(static_cast<int64_t>(i));
    }
    Emit(fmt::format("\"stablehlo.gather\"({}, {}) {{dimension_numbers = #stablehlo.gather<offset_dims = {}, "
                     "collapsed_slice_dims = {}, start_index_map = {}, "
                     "index_vector_dim = {}>, slice_sizes = array<i64{}{}>}} : ({}, {}) -> {}",
                     v.name, index.name, List(offset_dims), List(collapsed), List(map), vector,
                     sizes.empty() ? "" : ": ", fmt::join(sizes, ", "), Text(v), Text(index), Text(v.type, out)),
         v.type, out, v.bound, v.exact);
  }

  void Scatter() {
    const Value v = AnyWhere([](const Value& x) { return x.dims.size() == 2 && x.type.kind != Kind::kBool; });
    if (v.dims.size() != 2 || v.type.kind == Kind::kBool) return;
    const int64_t n = 1 + Pick(4);
    const Value index = Match(kI32, {n, 1});
    const Value update = Match(v.type, {n, v.dims[1]});
    Emit(fmt::format("\"stablehlo.scatter\"({}, {}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n    %s = stablehlo.add %p, %q : "
                     "{}\n    stablehlo.return %s : {}\n  }}) "
                     "{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims "
                     "= [0], scatter_dims_to_operand_dims = [0], "
                     "index_vector_dim = 1>}} : ({}, {}, {}) -> {}",
                     v.name, index.name, update.name, Text(v.type, {}), Text(v.type, {}), Text(v.type, {}),
                     Text(v.type, {}), Text(v), Text(index), Text(update), Text(v)),
         v.type, v.dims, v.bound + update.bound * static_cast<double>(n), v.exact && update.exact);
  }

  void Window() {
    const Value v = AnyWhere([](const Value& x) { return x.dims.size() == 2 && Count(x.dims) < 500; });
    if (v.dims.size() != 2 || Count(v.dims) >= 500) return;
    Dims window, strides, out;
    std::string padding;
    for (int64_t d : v.dims) {
      window.push_back(1 + Pick(3));
      strides.push_back(1 + Pick(2));
      const int64_t low = Pick(2), high = Pick(3);
      padding += fmt::format("{}[{}, {}]", padding.empty() ? "" : ", ", low, high);
      const int64_t size = d + low + high;
      out.push_back(size < window.back() ? 0 : (size - window.back()) / strides.back() + 1);
    }
    const bool boolean = v.type.kind == Kind::kBool;
    const char* op = boolean ? "or" : Chance(2) ? "add" : "maximum";
    const Value init = Constant(v.type, {}, Small(v.type));
    const std::string s = Text(v.type, {});
    Emit(fmt::format("\"stablehlo.reduce_window\"({}, {}) ({{\n  ^bb0(%p: {}, %q: {}):\n    %s = stablehlo.{} %p, %q : "
                     "{}\n    stablehlo.return %s : {}\n  }}) "
                     "{{window_dimensions = array<i64: {}>, window_strides = array<i64: {}>, padding = dense<[{}]> : "
                     "tensor<2x2xi64>}} : ({}, {}) -> {}",
                     v.name, init.name, s, s, op, s, s, fmt::join(window, ", "), fmt::join(strides, ", "), padding,
                     Text(v), s, Text(v.type, out)),
         v.type, out, v.bound * 9 + 6, v.exact);
  }

  /// Ops inside a region: nothing of it is visible outside but what it yields.
  template <class F>
  void Inside(const F& f) {
    const std::vector<Value> outer = values_;
    f();
    values_ = outer;
  }

  /// A counted loop that carries an array through ops of its own, outer values among their operands.
  void Loop() {
    if (depth_ > 1) return;
    ++depth_;
    const Value v = Any();
    const double bound = std::max(20.0, v.bound);  // Of every value that is carried.
    const Value start = Constant(kI32, {}, 0);
    const Value trips = Chance(2) ? Constant(kI32, {}, Pick(4)) : Value{};
    const int64_t few = Pick(4);
    const std::string name = fmt::format("%{}", next_++);
    const std::string iter = fmt::format("%i{}", next_), carry = fmt::format("%c{}", next_);
    ++next_;
    body_ += fmt::format("  {}:2 = stablehlo.while({} = {}, {} = {}) : tensor<i32>, {}\n   cond {{\n", name, iter,
                         start.name, carry, v.name, Text(v));
    Inside([&] {
      std::string limit = trips.name;
      if (limit.empty()) limit = Constant(kI32, {}, few).name;
      const std::string go = fmt::format("%{}", next_++);
      body_ += fmt::format(
          "  {} = stablehlo.compare LT, {}, {}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  stablehlo.return "
          "{} : tensor<i1>\n  }} do {{\n",
          go, iter, limit, go);
    });
    Inside([&] {
      values_.push_back({iter, kI32, {}, 0, true});
      values_.push_back({carry, v.type, v.dims, bound, v.exact});
      for (int n = 1 + Pick(4); n > 0; --n) AddOp();
      // The next value: something of that type, kept small.
      Value next = Match(v.type, v.dims);
      if (next.is_float() && (next.exact != v.exact || next.bound > bound))
        next = Value{carry, v.type, v.dims, bound, v.exact};
      const Value one = Constant(kI32, {}, 1);
      const std::string inc = fmt::format("%{}", next_++);
      body_ +=
          fmt::format("  {} = stablehlo.add {}, {} : tensor<i32>\n  stablehlo.return {}, {} : tensor<i32>, {}\n  }}\n",
                      inc, iter, one.name, inc, next.name, Text(v));
    });
    values_.push_back({name + "#1", v.type, v.dims, bound, v.exact});
    if (Chance(3)) values_.push_back({name + "#0", kI32, {}, 0, true});
    --depth_;
  }

  void Branch() {
    if (depth_ > 1) return;
    ++depth_;
    const Value v = Any();
    const Value index = Match(kI32, {});
    const int branches = 1 + Pick(3);
    const std::string name = fmt::format("%{}", next_++);
    body_ += fmt::format("  {} = \"stablehlo.case\"({}) (", name, index.name);
    double bound = 0;
    bool exact = true;
    for (int b = 0; b < branches; ++b) {
      body_ += b ? ", {\n" : "{\n";
      Inside([&] {
        for (int n = Pick(4); n > 0; --n) AddOp();
        const Value r = Match(v.type, v.dims);
        bound = std::max(bound, r.bound);
        exact &= r.exact;
        body_ += fmt::format("    stablehlo.return {} : {}\n  }}", r.name, Text(v));
      });
    }
    body_ += fmt::format(") : (tensor<i32>) -> {}\n", Text(v));
    values_.push_back({name, v.type, v.dims, bound, exact});
    --depth_;
  }

  std::mt19937_64 random_;
  std::vector<Value> values_;
  std::string body_;
  int next_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string WideProgram(uint64_t seed, int ops) { return Generator(seed).Make(ops); }

}  // namespace tenon::test
