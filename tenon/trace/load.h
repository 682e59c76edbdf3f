#pragma once

#include "tenon/abi/pjrt.h"
#include "tenon/trace/recorder.h"

namespace tenon::trace {

/// What the environment asks for: TENON_TRACE_FILE, TENON_TRACE_TEXT (%p in them becomes the process id),
/// TENON_TRACE_SHIELD=0, TENON_TRACE_EVENTS=0, TENON_TRACE_SIZES=0.
TraceOptions OptionsFromEnvironment();

/// The table of the plugin that TENON_TRACE_PLUGIN names, a file or a name (tenon/discovery); one whose functions fail
/// with what was looked at when there is none.
const PJRT_Api* LoadTracedApi();

/// dlsym of the C library: this library may stand in front of it.
using DlsymFunction = void* (*)(void* handle, const char* name);
DlsymFunction RealDlsym();

}  // namespace tenon::trace
