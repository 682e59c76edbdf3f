#include "tenon/vulkan/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "tenon/base/log.h"

namespace tenon::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

std::atomic<int64_t> validation_messages{0};

VkBool32 VKAPI_PTR OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                             const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  validation_messages.fetch_add(1, std::memory_order_relaxed);
  Log(LogLevel::kError, fmt::format("Vulkan validation: {}", data->pMessage != nullptr ? data->pMessage : ""));
  return VK_FALSE;
}

bool WantsValidation() {
  const char* text = std::getenv("TENON_VULKAN_VALIDATE");
  return text != nullptr && std::strcmp(text, "1") == 0;
}

Status CheckValidationLayer(const GlobalFunctions& global) {
  uint32_t count = 0;
  TENON_VK_RETURN_IF_ERROR(global.EnumerateInstanceLayerProperties(&count, nullptr), "asking for Vulkan's layers");
  std::vector<VkLayerProperties> layers(count);
  TENON_VK_RETURN_IF_ERROR(global.EnumerateInstanceLayerProperties(&count, layers.data()),
                           "asking for Vulkan's layers");
  for (const VkLayerProperties& layer : layers) {
    if (std::strcmp(layer.layerName, kValidationLayer) == 0) return OkStatus();
  }
  return FailedPrecondition(
      fmt::format("TENON_VULKAN_VALIDATE wants the layer {}, which is not installed (on Debian: "
                  "vulkan-validationlayers)",
                  kValidationLayer));
}

/// Whether the loader, a layer of it or a driver takes names for debuggers.
bool HasDebugUtils(const GlobalFunctions& global) {
  uint32_t count = 0;
  if (global.EnumerateInstanceExtensionProperties(nullptr, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (global.EnumerateInstanceExtensionProperties(nullptr, &count, extensions.data()) != VK_SUCCESS) return false;
  return std::ranges::any_of(extensions, [](const VkExtensionProperties& e) {
    return std::strcmp(e.extensionName, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) == 0;
  });
}

std::string VersionText(uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

/// The family with a compute queue that does least besides: one without graphics, where there is one. And one for
/// transfers.
bool FindQueueFamily(const InstanceFunctions& f, PhysicalDevice& device) {
  uint32_t count = 0;
  f.GetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  f.GetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
  bool found = false;
  for (const bool with_graphics : {false, true}) {
    for (uint32_t i = 0; i < count && !found; ++i) {
      const VkQueueFlags flags = families[i].queueFlags;
      if ((flags & VK_QUEUE_COMPUTE_BIT) == 0 || ((flags & VK_QUEUE_GRAPHICS_BIT) != 0) != with_graphics) continue;
      device.queue_family = device.transfer_family = i;
      device.queue_count = families[i].queueCount;
      device.timestamp_bits = families[i].timestampValidBits;
      found = true;
    }
  }
  // Video engines have queues that copy, too; only those that do nothing else are meant for it.
  constexpr VkQueueFlags kBeside = VK_QUEUE_SPARSE_BINDING_BIT | VK_QUEUE_PROTECTED_BIT;
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & ~kBeside) == VK_QUEUE_TRANSFER_BIT) {
      device.transfer_family = i;
      break;
    }
  }
  return found;
}

/// The widths that shaders may name, of those that are offered: some drivers want all of them treated alike, or those
/// beside 32.
int64_t Widths(bool f16, bool f32, bool f64, VkShaderFloatControlsIndependence independence) {
  if (independence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL && f16 != f64) f16 = f64 = false;
  if (independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE && f16 != f32) f16 = f32 = f64 = false;
  return (f16 ? 16 : 0) + (f32 ? 32 : 0) + (f64 ? 64 : 0);
}

