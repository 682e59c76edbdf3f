#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/client/buffer.h"
#include "tenon/client/compile_options.h"
#include "tenon/client/counters.h"
#include "tenon/client/device.h"
#include "tenon/client/event.h"
#include "tenon/client/executable.h"
#include "tenon/client/host_memory.h"
#include "tenon/client/kv_store.h"
#include "tenon/client/named_value.h"
#include "tenon/client/plugin.h"
#include "tenon/client/program.h"
#include "tenon/client/topology.h"
#include "tenon/client/transfer_manager.h"

namespace tenon::client {

/// State of one process of a job, for Client::UpdateGlobalProcessInfo.
struct ProcessInfo {
  int task_id = 0;
  uint64_t incarnation_id = 0;
  PJRT_ProcessState state = PJRT_ProcessState_kUnspecified;
  Status error;
};

/// The devices of one plugin, opened. Moves only. What it makes (buffers, executables ...) and the handles of its
/// devices and memories keep it open, so objects may be destroyed in any order. Safe to use from several threads at
/// once, except for destruction and moves.
class Client {
 public:
  explicit Client(std::shared_ptr<internal::ClientState> state) : state_(std::move(state)) {}
  Client(Client&&) noexcept = default;
  Client& operator=(Client&&) noexcept = default;

  /// Closes the client now. FAILED_PRECONDITION, and nothing happens, while objects that it made are alive: the message
  /// counts them.
  Status Close() &&;
  /// What this client has made and not destroyed.
  LiveObjects live_objects() const;

  /// "cpu, 4 devices, process 0, by xla_cpu (PJRT 0.81, ...)".
  std::string ToString() const;
  Plugin plugin() const;
  const Api& api() const;

  /// "cpu", "cuda" ...
  Result<std::string> PlatformName() const;
  Result<std::string> PlatformVersion() const;
  /// 0 when there is one process.
  Result<int> ProcessIndex() const;

  /// Every device of the job, in the plugin's order.
  Result<std::vector<Device>> Devices() const;
  /// Those that this process can use.
  Result<std::vector<Device>> AddressableDevices() const;
  /// Addressable device number `index`; OUT_OF_RANGE says how many there are.
  Result<Device> device(size_t index) const;
  /// The opposite of `device`; NOT_FOUND for devices of other clients and other processes.
  Result<size_t> IndexOf(const Device& device) const;
  Result<Device> LookupDevice(int id) const;
  Result<Device> LookupAddressableDevice(int local_hardware_id) const;
  Result<std::vector<Memory>> AddressableMemories() const;
  Result<Topology> GetTopology() const;
  /// Global device ids per [replica][partition].
  Result<DeviceAssignment> DefaultDeviceAssignment(int num_replicas, int num_partitions = 1) const;

  /// Compiles and loads.
  Result<LoadedExecutable> Compile(const Program& program, const CompileOptions& options = {}) const;
  /// The same for StableHLO text or bytecode.
  Result<LoadedExecutable> Compile(std::string_view stablehlo, const CompileOptions& options = {}) const;
  /// The same for what writes itself as StableHLO text, e.g. builder::Module; its error if it cannot. What also writes
  /// itself for a reader of a StableHLO version is asked for the version that the plugin names: it may be an artifact,
  /// which unlike text every later version reads; where the plugin refuses that, text is tried.
  template <class Module>
    requires requires(const Module& module) {
      { module.ToText() } -> std::same_as<Result<std::string>>;
    }
  Result<LoadedExecutable> Compile(const Module& module, const CompileOptions& options = {}) const {
    if constexpr (requires { module.ForReader(std::span<const int64_t>()); }) {
      TENON_ASSIGN_OR_RETURN(const std::string program, module.ForReader(plugin().StablehloVersion()));
      Result<LoadedExecutable> compiled = Compile(std::string_view(program), options);
      if (compiled.ok()) return compiled;
      // Plugins that name a version, and read its text alone.
      TENON_ASSIGN_OR_RETURN(const std::string text, module.ToText());
      if (text == program) return compiled;
      Result<LoadedExecutable> again = Compile(std::string_view(text), options);
      return again.ok() ? std::move(again) : std::move(compiled);
    } else {
      TENON_ASSIGN_OR_RETURN(const std::string text, module.ToText());
      return Compile(std::string_view(text), options);
    }
  }
  /// The same with a serialized xla.CompileOptionsProto, passed as it is; empty is refused, since plugins abort on it.
  Result<LoadedExecutable> CompileWithSerializedOptions(const Program& program, std::string_view options) const;
  /// Loads what Topology::Compile made (0.95).
  Result<LoadedExecutable> Load(const Executable& executable) const;
  /// Loads what Executable::Serialize wrote. `overrides`, when given, replaces the stored compile options.
  Result<LoadedExecutable> DeserializeAndLoad(std::string_view bytes,
                                              const std::optional<CompileOptions>& overrides = {}) const;

