#include "tenon/kir/magnitudes.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon::kir {
namespace {

/// Of the last of these nodes; b1 holds bytes, b2 floats, b3 f16.
Magnitude Last(const std::string& nodes) {
  const std::string text = R"(kernel v1 params 0 outer 0 {
  dim d0 parallel 4
  buffer b0 out f32 [4] stride [1]
  buffer b1 arg u8 [4] stride [1]
  buffer b2 arg f32 [4] stride [1]
  buffer b3 arg f16 [4] stride [1]
  read r0 = b1[d0]
  %0 = u8 read r0
  %1 = f32 convert %0
  read r1 = b2[d0]
  %2 = f32 read r1
  read r2 = b3[d0]
  %3 = f16 read r2
  %4 = f32 convert %3
  %5 = f32 const 255.0
  %6 = f32 const 0.375
)" + nodes + R"(  stage (d0) {
    store b0[d0] = %1
  }
}
)";
  const Result<Kernel> kernel = Parse(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status().ToString() << text;
  return kernel.ok() ? Magnitudes(*kernel).back() : Magnitude{};
}

TEST(Magnitudes, Leaves) {
  EXPECT_EQ(Last("  %7 = f32 abs %1\n"), (Magnitude{0, 0}));
  EXPECT_EQ(Last("  %7 = f32 abs %2\n"), (Magnitude{-149, -149}));
  EXPECT_EQ(Last("  %7 = f32 neg %4\n"), (Magnitude{-24, -24}));
  EXPECT_EQ(Last("  %7 = f32 neg %5\n"), (Magnitude{7, 0}));
  EXPECT_EQ(Last("  %7 = f32 neg %6\n"), (Magnitude{-2, -3}));
}

TEST(Magnitudes, Arithmetic) {
  // A two hundred and fifty-fifth has 24 digits, and what is left of it when something is taken away may be the last.
  const std::string part = "  %7 = f32 div %1, %5\n";
  EXPECT_EQ(Last(part), (Magnitude{-8, -31}));
  EXPECT_EQ(Last(part + "  %8 = f32 sub %7, %6\n"), (Magnitude{-31, -31}));
  EXPECT_EQ(Last(part + "  %8 = f32 sub %1, %6\n"), (Magnitude{-3, -3}));
  EXPECT_EQ(Last(part + "  %8 = f32 mul %7, %6\n"), (Magnitude{-10, -33}));
  EXPECT_EQ(Last(part + "  %8 = f32 fma %7, %6, %1\n"), (Magnitude{-34, -34}));
  EXPECT_EQ(Last(part + "  %8 = f32 max %7, %6\n"), (Magnitude{-8, -31}));
  EXPECT_EQ(Last(part + "  %8 = f32 floor %7\n"), (Magnitude{0, 0}));
  EXPECT_EQ(Last(part + "  %8 = f32 mul %7, %2\n"), (Magnitude{-149, -149}));
  EXPECT_EQ(Last(part + "  %8 = f32 div %1, %7\n"), (Magnitude{-149, -149}));
  EXPECT_EQ(Last(part + "  %8 = f32 sqrt %1\n"), (Magnitude{-149, -149}));
}

}  // namespace
}  // namespace tenon::kir
