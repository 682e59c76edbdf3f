// Plans that read what was not written, or what another value has overwritten: each is rejected with the step, the slot
// and the bytes.

#include <gtest/gtest.h>

#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

constexpr SlotId kIn = 0, kPredicate = 1, kOut = 2;

/// One f32[8] argument, a pred, one f32[8] output (value 1); temporaries of f32[8] are added.
class Flow : public testing::Test {
 protected:
  Flow() {
    const Shape vec{DType::kF32, {8}};
    p_.inputs = {{vec, {1}, ""}, {{DType::kPred, {}}, {}, ""}};
    p_.outputs = {{vec, {1}, "", -1, false}};
    p_.slots = {{SlotKind::kArg, 0, 0, DType::kF32, {8}, {1}, 0},
                {SlotKind::kArg, 1, 0, DType::kPred, {}, {}, {}},
                {SlotKind::kOut, 0, 0, DType::kF32, {8}, {1}, 1}};
    p_.arena_bytes = 256;
  }

  SlotId Temp(ValueId value, int64_t offset, Dims dims = {8}, Dims strides = {1}) {
    p_.slots.push_back({SlotKind::kTemp, 0, offset, DType::kF32, std::move(dims), std::move(strides), value});
    return static_cast<SlotId>(p_.slots.size() - 1);
  }
  static Step Copy(SlotId from, SlotId to) { return {CopyStep{from, to}}; }
  /// Reads and writes in any number.
  static Step Run(std::initializer_list<SlotId> reads, std::initializer_list<SlotId> writes) {
    return {EvaluateStep{"f", std::make_shared<const std::string>("x"), reads, writes}};
  }

