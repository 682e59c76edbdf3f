#include "tenon/runtime/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "tenon/drivers/problem.h"
#include "tenon/kernels/families.h"
#include "tenon/runtime/testing/add_one.h"

namespace tenon::runtime {
namespace {

using testing::AddOne;
using testing::AddOneKernel;

using plan::Slot;
using plan::SlotKind;

Slot F32(SlotKind kind, uint32_t index, int64_t offset, Dims dims) {
  Dims strides = RowMajorStridesElems(dims);
  return {kind, index, offset, DType::kF32, std::move(dims), std::move(strides)};
}

class ProgramTest : public ::testing::Test {
 protected:
  Status Run(plan::Plan plan, std::vector<KernelCode> code, std::vector<const void*> inputs, std::vector<void*> outputs,
             Services services = {}, const std::atomic<bool>* cancelled = nullptr) {
    TENON_ASSIGN_OR_RETURN(
        auto program, Program::Create(std::move(plan), std::move(code), std::move(services), kernels::CpuFamilies()));
    return program->Run({inputs, outputs, nullptr, cancelled}, *pool_, memory_);
  }

  std::unique_ptr<threads::ThreadPool> pool_ = *threads::ThreadPool::Create(2);
  MemoryPool memory_{int64_t{1} << 30};
};

TEST_F(ProgramTest, ChainsKernelsThroughTheArenaInPieces) {
  constexpr int64_t kN = 100001;
  plan::Plan p;
  p.name = "f";
  p.inputs = {{{DType::kF32, {kN}}, {1}, ""}};
  p.outputs = {{{DType::kF32, {kN}}, {1}, ""}};
  p.kernels = {AddOneKernel(1000)};
  p.slots = {F32(SlotKind::kArg, 0, 0, {kN}), F32(SlotKind::kTemp, 0, 64, {kN}), F32(SlotKind::kOut, 0, 0, {kN})};
  p.arena_bytes = 64 + 4 * kN;
  p.steps = {{plan::KernelStep{0, {0, 1}, {kN}, {.ops = 1'000'000}}}, {plan::KernelStep{0, {1, 2}, {kN}, {}}}};
  std::vector<float> in(kN), out(kN);
  std::iota(in.begin(), in.end(), 0.f);
  const Status s = Run(p, {{AddOne, nullptr}}, {in.data()}, {out.data()});
  ASSERT_TRUE(s.ok()) << s.ToString();
  for (int64_t i = 0; i < kN; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], static_cast<float>(i) + 2);
}

TEST_F(ProgramTest, LoopsCarryAndStopWhenCancelled) {
  plan::Plan p;
  p.inputs = {{{DType::kF32, {2}}, {1}, ""}};
  p.outputs = {{{DType::kF32, {2}}, {1}, ""}};
  p.kernels = {AddOneKernel(16)};
  p.slots = {F32(SlotKind::kArg, 0, 0, {2}), F32(SlotKind::kOut, 0, 0, {2}), F32(SlotKind::kTemp, 0, 0, {2})};
  p.arena_bytes = 64;
  plan::WhileStep loop;
  loop.trip_count = 10;
  loop.body = {{plan::KernelStep{0, {1, 2}, {2}, {}}}};
  loop.carry = {{2, 1}};
  p.steps = {{plan::CopyStep{0, 1}}, {loop}};
  const float in[] = {1, 2};
  float out[2] = {};
  ASSERT_TRUE(Run(p, {{AddOne, nullptr}}, {in}, {out}).ok());
  EXPECT_EQ(out[0], 11);
  EXPECT_EQ(out[1], 12);
  const std::atomic<bool> cancelled{true};
  EXPECT_EQ(Run(p, {{AddOne, nullptr}}, {in}, {out}, {}, &cancelled).code(), Code::kCancelled);
}

TEST_F(ProgramTest, CarriesChangePlacesAtOnce) {
  // Three that go round, one that leaves the round, and two neighbours that move on by one.
  plan::Plan p;
  p.inputs = {{{DType::kF32, {4}}, {1}, ""}, {{DType::kF32, {4}}, {1}, ""}};
  p.outputs = {{{DType::kF32, {4}}, {1}, ""}, {{DType::kF32, {4}}, {1}, ""}};
  p.slots = {F32(SlotKind::kArg, 0, 0, {4}), F32(SlotKind::kOut, 0, 0, {4}), F32(SlotKind::kArg, 1, 0, {4}),
             F32(SlotKind::kOut, 1, 0, {4}), F32(SlotKind::kOut, 0, 0, {}),  F32(SlotKind::kOut, 0, 4, {}),
             F32(SlotKind::kOut, 0, 8, {}),  F32(SlotKind::kOut, 0, 12, {}), F32(SlotKind::kOut, 1, 4, {2}),
             F32(SlotKind::kOut, 1, 0, {2})};
  plan::WhileStep loop;
  loop.trip_count = 2;
  loop.carry = {{4, 5}, {5, 6}, {6, 4}, {4, 7}, {8, 9}};
  p.steps = {{plan::CopyStep{0, 1}}, {plan::CopyStep{2, 3}}, {loop}};
  const float in[] = {1, 2, 3, 4}, shifted_in[] = {5, 6, 7, 8};
  float out[4] = {}, shifted[4] = {};
  const Status s = Run(p, {}, {in, shifted_in}, {out, shifted});
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_THAT(out, ::testing::ElementsAre(2, 3, 1, 3));
  EXPECT_THAT(shifted, ::testing::ElementsAre(7, 7, 7, 8));
}

TEST_F(ProgramTest, KernelsSeeThatTheRunIsCancelled) {
  plan::Plan p;
  p.inputs = {{{DType::kF32, {2}}, {1}, ""}};
  p.outputs = {{{DType::kF32, {2}}, {1}, ""}};
  p.kernels = {AddOneKernel(16)};
  p.kernels[0].buffers.push_back({kir::BufKind::kSignal, DType::kPred, {kir::Size::Of(1)}, {kir::Size::Of(1)}});
  p.slots = {F32(SlotKind::kArg, 0, 0, {2}), F32(SlotKind::kOut, 0, 0, {2})};
  p.steps = {{plan::KernelStep{0, {0, 1, plan::kNoSlot}, {2}, {}}}};
  static std::atomic<bool> reached;
  reached = false;
  const KernelCode waits{[](void* const* buffers, const int64_t* params, int64_t begin, int64_t end, void* scratch) {
                           AddOne(buffers, params, begin, end, scratch);
                           reached = true;
                           const auto& signal = *static_cast<const std::atomic<bool>*>(buffers[2]);
                           while (!signal.load(std::memory_order_relaxed)) {
                           }
                         },
                         nullptr};
  std::atomic<bool> cancelled{false};
  std::thread other([&] {
    while (!reached) std::this_thread::yield();
    cancelled = true;
  });
  const float in[] = {1, 2};
  float out[2] = {};
  EXPECT_EQ(Run(p, {waits}, {in}, {out}, {}, &cancelled).code(), Code::kCancelled);
  other.join();
  // Nobody can cancel: there is a signal all the same, and it is never set.
  const KernelCode looks{[](void* const* buffers, const int64_t* params, int64_t begin, int64_t end, void* scratch) {
                           ASSERT_FALSE(*static_cast<const bool*>(buffers[2]));
                           AddOne(buffers, params, begin, end, scratch);
                         },
                         nullptr};
  ASSERT_TRUE(Run(p, {looks}, {in}, {out}).ok());
  EXPECT_EQ(out[1], 3);
  // Two of them would be one too many, and they are read only.
  p.kernels[0].buffers.push_back(p.kernels[0].buffers.back());
  p.steps = {{plan::KernelStep{0, {0, 1, plan::kNoSlot, plan::kNoSlot}, {2}, {}}}};
  EXPECT_EQ(Run(p, {looks}, {in}, {out}).code(), Code::kInvalidArgument);
}

TEST_F(ProgramTest, ConditionEndsALoopAndServicesAreCalled) {
  // The evaluate service leaves "calls < 3" in the predicate: the body runs three times.
  plan::Plan p;
  p.outputs = {{{DType::kF32, {1}}, {1}, ""}};
  p.kernels = {AddOneKernel(16)};
  p.constants = {{std::make_shared<const std::string>(4, '\0'), {1, 1}}};
  p.slots = {F32(SlotKind::kOut, 0, 0, {1}),
             F32(SlotKind::kTemp, 0, 64, {1}),
             {SlotKind::kTemp, 0, 0, DType::kPred, {}, {}},
             F32(SlotKind::kConst, 0, 0, {1})};
  p.arena_bytes = 128;
  plan::WhileStep loop;
  loop.predicate = 2;
  loop.condition = {{plan::EvaluateStep{"test", std::make_shared<const std::string>("p"), {0, plan::kNoSlot}, {2}}}};
  loop.body = {{plan::KernelStep{0, {0, 1}, {1}, {}}}};
  loop.carry = {{1, 0}};
  p.steps = {{plan::CopyStep{3, 0}}, {loop}};
  float out[1] = {9};
  EXPECT_EQ(Run(p, {{AddOne, nullptr}}, {}, {out}).code(), Code::kUnimplemented);
  Services services;
  services.evaluate = [](const plan::EvaluateStep& step, std::span<const View> operands, std::span<const View> results,
                         void*) {
    EXPECT_EQ(step.op, "test");
    EXPECT_EQ(operands[1].data, nullptr);
    *static_cast<bool*>(results[0].data) = *static_cast<const float*>(operands[0].data) < 3;
    return OkStatus();
  };
  ASSERT_TRUE(Run(p, {{AddOne, nullptr}}, {}, {out}, services).ok());
  EXPECT_EQ(out[0], 3);
}

TEST_F(ProgramTest, CasesOutOfRangeTakeTheLastBranch) {
  plan::Plan p;
  p.inputs = {{{DType::kS32, {}}, {}, ""}, {{DType::kF32, {2}}, {1}, ""}};
  p.outputs = {{{DType::kF32, {}}, {}, ""}};
  p.slots = {{SlotKind::kArg, 0, 0, DType::kS32, {}, {}},
             F32(SlotKind::kArg, 1, 0, {}),
             F32(SlotKind::kArg, 1, 4, {}),
             F32(SlotKind::kOut, 0, 0, {})};
  plan::CaseStep choose;
  choose.index = 0;
  choose.branches = {{{plan::CopyStep{1, 3}}}, {{plan::CopyStep{2, 3}}}};
  p.steps = {{choose}};
  const float values[] = {10, 20};
  for (const auto& [index, wanted] : std::vector<std::pair<int32_t, float>>{{0, 10}, {1, 20}, {2, 20}, {-1, 20}}) {
    float out = 0;
    ASSERT_TRUE(Run(p, {}, {&index, values}, {&out}).ok());
    EXPECT_EQ(out, wanted) << index;
  }
}

// lhs [m, k] @ rhs [k, n] over slots.
plan::DriverStep Product(plan::SlotId lhs, plan::SlotId rhs, plan::SlotId out) {
  return {"gemm", drivers::ToConfig(drivers::Contraction{{}, {}, {1}, {0}}), {lhs, rhs}, {out}, plan::kNoSlot, {}, {}};
}

TEST_F(ProgramTest, DriversRunAndCheckTheirOperands) {
  plan::Plan p;
  const Shape two{DType::kF32, {2, 2}};
  p.inputs = {{two, {2, 1}, ""}, {two, {2, 1}, ""}};
  p.outputs = {{two, {2, 1}, ""}};
  p.slots = {F32(SlotKind::kArg, 0, 0, {2, 2}), F32(SlotKind::kArg, 1, 0, {2, 2}), F32(SlotKind::kOut, 0, 0, {2, 2}),
             F32(SlotKind::kArg, 1, 0, {1, 2})};
  p.steps = {{Product(0, 1, 2)}};
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  float c[4] = {};
  ASSERT_TRUE(Run(p, {}, {a, b}, {c}).ok());
  EXPECT_EQ(std::vector<float>(c, c + 4), (std::vector<float>{19, 22, 43, 50}));
  const auto fails = [&](const auto& change) {
    plan::Plan bad = p;
    change(bad, std::get<plan::DriverStep>(bad.steps[0].is));
    return Run(bad, {}, {a, b}, {c}).code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.inputs[1] = 3; }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.inputs[1] = plan::kNoSlot; }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.outputs[0] = plan::kNoSlot; }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.driver = "gem"; }));
  EXPECT_TRUE(fails([](plan::Plan& b, plan::DriverStep&) { b.slots[2].stride_elems = {0, 1}; }));
  EXPECT_TRUE(fails([](plan::Plan& b, plan::DriverStep&) { b.slots[2].stride_elems = {1, 1}; }));
}

