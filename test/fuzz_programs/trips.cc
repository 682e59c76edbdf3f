// Loops of which much need not be done trip by trip: elements of arrays that each trip takes, a state, states that
// depend on nothing else, results of each trip at its place, sums of products over trips.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

constexpr int64_t kMost = 16;  // What is carried, and what products are made of, stays below.

/// Writes one such loop: the parts of a trip are arrays [rows, n].
class TripLoop {
 public:
  TripLoop(Builder& b, const Type& type) : b_(b), type_(type) {
    // Long loops of little in a trip are those that are worth splitting.
    const bool is_long = b.random.Chance(2);
    trips_ = is_long ? b.random.OneOf<int64_t>({60, 150, 300}) : b.random.OneOf<int64_t>({3, 4, 5, 8, 9, 17, 33});
    rows_ = is_long ? 1 : b.random.OneOf<int64_t>({1, 1, 1, 2, 3});
    n_ = is_long ? b.random.Between(1, 5) : b.random.OneOf<int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 16, 17});
    up_ = !b.random.Chance(4);
    counter_ = TypeOf(b.random.OneOf(
        {DType::kS32, DType::kS32, DType::kS32, DType::kS8, DType::kU8, DType::kS16, DType::kU32, DType::kS64}));
    start_ = Start();
  }

  void Write() {
    const int64_t ops = b_.random.Between(3, 12);
    if (!b_.Affordable(trips_ * rows_ * n_ * (ops + 4 + n_))) return;
    const Value state = Small(b_.Match(type_, {rows_, n_}));
    const Value counter = b_.Splat(counter_, {}, static_cast<double>(start_));
    Carry(counter.name, Text(counter));
    Carry(state.name, Text(state));
    Write("  %zero = stablehlo.constant dense<0> : tensor<i32>\n");
    Place();
    pool_.push_back("%c1");
    for (int64_t i = b_.random.Between(0, 2); i > 0; --i) TakeElement();
    for (int64_t i = b_.random.Between(0, 2); i > 0; --i) pool_.push_back(Small(b_.Match(type_, {rows_, n_})).name);
    std::vector<std::string> chains;
    for (int64_t i = b_.random.Between(0, 3); i > 0; --i) AddChain(chains);
    const std::vector<std::string> of_chains(pool_.begin(), pool_.end());
    for (int64_t i = 0; i < ops; ++i) Operate();
    // Sometimes nothing depends on the state.
    std::vector<std::string> next = {Name(), b_.random.OneOf(b_.random.Chance(6) ? of_chains : pool_)};
    next.insert(next.end(), chains.begin(), chains.end());
    Write(fmt::format("  %one = stablehlo.constant dense<1> : {2}\n  {0} = stablehlo.{1} %c0, %one : {2}\n", next[0],
                      up_ ? "add" : "subtract", Text(counter_, {})));
    std::vector<Value> results(1 + chains.size(), {"", type_, {rows_, n_}, Bound(kMost)});
    for (int64_t i = b_.random.Between(1, 3); i > 0; --i) Collect(next, results);
    for (int64_t i = b_.random.Between(0, 2); i > 0; --i) SumProducts(next, results);

    std::string inits, arguments, names;
    for (size_t i = 0; i < init_.size(); ++i) {
      const char* const comma = i == 0 ? "" : ", ";
      inits += fmt::format("{}%c{} = {}", comma, i, init_[i]);
      arguments += comma + text_[i];
      names += comma + next[i];
    }
    const std::string name = b_.NewName(), count = Text(counter_, {});
    b_.Write(
        fmt::format("  {}:{} = stablehlo.while({}) : {}\n   cond {{\n"
                    "    %most = stablehlo.constant dense<{}> : {}\n"
                    "    %go = stablehlo.compare {}, %c0, %most, {} : ({}, {}) -> tensor<i1>\n"
                    "    stablehlo.return %go : tensor<i1>\n  }} do {{\n",
                    name, init_.size(), inits, arguments, up_ ? start_ + trips_ : start_ - trips_, count,
                    b_.random.Chance(3) ? "NE"
                    : up_               ? "LT"
                                        : "GT",
                    IsSigned(counter_.dtype) ? "SIGNED" : "UNSIGNED", count, count));
    b_.Write(body_ + fmt::format("    stablehlo.return {} : {}\n  }}\n", names, arguments));
    for (size_t i = 0; i < results.size(); ++i) {
      if (b_.random.Chance(6)) continue;
      results[i].name = fmt::format("{}#{}", name, i + 1);
      b_.Offer(results[i]);
    }
  }

 private:
  /// A number from which the counter gets to the last trip, often across its zero or from the end of its type.
  int64_t Start() {
    const int bits = DTypeBits(counter_.dtype);
    const bool is_signed = IsSigned(counter_.dtype);
    const int64_t low = is_signed ? -(int64_t{1} << (std::min(bits, 31) - 1)) : 0;
    const int64_t high = (int64_t{1} << (std::min(bits, 31) - (is_signed ? 1 : 0))) - 1;
    trips_ = std::min(trips_, high - low);
    const int64_t first = up_ ? low : low + trips_, last = up_ ? high - trips_ : high;
    return std::clamp(b_.random.OneOf<int64_t>({0, 0, 1, -3, 5, first, -100, 100}), first, last);
  }
  void Write(const std::string& line) { body_ += line; }
  std::string Name() { return fmt::format("%t{}", next_++); }
  Numbers Bound(double bound) const { return {.bound = bound, .zero_sign = false}; }
  /// A literal of the type.
  std::string Literal(int64_t v) const { return fmt::format(fmt::runtime(type_.is_int() ? "{}" : "{}.0"), v); }
  std::string Row() const { return Text(type_, {rows_, n_}); }
  void Carry(const std::string& init, const std::string& text) {
    init_.push_back(init);
    text_.push_back(text);
  }
  /// The value between -kMost and kMost; another one where it is not exact.
  Value Small(const Value& any) {
    const Value v = any.is.exact() ? any : b_.Splat(type_, any.dims, 3);
    const Value low = b_.Splat(type_, {}, -kMost), high = b_.Splat(type_, {}, kMost);
    return b_.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {})-> {}", low.name, v.name, high.name,
                                     Text(low), Text(v), Text(high), Text(v)),
                         type_, v.dims, Bound(kMost));
  }

  /// %at: the trip's number from 0 on; %back: the same from behind; %wrapped: as array libraries reckon it.
  void Place() {
    Write(fmt::format("  %count = stablehlo.convert %c0 : ({}) -> tensor<i32>\n", Text(counter_, {})));
    Write(fmt::format("  %start = stablehlo.constant dense<{}> : tensor<i32>\n", start_));
    Write(fmt::format("  %at = stablehlo.subtract {} : tensor<i32>\n", up_ ? "%count, %start" : "%start, %count"));
    Write(fmt::format("  %last = stablehlo.constant dense<{}> : tensor<i32>\n", trips_ - 1));
    Write("  %back = stablehlo.subtract %last, %at : tensor<i32>\n");
    Write(fmt::format("  %all = stablehlo.constant dense<{}> : tensor<i32>\n", trips_));
    Write("  %over = stablehlo.add %at, %all : tensor<i32>\n");
    Write("  %under = stablehlo.compare LT, %at, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n");
    Write("  %wrapped = stablehlo.select %under, %over, %at : tensor<i1>, tensor<i32>\n");
  }
  std::string AnyPlace() { return b_.random.OneOf<const char*>({"%at", "%at", "%back", "%wrapped"}); }

  /// An element of an array: each, every other, from some place on; along any of its dims.
  void TakeElement() {
    const auto along = static_cast<size_t>(b_.random.Pick(3));
    const int64_t step = b_.random.OneOf<int64_t>({1, 1, 1, 2}), from = b_.random.OneOf<int64_t>({0, 0, 1, 2});
    Dims array = {rows_, n_}, one = array;
    array.insert(array.begin() + static_cast<ptrdiff_t>(along), (trips_ - 1) * step + 1 + from + b_.random.Pick(2));
    one.insert(one.begin() + static_cast<ptrdiff_t>(along), 1);
    if (!b_.Fits(array)) return;
    const Value all = Small(b_.Match(type_, array));
    std::string place = AnyPlace();
    if (step != 1 || from != 0) {
      const std::string by = Name(), scaled = Name(), plus = Name(), moved = Name();
      Write(
          fmt::format("  {0} = stablehlo.constant dense<{1}> : tensor<i32>\n  {2} = stablehlo.multiply {3}, {0} : "
                      "tensor<i32>\n  {4} = stablehlo.constant dense<{5}> : tensor<i32>\n  {6} = stablehlo.add {2}, "
                      "{4} : tensor<i32>\n",
                      by, step, scaled, place, plus, from, moved));
      place = moved;
    }
    const std::string slice = Name(), flat = Name();
    std::string starts, types;
    for (size_t d = 0; d < 3; ++d) {
      starts += ", " + (d == along ? place : std::string("%zero"));
      types += ", tensor<i32>";
    }
    Write(fmt::format("  {} = stablehlo.dynamic_slice {}{}, sizes = {} : ({}{}) -> {}\n", slice, all.name, starts,
                      List(one), Text(all), types, Text(type_, one)));
    Write(fmt::format("  {} = stablehlo.reshape {} : ({}) -> {}\n", flat, slice, Text(type_, one), Row()));
    pool_.push_back(flat);
  }

  /// One more value, of some that there are.
  void Operate() {
    const std::string a = b_.random.OneOf(pool_), c = b_.random.OneOf(pool_);
    const std::string made = Name(), kept = Name();
    std::string line;
    switch (b_.random.Pick(type_.is_int() ? 13 : 11)) {
      case 10:
        pool_.push_back(Widened(a, c));
        return;
      case 7:
      case 8:
      case 9:
        pool_.push_back(Mixed(a));
        return;
      case 0: {  // A product with a matrix.
        const Value w = b_.Match(type_, {n_, n_});
        if (!w.is.exact() || (type_.is_float() && w.is.bound * kMost * static_cast<double>(n_) > type_.exact_limit()))
          return;
        line = fmt::format("dot_general {}, {}, contracting_dims = [1] x [{}] : ({}, {}) -> {}", a, w.name,
                           b_.random.Pick(2), Row(), Text(w), Row());
        break;
      }
      case 1: {  // The trip's number.
        const std::string number = Name();
        Write(fmt::format("  {} = stablehlo.convert {} : (tensor<i32>) -> {}\n", number, AnyPlace(), Text(type_, {})));
        line = fmt::format("broadcast_in_dim {}, dims = [] : ({}) -> {}", number, Text(type_, {}), Row());
        break;
      }
      case 2: {  // A sum of each row; its combiner may use a number that the body has too.
        const std::string none = Name(), sum = Name(), sums = Text(type_, {rows_}), one = Text(type_, {});
        Write(fmt::format("  {} = stablehlo.constant dense<{}> : {}\n", none, Literal(0), one));
        const std::string type = fmt::format(" : ({}, {}) -> {}", Row(), one, sums);
        if (b_.random.Chance(3)) {
          const std::string x = Name(), y = Name(), low = Name(), most = Name(), next = Name();
          Write(fmt::format(
              "  {0} = stablehlo.reduce({1} init: {2}) across dimensions = [1]{3} reducer({4}: {5}, {6}: {5}) "
              "{{\n    {7} = stablehlo.constant dense<{8}> : {5}\n    {9} = stablehlo.maximum {6}, {7} : {5}\n"
              "    {10} = stablehlo.add {4}, {9} : {5}\n    stablehlo.return {10} : {5}\n  }}\n",
              sum, a, none, type, x, one, y, low, Literal(-kMost), most, next));
        } else {
          Write(fmt::format("  {} = stablehlo.reduce({} init: {}) applies stablehlo.add across dimensions = [1]{}\n",
                            sum, a, none, type));
        }
        line = fmt::format("broadcast_in_dim {}, dims = [0] : ({}) -> {}", sum, sums, Row());
        break;
      }
      case 3:
        line = Moved(a, c);
        break;
      case 4: {
        const std::string less = Name(), truth = Text(TypeOf(DType::kPred), {rows_, n_});
        Write(fmt::format("  {} = stablehlo.compare LT, {}, {}, {} : ({}, {}) -> {}\n", less, a, c,
                          type_.is_int() ? "SIGNED" : "FLOAT", Row(), Row(), truth));
        line = fmt::format("select {}, {}, {} : {}, {}", less, c, b_.random.OneOf(pool_), truth, Row());
        break;
      }
      case 5:
      case 6:
        line = fmt::format("{} {}, {} : {}", b_.random.OneOf<const char*>({"add", "subtract", "multiply", "maximum"}),
                           a, c, Row());
        break;
      default: {
        const std::string by = Name();
        Write(fmt::format("  {} = stablehlo.constant dense<{}> : {}\n", by, b_.random.Between(2, 9), Row()));
        line = fmt::format("{} {}, {} : {}", b_.random.OneOf<const char*>({"remainder", "divide"}), a, by, Row());
        break;
      }
    }
    const std::string low = Name(), high = Name(), scalar = Text(type_, {});
    Write(fmt::format("  {} = {}stablehlo.{}\n", made, line.starts_with("gather") ? "\"" : "", line));
    Write(
        fmt::format("  {0} = stablehlo.constant dense<{4}> : {2}\n  {1} = stablehlo.constant dense<{5}> : {2}\n  {3} "
                    "= stablehlo.clamp {0}, {6}, {1} : ({2}, {7}, {2}) -> {7}\n",
                    low, high, scalar, kept, Literal(-kMost), Literal(kMost), made, Row()));
    pool_.push_back(kept);
  }

  /// The op that makes [rows, n] of what was moved, looked up, or multiplied with what varies as well.
  std::string Moved(const std::string& a, const std::string& c) {
    const std::string x = Name(), y = Name(), one = Text(type_, {});
    switch (b_.random.Pick(6)) {
      case 0: {  // One column further, behind a number.
        const std::string parts = Text(type_, {rows_, n_ + 1});
        Write(fmt::format("  {} = stablehlo.constant dense<{}> : {}\n", x, Literal(1), one));
        Write(fmt::format(
            "  {} = stablehlo.pad {}, {}, low = [0, 1], high = [0, 0], interior = [0, 0] : ({}, {}) -> {}\n", y, a, x,
            Row(), one, parts));
        return fmt::format("slice {} [0:{}, 0:{}] : ({}) -> {}", y, rows_, n_, parts, Row());
      }
      case 1: {  // The first column behind the others.
        const std::string rest = Text(type_, {rows_, n_ - 1}), column = Text(type_, {rows_, 1});
        Write(fmt::format("  {} = stablehlo.slice {} [0:{}, 1:{}] : ({}) -> {}\n", x, a, rows_, n_, Row(), rest));
        Write(fmt::format("  {} = stablehlo.slice {} [0:{}, 0:1] : ({}) -> {}\n", y, c, rows_, Row(), column));
        return fmt::format("concatenate {}, {}, dim = 1 : ({}, {}) -> {}", x, y, rest, column, Row());
      }
      case 2: {  // Columns by columns, as rows again.
        const std::string turned = Text(type_, {n_, rows_});
        Write(fmt::format("  {} = stablehlo.transpose {}, dims = [1, 0] : ({}) -> {}\n", x, a, Row(), turned));
        return fmt::format("reshape {} : ({}) -> {}", x, turned, Row());
      }
      case 3: {  // Elements of a list by numbers of this trip.
        const Value list = b_.Match(type_, {n_ + 2});
        if (!list.is.exact() || list.is.bound > kMost) return fmt::format("reverse {}, dims = [1] : {}", a, Row());
        const std::string places = Text(TypeOf(DType::kS32), {rows_, n_});
        Write(fmt::format("  {} = stablehlo.convert {} : ({}) -> {}\n", x, a, Row(), places));
        return fmt::format(
            "gather\"({}, {}) {{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], "
            "start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>}} : ({}, {}) -> {}",
            list.name, x, Text(list), places, Row());
      }
      case 4: {  // A product of two that vary, and one with it.
        const std::string square = Text(type_, {rows_, rows_});
        Write(fmt::format("  {} = stablehlo.dot_general {}, {}, contracting_dims = [1] x [1] : ({}, {}) -> {}\n", x, a,
                          c, Row(), Row(), square));
        return fmt::format("dot_general {}, {}, contracting_dims = [1] x [0] : ({}, {}) -> {}", x, a, square, Row(),
                           Row());
      }
      default: {  // One of both, by the trip's number.
        const std::string few = fmt::format("{}", b_.random.Between(0, static_cast<int64_t>(trips_)));
        Write(fmt::format("  {} = stablehlo.constant dense<{}> : tensor<i32>\n", x, few));
        Write(fmt::format("  {} = stablehlo.compare LT, {}, {}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n", y,
                          AnyPlace(), x));
        return fmt::format("select {}, {}, {} : tensor<i1>, {}", y, a, c, Row());
      }
    }
  }

  /// One or two carries of which the next ones are made of themselves, and perhaps of elements: `next`.
  void AddChain(std::vector<std::string>& next) {
    const std::vector<std::string> others = pool_;
    if (!b_.random.Chance(3)) pool_.clear();
    pool_.erase(std::remove(pool_.begin(), pool_.end(), "%c1"), pool_.end());
    const int64_t carries = b_.random.Between(1, 2);
    for (int64_t i = 0; i < carries; ++i) {
      const Value init = Small(b_.Match(type_, {rows_, n_}));
      pool_.push_back(fmt::format("%c{}", init_.size()));
      Carry(init.name, Text(init));
    }
    for (int64_t i = b_.random.Between(1, 4); i > 0; --i) Operate();
    for (int64_t i = 0; i < carries; ++i) next.push_back(b_.random.Chance(3) ? b_.random.OneOf(pool_) : pool_.back());
    pool_.insert(pool_.end(), others.begin(), others.end());
  }

  /// Products in bytes, of which the sums of rows are wider.
  std::string Widened(const std::string& a, const std::string& c) {
    const Type narrow = TypeOf(DType::kS8), wide = TypeOf(DType::kS32);
    const std::string bytes = Text(narrow, {rows_, n_}), zero = Text(narrow, {}), one = Text(wide, {});
    std::string in[2];
    for (size_t i = 0; i < 2; ++i) {
      in[i] = Name();
      Write(fmt::format("  {} = stablehlo.convert {} : ({}) -> {}\n", in[i], i == 0 ? a : c, Row(), bytes));
    }
    const std::string product = Name(), none = Name(), sum = Name(), x = Name(), y = Name(), both = Name();
    Write(fmt::format("  {} = stablehlo.multiply {}, {} : {}\n", product, in[0], in[1], bytes));
    Write(fmt::format("  {} = stablehlo.constant dense<0> : {}\n", none, zero));
    Write(
        fmt::format("  {0} = stablehlo.reduce({1} init: {2}) across dimensions = [1] : ({3}, {4}) -> {5} reducer({6}: "
                    "{7}, {8}: {7}) {{\n    {9} = stablehlo.add {6}, {8} : {7}\n    stablehlo.return {9} : {7}\n  }}\n",
                    sum, product, none, bytes, zero, Text(wide, {rows_}), x, one, y, both));
    const std::string as = Name(), low = Name(), high = Name(), small = Name(), made = Name();
    const std::string sums = Text(type_, {rows_}), scalar = Text(type_, {});
    Write(fmt::format("  {} = stablehlo.convert {} : ({}) -> {}\n", as, sum, Text(wide, {rows_}), sums));
    Write(
        fmt::format("  {0} = stablehlo.constant dense<{4}> : {2}\n  {1} = stablehlo.constant dense<{5}> : {2}\n  {3} = "
                    "stablehlo.clamp {0}, {6}, {1} : ({2}, {7}, {2}) -> {7}\n",
                    low, high, scalar, small, Literal(-kMost), Literal(kMost), as, sums));
    Write(fmt::format("  {} = stablehlo.broadcast_in_dim {}, dims = [0] : ({}) -> {}\n", made, small, sums, Row()));
    return made;
  }

  /// A hash of the value, of many operations.
  std::string Mixed(const std::string& of) {
    const Type type = TypeOf(DType::kS32);
    const std::string row = Text(type, {rows_, n_});
    std::string x = Name();
    Write(fmt::format("  {} = stablehlo.convert {} : ({}) -> {}\n", x, of, Row(), row));
    for (int64_t i = b_.random.Between(3, 20); i > 0; --i) {
      const std::string by = Name(), factor = Name(), shifted = Name(), crossed = Name(), next = Name();
      Write(fmt::format(
          "  {0} = stablehlo.constant dense<{5}> : {7}\n  {1} = stablehlo.constant dense<{6}> : {7}\n  "
          "{2} = stablehlo.shift_right_logical {8}, {0} : {7}\n  {3} = stablehlo.xor {8}, {2} : {7}\n  {4} "
          "= stablehlo.multiply {3}, {1} : {7}\n",
          by, factor, shifted, crossed, next, b_.random.Between(3, 17), b_.random.Between(3, 1 << 20), row, x));
      x = next;
    }
    const std::string most = Name(), rest = Name(), made = Name();
    Write(
        fmt::format("  {0} = stablehlo.constant dense<{3}> : {4}\n  {1} = stablehlo.remainder {5}, {0} : {4}\n  {2} = "
                    "stablehlo.convert {1} : ({4}) -> {6}\n",
                    most, rest, made, kMost, row, x, Row()));
    return made;
  }

  /// A result of every trip, at its place along a new dim.
  void Collect(std::vector<std::string>& next, std::vector<Value>& results) {
    const auto along = static_cast<size_t>(b_.random.Pick(3));
    Dims array = {rows_, n_}, one = array;
    array.insert(array.begin() + static_cast<ptrdiff_t>(along), trips_ + (b_.random.Chance(5) ? 1 : 0));
    one.insert(one.begin() + static_cast<ptrdiff_t>(along), 1);
    if (!b_.Fits(array)) return;
    const Value init = b_.random.Chance(2) ? b_.Splat(type_, array, 0) : Small(b_.Match(type_, array));
    const std::string carry = fmt::format("%c{}", init_.size()), flat = Name(), place = AnyPlace();
    Carry(init.name, Text(init));
    std::string starts, types;
    for (size_t d = 0; d < 3; ++d) {
      starts += ", " + (d == along ? place : std::string("%zero"));
      types += ", tensor<i32>";
    }
    Write(fmt::format("  {} = stablehlo.reshape {} : ({}) -> {}\n", flat, b_.random.OneOf(pool_), Row(),
                      Text(type_, one)));
    next.push_back(Name());
    Write(fmt::format("  {} = stablehlo.dynamic_update_slice {}, {}{} : ({}, {}{}) -> {}\n", next.back(), carry, flat,
                      starts, Text(init), Text(type_, one), types, Text(init)));
    results.push_back({"", type_, array, Bound(kMost)});
  }

  /// acc + a^T b, spelled in one of three ways.
  void SumProducts(std::vector<std::string>& next, std::vector<Value>& results) {
    const Dims dims = {n_, n_};
    const double bound = static_cast<double>(kMost * kMost * rows_ * trips_ + kMost);
    if (!b_.Fits({rows_, n_, n_}) || (type_.is_float() && bound > type_.exact_limit())) return;
    const Value init = Small(b_.Match(type_, dims));
    const std::string carry = fmt::format("%c{}", init_.size()), square = Text(type_, dims);
    Carry(init.name, square);
    const std::string a = b_.random.OneOf(pool_), c = b_.random.OneOf(pool_);
    std::string product = Name();
    if (b_.random.Chance(2)) {
      Write(fmt::format("  {} = stablehlo.dot_general {}, {}, contracting_dims = [0] x [0] : ({}, {}) -> {}\n", product,
                        a, c, Row(), Row(), square));
    } else {
      const std::string left = Name(), right = Name(), all = Name(), none = Name(), cube = Text(type_, {rows_, n_, n_});
      Write(
          fmt::format("  {0} = stablehlo.broadcast_in_dim {1}, dims = [0, 1] : ({2}) -> {3}\n  {4} = "
                      "stablehlo.broadcast_in_dim {5}, dims = [0, 2] : ({2}) -> {3}\n  {6} = stablehlo.multiply {0}, "
                      "{4} : {3}\n",
                      left, a, Row(), cube, right, c, all));
      Write(
          fmt::format("  {0} = stablehlo.constant dense<{6}> : {1}\n  {2} = stablehlo.reduce({3} init: {0}) applies "
                      "stablehlo.add across dimensions = [0] : ({4}, {1}) -> {5}\n",
                      none, Text(type_, {}), product, all, cube, square, Literal(0)));
    }
    if (b_.random.Chance(2)) {
      const std::string turned = Name();
      Write(
          fmt::format("  {} = stablehlo.transpose {}, dims = [1, 0] : ({}) -> {}\n", turned, product, square, square));
      product = turned;
    }
    next.push_back(Name());
    Write(fmt::format("  {} = stablehlo.add {}, {} : {}\n", next.back(), carry, product, square));
    results.push_back({"", type_, dims, Bound(bound)});
  }

  Builder& b_;
  const Type type_;
  Type counter_;
  int64_t trips_, rows_, n_, start_;
  bool up_;
  int next_ = 0;
  std::string body_;
  std::vector<std::string> init_, text_;  ///< Of the carries.
  std::vector<std::string> pool_;         ///< Arrays [rows, n] of the body.
};

}  // namespace

void AddTrips(Builder& b) {
  if (b.depth() > 1) return;
  TripLoop(b, TypeOf(b.random.OneOf({DType::kS32, DType::kS32, DType::kF32, DType::kF32, DType::kS64}))).Write();
}

}  // namespace tenon::fuzz
