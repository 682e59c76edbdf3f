#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/plugin/buffer.h"
#include "tenon/plugin/named_value.h"

namespace tenon::plugin {

/// Device ids per [replica][partition].
struct DeviceAssignment {
  int num_replicas = 0;
  int num_partitions = 0;
  std::vector<int> ids{};  // replica-major

  int at(int replica, int partition) const { return ids[static_cast<size_t>(replica) * num_partitions + partition]; }
  bool empty() const { return ids.empty(); }
};
/// A serialized xla.DeviceAssignmentProto.
std::string SerializeDeviceAssignment(const DeviceAssignment& assignment);

/// What a caller asks of a compilation, decoded from a serialized xla.CompileOptionsProto. Fields that are not listed
/// are skipped.
struct CompileOptions {
  int num_replicas = 1;
  int num_partitions = 1;
  /// Empty: the client's default.
  DeviceAssignment device_assignment;
  /// The executable runs on whatever device Execute names.
  bool portable = false;
  int64_t device_ordinal = -1;
  bool parameters_are_tupled = false;
  bool use_spmd_partitioning = false;
  bool use_shardy = false;
  bool alias_passthrough_parameters = false;
  std::vector<bool> propagate_sharding_to_outputs, propagate_sharding_to_parameters;
  /// Layouts asked for, one per parameter; empty when the caller leaves them open.
  std::vector<std::optional<ArraySpec>> argument_layouts;
  std::optional<ArraySpec> result_layout;  // of a single result
  int64_t device_memory_size = 0;
  /// 0 unknown, else 9, 19, 29, 39 for O0 to O3.
  int optimization_level = 0;
  int memory_fitting_level = 0;
  int64_t process_index = 0;
  int64_t process_count = 0;
  /// Integer, boolean and enum fields of DebugOptions by field number, and its texts. Only what was on the wire.
  std::map<int, int64_t> debug_integers;
  std::map<int, std::string> debug_strings;
  /// env_option_overrides, checked against Plugin::compile_option_specs.
  Options overrides;

  /// The bytes these were decoded from.
  std::string serialized;
};

/// Decodes the message. INVALID_ARGUMENT "failed to deserialize CompileOptionsProto" for junk, negative or zero counts
/// given explicitly, or an assignment whose size does not match. Overrides are decoded, not checked.
Result<CompileOptions> DecodeCompileOptions(std::string_view bytes);

/// `serialized` with another device assignment in place of its own; `bytes` that DecodeCompileOptions takes.
std::string WithDeviceAssignment(std::string_view serialized, const DeviceAssignment& assignment);

/// Checks overrides by name and type: INVALID_ARGUMENT "No such compile option: 'x'".
Status CheckOverrides(CompileOptions& options, std::span<const OptionSpec> known);

}  // namespace tenon::plugin
