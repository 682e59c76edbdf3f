#include "tenon/vulkan/device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "tenon/vulkan/pipeline_cache.h"
#include "tenon/vulkan/policy.h"
#include "tenon/vulkan/testing/add_kernel.h"

namespace tenon::vulkan {
namespace {

constexpr const char* kNoDriver = "there is no Vulkan driver here (mesa-vulkan-drivers has one that needs no GPU): ";

class DeviceTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Result<std::shared_ptr<const Instance>> instance = Instance::Create();
    if (!instance.ok()) GTEST_SKIP() << kNoDriver << instance.status().ToString();
    for (size_t i = 0; i < (*instance)->devices().size() && device_ == nullptr; ++i) {
      if (!(*instance)->devices()[i].unfit.empty()) continue;
      Device::Setup setup;
      setup.memory_limit_bytes = int64_t{256} << 20;
      setup.never_map = GetParam();
      Result<std::shared_ptr<Device>> opened = Device::Open(*instance, i, setup);
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      device_ = *opened;
      index_ = i;
    }
    if (device_ == nullptr) GTEST_SKIP() << kNoDriver << "no fit device";
  }
  void TearDown() override {
    device_ = nullptr;
    EXPECT_EQ(Instance::ValidationMessages(), 0);
  }

  std::shared_ptr<Device> device_;
  size_t index_ = 0;
};

TEST_P(DeviceTest, BytesComeBackAsTheyWent) {
  // More than the staging holds at once, and an odd number.
  const auto size = static_cast<size_t>(policy::kStagingBytes * 2 + 4321);
  std::vector<uint8_t> in(size), out(size, 0);
  for (size_t i = 0; i < size; ++i) in[i] = static_cast<uint8_t>(i * 31 + i / 1000);
  Result<Block> block = device_->memory().Allocate(static_cast<int64_t>(size) + 8);
  ASSERT_TRUE(block.ok()) << block.status().ToString();
  ASSERT_EQ(block->host() == nullptr, GetParam() || !device_->is_mapped());
  ASSERT_TRUE(device_->Upload(*block, 5, in.data(), static_cast<int64_t>(size)).ok());
  ASSERT_TRUE(device_->Download(*block, 5, out.data(), static_cast<int64_t>(size)).ok());
  EXPECT_EQ(in, out);
  Result<Block> other = device_->memory().Allocate(static_cast<int64_t>(size) + 8);
  ASSERT_TRUE(other.ok());
  Result<Commands> copy = device_->RecordCopy(*other, *block, static_cast<int64_t>(size) + 5);
  ASSERT_TRUE(copy.ok());
  const VkCommandBuffer handle = copy->handle();
  Result<uint64_t> submitted = device_->Submit({&handle, 1});
  ASSERT_TRUE(submitted.ok());
  ASSERT_TRUE(device_->Wait(*submitted).ok());
  std::ranges::fill(out, 0);
  ASSERT_TRUE(device_->Download(*other, 5, out.data(), static_cast<int64_t>(size)).ok());
  EXPECT_EQ(in, out);
}

TEST_P(DeviceTest, TimestampsFollowTheCommands) {
  if (device_->info().timestamp_bits == 0) GTEST_SKIP() << "the device has no clock";
  Result<Block> block = device_->memory().Allocate(1 << 20);
  ASSERT_TRUE(block.ok());
  Result<std::unique_ptr<Timestamps>> times = Timestamps::Create(*device_, 3);
  ASSERT_TRUE(times.ok()) << times.status().ToString();
  Result<Commands> commands = device_->Record([&](VkCommandBuffer c) {
    (*times)->Reset(c);
    for (uint32_t i = 0; i < 3; ++i) {
      device_->Barrier(c);
      device_->functions().CmdFillBuffer(c, block->buffer(), block->offset(), 1 << 20, i);
      (*times)->Write(c, i);
    }
    device_->Barrier(c);
  });
  ASSERT_TRUE(commands.ok());
  const VkCommandBuffer handle = commands->handle();
  const Result<uint64_t> submitted = device_->Submit({&handle, 1});
  ASSERT_TRUE(submitted.ok());
  ASSERT_TRUE(device_->Wait(*submitted).ok());
  const Result<std::vector<int64_t>> read = (*times)->Read();
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(*read));
  EXPECT_GT((*read)[2], (*read)[0]);
}