// A hook that adds 1 to every element of its tile, by way of a row of its own when `with_local`.
kir::Kernel AddOneToTile(bool with_local) {
  kir::Kernel k;
  k.num_params = plan::kTileParams;
  k.dims = {{kir::Size::Param(3), kir::DimKind::kParallel}, {kir::Size::Param(4), kir::DimKind::kParallel}};
  k.buffers = {{kir::BufKind::kTile,
                DType::kF32,
                {kir::Size::Param(3), kir::Size::Param(4)},
                {kir::Size::Param(5), kir::Size::Param(6)}}};
  if (with_local) k.buffers.push_back({kir::BufKind::kLocal, DType::kF32, {kir::Size::Of(8)}, {kir::Size::Of(1)}});
  const kir::Axis row{{kir::Term{0, kir::Size::Of(1)}}}, col{{kir::Term{1, kir::Size::Of(1)}}};
  k.reads = {{0, {row, col}, {}, kir::kNone}};
  k.literals = {0x3f800000};
  k.nodes = {{kir::Op::kRead, DType::kF32, 0, 0, {}},
             {kir::Op::kConst, DType::kF32, 0, 0, {}},
             {kir::Op::kAdd, DType::kF32, 0, 0, {0, 1}}};
  kir::Stage stage;
  stage.dims = {0, 1};
  kir::Store store;
  store.buf = 0;
  store.at = {row, col};
  store.value = 2;
  stage.stores = {store};
  k.seq = {{stage}};
  return k;
}

