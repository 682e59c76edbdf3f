#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

char ready_event;

TENON_BIND(PJRT_Event_Destroy) {
  if (args.event == nullptr) return OkStatus();
  if (Event* event = FromC(args.event)) event->Release();
  return OkStatus();
}

TENON_BIND(PJRT_Event_IsReady) {
  TENON_REQUIRE(event);
  Event* event = FromC(args.event);
  args.is_ready = event == nullptr || event->is_ready() || event->FailIfForked();
  return OkStatus();
}

TENON_BIND(PJRT_Event_Error) {
  TENON_REQUIRE(event);
  Event* event = FromC(args.event);
  if (event == nullptr) return OkStatus();
  if (!event->is_ready()) return FailedPrecondition("PJRT_Event_Error: the event is not ready yet");
  return event->status();
}

TENON_BIND(PJRT_Event_Await) {
  TENON_REQUIRE(event);
  Event* event = FromC(args.event);
  if (event == nullptr) return OkStatus();
  return EventRef(Ref<Event>(event)).Wait();
}

TENON_BIND(PJRT_Event_OnReady) {
  TENON_REQUIRE(event);
  TENON_REQUIRE(callback);
  Event* event = FromC(args.event);
  if (event == nullptr) {
    args.callback(nullptr, args.user_arg);
    return OkStatus();
  }
  EventRef(Ref<Event>(event)).OnReady([callback = args.callback, user_arg = args.user_arg](const Status& status) {
    callback(ToCError(status), user_arg);
  });
  return OkStatus();
}

TENON_BIND(PJRT_Event_Create) {
  Ref<Event> event = Event::Make();
  event->GiveToCaller();
  args.event = reinterpret_cast<PJRT_Event*>(event.release());
  return OkStatus();
}

TENON_BIND(PJRT_Event_Set) {
  TENON_REQUIRE(event);
  Event* event = FromC(args.event);
  Status status = StatusFromC(CallerValue(args.error_code), args.error_message, args.error_message_size);
  if (event != nullptr && !event->is_callers())
    return InvalidArgument("PJRT_Event_Set: the plugin made this event, which only PJRT_Event_Create's callers set");
  Ref<Event> keep(event);  // A callback may destroy the caller's handle.
  if (event == nullptr || !event->Set(std::move(status))) {
    return FailedPrecondition("PJRT_Event_Set: the event is set already");
  }
  return OkStatus();
}

}  // namespace tenon::plugin::bind
