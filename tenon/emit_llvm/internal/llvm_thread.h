#pragma once

#include <functional>

#include "tenon/base/status.h"

namespace tenon::emit_llvm {

/// Runs `work` on a thread of its own, waits, and returns what it returned. A fatal error of LLVM in it gives INTERNAL
/// with LLVM's words; its thread then stands still for ever, so that no frame is left behind half-way, and `work` with
/// all that it owns is never destroyed. So `work` owns what it hands to LLVM (module, context, session); what it only
/// refers to is not touched any more after the return. An exception out of `work` ends the same way, as LLVM's frames
/// cannot be unwound, but for bad_alloc, which gives RESOURCE_EXHAUSTED. After policy::kMaxFatalErrors of them nothing
/// is run any more: RESOURCE_EXHAUSTED.
Status RunLlvm(std::function<Status()> work);

/// Fatal errors so far.
int LlvmFatalErrors();

}  // namespace tenon::emit_llvm