PhysicalDevice Describe(const InstanceFunctions& f, VkPhysicalDevice handle) {
  PhysicalDevice d;
  d.handle = handle;
  VkPhysicalDeviceProperties plain;
  f.GetPhysicalDeviceProperties(handle, &plain);
  d.name = plain.deviceName;
  d.type = plain.deviceType;
  d.vendor_id = plain.vendorID;
  d.api_version = plain.apiVersion;
  d.limits = plain.limits;
  if (plain.apiVersion < VK_API_VERSION_1_3) {
    d.unfit = fmt::format("its driver is of Vulkan {}, wanted 1.3", VersionText(plain.apiVersion));
    return d;
  }
  auto p11 = Typed<VkPhysicalDeviceVulkan11Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
  auto p12 = Typed<VkPhysicalDeviceVulkan12Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
  auto p = Typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  auto p13 = Typed<VkPhysicalDeviceVulkan13Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES);
  p.pNext = &p11;
  p11.pNext = &p12;
  p12.pNext = &p13;
  f.GetPhysicalDeviceProperties2(handle, &p);
  d.driver = fmt::format("{}, {}", p12.driverName, p12.driverInfo);
  std::memcpy(d.device_uuid.data(), p11.deviceUUID, VK_UUID_SIZE);
  std::memcpy(d.driver_uuid.data(), p11.driverUUID, VK_UUID_SIZE);
  d.subgroup_size = p11.subgroupSize;
  d.least_subgroup = p13.minSubgroupSize;
  d.most_subgroup = p13.maxSubgroupSize;
  if ((p11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0)
    d.subgroup_operations = p11.subgroupSupportedOperations;
  d.max_allocation_bytes = p11.maxMemoryAllocationSize;
  d.keeps_subnormals = Widths(p12.shaderDenormPreserveFloat16 == VK_TRUE, p12.shaderDenormPreserveFloat32 == VK_TRUE,
                              p12.shaderDenormPreserveFloat64 == VK_TRUE, p12.denormBehaviorIndependence);
  d.rounds_to_even = Widths(p12.shaderRoundingModeRTEFloat16 == VK_TRUE, p12.shaderRoundingModeRTEFloat32 == VK_TRUE,
                            p12.shaderRoundingModeRTEFloat64 == VK_TRUE, p12.roundingModeIndependence);
  d.keeps_nan_and_zeros =
      Widths(p12.shaderSignedZeroInfNanPreserveFloat16 == VK_TRUE, p12.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE,
             p12.shaderSignedZeroInfNanPreserveFloat64 == VK_TRUE, VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL);

  auto f11 = Typed<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  auto f12 = Typed<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto features = Typed<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = &f11;
  f11.pNext = &f12;
  f.GetPhysicalDeviceFeatures2(handle, &features);
  d.int16 = features.features.shaderInt16 == VK_TRUE;
  d.int64 = features.features.shaderInt64 == VK_TRUE;
  d.float64 = features.features.shaderFloat64 == VK_TRUE;
  d.int8 = f12.shaderInt8 == VK_TRUE;
  d.atomics64 = f12.shaderBufferInt64Atomics == VK_TRUE;
  d.float16 = f12.shaderFloat16 == VK_TRUE;
  d.memory_model = f12.vulkanMemoryModel == VK_TRUE;
  d.storage8 = f12.storageBuffer8BitAccess == VK_TRUE;
  d.storage16 = f11.storageBuffer16BitAccess == VK_TRUE;
  f.GetPhysicalDeviceMemoryProperties(handle, &d.memory);
  if (f12.bufferDeviceAddress != VK_TRUE) {
    d.unfit = "its driver has no buffer device addresses";
  } else if (f12.timelineSemaphore != VK_TRUE) {
    d.unfit = "its driver has no timeline semaphores";
  } else if (!FindQueueFamily(f, d)) {
    d.unfit = "it has no queue that computes";
  }
  return d;
}

}  // namespace

std::string_view PhysicalDevice::type_name() const {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    default:
      return "other";
  }
}

