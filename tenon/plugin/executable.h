#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/pjrt_executable.h"
#include "tenon/base/small_vector.h"
#include "tenon/plugin/abi_version.h"
#include "tenon/plugin/buffer.h"
#include "tenon/plugin/compile_options.h"
#include "tenon/plugin/device.h"
#include "tenon/plugin/host_transfers.h"

namespace tenon::plugin {

class Client;

/// A parameter or an output, per device.
struct ValueSpec {
  ArraySpec array;
  std::string memory_kind = std::string(kDeviceMemoryKind);
  /// Parameters: the program takes the argument's bytes (it aliases or donates it). The caller may refuse per call.
  bool donated = false;
};

/// What one execution needs, in bytes. -1: not known.
struct CompiledMemoryStats {
  int64_t generated_code = 0, arguments = 0, outputs = 0, aliased = 0, temporaries = 0;
  int64_t peak = 0, total = 0;
};

/// What a compiled program says of itself.
struct ExecutableInfo {
  std::string name;
  int num_replicas = 1;
  int num_partitions = 1;
  std::vector<ValueSpec> parameters;
  std::vector<ValueSpec> outputs;
  /// Equal for equal program, options and compiler. Empty: not available.
  std::string fingerprint;
  /// Serialized xla.OpSharding per parameter and per output. Empty: not available.
  std::vector<std::string> parameter_shardings, output_shardings;
  /// Estimates such as {"flops", 12.0f}: floats only.
  std::vector<NamedValue> cost;
  int64_t code_size_bytes = -1;
  std::optional<CompiledMemoryStats> memory_stats;
  /// The bytes that the options were decoded from.
  std::string compile_options;
  /// The program sends to the host or receives of it, so that executions may have callbacks for its channels.
  bool host_transfers = false;
  /// What the executable needs of a client that is to run it: one of its executable_versions. Empty: the
  /// platform_version of what it was compiled with.
  std::string abi_version;
};

/// A compiled program, not bound to devices. Shared by handles and by the loaded executables made from it; immutable.
class Executable : public RefCounted {
 public:
  explicit Executable(ExecutableInfo info);
  ~Executable() override;

  const ExecutableInfo& info() const { return info_; }

  /// Bytes that Client::Deserialize of the same build reads. UNIMPLEMENTED unless overridden.
  virtual Result<std::string> Serialize() const;
  /// The program after compilation for people or tools, with its format ("mlir", "hlo", "hlo_with_config", or the
  /// plugin's own). UNIMPLEMENTED unless overridden. Called once; the SDK keeps the answer.
  struct ProgramText {
    std::string code;
    std::string format;
  };
  virtual Result<ProgramText> OptimizedProgram() const;

  /// A message of the plugin's own about it, serialized. UNIMPLEMENTED unless overridden; see
  /// Plugin::has_executable_metadata.
  virtual Result<std::string> Metadata() const;

  /// What it needs of a runtime.
  AbiVersion abi_version() const;

  /// Notes where it was made, unless that is known. For the SDK.
  void NoteOrigin(const std::string& platform_name, const std::string& platform_version);
  /// C arrays of what info() says, made when first asked for. For the SDK.
  struct CArrays;
  const CArrays& c_arrays() const;
  const Result<ProgramText>& cached_program() const;

 private:
  ExecutableInfo info_;
  std::once_flag origin_once_;
  AbiVersion origin_;
  mutable std::once_flag arrays_once_, program_once_;
  mutable std::unique_ptr<CArrays> arrays_;
  mutable std::optional<Result<ProgramText>> program_;
  [[no_unique_address]] internal::Counted<ObjectKind::kExecutable> counted_;
};

/// User data that a client attaches to one execution, by type id (see the FFI extension). Add is for the caller's
/// thread before the execution; Find is thread-safe afterwards.
class ExecuteContext final : public RefCounted {
 public:
  ExecuteContext() = default;
  /// Takes `data`; `deleter`, which may be null, is called with it when the context goes. ALREADY_EXISTS for a type
  /// that is there.
  Status Add(int64_t type_id, void* data, void (*deleter)(void*));
  /// The data of a type, or null.
  void* Find(int64_t type_id) const;