TEST_F(ProgramTest, HooksWorkOnTheTilesOfADriver) {
  plan::Plan p;
  const Shape two{DType::kF32, {2, 2}};
  p.inputs = {{two, {2, 1}, ""}};
  p.outputs = {{two, {2, 1}, ""}, {two, {2, 1}, ""}};
  p.slots = {F32(SlotKind::kArg, 0, 0, {2, 2}), F32(SlotKind::kOut, 0, 0, {2, 2}), F32(SlotKind::kOut, 1, 0, {2, 2})};
  p.kernels = {AddOneToTile(true)};
  plan::DriverStep step = Product(0, 0, 1);
  step.hooks = {{"finish", {0, {plan::kNoSlot, plan::kNoSlot}, {}}}};
  p.steps = {{step}, {plan::CopyStep{0, 2}}};
  // The kernel's own memory is there, and belongs to one call.
  const KernelCode code{[](void* const* buffers, const int64_t* params, int64_t, int64_t, void* scratch) {
                          ASSERT_NE(scratch, nullptr);
                          std::memset(scratch, 0x5a, 64);
                          for (int64_t r = 0; r < params[3]; ++r) {
                            for (int64_t c = 0; c < params[4]; ++c)
                              static_cast<float*>(buffers[0])[r * params[5] + c * params[6]] += 1;
                          }
                        },
                        nullptr};
  const float a[] = {1, 2, 3, 4};
  float c[4] = {}, d[4] = {};
  const Status s = Run(p, {code}, {a}, {c, d});
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(std::vector<float>(c, c + 4), (std::vector<float>{8, 11, 16, 23}));
  const auto error = [&](const auto& change) {
    plan::Plan bad = p;
    change(bad, std::get<plan::DriverStep>(bad.steps[0].is));
    return Run(bad, {code}, {a}, {c, d}).ToString();
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(error([](plan::Plan&, plan::DriverStep& x) { x.hooks[0].first = "start"; }),
              HasSubstr("no hook 'start'"));
  EXPECT_THAT(error([](plan::Plan&, plan::DriverStep& x) { x.hooks.push_back(x.hooks[0]); }), HasSubstr("two hooks"));
  EXPECT_THAT(error([](plan::Plan& b, plan::DriverStep&) { b.kernels[0].split = {1, kir::Size::Of(8)}; }),
              HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(error([](plan::Plan& b, plan::DriverStep& x) {
                b.kernels[0].buffers[1] = {kir::BufKind::kOut, DType::kF32, {kir::Size::Of(2)}, {kir::Size::Of(1)}};
                x.hooks[0].second.buffers[1] = 2;
              }),
              HasSubstr("beside its tile"));
  EXPECT_THAT(error([](plan::Plan& b, plan::DriverStep& x) {
                b.kernels[0].buffers[1] = {kir::BufKind::kArg, DType::kF32, {kir::Size::Of(2)}, {kir::Size::Of(1)}};
                x.hooks[0].second.buffers[1] = 1;
              }),
              HasSubstr("overlaps output"));
  EXPECT_THAT(error([](plan::Plan&, plan::DriverStep& x) { x.inputs[1] = plan::kNoSlot; }), HasSubstr("gemm"));
}

TEST_F(ProgramTest, SortOrdersAndChecksItsSlots) {
  plan::Plan p;
  const Shape five{DType::kF32, {5}};
  p.inputs = {{five, {1}, ""}};
  p.outputs = {{five, {1}, ""}, {{DType::kS32, {3}}, {1}, ""}};
  plan::Slot positions = F32(SlotKind::kOut, 1, 0, {3});
  positions.dtype = DType::kS32;
  plan::Slot scratch = F32(SlotKind::kTemp, 0, 0, {4096});
  scratch.dtype = DType::kU8;
  p.outputs[0].shape.dims = {3};
  p.slots = {F32(SlotKind::kArg, 0, 0, {5}), F32(SlotKind::kOut, 0, 0, {3}), positions, scratch};
  p.arena_bytes = 4096;
  const drivers::Ordering ordering{0, {1}, {0}, {0, 1}};
  p.steps = {{plan::DriverStep{"sort", drivers::ToConfig(ordering), {0, 0}, {1, 2}, 3, {}, {}}}};
  const float in[] = {3, -1, 7, 7, 0};
  float values[3] = {};
  int32_t places[3] = {};
  ASSERT_TRUE(Run(p, {}, {in}, {values, places}).ok());
  EXPECT_EQ(std::vector<float>(values, values + 3), (std::vector<float>{7, 7, 3}));
  EXPECT_EQ(std::vector<int32_t>(places, places + 3), (std::vector<int32_t>{2, 3, 0}));

  const auto fails = [&](const auto& change) {
    plan::Plan bad = p;
    change(bad, std::get<plan::DriverStep>(bad.steps[0].is));
    return Run(bad, {}, {in}, {values, places}).code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(fails([](plan::Plan& b, plan::DriverStep&) { b.slots[3].dims = {8}; }));
  EXPECT_TRUE(fails([](plan::Plan& b, plan::DriverStep&) { b.slots[1].dtype = DType::kS32; }));
  EXPECT_TRUE(fails([](plan::Plan& b, plan::DriverStep&) { b.slots[2].dims = {2}; }));
  EXPECT_TRUE(fails([](plan::Plan& b, plan::DriverStep&) {
    b.slots[3].offset_bytes = 4;
    b.slots[3].dims = {4000};
  }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.outputs = {1, 1}; }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.outputs.clear(); }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.inputs = {0}; }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.config.fields[0].values = {9}; }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.config.fields.clear(); }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.scratch = plan::kNoSlot; }));
  EXPECT_TRUE(fails([](plan::Plan&, plan::DriverStep& s) { s.scratch = 1; }));
}

