// What loops need not do trip by trip: computed for all trips at once, before them or behind them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tenon/compiler/compile.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using compiler::Compile;
using compiler::CompiledProgram;

/// Compiles and compares with the reference; how often the rule did something.
int64_t Hits(const std::string& rule, const std::string& program) {
  compiler::CompileOptions options = CpuOptions();
  options.verify = true;
  const Result<CompiledProgram> compiled = Compile(program, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString() << program;
  if (!compiled.ok()) return -1;
  const Status same = CompareWithReference(program, *compiled, 7, {});
  EXPECT_TRUE(same.ok()) << same.ToString() << program << plan::Print(compiled->plan);
  for (const auto& [name, hits] : compiled->statistics.rules) {
    if (name == rule) return hits;
  }
  return 0;
}

/// A loop over the elements of xs [trips, n], with a state s [n] and results ys [trips, m]. `body` defines %s and %y
/// [m] of %x [n], %s0 and the place %at.
struct Scan {
  int64_t trips = 200, n = 3, m = 3;
  bool backward = false;
  std::string body = {};
  std::string inputs = {};  ///< Further arguments: ", %w: tensor<...>".

  std::string Text() const {
    const std::string place = backward ? R"(
      %last = stablehlo.constant dense<{last}> : tensor<i32>
      %at = stablehlo.subtract %last, %i : tensor<i32>)"
                                       : R"(
      %none = stablehlo.constant dense<0> : tensor<i32>
      %all = stablehlo.constant dense<{trips}> : tensor<i32>
      %under = stablehlo.compare LT, %i, %none, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %wrapped = stablehlo.add %i, %all : tensor<i32>
      %at = stablehlo.select %under, %wrapped, %i : tensor<i1>, tensor<i32>)";
    using fmt::arg;
    return fmt::format(fmt::runtime(R"(
  func.func @main(%xs: tensor<{trips}x{n}xf32>, %h: tensor<{n}xf32>{inputs}) -> (tensor<{n}xf32>, tensor<{trips}x{m}xf32>) {{
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %f0 = stablehlo.constant dense<0.0> : tensor<f32>
    %z = stablehlo.constant dense<0.0> : tensor<{trips}x{m}xf32>
    %r:3 = stablehlo.while(%i = %c0, %s0 = %h, %ys = %z) : tensor<i32>, tensor<{n}xf32>, tensor<{trips}x{m}xf32>
    cond {{
      %limit = stablehlo.constant dense<{trips}> : tensor<i32>
      %go = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{)" + place + R"(
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %x1 = stablehlo.dynamic_slice %xs, %at, %zero, sizes = [1, {n}] : (tensor<{trips}x{n}xf32>, tensor<i32>, tensor<i32>) -> tensor<1x{n}xf32>
      %x = stablehlo.reshape %x1 : (tensor<1x{n}xf32>) -> tensor<{n}xf32>
{body}
      %y1 = stablehlo.reshape %y : (tensor<{m}xf32>) -> tensor<1x{m}xf32>
      %next = stablehlo.dynamic_update_slice %ys, %y1, %at, %zero : (tensor<{trips}x{m}xf32>, tensor<1x{m}xf32>, tensor<i32>, tensor<i32>) -> tensor<{trips}x{m}xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %s, %next : tensor<i32>, tensor<{n}xf32>, tensor<{trips}x{m}xf32>
    }}
    return %r#1, %r#2 : tensor<{n}xf32>, tensor<{trips}x{m}xf32>
  }})"),
                       arg("trips", trips), arg("n", n), arg("m", m), arg("last", trips - 1), arg("body", body),
                       arg("inputs", inputs));
  }
};

/// s = tanh(s0 + x); y = exp(s0) * x.
const char kRecurrence[] = R"(
      %sum = stablehlo.add %s0, %x : tensor<3xf32>
      %s = stablehlo.tanh %sum : tensor<3xf32>
      %e = stablehlo.exponential %s0 : tensor<3xf32>
      %y = stablehlo.multiply %e, %x : tensor<3xf32>)";

