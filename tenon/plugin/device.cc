#include "tenon/plugin/device.h"

#include <fmt/format.h>

namespace tenon::plugin {

namespace {

DeviceDescription::Info WithDefaults(DeviceDescription::Info info) {
  if (info.to_string.empty()) info.to_string = fmt::format("{}:{}", info.kind, info.id);
  if (info.debug_string.empty()) info.debug_string = info.to_string;
  // Clients abort on attributes of any other type.
  std::erase_if(info.attributes, [](const NamedValue& v) {
    return std::holds_alternative<float>(v.value) || std::holds_alternative<bool>(v.value);
  });
  return info;
}

}  // namespace

DeviceDescription::DeviceDescription(Info info) : info_(WithDefaults(std::move(info))), attributes_(info_.attributes) {
  for (const MemoryKind& kind : info_.memory_kinds) memory_kind_pointers_.push_back(&kind);
}

Result<MemoryStats> Device::GetMemoryStats() const {
  return Unimplemented(fmt::format("device {} keeps no memory statistics", to_string()));
}

Status Device::ClearMemoryStats() {
  return Unimplemented(fmt::format("device {} keeps no memory statistics", to_string()));
}

Result<bool> Device::PoisonExecution(int32_t launch_id, const Status& error) {
  return Unimplemented(fmt::format("device {} cannot poison executions", to_string()));
}

}  // namespace tenon::plugin