TEST_F(ProgramTest, GemmRefusesSlotsOfOtherTypes) {
  // The product would write f32 into two bytes per element.
  plan::Plan p;
  const auto f32 = DType::kF32, f16 = DType::kF16;
  p.inputs = {{{f32, {2, 2}}, {2, 1}, ""}, {{f32, {2, 2}}, {2, 1}, ""}, {{f32, {2, 0}}, {1, 1}, ""}};
  p.slots = {F32(SlotKind::kArg, 0, 0, {2, 2}),
             F32(SlotKind::kArg, 1, 0, {2, 2}),
             {SlotKind::kTemp, 0, 0, f16, {2, 2}, {2, 1}},
             F32(SlotKind::kTemp, 0, 64, {2, 2}),
             F32(SlotKind::kArg, 2, 0, {2, 0})};
  p.arena_bytes = 128;
  const float in[4] = {};
  const auto gemm = [&](plan::SlotId a, plan::SlotId c) {
    p.steps = {{Product(a, 1, c)}};
    return Run(p, {}, {in, in, in}, {}).code();
  };
  EXPECT_EQ(gemm(0, 3), Code::kOk);
  EXPECT_EQ(gemm(0, 2), Code::kInvalidArgument);
  EXPECT_EQ(gemm(4, 3), Code::kInvalidArgument);  // No element where the product reads two.
}

