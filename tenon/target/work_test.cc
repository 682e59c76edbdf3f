#include "tenon/target/work.h"

#include <gtest/gtest.h>

namespace tenon::target {
namespace {

Work Some() {
  return {
      .ops = 5600, .flops = 1, .serial = 2, .bytes_read = 3, .bytes_written = 4.5, .bytes_cached = 6, .launches = 7};
}

TEST(Work, AddsUp) {
  EXPECT_EQ(Some() + Some(), 2 * Some());
  EXPECT_EQ(0 * Some(), Work());
  EXPECT_EQ(Some() + Work(), Some());
}

TEST(Work, ArithmeticAndMemoryRunSideBySide) {
  const Result<Target> t = CpuTarget("avx512", 1);
  ASSERT_TRUE(t.ok());
  // 16 elements of cost 1 per cycle of 3.5 GHz.
  EXPECT_DOUBLE_EQ(TimeNs(*t, {.ops = 5600}), 100);
  EXPECT_DOUBLE_EQ(TimeNs(*t, {.ops = 5600, .bytes_read = 2500, .bytes_written = 2499}), 100);
  EXPECT_DOUBLE_EQ(TimeNs(*t, {.ops = 5600, .bytes_read = 5000, .bytes_written = 5000}), 200);
  EXPECT_DOUBLE_EQ(TimeNs(*t, {.flops = 1e4, .bytes_cached = 100}), 100);
  EXPECT_DOUBLE_EQ(TimeNs(*t, {.ops = 5600, .serial = 350, .launches = 1}), 230);
  const Result<Target> narrow = CpuTarget("sse4", 1);
  ASSERT_TRUE(narrow.ok());
  EXPECT_DOUBLE_EQ(TimeNs(*narrow, {.ops = 5600}), 400);
}

TEST(Work, BytesComeFromWhereTheyFit) {
  const Result<Target> t = CpuTarget("avx512", 1);
  ASSERT_TRUE(t.ok());
  const auto bytes_per_ns = [&](double bytes) { return bytes / TimeNs(*t, {.bytes_read = bytes}); };
  EXPECT_DOUBLE_EQ(bytes_per_ns(1 << 20), t->cached_bytes_per_ns);
  const double shared = bytes_per_ns((1 << 20) + 1);
  EXPECT_LT(shared, t->cached_bytes_per_ns);
  EXPECT_GT(shared, t->core_bytes_per_ns);
  EXPECT_DOUBLE_EQ(bytes_per_ns(16 << 20), shared);
  EXPECT_DOUBLE_EQ(bytes_per_ns((16 << 20) + 1), t->core_bytes_per_ns);
}

TEST(Work, TextIsComplete) {
  for (const Work& w : {Work(), Some(), Work{.launches = 1e300}, Work{.serial = 1.0 / 3}}) {
    const Result<Work> parsed = ParseWork(Print(w));
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(*parsed, w);
  }
  EXPECT_EQ(Print(Work()), "none");
  EXPECT_EQ(Print(Work{.ops = 12, .bytes_read = 64}), "ops 12 read 64");
}

TEST(Work, BadTextIsRefused) {
  for (const char* text : {"", " ", "ops", "ops x", "ops -1", "ops 0", "ops nan", "ops inf", "ops 1 ops 2", "sweat 3",
                           "none ops 1", "ops 1  read 2"}) {
    EXPECT_EQ(ParseWork(text).status().code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace tenon::target
