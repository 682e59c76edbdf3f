#include "tenon/isa/cache.h"

#include <charconv>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon::isa {
namespace {

std::string FirstWord(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

int64_t* Slot(CacheSizes& sizes, int level) {
  switch (level) {
    case 1:
      return &sizes.l1_bytes;
    case 2:
      return &sizes.l2_bytes;
    case 3:
      return &sizes.l3_bytes;
    default:
      return nullptr;
  }
}

// Deterministic cache parameters: leaf 4 (Intel) or 0x8000001d (AMD), the same layout.
CacheSizes ReadCpuidCaches() {
  CacheSizes sizes;
#if defined(__x86_64__)
  for (uint32_t leaf : {4u, 0x8000001du}) {
    for (uint32_t index = 0; index < 16; ++index) {
      uint32_t a, b, c, d;
      if (!__get_cpuid_count(leaf, index, &a, &b, &c, &d)) break;
      const uint32_t type = a & 31;
      if (type == 0) break;
      if (type == 2) continue;  // Instructions.
      const int64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 0x3ff) + 1, line = (b & 0xfff) + 1;
      if (int64_t* slot = Slot(sizes, static_cast<int>((a >> 5) & 7)))
        *slot = ways * partitions * line * (int64_t{c} + 1);
    }
    if (sizes.l1_bytes != 0) break;
  }
#endif
  return sizes;
}

void FillFrom(CacheSizes& sizes, const CacheSizes& other) {
  if (sizes.l1_bytes <= 0) sizes.l1_bytes = other.l1_bytes;
  if (sizes.l2_bytes <= 0) sizes.l2_bytes = other.l2_bytes;
  if (sizes.l3_bytes <= 0) sizes.l3_bytes = other.l3_bytes;
}

}  // namespace

int64_t ParseCacheSize(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > (int64_t{1} << 40)) return 0;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.empty()) return value;
  if (unit == "K") return value << 10;
  if (unit == "M") return value << 20;
  return 0;
}

CacheSizes ReadSysfsCaches(std::string_view root) {
  CacheSizes sizes;
  for (int index = 0; index < 16; ++index) {
    const std::string dir = std::string(root) + "/index" + std::to_string(index);
    const std::string level = FirstWord(dir + "/level");
    if (level.empty()) break;
    if (FirstWord(dir + "/type") == "Instruction") continue;
    if (level.size() != 1) continue;
    if (int64_t* slot = Slot(sizes, level[0] - '0')) *slot = ParseCacheSize(FirstWord(dir + "/size"));
  }
  return sizes;
}

const CacheSizes& Caches() {
  static const CacheSizes caches = [] {
    CacheSizes sizes = ReadSysfsCaches("/sys/devices/system/cpu/cpu0/cache");
    FillFrom(sizes, ReadCpuidCaches());
    FillFrom(sizes, kFallbackCaches);
    return sizes;
  }();
  return caches;
}

}  // namespace tenon::isa
