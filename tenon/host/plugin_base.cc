#include "tenon/host/plugin_base.h"

#include <fmt/format.h>

#include <vector>

#include "tenon/dialect/parse.h"
#include "tenon/ffi_host/call_site.h"
#include "tenon/ffi_host/registry.h"
#include "tenon/host/partitioners.h"
#include "tenon/lapack/lapack.h"
#include "tenon/plugin/ffi_types.h"
#include "tenon/vhlo/version.h"

namespace tenon::host {

PluginBase::PluginBase(std::string_view platform) : platform_(platform) {
  ffi_host::InstallTypeRegistry({&plugin::RegisterFfiType, &plugin::FfiTypeDeleter});
  ffi_host::InstallBuiltIns(
      [](std::string_view name) { return ffi_host::BuiltIn{lapack::FindHandler(name), lapack::LongestFast(name)}; });
}

std::array<int64_t, 3> PluginBase::stablehlo_current_version() const {
  return {vhlo::kCurrentVersion.major, vhlo::kCurrentVersion.minor, vhlo::kCurrentVersion.patch};
}

std::span<const plugin::OptionSpec> PluginBase::compile_option_specs() const {
  static const std::vector<plugin::OptionSpec>& specs = *new std::vector<plugin::OptionSpec>{
#define TENON_XLA_OPTION(name, type) {#name, plugin::ValueType::type},
#include "tenon/host/xla_options.def"
#undef TENON_XLA_OPTION
  };
  return specs;
}

Status PluginBase::RegisterFfiHandler(const plugin::FfiHandlerRegistration& registration) {
  if (registration.platform_name != "Host" && registration.platform_name != platform_) {
    return InvalidArgument(fmt::format("FFI handler '{}' is for platform '{}', wanted Host: handlers run on the host",
                                       registration.target_name, registration.platform_name));
  }
  XLA_FFI_Handler_Bundle bundle = {};
  if ((registration.traits & ffi_host::kBundleTrait) != 0)
    bundle = *static_cast<const XLA_FFI_Handler_Bundle*>(registration.handler);
  else
    bundle.execute = reinterpret_cast<XLA_FFI_Handler*>(registration.handler);
  return ffi_host::RegisterHandler(registration.target_name, bundle, registration.traits & ~ffi_host::kBundleTrait);
}

Status PluginBase::RegisterCustomPartitioner(std::string_view name,
                                             std::shared_ptr<const plugin::CustomPartitioner> partitioner) {
  RegisterPartitioner(name, std::move(partitioner));
  return OkStatus();
}

Status CheckFormat(const plugin::Program& program) {
  if (program.format == "mlir") return OkStatus();
  const dialect::InputKind kind = dialect::DetectInput(program.code);
  if (kind == dialect::InputKind::kHloModuleProto || kind == dialect::InputKind::kHloText) return OkStatus();
  return InvalidArgument(
      fmt::format("a program of format '{}' is a serialized HloModuleProto (or HLO text); these {} bytes are neither",
                  program.format, program.code.size()));
}

}  // namespace tenon::host
