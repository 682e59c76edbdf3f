#pragma once

#include <memory>
#include <vector>

#include "tenon/plugin/plugin.h"
#include "tenon/wire/messages.h"

namespace tenon::proxy {

// Records of the wire as values of the SDK, checked: DATA_LOSS for what cannot be.

Result<plugin::ArraySpec> ToSpec(const wire::Array& array);
Result<plugin::ExecutableInfo> ToInfo(const wire::Executable& record);
Result<plugin::DeviceAssignment> ToAssignment(const wire::Executable& record);
std::vector<plugin::NamedValue> ToValues(const std::vector<wire::Attribute>& attributes);
std::vector<wire::Attribute> ToAttributes(const plugin::Options& options);
Result<std::shared_ptr<const plugin::DeviceDescription>> ToDescription(const wire::DeviceText& text);
Result<plugin::Topology::Info> ToTopologyInfo(const wire::Topology& record);

}  // namespace tenon::proxy
