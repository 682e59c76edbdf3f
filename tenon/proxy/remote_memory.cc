#include "tenon/proxy/remote_memory.h"

#include <cstring>
#include <utility>

#include "tenon/proxy/policy.h"

namespace tenon::proxy {

using plugin::Event;
using plugin::EventRef;
using plugin::Ref;

Result<Ref<plugin::Storage>> RemoteMemory::Allocate(plugin::Device*, size_t size_bytes) {
  TENON_ASSIGN_OR_RETURN(Ref<ArrayStorage> storage, ArrayStorage::Make(core_, size_bytes));
  return Ref<plugin::Storage>(std::move(storage));
}

EventRef RemoteMemory::Write(plugin::Storage& dst, size_t offset, const void* src, size_t size_bytes) {
  auto& storage = static_cast<ArrayStorage&>(dst);
  if (size_bytes == 0) return nullptr;
  Result<std::shared_ptr<Session>> session = core_->Live();
  if (!session.ok()) return EventRef::Of(session.status());
  const uint64_t home = (*session)->home();
  if (storage.home() != 0 && storage.home() != home)
    return EventRef::Of(Unavailable("the first part of the array was lost with the session with its server"));
  Result<std::shared_ptr<session::Remote>> remote = core_->RemoteOf(home);
  if (!remote.ok()) return EventRef::Of(remote.status());
  const std::string_view bytes(static_cast<const char*>(src), size_bytes);
  const bool few = size_bytes <= policy::kInlineUploadBytes;
  wire::Upload upload{storage.number(), storage.size_bytes(), offset, size_bytes, {}};
  if (few) upload.data = bytes;
  storage.NoteUpload(size_bytes);
  (*session)->Post(wire::Verb::kUpload, 0, wire::Encode(upload));
  // An array that comes in parts is used when the last one is on its way.
  storage.NoteHome(home);
  if (size_bytes == storage.size_bytes()) storage.NoteKnownTo(home);
  if (few) return nullptr;
  Ref<Event> done = Event::Make();
  (*remote)->Send(storage.number(), offset, bytes, [done](const Status& status) { done->Set(status); });
  return EventRef(std::move(done));
}

EventRef RemoteMemory::Read(const plugin::Storage& src, size_t offset, void* dst, size_t size_bytes) {
  const auto& storage = static_cast<const ArrayStorage&>(src);
  if (size_bytes == 0) return nullptr;
  if (const std::string_view value = storage.value(); !value.empty()) {
    std::memcpy(dst, value.data() + offset, size_bytes);
    return nullptr;
  }
  if (storage.home() == 0) {  // Nobody has written it.
    std::memset(dst, 0, size_bytes);
    return nullptr;
  }
  Result<std::shared_ptr<session::Remote>> remote = core_->RemoteOf(storage.home());
  if (!remote.ok()) return EventRef::Of(remote.status());
  Ref<Event> done = Event::Make();
  (*remote)->Fetch({storage.number(), offset, size_bytes, storage.uploaded()}, static_cast<char*>(dst),
                   [done](const Status& status) { done->Set(status); });
  return EventRef(std::move(done));
}

}  // namespace tenon::proxy
