#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/host/services.h"
#include "tenon/plugin/compile_options.h"
#include "tenon/plugin/executable.h"
#include "tenon/runtime/program.h"
#include "tenon/target/target.h"

namespace tenon::cpu {

/// A compiled program. Immutable, shared by all handles. Code that was made for this process's target (`made_for` is
/// it) is ready to run on any device; other code is there to be saved, or to be made anew by CodeForHost.
struct Code {
  /// What the program was compiled for: its plan, and the bits of its results.
  std::shared_ptr<const target::Target> compiled_for;
  /// What the machine code is for.
  std::shared_ptr<const target::Target> made_for;
  /// What the compiler said of the program; its plan has moved into `program`.
  compiler::CompiledProgram about;
  std::unique_ptr<const runtime::Program> program;
  int64_t code_bytes = 0;
  double run_ns = 0;  ///< What one run is expected to take on one core.
  /// It has steps (custom calls, evaluations) of which nobody knows how long they take before they ran.
  bool has_open_steps = false;
  bool may_call_back = false, caller_waits = false;  ///< As host::PlanServices.
};

/// Compiles StableHLO for `target`: front end, kernels, plan bound to its code. Logs one statistics line; writes every
/// stage under TENON_DUMP_DIR when that is set. Errors as compiler::Compile, and NOT_FOUND for a custom call that
/// nobody serves.
Result<std::shared_ptr<const Code>> CompileCode(std::string_view program, const plugin::CompileOptions& options,
                                                const std::shared_ptr<const target::Target>& target,
                                                const compiler::Processes& processes = {});

/// This process's target, as everything here shares it.
const std::shared_ptr<const target::Target>& SharedHostTarget();

/// What machine code a program compiled for `wanted` gets in a process whose target is `host`: the host's own level
/// where the numerics contract keeps the program's bits, else the level that it was compiled for.
/// FAILED_PRECONDITION, naming both, where neither runs.
Result<std::shared_ptr<const target::Target>> TargetAtLoad(const std::shared_ptr<const target::Target>& wanted,
                                                           const std::shared_ptr<const target::Target>& host);

/// `code`, with machine code that runs in this process: itself, or a new one with the same plan. Errors as
/// TargetAtLoad.
Result<std::shared_ptr<const Code>> CodeForHost(std::shared_ptr<const Code> code);

/// What SaveCode's bytes of a program for `target` need of whoever loads them: plugin::ExecutableInfo::abi_version. Not
/// which build wrote them, since any compiles the program inside.
std::string VersionFor(const target::Target& target);
/// Those that this process loads.
std::vector<std::string> VersionsLoadedHere();

/// Bytes from which LoadCode makes the same code without the front end; they hold no machine code. Another build than
/// the one that wrote them compiles the program inside anew, and may arrive at other bits. LoadCode's errors include
/// TargetAtLoad's; DATA_LOSS for damaged bytes.
std::string SaveCode(const Code& code, std::string_view compile_options);
struct LoadedCode {
  std::shared_ptr<const Code> code;
  std::string compile_options;  ///< The bytes given to SaveCode.
};
Result<LoadedCode> LoadCode(std::string_view bytes);

}  // namespace tenon::cpu
