#include "tenon/kernels/linalg/family.h"

#include "tenon/drivers/testing/family_checks.h"

namespace tenon::kernels::linalg {
namespace {

using drivers::Factorisation;
using Kind = Factorisation::Kind;
using drivers::testing::Accepted;
using drivers::testing::Dense;
using drivers::testing::ExpectNotTaken;
using drivers::testing::ExpectRefused;
using drivers::testing::ExpectTaken;
using drivers::testing::With;

constexpr DType f32 = DType::kF32, s32 = DType::kS32;

drivers::Problem Lu() {
  Factorisation lu;
  lu.kind = Kind::kLu;
  lu.has_info = true;
  return drivers::ProblemOf(lu, {Dense(f32, {2, 5, 4})}, {Dense(f32, {2, 5, 4}), Dense(s32, {2, 4}), Dense(s32, {2})});
}

drivers::Problem Solve() {
  Factorisation solve;
  solve.kind = Kind::kTriangularSolve;
  return drivers::ProblemOf(solve, {Dense(f32, {2, 5, 4}), Dense(f32, {2, 5, 5})}, {Dense(f32, {2, 5, 4})});
}

TEST(LinalgFamily, TakesFactorisationsAndSystemsAsTheyLie) {
  const auto family = MakeFamily();
  EXPECT_EQ(ToString(ExpectTaken(*family, Lu()).config), "{kind=[2], has_info=[1]}");
  drivers::Problem p = Solve();
  p.operands[1].strides = {0, -1, 5};
  const Accepted a = ExpectTaken(*family, p);
  EXPECT_EQ(a.inputs[1].strides, (Dims{0, -1, 5}));
  EXPECT_GT(a.facts.scratch_bytes, 0);
  EXPECT_GT(a.facts.flops, 0);
}

TEST(LinalgFamily, SaysWhatIsNotItsOwn) {
  const auto family = MakeFamily();
  EXPECT_FALSE(family->Takes(drivers::Contraction::kOp));
  drivers::Problem p = Lu();
  p.operands[0].type = p.results[0].type = DType::kC64;
  ExpectNotTaken(*family, p, "over c64");
}

TEST(LinalgFamily, RefusesWhatWouldReachOutside) {
  const auto family = MakeFamily();
  const Accepted lu = ExpectTaken(*family, Lu()), solve = ExpectTaken(*family, Solve());
  ExpectRefused(*family, With(lu.config, "kind", {0}), lu.operands(), "wanted 1 and 2");
  ExpectRefused(*family, With(lu.config, "has_info", {0}), lu.operands(), "wanted 1 and 2");
  ExpectRefused(*family, With(lu.config, "kind", {3}), lu.operands(), "does not take");
  ExpectRefused(*family, With(solve.config, "left", {0}), solve.operands(), "triangular system");
  const auto changed = [&](Accepted bad, const auto& change, std::string_view why) {
    change(bad);
    ExpectRefused(*family, bad.config, bad.operands(), why);
  };
  changed(lu, [](Accepted& a) { a.outputs[1].dims = {2, 3}; }, "pivots");
  changed(lu, [](Accepted& a) { a.outputs[1].strides = {1, 2}; }, "pivots");
  changed(lu, [](Accepted& a) { a.outputs[1].type = DType::kS16; }, "pivots");
  changed(lu, [](Accepted& a) { a.outputs[2].dims = {1}; }, "infos");
  changed(lu, [](Accepted& a) { a.outputs[0].dims = {2, 4, 5}; }, "differ in type or shape");
  changed(lu, [](Accepted& a) { a.inputs[0].type = DType::kF64; }, "differ in type or shape");
  changed(solve, [](Accepted& a) { a.inputs[1].dims = {1, 5, 5}; }, "do not fit each other");
  changed(solve, [](Accepted& a) { a.inputs[1].type = DType::kF64; }, "do not fit each other");
  changed(solve, [](Accepted& a) { a.inputs.pop_back(); }, "wanted 2 and 1");
}

}  // namespace
}  // namespace tenon::kernels::linalg