TEST(Fission, WhatNoTripReadsIsComputedBehindTheLoop) {
  EXPECT_GT(Hits("late", Scan{.body = kRecurrence}.Text()), 0);
  EXPECT_GT(Hits("late", Scan{.backward = true, .body = kRecurrence}.Text()), 0);
}

TEST(Fission, WhatDependsOnNoTripIsComputedBeforeTheLoop) {
  const std::string body = R"(
      %e = stablehlo.exponential %x : tensor<3xf32>
      %s = stablehlo.subtract %e, %s0 : tensor<3xf32>
      %y = stablehlo.multiply %s, %e : tensor<3xf32>)";
  EXPECT_GT(Hits("early", Scan{.body = body}.Text()), 0);
  EXPECT_GT(Hits("early", Scan{.backward = true, .body = body}.Text()), 0);
}

TEST(Fission, NumbersOfTripsAreKnown) {
  // The trip's number, as it is, and every other element from the third on.
  const std::string body = R"(
      %t = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
      %lt = stablehlo.cosine %t : tensor<f32>
      %spread = stablehlo.broadcast_in_dim %lt, dims = [] : (tensor<f32>) -> tensor<3xf32>
      %two = stablehlo.constant dense<2> : tensor<i32>
      %twice = stablehlo.multiply %i, %two : tensor<i32>
      %from = stablehlo.add %twice, %two : tensor<i32>
      %v1 = stablehlo.dynamic_slice %w, %zero, %from, sizes = [3, 1] : (tensor<3x420xf32>, tensor<i32>, tensor<i32>) -> tensor<3x1xf32>
      %v = stablehlo.reshape %v1 : (tensor<3x1xf32>) -> tensor<3xf32>
      %l = stablehlo.logistic %v : tensor<3xf32>
      %sum = stablehlo.add %s0, %l : tensor<3xf32>
      %s = stablehlo.multiply %sum, %spread : tensor<3xf32>
      %y = stablehlo.add %s, %x : tensor<3xf32>)";
  for (bool backward : {false, true})
    EXPECT_GT(Hits("early", Scan{.backward = backward, .body = body, .inputs = ", %w: tensor<3x420xf32>"}.Text()), 1);
}

TEST(Fission, ProductsWithAMatrixAreOneProduct) {
  const std::string body = R"(
      %sum = stablehlo.add %s0, %x : tensor<24xf32>
      %s = stablehlo.tanh %sum : tensor<24xf32>
      %d = stablehlo.dot_general %w, %s, contracting_dims = [0] x [0] : (tensor<24x40xf32>, tensor<24xf32>) -> tensor<40xf32>
      %most = stablehlo.reduce(%d init: %f0) applies stablehlo.maximum across dimensions = [0] : (tensor<40xf32>, tensor<f32>) -> tensor<f32>
      %low = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<40xf32>
      %y = stablehlo.subtract %d, %low : tensor<40xf32>)";
  for (bool backward : {false, true}) {
    const Scan scan{.n = 24, .m = 40, .backward = backward, .body = body, .inputs = ", %w: tensor<24x40xf32>"};
    EXPECT_GT(Hits("late", scan.Text()), 0);
  }
}

