#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::isa {

/// Data cache sizes as one core sees them, in bytes. `l3_bytes` is the whole cache that the core shares; 0 never
/// occurs: what cannot be found out is taken from kFallbackCaches.
struct CacheSizes {
  int64_t l1_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t l3_bytes = 0;
  friend bool operator==(const CacheSizes&, const CacheSizes&) = default;
};
inline constexpr CacheSizes kFallbackCaches = {32 << 10, 1 << 20, 16 << 20};

/// The caches of CPU 0, from sysfs, else from cpuid, else kFallbackCaches. Read once per process.
const CacheSizes& Caches();

/// Reads `root`/index*/{level,type,size} as in /sys/devices/system/cpu/cpu0/cache; absent levels stay 0. Exposed for
/// tests.
CacheSizes ReadSysfsCaches(std::string_view root);
/// "32K", "1024K", "32M", "512" in bytes; 0 when malformed.
int64_t ParseCacheSize(std::string_view text);

}  // namespace tenon::isa
