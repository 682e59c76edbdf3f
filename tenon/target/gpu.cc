// The GPU targets: made of a device's facts, or of those of a device that has a name here.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/target/target.h"

namespace tenon::target {
namespace {

constexpr int64_t kKib = 1 << 10;
constexpr int64_t kMib = 1 << 20;
constexpr int64_t kGib = 1 << 30;

void HaveAllTypes(DeviceFacts& f) {
  f.i8 = f.i16 = f.i64 = f.f16 = f.f64 = f.storage8 = f.storage16 = true;
  f.subgroup_arithmetic = f.subgroup_shuffle = f.atomics64 = true;
}

/// A driver that runs kernels on the cores of a CPU, in vectors of 256 bits.
DeviceFacts Software() {
  DeviceFacts f;
  f.name = "software";
  f.subgroup = f.least_subgroup = f.most_subgroup = 8;
  f.group_lanes = 1024;
  f.group_size = {1024, 1024, 1024};
  f.local_bytes = 32 * kKib;
  HaveAllTypes(f);
  f.exact_divide = f.exact_sqrt = f.exact_divide_f64 = f.exact_sqrt_f64 = true;
  f.keeps_subnormals = f.keeps_subnormals_f64 = f.keeps_subnormals_f16 = f.keeps_nan_and_zeros = true;
  f.most_allocation_bytes = 2 * kGib;
  f.spaces = {{"device", 0, true}, {"pinned_host", 0, true}, {"unpinned_host", 0, true}};
  f.compute_units = kDefaultCores;
  f.cache_bytes = 16 * kMib;
  f.clock_ghz = 3.5;
  f.bytes_per_ns = 40;
  f.flops_per_ns = 100;
  f.launch_ns = 15000;
  return f;
}

/// One beside the cores of a CPU, which shares their memory and has no f64.
DeviceFacts Integrated() {
  DeviceFacts f;
  f.name = "integrated";
  f.subgroup = 16;
  f.least_subgroup = 8;
  f.most_subgroup = 32;
  f.group_lanes = 1024;
  f.group_size = {1024, 1024, 1024};
  f.local_bytes = 64 * kKib;
  HaveAllTypes(f);
  f.f64 = false;
  f.fused_f32 = true;
  f.keeps_subnormals = f.keeps_subnormals_f16 = f.keeps_nan_and_zeros = true;
  f.most_buffer_bytes = kGib;
  f.most_allocation_bytes = 4 * kGib;
  f.spaces = {{"device", 0, true}, {"pinned_host", 0, true}, {"unpinned_host", 0, true}};
  f.compute_units = 32;
  f.cache_bytes = 8 * kMib;
  f.clock_ghz = 2;
  f.bytes_per_ns = 80;
  f.flops_per_ns = 4000;
  f.launch_ns = 5000;
  f.most_launch_ns = 2e9;
  f.most_trips = 0;
  return f;
}

/// A large one with memory of its own.
DeviceFacts Discrete() {
  DeviceFacts f;
  f.name = "discrete";
  f.subgroup = f.least_subgroup = f.most_subgroup = 32;
  f.group_lanes = 1024;
  f.group_size = {1024, 1024, 64};
  f.group_count = {(int64_t{1} << 31) - 1, 65535, 65535};
  f.local_bytes = 48 * kKib;
  f.argument_bytes = 256;
  HaveAllTypes(f);
  f.matrix_units = {{16, 16, 16, DType::kF16, DType::kF32}, {16, 16, 32, DType::kS8, DType::kS32}};
  f.fused_f32 = f.fused_f64 = true;
  f.most_trips = 0;
  f.exact_divide_f64 = f.exact_sqrt_f64 = true;
  f.keeps_subnormals = f.keeps_subnormals_f64 = f.keeps_subnormals_f16 = f.keeps_nan_and_zeros = true;
  f.most_buffer_bytes = 4 * kGib - 1;
  f.most_allocation_bytes = 4 * kGib;
  f.spaces = {{"device", 80 * kGib, false}, {"pinned_host", 0, true}, {"unpinned_host", 0, true}};
  f.compute_units = 132;
  f.cache_bytes = 50 * kMib;
  f.clock_ghz = 1.7;
  f.bytes_per_ns = 3000;
  f.flops_per_ns = 60000;
  f.launch_ns = 3000;
  return f;
}

/// What everyone who offers compute at all has to have.
DeviceFacts Least() {
  DeviceFacts f;
  f.name = "least";
  f.spaces = {{"device", 0, true}, {"pinned_host", 0, true}, {"unpinned_host", 0, true}};
  return f;
}

const std::vector<DeviceFacts>& Named() {
  static const std::vector<DeviceFacts>& named =
      *new std::vector<DeviceFacts>{Least(), Software(), Integrated(), Discrete()};
  return named;
}

/// A type that kernels may read and write, and compute with or convert from and to something that they compute with.
bool HasElements(const DeviceFacts& f, DType type) {
  switch (ByteWidth(type)) {
    case 1:
      // A pred is a byte too, without which there is no program: emitters move it in words where they must.
      return type == DType::kPred || f.storage8;
    case 2:
      return f.storage16;
    case 8:
      return type == DType::kC64 || (IsFloat(type) ? f.f64 : f.i64);
    case 16:
      return f.f64;
    default:
      return true;
  }
}

}  // namespace

Result<DeviceFacts> GpuFacts(std::string_view name) {
  for (const DeviceFacts& facts : Named()) {
    if (facts.name == name) return facts;
  }
  return InvalidArgument(fmt::format("no GPU '{}', wanted least, software, integrated or discrete", name));
}

const MatrixUnit* FindMatrixUnit(const DeviceFacts& facts, DType in, DType out) {
  const auto found =
      std::ranges::find_if(facts.matrix_units, [&](const MatrixUnit& u) { return u.in == in && u.out == out; });
  return found == facts.matrix_units.end() ? nullptr : &*found;
}

Target GpuTarget(const DeviceFacts& facts) {
  Target t;
  t.name = "gpu:" + facts.name;
  t.kind = Kind::kGpu;
  t.isa = "spirv";
  const auto feature = [&](std::string_view name, bool has) {
    if (has) t.features.emplace_back(name);
  };
  feature("f16", facts.f16);
  feature("f64", facts.f64);
  feature("i16", facts.i16);
  feature("i64", facts.i64);
  feature("i8", facts.i8);
  feature("matrix", !facts.matrix_units.empty());
  feature("shuffle", facts.subgroup_shuffle);
  feature("storage16", facts.storage16);
  feature("storage8", facts.storage8);
  t.vector_bytes = 4 * facts.subgroup;
  t.vector_registers = 64;
  t.group_lanes = facts.group_lanes;
  t.caches = {{facts.local_bytes, 64}};
  if (facts.cache_bytes > 0) t.caches.push_back({facts.cache_bytes, 64});
  t.cores = std::clamp<int64_t>(facts.compute_units, 1, kMaxCores);
  const auto cores = static_cast<double>(t.cores);
  t.clock_ghz = facts.clock_ghz;
  t.core_bytes_per_ns = facts.bytes_per_ns / cores;
  t.machine_bytes_per_ns = facts.bytes_per_ns;
  t.cached_bytes_per_ns = 4 * t.core_bytes_per_ns;
  t.core_flops_per_ns = facts.flops_per_ns / cores;
  t.launch_ns = facts.launch_ns;
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (type != DType::kToken && HasElements(facts, type)) t.types.push_back(type);
  }
  t.spaces = facts.spaces;
  t.costs = OpCosts::Standard();
  t.device = facts;

  // One set for all GPUs but for what a device cannot do, so that they cut sums alike. More and shorter blocks than on
  // a CPU: each is one workgroup, or one invocation of a scan.
  t.numerics.fused_multiply_add = facts.fused_f32;
  t.numerics.long_sum = 16 * kKib;
  t.numerics.long_sum_results = 256;
  t.numerics.long_sum_block = 4 * kKib;
  t.numerics.long_sum_min_block = 256;
  t.numerics.long_sum_uneven_block = 2 * kKib;
  t.numerics.tall_blocks = 64;
  t.numerics.tall_elements = 256 * kKib;
  t.numerics.long_scan = 1024;
  t.numerics.scan_block = 256;
  // Drivers' compilers take more than linear time for large modules; registers that spill cost more than a launch.
  t.limits.members = 100;
  t.limits.cost = 400;
  t.limits.nodes = 600;
  t.limits.loop_nodes = 600;
  t.limits.carries = 32;
  // Rows lie in local memory, beside what the sums of the same kernel meet in.
  t.limits.row_bytes = facts.local_bytes / 2;
  return t;
}

}  // namespace tenon::target
