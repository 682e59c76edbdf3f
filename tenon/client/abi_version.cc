#include "tenon/client/abi_version.h"

#include "tenon/abi/pjrt_abi_version.h"
#include "tenon/client/client.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/count.h"
#include "tenon/client/internal/extension.h"

#define TENON_CALL_ABI_VERSION(api, Function, args) \
  TENON_CALL_EXTENSION((api), PJRT_Extension_Type_AbiVersion, PJRT_AbiVersion_Extension, Function, (args))

namespace tenon::client {
namespace {

Status CheckThere(const void* version, const char* what) {
  if (version != nullptr) return OkStatus();
  return FailedPrecondition(std::string(what) + ": this ABI version was moved from");
}

Status CheckSamePlugin(const Api& a, const Api& b) {
  if (&a == &b) return OkStatus();
  return InvalidArgument("ABI versions of two plugins, " + a.name() + " and " + b.name() + ", cannot be compared");
}

// The bytes of a ToProto call that succeeded; frees the plugin's copy.
template <class Args>
std::string TakeProto(const Args& args) {
  std::string bytes = internal::Text(args.serialized_proto, args.serialized_proto_size);
  if (args.serialized_proto_deleter != nullptr) args.serialized_proto_deleter(args.serialized_proto_holder);
  return bytes;
}

}  // namespace

ExecutableAbiVersion::ExecutableAbiVersion(const Api* api, PJRT_ExecutableAbiVersion* version)
    : api_(api), version_(version) {
  internal::Count(internal::Kind::kOther, 1);
}

ExecutableAbiVersion& ExecutableAbiVersion::operator=(ExecutableAbiVersion&& other) noexcept {
  if (this != &other) {
    Reset();
    api_ = other.api_;
    version_ = std::exchange(other.version_, nullptr);
  }
  return *this;
}

void ExecutableAbiVersion::Reset() {
  if (version_ == nullptr) return;
  PJRT_ExecutableAbiVersion_Destroy_Args args{};
  args.struct_size = PJRT_ExecutableAbiVersion_Destroy_Args_STRUCT_SIZE;
  args.abi_version = std::exchange(version_, nullptr);
  (void)TENON_CALL_ABI_VERSION(*api_, executable_abi_version_destroy, args);
  internal::Count(internal::Kind::kOther, -1);
}

Result<ExecutableAbiVersion> ExecutableAbiVersion::Of(const Executable& executable) {
  TENON_RETURN_IF_ERROR(executable.get() != nullptr
                            ? OkStatus()
                            : FailedPrecondition("ExecutableAbiVersion::Of: the Executable was moved from"));
  PJRT_Executable_GetAbiVersion_Args args{};
  args.struct_size = PJRT_Executable_GetAbiVersion_Args_STRUCT_SIZE;
  args.executable = executable.get();
  TENON_RETURN_IF_ERROR(TENON_CALL_ABI_VERSION(executable.api(), executable_get_abi_version, args));
  return ExecutableAbiVersion(&executable.api(), args.abi_version);
}

Result<ExecutableAbiVersion> ExecutableAbiVersion::FromProto(const Plugin& plugin, std::string_view bytes) {
  PJRT_ExecutableAbiVersion_FromProto_Args args{};
  args.struct_size = PJRT_ExecutableAbiVersion_FromProto_Args_STRUCT_SIZE;
  args.serialized_proto = bytes.data();
  args.serialized_proto_size = bytes.size();
  TENON_RETURN_IF_ERROR(TENON_CALL_ABI_VERSION(plugin.api(), executable_abi_version_from_proto, args));
  return ExecutableAbiVersion(&plugin.api(), args.abi_version);
}

Result<std::string> ExecutableAbiVersion::ToProto() const {
  TENON_RETURN_IF_ERROR(CheckThere(version_, "ExecutableAbiVersion::ToProto"));
  PJRT_ExecutableAbiVersion_ToProto_Args args{};
  args.struct_size = PJRT_ExecutableAbiVersion_ToProto_Args_STRUCT_SIZE;
  args.abi_version = version_;
  TENON_RETURN_IF_ERROR(TENON_CALL_ABI_VERSION(*api_, executable_abi_version_to_proto, args));
  return TakeProto(args);
}

Result<uint64_t> ExecutableAbiVersion::PlatformId() const {
  TENON_RETURN_IF_ERROR(CheckThere(version_, "ExecutableAbiVersion::PlatformId"));
  PJRT_ExecutableAbiVersion_PlatformId_Args args{};
  args.struct_size = PJRT_ExecutableAbiVersion_PlatformId_Args_STRUCT_SIZE;
  args.abi_version = version_;
  TENON_RETURN_IF_ERROR(TENON_CALL_ABI_VERSION(*api_, executable_abi_version_platform_id, args));
  return args.platform_id;
}

RuntimeAbiVersion::RuntimeAbiVersion(const Api* api, PJRT_RuntimeAbiVersion* version) : api_(api), version_(version) {
  internal::Count(internal::Kind::kOther, 1);
}

RuntimeAbiVersion& RuntimeAbiVersion::operator=(RuntimeAbiVersion&& other) noexcept {
  if (this != &other) {
    Reset();
    api_ = other.api_;
    version_ = std::exchange(other.version_, nullptr);
  }
  return *this;
}

void RuntimeAbiVersion::Reset() {
  if (version_ == nullptr) return;
  PJRT_RuntimeAbiVersion_Destroy_Args args{};
  args.struct_size = PJRT_RuntimeAbiVersion_Destroy_Args_STRUCT_SIZE;
  args.abi_version = std::exchange(version_, nullptr);
  (void)TENON_CALL_ABI_VERSION(*api_, runtime_abi_version_destroy, args);
  internal::Count(internal::Kind::kOther, -1);
}

Result<RuntimeAbiVersion> RuntimeAbiVersion::Of(const Client& client) {
  TENON_RETURN_IF_ERROR(internal::CheckOpen(client.state()));
  PJRT_Client_RuntimeAbiVersion_Args args{};
  args.struct_size = PJRT_Client_RuntimeAbiVersion_Args_STRUCT_SIZE;
  args.client = client.get();
  TENON_RETURN_IF_ERROR(TENON_CALL_ABI_VERSION(client.api(), client_runtime_abi_version, args));
  return RuntimeAbiVersion(&client.api(), args.abi_version);
}

Result<RuntimeAbiVersion> RuntimeAbiVersion::FromProto(const Plugin& plugin, std::string_view bytes) {
  PJRT_RuntimeAbiVersion_FromProto_Args args{};
  args.struct_size = PJRT_RuntimeAbiVersion_FromProto_Args_STRUCT_SIZE;
  args.serialized_proto = bytes.data();
  args.serialized_proto_size = bytes.size();
  TENON_RETURN_IF_ERROR(TENON_CALL_ABI_VERSION(plugin.api(), runtime_abi_version_from_proto, args));
  return RuntimeAbiVersion(&plugin.api(), args.abi_version);
}

Result<std::string> RuntimeAbiVersion::ToProto() const {
  TENON_RETURN_IF_ERROR(CheckThere(version_, "RuntimeAbiVersion::ToProto"));
  PJRT_RuntimeAbiVersion_ToProto_Args args{};
  args.struct_size = PJRT_RuntimeAbiVersion_ToProto_Args_STRUCT_SIZE;
  args.abi_version = version_;
  TENON_RETURN_IF_ERROR(TENON_CALL_ABI_VERSION(*api_, runtime_abi_version_to_proto, args));
  return TakeProto(args);
}

Result<uint64_t> RuntimeAbiVersion::PlatformId() const {
  TENON_RETURN_IF_ERROR(CheckThere(version_, "RuntimeAbiVersion::PlatformId"));
  PJRT_RuntimeAbiVersion_PlatformId_Args args{};
  args.struct_size = PJRT_RuntimeAbiVersion_PlatformId_Args_STRUCT_SIZE;
  args.abi_version = version_;
  TENON_RETURN_IF_ERROR(TENON_CALL_ABI_VERSION(*api_, runtime_abi_version_platform_id, args));
  return args.platform_id;
}

Status RuntimeAbiVersion::IsCompatibleWith(const ExecutableAbiVersion& executable) const {
  TENON_RETURN_IF_ERROR(CheckThere(version_, "RuntimeAbiVersion::IsCompatibleWith"));
  TENON_RETURN_IF_ERROR(CheckThere(executable.get(), "RuntimeAbiVersion::IsCompatibleWith"));
  TENON_RETURN_IF_ERROR(CheckSamePlugin(*api_, executable.api()));
  PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args args{};
  args.struct_size = PJRT_RuntimeAbiVersion_IsCompatibleWithExecutable_Args_STRUCT_SIZE;
  args.abi_version = version_;
  args.executable_abi_version = executable.get();
  return TENON_CALL_ABI_VERSION(*api_, runtime_abi_version_is_compatible_with_executable, args);
}

Status RuntimeAbiVersion::IsCompatibleWith(const RuntimeAbiVersion& other) const {
  TENON_RETURN_IF_ERROR(CheckThere(version_, "RuntimeAbiVersion::IsCompatibleWith"));
  TENON_RETURN_IF_ERROR(CheckThere(other.get(), "RuntimeAbiVersion::IsCompatibleWith"));
  TENON_RETURN_IF_ERROR(CheckSamePlugin(*api_, other.api()));
  PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args args{};
  args.struct_size = PJRT_RuntimeAbiVersion_IsCompatibleWithRuntime_Args_STRUCT_SIZE;
  args.abi_version = version_;
  args.other_abi_version = other.get();
  return TENON_CALL_ABI_VERSION(*api_, runtime_abi_version_is_compatible_with_runtime, args);
}

}  // namespace tenon::client
