#pragma once

#include <string>
#include <vector>

#include "tools/tenon/command.h"
#include "tools/tenon/inputs.h"

namespace tenon::cli {

/// A program that runs while its plugin keeps a profile of its steps.
struct ProfileFlags {
  PluginOptions plugin;
  CompileFlags compile;
  InputFlags inputs;
  std::string program;
  int64_t runs = 50;
};
void AddProfileFlags(CLI::App& app, ProfileFlags& flags);

/// What was measured. `rows`: one object per step, in the plugin's columns (TENON_PROFILE), those of whole programs
/// with step -1. `about`: compile_seconds, and, as far as the plugin says, memory, code_bytes, fingerprint, flops.
struct Profiled {
  nlohmann::json rows;
  nlohmann::json about;
};
/// Compiles the program and runs it. UNIMPLEMENTED when the plugin keeps no profile of its steps.
Result<Profiled> RunProfiled(Context& context, const ProfileFlags& flags);

/// How many steps are shown to who does not say.
inline constexpr size_t kShownSteps = 30;
/// RunProfiled, and what it measured as the command's output: for people, the `most` steps that took longest.
Status ProfileProgram(Context& context, const ProfileFlags& flags, size_t most);

/// "12.3": microseconds.
std::string Micros(double ns);

}  // namespace tenon::cli
