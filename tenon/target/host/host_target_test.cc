#include "tenon/target/host/host_target.h"

#include <gtest/gtest.h>

#include "tenon/isa/isa.h"

namespace tenon::target {
namespace {

TEST(HostTarget, IsOfTheActiveLevel) {
  const Target& host = HostTarget();
  EXPECT_EQ(host.isa, isa::IsaLevelName(isa::ActiveIsa()));
  EXPECT_GE(host.cores, 1);
  const Result<Target> named = TargetByName(host.name);
  ASSERT_TRUE(named.ok()) << named.status().ToString();
  EXPECT_EQ(named->name, host.name);
  EXPECT_TRUE(CheckRuns(*named, host).ok());
  EXPECT_TRUE(SameBits(*named, host));
}

TEST(HostTarget, TextIsComplete) {
  const Result<Target> parsed = Parse(Print(HostTarget()));
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(*parsed, HostTarget());
}

// The levels stand in two tables: which instructions there are is isa's, what the compiler makes of it is target's.
TEST(HostTarget, LevelsAgreeWithIsa) {
  for (const isa::IsaLevel level : isa::kAllIsaLevels) {
    const Result<Target> t = CpuTarget(isa::IsaLevelName(level));
    ASSERT_TRUE(t.ok());
    EXPECT_EQ(t->vector_bytes, isa::VectorBytes(level));
    EXPECT_EQ(t->numerics.fused_multiply_add, level >= isa::IsaLevel::kAvx2);
  }
}

}  // namespace
}  // namespace tenon::target
