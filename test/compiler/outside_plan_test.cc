// Compiled plans, spoilt: whatever still passes the checks on plans from outside must not leave its memory when it
// runs.

#include "tenon/runtime/outside_plan.h"

#include <gtest/gtest.h>

#include <cctype>
#include <random>
#include <string>

#include "tenon/compiler/compile.h"
#include "tenon/kernels/families.h"
#include "tenon/runtime/program.h"
#include "test/compiler/compare.h"
#include "test/compiler/plan_interpreter.h"
#include "test/fuzz_programs/generator.h"

namespace tenon::test {
namespace {

/// Replaces a number of the text, or a type, by another.
void Spoil(std::string& text, std::mt19937_64& random) {
  for (int tries = 0; tries < 100; ++tries) {
    const size_t at = random() % text.size();
    if (!std::isdigit(static_cast<unsigned char>(text[at]))) continue;
    const char* others[] = {"0", "1", "2", "7", "9", "33", "128", "4096", "-1", "99999999999"};
    text.replace(at, 1, others[random() % 10]);
    return;
  }
}

/// Whether a slow run would take long: many points, or many trips.
bool IsLong(const plan::Plan& plan, const plan::Seq& seq) {
  for (const plan::Step& step : seq) {
    if (const auto* k = std::get_if<plan::KernelStep>(&step.is)) {
      double points = 1;
      for (const kir::Dim& d : plan.kernels[k->kernel].dims)
        points *= static_cast<double>(d.extent.Value(k->params.data()));
      bool many = points > 1e5;
      for (const kir::Step& s : plan.kernels[k->kernel].seq) {
        if (const auto* loop = std::get_if<kir::Loop>(&s.is))
          many |= loop->condition != kir::kNone || loop->trip_count.Value(k->params.data()) > 100;
      }
      if (many) return true;
    } else if (const auto* w = std::get_if<plan::WhileStep>(&step.is)) {
      if (w->trip_count < 0 || w->trip_count > 100 || IsLong(plan, w->condition) || IsLong(plan, w->body)) return true;
    } else if (const auto* c = std::get_if<plan::CaseStep>(&step.is)) {
      for (const plan::Seq& branch : c->branches) {
        if (IsLong(plan, branch)) return true;
      }
    }
  }
  return false;
}

TEST(OutsidePlans, SpoiltOnesAreRefusedOrStayInTheirMemory) {
  std::mt19937_64 random(11);
  int refused = 0, unproven = 0, ran = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Result<compiler::CompiledProgram> compiled = compiler::Compile(fuzz::GenerateProgram(seed), CpuOptions());
    ASSERT_TRUE(compiled.ok());
    const std::string good = plan::Print(compiled->plan);
    ASSERT_TRUE(runtime::CheckOutsidePlan(compiled->plan, kernels::CpuFamilies()).ok());
    for (int i = 0; i < 40; ++i) {
      std::string text = good;
      for (int n = 1 + static_cast<int>(random() % 2); n > 0; --n) Spoil(text, random);
      Result<plan::Plan> plan = plan::Parse(text, compiled->plan.constants);
      if (!plan.ok() || !plan::Verify(*plan, kernels::CpuFamilies()).ok()) {
        ++refused;
        continue;
      }
      // Binding checks what is not a kernel; evaluate steps check their shapes when they run, but not in the
      // interpreter.
      if (plan::Count(*plan).evaluate_steps > 0) continue;
      std::vector<runtime::KernelCode> code(plan->kernels.size(),
                                            {[](void* const*, const int64_t*, int64_t, int64_t, void*) {}, nullptr});
      if (!runtime::Program::Create(*plan, std::move(code), {}, kernels::CpuFamilies()).ok()) {
        ++refused;
        continue;
      }
      if (!runtime::CheckOutsidePlan(*plan, kernels::CpuFamilies()).ok()) {
        ++unproven;
        continue;
      }
      std::vector<std::string> arguments;
      int64_t bytes = plan->arena_bytes;
      for (const plan::Input& in : plan->inputs) bytes += SizeBytes(in.shape);
      for (const plan::Output& out : plan->outputs) bytes += SizeBytes(out.shape);
      if (bytes > 1 << 20 || IsLong(*plan, plan->steps)) continue;  // A large one is no error, but no test either.
      for (const plan::Input& in : plan->inputs)
        arguments.push_back(std::string(static_cast<size_t>(SizeBytes(in.shape)), '\x01'));
      const Result<std::vector<std::string>> run = RunPlan(*plan, std::move(arguments));
      ++ran;
      // The interpreter knows each buffer's memory. (It also insists on the extents that the kernel states, which is no
      // matter of memory.)
      if (!run.ok())
        EXPECT_EQ(run.status().message().find("is outside its"), std::string_view::npos)
            << run.status().ToString() << "\n"
            << text;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(unproven, 20);
  EXPECT_GT(ran, 50);
}

}  // namespace
}  // namespace tenon::test
