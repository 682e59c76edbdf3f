#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/base/status.h"
#include "tenon/client/layout.h"

namespace tenon::client {

/// An array that a program takes or gives: its shape, and how it lies on the device unless the compiler may choose.
struct ArrayLayout {
  Shape shape;
  std::optional<TiledLayout> layout = std::nullopt;
  friend bool operator==(const ArrayLayout&, const ArrayLayout&) = default;
};

/// Global device ids per [replica][partition].
struct DeviceAssignment {
  int num_replicas = 0;
  int num_partitions = 0;
  std::vector<int> ids{};  // replica-major

  int at(int replica, int partition) const { return ids[static_cast<size_t>(replica) * num_partitions + partition]; }
  friend bool operator==(const DeviceAssignment&, const DeviceAssignment&) = default;
};
/// A serialized xla.DeviceAssignmentProto, and back.
std::string Serialize(const DeviceAssignment& assignment);
Result<DeviceAssignment> ParseDeviceAssignment(std::string_view bytes);

/// How a program is compiled: builds a serialized xla.CompileOptionsProto. Every setter returns the object, so that
/// calls chain. By default one replica, one partition, and the debug options of the environment variable
/// XLA_DEBUG_OPTIONS.
class CompileOptions {
 public:
  using Override = std::variant<std::string, bool, int64_t, double>;
  enum class Effort { kUnknown = 0, kO0 = 9, kO1 = 19, kO2 = 29, kO3 = 39 };

  CompileOptions& SetReplicas(int n);
  CompileOptions& SetPartitions(int n);
  /// Several partitions that one program describes.
  CompileOptions& SetSpmd(bool on = true, bool shardy = true);
  /// Also sets the numbers of replicas and partitions.
  CompileOptions& SetDeviceAssignment(DeviceAssignment assignment);
  /// One device, whose id is `id`.
  CompileOptions& SetDevice(int id);
  /// Runs on whatever device an execution names.
  CompileOptions& SetPortable(bool on = true);
  CompileOptions& SetOptimization(Effort effort);
  CompileOptions& SetMemoryFitting(Effort effort);
  /// Whether the compiler may choose the shardings of parameters and outputs; one flag each, or one for all.
  CompileOptions& SetPropagateShardingToParameters(std::vector<bool> allow);
  CompileOptions& SetPropagateShardingToOutputs(std::vector<bool> allow);
  /// The layouts of all parameters in order, and of all results: CompileOptionsProto.argument_layouts and the build
  /// options' result_layout, one array or a tuple of several. Plugins take StableHLO's own layout attributes, too.
  CompileOptions& SetArgumentLayouts(std::vector<ArrayLayout> arguments);
  CompileOptions& SetResultLayouts(std::vector<ArrayLayout> results);
  CompileOptions& SetDeviceMemorySize(int64_t bytes);
  /// Number of this process, and how many there are.
  CompileOptions& SetProcess(int64_t index, int64_t count);
  CompileOptions& SetProfileVersion(int64_t version);

  /// An option of the plugin by name (env_option_overrides), e.g. "xla_cpu_enable_fast_math".
  CompileOptions& Set(std::string name, Override value);
  CompileOptions& Set(std::string name, const char* value) {
    return Set(std::move(name), Override(std::string(value)));
  }
  CompileOptions& Set(std::string name, bool value) { return Set(std::move(name), Override(value)); }
  CompileOptions& Set(std::string name, int value) { return Set(std::move(name), Override(int64_t{value})); }
  CompileOptions& Set(std::string name, int64_t value) { return Set(std::move(name), Override(value)); }
  CompileOptions& Set(std::string name, double value) { return Set(std::move(name), Override(value)); }

  /// A field of xla.DebugOptions by its number, for those that are varints on the wire, and for texts.
  CompileOptions& SetDebugField(int field, int64_t value);
  CompileOptions& SetDebugField(int field, std::string value);
  /// Debug options as in XLA_FLAGS, "--xla_cpu_enable_fast_math=false --xla_dump_to=/tmp/x", or without dashes. Flags
  /// whose field number is known become fields of xla.DebugOptions, others overrides by name. `text` replaces what
  /// XLA_DEBUG_OPTIONS says; "" means none.
  CompileOptions& SetDebugOptions(std::string text);

  int num_replicas() const { return num_replicas_; }
  int num_partitions() const { return num_partitions_; }

  /// The bytes for PJRT_Client_Compile. INVALID_ARGUMENT for numbers below one, an assignment or a layout that does
  /// not fit, an element type that XLA's protos lack, or flags that cannot be read.
  Result<std::string> Serialize() const;

 private:
  int num_replicas_ = 1;
  int num_partitions_ = 1;
  bool spmd_ = false;
  bool shardy_ = false;
  bool portable_ = false;
  DeviceAssignment assignment_;
  Effort optimization_ = Effort::kUnknown;
  Effort memory_fitting_ = Effort::kUnknown;
  std::vector<bool> to_parameters_, to_outputs_;
  std::vector<ArrayLayout> argument_layouts_, result_layouts_;
  int64_t device_memory_size_ = 0;
  int64_t process_index_ = 0;
  int64_t process_count_ = 0;
  int64_t profile_version_ = 0;
  bool debug_text_set_ = false;
  std::string debug_text_;
  std::map<int, std::variant<int64_t, std::string>> debug_fields_;
  std::map<std::string, Override> overrides_;
};

}  // namespace tenon::client
