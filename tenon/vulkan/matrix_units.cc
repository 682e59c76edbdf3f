#include "tenon/vulkan/matrix_units.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace tenon::vulkan {
namespace {

struct Properties {
  VkStructureType type = static_cast<VkStructureType>(1000506001);
  void* next = nullptr;
  uint32_t m = 0, n = 0, k = 0;
  int32_t a = 0, b = 0, c = 0, result = 0;  ///< Component types.
  VkBool32 saturates = VK_FALSE;
  int32_t scope = 0;
};
using GetProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, Properties*);
constexpr int32_t kOfSubgroup = 3;

bool HasExtension(const InstanceFunctions& f, VkPhysicalDevice device) {
  uint32_t count = 0;
  if (f.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (f.EnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data()) != VK_SUCCESS) return false;
  return std::ranges::any_of(
      extensions, [](const VkExtensionProperties& e) { return std::strcmp(e.extensionName, kMatrixExtension) == 0; });
}

DType TypeOf(int32_t component, bool float16, bool int8) {
  switch (component) {
    case 0:
      return float16 ? DType::kF16 : DType::kInvalid;
    case 1:
      return DType::kF32;
    case 3:
      return int8 ? DType::kS8 : DType::kInvalid;
    case 5:
      return DType::kS32;
    case 7:
      return int8 ? DType::kU8 : DType::kInvalid;
    case 9:
      return DType::kU32;
    default:
      return DType::kInvalid;
  }
}

}  // namespace

std::vector<MatrixProduct> MatrixProductsOf(const InstanceFunctions& functions, PFN_vkGetInstanceProcAddr get,
                                            VkInstance instance, VkPhysicalDevice device, bool float16, bool int8) {
  if (!HasExtension(functions, device)) return {};
  MatrixFeatures has;
  auto features = Typed<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = &has;
  functions.GetPhysicalDeviceFeatures2(device, &features);
  const auto list = reinterpret_cast<GetProperties>(get(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (has.products != VK_TRUE || list == nullptr || list(device, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<Properties> all(count);
  if (list(device, &count, all.data()) != VK_SUCCESS) return {};
  all.resize(count);
  std::vector<MatrixProduct> products;
  for (const Properties& p : all) {
    const MatrixProduct made = {p.m, p.n, p.k, TypeOf(p.a, float16, int8), TypeOf(p.result, float16, int8)};
    const bool plain = p.scope == kOfSubgroup && p.saturates == VK_FALSE && p.a == p.b && p.c == p.result;
    const bool summed = (made.in == DType::kF16 && made.out == DType::kF32) ||
                        (made.in == DType::kS8 && made.out == DType::kS32) ||
                        (made.in == DType::kU8 && made.out == DType::kU32);
    if (plain && summed) products.push_back(made);
  }
  std::ranges::stable_sort(products, std::greater<>(), [](const MatrixProduct& p) { return p.m * p.n * p.k; });
  return products;
}

}  // namespace tenon::vulkan