 private:
  ~ExecuteContext() override;
  struct Entry {
    int64_t type_id;
    void* data;
    void (*deleter)(void*);
  };
  SmallVector<Entry, 4> entries_;
  [[no_unique_address]] internal::Counted<ObjectKind::kExecuteContext> counted_;
};

/// One argument on one device. The SDK has checked its type, shape, layout and device, and that it is neither deleted
/// nor known to have failed. Move members out to keep them beyond the call.
struct Argument {
  /// Never null; aligned to the element size where the host can address it.
  Ref<Storage> storage;
  /// When the bytes are defined. It may fail at any time until then: the outputs then fail with that error. Whoever
  /// looks decides once, by `ready.succeeded()`: the bytes are there, for good, or the work waits (`ready.OnReady`,
  /// WhenAll) and goes by the status that it gets. Two looks, one for failed() and one for is_ready(), take an argument
  /// that fails between them for one whose bytes are defined.
  EventRef ready = {};
  /// Where the bytes are.
  Memory* memory = nullptr;
  bool donated = false;
  /// Donated and unshared: the bytes may be overwritten, or the storage become that of an output.
  bool exclusive = false;
};

/// What one device has to do.
struct DeviceExecution {
  Device* device = nullptr;
  int replica = 0;
  int partition = 0;
  std::span<Argument> arguments;
  /// What the program's channels to the host lead to; null when the caller gave no callbacks. Keep a reference as long
  /// as the execution runs.
  Ref<HostTransfers> transfers = {};
  /// Where the caller would like each output, or null: host memory of its size that outlives the buffer. Empty: it has
  /// no wishes. For the call; see Memory::Wrap.
  std::span<void* const> places = {};
  /// To be filled by the backend, one buffer per output.
  std::span<Ref<Buffer>> outputs;
  /// To be set by the backend: when the execution on this device has ended, with its error. Null: it has, well.
  EventRef done = {};
};

struct ExecuteRequest {
  /// One entry per addressable device of the executable in its order, or the one device that the caller named.
  std::span<DeviceExecution> devices;
  /// May be null. Keep a reference as long as the execution runs.
  Ref<ExecuteContext> context = {};
  int launch_id = 0;
  /// "file:line" or empty; lives for the call.
  std::string_view call_location = {};
};

/// An executable bound to devices of a client. Functions are called from any thread, several at once.
class LoadedExecutable : public RefCounted {
 public:
  /// `assignment` names existing devices; empty for a portable executable, which runs where Execute says.
  LoadedExecutable(Ref<Client> client, Ref<Executable> executable, DeviceAssignment assignment);
  ~LoadedExecutable() override;

  Client& client() const { return *client_; }
  const Ref<Executable>& executable() const { return executable_; }
  const ExecutableInfo& info() const { return executable_->info(); }
  const DeviceAssignment& assignment() const { return assignment_; }
  bool portable() const { return assignment_.empty(); }
  std::span<Device* const> addressable_devices() const { return addressable_devices_; }
  std::span<const PJRT_LogicalDeviceIds> logical_ids() const { return logical_ids_; }
  bool is_deleted() const { return deleted_.load(std::memory_order_acquire); }

  /// Where output `index` lies on a device: in the memory that info() names, or the default where it has none such.
  Memory* OutputMemory(const Device& device, size_t index) const;
  /// Makes `error` of all outputs of a device and of its `done`.
  void Fail(DeviceExecution& device, const Status& error) const;

  /// Runs the program, now or later, and fills `outputs` and `done` of every device before it returns.
  ///
  /// Running inline: compute on this thread, make each output with Buffer::Make and no event, leave `done` null.
  /// Nothing is allocated but the buffers. Running later: make outputs with a pending Event, return, and Set the event
  /// when the bytes are defined; an error that is found then goes to the events of all outputs and to `done`. An error
  /// that is returned must leave no work behind: outputs are dropped, and the SDK gives donated arguments back to their
  /// buffers when their `storage` was not moved out (moved out, they stay consumed).
  virtual Status Execute(ExecuteRequest& request) = 0;

  /// Whether executions call functions of the caller's, for effects: then the SDK has `done` of those on a device come
  /// in the order of the calls, since callers wait for the effects of many by the last one alone (JAX).
  virtual bool has_effects() const { return false; }

  /// Told, in place of Execute, when the arguments of an execution were refused with `error`: other processes may wait
  /// for this one. The default does nothing.
  virtual void Refused(const Status& error) {}

  /// Called once by PJRT_LoadedExecutable_Delete: give up device resources when running executions are done.
  virtual void Delete() {}

  // --- For the SDK.
  void MarkDeleted();

 private:
  Ref<Client> client_;
  Ref<Executable> executable_;
  DeviceAssignment assignment_;
  std::vector<Device*> addressable_devices_;
  std::vector<PJRT_LogicalDeviceIds> logical_ids_;
  std::atomic<bool> deleted_{false};
  [[no_unique_address]] internal::Counted<ObjectKind::kLoadedExecutable> counted_;
};

}  // namespace tenon::plugin
