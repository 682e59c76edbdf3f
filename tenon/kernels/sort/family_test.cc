#include "tenon/kernels/sort/family.h"

#include "tenon/drivers/testing/family_checks.h"

namespace tenon::kernels::sort {
namespace {

using drivers::Ordering;
using drivers::testing::Accepted;
using drivers::testing::Dense;
using drivers::testing::ExpectNotTaken;
using drivers::testing::ExpectRefused;
using drivers::testing::ExpectTaken;
using drivers::testing::With;

/// By one key of f32 [4, 10] along dim 1: the first 3 of it, and where they were.
drivers::Problem Problem() {
  const StridedArray x = Dense(DType::kF32, {4, 10});
  return drivers::ProblemOf(Ordering{1, {1}, {0}, {0, 1}}, {x, x},
                            {Dense(DType::kF32, {4, 3}), Dense(DType::kS32, {4, 3})});
}

TEST(SortFamily, TakesSortsAsTheyLie) {
  const auto family = MakeFamily();
  drivers::Problem p = Problem();
  p.operands[0].strides = {1, -4};
  const Accepted a = ExpectTaken(*family, p);
  EXPECT_EQ(a.inputs[0].strides, (Dims{1, -4}));
  EXPECT_EQ(ToString(a.config), "{dimension=[1], descending=[1], by_value=[0], is_position=[0,1]}");
  EXPECT_GT(a.facts.scratch_bytes, 0);
}

TEST(SortFamily, SaysWhatIsNotItsOwn) {
  const auto family = MakeFamily();
  EXPECT_FALSE(family->Takes(drivers::Contraction::kOp));
  drivers::Problem p = Problem();
  for (StridedArray& o : p.operands) o.type = DType::kC64;
  p.results[0].type = DType::kC64;
  ExpectNotTaken(*family, p, "keys of type c64");
  p = Problem();
  p.operands[0] = p.operands[1] = {DType::kF32, {4, int64_t{1} << 31}, {0, 0}};
  ExpectNotTaken(*family, p, "2^31 - 1");
}

TEST(SortFamily, RefusesWhatWouldReachOutside) {
  const auto family = MakeFamily();
  const Accepted good = ExpectTaken(*family, Problem());
  const auto refused = [&](std::string_view field, drivers::Numbers values, std::string_view why) {
    ExpectRefused(*family, With(good.config, field, std::move(values)), good.operands(), why);
  };
  refused("dimension", {2}, "dimension 2 of 2");
  refused("dimension", {-1}, "dimension -1 of 2");
  refused("dimension", {0}, "several shapes");
  refused("descending", {1, 0}, "with and without flags");
  refused("descending", {}, "with and without flags");
  refused("by_value", {2}, "a flag of 2");
  refused("is_position", {0, 0}, "wanted 3 and 2");
  refused("is_position", {1, 0}, "writes positions as f32");
  const auto changed = [&](const auto& change, std::string_view why) {
    Accepted bad = good;
    change(bad);
    ExpectRefused(*family, bad.config, bad.operands(), why);
  };
  changed([](Accepted& a) { a.inputs[1].dims = {4, 9}; }, "differ in type or shape");
  changed([](Accepted& a) { a.inputs[1].type = DType::kF64; }, "differ in type or shape");
  changed([](Accepted& a) { a.outputs[1].dims = {4, 4}; }, "several shapes");
  changed([](Accepted& a) { a.outputs[0].dims = a.outputs[1].dims = {4, 11}; }, "takes 11");
  changed([](Accepted& a) { a.inputs[0].type = DType::kInvalid; }, "not in memory");
}

}  // namespace
}  // namespace tenon::kernels::sort