/// Sums over trips of products of a state with an element, each of `rows` rows, in a loop that an outer one runs
/// `outer` times.
std::string SumOfProducts(int64_t rows, int64_t outer, bool transposed) {
  using fmt::arg;
  const char* const turned = transposed ? R"(
        %g = stablehlo.transpose %d, dims = [1, 0] : (tensor<24x32xf32>) -> tensor<32x24xf32>)"
                                        : R"(
        %g = stablehlo.dot_general %x, %s, contracting_dims = [0] x [0] : (tensor<{rows}x32xf32>, tensor<{rows}x24xf32>) -> tensor<32x24xf32>)";
  return fmt::format(fmt::runtime(R"(
  func.func @main(%xs: tensor<24x{rows}x32xf32>, %h: tensor<{rows}x24xf32>, %w: tensor<32x24xf32>) -> (tensor<{rows}x24xf32>, tensor<32x24xf32>) {{
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %r:3 = stablehlo.while(%o = %c0, %so = %h, %wo = %w) : tensor<i32>, tensor<{rows}x24xf32>, tensor<32x24xf32>
    cond {{
      %most = stablehlo.constant dense<{outer}> : tensor<i32>
      %more = stablehlo.compare LT, %o, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    }} do {{
      %q:3 = stablehlo.while(%i = %c0, %s0 = %so, %w0 = %wo) : tensor<i32>, tensor<{rows}x24xf32>, tensor<32x24xf32>
      cond {{
        %limit = stablehlo.constant dense<24> : tensor<i32>
        %go = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      }} do {{
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %x1 = stablehlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, {rows}, 32] : (tensor<24x{rows}x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x{rows}x32xf32>
        %x = stablehlo.reshape %x1 : (tensor<1x{rows}x32xf32>) -> tensor<{rows}x32xf32>
        %s = stablehlo.tanh %s0 : tensor<{rows}x24xf32>
        %d = stablehlo.dot_general %s, %x, contracting_dims = [0] x [0] : (tensor<{rows}x24xf32>, tensor<{rows}x32xf32>) -> tensor<24x32xf32>)" +
                                  std::string(turned) + R"(
        %w1 = stablehlo.add %w0, %g : tensor<32x24xf32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %i1 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %i1, %s, %w1 : tensor<i32>, tensor<{rows}x24xf32>, tensor<32x24xf32>
      }}
      %onemore = stablehlo.constant dense<1> : tensor<i32>
      %o1 = stablehlo.add %o, %onemore : tensor<i32>
      stablehlo.return %o1, %q#1, %q#2 : tensor<i32>, tensor<{rows}x24xf32>, tensor<32x24xf32>
    }}
    return %r#1, %r#2 : tensor<{rows}x24xf32>, tensor<32x24xf32>
  }})"),
                     arg("rows", rows), arg("outer", outer));
}

TEST(Fission, SumsOfProductsAreOneProduct) {
  for (bool transposed : {false, true}) {
    EXPECT_EQ(Hits("late_product", SumOfProducts(1, 2, transposed)), 1);
    EXPECT_EQ(Hits("late_product", SumOfProducts(5, 2, transposed)), 1);
  }
}

