#include <gtest/gtest.h>

#include "tenon/kir/builder.h"
#include "tenon/kir/kir.h"

namespace tenon::kir {
namespace {

// Uses every form that the text has.
constexpr std::string_view kEverything = R"(kernel v1 params 2 outer 1 {
  dim d0 parallel 8
  dim d1 reduce p0
  dim d2 parallel 4
  dim d3 serial 3
  buffer b0 arg f32 [8, p0] stride [p0, 1]
  buffer b1 out f32 [8] stride [1] in_place_of b3
  buffer b2 arg c64 [20] stride [2]
  buffer b3 arg f32 [8] stride [1]
  buffer b4 local bf16 [4] stride [1]
  buffer b5 out s32 [] stride []
  graph g0 (f32, f32) {
    %0 = f32 arg 0
    %1 = f32 arg 1
    %2 = f32 add %0, %1
    return %2
  }
  graph g1 (s32, s32) {
    %0 = s32 const 3
    return %0
  }
  %0 = f32 const 0.0
  %1 = f32 const -0.0
  %2 = s64 param p1
  %3 = s32 const -7
  read r0 = b0[d0, d1]
  %4 = f32 read r0
  read r1 = b2[d2*2 + d3*-1 + 3 + %3] if 0 <= d2 - 1 < 5 mod 2 && p0 <= %2 < 7 else %0
  %5 = f32 read r1
  %6 = f32 read r1.im
  %7 = f32 math rsqrt.f32.v1 %5
  %8 = pred cmp le total %5, %6
  %9 = f32 select rare %8, %6, %7
  %10 = bf16 convert %9
  %11 = f32 reduced #0.0
  %12 = f32 reduce_precision e5 m10 %11
  %13 = s32 const 1
  %14 = s32 carried #4.0
  %15 = s32 add %14, %13
  %16 = s32 const 10
  %17 = pred cmp lt %14, %16
  %18 = s64 index d2
  %19 = f32 const inf
  %20 = f32 const 0x7fc00001
  %21 = f64 const 0.1
  %22 = bf16 const 1.5
  %23 = pred const true
  stage (d1) {
    reduce #0 over (d1) lanes g0 in (%4) init (%0) identity (%1)
    store b1[d0] = %12
  }
  stage (d2, d3) domain d2 [0, p1), d3 [1, 3) {
    store b4[d2] = %10 if 0 <= d2 < 4
  }
  loop #4 (s32) init (%3) while %17 times 5 next (%15) {
    stage () {
      store b5[] = %14 combine g1 row_major
    }
  }
  split (d0) grain 2
}
)";

TEST(Text, RoundTripsEveryForm) {
  const Result<Kernel> k = Parse(kEverything);
  ASSERT_TRUE(k.ok()) << k.status().ToString();
  EXPECT_EQ(Print(*k), kEverything);
  EXPECT_TRUE(Verify(*k).ok()) << Verify(*k).ToString();
  EXPECT_EQ(k->nodes[5].imm, 0);
  EXPECT_EQ(k->nodes[6].imm, 1);
  EXPECT_EQ(k->reads[1].at[0].terms[1].coef, Size::Of(-1));
  EXPECT_EQ(k->reads[1].guard[1].lo, Size::Param(0));
  EXPECT_EQ(std::get<Loop>(k->seq[2].is).trip_count, Size::Of(5));
}

TEST(Text, AllowsCommentsAndFreeSpace) {
  const Result<Kernel> k = Parse("// RUN: x\nkernel v1 params 0   outer 0 { // a\n// CHECK: y\n}\n");
  ASSERT_TRUE(k.ok()) << k.status().ToString();
  EXPECT_EQ(*k, Kernel());
}

TEST(Text, LiteralTablesThatAreNotImpliedAreSpeltOut) {
  Graph g;
  g.literals = {5, 7, 5};
  g.nodes.push_back({Op::kConst, DType::kS32, 0, 2, {}});
  g.results = {0};
  const Result<Graph> back = ParseGraph(Print(g));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, g);
}

TEST(Text, ErrorsNameLineAndWhatWasWanted) {
  const Result<Kernel> k = Parse("kernel v1 params 0 outer 0 {\n  dim d0 sideways 4\n}\n");
  ASSERT_FALSE(k.ok());
  EXPECT_EQ(k.status().message(), "line 2: expected parallel, reduce or serial, at 'sideways 4'");
}

TEST(Text, LiteralsOfAllTypesRoundTripByBits) {
  for (int t = 1; t < kNumDTypes; ++t) {
    const auto type = static_cast<DType>(t);
    if (!IsFloat(type) && !IsInteger(type) && type != DType::kPred) continue;
    const int width = DTypeBits(type);
    for (uint64_t i = 0; i < 70000; ++i) {
      const uint64_t bits = type == DType::kPred ? i % 2
                            : width <= 16        ? i % (uint64_t{1} << width)
                                                 : (i * 0x9e3779b97f4a7c15u) >> (64 - width);
      if (width <= 16 && i >> width != 0) break;
      GraphBuilder b;
      const Graph g = b.Finish({b.ConstBits(type, bits)});
      const Result<Graph> back = ParseGraph(Print(g));
      ASSERT_TRUE(back.ok()) << Print(g) << back.status().ToString();
      ASSERT_EQ(*back, g) << Print(g);
    }
  }
}

}  // namespace
}  // namespace tenon::kir