TEST(Clock, BelievesWhatItSawSoonest) {
  constexpr int64_t kOffset = 1'000'000'000;
  Clock clock;
  // The host learns of it 500 ns late, then 100, then 900.
  EXPECT_EQ(clock.Observe(0, kOffset + 500), kOffset + 500);
  EXPECT_EQ(clock.Observe(1000, kOffset + 1100), kOffset + 100);
  EXPECT_EQ(clock.Observe(2000, kOffset + 2900), kOffset + 100);
  // A minute later the device's clock may have lost much more than that.
  constexpr int64_t kMinute = 60'000'000'000;
  const int64_t lost = kMinute / policy::kClockDrift / 2;
  EXPECT_EQ(clock.Observe(kMinute - lost, kOffset + kMinute), kOffset + lost);
}

TEST_P(DeviceTest, CommandsRunAgainOnOtherArrays) {
  auto pipeline = device_->MakePipeline(testing::kAddKernel, "main");
  ASSERT_TRUE(pipeline.ok()) << pipeline.status().ToString();
  constexpr uint32_t kGroups = 4, kCount = 64 * kGroups;
  Block arrays[4];
  for (Block& b : arrays) b = *device_->memory().Allocate(kCount * 4);
  Block frame = *device_->frame_memory().Allocate(64);
  auto* words = reinterpret_cast<uint64_t*>(frame.host());
  ASSERT_NE(words, nullptr);
  Result<Commands> commands = device_->Record([&](VkCommandBuffer c) {
    device_->Barrier(c);
    device_->Bind(c, **pipeline, {frame.address(), 0, 3});
    device_->functions().CmdDispatch(c, kGroups, 1, 1);
    device_->Barrier(c);
    // In place on what the first one made.
    device_->Bind(c, **pipeline, {frame.address(), 1, 3});
    device_->functions().CmdDispatch(c, kGroups, 1, 1);
    device_->Barrier(c);
  });
  ASSERT_TRUE(commands.ok());
  for (const int run : {0, 1}) {
    std::vector<uint32_t> from(kCount), to(kCount);
    std::iota(from.begin(), from.end(), 100u * static_cast<uint32_t>(run));
    ASSERT_TRUE(device_->Upload(arrays[run], 0, from.data(), kCount * 4).ok());
    words[0] = arrays[run].address();
    words[1] = words[2] = arrays[run + 2].address();
    words[3] = 7;
    const VkCommandBuffer handle = commands->handle();
    Result<uint64_t> submitted = device_->Submit({&handle, 1});
    ASSERT_TRUE(submitted.ok());
    ASSERT_TRUE(device_->Wait(*submitted).ok());
    EXPECT_GE(device_->Completed(), *submitted);
    ASSERT_TRUE(device_->Download(arrays[run + 2], 0, to.data(), kCount * 4).ok());
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(to[i], from[i] + 14) << run << " " << i;
  }
}

TEST_P(DeviceTest, PipelinesAreKeptOnDisk) {
  const std::string folder = ::testing::TempDir() + "/tenon_pipelines_" + std::to_string(getpid());
  ASSERT_EQ(setenv("TENON_VULKAN_CACHE_DIR", folder.c_str(), 1), 0);
  const std::string file = PipelineCacheFile(device_->info());
  EXPECT_TRUE(file.starts_with(folder)) << file;
  const auto open_and_compile = [&] {
    Result<std::shared_ptr<const Instance>> instance = Instance::Create();
    ASSERT_TRUE(instance.ok());
    Result<std::shared_ptr<Device>> device = Device::Open(*instance, index_, {});
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    ASSERT_TRUE((*device)->MakePipeline(testing::kAddKernel, "main").ok());
  };
  EXPECT_EQ(ReadPipelineCache(file), "");
  open_and_compile();
  const std::string kept = ReadPipelineCache(file);
  EXPECT_NE(kept, "");
  open_and_compile();
  EXPECT_EQ(ReadPipelineCache(file).size(), kept.size());
  // A byte that differs, and a file that ends early.
  const auto size = std::filesystem::file_size(file);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(static_cast<int64_t>(size) - 3).put('#');
  EXPECT_EQ(ReadPipelineCache(file), "");
  std::filesystem::resize_file(file, size / 2);
  EXPECT_EQ(ReadPipelineCache(file), "");
  open_and_compile();
  EXPECT_EQ(ReadPipelineCache(file).size(), kept.size());
  ASSERT_EQ(unsetenv("TENON_VULKAN_CACHE_DIR"), 0);
  EXPECT_EQ(PipelineCacheFile(device_->info()), "");
  std::filesystem::remove_all(folder);
}

