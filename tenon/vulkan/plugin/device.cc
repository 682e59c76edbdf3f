#include "tenon/vulkan/plugin/device.h"

#include <fmt/format.h>

#include <utility>

#include "tenon/vulkan/plugin/client.h"

namespace tenon::vulkan {

std::shared_ptr<const plugin::DeviceDescription> DescribeDevice(int id, const PhysicalDevice& device) {
  plugin::DeviceDescription::Info info;
  info.id = id;
  info.kind = device.name;
  info.to_string = fmt::format("VulkanDevice(id={})", id);
  info.debug_string = fmt::format("TENON_VULKAN_{} ({}; {})", id, device.name, device.driver);
  std::string uuid;
  for (const uint8_t byte : device.device_uuid) uuid += fmt::format("{:02x}", byte);
  info.attributes = {
      {"driver", device.driver},
      {"type", std::string(device.type_name())},
      {"uuid", uuid},
      {"vulkan_version",
       fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(device.api_version), VK_API_VERSION_MINOR(device.api_version),
                   VK_API_VERSION_PATCH(device.api_version))},
      {"subgroup_size", static_cast<int64_t>(device.subgroup_size)},
      {"shared_memory_bytes", static_cast<int64_t>(device.limits.maxComputeSharedMemorySize)},
      {"has_f64", static_cast<int64_t>(device.float64)},
  };
  info.memory_kinds = {plugin::MakeMemoryKind(plugin::kDeviceMemoryKind),
                       plugin::MakeMemoryKind(plugin::kPinnedHostMemoryKind)};
  info.default_memory_kind = 0;
  return std::make_shared<const plugin::DeviceDescription>(std::move(info));
}

Result<plugin::MemoryStats> VulkanDevice::GetMemoryStats() const {
  const vulkan::Memory::Statistics s = device_->memory().statistics();
  plugin::MemoryStats stats;
  stats.bytes_in_use = s.bytes_in_use;
  stats.peak_bytes_in_use = s.peak_bytes_in_use;
  stats.num_allocs = s.num_allocs;
  stats.largest_alloc_size = s.largest_alloc_bytes;
  stats.bytes_limit = s.limit_bytes;
  stats.pool_bytes = s.bytes_reserved;
  return stats;
}

Status VulkanDevice::ClearMemoryStats() {
  device_->memory().ResetPeak();
  return OkStatus();
}

Result<bool> VulkanDevice::PoisonExecution(int32_t launch_id, const Status& error) {
  return static_cast<VulkanClient*>(client())->in_flight().Poison(*this, launch_id, error);
}

Result<plugin::Ref<plugin::Storage>> VulkanMemory::Allocate(plugin::Device*, size_t size_bytes) {
  const bool pinned = kind().name == plugin::kPinnedHostMemoryKind;
  if (size_bytes > static_cast<size_t>(INT64_MAX))
    return ResourceExhausted(fmt::format("{}: {} bytes wanted", to_string(), size_bytes));
  Result<Block> block =
      (pinned ? device_->host_memory() : device_->memory()).Allocate(static_cast<int64_t>(size_bytes));
  if (!block.ok()) return std::move(block).status().WithContext(to_string());
  return plugin::Ref<plugin::Storage>(plugin::MakeRef<VulkanStorage>(*std::move(block), size_bytes, device_));
}

plugin::EventRef VulkanMemory::Write(plugin::Storage& dst, size_t offset, const void* src, size_t size_bytes) {
  return plugin::EventRef::Of(device_->Upload(static_cast<VulkanStorage&>(dst).block(), static_cast<int64_t>(offset),
                                              src, static_cast<int64_t>(size_bytes)));
}

plugin::EventRef VulkanMemory::Read(const plugin::Storage& src, size_t offset, void* dst, size_t size_bytes) {
  return plugin::EventRef::Of(device_->Download(static_cast<const VulkanStorage&>(src).block(),
                                                static_cast<int64_t>(offset), dst, static_cast<int64_t>(size_bytes)));
}

}  // namespace tenon::vulkan
