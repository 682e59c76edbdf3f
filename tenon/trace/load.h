#pragma once

#include <string>
#include <vector>

#include "tenon/abi/pjrt.h"
#include "tenon/trace/recorder.h"

namespace tenon::trace {

/// What the environment asks for: TENON_TRACE_FILE, TENON_TRACE_TEXT (%p in them becomes the process id),
/// TENON_TRACE_SHIELD=0, TENON_TRACE_EVENTS=0, TENON_TRACE_SIZES=0.
TraceOptions OptionsFromEnvironment();

/// Files that TENON_TRACE_PLUGIN may mean, in the order in which they are tried: itself when it has a slash, otherwise
/// the usual file names of such a plugin in PJRT_PLUGIN_LIBRARY_PATH, beside this library and where the loader looks.
std::vector<std::string> PluginCandidates(const std::string& plugin, const std::string& search_path,
                                          const std::string& own_folder);

/// The table of the plugin that the environment names; one that fails when there is none.
const PJRT_Api* LoadTracedApi();

/// dlsym of the C library: this library may stand in front of it.
using DlsymFunction = void* (*)(void* handle, const char* name);
DlsymFunction RealDlsym();

}  // namespace tenon::trace
