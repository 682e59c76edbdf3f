#include "tenon/proxy/convert.h"

#include <fmt/format.h>

namespace tenon::proxy {

namespace {

Result<std::vector<plugin::ValueSpec>> ToSpecs(const std::vector<wire::Parameter>& list) {
  std::vector<plugin::ValueSpec> specs;
  for (const wire::Parameter& p : list) {
    plugin::ValueSpec spec;
    TENON_ASSIGN_OR_RETURN(spec.array, ToSpec(p.array));
    if (!p.memory_kind.empty()) spec.memory_kind = p.memory_kind;
    spec.donated = p.donated;
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace

Result<plugin::ArraySpec> ToSpec(const wire::Array& array) {
  if (array.dtype == 0 || array.dtype >= kNumDTypes)
    return DataLoss(fmt::format("an array with element type {}", array.dtype));
  plugin::ArraySpec spec;
  spec.shape.dtype = static_cast<DType>(array.dtype);
  spec.shape.dims = Dims(array.dims.begin(), array.dims.end());
  spec.minor_to_major = Dims(array.minor_to_major.begin(), array.minor_to_major.end());
  if (const Result<int64_t> size = CheckedSizeBytes(spec.shape); !size.ok())
    return DataLoss(std::string(size.status().message()));
  if (const Status s = plugin::NormalizeLayout(spec); !s.ok()) return DataLoss(std::string(s.message()));
  return spec;
}

Result<plugin::ExecutableInfo> ToInfo(const wire::Executable& record) {
  plugin::ExecutableInfo info;
  info.name = record.name;
  info.num_replicas = record.replicas;
  info.num_partitions = record.partitions;
  TENON_ASSIGN_OR_RETURN(info.parameters, ToSpecs(record.parameters));
  TENON_ASSIGN_OR_RETURN(info.outputs, ToSpecs(record.outputs));
  info.fingerprint = record.fingerprint;
  info.parameter_shardings = record.parameter_shardings;
  info.output_shardings = record.output_shardings;
  if (!info.parameter_shardings.empty() && info.parameter_shardings.size() != info.parameters.size())
    return DataLoss("another number of parameter shardings than of parameters");
  if (!info.output_shardings.empty() && info.output_shardings.size() != info.outputs.size())
    return DataLoss("another number of output shardings than of outputs");
  for (plugin::NamedValue& value : ToValues(record.cost)) {
    if (std::holds_alternative<float>(value.value)) info.cost.push_back(std::move(value));
  }
  info.code_size_bytes = record.code_size;
  if (record.memory.size() == 7) {
    const std::vector<int64_t>& m = record.memory;
    info.memory_stats = plugin::CompiledMemoryStats{m[0], m[1], m[2], m[3], m[4], m[5], m[6]};
  }
  info.compile_options = record.compile_options;
  // What is known of the program does not say so: the plugin behind refuses callbacks that it has no channel for.
  info.host_transfers = true;
  return info;
}

Result<plugin::DeviceAssignment> ToAssignment(const wire::Executable& record) {
  plugin::DeviceAssignment assignment{
      record.assigned_replicas, record.assigned_partitions, {record.assignment.begin(), record.assignment.end()}};
  if (assignment.empty()) return plugin::DeviceAssignment{};
  if (assignment.num_replicas < 1 || assignment.num_partitions < 1 ||
      static_cast<int64_t>(assignment.num_replicas) * assignment.num_partitions !=
          static_cast<int64_t>(assignment.ids.size()))
    return DataLoss("a device assignment whose size is not replicas by partitions");
  return assignment;
}

std::vector<plugin::NamedValue> ToValues(const std::vector<wire::Attribute>& attributes) {
  std::vector<plugin::NamedValue> values;
  for (const wire::Attribute& a : attributes) values.push_back({a.name, a.value});
  return values;
}

std::vector<wire::Attribute> ToAttributes(const plugin::Options& options) {
  std::vector<wire::Attribute> attributes;
  for (const auto& [name, value] : options) attributes.push_back({name, value});
  return attributes;
}

Result<std::shared_ptr<const plugin::DeviceDescription>> ToDescription(const wire::DeviceText& text) {
  plugin::DeviceDescription::Info info;
  info.id = text.id;
  info.process_index = text.process_index;
  info.kind = text.kind;
  info.to_string = text.to_string;
  info.debug_string = text.debug_string;
  info.attributes = ToValues(text.attributes);
  for (const wire::MemoryKind& kind : text.memory_kinds) info.memory_kinds.push_back({kind.name, kind.id});
  info.default_memory_kind = text.default_memory_kind;
  if (info.default_memory_kind >= static_cast<int>(info.memory_kinds.size()))
    return DataLoss("a device whose default memory kind it does not have");
  return std::make_shared<const plugin::DeviceDescription>(std::move(info));
}

Result<plugin::Topology::Info> ToTopologyInfo(const wire::Topology& record) {
  plugin::Topology::Info info{.platform_name = record.platform_name, .platform_version = record.platform_version};
  for (const wire::DeviceText& device : record.devices) {
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<const plugin::DeviceDescription> description, ToDescription(device));
    info.devices.push_back(std::move(description));
  }
  info.attributes = ToValues(record.attributes);
  return info;
}

}  // namespace tenon::proxy