/// A loop that carries a state [3] and, from trip to trip by itself, a seed [1] and what `chain` makes of it, with
/// results ys [400, 3]. `body` defines %s and %y [3] of %s0, the seed %k0 and the trip's %x [3]; `chain` the next seed
/// %k.
std::string SeededLoop(const std::string& chain, const std::string& body, bool backward = false) {
  using fmt::arg;
  return fmt::format(fmt::runtime(R"(
  func.func @main(%xs: tensor<400x3xf32>, %h: tensor<3xf32>, %seed: tensor<1xui32>) -> (tensor<3xf32>, tensor<400x3xf32>, tensor<1xui32>) {{
    %first = stablehlo.constant dense<{first}> : tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<400x3xf32>
    %r:4 = stablehlo.while(%i = %first, %k0 = %seed, %s0 = %h, %ys = %z) : tensor<i32>, tensor<1xui32>, tensor<3xf32>, tensor<400x3xf32>
    cond {{
      %limit = stablehlo.constant dense<{limit}> : tensor<i32>
      %go = stablehlo.compare NE, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %x1 = stablehlo.dynamic_slice %xs, %i, %zero, sizes = [1, 3] : (tensor<400x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
      %x = stablehlo.reshape %x1 : (tensor<1x3xf32>) -> tensor<3xf32>
      %factor = stablehlo.constant dense<1664525> : tensor<1xui32>
      %plus = stablehlo.constant dense<1013904223> : tensor<1xui32>
      %grown = stablehlo.multiply %k0, %factor : tensor<1xui32>
      %moved = stablehlo.add %grown, %plus : tensor<1xui32>
{chain}
      %nine = stablehlo.constant dense<9> : tensor<1xui32>
      %high = stablehlo.shift_right_logical %k0, %nine : tensor<1xui32>
      %number = stablehlo.convert %high : (tensor<1xui32>) -> tensor<1xf32>
      %scale = stablehlo.constant dense<1.1920929e-07> : tensor<1xf32>
      %unit = stablehlo.multiply %number, %scale : tensor<1xf32>
      %wave = stablehlo.cosine %unit : tensor<1xf32>
      %deep = stablehlo.exponential %wave : tensor<1xf32>
      %noise = stablehlo.broadcast_in_dim %deep, dims = [0] : (tensor<1xf32>) -> tensor<3xf32>
{body}
      %y1 = stablehlo.reshape %y : (tensor<3xf32>) -> tensor<1x3xf32>
      %next = stablehlo.dynamic_update_slice %ys, %y1, %i, %zero : (tensor<400x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<400x3xf32>
      %one = stablehlo.constant dense<{step}> : tensor<i32>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %k, %s, %next : tensor<i32>, tensor<1xui32>, tensor<3xf32>, tensor<400x3xf32>
    }}
    return %r#2, %r#3, %r#1 : tensor<3xf32>, tensor<400x3xf32>, tensor<1xui32>
  }})"),
                     arg("first", backward ? 399 : 0), arg("limit", backward ? -1 : 400),
                     arg("step", backward ? -1 : 1), arg("chain", chain), arg("body", body));
}
const char kMovedSeed[] = R"(
      %k = stablehlo.or %moved, %moved : tensor<1xui32>)";
/// s = (s0 + noise) / 2; y = s.
const char kNoisyState[] = R"(
      %sum = stablehlo.add %s0, %noise : tensor<3xf32>
      %half = stablehlo.constant dense<0.5> : tensor<3xf32>
      %s = stablehlo.multiply %sum, %half : tensor<3xf32>
      %y = stablehlo.add %s, %x : tensor<3xf32>)";

TEST(Fission, WhatIsCarriedByItselfHasALoopOfItsOwn) {
  for (bool backward : {false, true}) {
    const std::string text = SeededLoop(kMovedSeed, kNoisyState, backward);
    EXPECT_EQ(Hits("chain", text), 1);
    EXPECT_GT(Hits("early", text), 3);
  }
  // The next seed needs an element, and something made of it that the state needs too.
  const std::string mixed = R"(
      %one_x = stablehlo.slice %x [0:1] : (tensor<3xf32>) -> tensor<1xf32>
      %scale0 = stablehlo.constant dense<0.3> : tensor<1xf32>
      %small = stablehlo.divide %one_x, %scale0 : tensor<1xf32>
      %bits = stablehlo.bitcast_convert %small : (tensor<1xf32>) -> tensor<1xui32>
      %k = stablehlo.xor %moved, %bits : tensor<1xui32>)";
  const std::string also = R"(
      %again = stablehlo.broadcast_in_dim %small, dims = [0] : (tensor<1xf32>) -> tensor<3xf32>
      %both = stablehlo.add %again, %noise : tensor<3xf32>
      %sum = stablehlo.add %s0, %both : tensor<3xf32>
      %half = stablehlo.constant dense<0.5> : tensor<3xf32>
      %s = stablehlo.multiply %sum, %half : tensor<3xf32>
      %y = stablehlo.add %s, %x : tensor<3xf32>)";
  EXPECT_EQ(Hits("chain", SeededLoop(mixed, also)), 1);
  // Another number than that which says where elements are says when the loop ends.
  std::string other = SeededLoop(kMovedSeed, kNoisyState);
  const auto replace = [&](const std::string& old, const std::string& by) {
    for (size_t at = other.find(old); at != std::string::npos; at = other.find(old, at + by.size()))
      other.replace(at, old.size(), by);
  };
  replace("while(%i = %first,", "while(%even = %first, %i = %first,");
  replace(": tensor<i32>, tensor<1xui32>, tensor<3xf32>, tensor<400x3xf32>",
          ": tensor<i32>, tensor<i32>, tensor<1xui32>, tensor<3xf32>, tensor<400x3xf32>");
  replace("dense<400>", "dense<800>");
  replace("NE, %i,", "LT, %even,");
  replace("stablehlo.return %i1,",
          "%two = stablehlo.constant dense<2> : tensor<i32>\n      %even1 = stablehlo.add %even, %two : tensor<i32>\n"
          "      stablehlo.return %even1, %i1,");
  replace("%r:4", "%r:5");
  replace("return %r#2, %r#3, %r#1", "return %r#3, %r#4, %r#2");
  EXPECT_EQ(Hits("chain", other), 1);
}

