#include "tenon/isa/isa.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tenon/isa/amx.h"

namespace tenon::isa {
namespace {

TEST(IsaLevel, NamesRoundTrip) {
  for (IsaLevel level : kAllIsaLevels) EXPECT_EQ(*ParseIsaLevel(IsaLevelName(level)), level);
}

TEST(IsaLevel, BadNamesAreRefusedWithTheChoices) {
  for (const char* name : {"", "AVX2", "avx", "avx5122", "neon"}) {
    const Result<IsaLevel> level = ParseIsaLevel(name);
    ASSERT_FALSE(level.ok()) << name;
    EXPECT_EQ(level.status().code(), Code::kInvalidArgument);
    EXPECT_NE(level.status().message().find("sse4, avx2 or avx512"), std::string_view::npos);
  }
}

TEST(MaxIsa, LowersNeverRaises) {
  EXPECT_EQ(*ApplyMaxIsa(IsaLevel::kAvx512, ""), IsaLevel::kAvx512);
  EXPECT_EQ(*ApplyMaxIsa(IsaLevel::kAvx512, "avx2"), IsaLevel::kAvx2);
  EXPECT_EQ(*ApplyMaxIsa(IsaLevel::kAvx2, "avx512"), IsaLevel::kAvx2);
  EXPECT_EQ(*ApplyMaxIsa(IsaLevel::kAvx2, "sse4"), IsaLevel::kSse4);
}

TEST(MaxIsa, ABadValueNamesTheVariable) {
  const Result<IsaLevel> level = ApplyMaxIsa(IsaLevel::kAvx2, "fast");
  ASSERT_FALSE(level.ok());
  EXPECT_NE(level.status().message().find("TENON_MAX_ISA"), std::string_view::npos);
  EXPECT_NE(level.status().message().find("'fast'"), std::string_view::npos);
}

TEST(SelectedIsa, FollowsTheEnvironment) {
  const char* text = std::getenv("TENON_MAX_ISA");
  const Result<IsaLevel> wanted = ApplyMaxIsa(DetectedIsa(), text == nullptr ? "" : text);
  EXPECT_EQ(SelectedIsa().ok(), wanted.ok());
  if (wanted.ok()) {
    EXPECT_EQ(*SelectedIsa(), *wanted);
    EXPECT_EQ(ActiveIsa(), *wanted);
  } else {
    EXPECT_EQ(ActiveIsa(), DetectedIsa());
  }
}

// The kernel's own list of flags is the oracle.
TEST(DetectedIsa, AgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
  }
  if (line.rfind("flags", 0) != 0) GTEST_SKIP() << "no flags line in /proc/cpuinfo";
  line += ' ';
  const auto has = [&](std::initializer_list<const char*> flags) {
    for (const char* flag : flags) {
      if (line.find(std::string(" ") + flag + " ") == std::string::npos) return false;
    }
    return true;
  };
  const bool avx2 = has({"avx2", "fma", "f16c", "bmi1", "bmi2", "movbe", "abm"});
  const bool avx512 = avx2 && has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  EXPECT_EQ(DetectedIsa(), avx512 ? IsaLevel::kAvx512 : avx2 ? IsaLevel::kAvx2 : IsaLevel::kSse4);
  EXPECT_EQ(ExtrasFor(DetectedIsa()).avx512_vnni, avx512 && has({"avx512_vnni"}));
  EXPECT_EQ(ExtrasFor(DetectedIsa()).avx512_bf16, avx512 && has({"avx512_bf16"}));
  EXPECT_EQ(ExtrasFor(DetectedIsa()).avx512_vbmi, avx512 && has({"avx512vbmi"}));
  EXPECT_EQ(ExtrasFor(DetectedIsa()).avx512_vpopcntdq, avx512 && has({"avx512_vpopcntdq"}));
  EXPECT_EQ(ExtrasFor(DetectedIsa()).avx512_bitalg, avx512 && has({"avx512_bitalg"}));
  EXPECT_EQ(ExtrasFor(IsaLevel::kAvx2), IsaExtras{});
}

TEST(AmxUsable, WantsTheKernelsFlagsAndNoCap) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
  }
  const bool has_tiles = line.find(" amx_tile") != std::string::npos && line.find(" amx_int8") != std::string::npos &&
                         line.find(" amx_bf16") != std::string::npos;
  const char* const cap = std::getenv("TENON_MAX_ISA");
  EXPECT_EQ(AmxUsable(), has_tiles && (cap == nullptr || *cap == '\0'));
}

TEST(Llvm, LevelsAreTheMicroarchitectureLevels) {
  EXPECT_EQ(LlvmCpu(IsaLevel::kSse4), "x86-64-v2");
  EXPECT_EQ(LlvmCpu(IsaLevel::kAvx2), "x86-64-v3");
  EXPECT_EQ(LlvmCpu(IsaLevel::kAvx512), "x86-64-v4");
  EXPECT_EQ(LlvmFeatures(IsaLevel::kAvx512), "-prefer-256-bit");
  EXPECT_EQ(VectorBytes(IsaLevel::kSse4), 16);
  EXPECT_EQ(VectorBytes(IsaLevel::kAvx512), 64);
}

}  // namespace
}  // namespace tenon::isa
