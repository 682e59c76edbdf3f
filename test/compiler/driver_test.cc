// A family that only this file knows, from StableHLO to the numbers: nothing else has to hear of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenon/compiler/compile.h"
#include "tenon/drivers/registry.h"
#include "tenon/plan/plan.h"
#include "tenon/runtime/outside_plan.h"
#include "tenon/runtime/program.h"
#include "tenon/threads/flush_denormals.h"
#include "test/compiler/compare.h"

namespace tenon::test {
namespace {

using drivers::Contraction;

/// Products of f32 matrices by the definition: wants the left one column by column, and scratch for one row. Lends each
/// row of the result to a hook.
class SlowProducts final : public drivers::Family {
 public:
  std::string_view name() const override { return "slow"; }
  bool Takes(std::string_view op) const override { return op == Contraction::kOp; }

  Result<drivers::Offer> Match(const drivers::Problem& problem) const override {
    TENON_ASSIGN_OR_RETURN(const Contraction n, drivers::FromConfig<Contraction>(problem.attributes));
    if (!(n == Contraction{{}, {}, {1}, {0}})) return Unimplemented("not two plain matrices");
    drivers::Offer offer{{}, {std::nullopt, std::nullopt}};
    const StridedArray& lhs = problem.operands[0];
    if (lhs.strides[0] != 1) offer.layouts[0] = Dims{0, 1};
    return offer;
  }

  Result<drivers::Facts> Describe(const drivers::Config& config, const drivers::Operands& o) const override {
    TENON_RETURN_IF_ERROR(drivers::CheckCount(o, 2, 1));
    if (!config.fields.empty()) return InvalidArgument("nothing to say");
    if (o.inputs[0].strides[0] != 1) return InvalidArgument("wants columns");
    drivers::Facts facts;
    facts.scratch_bytes = 4 * o.inputs[1].dims[1];
    facts.work.serial = 35;
    drivers::HookPoint point;
    point.name = "row";
    point.type = DType::kF32;
    point.row_dims = {0};
    point.col_dims = {1};
    point.batch = 1;
    point.rows = o.outputs[0].dims[0];
    point.cols = o.outputs[0].dims[1];
    facts.hooks = {point};
    return facts;
  }

  Result<std::unique_ptr<const drivers::Call>> Bind(const drivers::Config&, const drivers::Operands& o,
                                                    std::span<const bool>) const override {
    return std::unique_ptr<const drivers::Call>(std::make_unique<SlowCall>(o));
  }

 private:
  class SlowCall final : public drivers::Call {
   public:
    explicit SlowCall(const drivers::Operands& o) : a_(o.inputs[0]), b_(o.inputs[1]), c_(o.outputs[0]) {}
    Status Run(const drivers::Memory& memory, threads::ThreadPool&) const override {
      auto* const row = static_cast<float*>(memory.scratch);
      for (int64_t i = 0; i < a_.dims[0]; ++i) {
        for (int64_t j = 0; j < b_.dims[1]; ++j) {
          row[j] = 0;
          for (int64_t p = 0; p < a_.dims[1]; ++p)
            row[j] += At(memory.inputs[0], a_, i, p) * At(memory.inputs[1], b_, p, j);
          static_cast<float*>(memory.outputs[0])[i * c_.strides[0] + j * c_.strides[1]] = row[j];
        }
      }
      return OkStatus();
    }

   private:
    static float At(const void* data, const StridedArray& a, int64_t i, int64_t j) {
      return static_cast<const float*>(data)[i * a.strides[0] + j * a.strides[1]];
    }
    StridedArray a_, b_, c_;
  };
};

drivers::Registry OnlySlow() {
  std::vector<std::unique_ptr<const drivers::Family>> families;
  families.push_back(std::make_unique<SlowProducts>());
  return drivers::Registry(std::move(families));
}

constexpr std::string_view kProduct =
    R"(func.func @main(%a: tensor<20x30xf32>, %b: tensor<30x40xf32>) -> tensor<20x40xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<20x30xf32>, tensor<30x40xf32>) -> tensor<20x40xf32>
  return %0 : tensor<20x40xf32>
})";