Result<std::shared_ptr<const Instance>> Instance::Create() {
  TENON_ASSIGN_OR_RETURN(const GlobalFunctions* global, OpenLoader());
  uint32_t version = 0;
  TENON_VK_RETURN_IF_ERROR(global->EnumerateInstanceVersion(&version), "asking for Vulkan's version");
  if (version < VK_API_VERSION_1_3)
    return FailedPrecondition(fmt::format("the Vulkan loader is of version {}, wanted 1.3", VersionText(version)));

  auto app = Typed<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  app.pApplicationName = "tenon";
  app.pEngineName = "tenon";
  app.apiVersion = VK_API_VERSION_1_3;
  auto info = Typed<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &app;
  auto messenger = Typed<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = &OnMessage;
  const VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  auto features = Typed<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = enabled;
  features.pNext = &messenger;
  const char* debug_utils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const bool has_debug_utils = WantsValidation() || HasDebugUtils(*global);
  if (has_debug_utils) {
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &debug_utils;
  }
  if (WantsValidation()) {
    TENON_RETURN_IF_ERROR(CheckValidationLayer(*global));
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.pNext = &features;
  }

  std::shared_ptr<Instance> instance(new Instance);
  if (const VkResult made = global->CreateInstance(&info, nullptr, &instance->instance_); made != VK_SUCCESS) {
    instance->instance_ = VK_NULL_HANDLE;
    return ToStatus(made, "making a Vulkan instance (is a driver installed? On Debian: mesa-vulkan-drivers)");
  }
  TENON_ASSIGN_OR_RETURN(instance->functions_, LoadInstance(*global, instance->instance_));
  if (has_debug_utils) {
    instance->set_name_ = reinterpret_cast<PFN_vkSetDebugUtilsObjectNameEXT>(
        global->GetInstanceProcAddr(instance->instance_, "vkSetDebugUtilsObjectNameEXT"));
  }
  if (WantsValidation()) {
    const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        global->GetInstanceProcAddr(instance->instance_, "vkCreateDebugUtilsMessengerEXT"));
    instance->destroy_messenger_ = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        global->GetInstanceProcAddr(instance->instance_, "vkDestroyDebugUtilsMessengerEXT"));
    if (create != nullptr) {
      TENON_VK_RETURN_IF_ERROR(create(instance->instance_, &messenger, nullptr, &instance->messenger_),
                               "listening to the validation layer");
    }
  }
  const InstanceFunctions& f = instance->functions_;
  uint32_t count = 0;
  TENON_VK_RETURN_IF_ERROR(f.EnumeratePhysicalDevices(instance->instance_, &count, nullptr),
                           "asking for Vulkan's devices");
  std::vector<VkPhysicalDevice> handles(count);
  TENON_VK_RETURN_IF_ERROR(f.EnumeratePhysicalDevices(instance->instance_, &count, handles.data()),
                           "asking for Vulkan's devices");
  for (VkPhysicalDevice handle : handles) {
    PhysicalDevice& d = instance->devices_.emplace_back(Describe(f, handle));
    if (d.unfit.empty() && d.memory_model) {
      d.matrix_products =
          MatrixProductsOf(f, global->GetInstanceProcAddr, instance->instance_, handle, d.float16, d.int8);
    }
  }
  return std::shared_ptr<const Instance>(std::move(instance));
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE && destroy_messenger_ != nullptr) destroy_messenger_(instance_, messenger_, nullptr);
  if (instance_ != VK_NULL_HANDLE && functions_.DestroyInstance != nullptr)
    functions_.DestroyInstance(instance_, nullptr);
}

void Instance::Name(VkDevice device, VkObjectType type, uint64_t object, const std::string& name) const {
  if (set_name_ == nullptr || name.empty()) return;
  auto info = Typed<VkDebugUtilsObjectNameInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT);
  info.objectType = type;
  info.objectHandle = object;
  info.pObjectName = name.c_str();
  // A name that is not kept harms nobody.
  static_cast<void>(set_name_(device, &info));
}

int64_t Instance::ValidationMessages() { return validation_messages.load(std::memory_order_relaxed); }

}  // namespace tenon::vulkan
