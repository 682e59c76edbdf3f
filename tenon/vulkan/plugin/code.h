#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/plugin/compile_options.h"
#include "tenon/runtime/program.h"
#include "tenon/target/target.h"
#include "tenon/vulkan/plugin/device.h"
#include "tenon/vulkan/runner/binding.h"

namespace tenon::vulkan {

/// A program compiled for devices of one target, not yet bound to any. Immutable.
struct Compiled {
  std::shared_ptr<const target::Target> target;
  compiler::CompiledProgram about;  ///< Plan included.
  std::string dump_dir;             ///< Empty: nothing is dumped.
};

/// Compiles StableHLO for `target`. `is_new`: as host::CompileProgram.
Result<std::shared_ptr<const Compiled>> CompileFor(std::string_view program, const plugin::CompileOptions& options,
                                                   const std::shared_ptr<const target::Target>& target, bool is_new);

/// Bytes from which LoadCompiled makes the same program without the front end. Another build, and one whose device is
/// another, compiles the program inside anew.
std::string SaveCompiled(const Compiled& compiled, std::string_view compile_options);
struct Loaded {
  std::shared_ptr<const Compiled> compiled;
  std::string compile_options;
};
/// DATA_LOSS for damaged bytes. `target`: of the device that is at hand.
Result<Loaded> LoadCompiled(std::string_view bytes, const std::shared_ptr<const target::Target>& target);

/// A program on one device, ready to run.
struct DeviceCode {
  std::shared_ptr<const Compiled> compiled;
  std::shared_ptr<vulkan::Device> device;
  std::unique_ptr<Binding> binding;
  Block constants_block;
  std::vector<Base> constants;
  std::shared_ptr<runtime::Profile> profile;        ///< Null: nobody wants one.
  std::unique_ptr<const runtime::Program> program;  ///< After what it was made with.
  /// The host has a part in each run: it runs steps or decides how loops and branches go on.
  bool needs_host = false;
  bool may_call_back = false, caller_waits = false;  ///< As host::PlanServices.
};

/// Makes the kernels' code for the device, and for the host what the device takes not; logs one line of statistics.
/// FAILED_PRECONDITION where the program was compiled for a device that gives other bits.
Result<std::shared_ptr<DeviceCode>> BindTo(VulkanDevice& device, std::shared_ptr<const Compiled> compiled);

}  // namespace tenon::vulkan
