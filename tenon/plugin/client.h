#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/plugin/buffer.h"
#include "tenon/plugin/compile_options.h"
#include "tenon/plugin/device.h"
#include "tenon/plugin/executable.h"
#include "tenon/plugin/memory.h"
#include "tenon/plugin/topology.h"

namespace tenon::plugin {

/// A program as a caller hands it over. Both texts live for the call only.
struct Program {
  std::string_view code;
  /// "mlir", "hlo" or "hlo_with_config", or another that Client::AcceptsFormat admits.
  std::string_view format;
};

/// The host's side of the devices: what a vendor subclasses first.
///
/// Ownership: the client owns its devices and memories; buffers, executables and events keep the client alive, so that
/// they may be destroyed after PJRT_Client_Destroy. The destructor therefore runs on whatever thread drops the last
/// reference, also on one that the backend made: it must not wait for that thread. Threads: after the constructor has
/// returned, every function is called from any thread, several at once.
class Client : public RefCounted {
 public:
  struct Info {
    std::string platform_name;     // "cpu": frameworks choose lowerings by it
    std::string platform_version;  // free text naming the build
    int process_index = 0;
  };
  explicit Client(Info info);
  ~Client() override;

  const std::string& platform_name() const { return info_.platform_name; }
  const std::string& platform_version() const { return info_.platform_version; }
  int process_index() const { return info_.process_index; }

  std::span<Device* const> devices() const { return devices_; }
  std::span<Device* const> addressable_devices() const { return addressable_devices_; }
  std::span<Memory* const> memories() const { return memories_; }
  /// Null when there is none.
  Device* FindDevice(int id) const;
  Device* FindAddressableDevice(int local_hardware_id) const;
  /// The memory of `kind` of a device, or null.
  Memory* FindMemory(const Device& device, std::string_view kind) const;
  bool Owns(const Device* device) const;
  bool Owns(const Memory* memory) const;

  /// Never null once Ready was called. Owned by the client.
  Topology* topology() const { return topology_.get(); }

  // --- What the device does.

  /// Compiles `program` and loads it. `assignment` is that of the options or the default one, checked; empty when
  /// options.portable. Errors: INVALID_ARGUMENT for a program that is wrong, UNIMPLEMENTED (naming the op) for one that
  /// is not supported.
  virtual Result<Ref<LoadedExecutable>> Compile(const Program& program, const CompileOptions& options,
                                                const DeviceAssignment& assignment) = 0;
  virtual bool AcceptsFormat(std::string_view format) const;
  /// Loads what Plugin::CompileForTopology made. UNIMPLEMENTED unless overridden.
  virtual Result<Ref<LoadedExecutable>> Load(Ref<Executable> executable, const CompileOptions* options);
  /// The opposite of Executable::Serialize; `options` override the stored ones when not null. UNIMPLEMENTED unless
  /// overridden.
  virtual Result<Ref<LoadedExecutable>> Deserialize(std::string_view bytes, const CompileOptions* options);

  /// Runs `work` some time soon, on another thread if the client has some to spare. The SDK uses it for copies that are
  /// large or must wait for data. The default runs it at once.
  virtual void Schedule(std::function<void()> work) { work(); }
  /// Copies of at most this many bytes are done on the calling thread. The default never schedules.
  virtual size_t inline_copy_limit() const { return SIZE_MAX; }

  /// What the framework knows of the job's processes, all of them, at every change. Must not block. The default does
  /// nothing.
  struct ProcessState {
    int process = 0;
    bool is_lost = false;
    std::string message;
  };
  virtual void ProcessesChanged(std::span<const ProcessState> processes) {}
  /// Whether programs may be compiled whose devices all are other processes'; they run on no device here.
  virtual bool TakesProgramsOfOthers() const { return false; }

  /// Sends the contents of `buffer` to another process, whose device `device_id` receives them under the same `key`; a
  /// key serves once between two processes, and either side may come first. Ready when the bytes have left, with the
  /// buffer's error when it has one, which the other side then hears too. Returns at once. UNIMPLEMENTED unless
  /// overridden; see Plugin::has_cross_host_transfers.
  virtual EventRef SendToProcess(Ref<Buffer> buffer, int device_id, int64_t key);
  /// The other side: an array in the default memory of `device`, with what device `device_id` of another process sends
  /// under `key`. Returns at once; the buffer is ready when the bytes are there.
  virtual Result<Ref<Buffer>> ReceiveFromProcess(ArraySpec spec, Device* device, int device_id, int64_t key);

  /// The caller has given the client up and destroys its handle; others may be left. For ending what nobody can hear of
  /// any more. The default does nothing.
  virtual void GivenUp() {}

  /// Replica-major device ids. The default takes devices() in order. FAILED_PRECONDITION when there are too few.
  virtual Result<DeviceAssignment> DefaultDeviceAssignment(int num_replicas, int num_partitions) const;
  /// Pins host memory. The default does nothing, successfully.
  virtual Status DmaMap(void* data, size_t size_bytes);
  virtual Status DmaUnmap(void* data);

  /// Host memory that transfers to and from the devices like. The defaults ask the system allocator; override all three
  /// where pinned memory is faster. `alignment` is a power of two; `numa_node` is negative for any, and a wish.
  /// RESOURCE_EXHAUSTED when there is none.
  virtual size_t host_memory_alignment() const { return 64; }
  virtual Result<void*> AllocateHostMemory(size_t size_bytes, size_t alignment, int numa_node);
  virtual void FreeHostMemory(void* data);

  /// Tells the caller, who may want to save what it can, that the process is about to end with this error. Returns when
  /// all that were registered for it have returned.
  void TellPrefatal(const Status& error);

  /// The versions of executables that this client runs (ExecutableInfo::abi_version). The default: what the same
  /// platform_version compiled.
  virtual std::vector<std::string> executable_versions() const { return {info_.platform_version}; }

  /// `options.device_assignment` or the default one, with every device looked up. Empty when options.portable.
  Result<DeviceAssignment> ResolveAssignment(const CompileOptions& options) const;

 protected:
  // --- For the constructor of a subclass, in this order.

  Device* AddDevice(std::unique_ptr<Device> device);
  /// Adds a memory that `devices` can reach; for each of them it becomes the default memory when `is_default`.
  Memory* AddMemory(std::unique_ptr<Memory> memory, std::span<Device* const> devices, bool is_default);
  /// Ends the set-up: makes the topology of the devices when null is passed.
  void Ready(Ref<Topology> topology = nullptr);

 private:
  Info info_;
  std::vector<std::unique_ptr<Device>> owned_devices_;
  std::vector<std::unique_ptr<Memory>> owned_memories_;
  std::vector<Device*> devices_, addressable_devices_;
  std::vector<Memory*> memories_;
  std::vector<PJRT_Memory*> c_memories_;
  Ref<Topology> topology_;
  struct Callback {
    int type;
    void (*function)(void* args, void* user_arg);
    void* user_arg;
  };
  std::mutex callbacks_mutex_;
  std::vector<Callback> callbacks_;
  [[no_unique_address]] internal::Counted<ObjectKind::kClient> counted_;

 public:
  // --- For the SDK.
  /// Functions of the caller by the number of a PJRT_Callback_Type. None is called under a lock.
  void AddCallback(int type, void (*function)(void* args, void* user_arg), void* user_arg);
  void InvokeCallbacks(int type, void* args);
  std::span<PJRT_Memory* const> c_memories() const { return c_memories_; }
};

}  // namespace tenon::plugin
