#include "tenon/kir/coverage.h"

#include <gtest/gtest.h>

#include "tenon/kir/testing/random_kernel.h"

namespace tenon::kir {
namespace {

bool WritesAllOf(const std::string& dims, const std::string& extent, const std::string& nodes, const std::string& seq,
                 std::vector<int64_t> params = {}) {
  const std::string text = "kernel v1 params " + std::to_string(params.size()) + " outer 0 {\n" + dims +
                           "  buffer b0 out f32 " + extent + "\n" + nodes + seq + "}\n";
  const Result<Kernel> kernel = Parse(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status().ToString() << text;
  return kernel.ok() && WritesAll(*kernel, 0, params);
}

const std::string kDims = "  dim d0 parallel 4\n  dim d1 parallel 3\n";
const std::string kMatrix = "[4, 3] stride [3, 1]";
const std::string kOne = "  %0 = f32 const 1.0\n";

std::string Stage(const std::string& dims, const std::string& place) {
  return "  stage (" + dims + ") {\n    store b0[" + place + "] = %0\n  }\n";
}

TEST(Coverage, WholeStores) {
  EXPECT_TRUE(WritesAllOf(kDims, kMatrix, kOne, Stage("d0, d1", "d0, d1")));
  EXPECT_TRUE(WritesAllOf(kDims, kMatrix, kOne, Stage("d0, d1", "d0*-1 + 3, d1")));
  EXPECT_TRUE(WritesAllOf(kDims, "[12] stride [1]", kOne, Stage("d0, d1", "d0*3 + d1")));
  EXPECT_TRUE(WritesAllOf(kDims, "[12] stride [1]", kOne, Stage("d0, d1", "d0 + d1*4")));
  EXPECT_FALSE(WritesAllOf(kDims, "[13] stride [1]", kOne, Stage("d0, d1", "d0*3 + d1")));
  EXPECT_FALSE(WritesAllOf(kDims, kMatrix, kOne, Stage("d0", "d0, 1")));
  EXPECT_FALSE(WritesAllOf(kDims, "[3, 3] stride [3, 1]", kOne, Stage("d1", "d1, d1")));
  EXPECT_TRUE(WritesAllOf(kDims, "[0] stride [1]", kOne, ""));
}

TEST(Coverage, ReadsOfWhatWasThere) {
  const auto reads_old = [](const std::string& nodes, const std::string& seq) {
    const std::string text =
        "kernel v1 params 0 outer 0 {\n" + kDims + "  buffer b0 out f32 " + kMatrix + "\n" + nodes + seq + "}\n";
    const Result<Kernel> kernel = Parse(text);
    EXPECT_TRUE(kernel.ok()) << kernel.status().ToString() << text;
    return kernel.ok() && ReadsOld(*kernel, 0, {});
  };
  const std::string read = kOne + "  read r0 = b0[d0, 1]\n  %1 = f32 read r0\n  %2 = f32 add %1, %0\n";
  const std::string use = "  stage (d0, d1) {\n    store b0[d0, d1] = %2\n  }\n";
  EXPECT_FALSE(reads_old(read, Stage("d0, d1", "d0, d1")));
  EXPECT_TRUE(reads_old(read, use));
  EXPECT_FALSE(reads_old(read, Stage("d0, d1", "d0, d1") + use));
  EXPECT_TRUE(reads_old(read, use + Stage("d0, d1", "d0, d1")));
  EXPECT_TRUE(reads_old(read, Stage("d0", "d0, 1") + use));
  // By way of a loop's first value, an index and a combination.
  const std::string carried = kOne +
                              "  read r0 = b0[0, 1]\n  %1 = f32 read r0\n  %2 = f32 carried #0.0\n  %3 = f32 add %2, "
                              "%0\n  %4 = s64 convert %1\n";
  const std::string loop = "  loop #0 (f32) init (%1) times 3 next (%3) {\n  }\n";
  EXPECT_TRUE(reads_old(carried, loop + Stage("d0, d1", "d0, d1")));
  EXPECT_FALSE(reads_old(carried, Stage("d0, d1", "d0, d1") + loop));
  EXPECT_TRUE(reads_old(carried, "  stage () {\n    store b0[%4, 0] = %0 if 0 <= %4 < 4\n  }\n"));
}

TEST(Coverage, PartsThatAddUp) {
  EXPECT_TRUE(
      WritesAllOf(kDims, "[24] stride [1]", kOne, Stage("d0, d1", "d0*6 + d1") + Stage("d0, d1", "d0*6 + d1 + 3")));
  EXPECT_FALSE(
      WritesAllOf(kDims, "[24] stride [1]", kOne, Stage("d0, d1", "d0*6 + d1") + Stage("d0, d1", "d0*6 + d1 + 2")));
  EXPECT_TRUE(WritesAllOf(kDims, "[8] stride [1]", kOne, Stage("d0", "d0*2 + 1") + Stage("d0", "d0*2")));
  // Seven places by fours and threes, which no one dim cuts.
  EXPECT_TRUE(WritesAllOf(kDims, "[7] stride [1]", kOne, Stage("d0", "d0*2") + Stage("d1", "d1*2 + 1")));
}

// A centre and four strips around it, each as long as the side that it lies at but for one end, in more rows than are
// gone through one by one.
TEST(Coverage, PinwheelsOfBoxes) {
  const std::string dims = "  dim d0 parallel 30000\n  dim d1 parallel 7\n  dim d2 parallel 5\n";
  const auto written = [&](const std::string& last_strip) {
    std::string seq;
    for (const std::string domain : {"d0 [0, 2), d1 [0, 6)", "d0 [0, 29000), d1 [6, 7)", "d0 [29000, 30000), d1 [3, 7)",
                                     last_strip.c_str(), "d0 [2, 29000), d1 [3, 6)"}) {
      seq += "  stage (d0, d1, d2) domain " + domain + " {\n    store b0[d0*35 + d1*5 + d2] = %0\n  }\n";
    }
    return WritesAllOf(dims, "[1050000] stride [1]", kOne, seq);
  };
  EXPECT_TRUE(written("d0 [2, 30000), d1 [0, 3)"));
  EXPECT_FALSE(written("d0 [3, 30000), d1 [0, 3)"));
  EXPECT_FALSE(written("d0 [2, 30000), d1 [0, 3), d2 [0, 4)"));
}

TEST(Coverage, TeethThatFillEachOthersGaps) {
  // More rows than are gone through one by one, and edges that part them.
  const std::string dims =
      "  dim d0 parallel 8\n  dim d1 parallel 64\n  dim d2 parallel 64\n  dim d3 parallel 129\n  dim d4 parallel 128\n";
  const std::string image = "[8, 129, 129] stride [16641, 129, 1]";
  const std::string even = Stage("d0, d1, d2", "d0, d1*2, d2*2"), odd = Stage("d0, d1, d2", "d0, d1*2, d2*2 + 1");
  const std::string rows = Stage("d0, d1, d4", "d0, d1*2 + 1, d4");
  const std::string edges = Stage("d0, d3", "d0, 128, d3") + Stage("d0, d4", "d0, d4, 128");
  EXPECT_TRUE(WritesAllOf(dims, image, kOne, even + odd + rows + edges));
  EXPECT_TRUE(WritesAllOf(dims, image, kOne, rows + edges + odd + even));
  EXPECT_FALSE(WritesAllOf(dims, image, kOne, even + rows + edges));
  EXPECT_FALSE(WritesAllOf(dims, image, kOne, even + even + rows + edges));
  EXPECT_FALSE(WritesAllOf(dims, image, kOne, even + odd + edges));
  EXPECT_FALSE(WritesAllOf(dims, image, kOne, even + Stage("d0, d1, d2", "d0, d1*2, d2*2 + 3") + rows + edges));
}

TEST(Coverage, Counters) {
  const std::string nodes =
      "  %0 = f32 const 1.0\n  %1 = s64 const 0\n  %2 = s64 carried #0.0\n  %3 = s64 const 3\n"
      "  %4 = s64 min %2, %3\n  %5 = s64 max %4, %1\n  %6 = s64 const 1\n  %7 = s64 add %2, %6\n";
  const auto loop = [](const std::string& trips) {
    return "  loop #0 (s64) init (%1) times " + trips +
           " next (%7) {\n    stage (d1) {\n      store b0[%5, d1] = %0\n    }\n  }\n";
  };
  EXPECT_TRUE(WritesAllOf(kDims, kMatrix, nodes, loop("4")));
  EXPECT_TRUE(WritesAllOf(kDims, kMatrix, nodes, loop("9")));
  EXPECT_FALSE(WritesAllOf(kDims, kMatrix, nodes, loop("3")));
  EXPECT_TRUE(WritesAllOf(kDims, kMatrix, nodes, loop("p0"), {4}));
  EXPECT_FALSE(WritesAllOf(kDims, kMatrix, nodes, loop("p0"), {0}));
}

// Where all is said to be written, nothing is left of what was there before.
TEST(Coverage, IsSoForRandomKernels) {
  testing::RandomKernelOptions options;
  options.complex = true;
  int claims = 0, outputs = 0;
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    testing::Sample s = testing::RandomKernel(seed, options);
    testing::Memory other = s.memory;
    for (size_t b = 0; b < s.kernel.buffers.size(); ++b) {
      if (s.kernel.buffers[b].kind != BufKind::kOut || s.kernel.buffers[b].in_place_of != kNoBuf) continue;
      for (char& c : other.blocks[b].bytes) c = static_cast<char>(c ^ 1);
    }
    ASSERT_TRUE(Evaluate(s.kernel, s.memory.Refs(), s.params).ok());
    ASSERT_TRUE(Evaluate(s.kernel, other.Refs(), s.params).ok());
    for (size_t b = 0; b < s.kernel.buffers.size(); ++b) {
      const Buffer& buffer = s.kernel.buffers[b];
      if (buffer.kind != BufKind::kOut || buffer.in_place_of != kNoBuf) continue;
      ++outputs;
      if (!WritesAll(s.kernel, static_cast<Buf>(b), s.params)) continue;
      ++claims;
      int64_t n = 1;
      for (const Size& e : buffer.extent) n *= e.Value(s.params.data());
      const int64_t width = ByteWidth(buffer.type);
      for (int64_t i = 0; i < n; ++i) {
        int64_t rest = i, at = s.memory.blocks[b].data;
        for (size_t d = buffer.extent.size(); d-- > 0;) {
          const int64_t extent = buffer.extent[d].Value(s.params.data());
          at += rest % extent * buffer.stride[d].Value(s.params.data()) * width;
          rest /= extent;
        }
        for (int64_t k = 0; k < width; ++k) {
          ASSERT_EQ(s.memory.blocks[b].bytes[static_cast<size_t>(at + k)],
                    other.blocks[b].bytes[static_cast<size_t>(at + k)])
              << "seed " << seed << " buffer " << b << "\n"
              << Print(s.kernel);
        }
      }
    }
  }
  EXPECT_GT(claims, outputs / 4);
}

}  // namespace
}  // namespace tenon::kir
