#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/base/status.h"
#include "tenon/plugin/plugin.h"

namespace tenon::host {

/// What is the same in the plugins of this repository that run programs: the compiler's StableHLO, XLA's options, and
/// custom calls, whose handlers run on the host.
class PluginBase : public plugin::Plugin {
 public:
  /// Handlers may be registered for `platform` and for "Host".
  explicit PluginBase(std::string_view platform);

  std::array<int64_t, 3> stablehlo_current_version() const final;
  std::span<const plugin::OptionSpec> compile_option_specs() const final;
  Status RegisterFfiHandler(const plugin::FfiHandlerRegistration& registration) final;
  bool has_custom_partitioners() const final { return true; }
  Status RegisterCustomPartitioner(std::string_view name,
                                   std::shared_ptr<const plugin::CustomPartitioner> partitioner) final;

 private:
  const std::string platform_;
};

/// INVALID_ARGUMENT for a program that says it is no MLIR, unless it is an HLO module.
Status CheckFormat(const plugin::Program& program);

}  // namespace tenon::host
