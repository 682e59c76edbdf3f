// What the emitter promises without a device: valid modules for every kind of device, the same words each time,
// launches that cover all points, and refusals that name the reason.
#include "tenon/emit_spirv/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/emit_spirv/print.h"
#include "tenon/kir/builder.h"
#include "test/emit_spirv/run.h"

namespace tenon::emit_spirv {
namespace {

using ::testing::HasSubstr;

kir::Kernel Parse(std::string_view text) {
  const Result<kir::Kernel> kernel = kir::Parse(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status().ToString();
  return *kernel;
}

target::Target Gpu(const char* name) { return *target::TargetByName(std::string("gpu:") + name); }

constexpr std::string_view kAdd = R"(kernel v1 params 1 outer 0 {
  dim d0 parallel p0
  buffer b0 out f32 [p0] stride [1]
  buffer b1 arg f32 [p0] stride [1]
  read r0 = b1[d0]
  %0 = f32 read r0
  %1 = f32 add %0, %0
  stage (d0) {
    store b0[d0] = %1
  }
}
)";

// A sum over all, and a stage that uses it: two launches, or one where all is small.
constexpr std::string_view kSumThenScale = R"(kernel v1 params 1 outer 0 {
  dim d0 reduce p0
  dim d1 parallel p0
  buffer b0 out f32 [p0] stride [1]
  buffer b1 arg f32 [p0] stride [1]
  graph g0 (f32, f32) {
    %0 = f32 arg 0
    %1 = f32 arg 1
    %2 = f32 add %0, %1
    return %2
  }
  read r0 = b1[d0]
  %0 = f32 read r0
  %1 = f32 const -0.0
  %2 = f32 reduced #0.0
  read r1 = b1[d1]
  %3 = f32 read r1
  %4 = f32 mul %3, %2
  stage (d0) {
    reduce #0 over (d0) lanes g0 in (%0) init (%1) identity (%1)
  }
  stage (d1) {
    store b0[d1] = %4
  }
}
)";

void ExpectValid(const Module& module) {
  const Result<std::string> said = testing::Validate(module.words);
  if (said.ok()) {
    EXPECT_EQ(*said, "");
  } else {
    std::printf("not validated: %s\n", said.status().ToString().c_str());
  }
  const Result<std::string> text = Print(module.words);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  const Result<std::vector<uint32_t>> assembled = testing::Assemble(*text);
  if (assembled.status().code() == Code::kNotFound) {
    std::printf("not assembled: %s\n", assembled.status().ToString().c_str());
    return;
  }
  ASSERT_TRUE(assembled.ok()) << assembled.status().ToString() << "\n" << *text;
  // Word 2 says who made it.
  std::vector<uint32_t> words = module.words;
  words[2] = (*assembled)[2];
  EXPECT_EQ(*assembled, words) << *text;
}

// Floats of each width, of all kinds: as they stand in the text they are the same bits.
constexpr std::string_view kConstants = R"(kernel v1 params 0 outer 0 {
  dim d0 parallel 16
  buffer b0 out f32 [16] stride [1]
  buffer b1 arg f32 [16] stride [1]
  buffer b2 out f64 [16] stride [1]
  read r0 = b1[d0]
  %0 = f32 read r0
  %1 = f32 const inf
  %2 = f32 min %0, %1
  %3 = f32 const 1e-42
  %4 = f32 max %2, %3
  %5 = f32 const -1.25
  %6 = f32 mul %4, %5
  %7 = f64 convert %6
  %8 = f64 const 5e-310
  %9 = f64 max %7, %8
  %10 = f64 const nan
  %11 = f64 add %9, %10
  stage (d0) {
    store b0[d0] = %6
    store b2[d0] = %11
  }
}
)";

TEST(Print, TellsConstantsByTheirBits) {
  const auto module = Emit(Parse(kConstants), Gpu("software"));
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  ExpectValid(*module);
}

TEST(Print, RefusesWhatItDoesNotKnow) {
  const auto module = Emit(Parse(kAdd), Gpu("software"));
  ASSERT_TRUE(module.ok());
  std::vector<uint32_t> words = module->words;
  EXPECT_EQ(Print(std::span(words).first(3)).status().code(), Code::kDataLoss);
  // In the middle of an instruction: the last one is the end of a function, one word.
  EXPECT_EQ(Print(std::span(words).first(6)).status().code(), Code::kDataLoss);
  words.push_back(0x0001ffff);
  EXPECT_THAT(std::string(Print(words).status().message()), HasSubstr("instruction 65535"));
  words.back() = 0;
  EXPECT_EQ(Print(words).status().code(), Code::kDataLoss);
}

TEST(Emit, IsAFunctionOfKernelAndTarget) {
  for (const char* name : {"software", "integrated", "discrete"}) {
    const auto one = Emit(Parse(kAdd), Gpu(name)), two = Emit(Parse(kAdd), Gpu(name));
    ASSERT_TRUE(one.ok()) << one.status().ToString();
    EXPECT_EQ(one->words, two->words);
    EXPECT_EQ(one->words[0], 0x07230203u);
    ExpectValid(*one);
  }
}

