#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/base/activity.h"
#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/drivers/registry.h"
#include "tenon/plugin/compile_options.h"
#include "tenon/target/target.h"

namespace tenon::host {

/// INVALID_ARGUMENT where TENON_DUMP_DIR names no folder that can be made and written.
Status CheckDumpDir();
/// A fresh folder for this compile under TENON_DUMP_DIR, or nothing.
std::string NewDumpDir();
/// One of its files.
void WriteDump(const std::string& dir, const std::string& name, std::string_view text);

/// From StableHLO to the plan, as the client's options say. `is_new`: the program comes from its maker, who may have
/// left addresses of this process in it; those are told what they ask for, and partitioners are run.
Result<compiler::CompiledProgram> CompileProgram(std::string_view program, const plugin::CompileOptions& options,
                                                 const target::Target& target, const drivers::Registry& drivers,
                                                 const std::string& dump_dir, bool is_new,
                                                 const compiler::Processes& processes = {});

/// The program as the compiler simplified and fused it (compiler::OptimizedStablehlo). Options, target and drivers are
/// those of its CompileProgram.
Result<std::string> OptimizedProgram(const compiler::CompiledProgram& about, const plugin::CompileOptions& options,
                                     const target::Target& target, const drivers::Registry& drivers);

/// For a profiler, spans of a compilation that began at `start_ns` and is over, and of its front end's phases.
void AddSpans(const compiler::CompiledProgram& about, int64_t start_ns);

/// What a profiler calls runs of the program; `device` -1 for all of them.
const activity::Label* ExecutionLabel(const compiler::CompiledProgram& about, int32_t device);

}  // namespace tenon::host
