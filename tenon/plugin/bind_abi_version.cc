// Whether an executable runs on a runtime, before anybody tries.

#include "tenon/abi/pjrt_abi_version.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"

// What the handles are.
struct PJRT_RuntimeAbiVersion {
  tenon::plugin::AbiVersion version;
  [[no_unique_address]] tenon::plugin::internal::Counted<tenon::plugin::ObjectKind::kAbiVersion> counted = {};
};
struct PJRT_ExecutableAbiVersion {
  tenon::plugin::AbiVersion version;
  [[no_unique_address]] tenon::plugin::internal::Counted<tenon::plugin::ObjectKind::kAbiVersion> counted = {};
};

namespace tenon::plugin::bind {

namespace {

template <class Args>
void GiveProto(Args& args) {
  args.serialized_proto_holder = NewHolder<PJRT_SerializedProto>(args.abi_version->version.Serialize(),
                                                                 &args.serialized_proto, &args.serialized_proto_size);
  args.serialized_proto_deleter = DeleteHolder<PJRT_SerializedProto>;
}

template <class Version, class Args>
Status ReadProto(std::string_view fn, Args& args) {
  TENON_REQUIRE(serialized_proto);
  Result<AbiVersion> version = AbiVersion::Parse({args.serialized_proto, args.serialized_proto_size});
  if (!version.ok()) return version.status().WithContext(fn);
  args.abi_version = new Version{*std::move(version)};
  return OkStatus();
}

}  // namespace

TENON_BIND_EXTENSION(PJRT_Client_RuntimeAbiVersion) {
  TENON_REQUIRE(client);
  const Client& client = *FromC(args.client);
  args.abi_version = new PJRT_RuntimeAbiVersion{{client.platform_name(), client.executable_versions()}};
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_Executable_GetAbiVersion) {
  TENON_REQUIRE(executable);
  args.abi_version = new PJRT_ExecutableAbiVersion{FromC(args.executable)->abi_version()};
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_Destroy) {
  delete args.abi_version;
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_ExecutableAbiVersion_Destroy) {
  delete args.abi_version;
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime) {
  TENON_REQUIRE(abi_version);
  TENON_REQUIRE(other_abi_version);
  return args.abi_version->version.CheckOffers(args.other_abi_version->version);
}

TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable) {
  TENON_REQUIRE(abi_version);
  TENON_REQUIRE(executable_abi_version);
  return args.abi_version->version.CheckOffers(args.executable_abi_version->version);
}

TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_ToProto) {
  TENON_REQUIRE(abi_version);
  GiveProto(args);
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_ExecutableAbiVersion_ToProto) {
  TENON_REQUIRE(abi_version);
  GiveProto(args);
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_PlatformId) {
  TENON_REQUIRE(abi_version);
  args.platform_id = args.abi_version->version.PlatformId();
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_ExecutableAbiVersion_PlatformId) {
  TENON_REQUIRE(abi_version);
  args.platform_id = args.abi_version->version.PlatformId();
  return OkStatus();
}

TENON_BIND_EXTENSION(PJRT_RuntimeAbiVersion_FromProto) { return ReadProto<PJRT_RuntimeAbiVersion>(fn, args); }
TENON_BIND_EXTENSION(PJRT_ExecutableAbiVersion_FromProto) { return ReadProto<PJRT_ExecutableAbiVersion>(fn, args); }

PJRT_Extension_Base* AbiVersionExtension(PJRT_Extension_Base* next) {
  if (!ThePlugin().has_abi_versions()) return next;
  static PJRT_AbiVersion_Extension extension = {
      .base = {.struct_size = PJRT_AbiVersion_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_AbiVersion,
               .next = next},
      .client_runtime_abi_version = Bind_PJRT_Client_RuntimeAbiVersion,
      .executable_get_abi_version = Bind_PJRT_Executable_GetAbiVersion,
      .runtime_abi_version_destroy = Bind_PJRT_RuntimeAbiVersion_Destroy,
      .runtime_abi_version_is_compatible_with_runtime = Bind_PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime,
      .runtime_abi_version_is_compatible_with_executable = Bind_PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable,
      .runtime_abi_version_to_proto = Bind_PJRT_RuntimeAbiVersion_ToProto,
      .runtime_abi_version_platform_id = Bind_PJRT_RuntimeAbiVersion_PlatformId,
      .executable_abi_version_destroy = Bind_PJRT_ExecutableAbiVersion_Destroy,
      .executable_abi_version_to_proto = Bind_PJRT_ExecutableAbiVersion_ToProto,
      .executable_abi_version_platform_id = Bind_PJRT_ExecutableAbiVersion_PlatformId,
      .runtime_abi_version_from_proto = Bind_PJRT_RuntimeAbiVersion_FromProto,
      .executable_abi_version_from_proto = Bind_PJRT_ExecutableAbiVersion_FromProto,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
