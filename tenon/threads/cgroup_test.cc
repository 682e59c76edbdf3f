#include "tenon/threads/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

namespace tenon::threads {
namespace {

/// A folder with the files of a machine.
class CgroupTest : public testing::Test {
 protected:
  CgroupTest() : root_(testing::TempDir() + "cgroup_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(root_);
  }
  ~CgroupTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void Unified(const std::string& group, const std::string& mounted = "/") {
    Write("/proc/self/cgroup", "0::" + group + "\n");
    Write("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda rw\n30 22 0:26 " + mounted +
                                      " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  Cgroups Find() { return FindCgroups(root_); }

  std::string root_;
};

TEST_F(CgroupTest, NestedSlicesHaveTheLeastOfAllLimits) {
  Unified("/user.slice/job.scope");
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/user.slice/cpu.max", "350000 100000\n");
  Write("/sys/fs/cgroup/user.slice/job.scope/cpu.max", "800000 100000\n");
  Write("/sys/fs/cgroup/user.slice/memory.max", "4000000000\n");
  Write("/sys/fs/cgroup/user.slice/memory.current", "3500000000\n");
  Write("/sys/fs/cgroup/user.slice/memory.stat", "anon 1\ninactive_file 200000000\n");
  Write("/sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n");
  Write("/sys/fs/cgroup/user.slice/job.scope/memory.current", "1000\n");
  EXPECT_EQ(CpuQuota(Find()), 4);
  EXPECT_EQ(MemoryLimitBytes(Find()), 4000000000);
  EXPECT_EQ(MemoryLeftBytes(Find()), 700000000);
}

TEST_F(CgroupTest, OtherGroupsLimitNobodyHere) {
  Unified("/mine");
  Write("/sys/fs/cgroup/other/cpu.max", "100000 100000\n");
  Write("/sys/fs/cgroup/mine/cpu.max", "600000 100000\n");
  EXPECT_EQ(CpuQuota(Find()), 6);
}

// A container without a namespace of its own: the file names the group as the host sees it.
TEST_F(CgroupTest, OnlyAPartOfTheHierarchyIsMounted) {
  Unified("/docker/abc/inner", "/docker/abc");
  Write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  Write("/sys/fs/cgroup/inner/memory.max", "1000\n");
  EXPECT_EQ(CpuQuota(Find()), 2);
  EXPECT_EQ(MemoryLimitBytes(Find()), 1000);
}

TEST_F(CgroupTest, TheOlderHierarchies) {
  Write("/proc/self/cgroup", "5:memory:/jobs/a\n4:cpu,cpuacct:/jobs/a\n1:name=systemd:/x\n0::/\n");
  Write("/proc/self/mountinfo",
        "31 22 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "32 22 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "150000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/jobs/a/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/jobs/a/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/jobs/a/memory.limit_in_bytes", "5000\n");
  Write("/sys/fs/cgroup/memory/jobs/a/memory.usage_in_bytes", "6000\n");
  EXPECT_EQ(CpuQuota(Find()), 2);
  EXPECT_EQ(MemoryLimitBytes(Find()), 5000);
  EXPECT_EQ(MemoryLeftBytes(Find()), 0);
}

TEST_F(CgroupTest, WithoutAnythingThereIsNoLimit) {
  EXPECT_EQ(CpuQuota(Find()), 0);
  EXPECT_EQ(MemoryLimitBytes(Find()), 0);
  EXPECT_EQ(MemoryLeftBytes(Find()), std::numeric_limits<int64_t>::max());
  Write("/proc/self/cgroup", "nonsense\n0::/a\n");
  Write("/proc/self/mountinfo", "nonsense\n- -\n");
  EXPECT_EQ(CpuQuota(Find()), 0);
}

}  // namespace
}  // namespace tenon::threads
