#include "tenon/kernels/conv/family.h"

#include "tenon/drivers/testing/family_checks.h"

namespace tenon::kernels::conv {
namespace {

using drivers::Convolution;
using drivers::testing::Accepted;
using drivers::testing::Dense;
using drivers::testing::ExpectNotTaken;
using drivers::testing::ExpectRefused;
using drivers::testing::ExpectTaken;
using drivers::testing::With;

constexpr DType f32 = DType::kF32;

/// One spatial dim; input [batch, place, feature], weights [window, in, out].
Convolution Line() {
  Convolution n;
  n.in_batch = n.out_batch = 0;
  n.in_feature = n.out_feature = 2;
  n.in_spatial = n.out_spatial = {1};
  n.weight_spatial = {0};
  n.weight_in = 1;
  n.weight_out = 2;
  n.strides = n.in_dilation = n.window_dilation = {1};
  n.low = n.reversed = {0};
  return n;
}

drivers::Problem Problem() {
  return drivers::ProblemOf(Line(), {Dense(f32, {2, 10, 3}), Dense(f32, {4, 3, 5})}, {Dense(f32, {2, 7, 5})});
}

TEST(ConvFamily, TakesConvolutions) {
  const auto family = MakeFamily();
  const Accepted a = ExpectTaken(*family, Problem());
  EXPECT_EQ(a.inputs[1].strides, (Dims{15, 5, 1}));
  EXPECT_EQ(a.facts.flops, 2.0 * 2 * 7 * 5 * 4 * 3);
  EXPECT_TRUE(a.facts.hooks.empty());
}

TEST(ConvFamily, WantsWeightsInOneRun) {
  const auto family = MakeFamily();
  drivers::Problem p = Problem();
  p.operands[1].strides = {1, 20, 4};
  const Accepted a = ExpectTaken(*family, p);
  EXPECT_EQ(a.inputs[1].strides, (Dims{15, 5, 1}));
  ExpectRefused(*family, a.config, {p.operands, p.results}, "weights' layout");
}

TEST(ConvFamily, WantsAnInputInRuns) {
  const auto family = MakeFamily();
  drivers::Problem p = Problem();
  p.operands[0].strides = {30, 0, 1};
  EXPECT_EQ(ExpectTaken(*family, p).inputs[0].strides, (Dims{30, 3, 1}));
  p.operands[0].strides = {30, -3, 1};
  EXPECT_EQ(ExpectTaken(*family, p).inputs[0].strides, (Dims{30, 3, 1}));
  p.operands[0].strides = {0, 3, 1};  // One image, over and over again.
  EXPECT_EQ(ExpectTaken(*family, p).inputs[0].strides, (Dims{0, 3, 1}));
}

TEST(ConvFamily, SaysWhatIsNotItsOwn) {
  const auto family = MakeFamily();
  EXPECT_FALSE(family->Takes(drivers::Contraction::kOp));
  drivers::Problem p = Problem();
  for (StridedArray& o : p.operands) o.type = DType::kC64;
  ExpectNotTaken(*family, p, "no kernel for c64");
}

TEST(ConvFamily, RefusesWhatWouldReachOutside) {
  const auto family = MakeFamily();
  const Accepted good = ExpectTaken(*family, Problem());
  const auto refused = [&](std::string_view field, drivers::Numbers values,
                           std::string_view why = "do not belong together") {
    ExpectRefused(*family, With(good.config, field, std::move(values)), good.operands(), why);
  };
  refused("in_feature", {1});
  refused("in_batch", {3});
  refused("in_spatial", {1, 1});
  refused("strides", {});
  refused("strides", {0});
  refused("low", {0, 0});
  refused("feature_groups", {0});
  refused("feature_groups", {2});
  refused("batch_groups", {int64_t{1} << 62});
  // The last place of the window would be reckoned as one before the input's first.
  refused("window_dilation", {int64_t{1} << 62});
  refused("window_dilation", {INT64_MAX / 3 + 2});
  refused("strides", {INT64_MAX / 4});
  refused("low", {INT64_MIN});
  refused("in_dilation", {INT64_MAX});
  refused("padding", {1}, "is no field");
  Accepted bad = good;
  bad.outputs[0].type = DType::kF64;
  ExpectRefused(*family, bad.config, bad.operands(), "no kernel");
}

}  // namespace
}  // namespace tenon::kernels::conv
