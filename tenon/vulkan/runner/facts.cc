#include "tenon/vulkan/runner/facts.h"

#include <algorithm>
#include <thread>

#include "tenon/target/target.h"

namespace tenon::vulkan {

target::DeviceFacts SaidFacts(const PhysicalDevice& d, bool is_mapped) {
  // What no driver says, its speed above all, is that of a middling device of its kind.
  const char* kind = d.type == VK_PHYSICAL_DEVICE_TYPE_CPU              ? "software"
                     : d.type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ? "integrated"
                                                                        : "discrete";
  target::DeviceFacts f = *target::GpuFacts(kind);
  f.name.clear();
  for (const char c : d.name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
    if (plain) {
      f.name += c;
    } else if (!f.name.empty() && f.name.back() != '_') {
      f.name += '_';
    }
  }
  while (!f.name.empty() && f.name.back() == '_') f.name.pop_back();
  if (f.name.empty()) f.name = "device";

  f.subgroup = d.subgroup_size;
  f.least_subgroup = d.least_subgroup > 0 ? d.least_subgroup : d.subgroup_size;
  f.most_subgroup = d.most_subgroup > 0 ? d.most_subgroup : d.subgroup_size;
  f.group_lanes = d.limits.maxComputeWorkGroupInvocations;
  for (size_t i = 0; i < f.group_size.size(); ++i) {
    f.group_size[i] = d.limits.maxComputeWorkGroupSize[i];
    f.group_count[i] = d.limits.maxComputeWorkGroupCount[i];
  }
  f.local_bytes = d.limits.maxComputeSharedMemorySize;
  f.argument_bytes = d.limits.maxPushConstantsSize;

  f.i8 = d.int8;
  f.i16 = d.int16;
  f.i64 = d.int64;
  f.f16 = d.float16;
  f.f64 = d.float64;
  f.storage8 = d.storage8;
  f.storage16 = d.storage16;
  f.subgroup_arithmetic = (d.subgroup_operations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  f.subgroup_shuffle = (d.subgroup_operations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  f.atomics64 = d.atomics64;
  f.matrix_units.clear();
  for (const MatrixProduct& p : d.matrix_products) f.matrix_units.push_back({p.m, p.n, p.k, p.in, p.out});
  f.may_keep_subnormals = d.keeps_subnormals;
  f.may_keep_nan_and_zeros = d.keeps_nan_and_zeros;
  f.may_round_to_even = d.rounds_to_even;

  f.fused_f32 = f.fused_f64 = false;
  f.exact_divide = f.exact_sqrt = f.exact_divide_f64 = f.exact_sqrt_f64 = false;
  f.keeps_subnormals = f.keeps_subnormals_f64 = f.keeps_subnormals_f16 = false;
  f.keeps_nan_and_zeros = false;

  // Drivers that run kernels on a CPU end loops after the default's number of rounds, lest a mistake hang them, and
  // load what all lanes want alike without a look at which of them are to.
  f.loads_beside_branches = d.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  if (d.type != VK_PHYSICAL_DEVICE_TYPE_CPU) f.most_trips = 0;

  f.most_allocation_bytes = static_cast<int64_t>(std::min<uint64_t>(d.max_allocation_bytes, INT64_MAX));
  // Kernels reach buffers by address, for which there is no other limit.
  f.most_buffer_bytes = f.most_allocation_bytes;
  f.buffer_alignment = static_cast<int64_t>(d.limits.minStorageBufferOffsetAlignment);
  f.spaces = {{"device", 0, is_mapped}, {"pinned_host", 0, true}};
  if (d.type == VK_PHYSICAL_DEVICE_TYPE_CPU)
    f.compute_units = std::max<int64_t>(1, std::thread::hardware_concurrency());
  return f;
}

}  // namespace tenon::vulkan