TEST(Fission, WhatTheLoopNeedsOfAChainIsReadThere) {
  // The state looks at the seed, and at the next one.
  const std::string body = R"(
      %low = stablehlo.and %k0, %k : tensor<1xui32>
      %bit = stablehlo.constant dense<1> : tensor<1xui32>
      %odd = stablehlo.and %low, %bit : tensor<1xui32>
      %as = stablehlo.convert %odd : (tensor<1xui32>) -> tensor<1xf32>
      %spread = stablehlo.broadcast_in_dim %as, dims = [0] : (tensor<1xf32>) -> tensor<3xf32>
      %held = stablehlo.minimum %s0, %spread : tensor<3xf32>
      %scaled = stablehlo.divide %spread, %held : tensor<3xf32>
      %most = stablehlo.maximum %s0, %scaled : tensor<3xf32>
      %sum = stablehlo.add %most, %noise : tensor<3xf32>
      %half = stablehlo.constant dense<0.5> : tensor<3xf32>
      %s = stablehlo.multiply %sum, %half : tensor<3xf32>
      %y = stablehlo.add %s, %x : tensor<3xf32>)";
  EXPECT_EQ(Hits("chain", SeededLoop(kMovedSeed, body)), 1);
  // A loop inside reads it.
  const std::string inner = R"(
      %none = stablehlo.constant dense<0> : tensor<i32>
      %t:2 = stablehlo.while(%j = %none, %a = %s0) : tensor<i32>, tensor<3xf32>
      cond {
        %m0 = stablehlo.constant dense<15> : tensor<1xui32>
        %few1 = stablehlo.and %k0, %m0 : tensor<1xui32>
        %few2 = stablehlo.convert %few1 : (tensor<1xui32>) -> tensor<1xi32>
        %few = stablehlo.reshape %few2 : (tensor<1xi32>) -> tensor<i32>
        %on = stablehlo.compare LT, %j, %few, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %on : tensor<i1>
      } do {
        %a1 = stablehlo.sine %a : tensor<3xf32>
        %o = stablehlo.constant dense<1> : tensor<i32>
        %j1 = stablehlo.add %j, %o : tensor<i32>
        stablehlo.return %j1, %a1 : tensor<i32>, tensor<3xf32>
      }
      %sum = stablehlo.add %t#1, %noise : tensor<3xf32>
      %half = stablehlo.constant dense<0.5> : tensor<3xf32>
      %s = stablehlo.multiply %sum, %half : tensor<3xf32>
      %y = stablehlo.add %s, %x : tensor<3xf32>)";
  EXPECT_EQ(Hits("chain", SeededLoop(kMovedSeed, inner)), 1);
}

