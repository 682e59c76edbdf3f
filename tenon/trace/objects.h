#pragma once

#include <cstdint>

#include "tenon/trace/recorder.h"
#include "tenon/trace/session.h"

namespace tenon::trace {

/// What calls make, learned with further calls to the plugin.

/// How many buffers an execution returns per device; -1 when the plugin does not say.
int NumOutputs(const Session& session, PJRT_LoadedExecutable* executable, uint32_t serial);
/// Bytes of output `index`, known since the first execution that returned one.
uint64_t OutputBytes(const Session& session, uint32_t executable_serial, int index, PJRT_Buffer* buffer);
/// Bytes on the device, 0 when the plugin does not say.
uint64_t AskBytes(const Session& session, PJRT_Buffer* buffer);

/// Has the moment recorded at which the event fires.
void FollowEvent(const Session& session, PJRT_Event* event, const HandleInfo& info);

/// PJRT_Event_OnReady with the caller's callback wrapped: its run is recorded, its error is one of ours.
PJRT_Error* ForwardOnReady(const Session& session, void* function, PJRT_Event_OnReady_Args* args);

/// Whether a plugin says that the event has fired.
bool AskReady(const Session& session, PJRT_Event* event);

/// What was learned of executables belongs to an earlier trace.
void ForgetExecutables();

}  // namespace tenon::trace
