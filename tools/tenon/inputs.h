#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/tenon/array.h"
#include "tools/tenon/command.h"

namespace tenon::cli {

/// Where a program's arguments come from.
struct InputFlags {
  std::vector<std::string> inputs;
  bool random = false;
  uint64_t seed = 0;
};
void AddInputFlags(CLI::App& app, InputFlags& flags);

/// The arguments of one execution, on the devices of an executable.
struct Arguments {
  std::vector<std::vector<client::Buffer>> buffers;       ///< Per device.
  std::vector<std::vector<const client::Buffer*>> lists;  ///< What ExecuteOnDevices takes.
};
/// What the flags say, uploaded to the devices of `executable`, which was made from `program`.
Result<Arguments> MakeArguments(Context& context, const InputFlags& flags, const CompileFlags& compile,
                                const client::Program& program, const client::Client& client,
                                const client::LoadedExecutable& executable);

/// The outputs of one execution, copied to the host: per device.
Result<std::vector<std::vector<Array>>> FetchOutputs(const client::Execution& execution);

}  // namespace tenon::cli
