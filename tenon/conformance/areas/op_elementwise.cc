// Element by element: each op with each type that it takes. Expected values come from plain C++ in double and int64.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tenon/conformance/areas/op_case.h"

namespace tenon::conformance {

namespace {

constexpr DType kFloats[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
constexpr DType kSigned[] = {DType::kS8, DType::kS16, DType::kS32, DType::kS64};
constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};

std::string Named(const std::string& op, DType type) { return op + "." + std::string(DTypeName(type)); }

Value Make(DType type, std::vector<double> numbers) {
  Dims dims{static_cast<int64_t>(numbers.size())};
  return {type, std::move(dims), std::move(numbers)};
}

// Results of a smaller integer type: two's complement of its width. 64-bit cases stay small.
double Wrap(DType type, int64_t value) {
  int bits = DTypeBits(type);
  if (bits == 64) return static_cast<double>(value);
  uint64_t low = static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
  if (IsSigned(type) && (low >> (bits - 1)) != 0)
    return static_cast<double>(static_cast<int64_t>(low) - (int64_t{1} << bits));
  return static_cast<double>(low);
}

void Unary(Suite& suite, const std::string& op, DType type, const std::vector<double>& in,
           const std::function<double(double)>& f, Bound bound = Bound::kExact) {
  std::vector<double> out;
  for (double x : in) out.push_back(f(x));
  AddOp(suite, OneOp(Named(op, type), op, {Make(type, in)}, {Make(type, out)}, "", bound));
}

void Binary(Suite& suite, const std::string& op, DType type, const std::vector<double>& a, const std::vector<double>& b,
            const std::function<double(double, double)>& f, Bound bound = Bound::kExact) {
  std::vector<double> out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(f(a[i], b[i]));
  AddOp(suite, OneOp(Named(op, type), op, {Make(type, a), Make(type, b)}, {Make(type, out)}, "", bound));
}

double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double RoundEven(double x) { return std::nearbyint(x); }

void AddFloats(Suite& suite) {
  const double inf = std::numeric_limits<double>::infinity();
  // Exactly representable in every float type.
  const std::vector<double> plain = {-8, -3.5, -1, -0.25, 0, 0.25, 0.5, 1, 1.5, 2, 3, 7.5};
  const std::vector<double> other = {2, -0.5, 4, 0.25, -3, 1, -0.5, 1, 8, -2, 0.5, 1.5};
  const std::vector<double> halves = {-2.5, -1.5, -0.75, -0.5, 0, 0.25, 0.5, 1.5, 2.5, 3.75};
  const std::vector<double> positive = {0.25, 0.5, 0.75, 1, 1.5, 2, 4, 9};
  const std::vector<double> small = {-1.5, -0.75, -0.25, 0.125, 0.5, 1, 1.25};
  for (DType t : kFloats) {
    Unary(suite, "abs", t, plain, [](double x) { return std::fabs(x); });
    Unary(suite, "negate", t, plain, [](double x) { return -x; });
    Unary(suite, "sign", t, plain, Sign);
    Unary(suite, "ceil", t, halves, [](double x) { return std::ceil(x); });
    Unary(suite, "floor", t, halves, [](double x) { return std::floor(x); });
    Unary(suite, "round_nearest_afz", t, halves, [](double x) { return std::round(x); });
    Unary(suite, "round_nearest_even", t, halves, RoundEven);
    Unary(suite, "sqrt", t, positive, [](double x) { return std::sqrt(x); }, Bound::kFunction);
    Unary(suite, "rsqrt", t, positive, [](double x) { return 1 / std::sqrt(x); }, Bound::kFunction);
    Unary(suite, "cbrt", t, plain, [](double x) { return std::cbrt(x); }, Bound::kFunction);
    Unary(suite, "exponential", t, small, [](double x) { return std::exp(x); }, Bound::kFunction);
    Unary(suite, "exponential_minus_one", t, small, [](double x) { return std::expm1(x); }, Bound::kFunction);
    Unary(suite, "log", t, positive, [](double x) { return std::log(x); }, Bound::kFunction);
    Unary(suite, "log_plus_one", t, positive, [](double x) { return std::log1p(x); }, Bound::kFunction);
    Unary(suite, "logistic", t, small, [](double x) { return 1 / (1 + std::exp(-x)); }, Bound::kFunction);
    Unary(suite, "sine", t, small, [](double x) { return std::sin(x); }, Bound::kFunction);
    Unary(suite, "cosine", t, small, [](double x) { return std::cos(x); }, Bound::kFunction);
    Unary(suite, "tan", t, small, [](double x) { return std::tan(x); }, Bound::kFunction);
    Unary(suite, "tanh", t, small, [](double x) { return std::tanh(x); }, Bound::kFunction);
    Binary(suite, "add", t, plain, other, [](double a, double b) { return a + b; }, Bound::kRounded);
    Binary(suite, "subtract", t, plain, other, [](double a, double b) { return a - b; }, Bound::kRounded);
    Binary(suite, "multiply", t, plain, other, [](double a, double b) { return a * b; }, Bound::kRounded);
    Binary(suite, "divide", t, plain, other, [](double a, double b) { return a / b; }, Bound::kRounded);
    Binary(suite, "maximum", t, plain, other, [](double a, double b) { return std::fmax(a, b); });
    Binary(suite, "minimum", t, plain, other, [](double a, double b) { return std::fmin(a, b); });
    Binary(suite, "remainder", t, plain, other, [](double a, double b) { return std::fmod(a, b); });
    Binary(
        suite, "power", t, positive, {2, -1, 3, 5, 2, 0.5, -0.5, 1.5},
        [](double a, double b) { return std::pow(a, b); }, Bound::kFunction);
    Binary(suite, "atan2", t, plain, other, [](double a, double b) { return std::atan2(a, b); }, Bound::kFunction);
    AddOp(suite, OneOp(Named("is_finite", t), "is_finite", {Make(t, {1, -0.5, inf, -inf, std::nan(""), 0})},
                       {Make(DType::kPred, {1, 1, 0, 0, 0, 1})}));
  }
}

}  // namespace

void AddElementwiseOps(Suite& suite) {
  AddFloats(suite);
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  for (DType t : kFloats) {
    AddOp(suite, OneOp(Named("maximum_nan", t), "maximum", {Make(t, {1, nan, nan}), Make(t, {nan, 1, nan})},
                       {Make(t, {nan, nan, nan})}));
    AddOp(suite, OneOp(Named("minimum_nan", t), "minimum", {Make(t, {1, nan, nan}), Make(t, {nan, 1, nan})},
                       {Make(t, {nan, nan, nan})}));
  }
  for (DType t : kSigned) {
    double low = -std::ldexp(1.0, DTypeBits(t) - 1);
    bool wide = DTypeBits(t) == 64;
    std::vector<double> a = {-7, -1, 0, 1, 5, 100, wide ? -123456789012 : low}, b = {3, -2, 5, 1, -3, 7, 1};
    Unary(suite, "abs", t, {-7, -1, 0, 5, 100}, [](double x) { return std::fabs(x); });
    Unary(suite, "negate", t, {-7, -1, 0, 5, 100}, [](double x) { return -x; });
    Unary(suite, "sign", t, {-7, 0, 5}, Sign);
    Unary(suite, "not", t, {-7, -1, 0, 5, 100}, [](double x) { return -x - 1; });
    Binary(suite, "shift_right_arithmetic", t, {-7, -1, 0, 5, 100}, {1, 3, 2, 1, 4},
           [](double x, double s) { return std::floor(x / std::pow(2, s)); });
    Binary(suite, "add", t, a, b,
           [t](double x, double y) { return Wrap(t, static_cast<int64_t>(x) + static_cast<int64_t>(y)); });
    Binary(suite, "subtract", t, a, b,
           [t](double x, double y) { return Wrap(t, static_cast<int64_t>(x) - static_cast<int64_t>(y)); });
    Binary(suite, "multiply", t, a, b,
           [t](double x, double y) { return Wrap(t, static_cast<int64_t>(x) * static_cast<int64_t>(y)); });
    Binary(suite, "divide", t, a, b, [](double x, double y) { return std::trunc(x / y); });
    Binary(suite, "remainder", t, a, b, [](double x, double y) { return std::fmod(x, y); });
    Binary(suite, "maximum", t, a, b, [](double x, double y) { return std::fmax(x, y); });
    Binary(suite, "minimum", t, a, b, [](double x, double y) { return std::fmin(x, y); });
  }
  for (DType t : kUnsigned) {
    double high = DTypeBits(t) == 64 ? 123456789012 : std::ldexp(1.0, DTypeBits(t)) - 1;
    std::vector<double> a = {0, 1, 5, 100, 200, high}, b = {3, 1, 7, 9, 100, 1};
    Binary(suite, "add", t, a, b,
           [t](double x, double y) { return Wrap(t, static_cast<int64_t>(x) + static_cast<int64_t>(y)); });
    Binary(suite, "multiply", t, a, b,
           [t](double x, double y) { return Wrap(t, static_cast<int64_t>(x) * static_cast<int64_t>(y)); });
    Binary(suite, "divide", t, a, b, [](double x, double y) { return std::floor(x / y); });
    Binary(suite, "remainder", t, a, b, [](double x, double y) { return std::fmod(x, y); });
    Binary(suite, "maximum", t, a, b, [](double x, double y) { return std::fmax(x, y); });
    Binary(suite, "minimum", t, a, b, [](double x, double y) { return std::fmin(x, y); });
  }
  std::vector<DType> integers(std::begin(kSigned), std::end(kSigned));
  integers.insert(integers.end(), std::begin(kUnsigned), std::end(kUnsigned));
  for (DType t : integers) {
    int bits = DTypeBits(t);
    std::vector<double> a = {0, 1, 5, 100, 127}, b = {3, 1, 7, 9, 64};
    Binary(suite, "and", t, a, b,
           [](double x, double y) { return static_cast<double>(static_cast<int64_t>(x) & static_cast<int64_t>(y)); });
    Binary(suite, "or", t, a, b,
           [](double x, double y) { return static_cast<double>(static_cast<int64_t>(x) | static_cast<int64_t>(y)); });
    Binary(suite, "xor", t, a, b,
           [](double x, double y) { return static_cast<double>(static_cast<int64_t>(x) ^ static_cast<int64_t>(y)); });
    Binary(suite, "shift_left", t, a, {0, 1, 2, 0, 0}, [](double x, double s) { return x * std::pow(2, s); });
    Binary(suite, "shift_right_logical", t, a, {0, 1, 2, 3, 1},
           [](double x, double s) { return std::floor(x / std::pow(2, s)); });
    Unary(suite, "popcnt", t, a,
          [](double x) { return static_cast<double>(__builtin_popcountll(static_cast<unsigned long long>(x))); });
    Unary(suite, "count_leading_zeros", t, a, [bits](double x) {
      return x == 0 ? bits : static_cast<double>(__builtin_clzll(static_cast<unsigned long long>(x)) - (64 - bits));
    });
  }
  const std::vector<double> p = {0, 0, 1, 1}, q = {0, 1, 0, 1};
  Binary(suite, "and", DType::kPred, p, q, [](double x, double y) { return x * y; });
  Binary(suite, "or", DType::kPred, p, q, [](double x, double y) { return std::fmax(x, y); });
  Binary(suite, "xor", DType::kPred, p, q, [](double x, double y) { return x != y ? 1 : 0; });
  Unary(suite, "not", DType::kPred, p, [](double x) { return 1 - x; });

  struct Comparison {
    const char* name;
    bool (*holds)(double, double);
  };
  const Comparison comparisons[] = {
      {"EQ", [](double a, double b) { return a == b; }}, {"NE", [](double a, double b) { return a != b; }},
      {"LT", [](double a, double b) { return a < b; }},  {"LE", [](double a, double b) { return a <= b; }},
      {"GT", [](double a, double b) { return a > b; }},  {"GE", [](double a, double b) { return a >= b; }}};
  for (const Comparison& c : comparisons) {
    for (DType t : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kS8, DType::kS32, DType::kS64,
                    DType::kU8, DType::kU32, DType::kU64}) {
      std::vector<double> a = {1, 2, 3, 0, 100, 7}, b = {2, 2, 1, 0, 3, 100}, out;
      if (IsFloat(t)) {
        a.insert(a.end(), {nan, 1, nan});
        b.insert(b.end(), {1, nan, nan});
      }
      if (!IsUnsigned(t)) {
        a.insert(a.end(), {-1, -5});
        b.insert(b.end(), {1, -6});
      }
      for (size_t i = 0; i < a.size(); ++i) out.push_back(c.holds(a[i], b[i]) ? 1 : 0);
      AddOp(suite, OneOp(Named(std::string("compare_") + c.name, t), "compare", {Make(t, a), Make(t, b)},
                         {Make(DType::kPred, out)},
                         std::string("{comparison_direction = #stablehlo<comparison_direction ") + c.name + ">}"));
    }
  }
  for (DType t : {DType::kPred, DType::kS8, DType::kS32, DType::kU64, DType::kBF16, DType::kF32, DType::kF64}) {
    bool flag = t == DType::kPred;
    AddOp(suite, OneOp(Named("select", t), "select",
                       {Make(DType::kPred, {1, 0, 1, 0}), Make(t, flag ? p : std::vector<double>{1, 2, 3, 4}),
                        Make(t, flag ? q : std::vector<double>{5, 6, 7, 8})},
                       {Make(t, flag ? std::vector<double>{0, 1, 1, 1} : std::vector<double>{1, 6, 3, 8})}));
  }
  for (DType t : {DType::kS32, DType::kU8, DType::kF32, DType::kBF16}) {
    AddOp(suite, OneOp(Named("clamp", t), "clamp", {{t, {}, {2}}, Make(t, {1, 2, 3, 9}), {t, {}, {5}}},
                       {Make(t, {2, 2, 3, 5})}));
  }
  // Conversions between all types, of values that both can hold.
  const DType all[] = {DType::kPred, DType::kS8,  DType::kS16, DType::kS32,  DType::kS64, DType::kU8, DType::kU16,
                       DType::kU32,  DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
  for (DType from : all) {
    for (DType to : all) {
      if (from == to) continue;
      std::vector<double> in = from == DType::kPred || to == DType::kPred ? std::vector<double>{0, 1, 1, 0}
                                                                          : std::vector<double>{0, 1, 5, 100};
      if (IsFloat(from) && IsInteger(to)) in = {0, 1.5, 5.25, 100.5};  // Fractions are cut off.
      std::vector<double> out = in;
      if (IsInteger(to)) {
        for (double& x : out) x = std::trunc(x);
      }
      AddOp(suite, OneOp("convert." + std::string(DTypeName(from)) + "_to_" + std::string(DTypeName(to)), "convert",
                         {Make(from, in)}, {Make(to, out)}));
    }
  }
  AddOp(suite, OneOp("convert_round.f32_to_bf16", "convert", {Make(DType::kF32, {1.00390625, 1.01171875, -1.00390625})},
                     {Make(DType::kBF16, {1, 1.015625, -1})}));
  AddOp(suite, OneOp("convert_round.f64_to_f32", "convert", {Make(DType::kF64, {0.1, 1e300})},
                     {Make(DType::kF32, {static_cast<double>(0.1f), inf})}));
  AddOp(suite, OneOp("bitcast_convert.f32_to_s32", "bitcast_convert", {Make(DType::kF32, {1, -2, 0})},
                     {Make(DType::kS32, {0x3f800000, -1073741824, 0})}));
  AddOp(suite, OneOp("bitcast_convert.s32_to_f32", "bitcast_convert", {Make(DType::kS32, {0x3f800000, -1073741824, 0})},
                     {Make(DType::kF32, {1, -2, 0})}));
  AddOp(suite, OneOp("reduce_precision.f32", "reduce_precision", {Make(DType::kF32, {1.001, -3.14159274, 65536})},
                     {Make(DType::kF32, {1, -3.25, 65536})}, "{exponent_bits = 8 : i32, mantissa_bits = 3 : i32}"));
  for (DType t : {DType::kF32, DType::kF64}) {
    DType complex = t == DType::kF32 ? DType::kC64 : DType::kC128;
    Value z{complex, {3}, {1, 2, -3, 0.5, 0, -1}}, w{complex, {3}, {2, -1, 4, 0, 1, 1}};
    AddOp(suite, OneOp(Named("real", t), "real", {z}, {Make(t, {1, -3, 0})}));
    AddOp(suite, OneOp(Named("imag", t), "imag", {z}, {Make(t, {2, 0.5, -1})}));
    AddOp(suite, OneOp(Named("complex", t), "complex", {Make(t, {1, -3, 0}), Make(t, {2, 0.5, -1})}, {z}));
    AddOp(suite, OneOp(Named("add", complex), "add", {z, w}, {{complex, {3}, {3, 1, 1, 0.5, 1, 0}}}));
    AddOp(suite, OneOp(Named("multiply", complex), "multiply", {z, w}, {{complex, {3}, {4, 3, -12, 2, 1, -1}}}, "",
                       Bound::kFunction));
    AddOp(suite, OneOp(Named("abs", complex), "abs", {{complex, {2}, {3, 4, -5, 12}}}, {Make(t, {5, 13})}, "",
                       Bound::kFunction));
  }
}

}  // namespace tenon::conformance
