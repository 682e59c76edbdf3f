// Sums of products by matrix units: on a software driver that imitates some, and as modules for units that no machine
// here has.
#include <gtest/gtest.h>

#include "tenon/emit_spirv/print.h"
#include "test/emit_spirv/run.h"

namespace tenon::emit_spirv {
namespace {

// Tiles of 64 x 32, the last ones of either dim beyond the end; factors that are computed, and a sum that is more than
// stored. All sums are whole numbers, so their order decides nothing.
constexpr std::string_view kProduct = R"(kernel v1 params 1 outer 2 {
  dim d0 parallel 2
  dim d1 parallel 3
  dim d2 parallel p0
  dim d3 parallel 32
  dim d4 reduce 5
  dim d5 reduce 11
  buffer b0 out SUM [100, 70] stride [70, 1]
  buffer b1 arg IN [5, 100, 11] stride [1100, 11, 1]
  buffer b2 arg IN [5, 11, 70] stride [770, 70, 1]
  buffer b3 arg SUM [70] stride [1]
  graph g0 (SUM, SUM, SUM, SUM) {
    %0 = SUM arg 2
    %1 = SUM arg 3
    %2 = SUM mul %0, %1
    %3 = SUM arg 0
    %4 = SUM add %3, %2
    %5 = SUM arg 1
    return %4, %5
  }
  %0 = IN const 0
  read r0 = b1[d4, d0*64 + d2, d5] if 0 <= d0*64 + d2 < 100 else %0
  %1 = IN read r0
  %2 = IN MADE
  %3 = SUM convert %2
  read r1 = b2[d4, d5, d1*32 + d3] if 0 <= d1*32 + d3 < 70 else %0
  %4 = IN read r1
  %5 = IN MAY
  %6 = SUM convert %5
  %7 = SUM const 0
  %8 = SUM reduced #0.0
  read r2 = b3[d1*32 + d3] if 0 <= d1*32 + d3 < 70 else %7
  %9 = SUM read r2
  %10 = SUM max %8, %9
  stage (d2, d3, d4, d5) {
    reduce #0 over (d4, d5) matrix g0 in (%3, %6) init (%7, %7)
    store b0[d0*64 + d2, d1*32 + d3] = %10 if 0 <= d0*64 + d2 < 100 && 0 <= d1*32 + d3 < 70
  }
}
)";

std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

/// `rows` of a tile; 0: they are left a parameter.
kir::Kernel Product(std::string_view in, std::string_view sum, int64_t rows) {
  std::string text = Replaced(Replaced(std::string(kProduct), "IN", in), "SUM", sum);
  text = Replaced(Replaced(text, "MADE", in == "f16" ? "floor %1" : "add %1, %1"), "MAY",
                  in == "f16" ? "floor %4" : "add %4, %4");
  const Result<kir::Kernel> kernel = kir::Parse(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status().ToString();
  const Status verified = kir::Verify(*kernel);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  return rows > 0 ? Bake(*kernel, std::vector<int64_t>{rows}) : *kernel;
}

bool Says(const Module& module, std::string_view op) {
  const Result<std::string> text = Print(module.words);
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  return text.ok() && text->find(op) != std::string::npos;
}

struct Types {
  DType in, sum;
  std::string_view in_name, sum_name;
};
constexpr Types kTypes[] = {{DType::kF16, DType::kF32, "f16", "f32"},
                            {DType::kS8, DType::kS32, "s8", "s32"},
                            {DType::kU8, DType::kU32, "u8", "u32"}};

TEST(MatrixUnits, AgreeWithTheEvaluator) {
  const auto device = testing::TestedDevice();
  if (!device.ok()) GTEST_SKIP() << device.status().ToString();
  const Result<target::Target> target = testing::JudgedTarget(**device);
  ASSERT_TRUE(target.ok()) << target.status().ToString();
  int tried = 0;
  for (const Types& t : kTypes) {
    if (target::FindMatrixUnit(target->device, t.in, t.sum) == nullptr) continue;
    const kir::Kernel kernel = Product(t.in_name, t.sum_name, 64);
    const Result<Module> module = Emit(kernel, *target);
    ASSERT_TRUE(module.ok()) << module.status().ToString();
    EXPECT_TRUE(Says(*module, "OpCooperativeMatrixMulAddKHR"));
    const Result<std::string> difference = testing::Judge(**device, kernel, {}, 1 << 20);
    ASSERT_TRUE(difference.ok()) << difference.status().ToString();
    EXPECT_EQ(*difference, "") << t.in_name;
    ++tried;
  }
  if (tried == 0) GTEST_SKIP() << "this driver has no matrix units (Mesa's has from version 25.1 on)";
}

TEST(MatrixUnits, AreAskedForWhereTheTargetHasThem) {
  target::Target target = *target::TargetByName("gpu:discrete");
  const kir::Kernel kernel = Product("f16", "f32", 0);
  // How much memory a tile takes must be known.
  EXPECT_EQ(Emit(kernel, target).status().code(), Code::kUnimplemented);
  const auto has = [&](std::string_view op) {
    const Result<Module> module = Emit(Bake(kernel, std::vector<int64_t>{64}), target);
    EXPECT_TRUE(module.ok()) << module.status().ToString();
    return module.ok() && Says(*module, op);
  };
  EXPECT_TRUE(has("OpCooperativeMatrixMulAddKHR"));
  EXPECT_TRUE(has("OpCapability CooperativeMatrixKHR"));
  target.device.local_bytes = 8 << 10;  // a tile takes 14 KiB
  EXPECT_FALSE(has("OpCooperativeMatrixMulAddKHR"));
  target.device.local_bytes = 48 << 10;
  target.device.matrix_units[0].m = 128;
  EXPECT_FALSE(has("OpCooperativeMatrixMulAddKHR"));
  target.device.matrix_units.clear();
  EXPECT_FALSE(has("OpCooperativeMatrixMulAddKHR"));
}

}  // namespace
}  // namespace tenon::emit_spirv
