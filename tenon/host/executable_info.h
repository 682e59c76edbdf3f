#pragma once

#include <cstdint>

#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/plan/plan.h"
#include "tenon/plugin/compile_options.h"
#include "tenon/plugin/executable.h"
#include "tenon/target/target.h"

namespace tenon::host {

/// What a compiled program says of itself. `about`: without its plan, which is `plan`; `target`: what it was compiled
/// for. INVALID_ARGUMENT when program and options speak of different numbers of devices. `of_processes`: of a program
/// that several processes run, its devices: then the fingerprint is the same in all of them; null for others.
Result<plugin::ExecutableInfo> MakeExecutableInfo(const compiler::CompiledProgram& about, const plan::Plan& plan,
                                                  const target::Target& target, int64_t code_bytes,
                                                  const plugin::CompileOptions& options,
                                                  const plugin::DeviceAssignment* of_processes = nullptr);

}  // namespace tenon::host
