#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "tenon/base/primitive_type.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/transfers.h"

namespace tenon::plugin::bind {

// In bind_client.cc.
Result<CompileOptions> DecodeCompileRequest(std::string_view fn, const char* options, size_t options_size,
                                            const PJRT_Program* program, Program* decoded);

TENON_BIND(PJRT_TopologyDescription_Create) {
  TENON_REQUIRE_ARRAY(topology_name, topology_name_size);
  TENON_ASSIGN_OR_RETURN(Options options, DecodeNamedValues(args.create_options, args.num_options));
  std::string_view name(args.topology_name, args.topology_name_size);
  TENON_ASSIGN_OR_RETURN(Ref<Topology> topology, ThePlugin().CreateTopology(name, options));
  args.topology = ToC(std::move(topology));
  return OkStatus();
}

TENON_BIND(PJRT_TopologyDescription_Destroy) {
  if (args.topology != nullptr) FromC(args.topology)->Release();
  return OkStatus();
}

TENON_BIND(PJRT_TopologyDescription_PlatformVersion) {
  TENON_REQUIRE(topology);
  const std::string& version = FromC(args.topology)->info().platform_version;
  args.platform_version = version.data();
  args.platform_version_size = version.size();
  return OkStatus();
}

TENON_BIND(PJRT_TopologyDescription_PlatformName) {
  TENON_REQUIRE(topology);
  const std::string& name = FromC(args.topology)->info().platform_name;
  args.platform_name = name.data();
  args.platform_name_size = name.size();
  return OkStatus();
}

TENON_BIND(PJRT_TopologyDescription_GetDeviceDescriptions) {
  TENON_REQUIRE(topology);
  std::span<const DeviceDescription* const> descriptions = FromC(args.topology)->descriptions();
  args.descriptions =
      reinterpret_cast<PJRT_DeviceDescription* const*>(const_cast<DeviceDescription* const*>(descriptions.data()));
  args.num_descriptions = descriptions.size();
  return OkStatus();
}

TENON_BIND(PJRT_TopologyDescription_Serialize) {
  TENON_REQUIRE(topology);
  TENON_ASSIGN_OR_RETURN(std::string bytes, FromC(args.topology)->Serialize());
  args.serialized_topology =
      NewHolder<PJRT_SerializedTopology>(std::move(bytes), &args.serialized_bytes, &args.serialized_bytes_size);
  args.serialized_topology_deleter = DeleteHolder<PJRT_SerializedTopology>;
  return OkStatus();
}

TENON_BIND(PJRT_TopologyDescription_Deserialize) {
  TENON_REQUIRE(serialized_topology);
  std::string_view bytes(args.serialized_topology, args.serialized_topology_size);
  TENON_ASSIGN_OR_RETURN(Ref<Topology> topology, ThePlugin().DeserializeTopology(bytes));
  args.topology = ToC(std::move(topology));
  return OkStatus();
}

TENON_BIND(PJRT_TopologyDescription_Attributes) {
  TENON_REQUIRE(topology);
  const NamedValueArray& attributes = FromC(args.topology)->attributes();
  args.attributes = attributes.data();
  args.num_attributes = attributes.size();
  return OkStatus();
}

TENON_BIND(PJRT_TopologyDescription_Fingerprint) {
  TENON_REQUIRE(topology);
  TENON_ASSIGN_OR_RETURN(args.fingerprint, FromC(args.topology)->Fingerprint());
  return OkStatus();
}

// Every memory kind keeps arrays dense and, unless the caller says otherwise, row-major.
TENON_BIND(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace) {
  TENON_REQUIRE(topology);
  std::span<const int> kinds = FromC(args.topology)->memory_kind_ids();
  if (std::find(kinds.begin(), kinds.end(), args.memory_space_kind_id) == kinds.end()) {
    return InvalidArgument(fmt::format("{}: the topology has no memory kind {}", fn, args.memory_space_kind_id));
  }
  TENON_ASSIGN_OR_RETURN(Shape shape, MakeShape(CallerValue(args.element_type), args.dims, args.num_dims));
  TENON_ASSIGN_OR_RETURN(Dims order, DecodeLayout(args.layout, shape));
  if (order.empty()) {
    for (size_t i = shape.rank(); i > 0; --i) order.push_back(static_cast<int64_t>(i - 1));
  }
  std::string bytes;
  protozero::pbf_writer w(bytes);
  w.add_enum(2, PrimitiveTypeFromDType(shape.dtype));
  w.add_packed_int64(3, shape.dims.begin(), shape.dims.end());
  {
    protozero::pbf_writer layout(w, 5);
    layout.add_packed_int64(1, order.begin(), order.end());
  }
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) return ResourceExhausted(fmt::format("{}: out of host memory", fn));
  std::memcpy(copy, bytes.c_str(), bytes.size() + 1);
  args.serialized_shape = copy;
  args.serialized_shape_size = bytes.size();
  args.serialized_shape_deleter = [](const char* p) { std::free(const_cast<char*>(p)); };
  return OkStatus();
}

TENON_BIND(PJRT_TopologyDescription_GetMemorySpaceKindIds) {
  TENON_REQUIRE(topology);
  std::span<const int> kinds = FromC(args.topology)->memory_kind_ids();
  args.memory_space_kind_ids = kinds.data();
  args.num_memory_space_kind_ids = kinds.size();
  return OkStatus();
}

TENON_BIND(PJRT_Compile) {
  TENON_REQUIRE(topology);
  Program program;
  TENON_ASSIGN_OR_RETURN(
      CompileOptions options,
      DecodeCompileRequest(fn, args.compile_options, args.compile_options_size, args.program, &program));
  if (program.code.data() == nullptr) return NullArgument(fn, "program->code");
  Client* client = args.client == nullptr ? nullptr : FromC(args.client);
  TENON_ASSIGN_OR_RETURN(Ref<Executable> executable,
                         ThePlugin().CompileForTopology(program, options, *FromC(args.topology), client));
  const Topology::Info& made_for = FromC(args.topology)->info();
  executable->NoteOrigin(made_for.platform_name, made_for.platform_version);
  args.executable = ToC(std::move(executable));
  return OkStatus();
}

}  // namespace tenon::plugin::bind