  void Accepts(Seq steps) {
    p_.steps = std::move(steps);
    const Status s = Verify(p_);
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
  void Rejects(Seq steps, std::vector<std::string> words) {
    p_.steps = std::move(steps);
    const Status s = Verify(p_);
    EXPECT_EQ(s.code(), Code::kInvalidArgument);
    for (const std::string& w : words)
      EXPECT_NE(s.message().find(w), std::string_view::npos) << w << "\n" << s.ToString();
  }

  Plan p_;
};

TEST_F(Flow, DefinitionBeforeUse) {
  const SlotId a = Temp(2, 0);
  Accepts({Copy(kIn, a), Copy(a, kOut)});
  Rejects({Copy(a, kOut), Copy(kIn, a)},
          {"step 0", "copy from", "slot %3 (value 2)", "bytes [0, 32) of the arena", "never written"});
  Rejects({Copy(kIn, a)}, {"output 0 in the end", "bytes [0, 32) of output 0 are never written"});
}

TEST_F(Flow, OverlapOfLiveRanges) {
  const SlotId a = Temp(2, 0), b = Temp(3, 16);
  Accepts({Copy(kIn, a), Copy(a, kOut), Copy(kIn, b), Copy(b, kOut)});
  Rejects({Copy(kIn, a), Copy(kIn, b), Copy(a, kOut)},
          {"step 2", "slot %3 (value 2)", "bytes [16, 32) of the arena hold value 3", "slot %4"});
}

TEST_F(Flow, PartsOfAnArray) {
  const SlotId low = Temp(2, 0, {4}), high = Temp(2, 16, {4}), all = Temp(2, 0);
  Accepts({Run({}, {low}), Run({}, {high}), Copy(all, kOut)});
  Rejects({Run({}, {low}), Copy(all, kOut)}, {"bytes [16, 32)", "never written"});
  // Even and odd elements.
  const SlotId even = Temp(2, 0, {4}, {2}), odd = Temp(2, 4, {4}, {2});
  Accepts({Run({}, {even}), Run({}, {odd}), Copy(all, kOut)});
  Accepts({Run({}, {even}), Run({even}, {odd}), Copy(all, kOut)});
  Rejects({Run({}, {even}), Copy(all, kOut)}, {"bytes [28, 32)", "never written"});
  Rejects({Run({}, {even}), Run({odd}, {})}, {"step 1", "slot %7"});
  // Another value takes the range in between.
  const SlotId other = Temp(3, 8, {1});
  Rejects({Run({}, {even}), Run({}, {other}), Run({}, {odd}), Copy(all, kOut)}, {"step 3", "slot %5"});
  // Columns of unequal width, which no one dim cuts.
  const SlotId first = Temp(4, 64, {3, 2}, {3, 1}), last = Temp(4, 72, {3}, {3}), matrix = Temp(4, 64, {3, 3}, {3, 1});
  Accepts({Run({}, {first}), Run({}, {last}), Run({matrix}, {kOut})});
  const SlotId two = Temp(4, 72, {2}, {3}), third = Temp(4, 96, {1});
  Accepts({Run({}, {first}), Run({}, {two}), Run({}, {third}), Run({matrix}, {kOut})});
  Rejects({Run({}, {first}), Run({}, {two}), Run({matrix}, {kOut})}, {"bytes [96, 100)"});
}

TEST_F(Flow, Renames) {
  const SlotId a = Temp(2, 0), b = Temp(3, 0);
  Accepts({Copy(kIn, a), Copy(a, b), Copy(b, kOut)});
  Rejects({Copy(kIn, a), Copy(b, kOut)}, {"slot %4 (value 3)", "hold value 2"});
  Rejects({Copy(kIn, a), Copy(a, b), Copy(a, kOut)}, {"step 2", "hold value 3"});
  const SlotId shifted = Temp(3, 16);
  Rejects({Copy(kIn, a), Copy(a, shifted)}, {"copies %3 to %5, which overlap"});
}

TEST_F(Flow, Branches) {
  const SlotId a = Temp(2, 0), other = Temp(3, 16);
  const auto choose = [](Seq x, Seq y) { return Step{CaseStep{kPredicate, {std::move(x), std::move(y)}}}; };
  Accepts({choose({Copy(kIn, a)}, {Run({}, {a})}), Copy(a, kOut)});
  Accepts({Copy(kIn, a), choose({Run({}, {a})}, {}), Copy(a, kOut)});
  Rejects({choose({Copy(kIn, a)}, {}), Copy(a, kOut)}, {"step 1", "not surely written on every way"});
  Rejects({Copy(kIn, a), choose({}, {Run({}, {other})}), Copy(a, kOut)},
          {"step 2", "bytes [16, 32)", "not surely written on every way here (value 3"});
  Rejects({choose({Copy(kIn, a)}, {Copy(a, kOut)})}, {"branch 1", "never written"});
  // What one branch does, the next one does not see.
  Accepts({Copy(kIn, a), choose({Run({}, {other})}, {Copy(a, kOut)}), Run({}, {kOut})});
}

TEST_F(Flow, Loops) {
  const SlotId carried = Temp(2, 0), next = Temp(3, 64), other = Temp(4, 16), pred = Temp(5, 128, {}, {});
  p_.slots[pred].dtype = DType::kPred;
  const auto loop = [&](Seq body, std::vector<std::pair<SlotId, SlotId>> carry, int64_t trips) {
    WhileStep s;
    s.trip_count = trips;
    if (trips < 0) s.condition = {Copy(kPredicate, pred)};
    s.predicate = pred;
    s.body = std::move(body);
    s.carry = std::move(carry);
    return Step{s};
  };
  for (const int64_t trips : {-1, 3}) {
    Accepts({Copy(kIn, carried), loop({Run({carried}, {next})}, {{next, carried}}, trips), Copy(carried, kOut)});
    Rejects({loop({Run({carried}, {next})}, {{next, carried}}, trips), Copy(carried, kOut)},
            {"step 0", "carried, and otherwise read", "slot %3 (value 2)", "never written"});
    // Nobody reads what is carried, but it comes before the loop and not after it.
    const Step unread = loop({Run({}, {next})}, {{next, carried}}, trips);
    Accepts({Copy(kIn, carried), unread, Copy(carried, kOut)});
    Rejects({unread, Copy(kIn, carried), Copy(carried, kOut)}, {"step 0", "carried, and otherwise read"});
    Rejects({Copy(kIn, carried), Copy(carried, kOut), loop({Run({carried}, {next})}, {{next, carried}}, trips)},
            {"step 2", "carried slot %3 (value 2) is read before the loop"});
    // Good for the first trip only.
    Rejects({Copy(kIn, carried), loop({Run({carried}, {next}), Run({}, {other})}, {}, trips)},
            {"step 1", "body", "bytes [16, 32)", "not the same on every way here (another one brings value 4"});
    Rejects({Copy(kIn, carried), Run({}, {next}), loop({Copy(next, carried), Run({carried}, {other})}, {}, trips),
             Copy(carried, kOut)},
            {"step 3", "bytes [16, 32)"});
    // The next value in place of the carried one.
    const SlotId in_place = Temp(6, 0);
    Accepts({Copy(kIn, carried), loop({Copy(carried, in_place)}, {{in_place, carried}}, trips), Copy(carried, kOut)});
    Rejects({Copy(kIn, carried), loop({Copy(carried, in_place)}, {}, trips), Copy(carried, kOut)},
            {"not the same on every way here (another one brings value 6"});
  }
  // Written in the loop only: known trips make it sure.
  Accepts({loop({Copy(kIn, next)}, {}, 2), Copy(next, kOut)});
  Rejects({loop({Copy(kIn, next)}, {}, -1), Copy(next, kOut)}, {"step 1", "not surely written"});
  Rejects({loop({Copy(kIn, next)}, {}, 0), Copy(next, kOut)}, {"step 1", "never written"});
  // In a loop in a loop.
  Accepts(
      {Copy(kIn, carried), loop({loop({Run({carried}, {next})}, {{next, carried}}, -1)}, {}, 2), Copy(carried, kOut)});
  Rejects({Copy(kIn, carried), loop({loop({Run({carried}, {next})}, {{next, carried}}, -1), Run({}, {other})}, {}, 2)},
          {"step 1", "body", "step 0", "body", "step 0", "slot %3 (value 2)"});
}

TEST_F(Flow, DonatedArguments) {
  p_.outputs[0].alias_input = 0;
  const SlotId a = Temp(2, 0);
  Accepts({Copy(kIn, a), Copy(a, kOut)});
  Rejects({Run({}, {kOut}), Copy(kIn, a)}, {"step 1", "slot %0", "bytes [0, 32) of output 0 hold value 1", "slot %2"});
  Rejects({Run({kOut}, {kOut})}, {"hold the donated argument"});
  p_.outputs[0].alias_contents = true;
  Accepts({Copy(kIn, kOut), Run({kOut}, {kOut})});
  p_.outputs.push_back(p_.outputs[0]);
  Rejects({}, {"outputs 0 and 1 both alias argument 0"});
}

TEST_F(Flow, UnnamedValuesMakeNoClaim) {
  const SlotId a = Temp(0, 0), b = Temp(0, 16);
  p_.slots[kOut].value = 0;
  Accepts({Copy(kIn, a), Copy(kIn, b), Copy(a, kOut)});
  Rejects({Copy(kIn, b), Copy(a, kOut)}, {"bytes [0, 16)", "never written"});
}

// Kernels that write less than all of their output only update what is there.
TEST_F(Flow, Kernels) {
  const auto kernel = [](const char* store) {
    return *kir::Parse(std::string(R"(kernel v1 params 0 outer 0 {
  dim d0 parallel 8
  buffer b0 arg f32 [8] stride [1]
  buffer b1 out f32 [8] stride [1]
  read r0 = b0[d0]
  %0 = f32 read r0
  stage (d0) {
    store )") + store + R"( = %0
  }
})");
  };
  p_.kernels = {kernel("b1[d0]"), kernel("b1[0]")};
  const SlotId a = Temp(2, 0), b = Temp(3, 0);
  const Step whole{KernelStep{0, {kIn, a}, {}, {}}}, part{KernelStep{1, {kIn, a}, {}, {}}};
  Accepts({whole, Copy(a, kOut)});
  Rejects({part, Copy(a, kOut)}, {"step 0", "kernel 1", "written in part", "slot %3", "never written"});
  Accepts({whole, part, Copy(a, kOut)});
  Rejects({whole, Copy(a, kOut), part}, {"step 2", "kernel 1", "slot %3 (value 2) is updated after it was read"});
  Rejects({Copy(kIn, b), part}, {"step 1", "hold value 3"});
  Rejects({Copy(kIn, b), {KernelStep{0, {b, a}, {}, {}}}}, {"overlaps"});
  p_.kernels[0].buffers[1].in_place_of = 0;
  Accepts({Copy(kIn, b), {KernelStep{0, {b, a}, {}, {}}}, Copy(a, kOut)});
  // Another shape of the same elements.
  const SlotId reshaped = Temp(2, 0, {1, 2, 4}, {8, 4, 1});
  Accepts({Copy(kIn, b), {KernelStep{0, {b, reshaped}, {}, {}}}, Copy(a, kOut)});
  const SlotId transposed = Temp(2, 0, {4, 2}, {1, 4});
  Accepts({Copy(kIn, b), {KernelStep{0, {b, transposed}, {}, {}}}, Copy(a, kOut)});  // The kernel's own words tell.
  const SlotId repeated = Temp(2, 0, {3, 8}, {0, 1});
  Accepts({Copy(kIn, b), {KernelStep{0, {b, repeated}, {}, {}}}, Copy(a, kOut)});
  const SlotId apart = Temp(2, 0, {4}, {2});
  Rejects({Copy(kIn, b), {KernelStep{0, {b, apart}, {}, {}}}}, {"which lies elsewhere"});
  const SlotId shifted = Temp(4, 4);
  Rejects({Copy(kIn, b), {KernelStep{0, {b, shifted}, {}, {}}}},
          {"%9 is written in place of %4, which lies elsewhere"});
  // A part of what the operand holds, where the operand lies, or an argument whose contents the output starts with.
  p_.kernels[1].buffers[1].in_place_of = 0;
  Accepts({Copy(kIn, b), {KernelStep{1, {b, a}, {}, {}}}, Copy(a, kOut)});
  Rejects({{KernelStep{1, {kIn, kOut}, {}, {}}}}, {"step 0", "kernel 1", "written in part"});
  p_.outputs[0].alias_input = 0;
  p_.outputs[0].alias_contents = true;
  Accepts({{KernelStep{1, {kIn, kOut}, {}, {}}}});
}

// Ten thousand values, alive at once, in loops in loops: near-linear work.
TEST_F(Flow, LargePlans) {
  constexpr int kMany = 20000;
  p_.arena_bytes = 64 * kMany;
  Seq steps;
  std::vector<SlotId> temps;
  for (int i = 0; i < kMany; ++i) {
    temps.push_back(Temp(static_cast<ValueId>(i + 2), 64 * i));
    steps.push_back(Copy(i == 0 ? kIn : temps[static_cast<size_t>(i) - 1], temps.back()));
  }
  for (size_t i = temps.size(); i-- > 0;) {
    WhileStep loop;
    loop.trip_count = 2;
    loop.body = {Copy(temps[i], kOut)};
    steps.push_back({loop});
  }
  for (int depth = 0; depth < 100; ++depth) {
    WhileStep loop;
    loop.trip_count = 2;
    loop.body = {Copy(temps[0], kOut)};
    if (depth > 0) loop.body.push_back(std::move(steps.back()));
    if (depth > 0) steps.pop_back();
    steps.push_back({loop});
  }
  Accepts(std::move(steps));
}

}  // namespace
}  // namespace tenon::plan
