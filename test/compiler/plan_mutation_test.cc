// Damages compiled plans at random. What the verifier lets pass must give the same results.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "tenon/compiler/compile.h"
#include "tenon/kernels/families.h"
#include "test/compiler/compare.h"
#include "test/compiler/plan_interpreter.h"
#include "test/fuzz_programs/generator.h"

namespace tenon::test {
namespace {

using plan::Plan;

void CollectSequences(plan::Seq& seq, std::vector<plan::Seq*>& all) {
  if (!seq.empty()) all.push_back(&seq);
  for (plan::Step& step : seq) {
    if (auto* loop = std::get_if<plan::WhileStep>(&step.is)) {
      CollectSequences(loop->condition, all);
      CollectSequences(loop->body, all);
    }
    if (auto* branch = std::get_if<plan::CaseStep>(&step.is)) {
      for (plan::Seq& s : branch->branches) CollectSequences(s, all);
    }
  }
}

enum class Damage { kMoveValue, kMoveSlot, kSwapSteps, kMoveStep, kDropCopy };
constexpr int kDamages = 5;

/// Whether there was something to damage.
bool Apply(Damage damage, Plan& p, std::mt19937_64& random) {
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (damage == Damage::kMoveValue || damage == Damage::kMoveSlot) {
    std::vector<size_t> temps;
    for (size_t i = 0; i < p.slots.size(); ++i) {
      if (p.slots[i].kind == plan::SlotKind::kTemp) temps.push_back(i);
    }
    if (temps.empty() || p.arena_bytes < 128) return false;
    const plan::Slot chosen = p.slots[temps[pick(temps.size())]];
    const int64_t by =
        (static_cast<int64_t>(pick(static_cast<size_t>(p.arena_bytes / 64))) - chosen.offset_bytes / 64) * 64;
    if (by == 0) return false;
    if (damage == Damage::kMoveValue) {
      for (plan::Slot& s : p.slots) {
        if (s.kind == plan::SlotKind::kTemp && s.value == chosen.value) s.offset_bytes += by;
      }
      return true;
    }
    // Another part of the same array is as good as the one: only moves out of the value's own memory count.
    int64_t low = INT64_MAX, high = 0;
    for (const plan::Slot& s : p.slots) {
      if (s.kind != plan::SlotKind::kTemp || s.value != chosen.value) continue;
      low = std::min(low, s.offset_bytes);
      high = std::max(high, s.offset_bytes + SizeBytes({s.dtype, s.dims}));
    }
    const int64_t at = chosen.offset_bytes + by;
    if (at < high && at + SizeBytes({chosen.dtype, chosen.dims}) > low) return false;
    for (size_t i : temps) {
      if (!(p.slots[i] == chosen)) continue;
      p.slots[i].offset_bytes += by;
      return true;
    }
  }
  std::vector<plan::Seq*> all;
  CollectSequences(p.steps, all);
  if (all.empty()) return false;
  plan::Seq& seq = *all[pick(all.size())];
  if (damage == Damage::kDropCopy) {
    std::vector<size_t> copies;
    for (size_t i = 0; i < seq.size(); ++i) {
      if (std::holds_alternative<plan::CopyStep>(seq[i].is)) copies.push_back(i);
    }
    if (copies.empty()) return false;
    seq.erase(seq.begin() + static_cast<std::ptrdiff_t>(copies[pick(copies.size())]));
    return true;
  }
  if (seq.size() < 2) return false;
  const size_t i = pick(seq.size() - 1);
  if (damage == Damage::kSwapSteps) {
    std::swap(seq[i], seq[i + 1]);
  } else {
    const size_t j = i + 1 + pick(seq.size() - i - 1);
    std::rotate(seq.begin() + static_cast<std::ptrdiff_t>(i), seq.begin() + static_cast<std::ptrdiff_t>(j),
                seq.begin() + static_cast<std::ptrdiff_t>(j) + 1);
  }
  return true;
}

/// Whether slow runs would take long: many points, or many trips.
bool IsLong(const Plan& plan, const plan::Seq& seq) {
  return std::ranges::any_of(seq, [&](const plan::Step& step) {
    if (const auto* k = std::get_if<plan::KernelStep>(&step.is)) {
      double points = 1;
      for (const kir::Dim& d : plan.kernels[k->kernel].dims)
        points *= static_cast<double>(d.extent.Value(k->params.data()));
      return points > 1e4 || std::ranges::any_of(plan.kernels[k->kernel].seq, [&](const kir::Step& s) {
               const auto* loop = std::get_if<kir::Loop>(&s.is);
               return loop != nullptr &&
                      (loop->condition != kir::kNone || loop->trip_count.Value(k->params.data()) > 100);
             });
    }
    if (const auto* w = std::get_if<plan::WhileStep>(&step.is))
      return w->trip_count < 0 || w->trip_count > 10 || IsLong(plan, w->condition) || IsLong(plan, w->body);
    const auto* c = std::get_if<plan::CaseStep>(&step.is);
    return c != nullptr && std::ranges::any_of(c->branches, [&](const plan::Seq& s) { return IsLong(plan, s); });
  });
}

TEST(PlanMutation, WhatPassesIsRight) {
  const char* many = std::getenv("TENON_TEST_COUNT");
  const uint64_t programs = many != nullptr ? std::strtoull(many, nullptr, 10) : 120;
  int tried[kDamages] = {}, caught[kDamages] = {}, harmless[kDamages] = {};
  for (uint64_t seed = 0; seed < programs; ++seed) {
    const std::string program = fuzz::GenerateProgram(seed);
    Result<compiler::CompiledProgram> compiled = compiler::Compile(program, CpuOptions());
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    std::mt19937_64 random(seed);
    const fuzz::Conditions conditions = fuzz::ParseConditions(program);
    std::vector<std::string> arguments;
    for (const plan::Input& in : compiled->plan.inputs)
      arguments.push_back(fuzz::ArgumentBytes(conditions, arguments.size(), in.shape));
    if (IsLong(compiled->plan, compiled->plan.steps)) continue;
    const Result<std::vector<std::string>> right = RunPlan(compiled->plan, arguments);
    if (!right.ok()) continue;  // Custom calls have no slow form, and some loops do not end with these arguments.
    for (int round = 0; round < 40; ++round) {
      const auto damage = static_cast<Damage>(round % kDamages);
      Plan damaged = compiled->plan;
      if (!Apply(damage, damaged, random)) continue;
      ++tried[round % kDamages];
      const Status verified = plan::Verify(damaged, kernels::CpuFamilies());
      if (!verified.ok()) {
        ++caught[round % kDamages];
        continue;
      }
      const Result<std::vector<std::string>> got = RunPlan(damaged, arguments);
      ASSERT_TRUE(got.ok()) << got.status().ToString();
      EXPECT_EQ(*got, *right) << "seed " << seed << ", round " << round << ": this plan passes and is wrong\n"
                              << plan::Print(damaged) << "\nbefore:\n"
                              << plan::Print(compiled->plan) << program;
      if (HasFailure()) return;
      ++harmless[round % kDamages];
    }
  }
  for (int d = 0; d < kDamages; ++d) {
    RecordProperty("damage_" + std::to_string(d), std::to_string(tried[d]) + " tried, " + std::to_string(caught[d]) +
                                                      " rejected, " + std::to_string(harmless[d]) + " without effect");
    EXPECT_GT(caught[d], 20) << d;
  }
}

}  // namespace
}  // namespace tenon::test
