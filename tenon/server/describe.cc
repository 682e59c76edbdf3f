#include "tenon/server/describe.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "tenon/abi/tenon_signature.h"
#include "tenon/base/dtype.h"
#include "tenon/server/hlo_signature.h"

namespace tenon::server {

namespace {

template <class T>
T ValueOr(Result<T> result, T otherwise) {
  return result.ok() ? std::move(result).value() : std::move(otherwise);
}

// Row-major layouts are empty lists. UNIMPLEMENTED for tiles.
Status SetLayout(wire::Array& array, const std::string& text) {
  TENON_ASSIGN_OR_RETURN(const client::TiledLayout layout, client::TiledLayout::Parse(text));
  if (!layout.tiles.empty()) return Unimplemented(fmt::format("the layout {} has tiles", text));
  const size_t rank = array.dims.size();
  if (layout.minor_to_major.size() != rank) return OkStatus();
  if (layout == client::TiledLayout::RowMajor(rank)) return OkStatus();
  array.minor_to_major = wire::Numbers(layout.minor_to_major.begin(), layout.minor_to_major.end());
  return OkStatus();
}

wire::Array ToArray(const Shape& shape) {
  return {static_cast<uint8_t>(shape.dtype), wire::Numbers(shape.dims.begin(), shape.dims.end()), {}};
}

Status AddParameters(const client::Executable& executable, wire::Executable& record) {
  const client::Api& api = executable.api();
  const auto* extension = reinterpret_cast<const Tenon_Signature_Extension*>(
      api.FindExtension(TENON_EXTENSION_TYPE_SIGNATURE, Tenon_Signature_Extension_STRUCT_SIZE));
  if (extension == nullptr) {
    // What the compiled program says of itself, where it can be read.
    Result<client::Program> text = executable.OptimizedProgram();
    Result<HloSignature> signature = text.ok() ? SignatureOfHlo(text->format, text->code) : text.status();
    if (!signature.ok()) {
      return Unimplemented(
          fmt::format("{} does not say what its programs take: {}", api.name(), signature.status().message()));
    }
    record.parameters = std::move(signature->parameters);
    // Without the extension clients would read them there, too.
    if (record.parameter_shardings.empty()) record.parameter_shardings = std::move(signature->parameter_shardings);
    if (record.output_shardings.empty()) record.output_shardings = std::move(signature->output_shardings);
    const std::vector<std::string> kinds = ValueOr(executable.ParameterMemoryKinds(), {});
    for (size_t i = 0; i < record.parameters.size() && i < kinds.size(); ++i)
      record.parameters[i].memory_kind = kinds[i];
    return OkStatus();
  }
  Tenon_Executable_Parameters_Args args{};
  args.struct_size = Tenon_Executable_Parameters_Args_STRUCT_SIZE;
  args.executable = executable.get();
  TENON_RETURN_IF_ERROR(api.TakeError(extension->Tenon_Executable_Parameters(&args), "Tenon_Executable_Parameters"));
  const std::vector<std::string> kinds = ValueOr(executable.ParameterMemoryKinds(), {});
  for (size_t i = 0; i < args.num_parameters; ++i) {
    const Tenon_Parameter& p = args.parameters[i];
    wire::Parameter parameter;
    parameter.array.dtype = static_cast<uint8_t>(p.type);
    parameter.array.dims = wire::Numbers(p.dims, p.dims + p.rank);
    if (p.minor_to_major != nullptr)
      parameter.array.minor_to_major = wire::Numbers(p.minor_to_major, p.minor_to_major + p.rank);
    parameter.donated = p.donated;
    if (i < kinds.size()) parameter.memory_kind = kinds[i];
    record.parameters.push_back(std::move(parameter));
  }
  return OkStatus();
}

Result<wire::DeviceText> DescribeDevice(const client::DeviceDescription& device) {
  wire::DeviceText text;
  TENON_ASSIGN_OR_RETURN(text.id, device.id());
  TENON_ASSIGN_OR_RETURN(text.process_index, device.process_index());
  TENON_ASSIGN_OR_RETURN(text.kind, device.kind());
  TENON_ASSIGN_OR_RETURN(text.to_string, device.ToString());
  TENON_ASSIGN_OR_RETURN(text.debug_string, device.DebugString());
  text.attributes = Describe(ValueOr(device.Attributes(), {}));
  text.default_memory_kind = -1;
  for (const client::DeviceDescription::MemoryKind& kind : ValueOr(device.MemoryKinds(), {})) {
    if (kind.is_default) text.default_memory_kind = static_cast<int32_t>(text.memory_kinds.size());
    text.memory_kinds.push_back({kind.kind, kind.kind_id});
  }
  return text;
}

}  // namespace

std::vector<wire::Attribute> Describe(const std::vector<client::NamedValue>& values) {
  std::vector<wire::Attribute> attributes;
  for (const client::NamedValue& v : values) attributes.push_back({v.name, v.value});
  return attributes;
}

client::Options ToOptions(const std::vector<wire::Attribute>& attributes) {
  client::Options options;
  for (const wire::Attribute& a : attributes)
    std::visit([&](const auto& value) { options.Set(a.name, value); }, a.value);
  return options;
}

Result<wire::Topology> Describe(const client::Topology& topology) {
  wire::Topology record;
  TENON_ASSIGN_OR_RETURN(record.platform_name, topology.PlatformName());
  TENON_ASSIGN_OR_RETURN(record.platform_version, topology.PlatformVersion());
  TENON_ASSIGN_OR_RETURN(const std::vector<client::DeviceDescription> devices, topology.Devices());
  for (const client::DeviceDescription& device : devices) {
    TENON_ASSIGN_OR_RETURN(wire::DeviceText text, DescribeDevice(device));
    record.devices.push_back(std::move(text));
  }
  record.attributes = Describe(ValueOr(topology.Attributes(), {}));
  Result<std::string> bytes = topology.Serialize();
  record.serialize_error = wire::FromStatus(bytes.status());
  if (bytes.ok()) record.serialized = std::move(*bytes);
  const Result<uint64_t> fingerprint = topology.Fingerprint();
  record.has_fingerprint = fingerprint.ok();
  if (fingerprint.ok()) record.fingerprint = *fingerprint;
  return record;
}

Result<wire::ClientText> Describe(const client::Client& client) {
  wire::ClientText record;
  TENON_ASSIGN_OR_RETURN(record.platform_name, client.PlatformName());
  TENON_ASSIGN_OR_RETURN(record.platform_version, client.PlatformVersion());
  TENON_ASSIGN_OR_RETURN(record.process_index, client.ProcessIndex());
  TENON_ASSIGN_OR_RETURN(const std::vector<client::Device> devices, client.Devices());
  std::vector<std::pair<client::Memory, int32_t>> defaults;
  for (const client::Device& device : devices) {
    wire::Device one;
    TENON_ASSIGN_OR_RETURN(const client::DeviceDescription description, device.Description());
    TENON_ASSIGN_OR_RETURN(one.text, DescribeDevice(description));
    TENON_ASSIGN_OR_RETURN(one.addressable, device.IsAddressable());
    one.local_hardware_id = ValueOr(device.LocalHardwareId(), -1);
    if (one.addressable) {
      if (Result<client::Memory> memory = device.DefaultMemory(); memory.ok())
        defaults.emplace_back(std::move(*memory), one.text.id);
    }
    record.devices.push_back(std::move(one));
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<client::Memory> memories, client.AddressableMemories());
  for (const client::Memory& memory : memories) {
    wire::Memory one;
    TENON_ASSIGN_OR_RETURN(one.id, memory.id());
    TENON_ASSIGN_OR_RETURN(one.kind.name, memory.kind());
    TENON_ASSIGN_OR_RETURN(one.kind.id, memory.kind_id());
    TENON_ASSIGN_OR_RETURN(const std::vector<client::Device> reach, memory.AddressableByDevices());
    for (const client::Device& device : reach) {
      TENON_ASSIGN_OR_RETURN(const int id, device.id());
      one.devices.push_back(id);
    }
    for (const auto& [default_memory, id] : defaults) {
      if (default_memory == memory) one.default_of.push_back(id);
    }
    record.memories.push_back(std::move(one));
  }
  if (Result<client::Topology> topology = client.GetTopology(); topology.ok()) {
    TENON_ASSIGN_OR_RETURN(record.topology, Describe(*topology));
  }
  return record;
}

Result<wire::Executable> Describe(const client::Executable& executable) {
  wire::Executable record;
  TENON_ASSIGN_OR_RETURN(record.name, executable.Name());
  record.replicas = static_cast<int32_t>(ValueOr<size_t>(executable.NumReplicas(), 1));
  record.partitions = static_cast<int32_t>(ValueOr<size_t>(executable.NumPartitions(), 1));
  record.parameter_shardings = ValueOr(executable.ParameterShardings(), {});
  record.output_shardings = ValueOr(executable.OutputShardings(), {});
  TENON_RETURN_IF_ERROR(AddParameters(executable, record));
  TENON_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, executable.OutputShapes());
  const std::vector<std::string> kinds = ValueOr(executable.OutputMemoryKinds(), {});
  const std::vector<std::string> layouts = ValueOr(executable.OutputLayouts(), {});
  for (size_t i = 0; i < shapes.size(); ++i) {
    wire::Parameter output;
    output.array = ToArray(shapes[i]);
    if (i < kinds.size()) output.memory_kind = kinds[i];
    if (i < layouts.size()) TENON_RETURN_IF_ERROR(SetLayout(output.array, layouts[i]));
    record.outputs.push_back(std::move(output));
  }
  record.fingerprint = ValueOr(executable.Fingerprint(), std::string());
  record.cost = Describe(ValueOr(executable.CostAnalysis(), {}));
  record.code_size = ValueOr<int64_t>(executable.SizeOfGeneratedCodeInBytes(), -1);
  if (const Result<client::CompiledMemoryStats> stats = executable.MemoryStats(); stats.ok()) {
    record.memory = {stats->generated_code, stats->arguments, stats->outputs, stats->aliased,
                     stats->temporaries,    stats->peak,      stats->total};
  }
  record.compile_options = ValueOr(executable.SerializedCompileOptions(), std::string());
  return record;
}

Result<wire::Executable> Describe(const client::LoadedExecutable& loaded) {
  TENON_ASSIGN_OR_RETURN(wire::Executable record, Describe(loaded.executable()));
  TENON_ASSIGN_OR_RETURN(const client::DeviceAssignment assignment, loaded.GetDeviceAssignment());
  record.assigned_replicas = assignment.num_replicas;
  record.assigned_partitions = assignment.num_partitions;
  record.assignment.assign(assignment.ids.begin(), assignment.ids.end());
  return record;
}

std::vector<int64_t> Describe(const client::MemoryStats& stats) {
  std::vector<int64_t> numbers = {stats.bytes_in_use};
  for (const std::optional<int64_t>& figure :
       {stats.peak_bytes_in_use, stats.num_allocs, stats.largest_alloc_size, stats.bytes_limit, stats.bytes_reserved,
        stats.peak_bytes_reserved, stats.bytes_reservable_limit, stats.largest_free_block_bytes, stats.pool_bytes,
        stats.peak_pool_bytes, stats.peak_allocated_bytes}) {
    numbers.push_back(figure.has_value() ? 1 : 0);
    numbers.push_back(figure.value_or(0));
  }
  return numbers;
}

}  // namespace tenon::server