TEST(Emit, LaunchesCoverAllPoints) {
  const auto module = Emit(Parse(kAdd), Gpu("software"));
  ASSERT_TRUE(module.ok());
  ASSERT_EQ(module->dispatches.size(), 1u);
  const Dispatch& d = module->dispatches[0];
  for (int64_t n : {0, 1, 255, 256, 257, 100000, 1 << 30}) {
    const auto groups = d.GroupsByDirection(&n);
    EXPECT_GE(int64_t{groups[0]} * groups[1] * groups[2] * d.points_per_group, n);
    EXPECT_EQ(d.Groups(&n) == 0, n == 0);
    for (uint32_t g : groups) EXPECT_LE(g, 65535u);
  }
}

TEST(Emit, BakedKernelsHaveNoParameters) {
  const kir::Kernel baked = Bake(Parse(kAdd), std::vector<int64_t>{1000});
  EXPECT_EQ(baked.num_params, 0);
  EXPECT_TRUE(kir::Verify(baked).ok());
  EXPECT_EQ(baked.dims[0].extent, kir::Size::Of(1000));
  EXPECT_EQ(baked.buffers[0].extent[0], kir::Size::Of(1000));
}

TEST(Emit, StagesMeetInOneWorkgroupOrInSeveralLaunches) {
  const auto small = Emit(Bake(Parse(kSumThenScale), std::vector<int64_t>{1000}), Gpu("software"));
  ASSERT_TRUE(small.ok()) << small.status().ToString();
  EXPECT_EQ(small->dispatches.size(), 1u);
  EXPECT_EQ(small->ScratchBytes(nullptr), 0);
  const auto large = Emit(Bake(Parse(kSumThenScale), std::vector<int64_t>{100000}), Gpu("software"));
  ASSERT_TRUE(large.ok()) << large.status().ToString();
  ASSERT_EQ(large->dispatches.size(), 2u);
  EXPECT_FALSE(large->dispatches[0].after_barrier);
  EXPECT_TRUE(large->dispatches[1].after_barrier);
  EXPECT_GT(large->ScratchBytes(nullptr), 0);  // the sum
  ExpectValid(*small);
  ExpectValid(*large);
}

TEST(Emit, RefusalsNameTheReason) {
  kir::Kernel doubles = Parse(kAdd);
  for (kir::Buffer& b : doubles.buffers) b.type = DType::kF64;
  for (kir::Node& n : doubles.nodes) n.type = DType::kF64;
  ASSERT_TRUE(kir::Verify(doubles).ok());
  EXPECT_TRUE(Emit(doubles, Gpu("software")).ok());
  const auto refused = Emit(doubles, Gpu("integrated"));
  EXPECT_EQ(refused.status().code(), Code::kUnimplemented);
  EXPECT_THAT(refused.status().ToString(), HasSubstr("f64"));
  EXPECT_EQ(Emit(Parse(kAdd), *target::TargetByName("cpu:avx2")).status().code(), Code::kInvalidArgument);

  // One invocation's loop of more rounds than the software driver runs.
  kir::Kernel serial = Bake(Parse(kAdd), std::vector<int64_t>{100000});
  serial.dims[0].kind = kir::DimKind::kSerial;
  const auto endless = Emit(serial, Gpu("software"));
  EXPECT_EQ(endless.status().code(), Code::kUnimplemented);
  EXPECT_THAT(endless.status().ToString(), HasSubstr("65535"));
  EXPECT_TRUE(Emit(serial, Gpu("discrete")).ok());
  // Parameters may be anything; in the kernel itself they are known to be small enough.
  EXPECT_EQ(Emit(Parse(kSumThenScale), Gpu("software")).status().code(), Code::kUnimplemented);
  EXPECT_TRUE(Emit(Parse(kSumThenScale), Gpu("discrete")).ok());
}

TEST(Emit, AProductThatIsAddedIsRoundedAsTheTargetSays) {
  kir::KernelBuilder b;
  const kir::DimId d = b.AddDim(kir::Size::Of(64), kir::DimKind::kParallel);
  const auto buffer = [&](kir::BufKind kind) {
    return b.AddBuffer(kind, DType::kF32, {kir::Size::Of(64)}, {kir::Size::Of(1)});
  };
  const kir::Buf out = buffer(kir::BufKind::kOut), in = buffer(kir::BufKind::kArg);
  const kir::Val x = b.Read(in, {kir::At(d)});
  kir::Stage stage;
  stage.dims = {d};
  kir::Store store;
  store.buf = out;
  store.at.push_back(kir::At(d));
  store.value = b.Fma(x, x, x);
  stage.stores.push_back(store);
  b.AddStage(stage);
  const kir::Kernel kernel = b.Finish();
  target::Target unfused = Gpu("software");
  ASSERT_FALSE(unfused.numerics.fused_multiply_add);
  const auto twice = Emit(kernel, unfused), once = Emit(kernel, testing::JudgedTarget());
  ASSERT_TRUE(twice.ok() && once.ok());
  EXPECT_GT(once->words.size(), twice->words.size());
  ExpectValid(*once);
  unfused.numerics.fused_multiply_add = true;
  unfused.device.f64 = false;
  EXPECT_EQ(Emit(kernel, unfused).status().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace tenon::emit_spirv