TEST(Fission, WhatIsCarriedTogetherStays) {
  // The seed depends on the state.
  const std::string fed = R"(
      %one_s = stablehlo.slice %s0 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
      %huge = stablehlo.constant dense<1.0e9> : tensor<1xf32>
      %over = stablehlo.compare GT, %one_s, %huge, FLOAT : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
      %bits = stablehlo.convert %over : (tensor<1xi1>) -> tensor<1xui32>
      %k = stablehlo.xor %moved, %bits : tensor<1xui32>)";
  EXPECT_EQ(Hits("chain", SeededLoop(fed, kNoisyState)), 0);
  // Nothing else is carried: what is made of the seed belongs behind the loop.
  const std::string alone = R"(
      %s = stablehlo.or %s0, %s0 : tensor<3xf32>
      %y = stablehlo.add %noise, %x : tensor<3xf32>)";
  std::string text = SeededLoop(kMovedSeed, alone);
  const std::string same = "%s = stablehlo.or %s0, %s0 : tensor<3xf32>";
  text.replace(text.find(same), same.size(), "%s = stablehlo.add %x, %x : tensor<3xf32>");
  EXPECT_EQ(Hits("chain", text), 0);
  EXPECT_GT(Hits("late", text), 0);
}

TEST(Fission, CombinersMayUseWhatTheBodyHas) {
  // The combiner's constant is also one of the body's.
  const std::string body = R"(
      %s1 = stablehlo.slice %s0 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
      %t = stablehlo.reshape %s1 : (tensor<1xf32>) -> tensor<f32>
      %k = stablehlo.constant dense<0.75> : tensor<f32>
      %tk = stablehlo.add %t, %k : tensor<f32>
      %w = stablehlo.sine %tk : tensor<f32>
      %e = stablehlo.exponential %x : tensor<3xf32>
      %reduced = stablehlo.reduce(%e init: %f0) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
        reducer(%a: tensor<f32>, %b: tensor<f32>) {
          %k1 = stablehlo.constant dense<0.75> : tensor<f32>
          %most = stablehlo.maximum %b, %k1 : tensor<f32>
          %ab = stablehlo.add %a, %most : tensor<f32>
          stablehlo.return %ab : tensor<f32>
        }
      %sum = stablehlo.multiply %reduced, %w : tensor<f32>
      %spread = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<3xf32>
      %s = stablehlo.logistic %spread : tensor<3xf32>
      %y = stablehlo.multiply %s, %x : tensor<3xf32>)";
  EXPECT_GT(Hits("early", Scan{.body = body}.Text()), 0);
}

TEST(Fission, WhatTheLoopNeedsStays) {
  // The state is read by the next trip; a state that is also the result needs no second array.
  const std::string body = R"(
      %sum = stablehlo.add %s0, %x : tensor<3xf32>
      %s = stablehlo.tanh %sum : tensor<3xf32>
      %y = stablehlo.reshape %s : (tensor<3xf32>) -> tensor<3xf32>)";
  EXPECT_EQ(Hits("late", Scan{.body = body}.Text()), 0);
  // Results are written to another place.
  std::string text = Scan{.body = kRecurrence}.Text();
  const std::string update = "%ys, %y1, %at, %zero";
  std::string shifted = text;
  shifted.replace(shifted.find(update), update.size(), "%ys, %y1, %one, %zero");
  const std::string one = "%one = stablehlo.constant dense<1> : tensor<i32>";
  shifted.replace(shifted.find(one), one.size(), "");
  shifted.replace(shifted.find("%y1 ="), 0, one + "\n      ");
  EXPECT_EQ(Hits("late", shifted), 0);
  // The results so far are read.
  std::string read = text;
  const std::string sum = "%e = stablehlo.exponential %s0 : tensor<3xf32>";
  read.replace(
      read.find(sum), sum.size(),
      R"(%back1 = stablehlo.dynamic_slice %ys, %zero, %zero, sizes = [1, 3] : (tensor<200x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
      %back = stablehlo.reshape %back1 : (tensor<1x3xf32>) -> tensor<3xf32>
      %e0 = stablehlo.exponential %s0 : tensor<3xf32>
      %e = stablehlo.add %e0, %back : tensor<3xf32>)");
  EXPECT_EQ(Hits("late", read), 0);
}

}  // namespace
}  // namespace tenon::test
