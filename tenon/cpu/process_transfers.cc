#include "tenon/cpu/process_transfers.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "tenon/cpu/device.h"
#include "tenon/plugin/transfers.h"

namespace tenon::cpu {
namespace {

struct Route {
  collectives::Mailbox* mailbox = nullptr;
  int process = 0;
};

Result<Route> RouteTo(const CpuClient& client, int device_id) {
  TENON_RETURN_IF_ERROR(client.CheckNotForked());
  const plugin::Device* device = client.FindDevice(device_id);
  if (device == nullptr) return InvalidArgument(fmt::format("no device has the id {}", device_id));
  const int process = device->description().info().process_index;
  if (client.job() == nullptr || process == client.process_index()) {
    return InvalidArgument(
        fmt::format("{} is this process's own: arrays are copied to it, and sent to others only", device->to_string()));
  }
  TENON_ASSIGN_OR_RETURN(collectives::Mailbox * mailbox, client.job()->mailbox());
  return Route{mailbox, process};
}

/// What a transfer ends in. Listeners may wait for other transfers, which the mailbox's thread must not.
collectives::Mailbox::Done Tells(CpuClient& client, plugin::Ref<plugin::Event> event,
                                 plugin::Ref<plugin::Storage> storage) {
  return [client = plugin::Ref<CpuClient>(&client), event = std::move(event), storage = std::move(storage)](
             const Status& status) { client->Schedule([event, status] { event->Set(status); }); };
}

/// Offers the bytes of a dense array that is there.
plugin::EventRef Post(CpuClient& client, const Route& route, int64_t key, const plugin::Ref<plugin::Storage>& storage) {
  plugin::Ref<plugin::Event> sent = plugin::Event::Make();
  route.mailbox->Post(route.process, key, OkStatus(), static_cast<const std::byte*>(storage->data()),
                      storage->size_bytes(), Tells(client, sent, storage));
  return plugin::EventRef(std::move(sent));
}

}  // namespace

plugin::EventRef SendArray(CpuClient& client, plugin::Ref<plugin::Buffer> buffer, int device_id, int64_t key) {
  const Result<Route> route = RouteTo(client, device_id);
  if (!route.ok()) return plugin::EventRef::Of(route.status());
  // Whether the other side will hear of it: also of an array that never comes to be.
  auto posted = std::make_shared<bool>(false);
  plugin::EventRef ended = [&]() -> plugin::EventRef {
    if (!buffer->spec().row_major()) {
      auto turned = AllocateFrom(client.memory_pool(), buffer->size_bytes());
      if (!turned.ok()) return plugin::EventRef::Of(turned.status());
      plugin::Ref<plugin::Event> sent = plugin::Event::Make();
      plugin::Download(*buffer, {}, (*turned)->data())
          .OnReady([&client, keep = plugin::Ref<CpuClient>(&client), route = *route, key, storage = *turned, sent,
                    posted](const Status& status) {
            if (!status.ok()) {
              sent->Set(status);
              return;
            }
            *posted = true;
            Post(client, route, key, storage).OnReady([sent](const Status& s) { sent->Set(s); });
          });
      return plugin::EventRef(std::move(sent));
    }
    Result<plugin::BufferUse> use = buffer->Use();
    if (!use.ok()) return plugin::EventRef::Of(use.status());
    // Offering takes no copy, whatever the size: it is known at once to who waits for what is still to be sent.
    return plugin::WhenUsable(client, *std::move(use), /*size_bytes=*/0,
                              [&client, route = *route, key, posted](const plugin::BufferUse& there) {
                                *posted = true;
                                return Post(client, route, key, there.storage);
                              });
  }();
  ended.OnReady([route = *route, key, posted](const Status& status) {
    if (!status.ok() && !*posted) route.mailbox->Post(route.process, key, status, nullptr, 0, [](const Status&) {});
  });
  return ended;
}

Result<plugin::Ref<plugin::Buffer>> ReceiveArray(CpuClient& client, plugin::ArraySpec spec, plugin::Device& device,
                                                 int device_id, int64_t key) {
  TENON_ASSIGN_OR_RETURN(const Route route, RouteTo(client, device_id));
  if (!spec.row_major()) return Unimplemented("an array of another process that is not to lie row by row");
  plugin::Memory* memory = device.default_memory();
  TENON_ASSIGN_OR_RETURN(plugin::Ref<plugin::Storage> storage,
                         memory->Allocate(&device, static_cast<size_t>(SizeBytes(spec.shape))));
  plugin::Ref<plugin::Event> ready = plugin::Event::Make();
  plugin::Ref<plugin::Buffer> buffer =
      plugin::Buffer::Make(&device, memory, std::move(spec), storage, plugin::EventRef(ready));
  route.mailbox->Fetch(route.process, key, static_cast<std::byte*>(storage->data()), storage->size_bytes(),
                       Tells(client, std::move(ready), storage));
  return buffer;
}

}  // namespace tenon::cpu