TEST(PipelineCache, WritersOfOneProcessDoNotMix) {
  const std::string file = ::testing::TempDir() + "/tenon_pipelines_" + std::to_string(getpid()) + ".pipelines";
  const std::string one(1 << 20, '1'), other(1 << 19, '2');
  WritePipelineCache(file, one);
  const auto write = [&](const std::string& bytes) {
    for (int i = 0; i < 200; ++i) WritePipelineCache(file, bytes);
  };
  std::thread first(write, one), second(write, other);
  for (int i = 0; i < 200; ++i) {
    const std::string kept = ReadPipelineCache(file);
    EXPECT_TRUE(kept == one || kept == other) << kept.size() << " bytes";
  }
  first.join();
  second.join();
  std::filesystem::remove(file);
}

TEST_P(DeviceTest, SubmissionsEndInOrder) {
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    Result<uint64_t> submitted = device_->Submit({});
    ASSERT_TRUE(submitted.ok());
    EXPECT_GT(*submitted, last);
    last = *submitted;
  }
  ASSERT_TRUE(device_->Wait(last).ok());
  EXPECT_EQ(device_->Completed(), last);
}

TEST_P(DeviceTest, MemoryIsRecycledAndLimited) {
  Memory& memory = device_->memory();
  const int64_t limit = memory.statistics().limit_bytes;
  uint64_t address = 0;
  for (int i = 0; i < 3; ++i) {
    Result<Block> block = memory.Allocate(int64_t{40} << 20);
    ASSERT_TRUE(block.ok()) << block.status().ToString();
    if (i > 0) EXPECT_EQ(block->address(), address);
    address = block->address();
  }
  Result<Block> most = memory.Allocate(limit - (int64_t{1} << 20));
  ASSERT_TRUE(most.ok()) << most.status().ToString();
  Result<Block> more = memory.Allocate(int64_t{2} << 20);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(memory.Allocate(INT64_MAX).status().code(), Code::kResourceExhausted);
  *most = Block();
  more = memory.Allocate(int64_t{2} << 20);
  EXPECT_TRUE(more.ok());
  *more = Block();
  EXPECT_EQ(memory.statistics().bytes_in_use, 0);
  memory.Trim();
  EXPECT_EQ(memory.statistics().bytes_reserved, 0);
}

TEST_P(DeviceTest, BlocksDoNotOverlap) {
  Memory& memory = device_->memory();
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::map<uint64_t, int64_t> taken;
  std::atomic<int> overlaps{0};
  for (uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      uint32_t state = t * 977 + 1;
      std::vector<Block> mine;
      for (int i = 0; i < 1000; ++i) {
        state = state * 1664525u + 1013904223u;
        if (mine.size() > 20 || (state >> 30) == 0) {
          if (mine.empty()) continue;
          std::swap(mine[state % mine.size()], mine.back());
          {
            const std::lock_guard lock(mutex);
            taken.erase(mine.back().address());
          }
          mine.pop_back();
          continue;
        }
        Result<Block> block = memory.Allocate(1 + (state >> 8) % 100000);
        if (!block.ok()) continue;
        const std::lock_guard lock(mutex);
        const auto next = taken.lower_bound(block->address());
        if (next != taken.end() && block->address() + static_cast<uint64_t>(block->size_bytes()) > next->first)
          ++overlaps;
        if (next != taken.begin()) {
          const auto before = std::prev(next);
          if (before->first + static_cast<uint64_t>(before->second) > block->address()) ++overlaps;
        }
        taken.emplace(block->address(), block->size_bytes());
        mine.push_back(*std::move(block));
      }
      const std::lock_guard lock(mutex);
      for (const Block& b : mine) taken.erase(b.address());
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(overlaps.load(), 0);
  EXPECT_EQ(memory.statistics().bytes_in_use, 0);
}

INSTANTIATE_TEST_SUITE_P(Memory, DeviceTest, ::testing::Bool(),
                         [](const auto& i) { return i.param ? "Staged" : "AsItIs"; });

}  // namespace
}  // namespace tenon::vulkan
