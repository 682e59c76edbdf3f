#include "tenon/kernels/fft/family.h"

#include "tenon/drivers/testing/family_checks.h"

namespace tenon::kernels::fft {
namespace {

using drivers::FourierTransform;
using Kind = FourierTransform::Kind;
using drivers::testing::Accepted;
using drivers::testing::Dense;
using drivers::testing::ExpectNotTaken;
using drivers::testing::ExpectRefused;
using drivers::testing::ExpectTaken;
using drivers::testing::With;

TEST(FftFamily, TakesTransforms) {
  const auto family = MakeFamily();
  const Accepted a =
      ExpectTaken(*family, drivers::ProblemOf(FourierTransform{Kind::kRealForward, {8}}, {Dense(DType::kF32, {3, 8})},
                                              {Dense(DType::kC64, {3, 5})}));
  EXPECT_EQ(ToString(a.config), "{kind=[2], lengths=[8]}");
  EXPECT_EQ(a.facts.flops, 3 * 5 * 8 * 3 / 2.0);
}

TEST(FftFamily, WantsRowMajor) {
  const auto family = MakeFamily();
  StridedArray in = Dense(DType::kC64, {3, 8});
  in.strides = {1, 3};
  const drivers::Problem p =
      drivers::ProblemOf(FourierTransform{Kind::kForward, {8}}, {in}, {Dense(DType::kC64, {3, 8})});
  const Accepted a = ExpectTaken(*family, p);
  EXPECT_EQ(a.inputs[0].strides, (Dims{8, 1}));
  ExpectRefused(*family, a.config, {p.operands, p.results}, "row-major");
}

TEST(FftFamily, SaysWhatIsNotItsOwn) {
  const auto family = MakeFamily();
  EXPECT_FALSE(family->Takes(drivers::Contraction::kOp));
  ExpectNotTaken(
      *family,
      drivers::ProblemOf(FourierTransform{Kind::kForward, {4}}, {Dense(DType::kF32, {4})}, {Dense(DType::kF32, {4})}),
      "wanted c64 or c128");
  ExpectNotTaken(*family,
                 drivers::ProblemOf(FourierTransform{Kind::kForward, {2, 2, 2, 2}}, {Dense(DType::kC64, {2, 2, 2, 2})},
                                    {Dense(DType::kC64, {2, 2, 2, 2})}),
                 "1 to 3");
}

TEST(FftFamily, RefusesWhatWouldReachOutside) {
  const auto family = MakeFamily();
  const Accepted good =
      ExpectTaken(*family, drivers::ProblemOf(FourierTransform{Kind::kInverse, {8}}, {Dense(DType::kC64, {3, 8})},
                                              {Dense(DType::kC64, {3, 8})}));
  ExpectRefused(*family, With(good.config, "lengths", {9}), good.operands(), "do not fit length 9");
  ExpectRefused(*family, With(good.config, "lengths", {}), good.operands(), "of 0 dimensions");
  ExpectRefused(*family, With(good.config, "lengths", {1, 3, 8}), good.operands(), "of 3 dimensions");
  ExpectRefused(*family, With(good.config, "kind", {2}), good.operands(), "one precision");
  ExpectRefused(*family, With(good.config, "kind", {4}), good.operands(), "does not take");
  Accepted bad = good;
  bad.outputs[0].type = DType::kC128;
  ExpectRefused(*family, bad.config, bad.operands(), "one precision");
  bad = good;
  bad.outputs[0].dims = {3, 7};
  ExpectRefused(*family, bad.config, bad.operands(), "do not fit");
}

}  // namespace
}  // namespace tenon::kernels::fft
