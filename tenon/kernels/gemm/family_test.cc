#include "tenon/kernels/gemm/family.h"

#include <functional>

#include "tenon/drivers/testing/family_checks.h"
#include "tenon/kernels/gemm/gemm.h"

namespace tenon::kernels::gemm {
namespace {

using drivers::Contraction;
using drivers::testing::Accepted;
using drivers::testing::Dense;
using drivers::testing::ExpectNotTaken;
using drivers::testing::ExpectRefused;
using drivers::testing::ExpectTaken;
using drivers::testing::With;

constexpr DType f32 = DType::kF32;
const Contraction kMatrices{{}, {}, {1}, {0}};

drivers::Problem Product(int64_t m, int64_t k, int64_t n) {
  return drivers::ProblemOf(kMatrices, {Dense(f32, {m, k}), Dense(f32, {k, n})}, {Dense(f32, {m, n})});
}

TEST(GemmFamily, TakesProductsAsTheyLie) {
  const auto family = MakeFamily();
  drivers::Problem p = Product(3, 4, 5);
  p.operands[0].strides = {1, 3};  // A transpose is a view.
  const Accepted a = ExpectTaken(*family, p);
  EXPECT_EQ(a.inputs[0].strides, (Dims{1, 3}));
  EXPECT_EQ(ToString(a.config), "{lhs_contracting=[1], rhs_contracting=[0]}");
  EXPECT_EQ(a.facts.flops, 2 * 3 * 4 * 5);
  EXPECT_EQ(a.facts.scratch_bytes, 0);
  EXPECT_GT(a.facts.work.flops, 0);
}

TEST(GemmFamily, WantsDimsThatActAsOneTogether) {
  const auto family = MakeFamily();
  // lhs [6, 5, 4] over its first and last dim; rhs [6, 4, 7]: its contracted dims are a run, those of lhs are not.
  const auto lhs = Dense(f32, {6, 5, 4}), rhs = Dense(f32, {6, 4, 7});
  const auto offer =
      family->Match(drivers::ProblemOf(Contraction{{}, {}, {0, 2}, {0, 1}}, {lhs, rhs}, {Dense(f32, {5, 7})}));
  ASSERT_TRUE(offer.ok()) << offer.status().ToString();
  EXPECT_EQ(offer->layouts[0], (Dims{2, 0, 1}));
  EXPECT_FALSE(offer->layouts[1].has_value());
  const Accepted a =
      ExpectTaken(*family, drivers::ProblemOf(Contraction{{}, {}, {0, 2}, {0, 1}}, {lhs, rhs}, {Dense(f32, {5, 7})}));
  EXPECT_EQ(a.facts.hooks[1].rows, 24);
  EXPECT_EQ(a.facts.hooks[1].row_dims, (Dims{0, 1}));
  EXPECT_EQ(a.facts.hooks[0].col_dims, (Dims{0, 2}));
}

TEST(GemmFamily, PrefersRowMajorWhereThatSuffices) {
  const auto family = MakeFamily();
  StridedArray lhs = Dense(f32, {5, 3, 4});
  lhs.strides = {1, 20, 5};
  const auto offer = family->Match(
      drivers::ProblemOf(Contraction{{}, {}, {1, 2}, {0, 1}}, {lhs, Dense(f32, {3, 4, 7})}, {Dense(f32, {5, 7})}));
  ASSERT_TRUE(offer.ok()) << offer.status().ToString();
  EXPECT_FALSE(offer->layouts[0].has_value()) << "dims 1 and 2 are a run";
  lhs.strides = {3, 1, 15};
  const auto moved = family->Match(
      drivers::ProblemOf(Contraction{{}, {}, {1, 2}, {0, 1}}, {lhs, Dense(f32, {3, 4, 7})}, {Dense(f32, {5, 7})}));
  ASSERT_TRUE(moved.ok()) << moved.status().ToString();
  EXPECT_EQ(moved->layouts[0], (Dims{2, 1, 0}));
}

TEST(GemmFamily, LaysMatricesThatLastAsVectorsMeetThemFastest) {
  const auto family = MakeFamily();
  const auto layout = [&](drivers::Problem p, size_t lasting) -> std::optional<Dims> {
    p.lasting = lasting;
    const auto offer = family->Match(p);
    EXPECT_TRUE(offer.ok()) << offer.status().ToString();
    EXPECT_FALSE(offer->layouts[1 - lasting].has_value());
    return offer->layouts[lasting];
  };
  // Long sums along lanes want their terms side by side, chains their neighbours.
  EXPECT_EQ(layout(Product(1, 64, 70), 1), (Dims{0, 1}));
  EXPECT_EQ(layout(Product(70, 64, 1), 0), std::nullopt);
  EXPECT_EQ(layout(Product(1, 63, 70), 1), std::nullopt);
  EXPECT_EQ(layout(Product(70, 63, 1), 0), (Dims{0, 1}));
  constexpr DType f64 = DType::kF64;
  EXPECT_EQ(
      layout(drivers::ProblemOf(kMatrices, {Dense(f64, {70, 64}), Dense(f64, {64, 1})}, {Dense(f64, {70, 1})}), 0),
      (Dims{0, 1}));
  EXPECT_EQ(layout(Product(2, 64, 70), 1), std::nullopt) << "two rows are no vector";
  EXPECT_EQ(layout(Product(1, 4096, 4096), 1), std::nullopt) << "it comes from memory";
  EXPECT_EQ(layout(Product(1, 64, 70), 0), std::nullopt) << "the vector";
}

TEST(GemmFamily, BatchesThatDoNotRunOnAreBroughtTogether) {
  const auto family = MakeFamily();
  // Five batch dims in reverse on the right: more than a product has.
  Contraction n{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {6}, {5}};
  const Accepted a =
      ExpectTaken(*family, drivers::ProblemOf(n, {Dense(f32, {2, 3, 2, 3, 2, 4, 5}), Dense(f32, {2, 3, 2, 3, 2, 5, 6})},
                                              {Dense(f32, {2, 3, 2, 3, 2, 4, 6})}));
  EXPECT_EQ(a.facts.hooks[2].batch, 72);
}

TEST(GemmFamily, OneMatrixForAllOfABatchMakesLongRows) {
  const auto family = MakeFamily();
  drivers::Problem p = drivers::ProblemOf(Contraction{{0}, {0}, {2}, {1}},
                                          {Dense(f32, {8, 3, 4}), Dense(f32, {8, 4, 5})}, {Dense(f32, {8, 3, 5})});
  p.operands[1].strides = {0, 5, 1};
  const Accepted a = ExpectTaken(*family, p);
  const drivers::HookPoint& finish = a.facts.hooks[2];
  EXPECT_EQ(finish.name, "finish");
  EXPECT_EQ(finish.role, drivers::HookPoint::Role::kChangesOutput);
  EXPECT_EQ(finish.batch, 1);
  EXPECT_EQ(finish.rows, 24);
  EXPECT_EQ(finish.row_dims, (Dims{0, 1}));
  EXPECT_EQ(finish.col_dims, (Dims{2}));
}

TEST(GemmFamily, SaysWhatIsNotItsOwn) {
  const auto family = MakeFamily();
  EXPECT_FALSE(family->Takes(drivers::Ordering::kOp));
  drivers::Problem p = Product(2, 3, 4);
  p.operands[1].type = DType::kF64;
  ExpectNotTaken(*family, p, "no kernel for f32 f64 -> f32");
  ExpectNotTaken(*family, drivers::ProblemOf(kMatrices, {Dense(f32, {2, 3}), Dense(f32, {3, 4})}, {Dense(f32, {2, 5})}),
                 "a result of extents");
}

TEST(GemmFamily, RefusesWhatWouldReachOutside) {
  const auto family = MakeFamily();
  const Accepted good = ExpectTaken(*family, Product(4, 5, 6));
  const auto refused = [&](const drivers::Config& config, std::string_view why) {
    ExpectRefused(*family, config, good.operands(), why);
  };
  refused(With(good.config, "rhs_contracting", {1}), "contracted dims of different extents");
  refused(With(good.config, "lhs_contracting", {2}), "dims that no operand has");
  refused(With(good.config, "lhs_contracting", {-1}), "dims that no operand has");
  refused(With(good.config, "lhs_contracting", {1, 1}), "dims that no operand has");
  refused(With(good.config, "lhs_batch", {0}), "dims that no operand has");
  refused(With(good.config, "made_lhs", {4, 5}), "that no hook makes");
  refused(With(good.config, "made_type", {static_cast<int64_t>(f32)}), "that no hook makes");
  refused(With(good.config, "accumulate", {2}), "does not take");
  refused(With(good.config, "m", {4}), "is no field");
  for (size_t i = 0; i < 3; ++i) {
    for (const auto& change : std::vector<std::function<void(StridedArray&)>>{
             [](StridedArray& a) { a.type = DType::kF16; }, [](StridedArray& a) { a.type = DType::kInvalid; },
             [](StridedArray& a) { a.dims[0] += 1; }, [](StridedArray& a) { a.dims[1] -= 1; },
             [](StridedArray& a) {
               a.dims.push_back(1);
               a.strides.push_back(1);
             }}) {
      Accepted bad = good;
      change(i < 2 ? bad.inputs[i] : bad.outputs[0]);
      EXPECT_FALSE(family->Describe(bad.config, bad.operands()).ok()) << i;
      EXPECT_FALSE(family->Bind(bad.config, bad.operands(), {}).ok()) << i;
    }
  }
  Accepted bad = good;
  bad.inputs.pop_back();
  ExpectRefused(*family, bad.config, bad.operands(), "1 inputs and 1 outputs");
}

TEST(GemmFamily, HooksMayMakeWhatIsNotInMemory) {
  const auto family = MakeFamily();
  Accepted a = ExpectTaken(*family, Product(4, 5, 6));
  a.inputs[0] = {};
  ExpectRefused(*family, a.config, a.operands(), "dims that no operand has");
  a.config = With(With(a.config, "made_type", {static_cast<int64_t>(f32)}), "made_lhs", {4, 5});
  const auto facts = family->Describe(a.config, a.operands());
  ASSERT_TRUE(facts.ok()) << facts.status().ToString();
  EXPECT_EQ(facts->hooks[0].rows, 4);
  EXPECT_EQ(facts->hooks[0].cols, 5);
  a.config = With(a.config, "made_lhs", {int64_t{1} << 40, int64_t{1} << 40});
  ExpectRefused(*family, a.config, a.operands(), "that a hook makes");

  // lhs[i, p] = i + 10 p, and every result doubled at the end.
  a.config = With(a.config, "made_lhs", {4, 5});
  const bool hooked[] = {true, false, true};
  const auto call = family->Bind(a.config, a.operands(), hooked);
  ASSERT_TRUE(call.ok());
  std::vector<float> rhs(30), out(24);
  for (size_t i = 0; i < rhs.size(); ++i) rhs[i] = static_cast<float>(i % 7);
  const drivers::TileHook make{[](void*, const drivers::Tile& t) {
    for (int64_t r = 0; r < t.rows; ++r) {
      for (int64_t c = 0; c < t.cols; ++c)
        static_cast<float*>(t.data)[r * t.row_stride + c * t.col_stride] =
            static_cast<float>(t.row0 + r + 10 * (t.col0 + c));
    }
  }};
  const drivers::TileHook twice{[](void*, const drivers::Tile& t) {
    for (int64_t r = 0; r < t.rows; ++r) {
      for (int64_t c = 0; c < t.cols; ++c) static_cast<float*>(t.data)[r * t.row_stride + c * t.col_stride] *= 2;
    }
  }};
  const drivers::TileHook hooks[] = {make, {}, twice};
  const void* inputs[] = {nullptr, rhs.data()};
  void* outputs[] = {out.data()};
  const auto pool = threads::ThreadPool::Create(1);
  ASSERT_TRUE((*call)->Run({inputs, outputs, nullptr, hooks}, **pool).ok());
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 6; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < 5; ++p) sum += static_cast<float>(i + 10 * p) * rhs[static_cast<size_t>(p * 6 + j)];
      EXPECT_EQ(out[static_cast<size_t>(i * 6 + j)], 2 * sum) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace tenon::kernels::gemm
