#pragma once

#include <string>

#include "tenon/trace/handles.h"
#include "tenon/trace/session.h"

namespace tenon::trace {

/// Begins a capture: what another plugin needs to do the same again goes to files in `folder`, which is made.
/// calls.jsonl has one object per line: "compile", "buffer", "copy", "execute" and "destroy", which name executables
/// and buffers by number; programs, options and the contents of buffers are files beside it. Of contents at most
/// `limit_bytes` are written in all; buffers beyond, and those whose contents do not come from the host, have type and
/// extents only. False when the folder cannot be written.
bool StartCapture(const std::string& folder, uint64_t limit_bytes);
/// The files belong to the parent process.
void AbandonCapture();
void StopCapture();

/// After call `id` succeeded and what it made is known. `first` is the call's first handle, as it was before.
void Capture(const Session& session, int id, const void* args, size_t valid, const HandleInfo& first,
             uint64_t duration_ns);

}  // namespace tenon::trace
