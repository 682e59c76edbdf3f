#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "tenon/vulkan/api.h"

namespace tenon::vulkan {
namespace {

Result<GlobalFunctions> Open() {
  const char* given = std::getenv("TENON_VULKAN_LOADER");
  const std::string name = given != nullptr && *given != '\0' ? given : "libvulkan.so.1";
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return NotFound(fmt::format(
        "no Vulkan loader: {} (on Debian: libvulkan1, and a driver such as mesa-vulkan-drivers; TENON_VULKAN_LOADER "
        "names another file)",
        why != nullptr ? why : name));
  }
  GlobalFunctions f;
  f.GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (f.GetInstanceProcAddr == nullptr) {
    dlclose(library);
    return NotFound(fmt::format("{} is no Vulkan loader: it has no vkGetInstanceProcAddr", name));
  }
#define TENON_VK_GLOBAL(name) f.name = reinterpret_cast<PFN_vk##name>(f.GetInstanceProcAddr(nullptr, "vk" #name));
#include "tenon/vulkan/functions.def"
  if (f.CreateInstance == nullptr || f.EnumerateInstanceVersion == nullptr)
    return FailedPrecondition(fmt::format("the Vulkan loader {} is of version 1.0, wanted 1.3", name));
  return f;
}

}  // namespace

Result<const GlobalFunctions*> OpenLoader() {
  static const Result<GlobalFunctions>& functions = *new Result<GlobalFunctions>(Open());
  if (!functions.ok()) return functions.status();
  return &*functions;
}

Result<InstanceFunctions> LoadInstance(const GlobalFunctions& global, VkInstance instance) {
  InstanceFunctions f;
#define TENON_VK_INSTANCE(name)                                                              \
  f.name = reinterpret_cast<PFN_vk##name>(global.GetInstanceProcAddr(instance, "vk" #name)); \
  if (f.name == nullptr) return FailedPrecondition("the Vulkan loader lacks vk" #name ", wanted version 1.3");
#include "tenon/vulkan/functions.def"
  return f;
}

Result<DeviceFunctions> LoadDevice(const InstanceFunctions& functions, VkDevice device) {
  DeviceFunctions f;
#define TENON_VK_DEVICE(name)                                                               \
  f.name = reinterpret_cast<PFN_vk##name>(functions.GetDeviceProcAddr(device, "vk" #name)); \
  if (f.name == nullptr) return FailedPrecondition("the Vulkan driver lacks vk" #name ", wanted version 1.3");
#include "tenon/vulkan/functions.def"
  return f;
}

std::string ResultName(VkResult result) {
  switch (result) {
#define TENON_VK_RESULT(name) \
  case name:                  \
    return #name;
    TENON_VK_RESULT(VK_SUCCESS)
    TENON_VK_RESULT(VK_NOT_READY)
    TENON_VK_RESULT(VK_TIMEOUT)
    TENON_VK_RESULT(VK_INCOMPLETE)
    TENON_VK_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY)
    TENON_VK_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    TENON_VK_RESULT(VK_ERROR_INITIALIZATION_FAILED)
    TENON_VK_RESULT(VK_ERROR_DEVICE_LOST)
    TENON_VK_RESULT(VK_ERROR_MEMORY_MAP_FAILED)
    TENON_VK_RESULT(VK_ERROR_LAYER_NOT_PRESENT)
    TENON_VK_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT)
    TENON_VK_RESULT(VK_ERROR_FEATURE_NOT_PRESENT)
    TENON_VK_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER)
    TENON_VK_RESULT(VK_ERROR_TOO_MANY_OBJECTS)
    TENON_VK_RESULT(VK_ERROR_FRAGMENTATION)
    TENON_VK_RESULT(VK_ERROR_UNKNOWN)
    TENON_VK_RESULT(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
#undef TENON_VK_RESULT
    default:
      return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

Status ToStatus(VkResult result, std::string_view what) {
  if (result == VK_SUCCESS) return OkStatus();
  std::string message = fmt::format("{}: {}", what, ResultName(result));
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_FRAGMENTATION:
      return ResourceExhausted(std::move(message));
    case VK_ERROR_DEVICE_LOST:
      return Unavailable(message + " (the device is gone for this process's client; make another client)");
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return FailedPrecondition(std::move(message));
    default:
      return Internal(std::move(message));
  }
}

}  // namespace tenon::vulkan
