#include "tenon/client/topology.h"

#include "tenon/client/client.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/program_argument.h"

namespace tenon::client {

using internal::Text;

Topology::Topology(const Api* api, PJRT_TopologyDescription* topology, bool owned, std::shared_ptr<const void> owner)
    : api_(api) {
  internal::Count(internal::Kind::kTopology, 1);
  topology_ = std::shared_ptr<PJRT_TopologyDescription*>(
      new PJRT_TopologyDescription*(topology),
      [api, owned, owner = std::move(owner)](PJRT_TopologyDescription** handle) {
        if (owned) {
          auto args = MakeArgs<PJRT_TopologyDescription_Destroy_Args>();
          args.topology = *handle;
          (void)api->Call(args);
        }
        internal::Count(internal::Kind::kTopology, -1);
        delete handle;
      });
}

Result<std::string> Topology::PlatformName() const {
  auto args = MakeArgs<PJRT_TopologyDescription_PlatformName_Args>();
  args.topology = get();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Text(args.platform_name, args.platform_name_size);
}

Result<std::string> Topology::PlatformVersion() const {
  auto args = MakeArgs<PJRT_TopologyDescription_PlatformVersion_Args>();
  args.topology = get();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Text(args.platform_version, args.platform_version_size);
}

Result<std::vector<DeviceDescription>> Topology::Devices() const {
  auto args = MakeArgs<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
  args.topology = get();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  std::vector<DeviceDescription> devices;
  for (size_t i = 0; i < args.num_descriptions; ++i) devices.emplace_back(api_, args.descriptions[i], topology_);
  return devices;
}

Result<std::vector<NamedValue>> Topology::Attributes() const {
  auto args = MakeArgs<PJRT_TopologyDescription_Attributes_Args>();
  args.topology = get();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return FromC(args.attributes, args.num_attributes);
}

Result<std::string> Topology::Serialize() const {
  auto args = MakeArgs<PJRT_TopologyDescription_Serialize_Args>();
  args.topology = get();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  std::string bytes = Text(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_topology_deleter != nullptr) args.serialized_topology_deleter(args.serialized_topology);
  return bytes;
}

Result<uint64_t> Topology::Fingerprint() const {
  auto args = MakeArgs<PJRT_TopologyDescription_Fingerprint_Args>();
  args.topology = get();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.fingerprint;
}

Result<std::vector<int>> Topology::MemorySpaceKindIds() const {
  auto args = MakeArgs<PJRT_TopologyDescription_GetMemorySpaceKindIds_Args>();
  args.topology = get();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  if (args.num_memory_space_kind_ids == 0) return std::vector<int>();
  return std::vector<int>(args.memory_space_kind_ids, args.memory_space_kind_ids + args.num_memory_space_kind_ids);
}

Result<std::string> Topology::CanonicalShape(const Shape& shape, int memory_kind_id, const Layout* layout) const {
  TENON_RETURN_IF_ERROR(internal::CheckShape(*api_, shape.dtype, shape.dims.data(), shape.dims.size()));
  auto args = MakeArgs<PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args>();
  args.topology = get();
  args.memory_space_kind_id = memory_kind_id;
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  args.element_type = static_cast<PJRT_Buffer_Type>(shape.dtype);
  std::optional<CLayout> c_layout;
  if (layout != nullptr) args.layout = c_layout.emplace(*layout).get();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  std::string bytes = Text(args.serialized_shape, args.serialized_shape_size);
  if (args.serialized_shape_deleter != nullptr) args.serialized_shape_deleter(args.serialized_shape);
  return bytes;
}

Result<Executable> Topology::Compile(const Program& program, const CompileOptions& options,
                                     const Client* client) const {
  TENON_ASSIGN_OR_RETURN(const std::string bytes, options.Serialize());
  const PJRT_Program c = internal::ProgramArgument(program);
  auto args = MakeArgs<PJRT_Compile_Args>();
  args.topology = get();
  args.program = &c;
  args.compile_options = bytes.data();
  args.compile_options_size = bytes.size();
  if (client != nullptr) {
    TENON_RETURN_IF_ERROR(internal::CheckOpen(client->state()));
    args.client = client->get();
  }
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Executable(api_, args.executable, topology_);
}

}  // namespace tenon::client
