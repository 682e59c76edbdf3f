#pragma once

// Who runs a program: the evaluator in this process, or a plugin.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/tenon-check/program.h"

namespace tenon::check_tool {

class Runner {
 public:
  virtual ~Runner() = default;
  /// The results of the rewritten entry function. UNIMPLEMENTED: the program is to be skipped, not failed.
  virtual Result<std::vector<reference::Value>> Run(Program& program, std::span<const reference::Value> args) = 0;
};

/// `keep_denormals`: subnormal f32 and f64 numbers are not flushed to zero.
std::unique_ptr<Runner> MakeReferenceRunner(bool keep_denormals);
/// Loads the plugin's shared library and opens a client.
Result<std::unique_ptr<Runner>> MakePluginRunner(const std::string& path);

}  // namespace tenon::check_tool
