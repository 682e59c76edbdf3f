#include "tenon/isa/isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon::isa {
namespace {

struct LevelInfo {
  std::string_view name;
  std::string_view llvm_cpu;
  std::string_view llvm_features;
};

// Indexed by IsaLevel. The AVX-512 row asks for whole registers: LLVM's own default for x86-64-v4 is 256 bits.
constexpr LevelInfo kLevels[] = {
    {"sse4", "x86-64-v2", ""},
    {"avx2", "x86-64-v3", ""},
    {"avx512", "x86-64-v4", "-prefer-256-bit"},
};

const LevelInfo& InfoOf(IsaLevel level) { return kLevels[static_cast<int>(level)]; }

struct Cpu {
  IsaLevel level = IsaLevel::kSse4;
  IsaExtras extras;
};

#if defined(__x86_64__)
constexpr bool HasAll(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

// XCR0: which register files the operating system saves.
uint64_t EnabledRegisterFiles() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

Cpu Detect() {
  Cpu cpu;
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return cpu;
  constexpr uint32_t kFma = 1u << 12, kMovbe = 1u << 22, kOsxsave = 1u << 27, kAvx = 1u << 28, kF16c = 1u << 29;
  if (!HasAll(c, kFma | kMovbe | kOsxsave | kAvx | kF16c)) return cpu;
  const uint64_t files = EnabledRegisterFiles();
  if ((files & 0x6) != 0x6) return cpu;

  uint32_t ext_c = 0;
  if (!__get_cpuid(0x80000001u, &a, &b, &ext_c, &d)) return cpu;
  constexpr uint32_t kLzcnt = 1u << 5;
  uint32_t b7, c7;
  if (!HasAll(ext_c, kLzcnt) || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d)) return cpu;
  const uint32_t subleaves = a;
  constexpr uint32_t kBmi1 = 1u << 3, kAvx2 = 1u << 5, kBmi2 = 1u << 8;
  if (!HasAll(b7, kBmi1 | kAvx2 | kBmi2)) return cpu;
  cpu.level = IsaLevel::kAvx2;

  constexpr uint32_t kF = 1u << 16, kDq = 1u << 17, kCd = 1u << 28, kBw = 1u << 30, kVl = 1u << 31;
  if ((files & 0xe6) != 0xe6 || !HasAll(b7, kF | kDq | kCd | kBw | kVl)) return cpu;
  cpu.level = IsaLevel::kAvx512;
  cpu.extras.avx512_vbmi = HasAll(c7, 1u << 1);
  cpu.extras.avx512_vnni = HasAll(c7, 1u << 11);
  cpu.extras.avx512_bitalg = HasAll(c7, 1u << 12);
  cpu.extras.avx512_vpopcntdq = HasAll(c7, 1u << 14);
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) cpu.extras.avx512_bf16 = HasAll(a, 1u << 5);
  return cpu;
}
#else
Cpu Detect() { return {}; }
#endif

const Cpu& ThisCpu() {
  static const Cpu cpu = Detect();
  return cpu;
}

}  // namespace

std::string_view IsaLevelName(IsaLevel level) { return InfoOf(level).name; }
std::string_view LlvmCpu(IsaLevel level) { return InfoOf(level).llvm_cpu; }
std::string_view LlvmFeatures(IsaLevel level) { return InfoOf(level).llvm_features; }

Result<IsaLevel> ParseIsaLevel(std::string_view name) {
  for (IsaLevel level : kAllIsaLevels) {
    if (name == IsaLevelName(level)) return level;
  }
  return InvalidArgument(fmt::format("got ISA level '{}', wanted sse4, avx2 or avx512", name));
}

Result<IsaLevel> ApplyMaxIsa(IsaLevel detected, std::string_view text) {
  if (text.empty()) return detected;
  Result<IsaLevel> wanted = ParseIsaLevel(text);
  if (!wanted.ok()) return wanted.status().WithContext("TENON_MAX_ISA");
  return std::min(detected, *wanted);
}

IsaLevel DetectedIsa() { return ThisCpu().level; }

Result<IsaLevel> SelectedIsa() {
  static const Result<IsaLevel> selected = [] {
    const char* text = std::getenv("TENON_MAX_ISA");
    return ApplyMaxIsa(DetectedIsa(), text == nullptr ? "" : text);
  }();
  return selected;
}

IsaLevel ActiveIsa() {
  static const IsaLevel level = [] {
    const Result<IsaLevel> selected = SelectedIsa();
    return selected.ok() ? *selected : DetectedIsa();
  }();
  return level;
}

IsaExtras ExtrasFor(IsaLevel level) { return level < IsaLevel::kAvx512 ? IsaExtras{} : ThisCpu().extras; }

}  // namespace tenon::isa
