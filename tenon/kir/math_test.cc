// The math functions: bounds on dense samples, special values, and the evaluator against the machine's own arithmetic.

#include "tenon/kir/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "tenon/kir/builder.h"
#include "tenon/kir/evaluate.h"
#include "tenon/kir/testing/block_math.h"
#include "tenon/kir/testing/math_oracle.h"

namespace tenon::kir {
namespace {

using testing::BlockMath;

uint64_t Run(std::string_view name, std::vector<double> x) {
  const Result<MathId> id = MathByName(name);
  EXPECT_TRUE(id.ok()) << name;
  const Graph& g = MathGraph(*id);
  std::vector<uint64_t> bits;
  for (double v : x) bits.push_back(LiteralBits(g.arguments[0], v));
  return (*Evaluate(g, bits))[0];
}
double Value(std::string_view name, std::vector<double> x) {
  return LiteralValue(MathGraph(*MathByName(name)).arguments[0], Run(name, x));
}

TEST(Math, GraphsVerifyAndRoundTrip) {
  for (MathId id = 0; id < NumMath(); ++id) {
    const Graph& g = MathGraph(id);
    ASSERT_TRUE(Verify(g).ok()) << MathName(id) << ": " << Verify(g).ToString();
    const Result<Graph> back = ParseGraph(Print(g));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, g);
    EXPECT_EQ(*MathByName(MathName(id)), id);
  }
}

TEST(Math, FoundByShortAndStableHloNames) {
  EXPECT_EQ(*FindMath("exp", DType::kF32), *FindMath("exponential", DType::kF32));
  EXPECT_EQ(MathName(*FindMath("log_plus_one", DType::kF64)), "log1p.f64.v1");
  EXPECT_EQ(FindMath("exp", DType::kBF16).status().code(), Code::kNotFound);
  EXPECT_EQ(FindMath("lgamma", DType::kF32).status().code(), Code::kNotFound);
}

// Bit for bit where no NaN is: the evaluator's integer arithmetic and the hardware have nothing in common.
TEST(Math, TheEvaluatorEqualsTheHardware) {
  if (!BlockMath::Supported()) GTEST_SKIP() << "needs AVX2 and FMA";
  std::mt19937_64 random(1);
  for (MathId id = 0; id < NumMath(); ++id) {
    const Graph& g = MathGraph(id);
    const bool f32 = g.arguments[0] == DType::kF32;
    BlockMath block(g);
    std::vector<uint64_t> x(256), y(256), out(256);
    for (size_t i = 0; i < x.size(); ++i) {
      for (auto* v : {&x, &y}) {
        (*v)[i] = i % 2 == 0 ? random()
                             : LiteralBits(g.arguments[0], std::ldexp(static_cast<double>(random() % 2000) - 1000,
                                                                      static_cast<int>(random() % 20) - 14));
        if (f32) (*v)[i] &= 0xffffffff;
      }
    }
    const uint64_t* args[] = {x.data(), y.data()};
    block.Run(args, x.size(), out.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const uint64_t in[] = {x[i], y[i]};
      const uint64_t got = (*Evaluate(g, std::span(in, g.arguments.size())))[0];
      if (std::isnan(LiteralValue(g.arguments[0], got)) && std::isnan(LiteralValue(g.arguments[0], out[i]))) continue;
      ASSERT_EQ(got, out[i]) << MathName(id) << " of " << std::hex << x[i] << " " << y[i];
    }
  }
}

// All special values, each end of the ranges, and a sample that steps through the bit patterns.
TEST(Math, StaysWithinTwoUlps) {
  if (!BlockMath::Supported()) GTEST_SKIP() << "needs AVX2 and FMA";
  std::mt19937_64 random(2);
  for (MathId id = 0; id < NumMath(); ++id) {
    const std::string name(MathName(id));
    const std::string function = name.substr(0, name.find('.'));
    const Graph& g = MathGraph(id);
    const DType type = g.arguments[0];
    ASSERT_TRUE(testing::Knows(function)) << name;
    std::vector<uint64_t> special;
    for (double v : {0.0,  1.0,  0.5,  2.0,   3.0,   1.5,   1e-20, 1e-5, 0.1,  0.7,  10.0,    20.0,
                     87.0, 88.5, 89.0, 104.0, 700.0, 709.7, 710.0, 1e5,  1e10, 1e30, HUGE_VAL}) {
      special.push_back(LiteralBits(type, v));
      special.push_back(LiteralBits(type, -v));
    }
    const int mantissa = type == DType::kF32 ? 23 : 52;
    special.push_back(uint64_t{1} << mantissa);          // smallest normal
    special.push_back(1);                                // subnormal
    special.push_back(LiteralBits(type, HUGE_VAL) - 1);  // largest
    special.push_back(LiteralBits(type, std::nan("")));
    special.push_back(LiteralBits(type, HUGE_VAL) | 0x1ff);  // a NaN with low bits
    std::vector<uint64_t> x, y;
    for (uint64_t a : special) {
      for (uint64_t c : special) {
        x.push_back(a);
        y.push_back(c);
        if (g.arguments.size() == 1) break;
      }
    }
    const int samples = type == DType::kF32 ? 200000 : 40000;
    for (int i = 0; i < samples; ++i) {
      for (auto* v : {&x, &y}) {
        const uint64_t r = random();
        if (type == DType::kF32) {
          v->push_back(i % 2 == 0 ? r & 0xffffffff
                                  : (r & 0x807fffff) | static_cast<uint64_t>(100 + r / 0x100000000 % 40) << 23);
        } else {
          v->push_back(i % 2 == 0 ? r : (r & 0x800fffffffffffff) | static_cast<uint64_t>(1000 + random() % 40) << 52);
        }
      }
    }
    BlockMath block(g);
    std::vector<uint64_t> out(x.size());
    for (size_t at = 0; at < x.size(); at += BlockMath::kBlock) {
      const uint64_t* args[] = {x.data() + at, y.data() + at};
      block.Run(args, std::min(BlockMath::kBlock, x.size() - at), out.data() + at);
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const long double wanted =
          testing::TrueValue(function, type, testing::ValueOf(type, x[i]), testing::ValueOf(type, y[i]));
      ASSERT_LE(testing::UlpsOff(type, out[i], wanted), 2.0)
          << name << "(" << testing::ValueOf(type, x[i]) << ", " << testing::ValueOf(type, y[i])
          << ") = " << testing::ValueOf(type, out[i]) << ", wanted " << wanted << std::hex << " bits " << x[i] << " "
          << y[i];
    }
  }
}

TEST(Math, SpecialValues) {
  constexpr double inf = HUGE_VAL;
  for (const char* type : {"f32", "f64"}) {
    const auto f = [&](const char* function, std::vector<double> x) {
      return Value(std::string(function) + "." + type + ".v1", x);
    };
    EXPECT_EQ(f("exp", {-inf}), 0);
    EXPECT_EQ(f("exp", {inf}), inf);
    EXPECT_EQ(f("exp", {0}), 1);
    EXPECT_EQ(f("exp", {-1000}), 0);
    EXPECT_EQ(f("expm1", {-inf}), -1);
    EXPECT_EQ(f("expm1", {-200}), -1);
    EXPECT_TRUE(std::signbit(f("expm1", {-0.0})));
    EXPECT_EQ(f("log", {0}), -inf);
    EXPECT_EQ(f("log", {-0.0}), -inf);
    EXPECT_EQ(f("log", {1}), 0);
    EXPECT_TRUE(std::isnan(f("log", {-1})));
    EXPECT_EQ(f("log", {inf}), inf);
    EXPECT_EQ(f("log1p", {-1}), -inf);
    EXPECT_TRUE(std::signbit(f("log1p", {-0.0})));
    EXPECT_EQ(f("logistic", {-inf}), 0);
    EXPECT_EQ(f("logistic", {inf}), 1);
    EXPECT_EQ(f("logistic", {0}), 0.5);
    EXPECT_EQ(f("tanh", {inf}), 1);
    EXPECT_EQ(f("tanh", {-100}), -1);
    EXPECT_TRUE(std::signbit(f("tanh", {-0.0})));
    EXPECT_EQ(f("erf", {inf}), 1);
    EXPECT_EQ(f("erf", {-inf}), -1);
    EXPECT_EQ(f("rsqrt", {0}), inf);
    EXPECT_EQ(f("rsqrt", {-0.0}), -inf);
    EXPECT_EQ(f("cbrt", {-27}), -3);
    EXPECT_EQ(f("cbrt", {-inf}), -inf);
    for (const char* trig : {"sin", "cos", "tan"}) EXPECT_TRUE(std::isnan(f(trig, {inf}))) << trig;
    EXPECT_TRUE(std::signbit(f("sin", {-0.0})));
    EXPECT_TRUE(std::signbit(f("tan", {-0.0})));
    EXPECT_EQ(f("cos", {0}), 1);
    EXPECT_NEAR(f("atan2", {0, -0.0}), M_PI, 1e-6);
    EXPECT_NEAR(f("atan2", {-0.0, -0.0}), -M_PI, 1e-6);
    EXPECT_NEAR(f("atan2", {0, -1}), M_PI, 1e-6);
    EXPECT_NEAR(f("atan2", {inf, -inf}), 3 * M_PI / 4, 1e-6);
    if (!MathByName(std::string("pow.") + type + ".v1").ok()) continue;
    EXPECT_EQ(f("pow", {std::nan(""), 0}), 1);
    EXPECT_EQ(f("pow", {1, std::nan("")}), 1);
    EXPECT_EQ(f("pow", {0, -1}), inf);
    EXPECT_EQ(f("pow", {-0.0, -1}), -inf);
    EXPECT_EQ(f("pow", {-0.0, -2}), inf);
    EXPECT_TRUE(std::isnan(f("pow", {-8, 1.0 / 3})));
    EXPECT_EQ(f("pow", {-1, inf}), 1);
    EXPECT_EQ(f("pow", {-1, -inf}), 1);
    EXPECT_EQ(f("pow", {-2, 3}), -8);
    EXPECT_EQ(f("pow", {-inf, 3}), -inf);
    EXPECT_EQ(f("pow", {-inf, 0.5}), inf);
    EXPECT_EQ(f("pow", {0.5, -inf}), inf);
  }
}

// Narrow types go through f32.
TEST(Math, TheBuilderConvertsAroundTheF32Function) {
  GraphBuilder b(std::vector<DType>{DType::kBF16});
  const Graph g = b.Finish({b.MathOrDie("exponential", {b.Argument(0)})});
  const uint64_t one[] = {LiteralBits(DType::kBF16, 1.0)};
  EXPECT_EQ((*Evaluate(g, one))[0], LiteralBits(DType::kBF16, 2.718281828));
}

}  // namespace
}  // namespace tenon::kir
