#pragma once

#include <atomic>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/client/buffer.h"
#include "tenon/client/compile_options.h"
#include "tenon/client/execute_options.h"
#include "tenon/client/program.h"

namespace tenon::client {

/// What one execution needs, in bytes; -1 where the plugin is too old to say.
struct CompiledMemoryStats {
  int64_t generated_code = 0, arguments = 0, outputs = 0, aliased = 0, temporaries = 0;
  int64_t host_generated_code = 0, host_arguments = 0, host_outputs = 0, host_aliased = 0, host_temporaries = 0;
  int64_t peak = -1, total = -1, total_allocation = -1, indefinite_allocations = -1, peak_unpadded_heap = -1;

  /// Bytes that the device needs for one execution: what overlaps counts once.
  int64_t Requirements() const { return generated_code + arguments + outputs - aliased + temporaries; }
  /// The same on the host.
  int64_t HostRequirements() const {
    return host_generated_code + host_arguments + host_outputs - host_aliased + host_temporaries;
  }
};

/// A compiled program, bound to no device. Moves only.
class Executable {
 public:
  /// Takes ownership. `owner` (a client, or null) is kept alive.
  Executable(const Api* api, PJRT_Executable* executable, std::shared_ptr<const void> owner);
  Executable(Executable&& other) noexcept
      : api_(other.api_), executable_(std::exchange(other.executable_, nullptr)), owner_(std::move(other.owner_)) {}
  Executable& operator=(Executable&& other) noexcept;
  ~Executable() { Reset(); }

  Result<std::string> Name() const;
  Result<size_t> NumReplicas() const;
  Result<size_t> NumPartitions() const;
  /// Per device.
  Result<size_t> NumOutputs() const;
  Result<int64_t> SizeOfGeneratedCodeInBytes() const;
  Result<std::vector<Shape>> OutputShapes() const;
  Result<std::vector<std::string>> OutputMemoryKinds() const;
  Result<std::vector<std::string>> ParameterMemoryKinds() const;
  /// By the layouts extension.
  Result<std::vector<std::string>> OutputLayouts() const;
  Result<std::vector<std::string>> ParameterLayouts() const;
  /// Serialized xla.OpSharding each, by the shardings extension; empty when the plugin has none for this program.
  Result<std::vector<std::string>> OutputShardings() const;
  Result<std::vector<std::string>> ParameterShardings() const;
  /// Equal for equal program, options and compiler.
  Result<std::string> Fingerprint() const;
  /// "flops", "bytes accessed" ...
  Result<std::vector<NamedValue>> CostAnalysis() const;
  Result<CompiledMemoryStats> MemoryStats() const;
  /// After the compiler's passes, in a format of the plugin's choice.
  Result<Program> OptimizedProgram() const;
  /// For Client::DeserializeAndLoad of the same plugin build.
  Result<std::string> Serialize() const;
  /// The serialized xla.CompileOptionsProto it was made with (0.87).
  Result<std::string> SerializedCompileOptions() const;

  PJRT_Executable* get() const { return executable_; }
  const Api& api() const { return *api_; }

 private:
  void Reset();
  Status Check() const;
  const Api* api_;
  PJRT_Executable* executable_;
  std::shared_ptr<const void> owner_;
};

/// Replica and partition of a device in a program.
struct LogicalId {
  int replica = 0;
  int partition = 0;
  friend bool operator==(const LogicalId&, const LogicalId&) = default;
};

/// What an execution on several devices gives.
struct Execution {
  std::vector<std::vector<Buffer>> outputs;  // [device][output]
  std::vector<Event> done;                   // [device], when ExecuteOptions::want_done_events
};

/// A compiled program on its devices. Moves only; keeps its client open. Execute is safe from several threads at once.
class LoadedExecutable {
 public:
  LoadedExecutable(std::shared_ptr<internal::ClientState> client, PJRT_LoadedExecutable* loaded, Executable executable,
                   size_t num_outputs, std::vector<PJRT_Device*> devices);
  /// Takes ownership of `loaded` and asks for its program, outputs and devices.
  static Result<LoadedExecutable> Wrap(std::shared_ptr<internal::ClientState> client, PJRT_LoadedExecutable* loaded);
  LoadedExecutable(LoadedExecutable&& other) noexcept;
  LoadedExecutable& operator=(LoadedExecutable&& other) noexcept;
  ~LoadedExecutable() { Reset(); }

  /// The program itself and what is known of it.
  const Executable& executable() const { return executable_; }
  size_t num_outputs() const { return num_outputs_; }
  /// Those it runs on in this process, in the order of arguments and outputs.
  std::vector<Device> AddressableDevices() const;
  size_t num_devices() const { return devices_.size(); }
  Result<std::vector<LogicalId>> AddressableDeviceLogicalIds() const;
  /// Empty (no ids) when it runs on any device.
  Result<DeviceAssignment> GetDeviceAssignment() const;

  /// Runs on the one device it was compiled for; FAILED_PRECONDITION when there are several. Returns when the work is
  /// enqueued. Arguments of another client, moved from or deleted are refused with INVALID_ARGUMENT or
  /// FAILED_PRECONDITION. Arguments survive unless ExecuteOptions::donate says otherwise.
  Result<std::vector<Buffer>> Execute(std::span<const Buffer* const> arguments,
                                      const ExecuteOptions& options = {}) const;
  Result<std::vector<Buffer>> Execute(std::initializer_list<const Buffer*> arguments,
                                      const ExecuteOptions& options = {}) const {
    return Execute(std::span<const Buffer* const>(arguments.begin(), arguments.size()), options);
  }
  /// The same without allocating: `outputs` must have num_outputs() elements. `done`, when not null, is given the event
  /// of completion.
  Status ExecuteInto(std::span<const Buffer* const> arguments, std::span<Buffer> outputs,
                     const ExecuteOptions& options = {}, Event* done = nullptr) const;
  /// The same for programs of any number of devices: arguments per device, in the order of AddressableDevices.
  Result<Execution> ExecuteOnDevices(std::span<const std::vector<const Buffer*>> arguments,
                                     const ExecuteOptions& options = {}) const;

  /// Gives up device resources after the last execution; after that only IsDeleted is legal, the rest is
  /// FAILED_PRECONDITION.
  Status Delete();
  /// True after Delete, also where the plugin fails to say so.
  Result<bool> IsDeleted() const;

  PJRT_LoadedExecutable* get() const { return loaded_; }
  const std::shared_ptr<internal::ClientState>& client_state() const { return client_; }

 private:
  void Reset();
  Status Check() const;

  std::shared_ptr<internal::ClientState> client_;
  PJRT_LoadedExecutable* loaded_;
  Executable executable_;
  size_t num_outputs_;
  std::vector<PJRT_Device*> devices_;
  std::atomic<bool> deleted_{false};
};

}  // namespace tenon::client
