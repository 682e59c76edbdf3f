#include "tenon/isa/amx.h"

#include <cstdint>
#include <cstdlib>

#include "tenon/isa/isa.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tenon::isa {
namespace {

#if defined(__x86_64__) && defined(__linux__)
bool HasTiles() {
  if (DetectedIsa() < IsaLevel::kAvx512) return false;
  uint32_t a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr uint32_t kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;
  if ((d & (kBf16 | kTile | kInt8)) != (kBf16 | kTile | kInt8)) return false;
  // The kernels are written for palette 1: eight tiles of 16 rows of 64 bytes.
  if (!__get_cpuid_count(0x1d, 1, &a, &b, &c, &d)) return false;
  if ((b & 0xffff) != 64 || (b >> 16) != 8 || (c & 0xffff) != 16) return false;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr uint32_t kTileFiles = 3u << 17;  // Configuration and data.
  return (low & kTileFiles) == kTileFiles;
}

bool AskForTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA.
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
bool HasTiles() { return false; }
bool AskForTiles() { return false; }
#endif

}  // namespace

bool AmxUsable() {
  static const bool usable = [] {
    const char* const cap = std::getenv("TENON_MAX_ISA");
    return (cap == nullptr || *cap == '\0') && HasTiles() && AskForTiles();
  }();
  return usable;
}

}  // namespace tenon::isa
