#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/vulkan/api.h"
#include "tenon/vulkan/matrix_units.h"

namespace tenon::vulkan {

/// What a driver says of one of its devices, before it is opened.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name;
  std::string driver;  ///< "llvmpipe, Mesa 22.3.6": the driver's name and what it says of its version.
  std::array<uint8_t, VK_UUID_SIZE> device_uuid{};
  std::array<uint8_t, VK_UUID_SIZE> driver_uuid{};
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint32_t vendor_id = 0;
  uint32_t api_version = 0;

  uint32_t subgroup_size = 0, least_subgroup = 0, most_subgroup = 0;
  uint32_t subgroup_operations = 0;  ///< VkSubgroupFeatureFlags in compute shaders.
  VkPhysicalDeviceLimits limits{};
  uint64_t max_allocation_bytes = 0;

  // What shaders may use.
  bool int8 = false, int16 = false, int64 = false, float16 = false, float64 = false;
  bool storage8 = false, storage16 = false;
  bool atomics64 = false;
  bool memory_model = false;  ///< Vulkan's own, without which there are no matrix products.
  std::vector<MatrixProduct> matrix_products;
  /// Widths of floats, added up, for which shaders may ask for IEEE's ways.
  int64_t keeps_subnormals = 0, keeps_nan_and_zeros = 0, rounds_to_even = 0;

  VkPhysicalDeviceMemoryProperties memory{};
  uint32_t queue_family = 0;
  uint32_t queue_count = 1;      ///< Of that family.
  uint32_t transfer_family = 0;  ///< One that does nothing but copy; the same where there is none.
  uint32_t timestamp_bits = 0;

  /// Why the device cannot be used; empty: it can.
  std::string unfit;

  /// "cpu", "integrated", "discrete", "virtual" or "other".
  std::string_view type_name() const;
  /// Whether the host's memory is the device's own.
  bool shares_host_memory() const {
    return type == VK_PHYSICAL_DEVICE_TYPE_CPU || type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  }
};

/// The connection to the machine's drivers. Immutable, thread-safe.
class Instance {
 public:
  /// NOT_FOUND without a loader, FAILED_PRECONDITION without a driver of Vulkan 1.3. With TENON_VULKAN_VALIDATE=1 in
  /// the environment Khronos' validation layer looks on; its messages are logged as errors and counted.
  static Result<std::shared_ptr<const Instance>> Create();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const InstanceFunctions& functions() const { return functions_; }
  /// In the drivers' order, unfit ones included.
  const std::vector<PhysicalDevice>& devices() const { return devices_; }

  /// Tells debuggers of drivers, where one may look on, what to call an object of a device; nothing otherwise.
  void Name(VkDevice device, VkObjectType type, uint64_t object, const std::string& name) const;

  /// Messages of the validation layer since the process started.
  static int64_t ValidationMessages();

 private:
  Instance() = default;

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger_ = nullptr;
  PFN_vkSetDebugUtilsObjectNameEXT set_name_ = nullptr;  ///< Null: nobody could look on.
  InstanceFunctions functions_;
  std::vector<PhysicalDevice> devices_;
};

}  // namespace tenon::vulkan
