#pragma once

/// Products of small matrices by a subgroup: VK_KHR_cooperative_matrix, which headers of older systems do not have.

#include <cstdint>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/vulkan/api.h"

namespace tenon::vulkan {

/// [m, k] x [k, n] of `in`, added up in `out`.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  DType in = DType::kInvalid, out = DType::kInvalid;
};

inline constexpr const char* kMatrixExtension = "VK_KHR_cooperative_matrix";

/// What to chain to a device's features to ask for the extension, or about it.
struct MatrixFeatures {
  VkStructureType type = static_cast<VkStructureType>(1000506000);
  void* next = nullptr;
  VkBool32 products = VK_FALSE;
  VkBool32 robust_access = VK_FALSE;
};

/// Those that a device has, the largest first: of f16, s8 and u8, where shaders have these, added up in f32, s32 and
/// u32. `get`: vkGetInstanceProcAddr.
std::vector<MatrixProduct> MatrixProductsOf(const InstanceFunctions& functions, PFN_vkGetInstanceProcAddr get,
                                            VkInstance instance, VkPhysicalDevice device, bool float16, bool int8);

}  // namespace tenon::vulkan
