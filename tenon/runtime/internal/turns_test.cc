#include "tenon/runtime/internal/turns.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tenon/kernels/families.h"
#include "tenon/runtime/program.h"
#include "tenon/runtime/testing/add_one.h"

namespace tenon::runtime::internal {
namespace {

using plan::SlotKind;

constexpr int64_t kN = 1000;

plan::Slot F32(SlotKind kind, uint32_t index, int64_t offset, plan::ValueId value, Dims dims = {kN}) {
  Dims strides = RowMajorStridesElems(dims);
  return {kind, index, offset, DType::kF32, std::move(dims), std::move(strides), value};
}

// (before, now) = (now, now + 1): %2 is before, %3 now, %4 what becomes of it.
struct History {
  plan::Plan plan;
  plan::WhileStep loop;
  explicit History(int64_t trips) {
    const plan::Input input{{DType::kF32, {kN}}, {1}, ""};
    const plan::Output output{{DType::kF32, {kN}}, {1}, ""};
    plan.inputs = {input, input};
    plan.outputs = {output, output};
    plan.kernels = {runtime::testing::AddOneKernel(kN)};
    plan.slots = {F32(SlotKind::kArg, 0, 0, 0), F32(SlotKind::kArg, 1, 0, 0), F32(SlotKind::kOut, 0, 0, 1),
                  F32(SlotKind::kOut, 1, 0, 2), F32(SlotKind::kTemp, 0, 0, 3)};
    plan.arena_bytes = 4 * kN;
    loop.trip_count = trips;
    loop.body = {{plan::KernelStep{0, {3, 4}, {kN}, {}}}};
    loop.carry = {{3, 2}, {4, 3}};
  }
  void Finish() { plan.steps = {{plan::CopyStep{0, 2}}, {plan::CopyStep{1, 3}}, {loop}}; }
  Turns Found() {
    Finish();
    return TurnFinder(plan).Of(loop);
  }
};

TEST(Turns, AChainMovesOnByOneWhateverTheNumberOfTrips) {
  History some(1);
  const Turns turns = some.Found();
  ASSERT_EQ(turns.chains.size(), 1u);
  std::vector<Span> chain;
  for (size_t i : turns.chains[0]) chain.push_back(turns.areas[i]);
  EXPECT_EQ(chain, (std::vector<Span>{{4, 0, 4 * kN}, {3, 0, 4 * kN}, {2, 0, 4 * kN}}));
  EXPECT_EQ(turns.carries.size(), 2u);

  auto pool = *threads::ThreadPool::Create(2);
  MemoryPool memory{int64_t{1} << 20};
  std::vector<float> a(kN), b(kN, 0.5f);
  std::iota(a.begin(), a.end(), 0.f);
  for (int64_t trips = 0; trips < 8; ++trips) {
    History h(trips);
    h.Finish();
    std::vector<float> before(kN), now(kN);
    const void* inputs[] = {a.data(), b.data()};
    void* outputs[] = {before.data(), now.data()};
    auto program = Program::Create(h.plan, {{runtime::testing::AddOne, nullptr}}, {}, kernels::CpuFamilies());
    ASSERT_TRUE(program.ok()) << program.status().ToString();
    ASSERT_TRUE((*program)->Run({inputs, outputs, nullptr, nullptr}, *pool, memory).ok());
    const auto t = static_cast<float>(trips);
    EXPECT_EQ(now, std::vector<float>(kN, 0.5f + t)) << trips;
    EXPECT_EQ(before, trips == 0 ? a : std::vector<float>(kN, t - 0.5f)) << trips;
  }
}

TEST(Turns, OnlyWhatATripWritesBeforeAnythingReadsIt) {
  History read_first(3);  // What the trip before wrote.
  read_first.loop.body.insert(read_first.loop.body.begin(), {plan::CopyStep{4, 2}});
  EXPECT_TRUE(read_first.Found().chains.empty());

  History known_before(3);
  known_before.Finish();
  known_before.plan.steps.insert(known_before.plan.steps.begin(), {plan::CopyStep{0, 4}});
  EXPECT_TRUE(TurnFinder(known_before.plan).Of(known_before.loop).chains.empty());

  History known_after(3);
  known_after.Finish();
  known_after.plan.steps.push_back({plan::CopyStep{4, 2}});
  EXPECT_TRUE(TurnFinder(known_after.plan).Of(known_after.loop).chains.empty());

  History never_written(3);
  never_written.loop.body.clear();
  EXPECT_TRUE(never_written.Found().chains.empty());
}

TEST(Turns, OnlyWholeMemoryThatNothingElseLiesIn) {
  History in_part(3);
  in_part.plan.slots.push_back(F32(SlotKind::kTemp, 0, 4 * kN - 8, 9, {4}));
  in_part.plan.slots.push_back(F32(SlotKind::kTemp, 0, 4 * kN + 64, 10, {4}));
  in_part.plan.arena_bytes = 5 * kN;
  in_part.loop.body.push_back({plan::CopyStep{6, 5}});
  EXPECT_TRUE(in_part.Found().chains.empty());

  History inside(3);  // A value of the trip's own, written and read.
  inside.plan.slots.push_back(F32(SlotKind::kTemp, 0, 64, 9, {4}));
  inside.plan.slots.push_back(F32(SlotKind::kTemp, 0, 4 * kN + 64, 10, {4}));
  inside.plan.arena_bytes = 5 * kN;
  inside.loop.body.insert(inside.loop.body.begin(), {plan::CopyStep{6, 5}});
  EXPECT_EQ(inside.Found().chains.size(), 1u);

  History rounds(3);
  rounds.loop.carry = {{2, 3}, {3, 2}};
  EXPECT_TRUE(rounds.Found().chains.empty());

  History nested(3);
  nested.loop.body.push_back({plan::WhileStep{}});
  EXPECT_TRUE(nested.Found().chains.empty());

  History unknown(3);
  unknown.plan.slots[4].value = 0;
  EXPECT_TRUE(unknown.Found().chains.empty());
}

}  // namespace
}  // namespace tenon::runtime::internal
