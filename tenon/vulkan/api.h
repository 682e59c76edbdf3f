#pragma once

/// Vulkan's types, and tables of its functions: nothing here links to a loader, which is opened when somebody asks.

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <string>
#include <string_view>

#include "tenon/base/status.h"

namespace tenon::vulkan {

struct GlobalFunctions {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define TENON_VK_GLOBAL(name) PFN_vk##name name = nullptr;
#include "tenon/vulkan/functions.def"
};

struct InstanceFunctions {
#define TENON_VK_INSTANCE(name) PFN_vk##name name = nullptr;
#include "tenon/vulkan/functions.def"
};

struct DeviceFunctions {
#define TENON_VK_DEVICE(name) PFN_vk##name name = nullptr;
#include "tenon/vulkan/functions.def"
};

/// The functions of the machine's Vulkan loader, opened when first asked for and never closed: drivers have threads
/// that outlive their instance. NOT_FOUND, naming what was tried, when there is no loader.
/// The environment variable TENON_VULKAN_LOADER names another library than libvulkan.so.1.
Result<const GlobalFunctions*> OpenLoader();

/// A structure of that type, everything else zero.
template <class T>
T Typed(VkStructureType type) {
  T value{};
  value.sType = type;
  return value;
}

Result<InstanceFunctions> LoadInstance(const GlobalFunctions& global, VkInstance instance);
Result<DeviceFunctions> LoadDevice(const InstanceFunctions& functions, VkDevice device);

/// "VK_ERROR_DEVICE_LOST" and the like; the number for those that nobody named.
std::string ResultName(VkResult result);

/// OK for VK_SUCCESS. Want of memory is RESOURCE_EXHAUSTED, a lost device UNAVAILABLE, a missing extension, feature or
/// driver FAILED_PRECONDITION, the rest INTERNAL; the message is `what` and the result's name.
Status ToStatus(VkResult result, std::string_view what);

#define TENON_VK_RETURN_IF_ERROR(call, what)                                     \
  do {                                                                           \
    if (const VkResult vk_result = (call); vk_result != VK_SUCCESS) [[unlikely]] \
      return ::tenon::vulkan::ToStatus(vk_result, what);                         \
  } while (false)

}  // namespace tenon::vulkan
