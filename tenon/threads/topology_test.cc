#include "tenon/threads/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "tenon/threads/flush_denormals.h"

namespace tenon::threads {
namespace {

TEST(Quota, RoundsUpAndIgnoresNoLimit) {
  EXPECT_EQ(CpusOfQuota("200000 100000"), 2);
  EXPECT_EQ(CpusOfQuota("150000 100000"), 2);
  EXPECT_EQ(CpusOfQuota("1000 100000"), 1);
  EXPECT_EQ(CpusOfQuota("max 100000"), 0);
  for (const char* bad : {"", "200000", "200000 ", "-1 100000", "5 0", "x y"}) EXPECT_EQ(CpusOfQuota(bad), 0) << bad;
}

TEST(NumThreads, TextOverridesAndBadTextIsRefused) {
  EXPECT_EQ(*ApplyNumThreads(6, ""), 6);
  EXPECT_EQ(*ApplyNumThreads(6, "1"), 1);
  EXPECT_EQ(*ApplyNumThreads(6, "64"), 64);
  for (const char* bad : {"0", "-1", "two", "2x", "1025", "99999999999"}) {
    const Result<int> count = ApplyNumThreads(6, bad);
    ASSERT_FALSE(count.ok()) << bad;
    EXPECT_EQ(count.status().code(), Code::kInvalidArgument);
    EXPECT_NE(count.status().message().find(bad), std::string_view::npos);
  }
}

TEST(AvailableCpus, FollowsTheAffinityMask) {
  EXPECT_GE(AvailableCpus(), 1);
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) GTEST_SKIP() << "affinity cannot be set here";
    EXPECT_EQ(AvailableCpus(), 1);
  }).join();
}

TEST(FlushDenormals, IsScopedAndRestoresExactly) {
  volatile float tiny = 1e-40f, one = 1.0f;
  const uint32_t before = FloatControl();
  EXPECT_NE(tiny * one, 0.0f);
  {
    const ScopedFlushDenormals flush;
    EXPECT_EQ(tiny * one, 0.0f);
    {
      const ScopedDefaultFloat ieee;
      EXPECT_NE(tiny * one, 0.0f);
    }
    EXPECT_EQ(tiny * one, 0.0f);
  }
  EXPECT_NE(tiny * one, 0.0f);
  EXPECT_EQ(FloatControl() & ~0x3fu, before & ~0x3fu);  // Sticky exception flags aside.
}

}  // namespace
}  // namespace tenon::threads