  /// A buffer with a copy of `data`, on addressable device 0. `data` may change when the call returns.
  template <Element T>
  Result<Buffer> ToDevice(std::span<const T> data, std::span<const int64_t> dims) const {
    TENON_ASSIGN_OR_RETURN(const Device to, device(0));
    return ToDevice(data, dims, to);
  }
  template <Element T>
  Result<Buffer> ToDevice(std::span<const T> data, std::span<const int64_t> dims, const Placement& where) const {
    TENON_ASSIGN_OR_RETURN(const HostArray array, HostArray::Of(data, dims));
    return ToDevice(array, where);
  }
  template <Element T>
  Result<Buffer> ToDevice(const std::vector<T>& data, std::initializer_list<int64_t> dims) const {
    return ToDevice(std::span<const T>(data), std::span<const int64_t>(dims.begin(), dims.size()));
  }
  template <Element T>
  Result<Buffer> ToDevice(const std::vector<T>& data, std::initializer_list<int64_t> dims,
                          const Placement& where) const {
    return ToDevice(std::span<const T>(data), std::span<const int64_t>(dims.begin(), dims.size()), where);
  }
  /// The same for any element type, strides and destination layout.
  Result<Buffer> ToDevice(const HostArray& array, const Placement& where, const Layout* device_layout = nullptr) const;
  template <Element T>
  Result<Buffer> ScalarToDevice(T value) const {
    TENON_ASSIGN_OR_RETURN(const Device to, device(0));
    return ScalarToDevice(value, to);
  }
  template <Element T>
  Result<Buffer> ScalarToDevice(T value, const Placement& where) const {
    return ToDevice(std::span<const T>(&value, 1), std::span<const int64_t>(), where);
  }

  /// A buffer that is filled while the caller goes on: `array`'s data must not change before Transfer::done.
  Result<Transfer> ToDeviceAsync(const HostArray& array, const Placement& where,
                                 const Layout* device_layout = nullptr) const;

  /// A buffer that may be the host memory itself, if alignment and platform allow it. Nobody may write to the data, and
  /// `keep_alive` is held until the plugin no longer needs it. kMutable lets the plugin write, e.g. after donation.
  enum class View { kImmutable, kMutable };
  Result<Buffer> ViewOfHost(const HostArray& array, std::shared_ptr<const void> keep_alive, const Placement& where,
                            View view = View::kImmutable) const;

  /// Zero-filled host memory that is a buffer at the same time, where the platform allows it.
  Result<SharedBuffer> NewSharedBuffer(const Shape& shape, const Placement& where) const;

  /// Wraps memory of the device that somebody else owns. `on_delete` is called once when the plugin is done with it.
  Result<Buffer> ViewOfDeviceMemory(void* pointer, const Shape& shape, const Placement& where,
                                    std::function<void()> on_delete = {}, const Layout* layout = nullptr) const;

  /// Contents undefined (0.69).
  Result<Buffer> UninitializedBuffer(const Shape& shape, const Placement& where, const Layout* layout = nullptr) const;
  /// A buffer whose users fail with `error` (0.82).
  Result<Buffer> ErrorBuffer(const Status& error, const Shape& shape, const Memory& where) const;
  /// A promise of a buffer (0.77).
  Result<BufferPromise> PromiseBuffer(const Shape& shape, const Memory& where, const Layout* layout = nullptr) const;
  /// Buffers that are filled piece by piece.
  Result<TransferManager> CreateTransferManager(std::span<const Shape> shapes, const Memory& where,
                                                std::span<const Layout* const> layouts = {}) const;

  /// Pins a range of host memory for fast transfers; the returned handle unpins it (0.67).
  Result<PinnedHostMemory> PinHostMemory(void* data, size_t size) const;

  /// Tells the client how the processes of the job fare. UNIMPLEMENTED before 0.78, where the struct had another
  /// layout.
  Status UpdateGlobalProcessInfo(std::span<const ProcessInfo> processes) const;

  PJRT_Client* get() const;
  const std::shared_ptr<internal::ClientState>& state() const { return state_; }

 private:
  std::shared_ptr<internal::ClientState> state_;
};

}  // namespace tenon::client