TEST(Drivers, AFamilyNeedsNothingButItsRegistration) {
  const drivers::Registry registry = OnlySlow();
  compiler::CompileOptions options = CpuOptions();
  options.drivers = &registry;
  Result<compiler::CompiledProgram> compiled = compiler::Compile(kProduct, options);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  const std::string text = plan::Print(compiled->plan);
  EXPECT_THAT(text, testing::HasSubstr("driver \"slow\" {}"));
  const Result<plan::Plan> again = plan::Deserialize(plan::Serialize(compiled->plan));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == compiled->plan);
  ASSERT_TRUE(plan::Verify(*again, registry).ok());
  ASSERT_TRUE(runtime::CheckOutsidePlan(*again, registry).ok());
  // The left operand was brought into columns before the product.
  EXPECT_EQ(plan::Count(*again).copy_steps, 1);
  EXPECT_THAT(text, testing::HasSubstr("f32[20,30] strides [1,20]"));

  auto program = runtime::Program::Create(*again, {}, {}, registry);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  std::vector<float> a(600), b(1200), c(800);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 5);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7);
  const void* inputs[] = {a.data(), b.data()};
  void* outputs[] = {c.data()};
  const auto pool = threads::ThreadPool::Create(1);
  runtime::MemoryPool memory(1 << 20);
  const threads::ScopedFlushDenormals compute_state;
  ASSERT_TRUE((*program)->Run({inputs, outputs, nullptr, nullptr}, **pool, memory).ok());
  for (size_t i = 0; i < 20; ++i) {
    for (size_t j = 0; j < 40; ++j) {
      float want = 0;
      for (size_t p = 0; p < 30; ++p) want += a[i * 30 + p] * b[p * 40 + j];
      ASSERT_EQ(c[i * 40 + j], want) << i << " " << j;
    }
  }
}

TEST(Drivers, PlansAreRefusedByWhomTheyCannotRunOn) {
  const drivers::Registry registry = OnlySlow(), empty;
  compiler::CompileOptions options = CpuOptions();
  options.drivers = &registry;
  Result<compiler::CompiledProgram> compiled = compiler::Compile(kProduct, options);
  ASSERT_TRUE(compiled.ok());
  const Status missing = plan::Verify(compiled->plan, empty);
  EXPECT_EQ(missing.code(), Code::kInvalidArgument);
  EXPECT_THAT(missing.ToString(), testing::HasSubstr("no driver is called 'slow'"));
  // What the family says of a step holds for every plan.
  const auto refused = [&](const auto& change) {
    plan::Plan bad = compiled->plan;
    for (plan::Step& step : bad.steps) {
      if (auto* d = std::get_if<plan::DriverStep>(&step.is)) change(bad, *d);
    }
    return plan::Verify(bad, registry).ToString();
  };
  EXPECT_EQ(refused([](plan::Plan&, plan::DriverStep&) {}), "OK");
  EXPECT_THAT(refused([](plan::Plan&, plan::DriverStep& d) { d.config = {{{"m", {1}}}}; }),
              testing::HasSubstr("nothing to say"));
  EXPECT_THAT(refused([](plan::Plan& p, plan::DriverStep& d) { p.slots[d.scratch].dims = {159}; }),
              testing::HasSubstr("160 dense bytes of scratch"));
  EXPECT_THAT(refused([](plan::Plan&, plan::DriverStep& d) { d.scratch = plan::kNoSlot; }),
              testing::HasSubstr("160 dense bytes of scratch"));
}

TEST(Drivers, WithoutThemProgramsAreEvaluated) {
  compiler::CompileOptions options = CpuOptions();
  options.drivers = nullptr;
  Result<compiler::CompiledProgram> compiled =
      compiler::Compile(R"(func.func @main(%a: tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = FFT, length = [5] : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return %0 : tensor<5xcomplex<f32>>
})",
                        options);
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_EQ(plan::Count(compiled->plan).evaluate_steps, 1);
}

}  // namespace
}  // namespace tenon::test