TEST_F(ProgramTest, CopiesOfWhatOverlapsAreRefused) {
  plan::Plan p;
  p.inputs = {{{DType::kF32, {4}}, {1}, ""}};
  p.slots = {F32(SlotKind::kTemp, 0, 0, {4}), F32(SlotKind::kTemp, 0, 8, {4}), F32(SlotKind::kArg, 0, 0, {4})};
  p.arena_bytes = 64;
  const float in[4] = {};
  p.steps = {{plan::CopyStep{2, 0}}, {plan::CopyStep{0, 1}}};
  EXPECT_EQ(Run(p, {}, {in}, {}).code(), Code::kInvalidArgument);
  p.steps = {{plan::CopyStep{2, 0}}, {plan::CopyStep{0, 0}}};
  EXPECT_TRUE(Run(p, {}, {in}, {}).ok());
}

// In pieces of whole rows, or of bytes where both sides lie alike; neither count is a whole number of pieces.
TEST_F(ProgramTest, LargeCopiesMoveEveryElement) {
  constexpr int64_t kRows = 1031, kColumns = 257;
  std::vector<float> in(kRows * kColumns), alike(in.size()), turned(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  plan::Plan p;
  const Shape shape{DType::kF32, {kRows, kColumns}};
  p.inputs = {{shape, {kColumns, 1}, ""}};
  p.outputs = {{shape, {kColumns, 1}, ""}, {shape, {1, kRows}, ""}};
  p.slots = {F32(SlotKind::kArg, 0, 0, {kRows, kColumns}), F32(SlotKind::kOut, 0, 0, {kRows, kColumns}),
             F32(SlotKind::kOut, 1, 0, {kRows, kColumns})};
  p.slots[2].stride_elems = {1, kRows};
  p.steps = {{plan::CopyStep{0, 1}}, {plan::CopyStep{0, 2}}};
  const Status s = Run(p, {}, {in.data()}, {alike.data(), turned.data()});
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(alike, in);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < kColumns; ++c)
      ASSERT_EQ(turned[static_cast<size_t>(c * kRows + r)], in[static_cast<size_t>(r * kColumns + c)]) << r << " " << c;
  }
}

