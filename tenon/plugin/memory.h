#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/pjrt_device.h"
#include "tenon/base/status.h"
#include "tenon/plugin/event.h"
#include "tenon/plugin/ref.h"

namespace tenon::plugin {

class Client;
class Device;

/// Bytes in some memory: what a device vendor subclasses to own an allocation. Whoever may still touch the bytes holds
/// a reference (buffers, executions under way, external references, transfers), so the destructor frees at once. It
/// runs on any thread, never under an SDK lock.
class Storage : public RefCounted {
 public:
  /// Address on the device; what PJRT_Buffer_UnsafePointer reports. May be null for 0 bytes. Where the memory is not
  /// host_accessible() it may be any number that the device knows the block by: the SDK does not compute with it.
  void* data() const { return data_.load(std::memory_order_relaxed); }
  /// From now on data() stays what it is: whoever tells it to others says so before he asks for it. Until then what an
  /// execution writes that has not begun may get another place, once.
  virtual void FixAddress() {}
  size_t size_bytes() const { return size_bytes_; }
  /// False for memory that others may look at (a caller's immutable array): never overwritten, never donated in place.
  bool writable() const { return writable_; }
  /// Whether somebody may write these bytes who does not know what type they are, or may have. Elements narrower than a
  /// byte are then not always in the form that NormalizeSubByte gives: who computes with them takes a copy that is.
  bool foreign_bytes() const { return foreign_bytes_.load(std::memory_order_relaxed); }
  void NoteForeignBytes() { foreign_bytes_.store(true, std::memory_order_relaxed); }

 protected:
  Storage(void* data, size_t size_bytes, bool writable = true)
      : data_(data), size_bytes_(size_bytes), writable_(writable) {}
  void set_data(void* data) { data_.store(data, std::memory_order_relaxed); }

 private:
  std::atomic<void*> data_;
  size_t size_bytes_;
  bool writable_;
  std::atomic<bool> foreign_bytes_{false};
  [[no_unique_address]] internal::Counted<ObjectKind::kStorage> counted_;
};

/// Storage in host memory from the system allocator, aligned to 64 bytes (contents undefined). RESOURCE_EXHAUSTED when
/// there is none.
Result<Ref<Storage>> AllocateHostStorage(size_t size_bytes);

/// Kinds of memory that frameworks know by name.
inline constexpr std::string_view kDeviceMemoryKind = "device";
inline constexpr std::string_view kPinnedHostMemoryKind = "pinned_host";
inline constexpr std::string_view kUnpinnedHostMemoryKind = "unpinned_host";

/// A name and the number that goes with it everywhere on one platform.
struct MemoryKind {
  std::string name;
  int id = 0;
};
/// A MemoryKind whose id is derived from the name: never 0, the same in every process.
MemoryKind MakeMemoryKind(std::string_view name);

/// A memory of one or more devices. Owned by the client, which outlives every use. All virtual functions are called
/// from any thread, several at once.
///
/// The defaults serve memory that the host can address: override Allocate alone to supply another allocator. A device
/// whose memory the host cannot address overrides host_accessible, Allocate, Write and Read, and CopyFrom when it can
/// do better than through the host.
class Memory {
 public:
  /// `id` is unique within the client.
  Memory(int id, MemoryKind kind);
  virtual ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  int id() const { return id_; }
  const MemoryKind& kind() const { return kind_; }
  const std::string& debug_string() const { return debug_string_; }
  const std::string& to_string() const { return to_string_; }
  /// The devices that can reach this memory, in the order of AddDevice.
  std::span<Device* const> devices() const { return devices_; }
  Client* client() const { return client_; }

  /// Whether Storage::data() is an address that the host can read and write.
  virtual bool host_accessible() const { return true; }
  /// Whether a buffer may be a caller's own array, where host_accessible() and the caller allows it: not where the
  /// device sees no other memory than what Allocate gave.
  virtual bool takes_host_arrays() const { return true; }
  /// Storage of `size_bytes`, contents undefined. RESOURCE_EXHAUSTED when there is no room. `device` is the one that
  /// asked, or null.
  virtual Result<Ref<Storage>> Allocate(Device* device, size_t size_bytes);
  /// A block that the caller made elsewhere, as storage: what PJRT_Client_CreateViewOfDeviceBuffer names by `data`,
  /// with `size_bytes` bytes. `on_delete`, which may be empty, is called when nobody uses it any more. The default
  /// takes addresses of the host; memory that is not host_accessible() answers UNIMPLEMENTED unless it overrides this.
  virtual Result<Ref<Storage>> Wrap(void* data, size_t size_bytes, std::function<void()> on_delete);
  /// Copies bytes from the host into `dst`, whose earlier contents nobody needs. `src` lives until the event is ready.
  /// The default copies at once.
  virtual EventRef Write(Storage& dst, size_t offset, const void* src, size_t size_bytes);
  /// Copies bytes to the host. `dst` and `src` live until the event is ready, and the contents of `src` are defined.
  virtual EventRef Read(const Storage& src, size_t offset, void* dst, size_t size_bytes);
  /// Copies all bytes of `src`, which is in `src_memory` and defined, to `dst`, which is in this memory. The default
  /// goes through Read and Write, at once when one side is accessible to the host.
  virtual EventRef CopyFrom(Storage& dst, const Memory& src_memory, const Storage& src);

  // --- For the SDK.
  PJRT_Memory* c_memory() { return &handle_.base; }
  static Memory* FromC(PJRT_Memory* memory) { return reinterpret_cast<Handle*>(memory)->self; }

 private:
  friend class Client;
  // PJRT reads the first word of a memory as a function table, so the handle is a member and not the object, whose
  // first word is C++'s.
  struct Handle {
    PJRT_Memory base;
    Memory* self;
  };
  struct UserData {
    void* data;
    void (*dtor)(void*);
  };
  static void* GetUserData(PJRT_Memory* memory, const void* key);
  static void SetUserData(PJRT_Memory* memory, const void* key, void* data, void (*dtor)(void*));
  static const PJRT_Memory_FunctionTable kFunctionTable;

  Handle handle_;
  int id_;
  MemoryKind kind_;
  std::string debug_string_, to_string_;
  std::vector<Device*> devices_;
  Client* client_ = nullptr;
  std::mutex user_data_mutex_;
  std::map<const void*, UserData> user_data_;
};

}  // namespace tenon::plugin
