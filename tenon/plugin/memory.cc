#include "tenon/plugin/memory.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "tenon/base/contain.h"
#include "tenon/plugin/client.h"
#include "tenon/plugin/transfers.h"

namespace tenon::plugin {

namespace {

class HostStorage final : public Storage {
 public:
  HostStorage(void* data, size_t size_bytes) : Storage(data, size_bytes) {}

 private:
  ~HostStorage() override { std::free(data()); }
};

constexpr size_t kAlignment = 64;

}  // namespace

Result<Ref<Storage>> AllocateHostStorage(size_t size_bytes) {
  if (size_bytes > SIZE_MAX - kAlignment) {
    return ResourceExhausted(fmt::format("cannot allocate {} bytes", size_bytes));
  }
  // Never 0, so that every buffer has an address of its own.
  size_t rounded = size_bytes == 0 ? kAlignment : (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, rounded);
  if (data == nullptr) return ResourceExhausted(fmt::format("cannot allocate {} bytes of host memory", size_bytes));
  return Ref<Storage>(MakeRef<HostStorage>(data, size_bytes));
}

MemoryKind MakeMemoryKind(std::string_view name) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  int id = static_cast<int>(hash & 0x7fffffffu);
  return MemoryKind{std::string(name), id == 0 ? 1 : id};
}

const PJRT_Memory_FunctionTable Memory::kFunctionTable = {
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .extension_start = nullptr,
    .instance_struct_size = PJRT_Memory_STRUCT_SIZE,
    .get_user_data = &Memory::GetUserData,
    .set_user_data = &Memory::SetUserData,
};

Memory::Memory(int id, MemoryKind kind)
    : handle_{{&kFunctionTable}, this},
      id_(id),
      kind_(std::move(kind)),
      debug_string_(fmt::format("Memory(id={}, kind={})", id, kind_.name)),
      to_string_(fmt::format("{}:{}", kind_.name, id)) {}

Memory::~Memory() {
  for (auto& [key, value] : user_data_) {
    if (value.dtor != nullptr) value.dtor(value.data);
  }
}

void* Memory::GetUserData(PJRT_Memory* memory, const void* key) {
  Memory* self = FromC(memory);
  std::lock_guard lock(self->user_data_mutex_);
  auto it = self->user_data_.find(key);
  return it == self->user_data_.end() ? nullptr : it->second.data;
}

void Memory::SetUserData(PJRT_Memory* memory, const void* key, void* data, void (*dtor)(void*)) {
  Memory* self = FromC(memory);
  UserData old{nullptr, nullptr};
  {
    std::lock_guard lock(self->user_data_mutex_);
    auto [it, inserted] = self->user_data_.try_emplace(key, UserData{data, dtor});
    if (!inserted) old = std::exchange(it->second, UserData{data, dtor});
  }
  if (old.dtor != nullptr) old.dtor(old.data);  // Outside the lock: it is the caller's code.
}

Result<Ref<Storage>> Memory::Allocate(Device* device, size_t size_bytes) {
  if (!host_accessible()) return Unimplemented(fmt::format("memory kind '{}' has no allocator", kind_.name));
  return AllocateHostStorage(size_bytes);
}

Result<Ref<Storage>> Memory::Wrap(void* data, size_t size_bytes, std::function<void()> on_delete) {
  if (!host_accessible())
    return Unimplemented(fmt::format("memory kind '{}' takes no blocks that were made elsewhere", kind_.name));
  return WrapExternal(data, size_bytes, /*writable=*/true, std::move(on_delete));
}

EventRef Memory::Write(Storage& dst, size_t offset, const void* src, size_t size_bytes) {
  if (!host_accessible())
    return EventRef::Of(Unimplemented(fmt::format("memory kind '{}' cannot be written", kind_.name)));
  if (size_bytes != 0) std::memcpy(static_cast<char*>(dst.data()) + offset, src, size_bytes);
  return nullptr;
}

EventRef Memory::Read(const Storage& src, size_t offset, void* dst, size_t size_bytes) {
  if (!host_accessible())
    return EventRef::Of(Unimplemented(fmt::format("memory kind '{}' cannot be read", kind_.name)));
  if (size_bytes != 0) std::memcpy(dst, static_cast<const char*>(src.data()) + offset, size_bytes);
  return nullptr;
}

EventRef Memory::CopyFrom(Storage& dst, const Memory& src_memory, const Storage& src) {
  Memory& from = const_cast<Memory&>(src_memory);
  size_t size = src.size_bytes();
  if (from.host_accessible()) return Write(dst, 0, src.data(), size);
  if (host_accessible()) return from.Read(src, 0, dst.data(), size);
  // Neither side is the host's: through a staging array that lives until the second half is done.
  Result<Ref<Storage>> staging = AllocateHostStorage(size);
  if (!staging.ok()) return EventRef::Of(staging.status());
  // Nobody waits: the caller may be the thread that has to serve the read.
  Ref<Event> done = Event::Make();
  from.Read(src, 0, (*staging)->data(), size)
      .OnReady([this, keep = Ref<Client>(client_), &dst, staging = *staging, size, done](const Status& read) {
        if (!read.ok()) {
          done->Set(read);
          return;
        }
        Status started = Contain("copying an array", [&] {
          Write(dst, 0, staging->data(), size).OnReady([staging, done](const Status& written) { done->Set(written); });
        });
        if (!started.ok()) done->Set(std::move(started));
      });
  return EventRef(done);
}

}  // namespace tenon::plugin