TEST_F(ProgramTest, CarriesTradePlaces) {
  plan::Plan p;
  const Shape two{DType::kF32, {2}};
  p.inputs = {{two, {1}, ""}, {two, {1}, ""}, {two, {1}, ""}};
  p.outputs = {{two, {1}, ""}, {two, {1}, ""}, {two, {1}, ""}};
  for (uint32_t i = 0; i < 3; ++i) p.slots.push_back(F32(SlotKind::kArg, i, 0, {2}));
  for (uint32_t i = 0; i < 3; ++i) p.slots.push_back(F32(SlotKind::kOut, i, 0, {2}));
  plan::WhileStep loop;
  loop.trip_count = 4;
  loop.carry = {{3, 4}, {4, 5}, {5, 3}};
  p.steps = {{plan::CopyStep{0, 3}}, {plan::CopyStep{1, 4}}, {plan::CopyStep{2, 5}}, {loop}};
  const float a[] = {1, 2}, b[] = {3, 4}, c[] = {5, 6};
  float x[2], y[2], z[2];
  const Status s = Run(p, {}, {a, b, c}, {x, y, z});
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(std::vector<float>({x[0], x[1], y[0], y[1], z[0], z[1]}), (std::vector<float>{5, 6, 1, 2, 3, 4}));
}

TEST_F(ProgramTest, WrongNumbersOfArgumentsAreErrors) {
  plan::Plan p;
  p.outputs = {{{DType::kF32, {1}}, {1}, ""}};
  EXPECT_EQ(Run(p, {}, {}, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Run(p, {{AddOne, nullptr}}, {}, {}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tenon::runtime
