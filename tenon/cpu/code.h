#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/plugin/compile_options.h"
#include "tenon/plugin/executable.h"
#include "tenon/runtime/program.h"

namespace tenon::cpu {

/// A compiled program ready to run on any device of the process. Immutable, shared by all handles.
struct Code {
  /// What the compiler said of the program; its plan has moved into `program`.
  compiler::CompiledProgram about;
  std::unique_ptr<const runtime::Program> program;
  int64_t code_bytes = 0;
};

/// Compiles StableHLO: front end, kernels, plan bound to its code. Logs one statistics line; writes every stage under
/// TENON_DUMP_DIR when that is set. Errors as compiler::Compile, and NOT_FOUND for a custom call that nobody serves.
Result<std::shared_ptr<const Code>> CompileCode(std::string_view program, const plugin::CompileOptions& options);

/// Bytes from which LoadCode makes the same code without the front end. Only the build that wrote them reads them
/// (FAILED_PRECONDITION otherwise; DATA_LOSS for damaged ones).
std::string SaveCode(const Code& code, std::string_view compile_options);
struct LoadedCode {
  std::shared_ptr<const Code> code;
  std::string compile_options;  ///< The bytes given to SaveCode.
};
Result<LoadedCode> LoadCode(std::string_view bytes);

/// What a running program needs to know of its execution; RunArguments::user of every run points to one.
class CpuClient;

struct ExecutionUser {
  plugin::ExecuteContext* context = nullptr;  ///< May be null.
  CpuClient* client = nullptr;                ///< Its threads run what handlers schedule.
  int64_t run_id = 0;
  int32_t device_ordinal = 0;
};

/// Services for the evaluate and custom-call steps of `plan`: loads the evaluator's programs and instantiates the
/// handlers now, so that errors come at compile time.
Result<runtime::Services> MakeServices(const plan::Plan& plan);

}  // namespace tenon::cpu
