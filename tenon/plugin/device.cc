#include "tenon/plugin/device.h"

#include <fmt/format.h>

#include <utility>

#include "tenon/base/host_call.h"

namespace tenon::plugin {

namespace {

DeviceDescription::Info WithDefaults(DeviceDescription::Info info) {
  if (info.to_string.empty()) info.to_string = fmt::format("{}:{}", info.kind, info.id);
  if (info.debug_string.empty()) info.debug_string = info.to_string;
  // Clients abort on attributes of any other type.
  std::erase_if(info.attributes, [](const NamedValue& v) {
    return std::holds_alternative<float>(v.value) || std::holds_alternative<bool>(v.value);
  });
  return info;
}

}  // namespace

DeviceDescription::DeviceDescription(Info info) : info_(WithDefaults(std::move(info))), attributes_(info_.attributes) {
  for (const MemoryKind& kind : info_.memory_kinds) memory_kind_pointers_.push_back(&kind);
}

Result<MemoryStats> Device::GetMemoryStats() const {
  return Unimplemented(fmt::format("device {} keeps no memory statistics", to_string()));
}

Status Device::ClearMemoryStats() {
  return Unimplemented(fmt::format("device {} keeps no memory statistics", to_string()));
}

Result<bool> Device::PoisonExecution(int32_t launch_id, const Status& error) {
  return Unimplemented(fmt::format("device {} cannot poison executions", to_string()));
}

namespace {

// Ready with the outcome of `event`, and not before `other`, whatever comes of that.
EventRef NotBefore(const EventRef& other, const EventRef& event) {
  Ref<Event> both = Event::Make();
  both->NoteWaitsFor(other);
  both->NoteWaitsFor(event);
  event.OnReady(
      [both, other](const Status& status) { other.OnReady([both, status](const Status&) { both->Set(status); }); });
  return EventRef(std::move(both));
}

}  // namespace

EventRef Device::CompletedInOrder(EventRef done) {
  const std::lock_guard lock(effects_mutex_);
  if (effects_.is_ready()) effects_ = nullptr;
  if (HostCallScope::IsInside()) {
    if (!done.is_ready()) effects_ = effects_.get() == nullptr ? done : NotBefore(effects_, done);
    return done;
  }
  if (effects_.get() != nullptr) done = NotBefore(effects_, done);
  effects_ = done;
  return done;
}

}  // namespace tenon::plugin
