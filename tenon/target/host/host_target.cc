#include "tenon/target/host/host_target.h"

#include <algorithm>

#include "tenon/isa/cache.h"
#include "tenon/isa/isa.h"
#include "tenon/threads/topology.h"

namespace tenon::target {
namespace {

Target Probe() {
  const isa::IsaLevel level = isa::ActiveIsa();
  Result<Target> named = CpuTarget(isa::IsaLevelName(level), threads::AvailableCpus());
  TENON_CHECK(named.ok());
  Target t = *std::move(named);
  const isa::IsaExtras extras = isa::ExtrasFor(level);
  if (extras.avx512_vnni) t.features.emplace_back("avx512vnni");
  if (extras.avx512_bf16) t.features.emplace_back("avx512bf16");
  std::sort(t.features.begin(), t.features.end());
  const isa::CacheSizes& caches = isa::Caches();
  t.caches[0].bytes = caches.l1_bytes;
  t.caches[1].bytes = caches.l2_bytes;
  t.caches[2].bytes = caches.l3_bytes;
  return t;
}

}  // namespace

const Target& HostTarget() {
  static const Target& host = *new Target(Probe());
  return host;
}

}  // namespace tenon::target
