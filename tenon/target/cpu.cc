// The CPU targets, and what name stands for which target.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tenon/target/target.h"

namespace tenon::target {
namespace {

/// A level and what it adds to the ones before it. Figures are those of a middling server core of the last years.
struct Level {
  std::string_view name;
  std::vector<std::string_view> features;
  int64_t vector_bytes, vector_registers, mask_registers;
  double flops_per_ns;  ///< Measured in dense f32 products, within a fifth.
};

const std::vector<Level>& Levels() {
  static const std::vector<Level>& levels = *new std::vector<Level>{
      {"sse4", {"popcnt", "sse4.2"}, 16, 16, 0, 12},
      {"avx2", {"avx2", "bmi2", "f16c", "fma", "lzcnt"}, 32, 16, 0, 50},
      {"avx512", {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}, 64, 32, 8, 100},
  };
  return levels;
}

}  // namespace

Result<Target> CpuTarget(std::string_view level, int64_t cores) {
  if (cores == 0) cores = kDefaultCores;
  if (cores < 1 || cores > kMaxCores)
    return InvalidArgument(fmt::format("a CPU target of {} cores, wanted 1 to {}", cores, kMaxCores));
  Target t;
  bool found = false;
  for (const Level& l : Levels()) {
    t.features.insert(t.features.end(), l.features.begin(), l.features.end());
    if (l.name != level) continue;
    found = true;
    t.vector_bytes = l.vector_bytes;
    t.vector_registers = l.vector_registers;
    t.mask_registers = l.mask_registers;
    t.core_flops_per_ns = l.flops_per_ns;
    break;
  }
  if (!found) return InvalidArgument(fmt::format("no CPU level '{}', wanted sse4, avx2 or avx512", level));
  std::sort(t.features.begin(), t.features.end());
  t.name = fmt::format("cpu:{}:cores={}", level, cores);
  t.kind = Kind::kCpu;
  t.isa = level;
  t.caches = {{32 << 10, 64}, {1 << 20, 64}, {16 << 20, 64}};
  t.cores = cores;
  t.clock_ghz = 3.5;
  t.core_bytes_per_ns = 10;
  t.machine_bytes_per_ns = 40;
  t.cached_bytes_per_ns = 50;
  t.launch_ns = 30;
  for (int i = 1; i < kNumDTypes; ++i) {
    if (static_cast<DType>(i) != DType::kToken) t.types.push_back(static_cast<DType>(i));
  }
  t.spaces = {{"device", 0, true}, {"pinned_host", 0, true}, {"unpinned_host", 0, true}};
  t.numerics.fused_multiply_add = level != "sse4";
  t.costs = OpCosts::Standard();
  return t;
}

const std::shared_ptr<const Target>& StandardTarget() {
  static const auto& standard = *new std::shared_ptr<const Target>([] {
    Result<Target> t = CpuTarget("avx512");
    TENON_CHECK(t.ok());
    return std::make_shared<const Target>(*std::move(t));
  }());
  return standard;
}

Result<Target> TargetByName(std::string_view name) {
  constexpr std::string_view kWanted =
      "wanted cpu:sse4, cpu:avx2 or cpu:avx512, with :cores=N behind it or not, or gpu:least, gpu:software, "
      "gpu:integrated or gpu:discrete";
  constexpr std::string_view kCpu = "cpu:";
  constexpr std::string_view kGpu = "gpu:";
  constexpr std::string_view kCores = "cores=";
  const auto bad = [&](std::string_view why) {
    return InvalidArgument(fmt::format("target '{}': {}; {}", name, why, kWanted));
  };
  if (name.starts_with(kGpu)) {
    const Result<DeviceFacts> facts = GpuFacts(name.substr(kGpu.size()));
    if (!facts.ok()) return bad("no such GPU");
    return GpuTarget(*facts);
  }
  if (!name.starts_with(kCpu)) return bad("no such kind");
  std::string_view rest = name.substr(kCpu.size());
  const std::string_view level = rest.substr(0, rest.find(':'));
  rest.remove_prefix(level.size());
  int64_t cores = 0;
  if (!rest.empty()) {
    rest.remove_prefix(1);
    if (!rest.starts_with(kCores)) return bad(fmt::format("'{}' is no option", rest));
    rest.remove_prefix(kCores.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), cores);
    if (error != std::errc() || end != rest.data() + rest.size() || cores < 1 || cores > kMaxCores)
      return bad(fmt::format("'{}' cores, wanted 1 to {}", rest, kMaxCores));
  }
  Result<Target> target = CpuTarget(level, cores);
  if (!target.ok()) return bad(fmt::format("no level '{}'", level));
  return target;
}

}  // namespace tenon::target
